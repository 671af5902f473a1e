/* SPDX-License-Identifier: MIT */
/*
 * Hostile calls: what an argument of a public function may be, and the bad values of each kind with the
 * status that the headers promise for them. The rows of functions are calls.def.
 */
#ifndef CLSTREAM_TESTS_HOSTILE_H
#define CLSTREAM_TESTS_HOSTILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <clstream.h>
#include <clstream/opencl.h>

/* An argument by its first bytes. */
union value {
    void *pointer;
    const void *constant;
    void (*function)(void);
    size_t size;
    uint64_t ticks;
    double factor;
    cls_factor scalar;
    unsigned count;
    int number;
    cls_array array;
    cls_matrix matrix;
    cls_vector vector;
    cls_csr csr;
    cls_strided strided;
    cls_place place;
    cls_device_range range;
    cls_image_format image_format;
};

struct arg {
    const char *name;
    const char *kind;
    const char *flags;
    size_t struct_size; /* of the struct that an option or info argument points to */
};

enum { MAX_ARGS = 10, MAX_BAD = 64 };

struct call_row {
    const char *name;
    cls_status (*call)(const union value *values);
    bool blocks;
    bool not_tried;  /* with good values alone */
    bool uncaptured; /* refused while the stream is captured */
    bool is_pure;    /* takes no lock and calls no driver: answers in a forked child too */
    bool is_typed;   /* a typed name of an operation that has a row of its own */
    bool has_detail;
    unsigned n_args;
    struct arg args[MAX_ARGS];
};

/* `or_else` where the header leaves the choice to the driver; else the same status again. */
struct bad {
    union value value;
    const char *what;
    cls_status status, or_else;
};

struct bad_list {
    struct bad bad[MAX_BAD];
    unsigned n;
};

/* What a child that is forked for the call answers, or one of these. */
enum { FORKED_LOCKED = 1000, FORKED_DIED, FORKED_WROTE };
int forked_answer(const struct call_row *row, const union value *values);

/* What a call returns while the stream is captured, what becomes of the capture, and how that ends. */
struct captured_answer {
    cls_status call, end;
    cls_capture_state state;
};
struct captured_answer captured_answer(const struct call_row *row, const union value *values);

/* A kind of argument. `slot` is its place in the call. */
struct kind {
    const char *name;
    union value (*good)(const struct arg *arg, unsigned slot);
    void (*bad)(const struct arg *arg, unsigned slot, struct bad_list *list);
    void (*undo)(const struct arg *arg, unsigned slot); /* after a call that succeeded; or NULL */
};

/* Up to a null name. */
extern const struct kind scalar_kinds[], struct_kinds[], handle_kinds[], view_kinds[],
    matrix_kinds[], batch_kinds[], memory_kinds[], block_kinds[], image_kinds[], pointer_kinds[];

bool has_flag(const struct arg *arg, const char *flag);
/* The part of the flags before the first comma. */
const char *first_flag(const struct arg *arg);
void add_bad(struct bad_list *list, const char *what, cls_status status, union value value);

static inline union value of_pointer(const void *p) { return (union value){.constant = p}; }
static inline union value of_size(size_t n) { return (union value){.size = n}; }
static inline union value of_number(int n) { return (union value){.number = n}; }

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* What several kinds have in common: NULL is bad; zero bytes are good. */
void bad_pointer(const struct arg *arg, unsigned slot, struct bad_list *list);
union value good_zero(const struct arg *arg, unsigned slot);

/* --- what calls may write to --- */

enum { REGION = 2048 };

/* The memory behind the pointer argument in a slot, all of one pattern before each call. */
void *region(unsigned slot);
/* Writes to the region what a good call finds there. */
void region_set(unsigned slot, const void *from, size_t bytes);
void regions_poison(void);
bool regions_untouched(void);

/* --- the objects that good values name: made once --- */

enum { BUFFER_BYTES = 1024, COPY_BYTES = 64, VIEW_COUNT = 16 };

enum handle_type {
    CONTEXT,
    STREAM,
    EVENT,
    BUFFER,
    IMAGE,
    PROGRAM,
    KERNEL,
    TIMELINE,
    COORDINATOR,
    BATCH,
    PROFILER,
    PROFILE,
    TASK_GRAPH,
    POOL,
    MEMPOOL,
    TRIPLE_BUFFER,
    ASYNC,
    PREFETCHER,
    PIPELINE,
    MANAGED,
    DEVICE_GROUP,
    RANDOM,
    OPTIMIZER,
    FFT_PLAN,
    GRAPH,
    GRAPH_EXEC,
    HANDLE_TYPES
};

/* A type of handles: what its arguments are called, and how one is made on a context. */
extern const struct handle_row {
    const char *name;
    cls_status (*make)(cls_context context, void **out);
    cls_status (*destroy)(void *handle);
    bool stands_alone; /* belongs to no context: is never an orphan */
} handle_rows[HANDLE_TYPES];

struct handles {
    void *live;    /* of `home` */
    void *foreign; /* of another live context */
    void *orphan;  /* of a destroyed context; NULL for what stands alone */
    void *stale;   /* destroyed */
};

/* Values of the live batch, and one of the other context's. */
struct batch_values {
    cls_value upload, array, scalar, mask, result;
    cls_value foreign;
};

extern struct stock {
    struct handles handles[HANDLE_TYPES];
    struct batch_values values;
    cls_buffer from;        /* a second one */
    cls_triple_buffer ring; /* of the managed context */
    cls_stream poisoned;    /* with CLS_ERROR_COMMAND_FAILED */
    cls_event timed;        /* recorded */
    cls_event untimed;      /* recorded, without a time */
    cls_event unrecorded;   /* timed */
    cls_stream default_stream;
    cls_context default_context;
    void *pinned;
    char path[64];                     /* a file of OpenCL C */
    cl_context cl_context, cl_foreign; /* of the other context; of home */
    cl_device_id cl_device;
    cl_mem cl_mem, cl_foreign_mem;
    cl_program cl_program, cl_foreign_program;
    cl_command_queue cl_queue, cl_foreign_queue;
    cl_event cl_event;
    size_t device, max_allocation;
    bool has_fp64, has_floats; /* without the latter, float arithmetic is refused */
} stock;

/* A loader without data. */
cls_load_fn hostile_load(void);

extern const char stock_source[];

/* Fills in the stock's values. */
bool batches_make(void);

/* Gets the pointer of the buffer that is to be an orphan, later told by the second; the pointer of a buffer. */
bool pointers_make(void);
void *pointers_orphan(void);
void *pointers_of(cls_buffer buffer);

bool stock_make(void);
void stock_free(void);

#endif
