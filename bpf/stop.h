/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Part of kernel_delay.h: who stops a thread. */
#ifndef KD_STOP_H
#define KD_STOP_H

#include "culprit.h"

/* What stopped a thread. */
enum kd_stop {
	KD_STOP_UNKNOWN,
	KD_STOP_SIGNAL, /* of job control: SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU */
	KD_STOP_TRACER, /* by ptrace(2): a debugger, strace */
	KD_STOP_KINDS,
};
#define KD_STOP_SIGNALS 4 /* these, and no others of their numbers */
#define KD_SIGSTOP 19

/* Who did it: sent the signal, or traces the thread. */
struct kd_stopper {
	__u32 kind;   /* enum kd_stop */
	__u32 signal; /* KD_STOP_SIGNAL: its number */
	__u32 tid;    /* 0: not known, or a terminal */
	__u32 tgid;
	char comm[KD_COMM_LEN];
};

#endif
