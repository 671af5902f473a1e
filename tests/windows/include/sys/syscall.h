/* SPDX-License-Identifier: MIT */
/* Windows has no numbers of system calls that programs may use. */
#define SYS_gettid 0
#define syscall(number) (-1L)
