/* SPDX-License-Identifier: MIT */
/*
 * Mutants, for the proof that the tests see a missing dependency (tests/layers/mutants.sh): in a build
 * with CLSTREAM_MUTANTS the environment variable CLSTREAM_MUTANT names one place that adds a dependency,
 * and that place does not. In every other build this is constant and costs nothing.
 */
#ifndef CLSTREAM_CORE_MUTANT_H
#define CLSTREAM_CORE_MUTANT_H

#include <stdbool.h>

enum mutant {
    MUTANT_TAIL,            /* the work before a command in its stream */
    MUTANT_SWITCH,          /* the same, when it is on another queue than the command */
    MUTANT_COVERED,         /* the same, taken for covered by any other wait */
    MUTANT_WAITS,           /* waits of a command that is handed over */
    MUTANT_WAIT_EVENT,      /* waits as they are taken */
    MUTANT_WAIT_GATE,       /* waits for a gate as they are taken */
    MUTANT_GATE_VIA,        /* the work that is to open a gate, in the gate's place */
    MUTANT_LATER_WAIT,      /* the later of two waits on one stream */
    MUTANT_DEFERRED_WAITS,  /* waits of a command that goes to the FIFO */
    MUTANT_FIFO,            /* commands in the FIFO, for one that could be handed over */
    MUTANT_MARK,            /* waits that nothing follows, for a record */
    MUTANT_FLUSH,           /* the flush of what another queue is to wait for */
    MUTANT_HOST_TURN,       /* earlier work of the stream, for a host function */
    MUTANT_HOST_WAITS,      /* the end of what a host function waits for */
    MUTANT_COMPANION_TAIL,  /* earlier work of the stream, for foreign code */
    MUTANT_COMPANION_WAITS, /* waits of foreign code */
    MUTANT_COMPANION_LEAVE, /* foreign code, for the work after it */
    MUTANT_COMPANION_COVER, /* the event of event-less work, for foreign code */
    MUTANT_SWITCH_COVER,    /* the same, for another queue */
    MUTANTS
};

#ifdef CLSTREAM_MUTANTS
/* Whether this is the one; defined by the test program. */
bool mutant(enum mutant which);
#else
static inline bool mutant(enum mutant which) {
    (void)which;
    return false;
}
#endif

#endif
