/* SPDX-License-Identifier: MIT */
#include "ops/spec_scan.h"

#include <stdio.h>

#include "base/types.h"
#include "ops/spec_slot.h"

enum {
    SCAN_OPS = CLS_SCAN_MAX,
    RUN_WIDTH = 16,
    GROUP = 128,
    ITEM_BYTES = 208,
    LEAN_ITEM_BYTES = 240
};

static const char *const op_macros[SCAN_OPS + 1] = {[CLS_SCAN_SUM] = "sum",
                                                    [CLS_SCAN_PRODUCT] = "product",
                                                    [CLS_SCAN_MIN] = "min",
                                                    [CLS_SCAN_MAX] = "max"};

static const char *const head_options[SCAN_HEADS] = {
    [HEADS_NONE] = "-DKEY=uchar",
    [HEADS_FLAGS] = "-DHEADS_FLAGS -DKEY=uchar",
    [HEADS_EVERY] = "-DHEADS_EVERY -DKEY=uchar",
    [HEADS_KEYS_1] = "-DHEADS_KEYS -DKEY=uchar",
    [HEADS_KEYS_2] = "-DHEADS_KEYS -DKEY=ushort",
    [HEADS_KEYS_4] = "-DHEADS_KEYS -DKEY=uint",
    [HEADS_KEYS_8] = "-DHEADS_KEYS -DKEY=ulong",
};

/* Sums and products of integers wrap around, so they are unsigned. */
static const char *part_type(const struct scan_kind *kind) {
    const bool wraps = kind->op == CLS_SCAN_SUM || kind->op == CLS_SCAN_PRODUCT;
    const bool is_u32 = kind->out == CLS_U8 || kind->out == CLS_U16 || kind->out == CLS_U32;
    if (type_row(kind->out)->is_float)
        return kind->out == CLS_F64 ? "double" : "float";
    if (kind->out == CLS_I64)
        return wraps ? "ulong" : "long";
    return wraps || is_u32 ? "uint" : "int";
}

static const char *greatest_value(cls_dtype type) {
    switch (type) {
    case CLS_I64:
        return "9223372036854775807";
    case CLS_I32:
        return "2147483647";
    case CLS_U32:
        return "4294967295u";
    case CLS_U8:
        return "255u";
    case CLS_I8:
        return "127";
    case CLS_U16:
        return "65535u";
    case CLS_I16:
        return "32767";
    case CLS_F32:
    case CLS_F64:
    case CLS_F16:
    case CLS_BF16:
        return "INFINITY";
    }
    return "";
}

static const char *least_value(cls_dtype type) {
    switch (type) {
    case CLS_I64:
        return "(-9223372036854775807-1)";
    case CLS_I32:
        return "(-2147483647-1)";
    case CLS_I8:
        return "(-128)";
    case CLS_I16:
        return "(-32768)";
    case CLS_U32:
    case CLS_U8:
    case CLS_U16:
        return "0u";
    case CLS_F32:
    case CLS_F64:
    case CLS_F16:
    case CLS_BF16:
        return "-INFINITY";
    }
    return "";
}

static const char *none_of(const struct scan_kind *kind) {
    switch (kind->op) {
    case CLS_SCAN_SUM:
        return "0";
    case CLS_SCAN_PRODUCT:
        return "1";
    case CLS_SCAN_MIN:
        return greatest_value(kind->out);
    case CLS_SCAN_MAX:
        return least_value(kind->out);
    }
    return "";
}

enum scan_heads scan_heads_of_keys(cls_dtype dtype) {
    const size_t size = cls_dtype_size(dtype);
    return size == 1   ? HEADS_KEYS_1
           : size == 2 ? HEADS_KEYS_2
           : size == 4 ? HEADS_KEYS_4
                       : HEADS_KEYS_8;
}

size_t spec_scan_part(const struct scan_kind *kind) {
    return cls_dtype_size(kind->out) == 8 ? 8 : 4;
}

/* Of GPUs: vectors of 16 bytes of the larger type, and an odd number of them that local memory holds with room for more
 * groups (cl/tile_rows.cl). */
static void shape_scan(struct spec *spec, const struct scan_kind *kind, enum shape shape,
                       bool lean) {
    const size_t in = cls_dtype_size(kind->in), out = cls_dtype_size(kind->out);
    const size_t part = spec_scan_part(kind), largest = in > out ? in : out;
    spec->local = shape == SHAPE_RUNS ? 1 : GROUP;
    spec->vector = shape == SHAPE_RUNS ? RUN_WIDTH : (unsigned)(16 / (largest < 2 ? 2 : largest));
    spec->batch = shape == SHAPE_RUNS
                      ? 1
                      : (unsigned)((lean ? LEAN_ITEM_BYTES : ITEM_BYTES) / part) / spec->vector | 1;
}

static struct spec *scan_spec_new(const struct scan_kind *kind, enum shape shape, bool lean) {
    const struct type_row *in = type_row(kind->in), *out = type_row(kind->out);
    struct spec *spec = spec_new("scan.cl", "scan");
    if (!spec)
        return NULL;
    shape_scan(spec, kind, shape, lean);
    snprintf(spec->label, sizeof spec->label, "scan_%s_%s", op_macros[kind->op], in->name);
    snprintf(spec->options, sizeof spec->options,
             "-w -DOP_%s -DA=%s -DOUT=%s -DPART=%s -DPART_NONE=%s %s -DW=%u -DROWS=%u -DGROUP=%u "
             "-D%s%s%s%s",
             op_macros[kind->op], in->opencl, out->opencl, part_type(kind), none_of(kind),
             head_options[kind->heads], spec->vector, spec->batch, spec->local, shape_macros[shape],
             in->is_float ? " -DFLOATS" : "", kind->in == CLS_F64 ? " -DDOUBLES" : "",
             lean ? LEAN_OPTIONS : "");
    return spec;
}

cls_status spec_of_scan(const struct scan_kind *kind, enum shape shape, bool lean,
                        const struct spec **found) {
    static spec_slot slots[SCAN_OPS][TYPES][TYPES][SCAN_HEADS][SHAPES][2];
    spec_slot *at = &slots[kind->op - 1][type_row(kind->in)->index][type_row(kind->out)->index]
                          [kind->heads][shape][lean];
    *found = atomic_load(at);
    return *found ? CLS_SUCCESS : spec_publish(at, scan_spec_new(kind, shape, lean), found);
}

static struct spec *clear_spec_new(void) {
    struct spec *spec = spec_new("clear.cl", "clear");
    if (spec)
        snprintf(spec->label, sizeof spec->label, "clear");
    return spec;
}

cls_status spec_of_clear(const struct spec **found) {
    static spec_slot at;
    *found = atomic_load(&at);
    return *found ? CLS_SUCCESS : spec_publish(&at, clear_spec_new(), found);
}
