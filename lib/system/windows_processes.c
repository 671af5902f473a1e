/* SPDX-License-Identifier: MIT */
#include "system/processes.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

#include "system/windows_words.h"

long system_process(void) { return (long)GetCurrentProcessId(); }

/* Windows has no fork. */
bool system_at_fork(void (*in_child)(void)) {
    (void)in_child;
    return true;
}

/* --- exit --- */

/* The library stays loaded: handlers, its threads and drivers' callbacks are in it. */
static void stay(void) {
    HMODULE unused;
    GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_PIN,
                       (const wchar_t *)(uintptr_t)&stay, &unused);
}

__attribute__((constructor)) static void stay_loaded(void) { stay(); }

static FARPROC function_of(const wchar_t *library, const char *name) {
    const HMODULE loaded = GetModuleHandleW(library);
    return loaded ? GetProcAddress(loaded, name) : NULL;
}

typedef void (*handler_fn)(void);

enum { MOST_HANDLERS = 16 }; /* the library has six */

static pthread_mutex_t handlers_lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static handler_fn handlers[MOST_HANDLERS];
static unsigned n_handlers;

static handler_fn take_newest(void) {
    pthread_mutex_lock(&handlers_lock);
    const handler_fn taken = n_handlers ? handlers[--n_handlers] : NULL;
    pthread_mutex_unlock(&handlers_lock);
    return taken;
}

static void call_handlers(void) {
    for (handler_fn handler; (handler = take_newest()) != NULL;)
        handler();
}

/* A library's own atexit runs its handlers when Windows unloads it, after all other threads were ended wherever they were.
 * Those of the C library's exit are the program's, and each C library has its own. */
static bool register_with_program(handler_fn handler) {
    typedef void *(*msvcrt_fn)(void *);
    typedef int (*ucrt_fn)(handler_fn);
    const FARPROC old = function_of(L"msvcrt.dll", "_onexit");
    const FARPROC universal = function_of(L"ucrtbase.dll", "_crt_atexit");
    msvcrt_fn in_old;
    ucrt_fn in_universal;
    void *address;
    bool registered = false;
    memcpy(&address, &handler, sizeof address);
    if (old) {
        memcpy(&in_old, &old, sizeof in_old);
        registered = in_old(address) != NULL;
    }
    if (universal) {
        memcpy(&in_universal, &universal, sizeof in_universal);
        registered |= !in_universal(handler);
    }
    return registered;
}

/* The C library holds a lock while its exit calls handlers, and takes it to register one. A thread that a handler waits for
 * must not need it, so that all handlers but the first go into the list alone. */
static bool register_once(void) {
    static _Atomic bool registered;
    if (atomic_exchange(&registered, true) || register_with_program(call_handlers))
        return true;
    atomic_store(&registered, false);
    return false;
}

bool system_at_exit(void (*handler)(void)) {
    if (!register_once())
        return false;
    pthread_mutex_lock(&handlers_lock);
    const bool fits = n_handlers < MOST_HANDLERS;
    if (fits)
        handlers[n_handlers++] = handler;
    pthread_mutex_unlock(&handlers_lock);
    return fits;
}

/* --- environment --- */

/* Values that were asked for, as UTF-8. They live as long as the process, as callers expect of getenv. */
struct variable {
    struct variable *next;
    char *name, *value;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static struct variable *variables;

/* Takes the value over. */
static const char *keep_variable(const char *name, char *value) {
    struct variable *at = variables;
    while (at && (strcmp(at->name, name) != 0 || strcmp(at->value, value) != 0))
        at = at->next;
    struct variable *made = at ? NULL : malloc(sizeof *made);
    if (!made) {
        free(value);
        return at ? at->value : NULL;
    }
    *made = (struct variable){variables, _strdup(name), value};
    if (!made->name) {
        free(made);
        free(value);
        return NULL;
    }
    variables = made;
    return value;
}

/* What the program has set by putenv is the C library's, and the system's too. */
const char *system_variable(const char *name) {
    wchar_t *wide = windows_wide(name), *value = NULL;
    const DWORD size = wide ? GetEnvironmentVariableW(wide, NULL, 0) : 0;
    const char *kept = NULL;
    if (size && (value = malloc(size * sizeof *value)) != NULL) {
        *value = L'\0';
        const DWORD length = GetEnvironmentVariableW(wide, value, size);
        char *narrow = length < size ? windows_narrow(value) : NULL;
        pthread_mutex_lock(&lock);
        kept = narrow ? keep_variable(name, narrow) : NULL;
        pthread_mutex_unlock(&lock);
    }
    free(value);
    free(wide);
    return kept;
}

void system_set_variable(const char *name, const char *value) {
    if (!system_variable(name))
        _putenv_s(name, value);
}

char **system_variables(void) { return _environ; }

/* --- the machine --- */

void system_describe_processor(void (*append)(void *arg, const char *line), void *arg) {
    static const char *const wanted[] = {"PROCESSOR_ARCHITECTURE", "PROCESSOR_IDENTIFIER"};
    char line[512];
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        const char *value = system_variable(wanted[i]);
        snprintf(line, sizeof line, "%s: %s\n", wanted[i], value ? value : "");
        append(arg, line);
    }
    for (DWORD feature = 0, n = 64; feature < n; feature++)
        append(arg, IsProcessorFeaturePresent(feature) ? "1" : "0");
    append(arg, "\n");
}

void system_error_words(int code, char *words, size_t size) {
    if (strerror_s(words, size, code))
        snprintf(words, size, "error %d", code);
}
