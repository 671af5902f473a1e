/* SPDX-License-Identifier: MIT */
/* Text of Windows: UTF-16 there, UTF-8 in the command. */
#ifndef CLSTREAM_TOOLS_WINDOWS_TEXT_H
#define CLSTREAM_TOOLS_WINDOWS_TEXT_H

#include <stdbool.h>
#include <wchar.h>

/* The caller frees them. NULL without memory, or for what is no text. */
wchar_t *text_wide(const char *text);
char *text_narrow(const wchar_t *text);

/* Sets errno to what GetLastError says; returns false. */
bool text_failed(void);

#endif
