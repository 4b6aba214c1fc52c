#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tests/run: parallel
"""User stacks of programs that have no call frame information: those in Go, and code that is
made at run time. They are compared with the functions that the programs are known to be in."""

import os
import re
import subprocess

import kdtest
from kdneeds import tool
from kdstacks import WORKLOADS, Capture

MS = 12
OPTIONS = ("-s", "4ms", "-e", "nanosleep", "--stack-overhead", "0")

# --- Go ---

# Chain -> what is between main.slow() and main.begin(): a function, or a pattern of some.
CHAINS = {
    "plain": ("main.plain",),
    "climbing": (*("main.(*ladder).climb",) * 12, "main.climbing"),
    "sorted": ("main.sorted.func1", re.compile(r"sort\..*"), "main.sorted"),
    "deferred": ("main.deferred.func1", re.compile(r"runtime\..*"), "main.deferred"),
}
INNER = re.compile(r"(runtime|internal|syscall)[./].*")
STARTER = re.compile(r"main\.main\..*")  # which the compiler makes of a go statement


def fits(functions, wanted):
    """Whether the names are those, in order; a pattern is for one or more of them."""
    names = list(functions)
    for want in wanted:
        if isinstance(want, str):
            if not names or names.pop(0) != want:
                return False
            continue
        if not names or not want.fullmatch(names[0]):
            return False
        while names and want.fullmatch(names[0]):
            names.pop(0)
    return not names


def go_program(test, name, *flags):
    path = test.directory() / name
    subprocess.run([tool("go"), "build", *flags, "-o", path, WORKLOADS / "goroutines.go"],
                   check=True, env={**os.environ, "GOCACHE": str(kdtest.ROOT / "build" / "go"),
                                    "GO111MODULE": "off", "CGO_ENABLED": "0"})
    return path


def check_go(test, path, text):
    load = test.workload(str(path))
    capture = test.start(Capture(load.pid, *OPTIONS))
    for chain in CHAINS:
        load.send(f"{chain} {MS}")
        load.line("done")
    _, stacks = capture.close(test)
    events = [event for event in stacks.events if "main.slow" in event.stack.functions()]
    test.eq(len(events), len(CHAINS), f"{text}: the calls are there")
    for (chain, wanted), event in zip(CHAINS.items(), events):
        functions = [(name or "").removesuffix(".abi0") for name in event.stack.functions()]
        stack = event.stack
        test.ok(fits(functions, (INNER, "main.slow", *wanted, "main.begin", STARTER,
                             "runtime.goexit")) and
                not stack.stop and not stack.by_frame_pointers, f"{text}: {chain}", stack)


def case_go(test):
    check_go(test, go_program(test, "kdtest-go"), "plain")
    check_go(test, go_program(test, "kdtest-go", "-ldflags=-s -w"), "without symbols")
    check_go(test, go_program(test, "kdtest-go", "-buildmode=pie", "-ldflags=-s -w"),
             "mapped anywhere, without symbols")
    path = go_program(test, "kdtest-go", "-ldflags=-s -w")
    with open(path, "r+b") as stream:  # e_shoff; e_shentsize, e_shnum, e_shstrndx
        for offset, size in ((40, 8), (58, 6)):
            stream.seek(offset)
            stream.write(bytes(size))
    check_go(test, path, "without sections")


kdtest.main(case_go)
