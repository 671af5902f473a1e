/* SPDX-License-Identifier: MIT */
/*
 * A deadlock refused: a coordinator is told which stream waits for which, and refuses the dependency that
 * would close a cycle. The refusal names the cycle, and changes nothing: the work then runs in the order
 * declared before.
 *
 * For streams whose order is decided in different places of a program. Look at the third
 * cls_coordinator_add_dependency, and at phase(), which is called for each stream, prerequisites first.
 * A drawing of the cycle goes to the standard output:
 *
 *     deadlock | dot -Tsvg >deadlock.svg
 */
#include <clstream.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 4 };
enum { UPLOAD, COMPUTE, DOWNLOAD, STREAMS };

static void must(cls_status status) {
    if (status) {
        fprintf(stderr, "%s: %s\n", cls_status_string(status), cls_last_error_detail());
        _Exit(1);
    }
}

struct work {
    cls_array array;
    float x[COUNT];
};

/* A stream's part of the work; `stream` waits for the streams that it depends on. */
static cls_status phase(cls_stream stream, size_t index, void *arg) {
    struct work *work = arg;
    if (index == UPLOAD)
        return cls_copy_h2d_async(work->array.buffer, 0, work->x, sizeof work->x, stream);
    if (index == COMPUTE)
        return cls_sqr_f32_async(work->array, work->array, stream);
    return cls_copy_d2h_async(work->x, work->array.buffer, 0, sizeof work->x, stream);
}

int main(void) {
    static const char *const names[STREAMS] = {"upload", "compute", "download"};
    struct work work = {.x = {1, 2, 3, 4}};
    cls_stream streams[STREAMS];
    cls_coordinator coordinator;
    cls_buffer buffer;

    must(cls_coordinator_create(NULL, &coordinator));
    for (int i = 0; i < STREAMS; i++) {
        cls_stream_config config = CLS_STREAM_CONFIG_INIT;
        config.name = names[i];
        must(cls_stream_create(NULL, &config, &streams[i]));
        must(cls_coordinator_add_stream(coordinator, streams[i], NULL));
    }
    must(cls_coordinator_add_dependency(coordinator, streams[COMPUTE], streams[UPLOAD]));
    must(cls_coordinator_add_dependency(coordinator, streams[DOWNLOAD], streams[COMPUTE]));

    /* With this one each of the three would wait for another, and none could start. */
    cls_status status =
        cls_coordinator_add_dependency(coordinator, streams[UPLOAD], streams[DOWNLOAD]);
    fprintf(stderr, "%s: %s\n", cls_status_string(status), cls_last_error_detail());
    if (status != CLS_ERROR_DEADLOCK)
        return 1;
    must(cls_coordinator_write_cycle_dot(coordinator, stdout));

    must(cls_buffer_create(NULL, sizeof work.x, &buffer));
    work.array = cls_array_of(buffer, CLS_F32, COUNT);
    must(cls_coordinator_run(coordinator, phase, &work)); /* submits */
    must(cls_coordinator_wait_all(coordinator, UINT64_MAX));
    for (int i = 0; i < COUNT; i++)
        if (work.x[i] != (float)((i + 1) * (i + 1))) {
            fprintf(stderr, "element %d is %g\n", i, (double)work.x[i]);
            return 1;
        }
    must(cls_buffer_destroy(buffer));
    must(cls_coordinator_destroy(coordinator));
    for (int i = 0; i < STREAMS; i++)
        must(cls_stream_destroy(streams[i]));
    return 0;
}
