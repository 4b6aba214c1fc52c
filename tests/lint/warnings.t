#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Everything in C compiles without a warning, with gcc and with clang."""

import os

import lint


def check_compiler(test, compiler):
    lint.tool(compiler)
    settings = {name: value for name, value in os.environ.items()
                if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "CFLAGS")}
    status, said = lint.output(["make", f"CC={compiler}", f"BUILD=build/lint-{compiler}",
                                "WERROR=1", "-k", "all", "unit", "workloads"], env=settings)
    faults = [line for line in said.split("\n") if "error:" in line or "***" in line]
    test.ok(status == 0, "no warnings", *(faults or said.split("\n"))[:20])


def case_gcc(test):
    check_compiler(test, "gcc")


def case_clang(test):
    check_compiler(test, "clang")


lint.main(case_gcc, case_clang)
