#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What probes cost: it is printed, and a probe that costs too much is taken out."""

import json
import time

import kdtest
from kdtest import SECOND
from kdtrigger import BOTH, NO_LIMIT, UNLIMITED, Log, Text, Triggered, check_reports

ALWAYS = "spins:100000000:0:0:0"  # as many calls as it can, without end


def case_too_much(test):
    """A function called without pause: the probes are detached, and that is said."""
    load = test.workload("caller", ALWAYS)
    text = Text(load.pid, kdtest.WORKLOADS / "caller", "probed_call")
    run = Triggered(test, load.pid, *BOTH, "--trigger-delta", "1s", *UNLIMITED)
    load.send("go")
    began = time.monotonic_ns()
    kdtest.wait_until(text.unchanged)
    test.between(time.monotonic_ns() - began, 0, 10 * SECOND, "the probes are detached")
    test.eq(run.wait(), 75, "status 75")
    test.ok("--max-overhead" in run.stderr, "the option is named", run.stderr)
    test.ok(str(load.tid("spins")[0]) in run.stderr, "and the thread", run.stderr)
    test.ok("detached" in run.stderr, "and what was done", run.stderr)
    test.ok(load.proc.poll() is None, "the target goes on")


def case_cheap_enough(test):
    """Few calls are no reason; nor are many if there is no limit."""
    load = test.workload("caller", "spins:500:1000:10:1000")
    run = Triggered(test, load.pid, *BOTH, "--trigger-delta", "500us", *UNLIMITED)
    log = Log(load, load.go())
    run = run.stop(test)
    test.eq(run.triggers.roles["start"].hits, log.made, "1,000 calls a second are no reason")
    check_reports(test, run.reports)
    load = test.workload("caller", "spins:400000:0:0:0")
    run = Triggered(test, load.pid, *BOTH, "--trigger-delta", "1s", *UNLIMITED, *NO_LIMIT)
    truths = load.go()
    run = run.stop(test)
    test.eq(run.triggers.roles["start"].hits, truths["threads"][0]["calls"],
            "without a limit all are evaluated")


def case_limit_of_ones_own(test):
    """A limit that a slow caller exceeds, too."""
    load = test.workload("caller", "spins:150000:30000:0:0")
    run = Triggered(test, load.pid, *BOTH, "--trigger-delta", "1s", *UNLIMITED, "--max-overhead",
                    "1")
    load.send("go")
    text = Text(load.pid, kdtest.WORKLOADS / "caller", "probed_call")
    kdtest.wait_until(text.unchanged)
    test.eq(run.wait(), 75, "status 75")
    test.ok("--max-overhead" in run.stderr, "1 % is exceeded",
            run.stderr)
    truths = json.loads(load.line("{"))
    test.eq(truths["threads"][0]["calls"], 150000, "the target goes on")


kdtest.main(case_too_much, case_cheap_enough, case_limit_of_ones_own)
