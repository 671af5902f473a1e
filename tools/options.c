/* SPDX-License-Identifier: MIT */
#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "failure.h"
#include "file.h"
#include "json.h"
#include "operation.h"
#include "pipeline.h"
#include "size.h"

static const char run_help[] =
    "Usage: clstream run -i IN -o OUT [OPTION]... 'STAGE | STAGE | ...'\n"
    "Stream the elements of IN through a chain of operations on the device into OUT.\n"
    "\n"
    "  -i, --input IN     a .npy file, or a raw one with --dtype; - is the standard input\n"
    "  -o, --output OUT   written as .npy when the name ends so, raw otherwise; it appears\n"
    "                     only once it is complete; - is the standard output, raw with --dtype\n"
    "                     and else as .npy, and the summary goes to the standard error\n"
    "      --dtype T      IN is raw elements of T: f32 f64 i32 i64 u8 u32 f16 bf16 i8 i16 u16\n"
    "      --chunk SIZE   device memory of one chunk, as 512K or 8M (default 8M)\n"
    "      --streams N    chunks on the device at once, 1 to 64 (default 3)\n"
    "      --device DEV   index, cpu, gpu, or part of a name (default $CLSTREAM_DEVICE)\n"
    "      --verify       check every element of every stage against a host reference\n"
    "      --json         print the summary as JSON\n"
    "  -q, --quiet        print neither progress nor summary\n"
    "  -h, --help         print this\n"
    "\n"
    "Stages:\n";

static const char gen_help[] =
    "Usage: clstream gen -o OUT [OPTION]...\n"
    "Write a file of reproducible random elements, .npy when the name ends so, raw otherwise.\n"
    "\n"
    "  -o, --output OUT   the file; - is the standard output, as .npy\n"
    "      --dtype T      f32 f64 i32 i64 u8 u32 f16 bf16 i8 i16 u16 (default f32)\n"
    "      --bytes SIZE   size of the data, as 256M (default 1M)\n"
    "      --seed N       another number gives other elements (default 0)\n"
    "  -h, --help         print this\n"
    "\n"
    "Floats are uniform in [-8, 8), integers uniform over their type.\n";

static const char info_help[] =
    "Usage: clstream info [--json]\n"
    "Describe every OpenCL device: what it is, what was measured of it, and the quirks in force.\n"
    "\n"
    "      --json   print JSON\n"
    "  -h, --help   print this\n";

enum {
    OPTION_DTYPE = 256,
    OPTION_CHUNK,
    OPTION_STREAMS,
    OPTION_DEVICE,
    OPTION_VERIFY,
    OPTION_JSON,
    OPTION_BYTES,
    OPTION_SEED
};

static void print_stages(void) {
    static const char *const arguments[] = {
        [OPERATION_CAST] = " TYPE", [OPERATION_UNARY] = "",          [OPERATION_PARAM] = " X",
        [OPERATION_BINARY] = " X",  [OPERATION_WHERE] = " TYPE A B",
    };
    const struct operation *operation;
    size_t column = 0;
    for (size_t i = 0; (operation = operation_at(i)); i++) {
        const char *argument = arguments[operation->kind];
        const size_t width = strlen(operation->name) + strlen(argument) + 2;
        if (column > 0 && column + width > 78) {
            putchar('\n');
            column = 0;
        }
        printf("%s%s%s", column ? ", " : "  ", operation->name, argument);
        column += width;
    }
    putchar('\n');
}

static int parse_dtype(const char *command, const char *text, cls_dtype *dtype) {
    if (cls_dtype_parse(text, dtype) == CLS_SUCCESS)
        return OPTIONS_GO_ON;
    return usage_error(
        command, "--dtype: '%s' is no type; there are f32 f64 i32 i64 u8 u32 f16 bf16 i8 i16 u16",
        text);
}

int options_need_json(const char *command, const char *what) {
    if (json_is_built())
        return OPTIONS_GO_ON;
    return usage_error(command, "%s: this clstream was built without jansson", what);
}

static int parse_json(const char *command, bool *json) {
    *json = true;
    return options_need_json(command, "--json");
}

static int parse_streams(const char *text, unsigned *streams) {
    uint64_t number;
    if (!number_parse(text, 1, PIPELINE_MAX_STREAMS, &number))
        return usage_error("run", "--streams: '%s' is no number from 1 to %d", text,
                           PIPELINE_MAX_STREAMS);
    *streams = (unsigned)number;
    return OPTIONS_GO_ON;
}

static int parse_size(const char *command, const char *option, const char *text, uint64_t least,
                      uint64_t *bytes) {
    uint64_t size;
    if (!size_parse(text, &size) || size < least || size > INT64_MAX)
        return usage_error(
            command, "%s: '%s' is no size: bytes, from %llu to 2^63 - 1, as 4096, 512K, 8M, 1G",
            option, text, (unsigned long long)least);
    *bytes = size;
    return OPTIONS_GO_ON;
}

static int help(const char *text, bool stages) {
    fputs(text, stdout);
    if (stages)
        print_stages();
    return TOOL_OK;
}

static int run_option(int option, struct run_options *options) {
    switch (option) {
    case 'i':
        options->input = optarg;
        return OPTIONS_GO_ON;
    case 'o':
        options->output = optarg;
        return OPTIONS_GO_ON;
    case 'q':
        options->quiet = true;
        return OPTIONS_GO_ON;
    case OPTION_DTYPE:
        return parse_dtype("run", optarg, &options->raw);
    case OPTION_CHUNK:
        return parse_size("run", "--chunk", optarg, 1, &options->chunk);
    case OPTION_STREAMS:
        return parse_streams(optarg, &options->streams);
    case OPTION_DEVICE:
        options->device = optarg;
        return OPTIONS_GO_ON;
    case OPTION_VERIFY:
        options->verify = true;
        return OPTIONS_GO_ON;
    case OPTION_JSON:
        return parse_json("run", &options->json);
    case 'h':
        return help(run_help, true);
    default:
        return usage_hint("run");
    }
}

int run_options_parse(int argc, char **argv, struct run_options *options) {
    static const struct option longs[] = {
        {"input", required_argument, NULL, 'i'},
        {"output", required_argument, NULL, 'o'},
        {"dtype", required_argument, NULL, OPTION_DTYPE},
        {"chunk", required_argument, NULL, OPTION_CHUNK},
        {"streams", required_argument, NULL, OPTION_STREAMS},
        {"device", required_argument, NULL, OPTION_DEVICE},
        {"verify", no_argument, NULL, OPTION_VERIFY},
        {"json", no_argument, NULL, OPTION_JSON},
        {"quiet", no_argument, NULL, 'q'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    static char name[] = "clstream run"; /* for getopt's messages */
    int option;
    argv[0] = name;
    *options = (struct run_options){.streams = RUN_DEFAULT_STREAMS};
    while ((option = getopt_long(argc, argv, "i:o:qh", longs, NULL)) != -1) {
        const int code = run_option(option, options);
        if (code != OPTIONS_GO_ON)
            return code;
    }
    if (!options->input || !options->output || !*options->output)
        return usage_error("run", "-i IN and -o OUT are needed");
    if (is_standard_stream(options->output) && (options->json || options->verify))
        return usage_error("run", "%s with -o -",
                           options->verify ? "--verify reads the output back, which it cannot"
                                           : "--json takes the standard output, and cannot");
    if (argc - optind != 1)
        return usage_error("run", argc == optind ? "the stages are missing"
                                                 : "the stages must be one argument: quote them");
    options->expression = argv[optind];
    return OPTIONS_GO_ON;
}

static int gen_option(int option, struct gen_options *options) {
    switch (option) {
    case 'o':
        options->output = optarg;
        return OPTIONS_GO_ON;
    case OPTION_DTYPE:
        return parse_dtype("gen", optarg, &options->dtype);
    case OPTION_BYTES:
        return parse_size("gen", "--bytes", optarg, 0, &options->bytes);
    case OPTION_SEED:
        if (number_parse(optarg, 0, UINT64_MAX, &options->seed))
            return OPTIONS_GO_ON;
        return usage_error("gen", "--seed: '%s' is no number from 0 to 2^64 - 1", optarg);
    case 'h':
        return help(gen_help, false);
    default:
        return usage_hint("gen");
    }
}

int gen_options_parse(int argc, char **argv, struct gen_options *options) {
    static const struct option longs[] = {
        {"output", required_argument, NULL, 'o'},
        {"dtype", required_argument, NULL, OPTION_DTYPE},
        {"bytes", required_argument, NULL, OPTION_BYTES},
        {"seed", required_argument, NULL, OPTION_SEED},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    static char name[] = "clstream gen";
    int option;
    argv[0] = name;
    *options = (struct gen_options){.dtype = CLS_F32, .bytes = (uint64_t)1 << 20};
    while ((option = getopt_long(argc, argv, "o:h", longs, NULL)) != -1) {
        const int code = gen_option(option, options);
        if (code != OPTIONS_GO_ON)
            return code;
    }
    if (argc != optind)
        return usage_error("gen", "unexpected '%s': there are options only", argv[optind]);
    if (!options->output || !*options->output)
        return usage_error("gen", "-o OUT is needed");
    if (options->bytes % cls_dtype_size(options->dtype))
        return usage_error("gen", "--bytes: %llu is no whole number of %s elements, of %zu bytes",
                           (unsigned long long)options->bytes, cls_dtype_name(options->dtype),
                           cls_dtype_size(options->dtype));
    return OPTIONS_GO_ON;
}

int info_options_parse(int argc, char **argv, struct info_options *options) {
    static const struct option longs[] = {
        {"json", no_argument, NULL, OPTION_JSON},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    static char name[] = "clstream info";
    int option;
    argv[0] = name;
    *options = (struct info_options){.json = false};
    while ((option = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
        if (option == 'h')
            return help(info_help, false);
        const int code =
            option == OPTION_JSON ? parse_json("info", &options->json) : usage_hint("info");
        if (code != OPTIONS_GO_ON)
            return code;
    }
    if (argc != optind)
        return usage_error("info", "unexpected '%s': it describes all devices", argv[optind]);
    return OPTIONS_GO_ON;
}
