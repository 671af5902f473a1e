/* SPDX-License-Identifier: MIT */
#include "trace/json.h"

/* The length of the UTF-8 character at `at`; 0 if it is invalid. */
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
    /* U+FFFE and U+FFFF are invalid in XML, to which a profile is converted. */
    bool none = first == 0xef && second == 0xbf && (unsigned char)at[2] >= 0xbe;
    return overlong || beyond || none ? 0 : length;
}

static bool is_plain(unsigned char byte) {
    return byte >= ' ' && byte != '"' && byte != '\\' && byte != '<' && byte != 0x7f;
}

void put_comma(struct text *text) {
    char last = text->length ? text->bytes[text->length - 1] : '[';
    if (last != '[' && last != '{' && last != ':')
        text_append(text, ",", 1);
}

void put_name(struct text *text, const char *name) {
    put_comma(text);
    text_printf(text, "\"%s\":", name);
}

void put_string(struct text *text, const char *string) {
    put_comma(text);
    text_append(text, "\"", 1);
    for (size_t length; *string; string += length) {
        length = utf8_length(string);
        if (length > 1 || (length && is_plain((unsigned char)*string)))
            text_append(text, string, length);
        else if (length)
            text_printf(text, "\\u%04x", (unsigned char)*string);
        else
            text_append(text, "?", length = 1);
    }
    text_append(text, "\"", 1);
}

void put_number(struct text *text, uint64_t number) {
    put_comma(text);
    text_printf(text, "%llu", (unsigned long long)number);
}

void put_us(struct text *text, uint64_t ns) {
    put_comma(text);
    text_printf(text, "%llu.%03u", (unsigned long long)(ns / 1000), (unsigned)(ns % 1000));
}

void put_named_string(struct text *text, const char *name, const char *string) {
    put_name(text, name);
    put_string(text, string);
}

void put_named_number(struct text *text, const char *name, uint64_t number) {
    put_name(text, name);
    put_number(text, number);
}

void put_named_us(struct text *text, const char *name, uint64_t ns) {
    put_name(text, name);
    put_us(text, ns);
}

void put_begin(struct text *text, const char *name, char bracket) {
    if (name)
        put_name(text, name);
    put_comma(text);
    text_append(text, &bracket, 1);
}

void put_end(struct text *text, char bracket) { text_append(text, &bracket, 1); }
