/* SPDX-License-Identifier: MIT */
/*
 * Calls while the stream that good values name is captured, with a node and the record of the event that they name. The
 * coordinator has that stream in its set, and the batch was executed there.
 */
#include "hostile.h"

#include <stdlib.h>

static void must(cls_status status) {
    if (status)
        abort();
}

static void begin(cls_stream stream) {
    const uint32_t nine = 9;
    must(cls_batch_execute(stock.handles[BATCH].live, stream));
    must(cls_stream_begin_capture(stream, "hostile"));
    must(cls_fill_async(stock.from, 0, BUFFER_BYTES, &nine, sizeof nine, stream));
    must(cls_event_record(stock.handles[EVENT].live, stream));
}

/* The event stands for no capture any more. */
static void end(cls_stream stream, struct captured_answer *answer) {
    cls_graph graph;
    answer->end = cls_stream_end_capture(stream, &graph);
    if (!answer->end)
        must(cls_graph_destroy(graph));
    must(cls_event_record(stock.handles[EVENT].live, stream));
    must(cls_stream_synchronize(stream));
}

struct captured_answer captured_answer(const struct call_row *row, const union value *values) {
    const cls_stream stream = stock.handles[STREAM].live;
    struct captured_answer answer;
    cls_capture_info info = CLS_CAPTURE_INFO_INIT;
    begin(stream);
    answer.call = row->call(values);
    must(cls_stream_get_capture(stream, &info));
    answer.state = info.state;
    end(stream, &answer);
    return answer;
}
