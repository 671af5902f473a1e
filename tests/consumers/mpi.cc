/* SPDX-License-Identifier: MIT */
/* A program in C++ with libclstream-mpi and nothing of MPI's own C++ bindings: one rank. */
#include <clstream.hpp>
#include <clstream/mpi.h>
#include <cstdio>
#include <vector>

static int reduce() try {
    const auto stream = cls::stream::create();
    std::vector<float> host{1, 2, 3};
    const auto x = cls::array<float>::from_host(host);
    cls_mpi_comm comm;
    cls::check(cls_mpi_comm_create(MPI_COMM_SELF, nullptr, nullptr, &comm));
    cls::check(cls_mpi_allreduce_async(comm, CLS_MPI_SUM, x, x, stream.get()));
    x.download(host, stream);
    cls::check(cls_mpi_comm_destroy(comm));
    return host == std::vector<float>{1, 2, 3} ? 0 : 1;
} catch (const cls::error &error) {
    std::puts(error.what());
    return error.status() == CLS_ERROR_NO_DEVICE ? 77 : 1;
}

int main(int argc, char **argv) {
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    const int status = reduce();
    MPI_Finalize();
    return status;
}
