/* SPDX-License-Identifier: MIT */
#include "dag.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <clstream/opencl.h>

#include "scenario.h"

enum {
    CELLS = 96, /* of each bank of device memory */
    BANKS = 2,
    HOST_CELLS = 16, /* changed by host functions and copies */
    RESOURCES = BANKS * CELLS + HOST_CELLS,
    EVENTS = 12,
    RUN = 6,              /* most cells of one copy or fill */
    STOCK = 512,          /* words to upload from */
    BATCHES_A_STREAM = 8, /* then streams are made anew */
    MAX_BATCH = 4096
};

static const char source[] =
    "kernel void advance(global uint *x, uint i, uint factor, uint add) {\n"
    "    x[i] = x[i] * factor + add;\n"
    "}\n"
    "kernel void combine(global uint *x, uint i, global const uint *y, uint j, uint factor) {\n"
    "    x[i] = x[i] * factor + y[j];\n"
    "}\n";

/* How far each stream's work is known to come before something. */
struct clock {
    uint32_t of[DAG_STREAMS];
};

struct record {
    bool recorded;
    unsigned stream;
    struct clock clock;
};

/* Who touched a cell last. */
struct cell {
    unsigned writer;
    uint32_t written; /* the writer's position; 0: nobody */
    uint32_t read[DAG_STREAMS];
};

struct host_step {
    uint32_t *cell;
    uint32_t factor, add;
};

struct foreign_fill {
    cl_mem memory;
    uint32_t from, count, value;
};

/* What the command being submitted is not to wait for, directly or through another stream. */
struct left_out {
    bool now;
    unsigned stream;
    uint32_t position;
};

struct dag {
    const struct dag_plan *plan;
    struct dag_result *result;
    uint64_t random;
    cls_context context;
    cls_program program;
    cls_kernel step, mix;
    cls_buffer banks[BANKS];
    cl_mem memory[BANKS];
    cls_stream streams[DAG_STREAMS];
    cls_event events[EVENTS];
    struct record records[EVENTS];
    struct clock clocks[DAG_STREAMS]; /* of each stream's next command */
    struct cell cells[RESOURCES];
    uint32_t model[RESOURCES];
    uint32_t host[HOST_CELLS];
    uint32_t stock[STOCK];
    /* for one batch */
    uint32_t downloads[MAX_BATCH], expected[MAX_BATCH];
    unsigned n_downloads;
    struct host_step host_steps[MAX_BATCH];
    unsigned n_host_steps;
    struct foreign_fill fills[MAX_BATCH];
    unsigned n_fills;
    struct left_out left_out;
    uint64_t needed; /* waits so far that a conflict asked for */
};

static uint32_t number(struct dag *dag, uint32_t below) {
    dag->random ^= dag->random << 13;
    dag->random ^= dag->random >> 7;
    dag->random ^= dag->random << 17;
    return (uint32_t)(dag->random >> 16) % below;
}

static bool ok(struct dag *dag, cls_status status, const char *what) {
    if (status == CLS_SUCCESS || dag->result->failed)
        return status == CLS_SUCCESS;
    dag->result->failed = true;
    snprintf(dag->result->what, sizeof dag->result->what, "%s: %s (%s)", what,
             cls_status_string(status), cls_last_error_detail());
    return false;
}

/* --- order --- */

static void join(struct clock *to, const struct clock *from) {
    for (unsigned i = 0; i < DAG_STREAMS; i++)
        if (from->of[i] > to->of[i])
            to->of[i] = from->of[i];
}

static void record(struct dag *dag, unsigned event, unsigned stream) {
    ok(dag, cls_event_record(dag->events[event], dag->streams[stream]), "record");
    dag->records[event] = (struct record){true, stream, dag->clocks[stream]};
}

static void wait_for(struct dag *dag, unsigned stream, unsigned event, bool for_real) {
    dag->result->waits++;
    if (for_real)
        ok(dag, cls_stream_wait_event(dag->streams[stream], dag->events[event]), "wait_event");
    else
        dag->result->left_out++;
    join(&dag->clocks[stream], &dag->records[event].clock);
}

/* An event whose latest record already covers the position, or a new record. */
static unsigned covering(struct dag *dag, unsigned stream, uint32_t position) {
    unsigned first = number(dag, EVENTS);
    for (unsigned i = 0; i < EVENTS && number(dag, 2); i++) {
        unsigned event = (first + i) % EVENTS;
        const struct record *known = &dag->records[event];
        if (known->recorded && known->clock.of[stream] >= position)
            return event;
    }
    record(dag, first, stream);
    return first;
}

/* Hands a wait on through a third stream: it waits and records, and submits nothing in between. */
static unsigned relay(struct dag *dag, unsigned event) {
    unsigned stream = number(dag, dag->plan->streams), next = number(dag, EVENTS);
    wait_for(dag, stream, event, true);
    record(dag, next, stream);
    return next;
}

static void come_after(struct dag *dag, unsigned stream, unsigned other, uint32_t position) {
    if (dag->clocks[stream].of[other] >= position)
        return;
    unsigned event = covering(dag, other, position);
    if (number(dag, 8) == 0)
        event = relay(dag, event);
    if (++dag->needed == dag->plan->planted)
        dag->left_out = (struct left_out){true, other, position};
    const struct left_out *left_out = &dag->left_out;
    wait_for(dag, stream, event,
             !left_out->now || dag->records[event].clock.of[left_out->stream] < left_out->position);
}

static void before_read(struct dag *dag, unsigned stream, unsigned cell) {
    come_after(dag, stream, dag->cells[cell].writer, dag->cells[cell].written);
}

static void before_write(struct dag *dag, unsigned stream, unsigned cell) {
    before_read(dag, stream, cell);
    for (unsigned i = 0; i < dag->plan->streams; i++)
        come_after(dag, stream, i, dag->cells[cell].read[i]);
}

/* The position that the stream's next command gets. */
static uint32_t here(struct dag *dag, unsigned stream) {
    return dag->clocks[stream].of[stream] + 1;
}

static void has_read(struct dag *dag, unsigned stream, unsigned cell) {
    dag->cells[cell].read[stream] = here(dag, stream);
}

static void has_written(struct dag *dag, unsigned stream, unsigned cell) {
    dag->cells[cell].writer = stream;
    dag->cells[cell].written = here(dag, stream);
}

/* --- commands: each takes its waits, is submitted, and is done on the model --- */

static unsigned cell_of(unsigned bank, unsigned i) { return bank * CELLS + i; }
static unsigned host_cell(unsigned i) { return BANKS * CELLS + i; }

static unsigned any_cell(struct dag *dag) {
    return number(dag, dag->plan->narrow ? dag->plan->narrow : CELLS);
}

static void do_step(struct dag *dag, unsigned stream) {
    unsigned bank = number(dag, BANKS), i = any_cell(dag), cell = cell_of(bank, i);
    uint32_t factor = number(dag, 1000) * 2 + 3, add = number(dag, 1000);
    const cls_launch shape = cls_launch_1d(1);
    before_write(dag, stream, cell);
    const cls_arg args[] = {cls_arg_buffer(dag->banks[bank]), cls_arg_u32(i), cls_arg_u32(factor),
                            cls_arg_u32(add)};
    ok(dag, cls_kernel_launch_async(dag->step, &shape, args, 4, dag->streams[stream]), "step");
    has_written(dag, stream, cell);
    dag->model[cell] = dag->model[cell] * factor + add;
}

static void do_mix(struct dag *dag, unsigned stream) {
    unsigned to = number(dag, BANKS), i = any_cell(dag);
    unsigned from = number(dag, BANKS), j = any_cell(dag);
    uint32_t factor = number(dag, 1000) * 2 + 3;
    unsigned target = cell_of(to, i), origin = cell_of(from, j);
    const cls_launch shape = cls_launch_1d(1);
    before_write(dag, stream, target);
    before_read(dag, stream, origin);
    const cls_arg args[] = {cls_arg_buffer(dag->banks[to]), cls_arg_u32(i),
                            cls_arg_buffer(dag->banks[from]), cls_arg_u32(j), cls_arg_u32(factor)};
    ok(dag, cls_kernel_launch_async(dag->mix, &shape, args, 5, dag->streams[stream]), "mix");
    has_read(dag, stream, origin);
    has_written(dag, stream, target);
    dag->model[target] = dag->model[target] * factor + dag->model[origin];
}

static void do_copy(struct dag *dag, unsigned stream) {
    unsigned n = number(dag, RUN) + 1, to = number(dag, BANKS), from = (to + 1) % BANKS;
    unsigned i = number(dag, CELLS - n + 1), j = number(dag, CELLS - n + 1);
    for (unsigned k = 0; k < n; k++) {
        before_write(dag, stream, cell_of(to, i + k));
        before_read(dag, stream, cell_of(from, j + k));
    }
    ok(dag,
       cls_copy_d2d_async(dag->banks[to], i * 4, dag->banks[from], j * 4, n * 4,
                          dag->streams[stream]),
       "copy_d2d");
    for (unsigned k = 0; k < n; k++) {
        has_read(dag, stream, cell_of(from, j + k));
        has_written(dag, stream, cell_of(to, i + k));
    }
    memcpy(&dag->model[cell_of(to, i)], &dag->model[cell_of(from, j)], n * 4);
}

/* Claims a run of cells for writing. */
static unsigned claim(struct dag *dag, unsigned stream, unsigned n, unsigned *bank) {
    *bank = number(dag, BANKS);
    unsigned i = number(dag, CELLS - n + 1);
    for (unsigned k = 0; k < n; k++)
        before_write(dag, stream, cell_of(*bank, i + k));
    return i;
}

static void wrote(struct dag *dag, unsigned stream, unsigned bank, unsigned i, unsigned n,
                  const uint32_t *words, bool repeated) {
    for (unsigned k = 0; k < n; k++) {
        has_written(dag, stream, cell_of(bank, i + k));
        dag->model[cell_of(bank, i + k)] = words[repeated ? 0 : k];
    }
}

static void do_fill(struct dag *dag, unsigned stream) {
    unsigned n = number(dag, RUN) + 1, bank, i = claim(dag, stream, n, &bank);
    uint32_t value = number(dag, 1u << 31);
    ok(dag, cls_fill_async(dag->banks[bank], i * 4, n * 4, &value, 4, dag->streams[stream]),
       "fill");
    wrote(dag, stream, bank, i, n, &value, true);
}

static void do_upload(struct dag *dag, unsigned stream) {
    unsigned n = number(dag, RUN) + 1, bank, i = claim(dag, stream, n, &bank);
    const uint32_t *words = &dag->stock[number(dag, STOCK - RUN)];
    ok(dag, cls_copy_h2d_async(dag->banks[bank], i * 4, words, n * 4, dag->streams[stream]),
       "copy_h2d");
    wrote(dag, stream, bank, i, n, words, false);
}

static void do_download(struct dag *dag, unsigned stream) {
    unsigned bank = number(dag, BANKS), i = number(dag, CELLS), cell = cell_of(bank, i);
    unsigned slot = dag->n_downloads++;
    before_read(dag, stream, cell);
    ok(dag,
       cls_copy_d2h_async(&dag->downloads[slot], dag->banks[bank], i * 4, 4, dag->streams[stream]),
       "copy_d2h");
    has_read(dag, stream, cell);
    dag->expected[slot] = dag->model[cell];
}

/* Between a cell of the host and one of the device, so that host functions meet device work. */
static void do_fetch(struct dag *dag, unsigned stream) {
    unsigned bank = number(dag, BANKS), i = number(dag, CELLS), j = number(dag, HOST_CELLS);
    before_write(dag, stream, host_cell(j));
    before_read(dag, stream, cell_of(bank, i));
    ok(dag, cls_copy_d2h_async(&dag->host[j], dag->banks[bank], i * 4, 4, dag->streams[stream]),
       "fetch");
    has_read(dag, stream, cell_of(bank, i));
    has_written(dag, stream, host_cell(j));
    dag->model[host_cell(j)] = dag->model[cell_of(bank, i)];
}

static void do_put(struct dag *dag, unsigned stream) {
    unsigned bank = number(dag, BANKS), i = number(dag, CELLS), j = number(dag, HOST_CELLS);
    before_write(dag, stream, cell_of(bank, i));
    before_read(dag, stream, host_cell(j));
    ok(dag, cls_copy_h2d_async(dag->banks[bank], i * 4, &dag->host[j], 4, dag->streams[stream]),
       "put");
    has_read(dag, stream, host_cell(j));
    has_written(dag, stream, cell_of(bank, i));
    dag->model[cell_of(bank, i)] = dag->model[host_cell(j)];
}

static void host_step(void *arg) {
    const struct host_step *step = arg;
    *step->cell = *step->cell * step->factor + step->add;
}

static void do_host(struct dag *dag, unsigned stream) {
    unsigned i = number(dag, HOST_CELLS), cell = host_cell(i);
    struct host_step *step = &dag->host_steps[dag->n_host_steps++];
    *step = (struct host_step){&dag->host[i], number(dag, 1000) * 2 + 3, number(dag, 1000)};
    before_write(dag, stream, cell);
    ok(dag, cls_stream_launch_host_async(dag->streams[stream], host_step, step), "host function");
    has_written(dag, stream, cell);
    dag->model[cell] = dag->model[cell] * step->factor + step->add;
}

static cl_int foreign_fill(cl_command_queue queue, void *arg) {
    const struct foreign_fill *fill = arg;
    return clEnqueueFillBuffer(queue, fill->memory, &fill->value, 4, fill->from * 4,
                               fill->count * 4, 0, NULL, NULL);
}

static void do_foreign(struct dag *dag, unsigned stream) {
    unsigned n = number(dag, RUN) + 1, bank, i = claim(dag, stream, n, &bank);
    struct foreign_fill *fill = &dag->fills[dag->n_fills++];
    *fill = (struct foreign_fill){dag->memory[bank], i, n, number(dag, 1u << 31)};
    ok(dag, cls_stream_foreign_async(dag->streams[stream], "foreign fill", foreign_fill, fill),
       "foreign call");
    wrote(dag, stream, bank, i, n, &fill->value, true);
}

static void do_record(struct dag *dag, unsigned stream) {
    record(dag, number(dag, EVENTS), stream);
}

static void do_wait(struct dag *dag, unsigned stream) {
    unsigned event = number(dag, EVENTS);
    if (dag->records[event].recorded)
        wait_for(dag, stream, event, true);
}

enum { NARROW_KINDS = 2 };

/* Weights; the rare ones lead off the fast path. */
static const struct {
    unsigned weight;
    void (*submit)(struct dag *dag, unsigned stream);
    bool is_command;
} kinds[] = {
    {300, do_step, true},  {150, do_mix, true},      {150, do_copy, true},   {60, do_fill, true},
    {60, do_upload, true}, {100, do_download, true}, {12, do_host, true},    {6, do_foreign, true},
    {15, do_fetch, true},  {15, do_put, true},       {60, do_record, false}, {60, do_wait, false},
};

static void submit_one(struct dag *dag) {
    unsigned sum = 0, stream = number(dag, dag->plan->streams);
    size_t n = dag->plan->narrow ? NARROW_KINDS : sizeof kinds / sizeof *kinds;
    for (size_t i = 0; i < n; i++)
        sum += kinds[i].weight;
    unsigned at = number(dag, sum);
    size_t kind = 0;
    while (at >= kinds[kind].weight)
        at -= kinds[kind++].weight;
    kinds[kind].submit(dag, stream);
    dag->left_out.now = false;
    if (kinds[kind].is_command) {
        dag->clocks[stream].of[stream]++;
        dag->result->commands++;
    }
}

/* --- batches --- */

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
        if (!ok(dag, cls_copy_d2h(is, dag->banks[bank], 0, sizeof is, NULL), "copy_d2h"))
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
    bool poll = number(dag, 2);
    for (unsigned i = 0; i < dag->plan->streams; i++) {
        cls_status status = CLS_NOT_READY;
        while (poll && (status = cls_stream_query(dag->streams[i])) == CLS_NOT_READY)
            sleep_us(50);
        if (!poll)
            status = cls_stream_synchronize(dag->streams[i]);
        ok(dag, status, poll ? "query" : "synchronize");
    }
}

static void run_batch(struct dag *dag) {
    dag->n_downloads = dag->n_host_steps = dag->n_fills = 0;
    if (dag->plan->hold)
        dag->plan->hold(true);
    for (unsigned i = 0; i < dag->plan->batch && !dag->result->failed; i++)
        submit_one(dag);
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
        config.max_in_flight = bounds[number(dag, sizeof bounds / sizeof *bounds)];
        ok(dag, cls_stream_create(dag->context, &config, &dag->streams[i]), "stream_create");
    }
    bool timed = number(dag, 2); /* which changes the streams' queues, for good */
    for (unsigned i = 0; i < EVENTS; i++) {
        const cls_event_config config = {sizeof config, timed && number(dag, 4) == 0};
        ok(dag, cls_event_create(dag->context, &config, &dag->events[i]), "event_create");
    }
}

/* All work is done: a new set of streams starts from clocks at zero. */
static void destroy_streams(struct dag *dag) {
    for (unsigned i = 0; i < EVENTS; i++)
        if (dag->events[i])
            ok(dag, cls_event_destroy(dag->events[i]), "event_destroy");
    for (unsigned i = 0; i < DAG_STREAMS; i++)
        if (dag->streams[i])
            ok(dag, cls_stream_destroy(dag->streams[i]), "stream_destroy");
    memset(dag->events, 0, sizeof dag->events);
    memset(dag->streams, 0, sizeof dag->streams);
    memset(dag->records, 0, sizeof dag->records);
    memset(dag->clocks, 0, sizeof dag->clocks);
    memset(dag->cells, 0, sizeof dag->cells);
}

static bool open_dag(struct dag *dag) {
    bool good =
        ok(dag, cls_program_from_source(dag->context, source, "dag.cl", NULL, &dag->program),
           "program") &&
        ok(dag, cls_kernel_create(dag->program, "advance", &dag->step), "kernel") &&
        ok(dag, cls_kernel_create(dag->program, "combine", &dag->mix), "kernel");
    for (unsigned i = 0; i < BANKS && good; i++)
        good = ok(dag, cls_buffer_from_host(dag->context, dag->model, CELLS * 4, &dag->banks[i]),
                  "buffer") &&
               ok(dag, cls_buffer_get_cl(dag->banks[i], &dag->memory[i]), "get_cl");
    for (unsigned i = 0; i < STOCK; i++)
        dag->stock[i] = number(dag, 1u << 31);
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

void dag_run(cls_context context, const struct dag_plan *plan, struct dag_result *result) {
    memset(result, 0, sizeof *result);
    struct dag *dag = calloc(1, sizeof *dag);
    if (!dag || plan->batch > MAX_BATCH || plan->streams > DAG_STREAMS)
        abort();
    dag->plan = plan;
    dag->result = result;
    dag->random = plan->seed * 2654435761u + 88172645463325252u;
    dag->context = context;
    bool going = open_dag(dag);
    while (going) {
        make_streams(dag);
        for (unsigned i = 0; i < BATCHES_A_STREAM && going; i++) {
            run_batch(dag);
            going = !result->failed && !result->different && result->commands < plan->commands;
        }
        destroy_streams(dag);
    }
    close_dag(dag);
    free(dag);
}
