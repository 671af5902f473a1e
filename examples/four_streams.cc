/* SPDX-License-Identifier: MIT */
/*
 * four_streams.c in C++: launches too small to fill the device overlap when each chain of them has a stream
 * of its own.
 *
 * Look at run(): it submits everything before it waits for anything. Four streams are compared with one.
 */
#include <chrono>
#include <clstream.hpp>
#include <cstdio>
#include <cstring>
#include <vector>

constexpr std::size_t chains = 4, count = 64;
constexpr std::uint32_t rounds = 50000;

constexpr char source[] = "kernel void work(global uint *x, uint rounds) {\n"
                          "    uint y = x[get_global_id(0)];\n"
                          "    for (uint i = 0; i < rounds; i++)\n"
                          "        y = y * 1664525u + 1013904223u;\n"
                          "    x[get_global_id(0)] = y;\n"
                          "}\n";

/* What `launches` of the kernel make of a value. */
static std::uint32_t expected(std::uint32_t y, unsigned launches) {
    for (unsigned i = 0; i < launches * rounds; i++)
        y = y * 1664525u + 1013904223u;
    return y;
}

/* Four chains of launches, on `n` streams. */
static bool run(cls::kernel_ref kernel, unsigned launches, std::size_t n) {
    using clock = std::chrono::steady_clock;
    using milliseconds = std::chrono::duration<double, std::milli>;
    std::vector<cls::stream> streams;
    std::vector<cls::array<std::uint32_t>> arrays;
    for (std::size_t i = 0; i < n; i++)
        streams.push_back(cls::stream::create());
    for (std::size_t i = 0; i < chains; i++) {
        const std::vector<std::uint32_t> initial(count, static_cast<std::uint32_t>(i));
        arrays.push_back(cls::array<std::uint32_t>::from_host(initial));
    }
    const auto start = clock::now();
    for (unsigned k = 0; k < launches; k++)
        for (std::size_t i = 0; i < chains; i++)
            kernel.launch_async(cls_launch_1d(count), streams[i % n], arrays[i], rounds);
    const auto submitted = clock::now();
    for (const auto &stream : streams)
        stream.synchronize();
    std::printf("%zu launches on %zu stream%s: submitted in %.2f ms, done in %.2f ms\n",
                launches * chains, n, n > 1 ? "s" : "", milliseconds(submitted - start).count(),
                milliseconds(clock::now() - start).count());
    for (std::size_t i = 0; i < chains; i++) {
        std::uint32_t result[1];
        arrays[i].download(result);
        if (result[0] != expected(static_cast<std::uint32_t>(i), launches)) {
            std::fprintf(stderr, "chain %zu gives %u\n", i, result[0]);
            return false;
        }
    }
    return true;
}

int main(int argc, char **argv) try {
    const unsigned launches = argc > 1 && !std::strcmp(argv[1], "--quick") ? 4 : 50;
    const auto kernel = cls::program::from_source(source, "work.cl").create_kernel("work");
    return run(kernel, launches, 1) && run(kernel, launches, chains) ? 0 : 1;
} catch (const cls::error &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
