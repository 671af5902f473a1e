/* SPDX-License-Identifier: MIT */
/*
 * Rows of different lengths: each has memory of its own, and a kernel follows a table of their addresses.
 *
 * For kernels that load pointers from memory: tables, trees, lists. Look at `reaches`: the launch says which buffers the
 * kernel finds through the table, so that they are kept until it is done. A row that grows gets new memory, and a new
 * address in the table; the launches before it still read the old one. Where a device keeps no addresses, the first call
 * of cls_buffer_get_address says so, and the program ends with that reason.
 */
#include <clstream.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 500, LONGEST = 2000 };

/* As the kernel has it. */
struct row {
    uint64_t address;
    uint64_t length;
};

static const char *const source =
    "struct row { ulong address; ulong length; };\n"
    "kernel void sum_rows(global const struct row *rows, global uint *sums) {\n"
    "    const struct row row = rows[get_global_id(0)];\n"
    "    global const uint *element = (global const uint *)row.address;\n"
    "    uint sum = 0;\n"
    "    for (ulong i = 0; i < row.length; i++)\n"
    "        sum += element[i];\n"
    "    sums[get_global_id(0)] = sum;\n"
    "}\n";

static struct row rows[ROWS], sent[2][ROWS];
static cls_buffer memory[ROWS];

static void must(cls_status status) {
    if (status) {
        fprintf(stderr, "%s: %s\n", cls_status_string(status), cls_last_error_detail());
        exit(1);
    }
}

/* Gives a row memory for so many elements, each `value`. */
static void set_row(unsigned i, uint64_t length, uint32_t value, cls_stream stream) {
    if (memory[i])
        must(cls_free_async(memory[i], stream));
    must(cls_malloc_async(stream, length * sizeof value, &memory[i]));
    must(cls_fill_async(memory[i], 0, length * sizeof value, &value, sizeof value, stream));
    must(cls_buffer_get_address(memory[i], &rows[i].address));
    rows[i].length = length;
}

/* The table goes up from a copy, `to_send`, for the host changes the rows before the stream has read them. */
static void sum_rows(cls_kernel kernel, cls_buffer table, cls_buffer sums, struct row *to_send,
                     cls_stream stream) {
    const cls_arg args[] = {cls_arg_buffer(table), cls_arg_buffer(sums)};
    cls_launch launch = cls_launch_1d(ROWS);
    cls_arg reaches[ROWS];
    for (unsigned i = 0; i < ROWS; i++)
        reaches[i] = cls_arg_reads(memory[i], 0, rows[i].length * sizeof(uint32_t));
    launch.reaches = reaches;
    launch.n_reaches = ROWS;
    memcpy(to_send, rows, sizeof rows);
    must(cls_copy_h2d_async(table, 0, to_send, sizeof rows, stream));
    must(cls_kernel_launch_async(kernel, &launch, args, 2, stream));
}

int main(void) {
    static uint32_t got[ROWS];
    uint64_t elements = 0;
    cls_program program;
    cls_kernel kernel;
    cls_stream stream;
    cls_buffer table, sums;

    must(cls_program_from_source(NULL, source, "rows.cl", NULL, &program));
    must(cls_kernel_create(program, "sum_rows", &kernel));
    must(cls_program_destroy(program));
    must(cls_stream_create(NULL, NULL, &stream));
    must(cls_buffer_create(NULL, sizeof rows, &table));
    must(cls_buffer_create(NULL, sizeof got, &sums));

    for (unsigned i = 0; i < ROWS; i++)
        set_row(i, 1 + i * 37 % LONGEST, i, stream);
    sum_rows(kernel, table, sums, sent[0], stream);
    for (unsigned i = 0; i < ROWS; i += 3) /* while the first launch reads the old rows */
        set_row(i, LONGEST, i + 1, stream);
    sum_rows(kernel, table, sums, sent[1], stream);
    must(cls_copy_d2h(got, sums, 0, sizeof got, stream));

    for (unsigned i = 0; i < ROWS; i++) {
        const uint32_t value = i % 3 ? i : i + 1;
        if (got[i] != rows[i].length * value) {
            fprintf(stderr, "row %u: the sum is %u\n", i, got[i]);
            return 1;
        }
        elements += rows[i].length;
        must(cls_free_async(memory[i], stream));
    }
    printf("%d rows of %llu elements in memory of their own, added up by one launch\n", ROWS,
           (unsigned long long)elements);
    must(cls_buffer_destroy(table));
    must(cls_buffer_destroy(sums));
    must(cls_kernel_destroy(kernel));
    must(cls_stream_destroy(stream));
    return 0;
}
