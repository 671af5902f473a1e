/* SPDX-License-Identifier: MIT */
/* Gradients in buckets, each of which is summed over the ranks as soon as it is computed. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <clstream/buffer.h>
#include <clstream/event.h>
#include <clstream/stream.h>

#include "mpi/comm.h"

/* On one stream a bucket would wait for the upload of the one before. */
enum { STREAMS = 4 };

struct gradient {
    size_t bucket, offset, count; /* elements */
};

struct buckets {
    struct table_entry entry;
    cls_mpi_comm comm;
    cls_context context;
    cls_stream streams[STREAMS]; /* the sums, in turns */
    cls_event mark;
    size_t n, n_buckets;
    struct gradient *gradients;
    cls_array *arrays; /* of the buckets */
    pthread_mutex_t lock;
    size_t next; /* the bucket whose turn it is; under the lock, as the mark */
};

/* --- layout --- */

/* The bucket and place of each gradient; the number of elements of each bucket into `arrays`. */
static cls_status lay_out(struct buckets *buckets, cls_dtype dtype, const size_t *counts,
                          size_t most) {
    size_t bytes, *held = NULL, size = cls_dtype_size(dtype);
    for (size_t i = 0; i < buckets->n; i++) {
        if (!counts[i])
            return report(CLS_ERROR_INVALID_VALUE, "gradient %zu has no elements", i);
        if (!held || counts[i] > most / size || *held > most / size - counts[i]) {
            held = &buckets->arrays[buckets->n_buckets++].count;
            *held = 0;
        }
        buckets->gradients[i] = (struct gradient){buckets->n_buckets - 1, *held, counts[i]};
        if (__builtin_add_overflow(*held, counts[i], held) ||
            __builtin_mul_overflow(*held, size, &bytes))
            return report(CLS_ERROR_OUT_OF_RANGE, "the size of gradient %zu overflows", i);
    }
    return CLS_SUCCESS;
}

static int64_t fingerprint(const struct buckets *buckets, cls_dtype dtype) {
    uint64_t hash = UINT64_C(14695981039346656037) ^ (uint64_t)dtype;
    for (size_t i = 0; i < buckets->n; i++) {
        hash = (hash ^ buckets->gradients[i].count) * UINT64_C(1099511628211);
        hash = (hash ^ buckets->gradients[i].bucket) * UINT64_C(1099511628211);
    }
    return (int64_t)(hash >> 2); /* its negative is a number, too */
}

/* If all ranks have the same value, the least of it and the least of its negative are negatives of each other. */
static cls_status compare(const struct buckets *buckets, cls_dtype dtype) {
    const int64_t own = fingerprint(buckets, dtype);
    int64_t least[2] = {own, -own};
    cls_buffer buffer;
    cls_status status = cls_buffer_create(buckets->context, sizeof least, &buffer);
    if (status)
        return status;
    const cls_array array = cls_array_of(buffer, CLS_I64, 2);
    status = cls_copy_h2d(buffer, 0, least, sizeof least, buckets->streams[0]);
    if (!status)
        status = cls_mpi_allreduce(buckets->comm, CLS_MPI_MIN, array, array, buckets->streams[0]);
    if (!status)
        status = cls_copy_d2h(least, buffer, 0, sizeof least, buckets->streams[0]);
    cls_buffer_destroy(buffer);
    if (!status && least[0] != -least[1])
        status = report(CLS_ERROR_INVALID_VALUE,
                        "the ranks' gradients differ; this one has %zu, in %zu buckets", buckets->n,
                        buckets->n_buckets);
    return status;
}

/* --- creation --- */

static void free_buckets(struct buckets *buckets) {
    for (size_t b = 0; b < buckets->n_buckets; b++)
        if (buckets->arrays[b].buffer)
            cls_buffer_destroy(buckets->arrays[b].buffer);
    if (buckets->mark)
        cls_event_destroy(buckets->mark);
    for (int i = 0; i < STREAMS; i++)
        if (buckets->streams[i])
            cls_stream_destroy(buckets->streams[i]);
    pthread_mutex_destroy(&buckets->lock);
    free(buckets->gradients);
    free(buckets->arrays);
    free(buckets);
}

static struct buckets *new_buckets(cls_mpi_comm comm, cls_context context, size_t n) {
    struct buckets *buckets = calloc(1, sizeof *buckets);
    if (!buckets || pthread_mutex_init(&buckets->lock, NULL)) {
        free(buckets);
        return NULL;
    }
    buckets->comm = comm;
    buckets->context = context;
    buckets->n = n;
    buckets->gradients = calloc(n, sizeof *buckets->gradients);
    buckets->arrays = calloc(n, sizeof *buckets->arrays);
    if (buckets->gradients && buckets->arrays)
        return buckets;
    free_buckets(buckets);
    return NULL;
}

static cls_status make_buffers(struct buckets *buckets, cls_dtype dtype) {
    cls_status status = CLS_SUCCESS;
    for (size_t b = 0; b < buckets->n_buckets && !status; b++) {
        cls_array *array = &buckets->arrays[b];
        array->dtype = dtype;
        status = cls_buffer_create(buckets->context, array->count * cls_dtype_size(dtype),
                                   &array->buffer);
    }
    return status;
}

static cls_status build(struct buckets *buckets, cls_dtype dtype, const size_t *counts,
                        size_t most) {
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    config.name = "buckets";
    config.non_blocking = 1;
    cls_status status = lay_out(buckets, dtype, counts, most);
    for (int i = 0; i < STREAMS && !status; i++)
        status = cls_stream_create(buckets->context, &config, &buckets->streams[i]);
    if (!status)
        status = cls_event_create(buckets->context, NULL, &buckets->mark);
    if (!status)
        status = make_buffers(buckets, dtype);
    return status ? status : compare(buckets, dtype);
}

static cls_status create(struct comm *comm, cls_mpi_comm handle, cls_dtype dtype,
                         const size_t *counts, size_t n, size_t most, void **out) {
    cls_status status = comm_may_block(comm);
    if (status)
        return status;
    struct buckets *buckets = new_buckets(handle, comm->context, n);
    if (!buckets)
        return report(CLS_ERROR_OUT_OF_MEMORY, "no memory for %zu gradients", n);
    status = build(buckets, dtype, counts, most);
    if (!status)
        status = table_add(KIND_BUCKETS, &buckets->entry, out);
    if (status)
        free_buckets(buckets);
    return status;
}

cls_status cls_mpi_buckets_create(cls_mpi_comm handle, cls_dtype dtype, const size_t *counts,
                                  size_t n, const cls_mpi_buckets_config *given,
                                  cls_mpi_buckets *out) {
    cls_mpi_buckets_config config = CLS_MPI_BUCKETS_CONFIG_INIT;
    struct comm *comm;
    void *made;
    if (!out || !counts || !n)
        return report(CLS_ERROR_INVALID_VALUE,
                      "cls_mpi_buckets_create: a null pointer, or no gradients");
    if (given && (given->size < sizeof given->size || given->size > sizeof config ||
                  given->size % sizeof given->size))
        return report(CLS_ERROR_INVALID_VALUE, "cls_mpi_buckets_create: a wrong size field");
    if (given)
        memcpy(&config, given, given->size);
    cls_status status = check_type(dtype);
    if (!status)
        status = comm_get(handle, &comm);
    if (status)
        return status;
    status = create(comm, handle, dtype, counts, n,
                    config.bucket_bytes ? config.bucket_bytes : (size_t)25 << 20, &made);
    if (!status)
        *out = made;
    return comm_put(comm, status);
}

/* --- the calls --- */

static cls_status get_buckets(cls_mpi_buckets handle, struct buckets **out) {
    struct table_entry *entry;
    cls_status status = table_get(KIND_BUCKETS, handle, &entry);
    if (!status)
        *out = (struct buckets *)(void *)entry;
    return status;
}

static cls_status put_buckets(struct buckets *buckets, cls_status status) {
    table_put(&buckets->entry);
    return status;
}

cls_status cls_mpi_buckets_destroy(cls_mpi_buckets handle) {
    struct table_entry *entry = table_remove(KIND_BUCKETS, handle);
    if (!entry)
        return report(CLS_ERROR_INVALID_HANDLE, "%p is no set of buckets", (void *)handle);
    free_buckets((struct buckets *)(void *)entry);
    return CLS_SUCCESS;
}

cls_status cls_mpi_buckets_get_count(cls_mpi_buckets handle, size_t *count) {
    struct buckets *buckets;
    if (!count)
        return report(CLS_ERROR_INVALID_VALUE, "cls_mpi_buckets_get_count: count is null");
    cls_status status = get_buckets(handle, &buckets);
    if (status)
        return status;
    *count = buckets->n_buckets;
    return put_buckets(buckets, CLS_SUCCESS);
}

cls_status cls_mpi_buckets_get_gradient(cls_mpi_buckets handle, size_t i, cls_array *array,
                                        size_t *bucket) {
    struct buckets *buckets;
    cls_status status = get_buckets(handle, &buckets);
    if (status)
        return status;
    if (i >= buckets->n)
        return put_buckets(
            buckets, report(CLS_ERROR_OUT_OF_RANGE, "gradient %zu: there are %zu", i, buckets->n));
    const struct gradient *gradient = &buckets->gradients[i];
    const cls_array *all = &buckets->arrays[gradient->bucket];
    if (array)
        *array = cls_array_at(all->buffer, all->dtype, gradient->offset, gradient->count);
    if (bucket)
        *bucket = gradient->bucket;
    return put_buckets(buckets, CLS_SUCCESS);
}

/* Under the lock. Once the reduction is submitted, the turn has passed. */
static cls_status start(struct buckets *buckets, size_t bucket, cls_stream stream) {
    const cls_array *array = &buckets->arrays[bucket];
    const cls_stream sums = buckets->streams[bucket % STREAMS];
    if (bucket != buckets->next)
        return report(CLS_ERROR_INVALID_STATE, "bucket %zu: it is the turn of %zu of %zu", bucket,
                      buckets->next, buckets->n_buckets);
    cls_status status = cls_event_record(buckets->mark, stream);
    if (!status)
        status = cls_stream_wait_event(sums, buckets->mark);
    if (!status)
        status = cls_mpi_allreduce_async(buckets->comm, CLS_MPI_SUM, *array, *array, sums);
    if (!status)
        buckets->next++;
    return status;
}

cls_status cls_mpi_buckets_ready(cls_mpi_buckets handle, size_t bucket, cls_stream stream) {
    struct buckets *buckets;
    cls_status status = get_buckets(handle, &buckets);
    if (status)
        return status;
    if (bucket >= buckets->n_buckets)
        return put_buckets(buckets, report(CLS_ERROR_OUT_OF_RANGE, "bucket %zu: there are %zu",
                                           bucket, buckets->n_buckets));
    status = check_stream(buckets->context, &stream);
    if (status)
        return put_buckets(buckets, status);
    pthread_mutex_lock(&buckets->lock);
    status = start(buckets, bucket, stream);
    pthread_mutex_unlock(&buckets->lock);
    return put_buckets(buckets, status);
}

cls_status cls_mpi_buckets_wait(cls_mpi_buckets handle, cls_stream stream) {
    struct buckets *buckets;
    cls_status status = get_buckets(handle, &buckets);
    if (status)
        return status;
    status = check_stream(buckets->context, &stream);
    if (status)
        return put_buckets(buckets, status);
    pthread_mutex_lock(&buckets->lock);
    if (buckets->next != buckets->n_buckets)
        status = report(CLS_ERROR_INVALID_STATE, "bucket %zu of %zu was not made ready",
                        buckets->next, buckets->n_buckets);
    for (int i = 0; i < STREAMS && !status; i++) {
        status = cls_event_record(buckets->mark, buckets->streams[i]);
        if (!status)
            status = cls_stream_wait_event(stream, buckets->mark);
    }
    if (!status)
        buckets->next = 0;
    pthread_mutex_unlock(&buckets->lock);
    return put_buckets(buckets, status);
}
