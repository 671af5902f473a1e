/* SPDX-License-Identifier: MIT */
/* Options, contests between ways to do the same work, and their statistics. */
#include "harness.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cores.h"
#include "rig.h"

enum { ROUNDS = 21, QUICK_ROUNDS = 7, WARM_UP = 2 };

static struct bench_options options = {.tool = "tools/clstream"};
static const char *program;
static bool on_cpu; /* the device's threads and ours share the cores */

static const char usage[] =
    "Usage: %s [OPTION]...\n"
    "Measure clstream against raw OpenCL on the device that CLSTREAM_DEVICE names.\n"
    "Exit status: 0, 1 when a bar is missed, 2 when something broke.\n"
    "\n"
    "  --quick        fewer rounds, smaller arrays\n"
    "  --json FILE    append the rows to FILE, one JSON object a line\n"
    "  --only TEXT    only the rows whose names contain TEXT\n"
    "  --tool PATH    the clstream command (default tools/clstream)\n"
    "  --patience S   with a CPU device, wait for two free cores before a row; S seconds in all\n"
    "  --help         print this\n";

static void set_option(int option) {
    switch (option) {
    case 'q':
        options.quick = true;
        return;
    case 'j':
        options.json = optarg;
        return;
    case 'o':
        options.only = optarg;
        return;
    case 't':
        options.tool = optarg;
        return;
    case 'c':
        options.child = optarg;
        return;
    case 'p':
        options.patience = strtod(optarg, NULL);
        return;
    case 'h':
        printf(usage, program);
        exit(0);
    default:
        exit(2);
    }
}

void bench_begin(int argc, char **argv, const char *name) {
    static const struct option longs[] = {
        {"quick", no_argument, NULL, 'q'},          {"json", required_argument, NULL, 'j'},
        {"only", required_argument, NULL, 'o'},     {"tool", required_argument, NULL, 't'},
        {"patience", required_argument, NULL, 'p'}, {"child", required_argument, NULL, 'c'},
        {"help", no_argument, NULL, 'h'},           {NULL, 0, NULL, 0},
    };
    int option;
    program = name;
    while ((option = getopt_long(argc, argv, "", longs, NULL)) != -1)
        set_option(option);
    if (optind != argc)
        die("%s: unexpected argument '%s'", name, argv[optind]);
    report_open(name, options.json, options.quick);
}

void bench_header(const struct rig *rig) {
    on_cpu = rig_is_cpu(rig);
    report_header(rig);
}

const struct bench_options *bench_options(void) { return &options; }

bool bench_wants(const char *name) { return !options.only || strstr(name, options.only); }

/* --- statistics --- */

/* `high_is_good` for rates. */
static struct spread spread_of(const double *values, unsigned n, bool high_is_good) {
    double sorted[MAX_ROUNDS];
    memcpy(sorted, values, n * sizeof *values);
    sort_values(sorted, n);
    return (struct spread){.median = quantile(sorted, n, 0.5),
                           .low = quantile(sorted, n, 0.25),
                           .high = quantile(sorted, n, 0.75),
                           .least = sorted[0],
                           .most = sorted[n - 1],
                           .good = quantile(sorted, n, high_is_good ? 0.9 : 0.1)};
}

/* --- contests --- */

/* The figures of all rounds: sides[0] is clstream, sides[1 + i] rival i. */
struct figures {
    double main[1 + MAX_RIVALS][MAX_ROUNDS];
    double also[1 + MAX_RIVALS][MAX_ROUNDS];
    unsigned rounds;
};

static const struct way *side_of(const struct contest *contest, unsigned side) {
    return side ? &contest->rivals[side - 1] : &contest->ours;
}

/* One round: every side once; in the other direction in every second round, so that none is always
 * the one that follows another. */
static void play_round(const struct contest *contest, struct figures *figures, unsigned round) {
    const unsigned sides = 1 + contest->n_rivals;
    for (unsigned i = 0; i < sides; i++) {
        const unsigned side = round % 2 ? sides - 1 - i : i;
        const struct way *way = side_of(contest, side);
        double also = 0;
        figures->main[side][round] = way->run(way->arg, &also);
        figures->also[side][round] = also;
    }
}

static void play(const struct contest *contest, struct figures *figures) {
    double ignored;
    if (contest->n_rivals > MAX_RIVALS)
        die("%s: too many rivals", contest->name);
    for (unsigned i = 0; i < (contest->warm_up ? contest->warm_up : WARM_UP); i++)
        for (unsigned side = 0; side < 1 + contest->n_rivals; side++)
            side_of(contest, side)->run(side_of(contest, side)->arg, &ignored);
    figures->rounds = contest->rounds ? contest->rounds : options.quick ? QUICK_ROUNDS : ROUNDS;
    for (unsigned round = 0; round < figures->rounds; round++)
        play_round(contest, figures, round);
}

/* The rival with the best median. */
static unsigned best_rival(const struct contest *contest, const struct figures *figures) {
    unsigned best = 0;
    double best_figure = 0;
    for (unsigned i = 0; i < contest->n_rivals; i++) {
        const double figure = spread_of(figures->main[1 + i], figures->rounds, false).median;
        const bool better =
            contest->measure == MEASURE_RATE ? figure > best_figure : figure < best_figure;
        if (i == 0 || better) {
            best = i;
            best_figure = figure;
        }
    }
    return best;
}

static struct row row_of(const struct contest *contest, unsigned rounds, const double *ours,
                         const double *theirs) {
    double ratios[MAX_ROUNDS];
    const bool rate = contest->measure == MEASURE_RATE;
    for (unsigned i = 0; i < rounds; i++)
        ratios[i] = contest->measure == MEASURE_SPEEDUP ? theirs[i] / ours[i] : ours[i] / theirs[i];
    struct row row = {.name = contest->name,
                      .unit = contest->unit,
                      .ours = spread_of(ours, rounds, rate),
                      .theirs = spread_of(theirs, rounds, rate),
                      .ratio = spread_of(ratios, rounds, rate),
                      .rounds = rounds};
    const double good = row.ours.good / row.theirs.good;
    row.good_ratio = contest->measure == MEASURE_SPEEDUP ? 1 / good : good;
    return row;
}

struct verdict bench_contest(const struct contest *contest) {
    static struct figures figures;
    if (!bench_wants(contest->name))
        return (struct verdict){.run = false, .pass = true};
    const double cores = on_cpu ? await_cores(&options.patience) : 0;
    play(contest, &figures);
    const unsigned best = best_rival(contest, &figures);
    struct row row = row_of(contest, figures.rounds, figures.main[0], figures.main[1 + best]);
    row.rival = contest->rivals[best].name;
    row.bar = contest->bar;
    row.cores = cores;
    row.bar_is_upper = contest->measure == MEASURE_TIME;
    if (contest->excuse && !row_passes(&row))
        row.excuse = contest->excuse(contest->excuse_arg, row.ours.median, row.theirs.median);
    const bool pass = report_row(&row);
    if (contest->also) {
        struct row second =
            row_of(contest, figures.rounds, figures.also[0], figures.also[1 + best]);
        second.name = contest->also;
        second.rival = row.rival;
        report_row(&second);
    }
    return (struct verdict){true, best, row.ours.median, row.theirs.median, row.ratio.median, pass};
}

void bench_values(const char *name, const char *unit, double *values, unsigned n, double bar) {
    struct row row = {.name = name,
                      .unit = unit,
                      .ours = spread_of(values, n, false),
                      .rounds = n,
                      .bar = bar,
                      .bar_is_upper = true};
    report_row(&row);
}

void bench_rates(const char *name, const char *unit, struct way ours, struct way rival,
                 double bar) {
    bench_contest(&(struct contest){.name = name,
                                    .unit = unit,
                                    .measure = MEASURE_RATE,
                                    .ours = ours,
                                    .rivals = &rival,
                                    .n_rivals = 1,
                                    .bar = bar,
                                    .rounds = options.quick ? 3 : 15,
                                    .warm_up = 2});
}

double bench_figure(const char *name, const char *unit, struct way way, double bar) {
    double values[MAX_ROUNDS], ignored;
    const unsigned rounds = options.quick ? QUICK_ROUNDS : ROUNDS;
    if (!bench_wants(name))
        return 0;
    for (unsigned i = 0; i < WARM_UP; i++)
        way.run(way.arg, &ignored);
    for (unsigned i = 0; i < rounds; i++)
        values[i] = way.run(way.arg, &ignored);
    bench_values(name, unit, values, rounds, bar);
    return median(values, rounds);
}
