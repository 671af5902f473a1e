/* SPDX-License-Identifier: MIT */
/*
 * Two contexts, one memory: a buffer that both devices' kernels and copies use, and copies between the contexts through
 * it, against copies of ordinary buffers.
 *
 * For data that one device makes and another one uses. Look at cls_buffer_open: it gives the second context a handle for
 * the bytes of the first one's buffer. Events order the two streams, as they order any others. Where the devices cannot
 * share memory the program says why, and copies all the same.
 */
#include <clstream.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { VALUE = 3 };

static void must(cls_status status) {
    if (status) {
        fprintf(stderr, "%s: %s\n", cls_status_string(status), cls_last_error_detail());
        _Exit(1);
    }
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* The next device, or the same once more where there is one only. */
static void open_contexts(cls_context contexts[2]) {
    cls_context_config config = CLS_CONTEXT_CONFIG_INIT;
    char number[24];
    size_t first, count;
    must(cls_context_create(&config, &contexts[0]));
    must(cls_context_get_device(contexts[0], &first));
    must(cls_device_count(&count));
    snprintf(number, sizeof number, "%zu", (first + 1) % count);
    config.device = number;
    must(cls_context_create(&config, &contexts[1]));
}

/* The best of five copies to `to`, on a stream of its context; GB/s. */
static double measure(cls_buffer to, cls_buffer from, size_t bytes, cls_stream stream) {
    double best = 0;
    for (int i = 0; i < 5; i++) {
        const double start = now();
        must(cls_copy_d2d(to, 0, from, 0, bytes, stream));
        const double rate = (double)bytes / (now() - start) / 1e9;
        best = rate > best ? rate : best;
    }
    return best;
}

/* The first context's stream writes the memory, the second one's reads and changes it, the first one's reads it again. */
static void take_turns(const cls_context contexts[2], const cls_stream streams[2], cls_buffer near,
                       size_t bytes) {
    const size_t count = bytes / 4;
    const int32_t value = VALUE;
    int32_t got = 0;
    cls_buffer far;
    cls_event written, changed;
    must(cls_buffer_open(contexts[1], near, &far));
    must(cls_event_create(contexts[0], NULL, &written));
    must(cls_event_create(contexts[1], NULL, &changed));
    must(cls_fill_async(near, 0, bytes, &value, sizeof value, streams[0]));
    must(cls_event_record(written, streams[0]));
    must(cls_stream_wait_event(streams[1], written));
    const cls_array all = {far, CLS_I32, 0, count};
    must(cls_binary_async(CLS_BINARY_ADD, all, all, all, streams[1]));
    must(cls_event_record(changed, streams[1]));
    must(cls_stream_wait_event(streams[0], changed));
    must(cls_copy_d2h(&got, near, bytes - sizeof got, sizeof got, streams[0]));
    if (got != 2 * VALUE) {
        fprintf(stderr, "the last value is %d, not %d\n", got, 2 * VALUE);
        exit(1);
    }
    must(cls_event_destroy(written));
    must(cls_event_destroy(changed));
    must(cls_buffer_destroy(far));
}

int main(int argc, char **argv) {
    const size_t bytes = argc > 1 && !strcmp(argv[1], "--quick") ? 1 << 20 : 64 << 20;
    cls_share_info info = CLS_SHARE_INFO_INIT;
    cls_context contexts[2];
    cls_stream streams[2];
    cls_buffer plain, to, near;
    open_contexts(contexts);
    for (int i = 0; i < 2; i++)
        must(cls_stream_create(contexts[i], NULL, &streams[i]));
    must(cls_buffer_create(contexts[0], bytes, &plain));
    must(cls_buffer_create(contexts[1], bytes, &to));
    must(cls_fill(plain, 0, bytes, "", 1, streams[0]));
    must(cls_fill(to, 0, bytes, "", 1, streams[1]));
    printf("a copy of %zu MiB from context to context: %.1f GB/s\n", bytes >> 20,
           measure(to, plain, bytes, streams[1]));

    must(cls_context_can_share(contexts[0], contexts[1], &info));
    if (info.kind != CLS_SHARE_NONE) {
        must(cls_buffer_create_shareable(contexts[0], bytes, &near));
        take_turns(contexts, streams, near, bytes);
        printf("from a shareable buffer: %.1f GB/s\n", measure(to, near, bytes, streams[1]));
        must(cls_buffer_destroy(near));
    } else {
        printf("memory cannot be shared: %s\n", info.reason);
    }
    must(cls_buffer_destroy(plain));
    must(cls_buffer_destroy(to));
    for (int i = 0; i < 2; i++) {
        must(cls_stream_destroy(streams[i]));
        must(cls_context_destroy(contexts[i]));
    }
    return 0;
}
