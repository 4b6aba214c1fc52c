# SPDX-License-Identifier: Apache-2.0
"""Other kernels, as far as kernel_delay can tell: copies of the kernel's BTF in which
something has another name."""

import os
import pathlib
import re
import shutil
import subprocess

import kdtest

BTF = pathlib.Path("/sys/kernel/btf/vmlinux")


def without_tracepoint(test, *names):
    """A copy of the kernel's BTF in which these tracepoints have another name."""
    data = BTF.read_bytes()
    for name in names:
        old = b"\0btf_trace_" + name.encode() + b"\0"
        if old not in data:
            raise kdtest.Skip(f"this kernel has no tracepoint {name} itself")
        data = data.replace(old, old[:-2] + b"#\0")
    path = test.directory() / "doctored.btf"
    path.write_bytes(data)
    return path


def with_function(test, name):
    """A copy of the kernel's BTF in which another function has this name."""
    path = f"/usr/sbin:/sbin:{os.environ['PATH']}"
    tool = shutil.which("bpftool", path=path)
    if not tool:
        raise kdtest.Skip("bpftool is not installed")
    dump = subprocess.run([tool, "btf", "dump", "file", str(BTF)], capture_output=True,
                          text=True, check=True).stdout
    if f"FUNC '{name}'" in dump:
        return BTF
    other = re.search(rf"FUNC '(\w{{{len(name)}}})'", dump)
    if not other:
        raise kdtest.Skip(f"no function to be renamed to {name}")
    path = test.directory() / "doctored.btf"
    path.write_bytes(BTF.read_bytes().replace(b"\0" + other[1].encode() + b"\0",
                                              b"\0" + name.encode() + b"\0"))
    return path


def with_preemptible_calls(test):
    """The BTF of a kernel whose programs at system calls' own tracepoints may be preempted
    (trace_call_bpf_faultable(), 7.x). It must be able to tell attachments of one program
    apart, which came with 5.15 (bpf_get_attach_cookie())."""
    release = re.match(r"(\d+)\.(\d+)", os.uname().release)
    if (int(release[1]), int(release[2])) < (5, 15):
        raise kdtest.Skip("this kernel's programs have no cookies")
    return with_function(test, "trace_call_bpf_faultable")
