/* SPDX-License-Identifier: MIT */
#include "file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "platform.h"
#include "temporary.h"

bool is_standard_stream(const char *path) { return strcmp(path, "-") == 0; }

static bool is_same_file(const struct platform_facts *a, const struct platform_facts *b) {
    return a->volume == b->volume && a->number == b->number;
}

bool are_one_file(const char *path, const char *other) {
    struct platform_facts a, b;
    return platform_facts_of(path, &a) && platform_facts_of(other, &b) && a.kind == PLATFORM_FILE &&
           is_same_file(&a, &b);
}

/* Reads or writes all of it; false with errno set, 0 for an end of file. */
static bool transfer(int fd, void *memory, size_t bytes, uint64_t at, bool writing) {
    char *from = memory;
    while (bytes > 0) {
        const int64_t moved = writing ? platform_write_at(fd, from, bytes, at)
                                      : platform_read_at(fd, from, bytes, at);
        if (moved <= 0) {
            errno = moved < 0 ? errno : 0;
            return false;
        }
        from += moved;
        at += (uint64_t)moved;
        bytes -= (size_t)moved;
    }
    return true;
}

/* Writes all of it at the file's own position; false with errno set. */
static bool append(int fd, const char *from, size_t bytes) {
    while (bytes > 0) {
        const int64_t moved = platform_write(fd, from, bytes);
        if (moved < 0)
            return false;
        from += moved;
        bytes -= (size_t)moved;
    }
    return true;
}

static bool read_elements(int fd, const char *path, const struct npy_array *array, uint64_t first,
                          size_t count, void *to, struct failure *failure) {
    const size_t size = cls_dtype_size(array->dtype);
    if (transfer(fd, to, count * size, array->header_bytes + first * size, false))
        return true;
    if (errno == 0)
        return fail(failure, "%s: the file became shorter while it was read", path);
    return fail_errno(failure, "%s: cannot read", path);
}

/* ---- Input */

/* Reads the header, a prefix first and then as much as that asks for. */
static bool read_header(struct input *input, uint64_t file_bytes, struct failure *failure) {
    unsigned char prefix[NPY_PREFIX];
    unsigned char *bytes = prefix, *longer = NULL;
    size_t have = file_bytes < sizeof prefix ? (size_t)file_bytes : sizeof prefix, needed = 0;
    char reason[NPY_REASON];
    enum npy_result result;

    if (!transfer(input->fd, prefix, have, 0, false))
        return fail_errno(failure, "%s: cannot read", input->path);
    while ((result = npy_parse(bytes, have, &input->array, &needed, reason)) == NPY_MORE &&
           needed <= file_bytes) {
        unsigned char *grown = realloc(longer, needed);
        if (!grown || !transfer(input->fd, grown, needed, 0, false)) {
            free(grown ? grown : longer);
            return fail_errno(failure, "%s: cannot read the header", input->path);
        }
        bytes = longer = grown;
        have = needed;
    }
    free(longer);
    if (result == NPY_MORE)
        return fail(failure, "%s: truncated: the header needs %zu bytes, the file has %llu",
                    input->path, needed, (unsigned long long)file_bytes);
    return result == NPY_OK || fail(failure, "%s: %s", input->path, reason);
}

static bool check_length(const struct input *input, uint64_t file_bytes, struct failure *failure) {
    const uint64_t data = input->array.count * cls_dtype_size(input->array.dtype);
    const uint64_t present = file_bytes - input->array.header_bytes;
    if (present == data)
        return true;
    return fail(failure, "%s: %s: the header promises %llu bytes of data, the file has %llu",
                input->path, present < data ? "truncated" : "too long", (unsigned long long)data,
                (unsigned long long)present);
}

static bool describe_raw(struct input *input, cls_dtype raw, uint64_t file_bytes,
                         struct failure *failure) {
    const size_t size = cls_dtype_size(raw);
    struct npy_array array = {.dtype = raw, .n_dims = 1, .count = file_bytes / size};
    char start[NPY_MAGIC];
    if (platform_read_at(input->fd, start, sizeof start, 0) == sizeof start && npy_is_magic(start))
        return fail(failure, "%s: it is a .npy file, which states its type; leave out --dtype",
                    input->path);
    if (file_bytes % size)
        return fail(failure, "%s: %llu bytes are no whole number of %s elements", input->path,
                    (unsigned long long)file_bytes, cls_dtype_name(raw));
    array.shape[0] = array.count;
    input->array = array;
    return true;
}

/* Whether the file is read in turn only: a pipe, a file of /proc, which has a size of 0, or a standard input that
 * somebody has read a part of. */
static bool is_read_in_turn(const struct input *input, const struct platform_facts *facts) {
    char byte;
    if (facts->kind != PLATFORM_FILE)
        return true;
    return facts->bytes == 0 ? platform_read_at(input->fd, &byte, 1, 0) > 0
                             : platform_position(input->fd) > 0;
}

static bool copy_to(int copy, const struct input *input, struct failure *failure) {
    static char block[1 << 16];
    int64_t got;
    while ((got = platform_read(input->fd, block, sizeof block)) != 0) {
        if (got < 0)
            return fail_errno(failure, "%s: cannot read", input->path);
        if (!append(copy, block, (size_t)got))
            return fail_errno(failure, "%s: cannot copy it to %s", input->path, temporary_folder());
    }
    return true;
}

/* Replaces the file by a copy that has no name, since a run has to know the size. */
static bool copy_input(struct input *input, struct platform_facts *facts, struct failure *failure) {
    const int copy = platform_open_unnamed(temporary_folder());
    if (copy < 0)
        return fail_errno(failure, "%s: no temporary file in %s", input->path, temporary_folder());
    if (!copy_to(copy, input, failure) || !platform_facts_of_fd(copy, facts)) {
        close(copy);
        return fail_errno(failure, "%s: cannot stat", input->path);
    }
    close(input->fd);
    input->fd = copy;
    return true;
}

static bool can_be_read(const struct input *input, const struct platform_facts *facts,
                        struct failure *failure) {
    if (facts->kind == PLATFORM_FOLDER)
        return fail(failure, "%s: it is a folder", input->path);
    if (platform_is_terminal(input->fd))
        return fail(failure, "%s: it is a terminal", input->path);
    return true;
}

static bool open_input(struct input *input, const char *path, struct failure *failure) {
    const bool standard = is_standard_stream(path);
    input->path = standard ? "standard input" : path;
    input->fd = standard ? platform_copy_fd(STDIN_FILENO) : platform_open(path, false);
    return input->fd >= 0 || fail_errno(failure, "%s: cannot open", input->path);
}

bool input_open(struct input *input, const char *path, cls_dtype raw, struct failure *failure) {
    struct platform_facts facts;
    if (!open_input(input, path, failure))
        return false;
    if (!platform_facts_of_fd(input->fd, &facts))
        fail_errno(failure, "%s: cannot stat", input->path);
    else if (can_be_read(input, &facts, failure) &&
             (!is_read_in_turn(input, &facts) || copy_input(input, &facts, failure)) &&
             (raw ? describe_raw(input, raw, facts.bytes, failure)
                  : read_header(input, facts.bytes, failure) &&
                        check_length(input, facts.bytes, failure))) {
        platform_expect_reading(input->fd);
        return true;
    }
    close(input->fd);
    return false;
}

void input_close(struct input *input) {
    if (input->fd >= 0)
        close(input->fd);
    input->fd = -1;
}

bool input_read(const struct input *input, uint64_t first, size_t count, void *to,
                struct failure *failure) {
    return read_elements(input->fd, input->path, &input->array, first, count, to, failure);
}

/* ---- Output */

bool is_npy_output(const char *path, bool standard) {
    const size_t length = strlen(path);
    if (is_standard_stream(path))
        return standard;
    return length >= 4 && strcmp(path + length - 4, ".npy") == 0;
}

/* Devices and pipes are opened by their own name, and no other file takes their place. */
static bool is_in_place(const struct platform_facts *facts, bool exists) {
    return exists && facts->kind != PLATFORM_FILE;
}

/* What `path` leads to, so that a symbolic link goes on leading there. */
static bool find_target(struct output *output, struct platform_facts *facts, bool *exists,
                        struct failure *failure) {
    *exists = platform_facts_of(output->path, facts);
    if (!*exists && errno != ENOENT)
        return fail_errno(failure, "%s: cannot write", output->path);
    if (*exists && (facts->kind == PLATFORM_FOLDER || facts->kind == PLATFORM_DISK))
        return fail(failure, "%s: it is %s", output->path,
                    facts->kind == PLATFORM_FOLDER ? "a folder" : "a disk");
    output->target =
        is_in_place(facts, *exists) ? strdup(output->path) : platform_target(output->path, *exists);
    if (!output->target)
        return fail_errno(failure, "%s: cannot write", output->path);
    return true;
}

/* Whether it is the file that the standard output leads to. */
static bool is_standard_output(const struct platform_facts *file) {
    struct platform_facts facts;
    return platform_facts_of_fd(STDOUT_FILENO, &facts) && is_same_file(file, &facts);
}

bool input_is_output(const struct input *input, const char *path) {
    struct platform_facts facts;
    return is_standard_stream(path) && platform_facts_of_fd(input->fd, &facts) &&
           facts.kind == PLATFORM_FILE && is_standard_output(&facts);
}

/* From here on messages, and what drivers print, go to the standard error. */
static void keep_messages_out(void) { dup2(STDERR_FILENO, STDOUT_FILENO); }

static bool open_in_place(struct output *output, const char *path, struct failure *failure) {
    struct platform_facts facts;
    const bool standard = is_standard_stream(path);
    output->fd = standard ? platform_copy_fd(STDOUT_FILENO) : platform_open(path, true);
    if (output->fd < 0 || !platform_facts_of_fd(output->fd, &facts))
        return fail_errno(failure, "%s: cannot write", output->path);
    /* Or by another name, as /dev/stdout. */
    if (standard || (facts.kind != PLATFORM_DEVICE && is_standard_output(&facts)))
        keep_messages_out();
    return true;
}

/* The file's mode is that of the one it replaces, or what the umask leaves. */
static bool open_temporary(struct output *output, const struct platform_facts *replaced,
                           struct failure *failure) {
    if (!temporary_create(output->target, &output->fd))
        return fail_errno(failure, "%s: cannot create a file next to it", output->path);
    output->temporary = true;
    return platform_set_mode(output->fd, replaced) ||
           fail_errno(failure, "%s: cannot write", output->path);
}

static bool put_bytes(const struct output *output, const void *from, size_t bytes, uint64_t at,
                      struct failure *failure) {
    void *memory = (void *)(uintptr_t)from; /* only read: `writing` is true */
    return (output->temporary ? transfer(output->fd, memory, bytes, at, true)
                              : append(output->fd, from, bytes)) ||
           fail_errno(failure, "%s: cannot write", output->path);
}

static bool write_header(struct output *output, struct failure *failure) {
    unsigned char header[NPY_MAX_WRITTEN];
    output->array.header_bytes = npy_write(&output->array, header, sizeof header);
    return put_bytes(output, header, output->array.header_bytes, 0, failure);
}

static bool open_output(struct output *output, const char *path, struct failure *failure) {
    struct platform_facts facts;
    bool exists;
    if (is_standard_stream(path))
        return open_in_place(output, path, failure);
    if (!find_target(output, &facts, &exists, failure))
        return false;
    return is_in_place(&facts, exists) ? open_in_place(output, output->target, failure)
                                       : open_temporary(output, exists ? &facts : NULL, failure);
}

/* Elements are no text, and would change what a terminal does. */
static bool takes_elements(const struct output *output, struct failure *failure) {
    return !platform_is_terminal(output->fd) ||
           fail(failure, "%s: it is a terminal, and elements are no text", output->path);
}

bool output_open(struct output *output, const char *path, const struct npy_array *array, bool npy,
                 struct failure *failure) {
    *output =
        (struct output){.path = is_standard_stream(path) ? "standard output" : path, .fd = -1};
    if (array)
        output->array = *array;
    output->array.header_bytes = 0;
    if (open_output(output, path, failure) && (!array || takes_elements(output, failure)) &&
        (!npy || write_header(output, failure)))
        return true;
    output_abandon(output);
    return false;
}

bool output_write(const struct output *output, uint64_t first, size_t count, const void *from,
                  struct failure *failure) {
    const size_t size = cls_dtype_size(output->array.dtype);
    return put_bytes(output, from, count * size, output->array.header_bytes + first * size,
                     failure);
}

bool output_read(const struct output *output, uint64_t first, size_t count, void *to,
                 struct failure *failure) {
    return read_elements(output->fd, output->path, &output->array, first, count, to, failure);
}

bool output_put(struct output *output, void (*put)(FILE *file, void *arg), void *arg,
                struct failure *failure) {
    const int copy = dup(output->fd);
    FILE *file = copy < 0 ? NULL : fdopen(copy, "wb");
    if (file)
        put(file, arg);
    const bool good = file && fflush(file) == 0 && !ferror(file);
    if (!good)
        fail_errno(failure, "%s: cannot write", output->path);
    if (file)
        fclose(file);
    else if (copy >= 0)
        close(copy);
    if (good)
        return output_commit(output, failure);
    output_abandon(output);
    return false;
}

bool output_commit(struct output *output, struct failure *failure) {
    bool done = close(output->fd) == 0;
    output->fd = -1;
    if (done && output->temporary)
        done = temporary_rename(output->target) == 0;
    if (!done) {
        fail_errno(failure, "%s: cannot write", output->path);
        output_abandon(output);
        return false;
    }
    free(output->target);
    output->target = NULL;
    return true;
}

void output_abandon(struct output *output) {
    if (output->fd >= 0)
        close(output->fd);
    if (output->temporary)
        temporary_remove();
    free(output->target);
    output->target = NULL;
    output->fd = -1;
}
