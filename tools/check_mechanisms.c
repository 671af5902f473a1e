/* SPDX-License-Identifier: MIT */
/* What the library relies on a driver for, tried once more through the library: with its workarounds in force. */
#include "check_scene.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <clstream/address.h>
#include <clstream/device.h>
#include <clstream/event.h>
#include <clstream/managed.h>
#include <clstream/mempool.h>
#include <clstream/unary.h>

enum { CHAIN = 20, TRIES = 5, ROUNDS = 60000, ITEMS = 8, BYTES = CHECK_BYTES };

static const char source[] =
    "kernel void change(global const uchar *from, global uchar *to, uint n, uint value) {\n"
    "    for (uint i = 0; i < n; i++)\n"
    "        to[i] = from[i] ^ (uchar)value;\n"
    "}\n"
    "kernel void follow(global const ulong *at, uint n, uint value) {\n"
    "    for (uint i = 0; i < n; i++)\n"
    "        ((global uchar *)at[1])[i] = ((global const uchar *)at[0])[i] ^ (uchar)value;\n"
    "}\n"
    "kernel void slow(global uint *word, uint rounds, uint value) {\n"
    "    uint x = rounds | 1u;\n"
    "    for (uint i = 0; i < rounds; i++) { x ^= x << 13; x ^= x >> 17; x ^= x << 5; }\n"
    "    word[0] = word[0] * 3 + (x ? value : 0);\n"
    "}\n"
    "kernel void turn(global uint *data, local uint *own, local uint *other) {\n"
    "    uint me = (uint)get_local_id(0), n = (uint)get_local_size(0);\n"
    "    own[me] = data[get_global_id(0)];\n"
    "    other[me] = me;\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    data[get_global_id(0)] = own[n - 1 - me] + 100 * other[(me + 1) % n];\n"
    "}\n"
    "kernel void place(global uint *to, uint n) {\n"
    "    to[get_global_id(0) + n * get_global_id(1)] = 1000 + (uint)get_global_id(0);\n"
    "}\n"
    "typedef struct { uint a[6]; float b; ulong c; } structure;\n"
    "kernel void take(global uint *to, structure s, uchar u, ulong l) {\n"
    "    for (uint i = 0; i < 6; i++)\n"
    "        to[i] = s.a[i];\n"
    "    to[6] = as_uint(s.b); to[7] = (uint)s.c; to[8] = (uint)(s.c >> 32);\n"
    "    to[9] = u; to[10] = (uint)l; to[11] = (uint)(l >> 32);\n"
    "}\n";

/* --- steps --- */

size_t check_draw(struct scene *s, size_t n) {
    uint64_t x = s->draws;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    s->draws = x;
    return (size_t)((x * UINT64_C(0x2545f4914f6cdd1d)) >> 32) % n;
}

void check_is_wrong(struct scene *s, const char *format, ...) {
    va_list args;
    if (s->right) {
        va_start(args, format);
        vsnprintf(s->wrong, sizeof s->wrong, format, args);
        va_end(args);
    }
    s->right = false;
}

cls_status check_reset(struct scene *s, unsigned salt) {
    for (unsigned i = 0; i < BYTES; i++) {
        s->wanted_to[i] = (unsigned char)(i * 5 + i / 250 + salt);
        s->wanted_from[i] = (unsigned char)(i * 11 + i / 249 + 2 * salt);
    }
    TRY(cls_copy_h2d(s->to, 0, s->wanted_to, BYTES, s->stream));
    return cls_copy_h2d(s->from, 0, s->wanted_from, BYTES, s->stream);
}

cls_status check_compare(struct scene *s, const char *format, ...) {
    unsigned char seen_to[BYTES], seen_from[BYTES];
    char what[sizeof s->wrong];
    va_list args;
    TRY(cls_copy_d2h(seen_to, s->to, 0, BYTES, s->stream));
    TRY(cls_copy_d2h(seen_from, s->from, 0, BYTES, s->stream));
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    if (memcmp(seen_to, s->wanted_to, BYTES) || memcmp(seen_from, s->wanted_from, BYTES))
        check_is_wrong(s, "%s", what);
    return CLS_SUCCESS;
}

/* --- launches --- */

static cls_status launch_change(struct scene *s, cls_arg from, cls_arg to, unsigned n,
                                unsigned value) {
    const cls_launch one = cls_launch_1d(1);
    const cls_arg args[] = {from, to, cls_arg_u32(n), cls_arg_u32(value)};
    return cls_kernel_launch_async(s->change, &one, args, 4, s->stream);
}

static cls_status arguments_set_again(struct scene *s) {
    TRY(check_reset(s, 6));
    for (unsigned n = CHAIN; n > 0; n--) {
        TRY(launch_change(s, cls_arg_buffer(s->from), cls_arg_buffer(s->to), n, n));
        for (unsigned i = 0; i < n; i++)
            s->wanted_to[i] = (unsigned char)(s->wanted_from[i] ^ n);
    }
    return check_compare(s, "%s", "");
}

static cls_status local_arguments(struct scene *s) {
    const cls_launch shape = {1, {2 * ITEMS, 0, 0}, {ITEMS, 0, 0}, {0, 0, 0}, NULL, 0};
    const cls_arg args[] = {cls_arg_buffer(s->to), cls_arg_local(4 * ITEMS),
                            cls_arg_local(4 * ITEMS)};
    uint32_t data[2 * ITEMS];
    TRY(check_reset(s, 7));
    memcpy(data, s->wanted_to, sizeof data);
    TRY(cls_kernel_launch(s->turn, &shape, args, 3, s->stream));
    for (unsigned i = 0; i < 2 * ITEMS; i++) {
        const unsigned me = i % ITEMS, first = i - me;
        const uint32_t word = data[first + ITEMS - 1 - me] + 100 * ((me + 1) % ITEMS);
        memcpy(s->wanted_to + 4 * i, &word, sizeof word);
    }
    return check_compare(s, "%s", "");
}

/* A rectangle of a square, whose work-items write where they are. */
static cls_status launch_places(struct scene *s, cls_kernel place) {
    const size_t x = 1 + check_draw(s, 3), y = 1 + check_draw(s, 3);
    const cls_launch shape = {2, {ITEMS - x, ITEMS - y, 1}, {0, 0, 0}, {x, y, 0}, NULL, 0};
    const cls_arg args[] = {cls_arg_buffer(s->to), cls_arg_u32(ITEMS)};
    TRY(cls_kernel_launch(place, &shape, args, 2, s->stream));
    for (size_t i = x; i < ITEMS; i++)
        for (size_t j = y; j < ITEMS; j++) {
            const uint32_t word = 1000 + (uint32_t)i;
            memcpy(s->wanted_to + sizeof word * (i + ITEMS * j), &word, sizeof word);
        }
    return check_compare(s, "the launch at (%zu, %zu)", x, y);
}

static cls_status launch_offsets(struct scene *s) {
    cls_kernel place;
    TRY(check_reset(s, 14));
    TRY(cls_kernel_create(s->program, "place", &place));
    const cls_status status = launch_places(s, place);
    cls_kernel_destroy(place);
    return status;
}

static cls_status launch_take(struct scene *s, cls_kernel take) {
    const cls_launch one = cls_launch_1d(1);
    struct {
        uint32_t a[6];
        float b;
        _Alignas(8) uint64_t c;
    } structure = {{1, 2, 3, 4, 5, 6}, 0.5f, UINT64_C(0x900000008)};
    const uint32_t wanted[] = {1, 2, 3, 4, 5, 6, 0x3f000000, 8, 9, 200, 10, 11};
    const cls_arg args[] = {cls_arg_buffer(s->to), cls_arg_value(&structure, sizeof structure),
                            cls_arg_u8(200), cls_arg_u64(UINT64_C(0xb0000000a))};
    TRY(cls_kernel_launch(take, &one, args, 4, s->stream));
    memcpy(s->wanted_to, wanted, sizeof wanted);
    return check_compare(s, "%s", "");
}

static cls_status structure_arguments(struct scene *s) {
    cls_kernel take;
    TRY(check_reset(s, 13));
    TRY(cls_kernel_create(s->program, "take", &take));
    const cls_status status = launch_take(s, take);
    cls_kernel_destroy(take);
    return status;
}

/* Of a function that needs it: e to the power of 1, within two units in the last place. */
static cls_status rounding(struct scene *s) {
    const float one = 1.0f, e = 2.71828183f;
    float seen = 0;
    TRY(cls_copy_h2d(s->from, 0, &one, sizeof one, s->stream));
    TRY(cls_unary(CLS_UNARY_EXP, cls_array_of(s->from, CLS_F32, 1), cls_array_of(s->to, CLS_F32, 1),
                  s->stream));
    TRY(cls_copy_d2h(&seen, s->to, 0, sizeof seen, s->stream));
    if (seen < e - 5e-7f || seen > e + 5e-7f)
        check_is_wrong(s, "exp(1) is %.9g", (double)seen);
    return CLS_SUCCESS;
}

/* --- order --- */

static cls_status launch_slow(struct scene *s, cls_stream stream, unsigned rounds, unsigned value) {
    const cls_launch one = cls_launch_1d(1);
    const cls_arg args[] = {cls_arg_buffer(s->to), cls_arg_u32(rounds), cls_arg_u32(value)};
    return cls_kernel_launch_async(s->slow, &one, args, 3, stream);
}

/* A chain of kernels whose first runs long; each counts on the word of the one before. */
static cls_status chain_on(struct scene *s, cls_stream stream) {
    uint32_t word;
    memcpy(&word, s->wanted_to, sizeof word);
    for (unsigned i = 0; i < CHAIN; i++) {
        TRY(launch_slow(s, stream, i ? 0 : ROUNDS, i));
        word = word * 3 + i;
    }
    memcpy(s->wanted_to, &word, sizeof word);
    return cls_stream_synchronize(stream);
}

static cls_status chains(struct scene *s, cls_order order) {
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    cls_stream stream;
    cls_status status = check_reset(s, 8);
    config.order = order;
    if (!status)
        status = cls_stream_create(s->context, &config, &stream);
    if (status)
        return status;
    for (unsigned i = 0; i < TRIES && !status; i++)
        status = chain_on(s, stream);
    cls_stream_destroy(stream);
    return status ? status : check_compare(s, "%s", "");
}

static cls_status queue_order(struct scene *s) { return chains(s, CLS_ORDER_IN_ORDER); }

static cls_status events_in_queue(struct scene *s) { return chains(s, CLS_ORDER_OUT_OF_ORDER); }

/* A word goes back and forth between two streams. */
static cls_status take_turns(struct scene *s, cls_stream streams[2], cls_event event) {
    uint32_t word;
    memcpy(&word, s->wanted_to, sizeof word);
    for (unsigned i = 0; i < CHAIN; i++) {
        TRY(launch_slow(s, streams[i % 2], i % 5 ? 0 : ROUNDS, i));
        TRY(cls_event_record(event, streams[i % 2]));
        TRY(cls_stream_wait_event(streams[(i + 1) % 2], event));
        word = word * 3 + i;
    }
    memcpy(s->wanted_to, &word, sizeof word);
    TRY(cls_stream_synchronize(streams[0]));
    return cls_stream_synchronize(streams[1]);
}

static cls_status events_across_queues(struct scene *s) {
    cls_stream streams[2];
    cls_event event;
    TRY(check_reset(s, 9));
    TRY(cls_stream_create(s->context, NULL, &streams[0]));
    TRY(cls_stream_create(s->context, NULL, &streams[1]));
    TRY(cls_event_create(s->context, NULL, &event));
    cls_status status = take_turns(s, streams, event);
    cls_event_destroy(event);
    cls_stream_destroy(streams[0]);
    cls_stream_destroy(streams[1]);
    return status ? status : check_compare(s, "%s", "");
}

/* --- memory of cls_malloc_async, which lies behind other memory in one block --- */

static cls_status with_pooled(struct scene *s, cls_status (*use)(struct scene *)) {
    const cls_buffer to = s->to, from = s->from;
    cls_buffer ahead, between;
    TRY(cls_malloc_async(s->stream, BYTES, &ahead));
    TRY(cls_malloc_async(s->stream, BYTES, &s->to));
    TRY(cls_malloc_async(s->stream, BYTES, &between));
    TRY(cls_malloc_async(s->stream, BYTES, &s->from));
    cls_status status = use(s);
    cls_free_async(ahead, s->stream);
    cls_free_async(between, s->stream);
    cls_free_async(s->to, s->stream);
    cls_free_async(s->from, s->stream);
    s->to = to;
    s->from = from;
    return status;
}

static cls_status change_pooled(struct scene *s) {
    TRY(check_reset(s, 10));
    TRY(launch_change(s, cls_arg_buffer(s->from), cls_arg_buffer(s->to), BYTES, 0x77));
    for (unsigned i = 0; i < BYTES; i++)
        s->wanted_to[i] = s->wanted_from[i] ^ 0x77;
    return check_compare(s, "%s", "");
}

static cls_status copy_pooled(struct scene *s) {
    TRY(check_transfers(s));
    TRY(check_odd_copies(s));
    return check_odd_fills(s);
}

static cls_status sub_buffer_arguments(struct scene *s) { return with_pooled(s, change_pooled); }

static cls_status sub_buffer_copies(struct scene *s) { return with_pooled(s, copy_pooled); }

static cls_status sub_buffer_rectangles(struct scene *s) {
    return with_pooled(s, check_rectangles);
}

/* --- memory of the host's --- */

/* The host writes, a kernel changes that, the host reads. */
static cls_status pass_on(struct scene *s, cls_buffer buffer, unsigned char *host) {
    const cls_buffer to = s->to;
    TRY(cls_prefetch(buffer, CLS_TO_HOST, s->stream));
    for (unsigned i = 0; i < BYTES; i++)
        host[i] = (unsigned char)(i * 13);
    TRY(cls_prefetch(buffer, CLS_TO_DEVICE, s->stream));
    TRY(launch_change(s, cls_arg_buffer(buffer), cls_arg_buffer(buffer), BYTES, 0x3a));
    TRY(cls_copy_d2d(to, 0, buffer, 0, BYTES, s->stream));
    TRY(cls_prefetch(buffer, CLS_TO_HOST, s->stream));
    for (unsigned i = 0; i < BYTES; i++) {
        s->wanted_to[i] = (unsigned char)(i * 13) ^ 0x3a;
        if (host[i] != s->wanted_to[i])
            check_is_wrong(s, "byte %u", i);
    }
    return check_compare(s, "%s", "");
}

static cls_status mapped_memory(struct scene *s) {
    cls_buffer buffer;
    void *host;
    TRY(check_reset(s, 11));
    TRY(cls_host_alloc(s->context, BYTES, &host));
    cls_status status = cls_host_buffer(host, &buffer);
    if (!status)
        status = pass_on(s, buffer, host);
    cls_host_free(host);
    return status;
}

static cls_status register_block(struct scene *s, void *block, uint32_t align) {
    unsigned char *host = (unsigned char *)block + (-(uintptr_t)block & (align - 1));
    cls_buffer buffer;
    TRY(cls_host_register(s->context, host, BYTES));
    cls_status status = cls_host_buffer(host, &buffer);
    if (!status)
        status = pass_on(s, buffer, host);
    cls_host_unregister(host);
    return status;
}

static cls_status host_memory(struct scene *s) {
    cls_device_info info = CLS_DEVICE_INFO_INIT;
    size_t device;
    TRY(check_reset(s, 15));
    TRY(cls_context_get_device(s->context, &device));
    TRY(cls_device_get_info(device, &info));
    void *block = info.unified_memory ? malloc(BYTES + info.base_align) : NULL;
    const cls_status status = block ? register_block(s, block, info.base_align) : CLS_SUCCESS;
    free(block);
    return status;
}

static cls_status shared_memory(struct scene *s) {
    cls_buffer buffer;
    void *host;
    TRY(check_reset(s, 12));
    TRY(cls_managed_alloc(s->context, BYTES, &buffer, &host));
    cls_status status = pass_on(s, buffer, host);
    cls_buffer_destroy(buffer);
    return status;
}

/* --- addresses --- */

static cls_status launch_follow(struct scene *s, cls_kernel follow, cls_buffer table) {
    const cls_launch one = cls_launch_1d(1);
    const cls_arg args[] = {cls_arg_buffer(table), cls_arg_u32(BYTES), cls_arg_u32(0x5c)};
    uint64_t at[2];
    TRY(cls_buffer_get_address(s->from, &at[0]));
    TRY(cls_buffer_get_address(s->to, &at[1]));
    TRY(cls_copy_h2d(table, 0, at, sizeof at, s->stream));
    TRY(cls_kernel_launch(follow, &one, args, 3, s->stream));
    for (unsigned i = 0; i < BYTES; i++)
        s->wanted_to[i] = s->wanted_from[i] ^ 0x5c;
    return check_compare(s, "%s", "");
}

static cls_status addresses(struct scene *s) {
    cls_kernel follow;
    cls_buffer table;
    TRY(check_reset(s, 16));
    TRY(cls_kernel_create(s->program, "follow", &follow));
    cls_status status = cls_buffer_create(s->context, 2 * sizeof(uint64_t), &table);
    if (!status) {
        status = launch_follow(s, follow, table);
        cls_buffer_destroy(table);
    }
    cls_kernel_destroy(follow);
    return status;
}

/* Where arguments cannot be given by address, such parts are refused. */
static cls_status pointer_arguments(struct scene *s) {
    TRY(check_reset(s, 17));
    for (unsigned i = 0; i < TRIES; i++) {
        const size_t from = 1 + 2 * check_draw(s, 40), to = 1 + 2 * check_draw(s, 40);
        const unsigned n = 1 + (unsigned)check_draw(s, BYTES - 100);
        const cls_status status = launch_change(s, cls_arg_buffer_at(s->from, from, n),
                                                cls_arg_buffer_at(s->to, to, n), n, 0x1d);
        if (status == CLS_ERROR_INVALID_VALUE)
            return CLS_SUCCESS;
        TRY(status);
        for (unsigned j = 0; j < n; j++)
            s->wanted_to[to + j] = s->wanted_from[from + j] ^ 0x1d;
    }
    return check_compare(s, "%s", "");
}

/* --- all of them --- */

static const struct mechanism {
    const char *name; /* of the capability */
    cls_status (*try)(struct scene *s);
} mechanisms[] = {
    {"transfers", check_transfers},
    {"queue_order", queue_order},
    {"events_in_queue", events_in_queue},
    {"events_across_queues", events_across_queues},
    {"arguments_set_again", arguments_set_again},
    {"local_arguments", local_arguments},
    {"structure_arguments", structure_arguments},
    {"launch_offsets", launch_offsets},
    {"rounding", rounding},
    {"odd_copies", check_odd_copies},
    {"odd_fills", check_odd_fills},
    {"rectangles", check_rectangles},
    {"padded_rows", check_padded_rows},
    {"sub_buffer_arguments", sub_buffer_arguments},
    {"sub_buffer_copies", sub_buffer_copies},
    {"sub_buffer_rectangles", sub_buffer_rectangles},
    {"mapped_memory", mapped_memory},
    {"host_memory", host_memory},
    {"shared_memory", shared_memory},
    {"addresses", addresses},
    {"pointer_arguments", pointer_arguments},
};

enum { MECHANISMS = sizeof mechanisms / sizeof mechanisms[0] };

static cls_status open_scene(struct scene *s) {
    TRY(cls_program_from_source(s->context, source, "check.cl", NULL, &s->program));
    TRY(cls_kernel_create(s->program, "change", &s->change));
    TRY(cls_kernel_create(s->program, "slow", &s->slow));
    TRY(cls_kernel_create(s->program, "turn", &s->turn));
    TRY(cls_stream_create(s->context, NULL, &s->stream));
    TRY(cls_buffer_create(s->context, BYTES, &s->to));
    return cls_buffer_create(s->context, BYTES, &s->from);
}

double check_verdict(size_t device, const char *name) {
    cls_capability entry;
    for (size_t i = 0; cls_device_get_capability(device, i, &entry) == CLS_SUCCESS; i++)
        if (!strcmp(entry.unit, "trust") && !strcmp(entry.name, name))
            return entry.value;
    return -1;
}

static const char *reason_of(size_t device, const char *name) {
    cls_quirk quirk;
    for (size_t i = 0; cls_device_get_quirk(device, i, &quirk) == CLS_SUCCESS; i++)
        if (!strcmp(quirk.name, name))
            return quirk.reason;
    return "not tried, because it is known to crash this driver (clstream info)";
}

static void report(const struct check *check, const char *name, cls_status status,
                   const struct scene *s) {
    const double verdict = check_verdict(check->device, name);
    if (status == CLS_ERROR_UNSUPPORTED && verdict != 0)
        check_say(check, CHECK_INFO, name, "not on this device: %s", cls_last_error_detail());
    else if (status && !(status == CLS_ERROR_UNSUPPORTED && verdict == 0))
        check_say_status(check, name, "a call failed", status);
    else if (!status && !s->right)
        check_say(check, CHECK_FAILED, name, "wrong data%s%s%s",
                  verdict == 0 ? ", in spite of the workaround" : ", which the probes did not find",
                  *s->wrong ? ": " : "", s->wrong);
    else if (verdict == 0)
        check_say(check, CHECK_WORKED_AROUND, name, "%s", reason_of(check->device, name));
    else
        check_say(check, CHECK_PASSED, name, "%s", "");
}

/* Without a context only the probes can tell. */
static void report_verdicts(const struct check *check) {
    for (unsigned i = 0; i < MECHANISMS; i++) {
        const char *name = mechanisms[i].name;
        const double verdict = check_verdict(check->device, name);
        if (verdict == 0)
            check_say(check, CHECK_FAILED, name, "%s", reason_of(check->device, name));
        else
            check_say(check, verdict > 0 ? CHECK_PASSED : CHECK_INFO, name, "%s",
                      verdict > 0 ? "by the probes only" : "not tried");
    }
}

int check_mechanisms(struct check *check) {
    static struct scene scene;
    char device[24];
    cls_context_config config = CLS_CONTEXT_CONFIG_INIT;
    snprintf(device, sizeof device, "%zu", check->device);
    config.device = device;
    cls_status status = cls_context_create(&config, &scene.context);
    if (status)
        report_verdicts(check);
    else if ((status = open_scene(&scene)) != CLS_SUCCESS)
        check_say_status(check, "mechanisms", "cannot begin", status);
    for (unsigned i = 0; i < MECHANISMS && !status; i++) {
        scene.right = true;
        scene.wrong[0] = '\0';
        scene.draws = (check->seed << 8 | i) * UINT64_C(0x9e3779b97f4a7c15) | 1;
        status = mechanisms[i].try(&scene);
        report(check, mechanisms[i].name, status, &scene);
        status = CLS_SUCCESS;
    }
    return TOOL_OK;
}
