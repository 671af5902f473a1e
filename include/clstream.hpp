/* SPDX-License-Identifier: MIT */
/**
 * @file clstream.hpp
 * clStream for C++17: owners, exceptions, spans, lambdas. Header only, over the C functions of
 * clstream.h, which it includes.
 *
 *     auto stream = cls::stream::create();
 *     auto x = cls::array<float>::create(n);
 *     x.upload_async(host, stream);
 *     cls::check(cls_sqr_f32_async(x, x, stream.get()));
 *     x.download_async(host, stream);
 *     stream.synchronize();
 *
 * **Owners and references.** `cls::stream` owns a `cls_stream`: it is move-only and destroys the
 * handle. `cls::stream_ref` is a plain copy of a handle with the same member functions; an owner
 * converts to it, and so does a C handle. Parameters are references. A default-constructed
 * reference stands for what NULL means to the C function: the default stream, the default context.
 * An owner without a handle (default-constructed, moved from, or of a call that failed) never does:
 * its calls return CLS_ERROR_INVALID_HANDLE, and it is false.
 * context, stream, event, buffer, image, program, kernel, timeline and random have member functions; all other
 * handles of clstream.h are owned too (`cls::batch`, `cls::graph`, `cls::pool` ...), are made by
 * `cls::make`, and are passed to the C functions by `get()`:
 *
 *     auto pool = cls::make<cls_pool_create>(context.get(), nullptr);
 *     cls::check(cls_pool_get(pool.get(), &stream));
 *
 *     cls::check(cls_stream_begin_capture(stream.get(), "step"));
 *     kernel.launch_async(cls_launch_1d(n), stream, x);
 *     auto graph = cls::make<cls_stream_end_capture>(stream.get());
 *     auto exec = cls::make<cls_graph_instantiate>(graph.get(), nullptr);
 *     cls::check(cls_graph_launch(exec.get(), stream.get()));
 *
 * The header makes some errors itself, such as a size that overflows; they have a detail too.
 *
 * **Errors.** A call that fails throws cls::error. If exceptions are off, or CLS_NO_EXCEPTIONS is
 * defined before the header is included, it returns its status instead: `cls::result<T>` is then a
 * class with status() and the value, and T itself otherwise. Destructors ignore errors.
 *
 * **Threads.** As for the C functions. An owner itself, like std::unique_ptr, may not be changed by
 * one thread while another uses it.
 */
#ifndef CLSTREAM_HPP
#define CLSTREAM_HPP

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <clstream.h>

#if defined(__STDCPP_FLOAT16_T__) || defined(__STDCPP_BFLOAT16_T__)
#include <stdfloat>
#endif

#if !defined(__cpp_exceptions) && !defined(CLS_NO_EXCEPTIONS)
#define CLS_NO_EXCEPTIONS /**< results are statuses: see the top */
#endif
#ifndef CLS_NO_EXCEPTIONS
#include <stdexcept>
#endif

namespace cls {

#ifdef CLS_NO_EXCEPTIONS

inline namespace statuses {

/** The value of a call, or the status that says why there is none. */
template <class T> class [[nodiscard]] result {
  public:
    result(cls_status status, T &&value) : status_(status), value_(std::move(value)) {}
    /** CLS_SUCCESS if there is a value. */
    cls_status status() const { return status_; }
    explicit operator bool() const { return !status_; }
    T &operator*() { return value_; }
    const T &operator*() const { return value_; }
    T *operator->() { return &value_; }
    const T *operator->() const { return &value_; }

  private:
    cls_status status_;
    T value_;
};

/** The status of a call without a value. */
template <> class [[nodiscard]] result<void> {
  public:
    result(cls_status status) : status_(status) {}
    cls_status status() const { return status_; }
    explicit operator bool() const { return !status_; }

  private:
    cls_status status_;
};

/** Passes on the status of a C function. */
inline result<void> check(cls_status status) { return status; }

namespace detail {
template <class T> result<T> finish(cls_status status, T value) {
    return {status, std::move(value)};
}
} // namespace detail

#else

inline namespace exceptions {

/** A call that failed, with the thread's error detail at that time (status.h). */
class error : public std::runtime_error {
  public:
    explicit error(cls_status status)
        : runtime_error(std::string(cls_status_string(status)) + ": " + text_of(status)),
          status_(status), code_(status < 0 ? cls_last_error_code() : 0) {}
    cls_status status() const { return status_; }
    /** The driver's error code, or 0. */
    int code() const { return code_; }
    /** What what() says behind the name of the status. */
    const char *detail() const {
        return what() + std::char_traits<char>::length(cls_status_string(status_)) + 2;
    }

  private:
    /* A call that is "not yet" done leaves the detail of an earlier failure. */
    static const char *text_of(cls_status status) {
        return status < 0 ? cls_last_error_detail() : "the work is pending";
    }
    cls_status status_;
    int code_;
};

template <class T> using result = T;

/** Throws cls::error unless the status of a C function is CLS_SUCCESS. */
inline void check(cls_status status) {
    if (status)
        throw error(status);
}

namespace detail {
template <class T> T finish(cls_status status, T value) {
    check(status);
    return value;
}
} // namespace detail

#endif

namespace detail {

/** Bytes of `count` elements; SIZE_MAX, which is in no buffer, where they do not fit. */
template <class T> constexpr std::size_t bytes_of(std::size_t count) {
    return count > SIZE_MAX / sizeof(T) ? SIZE_MAX : count * sizeof(T);
}

/** A failure that the header finds itself. */
inline cls_status fail(cls_status status, const char *text) {
    cls_set_last_error(text);
    return status;
}

inline cls_status fail_size() {
    return fail(CLS_ERROR_OUT_OF_RANGE, "the size in bytes overflows");
}

} // namespace detail

/**
 * Contiguous host memory, by pointer and count. Made from an lvalue with data() and size(), such as
 * std::vector and std::array, from an array, or from a std::span.
 */
template <class T> class span {
  public:
    span(T *data, std::size_t size) : data_(data), size_(size) {}
    template <std::size_t N> span(T (&array)[N]) : data_(array), size_(N) {}
    /* A temporary is taken only if it does not own its memory, as far as that can be told. */
    template <class C, class D = std::remove_reference_t<C>,
              class = decltype(static_cast<T *>(std::declval<D &>().data())),
              class = std::enable_if_t<std::is_lvalue_reference<C>::value ||
                                       std::is_trivially_copyable<D>::value>>
    span(C &&container) : data_(container.data()), size_(container.size()) {}
    T *data() const { return data_; }
    std::size_t size() const { return size_; }
    std::size_t bytes() const { return detail::bytes_of<T>(size_); }
    T *begin() const { return data_; }
    T *end() const { return data_ + size_; }
    T &operator[](std::size_t i) const { return data_[i]; }

  private:
    T *data_;
    std::size_t size_;
};

namespace detail {

/** Nanoseconds of a timeout: at least 0, and CLS_FOREVER where they do not fit. */
template <class Rep, class Period>
std::uint64_t nanoseconds(std::chrono::duration<Rep, Period> timeout) {
    using exact = std::chrono::duration<long double, std::nano>;
    const long double count = exact(timeout).count();
    if (!(count > 0))
        return 0;
    return count < 18446744073709551615.0L ? static_cast<std::uint64_t>(count) : CLS_FOREVER;
}

/** A query: whether it is done. */
inline result<bool> done_unless(cls_status pending, cls_status status) {
    return finish(status == pending ? CLS_SUCCESS : status, status != pending);
}

template <class> struct last_parameter;
template <class... P> struct last_parameter<cls_status (*)(P...)> {
    using type = std::tuple_element_t<sizeof...(P) - 1, std::tuple<P...>>;
};

} // namespace detail

/** A text for a C function: a literal, or what has c_str(), such as std::string. */
class c_string {
  public:
    constexpr c_string(const char *text = nullptr) : text_(text) {}
    template <class S, class = std::enable_if_t<std::is_convertible<
                           decltype(std::declval<const S &>().c_str()), const char *>::value>>
    c_string(const S &text) : text_(text.c_str()) {}
    constexpr const char *get() const { return text_; }

  private:
    const char *text_;
};

/** A copy of a handle; it owns nothing. */
template <class Handle> class ref {
  public:
    using handle_type = Handle;
    constexpr ref(Handle handle = nullptr) : handle_(handle) {}
    constexpr Handle get() const { return handle_; }
    explicit operator bool() const { return handle_ && handle_ != none(); }

  protected:
    /** What an owner without a handle has: no handle of the library, and not NULL, which stands for a default. */
    static Handle none() { return reinterpret_cast<Handle>(std::uintptr_t{2}); }
    Handle handle_;
};

/** How a handle is destroyed; specialised below for each type of handle. */
template <class Handle> struct destroyer;

/**
 * The owner of a handle, with the member functions of `Ref`. Move-only. Assigning an empty one (`stream = {}`)
 * destroys the handle early. get() of an empty one is a value that the C functions refuse.
 */
template <class Ref> class [[nodiscard]] owner : public Ref {
  public:
    using handle_type = typename Ref::handle_type;
    owner() : Ref(Ref::none()) {}
    /** Takes a handle over; NULL is none. */
    explicit owner(handle_type handle) : Ref(handle ? handle : Ref::none()) {}
    owner(owner &&other) noexcept : Ref(other.take()) {}
    owner &operator=(owner &&other) noexcept {
        destroy(std::exchange(this->handle_, other.take()));
        return *this;
    }
    ~owner() { destroy(this->handle_); }
    /** Gives the handle to the caller, who destroys it; NULL if there is none. */
    handle_type release() {
        const handle_type handle = take();
        return handle == Ref::none() ? nullptr : handle;
    }

  private:
    handle_type take() { return std::exchange(this->handle_, Ref::none()); }
    static void destroy(handle_type handle) {
        if (handle != Ref::none())
            destroyer<handle_type>::destroy(handle);
    }
};

namespace detail {
/** Finishes a C function that made a handle. */
template <class Owner> result<Owner> own(cls_status status, typename Owner::handle_type handle) {
    return finish(status, Owner(status ? nullptr : handle));
}
} // namespace detail

/** Declares how `handle` is destroyed. */
#define CLS_HPP_DESTROYER(handle)                                              \
    template <> struct destroyer<handle> {                                     \
        static void destroy(handle object) { (void)handle##_destroy(object); } \
    }

CLS_HPP_DESTROYER(cls_context);
CLS_HPP_DESTROYER(cls_stream);
CLS_HPP_DESTROYER(cls_event);
CLS_HPP_DESTROYER(cls_buffer);
CLS_HPP_DESTROYER(cls_image);
CLS_HPP_DESTROYER(cls_program);
CLS_HPP_DESTROYER(cls_kernel);
CLS_HPP_DESTROYER(cls_timeline);
CLS_HPP_DESTROYER(cls_random);

/** The owner of a handle that has no member functions here. */
#define CLS_HPP_OWNER(name)        \
    CLS_HPP_DESTROYER(cls_##name); \
    using name = owner<ref<cls_##name>>

CLS_HPP_OWNER(async_coordinator);
CLS_HPP_OWNER(batch);
CLS_HPP_OWNER(coordinator);
CLS_HPP_OWNER(device_group);
CLS_HPP_OWNER(fft_plan);
CLS_HPP_OWNER(graph);
CLS_HPP_OWNER(graph_exec);
CLS_HPP_OWNER(managed_context);
CLS_HPP_OWNER(mempool);
CLS_HPP_OWNER(optimizer);
CLS_HPP_OWNER(pipeline);
CLS_HPP_OWNER(pool);
CLS_HPP_OWNER(prefetcher);
CLS_HPP_OWNER(profile);
CLS_HPP_OWNER(profiler);
CLS_HPP_OWNER(task_graph);
CLS_HPP_OWNER(triple_buffer);

#undef CLS_HPP_OWNER
#undef CLS_HPP_DESTROYER

class stream_ref;

/** What a device is and has, before there is a context. */
inline result<cls_device_info> device_info(std::size_t index) {
    cls_device_info info = CLS_DEVICE_INFO_INIT;
    const cls_status status = cls_device_get_info(index, &info);
    return detail::finish(status, info);
}
/** Whether a device has an extension, such as "cl_khr_fp16". */
inline result<bool> device_has_extension(std::size_t index, c_string name) {
    int has = 0;
    const cls_status status = cls_device_has_extension(index, name.get(), &has);
    return detail::finish(status, has != 0);
}

class context_ref : public ref<cls_context> {
  public:
    using ref::ref;
    /** The context's default stream, which it owns. */
    result<stream_ref> default_stream() const;
    /** Waits for all work submitted to the context's streams so far. */
    result<void> synchronize() const { return check(cls_context_synchronize(get())); }
    /** What the streams are doing and wait for, as text. */
    result<std::string> explain() const {
        std::string text;
        std::size_t length = 0;
        cls_status status = cls_context_explain(get(), nullptr, 0, &length);
        /* The work goes on between two calls, and its text grows. */
        while (!status && length > text.size()) {
            text.resize(length);
            status = cls_context_explain(get(), &text[0], length + 1, &length);
        }
        text.resize(length < text.size() ? length : text.size());
        return detail::finish(status, std::move(text));
    }
    /** Whether and how fast `other` can open shareable buffers of this context (share.h). */
    result<cls_share_info> can_share(context_ref other) const {
        cls_share_info info = CLS_SHARE_INFO_INIT;
        const cls_status status = cls_context_can_share(get(), other.get(), &info);
        return detail::finish(status, info);
    }
};

class context : public owner<context_ref> {
  public:
    using owner::owner;
    /** Creates a context; `device` as in cls_device_find. */
    static result<context> create(c_string device = {}) {
        cls_context_config config = CLS_CONTEXT_CONFIG_INIT;
        cls_context handle = nullptr;
        config.device = device.get();
        const cls_status status = cls_context_create(&config, &handle);
        return detail::own<context>(status, handle);
    }
};

class buffer_ref : public ref<cls_buffer> {
  public:
    using ref::ref;
    /** The address at which kernels see the first byte: address.h. */
    result<std::uint64_t> address() const {
        std::uint64_t address = 0;
        const cls_status status = cls_buffer_get_address(get(), &address);
        return detail::finish(status, address);
    }
    /** Size in bytes. */
    result<std::size_t> size() const {
        std::size_t bytes = 0;
        const cls_status status = cls_buffer_get_size(get(), &bytes);
        return detail::finish(status, bytes);
    }
    /** Where its memory comes from, the host's pointer to it, and who may use it. */
    result<cls_buffer_info> info() const {
        cls_buffer_info info = CLS_BUFFER_INFO_INIT;
        const cls_status status = cls_buffer_get_info(get(), &info);
        return detail::finish(status, info);
    }
    /** A pointer to its first byte (pointer.h): for memcpy_async, memset_async and cls_arg_pointer, and to be calculated
     * with. It lives as long as the buffer. */
    template <class T = void> result<T *> pointer() const {
        void *first = nullptr;
        const cls_status status = cls_buffer_get_pointer(get(), &first);
        return detail::finish(status, static_cast<T *>(first));
    }
    /** Gets a file descriptor of a shareable buffer's memory, for buffer::import_fd in another
     * process (share.h). The caller closes it. */
    result<int> export_fd() const {
        int fd = -1;
        const cls_status status = cls_buffer_export(get(), &fd);
        return detail::finish(status, fd);
    }
    /** Maps bytes for the host, in the order of a stream, after which the pointer may be used. */
    result<void *> map_async(cls_map_access access, std::size_t offset, std::size_t bytes,
                             stream_ref stream) const;
    /** Like map_async, and waits for the map. */
    result<void *> map(cls_map_access access, std::size_t offset, std::size_t bytes,
                       stream_ref stream) const;
    /** Ends a map: later commands of the stream see what the host has written. */
    result<void> unmap_async(const void *pointer, stream_ref stream) const;
    /** Like unmap_async, and waits for the unmap. */
    result<void> unmap(const void *pointer, stream_ref stream) const;
};

class buffer : public owner<buffer_ref> {
  public:
    using owner::owner;
    /** Allocates device memory with undefined contents. */
    static result<buffer> create(std::size_t bytes, context_ref context = {}) {
        cls_buffer handle = nullptr;
        const cls_status status = cls_buffer_create(context.get(), bytes, &handle);
        return detail::own<buffer>(status, handle);
    }
    /** Allocates device memory that other contexts can open (share.h). */
    static result<buffer> create_shareable(std::size_t bytes, context_ref context = {}) {
        cls_buffer handle = nullptr;
        const cls_status status = cls_buffer_create_shareable(context.get(), bytes, &handle);
        return detail::own<buffer>(status, handle);
    }
    /** Opens a shareable buffer in another context: a handle for the same bytes. */
    static result<buffer> open(buffer_ref shareable, context_ref context = {}) {
        cls_buffer handle = nullptr;
        const cls_status status = cls_buffer_open(context.get(), shareable.get(), &handle);
        return detail::own<buffer>(status, handle);
    }
    /** Opens the memory of another process's buffer of `bytes` bytes. The descriptor stays the
     * caller's. */
    static result<buffer> import_fd(int fd, std::size_t bytes, context_ref context = {}) {
        cls_buffer handle = nullptr;
        const cls_status status = cls_buffer_import(context.get(), fd, bytes, &handle);
        return detail::own<buffer>(status, handle);
    }
};

class image_ref : public ref<cls_image> {
  public:
    using ref::ref;
    /** What it is: kind, format and extents. */
    result<cls_image_shape> shape() const {
        cls_image_shape shape = {};
        const cls_status status = cls_image_get_shape(get(), &shape);
        return detail::finish(status, shape);
    }
    /** Copies texels of host memory to the image; a null box is all of it. */
    result<void> upload_async(const void *from, stream_ref stream,
                              const cls_image_box *box = nullptr) const;
    /** Like upload_async, and waits for the copy. */
    result<void> upload(const void *from, stream_ref stream,
                        const cls_image_box *box = nullptr) const;
    /** Copies texels of the image to host memory; a null box is all of it. */
    result<void> download_async(void *to, stream_ref stream,
                                const cls_image_box *box = nullptr) const;
    /** Like download_async, and waits for the copy. */
    result<void> download(void *to, stream_ref stream, const cls_image_box *box = nullptr) const;
};

class image : public owner<image_ref> {
  public:
    using owner::owner;
    /** Makes an image with undefined contents. */
    static result<image> create(const cls_image_shape &shape, context_ref context = {}) {
        cls_image handle = nullptr;
        const cls_status status = cls_image_create(context.get(), &shape, &handle);
        return detail::own<image>(status, handle);
    }
    /** Makes an image of a buffer's memory, its rows `pitch` bytes apart; 0: without a gap. */
    static result<image> over(buffer_ref memory, const cls_image_shape &shape,
                              std::size_t pitch = 0) {
        cls_image handle = nullptr;
        const cls_status status = cls_image_over_pitched(memory.get(), &shape, pitch, &handle);
        return detail::own<image>(status, handle);
    }
};

class event_ref : public ref<cls_event> {
  public:
    using ref::ref;
    /** Makes the event stand for the work submitted to `stream` so far. */
    result<void> record(stream_ref stream) const;
    /** Whether the recorded work is done. */
    result<bool> query() const {
        return detail::done_unless(CLS_NOT_READY, cls_event_query(get()));
    }
    result<void> synchronize() const { return check(cls_event_synchronize(get())); }
    /** Waits for the recorded work; false: the timeout came first. */
    template <class Rep, class Period>
    result<bool> wait_for(std::chrono::duration<Rep, Period> timeout) const {
        return detail::done_unless(CLS_ERROR_TIMEOUT,
                                   cls_event_wait(get(), detail::nanoseconds(timeout)));
    }
    /** Gets a file descriptor of a shareable event, for event::import_fd in another process. The
     * caller closes it. */
    result<int> export_fd() const {
        int fd = -1;
        const cls_status status = cls_event_export(get(), &fd);
        return detail::finish(status, fd);
    }
};

class event : public owner<event_ref> {
  public:
    using owner::owner;
    static result<event> create(context_ref context = {}) { return make(context, 0, 0); }
    /** Creates an event that takes the time of its records. */
    static result<event> create_timed(context_ref context = {}) { return make(context, 1, 0); }
    /** Creates an event that other processes can open (event.h). */
    static result<event> create_shareable(context_ref context = {}) { return make(context, 0, 1); }
    /** Opens an event of another process. The descriptor stays the caller's. */
    static result<event> import_fd(int fd, context_ref context = {}) {
        cls_event handle = nullptr;
        const cls_status status = cls_event_import(context.get(), fd, &handle);
        return detail::own<event>(status, handle);
    }

  private:
    static result<event> make(context_ref context, int timed, int shareable) {
        cls_event_config config = CLS_EVENT_CONFIG_INIT;
        cls_event handle = nullptr;
        config.timed = timed;
        config.shareable = shareable;
        const cls_status status = cls_event_create(context.get(), &config, &handle);
        return detail::own<event>(status, handle);
    }
};

/** Device time from `start` to `end`; CLS_NOT_READY, while one is pending, is an error here. */
inline result<std::chrono::duration<double, std::milli>> elapsed(event_ref start, event_ref end) {
    double milliseconds = 0;
    const cls_status status = cls_event_elapsed(start.get(), end.get(), &milliseconds);
    return detail::finish(status, std::chrono::duration<double, std::milli>(milliseconds));
}

class timeline_ref : public ref<cls_timeline> {
  public:
    using ref::ref;
    /** Signals from the host. */
    result<void> signal(std::uint64_t value) const {
        return check(cls_timeline_signal(get(), value));
    }
    /** Whether `value` is reached. */
    result<bool> query(std::uint64_t value) const {
        return detail::done_unless(CLS_NOT_READY, cls_timeline_query(get(), value));
    }
    result<void> wait(std::uint64_t value) const {
        return check(cls_timeline_wait(get(), value, CLS_FOREVER));
    }
    /** Waits until `value` is reached; false: the timeout came first. */
    template <class Rep, class Period>
    result<bool> wait_for(std::uint64_t value, std::chrono::duration<Rep, Period> timeout) const {
        return detail::done_unless(CLS_ERROR_TIMEOUT,
                                   cls_timeline_wait(get(), value, detail::nanoseconds(timeout)));
    }
};

class timeline : public owner<timeline_ref> {
  public:
    using owner::owner;
    static result<timeline> create(const cls_timeline_config &config = CLS_TIMELINE_CONFIG_INIT) {
        cls_timeline handle = nullptr;
        const cls_status status = cls_timeline_create(&config, &handle);
        return detail::own<timeline>(status, handle);
    }
};

namespace detail {

/** Runs a host function; what it throws makes it fail, and so poisons its stream. */
template <class F> void run(F &&function) {
#ifdef CLS_NO_EXCEPTIONS
    function();
#else
    try {
        function();
    } catch (const std::exception &thrown) { cls_host_function_fail(thrown.what()); } catch (...) {
        cls_host_function_fail("an exception that is no std::exception");
    }
#endif
}

/** A function object lasts for one call, and launches of a graph would repeat it. */
inline cls_status refuse_captured(cls_stream stream) {
    cls_capture_info capture = CLS_CAPTURE_INFO_INIT;
    const cls_status status = cls_stream_get_capture(stream, &capture);
    if (status || capture.state == CLS_CAPTURE_NONE)
        return status;
    return fail(CLS_ERROR_UNSUPPORTED,
                "a capture holds no function objects: cls_stream_launch_host_async");
}

/** Submits `function`, which takes a cls_status, as a callback that owns it. */
template <class F> cls_status submit(cls_stream stream, F &&function) {
    using closure = std::decay_t<F>;
    if (const cls_status refused = refuse_captured(stream))
        return refused;
    std::unique_ptr<closure> owned(new (std::nothrow) closure(std::forward<F>(function)));
    if (!owned)
        return fail(CLS_ERROR_OUT_OF_MEMORY, "no memory for a function object");
    const auto call = [](cls_stream, cls_status status, void *arg) {
        const std::unique_ptr<closure> mine(static_cast<closure *>(arg));
        run([&] { (*mine)(status); });
    };
    const cls_status status = cls_stream_add_callback(stream, call, owned.get());
    if (!status)
        (void)owned.release();
    return status;
}

} // namespace detail

class stream_ref : public ref<cls_stream> {
  public:
    using ref::ref;
    /** Whether all work submitted so far is done. */
    result<bool> query() const {
        return detail::done_unless(CLS_NOT_READY, cls_stream_query(get()));
    }
    result<void> synchronize() const { return check(cls_stream_synchronize(get())); }
    /** Waits for all work submitted so far; false: the timeout came first. */
    template <class Rep, class Period>
    result<bool> wait_for(std::chrono::duration<Rep, Period> timeout) const {
        return detail::done_unless(CLS_ERROR_TIMEOUT,
                                   cls_stream_wait(get(), detail::nanoseconds(timeout)));
    }
    /** Makes a poisoned stream usable again. */
    result<void> reset() const { return check(cls_stream_reset(get())); }
    /** Makes later work wait for the event's latest record. */
    result<void> wait_event(event_ref event) const {
        return check(cls_stream_wait_event(get(), event.get()));
    }
    result<void> wait_timeline(timeline_ref timeline, std::uint64_t value) const {
        return check(cls_stream_wait_timeline(get(), timeline.get(), value));
    }
    result<void> signal_timeline(timeline_ref timeline, std::uint64_t value) const {
        return check(cls_stream_signal_timeline(get(), timeline.get(), value));
    }
    /** Makes later work wait until the std::uint32_t or std::uint64_t in memory meets the condition. */
    template <typename T>
    result<void> wait_value(buffer_ref buffer, std::size_t offset, T value,
                            cls_value_condition condition = CLS_VALUE_GEQ,
                            T mask = static_cast<T>(-1)) const {
        static_assert(std::is_same<T, std::uint32_t>::value ||
                          std::is_same<T, std::uint64_t>::value,
                      "a value of std::uint32_t or std::uint64_t");
        return check(cls_stream_wait_value(get(), buffer.get(), offset, sizeof value, value, mask,
                                           condition));
    }
    template <typename T>
    result<void> write_value(buffer_ref buffer, std::size_t offset, T value) const {
        static_assert(std::is_same<T, std::uint32_t>::value ||
                          std::is_same<T, std::uint64_t>::value,
                      "a value of std::uint32_t or std::uint64_t");
        return check(cls_stream_write_value(get(), buffer.get(), offset, sizeof value, value));
    }

    /**
     * Runs `function()` in the stream's order on a thread of the library, as
     * cls_stream_launch_host_async does, and destroys it there. If earlier work failed, it is
     * destroyed without being run; a poisoned stream accepts it too. What it throws poisons the
     * stream, with the text of what(). Counters and profiles count it as a callback. A captured
     * stream is CLS_ERROR_UNSUPPORTED: what each launch of a graph calls, a program keeps itself and
     * passes to cls_stream_launch_host_async.
     */
    template <class F> result<void> launch_host_async(F &&function) const {
        return check(detail::submit(
            get(), [f = std::decay_t<F>(std::forward<F>(function))](cls_status status) mutable {
                if (!status)
                    f();
            }));
    }

    /** Calls `function(status)` when the work so far is done or has failed. As launch_host_async. */
    template <class F> result<void> add_callback(F &&function) const {
        return check(detail::submit(get(), std::forward<F>(function)));
    }

    /** Allocates stream-ordered memory (mempool.h). The buffer's destructor frees it too. */
    result<buffer> malloc_async(std::size_t bytes) const {
        cls_buffer handle = nullptr;
        const cls_status status = cls_malloc_async(get(), bytes, &handle);
        return detail::own<buffer>(status, handle);
    }
    /** Frees stream-ordered memory at this point of the stream. */
    result<void> free_async(buffer &&memory) const {
        const cls_status status = cls_free_async(memory.get(), get());
        if (!status)
            (void)memory.release();
        return check(status);
    }
};

class stream : public owner<stream_ref> {
  public:
    using owner::owner;
    static result<stream> create(context_ref context = {},
                                 const cls_stream_config &config = CLS_STREAM_CONFIG_INIT) {
        cls_stream handle = nullptr;
        const cls_status status = cls_stream_create(context.get(), &config, &handle);
        return detail::own<stream>(status, handle);
    }
};

/** A generator of random numbers. Draws have the element type of the view that they write. */
class random_ref : public ref<cls_random> {
  public:
    using ref::ref;
    /** Numbers of [low, high). */
    result<void> uniform_async(cls_array out, double low, double high,
                               stream_ref stream = {}) const {
        return check(cls_random_uniform_async(get(), out, low, high, stream.get()));
    }
    result<void> uniform(cls_array out, double low, double high, stream_ref stream = {}) const {
        return check(cls_random_uniform(get(), out, low, high, stream.get()));
    }
    /** Normally distributed numbers. */
    result<void> normal_async(cls_array out, double mean, double deviation,
                              stream_ref stream = {}) const {
        return check(cls_random_normal_async(get(), out, mean, deviation, stream.get()));
    }
    result<void> normal(cls_array out, double mean, double deviation,
                        stream_ref stream = {}) const {
        return check(cls_random_normal(get(), out, mean, deviation, stream.get()));
    }
    /** Integers from 0 to n - 1; 0: all values of the type. */
    result<void> integers_async(cls_array out, std::uint64_t n, stream_ref stream = {}) const {
        return check(cls_random_integers_async(get(), out, n, stream.get()));
    }
    result<void> integers(cls_array out, std::uint64_t n, stream_ref stream = {}) const {
        return check(cls_random_integers(get(), out, n, stream.get()));
    }
    /** Of u8: 1 with the probability, else 0. */
    result<void> bernoulli_async(cls_array out, double probability, stream_ref stream = {}) const {
        return check(cls_random_bernoulli_async(get(), out, probability, stream.get()));
    }
    result<void> bernoulli(cls_array out, double probability, stream_ref stream = {}) const {
        return check(cls_random_bernoulli(get(), out, probability, stream.get()));
    }
    /** 0 with the probability, else in / (1 - probability); `mask`, unless it is {}, gets 1 for what stays. */
    result<void> dropout_async(cls_array in, cls_array mask, cls_array out, double probability,
                               stream_ref stream = {}) const {
        return check(cls_dropout_async(get(), in, mask, out, probability, stream.get()));
    }
    result<void> dropout(cls_array in, cls_array mask, cls_array out, double probability,
                         stream_ref stream = {}) const {
        return check(cls_dropout(get(), in, mask, out, probability, stream.get()));
    }
    /** The state after the stream's work so far; waits. */
    result<cls_random_state> state(stream_ref stream = {}) const {
        cls_random_state state{};
        const cls_status status = cls_random_get_state(get(), &state, stream.get());
        return detail::finish(status, cls_random_state(state));
    }
    result<void> set_state_async(const cls_random_state &state, stream_ref stream = {}) const {
        return check(cls_random_set_state_async(get(), &state, stream.get()));
    }
    result<void> set_state(const cls_random_state &state, stream_ref stream = {}) const {
        return check(cls_random_set_state(get(), &state, stream.get()));
    }
};

class random : public owner<random_ref> {
  public:
    using owner::owner;
    static result<random> create(std::uint64_t seed, context_ref context = {}) {
        cls_random handle = nullptr;
        const cls_status status = cls_random_create(context.get(), seed, &handle);
        return detail::own<random>(status, handle);
    }
};

inline result<stream_ref> context_ref::default_stream() const {
    cls_stream handle = nullptr;
    const cls_status status = cls_context_default_stream(get(), &handle);
    return detail::finish(status, stream_ref(handle));
}

inline result<void> image_ref::upload_async(const void *from, stream_ref stream,
                                            const cls_image_box *box) const {
    return check(cls_image_from_host_async(get(), from, box, stream.get()));
}
inline result<void> image_ref::upload(const void *from, stream_ref stream,
                                      const cls_image_box *box) const {
    return check(cls_image_from_host(get(), from, box, stream.get()));
}
inline result<void> image_ref::download_async(void *to, stream_ref stream,
                                              const cls_image_box *box) const {
    return check(cls_image_to_host_async(to, get(), box, stream.get()));
}
inline result<void> image_ref::download(void *to, stream_ref stream,
                                        const cls_image_box *box) const {
    return check(cls_image_to_host(to, get(), box, stream.get()));
}

inline result<void *> buffer_ref::map_async(cls_map_access access, std::size_t offset,
                                            std::size_t bytes, stream_ref stream) const {
    void *pointer = nullptr;
    const cls_status status =
        cls_buffer_map_async(get(), access, offset, bytes, stream.get(), &pointer);
    return detail::finish(status, pointer);
}
inline result<void *> buffer_ref::map(cls_map_access access, std::size_t offset, std::size_t bytes,
                                      stream_ref stream) const {
    void *pointer = nullptr;
    const cls_status status = cls_buffer_map(get(), access, offset, bytes, stream.get(), &pointer);
    return detail::finish(status, pointer);
}
inline result<void> buffer_ref::unmap_async(const void *pointer, stream_ref stream) const {
    return check(cls_buffer_unmap_async(get(), pointer, stream.get()));
}
inline result<void> buffer_ref::unmap(const void *pointer, stream_ref stream) const {
    return check(cls_buffer_unmap(get(), pointer, stream.get()));
}

/** cls_memcpy_async: each of both is a pointer to device memory or to the host's. */
inline result<void> memcpy_async(void *dst, const void *src, std::size_t bytes, stream_ref stream) {
    return check(cls_memcpy_async(dst, src, bytes, stream.get()));
}
/** cls_memset_async: sets bytes of device memory, by a pointer to it. */
inline result<void> memset_async(void *dst, int value, std::size_t bytes, stream_ref stream) {
    return check(cls_memset_async(dst, value, bytes, stream.get()));
}

inline result<void> event_ref::record(stream_ref stream) const {
    return check(cls_event_record(get(), stream.get()));
}

namespace detail {

inline std::uint32_t bits_of(float value) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

inline float float_of(std::uint32_t bits) {
    float value = 0;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

/** Bits without the last `count`, 1 to 31 of them: to nearest, ties to even. */
inline std::uint32_t drop_bits(std::uint32_t bits, unsigned count) {
    return (bits + (1U << (count - 1)) - 1 + (bits >> count & 1)) >> count;
}

} // namespace detail

/**
 * An element of CLS_F16: IEEE 754's binary16, for memory. It has no arithmetic; it converts, explicitly, from and to
 * float. Where the compiler has std::float16_t (C++23), that is CLS_F16 too.
 */
class half {
  public:
    half() = default;
    /**
     * The nearest element, of two equally near the even one; the same bits as cls_cast. From 65520 on it is infinity.
     * NaN becomes a quiet one. A double is rounded to a float first.
     */
    explicit half(float value) {
        const std::uint32_t all = detail::bits_of(value), size = all & 0x7fffffff;
        bits_ = static_cast<std::uint16_t>((all >> 16 & 0x8000) | magnitude(size));
    }
    /** Exact. */
    explicit operator float() const {
        const std::uint32_t sign = (bits_ & 0x8000U) << 16, size = bits_ & 0x7fffU;
        if (size < 0x400) /* so many times the least number */
            return detail::float_of(sign |
                                    detail::bits_of(static_cast<float>(size) * (1.0F / 16777216)));
        return detail::float_of(sign | ((size << 13) + ((size < 0x7c00 ? 112U : 224U) << 23)));
    }
    static half from_bits(std::uint16_t bits) {
        half element;
        element.bits_ = bits;
        return element;
    }
    std::uint16_t bits() const { return bits_; }

  private:
    /* `size` is that of a float. 112 is the difference of the exponents' biases. */
    static std::uint32_t magnitude(std::uint32_t size) {
        if (size > 0x7f800000)
            return 0x7e00;
        if (size >= 143U << 23) /* 65536 */
            return 0x7c00;
        if (size >= 113U << 23)
            return detail::drop_bits(size - (112U << 23), 13);
        if (size < 102U << 23) /* below half of the least number */
            return 0;
        return detail::drop_bits((size & 0x7fffff) | 0x800000, 126 - (size >> 23));
    }
    std::uint16_t bits_;
};

/**
 * An element of CLS_BF16: the upper half of a float, for memory. As half; where the compiler has std::bfloat16_t, that is
 * CLS_BF16 too.
 */
class bfloat16 {
  public:
    bfloat16() = default;
    /** The nearest element, of two equally near the even one; the same bits as cls_cast. NaN becomes a quiet one. */
    explicit bfloat16(float value) {
        const std::uint32_t all = detail::bits_of(value);
        const bool is_nan = (all & 0x7fffffff) > 0x7f800000;
        bits_ = static_cast<std::uint16_t>(is_nan ? all >> 16 | 0x40 : detail::drop_bits(all, 16));
    }
    /** Exact. */
    explicit operator float() const { return detail::float_of(std::uint32_t{bits_} << 16); }
    static bfloat16 from_bits(std::uint16_t bits) {
        bfloat16 element;
        element.bits_ = bits;
        return element;
    }
    std::uint16_t bits() const { return bits_; }

  private:
    std::uint16_t bits_;
};

namespace detail {
template <class T> constexpr bool is_f16 = std::is_same<T, half>::value;
template <class T> constexpr bool is_bf16 = std::is_same<T, bfloat16>::value;
#ifdef __STDCPP_FLOAT16_T__
template <> inline constexpr bool is_f16<std::float16_t> = true;
#endif
#ifdef __STDCPP_BFLOAT16_T__
template <> inline constexpr bool is_bf16<std::bfloat16_t> = true;
#endif
} // namespace detail

/**
 * The dtype of a C++ type: of float, double, the integers of 1, 2 and 4 bytes, int64_t, half and bfloat16, and of
 * std::float16_t and std::bfloat16_t where the compiler has them.
 */
template <class T> constexpr cls_dtype dtype_of() {
    using type = std::remove_cv_t<T>;
    constexpr bool integer = std::is_integral<type>::value && !std::is_same<type, bool>::value;
    constexpr bool sign = std::is_signed<type>::value;
    if constexpr (std::is_same<type, float>::value)
        return CLS_F32;
    else if constexpr (std::is_same<type, double>::value)
        return CLS_F64;
    else if constexpr (detail::is_f16<type>)
        return CLS_F16;
    else if constexpr (detail::is_bf16<type>)
        return CLS_BF16;
    else if constexpr (integer && sign && sizeof(type) == 1)
        return CLS_I8;
    else if constexpr (integer && sign && sizeof(type) == 2)
        return CLS_I16;
    else if constexpr (integer && sign && sizeof(type) == 4)
        return CLS_I32;
    else if constexpr (integer && sign && sizeof(type) == 8)
        return CLS_I64;
    else if constexpr (integer && !sign && sizeof(type) == 1)
        return CLS_U8;
    else if constexpr (integer && !sign && sizeof(type) == 2)
        return CLS_U16;
    else {
        static_assert(integer && !sign && sizeof(type) == 4, "not an element type of the library");
        return CLS_U32;
    }
}

/** `count` elements of device memory. Offsets and sizes are in elements. One that was moved from is empty. */
template <class T> class array {
  public:
    array() = default;
    array(array &&other) noexcept
        : buffer_(std::move(other.buffer_)), count_(std::exchange(other.count_, 0)) {}
    array &operator=(array &&other) noexcept {
        buffer_ = std::move(other.buffer_);
        count_ = std::exchange(other.count_, 0);
        return *this;
    }
    /** Allocates memory with undefined contents. */
    static result<array> create(std::size_t count, context_ref context = {}) {
        cls_buffer handle = nullptr;
        const cls_status status =
            count > SIZE_MAX / sizeof(T)
                ? detail::fail_size()
                : cls_buffer_create(context.get(), count * sizeof(T), &handle);
        return detail::finish(status, array(handle, count));
    }
    /** Allocates memory and uploads `data`. Both are done on return. */
    static result<array> from_host(span<const T> data, context_ref context = {}) {
        cls_buffer handle = nullptr;
        const cls_status status =
            cls_buffer_from_host(context.get(), data.data(), data.bytes(), &handle);
        return detail::finish(status, array(handle, data.size()));
    }

    std::size_t size() const { return count_; }
    cls_buffer get() const { return buffer_.get(); }
    operator buffer_ref() const { return buffer_; }
    /** A view of all elements, as the typed operations take it. */
    operator cls_array() const { return view(0, count_); }
    cls_array view(std::size_t offset, std::size_t count) const {
        return cls_array_at(get(), dtype_of<T>(), offset, count);
    }

    /** Copies from the host. `data` must stay valid and unchanged until the copy is done. */
    result<void> upload_async(span<const T> data, stream_ref stream = {},
                              std::size_t offset = 0) const {
        return check(cls_copy_h2d_async(get(), detail::bytes_of<T>(offset), data.data(),
                                        data.bytes(), stream.get()));
    }
    result<void> upload(span<const T> data, stream_ref stream = {}, std::size_t offset = 0) const {
        return check(cls_copy_h2d(get(), detail::bytes_of<T>(offset), data.data(), data.bytes(),
                                  stream.get()));
    }
    /** Copies to the host. `data` must stay valid, and is not read, until the copy is done. */
    result<void> download_async(span<T> data, stream_ref stream = {},
                                std::size_t offset = 0) const {
        return check(cls_copy_d2h_async(data.data(), get(), detail::bytes_of<T>(offset),
                                        data.bytes(), stream.get()));
    }
    result<void> download(span<T> data, stream_ref stream = {}, std::size_t offset = 0) const {
        return check(cls_copy_d2h(data.data(), get(), detail::bytes_of<T>(offset), data.bytes(),
                                  stream.get()));
    }
    /** Copies all elements of `source`, on the device, to this array's elements from `offset` on. */
    result<void> copy_from_async(const array &source, stream_ref stream = {},
                                 std::size_t offset = 0) const {
        return copy_from_async(source, 0, source.size(), stream, offset);
    }
    result<void> copy_from(const array &source, stream_ref stream = {},
                           std::size_t offset = 0) const {
        return copy_from(source, 0, source.size(), stream, offset);
    }
    /** Copies `count` elements of `source`, from `first` on. */
    result<void> copy_from_async(const array &source, std::size_t first, std::size_t count,
                                 stream_ref stream = {}, std::size_t offset = 0) const {
        return check(cls_copy_d2d_async(get(), detail::bytes_of<T>(offset), source.get(),
                                        detail::bytes_of<T>(first), detail::bytes_of<T>(count),
                                        stream.get()));
    }
    result<void> copy_from(const array &source, std::size_t first, std::size_t count,
                           stream_ref stream = {}, std::size_t offset = 0) const {
        return check(cls_copy_d2d(get(), detail::bytes_of<T>(offset), source.get(),
                                  detail::bytes_of<T>(first), detail::bytes_of<T>(count),
                                  stream.get()));
    }
    /** Sets all elements. */
    result<void> fill_async(T value, stream_ref stream = {}) const {
        return check(
            cls_fill_async(get(), 0, count_ * sizeof(T), &value, sizeof value, stream.get()));
    }

  private:
    array(cls_buffer handle, std::size_t count) : buffer_(handle), count_(count) {}
    buffer buffer_;
    std::size_t count_ = 0;
};

/** `count` elements of pinned host memory, uninitialized. One that was moved from is empty. */
template <class T> class pinned {
    static_assert(std::is_trivially_copyable<T>::value, "copied to the device byte by byte");

  public:
    pinned() = default;
    pinned(pinned &&other) noexcept
        : memory_(std::move(other.memory_)), count_(std::exchange(other.count_, 0)) {}
    pinned &operator=(pinned &&other) noexcept {
        memory_ = std::move(other.memory_);
        count_ = std::exchange(other.count_, 0);
        return *this;
    }
    static result<pinned> create(std::size_t count, context_ref context = {}) {
        void *memory = nullptr;
        const cls_status status = count > SIZE_MAX / sizeof(T)
                                      ? detail::fail_size()
                                      : cls_host_alloc(context.get(), count * sizeof(T), &memory);
        return detail::finish(status, pinned(static_cast<T *>(memory), count));
    }
    T *data() const { return memory_.get(); }
    T *get() const { return data(); }
    std::size_t size() const { return count_; }
    T *begin() const { return data(); }
    T *end() const { return data() + count_; }
    T &operator[](std::size_t i) const { return data()[i]; }

  private:
    struct host_free {
        void operator()(T *memory) const { (void)cls_host_free(memory); }
    };
    pinned(T *memory, std::size_t count) : memory_(memory), count_(count) {}
    std::unique_ptr<T, host_free> memory_;
    std::size_t count_ = 0;
};

/** Memory of the program's, pinned from cls_host_register to cls_host_unregister: until this ends, which waits for what
 * uses it. */
class registered {
  public:
    registered() = default;
    static result<registered> create(void *memory, std::size_t bytes, context_ref context = {}) {
        const cls_status status = cls_host_register(context.get(), memory, bytes);
        return detail::finish(status, registered(status ? nullptr : memory));
    }
    void *get() const { return memory_.get(); }
    /** Ends it early; a failure leaves it as it was. */
    result<void> unregister() {
        const cls_status status = cls_host_unregister(memory_.get());
        if (!status)
            (void)memory_.release();
        return check(status);
    }

  private:
    struct host_unregister {
        void operator()(void *memory) const { (void)cls_host_unregister(memory); }
    };
    explicit registered(void *memory) : memory_(memory) {}
    std::unique_ptr<void, host_unregister> memory_;
};

namespace detail {

/** An owner or a reference. */
template <class T, class = void> constexpr bool is_handle = false;
template <class T> constexpr bool is_handle<T, std::void_t<typename T::handle_type>> = true;

/** Pointer and count, such as std::span and std::string_view; a std::array is a value. */
template <class T, class = void> constexpr bool is_span = false;
template <class T>
constexpr bool is_span<T, std::void_t<decltype(std::declval<const T &>().data())>> =
    std::is_constructible<T, decltype(std::declval<const T &>().data()), std::size_t>::value;

inline cls_arg argument(const cls_arg &arg) { return arg; }
inline cls_arg argument(buffer_ref buffer) { return cls_arg_buffer(buffer.get()); }
inline cls_arg argument(std::nullptr_t) { return cls_arg_buffer(nullptr); }
inline cls_arg argument(image_ref image) { return cls_arg_image(image.get()); }
template <class T> cls_arg argument_of(const T &value) {
    if constexpr (std::is_same<T, cls_arg>::value || std::is_convertible<T, buffer_ref>::value ||
                  std::is_convertible<T, image_ref>::value) {
        return argument(value);
    } else {
        static_assert(!std::is_pointer<T>::value && !std::is_member_pointer<T>::value,
                      "a kernel takes no host pointer: cls_arg_pointer for one to device memory");
        static_assert(!std::is_array<T>::value && !is_span<T>,
                      "a kernel takes no host array: pass a buffer, or a std::array as a value");
        static_assert(!std::is_same<T, cls_array>::value,
                      "a kernel takes no view: pass the array, or cls_arg_buffer_at for a part");
        static_assert(!is_handle<T> && !std::is_same<T, cls_launch>::value,
                      "a kernel takes buffers, values and cls_arg");
        static_assert(!std::is_same<T, bool>::value, "a kernel takes no bool: pass an int");
        static_assert(std::is_trivially_copyable<T>::value, "passed to the kernel byte by byte");
        return cls_arg_typed(&value, sizeof value,
                             std::is_integral<T>::value         ? CLS_ARG_INTEGER
                             : std::is_floating_point<T>::value ? CLS_ARG_FLOAT
                                                                : CLS_ARG_ANY);
    }
}

} // namespace detail

class kernel_ref : public ref<cls_kernel> {
  public:
    using ref::ref;
    /**
     * Launches the kernel. An argument is a buffer or an image (owner, reference, array or C handle), a value
     * that has the size of the parameter, or a cls_arg (cls_arg_local, cls_arg_reads ...). What is
     * known to be none of these, such as a pointer, a span or a view, does not compile.
     */
    template <class... Args>
    result<void> launch_async(const cls_launch &shape, stream_ref stream,
                              const Args &...args) const {
        const cls_arg list[] = {detail::argument_of(args)..., cls_arg()};
        return check(cls_kernel_launch_async(get(), &shape, list, sizeof...(args), stream.get()));
    }
    /** Like launch_async, and waits for the launch. */
    template <class... Args>
    result<void> launch(const cls_launch &shape, stream_ref stream, const Args &...args) const {
        const cls_arg list[] = {detail::argument_of(args)..., cls_arg()};
        return check(cls_kernel_launch(get(), &shape, list, sizeof...(args), stream.get()));
    }
    /** Limits, memory and the number of arguments. */
    result<cls_kernel_info> info() const {
        cls_kernel_info info = CLS_KERNEL_INFO_INIT;
        const cls_status status = cls_kernel_get_info(get(), &info);
        return detail::finish(status, info);
    }
    /** Argument `i` as the source declares it. */
    result<cls_kernel_arg_info> arg_info(unsigned i) const {
        cls_kernel_arg_info info = CLS_KERNEL_ARG_INFO_INIT;
        const cls_status status = cls_kernel_get_arg_info(get(), i, &info);
        return detail::finish(status, info);
    }
    /** The local size that a launch of this shape would have; zeros: the driver chooses. */
    result<std::array<std::size_t, 3>> suggest_local(const cls_launch &shape) const {
        std::array<std::size_t, 3> local{};
        const cls_status status = cls_kernel_suggest_local(get(), &shape, local.data());
        return detail::finish(status, local);
    }
};

class kernel : public owner<kernel_ref> {
  public:
    using owner::owner;
};

class program_ref : public ref<cls_program> {
  public:
    using ref::ref;
    /** Gets a kernel by the name of its function. */
    result<kernel> create_kernel(c_string name) const {
        cls_kernel handle = nullptr;
        const cls_status status = cls_kernel_create(get(), name.get(), &handle);
        return detail::own<kernel>(status, handle);
    }
    /** The bytes of cls_program_get_binary. */
    result<std::vector<unsigned char>> binary() const {
        std::vector<unsigned char> bytes;
        std::size_t size = 0;
        cls_status status = cls_program_get_binary(get(), nullptr, 0, &size);
        if (status == CLS_SUCCESS) {
            bytes.resize(size);
            status = cls_program_get_binary(get(), bytes.data(), size, &size);
        }
        return detail::finish(status, std::move(bytes));
    }
};

class program : public owner<program_ref> {
  public:
    using owner::owner;
    /** Builds OpenCL C. `name` and `options` as in cls_program_from_source. */
    static result<program> from_source(c_string source, c_string name = {}, c_string options = {},
                                       context_ref context = {}) {
        cls_program handle = nullptr;
        const cls_status status = cls_program_from_source(context.get(), source.get(), name.get(),
                                                          options.get(), &handle);
        return detail::own<program>(status, handle);
    }
    static result<program> load(c_string path, c_string options = {}, context_ref context = {}) {
        cls_program handle = nullptr;
        const cls_status status =
            cls_program_load(context.get(), path.get(), options.get(), &handle);
        return detail::own<program>(status, handle);
    }
    /** From SPIR-V. `name` and `options` as in cls_program_from_source. */
    static result<program> from_il(const void *il, std::size_t bytes, c_string name = {},
                                   c_string options = {}, context_ref context = {}) {
        cls_program handle = nullptr;
        const cls_status status =
            cls_program_from_il(context.get(), il, bytes, name.get(), options.get(), &handle);
        return detail::own<program>(status, handle);
    }
    /** From the bytes of binary(). */
    static result<program> from_binary(const void *binary, std::size_t bytes,
                                       context_ref context = {}) {
        cls_program handle = nullptr;
        const cls_status status = cls_program_from_binary(context.get(), binary, bytes, &handle);
        return detail::own<program>(status, handle);
    }
};

namespace detail {
template <class Handle> struct owner_of { using type = owner<ref<Handle>>; };
template <> struct owner_of<cls_context> { using type = context; };
template <> struct owner_of<cls_stream> { using type = stream; };
template <> struct owner_of<cls_event> { using type = event; };
template <> struct owner_of<cls_buffer> { using type = buffer; };
template <> struct owner_of<cls_program> { using type = program; };
template <> struct owner_of<cls_kernel> { using type = kernel; };
template <> struct owner_of<cls_timeline> { using type = timeline; };
template <> struct owner_of<cls_random> { using type = random; };
} // namespace detail

/**
 * Calls a C function whose last parameter receives a new handle, and gives its owner:
 * `cls::make<cls_batch_create>(context.get(), nullptr)`.
 */
template <auto Function, class... Args> auto make(const Args &...args) {
    using handle = std::remove_pointer_t<typename detail::last_parameter<decltype(Function)>::type>;
    handle made = nullptr;
    const cls_status status = Function(args..., &made);
    return detail::own<typename detail::owner_of<handle>::type>(status, made);
}

} // inline namespace
} // namespace cls

#endif
