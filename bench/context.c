/* SPDX-License-Identifier: MIT */
/*
 * (e) What creating a context costs, beyond what clCreateContext takes by itself: each in a fresh
 * process, for a driver's start and every cache are once a process. Cold: empty cache folders,
 * the driver's own too; warm: the same folders again.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "rig.h"

/* --- in a child --- */

/* Where the folders' names go: clstream's cache and those of the drivers tried. */
static const char *const cache_variables[] = {"CLSTREAM_CACHE_DIR", "POCL_CACHE_DIR",
                                              "CUDA_CACHE_PATH", "MESA_SHADER_CACHE_DIR",
                                              "NEO_CACHE_DIR"};

enum { CACHES = sizeof cache_variables / sizeof *cache_variables, PLATFORMS = 16, DEVICES = 64 };

/* The device that clstream counts as `index`: over all platforms in the loader's order. */
static cl_device_id find_device(size_t index) {
    cl_platform_id platforms[PLATFORMS];
    cl_device_id devices[DEVICES];
    cl_uint n_platforms, n_devices;
    CL(clGetPlatformIDs(PLATFORMS, platforms, &n_platforms));
    for (cl_uint i = 0; i < n_platforms; i++) {
        cl_int code =
            clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, DEVICES, devices, &n_devices);
        if (code != CL_SUCCESS)
            continue;
        if (index < n_devices)
            return devices[index];
        index -= n_devices;
    }
    die("no device %zu", index);
}

/* clCreateContext alone. */
static void child_raw(size_t index) {
    cl_int code;
    const double start = now_seconds();
    cl_device_id device = find_device(index);
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    check_cl(code, "clCreateContext");
    printf("%.9f 0\n", now_seconds() - start);
    CL(clReleaseContext(context));
}

/* A clstream context, and the first cast on it. */
static void child_clstream(size_t index) {
    enum { COUNT = 1024 };
    cls_context_config config = CLS_CONTEXT_CONFIG_INIT;
    cls_context context;
    cls_buffer in, out;
    const float ones[COUNT] = {1};
    char device[32];
    snprintf(device, sizeof device, "%zu", index);
    config.device = device;
    const double start = now_seconds();
    CLS(cls_context_create(&config, &context));
    const double created = now_seconds();
    CLS(cls_buffer_from_host(context, ones, sizeof ones, &in));
    CLS(cls_buffer_create(context, COUNT * sizeof(int), &out));
    CLS(cls_cast(cls_array_of(in, CLS_F32, COUNT), cls_array_of(out, CLS_I32, COUNT), NULL));
    printf("%.9f %.9f\n", created - start, now_seconds() - created);
    CLS(cls_context_destroy(context));
}

static int child(const char *what) {
    const char *number = strchr(what, ':');
    const size_t index = number ? strtoul(number + 1, NULL, 10) : 0;
    if (strncmp(what, "raw", 3) == 0)
        child_raw(index);
    else
        child_clstream(index);
    return 0;
}

/* --- in the parent --- */

struct times {
    double create, first_cast; /* milliseconds */
};

static void exec_child(const char *folder, const char *what, int output) {
    char path[256];
    for (int i = 0; i < CACHES; i++) {
        snprintf(path, sizeof path, "%s/%d", folder, i);
        mkdir(path, 0700);
        setenv(cache_variables[i], path, 1);
    }
    dup2(output, STDOUT_FILENO);
    char program[4096] = "";
    if (readlink("/proc/self/exe", program, sizeof program - 1) > 0)
        execl(program, "context", "--child", what, (char *)NULL);
    _exit(127);
}

static struct times run_child(const char *folder, const char *what) {
    struct times times;
    int ends[2], status;
    fflush(stdout);
    if (pipe(ends))
        die("no pipe");
    const pid_t pid = fork();
    if (pid < 0)
        die("no process");
    if (pid == 0)
        exec_child(folder, what, ends[1]);
    close(ends[1]);
    FILE *answer = fdopen(ends[0], "r");
    const int got = answer ? fscanf(answer, "%lf %lf", &times.create, &times.first_cast) : 0;
    if (answer)
        fclose(answer);
    if (waitpid(pid, &status, 0) != pid || status != 0 || got != 2)
        die("the child '%s' failed", what);
    times.create *= 1e3;
    times.first_cast *= 1e3;
    return times;
}

static void remove_tree(const char *path) {
    DIR *folder = opendir(path);
    struct dirent *entry;
    while (folder && (entry = readdir(folder))) {
        char inner[512];
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
        if (unlink(inner))
            remove_tree(inner);
    }
    if (folder)
        closedir(folder);
    rmdir(path);
}

/* A new folder for caches; the name is overwritten by the next. */
static const char *new_folder(void) {
    static char path[128];
    const char *base = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/clstream-bench-XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(path))
        die("%s: no temporary folder", path);
    return path;
}

struct series {
    double raw[MAX_ROUNDS], create[MAX_ROUNDS], beyond[MAX_ROUNDS], first_cast[MAX_ROUNDS];
};

/* One round: clCreateContext alone, then clstream, each in a process of its own. */
static void take(struct series *series, unsigned i, const char *folder, size_t index) {
    char raw[32], clstream[32];
    snprintf(raw, sizeof raw, "raw:%zu", index);
    snprintf(clstream, sizeof clstream, "clstream:%zu", index);
    series->raw[i] = run_child(folder, raw).create;
    const struct times times = run_child(folder, clstream);
    series->create[i] = times.create;
    series->beyond[i] = times.create - series->raw[i];
    series->first_cast[i] = times.first_cast;
}

static void report(const char *state, struct series *series, unsigned n, double bar) {
    const struct {
        const char *name;
        double *values;
        double bar;
    } rows[] = {{"clCreateContext alone", series->raw, 0},
                {"cls_context_create", series->create, 0},
                {"context beyond clCreateContext", series->beyond, bar},
                {"first cast", series->first_cast, 0}};
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s, %s", rows[i].name, state);
        bench_values(name, "ms", rows[i].values, n, rows[i].bar);
    }
}

int main(int argc, char **argv) {
    static struct series cold, warm;
    struct rig rig;
    bench_begin(argc, argv, "context");
    if (bench_options()->child)
        return child(bench_options()->child);
    rig_open(&rig);
    bench_header(&rig);
    const unsigned n_cold = bench_options()->quick ? 2 : 5;
    const unsigned n_warm = bench_options()->quick ? 5 : 15;
    for (unsigned i = 0; i < n_cold; i++) {
        const char *folder = new_folder();
        take(&cold, i, folder, rig.index);
        for (unsigned k = i; k < n_warm; k += n_cold)
            take(&warm, k, folder, rig.index);
        remove_tree(folder);
    }
    bench_section("(e) a context in a fresh process");
    report("cold", &cold, n_cold, 0);
    report("warm", &warm, n_warm, 20);
    rig_close(&rig);
    return bench_end();
}
