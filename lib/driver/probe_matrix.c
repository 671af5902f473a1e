/* SPDX-License-Identifier: MIT */
/*
 * Whether products by the matrix units of a device (cl/mma.cl, cl/wgmma.cl) are right, and whether f32 gains by them. There
 * are more tiles than multiprocessors, because an order that the copies and the units lack does not show in the first tile
 * of each; and the sizes are multiples of nothing. Floats are packed, and b is transposed; inputs of 16 bits are read in
 * their place, each in another order; that the other orders are right too is for tests.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "driver/probe.h"
#include "driver/program.h"
#include "driver/source.h"
#include "system/clocks.h"

enum {
    MMA_CAPABILITY = 80, /* the first */
    WGMMA_CAPABILITY = 90,
    SIDE = 2150,      /* rows and columns */
    TERMS = 421,      /* several times what local memory holds */
    EVEN_SIDE = 2152, /* the next multiples of 8 */
    EVEN_TERMS = 424,
    STEPS = 32, /* as in cl/tiles.cl */
    ROWS = 128,
    PACKING = 256, /* work-items of a group */
    SAMPLES = 600,
    RUNS = 4
};

#define FLOATS "-w -DIN=float -DTYPE=float -DSUM=float -DW=1 "
#define BF16 "-w -DIN=bfloat16 -DTYPE=float -DSUM=float -DW=1 -DPRODUCTS=1 -DA_ORDER=0 -DB_ORDER=1"

/* A way to multiply. */
struct probe_way {
    const char *source, *options;
    const char *packing; /* options; NULL: the inputs are in their place */
    size_t columns, parts;
    size_t group;
    bool loops;     /* a group for each multiprocessor, not for each tile */
    bool is_narrow; /* of bf16 */
    bool ends;      /* has the argument */
    double error;   /* that a sum may have, relative to the sum of the magnitudes */
};

static const struct probe_way blocks = {
    "blocks.cl", FLOATS "-DSIDE=16 -DBLOCKS=2", NULL, 128, 1, 256, false, false, false, 0x1p-14};

enum { WAYS = 3 }; /* the first with the accuracy of f32 */
static const struct probe_way mma[WAYS] = {
    {"mma.cl", FLOATS "-DPRODUCTS=3", FLOATS "-DPRODUCTS=3 -DCOLUMNS=128", 128, 2, 128, false,
     false, true, 0x1p-21},
    {"mma.cl", FLOATS "-DPRODUCTS=1", FLOATS "-DPRODUCTS=1 -DCOLUMNS=128", 128, 1, 128, false,
     false, true, 0x1p-9},
    {"mma.cl", BF16, NULL, 128, 1, 128, false, true, true, 0x1p-15}};
static const struct probe_way wgmma[WAYS] = {
    {"wgmma.cl", FLOATS "-DPRODUCTS=3", FLOATS "-DPRODUCTS=3 -DCOLUMNS=128", 128, 2, 384, true,
     false, true, 0x1p-21},
    {"wgmma.cl", FLOATS "-DPRODUCTS=1", FLOATS "-DPRODUCTS=1 -DCOLUMNS=256", 256, 1, 384, true,
     false, true, 0x1p-9},
    {"wgmma.cl", BF16, NULL, 256, 1, 384, true, true, true, 0x1p-15}};

struct probe_product {
    struct probe *probe;
    float *a, *b, *c; /* SIDE x TERMS, SIDE x TERMS, SIDE x SIDE */
    cl_mem memory[4]; /* a, b, c, packed */
};

static size_t round_up(size_t n, size_t unit) { return (n + unit - 1) / unit * unit; }

static size_t packed_bytes(const struct probe_way *way) {
    const size_t rows = round_up(SIDE, ROWS) + round_up(SIDE, way->columns);
    return rows * round_up(TERMS, STEPS) * sizeof(float) * way->parts;
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
    const size_t sizes[4] = {inputs, inputs, output, packed_bytes(&mma[0])};
    p->a = malloc(inputs);
    p->b = malloc(inputs);
    p->c = malloc(output);
    bool opened = probe_did(p->probe, p->a && p->b && p->c ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY);
    for (int i = 0; i < 4 && opened; i++) {
        cl_int code;
        cl_mem memory = clCreateBuffer(p->probe->context, CL_MEM_READ_WRITE, sizes[i], NULL, &code);
        opened = probe_did(p->probe, code);
        p->memory[i] = opened ? memory : NULL;
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
    return probe_did(p->probe, code) && probe_finish(p->probe, queue, event);
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
static bool move_cut_inputs(struct probe_product *p) {
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

/* The inputs, and an output of NaN. */
static bool move_operands(struct probe_product *p, const struct probe_way *way) {
    fill(p->a, (size_t)SIDE * TERMS, 1);
    fill(p->b, (size_t)SIDE * TERMS, 2);
    if (!(way->is_narrow ? move_cut_inputs(p) : move(p, 0, p->a, true) && move(p, 1, p->b, true)))
        return false;
    memset(p->c, 0xff, (size_t)SIDE * SIDE * sizeof(float));
    return move(p, 2, p->c, true);
}

/* The program that packs, if there is one, and that which multiplies. */
struct programs {
    cl_program pack, product;
};

static bool multiply(struct probe_product *p, const struct programs *programs,
                     const struct probe_way *way) {
    const bool even = way->is_narrow;
    const cl_uint4 a_at = {{0, even ? EVEN_TERMS : TERMS, 1, 0}}, c_at = {{0, SIDE, 1, 0}};
    const cl_uint4 b_at = even ? (cl_uint4){{0, EVEN_SIDE, 1, 0}} : (cl_uint4){{0, 1, TERMS, 0}};
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
    const size_t rows = round_up(SIDE, ROWS), columns = round_up(SIDE, way->columns);
    const size_t groups =
        way->loops ? p->probe->device->info.compute_units : rows / ROWS * (columns / way->columns);
    const cl_uint first = way->packing ? 0 : 2, n = way->ends ? 12 : 11;
    return (!way->packing ||
            launch(p, programs->pack, "pack", pack, 7,
                   (rows + columns) / 32 * (round_up(TERMS, STEPS) / STEPS), PACKING)) &&
           launch(p, programs->product, "product", product + first, n - first, groups, way->group);
}

static bool is_right(const struct probe_product *p, const struct probe_way *way) {
    for (size_t s = 0; s < SAMPLES; s++) {
        const size_t i = s < 2 ? SIDE - 1 : s * 7919 % SIDE,
                     j = s < 4 ? SIDE - 1 - s : s * 104729 % SIDE;
        double sum = 0, size = 0;
        for (size_t l = 0; l < TERMS; l++) {
            const double term = (double)p->a[i * TERMS + l] * (double)p->b[j * TERMS + l];
            sum += term;
            size += fabs(term);
        }
        if (!(fabs(sum - (double)p->c[i * SIDE + j]) <= way->error * size))
            return false;
    }
    return true;
}

/* That a compiler refuses the source is an answer; that there is no memory is none. */
static bool build_product(struct probe *probe, const char *name, const char *options,
                          cl_program *program) {
    struct program_spec spec = {.name = name, .options = options};
    cls_status status = source_get(name, &spec.source);
    if (!status)
        status = program_build(probe->device, probe->context, &spec, program);
    if (status && status != CLS_ERROR_BUILD_FAILED && status != CLS_ERROR_UNSUPPORTED)
        probe_did(probe, CL_OUT_OF_HOST_MEMORY);
    return !status;
}

/* The least time of a few runs, in seconds; INFINITY: it does not run, or is wrong. */
static double time_of(struct probe_product *p, const struct probe_way *way) {
    struct programs programs = {NULL, NULL};
    uint64_t least = UINT64_MAX;
    bool right =
        (!way->packing || build_product(p->probe, "pack.cl", way->packing, &programs.pack)) &&
        build_product(p->probe, way->source, way->options, &programs.product) &&
        move_operands(p, way);
    for (int i = 0; i < RUNS && right; i++) {
        const uint64_t start = clock_now_ns();
        right = multiply(p, &programs, way);
        const uint64_t taken = clock_now_ns() - start;
        least = taken < least ? taken : least;
    }
    right = right && move(p, 2, p->c, false) && is_right(p, way);
    if (!p->probe->stuck) {
        if (programs.pack)
            program_release(programs.pack);
        if (programs.product)
            program_release(programs.product);
    }
    return right ? 1e-9 * (double)least : (double)INFINITY;
}

/* Whether all ways are right; the time of the first. */
static bool try_ways(struct probe_product *p, const struct probe_way ways[WAYS], double *first) {
    *first = time_of(p, &ways[0]);
    bool right = isfinite(*first);
    for (int i = 1; i < WAYS && right; i++)
        right = isfinite(time_of(p, &ways[i]));
    return right;
}

bool probe_may_have_units(const struct device *device) {
    return device->compute_capability >= MMA_CAPABILITY;
}

void probe_matrix_units(struct probe *probe, struct units *units) {
    struct probe_product product = {.probe = probe};
    const unsigned capability = probe->device->compute_capability;
    if (open_product(&product)) {
        double by_mma, by_wgmma = (double)INFINITY;
        units->mma = try_ways(&product, mma, &by_mma);
        units->wgmma = capability == WGMMA_CAPABILITY && try_ways(&product, wgmma, &by_wgmma);
        units->split_f32 = (units->mma || units->wgmma) &&
                           (units->wgmma ? by_wgmma : by_mma) < time_of(&product, &blocks);
    }
    close_product(&product);
}
