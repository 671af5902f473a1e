/* SPDX-License-Identifier: MIT */
/* The command lines of `clstream run`, `gen` and `info`. */
#ifndef CLSTREAM_TOOLS_OPTIONS_H
#define CLSTREAM_TOOLS_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include <clstream/types.h>

/* What a parser found: go on, or leave with the exit code that it returned. */
enum { OPTIONS_GO_ON = -1 };

struct run_options {
    const char *input;
    const char *output;
    const char *expression;
    const char *device; /* NULL: the default device */
    cls_dtype raw;      /* 0: the input is .npy */
    uint64_t chunk;     /* bytes; 0: RUN_DEFAULT_CHUNK, or less where the device wants less */
    unsigned streams;
    bool verify;
    bool json;
    bool quiet;
};

#define RUN_DEFAULT_CHUNK ((uint64_t)8 << 20)
enum { RUN_DEFAULT_STREAMS = 3 };

struct gen_options {
    const char *output;
    cls_dtype dtype;
    uint64_t bytes;
    uint64_t seed;
};

struct info_options {
    bool json;
};

/* Goes on where JSON can be read and written; `what` is the option that asks for it. */
int options_need_json(const char *command, const char *what);

/* Each takes the arguments from the subcommand's name on, and returns OPTIONS_GO_ON or an exit
 * code (after --help, or after it said what is wrong). */
int run_options_parse(int argc, char **argv, struct run_options *options);
int gen_options_parse(int argc, char **argv, struct gen_options *options);
int info_options_parse(int argc, char **argv, struct info_options *options);

#endif
