#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Open vSwitch with a bridge in the kernel: its threads, upcalls and triggers. Packets of ever new
flows travel between two namespaces; an event of the kernel's own counts how many are handed to
ovs-vswitchd."""

import atexit
import contextlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE), str(HERE.parent / "integration")]

# pylint: disable=wrong-import-position
import kdreport  # noqa: E402
import kdtest  # noqa: E402
from kdtrigger import NO_LIMIT, UNLIMITED, Triggered, check_reports  # noqa: E402
from kernelevents import FunctionEvent, need_module  # noqa: E402

UPTIME = 11  # seconds; started earlier, ovs-vswitchd has no handlers, for ever
SENDER = """
import itertools, socket, sys, time
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for number in itertools.count():
    sock.sendto(b"x", (sys.argv[1], 1024 + number % 60000))
    time.sleep(0.04)
"""
UPCALLS = re.compile(r"\n# UPCALL STATISTICS \(TOTAL \[CPU_ID: N_UPCALLS_PER_CPU, \.\.\.\]\):\n"
                     r"((?:  .*\n)*)")
UPCALL_LINE = re.compile(r"  (.{20}): ([\d,]+) \[(.*)\]")


class Switch:
    """ovs-vswitchd with one bridge and two hosts, one of which sends to the other."""

    def __init__(self):
        self.stack = contextlib.ExitStack()
        atexit.register(self.stack.close)
        self.folder = pathlib.Path(self.stack.enter_context(
            tempfile.TemporaryDirectory(prefix="kdtest")))
        self.environment = {**os.environ, "OVS_RUNDIR": str(self.folder),
                            "OVS_LOGDIR": str(self.folder), "OVS_DBDIR": str(self.folder)}
        self.spaces = [self.namespace(end) for end in ("sw", "h1", "h2")]
        self.socket = f"unix:{self.folder}/db.sock"
        self.child = self.start()
        self.connect()
        self.appctl("upcall/disable-megaflows")
        self.start_child(["ip", "netns", "exec", self.spaces[1], sys.executable, "-c", SENDER,
                          "192.0.2.2"])
        kdtest.wait_until(lambda: self.missed() > 20)

    @property
    def pid(self):
        return self.child.pid

    def run(self, *argv, **options):
        return subprocess.run([str(arg) for arg in argv], check=True, env=self.environment,
                              stdout=subprocess.PIPE, text=True, **options).stdout

    def start_child(self, argv):
        child = kdtest.Child(argv, env=self.environment)
        self.stack.callback(child.end)
        return child

    def namespace(self, end):
        name = f"kdtest-{os.getpid()}-{end}"
        self.run("ip", "netns", "add", name)
        self.stack.callback(self.run, "ip", "netns", "del", name)
        self.run("ip", "-n", name, "link", "set", "lo", "up")
        return name

    def start(self):
        uptime = float(pathlib.Path("/proc/uptime").read_text().split()[0])
        time.sleep(max(0, UPTIME - uptime))
        database = self.folder / "conf.db"
        self.run("ovsdb-tool", "create", database, "/usr/share/openvswitch/vswitch.ovsschema")
        self.start_child(["ovsdb-server", database, f"--remote=p{self.socket}", "-vconsole:off",
                          f"--unixctl={self.folder}/ovsdb.ctl"])
        kdtest.wait_until((self.folder / "db.sock").exists)
        self.vsctl("--no-wait", "init")
        child = self.start_child(["ip", "netns", "exec", self.spaces[0], "ovs-vswitchd",
                                  self.socket, "-vconsole:off",
                                  f"--unixctl={self.folder}/vswitchd.ctl"])
        kdtest.wait_until((self.folder / "vswitchd.ctl").exists)
        return child

    def connect(self):
        self.vsctl("add-br", "kdbr0")
        for index in (1, 2):
            host = self.spaces[index]
            self.run("ip", "link", "add", f"kdp{index}", "netns", self.spaces[0], "type", "veth",
                     "peer", "name", "eth0", "netns", host)
            self.run("ip", "-n", self.spaces[0], "link", "set", f"kdp{index}", "up")
            self.run("ip", "-n", host, "link", "set", "eth0", "up")
            self.run("ip", "-n", host, "address", "add", f"192.0.2.{index}/24", "dev", "eth0")
            self.vsctl("add-port", "kdbr0", f"kdp{index}")

    def vsctl(self, *args):
        self.run("ovs-vsctl", f"--db={self.socket}", "--timeout=60", *args)

    def appctl(self, *args):
        return self.run("ovs-appctl", "-t", self.folder / "vswitchd.ctl", *args)

    def missed(self):
        """Packets that had no flow in the kernel, as the datapath itself counts them."""
        shown = self.appctl("dpctl/show")
        return int(re.search(r"lookups: hit:\d+ missed:(\d+)", shown)[1])


SWITCH = []


def switch():
    """The switch that all cases share, started by the first one."""
    if not SWITCH:
        os.environ["PATH"] += ":/usr/sbin:/sbin"
        for name in ("openvswitch", "veth"):
            need_module(name)
        SWITCH.append(Switch())
    return SWITCH[0]


def sample(test, pid, during, *args):
    """One window; returns (report, {line of the upcall statistics: (total, by CPU)} or None)."""
    child = test.child([kdtest.PROGRAM, "-p", pid, "--sample-time", "60", *args])
    child.line("# Start sampling")
    during()
    child.signal(kdtest.signal.SIGINT)
    test.eq((child.wait(), child.stderr), (0, ""), "status 0, nothing on stderr")
    reports = kdreport.parse(UPCALLS.sub("", child.stdout))
    test.eq(len(reports), 1, "one report")
    test.books(reports[0])
    block = UPCALLS.search(child.stdout)
    if not block:
        return reports[0], None
    upcalls = {}
    for line in block[1].splitlines():
        name, total, cpus = UPCALL_LINE.fullmatch(line).groups()
        by_cpu = [entry.split(": ") for entry in cpus.split(", ") if entry]
        upcalls[name.strip()] = (kdreport.number(total),
                                 {int(cpu): kdreport.number(count) for cpu, count in by_cpu})
    return reports[0], upcalls


def case_threads(test):
    """The threads in upstream's first screen: handlers and revalidators."""
    target = switch()
    before = set(kdtest.threads_of(target.pid))
    report, _ = sample(test, target.pid, lambda: time.sleep(3))
    throughout = before & set(kdtest.threads_of(target.pid))
    rows = {thread.tid for thread in report.threads}
    test.ok(throughout <= rows, "every thread has its row", throughout - rows)
    for start in ("handler", "revalidator"):
        found = [thread for thread in report.threads if re.fullmatch(start + r"\d+", thread.name)]
        test.ok(found, f"there are {start}s", report.threads)
        test.ok(any(thread.running > 0 for thread in found), "which work")


def case_upcalls(test):
    target = switch()
    truth = FunctionEvent(test, "p", "ovs_dp_upcall")
    inner, missed = [], []

    def watch():
        inner.append(truth.count())
        missed.append(target.missed())
        time.sleep(3)
        missed.append(target.missed())
        inner.append(truth.count())

    outer = truth.count()
    _, upcalls = sample(test, target.pid, watch)
    outer = truth.count() - outer
    if not test.ok(upcalls, "there are UPCALL STATISTICS"):
        return
    total, by_cpu = upcalls["Total upcalls"]
    test.ok(missed[1] - missed[0] > 30, "packets missed the kernel's flows", missed)
    # One may be on its way at either edge.
    test.between(total, inner[1] - inner[0] - 1, outer,
                 "as many as the kernel's own event counts")
    test.between(total, missed[1] - missed[0] - 1, outer, "at least what the datapath missed")
    test.eq(sum(by_cpu.values()), total, "the CPUs' counts add up")
    failed = upcalls.get("Failed upcalls", (0, {}))[0]
    test.eq(upcalls.get("Successfull upcalls", (total, {}))[0] + failed, total,
            "and so do the results")


def case_skip_upcall_stats(test):
    target = switch()
    probes = pathlib.Path("/sys/kernel/debug/kprobes/list")
    for arguments, there in (([], True), (["--skip-upcall-stats"], False)):
        listed = []
        _, upcalls = sample(test, target.pid, lambda: listed.append(probes.read_text()),
                            *arguments)
        test.eq(upcalls is not None, there, f"{arguments}: the statistics are printed: {there}")
        test.eq("ovs_dp_upcall" in listed[0], there, f"{arguments}: the probe is there: {there}")


def count_hits(test, target, start, stop, truths, *args):
    """Checks that the hits of a pair of triggers match the count of the kernel's own events."""
    before = [truth.count() for truth in truths]
    run = Triggered(test, target.pid, "--start-trigger", start, "--stop-trigger", stop, *UNLIMITED,
                    *NO_LIMIT, "--trigger-delta", "1min", *args)
    least = [truth.count() for truth in truths]
    time.sleep(2)
    least = [truth.count() - count for truth, count in zip(truths, least)]
    run = run.stop(test)
    most = [truth.count() - count for truth, count in zip(truths, before)]
    test.ok(least[0] > 20, "there were packets", least)
    for role, fewest, all_of_them in zip(("start", "stop"), least, most):
        row = run.triggers.roles[role]
        test.between(row.hits, fewest - 1, all_of_them, f"{role}: hits as the kernel counts them")
        test.eq(row.missed, 0, f"{role}: none is missed")


def windows(test, target, count, *args):
    """Runs until so many windows have been printed; returns them."""
    done = test.program("-p", target.pid, "--sample-count", count, *args)
    test.eq(done.status, 0, "status 0")
    reports = kdreport.Run(UPCALLS.sub("", done.stdout)).reports
    test.eq(len(reports), count, f"{count} windows are reported")
    check_reports(test, reports)
    return reports


def case_packets(test):
    """Start and stop around the handling of one packet, on whatever thread."""
    target = switch()
    name = "ovs_dp_process_packet"
    start, stop = f"k:{name}", f"kr:{name}"
    truths = FunctionEvent(test, "p", name), FunctionEvent(test, "r", name)
    count_hits(test, target, start, stop, truths)
    reports = windows(test, target, 5, "--start-trigger", start, "--stop-trigger", stop)
    times = [when for truth in truths for when, _ in truth.times()]
    for report in reports:
        within = sum(report.start <= when <= report.stop for when in times)
        test.ok(within <= 2, "a window is one packet", within, report.delta)


def case_tracepoint(test):
    target = switch()
    if not pathlib.Path("/sys/kernel/tracing/events/openvswitch/ovs_dp_upcall").exists():
        raise kdtest.Skip("this kernel has no tracepoint openvswitch:ovs_dp_upcall")
    truth = FunctionEvent(test, "p", "ovs_dp_upcall")
    event = "t:openvswitch:ovs_dp_upcall"
    count_hits(test, target, event, event, (truth,))


def case_poll(test):
    """A function of a library in a stripped program, from its entry to its return."""
    target = switch()
    reports = windows(test, target, 3, "--start-trigger", "up:libc.so.6:poll", "--stop-trigger",
                      "ur:libc.so.6:poll", "--trigger-same-thread")
    for report in reports:
        inside = [thread for thread in report.threads if thread.count("poll")]
        test.ok(inside, "a thread made a poll in it", report.delta)


kdtest.main(case_threads, case_upcalls, case_skip_upcall_stats, case_packets, case_tracepoint,
            case_poll)
