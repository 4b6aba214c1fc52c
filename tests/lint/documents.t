#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The documents are well-formed and name the options that there are."""

import re

import lint

MAN = "man/kernel_delay.8"
PROGRAM = lint.ROOT / "build" / "kernel_delay"
LONG_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")


def require(path):
    if not (lint.ROOT / path).exists():
        raise lint.Skip(f"there is no {path}")


def rendered():
    """The manual page as text; its sections begin in the first column."""
    require(MAN)
    status, said = lint.output([lint.tool("mandoc"), "-T", "ascii", "-O", "width=1000", MAN])
    return re.sub(".\b", "", said) if status < 3 else ""


def case_manual_page(test):
    require(MAN)
    status, said = lint.output([lint.tool("mandoc"), "-T", "lint", "-W", "warning", MAN])
    test.ok(status == 0 and not said, "mandoc finds no fault", *said.split("\n")[:20])


def case_options(test):
    require(PROGRAM)
    told = set(LONG_OPTION.findall(lint.output([PROGRAM, "--help"])[1]))
    test.ok(len(told) > 2, "--help names options")
    section = re.search(r"^OPTIONS$(.*?)^\S", rendered(), re.MULTILINE | re.DOTALL)
    described = set(LONG_OPTION.findall(section[1] if section else ""))
    test.eq(sorted(described - told), [], "the manual page describes no others")
    test.eq(sorted(told - described), [], "the manual page describes all of them")


lint.main(case_manual_page, case_options)
