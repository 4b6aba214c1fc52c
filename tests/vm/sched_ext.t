#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""With a sched_ext scheduler a thread may wait for several CPUs: reports say whose time is in their
list. The scheduler here has a name and an end; the kernel's defaults do the rest."""

import ctypes
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE), str(HERE.parent / "integration")]

# pylint: disable=wrong-import-position
import kdneeds  # noqa: E402
import kdtest  # noqa: E402

STATE = pathlib.Path("/sys/kernel/sched_ext/state")
# libbpf wants one program at least.
SOURCE = r"""
__attribute__((section("struct_ops/plain_exit"), used)) int plain_exit(void *context) { return 0; }
struct sched_ext_ops { void (*exit)(void *); char name[128]; };
struct sched_ext_ops plain __attribute__((section(".struct_ops"), used)) = {
	(void *)plain_exit, "plain" };
char licence[] __attribute__((section("license"), used)) = "GPL";
"""


def register(test):
    """The scheduler has the CPUs until the case is over."""
    kdneeds.need("clang")
    path, pointer = test.directory() / "plain.o", ctypes.c_void_p
    subprocess.run(["clang", "-O2", "-g", "-target", "bpf", "-x", "c", "-c", "-", "-o", path],
                   input=SOURCE, text=True, check=True)
    library = ctypes.CDLL("libbpf.so.1", use_errno=True)

    def call(name, *args, kind=pointer):
        function = getattr(library, name)
        function.restype = kind
        return function(*args)

    opened = pointer(call("bpf_object__open_file", str(path).encode(), None))
    test.stack.callback(call, "bpf_object__close", opened)
    if call("bpf_object__load", opened, kind=ctypes.c_int):
        raise kdtest.Skip("this kernel takes no scheduler of sched_ext")
    plain = pointer(call("bpf_object__find_map_by_name", opened, b"plain"))
    link = pointer(call("bpf_map__attach_struct_ops", plain))
    test.stack.callback(call, "bpf_link__destroy", link)


def noted(test, pid):
    text = test.program("-p", pid, "--sample-time", "0.1", "--full").stdout
    return re.findall(r"^# NOTE: .*READY: WHO HAD THE CPU.* sched_ext .*", text, re.MULTILINE)


def case_scheduler(test):
    if not STATE.exists():
        raise kdtest.Skip("the kernel has no sched_ext")
    load = test.workload("roles", "poll")
    test.eq(noted(test, load.pid), [], "the kernel's own scheduler is no news")
    register(test)
    test.eq(STATE.read_text().strip(), "enabled", "a scheduler of sched_ext is enabled")
    test.eq(len(noted(test, load.pid)), 1, "which a note says")


kdtest.main(case_scheduler)
