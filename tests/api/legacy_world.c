/* SPDX-License-Identifier: MIT */
#include "legacy_world.h"

struct legacy_world w;

cls_stream stream_with(int non_blocking) {
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    cls_stream stream = NULL;
    config.non_blocking = non_blocking;
    OK(cls_stream_create(rig.context, &config, &stream));
    return stream;
}

int legacy_setup(void **state) {
    cls_context_config config = CLS_CONTEXT_CONFIG_INIT;
    (void)state;
    config.legacy_default_stream = 1;
    return rig_setup_on(&config);
}

int legacy_world_begin(void **state) {
    (void)state;
    OK(cls_context_default_stream(rig.context, &w.first));
    w.a = stream_with(0);
    w.b = stream_with(0);
    w.apart = stream_with(1);
    w.cells = rig_cells(CELLS);
    gate_init(&w.gate);
    return 0;
}

int legacy_world_end(void **state) {
    (void)state;
    gate_destroy(&w.gate);
    OK(cls_buffer_destroy(w.cells));
    OK(cls_stream_destroy(w.a));
    OK(cls_stream_destroy(w.b));
    OK(cls_stream_destroy(w.apart));
    return 0;
}

void hold(cls_stream stream) {
    OK(cls_stream_launch_host_async(stream, gate_hold, &w.gate));
    gate_await(&w.gate);
}

cls_status set(cls_stream stream, unsigned i, uint32_t value) {
    return cls_fill_async(w.cells, i * sizeof value, sizeof value, &value, sizeof value, stream);
}

void expect_pending(cls_stream stream) {
    for (unsigned i = 0; i < 8; i++) {
        EXPECT(CLS_NOT_READY, cls_stream_query(stream));
        nap_ms(2);
    }
}
