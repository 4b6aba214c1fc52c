#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which process is looked at when none is named."""

import os
import shutil
import signal
import subprocess
import sys

import kdneeds
import kdtest

DEFAULTS = ("ovs-vswitchd", "vpp_main", "vpp")


def alone():
    for name in DEFAULTS:
        if kdtest.processes_named(name):
            raise kdtest.Skip(f"a {name} runs on this machine")


def start(test, name):
    """A process of that name: a process is named after its file."""
    path = test.directory() / name
    shutil.copy(kdtest.WORKLOADS / "roles", path)
    return test.workload(path, "roles", "poll")


def case_each_default_name(test):
    alone()
    for name in DEFAULTS:
        load = start(test, name)
        done = test.program("--sample-time", "0.1")
        test.eq(done.status, 0, f"{name} is found")
        report = kdtest.kdreport.parse(done.stdout)[0]
        test.eq({thread.tid for thread in report.threads}, set(kdtest.threads_of(load.pid)),
                "and is what the report is about")
        load.end()


def case_vswitchd_comes_first(test):
    alone()
    vpp, switch = start(test, "vpp_main"), start(test, "ovs-vswitchd")
    report = kdtest.kdreport.parse(test.program("--sample-time", "0.1").stdout)[0]
    test.eq({thread.tid for thread in report.threads}, set(kdtest.threads_of(switch.pid)),
            "ovs-vswitchd, not vpp_main")
    switch.end()
    vpp.end()


def case_several(test):
    alone()
    loads = [start(test, "ovs-vswitchd") for _ in range(3)]
    done = test.program("--sample-time", "0.1")
    test.eq((done.status, done.stdout), (66, ""), "three of them: status 66")
    test.ok(all(str(load.pid) in done.stderr for load in loads) and
            len(done.stderr.splitlines()) == 2, "and a list", done.stderr)
    for load in loads:
        load.end()


def case_monitor(test):
    """`ovs-vswitchd --monitor` has a parent that only watches it: not meant."""
    alone()
    kdneeds.need("ovs-vswitchd", "ovsdb-tool", "ovsdb-server")
    directory = test.directory()
    environment = {"OVS_RUNDIR": str(directory), "PATH": os.environ["PATH"]}
    database, socket, pidfile = directory / "db", directory / "db.sock", directory / "v.pid"
    subprocess.run(["ovsdb-tool", "create", database,
                    "/usr/share/openvswitch/vswitch.ovsschema"], check=True)
    test.child(["ovsdb-server", database, f"--remote=punix:{socket}", "-vconsole:off",
                f"--unixctl={directory}/db.ctl"], env=environment)
    kdtest.wait_until(socket.exists)
    parent = test.child(["ovs-vswitchd", f"unix:{socket}", "--disable-system", "--monitor",
                         "-vconsole:off", f"--pidfile={pidfile}", f"--unixctl={directory}/v.ctl"],
                        env=environment)
    kdtest.wait_until(lambda: pidfile.exists() and pidfile.read_text())
    child = int(pidfile.read_text())
    # The parent takes the name of a monitor when the child has started.
    kdtest.wait_until(lambda: kdtest.processes_named("ovs-vswitchd") == [child])
    try:
        test.ok(child != parent.pid, "a process and its monitor")
        done = test.program("--sample-time", "0.2")
        test.eq(done.status, 0, "are no reason to ask which is meant")
        report = kdtest.kdreport.parse(done.stdout)[0]
        test.eq({thread.tid for thread in report.threads}, set(kdtest.threads_of(child)),
                "it is the one that works")
    finally:
        os.kill(child, signal.SIGTERM)
        parent.wait()


# So many threads that it matters whether their number is known.
CROWD = """
import threading
threading.stack_size(65536)
for _ in range(1500):
    threading.Thread(target=threading.Event().wait, daemon=True).start()
print("ready", flush=True)
input()
"""


def case_many_groups(test):
    """A list of groups makes /proc/PID/status longer than a page."""
    load = test.child([sys.executable, "-c", CROWD], stdin=subprocess.PIPE,
                      preexec_fn=lambda: os.setgroups(range(100_000, 105_000)))
    load.line("ready")
    done = test.program("-p", load.pid, "--sample-time", "0.1", "--strict")
    test.eq((done.status, done.stderr), (0, ""), "none of its 1,500 threads is lost")


def case_leader_ended(test):
    """main() that calls pthread_exit(): a process has ended when its last thread has."""
    path = test.directory() / "leaderless"
    shutil.copy(kdtest.WORKLOADS / "caller", path)
    load = test.workload(path, "caller", "sleeps:100000:200:1:2000", env={"LEADER_ENDS": "1"})
    load.send("go")
    tid = load.tid("sleeps")[0]
    kdtest.wait_until(lambda: kdtest.state_of(load.pid, load.pid) == "Z")
    there, saved = set(kdtest.threads_of(load.pid)) - {load.pid}, test.directory() / "json"
    pid, short = ("-p", load.pid), ("--sample-time", "0.2", "--strict")
    for arguments, wanted in (((*pid, "-o", f"json:{saved}", "-o", "text"), there),
                              (("leaderless", "--exe", path, "--wait"), there),
                              ((*pid, "--tid", tid), {tid}), ((*pid, "--follow-fork"), there)):
        done = test.program(*arguments, *short)
        test.eq(done.status, 0, " ".join(map(str, arguments)))
        report = kdtest.kdreport.parse(done.stdout)[0]
        test.eq({thread.tid for thread in report.threads if thread.tid}, wanted, "its threads")
    test.ok(f"leaderless[{load.pid}]:" in test.program("--replay", saved, "--summary").stdout,
            "a replay has its name")
    done = test.program(*pid, "-s", "1ms", *short)
    test.ok(" probed_call+0x" in done.stdout, "stacks have names", done.stdout[-2000:])
    test.ok("up:probed_call" in test.program(*pid, "--list-probes=up:probed*").stdout, "probes")
    done = test.program(*pid, "--start-trigger", "up:probed_call", "--stop-trigger",
                        "ur:probed_call", "--trigger-delta", "1ms", "--trigger-same-thread")
    test.eq((done.status, "\n# Triggered sample dump" in done.stdout), (0, True), "a trigger fires")
    test.ok(f"--pid {load.pid}" in test.program("-p", tid).stderr, "a TID leads to its process")


kdtest.main(case_each_default_name, case_vswitchd_comes_first, case_several, case_monitor,
            case_many_groups, case_leader_ended)
