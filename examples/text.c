/* SPDX-License-Identifier: MIT */
/*
 * A language model in 16 bits: a transformer learns a text by its characters, and writes one like it.
 *
 *     text [--quick] [--steps N] [--data FILE] [--svg FILE]      --svg: draws the loss of each step
 *
 * For models that are stored in bf16, with sums and the optimizer's numbers in f32. The network is in transformer.c:
 * embedding by indices, norms, attention, products, and AdamW, all on one stream. Host threads put the windows of the
 * next steps together; the step is captured once and launched for each of them. The exit status is 0 when the loss came
 * down far enough.
 */
#include <stdio.h>
#include <stdlib.h>

#include "common.h"
#include "language.h"

enum { STEPS = 800, QUICK_STEPS = 60, MOST_STEPS = 100000, SEED = 5, SAMPLE = 400 };

static const double RATE = 4e-3, LOSS = 1.9, QUICK_LOSS = 2.9;

static cls_graph_exec capture_step(struct transformer *net, cls_buffer batch) {
    cls_graph_config config = CLS_GRAPH_CONFIG_INIT;
    cls_graph_exec step;
    cls_graph graph;
    config.fuse = 1;
    must(cls_stream_begin_capture(net->stream, "step"));
    transformer_learn(net, (cls_vector){batch, CLS_U32, 0, ROWS, 1},
                      (cls_vector){batch, CLS_U32, ROWS, ROWS, 1});
    must(cls_stream_end_capture(net->stream, &graph));
    must(cls_graph_instantiate(graph, &config, &step));
    must(cls_graph_destroy(graph));
    return step;
}

/* The rate rises for a twentieth of the steps, and then falls to a tenth. */
static double rate_of(size_t step, size_t steps) {
    const double done = (double)step / (double)steps, rise = 0.05;
    return RATE * (done < rise ? (double)(step + 1) / (rise * (double)steps + 1)
                               : 1 - 0.9 * (done - rise) / (1 - rise));
}

/* The mean losses of the steps; returns the milliseconds of a step, from the second on. */
static double learn(struct transformer *net, struct text *text, float *losses) {
    const cls_buffer rows = filled(2 * ROWS, 0), curve = filled(text->steps, 0);
    cls_prefetcher data;
    cls_prefetched batch;
    double start = 0;
    cls_graph_exec step = capture_step(net, rows);
    must(cls_prefetcher_create(NULL, 2 * ROWS * sizeof(uint32_t), text_load, text, NULL, &data));
    for (;;) {
        must(cls_prefetcher_next(data, net->stream, &batch));
        if (!batch.bytes)
            break;
        must(cls_optimizer_set_rate_async(net->optimizer, rate_of(batch.index, text->steps),
                                          net->stream));
        must(cls_graph_bind(step, rows, batch.buffer));
        must(cls_graph_launch_async(step, net->stream));
        must(cls_reduce_async(CLS_REDUCE_MEAN, cls_array_of(net->losses, CLS_F32, ROWS),
                              cls_array_at(curve, CLS_F32, batch.index, 1), net->stream));
        must(cls_prefetcher_release(data, &batch, net->stream));
        if (batch.index == 0)
            start = when_done_us(net->stream);
    }
    const double us = when_done_us(net->stream) - start;
    must(cls_copy_d2h(losses, curve, 0, text->steps * sizeof *losses, net->stream));
    must(cls_prefetcher_destroy(data));
    must(cls_graph_exec_destroy(step));
    must(cls_buffer_destroy(rows));
    must(cls_buffer_destroy(curve));
    return us / 1e3 / (double)(text->steps - 1);
}

static double mean_of_last(const float *losses, size_t steps) {
    const size_t n = steps < 20 ? steps : 20;
    double sum = 0;
    for (size_t i = steps - n; i < steps; i++)
        sum += (double)losses[i];
    return sum / (double)n;
}

int main(int argc, char **argv) {
    const char *data = option(argc, argv, "--data"), *svg = option(argc, argv, "--svg");
    const char *steps = option(argc, argv, "--steps");
    const int quick = option(argc, argv, "--quick") != NULL;
    static float losses[MOST_STEPS];
    static struct text text;
    struct transformer net;
    text_open(&text, data ? data : "examples/data/constitution.txt");
    text.steps = steps ? (size_t)strtoul(steps, NULL, 10) : quick ? QUICK_STEPS : STEPS;
    if (text.steps < 2 || text.steps > MOST_STEPS)
        give_up("%zu steps: 2 to %d", text.steps, MOST_STEPS);
    transformer_open(&net, (text.characters + 7) / 8 * 8, BATCH, SEED);
    const double ms = learn(&net, &text, losses), last = mean_of_last(losses, text.steps);
    printf("loss %.3f in step 1, %.3f in the last ones; %.2f ms a step\n\n", (double)losses[0],
           last, ms);
    text_write(&text, &net, SAMPLE);
    if (svg)
        draw_curve(svg, "mean loss of each step, in nats a character", losses, text.steps);
    transformer_close(&net);
    text_close(&text);
    return last > (quick ? QUICK_LOSS : LOSS);
}
