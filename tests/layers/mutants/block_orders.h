/* SPDX-License-Identifier: MIT */
/*
 * Small programs on what is built on streams: pools of memory, coordinators, batches, pipelines. Each needs
 * every wait that its block makes, under some order of execution that the rest allows.
 */
#ifndef CLSTREAM_TESTS_BLOCK_ORDERS_H
#define CLSTREAM_TESTS_BLOCK_ORDERS_H

#include <stdbool.h>

#include <clstream.h>

/* Runs all of them; `hold` keeps commands from running while one is submitted. True when every call has
 * succeeded and every result is right; else `what` says which program it was. */
bool block_orders(cls_context context, void (*hold)(bool held), const char **what);

#endif
