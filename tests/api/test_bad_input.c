/* SPDX-License-Identifier: MIT */
/*
 * Bad input gets a documented status, leaves outputs as they were and never reaches a driver: handles
 * that are null, garbage, stale, of another type or of another context; sizes that overflow; ranges
 * that overlap; arguments out of range.
 */
#include "../support/rig.h"

#include <stdlib.h>
#include <string.h>

/* Live objects of the rig's context, and one of another's. */
static struct stock {
    cls_stream stream, other_stream;
    cls_event event, other_event;
    cls_buffer a, b, other_buffer;
    cls_program program;
    cls_context other;
    void *pinned;
} stock;

enum { BYTES = 1024 };

static const char source[] =
    "kernel void mixed(global uint *out, uint value, local uint *scratch, ulong wide) {\n"
    "    scratch[get_local_id(0)] = value;\n"
    "    out[get_global_id(0)] = scratch[get_local_id(0)] + (uint)wide;\n"
    "}\n";

static int stock_setup(void **state) {
    if (rig_setup(state) || cls_context_create(NULL, &stock.other))
        return -1;
    return cls_stream_create(rig.context, NULL, &stock.stream) ||
           cls_stream_create(stock.other, NULL, &stock.other_stream) ||
           cls_event_create(rig.context, NULL, &stock.event) ||
           cls_event_create(stock.other, NULL, &stock.other_event) ||
           cls_buffer_create(rig.context, BYTES, &stock.a) ||
           cls_buffer_create(rig.context, BYTES, &stock.b) ||
           cls_buffer_create(stock.other, BYTES, &stock.other_buffer) ||
           cls_program_from_source(rig.context, source, NULL, NULL, &stock.program) ||
           cls_host_alloc(rig.context, BYTES, &stock.pinned);
}

static int stock_teardown(void **state) {
    return cls_host_free(stock.pinned) || cls_program_destroy(stock.program) ||
           cls_buffer_destroy(stock.a) || cls_buffer_destroy(stock.b) ||
           cls_buffer_destroy(stock.other_buffer) || cls_event_destroy(stock.event) ||
           cls_event_destroy(stock.other_event) || cls_stream_destroy(stock.stream) ||
           cls_stream_destroy(stock.other_stream) || cls_context_destroy(stock.other) ||
           rig_teardown(state);
}

/* --- handles that are none --- */

/* What a call with one handle argument looks like; the rest of its arguments are good. */
struct handle_call {
    const char *name;
    cls_status (*call)(void *handle);
    bool null_is_default;
};

static void nothing(void *arg) { (void)arg; }
static void nothing_back(cls_stream stream, cls_status status, void *arg) {
    (void)stream;
    (void)status;
    (void)arg;
}
static cl_int nothing_foreign(cl_command_queue queue, void *arg) {
    (void)queue;
    (void)arg;
    return CL_SUCCESS;
}

/* Outputs that must stay as they are. */
static struct outputs {
    void *handle;
    size_t size;
    double time;
    cls_stream_info info;
    cls_stream_counters counters;
    uint32_t word;
    cl_context context;
    cl_device_id device;
    cl_mem memory;
    cl_event event;
} out, untouched;

static void outputs_fill(void) {
    memset(&untouched, 0x5a, sizeof untouched);
    untouched.info.size = sizeof untouched.info;
    untouched.counters.size = sizeof untouched.counters;
    out = untouched;
}

static bool outputs_untouched(void) { return !memcmp(&out, &untouched, sizeof out); }

static const cls_launch one = {1, {1, 1, 1}, {0, 0, 0}};
static const cls_rect tiny = {4, 1, 0, 4, 0, 4};

static cls_status launch_on(cls_kernel kernel, cls_buffer buffer, cls_stream stream) {
    cls_arg args[5] = {cls_arg_buffer(buffer), cls_arg_u32(0), cls_arg_u32(1), cls_arg_u32(1),
                       cls_arg_u32(1)};
    return cls_kernel_launch_async(kernel, &one, args, 5, stream);
}

/* contexts */
static cls_status c_destroy(void *h) { return cls_context_destroy(h); }
static cls_status c_default_stream(void *h) {
    return cls_context_default_stream(h, (cls_stream *)&out.handle);
}
static cls_status c_device(void *h) { return cls_context_get_device(h, &out.size); }
static cls_status c_sync(void *h) { return cls_context_synchronize(h); }
static cls_status c_get_cl(void *h) { return cls_context_get_cl(h, &out.context, &out.device); }
static cls_status c_stream(void *h) {
    return cls_stream_create(h, NULL, (cls_stream *)&out.handle);
}
static cls_status c_event(void *h) { return cls_event_create(h, NULL, (cls_event *)&out.handle); }
static cls_status c_buffer(void *h) { return cls_buffer_create(h, 64, (cls_buffer *)&out.handle); }
static cls_status c_from_host(void *h) {
    return cls_buffer_from_host(h, "1234", 4, (cls_buffer *)&out.handle);
}
static cls_status c_host_alloc(void *h) { return cls_host_alloc(h, 64, &out.handle); }
static cls_status c_program(void *h) {
    return cls_program_from_source(h, source, NULL, NULL, (cls_program *)&out.handle);
}
static cls_status c_unregister(void *h) { return cls_kernel_unregister(h, "no such name"); }

static const struct handle_call context_calls[] = {
    {"cls_context_destroy", c_destroy, false},
    {"cls_context_default_stream", c_default_stream, true},
    {"cls_context_get_device", c_device, true},
    {"cls_context_synchronize", c_sync, true},
    {"cls_context_get_cl", c_get_cl, true},
    {"cls_stream_create", c_stream, true},
    {"cls_event_create", c_event, true},
    {"cls_buffer_create", c_buffer, true},
    {"cls_buffer_from_host", c_from_host, true},
    {"cls_host_alloc", c_host_alloc, true},
    {"cls_program_from_source", c_program, true},
    {"cls_kernel_unregister", c_unregister, true},
};

/* streams */
static cls_status s_destroy(void *h) { return cls_stream_destroy(h); }
static cls_status s_query(void *h) { return cls_stream_query(h); }
static cls_status s_sync(void *h) { return cls_stream_synchronize(h); }
static cls_status s_wait(void *h) { return cls_stream_wait(h, 1000); }
static cls_status s_reset(void *h) { return cls_stream_reset(h); }
static cls_status s_wait_event(void *h) { return cls_stream_wait_event(h, stock.event); }
static cls_status s_host(void *h) { return cls_stream_launch_host_async(h, nothing, NULL); }
static cls_status s_callback(void *h) { return cls_stream_add_callback(h, nothing_back, NULL); }
static cls_status s_info(void *h) { return cls_stream_get_info(h, &out.info); }
static cls_status s_counters(void *h) { return cls_stream_get_counters(h, &out.counters); }
static cls_status s_foreign(void *h) {
    return cls_stream_foreign_async(h, NULL, nothing_foreign, NULL);
}
static cls_status s_record(void *h) { return cls_event_record(stock.event, h); }
static cls_status s_h2d(void *h) { return cls_copy_h2d(stock.a, 0, &untouched.word, 4, h); }
static cls_status s_d2h(void *h) { return cls_copy_d2h_async(&out.word, stock.a, 0, 4, h); }
static cls_status s_d2d(void *h) { return cls_copy_d2d_async(stock.a, 0, stock.b, 0, 4, h); }
static cls_status s_rect_h2d(void *h) {
    return cls_copy_rect_h2d_async(stock.a, &untouched.word, &tiny, h);
}
static cls_status s_rect_d2h(void *h) {
    return cls_copy_rect_d2h_async(&out.word, stock.a, &tiny, h);
}
static cls_status s_rect_d2d(void *h) {
    return cls_copy_rect_d2d_async(stock.a, stock.b, &tiny, h);
}
static cls_status s_fill(void *h) { return cls_fill_async(stock.a, 0, 4, "1234", 4, h); }
static cls_status s_prefetch(void *h) { return cls_prefetch_async(stock.a, CLS_TO_DEVICE, h); }
static cls_status s_launch(void *h) { return launch_on(rig.step, stock.a, h); }

static const struct handle_call stream_calls[] = {
    {"cls_stream_destroy", s_destroy, false},
    {"cls_stream_query", s_query, true},
    {"cls_stream_synchronize", s_sync, true},
    {"cls_stream_wait", s_wait, true},
    {"cls_stream_reset", s_reset, true},
    {"cls_stream_wait_event", s_wait_event, true},
    {"cls_stream_launch_host_async", s_host, true},
    {"cls_stream_add_callback", s_callback, true},
    {"cls_stream_get_info", s_info, true},
    {"cls_stream_get_counters", s_counters, true},
    {"cls_stream_foreign_async", s_foreign, true},
    {"cls_event_record", s_record, true},
    {"cls_copy_h2d", s_h2d, true},
    {"cls_copy_d2h_async", s_d2h, true},
    {"cls_copy_d2d_async", s_d2d, true},
    {"cls_copy_rect_h2d_async", s_rect_h2d, true},
    {"cls_copy_rect_d2h_async", s_rect_d2h, true},
    {"cls_copy_rect_d2d_async", s_rect_d2d, true},
    {"cls_fill_async", s_fill, true},
    {"cls_prefetch_async", s_prefetch, true},
    {"cls_kernel_launch_async", s_launch, true},
};

/* events */
static cls_status e_destroy(void *h) { return cls_event_destroy(h); }
static cls_status e_record(void *h) { return cls_event_record(h, stock.stream); }
static cls_status e_query(void *h) { return cls_event_query(h); }
static cls_status e_sync(void *h) { return cls_event_synchronize(h); }
static cls_status e_wait(void *h) { return cls_event_wait(h, 1000); }
static cls_status e_elapsed_from(void *h) { return cls_event_elapsed(h, stock.event, &out.time); }
static cls_status e_elapsed_to(void *h) { return cls_event_elapsed(stock.event, h, &out.time); }
static cls_status e_stream_wait(void *h) { return cls_stream_wait_event(stock.stream, h); }
static cls_status e_get_cl(void *h) { return cls_event_get_cl(h, &out.event); }
static cls_status e_wait_cl(void *h) { return cls_event_wait_cl(h, 1000, &out.event); }

static const struct handle_call event_calls[] = {
    {"cls_event_destroy", e_destroy, false},
    {"cls_event_record", e_record, false},
    {"cls_event_query", e_query, false},
    {"cls_event_synchronize", e_sync, false},
    {"cls_event_wait", e_wait, false},
    {"cls_event_elapsed, start", e_elapsed_from, false},
    {"cls_event_elapsed, end", e_elapsed_to, false},
    {"cls_stream_wait_event", e_stream_wait, false},
    {"cls_event_get_cl", e_get_cl, false},
    {"cls_event_wait_cl", e_wait_cl, false},
};

/* buffers */
static cls_status b_destroy(void *h) { return cls_buffer_destroy(h); }
static cls_status b_size(void *h) { return cls_buffer_get_size(h, &out.size); }
static cls_status b_to_host(void *h) { return cls_buffer_to_host(h, &out.word, 4); }
static cls_status b_h2d(void *h) {
    return cls_copy_h2d_async(h, 0, &untouched.word, 4, stock.stream);
}
static cls_status b_d2h(void *h) { return cls_copy_d2h(&out.word, h, 0, 4, stock.stream); }
static cls_status b_d2d_to(void *h) {
    return cls_copy_d2d_async(h, 0, stock.b, 0, 4, stock.stream);
}
static cls_status b_d2d_from(void *h) {
    return cls_copy_d2d_async(stock.a, 0, h, 0, 4, stock.stream);
}
static cls_status b_rect_h2d(void *h) {
    return cls_copy_rect_h2d_async(h, &untouched.word, &tiny, stock.stream);
}
static cls_status b_rect_d2h(void *h) {
    return cls_copy_rect_d2h_async(&out.word, h, &tiny, stock.stream);
}
static cls_status b_rect_to(void *h) {
    return cls_copy_rect_d2d_async(h, stock.b, &tiny, stock.stream);
}
static cls_status b_rect_from(void *h) {
    return cls_copy_rect_d2d_async(stock.a, h, &tiny, stock.stream);
}
static cls_status b_fill(void *h) { return cls_fill_async(h, 0, 4, "1234", 4, stock.stream); }
static cls_status b_prefetch(void *h) { return cls_prefetch_async(h, CLS_TO_HOST, stock.stream); }
static cls_status b_get_cl(void *h) { return cls_buffer_get_cl(h, &out.memory); }
static cls_status b_launch(void *h) { return launch_on(rig.step, h, stock.stream); }

static const struct handle_call buffer_calls[] = {
    {"cls_buffer_destroy", b_destroy, false},
    {"cls_buffer_get_size", b_size, false},
    {"cls_buffer_to_host", b_to_host, false},
    {"cls_copy_h2d_async", b_h2d, false},
    {"cls_copy_d2h", b_d2h, false},
    {"cls_copy_d2d_async, dst", b_d2d_to, false},
    {"cls_copy_d2d_async, src", b_d2d_from, false},
    {"cls_copy_rect_h2d_async", b_rect_h2d, false},
    {"cls_copy_rect_d2h_async", b_rect_d2h, false},
    {"cls_copy_rect_d2d_async, dst", b_rect_to, false},
    {"cls_copy_rect_d2d_async, src", b_rect_from, false},
    {"cls_fill_async", b_fill, false},
    {"cls_prefetch_async", b_prefetch, false},
    {"cls_buffer_get_cl", b_get_cl, false},
    {"cls_kernel_launch_async", b_launch, true}, /* a null buffer is a null pointer */
};

/* programs and kernels */
static cls_status p_destroy(void *h) { return cls_program_destroy(h); }
static cls_status p_kernel(void *h) {
    return cls_kernel_create(h, "mixed", (cls_kernel *)&out.handle);
}
static cls_status k_destroy(void *h) { return cls_kernel_destroy(h); }
static cls_status k_launch(void *h) { return launch_on(h, stock.a, stock.stream); }
static cls_status k_register(void *h) { return cls_kernel_register(h, "a name"); }

static const struct handle_call program_calls[] = {
    {"cls_program_destroy", p_destroy, false},
    {"cls_kernel_create", p_kernel, false},
};
static const struct handle_call kernel_calls[] = {
    {"cls_kernel_destroy", k_destroy, false},
    {"cls_kernel_launch_async", k_launch, false},
    {"cls_kernel_register", k_register, false},
};

static void expect_refused(const struct handle_call *call, void *handle, const char *what) {
    outputs_fill();
    cls_clear_last_error();
    cls_status status = call->call(handle);
    if (status != CLS_ERROR_INVALID_HANDLE)
        fail_msg("%s with %s is %s", call->name, what, cls_status_string(status));
    if (!outputs_untouched())
        fail_msg("%s with %s wrote to an output", call->name, what);
    if (!*cls_last_error_detail())
        fail_msg("%s with %s gave no detail", call->name, what);
}

/* Every call with every bad handle; `stale` is a destroyed one of the right type. */
static void refuse_all(const struct handle_call *calls, size_t n, void *stale, void *mine) {
    int local = 0;
    void *const live[] = {rig.context, stock.stream, stock.event, stock.a, stock.program, rig.step};
    void *const garbage[] = {(void *)1,
                             (void *)8,
                             (void *)0x1234,
                             (void *)UINTPTR_MAX,
                             (void *)INTPTR_MIN,
                             &local,
                             (void *)((uintptr_t)mine ^ 1),
                             (void *)((uintptr_t)mine + (1u << 20)),
                             (void *)((uintptr_t)mine + ((uintptr_t)1 << 40))};
    for (size_t i = 0; i < n; i++) {
        if (!calls[i].null_is_default)
            expect_refused(&calls[i], NULL, "a null handle");
        expect_refused(&calls[i], stale, "a stale handle");
        for (size_t k = 0; k < sizeof live / sizeof *live; k++)
            if (live[k] != mine)
                expect_refused(&calls[i], live[k], "a handle of another type");
        for (size_t k = 0; k < sizeof garbage / sizeof *garbage; k++)
            expect_refused(&calls[i], garbage[k], "garbage");
    }
}

#define REFUSE_ALL(calls, stale, mine) \
    refuse_all(calls, sizeof(calls) / sizeof *(calls), stale, mine)

static void test_bad_contexts_are_refused(void **state) {
    (void)state;
    cls_context stale;
    OK(cls_context_create(NULL, &stale));
    OK(cls_context_destroy(stale));
    REFUSE_ALL(context_calls, stale, rig.context);
}

static void test_bad_streams_are_refused(void **state) {
    (void)state;
    cls_stream stale = rig_stream();
    OK(cls_stream_destroy(stale));
    REFUSE_ALL(stream_calls, stale, stock.stream);
}

static void test_bad_events_are_refused(void **state) {
    (void)state;
    cls_event stale = rig_event();
    OK(cls_event_destroy(stale));
    REFUSE_ALL(event_calls, stale, stock.event);
}

static void test_bad_buffers_are_refused(void **state) {
    (void)state;
    cls_buffer stale = rig_cells(1);
    OK(cls_buffer_destroy(stale));
    REFUSE_ALL(buffer_calls, stale, stock.a);
}

static void test_bad_programs_and_kernels_are_refused(void **state) {
    (void)state;
    cls_program program;
    cls_kernel kernel;
    OK(cls_program_from_source(rig.context, source, NULL, NULL, &program));
    OK(cls_kernel_create(program, "mixed", &kernel));
    OK(cls_program_destroy(program));
    OK(cls_kernel_destroy(kernel));
    REFUSE_ALL(program_calls, program, stock.program);
    REFUSE_ALL(kernel_calls, kernel, rig.step);
}

/* --- objects of another context --- */

static void test_objects_of_another_context_are_refused(void **state) {
    (void)state;
    struct outputs *o = &out;
    outputs_fill();
    EXPECT(CLS_ERROR_WRONG_CONTEXT, cls_event_record(stock.other_event, stock.stream));
    EXPECT(CLS_ERROR_WRONG_CONTEXT, s_h2d(stock.other_stream));
    EXPECT(CLS_ERROR_WRONG_CONTEXT, s_d2h(stock.other_stream));
    EXPECT(CLS_ERROR_WRONG_CONTEXT, s_d2d(stock.other_stream));
    EXPECT(CLS_ERROR_WRONG_CONTEXT, s_rect_h2d(stock.other_stream));
    EXPECT(CLS_ERROR_WRONG_CONTEXT, s_rect_d2h(stock.other_stream));
    EXPECT(CLS_ERROR_WRONG_CONTEXT, s_rect_d2d(stock.other_stream));
    EXPECT(CLS_ERROR_WRONG_CONTEXT, s_fill(stock.other_stream));
    EXPECT(CLS_ERROR_WRONG_CONTEXT, s_prefetch(stock.other_stream));
    EXPECT(CLS_ERROR_WRONG_CONTEXT, s_launch(stock.other_stream));
    EXPECT(CLS_ERROR_WRONG_CONTEXT, b_launch(stock.other_buffer));
    EXPECT(CLS_ERROR_WRONG_CONTEXT, b_d2d_to(stock.other_buffer));
    EXPECT(CLS_ERROR_WRONG_CONTEXT, b_d2d_from(stock.other_buffer));
    EXPECT(CLS_ERROR_WRONG_CONTEXT, b_rect_to(stock.other_buffer));
    EXPECT(CLS_ERROR_WRONG_CONTEXT, b_rect_from(stock.other_buffer));
    EXPECT(CLS_ERROR_WRONG_CONTEXT, cls_event_elapsed(stock.event, stock.other_event, &o->time));
    assert_true(outputs_untouched());
}

/* --- null outputs and arguments --- */

static void test_null_arguments_are_refused(void **state) {
    (void)state;
    uint32_t word = 0;
    cls_buffer made = (cls_buffer)&word;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_context_create(NULL, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_context_default(NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_context_default_stream(rig.context, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_context_get_device(rig.context, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_stream_create(rig.context, NULL, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_stream_launch_host_async(stock.stream, NULL, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_stream_add_callback(stock.stream, NULL, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_stream_foreign_async(stock.stream, "x", NULL, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_stream_get_info(stock.stream, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_stream_get_counters(stock.stream, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_stream_wait_cl(stock.stream, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_event_create(rig.context, NULL, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_event_elapsed(stock.event, stock.event, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_event_get_cl(stock.event, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_buffer_create(rig.context, 4, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_buffer_create(rig.context, 0, &made));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_buffer_from_host(rig.context, NULL, 4, &made));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_buffer_from_host(rig.context, &word, 0, &made));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_buffer_from_host(rig.context, &word, 4, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_buffer_get_size(stock.a, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_buffer_get_cl(stock.a, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_buffer_wrap(rig.context, NULL, &made));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_host_alloc(rig.context, 4, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_host_alloc(rig.context, 0, &stock.pinned));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_copy_h2d(stock.a, 0, NULL, 4, stock.stream));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_copy_d2h(NULL, stock.a, 0, 4, stock.stream));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_copy_rect_h2d(stock.a, NULL, &tiny, stock.stream));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_copy_rect_h2d(stock.a, &word, NULL, stock.stream));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_copy_rect_d2h(NULL, stock.a, &tiny, stock.stream));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_copy_rect_d2d(stock.a, stock.b, NULL, stock.stream));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_fill(stock.a, 0, 4, NULL, 4, stock.stream));
    EXPECT(CLS_ERROR_INVALID_VALUE,
           cls_program_from_source(rig.context, NULL, 0, 0, (void *)&made));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_program_from_source(rig.context, source, 0, 0, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_program_load(rig.context, NULL, NULL, (void *)&made));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_program_load(rig.context, "x.cl", NULL, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_kernel_create(stock.program, NULL, (void *)&made));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_kernel_create(stock.program, "mixed", NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_kernel_register(rig.step, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_kernel_unregister(rig.context, NULL));
    EXPECT(CLS_ERROR_NOT_FOUND, cls_kernel_unregister(rig.context, "no such name"));
    assert_ptr_equal(made, &word);
}

static void test_configs_are_checked(void **state) {
    (void)state;
    cls_context context = (cls_context)&out;
    cls_stream stream = (cls_stream)&out;
    cls_event event = (cls_event)&out;
    cls_context_config of_context = CLS_CONTEXT_CONFIG_INIT;
    cls_event_config of_event = CLS_EVENT_CONFIG_INIT;
    cls_stream_config of_stream = CLS_STREAM_CONFIG_INIT;
    of_context.size = 3;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_context_create(&of_context, &context));
    of_context.size = sizeof of_context;
    of_context.device = "a device that nobody has";
    EXPECT(CLS_ERROR_NO_DEVICE, cls_context_create(&of_context, &context));
    of_event.size = 0;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_event_create(rig.context, &of_event, &event));
    of_stream.size++;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_stream_create(rig.context, &of_stream, &stream));
    of_stream.size--;
    of_stream.order = (cls_order)77;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_stream_create(rig.context, &of_stream, &stream));
    of_stream.order = CLS_ORDER_AUTO;
    of_stream.wait = (cls_wait_policy)77;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_stream_create(rig.context, &of_stream, &stream));
    assert_true((void *)context == &out && (void *)stream == &out && (void *)event == &out);
}

static void test_info_structs_of_a_wrong_size_are_refused(void **state) {
    (void)state;
    outputs_fill();
    out.info.size = untouched.info.size = 1;
    out.counters.size = untouched.counters.size = 0;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_stream_get_info(stock.stream, &out.info));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_stream_get_counters(stock.stream, &out.counters));
    assert_true(outputs_untouched());
}

/* --- ranges --- */

static void test_ranges_past_the_end_are_refused(void **state) {
    (void)state;
    static const struct {
        size_t offset, bytes;
    } bad[] = {
        {0, BYTES + 1},       {BYTES, 1},        {1, BYTES},
        {BYTES + 1, 0},       {SIZE_MAX, 1},     {1, SIZE_MAX},
        {SIZE_MAX, SIZE_MAX}, {SIZE_MAX - 3, 4}, {SIZE_MAX / 2 + 1, SIZE_MAX / 2 + 1},
        {0, SIZE_MAX},
    };
    char *memory = calloc(1, 2 * BYTES);
    assert_non_null(memory);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        size_t o = bad[i].offset, n = bad[i].bytes;
        EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_copy_h2d(stock.a, o, memory, n, stock.stream));
        EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_copy_h2d_async(stock.a, o, memory, n, stock.stream));
        EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_copy_d2h(memory, stock.a, o, n, stock.stream));
        EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_copy_d2h_async(memory, stock.a, o, n, stock.stream));
        EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_copy_d2d(stock.a, o, stock.b, 0, n, stock.stream));
        EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_copy_d2d(stock.a, 0, stock.b, o, n, stock.stream));
        EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_fill(stock.a, o, n, "1", 1, stock.stream));
    }
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_buffer_to_host(stock.a, memory, BYTES + 1));
    for (size_t i = 0; i < 2 * BYTES; i++)
        assert_int_equal(memory[i], 0);
    free(memory);
}

static void test_rectangles_past_the_end_are_refused(void **state) {
    (void)state;
    static const struct {
        cls_rect rect;
        cls_status status;
    } bad[] = {
        {{32, 33, 0, 32, 0, 32}, CLS_ERROR_OUT_OF_RANGE},
        {{32, 2, BYTES - 63, 32, 0, 32}, CLS_ERROR_OUT_OF_RANGE},
        {{32, 2, 0, 32, BYTES - 63, 32}, CLS_ERROR_OUT_OF_RANGE},
        {{32, 3, 0, 500, 0, 32}, CLS_ERROR_OUT_OF_RANGE},
        {{4, 2, 0, SIZE_MAX, 0, 4}, CLS_ERROR_OUT_OF_RANGE},
        {{4, SIZE_MAX, 0, 4, 0, 4}, CLS_ERROR_OUT_OF_RANGE},
        {{4, SIZE_MAX / 4 + 2, 0, 4, 0, 4}, CLS_ERROR_OUT_OF_RANGE},
        {{4, 1, SIZE_MAX, 4, 0, 4}, CLS_ERROR_OUT_OF_RANGE},
        {{8, 2, 0, 7, 0, 8}, CLS_ERROR_INVALID_VALUE},
        {{8, 2, 0, 8, 0, 7}, CLS_ERROR_INVALID_VALUE},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        EXPECT(bad[i].status,
               cls_copy_rect_d2d_async(stock.a, stock.b, &bad[i].rect, stock.stream));
}

static void test_overlap_in_one_buffer_is_refused(void **state) {
    (void)state;
    EXPECT(CLS_ERROR_OVERLAP, cls_copy_d2d(stock.a, 0, stock.a, 0, 4, stock.stream));
    EXPECT(CLS_ERROR_OVERLAP, cls_copy_d2d(stock.a, 3, stock.a, 0, 4, stock.stream));
    EXPECT(CLS_ERROR_OVERLAP, cls_copy_d2d(stock.a, 0, stock.a, 3, 4, stock.stream));
    OK(cls_copy_d2d(stock.a, 4, stock.a, 0, 4, stock.stream));
    OK(cls_copy_d2d(stock.a, 0, stock.a, 4, 4, stock.stream));
    OK(cls_copy_d2d(stock.a, 4, stock.a, 4, 0, stock.stream));
    cls_rect rect = {8, 4, 4, 64, 0, 64};
    EXPECT(CLS_ERROR_OVERLAP, cls_copy_rect_d2d(stock.a, stock.a, &rect, stock.stream));
    cls_buffer alias;
    cl_mem memory;
    OK(cls_buffer_get_cl(stock.a, &memory));
    OK(cls_buffer_wrap(rig.context, memory, &alias)); /* the same memory under another handle */
    EXPECT(CLS_ERROR_OVERLAP, cls_copy_d2d(alias, 0, stock.a, 2, 4, stock.stream));
    OK(cls_buffer_destroy(alias));
}

static void test_fill_patterns_are_checked(void **state) {
    (void)state;
    static const size_t bad_sizes[] = {0, 3, 5, 6, 7, 9, 12, 15, 17, 32, 128, SIZE_MAX};
    unsigned char pattern[128] = {0};
    for (size_t i = 0; i < sizeof bad_sizes / sizeof *bad_sizes; i++)
        EXPECT(CLS_ERROR_INVALID_VALUE,
               cls_fill(stock.a, 0, 0x3c0, pattern, bad_sizes[i], stock.stream));
    for (size_t size = 2; size <= 16; size *= 2) {
        EXPECT(CLS_ERROR_INVALID_VALUE,
               cls_fill(stock.a, size / 2, 2 * size, pattern, size, stock.stream));
        EXPECT(CLS_ERROR_INVALID_VALUE,
               cls_fill(stock.a, size, 2 * size - 1, pattern, size, stock.stream));
    }
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_prefetch(stock.a, (cls_location)9, stock.stream));
}

static void test_sizes_beyond_the_device_are_refused(void **state) {
    (void)state;
    cls_buffer made = (cls_buffer)&out;
    cls_device_info info = CLS_DEVICE_INFO_INIT;
    size_t device;
    void *memory = &out;
    OK(cls_context_get_device(rig.context, &device));
    OK(cls_device_get_info(device, &info));
    EXPECT(CLS_ERROR_OUT_OF_DEVICE_MEMORY, cls_buffer_create(rig.context, SIZE_MAX, &made));
    EXPECT(CLS_ERROR_OUT_OF_DEVICE_MEMORY,
           cls_buffer_create(rig.context, (size_t)info.max_allocation + 1, &made));
    cls_status status = cls_host_alloc(rig.context, SIZE_MAX, &memory);
    assert_true(status == CLS_ERROR_OUT_OF_DEVICE_MEMORY || status == CLS_ERROR_OUT_OF_MEMORY);
    assert_ptr_equal(made, &out);
    assert_ptr_equal(memory, &out);
}

static void test_memory_that_is_not_ours_is_not_freed(void **state) {
    (void)state;
    int local = 0;
    void *heap = malloc(16);
    void *gone;
    OK(cls_host_free(NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_host_free(&local));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_host_free(heap));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_host_free((char *)stock.pinned + 1));
    OK(cls_host_alloc(rig.context, 64, &gone));
    OK(cls_host_free(gone));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_host_free(gone));
    free(heap);
}

/* --- statuses and names --- */

static void test_helpers_take_anything(void **state) {
    (void)state;
    cls_dtype dtype = CLS_U8;
    assert_int_equal(cls_dtype_size((cls_dtype)0), 0);
    assert_int_equal(cls_dtype_size((cls_dtype)-1), 0);
    assert_string_equal(cls_dtype_name((cls_dtype)1000), "?");
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_dtype_parse(NULL, &dtype));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_dtype_parse("f32", NULL));
    EXPECT(CLS_ERROR_NOT_FOUND, cls_dtype_parse("f33", &dtype));
    EXPECT(CLS_ERROR_NOT_FOUND, cls_dtype_parse("", &dtype));
    assert_int_equal(dtype, CLS_U8);
    assert_string_equal(cls_status_string((cls_status)12345), "CLS_UNKNOWN_STATUS");
    cls_clear_last_error();
    assert_string_equal(cls_last_error_detail(), "");
    assert_int_equal(cls_last_error_code(), 0);
}

/* All of the above left the streams as they were. */
static void test_nothing_of_it_reached_the_streams(void **state) {
    (void)state;
    OK(cls_stream_query(stock.stream));
    OK(cls_stream_query(stock.other_stream));
    OK(cls_context_synchronize(rig.context));
    OK(cls_context_synchronize(stock.other));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_contexts_are_refused),
        cmocka_unit_test(test_bad_streams_are_refused),
        cmocka_unit_test(test_bad_events_are_refused),
        cmocka_unit_test(test_bad_buffers_are_refused),
        cmocka_unit_test(test_bad_programs_and_kernels_are_refused),
        cmocka_unit_test(test_objects_of_another_context_are_refused),
        cmocka_unit_test(test_null_arguments_are_refused),
        cmocka_unit_test(test_configs_are_checked),
        cmocka_unit_test(test_info_structs_of_a_wrong_size_are_refused),
        cmocka_unit_test(test_ranges_past_the_end_are_refused),
        cmocka_unit_test(test_rectangles_past_the_end_are_refused),
        cmocka_unit_test(test_overlap_in_one_buffer_is_refused),
        cmocka_unit_test(test_fill_patterns_are_checked),
        cmocka_unit_test(test_sizes_beyond_the_device_are_refused),
        cmocka_unit_test(test_memory_that_is_not_ours_is_not_freed),
        cmocka_unit_test(test_helpers_take_anything),
        cmocka_unit_test(test_nothing_of_it_reached_the_streams),
    };
    return cmocka_run_group_tests(tests, stock_setup, stock_teardown);
}
