/* SPDX-License-Identifier: MIT */
#include <clstream/version.h>

#define TEXT_OF(number) #number
#define VERSION_TEXT(major, minor, patch) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)

int cls_version(void) { return CLS_VERSION; }

const char *cls_version_string(void) {
    return VERSION_TEXT(CLS_VERSION_MAJOR, CLS_VERSION_MINOR, CLS_VERSION_PATCH);
}
