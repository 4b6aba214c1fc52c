# SPDX-License-Identifier: Apache-2.0
"""Control groups with a quota of CPU time, and the kernel's count of the time that it took; with
much of the CPUs; and with little memory."""

import contextlib
import os
import pathlib
import re

import kdtest

BLKIO = pathlib.Path("/sys/fs/cgroup/blkio")
MEMORY = pathlib.Path("/sys/fs/cgroup/memory")
CPU = pathlib.Path("/sys/fs/cgroup/cpu")
CPUSET = pathlib.Path("/sys/fs/cgroup/cpuset")
UNIFIED = pathlib.Path("/sys/fs/cgroup")
MOST_SHARES, MOST_WEIGHT = "262144", "10000"


@contextlib.contextmanager
def limited_group(name="kd-culprit"):
    """A control group with 20 ms of every 100; inside another one with a quota, which is made first
    and removed last."""
    control, given_before = None, True
    if CPU.is_dir():
        group, files = CPU / name, {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "20000",
                                    "cpu.shares": MOST_SHARES}  # that it gets from others
    elif "cpu" in controllers():
        control = (UNIFIED / name).parent / "cgroup.subtree_control"
        given_before = "cpu" in control.read_text().split()
        control.write_text("+cpu")
        group, files = UNIFIED / name, {"cpu.max": "20000 100000", "cpu.weight": MOST_WEIGHT}
    else:
        raise kdtest.Skip("no control groups with CPU quotas")
    group.mkdir(exist_ok=True)
    try:
        for file, value in files.items():
            (group / file).write_text(value)
        yield group
    finally:
        kind = group / "cgroup.type"  # see join_thread()
        members = "cgroup.threads" if kind.exists() and "threaded" in kind.read_text() else "cgroup.procs"
        for member in (group / members).read_text().split():
            (group.parent / members).write_text(member)
        group.rmdir()
        if not given_before:
            control.write_text("-cpu")


def set_quota(group, quota_us, period_us=100_000):
    """Sets the time per period; -1: unlimited."""
    if CPU.is_dir():
        (group / "cpu.cfs_period_us").write_text(str(period_us))
        (group / "cpu.cfs_quota_us").write_text(str(quota_us))
    else:
        (group / "cpu.max").write_text(f"{'max' if quota_us < 0 else quota_us} {period_us}")


def join_thread(group, tid):
    """Moves one thread of a process."""
    try:
        if not CPU.is_dir():
            (group / "cgroup.type").write_text("threaded")
        (group / ("tasks" if CPU.is_dir() else "cgroup.threads")).write_text(str(tid))
    except OSError as why:
        raise kdtest.Skip(f"no control group for a thread: {why}") from None


def controllers():
    """The controllers of cgroup version 2."""
    path = UNIFIED / "cgroup.controllers"
    return path.read_text().split() if path.exists() else []


def throttled_ns(group):
    """Throttled time by the kernel's count, which is in ns in version 1 and in us in version 2."""
    unit, count = re.search(r"^throttled_(time|usec) (\d+)$", (group / "cpu.stat").read_text(),
                            re.MULTILINE).groups()
    return int(count) * (1 if unit == "time" else 1000)


def throttled_periods(group):
    """The number of throttled periods."""
    return int(re.search(r"^nr_throttled (\d+)$", (group / "cpu.stat").read_text(), re.MULTILINE)[1])


@contextlib.contextmanager
def heavy_group():
    """A control group that gets nearly all of a CPU for which it competes with others. Yields a
    function that puts processes into it, and does nothing where such groups are unavailable."""
    top, file, most = ((CPU, "cpu.shares", MOST_SHARES) if CPU.is_dir() else
                       (UNIFIED, "cpu.weight", MOST_WEIGHT))
    group = top / f"kdtest-heavy-{os.getpid()}"
    made = False
    with contextlib.suppress(OSError):
        group.mkdir()
        made = True
        (group / file).write_text(most)

    def join(*children):
        for child in children if made else ():
            (group / "cgroup.procs").write_text(str(child.pid))
    try:
        yield join
    finally:
        if made:
            for pid in (group / "cgroup.procs").read_text().split():
                (top / "cgroup.procs").write_text(pid)
            group.rmdir()


@contextlib.contextmanager
def cpuset_group(cpus):
    """A control group whose processes may run on these CPUs only."""
    top = CPUSET if CPUSET.is_dir() else UNIFIED
    group = top / f"kdtest-{os.getpid()}"
    try:
        if top == UNIFIED:
            (UNIFIED / "cgroup.subtree_control").write_text("+cpuset")
        group.mkdir()
        if top == CPUSET:
            (group / "cpuset.mems").write_text((top / "cpuset.mems").read_text())
        (group / "cpuset.cpus").write_text(cpus)
    except OSError as why:
        raise kdtest.Skip(f"no control group of its own for CPUs: {why}") from None
    try:
        yield group
    finally:
        for pid in (group / "cgroup.procs").read_text().split():
            (top / "cgroup.procs").write_text(pid)
        group.rmdir()


@contextlib.contextmanager
def memory_group(limit):
    """The file for joining a memory control group whose number of pages is limited."""
    version = 1 if MEMORY.is_dir() else 2
    if version == 2 and "memory" not in controllers():
        raise kdtest.Skip("no memory control groups")
    path = (MEMORY if version == 1 else UNIFIED) / f"kdtest-{os.getpid()}"
    try:
        if version == 2:
            (UNIFIED / "cgroup.subtree_control").write_text("+memory")
        path.mkdir()
        (path / ("memory.limit_in_bytes" if version == 1 else "memory.max")).write_text(str(limit))
    except OSError as why:
        raise kdtest.Skip(f"no memory control group of its own: {why}") from None
    try:
        yield path / "cgroup.procs"
    finally:
        kdtest.wait_until(lambda: not (path / "cgroup.procs").read_text())
        path.rmdir()


@contextlib.contextmanager
def disk_group(disk):
    """A control group, and a function that limits it to so many reads of the disk per second, or to
    so many bytes of writes."""
    number = pathlib.Path(f"/sys/block/{disk}/dev").read_text().strip()
    version = 1 if BLKIO.is_dir() else 2
    if version == 2 and "io" not in controllers():
        raise kdtest.Skip("no control groups for disks")
    group = (BLKIO if version == 1 else UNIFIED) / f"kdtest-{os.getpid()}"
    if version == 2:
        (UNIFIED / "cgroup.subtree_control").write_text("+io")
    group.mkdir()

    def limit(reads=None, written=None):
        name, kind = ("read_iops", "riops") if reads else ("write_bps", "wbps")
        if version == 1:
            (group / f"blkio.throttle.{name}_device").write_text(f"{number} {reads or written}")
        else:
            (group / "io.max").write_text(f"{number} {kind}={reads or written}")
    try:
        yield group, limit
    finally:
        kdtest.wait_until(lambda: not (group / "cgroup.procs").read_text())
        group.rmdir()
