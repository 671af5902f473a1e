/* SPDX-License-Identifier: MIT */
/* Profilers: ranges and records of the program's own, the ring that they are kept in, and files of them. */
#include "profilers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static unsigned count_labelled(cls_profile profile, const char *label) {
    unsigned found = 0;
    for (size_t i = 0; i < summary_of(profile).records; i++)
        found += strcmp(record_at(profile, i).label, label) == 0;
    return found;
}

static bool push_and_pop(void *arg, unsigned i) {
    char name[32];
    (void)arg;
    snprintf(name, sizeof name, "thread %u", i);
    return !cls_range_push(name) && !cls_range_push("inner") && !cls_range_pop() &&
           !cls_range_pop() && cls_range_pop() == CLS_ERROR_INVALID_STATE;
}

static void test_ranges_nest_on_each_thread(void **state) {
    uint64_t threads[3] = {0};
    cls_profiler profiler = started();
    (void)state;
    assert_int_equal(team_run(3, push_and_pop, NULL), 0);
    OK(cls_profiler_stop(profiler));
    cls_profile profile = snapshot(profiler);
    assert_int_equal(summary_of(profile).records, 6);
    assert_int_equal(count_labelled(profile, "inner"), 3);
    for (size_t i = 0; i < 6; i++) {
        cls_profile_record record = record_at(profile, i);
        unsigned n;
        assert_int_equal(record.type, CLS_RECORD_RANGE);
        assert_true(record.thread > 0);
        if (sscanf(record.label, "thread %u", &n) == 1)
            threads[n] = record.thread;
    }
    assert_true(threads[0] != threads[1] && threads[1] != threads[2] && threads[0] != threads[2]);
    end(profile, profiler);
}

static void test_ranges_opened_while_nothing_ran_are_not_recorded(void **state) {
    cls_profiler profiler = new_profiler(0);
    (void)state;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_range_push(NULL));
    EXPECT(CLS_ERROR_INVALID_STATE, cls_range_pop());
    OK(cls_range_push("before"));
    OK(cls_profiler_start(profiler));
    for (unsigned i = 0; i < 40; i++)
        OK(cls_range_push("deep"));
    for (unsigned i = 0; i < 41; i++)
        OK(cls_range_pop());
    EXPECT(CLS_ERROR_INVALID_STATE, cls_range_pop());
    cls_profile profile = snapshot(profiler);
    assert_int_equal(count_labelled(profile, "before"), 0);
    assert_int_equal(count_labelled(profile, "deep"), 31);
    end(profile, profiler);
}

static void test_own_records_and_drops(void **state) {
    cls_profiler profiler = new_profiler(8);
    char label[80];
    (void)state;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_profiler_add(profiler, NULL, 1, 2, 0));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_profiler_add(profiler, "backwards", 2, 1, 0));
    for (unsigned i = 0; i < 20; i++) {
        snprintf(label, sizeof label, "own %u", i);
        OK(cls_profiler_add(profiler, label, 100 + i, 200 + i, i));
    }
    cls_profile profile = snapshot(profiler);
    assert_int_equal(summary_of(profile).records, 8);
    assert_int_equal(summary_of(profile).dropped, 12);
    for (unsigned i = 0; i < 8; i++) {
        cls_profile_record record = record_at(profile, i);
        assert_int_equal(record.type, CLS_RECORD_USER);
        assert_int_equal(record.start_ns, 112 + i);
        assert_int_equal(record.bytes, 12 + i);
    }
    OK(cls_profile_destroy(profile));
    OK(cls_profiler_clear(profiler));
    memset(label, 'x', sizeof label - 1);
    label[sizeof label - 1] = '\0';
    OK(cls_profiler_add(profiler, label, 5, 5, 0));
    profile = snapshot(profiler);
    assert_int_equal(summary_of(profile).records, 1);
    assert_int_equal(summary_of(profile).dropped, 0);
    assert_int_equal(strlen(record_at(profile, 0).label), 63);
    end(profile, profiler);
}

static void test_own_records_may_begin_at_zero_and_never_end(void **state) {
    cls_profiler profiler = new_profiler(0);
    (void)state;
    OK(cls_profiler_add(profiler, "from the first", 0, 1000, 0));
    OK(cls_profiler_add(profiler, "later", 5000, 9000, 0));
    cls_profile profile = snapshot(profiler);
    assert_int_equal(summary_of(profile).begin_ns, 0);
    assert_int_equal(summary_of(profile).end_ns, 9000);
    OK(cls_profile_destroy(profile));
    OK(cls_profiler_add(profiler, "to the last", 1, UINT64_MAX, 0));
    profile = snapshot(profiler);
    assert_true(summary_of(profile).end_ns == UINT64_MAX);
    for (int format = CLS_PROFILE_JSON; format <= CLS_PROFILE_HTML; format++)
        OK(cls_profile_export(profile, "/dev/null", (cls_profile_format)format));
    end(profile, profiler);
}

static void test_commands_beyond_the_ring_are_counted(void **state) {
    cls_stream stream = rig_stream();
    cls_buffer cells = rig_cells(1);
    cls_profiler profiler = new_profiler(16);
    (void)state;
    OK(cls_profiler_start(profiler));
    for (unsigned i = 0; i < 50; i++)
        OK(rig_step(stream, cells, 0, 1, 1, 0));
    OK(cls_stream_synchronize(stream));
    cls_profile profile = snapshot(profiler);
    assert_int_equal(summary_of(profile).records, 16);
    assert_int_equal(summary_of(profile).dropped, 34);
    assert_int_equal(command_of(profile, stream, 0).position, 35);
    OK(cls_stream_destroy(stream));
    OK(cls_buffer_destroy(cells));
    end(profile, profiler);
}

static void test_exports_are_written_whole_or_not_at_all(void **state) {
    static const char *const names[] = {"t.json", "t.html"};
    static const char *const begins[] = {"{", "<!DOCTYPE html>"};
    char folder[] = "/tmp/clstream-profile-XXXXXX", path[128], start[32];
    cls_profiler profiler = new_profiler(0);
    (void)state;
    assert_non_null(mkdtemp(folder));
    OK(cls_profiler_add(profiler, "own", 1000, 2000, 64));
    cls_profile profile = snapshot(profiler);
    for (unsigned i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        OK(cls_profile_export(profile, path, CLS_PROFILE_AUTO));
        FILE *file = fopen(path, "r");
        assert_non_null(file);
        assert_non_null(fgets(start, sizeof start, file));
        fclose(file);
        assert_int_equal(strncmp(start, begins[i], strlen(begins[i])), 0);
        assert_int_equal(unlink(path), 0);
    }
    char longest[512];
    snprintf(longest, sizeof longest, "%s/%0250d.json", folder, 0);
    OK(cls_profile_export(profile, longest, CLS_PROFILE_AUTO));
    assert_int_equal(unlink(longest), 0);
    snprintf(path, sizeof path, "%s/t.svg", folder);
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_profile_export(profile, path, CLS_PROFILE_AUTO));
    assert_non_null(strstr(cls_last_error_detail(), "clstream trace --convert"));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_profile_export(profile, path, (cls_profile_format)9));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_profile_export(profile, NULL, CLS_PROFILE_JSON));
    OK(cls_profile_export(profile, path, CLS_PROFILE_HTML));
    assert_int_equal(unlink(path), 0);
    snprintf(path, sizeof path, "%s/no/t.json", folder);
    EXPECT(CLS_ERROR_IO, cls_profile_export(profile, path, CLS_PROFILE_AUTO));
    assert_int_equal(rmdir(folder), 0);
    end(profile, profiler);
}

/* A profile of so many records that writing it takes a while. */
static cls_profile large(cls_profiler profiler) {
    for (unsigned i = 0; i < 3000; i++)
        OK(cls_profiler_add(profiler, "own", 1000 + i, 2000 + i, i));
    return snapshot(profiler);
}

/* Such a profile, and a file for it in a folder of its own. */
struct target {
    cls_profiler profiler;
    cls_profile profile;
    char folder[40], path[64];
};

/* False: the folder, whose name ends in XXXXXX, cannot be made. */
static bool target_open(struct target *target, const char *folder) {
    snprintf(target->folder, sizeof target->folder, "%s", folder);
    if (!mkdtemp(target->folder))
        return false;
    snprintf(target->path, sizeof target->path, "%s/t.json", target->folder);
    target->profiler = new_profiler(0);
    target->profile = large(target->profiler);
    return true;
}

static void target_close(const struct target *target) {
    assert_int_equal(unlink(target->path), 0);
    assert_int_equal(rmdir(target->folder), 0);
    end(target->profile, target->profiler);
}

static bool export_often(void *arg, unsigned thread) {
    struct target *target = arg;
    (void)thread;
    for (int i = 0; i < 20; i++)
        if (cls_profile_export(target->profile, target->path, CLS_PROFILE_JSON))
            return false;
    return true;
}

static void test_threads_may_export_to_one_file(void **state) {
    struct target target;
    (void)state;
    assert_true(target_open(&target, "/tmp/clstream-profile-XXXXXX"));
    assert_int_equal(team_run(4, export_often, &target), 0);
    FILE *file = fopen(target.path, "r");
    unsigned lines = 0;
    assert_non_null(file);
    for (int c; (c = fgetc(file)) != EOF;)
        lines += c == '\n';
    fclose(file);
    assert_int_equal(lines,
                     2 * 3000 + 4); /* an own record has two; two names; the report; the end */
    target_close(&target);
}

/* They are files, though they are in /dev. */
static void test_files_in_shared_memory_are_replaced(void **state) {
    struct target target;
    struct stat first, second;
    (void)state;
    if (!target_open(&target, "/dev/shm/clstream-profile-XXXXXX"))
        SKIP_BECAUSE("no files can be made in /dev/shm");
    OK(cls_profile_export(target.profile, target.path, CLS_PROFILE_AUTO));
    assert_int_equal(stat(target.path, &first), 0);
    OK(cls_profile_export(target.profile, target.path, CLS_PROFILE_AUTO));
    assert_int_equal(stat(target.path, &second), 0);
    assert_true(first.st_ino != second.st_ino);
    target_close(&target);
}

static bool read_or_export(void *arg, unsigned thread) {
    struct target *target = arg;
    char first[8] = "";
    if (!thread)
        return !cls_profile_export(target->profile, target->path, CLS_PROFILE_AUTO);
    FILE *file = fopen(target->path, "r");
    bool good = file && fgets(first, sizeof first, file) && strncmp(first, "{", 1) == 0;
    while (good && fgetc(file) != EOF)
        continue;
    return good && fclose(file) == 0;
}

static void test_a_pipe_is_written_to(void **state) {
    struct target target;
    (void)state;
    assert_true(target_open(&target, "/tmp/clstream-profile-XXXXXX"));
    assert_int_equal(mkfifo(target.path, 0600), 0);
    assert_int_equal(team_run(2, read_or_export, &target), 0);
    target_close(&target);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranges_nest_on_each_thread),
        cmocka_unit_test(test_ranges_opened_while_nothing_ran_are_not_recorded),
        cmocka_unit_test(test_own_records_and_drops),
        cmocka_unit_test(test_own_records_may_begin_at_zero_and_never_end),
        cmocka_unit_test(test_commands_beyond_the_ring_are_counted),
        cmocka_unit_test(test_exports_are_written_whole_or_not_at_all),
        cmocka_unit_test(test_threads_may_export_to_one_file),
        cmocka_unit_test(test_files_in_shared_memory_are_replaced),
        cmocka_unit_test(test_a_pipe_is_written_to),
    };
    return cmocka_run_group_tests_name("profiler records", tests, rig_setup, rig_teardown);
}
