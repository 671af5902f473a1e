/* SPDX-License-Identifier: MIT */
#include "ops/spec_select.h"

#include <stdio.h>

#include "base/types.h"
#include "ops/spec_scan.h"
#include "ops/spec_slot.h"

enum { RUN_WIDTH = 16, GROUP = 128, ITEM_BYTES = 208 };

static const char *const selection_options[SELECTIONS] = {
    [SELECT_BY_FLAGS] = "-DBY_FLAGS",
    [SELECT_BY_HEADS] = "-DBY_HEADS",
    [SELECT_BY_ENDS] = "-DBY_ENDS",
    [SELECT_BY_VALUE + CLS_LESS - 1] = "-DBY_VALUE=<",
    [SELECT_BY_VALUE + CLS_LESS_EQUAL - 1] = "-DBY_VALUE=<=",
    [SELECT_BY_VALUE + CLS_GREATER - 1] = "-DBY_VALUE=>",
    [SELECT_BY_VALUE + CLS_GREATER_EQUAL - 1] = "-DBY_VALUE=>=",
    [SELECT_BY_VALUE + CLS_EQUAL - 1] = "-DBY_VALUE===",
    [SELECT_BY_VALUE + CLS_NOT_EQUAL - 1] = "-DBY_VALUE=!=",
};

static const char *const beside_options[BESIDES] = {
    [BESIDE_NONE] = "-DBESIDE=uchar",
    [BESIDE_1] = "-DBESIDE=uchar -DHAS_BESIDE",
    [BESIDE_2] = "-DBESIDE=ushort -DHAS_BESIDE",
    [BESIDE_4] = "-DBESIDE=uint -DHAS_BESIDE",
    [BESIDE_8] = "-DBESIDE=ulong -DHAS_BESIDE",
    [BESIDE_NUMBERS] = "-DBESIDE=ulong -DNUMBERS",
};

enum beside beside_of(cls_dtype dtype) {
    const size_t size = cls_dtype_size(dtype);
    return size == 1 ? BESIDE_1 : size == 2 ? BESIDE_2 : size == 4 ? BESIDE_4 : BESIDE_8;
}

/* Where no value is compared, elements are as good as others of their size. */
static const struct type_row *type_in_effect(const struct select_kind *kind) {
    const size_t size = cls_dtype_size(kind->dtype);
    if (kind->by >= SELECT_BY_VALUE)
        return type_row(kind->dtype);
    return type_row(size == 1 ? CLS_U8 : size == 2 ? CLS_U16 : size == 4 ? CLS_U32 : CLS_I64);
}

static struct spec *select_spec_new(const struct select_kind *kind, enum shape shape, bool lean) {
    const struct type_row *type = type_in_effect(kind);
    struct spec *spec = spec_new("select.cl", "select_elements");
    if (!spec)
        return NULL;
    spec->local = shape == SHAPE_RUNS ? 1 : GROUP;
    spec->vector =
        shape == SHAPE_RUNS ? RUN_WIDTH : (unsigned)(16 / (type->size < 2 ? 2 : type->size));
    spec->batch =
        shape == SHAPE_RUNS
            ? 1
            : (unsigned)(ITEM_BYTES / (type->size < 4 ? 4 : type->size)) / spec->vector | 1;
    snprintf(spec->label, sizeof spec->label, "select_%s", type->name);
    snprintf(spec->options, sizeof spec->options,
             "-w %s %s -DA=%s -DPART=%s -DW=%u -DROWS=%u -DGROUP=%u -D%s%s%s%s",
             selection_options[kind->by], beside_options[kind->beside], type->opencl,
             kind->wide ? "ulong" : "uint", spec->vector, spec->batch, spec->local,
             shape_macros[shape], kind->partition ? " -DPARTITION" : "",
             type->dtype == CLS_F64 ? " -DDOUBLES" : "", lean ? LEAN_OPTIONS : "");
    return spec;
}

cls_status spec_of_select(const struct select_kind *kind, enum shape shape, bool lean,
                          const struct spec **found) {
    static spec_slot slots[SELECTIONS][TYPES][BESIDES][2][2][SHAPES][2];
    spec_slot *at = &slots[kind->by][type_in_effect(kind)->index][kind->beside][kind->partition]
                          [kind->wide][shape][lean];
    *found = atomic_load(at);
    return *found ? CLS_SUCCESS : spec_publish(at, select_spec_new(kind, shape, lean), found);
}

static struct spec *run_lengths_spec_new(void) {
    struct spec *spec = spec_new("run_lengths.cl", "run_lengths");
    if (spec)
        snprintf(spec->label, sizeof spec->label, "run_lengths");
    return spec;
}

cls_status spec_of_run_lengths(const struct spec **found) {
    static spec_slot at;
    *found = atomic_load(&at);
    return *found ? CLS_SUCCESS : spec_publish(&at, run_lengths_spec_new(), found);
}
