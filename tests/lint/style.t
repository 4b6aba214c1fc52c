#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The form of the sources: layout, licence line, lengths, leftovers."""

import re

import lint

MOST_LINES_OF_FILE = 700
MOST_LINES_OF_FUNCTION = 80
C_FILES = lint.files(".c", ".h")
SOURCES = [path for path in lint.files()
           if path in C_FILES or path.suffix in (".py", ".t", ".sh", ".js", ".css") or lint.shebang(path)
           or path.name in ("Makefile", ".clang-format")]
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b|\bnot (yet )?implemented\b")
THREAD_CALLED_TASK = re.compile(r'"[^"]*(?<![/.\w])[Tt]asks?\b(?! iterator|-clock)[^"]*"')


def case_clang_format(test):
    formatter = lint.tool("clang-format-14", "clang-format")
    version = re.search(r"version (\d+)", lint.output([formatter, "--version"])[1])
    if not version or version[1] != "14":
        raise lint.Skip(f"clang-format is {version[1] if version else 'unknown'}; "
                        "others than 14 lay out some lines differently")
    for path in C_FILES:
        status, said = lint.output([formatter, "--dry-run", "--Werror", path])
        test.ok(status == 0, path, *said.split("\n")[:12], "`make format` puts it right")


def case_licence(test):
    for path in SOURCES:
        lines = lint.text(path).split("\n", 2)
        line = lines[1] if lines[0].startswith("#!") else lines[0]
        found = re.search(r"SPDX-License-Identifier: (.*?)(?: \*/)?$", line)
        allowed = ["Apache-2.0", "Apache-2.0 OR GPL-2.0-only"]
        if path.parts[0] == "bpf":
            allowed = allowed[1:]
        test.ok(found and found[1] in allowed, path, f"its line is: {line}",
                f"want SPDX-License-Identifier: {' or: '.join(allowed)}")


def case_file_length(test):
    for path in SOURCES:
        lines = lint.text(path).count("\n")
        test.ok(lines <= MOST_LINES_OF_FILE, path, f"{lines} lines, {MOST_LINES_OF_FILE} are "
                "the most: is it still one concern?")


def case_function_length(test):
    ctags = lint.tool("ctags-universal", "ctags")
    if "Universal" not in lint.output([ctags, "--version"])[1]:
        raise lint.Skip("ctags is not Universal Ctags")
    said = lint.output([ctags, "-x", "--_xformat=%F %N %n %e", "--kinds-C=f", "--fields=+ne",
                        "--language-force=C", *C_FILES])[1]
    functions = [line.split() for line in said.splitlines()]
    functions = [fields for fields in functions if len(fields) == 4 and fields[3].isdigit()]
    test.ok(len(functions) > len(C_FILES), "ctags finds functions")
    long = [f"{path}: {name}() has {int(end) - int(start) + 1} lines"
            for path, name, start, end in functions
            if int(end) - int(start) + 1 > MOST_LINES_OF_FUNCTION]
    test.ok(not long, f"no function has more than {MOST_LINES_OF_FUNCTION} lines", *long)


def faults_of_lines(paths, is_fault):
    faults = []
    for path in paths:
        for number, line in enumerate(lint.text(path).split("\n"), 1):
            if is_fault(line):
                faults.append(f"{path}:{number}: {line.strip()}")
    return faults


def case_leftovers(test):
    others = [path for path in SOURCES + lint.files(".rst", ".8")
              if path.parts[:2] != ("tests", "lint")]
    faults = faults_of_lines(others, UNFINISHED.search)
    test.ok(not faults, "nothing is marked as unfinished", *faults)
    faults = faults_of_lines(others, lambda line: line != line.rstrip())
    test.ok(not faults, "no line ends with blanks", *faults)
    faults = [path for path in others if not lint.text(path).endswith("\n")
              or lint.text(path).endswith("\n\n")]
    test.ok(not faults, "every file ends with one newline", *faults)


def case_words(test):
    faults = faults_of_lines(lint.files(".c", under="cli"), THREAD_CALLED_TASK.search)
    test.ok(not faults, "no message says task for thread", *faults)


lint.main(case_clang_format, case_licence, case_file_length, case_function_length,
          case_leftovers, case_words)
