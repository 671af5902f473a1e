/* SPDX-License-Identifier: MIT */
/*
 * The types of 16 bits of clstream.hpp: every element of them, and every number at which a conversion turns from one
 * element to the next, against their definition and against the casts of the device. Prints what does not hold, and
 * exits with 1 then.
 */
#include <clstream.hpp>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "expect.h"

template <class T>
constexpr bool storage_only =
    sizeof(T) == 2 && alignof(T) == 2 &&
    std::is_trivially_copyable<T>::value &&std::is_trivially_default_constructible<T>::value
        &&std::is_standard_layout<T>::value &&std::is_constructible<T, float>::value
    && !std::is_convertible<float, T>::value && std::is_constructible<float, T>::value &&
    !std::is_convertible<T, float>::value;
static_assert(storage_only<cls::half> && storage_only<cls::bfloat16>, "two bytes, and no more");
static_assert(!std::is_constructible<cls::half, cls::bfloat16>::value &&
                  !std::is_constructible<cls::bfloat16, cls::half>::value,
              "the one becomes the other by way of a float");
static_assert(cls::dtype_of<cls::half>() == CLS_F16 && cls::dtype_of<const cls::half>() == CLS_F16,
              "");
static_assert(cls::dtype_of<cls::bfloat16>() == CLS_BF16, "");
static_assert(cls::dtype_of<std::uint16_t>() == CLS_U16, "bits of a half are a cls::half's in C++");
static_assert(cls::dtype_of<std::int8_t>() == CLS_I8 && cls::dtype_of<std::int16_t>() == CLS_I16,
              "");
#ifdef __STDCPP_FLOAT16_T__
static_assert(cls::dtype_of<std::float16_t>() == CLS_F16, "");
#endif
#ifdef __STDCPP_BFLOAT16_T__
static_assert(cls::dtype_of<std::bfloat16_t>() == CLS_BF16, "");
#endif

enum { ELEMENTS = 1 << 16 };

template <class T> struct format;
template <> struct format<cls::half> { static constexpr int fraction = 10, bias = 15; };
template <> struct format<cls::bfloat16> { static constexpr int fraction = 7, bias = 127; };

/* The number of an element, digit by digit. */
template <class T> static double number_of(unsigned bits) {
    constexpr int fraction = format<T>::fraction, bias = format<T>::bias;
    const int exponent = static_cast<int>(bits >> fraction) & (2 * bias + 1);
    const int digits = static_cast<int>(bits & ((1U << fraction) - 1));
    double size = std::ldexp((exponent ? 1 << fraction : 0) + digits,
                             (exponent ? exponent : 1) - bias - fraction);
    if (exponent == 2 * bias + 1)
        size = digits ? std::numeric_limits<double>::quiet_NaN()
                      : std::numeric_limits<double>::infinity();
    return bits & 0x8000 ? -size : size;
}

template <class T> static bool is_quiet_nan(T element) {
    const unsigned quiet = 1U << (format<T>::fraction - 1);
    return std::isnan(number_of<T>(element.bits())) && (element.bits() & quiet) != 0;
}

/* Equal, with the sign of 0; or both NaN. */
static bool same(double x, double y) {
    return std::isnan(x) ? std::isnan(y) : x == y && std::signbit(x) == std::signbit(y);
}

/* What the device makes of numbers, by cls_cast. */
template <class To, class From> static std::vector<To> cast(const std::vector<From> &from) {
    std::vector<To> to(from.size());
    const auto x = cls::array<From>::from_host(from);
    const auto y = cls::array<To>::create(from.size());
    cls::check(cls_cast(x, y, nullptr));
    y.download(to);
    return to;
}

/* A device may take a number below the smallest normal float for 0. */
static bool same_but_flushed(double host, double device) {
    return same(host, device) || (device == 0 && std::fabs(host) < 0x1p-126);
}

template <class T> static void test_elements() {
    std::vector<T> all(ELEMENTS);
    unsigned wrong = 0;
    for (unsigned i = 0; i < ELEMENTS; i++) {
        all[i] = T::from_bits(static_cast<std::uint16_t>(i));
        const float value = static_cast<float>(all[i]);
        const T back(value);
        wrong += all[i].bits() != i;
        wrong += !same(static_cast<double>(value), number_of<T>(i));
        wrong += std::isnan(value) ? !is_quiet_nan(back) || (back.bits() ^ i) >> 15 != 0
                                   : back.bits() != i;
    }
    EXPECT(wrong == 0);
    const std::vector<float> values = cast<float>(all);
    for (unsigned i = 0; i < ELEMENTS; i++)
        wrong += !same_but_flushed(static_cast<double>(static_cast<float>(all[i])),
                                   static_cast<double>(values[i]));
    EXPECT(wrong == 0);
}

/* The middle between each element and the next, and the floats beside it; behind the largest as if there were one more. */
template <class T> static std::vector<float> turns() {
    std::vector<float> all{0.0F, -0.0F, 0x1p-149F, 0x1.fffffep127F, -0x1.fffffep127F};
    const float infinity = std::numeric_limits<float>::infinity();
    for (unsigned i = 0; i < ELEMENTS; i++) {
        const double low = number_of<T>(i), high = number_of<T>((i + 1) % ELEMENTS);
        if (std::isnan(low) || std::isnan(high) || std::isinf(low))
            continue;
        const double end = std::copysign(std::ldexp(1.0, format<T>::bias + 1), low);
        const float middle = static_cast<float>(low + ((std::isinf(high) ? end : high) - low) / 2);
        for (const float value :
             {std::nextafter(middle, -infinity), middle, std::nextafter(middle, infinity)})
            all.push_back(value);
    }
    return all;
}

template <class T> static void test_rounding() {
    const std::vector<float> values = turns<T>();
    const std::vector<T> device = cast<T>(values);
    unsigned wrong = 0;
    EXPECT(values.size() > 3 * 63000);
    for (std::size_t i = 0; i < values.size(); i++) {
        const double host = number_of<T>(T(values[i]).bits());
        const double distance = std::fabs(host - static_cast<double>(values[i]));
        const bool right = same_but_flushed(host, number_of<T>(device[i].bits()));
        const double next = number_of<T>((T(values[i]).bits() & 0x7fffU) + 1);
        const bool near =
            std::isinf(host) || std::isinf(next) || distance <= (next - std::fabs(host)) / 2;
        if ((!right || !near) && wrong++ < 5)
            std::printf("%a becomes %a, and %a on the device\n", static_cast<double>(values[i]),
                        host, number_of<T>(device[i].bits()));
    }
    EXPECT(wrong == 0);
}

static void test_ends() {
    const float infinity = std::numeric_limits<float>::infinity(), nan = std::nanf("");
    EXPECT(cls::half(65519.996F).bits() == 0x7bff && cls::half(65520.0F).bits() == 0x7c00);
    EXPECT(cls::half(-1e30F).bits() == 0xfc00 && cls::half(-infinity).bits() == 0xfc00);
    EXPECT(cls::half(0x1p-24F).bits() == 1 && cls::half(0x1p-25F).bits() == 0);
    EXPECT(cls::half(0x1.000002p-25F).bits() == 1 && cls::half(-0x1p-26F).bits() == 0x8000);
    EXPECT(cls::half(0x1.ff8p-15F).bits() == 0x3ff && cls::half(0x1.ffcp-15F).bits() == 0x400);
    EXPECT(cls::half(1.0F).bits() == 0x3c00 && cls::half(0x1.002p0F).bits() == 0x3c00);
    EXPECT(cls::half(0x1.006p0F).bits() == 0x3c02 && cls::half().bits() == 0);
    EXPECT(cls::half(nan).bits() == 0x7e00);
    EXPECT(is_quiet_nan(cls::half(nan)) && is_quiet_nan(cls::bfloat16(nan)));
    EXPECT(cls::bfloat16(0x1.fffffep127F).bits() == 0x7f80 &&
           cls::bfloat16(infinity).bits() == 0x7f80);
    EXPECT(cls::bfloat16(0x1p-133F).bits() == 1 && cls::bfloat16(0x1p-134F).bits() == 0);
    EXPECT(cls::bfloat16(1.00390625F).bits() == 0x3f80 &&
           cls::bfloat16(1.01171875F).bits() == 0x3f82);
    float signalling = 0;
    const std::uint32_t bits = 0xff800001; /* whose upper half alone is an infinity */
    std::memcpy(&signalling, &bits, sizeof bits);
    EXPECT(is_quiet_nan(cls::half(signalling)) && is_quiet_nan(cls::bfloat16(signalling)));
}

template <class T> static void test_memory() {
    const auto stream = cls::stream::create();
    const std::vector<T> host{T(1.0F), T(-2.5F), T(0.0F)};
    const auto x = cls::array<T>::from_host(host), y = cls::array<T>::create(3);
    const auto back = cls::pinned<T>::create(3);
    y.fill_async(T(0.5F), stream);
    cls::check(cls_binary_async(CLS_BINARY_ADD, x, y, y, stream.get()));
    y.download_async(back, stream);
    stream.synchronize();
    EXPECT(static_cast<float>(back[0]) == 1.5F && static_cast<float>(back[1]) == -2 &&
           static_cast<float>(back[2]) == 0.5F);
    EXPECT(cls_array(y).dtype == cls::dtype_of<T>() && cls::buffer_ref(y).size() == 6);
    const auto kernel = cls::program::from_source("kernel void put(global ushort *x, ushort value) "
                                                  "{ x[get_global_id(0)] = value; }")
                            .create_kernel("put");
    kernel.launch_async(cls_launch_1d(3), stream, y, T(-3.0F));
    y.download_async(back, stream);
    stream.synchronize();
    EXPECT(static_cast<float>(back[2]) == -3);
}

int main() try {
    test_ends();
    test_elements<cls::half>();
    test_elements<cls::bfloat16>();
    test_rounding<cls::half>();
    test_rounding<cls::bfloat16>();
    test_memory<cls::half>();
    test_memory<cls::bfloat16>();
    return failures ? 1 : 0;
} catch (const std::exception &error) {
    std::printf("thrown: %s\n", error.what());
    return 1;
}
