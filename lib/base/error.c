/* SPDX-License-Identifier: MIT */
#include "base/error.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local struct detail detail;

/* The key's only use is its destructor, which frees a thread's long text. */
static pthread_key_t cleanup_key;
static bool cleanup_key_made;
static pthread_once_t cleanup_once = PTHREAD_ONCE_INIT;

static void free_long_text(void *text) {
    free(text);
    detail.long_text = NULL;
}

static void make_cleanup_key(void) {
    cleanup_key_made = pthread_key_create(&cleanup_key, free_long_text) == 0;
}

/* Takes over `text`, which may be NULL. Refuses (and frees nothing) when it could not be freed at
 * the thread's end. */
static bool keep_long_text(char *text) {
    pthread_once(&cleanup_once, make_cleanup_key);
    if (!cleanup_key_made || pthread_setspecific(cleanup_key, text) != 0)
        return false;
    free(detail.long_text);
    detail.long_text = text;
    return true;
}

static void drop_long_text(void) {
    if (detail.long_text)
        keep_long_text(NULL);
}

/* A message may quote the present detail, so the new text is complete before the old one goes. */
static char *format_long(size_t length, const char *format, va_list args) {
    char *text = malloc(length + 1);
    if (text)
        vsnprintf(text, length + 1, format, args);
    return text;
}

static void store(int code, const char *format, va_list args) {
    char text[SHORT_DETAIL];
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(text, sizeof text, format, args);
    char *long_text = NULL;
    if (length >= (int)sizeof text)
        long_text = format_long((size_t)length, format, again);
    va_end(again);
    if (!long_text || !keep_long_text(long_text)) {
        free(long_text);
        drop_long_text();
        if (length < 0)
            text[0] = '\0';
        memcpy(detail.text, text, sizeof text);
    }
    detail.code = code;
    detail.count++;
}

unsigned long error_count(void) { return detail.count; }

void error_save(struct detail *held) {
    memcpy(held->text, detail.text, strlen(detail.text) + 1);
    held->long_text = detail.long_text;
    held->code = detail.code;
    held->count = detail.count;
    if (detail.long_text)
        pthread_setspecific(cleanup_key, NULL); /* the held one is not the thread's to free */
    detail.long_text = NULL;
    detail.text[0] = '\0';
    detail.code = 0;
}

cls_status error_restore(struct detail *held, cls_status status) {
    if (status && detail.count != held->count) {
        free(held->long_text);
        return status;
    }
    drop_long_text();
    if (held->long_text && !keep_long_text(held->long_text))
        free(held->long_text);
    memcpy(detail.text, held->text, strlen(held->text) + 1);
    detail.code = held->code;
    detail.count = held->count;
    return status;
}

cls_status error_set(cls_status status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    store(0, format, args);
    va_end(args);
    return status;
}

cls_status error_no_memory(const char *what, ...) {
    char text[SHORT_DETAIL];
    va_list args;
    va_start(args, what);
    vsnprintf(text, sizeof text, what, args);
    va_end(args);
    return error_set(CLS_ERROR_OUT_OF_MEMORY, "no memory %s", text);
}

cls_status error_set_code(cls_status status, int code, const char *format, ...) {
    va_list args;
    va_start(args, format);
    store(code, format, args);
    va_end(args);
    return status;
}

const char *cls_last_error_detail(void) {
    return detail.long_text ? detail.long_text : detail.text;
}

void cls_set_last_error(const char *text) { error_set(CLS_SUCCESS, "%s", text ? text : ""); }

int cls_last_error_code(void) { return detail.code; }

void cls_clear_last_error(void) {
    drop_long_text();
    detail.text[0] = '\0';
    detail.code = 0;
}

#define ROW(status) \
    { status, #status }

static const struct {
    cls_status status;
    const char *name;
} names[] = {
    ROW(CLS_SUCCESS),
    ROW(CLS_NOT_READY),
    ROW(CLS_ERROR_INVALID_VALUE),
    ROW(CLS_ERROR_INVALID_HANDLE),
    ROW(CLS_ERROR_CONTEXT_DESTROYED),
    ROW(CLS_ERROR_WRONG_CONTEXT),
    ROW(CLS_ERROR_OUT_OF_RANGE),
    ROW(CLS_ERROR_OVERLAP),
    ROW(CLS_ERROR_SIZE_MISMATCH),
    ROW(CLS_ERROR_TYPE_MISMATCH),
    ROW(CLS_ERROR_UNSUPPORTED),
    ROW(CLS_ERROR_OUT_OF_MEMORY),
    ROW(CLS_ERROR_OUT_OF_DEVICE_MEMORY),
    ROW(CLS_ERROR_NO_DEVICE),
    ROW(CLS_ERROR_BUILD_FAILED),
    ROW(CLS_ERROR_NOT_FOUND),
    ROW(CLS_ERROR_IO),
    ROW(CLS_ERROR_TIMEOUT),
    ROW(CLS_ERROR_WOULD_DEADLOCK),
    ROW(CLS_ERROR_DEADLOCK),
    ROW(CLS_ERROR_LIMIT),
    ROW(CLS_ERROR_NOT_TIMED),
    ROW(CLS_ERROR_COMMAND_FAILED),
    ROW(CLS_ERROR_CONTEXT_LOST),
    ROW(CLS_ERROR_SHUTDOWN),
    ROW(CLS_ERROR_INVALID_STATE),
    ROW(CLS_ERROR_DRIVER),
    ROW(CLS_ERROR_FORKED),
};

const char *cls_status_string(cls_status status) {
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].status == status)
            return names[i].name;
    return "CLS_UNKNOWN_STATUS";
}
