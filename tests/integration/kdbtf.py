# SPDX-License-Identifier: Apache-2.0
"""Other kernels, as far as kernel_delay can tell: copies of the kernel's BTF in which something is
renamed."""

import os
import pathlib
import re
import subprocess

import kdneeds
import kdtest

BTF = pathlib.Path("/sys/kernel/btf/vmlinux")


def without_tracepoint(test, *names):
    """A copy of the kernel's BTF in which these tracepoints are renamed."""
    data = BTF.read_bytes()
    for name in names:
        old = b"\0btf_trace_" + name.encode() + b"\0"
        if old not in data:
            raise kdtest.Skip(f"this kernel has no tracepoint {name} itself")
        data = data.replace(old, old[:-2] + b"#\0")
    path = test.directory() / "doctored.btf"
    path.write_bytes(data)
    return path


def exchanged(test):
    """A copy of the kernel's BTF in which two tracepoints have each other's names, so that the types
    have other numbers than in this kernel."""
    one, other = b"\0btf_trace_sched_switch\0", b"\0btf_trace_sched_waking\0"
    between, path = b"\1" * len(one), test.directory() / "exchanged.btf"
    path.write_bytes(BTF.read_bytes().replace(one, between).replace(other, one).replace(between, other))
    return path


def function_of_length(length):
    """The name of a function of this length in the kernel's BTF; None if there is none."""
    with subprocess.Popen([kdneeds.bpftool(), "btf", "dump", "file", str(BTF)],
                          stdout=subprocess.PIPE) as dump:
        # The first one ends both: it may be a text of many megabytes.
        found = subprocess.run(["grep", "-m1", "-oE", rf"FUNC '\w{{{length}}}'"], stdin=dump.stdout,
                               capture_output=True, text=True, check=False).stdout
        dump.stdout.close()
    return found.split("'")[1] if found else None


def with_function(test, name):
    """A copy of the kernel's BTF in which another function has been given this name."""
    data = BTF.read_bytes()
    if b"\0" + name.encode() + b"\0" in data:
        return BTF
    other = function_of_length(len(name))
    if not other:
        raise kdtest.Skip(f"no function to be renamed to {name}")
    path = test.directory() / "doctored.btf"
    path.write_bytes(data.replace(b"\0" + other.encode() + b"\0", b"\0" + name.encode() + b"\0"))
    return path


def with_preemptible_calls(test):
    """The BTF of a kernel whose programs at system calls' own tracepoints may be preempted
    (trace_call_bpf_faultable(), 7.x). The running kernel must be able to tell attachments of one
    program apart, which is possible since 5.15 (bpf_get_attach_cookie())."""
    release = re.match(r"(\d+)\.(\d+)", os.uname().release)
    if (int(release[1]), int(release[2])) < (5, 15):
        raise kdtest.Skip("this kernel's programs have no cookies")
    return with_function(test, "trace_call_bpf_faultable")
