#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Functions of C++ as triggers, by their names as they are written: hits as often as the program
counted its calls. And versions of functions."""

import json
import os
import pathlib
import re
import subprocess

import kdneeds
import kdtest
from kdtrigger import NO_LIMIT, UNLIMITED, Triggered, compiled

WORKLOADS = kdtest.ROOT / "tests" / "workloads"
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


def calls(load):
    load.send("go")
    return json.loads(load.line("{"))


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
        before, after = calls(load), calls(load)
        run = run.stop(test)
        for role, name in (("start", start), ("stop", stop)):
            made = 2 * sum(after[key] - before[key] for key in NAMES[name])
            test.eq(run.triggers.roles[role].hits, made, f"{name}: hits")


def case_errors(test):
    """Of several with one name the choice is told, by what each takes."""
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
    """NAME@VERSION, as nm prints it, is that one."""
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


kdtest.main(case_hits, case_errors, case_list, case_versions)
