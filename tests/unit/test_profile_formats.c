/* SPDX-License-Identifier: MIT */
/* What the formats of a profile say of made-up commands: the library's own, and those that the tool makes of its JSON. */
#include "config.h"

#include "tools/failure.h"
#include "tools/json.h"

#include "made_up_commands.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <unistd.h>

#include "trace/export.h"

/* The profile in a form; to be freed. */
static char *written(void (*form)(struct text *text, const struct profile *profile)) {
    struct text text = {0};
    form(&text, &profile);
    assert_false(text.failed);
    return text.bytes;
}

static char *read_whole(const char *path) {
    char *bytes = calloc(1, 1 << 20);
    FILE *file = fopen(path, "rb");
    assert_non_null(bytes);
    assert_non_null(file);
    assert_true(fread(bytes, 1, (1 << 20) - 1, file) > 0);
    fclose(file);
    assert_int_equal(unlink(path), 0);
    return bytes;
}

/* The profile as the tool converts it to the format of a suffix; to be freed. Skips the test where it cannot. */
static char *converted(const char *suffix) {
#ifdef HAVE_JANSSON
    char folder[] = "/tmp/clstream-forms-XXXXXX", from[64], to[64];
    char *json = written(export_json);
    struct failure failure = {.set = false};
    assert_non_null(mkdtemp(folder));
    snprintf(from, sizeof from, "%s/t.json", folder);
    snprintf(to, sizeof to, "%s/t%s", folder, suffix);
    FILE *file = fopen(from, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(json, 1, strlen(json), file), strlen(json));
    assert_int_equal(fclose(file), 0);
    free(json);
    if (!json_convert_trace(from, to, &failure))
        fail_msg("%s", failure.text);
    assert_int_equal(unlink(from), 0);
    char *bytes = read_whole(to);
    assert_int_equal(rmdir(folder), 0);
    return bytes;
#else
    (void)suffix;
    (void)read_whole;
    print_message("no jansson to convert JSON with\n");
    skip();
    return NULL;
#endif
}

static void assert_says(const char *text, const char *part) {
    if (!strstr(text, part))
        fail_msg("no '%s' in:\n%s", part, text);
}

static void test_reports_of_many_streams_do_not_compare_all_pairs(void **state) {
    (void)state;
    enum { STREAMS = 1500 };
    for (unsigned i = 0; i < STREAMS; i++) {
        struct trace_record *command = add(i + 1, 0, i * US, (i + 1) * US);
        if (i)
            wait_for(command, i, 1);
    }
    build();
    char *page = written(export_html);
    assert_says(page, "\"overlaps\":[],\"all_overlaps\":0");
    free(page);
    char *text = converted(".txt");
    assert_says(text, "(the first 0 pairs)");
    free(text);
}

static void test_each_device_has_a_counter_of_memory(void **state) {
    static const char *const changes[] = {
        "1,\"tid\":0,\"ts\":0.000,\"args\":{\"bytes\":4096}",
        "2,\"tid\":0,\"ts\":0.000,\"args\":{\"bytes\":4096}",
        "1,\"tid\":0,\"ts\":1.000,\"args\":{\"bytes\":100}",
        "1,\"tid\":0,\"ts\":2.000,\"args\":{\"bytes\":4096}",
        "2,\"tid\":0,\"ts\":6.000,\"args\":{\"bytes\":0}",
    };
    static const char begin[] = "{\"ph\":\"C\",\"name\":\"memory\",\"pid\":";
    static struct device other;
    (void)state;
    other.index = 1;
    add(1, 0, 0, US)->memory = 4096;
    add(2, 0, 2 * US, 3 * US)->memory = 4096;
    add(3, 2 * US, 4 * US, 5 * US)->memory = 4096;
    add(2, 6 * US, 6 * US, 7 * US)->memory = 0;
    add(4, US, 8 * US, 9 * US)->memory = 100; /* submitted before the third */
    raws[1].device = raws[3].device = &other;
    build();
    char *json = written(export_json), *at = json;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        at = strstr(at, begin);
        assert_non_null(at);
        at += strlen(begin);
        assert_int_equal(strncmp(at, changes[i], strlen(changes[i])), 0);
    }
    assert_null(strstr(at, begin));
    free(json);
}

static void own(const char *label, uint64_t start, uint64_t end) {
    struct raw *raw = (struct raw *)((char *)add(0, start, start, end) - offsetof(struct raw, u));
    memset(raw, 0, sizeof *raw);
    raw->type = CLS_RECORD_USER;
    snprintf(raw->u.span.label, sizeof raw->u.span.label, "%s", label);
    raw->u.span.start = start;
    raw->u.span.end = end;
}

/* Slices of one thread may nest only. */
static void test_own_records_that_overlap_are_no_slices_of_a_thread(void **state) {
    (void)state;
    own("first", 1000, 5000);
    own("second", 3000, 9000);
    own("a mark", 4000, 4000);
    build();
    char *json = written(export_json);
    assert_null(strstr(json, "\"ph\":\"X\""));
    assert_says(json, "{\"ph\":\"b\",\"name\":\"second\",\"cat\":\"user\",\"pid\":0,\"tid\":0,"
                      "\"id\":2,\"ts\":2.000,\"args\":{\"bytes\":0,\"row\":1}}");
    assert_says(json, "{\"ph\":\"e\",\"name\":\"second\",\"cat\":\"user\",\"pid\":0,\"tid\":0,"
                      "\"id\":2,\"ts\":8.000}");
    assert_says(json,
                "{\"ph\":\"e\",\"name\":\"a mark\",\"cat\":\"user\",\"pid\":0,\"tid\":0,\"id\":3,");
    free(json);
    char *csv = converted(".csv");
    assert_says(
        csv,
        "user,,\"second\",\"\",0,0,0,0,0,3000,3000,3000,9000,0,0,0,0,host,CLS_SUCCESS,none,0,0,,\r\n");
    free(csv);
}

/* Characters of three bytes each, within one of which a name of 63 bytes ends; and what is no UTF-8. */
static void test_names_are_cut_between_characters(void **state) {
    static const char three[] = "\xe4\xb8\xad";
    char name[80] = "";
    (void)state;
    for (int i = 0; i < 25; i++)
        memcpy(name + 3 * i, three, sizeof three);
    add(1, 0, 0, US)->label = "k\n\"l\"";
    add(2, 0, 0, US)->label = name;
    memcpy(raws[0].stream_name, "ab", 2); /* 63 bytes: of the last character one */
    memcpy(raws[0].stream_name + 2, name, 61);
    memcpy(raws[1].stream_name, "e\xff\nf", 5);
    add(3, 0, 0, US)->label = "no\xef\xbf\xbe\xef\xbf\xbf, but \xef\xbf\xbd";
    build();
    name[60] = '\0';
    char line[200], *text = converted(".txt"), *svg = converted(".svg");
    char *csv = converted(".csv");
    snprintf(line, sizeof line, "stream 1 'ab%s?' on", name);
    assert_says(text, line);
    assert_says(text, "stream 2 'e??f' on");
    assert_says(text, "  k?\"l\"                        kernel");
    snprintf(line, sizeof line, "  ab%s?  e??f                     ", name);
    assert_says(text, line);
    snprintf(line, sizeof line, ">ab%.54s..</text>", name);
    assert_says(svg, line);
    snprintf(line, sizeof line, "command,kernel,\"k\n\"\"l\"\"\",\"ab%s?\",", name);
    assert_says(csv, line);
    assert_says(csv, ",\"e?\nf\",");
    assert_says(svg, "no??????, but \xef\xbf\xbd");
    snprintf(line, sizeof line, "command,kernel,\"%s%s\",", name, three);
    assert_says(csv, line);
    free(csv);
    free(svg);
    free(text);
}

/* Goes over to a locale with a decimal comma, made in `folder`. */
static bool adopt_comma(const char *folder) {
    char command[200];
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/comma >/dev/null 2>&1",
             folder);
    return system(command) != -1 && !setenv("LOCPATH", folder, 1) && setlocale(LC_ALL, "comma") &&
           !strcmp(localeconv()->decimal_point, ",");
}

static void leave_comma(const char *folder) {
    char command[200];
    setlocale(LC_ALL, "C");
    unsetenv("LOCPATH");
    snprintf(command, sizeof command, "rm -r %s", folder);
    if (rmdir(folder)) /* something was made in it */
        assert_int_equal(system(command), 0);
}

static void test_numbers_have_a_point_in_every_locale(void **state) {
    static void (*const forms[])(struct text * text, const struct profile *profile) = {export_html,
                                                                                       export_json};
    enum { FORMS = sizeof forms / sizeof *forms };
    char folder[] = "/tmp/clstream-locale-XXXXXX", *plain[FORMS], *there[FORMS];
    (void)state;
    add(1, 0, 0, 2345 * US)->bytes = 1234567;
    add(2, 0, US, 1500 * US);
    build();
    for (unsigned i = 0; i < FORMS; i++)
        plain[i] = written(forms[i]);
    assert_non_null(mkdtemp(folder));
    const bool adopted = adopt_comma(folder);
    for (unsigned i = 0; i < FORMS; i++)
        there[i] = written(forms[i]);
    leave_comma(folder);
    for (unsigned i = 0; i < FORMS; i++) {
        assert_string_equal(plain[i], there[i]);
        free(plain[i]);
        free(there[i]);
    }
    if (adopted)
        return;
    print_message("localedef makes no locale with a decimal comma here\n");
    skip();
}

static void test_facts_of_a_command_survive_a_conversion(void **state) {
    (void)state;
    struct trace_record *first = add(1, 0, US, 3 * US), *second = add(2, 0, 4 * US, 9 * US);
    first->bytes = 3 << 20;
    first->memory = 12345;
    second->outcome = CLS_ERROR_COMMAND_FAILED;
    second->failed_by = (struct trace_record_dep){2, 1};
    wait_for(second, 1, 1);
    build();
    char *csv = converted(".csv"), *text = converted(".txt"), *svg = converted(".svg");
    assert_says(csv,
                "command,kernel,\"k\",\"s1\",1,1,0,3145728,12345,1000000,1000000,1001000,1003000,");
    assert_says(csv, ",CLS_ERROR_COMMAND_FAILED,none,0,2,1:1,2:1\r\n");
    assert_says(text, "2 records of 2 streams over 9 us; 0 dropped, 1 command failed");
    assert_says(text, ", latency 1 us");
    assert_says(svg, "class=\"k x\"");
    assert_says(svg, "\nCLS_ERROR_COMMAND_FAILED, the first to fail</title>");
    assert_says(svg, "held back 1 us, by latency most");
    assert_says(svg, "3 MiB, 1.57e+03 GB/s");
    assert_says(svg, "<path class=\"a\"");
    free(svg);
    free(text);
    free(csv);
}

static struct trace_record *failing(uint64_t stream, uint64_t by, uint64_t at) {
    struct trace_record *command = add(stream, 0, 4 * US, 9 * US);
    command->outcome = CLS_ERROR_COMMAND_FAILED;
    command->failed_by = (struct trace_record_dep){by, at};
    return command;
}

/* Stream 1: well, failed, its victim. Stream 2: a victim of it. Stream 3: victims of what has no record. */
static void test_the_cause_of_a_failure_is_told_from_its_victims(void **state) {
    (void)state;
    add(1, 0, US, 3 * US);
    failing(1, 1, 2)->label = "cause";
    failing(1, 1, 2)->label = "victim";
    failing(2, 1, 2);
    for (int i = 0; i < 12; i++)
        failing(3, 7, 99);
    failing(4, 0, 0)->outcome = CLS_ERROR_SHUTDOWN;
    build();
    char *csv = converted(".csv"), *text = converted(".txt"), *svg = converted(".svg");
    char *page = written(export_html);
    assert_says(csv, "dependencies,failed_by\r\n");
    assert_says(csv, "CLS_SUCCESS,latency,1000,1,,\r\n");
    assert_says(csv, "CLS_ERROR_COMMAND_FAILED,none,0,2,,1:2\r\n");
    assert_says(text, "\nfailures\n"
                      "  CLS_ERROR_SHUTDOWN: no command failed first; 1 command failed:");
    assert_says(text, "\n  CLS_ERROR_COMMAND_FAILED: 'cause', position 2 of stream 's1'; 2 other "
                      "commands failed or did not run because of it:\n"
                      "    'victim', position 3 of stream 's1'\n"
                      "    'k', position 1 of stream 's2'\n");
    assert_says(text,
                "position 99 of stream 7, which has no record; 12 commands failed or did not run");
    assert_says(text, "    and 2 more\n");
    assert_says(svg, "CLS_ERROR_COMMAND_FAILED, because of position 2 of stream 1</title>");
    assert_says(svg, "class=\"k x v\"");
    assert_says(page, "\"CLS_ERROR_COMMAND_FAILED\",[],1]");
    free(page);
    free(svg);
    free(text);
    free(csv);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_reports_of_many_streams_do_not_compare_all_pairs),
        TEST(test_each_device_has_a_counter_of_memory),
        TEST(test_the_cause_of_a_failure_is_told_from_its_victims),
        TEST(test_names_are_cut_between_characters),
        TEST(test_own_records_that_overlap_are_no_slices_of_a_thread),
        TEST(test_numbers_have_a_point_in_every_locale),
        TEST(test_facts_of_a_command_survive_a_conversion),
    };
    return cmocka_run_group_tests_name("profile forms", tests, NULL, NULL);
}
