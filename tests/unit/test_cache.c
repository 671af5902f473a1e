/* SPDX-License-Identifier: MIT */
/* The disk cache: what a file must look like, and that nothing on the disk is an error. */
#include "../support/test.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "driver/cache_claim.h"
#include "driver/cache_file.h"
#include "system/clocks.h"

#include "child.h"
#include "scratch.h"

static const char key_text[] = "platform\ndevice\ndriver 1.0\noptions -DX=1\n#line 1 \"a.cl\"\n";
static const struct cache_bytes key = {key_text, sizeof key_text};

static struct cache_bytes sample(void) {
    static unsigned char bytes[1600];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 31 + (i >> 4));
    return (struct cache_bytes){bytes, sizeof bytes};
}

static bool parses(const unsigned char *blob, size_t size) {
    struct cache_bytes payload;
    return cache_blob_parse((struct cache_bytes){blob, size}, CACHE_PROGRAM, key, &payload);
}

static void packed_blob_parses(void **state) {
    struct cache_bytes payload = sample(), found;
    size_t size;
    (void)state;
    void *blob = cache_blob_pack(CACHE_PROGRAM, key, payload, &size);
    assert_non_null(blob);
    assert_true(cache_blob_parse((struct cache_bytes){blob, size}, CACHE_PROGRAM, key, &found));
    assert_int_equal(found.size, payload.size);
    assert_memory_equal(found.bytes, payload.bytes, payload.size);
    free(blob);
}

static void no_altered_blob_parses(void **state) {
    size_t size, variants = 0;
    (void)state;
    unsigned char *blob = cache_blob_pack(CACHE_PROGRAM, key, sample(), &size);
    assert_non_null(blob);
    for (size_t at = 0; at < size; at++)
        for (unsigned bit = 0; bit < 8; bit++, variants++) {
            blob[at] ^= (unsigned char)(1u << bit);
            assert_false(parses(blob, size));
            blob[at] ^= (unsigned char)(1u << bit);
        }
    for (size_t cut = 0; cut < size; cut++, variants++) {
        unsigned char *part =
            malloc(cut + 1); /* exact: a read past its end is a sanitizer's find */
        assert_non_null(part);
        memcpy(part, blob, cut);
        assert_false(parses(part, cut));
        free(part);
    }
    assert_true(variants >= 10000);
    assert_true(parses(blob, size));
    free(blob);
}

/* Sizes in the header that lie, with a checksum that holds: as far as a forger gets. */
static void lying_sizes_do_not_parse(void **state) {
    static const uint64_t lies[] = {0, 1, UINT64_MAX, UINT64_MAX - 47, (uint64_t)1 << 63};
    size_t size;
    (void)state;
    unsigned char *blob = cache_blob_pack(CACHE_PROGRAM, key, sample(), &size);
    assert_non_null(blob);
    assert_true(size <= 4096);
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++)
        for (size_t at = 32; at <= 40; at += 8) {
            unsigned char forged[4096];
            memcpy(forged, blob, size);
            memcpy(forged + at, &lies[i], sizeof lies[i]);
            XXH128_hash_t hash = XXH3_128bits(forged + 24, size - 24);
            memcpy(forged + 8, &hash.low64, 8);
            memcpy(forged + 16, &hash.high64, 8);
            assert_false(parses(forged, size));
        }
    free(blob);
}

static void other_key_or_kind_does_not_parse(void **state) {
    char other[sizeof key_text];
    struct cache_bytes other_key = {other, sizeof other}, payload;
    size_t size;
    (void)state;
    void *blob = cache_blob_pack(CACHE_PROGRAM, key, sample(), &size);
    struct cache_bytes bytes = {blob, size};
    assert_non_null(blob);
    memcpy(other, key_text, sizeof other);
    assert_true(cache_blob_parse(bytes, CACHE_PROGRAM, other_key, &payload));
    other[10] ^= 1;
    assert_false(cache_blob_parse(bytes, CACHE_PROGRAM, other_key, &payload));
    other_key.size--;
    assert_false(cache_blob_parse(bytes, CACHE_PROGRAM, other_key, &payload));
    assert_false(cache_blob_parse(bytes, CACHE_CAPS, key, &payload));
    free(blob);
}

static void turn_round(unsigned char *bytes, size_t size) {
    for (size_t i = 0; i < size / 2; i++) {
        const unsigned char low = bytes[i];
        bytes[i] = bytes[size - 1 - i];
        bytes[size - 1 - i] = low;
    }
}

/* As a host of the other byte order writes it into a folder that both use; its checksum holds for either. */
static void other_byte_order_does_not_parse(void **state) {
    size_t size;
    (void)state;
    unsigned char *blob = cache_blob_pack(CACHE_PROGRAM, key, sample(), &size);
    assert_non_null(blob);
    for (size_t at = 24; at < 48; at += at < 32 ? 4 : 8)
        turn_round(blob + at, at < 32 ? 4 : 8);
    const XXH128_hash_t hash = XXH3_128bits(blob + 24, size - 24);
    memcpy(blob + 8, &hash.low64, 8);
    memcpy(blob + 16, &hash.high64, 8);
    assert_false(parses(blob, size));
    turn_round(blob + 8, 8);
    turn_round(blob + 16, 8);
    assert_false(parses(blob, size));
    free(blob);
}

static bool load_equals(struct cache_bytes wanted) {
    struct cache_bytes payload;
    void *owned;
    if (!cache_load(CACHE_PROGRAM, key, &payload, &owned))
        return false;
    bool equal = payload.size == wanted.size && !memcmp(payload.bytes, wanted.bytes, wanted.size);
    free(owned);
    return equal;
}

static void stored_entry_is_found(void **state) {
    struct cache_bytes small = {"abc", 3};
    (void)state;
    assert_false(load_equals(sample()));
    cache_store(CACHE_PROGRAM, key, sample());
    assert_true(load_equals(sample()));
    cache_store(CACHE_PROGRAM, key, small);
    assert_true(load_equals(small));
    assert_int_equal(scratch_count("", NULL, 0), 1);
}

static void corrupt_file_is_a_miss_and_rewritten(void **state) {
    char path[512];
    (void)state;
    cache_store(CACHE_PROGRAM, key, sample());
    assert_int_equal(scratch_count(".clsb", path, sizeof path), 1);
    assert_int_equal(truncate(path, 100), 0);
    assert_false(load_equals(sample()));
    assert_int_equal(truncate(path, 0), 0);
    assert_false(load_equals(sample()));
    cache_store(CACHE_PROGRAM, key, sample());
    assert_true(load_equals(sample()));
}

static void folder_follows_the_environment(void **state) {
    char path[CACHE_PATH];
    char home[512];
    char longest[2 * CACHE_PATH];
    const char *xdg = getenv("XDG_CACHE_HOME");
    char *old_xdg = xdg ? strdup(xdg) : NULL;
    const char *old_home = getenv("HOME");
    snprintf(home, sizeof home, "%s", old_home ? old_home : "");
    (void)state;
    assert_true(cache_folder(path));
    assert_string_equal(path, scratch);
    setenv("CLSTREAM_CACHE", "off", 1);
    assert_false(cache_folder(path));
    setenv("CLSTREAM_CACHE", "all", 1);
    unsetenv("CLSTREAM_CACHE_DIR");
    setenv("XDG_CACHE_HOME", "/x", 1);
    assert_true(cache_folder(path));
    assert_string_equal(path, "/x/clstream");
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", "/h", 1);
    assert_true(cache_folder(path));
    assert_string_equal(path, "/h/.cache/clstream");
    unsetenv("HOME");
    assert_false(cache_folder(path));
    memset(longest, 'p', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    setenv("CLSTREAM_CACHE_DIR", longest, 1);
    assert_false(cache_folder(path));
    setenv("CLSTREAM_CACHE_DIR", scratch, 1);
    if (old_home)
        setenv("HOME", home, 1);
    if (old_xdg)
        setenv("XDG_CACHE_HOME", old_xdg, 1);
    free(old_xdg);
}

static void folders_are_made(void **state) {
    char deep[CACHE_PATH];
    char path[512];
    (void)state;
    snprintf(deep, sizeof deep, "%s/a/b", scratch);
    setenv("CLSTREAM_CACHE_DIR", deep, 1);
    cache_store(CACHE_PROGRAM, key, sample());
    assert_true(load_equals(sample()));
    assert_true(cache_path(CACHE_PROGRAM, key, deep));
    assert_int_equal(unlink(deep), 0);
    snprintf(path, sizeof path, "%s/a/b", scratch);
    assert_int_equal(rmdir(path), 0);
}

/* /dev/null is no folder, for root either. */
static void impossible_folder_is_no_error(void **state) {
    (void)state;
    setenv("CLSTREAM_CACHE_DIR", "/dev/null/cache", 1);
    cache_store(CACHE_PROGRAM, key, sample());
    assert_false(load_equals(sample()));
    setenv("CLSTREAM_CACHE_DIR", scratch, 1);
}

/* The limit on a file's size stands for a full disk: the write comes to an end in the middle. */
static int store_on_full_disk(void *arg) {
    struct rlimit limit = {700, 700};
    (void)arg;
    signal(SIGXFSZ, SIG_IGN);
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    cache_store(CACHE_PROGRAM, key, sample());
    CHECK(!load_equals(sample()));
    return 0;
}

static void full_disk_leaves_nothing(void **state) {
    (void)state;
    assert_int_equal(child_run(store_on_full_disk, NULL), 0);
    assert_int_equal(scratch_count("", NULL, 0), 0);
}

/* The signal that comes with it would end the process. A blocked one does not stay pending. */
static int store_past_the_limit(void *arg) {
    struct rlimit limit = {700, 700};
    sigset_t past_limit, pending;
    (void)arg;
    sigemptyset(&past_limit);
    sigaddset(&past_limit, SIGXFSZ);
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    cache_store(CACHE_PROGRAM, key, sample());
    CHECK(!load_equals(sample()));
    CHECK(sigprocmask(SIG_BLOCK, &past_limit, NULL) == 0);
    cache_store(CACHE_PROGRAM, key, sample());
    CHECK(sigpending(&pending) == 0 && !sigismember(&pending, SIGXFSZ));
    return 0;
}

static void limit_on_files_ends_no_process(void **state) {
    (void)state;
    assert_int_equal(child_run(store_past_the_limit, NULL), 0);
    assert_int_equal(scratch_count("", NULL, 0), 0);
}

static void only_regular_files_are_read(void **state) {
    char path[CACHE_PATH];
    (void)state;
    assert_true(cache_path(CACHE_PROGRAM, key, path));
    assert_int_equal(mkfifo(path, 0600), 0); /* opening it for reading must not wait either */
    assert_false(load_equals(sample()));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_false(load_equals(sample()));
    cache_store(CACHE_PROGRAM, key, sample());
    assert_false(load_equals(sample()));
    assert_int_equal(scratch_count(".clsb-new", NULL, 0), 0);
}

static void put_file(const char *name, size_t bytes, time_t age) {
    char path[512];
    struct timespec times[2];
    snprintf(path, sizeof path, "%s/%s", scratch, name);
    int file = open(path, O_CREAT | O_WRONLY, 0600);
    assert_true(file >= 0);
    assert_int_equal(ftruncate(file, (off_t)bytes), 0);
    times[0].tv_sec = times[1].tv_sec = time(NULL) - age;
    times[0].tv_nsec = times[1].tv_nsec = 0;
    assert_int_equal(futimens(file, times), 0);
    close(file);
}

static void trim_removes_the_oldest_and_leftovers(void **state) {
    (void)state;
    put_file("new.clsb", 1000, 10);
    put_file("old.clsb", 1000, 1000);
    put_file("older.clsb", 1000, 2000);
    put_file("crash.clsb-new", 1000, 7200);
    put_file("fresh.clsb-new", 1000, 60);
    put_file("stale.clsb-loading", 0, 100000);
    put_file("recent.clsb-loading", 0, 60);
    put_file("future.clsb-loading", 0, -100000); /* of before the clock was set back */
    put_file("notes.txt", 5000, 999999);
    cache_trim(scratch, 3000);
    assert_int_equal(scratch_count(".clsb", NULL, 0), 3);
    assert_int_equal(scratch_count(".clsb-new", NULL, 0), 1);
    assert_int_equal(scratch_count(".clsb-loading", NULL, 0), 1);
    cache_trim(scratch, 2500);
    assert_int_equal(scratch_count("older.clsb", NULL, 0), 0);
    assert_int_equal(scratch_count(".clsb", NULL, 0), 2);
    cache_trim(scratch, 1000);
    assert_int_equal(scratch_count("new.clsb", NULL, 0), 1);
    assert_int_equal(scratch_count(".clsb", NULL, 0), 1);
    assert_int_equal(scratch_count("notes.txt", NULL, 0), 1);
}

static void use_makes_an_entry_young(void **state) {
    char path[CACHE_PATH];
    struct stat info;
    struct timespec times[2] = {{1000, 0}, {1000, 0}};
    (void)state;
    cache_store(CACHE_PROGRAM, key, sample());
    assert_true(cache_path(CACHE_PROGRAM, key, path));
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    assert_true(load_equals(sample()));
    assert_int_equal(stat(path, &info), 0);
    assert_true(time(NULL) - info.st_mtime < 100);
}

/* Crash marks */

static void mark_is_gone_after_a_good_load(void **state) {
    struct cache_mark mark;
    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_true(cache_mark_begin(CACHE_PROGRAM, key, &mark));
        assert_int_equal(scratch_count(".clsb-loading", NULL, 0), 1);
        cache_mark_end(&mark);
        assert_int_equal(scratch_count(".clsb-loading", NULL, 0), 0);
    }
}

static int die_with_mark(void *arg) {
    struct cache_mark mark;
    (void)arg;
    CHECK(cache_mark_begin(CACHE_PROGRAM, key, &mark));
    return 0; /* and the process ends without cache_mark_end */
}

static void entry_that_killed_a_process_is_not_used_again(void **state) {
    struct cache_mark mark;
    (void)state;
    cache_store(CACHE_PROGRAM, key, sample());
    assert_int_equal(child_run(die_with_mark, NULL), 0);
    assert_false(cache_mark_begin(CACHE_PROGRAM, key, &mark));
    assert_false(load_equals(sample()));
    cache_store(CACHE_PROGRAM, key, sample());
    assert_false(load_equals(sample()));
    assert_false(cache_mark_begin(CACHE_PROGRAM, key, &mark));
}

/* With nothing else to be stored, which would trim the folder. */
static void entry_is_stored_again_once_its_mark_is_a_day_old(void **state) {
    char path[CACHE_PATH];
    struct cache_mark mark;
    const struct timespec old[2] = {{time(NULL) - 100000, 0}, {time(NULL) - 100000, 0}};
    (void)state;
    cache_store(CACHE_PROGRAM, key, sample());
    assert_int_equal(child_run(die_with_mark, NULL), 0);
    assert_int_equal(scratch_count(".clsb-loading", path, sizeof path), 1);
    assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
    assert_false(cache_mark_begin(CACHE_PROGRAM, key, &mark));
    assert_false(load_equals(sample()));
    cache_store(CACHE_PROGRAM, key, sample());
    assert_true(load_equals(sample()));
    assert_true(cache_mark_begin(CACHE_PROGRAM, key, &mark));
    cache_mark_end(&mark);
}

static int begin_while_owner_lives(void *arg) {
    struct cache_mark mark;
    (void)arg;
    CHECK(cache_mark_begin(CACHE_PROGRAM, key, &mark));
    cache_mark_end(&mark);
    return 0;
}

static void mark_of_a_living_process_does_no_harm(void **state) {
    struct cache_mark mark;
    (void)state;
    cache_store(CACHE_PROGRAM, key, sample());
    assert_true(cache_mark_begin(CACHE_PROGRAM, key, &mark));
    assert_int_equal(child_run(begin_while_owner_lives, NULL), 0);
    assert_int_equal(scratch_count(".clsb-loading", NULL, 0), 1);
    cache_mark_end(&mark);
    assert_true(load_equals(sample()));
}

/* Claims */

/* Ends of pipes between the maker of an entry and those who wait for it. */
struct talk {
    int to_maker[2], from_maker[2];
};

static bool tell(const int ends[2]) { return write(ends[1], "x", 1) == 1; }

static bool hear(const int ends[2]) {
    char byte;
    return read(ends[0], &byte, 1) == 1;
}

static int make_the_entry(void *arg) {
    const struct talk *talk = arg;
    struct cache_claim claim;
    CHECK(cache_claim_begin(CACHE_PROGRAM, key, &claim) && claim.lock != FILE_UNLOCKED);
    CHECK(tell(talk->from_maker) && hear(talk->to_maker));
    clock_sleep_ns(50 * 1000 * 1000); /* who waits is to come to it */
    cache_store(CACHE_PROGRAM, key, sample());
    cache_claim_end(&claim);
    return 0;
}

static int die_with_claim(void *arg) {
    struct cache_claim claim;
    (void)arg;
    CHECK(cache_claim_begin(CACHE_PROGRAM, key, &claim) && claim.lock != FILE_UNLOCKED);
    return 0;
}

/* Starts `make_the_entry`, and comes back once it has its claim. */
static pid_t start_maker(struct talk *talk) {
    assert_int_equal(pipe(talk->to_maker), 0);
    assert_int_equal(pipe(talk->from_maker), 0);
    fflush(NULL);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        const int line = make_the_entry(talk);
        dump_counts();
        _exit(line ? 1 : 0);
    }
    assert_true(hear(talk->from_maker));
    return pid;
}

static void who_claims_what_is_being_made_finds_it(void **state) {
    struct cache_claim claim;
    struct talk talk;
    int status;
    (void)state;
    const pid_t maker = start_maker(&talk);
    assert_false(load_equals(sample()));
    assert_true(tell(talk.to_maker));
    assert_true(cache_claim_begin(CACHE_PROGRAM, key, &claim));
    assert_true(load_equals(sample()));
    cache_claim_end(&claim);
    assert_int_equal(waitpid(maker, &status, 0), maker);
    assert_int_equal(status, 0);
    assert_int_equal(scratch_count(".clsb-making", NULL, 0), 0);
    for (int i = 0; i < 2; i++) {
        close(talk.to_maker[i]);
        close(talk.from_maker[i]);
    }
}

static void claim_of_a_dead_process_is_nobodys(void **state) {
    struct cache_claim claim;
    (void)state;
    assert_int_equal(child_run(die_with_claim, NULL), 0);
    assert_int_equal(scratch_count(".clsb-making", NULL, 0), 1);
    assert_true(cache_claim_begin(CACHE_PROGRAM, key, &claim));
    assert_true(claim.lock != FILE_UNLOCKED);
    cache_claim_end(&claim);
    assert_int_equal(scratch_count(".clsb-making", NULL, 0), 0);
}

static void without_a_folder_there_is_no_claim(void **state) {
    struct cache_claim claim;
    (void)state;
    assert_int_equal(setenv("CLSTREAM_CACHE", "off", 1), 0);
    assert_false(cache_claim_begin(CACHE_PROGRAM, key, &claim));
    cache_claim_end(&claim);
    assert_int_equal(setenv("CLSTREAM_CACHE", "all", 1), 0);
}

#define ON_DISK(test) cmocka_unit_test_setup_teardown(test, scratch_setup, scratch_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packed_blob_parses),
        cmocka_unit_test(no_altered_blob_parses),
        cmocka_unit_test(lying_sizes_do_not_parse),
        cmocka_unit_test(other_key_or_kind_does_not_parse),
        cmocka_unit_test(other_byte_order_does_not_parse),
        ON_DISK(stored_entry_is_found),
        ON_DISK(corrupt_file_is_a_miss_and_rewritten),
        ON_DISK(folder_follows_the_environment),
        ON_DISK(folders_are_made),
        ON_DISK(impossible_folder_is_no_error),
        ON_DISK(full_disk_leaves_nothing),
        ON_DISK(limit_on_files_ends_no_process),
        ON_DISK(only_regular_files_are_read),
        ON_DISK(trim_removes_the_oldest_and_leftovers),
        ON_DISK(use_makes_an_entry_young),
        ON_DISK(mark_is_gone_after_a_good_load),
        ON_DISK(entry_that_killed_a_process_is_not_used_again),
        ON_DISK(entry_is_stored_again_once_its_mark_is_a_day_old),
        ON_DISK(mark_of_a_living_process_does_no_harm),
        ON_DISK(who_claims_what_is_being_made_finds_it),
        ON_DISK(claim_of_a_dead_process_is_nobodys),
        ON_DISK(without_a_folder_there_is_no_claim),
    };
    return cmocka_run_group_tests_name("cache", tests, NULL, NULL);
}
