/* SPDX-License-Identifier: MIT */
/* Stalls: a hash table of streams, their items and needs, and the solver. */
#include "coordinator/stall.h"

#include <stdlib.h>

#include "base/array.h"

enum { FIRST_ROOM = 8 };

void stall_free(struct stall *stall) {
    free(stall->streams);
    free(stall->items);
    free(stall->needs);
    free(stall->numbers);
}

/* --- rows --- */

static void row_push(struct stall *stall, uint32_t stream) {
    struct stall_row *row = &stall->row;
    if (row->n++)
        stall->streams[row->last].link = stream;
    else
        row->first = stream;
    row->last = stream;
}

static uint32_t row_pop(struct stall *stall) {
    struct stall_row *row = &stall->row;
    if (!row->n)
        return STALL_NONE;
    row->n--;
    uint32_t stream = row->first;
    row->first = stall->streams[stream].link;
    return stream;
}

/* --- streams by their keys --- */

/* The place of a key in the hash table, or where it would be added. */
static uint32_t *number_of(const struct stall *stall, const void *key) {
    const uint32_t mask = stall->n_numbers - 1;
    uint32_t at = (uint32_t)((uint64_t)(uintptr_t)key * 0x9e3779b97f4a7c15u >> 32) & mask;
    while (stall->numbers[at] && stall->streams[stall->numbers[at] - 1].key != key)
        at = (at + 1) & mask;
    return &stall->numbers[at];
}

/* Keeps half of the places free. */
static bool reserve_number(struct stall *stall) {
    if (2 * stall->n_streams < stall->n_numbers)
        return true;
    uint32_t places = stall->n_numbers ? 2 * stall->n_numbers : 2 * FIRST_ROOM;
    uint32_t *grown = calloc(places, sizeof *grown);
    if (!grown)
        return false;
    free(stall->numbers);
    stall->numbers = grown;
    stall->n_numbers = places;
    for (uint32_t i = 0; i < stall->n_streams; i++)
        *number_of(stall, stall->streams[i].key) = i + 1;
    return true;
}

uint32_t stall_stream(struct stall *stall, void *key, bool *made) {
    *made = false;
    if (!reserve_number(stall))
        return STALL_NONE;
    uint32_t *number = number_of(stall, key);
    if (*number)
        return *number - 1;
    if (!ARRAY_ROOM(stall->streams, stall->n_streams, stall->room_streams, FIRST_ROOM))
        return STALL_NONE;
    stall->streams[stall->n_streams] = (struct stall_stream){
        .key = key, .first = STALL_NONE, .last = STALL_NONE, .at = STALL_NONE};
    *made = true;
    *number = ++stall->n_streams;
    return *number - 1;
}

/* --- items and needs --- */

bool stall_add_item(struct stall *stall, uint32_t stream, uint64_t position, bool user_code,
                    const char *label) {
    if (!ARRAY_ROOM(stall->items, stall->n_items, stall->room_items, FIRST_ROOM))
        return false;
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
    if (!ARRAY_ROOM(stall->needs, stall->n_needs, stall->room_needs, FIRST_ROOM))
        return false;
    stall->needs[stall->n_needs++] = need;
    stall->items[stall->n_items - 1].n_needs++;
    struct stall_stream *of = &stall->streams[need.stream];
    if (need.position <= of->wanted)
        return true;
    of->wanted = need.position;
    if (!of->in_row)
        row_push(stall, need.stream);
    of->in_row = true;
    return true;
}

uint32_t stall_next_wanted(struct stall *stall) {
    uint32_t stream = row_pop(stall);
    if (stream != STALL_NONE)
        stall->streams[stream].in_row = false;
    return stream;
}

/* --- solving --- */

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

static void note_user_code_needs(struct stall *stall, const struct stall_item *item) {
    for (uint32_t i = 0; i < item->n_needs; i++) {
        struct stall_need *need = &stall->needs[item->first_need + i];
        need->needs_user_code = need->needs_user_code || !has_passed(stall, need);
    }
}

/* The first unmet need of the stream's next item; starts from `met`, as needs stay met. */
static const struct stall_need *obstacle(const struct stall *stall, struct stall_stream *stream) {
    const struct stall_item *item = &stall->items[stream->at];
    for (; stream->met < item->n_needs; stream->met++)
        if (!is_met(stall, &stall->needs[item->first_need + stream->met]))
            return &stall->needs[item->first_need + stream->met];
    return NULL;
}

/* Lets one stream pass what it can; true when it moved. */
static bool run(struct stall *stall, struct stall_stream *stream) {
    bool moved = false;
    while (stream->at != STALL_NONE && !obstacle(stall, stream)) {
        const struct stall_item *item = &stall->items[stream->at];
        note_user_code_needs(stall, item);
        stream->user_code = stream->user_code || item->user_code;
        stream->at = item->next;
        stream->met = 0;
        moved = true;
    }
    return moved;
}

/* Queues the streams that were stuck on this one. */
static void free_stuck(struct stall *stall, struct stall_stream *stream) {
    uint32_t next, at = stream->stuck;
    stream->stuck = STALL_NONE;
    for (; at != STALL_NONE; at = next) {
        next = stall->streams[at].link;
        row_push(stall, at);
    }
}

static void get_stuck(struct stall *stall, uint32_t number) {
    struct stall_stream *stream = &stall->streams[number];
    if (stream->at == STALL_NONE)
        return;
    struct stall_stream *on = &stall->streams[obstacle(stall, stream)->stream];
    stream->link = on->stuck;
    on->stuck = number;
}

static void run_all(struct stall *stall, enum stall_trust trust) {
    uint32_t number;
    stall->trust = trust;
    for (uint32_t i = 0; i < stall->n_streams; i++) {
        stall->streams[i].stuck = STALL_NONE;
        row_push(stall, i);
    }
    while ((number = row_pop(stall)) != STALL_NONE) {
        if (run(stall, &stall->streams[number]))
            free_stuck(stall, &stall->streams[number]);
        get_stuck(stall, number);
    }
}

static void begin(struct stall *stall) {
    stall->row.n = 0;
    for (uint32_t i = 0; i < stall->n_streams; i++) {
        stall->streams[i].at = stall->streams[i].first;
        stall->streams[i].met = 0;
        stall->streams[i].user_code = stall->streams[i].user_code_known;
    }
}

/* User code is trusted last, and only for streams that are stuck otherwise. */
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
