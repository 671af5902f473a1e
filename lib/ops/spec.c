/* SPDX-License-Identifier: MIT */
#include "ops/spec.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/types.h"
#include "ops/blas.h"
#include "ops/spec_slot.h"

const char *const shape_macros[SHAPES] = {
    [SHAPE_ALIGNED] = "ALIGNED", [SHAPE_ANYWHERE] = "ANYWHERE", [SHAPE_RUNS] = "RUNS"};

/* The elements of one CPU work-item: 8,192 are a few microseconds of work, and 512 steps stay far below the 65,535
 * at which a driver stops counting. */
enum {
    RUN_VECTOR = 16,
    RUN_STEPS = 512,
    ACROSS = 8 /* that a CPU's work-item adds up beside each other: half a KiB of each row */
};

static spec_slot map_slots[OP_ROWS][TYPES][TYPES][SHAPES];
static spec_slot reduction_slots[OP_ROWS][TYPES][SHAPES][STAGES];

static const char *const family_names[] = {
    "CAST", "WHERE", "UNARY", "UNARY_PARAM", "BINARY", "REDUCE", "DOT",
};
_Static_assert(sizeof family_names / sizeof *family_names == OP_FAMILIES,
               "one name for each family");

cls_status spec_publish(spec_slot *at, struct spec *made, const struct spec **found) {
    struct spec *expected = NULL;
    if (!made)
        return CLS_ERROR_OUT_OF_MEMORY;
    *found = made;
    if (!atomic_compare_exchange_strong(at, &expected, made)) {
        free(made);
        *found = expected;
    }
    return CLS_SUCCESS;
}

struct spec *spec_new(const char *source, const char *entry) {
    struct spec *spec = calloc(1, sizeof *spec);
    if (!spec) {
        error_no_memory("for a kernel's options");
        return NULL;
    }
    spec->kernel.source = source;
    spec->kernel.entry = entry;
    spec->kernel.options = spec->options;
    spec->kernel.label = spec->label;
    return spec;
}

unsigned spec_aligned_vector(size_t largest, size_t out) {
    size_t by_store = 16 / out, by_load = 64 / largest;
    return (unsigned)(by_store < by_load ? by_store : by_load);
}

/* For unaligned arrays; more than four accesses per work-item were slower on a GPU. */
static unsigned anywhere_vector(size_t largest) {
    return largest >= 4 ? (unsigned)(16 / largest) : 4;
}

static void shape_map(struct spec *spec, enum shape shape, size_t a, size_t out, bool heavy) {
    const size_t largest = a > out ? a : out;
    spec->steps = shape == SHAPE_RUNS ? RUN_STEPS : 1;
    /* Independent vectors per work-item hide the latency of functions, as far as registers go. Operations that
     * only move data run faster with more, smaller work-items. */
    spec->batch = shape == SHAPE_RUNS || !heavy ? 1 : largest < 8 ? 4 : 2;
    switch (shape) {
    case SHAPE_RUNS:
        spec->vector = RUN_VECTOR;
        spec->local = 1;
        return;
    case SHAPE_ALIGNED:
        spec->vector = spec_aligned_vector(largest, out);
        break;
    case SHAPE_ANYWHERE:
        spec->vector = anywhere_vector(largest);
        break;
    case SHAPES: /* their number */
        break;
    }
    /* Groups of 128 keep most bytes in flight; but groups of less than 20 bytes a work-item come
     * slower than a big GPU retires them. Those of functions read 4 KB: with 8 they are slower by 3%,
     * with 16 by up to a tenth. */
    spec->local = heavy ? 256 / spec->batch : spec->vector * (a + out) < 20 ? 256 : 128;
}

static void label_map(struct spec *spec, const struct op_row *row, const struct type_row *a,
                      const struct type_row *out) {
    const bool both = row->family == OP_CAST || row->family == OP_WHERE;
    snprintf(spec->label, sizeof spec->label, "%s_%s%s%s", row->name, a->name, both ? "_" : "",
             both ? out->name : "");
}

static struct spec *map_spec_new(const struct op_row *row, const struct type_row *a,
                                 const struct type_row *out, enum shape shape) {
    struct spec *spec = spec_new("map.cl", "map");
    if (!spec)
        return NULL;
    const bool functions = row->family == OP_UNARY || row->family == OP_UNARY_PARAM;
    shape_map(spec, shape, a->size, out->size, functions && row->floats_only);
    label_map(spec, row, a, out);
    /* Operations that only move bits share one program for all types of a size. */
    const bool copies = row == op_row_named(OP_UNARY, "copy");
    const char *out_name = copies || row->family == OP_WHERE ? out->bits : out->opencl;
    const char *a_name = copies ? a->bits : a->opencl;
    snprintf(
        spec->options, sizeof spec->options,
        "-w -D%s -DOP=op_%s -DUSES_%s -DA=%s -DB=%s -DOUT=%s -DW=%u -DBATCH=%u -DSTEPS=%u -D%s",
        family_names[row->family], row->name, row->name, a_name,
        row->family == OP_WHERE ? out_name : a_name, out_name, spec->vector, spec->batch,
        spec->steps, shape_macros[shape]);
    return spec;
}

cls_status spec_of_map(const struct op_row *row, cls_dtype a_dtype, cls_dtype out_dtype,
                       enum shape shape, const struct spec **out_spec) {
    const struct type_row *a = type_row(a_dtype), *out = type_row(out_dtype);
    spec_slot *at = &map_slots[op_row_index(row)][a->index][out->index][shape];
    *out_spec = atomic_load(at);
    return *out_spec ? CLS_SUCCESS : spec_publish(at, map_spec_new(row, a, out, shape), out_spec);
}

/* Two 16-byte loads per work-item in flight, where the arrays are aligned for them. */
static void shape_reduction(struct spec *spec, enum shape shape, size_t size, bool one_by_one) {
    const unsigned two_loads = size > 1 ? (unsigned)(32 / size) : 16;
    spec->local = shape == SHAPE_RUNS ? 1 : 256;
    spec->batch = 1;
    spec->vector = shape == SHAPE_RUNS      ? RUN_VECTOR
                   : shape == SHAPE_ALIGNED ? two_loads
                                            : anywhere_vector(size);
    if (one_by_one)
        spec->vector = 1;
}

static const struct {
    const char *kernel, *label;
} stages[STAGES] = {
    [STAGE_PART] = {"reduce_part", ""},
    [STAGE_FINISH] = {"reduce_finish", " (finish)"},
    [STAGE_ROWS] = {"reduce_rows", " of rows"},
    [STAGE_ACROSS] = {"reduce_across", " across"},
    [STAGE_LINES_FINISH] = {"reduce_lines_finish", " of parts"},
    [STAGE_STRIDED_ROWS] = {"reduce_strided_rows", " of views"},
    [STAGE_STRIDED_ACROSS] = {"reduce_strided_across", " of views across"},
    [STAGE_STRIDED_FINISH] = {"reduce_strided_finish", " of parts"},
};

static struct spec *reduction_spec_new(const struct op_row *row, const struct type_row *a,
                                       enum shape shape, enum reduction_stage stage) {
    const struct type_row *out = type_row(op_result_dtype(row, a->dtype));
    struct spec *spec = spec_new(stage >= STAGE_STRIDED_ROWS ? "strided_reduce.cl" : "reduce.cl",
                                 stages[stage].kernel);
    if (!spec)
        return NULL;
    shape_reduction(spec, shape, a->size, row->result == RESULT_INDEX);
    spec->batch = shape == SHAPE_RUNS ? ACROSS : 1;
    snprintf(spec->label, sizeof spec->label, "%s_%s%s", row->name, a->name, stages[stage].label);
    int n =
        snprintf(spec->options, sizeof spec->options, "-w -DOP_%s -DA=%s -DOUT=%s -DW=%u%s%s%s",
                 row->name, a->opencl, out->opencl, spec->vector, a->is_float ? " -DFLOATS" : "",
                 a->dtype == CLS_F64 || out->dtype == CLS_F64 ? " -DDOUBLES" : "",
                 shape == SHAPE_ALIGNED ? " -DALIGNED" : "");
    if (stage >= STAGE_ROWS)
        snprintf(spec->options + n, sizeof spec->options - (size_t)n, " -DLINES=%u", spec->batch);
    return spec;
}

cls_status spec_of_reduction(const struct op_row *row, cls_dtype a_dtype, enum shape shape,
                             enum reduction_stage stage, const struct spec **out_spec) {
    const struct type_row *a = type_row(a_dtype);
    spec_slot *at = &reduction_slots[op_row_index(row)][a->index][shape][stage];
    *out_spec = atomic_load(at);
    return *out_spec ? CLS_SUCCESS
                     : spec_publish(at, reduction_spec_new(row, a, shape, stage), out_spec);
}

#define TILE_PRODUCTS                                                               \
    "PRODUCTS=3", "PRODUCTS=1", "PRODUCTS=1 -DA_ORDER=0 -DB_ORDER=0",               \
        "PRODUCTS=1 -DA_ORDER=0 -DB_ORDER=1", "PRODUCTS=1 -DA_ORDER=1 -DB_ORDER=0", \
        "PRODUCTS=1 -DA_ORDER=1 -DB_ORDER=1"

static const struct {
    const char *source, *entry, *name;
    bool ends; /* writes what the epilogue gives */
    const char *variants[PRODUCT_VARIANTS];
} products[PRODUCT_KERNELS] = {
    [PANEL_PACK] = {"panels.cl", "pack", "gemm_pack", false, {NULL}},
    [PANEL_PACKED] = {"panels.cl", "product_packed", "gemm", true, {NULL}},
    [PANEL_DIRECT] = {"panels.cl", "product", "gemm", true, {NULL}},
    [PANEL_VECTOR] = {"panels.cl", "product_by_vector", "gemv", true, {NULL}},
    [TILE_PACK] = {"pack.cl",
                   "pack",
                   "gemm_pack",
                   false,
                   {"PRODUCTS=3 -DCOLUMNS=128", "PRODUCTS=1 -DCOLUMNS=128",
                    "PRODUCTS=1 -DCOLUMNS=256"}},
    [MMA_PRODUCT] = {"mma.cl", "product", "gemm", true, {TILE_PRODUCTS}},
    [WGMMA_PRODUCT] = {"wgmma.cl", "product", "gemm", true, {TILE_PRODUCTS}},
    [BLOCK_PRODUCT] = {"blocks.cl",
                       "product",
                       "gemm",
                       true,
                       {"SIDE=8 -DBLOCKS=1", "SIDE=16 -DBLOCKS=1", "SIDE=16 -DBLOCKS=2"}},
    [SCALE] = {"scale.cl", "scale", "blas_scale", true, {"SCALE"}}};

static void label_product(struct spec *spec, enum product_kernel which, const char *in,
                          const char *out, const struct epilogue *epilogue) {
    const char *const activation = epilogue->activation ? epilogue->activation->name : "";
    snprintf(spec->label, sizeof spec->label, "%s%s%s%s_%s%s%s", products[which].name,
             epilogue->has_bias ? "_bias" : "", *activation ? "_" : "", activation, in,
             out == in ? "" : "_", out == in ? "" : out);
}

static struct spec *product_spec_new(enum product_kernel which, enum product_variant variant,
                                     const struct type_row *in, const struct type_row *out,
                                     const struct epilogue *epilogue) {
    const char *const activation = epilogue->activation ? epilogue->activation->name : "";
    const char *const own = products[which].variants[variant];
    const bool doubles = out->dtype == CLS_F64;
    const bool tf32 =
        which >= TILE_PACK && which <= WGMMA_PRODUCT && variant != SPLIT_INPUTS && in->size == 4;
    struct spec *spec = spec_new(products[which].source, products[which].entry);
    if (!spec)
        return NULL;
    spec->vector = own ? 1 : (16u << variant) / (doubles ? 8 : 4);
    spec->local = 1;
    label_product(spec, which, tf32 ? "tf32" : in->name,
                  in == out ? (tf32 ? "tf32" : in->name) : out->name, epilogue);
    snprintf(spec->options, sizeof spec->options,
             "-w -DIN=%s -DTYPE=%s -DSUM=%s -DW=%u%s%s%s%s%s%s%s", in->opencl, out->opencl,
             doubles ? "double -DDOUBLES" : "float", spec->vector, own ? " -D" : "", own ? own : "",
             epilogue->has_bias ? " -DBIAS" : "", *activation ? " -DOP=op_" : "", activation,
             *activation ? " -DUSES_" : "", activation);
    return spec;
}

/* Of the types of products. */
static unsigned product_type_index(cls_dtype dtype) {
    return dtype == CLS_F32 ? 0 : dtype == CLS_F64 ? 1 : dtype == CLS_F16 ? 2 : 3;
}

cls_status spec_of_product(enum product_kernel which, enum product_variant variant, cls_dtype in,
                           cls_dtype out, const struct epilogue *epilogue,
                           const struct spec **found) {
    static spec_slot slots[PRODUCT_KERNELS][PRODUCT_VARIANTS][4][2][2][1 + OP_ROWS];
    static const struct epilogue none = {false, NULL};
    if (!products[which].ends)
        epilogue = &none;
    spec_slot *at = &slots[which][variant][product_type_index(in)][in == out][epilogue->has_bias]
                          [epilogue->activation ? 1 + op_row_index(epilogue->activation) : 0];
    *found = atomic_load(at);
    return *found ? CLS_SUCCESS
                  : spec_publish(
                        at, product_spec_new(which, variant, type_row(in), type_row(out), epilogue),
                        found);
}

static const char *const row_ops[ROW_OPS] = {[ROW_SOFTMAX] = "softmax",
                                             [ROW_LOG_SOFTMAX] = "log_softmax",
                                             [ROW_SOFTMAX_GRADIENT] = "softmax_gradient",
                                             [ROW_LOG_SOFTMAX_GRADIENT] = "log_softmax_gradient",
                                             [ROW_CROSS_ENTROPY] = "cross_entropy",
                                             [ROW_CROSS_ENTROPY_GRADIENT] =
                                                 "cross_entropy_gradient",
                                             [ROW_LAYER_NORM] = "layer_norm",
                                             [ROW_RMS_NORM] = "rms_norm",
                                             [ROW_LAYER_NORM_GRADIENT] = "layer_norm_gradient",
                                             [ROW_RMS_NORM_GRADIENT] = "rms_norm_gradient"};

/* Of a row that is read element by element: each of them is unrolled code, which compilers get wrong when there is too
 * much of it (PoCL 3.1's from 32 on). */
enum { MOST_SINGLE = 16 };

/* Items of a group, and the bytes that each keeps of a row. */
static const struct {
    unsigned local, bytes;
} row_ways[ROW_WAYS] = {[ROWS_BY_ITEM] = {1, 0},
                        [ROWS_KEPT] = {256, 64},
                        [ROWS_KEPT_256] = {256, 128},
                        [ROWS_RING_64] = {1024, 64},
                        [ROWS_RING_128] = {1024, 128},
                        [ROWS_KEPT_512] = {512, 128},
                        [ROWS_READ_TWICE_1024] = {1024, 0},
                        [ROWS_READ_TWICE] = {256, 0}};

/* The ring, and for the team's merges two numbers of each item. */
size_t row_ring_bytes(enum row_way way) {
    return row_way_is_ring(way) ? row_ways[way].local * (row_ways[way].bytes + 2 * sizeof(double))
                                : 0;
}

/* Elements that an item keeps in registers: not more numbers of 4 bytes, of all that it has for each, than registers are for. */
static unsigned elements_kept(enum row_op op, const struct type_row *type, enum row_way way) {
    enum { MOST = 32 };
    const bool has_more = op == ROW_SOFTMAX_GRADIENT || op == ROW_LOG_SOFTMAX_GRADIENT ||
                          op == ROW_LAYER_NORM_GRADIENT || op == ROW_RMS_NORM_GRADIENT;
    const unsigned most = has_more ? MOST / 2 : MOST;
    const unsigned all = row_ways[way].bytes / (unsigned)type->size;
    return all < most || row_way_is_ring(way) ? all : most;
}

static struct spec *rows_spec_new(enum row_op op, const struct type_row *type, enum row_way way,
                                  bool aligned) {
    const bool doubles = type->dtype == CLS_F64;
    struct spec *spec = spec_new("rows.cl", "rows");
    char shape[48] = "RUNS";
    if (!spec)
        return NULL;
    spec->vector = way == ROWS_BY_ITEM ? RUN_VECTOR : aligned ? (unsigned)(16 / type->size) : 1;
    spec->batch = elements_kept(op, type, way);
    if (spec->vector == 1 && spec->batch > MOST_SINGLE && !row_way_is_ring(way))
        spec->batch = MOST_SINGLE;
    spec->local = row_ways[way].local;
    spec->steps = row_way_is_ring(way);
    if (row_way_is_ring(way))
        snprintf(shape, sizeof shape, "GROUP=%u -DEACH=0 -DRING=%u", spec->local, spec->batch);
    else if (way != ROWS_BY_ITEM)
        snprintf(shape, sizeof shape, "GROUP=%u -DEACH=%u", spec->local, spec->batch);
    snprintf(spec->label, sizeof spec->label, "%s_%s", row_ops[op], type->name);
    snprintf(spec->options, sizeof spec->options, "-w -DROW_%s -DTYPE=%s -DSUM=%s -DW=%u -D%s",
             row_ops[op], type->opencl, doubles ? "double" : "float", spec->vector, shape);
    return spec;
}

cls_status spec_of_rows(enum row_op op, cls_dtype dtype, enum row_way way, bool aligned,
                        const struct spec **found) {
    static spec_slot slots[ROW_OPS][4][ROW_WAYS][2];
    spec_slot *at = &slots[op][product_type_index(dtype)][way][aligned];
    *found = atomic_load(at);
    return *found ? CLS_SUCCESS
                  : spec_publish(at, rows_spec_new(op, type_row(dtype), way, aligned), found);
}

static struct spec *row_sums_spec_new(const struct type_row *type, unsigned n_sums) {
    struct spec *spec = spec_new("row_sums.cl", "merge_row_sums");
    if (!spec)
        return NULL;
    snprintf(spec->label, sizeof spec->label, "norm_gradient_%s (finish)", type->name);
    snprintf(spec->options, sizeof spec->options, "-DTYPE=%s -DSUM=%s -DSUMS=%u -DW=1",
             type->opencl, type->dtype == CLS_F64 ? "double -DDOUBLES" : "float", n_sums);
    return spec;
}

cls_status spec_of_row_sums(cls_dtype dtype, unsigned n_sums, const struct spec **found) {
    static spec_slot slots[4][2];
    spec_slot *at = &slots[product_type_index(dtype)][n_sums - 1];
    *found = atomic_load(at);
    return *found ? CLS_SUCCESS
                  : spec_publish(at, row_sums_spec_new(type_row(dtype), n_sums), found);
}

/* --- matrices --- */

enum { MATRIX_ROWS = 4 }; /* of a GPU's work-item, which keeps as many loads in flight */

static struct spec *matrix_spec_new(const struct matrix_op *op, enum shape shape, bool one_by_one) {
    static const char *const macros[] = {"", " -DROW", " -DCOLUMN"};
    static const char *const names[] = {"matrix", "rows", "columns"};
    const struct type_row *a = type_row(op->a), *out = type_row(op->out);
    const bool copies = op->row->family == OP_UNARY, casts = op->row->family == OP_CAST;
    const char *a_name = copies ? a->bits : a->opencl;
    struct spec *spec = spec_new("matrix.cl", "map_matrix");
    if (!spec)
        return NULL;
    shape_map(spec, shape, a->size, out->size, false);
    spec->vector = one_by_one ? 1 : spec->vector;
    spec->batch = shape == SHAPE_RUNS ? 1 : MATRIX_ROWS;
    snprintf(spec->label, sizeof spec->label, "%s_%s%s_%s%s%s", op->row->name, names[op->vector],
             op->is_reversed ? "_reversed" : "", a->name, casts ? "_" : "", casts ? out->name : "");
    snprintf(spec->options, sizeof spec->options,
             "-w -D%s -DOP=op_%s -DUSES_%s -DA=%s -DB=%s -DOUT=%s -DW=%u -DBATCH=%u -D%s%s%s",
             family_names[op->row->family], op->row->name, op->row->name, a_name, a_name,
             copies ? a_name : out->opencl, spec->vector, spec->batch, shape_macros[shape],
             macros[op->vector], op->is_reversed ? " -DREVERSED" : "");
    return spec;
}

cls_status spec_of_matrix(const struct matrix_op *op, enum shape shape, size_t columns,
                          const struct spec **found) {
    static spec_slot casts[TYPES][TYPES][SHAPES][2],
        others[OP_ROWS][TYPES][MATRIX_VECTORS][2][SHAPES][2];
    const unsigned a = type_row(op->a)->index, out = type_row(op->out)->index;
    const bool one_by_one = shape == SHAPE_RUNS && columns < RUN_VECTOR;
    spec_slot *at =
        op->row->family == OP_CAST
            ? &casts[a][out][shape][one_by_one]
            : &others[op_row_index(op->row)][a][op->vector][op->is_reversed][shape][one_by_one];
    *found = atomic_load(at);
    return *found ? CLS_SUCCESS : spec_publish(at, matrix_spec_new(op, shape, one_by_one), found);
}

static struct spec *strided_spec_new(const struct op_row *row, const struct type_row *a,
                                     const struct type_row *out, enum shape shape,
                                     bool one_by_one) {
    const bool copies = row == op_row_named(OP_UNARY, "copy"), where = row->family == OP_WHERE;
    const bool has_two_types = where || row->family == OP_CAST;
    const char *a_name = copies ? a->bits : a->opencl;
    const char *out_name = copies || where ? out->bits : out->opencl;
    struct spec *spec = spec_new("strided.cl", "map_strided");
    if (!spec)
        return NULL;
    shape_map(spec, shape, a->size, out->size, false);
    spec->vector = one_by_one ? 1 : spec->vector;
    spec->batch = 1;
    snprintf(spec->label, sizeof spec->label, "%s_strided_%s%s%s", row->name, a->name,
             has_two_types ? "_" : "", has_two_types ? out->name : "");
    snprintf(spec->options, sizeof spec->options,
             "-w -D%s -DOP=op_%s -DUSES_%s -DA=%s -DB=%s -DOUT=%s -DW=%u -D%s",
             family_names[row->family], row->name, row->name, a_name, where ? out_name : a_name,
             out_name, spec->vector, shape_macros[shape]);
    return spec;
}

cls_status spec_of_strided(const struct op_row *row, cls_dtype a_dtype, cls_dtype out_dtype,
                           enum shape shape, size_t length, const struct spec **found) {
    static spec_slot slots[OP_ROWS][TYPES][TYPES][SHAPES][2];
    const struct type_row *a = type_row(a_dtype), *out = type_row(out_dtype);
    const bool one_by_one = shape == SHAPE_RUNS && length < RUN_VECTOR;
    spec_slot *at = &slots[op_row_index(row)][a->index][out->index][shape][one_by_one];
    *found = atomic_load(at);
    return *found ? CLS_SUCCESS
                  : spec_publish(at, strided_spec_new(row, a, out, shape, one_by_one), found);
}

enum { RUN_SIDE = 128, TRANSPOSE_GROUP = 256, BANK = 4 /* bytes, of local memory */ };

static struct spec *transpose_spec_new(const struct type_row *type, enum shape shape) {
    struct spec *spec = spec_new("transpose.cl", "transpose");
    char how[32] = "RUNS";
    if (!spec)
        return NULL;
    /* Each row of a block is in a page of its own: a CPU's is long for the sake of the TLB. A group's has at least 64
     * bytes; 64 rows of 8-byte elements would not fit into local memory. */
    spec->vector = shape == SHAPE_RUNS ? RUN_SIDE : type->size < 4 ? 64 : 32;
    spec->local = shape == SHAPE_RUNS ? 1 : TRANSPOSE_GROUP;
    if (shape != SHAPE_RUNS)
        snprintf(how, sizeof how, "GROUP=%u -DPAD=%u", spec->local,
                 type->size < BANK ? (unsigned)(BANK / type->size) : 1);
    snprintf(spec->label, sizeof spec->label, "transpose_%s", type->name);
    snprintf(spec->options, sizeof spec->options, "-w -DTYPE=%s -DSIDE=%u -D%s", type->bits,
             spec->vector, how);
    return spec;
}

cls_status spec_of_transpose(cls_dtype dtype, enum shape shape, const struct spec **found) {
    static spec_slot slots[TYPES][SHAPES];
    const struct type_row *type = type_row(dtype);
    spec_slot *at = &slots[type->index][shape];
    *found = atomic_load(at);
    return *found ? CLS_SUCCESS : spec_publish(at, transpose_spec_new(type, shape), found);
}

/* --- random numbers --- */

/* Counters of a work-item of a CPU, whose vector units have eight words, and its steps: 8,192 elements. */
enum { RUN_COUNTERS = 8, RUN_DRAW_STEPS = 256, DRAW_STEPS = 4 };

static const struct {
    const char *macro, *name;
} draws[DRAWS] = {[DRAW_BITS] = {"BITS", "integers"},
                  [DRAW_BELOW] = {"BELOW", "integers"},
                  [DRAW_UNIFORM] = {"UNIFORM", "uniform"},
                  [DRAW_NORMAL] = {"NORMAL", "normal"},
                  [DRAW_BERNOULLI] = {"BERNOULLI", "bernoulli"},
                  [DRAW_DROPOUT] = {"DROPOUT", "dropout"},
                  [DRAW_DROPOUT_MASK] = {"DROPOUT -DMASK", "dropout"}};

unsigned spec_draw_per(enum draw draw, cls_dtype dtype) {
    const unsigned words = cls_dtype_size(dtype) == 8 ? 2 : 1;
    if (draw >= DRAW_BERNOULLI)
        return 4;
    return 4 / (draw == DRAW_BELOW ? 2 * words : words);
}

unsigned spec_draw_vector(enum draw draw, cls_dtype dtype, enum shape shape) {
    const unsigned per = spec_draw_per(draw, dtype);
    const unsigned store = (unsigned)(16 / cls_dtype_size(dtype));
    if (shape == SHAPE_RUNS)
        return per * RUN_COUNTERS;
    if (draw == DRAW_NORMAL && store == per)
        return 2 * per; /* there is enough to calculate for two counters at a time */
    return store > per ? store : per;
}

static struct spec *draw_spec_new(enum draw draw, const struct type_row *type, enum shape shape) {
    struct spec *spec = spec_new("random.cl", "draw");
    if (!spec)
        return NULL;
    const unsigned per = spec_draw_per(draw, type->dtype);
    spec->vector = spec_draw_vector(draw, type->dtype, shape);
    spec->steps = shape == SHAPE_RUNS ? RUN_DRAW_STEPS : DRAW_STEPS;
    spec->local = shape == SHAPE_RUNS ? 1 : 256;
    snprintf(spec->label, sizeof spec->label, "%s_%s", draws[draw].name, type->name);
    snprintf(spec->options, sizeof spec->options,
             "-w -D%s -DOUT=%s -DPER=%u -DCOUNTERS=%u -DW=%u -DSTEPS=%u -D%s", draws[draw].macro,
             type->opencl, per, spec->vector / per, spec->vector < 16 ? spec->vector : 16,
             spec->steps, shape_macros[shape]);
    return spec;
}

cls_status spec_of_draw(enum draw draw, cls_dtype dtype, enum shape shape,
                        const struct spec **out_spec) {
    static spec_slot slots[DRAWS][TYPES][SHAPES];
    const struct type_row *type = type_row(dtype);
    spec_slot *at = &slots[draw][type->index][shape];
    *out_spec = atomic_load(at);
    return *out_spec ? CLS_SUCCESS : spec_publish(at, draw_spec_new(draw, type, shape), out_spec);
}

/* --- rows and elements by their numbers --- */

enum { ENTRIES_AT_ONCE = 4 };

static const struct {
    const char *macro, *entry, *name;
} index_ops[INDEX_OPS] = {[INDEX_SELECT] = {"SELECT", "move", "select"},
                          [INDEX_SCATTER] = {"SCATTER", "move", "scatter"},
                          [INDEX_ADD] = {"ADD", "add", "scatter_add"}};

static const char *index_element_name(const struct index_kind *kind, const struct type_row *type) {
    return kind->op == INDEX_ADD && type->is_float ? type->opencl : type->bits;
}

static struct spec *indices_spec_new(const struct index_kind *kind, enum shape shape) {
    const struct type_row *type = type_row(kind->dtype), *index = type_row(kind->index);
    struct spec *spec = spec_new("indices.cl", index_ops[kind->op].entry);
    if (!spec)
        return NULL;
    spec->vector = !kind->of_rows || shape == SHAPE_ANYWHERE ? 1
                   : shape == SHAPE_RUNS                     ? RUN_VECTOR
                                                             : (unsigned)(16 / type->size);
    spec->batch = shape == SHAPE_RUNS || kind->op == INDEX_ADD ? 1 : ENTRIES_AT_ONCE;
    spec->local = shape == SHAPE_RUNS ? 1 : 256;
    snprintf(spec->label, sizeof spec->label, "%s%s_%s", index_ops[kind->op].name,
             kind->of_rows ? "_rows" : "", type->name);
    snprintf(spec->options, sizeof spec->options,
             "-w -D%s -DINDEX=%s -DTYPE=%s -DW=%u -DEACH=%u -D%s%s%s", index_ops[kind->op].macro,
             index->opencl, index_element_name(kind, type), spec->vector, spec->batch,
             shape_macros[shape], kind->of_rows ? " -DROWS" : "",
             kind->op == INDEX_ADD && kind->dtype == CLS_F64 ? " -DDOUBLES" : "");
    return spec;
}

cls_status spec_of_indices(const struct index_kind *kind, enum shape shape,
                           const struct spec **found) {
    static spec_slot slots[INDEX_OPS][2][TYPES][TYPES][SHAPES];
    spec_slot *at = &slots[kind->op][kind->of_rows][type_row(kind->dtype)->index]
                          [type_row(kind->index)->index][shape];
    *found = atomic_load(at);
    return *found ? CLS_SUCCESS : spec_publish(at, indices_spec_new(kind, shape), found);
}

/* --- sparse matrices --- */

enum { SPMV_GROUP = 256 };

static struct spec *spmv_spec_new(const struct spmv_kind *kind) {
    struct spec *spec = spec_new("spmv.cl", "spmv");
    if (!spec)
        return NULL;
    spec->local = kind->runs ? 1 : SPMV_GROUP;
    snprintf(spec->label, sizeof spec->label, "spmv_%s", type_row(kind->value)->name);
    snprintf(spec->options, sizeof spec->options, "-DREAL=%s -DOFFSET=%s -DINDEX=%s -DGROUP=%u%s",
             kind->value == CLS_F64 ? "double -DDOUBLES" : "float", type_row(kind->offset)->opencl,
             type_row(kind->index)->opencl, spec->local, kind->runs ? " -DRUNS" : "");
    return spec;
}

cls_status spec_of_spmv(const struct spmv_kind *kind, const struct spec **found) {
    static spec_slot slots[2][2][2][2];
    spec_slot *at =
        &slots[kind->value == CLS_F64][kind->offset == CLS_I64][kind->index == CLS_I64][kind->runs];
    *found = atomic_load(at);
    return *found ? CLS_SUCCESS : spec_publish(at, spmv_spec_new(kind), found);
}

static struct spec *axpby_spec_new(const struct type_row *type, bool matrices) {
    struct spec *spec = spec_new("axpby.cl", "axpby");
    if (!spec)
        return NULL;
    snprintf(spec->label, sizeof spec->label, "axpby_%s", type->name);
    snprintf(spec->options, sizeof spec->options, "-DREAL=%s%s",
             type->dtype == CLS_F64 ? "double -DDOUBLES" : "float", matrices ? " -DMATRICES" : "");
    return spec;
}

cls_status spec_of_axpby(cls_dtype dtype, bool matrices, const struct spec **found) {
    static spec_slot slots[2][2];
    spec_slot *at = &slots[dtype == CLS_F64][matrices];
    *found = atomic_load(at);
    return *found ? CLS_SUCCESS
                  : spec_publish(at, axpby_spec_new(type_row(dtype), matrices), found);
}

static struct spec *trsm_spec_new(const struct type_row *type) {
    struct spec *spec = spec_new("trsm.cl", "trsm");
    if (!spec)
        return NULL;
    snprintf(spec->label, sizeof spec->label, "trsm_%s", type->name);
    snprintf(spec->options, sizeof spec->options, "-DREAL=%s -DBLOCK=%u",
             type->dtype == CLS_F64 ? "double -DDOUBLES" : "float", (unsigned)TRSM_BLOCK);
    return spec;
}

cls_status spec_of_trsm(cls_dtype dtype, const struct spec **found) {
    static spec_slot slots[2];
    spec_slot *at = &slots[dtype == CLS_F64];
    *found = atomic_load(at);
    return *found ? CLS_SUCCESS : spec_publish(at, trsm_spec_new(type_row(dtype)), found);
}

/* --- sorts --- */

/* Groups are at least as large as a digit has values; those of lanes have tiles of 32 KiB, so that the keys of a digit
 * fill lines of memory. */
enum { LANES_GROUP_LOG = 9, LANES_LEAST_LOG = 8, COUNTERS_GROUP_LOG = 8, COUNTERS_LEAST_LOG = 5 };

unsigned spec_sort_radix_log(enum sort_way way, enum sort_digit_kind digits) {
    return digits == SORT_COLLECTS ? 2 : way == SORT_BY_COUNTERS ? 4 : 8;
}

unsigned spec_sort_most_group_log(enum sort_way way) {
    return way == SORT_BY_LANES ? LANES_GROUP_LOG : COUNTERS_GROUP_LOG;
}

unsigned spec_sort_least_group_log(enum sort_way way) {
    return way == SORT_BY_LANES ? LANES_LEAST_LOG : COUNTERS_LEAST_LOG;
}

unsigned spec_sort_items(enum sort_way way, cls_dtype key, const struct sort_values *values) {
    return way == SORT_BY_LANES && cls_dtype_size(key) < 8 && values->in < 8 ? 16 : 8;
}

const char *spec_order_of(const struct type_row *type) {
    switch (type->dtype) {
    case CLS_F32:
        return " -DINFINITE=0x7f800000";
    case CLS_F64:
        return " -DINFINITE=0x7ff0000000000000ul";
    case CLS_F16:
        return " -DINFINITE=0x7c00";
    case CLS_BF16:
        return " -DINFINITE=0x7f80";
    case CLS_I8:
    case CLS_I16:
    case CLS_I32:
    case CLS_I64:
        return " -DSIGNED";
    case CLS_U8:
    case CLS_U16:
    case CLS_U32:
        break;
    }
    return "";
}

static struct spec *sort_spec_new(const struct sort_kind *kind, const struct type_row *type) {
    static const char *const entries[] = {"count", "offsets", "scatter", "pick", "sort_rows"};
    static const char *const digits[] = {"", " -DPICKS", " -DCOLLECTS"};
    const bool runs = kind->way == SORT_BY_RUNS, rows = kind->kernel == SORT_ROWS;
    struct spec *spec = spec_new(kind->kernel == SORT_PICK ? "sort_pick.cl"
                                 : runs                    ? "sort_runs.cl"
                                 : rows                    ? "sort_rows.cl"
                                                           : "sort.cl",
                                 entries[kind->kernel]);
    if (!spec)
        return NULL;
    char way[64] = "", values[64] = "";
    if (!runs)
        snprintf(way, sizeof way, " -DGROUP=%u -DITEMS=%u%s", 1u << kind->group_log, kind->items,
                 kind->way == SORT_BY_LANES ? " -DRANK_LANES" : "");
    if (kind->values.in)
        snprintf(values, sizeof values, " -DVALUES -DVALUE_IN=%s -DVALUE_OUT=%s",
                 kind->values.in == 8 ? "ulong" : "uint", kind->values.out == 8 ? "ulong" : "uint");
    snprintf(spec->label, sizeof spec->label, "sort_%s (%s)", type->name, entries[kind->kernel]);
    snprintf(spec->options, sizeof spec->options, "-DKEY=%s%s%s -DRADIX_LOG=%u%s%s%s", type->bits,
             type->size == 8 ? " -DLONG_KEYS" : "", spec_order_of(type),
             spec_sort_radix_log(kind->way, kind->digits), way, values, digits[kind->digits]);
    return spec;
}

/* None, 4 bytes, 8 bytes, and numbers that become 8 bytes. */
static unsigned sort_values_index(const struct sort_values *values) {
    return !values->in ? 0 : values->out == 4 ? 1 : values->in == 8 ? 2 : 3;
}

cls_status spec_of_sort(const struct sort_kind *kind, const struct spec **found) {
    static spec_slot slots[SORT_KERNELS][SORT_WAYS][SORT_DIGIT_KINDS][TYPES][4][2]
                          [LANES_GROUP_LOG - COUNTERS_LEAST_LOG + 1];
    const struct type_row *type = type_row(kind->key);
    const unsigned size = kind->group_log ? kind->group_log - COUNTERS_LEAST_LOG : 0;
    spec_slot *at = &slots[kind->kernel][kind->way][kind->digits][type->index]
                          [sort_values_index(&kind->values)][kind->items > 8][size];
    *found = atomic_load(at);
    return *found ? CLS_SUCCESS : spec_publish(at, sort_spec_new(kind, type), found);
}

/* --- optimizers --- */

/* A CPU's work-item has 8,192 elements, as elsewhere; its vectors are so short that four of them stay in registers. */
enum { RUN_CHUNK = 8192, GROUP_CHUNK = 2048, RUN_STATE_VECTOR = 8 };

static const struct {
    const char *macro, *name;
} optimizers[OPTIMIZER_KERNELS] = {[OPTIMIZER_SGD] = {"SGD", "sgd"},
                                   [OPTIMIZER_MOMENTUM] = {"MOMENTUM", "sgd_momentum"},
                                   [OPTIMIZER_ADAMW] = {"ADAMW", "adamw"},
                                   [OPTIMIZER_SQUARES] = {"SQUARES", "gradient_squares"}};

size_t spec_optimizer_chunk(bool runs) { return runs ? RUN_CHUNK : GROUP_CHUNK; }

static struct spec *optimizer_spec_new(enum optimizer_kernel which, const struct type_row *type,
                                       enum shape shape, bool many) {
    struct spec *spec = spec_new("optimizer.cl", which == OPTIMIZER_SQUARES ? "squares" : "update");
    if (!spec)
        return NULL;
    spec->vector = shape == SHAPE_RUNS      ? RUN_STATE_VECTOR
                   : shape == SHAPE_ALIGNED ? (unsigned)(16 / type->size)
                                            : 1;
    spec->local = shape == SHAPE_RUNS ? 1 : 256;
    snprintf(spec->label, sizeof spec->label, "%s_%s", optimizers[which].name, type->name);
    snprintf(spec->options, sizeof spec->options,
             "-w -D%s -DTYPE=%s -DREAL=%s -DW=%u -DSLOTS=%d -DCHUNK=%zu -D%s",
             optimizers[which].macro, type->opencl,
             type->dtype == CLS_F64 ? "double -DDOUBLES" : "float", spec->vector,
             many ? OPTIMIZER_SLOTS : OPTIMIZER_FEW_SLOTS,
             spec_optimizer_chunk(shape == SHAPE_RUNS), shape_macros[shape]);
    return spec;
}

cls_status spec_of_optimizer(enum optimizer_kernel which, cls_dtype dtype, enum shape shape,
                             bool many, const struct spec **found) {
    static spec_slot slots[OPTIMIZER_KERNELS][4][SHAPES][2];
    spec_slot *at = &slots[which][product_type_index(dtype)][shape][many];
    *found = atomic_load(at);
    return *found
               ? CLS_SUCCESS
               : spec_publish(at, optimizer_spec_new(which, type_row(dtype), shape, many), found);
}
