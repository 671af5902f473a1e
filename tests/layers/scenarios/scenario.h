/* SPDX-License-Identifier: MIT */
/*
 * Scenarios: short programs on the public interface that create all they use and destroy it again, also
 * when any call in between fails. They are run over and over in one process, with another call failing
 * each time. None touches the default context.
 */
#ifndef CLSTREAM_TESTS_SCENARIO_H
#define CLSTREAM_TESTS_SCENARIO_H

#include <stdbool.h>
#include <time.h>

#include <clstream.h>

static inline void sleep_us(long us) {
    struct timespec time = {us / 1000000, us % 1000000 * 1000};
    nanosleep(&time, NULL);
}

/* What one run came to. */
struct run {
    unsigned errors; /* calls that did not succeed */
    cls_status first;
    bool masked; /* a fault may go unreported: behind a failure that is expected, or unwaited for */
    bool wrong;  /* a result is not what the calls' success promised */
    const char *what;
    const char *nothing; /* why there is nothing to be done here */
};

struct scenario {
    const char *name;
    void (*run)(struct run *run);
};

extern const struct scenario scenarios[];
extern const unsigned n_scenarios;

/* memory.c */
void stream_ordered_memory(struct run *run);
void crossed_frees(struct run *run);
void passed_and_fenced(struct run *run);
void too_much(struct run *run);
void unified_memory(struct run *run);
void waits_for_values(struct run *run);
void shared_memory(struct run *run);
void shareable_pools(struct run *run);
void shared_events(struct run *run);
void shareable_default_pool(struct run *run);

/* images.c */
void images(struct run *run);

/* blocks.c */
void triple_buffered(struct run *run);
void coordinated(struct run *run);
void prefetched(struct run *run);
void staged(struct run *run);
void stepped(struct run *run);
void managed_on_streams(struct run *run);
void managed_in_place(struct run *run);
void devices_grouped(struct run *run);
void devices_sharing(struct run *run);

/* trouble.c */
void interoperation(struct run *run);
enum { FRESH_LABELS = 64 }; /* that the runs of foreign_call take in turn */
void foreign_call(struct run *run);
void library_call(struct run *run);
void many_waits(struct run *run);
void failed_wait(struct run *run);
void reset_after_failure(struct run *run);
void reset_behind_users(struct run *run);
void two_contexts(struct run *run);
void peer_copies(struct run *run);
void timelines(struct run *run);
void destroyed_at_work(struct run *run);
void polled(struct run *run);

/* batch.c */
void batch(struct run *run);
void batch_beside(struct run *run);
void batch_rows(struct run *run);

/* graph.c */
void graph_replayed(struct run *run);
void graph_built(struct run *run);
void graph_waiting(struct run *run);
void graph_planned(struct run *run);
void graph_timed(struct run *run);
void graph_in_background(struct run *run); /* where the effort is long */
void graph_fused(struct run *run);         /* likewise */
void graph_product(struct run *run);       /* likewise */
void graph_on_worker(struct run *run);
void graph_calling_back(struct run *run);

/* optimizer.c */
void optimizer_steps(struct run *run);

/* products.c */
void products(struct run *run); /* where the effort is long */

/* sort.c */
void sorts(struct run *run);

/* transforms.c */
void transforms(struct run *run);

/* scan.c */
void scans(struct run *run);

/* histogram.c */
void histograms(struct run *run);

/* cuda.c */
void cuda_calls(struct run *run);

/* pointers.c */
void pointers(struct run *run);

/* addresses.c */
void addresses(struct run *run);

/* sparse.c */
void sparse_product(struct run *run);

/* profiler.c */
void profiled(struct run *run);

/* coordinator.c */
void coordinated_run(struct run *run);
void coordinated_threads(struct run *run);
void coordinated_set(struct run *run);
void coordinated_tasks(struct run *run);
void pooled(struct run *run);

/* porting.c */
void pinned_as_buffer(struct run *run);
void registered(struct run *run);
void maps(struct run *run);
void pinned_freed_inside(struct run *run);
void in_legacy_order(struct run *run);

/* Called where nothing may fail any more, before a scenario cleans up objects that are not the library's. */
extern void (*scenario_relent)(void);

#endif
