/* SPDX-License-Identifier: MIT */
/* The outstanding work of a pool's streams, as clstream/pool.h defines it. */
#include "coordinator/internals.h"
#include "coordinator/pool.h"

/* Assumed durations of a command and of a byte copied, where nothing better is known. */
static const double COMMAND_NS = 2000, BYTE_NS = 0.1;

/* The counters of a stream at one moment. */
struct snapshot {
    uint64_t submitted, retired;
    double size; /* of all that was ever submitted */
};

static struct snapshot take_snapshot(const struct pool *pool, struct stream *stream) {
    pthread_mutex_lock(&stream->lock);
    const cls_stream_counters *counters = &stream->counters;
    const double bytes = (double)counters->bytes_to_device + (double)counters->bytes_to_host +
                         (double)counters->bytes_on_device;
    struct snapshot now = {
        .submitted = stream->submitted,
        .retired = atomic_load(&stream->retired),
        .size = COMMAND_NS * (double)stream->submitted +
                pool->item_ns * (double)counters->work_items + BYTE_NS * bytes,
    };
    pthread_mutex_unlock(&stream->lock);
    return now;
}

static struct pool_piece *piece_at(struct work *work, unsigned i) {
    return &work->pieces[(work->first + i) % PIECES];
}

/* The cost that is left of a piece, in proportion to its commands. */
static double left_of(const struct pool_piece *piece, uint64_t retired) {
    if (retired <= piece->from)
        return piece->cost;
    return piece->cost * (double)(piece->to - retired) / (double)(piece->to - piece->from);
}

static void drop_done(struct work *work, uint64_t retired) {
    while (work->count && piece_at(work, 0)->to <= retired) {
        work->first = (work->first + 1) % PIECES;
        work->count--;
    }
}

/* The cost of the open piece: what its holders said, or else an estimate from the size of its commands. */
static double open_cost(const struct work *work, const struct snapshot *now) {
    return work->n_expected ? work->expected : now->size - work->size_at_close;
}

static double left_of_open(const struct work *work, const struct snapshot *now) {
    struct pool_piece open = {work->closed, now->submitted, open_cost(work, now)};
    if (open.to == open.from)
        return work->expected;
    return now->retired < open.to ? left_of(&open, now->retired) : 0;
}

struct load pooled_load(const struct pool *pool, struct pooled *pooled) {
    struct work *work = &pooled->work;
    stream_poll(pooled->stream);
    const struct snapshot now = take_snapshot(pool, pooled->stream);
    struct load load = {now.submitted - now.retired, 0};
    drop_done(work, now.retired);
    for (unsigned i = 0; i < work->count; i++)
        load.ns += left_of(piece_at(work, i), now.retired);
    load.ns += left_of_open(work, &now);
    return load;
}

void pooled_add_holder(struct pooled *pooled, double cost) {
    if (!pooled->holders++)
        pooled->work.held_from = stream_newest(pooled->stream);
    if (cost > 0) {
        pooled->work.expected += cost;
        pooled->work.n_expected++;
    }
}

/* Takes one holder's cost off: an equal share of what all holders with a cost said; 0: none did. */
static double take_share(struct work *work) {
    if (!work->n_expected)
        return 0;
    double share = work->expected / work->n_expected;
    work->n_expected--;
    work->expected = work->n_expected ? work->expected - share : 0;
    return share;
}

/* Closes the open piece. Without room, or when nothing was submitted in it, adds its cost to the one before. */
static void close_piece(struct work *work, const struct snapshot *now, double cost) {
    struct pool_piece *last = work->count ? piece_at(work, work->count - 1) : NULL;
    if (last && (work->count == PIECES || now->submitted == work->closed)) {
        last->cost += cost;
        last->to = now->submitted;
    } else if (now->submitted > work->closed) {
        *piece_at(work, work->count++) = (struct pool_piece){work->closed, now->submitted, cost};
    }
    work->closed = now->submitted;
    work->size_at_close = now->size;
}

void pooled_remove_holder(const struct pool *pool, struct pooled *pooled) {
    struct work *work = &pooled->work;
    const struct snapshot now = take_snapshot(pool, pooled->stream);
    /* A holder that submitted nothing has cost nothing. */
    const bool known = work->n_expected && now.submitted != work->held_from;
    const double share = take_share(work);
    drop_done(work, now.retired);
    close_piece(work, &now, known ? share : now.size - work->size_at_close);
    if (--pooled->holders == 0)
        pooled->leased = false;
}
