/* SPDX-License-Identifier: MIT */
/*
 * The peer of bench/mempool on NVIDIA: what a pair of cudaMallocAsync and cudaFreeAsync costs in steady
 * state, by one thread and by eight on streams of their own. Not part of the build; by hand:
 *
 *   nvcc -O2 -std=c++14 -o cuda_malloc bench/peers/cuda_malloc.cu && ./cuda_malloc
 */
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include <cuda_runtime.h>

static const int pairs = 20000, rounds = 21;

static void must(cudaError_t error) {
    if (error != cudaSuccess) {
        std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
        std::exit(2);
    }
}

static double pair_ns(cudaStream_t stream) {
    void *memory;
    auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < pairs; i++) {
        must(cudaMallocAsync(&memory, 1 << 20, stream));
        must(cudaFreeAsync(memory, stream));
    }
    std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
    must(cudaStreamSynchronize(stream));
    return took.count() / pairs;
}

static void run(unsigned n_threads) {
    std::vector<std::vector<double>> times(n_threads);
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < n_threads; i++)
        threads.emplace_back([&times, i] {
            cudaStream_t stream;
            must(cudaStreamCreate(&stream));
            pair_ns(stream);
            for (int k = 0; k < rounds; k++)
                times[i].push_back(pair_ns(stream));
            must(cudaStreamDestroy(stream));
        });
    for (auto &thread : threads)
        thread.join();
    std::vector<double> all;
    for (auto &one : times)
        all.insert(all.end(), one.begin(), one.end());
    std::sort(all.begin(), all.end());
    std::printf("cudaMallocAsync + cudaFreeAsync, %u thread(s): %.0f ns\n", n_threads,
                all[all.size() / 2]);
}

int main() {
    cudaMemPool_t pool;
    unsigned long long keep = ~0ull; /* as cls_mempool's default */
    must(cudaDeviceGetDefaultMemPool(&pool, 0));
    must(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
    run(1);
    run(8);
    return 0;
}
