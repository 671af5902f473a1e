/* SPDX-License-Identifier: MIT */
/*
 * (g) Stream-ordered memory: a pair of malloc and free in steady state, against the driver's buffer with
 * its first touch; the same by eight threads on streams of their own; and the memory that training steps
 * reserve against what they ask for, which must all go back; and pinned memory. The peer in CUDA is
 * bench/peers/cuda_malloc.cu.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness.h"
#include "rig.h"
#include "training.h"

enum { THREADS = 8, BYTES = 1 << 20 };

struct pairs {
    const struct rig *rig;
    cls_stream stream;
    cl_command_queue queue;
    unsigned count;
};

static double pairs_run(void *arg, double *also) {
    const struct pairs *pairs = arg;
    cls_buffer buffer;
    const double start = now_seconds();
    for (unsigned i = 0; i < pairs->count; i++) {
        CLS(cls_malloc_async(pairs->stream, BYTES, &buffer));
        CLS(cls_free_async(buffer, pairs->stream));
    }
    *also = 0;
    return 1e9 * (now_seconds() - start) / pairs->count;
}

/* Drivers allocate when memory is first touched; the time of the touch alone is taken off. */
static double raw_run(void *arg, double *also) {
    const struct pairs *pairs = arg;
    const unsigned count = pairs->count / 1000 + 1;
    const char zero = 0;
    cl_int code;
    const double start = now_seconds();
    for (unsigned i = 0; i < count; i++) {
        cl_mem memory = clCreateBuffer(pairs->rig->cl, CL_MEM_READ_WRITE, BYTES, NULL, &code);
        check_cl(code, "clCreateBuffer");
        CL(clEnqueueWriteBuffer(pairs->queue, memory, CL_TRUE, 0, 1, &zero, 0, NULL, NULL));
        CL(clReleaseMemObject(memory));
    }
    const double middle = now_seconds();
    cl_mem memory = clCreateBuffer(pairs->rig->cl, CL_MEM_READ_WRITE, BYTES, NULL, &code);
    check_cl(code, "clCreateBuffer");
    for (unsigned i = 0; i < count; i++)
        CL(clEnqueueWriteBuffer(pairs->queue, memory, CL_TRUE, 0, 1, &zero, 0, NULL, NULL));
    const double end = now_seconds();
    CL(clReleaseMemObject(memory));
    *also = 0;
    return 1e9 * ((middle - start) - (end - middle)) / count;
}

/* --- pinned memory --- */

static double pinned_run(void *arg, double *also) {
    const struct pairs *pairs = arg;
    void *memory;
    const double start = now_seconds();
    for (unsigned i = 0; i < pairs->count; i++) {
        CLS(cls_host_alloc(pairs->rig->context, BYTES, &memory));
        CLS(cls_host_free(memory));
    }
    *also = 0;
    return 1e9 * (now_seconds() - start) / pairs->count;
}

static double raw_pinned_run(void *arg, double *also) {
    const struct pairs *pairs = arg;
    const unsigned count = pairs->count / 1000 + 1;
    cl_int code;
    const double start = now_seconds();
    for (unsigned i = 0; i < count; i++) {
        cl_mem memory = clCreateBuffer(pairs->rig->cl, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR,
                                       BYTES, NULL, &code);
        check_cl(code, "clCreateBuffer");
        void *mapped = clEnqueueMapBuffer(pairs->queue, memory, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE,
                                          0, BYTES, 0, NULL, NULL, &code);
        check_cl(code, "clEnqueueMapBuffer");
        CL(clEnqueueUnmapMemObject(pairs->queue, memory, mapped, 0, NULL, NULL));
        CL(clFinish(pairs->queue));
        CL(clReleaseMemObject(memory));
    }
    *also = 0;
    return 1e9 * (now_seconds() - start) / count;
}

/* --- eight threads --- */

struct team {
    struct pairs members[THREADS];
    pthread_barrier_t start;
    double ns[THREADS];
};

struct place {
    struct team *team;
    unsigned i;
};

static void *play(void *arg) {
    const struct place *place = arg;
    double also;
    pthread_barrier_wait(&place->team->start);
    place->team->ns[place->i] = pairs_run(&place->team->members[place->i], &also);
    return NULL;
}

/* The median over the threads of what a pair cost each. */
static double team_run(void *arg, double *also) {
    struct team *team = arg;
    struct place places[THREADS];
    pthread_t threads[THREADS];
    pthread_barrier_init(&team->start, NULL, THREADS);
    for (unsigned i = 0; i < THREADS; i++) {
        places[i] = (struct place){team, i};
        if (pthread_create(&threads[i], NULL, play, &places[i]))
            die("no thread");
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&team->start);
    *also = 0;
    return median(team->ns, THREADS);
}

static void cost(const struct rig *rig) {
    struct team team;
    struct pairs one = {rig, rig_stream(rig, CLS_ORDER_AUTO), rig_queue(rig, false), 20000};
    const struct way raw = {"clCreateBuffer, touched", raw_run, &one},
                     raw_pinned = {"clCreateBuffer, mapped", raw_pinned_run, &one};
    bench_section("(g) stream-ordered memory: a pair of malloc and free, 1 MiB");
    bench_contest(&(struct contest){.name = "pair against the driver's buffer",
                                    .unit = "ns",
                                    .measure = MEASURE_SPEEDUP,
                                    .ours = {"clstream", pairs_run, &one},
                                    .rivals = &raw,
                                    .n_rivals = 1});
    bench_figure("pair, 1 thread", "ns", (struct way){"", pairs_run, &one}, 0);
    bench_contest(&(struct contest){.name = "pinned memory, pair against the driver's",
                                    .unit = "ns",
                                    .measure = MEASURE_SPEEDUP,
                                    .ours = {"clstream", pinned_run, &one},
                                    .rivals = &raw_pinned,
                                    .n_rivals = 1});
    for (unsigned i = 0; i < THREADS; i++)
        team.members[i] = (struct pairs){rig, rig_stream(rig, CLS_ORDER_AUTO), NULL, 20000};
    bench_figure("pair, each of 8 threads", "ns", (struct way){"", team_run, &team}, 0);
    for (unsigned i = 0; i < THREADS; i++)
        CLS(cls_stream_destroy(team.members[i].stream));
    CLS(cls_stream_destroy(one.stream));
}

/* --- a training loop --- */

static cls_mempool_statistics stats_of(cls_mempool pool) {
    cls_mempool_statistics stats = CLS_MEMPOOL_STATISTICS_INIT;
    CLS(cls_mempool_get_statistics(pool, &stats));
    return stats;
}

/* Replays a trace; the most that was asked for at a time, in bytes. */
static size_t replay(const struct trace *trace, cls_mempool pool, cls_stream stream) {
    cls_buffer *live = allocate(trace->ids * sizeof(cls_buffer));
    size_t *bytes = allocate(trace->ids * sizeof *bytes), asked = 0, most = 0;
    for (size_t i = 0; i < trace->count; i++) {
        const struct trace_step *step = &trace->steps[i];
        if (step->bytes) {
            CLS(cls_mempool_malloc_async(pool, stream, step->bytes, &live[step->id]));
            bytes[step->id] = step->bytes;
            asked += step->bytes;
            most = asked > most ? asked : most;
        } else {
            CLS(cls_free_async(live[step->id], stream));
            asked -= bytes[step->id];
        }
    }
    free(live);
    free(bytes);
    return most;
}

static void training(const struct rig *rig, unsigned layers, size_t width) {
    struct trace trace;
    cls_mempool pool;
    char name[64];
    cls_stream stream = rig_stream(rig, CLS_ORDER_AUTO);
    trace_transformer(&trace, layers, width, bench_options()->quick ? 4 : 20);
    CLS(cls_mempool_create(rig->context, NULL, &pool));
    const double start = now_seconds();
    const size_t most = replay(&trace, pool, stream);
    double ns = 1e9 * (now_seconds() - start) / (double)(trace.count / 2);
    const cls_mempool_statistics stats = stats_of(pool);
    double overhead = (double)stats.reserved_high / (double)most;
    CLS(cls_stream_synchronize(stream));
    CLS(cls_mempool_trim(pool, 0));
    double left = (double)stats_of(pool).reserved;
    bench_note("%u layers of width %zu: %zu allocations, at most %.1f MiB asked for at a time",
               layers, width, trace.count / 2, (double)most / (1 << 20));
    snprintf(name, sizeof name, "width %zu: reserved over asked for", width);
    bench_values(name, "x", &overhead, 1, 0);
    snprintf(name, sizeof name, "width %zu: a pair, new memory included", width);
    bench_values(name, "ns", &ns, 1, 0);
    snprintf(name, sizeof name, "width %zu: left after a trim", width);
    bench_values(name, "bytes", &left, 1, 0);
    if (left > 0)
        die("memory did not go back");
    CLS(cls_mempool_destroy(pool));
    CLS(cls_stream_destroy(stream));
    trace_free(&trace);
}

int main(int argc, char **argv) {
    struct rig rig;
    bench_begin(argc, argv, "mempool");
    rig_open(&rig);
    bench_header(&rig);
    cost(&rig);
    bench_section("(g) stream-ordered memory: training steps replayed");
    training(&rig, 4, 256);
    training(&rig, 8, 512);
    rig_close(&rig);
    return bench_end();
}
