/* SPDX-License-Identifier: MIT */
/* How CLBlast is called: on which thread, what a call that takes long holds back, and what becomes of a
 * call that fails. CLBlast's product is wrapped by the linker. */
#include "../support/test.h"

#include <stdbool.h>

#include "config.h"

#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <time.h>

#include <clstream.h>

#include "../support/patience.h"
#include "stream/context.h"

#ifdef HAVE_CLBLAST

#include <clblast_c.h>

enum { N = 16, WATCHDOG_S = 280 };

static struct {
    _Atomic int calls, clearings;
    pthread_t thread; /* of the last call */
    bool slow;        /* a call waits for `go` */
    sem_t entered, go;
    CLBlastStatusCode code; /* to fail with */
} spy;

__typeof__(CLBlastSgemmWithTempBuffer) __real_CLBlastSgemmWithTempBuffer;
__typeof__(CLBlastSgemmWithTempBuffer) __wrap_CLBlastSgemmWithTempBuffer;

CLBlastStatusCode __wrap_CLBlastSgemmWithTempBuffer(
    const CLBlastLayout layout, const CLBlastTranspose ta, const CLBlastTranspose tb,
    const size_t m, const size_t n, const size_t k, const float alpha, const cl_mem a,
    const size_t a_offset, const size_t a_ld, const cl_mem b, const size_t b_offset,
    const size_t b_ld, const float beta, cl_mem c, const size_t c_offset, const size_t c_ld,
    cl_command_queue *queue, cl_event *event, cl_mem temporary) {
    spy.calls++;
    spy.thread = pthread_self();
    if (spy.slow) {
        sem_post(&spy.entered);
        sem_wait(&spy.go);
    }
    if (spy.code)
        return spy.code;
    return __real_CLBlastSgemmWithTempBuffer(layout, ta, tb, m, n, k, alpha, a, a_offset, a_ld, b,
                                             b_offset, b_ld, beta, c, c_offset, c_ld, queue, event,
                                             temporary);
}

CLBlastStatusCode __real_CLBlastClearCache(void);
CLBlastStatusCode __wrap_CLBlastClearCache(void);

CLBlastStatusCode __wrap_CLBlastClearCache(void) {
    const CLBlastStatusCode code = __real_CLBlastClearCache();
    spy.clearings++;
    return code;
}

/* Destroys a context, and waits for its end. */
static void end(cls_context context) {
    const struct timespec moment = {0, 1000 * 1000};
    const long before = atomic_load(&context_pool.live);
    OK(cls_context_destroy(context));
    while (atomic_load(&context_pool.live) >= before)
        nanosleep(&moment, NULL);
}

/* --- one context with what a product needs --- */

struct rig {
    cls_context context;
    cls_stream in_order, other;
    cls_buffer a, c;
};

static int setup(void **state) {
    static struct rig rig;
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    const float one = 1;
    memset(&spy, 0, sizeof spy);
    sem_init(&spy.entered, 0, 0);
    sem_init(&spy.go, 0, 0);
    watchdog(WATCHDOG_S);
    config.order = CLS_ORDER_IN_ORDER;
    OK(cls_context_create(NULL, &rig.context));
    OK(cls_stream_create(rig.context, &config, &rig.in_order));
    OK(cls_stream_create(rig.context, NULL, &rig.other));
    OK(cls_buffer_create(rig.context, N * N * sizeof(float), &rig.a));
    OK(cls_buffer_create(rig.context, N * N * sizeof(float), &rig.c));
    OK(cls_fill(rig.a, 0, N * N * sizeof one, &one, sizeof one, NULL));
    *state = &rig;
    return 0;
}

static int teardown(void **state) {
    struct rig *rig = *state;
    OK(cls_stream_destroy(rig->in_order));
    OK(cls_stream_destroy(rig->other));
    OK(cls_buffer_destroy(rig->a));
    OK(cls_buffer_destroy(rig->c));
    end(rig->context);
    return 0;
}

static cls_status product(const struct rig *rig, cls_stream stream) {
    return cls_gemm_async(cls_matrix_of(rig->a, CLS_F32, N, N),
                          cls_matrix_of(rig->a, CLS_F32, N, N),
                          cls_matrix_of(rig->c, CLS_F32, N, N), NULL, stream);
}

static void expect_c(const struct rig *rig, float value, cls_stream stream) {
    float c[N * N];
    OK(cls_copy_d2h(c, rig->c, 0, sizeof c, stream));
    for (int i = 0; i < N * N; i++)
        assert_true(c[i] == value);
}

/* --- */

static void a_call_that_takes_long_holds_nobody_back(void **state) {
    const struct rig *rig = *state;
    const float two = 2;
    spy.slow = true;
    OK(product(rig, rig->in_order));
    sem_wait(&spy.entered);
    OK(cls_fill_async(rig->a, 0, sizeof two, &two, sizeof two, rig->in_order));
    assert_int_equal(cls_stream_query(rig->in_order), CLS_NOT_READY);
    OK(cls_fill(rig->c, 0, N * N * sizeof two, &two, sizeof two, rig->other));
    expect_c(rig, two, rig->other);
    sem_post(&spy.go);
    OK(cls_stream_synchronize(rig->in_order));
    expect_c(rig, N, rig->in_order);
}

static void only_what_may_compile_needs_a_thread(void **state) {
    const struct rig *rig = *state;
    OK(product(rig, rig->in_order));
    OK(cls_stream_synchronize(rig->in_order));
    assert_int_equal(spy.calls, 1);
    assert_false(pthread_equal(spy.thread, pthread_self()));
    OK(product(rig, rig->in_order));
    assert_int_equal(spy.calls, 2);
    assert_true(pthread_equal(spy.thread, pthread_self()));
    expect_c(rig, N, rig->in_order);
}

static void warm_up_compiles(void **state) {
    const struct rig *rig = *state;
    OK(cls_blas_warmup(CLS_F32, 0, 0, 0, rig->in_order));
    const int before = spy.calls;
    OK(product(rig, rig->in_order));
    assert_int_equal(spy.calls, before + 1);
    assert_true(pthread_equal(spy.thread, pthread_self()));
}

/* Where the end of another context had CLBlast's kernels thrown away, they are compiled as if for the first time. */
static void another_contexts_end_takes_the_kernels_away(void **state) {
    const struct rig *rig = *state;
    for (int round = 0; round < 2; round++) {
        cls_context context;
        cls_buffer x;
        OK(product(rig, rig->in_order));
        OK(cls_stream_synchronize(rig->in_order));
        OK(product(rig, rig->in_order));
        assert_true(pthread_equal(spy.thread, pthread_self()));
        const int before = spy.clearings;
        OK(cls_context_create(NULL, &context));
        OK(cls_buffer_create(context, N * sizeof(float), &x));
        if (round)
            OK(cls_scal(2, cls_vector_of(x, CLS_F32, N), NULL));
        OK(cls_buffer_destroy(x));
        end(context);
        assert_int_equal(spy.clearings, before + round);
        OK(product(rig, rig->in_order));
        expect_c(rig, N, rig->in_order);
        assert_int_equal(pthread_equal(spy.thread, pthread_self()) != 0, !round);
    }
}

static const char slow_source[] =
    "kernel void slow(global float *x, float value, uint rounds) {\n"
    "    uint y = rounds | 1u;\n"
    "    for (uint i = 0; i < rounds; i++) { y ^= y << 13; y ^= y >> 17; y ^= y << 5; }\n"
    "    x[get_global_id(0)] = value + (y == 0);\n"
    "}\n";

/* On the way behind a wait that the driver is told of, for a kernel that takes its time. */
static void a_call_without_a_thread_waits_for_events(void **state) {
    const struct rig *rig = *state;
    const cls_launch shape = cls_launch_1d(N * N);
    const cls_arg args[] = {cls_arg_buffer(rig->a), cls_arg_f32(4), cls_arg_u32(60000)};
    cls_event event;
    cls_program program;
    cls_kernel slow;
    OK(cls_program_from_source(rig->context, slow_source, NULL, NULL, &program));
    OK(cls_kernel_create(program, "slow", &slow));
    OK(cls_blas_warmup(CLS_F32, 0, 0, 0, rig->in_order));
    OK(cls_event_create(rig->context, NULL, &event));
    OK(cls_kernel_launch_async(slow, &shape, args, 3, rig->other));
    OK(cls_event_record(event, rig->other));
    OK(cls_stream_wait_event(rig->in_order, event));
    OK(product(rig, rig->in_order));
    expect_c(rig, 16 * N, rig->in_order);
    OK(cls_event_destroy(event));
    OK(cls_kernel_destroy(slow));
    OK(cls_program_destroy(program));
}

static void a_failed_call_poisons_its_stream_by_name(void **state) {
    const struct rig *rig = *state;
    spy.code = CLBlastInvalidLocalMemUsage;
    OK(product(rig, rig->in_order));
    assert_int_equal(cls_stream_synchronize(rig->in_order), CLS_ERROR_COMMAND_FAILED);
    assert_non_null(strstr(cls_last_error_detail(), "gemm_f32"));
    assert_int_equal(cls_last_error_code(), CLBlastInvalidLocalMemUsage);
    assert_int_equal(product(rig, rig->in_order), CLS_ERROR_COMMAND_FAILED);
    assert_int_equal(spy.calls, 1);
    spy.code = CLBlastSuccess;
    OK(cls_stream_reset(rig->in_order));
    OK(product(rig, rig->in_order));
    expect_c(rig, N, rig->in_order);
    assert_false(pthread_equal(spy.thread, pthread_self()));
}

/* Also a call that would submit nothing, because of its factors. */
static void a_failed_stream_is_reported_whatever_the_factors(void **state) {
    const struct rig *rig = *state;
    const cls_vector x = cls_vector_of(rig->a, CLS_F32, N), y = cls_vector_of(rig->c, CLS_F32, N);
    const cls_vector none = cls_vector_of(rig->a, CLS_F32, 0);
    cls_gemm_config config = CLS_GEMM_CONFIG_INIT;
    float sum = 7;
    config.alpha = 0;
    config.beta = 1;
    spy.code = CLBlastInvalidLocalMemUsage;
    OK(product(rig, rig->in_order));
    assert_int_equal(cls_stream_synchronize(rig->in_order), CLS_ERROR_COMMAND_FAILED);
    assert_int_equal(cls_axpy_async(0, x, y, rig->in_order), CLS_ERROR_COMMAND_FAILED);
    assert_non_null(strstr(cls_last_error_detail(), "gemm_f32"));
    assert_int_equal(cls_gemv(cls_matrix_of(rig->a, CLS_F32, N, N), x, y, &config, rig->in_order),
                     CLS_ERROR_COMMAND_FAILED);
    assert_int_equal(cls_blas_dot(none, none, &sum, rig->in_order), CLS_ERROR_COMMAND_FAILED);
    assert_true(sum == 7);
    OK(cls_stream_reset(rig->in_order));
    OK(cls_axpy_async(0, x, y, rig->in_order));
}

static void a_call_refused_at_once_changes_nothing(void **state) {
    const struct rig *rig = *state;
    OK(cls_blas_warmup(CLS_F32, 0, 0, 0, rig->in_order));
    spy.code = CLBlastTempBufferAllocFailure;
    assert_int_equal(product(rig, rig->in_order), CLS_ERROR_OUT_OF_DEVICE_MEMORY);
    spy.code = CLBlastSuccess;
    OK(cls_stream_query(rig->in_order));
    OK(product(rig, rig->in_order));
    expect_c(rig, N, rig->in_order);
}

static void no_blocking_form_in_a_host_function(void *arg) {
    const struct rig *rig = arg;
    uint32_t index;
    const cls_vector x = cls_vector_of(rig->a, CLS_F32, N);
    spy.code = cls_amax(x, &index, rig->other) == CLS_ERROR_WOULD_DEADLOCK &&
                       cls_scal(1, x, rig->other) == CLS_ERROR_WOULD_DEADLOCK &&
                       cls_blas_warmup(CLS_F32, 0, 0, 0, rig->other) == CLS_ERROR_WOULD_DEADLOCK
                   ? CLBlastSuccess
                   : CLBlastUnexpectedError;
}

static void blocking_forms_refuse_in_host_functions(void **state) {
    struct rig *rig = *state;
    spy.code = CLBlastUnknownError;
    OK(cls_stream_launch_host_async(rig->in_order, no_blocking_form_in_a_host_function, rig));
    OK(cls_stream_synchronize(rig->in_order));
    assert_int_equal(spy.code, CLBlastSuccess);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_call_that_takes_long_holds_nobody_back),
        TEST(only_what_may_compile_needs_a_thread),
        TEST(warm_up_compiles),
        TEST(another_contexts_end_takes_the_kernels_away),
        TEST(a_call_without_a_thread_waits_for_events),
        TEST(a_failed_call_poisons_its_stream_by_name),
        TEST(a_failed_stream_is_reported_whatever_the_factors),
        TEST(a_call_refused_at_once_changes_nothing),
        TEST(blocking_forms_refuse_in_host_functions),
    };
    setenv("CLSTREAM_GEMM", "clblast", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else
#include "without_clblast.h"
#endif
