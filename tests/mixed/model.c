/* SPDX-License-Identifier: MIT */
#include "model.h"

#include <string.h>

void model_poison(struct lane_model *lane, enum model_cause cause) {
    lane->unsure = lane->unsure || (lane->causes && cause == CAUSE_TIMELINE);
    lane->causes++;
}

void model_reset(struct lane_model *lane) {
    lane->causes = 0;
    lane->unsure = false;
}

void model_advance(struct lane_model *lane, unsigned i, unsigned n, uint32_t factor, uint32_t add) {
    for (unsigned k = 0; k < n && model_is_well(lane); k++)
        lane->cells[i + k] = lane->cells[i + k] * factor + add;
}

void model_sort(struct lane_model *lane, unsigned i, unsigned n, bool descending) {
    uint32_t *cells = &lane->cells[i];
    for (unsigned k = 1; k < n && model_is_well(lane); k++)
        for (unsigned m = k;
             m > 0 && cells[m] != cells[m - 1] && (cells[m] > cells[m - 1]) == descending; m--) {
            const uint32_t cell = cells[m];
            cells[m] = cells[m - 1];
            cells[m - 1] = cell;
        }
}

void model_mix(struct lane_model *to, unsigned i, const uint32_t *from, unsigned n,
               uint32_t factor) {
    for (unsigned k = 0; k < n && model_is_well(to); k++)
        to->cells[i + k] = to->cells[i + k] * factor + from[k];
}

void model_write(struct lane_model *lane, unsigned i, const uint32_t *words, unsigned n) {
    if (model_is_well(lane))
        memmove(&lane->cells[i], words, n * sizeof *words);
}

void model_fill(struct lane_model *lane, unsigned i, unsigned n, uint32_t value) {
    for (unsigned k = 0; k < n && model_is_well(lane); k++)
        lane->cells[i + k] = value;
}

void model_record(struct mark_model *mark, const struct lane_model *lane) {
    *mark = (struct mark_model){true, !model_is_well(lane), lane->stream};
}

bool model_may_wait(const struct lane_model *lane, const struct mark_model *mark) {
    return !mark->failed || mark->stream != lane->stream;
}

void model_wait(struct lane_model *lane, const struct mark_model *mark) {
    if (mark->recorded && mark->failed)
        model_poison(lane, CAUSE_EVENT);
}

void model_signal(struct timeline_model *timeline, uint64_t value, const struct lane_model *lane) {
    timeline->failed = timeline->failed || !model_is_well(lane);
    timeline->value = value;
    if (!timeline->failed)
        timeline->well = value;
}

bool model_value_fails(const struct timeline_model *timeline, uint64_t value) {
    return timeline->failed && value > timeline->well;
}

bool model_takes(const struct lane_model *lane, cls_status status) {
    return status == CLS_SUCCESS || (!model_is_well(lane) && status == CLS_ERROR_COMMAND_FAILED);
}

bool model_answers(bool failed, cls_status status) {
    return status == CLS_NOT_READY || status == CLS_ERROR_TIMEOUT || model_ends(failed, status);
}

bool model_ends(bool failed, cls_status status) {
    return status == (failed ? CLS_ERROR_COMMAND_FAILED : CLS_SUCCESS);
}
