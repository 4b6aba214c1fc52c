#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The figures of the live view against the clocks of those that it is about; its keys; and what it
writes."""

import json
import math
import re
import signal

import kdtest
from kdlive import TIME, UNITS, View
from kdtest import MS

BLOCKS = "·▁▂▃▄▅▆▇█"


def case_figures(test):
    """A real-time thread takes the CPU of another one: for how long, its own clock says."""
    cpu = kdtest.last_cpu()
    load = test.workload("roles", f"fifo:{cpu}:60:100", f"spin:{cpu}", "poll")
    view = View(test, load.pid).begun()
    before = load.mark()
    for _ in range(2):
        view.next_window()
    view.press("f")
    test.ok(view.until_shown("FROZEN"), "f freezes the view", view.screen())
    after = load.mark()
    fifo = load.tid("fifo")[0]
    share = (after.cpu[fifo] - before.cpu[fifo]) / before.until(after)
    number, unit = re.search(rf"window \d+ from \S+, {TIME};", view.lines()[0]).groups()
    window = float(number) * UNITS[unit]
    least, most = share * window - 70 * MS, share * window + 70 * MS
    culprit = re.search(rf"^  CPU taken by own threads +fifo\[{fifo}\] +{TIME}", view.screen(),
                        re.MULTILINE)
    test.ok(culprit, "who had the CPU is named", view.screen())
    test.between(culprit and float(culprit[1]) * UNITS[culprit[2]], least, most,
                 "for as long as it ran")
    kept, bar = view.row("spin") or (0, "")
    test.between(kept, least, window, "that long the other one was kept from running")
    # What is printed is rounded, which may be another height.
    heights = {BLOCKS[math.ceil(kept / window * 8 + error)] for error in (-0.1, 0, 0.1)}
    test.ok(bar[-1:] in heights, "its bar is that high", bar, heights)
    test.ok(len(bar) > 2 and set(bar[1:]) <= set(BLOCKS[4:]), "as in the windows before", bar)
    test.eq((view.row("poll") or (1, "x"))[0], 0, "who waits for work is not kept from it")
    check_frozen(test, view, load)
    check_opened(test, view, fifo)
    view.press("q")
    view.check_gone("q")


def check_frozen(test, view, load):
    """What is written is the window on the screen, whatever the process does meanwhile: nothing."""
    load.signal(signal.SIGSTOP)
    screen, number = view.screen(), view.shown_window()
    files = {form: view.directory / form for form in ("json", "text", "openmetrics")}
    for form, path in files.items():
        view.press("w")
        view.type(f"{form}:{path}", "Enter")
        test.ok(view.until_shown(rf"^window {number} is in "), f"{form} is written", view.screen())
    view.press("w")
    view.type("text:/dev/tty", "Enter")
    test.ok(view.until_shown("it is no file"), "but not to the terminal", view.screen())
    view.press("w")
    view.type("nothing:x", "Enter")
    test.ok(view.until_shown("does not begin with a format"), "nor in any format", view.screen())
    view.press("Down", "Up")
    view.until(lambda: view.screen() == screen)
    test.eq(view.screen(), screen, "the frozen screen stays")
    samples = [json.loads(line) for line in files["json"].open(encoding="utf-8")]
    test.eq([sample["type"] for sample in samples], ["sample"], "JSON has one sample")
    replayed = test.program("--replay", files["json"], full=False)
    test.eq(replayed.stdout, files["text"].read_text(encoding="utf-8"), "the text is of the same one")
    spin = next(row for row in samples[0]["threads"] if row["name"] == "spin")
    states = spin["ledger"]
    ready = sum(ns for state, ns in states.items() if state.startswith("ready"))
    test.between(view.row("spin")[0], ready * 0.99, ready * 1.05, "and that is on the screen")
    load.signal(signal.SIGCONT)
    view.press("f")
    test.ok(view.until(lambda: view.shown_window() > number + 1), "f goes on", view.screen())


def check_opened(test, view, fifo):
    view.press("s")
    test.ok(view.until_shown("by longest"), "s takes another order", view.screen())
    view.press("S", "S", "S")
    test.ok(view.until_shown("by name"), "S goes back", view.screen())
    names = re.findall(r"^ *\d+ (\w+) +[\d.]+ \w+ +\S+ % ", view.screen(), re.MULTILINE)
    test.eq(names, ["fifo", "poll", "roles", "spin"], "threads are in that order")
    view.press("/")
    view.type("spi", "Enter")
    test.ok(view.until_shown(r"only \*spi\*"), "/ filters", view.screen())
    test.ok(view.row("spin") and not view.row("fifo"), "only the thread is listed", view.screen())
    view.press("Enter")
    test.ok(view.until_shown(r"WHO HAD THE CPU"), "Enter opens it", view.screen())
    test.ok(re.search(rf"^fifo +{fifo} ", view.screen(), re.MULTILINE), "who had its CPU is there",
            view.screen())
    view.press("End")
    test.ok(view.until_shown("For its longest wait"), "End goes to the end", view.screen())
    view.press("?")
    test.ok(view.until_shown("this help"), "? explains the keys", view.screen())
    view.press("Escape")
    test.ok(view.until(lambda: view.row("spin")), "Esc goes back", view.screen())


kdtest.main(case_figures)
