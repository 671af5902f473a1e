/* SPDX-License-Identifier: MIT */
#include "npy.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "platform.h"

static const struct {
    cls_dtype dtype;
    char kind; /* NumPy's letter */
    size_t size;
} npy_types[] = {
    {CLS_F32, 'f', 4}, {CLS_F64, 'f', 8}, {CLS_I32, 'i', 4}, {CLS_I64, 'i', 8}, {CLS_U8, 'u', 1},
    {CLS_U32, 'u', 4}, {CLS_F16, 'f', 2}, {CLS_I8, 'i', 1},  {CLS_I16, 'i', 2}, {CLS_U16, 'u', 2},
};

enum { N_TYPES = sizeof npy_types / sizeof npy_types[0] };

/* The order of this machine's bytes, in which elements are read and written, and the other one. */
#if defined __BYTE_ORDER__ && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
enum { NATIVE = '>', FOREIGN = '<' };
#define FOREIGN_NAME "little-endian"
#else
enum { NATIVE = '<', FOREIGN = '>' };
#define FOREIGN_NAME "big-endian"
#endif

static const char magic[NPY_MAGIC] = {'\x93', 'N', 'U', 'M', 'P', 'Y'};

/* What is left of the header's text, a Python dictionary. `failed` is sticky: once it is set the
 * reason stands and every later step fails too. */
struct cursor {
    const char *at;
    const char *end;
    bool failed;
    char *reason;
};

static bool refuse(struct cursor *cursor, const char *format, ...)
    __attribute__((format(PLATFORM_PRINTF, 2, 3)));

static bool refuse(struct cursor *cursor, const char *format, ...) {
    if (!cursor->failed) {
        va_list args;
        va_start(args, format);
        vsnprintf(cursor->reason, NPY_REASON, format, args);
        va_end(args);
    }
    cursor->failed = true;
    return false;
}

static char peek(struct cursor *cursor) {
    while (cursor->at < cursor->end && strchr(" \t\r\n", *cursor->at) && *cursor->at)
        cursor->at++;
    return cursor->at < cursor->end ? *cursor->at : '\0';
}

static bool accept(struct cursor *cursor, char wanted) {
    if (cursor->failed || peek(cursor) != wanted)
        return false;
    cursor->at++;
    return true;
}

static bool expect(struct cursor *cursor, char wanted) {
    return accept(cursor, wanted) ||
           refuse(cursor, "its header has no '%c' where one belongs", wanted);
}

/* A quoted string without escapes, as NumPy writes keys and types. */
static bool parse_string(struct cursor *cursor, char *text, size_t capacity) {
    char quote = peek(cursor);
    size_t length = 0;
    if (cursor->failed || (quote != '\'' && quote != '"'))
        return refuse(cursor, "its header has no quoted string where one belongs");
    for (cursor->at++; cursor->at < cursor->end && *cursor->at != quote; cursor->at++) {
        if (length + 1 == capacity || *cursor->at < ' ' || *cursor->at > '~')
            return refuse(cursor, "its header has a string that means nothing to this program");
        text[length++] = *cursor->at;
    }
    text[length] = '\0';
    return expect(cursor, quote);
}

static bool parse_bool(struct cursor *cursor, bool *value) {
    static const char *const words[] = {"False", "True"};
    peek(cursor);
    for (unsigned i = 0; i < 2; i++) {
        size_t length = strlen(words[i]);
        if ((size_t)(cursor->end - cursor->at) >= length &&
            memcmp(cursor->at, words[i], length) == 0) {
            cursor->at += length;
            *value = i;
            return true;
        }
    }
    return refuse(cursor, "fortran_order is neither True nor False");
}

static bool parse_size(struct cursor *cursor, uint64_t *value) {
    uint64_t sum = 0;
    char digit = peek(cursor);
    if (digit < '0' || digit > '9')
        return refuse(cursor, "its shape is not a tuple of sizes");
    for (; cursor->at < cursor->end && *cursor->at >= '0' && *cursor->at <= '9'; cursor->at++) {
        uint64_t unit = (uint64_t)(*cursor->at - '0');
        if (sum > (INT64_MAX - unit) / 10)
            return refuse(cursor, "its shape overflows");
        sum = sum * 10 + unit;
    }
    accept(cursor, 'L'); /* Python 2 wrote long integers so */
    *value = sum;
    return true;
}

static bool parse_shape(struct cursor *cursor, struct npy_array *array) {
    array->n_dims = 0;
    if (!expect(cursor, '('))
        return false;
    while (!accept(cursor, ')')) {
        if (array->n_dims == NPY_MAX_DIMS)
            return refuse(cursor, "it has more than %d dimensions", NPY_MAX_DIMS);
        if (!parse_size(cursor, &array->shape[array->n_dims]))
            return false;
        array->n_dims++;
        if (!accept(cursor, ',') && peek(cursor) != ')')
            return refuse(cursor, "its shape is not a tuple of sizes");
    }
    return !cursor->failed;
}

static bool find_dtype(struct cursor *cursor, const char *descr, cls_dtype *dtype) {
    char order = descr[0];
    for (unsigned i = 0; i < N_TYPES; i++) {
        if (descr[0] == '\0' || descr[1] != npy_types[i].kind ||
            descr[2] != (char)('0' + npy_types[i].size) || descr[3] != '\0')
            continue;
        if (order == FOREIGN && npy_types[i].size > 1)
            return refuse(cursor,
                          "its type %s is " FOREIGN_NAME "; convert it with "
                          "a.astype(a.dtype.newbyteorder('%c'))",
                          descr, NATIVE);
        if (order == NATIVE || ((order == '|' || order == FOREIGN) && npy_types[i].size == 1)) {
            *dtype = npy_types[i].dtype;
            return true;
        }
    }
    return refuse(
        cursor,
        "its type is '%.20s'; supported are %cf2 %cf4 %cf8 |i1 %ci2 %ci4 %ci8 |u1 %cu2 %cu4", descr,
        NATIVE, NATIVE, NATIVE, NATIVE, NATIVE, NATIVE, NATIVE, NATIVE);
}

static bool parse_descr(struct cursor *cursor, cls_dtype *dtype) {
    char descr[64];
    if (peek(cursor) == '[')
        return refuse(cursor, "it holds records, not one number an element");
    return parse_string(cursor, descr, sizeof descr) && find_dtype(cursor, descr, dtype);
}

enum { KEY_DESCR = 1, KEY_FORTRAN = 2, KEY_SHAPE = 4, KEY_ALL = 7 };

static unsigned key_of(const char *key) {
    if (strcmp(key, "descr") == 0)
        return KEY_DESCR;
    if (strcmp(key, "fortran_order") == 0)
        return KEY_FORTRAN;
    return strcmp(key, "shape") == 0 ? KEY_SHAPE : 0;
}

static bool parse_dictionary(struct cursor *cursor, struct npy_array *array, bool *fortran) {
    unsigned seen = 0;
    if (!expect(cursor, '{'))
        return false;
    while (!accept(cursor, '}')) {
        char key[32];
        if (!parse_string(cursor, key, sizeof key) || !expect(cursor, ':'))
            return false;
        unsigned bit = key_of(key);
        if (!bit || (seen & bit))
            return refuse(cursor, "its header has the %s key '%s'", bit ? "repeated" : "unknown",
                          key);
        seen |= bit;
        if (!(bit == KEY_DESCR     ? parse_descr(cursor, &array->dtype)
              : bit == KEY_FORTRAN ? parse_bool(cursor, fortran)
                                   : parse_shape(cursor, array)))
            return false;
        if (!accept(cursor, ',') && peek(cursor) != '}')
            return refuse(cursor, "its header is not a dictionary");
    }
    if (!cursor->failed && seen != KEY_ALL)
        return refuse(cursor, "its header lacks descr, fortran_order or shape");
    peek(cursor);
    return !cursor->failed &&
           (cursor->at == cursor->end || refuse(cursor, "its header goes on after the dictionary"));
}

static size_t size_of(cls_dtype dtype) {
    for (unsigned i = 0; i < N_TYPES; i++)
        if (npy_types[i].dtype == dtype)
            return npy_types[i].size;
    return 0;
}

/* The product of the shape. A zero anywhere makes it zero, whatever the other sizes would
 * overflow to. */
static bool count_elements(struct cursor *cursor, struct npy_array *array) {
    const uint64_t most = INT64_MAX / size_of(array->dtype);
    array->count = 1;
    for (unsigned i = 0; i < array->n_dims; i++)
        if (array->shape[i] == 0)
            array->count = 0;
    for (unsigned i = 0; i < array->n_dims && array->count; i++) {
        if (array->shape[i] > most / array->count)
            return refuse(cursor, "its shape overflows");
        array->count *= array->shape[i];
    }
    return true;
}

/* With at most one size above 1 both orders are the same. */
static bool orders_differ(const struct npy_array *array) {
    unsigned wide = 0;
    for (unsigned i = 0; i < array->n_dims; i++)
        wide += array->shape[i] > 1;
    return wide > 1 && array->count > 0;
}

static bool parse_text(struct cursor *cursor, struct npy_array *array) {
    bool fortran = false;
    if (!parse_dictionary(cursor, array, &fortran) || !count_elements(cursor, array))
        return false;
    if (fortran && orders_differ(array))
        return refuse(cursor, "it is in Fortran order; convert it with numpy.ascontiguousarray");
    return true;
}

/* Finds where the text starts and how long it is. False: `*needed` says how many bytes tell. */
static bool locate_text(const unsigned char *bytes, size_t size, size_t *start, size_t *length,
                        size_t *needed) {
    bool wide = size > 6 && bytes[6] > 1; /* version 1 has two bytes of length, 2 and 3 have four */
    *start = wide ? 12 : 10;
    *needed = *start;
    if (size < *start)
        return false;
    *length = bytes[8] | (size_t)bytes[9] << 8;
    if (wide)
        *length |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
    return true;
}

bool npy_is_magic(const void *bytes) { return memcmp(bytes, magic, sizeof magic) == 0; }

enum npy_result npy_parse(const void *bytes, size_t size, struct npy_array *array, size_t *needed,
                          char reason[NPY_REASON]) {
    const unsigned char *from = bytes;
    struct cursor cursor = {NULL, NULL, false, reason};
    struct npy_array parsed = {.n_dims = 0};
    size_t start, length, prefix;

    if (size > 0 && memcmp(from, magic, size < sizeof magic ? size : sizeof magic) != 0)
        return refuse(&cursor, "it is no .npy file (for raw elements give --dtype)"), NPY_BAD;
    if (size > 7 && (from[6] < 1 || from[6] > 3 || from[7] != 0))
        return refuse(&cursor, "its format version %u.%u is unknown", from[6], from[7]), NPY_BAD;
    if (!locate_text(from, size, &start, &length, &prefix)) {
        *needed = prefix;
        return NPY_MORE;
    }
    if (length > NPY_MAX_HEADER - start)
        return refuse(&cursor, "its header claims %zu bytes", length), NPY_BAD;
    if (size < start + length) {
        *needed = start + length;
        return NPY_MORE;
    }
    cursor.at = (const char *)from + start;
    cursor.end = cursor.at + length;
    if (!parse_text(&cursor, &parsed))
        return NPY_BAD;
    parsed.header_bytes = start + length;
    *array = parsed;
    return NPY_OK;
}

/* Appends to a text of known capacity; false once it no longer fits. */
static bool append(char *text, size_t capacity, size_t *length, const char *format, ...)
    __attribute__((format(PLATFORM_PRINTF, 4, 5)));

static bool append(char *text, size_t capacity, size_t *length, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int written = vsnprintf(text + *length, capacity - *length, format, args);
    va_end(args);
    if (written < 0 || (size_t)written >= capacity - *length)
        return false;
    *length += (size_t)written;
    return true;
}

static bool write_text(const struct npy_array *array, char *text, size_t capacity, size_t *length) {
    unsigned row = 0;
    while (row < N_TYPES && npy_types[row].dtype != array->dtype)
        row++;
    if (row == N_TYPES ||
        !append(text, capacity, length, "{'descr': '%c%c%zu', 'fortran_order': False, 'shape': (",
                npy_types[row].size == 1 ? '|' : NATIVE, npy_types[row].kind, npy_types[row].size))
        return false;
    for (unsigned i = 0; i < array->n_dims; i++)
        if (!append(text, capacity, length, "%s%llu", i ? ", " : "",
                    (unsigned long long)array->shape[i]))
            return false;
    return append(text, capacity, length, "%s), }", array->n_dims == 1 ? "," : "");
}

size_t npy_write(const struct npy_array *array, void *bytes, size_t capacity) {
    char text[NPY_MAX_WRITTEN];
    unsigned char *to = bytes;
    const size_t start = 10;
    size_t length = 0;

    if (array->n_dims > NPY_MAX_DIMS || !write_text(array, text, sizeof text, &length))
        return 0;
    size_t total = (start + length + 1 + 63) / 64 * 64; /* the text ends in a newline */
    if (total > capacity)
        return 0;
    memcpy(to, magic, sizeof magic);
    to[6] = 1;
    to[7] = 0;
    to[8] = (unsigned char)((total - start) & 255);
    to[9] = (unsigned char)((total - start) >> 8);
    memcpy(to + start, text, length);
    memset(to + start + length, ' ', total - start - length - 1);
    to[total - 1] = '\n';
    return total;
}
