# SPDX-License-Identifier: Apache-2.0
"""What the benchmark's figures share: processes that are ended in any case, what the kernel reports
about a process, and the table."""

import atexit
import os
import pathlib
import re
import select
import shutil
import signal
import statistics
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / os.environ.get("BUILD", "build")
QUICK = bool(os.environ.get("QUICK"))
PATIENCE = 60  # seconds for a process to say what is waited for
LONG = "10min"  # longer than any figure takes
MB = 1_000_000
MMAPABLE = 0x400  # BPF_F_MMAPABLE

CPUS = sorted(os.sched_getaffinity(0))
LOAD_CPU, OTHER_CPU = CPUS[-1], CPUS[0]


class Missing(Exception):
    """A figure, or a part of one, that this machine cannot provide; the text says why."""


class Process:
    """A process whose output is read here, with the time at which it arrives."""

    running = []

    def __init__(self, argv, cpus=None, pipe_size=1 << 20, name=None, **environment):
        self.argv = [str(arg) for arg in argv]
        self.name = name or pathlib.Path(argv[0]).name
        self.errors = tempfile.TemporaryFile()
        self.began = 0
        own = os.sched_getaffinity(0)
        try:
            if cpus:
                os.sched_setaffinity(0, cpus)
            self.began = time.monotonic()
            self.proc = subprocess.Popen(self.argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         stderr=self.errors, pipesize=pipe_size,
                                         env={**os.environ, **environment})
        except OSError as error:
            raise Missing(f"{self.name}: {error.strerror}") from None
        finally:
            os.sched_setaffinity(0, own)
        self.pid = self.proc.pid
        self.buffer = b""
        self.passed = ""  # the last line that was not waited for
        self.data_at = self.began  # when the last data came
        Process.running.append(self)

    def read(self, size=1 << 20, patience=PATIENCE):
        """The next data, empty at the end of it."""
        if not select.select([self.proc.stdout], [], [], patience)[0]:
            raise Missing(f"{self.name} said nothing for {patience} s")
        data = os.read(self.proc.stdout.fileno(), size)
        if data:
            self.data_at = time.monotonic()
        return data

    def line(self, start=b"", patience=PATIENCE, size=1 << 20):
        """Skips lines until one begins with this; returns (when it came, its text)."""
        while True:
            line, newline, rest = self.buffer.partition(b"\n")
            if newline:
                self.buffer = rest
                text = line.decode(errors="replace")
                if line.startswith(start):
                    return self.data_at, text
                self.passed = text.strip() or self.passed
                continue
            data = self.read(size, patience)
            if not data:
                self.proc.wait(PATIENCE)
                raise Missing(f"{self.name} ended early: {self.passed or self.last_error()}")
            self.buffer += data

    def rest(self):
        """All output up to the end."""
        parts = [self.buffer]
        while parts[-1] or len(parts) == 1:
            parts.append(self.read())
        return b"".join(parts)

    def send(self, line):
        self.proc.stdin.write(line.encode() + b"\n")
        self.proc.stdin.flush()

    def last_error(self):
        """The last line on stderr that has any content."""
        self.errors.seek(0)
        lines = self.errors.read().decode(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()),
                    f"status {self.proc.returncode}")

    def finish(self):
        """Reads the remaining output, waits for the end and returns the status."""
        while self.read():
            pass
        return self.proc.wait(PATIENCE)

    def stop(self, number=signal.SIGINT):
        """Ends the process, if necessary by force."""
        try:
            if self.proc.poll() is None:
                self.proc.send_signal(number)
                self.proc.stdin.close()
                self.finish()
        except (Missing, OSError, subprocess.TimeoutExpired):
            pass
        finally:
            self.kill()

    def kill(self):
        if self.proc.poll() is None:
            self.proc.kill()
        self.proc.wait()
        self.errors.close()
        self.proc.stdout.close()
        if self in Process.running:
            Process.running.remove(self)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


@atexit.register
def kill_all():
    for process in list(Process.running):
        process.kill()


def kernel_delay(pid, *options, **how):
    """kernel_delay, with all threads in the report."""
    return Process([BUILD / "kernel_delay", "-p", pid, "--full", *options], **how)


class Load(Process):
    """bench_load of tests/workloads/bench.c on the last CPU."""

    def __init__(self):
        super().__init__([BUILD / "workloads" / "bench_load", LOAD_CPU, OTHER_CPU])
        self.line(b"ready")

    def begin(self, kind, ms):
        self.send(f"{kind} {ms}")

    def run(self, kind, ms):
        """Returns how often the load ran, and the ns that this took."""
        self.begin(kind, ms)
        count, ns = self.line()[1].split()
        return int(count), int(ns)

    def ns_each(self, kind, ms):
        count, ns = self.run(kind, ms)
        return ns / count


class Threads(Process):
    """bench_threads of tests/workloads/bench.c."""

    def __init__(self, count, **how):
        super().__init__([BUILD / "workloads" / "bench_threads", count], **how)
        self.line(b"ready")

    def go(self):
        self.send("go")
        return self.line(b"done")[0]


def fdinfo(pid, kind):
    """{ID: fields} of the BPF programs (kind "prog") or maps ("map") of a process."""
    found = {}
    for path in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir():
        try:
            text = path.read_text()
        except FileNotFoundError:  # closed meanwhile
            continue
        fields = dict(re.findall(r"^(\w+):\s*(.*)$", text, re.MULTILINE))
        if f"{kind}_type" in fields:
            found[int(fields[f"{kind}_id"])] = fields
    return found


def names():
    """{("prog", ID): [name, BTF ID, tracepoint], ("map", ID): [name]}"""
    said = subprocess.run([BUILD / "bench" / "names"], stdout=subprocess.PIPE, text=True,
                          check=True).stdout
    lines = [line.split() for line in said.splitlines()]
    return {(kind, int(number)): rest for kind, number, *rest in lines}


def run_times(pid, name_of, key=lambda name, tracepoint: tracepoint):
    """{tracepoint: (ns, runs)} of the BPF programs of a process; name_of: what names() said. The
    kernel counts what others go on with as theirs."""
    found = {}
    for number, fields in fdinfo(pid, "prog").items():
        name, _, tracepoint = name_of["prog", number]
        ns, runs = found.get(key(name, tracepoint), (0, 0))
        found[key(name, tracepoint)] = (ns + int(fields["run_time_ns"]),
                                        runs + int(fields["run_cnt"]))
    return found


def memory(pid, field="VmHWM"):
    """Bytes, of /proc/PID/status."""
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    found = re.search(rf"^{field}:\s*(\d+) kB", text, re.MULTILINE)
    return int(found[1]) * 1024 if found else 0


def resident(pid):
    """Resident bytes by kind of mapping: BPF maps, files, the rest."""
    total = {"maps": 0, "files": 0, "private": 0}
    kind = "private"
    for line in pathlib.Path(f"/proc/{pid}/smaps").read_text().split("\n"):
        head = re.match(r"[0-9a-f]+-[0-9a-f]+ \S+ \S+ \S+ \d+\s*(.*)$", line)
        if head:
            kind = ("maps" if "bpf-map" in head[1] else
                    "files" if head[1].startswith("/") else "private")
        elif line.startswith("Rss:"):
            total[kind] += int(line.split()[1]) * 1024
    return total


class Table:
    """A table that is printed as it grows, and kept in a file."""

    def __init__(self, path):
        path.parent.mkdir(exist_ok=True)
        self.file = open(path, "w", encoding="utf-8")
        self.judged = []
        self.began = time.monotonic()
        self.say(f"{'':<50}{'MEDIAN':>12}{'MIN':>12}{'MAX':>12}  {'UNIT':<6}GOAL")

    def say(self, line=""):
        print(line, flush=True)
        print(line, file=self.file, flush=True)

    def section(self, title):
        self.say()
        self.say(title)

    def row(self, what, values, unit, digits=1, goal=None, name=None):
        """One figure in all its rounds; the goal is the most that its median may be. The last line
        refers to the figure by its name."""
        middle = statistics.median(values)
        # Plus 0.0, so that nothing is printed as -0.
        numbers = "".join(f"{round(value, digits) + 0.0:>12,.{digits}f}"
                          for value in (middle, min(values), max(values)))
        verdict = ""
        if goal is not None:
            # What is printed is what is judged.
            met = round(middle, digits) <= goal
            verdict = f"<= {goal:,.{digits}f} {'met' if met else 'MISSED'}"
            self.judged.append((name or what.strip(), met))
        self.say(f"  {what:<48}{numbers}  {unit:<6}{verdict}".rstrip())

    def lack(self, what, reason):
        self.say(f"  {what:<48}{'-':>12}  {reason}")

    def close(self, path):
        missed = [what for what, met in self.judged if not met]
        self.say(f"\n{time.monotonic() - self.began:.0f} s")
        self.section(f"{len(self.judged) - len(missed)} of {len(self.judged)} goals met"
                     + (f"; missed: {'; '.join(missed)}" if missed else ""))
        self.file.close()
        print(f"written to {path}")


def tool_path(*candidates):
    return next((path for path in map(shutil.which, candidates) if path), None)
