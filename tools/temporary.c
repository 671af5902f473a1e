/* SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700 /* SIGXFSZ */
#include "temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The last three: a driver may crash. */
static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGABRT, SIGSEGV, SIGBUS};
enum { N_SIGNALS = sizeof signals / sizeof signals[0] };

/* Read by the handler, which may run on any thread: the name stays allocated for the life of the
 * process, and only `armed` says whether a file of that name is there to be removed. */
static char *name_copy;
static volatile sig_atomic_t armed;

static void remove_and_end(int signal_number) {
    if (armed)
        unlink(name_copy);
    /* SA_RESETHAND has put the default action back; it takes effect when this handler returns. */
    raise(signal_number);
}

static void block(sigset_t *before) {
    sigset_t set;
    sigemptyset(&set);
    for (unsigned i = 0; i < N_SIGNALS; i++)
        sigaddset(&set, signals[i]);
    pthread_sigmask(SIG_BLOCK, &set, before);
}

static void restore(const sigset_t *before) {
    const int code = errno;
    pthread_sigmask(SIG_SETMASK, before, NULL);
    errno = code;
}

/* A signal that the parent chose to ignore (nohup) stays ignored, and a handler that somebody
 * installed (a sanitizer) stays in place. */
static void install_handlers(void) {
    struct sigaction action = {.sa_handler = remove_and_end, .sa_flags = (int)SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    for (unsigned i = 0; i < N_SIGNALS; i++) {
        struct sigaction present;
        if (sigaction(signals[i], NULL, &present) == 0 && present.sa_handler == SIG_DFL)
            sigaction(signals[i], &action, NULL);
    }
    action.sa_handler = SIG_IGN; /* a file-size limit is then a failed write like any other */
    sigaction(SIGXFSZ, &action, NULL);
}

const char *temporary_create(const char *target, int *fd) {
    static const char suffix[] = ".part-XXXXXX";
    const size_t length = strlen(target);
    sigset_t before;

    if (name_copy)
        return errno = EBUSY, NULL;
    char *name = malloc(length + sizeof suffix);
    if (!name)
        return NULL;
    memcpy(name, target, length);
    memcpy(name + length, suffix, sizeof suffix);
    block(&before);
    *fd = mkstemp(name);
    if (*fd >= 0) {
        name_copy = name;
        armed = 1;
        install_handlers();
        fcntl(*fd, F_SETFD, FD_CLOEXEC);
    }
    restore(&before);
    if (*fd < 0)
        free(name);
    return name_copy;
}

int temporary_rename(const char *target) {
    if (rename(name_copy, target) != 0)
        return -1;
    armed = 0;
    return 0;
}

void temporary_remove(void) {
    if (armed)
        unlink(name_copy);
    armed = 0;
}
