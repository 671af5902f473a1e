/* SPDX-License-Identifier: MIT */
/*
 * A deadlock refused: three streams, each waiting for the next, and the dependency that would have the
 * last one wait for the first. The refusal names the cycle; a drawing of it goes to the standard output.
 *
 *     deadlock | dot -Tsvg >deadlock.svg
 */
#include <clstream.h>
#include <stdio.h>
#include <stdlib.h>

static void must(cls_status status) {
    if (status) {
        fprintf(stderr, "%s: %s\n", cls_status_string(status), cls_last_error_detail());
        _Exit(1);
    }
}

int main(void) {
    static const char *const names[] = {"upload", "compute", "download"};
    cls_stream stream[3];
    cls_coordinator coordinator;

    must(cls_coordinator_create(NULL, &coordinator));
    for (int i = 0; i < 3; i++) {
        cls_stream_config config = CLS_STREAM_CONFIG_INIT;
        config.name = names[i];
        must(cls_stream_create(NULL, &config, &stream[i]));
        must(cls_coordinator_add_stream(coordinator, stream[i], NULL));
    }
    must(cls_coordinator_add_dependency(coordinator, stream[1], stream[0]));
    must(cls_coordinator_add_dependency(coordinator, stream[2], stream[1]));

    /* The next upload is to wait until the results are home. But who would begin? */
    cls_status status = cls_coordinator_add_dependency(coordinator, stream[0], stream[2]);
    fprintf(stderr, "%s: %s\n", cls_status_string(status), cls_last_error_detail());
    if (status != CLS_ERROR_DEADLOCK)
        return 1;
    must(cls_coordinator_write_cycle_dot(coordinator, stdout));

    must(cls_coordinator_apply(coordinator)); /* all is as it was before the refusal */
    must(cls_coordinator_destroy(coordinator));
    for (int i = 0; i < 3; i++)
        must(cls_stream_destroy(stream[i]));
    return 0;
}
