/* SPDX-License-Identifier: MIT */
#include "driver/share_link.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "driver/probe.h"
#include "driver/serial.h"
#include "driver/status.h"
#include "system/clocks.h"

enum {
    UNIT = 4096,      /* sub-buffers begin at multiples of it; a base alignment divides it */
    CHANGED = 500,    /* bytes that one work-item of a kernel changes */
    TIMED = 16 << 20, /* bytes of a copy that is timed */
    TIMED_SMALL = 64, /* and of a short one */
    REPEATS = 5,
    TRIES = 3 /* of memory on which calls fail */
};

#define TIMEOUT (10 * CLOCK_SECOND) /* the first launch may compile */

struct link_side {
    struct probe probe;
    cl_kernel kernel;
    cl_mem memory; /* the shared memory, as a buffer of this side's context */
};

struct link_trial {
    struct link_side side[2];
    size_t bytes;
    unsigned char *wanted, *read; /* `bytes` each */
};

/* --- commands, which are waited for --- */

static bool finished(struct link_side *side, cl_int code, cl_event event) {
    return probe_did(&side->probe, code) &&
           probe_finish(&side->probe, side->probe.queues[0], event);
}

static bool put(struct link_side *side, const struct link_trial *trial) {
    cl_event event = NULL;
    const cl_int code = clEnqueueWriteBuffer(side->probe.queues[0], side->memory, CL_FALSE, 0,
                                             trial->bytes, trial->wanted, 0, NULL, &event);
    return finished(side, code, event);
}

static bool get(struct link_side *side, const struct link_trial *trial) {
    cl_event event = NULL;
    memset(trial->read, 0, trial->bytes);
    const cl_int code = clEnqueueReadBuffer(side->probe.queues[0], side->memory, CL_FALSE, 0,
                                            trial->bytes, trial->read, 0, NULL, &event);
    return finished(side, code, event) && memcmp(trial->read, trial->wanted, trial->bytes) == 0;
}

static bool launch(struct link_side *side, cl_mem from, cl_mem to, cl_uint n, cl_uint value) {
    static const size_t one = 1;
    struct probe *probe = &side->probe;
    cl_kernel kernel = side->kernel;
    cl_event event = NULL;
    if (!probe_did(probe, clSetKernelArg(kernel, 0, sizeof from, &from)) ||
        !probe_did(probe, clSetKernelArg(kernel, 1, sizeof to, &to)) ||
        !probe_did(probe, clSetKernelArg(kernel, 2, sizeof n, &n)) ||
        !probe_did(probe, clSetKernelArg(kernel, 3, sizeof value, &value)))
        return false;
    const cl_int code =
        clEnqueueNDRangeKernel(probe->queues[0], kernel, 1, NULL, &one, &one, 0, NULL, &event);
    return finished(side, code, event);
}

/* --- a trial: each side sees what the other one writes, by commands and by kernels --- */

static void expect_change(const struct link_trial *trial, size_t from, size_t to, cl_uint n,
                          cl_uint value) {
    for (cl_uint i = 0; i < n; i++)
        trial->wanted[to + i] = (unsigned char)(trial->wanted[from + i] ^ value);
}

static bool change_in_place(struct link_side *side, const struct link_trial *trial, cl_uint value) {
    const cl_uint n = trial->bytes < CHANGED ? (cl_uint)trial->bytes : CHANGED;
    expect_change(trial, 0, 0, n, value);
    return launch(side, side->memory, side->memory, n, value);
}

/* The last unit of the memory becomes the first one's, by way of sub-buffers. */
static bool change_parts(struct link_side *side, const struct link_trial *trial, cl_uint value) {
    const size_t last = trial->bytes / UNIT * UNIT - UNIT;
    const cl_buffer_region from = {0, UNIT}, to = {last, UNIT};
    cl_int code, other;
    cl_mem a = clCreateSubBuffer(side->memory, 0, CL_BUFFER_CREATE_TYPE_REGION, &from, &code);
    cl_mem b = clCreateSubBuffer(side->memory, 0, CL_BUFFER_CREATE_TYPE_REGION, &to, &other);
    const bool made = probe_did(&side->probe, code) && probe_did(&side->probe, other);
    const bool ran = made && launch(side, a, b, CHANGED, value);
    expect_change(trial, 0, last, CHANGED, value);
    if (code == CL_SUCCESS && !side->probe.stuck)
        clReleaseMemObject(a);
    if (other == CL_SUCCESS && !side->probe.stuck)
        clReleaseMemObject(b);
    return ran;
}

static bool change(struct link_side *side, const struct link_trial *trial, cl_uint value) {
    return trial->bytes < 2 * UNIT ? change_in_place(side, trial, value)
                                   : change_parts(side, trial, value);
}

static bool pass_on(struct link_side *from, struct link_side *to, const struct link_trial *trial,
                    unsigned salt) {
    for (size_t i = 0; i < trial->bytes; i++)
        trial->wanted[i] = (unsigned char)(i * 7 + i / 251 + salt);
    return put(from, trial) && get(to, trial) && change(to, trial, salt) && get(from, trial);
}

static bool pass_both_ways(struct link_trial *trial) {
    struct link_side *a = &trial->side[0], *b = &trial->side[1];
    return pass_on(a, b, trial, 17) && pass_on(b, a, trial, 34) && pass_on(a, b, trial, 51);
}

/* --- its memory --- */

static cls_status import(struct link_trial *trial, struct shareable *shareable) {
    cls_status status = CLS_SUCCESS;
    for (unsigned i = 0; i < 2 && !status; i++)
        status = shareable_import(shareable, trial->side[i].probe.device,
                                  trial->side[i].probe.context, &trial->side[i].memory);
    return status;
}

/* Memory that a driver is stuck with is not released. */
static void end_imports(struct link_trial *trial) {
    for (unsigned i = 0; i < 2; i++) {
        struct link_side *side = &trial->side[i];
        if (side->memory && !side->probe.stuck)
            shareable_end_import(side->probe.device, side->memory);
        side->memory = NULL;
    }
}

/* Both sides' devices are inside the serial section while `what` runs. */
static cls_status with_memory(struct link_trial *trial, const struct exporter *exporter,
                              size_t bytes,
                              cls_status (*what)(struct link_trial *trial, struct share_link *link),
                              struct share_link *link) {
    const struct device *serial = driver_serial_wanted(link->owner) ? link->owner : link->other;
    struct shareable *shareable;
    cls_status status = shareable_make(exporter, link->owner, bytes, &shareable);
    if (status)
        return status;
    trial->bytes = bytes;
    status = import(trial, shareable);
    if (!status) {
        driver_enter(serial);
        status = what(trial, link);
        driver_leave(serial);
    }
    end_imports(trial);
    shareable_drop(shareable);
    return status;
}

/* The code of the first call or command that failed on either side. */
static cl_int failure_of(const struct link_trial *trial) {
    const cl_int code = trial->side[0].probe.code;
    return code ? code : trial->side[1].probe.code;
}

static bool is_stuck(const struct link_trial *trial) {
    return trial->side[0].probe.stuck || trial->side[1].probe.stuck;
}

/* Values are evidence only if all calls went well. */
static cls_status judge(const struct link_trial *trial, bool right) {
    if (is_stuck(trial))
        return error_set(CLS_ERROR_UNSUPPORTED,
                         "a command on memory that contexts share does not end");
    if (failure_of(trial))
        return driver_status(failure_of(trial), "a command on memory that contexts share");
    if (!right)
        return error_set(CLS_ERROR_UNSUPPORTED,
                         "one context does not see what the other one writes to the same memory");
    return CLS_SUCCESS;
}

static cls_status compare(struct link_trial *trial, struct share_link *link) {
    (void)link;
    trial->wanted = malloc(trial->bytes);
    trial->read = malloc(trial->bytes);
    const cls_status status = trial->wanted && trial->read
                                  ? judge(trial, pass_both_ways(trial))
                                  : error_no_memory("to try whether memory can be shared");
    const struct probe *probe = &trial->side[trial->side[1].probe.stuck].probe;
    probe_free(probe, trial->wanted);
    probe_free(probe, trial->read);
    return status;
}

/* --- times --- */

/* The shortest time of a copy from the shared memory, in ns; negative when it failed. */
static double time_copies(struct link_side *side, cl_mem to, size_t bytes) {
    double best = -1;
    for (unsigned i = 0; i < REPEATS; i++) {
        cl_event event = NULL;
        const uint64_t start = clock_now_ns();
        const cl_int code = clEnqueueCopyBuffer(side->probe.queues[0], side->memory, to, 0, 0,
                                                bytes, 0, NULL, &event);
        if (!finished(side, code, event))
            return -1;
        const double ns = (double)(clock_now_ns() - start);
        best = best < 0 || ns < best ? ns : best;
    }
    return best;
}

static cls_status time_link(struct link_trial *trial, struct share_link *link) {
    struct link_side *side = &trial->side[1];
    cl_int code;
    cl_mem to = clCreateBuffer(side->probe.context, CL_MEM_READ_WRITE, TIMED, NULL, &code);
    if (!probe_did(&side->probe, code))
        return driver_status(code, "clCreateBuffer");
    const double all = time_copies(side, to, TIMED), few = time_copies(side, to, TIMED_SMALL);
    if (!side->probe.stuck)
        clReleaseMemObject(to);
    const cls_status status = judge(trial, true);
    if (status)
        return status;
    link->gb_per_s = TIMED / all;
    link->latency_ns = few;
    return CLS_SUCCESS;
}

/* --- the probe --- */

static cls_status try_once(struct link_trial *trial, const struct exporter *exporter,
                           struct share_link *link) {
    static const size_t sizes[] = {200, 17 * UNIT + 100, 1 << 20};
    cls_status status = CLS_SUCCESS;
    probe_begin(&trial->side[0].probe);
    probe_begin(&trial->side[1].probe);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && !status; i++)
        status = with_memory(trial, exporter, sizes[i], compare, link);
    if (!status)
        status = with_memory(trial, exporter, TIMED, time_link, link);
    return status;
}

static bool open_side(struct link_side *side, struct share_end end) {
    cl_int code;
    struct device *device = end.device;
    *side = (struct link_side){
        .probe = {.device = device, .context = end.context, .timeout_ns = TIMEOUT}};
    if (!probe_open(&side->probe))
        return false;
    driver_enter(device);
    side->kernel = clCreateKernel(side->probe.program, "probe_bytes", &code);
    if (code != CL_SUCCESS) {
        side->kernel = NULL;
        probe_close(&side->probe);
    }
    driver_leave(device);
    return code == CL_SUCCESS;
}

static void close_side(struct link_side *side) {
    driver_enter(side->probe.device);
    if (!side->probe.stuck)
        clReleaseKernel(side->kernel);
    probe_close(&side->probe);
    driver_leave(side->probe.device);
}

/* Whether it may go well at another time: a command failed, or something was short. */
static bool may_pass(const struct link_trial *trial, cls_status status) {
    return !is_stuck(trial) && (failure_of(trial) || status == CLS_ERROR_OUT_OF_MEMORY ||
                                status == CLS_ERROR_OUT_OF_DEVICE_MEMORY ||
                                status == CLS_ERROR_LIMIT || status == CLS_ERROR_SHUTDOWN);
}

static cls_status try_exporter(struct link_trial *trial, const struct exporter *exporter,
                               struct share_link *link) {
    cls_status status = try_once(trial, exporter, link);
    for (unsigned i = 1; i < TRIES && status && may_pass(trial, status); i++)
        status = try_once(trial, exporter, link);
    return status;
}

/* Fills in the first of the exporters whose memory both sides use, or why there is none: the last one's refusal. A
 * status: there is none now, but one of them may do at another time. */
static cls_status try_exporters(struct link_trial *trial, const struct exporter *const *first,
                                size_t n, struct share_link *link) {
    char passing[sizeof link->reason] = "";
    cls_status status = CLS_SUCCESS;
    for (size_t i = 0; i < n && !link->exporter && !is_stuck(trial); i++) {
        const cls_status tried = try_exporter(trial, first[i], link);
        if (!tried)
            link->exporter = first[i];
        snprintf(link->reason, sizeof link->reason, "%s", tried ? cls_last_error_detail() : "");
        if (!status && tried && may_pass(trial, tried)) {
            status = tried;
            memcpy(passing, link->reason, sizeof passing);
        }
    }
    return link->exporter || !status ? CLS_SUCCESS : error_set(status, "%s", passing);
}

static cls_status not_started(const struct device *device) {
    return error_set(CLS_ERROR_DRIVER, "%s: the probe of shared memory could not be started",
                     device->info.name);
}

static cls_status probe(struct share_link *link, struct share_end owner, struct share_end other,
                        const struct exporter *const *first, size_t n) {
    struct link_trial trial = {.bytes = 0};
    if (!open_side(&trial.side[0], owner))
        return not_started(owner.device);
    cls_status status = CLS_SUCCESS;
    if (open_side(&trial.side[1], other)) {
        status = try_exporters(&trial, first, n, link);
        close_side(&trial.side[1]);
    } else {
        status = not_started(other.device);
    }
    close_side(&trial.side[0]);
    return status;
}

/* --- pairs --- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static struct share_link *links;

static struct share_link *known(const struct device *owner, const struct device *other) {
    for (struct share_link *link = links; link; link = link->next)
        if (link->owner == owner && link->other == other)
            return link;
    return NULL;
}

/* Runs the probe. `own`: the owner's link to itself, whose exporter is the owner's; NULL: this
 * is that link. */
static cls_status fill_in(struct share_link *link, struct share_end owner, struct share_end other,
                          const struct share_link *own) {
    struct detail held;
    if (!at_exit_hold())
        return driver_gone();
    error_save(&held);
    cls_status status = own ? probe(link, owner, other, &own->exporter, 1)
                            : probe(link, owner, other, exporters, EXPORTERS);
    at_exit_unhold();
    return error_restore(&held, status);
}

static cls_status make(struct share_end owner, struct share_end other, const struct share_link *own,
                       struct share_link **out) {
    struct share_link *link = calloc(1, sizeof *link);
    if (!link)
        return error_no_memory("to try whether memory can be shared");
    link->owner = owner.device;
    link->other = other.device;
    cls_status status = own && !own->exporter ? CLS_SUCCESS : fill_in(link, owner, other, own);
    if (status) {
        free(link);
        return status;
    }
    if (own && !own->exporter)
        memcpy(link->reason, own->reason, sizeof link->reason);
    link->next = links;
    links = *out = link;
    return CLS_SUCCESS;
}

static cls_status find(struct share_end owner, struct share_end other, const struct share_link *own,
                       struct share_link **out) {
    *out = known(owner.device, other.device);
    return *out ? CLS_SUCCESS : make(owner, other, own, out);
}

/* Two contexts of the owner are tried first: its own, and one that is made for that. */
cls_status share_link_find(struct share_end owner, struct share_end other,
                           const struct share_link **out) {
    const struct share_end again = {owner.device, NULL};
    struct share_link *link;
    pthread_mutex_lock(&lock);
    cls_status status = find(owner, again, NULL, &link);
    if (!status && other.device != owner.device)
        status = find(owner, other, link, &link);
    pthread_mutex_unlock(&lock);
    if (!status)
        *out = link;
    return status;
}

cls_status share_link_refuse(const struct share_link *link) {
    return error_set(CLS_ERROR_UNSUPPORTED, "memory of %s cannot be shared with %s: %s",
                     link->owner->info.name, link->other->info.name, link->reason);
}
