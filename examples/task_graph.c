/* SPDX-License-Identifier: MIT */
/*
 * A task graph: pieces of work with names and prerequisites, spread over a set of streams. Here it computes
 * a * a + b * b, where the two squares are independent of each other.
 *
 * For any graph that is known before it runs, and may run again. Look at the table in main(), which is the
 * graph: a task waits for the tasks that it names, and cls_task_graph_run chooses its stream. A task that
 * fails poisons those that depend on it; cls_task_graph_get_info says which they are, and the cause.
 */
#include <clstream.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 1000, STREAMS = 2, RUNS = 2 };
enum { UPLOAD_A, UPLOAD_B, SQUARE_A, SQUARE_B, ADD, DOWNLOAD, TASKS };

struct data {
    cls_array a, b;
    float host_a[COUNT], host_b[COUNT], result[COUNT];
};

static void must(cls_status status) {
    if (status) {
        fprintf(stderr, "%s: %s\n", cls_status_string(status), cls_last_error_detail());
        _Exit(1);
    }
}

static cls_status upload_a(cls_stream stream, void *arg) {
    struct data *data = arg;
    return cls_copy_h2d_async(data->a.buffer, 0, data->host_a, sizeof data->host_a, stream);
}

static cls_status upload_b(cls_stream stream, void *arg) {
    struct data *data = arg;
    return cls_copy_h2d_async(data->b.buffer, 0, data->host_b, sizeof data->host_b, stream);
}

static cls_status square(cls_stream stream, void *arg) {
    const cls_array *x = arg;
    return cls_sqr_f32_async(*x, *x, stream);
}

static cls_status add(cls_stream stream, void *arg) {
    struct data *data = arg;
    return cls_add_f32_async(data->a, data->b, data->a, stream);
}

static cls_status download(cls_stream stream, void *arg) {
    struct data *data = arg;
    return cls_copy_d2h_async(data->result, data->a.buffer, 0, sizeof data->result, stream);
}

int main(void) {
    static struct data data;
    const struct {
        const char *label;
        cls_task_fn fn;
        void *arg;
        uint32_t after[2];
        size_t n_after;
    } tasks[TASKS] = {
        [UPLOAD_A] = {"upload a", upload_a, &data, {0}, 0},
        [UPLOAD_B] = {"upload b", upload_b, &data, {0}, 0},
        [SQUARE_A] = {"square a", square, &data.a, {UPLOAD_A}, 1},
        [SQUARE_B] = {"square b", square, &data.b, {UPLOAD_B}, 1},
        [ADD] = {"add", add, &data, {SQUARE_A, SQUARE_B}, 2},
        [DOWNLOAD] = {"download", download, &data, {ADD}, 1},
    };
    cls_coordinator set; /* of streams, for the graph to choose from */
    cls_stream streams[STREAMS];
    cls_buffer a, b;
    cls_task_graph graph;

    must(cls_buffer_create(NULL, sizeof data.host_a, &a));
    must(cls_buffer_create(NULL, sizeof data.host_b, &b));
    data.a = cls_array_of(a, CLS_F32, COUNT);
    data.b = cls_array_of(b, CLS_F32, COUNT);
    must(cls_coordinator_create(NULL, &set));
    for (int i = 0; i < STREAMS; i++) {
        must(cls_stream_create(NULL, NULL, &streams[i]));
        must(cls_coordinator_add_stream(set, streams[i], NULL));
    }
    must(cls_task_graph_create(set, &graph));
    for (uint32_t i = 0; i < TASKS; i++) {
        cls_task task = CLS_TASK_INIT; /* for any stream */
        task.label = tasks[i].label;
        task.fn = tasks[i].fn;
        task.arg = tasks[i].arg;
        task.prerequisites = tasks[i].after;
        task.n_prerequisites = tasks[i].n_after;
        must(cls_task_graph_add(graph, &task, NULL)); /* numbered in the order of adding */
    }

    for (int run = 0; run < RUNS; run++) {
        for (int i = 0; i < COUNT; i++) {
            data.host_a[i] = (float)(i + run);
            data.host_b[i] = (float)(2 * i);
        }
        must(cls_task_graph_run(graph)); /* submits */
        must(cls_task_graph_wait(graph, UINT64_MAX));
        for (int i = 0; i < COUNT; i++)
            if (data.result[i] != (float)((i + run) * (i + run) + 4 * i * i)) {
                fprintf(stderr, "run %d: element %d is %g\n", run, i, (double)data.result[i]);
                return 1;
            }
    }
    for (uint32_t i = 0; i < TASKS; i++) {
        cls_task_info info = CLS_TASK_INFO_INIT;
        must(cls_task_graph_get_info(graph, i, &info));
        printf("%-8s done on stream %d\n", info.label, info.stream == streams[1]);
    }
    must(cls_task_graph_destroy(graph));
    must(cls_coordinator_destroy(set));
    for (int i = 0; i < STREAMS; i++)
        must(cls_stream_destroy(streams[i]));
    must(cls_buffer_destroy(a));
    must(cls_buffer_destroy(b));
    return 0;
}
