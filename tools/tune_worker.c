/* SPDX-License-Identifier: MIT */
/* The processes that measure products, and the requests to them. */
#include "tune.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <clstream/buffer.h>
#include <clstream/context.h>
#include <clstream/device.h>
#include <clstream/stream.h>

#include "exact.h"
#include "progress.h"

enum { ROUNDS = 3, SAMPLES = 400, MOST_CALLS = 200 };

static const double round_s = 0.01; /* at least, with less than MOST_CALLS calls */

/* --- the process --- */

struct scene {
    const struct tune_job *job;
    size_t device;
    cls_stream stream; /* of the device's own context */
    cls_buffer a, b, c;
    void *host;                                                   /* c's elements */
    char parameters[sizeof((cls_blas_tuning *)NULL)->parameters]; /* in force */
};

static size_t most_elements(const struct tune_job *job) {
    size_t most = 1;
    for (unsigned i = 0; i < job->count; i++) {
        const struct tune_shape *s = &job->shapes[i];
        const size_t sizes[] = {s->m * s->k, s->k * s->n, s->m * s->n};
        for (int j = 0; j < 3; j++)
            most = sizes[j] > most ? sizes[j] : most;
    }
    return most;
}

static cls_status make_input(struct scene *scene, cls_context context, size_t count, unsigned which,
                             cls_buffer *out) {
    const bool f64 = scene->job->dtype == CLS_F64;
    const size_t bytes = count * cls_dtype_size(scene->job->dtype);
    for (size_t i = 0; i < count; i++)
        if (f64)
            ((double *)scene->host)[i] = exact_element(i, which);
        else
            ((float *)scene->host)[i] = (float)exact_element(i, which);
    cls_status status = cls_buffer_create(context, bytes, out);
    return status ? status : cls_copy_h2d(*out, 0, scene->host, bytes, scene->stream);
}

static cls_status open_scene(struct scene *scene) {
    const size_t count = most_elements(scene->job);
    cls_context_config config = CLS_CONTEXT_CONFIG_INIT;
    cls_context context;
    config.device = scene->job->device;
    scene->host = malloc(count * sizeof(double));
    if (!scene->host)
        return CLS_ERROR_OUT_OF_MEMORY;
    cls_status status = cls_context_create(&config, &context);
    if (!status)
        status = cls_stream_create(context, NULL, &scene->stream);
    if (!status)
        status = make_input(scene, context, count, 0, &scene->a);
    if (!status)
        status = make_input(scene, context, count, 1, &scene->b);
    if (!status)
        status = make_input(scene, context, count, 2, &scene->c);
    return status;
}

/* The matrices of a product, and what is asked for; cls_gemm, or how it would be done. */
static cls_status multiply(const struct scene *scene, const struct exact_product *p, bool async,
                           cls_gemm_explanation *told) {
    const cls_dtype dtype = scene->job->dtype;
    const cls_matrix a = cls_matrix_of(scene->a, dtype, p->ta ? p->k : p->m, p->ta ? p->m : p->k);
    const cls_matrix b = cls_matrix_of(scene->b, dtype, p->tb ? p->n : p->k, p->tb ? p->k : p->n);
    const cls_matrix c = cls_matrix_of(scene->c, dtype, p->m, p->n);
    cls_gemm_config config = CLS_GEMM_CONFIG_INIT;
    config.transpose_a = p->ta;
    config.transpose_b = p->tb;
    if (told)
        return cls_gemm_explain(a, b, c, &config, scene->stream, told);
    return (async ? cls_gemm_async : cls_gemm)(a, b, c, &config, scene->stream);
}

/* Wrong, too, where the library has found so by itself, and does not ask CLBlast any more. */
static cls_status compare(struct scene *scene, const struct exact_product *p, bool *right) {
    const uint32_t nan = UINT32_MAX;
    const size_t bytes = p->m * p->n * cls_dtype_size(scene->job->dtype);
    cls_gemm_explanation told = CLS_GEMM_EXPLANATION_INIT;
    cls_status status = cls_fill(scene->c, 0, bytes, &nan, sizeof nan, scene->stream);
    if (!status)
        status = multiply(scene, p, false, NULL);
    if (!status)
        status = cls_copy_d2h(scene->host, scene->c, 0, bytes, scene->stream);
    if (!status)
        status = multiply(scene, p, false, &told);
    *right = !status && told.way == CLS_GEMM_WAY_CLBLAST &&
             exact_is_right(p, scene->job->dtype, scene->host, SAMPLES);
    return status;
}

static cls_status time_calls(struct scene *scene, const struct exact_product *p, unsigned calls,
                             double *seconds) {
    cls_status status = CLS_SUCCESS;
    const double start = clock_seconds();
    for (unsigned i = 0; i < calls && !status; i++)
        status = multiply(scene, p, true, NULL);
    if (!status)
        status = cls_stream_synchronize(scene->stream);
    *seconds = (clock_seconds() - start) / calls;
    return status;
}

/* The least of a few rounds. */
static cls_status time_product(struct scene *scene, const struct exact_product *p,
                               double *seconds) {
    double once;
    cls_status status = time_calls(scene, p, 1, &once);
    const double wanted = round_s / once;
    const unsigned calls = wanted < 1 ? 1 : wanted > MOST_CALLS ? MOST_CALLS : (unsigned)wanted;
    *seconds = once;
    for (int i = 0; i < ROUNDS && !status; i++) {
        status = time_calls(scene, p, calls, &once);
        *seconds = once < *seconds ? once : *seconds;
    }
    return status;
}

static cls_status check_orders(struct scene *scene, struct exact_product p, bool *right) {
    cls_status status = CLS_SUCCESS;
    p.m -= p.m > 1;
    p.n -= p.n > 1;
    p.k -= p.k > 1;
    for (unsigned order = 0; order < 4 && !status && *right; order++) {
        p.ta = order & 1;
        p.tb = order >> 1;
        status = compare(scene, &p, right);
    }
    return status;
}

static cls_status set_parameters(struct scene *scene, const struct tune_request *request) {
    const bool keep = request->task == TUNE_KEEP;
    cls_blas_tuning tuning = CLS_BLAS_TUNING_INIT;
    if (!keep && strcmp(scene->parameters, request->parameters) == 0)
        return CLS_SUCCESS;
    memcpy(tuning.parameters, request->parameters, sizeof tuning.parameters);
    tuning.gain = request->gain;
    cls_status status = cls_blas_set_tuning(scene->device, scene->job->dtype, &tuning, keep);
    if (!status)
        memcpy(scene->parameters, tuning.parameters, sizeof scene->parameters);
    return status;
}

static void serve(struct scene *scene, const struct tune_request *request,
                  struct tune_answer *answer) {
    const struct tune_shape *shape = &scene->job->shapes[request->shape];
    const struct exact_product p = {shape->m, shape->n, shape->k, false, false};
    bool right = true;
    cls_status status = set_parameters(scene, request);
    answer->outcome = status == CLS_ERROR_INVALID_VALUE ? TUNE_NO_PARAMETERS : TUNE_FAILED;
    if (!status && request->task == TUNE_CHECK)
        status = check_orders(scene, p, &right);
    if (!status && request->task == TUNE_TIME)
        status = compare(scene, &p, &right);
    if (!status && right && request->task == TUNE_TIME)
        status = time_product(scene, &p, &answer->seconds);
    if (!status)
        answer->outcome = right ? TUNE_DONE : TUNE_WRONG;
    else
        snprintf(answer->detail, sizeof answer->detail, "%s", cls_last_error_detail());
    cls_stream_reset(scene->stream);
}

/* --- both sides --- */

static bool send_all(int line, const void *message, size_t size) {
    return send(line, message, size, MSG_NOSIGNAL) == (ssize_t)size;
}

static bool receive_all(int line, void *message, size_t size) {
    ssize_t got;
    while ((got = recv(line, message, size, MSG_WAITALL)) < 0 && errno == EINTR)
        ;
    return got == (ssize_t)size;
}

static cls_status begin(struct scene *scene, struct tune_hello *hello) {
    const cls_blas_tuning own = CLS_BLAS_TUNING_INIT;
    cls_device_info info = CLS_DEVICE_INFO_INIT;
    cls_status status = cls_device_find(scene->job->device, &scene->device);
    if (!status)
        status = cls_device_get_info(scene->device, &info);
    if (!status)
        status = cls_blas_get_tuning(scene->device, scene->job->dtype, &hello->kept);
    if (!status)
        status = cls_blas_set_tuning(scene->device, scene->job->dtype, &own, 0);
    if (!status)
        status = open_scene(scene);
    memcpy(hello->name, info.name, sizeof hello->name);
    return status;
}

/* Ends when the parent has closed its end. What drivers and CLBlast print about parameters that do not work is for
 * nobody. */
static void run(int line, const struct tune_job *job) {
    struct scene scene = {.job = job};
    struct tune_hello hello = {.kept = CLS_BLAS_TUNING_INIT};
    struct tune_request request;
    setenv("CLSTREAM_GEMM", "clblast", 1);
    if (!freopen("/dev/null", "w", stderr) || !freopen("/dev/null", "w", stdout))
        exit(1);
    hello.status = begin(&scene, &hello);
    if (hello.status)
        snprintf(hello.detail, sizeof hello.detail, "%s", cls_last_error_detail());
    bool goes_on = send_all(line, &hello, sizeof hello) && !hello.status;
    while (goes_on && receive_all(line, &request, sizeof request)) {
        struct tune_answer answer = {.seconds = 0};
        serve(&scene, &request, &answer);
        goes_on = send_all(line, &answer, sizeof answer);
    }
    exit(0);
}

/* --- the parent --- */

static bool await(struct tune_worker *worker, void *message, size_t size, double until,
                  void (*waiting)(void *), void *arg) {
    struct pollfd line = {worker->line, POLLIN, 0};
    int ready = 0;
    while (ready <= 0 && clock_seconds() < until) {
        ready = poll(&line, 1, 100);
        if (waiting)
            waiting(arg);
    }
    if (ready > 0 && receive_all(worker->line, message, size))
        return true;
    tune_worker_end(worker);
    return false;
}

bool tune_worker_start(struct tune_worker *worker, const struct tune_job *job, double until) {
    int ends[2];
    *worker = (struct tune_worker){.line = -1};
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
        return false;
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        run(ends[1], job);
    }
    close(ends[1]);
    if (child < 0) {
        close(ends[0]);
        return false;
    }
    worker->child = child;
    worker->line = ends[0];
    return await(worker, &worker->hello, sizeof worker->hello, until, NULL, NULL);
}

bool tune_worker_ask(struct tune_worker *worker, const struct tune_request *request, double until,
                     void (*waiting)(void *), void *arg, struct tune_answer *answer) {
    if (send_all(worker->line, request, sizeof *request))
        return await(worker, answer, sizeof *answer, until, waiting, arg);
    tune_worker_end(worker);
    return false;
}

/* One that is asked nothing more would end by itself, but not before what it has begun. */
void tune_worker_end(struct tune_worker *worker) {
    if (!worker->child)
        return;
    close(worker->line);
    kill(worker->child, SIGKILL);
    while (waitpid(worker->child, NULL, 0) < 0 && errno == EINTR)
        ;
    *worker = (struct tune_worker){.line = -1};
}
