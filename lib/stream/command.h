/* SPDX-License-Identifier: MIT */
/*
 * Commands: everything that is submitted to a stream. A command is a plain value (type, arguments,
 * references to what it uses, label); its type says how it is handed to the driver or run on a thread
 * of the library. One function takes them all: stream_submit (stream/submit.h).
 */
#ifndef CLSTREAM_STREAM_COMMAND_H
#define CLSTREAM_STREAM_COMMAND_H

#include <clstream/opencl.h>
#include <clstream/stream.h>

#include "base/handle.h"
#include "driver/driver_image.h"
#include "driver/queue.h"
#include "stream/dep.h"

struct command;
struct launch_args;
struct touches;
struct kernel;
struct kernel_slot;
struct event;
struct buffer;
struct pending_prefetch;
struct graph_run;
struct trace_record;

/* Where a device command goes. */
struct target {
    const struct device *device;
    cl_command_queue queue;
    bool in_order;
};

/* What a command run by the library left behind. */
struct run_result {
    cls_status status;
    int code;            /* the driver's, behind a failure */
    const char *message; /* the user's code's, behind a failure; NULL: none */
    bool hurt;           /* a command of it failed with the driver: the queue may be dead */
    cl_event event;      /* still to come before the command is done, or NULL */
    bool companion;      /* the event is of the stream's companion queue */
    bool skipped;        /* it did not run: the stream is poisoned, or the process exits */
};

/* How a capture takes a command (graph/capture.h): which member of its union it records. */
enum capture_as {
    CAPTURE_REFUSED, /* it cannot be captured */
    CAPTURE_LAUNCH,
    CAPTURE_COPY,
    CAPTURE_RECT,
    CAPTURE_IMAGE,
    CAPTURE_FILL,
    CAPTURE_HOST_COPY,
    CAPTURE_PEER,
    CAPTURE_MIGRATE,
    CAPTURE_CODE,   /* `host` */
    CAPTURE_LIBRARY /* `library` */
};

struct command_type {
    cls_command_kind kind;
    enum capture_as capture;
    const char *label; /* for commands without one of their own */
    /* Hands the command to the driver. NULL: `run` instead. */
    cls_status (*enqueue)(struct target target, const struct command *command,
                          struct wait_list waits, cl_event *event);
    /* Where that fails, the driver may have some of it all the same. */
    bool in_parts;
    /* Runs the command on a thread of the library with no lock held; `so_far` is the stream's error. */
    struct run_result (*run)(struct stream *stream, struct command *command, cls_status so_far);
    /* Earlier work must be done, not only with the driver, before `run`. */
    bool after_completion;
    /* Even so `run` may leave an event to come, and with it a flight. */
    bool leaves_event;
    /* Accepted by, and run on, a poisoned stream. */
    bool when_failed;
    /* For a profiled queue. */
    bool timed;
    /* It runs code of the user's, which may call into the library. */
    bool user_code;
    /* Where that code ends the process, `run` is called again, and goes on behind it. */
    bool resumes;
    /* Its arguments are `host_copy`. */
    bool copies_host;
    /* Which bytes it touches (stream/touch.h); NULL: none, or none that is known. */
    void (*touch)(struct touches *touches, const struct device *device,
                  const struct command *command, const struct launch_args *args);
    /* Undoes what the command holds besides its references, once it is handed over or dropped. */
    void (*discard)(struct command *command);
    /* What it borrows from its stream becomes its own, before it is deferred. NULL: it never borrows. */
    cls_status (*own)(struct stream *stream, struct command *command);
};

/* A library that enqueues by itself. `arguments` are those of one call. */
struct foreign_library {
    /* Enqueues, in order, on the queue; `event`, where not NULL, gets its last command's. Returns a cl_int. */
    int (*call)(const struct device *device, cl_command_queue queue, const void *arguments,
                cl_event *event);
    bool (*is_compiled)(const void *arguments);        /* whether nothing is left to compile */
    cl_mem *(*memory)(void *arguments, unsigned view); /* where the memory of a view is */
};

/* What is done about a size that has no divisor for a group (command/launch_groups.h). */
enum launch_cut {
    CUT_NONE,   /* nothing: it has one, or a group size is given */
    CUT_IN_TWO, /* a part of a round size is launched, and the rest */
    CUT_SMALL   /* nothing can be done: the groups are small */
};

/* A launch's work-items; `local` counts where there is one. */
struct launch_shape {
    cl_uint dims;
    bool has_local;
    bool has_offset;     /* else `offset` is not set */
    unsigned char cut;   /* enum launch_cut */
    unsigned char pivot; /* of a launch that is cut in two: the dimension, */
    size_t round;        /* and its work-items in the round part */
    size_t items;        /* in all */
    size_t global[3], local[3], offset[3];
};

/* `local` 0: chosen by the driver. */
static inline struct launch_shape launch_shape_1d(size_t global, size_t local) {
    return (struct launch_shape){
        .dims = 1, .has_local = local != 0, .items = global, .global = {global}, .local = {local}};
}

static inline struct grid launch_grid(const struct launch_shape *shape) {
    return (struct grid){shape->dims, shape->global, shape->has_local ? shape->local : NULL,
                         shape->has_offset ? shape->offset : NULL};
}

/* Whether the event of a command, or of a flight's last command, can be done without (stream/event_policy.h). */
enum event_need {
    EVENT_NOT_NEEDED, /* nobody can ask for the position by itself */
    EVENT_NEEDED,     /* somebody may ask: the event that it has stays its own */
    EVENT_RECORDED    /* a cls_event is recorded behind it: it gets an event before more follows */
};

enum { COMMAND_REFS = 6 };

/* References that a command keeps until it is retired. */
struct refs {
    unsigned count;
    unsigned more_count;
    struct object *here[COMMAND_REFS];
    struct object **more; /* heap array of those beyond; defined where there are some */
};

struct command {
    const struct command_type *type;
    const char *label; /* static or interned */
    uint64_t position; /* given by stream_submit */
    uint64_t bytes;    /* moved, for the counters */
    struct refs refs;
    /* Bit i: it uses what the stream's newest flight holds as refs.here[i], and takes that over when it is
     * handed over right behind that flight, under one hold of the stream's lock. `own` makes it refs. */
    unsigned lent;
    enum event_need event_need;  /* set when submitted */
    struct deps deps;            /* filled in by stream_submit when the command is deferred */
    struct command *next;        /* in the FIFO */
    struct trace_record *record; /* NULL: nobody observes it */
    union {
        struct {
            struct kernel_slot *slot; /* where the instance is borrowed from; NULL: it is owned */
            struct kernel *kernel; /* in refs, and given the instance back by discard; if owned */
            cl_kernel instance;    /* with its arguments set */
            struct launch_rest *rest; /* of a launch that is cut in two; in refs */
            struct launch_shape shape;
        } launch;
        struct copy_arguments {
            cl_mem to, from;
            void *host;
            size_t to_offset;
            struct range_1d range; /* of `from` where there is one, else of `to` */
        } copy;
        struct peer_arguments {
            struct buffer *to, *from; /* in refs */
            struct rect_3d rect;
        } peer;
        struct host_copy_arguments {
            void *to;
            const void *from;    /* NULL: it is a fill */
            struct rect_3d rect; /* of a fill `src.offset` is the byte */
        } host_copy;
        struct rect_arguments {
            cl_mem to, from;
            void *host;
            struct rect_3d rect;
        } rect;
        struct image_arguments {
            cl_mem to, from; /* an image, or a buffer on one side */
            void *host;
            struct image_box box;
        } image;
        struct fill_arguments {
            cl_mem to;
            struct range_1d range;
            size_t pattern_bytes;
            unsigned char pattern[16];
        } fill;
        struct migration {
            const cl_mem *memory; /* in the buffer, which the command keeps */
            bool to_host;
            struct buffer *by_turns; /* coarse unified memory: mapped for the host, or unmapped */
            struct pending_prefetch *prefetch; /* of it, over by discard */
        } migrate;
        struct {
            struct event *event; /* timed record to be told the end time, or NULL; in refs */
            uint64_t serial;
        } marker;
        struct {
            cls_host_fn fn;
            cls_stream_callback callback;
            cls_foreign_fn foreign;
            cls_stream stream; /* what a callback is told */
            void *arg;
        } host;
        struct {
            struct graph_run *run; /* in refs */
        } graph;
        struct {
            const struct foreign_library *of;
            void *arguments; /* heap, freed by discard */
            size_t bytes;
        } library;
    } u;
};

/* A command without arguments; the union is left to the caller, who fills in what the type uses. */
static inline void command_init(struct command *command, const struct command_type *type,
                                const char *label) {
    command->type = type;
    command->label = label;
    command->position = 0;
    command->bytes = 0;
    command->refs.count = command->refs.more_count = 0;
    command->lent = 0;
    deps_forget(&command->deps);
    command->next = NULL;
    command->record = NULL;
    command->u.marker.event = NULL;
}

/* The name of a command in errors: its own, or its type's. */
static inline const char *command_label(const struct command *command) {
    return command->label ? command->label : command->type->label;
}

/* Where the host memory of a copy from or to the host begins; NULL for other commands. */
static inline const void *command_host(const struct command *command) {
    cls_command_kind kind = command->type->kind;
    bool copies = kind == CLS_COMMAND_COPY_H2D || kind == CLS_COMMAND_COPY_D2H;
    return copies ? command->u.copy.host : NULL; /* `rect` and `image` begin as `copy` does */
}

/* Adds a reference (taken over) to a command. */
cls_status command_keep(struct command *command, struct object *object);

cls_status refs_keep(struct refs *refs, struct object *object);
void refs_release_all(struct refs *refs);
static inline void refs_release(struct refs *refs) {
    if (refs->count || refs->more_count)
        refs_release_all(refs);
}

/* One of the `count` and `more_count` objects. */
static inline struct object *refs_at(const struct refs *refs, unsigned i) {
    return i < refs->count ? refs->here[i] : refs->more[i - refs->count];
}

/* Whether an object is among the inline ones. */
static inline bool refs_hold(const struct refs *refs, const struct object *object) {
    for (unsigned i = 0; i < refs->count; i++)
        if (refs->here[i] == object)
            return true;
    return false;
}

/* Whether an object is among all of them. */
bool refs_use(const struct refs *refs, const struct object *object);

/* Copies what is used only: this is on the path of every launch. */
static inline void refs_move(struct refs *to, struct refs *from) {
    for (unsigned i = 0; i < from->count; i++)
        to->here[i] = from->here[i];
    to->count = from->count;
    to->more_count = from->more_count;
    if (RARELY(from->more_count))
        to->more = from->more;
    from->count = from->more_count = 0;
}

/* Drops a command that is not, or no longer, submitted: discard, references, dependencies. */
void command_drop(struct command *command);

/* Marks of a place in the order: the second kind is run on a poisoned stream too, by a worker. The types of other
 * commands stand beside what submits them. */
extern const struct command_type type_marker, type_mark;

#endif
