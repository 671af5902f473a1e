/* SPDX-License-Identifier: MIT */
/* Triple buffering: a ring of 3 slots, so that up to 3 batches are under way. */
#include "batches.h"
#include "example.h"

int main(int argc, char **argv) {
    struct batches batches;
    batches_open(&batches, is_quick(argc, argv));
    const double took = batches_through_ring(&batches, 3);
    batches_close(&batches, "triple buffering", took);
    return 0;
}
