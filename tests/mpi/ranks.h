/* SPDX-License-Identifier: MIT */
/* What the tests of libclstream-mpi share. Each runs as all ranks of a job; a rank that finds a fault prints it and
 * exits with 1. */
#ifndef CLSTREAM_TESTS_MPI_RANKS_H
#define CLSTREAM_TESTS_MPI_RANKS_H

#include <stdbool.h>
#include <stddef.h>

#include <clstream.h>
#include <clstream/mpi.h>

extern struct job {
    int rank, ranks;
    cls_context context;
} job;

/* Ends all ranks with a message unless `got` is `wanted`. */
#define EXPECT(wanted, call) expect((wanted), (call), #call, __FILE__, __LINE__)
#define OK(call) EXPECT(CLS_SUCCESS, call)
#define THAT(condition) that((condition), #condition, __FILE__, __LINE__)
void expect(cls_status wanted, cls_status got, const char *call, const char *file, int line);
void that(bool condition, const char *text, const char *file, int line);
/* The detail of the thread's last error has this text. */
void detail_has(const char *text);

/* RANKS_HOST=N: hosts of at most so many ranks. */
cls_mpi_comm new_comm(const cls_mpi_comm_config *config);
/* A communicator with small chunks, so that small arrays take several pieces. */
cls_mpi_comm small_comm(void);
cls_stream new_stream(void);
/* The MPI can go on without a rank. */
extern const bool mpi_shrinks;

struct test {
    const char *name;
    void (*run)(void);
};
extern const struct test value_tests[], failure_tests[], random_tests[],
    hostile_tests[]; /* up to a null name */

#endif
