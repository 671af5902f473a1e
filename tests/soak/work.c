/* SPDX-License-Identifier: MIT */
#include "work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "work_state.h"

static const char source[] = "kernel void advance(global uint *x, uint factor, uint add) {\n"
                             "    size_t i = get_global_id(0);\n"
                             "    x[i] = x[i] * factor + add;\n"
                             "}\n";

bool well(cls_status status, const char *what) {
    if (status)
        fprintf(stderr, "%s: %s: %s\n", what, cls_status_string(status), cls_last_error_detail());
    return !status;
}

unsigned draw(struct work *work, unsigned below) {
    work->random ^= work->random << 13;
    work->random ^= work->random >> 7;
    work->random ^= work->random << 17;
    return (unsigned)((work->random >> 16) % below);
}

/* --- commands --- */

bool add_by_kernel_on(struct work *work, struct lane *lane, cls_stream stream) {
    const uint32_t add = draw(work, 100);
    const cls_launch shape = cls_launch_1d(WORDS);
    const cls_arg args[] = {cls_arg_buffer(lane->array), cls_arg_u32(3), cls_arg_u32(add)};
    lane->value = lane->value * 3 + add;
    return WELL(cls_kernel_launch_async(work->step, &shape, args, 3, stream));
}

static bool add_by_kernel(struct work *work, struct lane *lane) {
    return add_by_kernel_on(work, lane, lane->stream);
}

static bool add_by_operation(struct work *work, struct lane *lane) {
    const uint32_t add = draw(work, 100);
    const cls_array view = cls_array_of(lane->array, CLS_U32, WORDS);
    lane->value += add;
    return WELL(cls_unary_param_async(CLS_UNARY_ADD_SCALAR, view, view, add, lane->stream));
}

bool fill(struct work *work, struct lane *lane) {
    lane->value = draw(work, 1000);
    return WELL(cls_fill_async(lane->array, 0, BYTES, &lane->value, 4, lane->stream));
}

const uint32_t *words_to_upload(struct lane *lane, uint32_t value) {
    uint32_t *words = lane->in[lane->slot++ % SLOTS];
    for (unsigned i = 0; i < WORDS; i++)
        words[i] = value;
    return words;
}

static bool upload(struct work *work, struct lane *lane) {
    lane->value = draw(work, 1000);
    const uint32_t *from = words_to_upload(lane, lane->value);
    return WELL(cls_copy_h2d_async(lane->array, 0, from, BYTES, lane->stream));
}

static bool download(struct work *work, struct lane *lane) {
    uint32_t *to = lane->out[lane->slot % SLOTS];
    (void)work;
    lane->slot++;
    return WELL(cls_copy_d2h_async(to, lane->array, 0, BYTES, lane->stream));
}

/* Takes another lane's array over: each waits for the other. */
static bool take_over(struct work *work, struct lane *lane) {
    struct lane *from = &work->lanes[draw(work, LANES)];
    if (from == lane)
        return true;
    lane->value = from->value;
    return WELL(cls_event_record(from->done, from->stream)) &&
           WELL(cls_stream_wait_event(lane->stream, from->done)) &&
           WELL(cls_copy_d2d_async(lane->array, 0, from->array, 0, BYTES, lane->stream)) &&
           WELL(cls_event_record(lane->done, lane->stream)) &&
           WELL(cls_stream_wait_event(from->stream, lane->done));
}

/* Adds by way of memory of the stream's order. */
static bool borrow_memory(struct work *work, struct lane *lane) {
    const cls_array view = cls_array_of(lane->array, CLS_U32, WORDS);
    cls_buffer memory;
    if (!WELL(cls_malloc_async(lane->stream, BYTES << draw(work, 4), &memory)))
        return false;
    const cls_array borrowed = cls_array_of(memory, CLS_U32, WORDS);
    lane->value += 7;
    return WELL(cls_unary_param_async(CLS_UNARY_ADD_SCALAR, view, borrowed, 7, lane->stream)) &&
           WELL(cls_unary_async(CLS_UNARY_COPY, borrowed, view, lane->stream)) &&
           WELL(cls_free_async(memory, lane->stream));
}

static void host_function(void *arg) {
    struct work *work = arg;
    atomic_fetch_add(&work->host_done, 1);
}

static void callback(cls_stream stream, cls_status status, void *arg) {
    (void)stream;
    if (!status)
        host_function(arg);
}

static bool call_host(struct work *work, struct lane *lane) {
    work->host_due++;
    return WELL(cls_stream_launch_host_async(lane->stream, host_function, work));
}

static bool call_back(struct work *work, struct lane *lane) {
    work->host_due++;
    return WELL(cls_stream_add_callback(lane->stream, callback, work));
}

/* --- objects that come and go --- */

static bool renew_stream(struct work *work, struct lane *lane) {
    cls_stream old = lane->stream;
    return WELL(cls_event_record(lane->done, old)) &&
           WELL(cls_stream_create(work->context, NULL, &lane->stream)) &&
           WELL(cls_stream_wait_event(lane->stream, lane->done)) && leave_set(work, old) &&
           join_set(work, lane) && WELL(cls_stream_destroy(old));
}

static bool renew_event(struct work *work, struct lane *lane) {
    cls_event old = lane->done;
    return WELL(cls_event_record(old, lane->stream)) &&
           WELL(cls_event_create(work->context, NULL, &lane->done)) && WELL(cls_event_destroy(old));
}

static bool renew_buffer(struct work *work, struct lane *lane) {
    cls_buffer old = lane->array;
    return WELL(cls_buffer_create(work->context, BYTES, &lane->array)) &&
           WELL(cls_copy_d2d_async(lane->array, 0, old, 0, BYTES, lane->stream)) &&
           WELL(cls_buffer_destroy(old));
}

static bool renew_kernel(struct work *work, struct lane *lane) {
    cls_program program;
    cls_kernel old = work->step;
    (void)lane;
    return WELL(cls_program_from_source(work->context, source, NULL, NULL, &program)) &&
           WELL(cls_kernel_create(program, "advance", &work->step)) &&
           WELL(cls_program_destroy(program)) && WELL(cls_kernel_destroy(old));
}

/* --- what waits --- */

static bool all_of(const uint32_t *words, uint32_t value) {
    for (unsigned i = 0; i < WORDS; i++)
        if (words[i] != value)
            return false;
    return true;
}

static bool check_lane(struct lane *lane) {
    uint32_t words[WORDS];
    if (!WELL(cls_copy_d2h(words, lane->array, 0, BYTES, lane->stream)))
        return false;
    if (all_of(words, lane->value))
        return true;
    fprintf(stderr, "an array holds %u where %u is due\n", words[0], lane->value);
    return false;
}

static bool wait_for_lane(struct work *work, struct lane *lane) {
    (void)work;
    lane->pending = 0;
    lane->slot = 0;
    return check_lane(lane);
}

static bool poll(struct work *work, struct lane *lane) {
    (void)work;
    const cls_status status = cls_stream_query(lane->stream);
    return status == CLS_NOT_READY || WELL(status);
}

/* Big copies go through staging where the memory is pageable. */
static bool copy_big(struct work *work, struct lane *lane) {
    void *host = draw(work, 2) ? work->pinned : work->pageable;
    memset(host, (int)draw(work, 256), BIG_BYTES);
    return WELL(cls_copy_h2d_async(work->big, 0, host, BIG_BYTES, lane->stream)) &&
           WELL(cls_copy_d2h(host, work->big, 0, BIG_BYTES, lane->stream));
}

static bool time_a_fill(struct work *work, struct lane *lane) {
    const uint32_t zero = 0;
    double ms = -1;
    (void)lane;
    if (!WELL(cls_event_record(work->first, work->timed)) ||
        !WELL(cls_fill_async(work->big, 0, BYTES, &zero, 4, work->timed)) ||
        !WELL(cls_event_record(work->last, work->timed)) ||
        !WELL(cls_event_synchronize(work->last)) ||
        !WELL(cls_event_elapsed(work->first, work->last, &ms)))
        return false;
    if (ms >= 0)
        return true;
    fprintf(stderr, "a fill took %g ms\n", ms);
    return false;
}

/* --- the mix --- */

static const struct {
    unsigned weight, commands;
    bool (*act)(struct work *work, struct lane *lane);
} mix[] = {
    {4000, 1, add_by_kernel}, {2000, 1, add_by_operation}, {1000, 1, fill},
    {600, 1, upload},         {600, 1, download},          {800, 1, take_over},
    {400, 1, call_host},      {200, 1, call_back},         {40, 0, renew_event},
    {20, 0, renew_stream},    {40, 1, renew_buffer},       {400, 0, poll},
    {4, 2, copy_big},         {20, 3, time_a_fill},        {1, 0, renew_kernel},
    {400, 2, borrow_memory},  {400, 1, take_by_timeline},  {100, 1, hold_back},
    {100, 7, run_phase},      {200, 3, run_tasks},         {200, 1, run_batch},
    {200, 3, run_pipeline},   {10, 0, renew_timeline},     {4, 0, renew_set},
    {4, 0, renew_batch},      {2, 0, renew_pipeline},
};

enum { ACTS = sizeof mix / sizeof *mix };

static unsigned pick(struct work *work) {
    unsigned sum = 0, i = 0;
    for (unsigned k = 0; k < ACTS; k++)
        sum += mix[k].weight;
    for (unsigned left = draw(work, sum); left >= mix[i].weight; i++)
        left -= mix[i].weight;
    return i;
}

bool work_run(struct work *work, uint64_t count) {
    for (uint64_t done = 0; done < count;) {
        struct lane *lane = &work->lanes[draw(work, LANES)];
        if ((++lane->pending >= ROUND || lane->slot >= SLOTS) && !wait_for_lane(work, lane))
            return false;
        const unsigned i = pick(work);
        if (!mix[i].act(work, lane))
            return false;
        done += mix[i].commands;
    }
    return true;
}

bool work_check(struct work *work) {
    for (unsigned i = 0; i < LANES; i++)
        if (!wait_for_lane(work, &work->lanes[i]))
            return false;
    /* A pipeline has events of its own for as long as it is: each part ends with a new one. */
    if (!WELL(cls_stream_synchronize(work->timed)) || !renew_pipeline(work, NULL))
        return false;
    if (atomic_load(&work->host_done) == work->host_due)
        return true;
    fprintf(stderr, "%llu host functions ran where %llu are due\n",
            (unsigned long long)atomic_load(&work->host_done), (unsigned long long)work->host_due);
    return false;
}

/* --- making it --- */

static bool lane_init(struct work *work, struct lane *lane) {
    return WELL(cls_stream_create(work->context, NULL, &lane->stream)) &&
           WELL(cls_event_create(work->context, NULL, &lane->done)) &&
           WELL(cls_buffer_create(work->context, BYTES, &lane->array)) &&
           WELL(cls_buffer_create(work->context, BYTES, &lane->other)) &&
           WELL(cls_timeline_create(NULL, &lane->timeline)) && fill(work, lane);
}

static bool init(struct work *work) {
    cls_event_config timed = CLS_EVENT_CONFIG_INIT;
    cls_program program;
    timed.timed = 1;
    for (unsigned i = 0; i < LANES; i++)
        if (!lane_init(work, &work->lanes[i]))
            return false;
    work->pageable = malloc(BIG_BYTES);
    return work->pageable &&
           WELL(cls_program_from_source(work->context, source, NULL, NULL, &program)) &&
           WELL(cls_kernel_create(program, "advance", &work->step)) &&
           WELL(cls_program_destroy(program)) &&
           WELL(cls_event_create(work->context, &timed, &work->first)) &&
           WELL(cls_event_create(work->context, &timed, &work->last)) &&
           WELL(cls_stream_create(work->context, NULL, &work->timed)) &&
           WELL(cls_buffer_create(work->context, BIG_BYTES, &work->big)) &&
           WELL(cls_host_alloc(work->context, BIG_BYTES, &work->pinned)) && blocks_init(work);
}

struct work *work_new(cls_context context, uint64_t seed) {
    struct work *work = calloc(1, sizeof *work);
    if (!work)
        return NULL;
    work->context = context;
    work->random = 0x9e3779b97f4a7c15u * (seed + 1);
    if (init(work))
        return work;
    work_free(work);
    return NULL;
}

/* Handles that were never made are null, which destroying refuses. */
void work_free(struct work *work) {
    blocks_free(work);
    for (unsigned i = 0; i < LANES; i++) {
        cls_stream_destroy(work->lanes[i].stream);
        cls_event_destroy(work->lanes[i].done);
        cls_timeline_destroy(work->lanes[i].timeline);
        cls_buffer_destroy(work->lanes[i].array);
        cls_buffer_destroy(work->lanes[i].other);
    }
    cls_host_free(work->pinned);
    cls_buffer_destroy(work->big);
    cls_stream_destroy(work->timed);
    cls_event_destroy(work->first);
    cls_event_destroy(work->last);
    cls_kernel_destroy(work->step);
    free(work->pageable);
    free(work);
}
