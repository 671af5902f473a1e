/* SPDX-License-Identifier: MIT */
#include "ops/look_back.h"

#include "base/error.h"
#include "base/setting.h"
#include "driver/caps.h"
#include "driver/quirk.h"
#include "ops/map.h"
#include "ops/reduction_cut.h"
#include "ops/spec_scan.h"

enum {
    RUN_TILE =
        8192, /* elements of a CPU's tile, which stay in its cache until they are read again */
    /* Where a driver stops counting the steps of all loops at 65,535, a work-item can compute the tiles that others have
     * under way, if they are short, but not those of a whole array. */
    SHORT_TILE = 1024,
    RUN_TILES = 60000, /* at most: a driver stops counting steps at 65,535 */
    FIRST_STATE = 16,  /* words before the first state, */
    BLOCK = 32,        /* and tiles of a GPU's block, as in cl/look_back.cl */
    CLEARING_GROUP = 64,
    ALIGNMENT = 256 /* bytes, of what lies behind the states */
};

/* For tests: tiles begin with the last one, so that each computes what the ones before it come to. */
static bool is_reversed(void) {
    enum { FORWARD, REVERSED };
    static const struct setting setting = {
        "CLSTREAM_SCAN_TILES", {{"forward", FORWARD}, {"reversed", REVERSED}}, FORWARD};
    static _Atomic int known = -1;
    return setting_read(&setting, &known) == REVERSED;
}

enum shape look_back_shape(const struct op_call *call, bool aligned) {
    return caps_trusts(call->caps, TRUST_LOCAL_ARGUMENTS) && device_max_line(call->device) >= BLOCK
               ? map_shape_of(call, aligned)
               : SHAPE_RUNS;
}

bool look_back_is_lean(const struct op_call *call) { return call->device->limits_registers; }

struct look_back look_back_cut(const struct op_call *call, const struct spec *spec,
                               struct kernel *kernel, size_t count) {
    const bool is_short = call->device->quirks & QUIRK_SHORT_LOOPS;
    struct look_back cut = {.local = 1,
                            .tile = is_short ? SHORT_TILE : RUN_TILE,
                            .is_reversed = is_reversed() && !is_short};
    if (spec->local > 1) {
        cut.local = power_of_two_below(lesser(op_max_group(call, kernel), spec->local));
        cut.tile = cut.local * spec->vector * spec->batch;
    }
    while (spec->local == 1 && divide_up(count, cut.tile) > RUN_TILES)
        cut.tile *= 2;
    cut.tiles = divide_up(count, cut.tile);
    return cut;
}

size_t look_back_words(const struct look_back *cut, size_t part) {
    const size_t blocks = cut->local > 1 ? cut->tiles / BLOCK : 0;
    return FIRST_STATE + (cut->tiles + blocks + blocks / BLOCK) * (part / 2);
}

cls_status look_back_room(struct op_call *call, size_t words, size_t more, struct buffer **scratch,
                          size_t *beyond) {
    size_t bytes;
    *beyond = divide_up(words * sizeof(uint32_t), ALIGNMENT) * ALIGNMENT;
    if (__builtin_add_overflow(*beyond, more, &bytes))
        return error_no_memory("for what a scan keeps");
    return op_scratch(call, bytes, scratch);
}

cls_status look_back_clear(struct op_call *call, struct buffer *scratch, size_t words) {
    const struct spec *spec;
    struct kernel *kernel;
    cls_status status = spec_of_clear(&spec);
    if (!status)
        status = op_kernel(call, &spec->kernel, &kernel);
    if (status)
        return status;
    const size_t local = power_of_two_below(lesser(op_max_group(call, kernel), CLEARING_GROUP));
    const struct op_arg args[] = {op_arg_part(scratch, true, 0, words * sizeof(uint32_t)),
                                  op_arg_u64(words)};
    return op_launch(call, kernel, args, 2, divide_up(words, local) * local, local);
}

cls_status look_back_launch(struct op_call *call, const struct look_back *cut,
                            struct kernel *kernel, const struct op_arg *args, unsigned n_args) {
    return op_launch(call, kernel, args, n_args, (cut->tiles ? cut->tiles : 1) * cut->local,
                     cut->local);
}
