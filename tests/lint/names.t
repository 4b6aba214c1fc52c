#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A name means one thing: external names, static functions and types do not share one, so that a
search by name finds the right thing, and tools that count calls are not misled."""

import collections
import re

import lint

# As clang-format lays them out: a definition begins in the first column, and its body in a line.
FUNCTION = re.compile(r"^([A-Za-z_][^;{}#=()]*?)\b(\w+)\([^;{}]*\)\n\{", re.MULTILINE)
PROTOTYPE = re.compile(r"^(?!static |typedef |#)[A-Za-z_][^;{}#=()]*?[ *](\w+)\([^;{}]*\);", re.MULTILINE)
TAG = re.compile(r"\b(?:struct|union|enum)\s+(\w+)\s*\{")
IGNORED = re.compile(r"""'(?:\\.|[^'\\\n])+'|"(?:\\.|[^"\\\n])*"|/\*.*?\*/|"""
                     r"__attribute__\(\((?:[^()]|\([^()]*\))*\)\)\s*", re.DOTALL)


def names_of(paths):
    """{kind: {name: where it is defined}}; a place is a file without its suffix."""
    found = collections.defaultdict(lambda: collections.defaultdict(set))
    for path in paths:
        text, place = IGNORED.sub("", lint.text(path)), path.with_suffix("").as_posix()
        for name in TAG.findall(text):
            found["type of a header" if path.suffix == ".h" else "type"][name].add(place)
        for said, name in FUNCTION.findall(text):
            found["static function" if "static " in said else "external function"][name].add(place)
        for name in PROTOTYPE.findall(text) if path.suffix == ".h" else ():
            found["external function"][name].add(place)
    return found


def faults_of(found):
    """Names of one kind that also name another thing elsewhere."""
    for kind, others in (("external function", ("static function", "type", "type of a header")),
                         ("static function", ("type", "type of a header")),
                         ("type of a header", ("type", "type of a header"))):
        for name, places in sorted(found[kind].items()):
            for other in others:
                elsewhere = found[other].get(name, set()) - (places if other != kind else {min(places)})
                if elsewhere:
                    yield (f"{name}: {kind} of {', '.join(sorted(places))}, "
                           f"{other} of {', '.join(sorted(elsewhere))}")


def case_unique(test):
    paths = [path for folder in ("cli", "probes") for path in lint.files(".c", ".h", under=folder)]
    found = names_of(paths)
    for kind, least in (("external function", 800), ("static function", 1500), ("type of a header", 200)):
        test.ok(len(found[kind]) > least, f"there are names of each {kind}", len(found[kind]))
    faults = list(faults_of(found))
    test.ok(not faults, "each is one thing", *faults)


def case_found(test):
    """A shared name is detected."""
    folder = test.directory()
    (folder / "a.h").write_text("struct one {\n\tint a;\n};\nint two(void);\n")
    (folder / "b.c").write_text("struct one {\n\tint a;\n};\nstatic int two(void)\n{\n}\n"
                                "static void one(int a,\n\t\tint b)\n{\n}\n")
    faults = [fault.split(":")[0] for fault in faults_of(names_of(sorted(folder.iterdir())))]
    test.eq(faults, ["two", "one", "one"], "two of a type, and one of a function")


lint.main(case_unique, case_found)
