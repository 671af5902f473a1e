/* SPDX-License-Identifier: MIT */
/* CLSTREAM_CHECK=race: host memory, what the host has waited for, and code that runs there. */
#include "race_pairs.h"

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

/* Pinned memory is used by its address and as a buffer. */
static void pinned_memory_as_a_buffer(bool clean) {
    void *memory;
    cls_buffer same;
    OK(cls_host_alloc(rig.context, BYTES, &memory));
    if (cls_host_buffer(memory, &same) == CLS_ERROR_UNSUPPORTED)
        SKIP_BECAUSE("%s", cls_last_error_detail());
    OK(cls_prefetch(same, CLS_TO_DEVICE, w.a));
    fill(same, 0, 4, w.a);
    if (clean)
        edge(w.a, w.b);
    OK(cls_copy_h2d_async(w.x, 0, memory, BYTES, w.b));
    OK(cls_context_synchronize(rig.context));
    OK(cls_host_free(memory));
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

static const struct CMUnitTest tests[] = {
    PAIR("reused upload", reused_upload, false,
         {"the host writes 4 bytes of host memory",
          "synchronize with 'first', or with an event recorded on it after command 1"}),
    PAIR("early look", early_look, false, {"copy_d2h", "the host reads 4 bytes"}),
    PAIR("polled stream", polled_stream, false, {NULL}),
    PAIR("polled event", polled_event, false, {NULL}),
    PAIR("synchronized behind", synchronized_behind, false, {NULL}),
    PAIR("synchronized context", synchronized_context, false, {NULL}),
    PAIR("blocking copy", blocking_copy, false, {NULL}),
    PAIR("blocking copies use the host", blocking_copies_use_the_host, false,
         {"bytes of host memory"}),
    PAIR("reset stream", reset_stream, false, {NULL}),
    PAIR("prefetched", prefetched, false, {"command 1 of stream 'first' ('prefetch') reads"}),
    PAIR("submitted by a host function", submitted_by_a_host_function, false, {NULL}),
    PAIR("host function", host_function, false,
         {"command 1 of stream 'first' ('host function') writes"}),
    PAIR("late host function", late_host_function, false, {"copy_h2d", "host function"}),
    PAIR("told by a semaphore", told_by_a_semaphore, false, {"host function", "the host reads"}),
    PAIR("pinned memory as a buffer", pinned_memory_as_a_buffer, false, {"fill", "copy_h2d"}),
    PAIR("foreign code", foreign_code, false, {"fill by hand"}),
};

int main(void) { return cmocka_run_group_tests(tests, race_setup, race_teardown); }
