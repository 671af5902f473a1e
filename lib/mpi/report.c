/* SPDX-License-Identifier: MIT */
/* Calls, errors and times in words and numbers. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "mpi/comm.h"

cls_status report(cls_status status, const char *format, ...) {
    char text[2 * TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    cls_set_last_error(text);
    return status;
}

const char *action_name(int action) {
    static const char *const names[] = {"all-reduce", "reduce-scatter", "all-gather", "broadcast",
                                        "barrier",    "send",           "receive"};
    return names[action];
}

static const char *op_name(int op) {
    static const char *const names[] = {"sum", "product", "min", "max"};
    return names[op];
}

static void describe_details(const struct signature *call, char *text, size_t size) {
    const char *type = cls_dtype_name((cls_dtype)call->dtype);
    const unsigned long long count = call->count;
    switch ((enum action)call->action) {
    case ALLREDUCE:
    case REDUCE_SCATTER:
        snprintf(text, size, " (%s, %llu x %s)", op_name(call->op), count, type);
        break;
    case ALLGATHER:
        snprintf(text, size, " (%llu x %s)", count, type);
        break;
    case BCAST:
        snprintf(text, size, " (%llu x %s, root %d)", count, type, call->peer);
        break;
    case BARRIER:
        *text = '\0';
        break;
    case SEND:
        snprintf(text, size, " (%llu x %s, to rank %d)", count, type, call->peer);
        break;
    case RECV:
        snprintf(text, size, " (%llu x %s, from rank %d)", count, type, call->peer);
        break;
    }
}

void describe_call(const struct signature *call, char *text, size_t size) {
    char details[64];
    describe_details(call, details, sizeof details);
    snprintf(text, size, "%s %llu%s", action_name(call->action), (unsigned long long)call->number,
             details);
}

void describe_mpi(int error, char *text, size_t size) {
    char whole[MPI_MAX_ERROR_STRING + 1] = "";
    int length = 0;
    if (MPI_Error_string(error, whole, &length))
        snprintf(whole, sizeof whole, "error %d of MPI", error);
    snprintf(text, size, "%.*s", (int)strcspn(whole, "\n"), whole);
}

int cause_length(const char *detail) {
    const char *end = strstr(detail, "; timeline '");
    if (!end)
        end = strstr(detail, "; stream '");
    return end && end - detail < 128 ? (int)(end - detail) : 128;
}

uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
