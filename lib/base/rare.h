/* SPDX-License-Identifier: MIT */
/*
 * Marks for rare code on the path of a submission. The driver fills the caches between two submissions, so cache
 * misses, not instructions, cost most there: rare code is kept apart from the code that always runs.
 */
#ifndef CLSTREAM_BASE_RARE_H
#define CLSTREAM_BASE_RARE_H

/* A function that is called rarely: kept out of its callers' code, and made small. */
#define COLD __attribute__((cold))

/* A condition that holds rarely, or whose consequence is so long that a misprediction does not matter. */
#define RARELY(condition) __builtin_expect(!!(condition), 0)

/* A global variable that every submission reads and that hardly ever changes. They stand together, away from
 * variables that are written. */
#ifdef __ELF__
#define ASKED __attribute__((section("cls_asked")))
#else
#define ASKED
#endif

#endif
