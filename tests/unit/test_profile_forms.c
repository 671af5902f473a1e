/* SPDX-License-Identifier: MIT */
/* What the forms of a profile say of made-up commands. */
#include "made_up_commands.h"

#include <stdlib.h>
#include <string.h>

#include "trace/export.h"

/* The profile in a form; to be freed. */
static char *written(void (*form)(struct text *text, const struct profile *profile)) {
    struct text text = {0};
    form(&text, &profile);
    assert_false(text.failed);
    return text.bytes;
}

static void assert_says(const char *text, const char *part) {
    if (!strstr(text, part))
        fail_msg("no '%s' in:\n%s", part, text);
}

static void test_reports_of_many_streams_do_not_compare_all_pairs(void **state) {
    (void)state;
    enum { STREAMS = 1500 };
    for (unsigned i = 0; i < STREAMS; i++) {
        struct sighting *command = add(i + 1, 0, i * US, (i + 1) * US);
        if (i)
            wait_for(command, i, 1);
    }
    build();
    char *text = written(export_text), *page = written(export_html);
    assert_says(text, "(the first 0 pairs)");
    assert_says(page, "\"overlaps\":[]");
    free(page);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_reports_of_many_streams_do_not_compare_all_pairs),
    };
    return cmocka_run_group_tests_name("profile forms", tests, NULL, NULL);
}
