/* SPDX-License-Identifier: MIT */
/* The table of trusts, and what is read from it. */
#include "driver/trust.h"

#include <stdio.h>

#include "base/error.h"
#include "base/setting.h"
#include "driver/caps.h"
#include "driver/quirk.h"
#include "driver/status.h"
#include "driver/trial.h"
#include "system/clocks.h"

enum { SEEDS = 1000000 }; /* of so many digits that a report has all of them */

/* After a failed trial of transfers nothing else can be told from values. */
#define READS_NOTHING TRUST_TRANSFERS

enum { TRIES = 3 };

static const struct trust_row {
    const char *meaning; /* of a right verdict */
    bool (*is_right)(
        struct trial *); /* the values are as wanted; failed calls are in probe->code */
    cls_quirk fault;     /* its name is the mechanism's */
    bool refused;        /* the library does not work without it */
    unsigned
        ends_process; /* a quirk with which the trial would crash; it then counts as wrong, and the quirk's
                                       own row tells the reason */
} rows[] = {
    [TRUST_TRANSFERS] =
        {.meaning = "reads and writes at any offset move those bytes and no others",
         .is_right = trial_of_transfers,
         .fault = {"transfers",
                   "Reads or writes of a buffer move other bytes than those asked for; the "
                   "library makes no context on this device."},
         .refused = true},
    [TRUST_QUEUE_ORDER] =
        {.meaning = "a command on an in-order queue sees what those before it wrote",
         .is_right = trial_of_queue_order,
         .fault = {"queue_order",
                   "Commands of an in-order queue run before those ahead of them are done; "
                   "the library makes no context on this device."},
         .refused = true},
    [TRUST_EVENTS_IN_QUEUE] =
        {.meaning = "a wait list holds a command back on an out-of-order queue",
         .is_right = trial_of_events_in_queue,
         .fault = {"events_in_queue",
                   "Commands of an out-of-order queue do not wait for the events of "
                   "their wait list; the library uses in-order queues only."}},
    [TRUST_EVENTS_ACROSS_QUEUES] =
        {.meaning = "a wait list holds a command back for one of another queue",
         .is_right = trial_of_events_across_queues,
         .fault =
             {"events_across_queues",
              "Commands do not wait for events of another queue; the library hands such a command to "
              "the driver once the others are done."}},
    [TRUST_ARGUMENTS_SET_AGAIN] =
        {.meaning = "each launch sees the arguments as they were when it was enqueued",
         .is_right = trial_of_arguments_set_again,
         .fault = {"arguments_set_again",
                   "Launches of one kernel do not each see the arguments that were "
                   "set for them; the library launches each from a kernel object of "
                   "its own."}},
    [TRUST_LOCAL_ARGUMENTS] =
        {.meaning = "local memory that is an argument is shared by the group",
         .is_right = trial_of_local_arguments,
         .fault =
             {"local_arguments",
              "Local memory that is passed as an argument does not work; the library's reductions use "
              "groups of one work-item, and launches with local arguments are refused."}},
    [TRUST_STRUCTURE_ARGUMENTS] =
        {.meaning = "a kernel sees a structure that is an argument, and the arguments after it",
         .is_right = trial_of_structure_arguments,
         .fault = {"structure_arguments",
                   "Kernels see other bytes than those of a structure that is an argument, or of "
                   "the arguments after it; kernels with a parameter of the program's own type are "
                   "refused."}},
    [TRUST_LAUNCH_OFFSETS] =
        {.meaning = "work-items of a launch with an offset are counted from the offset",
         .is_right = trial_of_launch_offsets,
         .fault = {"launch_offsets",
                   "Work-items of a launch with an offset are not counted from it; launches with "
                   "an offset are refused, and no launch is given to the driver in two parts."}},
    [TRUST_ROUNDING] =
        {.meaning = "each step of float arithmetic is rounded to a float",
         .is_right = trial_of_rounding,
         .fault = {"rounding",
                   "Float arithmetic keeps more digits than a float has from one step to the next, "
                   "so that the rounding errors that functions and sums make up for are others; "
                   "these operations on floating-point numbers are refused."}},
    [TRUST_ODD_COPIES] =
        {.meaning = "copies at odd offsets copy those bytes and no others",
         .is_right = trial_of_odd_copies,
         .fault = {"odd_copies",
                   "Copies between buffers at odd offsets or of odd sizes copy other bytes "
                   "than those asked for; a kernel of the library copies."}},
    [TRUST_ODD_FILLS] =
        {.meaning = "fills at odd offsets fill those bytes and no others",
         .is_right = trial_of_odd_fills,
         .fault = {"odd_fills",
                   "Fills at odd offsets or of odd sizes fill other bytes than those asked "
                   "for; a kernel of the library fills."}},
    [TRUST_RECTANGLES] =
        {.meaning = "copies of rectangles between buffers copy the rows and slices asked for",
         .is_right = trial_of_rectangles,
         .fault = {"rectangles",
                   "Copies of rectangles between buffers copy other rows than those asked "
                   "for; a kernel of the library copies them."}},
    [TRUST_PADDED_ROWS] =
        {.meaning = "reads and writes of rectangles leave the bytes between rows alone",
         .is_right = trial_of_padded_rows,
         .fault =
             {"padded_rows",
              "Reads or writes of rectangles move other rows than those asked for, or overwrite the "
              "bytes between them; the library moves such rectangles row by row through pinned "
              "memory."}},
    [TRUST_SUB_BUFFER_ARGUMENTS] =
        {.meaning = "a kernel sees a sub-buffer at its origin, each time it is used",
         .is_right = trial_of_sub_buffer_arguments,
         .fault =
             {"sub_buffer_arguments",
              "Kernels see a sub-buffer elsewhere than at its origin, or do when it is used again; memory of cls_malloc_async "
              "consists of buffers of their own, and parts of buffers are refused as arguments."}},
    [TRUST_SUB_BUFFER_COPIES] =
        {.meaning = "reads, writes, fills and copies of a sub-buffer are at its origin",
         .is_right = trial_of_sub_buffer_copies,
         .fault =
             {"sub_buffer_copies",
              "Reads, writes, fills or copies of a sub-buffer are elsewhere than at its origin; memory "
              "of cls_malloc_async consists of buffers of their own."}},
    [TRUST_SUB_BUFFER_RECTANGLES] =
        {.meaning = "copies of rectangles from or to a sub-buffer copy the rows asked for",
         .is_right = trial_of_sub_buffer_rectangles,
         .fault =
             {"sub_buffer_rectangles",
              "Copies of rectangles from or to a sub-buffer copy other rows than those asked for; a "
              "kernel of the library copies them."},
         .ends_process = QUIRK_PART_RECT_CRASHES},
    [TRUST_MAPPED_MEMORY] =
        {.meaning = "host and device see what the other wrote to memory that is mapped in between",
         .is_right = trial_of_mapped_memory,
         .fault =
             {"mapped_memory",
              "Mapped memory cannot be used at one address: host and device do not see what the "
              "other wrote, or it is mapped elsewhere the next time or copied while it is mapped, as "
              "OpenCL allows; cls_host_buffer is refused."}},
    [TRUST_HOST_MEMORY] =
        {.meaning = "a buffer over memory of the program's is that memory",
         .is_right = trial_of_host_memory,
         .fault =
             {"host_memory",
              "Host and device do not see what the other wrote to memory of the program's that "
              "a buffer was made over; cls_host_register is refused."}},
    [TRUST_SHARED_MEMORY] =
        {.meaning = "host and device see what the other wrote to shared virtual memory",
         .is_right = trial_of_shared_memory,
         .fault = {"shared_memory",
                   "Host and device do not see what the other wrote to shared virtual "
                   "memory; the library takes the device to have none."}},
    [TRUST_ADDRESSES] =
        {.meaning = "kernels reach a buffer at the address that a kernel told, which stays",
         .is_right = trial_of_addresses,
         .fault = {"addresses",
                   "Buffers do not keep the address that a kernel tells, or kernels do not reach "
                   "them there; addresses of buffers are refused."}},
    [TRUST_POINTER_ARGUMENTS] =
        {.meaning = "an argument that is given by address points there, at any offset",
         .is_right = trial_of_pointer_arguments,
         .fault = {"pointer_arguments",
                   "Arguments that are given by address point elsewhere; parts of buffers are "
                   "arguments at multiples of the base alignment only."}},
};
_Static_assert(sizeof rows / sizeof *rows == TRUSTS, "one row for each trust");

/* --- the trials --- */

/* Runs a trial again while its calls fail: values tell nothing then. */
static bool try(struct trial *trial, const struct trust_row *row, uint32_t seed) {
    bool right = false;
    for (unsigned i = 0; i < TRIES && !trial->probe->stuck; i++) {
        probe_begin(trial->probe);
        trial_seed(trial, seed, (unsigned)(row - rows));
        right = row->is_right(trial);
        if (trial->probe->code == CL_SUCCESS)
            break;
    }
    return right;
}

/* Calls that fail at each try refuse the mechanism, whose workaround makes other calls; a device that the library
 * cannot use without it is not refused for that. */
static enum trial_verdict judge(struct trial *trial, const struct trust_row *row, uint32_t seed) {
    const struct probe *probe = trial->probe;
    if (probe->device->quirks & row->ends_process)
        return TRIAL_WRONG;
    const bool right = try(trial, row, seed);
    if (probe->stuck || probe_lacks_memory(probe->code) || (probe->code && row->refused))
        return TRIAL_UNTRIED;
    return right && probe->code == CL_SUCCESS ? TRIAL_RIGHT : TRIAL_WRONG;
}

/* Says why the first untried mechanism is so. */
static void explain(const struct probe *probe, const struct trust_row *row, struct caps *caps) {
    if (caps->untried[0])
        return;
    if (probe->stuck)
        snprintf(caps->untried, sizeof caps->untried, "the driver was stuck at %s",
                 row->fault.name);
    else
        snprintf(caps->untried, sizeof caps->untried, "%s met %s (%d) of the driver's",
                 row->fault.name, cl_code_name(probe->code), probe->code);
}

/* CLSTREAM_TRIAL_SEED repeats what another record's trials have drawn. */
static uint32_t choose_seed(void) {
    struct detail held;
    size_t seed = (size_t)(clock_now_ns() / 1000);
    error_save(&held);
    if (setting_number("CLSTREAM_TRIAL_SEED", &seed))
        fprintf(stderr, "clstream: %s\n", cls_last_error_detail());
    error_restore(&held, CLS_SUCCESS);
    return (uint32_t)(seed % SEEDS);
}

bool trust_try_all(struct probe *probe, struct caps *caps) {
    struct trial trial;
    const uint32_t seed = choose_seed();
    const bool opened = trial_open(&trial, probe);
    bool complete = opened;
    caps->trial_seed = seed;
    for (unsigned i = 0; i < TRUSTS && opened && !probe->stuck; i++) {
        caps->verdicts[i] = judge(&trial, &rows[i], seed);
        if (caps->verdicts[i] == TRIAL_UNTRIED) {
            complete = false;
            explain(probe, &rows[i], caps);
        }
        if (i == READS_NOTHING && caps->verdicts[i] != TRIAL_RIGHT)
            break;
    }
    trial_close(&trial);
    return complete;
}

/* --- what they found --- */

cls_capability trust_figure(const struct caps *caps, size_t i) {
    static const double values[] = {[TRIAL_UNTRIED] = -1, [TRIAL_RIGHT] = 1, [TRIAL_WRONG] = 0};
    const bool untried = caps->verdicts[i] == TRIAL_UNTRIED && caps->untried[0];
    return (cls_capability){rows[i].fault.name, untried ? caps->untried : rows[i].meaning, "trust",
                            values[caps->verdicts[i]]};
}

const cls_quirk *trust_fault_at(const struct device *device, const struct caps *caps, size_t i) {
    for (size_t r = 0; r < TRUSTS; r++)
        if (caps->verdicts[r] == TRIAL_WRONG && !(device->quirks & rows[r].ends_process) &&
            i-- == 0)
            return &rows[r].fault;
    return NULL;
}

cls_status trust_refuse(const struct device *device, enum trust which) {
    return error_set(CLS_ERROR_UNSUPPORTED, "%s, %s: %s", device->info.name, rows[which].fault.name,
                     rows[which].fault.reason);
}

cls_status trust_demand(const struct device *device, const struct caps *caps, enum trust which) {
    if (caps_proves(caps, which))
        return CLS_SUCCESS;
    if (!caps_trusts(caps, which))
        return trust_refuse(device, which);
    return error_set(CLS_ERROR_UNSUPPORTED, "%s, %s: not tried, %s", device->info.name,
                     rows[which].fault.name, caps->untried[0] ? caps->untried : "yet");
}

cls_status trust_check(const struct device *device, const struct caps *caps) {
    for (enum trust t = 0; t < TRUSTS; t++)
        if (rows[t].refused && !caps_trusts(caps, t))
            return trust_refuse(device, t);
    return CLS_SUCCESS;
}
