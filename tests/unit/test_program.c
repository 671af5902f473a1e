/* SPDX-License-Identifier: MIT */
/* Building programs, and their caches in memory and on disk, on the default device. */
#include "../support/test.h"

#include <fcntl.h>
#include <pthread.h>

#include "base/error.h"
#include "driver/cache_file.h"
#include "driver/caps.h"
#include "driver/program.h"
#include "driver/program_disk.h"
#include "driver/quirk.h"

#include "../support/lines.h"
#include "one_item.h"
#include "scratch.h"

static struct device *device;
static cl_context context;

static const char good[] = "__kernel void twice(__global int *x) {\n"
                           "    x[get_global_id(0)] *= FACTOR;\n"
                           "}\n";
static const char bad[] = "__kernel void broken(__global int *x) {\n"
                          "    x[0] = 1;\n"
                          "    x[1] = no_such_variable;\n"
                          "}\n";

static const struct program_spec good_spec = {"twice.cl", good, "-DFACTOR=2"};
static const struct program_spec bad_spec = {"folder/broken.cl", bad, NULL};

static int open_device(void **state) {
    cl_int code;
    (void)state;
    if (device_find(NULL, &device) != CLS_SUCCESS)
        return 0; /* each test skips */
    context = clCreateContext(NULL, 1, &device->id, NULL, NULL, &code);
    return code == CL_SUCCESS ? 0 : -1;
}

static int close_device(void **state) {
    (void)state;
    if (context)
        clReleaseContext(context);
    return 0;
}

static void need_device(void) {
    if (!device) {
        print_message("no OpenCL device here\n");
        skip();
    }
}

/* What `twice` makes of 21. */
static int run_twice(cl_program program) { return one_item(device, context, program, "twice", 21); }

static void built_program_runs(void **state) {
    cl_program program;
    (void)state;
    need_device();
    assert_int_equal(program_build(device, context, &good_spec, &program), CLS_SUCCESS);
    assert_int_equal(run_twice(program), 42);
    program_release(program);
}

static void unknown_kernel_is_not_found(void **state) {
    cl_program program;
    cl_kernel kernel = NULL;
    (void)state;
    need_device();
    assert_int_equal(program_build(device, context, &good_spec, &program), CLS_SUCCESS);
    assert_int_equal(program_create_kernel(program, "thrice", &kernel), CLS_ERROR_NOT_FOUND);
    assert_null(kernel);
    assert_non_null(strstr(cls_last_error_detail(), "thrice"));
    program_release(program);
}

static void need_line_directives(void) {
    if (!compiler_tells_lines(context, device->id)) {
        print_message("the compiler's messages do not say where an error is\n");
        skip();
    }
}

/* The compiler's log: what it disliked, and where. */
static void build_error_tells_file_and_line(void **state) {
    cl_program program = NULL;
    (void)state;
    need_device();
    assert_int_equal(program_build(device, context, &bad_spec, &program), CLS_ERROR_BUILD_FAILED);
    assert_null(program);
    assert_int_equal(cls_last_error_code(), CL_BUILD_PROGRAM_FAILURE);
    const char *detail = cls_last_error_detail();
    assert_non_null(strstr(detail, "no_such_variable"));
    need_line_directives();
    if (!strstr(detail, "broken.cl:3"))
        fail_msg("the detail is: %s", detail);
}

static void line_directive_of_the_source_is_kept(void **state) {
    static const char source[] = "#line 70 \"own.cl\"\n\nint syntax error here;\n";
    const struct program_spec spec = {"other.cl", source, NULL};
    cl_program program = NULL;
    (void)state;
    need_device();
    need_line_directives();
    assert_int_equal(program_build(device, context, &spec, &program), CLS_ERROR_BUILD_FAILED);
    if (!strstr(cls_last_error_detail(), "own.cl:71"))
        fail_msg("the detail is: %s", cls_last_error_detail());
}

static void odd_names_do_no_harm(void **state) {
    static const char *const names[] = {NULL, "", "a \"quoted\" \\ name.cl", "two\nlines.cl"};
    (void)state;
    need_device();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct program_spec spec = {names[i], good, "-DFACTOR=2"};
        cl_program program;
        assert_int_equal(program_build(device, context, &spec, &program), CLS_SUCCESS);
        program_release(program);
    }
}

static void bad_options_are_a_build_error(void **state) {
    struct program_spec spec = {"twice.cl", good, "-DFACTOR=2 -no-such-option=7"};
    cl_program program = NULL;
    (void)state;
    need_device();
    cls_status status = program_build(device, context, &spec, &program);
    if (status == CLS_SUCCESS) {
        program_release(program);
        print_message("this compiler takes unknown options\n");
        skip();
    }
    assert_int_equal(status, CLS_ERROR_BUILD_FAILED);
    assert_non_null(strstr(cls_last_error_detail(), "-no-such-option=7"));
}

/* On disk */

static bool on_disk(const struct program_spec *spec) {
    struct text key = {0}, source = {0};
    text_printf(&source, "#line 1 \"%s\"\n%s", spec->name, spec->source);
    assert_true(program_disk_key(device, spec, source.bytes, &key));
    cl_program program = program_disk_load(
        device, context, (struct cache_bytes){key.bytes, key.length}, spec->options);
    if (program) {
        assert_int_equal(run_twice(program), 42);
        program_release(program);
    }
    free(key.bytes);
    free(source.bytes);
    return program != NULL;
}

static void build_once(const struct program_spec *spec) {
    cl_program program;
    assert_int_equal(program_build(device, context, spec, &program), CLS_SUCCESS);
    assert_int_equal(run_twice(program), 42);
    program_release(program);
}

static void built_program_is_kept_on_disk(void **state) {
    (void)state;
    need_device();
    assert_false(on_disk(&good_spec));
    build_once(&good_spec);
    assert_int_equal(scratch_count(".clsb", NULL, 0), 1);
    assert_true(on_disk(&good_spec));
    assert_int_equal(scratch_count(".clsb-loading", NULL, 0), 0);
    build_once(&good_spec);
    assert_int_equal(scratch_count("", NULL, 0), 1);
}

/* CLSTREAM_CACHE=probes: the driver is not asked for binaries, and one kept before is not loaded. */
static unsigned binaries_asked;

cl_int __real_clGetProgramInfo(cl_program, cl_program_info, size_t, void *, size_t *);
cl_int __wrap_clGetProgramInfo(cl_program, cl_program_info, size_t, void *, size_t *);
cl_int __wrap_clGetProgramInfo(cl_program program, cl_program_info what, size_t size, void *to,
                               size_t *needed) {
    binaries_asked += what == CL_PROGRAM_BINARY_SIZES || what == CL_PROGRAM_BINARIES;
    return __real_clGetProgramInfo(program, what, size, to, needed);
}

static bool is_kept(void) {
    struct text key = {0};
    const bool kept = program_disk_key(device, &good_spec, good_spec.source, &key);
    free(key.bytes);
    return kept;
}

static void without_programs_probe_results_are_kept(void **state) {
    const struct cache_bytes key = {"key", 3};
    struct cache_bytes payload;
    void *owned;
    (void)state;
    need_device();
    assert_int_equal(setenv("CLSTREAM_CACHE", "probes", 1), 0);
    binaries_asked = 0;
    build_once(&good_spec);
    assert_int_equal(binaries_asked, 0);
    assert_int_equal(scratch_count("", NULL, 0), 0);
    cache_store(CACHE_CAPS, key, key);
    assert_true(cache_load(CACHE_CAPS, key, &payload, &owned));
    free(owned);
    assert_int_equal(setenv("CLSTREAM_CACHE", "all", 1), 0);
    build_once(&good_spec);
    assert_true(binaries_asked > 0);
    assert_true(on_disk(&good_spec));
    assert_int_equal(setenv("CLSTREAM_CACHE", "probes", 1), 0);
    assert_false(is_kept());
}

/* Unless CLSTREAM_CACHE says so, the driver is asked for binaries only where that is cheap. */
static void programs_are_kept_where_binaries_are_cheap(void **state) {
    const struct caps *found;
    (void)state;
    need_device();
    unsetenv("CLSTREAM_CACHE");
    assert_int_equal(device_caps(device, &found), CLS_SUCCESS);
    struct caps *caps = (struct caps *)(uintptr_t)found;
    const bool kept = caps->keep_programs;
    assert_int_equal(is_kept(), kept);
    for (unsigned cheap = 0; cheap < 2; cheap++) {
        caps->binary_compiles = !cheap;
        caps_choose(device, caps);
        binaries_asked = 0;
        build_once(&good_spec);
        assert_int_equal(binaries_asked > 0, cheap);
        assert_int_equal(is_kept(), cheap);
    }
    caps->binary_compiles = !kept;
    caps_choose(device, caps);
}

static unsigned from_source;

cl_program __real_clCreateProgramWithSource(cl_context, cl_uint, const char **, const size_t *,
                                            cl_int *);
cl_program __wrap_clCreateProgramWithSource(cl_context, cl_uint, const char **, const size_t *,
                                            cl_int *);
cl_program __wrap_clCreateProgramWithSource(cl_context owner, cl_uint n, const char **text,
                                            const size_t *length, cl_int *code) {
    from_source++;
    return __real_clCreateProgramWithSource(owner, n, text, length, code);
}

/* How often a program that was built before is made from its source again. */
static unsigned sources_of_second_build(unsigned kernels) {
    struct text source = {0};
    for (unsigned i = 0; i < kernels; i++)
        text_printf(&source, "__kernel void k%u(__global int *x) { x[0] = %u; }\n", i, i);
    const struct program_spec spec = {"many.cl", source.bytes, "-cl-kernel-arg-info"};
    for (int i = 0; i < 2; i++) {
        cl_program program;
        from_source = 0;
        assert_int_equal(program_build(device, context, &spec, &program), CLS_SUCCESS);
        program_release(program);
    }
    free(source.bytes);
    return from_source;
}

static void programs_of_many_kernels_are_kept_too(void **state) {
    (void)state;
    need_device();
    assert_int_equal(sources_of_second_build(65), sources_of_second_build(1));
}

static void other_options_are_another_program(void **state) {
    struct program_spec spec = good_spec;
    cl_program program;
    (void)state;
    need_device();
    build_once(&good_spec);
    spec.options = "-DFACTOR=3";
    assert_int_equal(program_build(device, context, &spec, &program), CLS_SUCCESS);
    assert_int_equal(run_twice(program), 63);
    program_release(program);
    assert_int_equal(scratch_count(".clsb", NULL, 0), 2);
}

static void flip_byte(const char *path, off_t at) {
    unsigned char byte;
    int file = open(path, O_RDWR);
    assert_true(file >= 0);
    assert_int_equal(pread(file, &byte, 1, at), 1);
    byte ^= 0x40;
    assert_int_equal(pwrite(file, &byte, 1, at), 1);
    close(file);
}

static void damaged_file_is_rebuilt_and_rewritten(void **state) {
    char path[512];
    (void)state;
    need_device();
    build_once(&good_spec);
    assert_int_equal(scratch_count(".clsb", path, sizeof path), 1);
    for (off_t at = 0; at < 400; at += 57) {
        flip_byte(path, at);
        assert_false(on_disk(&good_spec));
        build_once(&good_spec);
        assert_true(on_disk(&good_spec));
    }
    assert_int_equal(truncate(path, 300), 0);
    assert_false(on_disk(&good_spec));
    build_once(&good_spec);
    assert_true(on_disk(&good_spec));
}

/* A checksum that holds over a binary that the driver refuses: as after a driver's own change that
 * its version does not tell. Drivers that such a binary kills are spared. */
static void refused_binary_is_rebuilt(void **state) {
    static const char garbage[] = "this is no program at all";
    struct text key = {0}, source = {0};
    (void)state;
    need_device();
    if (device->quirks & QUIRK_BINARY_ABORTS) {
        print_message("a malformed binary kills this driver's process\n");
        skip();
    }
    text_printf(&source, "#line 1 \"%s\"\n%s", good_spec.name, good_spec.source);
    assert_true(program_disk_key(device, &good_spec, source.bytes, &key));
    cache_store(CACHE_PROGRAM, (struct cache_bytes){key.bytes, key.length},
                (struct cache_bytes){garbage, sizeof garbage});
    free(key.bytes);
    free(source.bytes);
    assert_int_equal(scratch_count(".clsb", NULL, 0), 1);
    build_once(&good_spec);
    assert_true(on_disk(&good_spec));
}

static void source_that_includes_files_is_not_kept(void **state) {
    static const char *const sources[] = {"#include \"x.h\"\n",
                                          "  #  include <x.h>\n",
                                          "#line 1 \"y.cl\"\n#/**/include \"x.h\"\n",
                                          "int x; /* # */ # /* */ include \"x.h\"\n",
                                          "#\\\ninclude \"x.h\"\n",
                                          "#\\\r\n include \"x.h\"\n",
                                          "%:include \"x.h\"\n",
                                          "int y; ?\?=include \"x.h\"\n",
                                          "#import \"x.h\"\n",
                                          "#inc\\\nlude \"x.h\"\n",
                                          "#inc\\ \r\nlude \"x.h\"\n",
                                          "#imp?\?/\nort \"x.h\"\n",
                                          "# /* a\n*/ include \"x.h\"\n",
                                          "int x[] = {\n#embed \"x\"\n};\n",
                                          "#if __has_include(\"x.h\")\n#endif\n"};
    static const char *const others[] = {"/* it may include all */\n", "int \\\nimportant;\n",
                                         "#line 1 \"/include/x.cl\"\nint important;\n"};
    (void)state;
    need_device();
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        struct program_spec spec = {"x.cl", sources[i], "-I."};
        struct text key = {0};
        assert_false(program_disk_key(device, &spec, sources[i], &key));
        free(key.bytes);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct program_spec spec = {"x.cl", others[i], NULL};
        struct text key = {0};
        assert_true(program_disk_key(device, &spec, spec.source, &key));
        free(key.bytes);
    }
}

/* In memory */

struct asker {
    pthread_t thread;
    struct program_cache *cache;
    const struct program_spec *spec;
    pthread_barrier_t *barrier;
    cls_status status;
    cl_program program;
};

static void *ask(void *arg) {
    struct asker *asker = arg;
    pthread_barrier_wait(asker->barrier);
    asker->status = program_cache_get(asker->cache, asker->spec, &asker->program);
    return NULL;
}

enum { ASKERS = 8 };

static void ask_at_once(struct program_cache *cache, const struct program_spec *spec,
                        struct asker askers[ASKERS]) {
    pthread_barrier_t barrier;
    assert_int_equal(pthread_barrier_init(&barrier, NULL, ASKERS), 0);
    for (size_t i = 0; i < ASKERS; i++) {
        askers[i] = (struct asker){0, cache, spec, &barrier, CLS_ERROR_DRIVER, NULL};
        assert_int_equal(pthread_create(&askers[i].thread, NULL, ask, &askers[i]), 0);
    }
    for (size_t i = 0; i < ASKERS; i++)
        assert_int_equal(pthread_join(askers[i].thread, NULL), 0);
    pthread_barrier_destroy(&barrier);
}

static void threads_get_the_one_program_of_a_key(void **state) {
    struct program_cache *cache;
    struct asker askers[ASKERS];
    (void)state;
    need_device();
    setenv("CLSTREAM_CACHE", "off", 1);
    assert_int_equal(program_cache_create(device, context, &cache), CLS_SUCCESS);
    ask_at_once(cache, &good_spec, askers);
    for (size_t i = 0; i < ASKERS; i++) {
        assert_int_equal(askers[i].status, CLS_SUCCESS);
        assert_ptr_equal(askers[i].program, askers[0].program);
    }
    struct program_spec other = good_spec;
    other.options = "-DFACTOR=5";
    cl_program program;
    assert_int_equal(program_cache_get(cache, &other, &program), CLS_SUCCESS);
    assert_ptr_not_equal(program, askers[0].program);
    assert_int_equal(run_twice(program), 105);
    assert_int_equal(run_twice(askers[0].program), 42);
    program_cache_destroy(cache);
}

static void failure_reaches_everybody_and_is_forgotten(void **state) {
    struct program_cache *cache;
    struct asker askers[ASKERS];
    (void)state;
    need_device();
    assert_int_equal(program_cache_create(device, context, &cache), CLS_SUCCESS);
    for (int round = 0; round < 2; round++) {
        ask_at_once(cache, &bad_spec, askers);
        for (size_t i = 0; i < ASKERS; i++) {
            assert_int_equal(askers[i].status, CLS_ERROR_BUILD_FAILED);
            assert_null(askers[i].program);
        }
    }
    cl_program program;
    assert_int_equal(program_cache_get(cache, &good_spec, &program), CLS_SUCCESS);
    program_cache_destroy(cache);
}

#define ON_DISK(test) cmocka_unit_test_setup_teardown(test, scratch_setup, scratch_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        ON_DISK(built_program_runs),
        ON_DISK(unknown_kernel_is_not_found),
        ON_DISK(build_error_tells_file_and_line),
        ON_DISK(line_directive_of_the_source_is_kept),
        ON_DISK(odd_names_do_no_harm),
        ON_DISK(bad_options_are_a_build_error),
        ON_DISK(built_program_is_kept_on_disk),
        ON_DISK(without_programs_probe_results_are_kept),
        ON_DISK(programs_are_kept_where_binaries_are_cheap),
        ON_DISK(programs_of_many_kernels_are_kept_too),
        ON_DISK(other_options_are_another_program),
        ON_DISK(damaged_file_is_rebuilt_and_rewritten),
        ON_DISK(refused_binary_is_rebuilt),
        ON_DISK(source_that_includes_files_is_not_kept),
        ON_DISK(threads_get_the_one_program_of_a_key),
        ON_DISK(failure_reaches_everybody_and_is_forgotten),
    };
    return cmocka_run_group_tests_name("program", tests, open_device, close_device);
}
