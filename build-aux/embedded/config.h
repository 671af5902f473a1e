/* SPDX-License-Identifier: MIT */
/*
 * What configure finds out, for builds without it (doc/embedding.md). Such a build defines HAVE_CLBLAST, HAVE_VKFFT and
 * HAVE_JANSSON by itself, for what it links, and takes the rest from here.
 */
#ifndef CLSTREAM_EMBEDDED_CONFIG_H
#define CLSTREAM_EMBEDDED_CONFIG_H

#include <limits.h> /* names the C library */

#include <clstream/version.h>

#define CLS_CONFIG_TEXT_OF(number) #number
#define CLS_CONFIG_VERSION(major, minor, patch) \
    CLS_CONFIG_TEXT_OF(major) "." CLS_CONFIG_TEXT_OF(minor) "." CLS_CONFIG_TEXT_OF(patch)
#define PACKAGE_VERSION CLS_CONFIG_VERSION(CLS_VERSION_MAJOR, CLS_VERSION_MINOR, CLS_VERSION_PATCH)
#define PACKAGE_STRING "clstream " PACKAGE_VERSION

#if defined(__GLIBC__)
#define HAVE_BACKTRACE 1
#if __GLIBC__ > 2 || __GLIBC_MINOR__ >= 30
#define HAVE_SEM_CLOCKWAIT 1
#endif
#elif defined(__APPLE__)
#define HAVE_BACKTRACE 1
#endif

#endif
