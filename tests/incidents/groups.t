#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tests/run: long
"""Processes that the limits of their control groups, or the CPUs that they may use, keep waiting."""

import contextlib
import os
import pathlib

import incidents
import kdgroup
import kdprocesses
from incidents import PATIENCE, Script, Staged, kdtest, logged, throughout
from kdneeds import need

THROTTLED = {"throttled"}
FREEZER = pathlib.Path("/sys/fs/cgroup/freezer")
WORKER = """
name("worker")
ready()
sys.stdin.readline()
while True:
    spend(float(sys.argv[1]))
    time.sleep(float(sys.argv[2]))
"""


def join(group, pid):
    (group / "cgroup.procs").write_text(str(pid))


@contextlib.contextmanager
def group_of_its_own(top, name):
    """A control group, which its processes leave in the end."""
    group = top / name
    group.mkdir()
    try:
        yield group
    finally:
        for pid in (group / "cgroup.procs").read_text().split():
            with contextlib.suppress(ProcessLookupError):
                join(group.parent, pid)
        group.rmdir()


# Computes, and logs for how long it could not.
STARVED = """
name("worker")
ready()
sys.stdin.readline()
last = time.monotonic_ns()
while True:
    now = time.monotonic_ns()
    if now - last > 2_000_000: print(f"began {last}\\nended {now}", flush=True)
    last = now
"""


def quota(test):
    """A process that computes, in a group with 20 ms of each 100."""
    name = f"kdt-quota-{os.getpid()}"
    group = test.stack.enter_context(kdgroup.limited_group(name))
    worker = Script(test, STARVED)
    join(group, worker.pid)
    worker.send("go")
    kdtest.wait_until(lambda: kdgroup.throttled_periods(group) > 2, PATIENCE)
    return Staged(worker.pid, f"computes in /{name}, which has 20 of 100 ms, by cpu.stat", THROTTLED,
                  (f"/{name}",), lambda start, stop: (logged(worker)(start, stop),) * 2)


def quota_of_neighbour(test):
    """A process that does little, in the group of another one that uses up the quota."""
    name = f"kdt-shared-{os.getpid()}"
    group = test.stack.enter_context(kdgroup.limited_group(name))
    worker, other = Script(test, WORKER, 0.001, 0.004), Script(test, WORKER, 1, 0)
    for each in (other, worker):
        join(group, each.pid)
        each.send("go")
    kdtest.wait_until(lambda: kdgroup.throttled_periods(group) > 2, PATIENCE)
    return Staged(worker.pid, f"the quota of /{name}, 20 of 100 ms, which worker[{other.pid}] uses up",
                  THROTTLED, (("worker", other.pid),))


def beside(test, *pinned):
    """Two processes that compute on the last CPU, whatever the others do: the one that is looked at, and
    its neighbour."""
    worker, other = (Script(test, WORKER.replace("worker", name), 1, 0, wrapper=pinned)
                     for name in ("worker", "neighbour"))
    for each in (other, worker):
        each.send("go")
    return worker, other


def affinity(test):
    """A process that may only use the CPU on which another one computes."""
    kdtest.only_beside_another_cpu("which could be idle")
    cpu = kdtest.last_cpu()
    worker, other = beside(test, "taskset", "-c", str(cpu))
    return Staged(worker.pid, f"neighbour[{other.pid}] computes on CPU {cpu}, too, the only one that it may use",
                  {"task"}, (("neighbour", other.pid),))


def cpuset(test):
    """A process that its cpuset confines to such a CPU."""
    kdtest.only_beside_another_cpu("which could be idle")
    cpu = kdtest.last_cpu()
    group = test.stack.enter_context(kdgroup.cpuset_group(str(cpu)))
    worker, other = beside(test)
    for each in (worker, other):
        join(group, each.pid)
    return Staged(worker.pid, f"neighbour[{other.pid}] computes on CPU {cpu}, too, the only one of /{group.name}",
                  {"task"}, (("neighbour", other.pid),))


def quota_of_pod(test):
    """A process that does little, in a group whose parent's quota a neighbour uses up."""
    name = f"kdt-pod-{os.getpid()}"
    pod = test.stack.enter_context(kdgroup.limited_group(name))
    if not kdgroup.CPU.is_dir():
        raise kdtest.Skip("nested groups are staged with version 1 of control groups")
    app = test.stack.enter_context(group_of_its_own(pod, "app"))
    sidecar = test.stack.enter_context(group_of_its_own(pod, "sidecar"))
    worker, other = Script(test, WORKER, 0.001, 0.004), Script(test, WORKER, 1, 0)
    join(app, worker.pid)
    join(sidecar, other.pid)
    for each in (other, worker):
        each.send("go")
    kdtest.wait_until(lambda: kdgroup.throttled_periods(pod) > 2, PATIENCE)
    return Staged(worker.pid, f"the quota of /{name}, 20 of 100 ms, which /{name}/sidecar uses up",
                  THROTTLED, (f"/{name}/sidecar",))


def frozen(test, *times):
    """A process in a group that is frozen again and again: how long it computes, and how long it
    sleeps, in seconds."""
    if not FREEZER.is_dir():
        raise kdtest.Skip("no freezer of version 1 of control groups")
    name = f"kdt-frozen-{os.getpid()}"
    group = test.stack.enter_context(group_of_its_own(FREEZER, name))
    worker = Script(test, WORKER, *times)
    test.stack.callback((group / "freezer.state").write_text, "THAWED")  # before it can end
    worker.send("go")
    join(group, worker.pid)
    freezing = Script(test, """
name("freezing")
ready()
while True:
    with waiting():
        open(sys.argv[1], "w").write("FROZEN")
        time.sleep(0.2)
    open(sys.argv[1], "w").write("THAWED")
    time.sleep(0.1)""", group / "freezer.state")
    test.stack.callback(freezing.end)
    return Staged(worker.pid, f"in /{name}, which is frozen for 200 of 300 ms", {"frozen"},
                  (f"/{name}",), logged(freezing))


def freezer(test):
    return frozen(test, 0.05, 0)


def freezer_asleep(test):
    """It sleeps when it is frozen, for less time than that lasts."""
    return frozen(test, 0, 0.02)


def freezer_throughout(test):
    """It waits for requests, and its group was frozen before one came."""
    if not FREEZER.is_dir():
        raise kdtest.Skip("no freezer of version 1 of control groups")
    name = f"kdt-frozen-{os.getpid()}"
    group = test.stack.enter_context(group_of_its_own(FREEZER, name))
    server = Script(test, """
import select
name("server")
poll = select.poll()
poll.register(0, select.POLLIN)
ready()
poll.poll()""")
    test.stack.callback((group / "freezer.state").write_text, "THAWED")  # before it can end
    join(group, server.pid)
    incidents.settles(server.pid, "poll")
    (group / "freezer.state").write_text("FROZEN")
    server.send("request")
    return Staged(server.pid, f"poll() in /{name}, which is frozen", {"frozen"}, (f"/{name}",),
                  throughout)


def disk_of(path):
    """The disk of a file system, as in /sys/block."""
    number = os.stat(path).st_dev
    node = pathlib.Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}").resolve()
    disk = node.parent if (node / "partition").exists() else node
    if not pathlib.Path(f"/sys/block/{disk.name}").exists():
        raise kdtest.Skip(f"{path} is on no disk")
    return disk.name


def block_throttle(test):
    """Direct reads, in a group that may do 20 a second."""
    need("dd")
    disk = disk_of("/var/tmp")
    path = pathlib.Path(f"/var/tmp/incident-{os.getpid()}")
    test.stack.callback(path.unlink, missing_ok=True)
    with open(path, "wb") as file:
        file.write(bytes(4 << 20))
        os.fsync(file.fileno())
    group, limit = test.stack.enter_context(kdgroup.disk_group(disk))
    limit(20)
    reader = test.child(["sh", "-c", f"read line; while dd if={path} of=/dev/null bs=4k iflag=direct; "
                         "do :; done"])
    join(group, reader.pid)
    reader.send("go")
    kdtest.wait_until(lambda: kdprocesses.children_of(reader.pid), PATIENCE)
    pid, = kdprocesses.children_of(reader.pid)
    test.stack.callback(reader.end)
    test.stack.callback(os.kill, pid, 9)
    kdtest.wait_until(lambda: "throtl" in wchan(pid) or kdtest.state_of(pid, pid) == "D", PATIENCE)
    return Staged(pid, f"read() in /{group.name}, which may do 20 of {disk} a second", {"disk_limit"},
                  (f"/{group.name}",), throughout)


def wchan(pid):
    return pathlib.Path(f"/proc/{pid}/wchan").read_text()


def memory_limit(test):
    """A process that writes a file, in a group that may have 8 MB of it in memory."""
    join_file = test.stack.enter_context(kdgroup.memory_group(8 << 20))
    group = join_file.parent.name
    path = pathlib.Path(f"/var/tmp/incident-{os.getpid()}")
    test.stack.callback(path.unlink, missing_ok=True)
    worker = Script(test, """
name("worker")
file = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)
block = bytes(1 << 16)
ready()
sys.stdin.readline()
while True:
    for at in range(0, 1 << 28, len(block)): os.pwrite(file, block, at)""", path)
    test.stack.callback(worker.end)
    join_file.write_text(str(worker.pid))
    worker.send("go")
    incidents.settles(worker.pid, "reclaim_throttle")
    return Staged(worker.pid, f"write() in /{group}, which may have 8 MB in memory: it sleeps in "
                  "reclaim_throttle", {"reclaim"}, (f"/{group}",))


incidents.main(quota, quota_of_neighbour, quota_of_pod, affinity, cpuset, freezer, freezer_asleep,
               freezer_throughout, block_throttle, memory_limit)
