/* SPDX-License-Identifier: MIT */
/* Commands on the cells of one lane, of every kind; their order shows in the values. */
#include <string.h>
#include <time.h>

#include "operations.h"

enum { UNREAD = 0xdeadbeef };

struct run {
    unsigned i, n;
};

static struct run any_run(struct player *player) {
    unsigned n = 1 + draw(player, ROW);
    return (struct run){draw(player, CELLS - n + 1), n};
}

/* Two of one length that do not overlap: in the lower and in the upper half. */
static void two_runs(struct player *player, struct run *to, struct run *from) {
    unsigned n = 1 + draw(player, ROW), half = CELLS / 2;
    *to = (struct run){draw(player, half - n + 1), n};
    *from = (struct run){half + draw(player, half - n + 1), n};
    if (chance(player, 2)) {
        unsigned i = to->i;
        to->i = from->i;
        from->i = i;
    }
}

static uint32_t odd_factor(struct player *player) { return 2 * draw(player, 1000) + 3; }

/* Mostly short; some that take a moment, so that what follows finds them at work. */
static uint32_t any_rounds(struct player *player) {
    static const uint32_t rounds[] = {1, 1, 10, 1000, 20000};
    return chance(player, 30) ? 300000 : rounds[draw(player, 5)];
}

static void launch_advance(struct player *player, struct lane *lane, cls_buffer cells,
                           struct run run, uint32_t factor, uint32_t add) {
    const cls_launch shape = cls_launch_1d(run.n);
    const cls_arg args[] = {cls_arg_updates(cells, run.i * 4, run.n * 4), cls_arg_u32(run.i),
                            cls_arg_u32(factor), cls_arg_u32(add), cls_arg_u32(any_rounds(player))};
    taken(player, lane,
          cls_kernel_launch_async(player->world->advance, &shape, args, 5, lane->stream),
          "advance");
}

static void advance(struct player *player, struct lane *lane) {
    struct run run = any_run(player);
    uint32_t factor = odd_factor(player), add = draw(player, 1000);
    launch_advance(player, lane, lane->cells, run, factor, add);
    model_advance(&lane->model, run.i, run.n, factor, add);
}

void do_aside(struct player *player, struct lane *lane) {
    launch_advance(player, lane, lane->aside, any_run(player), 1, 1);
}

static void blend(struct player *player, struct lane *lane) {
    struct run to, from;
    uint32_t factor = odd_factor(player);
    two_runs(player, &to, &from);
    const cls_launch shape = cls_launch_1d(to.n);
    const cls_arg args[] = {cls_arg_updates(lane->cells, to.i * 4, to.n * 4), cls_arg_u32(to.i),
                            cls_arg_reads(lane->cells, from.i * 4, to.n * 4), cls_arg_u32(from.i),
                            cls_arg_u32(factor)};
    taken(player, lane,
          cls_kernel_launch_async(player->world->blend, &shape, args, 5, lane->stream), "blend");
    model_mix(&lane->model, to.i, &lane->model.cells[from.i], to.n, factor);
}

static void copy(struct player *player, struct lane *lane) {
    struct run to, from;
    two_runs(player, &to, &from);
    taken(
        player, lane,
        cls_copy_d2d_async(lane->cells, to.i * 4, lane->cells, from.i * 4, to.n * 4, lane->stream),
        "copy_d2d");
    model_write(&lane->model, to.i, &lane->model.cells[from.i], to.n);
}

static void add_typed(struct player *player, struct lane *lane) {
    uint32_t add = draw(player, 1000);
    const cls_array cells = cls_array_of(lane->cells, CLS_U32, CELLS);
    taken(player, lane,
          cls_unary_param_async(CLS_UNARY_ADD_SCALAR, cells, cells, add, lane->stream),
          "add_scalar");
    model_advance(&lane->model, 0, CELLS, 1, add);
}

static void sort_cells(struct player *player, struct lane *lane) {
    const struct run run = any_run(player);
    const cls_array cells = cls_array_at(lane->cells, CLS_U32, run.i, run.n);
    cls_sort_config config = CLS_SORT_CONFIG_INIT;
    config.descending = chance(player, 2);
    taken(player, lane, cls_sort_async(cells, cells, &config, lane->stream), "sort");
    model_sort(&lane->model, run.i, run.n, config.descending);
}

static void fill(struct player *player, struct lane *lane) {
    struct run run = any_run(player);
    uint32_t value = draw(player, 1u << 31);
    taken(player, lane, cls_fill_async(lane->cells, run.i * 4, run.n * 4, &value, 4, lane->stream),
          "fill");
    model_fill(&lane->model, run.i, run.n, value);
}

/* Words of the host that nobody changes until the lane is settled. */
static const uint32_t *words_to_send(struct player *player, struct lane *lane, unsigned n) {
    uint32_t *words = &lane->pending.in[lane->pending.n_in];
    lane->pending.n_in += n;
    for (unsigned i = 0; i < n; i++)
        words[i] = draw(player, 1u << 31);
    return words;
}

static void send_words(struct player *player, struct lane *lane) {
    struct run run = any_run(player);
    const uint32_t *words = words_to_send(player, lane, run.n);
    taken(player, lane, cls_copy_h2d_async(lane->cells, run.i * 4, words, run.n * 4, lane->stream),
          "copy_h2d");
    model_write(&lane->model, run.i, words, run.n);
}

/* What is to be there once the lane is settled: the cells of now, or what was there before. */
static uint32_t *words_to_read(struct lane *lane, unsigned n) {
    uint32_t *words = &lane->pending.out[lane->pending.n_out];
    for (unsigned i = 0; i < n; i++)
        words[i] = lane->pending.expected[lane->pending.n_out + i] = UNREAD;
    lane->pending.n_out += n;
    return words;
}

static void expect_read(struct lane *lane, const uint32_t *words, unsigned i, unsigned n) {
    uint32_t *expected = &lane->pending.expected[words - lane->pending.out];
    if (model_is_well(&lane->model))
        memcpy(expected, &lane->model.cells[i], n * sizeof *expected);
}

static void read_back(struct player *player, struct lane *lane) {
    struct run run = any_run(player);
    uint32_t *words = words_to_read(lane, run.n);
    expect_read(lane, words, run.i, run.n);
    taken(player, lane, cls_copy_d2h_async(words, lane->cells, run.i * 4, run.n * 4, lane->stream),
          "copy_d2h");
}

/* --- rectangles: the cells are rows --- */

/* `width` cells of each of `height` rows, from row and column on; the other side is dense. */
static cls_rect any_rect(struct player *player, unsigned *width, unsigned *height,
                         unsigned *first) {
    *width = 1 + draw(player, ROW);
    *height = 1 + draw(player, CELLS / ROW);
    *first = draw(player, CELLS / ROW - *height + 1) * ROW + draw(player, ROW - *width + 1);
    return (cls_rect){.width = *width * 4, .height = *height};
}

static void send_rect(struct player *player, struct lane *lane) {
    unsigned width, height, first;
    cls_rect rect = any_rect(player, &width, &height, &first);
    const uint32_t *words = words_to_send(player, lane, width * height);
    rect.dst_offset = first * 4;
    rect.dst_pitch = ROW * 4;
    rect.src_pitch = width * 4;
    taken(player, lane, cls_copy_rect_h2d_async(lane->cells, words, &rect, lane->stream),
          "rect_h2d");
    for (unsigned row = 0; row < height; row++)
        model_write(&lane->model, first + row * ROW, &words[row * width], width);
}

static void read_rect(struct player *player, struct lane *lane) {
    unsigned width, height, first;
    cls_rect rect = any_rect(player, &width, &height, &first);
    uint32_t *words = words_to_read(lane, width * height);
    rect.src_offset = first * 4;
    rect.src_pitch = ROW * 4;
    rect.dst_pitch = width * 4;
    for (unsigned row = 0; row < height; row++)
        expect_read(lane, &words[row * width], first + row * ROW, width);
    taken(player, lane, cls_copy_rect_d2h_async(words, lane->cells, &rect, lane->stream),
          "rect_d2h");
}

/* From the lower half of the rows to the upper one. */
static void copy_rect(struct player *player, struct lane *lane) {
    unsigned width = 1 + draw(player, ROW), height = 1 + draw(player, CELLS / ROW / 2);
    unsigned from = draw(player, ROW - width + 1), to = CELLS / 2 + draw(player, ROW - width + 1);
    const cls_rect rect = {width * 4, height, to * 4, ROW * 4, from * 4, ROW * 4, 0, 0, 0};
    taken(player, lane, cls_copy_rect_d2d_async(lane->cells, lane->cells, &rect, lane->stream),
          "rect_d2d");
    for (unsigned row = 0; row < height; row++)
        model_write(&lane->model, to + row * ROW, &lane->model.cells[from + row * ROW], width);
}

/* --- the host's code --- */

static void run_step(void *arg) {
    const struct host_step *step = arg;
    const struct timespec nap = {0, (long)step->nap_us * 1000};
    if (step->nap_us)
        nanosleep(&nap, NULL);
    *step->cell = *step->cell * step->factor + step->add;
}

static void host_function(struct player *player, struct lane *lane) {
    struct host_step *step = &lane->pending.steps[lane->pending.n_steps++];
    *step = (struct host_step){&lane->host, odd_factor(player), draw(player, 1000),
                               chance(player, 3) ? draw(player, 2000) : 0};
    taken(player, lane, cls_stream_launch_host_async(lane->stream, run_step, step),
          "host function");
    if (model_is_well(&lane->model))
        lane->model.host = lane->model.host * step->factor + step->add;
}

static void tell(cls_stream stream, cls_status status, void *arg) {
    struct told *told = arg;
    (void)stream;
    told->status = status;
    atomic_fetch_add(&told->calls, 1);
}

static void callback(struct player *player, struct lane *lane) {
    struct told *told = &lane->pending.told[lane->pending.n_told++];
    told->calls = 0;
    told->failed = !model_is_well(&lane->model);
    well(player, cls_stream_add_callback(lane->stream, tell, told), "callback");
}

static cl_int enqueue_nothing(cl_command_queue queue, void *arg) {
    (void)arg;
    return clFlush(queue);
}

static void foreign(struct player *player, struct lane *lane) {
    taken(player, lane,
          cls_stream_foreign_async(lane->stream, "foreign, well", enqueue_nothing, NULL),
          "foreign");
}

static void prefetch(struct player *player, struct lane *lane) {
    taken(player, lane,
          cls_prefetch_async(lane->cells, chance(player, 2) ? CLS_TO_HOST : CLS_TO_DEVICE,
                             lane->stream),
          "prefetch");
}

/* --- all of them --- */

static const struct {
    unsigned weight;
    const char *name;
    void (*submit)(struct player *player, struct lane *lane);
} kinds[] = {
    {30, "advance", advance},
    {12, "blend", blend},
    {10, "copy", copy},
    {6, "add_typed", add_typed},
    {4, "sort_cells", sort_cells},
    {6, "fill", fill},
    {8, "send_words", send_words},
    {10, "read_back", read_back},
    {3, "send_rect", send_rect},
    {3, "read_rect", read_rect},
    {3, "copy_rect", copy_rect},
    {6, "host_function", host_function},
    {4, "callback", callback},
    {2, "foreign", foreign},
    {1, "prefetch", prefetch},
};

void do_plain_command(struct player *player, struct lane *lane) {
    unsigned sum = 0, kind = 0;
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
        sum += kinds[i].weight;
    for (unsigned at = draw(player, sum); at >= kinds[kind].weight; kind++)
        at -= kinds[kind].weight;
    journal_note(player->journal, "lane %u: %s", lane->number, kinds[kind].name);
    kinds[kind].submit(player, lane);
}

static void read_now(struct player *player, struct lane *lane) {
    uint32_t words[ROW];
    struct run run = any_run(player);
    cls_status status = cls_copy_d2h(words, lane->cells, run.i * 4, run.n * 4, lane->stream);
    journal_note(player->journal, "lane %u: read now, %s", lane->number, cls_status_string(status));
    answered(player, lane, model_ends(!model_is_well(&lane->model), status), status, "copy_d2h");
    if (status == CLS_SUCCESS && memcmp(words, &lane->model.cells[run.i], run.n * 4) != 0)
        journal_wrong(player->journal, "lane %u: cells %u to %u are not the model's", lane->number,
                      run.i, run.i + run.n - 1);
}

void do_command(struct player *player, struct lane *lane) {
    lane_make_room(player, lane);
    if (chance(player, 60))
        read_now(player, lane);
    else
        do_plain_command(player, lane);
}
