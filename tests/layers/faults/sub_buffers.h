/* SPDX-License-Identifier: MIT */
/*
 * Sub-buffers, a part of layer.c: a driver that crashes when a sub-buffer is released before a younger one that
 * overlaps it, as the one whose name CLS_FAULT_PLATFORM gives here. That one does only if kernels used both; this one
 * always.
 */
#define SUB_BUFFER_PLATFORM "NVIDIA CUDA"

struct sub_buffer {
    cl_mem memory, root;
    size_t start, end;
    unsigned references;
};

static pthread_mutex_t sub_buffers_lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static struct sub_buffer *sub_buffers;                               /* the oldest first */
static size_t n_sub_buffers;
static bool sub_buffers_crash; /* set once, at load */

/* Under the lock; NULL: none. */
static struct sub_buffer *sub_buffer_of(cl_mem memory) {
    for (size_t i = 0; i < n_sub_buffers; i++)
        if (sub_buffers[i].memory == memory)
            return &sub_buffers[i];
    return NULL;
}

static void sub_buffer_add(struct sub_buffer made) {
    sub_buffers = realloc(sub_buffers, (n_sub_buffers + 1) * sizeof *sub_buffers);
    if (!sub_buffers)
        abort();
    sub_buffers[n_sub_buffers++] = made;
}

static void sub_buffer_end(struct sub_buffer *ended) {
    struct sub_buffer *last = sub_buffers + n_sub_buffers;
    for (struct sub_buffer *younger = ended + 1; younger < last; younger++)
        if (younger->root == ended->root && younger->start < ended->end &&
            ended->start < younger->end) {
            fprintf(stderr, "# a sub-buffer is released before a younger one that overlaps it\n");
            abort();
        }
    n_sub_buffers--;
    memmove(ended, ended + 1, (size_t)(last - ended - 1) * sizeof *ended);
}

static cl_mem CL_API_CALL ordered_clCreateSubBuffer(cl_mem root, cl_mem_flags flags,
                                                    cl_buffer_create_type type, const void *info,
                                                    cl_int *code) {
    const cl_buffer_region *region = info;
    pthread_mutex_lock(&sub_buffers_lock);
    cl_mem made = wrap_clCreateSubBuffer(root, flags, type, info, code);
    if (made)
        sub_buffer_add(
            (struct sub_buffer){made, root, region->origin, region->origin + region->size, 1});
    pthread_mutex_unlock(&sub_buffers_lock);
    return made;
}

static cl_int CL_API_CALL ordered_clRetainMemObject(cl_mem memory) {
    pthread_mutex_lock(&sub_buffers_lock);
    struct sub_buffer *retained = sub_buffer_of(memory);
    if (retained)
        retained->references++;
    pthread_mutex_unlock(&sub_buffers_lock);
    return wrap_clRetainMemObject(memory);
}

static cl_int CL_API_CALL ordered_clReleaseMemObject(cl_mem memory) {
    pthread_mutex_lock(&sub_buffers_lock);
    struct sub_buffer *released = sub_buffer_of(memory);
    if (released && --released->references == 0)
        sub_buffer_end(released);
    pthread_mutex_unlock(&sub_buffers_lock);
    return wrap_clReleaseMemObject(memory);
}

static void sub_buffers_override(cl_icd_dispatch *table) {
    if (!sub_buffers_crash)
        return;
    table->clCreateSubBuffer = ordered_clCreateSubBuffer;
    table->clRetainMemObject = ordered_clRetainMemObject;
    table->clReleaseMemObject = ordered_clReleaseMemObject;
}
