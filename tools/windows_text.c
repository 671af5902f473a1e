/* SPDX-License-Identifier: MIT */
#include "windows_text.h"

#include <errno.h>
#include <stdlib.h>
#include <windows.h>

wchar_t *text_wide(const char *text) {
    const int length = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, NULL, 0);
    wchar_t *wide = length > 0 ? malloc((size_t)length * sizeof *wide) : NULL;
    errno = length > 0 ? ENOMEM : EILSEQ;
    if (wide)
        MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, wide, length);
    return wide;
}

char *text_narrow(const wchar_t *text) {
    const int length = WideCharToMultiByte(CP_UTF8, 0, text, -1, NULL, 0, NULL, NULL);
    char *narrow = length > 0 ? malloc((size_t)length) : NULL;
    errno = length > 0 ? ENOMEM : EILSEQ;
    if (narrow)
        WideCharToMultiByte(CP_UTF8, 0, text, -1, narrow, length, NULL, NULL);
    return narrow;
}

bool text_failed(void) {
    static const struct {
        DWORD error;
        int code;
    } rows[] = {{ERROR_FILE_NOT_FOUND, ENOENT},
                {ERROR_PATH_NOT_FOUND, ENOENT},
                {ERROR_INVALID_NAME, ENOENT},
                {ERROR_BAD_NETPATH, ENOENT},
                {ERROR_ACCESS_DENIED, EACCES},
                {ERROR_SHARING_VIOLATION, EACCES},
                {ERROR_LOCK_VIOLATION, EACCES},
                {ERROR_WRITE_PROTECT, EROFS},
                {ERROR_FILE_EXISTS, EEXIST},
                {ERROR_ALREADY_EXISTS, EEXIST},
                {ERROR_DIRECTORY, ENOTDIR},
                {ERROR_DISK_FULL, ENOSPC},
                {ERROR_HANDLE_DISK_FULL, ENOSPC},
                {ERROR_TOO_MANY_OPEN_FILES, EMFILE},
                {ERROR_FILENAME_EXCED_RANGE, ENAMETOOLONG},
                {ERROR_NOT_ENOUGH_MEMORY, ENOMEM},
                {ERROR_OUTOFMEMORY, ENOMEM},
                {ERROR_COMMITMENT_LIMIT, ENOMEM}};
    const DWORD error = GetLastError();
    int code = EIO;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].error == error)
            code = rows[i].code;
    errno = code;
    return false;
}
