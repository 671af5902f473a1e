/* SPDX-License-Identifier: MIT */
#include "driver/quirk.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/text.h"

#define POCL "Portable Computing Language"
#define RUSTICL "rusticl"
#define OCLGRIND "Oclgrind"
#define INTEL "Intel(R) OpenCL"
#define NVIDIA "NVIDIA CUDA"

static const struct quirk_row rows[] = {
    {.bit = QUIRK_SERIALIZE_CALLS,
     .platform = OCLGRIND,
     .text = {"aborts_on_concurrent_calls",
              "The driver aborts when two host threads call it at once; the library makes its "
              "driver calls one at a time. It cannot serialize the program's own OpenCL calls, for "
              "example in a foreign function."}},
    {.bit = QUIRK_NO_CALLBACKS,
     .platform = OCLGRIND,
     .text = {"callback_on_completed_never_comes",
              "A callback set on an event that has completed is never called; the library polls "
              "and sets no callbacks on this driver."}},
    {.bit = QUIRK_COVERED,
     .platform = OCLGRIND,
     .text =
         {"flush_runs_commands",
          "clFlush runs the queued commands in the calling thread and hangs on a command that "
          "waits for a user event; the library creates no user events and submits a command only "
          "when it can run."}},
    {.bit = QUIRK_COVERED,
     .platform = OCLGRIND,
     .text = {"saturating_cast_of_nan",
              "convert_*_sat of NaN gives the smallest integer; the library's casts test for NaN "
              "themselves."}},

    {.bit = QUIRK_FAILED_WAIT_HANGS,
     .platform = POCL,
     .text =
         {"wait_on_failed_event_hangs",
          "A command enqueued to wait for an event that has already failed never completes; the "
          "library tracks the outcome of its events and never passes a failed one in a wait list."}},
    {.bit = QUIRK_BINARY_ABORTS,
     .platform = POCL,
     .text = {"malformed_binary_aborts",
              "A truncated program binary ends the process; cached binaries are loaded only when "
              "their checksum holds and no earlier process died loading them."}},
    {.bit = QUIRK_COVERED,
     .platform = POCL,
     .from = 3,
     .before = 4,
     .text =
         {"binary_beside_a_build_aborts",
          "A binary that the driver gives out while another process compiles the same program "
          "may abort the process that loads it; processes that share the library's cache build a "
          "missing program one at a time."}},
    {.bit = QUIRK_COVERED,
     .platform = POCL,
     .text = {"barrier_loses_wait",
              "Of two successive barriers with wait lists, the first one's wait is lost; the "
              "library orders commands by wait lists and never by barriers."}},
    {.bit = QUIRK_FAILED_RELEASE_ABORTS,
     .platform = POCL,
     .from = 3,
     .before = 4,
     .text = {"early_release_aborts",
              "A failing chain of commands aborts the process if an inner command's event was "
              "released, even after that command failed; the library keeps every event until its "
              "command is retired, and never releases the events of failed commands."}},
    {.bit = QUIRK_COVERED,
     .platform = POCL,
     .text = {"no_callback_on_failure",
              "The completion callback of a failed command is never called; the library uses "
              "callbacks as hints only, and polls at intervals besides."}},
    {.bit = QUIRK_PART_RECT_CRASHES,
     .platform = POCL,
     .before = 7,
     .text = {"copy_rect_of_sub_buffer_crashes",
              "Copying a rectangle from or to a sub-buffer crashes the process, so this is not "
              "tried; memory of cls_malloc_async consists of sub-buffers, and a kernel of the "
              "library copies their rectangles."}},
    {.bit = QUIRK_LOCAL_MEMORY_ABORTS,
     .platform = POCL,
     .text = {"local_memory_aborts",
              "A launch of a kernel with more __local memory than the device has ends the process; "
              "the library refuses it."}},
    /* Seen with 3.1 and 5.0; 4 lies between them. 6.0 runs the same launches in raw OpenCL, 20 times out of 20. */
    {.bit = QUIRK_UNLIKE_GRIDS_ABORT,
     .platform = POCL,
     .from = 3,
     .before = 6,
     .text =
         {"unlike_grids_abort",
          "Two launches of one kernel, with a narrow and a wider grid, abort the process if they "
          "overlap; the library makes launches of one kernel with unlike grids wait for each "
          "other."}},
    {.bit = QUIRK_COVERED,
     .platform = POCL,
     .from = 3,
     .before = 4,
     .text = {"exit_with_work_crashes",
              "The process may crash when it exits with a kernel pending; the library drains its "
              "work at exit."}},

    {.bit = QUIRK_BINARY_ABORTS,
     .platform = RUSTICL,
     .from = 22,
     .before = 23,
     .text = {"malformed_binary_aborts",
              "A truncated program binary ends the process; cached binaries are loaded only when "
              "their checksum holds and no earlier process died loading them."}},
    {.bit = QUIRK_NO_CALLBACKS,
     .platform = RUSTICL,
     .from = 22,
     .before = 23,
     .text = {"callback_can_deadlock",
              "Callbacks of failed commands are never called, and a callback that releases work "
              "held back on its own queue deadlocks; the library polls and sets no callbacks on "
              "this driver."}},
    {.bit = QUIRK_LATE_EXIT_HANDLER,
     .platform = RUSTICL,
     .text = {"early_exit_handler_hangs",
              "Draining work in an exit handler hangs if the handler was registered before the "
              "driver ran its first kernel; the library registers its handler afterwards."}},
    {.bit = QUIRK_SHORT_LOOPS,
     .platform = RUSTICL,
     .device = "llvmpipe",
     .text = {"loops_stop_at_65535",
              "A loop stops silently after 65,535 iterations of one work-item; the library's "
              "kernels use more work-items instead. Kernels of your own need the same care."}},
    {.bit = QUIRK_FAILURE_KILLS_QUEUE,
     .platform = RUSTICL,
     .from = 25,
     .before = 26,
     .text = {"failure_kills_queue",
              "After one failed command, every later command on the queue fails; cls_stream_reset "
              "replaces the queue."}},
    {.bit = QUIRK_COVERED,
     .platform = RUSTICL,
     .from = 22,
     .before = 23,
     .text =
         {"finish_returns_early",
          "clFinish after clFlush returns before the work is done; the library waits for events "
          "and never relies on clFinish."}},
    {.bit = QUIRK_COVERED,
     .platform = RUSTICL,
     .from = 25,
     .text = {"released_queues_stay",
              "Released queues leak memory: a loop that created, used and released 12,800 queues "
              "leaked 440 MiB, most of it with the first thousand; streams that are created and "
              "destroyed leak as much."}},
    /* Seen with 26.2: by raw OpenCL in half of the runs, and no less with one call at a time. */
    {.bit = QUIRK_COVERED,
     .platform = RUSTICL,
     .from = 26,
     .text =
         {"launches_spoil_memory",
          "When kernels are launched on many streams, by one host thread or by several, the driver may write into memory "
          "that it has freed, which spoils results or ends the process. The library cannot prevent it: use another "
          "version of the driver."}},
    {.bit = QUIRK_NULL_BUFFER_HANGS,
     .platform = RUSTICL,
     .from = 26,
     .text =
         {"null_buffer_hangs",
          "A launch with a null buffer as an argument never completes, or ends the process; the library "
          "refuses such launches."}},
    {.bit = QUIRK_COVERED,
     .platform = RUSTICL,
     .text = {"query_waits",
              "A status query of a running command returns only when the command ends; queries of "
              "streams and events may block as long."}},
    {.bit = QUIRK_COVERED,
     .platform = RUSTICL,
     .text = {"unflushed_work_hangs",
              "Unflushed work never completes, nor does work in another queue that waits for it; "
              "the library flushes the producer before every wait and query, and fails work that "
              "cannot be flushed."}},
    {.bit = QUIRK_COVERED,
     .platform = RUSTICL,
     .text = {"misaligned_sub_buffer_accepted",
              "A sub-buffer that violates the device's alignment is accepted; the library checks "
              "the alignment itself."}},
    {.bit = QUIRK_COVERED,
     .platform = RUSTICL,
     .from = 22,
     .before = 23,
     .text =
         {"saturating_cast_of_nan",
          "convert_*_sat of NaN does not give 0; the library's casts test for NaN themselves."}},

    {.bit = QUIRK_REST_BEFORE_RELEASE,
     .platform = INTEL,
     .type = CLS_DEVICE_CPU,
     .text =
         {"queue_release_hangs",
          "Releasing a queue whose last command has just completed can hang every thread of the "
          "driver; the library finishes a queue, releases it a second later at the earliest, and "
          "never releases a queue that a failure may have killed."}},
    {.bit = QUIRK_WAITER_COMPUTES,
     .platform = INTEL,
     .type = CLS_DEVICE_CPU,
     .text =
         {"waiting_thread_computes",
          "A thread in clWaitForEvents takes part in the work, and any other kind of wait takes "
          "longer; the library waits so on this driver for streams on in-order queues, which are "
          "the default there, where the wait has no time limit."}},
    {.bit = QUIRK_STATUS_LIES,
     .platform = INTEL,
     .type = CLS_DEVICE_CPU,
     .text =
         {"failed_status_says_complete",
          "A command that failed because a dependency failed has the status CL_COMPLETE, and on "
          "an in-order queue the dependent command runs; the library passes failures on along its "
          "own record of dependencies."}},
    {.bit = QUIRK_FAILED_WAIT_HANGS,
     .platform = INTEL,
     .type = CLS_DEVICE_CPU,
     .text =
         {"wait_on_failed_event_crashes",
          "A command enqueued to wait for an event that has already failed crashes the process; "
          "the library tracks the outcome of its events and never passes a failed one in a wait "
          "list."}},
    {.bit = QUIRK_COVERED,
     .platform = INTEL,
     .type = CLS_DEVICE_CPU,
     .text = {"finish_after_failed_chain_hangs",
              "clFinish hangs after a chain across two queues failed; the library waits for events "
              "and never relies on clFinish."}},
    {.bit = QUIRK_COVERED,
     .platform = INTEL,
     .type = CLS_DEVICE_CPU,
     .text = {"saturating_cast_of_nan",
              "convert_uint_sat of a float NaN gives the largest integer; the library's casts test "
              "for NaN themselves."}},
    {.bit = QUIRK_COVERED,
     .platform = INTEL,
     .type = CLS_DEVICE_CPU,
     .text =
         {"exit_with_threads_crashes",
          "The process may crash when it exits while a thread is inside the driver; the library "
          "drains its work and joins its threads at exit."}},

    {.bit = QUIRK_ARG_INFO_BREAKS_BUILD,
     .platform = NVIDIA,
     .text = {"arg_info_breaks_build",
              "A program that has a kernel without parameters does not build with "
              "-cl-kernel-arg-info; the library builds it without that option and finds out how "
              "parameters are passed by trying."}},
    {.bit = QUIRK_HOST_MIGRATION_CORRUPTS,
     .platform = NVIDIA,
     .text = {"migration_to_host_corrupts",
              "Migrating a buffer to the host among writes, reads or fills of it, while another "
              "thread queries their events, crashes the process in the driver; a prefetch to the "
              "host is only a hint and moves nothing on this driver."}},
    {.bit = QUIRK_PART_RELEASE_CRASHES,
     .platform = NVIDIA,
     .text = {"sub_buffer_release_crashes",
              "Releasing a sub-buffer before a younger one that overlaps it crashes the process "
              "once kernels used both; the library releases overlapping sub-buffers from the "
              "youngest to the oldest. Sub-buffers of your own need the same care."}},
    {.bit = QUIRK_COVERED,
     .platform = NVIDIA,
     .text = {"completions_told_in_order",
              "Commands of different queues are reported complete in the order of their "
              "submission: a finished command is reported late, behind a longer one that was "
              "enqueued before it."}},
};

enum { ROWS = sizeof rows / sizeof *rows };

static bool part_of(const char *part, const char *text) {
    return !part || text_contains(text, part);
}

/* A driver's version begins with its major number. */
static bool in_versions(const struct quirk_row *row, const char *version) {
    const unsigned long major = strtoul(version, NULL, 10);
    return major >= row->from && (!row->before || major < row->before);
}

static bool applies(const struct quirk_row *row, const struct device *device) {
    const cls_device_info *info = &device->info;
    return part_of(row->platform, info->platform) && part_of(row->device, info->name) &&
           (row->type == CLS_DEVICE_OTHER || row->type == info->type) &&
           in_versions(row, info->driver_version);
}

unsigned quirk_bits(const struct device *device) {
    unsigned bits = 0;
    for (size_t i = 0; i < ROWS; i++)
        if (applies(&rows[i], device))
            bits |= (unsigned)rows[i].bit;
    return bits;
}

const struct quirk_row *quirk_at(const struct device *device, size_t i) {
    for (size_t r = 0; r < ROWS; r++)
        if (applies(&rows[r], device) && i-- == 0)
            return &rows[r];
    return NULL;
}

cls_status quirk_refuse(const struct device *device, enum quirk bit) {
    for (size_t r = 0; r < ROWS; r++)
        if (rows[r].bit == bit && applies(&rows[r], device))
            return error_set(CLS_ERROR_UNSUPPORTED, "%s, %s: %s", device->info.name,
                             rows[r].text.name, rows[r].text.reason);
    return error_set(CLS_ERROR_UNSUPPORTED, "%s does not support this", device->info.name);
}
