/* SPDX-License-Identifier: MIT */
/*
 * Every allocation, thread and file operation of the library fails in every scenario. They are caught at
 * the link (--wrap), so only the library's own fail, never the driver's. The fault layer counts what is
 * alive.
 */
#include "sweep.h"

#include "../../support/effort.h"
#include "../../support/test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/handle.h"

#include "../loading.h"

enum caught {
    MALLOC,
    CALLOC,
    REALLOC,
    THREAD,
    MUTEX,
    CONDITION,
    SEMAPHORE,
    OPEN,
    WRITE,
    RENAME,
    MKDIR,
    HANDLE,
    MEMFD,
    ALLOCATE_FILE,
    MAP,
    CAUGHT,
    ANY = CAUGHT
};

static const char *const names[CAUGHT] = {
    [MALLOC] = "malloc",
    [CALLOC] = "calloc",
    [REALLOC] = "realloc",
    [THREAD] = "pthread_create",
    [MUTEX] = "pthread_mutex_init",
    [CONDITION] = "pthread_cond_init",
    [SEMAPHORE] = "sem_init",
    [OPEN] = "open",
    [WRITE] = "write",
    [RENAME] = "rename",
    [MKDIR] = "mkdir",
    [HANDLE] = "object_create",
    [MEMFD] = "memfd_create",
    [ALLOCATE_FILE] = "posix_fallocate",
    [MAP] = "mmap",
};

static _Atomic unsigned counts[CAUGHT], failed[CAUGHT], total, fired_in_all, nth;
static _Atomic int wanted = ANY, persistence;
static _Atomic bool tripped;
static _Atomic long blocks, mappings;

static bool fails(enum caught call) {
    unsigned of_all = atomic_fetch_add(&total, 1) + 1;
    unsigned of_call = atomic_fetch_add(&counts[call], 1) + 1;
    unsigned n = atomic_load(&nth);
    int target = atomic_load(&wanted);
    bool after = atomic_load(&persistence) == FAULT_EVERYTHING_AFTER && atomic_load(&tripped);
    if (!n || (!after && target != ANY && target != (int)call))
        return false;
    unsigned now = target == ANY ? of_all : of_call;
    if (!after && now != n && (now < n || atomic_load(&persistence) == FAULT_ONCE))
        return false;
    atomic_store(&tripped, true);
    atomic_fetch_add(&failed[call], 1);
    atomic_fetch_add(&fired_in_all, 1);
    return true;
}

/* --- what is wrapped --- */

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void __real_free(void *block);
char *__real_strdup(const char *text);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
                          void *arg);
int __real_pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attr);
int __real_pthread_cond_init(pthread_cond_t *condition, const pthread_condattr_t *attr);
int __real_sem_init(sem_t *sem, int shared, unsigned value);
int __real_open(const char *path, int flags, ...);
ssize_t __real_write(int file, const void *bytes, size_t size);
int __real_rename(const char *from, const char *to);
int __real_mkdir(const char *path, mode_t mode);
void *__real_object_create(struct object_pool *pool);
int __real_memfd_create(const char *name, unsigned flags);
int __real_posix_fallocate(int file, off_t from, off_t bytes);
void *__real_mmap(void *at, size_t bytes, int protection, int flags, int file, off_t from);
int __real_munmap(void *at, size_t bytes);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void __wrap_free(void *block);
char *__wrap_strdup(const char *text);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
                          void *arg);
int __wrap_pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attr);
int __wrap_pthread_cond_init(pthread_cond_t *condition, const pthread_condattr_t *attr);
int __wrap_sem_init(sem_t *sem, int shared, unsigned value);
int __wrap_open(const char *path, int flags, ...);
ssize_t __wrap_write(int file, const void *bytes, size_t size);
int __wrap_rename(const char *from, const char *to);
int __wrap_mkdir(const char *path, mode_t mode);
void *__wrap_object_create(struct object_pool *pool);
int __wrap_memfd_create(const char *name, unsigned flags);
int __wrap_posix_fallocate(int file, off_t from, off_t bytes);
void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int file, off_t from);
int __wrap_munmap(void *at, size_t bytes);

static void *counted(void *block) {
    atomic_fetch_add(&blocks, block != NULL);
    return block;
}

void *__wrap_malloc(size_t size) { return fails(MALLOC) ? NULL : counted(__real_malloc(size)); }

void *__wrap_calloc(size_t count, size_t size) {
    return fails(CALLOC) ? NULL : counted(__real_calloc(count, size));
}

void *__wrap_realloc(void *old, size_t size) {
    if (fails(REALLOC))
        return NULL;
    void *block = __real_realloc(old, size);
    return old ? block : counted(block);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size) {
    return fails(CALLOC) ? NULL : counted(__real_aligned_alloc(alignment, size));
}

char *__wrap_strdup(const char *text) {
    return fails(MALLOC) ? NULL : counted(__real_strdup(text));
}

void __wrap_free(void *block) {
    atomic_fetch_sub(&blocks, block != NULL);
    __real_free(block);
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
                          void *arg) {
    return fails(THREAD) ? EAGAIN : __real_pthread_create(thread, attr, run, arg);
}

int __wrap_pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attr) {
    return fails(MUTEX) ? ENOMEM : __real_pthread_mutex_init(mutex, attr);
}

int __wrap_pthread_cond_init(pthread_cond_t *condition, const pthread_condattr_t *attr) {
    return fails(CONDITION) ? ENOMEM : __real_pthread_cond_init(condition, attr);
}

static int with(int code) {
    errno = code;
    return -1;
}

int __wrap_sem_init(sem_t *sem, int shared, unsigned value) {
    return fails(SEMAPHORE) ? with(ENOSPC) : __real_sem_init(sem, shared, value);
}

int __wrap_open(const char *path, int flags, ...) {
    va_list list;
    int mode = 0;
    va_start(list, flags);
    if (flags & O_CREAT)
        mode = va_arg(list, int);
    va_end(list);
    return fails(OPEN) ? with(EMFILE) : __real_open(path, flags, mode);
}

/* A write that fails has put half of it down. */
ssize_t __wrap_write(int file, const void *bytes, size_t size) {
    if (!fails(WRITE))
        return __real_write(file, bytes, size);
    if (__real_write(file, bytes, size / 2) < 0)
        return -1;
    return with(ENOSPC);
}

int __wrap_rename(const char *from, const char *to) {
    return fails(RENAME) ? with(EACCES) : __real_rename(from, to);
}

int __wrap_mkdir(const char *path, mode_t mode) {
    return fails(MKDIR) ? with(ENOSPC) : __real_mkdir(path, mode);
}

/* A pool of objects seldom asks for memory; that it has none is played here. */
void *__wrap_object_create(struct object_pool *pool) {
    return fails(HANDLE) ? NULL : __real_object_create(pool);
}

/* --- shareable memory --- */

int __wrap_memfd_create(const char *name, unsigned flags) {
    return fails(MEMFD) ? with(EMFILE) : __real_memfd_create(name, flags);
}

int __wrap_posix_fallocate(int file, off_t from, off_t bytes) {
    return fails(ALLOCATE_FILE) ? ENOSPC : __real_posix_fallocate(file, from, bytes);
}

void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int file, off_t from) {
    void *pages = MAP_FAILED;
    if (fails(MAP))
        errno = ENOMEM;
    else
        pages = __real_mmap(at, bytes, protection, flags, file, from);
    atomic_fetch_add(&mappings, pages != MAP_FAILED);
    return pages;
}

int __wrap_munmap(void *at, size_t bytes) {
    atomic_fetch_sub(&mappings, 1);
    return __real_munmap(at, bytes);
}

/* --- the sweep's side --- */

static int find(const char *name) {
    int i = 0;
    while (name && i < CAUGHT && strcmp(names[i], name) != 0)
        i++;
    return name ? i : ANY;
}

static void arm(const struct fault_plan *plan) {
    atomic_store(&nth, 0);
    if (!plan)
        return;
    for (int i = 0; i < CAUGHT; i++) {
        atomic_store(&counts[i], 0);
        atomic_store(&failed[i], 0);
    }
    atomic_store(&total, 0);
    atomic_store(&fired_in_all, 0);
    atomic_store(&tripped, false);
    atomic_store(&wanted, find(plan->function));
    atomic_store(&persistence, (int)plan->persistence);
    atomic_store(&nth, plan->nth);
}

static unsigned of(_Atomic unsigned *each, _Atomic unsigned *all, const char *name) {
    int call = find(name);
    return atomic_load(call == ANY ? all : &each[call]);
}

static unsigned fired(const char *name) { return of(failed, &fired_in_all, name); }
static unsigned calls(const char *name) { return of(counts, &total, name); }
static const char *function(unsigned i) { return i < CAUGHT ? names[i] : NULL; }

static const struct fault_controls *controls;

static long live(char *text) { return controls->live(text, sweep_kept()); }

static const cl_int *codes(const char *name) {
    static const cl_int one[] = {CL_OUT_OF_HOST_MEMORY, 0};
    (void)name;
    return one;
}

/* Much can be done without: a hint, a file of the cache, a spare chunk. What counts is that the work was
 * done, which every run checks. */
static const char *harmless(const char *name) {
    (void)name;
    return "an error is reported or the results are right";
}

/* --- what is made once a process: in a fresh one for each failure --- */

enum { COLD_GOOD, COLD_BAD, COLD_PAST };

static const struct scenario *find_scenario(const char *name) {
    unsigned i = 0;
    while (i < n_scenarios && strcmp(scenarios[i].name, name) != 0)
        i++;
    return i < n_scenarios ? &scenarios[i] : NULL;
}

/* The fresh process: CLS_COLD is "host_functions pthread_create 2". What the driver's probes found is in the cache
 * of the process that started this one. */
static int run_cold(const struct sweep *sweep, const char *what) {
    char name[64], work[64];
    bool came;
    struct fault_plan plan = {.function = name, .code = CL_OUT_OF_HOST_MEMORY};
    if (sscanf(what, "%63s %63s %u", work, name, &plan.nth) != 3)
        return COLD_BAD;
    const struct scenario *scenario = find_scenario(work);
    if (!scenario)
        return COLD_BAD;
    bool good = sweep_once(sweep, scenario, &plan, &came);
    sweep_clean(sweep, scenario); /* what failed once is made now */
    return !good ? COLD_BAD : came ? COLD_GOOD : COLD_PAST;
}

static int start_cold(const char *work, const char *name, unsigned number) {
    char what[160];
    int state;
    snprintf(what, sizeof what, "%s %s %u", work, name, number);
    fflush(NULL);
    pid_t pid = fork();
    if (!pid) {
        setenv("CLS_COLD", what, 1);
        execl("/proc/self/exe", "resource_sweep", (char *)NULL);
        _exit(COLD_BAD);
    }
    return pid > 0 && waitpid(pid, &state, 0) == pid && WIFEXITED(state) ? WEXITSTATUS(state)
                                                                         : COLD_BAD;
}

static void test_first_use(void **state) {
    enum { MOST = 40 };
    static const struct {
        const char *work;
        enum caught call;
    } once[] = {{"host_functions", THREAD},       {"host_functions", SEMAPHORE},
                {"host_functions", CONDITION},    {"shared_memory", MEMFD},
                {"shared_memory", ALLOCATE_FILE}, {"shared_memory", MAP},
                {"shareable_pools", MEMFD},       {"shareable_pools", MAP}};
    unsigned came = 0;
    (void)state;
    for (size_t i = 0; i < sizeof once / sizeof *once; i++)
        for (unsigned number = 1, result = COLD_GOOD; result == COLD_GOOD && number <= MOST;
             number++) {
            result = (unsigned)start_cold(once[i].work, names[once[i].call], number);
            if (result == COLD_BAD)
                fail_msg("%s in a fresh process with %s #%u failing", once[i].work,
                         names[once[i].call], number);
            came += result == COLD_GOOD;
        }
    print_message("# %u failures in as many fresh processes\n", came);
    assert_true(came > 0);
}

/* The labels of foreign_call are kept for good, each once. */
static void use_every_label(const struct sweep *sweep) {
    for (unsigned i = 0; i < n_scenarios; i++)
        for (unsigned n = 0; n < FRESH_LABELS && scenarios[i].run == foreign_call; n++)
            sweep_clean(sweep, &scenarios[i]);
}

static unsigned count_descriptors(void) {
    unsigned n = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (folder && readdir(folder))
        n++;
    if (folder)
        closedir(folder);
    return n;
}

/* What the library keeps for good (labels, waiters, slots of handles) has a bound, so sweeping anew adds
 * next to nothing: a block lost in a hundred failures would show. */
static void test_no_block_is_lost(void **state) {
    enum { KEPT = 16 };
    const unsigned stride = effort_is_long() ? 3 : 8;
    const struct sweep *sweep = *state;
    use_every_label(sweep);
    for (unsigned i = 0; i < n_scenarios; i += stride) /* the kernels' options, once for each */
        sweep_clean(sweep, &scenarios[i]);
    const long before = atomic_load(&blocks), mapped = atomic_load(&mappings);
    const unsigned descriptors = count_descriptors();
    for (unsigned i = 0; i < n_scenarios; i += stride)
        if (!sweep_clean(sweep, &scenarios[i]))
            sweep_scenario(sweep, &scenarios[i]);
    for (unsigned i = 0;
         i < 10000 && (count_descriptors() > descriptors || atomic_load(&mappings) > mapped); i++)
        sleep_us(1000); /* a driver may give up memory later, on a thread of its own */
    long after = atomic_load(&blocks);
    print_message("# %ld blocks held, %ld before\n", after, before);
    assert_true(after <= before + KEPT);
    assert_true(atomic_load(&mappings) <= mapped);
    assert_true(count_descriptors() <= descriptors);
}

int main(int argc, char **argv) {
    (void)argc;
    /* Read at the start that layer_start makes: fresh memory is not zero by chance. */
    setenv("MALLOC_PERTURB_", "85", 0);
    layer_start("fault_layer", argv);
    controls = layer_controls("fault_layer", FAULT_CONTROLS);
    layer_leave_quirks_aside();
    static const struct sweep sweep = {arm, fired, calls, function, live, codes, harmless};
    if (getenv("CLS_COLD"))
        return run_cold(&sweep, getenv("CLS_COLD"));
    const struct CMUnitTest last[] = {
        cmocka_unit_test(test_first_use),
        cmocka_unit_test_prestate(test_no_block_is_lost, (void *)(uintptr_t)&sweep),
    };
    return sweep_all(&sweep, "resource_sweep", last, 2);
}
