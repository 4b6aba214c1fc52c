# SPDX-License-Identifier: Apache-2.0
"""Events that the kernel does not report, as where it hides a task from tracing or skips a program:
some of the BPF programs are attached to nothing."""

import contextlib
import os
import unittest.mock

WAKEUPS = ("kd_sched_waking", "kd_sched_wakeup")

# Stands before the C library. UNSEEN has the programs' names, as the kernel cuts them, between commas.
SOURCE = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
long syscall(long number, ...)
{
	long (*next)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	const char *unseen = getenv("UNSEEN");
	struct bpf_prog_info info = { 0 };
	union bpf_attr *attr, about = { 0 };
	char name[sizeof(info.name) + 2];
	va_list list;
	long a[6];

	va_start(list, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	attr = (union bpf_attr *)a[1];
	if (unseen && number == SYS_bpf &&
	    (a[0] == BPF_RAW_TRACEPOINT_OPEN || a[0] == BPF_LINK_CREATE)) {
		about.info.bpf_fd = a[0] == BPF_LINK_CREATE ? attr->link_create.prog_fd
							    : attr->raw_tracepoint.prog_fd;
		about.info.info = (uintptr_t)&info;
		about.info.info_len = sizeof(info);
		if (!next(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &about, sizeof(about), 0, 0, 0)) {
			snprintf(name, sizeof(name), ",%s,", info.name);
			if (strstr(unseen, name))
				return open("/dev/null", O_RDONLY | O_CLOEXEC);
		}
	}
	return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
"""


@contextlib.contextmanager
def unseen(test, *programs):
    """Runs that start within this context see nothing of what these programs would report."""
    names = "".join(f",{name[:15]}" for name in programs) + ","
    with unittest.mock.patch.dict(os.environ, LD_PRELOAD=test.preload(SOURCE), UNSEEN=names):
        yield
