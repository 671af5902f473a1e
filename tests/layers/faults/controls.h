/* SPDX-License-Identifier: MIT */
/*
 * The fault layer's controls, for a test in the same process: it finds them with dlsym as FAULT_CONTROLS.
 * Without such a test the environment says what fails, once, at load:
 *
 *   CLS_FAULT_FUNCTION  the call that fails; unset: any
 *   CLS_FAULT_NTH       which of its calls, from 1; 0 or unset: none, the layer only counts
 *   CLS_FAULT_CODE      the cl_int it fails with; unset: -6
 *   CLS_FAULT_STICKY    1: that call and every later one of the function; 2: and of every function
 *   CLS_FAULT_PLATFORM  the platform's name, whatever the driver says; "NVIDIA CUDA" brings a fault (sub_buffers.h)
 *   CLS_FAULT_DEVICE    discrete: the device looks like a GPU with memory of its own (device.h);
 *                       least: it allows no more than it has to (least.h);
 *                       linked: it imports memory of libcuda's (linked.h)
 *   CLS_FAULT_LINKS     uneven: parts of the linked device do not reach each other's memory
 *   CLS_FAULT_LIE       a mechanism that gives wrong data in silence (lies.h)
 *   CLS_FAULT_HOLD      set: nothing starts before it is flushed (hold.h)
 *   CLS_FAULT_REPORT    a file, or fd:N, to which calls and live objects are written at exit
 */
#ifndef CLSTREAM_TESTS_FAULT_H
#define CLSTREAM_TESTS_FAULT_H

#include <stdbool.h>

#include <clstream/opencl.h>

#define FAULT_CONTROLS "cls_fault_controls"

enum fault_persistence { FAULT_ONCE, FAULT_STICKY, FAULT_EVERYTHING_AFTER };

struct fault_plan {
    const char *function; /* NULL: any */
    unsigned nth;         /* from 1; 0: nothing fails */
    enum fault_persistence persistence;
    cl_int code;
    const char *spared; /* never fails; NULL: there is none */
};

/* What a callback on the late command says. */
enum late_callback { LATE_CALLBACK_FAILS, LATE_CALLBACK_COMPLETE, LATE_CALLBACK_NEVER };

/* A command that is accepted and fails when the test says so, as drivers have been seen to tell it. */
struct late_plan {
    const char *function; /* the command: the `nth` call of this function from now on */
    unsigned nth;
    cl_int status; /* what its event's status says: negative, or CL_COMPLETE */
    cl_int wait;   /* what clWaitForEvents says */
    enum late_callback callback;
    bool dependents_run;  /* and report success; else they fail with -14 */
    bool followers_run;   /* the same only for what an in-order queue alone puts behind it */
    bool dependents_stay; /* submitted, for as long as the plan stands */
    bool kills_queue;     /* every later call on the queue fails with -42 */
};

struct fault_controls {
    /* Starts counting anew and takes a plan; NULL takes the plan away, has the driver make up for the flushes
     * that failed, and goes on counting. */
    void (*arm)(const struct fault_plan *plan);
    /* How many calls the plan has failed: of the function, or of all (NULL). */
    unsigned (*fired)(const char *function);
    /* Calls since arm: of the function, or of all (NULL). */
    unsigned (*calls)(const char *function);
    /* The functions there are, by number; NULL past the last. */
    const char *(*function)(unsigned i);
    /* References held now, over all kinds but those named in `kept`, as "queues"; `text` (of at least 256
     * bytes) names them. */
    long (*live)(char *text, const char *kept);

    void (*late_arm)(const struct late_plan *plan);
    /* Lets the late command fail, now; false: no such command has come. */
    bool (*late_fire)(void);
    /* Commands handed over that wait for one that had been reported failed. */
    unsigned (*late_trespasses)(void);
    /* Whether a command of the plan is held, or has failed. */
    bool (*late_taken)(void);

    /* Has what is enqueued on the queue (NULL: on any) start only when that is flushed, and its clFlush fail
     * with `code` unless that is CL_SUCCESS. Off: all that was held starts. */
    void (*hold)(bool on, cl_command_queue queue, cl_int code);
};

#endif
