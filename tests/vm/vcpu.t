#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A thread that runs a virtual machine (KVM): time in the guest is a state of its own, and no time
of the kernel, whose system call it is."""

import json
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE), str(HERE.parent / "integration")]

# pylint: disable=wrong-import-position
import kdtest  # noqa: E402
from kernelevents import need_module  # noqa: E402

TURN = {"guest": 60, "user": 30, "kernel": 20}  # ms
TICKS = 50  # of 4 ms, of each kind; with less there is more than 10 points of chance


def case_guest(test):
    need_module("kvm_amd")
    if not pathlib.Path("/dev/kvm").exists():
        raise kdtest.Skip("this machine runs no virtual machines")
    load, path = test.workload("guest", *TURN.values()), test.directory() / "sample"
    vcpu, = load.tid("vcpu")
    before = load.ask("log")
    capture = test.capture(load.pid, "--threads", "vcpu", "--full", "-o", "-",
                           "-o", f"json:{path}")
    while load.ask("log")["kernel"] - before["kernel"] < TICKS * 4 * kdtest.MS:
        time.sleep(0.5)  # each question takes the CPU from it
    report = capture.close(test)
    after = load.ask("log")
    load.end()
    test.books(report)
    sample = json.loads(path.read_text())
    ledger = kdtest.thread_of(sample, vcpu)["ledger"]
    spent = {part: after[part] - before[part] for part in TURN}
    said = {part: ledger[f"{part}_ns"] for part in TURN}
    for part in TURN:
        test.between(said[part] / sum(said.values()), spent[part] / sum(spent.values()) - 0.1,
                     spent[part] / sum(spent.values()) + 0.1, f"share of {part}")
    test.eq(report.thread(vcpu).ns["running guest"], ledger["guest_ns"], "it has a line of its own")
    screen = " ".join(test.program("--replay", path, "--summary").stdout.split())
    test.ok(", guest " in screen and "NEXT what it computes can only be seen in the guest" in screen,
            "the first screen says so", screen)


kdtest.main(case_guest)
