/* SPDX-License-Identifier: MIT */
/* clstream.hpp without exceptions. Prints what does not hold, and exits with 1 then. */
#include <clstream.hpp>
#include <cstdio>
#include <memory>
#include <vector>

static int failures;

#define EXPECT(condition)                                                     \
    do                                                                        \
        if (!(condition)) {                                                   \
            std::printf("line %d does not hold: %s\n", __LINE__, #condition); \
            failures++;                                                       \
        }                                                                     \
    while (0)

int main() {
    auto made = cls::stream::create();
    EXPECT(made && made.status() == CLS_SUCCESS);
    const cls::stream stream = std::move(*made);
    EXPECT(!*made);
    EXPECT(cls::context::create("no such device").status() == CLS_ERROR_NO_DEVICE);
    EXPECT(cls::check(CLS_ERROR_IO).status() == CLS_ERROR_IO);

    std::vector<float> host{1, 2, 3, 4};
    const auto x = cls::array<float>::from_host(host);
    EXPECT(x->size() == 4);
    EXPECT(cls::check(cls_sqr_f32_async(*x, *x, stream.get())));
    EXPECT(x->download(host, stream) && host[3] == 16);
    host.resize(5);
    EXPECT(x->download(host, stream).status() == CLS_ERROR_OUT_OF_RANGE);

    auto alive = std::make_shared<int>(0);
    EXPECT(stream.launch_host_async([alive] { ++*alive; }));
    EXPECT(stream.synchronize());
    EXPECT(*alive == 1 && alive.use_count() == 1);
    auto done = stream.query();
    EXPECT(done && *done);
    EXPECT(!stream.wait_event(cls::event_ref()));
    return failures ? 1 : 0;
}
