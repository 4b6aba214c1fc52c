#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The test runner counts what programs report, and does not trust a program that ends badly or
reports too little."""

import contextlib
import io
import os
import pathlib
import re
import runpy
import signal
import subprocess
import sys
import time
import types

import lint

RUN = lint.ROOT / "tests" / "run"
for name in ("TESTS_TOTALS", "TESTS_VERBOSE"):  # are the outer runner's
    os.environ.pop(name, None)


def written(folder, scripts):
    """Paths of programs written as shell scripts."""
    paths = []
    for number, script in enumerate(scripts):
        paths.append(folder / f"{number}.t")
        paths[-1].write_text("#!/bin/sh\n" + script)
        paths[-1].chmod(0o755)
    return paths


def verdict(test, *scripts, options=()):
    """Runs shell scripts as tests; returns (last line, status, all that was printed)."""
    status, said = lint.output([RUN, *options, *written(test.directory(), scripts)])
    return said.rstrip().split("\n")[-1], status, said


def by_hand(program, *options):
    """Runs a program of the tree as people do, outside of make; (status, output)."""
    return lint.output([RUN, *options, program],
                       env={name: value for name, value in os.environ.items()
                            if name not in ("MAKELEVEL", "MAKEFLAGS", "MFLAGS")})


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


def case_machine_programs(test):
    """A program that fails in a virtual machine is run once more, and both results are reported."""
    path = test.directory() / "once.t"
    path.write_text("import pathlib, sys\n"
                    "ran = pathlib.Path(sys.argv[0] + '.ran')\n"
                    "again = ran.exists()\nran.touch()\n"
                    "print('ok 1 - it' if again else 'not ok 1 - it')\nprint('1..1')\n"
                    "sys.exit(not again)\n")
    vm = lint.ROOT / "tests" / "vm"
    status, said = lint.output([sys.executable, vm / "programs.py", path])
    sys.path.insert(1, str(vm))
    kernels = runpy.run_path(str(vm / "kernels.t"), run_name="kernels")
    runs, unfinished, _ = kernels["runs_of"](said)
    test.eq((status, unfinished, [(status, lines) for lines, status, _ in runs[str(path)]]),
            (0, None, [(1, ["not ok 1 - it", "1..1"]), (0, ["ok 1 - it", "1..1"])]),
            "a program that fails once runs twice")
    pathlib.Path(f"{path}.ran").unlink()
    status, said = lint.output([sys.executable, vm / "programs.py", "--once", path])
    runs, _, _ = kernels["runs_of"](said)
    test.eq([status for _, status, _ in runs[str(path)]], [1], "unless it is told not to")
    last_machine(test, kernels, str(path), said)


def last_machine(test, kernels, name, said):
    """A program that failed in one machine is named, so that it is run in another, where its result
    counts."""
    ended = types.SimpleNamespace(failure="", messages=[], splats=[])
    failing = {name: set()}
    for last, again, failed in ((None, failing, 0), (failing, {}, 1), ({name: {"it"}}, {}, 0)):
        judge, shown = kernels["kdtest"].Test(), io.StringIO()
        with contextlib.redirect_stdout(shown):
            got = kernels["report_machine"](judge, types.SimpleNamespace(version="1.0"),
                                            types.SimpleNamespace(kind="static"), [name], ended,
                                            said, last)
        test.eq((got, judge.failed), (again, failed),
                "in the last machine a failure counts, of what had not passed before" if last else
                "in another it is run again")
        test.ok("it # SKIP it fail" in shown.getvalue() or failed, "which is shown",
                shown.getvalue())


def case_at_once(test):
    """Two programs meet where two may run; programs marked as long start first, or are left out."""
    meet = "{}\ncd \"${{0%/*}}\"; touch here$$; until [ $(ls | grep -c here) -ge {} ]; do sleep 0.01; done\n" \
        "echo ok; echo 1..1"
    expect(test, "two at once", "2 passed, 0 failed, 0 skipped", 0, *[meet.format("", 2)] * 2,
           options=("-j", "2"))
    order = "{}\ncd \"${{0%/*}}\"; echo $0 >>order; echo ok; echo 1..1"
    paths = written(test.directory(), [order.format(""), order.format("# tests/run: long")])
    test.eq(lint.output([RUN, "-j", "1", *paths])[0], 0, "one after the other")
    began = (paths[0].parent / "order").read_text().split()
    test.eq([pathlib.Path(each).name for each in began], ["1.t", "0.t"], "which takes long is the first")
    last = lint.output([RUN, "--short", *paths])[1].rstrip().split("\n")[-1]
    test.eq(last, "1 passed, 0 failed, 0 skipped", "--short leaves it out")


def case_messages(test):
    """Of a failure's output an amount that people will read is shown; all of it is kept."""
    last, _, said = verdict(test, "echo 'not ok - it'; for i in $(seq 9000); do echo \"# line $i\"; done\n"
                            "echo 1..1; exit 1")
    test.eq(last, "0 passed, 1 failed, 0 skipped", "it fails")
    test.ok(len(said) < 4000 and "# line 20\n" in said, "the message is cut", len(said))
    kept = re.search(r"all of it: (\S+)", said)
    test.ok(kept and "# line 9000" in (lint.ROOT / kept[1]).read_text(), "all of it is kept", said)


def case_verbose(test):
    """One program, or some of its cases, with the values compared; also for one in C."""
    path, = written(test.directory(), ["echo \"$TESTS_VERBOSE $*\"; exit 3"])
    test.eq(lint.output([RUN, "-v", path, "case_a"]), (3, "1 case_a\n"), "it is given cases")
    program = lint.ROOT / "build" / "unit" / "test_ledger"
    test.ok("#  got: " in by_hand(program, "-v")[1], "a unit test says what it compared")


def case_cases(test):
    """Cases behind a program are its own, also among several programs."""
    paths = written(test.directory(), ["echo \"not ok 1 - cases: $*.\"; echo 1..1; exit 1"] * 2)
    said = lint.output([RUN, paths[0], "case_a", "case_b", paths[1]])[1]
    test.eq(sorted(re.findall(r"FAILED: cases: (.*)\.$", said, re.MULTILINE)), ["", "case_a case_b"], "each has its own")


def case_builds(test):
    """Missing programs are built first, except under make, which has already built everything."""
    program = lint.ROOT / "build" / "fuzz" / "seeds"  # no test, and nobody else's
    program.unlink(missing_ok=True)
    lint.output([RUN, program], env={**os.environ, "MAKELEVEL": "1"})
    test.ok(not program.exists(), "by make: it is not built")
    by_hand(program)
    test.ok(program.exists(), "by hand: it is built")
    status, said = by_hand(lint.ROOT / "build" / "unit" / "test_none")
    test.ok(status and "test_none" in said, "what cannot be built is an error", said)


def case_sum(test):
    """Several parts leave their totals in a file, and print nothing that looks like the sum, which
    comes after what failed in any of them: it is at hand where the rest of a long log is not."""
    totals = test.directory() / "totals"
    for script, status in (("echo not ok 1 - once; echo 1..1; exit 1", 1), ("echo ok; echo 1..1", 0)):
        path, = written(test.directory(), [script])
        got, said = lint.output([RUN, path], env={**os.environ, "TESTS_TOTALS": str(totals)})
        test.eq((got, said.rstrip().split("\n")[-1].startswith("of this part: ")), (status, True), "a part")
    status, said = lint.output([RUN, "--sum", totals])
    lines = [line.split() for line in said.splitlines()]
    test.eq((status, lines[0][0], lines[1][:2], lines[-1]),
            (1, "FAIL", ["FAILED:", "once"], "1 passed, 1 failed, 0 skipped".split()), "the sum, after what failed")


def case_slowest(test):
    """With many programs, the slowest are listed before the last line."""
    quick, slow = "echo ok; echo 1..1", "sleep 3; echo ok; echo 1..1"
    last, _, said = verdict(test, *[quick] * 20, slow)
    test.eq(last, "21 passed, 0 failed, 0 skipped", "the last line is the sum")
    rest = said.partition("the slowest 20 of 21")[2].split("\n")
    test.ok(len(rest) == 24 and "/20.t " in rest[1], "the slowest are listed, this one first", said)


def case_interrupted(test):
    """When interrupted, running programs are told to end, and no others are started."""
    folder = test.directory()
    script = ("trap 'touch \"$0.cleaned\"; exit 1' TERM\n"
              "touch \"$0.begun\"; sleep 60 & wait\n")
    paths = written(folder, [script] * (2 * len(os.sched_getaffinity(0)) + 1))
    run = test.start(lint.Child([RUN, *paths], stdin=subprocess.DEVNULL))
    while len(list(folder.glob("*.begun"))) + 1 < len(paths):
        time.sleep(0.01)
    run.signal(signal.SIGTERM)
    test.eq(run.wait(), 128 + signal.SIGTERM, "it ends")
    test.eq((len(list(folder.glob("*.begun"))), len(list(folder.glob("*.cleaned")))),
            (len(paths) - 1,) * 2, "each that ran was told to, and no other one ran")


lint.main(case_counts, case_bad_ends, case_nothing_stays_behind, case_at_once, case_messages,
          case_verbose, case_cases, case_builds, case_sum, case_machine_programs, case_slowest, case_interrupted)
