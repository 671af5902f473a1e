/* SPDX-License-Identifier: MIT */
#include "driver/blas.h"

#include "config.h"

#include <pthread.h>

#include "base/error.h"
#include "driver/blas_standing.h"
#include "driver/blas_trial.h"
#include "driver/serial.h"
#include "driver/status.h"

#ifdef HAVE_CLBLAST

#include <clblast_c.h>

static CLBlastTranspose transpose(bool yes) {
    return yes ? CLBlastTransposeYes : CLBlastTransposeNo;
}

static int gemm(const struct blas_call *x, cl_command_queue *queue, cl_event *event) {
    const CLBlastTranspose ta = transpose(x->a_transposed), tb = transpose(x->b_transposed);
    if (x->f64)
        return CLBlastDgemmWithTempBuffer(CLBlastLayoutRowMajor, ta, tb, x->m, x->n, x->k, x->alpha,
                                          x->a.memory, x->a.offset, x->a.step, x->b.memory,
                                          x->b.offset, x->b.step, x->beta, x->c.memory, x->c.offset,
                                          x->c.step, queue, event, x->temporary);
    return CLBlastSgemmWithTempBuffer(
        CLBlastLayoutRowMajor, ta, tb, x->m, x->n, x->k, (float)x->alpha, x->a.memory, x->a.offset,
        x->a.step, x->b.memory, x->b.offset, x->b.step, (float)x->beta, x->c.memory, x->c.offset,
        x->c.step, queue, event, x->temporary);
}

static int gemm_batched(const struct blas_call *x, cl_command_queue *queue, cl_event *event) {
    const CLBlastTranspose ta = transpose(x->a_transposed), tb = transpose(x->b_transposed);
    if (x->f64)
        return CLBlastDgemmStridedBatched(
            CLBlastLayoutRowMajor, ta, tb, x->m, x->n, x->k, x->alpha, x->a.memory, x->a.offset,
            x->a.step, x->a.stride, x->b.memory, x->b.offset, x->b.step, x->b.stride, x->beta,
            x->c.memory, x->c.offset, x->c.step, x->c.stride, x->batches, queue, event);
    return CLBlastSgemmStridedBatched(
        CLBlastLayoutRowMajor, ta, tb, x->m, x->n, x->k, (float)x->alpha, x->a.memory, x->a.offset,
        x->a.step, x->a.stride, x->b.memory, x->b.offset, x->b.step, x->b.stride, (float)x->beta,
        x->c.memory, x->c.offset, x->c.step, x->c.stride, x->batches, queue, event);
}

static size_t element_size(const struct blas_call *x) {
    return x->f64 ? sizeof(double) : sizeof(float);
}

static size_t gemv_length(const struct blas_call *x) { return x->a_transposed ? x->n : x->m; }

/* CLBlast 1.5 multiplies what y held by a beta of 0 too, and makes NaN of NaN and of infinities. */
static int clear_output(const struct blas_call *x, cl_command_queue *queue) {
    const double zero = 0;
    const size_t n = gemv_length(x), size = element_size(x);
    const bool dense = x->c.step == 1;
    const int code = clEnqueueFillBuffer(*queue, dense ? x->c.memory : x->temporary, &zero, size,
                                         dense ? x->c.offset * size : 0, n * size, 0, NULL, NULL);
    if (code || dense)
        return code;
    return (x->f64 ? CLBlastDcopy : CLBlastScopy)(n, x->temporary, 0, 1, x->c.memory, x->c.offset,
                                                  x->c.step, queue, NULL);
}

static int gemv(const struct blas_call *x, cl_command_queue *queue, cl_event *event) {
    const CLBlastTranspose ta = transpose(x->a_transposed);
    const int code = x->beta == 0 ? clear_output(x, queue) : CL_SUCCESS;
    if (code)
        return code;
    if (x->f64)
        return CLBlastDgemv(CLBlastLayoutRowMajor, ta, x->m, x->n, x->alpha, x->a.memory,
                            x->a.offset, x->a.step, x->b.memory, x->b.offset, x->b.step, x->beta,
                            x->c.memory, x->c.offset, x->c.step, queue, event);
    return CLBlastSgemv(CLBlastLayoutRowMajor, ta, x->m, x->n, (float)x->alpha, x->a.memory,
                        x->a.offset, x->a.step, x->b.memory, x->b.offset, x->b.step, (float)x->beta,
                        x->c.memory, x->c.offset, x->c.step, queue, event);
}

static int axpy(const struct blas_call *x, cl_command_queue *queue, cl_event *event) {
    if (x->f64)
        return CLBlastDaxpy(x->n, x->alpha, x->a.memory, x->a.offset, x->a.step, x->c.memory,
                            x->c.offset, x->c.step, queue, event);
    return CLBlastSaxpy(x->n, (float)x->alpha, x->a.memory, x->a.offset, x->a.step, x->c.memory,
                        x->c.offset, x->c.step, queue, event);
}

static int scal(const struct blas_call *x, cl_command_queue *queue, cl_event *event) {
    if (x->f64)
        return CLBlastDscal(x->n, x->alpha, x->c.memory, x->c.offset, x->c.step, queue, event);
    return CLBlastSscal(x->n, (float)x->alpha, x->c.memory, x->c.offset, x->c.step, queue, event);
}

static int dot(const struct blas_call *x, cl_command_queue *queue, cl_event *event) {
    return (x->f64 ? CLBlastDdot : CLBlastSdot)(x->n, x->c.memory, x->c.offset, x->a.memory,
                                                x->a.offset, x->a.step, x->b.memory, x->b.offset,
                                                x->b.step, queue, event);
}

static int nrm2(const struct blas_call *x, cl_command_queue *queue, cl_event *event) {
    return (x->f64 ? CLBlastDnrm2 : CLBlastSnrm2)(x->n, x->c.memory, x->c.offset, x->a.memory,
                                                  x->a.offset, x->a.step, queue, event);
}

static int asum(const struct blas_call *x, cl_command_queue *queue, cl_event *event) {
    return (x->f64 ? CLBlastDasum : CLBlastSasum)(x->n, x->c.memory, x->c.offset, x->a.memory,
                                                  x->a.offset, x->a.step, queue, event);
}

/* CLBlast 1.5 returns the index within the buffer instead of the vector, so the vector is copied to its own buffer. */
static int amax(const struct blas_call *x, cl_command_queue *queue, cl_event *event) {
    const bool is_buffer = x->a.offset == 0 && x->a.step == 1;
    const cl_mem dense = is_buffer ? x->a.memory : x->temporary;
    int code = CL_SUCCESS;
    if (!is_buffer)
        code = (x->f64 ? CLBlastDcopy : CLBlastScopy)(x->n, x->a.memory, x->a.offset, x->a.step,
                                                      dense, 0, 1, queue, NULL);
    if (code)
        return code;
    return (x->f64 ? CLBlastiDamax : CLBlastiSamax)(x->n, x->c.memory, x->c.offset, dense, 0, 1,
                                                    queue, event);
}

static int (*const routines[BLAS_ROUTINES])(const struct blas_call *, cl_command_queue *,
                                            cl_event *) = {
    [BLAS_GEMM] = gemm, [BLAS_GEMM_BATCHED] = gemm_batched,
    [BLAS_GEMV] = gemv, [BLAS_AXPY] = axpy,
    [BLAS_SCAL] = scal, [BLAS_DOT] = dot,
    [BLAS_AMAX] = amax, [BLAS_NRM2] = nrm2,
    [BLAS_ASUM] = asum,
};

bool blas_available(void) { return true; }

/* CLBlast's caches are static objects, destroyed with the process, so that no call may run later: each is made between
 * driver_begin and driver_end. */

/* How often the cache has begun to be cleared or has been: a call that saw another number than there is now may have had
 * its kernels taken away since. */
static _Atomic uint32_t clearings;

/* `compiled` is a bit for each routine and type, below the number of clearings when the bits were set. */
static uint64_t bit_of(const struct blas_call *call) {
    _Static_assert(2 * BLAS_ROUTINES <= 32, "no bit for each routine and type");
    return UINT64_C(1) << ((unsigned)call->routine * 2 + call->f64);
}

static void note_compiled(const struct blas_call *call, uint32_t seen) {
    const uint64_t none = (uint64_t)seen << 32;
    uint64_t before = atomic_load(&call->user->compiled), after;
    do {
        if (before >> 32 > seen)
            return;
        after = (before >> 32 == seen ? before : none) | bit_of(call);
    } while (!atomic_compare_exchange_weak(&call->user->compiled, &before, after));
}

bool blas_is_compiled(const void *arguments) {
    const struct blas_call *call = arguments;
    const uint64_t compiled = atomic_load(&call->user->compiled);
    return compiled >> 32 == atomic_load(&clearings) && (compiled & bit_of(call));
}

static void clear_programs(void) {
    if (!driver_begin(NULL))
        return;
    clearings++;
    CLBlastClearCache();
    clearings++;
    driver_end(NULL);
}

void blas_forget(const struct blas_user *user) {
    if (atomic_load(&user->seen))
        clear_programs();
}

/* A trial waits for itself and for no other command; other threads' products of any device wait for it. */
static void try_products_once(const struct device *device, cl_command_queue queue, bool f64) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    const struct blas_standing *standing = blas_standing_of(device, f64);
    if (blas_standing_verdict(device, f64) != TRIAL_UNTRIED || standing->tried)
        return;
    pthread_mutex_lock(&lock);
    if (!standing->tried)
        blas_standing_judge(device, f64, blas_trial(device, queue, f64));
    pthread_mutex_unlock(&lock);
}

int blas_enqueue(const struct device *device, cl_command_queue queue, const void *arguments,
                 cl_event *event) {
    const struct blas_call *call = arguments;
    const uint32_t seen = atomic_load(&clearings);
    atomic_store(&call->user->seen, true);
    if (call->routine <= BLAS_GEMM_BATCHED)
        try_products_once(device, queue, call->f64);
    if (blas_refusal(device, call->f64))
        return BLAS_IS_WRONG;
    if (!driver_begin(device))
        return CL_INVALID_OPERATION;
    const int code = routines[call->routine](call, &queue, event);
    driver_end(device);
    if (!code)
        note_compiled(call, seen);
    return code;
}

static cls_status gemm_temporary(const struct device *device, cl_command_queue queue,
                                 const struct blas_call *x, size_t *bytes) {
    size_t size = 0;
    if (!driver_begin(device))
        return driver_gone();
    const int code = (x->f64 ? CLBlastDGemmTempBufferSize : CLBlastSGemmTempBufferSize)(
        CLBlastLayoutRowMajor, transpose(x->a_transposed), transpose(x->b_transposed), x->m, x->n,
        x->k, x->a.offset, x->a.step, x->b.offset, x->b.step, x->c.offset, x->c.step, &queue,
        &size);
    driver_end(device);
    if (code)
        return driver_status(code, "CLBlast's GemmTempBufferSize");
    *bytes = size;
    return CLS_SUCCESS;
}

static pthread_mutex_t first_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic bool first_done;

/* The first call of a process, which runs alone: CLBlast 1.5 fills its table of all routines, types and devices in the
 * first call of any of them, without a lock. This call only asks for a size; it compiles nothing and takes 2 ms, and
 * everybody else waits for it. If it fails, the next call is the first. The first call for a device also has CLBlast told
 * its parameters. */
static cls_status first_call(const struct device *device, cl_command_queue queue) {
    const struct blas_call one = {.m = 1, .n = 1, .k = 1, .a.step = 1, .b.step = 1, .c.step = 1};
    size_t bytes;
    if (atomic_load_explicit(&first_done, memory_order_acquire) &&
        blas_standing_of(device, false)->applied && blas_standing_of(device, true)->applied)
        return CLS_SUCCESS;
    pthread_mutex_lock(&first_lock);
    cls_status status = CLS_SUCCESS;
    if (!atomic_load(&first_done))
        status = gemm_temporary(device, queue, &one, &bytes);
    if (!status) {
        blas_standing_apply(device);
        atomic_store(&first_done, true);
    }
    pthread_mutex_unlock(&first_lock);
    return status;
}

cls_status blas_temporary(const struct device *device, cl_command_queue queue,
                          const struct blas_call *x, size_t *bytes) {
    size_t size = 0;
    const char *refusal = blas_refusal(device, x->f64);
    cls_status status =
        refusal ? error_set(CLS_ERROR_UNSUPPORTED, "%s", refusal) : first_call(device, queue);
    if (!status && x->routine == BLAS_GEMM)
        status = gemm_temporary(device, queue, x, &size);
    if (x->routine == BLAS_AMAX && (x->a.offset || x->a.step != 1))
        size = x->n * element_size(x);
    if (x->routine == BLAS_GEMV && x->beta == 0 && x->c.step != 1)
        size = gemv_length(x) * element_size(x);
    if (!status)
        *bytes = size;
    return status;
}

/* Before the first call of the process CLBlast is left alone: that call tells it the parameters. */
static void renew_parameters(const struct device *device) {
    pthread_mutex_lock(&first_lock);
    if (atomic_load(&first_done)) {
        blas_standing_apply(device);
        clear_programs();
    }
    pthread_mutex_unlock(&first_lock);
}

#else

bool blas_available(void) { return false; }

void blas_forget(const struct blas_user *user) { (void)user; }

bool blas_is_compiled(const void *arguments) {
    (void)arguments;
    return false;
}

int blas_enqueue(const struct device *device, cl_command_queue queue, const void *arguments,
                 cl_event *event) {
    (void)device;
    (void)queue;
    (void)arguments;
    (void)event;
    return CL_INVALID_OPERATION;
}

cls_status blas_temporary(const struct device *device, cl_command_queue queue,
                          const struct blas_call *call, size_t *bytes) {
    (void)device;
    (void)queue;
    (void)call;
    (void)bytes;
    return blas_missing();
}

#endif

const char *blas_refusal(const struct device *device, bool f64) {
    return blas_standing_verdict(device, f64) == TRIAL_WRONG
               ? "CLBlast's products were tried on this device and were wrong"
               : NULL;
}

void blas_try(const struct device *device, cl_command_queue queue, bool f64) {
#ifdef HAVE_CLBLAST
    if (!first_call(device, queue))
        try_products_once(device, queue, f64);
#else
    (void)device;
    (void)queue;
    (void)f64;
#endif
}

void blas_get_tuning(const struct device *device, bool f64, cls_blas_tuning *out) {
    blas_standing_tuning(device, f64, out);
    out->size = sizeof *out;
    out->refused = blas_refusal(device, f64);
}

bool blas_set_tuning(const struct device *device, bool f64, const cls_blas_tuning *tuning,
                     bool keep) {
    if (!blas_standing_set(device, f64, tuning, keep))
        return false;
#ifdef HAVE_CLBLAST
    renew_parameters(device);
#endif
    return true;
}

cl_mem *blas_memory(void *arguments, unsigned view) {
    static const unsigned char outputs[BLAS_ROUTINES] = {
        [BLAS_GEMM] = 2, [BLAS_GEMM_BATCHED] = 2, [BLAS_GEMV] = 2, [BLAS_AXPY] = 1, [BLAS_SCAL] = 0,
        [BLAS_DOT] = 2,  [BLAS_AMAX] = 1,         [BLAS_NRM2] = 1, [BLAS_ASUM] = 1,
    };
    struct blas_call *call = arguments;
    if (view == outputs[call->routine])
        return &call->c.memory;
    return view ? &call->b.memory : &call->a.memory;
}

cls_status blas_missing(void) {
    return error_set(CLS_ERROR_UNSUPPORTED, "this library was built without CLBlast");
}
