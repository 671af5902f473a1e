/* SPDX-License-Identifier: MIT */
#include "platform.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <process.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

#include <shellapi.h> /* after windows.h */

#include "windows_text.h"

enum { SHARED = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, MOST_BYTES = 1 << 30 };

/* --- the process --- */

/* The C library has the arguments in the code page, which lacks letters. They live as long as the process. */
static void take_arguments(int *argc, char ***argv) {
    int count;
    wchar_t **wide = CommandLineToArgvW(GetCommandLineW(), &count);
    char **narrow = wide ? calloc((size_t)count + 1, sizeof *narrow) : NULL;
    bool whole = narrow != NULL;
    for (int i = 0; whole && i < count; i++)
        whole = (narrow[i] = text_narrow(wide[i])) != NULL;
    LocalFree(wide);
    if (!whole)
        return;
    *argc = count;
    *argv = narrow;
}

/* Lines that are drawn anew need the console's sequences. */
static void let_terminal_draw(int fd) {
    const HANDLE console = (HANDLE)_get_osfhandle(fd);
    DWORD mode;
    if (GetConsoleMode(console, &mode))
        SetConsoleMode(console, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
}

void platform_begin(int *argc, char ***argv) {
    for (int fd = 0; fd <= 2; fd++)
        _setmode(fd, _O_BINARY);
    let_terminal_draw(2);
    take_arguments(argc, argv);
}

unsigned platform_processors(void) {
    SYSTEM_INFO info;
    GetSystemInfo(&info);
    return info.dwNumberOfProcessors ? (unsigned)info.dwNumberOfProcessors : 1;
}

/* What GetVersionEx says is what the program's manifest asks for. */
static bool find_version(OSVERSIONINFOW *version) {
    typedef LONG(WINAPI * query_fn)(OSVERSIONINFOW *);
    const FARPROC found = GetProcAddress(GetModuleHandleW(L"ntdll.dll"), "RtlGetVersion");
    query_fn query;
    memcpy(&query, &found, sizeof query);
    return found && query(version) == 0;
}

bool platform_describe(char *text, size_t size) {
    SYSTEM_INFO info;
    OSVERSIONINFOW version = {.dwOSVersionInfoSize = sizeof version};
    GetSystemInfo(&info);
    if (!find_version(&version))
        return false;
    snprintf(text, size, "Windows %lu.%lu, build %lu, %s", version.dwMajorVersion,
             version.dwMinorVersion, version.dwBuildNumber,
             info.wProcessorArchitecture == PROCESSOR_ARCHITECTURE_AMD64   ? "x86_64"
             : info.wProcessorArchitecture == PROCESSOR_ARCHITECTURE_INTEL ? "x86"
                                                                           : "another processor");
    return true;
}

/* The C library takes any device for a terminal, also NUL. */
bool platform_is_terminal(int fd) {
    DWORD mode;
    return GetConsoleMode((HANDLE)_get_osfhandle(fd), &mode);
}

/* --- files --- */

static HANDLE open_handle(const char *path, DWORD rights, DWORD how, DWORD flags) {
    wchar_t *wide = text_wide(path);
    if (!wide)
        return INVALID_HANDLE_VALUE;
    const HANDLE file = CreateFileW(wide, rights, SHARED, NULL, how, flags, NULL);
    if (file == INVALID_HANDLE_VALUE)
        text_failed();
    free(wide);
    return file;
}

static int descriptor_of(HANDLE file, int flags) {
    if (file == INVALID_HANDLE_VALUE)
        return -1;
    const int fd = _open_osfhandle((intptr_t)file, flags | _O_BINARY | _O_NOINHERIT);
    if (fd < 0)
        CloseHandle(file);
    return fd;
}

/* What is no file of a disk is like no other one, and neither is an output that may be written only. */
static bool facts_of_handle(HANDLE file, struct platform_facts *facts) {
    BY_HANDLE_FILE_INFORMATION info;
    const DWORD type = GetFileType(file);
    if (type == FILE_TYPE_UNKNOWN)
        return errno = EBADF, false;
    *facts = (struct platform_facts){.kind = type == FILE_TYPE_DISK   ? PLATFORM_FILE
                                             : type == FILE_TYPE_CHAR ? PLATFORM_DEVICE
                                                                      : PLATFORM_PIPE,
                                     .number = (uintptr_t)file};
    if (type != FILE_TYPE_DISK || !GetFileInformationByHandle(file, &info))
        return true;
    *facts = (struct platform_facts){
        info.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY ? PLATFORM_FOLDER : PLATFORM_FILE,
        (uint64_t)info.nFileSizeHigh << 32 | info.nFileSizeLow, info.dwVolumeSerialNumber,
        (uint64_t)info.nFileIndexHigh << 32 | info.nFileIndexLow, 0};
    return true;
}

bool platform_facts_of(const char *path, struct platform_facts *facts) {
    const HANDLE file = open_handle(path, 0, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS);
    if (file == INVALID_HANDLE_VALUE)
        return false;
    const bool known = facts_of_handle(file, facts);
    CloseHandle(file);
    return known;
}

bool platform_facts_of_fd(int fd, struct platform_facts *facts) {
    return facts_of_handle((HANDLE)_get_osfhandle(fd), facts);
}

int platform_open(const char *path, bool writing) {
    return descriptor_of(
        open_handle(path, writing ? GENERIC_WRITE : GENERIC_READ, OPEN_EXISTING, 0),
        writing ? _O_WRONLY : _O_RDONLY);
}

/* The copy has the mode of the other. */
int platform_copy_fd(int fd) {
    HANDLE copy;
    const HANDLE process = GetCurrentProcess();
    if (!DuplicateHandle(process, (HANDLE)_get_osfhandle(fd), process, &copy, 0, FALSE,
                         DUPLICATE_SAME_ACCESS))
        return text_failed(), -1;
    return descriptor_of(copy, 0);
}

int platform_open_unnamed(const char *folder) {
    char name[4096];
    static unsigned made;
    if ((size_t)snprintf(name, sizeof name, "%s\\clstream-%lu-%u", folder, GetCurrentProcessId(),
                         made++) >= sizeof name)
        return errno = ENAMETOOLONG, -1;
    return descriptor_of(open_handle(name, GENERIC_READ | GENERIC_WRITE | DELETE, CREATE_NEW,
                                     FILE_ATTRIBUTE_TEMPORARY | FILE_FLAG_DELETE_ON_CLOSE),
                         _O_RDWR);
}

/* A pipe whose other end is closed has ended. */
static int64_t read_handle(int fd, void *to, size_t bytes, OVERLAPPED *place) {
    DWORD got = 0;
    if (ReadFile((HANDLE)_get_osfhandle(fd), to, bytes < MOST_BYTES ? (DWORD)bytes : MOST_BYTES,
                 &got, place))
        return got;
    const DWORD error = GetLastError();
    return error == ERROR_HANDLE_EOF || error == ERROR_BROKEN_PIPE ? 0 : (text_failed(), -1);
}

static int64_t write_handle(int fd, const void *from, size_t bytes, OVERLAPPED *place) {
    DWORD put = 0;
    if (WriteFile((HANDLE)_get_osfhandle(fd), from, bytes < MOST_BYTES ? (DWORD)bytes : MOST_BYTES,
                  &put, place))
        return put;
    return text_failed(), -1;
}

static OVERLAPPED place_at(uint64_t at) {
    return (OVERLAPPED){.Offset = (DWORD)at, .OffsetHigh = (DWORD)(at >> 32)};
}

int64_t platform_read(int fd, void *to, size_t bytes) { return read_handle(fd, to, bytes, NULL); }

int64_t platform_write(int fd, const void *from, size_t bytes) {
    return write_handle(fd, from, bytes, NULL);
}

int64_t platform_read_at(int fd, void *to, size_t bytes, uint64_t at) {
    OVERLAPPED place = place_at(at);
    return read_handle(fd, to, bytes, &place);
}

int64_t platform_write_at(int fd, const void *from, size_t bytes, uint64_t at) {
    OVERLAPPED place = place_at(at);
    return write_handle(fd, from, bytes, &place);
}

int64_t platform_position(int fd) { return _lseeki64(fd, 0, SEEK_CUR); }

void platform_expect_reading(int fd) { (void)fd; }

/* A link stays one where what it leads to is replaced. */
char *platform_target(const char *path, bool exists) {
    enum { MOST_PATH = 32768 };
    if (!exists)
        return _strdup(path);
    const HANDLE file = open_handle(path, 0, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS);
    wchar_t *wide = file != INVALID_HANDLE_VALUE ? malloc(MOST_PATH * sizeof *wide) : NULL;
    char *narrow = NULL;
    if (wide && GetFinalPathNameByHandleW(file, wide, MOST_PATH, FILE_NAME_NORMALIZED))
        narrow = text_narrow(wide);
    else if (wide)
        text_failed();
    free(wide);
    if (file != INVALID_HANDLE_VALUE)
        CloseHandle(file);
    return narrow;
}

/* A new file has what its folder gives it. */
bool platform_set_mode(int fd, const struct platform_facts *replaced) {
    (void)fd;
    (void)replaced;
    return true;
}

/* --- children --- */

/* An argument as the C library takes it apart: in quotes, with a backslash before quotes and before backslashes there. */
static wchar_t *quote(const char *argument) {
    char *text = malloc(2 * strlen(argument) + 3), *to = text;
    if (!text)
        return NULL;
    *to++ = '"';
    for (const char *at = argument; *at; *to++ = *at++) {
        const size_t slashes = strspn(at, "\\");
        if (at[slashes] == '"' || !at[slashes])
            for (size_t i = 0; i < slashes; i++)
                *to++ = '\\';
        for (size_t i = 0; i < slashes; i++)
            *to++ = *at++;
        if (!*at)
            break;
        if (*at == '"')
            *to++ = '\\';
    }
    memcpy(to, "\"", 2);
    wchar_t *wide = text_wide(text);
    free(text);
    return wide;
}

/* A descriptor that is inherited has its number in the child too. */
static intptr_t spawn(const char *const *arguments) {
    enum { MOST = 31 };
    wchar_t program[4096], *wide[MOST + 1] = {NULL};
    const DWORD length = GetModuleFileNameW(NULL, program, sizeof program / sizeof *program);
    bool whole = length && length < sizeof program / sizeof *program;
    unsigned n = 0;
    for (; whole && arguments[n] && n < MOST; n++)
        whole = (wide[n] = quote(arguments[n])) != NULL;
    const intptr_t process =
        whole ? _wspawnv(_P_NOWAIT, program, (const wchar_t *const *)wide) : -1;
    while (n > 0)
        free(wide[--n]);
    return process;
}

bool platform_start(struct platform_child *child, const char *const *arguments,
                    char line[PLATFORM_NUMBER]) {
    int ends[2];
    if (_pipe(ends, 1 << 16, _O_BINARY | _O_NOINHERIT))
        return false;
    const int inherited = _dup(ends[1]);
    _close(ends[1]);
    snprintf(line, PLATFORM_NUMBER, "%d", inherited);
    *child = (struct platform_child){inherited < 0 ? -1 : spawn(arguments), ends[0]};
    const int code = errno;
    if (inherited >= 0)
        _close(inherited);
    if (child->process == -1)
        _close(child->line);
    return errno = code, child->process != -1;
}

/* Windows cannot wait for a pipe with a limit. */
int64_t platform_receive(const struct platform_child *child, void *to, size_t bytes,
                         unsigned seconds) {
    const HANDLE line = (HANDLE)_get_osfhandle(child->line);
    const ULONGLONG until = GetTickCount64() + 1000ull * seconds;
    DWORD there = 0;
    while (PeekNamedPipe(line, NULL, 0, NULL, &there, NULL) && !there) {
        if (GetTickCount64() > until)
            return -1;
        Sleep(10);
    }
    return there ? platform_read(child->line, to, bytes) : 0;
}

void platform_end(struct platform_child *child, bool kills, struct platform_end *end) {
    const HANDLE process = (HANDLE)child->process;
    DWORD status = 0;
    _close(child->line);
    if (kills)
        TerminateProcess(process, 1);
    WaitForSingleObject(process, INFINITE);
    GetExitCodeProcess(process, &status);
    CloseHandle(process);
    *end = (struct platform_end){.status = status < 0x80000000 ? (int)status : -1};
    if (end->status < 0)
        snprintf(end->crashed, sizeof end->crashed, "exception %#lx", status);
}

bool platform_forks(void) { return false; }

bool platform_fork(int (*run)(void *arg), void *arg, unsigned seconds, struct platform_end *end) {
    (void)run;
    (void)arg;
    (void)seconds;
    (void)end;
    return errno = ENOSYS, false;
}
