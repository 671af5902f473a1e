/* SPDX-License-Identifier: MIT */
/* The first call of CLBlast in a process runs alone, whichever thread and routine it comes from: CLBlast fills its static
 * tables in it without a lock. Each test has a process of its own. CLBlast's functions are wrapped by the linker. */
#include "child.h"

#include <stdbool.h>

#include "config.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include <clstream.h>

#include "../support/patience.h"

#ifdef HAVE_CLBLAST

#define CL_TARGET_OPENCL_VERSION 120
#include <clblast_c.h>

enum { THREADS = 4, N = 8, WATCHDOG_S = 280 };

static struct {
    _Atomic int inside, calls;
    _Atomic bool returned; /* the first call has succeeded */
    _Atomic bool met;      /* another call began before that */
    _Atomic int failures;  /* calls that are to fail yet */
} spy;

/* Stays in the first call long enough for others to come, if nothing holds them back. */
static bool enter(void) {
    const struct timespec moment = {0, 50 * 1000 * 1000};
    spy.calls++;
    if (spy.inside++ && !spy.returned)
        spy.met = true;
    if (!spy.returned)
        nanosleep(&moment, NULL);
    if (spy.failures <= 0)
        return true;
    spy.failures--;
    return false;
}

static CLBlastStatusCode leave(CLBlastStatusCode code) {
    if (!code)
        spy.returned = true;
    spy.inside--;
    return code;
}

/* Defines the wrapper of CLBlastNAME. */
#define WRAP(NAME, PARAMETERS, ARGUMENTS)                                             \
    __typeof__(CLBlast##NAME) __real_CLBlast##NAME, __wrap_CLBlast##NAME;             \
    CLBlastStatusCode __wrap_CLBlast##NAME PARAMETERS {                               \
        return leave(enter() ? __real_CLBlast##NAME ARGUMENTS : CLBlastUnknownError); \
    }

WRAP(SGemmTempBufferSize,
     (CLBlastLayout layout, CLBlastTranspose ta, CLBlastTranspose tb, size_t m, size_t n, size_t k,
      size_t a, size_t a_ld, size_t b, size_t b_ld, size_t c, size_t c_ld, cl_command_queue *queue,
      size_t *size),
     (layout, ta, tb, m, n, k, a, a_ld, b, b_ld, c, c_ld, queue, size))
WRAP(SgemmWithTempBuffer,
     (CLBlastLayout layout, CLBlastTranspose ta, CLBlastTranspose tb, size_t m, size_t n, size_t k,
      float alpha, cl_mem a, size_t a_at, size_t a_ld, cl_mem b, size_t b_at, size_t b_ld,
      float beta, cl_mem c, size_t c_at, size_t c_ld, cl_command_queue *queue, cl_event *event,
      cl_mem temporary),
     (layout, ta, tb, m, n, k, alpha, a, a_at, a_ld, b, b_at, b_ld, beta, c, c_at, c_ld, queue,
      event, temporary))
WRAP(Saxpy,
     (size_t n, float alpha, cl_mem x, size_t x_at, size_t x_step, cl_mem y, size_t y_at,
      size_t y_step, cl_command_queue *queue, cl_event *event),
     (n, alpha, x, x_at, x_step, y, y_at, y_step, queue, event))
WRAP(Sscal,
     (size_t n, float alpha, cl_mem x, size_t at, size_t step, cl_command_queue *queue,
      cl_event *event),
     (n, alpha, x, at, step, queue, event))

/* --- one call of each kind --- */

struct work {
    cls_buffer in, out[THREADS];
    cls_stream streams[THREADS];
    cls_status status[THREADS];
    pthread_barrier_t together;
};

static int prepare(struct work *work) {
    const float one = 1;
    const size_t bytes = N * N * sizeof one;
    size_t devices = 0;
    watchdog(WATCHDOG_S);
    if (cls_device_count(&devices) || !devices)
        return NO_DEVICES;
    CHECK(!cls_buffer_create(NULL, bytes, &work->in));
    CHECK(!cls_fill(work->in, 0, bytes, &one, sizeof one, NULL));
    for (int i = 0; i < THREADS; i++) {
        CHECK(!cls_buffer_create(NULL, bytes, &work->out[i]));
        CHECK(!cls_fill(work->out[i], 0, bytes, &one, sizeof one, NULL));
        CHECK(!cls_stream_create(NULL, NULL, &work->streams[i]));
    }
    return 0;
}

static cls_status submit(const struct work *work, int i) {
    const cls_vector in = cls_vector_of(work->in, CLS_F32, N * N);
    const cls_vector out = cls_vector_of(work->out[i], CLS_F32, N * N);
    switch (i) {
    case 0:
        return cls_axpy_async(N - 1, in, out, work->streams[i]);
    case 1:
        return cls_scal_async(N, out, work->streams[i]);
    default:
        return cls_gemm_async(cls_matrix_of(work->in, CLS_F32, N, N),
                              cls_matrix_of(work->in, CLS_F32, N, N),
                              cls_matrix_of(work->out[i], CLS_F32, N, N), NULL, work->streams[i]);
    }
}

/* All elements of all results are N. */
static int check_results(const struct work *work) {
    float values[N * N];
    for (int i = 0; i < THREADS; i++) {
        CHECK(!cls_stream_synchronize(work->streams[i]));
        CHECK(!cls_buffer_to_host(work->out[i], values, sizeof values));
        for (int j = 0; j < N * N; j++)
            CHECK(values[j] == N);
    }
    CHECK(spy.calls > THREADS);
    CHECK(!spy.met);
    return 0;
}

/* --- */

struct turn {
    struct work *work;
    int i;
};

static void *one_thread(void *arg) {
    const struct turn *turn = arg;
    pthread_barrier_wait(&turn->work->together);
    turn->work->status[turn->i] = submit(turn->work, turn->i);
    return NULL;
}

static int from_threads(void *arg) {
    static struct work work;
    struct turn turns[THREADS];
    pthread_t threads[THREADS];
    (void)arg;
    int line = prepare(&work);
    if (line)
        return line;
    pthread_barrier_init(&work.together, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        turns[i] = (struct turn){&work, i};
        CHECK(!pthread_create(&threads[i], NULL, one_thread, &turns[i]));
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK(!pthread_join(threads[i], NULL));
        CHECK(!work.status[i]);
    }
    return check_results(&work);
}

/* The library's own threads make the calls. */
static int from_one_thread(void *arg) {
    static struct work work;
    (void)arg;
    int line = prepare(&work);
    if (line)
        return line;
    for (int i = 0; i < THREADS; i++)
        CHECK(!submit(&work, i));
    return check_results(&work);
}

static int after_a_failure(void *arg) {
    static struct work work;
    (void)arg;
    int line = prepare(&work);
    if (line)
        return line;
    spy.failures = 1;
    CHECK(submit(&work, 0));
    CHECK(spy.calls == 1);
    CHECK(!cls_stream_query(work.streams[0]));
    for (int i = 0; i < THREADS; i++)
        CHECK(!submit(&work, i));
    return check_results(&work);
}

static void the_first_call_of_several_threads_runs_alone(void **state) {
    (void)state;
    child_expect_well(from_threads, NULL);
}

static void the_first_call_of_several_streams_runs_alone(void **state) {
    (void)state;
    child_expect_well(from_one_thread, NULL);
}

static void a_first_call_that_fails_is_made_again(void **state) {
    (void)state;
    child_expect_well(after_a_failure, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_call_of_several_threads_runs_alone),
        cmocka_unit_test(the_first_call_of_several_streams_runs_alone),
        cmocka_unit_test(a_first_call_that_fails_is_made_again),
    };
    setenv("CLSTREAM_GEMM", "clblast", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else
#include "without_clblast.h"
#endif
