/* SPDX-License-Identifier: MIT */
#include "dag.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../scenarios/scenario.h"
#include "dag_state.h"

static const char source[] =
    "kernel void advance(global uint *x, uint i, uint factor, uint add) {\n"
    "    x[i] = x[i] * factor + add;\n"
    "}\n"
    "kernel void combine(global uint *x, uint i, global const uint *y, uint j, uint factor) {\n"
    "    x[i] = x[i] * factor + y[j];\n"
    "}\n";

static void differ(struct dag *dag, const char *where, unsigned i, uint32_t is,
                   uint32_t should_be) {
    if (dag->result->different)
        return;
    dag->result->different = true;
    snprintf(dag->result->what, sizeof dag->result->what,
             "seed %llu, after %llu commands: %s %u is %u, not %u",
             (unsigned long long)dag->plan->seed, (unsigned long long)dag->result->commands, where,
             i, is, should_be);
}

static void compare(struct dag *dag) {
    uint32_t is[CELLS];
    for (unsigned bank = 0; bank < BANKS; bank++) {
        if (!dag_ok(dag, cls_copy_d2h(is, dag->banks[bank], 0, sizeof is, NULL), "copy_d2h"))
            return;
        for (unsigned i = 0; i < CELLS; i++)
            if (is[i] != dag->model[cell_of(bank, i)])
                differ(dag, "cell", cell_of(bank, i), is[i], dag->model[cell_of(bank, i)]);
    }
    for (unsigned i = 0; i < HOST_CELLS; i++)
        if (dag->host[i] != dag->model[host_cell(i)])
            differ(dag, "host cell", i, dag->host[i], dag->model[host_cell(i)]);
    for (unsigned i = 0; i < dag->n_downloads; i++)
        if (dag->downloads[i] != dag->expected[i])
            differ(dag, "download", i, dag->downloads[i], dag->expected[i]);
}

/* Waits for everything, in one of the ways there are. */
static void drain(struct dag *dag) {
    bool poll = dag_number(dag, 2);
    for (unsigned i = 0; i < dag->plan->streams; i++) {
        cls_status status = CLS_NOT_READY;
        while (poll && (status = cls_stream_query(dag->streams[i])) == CLS_NOT_READY)
            sleep_us(50);
        if (!poll)
            status = cls_stream_synchronize(dag->streams[i]);
        dag_ok(dag, status, poll ? "query" : "synchronize");
    }
}

static void run_batch(struct dag *dag) {
    dag->n_downloads = dag->n_host_steps = dag->n_fills = 0;
    if (dag->plan->hold)
        dag->plan->hold(true);
    for (unsigned i = 0; i < dag->plan->batch && !dag->result->failed; i++)
        dag_submit_one(dag);
    for (unsigned i = 0; i < dag->plan->streams; i++)
        dag_pay(dag, i);
    dag_start(dag);
    if (dag->plan->hold)
        dag->plan->hold(false);
    drain(dag);
    compare(dag);
}

/* --- the objects --- */

static const unsigned bounds[] = {0, 0, 4, 32};

static void make_streams(struct dag *dag) {
    for (unsigned i = 0; i < dag->plan->streams; i++) {
        cls_stream_config config = CLS_STREAM_CONFIG_INIT;
        config.order = dag->plan->order;
        config.max_in_flight = bounds[dag_number(dag, sizeof bounds / sizeof *bounds)];
        dag_ok(dag, cls_stream_create(dag->context, &config, &dag->streams[i]), "stream_create");
        const cls_timeline_config timeline = {sizeof timeline, NULL, 0, dag->streams[i]};
        dag_ok(dag, cls_timeline_create(&timeline, &dag->timelines[i]), "timeline_create");
    }
    dag_ok(dag, cls_timeline_create(NULL, &dag->starts), "timeline_create");
    bool timed = dag_number(dag, 2); /* which changes the streams' queues, for good */
    for (unsigned i = 0; i < EVENTS; i++) {
        const cls_event_config config = {.size = sizeof config,
                                         .timed = timed && dag_number(dag, 4) == 0};
        dag_ok(dag, cls_event_create(dag->context, &config, &dag->events[i]), "event_create");
    }
}

/* All work is done: a new set of streams starts from clocks at zero. */
static void destroy_streams(struct dag *dag) {
    for (unsigned i = 0; i < EVENTS; i++)
        if (dag->events[i])
            dag_ok(dag, cls_event_destroy(dag->events[i]), "event_destroy");
    for (unsigned i = 0; i < DAG_STREAMS; i++) {
        if (dag->timelines[i])
            dag_ok(dag, cls_timeline_destroy(dag->timelines[i]), "timeline_destroy");
        if (dag->streams[i])
            dag_ok(dag, cls_stream_destroy(dag->streams[i]), "stream_destroy");
    }
    if (dag->starts)
        dag_ok(dag, cls_timeline_destroy(dag->starts), "timeline_destroy");
    dag->starts = NULL;
    dag->started = dag->starting = 0;
    memset(dag->owed, 0, sizeof dag->owed);
    memset(dag->timelines, 0, sizeof dag->timelines);
    memset(dag->values, 0, sizeof dag->values);
    memset(dag->events, 0, sizeof dag->events);
    memset(dag->streams, 0, sizeof dag->streams);
    memset(dag->records, 0, sizeof dag->records);
    memset(dag->clocks, 0, sizeof dag->clocks);
    memset(dag->cells, 0, sizeof dag->cells);
}

static bool open_dag(struct dag *dag) {
    bool good =
        dag_ok(dag, cls_program_from_source(dag->context, source, "dag.cl", NULL, &dag->program),
               "program") &&
        dag_ok(dag, cls_kernel_create(dag->program, "advance", &dag->step), "kernel") &&
        dag_ok(dag, cls_kernel_create(dag->program, "combine", &dag->mix), "kernel");
    for (unsigned i = 0; i < BANKS && good; i++)
        good =
            dag_ok(dag, cls_buffer_from_host(dag->context, dag->model, CELLS * 4, &dag->banks[i]),
                   "buffer") &&
            dag_ok(dag, cls_buffer_get_cl(dag->banks[i], &dag->memory[i]), "get_cl");
    for (unsigned i = 0; i < STOCK; i++)
        dag->stock[i] = dag_number(dag, 1u << 31);
    return good;
}

static void close_dag(struct dag *dag) {
    for (unsigned i = 0; i < BANKS; i++)
        if (dag->banks[i])
            cls_buffer_destroy(dag->banks[i]);
    if (dag->step)
        cls_kernel_destroy(dag->step);
    if (dag->mix)
        cls_kernel_destroy(dag->mix);
    if (dag->program)
        cls_program_destroy(dag->program);
}

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void dag_run(cls_context context, const struct dag_plan *plan, struct dag_result *result) {
    memset(result, 0, sizeof *result);
    struct dag *dag = calloc(1, sizeof *dag);
    if (!dag || plan->batch > MAX_BATCH || plan->streams > DAG_STREAMS)
        abort();
    dag->plan = plan;
    dag->result = result;
    dag->random = plan->seed * 2654435761u + 88172645463325252u;
    dag->context = context;
    double until = plan->budget_s > 0 ? now_s() + plan->budget_s : 1e18;
    bool going = open_dag(dag);
    while (going) {
        make_streams(dag);
        for (unsigned i = 0; i < BATCHES_A_STREAM && going; i++) {
            run_batch(dag);
            going = !result->failed && !result->different && result->commands < plan->commands &&
                    now_s() < until;
        }
        destroy_streams(dag);
    }
    close_dag(dag);
    free(dag);
}
