/* SPDX-License-Identifier: MIT */
/* Text within the pictures. */
#ifndef CLSTREAM_TOOLS_XML_H
#define CLSTREAM_TOOLS_XML_H

#include <stdbool.h>
#include <stdio.h>

/* Text of an element or an attribute. Control characters, for which XML has no form, become '?'; so does what is not
 * ASCII unless the text is known to be UTF-8. */
void xml_put(FILE *file, const char *text, bool utf8);

#endif
