#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Thread names can change neither the terminal nor the layout."""

import kdtest


def printable(test, raw):
    """No control characters but the ends of lines, and all of it UTF-8."""
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
    """The same names in the lines of threads without an event."""
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
    """More than four alike are one line."""
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
    """A name on the command line comes back in the message."""
    done = test.program("--comm", "\033[31m\nred")
    test.eq(done.status, 69, "no process of this name")
    test.ok("\033" not in done.stderr and len(done.stderr.splitlines()) <= 2,
            "it is escaped there", done.stderr)


kdtest.main(case_hostile_threads, case_hostile_silent_threads, case_folded_silent_threads,
            case_hostile_option)
