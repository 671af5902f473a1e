/* SPDX-License-Identifier: MIT */
/* clstream.hpp with exceptions. Prints what does not hold, and exits with 1 then. */
#include <array>
#include <chrono>
#include <clstream.hpp>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>
#if __cplusplus >= 202002L
#include <span>
#endif

#include "expect.h"

using namespace std::chrono_literals;

/* What `call` throws. */
template <class F> static cls_status thrown_by(F call) {
    try {
        call();
    } catch (const cls::error &error) { return error.status(); }
    return CLS_SUCCESS;
}

template <class T>
constexpr bool move_only =
    std::is_nothrow_move_constructible<T>::value &&std::is_nothrow_move_assignable<T>::value &&
    !std::is_copy_constructible<T>::value && !std::is_copy_assignable<T>::value;
static_assert(move_only<cls::context> && move_only<cls::stream> && move_only<cls::event> &&
                  move_only<cls::buffer> && move_only<cls::program> && move_only<cls::kernel> &&
                  move_only<cls::timeline> && move_only<cls::pool> && move_only<cls::batch> &&
                  move_only<cls::array<float>> && move_only<cls::pinned<float>>,
              "owners are move-only");
static_assert(sizeof(cls::stream) == sizeof(cls_stream), "an owner is its handle");
static_assert(!std::is_constructible<cls::span<const int>, std::vector<int>>::value,
              "a temporary that owns its memory is no span");
static_assert(std::is_constructible<cls::span<const int>, std::vector<int> &>::value &&
                  std::is_constructible<cls::span<const int>, const std::array<int, 3> &>::value &&
                  !std::is_constructible<cls::span<int>, const std::vector<int> &>::value,
              "a span keeps const");

static void test_owners() {
    auto stream = cls::stream::create();
    const cls_stream handle = stream.get();
    cls::stream other = std::move(stream);
    EXPECT(!stream && other.get() == handle);
    stream = std::move(other);
    EXPECT(stream.get() == handle && !other);
    stream = {};
    EXPECT(!stream && cls_stream_query(handle) == CLS_ERROR_INVALID_HANDLE);
    const cls_stream released = cls::stream::create().release();
    EXPECT(cls_stream_query(released) == CLS_SUCCESS);
    const cls::stream again(released);
    const auto pool = cls::make<cls_pool_create>(nullptr, nullptr);
    static_assert(std::is_same<decltype(pool), const cls::pool>::value, "");
    EXPECT(pool.get());
    static_assert(
        std::is_same<decltype(cls::make<cls_stream_create>(nullptr, nullptr)), cls::stream>::value,
        "");
    EXPECT(thrown_by([] { cls::context::create("no such device"); }) == CLS_ERROR_NO_DEVICE);
}

/* What is moved from is empty, and never the default stream or context. */
static void test_moved() {
    const auto gate = cls::timeline::create();
    auto stream = cls::stream::create();
    stream.wait_timeline(gate, 1);
    auto x = cls::array<float>::create(4);
    auto pinned = cls::pinned<float>::create(4);
    auto context = cls::context::create();
    auto event = cls::event::create();
    const auto stream_now = std::move(stream);
    const auto x_now = std::move(x);
    const auto pinned_now = std::move(pinned);
    const auto context_now = std::move(context);
    const auto event_now = std::move(event);
    EXPECT(thrown_by([&] { stream.synchronize(); }) == CLS_ERROR_INVALID_HANDLE);
    EXPECT(thrown_by([&] { (void)stream.query(); }) == CLS_ERROR_INVALID_HANDLE);
    EXPECT(thrown_by([&] { x_now.fill_async(1, stream); }) == CLS_ERROR_INVALID_HANDLE);
    EXPECT(cls_stream_synchronize(stream.get()) == CLS_ERROR_INVALID_HANDLE);
    EXPECT(thrown_by([&] { cls::stream::create(context); }) == CLS_ERROR_INVALID_HANDLE);
    EXPECT(thrown_by([&] { cls::array<int>::create(1, context); }) == CLS_ERROR_INVALID_HANDLE);
    EXPECT(thrown_by([&] { event.record(stream_now); }) == CLS_ERROR_INVALID_HANDLE);
    EXPECT(!stream && !cls::stream_ref(stream) && stream_now && !stream.release());
    EXPECT(x.size() == 0 && x_now.size() == 4 && cls_array(x).count == 0);
    EXPECT(pinned.size() == 0 && pinned.begin() == pinned.end() && pinned_now.size() == 4);
    const cls::stream nothing, nothing_given(nullptr);
    EXPECT(thrown_by([&] { nothing.synchronize(); }) == CLS_ERROR_INVALID_HANDLE);
    EXPECT(thrown_by([&] { nothing_given.synchronize(); }) == CLS_ERROR_INVALID_HANDLE);
    EXPECT(!stream_now.query());
    gate.signal(1);
    stream_now.synchronize();
    cls::stream_ref().synchronize();
}

/* Errors that the header finds itself say nothing of an earlier one. */
static void test_own_details() {
    EXPECT(thrown_by([] { cls::program::from_source("no program"); }) == CLS_ERROR_BUILD_FAILED);
    const auto text = [](auto call) {
        try {
            call();
        } catch (const cls::error &error) {
            EXPECT(error.code() == 0);
            return std::string(error.what());
        }
        return std::string("nothing");
    };
    EXPECT(text([] { cls::array<float>::create(SIZE_MAX / 2); }) ==
           "CLS_ERROR_OUT_OF_RANGE: the size in bytes overflows");
    EXPECT(thrown_by([] { cls::program::from_source("no program"); }) == CLS_ERROR_BUILD_FAILED);
    EXPECT(text([] { cls::pinned<float>::create(SIZE_MAX / 2); }) ==
           "CLS_ERROR_OUT_OF_RANGE: the size in bytes overflows");
    EXPECT(thrown_by([] { cls::program::from_source("no program"); }) == CLS_ERROR_BUILD_FAILED);
    const auto gate = cls::timeline::create();
    const auto stream = cls::stream::create();
    const auto cells = cls::array<std::uint32_t>::create(4);
    stream.write_value(cells, 4, std::uint32_t{7});
    stream.write_value(cells, 8, std::uint64_t{9});
    std::uint32_t host[4] = {};
    cells.download(host, stream);
    EXPECT(host[1] == 7 && host[2] == 9 && host[3] == 0);
    EXPECT(thrown_by([&] { stream.wait_value(cells, 4, std::uint32_t{7}); }) ==
           CLS_ERROR_UNSUPPORTED);
    const auto start = cls::event::create_timed(), end = cls::event::create_timed();
    stream.wait_timeline(gate, 1);
    start.record(stream);
    end.record(stream);
    EXPECT(text([&] { cls::elapsed(start, end); }) == "CLS_NOT_READY: the work is pending");
    gate.signal(1);
}

static void test_errors() {
    const auto small = cls::array<float>::create(4);
    const std::vector<float> many(5);
    try {
        small.upload(many);
        EXPECT(false);
    } catch (const cls::error &error) {
        EXPECT(error.status() == CLS_ERROR_OUT_OF_RANGE);
        EXPECT(std::strstr(error.what(), "CLS_ERROR_OUT_OF_RANGE: ") == error.what());
        EXPECT(error.detail()[0] && std::strstr(error.what(), error.detail()) == error.detail());
    }
    EXPECT(thrown_by([] { cls::program::from_source("no program"); }) == CLS_ERROR_BUILD_FAILED);
    EXPECT(thrown_by([] { cls::array<float>::create(SIZE_MAX); }) == CLS_ERROR_OUT_OF_RANGE);
    EXPECT(thrown_by([] { cls::pinned<double>::create(SIZE_MAX / 4); }) == CLS_ERROR_OUT_OF_RANGE);
}

static void test_arrays() {
    const auto stream = cls::stream::create();
    std::vector<float> host{1, 4, 9, 16};
    std::array<float, 2> part{};
    const auto x = cls::array<float>::from_host(host);
    EXPECT(x.size() == 4 && cls::buffer_ref(x).size() == 16);
    EXPECT(cls::buffer_ref(x).info().bytes == 16);
    cls::check(cls_sqrt_f32_async(x, x, stream.get()));
    x.download_async(part, stream, 2);
    x.download_async(host, stream);
    stream.synchronize();
    EXPECT(part[0] == 3 && part[1] == 4 && host[0] == 1 && host[3] == 4);
    x.fill_async(7, stream);
    x.upload_async(part, stream, 1);
    x.download(host, stream);
    EXPECT(host[0] == 7 && host[1] == 3 && host[2] == 4 && host[3] == 7);
#if __cplusplus >= 202002L
    x.download(std::span(host).first(1), stream);
    EXPECT(host[0] == 7);
#endif
    const auto pinned = cls::pinned<float>::create(4);
    x.download_async(pinned, stream);
    stream.synchronize();
    EXPECT(pinned[1] == 3 && pinned.end() - pinned.begin() == 4);
    alignas(4096) static char page[4096];
    try {
        auto registered = cls::registered::create(page, sizeof page);
        EXPECT(registered.get() == page);
        EXPECT(thrown_by([&] { cls::registered::create(page, 1); }) == CLS_ERROR_INVALID_STATE);
        registered.unregister();
        EXPECT(!registered.get());
        EXPECT(thrown_by([&] { registered.unregister(); }) == CLS_ERROR_INVALID_VALUE);
        const auto again = cls::registered::create(page, sizeof page);
    } catch (const cls::error &refused) { EXPECT(refused.status() == CLS_ERROR_UNSUPPORTED); }
    auto memory = stream.malloc_async(64);
    EXPECT(memory.size() == 64);
    const cls_buffer was = memory.get();
    stream.free_async(std::move(memory));
    EXPECT(!memory &&
           thrown_by([&] { (void)cls::buffer_ref(was).size(); }) == CLS_ERROR_INVALID_HANDLE);
}

/* Bytes that do not fit a size_t are out of range, as offsets and as sizes. */
static void test_ranges() {
    std::vector<float> host(8), two{1, 2};
    const auto x = cls::array<float>::from_host(host), y = cls::array<float>::create(8);
    constexpr std::size_t far = (SIZE_MAX / 4) + 7;
    const cls::span<float> vast(host.data(), far);
    const auto out_of_range = [](auto call) { return thrown_by(call) == CLS_ERROR_OUT_OF_RANGE; };
    EXPECT(out_of_range([&] { x.upload(two, {}, far); }));
    EXPECT(out_of_range([&] { x.upload_async(two, {}, far); }));
    EXPECT(out_of_range([&] { x.download(two, {}, far); }));
    EXPECT(out_of_range([&] { x.download_async(two, {}, far); }));
    EXPECT(out_of_range([&] { x.upload(vast); }));
    EXPECT(out_of_range([&] { x.download(vast); }));
    EXPECT(out_of_range([&] { x.copy_from(y, {}, far); }));
    EXPECT(out_of_range([&] { x.copy_from(y, far, 1); }));
    EXPECT(out_of_range([&] { x.copy_from(y, 0, far); }));
    EXPECT(vast.bytes() == SIZE_MAX);
    EXPECT(thrown_by([&] { cls::array<float>::from_host(vast); }) != CLS_SUCCESS);
    x.download(host);
    for (const float value : host)
        EXPECT(value == 0);
}

static void test_copies() {
    const auto stream = cls::stream::create();
    std::vector<float> host{1, 2, 3, 4};
    const auto x = cls::array<float>::from_host(host), y = cls::array<float>::create(6);
    y.fill_async(0, stream);
    y.copy_from_async(x, stream, 1);
    y.copy_from_async(x, 2, 1, stream, 5);
    host.resize(6);
    y.download(host, stream);
    EXPECT((host == std::vector<float>{0, 1, 2, 3, 4, 3}));
    y.copy_from(x);
    y.copy_from(x, 0, 1, stream, 5);
    y.download(host, stream);
    EXPECT((host == std::vector<float>{1, 2, 3, 4, 4, 1}));
    EXPECT(thrown_by([&] { x.copy_from(y, stream); }) == CLS_ERROR_OUT_OF_RANGE);
}

static void test_maps() {
    const auto stream = cls::stream::create();
    const auto buffer = cls::buffer::create(64);
    auto *at = static_cast<unsigned char *>(buffer.map(CLS_MAP_WRITE_INVALIDATE, 8, 4, stream));
    at[3] = 33;
    buffer.unmap_async(at, stream);
    const auto *read =
        static_cast<const unsigned char *>(buffer.map_async(CLS_MAP_READ, 11, 1, stream));
    stream.synchronize();
    EXPECT(*read == 33);
    buffer.unmap(read, stream);
    EXPECT(thrown_by([&] { buffer.unmap(read, stream); }) == CLS_ERROR_INVALID_VALUE);
}

/* A device without images of this format has nothing to show. */
static void test_images() {
    const cls_image_shape shape = {
        CLS_IMAGE_2D, {CLS_CHANNELS_R, CLS_CHANNEL_U32}, CLS_ACCESS_UNKNOWN, 2, 2, 1};
    const auto stream = cls::stream::create();
    int has = 0;
    cls::check(cls_image_format_supported(nullptr, shape.kind, shape.access, shape.format, &has));
    if (!has)
        return;
    const auto from = cls::image::create(shape), to = cls::image::create(shape);
    const std::vector<unsigned> texels{1, 2, 3, 4};
    std::vector<unsigned> read(4);
    const std::string source =
        "kernel void more(read_only image2d_t f, sampler_t s, write_only image2d_t t, uint n) {"
        " const int2 at = (int2)(get_global_id(0), get_global_id(1));"
        " write_imageui(t, at, read_imageui(f, s, at) + n); }";
    const auto kernel = cls::program::from_source(source, "more.cl").create_kernel("more");
    const auto memory = cls::buffer::create(16);
    EXPECT(thrown_by([&] { cls::image::over(memory, shape, 7); }) == CLS_ERROR_INVALID_VALUE);
    from.upload_async(texels.data(), stream);
    kernel.launch_async(cls_launch_2d(2, 2), stream, from,
                        cls_arg_sampler(0, CLS_ADDRESS_CLAMP_TO_EDGE, CLS_FILTER_NEAREST), to, 5u);
    to.download(read.data(), stream);
    for (std::size_t i = 0; i < 4; i++)
        EXPECT(read[i] == texels[i] + 5);
    EXPECT(to.shape().width == 2);
}

static void test_graphs() {
    const auto stream = cls::stream::create();
    std::vector<float> host{1, 2, 3};
    const auto x = cls::array<float>::from_host(host);
    const std::string name = "twice", source = "kernel void twice(global float *x)"
                                               "{ x[get_global_id(0)] *= 2; }";
    const auto bytes = cls::program::from_source(source, name + ".cl").binary();
    const auto kernel = cls::program::from_binary(bytes.data(), bytes.size()).create_kernel(name);
    cls::check(cls_stream_begin_capture(stream.get(), "twice"));
    kernel.launch_async(cls_launch_1d(3), stream, x);
    const auto graph = cls::make<cls_stream_end_capture>(stream.get());
    const auto exec = cls::make<cls_graph_instantiate>(graph.get(), nullptr);
    static_assert(std::is_same<decltype(graph), const cls::graph>::value &&
                      std::is_same<decltype(exec), const cls::graph_exec>::value,
                  "");
    cls::check(cls_graph_launch(exec.get(), stream.get()));
    cls::check(cls_graph_launch(exec.get(), stream.get()));
    x.download(host, stream);
    EXPECT((host == std::vector<float>{4, 8, 12}));
}

struct pair {
    float scale;
    int add;
    double unused[2];
};

static void test_kernels() {
    constexpr char source[] =
        "typedef struct { float scale; int add; double unused[2]; } pair;\n"
        "kernel void f(global float *x, float a, int b, pair p, local float *s) {\n"
        "    size_t i = get_global_id(0);\n"
        "    s[0] = a; x[i] = x[i] * s[0] + b + p.scale * p.add;\n"
        "}\n";
    const auto stream = cls::stream::create();
    std::vector<float> host{1, 2, 3};
    const auto x = cls::array<float>::from_host(host);
    cls::kernel kernel;
    try {
        kernel = cls::program::from_source(source).create_kernel("f");
    } catch (const cls::error &) { /* a device without double */
        return;
    }
    cls_launch shape = cls_launch_1d(3);
    shape.local[0] = 1;
    const pair both = {2, 5, {}};
    kernel.launch_async(shape, stream, x, 10.0f, 1, both, cls_arg_local(4));
    kernel.launch(shape, stream, cls::buffer_ref(x), 1.0f, 0, pair{}, cls_arg_local(4));
    kernel.launch(shape, stream, cls_arg_updates(x.get(), 0, 12), 1.0f, 0, pair{},
                  cls_arg_local(4));
    kernel.launch(shape, stream, x.get(), 1.0f, 0, pair{}, cls_arg_local(4));
    x.download(host, stream);
    EXPECT(host[0] == 21 && host[1] == 31 && host[2] == 41);
    EXPECT(cls::device_info(0).opencl_version >= 120 && !cls::device_has_extension(0, "cl_khr"));
    EXPECT(kernel.info().arguments == 5);
    EXPECT(kernel.suggest_local(shape)[0] == 1);
    EXPECT(thrown_by([&] { kernel.arg_info(5); }) == CLS_ERROR_OUT_OF_RANGE);
    shape.global[0] = shape.offset[0] = 1;
    kernel.launch(shape, stream, x, 100.0f, 1, both, cls_arg_local(4));
    x.download(host, stream);
    EXPECT(host[0] == 21 && host[1] == 3111 && host[2] == 41);
    EXPECT(thrown_by([&] { kernel.launch(shape, stream, x); }) == CLS_ERROR_INVALID_VALUE);
}

static void test_waits() {
    const auto stream = cls::stream::create(), other = cls::stream::create();
    const auto timeline = cls::timeline::create();
    const auto event = cls::event::create();
    stream.wait_timeline(timeline, 1);
    int order = 0;
    stream.launch_host_async([&] { order = 1; });
    event.record(stream);
    other.wait_event(event);
    other.launch_host_async([&] { order *= 2; });
    other.signal_timeline(timeline, 2);
    EXPECT(!stream.query() && !event.query() && !timeline.query(1));
    EXPECT(!stream.wait_for(1ms) && !event.wait_for(std::chrono::duration<double>(1e-4)));
    EXPECT(!timeline.wait_for(1, -1s) && !timeline.wait_for(1, 0ns));
    timeline.signal(1);
    EXPECT(timeline.wait_for(2, std::chrono::hours::max()));
    other.synchronize();
    EXPECT(order == 2 && stream.query() && event.query() && timeline.query(2));
    const auto start = cls::event::create_timed(), end = cls::event::create_timed();
    start.record(stream);
    end.record(stream);
    stream.synchronize();
    EXPECT(cls::elapsed(start, end) >= 0ms && cls::elapsed(start, end) < 1h);
    EXPECT(thrown_by([&] { cls::elapsed(event, end); }) == CLS_ERROR_NOT_TIMED);
    const cls::context_ref standard;
    EXPECT(standard.default_stream().query());
    standard.synchronize();
    EXPECT(!standard.explain().empty());
}

static void test_host_functions() {
    const auto stream = cls::stream::create();
    auto alive = std::make_shared<int>(0);
    auto only = std::make_unique<int>(3);
    stream.launch_host_async([alive, only = std::move(only)] { *alive = *only; });
    cls_status seen = CLS_NOT_READY;
    stream.add_callback([alive, &seen](cls_status status) { seen = status; });
    stream.synchronize();
    EXPECT(*alive == 3 && seen == CLS_SUCCESS && alive.use_count() == 1);

    stream.launch_host_async([] { throw std::runtime_error("the disk is full"); });
    bool ran = false;
    stream.launch_host_async([alive, &ran] { ran = true; });
    stream.add_callback([alive, &seen](cls_status status) { seen = status; });
    try {
        stream.synchronize();
        EXPECT(false);
    } catch (const cls::error &error) {
        EXPECT(error.status() == CLS_ERROR_COMMAND_FAILED);
        EXPECT(std::strstr(error.what(), "the disk is full"));
    }
    EXPECT(!ran && seen == CLS_ERROR_COMMAND_FAILED && alive.use_count() == 1);
    stream.launch_host_async([alive, &ran] { ran = true; });
    EXPECT(thrown_by([&] { stream.synchronize(); }) == CLS_ERROR_COMMAND_FAILED);
    EXPECT(!ran && alive.use_count() == 1);
    stream.reset();
    stream.add_callback([](cls_status) { throw 5; });
    EXPECT(thrown_by([&] { stream.synchronize(); }) == CLS_ERROR_COMMAND_FAILED);
    stream.reset();
    cls_status inside = CLS_SUCCESS;
    stream.launch_host_async([&] { inside = thrown_by([&] { stream.synchronize(); }); });
    stream.synchronize();
    EXPECT(inside == CLS_ERROR_WOULD_DEADLOCK);
}

static void test_random() {
    const auto stream = cls::stream::create();
    const auto random = cls::random::create(0);
    const auto words = cls::array<std::uint32_t>::create(4);
    const auto reals = cls::array<float>::create(1000);
    const auto mask = cls::array<std::uint8_t>::create(1000);
    std::vector<std::uint32_t> got(4);
    std::vector<float> x(1000);
    random.integers_async(words, 0, stream);
    words.download(got, stream);
    EXPECT(got[0] == 0x6627e8d5 && got[3] == 0x9b00dbd8);
    EXPECT(random.state(stream).offset == 1);
    random.uniform_async(reals, 2, 3, stream);
    random.dropout_async(reals, mask, reals, 0.5, stream);
    reals.download(x, stream);
    for (const float value : x)
        EXPECT(value == 0 || (value >= 4 && value <= 6));
    random.set_state_async({0, 0, 0}, stream);
    random.bernoulli_async(mask, 0.5, stream);
    random.normal(reals, 0, 1, stream);
    EXPECT(random.state(stream).offset == 500);
    EXPECT(thrown_by([&] { random.normal(words, 0, 1, stream); }) == CLS_ERROR_TYPE_MISMATCH);
    EXPECT(cls::make<cls_random_create>(nullptr, std::uint64_t{1}).state(stream).seed == 1);
}

static void test_optimizer() {
    const auto stream = cls::stream::create();
    const std::vector<float> ones(4, 1);
    std::vector<float> got(4);
    const auto weights = cls::array<float>::from_host(ones),
               gradient = cls::array<float>::from_host(ones);
    const cls_array parameters[] = {weights}, gradients[] = {gradient};
    cls_optimizer_config config = CLS_OPTIMIZER_CONFIG_INIT;
    config.kind = CLS_SGD;
    config.rate = 0.25;
    const auto optimizer =
        cls::make<cls_optimizer_create>(nullptr, &config, parameters, std::size_t{1});
    cls::check(cls_optimizer_step_async(optimizer.get(), gradients, 1, stream.get()));
    weights.download(got, stream);
    EXPECT(got == std::vector<float>(4, 0.75f));
}

int main() try {
    test_owners();
    test_moved();
    test_own_details();
    test_errors();
    test_ranges();
    test_arrays();
    test_copies();
    test_maps();
    test_images();
    test_graphs();
    test_kernels();
    test_waits();
    test_host_functions();
    test_random();
    test_optimizer();
    return failures ? 1 : 0;
} catch (const std::exception &error) {
    std::printf("thrown: %s\n", error.what());
    return 1;
}
