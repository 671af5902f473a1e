/* SPDX-License-Identifier: MIT */
#include "coordinator/stall.h"

#include <stdlib.h>

enum { FIRST_ROOM = 8 };

void stall_free(struct stall *stall) {
    free(stall->streams);
    free(stall->items);
    free(stall->needs);
}

/* Room for one more in an array of `count`; NULL without memory. */
static void *reserve(void *array, uint32_t count, uint32_t *room, size_t size) {
    if (count < *room)
        return array;
    uint32_t larger = *room ? 2 * *room : FIRST_ROOM;
    void *grown = realloc(array, larger * size);
    if (grown)
        *room = larger;
    return grown;
}

uint32_t stall_stream(struct stall *stall, void *key, bool *made) {
    *made = false;
    for (uint32_t i = 0; i < stall->n_streams; i++)
        if (stall->streams[i].key == key)
            return i;
    void *grown =
        reserve(stall->streams, stall->n_streams, &stall->room_streams, sizeof *stall->streams);
    if (!grown)
        return STALL_NONE;
    stall->streams = grown;
    stall->streams[stall->n_streams] = (struct stall_stream){
        .key = key, .first = STALL_NONE, .last = STALL_NONE, .at = STALL_NONE};
    *made = true;
    return stall->n_streams++;
}

bool stall_add_item(struct stall *stall, uint32_t stream, uint64_t position, bool user_code,
                    const char *label) {
    void *grown = reserve(stall->items, stall->n_items, &stall->room_items, sizeof *stall->items);
    if (!grown)
        return false;
    stall->items = grown;
    struct stall_stream *of = &stall->streams[stream];
    uint32_t item = stall->n_items++;
    stall->items[item] =
        (struct stall_item){position, user_code, label, stall->n_needs, 0, STALL_NONE};
    if (of->last == STALL_NONE)
        of->first = item;
    else
        stall->items[of->last].next = item;
    of->last = item;
    return true;
}

bool stall_add_need(struct stall *stall, struct stall_need need) {
    void *grown = reserve(stall->needs, stall->n_needs, &stall->room_needs, sizeof *stall->needs);
    if (!grown)
        return false;
    stall->needs = grown;
    stall->needs[stall->n_needs++] = need;
    stall->items[stall->n_items - 1].n_needs++;
    struct stall_stream *of = &stall->streams[need.stream];
    if (need.position > of->wanted)
        of->wanted = need.position;
    return true;
}

uint32_t stall_next_wanted(const struct stall *stall) {
    for (uint32_t i = 0; i < stall->n_streams; i++)
        if (stall->streams[i].known < stall->streams[i].wanted)
            return i;
    return STALL_NONE;
}

static bool has_passed(const struct stall *stall, const struct stall_need *need) {
    const struct stall_stream *of = &stall->streams[need->stream];
    return of->at == STALL_NONE || stall->items[of->at].position > need->position;
}

static bool is_met(const struct stall *stall, const struct stall_need *need) {
    if (has_passed(stall, need))
        return stall->trust != STALL_FIRM || need->position != UINT64_MAX;
    return stall->trust == STALL_USER_CODE && need->user_code &&
           stall->streams[need->stream].user_code;
}

static const struct stall_need *first_unmet(const struct stall *stall,
                                            const struct stall_item *item) {
    for (uint32_t i = 0; i < item->n_needs; i++)
        if (!is_met(stall, &stall->needs[item->first_need + i]))
            return &stall->needs[item->first_need + i];
    return NULL;
}

static void note_lenient(struct stall *stall, const struct stall_item *item) {
    for (uint32_t i = 0; i < item->n_needs; i++) {
        struct stall_need *need = &stall->needs[item->first_need + i];
        need->lenient = need->lenient || !has_passed(stall, need);
    }
}

/* Lets one stream run as far as it can; true when it moved. */
static bool run(struct stall *stall, struct stall_stream *stream) {
    bool moved = false;
    while (stream->at != STALL_NONE && !first_unmet(stall, &stall->items[stream->at])) {
        const struct stall_item *item = &stall->items[stream->at];
        note_lenient(stall, item);
        stream->user_code = stream->user_code || item->user_code;
        stream->at = item->next;
        moved = true;
    }
    return moved;
}

static void run_all(struct stall *stall, enum stall_trust trust) {
    bool moved = true;
    stall->trust = trust;
    while (moved) {
        moved = false;
        for (uint32_t i = 0; i < stall->n_streams; i++)
            moved = run(stall, &stall->streams[i]) || moved;
    }
}

static void begin(struct stall *stall) {
    for (uint32_t i = 0; i < stall->n_streams; i++) {
        stall->streams[i].at = stall->streams[i].first;
        stall->streams[i].user_code = stall->streams[i].user_code_known;
    }
}

/* User code last, and only for what nothing else gets on. */
void stall_solve(struct stall *stall) {
    begin(stall);
    run_all(stall, STALL_CALLS);
    run_all(stall, STALL_USER_CODE);
}

void stall_solve_firmly(struct stall *stall) {
    begin(stall);
    run_all(stall, STALL_FIRM);
}

uint64_t stall_firm_position(const struct stall *stall, uint32_t stream) {
    uint64_t position = 0;
    uint32_t item = stall->streams[stream].first;
    for (; item != stall->streams[stream].at && stall->items[item].label;
         item = stall->items[item].next)
        position = stall->items[item].position;
    return position;
}

const struct stall_need *stall_unmet(const struct stall *stall, uint32_t stream) {
    uint32_t at = stall->streams[stream].at;
    return at == STALL_NONE ? NULL : first_unmet(stall, &stall->items[at]);
}

uint32_t stall_cycle(const struct stall *stall, uint32_t stream) {
    uint32_t slow = stream, fast = stream;
    do {
        slow = stall_unmet(stall, slow)->stream;
        fast = stall_unmet(stall, stall_unmet(stall, fast)->stream)->stream;
    } while (slow != fast);
    return slow;
}
