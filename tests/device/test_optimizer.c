/* SPDX-License-Identifier: MIT */
/*
 * Steps of optimizers on lists of arrays, several in a row, against the definitions of clstream/optimizer.h in double
 * precision: parameters, moments, master weights, the norm, and what lies between the arrays.
 */
#include "../support/effort.h"
#include "blas_values.h"

enum { MOST_ARRAYS = 40, STEPS = 4, SPACES = 16384, GAP = 3 };

/* An array of the list: part of a buffer that the list has for its type, or of one of its own. */
struct item {
    cls_dtype type;
    size_t count, offset; /* of parameter and gradient */
    struct values *parameters, *gradients;
    double *w, *m, *v; /* what the steps come to */
};

struct list {
    cls_optimizer_config config;
    size_t n;
    struct item items[MOST_ARRAYS];
    struct values shared[9][2],
        own[MOST_ARRAYS][2]; /* parameters and gradients, by type and by item */
    cls_optimizer optimizer;
    uint64_t steps;
    double norm;
};

/* --- lists --- */

static double *zeros(size_t count) {
    double *x = calloc(count + 1, sizeof *x);
    assert_non_null(x);
    return x;
}

/* Every other array is in the buffer of its type, with gaps, so that it begins at any element. */
static void place(struct list *list, size_t i, size_t used[9]) {
    struct item *item = &list->items[i];
    const bool is_alone = i % 2;
    struct values *pair = is_alone ? list->own[i] : list->shared[item->type];
    if (is_alone)
        for (unsigned k = 0; k < 2; k++)
            pair[k] = values_make(item->type, item->count + GAP, (unsigned)i + 90 * k);
    item->parameters = &pair[0];
    item->gradients = &pair[1];
    item->offset = is_alone ? i % GAP : used[item->type];
    if (!is_alone)
        used[item->type] += item->count + GAP;
    item->w = zeros(item->count);
    item->m = zeros(item->count);
    item->v = zeros(item->count);
    memcpy(item->w, pair[0].x + item->offset, item->count * sizeof *item->w);
}

static cls_array array_of(const struct item *item, const struct values *values) {
    return cls_array_at(values->buffer, item->type, item->offset, item->count);
}

static void get_arrays(const struct list *list, cls_array *parameters, cls_array *gradients) {
    for (size_t i = 0; i < list->n; i++) {
        parameters[i] = array_of(&list->items[i], list->items[i].parameters);
        gradients[i] = array_of(&list->items[i], list->items[i].gradients);
    }
}

static void open_list(struct list *list) {
    cls_array parameters[MOST_ARRAYS], gradients[MOST_ARRAYS];
    size_t used[9] = {0};
    for (size_t i = 0; i < list->n; i++) {
        const cls_dtype type = list->items[i].type;
        for (unsigned k = 0; k < 2; k++)
            if (!list->shared[type][k].x)
                list->shared[type][k] = values_make(type, SPACES, 7 + 50 * k + (unsigned)type);
        place(list, i, used);
        assert_true(used[type] <= SPACES);
    }
    get_arrays(list, parameters, gradients);
    OK(cls_optimizer_create(NULL, &list->config, parameters, list->n, &list->optimizer));
}

static void close_list(struct list *list) {
    OK(cls_optimizer_destroy(list->optimizer));
    for (size_t i = 0; i < list->n; i++) {
        free(list->items[i].w);
        free(list->items[i].m);
        free(list->items[i].v);
        for (unsigned k = 0; k < 2 && list->own[i][0].x; k++)
            values_free(&list->own[i][k]);
    }
    for (unsigned type = 0; type < 9; type++)
        for (unsigned k = 0; k < 2 && list->shared[type][0].x; k++)
            values_free(&list->shared[type][k]);
}

/* --- the reference --- */

static double norm_of(const struct list *list) {
    double sum = 0;
    for (size_t i = 0; i < list->n; i++)
        for (size_t k = 0; k < list->items[i].count; k++)
            sum += pow(list->items[i].gradients->x[list->items[i].offset + k], 2);
    return sqrt(sum);
}

static double factor_of(const struct list *list) {
    const double factor = list->config.max_norm / (list->norm + 1e-6);
    return list->config.max_norm == 0 || isinf(list->config.max_norm) || factor > 1 ? 1 : factor;
}

static double sgd(const struct list *list, double w, double g, double *m) {
    const cls_optimizer_config *c = &list->config;
    g += c->decay * w;
    *m = list->steps == 1 ? g : c->momentum * *m + (1 - c->dampening) * g;
    const double d = c->momentum == 0 ? g : c->nesterov ? g + c->momentum * *m : *m;
    return w - c->rate * d;
}

static double adamw(const struct list *list, double w, double g, double *m, double *v) {
    const cls_optimizer_config *c = &list->config;
    const double t = (double)list->steps;
    *m = c->beta1 * *m + (1 - c->beta1) * g;
    *v = c->beta2 * *v + (1 - c->beta2) * g * g;
    const double mean = *m / (1 - pow(c->beta1, t)), square = *v / (1 - pow(c->beta2, t));
    return w - c->rate * (mean / (sqrt(square) + c->epsilon) + c->decay * w);
}

static void expect_step(struct list *list) {
    list->steps++;
    list->norm = norm_of(list);
    const double factor = factor_of(list);
    for (size_t i = 0; i < list->n; i++) {
        struct item *item = &list->items[i];
        for (size_t k = 0; k < item->count; k++) {
            const double g = item->gradients->x[item->offset + k] * factor;
            item->w[k] = list->config.kind == CLS_SGD
                             ? sgd(list, item->w[k], g, &item->m[k])
                             : adamw(list, item->w[k], g, &item->m[k], &item->v[k]);
        }
    }
}

/* --- comparison --- */

static double *read_array(cls_array array) {
    const struct values whole = {array.dtype, array.offset + array.count, NULL, array.buffer};
    double *all = download(&whole);
    memmove(all, all + array.offset, array.count * sizeof *all);
    return all;
}

static void check_near(const char *what, cls_dtype type, const double *got, const double *wanted,
                       size_t count) {
    for (size_t i = 0; i < count; i++) {
        const double allowed = 16 * unit(type) * (1 + fabs(wanted[i]));
        if (!(fabs(got[i] - wanted[i]) <= allowed))
            fail_msg("%s of %s, of %zu: element %zu is %.17g, not %.17g", what,
                     cls_dtype_name(type), count, i, got[i], wanted[i]);
    }
}

static void check_state(const struct list *list, size_t i, cls_optimizer_array which,
                        const double *wanted, bool is_there) {
    static const char *const names[] = {"", "first moments", "second moments", "master weights"};
    const struct item *item = &list->items[i];
    cls_array array;
    if (!is_there || !item->count) {
        assert_int_equal(cls_optimizer_get_array(list->optimizer, which, i, &array),
                         CLS_ERROR_NOT_FOUND);
        return;
    }
    OK(cls_optimizer_get_array(list->optimizer, which, i, &array));
    assert_true(array.count == item->count);
    assert_int_equal(array.dtype, item->type == CLS_F64 ? CLS_F64 : CLS_F32);
    double *got = read_array(array);
    check_near(names[which], item->type, got, wanted, item->count);
    free(got);
}

/* A parameter of 16 bits is its master weight, rounded. */
static void check_rounded(const struct list *list, size_t i) {
    const struct item *item = &list->items[i];
    cls_array array;
    OK(cls_optimizer_get_array(list->optimizer, CLS_OPTIMIZER_MASTER, i, &array));
    double *got = read_array(array_of(item, item->parameters)), *master = read_array(array);
    struct values rounded = {item->type, item->count, master, NULL};
    values_round(&rounded);
    assert_memory_equal(got, master, item->count * sizeof *got);
    free(got);
    free(master);
}

static void check_parameter(const struct list *list, size_t i) {
    const struct item *item = &list->items[i];
    double *got = read_array(array_of(item, item->parameters));
    if (!is_narrow(item->type))
        check_near("parameter", item->type, got, item->w, item->count);
    else if (item->count)
        check_rounded(list, i);
    free(got);
}

/* Gradients, and what is between the parameters, are as they were. */
static void check_surroundings(const struct values *pair, const struct list *list) {
    double *parameters = download(&pair[0]), *gradients = download(&pair[1]);
    bool *is_parameter = calloc(pair->count, sizeof *is_parameter);
    assert_non_null(is_parameter);
    assert_memory_equal(gradients, pair[1].x, pair[1].count * sizeof *gradients);
    for (size_t i = 0; i < list->n; i++)
        for (size_t k = 0; k < list->items[i].count && list->items[i].parameters == pair; k++)
            is_parameter[list->items[i].offset + k] = true;
    for (size_t k = 0; k < pair->count; k++)
        if (!is_parameter[k] && parameters[k] != pair->x[k])
            fail_msg("an element between the parameters has changed, at %zu", k);
    free(is_parameter);
    free(parameters);
    free(gradients);
}

static void check_list(const struct list *list) {
    const bool is_adamw = list->config.kind == CLS_ADAMW;
    cls_optimizer_state state;
    for (size_t i = 0; i < list->n; i++) {
        const struct item *item = &list->items[i];
        check_parameter(list, i);
        check_state(list, i, CLS_OPTIMIZER_FIRST_MOMENT, item->m,
                    is_adamw || list->config.momentum != 0);
        check_state(list, i, CLS_OPTIMIZER_SECOND_MOMENT, item->v, is_adamw);
        check_state(list, i, CLS_OPTIMIZER_MASTER, item->w, is_narrow(item->type));
        check_surroundings(i % 2 ? list->own[i] : list->shared[item->type], list);
    }
    OK(cls_optimizer_get_state(list->optimizer, &state, NULL));
    assert_true(state.steps == list->steps && state.rate == list->config.rate);
    const double norm = list->config.max_norm > 0 ? list->norm : 0;
    if (!(fabs(state.norm - norm) <= 4 * (double)FLT_EPSILON * norm))
        fail_msg("the norm is %.9g, not %.9g", state.norm, norm);
}

static void run_list(struct list *list) {
    cls_array parameters[MOST_ARRAYS], gradients[MOST_ARRAYS];
    open_list(list);
    get_arrays(list, parameters, gradients);
    for (unsigned i = 0; i < STEPS; i++) {
        if (i == 2)
            OK(cls_optimizer_set_rate_async(list->optimizer, list->config.rate /= 2, NULL));
        OK(cls_optimizer_step(list->optimizer, gradients, list->n, NULL));
        expect_step(list);
    }
    check_list(list);
    close_list(list);
}

/* --- the tests --- */

static struct list list_of(cls_optimizer_kind kind, size_t n) {
    struct list list = {.config = CLS_OPTIMIZER_CONFIG_INIT, .n = n};
    list.config.kind = kind;
    list.config.rate = 0x1p-6;
    list.config.decay = 0.125;
    return list;
}

static struct list sgd_list(size_t n, double momentum, double dampening, int nesterov) {
    struct list list = list_of(CLS_SGD, n);
    list.config.momentum = momentum;
    list.config.dampening = dampening;
    list.config.nesterov = nesterov;
    return list;
}

/* Lengths 0, 1, odd, and of several work-groups, of the types that the device has; of `n_types` of them, from `first` on,
 * where time is short: each is a program for the driver's compiler. */
static void fill_mixed(struct list *list, unsigned first, unsigned n_types) {
    static const cls_dtype types[2][4] = {{CLS_F32, CLS_BF16, CLS_F16, CLS_F32},
                                          {CLS_F32, CLS_BF16, CLS_F64, CLS_F16}};
    static const size_t counts[] = {0, 1, 33, 1001, 2048, 17, 64};
    const cls_dtype *there = types[device_has_f64()];
    n_types = effort_is_long() ? 4 : n_types;
    for (size_t i = 0; i < list->n; i++) {
        list->items[i].type = there[(first + i / 2 % n_types) % 4];
        list->items[i].count = counts[i % (sizeof counts / sizeof *counts)];
    }
}

static void fill_floats(struct list *list, cls_dtype type, size_t first) {
    for (size_t i = 0; i < list->n; i++) {
        list->items[i].type = type;
        list->items[i].count = i ? i * 7 % 5 : first;
    }
}

static void test_sgd(void **state) {
    (void)state;
    NEED_ROUNDING(CLS_F32);
    struct list list = sgd_list(MOST_ARRAYS, 0, 0, 0);
    fill_mixed(&list, 1, 1);
    run_list(&list);
}

static void test_momentum(void **state) {
    (void)state;
    NEED_ROUNDING(CLS_F32);
    struct list list = sgd_list(MOST_ARRAYS, 0.75, 0.25, 0);
    fill_mixed(&list, 3, 2);
    run_list(&list);
}

static void test_nesterov(void **state) {
    (void)state;
    NEED_ROUNDING(CLS_F32);
    struct list list = sgd_list(3, 0.75, 0, 1);
    fill_floats(&list, CLS_F32, 9000);
    list.config.max_norm = INFINITY;
    run_list(&list);
}

static void test_adamw_clipped(void **state) {
    (void)state;
    NEED_ROUNDING(CLS_F32);
    struct list list = list_of(CLS_ADAMW, MOST_ARRAYS);
    fill_mixed(&list, 2, 2);
    list.config.max_norm = 3;
    run_list(&list);
}

static void test_adamw_of_one(void **state) {
    (void)state;
    NEED_ROUNDING(CLS_F32);
    struct list list = list_of(CLS_ADAMW, 1);
    fill_floats(&list, CLS_F32, 9001);
    run_list(&list);
}

/* More than one launch has arguments for. */
static void test_adamw_of_many(void **state) {
    (void)state;
    NEED_ROUNDING(CLS_F32);
    struct list list = list_of(CLS_ADAMW, MOST_ARRAYS);
    fill_floats(&list, CLS_F32, 8193);
    for (size_t i = 0; i < list.n; i++)
        list.items[i].count += i > 0;
    list.config.max_norm = 2;
    run_list(&list);
}

static void test_empty_arrays(void **state) {
    (void)state;
    NEED_ROUNDING(CLS_F32);
    struct list list = list_of(CLS_ADAMW, 2);
    fill_floats(&list, CLS_F32, 0);
    list.items[1].count = 0;
    list.config.max_norm = 1;
    run_list(&list);
}

/* One array, and the same elements as several, of which the last ones begin where no vector may. */
static void test_cut_changes_no_bit(void **state) {
    enum { COUNT = 20001, CUTS = 5 };
    static const size_t ends[CUTS] = {1, 4100, 4101, 12293, COUNT};
    cls_array parameters[CUTS], gradients[CUTS];
    cls_optimizer whole, parts;
    (void)state;
    NEED_ROUNDING(CLS_F32);
    struct values w = values_make(CLS_F32, COUNT, 1), g = values_make(CLS_F32, COUNT, 2),
                  again = values_make(CLS_F32, COUNT, 1);
    for (unsigned i = 0; i < CUTS; i++) {
        const size_t begin = i ? ends[i - 1] : 0;
        parameters[i] = cls_array_at(again.buffer, CLS_F32, begin, ends[i] - begin);
        gradients[i] = cls_array_at(g.buffer, CLS_F32, begin, ends[i] - begin);
    }
    const cls_array all = cls_array_of(w.buffer, CLS_F32, COUNT),
                    all_gradients = cls_array_of(g.buffer, CLS_F32, COUNT);
    OK(cls_optimizer_create(NULL, NULL, &all, 1, &whole));
    OK(cls_optimizer_create(NULL, NULL, parameters, CUTS, &parts));
    for (unsigned i = 0; i < STEPS; i++) {
        OK(cls_optimizer_step_async(whole, &all_gradients, 1, NULL));
        OK(cls_optimizer_step_async(parts, gradients, CUTS, NULL));
    }
    double *of_whole = download(&w), *of_parts = download(&again);
    assert_memory_equal(of_whole, of_parts, COUNT * sizeof(double));
    free(of_whole);
    free(of_parts);
    OK(cls_optimizer_destroy(whole));
    OK(cls_optimizer_destroy(parts));
    values_free(&w);
    values_free(&g);
    values_free(&again);
}

/* AdamW's first moments after so many steps, as if these had been of 0: what is left are the corrections of the bias. */
static void check_bias(uint64_t steps) {
    const float one = 1, zero = 0;
    const cls_optimizer_state reached = {steps - 1, 1, 0};
    cls_optimizer_config config = CLS_OPTIMIZER_CONFIG_INIT;
    cls_optimizer optimizer;
    cls_buffer w, g;
    float got;
    config.epsilon = 0;
    OK(cls_buffer_from_host(NULL, &zero, sizeof zero, &w));
    OK(cls_buffer_from_host(NULL, &one, sizeof one, &g));
    const cls_array parameter = cls_array_of(w, CLS_F32, 1), gradient = cls_array_of(g, CLS_F32, 1);
    OK(cls_optimizer_create(NULL, &config, &parameter, 1, &optimizer));
    OK(cls_optimizer_set_state(optimizer, &reached, NULL));
    OK(cls_optimizer_step(optimizer, &gradient, 1, NULL));
    OK(cls_copy_d2h(&got, w, 0, sizeof got, NULL));
    const double t = (double)steps, mean = (1 - config.beta1) / -expm1(t * log(config.beta1));
    const double square = (1 - config.beta2) / -expm1(t * log(config.beta2));
    const double wanted = -mean / sqrt(square);
    if (!(fabs((double)got - wanted) <= 16 * (double)FLT_EPSILON * fabs(wanted)))
        fail_msg("step %llu: %.9g, not %.9g", (unsigned long long)steps, (double)got, wanted);
    OK(cls_optimizer_destroy(optimizer));
    OK(cls_buffer_destroy(w));
    OK(cls_buffer_destroy(g));
}

static void test_bias_at_any_step(void **state) {
    static const uint64_t steps[] = {1, 2, 3, 10, 99, 1000, 12345, 1000000, UINT64_C(1) << 40};
    (void)state;
    NEED_ROUNDING(CLS_F32);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        check_bias(steps[i]);
}

/* The clipping of one step of SGD with rate 1, on weights of 0, whose gradients have an odd one among them. */
static void check_odd_gradient(float odd, double norm, double other, double at_odd) {
    enum { COUNT = 100, ODD = 77 };
    float gradients[COUNT] = {0}, weights[COUNT] = {0};
    cls_optimizer_config config = CLS_OPTIMIZER_CONFIG_INIT;
    cls_optimizer optimizer;
    cls_buffer w, g;
    cls_array array;
    float found;
    config.kind = CLS_SGD;
    config.rate = config.max_norm = 1;
    gradients[0] = 1;
    gradients[ODD] = odd;
    OK(cls_buffer_from_host(NULL, weights, sizeof weights, &w));
    OK(cls_buffer_from_host(NULL, gradients, sizeof gradients, &g));
    const cls_array parameter = cls_array_of(w, CLS_F32, COUNT),
                    gradient = cls_array_of(g, CLS_F32, COUNT);
    OK(cls_optimizer_create(NULL, &config, &parameter, 1, &optimizer));
    OK(cls_optimizer_step(optimizer, &gradient, 1, NULL));
    OK(cls_copy_d2h(weights, w, 0, sizeof weights, NULL));
    OK(cls_optimizer_get_array(optimizer, CLS_OPTIMIZER_NORM, 0, &array));
    OK(cls_copy_d2h(&found, array.buffer, array.offset * sizeof found, sizeof found, NULL));
    assert_true(isnan(norm) ? isnan(found) : (double)found == norm);
    assert_true(isnan(other) ? isnan(weights[0]) : (double)weights[0] == other);
    assert_true(isnan(at_odd) ? isnan(weights[ODD]) : (double)weights[ODD] == at_odd);
    OK(cls_optimizer_destroy(optimizer));
    OK(cls_buffer_destroy(w));
    OK(cls_buffer_destroy(g));
}

static void test_norm_that_is_no_number(void **state) {
    (void)state;
    NEED_ROUNDING(CLS_F32);
    check_odd_gradient(INFINITY, INFINITY, 0, NAN);
    check_odd_gradient(1e30f, INFINITY, 0, 0);
    check_odd_gradient(NAN, NAN, NAN, NAN);
}

int main(void) {
    prepare_tests();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sgd),
        cmocka_unit_test(test_momentum),
        cmocka_unit_test(test_nesterov),
        cmocka_unit_test(test_adamw_clipped),
        cmocka_unit_test(test_adamw_of_one),
        cmocka_unit_test(test_adamw_of_many),
        cmocka_unit_test(test_empty_arrays),
        cmocka_unit_test(test_cut_changes_no_bit),
        cmocka_unit_test(test_bias_at_any_step),
        cmocka_unit_test(test_norm_that_is_no_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
