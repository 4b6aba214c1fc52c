#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tests/run: long
"""Long polls of ovs-vswitchd's main thread, from three causes. Debian's has no USDT probes, so the
windows are those of --long-poll, which are the same."""

import os
import sys

import incidents
import kdgroup
import kdservers
from incidents import Script, Staged, kdtest
from kdneeds import need

WINDOW = ("--long-poll=150ms", "--trigger-delta", "1min,ovs-vswitchd:150ms", "--sample-count", "1")
# Its log is one of our own. Nothing else of /dev matters to it.
OWN_LOG = """
mount -t tmpfs none "$1"
for file in null zero random urandom; do touch "$1/$file"; mount --bind "/dev/$file" "$1/$file"; done
ln -s "$2" "$1/log"
mount --rbind "$1" /dev
shift 2
exec "$@"
"""


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
    need("unshare", "mount")
    folder = test.directory()
    (folder / "dev").mkdir()
    daemon = Script(test, """
import socket
name("slowlogd")
log = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
log.bind(sys.argv[1])
ready()
while True:
    log.recv(65536)
    time.sleep(0.03)""", folder / "log")
    switch = Switch()
    switch.options += ("-vjsonrpc:syslog:dbg",)
    switch.within = ("unshare", "-m", "sh", "-ec", OWN_LOG, "sh", folder / "dev", folder / "log")
    kdservers.start(test, switch)
    return Staged(switch.pid, f"its main thread is blocked in syslog(), by slowlogd[{daemon.pid}]",
                  {"peer"}, (("slowlogd", daemon.pid), str(folder / "log")), args=WINDOW,
                  meanwhile=switch.change)


def ovs_throttled(test):
    name = f"kdt-ovs-{os.getpid()}"
    group = test.stack.enter_context(kdgroup.limited_group(name))
    kdgroup.set_quota(group, 10_000, 500_000)
    switch = kdservers.start(test, Switch())
    (group / "cgroup.procs").write_text(str(switch.pid))
    return Staged(switch.pid, f"its group /{name} has 10 of 500 ms, by cpu.stat", {"throttled"},
                  (f"/{name}",), args=WINDOW, meanwhile=switch.change)


def ovs_starved(test):
    """A thread of real time has its CPU for 300 of each 400 ms."""
    kdtest.only_beside_another_cpu("for the test")
    cpu, switch = kdtest.last_cpu(), kdservers.start(test, Switch())
    os.sched_setaffinity(switch.pid, {cpu})

    def meanwhile():
        switch.change()
        test.workload("roles", f"fifo:{cpu}:300:400", wrapper=incidents.OUTSIDE)
    return Staged(switch.pid, "fifo (SCHED_FIFO) has the CPU of its main thread for 300 of 400 ms",
                  {"task"}, ("fifo[",), args=WINDOW, meanwhile=meanwhile)


incidents.main(ovs_slow_syslog, ovs_throttled, ovs_starved)
