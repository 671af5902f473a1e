/* SPDX-License-Identifier: MIT */
/*
 * Small products go to one kernel of CLBlast, larger ones to others; from which size on is a parameter, which shows in
 * the temporary memory. So sizes are doubled until there is some, or until the next would take long. Elements are small
 * integers, whose sums are exact in every order.
 */
#include "driver/blas_trial.h"

#include "config.h"

#include <stdlib.h>

#include "driver/serial.h"
#include "system/clocks.h"

#ifdef HAVE_CLBLAST

#include <clblast_c.h>

enum { FIRST_SIDE = 33, LAST_SIDE = 2049, SAMPLES = 600 };

static const uint64_t long_ns = 30 * 1000 * 1000; /* the next size takes eight times as long */

struct trial_product {
    cl_context context;
    cl_command_queue queue;
    bool f64, transposed;
    size_t side;
    cl_mem memory[3];
    void *c;
};

/* -4 to 3 */
static int element(size_t i, unsigned which) {
    return (int)((uint32_t)(i + which) * 2654435769u >> 29) - 4;
}

static double element_of_c(const struct trial_product *p, size_t i) {
    return p->f64 ? ((const double *)p->c)[i] : (double)((const float *)p->c)[i];
}

/* The host's copy holds, one after the other, what the three buffers are made of. c is not to be read. */
static cl_int make_matrices(struct trial_product *p, size_t bytes) {
    cl_int code = CL_SUCCESS;
    for (unsigned which = 0; which < 3 && !code; which++) {
        for (size_t i = 0; i < p->side * p->side; i++) {
            const double value = which < 2 ? element(i, which) : 0.5;
            if (p->f64)
                ((double *)p->c)[i] = value;
            else
                ((float *)p->c)[i] = (float)value;
        }
        p->memory[which] = clCreateBuffer(p->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                          bytes, p->c, &code);
        if (code)
            p->memory[which] = NULL;
    }
    return code;
}

static int call_gemm(struct trial_product *p) {
    const CLBlastTranspose t = p->transposed ? CLBlastTransposeYes : CLBlastTransposeNo;
    const size_t n = p->side;
    if (p->f64)
        return CLBlastDgemm(CLBlastLayoutRowMajor, t, t, n, n, n, 1, p->memory[0], 0, n,
                            p->memory[1], 0, n, 0, p->memory[2], 0, n, &p->queue, NULL);
    return CLBlastSgemm(CLBlastLayoutRowMajor, t, t, n, n, n, 1, p->memory[0], 0, n, p->memory[1],
                        0, n, 0, p->memory[2], 0, n, &p->queue, NULL);
}

static bool needs_temporary(struct trial_product *p) {
    const CLBlastTranspose no = CLBlastTransposeNo;
    const size_t n = p->side;
    size_t bytes = 0;
    (p->f64 ? CLBlastDGemmTempBufferSize : CLBlastSGemmTempBufferSize)(
        CLBlastLayoutRowMajor, no, no, n, n, n, 0, n, 0, n, 0, n, &p->queue, &bytes);
    return bytes != 0;
}

/* The last row and the last column among them, where kernels cut their tiles off. */
static bool product_is_right(const struct trial_product *p) {
    const size_t n = p->side;
    for (size_t s = 0; s < SAMPLES; s++) {
        const size_t i = s % 3 ? s * 7919 % n : n - 1, j = s % 5 ? s * 104729 % n : n - 1;
        int sum = 0;
        for (size_t l = 0; l < n; l++)
            sum += p->transposed ? element(l * n + i, 0) * element(j * n + l, 1)
                                 : element(i * n + l, 0) * element(l * n + j, 1);
        if (element_of_c(p, i * n + j) != sum)
            return false;
    }
    return true;
}

static enum trial_verdict try_order(struct trial_product *p, size_t bytes) {
    if (call_gemm(p) ||
        clEnqueueReadBuffer(p->queue, p->memory[2], CL_TRUE, 0, bytes, p->c, 0, NULL, NULL))
        return TRIAL_UNTRIED;
    return product_is_right(p) ? TRIAL_RIGHT : TRIAL_WRONG;
}

/* Both inputs as they are, and both transposed; `*took` is the time of the second. */
static enum trial_verdict try_side(struct trial_product *p, uint64_t *took) {
    const size_t bytes = p->side * p->side * (p->f64 ? sizeof(double) : sizeof(float));
    enum trial_verdict verdict = TRIAL_UNTRIED;
    p->c = malloc(bytes);
    if (p->c && !make_matrices(p, bytes)) {
        p->transposed = false;
        verdict = try_order(p, bytes);
        const uint64_t start = clock_now_ns();
        p->transposed = true;
        if (verdict == TRIAL_RIGHT)
            verdict = try_order(p, bytes);
        *took = clock_now_ns() - start;
    }
    for (int i = 0; i < 3; i++)
        if (p->memory[i])
            clReleaseMemObject(p->memory[i]);
    for (int i = 0; i < 3; i++)
        p->memory[i] = NULL;
    free(p->c);
    return verdict;
}

static enum trial_verdict try_sides(struct trial_product *p) {
    enum trial_verdict verdict = TRIAL_RIGHT;
    uint64_t took = 0;
    bool last = false;
    for (size_t side = FIRST_SIDE; verdict == TRIAL_RIGHT && !last; side = 2 * side - 1) {
        p->side = side;
        last = needs_temporary(p) || side == LAST_SIDE;
        verdict = try_side(p, &took);
        last = last || took > long_ns;
    }
    return verdict;
}

enum trial_verdict blas_trial(const struct device *device, cl_command_queue queue, bool f64) {
    struct trial_product p = {.f64 = f64};
    enum trial_verdict verdict = TRIAL_UNTRIED;
    cl_int code;
    if (!driver_begin(device))
        return verdict;
    code = clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof p.context, &p.context, NULL);
    if (!code)
        p.queue = clCreateCommandQueue(p.context, device->id, 0, &code);
    if (!code) {
        verdict = try_sides(&p);
        clReleaseCommandQueue(p.queue);
    }
    driver_end(device);
    return verdict;
}

#endif
