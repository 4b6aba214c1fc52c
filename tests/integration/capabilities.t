#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The smallest sets of capabilities: a user who has only those that the manual page names for a
question gets its answer, about a process of somebody else; with one fewer, the program names it, or
what the report lacks is what the page says."""

import json
import os
import pathlib
import re
import shutil
import signal
import time
import urllib.request

import kdtest
from kdneeds import tool, tracefs

MAN = kdtest.ROOT / "man" / "kernel_delay.8"
USER, OTHER = 61236, 61237
EACH, STACKS, ENDS, NAMES, PROBES, EVENTS, PARANOID, CLOSED, HIDDEN = (
    "each run", "user stacks (-s, --off-cpu, --profile)",
    "which files, pipes and sockets are waited for, and who is at the other end",
    "names of kernel functions in stacks", "u:, up:, ur:", "t:, --long-poll",
    "kernel.perf_event_paranoid of 3 or more", "files that are closed to this user", "/proc mounted with hidepid")
ONE = ("--sample-time", "1ms", "--sample-count", "1")
SHORT = ("--sample-time", "100ms")


def documented():
    """{row: capabilities} from the table in the manual page. What only some kernels need, and what
    the row adds for special cases, is left out."""
    text = re.sub(r"\\f.", "", MAN.read_text(encoding="ascii").replace("\\-", "-"))
    text = text.split("\n.SS Capabilities\n")[1].split("\n.PP\n")[0]
    rows = dict(entry.split("\n", 1) for entry in text.split("\n.TP\n")[1:])
    return {row: re.findall(r"CAP_\w+", re.split(r"; | for ", needs)[0]) for row, needs in rows.items()}


def release():
    return tuple(map(int, re.findall(r"\d+", os.uname().release)[:2]))


def needed(*rows):
    """Capabilities for some rows on this machine."""
    table, more = documented(), []
    if int(pathlib.Path("/proc/sys/kernel/perf_event_paranoid").read_text(encoding="ascii")) >= 3:
        more += table[PARANOID]
    if kdtest.preempts_programs():
        more += table[EVENTS]
    if PROBES in rows and release() < (6, 13):
        more.append("CAP_SYS_ADMIN")
    return list(dict.fromkeys(sum((table[row] for row in (EACH, *rows)), more)))


def as_user(uid, names=()):
    """A wrapper that runs a program as another user with these capabilities."""
    words = ",".join(["-all", *("+" + name.removeprefix("CAP_").lower() for name in names)])
    # Before Linux 5.11 maps of BPF are locked memory.
    return ["sh", "-c", 'ulimit -l unlimited 2>/dev/null; exec "$@"', "sh", tool("setpriv"), "--reuid", str(uid),
            "--regid", str(uid), "--clear-groups", f"--bounding-set={words}", f"--inh-caps={words}",
            f"--ambient-caps={words}"]


class Stage:
    """Copies of programs that anybody may execute."""

    def __init__(self, test):
        self.test, self.folder = test, test.directory()
        self.folder.chmod(0o755)
        self.program = shutil.copy(kdtest.PROGRAM, self.folder / "kernel_delay")

    def load(self, name, *args):
        """A workload of somebody else."""
        path = shutil.copy(kdtest.WORKLOADS / name, self.folder / name)
        return self.test.workload(str(path), *args, wrapper=as_user(OTHER))

    def run(self, names, *args, wrapper=(), meanwhile=None, user=USER):
        """(status, output, errors) of a run with these capabilities."""
        run = self.test.child([*wrapper, *as_user(user, names), self.program, *args], full=False)
        if meanwhile:
            meanwhile(run)
        return run.wait(), run.stdout, run.stderr


def fewer(names):
    """Each capability, and the others; not those for which another one stands in."""
    spared = ("CAP_BPF", "CAP_PERFMON") if "CAP_SYS_ADMIN" in names else ()
    return [(name, [other for other in names if other != name]) for name in names if name not in spared]


def check(test, what, rows, run, good, **without):
    """Runs with what is needed, and without each of it. without: those whose lack a report shows, and
    those that some kernels do not need."""
    # Times of page faults are missing without it where perf's events need it.
    without = {"CAP_SYS_ADMIN": lambda done: "CAP_SYS_ADMIN is missing" in done[2], **without}
    names = needed(*rows)
    done = run(names)
    test.ok(good(done), f"{what}: {', '.join(names)} are enough", *(str(part)[:1500] for part in done))
    for name, rest in fewer(names):
        done = run(rest)
        if name in without and done[0] == 0:
            test.ok(without[name](done), f"{what}: what is lost without {name}", done[1][:1500])
        else:
            test.ok(done[0] == 77 and re.search(f"{name} is missing|grant {name}", done[2]),
                    f"{what}: without {name} it is refused", *(str(part)[:500] for part in done))


def samples(done):
    return [each for each in map(json.loads, done[1].splitlines()) if each["type"] == "sample"]


def nameless(done):
    """Whether a report says that descriptors are but numbers."""
    return any("numbers of descriptors only" in row["what"] for row in samples(done)[0]["absent"])


def sampled(done):
    return (done[0], len(samples(done)) if done[1].startswith("{") else 0) == (0, 1)


def functions(done):
    return {frame.get("function") for each in samples(done) for stack in each["traces"]["stacks"]
            for frame in stack["frames"]} if done[0] == 0 else set()


def sleeper(stage):
    load = stage.load("caller", "sleeps:60000:200:1:500")
    load.send("go")
    return load


def case_each_run(test):
    stage = Stage(test)
    load = sleeper(stage)
    check(test, "time of threads", (), lambda names: stage.run(names, "-p", load.pid, *SHORT, "-o", "json"), sampled)
    for more in (["--interruptions", "--histogram", "--resources"], ["--record"]):
        done = stage.run(needed(), "-p", load.pid, *SHORT, "-o", "json", *more)
        test.ok(sampled(done), f"{more[0]}: no more is needed", *done)

    def scrape(run):
        def answer():
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=kdtest.PATIENCE) as page:
                    return b"kernel_delay_thread_seconds_total" in page.read()
            except OSError:
                return run.proc.poll() is not None
        kdtest.wait_until(answer)
        test.ok(run.proc.poll() is None, "--listen: it answers", run.stderr)
        run.signal(signal.SIGTERM)
    port = kdtest.free_port()
    done = stage.run(needed(), "-p", load.pid, *SHORT, "--sample-count", 0, "--listen", port, meanwhile=scrape)
    test.eq(done[0], 0, "--listen: no more is needed")


def case_stacks(test):
    stage = Stage(test)
    load = sleeper(stage)

    def run(names):
        return stage.run(names, "-p", load.pid, *SHORT, "-s", "0", "-o", "json")
    check(test, "user stacks", (STACKS,), run, lambda done: "worker_main" in functions(done),
          CAP_SYS_PTRACE=lambda done: release() > (6, 12))

    def hidden(done):
        return samples(done)[0]["traces"]["kernel_symbols_hidden"]
    check(test, "kernel functions", (STACKS, NAMES), run, lambda done: "do_nanosleep" in functions(done),
          CAP_SYS_PTRACE=lambda done: not hidden(done), CAP_SYSLOG=hidden)


def case_descriptors(test):
    """A report says that descriptors are but numbers; not to the process's own user, nor without need."""
    stage = Stage(test)
    load = sleeper(stage)
    for names, user, want in ((needed(), USER, True), (needed(ENDS), USER, False), (needed(), OTHER, False)):
        done = stage.run(names, "-p", load.pid, *SHORT, "-o", "json", user=user)
        test.eq((done[0], nameless(done)), (0, want), f"{', '.join(names)}, as user {user}")


def case_other_end(test):
    stage, ends = Stage(test), os.pipe()
    load = test.child([*as_user(OTHER), "yes"], stdout=ends[1])
    kdtest.wait_until(lambda: kdtest.waits_in(load.pid, "pipe"))
    found = f"[{os.getpid()}], at the other end"

    def run(names):
        return stage.run(names, "-p", load.pid, *SHORT, "--summary")

    def lacking(done):
        return "waited for a pipe that is full (fd 1)." in done[1]
    check(test, "the other end", (ENDS,), run, lambda done: found in " ".join(done[1].split()),
          **dict.fromkeys(documented()[ENDS], lacking))


def case_functions(test):
    stage = Stage(test)
    load = sleeper(stage)

    def run(names, wrapper=()):
        return stage.run(names, "-p", load.pid, "--start-trigger", "up:probed_call", "--stop-trigger", "ur:probed_call",
                         *ONE, "-o", "json", wrapper=wrapper)
    check(test, "functions", (PROBES,), run, sampled)
    (stage.folder / "caller").chmod(0o700)
    check(test, "functions of a closed file", (PROBES, CLOSED), run, sampled)
    hidden = ("unshare", "-m", "sh", "-c", 'mount -t proc -o hidepid=2 proc /proc && exec "$@"', "sh")
    check(test, "a hidden process", (HIDDEN,), lambda names: stage.run(
        names, "-p", load.pid, *SHORT, "-o", "json", wrapper=hidden), sampled)


def case_probes(test):
    stage = Stage(test)
    load = stage.load("sdt")
    if "without" in load.ready:
        raise kdtest.Skip("built without <sys/sdt.h>")

    def hit(run):
        while run.proc.poll() is None:
            load.send("one 1")
            load.line("done")
            time.sleep(0.01)
    check(test, "USDT", (PROBES,), lambda names: stage.run(
        names, "-p", load.pid, "--start-trigger", "u:kdtest:one", *ONE, "-o", "json", meanwhile=hit), sampled)


def case_tracepoints(test):
    tracefs()
    stage = Stage(test)
    load = sleeper(stage)
    event = "t:syscalls:sys_enter_clock_nanosleep"
    check(test, "tracepoints", (EVENTS,), lambda names: stage.run(
        names, "-p", load.pid, "--start-trigger", event, *ONE, "-o", "json"), sampled)
    load = stage.load("poller", "poll:60000:0:60")
    load.send("go")
    check(test, "--long-poll", (EVENTS,), lambda names: stage.run(
        names, "-p", load.pid, "--long-poll=1us", "--sample-count", 1, "-o", "json"), sampled)


def case_kernel_functions(test):
    if not pathlib.Path("/sys/bus/event_source/devices/kprobe").exists():
        raise kdtest.Skip("this kernel has no kernel probes")
    stage = Stage(test)
    load = sleeper(stage)
    for function in ("__x64_sys_clock_nanosleep", "__x64_sys_clock_nanoslee*"):
        check(test, f"k:{function}", (), lambda names, function=function: stage.run(
            names, "-p", load.pid, "--start-trigger", f"k:{function}", *ONE, "-o", "json"), sampled)


kdtest.main(case_each_run, case_stacks, case_descriptors, case_other_end, case_functions, case_probes, case_tracepoints,
            case_kernel_functions)
