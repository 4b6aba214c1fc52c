#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Waits: as many as the workload made, as long as it measured, what ended them, and the stacks of
both sides."""

import platform

import kdtest
import kdunseen
from kdstacks import THREAD, Capture, Libc, Program, check_stacks, told

ALL = ("--stack-trace-size=overhead=0", "--per-thread", "--wait-filter=*")
SLEEP = ("hrtimer_nanosleep", "do_nanosleep")
FUTEX = ("futex_wait", "__futex_wait", "futex_do_wait", "futex_wait_queue")


TRIES = 4


class Run:
    """A workload that does its work while its waits are recorded. Repeated where the kernel has
    hidden switches from tracing: a wait that begins with one is not seen."""

    def __init__(self, test, roles, *options):
        for _ in range(TRIES):
            self.take(test, roles, *options)
            if not self.report.unreported:
                break
            self.load.end()

    def take(self, test, roles, *options):
        self.load = test.workload("slow", *roles)
        capture = test.start(Capture(self.load.pid, *options))
        self.first = self.load.mark()
        self.truths = {thread["role"]: thread for thread in self.load.go()["threads"]}
        self.log = self.load.logs()
        self.report, self.stacks = capture.close(test)

    def tid(self, role):
        return self.truths[role]["tid"]

    def waits(self, role, *states, call=None):
        """The rows of a thread's waits in these states and in a call, without its partner's start."""
        return [row for row in self.stacks.of(self.tid(role), "waits")
                if row.state in states and call in (None, row.call) and
                "pair_start" not in row.stack.functions()]

    def awake(self, *roles):
        """For how long threads were not asleep, in us: by so much a wait may be shorter than
        logged, as a thread without a CPU falls asleep late and goes on late."""
        return sum(awake_us(self.report.thread(self.tid(role))) for role in roles)

    def lengths(self, role):
        """The lengths that the thread logged, in us."""
        return [(after - before) / 1000 for before, after, *_ in self.log[self.tid(role)]]


BLOCKED = ("blocked interruptible", "blocked uninterruptible")


def awake_us(thread):
    return (thread.life - sum(thread.ns[state] for state in BLOCKED)) / 1000


def check_waits(test, run, role, call, least, where, chain):
    """One wait of at least 4 ms in each logged call; their sum and the longest match the log;
    stacks."""
    rows = run.waits(role, *BLOCKED, call=call)
    # The thread waits for its start, too.
    rows = [row for row in rows if role in row.stack.functions()]
    test.ok(rows and all(row.stack.in_kernel(*where) for row in rows),
            f"{role}: where in the kernel", *rows[:1])
    logged = run.lengths(role)
    awake = run.awake(role)
    test.between(sum(row.count for row in rows), len(logged) - awake / (least - 4000), len(logged),
                 f"{role}: as many waits as it made")
    test.between(sum(row.total for row in rows), sum(logged) - awake, sum(logged) + 1,
                 f"{role}: their total, in us")
    test.between(max((row.max for row in rows), default=None), max(logged) - awake, max(logged) + 1,
                 f"{role}: the longest, in us")
    check_stacks(test, rows, (*chain, role, "worker_main", *THREAD),
                 {"": Program(kdtest.WORKLOADS / "slow")}, f"{role}: the user's stacks", len(rows))
    return rows


def case_ends(test):
    """Woken by a thread, by a timer, by a page that came."""
    run = Run(test, ("waiter:15:30000", "sleeper:20:200:9000:2", "reader:10:20000"),
              "--off-cpu=4ms", *ALL)
    rows = check_waits(test, run, "waiter", "futex", 29000, FUTEX,
                       (Libc("syscall"), "waiter_wait"))
    partner = run.truths["waiter"]["partner"]
    test.eq({(row.waker, row.ended_by, row.others) for row in rows}, {(partner, "waker", None)},
            "the waiter's waits were ended by the waker")
    rows = check_waits(test, run, "reader", "read", 19000, ("pipe_read", "anon_pipe_read"),
                       (Libc("read"), "reader_wait"))
    test.eq({(row.waker, row.ended_by) for row in rows},
            {(run.truths["reader"]["partner"], "writer")}, "the reader's by the writer")
    rows = run.waits("sleeper", *BLOCKED, call="clock_nanosleep")
    # One that is kept from falling asleep for long sleeps too short; beside others a short one may be
    # as long.
    hidden, found = run.report.unreported, sum(row.count for row in rows)
    test.between(found, 10 - hidden - run.awake("sleeper") / (9000 - 4000),
                 sum(us >= 4000 for us in run.lengths("sleeper")), "the sleeper's long sleeps, not the short ones")
    # Nobody is known to have ended one whose end the kernel hid.
    unknown = sum(row.count for row in rows if (row.waker, row.ended_by) == (None, "-"))
    test.ok(unknown <= hidden, "who ended them is known", unknown, hidden, *rows)
    test.eq({(row.waker, row.ended_by) for row in rows} - {(None, "-")}, {(None, "timer")} if found > unknown else set(),
            "a timer ended them")
    test.ok(all(row.stack.in_kernel(*SLEEP) for row in rows), "where they slept", *rows[:2])
    test.books(run.report, late={truth["partner"] for truth in run.truths.values()
                                 if "partner" in truth})


def case_merged(test):
    """Eight threads that wait for a futex at the same place share one row, with the sums of what
    all of them logged; or have one row each."""
    roles = ["waiter:10:12000"] * 8
    for options in ((), ("--per-thread",)):
        load = test.workload("slow", *roles)
        capture = test.start(Capture(load.pid, "--off-cpu=4ms", "--stack-trace-size=overhead=0", *options))
        waiters = {thread["tid"] for thread in load.go()["threads"] if thread["role"] == "waiter"}
        logged = [(after - before) / 1000 for tid, log in load.ask("log").items()
                  if int(tid) in waiters for before, after, *_ in log]
        report, stacks = capture.close(test)
        awake = sum(awake_us(report.thread(tid)) for tid in waiters)
        rows = [row for row in stacks.waits if row.state in BLOCKED and row.call == "futex" and
                "waiter_wait" in row.stack.functions() and "waiter" in row.stack.functions()]
        # A switch that the kernel hid shows no kernel stack.
        test.eq(sorted(row.threads for row in rows if row.stack.kernel),
                [1] * 8 if options else [8], f"{options}: rows, by their threads")
        test.ok({row.tid for row in rows} <= waiters, f"{options}: of the waiters")
        # One that is kept from falling asleep for long waits too short.
        test.between(sum(row.count for row in rows), len(logged) - awake / (12000 - 4000), len(logged),
                     f"{options}: all waits are counted")
        test.between(sum(row.total for row in rows), sum(logged) - awake,
                     sum(logged) + len(rows), f"{options}: their total, in us")
        test.between(max(row.max for row in rows), max(logged) - awake, max(logged) + 1,
                     f"{options}: the longest, in us")
        if not options:
            test.ok(rows[0].others, "they were ended by several threads", *rows)


KINDS = {"waiter": "lock", "reader": "pipe", "sleeper": "timer", "poller": "work"}
ROLES = ("waiter:10:12000", "reader:10:12000", "sleeper:10:12000:12000:1", "poller:10:12000")


def filtered(test, *options):
    """A run, and what it lists of the waits of four threads: {role: rows}."""
    run = Run(test, ROLES, "--off-cpu=4ms", "--stack-trace-size=overhead=0", "--per-thread", *options)
    # Threads wait for their start, too.
    return run, {role: [row for row in run.waits(role, *BLOCKED)
                        if role in row.stack.functions()] for role in KINDS}


def case_filters(test):
    """By default idle waits are left out; filters select by kind, state and call. Waits left out
    are counted."""
    for options, listed in (((), {"waiter", "reader"}),
                            (("--wait-filter=lock,timer",), {"waiter", "sleeper"}),
                            (("--wait-filter=!lock,pi?e",), {"sleeper", "poller"}),
                            (("--wait-filter=blocked*", "-e", "read,poll"), {"reader", "poller"}),
                            (("--wait-filter=ready_*",), set())):
        run, rows = filtered(test, *options)
        test.eq({role for role in rows if rows[role]}, listed, f"{options}: roles listed")
        for role in listed:
            made = len(run.lengths(role))
            test.between(sum(row.count for row in rows[role]), made - run.awake(role) / (12000 - 4000),
                         made, f"{options} {role}: waits")
            test.eq({row.kind for row in rows[role]}, {KINDS[role]}, f"{options} {role}: kind")
        (by, (count, total)), = run.stacks.left_out.items()
        others = [us for role in set(KINDS) - listed for us in run.lengths(role)]
        awake = run.awake(*set(KINDS) - listed)
        test.ok(count >= len(others) - awake / (12000 - 4000), f"{options}: as many left out", by, count,
                len(others), awake)
        test.ok(total >= sum(others) - awake, f"{options}: as long", by, total, sum(others), awake)
        test.ok(("--syscall-filter" in by) == ("-e" in options), f"{options}: it is said why", by)


def case_threads(test):
    """With --threads, other threads are neither listed nor counted."""
    run, rows = filtered(test, "--threads", "[rw]a*", "--wait-filter=*")
    test.eq({role for role in rows if rows[role]}, {"waiter"}, "one of four")
    names = {row.comm for row in run.stacks.waits}
    test.ok(all(name.startswith(("wa", "ra")) for name in names), "no other names", names)
    test.eq(dict(run.stacks.left_out), {}, "of the others nothing is recorded")


def case_kernel_lock(test):
    """The kernel's stacks omit the frames of waiting for a lock and of falling asleep."""
    if platform.machine() != "x86_64":
        raise kdtest.Skip("these frames are shown on x86_64 only")
    cpu = kdtest.last_cpu()
    run = Run(test, (f"contender:12:24:{cpu}", "sleeper:10:9000:9000:1"), "--off-cpu=2ms", *ALL)
    rows = [row for row in run.waits("contender", "blocked uninterruptible", call="pwrite64")
            if "contender_write" in row.stack.functions()]
    test.ok(rows, "it waits for the lock of the inode", *run.stacks.waits[:3])
    test.ok(all(row.stack.in_kernel("rwsem_down_write_slowpath", "rwbase_write_lock")
                for row in rows), "the lock's functions are shown", *rows[:1])
    test.ok(all(frame.function not in ("__schedule", "schedule")
                for row in rows for frame in row.stack.kernel),
            "without those that only switch", *rows[:1])
    test.between(sum(row.total for row in rows), 2000, sum(run.lengths("contender")) + 1,
                 "not longer than it logged, in us")
    rows = [row for row in run.waits("sleeper", *BLOCKED, call="clock_nanosleep")
            if "sleeper" in row.stack.functions()]
    test.ok(rows and all(row.stack.in_kernel("do_nanosleep") for row in rows),
            "a sleep's innermost function", *rows[:1])


def case_page_fault(test):
    """A wait outside of system calls: the stack is copied when the thread is switched out."""
    run = Run(test, ("faulter:12:15000",), "--off-cpu=4ms", *ALL)
    partner = run.truths["faulter"]["partner"]
    if not partner:
        raise kdtest.Skip("no userfaultfd that sees faults")
    rows = [row for row in run.waits("faulter", *BLOCKED, call="-")]
    logged = run.lengths("faulter")
    test.between(sum(row.count for row in rows), len(logged) - run.awake("faulter") / (15000 - 4000),
                 len(logged), "as many waits as faults")
    test.ok(all(row.stack.in_kernel("handle_userfault") for row in rows), "in handle_userfault",
            *rows[:1])
    test.eq({(row.waker, row.ended_by) for row in rows}, {(partner, "filler")},
            "ended by the thread that filled the page")
    check_stacks(test, rows, ("faulter_touch", "faulter", "worker_main", *THREAD),
                 {"": Program(kdtest.WORKLOADS / "slow")}, "the user's stacks", len(rows))


def leaves_call(stack):
    return any((frame.function or "").startswith("do_syscall_64") for frame in stack.kernel)


def case_preempted(test):
    """A ready thread while another one had the CPU: as long as the kernel counts it as waiting to
    run."""
    cpu = kdtest.last_cpu()
    load = test.workload("slow", f"hog:{cpu}", f"gaps:700:{cpu}")
    tid, = load.tid("gaps")
    capture = test.start(Capture(load.pid, "--off-cpu=50us", *ALL))
    before = kdtest.schedstat(load.pid, tid)[1]
    load.go()
    waited = (kdtest.schedstat(load.pid, tid)[1] - before) / 1000
    log = load.ask("log")[str(tid)]
    report, stacks = capture.close(test)
    rows = [row for row in stacks.of(tid, "waits") if row.state == "ready after preemption"]
    test.ok(rows, "it was preempted", *stacks.waits[:3])
    gaps = [(after - first) / 1000 for first, after, *_ in log]
    # It was woken before, which beside other programs takes its time, too.
    ready = [row for row in stacks.of(tid, "waits") if row.state.startswith("ready")]
    total = sum(row.total for row in ready)
    # Of rows without a line; and those that are too short for a row, of which others' threads may
    # make many.
    all_waits = report.thread(tid).tables["THREAD READY STATISTICS"].sched_cnt
    left_out = stacks.others.get("waits", 0) + 50 * (all_waits - sum(row.count for row in ready))
    least = waited * 0.8 - 2000 - left_out
    test.between(total, least, waited * 1.02 + 200, "their total is what the kernel counted, in us") or \
        test.remark(all_waits, len(ready), stacks.others, *report.notices)
    # It makes no system call but before and after, on whose way out it may be preempted.
    rows = [row for row in rows if row.call == "-" and not leaves_call(row.stack)]
    # Its clock may jump for more reasons than that it has waited, but not for less.
    test.ok(gaps and max(row.max for row in rows) <= max(gaps) + 5000,
            "the longest is a gap of its clock", [row.max for row in rows], max(gaps, default=0))
    whole = [row for row in rows if row.stack.user]
    test.ok(whole and sum(row.count for row in whole) >= 0.8 * sum(row.count for row in rows),
            "nearly all have the user's stack", *rows[:1])
    # Where it first writes to a page of its log the kernel is left in another function.
    whole = [row for row in whole
             if not any((frame.function or "").startswith("log_add") for frame in row.stack.user)]
    check_stacks(test, whole, (Libc(local=True, least=0, most=3), "gaps", "worker_main", *THREAD),
                 {"": Program(kdtest.WORKLOADS / "slow")}, "the user's stacks", len(whole))


def case_threshold(test):
    """No wait is shorter than the given duration; overhead= limits the stacks of waits, too."""
    run = Run(test, ("sleeper:40:300:6000:4",), "--off-cpu=3ms", "--stack-trace-size=overhead=0.0001", "--per-thread",
              "--wait-filter=*")
    test.eq([row for row in run.stacks.waits if row.max < 3000], [], "none is shorter")
    rows = run.waits("sleeper", *BLOCKED, call="clock_nanosleep")
    # Beside others a short one may be as long.
    test.between(sum(row.count for row in rows), 10,
                 sum(us >= 3000 for us in run.lengths("sleeper")), "each long one is there")
    test.ok(any(row.stack.user for row in rows) or told(run.report, "overhead of --stack-trace-size"),
            "stacks, or the reason why not", *run.report.notices)
    test.eq(run.stacks.all["waits"][0], sum(row.count for row in run.stacks.waits), "All: count")
    test.between(run.stacks.all["waits"][1], sum(row.total for row in run.stacks.waits) - 1,
                 sum(row.total for row in run.stacks.waits) + len(run.stacks.waits),
                 "All: total")


def case_unseen_wakeups(test):
    """A thread whose wakeup the kernel did not report counts as asleep until it had a CPU: in the
    rows as in the time by state."""
    with kdunseen.unseen(test, *kdunseen.WAKEUPS):
        run = Run(test, ("sleeper:20:200:9000:2",), "--off-cpu=4ms", *ALL)
    rows = run.waits("sleeper", *BLOCKED, call="clock_nanosleep")
    # Beside load a short one may be as long, and the thread without its CPU at either end of one.
    logged, awake = [us for us in run.lengths("sleeper") if us >= 4000], run.awake("sleeper")
    least = sum(after - before for before, after, *_, asleep in run.log[run.tid("sleeper")]
                if asleep >= 4 * kdtest.MS) / 1000
    test.between(sum(row.count for row in rows), 10 - awake / 5000, len(logged),
                 "each long sleep is one wait")
    test.eq({row.waker for row in rows}, {None}, "nobody is said to have ended it")
    test.between(sum(row.total for row in rows), least - awake, sum(logged) + 1, "their total, in us")
    thread = run.report.thread(run.tid("sleeper"))
    test.eq((run.waits("sleeper", "ready after wakeup"), thread.ns["ready after wakeup"]), ([], 0),
            "and it was not ready after a wakeup")


kdtest.main(case_ends, case_merged, case_filters, case_threads, case_kernel_lock, case_page_fault,
            case_preempted, case_threshold, case_unseen_wakeups)
