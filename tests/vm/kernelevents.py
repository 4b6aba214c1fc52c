# SPDX-License-Identifier: Apache-2.0
"""The truth about kernel functions, from the kernel's own events: how often each was entered or
left, and when, without any BPF."""

import os
import pathlib
import re
import shutil
import subprocess

import kdtest

TRACING = pathlib.Path("/sys/kernel/tracing")
# How the names of the kernel's functions of system calls begin.
CALL = "__x64_sys_" if os.uname().machine == "x86_64" else "__arm64_sys_"


def need_module(name):
    """Loads a kernel module unless it is already there."""
    if pathlib.Path("/sys/module", name).exists():
        return
    tool = shutil.which("modprobe", path=os.environ["PATH"] + ":/usr/sbin:/sbin")
    if not tool or subprocess.run([tool, "-q", name], check=False).returncode:
        raise kdtest.Skip(f"this kernel has no module {name}")


def need_kprobes():
    if not os.access(TRACING / "kprobe_events", os.W_OK):
        raise kdtest.Skip("this kernel has no kprobe events")


class FunctionEvent:
    """An event at the entry ("p") or return ("r") of a kernel function, recorded in a buffer of its
    own with times of CLOCK_MONOTONIC."""

    def __init__(self, test, kind, function):
        need_kprobes()
        self.name = f"kdtest_{os.getpid()}_{kind}_{function}"
        self.define(f"{kind}:kdtest/{self.name} {function}\n")
        test.stack.callback(self.define, f"-:kdtest/{self.name}\n")
        self.buffer = TRACING / "instances" / self.name
        self.buffer.mkdir()
        test.stack.callback(self.buffer.rmdir)
        (self.buffer / "trace_clock").write_text("mono")
        self.enable = self.buffer / "events" / "kdtest" / self.name / "enable"
        self.enable.write_text("1")
        test.stack.callback(self.enable.write_text, "0")

    @staticmethod
    def define(text):
        # Not open(): it looks for the end of the file, which tracefs does not have.
        events = os.open(TRACING / "kprobe_events", os.O_WRONLY | os.O_APPEND)
        try:
            os.write(events, text.encode())
        finally:
            os.close(events)

    def count(self):
        for line in (TRACING / "kprobe_profile").read_text().splitlines():
            fields = line.split()
            if fields[0] == self.name:
                return int(fields[1])
        raise ValueError("no such event")

    def times(self):
        """[(time in ns, to 1 us; TID)] of the events in the buffer."""
        found = re.findall(r"^ *.*-(\d+) +\[\d+\] \S+ +(\d+)\.(\d{6}): ",
                           (self.buffer / "trace").read_text(errors="replace"), re.MULTILINE)
        return [(int(second) * kdtest.SECOND + int(micros) * 1000, int(tid))
                for tid, second, micros in found]
