/* SPDX-License-Identifier: MIT */
/* The scenario of addresses: a buffer that a kernel reaches through memory, one by an address among the arguments, and a part at
 * an odd offset; then all of them in a graph. */
#include "scenario.h"

#include <string.h>

#include "world.h"

enum { SKIPPED = 3, TAKEN = 8 };

static const char source[] =
    "kernel void follow(global ulong *table, ulong to, global uint *part) {\n"
    "    const uint i = (uint)get_global_id(0);\n"
    "    ((global uint *)to)[i] = ((global const uint *)table[0])[i] + 100;\n"
    "    part[i] = 7;\n"
    "}\n";

static cls_status follow(const struct world *world, cls_buffer table, bool at_odd) {
    const cls_arg reaches[] = {cls_arg_reads(world->a, 0, BYTES)};
    const cls_arg part = at_odd ? cls_arg_buffer_at(world->b, 4 * (WORDS - TAKEN), 4 * TAKEN)
                                : cls_arg_buffer(table);
    const cls_arg args[] = {cls_arg_buffer(table), cls_arg_address(world->b, 4 * SKIPPED), part};
    cls_launch launch = cls_launch_1d(TAKEN);
    launch.reaches = reaches;
    launch.n_reaches = 1;
    return cls_kernel_launch_async(world->kernel, &launch, args, 3, world->streams[0]);
}

/* An odd offset is refused where arguments cannot be given by address. */
static bool launch_it(struct run *run, const struct world *world, cls_buffer table) {
    const cls_status status = follow(world, table, true);
    return status == CLS_ERROR_INVALID_VALUE ? true : ok(run, status);
}

static bool launch_graph(struct run *run, const struct world *world, cls_buffer table) {
    cls_stream stream = world->streams[0];
    cls_graph graph;
    cls_graph_exec exec;
    if (!ok(run, cls_stream_begin_capture(stream, "addresses")))
        return false;
    const bool recorded = launch_it(run, world, table);
    if (!ok(run, cls_stream_end_capture(stream, &graph)))
        return false;
    const bool made = ok(run, cls_graph_instantiate(graph, NULL, &exec));
    cls_graph_destroy(graph);
    if (!made)
        return false;
    const bool launched = ok(run, cls_graph_launch_async(exec, stream));
    cls_graph_exec_destroy(exec);
    return recorded && launched;
}

static bool use(struct run *run, struct world *world, cls_buffer table) {
    cls_stream stream = world->streams[0];
    uint64_t at = 0;
    for (uint32_t i = 0; i < WORDS; i++)
        world->area->in[i] = i;
    return ok(run, cls_program_from_source(world->context, source, "follow.cl", NULL,
                                           &world->program)) &&
           ok(run, cls_kernel_create(world->program, "follow", &world->kernel)) &&
           upload(run, world, world->a, stream) && upload(run, world, world->b, stream) &&
           ok(run, cls_buffer_get_address(world->a, &at)) &&
           ok(run, cls_copy_h2d(table, 0, &at, sizeof at, stream)) &&
           launch_it(run, world, table) && launch_graph(run, world, table) &&
           download(run, world, world->b, stream) && synchronize(run, stream);
}

void addresses(struct run *run) {
    struct world world;
    cls_buffer table = NULL;
    if (world_open(run, &world, 1) &&
        ok(run, cls_buffer_create(world.context, sizeof(uint64_t) * TAKEN, &table)) &&
        use(run, &world, table)) {
        const bool ran = world.area->out[WORDS - 1] == 7;
        for (uint32_t i = 0; i < TAKEN && ran; i++)
            expect(run, world.area->out[SKIPPED + i] == i + 100, "a word by its address");
    }
    if (table)
        ok(run, cls_buffer_destroy(table));
    world_close(run, &world);
}
