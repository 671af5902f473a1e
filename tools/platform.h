/* SPDX-License-Identifier: MIT */
/*
 * What the command needs of the system, which POSIX and Windows do in ways of their own. Names are UTF-8 on Windows. What
 * fails sets errno, where nothing else is said.
 */
#ifndef CLSTREAM_TOOLS_PLATFORM_H
#define CLSTREAM_TOOLS_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* For the compiler's check of functions that are called like printf: MinGW's own printf is not that of msvcrt.dll. */
#ifdef _WIN32
#define PLATFORM_PRINTF gnu_printf
#else
#define PLATFORM_PRINTF printf
#endif

/* --- the process --- */

/* At the begin of main: standard files are open, take bytes as they are, and children can be waited for. */
void platform_begin(int *argc, char ***argv);

/* Processors that are on line, at least 1. */
unsigned platform_processors(void);

/* The system's name, release and machine; false: they are unknown. */
bool platform_describe(char *text, size_t size);

bool platform_is_terminal(int fd);

/* --- files --- */

enum platform_kind {
    PLATFORM_FILE,
    PLATFORM_FOLDER,
    PLATFORM_DISK,
    PLATFORM_DEVICE,
    PLATFORM_PIPE
};

struct platform_facts {
    enum platform_kind kind;
    uint64_t bytes;
    uint64_t volume, number; /* both together are one file's */
    unsigned mode;           /* permissions */
};

bool platform_facts_of(const char *path, struct platform_facts *facts);
bool platform_facts_of_fd(int fd, struct platform_facts *facts);

/* No other program inherits these. */
int platform_open(const char *path, bool writing);
int platform_copy_fd(int fd);

/* A new file that is gone when it is closed, in the folder; -1. */
int platform_open_unnamed(const char *folder);

/* At the file's own position: how many bytes, 0 for the end of what is read, or -1. */
int64_t platform_read(int fd, void *to, size_t bytes);
int64_t platform_write(int fd, const void *from, size_t bytes);

/* At any position, from several threads; the file's own one is not moved by POSIX, and unknown then on Windows. */
int64_t platform_read_at(int fd, void *to, size_t bytes, uint64_t at);
int64_t platform_write_at(int fd, const void *from, size_t bytes, uint64_t at);

/* The file's own position; -1: it has none. */
int64_t platform_position(int fd);

/* The file will be read from its begin to its end. */
void platform_expect_reading(int fd);

/* What the name leads to by symbolic links, of a file that is there or not. Allocated, or NULL. */
char *platform_target(const char *path, bool exists);

/* Gives a new file the permissions of the file that it will replace, or of any new file for NULL. */
bool platform_set_mode(int fd, const struct platform_facts *replaced);

/* --- children --- */

/* Another process of this program, with a pipe from it. */
struct platform_child {
    intptr_t process;
    int line;
};

struct platform_end {
    bool hung;        /* its time was over */
    int status;       /* exit status; negative: it crashed */
    char crashed[64]; /* how, if it did */
};

enum { PLATFORM_NUMBER = 16 };

/* `arguments` begin with the program's name and end with NULL. The text of the child's end of the pipe, a descriptor, is put
 * in `line`, which may be one of them, before it starts. */
bool platform_start(struct platform_child *child, const char *const *arguments,
                    char line[PLATFORM_NUMBER]);

/* How many bytes, 0: it has closed its end, -1: there was none within the seconds, or a signal came before. */
int64_t platform_receive(const struct platform_child *child, void *to, size_t bytes,
                         unsigned seconds);

/* Waits for the child, which is ended first where `kill` says so, and closes the pipe. */
void platform_end(struct platform_child *child, bool kill, struct platform_end *end);

/* Whether a process can be forked. */
bool platform_forks(void);

/* Runs run(arg) in a forked process, whose status it returns unless it exits itself; after `seconds` it has hung. */
bool platform_fork(int (*run)(void *arg), void *arg, unsigned seconds, struct platform_end *end);

#endif
