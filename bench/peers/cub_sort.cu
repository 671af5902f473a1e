// SPDX-License-Identifier: MIT
// The sorts of bench/sort.c by CUB: keys alone, and keys with values, of 2^26 elements, in Mkeys/s.
//
//     nvcc -O3 -arch=native -o cub_sort bench/peers/cub_sort.cu && ./cub_sort [LOG2_OF_COUNT]
#include <cub/cub.cuh>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

static void check(cudaError_t error) {
    if (error != cudaSuccess) {
        std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
        std::exit(1);
    }
}

template <typename T> static T *room(size_t count) {
    void *made = nullptr;
    check(cudaMalloc(&made, count * sizeof(T)));
    return static_cast<T *>(made);
}

// The words of bench/sort.c.
static void fill(void *keys, size_t bytes) {
    std::vector<uint32_t> words(bytes / 4);
    uint32_t state = 1;
    for (uint32_t &word : words) {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        word = state;
    }
    check(cudaMemcpy(keys, words.data(), bytes, cudaMemcpyHostToDevice));
}

// The median of 15 rounds of four sorts after a round that does not count, by events.
template <typename Sort> static void report(const char *name, size_t count, Sort sort) {
    enum { ROUNDS = 15, BATCH = 4 };
    void *temporary = nullptr;
    size_t bytes = 0;
    check(sort(temporary, bytes));
    check(cudaMalloc(&temporary, bytes));
    cudaEvent_t start, end;
    check(cudaEventCreate(&start));
    check(cudaEventCreate(&end));
    std::vector<float> times;
    for (int round = 0; round <= ROUNDS; round++) {
        float milliseconds;
        check(cudaEventRecord(start));
        for (int i = 0; i < BATCH; i++)
            check(sort(temporary, bytes));
        check(cudaEventRecord(end));
        check(cudaEventSynchronize(end));
        check(cudaEventElapsedTime(&milliseconds, start, end));
        if (round > 0)
            times.push_back(milliseconds / BATCH);
    }
    std::sort(times.begin(), times.end());
    const double median = times[ROUNDS / 2];
    std::printf("%-24s %8.3f ms %10.0f Mkeys/s\n", name, median, 1e-3 * count / median);
    check(cudaFree(temporary));
}

template <typename Key, typename Value>
static void both(const char *name, const char *with_values, size_t count) {
    Key *in = room<Key>(count), *out = room<Key>(count);
    Value *values = room<Value>(count), *values_out = room<Value>(count);
    fill(in, count * sizeof(Key));
    if (name)
        report(name, count, [=](void *temporary, size_t &bytes) {
            return cub::DeviceRadixSort::SortKeys(temporary, bytes, in, out, count);
        });
    if (with_values)
        report(with_values, count, [=](void *temporary, size_t &bytes) {
            return cub::DeviceRadixSort::SortPairs(temporary, bytes, in, out, values, values_out,
                                                   count);
        });
    for (void *each : {(void *)in, (void *)out, (void *)values, (void *)values_out})
        check(cudaFree(each));
}

int main(int argc, char **argv) {
    const size_t count = size_t(1) << (argc > 1 ? std::atoi(argv[1]) : 26);
    both<uint32_t, uint32_t>("u32 keys", "u32 keys, u32 values", count);
    both<uint32_t, int64_t>(nullptr, "u32 keys, i64 values", count);
    both<float, uint32_t>("f32 keys", nullptr, count);
    both<int64_t, uint32_t>("i64 keys", nullptr, count);
    both<uint8_t, uint32_t>("u8 keys", nullptr, count);
    return 0;
}
