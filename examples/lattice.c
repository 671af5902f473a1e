/* SPDX-License-Identifier: MIT */
/*
 * A fluid on a lattice (Boltzmann, D2Q9), in one context and in slabs over two. After a step each slab takes from its
 * neighbours the directions that enter it: a rectangle of three slices, from buffer to buffer. Events order all of it.
 */
#include <clstream.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = 256, HEIGHT = 256, ROW = 4 * WIDTH, DIRECTIONS = 9, MOST = 2, UP = 3, DOWN = 6 };

/* A plane for each direction, with a row of a neighbour before and after the slab's. 3 to 5 go up, 6 to 8 down. */
static const char source[] =
    "constant int cx[9] = {0, 1, -1, 0, 1, -1, 0, 1, -1}, cy[9] = {0, 0, 0, 1, 1, 1, -1, -1, -1};\n"
    "constant float weight[9] = {16/36.f, 4/36.f, 4/36.f, 4/36.f, 1/36.f, 1/36.f, 4/36.f, 1/36.f, 1/36.f};\n"
    "kernel void begin(global float *f, int first) {\n"
    "    int x = get_global_id(0), y = get_global_id(1), n = get_global_size(0) * get_global_size(1);\n"
    "    for (int q = 0; q < 9; q++)\n"
    "        f[q * n + y * get_global_size(0) + x] = weight[q] * (1 + (x * 7 + (first + y) % 256 * 13) % 17 / 64.f);\n"
    "}\n"
    "kernel void advance(global const float *from, global float *to) {\n"
    "    int x = get_global_id(0), y = get_global_id(1) + 1, w = get_global_size(0);\n"
    "    int plane = w * (get_global_size(1) + 2);\n"
    "    float f[9], n = 0, u = 0, v = 0;\n"
    "    for (int q = 0; q < 9; q++)\n"
    "        f[q] = from[q * plane + (y - cy[q]) * w + (x - cx[q] + w) % w],\n"
    "        n += f[q], u += cx[q] * f[q], v += cy[q] * f[q];\n"
    "    for (int q = 0; q < 9; q++) {\n"
    "        float c = 3 * (cx[q] * u + cy[q] * v) / n, square = (u * u + v * v) / (n * n);\n"
    "        to[q * plane + y * w + x] = f[q] + 1.2f * (weight[q] * n * (1 + c + c * c / 2 - 1.5f * square) - f[q]);\n"
    "    }\n"
    "}\n";

static struct slab {
    cls_stream stream;
    cls_kernel kernel;
    cls_buffer f[2];
    cls_event stepped, received;
} slabs[MOST];

static void must(cls_status status) {
    if (status) {
        fprintf(stderr, "%s: %s\n", cls_status_string(status), cls_last_error_detail());
        _Exit(1);
    }
}

static void open_slab(struct slab *slab, cls_context context, size_t first, size_t rows) {
    cls_program program;
    cls_kernel begin;
    must(cls_program_from_source(context, source, "lattice.cl", NULL, &program));
    must(cls_kernel_create(program, "begin", &begin));
    must(cls_kernel_create(program, "advance", &slab->kernel));
    must(cls_stream_create(context, NULL, &slab->stream));
    must(cls_event_create(context, NULL, &slab->stepped));
    must(cls_event_create(context, NULL, &slab->received));
    for (int i = 0; i < 2; i++)
        must(cls_buffer_create(context, DIRECTIONS * ROW * (rows + 2), &slab->f[i]));
    const cls_launch all = cls_launch_2d(WIDTH, rows + 2);
    const cls_arg args[] = {cls_arg_buffer(slab->f[0]), cls_arg_i32((int)(first + HEIGHT - 1))};
    must(cls_kernel_launch_async(begin, &all, args, 2, slab->stream));
}

static void advance(struct slab *slab, size_t n, int now) {
    const cls_launch launch = cls_launch_2d(WIDTH, HEIGHT / n);
    const cls_arg args[] = {cls_arg_buffer(slab->f[!now]), cls_arg_buffer(slab->f[now])};
    for (size_t i = 0; i < n; i++) /* they have taken what this step overwrites */
        must(cls_stream_wait_event(slab->stream, slabs[i].received));
    must(cls_kernel_launch_async(slab->kernel, &launch, args, 2, slab->stream));
    must(cls_event_record(slab->stepped, slab->stream));
}

static void take(struct slab *slab, struct slab *other, int now, const cls_rect *rect) {
    must(cls_stream_wait_event(slab->stream, other->stepped));
    must(cls_copy_rect_d2d_async(slab->f[now], other->f[now], rect, slab->stream));
}

static void run(const cls_context *contexts, size_t n, int steps, float *out) {
    const size_t rows = HEIGHT / n, plane = ROW * (rows + 2), up = UP * plane, down = DOWN * plane;
    const cls_rect below = {ROW, 1, up, ROW, up + rows * ROW, ROW, 3, plane, plane};
    const cls_rect above = {ROW, 1, down + (rows + 1) * ROW, ROW, down + ROW, ROW, 3, plane, plane};
    for (size_t i = 0; i < n; i++)
        open_slab(&slabs[i], contexts[i], i * rows, rows);
    for (int t = 1; t <= steps; t++) {
        for (size_t i = 0; i < n; i++)
            advance(&slabs[i], n, t & 1);
        for (size_t i = 0; i < n; i++) {
            take(&slabs[i], &slabs[(i + n - 1) % n], t & 1, &below);
            take(&slabs[i], &slabs[(i + 1) % n], t & 1, &above);
            must(cls_event_record(slabs[i].received, slabs[i].stream));
        }
    }
    const cls_rect rect = {ROW * rows, DIRECTIONS, 0, ROW * HEIGHT, ROW, plane, 0, 0, 0};
    for (size_t i = 0; i < n; i++, out += rows * WIDTH)
        must(cls_copy_rect_d2h(out, slabs[i].f[steps & 1], &rect, slabs[i].stream));
}

int main(int argc, char **argv) {
    static float alone[DIRECTIONS * WIDTH * HEIGHT], together[DIRECTIONS * WIDTH * HEIGHT];
    const int steps = argc > 1 && !strcmp(argv[1], "--quick") ? 20 : 1000;
    cls_context contexts[MOST];
    cls_context_config config = CLS_CONTEXT_CONFIG_INIT;
    char number[24];
    size_t first, count;
    double mass = 0, most = 0;
    must(cls_context_create(&config, &contexts[0]));
    must(cls_context_get_device(contexts[0], &first));
    must(cls_device_count(&count));
    snprintf(number, sizeof number, "%zu", (first + 1) % count);
    config.device = number; /* the next device, or the same where there is one only */
    must(cls_context_create(&config, &contexts[1]));
    run(contexts, 1, steps, alone);
    run(contexts, 2, steps, together);
    for (size_t i = 0; i < DIRECTIONS * WIDTH * HEIGHT; i++)
        mass += (double)alone[i], most = fmax(most, fabs((double)(alone[i] - together[i])));
    printf("%d steps; mass %.1f; one slab and two differ by %g at most\n", steps, mass, most);
    return most > 1e-5;
}
