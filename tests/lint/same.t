#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/same finds no difference where there is none, and finds a single differing byte."""

import pathlib

import lint
from kdtest import PROGRAM

CHANGES = ((b"# EOF", b"# E0F"), (b"cannot be combined", b"cannot be c0mbined"))
EXIT, ZERO = b"\x95" + bytes(7), b"\xb7" + bytes(7)  # instructions of BPF: exit, r0 = 0


def same(*words):
    """(whether it finds no difference, its output)"""
    status, said = lint.output([lint.ROOT / "tests" / "same", *words])
    return status == 0, said


def case_itself(test):
    test.ok(*same(PROGRAM, PROGRAM, "formats everything", "line --s", "bpf cost"))


def case_output(test):
    """One letter in a format, and one in a message."""
    data, copy = pathlib.Path(PROGRAM).read_bytes(), test.directory() / "kernel_delay"
    for before, after in CHANGES:
        test.ok(before in data, f"the program says {before}")
        data = data.replace(before, after)
    copy.write_bytes(data)
    copy.chmod(0o755)
    found = same(PROGRAM, copy, "formats everything", "mode replay live")
    test.ok(not found[0] and all(after.decode() in found[1] for _, after in CHANGES), "it shows both",
            found[1])


def case_status(test):
    folder = test.directory()
    folder.chmod(0o755)
    (folder / "real").write_bytes(pathlib.Path(PROGRAM).read_bytes())
    (folder / "real").chmod(0o755)
    (folder / "wrapper").write_text(f'#!/bin/sh\n{folder}/real "$@"\n'
                                    '[ $? = 64 ] && exit 65\n')
    (folder / "wrapper").chmod(0o755)
    found = same(PROGRAM, folder / "wrapper", "line --sumary")
    test.ok(not found[0] and "-64" in found[1] and "+65" in found[1], "it shows the status", found[1])


def case_instructions(test):
    built = pathlib.Path(PROGRAM).parent
    lint.tool("llvm-objdump")
    folder = test.directory()
    (folder / "gen").mkdir()
    (folder / "kernel_delay").symlink_to(built / "kernel_delay")
    data = (built / "gen" / "cost.bpf.o").read_bytes()
    for bytes_, expected in ((data, True), (data.replace(EXIT, ZERO), False)):
        (folder / "gen" / "cost.bpf.o").write_bytes(bytes_)
        found = same(built, folder, "bpf cost")
        test.eq(found[0], expected, "an object that is the same, and one that is not")


lint.main(case_itself, case_output, case_status, case_instructions)
