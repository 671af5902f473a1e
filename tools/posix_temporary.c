/* SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700 /* SIGXFSZ */
#include "temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What ends the process from outside is taken by a thread that waits for it; a driver that crashes, by a
 * handler. Handlers would not do for both: the driver's compiler puts its own in front of them, and those
 * give way to the default action while they run, so that a second Ctrl-C could come before the removal.
 * SIGPIPE is for the thread that wrote, where no other one can wait for it: a driver that tells something. */
static const int endings[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGALRM, SIGUSR1, SIGUSR2, SIGXCPU};
static const int crashes[] = {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGPIPE};
enum {
    N_ENDINGS = sizeof endings / sizeof endings[0],
    N_CRASHES = sizeof crashes / sizeof crashes[0]
};

/* Names stay allocated for the life of the process, and only `armed` says whether a file of the newest
 * name is there to be removed. */
struct name {
    struct name *older;
    char text[];
};
static struct name *newest;
static atomic_bool armed;
static bool guarded; /* the handlers and the waiter are there */

static bool has_default_action(int signal_number) {
    struct sigaction present;
    return sigaction(signal_number, NULL, &present) == 0 && present.sa_handler == SIG_DFL;
}

/* What the waiter takes. A signal that the parent chose to ignore (nohup) stays ignored, and a handler that
 * somebody installed (a sanitizer) stays in place. */
static sigset_t taken;

static void choose_endings(void) {
    sigemptyset(&taken);
    for (unsigned i = 0; i < N_ENDINGS; i++)
        if (has_default_action(endings[i]))
            sigaddset(&taken, endings[i]);
}

static void *await_ending(void *arg) {
    int signal_number;
    if (sigwait(&taken, &signal_number) != 0)
        return arg;
    if (armed)
        unlink(newest->text);
    signal(signal_number, SIG_DFL); /* the compiler's handler swallows some of them */
    pthread_sigmask(SIG_UNBLOCK, &taken, NULL);
    raise(signal_number);
    return arg;
}

static void remove_and_crash(int signal_number) {
    if (armed)
        unlink(newest->text);
    signal(signal_number, SIG_DFL);
    raise(signal_number); /* when this handler returns */
}

static void install_handlers(void) {
    struct sigaction action = {.sa_handler = remove_and_crash};
    sigemptyset(&action.sa_mask);
    for (unsigned i = 0; i < N_CRASHES; i++)
        if (has_default_action(crashes[i]))
            sigaction(crashes[i], &action, NULL);
    action.sa_handler = SIG_IGN; /* a file-size limit is then a failed write like any other */
    sigaction(SIGXFSZ, &action, NULL);
}

/* 0, or an error number. The handlers and the waiter of the first file serve those that come after it. */
static int guard(struct name *name) {
    pthread_t waiter;
    name->older = newest;
    newest = name;
    armed = true;
    if (guarded)
        return 0;
    install_handlers();
    const int code = pthread_create(&waiter, NULL, await_ending, NULL);
    if (code == 0)
        pthread_detach(waiter);
    guarded = code == 0;
    return code;
}

const char *temporary_folder(void) {
    const char *folder = getenv("TMPDIR");
    return folder && *folder ? folder : "/tmp";
}

/* The target's name with a suffix, and so much less of it that a folder takes the whole. Allocated, or NULL. */
static struct name *name_beside(const char *target) {
    static const char suffix[] = ".part-XXXXXX";
    const char *slash = strrchr(target, '/');
    const size_t folder = slash ? (size_t)(slash + 1 - target) : 0;
    size_t length = strlen(target);
    if (length - folder > NAME_MAX + 1 - sizeof suffix)
        length = folder + NAME_MAX + 1 - sizeof suffix;
    struct name *name = malloc(sizeof *name + length + sizeof suffix);
    if (name) {
        memcpy(name->text, target, length);
        memcpy(name->text + length, suffix, sizeof suffix);
    }
    return name;
}

/* The endings stay blocked, in the threads to come as well: all but the waiter leave them alone. */
const char *temporary_create(const char *target, int *fd) {
    sigset_t before;

    if (armed)
        return errno = EBUSY, NULL;
    struct name *name = name_beside(target);
    if (!name)
        return NULL;
    if (!guarded)
        choose_endings();
    pthread_sigmask(SIG_BLOCK, &taken, &before);
    *fd = mkstemp(name->text);
    int code = *fd < 0 ? errno : guard(name);
    if (code == 0) {
        fcntl(*fd, F_SETFD, FD_CLOEXEC);
        return newest->text;
    }
    if (*fd >= 0) {
        temporary_remove();
        close(*fd);
        *fd = -1;
    } else {
        free(name);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return errno = code, NULL;
}

int temporary_rename(const char *target) {
    if (rename(newest->text, target) != 0)
        return -1;
    armed = false;
    return 0;
}

void temporary_remove(void) {
    if (armed)
        unlink(newest->text);
    armed = false;
}
