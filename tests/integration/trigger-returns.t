#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tests/run: long
"""Returns of functions where a return probe would kill the process: in Go, and in C++ that throws.
The processes survive, and their windows are those that they log themselves."""

import ctypes
import json
import os
import pathlib
import re
import subprocess

import kdneeds
import kdtest
from kdneeds import tool
from kdtest import MS
from kdtrigger import NO_LIMIT, UNLIMITED, certainly, compiled, reported_once, Triggered


WORKLOADS = kdtest.ROOT / "tests" / "workloads"
SECONDS = 1  # again until there are enough calls
CALLS, WINDOWS = 500, 10
LONG = 4 * MS


def go_program(test):
    """Built with a persistent cache: without one the whole runtime would be compiled each time."""
    path = test.directory() / "kdtest-go"
    path.parent.chmod(0o755)
    subprocess.run([tool("go"), "build", "-o", path, WORKLOADS / "returns.go"], check=True,
                   env={**os.environ, "GOCACHE": str(kdtest.ROOT / "build" / "go"),
                        "GO111MODULE": "off", "CGO_ENABLED": "0"})
    return path


def cxx_program(test):
    return compiled(test, WORKLOADS / "thrower.cc", "kdtest-thrower",
                    compiler=os.environ.get("CXX", "c++"))


def both(function):
    return ("--start-trigger", f"up:{function}", "--stop-trigger", f"ur:{function}")


def windows_of(calls):
    """The windows according to a log: a call that throws has no stop, so its window ends with the
    next one that returns."""
    windows, first = [], None
    for before, begin, end, after, thrown in calls:
        first = first or (before, begin)
        if not thrown:
            windows.append((*first, end, after))
            first = None
    return windows


class Alive:
    """A process with a function that is probed while it works."""

    def __init__(self, test, path, function):
        self.test, self.load = test, test.workload(str(path))
        self.run = Triggered(test, self.load.pid, *both(function), "--trigger-delta",
                             f"{LONG}ns", "--window-banks", "7", *UNLIMITED, *NO_LIMIT, urgent=True)

    def check(self, name):
        calls = []
        while len(calls) <= CALLS or certainly(windows_of(calls), LONG)[0] <= WINDOWS:
            if calls:
                self.load.send(f"go {SECONDS}")
            calls += json.loads(self.load.line("{"))["calls"]
        windows = windows_of(calls)
        run = self.run.stop(self.test)
        # If the last call of all has thrown, its window is still open, and the signal ends it.
        reports = [report for report in run.reports if report.delta is not None]
        returned = sum(not call[4] for call in calls)
        starts, stops = (run.triggers.roles[role].hits for role in ("start", "stop"))
        self.test.eq(stops, returned, f"{name}: each call that returns is a hit of the stop")
        self.test.ok(starts >= len(calls), f"{name}: each call is a hit of the start", starts,
                     len(calls))
        self.test.ok(len(reports) > WINDOWS, f"{name}: there were many", len(calls), len(reports))
        # All banks may be full while this program waits for a CPU, which it counts.
        reported_once(self.test, reports, windows, LONG, f"{name}: long call", run.triggers.roles["start"].missed)
        self.load.send("end")
        self.test.eq(self.load.wait(), 0, f"{name}: it lives and ends as it should")


def check_way(test, pid, function, said, *args, count=None):
    """--check says how returns are caught, and at how many places."""
    done = test.program("-p", pid, "--check", *both(function), *args)
    lines = [line for line in done.stdout.split(f"stop ur:{function}")[1].splitlines()[1:]
             if "  at 0x" in line]  # the others say what they cost
    test.eq(done.status, 0, f"--check of {function} succeeds")
    test.ok(lines and all(said in line for line in lines) and count in (None, len(lines)),
            f"and says of {function}: {said}", *lines, done.stderr)


def case_alive(test):
    """Both programs at the same time."""
    programs = [cxx_program(test)]
    try:
        programs.append(go_program(test))
    except kdtest.Skip as why:
        test.skip("Go", str(why))
    functions = ("probed", "main.probed")
    alive = [Alive(test, *each) for each in zip(programs, functions)]
    why = ("an exception may leave the function", "Go moves its stacks")
    for each, function, reason in zip(alive, functions, why):
        check_way(test, each.load.pid, function, f"a return instruction ({reason})")
        check_way(test, each.load.pid, function, "by a return probe", "--unsafe-returns", count=1)
        each.load.send(f"go {SECONDS}")
    for each, function in zip(alive, functions):
        done = test.program("-p", each.load.pid, "--check", *both(function),
                            "--trigger-same-thread")
        test.eq("goroutines move between threads" in done.stderr, function == "main.probed",
                f"whether --trigger-same-thread warns of goroutines: {function}")
    for each, name in zip(alive, ("C++", "Go")):
        each.check(name)


def case_refused(test):
    """Functions that can be left in other ways than by returning."""
    load = test.workload(str(cxx_program(test)))
    done = test.program("-p", load.pid, "--check", "--stop-trigger", "ur:tail_call")
    test.eq(done.status, 78, "a function that ends in another one is refused")
    test.ok("it jumps to thrower" in done.stderr and "exception" in done.stderr and
            ",unsafe-returns" in done.stderr, "the other one, the reason and the way out are told",
            done.stderr)
    done = test.program("-p", load.pid, "--check", "--stop-trigger", "ur:tail_call",
                        "--unsafe-returns")
    test.eq(done.status, 0, "unless the danger is accepted")
    # A shared object beside them may call back those who throw.
    check_way(test, load.pid, "libc.so.6:qsort_r", "a return instruction")


def case_plain(test):
    """C without exceptions keeps its return probes."""
    load = test.workload("caller", "sleeper")
    check_way(test, load.pid, "probed_call", "by a return probe", count=1)
    check_way(test, load.pid, "libc.so.6:qsort_r", "by a return probe", count=1)


def case_no_decoder(test):
    """The decoder is loaded only for such functions; where it is missing the report says so."""
    name = re.search(rb"libcapstone\.so\.\d+", pathlib.Path(kdtest.PROGRAM).read_bytes())[0].decode()
    ctypes.CDLL(name)
    path = next(line.split()[-1] for line in pathlib.Path("/proc/self/maps").read_text().splitlines()
                if "libcapstone" in line)
    hidden = ("unshare", "-m", "sh", "-c", f"mount --bind /dev/null '{path}' && exec \"$@\"", "sh")
    load = test.workload(str(cxx_program(test)))
    done = test.program("-p", load.pid, "--check", *both("thrower"), wrapper=hidden)
    test.eq(done.status, 71, "without a decoder: the status")
    test.ok(f"cannot be found without {name}" in done.stderr and "install" in done.stderr,
            "what is missing is named", done.stderr)
    done = test.program("-p", load.pid, "--sample-time", "10ms", wrapper=hidden)
    test.eq((done.status, done.stderr), (0, ""), "a run that needs none has none")


# --- Names of functions in C++ ---
#
# Functions of C++ as triggers, by their names as they are written: hits as often as the program
# counted its calls. And versions of functions.

NONE = ("--trigger-delta", "1min", *UNLIMITED, *NO_LIMIT)  # hits are counted, no window is kept

# What stands for which of the program's counts, summed up.
NAMES = {
    "ns::Foo<int>::bar": ("bar<int>",),
    "ns::Foo<long>::bar(long)": ("bar<long>",),
    "ns::Foo<*>::bar": ("bar<int>", "bar<long>"),
    "ns::Foo<int>::operator+": ("plus",),
    "ns::over(int)": ("over(int)",),
    "ns::over(char const*,unsigned int)": ("over(text)",),
    "kdtest-cxx:ns::over*": ("over(int)", "over(text)"),
    "ns::Made::Made": ("Made",),
}


def begin(test):
    path = compiled(test, WORKLOADS / "overloads.cc", "kdtest-cxx",
                    compiler=os.environ.get("CXX", "c++"))
    return test.workload(str(path))


def case_hits(test):
    load = begin(test)
    names = list(NAMES)
    for start, stop in zip(names[::2], names[1::2]):
        run = Triggered(test, load.pid, "--start-trigger", f"up:{start}", "--stop-trigger",
                        f"up:{stop}", *NONE)
        before, after = load.ask("go"), load.ask("go")
        run = run.stop(test)
        for role, name in (("start", start), ("stop", stop)):
            made = 2 * sum(after[key] - before[key] for key in NAMES[name])
            test.eq(run.triggers.roles[role].hits, made, f"{name}: hits")


def case_errors(test):
    """An ambiguous name is refused with a list of the functions and their parameters."""
    load = begin(test)
    for trigger in ("up:ns::over", "up:ns::over+4"):
        done = test.program("-p", load.pid, "--start-trigger", trigger)
        test.eq(done.status, 78, f"{trigger}: refused")
        more = trigger.removeprefix("up:ns::over").replace("4", "0x4")
        test.ok(f"up:kdtest-cxx:ns::over(int){more}, "
                f"up:kdtest-cxx:ns::over(char const*, unsigned int){more}" in done.stderr,
                f"{trigger}: both are named", done.stderr)
    done = test.program("-p", load.pid, "--start-trigger", "up:ns::Foo<int>::baz")
    test.eq(done.status, 78, "no such function")


def case_list(test):
    load = begin(test)
    done = test.program("-p", load.pid, "--list-probes=*ns::over*")
    lines = [line for line in done.stdout.splitlines() if not line.startswith("#")]
    test.eq(lines, ["up:ns::over(char const*, unsigned int)", "up:ns::over(int)"],
            "--list-probes has them by what its pattern matches")
    for line in lines:
        checked = test.program("-p", load.pid, "--check", "--start-trigger", line)
        test.ok(not checked.status and " 1 site," in checked.stdout, f"{line} is a trigger",
                checked.stdout, checked.stderr)


def case_versions(test):
    """NAME@VERSION, as nm prints it, means exactly that version."""
    kdneeds.need("nm")
    load = test.workload("roles", "poll")
    libc = re.search(r"/\S+/libc\.so\.6$", pathlib.Path(f"/proc/{load.pid}/maps").read_text(), re.M)
    lines = subprocess.run(["nm", "-D", libc[0]], capture_output=True, text=True, check=True).stdout
    found = re.findall(r"^0*(\w+) T ((\w+)(@+)\S+)$", lines, re.M)
    old = {name: (address, text) for address, text, name, at in found if at == "@"}
    both = [(old[name], (address, text)) for address, text, name, at in found
            if at == "@@" and name in old and old[name][0] != address]
    if not both:
        raise kdtest.Skip("this C library has no function in two versions")
    for address, text in both[0]:
        sites = [re.findall(r"at (0x\w+) of", test.program(
            "-p", load.pid, "--check", "--start-trigger", f"up:libc.so.6:{what}").stdout)
            for what in (text, "0x" + address)]
        test.ok(len(sites[0]) == 1 and sites[0] == sites[1], f"{text} is at {address}", sites)
    wrong = both[0][0][1].replace("@", "@@")
    done = test.program("-p", load.pid, "--start-trigger", f"up:libc.so.6:{wrong}")
    test.ok(done.status == 78 and f":{both[0][0][1]}," in done.stderr.replace("\n", ","),
            f"{wrong}: the right one is suggested", done.stderr)


kdtest.main(case_alive, case_refused, case_plain, case_no_decoder, case_hits, case_errors,
            case_list, case_versions)
