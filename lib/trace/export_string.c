/* SPDX-License-Identifier: MIT */
/* Strings and numbers as the exports write them. */
#include <stdlib.h>
#include <string.h>

#include "trace/export.h"

/* The length of the UTF-8 character that `at` begins with; 0 where it begins with none. */
static size_t utf8_length(const char *at) {
    unsigned char first = (unsigned char)*at;
    size_t length = first < 0x80                    ? 1
                    : first >= 0xc2 && first < 0xe0 ? 2
                    : first >= 0xe0 && first < 0xf0 ? 3
                    : first >= 0xf0 && first < 0xf5 ? 4
                                                    : 0;
    for (size_t i = 1; i < length; i++)
        if (((unsigned char)at[i] & 0xc0) != 0x80)
            return 0;
    unsigned char second = length > 2 ? (unsigned char)at[1] : 0;
    bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
    bool beyond = (first == 0xed && second > 0x9f) || (first == 0xf4 && second > 0x8f);
    /* U+FFFE and U+FFFF: XML has no form for them. */
    bool none = first == 0xef && second == 0xbf && (unsigned char)at[2] >= 0xbe;
    return overlong || beyond || none ? 0 : length;
}

/* Appends `string` with what `special` writes for single bytes; special returns false for those that it
 * leaves as they are. */
static void put_escaped(struct text *text, const char *string,
                        bool (*special)(struct text *text, unsigned char byte)) {
    for (size_t length; *string; string += length) {
        length = utf8_length(string);
        if (!length) {
            length = 1;
            text_append(text, "?", 1);
        } else if (length > 1 || !special(text, (unsigned char)*string)) {
            text_append(text, string, length);
        }
    }
}

static bool json_special(struct text *text, unsigned char byte) {
    bool plain = byte >= ' ' && byte != '"' && byte != '\\' && byte != '<' && byte != 0x7f;
    if (!plain)
        text_printf(text, "\\u%04x", byte);
    return !plain;
}

void put_json_string(struct text *text, const char *string) {
    text_append(text, "\"", 1);
    put_escaped(text, string, json_special);
    text_append(text, "\"", 1);
}

size_t utf8_prefix(const char *string, size_t most) {
    const char *at = string;
    for (; *at && most; most--) {
        const size_t length = utf8_length(at);
        at += length ? length : 1;
    }
    return (size_t)(at - string);
}

static bool line_special(struct text *text, unsigned char byte) {
    const bool plain = byte >= ' ' && byte != 0x7f;
    if (!plain)
        text_append(text, "?", 1);
    return !plain;
}

void put_line(struct text *text, const char *string, size_t most, bool pad) {
    struct text cut = {0};
    size_t n = 0;
    text_append(&cut, string, utf8_prefix(string, most));
    if (cut.failed)
        text->failed = true;
    else
        put_escaped(text, cut.bytes, line_special);
    for (const char *at = cut.failed ? "" : cut.bytes; *at; at += utf8_prefix(at, 1))
        n++;
    for (; pad && n < most; n++)
        text_append(text, " ", 1);
    free(cut.bytes);
}

/* XML has no form for control characters. */
static bool xml_special(struct text *text, unsigned char byte) {
    bool plain = byte >= ' ' && byte != 0x7f && !strchr("<>&\"'", byte);
    if (byte < ' ' || byte == 0x7f)
        text_append(text, "?", 1);
    else if (!plain)
        text_printf(text, "&#%u;", byte);
    return !plain;
}

void put_xml(struct text *text, const char *string) { put_escaped(text, string, xml_special); }

static bool csv_special(struct text *text, unsigned char byte) {
    if (byte == '"')
        text_append(text, "\"\"", 2);
    return byte == '"';
}

void put_csv(struct text *text, const char *string) {
    text_append(text, "\"", 1);
    put_escaped(text, string, csv_special);
    text_append(text, "\"", 1);
}

void put_span(struct text *text, uint64_t ns) {
    static const struct {
        double ns;
        const char *unit;
    } scale[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}};
    for (size_t i = 0; i < sizeof scale / sizeof *scale; i++) {
        if ((double)ns < scale[i].ns)
            continue;
        text_rounded(text, (double)ns / scale[i].ns, 3);
        text_printf(text, " %s", scale[i].unit);
        return;
    }
    text_printf(text, "%llu ns", (unsigned long long)ns);
}

void put_us(struct text *text, uint64_t ns) {
    text_printf(text, "%llu.%03u", (unsigned long long)(ns / 1000), (unsigned)(ns % 1000));
}

void put_bytes(struct text *text, uint64_t bytes) {
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes / 1024;
    size_t unit = 0;
    if (bytes < 1024) {
        text_printf(text, "%llu B", (unsigned long long)bytes);
        return;
    }
    for (; value >= 1024 && unit < 3; unit++)
        value /= 1024;
    text_fixed(text, value, 1);
    text_printf(text, " %s", units[unit]);
}

const char *clock_name(cls_clock clock) {
    static const char *const names[] = {"device", "host", "noticed"};
    return names[clock];
}

const char *record_type_name(cls_record_type type) {
    static const char *const names[] = {"command", "range", "user"};
    return names[type];
}
