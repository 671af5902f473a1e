/* SPDX-License-Identifier: MIT */
/*
 * The passes of a radix sort: kernels of cl/sort.cl, or of cl/sort_runs.cl, over the tiles of an array or of the rows of a
 * matrix. A pass counts the digits of each tile, adds the counts up, and moves the keys.
 */
#ifndef CLSTREAM_OPS_SORT_PASS_H
#define CLSTREAM_OPS_SORT_PASS_H

#include "base/byte_span.h"
#include "command/op.h"
#include "ops/spec.h"

/* Rows of elements in a buffer; NULL: there is no such operand. */
struct sort_place {
    struct buffer *buffer;
    struct byte_span span;
    size_t at, step; /* first element, and elements from row to row */
};

/* A place in temporary memory, whose offset is a multiple of `size`, of rows that follow each other. */
struct sort_place sort_place_of(struct buffer *scratch, size_t offset, size_t rows, size_t count,
                                size_t size);

/* What is to be sorted, by which bits. */
struct sort_input {
    struct op_call *op;
    cls_dtype key;
    size_t rows, count;           /* neither is 0 */
    const struct op_view *length; /* elements of each row that count; NULL: all */
    bool descending;
    unsigned begin, end; /* bits of the rank that count */
};

/* How it is cut into tiles. */
struct sort_cut {
    enum sort_way way;
    unsigned group_log; /* items of a group: its logarithm */
    unsigned items;     /* keys of an item */
    size_t tile, tiles; /* keys of a tile, and tiles of a row */
};

/* Digits from the lowest bit up. */
struct sort_digits {
    unsigned passes, width;
};

/* As few passes as can be, or, if `even`, an even number; of equal widths but the last. */
struct sort_digits sort_digits_of(const struct sort_input *input, enum sort_way way, bool even);

/* Chooses the cut by the device and by what the kernels allow, which it builds. */
cls_status sort_cut_of(const struct sort_input *input, const struct sort_values *values,
                       struct sort_cut *cut);

/* The way that the device suggests. */
enum sort_way sort_way_of(const struct op_call *op);

/* The kernel for groups of `1 << group_log` items. */
cls_status sort_kernel_of(struct op_call *op, const struct sort_kind *kind, struct kernel **out);

/* Bytes of the counts and of what follows them. */
size_t sort_counts_bytes(const struct sort_input *input, const struct sort_cut *cut);

/* A pass: of the digit of `width` bits from `shift` on, or as top_k.c needs them. */
struct sort_pass {
    const struct sort_input *input;
    const struct sort_cut *cut;
    enum sort_digit_kind kind;
    unsigned shift, width;
    uint64_t higher;        /* the bits by which PICKS and COLLECTS compare */
    struct buffer *scratch; /* of the counts */
    size_t counts_at;       /* in bytes, a multiple of 16 */
    uint64_t window[2];     /* elements of the output that are written; all of a sort's */
};

cls_status sort_pass_count(const struct sort_pass *pass, const struct sort_place *keys);
cls_status sort_pass_offsets(const struct sort_pass *pass);
/* Finds a digit of key k; `first`: the first one, from the top. */
cls_status sort_pass_pick(const struct sort_pass *pass, uint64_t k, bool first);

/* Where keys and values come from and go to; values without a buffer are the numbers of the elements in their row. */
struct sort_move {
    struct sort_place keys, keys_out, values, values_out;
    struct sort_values sizes;
};
cls_status sort_pass_scatter(const struct sort_pass *pass, const struct sort_move *move);

/* A number whose lowest bits are ones. */
uint64_t sort_ones(unsigned bits);

/* Arguments that launches of cl/sort_rows.cl share: `order` of a first digit, and four numbers for two places. */
struct op_arg sort_order_arg(const struct sort_input *input, unsigned shift, unsigned width,
                             uint64_t last);
struct op_arg sort_places_arg(const struct sort_place *keys, const struct sort_place *values);
/* Of an operand that may be missing, when `other` takes its place. */
struct op_arg sort_place_arg(const struct sort_place *place, bool writes, struct buffer *other);
struct op_arg sort_length_arg(const struct sort_input *input, struct buffer *other);
uint64_t sort_length_at(const struct sort_input *input);

#endif
