#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Includes go one way: down the list of folders in cli/README.rst. cli/DETAILS.rst names each file.
Few files include libbpf."""

import fnmatch
import os
import re

import lint

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)
# A row of the table: the folder in its first column.
ROW = re.compile(r"^``((?:bpf|cli|probes)/[a-z/]*)`` ", re.MULTILINE)
GENERATED = re.compile(r"[a-z_]+(\.skel\.h|_table\.inc|_page\.inc)")
LIBBPF_USERS = re.compile(r"bpf/.*|cli/capture/(?:session|parts/[^/]*|session/[^/]*)\.c|"
                          r"cli/process/kernelfs\.c|probes/attach[^/]*\.c")
MANY = 4  # files for which a pattern stands at most
# What of bpf/ is for user space, too.
SHARED = "bpf/kernel_delay.h"


def folder_of(path):
    return os.path.dirname(path) + "/"


def fault(path, name, order):
    """Why the file at path may not include name; None if it may."""
    if GENERATED.fullmatch(name):
        return None
    own = folder_of(path)
    if "/" not in name:
        return None if os.path.exists(lint.ROOT / own / name) else f"{name} is not in {own}"
    if not os.path.exists(lint.ROOT / name):
        return f"there is no {name}"
    other = folder_of(name)
    if other not in order:
        return f"{other} is not in the list of cli/README.rst"
    if other == own:
        return f"{name} is its neighbour: without the folder"
    if order.index(other) < order.index(own):
        return f"{name} is above {own}"
    if other == "bpf/" and name != SHARED:
        return f"{name} is for BPF programs only"
    return None


def case_direction(test):
    order = ROW.findall(lint.text(lint.ROOT / "cli/README.rst"))
    folders = {folder_of(path.as_posix()) for path in sources()}
    test.eq(sorted(order), sorted(folders), "cli/README.rst lists each folder once")
    for path in sources():
        wrong = []
        for quoted, angled in INCLUDE.findall(lint.text(path)):
            if quoted:
                wrong.append(fault(path.as_posix(), quoted, order))
            elif angled.startswith("bpf/") and not LIBBPF_USERS.fullmatch(path.as_posix()):
                wrong.append(f"<{angled}>: libbpf is not for it")
        wrong = list(filter(None, wrong))
        test.ok(not wrong, path, *wrong)


def case_lists(test):
    """The files of bpf/ and probes/ are in tables of their own."""
    table = lint.text(lint.ROOT / "cli/DETAILS.rst").partition("\nFiles\n")[2]
    rows = {match[1]: table[match.start():] for match in ROW.finditer(table)}
    for folder in (folder for folder in rows if folder.startswith("cli/")):
        said = re.split(rf"\n(?:(?!``{folder}``)``(?:bpf|cli|probes)/|=)", rows[folder], maxsplit=1)[0]
        names = re.findall(r"``([^`]+)``", said)
        stems = {path.stem for path in sources() if folder_of(path.as_posix()) == folder}
        patterns = [name for name in names
                    if "*" in name and len(fnmatch.filter(stems, name)) <= MANY]
        missing = sorted(stem for stem in stems if stem not in names and
                         not any(fnmatch.fnmatch(stem, name) for name in patterns))
        test.eq(missing, [], f"cli/DETAILS.rst names each file of {folder}")
    for folder, pattern in (("bpf", r"^``([a-z_]+(?:\.bpf)?\.h)`` "), ("probes", r"``([a-z_/]+)``")):
        said = re.findall(pattern, lint.text(lint.ROOT / folder / "README.rst"), re.MULTILINE)
        files = {path.relative_to(folder) for path in sources() if path.parts[0] == folder}
        names = {path.name if folder == "bpf" else path.with_suffix("").as_posix()
                 for path in files if folder != "bpf" or path.suffix == ".h"}
        test.eq(sorted(names - set(said)), [], f"{folder}/README.rst names each file")


def sources():
    return [path for folder in ("bpf", "cli", "probes")
            for path in lint.files(".c", ".h", under=folder)]


lint.main(case_direction, case_lists)
