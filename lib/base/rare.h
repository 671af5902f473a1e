/* SPDX-License-Identifier: MIT */
/*
 * What hardly ever happens on the path of a submission. Between two of them the driver uses the caches, so that what
 * the path costs is the lines that it takes rather than the instructions: what is rare is to stand elsewhere.
 */
#ifndef CLSTREAM_BASE_RARE_H
#define CLSTREAM_BASE_RARE_H

/* A function that is called rarely: kept out of its callers' code, and made small. */
#define COLD __attribute__((cold))

/* A condition that holds rarely, or behind which there is so much to do that how it stands is nothing. */
#define RARELY(condition) __builtin_expect(!!(condition), 0)

/* A variable of the process that each submission asks and that hardly ever changes: they stand together, and not each
 * in a line with others of its file. */
#ifdef __ELF__
#define ASKED __attribute__((section("cls_asked")))
#else
#define ASKED
#endif

#endif
