#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""On a terminal a long report goes through a pager without privileges, and headings are bold."""

import time

import kdneeds
import kdtest
from kdterminal import Terminal

NOBODY = 65534
BOLD = "\033[1m"


def recorded(test):
    """A long sample as JSON."""
    load = test.workload("roles", "poll", "poll")
    path = test.directory() / "sample.json"
    done = test.program("-p", load.pid, "--sample-time", "50ms", "-o", f"json:{path}")
    test.eq(done.status, 0, "a sample is taken")
    return load, path


def spying(folder):
    """A pager that notes who it is and what it gets. Anybody may write there."""
    folder.chmod(0o777)
    return (f"id -u >{folder}/uid; grep -E 'CapEff|CapBnd|NoNewPrivs' /proc/self/status "
            f">{folder}/status; env >{folder}/env; ls /proc/self/fd >{folder}/fds; cat >{folder}/text")


def case_pager(test):
    load, path = recorded(test)
    folder = test.directory()
    terminal = Terminal(test, "--replay", path, PAGER=spying(folder))
    test.eq(terminal.wait(), 0, "status 0")
    test.eq(terminal.shown, "", "the pager has it all")
    text = (folder / "text").read_text()
    test.ok(text.startswith("# Sample dump") and "VERDICT" in text, "from its beginning on", text)
    whole = test.program("--replay", path, "--color=always", full=False).stdout
    test.eq(text, whole, "to its end")
    status = dict(line.split() for line in (folder / "status").read_text().splitlines())
    test.eq((int(status["CapEff:"], 16), int(status["CapBnd:"], 16), status["NoNewPrivs:"]),
            (0, 0, "1"), "it has no capabilities, and gets none")
    environment = (folder / "env").read_text().splitlines()
    test.ok({"LESS=FRX", "LESSSECURE=1"} <= set(environment), "less is to be secure", *environment)
    test.eq((folder / "fds").read_text().split(), ["0", "1", "2", "3"], "nothing else is open")
    for name in ("SUDO_UID", "PKEXEC_UID"):
        (folder / "uid").unlink()
        test.eq(Terminal(test, "--replay", path, PAGER=spying(folder), **{name: str(NOBODY)}).wait(), 0,
                f"{name}: status 0")
        test.eq((folder / "uid").read_text().strip(), str(NOBODY), "it runs as the caller")
        (folder / "text").unlink()
        (folder / "status").unlink()
        (folder / "env").unlink()
        (folder / "fds").unlink()
    terminal = Terminal(test, "-p", load.pid, "--sample-time", "50ms", "--fail-if", "threads>0",
                        PAGER="head -n 4 | tail -n 1")
    test.eq(terminal.wait(), 4, "a pager that ends early: the status is kept")
    test.ok("VERDICT" not in terminal.shown and "threads, CPU" in terminal.shown,
            "and it has shown what it wanted", terminal.shown)


def case_no_pager(test):
    _, path = recorded(test)
    for what, args, environment in (
            ("--no-pager", ["--no-pager"], {"PAGER": "false"}),
            ("an empty PAGER", [], {"PAGER": ""}),
            ("a PAGER that is not there", [], {"PAGER": "/nowhere/pager"}),
            ("a dumb terminal", [], {"PAGER": "false", "TERM": "dumb"}),
            ("a short text", ["--summary"], {"PAGER": "false"}),
            ("several samples", ["--sample-count", "2"], {"PAGER": "false"})):
        if what == "several samples":
            load = test.workload("roles", "poll")
            args = ["-p", load.pid, "--sample-time", "20ms", *args]
        else:
            args = ["--replay", path, *args]
        terminal = Terminal(test, *args, **environment)
        test.eq(terminal.wait(), 0, f"{what}: status 0")
        test.ok("VERDICT" in terminal.shown, f"{what}: it is shown", terminal.shown)


def case_less(test):
    """What there is without a PAGER: the first screen, until a key is pressed."""
    kdneeds.tool("less")
    _, path = recorded(test)
    terminal = Terminal(test, "--replay", path)
    terminal.read(until="NEXT")
    test.ok("VERDICT" in terminal.shown and "# NOTE" not in terminal.shown,
            "the first screen is on top", terminal.shown)
    test.eq(terminal.process.poll(), None, "it waits")
    terminal.press("\003")
    time.sleep(0.2)
    test.eq(terminal.process.poll(), None, "an interrupt is the pager's")
    terminal.press_to_end("q")
    test.eq(terminal.wait(), 0, "q ends it, with status 0")
    ran = test.directory() / "ran"
    terminal = Terminal(test, "--replay", path, PAGER=f"touch {ran}", SUDO_UID="nobody")
    terminal.read(until="NEXT")
    terminal.press_to_end("q")
    test.eq((terminal.wait(), ran.exists()), (0, False), "so it is if the caller is not known")


def case_bold(test):
    _, path = recorded(test)
    args = ["--replay", path, "--summary"]
    terminal = Terminal(test, *args)
    terminal.wait()
    test.ok(BOLD in terminal.shown, "on a terminal headings are bold", terminal.shown)
    for what, more, environment in (("NO_COLOR", [], {"NO_COLOR": "1"}), ("never", ["--color=never"], {}),
                                    ("a dumb terminal", [], {"TERM": "dumb"})):
        terminal = Terminal(test, *args, *more, **environment)
        terminal.wait()
        test.ok("\033" not in terminal.shown and "VERDICT" in terminal.shown,
                f"{what}: they are not", terminal.shown)
    test.ok("\033" not in test.program(*args).stdout, "nor in a pipe")
    test.ok(BOLD in test.program(*args, "--color=always").stdout, "unless they always are")
    file = test.directory() / "text"
    test.program(*args, "--color=always", "-o", f"text:{file}")
    test.ok("VERDICT" in file.read_text() and "\033" not in file.read_text(), "never in files")


kdtest.main(case_pager, case_no_pager, case_less, case_bold)
