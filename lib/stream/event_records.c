/* SPDX-License-Identifier: MIT */
#include "stream/event_records.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "system/pages.h"

enum { OUTCOME_BITS = 2, OUTCOME_MASK = (1 << OUTCOME_BITS) - 1, SLOTS = 510 };

/* A record has the slot of its number modulo SLOTS. The value of a slot only rises. */
struct page {
    uint64_t magic;
    _Atomic uint64_t latest;
    _Atomic uint64_t slots[SLOTS]; /* the latest record there that has ended: number, outcome */
};
_Static_assert(sizeof(struct page) == 4096, "a page of the smallest size");

static const uint64_t MAGIC = UINT64_C(0x31746e6576534c43); /* CLSevent1: of this layout */

struct event_records {
    struct page *page;
    int fd;               /* of an open file that no other process has: it holds the locks */
    pthread_mutex_t lock; /* held while a record is made, as the locks are those of the process */
};

/* --- the page --- */

static cls_status refuse_sharing(const char *call, int code) {
    const bool full = code == EMFILE || code == ENFILE || code == ENOLCK;
    const bool empty = code == ENOMEM || code == ENOSPC || code == EAGAIN;
    return error_set(full    ? CLS_ERROR_LIMIT
                     : empty ? CLS_ERROR_OUT_OF_MEMORY
                             : CLS_ERROR_UNSUPPORTED,
                     "an event of several processes: %s: %s", call, strerror(code));
}

static cls_status foreign_page(int fd) {
    return error_set(CLS_ERROR_INVALID_VALUE, "%d is no descriptor of cls_event_export", fd);
}

/* Records without a page. Atomic numbers that need a lock would be those of one process. */
static cls_status new_records(struct event_records **out) {
    if (ATOMIC_LLONG_LOCK_FREE != 2)
        return error_set(CLS_ERROR_UNSUPPORTED, "an event of several processes: the processor has "
                                                "no atomic numbers of 64 bits");
    struct event_records *records = calloc(1, sizeof *records);
    if (!records || pthread_mutex_init(&records->lock, NULL)) {
        free(records);
        return error_no_memory("for an event of several processes");
    }
    *out = records;
    return CLS_SUCCESS;
}

static void drop_records(struct event_records *records) {
    pthread_mutex_destroy(&records->lock);
    free(records);
}

/* Number 0, which no record has, tells whether the system has such locks. */
static cls_status make_page(struct event_records *records) {
    const char *call;
    void *pages;
    int code = pages_share(sizeof(struct page), &records->fd, &pages, &call);
    if (code)
        return refuse_sharing(call, code);
    records->page = pages;
    code = descriptor_lock(records->fd, 0);
    if (code) {
        pages_unshare(records->fd, pages, sizeof(struct page));
        return refuse_sharing("a lock in shared memory", code);
    }
    descriptor_unlock(records->fd, 0);
    records->page->magic = MAGIC;
    return CLS_SUCCESS;
}

static cls_status open_page(struct event_records *records, int fd) {
    const char *call;
    void *pages;
    size_t bytes;
    const int own = descriptor_reopen(fd);
    if (own < 0)
        return errno == EINVAL || errno == EBADF ? foreign_page(fd)
                                                 : refuse_sharing("/proc/self/fd", errno);
    const int code = pages_open(own, &records->fd, &pages, &bytes, &call);
    descriptor_close(own);
    if (code)
        return code == EINVAL || code == EACCES || code == EPERM ? foreign_page(fd)
                                                                 : refuse_sharing(call, code);
    records->page = pages;
    if (bytes == sizeof(struct page) && records->page->magic == MAGIC)
        return CLS_SUCCESS;
    pages_unshare(records->fd, pages, bytes);
    return foreign_page(fd);
}

static cls_status with_page(cls_status status, struct event_records *records,
                            struct event_records **out) {
    if (status)
        drop_records(records);
    else
        *out = records;
    return status;
}

cls_status event_records_make(struct event_records **out) {
    struct event_records *records;
    cls_status status = new_records(&records);
    return status ? status : with_page(make_page(records), records, out);
}

cls_status event_records_open(int fd, struct event_records **out) {
    struct event_records *records;
    cls_status status = new_records(&records);
    return status ? status : with_page(open_page(records, fd), records, out);
}

void event_records_free(struct event_records *records) {
    pages_unshare(records->fd, records->page, sizeof(struct page));
    drop_records(records);
}

cls_status event_records_export(const struct event_records *records, int *fd) {
    const int copy = descriptor_reopen(records->fd);
    if (copy < 0)
        return refuse_sharing("/proc/self/fd", errno);
    *fd = copy;
    return CLS_SUCCESS;
}

/* --- records --- */

uint64_t event_records_latest(const struct event_records *records) {
    return atomic_load(&records->page->latest);
}

/* The number is locked before others see it. That of a record that another process has made meanwhile is unlocked again. */
cls_status event_records_begin(struct event_records *records, uint64_t *number) {
    _Atomic uint64_t *latest = &records->page->latest;
    uint64_t before;
    bool made = false;
    int code = 0;
    pthread_mutex_lock(&records->lock);
    while (!made && !code) {
        before = atomic_load(latest);
        code = descriptor_lock(records->fd, before + 1);
        made = !code && atomic_compare_exchange_strong(latest, &before, before + 1);
        if (!made && !code)
            descriptor_unlock(records->fd, before + 1);
    }
    pthread_mutex_unlock(&records->lock);
    if (code)
        return refuse_sharing("a lock in shared memory", code);
    *number = before + 1;
    return CLS_SUCCESS;
}

static _Atomic uint64_t *record_slot(const struct event_records *records, uint64_t number) {
    return &records->page->slots[number % SLOTS];
}

void event_records_end(struct event_records *records, uint64_t number,
                       enum record_outcome outcome) {
    _Atomic uint64_t *slot = record_slot(records, number);
    uint64_t known = atomic_load(slot);
    while (known >> OUTCOME_BITS < number &&
           !atomic_compare_exchange_weak(slot, &known, number << OUTCOME_BITS | outcome))
        ;
    descriptor_unlock(records->fd, number);
}

/* Of a record that had not ended: a process that has ended one has unlocked it afterwards. */
static enum record_outcome outcome_by_lock(const struct event_records *records, uint64_t number) {
    if (descriptor_is_locked(records->fd, number, number) ||
        atomic_load(record_slot(records, number)) >> OUTCOME_BITS >= number)
        return RECORD_PENDING;
    return RECORD_LOST;
}

/* The slots are those of later records: a lock alone tells that one of these is pending. What has ended counts as done. */
static enum record_outcome overtaken_outcome(const struct event_records *records, uint64_t first,
                                             uint64_t last) {
    return descriptor_is_locked(records->fd, first, last) ? RECORD_PENDING : RECORD_DONE;
}

/* Behind records that are void any earlier one may be the one that counts. */
enum record_outcome event_records_outcome(const struct event_records *records, uint64_t latest) {
    for (uint64_t number = latest; number; number--) {
        const uint64_t slot = atomic_load(record_slot(records, number));
        if (slot >> OUTCOME_BITS < number)
            return outcome_by_lock(records, number);
        if (slot >> OUTCOME_BITS > number)
            return overtaken_outcome(records, number == latest ? number : 1, number);
        if ((slot & OUTCOME_MASK) != RECORD_VOID)
            return (enum record_outcome)(slot & OUTCOME_MASK);
    }
    return RECORD_DONE;
}
