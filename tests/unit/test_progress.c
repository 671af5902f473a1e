/* SPDX-License-Identifier: MIT */
/* The progress bar of the clstream command, drawn on a terminal of the test's own. */
#define _XOPEN_SOURCE 700 /* posix_openpt */
#include "../support/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../tools/progress.h"

enum { PREPARATION_MS = 400, WORK_MS = 150, ROOM = 400 };

static int terminal = -1, kept = -1;

static void nap_ms(long ms) {
    const struct timespec span = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&span, NULL);
}

/* From here on the standard error is a terminal. */
static int setup(void **state) {
    (void)state;
    terminal = posix_openpt(O_RDWR | O_NOCTTY);
    if (terminal < 0 || grantpt(terminal) || unlockpt(terminal))
        return 0; /* nowhere to draw: the tests skip */
    const int end = open(ptsname(terminal), O_RDWR | O_NOCTTY);
    kept = end < 0 ? -1 : dup(STDERR_FILENO);
    if (kept >= 0)
        dup2(end, STDERR_FILENO);
    if (end >= 0)
        close(end);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    if (kept >= 0)
        dup2(kept, STDERR_FILENO);
    return 0;
}

/* What was drawn; the terminal holds it until it is read. */
static void drawn(char text[ROOM]) {
    const ssize_t n = read(terminal, text, ROOM - 1); /* each drawing is one write */
    assert_true(n > 0);
    text[n] = '\0';
}

static void need_terminal(void) {
    if (kept < 0) {
        print_message("no pseudo terminal\n");
        skip();
    }
}

/* In and out, as in the summary, and without the seconds in which kernels were built. */
static void speed_is_of_the_work_alone(void **state) {
    (void)state;
    struct progress progress;
    char text[ROOM], *at;
    need_terminal();
    progress_begin(&progress, true, "run", 2000000000, 3);
    nap_ms(PREPARATION_MS);
    const double before = clock_seconds();
    progress_start(&progress);
    nap_ms(WORK_MS);
    const double least = clock_seconds() - before - 0.001;
    progress_update(&progress, 1000000000);
    const double most = clock_seconds() - before;
    drawn(text);
    at = strstr(text, "iB  ");
    assert_non_null(at);
    const double speed = strtod(at + 4, &at);
    assert_int_equal(strncmp(at, " GB/s", 5), 0);
    assert_true(speed > 3 / most * 0.99);
    assert_true(speed < 3 / (least > 0.1 ? least : 0.1) * 1.01);
    assert_non_null(strstr(text, " 50%"));
    progress_end(&progress);
    drawn(text);
}

/* Figures are no bytes and have no speed. */
static void things_are_counted(void **state) {
    (void)state;
    struct progress progress;
    char text[ROOM];
    need_terminal();
    progress_begin(&progress, true, "bench", 22, 0);
    nap_ms(WORK_MS);
    progress_update(&progress, 11);
    drawn(text);
    assert_non_null(strstr(text, "bench ["));
    assert_non_null(strstr(text, "11 of 22"));
    assert_null(strstr(text, "byte"));
    assert_null(strstr(text, "GB/s"));
    progress_end(&progress);
    drawn(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(speed_is_of_the_work_alone),
        cmocka_unit_test(things_are_counted),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
