/* SPDX-License-Identifier: MIT */
/* What becomes of a process that uses the driver from several threads, exits at work, or forks. */
#include "check_part.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <clstream/buffer.h>
#include <clstream/kernel.h>
#include <clstream/mempool.h>
#include <clstream/stream.h>

enum { THREADS = 4, THREAD_ROUNDS = 200, CELLS = 256, AT_WORK = 50, ROUNDS = 60000, FORKED_S = 20 };

static const char source[] =
    "kernel void add(global uint *cells, uint value, uint rounds) {\n"
    "    uint x = rounds | 1u;\n"
    "    for (uint i = 0; i < rounds; i++) { x ^= x << 13; x ^= x >> 17; x ^= x << 5; }\n"
    "    cells[get_global_id(0)] += x ? value : 0;\n"
    "}\n";

static cls_status open_kernel(cls_context context, cls_kernel *out) {
    cls_program program;
    cls_status status = cls_program_from_source(context, source, "processes.cl", NULL, &program);
    return status ? status : cls_kernel_create(program, "add", out);
}

static cls_status add(cls_kernel kernel, cls_buffer cells, unsigned value, unsigned rounds,
                      cls_stream stream) {
    const cls_launch shape = cls_launch_1d(CELLS);
    const cls_arg args[] = {cls_arg_buffer(cells), cls_arg_u32(value), cls_arg_u32(rounds)};
    return cls_kernel_launch_async(kernel, &shape, args, 3, stream);
}

/* --- threads --- */

struct worker {
    cls_context context;
    cls_kernel kernel;
    unsigned number, wrong;
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

static void *work(void *arg) {
    struct worker *worker = arg;
    cls_stream stream;
    worker->status = cls_stream_create(worker->context, NULL, &stream);
    for (unsigned i = 0; i < THREAD_ROUNDS && !worker->status; i++)
        worker->status = work_once(worker, stream, i);
    if (worker->status)
        snprintf(worker->detail, sizeof worker->detail, "%s", cls_last_error_detail());
    else
        cls_stream_destroy(stream);
    return NULL;
}

static void judge(const struct check *check, const struct worker *workers, unsigned started) {
    unsigned wrong = 0;
    for (unsigned i = 0; i < started; i++) {
        wrong += workers[i].wrong;
        if (workers[i].status) {
            check_say(check, CHECK_FAILED, "threads", "%s: %s",
                      cls_status_string(workers[i].status), workers[i].detail);
            return;
        }
    }
    if (wrong)
        check_say(check, CHECK_FAILED, "threads", "%u cells are wrong", wrong);
    else
        check_say(check, CHECK_PASSED, "threads", "%u at once, %d rounds each", started,
                  THREAD_ROUNDS);
}

int check_threads(struct check *check) {
    struct worker workers[THREADS];
    pthread_t threads[THREADS];
    cls_kernel kernel;
    unsigned started = 0;
    cls_status status = open_kernel(check->context, &kernel);
    if (status) {
        check_say_status(check, "threads", "cannot begin", status);
        return TOOL_OK;
    }
    for (; started < THREADS; started++) {
        workers[started] = (struct worker){check->context, kernel, started, 0, CLS_SUCCESS, ""};
        if (pthread_create(&threads[started], NULL, work, &workers[started]))
            break;
    }
    for (unsigned i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    judge(check, workers, started);
    return TOOL_OK;
}

/* --- exit --- */

static cls_status begin_work(cls_context context) {
    cls_kernel kernel;
    cls_buffer cells;
    cls_stream stream;
    cls_status status = open_kernel(context, &kernel);
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
static void use_in_child(cls_context context, bool exits) {
    cls_buffer buffer;
    alarm(FORKED_S);
    if (exits)
        exit(0);
    const cls_status status = cls_buffer_create(context, 64, &buffer);
    _exit(status ? 1 : 0);
}

static void observe(const struct check *check, const char *subject, bool exits) {
    int state = 0;
    const pid_t child = fork();
    if (child == 0)
        use_in_child(check->context, exits);
    while (child > 0 && waitpid(child, &state, 0) < 0 && errno == EINTR)
        ;
    if (child < 0)
        check_say(check, CHECK_FAILED, subject, "fork: %s", strerror(errno));
    else if (WIFSIGNALED(state) && WTERMSIG(state) == SIGALRM)
        check_say(check, CHECK_FAILED, subject, "the child hangs");
    else if (WIFSIGNALED(state))
        check_say(check, CHECK_FAILED, subject, "the child crashed: %s",
                  strsignal(WTERMSIG(state)));
    else if (exits)
        check_say(check, CHECK_PASSED, subject, "%s", "");
    else
        check_say(check, CHECK_PASSED, subject, "the call %s",
                  WEXITSTATUS(state) ? "is refused" : "succeeds");
}

int check_fork(struct check *check) {
    struct worker worker = {.context = check->context};
    cls_stream stream;
    cls_status status = begin_work(check->context);
    if (!status)
        status = open_kernel(check->context, &worker.kernel);
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
