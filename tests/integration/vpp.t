#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tests/run: long
"""VPP itself, where it is installed or VPP=FOLDER/bin/vpp names one (examples/vpp-triggers.rst
tells how to build it, which takes a quarter of an hour): against its own counts, and the
kernel's."""

import contextlib
import os
import pathlib
import re
import shutil
import subprocess

import kddocuments
import kdtest
from kdneeds import optional
from kdtest import MS
from kdtrigger import NO_LIMIT, Counted, Triggered, symbols

LOOPS = 1024  # of a busy worker between two calls of epoll_wait: vlib/file.c, file_poll_skip_loops
INTERFACES = 30
BARRIER = ("--start-trigger", "up:libvlib.so:vlib_worker_thread_barrier_sync_int",
           "--stop-trigger", "ur:libvlib.so:vlib_worker_thread_barrier_release")
LOOKUP = ("--start-trigger", "up:libvnet.so:ip4_lookup_node_fn*",
          "--stop-trigger", "ur:libvnet.so:ip4_lookup_node_fn*")
CONFIGURATION = """
unix {{ nodaemon log {0}/log cli-listen {0}/cli runtime-dir {0} pidfile {0}/pid gid root }}
api-segment {{ prefix {1} gid root }}
socksvr {{ socket-name {0}/api }}
cpu {{ main-core 0 corelist-workers {2} }}
memory {{ main-heap-size 512M main-heap-page-size 4k }}
buffers {{ page-size 4k buffers-per-numa 8192 }}
statseg {{ size 32M page-size 4k socket-name {0}/stats }}
plugins {{ plugin default {{ disable }} }}
"""
# Packets that a route drops, so that the worker always has an input to poll.
LOAD = """create packet-generator interface pg0
set interface state pg0 up
set interface ip address pg0 10.0.0.1/24
ip route add 20.0.0.0/8 via drop
packet-generator new { name load limit -1 rate 2e5 size 64-64 interface pg0 node ip4-input worker 0 \
data { UDP: 10.0.0.2 -> 20.0.0.1 UDP: 1234 -> 2345 incrementing 22 } }
packet-generator enable-stream load
"""


class Vpp:
    """A VPP with one worker that polls, on the last CPU."""

    def __init__(self, test):
        program = os.environ.get("VPP") or shutil.which("vpp")
        if not program:
            raise kdtest.Skip("vpp is not installed, and VPP names none")
        kdtest.only_beside_another_cpu("a worker of VPP never leaves its CPU")
        self.folder, self.control = test.directory(), pathlib.Path(program).with_name("vppctl")
        prefix = f"kdt{os.getpid()}"
        test.stack.callback(self.forget, prefix)
        path = self.folder / "startup.conf"
        path.write_text(CONFIGURATION.format(self.folder, prefix, kdtest.last_cpu()))
        self.pid = test.child([program, "-c", path]).pid
        kdtest.wait_until(lambda: "vpp_wk_0" in self.said("show threads"))
        self.worker = next(tid for tid in kdtest.threads_of(self.pid)
                           if kdtest.thread_name(self.pid, tid) == "vpp_wk_0")
        self.run(LOAD)
        kdtest.wait_until(lambda: self.calls("ip4-lookup"))

    @staticmethod
    def forget(prefix):
        for name in ("global_vm", "vpe-api"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"/dev/shm/{prefix}-{name}")

    def said(self, *words):
        """Its answer to a command; empty as long as nothing listens."""
        done = subprocess.run([self.control, "-s", self.folder / "cli", *words], text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, check=False)
        return re.sub(r"\x1b\[[0-9;]*m|\r", "", done.stdout)

    def run(self, commands):
        (self.folder / "commands").write_text(commands)
        self.said("exec", str(self.folder / "commands"))

    def loops(self):
        """{thread: (loops, calls of epoll_wait)}"""
        rows = re.findall(r"^ *\d+ +(\w+) +\d+ +\d+ +\w+ \(\d+\) +(\d+) +(\d+)",
                          self.said("show", "threads"), re.MULTILINE)
        return {name: (int(loops), int(polls)) for name, loops, polls in rows}

    def calls(self, node):
        """How often the worker has run a node."""
        rows = self.said("show", "runtime").partition("vpp_wk_0")[2]
        found = re.search(rf"^{node} +\w+ +(\d+)", rows, re.MULTILINE)
        return int(found[1]) if found else 0

    def library(self, name):
        maps = pathlib.Path(f"/proc/{self.pid}/maps").read_text()
        return re.search(rf" (/\S*/{name}\S*)$", maps, re.MULTILINE)[1]


def until_more(read, least):
    """Waits until a count has grown by so much."""
    first = read()
    kdtest.wait_until(lambda: read() - first >= least)


def case_rounds(test):
    """A round of --long-poll is from one epoll_wait to the next: up to 1,024 loops of a worker."""
    vpp = Vpp(test)
    outer = vpp.loops()
    run = Triggered(test, vpp.pid, "--long-poll=1ms,worst=1", "--duration", "10min")
    inner = vpp.loops()
    until_more(lambda: vpp.loops()["vpp_wk_0"][1], 5000)
    inner_end = vpp.loops()
    run = run.stop(test)
    outer_end = vpp.loops()

    def polls(first, last):
        return sum(last[name][1] - first[name][1] for name in first)
    start = run.triggers.roles["start"]
    test.between(start.hits, polls(inner, inner_end) - 2, polls(outer, outer_end) + 2,
                 "as many rounds as VPP counted calls of epoll_wait on both threads")
    loops = outer_end["vpp_wk_0"][0] - outer["vpp_wk_0"][0]
    test.between(loops / (outer_end["vpp_wk_0"][1] - outer["vpp_wk_0"][1]), 0.9 * LOOPS, LOOPS + 2,
                 "of the worker's loops, each 1,024th has one")
    test.eq((start.missed, len(run.reports) <= 1), (0, True), "none is missed, the longest reported")


def case_ready(test):
    """The worker never sleeps: it runs, or another thread has its CPU, as the kernel's schedstat
    shows."""
    vpp = Vpp(test)
    test.child(["taskset", "-c", str(kdtest.last_cpu()), "sh", "-c", "while :; do :; done"])
    outer = kdtest.schedstat(vpp.pid, vpp.worker)
    capture = test.capture(vpp.pid)
    inner = kdtest.schedstat(vpp.pid, vpp.worker)
    kdtest.wait_until(lambda: kdtest.schedstat(vpp.pid, vpp.worker)[1] - inner[1] > 300 * MS)
    inner_end = kdtest.schedstat(vpp.pid, vpp.worker)
    report = capture.close(test)
    outer_end = kdtest.schedstat(vpp.pid, vpp.worker)
    test.books(report)
    worker = report.thread(vpp.worker)
    ready = worker.ns["ready after preemption"] + worker.ns["ready after wakeup"]
    # A wait that has not ended is not in schedstat, and a tick's time not yet in what ran.
    longest = worker.tables["THREAD READY STATISTICS"].max + 20 * MS
    test.between(ready, inner_end[1] - inner[1] - longest, outer_end[1] - outer[1] + longest, "ready")
    test.between(worker.running, inner_end[0] - inner[0] - longest,
                 outer_end[0] - outer[0] + longest, "running")
    test.eq(worker.ns["blocked interruptible"], 0, "it never sleeps")


def case_barrier(test):
    """A burst of barriers: none is missed, and there are as many as the kernel's own events count."""
    vpp = Vpp(test)
    library = vpp.library("libvlib.so")
    counted = optional(test, "the kernel counts the barriers, too", Counted, test, library,
                       symbols(library)["vlib_worker_thread_barrier_sync_int"][0], vpp.pid)
    begun = counted and counted.count()
    run = Triggered(test, vpp.pid, *BARRIER, "--trigger-delta=worst=1", "--duration", "10min",
                    *NO_LIMIT)
    before = counted and counted.count()
    vpp.run("create loopback interface\n" * INTERFACES)
    after = counted and counted.count()
    run = run.stop(test)
    start = run.triggers.roles["start"]
    test.ok(start.hits >= INTERFACES, "each interface takes a barrier", start)
    test.eq((start.used + start.overlapped, start.missed), (start.hits, 0), "none is missed")
    if counted:
        test.between(start.hits, after - before, counted.count() - begun, "hits")
    test.eq([report.delta for report in run.reports], [run.triggers.durations.max],
            "the longest one is reported")
    test.eq(run.triggers.durations.count, start.used, "all are in the distribution")


def case_node(test):
    """The runs of a node, as VPP counts them."""
    vpp = Vpp(test)
    outer = vpp.calls("ip4-lookup")
    run = Triggered(test, vpp.pid, *LOOKUP, "--trigger-delta=worst=1", "--duration", "10min", *NO_LIMIT)
    inner = vpp.calls("ip4-lookup")
    until_more(lambda: vpp.calls("ip4-lookup"), 1000)
    inner_end = vpp.calls("ip4-lookup")
    run = run.stop(test)
    test.between(run.triggers.roles["start"].hits, inner_end - inner - 2,
                 vpp.calls("ip4-lookup") - outer + 2, "hits")
    test.eq(run.triggers.roles["start"].missed, 0, "none is missed")


def case_documented(test):
    """The functions and places that the example shows exist."""
    vpp = Vpp(test)
    text = (kddocuments.EXAMPLES / "vpp-triggers.rst").read_text()
    lines = [line for line in kddocuments.joined(text)
             if re.match(r"  \$ sudo kernel_delay vpp_main --(list-probes|check)", line)]
    test.eq(len(lines), 3, "commands that list or check")

    def same(words):
        words = re.sub(r"about [0-9]+ ns", "about N ns", re.sub("0x[0-9a-f]+", "ADDRESS", words))
        return re.sub(r"/\S*/(libv\w+\.so)", r"/\1", re.sub(r"(libv\w+\.so)[.\d]*", r"\1", words))
    for line in lines:
        done = subprocess.run([kdtest.PROGRAM, "-p", str(vpp.pid), *kddocuments.arguments(line)[1:]],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        test.ok(done.returncode in (0, 78) and same(done.stdout) in same(text.replace("\n  ", "\n")),
                line.strip(), done.stdout)


kdtest.main(case_rounds, case_ready, case_barrier, case_node, case_documented)
