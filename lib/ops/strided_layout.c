/* SPDX-License-Identifier: MIT */
#include "ops/strided_layout.h"

#include "base/error.h"

/* The size of an element; of an unknown type, which is refused later, one that does for arithmetic. */
static size_t strided_size(const cls_array *array) {
    const size_t size = cls_dtype_size(array->dtype);
    return size ? size : 1;
}

/* --- shapes and ranges --- */

static cls_status check_dimensions(const char *name, const cls_strided *const *views,
                                   unsigned n_views) {
    for (unsigned v = 0; v < n_views; v++)
        if (views[v]->dimensions > CLS_MAX_DIMENSIONS)
            return error_set(CLS_ERROR_INVALID_VALUE, "%s: a view of %u dimensions, more than %d",
                             name, views[v]->dimensions, CLS_MAX_DIMENSIONS);
    for (unsigned v = 1; v < n_views; v++)
        if (views[v]->dimensions != views[0]->dimensions)
            return error_set(CLS_ERROR_SIZE_MISMATCH, "%s: views of %u and %u dimensions", name,
                             views[0]->dimensions, views[v]->dimensions);
    return CLS_SUCCESS;
}

/* `reduces`: dimensions of the last view may have one element instead. */
static cls_status check_shapes(const char *name, const cls_strided *const *views, unsigned n_views,
                               bool reduces) {
    cls_status status = check_dimensions(name, views, n_views);
    for (unsigned v = 1; v < n_views && !status; v++)
        for (unsigned d = 0; d < views[0]->dimensions && !status; d++)
            if (views[v]->shape[d] != views[0]->shape[d] && (!reduces || views[v]->shape[d] != 1))
                status =
                    error_set(CLS_ERROR_SIZE_MISMATCH, "%s: %zu and %zu elements in dimension %u",
                              name, views[0]->shape[d], views[v]->shape[d], d);
    return status;
}

/* Adds the distance from the first to the last of `length` elements; false: it is beyond all memory. */
static bool reach_add(size_t *reach, size_t length, ptrdiff_t stride) {
    size_t step;
    return !__builtin_mul_overflow(length - 1, strided_distance(stride), &step) &&
           !__builtin_add_overflow(*reach, step, reach);
}

/* Half of the memory that could be addressed is no limit, and lets lengths times strides fit as well. */
static bool fits_memory(const cls_array *array) {
    size_t bytes;
    return !__builtin_add_overflow(array->offset, array->count, &bytes) &&
           !__builtin_mul_overflow(bytes, strided_size(array), &bytes) && bytes <= PTRDIFF_MAX / 2;
}

static cls_status place_view(const char *name, const cls_strided *view, bool is_empty,
                             cls_array *out) {
    cls_array array = cls_array_at(view->buffer, view->dtype, view->offset, 0);
    size_t before = 0, behind = 0;
    bool fits = true;
    for (unsigned d = 0; d < view->dimensions && fits && !is_empty; d++)
        fits =
            reach_add(view->strides[d] < 0 ? &before : &behind, view->shape[d], view->strides[d]);
    if (!is_empty) {
        fits = fits && before <= array.offset && behind < SIZE_MAX - before;
        array.offset -= before;
        array.count = before + behind + 1;
        fits = fits && fits_memory(&array);
    }
    if (!fits)
        return error_set(CLS_ERROR_OUT_OF_RANGE, "%s: an element outside of all memory", name);
    *out = array;
    return CLS_SUCCESS;
}

/* --- dimensions --- */

/* Dimensions of one element have no stride. */
static void copy_dimensions(const cls_strided *const *views, struct strided_layout *layout) {
    for (unsigned d = 0; d < views[0]->dimensions; d++) {
        if (views[0]->shape[d] == 1)
            continue;
        layout->lengths[layout->dimensions] = views[0]->shape[d];
        for (unsigned v = 0; v < layout->n_views; v++)
            layout->strides[v][layout->dimensions] = views[v]->strides[d];
        layout->dimensions++;
    }
}

/* The output's strides become positive: all views begin at the other end of such a dimension. */
static void turn_forwards(struct strided_layout *layout) {
    for (unsigned d = 0; d < layout->dimensions; d++) {
        if (layout->strides[layout->n_views - 1][d] >= 0)
            continue;
        for (unsigned v = 0; v < layout->n_views; v++) {
            layout->offsets[v] += (layout->lengths[d] - 1) * (size_t)layout->strides[v][d];
            layout->strides[v][d] = -layout->strides[v][d];
        }
    }
}

static void swap_dimensions(struct strided_layout *layout, unsigned a, unsigned b) {
    const size_t length = layout->lengths[a];
    layout->lengths[a] = layout->lengths[b];
    layout->lengths[b] = length;
    for (unsigned v = 0; v < layout->n_views; v++) {
        const ptrdiff_t stride = layout->strides[v][a];
        layout->strides[v][a] = layout->strides[v][b];
        layout->strides[v][b] = stride;
    }
}

/* The last dimension is that of the view's least stride. */
static void order_dimensions(struct strided_layout *layout, unsigned view) {
    const ptrdiff_t *strides = layout->strides[view];
    for (unsigned d = 1; d < layout->dimensions; d++)
        for (unsigned k = d;
             k > 0 && strided_distance(strides[k - 1]) < strided_distance(strides[k]); k--)
            swap_dimensions(layout, k - 1, k);
}

/* Each stride of the ordered output passes all elements of the dimensions within. */
static cls_status check_apart(const char *name, const struct strided_layout *layout) {
    const ptrdiff_t *strides = layout->strides[layout->n_views - 1];
    size_t reach = 0;
    for (unsigned d = layout->dimensions; d-- > 0;) {
        if (strided_distance(strides[d]) <= reach)
            return error_set(CLS_ERROR_OVERLAP, "%s: elements of the output do not lie apart",
                             name);
        reach += (layout->lengths[d] - 1) * strided_distance(strides[d]);
    }
    return CLS_SUCCESS;
}

static bool follows(const struct strided_layout *layout, unsigned outer, unsigned inner) {
    for (unsigned v = 0; v < layout->n_views; v++)
        if (layout->strides[v][outer] !=
            layout->strides[v][inner] * (ptrdiff_t)layout->lengths[inner])
            return false;
    return true;
}

/* Dimensions of which one goes on, in each view, where the one within it ends are one. */
static void merge_dimensions(struct strided_layout *layout) {
    unsigned last = 0;
    for (unsigned d = 1; d < layout->dimensions; d++) {
        const bool is_one = follows(layout, last, d);
        last += !is_one;
        layout->lengths[last] = (is_one ? layout->lengths[last] : 1) * layout->lengths[d];
        for (unsigned v = 0; v < layout->n_views; v++)
            layout->strides[v][last] = layout->strides[v][d];
    }
    layout->dimensions = layout->dimensions ? last + 1 : 0;
}

static bool has_no_elements(const cls_strided *view) {
    for (unsigned d = 0; d < view->dimensions; d++)
        if (!view->shape[d])
            return true;
    return false;
}

cls_status strided_layout_of(const char *name, const cls_strided *const *views, unsigned n_views,
                             struct strided_layout *out) {
    struct strided_layout layout = {.n_views = n_views};
    cls_status status = check_shapes(name, views, n_views, false);
    layout.is_empty = !status && has_no_elements(views[0]);
    for (unsigned v = 0; v < n_views && !status; v++) {
        layout.offsets[v] = views[v]->offset;
        status = place_view(name, views[v], layout.is_empty, &layout.arrays[v]);
    }
    if (!status && !layout.is_empty) {
        copy_dimensions(views, &layout);
        turn_forwards(&layout);
        order_dimensions(&layout, n_views - 1);
        status = check_apart(name, &layout);
    }
    if (status)
        return status;
    merge_dimensions(&layout);
    *out = layout;
    return CLS_SUCCESS;
}

/* --- reductions --- */

/* The dimensions that stay, in the order in which the input is read best. */
static cls_status lay_out_kept(const char *name, const cls_strided *in, const cls_strided *out,
                               bool has_elements, struct strided_layout *layout) {
    cls_strided kept = *in;
    const cls_strided *const views[] = {&kept, out};
    for (unsigned d = 0; d < in->dimensions; d++) {
        kept.shape[d] = out->shape[d];
        kept.strides[d] = has_elements ? in->strides[d] : 0;
    }
    copy_dimensions(views, layout);
    turn_forwards(layout);
    order_dimensions(layout, 1);
    cls_status status = check_apart(name, layout);
    order_dimensions(layout, 0);
    merge_dimensions(layout);
    return status;
}

/* Those that go: `in_order` in the order of their numbers, else as they are read best. */
static void lay_out_reduced(const cls_strided *in, const cls_strided *out, bool in_order,
                            struct strided_layout *layout) {
    cls_strided reduced = *in;
    const cls_strided *const views[] = {&reduced};
    for (unsigned d = 0; d < in->dimensions; d++)
        if (out->shape[d] == in->shape[d])
            reduced.shape[d] = 1;
    copy_dimensions(views, layout);
    if (!in_order) {
        turn_forwards(layout);
        order_dimensions(layout, 0);
    }
    merge_dimensions(layout);
}

/* All dimensions of the input. */
static struct strided_layout join_layouts(const struct strided_layout *kept,
                                          const struct strided_layout *reduced) {
    struct strided_layout all = *reduced;
    for (unsigned d = 0; d < kept->dimensions; d++) {
        all.lengths[all.dimensions] = kept->lengths[d];
        all.strides[0][all.dimensions++] = kept->strides[0][d];
    }
    return all;
}

/* Broadcast dimensions have any number of elements. */
static cls_status count_reduced(const char *name, const cls_strided *in, const cls_strided *out,
                                size_t *length) {
    enum { BITS = 40 };
    *length = 1;
    for (unsigned d = 0; d < in->dimensions; d++)
        if (out->shape[d] != in->shape[d] &&
            (__builtin_mul_overflow(*length, in->shape[d], length) || (uint64_t)*length >> BITS))
            return error_set(CLS_ERROR_OUT_OF_RANGE, "%s: results of more than 2^%d elements", name,
                             BITS);
    return CLS_SUCCESS;
}

cls_status strided_reduction_of(const char *name, const cls_strided *in, const cls_strided *out,
                                bool in_order, struct strided_reduction *found) {
    const cls_strided *const views[] = {in, out};
    struct strided_layout kept = {.n_views = 2}, reduced = {.n_views = 1};
    size_t length;
    cls_status status = check_shapes(name, views, 2, true);
    if (!status)
        status = count_reduced(name, in, out, &length);
    if (status)
        return status;
    reduced.is_empty = has_no_elements(in);
    kept.is_empty = has_no_elements(out);
    status = place_view(name, in, reduced.is_empty, &kept.arrays[0]);
    if (!status)
        status = place_view(name, out, kept.is_empty, &kept.arrays[1]);
    kept.offsets[0] = in->offset;
    kept.offsets[1] = out->offset;
    if (!status && !kept.is_empty)
        status = lay_out_kept(name, in, out, !reduced.is_empty, &kept);
    if (status)
        return status;
    reduced.arrays[0] = kept.arrays[0];
    reduced.offsets[0] = kept.offsets[0];
    if (!reduced.is_empty)
        lay_out_reduced(in, out, in_order, &reduced);
    *found = (struct strided_reduction){kept, reduced, join_layouts(&kept, &reduced), length};
    return CLS_SUCCESS;
}

bool strided_is_dense(const struct strided_layout *layout) {
    bool dense = layout->dimensions <= 1;
    for (unsigned v = 0; v < layout->n_views && layout->dimensions == 1; v++)
        dense = dense && layout->strides[v][0] == 1;
    return dense;
}

bool strided_is_transposed(const struct strided_layout *layout) {
    const ptrdiff_t *from = layout->strides[0], *to = layout->strides[layout->n_views - 1];
    return layout->dimensions == 2 && to[1] == 1 && from[0] == 1 && from[1] > 0 &&
           (size_t)from[1] >= layout->lengths[0];
}

bool strided_is_same(const struct strided_layout *layout, unsigned a, unsigned b) {
    for (unsigned d = 0; d < layout->dimensions; d++)
        if (layout->strides[a][d] != layout->strides[b][d])
            return false;
    return true;
}

/* --- bytes --- */

/* A view's dimensions in the order of their strides, the least first; repetitions are left out. */
struct steps {
    unsigned count;
    size_t strides[CLS_MAX_DIMENSIONS], lengths[CLS_MAX_DIMENSIONS];
};

static struct steps steps_of(const struct strided_layout *layout, unsigned view) {
    struct steps steps = {0};
    for (unsigned d = 0; d < layout->dimensions; d++) {
        const size_t stride = strided_distance(layout->strides[view][d]);
        unsigned k = stride ? steps.count++ : 0;
        for (; k > 0 && steps.strides[k - 1] > stride; k--) {
            steps.strides[k] = steps.strides[k - 1];
            steps.lengths[k] = steps.lengths[k - 1];
        }
        if (stride) {
            steps.strides[k] = stride;
            steps.lengths[k] = layout->lengths[d];
        }
    }
    return steps;
}

/* From the first byte of a span that starts at 0 to its end. */
static size_t span_extent(struct byte_span span) {
    span.start = 0;
    return byte_span_end(&span);
}

/* Rows become one, with what lies between them. */
static void fill_rows(struct byte_span *span) {
    span->width += (span->height - 1) * span->pitch;
    span->pitch = span->slice;
    span->height = span->depth;
    span->depth = 1;
}

/* Repeats the span at a distance that is at least that of its rows and slices. */
static void repeat_span(struct byte_span *span, size_t distance, size_t count) {
    if (distance < span_extent(*span)) {
        fill_rows(span);
        fill_rows(span);
    }
    if (distance <= span->width) {
        span->width += (count - 1) * distance;
        return;
    }
    if (span->depth > 1)
        fill_rows(span);
    if (span->height > 1) {
        span->slice = distance;
        span->depth = count;
    } else {
        span->pitch = distance;
        span->height = count;
    }
}

struct byte_span strided_span(const struct strided_layout *layout, unsigned view) {
    const cls_array *array = &layout->arrays[view];
    const size_t size = strided_size(array);
    const struct steps steps = steps_of(layout, view);
    struct byte_span span = {array->offset * size, size, size, 1, size, 1};
    for (unsigned k = 0; k < steps.count; k++)
        repeat_span(&span, steps.strides[k] * size, steps.lengths[k]);
    return span;
}
