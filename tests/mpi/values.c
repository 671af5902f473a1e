/* SPDX-License-Identifier: MIT */
/* The collectives compute right values, in the order of streams, on all types and sizes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ranks.h"

static const cls_dtype types[] = {CLS_F32, CLS_F64, CLS_I32, CLS_I64, CLS_U8,
                                  CLS_U32, CLS_I8,  CLS_I16, CLS_U16};
enum { TYPES = sizeof types / sizeof *types };
static const size_t counts[] = {1, 7, 64, 1000, 5000, 20001};
enum { COUNTS = sizeof counts / sizeof *counts };

/* Element i of a rank: a small whole number, exact in every type and in every order of adding. */
static double value(int rank, size_t i) { return (double)((i * 7 + (size_t)rank * 3) % 11); }

static void put(void *memory, cls_dtype type, size_t i, double v) {
    switch (type) {
    case CLS_F32:
        ((float *)memory)[i] = (float)v;
        break;
    case CLS_F64:
        ((double *)memory)[i] = v;
        break;
    case CLS_I32:
        ((int32_t *)memory)[i] = (int32_t)v;
        break;
    case CLS_I64:
        ((int64_t *)memory)[i] = (int64_t)v;
        break;
    case CLS_I8:
        ((int8_t *)memory)[i] = (int8_t)v;
        break;
    case CLS_I16:
        ((int16_t *)memory)[i] = (int16_t)v;
        break;
    case CLS_U8:
        ((uint8_t *)memory)[i] = (uint8_t)v;
        break;
    case CLS_U16:
        ((uint16_t *)memory)[i] = (uint16_t)v;
        break;
    case CLS_U32:
        ((uint32_t *)memory)[i] = (uint32_t)v;
        break;
    case CLS_F16: /* which MPI has not */
    case CLS_BF16:
        break;
    }
}

static double get(const void *memory, cls_dtype type, size_t i) {
    switch (type) {
    case CLS_F32:
        return (double)((const float *)memory)[i];
    case CLS_F64:
        return ((const double *)memory)[i];
    case CLS_I32:
        return ((const int32_t *)memory)[i];
    case CLS_I64:
        return (double)((const int64_t *)memory)[i];
    case CLS_I8:
        return ((const int8_t *)memory)[i];
    case CLS_I16:
        return ((const int16_t *)memory)[i];
    case CLS_U8:
        return ((const uint8_t *)memory)[i];
    case CLS_U16:
        return ((const uint16_t *)memory)[i];
    case CLS_U32:
        return ((const uint32_t *)memory)[i];
    case CLS_F16:
    case CLS_BF16:
        break;
    }
    return -1;
}

/* An array on the device, with a margin of one element on either side that nothing may touch. */
static cls_array make(cls_dtype type, size_t count, double (*element)(int rank, size_t i),
                      int rank) {
    const size_t size = cls_dtype_size(type);
    char *memory = calloc(count + 2, size);
    cls_buffer buffer;
    put(memory, type, 0, 99);
    put(memory, type, count + 1, 99);
    for (size_t i = 0; i < count; i++)
        put(memory, type, i + 1, element ? element(rank, i) : 77);
    OK(cls_buffer_from_host(job.context, memory, (count + 2) * size, &buffer));
    free(memory);
    return cls_array_at(buffer, type, 1, count);
}

static void check(cls_array array, double (*wanted)(size_t i, size_t count), size_t count) {
    const size_t size = cls_dtype_size(array.dtype);
    char *memory = malloc((array.count + 2) * size);
    OK(cls_buffer_to_host(array.buffer, memory, (array.count + 2) * size));
    THAT(get(memory, array.dtype, 0) == 99 && get(memory, array.dtype, array.count + 1) == 99);
    for (size_t i = 0; i < array.count; i++) {
        const double is = get(memory, array.dtype, i + 1), should = wanted(i, count);
        if (is != should) {
            fprintf(stderr, "rank %d: element %zu of %zu x %s is %g, not %g\n", job.rank, i,
                    array.count, cls_dtype_name(array.dtype), is, should);
            THAT(is == should);
        }
    }
    free(memory);
}

static double combined(cls_mpi_op op, size_t i) {
    double v = value(0, i);
    for (int r = 1; r < job.ranks; r++) {
        const double w = value(r, i);
        v = op == CLS_MPI_SUM       ? v + w
            : op == CLS_MPI_PRODUCT ? v * w
            : op == CLS_MPI_MIN     ? (w < v ? w : v)
                                    : (w > v ? w : v);
    }
    return v;
}

static cls_mpi_op current;
static double wanted_reduction(size_t i, size_t count) {
    (void)count;
    return combined(current, i);
}
static double wanted_block(size_t i, size_t count) {
    return combined(current, (size_t)job.rank * count + i);
}
static double wanted_gather(size_t i, size_t count) { return value((int)(i / count), i % count); }
static double wanted_root(size_t i, size_t count) {
    (void)count;
    return value(job.ranks - 1, i);
}
static double wanted_before(size_t i, size_t count) {
    (void)count;
    return value((job.rank + job.ranks - 1) % job.ranks, i);
}

static bool supports(cls_dtype type) {
    char buffer[8];
    (void)buffer;
    return type != CLS_F64 || true; /* copies need no fp64 */
}

/* --- each call on each type and size --- */

static void each(void (*one)(cls_mpi_comm comm, cls_dtype type, size_t count, cls_stream stream)) {
    cls_mpi_comm comm = small_comm();
    cls_stream stream = new_stream();
    for (int t = 0; t < TYPES; t++)
        for (int c = 0; c < COUNTS; c++)
            if (supports(types[t]))
                one(comm, types[t], counts[c], stream);
    OK(cls_stream_destroy(stream));
    OK(cls_mpi_comm_destroy(comm));
}

static void one_allreduce(cls_mpi_comm comm, cls_dtype type, size_t count, cls_stream stream) {
    for (current = CLS_MPI_SUM; current <= CLS_MPI_MAX; current++) {
        cls_array in = make(type, count, value, job.rank), out = make(type, count, NULL, 0);
        if (current == CLS_MPI_PRODUCT && cls_dtype_size(type) == 1 && job.ranks > 2)
            continue;
        OK(cls_mpi_allreduce(comm, current, in, out, stream));
        check(out, wanted_reduction, count);
        OK(cls_mpi_allreduce_async(comm, current, in, in, stream)); /* in place */
        OK(cls_stream_synchronize(stream));
        check(in, wanted_reduction, count);
        OK(cls_buffer_destroy(in.buffer));
        OK(cls_buffer_destroy(out.buffer));
    }
    current = CLS_MPI_SUM;
}

static void one_reduce_scatter(cls_mpi_comm comm, cls_dtype type, size_t count, cls_stream stream) {
    const size_t n = (size_t)job.ranks;
    cls_array in = make(type, n * count, value, job.rank), out = make(type, count, NULL, 0);
    OK(cls_mpi_reduce_scatter(comm, CLS_MPI_SUM, in, out, stream));
    check(out, wanted_block, count);
    OK(cls_buffer_destroy(in.buffer));
    OK(cls_buffer_destroy(out.buffer));
}

static void one_allgather(cls_mpi_comm comm, cls_dtype type, size_t count, cls_stream stream) {
    cls_array in = make(type, count, value, job.rank);
    cls_array out = make(type, (size_t)job.ranks * count, NULL, 0);
    cls_array own = out;
    OK(cls_mpi_allgather(comm, in, out, stream));
    check(out, wanted_gather, count);
    own.offset += (size_t)job.rank * count; /* in place */
    own.count = count;
    OK(cls_mpi_allgather(comm, own, out, stream));
    check(out, wanted_gather, count);
    OK(cls_buffer_destroy(in.buffer));
    OK(cls_buffer_destroy(out.buffer));
}

static void one_bcast(cls_mpi_comm comm, cls_dtype type, size_t count, cls_stream stream) {
    const int root = job.ranks - 1;
    cls_array array = make(type, count, job.rank == root ? value : NULL, root);
    OK(cls_mpi_bcast(comm, array, root, stream));
    check(array, wanted_root, count);
    OK(cls_buffer_destroy(array.buffer));
}

/* Every rank sends to the next one and receives from the one before, the send first. */
static void one_message(cls_mpi_comm comm, cls_dtype type, size_t count, cls_stream stream) {
    cls_array out = make(type, count, value, job.rank), in = make(type, count, NULL, 0);
    cls_stream second = new_stream();
    if (job.ranks > 1) {
        OK(cls_mpi_send_async(comm, out, (job.rank + 1) % job.ranks, stream));
        OK(cls_mpi_recv_async(comm, in, (job.rank + job.ranks - 1) % job.ranks, second));
        OK(cls_stream_synchronize(second));
        OK(cls_stream_synchronize(stream));
        check(in, wanted_before, count);
    }
    OK(cls_stream_destroy(second));
    OK(cls_buffer_destroy(in.buffer));
    OK(cls_buffer_destroy(out.buffer));
}

static void test_allreduce(void) { each(one_allreduce); }
static void test_reduce_scatter(void) { each(one_reduce_scatter); }
static void test_allgather(void) { each(one_allgather); }
static void test_bcast(void) { each(one_bcast); }
static void test_messages(void) { each(one_message); }

/* --- order --- */

/* What is submitted behind a collective sees its result; what was submitted before is in it. */
static void test_order(void) {
    enum { N = 30000, TIMES = 20 };
    cls_mpi_comm comm = small_comm();
    cls_stream streams[2] = {new_stream(), new_stream()};
    cls_buffer buffers[2];
    cls_array arrays[2];
    float host[N], expected = 1;
    for (int s = 0; s < 2; s++) {
        const float one = 1;
        OK(cls_buffer_create(job.context, sizeof host, &buffers[s]));
        arrays[s] = cls_array_of(buffers[s], CLS_F32, N);
        OK(cls_fill_async(buffers[s], 0, sizeof host, &one, sizeof one, streams[s]));
    }
    for (int i = 0; i < TIMES; i++) {
        for (int s = 0; s < 2; s++) {
            OK(cls_mpi_allreduce_async(comm, CLS_MPI_SUM, arrays[s], arrays[s], streams[s]));
            OK(cls_scale_f32_async(arrays[s], arrays[s], 1.0f / (float)job.ranks, streams[s]));
            OK(cls_add_f32_async(arrays[s], arrays[s], arrays[s], streams[s]));
        }
        expected *= 2;
    }
    for (int s = 0; s < 2; s++) {
        OK(cls_copy_d2h(host, buffers[s], 0, sizeof host, streams[s]));
        for (int i = 0; i < N; i++)
            THAT(host[i] == expected);
        OK(cls_buffer_destroy(buffers[s]));
        OK(cls_stream_destroy(streams[s]));
    }
    OK(cls_mpi_comm_destroy(comm));
}

/* --- hosts --- */

/* The host of each rank, into room for all. */
static cls_mpi_comm_info find_hosts(cls_mpi_comm comm, int *hosts) {
    cls_mpi_comm_info info = CLS_MPI_COMM_INFO_INIT;
    OK(cls_mpi_comm_get_info(comm, &info));
    MPI_Allgather(&info.host, 1, MPI_INT, hosts, 1, MPI_INT, MPI_COMM_WORLD);
    return info;
}

static float fraction(int rank, int i) {
    return 1.0f / (float)(1 + i + 17 * rank) * (i % 2 ? 1e-3f : 1e3f);
}

/* The ranks of each host in their order, and then the hosts in theirs. */
static float sum_by_hosts(const int *hosts, int n_hosts, int i) {
    float sum = 0;
    for (int h = 0; h < n_hosts; h++) {
        float of_host = 0;
        bool any = false;
        for (int r = 0; r < job.ranks; r++)
            if (hosts[r] == h) {
                of_host = any ? of_host + fraction(r, i) : fraction(r, i);
                any = true;
            }
        sum = h ? sum + of_host : of_host;
    }
    return sum;
}

/* Sums of floats have the order of ranks and hosts, whatever the chunks: all bits are those of a loop. */
static void test_bits(void) {
    enum { N = 3001 };
    static float own[N], wanted[N], got[N];
    int *hosts = calloc((size_t)job.ranks, sizeof *hosts);
    for (size_t chunk = 4096; chunk <= 65536; chunk *= 4) {
        cls_mpi_comm_config config = CLS_MPI_COMM_CONFIG_INIT;
        cls_buffer buffer;
        config.chunk_bytes = chunk;
        cls_mpi_comm comm = new_comm(&config);
        const cls_mpi_comm_info info = find_hosts(comm, hosts);
        for (int i = 0; i < N; i++) {
            own[i] = fraction(job.rank, i);
            wanted[i] = sum_by_hosts(hosts, info.hosts, i);
        }
        OK(cls_buffer_from_host(job.context, own, sizeof own, &buffer));
        const cls_array array = cls_array_of(buffer, CLS_F32, N);
        OK(cls_mpi_allreduce(comm, CLS_MPI_SUM, array, array, NULL));
        OK(cls_buffer_to_host(buffer, got, sizeof got));
        THAT(!memcmp(got, wanted, sizeof got));
        OK(cls_buffer_destroy(buffer));
        OK(cls_mpi_comm_destroy(comm));
    }
    free(hosts);
}

/* What a host's ranks send for an array of so many bytes goes to the other hosts once, and comes back once. */
static void test_hosts(void) {
    enum { BYTES = 1 << 20 };
    cls_mpi_comm comm = new_comm(NULL);
    int *hosts = calloc((size_t)job.ranks, sizeof *hosts);
    const cls_mpi_comm_info before = find_hosts(comm, hosts);
    const int limit = getenv("RANKS_HOST") ? atoi(getenv("RANKS_HOST")) : 0;
    uint64_t sent = 0, of_host = 0, *all = calloc((size_t)job.ranks, sizeof *all);
    int here = 0;
    THAT(before.host == hosts[job.rank] && before.host < before.hosts);
    THAT(!limit || before.host_ranks <= limit);
    cls_array array = make(CLS_F32, BYTES / sizeof(float), value, job.rank);
    OK(cls_mpi_allreduce(comm, CLS_MPI_SUM, array, array, NULL));
    const cls_mpi_comm_info after = find_hosts(comm, hosts);
    sent = after.sent_bytes - before.sent_bytes;
    MPI_Allgather(&sent, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T, MPI_COMM_WORLD);
    for (int r = 0; r < job.ranks; r++)
        if (hosts[r] == before.host) {
            of_host += all[r];
            here++;
        }
    THAT(here == before.host_ranks);
    /* Each host sends the others' shares of its sum, and the result of its own share to all others. */
    const uint64_t others = (uint64_t)(job.ranks - here) * BYTES / (uint64_t)job.ranks;
    const uint64_t own = (uint64_t)here * BYTES / (uint64_t)job.ranks;
    THAT(of_host == others + own * (uint64_t)(before.hosts - 1));
    OK(cls_buffer_destroy(array.buffer));
    OK(cls_mpi_comm_destroy(comm));
    free(hosts);
    free(all);
}

/* --- order and lifetimes --- */

/* No rank leaves the barrier before the last one has come: a counter in the window of rank 0. */
static void test_barrier(void) {
    cls_mpi_comm comm = new_comm(NULL);
    for (int i = 0; i < 50; i++) {
        int mine = i * 10, least;
        OK(cls_mpi_barrier(comm, NULL));
        MPI_Allreduce(&mine, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
        THAT(least == mine);
    }
    cls_stream late = new_stream();
    const double begin = MPI_Wtime();
    double first = 0, now;
    if (job.rank == 0) {
        const struct timespec time = {0, 200000000};
        nanosleep(&time, NULL);
        first = MPI_Wtime() - begin;
    }
    OK(cls_mpi_barrier_async(comm, late));
    OK(cls_stream_synchronize(late));
    now = MPI_Wtime() - begin;
    MPI_Bcast(&first, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    THAT(now > first * 0.5);
    OK(cls_stream_destroy(late));
    OK(cls_mpi_comm_destroy(comm));
}

/* Zero elements, buffers that are destroyed at once, several communicators, both kinds of memory. */
static void test_lifetimes(void) {
    cls_mpi_comm_config config = CLS_MPI_COMM_CONFIG_INIT;
    cls_mpi_comm_info info = CLS_MPI_COMM_INFO_INIT;
    config.memory = CLS_MPI_MEMORY_PLAIN;
    config.name = "plain";
    cls_mpi_comm plain = new_comm(&config), other = small_comm();
    cls_array array = make(CLS_F32, 5000, value, job.rank);
    const cls_array none = cls_array_of(array.buffer, CLS_F32, 0);
    OK(cls_mpi_allreduce(plain, CLS_MPI_SUM, none, none, NULL));
    OK(cls_mpi_allreduce_async(plain, CLS_MPI_MAX, array, array, NULL));
    OK(cls_mpi_allreduce_async(other, CLS_MPI_MAX, array, array, NULL));
    OK(cls_mpi_comm_get_info(plain, &info));
    THAT(!strcmp(info.name, "plain") && info.rank == job.rank && info.ranks == job.ranks);
    THAT(info.memory == CLS_MPI_MEMORY_PLAIN && info.submitted == 2 && info.status == CLS_SUCCESS);
    cls_array gone = make(CLS_I32, 5000, value, job.rank);
    OK(cls_mpi_allreduce_async(other, CLS_MPI_SUM, gone, gone, NULL));
    OK(cls_buffer_destroy(gone.buffer));
    OK(cls_mpi_comm_destroy(plain));
    current = CLS_MPI_MAX;
    check(array, wanted_reduction, 5000);
    OK(cls_buffer_destroy(array.buffer));
    OK(cls_mpi_comm_destroy(other));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_mpi_comm_destroy(other));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_mpi_barrier(plain, NULL));
}

/* The devices of all ranks' groups. */
static void test_group(void) {
    enum { DEVICES = 2, N = 9000 };
    cls_context contexts[DEVICES] = {job.context};
    cls_array arrays[DEVICES];
    cls_device_group group;
    float host[N];
    OK(cls_context_create(NULL, &contexts[1]));
    OK(cls_device_group_create(contexts, DEVICES, NULL, &group));
    cls_mpi_comm comm = small_comm();
    for (int d = 0; d < DEVICES; d++) {
        cls_buffer buffer;
        for (int i = 0; i < N; i++)
            host[i] = (float)(i + 10 * job.rank + d);
        OK(cls_buffer_create(contexts[d], sizeof host, &buffer));
        OK(cls_copy_h2d(buffer, 0, host, sizeof host, NULL));
        arrays[d] = cls_array_of(buffer, CLS_F32, N);
    }
    OK(cls_mpi_group_allreduce_async(comm, group, arrays));
    OK(cls_device_group_synchronize(group));
    for (int d = 0; d < DEVICES; d++) {
        OK(cls_buffer_to_host(arrays[d].buffer, host, sizeof host));
        for (int i = 0; i < N; i++) {
            float wanted = 0;
            for (int r = 0; r < job.ranks; r++)
                wanted += (float)(2 * (i + 10 * r) + 1);
            THAT(host[i] == wanted);
        }
        OK(cls_buffer_destroy(arrays[d].buffer));
    }
    OK(cls_mpi_comm_destroy(comm));
    OK(cls_device_group_destroy(group));
    OK(cls_context_destroy(contexts[1]));
}

/* Steps of training: the sum of each gradient over the ranks, whatever bucket it is in. */
static void test_buckets(void) {
    static const size_t sizes[] = {100, 300, 5000, 20, 20, 20, 700};
    enum { GRADIENTS = sizeof sizes / sizeof *sizes, STEPS = 5 };
    static float host[5000];
    cls_mpi_comm comm = small_comm();
    cls_stream backward = new_stream(), optimiser = new_stream();
    cls_mpi_buckets_config config = CLS_MPI_BUCKETS_CONFIG_INIT;
    cls_mpi_buckets buckets;
    cls_array array;
    size_t n_buckets, bucket, before = 0;
    config.bucket_bytes = 2000;
    OK(cls_mpi_buckets_create(comm, CLS_F32, sizes, GRADIENTS, &config, &buckets));
    OK(cls_mpi_buckets_get_count(buckets, &n_buckets));
    THAT(n_buckets == 4); /* 100 + 300, 5000, 20 + 20 + 20, 700 */
    EXPECT(CLS_ERROR_INVALID_STATE, cls_mpi_buckets_wait(buckets, optimiser));
    EXPECT(CLS_ERROR_INVALID_STATE, cls_mpi_buckets_ready(buckets, 1, backward));
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_mpi_buckets_ready(buckets, 4, backward));
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_mpi_buckets_get_gradient(buckets, GRADIENTS, &array, NULL));
    for (int step = 0; step < STEPS; step++) {
        for (size_t g = 0; g < GRADIENTS; g++) {
            const float own = (float)(step * 1000 + (int)g * 10 + job.rank);
            OK(cls_mpi_buckets_get_gradient(buckets, g, &array, &bucket));
            THAT(array.count == sizes[g]);
            if (bucket != before)
                OK(cls_mpi_buckets_ready(buckets, before, backward));
            before = bucket;
            OK(cls_fill_async(array.buffer, array.offset * 4, array.count * 4, &own, 4, backward));
        }
        OK(cls_mpi_buckets_ready(buckets, before, backward));
        before = 0;
        OK(cls_mpi_buckets_wait(buckets, optimiser));
        for (size_t g = 0; g < GRADIENTS; g++) {
            float wanted = 0;
            for (int r = 0; r < job.ranks; r++)
                wanted += (float)(step * 1000 + (int)g * 10 + r);
            OK(cls_mpi_buckets_get_gradient(buckets, g, &array, NULL));
            OK(cls_copy_d2h(host, array.buffer, array.offset * 4, array.count * 4, optimiser));
            for (size_t i = 0; i < array.count; i++)
                THAT(host[i] == wanted);
        }
    }
    for (size_t b = 0; b < n_buckets;
         b++) /* the default stream, which is of the communicator's context */
        OK(cls_mpi_buckets_ready(buckets, b, NULL));
    OK(cls_mpi_buckets_wait(buckets, NULL));
    OK(cls_mpi_buckets_destroy(buckets));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_mpi_buckets_destroy(buckets));
    const size_t unlike[] = {10, job.rank ? 20 : 21};
    if (job.ranks > 1)
        EXPECT(CLS_ERROR_INVALID_VALUE,
               cls_mpi_buckets_create(comm, CLS_F32, unlike, 2, NULL, &buckets));
    EXPECT(CLS_ERROR_INVALID_VALUE,
           cls_mpi_buckets_create(comm, CLS_F32, sizes, 0, NULL, &buckets));
    OK(cls_stream_destroy(backward));
    OK(cls_stream_destroy(optimiser));
    OK(cls_mpi_comm_destroy(comm));
}

const struct test value_tests[] = {{"allreduce", test_allreduce},
                                   {"reduce_scatter", test_reduce_scatter},
                                   {"allgather", test_allgather},
                                   {"bcast", test_bcast},
                                   {"messages", test_messages},
                                   {"order", test_order},
                                   {"bits", test_bits},
                                   {"hosts", test_hosts},
                                   {"barrier", test_barrier},
                                   {"lifetimes", test_lifetimes},
                                   {"group", test_group},
                                   {"buckets", test_buckets},
                                   {NULL, NULL}};
