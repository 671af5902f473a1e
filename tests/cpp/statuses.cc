/* SPDX-License-Identifier: MIT */
/* clstream.hpp without exceptions. Prints what does not hold, and exits with 1 then. */
#include <clstream.hpp>
#include <cstdio>
#include <memory>
#include <unistd.h>
#include <vector>

#include "expect.h"

/* One memory in two contexts, and by way of a descriptor. */
static void test_shared_memory() {
    const auto near = cls::context::create(), far = cls::context::create();
    const auto found = near->can_share(*far);
    EXPECT(found);
    if (!found || found->kind == CLS_SHARE_NONE) {
        EXPECT(cls::buffer::create_shareable(64, *near).status() == CLS_ERROR_UNSUPPORTED);
        return;
    }
    EXPECT(found->gb_per_s > 0);
    const auto here = cls::buffer::create_shareable(64, *near);
    const auto there = cls::buffer::open(*here, *far);
    EXPECT(here && there && *there->size() == 64);
    const auto fd = here->export_fd();
    EXPECT(fd && *fd >= 0);
    const auto again = cls::buffer::import_fd(*fd, 64, *far);
    EXPECT(cls::buffer::import_fd(*fd, 65, *far).status() == CLS_ERROR_SIZE_MISMATCH);
    EXPECT(close(*fd) == 0);
    const int seven = 7;
    int got[2] = {0, 0};
    EXPECT(cls::check(cls_fill(here->get(), 0, 64, &seven, sizeof seven, nullptr)));
    EXPECT(cls::check(cls_copy_d2h(&got[0], there->get(), 60, 4, nullptr)));
    EXPECT(cls::check(cls_copy_d2h(&got[1], again->get(), 60, 4, nullptr)));
    EXPECT(got[0] == 7 && got[1] == 7);
    const auto plain = cls::buffer::create(64, *near);
    EXPECT(plain->export_fd().status() == CLS_ERROR_INVALID_VALUE);
    EXPECT(cls::buffer::open(*plain, *far).status() == CLS_ERROR_INVALID_VALUE);
}

/* An event by way of a descriptor. */
static void test_shared_events() {
    const auto here = cls::event::create_shareable();
    if (!here) {
        EXPECT(here.status() == CLS_ERROR_UNSUPPORTED);
        return;
    }
    const auto fd = here->export_fd();
    EXPECT(fd && *fd >= 0);
    const auto there = cls::event::import_fd(*fd);
    EXPECT(close(*fd) == 0);
    const auto stream = cls::stream::create();
    EXPECT(there->record(*stream) && here->synchronize() && *here->query());
    EXPECT(cls::event::create()->export_fd().status() == CLS_ERROR_INVALID_VALUE);
    EXPECT(cls::event::import_fd(-1).status() == CLS_ERROR_INVALID_VALUE);
}

/* Device memory by a pointer into a buffer. */
static void test_pointers() {
    const auto stream = cls::stream::create();
    const auto buffer = cls::buffer::create(64);
    const auto pointer = buffer->pointer<char>();
    char got[3] = {0, 0, 0};
    EXPECT(pointer && cls::memset_async(*pointer, 5, 64, *stream));
    EXPECT(cls::memcpy_async(*pointer + 1, *pointer + 9, 8, *stream));
    EXPECT(cls::memcpy_async(got, *pointer + 61, 3, *stream) && stream->synchronize());
    EXPECT(got[0] == 5 && got[2] == 5);
    EXPECT(cls::memcpy_async(got, *pointer + 62, 3, *stream).status() == CLS_ERROR_OUT_OF_RANGE);
}

/* Each launch of the graph would call the function object, which lasts for one call. */
static void test_captured() {
    const auto stream = cls::stream::create();
    auto alive = std::make_shared<int>(0);
    EXPECT(cls::check(cls_stream_begin_capture(stream->get(), "functions")));
    EXPECT(stream->launch_host_async([alive] { ++*alive; }).status() == CLS_ERROR_UNSUPPORTED);
    EXPECT(stream->add_callback([alive](cls_status) {}).status() == CLS_ERROR_UNSUPPORTED);
    EXPECT(alive.use_count() == 1);
    EXPECT(cls::make<cls_stream_end_capture>(stream->get()));
    EXPECT(stream->launch_host_async([alive] { ++*alive; }) && stream->synchronize());
    EXPECT(*alive == 1);
}

int main() {
    test_shared_memory();
    test_shared_events();
    test_pointers();
    test_captured();
    auto made = cls::stream::create();
    EXPECT(made && made.status() == CLS_SUCCESS);
    const cls::stream stream = std::move(*made);
    EXPECT(!*made);
    EXPECT(cls::context::create("no such device").status() == CLS_ERROR_NO_DEVICE);
    EXPECT(cls::check(CLS_ERROR_IO).status() == CLS_ERROR_IO);
    /* The owner of a call that failed is no handle, and so not the default context. */
    const auto no_context = cls::context::create("no such device");
    EXPECT(!no_context && !*no_context);
    EXPECT(cls::stream::create(*no_context).status() == CLS_ERROR_INVALID_HANDLE);

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
