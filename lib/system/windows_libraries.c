/* SPDX-License-Identifier: MIT */
#include "system/libraries.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

#include "system/windows_words.h"

const char *const library_opencl_names[] = {"OpenCL.dll", NULL};

/* From the system's own folder alone: a file of that name beside a program is not loaded. */
void *library_open(const char *name) {
    wchar_t *wide = windows_wide(name);
    const HMODULE library = wide ? LoadLibraryExW(wide, NULL, LOAD_LIBRARY_SEARCH_SYSTEM32) : NULL;
    free(wide);
    return library;
}

void *library_find(void *library, const char *function) {
    const HMODULE from = library ? library : GetModuleHandleW(L"OpenCL.dll");
    const FARPROC found = from ? GetProcAddress(from, function) : NULL;
    void *address;
    memcpy(&address, &found, sizeof address);
    return address;
}

char *library_of(const void *address) {
    wchar_t name[4096];
    HMODULE library;
    if (!GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS |
                                GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
                            address, &library) ||
        !GetModuleFileNameW(library, name, sizeof name / sizeof *name))
        return NULL;
    return windows_narrow(name);
}

int library_call_stack(void **frames, int most) {
    return CaptureStackBackTrace(0, (DWORD)most, frames, NULL);
}

char *library_place(void *frame) {
    enum { ROOM = 32 };
    HMODULE library;
    char *name = library_of(frame);
    const size_t length = name ? strlen(name) : 0;
    char *place = name ? realloc(name, length + ROOM) : NULL;
    if (!place || !GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS |
                                          GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
                                      frame, &library)) {
        free(place ? place : name);
        return NULL;
    }
    snprintf(place + length, ROOM, "(+0x%llx)",
             (unsigned long long)((uintptr_t)frame - (uintptr_t)library));
    return place;
}
