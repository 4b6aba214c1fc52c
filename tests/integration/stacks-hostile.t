#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tests/run: long
"""Processes whose stacks are hard to resolve: their mappings are gone, replaced, damaged, endless,
or change while they are read, perhaps faster than they can be read. The report takes little CPU
time and memory, and says what it could not do."""

import contextlib
import os
import re
import resource
import shutil
import signal
import struct
import subprocess
import threading
import time

import kdneeds
import kdreport
import kdstacks
import kdtest
from kdtest import SLACK

MAPPER = kdtest.WORKLOADS / "mapper"
MOST_CPU = 6  # seconds of all its processes; twice what a run on a harmless process takes, and more
MOST_KB = 128 << 10  # of each process; twice what a run on a harmless process takes, and more
SECTIONS = 65535


class Run:
    """A run of kernel_delay up to its end: its report, its CPU time, and the peak memory of each of
    its processes."""

    def __init__(self, test, pid, *args, wrapper=(), seconds=0.6, early=None):
        """early: called once the program has started, but traces nothing yet."""
        start, used = time.monotonic(), self.used()
        child = test.child([*wrapper, kdtest.PROGRAM, "-p", pid, "-s", "2ms", "-e",
                            "clock_nanosleep,nanosleep,pause,ppoll,rt_sigsuspend",
                            "--stack-trace-size=overhead=0", "--sample-time", seconds, *args])
        self.memory = {}
        while child.proc.poll() is None and time.monotonic() - start < kdtest.PATIENCE:
            self.look(child.pid)
            if early and len(self.memory) > 1:
                time.sleep(0.02)
                early()
                early = None
            time.sleep(0.01)
        if not test.ok(child.proc.poll() is not None, "it ends"):
            raise TimeoutError
        self.status = child.wait()
        test.ok(self.status == 0, "its status is 0", f"status {self.status}", child.stderr)
        test.between((self.used() - used) * 1000, 0, MOST_CPU * SLACK * 1000,
                     "it takes no more of a CPU than it should, ms")
        test.between(max(self.memory.values(), default=0), 1, MOST_KB,
                     "the memory of its processes has a bound")
        text, stacks = kdstacks.parse(child.stdout)
        self.report, self.stacks = kdreport.parse(text)[0], stacks[0]

    @staticmethod
    def used():
        """Seconds of CPU time used by ended children and their own children."""
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    def look(self, pid):
        with contextlib.suppress(OSError, TypeError, ValueError):
            self.memory[pid] = int(kdtest.status_field(pid, "VmHWM"))
            with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as children:
                for child in children.read().split():
                    self.look(int(child))

    def of(self, name):
        """The stacks of the finished calls of the thread with this name."""
        return [row.stack for row in self.stacks.events if row.comm == name and row.exit]


class Files:
    """Copies of the workload, by name, for it to map."""

    def __init__(self, test):
        self.test, self.directory = test, test.directory()
        self.code = max(offset + size for offset, size in code_of(MAPPER))

    def path(self, name):
        return self.directory / name

    def make(self, *names):
        for name in names:
            shutil.copy(MAPPER, self.path(name))
        return [self.path(name) for name in names]

    def patch(self, name, offset, data):
        with open(self.path(name), "r+b") as file:
            file.seek(offset)
            file.write(data)

    def bombs(self, count):
        """Useless files with as many sections as there can be."""
        paths = [self.path(f"bomb-{number}") for number in range(count)]
        header = (b"\x7fELF\x02\x01\x01" + bytes(9) +
                  struct.pack("<HHIQQQIHHHHHH", 3, machine_of(MAPPER), 1, 0, 64, 4096, 0, 64,
                              56, 0, 64, SECTIONS, 0))
        for path in paths:
            path.write_bytes(header)
            os.truncate(path, 4096 + 64 * SECTIONS)
        return [f"+{path}" for path in paths]


def machine_of(path):
    with open(path, "rb") as file:
        return struct.unpack_from("<H", file.read(64), 18)[0]


def code_of(path):
    """(offset, size) of the executable segments."""
    said = subprocess.run(["readelf", "-lW", path], stdout=subprocess.PIPE, text=True,
                          check=True).stdout
    return [(int(match[1], 16), int(match[2], 16)) for match in re.finditer(
        r"LOAD +(0x\w+) 0x\w+ 0x\w+ (0x\w+) 0x\w+ R.E", said)]


def section_of(path, name):
    """(offset, size) of a section."""
    said = subprocess.run(["readelf", "-SW", path], stdout=subprocess.PIPE, text=True,
                          check=True).stdout
    match = re.search(rf" {re.escape(name)} +\w+ +\w+ (\w+) (\w+)", said)
    return int(match[1], 16), int(match[2], 16)


def check_whole(test, run, name, text, named=True, shown=None):
    """The stacks of this file's thread lead through its function up to the outermost one."""
    faults = []
    for stack in run.of(name):
        frames = [(frame.function, frame.object) for frame in stack.user]
        wanted = [("nap", "mapper"), ("mapped_frame" if named else None, shown or name),
                  ("file_thread", "mapper")]
        if not stack.complete or [frame for frame in frames if frame in wanted] != wanted:
            faults.append(repr(stack))
    test.ok(run.of(name) and not faults, f"{text}: {len(run.of(name))} whole stacks", *faults[:2])


def check_ends(test, run, name, text, *reasons):
    """The stacks end at its function, with a reason."""
    faults = [repr(stack) for stack in run.of(name)
              if not stack.user or stack.user[-1].object != name or
              stack.stop not in reasons]
    test.ok(run.of(name) and not faults, f"{text}: {len(run.of(name))} stacks end there",
            *faults[:2])


def case_files_that_are_gone(test):
    files = Files(test)
    names = ("deleted", "fifo", "directory", "device", "memory", "unreadable", "renamed")
    load = test.workload("mapper", *files.make(*names))
    for name in names[:-2]:
        files.path(name).unlink()
    os.mkfifo(files.path("fifo"))
    files.path("directory").mkdir()
    os.symlink("/dev/zero", files.path("device"))
    os.symlink("/proc/self/mem", files.path("memory"))
    files.path("unreadable").chmod(0)
    files.path("renamed").rename(files.path("elsewhere"))
    run = Run(test, load.pid)
    for name in names[:-1]:
        check_whole(test, run, name, f"a file that is {name} now")
    check_whole(test, run, "renamed", "a file that is renamed", shown="elsewhere")


def case_files_that_cannot_be_read(test):
    kdneeds.need("setpriv")
    files = Files(test)
    load = test.workload("mapper", *files.make("unreadable", "plain"))
    files.path("unreadable").chmod(0)
    run = Run(test, load.pid, wrapper=("setpriv", "--bounding-set=-dac_override,-dac_read_search"))
    check_whole(test, run, "plain", "a file that may be read")
    check_ends(test, run, "unreadable", "one that may not", "no unwind information")
    test.ok(kdstacks.told(run.report, "incomplete"), "the report says that some are incomplete",
            *run.report.notices)


def case_files_that_are_damaged(test):
    files = Files(test)
    paths = files.make("cut", "no-elf", "frames", "tables", "sparse", "far-tables", "plain")
    size = files.path("plain").stat().st_size
    frames, frames_size = section_of(MAPPER, ".eh_frame")
    files.patch("no-elf", 0, bytes(64))
    files.patch("frames", frames, b"\xff" * frames_size)
    files.patch("tables", int.from_bytes(MAPPER.read_bytes()[40:48], "little"),
                b"\xff" * (size // 8))
    os.truncate(files.path("sparse"), 1 << 40)
    files.patch("far-tables", 40, struct.pack("<Q", 1 << 39))
    files.patch("far-tables", 60, struct.pack("<H", SECTIONS))
    os.truncate(files.path("far-tables"), 1 << 40)
    load = test.workload("mapper", *paths, *files.bombs(60))
    os.truncate(files.path("cut"), files.code)
    run = Run(test, load.pid)
    check_whole(test, run, "plain", "a sound file")
    check_whole(test, run, "sparse", "a file of 1 TB")
    check_whole(test, run, "far-tables", "one whose tables are holes", named=False)
    for name in ("cut", "no-elf", "tables"):
        check_ends(test, run, name, f"{name} file", "no unwind information")
    check_ends(test, run, "frames", "damaged unwind information",
               "unwind information that cannot be used", "no unwind information")
    test.ok(kdstacks.told(run.report, "incomplete"), "the report says that some are incomplete",
            *run.report.notices)


def case_a_file_that_is_cut_while_it_is_read(test):
    files = Files(test)
    load = test.workload("mapper", *files.make("changing", "plain"))
    path, over = files.path("changing"), threading.Event()
    whole = path.read_bytes()

    def change():
        with open(path, "r+b") as file:
            while not over.is_set():
                file.truncate(files.code)
                file.seek(files.code)
                file.write(whole[files.code:])
                file.flush()
    changer = threading.Thread(target=change)
    changer.start()
    try:
        runs = [Run(test, load.pid, seconds=0.3) for _ in range(2)]
    finally:
        over.set()
        changer.join()
    for run in runs:
        check_whole(test, run, "plain", "a file beside it")
        unclear = [repr(stack) for stack in run.of("changing")
                   if not stack.user or not (stack.complete or stack.stop)]
        test.ok(run.of("changing") and not unclear, "the changing one's stacks are complete, or "
                "say why they are not", *unclear[:2])


def case_code_that_is_mapped_at_the_start(test):
    files = Files(test)
    files.make("early", "plain")
    load = test.workload("mapper", files.path("plain"))
    run = Run(test, load.pid, early=lambda: load.send(f"start {files.path('early')}"))
    check_whole(test, run, "early", "a file that was mapped before anything was traced")


def case_code_mapped_without_end(test):
    files = Files(test)
    load = test.workload("mapper", "maps", "maps", *files.make("plain"))
    run = Run(test, load.pid, "--profile=97")
    check_whole(test, run, "plain", "a file beside it")


def case_memory_that_nobody_provides(test):
    try:
        load = test.workload("mapper", "faults")
    except EOFError:
        raise kdtest.Skip("no userfaultfd() here") from None
    run = Run(test, load.pid)
    rows = [row for row in run.stacks.events if row.call in ("pause", "ppoll", "rt_sigsuspend")]
    test.ok(len(rows) == 1 and not rows[0].stack.complete, "the call that goes on is listed, "
            "its stack incomplete", *map(repr, rows))


def case_a_child_that_is_silent(test):
    """A process that resolves stacks, but is stopped, cannot hold up a run that is to end."""
    for number, option in ((signal.SIGINT, "-s"), (signal.SIGTERM, "--off-cpu")):
        load = test.workload("slow", "sleeper:200:0:6000:4")
        capture = test.capture(load.pid, option, "1ms")
        child = kdstacks.resolver_of(capture.pid)
        os.kill(child, signal.SIGSTOP)
        kdtest.wait_until(lambda: kdtest.state_of(child, child) == "T")
        load.go()
        capture.signal(number)
        status = capture.wait()
        test.eq(status, 0, f"{option}: {number.name} ends the run with status 0")
        report, = kdreport.parse(kdstacks.parse(capture.stdout)[0])
        told = [text for text in report.warnings if "resolves user stacks" in text]
        # Otherwise it would have been given up, later: it "took too long".
        test.ok(told and "after the signal" in told[0], "the report says which stacks are missing, "
                "and why", *report.warnings)
        test.ok(not os.path.exists(f"/proc/{child}"), "the child is gone")


def case_windows_that_follow_one_another(test):
    """Consecutive windows, each with more calls than are kept for windows that nobody reads."""
    load = test.workload("mapper", "calls")
    done = test.program("-p", load.pid, "-s", "0", "-e", "getppid", "--stack-trace-size=0",
                        "--start-trigger=t:syscalls:sys_enter_getppid", "--trigger-target-only",
                        "--max-overhead=0", "--sample-time=0.15", "--sample-count=3")
    test.eq(done.status, 0, "its status is 0")
    for text in re.split("^# Start sampling", done.stdout, flags=re.MULTILINE)[1:]:
        counted = re.search(r"^ +getppid +\d+ +(\d+)", text, re.MULTILINE)
        missing = re.search(r"WARNING: ([\d,]+) system calls", text)
        # Other tables name it as well, and a call at an edge is listed but not counted.
        test.between(text.count("  getppid         ") - 1 +
                     (kdreport.number(missing[1]) if missing else 0),
                     int(counted[1]), int(counted[1]) + 10,
                     "all calls of a window are listed, or told to be missing")


if __name__ == "__main__":
    kdtest.main(case_files_that_are_gone, case_files_that_cannot_be_read,
                case_files_that_are_damaged, case_a_file_that_is_cut_while_it_is_read,
                case_code_that_is_mapped_at_the_start, case_code_mapped_without_end,
                case_memory_that_nobody_provides, case_a_child_that_is_silent,
                case_windows_that_follow_one_another)
