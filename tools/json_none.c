/* SPDX-License-Identifier: MIT */
#include "json.h"

bool json_is_built(void) { return false; }

bool json_print_info(void) { return false; }

bool json_print_summary(const struct summary *summary) {
    (void)summary;
    return false;
}

bool json_print_bench(const struct bench_result *result) {
    (void)result;
    return false;
}

bool json_convert_trace(const char *from, const char *to, struct failure *failure) {
    (void)from;
    (void)to;
    (void)failure;
    return false;
}

bool json_read_bench(const char *path, struct bench_result *result, struct failure *failure) {
    (void)path;
    (void)result;
    (void)failure;
    return false;
}
