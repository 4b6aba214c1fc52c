# SPDX-License-Identifier: Apache-2.0
"""What the tests of triggers share: runs of kernel_delay with triggers, the logs of the workloads,
and the symbols of a program, read without help from kernel_delay."""

import contextlib
import os
import pathlib
import re
import signal
import struct
import subprocess
import time

import kdbooks
import kdreport
import kdtest
from kdneeds import need, tracefs

ENTRY, RETURN = "up:probed_call", "ur:probed_call"
BOTH = ("--start-trigger", ENTRY, "--stop-trigger", RETURN)
UNLIMITED = ("--sample-count", "0")
NO_LIMIT = ("--max-overhead", "0")
OUTCOMES = ("used", "skipped", "missed", "overlapped", "idle", "ended", "unmatched")


class Triggered(kdtest.Child):
    """A run of kernel_delay with triggers; constructed once it waits for them. Without a PID the
    arguments name the target."""

    def __init__(self, test, pid, *args, urgent=False, **options):
        self.begun = time.monotonic_ns()
        target = () if pid is None else ("-p", pid)
        super().__init__([kdtest.PROGRAM, *target, *args], **options)
        test.start(self)
        kdtest.wait_until(self.waits)
        self.waited = time.monotonic_ns()
        if urgent:
            # On a shared machine others may keep it from running until all banks are
            # full. Not earlier: those that it has starved by loading would come first.
            with contextlib.suppress(OSError):
                os.sched_setscheduler(self.pid, os.SCHED_FIFO, os.sched_param(1))

    def waits(self):
        """True if it waits for hits: its probes are attached by then."""
        if self.proc.poll() is not None:
            self.wait()
            raise EOFError(f"{self.argv} ended: {self.stderr}")
        if self.proc.stderr and "--quiet" not in self.argv and "armed @" not in self.stderr:
            return False  # this asks nothing of the kernel, again and again
        if not kdtest.has_open(self.pid, "signalfd"):
            return False  # it waits for its child, before it attaches probes
        return any(kdtest.waits_in(self.pid, function)
                   for function in ("poll_schedule_timeout", "do_sys_poll"))

    def stop(self, test, want=0):
        """Ends the run by a signal and returns what it printed."""
        asked = time.monotonic_ns()
        self.signal(signal.SIGINT)
        run = self.finish(test, want)
        armed, disarmed = run.triggers.armed or (0, 0)
        test.ok(self.begun < armed < self.waited < asked <= disarmed,
                "hits were looked at from when it waited until it was stopped",
                (self.begun, armed, self.waited, asked, disarmed))
        test.ok("kernel_delay: armed @" in self.stderr or "--quiet" in self.argv,
                "a line on standard error told so", self.stderr)
        return run

    def finish(self, test, want=0, patience=kdtest.PATIENCE):
        """Waits for the end of the run and returns what it printed."""
        status = self.wait(patience)
        wanted = want if isinstance(want, tuple) else (want,)
        test.ok(status in wanted, f"the program ends with status {want}", f"status {status}",
                self.stderr)
        run = kdreport.Run(self.stdout)
        balance(test, run)
        return run


def balance(test, run):
    """Every hit has exactly one outcome."""
    faults = []
    for role, row in run.triggers.roles.items():
        if sum(row[outcome] for outcome in OUTCOMES) != row.hits:
            faults.append(f"{role}: {row}")
    test.ok(run.triggers.roles and not faults, "every hit has one outcome", *faults)


def check_reports(test, reports, cpu=None, late=0):
    """The books of all reports, and that no call of theirs is the probes' own.

    late: how many may say that a thread was not read consistently. An interrupt
    in the probe, between its reading of the clock and the setting of the edge,
    makes the edge late for what happens meanwhile on other CPUs, or in it. An
    emulated one takes so long that one is allowed."""
    late = max(late, int(kdtest.VM))
    faults, torn = [], [report for report in reports if any(
        "not read consistently" in warning for warning in report.warnings)]
    test.ok(len(torn) <= late, f"at most {late} are told to be inconsistent", len(torn))
    for number, report in enumerate(reports):
        if report in torn:
            continue
        found = kdbooks.book_faults(report, (cpu or {}).get(number)) + kdtest.losses_told(report)
        calls = {name for thread in report.threads for name in thread.calls}
        calls |= {flight.name for thread in report.threads for flight in thread.flights}
        found += [f"{name} is the kernel's own call" for name in calls
                  if "uprobe" in name or "uretprobe" in name or "335" in name or "336" in name]
        faults += [f"report {number}: {text}" for text in found]
    test.ok(not faults, f"the books of {len(reports)} reports balance", *faults[:12])


class Log:
    """What a caller measured: [before, begin, end, after] of its long calls, and the same of the
    times from one call's start to the next one's."""

    def __init__(self, load, truths):
        self.by_tid = load.logs()
        self.truths = {thread["tid"]: thread for thread in truths["threads"]
                       if "calls" in thread}
        self.lost = sum(truth["lost"] for truth in self.truths.values())
        self.made = sum(truth["calls"] for truth in self.truths.values())

    def calls(self, key="calls"):
        """The calls of all threads, by time."""
        return sorted(entry for log in self.by_tid.values() for entry in log[key])


def asleep(test, rows, awake):
    """Checks that threads are blocked in their windows, apart from what the kernel counts as awake.
    rows: one for each window of a long sleep; awake: the total over these, see kdtest.awake(),
    which lacks some preemptions. The program's own figure for these is only trusted up to a
    quarter."""
    life = sum(thread.life for thread in rows)
    blocked = sum(thread.ns["blocked interruptible"] for thread in rows)
    preempted = sum(thread.ns["ready after preemption"] for thread in rows)
    test.between(blocked, life - min(preempted, life // 4) - awake, life,
                 "in which the thread is blocked")


def inside(start, stop, entry):
    """True if both edges lie where the workload saw them."""
    before, begin, end, after = entry
    return before <= start <= begin and end <= stop <= after


def reported_once(test, reports, entries, least, what="long call", missed=0):
    """Each entry that was certainly at least this long is reported once, and nothing that was
    certainly shorter. missed: how many were missed, by the program's count."""
    matched, faults, absent = {}, [], []
    for report in reports:
        fits = [number for number, entry in enumerate(entries)
                if inside(report.start, report.stop, entry)]
        if len(fits) != 1:
            faults.append(f"window {report.start} to {report.stop} ({report.delta:,}) is "
                          f"{len(fits)} of what the workload logged")
        for number in fits:
            matched[number] = matched.get(number, 0) + 1
    for number, (before, begin, end, after) in enumerate(entries):
        times = matched.get(number, 0)
        if times > 1 or times and after - before < least or not times and end - begin >= least:
            (faults if times else absent).append(
                f"{before} to {after} ({after - before:,}) is reported {times} times")
    faults += absent if len(absent) > missed else []
    test.ok(not faults, f"every {what} is reported once, and nothing else "
            f"({len(matched)} of {len(entries)})", *faults[:12])


def certainly(entries, least):
    """How many are certainly so long, and how many may be."""
    return (sum(entry[2] - entry[1] >= least for entry in entries),
            sum(entry[3] - entry[0] >= least for entry in entries))


def monotonic(stamp):
    """A report's wall clock stamp in terms of CLOCK_MONOTONIC, to within some us."""
    return round(stamp.timestamp() * 1e6) * 1000 - kdtest.wall_ahead()


def compiled(test, source, name, *flags, compiler=None):
    """Compiles a source (a path or text) into a directory of the case; its path."""
    compiler = compiler or os.environ.get("CC", "cc")
    need(compiler.split()[0])
    path = test.directory() / name
    path.parent.chmod(0o755)
    text = source if isinstance(source, str) else source.read_text()
    language = "c++" if compiler.endswith("++") else "c"
    subprocess.run([*compiler.split(), "-O2", "-g", "-x", language, "-", "-o", path, *flags],
                   input=text.encode(), check=True)
    return path


def symbols(path):
    """{name: (address, size)} of the functions in an ELF file's .symtab, for 64 bits."""
    data = pathlib.Path(path).read_bytes()
    offset, = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, offset + size * i) for i in range(count)]
    found = {}
    for section in sections:
        if section[1] != 2:  # SHT_SYMTAB
            continue
        names = sections[section[6]][4]
        for at in range(section[4], section[4] + section[5], 24):
            name, info, _, _, value, length = struct.unpack_from("<IBBHQQ", data, at)
            if info & 15 == 2:  # STT_FUNC
                end = data.index(b"\0", names + name)
                found[data[names + name:end].decode()] = value, length
    return found


def program_offset(path, address):
    """The file offset of the byte at an address."""
    data = pathlib.Path(path).read_bytes()
    offset, = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    for i in range(count):
        kind, _, start, virtual, _, length = struct.unpack_from("<IIQQQQ", data, offset + size * i)
        if kind == 1 and virtual <= address < virtual + length:  # PT_LOAD
            return address - virtual + start
    raise ValueError(f"{address:#x} is in no segment of {path}")


def second_instruction(path, function):
    """The offset of a function's second instruction, according to objdump."""
    need("objdump")
    said = subprocess.run(["objdump", "-d", "--no-show-raw-insn", f"--disassemble={function}",
                           path], stdout=subprocess.PIPE, text=True, check=True).stdout
    addresses = re.findall(r"^ +([0-9a-f]+):\t", said, re.MULTILINE)
    return int(addresses[1], 16) - int(addresses[0], 16)


class Text:
    """The code of a function in a file and in a process that maps it."""

    def __init__(self, pid, path, name, length=16):
        address, size = symbols(path)[name]
        offset, self.length = program_offset(path, address), min(length, size)
        self.pid = pid
        self.file = pathlib.Path(path).read_bytes()[offset:offset + self.length]
        inode = os.stat(path).st_ino
        for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
            fields = line.split()
            start, end = (int(part, 16) for part in fields[0].split("-"))
            first = int(fields[2], 16)
            if int(fields[4]) == inode and first <= offset < first + end - start:
                self.address = start + offset - first
                return
        raise ValueError(f"{path} is not mapped by {pid}")

    def memory(self):
        with open(f"/proc/{self.pid}/mem", "rb", buffering=0) as memory:
            memory.seek(self.address)
            return memory.read(self.length)

    def unchanged(self):
        return self.memory() == self.file


class Counted:
    """Hits of a place in a file by one process, according to the kernel's own uprobe events."""

    def __init__(self, test, path, offset, pid):
        self.root = tracefs()
        if not os.access(self.root / "uprobe_events", os.W_OK):
            raise kdtest.Skip("tracefs has no uprobe_events")
        self.name, self.pid = f"kdtest_{os.getpid()}", pid
        self.instance = self.root / "instances" / self.name
        self.define(f"p:{self.name}/{self.name} {path}:{offset:#x}\n")
        test.stack.callback(self.end)
        self.instance.mkdir()
        self.switch("1")

    def define(self, text):
        # Not open(): it looks for the end of the file, which tracefs does not have.
        events = os.open(self.root / "uprobe_events", os.O_WRONLY | os.O_APPEND)
        try:
            os.write(events, text.encode())
        finally:
            os.close(events)

    def switch(self, state):
        (self.instance / "events" / self.name / self.name / "enable").write_text(state)

    def count(self):
        threads = set(kdtest.threads_of(self.pid))
        tids = re.findall(rf"^ *\S.*?-(\d+) +\[\d+\].*: {self.name}: ",
                          (self.instance / "trace").read_text(errors="replace"), re.MULTILINE)
        return sum(int(tid) in threads for tid in tids)

    def end(self):
        for undo in (lambda: self.switch("0"), self.instance.rmdir,
                     lambda: self.define(f"-:{self.name}/{self.name}\n")):
            with contextlib.suppress(OSError):
                undo()
