/* SPDX-License-Identifier: MIT */
/* Trials of addresses: that a buffer keeps the one that a kernel tells, and that kernels reach it there. */
#include <string.h>

#include "driver/trial.h"

enum { ROWS = 2, REACHED = 200, OTHERS = 4, POINTER_USES = 6, LONGEST = 64 };

/* What probe_reach takes out of memory: from one address to another. */
struct reach_table {
    cl_ulong from, to;
};

struct address_trial {
    struct trial *trial;
    cl_kernel tell, reach;
    cl_mem table, told; /* probe_reach's, and what probe_tell writes */
};

static bool set(struct trial *trial, cl_kernel kernel, cl_uint i, size_t size, const void *value) {
    return trial_did(trial, clSetKernelArg(kernel, i, size, value));
}

static bool launch_waited(struct trial *trial, unsigned queue, cl_kernel kernel) {
    static const size_t one = 1;
    cl_event event = NULL;
    struct probe *probe = trial->probe;
    return trial_did(trial, clEnqueueNDRangeKernel(probe->queues[queue], kernel, 1, NULL, &one,
                                                   &one, 0, NULL, &event)) &&
           probe_finish(probe, probe->queues[queue], event);
}

static cl_mem create_memory(struct trial *trial, size_t bytes) {
    cl_int code;
    cl_mem made = clCreateBuffer(trial->probe->context, CL_MEM_READ_WRITE, bytes, NULL, &code);
    return trial_did(trial, code) ? made : NULL;
}

static void release_memory(const struct trial *trial, cl_mem memory) {
    if (memory && !trial->probe->stuck)
        clReleaseMemObject(memory);
}

/* --- steps --- */

static bool open_address(struct address_trial *a, struct trial *trial) {
    cl_int code;
    *a = (struct address_trial){.trial = trial};
    a->tell = clCreateKernel(trial->probe->program, "probe_tell", &code);
    if (!trial_did(trial, code)) {
        a->tell = NULL;
        return false;
    }
    a->reach = clCreateKernel(trial->probe->program, "probe_reach", &code);
    if (!trial_did(trial, code)) {
        a->reach = NULL;
        return false;
    }
    a->table = create_memory(trial, sizeof(struct reach_table));
    a->told = create_memory(trial, sizeof(cl_ulong));
    return a->table && a->told;
}

static void close_address(const struct address_trial *a) {
    if (a->trial->probe->stuck)
        return;
    if (a->tell)
        clReleaseKernel(a->tell);
    if (a->reach)
        clReleaseKernel(a->reach);
    release_memory(a->trial, a->table);
    release_memory(a->trial, a->told);
}

static bool tell_by_kernel(struct address_trial *a, unsigned queue, cl_mem memory, cl_ulong *out) {
    struct trial *trial = a->trial;
    cl_ulong told = 0;
    const bool ran = set(trial, a->tell, 0, sizeof memory, &memory) &&
                     set(trial, a->tell, 1, sizeof a->told, &a->told) &&
                     launch_waited(trial, queue, a->tell) &&
                     trial_read(trial, a->told, 0, sizeof told, &told);
    *out = told;
    return ran && told;
}

/* Bytes go through addresses only: the kernel's one argument is the table. */
static bool reach_by_table(struct address_trial *a, unsigned queue, cl_ulong from, cl_ulong to,
                           cl_uint n, cl_uint value) {
    struct trial *trial = a->trial;
    const struct reach_table table = {from, to};
    return trial_write(trial, a->table, 0, sizeof table, &table) &&
           set(trial, a->reach, 0, sizeof a->table, &a->table) &&
           set(trial, a->reach, 1, sizeof n, &n) && set(trial, a->reach, 2, sizeof value, &value) &&
           launch_waited(trial, queue, a->reach);
}

static void expect_passed(const struct trial *trial, size_t to, size_t from, cl_uint n,
                          cl_uint value) {
    for (cl_uint i = 0; i < n; i++)
        trial->wanted[0][to + i] = (unsigned char)(trial->wanted[1][from + i] ^ value);
}

/* New bytes, written by the host's call: a kernel must not see those that were there. */
static bool renew_bytes(struct trial *trial) {
    for (unsigned i = 0; i < REACHED; i++)
        trial->wanted[1][i] ^= (unsigned char)(1 + trial_draw(trial, 255));
    return trial_write(trial, trial->memory[1], 0, REACHED, trial->wanted[1]);
}

/* --- addresses --- */

static bool pass_through(struct address_trial *a, const cl_ulong at[ROWS], unsigned queue) {
    struct trial *trial = a->trial;
    const size_t to = trial_draw(trial, 300), from = trial_draw(trial, REACHED / 2);
    const cl_uint n = 1 + (cl_uint)trial_draw(trial, REACHED / 2);
    const cl_uint value = (cl_uint)trial_draw(trial, 256);
    if (!renew_bytes(trial) || !reach_by_table(a, queue, at[1] + from, at[0] + to, n, value))
        return false;
    expect_passed(trial, to, from, n, value);
    return trial_compare(trial);
}

/* A buffer that was made after the others were told, and after some of its age were given up, takes the bytes between the
 * two queues. */
static bool pass_by_younger(struct address_trial *a, const cl_ulong at[ROWS], cl_mem younger) {
    struct trial *trial = a->trial;
    cl_ulong middle;
    if (!tell_by_kernel(a, 1, younger, &middle) || !renew_bytes(trial) ||
        !reach_by_table(a, 1, at[1], middle, REACHED, 0x15) ||
        !reach_by_table(a, 0, middle, at[0], REACHED, 0x63))
        return false;
    expect_passed(trial, 0, 0, REACHED, 0x15 ^ 0x63);
    return trial_compare(trial);
}

static bool is_told_again(struct address_trial *a, const cl_ulong at[ROWS]) {
    for (unsigned i = 0; i < 2 * ROWS; i++) {
        cl_ulong again;
        if (!tell_by_kernel(a, i / ROWS, a->trial->memory[i % ROWS], &again) ||
            again != at[i % ROWS])
            return false;
    }
    return true;
}

static bool use_addresses(struct address_trial *a, cl_mem others[OTHERS]) {
    struct trial *trial = a->trial;
    cl_ulong at[ROWS], other;
    for (unsigned i = 0; i < ROWS; i++)
        if (!tell_by_kernel(a, i, trial->memory[i], &at[i]))
            return false;
    if (!pass_through(a, at, 0))
        return false;
    for (unsigned i = 0; i < OTHERS; i++) {
        others[i] = create_memory(trial, trial->unit << i);
        if (!others[i] || !trial_change(trial, trial->memory[1], others[i], REACHED, i) ||
            !tell_by_kernel(a, 0, others[i], &other) || other == at[0] || other == at[1])
            return false;
        if (i % 2) {
            release_memory(trial, others[i]);
            others[i] = NULL;
        }
    }
    others[1] = create_memory(trial, trial->unit);
    return others[1] && pass_by_younger(a, at, others[1]) && pass_through(a, at, 1) &&
           is_told_again(a, at) && pass_through(a, at, 0);
}

bool trial_of_addresses(struct trial *trial) {
    struct address_trial a;
    cl_mem others[OTHERS] = {NULL};
    const bool right =
        open_address(&a, trial) && trial_reset(trial, 18) && use_addresses(&a, others);
    for (unsigned i = 0; i < OTHERS; i++)
        release_memory(trial, others[i]);
    close_address(&a);
    return right;
}

/* --- arguments by pointer --- */

static bool set_all_bytes(struct trial *trial, cl_kernel kernel, cl_uint n, cl_uint value) {
    return set(trial, kernel, 0, sizeof(cl_mem), &trial->memory[1]) &&
           set(trial, kernel, 1, sizeof(cl_mem), &trial->memory[0]) &&
           set(trial, kernel, 2, sizeof n, &n) && set(trial, kernel, 3, sizeof value, &value);
}

/* Argument `which` of probe_bytes is given by address, at odd offsets and at the buffer's start, after it was a buffer; the
 * other one stays a buffer. Argument 0 is of memory[1]. */
static bool use_pointers(struct address_trial *a, cl_kernel kernel, unsigned which,
                         const cl_ulong at[ROWS]) {
    struct trial *trial = a->trial;
    bool right = renew_bytes(trial) && set_all_bytes(trial, kernel, REACHED, 0x3a) &&
                 launch_waited(trial, 0, kernel);
    expect_passed(trial, 0, 0, REACHED, 0x3a);
    for (unsigned use = 0; use < POINTER_USES && right; use++) {
        const size_t step = (size_t)1 << use % 5;
        const size_t offset = use == 3 ? 0 : (2 * trial_draw(trial, 20) + 1) * step;
        const cl_uint n = 1 + (cl_uint)trial_draw(trial, LONGEST);
        const cl_uint value = (cl_uint)trial_draw(trial, 256);
        void *address = (void *)(uintptr_t)(at[!which] + offset);
        right = renew_bytes(trial) &&
                trial_did(trial, clSetKernelArgSVMPointer(kernel, which, address)) &&
                set(trial, kernel, 2, sizeof n, &n) &&
                set(trial, kernel, 3, sizeof value, &value) &&
                launch_waited(trial, use % 2, kernel);
        expect_passed(trial, which ? offset : 0, which ? 0 : offset, n, value);
        right = right && trial_compare(trial);
    }
    return right;
}

static bool with_pointers(struct address_trial *a, unsigned which) {
    struct trial *trial = a->trial;
    cl_ulong at[ROWS];
    cl_int code;
    for (unsigned i = 0; i < ROWS; i++)
        if (!tell_by_kernel(a, 0, trial->memory[i], &at[i]))
            return false;
    cl_kernel kernel = clCreateKernel(trial->probe->program, "probe_bytes", &code);
    if (!trial_did(trial, code))
        return false;
    const bool right = use_pointers(a, kernel, which, at);
    if (!trial->probe->stuck)
        clReleaseKernel(kernel);
    return right;
}

/* A device without shared virtual memory has no such arguments, and is never asked. */
bool trial_of_pointer_arguments(struct trial *trial) {
    struct address_trial a;
    if (!device_takes_pointers(trial->probe->device))
        return true;
    bool right = open_address(&a, trial) && trial_reset(trial, 19);
    for (unsigned i = 0; i < 2 && right; i++)
        right = with_pointers(&a, i);
    close_address(&a);
    return right;
}
