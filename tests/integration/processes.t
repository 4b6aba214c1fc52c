#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tests/run: long
"""Several processes as one target: which ones belong to it, by PIDs, name, control group and
container, and which threads belong to which."""

import collections
import json
import os
import re
import shutil
import signal
import time

import kdneeds
import kdprocesses
import kdreport
import kdtest


CALLS = 3000  # of the first process; each further one makes as many more


def program(test):
    """A program with a name of its own."""
    path = test.directory() / f"kdt-p{os.getpid()}"
    shutil.copy(kdtest.WORKLOADS / "roles", path)
    return path


def loads(test, path, n):
    """Processes that make CALLS, 2 * CALLS, ... getppid calls once they are released."""
    return [test.workload(path, "roles", "poll", f"calls:{CALLS * (i + 1)}:0:0") for i in range(n)]


def check_calls(test, run, started):
    """Each process has its own calls, and no others."""
    for i, load in enumerate(started):
        made = sum(kdprocesses.count(thread, "getppid") for thread in run.threads_of(load.pid))
        test.eq(made, CALLS * (i + 1), f"the calls of process {i}")


def check_chosen(test, run, started):
    """The sample has exactly these processes, and all their threads."""
    test.eq(sorted(run.processes), sorted(load.pid for load in started), "these processes")
    for load in started:
        tids = {thread["tid"] for thread in run.threads_of(load.pid)}
        test.eq(tids, set(kdtest.threads_of(load.pid)), f"all threads of {load.pid}")
        process = run.processes[load.pid]
        test.eq(process["title"], kdprocesses.title(load.pid), "argv[0]")
        test.eq((process["began"], process["ended"]), (False, False), "it was there throughout")


def case_pids(test):
    started = loads(test, program(test), 3)
    chosen = [started[0], started[2]]
    run = kdprocesses.Run(test, "-p", f"{started[2].pid},{started[0].pid}")
    for load in started:
        load.go()
    run.close()
    check_chosen(test, run, chosen)
    for load, calls in ((started[0], CALLS), (started[2], 3 * CALLS)):
        made = sum(kdprocesses.count(thread, "getppid") for thread in run.threads_of(load.pid))
        test.eq(made, calls, "its calls, and no others'")
    texts = {thread.process for thread in run.report.threads}
    test.eq(texts, {load.pid for load in chosen}, "the text says whose threads are whose")
    test.eq({int(row.who) for row in run.report.processes}, texts, "and has their sums")


def case_name(test):
    path = program(test)
    started = loads(test, path, 4)
    test.workload("roles", "poll")  # of another name
    refused = test.program("-C", path.name)
    test.eq(refused.status, 66, "one of several is not chosen")
    test.ok(f"--comm {path.name} --all" in refused.stderr and
            all(str(load.pid) in refused.stderr for load in started),
            "but there is a way, and which there are", refused.stderr)
    run = kdprocesses.Run(test, "-C", path.name, "--all")
    for load in started:
        load.go()
    run.close()
    check_chosen(test, run, started)
    check_calls(test, run, started)
    for load in started:
        sums = run.processes[load.pid]
        threads = run.threads_of(load.pid)
        test.eq(sums["threads"], len(threads), "sums of all threads")
        test.eq(sums["life_ns"], sum(thread["ledger"]["life_ns"] for thread in threads),
                "of their lives")


def case_own(test):
    """A culprit that is another process of the target is named as part of it."""
    started = [test.workload("roles", f"spin:{kdtest.last_cpu()}") for _ in range(3)]
    spinners = {load.pid: load.tid("spin")[0] for load in started}

    def preempted():
        return {pid: kdtest.switches(pid, tid, ("nonvoluntary",))
                for pid, tid in spinners.items()}
    run = kdprocesses.Run(test, "-p", ",".join(map(str, spinners)))
    before = preempted()
    kdtest.wait_until(lambda: all(now > before[pid] + 3 for pid, now in preempted().items()))
    run.close()
    for pid, tid in spinners.items():
        rows = [row for thread in run.threads_of(pid) if thread["tid"] == tid
                for row in thread["ready_by"] if row.get("pid") in spinners]
        test.ok(rows and all(row["own"] for row in rows), "a process waited for the others", rows)
        test.ok(pid not in {row["pid"] for row in rows}, "not for itself", rows)


def case_own_later(test):
    """A culprit that is moved into the group only after it had the CPU is part of the target, too."""
    mount = next(iter(kdprocesses.hierarchies().values()))
    first = test.workload("roles", f"spin:{kdtest.last_cpu()}")
    second = test.child(["taskset", "-c", kdtest.last_cpu(), kdtest.WORKLOADS / "lifetime", 10**6])
    path = test.directory() / "samples"

    def own(since):
        """Whether the second process is in the target in samples that began then."""
        text = path.read_text() if path.exists() else ""
        samples = map(json.loads, text.splitlines() if text.endswith("\n") else ())
        return [row.get("own", False) for sample in samples if sample["window"]["start_ns"] > since
                for thread in sample["threads"] if thread["pid"] == first.pid
                for row in thread["ready_by"] if row.get("pid") == second.pid]
    with kdprocesses.group(mount / f"kdt-own{os.getpid()}") as group:
        kdprocesses.join(group, first.pid)
        run = test.child([kdtest.PROGRAM, "--cgroup", f"/{group.name}", "--sample-time", "0.1",
                          "--sample-count", "0", "-o", f"json:{path}"])
        kdtest.wait_until(lambda: own(0))
        test.eq(set(own(0)), {False}, "another process")
        kdprocesses.join(group, second.pid)
        joined = time.monotonic_ns()
        kdtest.wait_until(lambda: own(joined))
        test.eq(set(own(joined)), {True}, "then one of the target")
        run.interrupt(test, "the program ends")


def case_one_of_a_name(test):
    """--all with only one match is a single process, and so is --follow-fork without children."""
    path = program(test)
    load = test.workload(path, "roles", "poll")
    for args in (("-C", path.name, "--all"), ("-p", load.pid, "--follow-fork")):
        run = kdprocesses.Run(test, *args).close()
        test.eq(run.sample["pid"], load.pid, "this process")
        test.eq({thread["tid"] for thread in run.sample["threads"]},
                set(kdtest.threads_of(load.pid)), "all threads")


def case_cgroup(test):
    """A group and its child group, by its path in the hierarchy and by its directory."""
    for version, mount in kdprocesses.hierarchies().items():
        test.remark(f"version {version}")
        path = program(test)
        name = f"kdt-{os.getpid()}"
        with kdprocesses.group(mount / name / "inner") as inner:
            started = loads(test, path, 3)
            kdprocesses.join(inner.parent, started[0].pid)
            kdprocesses.join(inner, started[1].pid)
            run = kdprocesses.Run(test, "--cgroup", f"/{name}")
            for load in started:
                load.go()
            run.close()
            check_chosen(test, run, started[:2])
            check_calls(test, run, started[:2])
            run = kdprocesses.Run(test, "--cgroup", inner).close()
            check_chosen(test, run, [started[1]])
            for load in started:
                load.end()


def case_cgroup_own(test):
    """The group that the program itself runs in: neither it nor its children belong to the target,
    wherever they go."""
    for version, mount in kdprocesses.hierarchies().items():
        test.remark(f"version {version}")
        with kdprocesses.group(mount / f"kdt-own-{os.getpid()}") as group:
            load, other = test.workload("roles", "poll"), test.workload("roles", "poll")
            kdprocesses.join(group, load.pid)
            run = kdprocesses.Run(test, "--cgroup", group, "--off-cpu=1ms", within=group)
            own = [run.child.pid, *kdprocesses.children_of(run.child.pid)]
            test.eq(len(own), 3, "there are children")
            for pid in own:
                kdprocesses.join(mount, pid)
                kdprocesses.join(group, pid)
            kdprocesses.join(group, other.pid)
            run.child.signal(kdprocesses.signal.SIGINT)
            test.eq(run.child.wait(), 0, "it ends well") or test.remark(run.child.stderr)
            sample = json.loads(run.path.read_text())
            test.eq({process["pid"] for process in sample["processes"]}, {load.pid, other.pid},
                    "the others are")


def case_cgroup_errors(test):
    for version, mount in kdprocesses.hierarchies().items():
        name = f"kdt-e{os.getpid()}"
        with kdprocesses.group(mount / name):
            done = test.program("--cgroup", f"/{name}")
            test.eq(done.status, 69, f"version {version}: an empty group")
            test.ok("there is no process in" in done.stderr, "which it says", done.stderr)
    for path in ("/kdt-none", "/proc/self", "/etc", "../../../etc", "/\x1b[2J"):
        done = test.program("--cgroup", path)
        test.eq(done.status, 69, f"no group: {path!r}")
        test.ok("No such file or directory" in done.stderr and "\x1b" not in done.stderr,
                "which it says", done.stderr)


def check_alone(test, pid, name):
    """A single process has the same labels as several."""
    files = [test.directory() / kind for kind in ("json", "openmetrics")]
    done = test.program("-p", pid, "--sample-time", "0.1", "-o", "text", "-o", f"json:{files[0]}",
                        "-o", f"openmetrics:{files[1]}")
    test.eq(done.status, 0, "one process of it") or test.remark(done.stderr)
    want = f"\n# Runs in container {name}, image kdt/image:1\n"
    replayed = test.program("--replay", files[0], "-o", "text").stdout
    test.eq([text.count(want) for text in (done.stdout, replayed)], [1, 1], "the report names it")
    capture = json.loads(files[0].read_text())["capture"]
    test.eq([capture.get(key) for key in ("container", "image", "pod")], [name, "kdt/image:1", None],
            "and JSON")
    lines = files[1].read_text().splitlines()
    info = [line for line in lines if line.startswith("kernel_delay_container_info")]
    test.eq(info, [f'kernel_delay_container_info{{process="roles",container="{name}",'
                   'image="kdt/image:1"} 1'], "and metrics, with its image")
    threads = [line for line in lines if 'thread="' in line]
    test.ok(threads and all(f',container="{name}"' in line for line in threads),
            "all series of threads have it", threads[:3])


def case_container(test):
    """A program in PID, mount, cgroup and UTS namespaces of its own, as in a container."""
    name = f"kdt-c{os.getpid()}"
    identity = kdprocesses.container(test, name)
    for mount in kdprocesses.hierarchies().values():
        with kdprocesses.group(mount / "docker" / identity) as group:
            shell = kdprocesses.contained(test, group)
            inside = {int(pid) for pid in (group / "cgroup.procs").read_text().split()}
            test.ok(len(inside) == 3, "unshare, a shell and the program", inside)
            for word in (name, identity, identity[:12]):
                run = kdprocesses.Run(test, "--container", word).close()
                test.eq(set(run.processes), inside, f"its processes, by {word}")
            for process in run.processes.values():
                test.eq((process["container"], process["image"]), (name, "kdt/image:1"),
                        "its name and image")
            for pid in inside:
                test.eq({thread["tid"] for thread in run.threads_of(pid)},
                        set(kdtest.threads_of(pid)), "threads by the host's numbers")
            check_alone(test, max(inside), name)
            refused = test.program("--container", "kdt-none")
            test.eq(refused.status, 69, "there is no other one")
            test.ok(identity[:12] in refused.stderr and name in refused.stderr,
                    "the error lists those that there are", refused.stderr)
            shell.end()
            kdtest.wait_until(lambda group=group: not (group / "cgroup.procs").read_text())


def case_titles(test):
    """Titles are shown safely, whatever a process calls itself."""
    text = "\x1b]0;x\a # WARNING: nonsense \\ \"quoted\" " + 300 * "x"
    python = kdneeds.tool("python3")
    script = "import socket; print('ready', flush=True); socket.socket(); input()"
    hostile = test.child([text, "-c", script], executable=python)
    hostile.line("ready")
    plain = test.workload("roles", "poll")
    run = kdprocesses.Run(test, "-p", f"{hostile.pid},{plain.pid}").close()
    test.eq(run.processes[hostile.pid]["title"], kdprocesses.title(hostile.pid),
            "JSON has the title up to 255 bytes")
    test.ok("\x1b" not in run.child.stdout and "\a" not in run.child.stdout,
            "the text has no control characters")
    test.ok("\\x1b]0;x\\x07 # WARNING: nonsense \\\\" in run.child.stdout, "but their escapes")


def written(test, argv, title):
    """A process that overwrites the beginning of its command line with this."""
    script = ("import sys; at = int(open('/proc/self/stat').read().split()[47]); "
              "memory = open('/proc/self/mem', 'r+b', buffering=0); memory.seek(at); "
              f"memory.write({title!r}); print('ready', flush=True); input()")
    child = test.child([argv[0], "-c", script, *argv[1:]], executable=kdneeds.tool("python3"))
    child.line("ready")
    return child


def case_arguments(test):
    """No output contains arguments of command lines unless they are asked for."""
    secret = f"--password=kdt{os.getpid()}"
    padded = b"kdt: a title of its own" + bytes(4000)
    started = {"kdt-plain": written(test, ["kdt-plain", secret], b"kdt-plain"),
               "kdt: short": written(test, ["kdt: a longer name", secret], b"kdt: short\0"),
               "kdt: a title of its own": written(test, ["x", secret], padded[:300])}
    pids = ",".join(str(child.pid) for child in started.values())
    formats = ("text", "json", "html", "perfetto", "openmetrics", "csv")
    for options in ((), ("--show-arguments",)):
        folder = test.directory()
        done = test.program("-p", pids, "--full", "--record=10ms", *options,
                            *(f"-o{name}:{folder}/{name}" for name in formats))
        test.eq(done.status, 0, "it ends well")
        outputs = [path for path in folder.rglob("*") if path.is_file()]
        having = {path.name for path in outputs if secret.encode() in path.read_bytes()}
        test.ok(len(outputs) >= len(formats), "all are written", outputs)
        test.eq(having, {"text", "json", "html", "perfetto"} if options else set(),
                f"those that have the password, {options or 'as is usual'}")
        if not options:
            lines = map(json.loads, (folder / "json").read_text().splitlines())
            rows = next(line["processes"] for line in lines if "processes" in line)
            test.eq({row["pid"]: row["title"] for row in rows},
                    {child.pid: title for title, child in started.items()}, "titles")


def case_command(test):
    """Children of a command, from its first instruction on: one line for many of the same name."""
    done = test.program("--follow-fork", "-o", "text", "-o", "json:" + str(
        test.directory() / "sample"), "--", "sh", "-c",
        "for i in 1 2 3 4 5 6 7; do /bin/true; done; sleep 0.01 | /bin/cat; exit 3")
    test.eq(done.status, 0, "status 0")
    report = kdreport.parse(done.stdout)[0]
    test.books(report)
    # Who ended the longest sleep of the main thread has a row of its own, if that was most of all.
    members = collections.Counter()
    for thread in report.threads:
        members[thread.name] += thread.members
    test.eq(dict(members), {"sh": 1, "true": 7, "sleep": 1, "cat": 1}, "each program")
    test.eq(report.total("execve"), 9, "which the children have become")


# --- Many of them ---
#
# Many processes with many threads each: every call of every thread, by the threads' own counts,
# and nothing lost; what they take of memory is said before it is taken.

PROCESSES, THREADS = (50, 10) if kdtest.VM else (200, 10)


def calls_of(thread, name):
    return sum(row["count"] for row in thread["syscalls"] if row["name"] == name)


def check(test, run, truth, parent):
    sample = run.sample
    threads = {thread["tid"]: thread for thread in sample["threads"]}
    # Who had the CPU is not known where several are woken for one at the same moment.
    lost = {loss: n for loss, n in sample["losses"].items() if n and loss != "waiters"}
    test.eq(lost, {}, "nothing is lost")
    test.eq(set(threads), {tid for _, tid, _ in truth} | {parent}, "all threads, and no others")
    wrong = [(tid, name, calls, calls_of(threads[tid], name))
             for pid, tid, calls in truth for name in ("getppid", "clock_nanosleep")
             if threads[tid]["pid"] != pid or calls_of(threads[tid], name) != calls]
    test.ok(not wrong, "each with all of its calls, in its own process", wrong[:5])
    test.eq({row["pid"]: row["threads"] for row in sample["processes"] if row["pid"] != parent},
            {pid: THREADS for pid, _, _ in truth}, "each process has the sums of its threads")


def case_group(test):
    mounts = kdprocesses.hierarchies()
    mount = mounts[min(mounts)]
    with kdprocesses.group(mount / f"kdt-many-{kdtest.os.getpid()}") as group:
        # What is forked in the group is in it.
        load = test.child(["sh", "-c", f"echo $$ > {group}/cgroup.procs && exec "
                           f"{kdtest.WORKLOADS}/herd {PROCESSES} {THREADS}"])
        load.line("ready")
        run = kdprocesses.Run(test, "--cgroup", group)
        load.send("go")
        truth = kdtest.json.loads(load.line())["threads"]
        test.eq(len(truth), PROCESSES * THREADS, "all have done their work")
        run.close()
        check(test, run, truth, load.pid)
        load.send("end")
        load.wait()


def taken(pid):
    """Bytes of a process's BPF maps, as the kernel counts them."""
    return sum({fields["map_id"]: int(fields["memlock"]) for fields in kdtest.fdinfo(pid)
                if "map_id" in fields}.values())


def case_memory(test):
    """A run that needs much memory for many threads says so before it takes it, and what to give to
    need less."""
    strace = kdneeds.tool("strace")
    load = test.child([kdtest.WORKLOADS / "herd", 4, 600])
    load.line("ready")
    pids = kdprocesses.children_of(load.pid)
    threads = sum(len(kdtest.threads_of(pid)) for pid in pids)
    path = test.directory() / "calls"
    run = test.child([strace, "-f", "-qq", "-e", "trace=write,bpf", "-o", path, kdtest.PROGRAM, "-p",
                      ",".join(map(str, pids)), "--histogram", "--window-banks", 7, "--start-trigger",
                      "t:syscalls:sys_enter_getuid", "--sample-time", "1ms"])
    kdtest.wait_until(lambda: "waiting for" in run.stderr)
    program = kdprocesses.children_of(run.pid)[0]
    told = re.search(r"up to (\d+) threads takes ([\d.]+) GB of memory\n(.*)", run.stderr)
    test.ok(told, "it is said", run.stderr)
    test.ok(told and all(option in told[3] for option in ("--tid", "banks", "--histogram")),
            "with what takes less", told and told[3])
    test.between(int(told[1]), threads, 2 * threads, "room for all threads, and more")
    try:
        test.between(float(told[2]) * 1e9, 0.9 * taken(program), 1.1 * taken(program),
                     "so much as the kernel counts")
    finally:  # it outlives strace, and who reads what it prints would wait
        os.kill(program, signal.SIGINT)
    run.wait()
    calls = path.read_text()
    test.ok(0 < calls.find("warning: following") < calls.find('map_name="kd_threads"'),
            "before any of it is taken", calls[:2000])
    load.send("end")


def case_memory_recorded(test):
    """Memory that --record was told to take is not announced again, nor blamed on threads."""
    load = test.workload("roles", "poll")
    done = test.program("-p", load.pid, "--record=10ms,memory=600M", "--sample-time", "1ms")
    test.ok(done.status == 0 and "following" not in done.stderr, "nothing is said", done.stderr)


kdtest.main(case_pids, case_name, case_own, case_own_later, case_one_of_a_name, case_cgroup,
            case_cgroup_own, case_cgroup_errors, case_container, case_titles, case_arguments,
            case_command, case_group, case_memory, case_memory_recorded)
