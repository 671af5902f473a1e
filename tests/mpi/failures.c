/* SPDX-License-Identifier: MIT */
/* Bad arguments change nothing; a failure of one rank is an error on all of them, and nothing hangs. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <clstream/opencl.h>

#include "ranks.h"

#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif
#ifdef OMPI_HAVE_MPI_EXT_FTMPI
const bool mpi_shrinks = true;
#else
const bool mpi_shrinks = false;
#endif

static cls_array floats(size_t count) {
    cls_buffer buffer;
    const float one = 1;
    OK(cls_buffer_create(job.context, count * sizeof one, &buffer));
    OK(cls_fill(buffer, 0, count * sizeof one, &one, sizeof one, NULL));
    return cls_array_of(buffer, CLS_F32, count);
}

static void test_arguments(void) {
    cls_mpi_comm comm = small_comm();
    cls_array a = floats(100), b = floats(100), bad = a;
    cls_context other;
    cls_stream foreign;
    cls_mpi_comm_info info = CLS_MPI_COMM_INFO_INIT;
    const cls_mpi_op unknown = (cls_mpi_op)17;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_mpi_allreduce(comm, unknown, a, b, NULL));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_mpi_allreduce(NULL, CLS_MPI_SUM, a, b, NULL));
    bad.count = 99;
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_mpi_allreduce(comm, CLS_MPI_SUM, a, bad, NULL));
    bad.dtype = CLS_I32;
    EXPECT(CLS_ERROR_TYPE_MISMATCH, cls_mpi_allreduce(comm, CLS_MPI_SUM, a, bad, NULL));
    bad.dtype = (cls_dtype)77;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_mpi_allreduce(comm, CLS_MPI_SUM, a, bad, NULL));
    bad = a;
    bad.offset = 1;
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_mpi_bcast(comm, bad, 0, NULL));
    bad.offset = SIZE_MAX / 2;
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_mpi_bcast(comm, bad, 0, NULL));
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_mpi_bcast(comm, a, job.ranks, NULL));
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_mpi_bcast(comm, a, -1, NULL));
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_mpi_send(comm, a, job.rank, NULL));
    EXPECT(CLS_ERROR_OVERLAP,
           cls_mpi_allreduce(comm, CLS_MPI_SUM, cls_array_at(a.buffer, CLS_F32, 0, 50),
                             cls_array_at(a.buffer, CLS_F32, 20, 50), NULL));
    OK(cls_context_create(NULL, &other));
    OK(cls_stream_create(other, NULL, &foreign));
    EXPECT(CLS_ERROR_WRONG_CONTEXT, cls_mpi_barrier(comm, foreign));
    OK(cls_stream_destroy(foreign));
    OK(cls_context_destroy(other));
    bad = a;
    bad.buffer = NULL;
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_mpi_bcast(comm, bad, 0, NULL));
    OK(cls_mpi_comm_get_info(comm, &info));
    THAT(info.submitted == 0 && info.status == CLS_SUCCESS);
    info.size = 3;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_mpi_comm_get_info(comm, &info));
    OK(cls_mpi_allreduce(comm, CLS_MPI_SUM, a, b, NULL));
    OK(cls_buffer_destroy(a.buffer));
    OK(cls_buffer_destroy(b.buffer));
    OK(cls_mpi_comm_destroy(comm));
}

static void test_creation(void) {
    cls_mpi_comm_config config = CLS_MPI_COMM_CONFIG_INIT;
    cls_mpi_comm comm = NULL;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_mpi_comm_create(MPI_COMM_NULL, job.context, NULL, &comm));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_mpi_comm_create(MPI_COMM_WORLD, job.context, NULL, NULL));
    config.chunks = 1;
    EXPECT(CLS_ERROR_INVALID_VALUE,
           cls_mpi_comm_create(MPI_COMM_WORLD, job.context, &config, &comm));
    config.chunks = job.rank ? 4 : 5;
    if (job.ranks > 1)
        EXPECT(CLS_ERROR_INVALID_VALUE,
               cls_mpi_comm_create(MPI_COMM_WORLD, job.context, &config, &comm));
    config.chunks = 0;
    if (job.ranks > 1) { /* one rank cannot, so none can */
        EXPECT(job.rank ? CLS_ERROR_COMMAND_FAILED : CLS_ERROR_INVALID_HANDLE,
               cls_mpi_comm_create(MPI_COMM_WORLD,
                                   job.rank ? job.context : (cls_context)(void *)&config, &config,
                                   &comm));
        if (job.rank)
            detail_has("rank 0 could not");
    }
    THAT(!comm);
    OK(cls_mpi_comm_create(MPI_COMM_SELF, job.context, &config, &comm)); /* alone */
    cls_array array = floats(1000);
    OK(cls_mpi_allreduce(comm, CLS_MPI_SUM, array, array, NULL));
    OK(cls_mpi_barrier(comm, NULL));
    OK(cls_mpi_bcast(comm, array, 0, NULL));
    OK(cls_mpi_allgather(comm, array, array, NULL));
    OK(cls_buffer_destroy(array.buffer));
    OK(cls_mpi_comm_destroy(comm));
}

static void test_thread_level(void) {
    cls_mpi_comm comm;
    int level;
    MPI_Query_thread(&level);
    THAT(level < MPI_THREAD_MULTIPLE);
    EXPECT(CLS_ERROR_INVALID_STATE, cls_mpi_comm_create(MPI_COMM_WORLD, job.context, NULL, &comm));
    detail_has("MPI_THREAD_MULTIPLE");
}

static void in_host_function(void *arg) {
    cls_mpi_comm comm = *(cls_mpi_comm *)arg;
    EXPECT(CLS_ERROR_WOULD_DEADLOCK, cls_mpi_barrier(comm, NULL));
    EXPECT(CLS_ERROR_WOULD_DEADLOCK, cls_mpi_comm_destroy(comm));
}

static void test_host_function(void) {
    cls_mpi_comm comm = new_comm(NULL);
    cls_stream stream = new_stream();
    OK(cls_stream_launch_host_async(stream, in_host_function, &comm));
    OK(cls_stream_synchronize(stream));
    OK(cls_mpi_barrier(comm, NULL));
    OK(cls_stream_destroy(stream));
    OK(cls_mpi_comm_destroy(comm));
}

/* --- failures that all ranks learn of --- */

static char culprit[] = "the culprit", from_before[] = "from before";
static void fail_here(void *message) { cls_host_function_fail(message); }

/* A communicator is of use again after all have made a new one. */
static void start_anew(cls_mpi_comm comm, cls_stream stream, cls_array array) {
    OK(cls_stream_reset(stream));
    OK(cls_mpi_comm_destroy(comm));
    comm = small_comm();
    OK(cls_mpi_allreduce(comm, CLS_MPI_SUM, array, array, stream));
    OK(cls_stream_destroy(stream));
    OK(cls_buffer_destroy(array.buffer));
    OK(cls_mpi_comm_destroy(comm));
}

/* The work before a collective fails on one rank, while it is pending. */
static void test_failed_input(void) {
    cls_mpi_comm comm = small_comm();
    cls_mpi_comm_info info = CLS_MPI_COMM_INFO_INIT;
    cls_stream stream = new_stream();
    cls_array array = floats(20000);
    OK(cls_mpi_allreduce(comm, CLS_MPI_SUM, array, array, stream));
    MPI_Barrier(MPI_COMM_WORLD); /* a failure also ends what a slower rank has not completed */
    if (job.rank == 0)
        OK(cls_stream_launch_host_async(stream, fail_here, culprit));
    const cls_status sent = cls_mpi_allreduce_async(comm, CLS_MPI_SUM, array, array, stream);
    THAT(!sent || sent == CLS_ERROR_COMMAND_FAILED);
    if (!sent)
        EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(stream));
    detail_has("the culprit");
    if (job.rank)
        detail_has("rank 0, all-reduce 2");
    while (!info.status)
        OK(cls_mpi_comm_get_info(comm, &info));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_mpi_barrier(comm, NULL));
    detail_has("the culprit");
    start_anew(comm, stream, array);
}

/* A stream that is poisoned already. */
static void test_poisoned_stream(void) {
    cls_mpi_comm comm = small_comm();
    cls_stream stream = new_stream();
    cls_array array = floats(20000);
    if (job.rank == job.ranks - 1) {
        OK(cls_stream_launch_host_async(stream, fail_here, from_before));
        EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(stream));
        EXPECT(CLS_ERROR_COMMAND_FAILED, cls_mpi_bcast_async(comm, array, 0, stream));
    } else {
        EXPECT(CLS_ERROR_COMMAND_FAILED,
               cls_mpi_allreduce(comm, CLS_MPI_SUM, array, array, stream));
        detail_has("from before");
    }
    start_anew(comm, stream, array);
}

static void test_abort(void) {
    cls_mpi_comm comm = small_comm();
    cls_stream stream = new_stream(), bystander = new_stream();
    cls_array array = floats(20000);
    if (job.rank) {
        OK(cls_mpi_recv_async(comm, array, 0, stream));
        MPI_Barrier(MPI_COMM_WORLD);
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
        OK(cls_mpi_comm_abort(comm, "enough"));
        EXPECT(CLS_ERROR_COMMAND_FAILED,
               cls_mpi_allreduce_async(comm, CLS_MPI_SUM, array, array, stream));
        detail_has("enough");
    }
    if (job.rank) {
        EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(stream));
        detail_has("rank 0 aborted: enough");
    }
    OK(cls_stream_synchronize(bystander));
    OK(cls_stream_destroy(bystander));
    start_anew(comm, stream, array);
}

static const char busy_source[] = "kernel void busy(global float *out, uint rounds) {\n"
                                  "    float v = out[0];\n"
                                  "    for (uint i = 0; i < rounds; i++)\n"
                                  "        v = v * 0.999f + 0.001f;\n"
                                  "    out[0] = v;\n"
                                  "}\n";

/* The driver has the downloads, behind a kernel, when the communicator ends: they still have their memory. */
static void test_abort_at_work(void) {
    cls_mpi_comm comm = new_comm(NULL);
    cls_stream stream = new_stream();
    cls_array array = floats((size_t)4 << 20);
    cls_program program;
    cls_kernel busy;
    OK(cls_program_from_source(job.context, busy_source, "busy.cl", NULL, &program));
    OK(cls_kernel_create(program, "busy", &busy));
    const cls_arg args[] = {cls_arg_buffer(array.buffer), cls_arg_u32(30000000)};
    const cls_launch launch = cls_launch_1d(1);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(cls_kernel_launch_async(busy, &launch, args, 2, stream));
    const cls_status sent = cls_mpi_allreduce_async(comm, CLS_MPI_SUM, array, array, stream);
    THAT(!sent || sent == CLS_ERROR_COMMAND_FAILED);
    OK(cls_mpi_comm_abort(comm, "enough"));
    OK(cls_mpi_comm_destroy(comm));
    OK(cls_stream_reset(stream));
    OK(cls_kernel_destroy(busy));
    OK(cls_program_destroy(program));
    OK(cls_buffer_destroy(array.buffer));
    OK(cls_stream_destroy(stream));
}

static cls_mpi_comm quick_comm(void) {
    cls_mpi_comm_config config = CLS_MPI_COMM_CONFIG_INIT;
    config.stall_ns = 300000000;
    config.peer_timeout_ns = 3000000000u;
    config.chunk_bytes = 4096;
    config.name = "quick";
    return new_comm(&config);
}

/* Different orders without the check: a report on every rank, in the explanation as well. Rank 0 ends it. */
static void test_stall(void) {
    cls_mpi_comm comm = quick_comm();
    cls_stream stream = new_stream();
    cls_array array = floats(20000);
    char text[8192] = "";
    if (job.rank == 0)
        OK(cls_mpi_allreduce_async(comm, CLS_MPI_SUM, array, array, stream));
    else
        OK(cls_mpi_allgather_async(
            comm, cls_array_of(array.buffer, CLS_F32, 20000 / (size_t)job.ranks / 8),
            cls_array_at(array.buffer, CLS_F32, 10000,
                         20000 / (size_t)job.ranks / 8 * (size_t)job.ranks),
            stream));
    while (!strstr(text, "has waited"))
        OK(cls_context_explain(job.context, text, sizeof text, NULL));
    THAT(strstr(text, job.rank ? "rank 0 is in all-reduce 1" : "rank 1 is in all-gather 1"));
    MPI_Barrier(MPI_COMM_WORLD);
    if (job.rank == 0)
        OK(cls_mpi_comm_abort(comm, "seen"));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(stream));
    start_anew(comm, stream, array);
}

/* Rank 0 is in destroy, and the others take longer than their timeout. It hears of them all the same, and they learn
 * where it is. */
static void test_destroy_waits(void) {
    cls_mpi_comm comm = quick_comm();
    if (job.rank == 0) {
        EXPECT(CLS_ERROR_COMMAND_FAILED, cls_mpi_comm_destroy(comm));
        detail_has("seen");
        return;
    }
    cls_stream stream = new_stream();
    cls_array array = floats(20000);
    const struct timespec longer = {3, 500000000};
    char text[8192] = "";
    OK(cls_mpi_allreduce_async(comm, CLS_MPI_SUM, array, array, stream));
    while (!strstr(text, "has waited"))
        OK(cls_context_explain(job.context, text, sizeof text, NULL));
    THAT(strstr(text, "rank 0 is in cls_mpi_comm_destroy"));
    nanosleep(&longer, NULL);
    OK(cls_mpi_comm_abort(comm, "seen"));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(stream));
    detail_has("seen");
    OK(cls_stream_destroy(stream));
    OK(cls_buffer_destroy(array.buffer));
    OK(cls_mpi_comm_destroy(comm));
}

/* --- arrays of unlike sizes --- */

static cls_status call_allreduce(cls_mpi_comm comm, cls_array own, cls_stream stream) {
    return cls_mpi_allreduce_async(comm, CLS_MPI_SUM, own, own, stream);
}

static cls_status call_reduce_scatter(cls_mpi_comm comm, cls_array own, cls_stream stream) {
    own.count -= own.count % (size_t)job.ranks;
    const size_t block = own.count / (size_t)job.ranks;
    const cls_array out =
        cls_array_at(own.buffer, CLS_F32, (size_t)job.rank * block, block); /* in place */
    return cls_mpi_reduce_scatter_async(comm, CLS_MPI_SUM, own, out, stream);
}

static cls_status call_allgather(cls_mpi_comm comm, cls_array own, cls_stream stream) {
    own.count -= own.count % (size_t)job.ranks;
    const size_t block = own.count / (size_t)job.ranks;
    const cls_array in = cls_array_at(own.buffer, CLS_F32, (size_t)job.rank * block, block);
    return cls_mpi_allgather_async(comm, in, own, stream);
}

static cls_status call_bcast(cls_mpi_comm comm, cls_array own, cls_stream stream) {
    return cls_mpi_bcast_async(comm, own, 0, stream);
}

static cls_status call_message(cls_mpi_comm comm, cls_array own, cls_stream stream) {
    if (job.rank == 0)
        return cls_mpi_send_async(comm, own, 1, stream);
    return job.rank == 1 ? cls_mpi_recv_async(comm, own, 0, stream) : CLS_SUCCESS;
}

/* Without the check: a message of another size than expected fails the communicator, and no process ends by it. */
static void test_unlike_sizes(void) {
    static cls_status (*const calls[])(cls_mpi_comm, cls_array, cls_stream) = {
        call_allreduce, call_reduce_scatter, call_allgather, call_bcast, call_message};
    static const size_t counts[][2] = {{300, 100}, {100, 300}, {900, 20000}, {20000, 900}};
    for (size_t i = 0; i < sizeof calls / sizeof *calls * 4; i++) {
        cls_mpi_comm_config config = CLS_MPI_COMM_CONFIG_INIT;
        cls_mpi_comm_info info = CLS_MPI_COMM_INFO_INIT;
        cls_mpi_comm comm;
        cls_stream stream = new_stream();
        cls_array array = floats(counts[i % 4][job.rank > 0]);
        config.chunk_bytes = 4096;
        config.chunks = 3;
        config.host_ranks = 1;
        OK(cls_mpi_comm_create(MPI_COMM_WORLD, job.context, &config, &comm));
        const cls_status sent = calls[i / 4](comm, array, stream);
        THAT(!sent || sent == CLS_ERROR_COMMAND_FAILED);
        while (!info.status)
            OK(cls_mpi_comm_get_info(comm, &info));
        THAT(strstr(info.failure, " bytes in place of "));
        OK(cls_stream_reset(stream));
        OK(cls_stream_destroy(stream));
        OK(cls_buffer_destroy(array.buffer));
        OK(cls_mpi_comm_destroy(comm));
    }
}

/* CLSTREAM_CHECK=mpi: the difference is an error on every rank, with both sides. */
static void test_check(void) {
    cls_mpi_comm comm = small_comm();
    cls_stream stream = new_stream();
    cls_array array = floats(20000), less = array;
    less.count = 19999;
    OK(cls_mpi_allreduce(comm, CLS_MPI_SUM, array, array, stream));
    MPI_Barrier(MPI_COMM_WORLD);
    const cls_array mine = job.rank ? less : array;
    cls_status status = cls_mpi_allreduce_async(comm, CLS_MPI_SUM, mine, mine, stream);
    THAT(!status || status == CLS_ERROR_COMMAND_FAILED);
    if (!status)
        EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(stream));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_mpi_barrier(comm, NULL));
    detail_has("all-reduce 2 (sum, 19999 x f32)");
    detail_has("all-reduce 2 (sum, 20000 x f32)");
    start_anew(comm, stream, array);
}

/* Launchers lose what ranks print after one has died: it goes to a file. */
static void note(const char *name, const char *why) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.%d", getenv("RANKS_SURVIVORS"), name, job.rank);
    FILE *file = fopen(path, "w");
    THAT(file != NULL);
    fprintf(file, "%s\n", why);
    THAT(!fclose(file));
}

/* Reduces until the communicator fails; the reason into `info`. */
static void reduce_until_failure(cls_mpi_comm comm, cls_stream stream, bool dies,
                                 cls_mpi_comm_info *info) {
    cls_array array = floats(200000);
    cls_status status = CLS_SUCCESS;
    for (int i = 0; !status; i++) {
        if (i == 20 && dies)
            kill(getpid(), SIGKILL);
        status = cls_mpi_allreduce_async(comm, CLS_MPI_SUM, array, array, stream);
        if (!status && i % 8 == 0)
            status = cls_stream_synchronize(stream);
    }
    THAT(status == CLS_ERROR_COMMAND_FAILED);
    do
        OK(cls_mpi_comm_get_info(comm, info));
    while (!info->status);
    OK(cls_stream_reset(stream));
    OK(cls_buffer_destroy(array.buffer));
}

static void survive(bool dies) {
    cls_mpi_comm comm = quick_comm();
    cls_mpi_comm_info info = CLS_MPI_COMM_INFO_INIT;
    cls_stream stream = new_stream();
    reduce_until_failure(comm, stream, dies, &info);
    OK(cls_stream_destroy(stream));
    OK(cls_mpi_comm_destroy(comm));
    note("survivor", info.failure);
    _exit(0); /* MPI_Finalize may wait for the dead */
}

/* The last rank dies in the middle of everything; the launcher leaves the others alone. */
static void test_killed_rank(void) { survive(job.rank == job.ranks - 1); }

/* All ranks of `comm` hold ones: the sum is their number. */
static void check_ranks(cls_mpi_comm comm, cls_stream stream, int ranks) {
    static float host[20000];
    cls_array array = floats(20000);
    OK(cls_mpi_allreduce(comm, CLS_MPI_SUM, array, array, stream));
    OK(cls_copy_d2h(host, array.buffer, 0, sizeof host, stream));
    for (int i = 0; i < 20000; i++)
        THAT(host[i] == (float)ranks);
    OK(cls_buffer_destroy(array.buffer));
}

/* Rank 0 dies, and the others go on without it. */
static void test_shrink_killed(void) {
    cls_mpi_comm comm = quick_comm(), smaller;
    cls_mpi_comm_info info = CLS_MPI_COMM_INFO_INIT;
    cls_stream stream = new_stream();
    char text[128];
    reduce_until_failure(comm, stream, job.rank == 0, &info);
    OK(cls_mpi_comm_shrink(comm, &smaller));
    OK(cls_mpi_comm_destroy(comm));
    OK(cls_mpi_comm_get_info(smaller, &info));
    THAT(info.ranks == job.ranks - 1 && info.rank == job.rank - 1 && !strcmp(info.name, "quick"));
    check_ranks(smaller, stream, info.ranks);
    OK(cls_mpi_comm_destroy(smaller));
    snprintf(text, sizeof text, "rank 0 of %d has ended; %d go on", job.ranks, info.ranks);
    note("survivor", text);
    _exit(0);
}

/* Without a dead rank, and where the MPI has no ULFM. */
static void test_shrink(void) {
    cls_mpi_comm comm = small_comm(), smaller = NULL;
    cls_stream stream = new_stream();
    EXPECT(CLS_ERROR_INVALID_STATE, cls_mpi_comm_shrink(comm, &smaller));
    detail_has("has not failed");
    MPI_Barrier(MPI_COMM_WORLD);
    OK(cls_mpi_comm_abort(comm, "enough"));
    if (mpi_shrinks) {
        OK(cls_mpi_comm_shrink(comm, &smaller));
        check_ranks(smaller, stream, job.ranks);
        OK(cls_mpi_comm_destroy(smaller));
    } else {
        EXPECT(CLS_ERROR_UNSUPPORTED, cls_mpi_comm_shrink(comm, &smaller));
        detail_has("cannot go on without a rank");
        THAT(!smaller);
    }
    OK(cls_mpi_comm_destroy(comm));
    OK(cls_stream_destroy(stream));
}

/* The script cuts the link between two halves of the ranks once they have begun. */
static void test_cut_link(void) {
    note("begun", "");
    survive(false);
}

static void test_finalize(void) {
    cls_mpi_comm comm = new_comm(NULL);
    cls_array array = floats(20000);
    OK(cls_mpi_allreduce(comm, CLS_MPI_SUM, array, array, NULL));
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_mpi_allreduce(comm, CLS_MPI_SUM, array, array, NULL));
    detail_has("MPI_Finalize");
    OK(cls_mpi_comm_destroy(comm));
    OK(cls_buffer_destroy(array.buffer));
    OK(cls_context_destroy(job.context));
    exit(0);
}

/* Many threads are inside MPI when it ends. */
static void test_finalize_many(void) {
    cls_mpi_comm_config config = CLS_MPI_COMM_CONFIG_INIT;
    cls_mpi_comm comms[100];
    config.chunk_bytes = 4096;
    config.chunks = 2;
    for (size_t i = 0; i < sizeof comms / sizeof *comms; i++)
        OK(cls_mpi_comm_create(MPI_COMM_SELF, job.context, &config, &comms[i]));
    MPI_Finalize();
    for (size_t i = 0; i < sizeof comms / sizeof *comms; i++) {
        EXPECT(CLS_ERROR_COMMAND_FAILED, cls_mpi_barrier(comms[i], NULL));
        OK(cls_mpi_comm_destroy(comms[i]));
    }
    OK(cls_context_destroy(job.context));
    exit(0);
}

const struct test failure_tests[] = {{"arguments", test_arguments},
                                     {"creation", test_creation},
                                     {"thread_level", test_thread_level},
                                     {"host_function", test_host_function},
                                     {"failed_input", test_failed_input},
                                     {"poisoned_stream", test_poisoned_stream},
                                     {"abort", test_abort},
                                     {"abort_at_work", test_abort_at_work},
                                     {"stall", test_stall},
                                     {"destroy_waits", test_destroy_waits},
                                     {"unlike_sizes", test_unlike_sizes},
                                     {"check", test_check},
                                     {"killed_rank", test_killed_rank},
                                     {"cut_link", test_cut_link},
                                     {"shrink", test_shrink},
                                     {"shrink_killed", test_shrink_killed},
                                     {"finalize", test_finalize},
                                     {"finalize_many", test_finalize_many},
                                     {NULL, NULL}};
