/* SPDX-License-Identifier: MIT */
/*
 * Graphs: a step is captured once, with a fork and a join, and then launched again and again with one call. Each launch is
 * given its own input and output, by name, without a new capture.
 *
 * For work that is submitted over and over: a launch costs less than the calls that it stands for. task_graph.c runs
 * functions with prerequisites instead, which submit their work anew each time.
 * Look at capture_step() and at the loop in main().
 */
#include <clstream.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 1000, STEPS = 20, SLOTS = 4 };

static void must(cls_status status) {
    if (status) {
        fprintf(stderr, "%s: %s\n", cls_status_string(status), cls_last_error_detail());
        _Exit(1);
    }
}

/* What the step works on. */
struct step {
    cls_array x, squares, doubled, sum;
};

static cls_array new_array(void) {
    cls_buffer buffer;
    must(cls_buffer_create(NULL, COUNT * sizeof(float), &buffer));
    return cls_array_of(buffer, CLS_F32, COUNT);
}

/* sum = x * x + 2 x: the two halves run side by side. Nothing runs here. */
static cls_graph capture_step(const struct step *step, const float *in, float *out) {
    cls_stream stream, other;
    cls_event forked, joined;
    cls_graph graph;
    must(cls_stream_create(NULL, NULL, &stream));
    must(cls_stream_create(NULL, NULL, &other));
    must(cls_event_create(NULL, NULL, &forked));
    must(cls_event_create(NULL, NULL, &joined));

    must(cls_stream_begin_capture(stream, "step"));
    must(cls_copy_h2d_async(step->x.buffer, 0, in, COUNT * sizeof(float), stream));
    must(cls_event_record(forked, stream));
    must(cls_stream_wait_event(other, forked)); /* the other stream is captured from here on */
    must(cls_mul_f32_async(step->x, step->x, step->squares, stream));
    must(cls_add_f32_async(step->x, step->x, step->doubled, other));
    must(cls_event_record(joined, other));
    must(cls_stream_wait_event(stream, joined));
    must(cls_add_f32_async(step->squares, step->doubled, step->sum, stream));
    must(cls_copy_d2h_async(out, step->sum.buffer, 0, COUNT * sizeof(float), stream));
    must(cls_stream_end_capture(stream, &graph));

    must(cls_event_destroy(forked));
    must(cls_event_destroy(joined));
    must(cls_stream_destroy(stream)); /* the graph does not need them */
    must(cls_stream_destroy(other));
    return graph;
}

int main(void) {
    static float in[SLOTS][COUNT], out[STEPS][COUNT];
    const struct step step = {new_array(), new_array(), new_array(), new_array()};
    cls_graph_exec exec;
    cls_stream stream;
    for (int slot = 0; slot < SLOTS; slot++)
        for (int i = 0; i < COUNT; i++)
            in[slot][i] = (float)(slot * COUNT + i) / 16;

    cls_graph graph = capture_step(&step, in[0], out[0]);
    must(cls_graph_instantiate(graph, NULL, &exec));
    must(cls_graph_destroy(graph));
    must(cls_stream_create(NULL, NULL, &stream));
    for (int i = 0; i < STEPS; i++) {
        must(cls_graph_bind_host(exec, in[0], in[i % SLOTS])); /* named as captured */
        must(cls_graph_bind_host(exec, out[0], out[i]));
        must(cls_graph_launch_async(exec, stream));
    }
    must(cls_stream_synchronize(stream));

    for (int step_number = 0; step_number < STEPS; step_number++)
        for (int i = 0; i < COUNT; i++) {
            const float x = in[step_number % SLOTS][i], due = x * x + (x + x);
            if (out[step_number][i] != due) {
                fprintf(stderr, "step %d: element %d is %g, not %g\n", step_number, i,
                        (double)out[step_number][i], (double)due);
                return 1;
            }
        }
    cls_graph_statistics facts = CLS_GRAPH_STATISTICS_INIT;
    must(cls_graph_get_statistics(exec, &facts));
    printf("%llu launches of %llu commands on %u branches, each one call\n",
           (unsigned long long)facts.launches, (unsigned long long)facts.nodes, facts.streams);

    must(cls_graph_exec_destroy(exec));
    must(cls_stream_destroy(stream));
    const cls_array arrays[] = {step.x, step.squares, step.doubled, step.sum};
    for (int i = 0; i < 4; i++)
        must(cls_buffer_destroy(arrays[i].buffer));
    return 0;
}
