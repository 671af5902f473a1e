/* SPDX-License-Identifier: MIT */
#include "slot.h"

#include <clstream/buffer.h>
#include <clstream/event.h>

static cls_status create_all(struct slot *slot, const struct program *program) {
    const struct plan *plan = program->plan;
    const size_t n = program->capacity;
    cls_event_config timed = CLS_EVENT_CONFIG_INIT;
    cls_status status;

    timed.timed = 1;
    if ((status = cls_host_alloc(program->context, n * cls_dtype_size(plan->from),
                                 &slot->host_in)) != CLS_SUCCESS ||
        (status = cls_host_alloc(program->context, n * cls_dtype_size(plan->to),
                                 &slot->host_out)) != CLS_SUCCESS)
        return status;
    if ((status = cls_buffer_create(program->context, n * cls_dtype_size(plan->from),
                                    &slot->device[0])) != CLS_SUCCESS ||
        (chunk_result(plan) == 1 &&
         (status = cls_buffer_create(program->context, n * cls_dtype_size(plan->to),
                                     &slot->device[1])) != CLS_SUCCESS))
        return status;
    for (unsigned i = 0; i < MARKS; i++)
        if ((status = cls_event_create(program->context, &timed, &slot->marks[i])) != CLS_SUCCESS)
            return status;
    return CLS_SUCCESS;
}

bool slot_create(struct slot *slot, const struct program *program, struct failure *failure) {
    *slot = (struct slot){0};
    const cls_status status = create_all(slot, program);
    if (status == CLS_SUCCESS)
        return true;
    fail_status(failure, status, "cannot allocate a chunk (a smaller --chunk may help)");
    slot_destroy(slot);
    return false;
}

void slot_destroy(struct slot *slot) {
    chunk_destroy(&slot->chunk);
    for (unsigned i = 0; i < MARKS; i++)
        if (slot->marks[i])
            cls_event_destroy(slot->marks[i]);
    for (unsigned i = 0; i < 2; i++)
        if (slot->device[i])
            cls_buffer_destroy(slot->device[i]);
    cls_host_free(slot->host_out);
    cls_host_free(slot->host_in);
    *slot = (struct slot){0};
}
