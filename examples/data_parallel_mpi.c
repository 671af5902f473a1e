/* SPDX-License-Identifier: MIT */
/*
 * data_parallel.c over processes: each rank has a share of the data and a copy of the weights, and
 * cls_mpi_allreduce_async takes the place of the device group. The sums have the order of the ranks, so that the losses
 * are those of one process with all data, to the last bit.
 *
 * For training on several machines. With the name of a file, rank 0 writes the weights there every ten steps, and the
 * next run goes on from them: kill it and start it again.
 *
 *   mpicc data_parallel_mpi.c $(pkg-config --cflags --libs clstream-mpi) && mpirun -n 2 ./a.out checkpoint
 */
#include <clstream.h>
#include <clstream/mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 4096, STEPS = 40, REPORT = 10 };

static const float RATE = 0.5f;
static int rank, ranks;

static void must(cls_status status) {
    if (status) {
        fprintf(stderr, "rank %d: %s: %s\n", rank, cls_status_string(status),
                cls_last_error_detail());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

/* Rank 0: a whole file takes the place of the last one, so that a kill leaves one of the two. */
static void save(const char *path, int step, cls_buffer weights, cls_stream stream) {
    static float values[N];
    char next[4096];
    must(cls_copy_d2h(values, weights, 0, sizeof values, stream));
    snprintf(next, sizeof next, "%s.next", path);
    FILE *file = fopen(next, "wb");
    if (!file || fwrite(&step, sizeof step, 1, file) != 1 ||
        fwrite(values, sizeof values, 1, file) != 1 || fclose(file) || rename(next, path)) {
        perror(next);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

/* Rank 0: the step to go on from, and the weights; 0 where there is no file. */
static int resume(const char *path, cls_buffer weights, cls_stream stream) {
    static float values[N];
    int step = 0;
    FILE *file = fopen(path, "rb");
    if (!file)
        return 0;
    if (fread(&step, sizeof step, 1, file) == 1 && fread(values, sizeof values, 1, file) == 1)
        must(cls_copy_h2d(weights, 0, values, sizeof values, stream));
    fclose(file);
    return step;
}

int main(int argc, char **argv) {
    static float data[N];
    const char *path = argc > 1 && argv[1][0] != '-' ? argv[1] : NULL;
    const int last = argc > 2 ? atoi(argv[2]) : -1; /* to be killed at this step, for a trial */
    const float zero = 0;
    cls_buffer shares, gradients, weights, losses;
    cls_context context;
    cls_stream stream;
    cls_mpi_comm comm;
    int level, first = 0;

    setvbuf(stdout, NULL, _IOLBF, 0);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    must(cls_context_create(NULL, &context));
    must(cls_stream_create(context, NULL, &stream));
    must(cls_mpi_comm_create(MPI_COMM_WORLD, context, NULL, &comm));
    for (int i = 0; i < N; i++)
        data[i] = (float)(i % 100 + 10 * rank);
    must(cls_buffer_from_host(context, data, sizeof data, &shares));
    must(cls_buffer_create(context, sizeof data, &gradients));
    must(cls_buffer_create(context, sizeof data, &weights));
    must(cls_buffer_create(context, sizeof(float), &losses));
    must(cls_fill_async(weights, 0, sizeof data, &zero, sizeof zero, stream));
    const cls_array share = cls_array_of(shares, CLS_F32, N), w = cls_array_of(weights, CLS_F32, N);
    const cls_array gradient = cls_array_of(gradients, CLS_F32, N),
                    loss = cls_array_of(losses, CLS_F32, 1);

    if (path && rank == 0)
        first = resume(path, weights, stream);
    MPI_Bcast(&first, 1, MPI_INT, 0, MPI_COMM_WORLD);
    must(cls_mpi_bcast_async(comm, w, 0, stream));
    for (int step = first; step < STEPS; step++) {
        if (step == last && rank == ranks - 1)
            abort();
        if (path && rank == 0 && step % REPORT == 0)
            save(path, step, weights, stream);
        must(cls_sub_f32_async(w, share, gradient, stream));
        if (step % REPORT == 0) {
            float sum;
            must(cls_dot_f32_async(gradient, gradient, loss, stream));
            must(cls_mpi_allreduce_async(comm, CLS_MPI_SUM, loss, loss, stream));
            must(cls_copy_d2h(&sum, losses, 0, sizeof sum, stream));
            if (rank == 0)
                printf("step %d: loss %.9g\n", step, (double)sum);
        }
        must(cls_mpi_allreduce_async(comm, CLS_MPI_SUM, gradient, gradient, stream));
        must(cls_scale_f32_async(gradient, gradient, RATE / (float)ranks, stream));
        must(cls_sub_f32_async(w, gradient, w, stream));
    }
    must(cls_copy_d2h(data, weights, 0, sizeof data, stream));
    for (int i = 0; i < N; i++) {
        const float off = data[i] - ((float)(i % 100) + 5 * (float)(ranks - 1));
        if (off > 1e-3f || off < -1e-3f) {
            fprintf(stderr, "rank %d: weight %d is %g\n", rank, i, (double)data[i]);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    if (!rank)
        printf("%d steps on %d ranks: the weights are the mean of all data\n", STEPS, ranks);
    must(cls_mpi_comm_destroy(comm));
    return MPI_Finalize();
}
