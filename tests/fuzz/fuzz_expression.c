/* SPDX-License-Identifier: MIT */
/* Expressions of `clstream run`: parsed, planned for every type, or refused with a message. */
#include <string.h>

#include "fuzz.h"
#include "tools/expression.h"
#include "tools/plan.h"

static const cls_dtype types[] = {CLS_F32, CLS_F64, CLS_I32, CLS_I64, CLS_U8,
                                  CLS_U32, CLS_I8,  CLS_I16, CLS_U16};

enum { TYPES = sizeof types / sizeof *types };

/* In room of every size, down to none. */
static void check_error(const char *text, const struct expression_error *error) {
    const size_t length = strlen(text);
    REQUIRE(error->at <= length && error->length >= 1);
    REQUIRE(memchr(error->reason, '\0', sizeof error->reason) && error->reason[0]);
    const int wanted = expression_explain(text, error, NULL, 0);
    REQUIRE(wanted > 0);
    for (size_t room = 1; room <= (size_t)wanted + 2; room += 1 + room / 3) {
        char *to = malloc(room);
        REQUIRE(to);
        REQUIRE(expression_explain(text, error, to, room) == wanted);
        REQUIRE(strlen(to) < room);
        free(to);
    }
}

static void check_stages(const struct expression *expression, size_t length) {
    REQUIRE(expression->n_stages >= 1 && expression->n_stages <= EXPRESSION_MAX_STAGES);
    for (unsigned i = 0; i < expression->n_stages; i++) {
        const struct stage *stage = &expression->stages[i];
        REQUIRE(stage->operation && stage->at <= length && stage->length <= length - stage->at);
    }
}

static void check_plan(const struct expression *expression, const struct plan *plan) {
    REQUIRE(plan->n_steps <= expression->n_stages && plan->n_constants <= PLAN_MAX_CONSTANTS);
    REQUIRE(plan->n_buffers >= 1 && plan->n_buffers <= 2 &&
            (!plan->n_steps || plan->steps[plan->n_steps - 1].target < plan->n_buffers));
    for (unsigned i = 0; i < plan->n_steps; i++) {
        const struct plan_step *step = &plan->steps[i];
        REQUIRE(step->source < plan->n_buffers && step->target < plan->n_buffers);
        REQUIRE(cls_dtype_size(step->from) <= plan->widest);
        REQUIRE(cls_dtype_size(step->to) <= plan->widest);
        REQUIRE(i ? step->from == plan->steps[i - 1].to : step->from == plan->from);
    }
    for (unsigned i = 0; i < plan->n_constants; i++)
        REQUIRE(plan->constants[i].size == cls_dtype_size(plan->constants[i].dtype));
}

static void check_text(const char *text) {
    static struct expression expression;
    static struct plan plan;
    struct expression_error error;
    if (!expression_parse(text, &expression, &error)) {
        check_error(text, &error);
        return;
    }
    check_stages(&expression, strlen(text));
    for (unsigned i = 0; i < TYPES; i++)
        if (plan_make(&expression, types[i], &plan, &error))
            check_plan(&expression, &plan);
        else
            check_error(text, &error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = malloc(size + 1);
    REQUIRE(text);
    memcpy(text, data, size);
    text[size] = '\0';
    check_text(text);
    free(text);
    return 0;
}
