/* SPDX-License-Identifier: MIT */
/*
 * Collectives of libclstream-mpi against the same chunks by hand with MPI and raw OpenCL, in turns; how much of a
 * reduction hides behind computation; and a step's time, for weak scaling. Run it under the MPI's launcher:
 *
 *   mpirun -n 2 bench/mpi [--quick] [--only TEXT] [--json FILE] [--chunk KIB] [--host-ranks N]
 *
 * Rank 0 reports. A time is that of the slowest rank, and the ratio the median of those of the rounds. The status is 1
 * when a bar is missed.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <clstream.h>
#include <clstream/mpi.h>
#include <clstream/opencl.h>

#include "support.h"

enum { CHUNKS = 8, MOST_ROUNDS = 64, BUCKETS = 16, KERNELS = 8 };

static struct bench {
    int rank, ranks;
    bool quick, missed;
    const char *only;
    size_t chunk;        /* most bytes of a chunk */
    unsigned host_ranks; /* most ranks that share memory; 0: all of a host */
    FILE *json;
    cls_context context;
    cls_stream stream;
    cls_mpi_comm comm;
    cl_context cl;
    cl_device_id device;
    cl_command_queue down, up;
} bench;

/* One size: clstream's array and the raw one. */
struct arrays {
    size_t bytes, chunk;
    cls_array array;
    cl_mem raw;
    float *ring[CHUNKS];
    cl_event read[CHUNKS], written[CHUNKS];
};

typedef double (*way)(struct arrays *arrays);

/* --- by hand --- */

static void *map_pinned(size_t bytes) {
    cl_int code;
    cl_mem memory = clCreateBuffer(bench.cl, CL_MEM_ALLOC_HOST_PTR, bytes, NULL, &code);
    check_cl(code, "clCreateBuffer");
    void *mapped = clEnqueueMapBuffer(bench.down, memory, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                      bytes, 0, NULL, NULL, &code);
    check_cl(code, "clEnqueueMapBuffer");
    return mapped;
}

static size_t chunk_bytes(const struct arrays *a, size_t i) {
    const size_t rest = a->bytes - i * a->chunk;
    return rest < a->chunk ? rest : a->chunk;
}

static void raw_read(struct arrays *a, size_t i) {
    const size_t k = i % CHUNKS;
    CL(clEnqueueReadBuffer(bench.down, a->raw, CL_FALSE, i * a->chunk, chunk_bytes(a, i),
                           a->ring[k], i >= CHUNKS, i >= CHUNKS ? &a->written[k] : NULL,
                           &a->read[k]));
    CL(clFlush(bench.down));
    if (i >= CHUNKS)
        CL(clReleaseEvent(a->written[k]));
}

static void raw_write(struct arrays *a, size_t i) {
    const size_t k = i % CHUNKS;
    CL(clEnqueueWriteBuffer(bench.up, a->raw, CL_FALSE, i * a->chunk, chunk_bytes(a, i), a->ring[k],
                            0, NULL, &a->written[k]));
    CL(clFlush(bench.up));
}

/* Downloads go ahead of the exchange by all but one chunk of the ring, and uploads follow it. */
static double raw_run(struct arrays *a, void (*exchange)(float *data, size_t bytes)) {
    const size_t n = (a->bytes + a->chunk - 1) / a->chunk, ahead = CHUNKS - 1;
    const double start = now_seconds();
    for (size_t i = 0; i < n && i < ahead; i++)
        raw_read(a, i);
    for (size_t i = 0; i < n; i++) {
        CL(clWaitForEvents(1, &a->read[i % CHUNKS]));
        CL(clReleaseEvent(a->read[i % CHUNKS]));
        exchange(a->ring[i % CHUNKS], chunk_bytes(a, i));
        raw_write(a, i);
        if (i + ahead < n)
            raw_read(a, i + ahead);
    }
    CL(clFinish(bench.up));
    const double seconds = now_seconds() - start;
    for (size_t i = n < CHUNKS ? 0 : n - CHUNKS; i < n; i++)
        CL(clReleaseEvent(a->written[i % CHUNKS]));
    return seconds;
}

static void exchange_allreduce(float *data, size_t bytes) {
    MPI_Allreduce(MPI_IN_PLACE, data, (int)(bytes / sizeof *data), MPI_FLOAT, MPI_SUM,
                  MPI_COMM_WORLD);
}

static void exchange_bcast(float *data, size_t bytes) {
    MPI_Bcast(data, (int)bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static double raw_allreduce(struct arrays *a) { return raw_run(a, exchange_allreduce); }
static double raw_bcast(struct arrays *a) { return raw_run(a, exchange_bcast); }

/* --- clstream --- */

static double our_allreduce(struct arrays *a) {
    const double start = now_seconds();
    CLS(cls_mpi_allreduce(bench.comm, CLS_MPI_SUM, a->array, a->array, bench.stream));
    return now_seconds() - start;
}

static double our_bcast(struct arrays *a) {
    const double start = now_seconds();
    CLS(cls_mpi_bcast(bench.comm, a->array, 0, bench.stream));
    return now_seconds() - start;
}

/* --- rounds and rows --- */

static double slowest(double seconds) {
    double most;
    MPI_Allreduce(&seconds, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return most;
}

static double run(way one, struct arrays *a) {
    MPI_Barrier(MPI_COMM_WORLD);
    return slowest(one(a));
}

static void report(const char *name, const char *unit, double ours, double raw, double ratio,
                   double bar, bool is_upper) {
    const bool met = !bar || (is_upper ? ratio <= bar : ratio >= bar);
    bench.missed |= !met;
    if (bench.rank)
        return;
    printf("%-28s %9.3f %9.3f %-5s %7.3f", name, ours, raw, unit, ratio);
    if (bar)
        printf("  %s %.2f%s", is_upper ? "<=" : ">=", bar, met ? "" : "  MISSED");
    putchar('\n');
    if (bench.json)
        fprintf(bench.json,
                "{\"program\": \"mpi\", \"name\": \"%s\", \"unit\": \"%s\", \"clstream\": %.6g, "
                "\"raw\": %.6g, \"ratio\": %.4f, \"ranks\": %d, \"met\": %s}\n",
                name, unit, ours, raw, ratio, bench.ranks, met ? "true" : "false");
    fflush(stdout);
}

static bool wants(const char *name) { return !bench.only || strstr(name, bench.only); }

static void free_arrays(struct arrays *a) {
    CLS(cls_buffer_destroy(a->array.buffer));
    CL(clReleaseMemObject(a->raw));
}

static void make_arrays(struct arrays *a, size_t bytes, size_t chunk) {
    cls_buffer buffer;
    cl_int code;
    const float one = 1.0f / 1024;
    static void *ring;
    static size_t ring_bytes;
    *a = (struct arrays){.bytes = bytes, .chunk = chunk};
    CLS(cls_buffer_create(bench.context, bytes, &buffer));
    CLS(cls_fill(buffer, 0, bytes, &one, sizeof one, bench.stream));
    a->array = cls_array_of(buffer, CLS_F32, bytes / sizeof one);
    a->raw = clCreateBuffer(bench.cl, CL_MEM_READ_WRITE, bytes, NULL, &code);
    check_cl(code, "clCreateBuffer");
    CL(clEnqueueFillBuffer(bench.down, a->raw, &one, sizeof one, 0, bytes, 0, NULL, NULL));
    CL(clFinish(bench.down));
    if (ring_bytes < chunk) {
        ring = map_pinned(CHUNKS * chunk);
        ring_bytes = chunk;
    }
    for (size_t k = 0; k < CHUNKS; k++)
        a->ring[k] = (float *)(void *)((char *)ring + k * chunk);
}

/* The chunk that the library takes for an array of this size. */
static size_t chunk_of(size_t bytes) {
    const size_t share = bytes / (2 * CHUNKS), least = 256 << 10, most = bench.chunk;
    return share < least ? (bytes < least ? bytes : least) : share < most ? share : most;
}

/* A bar on the time (upper) or on the rate (lower). */
static void contend(const char *name, size_t bytes, way ours, way raw, double bar, bool is_upper) {
    double our[MOST_ROUNDS], theirs[MOST_ROUNDS], ratios[MOST_ROUNDS];
    struct arrays a;
    unsigned rounds = bench.quick ? 7 : bytes < 8 << 20 ? 61 : 21;
    if (!wants(name))
        return;
    make_arrays(&a, bytes, chunk_of(bytes));
    for (int i = 0; i < 3; i++) {
        run(ours, &a);
        run(raw, &a);
    }
    for (unsigned i = 0; i < rounds; i++) {
        our[i] = run(ours, &a);
        theirs[i] = run(raw, &a);
        ratios[i] = is_upper ? our[i] / theirs[i] : theirs[i] / our[i];
    }
    const double us = median(our, rounds), them = median(theirs, rounds);
    const double gb = 1e-9 * (double)bytes;
    if (is_upper)
        report(name, "us", us * 1e6, them * 1e6, median(ratios, rounds), bar, true);
    else
        report(name, "GB/s", gb / us, gb / them, median(ratios, rounds), bar, false);
    free_arrays(&a);
}

/* --- overlap and steps --- */

static const char busy_source[] = "kernel void busy(global float *out, uint rounds) {\n"
                                  "    float v = out[0];\n"
                                  "    for (uint i = 0; i < rounds; i++)\n"
                                  "        for (uint k = 0; k < 1000; k++)\n"
                                  "            v = v * 0.999f + 0.001f;\n"
                                  "    out[0] = v;\n"
                                  "}\n";

static struct busy {
    cls_kernel kernel;
    cls_buffer cell;
    double seconds_per_round;
} busy;

/* Several kernels a bucket, as layers are: where the device copies between kernels, a copy waits for one of them. */
static void compute(double seconds, cls_stream stream) {
    const double rounds = seconds / KERNELS / busy.seconds_per_round;
    const cls_arg args[] = {cls_arg_buffer(busy.cell), cls_arg_u32((uint32_t)(rounds + 1))};
    const cls_launch launch = cls_launch_1d(1);
    for (int i = 0; i < KERNELS; i++)
        CLS(cls_kernel_launch_async(busy.kernel, &launch, args, 2, stream));
}

static void make_busy(void) {
    cls_program program;
    CLS(cls_program_from_source(bench.context, busy_source, "busy.cl", NULL, &program));
    CLS(cls_kernel_create(program, "busy", &busy.kernel));
    CLS(cls_buffer_create(bench.context, sizeof(float), &busy.cell));
    busy.seconds_per_round = 1e-6;
}

/* A backward pass alone, on all ranks at once. */
static double run_backward(double backward) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = now_seconds();
    for (size_t b = 0; b < BUCKETS; b++)
        compute(backward / BUCKETS, bench.stream);
    CLS(cls_stream_synchronize(bench.stream));
    return slowest(now_seconds() - start);
}

static double measure_backward(double backward) {
    double seconds[5];
    for (int i = 0; i < 5; i++)
        seconds[i] = run_backward(backward);
    return median(seconds, 5);
}

/* Has a backward pass of so many seconds take that long. */
static void calibrate(double backward) {
    double took = measure_backward(backward);
    for (int i = 0; i < 6 && (took < 0.95 * backward || took > 1.05 * backward); i++) {
        busy.seconds_per_round *= took / backward;
        took = measure_backward(backward);
    }
}

/* One step: backward in as many parts as there are buckets, each reduced as soon as it is there. */
static double step(cls_mpi_buckets buckets, double backward, bool overlaps) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = now_seconds();
    for (size_t b = 0; b < BUCKETS; b++) {
        if (backward > 0)
            compute(backward / BUCKETS, bench.stream);
        if (overlaps)
            CLS(cls_mpi_buckets_ready(buckets, b, bench.stream));
    }
    for (size_t b = 0; b < BUCKETS && !overlaps; b++)
        CLS(cls_mpi_buckets_ready(buckets, b, bench.stream));
    CLS(cls_mpi_buckets_wait(buckets, bench.stream));
    CLS(cls_stream_synchronize(bench.stream));
    return slowest(now_seconds() - start);
}

/* Seconds of one round. */
struct parts {
    double reduction, backward, apart, together;
};

static struct parts measure_parts(cls_mpi_buckets buckets, double backward) {
    struct parts parts;
    parts.reduction = step(buckets, 0, false);
    parts.backward = run_backward(backward);
    parts.apart = step(buckets, backward, false);
    parts.together = step(buckets, backward, true);
    return parts;
}

static double median_reduction(cls_mpi_buckets buckets) {
    double seconds[5];
    for (int i = 0; i < 5; i++)
        seconds[i] = step(buckets, 0, false);
    return median(seconds, 5);
}

static void report_parts(struct parts parts[], unsigned rounds, const char *name) {
    double reduction[MOST_ROUNDS], backward[MOST_ROUNDS], apart[MOST_ROUNDS], together[MOST_ROUNDS];
    double extra[MOST_ROUNDS], hidden[MOST_ROUNDS], model[MOST_ROUNDS];
    for (unsigned i = 0; i < rounds; i++) {
        const double r = reduction[i] = parts[i].reduction, b = backward[i] = parts[i].backward;
        const double last = r / BUCKETS, rest = r - 0.8 * b;
        apart[i] = parts[i].apart;
        together[i] = parts[i].together;
        extra[i] = apart[i] / (r + b);
        hidden[i] = (r + b - together[i]) / r;
        model[i] = b + (last > rest ? last : rest); /* doc/scaling.md */
    }
    const double step = median(together, rounds), expected = median(model, rounds);
    const double r = median(reduction, rounds), b = median(backward, rounds);
    report("reduction alone", "ms", r * 1e3, 0, 1, 0, false);
    report("backward alone", "ms", b * 1e3, 0, b / r, 0, false);
    report("step: one after the other", "ms", median(apart, rounds) * 1e3, 0, median(extra, rounds),
           0, false);
    report("step: overlapped, and model", "ms", step * 1e3, expected * 1e3, step / expected, 0,
           true);
    report(name, "share", median(hidden, rounds), 0, median(hidden, rounds), 0.8, false);
}

/* Of a reduction that takes as long as backward, the part that does not show in the step's time. The last bucket's part
 * always shows. So does the time that the reduction takes of the core on which a rank of PoCL computes: 4 to 5 ms a MiB
 * for TCP, MPI and copies. On a link of 400 Mbit/s that is a fifth of the reduction. The bar is for a link that is slow
 * against the core, of 100 Mbit/s. The ratio of "one after the other" is to the sum of the parts, and that of "backward
 * alone" to the reduction: other work on the cores shows in both. */
static void measure_overlap(size_t mib) {
    size_t counts[BUCKETS];
    struct parts parts[MOST_ROUNDS];
    const unsigned rounds = bench.quick ? 5 : 15;
    cls_mpi_buckets_config config = CLS_MPI_BUCKETS_CONFIG_INIT;
    cls_mpi_buckets buckets;
    char name[64];
    snprintf(name, sizeof name, "overlap, %zu MiB", mib);
    if (!wants(name))
        return;
    make_busy();
    for (size_t b = 0; b < BUCKETS; b++)
        counts[b] = (mib << 20) / sizeof(float) / BUCKETS;
    config.bucket_bytes = 4;
    CLS(cls_mpi_buckets_create(bench.comm, CLS_F32, counts, BUCKETS, &config, &buckets));
    const double backward = median_reduction(buckets);
    calibrate(backward);
    for (unsigned i = 0; i < rounds; i++)
        parts[i] = measure_parts(buckets, backward);
    report_parts(parts, rounds, name);
    CLS(cls_mpi_buckets_destroy(buckets));
}

/* --- the program --- */

static void take_options(int argc, char **argv) {
    bench.chunk = 2 << 20;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--quick"))
            bench.quick = true;
        else if (!strcmp(argv[i], "--only") && i + 1 < argc)
            bench.only = argv[++i];
        else if (!strcmp(argv[i], "--chunk") && i + 1 < argc)
            bench.chunk = (size_t)atoi(argv[++i]) << 10;
        else if (!strcmp(argv[i], "--host-ranks") && i + 1 < argc)
            bench.host_ranks = (unsigned)atoi(argv[++i]);
        else if (!strcmp(argv[i], "--json") && i + 1 < argc)
            bench.json = bench.rank ? NULL : fopen(argv[++i], "a");
        else if (bench.rank == 0)
            fprintf(stderr, "bench/mpi: %s is ignored\n", argv[i]);
    }
}

static void open_all(void) {
    cl_int code;
    cls_mpi_comm_config config = CLS_MPI_COMM_CONFIG_INIT;
    config.chunk_bytes = bench.chunk;
    config.host_ranks = bench.host_ranks;
    CLS(cls_context_create(NULL, &bench.context));
    CLS(cls_stream_create(bench.context, NULL, &bench.stream));
    CLS(cls_mpi_comm_create(MPI_COMM_WORLD, bench.context, &config, &bench.comm));
    CLS(cls_context_get_cl(bench.context, &bench.cl, &bench.device));
    bench.down = clCreateCommandQueue(bench.cl, bench.device, 0, &code);
    check_cl(code, "clCreateCommandQueue");
    bench.up = clCreateCommandQueue(bench.cl, bench.device, 0, &code);
    check_cl(code, "clCreateCommandQueue");
}

int main(int argc, char **argv) {
    int level;
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &bench.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &bench.ranks);
    take_options(argc, argv);
    open_all();
    MPI_Get_library_version(library, &level);
    if (bench.rank == 0)
        printf("%d ranks, %.*s\n%-28s %9s %9s %-5s %7s\n", bench.ranks,
               (int)strcspn(library, ",\n"), library, "", "clstream", "by hand", "", "ratio");
    contend("all-reduce, 4 KiB", 4 << 10, our_allreduce, raw_allreduce, 0, true);
    contend("all-reduce, 64 KiB", 64 << 10, our_allreduce, raw_allreduce, 0, true);
    contend("all-reduce, 1 MiB", 1 << 20, our_allreduce, raw_allreduce, 1.2, true);
    contend("all-reduce, 8 MiB", 8 << 20, our_allreduce, raw_allreduce, 0, false);
    contend("all-reduce, 64 MiB", 64 << 20, our_allreduce, raw_allreduce, 0.95, false);
    contend("broadcast, 1 MiB", 1 << 20, our_bcast, raw_bcast, 1.2, true);
    contend("broadcast, 64 MiB", 64 << 20, our_bcast, raw_bcast, 0.95, false);
    measure_overlap(bench.quick ? 8 : 32);
    CLS(cls_mpi_comm_destroy(bench.comm));
    if (bench.json)
        fclose(bench.json);
    MPI_Finalize();
    return bench.missed;
}
