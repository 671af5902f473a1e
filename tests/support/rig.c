/* SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE /* syscall */
#include "rig.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <clstream/check.h>

#include "trust.h"

enum { WATCHDOG_S = 280, COMES_S = 60, TIMES = 8 };

/* Where a loop of one work-item ends early (llvmpipe), length comes from more work-items. */
enum { SHORT_LOOP = 60000, LONGEST_LOOP = 1 << 30 };

/* A factor of 0 reads nothing: the cell may never have been written. */
static const char source[] =
    "uint churn(uint rounds, uint *done) {\n"
    "    uint x = rounds | 1u, n = 0;\n"
    "    for (uint i = 0; i < rounds; i++) {\n"
    "        x ^= x << 13; x ^= x >> 17; x ^= x << 5;\n"
    "        n += x != 0;\n"
    "    }\n"
    "    *done = n;\n"
    "    return x;\n"
    "}\n"
    "kernel void advance(global uint *cells, uint i, uint factor, uint add, uint rounds) {\n"
    "    uint n, first = get_global_id(0) == 0 && factor ? cells[i] : 0;\n"
    "    uint x = churn(rounds, &n);\n"
    "    if (get_global_id(0) == 0) cells[i] = first * factor + add + (x == 0);\n"
    "}\n"
    "kernel void count(global uint *cells, uint rounds) {\n"
    "    uint n, x = churn(rounds, &n);\n"
    "    if (get_global_id(0) == 0) cells[0] = n + (x == 0);\n"
    "}\n";

struct rig rig;

/* What makes a millisecond: rounds of one work-item, or work-items of SHORT_LOOP rounds. */
static struct pace {
    double rounds, items;
    double launch_ms;
} pace;

/* --- time --- */

double now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

void nap_ms(unsigned ms) {
    struct timespec time = {ms / 1000, (long)(ms % 1000) * 1000000};
    while (nanosleep(&time, &time) != 0)
        continue;
}

void sleeper_here(sleeper *thread) { *thread = (int)syscall(SYS_gettid); }

static bool is_asleep(int thread) {
    char path[64], state = 'R';
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
    FILE *file = fopen(path, "r");
    if (!file)
        return false;
    /* The state stands behind the thread's name in parentheses. */
    const bool read = fscanf(file, "%*[^)]) %c", &state) == 1;
    fclose(file);
    return read && state == 'S';
}

void await_sleeper(sleeper *thread) {
    enum { MOST_MS = 5000, UNKNOWN_MS = 50 };
    for (unsigned ms = 0; ms < (*thread < 0 ? UNKNOWN_MS : MOST_MS); ms++) {
        if (*thread > 0 && is_asleep(*thread))
            return;
        nap_ms(1);
    }
}

/* --- the kernels and their pace --- */

static cls_status launch(cls_stream stream, cls_buffer cells, const uint32_t numbers[4],
                         size_t items) {
    cls_arg args[5] = {cls_arg_updates(cells, numbers[0] * sizeof(uint32_t), sizeof(uint32_t))};
    cls_launch shape = cls_launch_1d(items);
    for (int i = 0; i < 4; i++)
        args[i + 1] = cls_arg_u32(numbers[i]);
    return cls_kernel_launch_async(rig.step, &shape, args, 5, stream);
}

static double time_of(cls_buffer cells, uint32_t rounds, size_t items) {
    double start = now_ms();
    if (launch(NULL, cells, (uint32_t[]){0, 0, 0, rounds}, items))
        return -1;
    return cls_context_synchronize(rig.context) ? -1 : now_ms() - start;
}

/* The least of a few times, since a busy machine only ever adds; but no more than it takes to come below
 * `enough`. Negative when it failed. */
static double least_time_of(cls_buffer cells, double rounds, double items, int times,
                            double enough) {
    double least = time_of(cells, (uint32_t)rounds, (size_t)items);
    for (int i = 1; i < times && least > enough; i++) {
        double ms = time_of(cells, (uint32_t)rounds, (size_t)items);
        least = ms < least ? ms : least;
    }
    return least;
}

static bool loops_are_short(cls_kernel count, cls_buffer cells) {
    uint32_t rounds = 2 * SHORT_LOOP, done = 0;
    cls_arg args[2] = {cls_arg_buffer(cells), cls_arg_u32(rounds)};
    cls_launch shape = cls_launch_1d(1);
    return cls_kernel_launch(count, &shape, args, 2, NULL) ||
           cls_copy_d2h(&done, cells, 0, sizeof done, NULL) || done != rounds;
}

/* Whether `ms` is what the work takes, and not its turn where others use the device: three times the work takes more
 * than twice as long then. */
static bool grows_with_work(cls_buffer cells, double rounds, double items, bool is_short,
                            double ms) {
    *(is_short ? &items : &rounds) *= 3;
    return least_time_of(cells, rounds, items, 2, 2 * ms) > 2 * ms;
}

static int calibrate(cls_kernel count, cls_buffer cells) {
    bool is_short = loops_are_short(count, cells);
    double rounds = is_short ? SHORT_LOOP : 1000, items = is_short ? 16 : 1, ms;
    pace.launch_ms = least_time_of(cells, 1, 1, TIMES, 0);
    if (pace.launch_ms < 0)
        return -1;
    const double enough = 5 + 2 * pace.launch_ms;
    for (;;) {
        ms = least_time_of(cells, rounds, items, TIMES, enough);
        if (ms < 0)
            return -1;
        if (rounds > LONGEST_LOOP / 4 ||
            (ms > enough && grows_with_work(cells, rounds, items, is_short, ms)))
            break;
        *(is_short ? &items : &rounds) *= 3;
    }
    pace.items = is_short ? items / ms : 0;
    pace.rounds = is_short ? SHORT_LOOP : rounds / ms;
    return 0;
}

cls_status rig_step(cls_stream stream, cls_buffer cells, uint32_t i, uint32_t factor, uint32_t add,
                    double ms) {
    double rounds = pace.rounds, items = 1;
    if (pace.items > 0)
        items = ms * pace.items + 1;
    else
        rounds = ms * pace.rounds;
    if (ms <= 0)
        rounds = 1;
    if (rounds > LONGEST_LOOP)
        rounds = LONGEST_LOOP;
    return launch(stream, cells, (uint32_t[]){i, factor, add, (uint32_t)rounds}, (size_t)items);
}

/* A child process takes over its parent's measurement. */
static bool pace_is_given(void) {
    const char *given = getenv("RIG_PACE");
    return given && sscanf(given, "%lf %lf %lf", &pace.rounds, &pace.items, &pace.launch_ms) == 3;
}

void rig_pass_on_pace(void) {
    char text[128];
    snprintf(text, sizeof text, "%g %g %g", pace.rounds, pace.items, pace.launch_ms);
    setenv("RIG_PACE", text, 1);
}

static int build(cls_buffer *cells) {
    cls_program program;
    cls_kernel count;
    if (cls_program_from_source(rig.context, source, "rig.cl", NULL, &program) ||
        cls_kernel_create(program, "advance", &rig.step) ||
        cls_kernel_create(program, "count", &count))
        return -1;
    cls_program_destroy(program);
    if (cls_buffer_create(rig.context, 64, cells))
        return -1;
    int failed = pace_is_given() ? 0 : calibrate(count, *cells);
    cls_buffer_destroy(*cells);
    cls_kernel_destroy(count);
    return failed;
}

int rig_setup_on(const cls_context_config *config) {
    cls_buffer cells;
    watchdog(WATCHDOG_S);
    if (cls_context_create(config, &rig.context) || build(&cells)) {
        print_error("no rig: %s\n", cls_last_error_detail());
        return -1;
    }
    return 0;
}

int rig_setup(void **state) {
    (void)state;
    return rig_setup_on(NULL);
}

int rig_teardown(void **state) {
    (void)state;
    return cls_kernel_destroy(rig.step) || cls_context_destroy(rig.context) ? -1 : 0;
}

/* --- the device's nature --- */

bool rig_has_quirk(const char *name) {
    cls_quirk quirk;
    size_t device;
    if (cls_context_get_device(rig.context, &device))
        return false;
    for (size_t i = 0; cls_device_get_quirk(device, i, &quirk) == CLS_SUCCESS; i++)
        if (!strcmp(quirk.name, name))
            return true;
    return false;
}

bool rig_has_capability(const char *name) {
    cls_capability capability;
    size_t device;
    if (cls_context_get_device(rig.context, &device))
        return false;
    for (size_t i = 0; cls_device_get_capability(device, i, &capability) == CLS_SUCCESS; i++)
        if (!strcmp(capability.name, name))
            return capability.value != 0;
    return false;
}

void rig_need(const char *mechanism) { trust_need(rig.context, mechanism); }

bool rig_platform_is(const char *part) {
    cls_device_info info = CLS_DEVICE_INFO_INIT;
    size_t device;
    return !cls_context_get_device(rig.context, &device) && !cls_device_get_info(device, &info) &&
           strstr(info.platform, part);
}

bool rig_runs_inline(void) { return rig_has_quirk("flush_runs_commands"); }

unsigned rig_scale(unsigned count, unsigned least) {
    static const double usual_ms = 0.05;
    if (getenv("CLSTREAM_CHECK"))
        count /= 32;
    double fewer = pace.launch_ms > usual_ms ? count * usual_ms / pace.launch_ms : count;
    return fewer < least ? least : (unsigned)fewer;
}

unsigned rig_count_descriptors(void) {
    unsigned n = 0;
    DIR *folder = opendir("/proc/self/fd");
    if (!folder)
        return 0;
    while (readdir(folder))
        n++;
    closedir(folder);
    return n;
}

long rig_resident_pages(void) {
    long size = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file)
        return 0;
    if (fscanf(file, "%ld %ld", &size, &resident) != 2)
        resident = 0;
    fclose(file);
    return resident;
}

void rig_need_resident_memory(void) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    SKIP_BECAUSE("a sanitizer keeps memory that is freed, and its own beside it");
#endif
}

static const char shared_memory[] = "memfd:clstream";

unsigned rig_count_mappings(void) {
    char line[512];
    unsigned n = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    if (!maps)
        return 0;
    while (fgets(line, sizeof line, maps))
        n += strstr(line, shared_memory) != NULL;
    fclose(maps);
    return n;
}

static bool has_shared_descriptor(void) {
    const struct dirent *item;
    bool has = false;
    DIR *folder = opendir("/proc/self/fd");
    while (folder && !has && (item = readdir(folder)) != NULL) {
        char target[256] = "";
        has = readlinkat(dirfd(folder), item->d_name, target, sizeof target - 1) > 0 &&
              strstr(target, shared_memory);
    }
    if (folder)
        closedir(folder);
    return has;
}

bool rig_await_memory_gone(void) {
    bool gone = false;
    for (int i = 0; i < 10000 && !gone; i++) {
        gone = !rig_count_mappings() && !has_shared_descriptor();
        if (!gone)
            nap_ms(1);
    }
    return gone;
}

/* --- objects --- */

cls_stream rig_stream(void) {
    cls_stream stream = NULL;
    OK(cls_stream_create(rig.context, NULL, &stream));
    return stream;
}

cls_stream rig_named(const char *name) {
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    cls_stream stream = NULL;
    config.name = name;
    OK(cls_stream_create(rig.context, &config, &stream));
    return stream;
}

cls_stream rig_ordered(cls_order order) {
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    cls_stream stream = NULL;
    config.order = order;
    OK(cls_stream_create(rig.context, &config, &stream));
    return stream;
}

cl_event rig_user_event(void) {
    cl_context context;
    cl_int code;
    OK(cls_context_get_cl(rig.context, &context, NULL));
    cl_event event = clCreateUserEvent(context, &code);
    assert_int_equal(code, CL_SUCCESS);
    return event;
}

cl_command_queue rig_own_queue(void) {
    cl_context context;
    cl_device_id device;
    cl_int code;
    OK(cls_context_get_cl(rig.context, &context, &device));
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &code);
    assert_int_equal(code, CL_SUCCESS);
    return queue;
}

cls_stream rig_own_stream(void) {
    cl_command_queue queue = rig_own_queue();
    cls_stream stream;
    OK(cls_stream_wrap(rig.context, queue, &stream));
    clReleaseCommandQueue(queue);
    return stream;
}

cls_event rig_event(void) {
    cls_event event = NULL;
    OK(cls_event_create(rig.context, NULL, &event));
    return event;
}

cls_event rig_timed_event(void) {
    cls_event_config config = CLS_EVENT_CONFIG_INIT;
    cls_event event = NULL;
    config.timed = 1;
    OK(cls_event_create(rig.context, &config, &event));
    return event;
}

cls_buffer rig_cells(size_t n) {
    const uint32_t zero = 0;
    cls_buffer cells = NULL;
    OK(cls_buffer_create(rig.context, n * sizeof zero, &cells));
    OK(cls_fill(cells, 0, n * sizeof zero, &zero, sizeof zero, NULL));
    return cells;
}

uint32_t rig_cell(cls_buffer cells, size_t i) {
    uint32_t value = 0;
    OK(cls_copy_d2h(&value, cells, i * sizeof value, sizeof value, NULL));
    return value;
}

bool rig_is_pending(cls_event event) {
    const double at_once_ms = 5;
    double start = now_ms();
    return cls_event_query(event) == CLS_NOT_READY ||
           (rig_has_quirk("query_waits") && now_ms() - start > at_once_ms);
}

bool rig_kernels_always_pass(void) {
    static const double lengths_ms[] = {100, 300, 900, 100, 300, 900};
    cls_stream longer = rig_own_stream(), shorter = rig_own_stream();
    cls_buffer cells = rig_cells(2);
    cls_event end = rig_event();
    bool passes = true;
    for (unsigned i = 0; i < sizeof lengths_ms / sizeof *lengths_ms && passes; i++) {
        OK(rig_set(longer, cells, 0, 3, lengths_ms[i]));
        OK(cls_event_record(end, longer));
        OK(rig_set(shorter, cells, 1, 5, 1));
        OK(cls_stream_synchronize(shorter));
        passes = rig_is_pending(end);
        OK(cls_stream_synchronize(longer));
    }
    OK(cls_event_destroy(end));
    OK(cls_buffer_destroy(cells));
    OK(cls_stream_destroy(shorter));
    OK(cls_stream_destroy(longer));
    return passes;
}

bool rig_returns_early(cls_stream stream, cls_status (*call)(void *arg), void *arg) {
    cls_buffer cells = rig_cells(1);
    cls_event ahead = rig_event();
    bool early = false;
    for (double ms = 30; ms < 3000 && !early; ms *= 8) {
        OK(rig_set(stream, cells, 0, 1, ms));
        OK(cls_event_record(ahead, stream));
        OK(call(arg));
        early = rig_is_pending(ahead);
        OK(cls_stream_synchronize(stream));
        OK(cls_context_synchronize(rig.context));
    }
    OK(cls_event_destroy(ahead));
    OK(cls_buffer_destroy(cells));
    return early;
}

/* --- gates --- */

void gate_init(struct gate *gate) {
    assert_int_equal(sem_init(&gate->entered, 0, 0), 0);
    assert_int_equal(sem_init(&gate->open, 0, 0), 0);
}

void gate_destroy(struct gate *gate) {
    sem_destroy(&gate->entered);
    sem_destroy(&gate->open);
}

bool sem_comes(sem_t *sem) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += patience(COMES_S);
    return sem_timedwait(sem, &until) == 0 && cls_check_acquire(sem) == CLS_SUCCESS;
}

void gate_hold(void *arg) {
    struct gate *gate = arg;
    cls_check_release(&gate->entered);
    sem_post(&gate->entered);
    sem_comes(&gate->open);
}

void gate_open(struct gate *gate) { sem_post(&gate->open); }

void gate_await(struct gate *gate) { assert_true(sem_comes(&gate->entered)); }

bool counter_comes(const _Atomic unsigned *counter, unsigned value) {
    double until = now_ms() + 1e3 * patience(COMES_S);
    while (*counter < value && now_ms() < until)
        nap_ms(1);
    return *counter >= value && cls_check_acquire((const void *)counter) == CLS_SUCCESS;
}

/* --- failures --- */

static cl_int return_code(cl_command_queue queue, void *arg) {
    (void)queue;
    return (cl_int)(intptr_t)arg;
}

cls_status rig_fail(cls_stream stream, const char *label, cl_int code) {
    return cls_stream_foreign_async(stream, label, return_code, (void *)(intptr_t)code);
}

/* --- graphs --- */

static cls_graph_exec end_capture(cls_stream stream, const cls_graph_config *config) {
    cls_graph graph;
    cls_graph_exec exec;
    OK(cls_stream_end_capture(stream, &graph));
    OK(cls_graph_instantiate(graph, config, &exec));
    OK(cls_graph_destroy(graph));
    return exec;
}

cls_graph_exec rig_end_capture(cls_stream stream) { return end_capture(stream, NULL); }

cls_graph_exec rig_end_fused(cls_stream stream) {
    cls_graph_config config = CLS_GRAPH_CONFIG_INIT;
    config.fuse = 1;
    return end_capture(stream, &config);
}

cls_graph_statistics rig_graph_statistics(cls_graph_exec exec) {
    cls_graph_statistics statistics = CLS_GRAPH_STATISTICS_INIT;
    OK(cls_graph_get_statistics(exec, &statistics));
    return statistics;
}

void rig_expect_fused(cls_graph_exec exec, uint64_t commands, uint64_t fused, uint64_t kernels) {
    const cls_graph_statistics statistics = rig_graph_statistics(exec);
    assert_int_equal(statistics.nodes, commands);
    assert_int_equal(statistics.fused_nodes, fused);
    assert_int_equal(statistics.fused_kernels, kernels);
}

/* --- threads --- */

enum { MANY_THREADS = 100 };

struct member {
    pthread_t thread;
    pthread_barrier_t *start;
    bool (*fn)(void *arg, unsigned i);
    void *arg;
    unsigned i;
    bool well;
};

static void *play(void *arg) {
    struct member *member = arg;
    pthread_barrier_wait(member->start);
    member->well = member->fn(member->arg, member->i);
    return NULL;
}

unsigned team_run(unsigned n, bool (*fn)(void *arg, unsigned i), void *arg) {
    struct member *members = calloc(n, sizeof *members);
    pthread_barrier_t start;
    pthread_attr_t attributes;
    unsigned failed = 0;
    assert_non_null(members);
    assert_int_equal(pthread_attr_init(&attributes), 0);
    if (n > MANY_THREADS) /* their stacks are to fit in 32 bits of addresses */
        assert_int_equal(pthread_attr_setstacksize(&attributes, 1 << 20), 0);
    assert_int_equal(pthread_barrier_init(&start, NULL, n), 0);
    for (unsigned i = 0; i < n; i++) {
        members[i] = (struct member){.start = &start, .fn = fn, .arg = arg, .i = i};
        assert_int_equal(pthread_create(&members[i].thread, &attributes, play, &members[i]), 0);
    }
    for (unsigned i = 0; i < n; i++) {
        pthread_join(members[i].thread, NULL);
        failed += !members[i].well;
    }
    pthread_barrier_destroy(&start);
    pthread_attr_destroy(&attributes);
    free(members);
    return failed;
}
