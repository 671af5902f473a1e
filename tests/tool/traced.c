/* SPDX-License-Identifier: MIT */
/*
 * A program to be traced: two streams that depend on each other, host functions, and names that would
 * break a careless export. It ends as its argument says: "well", "pending" (exit with work that is not
 * waited for), "failing" (after a command failed), "idle" (without any work), or as "well" but by a signal:
 * "terminated" (while it waits for ever), "crashed", "aborted" or "killed". "forked" is "well" in a forked
 * child of a process that is idle, and "moved" is "pending" in another folder than it was started in.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <clstream.h>
#include <clstream/opencl.h>
#include <clstream/timeline.h>

enum { N = 1 << 16, ROUNDS = 5 };

static const char hostile[] = "a \"b\" <c> & 'd' \\ ,;\n</script>\xff\xc3\xa9";

static void must(cls_status status) {
    if (!status)
        return;
    fprintf(stderr, "%s: %s\n", cls_status_string(status), cls_last_error_detail());
    _Exit(3);
}

static void nothing(void *arg) { (void)arg; }

static cl_int refuse(cl_command_queue queue, void *arg) {
    (void)queue;
    (void)arg;
    return CL_OUT_OF_RESOURCES;
}

static cls_stream named(const char *name) {
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    cls_stream stream;
    config.name = name;
    must(cls_stream_create(NULL, &config, &stream));
    return stream;
}

/* A command that fails once the host lets it, and one of each stream behind it. */
static cls_status fail_both(cls_stream upload, cls_stream compute, cls_event event) {
    cls_timeline go;
    must(cls_timeline_create(NULL, &go)); /* never destroyed: the process ends */
    must(cls_stream_wait_timeline(compute, go, 1));
    must(cls_stream_foreign_async(compute, "the failing one", refuse, NULL));
    must(cls_stream_launch_host_async(compute, nothing, NULL));
    must(cls_event_record(event, compute));
    must(cls_stream_wait_event(upload, event));
    must(cls_stream_launch_host_async(upload, nothing, NULL));
    return cls_timeline_signal(go, 1);
}

/* A call of the library that does not return. */
static void wait_for_ever(cls_stream stream) {
    cls_timeline never;
    must(cls_timeline_create(NULL, &never));
    must(cls_stream_wait_timeline(stream, never, 1));
    must(cls_stream_synchronize(stream));
}

/* A real fault: a compiler's handler that stands before the library's lets it happen again. */
static void end_by_signal(const char *how, cls_stream stream) {
    static volatile int *volatile nowhere;
    static const struct timespec unseen = {0, 200000000}; /* longer than a compiler's handler is */
    const bool terminated = strcmp(how, "terminated") == 0, killed = strcmp(how, "killed") == 0;
    const bool aborted = strcmp(how, "aborted") == 0;
    if (!terminated && !killed && !aborted && strcmp(how, "crashed") != 0)
        return;
    must(cls_context_synchronize(NULL));
    if (terminated || killed)
        raise(killed ? SIGKILL : SIGTERM);
    else if (aborted && !nanosleep(&unseen, NULL))
        abort();
    else
        *nowhere = 1;
    wait_for_ever(stream);
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "well";
    static float host[N];
    cls_buffer a, b;
    cls_event event;
    if (strcmp(how, "idle") == 0)
        return 0;
    if (strcmp(how, "moved") == 0 && chdir("/") != 0)
        return 4;
    if (strcmp(how, "forked") == 0) {
        int status;
        const pid_t child = fork();
        if (child)
            return child < 0 || waitpid(child, &status, 0) != child || status;
    }
    cls_stream upload = named("upload"), compute = named(hostile);
    must(cls_event_create(NULL, NULL, &event));
    must(cls_buffer_create(NULL, sizeof host, &a));
    must(cls_buffer_create(NULL, sizeof host, &b));
    for (int i = 0; i < ROUNDS; i++) {
        must(cls_range_push(i ? "round" : hostile));
        must(cls_copy_h2d_async(a, 0, host, sizeof host, upload));
        must(cls_event_record(event, upload));
        must(cls_stream_wait_event(compute, event));
        must(cls_unary_async(CLS_UNARY_GELU, cls_array_of(a, CLS_F32, N),
                             cls_array_of(b, CLS_F32, N), compute));
        must(cls_event_record(event, compute));
        must(cls_stream_wait_event(upload, event));
        must(cls_range_pop());
    }
    must(cls_stream_launch_host_async(compute, nothing, NULL));
    must(cls_copy_d2h_async(host, b, 0, sizeof host, compute));
    if (strcmp(how, "failing") == 0)
        must(fail_both(upload, compute, event));
    end_by_signal(how, compute);
    if (strcmp(how, "well") == 0)
        must(cls_context_synchronize(NULL));
    if (strcmp(how, "failing") == 0)
        cls_stream_synchronize(compute);
    exit(strcmp(how, "failing") == 0 ? 7 : 0);
}
