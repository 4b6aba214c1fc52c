#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lines and files of each folder of the program stay within tests/lint/budgets. To raise one is a
line of its own in a commit, with its reason. `make size` (--print) prints them."""

import re
import sys

import lint

BUDGET = re.compile(r"^(\S+) +(\d+) +(\d+)(?: +#.*)?$")


def sizes():
    """{folder: (lines, files)} of C and headers."""
    found = {}
    for path in (path for top in ("bpf", "cli", "probes") for path in lint.files(".c", ".h", under=top)):
        lines, files = found.get(path.parent.as_posix(), (0, 0))
        found[path.parent.as_posix()] = (lines + lint.text(path).count("\n"), files + 1)
    return found


def budgets():
    rows = [line for line in lint.text("tests/lint/budgets").splitlines() if line and line[0] != "#"]
    return {match[1]: (int(match[2]), int(match[3])) for match in map(BUDGET.fullmatch, rows) if match}


def case_budgets(test):
    found, allowed = sizes(), budgets()
    test.eq(sorted(found), sorted(allowed), "each folder has a budget")
    for folder in sorted(found.keys() & allowed.keys()):
        test.ok(found[folder][0] <= allowed[folder][0] and found[folder][1] <= allowed[folder][1],
                f"{folder} is within its budget",
                "lines %d, files %d; budget %d, %d" % (*found[folder], *allowed[folder]))


def table():
    found, allowed = sizes(), budgets()
    print(f"{'folder':16} {'lines':>7} {'budget':>7} {'files':>6} {'budget':>7}")
    for folder, (lines, files) in sorted(found.items()):
        most = allowed.get(folder, (0, 0))
        print(f"{folder:16} {lines:7} {most[0]:7} {files:6} {most[1]:7}"
              f"{'  over' if lines > most[0] or files > most[1] else ''}")
    print(f"{'sum':16} {sum(row[0] for row in found.values()):7} {'':7} "
          f"{sum(row[1] for row in found.values()):6}")


if sys.argv[1:] == ["--print"]:
    table()
else:
    lint.main(case_budgets)
