#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The live view fits real terminals, and restores them however it ends."""

import contextlib
import json
import math
import os
import pathlib
import pty
import re
import signal
import sys

import kdneeds
import kdtest
from kdlive import BEFORE, STATE, TIME, UNITS, View
from kdterminal import Terminal
from kdtest import MS


QUICK = "--sample-time=200ms"


def check_size(test, view, columns, lines):
    """The whole view is there, and nothing wraps."""
    view.resize(columns, lines)
    want = "q quit  ? help"[:max(0, columns - 1)]
    fits = view.until(lambda: view.lines()[-1][1:].startswith(want) and len(view.lines()) == lines
                      and "kernel_delay"[:columns - 1] in view.lines()[0])
    test.ok(fits, f"it fits {columns}x{lines}", *view.lines())


def case_sizes(test):
    """Terminals of any size, with names meant to break the layout; and with the longest waits."""
    load = test.workload("names", stderr=None)
    view = View(test, load.pid, QUICK, "--off-cpu=10ms", columns=80, lines=24).begun()
    title = view.state("pane_title")
    load.send("go")
    for size in ((200, 60), (80, 24), (40, 12), (7, 3), (2, 2), (120, 30)):
        check_size(test, view, *size)
    view.press("s", "s", "s", "s", "s")
    test.ok(view.until_shown("by name"), "by name", view.screen())
    view.resize(200, 60)
    test.ok(view.until_shown(r"\\x1b\[31mred"), "names are escaped", view.screen())
    test.ok("café €" in view.screen(), "but for what is no harm", view.screen())
    bars = {line.rstrip().find(" ", 41) for line in view.lines() if "name-" in line}
    test.eq(view.state("pane_title"), title, "they do not reach the terminal")
    test.ok(bars, "threads are listed")
    stacks = [pid for pid in map(int, pathlib.Path(f"/proc/{view.pid}/task/{view.pid}/children")
                                 .read_text().split())]
    test.ok(stacks, "stacks are resolved by a child")
    for pid in stacks:
        os.kill(pid, signal.SIGKILL)
    test.ok(view.next_window() and view.next_window(), "which may be killed", view.screen())
    handled = re.search(r"^SigCgt:\s+(\w+)", pathlib.Path(f"/proc/{view.pid}/status").read_text(),
                        re.MULTILINE)[1]
    watched = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGTSTP", "SIGWINCH",
                                                  "SIGHUP", "SIGQUIT", "SIGCONT")]
    test.eq([number for number in watched if int(handled, 16) >> (number - 1) & 1], [],
            "ncurses handles no signals")
    view.resize(80, 24)
    view.press("q")
    view.check_gone("a killed child")


def case_suspended(test):
    """Ctrl-Z and fg; and a terminal without UTF-8."""
    load = test.workload("roles", "poll", "spin:-1")
    view = View(test, load.pid, QUICK, LC_ALL="C").begun()
    test.ok(all(ord(char) < 128 for char in view.screen()), "without UTF-8 all is ASCII",
            view.screen())
    for turn in ("once", "twice"):
        view.press("C-z")
        test.ok(view.until(lambda: kdtest.state_of(view.pid, view.pid) == "T"),
                f"Ctrl-Z stops it {turn}")
        test.ok(view.until_shown(r"Stopped"), "so the shell says", view.screen())
        test.eq(view.state(*STATE), view.before, "the shell has a terminal as before")
        test.eq(view.command("stty -a"), view.settings, "with the same settings")
        test.ok(BEFORE in view.screen(), "and sees what was there", view.screen())
        view.type("fg; echo status=$?", "Enter")
        test.ok(view.until_shown("^ kernel_delay: .*by kept"), "fg shows it again", view.screen())
        view.next_window()
    view.press("C-c")
    view.check_gone("Ctrl-C")


# Stands before ncurses: Ctrl-Z is pressed when a screen is about to be drawn, the third one.
PRESS = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>
int refresh(void)
{
	static int screens;
	int (*next)(void) = (int (*)(void))dlsym(RTLD_NEXT, "refresh");

	if (++screens == 3)
		kill(getpid(), SIGTSTP);
	return next();
}
"""


def case_suspended_while_drawing(test):
    """Ctrl-Z while the view is being drawn, which ncurses would have ignored."""
    load = test.workload("roles", "poll", "spin:-1")
    view = View(test, load.pid, QUICK, before=f"LD_PRELOAD={test.preload(PRESS)}")
    test.ok(view.until_shown(r"Stopped"), "it stops, and the shell says so", view.screen())
    view.type("fg; echo status=$?", "Enter")
    view.begun()
    view.press("q")
    view.check_gone("q")


def case_signals(test):
    load = test.workload("roles", "poll", "spin:-1")
    for numbers in ((signal.SIGTERM,), (signal.SIGHUP,),
                    (signal.SIGTERM, signal.SIGQUIT, signal.SIGINT)):
        view = View(test, load.pid, QUICK).begun()
        with contextlib.suppress(ProcessLookupError):  # the second one ended it
            for number in numbers:
                os.kill(view.pid, number)
        # The second one ends it at once, as ever.
        view.check_gone(" and ".join(number.name for number in numbers),
                        0 if len(numbers) == 1 else None)


def case_background(test):
    """If it is stopped by a signal that nobody sees, it ends without taking the shell's terminal."""
    load = test.workload("roles", "poll")
    view = View(test, load.pid, QUICK).begun()
    os.kill(view.pid, signal.SIGSTOP)
    test.ok(view.until(lambda: kdtest.state_of(view.pid, view.pid) == "T"), "it is stopped")
    view.press("Enter")
    os.kill(view.pid, signal.SIGTERM)
    os.kill(view.pid, signal.SIGCONT)
    test.ok(view.until(lambda: not pathlib.Path(f"/proc/{view.pid}").exists()), "it ends")
    view.until(lambda: view.state(*STATE) == view.before)
    test.eq(view.state(*STATE), view.before, "the terminal's modes are as before")
    test.eq(view.command("stty -a"), view.settings, "so are its settings")


def case_ends(test):
    """The view ends with the target, on an error, and with the terminal."""
    load = test.workload("roles", "poll", "spin:-1")
    view = View(test, load.pid, QUICK, lines=40).begun()
    load.end()
    view.check_gone("the target's end", says="the process has ended")
    test.ok("VERDICT" in view.screen(), "its last window is shown", view.screen())
    load = test.workload("roles", "poll")
    view = View(test, load.pid, QUICK, "-o", "json:/dev/full")
    view.check_gone("an error", 74, says="cannot write")
    view = View(test, load.pid, QUICK).begun()
    view.run("kill-server")
    kdtest.wait_until(lambda: not pathlib.Path(f"/proc/{view.pid}").exists())
    test.ok(not pathlib.Path(f"/proc/{view.pid}").exists(), "without a terminal it ends")


def case_stuck(test):
    """Nobody reads the terminal's output: a write blocks, and the program still ends."""
    load = test.workload("roles", "poll")
    terminal = Terminal(test, "--live", "-p", load.pid, QUICK)
    terminal.read(until="VERDICT")
    pid = terminal.process.pid

    def waits():
        terminal.press("\014")  # Ctrl-L, which draws all
        return kdtest.waits_in(pid, "wait_woken")
    test.ok(kdtest.wait_until(waits), "it waits for the terminal")
    terminal.process.send_signal(signal.SIGTERM)
    test.eq(terminal.process.wait(kdtest.PATIENCE), -signal.SIGTERM, "a signal ends it")


# A shell that has started the program in the foreground of the terminal at 0, and takes that back when
# told to.
SHELL = """
import contextlib, fcntl, os, signal, subprocess, sys, termios
with contextlib.suppress(OSError):
    os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
def to_front():
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpid())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
child = subprocess.Popen(sys.argv[1:], stdout=0, preexec_fn=to_front)
print(child.pid, flush=True)
signal.sigwait({signal.SIGUSR1})
os.tcsetpgrp(0, os.getpgrp())
print("taken", flush=True)
print(child.wait(), flush=True)
"""


def case_stuck_in_background(test):
    """The same while the shell has the terminal: whoever changes its settings would be stopped."""
    load = test.workload("roles", "poll")
    master, slave = pty.openpty()
    test.stack.callback(os.close, master)
    shell = test.child(["env", "TERM=xterm", sys.executable, "-c", SHELL, kdtest.PROGRAM, "--live",
                        "-p", load.pid, QUICK], stdin=slave)
    os.close(slave)
    pid, seen = int(shell.line()), b""
    while b"VERDICT" not in seen:
        seen += os.read(master, 65536)

    def waits():
        os.write(master, b"\014")
        return kdtest.waits_in(pid, "wait_woken")
    test.ok(kdtest.wait_until(waits), "it waits for the terminal")
    os.kill(shell.pid, signal.SIGUSR1)
    test.eq(shell.line(), "taken", "the shell has the terminal")
    os.kill(pid, signal.SIGTERM)
    test.eq(shell.line(), str(-signal.SIGTERM), "a signal ends it")


def case_refused(test):
    kdneeds.need("bash")
    done = test.program("--live", "-p", os.getpid())
    test.eq((done.status, "needs a terminal" in done.stderr), (64, True), "no terminal is refused")
    for name in ("dumb", "", "nonesuch"):
        terminal = Terminal(test, "--live", "-p", os.getpid(), TERM=name)
        test.eq(terminal.wait(), 64, f"so is TERM={name!r}")
        test.ok(f"TERM is '{name}'" in terminal.shown, "and named", terminal.shown)
    done = test.program("--live", "-p", os.getpid(), "-o", "text")
    test.eq((done.status, done.stderr.count("--live") > 0), (64, True), "and -o text")


# --- Figures and keys ---
#
# The figures of the live view against the clocks of those that it is about; its keys; and what it
# writes.

BLOCKS = "·▁▂▃▄▅▆▇█"


def case_figures(test):
    """A real-time thread takes the CPU of another one; the latter's own clock tells for how long."""
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
    """What is written is the window on the screen; the process is stopped meanwhile, and shows
    nothing new."""
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


kdtest.main(case_sizes, case_suspended, case_suspended_while_drawing, case_signals, case_background,
            case_stuck, case_stuck_in_background, case_ends, case_refused, case_figures)
