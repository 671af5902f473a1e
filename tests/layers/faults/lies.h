/* SPDX-License-Identifier: MIT */
/*
 * A driver that gives wrong data in silence, a part of layer.c: CLS_FAULT_LIE names one mechanism, as the library's
 * capability record does, and what goes wrong is what drivers were seen to do. Nothing is read or written outside the
 * memory that a command names.
 *
 *   transfers             writes leave the last bytes out, beyond a multiple of 4
 *   queue_order           in-order queues are out-of-order queues
 *   events_in_queue       a wait list's events of the command's own queue are ignored
 *   events_across_queues  those of other queues are
 *   arguments_set_again   once launched, a kernel keeps its arguments
 *   local_arguments       barriers do nothing, so that work-items do not see each other's local memory
 *   structure_arguments   a kernel sees a structure four bytes ahead of its start
 *   launch_offsets        launches begin at 0
 *   rounding              programs are built with -cl-unsafe-math-optimizations
 *   odd_copies            copies leave the last bytes out, beyond a multiple of 4
 *   odd_fills             fills begin at a multiple of 4
 *   rectangles            copies of rectangles leave the last slice out, of one slice the last row
 *   padded_rows           rectangles in host memory are taken to be without padding
 *   sub_buffer_arguments  a kernel sees a sub-buffer at the start of its buffer
 *   sub_buffer_copies     so do reads, writes, fills and copies
 *   sub_buffer_rectangles so do copies of rectangles
 *   mapped_memory         what the host writes first to mapped memory is lost
 *   host_memory           a buffer over memory of the host is a copy of it
 *   shared_memory         a buffer on top of shared memory is a copy of it
 *   addresses             a buffer is elsewhere at each third launch that tells its address
 *   pointer_arguments     an argument that is given by address points to a multiple of 128 bytes
 *
 * One is about addresses:
 *
 *   not_resident          kernels change nothing through addresses
 *
 * One is about pointer_arguments, and found by no trial, since drivers may do so and the library does without:
 *
 *   pointers_stay         a kernel with a buffer for an argument that was given by address is refused when it is launched
 *
 * One is about images (driver/image_trial.c), with no entry in the record:
 *
 *   image_layers          copies between buffers and 1D arrays are refused but for the first layer
 *
 * One is about sub_buffer_arguments:
 *
 *   sub_buffer_reuse      a kernel sees a sub-buffer at the start of its buffer from its third use on
 *
 * And one about three of them, rectangles, padded_rows and sub_buffer_rectangles:
 *
 *   square_rectangles     rows are moved whole where both pitches are the height, and the last one is left out
 *
 * Three more are for `clstream check`:
 *
 *   threads               the process aborts when a second thread launches a kernel
 *   functions             fma, sin and cos do not build
 *   hang                  a launch takes a minute
 *
 * Two more concern what a driver says:
 *
 *   line_directives       the compiler ignores #line
 *   chatter               the driver writes a line to standard error when it is asked for platforms and devices
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LIE_WAITS = 64, LIE_OBJECTS = 1 << 16 };

static const char *lie = ""; /* set once, at load */

static bool lies_about(const char *mechanism) { return !strcmp(lie, mechanism); }

/* --- objects to know again: sub-buffers with their buffers, and kernels that were launched --- */

static pthread_mutex_t lie_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    const void *object; /* NULL: free */
    cl_mem root;
    unsigned uses; /* as an argument */
} lie_known[LIE_OBJECTS];
static unsigned lie_used; /* entries below here may be in use */

static void lie_know(const void *object, cl_mem root) {
    unsigned i = 0;
    pthread_mutex_lock(&lie_lock);
    while (i < lie_used && lie_known[i].object && lie_known[i].object != object)
        i++;
    if (i < LIE_OBJECTS) {
        lie_known[i].object = object;
        lie_known[i].root = root;
        lie_known[i].uses = 0;
        if (i == lie_used)
            lie_used++;
    }
    pthread_mutex_unlock(&lie_lock);
}

/* Whether the object is known; `*root`: its buffer. */
static bool lie_knows(const void *object, cl_mem *root) {
    bool found = false;
    pthread_mutex_lock(&lie_lock);
    for (unsigned i = 0; i < lie_used && !found; i++)
        if (object && lie_known[i].object == object) {
            *root = lie_known[i].root;
            found = true;
        }
    pthread_mutex_unlock(&lie_lock);
    return found;
}

static void lie_forget(const void *object) {
    pthread_mutex_lock(&lie_lock);
    for (unsigned i = 0; i < lie_used; i++)
        if (lie_known[i].object == object)
            lie_known[i].object = NULL;
    pthread_mutex_unlock(&lie_lock);
}

/* The buffer of a sub-buffer while the driver forgets origins; else the memory itself. */
static cl_mem lie_memory(cl_mem memory, const char *mechanism) {
    cl_mem root;
    return lies_about(mechanism) && lie_knows(memory, &root) ? root : memory;
}

/* A sub-buffer as an argument: itself, and from the third time on its buffer. */
static cl_mem lie_used_again(cl_mem memory) {
    pthread_mutex_lock(&lie_lock);
    for (unsigned i = 0; i < lie_used; i++)
        if (memory && lie_known[i].object == memory && ++lie_known[i].uses > 2)
            memory = lie_known[i].root;
    pthread_mutex_unlock(&lie_lock);
    return memory;
}

/* --- around every command --- */

static bool lie_ignores(cl_command_queue queue, cl_event event) {
    cl_command_queue of = NULL;
    next.clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof of, &of, NULL);
    return of && (of == queue) == lies_about("events_in_queue");
}

static void lie_before_enqueue(struct layer_enqueue *e) {
    static _Thread_local cl_event kept[LIE_WAITS];
    cl_uint count = 0;
    if ((!lies_about("events_in_queue") && !lies_about("events_across_queues")) ||
        e->count > LIE_WAITS)
        return;
    for (cl_uint i = 0; i < e->count; i++)
        if (!lie_ignores(e->queue, e->events[i]))
            kept[count++] = e->events[i];
    e->count = count;
    e->events = count ? kept : NULL;
}
