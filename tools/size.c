/* SPDX-License-Identifier: MIT */
#include "size.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Reads decimal digits; returns where they end, NULL when there are none or they overflow. */
static const char *digits(const char *text, uint64_t *value) {
    const char *at = text;
    uint64_t sum = 0;
    for (; *at >= '0' && *at <= '9'; at++) {
        unsigned unit = (unsigned)(*at - '0');
        if (sum > (UINT64_MAX - unit) / 10)
            return NULL;
        sum = sum * 10 + unit;
    }
    *value = sum;
    return at == text ? NULL : at;
}

bool size_parse(const char *text, uint64_t *value) {
    static const char letters[] = "KMGT";
    uint64_t number;
    const char *suffix = digits(text, &number);
    unsigned shift = 0;

    if (!suffix)
        return false;
    if (*suffix && strcasecmp(suffix, "B") != 0) {
        const char upper = (char)(*suffix & ~0x20);
        const char *letter = strchr(letters, upper);
        if (!upper || !letter)
            return false;
        shift = 10 * (unsigned)(letter - letters + 1);
        if (suffix[1] && strcasecmp(suffix + 1, "B") != 0 && strcasecmp(suffix + 1, "iB") != 0)
            return false;
    }
    if (number > UINT64_MAX >> shift)
        return false;
    *value = number << shift;
    return true;
}

bool number_parse(const char *text, uint64_t low, uint64_t high, uint64_t *value) {
    uint64_t number;
    const char *rest = digits(text, &number);
    if (!rest || *rest || number < low || number > high)
        return false;
    *value = number;
    return true;
}

const char *size_format(uint64_t bytes, char text[SIZE_TEXT]) {
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double scaled = (double)bytes;
    unsigned unit = 0;
    while (scaled >= 1024 && unit + 1 < sizeof units / sizeof units[0]) {
        scaled /= 1024;
        unit++;
    }
    if (scaled == (double)(uint64_t)scaled)
        snprintf(text, SIZE_TEXT, "%llu %s", (unsigned long long)scaled, units[unit]);
    else
        snprintf(text, SIZE_TEXT, "%.*f %s", scaled < 10 ? 2 : 1, scaled, units[unit]);
    return text;
}

const char *span_format(uint64_t ns, char text[SIZE_TEXT]) {
    static const char *const units[] = {"ns", "us", "ms", "s"};
    double scaled = (double)ns;
    unsigned unit = 0;
    for (; scaled >= 999.5 && unit < 3; unit++) /* which three digits round to 1000 */
        scaled /= 1000;
    snprintf(text, SIZE_TEXT, scaled < 999.5 ? "%.3g %s" : "%.0f %s", scaled, units[unit]);
    return text;
}

const char *count_format(uint64_t count, char text[SIZE_TEXT]) {
    char plain[SIZE_TEXT];
    size_t length = (size_t)snprintf(plain, sizeof plain, "%llu", (unsigned long long)count);
    char *to = text;
    for (size_t i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            *to++ = ',';
        *to++ = plain[i];
    }
    *to = '\0';
    return text;
}
