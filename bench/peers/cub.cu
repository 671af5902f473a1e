/* SPDX-License-Identifier: MIT */
/*
 * CUB's scan, selection, histogram, runs and sums by key, in elements a second, to stand beside bench/scan and bench/select:
 *
 *     nvcc -O3 -arch=native bench/peers/cub.cu -o cub && ./cub [elements]
 */
#include <cub/cub.cuh>
#include <cuda/std/functional>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CUDA(call)                                                                       \
    do {                                                                                 \
        const cudaError_t code = (call);                                                 \
        if (code != cudaSuccess) {                                                       \
            std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(code));           \
            std::exit(2);                                                                \
        }                                                                                \
    } while (0)

enum { ROUNDS = 15, BATCH = 10 };

/* The median over rounds; `call` is given temporary memory and its size, as CUB's functions take them. */
template <typename Call> void report(const char *name, size_t count, Call call) {
    void *memory = nullptr;
    size_t bytes = 0;
    CUDA(call(memory, bytes));
    CUDA(cudaMalloc(&memory, bytes));
    cudaEvent_t start, end;
    CUDA(cudaEventCreate(&start));
    CUDA(cudaEventCreate(&end));
    std::vector<float> times;
    for (int round = 0; round < ROUNDS + 2; round++) {
        CUDA(cudaEventRecord(start));
        for (int i = 0; i < BATCH; i++)
            CUDA(call(memory, bytes));
        CUDA(cudaEventRecord(end));
        CUDA(cudaEventSynchronize(end));
        float ms;
        CUDA(cudaEventElapsedTime(&ms, start, end));
        if (round >= 2)
            times.push_back(ms / BATCH);
    }
    std::sort(times.begin(), times.end());
    std::printf("%-40s %8.4f ms %8.2f G elements/s\n", name, times[ROUNDS / 2],
                1e-6 * (double)count / times[ROUNDS / 2]);
    CUDA(cudaFree(memory));
}

template <typename T> T *room(const std::vector<T> &from) {
    T *made;
    CUDA(cudaMalloc(&made, from.size() * sizeof(T)));
    CUDA(cudaMemcpy(made, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice));
    return made;
}

int main(int argc, char **argv) {
    const size_t n = argc > 1 ? std::strtoull(argv[1], nullptr, 0) : (size_t)1 << 26;
    std::vector<uint32_t> words(n), keys(n);
    std::vector<uint8_t> flags(n), bytes(n);
    uint32_t state = 1, key = 0;
    for (size_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        words[i] = state >> 8;
        flags[i] = state >> 31;
        bytes[i] = state >> 24;
        key += (state >> 24) % 8 == 0;
        keys[i] = key;
    }
    const int count = (int)n;
    uint32_t *in = room(words), *out = room(words), *by = room(keys), *lengths = room(words);
    uint8_t *flag = room(flags), *byte = room(bytes);
    int64_t *selected = room(std::vector<int64_t>(1));
    int32_t *bins = room(std::vector<int32_t>(1024));
    const float *reals = reinterpret_cast<const float *>(in);
    report("copy", n, [&](void *&m, size_t &b) {
        b = 1;
        return m ? cudaMemcpyAsync(out, in, n * 4, cudaMemcpyDeviceToDevice) : cudaSuccess;
    });
    report("scan, sum of f32", n, [&](void *m, size_t &b) {
        return cub::DeviceScan::InclusiveSum(m, b, reals, reinterpret_cast<float *>(out), count);
    });
    report("scan, sum of u32", n, [&](void *m, size_t &b) {
        return cub::DeviceScan::InclusiveSum(m, b, in, out, count);
    });
    report("compact u32 by flags, half", n, [&](void *m, size_t &b) {
        return cub::DeviceSelect::Flagged(m, b, in, flag, out, selected, count);
    });
    report("unique u32, an eighth", n, [&](void *m, size_t &b) {
        return cub::DeviceSelect::Unique(m, b, by, out, selected, count);
    });
    report("runs of u32, an eighth", n, [&](void *m, size_t &b) {
        return cub::DeviceRunLengthEncode::Encode(m, b, by, out, lengths, selected, count);
    });
    report("sum by key, an eighth", n, [&](void *m, size_t &b) {
        return cub::DeviceReduce::ReduceByKey(m, b, by, out, in, lengths, selected,
                                              cuda::std::plus<>(), count);
    });
    report("histogram, 256 even bins of u32", n, [&](void *m, size_t &b) {
        return cub::DeviceHistogram::HistogramEven(m, b, in, bins, 257, 0u, 1u << 24, count);
    });
    report("histogram, 256 even bins of u8", n, [&](void *m, size_t &b) {
        return cub::DeviceHistogram::HistogramEven(m, b, byte, bins, 257, 0, 256, count);
    });
    report("histogram, 256 even bins of u8, two values", n, [&](void *m, size_t &b) {
        return cub::DeviceHistogram::HistogramEven(m, b, flag, bins, 257, 0, 256, count);
    });
    return 0;
}
