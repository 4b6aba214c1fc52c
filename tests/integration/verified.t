#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tests/run: parallel
"""How many instructions the kernel had to verify, which is most of the time that a start takes.

A loop or a pointer that the verifier follows for each of its values makes them many times as
many, and shows nowhere else."""

import pathlib
import re

import kdtest

PROGRAM = 20_000    # instructions of one
TOGETHER = 65_000   # of a run without options


def verified(pid):
    """{id: instructions} of the BPF programs that a process holds."""
    found = {}
    for path in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir():
        fields = dict(re.findall(r"^(\w+):\s*(\d+)$", path.read_text(), re.MULTILINE))
        if "verified_insns" in fields:  # links have a prog_id, too
            found[fields["prog_id"]] = int(fields["verified_insns"])
    return found


def case_start(test):
    load = test.workload("roles", "poll")
    capture = test.capture(load.pid)
    found = verified(capture.pid)
    capture.close(test)
    if not found:
        raise kdtest.Skip("this kernel does not tell (before 5.16)")
    test.between(max(found.values()), 1, PROGRAM, "each program")
    test.between(sum(found.values()), 1, TOGETHER, f"all {len(found)}")
    print(f"# {sum(found.values()):,} together: {sorted(found.values(), reverse=True)}")


kdtest.main(case_start)
