/* SPDX-License-Identifier: MIT */
/*
 * Whether products by the matrix units of a device (cl/tiles.cl) are right. There are more tiles than multiprocessors,
 * because an order that the copies and the units lack does not show in the first tile of each; and the sizes are multiples
 * of nothing. Floats are packed, and b is transposed; inputs of 16 bits are read in their place, each in another order; that the other
 * orders are right too is for tests.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "driver/probe.h"
#include "driver/program.h"
#include "driver/source.h"

enum {
    COMPUTE_CAPABILITY = 90,
    SIDE = 2150,      /* rows and columns */
    TERMS = 421,      /* several times what local memory holds */
    EVEN_SIDE = 2152, /* the next multiples of 8 */
    EVEN_TERMS = 424,
    STEPS = 32, /* as in cl/tiles.cl */
    ROWS = 128,
    PACKING = 256, /* work-items of a group */
    MULTIPLYING = 384,
    SAMPLES = 600
};

/* A way to multiply, and the error of a sum that it may have, relative to the sum of the magnitudes. */
static const struct math {
    const char *options;
    size_t columns, parts; /* parts of 0: bf16 in its place */
    double error;
} maths[] = {
    {"-w -DIN=float -DTYPE=float -DSUM=float -DW=1 -DPRODUCTS=3", 128, 2, 0x1p-21},
    {"-w -DIN=float -DTYPE=float -DSUM=float -DW=1 -DPRODUCTS=1", 256, 1, 0x1p-9},
    {"-w -DIN=bfloat16 -DTYPE=float -DSUM=float -DW=1 -DPRODUCTS=1 -DA_ORDER=0 -DB_ORDER=1", 256, 0,
     0x1p-15}};

struct probe_product {
    struct probe *probe;
    float *a, *b, *c; /* SIDE x TERMS, SIDE x TERMS, SIDE x SIDE */
    cl_mem memory[4]; /* a, b, c, packed */
};

static size_t round_up(size_t n, size_t unit) { return (n + unit - 1) / unit * unit; }

static size_t packed_bytes(const struct math *math) {
    const size_t rows = round_up(SIDE, ROWS) + round_up(SIDE, math->columns);
    return rows * round_up(TERMS, STEPS) * sizeof(float) * math->parts;
}

static void fill(float *x, size_t n, uint32_t seed) {
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = ldexpf((float)(int32_t)seed, -31);
    }
}

static bool open_product(struct probe_product *p) {
    const size_t inputs = (size_t)SIDE * TERMS * sizeof(float),
                 output = (size_t)SIDE * SIDE * sizeof(float);
    const size_t sizes[4] = {inputs, inputs, output, packed_bytes(&maths[0])};
    p->a = malloc(inputs);
    p->b = malloc(inputs);
    p->c = malloc(output);
    bool opened = p->a && p->b && p->c;
    for (int i = 0; i < 4 && opened; i++) {
        cl_int code;
        p->memory[i] = clCreateBuffer(p->probe->context, CL_MEM_READ_WRITE, sizes[i], NULL, &code);
        if (code != CL_SUCCESS)
            p->memory[i] = NULL;
        opened = p->memory[i] != NULL;
    }
    if (opened) {
        fill(p->a, (size_t)SIDE * TERMS, 1);
        fill(p->b, (size_t)SIDE * TERMS, 2);
    }
    return opened;
}

static void close_product(struct probe_product *p) {
    for (int i = 0; i < 4; i++)
        if (p->memory[i] && !p->probe->stuck)
            clReleaseMemObject(p->memory[i]);
    probe_free(p->probe, p->a);
    probe_free(p->probe, p->b);
    probe_free(p->probe, p->c);
}

static bool move(struct probe_product *p, int which, float *host, bool write) {
    const cl_command_queue queue = p->probe->queues[0];
    const size_t bytes = (size_t)SIDE * (which == 2 ? SIDE : TERMS) * sizeof(float);
    cl_event event = NULL;
    const cl_int code = write ? clEnqueueWriteBuffer(queue, p->memory[which], CL_FALSE, 0, bytes,
                                                     host, 0, NULL, &event)
                              : clEnqueueReadBuffer(queue, p->memory[which], CL_FALSE, 0, bytes,
                                                    host, 0, NULL, &event);
    return code == CL_SUCCESS && probe_finish(p->probe, queue, event);
}

struct argument {
    size_t size;
    const void *value;
};

static bool launch(struct probe_product *p, cl_program program, const char *name,
                   const struct argument *args, cl_uint n, size_t groups, size_t group) {
    const size_t items = groups * group;
    cl_int code;
    cl_event event = NULL;
    cl_kernel kernel = clCreateKernel(program, name, &code);
    if (code != CL_SUCCESS)
        return false;
    for (cl_uint i = 0; i < n && code == CL_SUCCESS; i++)
        code = clSetKernelArg(kernel, i, args[i].size, args[i].value);
    if (code == CL_SUCCESS)
        code = clEnqueueNDRangeKernel(p->probe->queues[0], kernel, 1, NULL, &items, &group, 0, NULL,
                                      &event);
    const bool ran = code == CL_SUCCESS && probe_finish(p->probe, p->probe->queues[0], event);
    if (!p->probe->stuck)
        clReleaseKernel(kernel);
    return ran;
}

#define ARGUMENT(x) \
    { sizeof(x), &(x) }

/* The upper half of a float is a bf16; the other half is cut off here too. */
static uint16_t cut_to_bf16(float *x) {
    uint32_t bits;
    memcpy(&bits, x, sizeof bits);
    bits &= 0xffff0000;
    memcpy(x, &bits, sizeof bits);
    return (uint16_t)(bits >> 16);
}

/* Makes a and b bf16: a by rows, b with its columns side by side. */
static bool cut_inputs(struct probe_product *p) {
    uint16_t *const narrow = (uint16_t *)p->c;
    for (size_t i = 0; i < SIDE; i++)
        for (size_t l = 0; l < TERMS; l++)
            narrow[i * EVEN_TERMS + l] = cut_to_bf16(&p->a[i * TERMS + l]);
    if (!move(p, 0, p->c, true))
        return false;
    for (size_t j = 0; j < SIDE; j++)
        for (size_t l = 0; l < TERMS; l++)
            narrow[l * EVEN_SIDE + j] = cut_to_bf16(&p->b[j * TERMS + l]);
    return move(p, 1, p->c, true);
}

static bool multiply(struct probe_product *p, cl_program program, const struct math *math) {
    const bool packed = math->parts;
    const cl_uint4 a_at = {{0, packed ? TERMS : EVEN_TERMS, 1, 0}}, c_at = {{0, SIDE, 1, 0}};
    const cl_uint4 b_at = packed ? (cl_uint4){{0, 1, TERMS, 0}} : (cl_uint4){{0, EVEN_SIDE, 1, 0}};
    const cl_uint4 shape = {{SIDE, SIDE, TERMS, 1}};
    const cl_uint2 sets = {{1, 1}}, ends = {{1, 0}};
    const float alpha = 1, beta = 0;
    cl_mem *m = p->memory;
    const struct argument pack[] = {ARGUMENT(m[0]), ARGUMENT(a_at),  ARGUMENT(m[1]), ARGUMENT(b_at),
                                    ARGUMENT(m[3]), ARGUMENT(shape), ARGUMENT(sets)};
    const struct argument product[] = {ARGUMENT(m[3]),  ARGUMENT(sets), ARGUMENT(m[0]),
                                       ARGUMENT(a_at),  ARGUMENT(m[1]), ARGUMENT(b_at),
                                       ARGUMENT(m[2]),  ARGUMENT(c_at), ARGUMENT(shape),
                                       ARGUMENT(alpha), ARGUMENT(beta), ARGUMENT(ends)};
    const size_t strips = (round_up(SIDE, ROWS) + round_up(SIDE, math->columns)) / 32;
    const cl_uint first = packed ? 0 : 2;
    return (!packed || launch(p, program, "pack", pack, 7,
                              strips * (round_up(TERMS, STEPS) / STEPS), PACKING)) &&
           launch(p, program, "product", product + first, 12 - first,
                  p->probe->device->info.compute_units, MULTIPLYING);
}

static bool is_right(const struct probe_product *p, const struct math *math) {
    for (size_t s = 0; s < SAMPLES; s++) {
        const size_t i = s < 2 ? SIDE - 1 : s * 7919 % SIDE,
                     j = s < 4 ? SIDE - 1 - s : s * 104729 % SIDE;
        double sum = 0, size = 0;
        for (size_t l = 0; l < TERMS; l++) {
            const double term = (double)p->a[i * TERMS + l] * (double)p->b[j * TERMS + l];
            sum += term;
            size += fabs(term);
        }
        if (!(fabs(sum - (double)p->c[i * SIDE + j]) <= math->error * size))
            return false;
    }
    return true;
}

static bool try_math(struct probe_product *p, const struct math *math) {
    struct program_spec spec = {.name = "tiles.cl", .options = math->options};
    cl_program program;
    if (source_get("tiles.cl", &spec.source) ||
        program_build(p->probe->device, p->probe->context, &spec, &program))
        return false;
    const bool ready = math->parts || cut_inputs(p);
    memset(p->c, 0xff, (size_t)SIDE * SIDE * sizeof(float)); /* NaN */
    const bool right = ready && move(p, 2, p->c, true) && multiply(p, program, math) &&
                       move(p, 2, p->c, false) && is_right(p, math);
    if (!p->probe->stuck)
        program_release(program);
    return right;
}

void probe_matrix_units(struct probe *probe, struct caps *caps) {
    struct probe_product product = {.probe = probe};
    if (probe->stuck || probe->device->compute_capability != COMPUTE_CAPABILITY)
        return;
    caps->matrix_units = open_product(&product) && move(&product, 0, product.a, true) &&
                         move(&product, 1, product.b, true);
    for (size_t i = 0; i < sizeof maths / sizeof *maths && caps->matrix_units; i++)
        caps->matrix_units = try_math(&product, &maths[i]);
    close_product(&product);
}
