#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The documents are well-formed and name exactly the existing options."""

import difflib
import json
import re

import documents
import lint
from kdtest import PROGRAM

PAGES = lint.files(".1", ".2", ".3", ".4", ".5", ".6", ".7", ".8", under="man")
MAIN = "man/kernel_delay.8"
JSON_PAGE = "man/kernel_delay-json.5"
LONG_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")
ATTRIBUTE = re.compile(r"^ {8}(--\S+)", re.MULTILINE)  # in the help
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
    """The other formatter, which gives different warnings."""
    groff = lint.tool("groff")
    for page in PAGES:
        status, said = lint.output([groff, "-man", "-Tutf8", "-ww", "-z", page])
        test.ok(status == 0 and not said, f"{page}: groff does not warn", *said.split("\n")[:20])


def case_references(test):
    """References from one manual page to another."""
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


def spellings():
    """Old spellings of options that have become attributes, as the program's table has them, and
    the messages when they are given."""
    sources = "".join(lint.text(path) for path in lint.files(".c", under="cli/options"))
    rows = re.findall(r'^\t\{ "([a-z-]+)", 0, TAKES_(\w+),(.*?)(?=^\t\{ |^\};)', sources,
                      re.MULTILINE | re.DOTALL)
    told = {}
    for name, takes, rest in rows:
        if re.search(r'\.of = (?!"")', rest):
            option = f"--{name}" + ("" if takes == "NONE" else "=1")
            said = lint.output([PROGRAM, "--list-metrics", option])[1]
            told[f"--{name}"] = re.search(r"is now an attribute: (\S+)", said)[1]
    return told


def case_options(test):
    if not lint.pathlib.Path(PROGRAM).exists():
        raise lint.Skip(f"there is no {PROGRAM}")
    help_all = lint.output([PROGRAM, "--help=all"])[1]
    told = set(LONG_OPTION.findall(help_all))
    test.ok(len(told) > 2, "--help=all names options")
    for page in PAGES:
        text = rendered(page)
        if str(page) == MAIN:
            old = re.search(r"^OLD SPELLINGS$(.*?)^\S", text, re.MULTILINE | re.DOTALL)[1]
            test.eq(dict(re.findall(r"^ +(--\S+) +(--\S+)$", old, re.MULTILINE)), spellings(),
                    f"{page}: how options were spelled that are attributes now")
            rest = set(LONG_OPTION.findall(text.replace(old, "")))
            test.eq(sorted(rest & set(spellings())), [], f"{page}: uses none of these")
            section = re.search(r"^OPTIONS$(.*?)^\S", text, re.MULTILINE | re.DOTALL)
            text = section[1] if section else ""
            test.eq(sorted(told - set(LONG_OPTION.findall(text))), [],
                    f"{page}: describes all of them")
            test.eq(sorted(set(ATTRIBUTE.findall(help_all)) - set(re.findall(r"\S+", text))), [],
                    f"{page}: describes all attributes")
        described = set(LONG_OPTION.findall(text)) - OTHERS.get(str(page), set())
        test.eq(sorted(described - told), [], f"{page}: names no others")


def case_formats(test):
    """The formats of -o are those of the help, in the same order."""
    if not lint.pathlib.Path(PROGRAM).exists():
        raise lint.Skip(f"there is no {PROGRAM}")
    listed = lint.output([PROGRAM, "--help=output"])[1].partition("\nFORMAT is one of\n")[2]
    page = lint.text(lint.pathlib.Path(MAIN))
    section = re.search(r"^\.SS Formats$(.*?)^\.SS", page, re.MULTILINE | re.DOTALL)[1]
    test.eq(re.findall(r"^\.TP\n\.B (\S+)$", section, re.MULTILINE),
            re.findall(r"^  (\S+)", listed, re.MULTILINE), f"{MAIN}: describes all formats")


def conditions_of(text):
    """The conditions in a text such as "name (.field, .field), name": the set of fields of each
    name; without .NAME."""
    found, names = {}, []
    for name, fields in re.findall(r"([a-z_]+(?:\.NAME)?)|\(([^)]*)\)", text):
        if name:
            names.append(name)
            found[name] = set()
            continue
        found.update((known, set(re.findall(r"\w+", fields))) for known in names)
        names = []
    return {name: fields for name, fields in found.items() if not name.endswith(".NAME")}


def case_conditions(test):
    """The subjects of --fail-if: the program's list matches the manual's."""
    if not lint.pathlib.Path(PROGRAM).exists():
        raise lint.Skip(f"there is no {PROGRAM}")
    said = lint.output([PROGRAM, "--fail-if", "?>0"])[1]
    listed = re.search(r"there are (.*)", said)[1].replace("[.NAME]", "").split(", ")
    known = {name: set(filter(None, fields.split("|")))
             for name, _, fields in (word.partition(".") for word in listed)}
    test.ok(len(known) > 15, "the program lists them", said)
    page = lint.text(lint.pathlib.Path(MAIN))
    section = re.search(r"^\.SH CONDITIONS$(.*?)^\.SH", page, re.MULTILINE | re.DOTALL)[1]
    described = {}
    for tag in re.findall(r"^\.TP\n\.B?R? ?(.*)", section, re.MULTILINE):
        described.update(conditions_of(tag.replace('"', "").replace(r"\fINAME\fP", "NAME")))
    test.eq(described, known, f"{MAIN}: describes them with their fields")


RECIPES = ("cli/README.rst", "bpf/README.rst", "probes/README.rst")


def case_recipes(test):
    """The examples and files that "where to add what" refers to exist."""
    sources = [(path, lint.text(path)) for top in ("bpf", "cli", "probes")
               for path in lint.files(".c", ".h", under=top)]
    for page in RECIPES:
        _, _, recipes = lint.text(lint.pathlib.Path(page)).partition("\n- *")
        examples = set(re.findall(r"\bas\s+``(\w+)``", recipes))
        test.ok(examples or page.startswith("probes"), f"{page}: has examples")
        for name in sorted(examples):
            test.ok(any(re.search(rf"\b{name}\b", text) for _, text in sources),
                    f"{page}: there is {name}")
        named = set(re.findall(r"``((?:\w+/)*\w+(?:\.bpf)?\.[ch])``", recipes))
        for name in sorted(named):
            test.ok(any(path.as_posix().endswith("/" + name) for path, _ in sources) or
                    (lint.ROOT / name).exists(), f"{page}: there is {name}")
        test.ok(not re.search(r"\bcommits? [0-9a-f]{7}", recipes), f"{page}: names no commits")


def undescribed(node, where=""):
    """Members that the schema does not describe."""
    found = []
    for key, part in node.items() if isinstance(node, dict) else ():
        found += [f"{where}.{name}" for name, member in part.items()
                  if not member.get("description", "").endswith(".")] if key == "properties" else []
        found += undescribed(part, f"{where}.{key}")
    return found


def case_made(test):
    """Parts derived from the program's tables are up to date, and the sentences to be written by
    hand are there."""
    for program in (PROGRAM, documents.TABLES):
        if not lint.pathlib.Path(program).exists():
            raise lint.Skip(f"there is no {program}")
    for path, make in documents.MADE.items():
        there = lint.text(path)
        differs = difflib.unified_diff(there.splitlines(), make(there).splitlines(), "there",
                                       "`make documents` writes", lineterm="", n=0)
        test.eq(list(differs), [], f"{path}: as the program's tables have it")
    test.eq(undescribed(json.loads(lint.text(documents.SCHEMA))), [],
            f"{documents.SCHEMA}: every member is described")


def case_promised(test):
    """Options, exit statuses, members of JSON, words and metrics stay until the next release whose
    first number is larger (NEWS)."""
    if not lint.pathlib.Path(PROGRAM).exists():
        raise lint.Skip(f"there is no {PROGRAM}")
    held, now = set(lint.text(documents.PROMISED).splitlines()), documents.promises()
    test.eq(sorted(held - now), [], "nothing that was promised is gone")
    test.eq(sorted(now - held), [], "what is new is promised from now on: `make documents`")


# Where the manual lists words that are in the program's tables: page, entry, table.
WORDS = [(documents.METRICS_PAGE, "state", "sample.threads.ledger"),
         (documents.METRICS_PAGE, "kind", "sample.threads.blocked"),
         (documents.METRICS_PAGE, "kind", "sample.threads.stopped_by.kind"),
         (documents.METRICS_PAGE, "context", "trace_row.ended_by.context"),
         (documents.METRICS_PAGE, "reason", "losses"),
         (MAIN, "ready_by", "sample.threads.ready_by.kind"),
         (MAIN, "blocked_for", "sample.threads.blocked"),
         (MAIN, "interruptions", "sample.threads.interruptions"),
         (MAIN, "read", "sample.threads.io")]
UNLISTED = {"life_ns", "sum_exec_runtime_ns", "all", "task"}  # no states, no name of their own


def case_words(test):
    if not documents.TABLES.exists():
        raise lint.Skip(f"there is no {documents.TABLES}")
    tables = documents.tables()
    for page, entry, where in WORDS:
        name, *inner = where.split(".")
        rows, words = tables[name], ()
        for key in inner:
            found = next(row for row in rows if row["key"] == key)
            rows, words = found.get("fields", ()), found.get("words", ())
        words = {*words, *(row["key"] for row in rows)} - UNLISTED
        test.ok(len(words) > 2, f"{where} has words")
        said = re.search(rf"^\.TP\n\.BR? {entry}\b(?=[\n ]).*?^\.(TP|S[HS])", lint.text(page),
                         re.MULTILINE | re.DOTALL)[0]
        missing = {word.removesuffix("_ns") for word in words} - set(re.findall(r"\w+", said))
        test.eq(sorted(missing), [], f"{page}: {entry} has the words of {where}")
    threads = next(row["fields"] for row in tables["sample"] if row["key"] == "threads")
    titles = [row["title"].strip("[]") for row in threads if "title" in row]
    test.ok(len(titles) > 5, "lists have sections of the report")
    missing = [title for title in titles if f"\n.B {title}\n" not in lint.text(MAIN)]
    test.eq(missing, [], f"{MAIN}: describes these sections")


def case_members(test):
    """The manual page describes the members of JSON in the schema."""
    schema = json.loads(lint.text(documents.SCHEMA))["definitions"]
    words = set(re.findall(r"[a-z0-9_]+", rendered(lint.pathlib.Path(JSON_PAGE))))
    for name in ("sample", "thread", "recording", "recorded", "recorded_kind"):
        members = {key for key in schema[name]["properties"] if not key.endswith("_hex")}
        test.ok(len(members) > 10, f"{documents.SCHEMA}: members of a {name}")
        test.eq(sorted(members - words), [], f"{JSON_PAGE}: describes all of them")


def case_pictures(test):
    """Each picture is shown by an example beside it."""
    folder = lint.pathlib.Path("examples")
    shown = {name for page in folder.glob("*.rst")
             for name in re.findall(r"^\.\. image:: (\S+)$", lint.text(page), re.MULTILINE)}
    test.eq(sorted(path.name for path in folder.iterdir() if path.suffix in (".png", ".svg")),
            sorted(shown), "examples: pictures")


lint.main(case_manual_pages, case_groff, case_references, case_options, case_formats,
          case_conditions, case_recipes, case_made, case_promised,
          case_words, case_members, case_pictures)
