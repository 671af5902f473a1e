/* SPDX-License-Identifier: MIT */
/* Programs: their build errors, files that they are loaded from, files that they include. */
#include "../support/rig.h"

#include "../support/lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char put[] = "kernel void put(global uint *o) { o[0] = VALUE; }\n";

static bool tells_lines(void) {
    cl_context context;
    cl_device_id device;
    OK(cls_context_get_cl(rig.context, &context, &device));
    return compiler_tells_lines(context, device);
}

static void test_build_errors_show_file_line_and_log(void **state) {
    (void)state;
    static const char broken[] =
        "kernel void fine(global uint *out) { out[0] = 1; }\n"
        "\n"
        "kernel void broken(global uint *out) { out[0] = no_such_name; }\n";
    cls_program made = (cls_program)&made;
    EXPECT(CLS_ERROR_BUILD_FAILED,
           cls_program_from_source(rig.context, broken, "mine.cl", NULL, &made));
    const char *detail = cls_last_error_detail();
    assert_ptr_equal(made, &made);
    assert_non_null(strstr(detail, "no_such_name"));
    assert_non_null(strstr(detail, "mine.cl"));
    if (tells_lines())
        assert_non_null(strstr(detail, "mine.cl:3"));
    EXPECT(CLS_ERROR_BUILD_FAILED,
           cls_program_from_source(rig.context, put, NULL, "-DVALUE=1 -no-such-option-x", &made));
    assert_ptr_equal(made, &made);
}

static void test_programs_load_from_files(void **state) {
    (void)state;
    char path[] = "/tmp/clstream-test-XXXXXX";
    int file = mkstemp(path);
    cls_program loaded = (cls_program)&loaded;
    cls_kernel kernel;
    cls_buffer cells = rig_cells(1);
    assert_true(file >= 0);
    assert_int_equal(write(file, put, strlen(put)), strlen(put));
    close(file);
    OK(cls_program_load(rig.context, path, "-DVALUE=42", &loaded));
    OK(cls_kernel_create(loaded, "put", &kernel));
    cls_launch shape = cls_launch_1d(1);
    cls_arg args[] = {cls_arg_buffer(cells)};
    OK(cls_kernel_launch(kernel, &shape, args, 1, NULL));
    assert_int_equal(rig_cell(cells, 0), 42);
    OK(cls_kernel_destroy(kernel));
    EXPECT(CLS_ERROR_NOT_FOUND, cls_kernel_create(loaded, "no_such_kernel", &kernel));
    EXPECT(CLS_ERROR_NOT_FOUND, cls_kernel_create(loaded, "", &kernel));
    char name[5000];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    EXPECT(CLS_ERROR_NOT_FOUND, cls_kernel_create(loaded, name, &kernel));
    OK(cls_program_destroy(loaded));
    unlink(path);
    EXPECT(CLS_ERROR_NOT_FOUND, cls_program_load(rig.context, path, NULL, &loaded));
    EXPECT(CLS_ERROR_IO, cls_program_load(rig.context, "/", NULL, &loaded));
    OK(cls_buffer_destroy(cells));
}

static void write_file(const char *folder, const char *name, const char *text) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_not_equal(fputs(text, file), EOF);
    assert_int_equal(fclose(file), 0);
}

/* What the kernel `put` of a program that was made with this status writes; the status in its place. */
static uint32_t put_of(cls_status status, cls_program made) {
    cls_kernel kernel;
    cls_buffer cells = rig_cells(1);
    const cls_arg args[] = {cls_arg_buffer(cells)};
    const cls_launch one = cls_launch_1d(1);
    uint32_t seen = (uint32_t)status;
    if (!status) {
        OK(cls_kernel_create(made, "put", &kernel));
        OK(cls_kernel_launch(kernel, &one, args, 1, NULL));
        seen = rig_cell(cells, 0);
        OK(cls_kernel_destroy(kernel));
        OK(cls_program_destroy(made));
    }
    OK(cls_buffer_destroy(cells));
    return seen;
}

/* The same for a program that is loaded from the folder. */
static uint32_t put_by(const char *folder, const char *name, const char *options) {
    char path[256];
    cls_program loaded = NULL;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    const cls_status status = cls_program_load(rig.context, path, options, &loaded);
    return put_of(status, loaded);
}

static uint32_t put_by_text(const char *text, const char *options) {
    cls_program made = NULL;
    const cls_status status = cls_program_from_source(rig.context, text, "text.cl", options, &made);
    return put_of(status, made);
}

static const char *const included_files[][2] = {
    {"value.h", "#define VALUE 41\n"},
    {"deep/once.h", "#pragma once\n#include \"../value.h\"\nconstant uint one = 1;\n"},
    {"guarded.h", "#ifndef GUARDED\n#define GUARDED\n#include \"guarded.h\"\n"
                  "#define ALSO 100\n#endif\n"},
    {"broken.h", "\nuint broken(void) { return no_such_name; }\n"},
    {"plain.cl", "#include \"value.h\"\nkernel void put(global uint *o) { o[0] = VALUE; }\n"},
    {"all.cl", "/* of no effect here:\n#include \"broken.h\"\n*/\n"
               "#if 0\n#include \"missing.h\"\n#include \"broken.h\"\n#endif\n"
               "# include \"deep/once.h\" // once\n#include \"deep/once.h\"\n"
               "#include \"guarded.h\"\n#include \"guarded.h\"\n"
               "kernel void put(global uint *o) { o[0] = VALUE + one + ALSO; }\n"},
    {"bad.cl", "#include \"value.h\"\n#include \"broken.h\"\n"
               "kernel void put(global uint *o) { o[0] = broken(); }\n"},
    {"missing.cl", "#include \"missing.h\"\nkernel void put(global uint *o) { o[0] = 1; }\n"},
};
enum { INCLUDED_FILES = sizeof included_files / sizeof *included_files };

/* A folder with most of what a name may have that means something in an option. */
#ifdef _WIN32
static const char odd_name[] = "a b 'c'";
#else
static const char odd_name[] = "a b \"c\" 'd' \\e";
#endif

static void test_included_files_are_found_beside_the_program(void **state) {
    (void)state;
    char top[] = "/tmp/clstream-test-XXXXXX", folder[64], deep[80], path[256];
    assert_non_null(mkdtemp(top));
    snprintf(folder, sizeof folder, "%s/%s", top, odd_name);
    snprintf(deep, sizeof deep, "%s/deep", folder);
    assert_int_equal(mkdir(folder, 0700) | mkdir(deep, 0700), 0);
    for (int i = 0; i < INCLUDED_FILES; i++)
        write_file(folder, included_files[i][0], included_files[i][1]);
    assert_int_equal(put_by(folder, "plain.cl", NULL), 41);
    assert_int_equal(put_by(folder, "all.cl", NULL), 142);
    write_file(folder, "value.h", "#define VALUE 51\n");
    assert_int_equal(put_by(folder, "plain.cl", NULL), 51);
    assert_int_equal(put_by(folder, "bad.cl", NULL), (uint32_t)CLS_ERROR_BUILD_FAILED);
    if (tells_lines())
        assert_non_null(strstr(cls_last_error_detail(), "broken.h:2"));
    assert_int_equal(put_by(folder, "missing.cl", NULL), (uint32_t)CLS_ERROR_BUILD_FAILED);
    for (int i = 0; i < INCLUDED_FILES; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, included_files[i][0]);
        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(rmdir(deep) | rmdir(folder) | rmdir(top), 0);
}

/* Drivers look there too; the library does so first, and keeps to their order. */
static void test_included_files_are_found_in_the_folders_of_the_options(void **state) {
    (void)state;
    char top[] = "/tmp/clstream-test-XXXXXX", first[64], second[64], options[160], text[256];
    assert_non_null(mkdtemp(top));
    snprintf(first, sizeof first, "%s/first", top);
    snprintf(second, sizeof second, "%s/second", top);
    assert_int_equal(mkdir(first, 0700) | mkdir(second, 0700), 0);
    write_file(first, "value.h", "#define VALUE 7\r\n");
    write_file(second, "value.h", "#define VALUE 8\n");
    write_file(second, "broken.h", "#pragma once\nuint broken(void) { return no_such_name; }");
    snprintf(options, sizeof options, "-I %s -I%s", first, second);
    snprintf(text, sizeof text, "#include <value.h>\n%s", put);
    assert_int_equal(put_by_text(text, options), 7);
    snprintf(text, sizeof text, "#include \"value.h\"\r\n%s", put);
    assert_int_equal(put_by_text(text, options), 7);
    snprintf(options, sizeof options, "-I%s -I %s", second, first);
    assert_int_equal(put_by_text(text, options), 8);
    write_file(first, "main.cl", text);
    assert_int_equal(put_by(first, "main.cl", options), 7);
    snprintf(text, sizeof text, "#define NAME <value.h>\n#include NAME\n%s", put);
    assert_int_equal(put_by_text(text, options), 8);
    snprintf(text, sizeof text, "#include <broken.h>\n#include <broken.h>\n%s", put);
    assert_int_equal(put_by_text(text, options), (uint32_t)CLS_ERROR_BUILD_FAILED);
    if (tells_lines())
        assert_non_null(strstr(cls_last_error_detail(), "second/broken.h:2"));
    static const char *const made[] = {"first/value.h", "first/main.cl", "second/value.h",
                                       "second/broken.h"};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        snprintf(text, sizeof text, "%s/%s", top, made[i]);
        assert_int_equal(unlink(text), 0);
    }
    assert_int_equal(rmdir(first) | rmdir(second) | rmdir(top), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_build_errors_show_file_line_and_log),
        cmocka_unit_test(test_programs_load_from_files),
        cmocka_unit_test(test_included_files_are_found_beside_the_program),
        cmocka_unit_test(test_included_files_are_found_in_the_folders_of_the_options),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
