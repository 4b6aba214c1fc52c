# SPDX-License-Identifier: Apache-2.0
"""Events that the kernel does not report, as where it hides a task from tracing or skips a program:
some of the BPF programs are attached to nothing."""

import contextlib
import os
import unittest.mock

import kdbpfcall

WAKEUPS = ("kd_sched_waking", "kd_sched_wakeup")

# UNSEEN has the programs' names, as the kernel cuts them, between commas.
SOURCE = """
	struct bpf_prog_info info = { 0 };
	union bpf_attr about = { 0 };
	char name[sizeof(info.name) + 2];

	if (command != BPF_RAW_TRACEPOINT_OPEN && command != BPF_LINK_CREATE)
		return false;
	about.info.bpf_fd = command == BPF_LINK_CREATE ? attr->link_create.prog_fd
						       : attr->raw_tracepoint.prog_fd;
	about.info.info = (uintptr_t)&info;
	about.info.info_len = sizeof(info);
	if (kernel(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &about, sizeof(about), 0, 0, 0))
		return false;
	snprintf(name, sizeof(name), ",%s,", info.name);
	if (!strstr(getenv("UNSEEN"), name))
		return false;
	*result = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return true;
"""


@contextlib.contextmanager
def unseen(test, *programs):
    """Runs that start within this context see nothing of what these programs would report."""
    names = "".join(f",{name[:15]}" for name in programs) + ","
    with unittest.mock.patch.dict(os.environ, LD_PRELOAD=kdbpfcall.library(test, SOURCE), UNSEEN=names):
        yield
