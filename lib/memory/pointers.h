/* SPDX-License-Identifier: MIT */
/*
 * Pointers that name bytes of buffers, of all contexts (clstream/pointer.h). An entry of the map holds a handle, not a
 * reference: a handle that became stale tells that the memory was freed. The entry stays until the memory itself ends,
 * so that until then nothing else is found under these addresses.
 */
#ifndef CLSTREAM_MEMORY_POINTERS_H
#define CLSTREAM_MEMORY_POINTERS_H

#include "memory/buffer.h"

/* The pointer of a buffer's life, which `handle` names. The caller keeps the buffer. */
cls_status pointers_name(struct buffer *buffer, cls_buffer handle, void **out);

/* Before the memory of a buffer with a pointer can be given out again; nobody else refers to the buffer. */
void pointers_forget(struct buffer *buffer);

/* What a pointer points to: a buffer's byte, or, without a buffer, memory of the host's. */
struct pointed {
    cls_buffer buffer; /* live a moment ago */
    uintptr_t start;
    size_t bytes, offset;
    bool by_turns; /* host and device own the memory by turns */
};

/* CLS_ERROR_NOT_FOUND for what is known to be neither. */
cls_status pointer_find(const void *pointer, struct pointed *out);

/* Whether it is in a buffer whose memory belongs to the host now (memory/svm_owner.h). */
bool pointed_is_hosts(const struct pointed *at);

/* The same where only a buffer will do. */
cls_status pointer_find_buffer(const void *pointer, struct pointed *out);

/* Reports CLS_ERROR_NOT_FOUND with the nearest buffer; where a freed one has the address, that. */
cls_status pointer_is_unknown(const void *pointer) COLD;

/* For calls that need no stream: CLS_ERROR_INVALID_HANDLE unless it is a stream, or NULL. */
cls_status pointer_check_stream(cls_stream handle);

#endif
