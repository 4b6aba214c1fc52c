#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tests/run: long
"""Long polls of ovs-vswitchd, from three causes. Debian's has no USDT probes, so the windows are
those of --long-poll, which are the same: from a return of poll() to the next one."""

import os
import sys

import incidents
import kdgroup
import kdservers
from incidents import Script, Staged, kdtest

# Threads of real time may run in no other group of version 1 that has no limit for them.
IN_NO_GROUP = ("sh", "-c", f'! [ -d {kdgroup.CPU} ] || echo $$ >{kdgroup.CPU}/cgroup.procs; exec "$@"',
               "sh")
WINDOW = ("--long-poll=150ms", "--sample-count", "1")


CHANGES = """
import itertools, subprocess, sys
for turn in itertools.count():
    args = []
    for port in range(6):
        args += (["--", "del-port", "kdbr0", f"p{port}"] if turn % 2 else
                 ["--", "add-port", "kdbr0", f"p{port}", "--", "set", "interface", f"p{port}", "type=dummy"])
    subprocess.run(["ovs-vsctl", f"--db={sys.argv[1]}", "--timeout=60", *args], check=True)
"""


class Switch(kdservers.DummySwitch):
    """A switch whose bridge changes again and again, which is work for its main thread."""

    def change(self):
        """Starts to add and to remove ports, and returns."""
        self.child([sys.executable, "-c", CHANGES, self.database], env=self.environment)


def ovs_slow_syslog(test):
    """Its messages go to a daemon that takes its time."""
    path = test.directory() / "log"
    daemon = Script(test, """
import socket
name("slowlogd")
log = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
log.bind(sys.argv[1])
ready()
while True:
    log.recv(65536)
    time.sleep(0.002)""", path)
    switch = Switch()
    switch.options += (f"--syslog-method=unix:{path}", "-vjsonrpc:syslog:dbg")
    kdservers.start(test, switch)
    return Staged(switch.pid, f"its main thread is blocked in send() of messages to slowlogd[{daemon.pid}]",
                  {"peer"}, (("slowlogd", daemon.pid), str(path)), args=WINDOW, meanwhile=switch.change)


def ovs_throttled(test):
    name = f"kdt-ovs-{os.getpid()}"
    group = test.stack.enter_context(kdgroup.limited_group(name))
    kdgroup.set_quota(group, 4000)
    switch = kdservers.start(test, Switch())
    (group / "cgroup.procs").write_text(str(switch.pid))
    return Staged(switch.pid, f"its group /{name} has 4 of 100 ms, by cpu.stat", {"throttled"},
                  (f"/{name}",), args=WINDOW, meanwhile=switch.change)


def ovs_starved(test):
    """A thread of real time has its CPU for 300 of each 400 ms."""
    kdtest.only_beside_another_cpu("for the test")
    cpu, switch = kdtest.last_cpu(), kdservers.start(test, Switch())
    os.sched_setaffinity(switch.pid, {cpu})

    def meanwhile():
        switch.change()
        test.workload("roles", f"fifo:{cpu}:300:400", wrapper=IN_NO_GROUP)
    return Staged(switch.pid, "fifo (SCHED_FIFO) has the CPU of its main thread for 300 of 400 ms",
                  {"task"}, ("fifo[",), args=WINDOW, meanwhile=meanwhile)


incidents.main(ovs_slow_syslog, ovs_throttled, ovs_starved)
