/* SPDX-License-Identifier: MIT */
/* What becomes of a process that uses the driver from several threads, exits at work, or forks. */
#include "check_part.h"
#include "platform.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <clstream/buffer.h>
#include <clstream/event.h>
#include <clstream/kernel.h>
#include <clstream/mempool.h>
#include <clstream/stream.h>

enum {
    THREADS = 8,
    THREAD_ROUNDS = 100,
    WEB = 64,
    WEB_ROUNDS = 300,
    CELLS = 256,
    AT_WORK = 50,
    ROUNDS = 60000,
    FORKED_S = 20
};

static const char source[] =
    "kernel void add(global uint *cells, uint value, uint rounds) {\n"
    "    uint x = rounds | 1u;\n"
    "    for (uint i = 0; i < rounds; i++) { x ^= x << 13; x ^= x >> 17; x ^= x << 5; }\n"
    "    cells[get_global_id(0)] += x ? value : 0;\n"
    "}\n"
    "kernel void count(global uint *cells, uint i) { cells[i]++; }\n";

static cls_status open_kernel(cls_context context, const char *name, cls_kernel *out) {
    cls_program program;
    cls_status status = cls_program_from_source(context, source, "processes.cl", NULL, &program);
    return status ? status : cls_kernel_create(program, name, out);
}

static cls_status add(cls_kernel kernel, cls_buffer cells, unsigned value, unsigned rounds,
                      cls_stream stream) {
    const cls_launch shape = cls_launch_1d(CELLS);
    const cls_arg args[] = {cls_arg_buffer(cells), cls_arg_u32(value), cls_arg_u32(rounds)};
    return cls_kernel_launch_async(kernel, &shape, args, 3, stream);
}

/* --- threads --- */

/* Streams with a cell of one buffer each; a launch adds to its stream's cell, after the latest launch of another. */
struct web {
    cls_stream streams[WEB];
    cls_event events[WEB];
    cls_buffer cells;
};

struct worker {
    cls_context context;
    struct web *web;
    cls_kernel kernel, count;
    unsigned number, wrong, draws;
    cls_status status;
    char detail[256];
};

static cls_status work_once(struct worker *worker, cls_stream stream, unsigned round) {
    const uint32_t start = worker->number * 1000 + round;
    uint32_t seen[CELLS];
    cls_buffer cells;
    cls_status status = cls_malloc_async(stream, sizeof seen, &cells);
    if (status)
        return status;
    status = cls_fill_async(cells, 0, sizeof seen, &start, sizeof start, stream);
    for (unsigned i = 0; i < 3 && !status; i++)
        status = add(worker->kernel, cells, i + 1, 0, stream);
    if (!status)
        status = cls_copy_d2h(seen, cells, 0, sizeof seen, stream);
    for (unsigned i = 0; i < CELLS && !status; i++)
        worker->wrong += seen[i] != start + 6;
    const cls_status freed = cls_free_async(cells, stream);
    return status ? status : freed;
}

static cls_status work_in_web(struct worker *worker, unsigned stream) {
    const struct web *web = worker->web;
    const cls_launch one = cls_launch_1d(1);
    const cls_arg args[] = {cls_arg_buffer(web->cells), cls_arg_u32(stream)};
    worker->draws = worker->draws * 1103515245u + 12345u;
    cls_status status =
        cls_stream_wait_event(web->streams[stream], web->events[(worker->draws >> 16) % WEB]);
    if (!status)
        status = cls_kernel_launch_async(worker->count, &one, args, 2, web->streams[stream]);
    return status ? status : cls_event_record(web->events[stream], web->streams[stream]);
}

/* Each thread has streams of its own, and waits for those of all. */
static void work_in_turns(struct worker *worker) {
    for (unsigned round = 0; round < WEB_ROUNDS; round++)
        for (unsigned i = worker->number; i < WEB && !worker->status; i += THREADS)
            worker->status = work_in_web(worker, i);
    for (unsigned i = worker->number; i < WEB && !worker->status; i += THREADS)
        worker->status = cls_stream_synchronize(worker->web->streams[i]);
}

static void *work(void *arg) {
    struct worker *worker = arg;
    cls_stream stream;
    worker->status = cls_stream_create(worker->context, NULL, &stream);
    for (unsigned i = 0; i < THREAD_ROUNDS && !worker->status; i++)
        worker->status = work_once(worker, stream, i);
    if (!worker->status)
        work_in_turns(worker);
    if (worker->status)
        snprintf(worker->detail, sizeof worker->detail, "%s", cls_last_error_detail());
    else
        cls_stream_destroy(stream);
    return NULL;
}

static cls_status open_web(cls_context context, struct web *web) {
    static const uint32_t zero;
    cls_status status = cls_buffer_create(context, WEB * sizeof zero, &web->cells);
    if (!status)
        status = cls_fill(web->cells, 0, WEB * sizeof zero, &zero, sizeof zero, NULL);
    for (unsigned i = 0; i < WEB && !status; i++) {
        status = cls_stream_create(context, NULL, &web->streams[i]);
        if (!status)
            status = cls_event_create(context, NULL, &web->events[i]);
    }
    return status;
}

/* The cells that do not hold one for each launch. */
static cls_status count_wrong(const struct web *web, unsigned *out) {
    uint32_t seen[WEB];
    cls_status status = cls_buffer_to_host(web->cells, seen, sizeof seen);
    for (unsigned i = 0; i < WEB && !status; i++)
        *out += seen[i] != WEB_ROUNDS;
    return status;
}

static void judge(const struct check *check, const struct worker *workers, unsigned started) {
    unsigned wrong = 0, in_web = 0;
    cls_status status = count_wrong(workers[0].web, &in_web);
    for (unsigned i = 0; i < started; i++) {
        wrong += workers[i].wrong;
        if (workers[i].status) {
            check_say(check, CHECK_FAILED, "threads", "%s: %s",
                      cls_status_string(workers[i].status), workers[i].detail);
            return;
        }
    }
    if (status)
        check_say_status(check, "threads", "a call failed", status);
    else if (wrong)
        check_say(check, CHECK_FAILED, "threads", "%u cells are wrong", wrong);
    else if (in_web)
        check_say(check, CHECK_FAILED, "threads",
                  "%u of %d cells are wrong whose streams wait for each other", in_web, WEB);
    else
        check_say(check, CHECK_PASSED, "threads",
                  "%u at once, on %d streams that wait for each other", started, WEB);
}

int check_threads(struct check *check) {
    static struct web web;
    struct worker workers[THREADS];
    pthread_t threads[THREADS];
    cls_kernel kernel, count;
    unsigned started = 0;
    cls_status status = open_kernel(check->context, "add", &kernel);
    if (!status)
        status = open_kernel(check->context, "count", &count);
    if (!status)
        status = open_web(check->context, &web);
    if (status) {
        check_say_status(check, "threads", "cannot begin", status);
        return TOOL_OK;
    }
    for (; started < THREADS; started++) {
        workers[started] = (struct worker){.context = check->context,
                                           .web = &web,
                                           .kernel = kernel,
                                           .count = count,
                                           .number = started,
                                           .draws = (unsigned)check->seed + started};
        if (pthread_create(&threads[started], NULL, work, &workers[started]))
            break;
    }
    for (unsigned i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    if (started == THREADS)
        judge(check, workers, started);
    else
        check_say(check, CHECK_FAILED, "threads", "only %u could be started", started);
    return TOOL_OK;
}

/* --- exit --- */

static cls_status begin_work(cls_context context) {
    cls_kernel kernel;
    cls_buffer cells;
    cls_stream stream;
    cls_status status = open_kernel(context, "add", &kernel);
    if (!status)
        status = cls_buffer_create(context, CELLS * sizeof(uint32_t), &cells);
    if (!status)
        status = cls_stream_create(context, NULL, &stream);
    for (unsigned i = 0; i < AT_WORK && !status; i++)
        status = add(kernel, cells, i, ROUNDS / 100, stream);
    return status;
}

/* The process exits with the work pending; how it ends is for its parent to say. */
int check_exit_at_work(struct check *check) {
    cls_status status = begin_work(check->context);
    if (status)
        check_say_status(check, "exit", "cannot begin", status);
    return TOOL_OK;
}

/* --- fork --- */

/* In the forked process: a call of the library, whose status is the process's exit status. */
static int call_in_child(void *arg) {
    cls_buffer buffer;
    return cls_buffer_create(arg, 64, &buffer) ? 1 : 0;
}

static int exit_in_child(void *arg) {
    (void)arg;
    exit(0);
}

static void observe(const struct check *check, const char *subject, bool exits) {
    struct platform_end end;
    if (!platform_fork(exits ? exit_in_child : call_in_child, check->context, FORKED_S, &end))
        check_say(check, CHECK_FAILED, subject, "fork: %s", strerror(errno));
    else if (end.hung)
        check_say(check, CHECK_FAILED, subject, "the child hangs");
    else if (end.status < 0)
        check_say(check, CHECK_FAILED, subject, "the child crashed: %s", end.crashed);
    else if (exits)
        check_say(check, CHECK_PASSED, subject, "%s", "");
    else
        check_say(check, CHECK_PASSED, subject, "the call %s",
                  end.status ? "is refused" : "succeeds");
}

int check_fork(struct check *check) {
    struct worker worker = {.context = check->context};
    cls_stream stream;
    if (!platform_forks()) {
        check_say(check, CHECK_INFO, "fork", "this system has none");
        return TOOL_OK;
    }
    cls_status status = begin_work(check->context);
    if (!status)
        status = open_kernel(check->context, "add", &worker.kernel);
    if (!status)
        status = cls_stream_create(check->context, NULL, &stream);
    if (status) {
        check_say_status(check, "fork", "cannot begin", status);
        return TOOL_OK;
    }
    observe(check, "a forked child exits", true);
    observe(check, "a forked child calls", false);
    status = work_once(&worker, stream, 1);
    if (status)
        check_say_status(check, "the parent goes on", "a call failed", status);
    else
        check_say(check, worker.wrong ? CHECK_FAILED : CHECK_PASSED, "the parent goes on", "%s",
                  worker.wrong ? "wrong data" : "");
    return TOOL_OK;
}
