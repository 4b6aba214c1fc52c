#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No interval of the BPF programs is negative, which would read as 584 years, though the clock may
seem to step back: times are subtracted by elapsed(), or the function compares the two, or a reason
is given here why the second one is no later."""

import re

import lint

PLACE = r"(?:\w+(?:->|\.))*\w+(?:\([\w>.-]*\))?"
DIFFERENCE = re.compile(rf"(?<![\w.>])({PLACE}) - ({PLACE})")
# What is a time: called so, by its last word.
TIME = re.compile(r"(?:^|[.>])(?:t|now|since|mark|at|from|to|until|start|end|began|"
                  r"\w+_(?:since|at|began|from|until)(?:\([\w>.-]*\))?)$")
FUNCTION = re.compile(r"^[a-z_][^;{}#]*?(\w+)\([^;{}]*\)\n\{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
OF_EVENT = "event_at() lets no event be before its thread's last one"
OVERLAP = "window_overlap() has none that ends before it begins"
KNOWN = {  # and why
    ("counts_add", "overlap->from - cpu->at"): OVERLAP,
    ("counts_add", "overlap->to - cpu->at"): OVERLAP,
    ("counts_add", "t - cpu->at"): OVERLAP,
    ("elapsed", "t - since"): "it is what looks",
    ("irq_book", "t - since"): "irq_exit() compares",
    ("irq_in_bank", "overlap.to - overlap.from"): OVERLAP,
    ("item_book", "event.t - since"): OF_EVENT,
    ("item_in_bank", "t - since"): OVERLAP,
    ("run_end", "t - thread->run_since"): OF_EVENT,
    ("state_in_bank", "overlap.to - overlap.from"): OVERLAP,
    ("steal_book", "overlap.to - overlap.from"): OVERLAP,
    ("stop_add", "overlap->to - overlap->from"): OVERLAP,
    ("switch_in", "t - thread->since"): OF_EVENT,
    ("thread_wake", "event.t - event.thread->since"): OF_EVENT,
    ("waiting_charge", "overlap.to - overlap.from"): OVERLAP,
    ("waiting_charge", "t - since"): "it compares with the mark",
    ("window_close", "hit->t - start"): "it compares hit_time()",
}


def without_comments(text):
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


def compared(left, right, body):
    """Whether a function compares the two times."""
    one, other = re.escape(left), re.escape(right)
    return re.search(rf"(?<![\w.>])(?:{one} [<>]=? {other}|{other} [<>]=? {one})(?![\w.>-])", body)


def unsafe(text):
    """(function, difference) of times that are not compared."""
    for name, body in FUNCTION.findall(without_comments(text)):
        for left, right in DIFFERENCE.findall(body):
            if TIME.search(left) and TIME.search(right) and not compared(left, right, body):
                yield name, f"{left} - {right}"


def case_intervals(test):
    functions, found = 0, set()
    for path in lint.files(".bpf.h", ".bpf.c", under="bpf"):
        functions += len(FUNCTION.findall(lint.text(path)))
        found |= set(unsafe(lint.text(path)))
    test.ok(functions > 500, "functions are found", functions)
    test.eq(sorted(found - set(KNOWN)), [], "times are subtracted by elapsed(), or compared")
    test.eq(sorted(set(KNOWN) - found), [], "what is known is there")


def case_finds(test):
    """The check finds the faults that it is meant to find."""
    for line, want in (("u64 ns = t - thread->since;", 1), ("x = t - call_began(thread);", 1),
                       ("x += hit->t - thread->call_since;", 1), ("x = top - sp;", 0),
                       ("x = elapsed(since, t);", 0), ("if (t < since) return; x = t - since;", 0),
                       ("if (t < since->x) return; x = t - since;", 1)):
        test.eq(len(list(unsafe(f"static int f(int a)\n{{\n\t{line}\n}}\n"))), want, line)


lint.main(case_intervals, case_finds)
