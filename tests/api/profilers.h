/* SPDX-License-Identifier: MIT */
/* What the tests of profilers share. */
#ifndef CLSTREAM_TESTS_PROFILERS_H
#define CLSTREAM_TESTS_PROFILERS_H

#include "../support/rig.h"

#include <clstream/profiler.h>

static inline cls_profiler new_profiler(size_t capacity) {
    cls_profiler_config config = CLS_PROFILER_CONFIG_INIT;
    cls_profiler profiler = NULL;
    config.capacity = capacity;
    OK(cls_profiler_create(&config, &profiler));
    return profiler;
}

static inline cls_profiler started(void) {
    cls_profiler profiler = new_profiler(0);
    OK(cls_profiler_start(profiler));
    return profiler;
}

static inline cls_profile snapshot(cls_profiler profiler) {
    cls_profile profile = NULL;
    OK(cls_profiler_snapshot(profiler, &profile));
    return profile;
}

static inline cls_profile_summary summary_of(cls_profile profile) {
    cls_profile_summary summary = CLS_PROFILE_SUMMARY_INIT;
    OK(cls_profile_get_summary(profile, &summary));
    return summary;
}

static inline cls_profile_record record_at(cls_profile profile, size_t i) {
    cls_profile_record record = CLS_PROFILE_RECORD_INIT;
    OK(cls_profile_get_record(profile, i, &record));
    return record;
}

static inline cls_profile_stream stream_of(cls_profile profile, cls_stream stream) {
    cls_profile_stream found = CLS_PROFILE_STREAM_INIT;
    size_t index;
    OK(cls_profile_find_stream(profile, stream, &index));
    OK(cls_profile_get_stream(profile, index, &found));
    return found;
}

/* The record of a stream's n-th command that is in the profile, from 0. */
static inline cls_profile_record command_of(cls_profile profile, cls_stream stream, unsigned n) {
    uint64_t number = stream_of(profile, stream).number;
    size_t count = summary_of(profile).records;
    cls_profile_record found = CLS_PROFILE_RECORD_INIT;
    uint64_t after = 0;
    for (unsigned k = 0; k <= n; k++) {
        uint64_t least = UINT64_MAX;
        for (size_t i = 0; i < count; i++) {
            cls_profile_record record = record_at(profile, i);
            if (record.stream != number || record.position <= after || record.position >= least)
                continue;
            least = record.position;
            found = record;
        }
        assert_true(least != UINT64_MAX);
        after = least;
    }
    return found;
}

static inline void end(cls_profile profile, cls_profiler profiler) {
    OK(cls_profile_destroy(profile));
    OK(cls_profiler_destroy(profiler));
}

#endif
