/* SPDX-License-Identifier: MIT */
/*
 * Files are opened so that others may rename and remove them meanwhile, as elsewhere. A lock is a file that is open for
 * nobody else: the system closes it when its process ends.
 */
#include "system/files.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

#include "system/windows_words.h"

enum { SHARED = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE };

static HANDLE open_handle(const char *path, DWORD rights, DWORD sharing, DWORD how, DWORD flags) {
    wchar_t *wide = windows_wide(path);
    HANDLE file = INVALID_HANDLE_VALUE;
    if (!wide)
        return file;
    file = CreateFileW(wide, rights, sharing, NULL, how, flags, NULL);
    if (file == INVALID_HANDLE_VALUE)
        windows_failed();
    free(wide);
    return file;
}

/* --- names --- */

static bool is_separator(char c) { return c == '/' || c == '\\'; }

bool file_working_folder(char *folder, size_t size) {
    wchar_t wide[4096];
    const DWORD length = GetCurrentDirectoryW(sizeof wide / sizeof *wide, wide);
    char *narrow = length && length < sizeof wide / sizeof *wide ? windows_narrow(wide) : NULL;
    const size_t bytes = narrow ? strlen(narrow) : 0;
    const bool fits = narrow && bytes + 2 <= size;
    if (fits) {
        memcpy(folder, narrow, bytes + 1);
        if (!bytes || !is_separator(folder[bytes - 1]))
            strcat(folder, "\\");
    }
    free(narrow);
    return fits;
}

/* "\NAME" is on the drive that the process works on. */
bool file_is_absolute(const char *path) { return is_separator(*path) || (*path && path[1] == ':'); }

const char *file_last_name(const char *path) {
    const char *last = path;
    for (const char *at = path; *at; at++)
        if (is_separator(*at) || (at == path + 1 && *at == ':'))
            last = at + 1;
    return last;
}

size_t file_most_name(void) { return 255; }

/* The longest name that Windows has. */
enum { MOST_PATH = 32768 };

char *file_resolve(const char *path) {
    const HANDLE file = open_handle(path, 0, SHARED, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS);
    if (file == INVALID_HANDLE_VALUE)
        return NULL;
    wchar_t *wide = malloc(MOST_PATH * sizeof *wide);
    char *narrow = NULL;
    errno = ENOMEM;
    if (wide && GetFinalPathNameByHandleW(file, wide, MOST_PATH, FILE_NAME_NORMALIZED))
        narrow = windows_narrow(wide);
    else if (wide)
        windows_failed();
    free(wide);
    CloseHandle(file);
    return narrow;
}

static bool identify(const char *path, BY_HANDLE_FILE_INFORMATION *info) {
    const HANDLE file = open_handle(path, 0, SHARED, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS);
    const bool known = file != INVALID_HANDLE_VALUE && GetFileInformationByHandle(file, info);
    if (file != INVALID_HANDLE_VALUE)
        CloseHandle(file);
    return known;
}

bool file_is_same(const char *path, const char *other) {
    BY_HANDLE_FILE_INFORMATION a, b;
    return identify(path, &a) && identify(other, &b) &&
           a.dwVolumeSerialNumber == b.dwVolumeSerialNumber &&
           a.nFileIndexHigh == b.nFileIndexHigh && a.nFileIndexLow == b.nFileIndexLow;
}

/* --- any file --- */

FILE *file_open(const char *path, const char *mode) {
    static const struct {
        char mode;
        DWORD rights, how;
        int flags;
        const char *stream;
    } rows[] = {{'r', GENERIC_READ, OPEN_EXISTING, _O_RDONLY, "rb"},
                {'w', GENERIC_WRITE, CREATE_ALWAYS, _O_WRONLY, "wb"},
                {'a', FILE_APPEND_DATA | SYNCHRONIZE, OPEN_ALWAYS, _O_WRONLY | _O_APPEND, "ab"}};
    size_t row = 0;
    while (rows[row].mode != *mode)
        row++;
    const HANDLE file =
        open_handle(path, rows[row].rights, SHARED, rows[row].how, FILE_ATTRIBUTE_NORMAL);
    if (file == INVALID_HANDLE_VALUE)
        return NULL;
    const int descriptor =
        _open_osfhandle((intptr_t)file, rows[row].flags | _O_BINARY | _O_NOINHERIT);
    FILE *stream = descriptor >= 0 ? _fdopen(descriptor, rows[row].stream) : NULL;
    if (!stream && descriptor >= 0)
        _close(descriptor);
    else if (!stream)
        CloseHandle(file);
    return stream;
}

static DWORD attributes_of(const char *path) {
    wchar_t *wide = windows_wide(path);
    const DWORD attributes = wide ? GetFileAttributesW(wide) : INVALID_FILE_ATTRIBUTES;
    free(wide);
    return attributes;
}

bool file_is_there(const char *path) { return attributes_of(path) != INVALID_FILE_ATTRIBUTES; }

bool file_remove(const char *path) {
    wchar_t *wide = windows_wide(path);
    const bool removed = wide && (DeleteFileW(wide) || windows_failed());
    free(wide);
    return removed;
}

bool file_replace(const char *from, const char *path) {
    wchar_t *source = windows_wide(from), *target = source ? windows_wide(path) : NULL;
    const bool moved =
        target && (MoveFileExW(source, target, MOVEFILE_REPLACE_EXISTING) || windows_failed());
    free(source);
    free(target);
    return moved;
}

/* "NUL", "CON" and pipes ("\\.\pipe\NAME") are no files of a disk. */
bool file_is_written_in_place(const char *path) {
    const HANDLE file = open_handle(path, 0, SHARED, OPEN_EXISTING, 0);
    const bool is_special = file != INVALID_HANDLE_VALUE && GetFileType(file) != FILE_TYPE_DISK;
    if (file != INVALID_HANDLE_VALUE)
        CloseHandle(file);
    return is_special;
}

/* --- files that are the user's own --- */

const struct file_cache_place file_cache_places[] = {{"LOCALAPPDATA", "/clstream"}, {NULL, NULL}};

static bool make_folder(const char *path) {
    wchar_t *wide = windows_wide(path);
    const bool there = wide && (CreateDirectoryW(wide, NULL) ||
                                GetLastError() == ERROR_ALREADY_EXISTS || windows_failed());
    free(wide);
    return there;
}

/* The folders above may be ones that the user cannot list, as that of all users. */
bool file_make_folders(char *path) {
    for (char *at = path + 1; *at; at++) {
        if (!is_separator(*at))
            continue;
        const char separator = *at;
        *at = '\0';
        make_folder(path);
        *at = separator;
    }
    return make_folder(path);
}

/* Of files below %LOCALAPPDATA% the system itself keeps others out. */
void *file_read_own(const char *path, size_t most, size_t *size) {
    const HANDLE file = open_handle(path, GENERIC_READ, SHARED, OPEN_EXISTING, 0);
    LARGE_INTEGER length = {.QuadPart = 0};
    char *bytes = NULL;
    DWORD got = 0;
    if (file == INVALID_HANDLE_VALUE)
        return NULL;
    if (GetFileType(file) == FILE_TYPE_DISK && GetFileSizeEx(file, &length) &&
        length.QuadPart > 0 && (uint64_t)length.QuadPart <= most)
        bytes = malloc((size_t)length.QuadPart);
    if (bytes && (!ReadFile(file, bytes, (DWORD)length.QuadPart, &got, NULL) ||
                  got != (DWORD)length.QuadPart)) {
        free(bytes);
        bytes = NULL;
    }
    CloseHandle(file);
    *size = bytes ? got : 0;
    return bytes;
}

void file_touch(const char *path) {
    const HANDLE file = open_handle(path, FILE_WRITE_ATTRIBUTES, SHARED, OPEN_EXISTING, 0);
    FILETIME now;
    if (file == INVALID_HANDLE_VALUE)
        return;
    GetSystemTimeAsFileTime(&now);
    SetFileTime(file, NULL, NULL, &now);
    CloseHandle(file);
}

int file_write_own(const char *aside, const char *path, const void *bytes, size_t size) {
    const HANDLE file = open_handle(aside, GENERIC_WRITE, SHARED, CREATE_NEW, 0);
    DWORD put;
    if (file == INVALID_HANDLE_VALUE)
        return errno;
    const bool whole =
        size <= MAXDWORD && WriteFile(file, bytes, (DWORD)size, &put, NULL) && put == (DWORD)size;
    CloseHandle(file);
    if (!whole || !file_replace(aside, path))
        file_remove(aside);
    return 0;
}

/* Windows counts units of 100 ns since 1601. */
static struct file_facts facts_of(const WIN32_FIND_DATAW *found) {
    const uint64_t ticks = (uint64_t)found->ftLastWriteTime.dwHighDateTime << 32 |
                           found->ftLastWriteTime.dwLowDateTime;
    return (struct file_facts){(uint64_t)found->nFileSizeHigh << 32 | found->nFileSizeLow,
                               (int64_t)(ticks / 10000000) - INT64_C(11644473600),
                               (int32_t)(ticks % 10000000 * 100)};
}

void file_list(const char *folder,
               bool (*visit)(void *arg, const char *name, const struct file_facts *facts),
               void *arg) {
    enum { NO_FILE = FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_REPARSE_POINT };
    const size_t length = strlen(folder);
    char *pattern = malloc(length + 3);
    wchar_t *wide;
    WIN32_FIND_DATAW found;
    if (!pattern)
        return;
    memcpy(pattern, folder, length);
    memcpy(pattern + length, "/*", 3);
    wide = windows_wide(pattern);
    free(pattern);
    const HANDLE list = wide ? FindFirstFileW(wide, &found) : INVALID_HANDLE_VALUE;
    free(wide);
    bool go_on = list != INVALID_HANDLE_VALUE;
    while (go_on) {
        const struct file_facts facts = facts_of(&found);
        char *name = found.dwFileAttributes & NO_FILE ? NULL : windows_narrow(found.cFileName);
        go_on = !name || visit(arg, name, &facts);
        free(name);
        go_on = go_on && FindNextFileW(list, &found);
    }
    if (list != INVALID_HANDLE_VALUE)
        FindClose(list);
}

/* --- locked files --- */

/* A file that its owner has removed cannot be opened until it is gone: that is refused as access. */
enum file_lock_result file_lock_try(const char *path, enum file_lock_how how, file_lock *lock) {
    static const DWORD hows[] = {[FILE_LOCK_ANY] = OPEN_ALWAYS,
                                 [FILE_LOCK_NEW] = CREATE_NEW,
                                 [FILE_LOCK_LEFT] = OPEN_EXISTING};
    const HANDLE file = open_handle(path, GENERIC_READ | GENERIC_WRITE, 0, hows[how], 0);
    *lock = (file_lock)file;
    if (file != INVALID_HANDLE_VALUE)
        return FILE_LOCK_MINE;
    *lock = FILE_UNLOCKED;
    if (how == FILE_LOCK_NEW && errno == EEXIST)
        return FILE_LOCK_THERE;
    return errno == EACCES && file_is_there(path) ? FILE_LOCK_OTHERS : FILE_LOCK_NONE;
}

void file_lock_remove(const char *path, file_lock *lock) {
    file_lock_leave(lock);
    file_remove(path);
}

void file_lock_leave(file_lock *lock) {
    CloseHandle((HANDLE)*lock);
    *lock = FILE_UNLOCKED;
}
