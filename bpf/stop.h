/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Included by kernel_delay.h: what stops a thread. */
#ifndef KD_STOP_H
#define KD_STOP_H

#include "culprit.h"

/* What stopped a thread. */
enum kd_stop {
	KD_STOP_UNKNOWN,
	KD_STOP_SIGNAL, /* job control: SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU */
	KD_STOP_TRACER, /* ptrace(2): a debugger, strace */
	KD_STOP_KINDS,
};
#define KD_STOP_SIGNALS 4 /* exactly these numbers */
#define KD_SIGSTOP 19

/* Sender of the signal, or tracer of the thread. */
struct kd_stopper {
	__u32 kind;   /* enum kd_stop */
	__u32 signal; /* KD_STOP_SIGNAL: number */
	__u32 tid;    /* 0: unknown, or a terminal */
	__u32 tgid;
	char comm[KD_COMM_LEN];
};

#endif
