/* SPDX-License-Identifier: MIT */
/*
 * Mutants, for the proof that the tests see a missing dependency (mutants.sh). The patches of patches/, one a room of lib/,
 * put `mutant(MUTANT_NAME)` into a copy of the library at each place that adds a dependency; where it returns true, that
 * place does not add it.
 */
#ifndef CLSTREAM_TESTS_MUTANT_H
#define CLSTREAM_TESTS_MUTANT_H

#include <stdbool.h>

enum mutant {
    MUTANT_TAIL,            /* the work before a command in its stream */
    MUTANT_SWITCH,          /* the same, when it is on another queue than the command */
    MUTANT_COVERED,         /* the same, taken for covered by any other wait */
    MUTANT_WAITS,           /* waits of a command that is handed over */
    MUTANT_WAIT_EVENT,      /* waits as they are taken */
    MUTANT_WAIT_GATE,       /* waits for a gate as they are taken */
    MUTANT_GATE_VIA,        /* the work that is to open a gate */
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
    MUTANT_LEGACY,          /* what the legacy order puts before a command */
    /* Memory pools */
    MUTANT_MEMORY_FREED, /* another stream's free, for who is given the memory */
    MUTANT_MEMORY_FENCE, /* work that frees are to wait for */
    MUTANT_MEMORY_RESET, /* what still uses a stream's memory, for its work after a reset */
    /* Coordinators */
    MUTANT_PREREQUISITES, /* what prerequisites hold, for their dependent */
    MUTANT_BARRIER_IN,    /* what the streams hold, for a barrier */
    MUTANT_BARRIER_OUT,   /* a barrier, for the streams */
    MUTANT_TASK,          /* the tasks before a task */
    /* Batches */
    MUTANT_BATCH_USES,  /* a batch's executions and reads so far, for the next one */
    MUTANT_BATCH_BEGIN, /* work before an execution, for the batch's own streams */
    MUTANT_BATCH_LANE,  /* what a kernel reads of another stream of the batch */
    MUTANT_BATCH_END,   /* the batch's own streams, for work after an execution */
    MUTANT_BATCH_READ,  /* the execution, for who reads its result */
    /* Graphs */
    MUTANT_GRAPH_ENTER,   /* work before a launch, for branches on queues of their own */
    MUTANT_GRAPH_EDGE,    /* a node, for one of another branch */
    MUTANT_GRAPH_CHAIN,   /* a node of a graph of one branch, for the next one */
    MUTANT_GRAPH_OFF,     /* what a node that is left out waits for, for what waits for that node */
    MUTANT_GRAPH_FLUSH,   /* the flush of a branch that another one is to wait for */
    MUTANT_GRAPH_LEAVE,   /* branches, for work after a launch */
    MUTANT_GRAPH_ORDER,   /* the launch before, for one on another stream */
    MUTANT_GRAPH_MEMORY,  /* the nodes that use memory, for those of another branch that share it */
    MUTANT_GRAPH_FUSE,    /* an operation in the middle of a chain, for nodes of another branch */
    MUTANT_CAPTURE_WAIT,  /* a captured event, for a stream that waits for it */
    MUTANT_CAPTURE_GRAPH, /* earlier nodes of its stream, for a graph launched in a capture */
    /* Pipelines */
    MUTANT_STAGE_READ,    /* the stage that wrote a buffer, for one that reads it */
    MUTANT_STAGE_WRITE,   /* the stages that use a buffer, for one that writes it */
    MUTANT_STEP,          /* the step before a step */
    MUTANT_SLOT,          /* the stage that had a slot of a ring, for the next one */
    MUTANT_OPERATION,     /* the operations that one of an async coordinator comes after */
    MUTANT_FETCHED,       /* the upload of a batch that a prefetcher hands out */
    MUTANT_GIVEN_BACK,    /* the work on a batch that was given back, for the next upload */
    MUTANT_GROUP_ENTER,   /* work of a device's stream, for copies between devices */
    MUTANT_GROUP_LEAVE,   /* copies between devices, for work of a device's stream */
    MUTANT_GROUP_ARRIVAL, /* the way down of a chunk, for its way up */
    MUTANT_GROUP_CHUNK,   /* the way up of a chunk, for the next one in its place */
    MUTANTS
};

/* Whether this is the one to leave out; defined by the test program. */
bool mutant(enum mutant which);

#endif
