/* SPDX-License-Identifier: MIT */
/* Kinds of arguments: options, infos, rectangles, and what a launch takes. */
#include <limits.h>
#include <math.h>

#include "hostile.h"

/* --- structs that begin with their size --- */

enum { BAD_SIZES = 7 };

static size_t bad_struct_size(const struct arg *arg, unsigned i) {
    const size_t good = arg->struct_size;
    const size_t sizes[BAD_SIZES] = {
        0, 1, sizeof good - 1, good - 1, good + 1, good + sizeof good, SIZE_MAX};
    return sizes[i];
}

static void bad_scan_configs(struct bad_list *list) {
    const cls_buffer in = stock.handles[BUFFER].live;
    const struct {
        const char *what;
        cls_scan_segments segments;
        cls_array heads, length;
        cls_status status;
    } bad[] = {
        {"an unknown constant", (cls_scan_segments)-1, {0}, {0}, CLS_ERROR_INVALID_VALUE},
        {"an unknown constant", (cls_scan_segments)4, {0}, {0}, CLS_ERROR_INVALID_VALUE},
        {"segments of 0 elements", CLS_SCAN_LENGTH, {0}, {0}, CLS_ERROR_INVALID_VALUE},
        {"no flags", CLS_SCAN_FLAGS, {0}, {0}, CLS_ERROR_INVALID_VALUE},
        {"null flags",
         CLS_SCAN_FLAGS,
         {NULL, CLS_U8, 0, VIEW_COUNT},
         {0},
         CLS_ERROR_INVALID_HANDLE},
        {"flags of another type",
         CLS_SCAN_FLAGS,
         {in, CLS_I8, 0, VIEW_COUNT},
         {0},
         CLS_ERROR_TYPE_MISMATCH},
        {"few keys", CLS_SCAN_KEYS, {in, CLS_I64, 0, VIEW_COUNT - 1}, {0}, CLS_ERROR_SIZE_MISMATCH},
        {"keys in the output",
         CLS_SCAN_KEYS,
         {stock.from, CLS_U16, 0, VIEW_COUNT},
         {0},
         CLS_ERROR_OVERLAP},
        {"a length of another type",
         CLS_SCAN_WHOLE,
         {0},
         {in, CLS_U32, 0, 1},
         CLS_ERROR_TYPE_MISMATCH},
        {"two lengths", CLS_SCAN_WHOLE, {0}, {in, CLS_I64, 0, 2}, CLS_ERROR_SIZE_MISMATCH},
        {"a length in the output",
         CLS_SCAN_WHOLE,
         {0},
         {stock.from, CLS_I64, 0, 1},
         CLS_ERROR_OVERLAP},
        {"a length of another context",
         CLS_SCAN_WHOLE,
         {0},
         {stock.handles[BUFFER].foreign, CLS_I64, 0, 1},
         CLS_ERROR_WRONG_CONTEXT},
    };
    static cls_scan_config configs[COUNT_OF(bad)];
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        configs[i] = (cls_scan_config)CLS_SCAN_CONFIG_INIT;
        configs[i].segments = bad[i].segments;
        configs[i].heads = bad[i].heads;
        configs[i].length = bad[i].length;
        add_bad(list, bad[i].what, bad[i].status, of_pointer(&configs[i]));
    }
}

static void bad_optimizer_configs(struct bad_list *list) {
    static const double numbers[] = {-1, NAN, INFINITY, 1e300};
    static cls_optimizer_config configs[17];
    unsigned n = 0;
    for (size_t i = 0; i < COUNT_OF(configs); i++)
        configs[i] = (cls_optimizer_config)CLS_OPTIMIZER_CONFIG_INIT;
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        configs[n++].rate = numbers[i];
        configs[n++].decay = numbers[i];
        configs[n++].epsilon = numbers[i];
    }
    configs[n++].beta1 = 1;
    configs[n++].beta2 = -0.1;
    configs[n++].max_norm = NAN;
    configs[n++].nesterov = 1; /* without momentum */
    configs[n++].kind = (cls_optimizer_kind)3;
    for (unsigned i = 0; i < n; i++)
        add_bad(list, "an option out of range", CLS_ERROR_INVALID_VALUE, of_pointer(&configs[i]));
}

static void bad_sort_configs(struct bad_list *list) {
    static const int bits[][2] = {{-1, 8}, {0, 65}, {8, 8}, {9, 8}, {8, 0}, {0, -1}};
    static cls_sort_config configs[COUNT_OF(bits) + 4];
    for (size_t i = 0; i < COUNT_OF(configs); i++)
        configs[i] = (cls_sort_config)CLS_SORT_CONFIG_INIT;
    for (size_t i = 0; i < COUNT_OF(bits); i++) {
        configs[i].begin_bit = bits[i][0];
        configs[i].end_bit = bits[i][1];
        add_bad(list, "bits out of range", CLS_ERROR_INVALID_VALUE, of_pointer(&configs[i]));
    }
    cls_sort_config *at = configs + COUNT_OF(bits);
    at->length = cls_array_at(stock.handles[BUFFER].live, CLS_U32, 0, 1);
    add_bad(list, "a length of another type", CLS_ERROR_TYPE_MISMATCH, of_pointer(at++));
    at->length = cls_array_at(stock.handles[BUFFER].live, CLS_I64, 0, 2);
    add_bad(list, "two lengths", CLS_ERROR_SIZE_MISMATCH, of_pointer(at++));
    at->length = cls_array_at(stock.from, CLS_I64, 0, 1);
    add_bad(list, "a length in the output", CLS_ERROR_OVERLAP, of_pointer(at++));
    at->length = cls_array_at(stock.handles[BUFFER].foreign, CLS_I64, 0, 1);
    add_bad(list, "a length of another context", CLS_ERROR_WRONG_CONTEXT, of_pointer(at));
}

static void bad_config(const struct arg *arg, unsigned slot, struct bad_list *list) {
    static size_t sizes[MAX_ARGS][BAD_SIZES][REGION / sizeof(size_t)];
    static cls_stream_config streams[5];
    static cls_context_config device = CLS_CONTEXT_CONFIG_INIT;
    static cls_mempool_config mempool = CLS_MEMPOOL_CONFIG_INIT;
    static cls_event_config event = CLS_EVENT_CONFIG_INIT;
    static const int numbers[] = {-1, 77};
    for (unsigned i = 0; i < BAD_SIZES; i++) {
        sizes[slot][i][0] = bad_struct_size(arg, i);
        add_bad(list, "a bad struct size", CLS_ERROR_INVALID_VALUE, of_pointer(sizes[slot][i]));
    }
    for (unsigned i = 0; has_flag(arg, "stream") && i < 5; i++) {
        streams[i] = (cls_stream_config)CLS_STREAM_CONFIG_INIT;
        if (i < 2)
            streams[i].order = (cls_order)numbers[i];
        else if (i < 4)
            streams[i].wait = (cls_wait_policy)numbers[i - 2];
        else
            streams[i].max_in_flight = (1 << 20) + 1;
        add_bad(list, i < 4 ? "an unknown constant" : "too many in flight", CLS_ERROR_INVALID_VALUE,
                of_pointer(&streams[i]));
    }
    mempool.reuse = (cls_reuse)8;
    if (has_flag(arg, "mempool"))
        add_bad(list, "an unknown bit", CLS_ERROR_INVALID_VALUE, of_pointer(&mempool));
    event.timed = event.shareable = 1;
    if (has_flag(arg, "event"))
        add_bad(list, "times of several processes", CLS_ERROR_INVALID_VALUE, of_pointer(&event));
    if (has_flag(arg, "scan"))
        bad_scan_configs(list);
    if (has_flag(arg, "optimizer"))
        bad_optimizer_configs(list);
    if (has_flag(arg, "sort"))
        bad_sort_configs(list);
    device.device = "a device that nobody has";
    if (has_flag(arg, "device"))
        add_bad(list, "no such device", CLS_ERROR_NO_DEVICE, of_pointer(&device));
}

static const cls_fft_config fft_config = {.size = sizeof fft_config,
                                          .dtype = CLS_F32,
                                          .directions = CLS_FFT_BOTH,
                                          .dims = 1,
                                          .lengths = {VIEW_COUNT / 2, 1, 1},
                                          .batches = 1};

static union value good_fft(const struct arg *arg, unsigned slot) {
    (void)arg;
    (void)slot;
    return of_pointer(&fft_config);
}

static void bad_fft(const struct arg *arg, unsigned slot, struct bad_list *list) {
    static cls_fft_config configs[10];
    unsigned n = 0;
    for (size_t i = 0; i < COUNT_OF(configs); i++)
        configs[i] = fft_config;
    configs[n++].kind = (cls_fft_kind)2;
    configs[n++].dtype = (cls_dtype)1000;
    configs[n++].directions = (cls_fft_direction)0;
    configs[n++].directions = (cls_fft_direction)4;
    configs[n++].dims = 0;
    configs[n++].dims = 4;
    configs[n++].lengths[0] = 0;
    configs[n++].batches = 0;
    configs[n++].spectrum.strides[0] = 2;
    configs[n].batches = 2;
    configs[n++].signal.distance = 1;
    for (unsigned i = 0; i < n; i++)
        add_bad(list, "an option out of range", CLS_ERROR_INVALID_VALUE, of_pointer(&configs[i]));
    bad_config(arg, slot, list);
    add_bad(list, "no options", CLS_ERROR_INVALID_VALUE, of_pointer(NULL));
}

/* The size stands in the region itself, which must stay as it is. */
static union value good_info(const struct arg *arg, unsigned slot) {
    region_set(slot, &arg->struct_size, sizeof arg->struct_size);
    return of_pointer(region(slot));
}

static void bad_info(const struct arg *arg, unsigned slot, struct bad_list *list) {
    static struct {
        size_t size;
        unsigned char rest[REGION - sizeof(size_t)];
    } infos[MAX_ARGS][BAD_SIZES];
    bad_pointer(arg, slot, list);
    for (unsigned i = 0; i < BAD_SIZES; i++) {
        infos[slot][i].size = bad_struct_size(arg, i);
        add_bad(list, "a bad struct size", CLS_ERROR_INVALID_VALUE, of_pointer(&infos[slot][i]));
    }
}

/* --- tasks --- */

static cls_status do_nothing(cls_stream stream, void *arg) {
    (void)stream;
    (void)arg;
    return CLS_SUCCESS;
}

static union value good_task(const struct arg *arg, unsigned slot) {
    static cls_task task = CLS_TASK_INIT;
    (void)arg;
    (void)slot;
    task.fn = do_nothing;
    return of_pointer(&task);
}

static void bad_task(const struct arg *arg, unsigned slot, struct bad_list *list) {
    static const uint32_t far[] = {100000, CLS_NO_TASK};
    static cls_task tasks[] = {CLS_TASK_INIT, CLS_TASK_INIT, CLS_TASK_INIT, CLS_TASK_INIT};
    tasks[0].size = sizeof tasks[0] + 1;
    for (size_t i = 1; i < COUNT_OF(tasks); i++)
        tasks[i].fn = i == 1 ? NULL : do_nothing;
    tasks[2].n_prerequisites = tasks[3].n_prerequisites = 2;
    tasks[3].prerequisites = far;
    bad_pointer(arg, slot, list);
    for (size_t i = 0; i < COUNT_OF(tasks); i++)
        add_bad(list, "a bad task", CLS_ERROR_INVALID_VALUE, of_pointer(&tasks[i]));
}

/* --- rectangles and launches --- */

static const cls_rect good_rectangle = {16, 4, 0, 32, 0, 32, 0, 0, 0};

static union value good_rect(const struct arg *arg, unsigned slot) {
    (void)arg;
    (void)slot;
    return of_pointer(&good_rectangle);
}

/* The rectangle reaches past both sides; host memory has no end that the library knows but that of all addresses. */
static void bad_rect(const struct arg *arg, unsigned slot, struct bad_list *list) {
    enum { END = BUFFER_BYTES };
    static const cls_rect far[] = {
        {32, 33, 0, 32, 0, 32, 0, 0, 0},
        {32, 2, END - 63, 32, END - 63, 32, 0, 0, 0},
        {32, 3, 0, 500, 0, 500, 0, 0, 0},
    };
    static const cls_rect endless[] = {
        {4, 2, 0, SIZE_MAX, 0, SIZE_MAX, 0, 0, 0},
        {4, SIZE_MAX, 0, 4, 0, 4, 0, 0, 0},
        {4, SIZE_MAX / 4 + 2, 0, 4, 0, 4, 0, 0, 0},
        {4, 1, SIZE_MAX, 4, SIZE_MAX, 4, 0, 0, 0},
        {SIZE_MAX, 1, 0, SIZE_MAX, 0, SIZE_MAX, 0, 0, 0},
        {SIZE_MAX / 2, SIZE_MAX / 2, 0, SIZE_MAX / 2, 0, SIZE_MAX / 2, 0, 0, 0},
        {4, 2, 0, 8, 0, 8, SIZE_MAX, 0, 0},
        {4, 2, 0, 8, 0, 8, 2, SIZE_MAX, SIZE_MAX},
    };
    static const cls_rect narrow[] = {{8, 2, 0, 7, 0, 8, 0, 0, 0},  {8, 2, 0, 8, 0, 7, 0, 0, 0},
                                      {8, 1, 0, 0, 0, 0, 0, 0, 0},  {8, 4, 0, 0, 0, 16, 0, 0, 0},
                                      {8, 2, 0, 8, 0, 8, 2, 15, 0}, {8, 2, 0, 8, 0, 8, 2, 0, 15}};
    bad_pointer(arg, slot, list);
    for (size_t i = 0; i < COUNT_OF(far) && !has_flag(arg, "host"); i++)
        add_bad(list, "a rectangle past the end", CLS_ERROR_OUT_OF_RANGE, of_pointer(&far[i]));
    for (size_t i = 0; i < COUNT_OF(endless); i++)
        add_bad(list, "a rectangle without end", CLS_ERROR_OUT_OF_RANGE, of_pointer(&endless[i]));
    for (size_t i = 0; i < COUNT_OF(narrow); i++)
        add_bad(list, "a pitch below the width", CLS_ERROR_INVALID_VALUE, of_pointer(&narrow[i]));
}

static const cls_launch good_shape = {1, {4, 0, 0}, {0, 0, 0}, {0, 0, 0}, NULL, 0};

static union value good_launch(const struct arg *arg, unsigned slot) {
    (void)arg;
    (void)slot;
    return of_pointer(&good_shape);
}

/* Lists of buffers that a kernel reaches; cls_kernel_suggest_local reads none. */
static void bad_reaches(const struct arg *arg, unsigned slot, struct bad_list *list) {
    enum { LISTS = 6 };
    static cls_arg reaches[LISTS];
    static cls_launch launches[LISTS + 1];
    const struct handles *of = &stock.handles[BUFFER];
    const cls_status bad[LISTS] = {CLS_ERROR_INVALID_HANDLE, CLS_ERROR_CONTEXT_DESTROYED,
                                   CLS_ERROR_WRONG_CONTEXT,  CLS_ERROR_OUT_OF_RANGE,
                                   CLS_ERROR_INVALID_VALUE,  CLS_ERROR_INVALID_VALUE};
    reaches[0] = cls_arg_buffer(of->stale);
    reaches[1] = cls_arg_buffer(of->orphan);
    reaches[2] = cls_arg_buffer(of->foreign);
    reaches[3] = cls_arg_reads(of->live, 1, BUFFER_BYTES);
    reaches[4] = cls_arg_u32(7);
    reaches[5] = cls_arg_address(of->live, 0);
    (void)arg;
    (void)slot;
    for (unsigned i = 0; i <= LISTS; i++) {
        launches[i] = good_shape;
        launches[i].reaches = i < LISTS ? &reaches[i] : NULL;
        launches[i].n_reaches = 1;
        add_bad(list, "a list that is none", i < LISTS ? bad[i] : CLS_ERROR_INVALID_VALUE,
                of_pointer(&launches[i]));
    }
}

static void bad_grid(const struct arg *arg, unsigned slot, struct bad_list *list) {
    static const cls_launch shapes[] = {
        {0, {4, 4, 4}, {0, 0, 0}, {0, 0, 0}, NULL, 0},
        {4, {4, 4, 4}, {0, 0, 0}, {0, 0, 0}, NULL, 0},
        {UINT_MAX, {4, 4, 4}, {0, 0, 0}, {0, 0, 0}, NULL, 0},
        {1, {7, 0, 0}, {2, 0, 0}, {0, 0, 0}, NULL, 0},
        {2, {4, 4, 0}, {2, 0, 0}, {0, 0, 0}, NULL, 0},
        {1, {4, 0, 0}, {8, 0, 0}, {0, 0, 0}, NULL, 0},
        {1, {1u << 30, 0, 0}, {1u << 30, 0, 0}, {0, 0, 0}, NULL, 0},
        {3, {1u << 20, 1u << 20, 1u << 20}, {1u << 20, 1u << 20, 1u << 20}, {0, 0, 0}, NULL, 0},
        {2, {SIZE_MAX, SIZE_MAX, 0}, {0, 0, 0}, {0, 0, 0}, NULL, 0},
        {2, {SIZE_MAX / 2 + 1, 2, 0}, {0, 0, 0}, {0, 0, 0}, NULL, 0},
        {1, {4, 0, 0}, {0, 0, 0}, {SIZE_MAX - 3, 0, 0}, NULL, 0},
        {2, {2, 2, 0}, {0, 0, 0}, {1, SIZE_MAX, 0}, NULL, 0},
    };
    bad_pointer(arg, slot, list);
    for (size_t i = 0; i < COUNT_OF(shapes); i++)
        add_bad(list, "a shape that is none", CLS_ERROR_INVALID_VALUE, of_pointer(&shapes[i]));
}

static void bad_launch(const struct arg *arg, unsigned slot, struct bad_list *list) {
    bad_grid(arg, slot, list);
    bad_reaches(arg, slot, list);
}

enum { LAUNCH_ARGS = 2, LAUNCHES = 19 };

static union value good_args(const struct arg *arg, unsigned slot) {
    static cls_arg args[LAUNCH_ARGS];
    (void)arg;
    (void)slot;
    args[0] = cls_arg_buffer(stock.handles[BUFFER].live);
    args[1] = cls_arg_u32(7);
    return of_pointer(args);
}

static void bad_args(const struct arg *arg, unsigned slot, struct bad_list *list) {
    const struct handles *of = &stock.handles[BUFFER];
    static cls_arg args[LAUNCHES][LAUNCH_ARGS];
    const struct {
        cls_arg first, second;
        cls_status status;
    } bad[LAUNCHES] = {
        {cls_arg_buffer(of->stale), cls_arg_u32(7), CLS_ERROR_INVALID_HANDLE},
        {cls_arg_buffer(stock.handles[STREAM].live), cls_arg_u32(7), CLS_ERROR_INVALID_HANDLE},
        {cls_arg_buffer((cls_buffer)(uintptr_t)8), cls_arg_u32(7), CLS_ERROR_INVALID_HANDLE},
        {cls_arg_buffer(of->orphan), cls_arg_u32(7), CLS_ERROR_CONTEXT_DESTROYED},
        {cls_arg_buffer(of->foreign), cls_arg_u32(7), CLS_ERROR_WRONG_CONTEXT},
        {cls_arg_pointer((void *)(uintptr_t)8), cls_arg_u32(7), CLS_ERROR_NOT_FOUND},
        {cls_arg_pointer(pointers_orphan()), cls_arg_u32(7), CLS_ERROR_CONTEXT_DESTROYED},
        {cls_arg_pointer(pointers_of(of->foreign)), cls_arg_u32(7), CLS_ERROR_WRONG_CONTEXT},
        {cls_arg_buffer_at(of->stale, 0, 4), cls_arg_u32(7), CLS_ERROR_INVALID_HANDLE},
        {cls_arg_buffer_at(of->orphan, 0, 4), cls_arg_u32(7), CLS_ERROR_CONTEXT_DESTROYED},
        {cls_arg_buffer_at(of->foreign, 0, 4), cls_arg_u32(7), CLS_ERROR_WRONG_CONTEXT},
        {cls_arg_buffer_at(of->live, 0, 0), cls_arg_u32(7), CLS_ERROR_INVALID_VALUE},
        {cls_arg_buffer_at(of->live, 0, BUFFER_BYTES + 1), cls_arg_u32(7), CLS_ERROR_OUT_OF_RANGE},
        {cls_arg_buffer(of->live), cls_arg_u8(7), CLS_ERROR_INVALID_VALUE},
        {cls_arg_buffer(of->live), cls_arg_u64(7), CLS_ERROR_INVALID_VALUE},
        {cls_arg_buffer(of->live), cls_arg_value(NULL, 4), CLS_ERROR_INVALID_VALUE},
        {cls_arg_address(of->live, 0), cls_arg_u32(7), CLS_ERROR_INVALID_VALUE},
        {cls_arg_buffer(of->live),
         {(cls_arg_kind)9, CLS_ACCESS_UNKNOWN, CLS_ARG_ANY, 4, {NULL}},
         CLS_ERROR_INVALID_VALUE},
        {cls_arg_buffer(of->live),
         {CLS_ARG_VALUE, CLS_ACCESS_UNKNOWN, (cls_arg_type)9, 4, {NULL}},
         CLS_ERROR_INVALID_VALUE},
    };
    bad_pointer(arg, slot, list);
    for (size_t i = 0; i < LAUNCHES; i++) {
        args[i][0] = bad[i].first;
        args[i][1] = bad[i].second;
        add_bad(list, "a bad argument", bad[i].status, of_pointer(args[i]));
    }
}

static union value good_n_args(const struct arg *arg, unsigned slot) {
    (void)arg;
    (void)slot;
    return (union value){.count = LAUNCH_ARGS};
}

static void bad_n_args(const struct arg *arg, unsigned slot, struct bad_list *list) {
    static const unsigned counts[] = {0, 1, 3, INT_MAX, UINT_MAX};
    (void)arg;
    (void)slot;
    for (size_t i = 0; i < COUNT_OF(counts); i++)
        add_bad(list, "too few or many", CLS_ERROR_INVALID_VALUE,
                (union value){.count = counts[i]});
}

static union value good_part(const struct arg *arg, unsigned slot) {
    static const cls_buffer_part part = {64, 0, 64};
    (void)arg;
    (void)slot;
    return of_pointer(&part);
}

const struct kind struct_kinds[] = {
    {"args", good_args, bad_args, NULL},
    {"config", good_zero, bad_config, NULL},
    {"fft", good_fft, bad_fft, NULL},
    {"info", good_info, bad_info, NULL},
    {"launch", good_launch, bad_launch, NULL},
    {"grid", good_launch, bad_grid, NULL},
    {"n_args", good_n_args, bad_n_args, NULL},
    {"part", good_part, bad_pointer, NULL},
    {"rect", good_rect, bad_rect, NULL},
    {"task", good_task, bad_task, NULL},
    {NULL, NULL, NULL, NULL},
};
