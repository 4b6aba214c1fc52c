#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The test runner counts what programs say, and believes no program that ends
badly or says too little."""

import lint


def verdict(test, *scripts, options=()):
    """Runs shell scripts as tests; returns (last line, status, all that was printed)."""
    folder = test.directory()
    paths = []
    for number, script in enumerate(scripts):
        paths.append(folder / f"{number}.t")
        paths[-1].write_text("#!/bin/sh\n" + script)
        paths[-1].chmod(0o755)
    status, said = lint.output([lint.ROOT / "tests" / "run", *options, *paths])
    return said.rstrip().split("\n")[-1], status, said


def expect(test, what, last, failed, *scripts, shows="", options=()):
    got = verdict(test, *scripts, options=options)
    test.eq(got[:2], (last, failed), what)
    if shows:
        test.ok(shows in got[2], f"{what}: says why", got[2])


def case_counts(test):
    expect(test, "all pass", "2 passed, 0 failed, 0 skipped", 0,
           "echo ok 1; echo 'ok 2 - b'; echo 1..2")
    expect(test, "files are added up", "2 passed, 1 failed, 1 skipped", 1,
           "echo ok; echo 'not ok - b'; echo '# seen'; echo 1..2; exit 1",
           "echo 1..2; echo ok; echo 'ok 2 - c # SKIP no such thing'", shows="# seen")
    expect(test, "a reason is shown", "1 passed, 0 failed, 1 skipped", 0,
           "echo 1..2; echo ok; echo 'ok 2 - c # SKIP no such thing'", shows="no such thing")
    expect(test, "a file may be skipped", "1 passed, 0 failed, 1 skipped", 0,
           "echo '1..0 # SKIP not root'", "echo ok; echo 1..1", shows="not root")


def case_bad_ends(test):
    bad = "0 passed, 1 failed, 0 skipped"
    partly = "1 passed, 1 failed, 0 skipped"
    expect(test, "a wrong plan fails", partly, 1, "echo 1..2; echo ok")
    expect(test, "no plan fails", partly, 1, "echo ok")
    expect(test, "a bad status fails", partly, 1, "echo ok; echo 1..1; exit 3", shows="status 3")
    expect(test, "death by a signal fails", partly, 1, "echo ok; echo 1..1; kill -9 $$",
           shows="signal 9")
    expect(test, "Bail out! fails", partly, 1, "echo ok; echo 1..1; echo 'Bail out! no disk'",
           shows="no disk")
    expect(test, "no test fails", bad, 1, "echo 1..0")
    expect(test, "stderr is shown", partly, 1, "echo ok; echo 1..1; echo why >&2; exit 1",
           shows="stderr: why")
    expect(test, "a timeout fails", partly, 1, "echo ok; echo 1..1; sleep 60",
           options=("-t", "0.3"), shows="longer than 0.3 s")
    expect(test, "nothing but skips fails", "0 passed, 0 failed, 1 skipped", 1,
           "echo '1..0 # SKIP not root'")


def case_nothing_stays_behind(test):
    said = verdict(test, "sleep 60 & echo \"ok - child $!\"; echo 1..1; echo $! >\"$0.pid\"")
    test.eq(said[1], 0, "a child that holds stdout open is not waited for")


lint.main(case_counts, case_bad_ends, case_nothing_stays_behind)
