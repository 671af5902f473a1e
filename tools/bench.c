/* SPDX-License-Identifier: MIT */
#include "bench.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "file.h"
#include "json.h"
#include "options.h"

static const char bench_help[] =
    "Usage: clstream bench [OPTION]...\n"
    "       clstream bench --compare [--svg FILE] A.json B.json...\n"
    "Measure copies, launches, overlap and operations of a device, or compare results.\n"
    "\n"
    "      --device DEV   index, cpu, gpu, or part of a name (default $CLSTREAM_DEVICE)\n"
    "      --quick        4 MiB and 3 rounds instead of 64 MiB and 7\n"
    "      --svg FILE     draw the result as bars too; - is the standard output, and the table\n"
    "                     goes to the standard error\n"
    "      --json         print JSON, to be kept and compared\n"
    "      --compare      print results that were kept beside each other; above 1 x is better\n"
    "                     than the first; - is the standard input\n"
    "  -h, --help         print this\n"
    "\n"
    "Every figure is the median of its rounds. A busy machine gives other figures.\n";

enum { OPTION_DEVICE = 256, OPTION_QUICK, OPTION_SVG, OPTION_JSON, OPTION_COMPARE };

struct bench_options {
    const char *device; /* NULL: the default device */
    const char *svg;    /* NULL: none */
    bool quick, json, compare;
    char **files;
    unsigned n_files;
};

static int bench_option(int option, struct bench_options *options) {
    switch (option) {
    case OPTION_DEVICE:
        options->device = optarg;
        return OPTIONS_GO_ON;
    case OPTION_QUICK:
        options->quick = true;
        return OPTIONS_GO_ON;
    case OPTION_SVG:
        options->svg = optarg;
        return OPTIONS_GO_ON;
    case OPTION_JSON:
        options->json = true;
        return options_need_json("bench", "--json");
    case OPTION_COMPARE:
        options->compare = true;
        return options_need_json("bench", "--compare");
    case 'h':
        fputs(bench_help, stdout);
        return TOOL_OK;
    default:
        return usage_hint("bench");
    }
}

static int check_compared(const struct bench_options *options) {
    unsigned standard = 0;
    if (options->n_files < 2 || options->n_files > BENCH_MOST)
        return usage_error("bench", "--compare takes 2 to %d results, not %u", BENCH_MOST,
                           options->n_files);
    if (options->json || options->quick || options->device)
        return usage_error("bench", "--compare measures nothing and prints a table: leave out %s",
                           options->json    ? "--json"
                           : options->quick ? "--quick"
                                            : "--device");
    for (unsigned i = 0; i < options->n_files; i++) {
        standard += is_standard_stream(options->files[i]);
        if (options->svg && are_one_file(options->files[i], options->svg))
            return usage_error("bench", "--svg: '%s' is a result to be compared", options->svg);
    }
    if (standard > 1)
        return usage_error("bench", "--compare: only one result can be the standard input");
    return OPTIONS_GO_ON;
}

static int check_options(const struct bench_options *options) {
    if (options->json && options->svg && is_standard_stream(options->svg))
        return usage_error("bench", "--json and --svg - both take the standard output");
    if (options->compare)
        return check_compared(options);
    if (options->n_files)
        return usage_error("bench", "unexpected '%s': files are for --compare", options->files[0]);
    return OPTIONS_GO_ON;
}

static int bench_options_parse(int argc, char **argv, struct bench_options *options) {
    static const struct option longs[] = {
        {"device", required_argument, NULL, OPTION_DEVICE},
        {"quick", no_argument, NULL, OPTION_QUICK},
        {"svg", required_argument, NULL, OPTION_SVG},
        {"json", no_argument, NULL, OPTION_JSON},
        {"compare", no_argument, NULL, OPTION_COMPARE},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    static char name[] = "clstream bench";
    int option;
    argv[0] = name;
    *options = (struct bench_options){.quick = false};
    while ((option = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
        const int code = bench_option(option, options);
        if (code != OPTIONS_GO_ON)
            return code;
    }
    options->files = argv + optind;
    options->n_files = (unsigned)(argc - optind);
    return check_options(options);
}

static bool read_files(const struct bench_options *options, struct bench_result *results,
                       struct failure *failure) {
    for (unsigned i = 0; i < options->n_files; i++)
        if (!json_read_bench(options->files[i], &results[i], failure))
            return false;
    return true;
}

struct drawing {
    const struct bench_result *results;
    unsigned n;
};

static void draw(FILE *file, void *arg) {
    const struct drawing *drawing = arg;
    bench_picture(file, drawing->results, drawing->n);
}

/* What was measured is printed also where the picture cannot be written, which `failure` says already where it could
 * not be opened. */
static int print(const struct bench_options *options, struct output *picture,
                 const struct bench_result *results, unsigned n, struct failure *failure) {
    struct drawing drawing = {results, n};
    int code = TOOL_OK;
    if (failure->set || (options->svg && !output_put(picture, draw, &drawing, failure)))
        code = failure_print(failure, TOOL_FAILED);
    if (options->json)
        return json_print_bench(results) ? code : TOOL_FAILED;
    bench_print(stdout, results, n);
    return code;
}

int command_bench(int argc, char **argv) {
    static struct bench_result results[BENCH_MOST];
    struct bench_options options;
    struct output picture;
    struct failure failure = {.set = false}, unopened = {.set = false};
    const int code = bench_options_parse(argc, argv, &options);
    if (code != OPTIONS_GO_ON)
        return code;
    if (options.svg)
        output_open(&picture, options.svg, NULL, false, &unopened);
    const bool good = options.compare
                          ? read_files(&options, results, &failure)
                          : bench_measure(options.device, options.quick, &results[0], &failure);
    if (good)
        return print(&options, &picture, results, options.compare ? options.n_files : 1, &unopened);
    if (options.svg && !unopened.set)
        output_abandon(&picture);
    return failure_print(&failure, TOOL_FAILED);
}
