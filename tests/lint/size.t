#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The program's folders grow by no more than a little beyond tests/lint/budgets: 2 % for a folder,
1 % in total. `make size` (--print) prints the lines, with the files. --write sets the budgets to
the current numbers: once at the end of a piece of work, with the reason in the commit."""

import sys

import lint

BUDGETS = lint.ROOT / "tests" / "lint" / "budgets"
FOLDER, SUM = 1.02, 1.01  # times the number


def sizes():
    """{folder: (lines, files)} of C and headers."""
    found = {}
    for path in (path for top in ("bpf", "cli", "probes") for path in lint.files(".c", ".h", under=top)):
        lines, files = found.get(path.parent.as_posix(), (0, 0))
        found[path.parent.as_posix()] = (lines + lint.text(path).count("\n"), files + 1)
    return found


def budgets():
    rows = [line.split() for line in BUDGETS.read_text().splitlines() if line[0] != "#"]
    return {folder: int(lines) for folder, lines in rows}


def case_budgets(test):
    found, allowed = sizes(), budgets()
    test.eq(sorted(found), sorted(allowed), "each folder has a number")
    for folder in sorted(found.keys() & allowed.keys()):
        test.ok(found[folder][0] <= FOLDER * allowed[folder], f"{folder} has not grown much",
                f"{found[folder][0]} lines, of {allowed[folder]}")
    lines, most = sum(lines for lines, _ in found.values()), sum(allowed.values())
    test.ok(lines <= SUM * most, "nor has the sum", f"{lines} lines, of {most}")


def table():
    found, allowed = sizes(), budgets()
    print(f"{'folder':20} {'files':>6} {'lines':>7} {'before':>7}")
    for folder, (lines, files) in sorted(found.items()):
        print(f"{folder:20} {files:6} {lines:7} {allowed.get(folder, 0):7}")
    print(f"{'sum':20} {sum(files for _, files in found.values()):6} "
          f"{sum(lines for lines, _ in found.values()):7} {sum(allowed.values()):7}")


def write():
    head = [line for line in BUDGETS.read_text().splitlines() if line[0] == "#"]
    rows = [f"{folder:20} {lines:6}" for folder, (lines, _) in sorted(sizes().items())]
    BUDGETS.write_text("\n".join(head + rows) + "\n")


if sys.argv[1:] == ["--print"]:
    table()
elif sys.argv[1:] == ["--write"]:
    write()
else:
    lint.main(case_budgets)
