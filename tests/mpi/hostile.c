/* SPDX-License-Identifier: MIT */
/*
 * Every public function with bad values of its arguments, alone and in pairs: a documented status with a detail,
 * nothing written, nothing submitted. Blocking ones inside a host function. Structs of the sizes that older headers
 * give them. tests/mpi/library.sh finds a function without a row and a struct without one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ranks.h"

enum { COUNT = 64, MOST = 1024, JUNK = 0xA5 };

/* What calls take, and which of it a function takes. */
static struct arguments {
    cls_mpi_comm comm;
    MPI_Comm mpi;
    cls_context context;
    const cls_mpi_comm_config *config;
    cls_mpi_comm_info *info;
    const char *text;
    cls_mpi_op op;
    cls_array in, out;
    int peer;
    cls_stream stream;
    cls_device_group group;
    const cls_array *arrays;
    cls_mpi_buckets buckets;
    cls_dtype dtype;
    const size_t *counts;
    size_t n;
    const cls_mpi_buckets_config *buckets_config;
    size_t number;
    void *place; /* an output */
} good;

enum {
    COMM = 1 << 0,
    CREATE = 1 << 1,
    INFO = 1 << 2,
    TEXT = 1 << 3,
    OP = 1 << 4,
    IN = 1 << 5,
    OUT = 1 << 6,
    PEER = 1 << 7,
    ROOT = 1 << 8,
    STREAM = 1 << 9,
    GROUP = 1 << 10,
    BUCKETS = 1 << 11,
    LAYOUT = 1 << 12,
    PLACE = 1 << 13,
    BUCKET = 1 << 14,
    GRADIENT = 1 << 15,
    BLOCKS = 1 << 16 /* refused inside a host function */
};

#define CALL(name, ...) \
    static cls_status call_##name(const struct arguments *a) { return cls_mpi_##name(__VA_ARGS__); }
#define BOTH(name, ...)     \
    CALL(name, __VA_ARGS__) \
    CALL(name##_async, __VA_ARGS__)
CALL(comm_create, a->mpi, a->context, a->config, a->place)
CALL(comm_destroy, a->comm)
CALL(comm_get_info, a->comm, a->info)
CALL(comm_abort, a->comm, a->text)
CALL(comm_shrink, a->comm, a->place)
BOTH(allreduce, a->comm, a->op, a->in, a->out, a->stream)
BOTH(reduce_scatter, a->comm, a->op, a->in, a->out, a->stream)
BOTH(allgather, a->comm, a->in, a->out, a->stream)
BOTH(bcast, a->comm, a->in, a->peer, a->stream)
BOTH(barrier, a->comm, a->stream)
BOTH(send, a->comm, a->in, a->peer, a->stream)
BOTH(recv, a->comm, a->in, a->peer, a->stream)
CALL(group_allreduce_async, a->comm, a->group, a->arrays)
CALL(buckets_create, a->comm, a->dtype, a->counts, a->n, a->buckets_config, a->place)
CALL(buckets_destroy, a->buckets)
CALL(buckets_get_count, a->buckets, a->place)
CALL(buckets_get_gradient, a->buckets, a->number, a->place, NULL)
CALL(buckets_ready, a->buckets, a->number, a->stream)
CALL(buckets_wait, a->buckets, a->stream)

#define ROW(name, takes) \
    { "cls_mpi_" #name, call_##name, takes }
static const struct row {
    const char *name;
    cls_status (*call)(const struct arguments *a);
    unsigned takes;
} rows[] = {
    ROW(comm_create, CREATE | PLACE),
    ROW(comm_destroy, COMM | BLOCKS),
    ROW(comm_get_info, COMM | INFO),
    ROW(comm_abort, COMM | TEXT),
    ROW(comm_shrink, COMM | PLACE | BLOCKS),
    ROW(allreduce, COMM | OP | IN | OUT | STREAM | BLOCKS),
    ROW(allreduce_async, COMM | OP | IN | OUT | STREAM),
    ROW(reduce_scatter, COMM | OP | IN | OUT | STREAM | BLOCKS),
    ROW(reduce_scatter_async, COMM | OP | IN | OUT | STREAM),
    ROW(allgather, COMM | IN | OUT | STREAM | BLOCKS),
    ROW(allgather_async, COMM | IN | OUT | STREAM),
    ROW(bcast, COMM | IN | ROOT | STREAM | BLOCKS),
    ROW(bcast_async, COMM | IN | ROOT | STREAM),
    ROW(barrier, COMM | STREAM | BLOCKS),
    ROW(barrier_async, COMM | STREAM),
    ROW(send, COMM | IN | PEER | STREAM | BLOCKS),
    ROW(send_async, COMM | IN | PEER | STREAM),
    ROW(recv, COMM | IN | PEER | STREAM | BLOCKS),
    ROW(recv_async, COMM | IN | PEER | STREAM),
    ROW(group_allreduce_async, COMM | GROUP),
    ROW(buckets_create, COMM | LAYOUT | PLACE | BLOCKS),
    ROW(buckets_destroy, BUCKETS),
    ROW(buckets_get_count, BUCKETS | PLACE),
    ROW(buckets_get_gradient, BUCKETS | GRADIENT),
    ROW(buckets_ready, BUCKETS | BUCKET | STREAM),
    ROW(buckets_wait, BUCKETS | STREAM),
};
enum { ROWS = sizeof rows / sizeof *rows };

/* --- bad values --- */

static struct stock {
    cls_context other;
    cls_stream foreign, stale_stream;
    cls_array foreign_array, orphan_array, stale_array;
    cls_mpi_comm stale_comm;
    cls_mpi_buckets stale_buckets;
    cls_device_group stale_group;
    unsigned char output[MOST], info[MOST]; /* what calls write to; the second begins with a size */
} stock;

static void *garbage(void) { return (void *)(uintptr_t)0x1234; }

/* One function for each bad value: what it is, of which argument, the status, and how it comes about. */
#define BAD_VALUES(bad)                                                                                                                       \
    bad(COMM, INVALID_HANDLE, null_comm, a->comm = NULL) bad(                                                                                 \
        COMM, INVALID_HANDLE, stale_comm,                                                                                                     \
        a->comm = stock.stale_comm) bad(COMM, INVALID_HANDLE, garbage_comm,                                                                   \
                                        a->comm = garbage()) bad(COMM, INVALID_HANDLE,                                                        \
                                                                 comm_of_stream,                                                              \
                                                                 a->comm = (void *)a->stream)                                                 \
        bad(COMM, INVALID_HANDLE, comm_of_buckets, a->comm = (void *)good.buckets) bad(                                                       \
            CREATE, INVALID_VALUE, null_mpi,                                                                                                  \
            a->mpi = MPI_COMM_NULL) bad(CREATE, INVALID_HANDLE, garbage_context,                                                              \
                                        a->context = garbage()) bad(CREATE, INVALID_VALUE, size_0,                                            \
                                                                    a->config = config(0))                                                    \
            bad(CREATE, INVALID_VALUE, size_odd, a->config = config(1)) bad(                                                                  \
                CREATE,                                                                                                                       \
                INVALID_VALUE, size_larger,                                                                                                   \
                a->config =                                                                                                                   \
                    config(2)) bad(CREATE, INVALID_VALUE, chunk_small,                                                                        \
                                   a                                                                                                          \
                                       ->config = config(                                                                                     \
                                       3)) bad(CREATE, INVALID_VALUE, chunk_large, a->config = config(4))                                     \
                bad(CREATE, INVALID_VALUE, chunks_1, a->config = config(5)) bad(                                                              \
                    CREATE,                                                                                                                   \
                    INVALID_VALUE, chunks_9,                                                                                                  \
                    a->config =                                                                                                               \
                        config(6)) bad(CREATE, INVALID_VALUE, memory_unknown,                                                                 \
                                       a                                                                                                      \
                                           ->config = config(                                                                                 \
                                           7)) bad(CREATE, INVALID_VALUE, memory_negative, a->config = config(8))                             \
                    bad(CREATE, INVALID_VALUE, timeout_short, a->config = config(9)) bad(INFO, INVALID_VALUE, null_info, a->info = NULL) bad( \
                        INFO, INVALID_VALUE, info_0,                                                                                          \
                        a->info =                                                                                                             \
                            info(0)) bad(INFO, INVALID_VALUE, info_odd,                                                                       \
                                         a->info = info(sizeof *a->info - 1))                                                                 \
                        bad(INFO, INVALID_VALUE, info_larger, a->info = info(sizeof *a->info + sizeof(size_t))) bad(                          \
                            TEXT, INVALID_VALUE, null_text,                                                                                   \
                            a->text =                                                                                                         \
                                NULL) bad(OP, INVALID_VALUE, op_unknown,                                                                      \
                                          a->op =                                                                                             \
                                              (cls_mpi_op)4) bad(OP, INVALID_VALUE, op_negative, a->op = (cls_mpi_op)-1)                      \
                            bad(IN, INVALID_HANDLE, null_buffer, a->in.buffer = NULL) bad(                                                    \
                                IN,                                                                                                           \
                                INVALID_HANDLE,                                                                                               \
                                stale_buffer,                                                                                                 \
                                a->in.buffer =                                                                                                \
                                    stock.stale_array                                                                                         \
                                        .buffer) bad(IN, INVALID_HANDLE, garbage_buffer,                                                      \
                                                     a->in.buffer =                                                                           \
                                                         garbage())                                                                           \
                                bad(IN, INVALID_HANDLE,                                                                                       \
                                    buffer_of_stream, a->in.buffer = (void *)good.stream)                                                     \
                                    bad(IN, CONTEXT_DESTROYED, orphan,                                                                        \
                                        a->in.buffer =                                                                                        \
                                            stock.orphan_array                                                                                \
                                                .buffer)                                                                                      \
                                        bad(IN, WRONG_CONTEXT, foreign,                                                                       \
                                            a->in.buffer =                                                                                    \
                                                stock.foreign_array                                                                           \
                                                    .buffer) bad(IN, INVALID_VALUE, dtype_unknown,                                            \
                                                                 a->in.dtype = (cls_dtype)77)                                                 \
                                            bad(IN, OUT_OF_RANGE, past_the_end, a->in.offset = 4 * MOST) bad(                                 \
                                                IN,                                                                                           \
                                                OUT_OF_RANGE,                                                                                 \
                                                offset_overflows,                                                                             \
                                                a->in.offset =                                                                                \
                                                    SIZE_MAX /                                                                                \
                                                    2) bad(IN, OUT_OF_RANGE, count_overflows, a->in.count = SIZE_MAX / 4 + 2)                 \
                                                bad(OUT, INVALID_HANDLE, out_null_buffer, a->out.buffer = NULL) bad(                          \
                                                    OUT, WRONG_CONTEXT,                                                                       \
                                                    out_foreign,                                                                              \
                                                    a->out.buffer =                                                                           \
                                                        stock.foreign_array.buffer)                                                           \
                                                    bad(OUT, TYPE_MISMATCH, out_type, a->out.dtype = CLS_I32) bad(                            \
                                                        OUT, SIZE_MISMATCH,                                                                   \
                                                        out_size,                                                                             \
                                                        a->out                                                                                \
                                                            .count--) bad(OUT, OUT_OF_RANGE, out_past_the_end,                                \
                                                                          a                                                                   \
                                                                              ->out.offset = 4 *                                              \
                                                                                             MOST)                                            \
                                                        bad(OUT, OVERLAP, overlap,                                                            \
                                                            (a->out.buffer = a->in.buffer,                                                    \
                                                             a->out.offset =                                                                  \
                                                                 a->in.offset +                                                               \
                                                                 3)) bad(PEER | ROOT,                                                         \
                                                                         OUT_OF_RANGE,                                                        \
                                                                         rank_negative,                                                       \
                                                                         a->peer = -1)                                                        \
                                                            bad(PEER | ROOT, OUT_OF_RANGE, rank_past_the_end, a->peer = job.ranks) bad(       \
                                                                PEER, OUT_OF_RANGE,                                                           \
                                                                own_rank,                                                                     \
                                                                a->peer = job                                                                 \
                                                                              .rank) bad(STREAM,                                              \
                                                                                         INVALID_HANDLE,                                      \
                                                                                         stale_stream,                                        \
                                                                                         a->stream =                                          \
                                                                                             stock.stale_stream)                              \
                                                                bad(STREAM, INVALID_HANDLE,                                                   \
                                                                    garbage_stream,                                                           \
                                                                    a->stream =                                                               \
                                                                        garbage()) bad(STREAM, WRONG_CONTEXT, foreign_stream,                 \
                                                                                       a                                                      \
                                                                                           ->stream = stock                                   \
                                                                                                          .foreign)                           \
                                                                    bad(GROUP, INVALID_HANDLE,                                                \
                                                                        null_group,                                                           \
                                                                        a->group =                                                            \
                                                                            NULL) bad(GROUP,                                                  \
                                                                                      INVALID_HANDLE,                                         \
                                                                                      stale_group,                                            \
                                                                                      a->group = stock                                        \
                                                                                                     .stale_group)                            \
                                                                        bad(GROUP, INVALID_VALUE,                                             \
                                                                            null_arrays,                                                      \
                                                                            a->arrays =                                                       \
                                                                                NULL) bad(GROUP,                                              \
                                                                                          WRONG_CONTEXT,                                      \
                                                                                          foreign_arrays,                                     \
                                                                                          a->arrays =                                         \
                                                                                              &stock                                          \
                                                                                                   .foreign_array)                            \
                                                                            bad(BUCKETS,                                                      \
                                                                                INVALID_HANDLE,                                               \
                                                                                null_buckets,                                                 \
                                                                                a->buckets =                                                  \
                                                                                    NULL) bad(BUCKETS,                                        \
                                                                                              INVALID_HANDLE,                                 \
                                                                                              stale_buckets,                                  \
                                                                                              a->buckets =                                    \
                                                                                                  stock                                       \
                                                                                                      .stale_buckets)                         \
                                                                                bad(BUCKETS,                                                  \
                                                                                    INVALID_HANDLE,                                           \
                                                                                    buckets_of_comm,                                          \
                                                                                    a->buckets =                                              \
                                                                                        (void                                                 \
                                                                                             *)a                                              \
                                                                                            ->comm) bad(LAYOUT, INVALID_VALUE,                \
                                                                                                        no_type,                              \
                                                                                                        a->dtype = (cls_dtype)0)              \
                                                                                    bad(LAYOUT,                                               \
                                                                                        INVALID_VALUE,                                        \
                                                                                        null_counts,                                          \
                                                                                        a->counts =                                           \
                                                                                            NULL) bad(LAYOUT,                                 \
                                                                                                      INVALID_VALUE,                          \
                                                                                                      no_gradients,                           \
                                                                                                      a->n = 0)                               \
                                                                                        bad(LAYOUT,                                           \
                                                                                            INVALID_VALUE,                                    \
                                                                                            empty_gradient,                                   \
                                                                                            a->counts =                                       \
                                                                                                empty) bad(LAYOUT,                            \
                                                                                                           OUT_OF_RANGE,                      \
                                                                                                           size_overflows,                    \
                                                                                                           a                                  \
                                                                                                               ->counts = endless)            \
                                                                                            bad(LAYOUT,                                       \
                                                                                                INVALID_VALUE,                                \
                                                                                                buckets_size,                                 \
                                                                                                a->buckets_config =                           \
                                                                                                    &odd) bad(PLACE,                          \
                                                                                                              INVALID_VALUE,                  \
                                                                                                              null_place,                     \
                                                                                                              a->place = NULL)                \
                                                                                                bad(BUCKET,                                   \
                                                                                                    OUT_OF_RANGE,                             \
                                                                                                    bucket_past_the_end,                      \
                                                                                                    a->number =                               \
                                                                                                        1)                                    \
                                                                                                    bad(BUCKET,                               \
                                                                                                        OUT_OF_RANGE,                         \
                                                                                                        bucket_endless,                       \
                                                                                                        a->number =                           \
                                                                                                            SIZE_MAX)                         \
                                                                                                        bad(GRADIENT,                         \
                                                                                                            OUT_OF_RANGE,                     \
                                                                                                            gradient_past_the_end,            \
                                                                                                            a->number =                       \
                                                                                                                2)

static const size_t empty[] = {8, 0}, endless[] = {8, SIZE_MAX / 2};
static const cls_mpi_buckets_config odd = {sizeof odd + 1, 0};

static const cls_mpi_comm_config *config(int which) {
    static cls_mpi_comm_config made[10];
    cls_mpi_comm_config *c = &made[which];
    *c = (cls_mpi_comm_config)CLS_MPI_COMM_CONFIG_INIT;
    c->size = which == 0 ? 0 : which == 1 ? c->size - 1 : which == 2 ? 2 * c->size : c->size;
    c->chunk_bytes = which == 3 ? 64 : which == 4 ? SIZE_MAX : 0;
    c->chunks = which == 5 ? 1 : which == 6 ? 9 : 0;
    c->memory = (cls_mpi_memory)(which == 7 ? 17 : which == 8 ? -1 : 0);
    c->peer_timeout_ns = which == 9 ? 1000 : 0;
    return c;
}

static cls_mpi_comm_info *info(size_t size) {
    memset(stock.info, JUNK, sizeof stock.info);
    memcpy(stock.info, &size, sizeof size);
    return (cls_mpi_comm_info *)(void *)stock.info;
}

#define SPOIL(of, status, name, how) \
    static void spoil_##name(struct arguments *a) { (void)(how); }
BAD_VALUES(SPOIL)

#define VALUE(of, status, name, how) {of, CLS_ERROR_##status, #name, spoil_##name},
static const struct bad {
    unsigned of;
    cls_status status;
    const char *what;
    void (*spoil)(struct arguments *a);
} bads[] = {BAD_VALUES(VALUE)};
enum { BADS = sizeof bads / sizeof *bads };

/* --- the calls --- */

/* Arrays in the proportion that the function asks for. */
static struct arguments good_for(const struct row *row) {
    struct arguments a = good;
    memset(stock.output, JUNK, sizeof stock.output);
    a.info = info(sizeof *a.info);
    if (strstr(row->name, "reduce_scatter"))
        a.out.count /= (size_t)job.ranks;
    if (strstr(row->name, "allgather"))
        a.in.count /= (size_t)job.ranks;
    return a;
}

static bool is_junk(const unsigned char *bytes, size_t from) {
    while (from < MOST && bytes[from] == JUNK)
        from++;
    return from == MOST;
}

static bool untouched(void) {
    return is_junk(stock.output, 0) && is_junk(stock.info, sizeof(size_t));
}

static unsigned long calls;

static void check(const struct row *row, const struct arguments *a, const struct bad *one,
                  const struct bad *two, bool blocked) {
    cls_clear_last_error();
    const cls_status got = row->call(a);
    calls++;
    if ((got == one->status || got == two->status ||
         (blocked && got == CLS_ERROR_WOULD_DEADLOCK)) &&
        *cls_last_error_detail() && untouched())
        return;
    fprintf(stderr, "rank %d: %s with %s and %s is %s: %s%s\n", job.rank, row->name, one->what,
            two->what, cls_status_string(got), cls_last_error_detail(),
            untouched() ? "" : "; it has written");
    THAT(got == one->status);
}

/* Each bad value alone (as a pair with itself), and each two. */
static void hammer(const struct row *row, bool blocked) {
    for (int i = 0; i < BADS; i++)
        for (int k = i; k < BADS; k++) {
            if (!(bads[i].of & row->takes) || !(bads[k].of & row->takes) ||
                (i != k && (bads[i].of & bads[k].of)))
                continue;
            struct arguments a = good_for(row);
            bads[i].spoil(&a);
            if (i != k)
                bads[k].spoil(&a);
            check(row, &a, &bads[i], &bads[k], blocked);
        }
}

static void hammer_inside(void *arg) {
    static const struct bad nothing = {0, CLS_ERROR_WOULD_DEADLOCK, "good values", NULL};
    (void)arg;
    for (int r = 0; r < ROWS; r++) {
        if (!(rows[r].takes & BLOCKS) || (job.ranks == 1 && (rows[r].takes & PEER)))
            continue;
        const struct arguments a = good_for(&rows[r]);
        check(&rows[r], &a, &nothing, &nothing, true);
        hammer(&rows[r], true);
    }
}

/* --- structs of other sizes --- */

static void test_sizes(void) {
    static const size_t counts[] = {3};
    cls_mpi_comm_info whole = CLS_MPI_COMM_INFO_INIT;
    OK(cls_mpi_comm_get_info(good.comm, &whole));
    for (size_t size = sizeof size; size <= sizeof whole; size += sizeof size) {
        OK(cls_mpi_comm_get_info(good.comm, info(size)));
        THAT(!memcmp(stock.info, &size, sizeof size) && is_junk(stock.info, size));
        THAT(!memcmp(stock.info + sizeof size, (char *)&whole + sizeof size, size - sizeof size));
    }
    for (size_t size = sizeof size; size < sizeof(cls_mpi_comm_config); size += sizeof size) {
        union {
            cls_mpi_comm_config config;
            unsigned char bytes[sizeof(cls_mpi_comm_config)];
        } given;
        cls_mpi_comm made;
        memset(&given, 0, size);
        memset(given.bytes + size, JUNK, sizeof given - size);
        given.config.size = size;
        OK(cls_mpi_comm_create(MPI_COMM_SELF, job.context, &given.config, &made));
        OK(cls_mpi_comm_destroy(made));
    }
    const cls_mpi_buckets_config shorter = {sizeof(size_t), JUNK};
    cls_mpi_buckets made;
    OK(cls_mpi_buckets_create(good.comm, CLS_F32, counts, 1, &shorter, &made));
    OK(cls_mpi_buckets_destroy(made));
}

/* --- the test --- */

static cls_array cells(cls_context context) {
    cls_buffer buffer;
    OK(cls_buffer_create(context, 2 * COUNT * sizeof(float), &buffer));
    return cls_array_of(buffer, CLS_F32, COUNT / (size_t)job.ranks * (size_t)job.ranks);
}

static void make_good(void) {
    static const size_t counts[] = {8, 8};
    good.comm = stock.stale_comm = small_comm();
    OK(cls_mpi_comm_destroy(stock.stale_comm));
    good.comm = small_comm();
    good.mpi = MPI_COMM_WORLD;
    good.context = job.context;
    good.text = "text";
    good.in = cells(job.context);
    good.out = cells(job.context);
    good.arrays = &good.in;
    good.peer = (job.rank + 1) % job.ranks;
    good.stream = new_stream();
    good.dtype = CLS_F32;
    good.counts = counts;
    good.n = 2;
    good.place = stock.output;
    OK(cls_device_group_create(&job.context, 1, NULL, &stock.stale_group));
    OK(cls_device_group_destroy(stock.stale_group));
    OK(cls_device_group_create(&job.context, 1, NULL, &good.group));
    OK(cls_mpi_buckets_create(good.comm, CLS_F32, counts, 2, NULL, &stock.stale_buckets));
    OK(cls_mpi_buckets_destroy(stock.stale_buckets));
    OK(cls_mpi_buckets_create(good.comm, CLS_F32, counts, 2, NULL, &good.buckets));
}

static void make_bad(void) {
    cls_context gone;
    OK(cls_context_create(NULL, &gone));
    stock.orphan_array = cells(gone);
    OK(cls_context_destroy(gone));
    OK(cls_context_create(NULL, &stock.other));
    OK(cls_stream_create(stock.other, NULL, &stock.foreign));
    stock.foreign_array = cells(stock.other);
    stock.stale_array = cells(job.context);
    OK(cls_buffer_destroy(stock.stale_array.buffer));
    stock.stale_stream = new_stream();
    OK(cls_stream_destroy(stock.stale_stream));
}

static void unmake(void) {
    OK(cls_mpi_buckets_destroy(good.buckets));
    OK(cls_device_group_destroy(good.group));
    OK(cls_buffer_destroy(good.in.buffer));
    OK(cls_buffer_destroy(good.out.buffer));
    OK(cls_buffer_destroy(stock.foreign_array.buffer));
    OK(cls_buffer_destroy(stock.orphan_array.buffer));
    OK(cls_stream_destroy(stock.foreign));
    OK(cls_stream_destroy(good.stream));
    OK(cls_context_destroy(stock.other));
    OK(cls_mpi_comm_destroy(good.comm));
}

static void test_hostile(void) {
    cls_mpi_comm_info before = CLS_MPI_COMM_INFO_INIT, after = CLS_MPI_COMM_INFO_INIT;
    make_good();
    make_bad();
    do
        OK(cls_mpi_comm_get_info(good.comm, &before));
    while (before.completed < before.submitted);
    for (int r = 0; r < ROWS; r++)
        if (job.ranks > 1 || !(rows[r].takes & PEER))
            hammer(&rows[r], false);
    const cls_stream stream = new_stream();
    OK(cls_stream_launch_host_async(stream, hammer_inside, NULL));
    OK(cls_stream_synchronize(stream));
    OK(cls_stream_destroy(stream));
    OK(cls_mpi_comm_get_info(good.comm, &after));
    THAT(!memcmp(&before, &after, sizeof before));
    THAT(calls > 2000);
    test_sizes();
    OK(cls_mpi_allreduce(good.comm, CLS_MPI_SUM, good.in, good.out, good.stream));
    unmake();
}

const struct test hostile_tests[] = {{"hostile", test_hostile}, {NULL, NULL}};
