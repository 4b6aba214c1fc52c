#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tests/run: long
# tests/run: needs build/asan/unit/test_text build/asan/unit/test_text_processes
# tests/run: needs build/asan/unit/test_text_traces build/asan/unit/test_replay_recording
"""Coverage-guided fuzzing: each target reads its corpus, and then what libFuzzer makes of that.

FUZZ_TIME     seconds for each target (2); 0: the corpus alone
FUZZ_CORPUS   where inputs are kept that reach something new, and read again; else nowhere
Arguments are names of targets; without any it is all of them. What fails is left in
build/fuzz/found."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "integration"))
# pylint: disable=wrong-import-position
import kdformats  # noqa: E402
import kdtest  # noqa: E402

BUILD = kdtest.ROOT / "build" / "fuzz"
FOUND = BUILD / "found"
TIME = float(os.environ.get("FUZZ_TIME") or 2)
KEPT = os.environ.get("FUZZ_CORPUS")
TARGETS = sorted(path.stem.removeprefix("fuzz_") for path in HERE.glob("fuzz_*.c"))
# Bytes in one piece, and in all, of memory; and seconds for one input, of which some
# thousandths are usual: on a busy machine it may get no CPU for long, but not for so long.
# Nothing that a target says is printed.
LIMITS = ("-malloc_limit_mb=200", "-rss_limit_mb=1500", "-timeout=600", "-close_fd_mask=3")
READ = re.compile(r"^#(\d+)\s+INITED", re.MULTILINE)
PROGRESS = re.compile(r"^#\d+\s.*\n", re.MULTILINE)
REACHED = re.compile(r"^#(\d+)\s+\S+\s+cov: (\d+) ft: (\d+)", re.MULTILINE)


def files(folder):
    return [path for path in folder.iterdir() if path.is_file()] if folder.exists() else []


def seeds_of(test, target):
    """Seeds from real reports, in addition to the corpus."""
    if target != "replay":
        return []
    return kdformats.unit_reports(test, "json", *kdformats.TEXT_TESTS, "test_replay_recording")


def command(target, kept, seeds):
    corpus, words = HERE / "corpus" / target, HERE / f"{target}.dict"
    argv = [BUILD / target, *LIMITS, f"-artifact_prefix={FOUND}/{target}-"]
    argv += [f"-max_total_time={TIME:.0f}"] if TIME else ["-runs=0"]
    argv += [f"-dict={words}"] if words.exists() else []
    argv += [f"-seed_inputs={','.join(map(str, seeds))}"] if seeds else []
    return [str(word) for word in [*argv, kept, corpus]]


def fuzz(test, target, kept):
    corpus = files(HERE / "corpus" / target)
    done = subprocess.run(command(target, kept, seeds_of(test, target)), stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    said = done.stderr.decode(errors="replace")
    reached = REACHED.findall(said)
    runs, edges, features = map(int, reached[-1]) if reached else (0, 0, 0)
    test.ok(corpus and READ.search(said) and int(READ.search(said)[1]) >= len(corpus),
            f"it reads its corpus of {len(corpus)} inputs", *said.split("\n")[-12:])
    test.ok(done.returncode == 0,
            f"{runs} inputs, {edges} edges, {features} features, and no fault",
            *PROGRESS.sub("", said).split("\n")[-60:], f"{BUILD.relative_to(kdtest.ROOT) / target} FILE repeats it")


def case_of(target):
    def case(test):
        program = BUILD / target
        if not program.exists():
            raise kdtest.Skip(f"{program} is not built: `make fuzzers`")
        if not program.stat().st_size:
            raise kdtest.Skip("clang is without libFuzzer: install libclang-rt-dev, or compiler-rt")
        FOUND.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory() as folder:
            kept = pathlib.Path(KEPT or folder, target)
            kept.mkdir(parents=True, exist_ok=True)
            fuzz(test, target, kept)
    case.__name__ = f"case_{target}"
    return case


def main():
    test = kdtest.Test()
    for target in sys.argv[1:] or TARGETS:
        test.run(case_of(target))
    print(f"1..{test.count}")
    sys.exit(1 if test.failed else 0)


main()
