/* SPDX-License-Identifier: MIT */
/* Text of Windows: UTF-16 there, UTF-8 in the library. */
#ifndef CLSTREAM_SYSTEM_WINDOWS_WORDS_H
#define CLSTREAM_SYSTEM_WINDOWS_WORDS_H

#include <stdbool.h>
#include <wchar.h>

/* The caller frees them. NULL without memory, or for what is no text. */
wchar_t *windows_wide(const char *text);
char *windows_narrow(const wchar_t *text);

/* Sets errno to what GetLastError says; returns false. */
bool windows_failed(void);

#endif
