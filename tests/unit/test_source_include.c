/* SPDX-License-Identifier: MIT */
/* A program's source with the files that it includes in the place of their lines, as text: no compiler is asked. */
#include "../support/test.h"

#include <sys/stat.h>

#include "driver/build_log.h"
#include "driver/include_folders.h"
#include "driver/source_include.h"
#include "driver/source_words.h"

#include "scratch.h"

/* Files of the scratch folder; a line that begins with @NUMBER says its own number. */
static const char *const files[][2] = {
    {"a/same.h", "@1 of a\n"},
    {"b/same.h", "@1 of b\n"},
    {"b/only.h", "@1 only\n"},
    {"b/nested.h", "@1 nested\n#include \"same.h\"\n#include <same.h>\n@4 nested end"},
    {"once.h", "// here once\n#pragma once\n@3 once\n"},
    {"says.h", "/* not with\n#pragma once */\n@3 says\n"},
    {"guard.h", "#ifndef G\n#define G\n#include \"guard.h\"\n@4 guard\n#endif\n"},
    {"crlf.h", "@1 crlf\r\n#include \"only.h\"\r\n@3 crlf\r\n"},
    {"bom.h", "\xef\xbb\xbf@1 bom\n"},
    {"open.h", "@1 no end of line"},
    {"join.h", "@1 ends with a backslash \\"},
};
enum { FILES = sizeof files / sizeof *files };

static char options[1024]; /* -I b -I"a", and more */

static void put_files(void) {
    char path[400];
    static const char *const folders[] = {"a", "b"};
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", scratch, folders[i]);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    for (int i = 0; i < FILES; i++) {
        snprintf(path, sizeof path, "%s/%s", scratch, files[i][0]);
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        assert_int_not_equal(fputs(files[i][1], file), EOF);
        assert_int_equal(fclose(file), 0);
    }
    snprintf(options, sizeof options, "-DX=1 -I %s/b -I\"%s/a\" -I%s", scratch, scratch, scratch);
}

static void remove_files(void) {
    char path[400];
    for (int i = 0; i < FILES; i++) {
        snprintf(path, sizeof path, "%s/%s", scratch, files[i][0]);
        assert_int_equal(unlink(path), 0);
    }
    snprintf(path, sizeof path, "%s/a", scratch);
    assert_int_equal(rmdir(path), 0);
    snprintf(path, sizeof path, "%s/b", scratch);
    assert_int_equal(rmdir(path), 0);
}

static struct text expand(const char *path, const char *source, const char *with) {
    struct text text = {0};
    const struct source_origin origin = {path ? path : "main", path};
    assert_int_equal(source_include(origin, source, with, &text), CLS_SUCCESS);
    return text;
}

/* The lines that are left are these, in this order; directives of the expansion itself do not count. */
static void expect_lines(const char *source, const char *with, const char *expected) {
    struct text text = expand(NULL, source, with), seen = {0};
    for (const char *at = text.bytes, *next; *at; at = next) {
        const size_t length = strcspn(at, "\r\n");
        next = at + length + strspn(at + length, "\r\n");
        if (length && strncmp(at, "#line", 5) != 0 && !strstr(at, "CLS_INCLUDED")) {
            text_append(&seen, at, length);
            text_append(&seen, "|", 1);
        }
    }
    assert_string_equal(seen.bytes, expected);
    free(seen.bytes);
    free(text.bytes);
}

static void test_names_are_looked_for_in_the_folders_of_the_options(void **state) {
    (void)state;
    put_files();
    expect_lines("#include \"same.h\"\n", options, "@1 of b|");
    expect_lines("#include <same.h>\n", options, "@1 of b|");
    expect_lines("  #  include\t<only.h> // to the end\nx\n", options, "@1 only|x|");
    expect_lines("#include <nested.h>\n", options, "@1 nested|@1 of b|@1 of b|@4 nested end|");
    expect_lines("#include <no_such.h>\n", options, "#include <no_such.h>|");
    expect_lines("#include \"same.h\"\n", "", "#include \"same.h\"|");
    char other[1200];
    snprintf(other, sizeof other, "%s -isystem /tmp", options);
    expect_lines("#include <same.h>\n", other, "#include <same.h>|");
    snprintf(other, sizeof other, "-include x.h -I%s/a -I%s/b", scratch, scratch);
    expect_lines("#include <same.h>\n", other, "@1 of a|");
    remove_files();
}

static void test_a_file_is_looked_for_beside_its_includer_first(void **state) {
    char path[400], only_a[400];
    (void)state;
    put_files();
    snprintf(path, sizeof path, "%s/b/main.cl", scratch);
    snprintf(only_a, sizeof only_a, "-I%s/a", scratch);
    struct text text = expand(path, "#include \"same.h\"\n#include <same.h>\n", only_a);
    const char *of_b = strstr(text.bytes, "of b"), *of_a = strstr(text.bytes, "of a");
    assert_true(of_b && of_a && of_b < of_a);
    free(text.bytes);
    remove_files();
}

static void test_lines_that_include_nothing_stay(void **state) {
    (void)state;
    put_files();
    static const char *const stays[] = {
        "/* |#include <only.h>|*/|",
        "// continued \\|#include <only.h>|",
        "// don't /* |x|", /* no comment begins in a comment */
        "#define T \"/*\"|",
        "char c = '\"'; /* |#include <only.h>|*/|",
        "#include NAME|",
        "#include_next <only.h>|",
        "#include <only.h|",
        "#include <>|",
        "int include = 1;|",
        "#include <only.h> /* |*/|",
        "#include <only.h> \\|x|",
    };
    for (size_t i = 0; i < sizeof stays / sizeof *stays; i++) {
        char source[128];
        snprintf(source, sizeof source, "%s", stays[i]);
        for (char *at = source; (at = strchr(at, '|')) != NULL;)
            *at = '\n';
        expect_lines(source, options, stays[i]);
    }
    expect_lines("// continued \\\r\n#include <only.h>\r\n", options,
                 "// continued \\|#include <only.h>|");
    expect_lines("// no comment /*\n#include <only.h>\n", options, "// no comment /*|@1 only|");
    expect_lines("#define T \"/*\"\n#include <only.h>\n", options, "#define T \"/*\"|@1 only|");
    remove_files();
}

static void test_files_keep_their_guards_and_ends(void **state) {
    (void)state;
    put_files();
    struct text text = expand(
        NULL, "#include <once.h>\n#include \"../b/../once.h\"\n#include <says.h>\n", options);
    assert_non_null(strstr(text.bytes, "#ifndef CLS_INCLUDED_0\n#define CLS_INCLUDED_0\n"));
    assert_null(strstr(text.bytes, "CLS_INCLUDED_1"));
    const char *second =
        strstr(strstr(text.bytes, "CLS_INCLUDED_0\n#line") + 1, "#ifndef CLS_INCLUDED_0");
    assert_non_null(second);
    free(text.bytes);
    expect_lines(
        "#if 0\n#include <guard.h>\n#endif\n#include <no_such.h>\n", options,
        "#if 0|#ifndef G|#define G|#ifndef G|#define G|#include \"guard.h\"|@4 guard|#endif|"
        "@4 guard|#endif|#endif|#include <no_such.h>|");
    expect_lines("#include <open.h>\nx\n", options, "@1 no end of line|x|");
    expect_lines("#include <join.h>\nx\n", options, "@1 ends with a backslash \\|x|");
    expect_lines("#include <bom.h>\n", options, "@1 bom|");
    expect_lines("#include <crlf.h>\r\nx\r\n", options, "@1 crlf|@1 only|@3 crlf|x|");
    remove_files();
}

/* Where `mark` is, as messages of a compiler that counts the lines of the text are told. */
static char *located(const struct text *text, const char *mark) {
    char log[64];
    unsigned line = 1;
    const char *end = strstr(text->bytes, mark);
    assert_non_null(end);
    for (const char *at = text->bytes; at < end; at++)
        line += *at == '\n';
    snprintf(log, sizeof log, "<kernel>:%u", line);
    return build_log_located(log, text->bytes);
}

static void expect_at(const struct text *text, const char *mark, const char *where) {
    char *seen = located(text, mark);
    assert_non_null(seen);
    assert_true(strlen(seen) >= strlen(where));
    assert_string_equal(seen + strlen(seen) - strlen(where), where);
    free(seen);
}

static void test_each_line_keeps_its_file_and_number(void **state) {
    (void)state;
    put_files();
    struct text text = expand(NULL,
                              "#line 1 \"main\"\nfirst\n#include <crlf.h>\nthird\n"
                              "#line 70 \"generator.py\"\nseventieth\n#include <nested.h>\nafter\n",
                              options);
    expect_at(&text, "first", "main:1");
    expect_at(&text, "@1 crlf", "/crlf.h:1");
    expect_at(&text, "@1 only", "/b/only.h:1");
    expect_at(&text, "@3 crlf", "/crlf.h:3");
    expect_at(&text, "third", "main:3");
    expect_at(&text, "seventieth", "generator.py:70");
    expect_at(&text, "@4 nested end", "/b/nested.h:4");
    expect_at(&text, "after", "generator.py:72");
    free(text.bytes);
    remove_files();
}

static void test_what_is_left_is_known_to_include_files_or_not(void **state) {
    (void)state;
    put_files();
    char with[1100];
    snprintf(with, sizeof with, "-I%s/include -I%s", scratch, scratch);
    assert_true(source_is_self_contained("#line 1 \"include/asm.h\"\nx\n", ""));
    assert_true(source_is_self_contained("x\n#line 1 \"/usr/include/import.h\"\n", ""));
    assert_false(source_is_self_contained("#line 1 \"x*/\n#include \"y\"\n", ""));
    assert_false(source_is_self_contained("#include <x.h>\n", ""));
    struct text text = expand(NULL, "#include <guard.h>\n", with);
    assert_false(source_is_self_contained(text.bytes, with)); /* the innermost line stays */
    free(text.bytes);
    text = expand(NULL, "#include <once.h>\n", with);
    assert_true(source_is_self_contained(text.bytes, with));
    free(text.bytes);
    remove_files();
}

static void test_another_file_in_the_working_folder_leaves_the_compiler_the_choice(void **state) {
    char before[512], folder[300];
    (void)state;
    put_files();
    assert_non_null(getcwd(before, sizeof before));
    snprintf(folder, sizeof folder, "%s/a", scratch);
    assert_int_equal(chdir(folder), 0);
    expect_lines("#include \"same.h\"\n#include <same.h>\n", options,
                 "#include \"same.h\"|@1 of b|");
    expect_lines("#include \"same.h\"\n", "-I.", "@1 of a|");
    assert_int_equal(chdir(before), 0);
    remove_files();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_names_are_looked_for_in_the_folders_of_the_options,
                                        scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(test_a_file_is_looked_for_beside_its_includer_first,
                                        scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(test_lines_that_include_nothing_stay, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(test_files_keep_their_guards_and_ends, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(test_each_line_keeps_its_file_and_number, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(test_what_is_left_is_known_to_include_files_or_not,
                                        scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(
            test_another_file_in_the_working_folder_leaves_the_compiler_the_choice, scratch_setup,
            scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
