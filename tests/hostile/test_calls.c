/* SPDX-License-Identifier: MIT */
/*
 * Every public function with every bad value of every argument, alone and in pairs: the documented
 * status, a detail, and no output touched; and every blocking one inside a host function. The rows come
 * from calls.def and the library's tables. `test_calls --names` prints the functions.
 */
#include "hostile.h"

#include "../support/effort.h"
#include "../support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Functions that return no status answer a bad value with "?" or 0. */
static cls_status answer_text(const char *text) {
    return !strcmp(text, "?") || !strcmp(text, "CLS_UNKNOWN_STATUS") ? CLS_ERROR_INVALID_VALUE
                                                                     : CLS_SUCCESS;
}
/* A size or a time, whichever of these types it is here. */
static cls_status answer_number(unsigned long long number) {
    return number ? CLS_SUCCESS : CLS_ERROR_INVALID_VALUE;
}
static cls_status answer_int(int number) {
    (void)number;
    return CLS_SUCCESS;
}
#define ANSWER(x) \
    _Generic((x), const char *                                                                 \
             : answer_text, unsigned                                                           \
             : answer_number, unsigned long                                                    \
             : answer_number, unsigned long long                                               \
             : answer_number, int                                                              \
             : answer_int)(x)

#include "tests/hostile/call_rows.h"

enum { ROWS = COUNT_OF(call_rows), LEAST_CALLS = 3000, PAIRED = 6, SHOWN = 50 };

static unsigned long calls, complaints;
static bool in_host_function;

/* --- kinds --- */

bool has_flag(const struct arg *arg, const char *flag) {
    const size_t length = strlen(flag);
    for (const char *at = arg->flags; *at; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") == length && !strncmp(at, flag, length))
            return true;
    return false;
}

const char *first_flag(const struct arg *arg) {
    static char flag[MAX_ARGS][32];
    static unsigned next;
    char *out = flag[next++ % MAX_ARGS];
    snprintf(out, sizeof flag[0], "%.*s", (int)strcspn(arg->flags, ","), arg->flags);
    return out;
}

void add_bad(struct bad_list *list, const char *what, cls_status status, union value value) {
    assert_true(list->n < MAX_BAD);
    list->bad[list->n++] = (struct bad){value, what, status, status};
}

static const struct kind *kind_of(const struct arg *arg) {
    static const struct kind *const tables[] = {
        scalar_kinds, struct_kinds, handle_kinds, view_kinds,  matrix_kinds,
        batch_kinds,  memory_kinds, image_kinds,  block_kinds, pointer_kinds};
    for (size_t i = 0; i < COUNT_OF(tables); i++)
        for (const struct kind *kind = tables[i]; kind->name; kind++)
            if (!strcmp(kind->name, arg->kind))
                return kind;
    fail_msg("no kind \"%s\"", arg->kind);
    return NULL;
}

static void good_values(const struct call_row *row, union value *values) {
    regions_poison();
    for (unsigned i = 0; i < row->n_args; i++)
        values[i] = kind_of(&row->args[i])->good(&row->args[i], i);
}

/* --- one call --- */

static bool needs_f64(const struct call_row *row) {
    for (unsigned i = 0; i < row->n_args; i++)
        if (has_flag(&row->args[i], "f64"))
            return true;
    return false;
}

static bool is_due(cls_status got, const struct bad *bad) {
    return bad && (got == bad->status || got == bad->or_else);
}

/* In which order a call reports, by clstream/status.h. */
enum rank { OF_CALL, OF_STATE, OF_TIME };

static enum rank rank_of(cls_status status) {
    switch (status) {
    case CLS_ERROR_COMMAND_FAILED:
    case CLS_ERROR_INVALID_STATE:
    case CLS_ERROR_NOT_TIMED:
        return OF_STATE;
    case CLS_NOT_READY:
    case CLS_ERROR_TIMEOUT:
        return OF_TIME;
    default:
        return OF_CALL;
    }
}

/* Whether a state was reported though something is wrong with the call itself, or time before a state. */
static bool is_early(cls_status got, const struct bad *a, const struct bad *b) {
    return rank_of(got) > rank_of(a->status) || (b && rank_of(got) > rank_of(b->status));
}

/* Whether all that a call has are vectors, or it asks for CLBlast's parameters. */
static bool needs_blas(const struct call_row *row) {
    bool vectors = false, matrices = false;
    for (unsigned i = 0; i < row->n_args; i++) {
        vectors = vectors || !strcmp(row->args[i].kind, "vector");
        matrices =
            matrices || !strcmp(row->args[i].kind, "matrix") || !strcmp(row->args[i].kind, "csr");
    }
    return (vectors && !matrices) || !strcmp(row->name, "cls_blas_get_tuning");
}

/* Whether a call has no VkFFT to answer with: there are no plans then, and those that take one are not tried. */
static bool lacks_vkfft(const struct call_row *row) {
    return !cls_fft_available() && !strcmp(row->name, "cls_fft_plan_create");
}

/* Which of several complaints of one kind comes first is nowhere promised. */
static bool is_excused(const struct call_row *row, cls_status got) {
    return (got == CLS_ERROR_WOULD_DEADLOCK && in_host_function) ||
           (got == CLS_ERROR_UNSUPPORTED &&
            (!stock.has_floats || (needs_f64(row) && !stock.has_fp64) ||
             (needs_blas(row) && !cls_blas_available()) || lacks_vkfft(row)));
}

static void complain(const struct call_row *row, const struct bad *a, const struct bad *b,
                     const char *got) {
    if (complaints++ < SHOWN)
        print_error("%s with %s%s%s is %s, not %s; the detail: %s\n", row->name, a->what,
                    b ? " and " : "", b ? b->what : "", got, cls_status_string(a->status),
                    cls_last_error_detail());
}

/* Calls the row with one or two bad values; `b` may be NULL. */
static void check(const struct call_row *row, const union value *values, const struct bad *a,
                  const struct bad *b) {
    cls_clear_last_error();
    const cls_status got = row->call(values);
    calls++;
    if (!is_due(got, a) && !is_due(got, b) && !is_excused(row, got))
        complain(row, a, b, cls_status_string(got));
    else if (!is_excused(row, got) && is_early(got, a, b))
        complain(row, a, b, "reported too early");
    if (!regions_untouched())
        complain(row, a, b, "writing to an output");
    if (row->has_detail && !*cls_last_error_detail())
        complain(row, a, b, "without a detail");
}

/* A good value that is made for the call, as what it destroys, is not made for a call that has a bad one:
 * such functions have one argument. */
static void with_bad(const struct call_row *row, const struct bad_list *lists) {
    union value values[MAX_ARGS];
    for (unsigned i = 0; i < row->n_args; i++)
        for (unsigned k = 0; k < lists[i].n; k++) {
            if (row->n_args > 1)
                good_values(row, values);
            else
                regions_poison();
            values[i] = lists[i].bad[k].value;
            check(row, values, &lists[i].bad[k], NULL);
        }
}

/* What is bad only beside something else may be good beside another such value. */
static bool is_relative(cls_status status) {
    return status == CLS_ERROR_WRONG_CONTEXT || status == CLS_ERROR_SIZE_MISMATCH ||
           status == CLS_ERROR_TYPE_MISMATCH;
}

/* Some of the values, and all of a later rank. */
static bool is_paired(const struct bad_list *list, unsigned k) {
    return k % ((list->n + PAIRED - 1) / PAIRED) == 0 || rank_of(list->bad[k].status) != OF_CALL;
}

static void with_pair(const struct call_row *row, const struct bad_list *lists, unsigned i,
                      unsigned j) {
    union value values[MAX_ARGS];
    for (unsigned k = 0; k < lists[i].n; k++)
        for (unsigned l = 0; l < lists[j].n; l++) {
            const struct bad *a = &lists[i].bad[k], *b = &lists[j].bad[l];
            if (!is_paired(&lists[i], k) || !is_paired(&lists[j], l) ||
                (a->status == b->status && is_relative(a->status)))
                continue;
            good_values(row, values);
            values[i] = a->value;
            values[j] = b->value;
            check(row, values, a, b);
        }
}

static void hammer(const struct call_row *row) {
    static struct bad_list lists[MAX_ARGS];
    for (unsigned i = 0; i < row->n_args; i++) {
        lists[i].n = 0;
        kind_of(&row->args[i])->bad(&row->args[i], i, &lists[i]);
    }
    with_bad(row, lists);
    for (unsigned i = 0; i < row->n_args; i++)
        for (unsigned j = i + 1; j < row->n_args; j++)
            with_pair(row, lists, i, j);
}

/* --- tests --- */

/* Whether the device has what a call works on. */
static bool has_objects(const struct call_row *row) {
    for (unsigned i = 0; i < row->n_args; i++)
        for (int type = 0; type < HANDLE_TYPES; type++)
            if (!strcmp(row->args[i].kind, handle_rows[type].name) && !stock.handles[type].live)
                return false;
    return !needs_blas(row) || cls_blas_available();
}

/* One typed name in seven, unless the effort is long: the driver compiles a kernel for each. */
static bool is_tried(unsigned r) {
    return has_objects(&call_rows[r]) && (!call_rows[r].is_typed || r % 7 == 0 || effort_is_long());
}

static void undo_outputs(const struct call_row *row) {
    for (unsigned i = 0; i < row->n_args; i++)
        if (kind_of(&row->args[i])->undo)
            kind_of(&row->args[i])->undo(&row->args[i], i);
}

static void try_good_values(const struct call_row *row) {
    union value values[MAX_ARGS];
    good_values(row, values);
    const cls_status status = row->call(values);
    if (status == CLS_ERROR_UNSUPPORTED && (!stock.has_floats || lacks_vkfft(row)))
        return;
    if (status)
        fail_msg("%s with good values is %s: %s", row->name, cls_status_string(status),
                 cls_last_error_detail());
    assert_int_equal(cls_context_synchronize(stock.handles[CONTEXT].foreign), CLS_SUCCESS);
    assert_int_equal(cls_stream_synchronize(stock.handles[STREAM].live), CLS_SUCCESS);
    undo_outputs(row);
}

static void test_good_values_are_good(void **state) {
    (void)state;
    for (unsigned r = 0; r < ROWS; r++)
        if (is_tried(r) && !call_rows[r].not_tried)
            try_good_values(&call_rows[r]);
}

static void test_bad_values_are_refused(void **state) {
    (void)state;
    complaints = 0;
    for (unsigned r = 0; r < ROWS; r++)
        if (is_tried(r))
            hammer(&call_rows[r]);
    print_message("%lu calls of %d functions\n", calls, (int)ROWS);
    assert_true(calls >= LEAST_CALLS);
    assert_int_equal(complaints, 0);
}

/* Good values would block, and bad ones are still refused. */
static void blocked_calls(void *arg) {
    static const struct bad blocking = {{NULL},
                                        "good values inside a host function",
                                        CLS_ERROR_WOULD_DEADLOCK,
                                        CLS_ERROR_WOULD_DEADLOCK};
    union value values[MAX_ARGS];
    (void)arg;
    in_host_function = true;
    for (unsigned r = 0; r < ROWS; r++) {
        if (!is_tried(r) || !call_rows[r].blocks)
            continue;
        good_values(&call_rows[r], values);
        check(&call_rows[r], values, &blocking, NULL);
        hammer(&call_rows[r]);
    }
    in_host_function = false;
}

static void test_blocking_calls_are_refused_inside_host_functions(void **state) {
    (void)state;
    const unsigned long before = calls;
    complaints = 0;
    assert_int_equal(cls_stream_launch_host_async(stock.handles[STREAM].live, blocked_calls, NULL),
                     CLS_SUCCESS);
    assert_int_equal(cls_stream_synchronize(stock.handles[STREAM].live), CLS_SUCCESS);
    assert_true(calls - before >= LEAST_CALLS);
    assert_int_equal(complaints, 0);
}

/* `with_default` passes NULL for each handle that may be NULL, where there is one. Values that are not good together may
 * be found first. */
static void check_forked(const struct call_row *row, bool with_default) {
    union value values[MAX_ARGS];
    unsigned defaults = 0;
    good_values(row, values);
    for (unsigned i = 0; i < row->n_args && with_default; i++)
        if (has_flag(&row->args[i], "default")) {
            values[i] = of_pointer(NULL);
            defaults++;
        }
    if (with_default && !defaults)
        return;
    const int got = forked_answer(row, values);
    const bool may_be_bad = row->not_tried || with_default;
    const bool right =
        row->is_pure
            ? got == CLS_SUCCESS
            : got == CLS_ERROR_FORKED ||
                  (got == CLS_ERROR_UNSUPPORTED && needs_blas(row) && !cls_blas_available()) ||
                  (may_be_bad &&
                   (got == CLS_ERROR_INVALID_VALUE || got == CLS_ERROR_INVALID_STATE));
    if (!right && complaints++ < SHOWN)
        print_error("%s in a forked child %s\n", row->name,
                    got == FORKED_LOCKED  ? "takes a lock"
                    : got == FORKED_DIED  ? "died"
                    : got == FORKED_WROTE ? "writes to an output"
                                          : cls_status_string((cls_status)got));
}

static void test_calls_in_a_forked_child_are_refused(void **state) {
    (void)state;
    complaints = 0;
    for (unsigned r = 0; r < ROWS; r++) {
        if (call_rows[r].is_typed || !has_objects(&call_rows[r]))
            continue;
        check_forked(&call_rows[r], false);
        check_forked(&call_rows[r], true);
    }
    assert_int_equal(complaints, 0);
}

/* A second stage of one name is refused without a capture too. */
static bool is_same_again(const struct call_row *row, cls_status status) {
    union value values[MAX_ARGS];
    if (!status)
        return true;
    good_values(row, values);
    return row->call(values) == status;
}

/* A reset ends the capture, and succeeds. */
static void check_captured(const struct call_row *row) {
    union value values[MAX_ARGS];
    good_values(row, values);
    const struct captured_answer got = captured_answer(row, values);
    const bool refused = got.state == CLS_CAPTURE_INVALID ? got.call == CLS_ERROR_INVALID_STATE
                                                          : got.state == CLS_CAPTURE_NONE;
    const bool kept = got.state == CLS_CAPTURE_ACTIVE && !got.end && is_same_again(row, got.call);
    const bool right = (got.call == CLS_ERROR_UNSUPPORTED && !stock.has_floats) ||
                       (row->uncaptured ? refused && got.end == CLS_ERROR_INVALID_STATE : kept);
    if (!right && complaints++ < SHOWN)
        print_error("%s of a captured stream is %s, the capture is %s, and its end %s: %s\n",
                    row->name, cls_status_string(got.call),
                    got.state == CLS_CAPTURE_ACTIVE ? "valid" : "not valid",
                    cls_status_string(got.end), cls_last_error_detail());
    if (!got.call)
        undo_outputs(row);
}

/* What is refused leaves its objects as they were: afterwards the same call succeeds. */
static void test_calls_of_a_captured_stream(void **state) {
    (void)state;
    complaints = 0;
    for (unsigned r = 0; r < ROWS; r++) {
        const struct call_row *row = &call_rows[r];
        if (row->is_typed || row->not_tried || !has_objects(row))
            continue;
        check_captured(row);
        if (row->uncaptured)
            try_good_values(row);
    }
    assert_int_equal(complaints, 0);
}

/* All of it left the objects as they were. */
static void test_nothing_of_it_reached_the_streams(void **state) {
    cls_stream_counters home = CLS_STREAM_COUNTERS_INIT;
    (void)state;
    assert_int_equal(cls_stream_query(stock.handles[STREAM].live), CLS_SUCCESS);
    assert_int_equal(cls_stream_query(stock.handles[STREAM].foreign), CLS_SUCCESS);
    assert_int_equal(cls_stream_get_counters(stock.handles[STREAM].live, &home), CLS_SUCCESS);
    assert_int_equal(home.failed, 0);
    assert_int_equal(home.submitted, home.completed);
}

static int setup(void **state) {
    (void)state;
    return stock_make() ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    stock_free();
    return 0;
}

int main(int argc, char **argv) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_values_are_good),
        cmocka_unit_test(test_bad_values_are_refused),
        cmocka_unit_test(test_blocking_calls_are_refused_inside_host_functions),
        cmocka_unit_test(test_calls_in_a_forked_child_are_refused),
        cmocka_unit_test(test_calls_of_a_captured_stream),
        cmocka_unit_test(test_nothing_of_it_reached_the_streams),
    };
    if (argc > 1 && !strcmp(argv[1], "--names")) {
        for (unsigned r = 0; r < ROWS; r++)
            puts(call_rows[r].name);
        return 0;
    }
    return cmocka_run_group_tests(tests, setup, teardown);
}
