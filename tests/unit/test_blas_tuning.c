/* SPDX-License-Identifier: MIT */
/* The parameters of CLBlast's kernels, their records in the disk cache, and a CLBlast whose products are wrong. Each test
 * has processes of its own. CLBlast's functions and the reading of the cache are wrapped by the linker. */
#include "child.h"

#include <stdbool.h>

#include "config.h"

#include <math.h>
#include <string.h>

#include <clstream.h>

#include "../support/patience.h"
#include "driver/blas.h"
#include "driver/blas_parameters.h"
#include "driver/cache_file.h"
#include "scratch.h"

static const char xgemm[] =
    "GEMMK=0 KREG=1 KWG=16 KWI=2 MDIMA=4 MDIMC=4 MWG=16 NDIMB=4 NDIMC=4 NWG=16 "
    "SA=1 SB=1 STRM=0 STRN=0 VWM=2 VWN=2";
static const char direct[] =
    "WGD=16 KWID=2 MDIMAD=4 MDIMCD=4 NDIMBD=4 NDIMCD=4 PADA=1 PADB=1 VWMD=2 VWND=2";
static const char indirect_from_1[] = "XGEMM_MIN_INDIRECT_SIZE=1";

/* --- the text of parameters --- */

static const cls_device_info roomy = {.max_work_group = 1024, .local_memory = 48 << 10};

static bool is_taken(const char *text, size_t element) {
    struct blas_parameters out;
    return blas_parameters_parse(text, &roomy, element, &out);
}

static void parameters_of_whole_kernels_are_taken(void **state) {
    struct blas_parameters out;
    char all[400];
    (void)state;
    assert_true(is_taken("", 4));
    assert_true(is_taken(xgemm, 4));
    assert_true(is_taken(direct, 8));
    snprintf(all, sizeof all, "%s  %s %s ", direct, indirect_from_1, xgemm);
    assert_true(blas_parameters_parse(all, &roomy, 4, &out));
    assert_true(out.given[0] && out.given[1] && out.given[2]);
    assert_int_equal(out.values[0][2], 16);
    assert_int_equal(out.values[1][9], 16);
    assert_int_equal(out.values[2][0], 1);
}

/* The text with the first `name` changed to NAME=VALUE. */
static const char *changed(const char *text, const char *name, const char *value) {
    static char out[400];
    const char *at = strstr(text, name);
    assert_non_null(at);
    snprintf(out, sizeof out, "%.*s%s%s%s", (int)(at - text), text, name, value,
             at + strcspn(at, " "));
    return out;
}

static void what_no_device_can_run_is_refused(void **state) {
    static const char *const values[][2] = {
        {"GEMMK=", "1"}, {"KREG=", "2"},    {"KWG=", "0"},       {"KWG=", "24"},
        {"KWI=", "32"},  {"MDIMA=", "0"},   {"MDIMA=", "16"},    {"MDIMC=", "16"},
        {"MWG=", "4"},   {"NWG=", "512"},   {"NDIMB=", "256"},   {"SA=", "2"},
        {"VWM=", "16"},  {"VWN=", "3"},     {"VWN=", ""},        {"STRM=", "-1"},
        {"KWG=", "16x"}, {"SB=", "1 SB=1"}, {"SB=", "1 WGD=16"}, {"KWG=", "99999999999999999999"}};
    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (is_taken(changed(xgemm, values[i][0], values[i][1]), 4))
            fail_msg("%s%s", values[i][0], values[i][1]);
    assert_false(is_taken("KWG=16", 4));
    assert_false(is_taken("FOO=1", 4));
    assert_false(is_taken(changed(direct, "KWID=", "3"), 4));
    assert_false(is_taken(changed(direct, "WGD=", "0"), 4));
    assert_false(is_taken("XGEMM_MIN_INDIRECT_SIZE=0", 4));
    assert_false(is_taken("XGEMM_MIN_INDIRECT_SIZE=9999999", 4));
}

static void more_than_the_device_has_is_refused(void **state) {
    static const char large[] = "WGD=64 KWID=2 MDIMAD=32 MDIMCD=32 NDIMBD=32 NDIMCD=32 PADA=1 "
                                "PADB=1 VWMD=2 VWND=2";
    cls_device_info small = roomy;
    struct blas_parameters out;
    (void)state;
    assert_true(is_taken(large, 4));
    assert_false(is_taken(large, 8));
    small.max_work_group = 1023;
    assert_false(blas_parameters_parse(large, &small, 4, &out));
}

#ifdef HAVE_CLBLAST

#include <clblast_c.h>

enum { N = 48, WATCHDOG_S = 280 };

static struct {
    _Atomic int products, overrides; /* CLBlast's calls in this process */
    _Atomic bool lies;
    const void *record; /* what the cache has, instead */
    size_t record_bytes;
} spy;

__typeof__(CLBlastSgemm) __real_CLBlastSgemm, __wrap_CLBlastSgemm;

CLBlastStatusCode __wrap_CLBlastSgemm(CLBlastLayout layout, CLBlastTranspose ta,
                                      CLBlastTranspose tb, size_t m, size_t n, size_t k,
                                      float alpha, cl_mem a, size_t a_at, size_t a_ld, cl_mem b,
                                      size_t b_at, size_t b_ld, float beta, cl_mem c, size_t c_at,
                                      size_t c_ld, cl_command_queue *queue, cl_event *event) {
    spy.products++;
    return __real_CLBlastSgemm(layout, ta, tb, m, n, k, spy.lies ? alpha + 1 : alpha, a, a_at, a_ld,
                               b, b_at, b_ld, beta, c, c_at, c_ld, queue, event);
}

__typeof__(CLBlastOverrideParameters) __real_CLBlastOverrideParameters,
    __wrap_CLBlastOverrideParameters;

CLBlastStatusCode __wrap_CLBlastOverrideParameters(cl_device_id device, const char *kernel,
                                                   CLBlastPrecision precision, size_t count,
                                                   const char **names, const size_t *values) {
    spy.overrides++;
    return __real_CLBlastOverrideParameters(device, kernel, precision, count, names, values);
}

__typeof__(cache_load) __real_cache_load, __wrap_cache_load;

bool __wrap_cache_load(enum cache_kind kind, struct cache_bytes key, struct cache_bytes *payload,
                       void **owned) {
    if (kind != CACHE_BLAS || !spy.record)
        return __real_cache_load(kind, key, payload, owned);
    *owned = malloc(spy.record_bytes + 1);
    memcpy(*owned, spy.record, spy.record_bytes);
    *payload = (struct cache_bytes){*owned, spy.record_bytes};
    return true;
}

/* --- a process --- */

static size_t device; /* the default one */

struct rig {
    cls_buffer a, c;
    cls_matrix in, out;
};

static int open_rig(struct rig *rig) {
    const float one = 1;
    watchdog(WATCHDOG_S);
    if (cls_device_find(NULL, &device))
        return NO_DEVICES;
    CHECK(!cls_buffer_create(NULL, N * N * sizeof one, &rig->a));
    CHECK(!cls_buffer_create(NULL, N * N * sizeof one, &rig->c));
    CHECK(!cls_fill(rig->a, 0, N * N * sizeof one, &one, sizeof one, NULL));
    rig->in = cls_matrix_of(rig->a, CLS_F32, N, N);
    rig->out = cls_matrix_of(rig->c, CLS_F32, N, N);
    return 0;
}

static int check_product(const struct rig *rig) {
    float c[N * N];
    CHECK(!cls_gemm(rig->in, rig->in, rig->out, NULL, NULL));
    CHECK(!cls_buffer_to_host(rig->c, c, sizeof c));
    for (int i = 0; i < N * N; i++)
        CHECK(c[i] == N);
    return 0;
}

static cls_blas_tuning tuning_of(const char *text) {
    cls_blas_tuning tuning = CLS_BLAS_TUNING_INIT;
    snprintf(tuning.parameters, sizeof tuning.parameters, "%s", text);
    tuning.gain = 1.5;
    return tuning;
}

static bool is_in_force(const char *text) {
    cls_blas_tuning now = CLS_BLAS_TUNING_INIT;
    return !cls_blas_get_tuning(device, CLS_F32, &now) && strcmp(now.parameters, text) == 0;
}

static const char *way_and_reason(const struct rig *rig, cls_gemm_way *way) {
    cls_gemm_explanation told = CLS_GEMM_EXPLANATION_INIT;
    if (cls_gemm_explain(rig->in, rig->in, rig->out, NULL, NULL, &told))
        return cls_last_error_detail();
    *way = told.way;
    return told.reason;
}

/* --- records --- */

static int keep(void *text) {
    const cls_blas_tuning tuning = tuning_of(text);
    struct rig rig;
    int line = open_rig(&rig);
    if (line)
        return line;
    CHECK(!cls_blas_set_tuning(device, CLS_F32, &tuning, 1));
    return 0;
}

static int use_kept(void *text) {
    cls_blas_tuning now = CLS_BLAS_TUNING_INIT;
    struct rig rig;
    int line = open_rig(&rig);
    if (line)
        return line;
    CHECK(!cls_blas_get_tuning(device, CLS_F32, &now));
    CHECK(strcmp(now.parameters, text) == 0 && now.gain == 1.5 && now.made);
    CHECK(!spy.overrides);
    line = check_product(&rig);
    CHECK(spy.overrides == 1 && spy.products >= 2);
    return line;
}

static int use_tried(void *unused) {
    struct rig rig;
    (void)unused;
    int line = open_rig(&rig);
    if (!line)
        line = check_product(&rig);
    if (line)
        return line;
    CHECK(spy.overrides && !spy.products);
    return 0;
}

static void kept_parameters_are_applied_at_first_use(void **state) {
    (void)state;
    child_expect_well(keep, (void *)direct);
    child_expect_well(use_kept, (void *)direct);
    child_expect_well(use_tried, NULL);
}

static int none_in_force(void *unused) {
    struct rig rig;
    (void)unused;
    int line = open_rig(&rig);
    if (line)
        return line;
    CHECK(is_in_force(""));
    line = check_product(&rig);
    CHECK(!spy.overrides);
    return line;
}

/* As blas_standing.c writes it. */
struct record {
    double made, gain;
    int32_t verdict, reserved;
    char parameters[512];
};

static void records_that_are_wrong_are_ignored(void **state) {
    struct record good = {1e9, 2, 1, 0, "XGEMM_MIN_INDIRECT_SIZE=700"}, bad[8];
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        bad[i] = good;
    bad[0].gain = NAN;
    bad[1].made = -1;
    bad[2].verdict = 7;
    memset(bad[3].parameters, '1', sizeof bad[3].parameters);
    strcpy(bad[4].parameters, "XGEMM_MIN_INDIRECT_SIZE=0");
    strcpy(bad[5].parameters, changed(xgemm, "MWG=", "0"));
    strcpy(bad[6].parameters, "WGD=16");
    bad[7].made = INFINITY;
    spy.record_bytes = sizeof good;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        spy.record = &bad[i];
        child_expect_well(none_in_force, NULL);
    }
    spy.record = &good;
    child_expect_well(use_tried, NULL);
    for (spy.record_bytes = 0; spy.record_bytes < sizeof good; spy.record_bytes += 100)
        child_expect_well(none_in_force, NULL);
    spy.record = NULL;
}

/* --- what runs --- */

static int temporary_of(const struct rig *rig, size_t *bytes) {
    const struct blas_call call = {.m = N, .n = N, .k = N, .a.step = N, .b.step = N, .c.step = N};
    struct device *const *devices;
    size_t count;
    cls_context context;
    cl_command_queue queue;
    cl_int code;
    (void)rig;
    CHECK(!device_list(&devices, &count) && !cls_context_default(&context));
    cl_context cl = clCreateContext(NULL, 1, &devices[device]->id, NULL, NULL, &code);
    queue = clCreateCommandQueue(cl, devices[device]->id, 0, &code);
    CHECK(!code && !blas_temporary(devices[device], queue, &call, bytes));
    clReleaseCommandQueue(queue);
    clReleaseContext(cl);
    return 0;
}

/* The kernel for larger products needs temporary memory, and the other none. */
static int change_at_work(void *unused) {
    const cls_blas_tuning low = tuning_of(indirect_from_1),
                          high = tuning_of("XGEMM_MIN_INDIRECT_SIZE=9000");
    struct rig rig;
    size_t before = 0, after = 0;
    (void)unused;
    int line = open_rig(&rig);
    if (!line)
        line = check_product(&rig);
    if (line)
        return line;
    CHECK(!cls_blas_set_tuning(device, CLS_F32, &high, 0) && is_in_force(high.parameters));
    CHECK(!temporary_of(&rig, &before) && !before);
    CHECK(!check_product(&rig));
    CHECK(!cls_blas_set_tuning(device, CLS_F32, &low, 0));
    CHECK(!temporary_of(&rig, &after) && after);
    return check_product(&rig);
}

static void parameters_change_what_runs(void **state) {
    (void)state;
    child_expect_well(change_at_work, NULL);
}

/* --- wrong products --- */

static int find_wrong(void *unused) {
    struct rig rig;
    cls_gemm_way way = CLS_GEMM_WAY_NONE;
    (void)unused;
    int line = open_rig(&rig);
    if (line)
        return line;
    CHECK(strcmp(way_and_reason(&rig, &way), "CLSTREAM_GEMM says so") == 0);
    CHECK(!check_product(&rig));
    CHECK(strstr(way_and_reason(&rig, &way), "were wrong") && way == CLS_GEMM_WAY_BLOCKS);
    CHECK(cls_scal(2, cls_vector_of(rig.a, CLS_F32, N), NULL) == CLS_ERROR_UNSUPPORTED);
    CHECK(strstr(cls_last_error_detail(), "were wrong"));
    CHECK(!cls_blas_warmup(CLS_F32, 0, 0, 0, NULL));
    return 0;
}

static int remember_wrong(void *unused) {
    cls_blas_tuning now = CLS_BLAS_TUNING_INIT;
    struct rig rig;
    (void)unused;
    int line = open_rig(&rig);
    if (line)
        return line;
    CHECK(!cls_blas_get_tuning(device, CLS_F32, &now) && now.refused);
    CHECK(!check_product(&rig));
    CHECK(!spy.products);
    return 0;
}

/* A product that is only submitted is the trial's only way to a thread that may wait. */
static int fail_once(void *unused) {
    cls_gemm_way way;
    struct rig rig;
    (void)unused;
    int line = open_rig(&rig);
    if (line)
        return line;
    CHECK(!cls_gemm_async(rig.in, rig.in, rig.out, NULL, NULL));
    CHECK(cls_stream_synchronize(NULL));
    CHECK(strstr(cls_last_error_detail(), "CLBlast's products are wrong on this device"));
    CHECK(!cls_stream_reset(NULL));
    CHECK(!check_product(&rig));
    CHECK(strstr(way_and_reason(&rig, &way), "were wrong"));
    return 0;
}

static void a_device_with_wrong_products_is_refused(void **state) {
    (void)state;
    spy.lies = true;
    child_expect_well(find_wrong, NULL);
    child_expect_well(remember_wrong, NULL);
    spy.lies = false;
}

static void the_first_product_of_a_wrong_device_fails_by_name(void **state) {
    (void)state;
    spy.lies = true;
    child_expect_well(fail_once, NULL);
    spy.lies = false;
}

static void parameters_with_wrong_products_are_kept_no_longer(void **state) {
    (void)state;
    child_expect_well(keep, (void *)direct);
    spy.lies = true;
    child_expect_well(find_wrong, NULL);
    spy.lies = false;
    child_expect_well(none_in_force, NULL);
}

/* --- */

static int call_wrongly(void *unused) {
    cls_blas_tuning tuning = tuning_of(direct);
    (void)unused;
    CHECK(cls_blas_get_tuning(device, CLS_U32, &tuning) == CLS_ERROR_TYPE_MISMATCH);
    CHECK(cls_blas_get_tuning(1000, CLS_F32, &tuning) == CLS_ERROR_NO_DEVICE);
    strcpy(tuning.parameters, "KWG=16");
    CHECK(cls_blas_set_tuning(device, CLS_F32, &tuning, 1) == CLS_ERROR_INVALID_VALUE);
    memset(tuning.parameters, 'A', sizeof tuning.parameters);
    CHECK(cls_blas_set_tuning(device, CLS_F32, &tuning, 1) == CLS_ERROR_INVALID_VALUE);
    CHECK(is_in_force(""));
    return 0;
}

static void bad_arguments_are_refused(void **state) {
    (void)state;
    child_expect_well(call_wrongly, NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_of_whole_kernels_are_taken),
        cmocka_unit_test(what_no_device_can_run_is_refused),
        cmocka_unit_test(more_than_the_device_has_is_refused),
        TEST(kept_parameters_are_applied_at_first_use),
        TEST(records_that_are_wrong_are_ignored),
        TEST(parameters_change_what_runs),
        TEST(a_device_with_wrong_products_is_refused),
        TEST(the_first_product_of_a_wrong_device_fails_by_name),
        TEST(parameters_with_wrong_products_are_kept_no_longer),
        TEST(bad_arguments_are_refused),
    };
    setenv("CLSTREAM_GEMM", "clblast", 1);
    setenv("CLSTREAM_OP_SHAPE", "vectors",
           1); /* products that are not CLBlast's are those of GPUs */
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_of_whole_kernels_are_taken),
        cmocka_unit_test(what_no_device_can_run_is_refused),
        cmocka_unit_test(more_than_the_device_has_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
