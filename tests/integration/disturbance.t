#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the program itself costs: the interrupts that attaching sends to other CPUs, and its own CPU
time and wakeups against what the kernel counts for its processes."""

import contextlib
import json
import os
import pathlib
import re
import resource
import time

import kdtest
from kdtest import SECOND


TICK = SECOND // os.sysconf("SC_CLK_TCK")
TRIES = 5
THERMAL = pathlib.Path("/sys/devices/system/cpu/cpu0/thermal_throttle")
NODE_RECLAIM = pathlib.Path("/proc/sys/vm/zone_reclaim_mode")
NAME = "Function call interrupts"
SENT = re.compile(r"kernel_delay: (\w+) sent (\d+) function-call interrupts to each other CPU")


def function_calls():
    """Function-call interrupts so far, per CPU but one: whoever sends one to all others gets none
    itself."""
    lines = pathlib.Path("/proc/interrupts").read_text().splitlines()
    cpus = len(lines[0].split())
    row = next((line.split() for line in lines if line.endswith(NAME)), None)
    if row is None or cpus < 2:
        raise kdtest.Skip("this machine does not count them, or has one CPU")
    return sum(int(count) for count in row[1:1 + cpus]) // (cpus - 1)


def tracepoints(pid):
    """The tracepoints that a process has BPF links to."""
    found = {fields["tp_name"] for fields in kdtest.fdinfo(pid) if "tp_name" in fields}
    if not found:
        raise kdtest.Skip("this kernel does not tell (before 5.10)")
    return found


def others(pid):
    """The tracepoints that other processes have BPF links to."""
    found = set()
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        if path.name != str(pid):
            with contextlib.suppress(OSError, kdtest.Skip):
                found |= tracepoints(path.name)
    return found


def verbose_run(test, load):
    """Returns what attaching and detaching sent by the program's own account, the number of
    tracepoints that it alone had, and the interrupts until it was attached and until its end."""
    busy, before = others(0), function_calls()
    capture = test.capture(load.pid, "--verbose")
    attached = function_calls() - before
    links = len(tracepoints(capture.pid) - others(capture.pid) - busy)
    capture.close(test)
    whole = function_calls() - before
    sent = dict((what, int(count)) for what, count in SENT.findall(capture.stderr))
    test.eq(sorted(sent), ["attaching", "detaching"], "it says what both sent")
    return sent, links, attached, whole


def case_verbose(test):
    """Only the kernel knows the number of interrupts, and it includes those of others: around the
    whole run there are at least as many as the program reports for its parts. A sleeping CPU may be
    notified without an interrupt, so one is kept busy. Other tracers may come and go."""
    load = test.workload("roles", f"spin:{kdtest.last_cpu()}")
    for _ in range(TRIES):
        sent, links, attached, whole = verbose_run(test, load)
        if links and min(sent.values()) >= links:
            break
    # The first link at a tracepoint changes the kernel's code, of which every CPU is told.
    test.between(sent["attaching"], links, attached, f"attaching, at {links} tracepoints")
    test.between(sent["detaching"], links, whole - sent["attaching"], "detaching")
    test.eq(test.program("-p", load.pid, "--sample-time", "0.01").stderr, "",
            "without --verbose nothing is said")


def case_needed_only(test):
    """Events that never occur on this machine are not traced."""
    load = test.workload("roles", "poll")
    capture = test.capture(load.pid)
    found = tracepoints(capture.pid)
    capture.close(test)
    if os.uname().machine == "x86_64":
        test.eq("thermal_apic_entry" in found, THERMAL.exists(),
                "thermal interrupts, where the processor sends some")
    if NODE_RECLAIM.exists():
        test.eq("mm_vmscan_node_reclaim_begin" in found,
                NODE_RECLAIM.read_text().strip() != "0", "reclaim of nodes, if it is on")
    test.ok("mm_vmscan_direct_reclaim_begin" in found, "reclaim that any machine does", found)


def children(pid):
    path = pathlib.Path(f"/proc/{pid}/task/{pid}/children")
    if not path.exists() and pathlib.Path(f"/proc/{pid}").exists():
        raise kdtest.Skip("this kernel lists no children (CONFIG_PROC_CHILDREN)")
    return [int(word) for word in path.read_text().split()]


def usage(pid):
    """CPU time (in ns, less than a tick too small) and voluntary switches of a process and its
    children so far, and the time in ns before and after the readings."""
    before, cpu, wakeups = time.monotonic_ns(), 0, 0
    for process in (pid, *children(pid)):
        fields = pathlib.Path(f"/proc/{process}/stat").read_text(errors="replace").rpartition(")")[2].split()
        cpu += (int(fields[11]) + int(fields[12])) * TICK
        wakeups += sum(kdtest.switches(process, tid, ("voluntary",))
                       for tid in kdtest.threads_of(process))
    return cpu, wakeups, before, time.monotonic_ns()


def ended_usage():
    """CPU time and voluntary switches of all children of this test that have ended, with their own
    children."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return int((used.ru_utime + used.ru_stime) * SECOND), used.ru_nvcsw


def own_sample(test, load):
    """What the second of two samples says, or None if this test came too late: between it and
    the first the program was looked at in the first, after it, in the second, and when it had
    ended, and cannot have used less than between the inner two, nor more than between the
    others."""
    directory = test.directory()
    ended = ended_usage()
    child = test.child([kdtest.PROGRAM, "-p", load.pid, "--sample-count", 2, "--sample-time", 2,
                        "--profile", 999, "-o", "text", "-o", f"json:{directory}/json"])
    try:
        child.line("# Start sampling")
        first = usage(child.pid)
        n_children = len(children(child.pid))  # they open files, and resolve stacks
        child.line("# NOTE: This program itself took ")
        after = usage(child.pid)
        time.sleep(1)
        late = usage(child.pid)
    except OSError:  # it has ended
        child.wait()
        return None
    test.eq(child.wait(), 0, "two samples")
    gone = [now - before for now, before in zip(ended_usage(), ended)]
    one, two, _ = map(json.loads, (directory / "json").read_text().splitlines())
    if first[3] >= one["window"]["end_ns"] or late[3] >= two["window"]["end_ns"]:
        return None
    test.eq(n_children, 2, "it has its children")
    said = re.findall(r"# NOTE: This program itself took ([\d,]+) ns of CPU time and woke up "
                      r"([\d,]+) times? in ([\d,]+) ns", child.stdout)
    own = two["own_cost"]
    test.eq([int(word.replace(",", "")) for word in said[-1]],
            [own[key] for key in ("cpu_ns", "wakeups", "period_ns")], "both formats say the same")
    return (own, [late[i] - after[i] for i in (0, 1)], [gone[i] - first[i] for i in (0, 1)],
            (1 + n_children) * TICK,
            (two["window"]["end_ns"] - after[2], time.monotonic_ns() - one["window"]["end_ns"]))


def case_own_cost(test):
    load = test.workload("slow", "spinner")
    for _ in range(TRIES):
        found = own_sample(test, load)
        if found:
            break
    else:
        raise kdtest.Skip(f"this test stood still for two seconds, {TRIES} times")
    own, least, most, unsure, period = found
    test.between(own["cpu_ns"], max(least[0] - unsure, 1), most[0] + unsure, "CPU time, ns")
    test.between(own["wakeups"], max(least[1], 1), most[1], "wake-ups")
    test.between(own["period_ns"], *period, "the time between two readings, ns")


# --- Where the program itself runs: off the CPUs of the target's bound threads ---


def allowed(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    cpus = set()
    for part in re.search(r"Cpus_allowed_list:\s+(\S+)", status)[1].split(","):
        first, _, last = part.partition("-")
        cpus |= set(range(int(first), int(last or first) + 1))
    return cpus


def busy(test, *roles):
    """A workload whose spinners get enough of their CPUs, whoever else runs there, for these never
    to count as idle."""
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
    kdtest.only_beside_another_cpu("for the program")
    cpu = kdtest.last_cpu()
    load = test.workload("roles", f"spin:{cpu}")
    tid, = load.tid("spin")
    kdtest.wait_until(lambda: os.sched_getaffinity(tid) == {cpu})
    capture = test.capture(load.pid)
    test.eq(allowed(capture.pid), everywhere - {cpu}, "it leaves the spinner's CPU alone")
    test.books(capture.close(test))


def case_free_threads(test):
    load = test.workload("roles", "poll")
    capture = test.capture(load.pid)
    test.eq(allowed(capture.pid), os.sched_getaffinity(0), "free threads bind it to nothing")
    capture.close(test)


def case_no_cpu_left(test):
    kdtest.only_beside_another_cpu("for the program")
    load = busy(test, *(f"spin:{cpu}" for cpu in sorted(os.sched_getaffinity(0))))
    done = test.program("-p", load.pid, "--sample-time", "0.2", wrapper=("chrt", "-f", "1"))
    test.eq(done.status, 0, "bound threads on all CPUs: it works")
    test.ok("warning" in done.stderr and len(done.stderr.splitlines()) == 1,
            "and says that it takes their time", done.stderr)


def case_idle_one(test):
    """No CPU is free: the one whose bound thread sleeps is taken."""
    cpus = sorted(os.sched_getaffinity(0))
    kdtest.only_beside_another_cpu("for the program")
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


kdtest.main(case_verbose, case_needed_only, case_own_cost, case_idle_one, case_off_the_bound_cpu,
            case_free_threads, case_no_cpu_left)
