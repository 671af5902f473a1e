/* SPDX-License-Identifier: MIT */
/* Kinds of arguments: sizes, constants, names and functions. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hostile.h"

void bad_pointer(const struct arg *arg, unsigned slot, struct bad_list *list) {
    (void)arg;
    (void)slot;
    add_bad(list, "null", CLS_ERROR_INVALID_VALUE, of_pointer(NULL));
}

static void bad_none(const struct arg *arg, unsigned slot, struct bad_list *list) {
    (void)arg;
    (void)slot;
    (void)list;
}

/* Not 0, with which an operand may not be looked at. */
static union value good_factor(const struct arg *arg, unsigned slot) {
    (void)arg;
    (void)slot;
    return (union value){.factor = 1};
}

union value good_zero(const struct arg *arg, unsigned slot) {
    union value value;
    (void)arg;
    (void)slot;
    memset(&value, 0, sizeof value);
    return value;
}

/* --- bounds of bins --- */

static union value good_bound(const struct arg *arg, unsigned slot) {
    static double bounds[] = {0, 1};
    (void)slot;
    return of_pointer(&bounds[has_flag(arg, "upper")]);
}

static void bad_bound(const struct arg *arg, unsigned slot, struct bad_list *list) {
    static double numbers[] = {NAN, INFINITY, -INFINITY, 1e300, 0, 1};
    bad_pointer(arg, slot, list);
    for (size_t i = 0; i < 4; i++)
        add_bad(list, "no bound", CLS_ERROR_INVALID_VALUE, of_pointer(&numbers[i]));
    add_bad(list, "the other bound", CLS_ERROR_INVALID_VALUE,
            of_pointer(&numbers[has_flag(arg, "upper") ? 4 : 5]));
}

/* --- sizes and offsets in bytes --- */

static void add_sizes(struct bad_list *list, const char *what, cls_status status,
                      const size_t *sizes, size_t n) {
    for (size_t i = 0; i < n; i++)
        add_bad(list, what, status, of_size(sizes[i]));
}

static union value good_bytes(const struct arg *arg, unsigned slot) {
    (void)arg;
    (void)slot;
    return of_size(COPY_BYTES);
}

/* A fill's pattern has 16 bytes. */
static void bad_bytes(const struct arg *arg, unsigned slot, struct bad_list *list) {
    static const size_t far[] = {BUFFER_BYTES + 16, SIZE_MAX - 15, SIZE_MAX / 2 + 1};
    static const size_t near[] = {BUFFER_BYTES + 1, SIZE_MAX};
    static const size_t partial[] = {1, 8, 15, 17, COPY_BYTES - 1};
    (void)slot;
    add_sizes(list, "past the end", CLS_ERROR_OUT_OF_RANGE, far, COUNT_OF(far));
    if (has_flag(arg, "fill"))
        add_sizes(list, "a partial pattern", CLS_ERROR_INVALID_VALUE, partial, COUNT_OF(partial));
    else
        add_sizes(list, "past the end", CLS_ERROR_OUT_OF_RANGE, near, COUNT_OF(near));
}

static void bad_offset(const struct arg *arg, unsigned slot, struct bad_list *list) {
    static const size_t far[] = {BUFFER_BYTES - COPY_BYTES + 16, BUFFER_BYTES, SIZE_MAX - 15,
                                 SIZE_MAX - COPY_BYTES + 1, SIZE_MAX / 2 + 1};
    static const size_t near[] = {BUFFER_BYTES - COPY_BYTES + 1, SIZE_MAX};
    static const size_t partial[] = {1, 8, 15, 17};
    (void)slot;
    add_sizes(list, "past the end", CLS_ERROR_OUT_OF_RANGE, far, COUNT_OF(far));
    if (has_flag(arg, "fill"))
        add_sizes(list, "misaligned", CLS_ERROR_INVALID_VALUE, partial, COUNT_OF(partial));
    else
        add_sizes(list, "past the end", CLS_ERROR_OUT_OF_RANGE, near, COUNT_OF(near));
}

static union value good_mask(const struct arg *arg, unsigned slot) {
    (void)arg;
    (void)slot;
    return of_size(UINT32_MAX);
}

static void bad_mask(const struct arg *arg, unsigned slot, struct bad_list *list) {
    (void)arg;
    (void)slot;
    add_bad(list, "no bit", CLS_ERROR_INVALID_VALUE, of_size(0));
}

/* The element of a wait for a value, or of a write. */
static union value good_element(const struct arg *arg, unsigned slot) {
    (void)arg;
    (void)slot;
    return of_size(4);
}

static void bad_element(const struct arg *arg, unsigned slot, struct bad_list *list) {
    static const size_t sizes[] = {0, 1, 2, 3, 5, 7, 9, 16, SIZE_MAX};
    (void)arg;
    (void)slot;
    add_sizes(list, "no size of a value", CLS_ERROR_INVALID_VALUE, sizes, COUNT_OF(sizes));
}

static void bad_element_offset(const struct arg *arg, unsigned slot, struct bad_list *list) {
    static const size_t far[] = {BUFFER_BYTES, BUFFER_BYTES + 4, SIZE_MAX - 3, SIZE_MAX / 2 + 1};
    static const size_t partial[] = {1, 2, 7, SIZE_MAX};
    (void)arg;
    (void)slot;
    add_sizes(list, "past the end", CLS_ERROR_OUT_OF_RANGE, far, COUNT_OF(far));
    add_sizes(list, "misaligned", CLS_ERROR_INVALID_VALUE, partial, COUNT_OF(partial));
}

static union value good_pattern(const struct arg *arg, unsigned slot) {
    (void)arg;
    (void)slot;
    return of_size(16);
}

static void bad_pattern(const struct arg *arg, unsigned slot, struct bad_list *list) {
    static const size_t sizes[] = {0, 3, 5, 6, 7, 9, 12, 15, 17, 32, 64, 128, SIZE_MAX};
    (void)arg;
    (void)slot;
    add_sizes(list, "no size of a pattern", CLS_ERROR_INVALID_VALUE, sizes, COUNT_OF(sizes));
}

/* What is allocated. With data, a size is believed until the memory is there: no huge ones. */
static void bad_capacity(const struct arg *arg, unsigned slot, struct bad_list *list) {
    const size_t sizes[] = {SIZE_MAX, SIZE_MAX / 2 + 1, SIZE_MAX - 63, stock.max_allocation + 1};
    /* What the device bounds, some drivers pin all the same where the host has it. */
    const size_t n = COUNT_OF(sizes) - has_flag(arg, "pinned");
    (void)slot;
    add_bad(list, "0 bytes", CLS_ERROR_INVALID_VALUE, of_size(0));
    for (size_t i = 0; i < n; i++) {
        add_bad(list, "more than there is", CLS_ERROR_OUT_OF_DEVICE_MEMORY, of_size(sizes[i]));
        if (has_flag(arg, "pinned"))
            list->bad[list->n - 1].or_else = CLS_ERROR_OUT_OF_MEMORY;
    }
}

static void bad_pinned(const struct arg *arg, unsigned slot, struct bad_list *list) {
    (void)arg;
    add_bad(list, "not pinned", CLS_ERROR_INVALID_VALUE, of_pointer(region(slot)));
    add_bad(list, "within a block", CLS_ERROR_INVALID_VALUE, of_pointer((char *)stock.pinned + 1));
    add_bad(list, "garbage", CLS_ERROR_INVALID_VALUE,
            (union value){.pointer = (void *)(uintptr_t)8});
}

static void *spare;

static union value good_pinned(const struct arg *arg, unsigned slot) {
    (void)arg;
    (void)slot;
    if (!spare && cls_host_alloc(stock.handles[CONTEXT].live, COPY_BYTES, &spare))
        abort();
    return of_pointer(spare);
}

static void undo_pinned(const struct arg *arg, unsigned slot) {
    (void)slot;
    if (has_flag(arg, "kept"))
        cls_host_free(spare);
    spare = NULL;
}

/* --- constants --- */

static union value good_one(const struct arg *arg, unsigned slot) {
    (void)arg;
    (void)slot;
    return of_number(1);
}

static void add_numbers(struct bad_list *list, const int *numbers, size_t n) {
    for (size_t i = 0; i < n; i++)
        add_bad(list, "an unknown constant", CLS_ERROR_INVALID_VALUE, of_number(numbers[i]));
}

static void bad_op(const struct arg *arg, unsigned slot, struct bad_list *list) {
    static const int numbers[] = {0, -1, 1000, INT_MIN, INT_MAX};
    (void)arg;
    (void)slot;
    add_numbers(list, numbers, COUNT_OF(numbers));
}

static union value good_dtype(const struct arg *arg, unsigned slot) {
    (void)slot;
    return of_number(has_flag(arg, "u8") ? CLS_U8 : CLS_F32);
}

static void bad_dtype(const struct arg *arg, unsigned slot, struct bad_list *list) {
    static const int numbers[] = {0, -1, 12, 1000, INT_MIN, INT_MAX};
    (void)arg;
    (void)slot;
    add_numbers(list, numbers, COUNT_OF(numbers));
}

static void bad_work_kind(const struct arg *arg, unsigned slot, struct bad_list *list) {
    static const int numbers[] = {
        -1, CLS_COMMAND_MARKER, CLS_COMMAND_HOST, CLS_COMMAND_KINDS, INT_MIN, INT_MAX};
    (void)arg;
    (void)slot;
    add_numbers(list, numbers, COUNT_OF(numbers));
}

static void bad_command_kind(const struct arg *arg, unsigned slot, struct bad_list *list) {
    static const int numbers[] = {-1, CLS_COMMAND_KINDS, INT_MIN, INT_MAX};
    (void)arg;
    (void)slot;
    add_numbers(list, numbers, COUNT_OF(numbers));
}

static void bad_hold(const struct arg *arg, unsigned slot, struct bad_list *list) {
    static const int numbers[] = {-1, CLS_HOLDS, INT_MIN, INT_MAX};
    (void)arg;
    (void)slot;
    add_numbers(list, numbers, COUNT_OF(numbers));
}

static void bad_format(const struct arg *arg, unsigned slot, struct bad_list *list) {
    static const int numbers[] = {-1, CLS_PROFILE_HTML + 1, INT_MIN, INT_MAX};
    (void)arg;
    (void)slot;
    add_numbers(list, numbers, COUNT_OF(numbers));
}

static void bad_access(const struct arg *arg, unsigned slot, struct bad_list *list) {
    static const int numbers[] = {-1, 4, 1 << 20, INT_MIN, INT_MAX};
    (void)arg;
    (void)slot;
    add_numbers(list, numbers, COUNT_OF(numbers));
}

/* Of the caller's memory, which has no end but that of all memory. */
static void bad_length(const struct arg *arg, unsigned slot, struct bad_list *list) {
    (void)arg;
    (void)slot;
    add_bad(list, "past the end of memory", CLS_ERROR_OUT_OF_RANGE, of_size(SIZE_MAX));
}

static void bad_workload(const struct arg *arg, unsigned slot, struct bad_list *list) {
    static const int numbers[] = {-1, 4, 9, INT_MIN, INT_MAX};
    (void)arg;
    (void)slot;
    add_numbers(list, numbers, COUNT_OF(numbers));
}

static void bad_location(const struct arg *arg, unsigned slot, struct bad_list *list) {
    static const int numbers[] = {-1, 2, 9, INT_MIN, INT_MAX};
    (void)arg;
    (void)slot;
    add_numbers(list, numbers, COUNT_OF(numbers));
}

static void bad_condition(const struct arg *arg, unsigned slot, struct bad_list *list) {
    static const int numbers[] = {-1, 4, 9, INT_MIN, INT_MAX};
    (void)arg;
    (void)slot;
    add_numbers(list, numbers, COUNT_OF(numbers));
}

static void bad_status(const struct arg *arg, unsigned slot, struct bad_list *list) {
    static const int numbers[] = {12345, -12345, INT_MIN, INT_MAX};
    (void)arg;
    (void)slot;
    add_numbers(list, numbers, COUNT_OF(numbers));
}

static union value good_device(const struct arg *arg, unsigned slot) {
    (void)arg;
    (void)slot;
    return of_size(stock.device);
}

static void bad_device(const struct arg *arg, unsigned slot, struct bad_list *list) {
    static const size_t sizes[] = {1000, SIZE_MAX / 2 + 1, SIZE_MAX};
    (void)arg;
    (void)slot;
    add_sizes(list, "no such device", CLS_ERROR_NO_DEVICE, sizes, COUNT_OF(sizes));
}

static void bad_item(const struct arg *arg, unsigned slot, struct bad_list *list) {
    static const size_t sizes[] = {1000, SIZE_MAX / 2 + 1, SIZE_MAX};
    (void)arg;
    (void)slot;
    add_sizes(list, "past the last one", CLS_ERROR_OUT_OF_RANGE, sizes, COUNT_OF(sizes));
}

static void bad_number(const struct arg *arg, unsigned slot, struct bad_list *list) {
    static const size_t sizes[] = {1000, UINT32_MAX / 2 + 1, UINT32_MAX};
    (void)arg;
    (void)slot;
    add_sizes(list, "past the last one", CLS_ERROR_OUT_OF_RANGE, sizes, COUNT_OF(sizes));
}

/* --- numbers of draws --- */

static union value good_below(const struct arg *arg, unsigned slot) {
    (void)arg;
    (void)slot;
    return (union value){.ticks = 10};
}

static void bad_below(const struct arg *arg, unsigned slot, struct bad_list *list) {
    static const uint64_t limits[] = {(UINT64_C(1) << 31) + 1, UINT64_C(1) << 32, UINT64_MAX};
    (void)arg;
    (void)slot;
    for (size_t i = 0; i < COUNT_OF(limits); i++)
        add_bad(list, "more than the type has", CLS_ERROR_INVALID_VALUE,
                (union value){.ticks = limits[i]});
}

/* NaN, infinities, and what the flag says: "low" is below 1, "high" above 0, "positive" not below 0, "unit" up to 1. */
static void bad_real(const struct arg *arg, unsigned slot, struct bad_list *list) {
    const double beyond = has_flag(arg, "high") || has_flag(arg, "positive") ? -1 : 2;
    const double reals[] = {NAN, INFINITY, -INFINITY, 1e300, beyond};
    (void)slot;
    for (size_t i = 0; i < COUNT_OF(reals) - has_flag(arg, "any"); i++)
        add_bad(list, "no such number", CLS_ERROR_INVALID_VALUE, (union value){.factor = reals[i]});
}

static union value good_real(const struct arg *arg, unsigned slot) {
    (void)slot;
    return (union value){.factor = has_flag(arg, "high") ? 1 : 0};
}

/* --- optimizers of one parameter --- */

static union value good_single(const struct arg *arg, unsigned slot) {
    (void)arg;
    (void)slot;
    return of_size(1);
}

/* The numbers of arrays in a list that is the only one, or goes with another. */
static void bad_single(const struct arg *arg, unsigned slot, struct bad_list *list) {
    static const size_t numbers[] = {0, 2, 1000, SIZE_MAX / 2, SIZE_MAX};
    (void)slot;
    if (!has_flag(arg, "lone")) {
        add_sizes(list, "another number", CLS_ERROR_SIZE_MISMATCH, numbers, COUNT_OF(numbers));
        return;
    }
    add_bad(list, "none", CLS_ERROR_INVALID_VALUE, of_size(0));
    add_bad(list, "more than memory has", CLS_ERROR_OUT_OF_MEMORY, of_size(SIZE_MAX / 2));
    add_bad(list, "more than memory has", CLS_ERROR_OUT_OF_MEMORY, of_size(SIZE_MAX));
}

static void bad_first(const struct arg *arg, unsigned slot, struct bad_list *list) {
    static const size_t indices[] = {1, 2, SIZE_MAX / 2 + 1, SIZE_MAX};
    (void)arg;
    (void)slot;
    add_sizes(list, "no such parameter", CLS_ERROR_OUT_OF_RANGE, indices, COUNT_OF(indices));
}

static union value good_optimizer_state(const struct arg *arg, unsigned slot) {
    static const cls_optimizer_state state = {3, 0.5, 0};
    (void)arg;
    (void)slot;
    return of_pointer(&state);
}

static void bad_optimizer_state(const struct arg *arg, unsigned slot, struct bad_list *list) {
    static const cls_optimizer_state states[] = {
        {0, -1, 0}, {0, NAN, 0}, {0, INFINITY, 0}, {0, 1e300, 0}};
    bad_pointer(arg, slot, list);
    for (size_t i = 0; i < COUNT_OF(states); i++)
        add_bad(list, "a bad rate", CLS_ERROR_INVALID_VALUE, of_pointer(&states[i]));
}

/* --- names and texts --- */

static union value good_text(const struct arg *arg, unsigned slot) {
    (void)slot;
    return of_pointer(arg->flags[0] ? first_flag(arg) : "a name");
}

static void bad_name(const struct arg *arg, unsigned slot, struct bad_list *list) {
    static const char *const unknown[] = {"", "no such name", "f32 ", "%s%n"};
    static char longest[5000];
    bad_pointer(arg, slot, list);
    memset(longest, 'n', sizeof longest - 1);
    add_bad(list, "a long name", CLS_ERROR_NOT_FOUND, of_pointer(longest));
    for (size_t i = 0; i < COUNT_OF(unknown); i++)
        add_bad(list, "an unknown name", CLS_ERROR_NOT_FOUND, of_pointer(unknown[i]));
}

static void bad_spec(const struct arg *arg, unsigned slot, struct bad_list *list) {
    static const char *const unknown[] = {"999", "a device that nobody has", "99999999999999999999",
                                          "-1", "%s%n"};
    (void)arg;
    (void)slot;
    for (size_t i = 0; i < COUNT_OF(unknown); i++)
        add_bad(list, "no such device", CLS_ERROR_NO_DEVICE, of_pointer(unknown[i]));
}

static union value good_source(const struct arg *arg, unsigned slot) {
    (void)arg;
    (void)slot;
    return of_pointer(stock_source);
}

static void bad_source(const struct arg *arg, unsigned slot, struct bad_list *list) {
    bad_pointer(arg, slot, list);
    add_bad(list, "no OpenCL C", CLS_ERROR_BUILD_FAILED, of_pointer("kernel void put("));
}

static union value good_path(const struct arg *arg, unsigned slot) {
    (void)arg;
    (void)slot;
    return of_pointer(stock.path);
}

static void bad_path(const struct arg *arg, unsigned slot, struct bad_list *list) {
    bad_pointer(arg, slot, list);
    add_bad(list, "no such file", CLS_ERROR_NOT_FOUND, of_pointer("/no/such/file.cl"));
    add_bad(list, "no name", CLS_ERROR_NOT_FOUND, of_pointer(""));
    add_bad(list, "a folder", CLS_ERROR_IO, of_pointer("/"));
}

static void bad_export(const struct arg *arg, unsigned slot, struct bad_list *list) {
    static const char *const unknown[] = {"", "/", "trace.png", ".json"};
    bad_pointer(arg, slot, list);
    add_bad(list, "no such folder", CLS_ERROR_IO, of_pointer("/no/such/folder/trace.json"));
    for (size_t i = 0; i < COUNT_OF(unknown); i++)
        add_bad(list, "an unknown suffix", CLS_ERROR_INVALID_VALUE, of_pointer(unknown[i]));
}

/* --- functions --- */

static void host(void *arg) { (void)arg; }

static void callback(cls_stream stream, cls_status status, void *arg) {
    (void)stream;
    (void)status;
    (void)arg;
}

static cl_int foreign(cl_command_queue queue, void *arg) {
    (void)queue;
    (void)arg;
    return CL_SUCCESS;
}

static cls_status phase(cls_stream stream, size_t index, void *arg) {
    (void)stream;
    (void)index;
    (void)arg;
    return CLS_SUCCESS;
}

static void set_callback(cls_coordinator coordinator, cls_status status, void *arg) {
    (void)coordinator;
    (void)status;
    (void)arg;
}

static union value good_function(const struct arg *arg, unsigned slot) {
    (void)slot;
    static const struct {
        const char *kind;
        void (*function)(void);
    } functions[] = {
        {"host_fn", (void (*)(void))host},       {"destructor_fn", (void (*)(void))host},
        {"foreign_fn", (void (*)(void))foreign}, {"callback_fn", (void (*)(void))callback},
        {"phase_fn", (void (*)(void))phase},     {"set_callback_fn", (void (*)(void))set_callback}};
    for (size_t i = 0; i < COUNT_OF(functions); i++)
        if (!strcmp(arg->kind, functions[i].kind))
            return (union value){.function = functions[i].function};
    abort();
}

const struct kind scalar_kinds[] = {
    {"access", good_one, bad_access, NULL},
    {"any", good_zero, bad_none, NULL},
    {"below", good_below, bad_below, NULL},
    {"bytes", good_bytes, bad_bytes, NULL},
    {"callback_fn", good_function, bad_pointer, NULL},
    {"capacity", good_bytes, bad_capacity, NULL},
    {"command_kind", good_one, bad_command_kind, NULL},
    {"factor", good_factor, bad_none, NULL},
    {"destructor_fn", good_function, bad_pointer, NULL},
    {"condition", good_zero, bad_condition, NULL},
    {"device", good_device, bad_device, NULL},
    {"dtype", good_dtype, bad_dtype, NULL},
    {"element", good_element, bad_element, NULL},
    {"element_offset", good_zero, bad_element_offset, NULL},
    {"export", good_text, bad_export, NULL},
    {"foreign_fn", good_function, bad_pointer, NULL},
    {"first", good_zero, bad_first, NULL},
    {"format", good_zero, bad_format, NULL},
    {"hold", good_one, bad_hold, NULL},
    {"host_fn", good_function, bad_pointer, NULL},
    {"item", good_zero, bad_item, NULL},
    {"bound", good_bound, bad_bound, NULL},
    {"length", good_bytes, bad_length, NULL},
    {"location", good_zero, bad_location, NULL},
    {"mask", good_mask, bad_mask, NULL},
    {"name", good_text, bad_name, NULL},
    {"number", good_zero, bad_number, NULL},
    {"offset", good_zero, bad_offset, NULL},
    {"op", good_one, bad_op, NULL},
    {"one", good_single, bad_single, NULL},
    {"optimizer_state", good_optimizer_state, bad_optimizer_state, NULL},
    {"options", good_zero, bad_none, NULL},
    {"path", good_path, bad_path, NULL},
    {"pattern", good_pattern, bad_pattern, NULL},
    {"phase_fn", good_function, bad_pointer, NULL},
    {"pinned", good_pinned, bad_pinned, undo_pinned},
    {"real", good_real, bad_real, NULL},
    {"set_callback_fn", good_function, bad_pointer, NULL},
    {"source", good_source, bad_source, NULL},
    {"spec", good_zero, bad_spec, NULL},
    {"status", good_zero, bad_status, NULL},
    {"text", good_text, bad_pointer, NULL},
    {"work_kind", good_one, bad_work_kind, NULL},
    {"workload", good_zero, bad_workload, NULL},
    {NULL, NULL, NULL, NULL},
};
