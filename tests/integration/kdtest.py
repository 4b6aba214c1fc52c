# SPDX-License-Identifier: Apache-2.0
"""What the integration tests share: processes that are ended by their pid
whatever happens, runs of kernel_delay, workloads, and TAP on stdout.

A test file defines case functions that take a Test and ends with
kdtest.main(case, ...). Names of cases as arguments select some of them. With TESTS_VERBOSE
in the environment (tests/run -v), passing checks say what they compared."""

import atexit
import contextlib
import fcntl
import functools
import json
import os
import pathlib
import queue
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback

import kdbooks
import kdreport

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("KERNEL_DELAY", str(ROOT / "build" / "kernel_delay"))
WORKLOADS = pathlib.Path(os.environ.get("WORKLOADS", str(ROOT / "build" / "workloads")))
POLL = "poll" if os.uname().machine == "x86_64" else "ppoll"  # the call that poll() makes
VM = bool(os.environ.get("KD_VM"))  # in a virtual machine of tests/vm
SLACK = 10 if VM else 1  # factor for delays that a test grants to the machine
PATIENCE = 300  # seconds after which a process that says nothing is at fault: it hangs
VERBOSE = bool(os.environ.get("TESTS_VERBOSE"))
KEEP_REPORTS = os.environ.get("KEEP_REPORTS")
MS = 1_000_000
SECOND = 1_000_000_000


class Skip(Exception):
    """The rest of a case cannot run on this machine; the text says why."""


def only_on_host(why):
    """Skips the rest of a case in a virtual machine: the host's run shows as much, since nothing in
    it depends on the kernel."""
    if VM:
        raise Skip(f"the same with each kernel, so only the host runs it: {why}")


def one_cpu():
    """Whether this is a virtual machine of one CPU."""
    return VM and len(os.sched_getaffinity(0)) == 1


def only_beside_another_cpu(why):
    """Skips the rest of a case on a machine of one CPU."""
    if len(os.sched_getaffinity(0)) < 2:
        raise Skip(f"there is no other CPU: {why}")


def spinner(cpu):
    """The role of a thread that keeps a CPU busy ahead of all others. If there is no other CPU, it
    leaves a seventh to them: the kernel would leave a twentieth, once a second."""
    return f"fifo:{cpu}:60:70" if one_cpu() else f"fifo:{cpu}:600:600"


@functools.cache
def preempts_programs():
    """Whether this is a virtual machine whose kernel runs programs of system calls preemptibly.
    kernel_delay replaces these with others, which the kernel skips while any thread on the CPU is
    preempted in bpf(2); the reports tell how often. On a single CPU that goes on all the time, on
    several now and then, next to tests that load programs. There the tests let kernel_delay run
    before other threads, so that counts are exact; reports about skipping caused by others are no
    fault."""
    btf = pathlib.Path("/sys/kernel/btf/vmlinux")
    return btf.exists() and b"\0trace_call_bpf_faultable\0" in btf.read_bytes()


PREEMPTED = 0.02  # share of the time for which a thread may be preempted in bpf(2), by calls
OTHERS = 30  # calls of others meanwhile: whose number no report says
INTERRUPTED = 2  # runs: of sched_waking and sched_wakeup


def skipped_by_others(text, calls=0):
    """Whether a warning is about programs that the kernel skipped because of others: on several
    CPUs, only if there are no more of them than for a small part of the calls that the target made
    (two programs for each), and for some of others. A fault of the program's own would skip most.
    On each kernel, a timer that wakes a thread on its way to sleep is traced with interrupts on
    (try_to_wake_up() of the current task), one of which may wake another thread."""
    found = re.search(r"([\d,]+) program runs? (?:was|were) skipped by the kernel", text)
    skipped = kdreport.number(found[1]) if found else 0
    return found is not None and (skipped <= INTERRUPTED or preempts_programs() and
                                  (one_cpu() or skipped <= OTHERS + 2 * PREEMPTED * calls))


def losses_told(report, culprits=False):
    """What a report says was lost, without losses caused by other processes that use bpf(2), see
    preempts_programs(). Which waits have culprits is a matter of chance where threads are woken
    together, and is left to tests of culprits."""
    calls = sum(row.count for thread in report.threads for row in thread.calls.values())
    return [text for text in report.warnings
            if not skipped_by_others(text, calls) and
            (culprits or "woken for one CPU at the same moment" not in text)]


def in_full(argv):
    """The same command, with all sections of all threads in its text unless it says how much it
    wants."""
    extents = ("--full", "--summary")
    others = ("--check", "--list-probes", "--list-metrics", "--machine")
    if PROGRAM not in argv or any(
            arg.split("=")[0] in extents + others or ",top=" in arg or ",sort=" in arg for arg in argv):
        return argv
    at = argv.index(PROGRAM) + 1
    return [*argv[:at], "--full", *argv[at:]]


def kept(argv):
    """The same command, which also leaves its samples in the directory KEEP_REPORTS if the
    environment has it: `tests/same --take` chooses from them."""
    others = ("--check", "--list-probes", "--list-metrics", "--machine", "--replay", "--live", "--")
    if KEEP_REPORTS is None or PROGRAM not in argv or any(arg.split("=")[0] in others for arg in argv):
        return argv
    at = argv.index(PROGRAM) + 1
    text = [] if any(re.match("-o|--output|--quiet", arg) for arg in argv) else ["-o", "text"]
    name = f"json_{pathlib.Path(sys.argv[0]).stem}_{time.monotonic_ns()}.txt"
    return [*argv[:at], *text, "-o", f"json:{KEEP_REPORTS}/{name}", *argv[at:]]


class RealTime:
    """A lock for running ahead of all others, held by one test program at a time: two of them would
    use up two CPUs, and starve even the tests that are to end them."""

    marks = re.compile(r"\bchrt |\b(fifo|relay|hasty|stalls|deadline):|/kdstall\.py|/gaps \d+ [1-9]|/execer |/locks starved")
    path = pathlib.Path(tempfile.gettempdir()) / "kernel_delay-tests-realtime"
    count, file = 0, None

    @classmethod
    def begin(cls):
        if not cls.count:
            cls.file = open(cls.path, "w", encoding="utf-8")  # pylint: disable=consider-using-with
            fcntl.flock(cls.file, fcntl.LOCK_EX)
        cls.count += 1

    @classmethod
    def end(cls):
        cls.count -= 1
        if not cls.count:
            cls.file.close()

    @classmethod
    @contextlib.contextmanager
    def alone(cls):
        """A context in which no other test program holds this lock."""
        cls.begin()
        try:
            yield
        finally:
            cls.end()


class Child:
    """A process whose lines are read as they arrive; ended at the latest by end(). Reports are in
    full unless the test says otherwise."""

    def __init__(self, argv, full=True, **options):
        options = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE,
                   "stderr": subprocess.PIPE, **options}
        self.argv = [str(arg) for arg in argv]
        if full:
            self.argv = in_full(self.argv)
        self.argv = kept(self.argv)
        self.realtime = bool(RealTime.marks.search(" ".join(self.argv)))
        if self.realtime:
            RealTime.begin()
        self.proc = subprocess.Popen(self.argv, **options)
        self.pid = self.proc.pid
        if PROGRAM in self.argv and one_cpu():
            self.go_before_others()
        self.out, self.errors, self.lines, self.readers = [], [], queue.Queue(), []
        self.read(self.proc.stdout, self.out, self.lines)
        self.read(self.proc.stderr, self.errors)

    def go_before_others(self):
        """Gives it the only CPU whenever it can use it, as a workload that never sleeps would make
        its start take several times as long; see also preempts_programs()."""
        with contextlib.suppress(ProcessLookupError):
            os.sched_setscheduler(self.pid, os.SCHED_FIFO, os.sched_param(20))

    def read(self, stream, kept, lines=None):
        def drain():
            for line in stream:
                kept.append(line)
                if lines:
                    lines.put(line)
            if lines:
                lines.put(None)
        if stream:
            self.readers.append(threading.Thread(target=drain, daemon=True))
            self.readers[-1].start()

    def line(self, start="", patience=PATIENCE):
        """The next line that begins with start; earlier ones are skipped."""
        deadline = time.monotonic() + patience
        while True:
            try:
                line = self.lines.get(timeout=max(0, deadline - time.monotonic()))
            except queue.Empty:
                raise TimeoutError(f"{self.argv} said no {start!r} in {patience} s") from None
            if line is None:
                raise EOFError(f"{self.argv} ended without {start!r}: {self.stderr}")
            text = line.decode(errors="surrogateescape").rstrip("\n")
            if text.startswith(start):
                return text

    def send(self, word):
        self.proc.stdin.write(word.encode() + b"\n")
        self.proc.stdin.flush()

    def ask(self, order):
        """Its JSON answer to a command."""
        self.send(order)
        return json.loads(self.line("{"))

    def signal(self, number):
        self.proc.send_signal(number)

    def wait(self, patience=PATIENCE):
        """Its exit status, negative if a signal ended it."""
        status = self.proc.wait(patience)
        for reader in self.readers:
            reader.join(patience)
        return status

    def interrupt(self, test, text):
        """Interrupts a run of kernel_delay, which has to end well."""
        self.signal(signal.SIGINT)
        test.eq(self.wait(), 0, text)

    def end(self):
        if self.proc.poll() is None:
            self.proc.send_signal(signal.SIGCONT)
            self.proc.kill()
        with contextlib.suppress(OSError):
            self.proc.stdin and self.proc.stdin.close()
        self.wait()
        if self.realtime:
            self.realtime = False
            RealTime.end()

    @property
    def stdout(self):
        return b"".join(self.out).decode(errors="surrogateescape")

    @property
    def stderr(self):
        return b"".join(self.errors).decode(errors="surrogateescape")


class Workload(Child):
    """A program of tests/workloads that is ready for its test's commands."""

    def __init__(self, name, *args, wrapper=(), **options):
        path = name if os.path.isabs(name) else WORKLOADS / name
        super().__init__([*wrapper, path, *args], **options)
        self.ready = self.line("ready").split()[1:]

    def go(self, patience=PATIENCE):
        """Lets it do its work and returns its truths once its threads sleep again: the answer
        arrives before the last calls of the threads that did the work."""
        self.send("go")
        truths = json.loads(self.line("{", patience))
        self.settle([thread["tid"] for thread in truths.get("threads", ()) if thread.get("rests")])
        return truths

    def logs(self):
        """What its threads have logged, by TID."""
        return {int(tid): log for tid, log in self.ask("log").items()}

    def settle(self, tids=None):
        """Waits until its threads (all, if none are given) sleep, or are gone."""
        tids = threads_of(self.pid) if tids is None else tids
        wait_until(lambda: {state_of(self.pid, tid) for tid in tids} <= {"S", None})

    def mark(self):
        """The run time of each of its threads, by the thread's own clock."""
        mark = self.ask("mark")
        return Mark(mark["from"], {int(tid): ns for tid, ns in mark["cpu"].items()}, mark["to"])

    def tid(self, role):
        """TIDs of the threads with this name, ascending."""
        return [tid for tid in threads_of(self.pid) if thread_name(self.pid, tid) == role]


class Mark:
    """Run times read between two moments, and the time taken by the hypervisor until then."""

    def __init__(self, start, cpu, end):
        self.start, self.cpu, self.end, self.steal = start, cpu, end, steal_ns()

    def until(self, later):
        """The time that certainly lies between the readings of two marks."""
        return later.start - self.end

    def bounds(self, later, report):
        """What running may be in a report whose window holds both marks: at least
        the run time between them; at most that, the rest of the window, steal
        and 1 %."""
        outside = max(0, report.window - self.until(later))
        bounds = {}
        for tid, before in self.cpu.items():
            ran = later.cpu.get(tid, before) - before
            # 20 us: the thread's clock and the scheduler's events are not read at one time.
            bounds[tid] = (ran * 0.999 - 20_000,
                           ran * 1.01 + outside + (later.steal - self.steal) + 100_000)
        return bounds


def proc_mark(pid):
    """A Mark of any process, from its schedstat files. The count of a running thread may be a tick
    old, so the marks of a busy thread are that inexact."""
    cpu, start = {}, time.monotonic_ns()
    for tid in threads_of(pid):
        with contextlib.suppress(OSError):
            cpu[tid] = schedstat(pid, tid)[0]
    return Mark(start, cpu, time.monotonic_ns())


class Capture(Child):
    """A run of kernel_delay on a process; constructed once its window is open."""

    def __init__(self, pid, *args, **options):
        super().__init__([PROGRAM, "-p", pid, "--sample-time", 600, *args], **options)
        self.line("# Start sampling")
        self.opened = time.monotonic_ns()

    def close(self, test, want=0, stop=()):
        """Closes the window and returns the one report of the run. stop: PIDs to be stopped as soon
        as the window is over, so as not to slow down what the program does then."""
        if self.proc.poll() is None:
            self.signal(signal.SIGINT)
        if stop:
            self.line("# Stop sampling")
        for pid in stop:
            os.kill(pid, signal.SIGSTOP)
        status = self.wait()
        test.ok(status == want, f"the program ends with status {want}", f"status {status}",
                self.stderr)
        reports = kdreport.parse(self.stdout)
        if len(reports) != 1:
            raise kdreport.ReportError(f"{len(reports)} reports instead of one")
        return reports[0]


class Finished:
    """What a program that ran to its end left behind."""

    def __init__(self, child):
        self.status = child.wait()
        self.stdout, self.stderr = child.stdout, child.stderr


class Test:
    """Counts and prints the results; ends everything that a case started when the case is over."""

    def __init__(self):
        self.count, self.failed, self.case = 0, 0, ""
        self.stack = contextlib.ExitStack()

    def result(self, passed, text, remark=""):
        self.count += 1
        self.failed += not passed
        print(f"{'ok' if passed else 'not ok'} {self.count} - {self.case}: {text}{remark}",
              flush=True)

    def ok(self, passed, text, *remarks):
        self.result(bool(passed), text)
        if not passed or VERBOSE:
            self.remark(*remarks)
        return bool(passed)

    def eq(self, got, want, text):
        return self.ok(got == want, text, f"got  {got!r}", f"want {want!r}")

    def between(self, value, least, most, text):
        shown = [f"{part:,.0f}" if isinstance(part, (int, float)) else repr(part)
                 for part in (value, least, most)]
        inside = value is not None and least <= value <= most
        return self.ok(inside, text, "got {}, want {} to {}".format(*shown))

    def skip(self, text, why):
        self.result(True, text, f" # SKIP {why}")

    def remark(self, *texts):
        for text in texts:
            for line in str(text).rstrip().split("\n"):
                print("#   " + line.encode("ascii", "backslashreplace").decode(), flush=True)

    def books(self, report, cpu=None, late=(), losses=False):
        """The check of books that every report of every test has to pass."""
        if VM and any("not read consistently" in text for text in report.warnings):
            # Its clock may go back by milliseconds; the report says that figures do not fit.
            self.skip("the books", "the report tells of this machine's clock")
            return
        if VM and cpu:  # an emulated CPU may stand still between the kernel's clock and the program's
            cpu = {tid: (least - 10_000_000, most + 10_000_000) for tid, (least, most) in cpu.items()}
        faults = kdbooks.book_faults(report, cpu, late)
        if VM and faults and all("is more than the ledger's" in fault for fault in faults):
            self.skip("the books", "a run is longer than its parts: this machine's clock goes back")
            return
        self.ok(not faults, "the books balance", *faults[:12])
        if losses:
            return
        told = losses_told(report)
        self.ok(not told, "nothing is lost", *told)
        if any("skipped by the kernel" in text for text in report.warnings) and not told:
            self.skip("no run is skipped", "the kernel interrupts or preempts programs")

    def start(self, child):
        self.stack.callback(child.end)
        return child

    def child(self, argv, **options):
        return self.start(Child(argv, **options))

    def workload(self, name, *args, **options):
        return self.start(Workload(name, *args, **options))

    def capture(self, pid, *args, **options):
        return self.start(Capture(pid, *args, **options))

    def sample(self, pid, while_open):
        """The sample in JSON of a window that is open for as long as a function takes."""
        path = self.directory() / "sample.json"
        capture = self.capture(pid, "-o", "text", "-o", f"json:{path}")
        while_open()
        self.books(capture.close(self))
        self.eq(capture.stderr, "", "nothing is said")
        return samples_of(path)[0]

    def program(self, *args, wrapper=(), **options):
        """Runs kernel_delay to its end."""
        return Finished(self.child([*wrapper, PROGRAM, *args],
                                   **{"stdin": subprocess.DEVNULL, **options}))

    def directory(self):
        return pathlib.Path(self.stack.enter_context(tempfile.TemporaryDirectory(prefix="kdtest")))

    def preload(self, source, *flags):
        """The path of a library for LD_PRELOAD, compiled from C source that overrides functions of
        other libraries."""
        folder = self.directory()
        (folder / "preload.c").write_text(source)
        if not shutil.which("cc"):
            raise Skip("cc is not installed")
        subprocess.run(["cc", "-shared", "-fPIC", *flags, "-o", folder / "preload.so",
                        folder / "preload.c"], check=True)
        return str(folder / "preload.so")

    def run(self, case):
        self.case = case.__name__.replace("case_", "").replace("_", " ")
        try:
            with self.stack:
                case(self)
        except Skip as why:
            self.skip("the rest", str(why))
        except Exception:  # pylint: disable=broad-except
            self.result(False, "runs to its end")
            self.remark(traceback.format_exc())


def main(*cases, root=True):
    if root and os.geteuid():
        print("1..0 # SKIP not root: tracing is not permitted")
        return
    if not os.access(PROGRAM, os.X_OK):
        print(f"Bail out! {PROGRAM} is missing: run make first")
        sys.exit(1)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda number, frame: sys.exit(128 + number))
    test = Test()
    atexit.register(test.stack.close)
    for case in cases:
        if len(sys.argv) < 2 or case.__name__ in sys.argv[1:]:
            test.run(case)
    print(f"1..{test.count}")
    sys.exit(1 if test.failed else 0)


def free_port(address="127.0.0.1"):
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as found:
        found.bind((address, 0))
        return found.getsockname()[1]


def threads_of(pid):
    return sorted(int(name) for name in os.listdir(f"/proc/{pid}/task"))


def samples_of(path):
    """The samples in a JSON file so far."""
    lines = path.read_text().split("\n")[:-1] if path.exists() else []
    return [found for found in map(json.loads, lines) if found.get("type") == "sample"]


def thread_of(sample, tid):
    """A thread in JSON."""
    return next(thread for thread in sample["threads"] if thread["tid"] == tid)


def thread_name(pid, tid):
    return pathlib.Path(f"/proc/{pid}/task/{tid}/comm").read_text(errors="replace")[:-1]


def until_run(pid, tid):
    """Waits until a thread has run: by then it has come to where it was sent."""
    before, end = schedstat(pid, tid)[0], time.monotonic() + PATIENCE
    while schedstat(pid, tid)[0] == before and time.monotonic() < end:
        time.sleep(0.002)


@contextlib.contextmanager
def real_time(pid, tid, priority=10):
    """Gives a thread a real-time priority for a while, once it has started to run with it: one that
    had it from the beginning would also delay the start of the program that watches it."""
    RealTime.begin()
    try:
        os.sched_setscheduler(tid, os.SCHED_FIFO, os.sched_param(priority))
        until_run(pid, tid)
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.sched_setscheduler(tid, os.SCHED_OTHER, os.sched_param(0))
        RealTime.end()


def cpu_clock(pid):
    """The clock of a process's CPU time, as clock_getcpuclockid(3) gives it."""
    return ~pid << 3 | 2


def schedstat(pid, tid):
    """(time on CPU, time in a run queue) of a thread, ns since its birth."""
    text = pathlib.Path(f"/proc/{pid}/task/{tid}/schedstat").read_text()
    ran, waited, _ = map(int, text.split())
    return ran, waited


def awake(pid, tid):
    """How long a thread has run or waited for a CPU, in ns; the kernel omits its waiting when it is
    preempted on the way to sleep (sched_info_depart())."""
    return sum(schedstat(pid, tid))


def turns(pid, tid):
    """How often a thread was given a CPU."""
    return int(pathlib.Path(f"/proc/{pid}/task/{tid}/schedstat").read_text().split()[2])


def status_field(pid, field):
    text = pathlib.Path(f"/proc/{pid}/status").read_text(errors="replace")
    match = re.search(rf"^{field}:\s*(\S+)", text, re.MULTILINE)
    return match[1] if match else None


def state_of(pid, tid):
    """The letter of a thread's state, or None if there is no such thread."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        stat = pathlib.Path(f"/proc/{pid}/task/{tid}/stat").read_text(errors="replace")
        return stat.rpartition(")")[2].split()[0]
    return None


def waits_in(pid, function):
    """Whether a process waits in a kernel function whose name contains this. Some kernels leave
    wchan empty (5.10), others have no stack to show."""
    text = ""
    for name in ("wchan", "stack"):
        with contextlib.suppress(OSError):
            text += pathlib.Path(f"/proc/{pid}/{name}").read_text()
    return function in text


def has_open(pid, what):
    """Whether a process has a file open whose name, as /proc has it, contains this."""
    for link in pathlib.Path(f"/proc/{pid}/fd").glob("*"):
        with contextlib.suppress(OSError):
            if what in os.readlink(link):
                return True
    return False


def fdinfo(pid):
    """The fields {key: value} in /proc for each descriptor of a process, except any closed
    meanwhile."""
    for path in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir():
        with contextlib.suppress(FileNotFoundError):
            yield dict(re.findall(r"^(\w+):\s*(\S+)", path.read_text(), re.MULTILINE))


def processes_named(name):
    """PIDs of the processes that have this name now."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/comm"):
        with contextlib.suppress(OSError):
            if path.read_bytes() == name.encode() + b"\n":
                found.append(int(path.parent.name))
    return found


def switches(pid, tid, kinds=("voluntary", "nonvoluntary")):
    """The kernel's count of a thread's context switches."""
    return sum(int(status_field(f"{pid}/task/{tid}", f"{kind}_ctxt_switches"))
               for kind in kinds)


def switches_of(pid):
    """{TID: (voluntary, involuntary)} of all threads."""
    return {tid: (switches(pid, tid, ("voluntary",)), switches(pid, tid, ("nonvoluntary",)))
            for tid in threads_of(pid)}


def wall_ahead():
    """By how much the wall clock is ahead of CLOCK_MONOTONIC, in ns; read again if this process was
    delayed between the two."""
    found = []
    while len(found) < 100 and (not found or min(found)[0] > 20_000):
        before, wall, after = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
        found.append((after - before, wall - (before + after) // 2))
    return min(found)[1]


def steal_ns():
    """Time that the hypervisor took from all CPUs, in whole ticks."""
    fields = pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()
    ticks = int(fields[8])
    return ticks * SECOND // os.sysconf("SC_CLK_TCK")


def interrupts(row, cpu):
    """The count of /proc/interrupts or /proc/softirqs for one row and CPU."""
    for name in ("/proc/interrupts", "/proc/softirqs"):
        lines = pathlib.Path(name).read_text().splitlines()
        column = lines[0].split().index(f"CPU{cpu}")
        for line in lines[1:]:
            fields = line.split()
            if fields[0] == row + ":":
                return int(fields[1 + column])
    return None


def ticks(pid, tid):
    """utime and stime, in ticks by what each tick found the thread doing."""
    fields = pathlib.Path(f"/proc/{pid}/task/{tid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]), int(fields[12])


def last_cpu():
    return max(os.sched_getaffinity(0))


def wait_until(happened, patience=PATIENCE):
    """Waits until a function returns something true, and returns that. Polling takes a fifth of a
    CPU at most: what is awaited may need the only one."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        used = time.thread_time()
        value = happened()
        if value:
            return value
        time.sleep(max(0.01, 4 * (time.thread_time() - used)))
    raise TimeoutError(f"{happened} did not come true in {patience} s")
