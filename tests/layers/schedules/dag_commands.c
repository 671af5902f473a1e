/* SPDX-License-Identifier: MIT */
/* The commands: each takes its waits, is submitted, and is done on the model. */
#include <string.h>

#include "dag_state.h"

static unsigned any_cell(struct dag *dag) {
    return dag_number(dag, dag->plan->narrow ? dag->plan->narrow : CELLS);
}

static void do_step(struct dag *dag, unsigned stream) {
    unsigned bank = dag_number(dag, BANKS), i = any_cell(dag), cell = cell_of(bank, i);
    uint32_t factor = dag_number(dag, 1000) * 2 + 3, add = dag_number(dag, 1000);
    const cls_launch shape = cls_launch_1d(1);
    dag_before_write(dag, stream, cell);
    const cls_arg args[] = {cls_arg_updates(dag->banks[bank], i * 4, 4), cls_arg_u32(i),
                            cls_arg_u32(factor), cls_arg_u32(add)};
    dag_ok(dag, cls_kernel_launch_async(dag->step, &shape, args, 4, dag->streams[stream]), "step");
    dag_has_written(dag, stream, cell);
    dag->model[cell] = dag->model[cell] * factor + add;
}

static void do_mix(struct dag *dag, unsigned stream) {
    unsigned to = dag_number(dag, BANKS), i = any_cell(dag);
    unsigned from = dag_number(dag, BANKS), j = any_cell(dag);
    uint32_t factor = dag_number(dag, 1000) * 2 + 3;
    unsigned target = cell_of(to, i), origin = cell_of(from, j);
    const cls_launch shape = cls_launch_1d(1);
    dag_before_write(dag, stream, target);
    dag_before_read(dag, stream, origin);
    const cls_arg args[] = {cls_arg_updates(dag->banks[to], i * 4, 4), cls_arg_u32(i),
                            cls_arg_reads(dag->banks[from], j * 4, 4), cls_arg_u32(j),
                            cls_arg_u32(factor)};
    dag_ok(dag, cls_kernel_launch_async(dag->mix, &shape, args, 5, dag->streams[stream]), "mix");
    dag_has_read(dag, stream, origin);
    dag_has_written(dag, stream, target);
    dag->model[target] = dag->model[target] * factor + dag->model[origin];
}

static void do_copy(struct dag *dag, unsigned stream) {
    unsigned n = dag_number(dag, RUN) + 1, to = dag_number(dag, BANKS), from = (to + 1) % BANKS;
    unsigned i = dag_number(dag, CELLS - n + 1), j = dag_number(dag, CELLS - n + 1);
    for (unsigned k = 0; k < n; k++) {
        dag_before_write(dag, stream, cell_of(to, i + k));
        dag_before_read(dag, stream, cell_of(from, j + k));
    }
    dag_ok(dag,
           cls_copy_d2d_async(dag->banks[to], i * 4, dag->banks[from], j * 4, n * 4,
                              dag->streams[stream]),
           "copy_d2d");
    for (unsigned k = 0; k < n; k++) {
        dag_has_read(dag, stream, cell_of(from, j + k));
        dag_has_written(dag, stream, cell_of(to, i + k));
    }
    memcpy(&dag->model[cell_of(to, i)], &dag->model[cell_of(from, j)], n * 4);
}

/* A copy by way of memory that lives for just that: where another stream is given it again too early, the cells
 * tell. */
static void do_scratch(struct dag *dag, unsigned stream) {
    unsigned n = dag_number(dag, RUN) + 1, to = dag_number(dag, BANKS),
             from = dag_number(dag, BANKS);
    unsigned i = dag_number(dag, CELLS - n + 1), j = dag_number(dag, CELLS - n + 1);
    cls_stream on = dag->streams[stream];
    cls_buffer scratch = NULL;
    for (unsigned k = 0; k < n; k++) {
        dag_before_write(dag, stream, cell_of(to, i + k));
        dag_before_read(dag, stream, cell_of(from, j + k));
    }
    if (!dag_ok(dag, cls_malloc_async(on, n * 4, &scratch), "malloc"))
        return;
    dag_ok(dag, cls_copy_d2d_async(scratch, 0, dag->banks[from], j * 4, n * 4, on), "to scratch");
    dag_ok(dag, cls_copy_d2d_async(dag->banks[to], i * 4, scratch, 0, n * 4, on), "from scratch");
    dag_ok(dag, cls_free_async(scratch, on), "free");
    for (unsigned k = 0; k < n; k++) {
        dag_has_read(dag, stream, cell_of(from, j + k));
        dag_has_written(dag, stream, cell_of(to, i + k));
    }
    memmove(&dag->model[cell_of(to, i)], &dag->model[cell_of(from, j)], n * 4);
}

/* Claims a run of cells for writing. */
static unsigned claim(struct dag *dag, unsigned stream, unsigned n, unsigned *bank) {
    *bank = dag_number(dag, BANKS);
    unsigned i = dag_number(dag, CELLS - n + 1);
    for (unsigned k = 0; k < n; k++)
        dag_before_write(dag, stream, cell_of(*bank, i + k));
    return i;
}

static void wrote(struct dag *dag, unsigned stream, unsigned bank, unsigned i, unsigned n,
                  const uint32_t *words, bool repeated) {
    for (unsigned k = 0; k < n; k++) {
        dag_has_written(dag, stream, cell_of(bank, i + k));
        dag->model[cell_of(bank, i + k)] = words[repeated ? 0 : k];
    }
}

static void do_fill(struct dag *dag, unsigned stream) {
    unsigned n = dag_number(dag, RUN) + 1, bank, i = claim(dag, stream, n, &bank);
    uint32_t value = dag_number(dag, 1u << 31);
    dag_ok(dag, cls_fill_async(dag->banks[bank], i * 4, n * 4, &value, 4, dag->streams[stream]),
           "fill");
    wrote(dag, stream, bank, i, n, &value, true);
}

static void do_upload(struct dag *dag, unsigned stream) {
    unsigned n = dag_number(dag, RUN) + 1, bank, i = claim(dag, stream, n, &bank);
    const uint32_t *words = &dag->stock[dag_number(dag, STOCK - RUN)];
    dag_ok(dag, cls_copy_h2d_async(dag->banks[bank], i * 4, words, n * 4, dag->streams[stream]),
           "copy_h2d");
    wrote(dag, stream, bank, i, n, words, false);
}

static void do_download(struct dag *dag, unsigned stream) {
    unsigned bank = dag_number(dag, BANKS), i = dag_number(dag, CELLS), cell = cell_of(bank, i);
    unsigned slot = dag->n_downloads++;
    dag_before_read(dag, stream, cell);
    dag_ok(
        dag,
        cls_copy_d2h_async(&dag->downloads[slot], dag->banks[bank], i * 4, 4, dag->streams[stream]),
        "copy_d2h");
    dag_has_read(dag, stream, cell);
    dag->expected[slot] = dag->model[cell];
}

/* Between a cell of the host and one of the device, so that host functions meet device work. */
static void do_fetch(struct dag *dag, unsigned stream) {
    unsigned bank = dag_number(dag, BANKS), i = dag_number(dag, CELLS),
             j = dag_number(dag, HOST_CELLS);
    dag_before_write(dag, stream, host_cell(j));
    dag_before_read(dag, stream, cell_of(bank, i));
    dag_ok(dag, cls_copy_d2h_async(&dag->host[j], dag->banks[bank], i * 4, 4, dag->streams[stream]),
           "fetch");
    dag_has_read(dag, stream, cell_of(bank, i));
    dag_has_written(dag, stream, host_cell(j));
    dag->model[host_cell(j)] = dag->model[cell_of(bank, i)];
}

static void do_put(struct dag *dag, unsigned stream) {
    unsigned bank = dag_number(dag, BANKS), i = dag_number(dag, CELLS),
             j = dag_number(dag, HOST_CELLS);
    dag_before_write(dag, stream, cell_of(bank, i));
    dag_before_read(dag, stream, host_cell(j));
    dag_ok(dag, cls_copy_h2d_async(dag->banks[bank], i * 4, &dag->host[j], 4, dag->streams[stream]),
           "put");
    dag_has_read(dag, stream, host_cell(j));
    dag_has_written(dag, stream, cell_of(bank, i));
    dag->model[cell_of(bank, i)] = dag->model[host_cell(j)];
}

static void host_step(void *arg) {
    const struct host_step *step = arg;
    cls_check_host_access(step->cell, sizeof *step->cell, CLS_ACCESS_READ_WRITE);
    *step->cell = *step->cell * step->factor + step->add;
}

static void do_host(struct dag *dag, unsigned stream) {
    unsigned i = dag_number(dag, HOST_CELLS), cell = host_cell(i);
    struct host_step *step = &dag->host_steps[dag->n_host_steps++];
    *step = (struct host_step){&dag->host[i], dag_number(dag, 1000) * 2 + 3, dag_number(dag, 1000)};
    dag_before_write(dag, stream, cell);
    dag_ok(dag, cls_stream_launch_host_async(dag->streams[stream], host_step, step),
           "host function");
    dag_has_written(dag, stream, cell);
    dag->model[cell] = dag->model[cell] * step->factor + step->add;
}

static cl_int foreign_fill(cl_command_queue queue, void *arg) {
    const struct foreign_fill *fill = arg;
    cls_check_buffer_access(fill->bank, fill->from * 4, fill->count * 4, CLS_ACCESS_WRITE);
    return clEnqueueFillBuffer(queue, fill->memory, &fill->value, 4, fill->from * 4,
                               fill->count * 4, 0, NULL, NULL);
}

static void do_foreign(struct dag *dag, unsigned stream) {
    unsigned n = dag_number(dag, RUN) + 1, bank, i = claim(dag, stream, n, &bank);
    struct foreign_fill *fill = &dag->fills[dag->n_fills++];
    *fill =
        (struct foreign_fill){dag->banks[bank], dag->memory[bank], i, n, dag_number(dag, 1u << 31)};
    dag_ok(dag, cls_stream_foreign_async(dag->streams[stream], "foreign fill", foreign_fill, fill),
           "foreign call");
    wrote(dag, stream, bank, i, n, &fill->value, true);
}

static void do_record(struct dag *dag, unsigned stream) {
    dag_record(dag, dag_number(dag, EVENTS), stream);
}

static void do_wait(struct dag *dag, unsigned stream) {
    unsigned event = dag_number(dag, EVENTS);
    if (dag->records[event].recorded)
        dag_wait_for(dag, stream, event, true);
}

enum { NARROW_KINDS = 2 };

/* Weights; the rare ones lead off the fast path. */
static const struct {
    unsigned weight;
    void (*submit)(struct dag *dag, unsigned stream);
    bool is_command;
} kinds[] = {
    {300, do_step, true},   {150, do_mix, true},   {150, do_copy, true},     {60, do_fill, true},
    {80, do_scratch, true}, {60, do_upload, true}, {100, do_download, true}, {12, do_host, true},
    {6, do_foreign, true},  {15, do_fetch, true},  {15, do_put, true},       {60, do_record, false},
    {60, do_wait, false},
};

void dag_submit_one(struct dag *dag) {
    unsigned sum = 0, stream = dag_number(dag, dag->plan->streams);
    size_t n = dag->plan->narrow ? NARROW_KINDS : sizeof kinds / sizeof *kinds;
    for (size_t i = 0; i < n; i++)
        sum += kinds[i].weight;
    unsigned at = dag_number(dag, sum);
    size_t kind = 0;
    while (at >= kinds[kind].weight)
        at -= kinds[kind++].weight;
    if (dag_number(dag, 8) == 0)
        dag_start(dag);
    if (dag_number(dag, 100) == 0)
        dag_wait_to_start(dag, stream);
    dag_pay(dag, stream);
    kinds[kind].submit(dag, stream);
    dag->left_out.now = false;
    if (kinds[kind].is_command) {
        dag->clocks[stream].of[stream]++;
        dag->result->commands++;
    }
}
