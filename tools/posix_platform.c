/* SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700 /* realpath */
#include "platform.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

_Static_assert(sizeof(off_t) == sizeof(uint64_t), "files of more than 2 GiB");

/* --- the process --- */

/* The input or the output would take the place of a standard file that the parent closed, and what a driver
 * prints would go into the output. Input and output are opened the other way round, so that using them still fails;
 * messages that nobody wants are no failure. */
static void take_closed_places(void) {
    static const int modes[] = {O_WRONLY, O_RDONLY, O_WRONLY};
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", modes[fd] | O_CLOEXEC) != fd)
            return;
}

void platform_begin(int *argc, char ***argv) {
    (void)argc;
    (void)argv;
    take_closed_places();
    signal(SIGCHLD, SIG_DFL); /* or nobody could wait for a program, or for a driver's linker */
}

unsigned platform_processors(void) {
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    return processors > 0 ? (unsigned)processors : 1;
}

bool platform_describe(char *text, size_t size) {
    struct utsname system;
    if (uname(&system) < 0)
        return false;
    snprintf(text, size, "%s %s, %s", system.sysname, system.release, system.machine);
    return true;
}

bool platform_is_terminal(int fd) { return isatty(fd); }

/* --- files --- */

static struct platform_facts facts_from(const struct stat *found) {
    const mode_t mode = found->st_mode;
    return (struct platform_facts){S_ISREG(mode)   ? PLATFORM_FILE
                                   : S_ISDIR(mode) ? PLATFORM_FOLDER
                                   : S_ISBLK(mode) ? PLATFORM_DISK
                                   : S_ISCHR(mode) ? PLATFORM_DEVICE
                                                   : PLATFORM_PIPE,
                                   (uint64_t)found->st_size, (uint64_t)found->st_dev,
                                   (uint64_t)found->st_ino, mode & 0777};
}

bool platform_facts_of(const char *path, struct platform_facts *facts) {
    struct stat found;
    if (stat(path, &found) != 0)
        return false;
    *facts = facts_from(&found);
    return true;
}

bool platform_facts_of_fd(int fd, struct platform_facts *facts) {
    struct stat found;
    if (fstat(fd, &found) != 0)
        return false;
    *facts = facts_from(&found);
    return true;
}

int platform_open(const char *path, bool writing) {
    return open(path, (writing ? O_WRONLY : O_RDONLY) | O_NOCTTY | O_CLOEXEC);
}

int platform_copy_fd(int fd) { return fcntl(fd, F_DUPFD_CLOEXEC, 0); }

int platform_open_unnamed(const char *folder) {
    char name[4096];
    if ((size_t)snprintf(name, sizeof name, "%s/clstream-XXXXXX", folder) >= sizeof name)
        return errno = ENAMETOOLONG, -1;
    const int fd = mkstemp(name);
    if (fd >= 0) {
        unlink(name);
        fcntl(fd, F_SETFD, FD_CLOEXEC);
    }
    return fd;
}

int64_t platform_read(int fd, void *to, size_t bytes) {
    ssize_t got;
    while ((got = read(fd, to, bytes)) < 0 && errno == EINTR)
        ;
    return got;
}

int64_t platform_write(int fd, const void *from, size_t bytes) {
    ssize_t put;
    while ((put = write(fd, from, bytes)) < 0 && errno == EINTR)
        ;
    return put;
}

int64_t platform_read_at(int fd, void *to, size_t bytes, uint64_t at) {
    ssize_t got;
    while ((got = pread(fd, to, bytes, (off_t)at)) < 0 && errno == EINTR)
        ;
    return got;
}

int64_t platform_write_at(int fd, const void *from, size_t bytes, uint64_t at) {
    ssize_t put;
    while ((put = pwrite(fd, from, bytes, (off_t)at)) < 0 && errno == EINTR)
        ;
    return put;
}

int64_t platform_position(int fd) { return lseek(fd, 0, SEEK_CUR); }

void platform_expect_reading(int fd) { posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL); }

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

char *platform_target(const char *path, bool exists) {
    return exists ? realpath(path, NULL) : end_of_links(path);
}

bool platform_set_mode(int fd, const struct platform_facts *replaced) {
    if (replaced)
        return fchmod(fd, (mode_t)replaced->mode) == 0;
    const mode_t mask = umask(0);
    umask(mask);
    return fchmod(fd, 0666 & ~mask) == 0;
}

/* --- children --- */

static void run_again(const char *const *arguments) {
    char *const *const unchanged = (char *const *)(uintptr_t)arguments; /* exec changes none */
    execv("/proc/self/exe", unchanged);
    execvp(arguments[0], unchanged);
    _exit(127);
}

bool platform_start(struct platform_child *child, const char *const *arguments,
                    char line[PLATFORM_NUMBER]) {
    int ends[2];
    if (pipe(ends))
        return false;
    snprintf(line, PLATFORM_NUMBER, "%d", ends[1]);
    const pid_t process = fork();
    if (process == 0) {
        close(ends[0]);
        run_again(arguments);
    }
    close(ends[1]);
    if (process < 0) {
        close(ends[0]);
        return false;
    }
    *child = (struct platform_child){process, ends[0]};
    return true;
}

int64_t platform_receive(const struct platform_child *child, void *to, size_t bytes,
                         unsigned seconds) {
    struct pollfd ready = {child->line, POLLIN, 0};
    if (poll(&ready, 1, (int)seconds * 1000) <= 0)
        return -1;
    const ssize_t got = read(child->line, to, bytes);
    return got < 0 && errno != EINTR ? 0 : got;
}

static void await(pid_t process, struct platform_end *end) {
    int state = 0;
    while (waitpid(process, &state, 0) < 0 && errno == EINTR)
        ;
    *end = (struct platform_end){.status = WIFSIGNALED(state) ? -1 : WEXITSTATUS(state)};
    if (!WIFSIGNALED(state))
        return;
    end->hung = WTERMSIG(state) == SIGALRM;
    snprintf(end->crashed, sizeof end->crashed, "%s", strsignal(WTERMSIG(state)));
}

void platform_end(struct platform_child *child, bool kills, struct platform_end *end) {
    close(child->line);
    if (kills)
        kill((pid_t)child->process, SIGKILL);
    await((pid_t)child->process, end);
}

bool platform_forks(void) { return true; }

bool platform_fork(int (*run)(void *arg), void *arg, unsigned seconds, struct platform_end *end) {
    const pid_t process = fork();
    if (process == 0) {
        alarm(seconds);
        _exit(run(arg));
    }
    if (process < 0)
        return false;
    await(process, end);
    return true;
}
