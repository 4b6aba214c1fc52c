#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tests/run: long
"""Everything in C compiles without a warning, with gcc and with clang.

The one that built this tree need not do so again: make keeps what it said. The other
one compiles it: gcc wholly, as some of its warnings come from its optimiser; clang
warns of all that it warns of before."""

import os
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lint"))
# pylint: disable=wrong-import-position
import lint  # noqa: E402

GOALS = ("all", "unit", "workloads")


def make(*args):
    settings = {name: value for name, value in os.environ.items()
                if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "CFLAGS")}
    return lint.output(["make", *args], env=settings)


def built_with(compiler):
    """Whether this tree, in its present state, was built with this compiler."""
    path = lint.ROOT / "build" / "flags"
    if not path.exists() or make("-q", *GOALS)[0]:
        return False
    used = path.read_text(encoding="utf-8").split()[0]
    return lint.output([used, "--version"])[1].split("\n")[0].partition(" ")[2] == \
        lint.output([compiler, "--version"])[1].split("\n")[0].partition(" ")[2]


def said_while_building():
    """{C file: what the compiler said of it, once or, with sanitizers, twice}"""
    said = {}
    for path in lint.files(".c"):
        if path.parts[0] in ("cli", "probes"):
            name = path.with_suffix(".o.said")
        elif path.parts[:2] == ("tests", "unit"):
            name = path.relative_to("tests").with_suffix(".said")
        elif path.parts[:2] == ("tests", "workloads"):
            shared = path.stem in ("main", "stage") or "\nVERB(" in lint.text(path)
            name = path.relative_to("tests").with_suffix(".o.said" if shared else ".said")
        else:
            continue
        kept = (lint.ROOT / "build" / name, lint.ROOT / "build" / "asan" / name)
        said[path] = [file.read_text(errors="replace") for file in kept if file.exists()]
    return said


def check_compiler(test, compiler, *goals):
    lint.tool(compiler)
    if built_with(compiler):
        for path, said in said_while_building().items():
            test.ok(said and not re.search(r"\b(warning|error):", "".join(said)), path,
                    *("".join(said) or "nothing is known").split("\n")[:20])
        return
    status, said = make(f"-j{len(os.sched_getaffinity(0))}", f"CC={compiler}",
                        f"BUILD=build/lint-{compiler}", "WERROR=1", "-k", *goals)
    faults = [line for line in said.split("\n") if "error:" in line or "***" in line]
    test.ok(status == 0, "no warnings", *(faults or said.split("\n"))[:20])


def case_gcc(test):
    check_compiler(test, "gcc", *GOALS)


def case_clang(test):
    check_compiler(test, "clang", "syntax")


lint.main(case_gcc, case_clang)
