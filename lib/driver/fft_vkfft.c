/* SPDX-License-Identifier: MIT */
/* Recipes of transforms, from VkFFT. */
#include "driver/fft_recipe.h"

#include "config.h"

#include <stdlib.h>

#include "base/error.h"
#include "driver/serial.h"
#include "driver/status.h"
#include "system/locales.h"

#ifdef HAVE_VKFFT

#include "driver/vkfft.h"

/* Rows, planes and transforms of one dimension are all a batch's, as are planes of two. */
static void set_strides(uint64_t to[3], const size_t strides[3], unsigned dims) {
    for (unsigned i = 0; i < 3; i++)
        to[i] = i + 1 < dims ? strides[i] : strides[2];
}

/* Of a spectrum in temporary memory: dense, but in one dimension as the input is (take_input). */
static void work_strides(const struct fft_problem *problem, size_t to[3]) {
    size_t row = problem->lengths[0] / 2 + 1;
    for (unsigned i = 0; i < 3; i++) {
        to[i] = row;
        row *= i + 1 < problem->dims ? problem->lengths[i + 1] : 1;
    }
    to[2] = problem->dims == 1 ? problem->in[2] : row;
}

/* Forward, and complex numbers either way: input to output, which VkFFT calls buffer. A real signal from a spectrum takes a
 * third memory, the buffer, because the steps before the last write complex numbers, and may not change the input. */
static void vkfft_configure(const struct fft_problem *problem, cl_uint vendor,
                            VkFFTConfiguration *config) {
    enum { NVIDIA = 0x10de, AMD = 0x1002, LEAST_LARGE_PRIME = 17 };
    size_t work[3];
    config->FFTdim = problem->dims;
    for (unsigned i = 0; i < problem->dims; i++)
        config->size[i] = problem->lengths[i];
    config->numberBatches = problem->batches;
    config->doublePrecision = problem->f64;
    config->performR2C = problem->real;
    config->normalize = problem->normalize;
    config->makeForwardPlanOnly = !problem->inverse;
    config->makeInversePlanOnly = problem->inverse;
    config->specifyOffsetsAtLaunch = 1;
    config->isInputFormatted = 1;
    config->useLUT = problem->f64 || (vendor != NVIDIA && vendor != AMD);
#ifdef VKFFT_STRUCTS_H /* VkFFT 1.3 */
    /* Rader's algorithm has the device compute a table that the plan's sources depend on, which a recipe cannot; without it,
     * Bluestein's does these lengths. */
    config->fixMinRaderPrimeMult = config->fixMaxRaderPrimeMult = LEAST_LARGE_PRIME;
    config->fixMinRaderPrimeFFT = config->fixMaxRaderPrimeFFT = LEAST_LARGE_PRIME;
#endif
    set_strides(config->inputBufferStride, problem->in, problem->dims);
    if (problem->real && problem->inverse) {
        config->isOutputFormatted = 1;
        work_strides(problem, work);
        set_strides(config->bufferStride, work, problem->dims);
        set_strides(config->outputBufferStride, problem->out, problem->dims);
    } else {
        set_strides(config->bufferStride, problem->out, problem->dims);
    }
}

/* Memory of every place begins at the mark, temporary memory of VkFFT's own included. */
static int write_transform(struct fft_recording *recording, VkFFTApplication *app,
                           const struct fft_problem *problem) {
    struct fft_memory *places = recording->recipe->places;
    const bool works = problem->real && problem->inverse;
    cl_mem in = fft_record_memory(&places[FFT_INPUT]), out = fft_record_memory(&places[FFT_OUTPUT]),
           work = fft_record_memory(&places[works ? FFT_WORK : FFT_OUTPUT]),
           temporary = fft_record_memory(&places[FFT_TEMPORARY]);
    cl_command_queue queue = NULL;
    VkFFTLaunchParams params = {.commandQueue = &queue,
                                .buffer = &work,
                                .tempBuffer = &temporary,
                                .inputBuffer = &in,
                                .outputBuffer = &out,
                                .bufferOffset = FFT_MARK,
                                .tempBufferOffset = FFT_MARK,
                                .inputBufferOffset = FFT_MARK,
                                .outputBufferOffset = FFT_MARK};
    recording->prepares = false;
    return (int)VkFFTAppend(app, problem->inverse ? 1 : -1, &params);
}

/* VkFFT has long real transforms of one dimension begin in the work memory, as if the input were there. Its layout is the
 * input's, so that the first launch can read the input, and so is where it begins: that launch takes one place for both. */
static void take_input(struct fft_recipe *recipe) {
    struct fft_step *step = recipe->steps;
    while (step && step->prepares)
        step = step->next;
    if (!step || step->args[0].memory != &recipe->places[FFT_WORK])
        return;
    step->args[0].memory = &recipe->places[FFT_INPUT];
    recipe->beside_input = step->args[1].memory->place;
}

static size_t work_bytes(const struct fft_problem *problem) {
    size_t strides[3];
    work_strides(problem, strides);
    return strides[2] * problem->batches * 2 * (problem->f64 ? sizeof(double) : sizeof(float));
}

/* VkFFT's code, or -1 without memory. */
static int vkfft_record(struct fft_recording *recording, const struct fft_problem *problem) {
    struct fft_memory *places = recording->recipe->places;
    cl_device_id device = recording->device->id;
    cl_context context = NULL;
    if (setjmp(recording->no_memory))
        return -1;
    VkFFTConfiguration *config = fft_record_calloc(1, sizeof *config);
    VkFFTApplication *app = fft_record_calloc(1, sizeof *app);
    config->device = &device;
    config->context = &context;
    vkfft_configure(problem, recording->vendor, config);
    int code = (int)initializeVkFFT(app, *config);
    if (code)
        return code;
    places[FFT_WORK].bytes = work_bytes(problem);
    if (app->configuration.allocateTempBuffer)
        places[FFT_TEMPORARY].bytes = fft_recorded_memory(app->configuration.tempBuffer[0])->bytes;
    code = write_transform(recording, app, problem);
    take_input(recording->recipe);
    return code;
}

static cls_status vkfft_refuse(const struct fft_problem *problem, int code) {
    if (code < 0)
        return error_no_memory("for an FFT plan");
    return error_set_code(CLS_ERROR_UNSUPPORTED, code,
                          "VkFFT makes no %s transform of %zu x %zu x %zu numbers on this device "
                          "(its error %d)",
                          problem->real ? "real" : "complex", problem->lengths[2],
                          problem->lengths[1], problem->lengths[0], code);
}

static cls_status get_vendor(const struct device *device, cl_uint *out) {
    if (!driver_begin(device))
        return driver_gone();
    const cl_int code = clGetDeviceInfo(device->id, CL_DEVICE_VENDOR_ID, sizeof *out, out, NULL);
    driver_end(device);
    return code ? driver_status(code, "clGetDeviceInfo") : CLS_SUCCESS;
}

static cls_status recipe_of(const struct device *device, const struct fft_problem *problem,
                            struct fft_recipe **out) {
    struct fft_recording recording = {.device = device};
    cls_status status = get_vendor(device, &recording.vendor);
    if (status)
        return status;
    recording.recipe = calloc(1, sizeof *recording.recipe);
    struct plain_locale plain;
    const bool has_memory = recording.recipe && plain_locale_begin(&plain);
    int code = -1;
    if (has_memory) {
        fft_record_begin(&recording);
        code = vkfft_record(&recording, problem);
        fft_record_end(&recording);
        plain_locale_end(&plain);
    }
    if (!code) {
        *out = recording.recipe;
        return CLS_SUCCESS;
    }
    fft_recipe_free(recording.recipe);
    return vkfft_refuse(problem, code);
}

#endif

bool fft_available(void) {
#ifdef HAVE_VKFFT
    return true;
#else
    return false;
#endif
}

cls_status fft_recipe_make(const struct device *device, const struct fft_problem *problem,
                           struct fft_recipe **out) {
#ifdef HAVE_VKFFT
    return recipe_of(device, problem, out);
#else
    (void)device;
    (void)problem;
    (void)out;
    return error_set(CLS_ERROR_UNSUPPORTED, "this library was built without VkFFT");
#endif
}
