/* SPDX-License-Identifier: MIT */
#include "base/sized.h"

#include <string.h>

#include <clstream/version.h>

#include "base/error.h"

static size_t size_of(const void *given) {
    size_t size;
    memcpy(&size, given, sizeof size);
    return size;
}

static void copy_behind_size(void *to, const void *from, size_t size) {
    memcpy((char *)to + sizeof size, (const char *)from + sizeof size, size - sizeof size);
}

cls_status sized_check(const char *type, size_t own_size, const void *given) {
    if (!given)
        return error_set(CLS_ERROR_INVALID_VALUE, "a null %s", type);
    const size_t size = size_of(given);
    if (size < sizeof size || size % sizeof size)
        return error_set(CLS_ERROR_INVALID_VALUE, "%s.size is %zu, not sizeof(%s)", type, size,
                         type);
    if (size > own_size)
        return error_set(CLS_ERROR_INVALID_VALUE,
                         "%s.size is %zu, above the %zu of clStream %s: not its sizeof, or that of "
                         "a newer header",
                         type, size, own_size, cls_version_string());
    return CLS_SUCCESS;
}

cls_status sized_in(const char *type, size_t own_size, void *own, const void *given) {
    cls_status status = given ? sized_check(type, own_size, given) : CLS_SUCCESS;
    if (given && !status)
        copy_behind_size(own, given, size_of(given));
    return status;
}

void sized_out(void *given, const void *own) { copy_behind_size(given, own, size_of(given)); }
