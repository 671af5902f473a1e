/* SPDX-License-Identifier: MIT */
/*
 * CLSTREAM_TRACE: profiles an unmodified program from its first command to its exit. The exit handler writes the file
 * after all streams have drained, while drivers still work; in a program that submitted nothing, at the end of exit.
 * A signal that ends the process writes it too, without what is pending. A child forked before the library's first use
 * is a process of its own, with its own file if the name has a "%p".
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/at_exit.h"
#include "base/error.h"
#include "base/setting.h"
#include "base/text.h"
#include "stream/observe.h"
#include "system/files.h"
#include "system/processes.h"
#include "system/signals.h"
#include "trace/environment.h"
#include "trace/export.h"
#include "trace/profiler.h"

const char observer_environment = 0;

static cls_profiler profiler;
static char *name_given; /* absolute; "%p" in it is expanded at the end */
static struct at_exit handler;
/* Held while the file is written: neither exit nor a signal ends the process before. */
static pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER;
static bool written;

static void complain(const char *what) { fprintf(stderr, "clstream: no trace: %s\n", what); }

/* Replaces "%p" in the file's own name by the process id. A folder's name keeps it: the folder exists. */
static char *expand(const char *name) {
    struct text text = {0};
    const char *mark = strstr(file_last_name(name), "%p");
    if (mark)
        text_printf(&text, "%.*s%ld%s", (int)(mark - name), name, system_process(), mark + 2);
    else
        text_printf(&text, "%s", name);
    if (!text.failed)
        return text.bytes;
    error_no_memory("for a file's name");
    return NULL;
}

static void write_profile(bool drivers) {
    cls_profile profile;
    char *path = expand(name_given);
    cls_status status =
        path ? profiler_snapshot(profiler, drivers, &profile) : CLS_ERROR_OUT_OF_MEMORY;
    if (!status) {
        status = cls_profile_export(profile, path, CLS_PROFILE_AUTO);
        cls_profile_destroy(profile);
    }
    if (status)
        complain(cls_last_error_detail());
    cls_profiler_destroy(profiler);
    free(path);
    free(name_given);
}

static void write_trace(bool drivers) {
    pthread_mutex_lock(&writing);
    if (!written)
        write_profile(drivers);
    written = true;
    pthread_mutex_unlock(&writing);
}

/* Not called in a child of a process that used the library: its streams are the parent's to drain. */
static void at_drain(void) { write_trace(true); }

static void at_end(void) {
    if (at_exit_is_due(&handler))
        write_trace(false);
}

/* Drivers are looked at under streams' locks, which a thread that has stopped may hold. */
static void at_signal(bool is_fault) { write_trace(!is_fault); }

static cls_status begin(const char *name, const char *folder) {
    struct text path = {0};
    size_t capacity = 0; /* the default */
    cls_status status = setting_number("CLSTREAM_TRACE_RECORDS", &capacity);
    if (status)
        return status;
    if (!export_knows(name))
        return error_set(CLS_ERROR_INVALID_VALUE,
                         "CLSTREAM_TRACE=%s does not end in .json or .html; " EXPORT_HINT, name);
    text_printf(&path, "%s%s", folder, name);
    if (path.failed)
        return error_no_memory("for a file's name");
    name_given = path.bytes;
    status = profiler_create(capacity, &profiler);
    if (status)
        return status;
    object_note_librarys(profiler);
    return cls_profiler_start(profiler);
}

__attribute__((constructor)) static void begin_trace(void) {
    const char *folder, *name = setting_path("CLSTREAM_TRACE", &folder);
    if (!name)
        return;
    if (begin(name, folder) || !at_exit_register(&handler, at_end))
        complain(cls_last_error_detail());
    else if (trace_at_drain(at_drain), !system_at_signal(at_signal))
        fprintf(stderr, "clstream: no trace if a signal ends the process: no thread\n");
}
