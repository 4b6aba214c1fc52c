# SPDX-License-Identifier: Apache-2.0
"""What the lint tests share: the tree's files and the printing of results."""

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "integration"))
# pylint: disable=wrong-import-position,unused-import
from kdneeds import tool  # noqa: E402,F401
from kdtest import Child, Skip, Test  # noqa: E402,F401

LEFT_OUT = {".git", "build", "LICENSES", "__pycache__"}


def files(*endings, under=""):
    """The tree's files with these suffixes, as paths relative to its top."""
    found = []
    for place, folders, names in os.walk(ROOT / under):
        folders[:] = sorted(set(folders) - LEFT_OUT)
        paths = [pathlib.Path(place, name).relative_to(ROOT) for name in sorted(names)]
        found += [path for path in paths if path.name.endswith(endings or "")]
    return found


def text(path):
    return (ROOT / path).read_text(encoding="utf-8")


def shebang(path):
    with open(ROOT / path, "rb") as stream:
        first = stream.readline()
    return first.decode(errors="replace") if first.startswith(b"#!") else ""


def output(argv, **options):
    """Runs a program to its end; returns (status, everything that it printed)."""
    done = subprocess.run([str(arg) for arg in argv], cwd=ROOT, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", check=False, **options)
    return done.returncode, done.stdout


def main(*cases):
    test = Test()
    for case in cases:
        test.run(case)
    print(f"1..{test.count}")
    sys.exit(1 if test.failed else 0)
