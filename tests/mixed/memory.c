/* SPDX-License-Identifier: MIT */
/* Memory of the streams' order: what was written stays until it is freed, whoever frees and takes meanwhile. */
#include "operations.h"

/* One that is in use, or NULL. */
static struct scratch *any_scratch(struct player *player, struct lane *lane) {
    unsigned start = draw(player, SCRATCHES);
    for (unsigned i = 0; i < SCRATCHES; i++) {
        struct scratch *scratch = &lane->scratches[(start + i) % SCRATCHES];
        if (scratch->buffer)
            return scratch;
    }
    return NULL;
}

static struct scratch *free_place(struct lane *lane) {
    for (unsigned i = 0; i < SCRATCHES; i++)
        if (!lane->scratches[i].buffer)
            return &lane->scratches[i];
    return NULL;
}

void do_take(struct player *player, struct lane *lane) {
    static const unsigned most[] = {8, 64, 64, 2000, 100000};
    const struct world *world = player->world;
    unsigned words = 1 + draw(player, most[draw(player, 5)]),
             pool = draw(player, world->n_pools + 1);
    struct scratch *scratch = free_place(lane);
    cls_buffer buffer = NULL;
    if (!scratch)
        return;
    cls_status status =
        pool < world->n_pools
            ? cls_mempool_malloc_async(world->pools[pool], lane->stream, words * 4, &buffer)
            : cls_malloc_async(lane->stream, words * 4, &buffer);
    journal_note(player->journal, "lane %u: takes %u words of pool %u", lane->number, words, pool);
    well(player, status, "malloc");
    *scratch = (struct scratch){.buffer = buffer, .words = words, .home = lane->model.stream};
}

void do_write(struct player *player, struct lane *lane) {
    struct scratch *scratch = any_scratch(player, lane);
    uint32_t value = draw(player, 1u << 31);
    if (!scratch)
        return;
    journal_note(player->journal, "lane %u: writes memory", lane->number);
    taken(player, lane,
          cls_fill_async(scratch->buffer, 0, scratch->words * 4, &value, 4, lane->stream), "fill");
    if (model_is_well(&lane->model)) {
        scratch->known = true;
        scratch->value = value;
    }
}

/* From its end, where it would meet with what was given too early. */
void do_use(struct player *player, struct lane *lane) {
    const struct scratch *scratch = any_scratch(player, lane);
    if (!scratch || !scratch->known)
        return;
    unsigned n = scratch->words < ROW ? scratch->words : ROW, i = draw(player, CELLS - n + 1);
    unsigned from = chance(player, 2) ? 0 : scratch->words - n;
    journal_note(player->journal, "lane %u: uses memory", lane->number);
    taken(player, lane,
          cls_copy_d2d_async(lane->cells, i * 4, scratch->buffer, from * 4, n * 4, lane->stream),
          "copy from memory");
    model_fill(&lane->model, i, n, scratch->value);
}

void do_give(struct player *player, struct lane *lane) {
    struct scratch *scratch = any_scratch(player, lane);
    if (!scratch)
        return;
    journal_note(player->journal, "lane %u: frees memory", lane->number);
    well(player, cls_free_async(scratch->buffer, lane->stream), "free");
    cls_status again = cls_free_async(scratch->buffer, lane->stream);
    answered(player, lane, again == CLS_ERROR_INVALID_HANDLE, again, "a second free");
    scratch->buffer = NULL;
}

/* All that was taken for the stream, of which nothing may be with another lane. */
void do_give_all(struct player *player, struct lane *lane) {
    if (lane->lent)
        return;
    journal_note(player->journal, "lane %u: frees all memory", lane->number);
    well(player,
         cls_stream_free_all_async(lane->stream,
                                   chance(player, 2) ? CLS_FREE_IN_ORDER : CLS_FREE_WHEN_DONE),
         "free_all");
    for (unsigned i = 0; i < SCRATCHES; i++)
        if (lane->scratches[i].home == lane->model.stream)
            lane->scratches[i].buffer = NULL;
}

void do_trim(struct player *player, struct lane *lane) {
    struct world *world = player->world;
    cls_status frees = cls_stream_query_frees(lane->stream);
    answered(player, lane, model_answers(false, frees) || model_answers(true, frees), frees,
             "query_frees");
    well(player, cls_mempool_trim(world->pools[draw(player, world->n_pools)], 0), "trim");
}

/* Another lane goes on with it, behind this one's work. What a failed stream may still write stays its own. */
void do_pass_on(struct player *player, struct lane *lane, struct lane *other) {
    struct scratch *scratch = any_scratch(player, lane), *place = free_place(other);
    if (!scratch || !place || !model_is_well(&lane->model) || scratch->home != lane->model.stream)
        return;
    do_follow(player, other, lane);
    journal_note(player->journal, "lane %u: passes memory on to lane %u", lane->number,
                 other->number);
    *place = *scratch;
    scratch->buffer = NULL;
    lane->lent = true;
}
