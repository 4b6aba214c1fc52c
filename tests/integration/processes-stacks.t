#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stacks of several processes: each belongs to its own process, also to a child that has ended, and
the same address is a different function in another program."""

import json
import re

import kdneeds
import kdprocesses
import kdservers
import kdstacks
import kdtest

NAPS = ("kin_sleep_0", "kin_sleep_1", "kin_sleep_2")
OPTIONS = ("--stack-trace-size=overhead=0",)
WAITS = "--wait-filter=*"


class Run(kdprocesses.Run):
    """A run over several processes whose report and sample have stacks."""

    def __init__(self, test, *args):
        self.folded = test.directory() / "folded"
        super().__init__(test, *args, *OPTIONS, "-o", f"folded:{self.folded}")

    def close(self):
        self.end()
        _, (self.text,) = kdstacks.parse(self.child.stdout)
        self.traces = json.loads(self.path.read_text())["traces"]

    def rows(self, kind):
        """Rows of the sample: (PID, functions of the user stack, row)."""
        stacks = self.traces["stacks"]
        return [(row["pid"], functions(stacks[row["user_stack"]]) if "user_stack" in row else [],
                 row) for row in self.traces[kind]]


def functions(stack):
    return [frame.get("function") for frame in stack["frames"]]


def naps(run):
    """{PID: functions of kin in the stacks of its sleeps}, and the reasons for missing ones."""
    found, missing = {}, {}
    for pid, names, row in run.rows("waits"):
        if row.get("syscall", {}).get("name", "").endswith("nanosleep"):
            found.setdefault(pid, set()).update(name for name in names if name in NAPS)
            if not found[pid]:
                missing[pid] = row.get("no_user_stack") or row
    return found, missing


def case_fork(test):
    """Children that sleep and end before anybody looks at their mappings."""
    load = test.workload("kin", 30, 40)
    run = Run(test, "-p", load.pid, "--follow-fork", "--off-cpu=20ms", WAITS)
    family = load.go()
    run.close()
    truth = {pid: {NAPS[which]} for pid, which in family["children"]}
    found, missing = naps(run)
    test.remark(f"without a name: {missing}")
    test.eq({pid: found.get(pid) for pid in truth}, truth, "each child sleeps where it did")
    # Merged: ten children in each of the three functions.
    rows = [row for row in run.text.waits if row.state.startswith("blocked") and
            set(row.stack.functions()) & set(NAPS)]
    # Of one whose switch the kernel hid it may not be known that it slept, which its row says.
    slept = {pid for pid, names, row in run.rows("waits") if set(names) & set(NAPS) and
             (row["state"] == "blocked" or row.get("no_kernel_stack") == kdstacks.HIDDEN)}
    test.ok(len(slept) >= len(truth) - 3, "nearly all were seen to sleep", slept, truth)
    for number, nap in enumerate(NAPS):
        pids = sorted(pid for pid, which in family["children"] if which == number and pid in slept)
        of = [row for row in rows if nap in row.stack.functions()]
        # One row, but for those whose switch the kernel hid, or that something else woke.
        alike = {(row.ended_by, *map(str, row.stack.kernel), *row.stack.missing.values())
                 for row in of}
        test.eq((sum(row.count for row in of), sum(row.stack.processes for row in of), len(of)),
                (len(pids), len(pids), len(alike)), f"{nap}: one row of ten processes") or test.remark(*of)
        listed = [pid for row in of for pid in row.stack.pids]
        test.eq((len(of) == 1 and listed) or sorted(listed),
                pids[:8] if len(of) == 1 else sorted(set(listed) & set(pids)), "by their PIDs")
        test.ok(of and of[0].stack.pid in pids, "the longest is one of them", of)
    lines = {int(found[1]): found[2] for line in run.folded.read_text().splitlines()
             if (found := re.fullmatch(r"kin-(\d+);.*;(kin_sleep_\d);.* \d+", line))}
    test.eq(lines, {pid: NAPS[which] for pid, which in family["children"]},
            "folded: a line of each child")


def case_exec(test):
    """Children that have become other programs: their functions are named, or the report says why
    not."""
    load = test.workload("kin", 12, 2000, "exec")
    run = Run(test, "-p", load.pid, "--follow-fork", "--off-cpu=100ms", WAITS)
    family = load.go()
    run.close()
    found, missing = naps(run)
    for pid, which in family["children"]:
        test.ok(found.get(pid) == {NAPS[which]} or (found.get(pid) == set() and missing.get(pid)),
                f"{pid}: {NAPS[which]}, or why not", found.get(pid), missing.get(pid))
    named = [pid for pid, _ in family["children"] if found.get(pid)]
    # They sleep for 2 s: time enough, but for one that a busy machine holds up.
    test.ok(len(named) >= len(family["children"]) - 2, "they were there to be read", missing)


def case_addresses(test):
    """Two programs at the same addresses: a function of one is not looked up in the other."""
    kdneeds.need("setarch")
    kin = test.child(["setarch", "-R", kdtest.WORKLOADS / "kin", "1", "1500"])
    kin.line("ready")
    slow = test.child(["setarch", "-R", kdtest.WORKLOADS / "slow", "sleeper:60:200:30000:1",
                       "spinner"])
    slow.line("ready")
    starts = {maps_start(pid) for pid in (kin.pid, slow.pid)}
    if len(starts) != 1:
        raise kdtest.Skip("the programs do not lie at the same addresses")
    run = Run(test, "-p", f"{kin.pid},{slow.pid}", "--follow-fork", "--off-cpu=10ms", WAITS,
              "--profile=199")
    kin.send("go")
    slow.send("go")
    child = json.loads(kin.line("{"))["children"][0][0]
    run.close()
    of = {kin.pid: "kin_", child: "kin_", slow.pid: "slee|spin|worker_main|stage_|main"}
    ours = re.compile("|".join(("kin_", "sleeper", "spin")))
    waits, samples = run.rows("waits"), run.rows("samples")
    for pid, names, _ in waits + samples:
        mine = [name for name in names if name and ours.match(name)]
        test.ok(all(re.match(of[pid], name) for name in mine), f"{pid}: its own functions", names)
    slept = {pid for pid, names, _ in waits if "sleeper_sleep" in names}
    spun = {pid for pid, names, _ in samples if "spin_5" in names}
    napped = {pid for pid, names, _ in waits if "kin_sleep_0" in names}
    test.eq((slept, spun, napped), ({slow.pid}, {slow.pid}, {child}), "each in its process")
    for row in run.text.waits + run.text.samples:
        test.ok(row.stack.pid in of, "the text names the process", row)
        if "spin_5" in row.stack.functions() or "sleeper_sleep" in row.stack.functions():
            test.eq(row.stack.pid, slow.pid, "the right one")


def maps_start(pid):
    with open(f"/proc/{pid}/maps", encoding="ascii") as maps:
        return maps.readline().split("-")[0]


def case_calls(test):
    """Slow calls of two processes, and calls that are unfinished at the end."""
    loads = [test.workload("slow", "sleeper:20:200:9000:2", "blocked"),
             test.workload("slow", "reader:20:9000")]
    run = Run(test, "-p", ",".join(str(load.pid) for load in loads), "-s", "4ms")
    truths = [load.go() for load in loads]
    run.close()
    threads = {thread["tid"]: load.pid for load, truth in zip(loads, truths)
               for thread in truth["threads"]}
    rows = run.rows("syscalls")
    wrong = [(pid, row) for pid, _, row in rows if threads.get(row["tid"], pid) != pid]
    test.eq(wrong, [], "calls are of the process of their thread")
    for load, call, chain in ((loads[0], "clock_nanosleep", "sleeper_sleep"),
                              (loads[1], "read", "reader_wait")):
        named = [names for pid, names, row in rows if pid == load.pid and
                 row["syscall"].get("name") == call and chain in names]
        test.ok(len(named) >= 10, f"{load.pid}: {call} in {chain}", len(named))
    unfinished = [names for pid, names, row in rows if "end_ns" not in row and
                  pid == loads[0].pid and row["syscall"].get("name") == "poll"]
    test.ok(any("blocked" in names for names in unfinished), "one that goes on is read from the "
            "right process", unfinished)


def case_postgres(test):
    """Sessions that wait for a row locked by another session: by their PIDs, as the server reports
    them."""
    base = kdservers.start(test, kdservers.Postgres())
    base.command("create table t (a int);", "insert into t values (1);")
    holder = test.child(["psql", "-h", base.directory, "-U", "postgres", "-qAtX", "postgres"])
    holder.send("begin; update t set a = 2; select 'held';")
    holder.line("held")
    run = Run(test, "-p", base.main.pid, "--follow-fork", "--off-cpu=5ms", WAITS)
    waiting = [test.child(["psql", "-h", base.directory, "-U", "postgres", "-qAtX", "-c",
                           "update t set a = 3;", "postgres"]) for _ in range(3)]

    def waiters():
        base.client.send("select coalesce(string_agg(pid::text, ' '), '-') from pg_stat_activity "
                         "where wait_event_type = 'Lock';")
        return base.client.line().split()
    kdtest.wait_until(lambda: len(waiters()) == len(waiting))
    pids = {int(pid) for pid in waiters()}
    kdtest.wait_until(lambda: {kdtest.state_of(pid, pid) for pid in pids} == {"S"})
    kdtest.time.sleep(0.05)
    holder.send("commit;")
    for client in waiting:
        client.wait()
    run.close()
    found = {pid for pid, names, _ in run.rows("waits") if "ProcSleep" in names}
    test.eq(found, pids, "those wait for a lock of which the server says it, and no others")
    merged = [row for row in run.text.waits if "ProcSleep" in row.stack.functions()]
    test.eq(set(pid for row in merged for pid in row.stack.pids), pids, "in the text, too")


kdtest.main(case_fork, case_exec, case_addresses, case_calls, case_postgres)
