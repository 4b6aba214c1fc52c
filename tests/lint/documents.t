#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The documents are well-formed and name the options that there are."""

import re

import lint
from kdtest import PROGRAM

PAGES = lint.files(".1", ".2", ".3", ".4", ".5", ".6", ".7", ".8", under="man")
MAIN = "man/kernel_delay.8"
LONG_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")
OTHERS = {"man/kernel_delay-metrics.5": {"--collector.textfile.directory"}}  # options of others


def rendered(page):
    """A manual page as text; its sections begin in the first column."""
    status, said = lint.output([lint.tool("mandoc"), "-T", "ascii", "-O", "width=1000", page])
    return re.sub(".\b", "", said) if status < 3 else ""


def case_manual_pages(test):
    test.ok(lint.pathlib.Path(MAIN) in PAGES and len(PAGES) > 2, "there are manual pages", PAGES)
    for page in PAGES:
        title = re.search(r"^\.TH (\S+) (\S+) ", lint.text(page), re.MULTILINE)
        test.eq(title and title[1].lower() + "." + title[2], page.name, f"{page}: its title")
        # Style has the length of lines, too: at most 80 bytes of text.
        status, said = lint.output([lint.tool("mandoc"), "-T", "lint", "-W", "style", page])
        test.ok(status == 0 and not said, f"{page}: mandoc finds no fault",
                *said.split("\n")[:20])


def case_groff(test):
    """The other formatter, whose warnings are others."""
    groff = lint.tool("groff")
    for page in PAGES:
        status, said = lint.output([groff, "-man", "-Tutf8", "-ww", "-z", page])
        test.ok(status == 0 and not said, f"{page}: groff does not warn", *said.split("\n")[:20])


def case_references(test):
    """From one page to another."""
    names = {f"{page.stem}({page.suffix[1:]})" for page in PAGES}
    named = {}
    for page in PAGES:
        found = set(re.findall(r"(?<![\w-])kernel_delay[\w-]*\(\d\)", rendered(page)))
        test.eq(sorted(found - names), [], f"{page}: refers to pages that there are")
        named[page.name] = found
    main = named.pop(lint.pathlib.Path(MAIN).name)
    test.eq(sorted(names - main - {"kernel_delay(8)"}), [], f"{MAIN}: refers to all others")
    for name, found in named.items():
        test.ok("kernel_delay(8)" in found, f"{name}: refers to the program's")


def case_options(test):
    if not lint.pathlib.Path(PROGRAM).exists():
        raise lint.Skip(f"there is no {PROGRAM}")
    told = set(LONG_OPTION.findall(lint.output([PROGRAM, "--help"])[1]))
    test.ok(len(told) > 2, "--help names options")
    for page in PAGES:
        text = rendered(page)
        if str(page) == MAIN:
            section = re.search(r"^OPTIONS$(.*?)^\S", text, re.MULTILINE | re.DOTALL)
            text = section[1] if section else ""
            test.eq(sorted(told - set(LONG_OPTION.findall(text))), [],
                    f"{page}: describes all of them")
        described = set(LONG_OPTION.findall(text)) - OTHERS.get(str(page), set())
        test.eq(sorted(described - told), [], f"{page}: names no others")


lint.main(case_manual_pages, case_groff, case_references, case_options)
