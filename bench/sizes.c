/* SPDX-License-Identifier: MIT */
/*
 * Sizes that fall off a cliff: each row has the time at an odd size or offset against the time at a round one, in turns
 * of one process, both through the library. Odd: no divisors, off every alignment by one element.
 */
#include <stdio.h>

#include "harness.h"
#include "rig.h"

enum { ROUND = 4 << 20, ODD = ROUND - 17, ROWS_ROUND = 2048, ROWS_ODD = 2039, REPEAT = 4 };

static const char source[] = "kernel void advance(global float *a, uint width) {\n"
                             "    size_t i = get_global_id(1) * width + get_global_id(0);\n"
                             "    a[i] = a[i] * 1.5f + 1;\n"
                             "}\n";

static struct {
    cls_stream stream;
    cls_buffer in[3], out;
    cls_kernel advance;
} field;

/* One way: `n` elements from element `first` on. */
struct side {
    cls_status (*submit)(size_t first, size_t n);
    size_t first, n;
};

static double side_run(void *arg, double *also) {
    const struct side *side = arg;
    const double start = now_seconds();
    for (int i = 0; i < REPEAT; i++)
        CLS(side->submit(side->first, side->n));
    CLS(cls_stream_synchronize(field.stream));
    *also = 0;
    return 1e6 * (now_seconds() - start) / REPEAT;
}

static cls_array view(unsigned i, cls_dtype dtype, size_t first, size_t n) {
    return cls_array_at(i < 3 ? field.in[i] : field.out, dtype, first, n);
}

static cls_status launch(const cls_launch *shape) {
    const cls_arg args[] = {cls_arg_buffer(field.out), cls_arg_u32((uint32_t)shape->global[0])};
    return cls_kernel_launch_async(field.advance, shape, args, 2, field.stream);
}

static cls_status line(size_t first, size_t n) {
    const cls_launch shape = cls_launch_1d(n);
    (void)first;
    return launch(&shape);
}

static cls_status plane(size_t first, size_t n) {
    const cls_launch shape =
        first ? cls_launch_2d(ROWS_ODD, ROWS_ODD) : cls_launch_2d(ROWS_ROUND, ROWS_ROUND);
    (void)n;
    return launch(&shape);
}

static cls_status cast(size_t first, size_t n) {
    return cls_cast_async(view(0, CLS_F32, first, n), view(3, CLS_U8, first, n), field.stream);
}

static cls_status where(size_t first, size_t n) {
    return cls_where_async(view(0, CLS_U8, first, n), view(1, CLS_F32, first, n),
                           view(2, CLS_F32, first, n), view(3, CLS_F32, first, n), field.stream);
}

static cls_status relu(size_t first, size_t n) {
    return cls_unary_async(CLS_UNARY_RELU, view(0, CLS_F32, first, n), view(3, CLS_F32, first, n),
                           field.stream);
}

static cls_status add(size_t first, size_t n) {
    return cls_binary_async(CLS_BINARY_ADD, view(0, CLS_F32, first, n), view(1, CLS_F32, first, n),
                            view(3, CLS_F32, first, n), field.stream);
}

static cls_status sum(size_t first, size_t n) {
    return cls_reduce_async(CLS_REDUCE_SUM, view(0, CLS_F32, first, n), view(3, CLS_F32, 0, 1),
                            field.stream);
}

static cls_status dot(size_t first, size_t n) {
    return cls_dot_async(view(0, CLS_F32, first, n), view(1, CLS_F32, first, n),
                         view(3, CLS_F32, 0, 1), field.stream);
}

static cls_status copy(size_t first, size_t n) {
    return cls_copy_d2d_async(field.out, first, field.in[0], first, n, field.stream);
}

static cls_status fill(size_t first, size_t n) {
    const unsigned char zero = 0;
    return cls_fill_async(field.out, first, n, &zero, 1, field.stream);
}

/* Within one buffer, where a kernel of the library does it. */
static cls_status rect(size_t first, size_t n) {
    const size_t width = first ? ROWS_ODD : ROWS_ROUND;
    const cls_rect rect = {width, width, 0, width + first, n + ROUND, width + 2 * first + 1,
                           0,     0,     0};
    return cls_copy_rect_d2d_async(field.out, field.out, &rect, field.stream);
}

static const struct pair {
    const char *name;
    cls_status (*submit)(size_t first, size_t n);
    size_t odd, round;
} rows[] = {
    {"kernel in one dimension", line, ODD, ROUND},
    {"kernel in two dimensions", plane, ODD, ROUND},
    {"cast f32 to u8", cast, ODD, ROUND},
    {"where u8, f32", where, ODD, ROUND},
    {"relu f32", relu, ODD, ROUND},
    {"add f32", add, ODD, ROUND},
    {"sum f32", sum, ODD, ROUND},
    {"dot f32", dot, ODD, ROUND},
    {"copy on the device", copy, ODD, ROUND},
    {"fill with bytes", fill, ODD, ROUND},
    {"rectangle in one buffer", rect, ODD, ROUND},
    {"relu f32 of one element", relu, 1, 64},
    {"sum f32 of one element", sum, 1, 64},
    {"copy of one byte", copy, 1, 64},
    {"fill of one byte", fill, 1, 64},
    {"kernel of one item", line, 1, 64},
};

static void measure(const struct pair *pair) {
    struct side odd = {pair->submit, 1, pair->odd}, round = {pair->submit, 0, pair->round};
    const struct way rival = {"round", side_run, &round};
    bench_contest(&(struct contest){.name = pair->name,
                                    .unit = "us",
                                    .measure = MEASURE_TIME,
                                    .ours = {"odd", side_run, &odd},
                                    .rivals = &rival,
                                    .n_rivals = 1,
                                    .bar = 1.5,
                                    .rounds = bench_options()->quick ? 5 : 25,
                                    .warm_up = 2});
}

static void set_up(const struct rig *rig) {
    const uint32_t one = 0x3f800000;
    const size_t bytes = (size_t)ROUND * 8;
    cls_program program;
    field.stream = rig_stream(rig, CLS_ORDER_AUTO);
    for (unsigned i = 0; i < 4; i++) {
        cls_buffer *buffer = i < 3 ? &field.in[i] : &field.out;
        CLS(cls_buffer_create(rig->context, bytes, buffer));
        CLS(cls_fill(*buffer, 0, bytes, &one, sizeof one, field.stream));
    }
    CLS(cls_program_from_source(rig->context, source, "sizes.cl", NULL, &program));
    CLS(cls_kernel_create(program, "advance", &field.advance));
    CLS(cls_program_destroy(program));
}

int main(int argc, char **argv) {
    struct rig rig;
    bench_begin(argc, argv, "sizes");
    rig_open(&rig);
    bench_header(&rig);
    set_up(&rig);
    bench_section("odd sizes and offsets against round ones");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        measure(&rows[i]);
    rig_close(&rig);
    return bench_end();
}
