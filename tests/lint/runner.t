#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The test runner counts what programs say, and believes no program that ends
badly or says too little. It runs beside each other only what may be so run."""

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


def written(folder, scripts):
    """Paths of programs made of shell scripts."""
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


def of_kind(kind, script="", meanwhile="sleep 0.3"):
    """A test that writes to times, next to it, when it began and ended, and how nice it was."""
    return (f"# tests/run: {kind}\n{script}\ncd \"${{0%/*}}\"; from=$(date +%s.%N); {meanwhile}\n"
            f"echo {kind} $from $(date +%s.%N) $(nice) >>times; echo ok; echo 1..1\n")


def case_kinds(test):
    """Each waits for another that it may run beside, or looks whether any is there."""
    folder = test.directory()
    wait = "until [ $(ls | grep -c ready) -ge 3 ]; do sleep 0.01; done; sleep 0.1"
    meet = f"touch ready$$; {wait}"
    others = "cat /proc/self/fd/$TESTS_RUN_OTHERS"
    scripts = [of_kind("alone"), of_kind("alone"),
               of_kind("beneath", meanwhile=f"{meet}; {others}; sleep 0.1"),
               of_kind("nothing known"), *[of_kind("parallel", meanwhile=meet)] * 2]
    paths = written(folder, scripts)
    status, said = lint.output([RUN, "--list", *paths])
    test.eq((status, [line.split()[0] for line in said.splitlines()]),
            (0, ["alone", "alone", "beneath", "alone", "parallel", "parallel"]),
            "--list says how each is run")
    test.ok(not (folder / "times").exists(), "and runs none")
    test.eq(lint.output([RUN, *paths])[1].rstrip().split("\n")[-1],
            "6 passed, 0 failed, 0 skipped", "all are run")
    times = [re.fullmatch(r"(.*) (\S+) (\S+) (\d+)", line).groups()
             for line in (folder / "times").read_text().splitlines()]
    spans = sorted((float(began), float(ended), kind) for kind, began, ended, _ in times)
    kinds = [kind for _, _, kind in spans]
    test.eq((sorted(kinds[:3]), sorted(kinds[3:])),
            (["beneath", "parallel", "parallel"], ["alone", "alone", "nothing known"]),
            "one kind after the other, but for what runs beneath the first")
    together, apart = spans[:3], spans[3:]
    test.ok(max(began for began, _, _ in together) < min(ended for _, ended, _ in together),
            "the first run beside each other", spans)
    beneath = max(together, key=lambda span: span[1])
    test.eq(beneath[2], "beneath", "what runs beneath can wait until the others have ended")
    test.ok(all(before[1] <= after[0] for before, after in zip([beneath, *apart], apart)),
            "all others run with nothing beside them", spans)
    usual = os.nice(0)
    test.eq({kind: int(nice) > usual for kind, _, _, nice in times},
            {"parallel": False, "alone": False, "nothing known": False, "beneath": True},
            "which has a low priority")


def case_machine_programs(test):
    """What fails in a virtual machine is run once more, and both are told."""
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
    """A program that failed in one machine is named, so that it is run in another, where it
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


def case_short(test):
    """Those that say that they take long are left out."""
    script = "# tests/run: parallel{}\necho ok; echo 1..1"
    paths = written(test.directory(), [script.format(""), script.format(", long"), "echo ok; echo 1..1"])
    for option, count in ((), 3), (("--short",), 2):
        last = lint.output([RUN, *option, *paths])[1].rstrip().split("\n")[-1]
        test.eq(last, f"{count} passed, 0 failed, 0 skipped", f"with {option}")


def case_once_more(test):
    """What fails once is run again when all have ended; what fails twice has failed."""
    once = ("# tests/run: {}\necho 1..1; [ -e \"$0.ran\" ] && exec echo ok\n"
            "touch \"$0.ran\"; echo 'not ok - it'; exit 1\n")
    last, status, said = verdict(test, once.format("parallel"), "echo ok; echo 1..1")
    test.eq((last, status), ("2 passed, 0 failed, 0 skipped", 0), "the second result counts")
    order = [said.find(text) for text in ("FAILED: it", "/1.t ", "once more, alone: ",
                                          "failed at first, and passed alone: ")]
    test.eq(order, sorted(order), "both are shown, the second after all others")
    test.ok(order[0] >= 0, "with what was wrong", said)
    expect(test, "unless told not to", "0 passed, 1 failed, 0 skipped", 1, once.format("alone"),
           options=("--once",))
    expect(test, "nor if many fail", "0 passed, 11 failed, 0 skipped", 1,
           *[once.format("parallel")] * 11)
    expect(test, "twice is a failure", "0 passed, 1 failed, 0 skipped", 1,
           "echo 1..1; echo 'not ok - it'; exit 1", shows="once more, alone: ")
    turns = ("echo 1..2; [ -e \"$0.ran\" ] && set -- ok 'not ok' || set -- 'not ok' ok\n"
             "touch \"$0.ran\"; echo \"$1 - one\"; echo \"$2 - {}\"; exit 1\n")
    expect(test, "not if it is another test each time", "1 passed, 0 failed, 1 skipped", 0,
           turns.format("two"), shows="skipped: two: it fails now, and passed before")
    expect(test, "of two with one name both have to have passed", "1 passed, 1 failed, 0 skipped", 1,
           turns.format("one"))
    expect(test, "how the program ends counts each time", "0 passed, 1 failed, 1 skipped", 1,
           "[ -e \"$0.ran\" ] || { touch \"$0.ran\"; echo ok - it; echo 1..1; exit 1; }\n"
           "echo 1..1; echo not ok - it; kill -9 $$")


def case_slowest(test):
    """Many programs: the slowest are listed, before the last line."""
    quick, slow = "echo ok; echo 1..1", "sleep 0.3; echo ok; echo 1..1"
    last, _, said = verdict(test, *[quick] * 20, slow)
    test.eq(last, "21 passed, 0 failed, 0 skipped", "the last line is the sum")
    rest = said.partition("the slowest 20 of 21")[2].split("\n")
    test.ok(len(rest) == 23 and "/20.t " in rest[1], "the slowest are listed, this one first", said)


def case_interrupted(test):
    """What runs is told to end, and nothing more is begun."""
    folder = test.directory()
    script = ("# tests/run: parallel\ntrap 'touch \"$0.cleaned\"; exit 1' TERM\n"
              "touch \"$0.begun\"; sleep 60 & wait\n")
    paths = written(folder, [script] * (2 * len(os.sched_getaffinity(0)) + 1))
    run = test.start(lint.Child([RUN, *paths], stdin=subprocess.DEVNULL))
    while len(list(folder.glob("*.begun"))) + 1 < len(paths):
        time.sleep(0.01)
    run.signal(signal.SIGTERM)
    test.eq(run.wait(), 128 + signal.SIGTERM, "it ends")
    test.eq((len(list(folder.glob("*.begun"))), len(list(folder.glob("*.cleaned")))),
            (len(paths) - 1,) * 2, "each that ran was told to, and no other one ran")


lint.main(case_counts, case_bad_ends, case_nothing_stays_behind, case_kinds, case_machine_programs,
          case_short, case_once_more, case_slowest, case_interrupted)
