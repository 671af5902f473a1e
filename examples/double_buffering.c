/* SPDX-License-Identifier: MIT */
/* Double buffering: a ring of 2 slots, so that up to 2 batches are under way. */
#include "batches.h"
#include "example.h"

int main(int argc, char **argv) {
    struct batches batches;
    batches_open(&batches, is_quick(argc, argv));
    const double took = batches_through_ring(&batches, 2);
    batches_close(&batches, "double buffering", took);
    return 0;
}
