/* SPDX-License-Identifier: MIT */
/* `clstream check`: whether a driver can be trusted, as a report to attach to a bug. */
#include "config.h"

#include "check_part.h"
#include "command.h"
#include "platform.h"
#include "size.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <clstream/device.h>
#include <clstream/version.h>

enum { LINE = 1024, LIMIT_S = 300, LONGEST_S = 3600, NAME_WIDTH = 24 };

static int limit_s = LIMIT_S; /* that a part may take */
static uint64_t seed;         /* of what the parts draw */

static int report_head(struct check *check), report_quirks(struct check *check);

static const struct part {
    const char *name;
    const char *title; /* NULL: the head, without which the command fails */
    check_body body;
    bool makes_context; /* the body does that by itself */
    const char *ends;   /* said when the process has ended well; NULL: nothing */
} parts[] = {
    {"head", NULL, report_head, true, NULL},
    {"quirks", "faults of this driver (clstream info says more)", report_quirks, true, NULL},
    {"mechanisms", "what the library relies on", check_mechanisms, true, NULL},
    {"functions", "functions of OpenCL C that operations need", check_functions, false, NULL},
    {"operations", "operations on f32", check_operations, false, NULL},
    {"products", "matrix products", check_products, false, NULL},
    {"threads", "threads", check_threads, false, NULL},
    {"exit", "exit", check_exit_at_work, false, "a process that exits with work pending ends well"},
    {"fork", "fork", check_fork, false, NULL},
};

enum { PARTS = sizeof parts / sizeof parts[0] };

static const char help[] =
    "Usage: clstream check [--device DEV] [--limit S] [--seed N]\n"
    "Check whether the driver of a device gives right results, and print a report.\n"
    "\n"
    "      --device DEV   index, cpu, gpu, or part of a name (default $CLSTREAM_DEVICE)\n"
    "      --limit S      seconds after which a part of the check counts as hung (default 300)\n"
    "      --seed N       draws the same offsets and shapes as the report with that seed\n"
    "  -h, --help         print this\n"
    "\n"
    "A line of the report is passed, worked around (the driver is wrong, the library's results\n"
    "are right, or it refuses) or failed. Takes some seconds, the first time longer.\n"
    "\n"
    "Exit status: 0 nothing failed, 1 something failed, 2 wrong usage.\n";

/* --- the child's side: a part and its lines --- */

void check_say(const struct check *check, enum check_outcome outcome, const char *subject,
               const char *format, ...) {
    char text[LINE];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    for (char *at = text; (at = strchr(at, '\n')) != NULL;)
        *at = ' ';
    fprintf(check->report, "%d %s\t%s\n", (int)outcome, subject, text);
    fflush(check->report);
}

void check_say_status(const struct check *check, const char *subject, const char *call,
                      cls_status status) {
    struct failure failure = {.set = false};
    fail_status(&failure, status, call);
    check_say(check, CHECK_FAILED, subject, "%s", failure.text);
}

/* The lines that tell what was checked. Without a device this is the message of the command. */
static int report_head(struct check *check) {
    cls_device_info info = CLS_DEVICE_INFO_INIT;
    struct failure failure = {.set = false};
    char system[LINE / 2];
    cls_status status = cls_device_get_info(check->device, &info);
    if (status) {
        fail_status(&failure, status, "no device");
        return failure_print(&failure, TOOL_FAILED);
    }
    check_say(check, CHECK_HEAD, "check of", "%s (library %s)", PACKAGE_STRING,
              cls_version_string());
    check_say(check, CHECK_HEAD, "device", "%zu: %s, %s", check->device, info.name, info.vendor);
    check_say(check, CHECK_HEAD, "platform", "%s", info.platform);
    check_say(check, CHECK_HEAD, "version", "%s", info.version);
    check_say(check, CHECK_HEAD, "driver", "%s", info.driver_version);
    if (platform_describe(system, sizeof system))
        check_say(check, CHECK_HEAD, "system", "%s", system);
    check_say(check, CHECK_HEAD, "seed", "%llu", (unsigned long long)check->seed);
    return TOOL_OK;
}

static int report_quirks(struct check *check) {
    cls_quirk quirk;
    for (size_t i = 0; cls_device_get_quirk(check->device, i, &quirk) == CLS_SUCCESS; i++)
        check_say(check, CHECK_INFO, quirk.name, "%s", "");
    return TOOL_OK;
}

static int run_part(const struct part *part, const char *device, int descriptor) {
    struct check check = {.report = fdopen(descriptor, "w"), .seed = seed};
    cls_context_config config = CLS_CONTEXT_CONFIG_INIT;
    config.device = device;
    if (!check.report)
        return TOOL_FAILED;
    cls_status status = cls_device_find(device, &check.device);
    if (!status && !part->makes_context)
        status = cls_context_create(&config, &check.context);
    if (!status)
        return part->body(&check);
    if (!part->title) {
        struct failure failure = {.set = false};
        fail_status(&failure, status, "no device");
        return failure_print(&failure, TOOL_FAILED);
    }
    check_say_status(&check, part->name, "no context", status);
    return TOOL_OK;
}

/* --- the parent's side --- */

/* The lines of the report so far, by outcome. */
static unsigned tally[CHECK_HEAD + 1];

static void print_line(enum check_outcome outcome, const char *subject, const char *text) {
    static const char *const words[] = {"passed", "worked around", "failed", "-"};
    tally[outcome]++;
    if (outcome == CHECK_HEAD)
        printf("%-10s %s\n", subject, text);
    else
        printf("  %-14s %-*s%s%s\n", words[outcome], *text ? NAME_WIDTH : 0, subject,
               *text ? " " : "", text);
    fflush(stdout);
}

static void take_line(char *line) {
    char *subject = strchr(line, ' '), *text = strchr(line, '\t');
    const int outcome = atoi(line);
    if (!subject || !text || outcome < CHECK_PASSED || outcome > CHECK_HEAD)
        return;
    *text = '\0';
    print_line((enum check_outcome)outcome, subject + 1, text + 1);
}

/* Prints what arrives until the child closes its end; false when the time is over. */
static bool take_lines(const struct platform_child *child) {
    char line[LINE * 2];
    size_t used = 0;
    const time_t until = time(NULL) + limit_s;
    for (;;) {
        const time_t left = until - time(NULL);
        if (left <= 0)
            return false;
        const int64_t n =
            platform_receive(child, line + used, sizeof line - 1 - used, (unsigned)left);
        if (n < 0)
            continue;
        if (n == 0)
            return true;
        used += (size_t)n;
        line[used] = '\0';
        char *begin = line, *end;
        while ((end = strchr(begin, '\n')) != NULL) {
            *end = '\0';
            take_line(begin);
            begin = end + 1;
        }
        used = strlen(begin);
        memmove(line, begin, used + 1);
        if (used == sizeof line - 1)
            used = 0;
    }
}

/* --- */

static bool start_part(struct platform_child *child, const char *self, const struct part *part,
                       const char *device) {
    char line[PLATFORM_NUMBER], drawn[24];
    const char *option = device ? "--device" : NULL; /* ends the arguments where there is none */
    const char *const arguments[] = {self,     "check", "--part", part->name, "--report", line,
                                     "--seed", drawn,   option,   device,     NULL};
    snprintf(drawn, sizeof drawn, "%llu", (unsigned long long)seed);
    return platform_start(child, arguments, line);
}

/* Says how the process ended unless it ended well; false for a head that did not. `well`: no line of the part is a
 * failure. */
static bool print_end(const struct part *part, const struct platform_end *end, bool in_time,
                      bool well) {
    char text[LINE];
    if (!part->title && in_time && end->status >= 0)
        return end->status == TOOL_OK;
    if (!in_time)
        snprintf(text, sizeof text, "did not end within %d s (--limit), and was killed", limit_s);
    else if (end->status < 0)
        snprintf(text, sizeof text, "the process crashed: %s", end->crashed);
    else if (end->status)
        snprintf(text, sizeof text, "the process ended with status %d", end->status);
    else if (part->ends && well)
        print_line(CHECK_PASSED, part->ends, "");
    if (!in_time || end->status)
        print_line(CHECK_FAILED, part->name, text);
    return part->title != NULL;
}

/* False when the head of the report cannot be had, or there is no process, which is said. */
static bool run_in_child(const char *self, const struct part *part, const char *device) {
    struct failure failure = {.set = false};
    struct platform_child child;
    struct platform_end end;
    const unsigned failures = tally[CHECK_FAILED];
    if (part->title)
        printf("\n%s\n", part->title);
    fflush(stdout);
    if (!start_part(&child, self, part, device)) {
        fail_errno(&failure, "no process for %s", part->name);
        failure_print(&failure, TOOL_FAILED);
        return false;
    }
    const bool in_time = take_lines(&child);
    platform_end(&child, !in_time, &end);
    return print_end(part, &end, in_time, tally[CHECK_FAILED] == failures);
}

static int check_all(const char *self, const char *device) {
    for (unsigned i = 0; i < PARTS; i++)
        if (!run_in_child(self, &parts[i], device))
            return TOOL_FAILED;
    printf("\n%u passed, %u worked around, %u failed\n", tally[CHECK_PASSED],
           tally[CHECK_WORKED_AROUND], tally[CHECK_FAILED]);
    return tally[CHECK_FAILED] ? TOOL_FAILED : TOOL_OK;
}

int command_check(int argc, char **argv) {
    static const struct option options[] = {{"device", required_argument, NULL, 'd'},
                                            {"limit", required_argument, NULL, 'l'},
                                            {"part", required_argument, NULL, 'p'},
                                            {"report", required_argument, NULL, 'r'},
                                            {"seed", required_argument, NULL, 's'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    static char name[] = "clstream check"; /* for getopt's messages */
    const char *device = NULL, *part = NULL;
    uint64_t limit;
    int option, descriptor = STDOUT_FILENO;
    argv[0] = name;
    seed = (uint64_t)time(NULL);
    while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1)
        switch (option) {
        case 'd':
            device = optarg;
            break;
        case 'l':
            if (!number_parse(optarg, 1, LONGEST_S, &limit))
                return usage_error("check", "--limit: '%s' is no number from 1 to %d", optarg,
                                   LONGEST_S);
            limit_s = (int)limit;
            break;
        case 's':
            if (!number_parse(optarg, 0, UINT32_MAX, &seed))
                return usage_error("check", "--seed: '%s' is no number of 32 bits", optarg);
            break;
        case 'p':
            part = optarg;
            break;
        case 'r':
            descriptor = atoi(optarg);
            break;
        case 'h':
            fputs(help, stdout);
            return TOOL_OK;
        default:
            return usage_hint("check");
        }
    if (optind < argc)
        return usage_error("check", "'%s' is one argument too many", argv[optind]);
    for (unsigned i = 0; part && i < PARTS; i++)
        if (!strcmp(part, parts[i].name))
            return run_part(&parts[i], device, descriptor);
    return part ? usage_error("check", "--part: '%s' is no part", part)
                : check_all("clstream", device);
}
