/* SPDX-License-Identifier: MIT */
/* A division of 32 bits takes a GPU a fraction of the time. */
static ulong quotient(ulong a, ulong b) { return (a | b) >> 32 ? a / b : (ulong)((uint)a / (uint)b); }
