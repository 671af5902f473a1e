/* SPDX-License-Identifier: MIT */
/**
 * @file version.h
 * Versions of the headers that a program was built with, and of the library that it runs with.
 */
#ifndef CLSTREAM_VERSION_H
#define CLSTREAM_VERSION_H

#include <clstream/status.h>

CLS_BEGIN_DECLS

#define CLS_VERSION_MAJOR 0 /**< major version of these headers */
#define CLS_VERSION_MINOR 9 /**< minor version of these headers */
#define CLS_VERSION_PATCH 0 /**< patch version of these headers */

/** A version as one number, also for preprocessor comparisons: 1.2.3 is 10203. */
#define CLS_VERSION_NUMBER(major, minor, patch) ((major)*10000 + (minor)*100 + (patch))

/** The version of these headers: `#if CLS_VERSION >= CLS_VERSION_NUMBER(0, 2, 0)`. */
#define CLS_VERSION CLS_VERSION_NUMBER(CLS_VERSION_MAJOR, CLS_VERSION_MINOR, CLS_VERSION_PATCH)

/**
 * Returns the version of the library, in the form of CLS_VERSION. A library runs programs that were
 * built with older headers of the same soname.
 */
CLS_API int cls_version(void);

/** Returns the version of the library as text: "0.9.0". */
CLS_API const char *cls_version_string(void);

CLS_END_DECLS

#endif
