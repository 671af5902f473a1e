/* SPDX-License-Identifier: MIT */
#include "chunk.h"
#include "command.h"

#include <stdio.h>
#include <stdlib.h>

#include <clstream/context.h>
#include <clstream/device.h>

#include "json.h"
#include "options.h"
#include "size.h"
#include "summary.h"

/* Everything that a run holds. */
struct run {
    struct run_options options;
    struct expression expression;
    struct plan plan;
    struct input input;
    struct output output;
    cls_context context;
    cls_device_info device;
    size_t device_index;
    size_t capacity; /* elements of a chunk */
    double open_seconds;
};

static bool explain(const struct expression_error *error, const char *text,
                    struct failure *failure) {
    char message[sizeof failure->text];
    expression_explain(text, error, message, sizeof message);
    return fail(failure, "%s", message);
}

static bool make_plan(struct run *run, struct failure *failure) {
    struct expression_error error;
    return plan_make(&run->expression, run->input.array.dtype, &run->plan, &error) ||
           explain(&error, run->expression.text, failure);
}

static bool open_output(struct run *run, struct failure *failure) {
    struct npy_array array = run->input.array;
    array.dtype = run->plan.to;
    const bool npy = is_npy_output(run->options.output, !run->options.raw);
    if (npy && array.dtype == CLS_BF16)
        return fail(failure,
                    "%s: a .npy file has no bf16; end with cast f32, or leave the .npy out",
                    run->options.output);
    if (array.count > INT64_MAX / cls_dtype_size(array.dtype))
        return fail(failure, "%s: the result would be too large", run->options.output);
    if (input_is_output(&run->input, run->options.output))
        return fail(failure, "%s: it is also the standard output; name it with -o",
                    run->input.path);
    if (!output_open(&run->output, run->options.output, &array, npy, failure))
        return false;
    if (!run->options.verify || run->output.temporary)
        return true;
    fail(failure, "%s: --verify needs a file that can be read back", run->output.path);
    output_abandon(&run->output);
    return false;
}

static bool open_device(struct run *run, struct failure *failure) {
    cls_context_config config = CLS_CONTEXT_CONFIG_INIT;
    const double start = clock_seconds();
    cls_status status;

    run->device = (cls_device_info){.size = sizeof run->device};
    config.device = run->options.device;
    if ((status = cls_context_create(&config, &run->context)) != CLS_SUCCESS)
        return fail_status(failure, status, "cannot open a device");
    if ((status = cls_context_get_device(run->context, &run->device_index)) != CLS_SUCCESS ||
        (status = cls_device_get_info(run->device_index, &run->device)) != CLS_SUCCESS)
        return fail_status(failure, status, "cannot describe the device");
    run->open_seconds = clock_seconds() - start;
    return true;
}

static bool uses_f64(const struct plan *plan) {
    bool uses = plan->from == CLS_F64;
    for (unsigned i = 0; i < plan->n_steps; i++)
        uses = uses || plan->steps[i].to == CLS_F64;
    return uses;
}

/* What a slot takes of the device's memory; where that is the host's, the host memory beside it too. */
static uint64_t slot_bytes(const struct run *run) {
    const uint64_t device = chunk_bytes(&run->plan, run->capacity);
    const size_t element = cls_dtype_size(run->plan.from) + cls_dtype_size(run->plan.to);
    return device + (run->device.unified_memory ? (uint64_t)run->capacity * element : 0);
}

/* Device memory for a chunk size; more than three quarters of what there is fails late and
 * obscurely. */
static bool check_memory(const struct run *run, struct failure *failure) {
    const uint64_t count = run->input.array.count;
    const uint64_t chunks = (count + run->capacity - 1) / run->capacity;
    const unsigned slots = pipeline_slots(run->options.streams, chunks);
    const uint64_t one = slot_bytes(run);
    const uint64_t constants = run->options.verify ? constants_bytes(&run->plan, run->capacity) : 0;
    const uint64_t most = run->device.global_memory / 4 * 3;
    char a[SIZE_TEXT], b[SIZE_TEXT];

    if (constants <= most && one <= (most - constants) / (slots ? slots : 1))
        return true;
    return fail(failure, "%u chunks of %s do not fit in the device's %s; use a smaller --chunk",
                slots, size_format(one, a), size_format(run->device.global_memory, b));
}

static bool choose_capacity(struct run *run, struct failure *failure) {
    const uint64_t limit = run->device.max_allocation, asked = run->options.chunk;
    uint64_t bytes = asked ? asked : RUN_DEFAULT_CHUNK;
    char a[SIZE_TEXT];

    if (asked > limit)
        return fail(failure, "--chunk: the device allows at most %s in one buffer",
                    size_format(limit, a));
    bytes = bytes < limit ? bytes : limit;
    uint64_t capacity = bytes / run->plan.widest;
    if (capacity > run->input.array.count)
        capacity = run->input.array.count;
    run->capacity = capacity ? (size_t)capacity : 1;
    return check_memory(run, failure);
}

static void print_summary(const struct run *run, const struct pipeline_result *result,
                          const struct verify_result *verify) {
    struct summary summary = {
        .input = &run->input,
        .output = &run->output,
        .expression = &run->expression,
        .plan = &run->plan,
        .device = &run->device,
        .device_index = run->device_index,
        .chunk_elements = run->capacity,
        .streams = run->options.streams,
        .open_seconds = run->open_seconds,
        .run = *result,
        .verify = run->options.verify ? verify : NULL,
    };
    if (run->options.json)
        json_print_summary(&summary);
    else if (!run->options.quiet)
        summary_print(&summary);
}

/* The device's part, with the output open; the caller commits or abandons it. */
static bool stream(struct run *run, struct pipeline_result *result, struct verify_result *verify,
                   struct failure *failure) {
    const struct program program = {&run->plan, run->context, run->capacity};
    struct progress progress;
    const bool bar = !run->options.quiet;
    const size_t from = cls_dtype_size(run->plan.from), to = cls_dtype_size(run->plan.to);
    const uint64_t bytes = run->input.array.count * from;
    const struct pipeline_job job = {&program, &run->input, &run->output, run->options.streams,
                                     &progress};

    progress_begin(&progress, bar, "run", bytes, (double)(from + to) / (double)from);
    bool good = pipeline_run(&job, result, failure);
    progress_end(&progress);
    if (good && run->options.verify) {
        progress_begin(&progress, bar, "verify", bytes, 1);
        good = verify_run(&program, &run->input, &run->output, &progress, verify, failure);
        progress_end(&progress);
    }
    return good;
}

/* With the input open and the plan made. */
static bool run_on_device(struct run *run, struct failure *failure) {
    struct pipeline_result result;
    struct verify_result verify;
    bool good = false;

    if (!open_output(run, failure))
        return false;
    if (open_device(run, failure)) {
        if (uses_f64(&run->plan) && !run->device.has_fp64)
            fail(failure, "f64 is not supported by %s", run->device.name);
        else
            good = choose_capacity(run, failure) && stream(run, &result, &verify, failure);
    }
    input_close(&run->input); /* which the output may replace: Windows replaces no open file */
    if (good)
        good = output_commit(&run->output, failure);
    else
        output_abandon(&run->output);
    if (good)
        print_summary(run, &result, &verify);
    if (run->context)
        cls_context_destroy(run->context);
    return good;
}

/* The help lists the stages. */
static int stages_error(const struct failure *failure) {
    failure_print(failure, TOOL_USAGE);
    return usage_hint("run");
}

static int run_file(struct run *run, struct failure *failure) {
    int code = TOOL_OK;
    if (!input_open(&run->input, run->options.input, run->options.raw, failure))
        return failure_print(failure, TOOL_FAILED);
    if (!make_plan(run, failure))
        code = stages_error(failure);
    else if (!run_on_device(run, failure))
        code = failure_print(failure, TOOL_FAILED);
    input_close(&run->input);
    return code;
}

int command_run(int argc, char **argv) {
    struct failure failure = {.set = false};
    struct expression_error error;
    struct run *run = calloc(1, sizeof *run); /* a plan is large */
    int code;

    if (!run)
        return fail(&failure, "out of memory"), failure_print(&failure, TOOL_FAILED);
    code = run_options_parse(argc, argv, &run->options);
    if (code == OPTIONS_GO_ON) {
        if (expression_parse(run->options.expression, &run->expression, &error))
            code = run_file(run, &failure);
        else
            code = (explain(&error, run->options.expression, &failure), stages_error(&failure));
    }
    free(run);
    return code;
}
