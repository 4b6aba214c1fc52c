# SPDX-License-Identifier: Apache-2.0
"""What is wrong with the books of a report: sums that do not add up, and tables that contradict
each other."""

import re

import kdculprits
import kddistributions
from kdreport import STATES, RUNNING, Row

WAKEUP_TO_SWITCH = 50_000  # ns, see clock_shift()
TICK = 10_000_000  # ns, at most
UNREPORTED_SWITCH = 100_000  # ns, see Report.unreported
# Kinds of waits that are at descriptors only: {title in the ledger: word in lists}; and rows of those
# that have no kind of their own.
AT_DESCRIPTORS = {"pipe": "pipe", "socket": "socket", "eventfd": "eventfd", "terminal": "tty"}
SHORT = ("short", "others", "-")
KERNEL_LOCK = re.compile("kernel_|mmap_|percpu_|-$")
OTHER_LOCKS = {"flock", "fcntl", "semop", "semtimedop"}  # which have no list
SHARES = ("p50", "p90", "p99", "p99.9", "max")


def book_faults(report, cpu=None, late=()):
    """What is wrong with the books of a report, as a list of texts.

    cpu: {TID: (least, most)} run time in ns as the thread itself measured it.
    late: TIDs of threads born in the window; all others that are alive lived
    through all of it."""
    faults = []
    for thread in report.threads:
        say = lambda text, who=thread: faults.append(f"{who!r}: {text}")
        if "SUM" not in thread.books:
            say("no ledger")
            continue
        life, window = thread.life, report.window * thread.members
        if abs(sum(thread.ns.values()) - life) > life / 1000:
            say(f"states add up to {sum(thread.ns.values()):,}, SUM is {life:,}")
        if life and abs(sum(thread.percent.values()) - 100) > 0.1:
            say(f"percents add up to {sum(thread.percent.values()):.2f}")
        for state in STATES:
            if life and abs(thread.ns[state] * 100 / life - thread.percent[state]) > 0.011:
                say(f"{state}: {thread.ns[state]:,} of {life:,} is not {thread.percent[state]} %")
        if life > window * 1.001 + 20_000:
            say(f"lived {life:,} in a window of {window:,}")
        if not thread.ended and thread.tid not in late and life < window * 0.999 - 20_000:
            say(f"lived {life:,}, but the window has {window:,}")
        # A thread that lived through the window may lack of it as much as above.
        most = life if thread.ended or thread.tid in late else max(life, window)
        for flight in thread.flights + thread.periods:
            if flight.inside > most:
                say(f"{flight.name} in flight for {flight.inside:,}, longer than its life")
            if flight.count == 1 and flight.longest < flight.inside:
                say(f"{flight.name} in flight is {flight.longest:,}, shorter than its part")
        if not thread.silent:
            faults += [f"{thread!r}: {text}" for text in
                       sum_faults(thread) + list_faults(thread, report.unreported) + table_faults(thread) +
                       kddistributions.faults(thread, report, SHARES) + kdculprits.faults(thread)]
        least, most = (cpu or {}).get(thread.tid, (0, life))
        lacks, exceeds = clock_shift(thread)
        unsure = UNREPORTED_SWITCH * report.unreported
        if not thread.ended and not (least - exceeds - unsure <= thread.running <=
                                     most + lacks + unsure):
            say(f"ran {thread.running:,}, by its own clock {least:,.0f} to {most:,.0f}; "
                f"{report.unreported} switches were hidden; {thread.ns} {thread.books}")
        count = thread.books.get("KERNEL'S COUNT")
        if cpu and count is not None and not (thread.ended or least - unsure <= count <= most + unsure):
            say(f"the kernel's count is {count:,}, by its own clock {least:,.0f} to {most:,.0f}")
    return faults


def clock_shift(thread):
    """How much the kernel's count of the run time may (lack, exceed) the ledger's.

    A wakeup that preempts reads the scheduler's clock and spares the switch that
    follows the reading: wakeup_preempt() calls rq_clock_skip_update(). So for the
    kernel the run of the preempted ends with the wakeup, and the run of whoever is
    next begins then: the time until the switch, in which an interrupt may have to
    reach another CPU, it takes from the former and gives to the latter, whose wait
    it is in the ledger. If the former does not leave the kernel, which a kernel
    without preemption waits for, that is as long as until the next tick, which reads
    the clock again (3.7 % of a thread that polls 20,000 descriptors, on a CPU with
    another one that wakes up every 0.7 ms). In all other cases the clock is read
    less than 500 ns before the switch, and as much for each other capture: their
    programs run in between, and tests/run has four tests at once."""
    switches = thread.tables.get("THREAD SWITCHES")
    if not switches:
        return 0, 0
    near = 4 * 500 * (switches.voluntary + switches.involuntary)
    preempted = min(thread.ns["ready after preemption"],
                    TICK + WAKEUP_TO_SWITCH * (switches.involuntary + 1))
    return (WAKEUP_TO_SWITCH * switches.involuntary + near,
            thread.ns["ready after wakeup"] + preempted + near)


def sum_faults(thread):
    books, faults = thread.books, []
    if books.get("RUNNING") != thread.running:
        faults.append(f"RUNNING is {books.get('RUNNING')}, its lines add up to {thread.running}")
    if "KERNEL'S COUNT" not in books:
        faults.append("no KERNEL'S COUNT")
    elif (books["KERNEL'S COUNT"] is not None and
          books.get("RESIDUAL") != books["RUNNING"] - books["KERNEL'S COUNT"]):
        faults.append(f"RESIDUAL does not fit: {books}")
    asleep = thread.ns["blocked interruptible"] + thread.ns["blocked uninterruptible"]
    if not thread.silent and sum(row.total for row in thread.blocked.values()) != asleep:
        faults.append(f"blocked for {thread.blocked}, which is not {asleep}")
    switches, moves = (thread.tables.get(section) for section in ("THREAD SWITCHES", "MIGRATIONS"))
    if switches and switches.migrations != sum(moves.values() if moves else ()):
        faults.append(f"{switches.migrations} migrations, by cause {moves}")
    stopped = sum(row.total for row in thread.stops.values())
    if not thread.silent and stopped != thread.ns["stopped"]:
        faults.append(f"stopped by {thread.stops}, which is not {thread.ns['stopped']}")
    named = (("SYSCALL STATISTICS", thread.calls), ("HARD IRQ STATISTICS", thread.hardirqs),
             ("SOFT IRQ STATISTICS", thread.softirqs))
    for section, rows in named:
        if section in thread.totals:
            counted = [row for name, row in rows.items()
                       if name.split(" [")[0] not in ("poll", "ppoll", "ppoll_time64")]
            for column, value in thread.totals[section].items():
                if sum(row[column] for row in counted) != value:
                    faults.append(f"{section}: {column} does not add up to its TOTAL")
    return faults


def list_faults(thread, unreported):
    """Each wait of these kinds is in the list of what threads waited for, if only in the row of
    short ones, which also contains others. A wait that crosses an edge of the window may be in only
    one of the two, and so may one that began or ended with a switch that the kernel hid."""
    faults = []
    lists = [("descriptors", AT_DESCRIPTORS, thread.descriptors)]
    if not OTHER_LOCKS & set(thread.calls):
        user = [Row(row, kind=row.kind if KERNEL_LOCK.match(row.kind) else "lock") for row in thread.locks]
        lists.append(("locks", {"lock": "lock"}, user))
    for what, kinds, rows in lists:
        states = {kind: thread.blocked[kind] for kind in kinds if kind in thread.blocked}
        rows = [row for row in rows if row.kind in (*kinds.values(), *SHORT)]
        edges = 2 * thread.members + unreported
        for kind, state in states.items():
            listed = sum(row.count for row in rows if row.kind == kinds[kind])
            if listed > state.count + edges:
                faults.append(f"{what}: {listed:,} waits for a {kind} are listed of {state.count:,}")
        count, total = (sum(row[key] for row in states.values()) for key in ("count", "total"))
        listed, ns = (sum(row[key] for row in rows) for key in ("count", "total"))
        longest = max((row.max for row in states.values()), default=0)
        if listed < count - edges or ns < total - edges * longest:
            faults.append(f"{what}: {listed:,} waits of {ns:,} ns are listed of {count:,} of {total:,}; "
                          f"{unreported} switches were hidden; {states} {rows}")
    return faults


def table_faults(thread):
    """The classic tables count what began and ended inside the window, which is never more than the
    ledger."""
    faults = []
    total = {section: thread.tables[section].total if section in thread.tables else 0
             for section in ("THREAD RUN STATISTICS", "THREAD READY STATISTICS",
                             "THREAD STOPPED STATISTICS")}
    run, ready, stopped = total.values()
    waited = sum(thread.ns[state] for state in ("ready after wakeup", "ready after preemption",
                                                "throttled"))
    ran = thread.running + thread.ns["stolen by hypervisor"]
    for what, table, ledger in (("RUN", run, ran), ("READY", ready, waited),
                                ("STOPPED", stopped, thread.ns["stopped"])):
        if table > ledger * 1.001 + 10_000:
            faults.append(f"{what}: {table:,} is more than the ledger's {ledger:,}")
    if sum(row.total for row in thread.calls.values()) > thread.life * 1.001:
        faults.append("longer in system calls than it lived")
    for rows in (thread.calls, thread.hardirqs, thread.softirqs, thread.blocked, thread.stops):
        for name, row in rows.items():
            # The longest sleep may have begun before the sample.
            least = 0 if rows is thread.blocked else row.max
            if not row.count or not least <= row.total <= row.max * row.count:
                faults.append(f"{name}: {row} cannot be")
    return faults
