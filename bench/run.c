/* SPDX-License-Identifier: MIT */
/*
 * (f) `clstream run` end to end against the longest of its stages alone: reading the file,
 * uploading, computing, downloading, writing the file, each done here by itself in chunks of the
 * tool's size.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include <fcntl.h>
#ifdef HAVE_JANSSON
#include <jansson.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"
#include "rig.h"

enum { CHUNK = 8 << 20, STAGES = 5, PATH_BYTES = 2048 };

static const char expression[] = "scale 0.5 | gelu | add_scalar 1 | cast i32";

struct bench_run {
    const struct rig *rig;
    size_t bytes; /* of the file; the output is as large */
    char folder[PATH_BYTES / 2];
    char in[PATH_BYTES], out[PATH_BYTES], copy[PATH_BYTES];
    unsigned char *host; /* pinned, a chunk */
    cls_buffer a, b;
    cls_stream stream;
};

/* --- the stages alone; each returns milliseconds --- */

typedef double (*stage_fn)(struct bench_run *run);

static double since(double start) { return 1e3 * (now_seconds() - start); }

static double read_alone(struct bench_run *run) {
    const double start = now_seconds();
    const int file = open(run->in, O_RDONLY);
    ssize_t got;
    if (file < 0)
        die("%s: cannot be read", run->in);
    while ((got = read(file, run->host, CHUNK)) > 0)
        continue;
    close(file);
    return since(start);
}

/* A new file, as the tool's is: emptying the last one does not count. */
static double write_alone(struct bench_run *run) {
    unlink(run->copy);
    const double start = now_seconds();
    const int file = open(run->copy, O_WRONLY | O_CREAT | O_EXCL, 0600);
    for (size_t done = 0; file >= 0 && done < run->bytes; done += CHUNK)
        if (write(file, run->host, CHUNK) != CHUNK)
            die("%s: cannot be written", run->copy);
    if (file < 0 || close(file))
        die("%s: cannot be written", run->copy);
    return since(start);
}

static double upload_alone(struct bench_run *run) {
    const double start = now_seconds();
    for (size_t done = 0; done < run->bytes; done += CHUNK)
        CLS(cls_copy_h2d_async(run->a, 0, run->host, CHUNK, run->stream));
    CLS(cls_stream_synchronize(run->stream));
    return since(start);
}

static double download_alone(struct bench_run *run) {
    const double start = now_seconds();
    for (size_t done = 0; done < run->bytes; done += CHUNK)
        CLS(cls_copy_d2h_async(run->host, run->a, 0, CHUNK, run->stream));
    CLS(cls_stream_synchronize(run->stream));
    return since(start);
}

static double compute_alone(struct bench_run *run) {
    const cls_array a = cls_array_of(run->a, CLS_F32, CHUNK / sizeof(float));
    const cls_array b = cls_array_of(run->b, CLS_F32, CHUNK / sizeof(float));
    const cls_array out = cls_array_of(run->a, CLS_I32, CHUNK / sizeof(float));
    const double start = now_seconds();
    for (size_t done = 0; done < run->bytes; done += CHUNK) {
        CLS(cls_unary_param_async(CLS_UNARY_SCALE, a, b, 0.5, run->stream));
        CLS(cls_unary_async(CLS_UNARY_GELU, b, a, run->stream));
        CLS(cls_unary_param_async(CLS_UNARY_ADD_SCALAR, a, b, 1, run->stream));
        CLS(cls_cast_async(b, out, run->stream));
    }
    CLS(cls_stream_synchronize(run->stream));
    return since(start);
}

static const struct {
    const char *name;
    stage_fn run;
} stages[STAGES] = {{"read", read_alone},
                    {"upload", upload_alone},
                    {"compute", compute_alone},
                    {"download", download_alone},
                    {"write", write_alone}};

/* --- the tool --- */

static void command(const char *text) {
    fflush(stdout);
    if (system(text) != 0)
        die("failed: %s", text);
}

#ifdef HAVE_JANSSON
static const char summary_option[] = "--json";

static double number_of(const char *summary, const char *key) {
    json_t *top = json_loads(summary, 0, NULL);
    const json_t *number = json_object_get(top, key);
    if (!json_is_number(number))
        die("the tool's summary has no %s", key);
    const double value = json_number_value(number);
    json_decref(top);
    return value;
}

static double seconds_of(const char *summary) { return number_of(summary, "seconds"); }
static double overlap_of(const char *summary) { return number_of(summary, "overlap"); }
#else
/* Without jansson the tool has no --json; its text gives whole milliseconds. */
static const char summary_option[] = "";

static double number_of(const char *text, const char *key) {
    const char *at = strstr(text, key);
    if (!at)
        die("the tool's summary has no %s", key);
    return strtod(at + strlen(key), NULL);
}

static double seconds_of(const char *summary) { return number_of(summary, "\n  time "); }
static double overlap_of(const char *summary) { return number_of(summary, "\n  overlap "); }
#endif

/* The tool's own time for the stream of chunks; the whole process's to `process`. Milliseconds. */
static double run_tool(struct bench_run *run, double *process, double *overlap) {
    char text[4 * PATH_BYTES], summary[1 << 16];
    snprintf(text, sizeof text, "%s run -i %s -o %s %s '%s' 2>/dev/null", bench_options()->tool,
             run->in, run->out, summary_option, expression);
    const double start = now_seconds();
    FILE *answer = popen(text, "r");
    const size_t got = answer ? fread(summary, 1, sizeof summary - 1, answer) : 0;
    if (!answer || pclose(answer) != 0)
        die("failed: %s", text);
    *process = since(start);
    summary[got] = '\0';
    *overlap = overlap_of(summary);
    return 1e3 * seconds_of(summary);
}

/* --- rows --- */

static void set_up(struct bench_run *run, const struct rig *rig) {
    const char *base = getenv("TMPDIR");
    char text[2 * PATH_BYTES];
    *run = (struct bench_run){.rig = rig, .bytes = (bench_options()->quick ? 64u : 256u) << 20};
    snprintf(run->folder, sizeof run->folder, "%.900s/clstream-bench-XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(run->folder))
        die("%s: no temporary folder", run->folder);
    snprintf(run->in, sizeof run->in, "%s/in.npy", run->folder);
    snprintf(run->out, sizeof run->out, "%s/out.npy", run->folder);
    snprintf(run->copy, sizeof run->copy, "%s/copy", run->folder);
    snprintf(text, sizeof text, "%s gen -o %s --bytes %zu", bench_options()->tool, run->in,
             run->bytes);
    command(text);
    void *host;
    CLS(cls_host_alloc(rig->context, CHUNK, &host));
    run->host = memset(host, 0, CHUNK);
    CLS(cls_buffer_create(rig->context, CHUNK, &run->a));
    CLS(cls_buffer_create(rig->context, CHUNK, &run->b));
    run->stream = rig_stream(rig, CLS_ORDER_AUTO);
}

static void clean_up(struct bench_run *run) {
    unlink(run->in);
    unlink(run->out);
    unlink(run->copy);
    rmdir(run->folder);
}

struct series {
    double alone[STAGES][MAX_ROUNDS];
    double tool[MAX_ROUNDS], process[MAX_ROUNDS], overlap[MAX_ROUNDS];
    double of_longest[MAX_ROUNDS], of_sum[MAX_ROUNDS];
};

static void take(struct bench_run *run, struct series *series, unsigned i) {
    double longest = 0, sum = 0;
    for (unsigned k = 0; k < STAGES; k++) {
        series->alone[k][i] = stages[k].run(run);
        if (series->alone[k][i] > longest)
            longest = series->alone[k][i];
        sum += series->alone[k][i];
    }
    series->tool[i] = run_tool(run, &series->process[i], &series->overlap[i]);
    series->of_longest[i] = series->tool[i] / longest;
    series->of_sum[i] = series->tool[i] / sum;
}

int main(int argc, char **argv) {
    static struct series series;
    struct bench_run run;
    struct rig rig;
    bench_begin(argc, argv, "run");
    rig_open(&rig);
    bench_header(&rig);
    const unsigned rounds = bench_options()->quick ? 3 : 9;
    char name[64];
    set_up(&run, &rig);
    for (unsigned k = 0; k < STAGES; k++)
        stages[k].run(&run);
    run_tool(&run, &series.process[0], &series.overlap[0]);
    for (unsigned i = 0; i < rounds; i++)
        take(&run, &series, i);
    bench_section("(f) clstream run, and its stages alone");
    bench_note("%zu MiB in, as much out: %s", run.bytes >> 20, expression);
    for (unsigned k = 0; k < STAGES; k++) {
        snprintf(name, sizeof name, "%s alone", stages[k].name);
        bench_values(name, "ms", series.alone[k], rounds, 0);
    }
    bench_values("run", "ms", series.tool, rounds, 0);
    bench_values("run, the whole process", "ms", series.process, rounds, 0);
    bench_values("run over the longest stage alone", "x", series.of_longest, rounds, 0);
    bench_values("run over all stages, one by one", "x", series.of_sum, rounds, 0);
    bench_values("run, device stages at work at once", "x", series.overlap, rounds, 0);
    if (rig_is_cpu(&rig))
        bench_note("on a CPU all stages share its cores, so the longest alone is out of reach");
    clean_up(&run);
    rig_close(&rig);
    return bench_end();
}
