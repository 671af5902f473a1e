/* SPDX-License-Identifier: MIT */
/*
 * A table of functions by which a program reaches any accelerator, as CP2K's DBCSR does, over clStream: device memory by
 * pointers that the program calculates with, streams, events and copies. The program below knows nothing else. Each
 * function returns 0 if it succeeds.
 */
#include <clstream.h>
#include <stdio.h>
#include <stdlib.h>

#define CALL(call) \
    ((call) < 0 ? (fprintf(stderr, "%s: %s\n", #call, cls_last_error_detail()), -1) : 0)

/* --- the functions --- */

static int acc_get_ndevices(int *n) {
    size_t devices = 0;
    const int failed = CALL(cls_device_count(&devices));
    *n = (int)devices;
    return failed;
}
static int acc_stream_create(void **stream, const char *name, int priority) {
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    config.name = name;
    config.priority = priority;
    return CALL(cls_stream_create(NULL, &config, (cls_stream *)stream));
}
static int acc_stream_destroy(void *stream) { return CALL(cls_stream_destroy(stream)); }
static int acc_stream_sync(void *stream) { return CALL(cls_stream_synchronize(stream)); }
static int acc_stream_wait_event(void *stream, void *event) {
    return CALL(cls_stream_wait_event(stream, event));
}
static int acc_event_create(void **event) {
    return CALL(cls_event_create(NULL, NULL, (cls_event *)event));
}
static int acc_event_destroy(void *event) { return CALL(cls_event_destroy(event)); }
static int acc_event_record(void *event, void *stream) {
    return CALL(cls_event_record(event, stream));
}
static int acc_event_query(void *event, int *has_occurred) {
    const cls_status status = cls_event_query(event);
    *has_occurred = status == CLS_SUCCESS;
    return CALL(status);
}
static int acc_event_sync(void *event) { return CALL(cls_event_synchronize(event)); }
static int acc_dev_mem_allocate(void **memory, size_t bytes) {
    return CALL(cls_device_malloc(NULL, bytes, memory));
}
static int acc_dev_mem_deallocate(void *memory) { return CALL(cls_device_free(memory)); }
static int acc_dev_mem_set_ptr(void **memory, void *other, size_t offset) {
    *memory = (char *)other + offset;
    return 0;
}
static int acc_host_mem_allocate(void **memory, size_t bytes) {
    return CALL(cls_host_alloc(NULL, bytes, memory));
}
static int acc_host_mem_deallocate(void *memory) { return CALL(cls_host_free(memory)); }
static int acc_memcpy_h2d(const void *host, void *device, size_t bytes, void *stream) {
    return CALL(cls_memcpy_async(device, host, bytes, stream));
}
static int acc_memcpy_d2h(const void *device, void *host, size_t bytes, void *stream) {
    return CALL(cls_memcpy_async(host, device, bytes, stream));
}
static int acc_memcpy_d2d(const void *from, void *to, size_t bytes, void *stream) {
    return CALL(cls_memcpy_async(to, from, bytes, stream));
}
static int acc_memset_zero(void *device, size_t offset, size_t bytes, void *stream) {
    return CALL(cls_memset_async((char *)device + offset, 0, bytes, stream));
}

/* --- a program of it: blocks of a matrix, each at an offset in one allocation --- */

enum { BLOCKS = 8, BLOCK = 1000 * sizeof(float) };

static int exchange(void *streams[2], void *event, char *device, char *host) {
    int failed = 0;
    for (int i = 0; i < BLOCKS; i++) {
        void *block, *mirror;
        failed |= acc_dev_mem_set_ptr(&block, device, (size_t)i * BLOCK);
        failed |= acc_dev_mem_set_ptr(&mirror, device, (size_t)(2 * BLOCKS - 1 - i) * BLOCK);
        failed |= acc_memcpy_h2d(host + (size_t)i * BLOCK, block, BLOCK, streams[0]);
        failed |= acc_event_record(event, streams[0]);
        failed |= acc_stream_wait_event(streams[1], event);
        failed |= acc_memcpy_d2d(block, mirror, BLOCK, streams[1]);
        failed |= acc_memset_zero(mirror, 4, 4, streams[1]);
    }
    failed |= acc_memcpy_d2h(device + BLOCKS * BLOCK, host, BLOCKS * BLOCK, streams[1]);
    failed |= acc_event_record(event, streams[1]);
    int done = 0;
    if (!acc_event_query(event, &done) && !done)
        failed |= acc_event_sync(event);
    return failed | acc_stream_sync(streams[1]);
}

int main(void) {
    void *streams[2], *event, *device, *host;
    int n, failed = 0, wrong = 0;
    if (acc_get_ndevices(&n) || !n)
        return 77;
    for (int i = 0; i < 2; i++)
        failed |= acc_stream_create(&streams[i], i ? "exchange" : "upload", 0);
    failed |= acc_event_create(&event);
    failed |= acc_dev_mem_allocate(&device, (size_t)2 * BLOCKS * BLOCK);
    failed |= acc_host_mem_allocate(&host, (size_t)BLOCKS * BLOCK);
    if (failed)
        return 1;
    float *numbers = host;
    for (int i = 0; i < BLOCKS * 1000; i++)
        numbers[i] = (float)i;
    failed = exchange(streams, event, device, host);
    for (int i = 0; i < BLOCKS * 1000; i++)
        wrong +=
            numbers[i] != (i % 1000 == 1 ? 0 : (float)((BLOCKS - 1 - i / 1000) * 1000 + i % 1000));
    printf("%d blocks exchanged, %d numbers wrong\n", BLOCKS, wrong);
    failed |= acc_host_mem_deallocate(host) | acc_dev_mem_deallocate(device);
    failed |= acc_event_destroy(event);
    for (int i = 0; i < 2; i++)
        failed |= acc_stream_destroy(streams[i]);
    return failed || wrong;
}
