/* SPDX-License-Identifier: MIT */
/* Generates the OpenCL C of a region, and chooses how its kernel goes over the elements. */
#include "batch/generate.h"

#include <stdio.h>
#include <string.h>

#include "base/types.h"

enum { RUN_VECTOR = 16, RUN_STEPS = 512, MAX_SETS = 128 };

/* A region being written. */
struct writer {
    const struct batch_node *nodes;
    const struct region *region;
    const struct region_shape *shape;
    struct text *text;
    const char *indent;
};

static const struct {
    const char *macro;
    const char *suffix;
} families[OP_FAMILIES] = {
    [OP_CAST] = {"CAST", "cast"},       [OP_WHERE] = {"WHERE", "where"},
    [OP_UNARY] = {"UNARY", "unary"},    [OP_UNARY_PARAM] = {"UNARY_PARAM", "param"},
    [OP_BINARY] = {"BINARY", "binary"},
};

/* A type's name in cl/map.cl, and the OpenCL types of an element in registers and in memory. */
static const char *opencl(cls_dtype dtype) { return type_row(dtype)->opencl; }
static const char *value_type(cls_dtype dtype) { return type_row(dtype)->value; }
static const char *memory_type(cls_dtype dtype) { return type_in_memory(type_row(dtype)); }

/* The index of a node in a list that contains it. */
static unsigned index_in(const struct node_list *list, uint32_t node) {
    unsigned i = 0;
    while (list->at[i] != node)
        i++;
    return i;
}

static bool contains(const struct node_list *list, uint32_t node) {
    for (unsigned i = 0; i < list->count; i++)
        if (list->at[i] == node)
            return true;
    return false;
}

/* Whether an input is read element by element, and not only as the vector of broadcasts. */
static bool is_read_along(const struct batch_node *nodes, const struct region *region,
                          uint32_t input) {
    if (nodes[input].scalar)
        return false;
    for (unsigned i = 0; i < region->maps.count; i++) {
        const struct batch_node *at = &nodes[region->maps.at[i]];
        for (unsigned k = 0; k < at->n_inputs; k++)
            if (at->inputs[k] == input && !node_broadcasts(at, k))
                return true;
    }
    const struct batch_node *end = region->reduction != NO_NODE ? &nodes[region->reduction] : NULL;
    return end && (end->inputs[0] == input || end->inputs[end->n_inputs - 1] == input);
}

/* ---- shape */

static bool is_heavy(const struct batch_node *nodes, const struct region *region) {
    for (unsigned i = 0; i < region->maps.count; i++) {
        const struct op_row *row = nodes[region->maps.at[i]].row;
        if (row->floats_only && row->family != OP_CAST)
            return true;
    }
    return false;
}

static size_t largest_of(const struct batch_node *nodes, const struct node_list *list,
                         size_t at_least) {
    size_t largest = at_least;
    for (unsigned i = 0; i < list->count; i++) {
        const size_t size = cls_dtype_size(nodes[list->at[i]].dtype);
        largest = size > largest ? size : largest;
    }
    return largest;
}

static size_t bytes_of_element(const struct batch_node *nodes, const struct region *region) {
    size_t bytes = 0;
    for (unsigned i = 0; i < region->inputs.count; i++)
        if (is_read_along(nodes, region, region->inputs.at[i]))
            bytes += cls_dtype_size(nodes[region->inputs.at[i]].dtype);
    for (unsigned i = 0; i < region->outputs.count; i++)
        bytes += cls_dtype_size(nodes[region->outputs.at[i]].dtype);
    return bytes;
}

/* Measured on a GPU: two reads of 16 bytes of each array under way (cl/reduce.cl), in large groups. */
static struct region_shape shape_of_reduction(enum shape shape, size_t largest) {
    if (shape == SHAPE_RUNS)
        return (struct region_shape){shape, RUN_VECTOR, 1, 1, 1};
    return (struct region_shape){shape, (unsigned)(16 / largest), 1, 1, 512};
}

struct region_shape region_shape_of(const struct batch_node *nodes, const struct region *region,
                                    const struct op_call *call, bool aligned) {
    const enum shape shape = map_shape_of(call, aligned);
    const size_t in = largest_of(nodes, &region->inputs, 1);
    const size_t out = largest_of(nodes, &region->outputs, 1), largest = in > out ? in : out;
    if (region->reduction != NO_NODE)
        return shape_of_reduction(shape, largest_of(nodes, &region->maps, largest));
    if (shape == SHAPE_RUNS)
        return (struct region_shape){shape, RUN_VECTOR, 1, RUN_STEPS, 1};
    const bool heavy = is_heavy(nodes, region);
    const unsigned vector = shape == SHAPE_ALIGNED ? spec_aligned_vector(largest, out)
                            : largest >= 4         ? (unsigned)(16 / largest)
                                                   : 4;
    /* As for single operations (ops/spec.c): functions want vectors side by side; what has more
     * than one input has its loads under way together anyway. */
    const bool one_array = region->inputs.count == 1 && !nodes[region->inputs.at[0]].scalar &&
                           region->broadcasts.count == 0;
    const unsigned batch = heavy && one_array ? 4 : 1;
    const bool small = vector * bytes_of_element(nodes, region) < 20;
    return (struct region_shape){shape, vector, batch, 1, heavy || small ? 256 : 128};
}

/* ---- pieces of text */

static void put_vector_type(const struct writer *writer, cls_dtype dtype) {
    if (writer->shape->vector == 1)
        text_printf(writer->text, "%s", value_type(dtype));
    else
        text_printf(writer->text, "%s%u", value_type(dtype), writer->shape->vector);
}

/* Constants and scalars are kept as in memory: the way from there is one of vectors. */
static void put_value_name(const struct writer *writer, uint32_t node, const char *name,
                           unsigned i) {
    const struct batch_node *at = &writer->nodes[node];
    if (type_is_narrow(type_row(at->dtype))) {
        text_printf(writer->text, "UNPACK(%s, (V(%s))%s%u)", opencl(at->dtype),
                    memory_type(at->dtype), name, i);
        return;
    }
    text_printf(writer->text, "(");
    put_vector_type(writer, at->dtype);
    text_printf(writer->text, ")%s%u", name, i);
}

/* A value as a vector of the kernel's width. */
static void put_operand(const struct writer *writer, uint32_t node) {
    const struct region *region = writer->region;
    const struct batch_node *at = &writer->nodes[node];
    if (contains(&region->maps, node))
        text_printf(writer->text, "v%u", index_in(&region->maps, node));
    else if (at->kind == NODE_CONSTANT)
        put_value_name(writer, node, "c", index_in(&region->constants, node));
    else if (at->scalar)
        put_value_name(writer, node, "s", index_in(&region->inputs, node));
    else
        text_printf(writer->text, "a%u", index_in(&region->inputs, node));
}

/* The vector of a broadcast where the kernel is. */
static void put_broadcast(const struct writer *writer, uint32_t node) {
    static const char *const readers[] = {
        [BROADCAST_ROW] = "row", [BROADCAST_COLUMN] = "column", [BROADCAST_DRAW] = "drawn"};
    const struct region *region = writer->region;
    const struct batch_node *at = &writer->nodes[node];
    const unsigned p = index_in(&region->inputs, at->inputs[BROADCAST_INPUT]);
    text_printf(writer->text, "read_%s_%s(p%u + p%u_offset, d%u, i, left)",
                readers[at->of.map.broadcast], opencl(writer->nodes[at->inputs[0]].dtype), p, p,
                index_in(&region->broadcasts, node));
}

static const struct op_row *row_in_effect(const struct writer *writer,
                                          const struct batch_node *at) {
    const bool same = at->row->family == OP_CAST && writer->nodes[at->inputs[0]].dtype == at->dtype;
    return same ? op_row_named(OP_UNARY, "copy") : at->row;
}

static void put_operation(const struct writer *writer, uint32_t node) {
    const struct batch_node *at = &writer->nodes[node];
    const struct op_row *row = row_in_effect(writer, at);
    text_printf(writer->text, "%sconst ", writer->indent);
    put_vector_type(writer, at->dtype);
    text_printf(writer->text, " v%u = op_%s_%s_%s_%s(", index_in(&writer->region->maps, node),
                row->name, families[row->family].suffix, opencl(writer->nodes[at->inputs[0]].dtype),
                opencl(at->dtype));
    for (unsigned i = 0; i < at->n_inputs; i++) {
        text_printf(writer->text, i ? ", " : "");
        if (node_broadcasts(at, i))
            put_broadcast(writer, node);
        else
            put_operand(writer, at->inputs[i]);
    }
    text_printf(writer->text, ");\n");
}

static void put_operations(const struct writer *writer) {
    for (unsigned i = 0; i < writer->region->maps.count; i++)
        put_operation(writer, writer->region->maps.at[i]);
}

static void put_writes(const struct writer *writer, const char *at) {
    for (unsigned i = 0; i < writer->region->outputs.count; i++) {
        const uint32_t node = writer->region->outputs.at[i];
        text_printf(writer->text, "%swrite_out_%s(v%u, q%u + q%u_offset + %s, left);\n",
                    writer->indent, opencl(writer->nodes[node].dtype),
                    index_in(&writer->region->maps, node), i, i, at);
    }
}

/* ---- functions that the kernel calls */

struct function_set {
    const char *macro;
    const char *suffix;
    cls_dtype in;
    cls_dtype out;
};

static void add_set(struct function_set *sets, unsigned *n, struct function_set set) {
    for (unsigned i = 0; i < *n; i++)
        if (sets[i].macro == set.macro && sets[i].in == set.in && sets[i].out == set.out)
            return;
    if (*n < MAX_SETS)
        sets[(*n)++] = set;
}

static void put_set(struct text *text, const struct function_set *set) {
    text_printf(text, "\n#define %s\n#define A %s\n#define OUT %s\n", set->macro, opencl(set->in),
                opencl(set->out));
    if (set->suffix)
        text_printf(text, "#define SUFFIX _%s_%s_%s\n", set->suffix, opencl(set->in),
                    opencl(set->out));
    else
        text_printf(text, "#define SUFFIX _%s\n", opencl(set->in));
    text_printf(text, "#include \"map.cl\"\n");
}

static void put_functions(const struct writer *writer) {
    const struct region *region = writer->region;
    struct function_set sets[MAX_SETS];
    unsigned n = 0;
    for (unsigned i = 0; i < region->inputs.count; i++) {
        const struct batch_node *at = &writer->nodes[region->inputs.at[i]];
        if (is_read_along(writer->nodes, region, region->inputs.at[i]))
            add_set(sets, &n, (struct function_set){"ACCESS", NULL, at->dtype, at->dtype});
    }
    for (unsigned i = 0; i < region->broadcasts.count; i++) {
        const struct batch_node *at = &writer->nodes[region->broadcasts.at[i]];
        const cls_dtype dtype = writer->nodes[at->inputs[0]].dtype;
        const char *macro = at->of.map.broadcast == BROADCAST_DRAW ? "DRAW" : "BROADCAST";
        add_set(sets, &n, (struct function_set){macro, NULL, dtype, dtype});
    }
    for (unsigned i = 0; i < region->outputs.count; i++) {
        const cls_dtype dtype = writer->nodes[region->outputs.at[i]].dtype;
        add_set(sets, &n, (struct function_set){"ACCESS", NULL, dtype, dtype});
    }
    for (unsigned i = 0; i < region->maps.count; i++) {
        const struct batch_node *at = &writer->nodes[region->maps.at[i]];
        const struct op_row *row = row_in_effect(writer, at);
        text_printf(writer->text, "#define USES_%s\n", row->name);
        add_set(sets, &n,
                (struct function_set){families[row->family].macro, families[row->family].suffix,
                                      writer->nodes[at->inputs[0]].dtype, at->dtype});
    }
    for (unsigned i = 0; i < n; i++)
        put_set(writer->text, &sets[i]);
    if (n == 0) /* V and UNPACK, which constants and scalars need */
        text_printf(writer->text, "#define ACCESS\n#define A float\n#define OUT float\n"
                                  "#include \"map.cl\"\n");
}

/* ---- parameters */

static void put_parameters(const struct writer *writer, bool names_only) {
    const struct region *region = writer->region;
    const char *comma = "";
    for (unsigned i = 0; i < region->inputs.count; i++, comma = ", ") {
        const char *type = memory_type(writer->nodes[region->inputs.at[i]].dtype);
        if (names_only)
            text_printf(writer->text, "%sp%u, p%u_offset", comma, i, i);
        else
            text_printf(writer->text, "%sglobal const %s *p%u, ulong p%u_offset", comma, type, i,
                        i);
    }
    for (unsigned i = 0; i < region->constants.count; i++, comma = ", ") {
        const char *type = memory_type(writer->nodes[region->constants.at[i]].dtype);
        text_printf(writer->text, names_only ? "%s%sc%u" : "%s%s c%u", comma,
                    names_only ? "" : type, i);
    }
    for (unsigned i = 0; i < region->broadcasts.count; i++, comma = ", ")
        text_printf(writer->text, names_only ? "%sd%u" : "%sulong2 d%u", comma, i);
    for (unsigned i = 0; i < region->outputs.count; i++, comma = ", ") {
        const char *type = memory_type(writer->nodes[region->outputs.at[i]].dtype);
        if (names_only)
            text_printf(writer->text, "%sq%u, q%u_offset", comma, i, i);
        else
            text_printf(writer->text, "%sglobal %s *q%u, ulong q%u_offset", comma, type, i, i);
    }
}

/* Scalars in memory, read once. */
static void put_scalars(const struct writer *writer) {
    for (unsigned i = 0; i < writer->region->inputs.count; i++) {
        const struct batch_node *at = &writer->nodes[writer->region->inputs.at[i]];
        if (at->scalar)
            text_printf(writer->text, "    const %s s%u = p%u[p%u_offset];\n",
                        memory_type(at->dtype), i, i, i);
    }
}

/* ---- kernels */

/* The reads of one vector of every array. `name` is how the vector is called ("" or "[k]"). */
static void put_reads(const struct writer *writer, const char *name, const char *at,
                      const char *left) {
    for (unsigned i = 0; i < writer->region->inputs.count; i++) {
        const struct batch_node *input = &writer->nodes[writer->region->inputs.at[i]];
        if (!is_read_along(writer->nodes, writer->region, writer->region->inputs.at[i]))
            continue;
        text_printf(writer->text, "%s", writer->indent);
        if (!*name) {
            text_printf(writer->text, "const ");
            put_vector_type(writer, input->dtype);
            text_printf(writer->text, " ");
        }
        text_printf(writer->text, "a%u%s = read_a_%s(p%u + p%u_offset + %s, %s);\n", i,
                    *name ? "s[k]" : "", opencl(input->dtype), i, i, at, left);
    }
}

/* One vector after the other. */
static void put_simple_loop(struct writer *writer) {
    text_printf(writer->text,
                "    for (uint step = 0; step < %u && i < count; step++, i += row) {\n"
                "        const long left = (long)(count - i);\n",
                writer->shape->steps);
    writer->indent = "        ";
    put_reads(writer, "", "i", "left");
    put_operations(writer);
    put_writes(writer, "i");
    text_printf(writer->text, "    }\n");
}

/* A batch of vectors read before any is worked on. One input, one step. */
static void put_batched(struct writer *writer) {
    const unsigned batch = writer->shape->batch;
    const struct batch_node *input = &writer->nodes[writer->region->inputs.at[0]];
    text_printf(writer->text, "    ");
    put_vector_type(writer, input->dtype);
    text_printf(writer->text, " a0s[%u];\n#pragma unroll\n    for (uint k = 0; k < %u; k++)\n",
                batch, batch);
    writer->indent = "        ";
    put_reads(writer, "[k]", "i + k * row", "(long)(count - i - k * row)");
    text_printf(writer->text,
                "#pragma unroll\n"
                "    for (uint k = 0; k < %u; k++) {\n"
                "        const ulong at = i + k * row;\n"
                "        const long left = (long)(count - at);\n"
                "        const ",
                batch);
    put_vector_type(writer, input->dtype);
    text_printf(writer->text, " a0 = a0s[k];\n");
    put_operations(writer);
    put_writes(writer, "at");
    text_printf(writer->text, "    }\n");
}

static void put_map(struct writer *writer) {
    const struct region_shape *shape = writer->shape;
    text_printf(writer->text, "\nkernel void fused(");
    put_parameters(writer, false);
    text_printf(writer->text,
                ", ulong count) {\n"
                "    const ulong row = (ulong)get_local_size(0) * W;\n"
                "    ulong i = get_group_id(0) * row * %u + get_local_id(0) * W;\n",
                shape->batch * shape->steps);
    put_scalars(writer);
    if (shape->batch > 1)
        put_batched(writer);
    else
        put_simple_loop(writer);
    text_printf(writer->text, "}\n");
}

static void put_reduction(struct writer *writer) {
    const struct batch_node *reduction = &writer->nodes[writer->region->reduction];
    const cls_dtype in = writer->nodes[reduction->inputs[0]].dtype;
    const struct type_row *type = type_row(in);
    text_printf(writer->text, "\nstatic void values(");
    put_parameters(writer, false);
    text_printf(writer->text, ", ulong i, long left, ");
    put_vector_type(writer, in);
    text_printf(writer->text, " *x, ");
    put_vector_type(writer, in);
    text_printf(writer->text, " *y) {\n");
    put_scalars(writer);
    writer->indent = "    ";
    put_reads(writer, "", "i", "left");
    put_operations(writer);
    put_writes(writer, "i");
    for (unsigned i = 0; i < reduction->n_inputs; i++) {
        text_printf(writer->text, "    *%s = ", i ? "y" : "x");
        put_operand(writer, reduction->inputs[i]);
        text_printf(writer->text, ";\n");
    }
    text_printf(writer->text,
                "}\n\n#define OP_%s\n#define A %s\n#define OUT %s\n%s%s#define INPUTS ",
                reduction->row->name, type->opencl, opencl(reduction->dtype),
                type->is_float ? "#define FLOATS\n" : "",
                in == CLS_F64 || reduction->dtype == CLS_F64 ? "#define DOUBLES\n" : "");
    put_parameters(writer, false);
    text_printf(writer->text, "\n#define VALUES(i, left, x, y) values(");
    put_parameters(writer, true);
    text_printf(writer->text, ", i, left, &x, &y)\n#include \"reduce.cl\"\n");
}

void generate_region(const struct batch_node *nodes, const struct region *region,
                     const struct region_shape *shape, struct text *text) {
    struct writer writer = {nodes, region, shape, text, ""};
    text_printf(text, "#define FUSED\n#define W %u\n#define %s\n", shape->vector,
                shape_macros[shape->shape]);
    put_functions(&writer);
    if (region->reduction == NO_NODE)
        put_map(&writer);
    else
        put_reduction(&writer);
}

void generate_label(const struct batch_node *nodes, const struct region *region, char *to,
                    size_t capacity) {
    size_t used = 0;
    for (unsigned i = 0; i < region->maps.count && used < capacity; i++)
        used += (size_t)snprintf(to + used, capacity - used, "%s%s", i ? "+" : "",
                                 nodes[region->maps.at[i]].row->name);
    if (region->reduction != NO_NODE && used < capacity)
        snprintf(to + used, capacity - used, "%s%s", region->maps.count ? "+" : "",
                 nodes[region->reduction].row->name);
}
