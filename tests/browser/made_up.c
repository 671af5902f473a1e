/* SPDX-License-Identifier: MIT */
/*
 * Writes a profile of made-up commands, made_up.json and made_up.html in the folder that is its argument, for a browser
 * to draw: three streams, whose times and dependencies tests/browser/checks.js knows.
 */
#include <stdio.h>
#include <stdlib.h>

#include "trace/export.h"
#include "trace/profile.h"

#define US 1000ull

static struct device device;

/* Times in microseconds of a profile that begins at 0 and ends at 1000. */
static const struct made_up {
    uint64_t stream, position;
    const char *stream_name, *label;
    cls_command_kind kind;
    uint64_t start, end;
    struct trace_record_dep after; /* of another stream */
    cls_status outcome;
} commands[] = {
    {1, 1, "upload", "write a", CLS_COMMAND_COPY_H2D, 100, 300, {0, 0}, CLS_SUCCESS},
    {1, 2, "upload", "write b", CLS_COMMAND_COPY_H2D, 300, 500, {0, 0}, CLS_SUCCESS},
    {2, 1, "compute <2>", "gelu", CLS_COMMAND_KERNEL, 300, 600, {1, 1}, CLS_SUCCESS},
    {2, 2, "compute <2>", "exp & more", CLS_COMMAND_KERNEL, 600, 800, {1, 2}, CLS_SUCCESS},
    {3, 1, "download", "read", CLS_COMMAND_COPY_D2H, 800, 900, {2, 2}, CLS_SUCCESS},
    {3, 2, "download", "broken", CLS_COMMAND_KERNEL, 920, 1000, {0, 0}, CLS_ERROR_COMMAND_FAILED},
};

enum { N_COMMANDS = sizeof commands / sizeof *commands };

/* All were submitted at once; the host's clock and the device's are the same. */
static struct raw raw_of(const struct made_up *command) {
    const uint64_t begin = 1000 * US;
    struct raw raw = {.type = CLS_RECORD_COMMAND, .stream = command->stream, .device = &device};
    snprintf(raw.stream_name, sizeof raw.stream_name, "%s", command->stream_name);
    raw.u.command = (struct trace_record){
        .label = command->label,
        .kind = command->kind,
        .outcome = command->outcome,
        .position = command->position,
        .bytes = 1 << 20,
        .queue = (unsigned)command->stream,
        .submitted = begin,
        .handing = begin,
        .handed = begin,
        .retired = begin + command->end * US,
        .device = {begin, begin, begin + command->start * US, begin + command->end * US},
        .n_deps = command->after.stream != 0,
        .deps = {command->after},
        .failed_by = {command->outcome ? command->stream : 0, command->position},
    };
    return raw;
}

static int save(const char *folder, const char *name, const struct text *text) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = text->failed ? NULL : fopen(path, "wb");
    if (!file)
        return 1;
    int failed = fwrite(text->bytes, 1, text->length, file) != text->length;
    return fclose(file) || failed;
}

int main(int argc, char **argv) {
    struct raw raws[N_COMMANDS];
    struct profile profile = {.count = 0};
    struct text json = {0}, html = {0};
    for (int i = 0; i < N_COMMANDS; i++)
        raws[i] = raw_of(&commands[i]);
    int failed =
        argc != 2 || profile_build(&profile, &(struct evidence){.raws = raws, .count = N_COMMANDS});
    if (!failed) {
        export_json(&json, &profile);
        export_html(&html, &profile);
        failed = save(argv[1], "made_up.json", &json) || save(argv[1], "made_up.html", &html);
    }
    free(json.bytes);
    free(html.bytes);
    profile_free(&profile);
    return failed;
}
