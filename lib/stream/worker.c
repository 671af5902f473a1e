/* SPDX-License-Identifier: MIT */
/* The pool of worker threads, and the streams that wait for one of them. */
#include "stream/worker.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/error.h"
#include "base/thread.h"
#include "stream/context.h"
#include "stream/stream.h"
#include "stream/worker_commands.h"
#include "system/clocks.h"
#include "system/conditions.h"

static const uint64_t IDLE_NS = 5 * CLOCK_SECOND;

/* A thread that has just run something spins for this long before it sleeps: host functions come in rows, and waking a thread
 * costs more than most of them take. Not beside a CPU device, which needs the cores. */
static const uint64_t SPIN_NS = 60 * 1000;

/* Guards what follows. threads >= reserved, so that a stream with a reservation always finds a thread: those that do not run
 * a stream serve the queue. */
static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work_came, thread_went;
static pthread_once_t conditions_made = PTHREAD_ONCE_INIT;
static unsigned threads, reserved;
static bool stop;
static struct stream *first_task, *last_task;
static _Atomic unsigned tasks; /* length of the queue; read by the thread that spins */
static bool spinning;          /* one thread spins: the next task needs no signal */

static _Thread_local bool serves; /* this thread is one of the pool */
static _Thread_local struct stream *user_code_of;

bool worker_in_user_code(void) { return user_code_of != NULL; }
bool worker_is_in_code_of(const struct stream *stream) { return user_code_of == stream; }
struct stream *worker_user_code_of(void) {
    return user_code_of;
}
void worker_enter_user_code(struct stream *stream) { user_code_of = stream; }
void worker_leave_user_code(void) { user_code_of = NULL; }

static void make_conditions(void) {
    condition_init(&work_came);
    condition_init(&thread_went);
}

/* Under the lock, which it drops meanwhile. */
static void spin(void) {
    if (spinning || stop)
        return;
    spinning = true;
    uint64_t until = clock_now_ns() + SPIN_NS;
    pthread_mutex_unlock(&pool_lock);
    while (!atomic_load_explicit(&tasks, memory_order_relaxed) && clock_now_ns() < until)
        system_yield();
    pthread_mutex_lock(&pool_lock);
    spinning = false;
}

static struct stream *take_task(void) {
    struct stream *stream = first_task;
    first_task = stream->task_next;
    if (!first_task)
        last_task = NULL;
    atomic_fetch_sub(&tasks, 1);
    return stream;
}

/* Under the lock: the next stream, or NULL when the thread should go. */
static struct stream *next_task(void) {
    uint64_t until = clock_now_ns() + IDLE_NS;
    while (!first_task) {
        bool spare = threads > reserved;
        if (stop && spare)
            return NULL;
        if (!condition_wait(&work_came, &pool_lock, until)) {
            if (!first_task && threads > reserved)
                return NULL;
            until = clock_now_ns() + IDLE_NS;
        }
    }
    return take_task();
}

static void *serve(void *unused) {
    (void)unused;
    serves = true;
    pthread_mutex_lock(&pool_lock);
    for (;;) {
        struct stream *stream = next_task();
        if (!stream)
            break;
        pthread_mutex_unlock(&pool_lock);
        worker_commands_run(stream);
        bool beside = !device_uses_host_cores(stream->context->device);
        object_release(&stream->object);
        pthread_mutex_lock(&pool_lock);
        if (!first_task && beside)
            spin();
    }
    threads--;
    pthread_cond_broadcast(&thread_went);
    pthread_mutex_unlock(&pool_lock);
    return NULL;
}

/* Under the lock. */
static cls_status add_thread(void) {
    int error = thread_start(NULL, "cls-worker", serve, NULL);
    if (error)
        return error_set(CLS_ERROR_OUT_OF_MEMORY, "no thread for host functions: %s",
                         strerror(error));
    threads++;
    return CLS_SUCCESS;
}

cls_status workers_reserve(void) {
    cls_status status = CLS_SUCCESS;
    pthread_once(&conditions_made, make_conditions);
    pthread_mutex_lock(&pool_lock);
    if (threads < reserved + 1)
        status = add_thread();
    if (!status)
        reserved++;
    pthread_mutex_unlock(&pool_lock);
    return status;
}

void workers_unreserve(void) {
    pthread_mutex_lock(&pool_lock);
    reserved--;
    if (stop)
        pthread_cond_broadcast(&work_came);
    pthread_mutex_unlock(&pool_lock);
}

bool workers_replace_this(void) {
    pthread_mutex_lock(&pool_lock);
    const bool replaced = !serves || !add_thread();
    if (serves && replaced) {
        serves = false;
        threads--;
    }
    pthread_mutex_unlock(&pool_lock);
    return replaced;
}

void workers_run(struct stream *stream) {
    pthread_mutex_lock(&pool_lock);
    stream->task_next = NULL;
    if (last_task)
        last_task->task_next = stream;
    else
        first_task = stream;
    last_task = stream;
    bool seen = spinning && atomic_load(&tasks) == 0;
    atomic_fetch_add(&tasks, 1);
    if (!seen)
        pthread_cond_signal(&work_came);
    pthread_mutex_unlock(&pool_lock);
}

void workers_stop(uint64_t deadline) {
    pthread_once(&conditions_made, make_conditions);
    pthread_mutex_lock(&pool_lock);
    stop = true;
    pthread_cond_broadcast(&work_came);
    while (threads > serves && condition_wait(&thread_went, &pool_lock, deadline))
        continue;
    pthread_mutex_unlock(&pool_lock);
}
