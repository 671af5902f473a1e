/* SPDX-License-Identifier: MIT */
/* Trials that launch kernels: what arguments they see, and when they run. */
#include <string.h>

#include "driver/trial.h"

/* An order that is not kept shows only if the driver makes use of that. */
enum { ORDER_TRIES = 3, ITEMS = 4, LAUNCHES = 3 };

static cl_kernel open_kernel(struct trial *trial, const char *name) {
    cl_int code;
    cl_kernel kernel = clCreateKernel(trial->probe->program, name, &code);
    return trial_did(trial, code) ? kernel : NULL;
}

static void close_kernel(const struct trial *trial, cl_kernel kernel) {
    if (kernel && !trial->probe->stuck)
        clReleaseKernel(kernel);
}

static bool set_arg(struct trial *trial, cl_kernel kernel, cl_uint i, size_t size,
                    const void *value) {
    return trial_did(trial, clSetKernelArg(kernel, i, size, value));
}

/* --- arguments --- */

/* probe_bytes: `n` bytes of `to` become those of `from`, each with `value` in an exclusive or. */
static bool set_bytes(struct trial *trial, cl_kernel kernel, cl_mem from, cl_mem to, cl_uint n,
                      cl_uint value) {
    return set_arg(trial, kernel, 0, sizeof from, &from) &&
           set_arg(trial, kernel, 1, sizeof to, &to) && set_arg(trial, kernel, 2, sizeof n, &n) &&
           set_arg(trial, kernel, 3, sizeof value, &value);
}

static void expect_bytes(const struct trial *trial, size_t to, size_t from, cl_uint n,
                         cl_uint value) {
    for (cl_uint i = 0; i < n; i++)
        trial->wanted[0][to + i] = (unsigned char)(trial->wanted[1][from + i] ^ value);
}

static cl_int launch_one(cl_command_queue queue, cl_kernel kernel, cl_uint count,
                         const cl_event *waits, cl_event *event) {
    static const size_t one = 1;
    return clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, count, waits, event);
}

static bool launch_alone(struct trial *trial, cl_kernel kernel) {
    cl_event event = NULL;
    const cl_int code = launch_one(trial->probe->queues[0], kernel, 0, NULL, &event);
    return trial_done(trial, code, event);
}

bool trial_change(struct trial *trial, cl_mem from, cl_mem to, cl_uint n, cl_uint value) {
    cl_kernel kernel = open_kernel(trial, "probe_bytes");
    const bool ran =
        kernel && set_bytes(trial, kernel, from, to, n, value) && launch_alone(trial, kernel);
    close_kernel(trial, kernel);
    return ran;
}

enum { PART_BYTES = 100, PART_TO = 4, PART_FROM = 2, PART_USES = 4 };

/* New bytes by way of the buffer that the sub-buffer lies in. */
static bool renew_part(struct trial *trial, unsigned use) {
    const size_t origin = PART_FROM * trial->unit;
    unsigned char *wanted = trial->wanted[1] + origin;
    for (unsigned i = 0; i < PART_BYTES; i++)
        wanted[i] ^= (unsigned char)(use + 1 + trial_draw(trial, 250));
    return trial_write(trial, trial->memory[1], origin, PART_BYTES, wanted);
}

/* One kernel takes the same sub-buffers again, with launches on the whole buffers between. */
static bool use_parts(struct trial *trial, cl_kernel kernel, cl_mem to, cl_mem from) {
    bool right = true;
    for (unsigned use = 0; use < PART_USES && right; use++) {
        const cl_uint n = 1 + (cl_uint)trial_draw(trial, PART_BYTES);
        const cl_uint value = (cl_uint)trial_draw(trial, 256);
        right = renew_part(trial, use) && set_bytes(trial, kernel, from, to, n, value) &&
                launch_alone(trial, kernel);
        expect_bytes(trial, PART_TO * trial->unit, PART_FROM * trial->unit, n, value);
        if (!right || use % 2)
            continue;
        right = set_bytes(trial, kernel, trial->memory[1], trial->memory[0], n, value) &&
                launch_alone(trial, kernel);
        expect_bytes(trial, 0, 0, n, value);
    }
    return right && trial_compare(trial);
}

bool trial_of_sub_buffer_arguments(struct trial *trial) {
    cl_mem to = trial_part(trial, 0, PART_TO), from = trial_part(trial, 1, PART_FROM);
    cl_kernel kernel = open_kernel(trial, "probe_bytes");
    const bool right =
        to && from && kernel && trial_reset(trial, 10) && use_parts(trial, kernel, to, from);
    if (trial->probe->stuck)
        return false;
    close_kernel(trial, kernel);
    if (to)
        clReleaseMemObject(to);
    if (from)
        clReleaseMemObject(from);
    return right;
}

/* Launches in a row of one kernel behind one that runs long, with other arguments each. */
static bool launch_in_a_row(struct trial *trial, cl_kernel kernel) {
    struct probe *probe = trial->probe;
    cl_event last = NULL;
    if (!probe_enqueue(probe, probe->queues[0], 0, probe->rounds / 4, NULL, NULL))
        return false;
    for (cl_uint i = 0; i < LAUNCHES; i++) {
        const bool ends = i == LAUNCHES - 1;
        if (!set_bytes(trial, kernel, trial->memory[1], trial->memory[0], LAUNCHES - i, i + 1) ||
            !trial_did(trial, launch_one(probe->queues[0], kernel, 0, NULL, ends ? &last : NULL)))
            return false;
        expect_bytes(trial, 0, 0, LAUNCHES - i, i + 1);
    }
    return probe_finish(probe, probe->queues[0], last);
}

/* Sets only the value again, as a launch does whose other arguments are the last one's. */
static bool launch_with_one_changed(struct trial *trial, cl_kernel kernel) {
    const cl_uint value = 0x77;
    if (!set_arg(trial, kernel, 3, sizeof value, &value) || !launch_alone(trial, kernel))
        return false;
    expect_bytes(trial, 0, 0, 1, value);
    return true;
}

bool trial_of_arguments_set_again(struct trial *trial) {
    cl_kernel kernel = open_kernel(trial, "probe_bytes");
    const bool right = kernel && trial_reset(trial, 11) && launch_in_a_row(trial, kernel) &&
                       launch_with_one_changed(trial, kernel) && trial_compare(trial);
    close_kernel(trial, kernel);
    return right;
}

/* probe_values, as in probe_context.c: two words for the sum, and those of the arguments. */
enum { SUM_WORDS = 2, VALUE_WORDS = 14 };

struct values {
    struct {
        cl_uint a[6];
        cl_float b;
        cl_ulong c;
    } structure;
    cl_uchar u;
    cl_ulong l;
};

static bool launch_values(struct trial *trial, const struct values *values, const cl_uint *sum,
                          cl_uint words[VALUE_WORDS]) {
    cl_kernel kernel = open_kernel(trial, "probe_values");
    const bool ran =
        kernel && trial_write(trial, trial->memory[0], 0, SUM_WORDS * sizeof *sum, sum) &&
        set_arg(trial, kernel, 0, sizeof(cl_mem), &trial->memory[0]) &&
        set_arg(trial, kernel, 1, sizeof values->structure, &values->structure) &&
        set_arg(trial, kernel, 2, sizeof values->u, &values->u) &&
        set_arg(trial, kernel, 3, sizeof values->l, &values->l) && launch_alone(trial, kernel) &&
        trial_read(trial, trial->memory[0], 0, VALUE_WORDS * sizeof *words, trial->read);
    close_kernel(trial, kernel);
    if (ran)
        memcpy(words, trial->read, VALUE_WORDS * sizeof *words);
    return ran;
}

static cl_uint draw_word(struct trial *trial) {
    return (cl_uint)trial_draw(trial, 1 << 16) << 16 | (cl_uint)trial_draw(trial, 1 << 16);
}

bool trial_of_structure_arguments(struct trial *trial) {
    cl_uint wanted[VALUE_WORDS] = {0}, words[VALUE_WORDS];
    struct values values;
    memset(&values, 0, sizeof values);
    for (unsigned i = SUM_WORDS; i < VALUE_WORDS; i++)
        wanted[i] = draw_word(trial);
    wanted[8] = 0x3f800000 | wanted[8] >> 9; /* a number, whose bits no driver changes */
    wanted[11] &= 0xff;
    memcpy(values.structure.a, wanted + SUM_WORDS, sizeof values.structure.a);
    memcpy(&values.structure.b, wanted + 8, sizeof values.structure.b);
    values.structure.c = (cl_ulong)wanted[10] << 32 | wanted[9];
    values.u = (cl_uchar)wanted[11];
    values.l = (cl_ulong)wanted[13] << 32 | wanted[12];
    return launch_values(trial, &values, wanted, words) &&
           !memcmp(words + SUM_WORDS, wanted + SUM_WORDS,
                   (VALUE_WORDS - SUM_WORDS) * sizeof *words);
}

/* probe_place, as in probe_context.c: each work-item writes its place and the offset, at its place in a cube. */
enum { SIDE = 4, OFFSET_TRIES = 4 };

struct trial_range {
    cl_uint dims;
    size_t global[3], offset[3];
};

/* Sizes and offsets that add up to the side at most; no offset in a dimension that is not used. */
static struct trial_range draw_range(struct trial *trial, unsigned use) {
    struct trial_range range = {1 + use % 3, {1, 1, 1}, {0, 0, 0}};
    for (unsigned i = 0; i < range.dims; i++) {
        range.offset[i] = use < 3 || trial_draw(trial, 2) ? 1 + trial_draw(trial, SIDE - 1) : 0;
        range.global[i] = 1 + trial_draw(trial, SIDE - range.offset[i]);
    }
    return range;
}

static void expect_place(const struct trial *trial, const struct trial_range *range, size_t i) {
    const size_t *global = range->global, *offset = range->offset;
    const size_t x = offset[0] + i % global[0], y = offset[1] + i / global[0] % global[1];
    const size_t z = offset[2] + i / global[0] / global[1];
    const cl_uint word =
        (cl_uint)(x + 16 * y + 256 * z + ((offset[0] + 16 * offset[1] + 256 * offset[2]) << 16));
    memcpy(trial->wanted[0] + (x + SIDE * (y + SIDE * z)) * sizeof word, &word, sizeof word);
}

static bool launch_places(struct trial *trial, cl_kernel kernel, const struct trial_range *range) {
    static const size_t ones[3] = {1, 1, 1};
    const size_t *global = range->global;
    cl_event event = NULL;
    const cl_int code = clEnqueueNDRangeKernel(trial->probe->queues[0], kernel, range->dims,
                                               range->offset, global, ones, 0, NULL, &event);
    if (!trial_done(trial, code, event))
        return false;
    for (size_t i = 0; i < global[0] * global[1] * global[2]; i++)
        expect_place(trial, range, i);
    return true;
}

bool trial_of_launch_offsets(struct trial *trial) {
    const cl_uint side = SIDE;
    cl_kernel kernel = open_kernel(trial, "probe_place");
    bool right = kernel && trial_reset(trial, 16) &&
                 set_arg(trial, kernel, 0, sizeof(cl_mem), &trial->memory[0]) &&
                 set_arg(trial, kernel, 1, sizeof side, &side);
    for (unsigned use = 0; use < OFFSET_TRIES && right; use++) {
        const struct trial_range range = draw_range(trial, use);
        right = launch_places(trial, kernel, &range);
    }
    right = right && trial_compare(trial);
    close_kernel(trial, kernel);
    return right;
}

/* A number of 1 to 2 and one of less than half of its last digit: the sum is the first and the error of rounding the
 * second, but with more digits there is no error. */
bool trial_of_rounding(struct trial *trial) {
    const struct values none = {.u = 0};
    cl_uint words[VALUE_WORDS];
    for (unsigned i = 0; i < ORDER_TRIES; i++) {
        const cl_uint sum[SUM_WORDS] = {0x3f800000 | draw_word(trial) >> 9,
                                        (i % 2u) << 31 | 0x30000000 | draw_word(trial) >> 9};
        if (!launch_values(trial, &none, sum, words) || memcmp(words, sum, sizeof sum))
            return false;
    }
    return true;
}

/* probe_local, as in probe_context.c. */
static void expect_local(const struct trial *trial, cl_uint items) {
    for (cl_uint i = 0; i < 2 * items; i++) {
        const cl_uint me = i % items;
        const cl_uint word = 3 * (items - 1 - me) + 1 + ((5 * ((me + 1) % items) + 2) << 16);
        memcpy(trial->wanted[0] + i * sizeof word, &word, sizeof word);
    }
}

static bool launch_local(struct trial *trial, cl_kernel kernel, size_t items) {
    const size_t global = 2 * items;
    cl_event event = NULL;
    if (!set_arg(trial, kernel, 0, sizeof(cl_mem), &trial->memory[0]) ||
        !set_arg(trial, kernel, 1, items * sizeof(cl_uint), NULL) ||
        !set_arg(trial, kernel, 2, items * sizeof(cl_uint), NULL))
        return false;
    const cl_int code = clEnqueueNDRangeKernel(trial->probe->queues[0], kernel, 1, NULL, &global,
                                               &items, 0, NULL, &event);
    if (!trial_done(trial, code, event))
        return false;
    expect_local(trial, (cl_uint)items);
    return trial_compare(trial);
}

/* The device's kernels may have groups of fewer work-items: of one, which tells less. */
bool trial_of_local_arguments(struct trial *trial) {
    const struct device *device = trial->probe->device;
    const size_t most = device->max_local[0] < device->info.max_work_group
                            ? device->max_local[0]
                            : device->info.max_work_group;
    cl_kernel kernel = open_kernel(trial, "probe_local");
    const bool right =
        kernel && trial_reset(trial, 12) && launch_local(trial, kernel, most < ITEMS ? 1 : ITEMS);
    close_kernel(trial, kernel);
    return right;
}

/* --- order --- */

/* A kernel on `first` that runs long and then writes a word, and one on `second` that copies the word. */
static bool runs_after(struct trial *trial, cl_kernel kernel, cl_command_queue first,
                       cl_command_queue second, bool waits) {
    struct probe *probe = trial->probe;
    cl_event written = NULL, copied = NULL;
    const cl_uint none = 0; /* a number that the kernel never writes */
    if (!trial_reset(trial, 13) ||
        !set_bytes(trial, kernel, probe->words[0], trial->memory[0], sizeof none, 0) ||
        !trial_write(trial, probe->words[0], 0, sizeof none, &none) ||
        !probe_enqueue(probe, first, 0, probe->rounds / 3, NULL, &written))
        return false;
    const bool enqueued = trial_did(
        trial, launch_one(second, kernel, waits ? 1 : 0, waits ? &written : NULL, &copied));
    const bool first_done = probe_finish(probe, first, written);
    return enqueued && probe_finish(probe, second, copied) && first_done;
}

static bool compare_word(struct trial *trial) {
    cl_uint word = 0;
    if (!trial_read(trial, trial->probe->words[0], 0, sizeof word, trial->read))
        return false;
    memcpy(&word, trial->read, sizeof word);
    memcpy(trial->wanted[0], &word, sizeof word);
    return word != 0 && trial_compare(trial);
}

static bool keeps_order(struct trial *trial, cl_command_queue first, cl_command_queue second,
                        bool waits) {
    cl_kernel kernel = open_kernel(trial, "probe_bytes");
    bool right = kernel != NULL;
    for (unsigned i = 0; i < ORDER_TRIES && right; i++)
        right = runs_after(trial, kernel, first, second, waits) && compare_word(trial);
    close_kernel(trial, kernel);
    return right;
}

bool trial_of_queue_order(struct trial *trial) {
    return keeps_order(trial, trial->probe->queues[0], trial->probe->queues[0], false);
}

/* A device without such queues cannot break their promise. */
bool trial_of_events_in_queue(struct trial *trial) {
    cl_command_queue queue = trial->probe->out_of_order;
    return !queue || keeps_order(trial, queue, queue, true);
}

bool trial_of_events_across_queues(struct trial *trial) {
    return keeps_order(trial, trial->probe->queues[0], trial->probe->queues[1], true);
}
