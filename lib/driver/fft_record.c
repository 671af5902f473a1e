/* SPDX-License-Identifier: MIT */
#include "driver/fft_record.h"

#include <stdlib.h>
#include <string.h>

static _Thread_local struct fft_recording *now;

/* --- memory --- */

static void *block_new(struct fft_block **list, size_t bytes) {
    struct fft_block *block =
        bytes < SIZE_MAX - sizeof *block ? calloc(1, sizeof *block + bytes) : NULL;
    if (!block)
        longjmp(now->no_memory, 1);
    block->next = *list;
    *list = block;
    return block->bytes;
}

static void blocks_free(struct fft_block *block) {
    while (block) {
        struct fft_block *next = block->next;
        free(block);
        block = next;
    }
}

/* Lives as long as the recipe. */
static void *recipe_keep(size_t bytes) { return block_new(&now->recipe->blocks, bytes); }

void *fft_record_malloc(size_t bytes) { return block_new(&now->blocks, bytes); }

void *fft_record_calloc(size_t count, size_t bytes) {
    size_t all;
    return fft_record_malloc(__builtin_mul_overflow(count, bytes, &all) ? SIZE_MAX : all);
}

/* VkFFT frees some memory twice when it fails: what is not in the list, whose newest blocks go first mostly, is left alone. */
void fft_record_free(void *memory) {
    struct fft_block **at = &now->blocks;
    while (*at && (*at)->bytes != (unsigned char *)memory)
        at = &(*at)->next;
    struct fft_block *block = *at;
    if (!block)
        return;
    *at = block->next;
    free(block);
}

void fft_record_begin(struct fft_recording *recording) {
    recording->last_step = &recording->recipe->steps;
    recording->prepares = true;
    for (int i = 0; i < FFT_PLACES; i++)
        recording->recipe->places[i].place = (enum fft_place)i;
    recording->recipe->beside_input = FFT_PLACES;
    now = recording;
}

void fft_record_end(struct fft_recording *recording) {
    blocks_free(recording->blocks);
    recording->blocks = NULL;
    now = NULL;
}

void fft_recipe_free(struct fft_recipe *recipe) {
    if (recipe)
        blocks_free(recipe->blocks);
    free(recipe);
}

/* --- what stands for objects of OpenCL: the addresses of what is written down --- */

cl_mem fft_record_memory(struct fft_memory *memory) { return (cl_mem)(void *)memory; }

struct fft_memory *fft_recorded_memory(cl_mem memory) {
    return (struct fft_memory *)(void *)memory;
}

static cl_int fft_give(void *value, size_t room, const void *answer, size_t size) {
    if (room < size)
        return CL_INVALID_VALUE;
    memcpy(value, answer, size);
    return CL_SUCCESS;
}

/* PoCL keeps the private memory of a group's work-items on the stack, which those of a group as large as PoCL allows
 * overflow. On CPUs these limits are also fast: transforms of 2^20 numbers took 10 ms with them, and 12 to 33 ms with
 * most others of groups from 64 to 1024 and local memory from 16 KiB to 512 KiB (EPYC, two cores, PoCL 3.1). */
enum { CPU_GROUP = 256, CPU_LOCAL = 32768 };

static size_t at_most(const cls_device_info *info, uint64_t limit, size_t of_cpu) {
    return info->type == CLS_DEVICE_CPU && limit > of_cpu ? of_cpu : (size_t)limit;
}

cl_int fft_record_device_info(cl_device_id device, cl_device_info what, size_t room, void *value,
                              size_t *size) {
    const cls_device_info *info = &now->device->info;
    const size_t group = at_most(info, info->max_work_group, CPU_GROUP);
    const cl_ulong local = at_most(info, info->local_memory, CPU_LOCAL);
    (void)device;
    (void)size;
    if (what == CL_DEVICE_MAX_WORK_GROUP_SIZE)
        return fft_give(value, room, &group, sizeof group);
    if (what == CL_DEVICE_LOCAL_MEM_SIZE)
        return fft_give(value, room, &local, sizeof local);
    if (what == CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS)
        return fft_give(value, room, &(cl_uint){3}, sizeof(cl_uint));
    if (what == CL_DEVICE_MAX_WORK_ITEM_SIZES)
        return fft_give(value, room, now->device->max_local, sizeof now->device->max_local);
    if (what == CL_DEVICE_VENDOR_ID)
        return fft_give(value, room, &now->vendor, sizeof now->vendor);
    return CL_INVALID_VALUE;
}

static void fft_add_step(const struct fft_step *step) {
    struct fft_step *kept = recipe_keep(sizeof *kept);
    *kept = *step;
    kept->prepares = now->prepares;
    *now->last_step = kept;
    now->last_step = &kept->next;
}

static void add_data(struct fft_memory *to, size_t bytes, const void *data) {
    void *copy = recipe_keep(bytes);
    memcpy(copy, data, bytes);
    const struct fft_step step = {.to = to, .data = copy, .bytes = bytes};
    fft_add_step(&step);
}

cl_mem fft_record_buffer(cl_context context, cl_mem_flags flags, size_t bytes, void *host,
                         cl_int *code) {
    struct fft_memory *memory = recipe_keep(sizeof *memory);
    (void)context;
    *memory =
        (struct fft_memory){FFT_TABLE, now->recipe->n_memories++, bytes, now->recipe->memories};
    now->recipe->memories = memory;
    if (flags & CL_MEM_COPY_HOST_PTR)
        add_data(memory, bytes, host);
    *code = CL_SUCCESS;
    return fft_record_memory(memory);
}

cl_int fft_record_write(cl_command_queue queue, cl_mem to, cl_bool blocking, size_t offset,
                        size_t bytes, const void *data, cl_uint n_waits, const cl_event *waits,
                        cl_event *event) {
    struct fft_memory *memory = fft_recorded_memory(to);
    (void)queue;
    (void)blocking;
    (void)n_waits;
    (void)waits;
    (void)event;
    if (offset || bytes > memory->bytes || !now->prepares)
        return CL_INVALID_VALUE;
    add_data(memory, bytes, data);
    return CL_SUCCESS;
}

cl_command_queue fft_record_queue(cl_context context, cl_device_id device,
                                  cl_command_queue_properties properties, cl_int *code) {
    (void)context;
    (void)device;
    (void)properties;
    *code = CL_SUCCESS;
    return (cl_command_queue)(void *)now;
}

/* A kernel stands for its program: VkFFT makes one of each. */
cl_program fft_record_source(cl_context context, cl_uint count, const char **texts,
                             const size_t *lengths, cl_int *code) {
    (void)context;
    (void)count;
    const size_t length = lengths && lengths[0] ? lengths[0] : strlen(texts[0]);
    struct fft_kernel *kernel = recipe_keep(sizeof *kernel);
    char *text = recipe_keep(length + 1);
    memcpy(text, texts[0], length);
    *kernel = (struct fft_kernel){now->recipe->n_kernels++, text, NULL, now->recipe->kernels};
    now->recipe->kernels = kernel;
    *code = CL_SUCCESS;
    return (cl_program)(void *)kernel;
}

cl_kernel fft_record_kernel(cl_program program, const char *entry, cl_int *code) {
    struct fft_kernel *kernel = (struct fft_kernel *)(void *)program;
    char *name = recipe_keep(strlen(entry) + 1);
    memcpy(name, entry, strlen(entry));
    kernel->entry = name;
    *code = CL_SUCCESS;
    return (cl_kernel)(void *)kernel;
}

/* --- launches --- */

/* Whether a value is that of a cl_mem: a pair of integers has the same size. */
static bool is_recorded_memory(const void *value) {
    const struct fft_recipe *recipe = now->recipe;
    const void *pointer;
    memcpy(&pointer, value, sizeof pointer);
    for (int i = 0; i < FFT_PLACES; i++)
        if (pointer == &recipe->places[i])
            return true;
    const struct fft_memory *memory = recipe->memories;
    while (memory && pointer != memory)
        memory = memory->next;
    return memory != NULL;
}

cl_int fft_record_argument(cl_kernel kernel, cl_uint i, size_t size, const void *value) {
    (void)kernel;
    if (i >= FFT_ARGS || size > FFT_VALUE)
        return CL_INVALID_VALUE;
    struct fft_argument *arg = &now->launch.args[i];
    *arg = (struct fft_argument){.size = size};
    now->launch.n_args = i + 1;
    if (size == sizeof(cl_mem) && is_recorded_memory(value))
        arg->memory = fft_recorded_memory(*(const cl_mem *)value);
    else
        memcpy(arg->bytes, value, size);
    return CL_SUCCESS;
}

/* Takes the pair of integers for what it is, and finds what it is counted in. */
static void find_units(struct fft_step *launch) {
    const struct fft_argument *pair = &launch->args[launch->n_args - 1];
    if (pair->memory)
        return;
    launch->word = pair->size / FFT_SIDES;
    for (unsigned i = 0; i < FFT_SIDES; i++) {
        uint32_t narrow;
        uint64_t count;
        memcpy(&narrow, pair->bytes + i * sizeof narrow, sizeof narrow);
        memcpy(&count, pair->bytes + i * sizeof count, sizeof count);
        if (launch->word == sizeof narrow)
            count = narrow;
        launch->units[i] = count ? (size_t)(FFT_MARK / count) : 0;
    }
}

cl_int fft_record_launch(cl_command_queue queue, cl_kernel kernel, cl_uint dims,
                         const size_t *offset, const size_t *global, const size_t *local,
                         cl_uint n_waits, const cl_event *waits, cl_event *event) {
    struct fft_step *launch = &now->launch;
    (void)queue;
    (void)offset;
    (void)n_waits;
    (void)waits;
    (void)event;
    launch->kernel = (struct fft_kernel *)(void *)kernel;
    for (cl_uint i = 0; i < 3; i++) {
        launch->global[i] = i < dims ? global[i] : 1;
        launch->local[i] = i < dims ? local[i] : 1;
    }
    if (!now->prepares)
        find_units(launch);
    fft_add_step(launch);
    now->recipe->n_launches += !now->prepares;
    *launch = (struct fft_step){.n_args = 0};
    return CL_SUCCESS;
}

cl_int fft_record_nothing(void) { return CL_SUCCESS; }
