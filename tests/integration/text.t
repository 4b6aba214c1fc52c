#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The text report: rows of long and of short waits, names of threads, and what a terminal gets."""

import json
import signal
import time

import kdneeds
import kdtest
from kdterminal import Terminal


# --- How much is described ---
#
# --detail: waits that were long are described, each one; all shorter ones are one row of each
# list. Threads that log their waits say how many of each there are.

ROUNDS = 10_000
LIMIT = 20_000      # ns: what --detail is unless it is given, and LEAST_NS of the workload
SLEEP_NS = 200_000  # LONG_NS of the workload


class Run:
    """10,000 waits of each thread in one window."""

    def __init__(self, test, *options, rounds=ROUNDS):
        load = test.workload("pauses", rounds)
        path = test.directory() / "report.json"
        capture = test.capture(load.pid, "-o", f"json:{path}", "-o", "-", *options)
        self.truths = {thread["role"]: thread for thread in load.go()["threads"]}
        capture.signal(signal.SIGINT)
        test.eq((capture.wait(), capture.stderr), (0, ""), "a sample is taken")
        sample = json.loads(path.read_text().splitlines()[0])
        self.threads = {role: next(thread for thread in sample["threads"]
                                   if thread["tid"] == truth["tid"])
                        for role, truth in self.truths.items()}

    def rows(self, role, which):
        """The row of the role's pipe or mutex, and the row of short waits."""
        rows = self.threads[role][which]
        short = [row for row in rows if "shorter_than_ns" in row]
        if which == "descriptors":
            fd = self.truths[role].get("fd")
            return [row for row in rows if row["fd"] == fd], short
        return [row for row in rows if row["kind"] == "mutex"], short


def total(rows, key):
    return sum(row[key] for row in rows)


def check_described(test, run, role, which):
    """Each long sleep is described; each described wait lasted at least that long."""
    truth, (rows, short) = run.truths[role], run.rows(role, which)
    test.ok(truth["long"] >= ROUNDS // 2 - ROUNDS // 10, f"{role}: it waited for long, many times", truth)
    test.between(total(rows, "count"), truth["long"], truth["least"] + 1, f"{role}: how many are described")
    # What it measures of a wait is longer than the sleep in it by what it was ready and ran.
    ledger = run.threads[role]["ledger"]
    awake = ledger["life_ns"] - ledger["blocked_ns"] - ledger["blocked_uninterruptible_ns"]
    test.between(total(rows, "total_ns"), truth["long_ns"] - awake,
                 truth["long_ns"] + (truth["least"] + 1 - truth["long"]) * SLEEP_NS, f"{role}: how long")
    test.eq([row["shorter_than_ns"] for row in short], [LIMIT] * len(short), f"{role}: the others are one row")
    for row in short:
        test.ok(row["count"] > 0 and row["max_ns"] < LIMIT, f"{role}: each of these is shorter", row)


def is_others(row):
    """Of all those without a row of their own."""
    return row.get("fd", 0) < 0 and not {"wchan", "call", "shorter_than_ns"} & row.keys()


def check_sums(test, rows, blocked, name):
    """A list adds up to its kinds of the blocked states; of each a wait at either edge may be in only
    one of them. How many the kernel hid the ends of is an estimate."""
    most = max(row["max_ns"] for row in rows)
    count, ns = total(blocked, "count"), total(blocked, "total_ns")
    edges = 2 * len(blocked) + total(filter(is_others, rows), "count")
    test.between(total(rows, "count"), count - edges, count + edges, f"{name}: count")
    test.between(total(rows, "total_ns"), ns - 2 * most, ns + 2 * most, f"{name}: total")


def case_described(test):
    run = Run(test)
    check_described(test, run, "taker", "descriptors")
    check_described(test, run, "locker", "locks")


def case_sums(test):
    """Lists also add up when all waits are examined, and when none is."""
    for limit in ("20us", "0", "60min"):
        run = Run(test, f"--detail={limit}", rounds=ROUNDS // 10)
        for role in ("taker", "teller"):
            thread = run.threads[role]
            check_sums(test, thread["descriptors"], thread["blocked"].values(), f"{limit}: {role}")
        thread = run.threads["locker"]
        locks = [row for row in thread["locks"] if row["kind"] == "mutex" or "shorter_than_ns" in row]
        check_sums(test, locks, [thread["blocked"]["lock"]], f"{limit}: locker")
        short = [row for thread in run.threads.values() for which in ("locks", "descriptors")
                 for row in thread.get(which, ()) if "shorter_than_ns" in row]
        test.eq({row["kind"] for row in locks if row in short} - {"other"}, set(),
                f"{limit}: short ones are for any lock")
        if limit == "0":
            test.eq(short, [], f"{limit}: nothing is left out")
            test.between(total(run.rows("taker", "descriptors")[0], "count"),
                         run.truths["taker"]["slept"] - 1, run.truths["taker"]["slept"] + 1,
                         f"{limit}: as many as the thread slept")
        if limit == "60min":
            # The waits at the window's end, in the workload's own pipe.
            rows = [row for role in run.threads for row in run.threads[role].get("descriptors", ())
                    if "shorter_than_ns" not in row and not is_others(row)]
            test.ok(all(row["count"] == 1 for row in rows), f"{limit}: one that goes on is described", rows)


def case_text(test):
    load = test.workload("pauses", 1000)
    capture = test.capture(load.pid, "--full")
    load.go()
    capture.close(test)
    test.ok("all below 20 us" in capture.stdout, "the text says of what", capture.stdout)


# --- Thread names can change neither the terminal nor the layout ---


def printable(test, raw):
    """No control characters except newlines, and everything is UTF-8."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        test.ok(False, "the output is UTF-8", error)
        text = raw.decode("utf-8", "replace")
    else:
        test.ok(True, "the output is UTF-8")
    bad = {char for char in text if char != "\n" and
           (ord(char) < 32 or 127 <= ord(char) < 160 or char in "\u2028\u2029\u202d\u202e")}
    test.eq(bad, set(), "no control characters")


def case_hostile_threads(test):
    load = test.workload("names")
    capture = test.capture(load.pid)
    truths = load.go()["threads"]
    report = capture.close(test)  # a line out of place raises here
    printable(test, b"".join(capture.out))
    test.eq(len(report.threads), len(truths) + 1, "one row per thread")
    for truth in truths:
        thread = report.thread(truth["tid"])
        name = bytes.fromhex(truth["name_hex"])
        test.eq(thread.count("getppid"), truth["getppid"], f"calls of {name!r}")
        if name.isascii() and name.decode().isprintable() and b"\\" not in name:
            test.eq(thread.name, name.decode().rstrip(), "a plain name is printed as it is")
    test.eq(len({thread.name for thread in report.threads}), len(report.threads),
            "different names stay different")
    test.books(report)


def case_hostile_silent_threads(test):
    """Hostile names in the lines of threads without any event."""
    load = test.workload("names")
    load.go()
    load.settle()
    capture = test.capture(load.pid)
    report = capture.close(test)
    printable(test, b"".join(capture.out))
    test.eq(sum(thread.members for thread in report.threads),
            len(kdtest.threads_of(load.pid)), "every thread is there")
    for thread in report.threads:
        test.eq(thread.ns["blocked interruptible"], thread.life, "blocked throughout")
    test.books(report)


def case_folded_silent_threads(test):
    """More than four threads that are alike share one line."""
    load = test.workload("roles", *["poll"] * 12, *["calls:1:0:0"] * 3)
    load.settle()
    capture = test.capture(load.pid)
    report = capture.close(test)
    folded = report.named("poll")
    test.eq([(thread.members, thread.tid, thread.silent) for thread in folded],
            [(12, None, True)], "twelve threads in one line")
    test.ok(folded[0].silent_call in ("poll", "ppoll"), "which names their call",
            folded[0].silent_call)
    edges = 12 * 10_000  # ns: of a window that may be short
    test.between(folded[0].ns["blocked interruptible"], 12 * report.window - edges,
                 12 * report.window + edges, "with the sum of their times")
    test.eq([(thread.members, thread.silent) for thread in report.named("calls")],
            [(1, False)] * 3, "three alike are not folded")
    test.books(report)


def case_hostile_option(test):
    """A hostile name on the command line is quoted in the error message."""
    done = test.program("--comm", "\033[31m\nred")
    test.eq(done.status, 69, "no process of this name")
    test.ok("\033" not in done.stderr and len(done.stderr.splitlines()) <= 2,
            "it is escaped there", done.stderr)


# --- On a terminal a long report goes through a pager without privileges, and headings are bold ---

NOBODY = 65534
BOLD = "\033[1m"


def recorded(test):
    """A long sample, as JSON."""
    load = test.workload("roles", "poll", "poll")
    path = test.directory() / "sample.json"
    done = test.program("-p", load.pid, "--sample-time", "50ms", "-o", f"json:{path}")
    test.eq(done.status, 0, "a sample is taken")
    return load, path


def spying(folder):
    """A pager that notes who runs it and what it gets; anybody may write to the folder."""
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
    whole = test.program("--replay", path, "-o", "text,color=always", full=False).stdout
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
            ("no-pager", ["-o", "text,no-pager"], {"PAGER": "false"}),
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
    """Without a PAGER, less shows the first screen until a key is pressed."""
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
    for what, more, environment in (("NO_COLOR", [], {"NO_COLOR": "1"}), ("never", ["-o", "text,color=never"], {}),
                                    ("a dumb terminal", [], {"TERM": "dumb"})):
        terminal = Terminal(test, *args, *more, **environment)
        terminal.wait()
        test.ok("\033" not in terminal.shown and "VERDICT" in terminal.shown,
                f"{what}: they are not", terminal.shown)
    test.ok("\033" not in test.program(*args).stdout, "nor in a pipe")
    test.ok(BOLD in test.program(*args, "-o", "text,color=always").stdout, "unless they always are")
    file = test.directory() / "text"
    test.program(*args, "-o", f"text:{file},color=always")
    test.ok("VERDICT" in file.read_text() and "\033" not in file.read_text(), "never in files")


kdtest.main(case_described, case_sums, case_text, case_hostile_threads, case_hostile_silent_threads,
            case_folded_silent_threads, case_hostile_option, case_pager, case_no_pager, case_less,
            case_bold)
