/* SPDX-License-Identifier: MIT */
/*
 * An access walks over the sorted segments and its own sorted rows at once and builds the new list on
 * the way, so a rectangle of a thousand rows costs one pass.
 */
#include "check/race_shadow.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* The list in the making. */
struct builder {
    const struct race_rules *rules;
    struct race_segment *segments;
    size_t count, capacity;
    bool failed;
};

static void hold_all(const struct race_rules *rules, const struct race_segment *segment, int more) {
    for (size_t i = 0; i < segment->count; i++)
        rules->hold(segment->accesses[i].by, more);
}

static void drop_segment(const struct race_rules *rules, struct race_segment *segment) {
    hold_all(rules, segment, -1);
    free(segment->accesses);
}

static bool same_access(const struct race_access *a, const struct race_access *b) {
    return a->by == b->by && a->position == b->position && a->label == b->label &&
           a->write == b->write && a->possible == b->possible;
}

/* Whether the next segment goes on where this one ends, with the same accesses. */
static bool continues(const struct race_segment *segment, const struct race_segment *next) {
    if (segment->end != next->start || segment->count != next->count)
        return false;
    for (size_t i = 0; i < segment->count; i++)
        if (!same_access(&segment->accesses[i], &next->accesses[i]))
            return false;
    return true;
}

static void drop_settled(const struct race_rules *rules, struct race_segment *segment) {
    size_t kept = 0;
    for (size_t i = 0; i < segment->count; i++) {
        if (rules->settled(rules->context, &segment->accesses[i]))
            rules->hold(segment->accesses[i].by, -1);
        else
            segment->accesses[kept++] = segment->accesses[i];
    }
    segment->count = kept;
}

/* Appends a segment, which is taken over. */
static void emit(struct builder *builder, struct race_segment segment) {
    drop_settled(builder->rules, &segment);
    struct race_segment *last = builder->count ? &builder->segments[builder->count - 1] : NULL;
    if (!segment.count) {
        free(segment.accesses);
    } else if (last && continues(last, &segment)) {
        last->end = segment.end;
        drop_segment(builder->rules, &segment);
    } else if (ARRAY_ROOM(builder->segments, builder->count, builder->capacity, 8)) {
        builder->segments[builder->count++] = segment;
    } else {
        builder->failed = true;
        drop_segment(builder->rules, &segment);
    }
}

/* The first part of a segment, with room for `spare` accesses more; the segment begins behind it. */
static struct race_segment cut(struct builder *builder, struct race_segment *segment, size_t end,
                               size_t spare) {
    struct race_segment part = {segment->start, end, segment->count, NULL};
    bool whole = end == segment->end;
    size_t bytes = (segment->count + spare) * sizeof *part.accesses;
    part.accesses = realloc(whole ? segment->accesses : NULL, bytes);
    segment->start = end;
    if (!part.accesses) {
        builder->failed = true;
        part.count = 0;
        if (whole)
            drop_segment(builder->rules, segment);
    } else if (!whole && segment->count) {
        memcpy(part.accesses, segment->accesses, segment->count * sizeof *part.accesses);
        hold_all(builder->rules, &part, 1);
    }
    return part;
}

/* Whether `access`, which comes after `other`, may stand in its place: it conflicts with whatever `other` conflicts
 * with, and no less certainly. */
static bool stands_for(const struct race_access *access, const struct race_access *other) {
    return (access->write || !other->write) && (!access->possible || other->possible);
}

/* Compares the access with a segment's, and enters it. */
static void meet(struct builder *builder, struct race_segment *segment,
                 const struct race_access *access) {
    const struct race_rules *rules = builder->rules;
    size_t kept = 0;
    bool needed = access->by != NULL;
    for (size_t i = 0; i < segment->count; i++) {
        struct race_access known = segment->accesses[i];
        enum race_order order = rules->order(rules->context, &known);
        if (order == RACE_UNORDERED && (known.write || access->write))
            rules->conflict(rules->context, &known, segment->start, segment->end);
        if (order == RACE_AFTER && stands_for(&known, access))
            needed = false;
        if (order == RACE_BEFORE && access->by && stands_for(access, &known))
            rules->hold(known.by, -1);
        else
            segment->accesses[kept++] = known;
    }
    segment->count = kept;
    if (!needed)
        return;
    segment->accesses[segment->count++] = *access;
    rules->hold(access->by, 1);
}

/* The rows of a span, one after the other; rows that touch are one. */
struct row_walk {
    struct byte_span span;
    size_t next;
    size_t start, end; /* of what is left of the row at hand; equal: none */
};

static void next_row(struct row_walk *rows) {
    const struct byte_span *span = &rows->span;
    const size_t slice = rows->next / span->height, row = rows->next % span->height;
    const bool dense = span->pitch == span->width;
    if (slice == span->depth)
        return;
    rows->start = span->start + slice * span->slice + row * span->pitch;
    rows->end = rows->start + span->width * (dense ? span->height : 1);
    rows->next += dense ? span->height : 1;
}

/* One step of the walk: the bytes up to where a segment or a row begins or ends. */
static void step(struct builder *builder, struct race_segment *segment, struct row_walk *rows,
                 const struct race_access *access) {
    bool in_row = rows->start < rows->end, in_segment = segment->start < segment->end;
    struct race_segment none = {rows->start, rows->end, 0, NULL};
    if (in_segment && (!in_row || segment->end <= rows->start)) {
        emit(builder, cut(builder, segment, segment->end, 0));
        return;
    }
    if (in_segment && segment->start < rows->start) {
        emit(builder, cut(builder, segment, rows->start, 0));
        return;
    }
    size_t end = rows->end;
    bool alone = !in_segment || segment->start > rows->start;
    if (in_segment && (alone ? segment->start : segment->end) < end)
        end = alone ? segment->start : segment->end;
    struct race_segment part = cut(builder, alone ? &none : segment, end, 1);
    rows->start = end;
    if (!builder->failed)
        meet(builder, &part, access);
    emit(builder, part);
}

bool race_shadow_touch(struct race_shadow *shadow, const struct byte_span *span,
                       const struct race_access *access, const struct race_rules *rules) {
    struct builder builder = {.rules = rules};
    struct row_walk rows = {.span = *span};
    size_t i = 0;
    next_row(&rows);
    while (i < shadow->count || rows.start < rows.end) {
        struct race_segment none = {0};
        step(&builder, i < shadow->count ? &shadow->segments[i] : &none, &rows, access);
        if (i < shadow->count && shadow->segments[i].start == shadow->segments[i].end)
            i++;
        if (rows.start == rows.end)
            next_row(&rows);
    }
    free(shadow->segments);
    *shadow = (struct race_shadow){builder.segments, builder.count};
    if (builder.failed)
        race_shadow_forget(shadow, 0, SIZE_MAX, rules);
    return !builder.failed;
}

/* Copies a segment to the new list, without the bytes from start to end. */
static void emit_outside(struct builder *builder, struct race_segment *segment, size_t start,
                         size_t end) {
    if (segment->start < start && start < segment->end)
        emit(builder, cut(builder, segment, start, 0));
    if (segment->start >= start && segment->start < end) {
        struct race_segment gone =
            cut(builder, segment, segment->end < end ? segment->end : end, 0);
        drop_segment(builder->rules, &gone);
    }
    if (segment->start < segment->end)
        emit(builder, cut(builder, segment, segment->end, 0));
}

void race_shadow_forget(struct race_shadow *shadow, size_t start, size_t end,
                        const struct race_rules *rules) {
    struct builder builder = {.rules = rules};
    for (size_t i = 0; i < shadow->count; i++)
        emit_outside(&builder, &shadow->segments[i], start, end);
    free(shadow->segments);
    *shadow = (struct race_shadow){builder.segments, builder.count};
    if (!builder.count) {
        free(builder.segments);
        shadow->segments = NULL;
    }
}
