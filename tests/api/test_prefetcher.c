/* SPDX-License-Identifier: MIT */
/* Prefetchers: order, the end of the data, errors, early stop, bounds, and threads. */
#include <stdlib.h>
#include <string.h>

#include <clstream/prefetcher.h>

#include "../support/rig.h"

enum { CAPACITY = 64 * 4 };

struct data {
    uint64_t batches;
    uint64_t bad; /* the batch whose loading fails; UINT64_MAX: none */
    cls_status how;
    bool uneven; /* some loaders take longer than others */
    struct gate *gate;
    sem_t *ended;
    _Atomic unsigned calls, at_work, most_at_work;
    _Atomic unsigned char seen[4096];
};

/* A loader may only be about to begin when its prefetcher is destroyed: what it is given outlives the test. */
static struct data *data_new(uint64_t batches, bool uneven) {
    static struct data stock[64];
    static unsigned used;
    assert_true(used < sizeof stock / sizeof *stock);
    struct data *data = &stock[used++];
    data->batches = batches;
    data->bad = UINT64_MAX;
    data->uneven = uneven;
    return data;
}

/* Batch i is i % 16 + 1 words of value i. */
static cls_status load(void *arg, uint64_t index, void *memory, size_t capacity, size_t *bytes) {
    struct data *data = arg;
    uint32_t *words = memory;
    const unsigned n = ++data->at_work;
    data->calls++;
    if (n > data->most_at_work)
        data->most_at_work = n;
    if (index < sizeof data->seen)
        data->seen[index]++;
    if (data->gate)
        gate_hold(data->gate);
    if (data->uneven)
        nap_ms(index % 3);
    cls_status status = index == data->bad ? data->how : CLS_SUCCESS;
    if (!status && index < data->batches) {
        const size_t words_here = index % 16 + 1;
        if (words_here * 4 > capacity)
            abort();
        for (size_t i = 0; i < words_here; i++)
            words[i] = (uint32_t)index;
        *bytes = words_here * 4;
    }
    data->at_work--;
    return status;
}

static cls_prefetcher prefetcher_make(struct data *data, unsigned workers, unsigned depth) {
    cls_prefetcher_config config = CLS_PREFETCHER_CONFIG_INIT;
    cls_prefetcher prefetcher;
    config.workers = workers;
    config.depth = depth;
    OK(cls_prefetcher_create(rig.context, CAPACITY, load, data, &config, &prefetcher));
    return prefetcher;
}

/* Work on the batch: behind its upload, and ahead of the next one into the same memory. */
static void use(cls_prefetcher prefetcher, const cls_prefetched *batch, cls_stream stream,
                uint32_t *out) {
    OK(rig_step(stream, batch->buffer, 0, 5, 1, 1));
    OK(cls_copy_d2h_async(out, batch->buffer, 0, sizeof *out, stream));
    OK(cls_prefetcher_release(prefetcher, batch, stream));
}

static void run(unsigned workers, unsigned depth, uint64_t batches) {
    struct data *data = data_new(batches, true);
    cls_prefetcher prefetcher = prefetcher_make(data, workers, depth);
    cls_stream stream = rig_stream();
    uint32_t *out = calloc(batches + 1, sizeof *out);
    cls_prefetched batch;
    uint64_t n = 0;
    assert_non_null(out);
    for (;; n++) {
        OK(cls_prefetcher_next(prefetcher, stream, &batch));
        if (!batch.bytes)
            break;
        assert_int_equal(batch.index, n);
        EXPECT(CLS_ERROR_INVALID_VALUE, cls_buffer_destroy(batch.buffer));
        assert_int_equal(batch.bytes, (n % 16 + 1) * 4);
        use(prefetcher, &batch, stream, &out[n]);
    }
    assert_int_equal(n, batches);
    assert_null(batch.buffer);
    OK(cls_prefetcher_next(prefetcher, stream, &batch));
    assert_int_equal(batch.bytes, 0);
    OK(cls_stream_synchronize(stream));
    for (uint64_t i = 0; i < batches; i++) {
        assert_int_equal(out[i], i * 5 + 1);
        assert_int_equal(data->seen[i], 1);
    }
    assert_true(data->most_at_work <= (workers ? workers : 2));
    OK(cls_prefetcher_destroy(prefetcher));
    OK(cls_stream_destroy(stream));
    free(out);
}

static void batches_come_in_order(void **state) {
    (void)state;
    run(1, 1, 40);
    run(1, 3, 40);
    run(4, 6, 150);
    run(0, 0, 40);
    run(3, 1, 20);
}

static void no_data_is_an_end(void **state) {
    (void)state;
    run(2, 4, 0);
}

/* Whether the loader is called no more: for a while, since a busy machine may keep a thread back that has its
 * batch already. */
static bool calls_end(const struct data *data) {
    bool ended = false;
    for (int i = 0; i < 200 && !ended; i++) {
        const unsigned calls = data->calls;
        nap_ms(30);
        ended = !data->at_work && data->calls == calls;
    }
    return ended;
}

/* What the loader returns for a batch, and what comes in its turn. */
static void expect_the_end(cls_status returned, cls_status comes) {
    struct data *data = data_new(100, true);
    data->bad = 7;
    data->how = returned;
    cls_prefetcher prefetcher = prefetcher_make(data, 3, 5);
    cls_prefetched batch = {NULL, 123, 0};
    uint32_t out[8];
    for (unsigned i = 0; i < 7; i++) {
        OK(cls_prefetcher_next(prefetcher, NULL, &batch));
        assert_int_equal(batch.index, i);
        use(prefetcher, &batch, NULL, &out[i]);
    }
    for (int i = 0; i < 2; i++) {
        EXPECT(comes, cls_prefetcher_next(prefetcher, NULL, &batch));
        EXPECT(comes, cls_prefetcher_try_next(prefetcher, NULL, &batch));
        assert_non_null(strstr(cls_last_error_detail(), "batch 7"));
    }
    assert_int_equal(batch.index, 6);
    assert_true(calls_end(data)); /* nothing more is loaded behind an error */
    assert_true(data->calls <= 7 + 5);
    OK(cls_context_synchronize(rig.context));
    OK(cls_prefetcher_destroy(prefetcher));
}

static void an_error_comes_in_its_turn(void **state) {
    (void)state;
    expect_the_end(CLS_ERROR_IO, CLS_ERROR_IO);
    expect_the_end(CLS_NOT_READY, CLS_ERROR_INVALID_STATE);
}

/* The caller's work with a batch fails; the caller sees it, resets its stream and goes on. */
static void data_goes_on_behind_failed_work(void **state) {
    (void)state;
    struct data *data = data_new(20, false);
    cls_prefetcher prefetcher = prefetcher_make(data, 2, 3);
    cls_stream stream = rig_stream();
    cls_prefetched batch;
    uint32_t word;
    for (unsigned i = 0; i < 20; i++) {
        OK(cls_prefetcher_next(prefetcher, stream, &batch));
        assert_int_equal(batch.index, i);
        OK(cls_copy_d2h(&word, batch.buffer, 0, sizeof word, stream));
        assert_int_equal(word, i);
        if (i % 5 == 1) {
            OK(rig_fail(stream, "bad command", CL_OUT_OF_RESOURCES));
            EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(stream));
        }
        OK(cls_prefetcher_release(prefetcher, &batch, stream));
        OK(cls_stream_reset(stream));
    }
    OK(cls_prefetcher_next(prefetcher, stream, &batch));
    assert_int_equal(batch.bytes, 0);
    OK(cls_prefetcher_destroy(prefetcher));
    OK(cls_stream_destroy(stream));
}

static void await_word(const char *word) {
    char text[8192];
    do {
        nap_ms(1);
        OK(cls_context_explain(rig.context, text, sizeof text, NULL));
    } while (!strstr(text, word));
}

/* It fails with the upload behind it at hand: no batch is handed out that never came. */
static void an_upload_behind_failed_work_ends_the_data(void **state) {
    (void)state;
    cls_prefetcher prefetcher = prefetcher_make(data_new(20, false), 1, 1);
    cls_stream stream = rig_stream(), other = rig_stream();
    cls_prefetched batch;
    struct gate gate;
    gate_init(&gate);
    OK(cls_prefetcher_next(prefetcher, stream, &batch));
    OK(cls_stream_launch_host_async(stream, gate_hold, &gate));
    OK(rig_fail(stream, "bad command", CL_OUT_OF_RESOURCES));
    OK(cls_prefetcher_release(prefetcher, &batch, stream));
    await_word("stream 'prefetch': 1 of 2 commands are done"); /* the next upload is submitted */
    gate_open(&gate);
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(stream));
    for (int i = 0; i < 2; i++) {
        EXPECT(CLS_ERROR_COMMAND_FAILED, cls_prefetcher_next(prefetcher, other, &batch));
        assert_non_null(strstr(cls_last_error_detail(), "batch 1"));
        EXPECT(CLS_ERROR_COMMAND_FAILED, cls_prefetcher_try_next(prefetcher, other, &batch));
    }
    OK(cls_stream_synchronize(other));
    OK(cls_prefetcher_destroy(prefetcher));
    OK(cls_stream_destroy(stream));
    OK(cls_stream_destroy(other));
    gate_destroy(&gate);
}

/* Who holds one batch for long takes one place, not the turn of all that come after it. */
/* The stream that gave it back has failed, by work that it waited for, behind a step that is still at work. */
static void memory_is_loaded_anew_behind_all_work_before_a_failure(void **state) {
    (void)state;
    struct data *data = data_new(2, false);
    cls_prefetcher prefetcher = prefetcher_make(data, 1, 1);
    cls_stream stream = rig_stream(), culprit = rig_stream(), fine = rig_stream();
    cls_event failed = rig_event();
    cls_prefetched batch;
    OK(rig_fail(culprit, "the culprit", -5));
    OK(cls_event_record(failed, culprit));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(culprit));
    OK(cls_prefetcher_next(prefetcher, stream, &batch));
    OK(rig_set(stream, batch.buffer, 0, 77, 300));
    OK(cls_stream_wait_event(stream, failed));
    OK(cls_prefetcher_release(prefetcher, &batch, stream));
    OK(cls_prefetcher_next(prefetcher, fine, &batch));
    OK(cls_stream_synchronize(fine));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(stream));
    assert_int_equal(rig_cell(batch.buffer, 0), 1);
    OK(cls_prefetcher_release(prefetcher, &batch, fine));
    OK(cls_prefetcher_destroy(prefetcher));
    OK(cls_stream_destroy(stream));
    OK(cls_stream_destroy(culprit));
    OK(cls_stream_destroy(fine));
    OK(cls_event_destroy(failed));
}

static void batches_are_given_back_in_any_order(void **state) {
    (void)state;
    struct data *data = data_new(1000, true);
    cls_prefetcher prefetcher = prefetcher_make(data, 2, 3);
    cls_prefetched kept[2], batch;
    uint32_t value;
    OK(cls_prefetcher_next(prefetcher, NULL, &kept[0]));
    OK(cls_prefetcher_next(prefetcher, NULL, &kept[1]));
    for (unsigned i = 2; i < 12; i++) {
        OK(cls_prefetcher_next(prefetcher, NULL, &batch));
        assert_int_equal(batch.index, i);
        OK(cls_copy_d2h(&value, batch.buffer, 0, sizeof value, NULL));
        assert_int_equal(value, i);
        OK(cls_prefetcher_release(prefetcher, &batch, NULL));
    }
    for (unsigned i = 0; i < 2; i++) {
        OK(cls_copy_d2h(&value, kept[i].buffer, 0, sizeof value, NULL));
        assert_int_equal(value, i);
        OK(cls_prefetcher_release(prefetcher, &kept[i], NULL));
        EXPECT(CLS_ERROR_INVALID_STATE, cls_prefetcher_release(prefetcher, &kept[i], NULL));
    }
    OK(cls_prefetcher_next(prefetcher, NULL, &batch));
    assert_int_equal(batch.index, 12);
    OK(cls_prefetcher_destroy(prefetcher));
}

static void at_most_depth_batches_are_ahead(void **state) {
    (void)state;
    struct data *data = data_new(1000, false);
    cls_prefetcher prefetcher = prefetcher_make(data, 2, 4);
    cls_prefetched batch[4], extra;
    for (int i = 0; i < 4; i++)
        OK(cls_prefetcher_next(prefetcher, NULL, &batch[i]));
    EXPECT(CLS_ERROR_LIMIT, cls_prefetcher_next(prefetcher, NULL, &extra));
    EXPECT(CLS_ERROR_LIMIT, cls_prefetcher_try_next(prefetcher, NULL, &extra));
    nap_ms(20);
    assert_int_equal(data->calls, 4);
    OK(cls_prefetcher_release(prefetcher, &batch[0], NULL));
    EXPECT(CLS_ERROR_INVALID_STATE, cls_prefetcher_release(prefetcher, &batch[0], NULL));
    OK(cls_prefetcher_next(prefetcher, NULL, &extra));
    assert_int_equal(extra.index, 4);
    EXPECT(CLS_ERROR_INVALID_STATE, cls_prefetcher_release(prefetcher, &batch[0], NULL));
    OK(cls_prefetcher_destroy(prefetcher));
}

static void looking_does_not_wait(void **state) {
    (void)state;
    struct gate gate;
    struct data data = {.batches = 1, .bad = UINT64_MAX, .gate = &gate};
    cls_prefetched batch;
    gate_init(&gate);
    cls_prefetcher prefetcher = prefetcher_make(&data, 1, 2);
    gate_await(&gate);
    EXPECT(CLS_NOT_READY, cls_prefetcher_try_next(prefetcher, NULL, &batch));
    gate_open(&gate);
    cls_status status;
    while ((status = cls_prefetcher_try_next(prefetcher, NULL, &batch)) == CLS_NOT_READY)
        nap_ms(1);
    OK(status);
    assert_int_equal(batch.index, 0);
    gate_open(&gate); /* for the call that finds the end */
    OK(cls_prefetcher_destroy(prefetcher));
    assert_true(counter_comes(&data.calls, 2));
    while (data.at_work)
        nap_ms(1);
    gate_destroy(&gate);
}

static sleeper awaiting[2];

static bool await_batch(void *arg, unsigned i) {
    cls_prefetched batch;
    sleeper_here(&awaiting[i]);
    return cls_prefetcher_next(*(cls_prefetcher *)arg, NULL, &batch) == CLS_SUCCESS &&
           batch.bytes == 0;
}

static bool stop_soon(void *arg, unsigned i) {
    for (unsigned k = 0; k < 2; k++)
        await_sleeper(&awaiting[k]);
    return i ? cls_prefetcher_stop(*(cls_prefetcher *)arg) == CLS_SUCCESS : false;
}

static bool wait_or_stop(void *arg, unsigned i) {
    return i == 2 ? stop_soon(arg, i) : await_batch(arg, i);
}

/* Those who wait are told, though the loader is still at work. */
static void stop_ends_every_wait(void **state) {
    (void)state;
    struct gate gate;
    struct data data = {.batches = 10, .bad = UINT64_MAX, .gate = &gate};
    gate_init(&gate);
    cls_prefetcher prefetcher = prefetcher_make(&data, 1, 2);
    gate_await(&gate);
    assert_int_equal(team_run(3, wait_or_stop, &prefetcher), 0);
    OK(cls_prefetcher_destroy(prefetcher));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_prefetcher_stop(prefetcher));
    gate_open(&gate);
    while (data.at_work)
        nap_ms(1);
    nap_ms(20);
    assert_int_equal(data.calls, 1);
    gate_destroy(&gate);
}

static void destroyed_in_the_middle(void **state) {
    (void)state;
    cls_stream stream = rig_stream();
    for (int i = 0; i < 20; i++) {
        static uint32_t out[3];
        struct data *data = data_new(1000, false);
        cls_prefetcher prefetcher = prefetcher_make(data, 2, 4);
        cls_prefetched batch;
        for (int k = 0; k < 3; k++) {
            OK(cls_prefetcher_next(prefetcher, stream, &batch));
            use(prefetcher, &batch, stream, &out[k]);
        }
        OK(cls_prefetcher_destroy(prefetcher));
        OK(cls_stream_synchronize(stream));
        assert_int_equal(out[2], 11);
        while (data->at_work)
            nap_ms(1);
    }
    OK(cls_stream_destroy(stream));
}

/* --- the end --- */

struct owned {
    sem_t entered, open, ended;
    _Atomic unsigned at_work, ends, late;
};

static cls_status load_held(void *arg, uint64_t index, void *memory, size_t capacity,
                            size_t *bytes) {
    struct owned *owned = arg;
    (void)index;
    (void)memory;
    (void)capacity;
    owned->late += owned->ends;
    owned->at_work++;
    sem_post(&owned->entered);
    sem_wait(&owned->open);
    owned->at_work--;
    *bytes = 4;
    return CLS_SUCCESS;
}

static void count_end(void *arg) {
    struct owned *owned = arg;
    owned->late += owned->at_work;
    owned->ends++;
    sem_post(&owned->ended);
}

/* The end comes once, when the last loader that was at work has returned, and not before. */
static void the_end_is_told(void **state) {
    enum { WORKERS = 3 };
    cls_prefetcher_config config = CLS_PREFETCHER_CONFIG_INIT;
    cls_prefetcher prefetcher;
    struct owned owned = {.ends = 0};
    (void)state;
    sem_init(&owned.entered, 0, 0);
    sem_init(&owned.open, 0, 0);
    sem_init(&owned.ended, 0, 0);
    config.workers = WORKERS;
    config.end = count_end;
    OK(cls_prefetcher_create(rig.context, CAPACITY, load_held, &owned, &config, &prefetcher));
    for (int i = 0; i < WORKERS; i++)
        assert_true(sem_comes(&owned.entered));
    OK(cls_prefetcher_destroy(prefetcher));
    for (int i = 0; i < WORKERS; i++) {
        nap_ms(5);
        assert_int_equal(owned.ends, 0);
        sem_post(&owned.open);
    }
    assert_true(sem_comes(&owned.ended));
    assert_int_equal(owned.ends, 1);
    assert_int_equal(owned.late, 0);
    sem_destroy(&owned.entered);
    sem_destroy(&owned.open);
    sem_destroy(&owned.ended);
}

static void tell_end(void *arg) { sem_post(((struct data *)arg)->ended); }

/* A worker that waits for the device, which is not done with its memory, calls no loader when a stop has come
 * meanwhile. */
static void no_loader_is_called_behind_a_stop(void **state) {
    (void)state;
    cls_prefetcher_config config = CLS_PREFETCHER_CONFIG_INIT;
    struct data *data = data_new(1000, false);
    cls_prefetcher prefetcher;
    cls_prefetched batch;
    cls_stream stream = rig_stream();
    struct gate gate;
    sem_t ended;
    gate_init(&gate);
    sem_init(&ended, 0, 0);
    data->ended = &ended;
    config.workers = config.depth = 1;
    config.end = tell_end;
    OK(cls_prefetcher_create(rig.context, CAPACITY, load, data, &config, &prefetcher));
    OK(cls_stream_launch_host_async(stream, gate_hold, &gate));
    gate_await(&gate);
    for (int i = 0; i < 2; i++) {
        OK(cls_prefetcher_next(prefetcher, stream, &batch));
        OK(cls_prefetcher_release(prefetcher, &batch, stream));
    }
    nap_ms(30);
    OK(cls_prefetcher_stop(prefetcher));
    const unsigned loads = data->calls;
    gate_open(&gate);
    OK(cls_prefetcher_destroy(prefetcher));
    assert_true(sem_comes(&ended));
    assert_int_equal(data->calls, loads);
    OK(cls_stream_synchronize(stream));
    OK(cls_stream_destroy(stream));
    sem_destroy(&ended);
    gate_destroy(&gate);
}

/* --- several consumers --- */

struct crowd {
    cls_prefetcher prefetcher;
    _Atomic unsigned char seen[300];
    _Atomic unsigned sum;
};

static bool consume(void *arg, unsigned i) {
    struct crowd *crowd = arg;
    cls_prefetched batch;
    (void)i;
    for (;;) {
        uint32_t value;
        const cls_status status = cls_prefetcher_next(crowd->prefetcher, NULL, &batch);
        if (status == CLS_ERROR_LIMIT)
            continue; /* the others hold them all */
        if (status || !batch.bytes)
            return !status;
        if (crowd->seen[batch.index]++ ||
            cls_copy_d2h(&value, batch.buffer, 0, sizeof value, NULL) || value != batch.index ||
            cls_prefetcher_release(crowd->prefetcher, &batch, NULL))
            return false;
        crowd->sum++;
    }
}

static void each_batch_goes_to_one_thread(void **state) {
    (void)state;
    static struct crowd crowd;
    struct data *data = data_new(300, false);
    crowd.prefetcher = prefetcher_make(data, 3, 6);
    assert_int_equal(team_run(4, consume, &crowd), 0);
    assert_int_equal(crowd.sum, 300);
    OK(cls_prefetcher_destroy(crowd.prefetcher));
}

static _Atomic int inside;

static void next_inside(void *arg) {
    cls_prefetched batch;
    inside = cls_prefetcher_next(arg, NULL, &batch);
}

static void next_is_refused_in_a_host_function(void **state) {
    (void)state;
    struct data *data = data_new(3, false);
    cls_prefetcher prefetcher = prefetcher_make(data, 1, 2);
    OK(cls_stream_launch_host_async(NULL, next_inside, prefetcher));
    OK(cls_stream_synchronize(NULL));
    assert_int_equal(inside, CLS_ERROR_WOULD_DEADLOCK);
    OK(cls_prefetcher_destroy(prefetcher));
    while (data->at_work)
        nap_ms(1);
}

static cls_status load_too_much(void *arg, uint64_t index, void *memory, size_t capacity,
                                size_t *bytes) {
    (void)arg;
    (void)index;
    (void)memory;
    *bytes = capacity + 1;
    return CLS_SUCCESS;
}

/* --- what a loader knows and says --- */

struct sayer {
    const char *message; /* NULL: a call of the library fails */
    unsigned workers;
    _Atomic unsigned busy[4], wrong;
    sem_t ended;
};

static void post_ended(void *arg) { sem_post(&((struct sayer *)arg)->ended); }

static cls_status load_and_fail(void *arg, uint64_t index, void *memory, size_t capacity,
                                size_t *bytes) {
    struct sayer *sayer = arg;
    unsigned worker = 77;
    cls_buffer none;
    (void)memory;
    OK(cls_prefetcher_get_worker(&worker));
    if (worker >= sayer->workers || sayer->busy[worker]++)
        sayer->wrong++;
    nap_ms(1);
    if (worker < sayer->workers)
        sayer->busy[worker]--;
    *bytes = capacity;
    if (index < 20)
        return CLS_SUCCESS;
    if (!sayer->message)
        return cls_buffer_create(rig.context, 0, &none);
    OK(cls_prefetcher_set_message(sayer->message));
    return CLS_ERROR_INVALID_VALUE;
}

static void expect_failure(struct sayer *sayer, const char *const *said) {
    cls_prefetcher_config config = CLS_PREFETCHER_CONFIG_INIT;
    cls_prefetcher prefetcher;
    cls_prefetched batch;
    cls_status status;
    config.workers = sayer->workers;
    config.end = post_ended;
    assert_int_equal(sem_init(&sayer->ended, 0, 0), 0);
    OK(cls_prefetcher_create(rig.context, 8, load_and_fail, sayer, &config, &prefetcher));
    while (!(status = cls_prefetcher_next(prefetcher, NULL, &batch)))
        OK(cls_prefetcher_release(prefetcher, &batch, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, status);
    for (int i = 0; i < 2; i++)
        if (!strstr(cls_last_error_detail(), said[i]))
            fail_msg("\"%s\" is not said by: %s", said[i], cls_last_error_detail());
    OK(cls_prefetcher_destroy(prefetcher));
    assert_true(sem_comes(&sayer->ended)); /* the loaders use `sayer` no more */
    assert_int_equal(sayer->wrong, 0);
    sem_destroy(&sayer->ended);
}

static void a_loader_says_why_it_fails(void **state) {
    (void)state;
    static const char *const own[] = {"worker 0 of the prefetcher did not load batch 20",
                                      "disk 7 is gone"},
                             *const librarys[] = {"did not load batch 20", "0 bytes"};
    struct sayer one = {.message = "disk 7 is gone", .workers = 1}, four = {.workers = 4};
    unsigned worker = 5;
    expect_failure(&one, own);
    expect_failure(&four, librarys);
    EXPECT(CLS_ERROR_INVALID_STATE, cls_prefetcher_get_worker(&worker));
    assert_int_equal(worker, 5);
    EXPECT(CLS_ERROR_INVALID_STATE, cls_prefetcher_set_message("no loader"));
}

static void bad_arguments(void **state) {
    (void)state;
    cls_prefetcher_config config = CLS_PREFETCHER_CONFIG_INIT;
    cls_prefetcher prefetcher = NULL;
    cls_prefetched batch;
    EXPECT(CLS_ERROR_INVALID_VALUE,
           cls_prefetcher_create(rig.context, 1, NULL, NULL, NULL, &prefetcher));
    EXPECT(CLS_ERROR_INVALID_VALUE,
           cls_prefetcher_create(rig.context, 0, load, NULL, NULL, &prefetcher));
    config.workers = CLS_PREFETCHER_MAX_WORKERS + 1;
    EXPECT(CLS_ERROR_INVALID_VALUE,
           cls_prefetcher_create(rig.context, 1, load, NULL, &config, &prefetcher));
    assert_null(prefetcher);
    OK(cls_prefetcher_create(rig.context, 8, load_too_much, NULL, NULL, &prefetcher));
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_prefetcher_next(prefetcher, NULL, &batch));
    assert_non_null(strstr(cls_last_error_detail(), "9 bytes, more than the capacity of 8"));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_prefetcher_get_worker(NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_prefetcher_set_message(NULL));
    OK(cls_prefetcher_destroy(prefetcher));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_come_in_order),
        cmocka_unit_test(no_data_is_an_end),
        cmocka_unit_test(an_error_comes_in_its_turn),
        cmocka_unit_test(data_goes_on_behind_failed_work),
        cmocka_unit_test(an_upload_behind_failed_work_ends_the_data),
        cmocka_unit_test(memory_is_loaded_anew_behind_all_work_before_a_failure),
        cmocka_unit_test(batches_are_given_back_in_any_order),
        cmocka_unit_test(at_most_depth_batches_are_ahead),
        cmocka_unit_test(looking_does_not_wait),
        cmocka_unit_test(stop_ends_every_wait),
        cmocka_unit_test(destroyed_in_the_middle),
        cmocka_unit_test(the_end_is_told),
        cmocka_unit_test(no_loader_is_called_behind_a_stop),
        cmocka_unit_test(each_batch_goes_to_one_thread),
        cmocka_unit_test(next_is_refused_in_a_host_function),
        cmocka_unit_test(a_loader_says_why_it_fails),
        cmocka_unit_test(bad_arguments),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
