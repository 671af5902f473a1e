/* SPDX-License-Identifier: MIT */
/* The formats of functions that are called like printf, for the compiler's check of their arguments. */
#ifndef CLSTREAM_SYSTEM_FORMATS_H
#define CLSTREAM_SYSTEM_FORMATS_H

/* Of the C library that is linked: MinGW's own printf, not that of msvcrt.dll, whose %z and %ll differ. */
#ifdef _WIN32
#define SYSTEM_PRINTF gnu_printf
#else
#define SYSTEM_PRINTF printf
#endif

#endif
