/* SPDX-License-Identifier: MIT */
/* Waits of a stream for a value in memory (api/outside_wait.h), and writes of one. */
#include <clstream/buffer.h>
#include <clstream/stream.h>

#include "api/outside_wait.h"
#include "base/error.h"
#include "base/range.h"
#include "base/text.h"
#include "memory/buffer.h"
#include "stream/stream.h"

/* --- the condition --- */

static uint64_t all_bits(const struct element *element) {
    return element->bytes == sizeof(uint32_t) ? UINT32_MAX : UINT64_MAX;
}

static const struct buffer *awaited_buffer(const struct outside_wait *wait) {
    return (const struct buffer *)(const void *)wait->awaited;
}

/* Acquires, so that what was written before the value is seen by the work behind the wait. */
static uint64_t read_memory(const struct outside_wait *wait) {
    const struct buffer *buffer = awaited_buffer(wait);
    const void *at = (const char *)buffer->host + wait->u.element.offset;
    return wait->u.element.bytes == sizeof(uint32_t)
               ? __atomic_load_n((const uint32_t *)at, __ATOMIC_ACQUIRE)
               : __atomic_load_n((const uint64_t *)at, __ATOMIC_ACQUIRE);
}

static bool is_met_by(const struct element *element, uint64_t memory) {
    const uint64_t all = all_bits(element), seen = memory & element->mask;
    switch (element->condition) {
    case CLS_VALUE_GEQ:
        return ((seen - element->value) & (all ^ all >> 1)) == 0;
    case CLS_VALUE_EQ:
        return seen == element->value;
    case CLS_VALUE_AND:
        return (seen & element->value) != 0;
    case CLS_VALUE_NOR:
        return (~(seen | element->value) & element->mask) != 0;
    }
    return true;
}

/* --- the gate --- */

static bool value_wait_is_over(struct gate *gate, uint64_t unused) {
    const struct outside_wait *wait = outside_wait_of(gate);
    (void)unused;
    return atomic_load(&wait->is_met) || is_met_by(&wait->u.element, read_memory(wait));
}

/* The stream's earlier work may still write the element. */
static enum gate_answer value_wait_look(struct gate *gate, uint64_t unused,
                                        const struct stream *waiter, uint64_t position,
                                        struct dep *via) {
    struct outside_wait *wait = outside_wait_of(gate);
    (void)via;
    if (atomic_load(&waiter->retired) + 1 < position || !value_wait_is_over(gate, unused))
        return GATE_SHUT;
    atomic_store(&wait->is_met, true);
    return GATE_OPEN;
}

static void value_wait_describe(struct gate *gate, uint64_t unused, struct text *text) {
    static const char *const conditions[] = {[CLS_VALUE_GEQ] = "to be at least",
                                             [CLS_VALUE_EQ] = "to be",
                                             [CLS_VALUE_AND] = "to have a bit of",
                                             [CLS_VALUE_NOR] = "to lack a bit that is not in"};
    const struct outside_wait *wait = outside_wait_of(gate);
    const struct element *element = &wait->u.element;
    (void)unused;
    text_printf(text, "the %zu bytes at offset %zu of a buffer of %zu bytes %s 0x%llx",
                element->bytes, element->offset, awaited_buffer(wait)->bytes,
                conditions[element->condition], (unsigned long long)element->value);
    if (element->mask != all_bits(element))
        text_printf(text, " by the mask 0x%llx", (unsigned long long)element->mask);
    text_printf(text, "; they hold 0x%llx: any thread or stream may write them",
                (unsigned long long)read_memory(wait));
}

static const struct gate_type value_gate = {.look = value_wait_look,
                                            .is_over = value_wait_is_over,
                                            .describe = value_wait_describe,
                                            .source = outside_wait_source};

/* --- the calls --- */

static cls_status check_element(const struct element *element) {
    if (element->bytes != sizeof(uint32_t) && element->bytes != sizeof(uint64_t))
        return error_set(CLS_ERROR_INVALID_VALUE, "a value of %zu bytes: not 4 or 8",
                         element->bytes);
    if (element->offset % element->bytes)
        return error_set(CLS_ERROR_INVALID_VALUE,
                         "offset %zu is no multiple of the value's %zu bytes", element->offset,
                         element->bytes);
    if (element->value > all_bits(element))
        return error_set(CLS_ERROR_INVALID_VALUE, "the value 0x%llx has more than 4 bytes",
                         (unsigned long long)element->value);
    if ((unsigned)element->condition > CLS_VALUE_NOR)
        return error_set(CLS_ERROR_INVALID_VALUE, "unknown condition %d", (int)element->condition);
    if (!(element->mask & all_bits(element)))
        return error_set(CLS_ERROR_INVALID_VALUE, "the mask 0x%llx has no bit of the element",
                         (unsigned long long)element->mask);
    return CLS_SUCCESS;
}

static cls_status check_memory(const struct buffer *buffer, const struct element *element) {
    cls_status status = range_check(element->offset, element->bytes, buffer->bytes);
    if (status || (buffer->host && !buffer->svm_owner))
        return status;
    return error_set(
        CLS_ERROR_UNSUPPORTED,
        buffer->host ? "host and device own the buffer's memory in turns: the host cannot read a "
                       "value in it while commands run"
                     : "the host cannot read the buffer's memory while commands run: a wait for a "
                       "value takes memory of cls_managed_alloc, or of cls_host_buffer on a CPU");
}

static cls_status wait_on(struct stream *stream, struct buffer *buffer,
                          const struct element *element) {
    struct outside_wait *wait;
    cls_status status = outside_wait_new(&value_gate, &buffer->object, &wait);
    if (status)
        return status;
    wait->u.element = *element;
    wait->u.element.mask &= all_bits(element);
    return outside_wait_begin(wait, stream);
}

cls_status cls_stream_wait_value(cls_stream handle, cls_buffer buffer_handle, size_t offset,
                                 size_t bytes, uint64_t value, uint64_t mask,
                                 cls_value_condition condition) {
    const struct element element = {offset, bytes, value, mask, condition};
    struct buffer *buffer;
    struct stream *stream;
    cls_status status = buffer_find(buffer_handle, &buffer);
    if (status)
        return status;
    status = stream_get(handle, buffer->context, &stream);
    if (status) {
        buffer_put(buffer);
        return status;
    }
    status = check_element(&element);
    if (!status)
        status = check_memory(buffer, &element);
    if (!status)
        status = wait_on(stream, buffer, &element);
    stream_put(stream);
    buffer_put(buffer);
    return status;
}

cls_status cls_stream_write_value(cls_stream stream, cls_buffer buffer, size_t offset, size_t bytes,
                                  uint64_t value) {
    const struct element element = {offset, bytes, value, UINT64_MAX, CLS_VALUE_EQ};
    const uint32_t low = (uint32_t)value;
    cls_status status = check_element(&element);
    if (status)
        return status;
    return cls_fill_async(buffer, offset, bytes, bytes == sizeof low ? (const void *)&low : &value,
                          bytes, stream);
}
