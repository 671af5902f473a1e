/* SPDX-License-Identifier: MIT */
/* What the tests of pipelines share: pipelines of small buffers, and one of three stages. */
#ifndef CLSTREAM_TESTS_PIPELINES_H
#define CLSTREAM_TESTS_PIPELINES_H

#include <clstream/pipeline.h>

#include "../support/nothing.h"
#include "../support/rig.h"

enum { BYTES = 256 };

static inline cls_pipeline pipeline_make(unsigned depth) {
    cls_pipeline_config config = CLS_PIPELINE_CONFIG_INIT;
    cls_pipeline pipeline;
    config.depth = depth;
    OK(cls_pipeline_create(rig.context, &config, &pipeline));
    return pipeline;
}

static inline cls_stage stage_of(const char *name, cls_stage_fn fn) {
    cls_stage stage = CLS_STAGE_INIT;
    stage.name = name;
    stage.fn = fn;
    return stage;
}

/* A stage that reads and writes one buffer each; either may be NULL. */
static inline void add(cls_pipeline pipeline, const char *name, const char *in, const char *out,
                       cls_stage_fn fn, void *arg) {
    cls_stage stage = stage_of(name, fn);
    stage.inputs = &in;
    stage.n_inputs = in != NULL;
    stage.outputs = &out;
    stage.n_outputs = out != NULL;
    stage.arg = arg;
    OK(cls_pipeline_add_stage(pipeline, &stage));
}

static inline void add_buffer(cls_pipeline pipeline, const char *name,
                              cls_pipeline_buffer_kind kind) {
    OK(cls_pipeline_add_buffer(pipeline, name, BYTES, NULL, kind));
}

enum { ROUNDS = 40 };

struct run_data {
    uint32_t in[ROUNDS], out[ROUNDS];
    double ms;
};

static inline cls_status stage_upload(const cls_stage_run *run, void *arg) {
    struct run_data *data = arg;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_stream_destroy(run->stream));
    return cls_copy_h2d_async(run->outputs[0], 0, &data->in[run->iteration], 4, run->stream);
}

/* out = in * 3 + 1, by way of two steps of some length */
static inline cls_status stage_work(const cls_stage_run *run, void *arg) {
    const struct run_data *data = arg;
    cls_status status = cls_copy_d2d_async(run->outputs[0], 0, run->inputs[0], 0, 4, run->stream);
    return status ? status : rig_step(run->stream, run->outputs[0], 0, 3, 1, data->ms);
}

static inline cls_status stage_download(const cls_stage_run *run, void *arg) {
    struct run_data *data = arg;
    cls_status status = rig_step(run->stream, run->inputs[0], 1, 1, 0, data->ms / 2);
    return status
               ? status
               : cls_copy_d2h_async(&data->out[run->iteration], run->inputs[0], 0, 4, run->stream);
}

static inline cls_pipeline three_stages(struct run_data *data, unsigned depth) {
    cls_pipeline pipeline = pipeline_make(depth);
    add_buffer(pipeline, "in", CLS_PIPELINE_INTERNAL);
    add_buffer(pipeline, "out", CLS_PIPELINE_INTERNAL);
    add(pipeline, "upload", NULL, "in", stage_upload, data);
    add(pipeline, "work", "in", "out", stage_work, data);
    add(pipeline, "download", "out", NULL, stage_download, data);
    return pipeline;
}

#endif
