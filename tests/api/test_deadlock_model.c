/* SPDX-License-Identifier: MIT */
/*
 * Random programs of waits, signals, events and host functions; each call is refused exactly when a model
 * says that it should be. The model knows nothing of graphs: it tries every order in which the streams
 * could run, with everything that host functions and later calls might signal, and looks how far each
 * stream can come.
 */
#include "../support/rig.h"

#include <stdlib.h>
#include <string.h>

#include <clstream/timeline.h>

enum { STREAMS = 3, LENGTH = 7, TOP = 3, PROGRAMS = 2000, STEPS = 26, MAX_HOSTS = 3 };

/* --- the model --- */

enum kind {
    NOTHING,     /* a command, a record */
    SIGNAL,      /* the stream's own timeline, to `value` */
    WAIT,        /* for the timeline of stream `on` to be at `value` */
    WAIT_OPEN,   /* for the timeline that anybody may signal */
    WAIT_STREAM, /* for stream `on` to have done `value` of its ops */
    HOST         /* may signal the stream's own timeline; `value`: what it did, once it has ended */
};

struct op {
    enum kind kind;
    bool ended; /* a host function */
    unsigned on, value;
};

struct model {
    unsigned streams;
    unsigned length[STREAMS];
    struct op ops[STREAMS][LENGTH + 1];
};

/* How far everything has come: ops done of each stream, and the timelines, the open one last. */
struct state {
    unsigned char done[STREAMS], value[STREAMS + 1];
};

enum { DONE_RADIX = LENGTH + 2, VALUE_RADIX = TOP + 1 };
enum {
    STATES =
        DONE_RADIX * DONE_RADIX * DONE_RADIX * VALUE_RADIX * VALUE_RADIX * VALUE_RADIX * VALUE_RADIX
};

static unsigned char seen[STATES];
static struct state pending[STATES];
static unsigned n_pending;

static void reach(const struct state *state) {
    unsigned code = 0;
    for (unsigned i = 0; i < STREAMS; i++)
        code = code * DONE_RADIX + state->done[i];
    for (unsigned i = 0; i <= STREAMS; i++)
        code = code * VALUE_RADIX + state->value[i];
    if (seen[code])
        return;
    seen[code] = 1;
    pending[n_pending++] = *state;
}

/* The same with a timeline raised to each value from `least` on, or to none. */
static void reach_raised(struct state state, unsigned timeline, unsigned least) {
    reach(&state);
    for (unsigned value = least; value <= TOP; value++)
        if (value > state.value[timeline]) {
            state.value[timeline] = (unsigned char)value;
            reach(&state);
        }
}

static void do_next(const struct model *model, struct state state, unsigned stream) {
    const struct op *op = &model->ops[stream][state.done[stream]++];
    switch (op->kind) {
    case NOTHING:
        reach(&state);
        break;
    case SIGNAL:
        if (op->value > state.value[stream])
            state.value[stream] = (unsigned char)op->value;
        reach(&state);
        break;
    case WAIT:
        if (state.value[op->on] >= op->value)
            reach(&state);
        break;
    case WAIT_OPEN:
        if (state.value[STREAMS] >= op->value)
            reach(&state);
        break;
    case WAIT_STREAM:
        if (state.done[op->on] >= op->value)
            reach(&state);
        break;
    case HOST:
        if (!op->ended) {
            reach_raised(state, stream, 1);
            break;
        }
        if (op->value > state.value[stream])
            state.value[stream] = (unsigned char)op->value;
        reach(&state);
        break;
    }
}

/* How far each stream and each timeline can ever come; all at once, as nothing is ever taken back. */
static struct state explore(const struct model *model) {
    const struct state start = {{0}, {0}};
    struct state furthest = start;
    memset(seen, 0, sizeof seen);
    n_pending = 0;
    reach(&start);
    while (n_pending) {
        struct state state = pending[--n_pending];
        reach_raised(state, STREAMS, 1); /* by anybody */
        for (unsigned i = 0; i <= STREAMS; i++)
            if (state.value[i] > furthest.value[i])
                furthest.value[i] = state.value[i];
        for (unsigned i = 0; i < model->streams; i++) {
            if (state.done[i] > furthest.done[i])
                furthest.done[i] = state.done[i];
            if (state.done[i] < model->length[i])
                do_next(model, state, i);
            else
                reach_raised(state, i, 1); /* by a later call */
        }
    }
    return furthest;
}

/* Whether a stream's last op can ever do what it is for: a signal be given, a wait be met. (A wait that is
 * met one day may still stand behind one that is not.) */
static bool makes_sense(const struct model *model, unsigned stream) {
    const struct state furthest = explore(model);
    const struct op *op = &model->ops[stream][model->length[stream] - 1];
    if (op->kind == WAIT)
        return furthest.value[op->on] >= op->value;
    if (op->kind == WAIT_OPEN)
        return furthest.value[STREAMS] >= op->value;
    if (op->kind == WAIT_STREAM)
        return furthest.done[op->on] >= op->value;
    return op->kind == NOTHING || furthest.done[stream] == model->length[stream];
}

/* --- the same on the library --- */

struct host {
    sem_t entered, open;
    cls_timeline timeline;
    unsigned value; /* to signal; 0: nothing */
    cls_status status;
    unsigned stream, at;
    uint64_t position;
    bool running, released;
};

static struct play {
    uint64_t random;
    struct model model;
    cls_stream streams[STREAMS];
    cls_timeline timelines[STREAMS + 1];
    cls_event events[STREAMS];
    struct {
        bool recorded;
        unsigned stream, at;
    } records[STREAMS];
    unsigned signalled[STREAMS]; /* the highest so far */
    struct host hosts[MAX_HOSTS];
    unsigned n_hosts;
    cls_buffer cells;
    unsigned refused, accepted;
} play;

static unsigned number(unsigned below) {
    play.random ^= play.random << 13;
    play.random ^= play.random >> 7;
    play.random ^= play.random << 17;
    return (unsigned)(play.random >> 20) % below;
}

static void run_host(void *arg) {
    struct host *host = arg;
    sem_post(&host->entered);
    while (sem_wait(&host->open) != 0)
        continue;
    if (host->value)
        host->status = cls_timeline_signal(host->timeline, host->value);
}

/* Adds an op for a call that may be refused, makes the call, and compares. */
static void judge(unsigned stream, struct op op, cls_status status) {
    struct model *model = &play.model;
    model->ops[stream][model->length[stream]++] = op;
    bool possible = makes_sense(model, stream);
    if (status != (possible ? CLS_SUCCESS : CLS_ERROR_DEADLOCK))
        fail_msg("kind %d on stream %u, of %u, to %u: %s, but it %s; the detail: %s", (int)op.kind,
                 stream, op.on, op.value, cls_status_string(status),
                 possible ? "may yet be met" : "can never be met", cls_last_error_detail());
    if (possible)
        play.accepted++;
    else
        play.refused++;
    if (!possible)
        model->length[stream]--;
}

static void add(unsigned stream, struct op op) {
    play.model.ops[stream][play.model.length[stream]++] = op;
}

static void do_work(unsigned stream) {
    const uint32_t zero = 0;
    OK(cls_fill_async(play.cells, 4 * stream, 4, &zero, 4, play.streams[stream]));
    add(stream, (struct op){.kind = NOTHING});
}

static void do_signal(unsigned stream) {
    unsigned value = play.signalled[stream] + 1 + number(2);
    if (value > TOP)
        return;
    struct op op = {.kind = SIGNAL, .value = value};
    cls_status status =
        cls_stream_signal_timeline(play.streams[stream], play.timelines[stream], value);
    judge(stream, op, status);
    if (!status)
        play.signalled[stream] = value;
}

static void do_wait(unsigned stream) {
    struct op op = {.kind = WAIT, .on = number(play.model.streams), .value = 1 + number(TOP)};
    cls_timeline timeline = play.timelines[op.on];
    unsigned value = op.value;
    if (op.on == stream && value <= play.signalled[stream])
        op.kind = NOTHING; /* what it has signalled itself is behind it in any case */
    judge(stream, op, cls_stream_wait_timeline(play.streams[stream], timeline, value));
}

static void do_wait_open(unsigned stream) {
    struct op op = {.kind = WAIT_OPEN, .value = 1 + number(TOP)};
    judge(stream, op,
          cls_stream_wait_timeline(play.streams[stream], play.timelines[STREAMS], op.value));
}

static void do_record(unsigned stream) {
    unsigned event = number(STREAMS);
    OK(cls_event_record(play.events[event], play.streams[stream]));
    play.records[event].recorded = true;
    play.records[event].stream = stream;
    play.records[event].at = play.model.length[stream];
}

static void do_wait_event(unsigned stream) {
    unsigned event = number(STREAMS);
    if (!play.records[event].recorded)
        return;
    struct op op = {
        .kind = WAIT_STREAM, .on = play.records[event].stream, .value = play.records[event].at};
    if (op.on == stream)
        op = (struct op){.kind = NOTHING};
    judge(stream, op, cls_stream_wait_event(play.streams[stream], play.events[event]));
}

static void do_host(unsigned stream) {
    cls_stream_counters counters = CLS_STREAM_COUNTERS_INIT;
    if (play.n_hosts == MAX_HOSTS)
        return;
    struct host *host = &play.hosts[play.n_hosts++];
    host->timeline = play.timelines[stream];
    host->stream = stream;
    host->at = play.model.length[stream];
    OK(cls_stream_launch_host_async(play.streams[stream], run_host, host));
    OK(cls_stream_get_counters(play.streams[stream], &counters));
    host->position = counters.submitted;
    add(stream, (struct op){.kind = HOST});
}

/* Ends a host function that runs, with a signal or without. */
static void end_host(unsigned stream) {
    cls_stream_counters counters = CLS_STREAM_COUNTERS_INIT;
    for (unsigned i = 0; i < play.n_hosts; i++) {
        struct host *host = &play.hosts[i];
        if (host->stream != stream || host->released || sem_trywait(&host->entered) != 0)
            continue;
        host->value = number(3) ? number(TOP + 1) : 0;
        host->released = true;
        sem_post(&host->open);
        while (counters.completed < host->position)
            OK(cls_stream_get_counters(play.streams[stream], &counters));
        struct op *op = &play.model.ops[stream][host->at];
        op->ended = true;
        op->value = host->status ? 0 : host->value;
        if (op->value > play.signalled[stream])
            play.signalled[stream] = op->value;
    }
}

static void (*const actions[])(unsigned stream) = {
    do_work,      do_work,   do_signal, do_signal,     do_wait,       do_wait, do_wait,
    do_wait_open, do_record, do_record, do_wait_event, do_wait_event, do_host, end_host,
};

static void begin(uint64_t seed) {
    cls_timeline_config config = CLS_TIMELINE_CONFIG_INIT;
    memset(&play.model, 0, sizeof play.model);
    memset(play.records, 0, sizeof play.records);
    memset(play.signalled, 0, sizeof play.signalled);
    memset(play.hosts, 0, sizeof play.hosts);
    play.n_hosts = 0;
    play.random = seed * 2654435761u + 88172645463325252u;
    play.model.streams = 2 + number(STREAMS - 1);
    for (unsigned i = 0; i < STREAMS; i++) {
        play.streams[i] = rig_stream();
        play.events[i] = rig_event();
        config.signaller = play.streams[i];
        OK(cls_timeline_create(&config, &play.timelines[i]));
    }
    OK(cls_timeline_create(NULL, &play.timelines[STREAMS]));
    for (unsigned i = 0; i < MAX_HOSTS; i++) {
        sem_init(&play.hosts[i].entered, 0, 0);
        sem_init(&play.hosts[i].open, 0, 0);
    }
}

/* What the model says can end does; the rest is freed by destroying what it waits for. */
static void end(void) {
    for (unsigned i = 0; i < play.n_hosts; i++) {
        if (play.hosts[i].released)
            continue;
        play.hosts[i].value = TOP;
        sem_post(&play.hosts[i].open);
    }
    const struct state furthest = explore(&play.model);
    OK(cls_timeline_signal(play.timelines[STREAMS], TOP));
    for (unsigned i = 0; i < play.model.streams; i++)
        if (furthest.done[i] == play.model.length[i])
            OK(cls_stream_signal_timeline(play.streams[i], play.timelines[i], TOP + 1));
    for (unsigned i = 0; i < play.model.streams; i++)
        if (furthest.done[i] == play.model.length[i])
            OK(cls_stream_synchronize(play.streams[i]));
    for (unsigned i = 0; i <= STREAMS; i++)
        OK(cls_timeline_destroy(play.timelines[i]));
    for (unsigned i = 0; i < STREAMS; i++) {
        cls_stream_synchronize(play.streams[i]); /* failed, where it was stuck */
        OK(cls_stream_destroy(play.streams[i]));
        OK(cls_event_destroy(play.events[i]));
    }
    for (unsigned i = 0; i < MAX_HOSTS; i++) {
        sem_destroy(&play.hosts[i].entered);
        sem_destroy(&play.hosts[i].open);
    }
}

static void test_each_refusal_and_each_acceptance(void **state) {
    (void)state;
    const char *text = getenv("CLS_PROGRAMS");
    unsigned long programs = text ? strtoul(text, NULL, 10) : PROGRAMS;
    play.cells = rig_cells(STREAMS);
    for (unsigned long seed = 1; seed <= programs; seed++) {
        begin(seed);
        for (unsigned step = 0; step < STEPS; step++) {
            unsigned stream = number(play.model.streams);
            if (play.model.length[stream] < LENGTH)
                actions[number(sizeof actions / sizeof *actions)](stream);
        }
        end();
    }
    print_message("%lu programs: %u waits and signals accepted, %u refused\n", programs,
                  play.accepted, play.refused);
    assert_true(play.refused > programs / 4);
    OK(cls_buffer_destroy(play.cells));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_refusal_and_each_acceptance)};
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
