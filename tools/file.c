/* SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700 /* realpath */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "temporary.h"

_Static_assert(sizeof(off_t) == sizeof(uint64_t), "files of more than 2 GiB");

bool is_standard_stream(const char *path) { return strcmp(path, "-") == 0; }

static bool is_same_file(const struct stat *a, const struct stat *b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

bool are_one_file(const char *path, const char *other) {
    struct stat a, b;
    return stat(path, &a) == 0 && stat(other, &b) == 0 && S_ISREG(a.st_mode) &&
           is_same_file(&a, &b);
}

/* Reads or writes all of it; false with errno set, 0 for an end of file. */
static bool transfer(int fd, void *memory, size_t bytes, uint64_t at, bool writing) {
    char *from = memory;
    while (bytes > 0) {
        ssize_t moved =
            writing ? pwrite(fd, from, bytes, (off_t)at) : pread(fd, from, bytes, (off_t)at);
        if (moved < 0 && errno == EINTR)
            continue;
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
        const ssize_t moved = write(fd, from, bytes);
        if (moved < 0 && errno == EINTR)
            continue;
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
    if (pread(input->fd, start, sizeof start, 0) == sizeof start && npy_is_magic(start))
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
static bool is_read_in_turn(const struct input *input, const struct stat *facts) {
    char byte;
    if (!S_ISREG(facts->st_mode))
        return true;
    return facts->st_size == 0 ? pread(input->fd, &byte, 1, 0) > 0
                               : lseek(input->fd, 0, SEEK_CUR) > 0;
}

static bool copy_to(int copy, const struct input *input, struct failure *failure) {
    static char block[1 << 16];
    ssize_t got;
    while ((got = read(input->fd, block, sizeof block)) != 0) {
        if (got < 0 && errno != EINTR)
            return fail_errno(failure, "%s: cannot read", input->path);
        if (got > 0 && !append(copy, block, (size_t)got))
            return fail_errno(failure, "%s: cannot copy it to %s", input->path, temporary_folder());
    }
    return true;
}

/* Replaces the file by a copy that has no name, since a run has to know the size. */
static bool copy_input(struct input *input, struct stat *facts, struct failure *failure) {
    char name[4096];
    if ((size_t)snprintf(name, sizeof name, "%s/clstream-XXXXXX", temporary_folder()) >=
        sizeof name)
        return fail(failure, "TMPDIR: the name is too long");
    const int copy = mkstemp(name);
    if (copy < 0)
        return fail_errno(failure, "%s: no temporary file in %s", input->path, temporary_folder());
    unlink(name);
    fcntl(copy, F_SETFD, FD_CLOEXEC);
    if (!copy_to(copy, input, failure) || fstat(copy, facts) != 0) {
        close(copy);
        return fail_errno(failure, "%s: cannot stat", input->path);
    }
    close(input->fd);
    input->fd = copy;
    return true;
}

static bool can_be_read(const struct input *input, const struct stat *facts,
                        struct failure *failure) {
    if (S_ISDIR(facts->st_mode))
        return fail(failure, "%s: it is a folder", input->path);
    if (isatty(input->fd))
        return fail(failure, "%s: it is a terminal", input->path);
    return true;
}

static bool open_input(struct input *input, const char *path, struct failure *failure) {
    const bool standard = is_standard_stream(path);
    input->path = standard ? "standard input" : path;
    input->fd = standard ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                         : open(path, O_RDONLY | O_NOCTTY | O_CLOEXEC);
    return input->fd >= 0 || fail_errno(failure, "%s: cannot open", input->path);
}

bool input_open(struct input *input, const char *path, cls_dtype raw, struct failure *failure) {
    struct stat facts;
    if (!open_input(input, path, failure))
        return false;
    if (fstat(input->fd, &facts) != 0)
        fail_errno(failure, "%s: cannot stat", input->path);
    else if (can_be_read(input, &facts, failure) &&
             (!is_read_in_turn(input, &facts) || copy_input(input, &facts, failure)) &&
             (raw ? describe_raw(input, raw, (uint64_t)facts.st_size, failure)
                  : read_header(input, (uint64_t)facts.st_size, failure) &&
                        check_length(input, (uint64_t)facts.st_size, failure))) {
        posix_fadvise(input->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
        return true;
    }
    close(input->fd);
    return false;
}

void input_close(struct input *input) {
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

/* `link`, or what it means in the folder of `path`, in its place. NULL with errno set. */
static char *follow(char *path, const char *link) {
    const char *slash = strrchr(path, '/');
    const size_t folder = *link != '/' && slash ? (size_t)(slash - path) + 1 : 0;
    char *longer = realloc(path, folder + strlen(link) + 1);
    if (longer)
        strcpy(longer + folder, link);
    else
        free(path);
    return longer;
}

/* Where symbolic links lead whose end is not there yet. Allocated; NULL with errno set. */
static char *end_of_links(const char *path) {
    char *at = strdup(path), link[4096];
    ssize_t length;
    while (at && (length = readlink(at, link, sizeof link)) >= 0) {
        if ((size_t)length == sizeof link) {
            free(at);
            return errno = ENAMETOOLONG, NULL;
        }
        link[length] = '\0';
        at = follow(at, link);
    }
    return at;
}

/* Devices and pipes are opened by their own name, and no other file takes their place. */
static bool is_in_place(const struct stat *facts, bool exists) {
    return exists && !S_ISREG(facts->st_mode);
}

/* What `path` leads to, so that a symbolic link goes on leading there. */
static bool find_target(struct output *output, struct stat *facts, bool *exists,
                        struct failure *failure) {
    *exists = stat(output->path, facts) == 0;
    if (!*exists && errno != ENOENT)
        return fail_errno(failure, "%s: cannot write", output->path);
    if (*exists && (S_ISDIR(facts->st_mode) || S_ISBLK(facts->st_mode)))
        return fail(failure, "%s: it is %s", output->path,
                    S_ISDIR(facts->st_mode) ? "a folder" : "a disk");
    output->target = is_in_place(facts, *exists) ? strdup(output->path)
                     : *exists                   ? realpath(output->path, NULL)
                                                 : end_of_links(output->path);
    if (!output->target)
        return fail_errno(failure, "%s: cannot write", output->path);
    return true;
}

/* Whether it is the file that the standard output leads to. */
static bool is_standard_output(const struct stat *file) {
    struct stat facts;
    return fstat(STDOUT_FILENO, &facts) == 0 && is_same_file(file, &facts);
}

bool input_is_output(const struct input *input, const char *path) {
    struct stat facts;
    return is_standard_stream(path) && fstat(input->fd, &facts) == 0 && S_ISREG(facts.st_mode) &&
           is_standard_output(&facts);
}

/* From here on messages, and what drivers print, go to the standard error. */
static void keep_messages_out(void) { dup2(STDERR_FILENO, STDOUT_FILENO); }

static bool open_in_place(struct output *output, const char *path, struct failure *failure) {
    struct stat facts;
    const bool standard = is_standard_stream(path);
    output->fd = standard ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)
                          : open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
    if (output->fd < 0 || fstat(output->fd, &facts) != 0)
        return fail_errno(failure, "%s: cannot write", output->path);
    /* Or by another name, as /dev/stdout. */
    if (standard || (!S_ISCHR(facts.st_mode) && is_standard_output(&facts)))
        keep_messages_out();
    return true;
}

/* The file's mode: that of the one it replaces, or what the umask leaves. */
static mode_t mode_of(const struct stat *facts, bool exists) {
    if (exists)
        return facts->st_mode & 0777;
    const mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

static bool open_temporary(struct output *output, mode_t mode, struct failure *failure) {
    if (!temporary_create(output->target, &output->fd))
        return fail_errno(failure, "%s: cannot create a file next to it", output->path);
    output->temporary = true;
    return fchmod(output->fd, mode) == 0 || fail_errno(failure, "%s: cannot write", output->path);
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
    struct stat facts;
    bool exists;
    if (is_standard_stream(path))
        return open_in_place(output, path, failure);
    if (!find_target(output, &facts, &exists, failure))
        return false;
    return is_in_place(&facts, exists) ? open_in_place(output, output->target, failure)
                                       : open_temporary(output, mode_of(&facts, exists), failure);
}

/* Elements are no text, and would change what a terminal does. */
static bool takes_elements(const struct output *output, struct failure *failure) {
    return !isatty(output->fd) ||
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
    FILE *file = copy < 0 ? NULL : fdopen(copy, "w");
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
