/* SPDX-License-Identifier: MIT */
/* CLSTREAM_CHECK=race: which bytes of which memory a command reads and writes. */
#include "race_pairs.h"

#include <clstream/binary.h>
#include <clstream/reduce.h>
#include <clstream/unary.h>

static cls_array view(cls_buffer buffer, size_t offset, size_t count) {
    return (cls_array){buffer, CLS_I32, offset, count};
}

static void copy_and_copy(bool clean) {
    write_x(w.a);
    if (clean)
        edge(w.a, w.b);
    read_x(w.b);
}

static void two_reads(bool clean) {
    OK(cls_copy_d2d_async(w.y, 0, w.x, 0, BYTES, w.a));
    if (clean)
        OK(cls_copy_d2h_async(w.more, w.x, 0, BYTES, w.b));
    else
        OK(cls_copy_d2d_async(w.x, 0, w.y, 0, BYTES, w.b));
}

static void one_stream(bool clean) {
    write_x(w.a);
    read_x(clean ? w.a : w.b);
}

static void copy_and_kernel(bool clean) {
    write_x(w.a);
    if (clean)
        edge(w.a, w.b);
    blur(cls_arg_reads(w.x, 0, BYTES), cls_arg_writes(w.y, 0, BYTES), w.b);
}

static void kernel_and_kernel(bool clean) {
    blur(cls_arg_reads(w.x, 0, BYTES), cls_arg_writes(w.y, 0, BYTES / 2), w.a);
    blur(cls_arg_reads(w.x, 0, BYTES), cls_arg_updates(w.y, clean ? BYTES / 2 : 0, BYTES / 2), w.b);
}

/* A launch reaches x through an address: declared, or in any way. */
static void reach_x(cls_arg x, cls_stream stream) {
    const cls_arg args[] = {cls_arg_reads(w.y, 0, BYTES), cls_arg_writes(w.y, 0, BYTES)};
    cls_launch launch = cls_launch_1d(CELLS / 2);
    launch.reaches = &x;
    launch.n_reaches = 1;
    OK(cls_kernel_launch_async(w.blur, &launch, args, 2, stream));
}

static void reached_and_declared(bool clean) {
    write_x(w.a);
    if (clean)
        edge(w.a, w.b);
    reach_x(cls_arg_reads(w.x, 0, BYTES), w.b);
}

static void reached(bool clean) {
    write_x(w.a);
    if (clean)
        edge(w.a, w.b);
    reach_x(cls_arg_buffer(w.x), w.b);
}

static void undeclared_kernels(bool clean) {
    blur(cls_arg_buffer(w.x), cls_arg_buffer(w.y), w.a);
    if (clean)
        edge(w.a, w.b);
    blur(cls_arg_buffer(w.x), cls_arg_buffer(w.y), w.b);
}

static void const_parameters(bool clean) {
    blur(cls_arg_buffer(w.x), cls_arg_writes(w.y, 0, 8), w.a);
    blur(clean ? cls_arg_buffer(w.x) : cls_arg_buffer(w.y), cls_arg_writes(w.y, 8, 8), w.b);
}

static void parts_that_touch(bool clean) {
    fill(w.x, 0, 17, w.a);
    OK(cls_copy_d2h_async(w.more, w.x, clean ? 17 : 16, 40, w.b));
}

static void interleaved_columns(bool clean) {
    const cls_rect even = {8, 4, 0, 32, 0, 8, 0, 0, 0},
                   odd = {8, 4, clean ? 8 : 7, 32, 0, 8, 0, 0, 0};
    OK(cls_copy_rect_h2d_async(w.x, w.words, &even, w.a));
    OK(cls_copy_rect_h2d_async(w.x, w.words, &odd, w.b));
}

static void rect_on_the_device(bool clean) {
    const cls_rect rect = {4, 4, 0, 16, 32, 16, 0, 0, 0};
    OK(cls_copy_rect_d2d_async(w.y, w.x, &rect, w.a));
    fill(w.x, clean ? 36 : 35, 12, w.b);
    fill(w.y, 4, 12, w.b);
}

/* Every other row of 8 bytes of slices of 32; the rows of the second stream lie between. */
static void interleaved_slices(bool clean) {
    const cls_rect even = {8, 2, 0, 16, 0, 8, 3, 40, 0};
    const cls_rect odd = {8, 2, clean ? 8 : 7, 16, 0, 8, 3, 40, 0};
    OK(cls_copy_rect_h2d_async(w.x, w.words, &even, w.a));
    OK(cls_copy_rect_h2d_async(w.x, w.words, &odd, w.b));
}

/* Slices within one buffer, which a kernel of the library copies. */
static void slices_by_kernel(bool clean) {
    const cls_rect rect = {8, 2, 0, 16, 128, 16, 3, 40, 40};
    OK(cls_copy_rect_d2d_async(w.x, w.x, &rect, w.a));
    fill(w.x, 8, 8, w.b);
    fill(w.x, clean ? 24 : 23, 16, w.b);
}

static void slices_filled(bool clean) {
    const cls_rect rect = {8, 2, 0, 16, 0, 0, 3, 40, 0};
    OK(cls_fill_rect_async(w.x, &rect, w.words, 4, w.a));
    fill(w.x, clean ? 104 : 103, 12, w.b);
}

static void rect_to_the_host(bool clean) {
    const cls_rect rect = {4, 4, 0, 16, 0, 16, 0, 0, 0};
    OK(cls_copy_rect_d2h_async(w.more, w.x, &rect, w.a));
    OK(cls_check_host_access((char *)w.more + (clean ? 4 : 3), 12, CLS_ACCESS_READ));
}

static void fill_and_fill(bool clean) {
    fill(w.x, 0, BYTES, w.a);
    if (clean)
        edge(w.a, w.b);
    fill(w.x, 8, 8, w.b);
}

static void operations_on_views(bool clean) {
    OK(cls_unary_async(CLS_UNARY_NEG, view(w.x, 0, 16), view(w.y, 0, 16), w.a));
    OK(cls_unary_async(CLS_UNARY_NEG, view(w.x, 0, 16), view(w.y, clean ? 16 : 15, 16), w.b));
}

static void in_place_operations(bool clean) {
    OK(cls_binary_async(CLS_BINARY_ADD, view(w.x, 0, 8), view(w.y, 0, 8), view(w.x, 0, 8), w.a));
    OK(cls_binary_async(CLS_BINARY_ADD, view(w.x, 8, 8), view(w.y, 0, 8), view(w.x, 8, 8), w.b));
    OK(cls_copy_d2h_async(w.more, w.x, 0, 4, clean ? w.a : w.b));
}

/* The scratch of a stream's reductions is its own: only what they are told to write can meet. */
static void reductions(bool clean) {
    OK(cls_reduce_async(CLS_REDUCE_MAX, view(w.x, 0, CELLS), view(w.y, 0, 1), w.a));
    OK(cls_reduce_async(CLS_REDUCE_MIN, view(w.x, 0, CELLS), view(w.y, 1, 1), w.a));
    OK(cls_reduce_async(CLS_REDUCE_MIN, view(w.x, 0, CELLS), view(w.y, clean ? 2 : 1, 1), w.b));
}

static void reduction_to_the_host(bool clean) {
    int32_t most;
    if (!clean)
        write_x(w.a);
    OK(cls_reduce(CLS_REDUCE_MAX, view(w.x, 0, CELLS), &most, w.b));
}

static const struct CMUnitTest tests[] = {
    PAIR(
        "copy and copy", copy_and_copy, false,
        {"command 1 of stream 'first' ('copy_h2d') writes",
         "command 1 of stream 'second' ('copy_d2h') reads bytes 0 to 255 of a buffer of 256",
         "record an event on 'first' after its command 1, and make 'second' wait for it before its command 1"}),
    PAIR("two reads", two_reads, false, {NULL}),
    PAIR("one stream", one_stream, false, {NULL}),
    PAIR("copy and kernel", copy_and_kernel, false,
         {"copy_h2d", "of stream 'second' ('blur')", "reads"}),
    PAIR("kernel and kernel", kernel_and_kernel, false, {"blur", "bytes 0 to 127"}),
    PAIR("reached and declared", reached_and_declared, false,
         {"copy_h2d", "of stream 'second' ('blur')", "reads"}),
    PAIR("reached", reached, true, {"copy_h2d", "of stream 'second' ('blur')", "may write"}),
    PAIR("undeclared kernels", undeclared_kernels, true, {"possible race", "bytes 0 to 255"}),
    PAIR("const parameters", const_parameters, true, {"possible race", "bytes 0 to 7"}),
    PAIR("parts that touch", parts_that_touch, false, {"byte 16 of a buffer of 256"}),
    PAIR("interleaved columns", interleaved_columns, false, {"copy_rect_h2d", "byte 7"}),
    PAIR("rect on the device", rect_on_the_device, false, {"copy_rect_d2d", "reads", "byte 35"}),
    PAIR("interleaved slices", interleaved_slices, false, {"copy_rect_h2d", "byte 7"}),
    PAIR("slices by a kernel", slices_by_kernel, false, {"copy_rect", "byte 23"}),
    PAIR("slices filled", slices_filled, false, {"fill_rect", "byte 103"}),
    PAIR("rect to the host", rect_to_the_host, false,
         {"copy_rect_d2h", "the host reads 1 byte of"}),
    PAIR("fill and fill", fill_and_fill, false, {"fill", "bytes 8 to 15"}),
    PAIR("operations on views", operations_on_views, false, {"neg", "bytes 60 to 63"}),
    PAIR("in-place operations", in_place_operations, false, {"add", "bytes 0 to 3"}),
    PAIR("reductions", reductions, false, {"bytes 4 to 7"}),
    PAIR("reduction to the host", reduction_to_the_host, false, {"copy_h2d", "max"}),
};

int main(void) { return cmocka_run_group_tests(tests, race_setup, race_teardown); }
