/* SPDX-License-Identifier: MIT */
/*
 * Random sequences of collectives, with faults. All ranks draw the same calls from one seed, so each knows what each
 * result is. A fault (a rank that aborts, whose stream fails, or that calls something else, which CLSTREAM_CHECK=mpi
 * finds) ends a sequence: every rank must then get an error. RANKS_SEQUENCES says how many, RANKS_SEED from where.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ranks.h"

enum { ARRAYS = 3, MOST = 6000, CALLS = 8 };

enum fault { FAULT_NONE, FAULT_ABORT, FAULT_STREAM, FAULT_OTHER_CALL, FAULTS };

struct sequence {
    uint64_t random;
    cls_mpi_comm comm;
    cls_stream streams[2];
    cls_array arrays[ARRAYS];
    int32_t values
        [ARRAYS]; /* all elements of an array on all ranks are this; of the odd array: this plus the rank */
    bool by_rank[ARRAYS];
    int which[ARRAYS]; /* the stream that uses it */
};

static unsigned draw(struct sequence *s, unsigned below) {
    s->random ^= s->random << 13;
    s->random ^= s->random >> 7;
    s->random ^= s->random << 17;
    return (unsigned)((s->random >> 11) % below);
}

static void set_array(struct sequence *s, int a, int32_t value, bool by_rank) {
    const int32_t own = value + (by_rank ? job.rank : 0);
    s->values[a] = value;
    s->by_rank[a] = by_rank;
    (void)cls_fill_async(s->arrays[a].buffer, 0, s->arrays[a].count * 4, &own, 4,
                         s->streams[s->which[a]]);
}

/* The next call, which all ranks draw. */
static cls_status call(struct sequence *s) {
    const int a = (int)draw(s, ARRAYS), root = (int)draw(s, (unsigned)job.ranks);
    const unsigned kind = draw(s, 4);
    const cls_stream stream = s->streams[s->which[a]];
    const cls_array array = s->arrays[a];
    const int32_t n = job.ranks;
    switch (kind) {
    case 0: {
        const int32_t sum = s->values[a] * n + (s->by_rank[a] ? n * (n - 1) / 2 : 0);
        const cls_status status =
            cls_mpi_allreduce_async(s->comm, CLS_MPI_SUM, array, array, stream);
        s->values[a] = sum;
        s->by_rank[a] = false;
        return status;
    }
    case 1: {
        const cls_status status = cls_mpi_bcast_async(s->comm, array, root, stream);
        s->values[a] += s->by_rank[a] ? root : 0;
        s->by_rank[a] = false;
        return status;
    }
    case 2:
        if (!s->by_rank[a] || n == 1) {
            set_array(s, a, (int32_t)draw(s, 1000), true);
            return CLS_SUCCESS;
        } else {
            const cls_status status =
                cls_mpi_allreduce_async(s->comm, CLS_MPI_MAX, array, array, stream);
            s->values[a] += n - 1;
            s->by_rank[a] = false;
            return status;
        }
    default:
        return cls_mpi_barrier_async(s->comm, stream);
    }
}

static void check_array(struct sequence *s, int a) {
    static int32_t host[MOST];
    const cls_array *array = &s->arrays[a];
    const int32_t wanted = s->values[a] + (s->by_rank[a] ? job.rank : 0);
    OK(cls_copy_d2h(host, array->buffer, 0, array->count * 4, s->streams[s->which[a]]));
    for (size_t i = 0; i < array->count; i++)
        if (host[i] != wanted) {
            fprintf(stderr, "rank %d: element %zu of array %d is %d, not %d\n", job.rank, i, a,
                    (int)host[i], (int)wanted);
            THAT(host[i] == wanted);
        }
}

static char words[] = "a fault";
static void fail_here(void *message) { cls_host_function_fail(message); }

static void make_fault(struct sequence *s, enum fault fault, bool here) {
    if (fault == FAULT_ABORT && here)
        OK(cls_mpi_comm_abort(s->comm, words));
    if (fault == FAULT_STREAM && here)
        (void)cls_stream_launch_host_async(s->streams[0], fail_here, words);
}

/* All ranks take part in one more barrier on the stream that may have failed: it must be an error on all. */
static void expect_error(struct sequence *s) {
    cls_status status = cls_mpi_barrier_async(s->comm, s->streams[0]);
    if (!status)
        status = cls_stream_synchronize(s->streams[0]);
    EXPECT(CLS_ERROR_COMMAND_FAILED, status);
}

static void open_sequence(struct sequence *s, uint64_t seed) {
    cls_mpi_comm_config config = CLS_MPI_COMM_CONFIG_INIT;
    *s = (struct sequence){.random = seed * UINT64_C(0x9E3779B97F4A7C15) + 1};
    config.chunk_bytes = (size_t)4096 << draw(s, 3);
    config.chunks = 2 + draw(s, 3);
    config.memory = draw(s, 4) ? CLS_MPI_MEMORY_AUTO : CLS_MPI_MEMORY_PLAIN;
    config.peer_timeout_ns = UINT64_C(20000000000);
    config.host_ranks = draw(s, 3);
    s->comm = new_comm(&config);
    for (int i = 0; i < 2; i++)
        s->streams[i] = new_stream();
    for (int a = 0; a < ARRAYS; a++) {
        cls_buffer buffer;
        s->which[a] = (int)draw(s, 2);
        const size_t count = 1 + draw(s, MOST);
        OK(cls_buffer_create(job.context, count * 4, &buffer));
        s->arrays[a] = cls_array_of(buffer, CLS_I32, count);
        set_array(s, a, (int32_t)draw(s, 100), draw(s, 2) != 0);
    }
}

static void close_sequence(struct sequence *s, bool failed) {
    for (int a = 0; a < ARRAYS; a++)
        OK(cls_buffer_destroy(s->arrays[a].buffer));
    const cls_status status = cls_mpi_comm_destroy(s->comm);
    THAT(!status ||
         (failed && status == CLS_ERROR_COMMAND_FAILED)); /* it may not have failed before */
    for (int i = 0; i < 2; i++) {
        if (failed)
            OK(cls_stream_reset(s->streams[i]));
        OK(cls_stream_destroy(s->streams[i]));
    }
}

/* One rank calls something else than the others. */
static void call_differently(struct sequence *s, bool here) {
    const cls_array array = s->arrays[0];
    (void)(here ? cls_mpi_bcast_async(s->comm, array, 0, s->streams[0])
                : cls_mpi_allreduce_async(s->comm, CLS_MPI_SUM, array, array, s->streams[0]));
}

static void one_sequence(uint64_t seed) {
    struct sequence s;
    open_sequence(&s, seed);
    const enum fault fault = draw(&s, 3) ? FAULT_NONE : (enum fault)draw(&s, FAULTS);
    const unsigned calls = 1 + draw(&s, CALLS), at = draw(&s, calls);
    const bool here = (int)draw(&s, (unsigned)job.ranks) == job.rank;
    bool failed = false;
    for (unsigned i = 0; i < calls && !failed; i++) {
        if (fault && i == at) {
            make_fault(&s, fault, here);
            if (fault == FAULT_OTHER_CALL)
                call_differently(&s, here);
            failed = true;
        } else {
            const cls_status status = call(&s); /* another rank may be at its fault already */
            THAT(!status || (fault && status == CLS_ERROR_COMMAND_FAILED));
        }
    }
    if (failed)
        expect_error(&s);
    for (int a = 0; a < ARRAYS && !failed; a++)
        check_array(&s, a);
    close_sequence(&s, failed);
}

static void test_random(void) {
    const char *count = getenv("RANKS_SEQUENCES"), *from = getenv("RANKS_SEED");
    const uint64_t n = count ? strtoull(count, NULL, 10) : 50;
    const uint64_t first = from ? strtoull(from, NULL, 10) : 1;
    for (uint64_t seed = first; seed < first + n; seed++) {
        if (getenv("RANKS_TELL") && !job.rank)
            fprintf(stderr, "seed %llu\n", (unsigned long long)seed);
        one_sequence(seed);
    }
}

const struct test random_tests[] = {{"random", test_random}, {NULL, NULL}};
