#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pressure of the machine and of a control group (PSI) over a window, against the kernel's own
counts, which the test reads before and after its edges."""

import contextlib
import json
import pathlib
import re
import signal
import time

import kdtest

KINDS = ("cpu", "memory", "io")
PSI = pathlib.Path("/proc/pressure")
WINDOW = 0.5  # s


def unified():
    """Where cgroup version 2 is mounted."""
    mounts = [line.split() for line in pathlib.Path("/proc/self/mounts").read_text().splitlines()]
    return next((pathlib.Path(mount[1]) for mount in mounts if mount[2] == "cgroup2"), None)


def totals(path):
    """{"some": ns, "full": ns} of a file; empty where the kernel does not have it."""
    try:
        text = path.read_text()
    except OSError:
        return {}
    return {who: int(us) * 1000 for who, us in re.findall(r"^(\w+) .* total=(\d+)$", text, re.MULTILINE)}


def readings(group):
    files = {("machine", kind): PSI / kind for kind in KINDS}
    if group:
        files |= {("group", kind): group / f"{kind}.pressure" for kind in KINDS}
    return {of: totals(path) for of, path in files.items()}


@contextlib.contextmanager
def own_group():
    """A control group of version 2; None where there is none."""
    mount = unified()
    group = mount / "kd-pressure" if mount else None
    try:
        if group:
            group.mkdir(exist_ok=True)
    except OSError:
        group = None
    try:
        yield group
    finally:
        if group:
            for member in (group / "cgroup.procs").read_text().split():
                with contextlib.suppress(OSError):  # it has just ended
                    (mount / "cgroup.procs").write_text(member)
            group.rmdir()


def hogs(test, group=None):
    """Three threads that all want the last CPU, in a group."""
    load = test.workload("roles", *[f"spin:{kdtest.last_cpu()}"] * 3)
    if group:
        (group / "cgroup.procs").write_text(str(load.pid))
    return load


def look(test, load, group, *options):
    """A window, and what the kernel counted: from before it to after it, and inside it."""
    path = test.directory() / "sample.json"
    outside = [readings(group)]
    capture = test.capture(load.pid, "-o", f"json:{path}", "-o", "text", "--summary", *options)
    inside = [readings(group)]
    time.sleep(WINDOW)
    inside.append(readings(group))
    capture.signal(signal.SIGINT)
    test.eq((capture.wait(), capture.stderr), (0, ""), "a sample is taken")
    outside.append(readings(group))
    return json.loads(path.read_text()), capture.stdout, inside, outside


def counted(ends, of, who):
    """What was counted between two readings; None: unknown."""
    before, after = (end[of].get(who, 0 if end[of] else None) for end in ends)
    return None if before is None or after is None else after - before


def case_counts(test):
    with own_group() as group:
        load = hogs(test, group)
        sample, text, inside, outside = look(test, load, group)
        load.end()
    if not any(outside[0][("machine", kind)] for kind in KINDS):
        test.ok("pressure" not in sample and "PRESSURE" not in text, "nothing is said", sample)
        raise kdtest.Skip("this kernel has no pressure stall information")
    pressure = sample["pressure"]
    window = sample["window"]["end_ns"] - sample["window"]["start_ns"]
    test.ok(WINDOW * 1e9 < pressure["period_ns"], "of all of the window", pressure, window)
    for (of, kind), known in outside[0].items():
        said = pressure.get(of, {}).get(kind)
        if not known:
            test.eq(said, None, f"{of}, {kind}: the kernel does not have it")
            continue
        for who in ("some", "full"):
            least, most = (counted(ends, (of, kind), who) for ends in (inside, outside))
            test.between(said and said[f"{who}_ns"], least, min(most, pressure["period_ns"]),
                         f"{of}, {kind}: {who}")
    if group and outside[0][("group", "cpu")]:
        test.eq(pressure.get("path"), "/kd-pressure", "which group")
        test.ok(pressure["group"]["cpu"]["some_ns"] > 0.3 * pressure["period_ns"],
                "two of three always waited", pressure)
    else:
        test.ok("group" not in pressure and "path" not in pressure, "there is no group", pressure)
    words(test, pressure, text)


def words(test, pressure, text):
    """The line of the first screen has what is at least 1 %."""
    line = re.search(r"^PRESSURE (.*)$", text, re.MULTILINE)
    shares = {(of, kind): 100 * pressure[of][kind]["some_ns"] / pressure["period_ns"]
              for of in ("machine", "group") for kind in pressure.get(of, {})}
    titles = {"cpu": "CPU", "memory": "memory", "io": "I/O"}
    want = {of: [titles[kind] for kind in KINDS if shares.get((of, kind), 0) >= 1]
            for of in ("machine", "group")}
    found = {"machine": [], "group": []}
    for part in line[1].split("; ") if line else ():
        of, rest = part.split(" ", 1)
        found[of] = re.findall(r"(\S+) [\d.]+ %(?:, |$)", rest)
    test.eq(found, want, "in one line")


def case_conditions(test):
    """Those that are true set the exit status; what no window has cannot be judged."""
    if not totals(PSI / "cpu"):
        raise kdtest.Skip("this kernel has no pressure stall information")
    with own_group() as group:
        load = hogs(test, group)
        path = test.directory() / "sample.json"
        done = test.program("-p", load.pid, "--sample-time", WINDOW, "-o", f"json:{path}",
                            "-o", "openmetrics", "--fail-if", "pressure.cpu.total>0ns")
        pressure = json.loads(path.read_text())["pressure"]
        some = pressure["machine"]["cpu"]["some_ns"]
        found = re.search(r'^kernel_delay_pressure_seconds_total\{of="machine",resource="cpu",'
                          r'waiting="some"\} (\S+)$', done.stdout, re.MULTILINE)
        test.ok(found and round(float(found[1]) * 1e9) == some, "in metrics", some, done.stdout)
        test.ok(done.status != 0 and f"{some:,} ns" in done.stderr, "a condition", done.status,
                done.stderr)
        share = 100 * some / pressure["period_ns"]
        for least, want in ((share - 0.01, True), (share + 0.01, False)):
            done = test.program("--replay", path, "-o", "text", "--summary", "--fail-if",
                                f"pressure.cpu.pct>{max(0, least):.6f}")
            test.ok((done.status != 0) == want, "a condition on a saved sample", done.stderr)
        hit = test.program("-p", load.pid, "--start-trigger", "t:sched:sched_switch", "--stop-trigger",
                           "t:sched:sched_switch", "--sample-count", 1, "-o", f"json:{path}")
        test.ok(hit.status == 0 and "pressure" not in json.loads(path.read_text().splitlines()[0]),
                "a window that triggers opened has none", hit.status, hit.stderr)
        load.end()


kdtest.main(case_counts, case_conditions)
