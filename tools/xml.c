/* SPDX-License-Identifier: MIT */
#include "xml.h"

#include <string.h>

void xml_put(FILE *file, const char *text, bool utf8) {
    for (; *text; text++) {
        const unsigned char byte = (unsigned char)*text;
        if (strchr("<>&\"'", byte))
            fprintf(file, "&#%u;", byte);
        else
            fputc(byte < ' ' || byte == 0x7f || (byte > 0x7f && !utf8) ? '?' : byte, file);
    }
}
