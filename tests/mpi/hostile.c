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
    cls_stream foreign, stale_stream, captured;
    cls_array foreign_array, orphan_array, stale_array;
    cls_mpi_comm stale_comm;
    cls_mpi_buckets stale_buckets;
    cls_device_group stale_group;
    unsigned char output[MOST], info[MOST]; /* what calls write to; the second begins with a size */
} stock;

static void *garbage(void) { return (void *)(uintptr_t)0x1234; }

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

/* One function for each bad value. */
#define BAD(of, status, name, how) \
    static void spoil_##name(struct arguments *a) { (void)(how); }
#include "bad_values.def"
#undef BAD

#define BAD(of, status, name, how) {of, CLS_ERROR_##status, #name, spoil_##name},
static const struct bad {
    unsigned of;
    cls_status status;
    const char *what;
    void (*spoil)(struct arguments *a);
} bads[] = {
#include "bad_values.def"
};
#undef BAD
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
    stock.captured = new_stream();
    OK(cls_stream_begin_capture(stock.captured, NULL));
}

static void unmake(void) {
    OK(cls_mpi_buckets_destroy(good.buckets));
    OK(cls_device_group_destroy(good.group));
    OK(cls_buffer_destroy(good.in.buffer));
    OK(cls_buffer_destroy(good.out.buffer));
    OK(cls_buffer_destroy(stock.foreign_array.buffer));
    OK(cls_buffer_destroy(stock.orphan_array.buffer));
    OK(cls_stream_destroy(stock.foreign));
    OK(cls_stream_destroy(stock.captured));
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
