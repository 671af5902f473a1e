/* SPDX-License-Identifier: MIT */
/*
 * What the black-box tests share: a context with kernels that take as long as a test wants, checks that
 * print the status and its detail, gates, failures made on purpose, and threads.
 */
#ifndef CLSTREAM_TESTS_RIG_H
#define CLSTREAM_TESTS_RIG_H

#include "test.h"

#include <stdbool.h>

#include <semaphore.h>

#include <clstream/buffer.h>
#include <clstream/context.h>
#include <clstream/event.h>
#include <clstream/graph.h>
#include <clstream/kernel.h>
#include <clstream/opencl.h>
#include <clstream/stream.h>

#include "patience.h"

/* For all tests of one program; made by rig_setup, a group's set-up function. */
extern struct rig {
    cls_context context;
    cls_kernel step;
} rig;

int rig_setup(void **state);
int rig_setup_on(const cls_context_config *config);
int rig_teardown(void **state);

/* Leaves the measured pace in the environment, so that the rig of a child process needs no launches. */
void rig_pass_on_pace(void);

/* --- the device's nature --- */

bool rig_has_quirk(const char *name);
bool rig_has_capability(const char *name);

/* Skips the test where a mechanism is wrong (trust.h), and the library refuses it or does without. */
void rig_need(const char *mechanism);

/* Whether the platform's name contains `part`; for what a driver does and the library cannot help. */
bool rig_platform_is(const char *part);

/* Whether commands run inside the flush, so that nothing is ever seen pending (Oclgrind). */
bool rig_runs_inline(void);

/* `count` on drivers with short launches, fewer where a launch is dear, and a 32nd under a checker, which follows
 * every command; at least `least`. */
unsigned rig_scale(unsigned count, unsigned least);

/* The descriptors that the process has open, and one. */
unsigned rig_count_descriptors(void);

/* Pages of memory that the process has. rig_need_resident_memory skips the test under a sanitizer, of which they tell. */
long rig_resident_pages(void);
void rig_need_resident_memory(void);

/* Mappings of shareable host memory. */
unsigned rig_count_mappings(void);

/* Waits until the process has no shareable host memory, open or mapped: a driver may give up memory after the call that
 * does, on a thread of its own. False: some is left after ten seconds. */
bool rig_await_memory_gone(void);

/* --- streams, cells, and work of known effect --- */

cls_stream rig_stream(void);
cls_stream rig_named(const char *name);
cls_stream rig_ordered(cls_order order);
cls_event rig_event(void);
cls_event rig_timed_event(void);

/* How many objects of a type there may be (CLS_ERROR_LIMIT). */
enum { RIG_HANDLES = sizeof(void *) > 4 ? 1 << 26 : 1 << 13 };

/* A buffer of `n` 32-bit cells, all 0. */
cls_buffer rig_cells(size_t n);
uint32_t rig_cell(cls_buffer cells, size_t i);

/* cells[i] = cells[i] * factor + add on the device: read first, about `ms` milliseconds of work, then
 * written, so that commands that overlap or change places lose something. */
cls_status rig_step(cls_stream stream, cls_buffer cells, uint32_t i, uint32_t factor, uint32_t add,
                    double ms);

/* The same with factor 0: cells[i] = value. */
static inline cls_status rig_set(cls_stream stream, cls_buffer cells, uint32_t i, uint32_t value,
                                 double ms) {
    return rig_step(stream, cells, i, 0, value, ms);
}

/* A host function without effect. */
static inline void rig_do_nothing(void *unused) { (void)unused; }

/* Whether the work before the record of `event`, of 30 ms or more, is not done: the query says so, or takes its
 * time on a driver that answers about a running command when that ends. */
bool rig_is_pending(cls_event event);

/* Whether, in each of six tries, a short kernel is done while a longer one runs, each on a queue of the test's own. Some
 * drivers run or report queues in the order of submission, always or now and then. */
bool rig_kernels_always_pass(void);

/* Whether `call(arg)` returns while a kernel ahead of it on `stream` still runs. Tried with longer and
 * longer kernels: a busy machine may keep this thread waiting, but a call that itself waits for the
 * kernel is late every time. */
bool rig_returns_early(cls_stream stream, cls_status (*call)(void *arg), void *arg);

/* --- gates --- */

/* A host function that holds its stream until the gate is opened. */
struct gate {
    sem_t entered, open;
};

void gate_init(struct gate *gate);
void gate_destroy(struct gate *gate);
void gate_hold(void *gate); /* the host function */
void gate_open(struct gate *gate);
/* Returns once the host function runs, or fails the test. */
void gate_await(struct gate *gate);

/* Waits for a semaphore as long as a watchdog does; false when it never came. A host function that posts
 * it calls cls_check_release with its address first. */
bool sem_comes(sem_t *sem);

/* Waits, by looking, for a counter to reach `value`; the same for who counts. */
bool counter_comes(const _Atomic unsigned *counter, unsigned value);

/* --- failures --- */

/* Submits a foreign call, labelled `label`, that returns `code`. */
cls_status rig_fail(cls_stream stream, const char *label, cl_int code);

/* A user event of the rig's context, and an in-order queue of its device, made by hand. */
cl_event rig_user_event(void);
cl_command_queue rig_own_queue(void);
cls_stream rig_own_stream(void); /* wraps one */

/* --- graphs --- */

/* Ends the stream's capture and instantiates it, fused or not; the graph itself is destroyed. */
cls_graph_exec rig_end_capture(cls_stream stream);
cls_graph_exec rig_end_fused(cls_stream stream);
cls_graph_statistics rig_graph_statistics(cls_graph_exec exec);

/* Expects a launch of `commands` commands, with `fused` nodes of the capture fused into `kernels` kernels. */
void rig_expect_fused(cls_graph_exec exec, uint64_t commands, uint64_t fused, uint64_t kernels);

/* --- threads --- */

/* Runs fn(arg, 0 .. n-1) at once, each on a thread of its own; the number that returned false. */
unsigned team_run(unsigned n, bool (*fn)(void *arg, unsigned i), void *arg);

/* Sleeps; for making a wait real, never for ordering. */
void nap_ms(unsigned ms);
double now_ms(void);

/* For order where a call that blocks has to come first: the thread stores its number right before the call
 * (sleeper_here), and await_sleeper returns once that thread sleeps, in the call; after some seconds in any case,
 * and after 50 ms where the system does not tell. */
typedef _Atomic int sleeper;
void sleeper_here(sleeper *thread);
void await_sleeper(sleeper *thread);

#endif
