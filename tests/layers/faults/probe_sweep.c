/* SPDX-License-Identifier: MIT */
/*
 * Calls of the driver fail while the library probes a device: a call that fails says nothing of the device, so no
 * mechanism is found wrong by it, and what is kept on disk is as if nothing had failed. Each probe of shared memory is
 * made in a process of its own, which remembers the first answer.
 */
#include "../../support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <clstream.h>

#include "../../support/effort.h"
#include "../../unit/child.h"
#include "../loading.h"
#include "controls.h"
#include "driver/device.h"
#include "driver/probe.h"
#include "system/clocks.h"

enum { ROUNDS = 60000, RUNS = 8, MOST = 1 << 12 };

static const struct fault_controls *controls;

/* In a child: the parent does not touch OpenCL. */
static void find_layer(void) {
    controls = layer_controls("fault_layer", FAULT_CONTROLS);
    layer_leave_quirks_aside();
}

static void fail_at(const char *function, unsigned nth, enum fault_persistence persistence,
                    cl_int code) {
    const struct fault_plan plan = {
        .function = function, .nth = nth, .persistence = persistence, .code = code};
    controls->arm(&plan);
}

static void fail_nothing(void) {
    fail_at(NULL, 0, FAULT_ONCE, CL_SUCCESS);
    controls->arm(NULL);
}

/* --- waits --- */

static bool open_waits(struct probe *probe) {
    *probe = (struct probe){.timeout_ns = 10 * CLOCK_SECOND};
    return device_find(NULL, &probe->device) == CLS_SUCCESS && probe_open(probe);
}

/* A kernel of a millisecond or more, with a reference to its event for the caller. */
static bool start_long(struct probe *probe, cl_event *event) {
    return probe_enqueue(probe, probe->queues[0], 0, ROUNDS, NULL, event) &&
           clRetainEvent(*event) == CL_SUCCESS;
}

static bool is_complete(cl_event event) {
    cl_int state = CL_QUEUED;
    clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL);
    return state == CL_COMPLETE;
}

static int waits_body(void *arg) {
    static const char *const functions[] = {"clGetEventInfo", "clFlush"};
    struct probe probe;
    (void)arg;
    find_layer();
    CHECK(open_waits(&probe));
    controls->hold(true, NULL, CL_SUCCESS);
    for (unsigned i = 0; i < 2; i++) {
        cl_event event;
        CHECK(start_long(&probe, &event));
        fail_at(functions[i], 1, FAULT_ONCE, CL_OUT_OF_RESOURCES);
        CHECK(probe_finish(&probe, probe.queues[0], event));
        CHECK(controls->fired(NULL) == 1 && !probe.stuck && probe.code == CL_SUCCESS);
        fail_nothing();
        CHECK(is_complete(event));
        clReleaseEvent(event);
    }
    probe_close(&probe);
    return 0;
}

static void wait_ends_with_its_command_though_a_query_or_flush_fails(void **state) {
    (void)state;
    child_expect_well(waits_body, NULL);
}

static int blind_body(void *arg) {
    struct probe probe;
    cl_event event;
    (void)arg;
    find_layer();
    CHECK(open_waits(&probe) && start_long(&probe, &event));
    fail_at("clGetEventInfo", 1, FAULT_STICKY, CL_OUT_OF_RESOURCES);
    CHECK(!probe_finish(&probe, probe.queues[0], event));
    CHECK(probe.stuck && probe.code == CL_OUT_OF_RESOURCES);
    return 0;
}

static void wait_of_which_no_query_tells_gives_nothing_back(void **state) {
    (void)state;
    child_expect_well(blind_body, NULL);
}

/* --- the probes of a device --- */

static bool all_right(const struct caps *caps) {
    bool right = true;
    for (unsigned i = 0; i < TRUSTS; i++)
        right &= caps->verdicts[i] == TRIAL_RIGHT;
    return right;
}

static bool none_wrong(const struct caps *caps) {
    bool none = true;
    for (unsigned i = 0; i < TRUSTS; i++)
        none &= caps->verdicts[i] != TRIAL_WRONG;
    return none;
}

/* What does not depend on how busy the machine is. */
static bool same_facts(const struct caps *a, const struct caps *b) {
    return a->out_of_order == b->out_of_order && a->priorities == b->priorities &&
           a->fp64 == b->fp64 && a->launch_in_order_ns > 0 && a->pinned_speedup > 0 &&
           (a->launch_out_of_order_ns > 0) == (b->launch_out_of_order_ns > 0);
}

static void say(const char *what, const char *function, unsigned nth) {
    printf("# %s with %s #%u failing\n", what, function, nth);
}

/* One failure, which the record shows only by not being kept. */
static int probe_once(const struct caps *wanted, const char *function, unsigned nth) {
    struct device *device;
    struct caps caps = {0};
    char text[256];
    CHECK(device_find(NULL, &device) == CLS_SUCCESS);
    fail_at(function, nth, FAULT_ONCE, CL_OUT_OF_RESOURCES);
    const bool kept = probe_device(device, &caps);
    const bool came = controls->fired(NULL);
    fail_nothing();
    const bool good =
        none_wrong(&caps) && (!kept || (all_right(&caps) && same_facts(&caps, wanted)));
    if (!good)
        say(kept ? "a wrong record is kept" : "a mechanism is found wrong", function, nth);
    if (controls->live(text, ""))
        say(text, function, nth);
    CHECK(good && !controls->live(text, ""));
    return came ? 0 : NO_DEVICES;
}

/* The first calls, and some of the others. */
static int sweep_function(const struct caps *wanted, const char *function, unsigned calls) {
    const unsigned step = effort_is_long() ? 1 + calls / 64 : 1 + calls / 3;
    int line = 0;
    for (unsigned nth = 1; nth <= calls && !line; nth += nth == 1 ? 1 : step)
        line = probe_once(wanted, function, nth);
    return line == NO_DEVICES ? 0 : line; /* fewer calls than before: the rounds differ */
}

static int probes_body(void *arg) {
    static unsigned calls[MOST];
    struct device *device;
    struct caps wanted = {0};
    const char *name;
    (void)arg;
    find_layer();
    if (device_find(NULL, &device) != CLS_SUCCESS)
        return NO_DEVICES;
    fail_nothing();
    CHECK(probe_device(device, &wanted) && all_right(&wanted));
    for (unsigned i = 0; i < MOST && (name = controls->function(i)) != NULL; i++)
        calls[i] = controls->calls(name);
    for (unsigned i = 0; i < MOST && (name = controls->function(i)) != NULL; i++) {
        const int line =
            strncmp(name, "clRelease", 9) ? sweep_function(&wanted, name, calls[i]) : 0;
        if (line)
            return line;
    }
    return 0;
}

static void failed_call_of_a_probe_is_no_verdict(void **state) {
    (void)state;
    child_expect_well(probes_body, NULL);
}

/* Fails for good: `verdict` of `which` is what it comes to. */
static int probe_sticky(const char *function, cl_int code, enum trust which,
                        enum trial_verdict verdict) {
    struct device *device;
    struct caps caps = {0};
    CHECK(device_find(NULL, &device) == CLS_SUCCESS);
    fail_at(function, 1, FAULT_STICKY, code);
    const bool kept = probe_device(device, &caps);
    fail_nothing();
    CHECK(caps.verdicts[which] == verdict);
    CHECK(kept == (verdict == TRIAL_WRONG));
    CHECK(kept || strstr(trust_figure(&caps, which).meaning, "CL_OUT_OF_RESOURCES (-5)"));
    return 0;
}

static int sticky_body(void *arg) {
    (void)arg;
    find_layer();
    int line =
        probe_sticky("clEnqueueFillBuffer", CL_OUT_OF_RESOURCES, TRUST_ODD_FILLS, TRIAL_UNTRIED);
    if (!line)
        line =
            probe_sticky("clEnqueueFillBuffer", CL_INVALID_OPERATION, TRUST_ODD_FILLS, TRIAL_WRONG);
    return line ? line
                : probe_sticky("clEnqueueReadBuffer", CL_OUT_OF_RESOURCES, TRUST_TRANSFERS,
                               TRIAL_UNTRIED);
}

static void mechanism_that_the_driver_refuses_is_wrong_and_one_out_of_memory_untried(void **state) {
    (void)state;
    child_expect_well(sticky_body, NULL);
}

/* --- the probe of shared memory --- */

struct share_fault {
    const char *function;
    unsigned nth;
    enum fault_persistence persistence;
};

static cls_share_kind ask(cls_context a, cls_context b, cls_status *status) {
    cls_share_info info = CLS_SHARE_INFO_INIT;
    *status = cls_context_can_share(a, b, &info);
    return info.kind;
}

static int share_body(void *arg) {
    const struct share_fault *fault = arg;
    cls_context a, b;
    cls_status status;
    find_layer();
    CHECK(cls_context_create(NULL, &a) == CLS_SUCCESS &&
          cls_context_create(NULL, &b) == CLS_SUCCESS);
    controls->hold(true, NULL, CL_SUCCESS);
    fail_at(fault->function, fault->nth, fault->persistence, CL_OUT_OF_RESOURCES);
    const cls_share_kind first = ask(a, b, &status);
    const unsigned came = controls->fired(NULL);
    fail_nothing();
    CHECK(status != CLS_SUCCESS || first == CLS_SHARE_HOST_MEMORY);
    CHECK(status == CLS_SUCCESS || strstr(cls_last_error_detail(), "-5") ||
          strstr(cls_last_error_detail(), "could not be started"));
    CHECK(ask(a, b, &status) == CLS_SHARE_HOST_MEMORY && status == CLS_SUCCESS);
    CHECK(cls_context_destroy(a) == CLS_SUCCESS && cls_context_destroy(b) == CLS_SUCCESS);
    CHECK(came || fault->nth > 1);
    return 0;
}

static void failed_call_does_not_end_sharing(void **state) {
    static const char *const functions[] = {
        "clCreateCommandQueue",   "clCreateKernel",      "clCreateBuffer",
        "clCreateSubBuffer",      "clSetKernelArg",      "clEnqueueReadBuffer",
        "clEnqueueNDRangeKernel", "clEnqueueCopyBuffer", "clFlush",
        "clGetEventInfo"};
    const unsigned most = effort_is_long() ? 24 : 2;
    (void)state;
    for (unsigned i = 0; i < sizeof functions / sizeof *functions; i++) {
        for (unsigned nth = 1; nth <= most; nth++) {
            struct share_fault fault = {functions[i], nth, FAULT_ONCE};
            child_expect_well(share_body, &fault);
        }
    }
    struct share_fault refused = {"clEnqueueReadBuffer", 1, FAULT_STICKY};
    child_expect_well(share_body, &refused);
}

static char folder[64];

static int set_up(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/clstream-probes.XXXXXX");
    return mkdtemp(folder) && !setenv("CLSTREAM_CACHE_DIR", folder, 1) ? 0 : -1;
}

static int tear_down(void **state) {
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

int main(int argc, char **argv) {
    (void)argc;
    layer_start("fault_layer", argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wait_ends_with_its_command_though_a_query_or_flush_fails),
        cmocka_unit_test(wait_of_which_no_query_tells_gives_nothing_back),
        cmocka_unit_test(failed_call_of_a_probe_is_no_verdict),
        cmocka_unit_test(mechanism_that_the_driver_refuses_is_wrong_and_one_out_of_memory_untried),
        cmocka_unit_test(failed_call_does_not_end_sharing),
    };
    return cmocka_run_group_tests_name("probe_sweep", tests, set_up, tear_down);
}
