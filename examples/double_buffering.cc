/* SPDX-License-Identifier: MIT */
/*
 * double_buffering.c in C++: two buffers, each with a stream of its own, take batches in turns. A stream does
 * upload, work and download of its batch in order; nothing orders the two streams, so one works while the
 * other copies.
 *
 * Look at run(): reusing a buffer needs no wait on the host, because its stream does the next upload after
 * the last download. A GPU copies while it computes; on a CPU the same cores do both, and little is gained.
 */
#include <chrono>
#include <clstream.hpp>
#include <cstdio>
#include <cstring>

constexpr std::uint32_t rounds = 16;
constexpr std::size_t most_buffers = 2;

constexpr char source[] = "kernel void work(global uint *x, uint rounds) {\n"
                          "    uint y = x[get_global_id(0)];\n"
                          "    for (uint i = 0; i < rounds; i++)\n"
                          "        y = y * 1664525u + 1013904223u;\n"
                          "    x[get_global_id(0)] = y;\n"
                          "}\n";

using host_memory = cls::pinned<std::uint32_t>; /* pinned: copies at the full speed of the bus */

/* All batches of `count` elements through `n` buffers; returns the time taken in milliseconds. */
static double run(cls::kernel_ref kernel, const host_memory &in, const host_memory &out,
                  std::size_t count, std::size_t n) {
    cls::stream streams[most_buffers];
    cls::array<std::uint32_t> buffers[most_buffers];
    for (std::size_t i = 0; i < n; i++) {
        streams[i] = cls::stream::create();
        buffers[i] = cls::array<std::uint32_t>::create(count);
    }
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t b = 0; b < in.size() / count; b++) {
        const auto &stream = streams[b % n];
        const auto &buffer = buffers[b % n];
        buffer.upload_async({in.data() + b * count, count}, stream);
        kernel.launch_async(cls_launch_1d(count), stream, buffer, rounds);
        buffer.download_async({out.data() + b * count, count}, stream);
    }
    for (std::size_t i = 0; i < n; i++)
        streams[i].synchronize();
    const auto took = std::chrono::steady_clock::now() - start;
    return std::chrono::duration<double, std::milli>(took).count();
}

/* Checks every result, and clears it for the next run. */
static bool check(const host_memory &in, const host_memory &out) {
    for (std::size_t i = 0; i < in.size(); i++) {
        std::uint32_t y = in[i];
        for (std::uint32_t k = 0; k < rounds; k++)
            y = y * 1664525u + 1013904223u;
        if (out[i] != y) {
            std::fprintf(stderr, "element %zu is %u, not %u\n", i, out[i], y);
            return false;
        }
        out[i] = 0;
    }
    return true;
}

int main(int argc, char **argv) try {
    const bool quick = argc > 1 && !std::strcmp(argv[1], "--quick");
    const std::size_t batches = quick ? 8 : 32, count = quick ? 4096 : 1 << 20;
    const auto kernel = cls::program::from_source(source, "work.cl").create_kernel("work");
    const auto in = host_memory::create(batches * count),
               out = host_memory::create(batches * count);
    for (std::size_t i = 0; i < in.size(); i++)
        in[i] = static_cast<std::uint32_t>(i);
    run(kernel, in, out, count, 1); /* the first one pays for compiling and for touching memory */
    for (std::size_t n = 1; n <= most_buffers; n++) {
        const double took = run(kernel, in, out, count, n);
        if (!check(in, out))
            return 1;
        std::printf("%zu buffer%s: %zu batches in %.2f ms\n", n, n > 1 ? "s" : "", batches, took);
    }
} catch (const cls::error &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
