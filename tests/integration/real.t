#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tests/run: long
"""Real processes: ovs-vswitchd with traffic through a netdev bridge, and redis-server under
redis-benchmark."""

import atexit
import contextlib
import functools
import os
import re
import subprocess
import time

import kdneeds
import kdprocesses
import kdservers
import kdtest
import kdtrigger


def check(test, pid, worked):
    """One sample of a process that lasts until it has worked: complete and balanced, with run times
    as in the kernel's schedstat. Returns the report."""
    before = set(kdtest.threads_of(pid))
    capture = test.capture(pid)
    first = kdtest.proc_mark(pid)
    kdtest.wait_until(worked)
    second = kdtest.proc_mark(pid)
    report = capture.close(test)
    throughout = before & set(kdtest.threads_of(pid))
    complete(test, report, throughout, pid)
    # A running thread's schedstat may be older than a tick at either mark.
    tick = 12 * kdtest.MS
    bounds = {tid: (least - tick, most + tick)
              for tid, (least, most) in first.bounds(second, report).items()}
    late = {thread.tid for thread in report.threads} - throughout
    test.books(report, bounds, late)
    return report


class After:
    """True once counts have grown by so much since the first call."""

    def __init__(self, *counts):
        self.counts, self.wanted = [count for count, _ in counts], None
        self.more = [more for _, more in counts]

    def __call__(self):
        now = [count() for count in self.counts]
        self.wanted = self.wanted or [count + more for count, more in zip(now, self.more)]
        return all(count >= wanted for count, wanted in zip(now, self.wanted))


def complete(test, report, throughout, pid):
    """Every thread has its row, or is part of one that is folded by name."""
    rows = {thread.tid for thread in report.threads}
    folded = {}
    for thread in report.threads:
        if thread.tid is None and not thread.ended:
            folded[thread.name] = folded.get(thread.name, 0) + thread.members
    for tid in throughout - rows:
        name = kdtest.thread_name(pid, tid)
        folded[name] = folded.get(name, 0) - 1
    missing = {name: count for name, count in folded.items() if count}
    test.eq(missing, {}, f"all {len(throughout)} threads are in the report (by name: excess)")


def case_ovs_vswitchd(test):
    switch = kdservers.start(test, kdservers.NetdevSwitch())
    switch.send()
    main_thread = (switch.pid, switch.pid, ("voluntary",))
    report = check(test, switch.pid, After((switch.received, 200), (
        lambda: kdtest.switches(*main_thread), 40)))
    main = [thread for thread in report.threads if thread.tid == switch.pid]
    test.eq([thread.name for thread in main], ["ovs-vswitchd"], "the main thread")
    reads = sum(thread.count(call) for thread in report.threads
                for call in ("recvmmsg", "recvmsg", "recvfrom"))
    test.ok(reads > 10, "the packets were received by system calls", reads)
    polled = sum(thread.count("poll") + thread.count("ppoll") for thread in report.threads)
    test.ok(polled > 10, "it polls", polled)
    default_target(test, switch.pid)


def default_target(test, pid):
    """Without -p the only ovs-vswitchd is the target. Other tests run one for a while, too, so this
    waits until there is no other."""
    def alone():
        return kdtest.processes_named("ovs-vswitchd") == [pid]
    done = None
    while not done or done.status and not alone():
        try:
            kdtest.wait_until(alone, patience=60)
        except TimeoutError:
            test.skip("the default target", "another ovs-vswitchd runs on this machine")
            return
        done = test.program("--sample-time", "0.3")
    test.eq(done.status, 0, "without -p the ovs-vswitchd is the target")
    report = kdtest.kdreport.parse(done.stdout)[0]
    test.ok(pid in {thread.tid for thread in report.threads}, "it is this one")
    test.books(report)


def case_redis_server(test):
    server = kdservers.start(test, kdservers.Redis())
    benchmark = server.send(100_000_000)
    kdtest.wait_until(lambda: kdtest.schedstat(server.pid, server.pid)[0] > 200 * kdtest.MS)
    ran = lambda: kdtest.schedstat(server.pid, server.pid)[0]
    report = check(test, server.pid, After((ran, 400 * kdtest.MS)))
    test.ok(benchmark.proc.poll() is None, "it was under load throughout", benchmark.proc.returncode,
            *benchmark.errors, *benchmark.out[-1:])
    main = report.thread(server.pid)
    test.ok(main.count("read") > 1000 and main.count("write") > 1000, "it served requests",
            main.calls)
    test.ok(main.running > 300 * kdtest.MS, "it was busy", main.ns)


# --- Several processes ---
#
# Real programs of several processes: PostgreSQL with a process for each connection, by name,
# control group and birth, against what the server says of itself; Open vSwitch's two daemons.

CLIENTS = 4
TRANSACTIONS = 10  # of each client that connects for each
RATE = 50  # transactions a second of those that stay connected
SLEEP = 30  # ms


class Database(kdservers.Postgres):
    """The server as pgbench needs it, which logs a line for each connection."""

    def begin(self):
        super().begin()
        kdneeds.need("pgbench")
        self.log = self.directory / "log"
        self.command("alter system set log_connections = on;",
                     "alter system set autovacuum = off;",  # its workers come at any time
                     "alter system set log_line_prefix = 'pid=%p ';",
                     "select pg_reload_conf();")
        self.script("one", "select 1;")
        kdtest.wait_until(self.rests)
        self.idle = self.processes()

    @property
    def postmaster(self):
        return self.main.pid

    def script(self, name, text):
        (self.directory / name).write_text(text + "\n")

    def argv(self, *args, script="one"):
        return ["pgbench", "-h", self.directory, "-U", "postgres", "-n", "-f",
                self.directory / script, *map(str, args), "postgres"]

    def load(self):
        """The clients that query the server all the time over some connections."""
        return self.argv("-c", CLIENTS, "-R", RATE, "-T", "600")

    def pgbench(self, *args, **script):
        subprocess.run(self.argv(*args, **script), check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)

    def processes(self):
        """PIDs of all processes of the server: its first process and its children."""
        return {self.postmaster, *kdprocesses.children_of(self.postmaster)}

    def rests(self):
        """Whether all connections but our own have ended."""
        titles = {pid: kdprocesses.title(pid)  # empty if one has given up its memory
                  for pid in kdprocesses.children_of(self.postmaster)}
        return not any(kdtest.state_of(pid, pid) in (None, "Z", "X") or
                       pid != self.backend and ("[local]" in title or not title)
                       for pid, title in titles.items())

    def serves(self):
        """Whether pgbench's connections are open, and the one that it starts with has ended."""
        kinds = list(self.activity("backend_type").values())
        return (kinds.count("client backend") == CLIENTS + 1 and
                len(self.processes() - self.idle) == CLIENTS)

    def connections(self):
        """PIDs of the processes that have served a connection, in the order of the server's log. A
        PID may be reused by a later one."""
        return [int(pid) for pid in
                re.findall(r"pid=(\d+) LOG:  connection received", self.main.stderr)]

    def activity(self, column):
        """The PIDs of processes, with their rows of pg_stat_activity."""
        self.client.send(f"select pid, {column} from pg_stat_activity where pid is not null; "
                         "\\echo done")
        found = {}
        while (line := self.client.line()) != "done":
            pid, _, value = line.partition("|")
            found[int(pid)] = value
        return found


@functools.cache
def database():
    """The server that all cases share: creating one takes longer than measuring it."""
    base = Database()
    base.__enter__()
    atexit.register(base.__exit__)
    return base


def counted(run):
    """How many processes began in the window, summed over all rows."""
    return sum(process["members"] for process in run.sample["processes"] if process["began"])


def check_titles(test, run, base, kinds):
    """The titles are those that the server sets for each kind of process."""
    titles = {"client backend": "postgres: postgres postgres [local]",
              "checkpointer": "postgres: checkpointer",
              "background writer": "postgres: background writer",
              "walwriter": "postgres: walwriter"}
    for pid, kind in kinds.items():
        if kind in titles and pid in run.processes:
            # One that ended before it was looked at has none.
            title = run.processes[pid].get("title", titles[kind] if run.processes[pid]["ended"] else "")
            test.ok(title.startswith(titles[kind]), f"the title of a {kind}", title)
    title = run.processes[base.postmaster]["title"]
    test.ok(title.startswith(str(base.program)), "the first process has its command line", title)


def check_load(test, base, *args):
    """All processes of a server under load, and the system calls of each connection."""
    load = test.child(base.load())
    kdtest.wait_until(base.serves)
    kinds = base.activity("backend_type")
    there = base.processes()
    run = kdprocesses.Run(test, *args)
    for _ in range(2):  # the second statement begins behind the first one's answer
        before = base.activity("query_start")
        kdtest.wait_until(lambda: all(
            then != before[pid] for pid, then in base.activity("query_start").items()
            if pid in before and kinds.get(pid) == "client backend"))
    run.close()
    load.end()
    kdtest.wait_until(base.rests)
    test.eq(set(run.processes), there, "the server's processes, and no others")
    test.ok(set(kinds) <= set(run.processes), "those that pg_stat_activity names", kinds)
    check_titles(test, run, base, kinds)
    backends = [pid for pid, kind in kinds.items() if kind == "client backend"]
    test.eq(len(backends), CLIENTS + 1, "a process for each connection")
    for pid in backends:
        calls = sum(kdprocesses.count(thread, "sendto") for thread in run.threads_of(pid))
        test.ok(calls > 0, "which sent answers", pid)
    life = run.sample["window"]["duration_ns"]
    for pid in there:
        test.eq([thread["ledger"]["life_ns"] for thread in run.threads_of(pid)], [life],
                "each lived through the window, in one thread")


def case_by_name(test):
    base = database()
    if set(kdtest.processes_named("postgres")) != base.processes():
        raise kdtest.Skip("another server runs on this machine")
    check_load(test, base, "-C", "postgres", "--all")


def case_by_pids(test):
    base = database()
    load = test.child(base.load())
    kdtest.wait_until(base.serves)
    chosen = sorted(pid for pid, kind in base.activity("backend_type").items()
                    if kind == "client backend" and pid != base.backend)
    run = kdprocesses.Run(test, "-p", ",".join(map(str, chosen))).close()
    load.end()
    test.eq(sorted(run.processes), chosen, "pgbench's connections, not ours")


def groups_of(test, base):
    """The paths of the control groups, of either version, that the server is in."""
    for version, mount in kdprocesses.hierarchies().items():
        test.remark(f"version {version}")
        with kdprocesses.group(mount / f"kdt-pg{os.getpid()}") as group:
            for pid in base.processes():
                with contextlib.suppress(ProcessLookupError):   # a worker that has ended meanwhile
                    kdprocesses.join(group, pid)
            yield f"/{group.name}"


def case_by_cgroup(test):
    """The server by its control group: later connections count, too, as they are born into it."""
    base = database()
    for path in groups_of(test, base):
        check_load(test, base, "--cgroup", path)
        check_births(test, base, "--cgroup", path)


def settle(base):
    """Waits for processes that the server has reaped but that have not left their CPU yet."""
    kdtest.wait_until(base.rests)
    time.sleep(0.3)


def check_births(test, base, *args):
    """A load with a new connection, and so a process, for each transaction: all of them are
    counted."""
    settle(base)
    run = kdprocesses.Run(test, *args)
    before = len(base.connections())
    base.pgbench("-C", "-c", CLIENTS, "-t", TRANSACTIONS)
    kdtest.wait_until(lambda: list(base.activity("backend_type").values()).count(
        "client backend") == 1)
    settle(base)
    run.close()
    last = int(subprocess.run(
        ["psql", "-h", base.directory, "-U", "postgres", "-qAtXc", "select pg_backend_pid()", "postgres"],
        check=True, stdout=subprocess.PIPE, text=True).stdout)
    kdtest.wait_until(lambda: last in base.connections()[before:])  # all lines before that one are read, too
    made = base.connections()[before:-1]
    test.ok(len(made) >= CLIENTS * TRANSACTIONS, "the server counts as many", len(made))
    test.eq(counted(run), len(made), "processes that began: one for each connection in its log")
    ended = sum(process["members"] for process in run.sample["processes"] if process["ended"])
    test.eq(ended, len(made), "and all of them have ended")
    threads = [thread for thread in run.sample["threads"] if thread["ended"]]
    test.eq(sum(thread["members"] for thread in threads), len(made), "with a thread each")
    test.eq(sum(kdprocesses.count(thread, "exit_group") for thread in threads), 0,
            "whose last call does not return")
    # Each answers the client's start and its statement; the first that pgbench makes has none.
    answers = sum(kdprocesses.count(thread, "sendto") for thread in threads)
    test.ok(answers >= len(made) + CLIENTS * TRANSACTIONS, "each of which sent answers", answers)


def case_by_birth(test):
    base = database()
    check_births(test, base, "-p", base.postmaster, "--follow-fork")


def statements(base):
    """The statements that the server logged, except those of our own connection; and (PID, ms) of
    those that slept."""
    found = [statement for statement in
             re.findall(r"pid=(\d+) LOG:  duration: ([\d.]+) ms  statement: (.*)", base.main.stderr)
             if int(statement[0]) != base.backend]
    return found, [(int(pid), float(ms)) for pid, ms, text in found if "pg_sleep" in text]


def check_statements(test, base, *target):
    """Windows from the start to the end of a statement, each in a process born for it."""
    base.script("sleep", f"select pg_sleep({SLEEP / 1000});")
    before, slept_before = statements(base)
    run = kdtrigger.Triggered(test, None, *target, "--start-trigger", "up:PortalRun",
                              "--stop-trigger", "ur:PortalRun", "--trigger-same-thread",
                              "--trigger-delta", "20ms", "--window-banks", "7",
                              *kdtrigger.UNLIMITED, *kdtrigger.NO_LIMIT, urgent=True)
    base.pgbench("-C", "-c", 2, "-t", 6, script="sleep")
    kdtest.wait_until(base.rests)
    kdtest.wait_until(lambda: len(statements(base)[1]) == len(slept_before) + 2 * 6)
    found = run.stop(test)
    after, slept = statements(base)
    made, slept = len(after) - len(before), slept[len(slept_before):]
    start = found.triggers.roles["start"]
    test.eq((start.hits, found.triggers.roles["stop"].hits), (made, made),
            "all statements that the server has logged, and no others")
    test.eq(len(found.reports) + found.triggers.n_nested + start.missed, len(slept),
            "those that slept are windows")
    test.ok(found.reports, "with reports")
    logged = dict(slept)
    for report in found.reports:
        pid = next(int(number) for notice in report.notices
                   for number in re.findall(r"triggers were hit on thread (\d+)", notice))
        test.ok(pid in logged, "by a process that the server has logged", pid, slept)
        test.between(report.delta, SLEEP * 1e6, (logged.get(pid, 0) + 0.001) * 1e6,
                     "as long as its sleep, and no longer than its statement")


def case_triggers(test):
    """Slow statements of any connection, even a later one; of the server and of its group."""
    base = database()
    base.command("alter system set log_min_duration_statement = 0;", "select pg_reload_conf();")
    kdtest.wait_until(lambda: base.query("select 1;") and "duration: " in base.main.stderr)
    check_statements(test, base, "-p", base.postmaster, "--follow-fork")
    for path in groups_of(test, base):
        check_statements(test, base, "--cgroup", path)


def case_open_vswitch(test):
    """Two daemons, one with several threads."""
    ovs = kdservers.start(test, kdservers.OpenVSwitch())
    pids = sorted((ovs.pid, ovs.store.pid))
    run = kdprocesses.Run(test, "-p", ",".join(map(str, pids))).close()
    test.eq(sorted(run.processes), pids, "both")
    test.eq({run.processes[pid]["name"] for pid in pids}, {"ovs-vswitchd", "ovsdb-server"},
            "by their names")
    for pid in pids:
        test.eq({thread["tid"] for thread in run.threads_of(pid) if thread["members"] == 1} -
                set(kdtest.threads_of(pid)), set(), "threads of each")
        test.eq(run.processes[pid]["threads"], len(kdtest.threads_of(pid)), "and all of them")


kdtest.main(case_ovs_vswitchd, case_redis_server, case_by_name, case_by_pids, case_by_cgroup,
            case_by_birth, case_triggers, case_open_vswitch)
