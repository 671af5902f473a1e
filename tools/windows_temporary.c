/* SPDX-License-Identifier: MIT */
/* Windows removes an open file when it is closed, and closes files of a process that has ended. */
#include "temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

#include "windows_text.h"

/* Names stay allocated for the life of the process, and only `armed` says whether a file of that name is there to be
 * removed. */
static char *name_copy;
static wchar_t *wide_copy;
static atomic_bool armed;
static bool guarded; /* the handlers are there */
static LPTOP_LEVEL_EXCEPTION_FILTER before;

static void remove_now(void) {
    if (atomic_exchange(&armed, false))
        DeleteFileW(wide_copy);
}

/* Ctrl-C, Ctrl-Break, or the end of the console or the session; the process is ended by the handler before this one. */
static BOOL WINAPI take_ending(DWORD why) {
    (void)why;
    remove_now();
    return FALSE;
}

static LONG WINAPI take_crash(EXCEPTION_POINTERS *what) {
    remove_now();
    return before ? before(what) : EXCEPTION_CONTINUE_SEARCH;
}

static void guard(void) {
    if (guarded)
        return;
    SetConsoleCtrlHandler(take_ending, TRUE);
    before = SetUnhandledExceptionFilter(take_crash);
    guarded = true;
}

const char *temporary_folder(void) {
    static char *folder;
    wchar_t wide[MAX_PATH + 2];
    if (!folder && GetTempPathW(sizeof wide / sizeof *wide, wide))
        folder = text_narrow(wide);
    return folder ? folder : ".";
}

/* The target's name with a suffix, and so much less of it that a folder takes the whole. Allocated, or NULL. */
static char *name_beside(const char *target, unsigned number) {
    enum { MOST_NAME = 255 };
    char suffix[40];
    const size_t added =
        (size_t)snprintf(suffix, sizeof suffix, ".part-%lu-%u", GetCurrentProcessId(), number);
    size_t length = strlen(target), folder = length;
    while (folder > 0 && !strchr("/\\:", target[folder - 1]))
        folder--;
    if (length - folder > MOST_NAME - added)
        length = folder + MOST_NAME - added;
    char *name = malloc(length + added + 1);
    if (name) {
        memcpy(name, target, length);
        memcpy(name + length, suffix, added + 1);
    }
    return name;
}

static int create(const wchar_t *name) {
    const HANDLE file = CreateFileW(name, GENERIC_READ | GENERIC_WRITE,
                                    FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
                                    CREATE_NEW, FILE_ATTRIBUTE_NORMAL, NULL);
    if (file == INVALID_HANDLE_VALUE)
        return text_failed(), -1;
    const int fd = _open_osfhandle((intptr_t)file, _O_RDWR | _O_BINARY | _O_NOINHERIT);
    if (fd < 0)
        CloseHandle(file);
    return fd;
}

const char *temporary_create(const char *target, int *fd) {
    static unsigned number;
    if (armed)
        return errno = EBUSY, NULL;
    char *name = name_beside(target, number++);
    wchar_t *wide = name ? text_wide(name) : NULL;
    *fd = wide ? create(wide) : -1;
    if (*fd < 0) {
        const int code = errno;
        free(wide);
        free(name);
        return errno = code, NULL;
    }
    name_copy = name;
    wide_copy = wide;
    armed = true;
    guard();
    return name_copy;
}

int temporary_rename(const char *target) {
    wchar_t *wide = text_wide(target);
    const bool moved =
        wide && (MoveFileExW(wide_copy, wide, MOVEFILE_REPLACE_EXISTING) || text_failed());
    free(wide);
    if (moved)
        armed = false;
    return moved ? 0 : -1;
}

void temporary_remove(void) { remove_now(); }
