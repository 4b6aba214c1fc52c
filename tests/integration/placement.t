#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where the program itself runs: off the CPUs of the target's bound threads."""

import contextlib
import os
import pathlib
import re
import time

import kdtest


def allowed(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    cpus = set()
    for part in re.search(r"Cpus_allowed_list:\s+(\S+)", status)[1].split(","):
        first, _, last = part.partition("-")
        cpus |= set(range(int(first), int(last or first) + 1))
    return cpus


def busy(test, *roles):
    """A workload whose spinners have enough of their CPUs, whoever runs there, to be no idle ones."""
    began = time.monotonic_ns()
    load = test.workload("roles", *roles, start_new_session=True)
    with contextlib.suppress(OSError):  # there may be no groups of sessions
        pathlib.Path(f"/proc/{load.pid}/autogroup").write_text("-20")
    for tid in load.tid("spin"):
        os.setpriority(os.PRIO_PROCESS, tid, -20)
    for tid in load.tid("spin"):
        kdtest.wait_until(lambda tid=tid: kdtest.schedstat(load.pid, tid)[0] >
                          0.2 * (time.monotonic_ns() - began))
    return load


def case_off_the_bound_cpu(test):
    everywhere = os.sched_getaffinity(0)
    if len(everywhere) < 2:
        raise kdtest.Skip("one CPU only")
    cpu = kdtest.last_cpu()
    load = test.workload("roles", f"spin:{cpu}")
    capture = test.capture(load.pid)
    test.eq(allowed(capture.pid), everywhere - {cpu}, "it leaves the spinner's CPU alone")
    test.books(capture.close(test))


def case_free_threads(test):
    load = test.workload("roles", "poll")
    capture = test.capture(load.pid)
    test.eq(allowed(capture.pid), os.sched_getaffinity(0), "free threads bind it to nothing")
    capture.close(test)


def case_no_cpu_left(test):
    if len(os.sched_getaffinity(0)) < 2:
        raise kdtest.Skip("one CPU only")
    load = busy(test, *(f"spin:{cpu}" for cpu in sorted(os.sched_getaffinity(0))))
    done = test.program("-p", load.pid, "--sample-time", "0.2", wrapper=("chrt", "-f", "1"))
    test.eq(done.status, 0, "bound threads on all CPUs: it works")
    test.ok("warning" in done.stderr and len(done.stderr.splitlines()) == 1,
            "and says that it takes their time", done.stderr)


def case_idle_one(test):
    """No CPU is free: the one whose bound thread sleeps is taken."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        raise kdtest.Skip("one CPU only")
    load = busy(test, *(f"spin:{cpu}" for cpu in cpus[1:]), "poll")
    idle, = load.tid("poll")
    os.sched_setaffinity(idle, {cpus[0]})
    # Long enough to be sure that it is idle.
    ran, began = kdtest.schedstat(load.pid, idle)[0], time.monotonic()
    time.sleep(0.5)
    capture = test.capture(load.pid)
    test.eq(allowed(capture.pid), {cpus[0]}, "it runs beside the sleeper")
    capture.close(test)
    test.ok(kdtest.schedstat(load.pid, idle)[0] - ran < (time.monotonic() - began) * 1e8,
            "which slept")
    test.eq(capture.stderr, "", "without a warning")


kdtest.main(case_idle_one, case_off_the_bound_cpu, case_free_threads, case_no_cpu_left)
