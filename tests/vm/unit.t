#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The unit tests that were built for the machine that runs this, one point each."""

import os
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE.parent / "integration")]

# pylint: disable=wrong-import-position
import kdtest  # noqa: E402

PATIENCE = 200  # seconds for a program
UNIT = pathlib.Path(kdtest.PROGRAM).parent / "unit"
EMULATED = os.uname().machine != "x86_64"
WHY = "is the same on each machine, and takes long on an emulated one"
LEFT_OUT = {f"test_{name}" for name in (
    "fail_if", "metric_histograms", "metric_sums", "metrics", "perfetto", "replay", "summary",
    "text_screen")}


def outcome(program):
    """What a program printed, and its status; None if it hangs."""
    try:
        done = subprocess.run([program], cwd=kdtest.ROOT, stdin=subprocess.DEVNULL, text=True,
                              errors="backslashreplace", stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False, timeout=PATIENCE)
    except subprocess.TimeoutExpired as why:
        return (why.stdout or b"").decode(errors="backslashreplace"), None
    return done.stdout, done.returncode


def case_unit(test):
    programs = sorted(path for path in UNIT.glob("test_*") if "." not in path.name)
    test.ok(len(programs) > len(LEFT_OUT), f"{len(programs)} programs")
    for program in programs:
        if EMULATED and program.name in LEFT_OUT:
            test.skip(program.name, WHY)
            continue
        began = time.monotonic()
        said, status = outcome(program)
        wrong = [line for line in said.splitlines() if line.startswith("not ok")]
        test.ok(status == 0, program.name, f"status {status}",
                *(wrong[:20] or said.splitlines()[-20:]))
        print(f"# {program.name}: {time.monotonic() - began:.1f} s", flush=True)


kdtest.main(case_unit)
