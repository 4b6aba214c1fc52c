#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tests/run: long
"""Several processes as one target throughout their lives: named, forked, exec'd, moved into a
control group, and ended; each from its first instruction to its last."""

import contextlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import time

import kdprocesses
import kdtest

STORM = 1000 if kdtest.VM else 1500  # there is room for some 770 at once
LITTER, LITTERS = 250, 8


class Run(kdprocesses.Run):
    """A run that is closed, or ends with its target."""

    def close(self, signalled=True, may_lose=frozenset()):
        sample = self.sample_of_late(signalled)
        # Who had the CPU is not known where several are woken for one at the same moment.
        lost = {reason for reason, count in sample["losses"].items() if count} - {"waiters"}
        self.test.ok(lost <= may_lose, "nothing is lost", sample["losses"])
        return sample


def count(rows, call):
    return sum(row["count"] for thread in rows for row in thread["syscalls"]
               if row["name"] == call)


def of(sample, pid):
    return [thread for thread in sample["threads"] if thread.get("pid") == pid]


def check_children(test, sample, children):
    """Each child has all of its calls, and its whole life."""
    wrong, short = [], []
    for pid, calls, start, end in children:
        rows = of(sample, pid)
        if count(rows, "getppid") != calls:
            wrong.append((pid, calls, count(rows, "getppid")))
        lived = sum(thread["ledger"]["life_ns"] for thread in rows)
        if lived < end - start:
            short.append((pid, end - start, lived))
    test.ok(not wrong, f"all calls of {len(children)} children", wrong[:5])
    test.ok(not short, "and all of their lives", short[:5])
    known = {process["pid"]: process for process in sample["processes"]}
    test.ok(all(known.get(child[0], {}).get("began") and known[child[0]].get("ended")
                for child in children), "which began and ended in the window", list(known.values())[:3])


def case_ends(test):
    """The run ends when the last process has."""
    loads = [test.workload("roles", "poll") for _ in range(3)]
    run = Run(test, "-p", ",".join(str(load.pid) for load in loads))
    for load in loads[:2]:
        load.send("end")
        load.wait()
    await_looks(run.child.pid)
    test.eq(run.child.proc.poll(), None, "it goes on while one is there")
    loads[2].send("end")
    sample = run.close(signalled=False)
    test.ok(sample["target_exited"], "the sample says that the target has ended")
    test.eq(sorted(process["pid"] for process in sample["processes"] if process.get("ended")),
            sorted(load.pid for load in loads), "all three processes")


def children_of(test, *args, may_lose=frozenset()):
    load = test.workload("forks", *args)
    run = Run(test, "-p", load.pid, "--follow-fork")
    truth = load.go()
    return load, run.close(may_lose=may_lose), truth["children"]


def case_fork(test):
    load, sample, children = children_of(test, 2, 2, 2)
    test.eq(len(children), 4, "children and their children")
    check_children(test, sample, children)
    test.eq({thread["pid"] for thread in sample["threads"]},
            {load.pid, *(child[0] for child in children)}, "nobody else")


def case_before(test):
    """Children that already exist are reported by their number, with the options that watch them,
    too."""
    load = test.workload("hogs", kdtest.last_cpu(), 3)
    children = [int(pid) for pid in load.ready]
    there = pathlib.Path(f"/proc/{load.pid}/task/{load.pid}/children").read_text().split()
    done = test.program("-p", load.pid, "--follow-fork", "--sample-time", "0.05", "--summary")
    said = re.search(r"(\d+) children of the target were there before, and are not watched; "
                     r"(.*) watches them, too", done.stderr)
    if not test.ok(said, "it says so", done.stderr):
        return
    test.eq((int(said[1]), sorted(map(int, there))), (3, sorted(children)), "as many as there are")
    path = test.directory() / "sample"
    done = test.program(*shlex.split(said[2]), "--sample-time", "0.05", "-o", f"json:{path}")
    test.eq((done.status, done.stderr), (0, ""), "nobody is missed now")
    test.eq({load.pid, *children} - {process["pid"] for process in
                                     json.loads(path.read_text())["processes"]}, set(),
            "in these words all are")


def case_exec(test):
    _, sample, children = children_of(test, 2, 1, 2, "exec")
    check_children(test, sample, children)


def await_sleep(pid):
    """Waits until the program has begun and sleeps: during execve a process has a name but no
    command line."""
    kdtest.wait_until(lambda: kdprocesses.title(pid, True) == "sleep 600"
                      and kdtest.state_of(pid, pid) == "S")


def case_renamed(test):
    """A program that a process executes in the window gives it its name."""
    other = test.workload("roles", "poll")
    shells = [subprocess.Popen(["sh", "-c", "read line; exec sleep 600"], stdin=subprocess.PIPE)
              for _ in range(3)]
    for shell in shells:
        test.stack.callback(shell.wait)
        test.stack.callback(shell.kill)
    run = Run(test, "-p", ",".join(str(pid) for pid in (other.pid, *(one.pid for one in shells))))
    await_looks(run.child.pid)  # at their names
    for shell in shells:
        shell.stdin.write(b"\n")
        shell.stdin.flush()
        await_sleep(shell.pid)
    end(shells[0])
    await_looks(run.child.pid)
    end(shells[1])
    rows = {process["pid"]: process for process in run.close()["processes"]}
    test.eq([rows[shell.pid]["name"] for shell in shells], ["sleep"] * 3,
            "of two that have ended, and of one that goes on")
    titles = [rows[shell.pid].get("title") for shell in shells]
    test.ok(titles[0] in (None, "sleep"), "none has its shell's title: one that ended at once",
            titles[0])
    # What a busy machine does not let it read before the end is not there.
    test.ok(titles[1] in (None, "sleep") and titles[2] == "sleep",
            "one that ended later, and one that goes on", titles)


def end(process):
    process.kill()
    process.wait()


def case_renamed_alone(test):
    """A single process that executes another program in the window, and ends there."""
    shell = subprocess.Popen(["sh", "-c", "read line; exec sleep 600"], stdin=subprocess.PIPE)
    test.stack.callback(shell.wait)
    test.stack.callback(shell.kill)
    run = Run(test, "-p", shell.pid)
    shell.stdin.write(b"\n")
    shell.stdin.flush()
    await_sleep(shell.pid)
    end(shell)
    sample = run.close(signalled=False)
    test.eq([thread["name"] for thread in sample["threads"]], ["sleep"], "its thread has its name")
    test.eq(sample["capture"]["process"], "sleep", "and so has the sample")


def case_late_names(test):
    """A thread and its process get their names just before they end."""
    code = ("import ctypes, os, threading\n"
            "name = lambda text: ctypes.CDLL(None).prctl(15, text, 0, 0, 0)\n"
            "input()\n"
            "thread = threading.Thread(target=name, args=(b'last-thread',))\n"
            "thread.start(); thread.join(); name(b'last-name'); os._exit(0)\n")
    python = subprocess.Popen(["python3", "-c", code], stdin=subprocess.PIPE)
    other = test.workload("roles", "poll")
    run = Run(test, "-p", f"{python.pid},{other.pid}")
    await_looks(run.child.pid)
    python.communicate(b"\n")
    sample = run.close()
    test.eq({thread["name"] for thread in of(sample, python.pid)}, {"last-thread", "last-name"},
            "threads")
    row, = (row for row in sample["processes"] if row["pid"] == python.pid)
    test.eq(row["name"], "last-name", "the process")
    test.eq(row["title"], "python3", "with its title")


def has_maps(pid):
    with contextlib.suppress(OSError):
        for link in pathlib.Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                if "bpf-map" in os.readlink(link):
                    return True
    return False


def has_child(pid):
    return pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text()


def check_first_ends(test, is_time, *args):
    loads = sorted((test.workload("roles", "poll") for _ in range(2)), key=lambda load: load.pid)
    path = test.directory() / "report.json"
    child = test.child([kdtest.PROGRAM, "--sample-time", 60, "-o", "-", "-o", f"json:{path}", "-p",
                        ",".join(str(load.pid) for load in loads), *args])
    while child.proc.poll() is None and not is_time(child.proc.pid):
        pass
    loads[0].proc.kill()
    loads[0].proc.wait()
    child.line("# Start sampling")
    child.signal(kdtest.signal.SIGINT)
    test.eq(child.wait(), 0, "the run goes on") or test.remark(child.stderr)
    sample = json.loads(path.read_text())
    test.ok(loads[1].pid in {process["pid"] for process in sample["processes"]}, "with the other")


def case_first_ends(test):
    """Any of several processes may end before the window opens: once they have been found, or once
    the process that resolves stacks exists."""
    check_first_ends(test, has_maps)
    check_first_ends(test, has_child, "--off-cpu=1ms")


def case_no_fork(test):
    """Without the option, children do not belong to the target."""
    load = test.workload("forks", 5, 1)
    capture = test.capture(load.pid)
    load.go()
    report = capture.close(test)
    test.books(report)
    test.eq([thread.tid for thread in report.threads], [load.pid], "the parent alone")


def case_filter(test):
    """Threads of several processes, filtered by name: each child has its parent's name."""
    other = test.workload("roles", "calls:50:1:1000", "poll")
    load = test.workload("forks", 6, 2)
    run = Run(test, "-p", f"{load.pid},{other.pid}", "--follow-fork", "--threads", "fork*")
    truth = load.go()
    other.go()
    sample = run.close()
    test.eq(count(sample["threads"], "getppid"), sum(child[1] for child in truth["children"]),
            "calls of those that match")
    test.eq({thread["name"] for thread in sample["threads"]}, {"forks"}, "and no others")


def case_storm(test):
    """Short-lived processes by the thousand: each is in the report or counted as lost."""
    load, sample, children = children_of(test, STORM, 20, may_lose={"threads"})
    lost = sample["losses"]["threads"]
    threads = sum(thread.get("members", 1) for thread in sample["threads"])
    test.eq(len(children), STORM, "all have run")
    test.eq(threads + lost, STORM + 1, "each process is accounted or counted as lost")
    test.ok(threads > STORM / 2, "most are accounted", threads, lost)
    if not lost:
        test.eq(count(sample["threads"], "getppid"), sum(child[1] for child in children),
                "with every call")
    processes = sum(process.get("members", 1) for process in sample["processes"])
    test.between(processes, threads, STORM + 1, "and the processes are counted")
    test.ok(len(sample["processes"]) < 20, "in a few rows", len(sample["processes"]))
    test.eq(len(of(sample, load.pid)), 1, "the parent has its own row")


def case_storm_filter(test):
    """Processes without any thread of the names asked for have no row, however many end."""
    load = test.workload("forks", 300, 10)
    other = test.workload("roles", "poll")
    run = Run(test, "-p", f"{load.pid},{other.pid}", "--follow-fork", "--threads", "roles*")
    load.go()
    await_looks(run.child.pid)
    sample = run.close()
    test.eq({row["pid"] for row in sample["processes"]}, {row["pid"] for row in sample["threads"]},
            "each process has a thread")
    test.eq([row["pid"] for row in sample["processes"]], [other.pid], "as it matches")


def own_memory(pid):
    """Bytes of a process's own memory, without maps in the kernel."""
    return int(kdtest.status_field(pid, "RssAnon").split()[0]) * 1024


def await_looks(pid):
    """Waits until the program has slept a few more times: between two sleeps it reads whatever is
    pending."""
    before = kdtest.switches(pid, pid, ("voluntary",))
    kdtest.wait_until(lambda: kdtest.switches(pid, pid, ("voluntary",)) >= before + 8)


def case_long(test):
    """A window in which processes come and go needs no more memory for each one."""
    loads = [test.workload("forks", LITTER, 10) for _ in range(LITTERS)]
    run = Run(test, "-p", ",".join(str(load.pid) for load in loads), "--follow-fork")
    taken, children = [], []
    for load in loads:
        children += load.go()["children"]
        await_looks(run.child.pid)
        taken.append(own_memory(run.child.pid))
    sample = run.close(may_lose={"threads"})
    lost = sample["losses"]["threads"]
    # What all of them need at once is taken sooner or later; a leak goes on.
    each = min((taken[-1] - taken[i]) / (LITTER * (LITTERS - 1 - i)) for i in range(3, LITTERS - 2))
    test.ok(each < 1000, "a process takes less than 1,000 bytes", each, taken)
    test.eq(sum(row["members"] for row in sample["processes"] if row["began"] and row["ended"]),
            len(children) - lost, "all began and ended")
    test.eq({row["pid"] for row in sample["processes"] if not row["ended"]},
            {load.pid for load in loads}, "but those that had them")
    test.eq(sum(row["members"] for row in sample["threads"]), len(children) - lost + LITTERS,
            "each with its thread")
    if not lost:
        test.eq(count(sample["threads"], "getppid"), sum(child[1] for child in children),
                "and with every call")


def case_stopped(test):
    """Who stopped which process."""
    first, second = test.workload("roles", "poll"), test.workload("roles", "poll")
    stopper = subprocess.Popen(["sleep", "60"])
    test.stack.callback(stopper.kill)
    run = Run(test, "-p", f"{first.pid},{second.pid}")
    subprocess.run(["sh", "-c", f"kill -STOP {first.pid}"], check=True)
    kdtest.wait_until(lambda: kdtest.state_of(first.pid, first.pid) == "T")
    os.kill(second.pid, kdtest.signal.SIGSTOP)
    kdtest.wait_until(lambda: kdtest.state_of(second.pid, second.pid) == "T")
    time.sleep(0.05)
    for load in (first, second):
        os.kill(load.pid, kdtest.signal.SIGCONT)
    kdtest.wait_until(lambda: {kdtest.state_of(load.pid, tid) for load in (first, second)
                               for tid in kdtest.threads_of(load.pid)} == {"S"})
    sample = run.close()
    stops = {load: {row.get("pid") for thread in of(sample, load.pid)
                    for row in thread["stopped_by"]} for load in (first, second)}
    test.eq(stops[second], {os.getpid()}, "the second by this test")
    test.ok(len(stops[first]) == 1 and os.getpid() not in stops[first], "the first by another",
            stops[first])


def each_group(test):
    """A control group of each version, with a child group."""
    for version, mount in kdprocesses.hierarchies().items():
        test.remark(f"version {version}")
        with kdprocesses.group(mount / f"kdtest-life-{os.getpid()}" / "below") as below:
            yield below.parent


def case_group(test):
    for made in each_group(test):
        load = test.workload("forks", 2, 2, 2, "exec")
        late = test.workload("roles", "calls:123:1:1000")
        other = test.workload("roles", "calls:77:1:1000")
        (made / "below" / "cgroup.procs").write_text(str(load.pid))
        run = Run(test, "--cgroup", made)
        (made / "cgroup.procs").write_text(str(late.pid))
        await_looks(run.child.pid)  # for its other threads
        children = load.go()["children"]
        late.go()
        other.go()
        sample = run.close()
        check_children(test, sample, children)
        test.eq(count(of(sample, late.pid), "getppid"), 123, "all calls of one that came later")
        test.eq({thread["pid"] for thread in sample["threads"]},
                {load.pid, late.pid, *(child[0] for child in children)}, "nobody else")
        test.eq(sorted(thread["tid"] for thread in of(sample, late.pid)),
                kdtest.threads_of(late.pid), "all threads of that one")
        for child in (load, late, other):
            child.send("end")
            child.wait()


def case_again(test):
    """A removed group is not confused with a new one at its path."""
    for made in each_group(test):
        hidden = made / ".below"
        hidden.mkdir()
        load = test.workload("roles", "poll")
        try:
            (hidden / "cgroup.procs").write_text(str(load.pid))
            run = Run(test, "--cgroup", made)
            load.send("end")
            load.wait()
        finally:
            kdtest.wait_until(lambda hidden=hidden: kdprocesses.removed(hidden))
        (made / "below").rmdir()
        made.rmdir()
        (made / "below").mkdir(parents=True)
        sample = run.close(signalled=False)
        test.ok(sample["target_exited"], "the target has ended")
        test.eq([process["pid"] for process in sample["processes"]], [load.pid],
                "which was in a group below whose name begins with a dot")


def case_wait(test):
    """--wait: for a group that does not exist yet, and for its first process."""
    for made in each_group(test):
        for path in (made / "later", made / "below"):
            load = test.workload("roles", "calls:123:1:1000")

            def begin(child, path=path, load=load):
                kdtest.wait_until(lambda: "waiting for a process in control" in child.stderr)
                path.mkdir(exist_ok=True)
                (path / "cgroup.procs").write_text(str(load.pid))

            run = Run(test, "--cgroup", path, "--wait=1min", before=begin)
            load.go()
            sample = run.close()
            test.eq(count(of(sample, load.pid), "getppid"), 123, f"all calls in {path.name}")
            load.end()
        (made / "later").rmdir()
        done = test.program("--cgroup", made / "later", "--wait=100ms")
        test.eq(done.status, 69, "one that does not come")


kdtest.main(case_ends, case_fork, case_before, case_exec, case_renamed, case_renamed_alone, case_late_names,
            case_first_ends, case_no_fork, case_filter, case_storm, case_storm_filter, case_long,
            case_stopped, case_group, case_again, case_wait)
