/* SPDX-License-Identifier: MIT */
/*
 * query.c in C++: the CPU has work of its own and asks, now and then, whether the device is done.
 *
 * Look at what is missing: no status is checked by hand, because a call that fails throws, and nothing is
 * destroyed by hand, because each handle has an owner.
 */
#include <clstream.hpp>
#include <cstdio>
#include <cstring>

constexpr std::size_t count = 1 << 14;
constexpr std::uint32_t rounds = 500;

constexpr char source[] = "kernel void work(global uint *x, uint rounds) {\n"
                          "    uint y = x[get_global_id(0)];\n"
                          "    for (uint i = 0; i < rounds; i++)\n"
                          "        y = y * 1664525u + 1013904223u;\n"
                          "    x[get_global_id(0)] = y;\n"
                          "}\n";

int main(int argc, char **argv) try {
    const unsigned launches = argc > 1 && !std::strcmp(argv[1], "--quick") ? 4 : 50;
    const auto kernel = cls::program::from_source(source, "work.cl").create_kernel("work");
    const auto stream = cls::stream::create();
    const auto x = cls::array<std::uint32_t>::create(count);
    std::uint32_t got[1];

    x.fill_async(1, stream);
    for (unsigned i = 0; i < launches; i++)
        kernel.launch_async(cls_launch_1d(count), stream, x, rounds);
    x.download_async(got, stream);

    unsigned asked = 0;
    double sum = 0;
    while (!stream.query()) {
        asked++;
        for (int i = 1; i <= 10000; i++) /* the CPU's own work */
            sum += 1.0 / i;
    }

    std::uint32_t expected = 1;
    for (unsigned i = 0; i < launches * rounds; i++)
        expected = expected * 1664525u + 1013904223u;
    if (got[0] != expected) {
        std::fprintf(stderr, "the result is %u, not %u\n", got[0], expected);
        return 1;
    }
    std::printf("%u launches; asked %u times, and the CPU added up %.1f meanwhile\n", launches,
                asked, sum);
} catch (const cls::error &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
