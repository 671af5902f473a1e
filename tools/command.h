/* SPDX-License-Identifier: MIT */
/* The subcommands. Each takes the arguments from its own name on and returns an exit code. */
#ifndef CLSTREAM_TOOLS_COMMAND_H
#define CLSTREAM_TOOLS_COMMAND_H

int command_info(int argc, char **argv);
int command_run(int argc, char **argv);
int command_gen(int argc, char **argv);
int command_trace(int argc, char **argv);
int command_bench(int argc, char **argv);
int command_check(int argc, char **argv);
int command_tune(int argc, char **argv);

#endif
