/* SPDX-License-Identifier: MIT */
/* One rank: ranks NAME... runs tests, ranks --list prints their names; ranks --shrinks
 * succeeds if the MPI goes on without a rank. */
#include "ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct job job;

static void give_up(void) {
    fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);
    _exit(1);
}

void expect(cls_status wanted, cls_status got, const char *call, const char *file, int line) {
    if (got == wanted)
        return;
    fprintf(stderr, "rank %d: %s:%d: %s is %s, not %s: %s\n", job.rank, file, line, call,
            cls_status_string(got), cls_status_string(wanted), cls_last_error_detail());
    give_up();
}

void that(bool condition, const char *text, const char *file, int line) {
    if (condition)
        return;
    fprintf(stderr, "rank %d: %s:%d: not: %s\n", job.rank, file, line, text);
    give_up();
}

void detail_has(const char *text) {
    if (strstr(cls_last_error_detail(), text))
        return;
    fprintf(stderr, "rank %d: the detail lacks \"%s\": %s\n", job.rank, text,
            cls_last_error_detail());
    give_up();
}

cls_mpi_comm new_comm(const cls_mpi_comm_config *given) {
    cls_mpi_comm_config config = CLS_MPI_COMM_CONFIG_INIT;
    cls_mpi_comm comm;
    if (given)
        config = *given;
    if (getenv("RANKS_HOST"))
        config.host_ranks = (unsigned)atoi(getenv("RANKS_HOST"));
    OK(cls_mpi_comm_create(MPI_COMM_WORLD, job.context, &config, &comm));
    return comm;
}

cls_mpi_comm small_comm(void) {
    cls_mpi_comm_config config = CLS_MPI_COMM_CONFIG_INIT;
    config.chunk_bytes = 4096;
    config.chunks = 3;
    return new_comm(&config);
}

cls_stream new_stream(void) {
    cls_stream stream;
    OK(cls_stream_create(job.context, NULL, &stream));
    return stream;
}

static const struct test *const tables[] = {value_tests, failure_tests, random_tests,
                                            hostile_tests};

static void (*find(const char *name))(void) {
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (const struct test *test = tables[t]; test->name; test++)
            if (!strcmp(test->name, name))
                return test->run;
    return NULL;
}

static int list(void) {
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (const struct test *test = tables[t]; test->name; test++)
            puts(test->name);
    return 0;
}

static bool are_tests(int argc, char **argv) {
    for (int i = 1; i < argc; i++)
        if (!find(argv[i]))
            return false;
    return argc > 1;
}

int main(int argc, char **argv) {
    int level;
    if (argc == 2 && !strcmp(argv[1], "--list"))
        return list();
    if (argc == 2 && !strcmp(argv[1], "--shrinks"))
        return !mpi_shrinks;
    if (!are_tests(argc, argv)) {
        fprintf(stderr, "usage: ranks TEST... | --list\n");
        return 2;
    }
    MPI_Init_thread(&argc, &argv,
                    getenv("RANKS_FUNNELED") ? MPI_THREAD_FUNNELED : MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &job.ranks);
    alarm(getenv("RANKS_SECONDS") ? (unsigned)atoi(getenv("RANKS_SECONDS")) : 120);
    OK(cls_context_create(NULL, &job.context));
    for (int i = 1; i < argc; i++)
        find(argv[i])();
    OK(cls_context_destroy(job.context));
    MPI_Finalize();
    return 0;
}
