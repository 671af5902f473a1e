/* SPDX-License-Identifier: MIT */
/*
 * Millions of commands, and the memory and the objects that are there after each part of them: flat after
 * the warm-up, or the program fails. Run by `make soak`.
 *
 *   SOAK_COMMANDS  how many (default 10,000,000), over all threads
 *   SOAK_SECONDS   for how long instead
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <clstream.h>

#include "batch/batch.h"
#include "command/kernel.h"
#include "coordinator/coordinator.h"
#include "coordinator/task.h"
#include "coordinator/timeline.h"
#include "memory/buffer.h"
#include "pipeline/stages.h"
#include "stream/context.h"
#include "stream/event.h"
#include "stream/stream.h"
#include "tests/layers/faults/controls.h"
#include "tests/layers/loading.h"
#include "work.h"

enum { THREADS = 2, SAMPLES = 20, WARM = 5, CHUNK = 1000, SETTLE_MS = 10000 };

/* Memory that may come after the warm-up: allocators of the process, the driver and its compiler keep what
 * they were given in pieces. Over the default count it is four bytes a command. */
enum { SLACK_KIB = 32 * 1024 };

/* Objects that may come and go: an event keeps the stream of its latest record, a stream its tail, a kernel
 * spare instances. */
enum { SLACK_OBJECTS = 32 };

static const struct {
    const char *name;
    struct object_pool *pool;
} pools[] = {
    {"contexts", &context_pool}, {"streams", &stream_pool},   {"events", &event_pool},
    {"buffers", &buffer_pool},   {"programs", &program_pool}, {"kernels", &kernel_pool},
    {"lines", &timeline_pool},   {"sets", &coordinator_pool}, {"tasks", &task_graph_pool},
    {"batches", &batch_pool},    {"pipes", &pipeline_pool},
};
enum { POOLS = sizeof pools / sizeof *pools };

struct sample {
    double seconds;
    uint64_t commands;
    long kib;
    long objects[POOLS];
    long in_driver;
    uint64_t pool_bytes; /* of stream-ordered memory, taken from the driver */
};

static const struct fault_controls *controls;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* --- counting --- */

static long resident_kib(void) {
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%*d %ld", &pages) != 1)
        pages = 0;
    if (file)
        fclose(file);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static uint64_t reserved_bytes(cls_context context) {
    cls_mempool pool;
    cls_mempool_statistics stats = CLS_MEMPOOL_STATISTICS_INIT;
    if (cls_mempool_default(context, &pool) || cls_mempool_get_statistics(pool, &stats))
        exit(99);
    return stats.reserved;
}

static void count_objects(struct sample *sample) {
    char text[256];
    for (unsigned i = 0; i < POOLS; i++)
        sample->objects[i] = atomic_load(&pools[i].pool->live);
    sample->in_driver = controls->live(text, "");
}

static bool is_more(const struct sample *a, const struct sample *b) {
    for (unsigned i = 0; i < POOLS; i++)
        if (a->objects[i] > b->objects[i] + SLACK_OBJECTS)
            return true;
    return a->in_driver > b->in_driver + SLACK_OBJECTS;
}

/* What has been destroyed goes when the library notices that its work is done. */
static void settle(struct sample *sample, const struct sample *base) {
    for (int ms = 0; ms < SETTLE_MS; ms++) {
        const struct timespec nap = {0, 1000000};
        count_objects(sample);
        if (base ? !is_more(sample, base) : ms > 200)
            return;
        nanosleep(&nap, NULL);
    }
}

/* --- running --- */

struct worker {
    pthread_t thread;
    struct work *work;
    uint64_t commands; /* to submit; 0: until the time */
    double until;
    uint64_t done;
    bool well;
};

static bool is_over(const struct worker *worker) {
    return worker->commands ? worker->done >= worker->commands : now() >= worker->until;
}

static void *run(void *arg) {
    struct worker *worker = arg;
    worker->well = true;
    worker->done = 0;
    while (worker->well && !is_over(worker)) {
        const uint64_t left = worker->commands ? worker->commands - worker->done : CHUNK;
        const uint64_t chunk = left < CHUNK ? left : CHUNK;
        worker->well = work_run(worker->work, chunk);
        worker->done += chunk;
    }
    worker->well = worker->well && work_check(worker->work);
    return NULL;
}

/* One part of the whole, by all threads; the commands submitted, or 0 when something failed. */
static uint64_t run_part(struct worker *workers, uint64_t commands, double seconds) {
    uint64_t done = 0;
    bool all_well = true;
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i].commands = seconds > 0 ? 0 : commands / THREADS;
        workers[i].until = now() + seconds;
        if (pthread_create(&workers[i].thread, NULL, run, &workers[i]))
            exit(99);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        done += workers[i].done;
        all_well = all_well && workers[i].well;
    }
    return all_well ? done : 0;
}

/* --- saying --- */

static void print_head(void) {
    printf("%12s %9s %9s", "commands", "seconds", "RSS MiB");
    for (unsigned i = 0; i < POOLS; i++)
        printf(" %8s", pools[i].name);
    printf(" %9s %9s\n", "in driver", "pool KiB");
}

static void print_sample(const struct sample *sample) {
    printf("%12" PRIu64 " %9.1f %9.1f", sample->commands, sample->seconds,
           (double)sample->kib / 1024);
    for (unsigned i = 0; i < POOLS; i++)
        printf(" %8ld", sample->objects[i]);
    printf(" %9ld %9" PRIu64 "\n", sample->in_driver, sample->pool_bytes / 1024);
    fflush(stdout);
}

static bool is_flat(const struct sample *warm, const struct sample *last) {
    const long limit = warm->kib + SLACK_KIB;
    for (unsigned i = 0; i < POOLS; i++)
        if (last->objects[i] > warm->objects[i] + SLACK_OBJECTS)
            printf("NOT FLAT: %ld %s after the warm-up, %ld at the end\n", warm->objects[i],
                   pools[i].name, last->objects[i]);
    if (last->in_driver > warm->in_driver + SLACK_OBJECTS)
        printf("NOT FLAT: the driver holds %ld objects after the warm-up, %ld at the end\n",
               warm->in_driver, last->in_driver);
    if (last->kib > limit)
        printf("NOT FLAT: %ld KiB after the warm-up, %ld at the end\n", warm->kib, last->kib);
    if (last->pool_bytes > 2 * warm->pool_bytes) /* a moment may ask for a block more */
        puts("NOT FLAT: the memory pool holds twice what it held after the warm-up");
    return !is_more(last, warm) && last->kib <= limit && last->pool_bytes <= 2 * warm->pool_bytes;
}

static uint64_t wanted_commands(void) {
    const char *text = getenv("SOAK_COMMANDS");
    return text && *text ? strtoull(text, NULL, 10) : 10000000;
}

static double wanted_seconds(void) {
    const char *text = getenv("SOAK_SECONDS");
    return text && *text ? strtod(text, NULL) : 0;
}

static int soak(cls_context context) {
    static struct sample samples[SAMPLES];
    struct worker workers[THREADS];
    const double start = now(), seconds = wanted_seconds() / SAMPLES;
    const uint64_t commands = wanted_commands() / SAMPLES;
    uint64_t sum = 0;
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i].work = work_new(context, i);
        if (!workers[i].work)
            return 1;
    }
    print_head();
    for (unsigned i = 0; i < SAMPLES; i++) {
        const uint64_t done = run_part(workers, commands, seconds);
        if (!done)
            return 1;
        sum += done;
        settle(&samples[i], i >= WARM ? &samples[WARM - 1] : NULL);
        samples[i].seconds = now() - start;
        samples[i].commands = sum;
        samples[i].kib = resident_kib();
        samples[i].pool_bytes = reserved_bytes(context);
        print_sample(&samples[i]);
    }
    for (unsigned i = 0; i < THREADS; i++)
        work_free(workers[i].work);
    return is_flat(&samples[WARM - 1], &samples[SAMPLES - 1]) ? 0 : 1;
}

int main(int argc, char **argv) {
    cls_context context;
    (void)argc;
    /* Read at the start that layer_start makes: with an arena for each of a driver's threads, compilers run
     * on them leave holes for hours, which no one has leaked. */
    setenv("MALLOC_ARENA_MAX", "1", 0);
    layer_start("fault_layer", argv);
    controls = layer_controls("fault_layer", FAULT_CONTROLS);
    if (cls_context_create(NULL, &context)) {
        fprintf(stderr, "no context: %s\n", cls_last_error_detail());
        return 1;
    }
    const int failed = soak(context);
    cls_context_destroy(context);
    puts(failed ? "soak: FAILED" : "soak: flat");
    return failed;
}
