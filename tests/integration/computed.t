#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The function in which a thread computes is named without any option: most of the ticks hit it."""

import re

import kdtest


def sampled(test, pid, *args):
    path = test.directory() / "json"
    test.program("-p", pid, "--sample-time", "1s", "--sample-count", "1", *args,
                 "-o", f"json:{path}", "-o", "-")
    sample, = kdtest.samples_of(path)
    text = test.program("--replay", path, "--summary").stdout
    return sample["threads"][0], re.sub(r"\n {8}", " ", text)


def case_function(test):
    load = test.workload("computes")
    before = load.ask("log")
    thread, text = sampled(test, load.pid)
    after = load.ask("log")
    computed = thread.get("computed", {})
    if computed.get("of_ticks", 0) < 20:
        raise kdtest.Skip("too few ticks hit it")
    ran = {name: after[name] - before[name] for name in after}
    truth = ran["much"] / sum(ran.values())
    test.eq((computed["function"], computed["object"]), ("much", "computes"), "it is named")
    test.between(computed["ticks"] / computed["of_ticks"], truth - 0.25, truth + 0.25,
                 f"as often as it was in there: {truth}")
    # Ticks are as far apart as the kernel's; in user mode it is nearly always.
    test.ok(computed["of_ticks"] <= 128, "no more ticks than are kept", computed)
    if " ran: user " not in text and " ran for " not in text:
        raise kdtest.Skip("others took its CPU, of which there is more to say")
    said = re.search(r"(\d+) % of that in much \[computes\]", text)
    test.ok(said and abs(int(said[1]) - 100 * computed["ticks"] / computed["of_ticks"]) <= 1,
            "and in the first sentence", text, computed)


def case_not_wanted(test):
    load = test.workload("computes")
    for args in (("--stack-trace-size=0",), ("--profile",)):
        thread, text = sampled(test, load.pid, *args)
        test.ok("computed" not in thread and "of that in" not in text, f"{args[0]}: not looked for",
                thread.get("computed"))
    idle = test.workload("roles", "poll")
    thread, _ = sampled(test, idle.pid)
    test.ok("computed" not in thread, "an idle thread computes nothing")


kdtest.main(case_function, case_not_wanted)
