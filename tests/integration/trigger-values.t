#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Triggers whose hits are filtered by values: arguments, results, registers, memory, USDT
arguments, arguments of system calls; against the probed process's own log of its calls."""

import os
import pathlib
import re
import signal
import subprocess

import kdbtf
import kdneeds
import kdtest
from kdtest import MS, SECOND
from kdtrigger import NO_LIMIT, UNLIMITED, Triggered, check_reports, inside

CALLS = 300
# So that no window is kept: this is about hits.
HITS = ("--trigger-delta", "60min", *UNLIMITED, *NO_LIMIT)
EX_CONFIG, EX_OSERR = 78, 71
UNREAD = None  # what a condition is where the memory that decides it is not there


def of(call, where, key):
    """A member of a structure, or UNREAD."""
    return call[where][key] if call[where] else UNREAD


def both(*parts):
    """As && does: if either is false, the result is false."""
    return False if False in parts else UNREAD if UNREAD in parts else True


def either(*parts):
    """As || does: an unreadable value might have been true."""
    return True if True in parts else UNREAD if UNREAD in parts else False


def compared(value, compare):
    return UNREAD if value is UNREAD else compare(value)


TAKE, RET, NUMBER, USDT = "up:value_take", "ur:value_take", "ur:value_number", "u:kdvalues:taken"
# What it is of a call that the workload has logged.
CONDITIONS = [
    (TAKE, "arg0 == -1", lambda call: call["args"][0] == -1),
    (NUMBER, "ret:s32 < 0", lambda call: call["number"] < 0),
    (TAKE, "arg1:s32 > 127 && arg5 >= 0x8000000000000000",
     lambda call: call["args"][1] > 127 and call["args"][5] >= 1 << 63),
    (RET, "ret < 0 || ret == 3", lambda call: call["result"] < 0 or call["result"] == 3),
    (TAKE, "[arg3+16]:s32 < 0", lambda call: compared(of(call, "item", "number"), lambda n: n < 0)),
    (RET, "%eax & 0x80", lambda call: call["result"] & 0x80 != 0),
    (TAKE, "[[arg3+8]+22]:s8 == -1 || arg2:u16 == 65535",
     lambda call: either(compared(of(call, "next", "byte"), lambda b: b == -1),
                         call["args"][2] == 65535)),
    (NUMBER, "ret & 1 == 0", lambda call: call["number"] & 1 == 0),
    # The machine's stack has the last ones on x86-64.
    (TAKE, "arg6 < 0 && arg7:u32 != 0x7fffffff",
     lambda call: call["args"][6] < 0 and call["args"][7] != 0x7fffffff),
    (RET, "ret:u8 <= 5", lambda call: call["result"] & 0xff <= 5),
]
USDT_CONDITIONS = [
    # The types are those that the note has.
    (USDT, "arg0 > 5", lambda call: call["args"][0] > 5),
    (USDT, "arg1 < 0", lambda call: call["args"][1] < 0),
    (USDT, "arg3 == -1 && [arg2]:u64 != 0",
     lambda call: both(call["args"][4] == -1, compared(of(call, "item", "id"), lambda i: i != 0))),
    (USDT, "arg1:u8 == 255 || [arg2+20]:u16 == 65535",
     lambda call: either(call["args"][1] & 255 == 255,
                         compared(of(call, "item", "half"), lambda h: h == 65535))),
]


def tally(calls, condition):
    """How often the condition is true, false, and undecidable."""
    found = [condition(call) for call in calls]
    return found.count(True), found.count(False), found.count(UNREAD)


class Calls:
    """The workload's calls, and how many of them a run has seen."""

    def __init__(self, test):
        self.test, self.load, self.seen = test, test.workload("values"), 0

    def made(self, us=0):
        """The calls that the workload makes now."""
        self.load.send(f"calls {CALLS} {us}")
        self.load.line("done")
        made = self.load.ask("log")["calls"][self.seen:]
        self.seen += len(made)
        self.test.eq(len(made), CALLS, "it has logged all its calls")
        return made

    def compare(self, start, stop):
        """Compares two conditions at a time."""
        metrics = self.test.directory() / "metrics"
        run = Triggered(self.test, self.load.pid, "--start-trigger", f"{start[0]} if {start[1]}",
                        "--stop-trigger", f"{stop[0]} if {stop[1]}", *HITS, "-o", "text",
                        "-o", f"prometheus:{metrics}")
        calls = self.made()
        run = run.stop(self.test)
        for role, (probe, text, condition) in (("start", start), ("stop", stop)):
            true, false, unread = tally(calls, condition)
            self.test.ok(0 < true < CALLS and false, f"'{text}' is true of some calls, not of all",
                         true, false)
            self.test.eq((run.triggers.roles[role].hits, *run.triggers.conditions[role]),
                         (true, false, unread), f"'{probe} if {text}'")
            found = dict(re.findall(r"_trigger_unmet_conditions_total\{.*" + f'trigger="{role}"' +
                                    r'.*condition="(\w+)".*\} (\d+)', metrics.read_text()))
            wanted = {"false": str(false), "unread": str(unread)}
            self.test.eq(found, {key: value for key, value in wanted.items() if value != "0"},
                         "and as metrics")


def case_functions(test):
    """Arguments in registers and on the stack, results, memory, bits."""
    calls = Calls(test)
    for start, stop in zip(CONDITIONS[::2], CONDITIONS[1::2]):
        calls.compare(start, stop)


def case_usdt(test):
    """Arguments as described by the notes of USDT probes: constants, registers and memory."""
    calls = Calls(test)
    if "sdt" not in calls.load.ready:
        raise kdtest.Skip("there is no sys/sdt.h")
    for start, stop in zip(USDT_CONDITIONS[::2], USDT_CONDITIONS[1::2]):
        calls.compare(start, stop)


def refused(test, load, *triggers):
    """Whether this kernel cannot tell which site is hit; then conditions that differ between sites
    are refused."""
    if b"BPF_FUNC_get_attach_cookie" in kdbtf.BTF.read_bytes():
        return False
    run = test.program("--pid", load.pid, *triggers)
    test.ok(run.status == EX_OSERR and "values in different places" in run.stderr,
            "refused, as this kernel does not tell them apart", run.status, run.stderr)
    return True


def case_sites(test):
    """The sites of a probe have their argument in different places: each hit uses that of its site."""
    load = test.workload("sdt")
    if load.ready:
        raise kdtest.Skip("there is no sys/sdt.h")
    triggers = ("--start-trigger", "u:kdtest:many if arg0 == 2",
                "--stop-trigger", "u:kdtest:many if arg0 >= 2")
    if refused(test, load, *triggers):
        return
    run = Triggered(test, load.pid, *triggers, *HITS)
    load.send("many 100")
    load.line("done")
    run = run.stop(test)
    test.eq((run.triggers.roles["start"].hits, run.triggers.conditions["start"]), (100, (200, 0)),
            "one of three sites")
    test.eq((run.triggers.roles["stop"].hits, run.triggers.conditions["stop"]), (200, (100, 0)),
            "two of them")


def case_calls(test):
    """Arguments and results of system calls."""
    calls = Calls(test)
    writable = int(calls.load.ready[0])
    for file, size in (("arg0", "arg2"), ("fd", "count")):
        run = Triggered(test, calls.load.pid, "--start-trigger",
                        f"t:syscalls:sys_enter_write if {file} == {writable} && {size} > 1000",
                        "--stop-trigger", "t:syscalls:sys_exit_write if ret == -9", *HITS)
        made = calls.made()
        run = run.stop(test)
        wrote = [call["wrote"] for call in made]
        large = sum(fd == writable and size > 1000 for fd, size, _ in wrote)
        refused = sum(result == -9 for _, _, result in wrote)
        test.ok(large and refused, "there are some of both", large, refused)
        test.eq((run.triggers.roles["start"].hits, run.triggers.roles["stop"].hits),
                (large, refused), f"those and no others, by {file} and {size}")


def case_fields(test):
    """Fields of a kernel tracepoint: signals, which this program sends and which have no effect."""
    load = test.workload("values")
    for group, sent in (("result >= 0", 5), ("pid < 0", 0), ("code:s8 == 0 && result & 1", 5)):
        run = Triggered(test, load.pid, "--start-trigger",
                        f"t:signal:signal_generate if sig == {signal.SIGURG:d} && "
                        f"pid == {load.pid} && {group}", "--stop-trigger",
                        f"t:signal:signal_generate if pid == {load.pid} && sig != {signal.SIGURG:d}",
                        *HITS)
        for _ in range(5):
            os.kill(load.pid, signal.SIGURG)
        for _ in range(3):
            os.kill(load.pid, signal.SIGWINCH)
        run = run.stop(test)
        test.eq((run.triggers.roles["start"].hits, run.triggers.roles["stop"].hits), (sent, 3),
                f"signals, and '{group}'")


def case_events(test):
    """Two tracepoints matching a pattern have a field in different places: each hit uses its own."""
    load = test.workload("values")
    shell = subprocess.Popen(["sh", "-c", "read line; exec true"], stdin=subprocess.PIPE)
    triggers = ("--start-trigger", f"t:sched:sched_process_ex* if pid == {shell.pid}")
    if refused(test, load, *triggers):
        shell.communicate(b"\n")
        return
    run = Triggered(test, load.pid, *triggers, "--stop-trigger",
                    f"t:sched:sched_process_exec if old_pid == {shell.pid}", *HITS)
    shell.communicate(b"\n")
    run = run.stop(test)
    test.eq((run.triggers.roles["start"].hits, run.triggers.roles["stop"].hits), (2, 1),
            "its exec and its exit")


def case_32_bit(test):
    """A 32-bit program has its arguments elsewhere: they are refused, but values that the kernel
    supplies are not."""
    child = test.child([kdneeds.program_of_32_bits(), "wait"])
    for trigger, status in (("up:run if arg0 == 1", EX_CONFIG), ("ur:run if ret", EX_CONFIG),
                            ("up:run", 0), ("t:syscalls:sys_enter_read if arg2", 0)):
        run = test.program("--pid", child.pid, "--check", "--start-trigger", trigger)
        test.ok(run.status == status and bool(status) == ("is a 32-bit program" in run.stderr),
                f"'{trigger}'", run.status, run.stderr)
    child.send("hello")


def case_check(test):
    """--check lists what a condition can test, consistent with readelf and tracefs."""
    load = test.workload("values")
    event = pathlib.Path("/sys/kernel/tracing/events/signal/signal_generate/format")
    if not event.exists():
        raise kdtest.Skip("there is no tracefs")
    # Texts and arrays, and what all events have, are none.
    fields = [f"{name}:{'s' if sign == '1' else 'u'}{8 * int(size)}" for name, at, size, sign in
              re.findall(r"field:[^;\[]*?(\w+);\toffset:(\d+);\tsize:(\d+);\tsigned:(\d);",
                         event.read_text()) if int(at) >= 8]
    run = test.program("--pid", load.pid, "--check", "--start-trigger", "t:signal:signal_generate",
                       "--stop-trigger", USDT if "sdt" in load.ready else TAKE)
    test.ok(f"    fields: {', '.join(fields)}\n" in run.stdout, "fields", run.stdout, fields)
    if "sdt" not in load.ready or not kdneeds.optional(test, "arguments as they are", kdneeds.tool,
                                                             "readelf"):
        return
    notes = subprocess.run(["readelf", "-nW", kdtest.WORKLOADS / "values"], capture_output=True,
                           text=True, check=True).stdout
    words = re.search(r"Name: taken\n.*\n *Arguments: (.*)", notes)[1].split()
    want = [f":{'s' if word.startswith('-') else 'u'}{8 * abs(int(word.split('@')[0]))} " for word
            in words]
    found = re.search(r"    arguments: (.*)", run.stdout)[1].split(", ")
    test.ok(len(found) == len(words) == 4 and
            all(line.startswith(f"arg{i}{kind}") and line.split()[-1] == word.split("@")[1]
                for i, (line, kind, word) in enumerate(zip(found, want, words))),
            "arguments", found, words)


def case_windows(test):
    """Windows are exactly the calls for which the condition of the start is true."""
    calls = Calls(test)
    run = Triggered(test, calls.load.pid, "--start-trigger", f"{TAKE} if arg0:u8 == 127",
                    "--stop-trigger", RET, "--window-banks", "7", *UNLIMITED, *NO_LIMIT, urgent=True)
    made = calls.made(us=2000)
    run = run.stop(test)
    wanted = [call["times"] for call in made if call["args"][0] & 255 == 127]
    start, stop = run.triggers.roles["start"], run.triggers.roles["stop"]
    test.ok(len(wanted) > 3, "there are such calls", len(wanted))
    # Without a CPU the program may have had no time to read a window before its bank was needed.
    test.eq((start.hits, start.used + start.missed, stop.hits, stop.used),
            (len(wanted), len(wanted), CALLS, start.used), "a window for each")
    found = [[times for times in wanted if inside(report.start, report.stop, times)]
             for report in run.reports]
    test.ok(len(found) == start.used and all(len(calls) == 1 for calls in found) and
            len({tuple(calls[0]) for calls in found}) == len(found), "and it is that call", wanted,
            [(report.start, report.stop) for report in run.reports])
    check_reports(test, run.reports)


def case_same(test):
    """With the same condition, start and stop are one trigger; with different ones they are two."""
    calls = Calls(test)
    for text, same in (("arg0==-1", True), ("arg0 != -1", False)):
        run = Triggered(test, calls.load.pid, "--start-trigger", f"{TAKE} if arg0 == -1",
                        "--stop-trigger", f"{TAKE} if {text}", *HITS)
        true, false, _ = tally(calls.made(), CONDITIONS[0][2])
        run = run.stop(test)
        test.eq((run.triggers.roles["start"].hits, run.triggers.roles["stop"].hits),
                (true, true if same else false), f"'{text}'")


def case_names(test):
    """The minimum length of a window depends on its thread's name, which may contain colons."""
    load = test.workload("values")
    for option in (), ("--trigger-same-thread",):
        run = Triggered(test, load.pid, "--start-trigger", "up:value_spin", "--stop-trigger",
                        "ur:value_spin", "--trigger-delta", "30ms,fast/[0-9]*:500us,f*:60min",
                        "--window-banks", "7", *option, *UNLIMITED, *NO_LIMIT, urgent=True)
        names = [f"{name}{len(option)}" for name in ("fast/1:", "fast", "slow", "long")]
        for name, us in zip(names, (2000, 2000, 2000, 60000)):
            load.send(f"spin {name} 3 {us}")
            load.line("done")
        spins = load.ask("log")["spins"]
        run = run.stop(test)
        wanted, possible = [], []
        for name, least in zip(names, (MS // 2, 3600 * SECOND, 30 * MS, 30 * MS)):
            wanted += [call for call in spins[name] if call[2] - call[1] >= least]
            possible += [call for call in spins[name] if call[3] - call[0] >= least]
        found = [call for report in run.reports for call in possible
                 if inside(report.start, report.stop, call)]
        start = run.triggers.roles["start"]
        test.ok(len(wanted) >= 6 and len(found) == len(run.reports) and
                sum(call not in found for call in wanted) <= start.missed,
                f"{' '.join(option) or 'all threads'}: each call that is long for its thread is "
                "reported, and no other", [report.delta for report in run.reports], spins)
        test.eq((start.hits, start.used + start.skipped + start.missed, start.used),
                (12, 12, len(found)), "the others are skipped")


def case_errors(test):
    """Errors are found before anything is loaded, and their place is shown."""
    load = test.workload("values")
    for trigger, said in (
            (f"{TAKE} if arg0 = 3", "at character 23, '= 3': equal is =="),
            (f"{TAKE} if", "at its end: a value is missing"),
            ("t:sched:sched_switch if prev_pid && prio", "at character 37, 'prio': the tracepoint "
             "has no such field"),
            ("t:sched:sched_switch if prio", "choose one: prev_pid, prev_prio, "),
            # One has it: ftruncate(), truncate(). Both have it: tkill(), tgkill().
            ("t:syscalls:sys_enter_*truncate if fd == 3", "'fd == 3': the tracepoint has no such"),
            ("t:syscalls:sys_enter_*truncate if path == 3", "'path == 3': the tracepoint has no such"),
            ("t:syscalls:sys_enter_t*kill if sig == 3", "system calls have the values in different "
             "places")):
        run = test.program("--pid", load.pid, "--check", "--start-trigger", trigger)
        test.ok(run.status == EX_CONFIG and said in run.stderr, f"'{trigger}' is refused",
                run.status, run.stderr)
    pair = "--start-trigger", TAKE, "--stop-trigger", TAKE
    run = test.program("--pid", load.pid, "--check", *pair, "--trigger-delta", "1ms,x*:5")
    test.eq(run.status, 0, "a delta by name is taken")
    run = test.program("--pid", load.pid, "--check", *pair, "--trigger-delta", "1ms,x*:y")
    test.ok(run.status == 64 and "at character 8, 'y': this is not a duration" in run.stderr,
            "where it is wrong is said", run.status, run.stderr)


kdtest.main(case_functions, case_usdt, case_sites, case_calls, case_fields, case_events,
            case_32_bit, case_check, case_windows, case_same, case_names, case_errors)
