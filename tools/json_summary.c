/* SPDX-License-Identifier: MIT */
#include "json.h"

#include "json_text.h"
#include "summary.h"

static json_t *file_facts(const char *path, const struct npy_array *array, uint64_t bytes) {
    json_t *shape = json_array();
    for (unsigned i = 0; i < array->n_dims; i++)
        json_array_append_new(shape, json_integer((json_int_t)array->shape[i]));
    return json_pack("{s:o, s:s, s:o, s:I}", "path", json_text(path), "dtype",
                     cls_dtype_name(array->dtype), "shape", shape, "bytes", (json_int_t)bytes);
}

static json_t *stages(const struct pipeline_result *run) {
    json_t *list = json_array();
    for (unsigned i = 0; i < PIPELINE_STAGES; i++)
        json_array_append_new(list, json_pack("{s:s, s:f, s:I}", "name", pipeline_stage_name(i),
                                              "busy_seconds", run->busy[i], "bytes",
                                              (json_int_t)run->bytes[i]));
    return list;
}

static json_t *verification(const struct summary *summary) {
    json_t *list = json_array();
    for (unsigned i = 0; i < summary->plan->n_steps; i++) {
        const struct plan_step *step = &summary->plan->steps[i];
        const struct verify_step *verdict = &summary->verify->steps[i];
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:b, s:o, s:o}", "operation",
                                              step->stage->operation->name, "from",
                                              cls_dtype_name(step->from), "to",
                                              cls_dtype_name(step->to), "exact", verdict->exact,
                                              "worst_ulp", json_number(verdict->worst), "of_bound",
                                              json_number(verdict->of_bound)));
    }
    return json_pack("{s:f, s:o}", "seconds", summary->verify->seconds, "stages", list);
}

bool json_print_summary(const struct summary *summary) {
    const struct pipeline_result *run = &summary->run;
    json_t *top = json_pack(
        "{s:o, s:o, s:o, s:{s:I, s:o, s:o}, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:o}",
        "input",
        file_facts(summary->input->path, &summary->input->array, summary_bytes_in(summary)),
        "output",
        file_facts(summary->output->path, &summary->output->array, summary_bytes_out(summary)),
        "expression", json_text(summary->expression->text), "device", "index",
        (json_int_t)summary->device_index, "name", json_text(summary->device->name), "platform",
        json_text(summary->device->platform), "elements", (json_int_t)summary->input->array.count,
        "chunks", (json_int_t)run->chunks, "chunk_elements", (json_int_t)summary->chunk_elements,
        "slots", (json_int_t)run->slots, "streams", (json_int_t)summary->streams, "setup_seconds",
        summary->open_seconds + run->setup_seconds, "seconds", run->seconds, "gigabytes_per_second",
        summary_rate(summary), "overlap",
        summary_overlap(summary, PIPELINE_UPLOAD, PIPELINE_DOWNLOAD), "overlap_with_files",
        summary_overlap(summary, PIPELINE_READ, PIPELINE_WRITE), "stages", stages(run));
    if (top && summary->verify)
        json_object_set_new(top, "verify", verification(summary));
    return json_print(top);
}
