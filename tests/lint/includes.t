#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Includes point one way: main -> options, preflight, run; run -> session, loop,
report; session -> probes; report -> sample; sample -> bpf/kernel_delay.h. Few
files know libbpf."""

import os
import re

import lint

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)

SHARED = r"bpf/kernel_delay\.h"
SAMPLE = r"cli/sample\.h"
# Small files that know nothing of the rest.
SMALL_NAMES = r"cli/(clock|escape|exit_status|log|parse|syscall_names)"
SMALL = SMALL_NAMES + r"\.h"
GENERATED = r"syscall_table\.inc"
SKELETON = r"kernel_delay\.skel\.h"
# What the reports are given.
REPORTED = r"cli/(sample|traces|trigger_stats)\.h"
DISTRIBUTION = r"cli/distribution\.h"
TRIGGERS = r"probes/(trigger|resolve|kernel|confined)\.h"

# Which of the tree's own files a file may include; the first rule that fits.
# Its own header and, in folders of their own, its neighbours always may be.
RULES = (
    (r"bpf/.*", ()),
    (r"cli/main\.c", (r"cli/[^/]*\.h", r"cli/capture/kernelfs\.h", r"cli/report/metrics\.h",
                    r"probes/list\.h")),
    (r"cli/run[^/]*", (r"cli/[^/]*\.h", r"cli/(capture|output|replay|report)/[^/]*\.h",
                       r"cli/stack/stacks\.h")),
    (r"cli/trigger_set\.[ch]", (SHARED, SMALL, TRIGGERS, r"cli/options\.h")),
    (r"cli/options[^/]*", (SHARED, SMALL, r"cli/(options[^/]*|syscall_set)\.h")),
    (r"cli/syscall_set\.[ch]", (SHARED, SMALL, r"probes/names\.h")),
    (r"cli/output/.*", (SMALL, SAMPLE, r"cli/(options|trigger_stats)\.h", r"cli/report/[^/]*\.h")),
    (r"cli/replay/.*", (SHARED, SMALL, REPORTED, DISTRIBUTION, r"cli/report/json_names\.h")),
    (r"cli/fail_if[^/]*", (SHARED, SAMPLE, SMALL, r"cli/fail_if_metrics\.h", r"probes/names\.h",
                           r"cli/report/number\.h")),
    (r"cli/exporter[^/]*", (SMALL, SAMPLE, r"cli/(trigger_stats|exporter[^/]*)\.h", r"cli/exporter[^/]*\.h", r"cli/report/[^/]*\.h")),
    (r"cli/worst\.[ch]", (SAMPLE,)),
    (r"cli/sample\.[ch]", (SHARED, DISTRIBUTION, r"cli/traces\.h")),
    (r"cli/trigger_stats\.[ch]", (SHARED, DISTRIBUTION)),
    (r"cli/traces\.[ch]", (SHARED, r"cli/stack/stack\.h")),
    (r"cli/ledger\.[ch]", (SHARED, SAMPLE)),
    (r"cli/report/.*", (REPORTED, DISTRIBUTION, r"cli/(escape|number|syscall_names)\.h")),
    (r"cli/capture/tracer\.[ch]", (SHARED, SAMPLE, SMALL, r"cli/traces\.h",
                                  r"cli/stack/(stacks|kernel_symbols)\.h")),
    (r"cli/stack/(cfi|unwind|resolver|space|function_table|stack_copy)[^/]*",
     (SHARED, r"probes/(elf_file|symbols|debug_file)\.h")),
    (r"cli/stack/.*", (SHARED, SMALL, r"probes/(file|maps|objects)\.h")),
    (r"cli/capture/session\.h", (SHARED, SAMPLE, r"probes/resolve\.h")),
    (r"cli/capture/session[^/]*\.c", (SHARED, SAMPLE, SMALL, SKELETON, r"probes/(attach(_cost)?|call_place)\.h")),
    (r"cli/capture/.*", (SHARED, SAMPLE, SMALL, r"cli/ledger\.h")),
    (SMALL_NAMES + r"\.[ch]", (SMALL, GENERATED)),
    (r"cli/[^/]*", (SHARED, SMALL, r"cli/(options|preflight|target|placement)\.h")),
    (r"probes/.*", (SMALL,)),
)
LIBBPF_USERS = re.compile(r"bpf/.*|cli/capture/(session[^/]*|kernelfs)\.c|probes/attach[^/]*\.c")


def resolve(path, name):
    """The tree's file that is meant, relative to its top; the name if it is generated."""
    file = os.path.normpath(path.parent / name)
    return file if (lint.ROOT / file).exists() else name


def allowed(path, target):
    folder = path.parent.as_posix()
    if target == path.with_suffix(".h").as_posix():
        return True
    if folder not in ("cli", ".") and os.path.dirname(target) == folder:
        return True
    for pattern, targets in RULES:
        if re.fullmatch(pattern, path.as_posix()):
            return any(re.fullmatch(other, target) for other in targets)
    return False


def case_direction(test):
    paths = [path for folder in ("bpf", "cli", "probes") if (lint.ROOT / folder).is_dir()
             for path in lint.files(".c", ".h", under=folder)]
    test.ok(paths, "there are sources")
    for path in paths:
        own, libbpf = [], []
        for quoted, angled in INCLUDE.findall(lint.text(path)):
            if quoted:
                own.append(resolve(path, quoted))
            elif angled.startswith("bpf/"):
                libbpf.append(angled)
        wrong = [target for target in own if not allowed(path, target)]
        if libbpf and not LIBBPF_USERS.fullmatch(path.as_posix()):
            wrong += libbpf
        test.ok(not wrong, path, *(f"may not include {target}" for target in wrong))


lint.main(case_direction)
