/* SPDX-License-Identifier: MIT */
/* CLSTREAM_CHECK=race: programs in pairs that differ in one edge, or in one byte; of the racy one the
 * checker tells, of the clean one it does not, however the work happened to run. */
#include "../support/rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <clstream/binary.h>
#include <clstream/check.h>
#include <clstream/mempool.h>
#include <clstream/reduce.h>
#include <clstream/timeline.h>
#include <clstream/unary.h>

enum { CELLS = 64, BYTES = CELLS * 4 };

/* What every pair works on; all of it is idle and known to be when a program begins. */
static struct world {
    cls_stream a, b, c;
    cls_event event, other;
    cls_buffer x, y;
    uint32_t words[CELLS], more[CELLS];
    cls_kernel blur; /* (global const uint *in, global uint *out) */
} w;

static cls_timeline early, later; /* both at 0 */

static const char source[] = "kernel void blur(global const uint *in, global uint *out) {\n"
                             "    out[get_global_id(0)] = in[get_global_id(0)] + 1;\n"
                             "}\n";

static cls_stream named(const char *name) {
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    cls_stream stream = NULL;
    config.name = name;
    OK(cls_stream_create(rig.context, &config, &stream));
    return stream;
}

static void begin(void) {
    w.a = named("first");
    w.b = named("second");
    w.c = named("third");
    w.event = rig_event();
    w.other = rig_event();
    w.x = rig_cells(CELLS);
    w.y = rig_cells(CELLS);
    OK(cls_timeline_create(NULL, &early));
    OK(cls_timeline_create(NULL, &later));
    OK(cls_check_clear());
}

static void end(void) {
    OK(cls_context_synchronize(rig.context));
    OK(cls_buffer_destroy(w.x));
    OK(cls_buffer_destroy(w.y));
    OK(cls_event_destroy(w.event));
    OK(cls_event_destroy(w.other));
    OK(cls_stream_destroy(w.a));
    OK(cls_stream_destroy(w.b));
    OK(cls_stream_destroy(w.c));
    OK(cls_timeline_destroy(early));
    OK(cls_timeline_destroy(later));
}

/* --- pieces --- */

static void write_x(cls_stream stream) { OK(cls_copy_h2d_async(w.x, 0, w.words, BYTES, stream)); }
static void read_x(cls_stream stream) { OK(cls_copy_d2h_async(w.more, w.x, 0, BYTES, stream)); }

static void fill(cls_buffer buffer, size_t offset, size_t bytes, cls_stream stream) {
    const uint8_t seven = 7;
    OK(cls_fill_async(buffer, offset, bytes, &seven, 1, stream));
}

static void edge(cls_stream from, cls_stream to) {
    OK(cls_event_record(w.event, from));
    OK(cls_stream_wait_event(to, w.event));
}

static void blur(cls_arg in, cls_arg out, cls_stream stream) {
    const cls_launch shape = cls_launch_1d(CELLS / 2);
    const cls_arg args[] = {in, out};
    OK(cls_kernel_launch_async(w.blur, &shape, args, 2, stream));
}

static cls_array view(cls_buffer buffer, size_t offset, size_t count) {
    return (cls_array){buffer, CLS_I32, offset, count};
}

/* --- the pairs: with `clean` false an edge is missing, or a byte too many is touched --- */

static void copy_and_copy(bool clean) {
    write_x(w.a);
    if (clean)
        edge(w.a, w.b);
    read_x(w.b);
}

static void two_reads(bool clean) {
    OK(cls_copy_d2d_async(w.y, 0, w.x, 0, BYTES, w.a));
    if (clean)
        OK(cls_copy_d2h_async(w.more, w.x, 0, BYTES, w.b));
    else
        OK(cls_copy_d2d_async(w.x, 0, w.y, 0, BYTES, w.b));
}

static void one_stream(bool clean) {
    write_x(w.a);
    read_x(clean ? w.a : w.b);
}

static void copy_and_kernel(bool clean) {
    write_x(w.a);
    if (clean)
        edge(w.a, w.b);
    blur(cls_arg_reads(w.x, 0, BYTES), cls_arg_writes(w.y, 0, BYTES), w.b);
}

static void kernel_and_kernel(bool clean) {
    blur(cls_arg_reads(w.x, 0, BYTES), cls_arg_writes(w.y, 0, BYTES / 2), w.a);
    blur(cls_arg_reads(w.x, 0, BYTES), cls_arg_updates(w.y, clean ? BYTES / 2 : 0, BYTES / 2), w.b);
}

static void undeclared_kernels(bool clean) {
    blur(cls_arg_buffer(w.x), cls_arg_buffer(w.y), w.a);
    if (clean)
        edge(w.a, w.b);
    blur(cls_arg_buffer(w.x), cls_arg_buffer(w.y), w.b);
}

static void const_parameters(bool clean) {
    blur(cls_arg_buffer(w.x), cls_arg_writes(w.y, 0, 8), w.a);
    blur(clean ? cls_arg_buffer(w.x) : cls_arg_buffer(w.y), cls_arg_writes(w.y, 8, 8), w.b);
}

static void parts_that_touch(bool clean) {
    fill(w.x, 0, 17, w.a);
    OK(cls_copy_d2h_async(w.more, w.x, clean ? 17 : 16, 40, w.b));
}

static void interleaved_columns(bool clean) {
    const cls_rect even = {8, 4, 0, 32, 0, 8}, odd = {8, 4, clean ? 8 : 7, 32, 0, 8};
    OK(cls_copy_rect_h2d_async(w.x, w.words, &even, w.a));
    OK(cls_copy_rect_h2d_async(w.x, w.words, &odd, w.b));
}

static void rect_on_the_device(bool clean) {
    const cls_rect rect = {4, 4, 0, 16, 32, 16};
    OK(cls_copy_rect_d2d_async(w.y, w.x, &rect, w.a));
    fill(w.x, clean ? 36 : 35, 12, w.b);
    fill(w.y, 4, 12, w.b);
}

static void rect_to_the_host(bool clean) {
    const cls_rect rect = {4, 4, 0, 16, 0, 16};
    OK(cls_copy_rect_d2h_async(w.more, w.x, &rect, w.a));
    OK(cls_check_host_access((char *)w.more + (clean ? 4 : 3), 12, CLS_ACCESS_READ));
}

static void fill_and_fill(bool clean) {
    fill(w.x, 0, BYTES, w.a);
    if (clean)
        edge(w.a, w.b);
    fill(w.x, 8, 8, w.b);
}

static void operations_on_views(bool clean) {
    OK(cls_unary_async(CLS_UNARY_NEG, view(w.x, 0, 16), view(w.y, 0, 16), w.a));
    OK(cls_unary_async(CLS_UNARY_NEG, view(w.x, 0, 16), view(w.y, clean ? 16 : 15, 16), w.b));
}

static void in_place_operations(bool clean) {
    OK(cls_binary_async(CLS_BINARY_ADD, view(w.x, 0, 8), view(w.y, 0, 8), view(w.x, 0, 8), w.a));
    OK(cls_binary_async(CLS_BINARY_ADD, view(w.x, 8, 8), view(w.y, 0, 8), view(w.x, 8, 8), w.b));
    OK(cls_copy_d2h_async(w.more, w.x, 0, 4, clean ? w.a : w.b));
}

/* The scratch of a stream's reductions is its own: only what they are told to write can meet. */
static void reductions(bool clean) {
    OK(cls_reduce_async(CLS_REDUCE_MAX, view(w.x, 0, CELLS), view(w.y, 0, 1), w.a));
    OK(cls_reduce_async(CLS_REDUCE_MIN, view(w.x, 0, CELLS), view(w.y, 1, 1), w.a));
    OK(cls_reduce_async(CLS_REDUCE_MIN, view(w.x, 0, CELLS), view(w.y, clean ? 2 : 1, 1), w.b));
}

static void reduction_to_the_host(bool clean) {
    int32_t most;
    if (!clean)
        write_x(w.a);
    OK(cls_reduce(CLS_REDUCE_MAX, view(w.x, 0, CELLS), &most, w.b));
}

static void re_recorded_event(bool clean) {
    write_x(w.a);
    OK(cls_event_record(w.event, w.a));
    if (clean)
        OK(cls_stream_wait_event(w.b, w.event));
    OK(cls_event_record(w.event, w.c));
    OK(cls_stream_wait_event(w.b, w.event));
    read_x(w.b);
}

static void wrong_event(bool clean) {
    OK(cls_event_record(w.other, w.a));
    write_x(w.a);
    OK(cls_event_record(w.event, w.a));
    OK(cls_stream_wait_event(w.b, clean ? w.event : w.other));
    read_x(w.b);
}

static void wait_before_the_record(bool clean) {
    write_x(w.a);
    if (!clean)
        OK(cls_stream_wait_event(w.b, w.event));
    OK(cls_event_record(w.event, w.a));
    if (clean)
        OK(cls_stream_wait_event(w.b, w.event));
    read_x(w.b);
}

static void wait_after_the_command(bool clean) {
    write_x(w.a);
    OK(cls_event_record(w.event, w.a));
    if (clean)
        OK(cls_stream_wait_event(w.b, w.event));
    read_x(w.b);
    OK(cls_stream_wait_event(w.b, w.event));
}

static void three_streams(bool clean) {
    write_x(w.a);
    edge(w.a, w.b);
    if (clean)
        fill(w.y, 0, 4, w.b);
    OK(cls_event_record(w.other, clean ? w.b : w.c));
    OK(cls_stream_wait_event(w.c, w.other));
    read_x(w.c);
}

/* No command lies between the second stream's wait and its record. */
static void bare_relay(bool clean) {
    write_x(w.a);
    if (!clean)
        OK(cls_event_record(w.other, w.b));
    edge(w.a, w.b);
    if (clean)
        OK(cls_event_record(w.other, w.b));
    OK(cls_stream_wait_event(w.c, w.other));
    read_x(w.c);
}

static void timed_event(bool clean) {
    cls_event_config config = CLS_EVENT_CONFIG_INIT;
    cls_event timed = NULL;
    config.timed = 1;
    OK(cls_event_create(rig.context, &config, &timed));
    if (!clean)
        OK(cls_event_record(timed, w.a));
    write_x(w.a);
    if (clean)
        OK(cls_event_record(timed, w.a));
    OK(cls_stream_wait_event(w.b, timed));
    read_x(w.b);
    OK(cls_event_destroy(timed));
}

static void timeline(bool clean) {
    cls_timeline values = NULL;
    OK(cls_timeline_create(NULL, &values));
    OK(cls_stream_signal_timeline(w.a, values, 1));
    write_x(w.a);
    OK(cls_stream_signal_timeline(w.a, values, 2));
    OK(cls_stream_wait_timeline(w.b, values, clean ? 2 : 1));
    read_x(w.b);
    OK(cls_timeline_destroy(values));
}

/* --- waits before the signal that they are for --- */

static void wait_early(cls_stream stream, cls_timeline line, uint64_t value) {
    OK(cls_stream_wait_timeline(stream, line, value));
}

static void early_wait(bool clean) {
    wait_early(w.b, early, 1);
    read_x(w.b);
    if (clean)
        write_x(w.a);
    OK(cls_stream_signal_timeline(w.a, early, 1));
    if (!clean)
        write_x(w.a);
}

static void early_wait_for_a_value(bool clean) {
    wait_early(w.b, early, clean ? 2 : 1);
    read_x(w.b);
    OK(cls_stream_signal_timeline(w.a, early, 1));
    write_x(w.a);
    OK(cls_stream_signal_timeline(w.a, early, 2));
}

/* Who comes after the stream that waits has to wait with it. */
static void early_wait_of_another(bool clean) {
    wait_early(w.b, early, 1);
    if (clean)
        edge(w.b, w.c);
    read_x(w.c);
    write_x(w.a);
    OK(cls_stream_signal_timeline(w.a, early, 1));
}

/* The signal itself stands behind a wait whose signal comes later. */
static void chained_early_waits(bool clean) {
    wait_early(w.c, early, 1);
    read_x(w.c);
    wait_early(w.b, later, 1);
    OK(cls_stream_signal_timeline(w.b, early, 1));
    if (clean)
        write_x(w.a);
    OK(cls_stream_signal_timeline(w.a, later, 1));
    if (!clean)
        write_x(w.a);
}

/* Two commands that wait early, for different things, race with each other. */
static void two_early_waits(bool clean) {
    wait_early(w.b, early, 1);
    read_x(w.b);
    wait_early(w.c, clean ? early : later, clean ? 2 : 1);
    fill(w.x, 0, 4, w.c);
    OK(cls_stream_signal_timeline(w.a, later, 1));
    OK(cls_stream_signal_timeline(w.a, early, 1));
    OK(cls_stream_wait_event(w.a, w.event));
    if (clean)
        edge(w.b, w.a);
    OK(cls_stream_signal_timeline(w.a, early, 2));
}

/* Any of two streams may signal first: the command has to come after both. */
static void early_wait_for_any(bool clean) {
    wait_early(w.c, early, 1);
    read_x(w.c);
    write_x(w.a);
    if (clean)
        edge(w.a, w.b);
    OK(cls_stream_signal_timeline(w.b, early, 1));
    OK(cls_stream_signal_timeline(w.a, early, 1));
}

/* The host fills what the device waits to fetch. */
static void early_wait_for_the_host(bool clean) {
    wait_early(w.b, early, 1);
    write_x(w.b);
    if (!clean)
        OK(cls_timeline_signal(early, 1));
    OK(cls_check_host_access(w.words, BYTES, CLS_ACCESS_WRITE));
    if (clean)
        OK(cls_timeline_signal(early, 1));
}

/* What the host has learned comes before its signal, not before what was submitted earlier. */
static void host_signal_hands_on(bool clean) {
    wait_early(w.b, early, 1);
    read_x(w.b);
    write_x(w.a);
    if (clean)
        OK(cls_stream_synchronize(w.a));
    OK(cls_timeline_signal(early, 1));
}

static void learned_after_the_signal(bool clean) {
    wait_early(w.b, early, 1);
    wait_early(w.b, later, 1);
    read_x(w.b);
    write_x(w.a);
    if (clean)
        OK(cls_stream_synchronize(w.a));
    OK(cls_timeline_signal(early, 1));
    OK(cls_stream_signal_timeline(w.c, later, 1));
    OK(cls_stream_synchronize(w.a));
}

static void signal_early(void *value) { OK(cls_timeline_signal(early, *(uint64_t *)value)); }

static void signal_by_a_host_function(bool clean) {
    static uint64_t one = 1;
    wait_early(w.b, early, 1);
    read_x(w.b);
    if (clean)
        write_x(w.a);
    OK(cls_stream_launch_host_async(w.a, signal_early, &one));
    if (!clean)
        write_x(w.a);
    OK(cls_context_synchronize(rig.context));
}

static void host_waits_for_a_timeline(bool clean) {
    OK(cls_stream_signal_timeline(w.a, early, 1));
    read_x(w.a);
    OK(cls_stream_signal_timeline(w.a, early, 2));
    OK(cls_timeline_wait(early, clean ? 2 : 1, UINT64_MAX));
    OK(cls_check_host_access(w.more, 4, CLS_ACCESS_READ));
}

/* The signal comes after an early wait for a third stream, and the host knows that much. */
static void host_waits_behind_an_early_wait(bool clean) {
    wait_early(w.b, early, 1);
    OK(cls_stream_signal_timeline(w.b, later, 1));
    if (clean)
        read_x(w.a);
    OK(cls_stream_signal_timeline(w.a, early, 1));
    if (!clean)
        read_x(w.a);
    while (cls_timeline_query(later, 1) == CLS_NOT_READY)
        nap_ms(1);
    OK(cls_check_host_access(w.more, 4, CLS_ACCESS_READ));
}

/* A buffer's memory is given again while what is behind a wait has not been compared yet. */
static void early_wait_and_free(bool clean) {
    cls_buffer memory = NULL;
    wait_early(w.b, early, 1);
    OK(cls_malloc_async(w.b, BYTES, &memory));
    fill(memory, 0, BYTES, w.b);
    if (clean)
        edge(w.b, w.c);
    fill(memory, 0, 4, w.c);
    edge(w.c, w.b);
    OK(cls_free_async(memory, w.b));
    OK(cls_stream_signal_timeline(w.a, early, 1));
}

static void reused_upload(bool clean) {
    write_x(w.a);
    if (clean)
        OK(cls_stream_synchronize(w.a));
    OK(cls_check_host_access(&w.words[CELLS - 1], 4, CLS_ACCESS_WRITE));
}

static void early_look(bool clean) {
    read_x(w.a);
    OK(cls_event_record(w.event, w.a));
    OK(cls_check_host_access(&w.words, BYTES, CLS_ACCESS_READ));
    if (clean)
        OK(cls_event_synchronize(w.event));
    OK(cls_check_host_access(&w.more[3], 4, CLS_ACCESS_READ));
}

static void polled_stream(bool clean) {
    read_x(w.a);
    while (clean && cls_stream_query(w.a) == CLS_NOT_READY)
        nap_ms(1);
    OK(cls_check_host_access(w.more, BYTES, CLS_ACCESS_READ));
}

static void polled_event(bool clean) {
    read_x(w.a);
    OK(cls_event_record(w.event, w.a));
    while (clean && cls_event_query(w.event) == CLS_NOT_READY)
        nap_ms(1);
    OK(cls_check_host_access(w.more, BYTES, CLS_ACCESS_READ));
}

/* What was synchronized orders what is submitted afterwards, also what came before it by an event. */
static void synchronized_behind(bool clean) {
    write_x(w.a);
    edge(w.a, w.b);
    OK(cls_stream_synchronize(clean ? w.b : w.c));
    OK(cls_copy_d2d_async(w.y, 0, w.x, 0, BYTES, w.c));
}

static void synchronized_context(bool clean) {
    write_x(w.a);
    if (clean)
        OK(cls_context_synchronize(rig.context));
    fill(w.x, 0, 1, w.b);
}

static void blocking_copy(bool clean) {
    if (clean)
        OK(cls_copy_h2d(w.x, 0, w.words, BYTES, w.a));
    else
        write_x(w.a);
    read_x(w.b);
}

static void blocking_copies_use_the_host(bool clean) {
    OK(cls_copy_h2d_async(w.x, 0, w.words, BYTES, w.a));
    OK(cls_copy_d2h(clean ? w.more : w.words, w.y, 0, BYTES, w.b));
}

static void reset_stream(bool clean) {
    write_x(w.a);
    if (clean)
        OK(cls_stream_reset(w.a));
    fill(w.x, 0, 4, w.b);
}

static void prefetched(bool clean) {
    OK(cls_prefetch_async(w.x, CLS_TO_DEVICE, w.a));
    if (clean)
        read_x(w.b);
    else
        write_x(w.b);
}

static void submit_behind(void *unused) {
    (void)unused;
    fill(w.x, 0, 4, w.b);
}

static void submitted_by_a_host_function(bool clean) {
    write_x(w.a);
    if (clean)
        OK(cls_stream_launch_host_async(w.a, submit_behind, NULL));
    else
        submit_behind(NULL);
}

static void touch_words(void *gate) {
    OK(cls_check_host_access(w.words, 16, CLS_ACCESS_WRITE));
    OK(cls_check_release(gate));
    gate_open(gate);
}

/* The function has run, and nobody was told. */
static void host_function(bool clean) {
    struct gate gate;
    gate_init(&gate);
    OK(cls_stream_launch_host_async(w.a, touch_words, &gate));
    assert_true(sem_comes(&gate.open));
    if (clean)
        edge(w.a, w.b);
    write_x(w.b);
    gate_destroy(&gate);
}

/* The same, where a command that comes after the function was submitted before it has run. */
static void late_host_function(bool clean) {
    struct gate before, after;
    gate_init(&before);
    gate_init(&after);
    OK(cls_stream_launch_host_async(w.a, gate_hold, &before));
    OK(cls_stream_launch_host_async(w.a, touch_words, &after));
    if (clean)
        edge(w.a, w.b);
    write_x(w.b);
    gate_open(&before);
    assert_true(sem_comes(&after.open));
    OK(cls_context_synchronize(rig.context));
    gate_destroy(&before);
    gate_destroy(&after);
}

static void told_by_a_semaphore(bool clean) {
    struct gate gate;
    gate_init(&gate);
    OK(cls_copy_h2d_async(w.x, 0, w.words, BYTES, w.a));
    OK(cls_stream_launch_host_async(w.a, touch_words, &gate));
    assert_true(sem_comes(&gate.open));
    if (clean)
        OK(cls_check_acquire(&gate));
    OK(cls_check_host_access(w.words, 4, CLS_ACCESS_READ));
    gate_destroy(&gate);
}

static cl_int foreign(cl_command_queue queue, void *arg) {
    const uint32_t nine = 9;
    cl_mem memory;
    (void)arg;
    OK(cls_buffer_get_cl(w.x, &memory));
    OK(cls_check_buffer_access(w.x, 0, 16, CLS_ACCESS_WRITE));
    return clEnqueueFillBuffer(queue, memory, &nine, 4, 0, 16, 0, NULL, NULL);
}

static void foreign_code(bool clean) {
    OK(cls_stream_foreign_async(w.a, "fill by hand", foreign, NULL));
    if (clean)
        edge(w.a, w.b);
    read_x(w.b);
    OK(cls_context_synchronize(rig.context));
}

static cls_buffer wrap(cl_mem memory) {
    cls_buffer buffer = NULL;
    OK(cls_buffer_wrap(rig.context, memory, &buffer));
    return buffer;
}

static void one_memory_two_buffers(bool clean) {
    cl_mem memory;
    OK(cls_buffer_get_cl(w.x, &memory));
    cls_buffer same = wrap(memory);
    write_x(w.a);
    if (clean)
        edge(w.a, w.b);
    fill(same, 0, 4, w.b);
    OK(cls_context_synchronize(rig.context));
    OK(cls_buffer_destroy(same));
}

static void parts_of_one_buffer(bool clean) {
    enum { APART = 1024 };
    cls_buffer whole = rig_cells(APART), part;
    cl_mem memory, below;
    cl_buffer_region region = {0, APART};
    OK(cls_check_clear());
    OK(cls_buffer_get_cl(whole, &memory));
    below = clCreateSubBuffer(memory, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, NULL);
    assert_non_null(below);
    part = wrap(below);
    fill(part, APART - 4, 4, w.a);
    fill(whole, clean ? APART : APART - 1, 4, w.b);
    OK(cls_context_synchronize(rig.context));
    OK(cls_buffer_destroy(part));
    OK(cls_buffer_destroy(whole));
    clReleaseMemObject(below);
}

static void destroyed_stream(bool clean) {
    cls_stream gone = named("gone");
    write_x(gone);
    OK(cls_event_record(w.event, gone));
    OK(cls_stream_destroy(gone));
    if (clean)
        OK(cls_stream_wait_event(w.b, w.event));
    read_x(w.b);
}

/* A new buffer may get the memory of one that is destroyed with work pending. */
static void destroyed_buffer(bool clean) {
    cls_buffer more[4];
    for (int i = 0; i < 4; i++) {
        OK(cls_buffer_create(rig.context, BYTES, &more[i]));
        fill(more[i], 0, BYTES, i % 2 ? w.a : w.b);
        if (!clean)
            fill(more[i], 0, BYTES, i % 2 ? w.b : w.a);
        OK(cls_buffer_destroy(more[i]));
    }
}

static void free_and_use(bool clean) {
    cls_buffer memory = NULL;
    fill(w.y, 0, 4, w.a);
    OK(cls_malloc_async(w.a, BYTES, &memory));
    edge(w.a, w.b);
    fill(memory, 0, BYTES, w.b);
    if (clean)
        edge(w.b, w.a);
    OK(cls_free_async(memory, w.a));
}

static void use_before_the_malloc(bool clean) {
    cls_buffer memory = NULL;
    fill(w.y, 0, 4, w.a);
    OK(cls_event_record(w.event, w.a));
    fill(w.y, 0, 4, w.a);
    OK(cls_malloc_async(w.a, BYTES, &memory));
    if (clean)
        OK(cls_event_record(w.event, w.a));
    OK(cls_stream_wait_event(w.b, w.event));
    fill(memory, 0, BYTES, w.b);
    OK(cls_free_async(memory, w.b));
}

static void reused_memory(bool clean) {
    cls_buffer memory = NULL, again = NULL;
    OK(cls_malloc_async(w.a, BYTES, &memory));
    fill(memory, 0, BYTES, w.a);
    OK(cls_free_async(memory, w.a));
    OK(cls_malloc_async(w.a, BYTES, &again));
    fill(again, 0, BYTES, w.a);
    if (clean)
        edge(w.a, w.b);
    fill(again, 0, BYTES, w.b);
    OK(cls_free_async(again, w.b));
}

static const struct pair {
    const char *name;
    void (*program)(bool clean);
    bool possible;       /* what is found is no more than that */
    const char *says[3]; /* parts of the first finding's text */
} pairs[] = {
    {"copy and copy",
     copy_and_copy,
     false,
     {"'copy_h2d' (stream 'first', command 1) writes",
      "'copy_d2h' (stream 'second', command 1) reads bytes [0, 256) of a buffer of 256",
      "record an event on 'first' after command 1 and let 'second' wait for it before command 1"}},
    {"two reads", two_reads, false, {NULL}},
    {"one stream", one_stream, false, {NULL}},
    {"copy and kernel", copy_and_kernel, false, {"copy_h2d", "'blur' (stream 'second'", "reads"}},
    {"kernel and kernel", kernel_and_kernel, false, {"blur", "[0, 128)"}},
    {"undeclared kernels", undeclared_kernels, true, {"possible race", "[0, 256)"}},
    {"const parameters", const_parameters, true, {"possible race", "[0, 8)"}},
    {"parts that touch", parts_that_touch, false, {"[16, 17) of a buffer of 256"}},
    {"interleaved columns", interleaved_columns, false, {"copy_rect_h2d", "[7, 8)"}},
    {"rect on the device", rect_on_the_device, false, {"copy_rect_d2d", "reads", "[35, 36)"}},
    {"rect to the host", rect_to_the_host, false, {"copy_rect_d2h", "the host reads 1 bytes"}},
    {"fill and fill", fill_and_fill, false, {"fill", "[8, 16)"}},
    {"operations on views", operations_on_views, false, {"neg", "[60, 64)"}},
    {"in-place operations", in_place_operations, false, {"add", "[0, 4)"}},
    {"reductions", reductions, false, {"[4, 8)"}},
    {"reduction to the host", reduction_to_the_host, false, {"copy_h2d", "max"}},
    {"re-recorded event", re_recorded_event, false, {"record an event on 'first' after command 1"}},
    {"wrong event", wrong_event, false, {NULL}},
    {"wait before the record", wait_before_the_record, false, {NULL}},
    {"wait after the command", wait_after_the_command, false, {NULL}},
    {"three streams", three_streams, false, {"'first'", "'third'"}},
    {"bare relay", bare_relay, false, {"'first'", "'third'"}},
    {"timeline", timeline, false, {NULL}},
    {"timed event", timed_event, false, {NULL}},
    {"early wait",
     early_wait,
     false,
     {"'copy_d2h' (stream 'second', command 1) reads", "'copy_h2d' (stream 'first', command 1) "
                                                       "writes"}},
    {"early wait for a value", early_wait_for_a_value, false, {"'first'", "'second'"}},
    {"early wait of another", early_wait_of_another, false, {"'first'", "'third'"}},
    {"chained early waits", chained_early_waits, false, {"'first'", "'third'"}},
    {"two early waits", two_early_waits, false, {"'second'", "'third'", "[0, 4)"}},
    {"early wait for any", early_wait_for_any, false, {"'first'", "'third'"}},
    {"early wait for the host",
     early_wait_for_the_host,
     false,
     {"'copy_h2d' (stream 'second', command 1) reads and the host writes 256 bytes"}},
    {"host signal hands on", host_signal_hands_on, false, {"'first'", "'second'"}},
    {"learned after the signal", learned_after_the_signal, false, {"'first'", "'second'"}},
    {"signal by a host function", signal_by_a_host_function, false, {"'first'", "'second'"}},
    {"host waits for a timeline", host_waits_for_a_timeline, false, {"the host reads 4 bytes"}},
    {"host waits behind an early wait",
     host_waits_behind_an_early_wait,
     false,
     {"'first'", "the host reads 4 bytes"}},
    {"early wait and free", early_wait_and_free, false, {"'second'", "'third'"}},
    {"reused upload",
     reused_upload,
     false,
     {"the host writes 4 bytes of host memory",
      "synchronize 'first', or an event recorded on it after command 1, before the access"}},
    {"early look", early_look, false, {"copy_d2h", "the host reads 4 bytes"}},
    {"polled stream", polled_stream, false, {NULL}},
    {"polled event", polled_event, false, {NULL}},
    {"synchronized behind", synchronized_behind, false, {NULL}},
    {"synchronized context", synchronized_context, false, {NULL}},
    {"blocking copy", blocking_copy, false, {NULL}},
    {"blocking copies use the host", blocking_copies_use_the_host, false, {"bytes of host memory"}},
    {"reset stream", reset_stream, false, {NULL}},
    {"prefetched", prefetched, false, {"'prefetch' (stream 'first', command 1) reads"}},
    {"submitted by a host function", submitted_by_a_host_function, false, {NULL}},
    {"host function", host_function, false, {"'host function' (stream 'first', command 1) writes"}},
    {"late host function", late_host_function, false, {"copy_h2d", "host function"}},
    {"told by a semaphore", told_by_a_semaphore, false, {"host function", "the host reads"}},
    {"foreign code", foreign_code, false, {"fill by hand"}},
    {"one memory, two buffers", one_memory_two_buffers, false, {"[0, 4) of a buffer of 256"}},
    {"parts of one buffer", parts_of_one_buffer, false, {"[1023, 1024) of a buffer of"}},
    {"free and use",
     free_and_use,
     false,
     {"'fill' (stream 'second'", "'free' (stream 'first', command 1) writes"}},
    {"use before the malloc",
     use_before_the_malloc,
     false,
     {"'malloc' (stream 'first', command 2) writes"}},
    {"reused memory", reused_memory, false, {"fill"}},
    {"destroyed stream", destroyed_stream, false, {"stream 'gone'"}},
    {"destroyed buffer", destroyed_buffer, false, {NULL}},
};

static cls_check_counts found(void) {
    cls_check_counts counts = CLS_CHECK_COUNTS_INIT;
    OK(cls_check_get_counts(&counts));
    assert_true(counts.on);
    assert_int_equal(counts.forgotten, 0);
    return counts;
}

static void say_all(void) {
    cls_check_finding finding = CLS_CHECK_FINDING_INIT;
    for (size_t i = 0; cls_check_get_finding(i, &finding) == CLS_SUCCESS; i++)
        print_message("%s\n", finding.text);
}

static void expect_first(const struct pair *pair) {
    cls_check_finding finding = CLS_CHECK_FINDING_INIT;
    OK(cls_check_get_finding(0, &finding));
    assert_int_equal(finding.possible != 0, pair->possible);
    for (int i = 0; i < 3 && pair->says[i]; i++)
        if (!strstr(finding.text, pair->says[i]))
            fail_msg("\"%s\" is not said by: %s", pair->says[i], finding.text);
}

static void test_pair(void **state) {
    const struct pair *pair = *state;
    begin();
    pair->program(false);
    cls_check_counts racy = found();
    expect_first(pair);
    assert_int_equal(pair->possible ? racy.races : racy.possible, 0);
    end();
    begin();
    pair->program(true);
    cls_check_counts clean = found();
    say_all();
    assert_int_equal(clean.races + clean.possible, 0);
    end();
}

/* A wait that comes to nothing leaves what is behind it undone, and the stream followed after its reset. */
static void test_what_fails_behind_an_early_wait_is_let_go(void **state) {
    (void)state;
    begin();
    wait_early(w.b, early, 1);
    read_x(w.b);
    edge(w.b, w.c);
    fill(w.y, 0, 4, w.c);
    OK(cls_timeline_destroy(early));
    assert_int_not_equal(cls_stream_synchronize(w.b), CLS_SUCCESS);
    assert_int_not_equal(cls_stream_synchronize(w.c), CLS_SUCCESS);
    OK(cls_stream_reset(w.b));
    OK(cls_stream_reset(w.c));
    write_x(w.a);
    fill(w.y, 0, 4, w.a);
    assert_int_equal(found().races, 0);
    read_x(w.b);
    assert_int_equal(found().races, 1);
    OK(cls_timeline_create(NULL, &early));
    end();
}

/* A timeline that starts at a value has nothing to be waited for. */
static void test_a_timeline_may_start_at_the_value(void **state) {
    const cls_timeline_config config = {sizeof config, NULL, 7, NULL};
    cls_timeline line = NULL;
    (void)state;
    begin();
    OK(cls_timeline_create(&config, &line));
    OK(cls_stream_wait_timeline(w.b, line, 7));
    read_x(w.b);
    write_x(w.a);
    assert_int_equal(found().races, 1);
    OK(cls_timeline_destroy(line));
    end();
}

/* More than one pass of the checker's lists: each stream waits for the next one, and the last for the host. */
static void test_a_ladder_of_early_waits_is_followed(void **state) {
    enum { RUNGS = 40 };
    cls_timeline line = NULL;
    (void)state;
    begin();
    OK(cls_timeline_create(NULL, &line));
    for (uint64_t i = 0; i < RUNGS; i++) {
        cls_stream stream = i % 2 ? w.a : w.b;
        OK(cls_stream_wait_timeline(stream, line, 2 * i + 1));
        fill(w.x, 0, 4, stream);
        OK(cls_stream_signal_timeline(stream, line, 2 * i + 2));
        OK(cls_stream_wait_timeline(w.c, line, 2 * i + 2));
        OK(cls_stream_signal_timeline(w.c, line, 2 * i + 3));
    }
    assert_int_equal(found().races, 0);
    OK(cls_timeline_signal(line, 1));
    OK(cls_timeline_wait(line, 2 * RUNGS + 1, UINT64_MAX));
    assert_int_equal(found().races, 0);
    fill(w.x, 0, 4, w.a);
    fill(w.x, 0, 4, w.b);
    assert_int_equal(found().races, 1);
    OK(cls_timeline_destroy(line));
    end();
}

static void test_what_was_done_before_does_not_hide_a_race(void **state) {
    (void)state;
    begin();
    write_x(w.a);
    while (true) {
        cls_stream_counters counters = CLS_STREAM_COUNTERS_INIT;
        OK(cls_stream_get_counters(w.a, &counters));
        if (counters.completed == counters.submitted)
            break;
        nap_ms(1);
    }
    read_x(w.b);
    assert_int_equal(found().races, 1);
    end();
}

static void test_many_bytes_of_two_commands_are_one_finding(void **state) {
    const cls_rect rect = {4, 8, 0, 16, 0, 16};
    (void)state;
    begin();
    OK(cls_copy_rect_h2d_async(w.x, w.words, &rect, w.a));
    OK(cls_copy_rect_h2d_async(w.x, w.words, &rect, w.b));
    assert_int_equal(found().races, 1);
    end();
}

static void test_refused_commands_leave_no_access(void **state) {
    (void)state;
    begin();
    OK(rig_fail(w.a, "made to fail", -5));
    assert_int_not_equal(cls_stream_synchronize(w.a), CLS_SUCCESS);
    assert_int_not_equal(cls_copy_h2d_async(w.x, 0, w.words, BYTES, w.a), CLS_SUCCESS);
    read_x(w.b);
    assert_int_equal(found().races, 0);
    OK(cls_stream_reset(w.a));
    end();
}

static void test_findings_are_kept_and_cleared(void **state) {
    cls_check_finding finding = CLS_CHECK_FINDING_INIT;
    (void)state;
    begin();
    for (int i = 0; i < 300; i++)
        fill(w.x, 0, 4, i % 2 ? w.a : w.b);
    cls_check_counts counts = found();
    assert_int_equal(counts.commands, 300);
    assert_true(counts.races >= 299);
    OK(cls_check_get_finding(255, &finding));
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_check_get_finding(256, &finding));
    OK(cls_check_clear());
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_check_get_finding(0, &finding));
    assert_int_equal(found().races, 0);
    end();
}

static void test_bad_arguments_are_refused(void **state) {
    cls_check_counts counts = CLS_CHECK_COUNTS_INIT;
    cls_check_finding finding = CLS_CHECK_FINDING_INIT;
    const cls_launch shape = cls_launch_1d(1);
    cls_arg args[] = {cls_arg_reads(NULL, 0, 8), cls_arg_writes(NULL, 0, 8)};
    (void)state;
    begin();
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_check_host_access(NULL, 1, CLS_ACCESS_READ));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_check_host_access(w.words, 4, (cls_access)4));
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_check_host_access(w.words, SIZE_MAX, CLS_ACCESS_READ));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_check_buffer_access(NULL, 0, 4, CLS_ACCESS_READ));
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_check_buffer_access(w.x, 4, BYTES, CLS_ACCESS_READ));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_check_buffer_access(w.x, 0, 4, (cls_access)-1));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_check_get_counts(NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_check_get_finding(0, NULL));
    counts.size = finding.size = 1;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_check_get_counts(&counts));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_check_get_finding(0, &finding));
    args[0] = cls_arg_reads(w.x, 0, BYTES);
    args[1] = cls_arg_writes(w.y, 1, BYTES);
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_kernel_launch_async(w.blur, &shape, args, 2, w.a));
    args[1] = cls_arg_declared(w.y, (cls_access)4, 0, 4);
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_kernel_launch_async(w.blur, &shape, args, 2, w.a));
    OK(cls_check_host_access(NULL, 0, CLS_ACCESS_READ));
    OK(cls_check_acquire(NULL));
    OK(cls_check_release(NULL));
    assert_int_equal(found().commands, 0);
    end();
}

static int set_up(void **state) {
    cls_program program;
    if (rig_setup(state) ||
        cls_program_from_source(rig.context, source, "race.cl", NULL, &program) ||
        cls_kernel_create(program, "blur", &w.blur))
        return -1;
    return cls_program_destroy(program) ? -1 : 0;
}

static int tear_down(void **state) { return cls_kernel_destroy(w.blur) ? -1 : rig_teardown(state); }

int main(void) {
    enum { PAIRS = sizeof pairs / sizeof *pairs };
    static const struct CMUnitTest others[] = {
        cmocka_unit_test(test_what_fails_behind_an_early_wait_is_let_go),
        cmocka_unit_test(test_a_timeline_may_start_at_the_value),
        cmocka_unit_test(test_a_ladder_of_early_waits_is_followed),
        cmocka_unit_test(test_what_was_done_before_does_not_hide_a_race),
        cmocka_unit_test(test_many_bytes_of_two_commands_are_one_finding),
        cmocka_unit_test(test_refused_commands_leave_no_access),
        cmocka_unit_test(test_findings_are_kept_and_cleared),
        cmocka_unit_test(test_bad_arguments_are_refused),
    };
    enum { OTHERS = sizeof others / sizeof *others };
    static struct CMUnitTest tests[PAIRS + OTHERS];
    for (size_t i = 0; i < PAIRS; i++)
        tests[i] =
            (struct CMUnitTest){pairs[i].name, test_pair, NULL, NULL, (void *)(uintptr_t)&pairs[i]};
    memcpy(&tests[PAIRS], others, sizeof others);
    setenv("CLSTREAM_CHECK", "race", 1);
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
