/* SPDX-License-Identifier: MIT */
/*
 * `clstream tune`: searches for parameters of CLBlast's kernels for products. CLBlast has one kernel for large products
 * and one for small ones, and a size from which on a product is large. Each kernel is tried for all products, and the
 * size is chosen so that each product goes to the kernel that takes less time. What was found is confirmed by a process
 * started anew, in turns with one that has CLBlast's own parameters, before it is kept.
 */
#include "command.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <clstream/device.h>

#include "failure.h"
#include "progress.h"
#include "size.h"
#include "tune.h"

enum { LIMIT_S = 60, QUICK_S = 10, LONGEST_S = 24 * 3600, LONGEST_SIDE = 16384, TURNS = 5 };

static const double least_gain = 1.03; /* less is noise */

static const char help[] =
    "Usage: clstream tune [OPTION]... [M,N,K]...\n"
    "Search for the parameters with which CLBlast's matrix products take the least time on a\n"
    "device, and keep them for all programs, by device, driver and version of CLBlast.\n"
    "\n"
    "      --products M,N,K  of products to measure, as the operands are: m x k by k x n\n"
    "                        (default 512,512,512 1024,1024,1024 2048,2048,2048, as far as the\n"
    "                        time allows)\n"
    "      --quick           search for 10 seconds\n"
    "      --limit S         search for S seconds (default 60), half for each type\n"
    "      --dtype T         f32 or f64 (default both)\n"
    "      --device DEV      index, cpu, gpu, or part of a name (default $CLSTREAM_DEVICE)\n"
    "      --reset           keep CLBlast's own parameters, without a search\n"
    "  -q, --quiet           show no progress\n"
    "  -h, --help            print this\n"
    "\n"
    "Products are compared with the host's before parameters can win. Nothing is kept that\n"
    "gains less than 3 percent, or when the search is interrupted. clstream info shows what\n"
    "is in force.\n";

struct options {
    struct tune_job job;
    cls_dtype dtypes[2];
    unsigned n_dtypes;
    double limit;
    bool reset, quiet, given; /* products */
};

struct search {
    const struct options *options;
    struct tune_job job;
    struct tune_worker own, trying; /* CLBlast's own parameters; others */
    double start, until;
    double before[TUNE_SHAPES]; /* seconds, with CLBlast's own */
    unsigned tried;
    struct progress progress;
};

/* A kernel's best set, and the seconds of each product with it. */
struct found {
    struct tune_set set;
    double seconds[TUNE_SHAPES];
};

static void show(void *arg) {
    struct search *search = arg;
    progress_update(&search->progress, (uint64_t)(clock_seconds() - search->start));
}

/* The geometric mean. */
static double mean(const double *x, unsigned count) {
    double sum = 0;
    for (unsigned i = 0; i < count; i++)
        sum += log(x[i]);
    return exp(sum / count);
}

static bool ask(struct search *search, struct tune_worker *worker, enum tune_task task,
                unsigned shape, const char *text, double *seconds) {
    struct tune_request request = {.task = task, .shape = shape};
    struct tune_answer answer;
    snprintf(request.parameters, sizeof request.parameters, "%s", text);
    if (!worker->child ||
        !tune_worker_ask(worker, &request, search->until, show, search, &answer) ||
        answer.outcome != TUNE_DONE)
        return false;
    if (seconds)
        *seconds = answer.seconds;
    return true;
}

/* The seconds of each product; false: not all are right, or the first is far behind `bar`. */
static bool measure(struct search *search, const char *text, const double *bar, double *seconds) {
    if (!search->trying.child && !tune_worker_start(&search->trying, &search->job, search->until))
        return false;
    for (unsigned i = 0; i < search->job.count; i++)
        if (!ask(search, &search->trying, TUNE_TIME, i, text, &seconds[i]) ||
            seconds[i] > 1.5 * bar[i])
            return false;
    search->tried++;
    return true;
}

/* --- the search --- */

/* From which side on products go to CLBlast's kernel for large ones: all of them, or none. */
static const unsigned sides[] = {[TUNE_INDIRECT] = 1, [TUNE_DIRECT] = 1 << 20};

static void explore(struct search *search, enum tune_kernel kernel, double until,
                    struct found *best) {
    char text[sizeof((cls_blas_tuning *)NULL)->parameters];
    struct found next = {.set.own = true};
    *best = next;
    for (unsigned i = 0; i < search->job.count; i++)
        best->seconds[i] = INFINITY;
    for (unsigned i = 0; clock_seconds() < until; i++) {
        snprintf(text, sizeof text, "XGEMM_MIN_INDIRECT_SIZE=%u", sides[kernel]);
        if (i)
            tune_set_draw(kernel, i - 1, &best->set, &next.set);
        tune_set_print(kernel, &next.set, text, sizeof text);
        if (measure(search, text, best->seconds, next.seconds) &&
            mean(next.seconds, search->job.count) < mean(best->seconds, search->job.count))
            *best = next;
    }
}

/* The least side from which on a product counts as large. CLBlast compares cubes. */
static unsigned side_of(const struct tune_shape *shape) {
    const double work = (double)shape->m * (double)shape->n * (double)shape->k;
    unsigned side = (unsigned)cbrt(work);
    while ((double)(side + 1) * (side + 1) * (side + 1) <= work)
        side++;
    return side ? side : 1;
}

/* Joins the best of both kernels: products from the n-th on are large ones. */
static void join(const struct search *search, const struct found found[2], char *text,
                 size_t size) {
    const unsigned count = search->job.count;
    double seconds[TUNE_SHAPES], least = INFINITY;
    unsigned from = 0;
    for (unsigned n = 0; n <= count; n++) {
        for (unsigned i = 0; i < count; i++)
            seconds[i] = found[i < n ? TUNE_DIRECT : TUNE_INDIRECT].seconds[i];
        if (mean(seconds, count) < least) {
            least = mean(seconds, count);
            from = n;
        }
    }
    const struct tune_shape *shapes = search->job.shapes;
    snprintf(text, size, "XGEMM_MIN_INDIRECT_SIZE=%u",
             from < count ? side_of(&shapes[from]) : side_of(&shapes[count - 1]) + 1);
    tune_set_print(TUNE_INDIRECT, &found[TUNE_INDIRECT].set, text, size);
    tune_set_print(TUNE_DIRECT, &found[TUNE_DIRECT].set, text, size);
}

static int by_value(const void *left, const void *right) {
    const double *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

/* How many times as fast as CLBlast's own these are, by the median of some turns; 0: they are not right, or there is no
 * time to say so. Leaves a process that has them. */
static double confirm(struct search *search, const char *text, double *seconds) {
    double gains[TURNS];
    tune_worker_end(&search->trying);
    if (!tune_worker_start(&search->trying, &search->job, search->until))
        return 0;
    for (unsigned i = 0; i < search->job.count; i++)
        if (!ask(search, &search->trying, TUNE_TIME, i, text, &seconds[i]) ||
            !ask(search, &search->trying, TUNE_CHECK, i, text, NULL))
            return 0;
    for (int turn = 0; turn < TURNS; turn++) {
        for (unsigned i = 0; i < search->job.count; i++)
            if (!ask(search, &search->own, TUNE_TIME, i, "", &search->before[i]) ||
                !ask(search, &search->trying, TUNE_TIME, i, text, &seconds[i]))
                return 0;
        gains[turn] = mean(search->before, search->job.count) / mean(seconds, search->job.count);
    }
    qsort(gains, TURNS, sizeof *gains, by_value);
    return gains[TURNS / 2];
}

static bool keep(struct tune_worker *worker, const char *text, double gain) {
    struct tune_request request = {.task = TUNE_KEEP, .gain = gain};
    struct tune_answer answer;
    snprintf(request.parameters, sizeof request.parameters, "%s", text);
    return worker->child &&
           tune_worker_ask(worker, &request, clock_seconds() + QUICK_S, NULL, NULL, &answer) &&
           answer.outcome == TUNE_DONE;
}

/* --- the report --- */

static void print_products(const struct search *search, const double *after) {
    for (unsigned i = 0; i < search->job.count; i++) {
        const struct tune_shape *s = &search->job.shapes[i];
        const double work = 2e-9 * (double)s->m * (double)s->n * (double)s->k;
        printf("  %5zu x %5zu x %5zu  %9.4g GFLOP/s", s->m, s->n, s->k, work / search->before[i]);
        if (after)
            printf(", tuned %.4g", work / after[i]);
        putchar('\n');
    }
}

static int report(struct search *search, const char *text, double gain, const double *after) {
    struct failure failure = {.set = false};
    const bool kept = gain >= least_gain && keep(&search->trying, text, gain);
    printf("%s: %u sets of parameters measured in %.0f s\n", cls_dtype_name(search->job.dtype),
           search->tried, clock_seconds() - search->start);
    print_products(search, kept ? after : NULL);
    if (kept)
        printf("  kept, %.2f times as fast as CLBlast's own:\n  %s\n", gain, text);
    else if (gain < least_gain)
        printf("  nothing is kept: %s\n", clock_seconds() < search->until
                                              ? "none was found that gains 3 percent"
                                              : "the time was over before a gain was confirmed");
    else
        fail(&failure, "%s: the parameters could not be kept", cls_dtype_name(search->job.dtype));
    return failure.set ? failure_print(&failure, TOOL_FAILED) : TOOL_OK;
}

/* --- a type --- */

/* The products that CLBlast's own parameters allow to be measured often enough: at least one. */
static bool measure_own(struct search *search) {
    const double most = (search->until - search->start) / 100;
    unsigned count = 0;
    double *const before = search->before;
    for (; count < search->job.count; count++) {
        if (!search->options->given && count && 8 * before[count - 1] > most)
            break;
        if (!ask(search, &search->own, TUNE_TIME, count, "", &before[count]))
            return false;
    }
    search->job.count = count;
    return true;
}

static int search_all(struct search *search) {
    char text[sizeof((cls_blas_tuning *)NULL)->parameters];
    double after[TUNE_SHAPES], kept_after[TUNE_SHAPES];
    const double limit = search->until - search->start;
    const char *const kept = search->own.hello.kept.parameters;
    struct found found[2];
    explore(search, TUNE_INDIRECT, search->start + 0.4 * limit, &found[TUNE_INDIRECT]);
    explore(search, TUNE_DIRECT, search->start + 0.7 * limit, &found[TUNE_DIRECT]);
    join(search, found, text, sizeof text);
    double gain = confirm(search, text, after);
    const double kept_gain = *kept ? confirm(search, kept, kept_after) : 0;
    if (kept_gain > gain) {
        snprintf(text, sizeof text, "%s", kept);
        memcpy(after, kept_after, sizeof after);
        gain = kept_gain;
    }
    progress_end(&search->progress);
    return report(search, text, gain, after);
}

static int tune(const struct options *options, cls_dtype dtype) {
    struct search search = {.options = options, .job = options->job, .start = clock_seconds()};
    struct failure failure = {.set = false};
    const char *const name = cls_dtype_name(dtype);
    int code = TOOL_OK;
    search.job.dtype = dtype;
    search.until = search.start + options->limit / options->n_dtypes;
    progress_begin(&search.progress, !options->quiet, name, (uint64_t)(search.until - search.start),
                   0);
    if (!tune_worker_start(&search.own, &search.job, search.start + LIMIT_S))
        fail(&failure, "%s: the process that measures did not begin", name);
    else if (search.own.hello.status == CLS_ERROR_UNSUPPORTED && dtype != options->dtypes[0])
        printf("%s: %s\n", name, search.own.hello.detail);
    else if (search.own.hello.status)
        fail(&failure, "%s: %s (%s)", name, search.own.hello.detail,
             cls_status_string(search.own.hello.status));
    else if (options->reset ? !keep(&search.own, "", 0) : !measure_own(&search))
        fail(&failure, "%s: CLBlast's own parameters do not work, or not in time", name);
    else if (!options->reset)
        code = search_all(&search);
    progress_end(&search.progress);
    tune_worker_end(&search.own);
    tune_worker_end(&search.trying);
    return failure.set ? failure_print(&failure, TOOL_FAILED) : code;
}

/* --- the command line --- */

static bool add_product(const char *text, struct options *options) {
    struct tune_job *job = &options->job;
    size_t m, n, k;
    int length = 0;
    if (!options->given)
        job->count = 0;
    options->given = true;
    if (job->count == TUNE_SHAPES || sscanf(text, "%5zu,%5zu,%5zu%n", &m, &n, &k, &length) != 3 ||
        text[length] || !m || !n || !k || m > LONGEST_SIDE || n > LONGEST_SIDE || k > LONGEST_SIDE)
        return false;
    job->shapes[job->count++] = (struct tune_shape){m, n, k};
    return true;
}

static int by_work(const void *left, const void *right) {
    const struct tune_shape *a = left, *b = right;
    const double x = (double)a->m * (double)a->n * (double)a->k,
                 y = (double)b->m * (double)b->n * (double)b->k;
    return (x > y) - (x < y);
}

static int bad_product(const char *text) {
    return usage_error("tune", "'%s' is no product M,N,K with sides from 1 to %d, or one too many",
                       text, LONGEST_SIDE);
}

static int take_option(int option, struct options *options) {
    uint64_t limit;
    switch (option) {
    case 'p':
        return add_product(optarg, options) ? TOOL_OK : bad_product(optarg);
    case 'l':
        if (!number_parse(optarg, 1, LONGEST_S, &limit))
            return usage_error("tune", "--limit: '%s' is no number from 1 to %d", optarg,
                               LONGEST_S);
        options->limit = (double)limit;
        return TOOL_OK;
    case 't':
        options->n_dtypes = 1;
        if (cls_dtype_parse(optarg, options->dtypes) == CLS_SUCCESS &&
            (options->dtypes[0] == CLS_F32 || options->dtypes[0] == CLS_F64))
            return TOOL_OK;
        return usage_error("tune", "--dtype: '%s' is not f32 or f64", optarg);
    case 'Q':
        options->limit = QUICK_S;
        return TOOL_OK;
    case 'd':
        options->job.device = optarg;
        return TOOL_OK;
    case 'r':
        options->reset = true;
        return TOOL_OK;
    case 'q':
        options->quiet = true;
        return TOOL_OK;
    default:
        return usage_hint("tune");
    }
}

static int tune_all(const struct options *options) {
    int code = TOOL_OK;
    for (unsigned i = 0; i < options->n_dtypes && !code; i++) {
        code = tune(options, options->dtypes[i]);
        fflush(stdout);
    }
    return code;
}

int command_tune(int argc, char **argv) {
    static const struct option longs[] = {{"products", required_argument, NULL, 'p'},
                                          {"limit", required_argument, NULL, 'l'},
                                          {"dtype", required_argument, NULL, 't'},
                                          {"device", required_argument, NULL, 'd'},
                                          {"quick", no_argument, NULL, 'Q'},
                                          {"reset", no_argument, NULL, 'r'},
                                          {"quiet", no_argument, NULL, 'q'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    static char name[] = "clstream tune"; /* for getopt's messages */
    struct options options = {
        .job = {NULL, CLS_F32, 3, {{512, 512, 512}, {1024, 1024, 1024}, {2048, 2048, 2048}}},
        .dtypes = {CLS_F32, CLS_F64},
        .n_dtypes = 2,
        .limit = LIMIT_S};
    int option;
    argv[0] = name;
    while ((option = getopt_long(argc, argv, "qh", longs, NULL)) != -1) {
        if (option == 'h')
            return fputs(help, stdout), TOOL_OK;
        const int code = take_option(option, &options);
        if (code)
            return code;
    }
    for (; optind < argc; optind++)
        if (!add_product(argv[optind], &options))
            return bad_product(argv[optind]);
    qsort(options.job.shapes, options.job.count, sizeof *options.job.shapes, by_work);
    return tune_all(&options);
}
