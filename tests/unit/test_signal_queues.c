/* SPDX-License-Identifier: MIT */
/* Queued signals of a timeline, committed in any order, compared with a search over all of them. */
#include "../support/test.h"

#include <stdlib.h>

#include "coordinator/signal_queues.h"

enum { SIGNALS = 8, TRIES = 20000 };

/* The stream goes on while several threads signal, so that a later claim may stand at an earlier position. */
static void a_value_comes_with_the_first_position_that_has_it(void **state) {
    (void)state;
    srand(1);
    for (int i = 0; i < TRIES; i++) {
        struct signal_queues queues = {0};
        struct queued_signal signals[SIGNALS];
        bool made;
        struct signal_queue *queue = signal_queues_open(&queues, &queues, &made);
        const unsigned n = 1 + (unsigned)rand() % SIGNALS;
        for (unsigned k = 0; k < n; k++) {
            signals[k] =
                (struct queued_signal){1 + (uint64_t)rand() % 10, 2 * k + 1 + (uint64_t)rand() % 2};
            assert_true(signal_queue_claim(queue, signals[k].value));
        }
        for (unsigned k = n; k > 1; k--) { /* in any order */
            const unsigned other = (unsigned)rand() % k;
            const struct queued_signal signal = signals[k - 1];
            signals[k - 1] = signals[other];
            signals[other] = signal;
        }
        for (unsigned k = 0; k < n; k++)
            signal_queue_commit(queue, signals[k].position, signals[k].value);
        for (uint64_t value = 1; value <= 2 * n + 1; value++) {
            uint64_t first = 0;
            for (unsigned k = 0; k < n; k++)
                if (signals[k].value >= value && (!first || signals[k].position < first))
                    first = signals[k].position;
            const struct queued_signal *reaching = signal_queue_reaching(queue, value);
            assert_int_equal(reaching ? reaching->position : 0, first);
        }
        for (uint64_t position = 0, value = 0; signal_queue_front(queue); signal_queue_pop(queue)) {
            assert_true(signal_queue_front(queue)->position > position &&
                        signal_queue_front(queue)->value > value);
            position = signal_queue_front(queue)->position;
            value = signal_queue_front(queue)->value;
        }
        signal_queues_free(&queues);
    }
}

static void cancelled_claims_leave_no_signal(void **state) {
    (void)state;
    struct signal_queues queues = {0};
    bool made;
    struct signal_queue *queue = signal_queues_open(&queues, &queues, &made);
    assert_true(signal_queue_claim(queue, 3) && signal_queue_claim(queue, 5));
    signal_queue_cancel(queue);
    signal_queue_commit(queue, 7, 3);
    assert_int_equal(queue->claimed, 3);
    assert_int_equal(signal_queue_back(queue)->position, 7);
    assert_null(signal_queue_reaching(queue, 4));
    signal_queues_free(&queues);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_comes_with_the_first_position_that_has_it),
        cmocka_unit_test(cancelled_claims_leave_no_signal),
    };
    return cmocka_run_group_tests_name("signal_queues", tests, NULL, NULL);
}
