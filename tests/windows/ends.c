/* SPDX-License-Identifier: MIT */
/*
 * What is particular to Windows, one case a process: ends exit | late | unload | thread | names | ctrl-c. It loads the
 * library as a plugin's host does. Exit status 0: it was as it should be.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

#include <clstream.h>

#define CHECK(condition)                                            \
    do {                                                            \
        if (!(condition)) {                                         \
            fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
            _Exit(1);                                               \
        }                                                           \
    } while (0)

#define CALL(name) (*(__typeof__(&name))find(#name))

static const char file_name[] = "libclstream-0.dll";

static void *find(const char *name) {
    const FARPROC found = GetProcAddress(GetModuleHandleA(file_name), name);
    void *address;
    memcpy(&address, &found, sizeof address);
    CHECK(address);
    return address;
}

static volatile LONG ran;

static void count(void *arg) {
    (void)arg;
    Sleep(20);
    InterlockedIncrement(&ran);
}

static cls_stream submit(void) {
    cls_stream stream;
    CHECK(!CALL(cls_stream_create)(NULL, NULL, &stream));
    for (int i = 0; i < 3; i++)
        CHECK(!CALL(cls_stream_launch_host_async)(stream, count, NULL));
    return stream;
}

/* Work is pending as main returns: the library ends it before Windows ends its threads. */
static void end_by_exit(void) { submit(); }

static DWORD WINAPI use_kernel(void *arg) {
    static const char source[] = "kernel void nothing(void) {}";
    const cls_launch one = cls_launch_1d(1);
    cls_program program;
    cls_kernel kernel;
    CHECK(!CALL(cls_program_from_source)(NULL, source, "nothing.cl", NULL, &program));
    CHECK(!CALL(cls_kernel_create)(program, "nothing", &kernel));
    CHECK(!CALL(cls_kernel_launch_async)(kernel, &one, NULL, 0, arg));
    CHECK(!CALL(cls_stream_synchronize)(arg));
    return 0;
}

static HANDLE kernel_thread;

static void wait_at_exit(void) {
    ResumeThread(kernel_thread);
    CHECK(WaitForSingleObject(kernel_thread, 30000) == WAIT_OBJECT_0);
}

/* The C library holds a lock of its own while exit's handlers run: the first kernel of the process ends meanwhile. */
static void end_by_late_kernel(void) {
    kernel_thread = CreateThread(NULL, 0, use_kernel, submit(), CREATE_SUSPENDED, NULL);
    CHECK(kernel_thread && !atexit(wait_at_exit));
}

/* A host that lets its plugin go: the library stays, with its threads. */
static void end_by_unload(void) {
    cls_stream stream = submit();
    const HMODULE library = GetModuleHandleA(file_name);
    for (int i = 0; i < 3; i++)
        FreeLibrary(library);
    CHECK(GetModuleHandleA(file_name) == library);
    CHECK(!CALL(cls_stream_synchronize)(stream) && ran == 3);
}

static DWORD WINAPI use(void *arg) {
    (void)arg;
    CHECK(!CALL(cls_stream_synchronize)(submit()));
    CHECK(CALL(cls_stream_synchronize)(NULL) == 0 || *CALL(cls_last_error_detail)());
    return 0;
}

/* Threads of the program that used the library end, one after the other. */
static void end_of_threads(void) {
    for (int i = 0; i < 20; i++) {
        const HANDLE thread = CreateThread(NULL, 0, use, NULL, 0, NULL);
        CHECK(thread && WaitForSingleObject(thread, 60000) == WAIT_OBJECT_0);
        CloseHandle(thread);
    }
    CHECK(ran == 60);
}

/* A kernel's file with lines of Windows, whose name and that of what it includes no code page has. */
static void names(void) {
    static const wchar_t *const files[] = {L"\x0436\x4e16.cl", L"\x03b1.h"};
    static const char *const texts[] = {
        "#include \"\xce\xb1.h\"\r\nkernel void set(global int *x) {\r\n    *x = \\\r\n        VALUE;\r\n}\r\n",
        "#pragma once\r\n#define VALUE 42\r\n"};
    cls_program program;
    for (int i = 0; i < 2; i++) {
        FILE *file = _wfopen(files[i], L"wb");
        CHECK(file && fputs(texts[i], file) >= 0 && !fclose(file));
    }
    const cls_status status =
        CALL(cls_program_load)(NULL, "\xd0\xb6\xe4\xb8\x96.cl", NULL, &program);
    if (status)
        fprintf(stderr, "%s\n", CALL(cls_last_error_detail)());
    CHECK(!status && !CALL(cls_program_destroy)(program));
    CHECK(CALL(cls_program_load)(NULL, "none.cl", NULL, &program) == CLS_ERROR_NOT_FOUND);
}

/* CLSTREAM_TRACE is set, and there is a console: the file is written before the process ends by this. */
static void end_by_console(void) {
    CALL(cls_stream_synchronize)(submit());
    CHECK(GenerateConsoleCtrlEvent(CTRL_C_EVENT, 0));
    Sleep(20000);
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"exit", end_by_exit},     {"late", end_by_late_kernel},
                 {"unload", end_by_unload}, {"thread", end_of_threads},
                 {"names", names},          {"ctrl-c", end_by_console}};
    CHECK(argc == 2 && LoadLibraryA(file_name));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (!strcmp(argv[1], cases[i].name)) {
            cases[i].run();
            return 0;
        }
    return 2;
}
