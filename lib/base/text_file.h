/* SPDX-License-Identifier: MIT */
/* Reading a whole text file. */
#ifndef CLSTREAM_BASE_TEXT_FILE_H
#define CLSTREAM_BASE_TEXT_FILE_H

#include <clstream/status.h>

/* The file's bytes and a NUL; the caller frees it. CLS_ERROR_NOT_FOUND, CLS_ERROR_IO (also for a
 * folder), CLS_ERROR_OUT_OF_MEMORY. */
cls_status text_file_read(const char *path, char **out);

#endif
