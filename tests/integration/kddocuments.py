# SPDX-License-Identifier: Apache-2.0
"""The kernel_delay command lines in the documents, as a reader would type them."""

import os
import re
import shlex
import subprocess

import kdtest

EXAMPLES = kdtest.ROOT / "examples"
# What takes the program's file, or its name, but does not run it.
NO_RUN = {"install", "cp", "scp", "rm", "man", "strip", "oc", "podman", "systemctl"}


def joined(text):
    """The lines, with each one that ends in a backslash joined to the next."""
    return re.sub(r"\\\n\s*", "", text).split("\n")


def of_rst(path):
    """Literal lines of an .rst file, without prompts and comments."""
    for line in joined(path.read_text()):
        if re.match(r"  +\S", line) and not re.match("   +--", line):  # which are of a screen
            yield re.split(r"\s{2,}", re.sub(r"^\s*(?:[$#] )?\s*", "", line))[0]


def of_man(path):
    """Lines of a manual page's examples."""
    text = "".join(re.findall(r"^\.EX\n(.*?)^\.EE", path.read_text(), re.M | re.S))
    for code, char in ((r"\-", "-"), (r"\(aq", "'"), (r"\(dq", '"'), (r"\e", "\\")):
        text = text.replace(code, char)
    yield from (re.sub(r"^[$#] ", "", line) for line in joined(text))


def of_remarks(path):
    for line in joined(path.read_text()):
        if re.match(r"\s*# +kernel_delay -", line):
            yield line.lstrip("# ")


def documents():
    """(name, lines) of each document."""
    for path in [kdtest.ROOT / "README.rst", *sorted(EXAMPLES.glob("*.rst"))]:
        yield str(path.relative_to(kdtest.ROOT)), list(of_rst(path))
    for path in sorted((kdtest.ROOT / "man").glob("*.[58]")):
        yield path.name, list(of_man(path))
    yield "examples/prometheus.yml", list(of_remarks(EXAMPLES / "prometheus.yml"))
    said = subprocess.run([kdtest.PROGRAM, "--help"], stdout=subprocess.PIPE, text=True, check=True)
    yield "--help", [line.strip() for line in said.stdout.split("\n") if line.startswith("  k")]


def arguments(line):
    """The arguments that a shell line gives to kernel_delay, or None. A variable or a command
    substitution stands for a PID."""
    line = re.sub(r"\$\([^)]*\)|\$\{?\w+\}?|\$!|\bPID\b", "4711", line)
    try:
        words = shlex.split(line)
    except ValueError:
        return None
    for at, word in enumerate(words):
        if (os.path.basename(word) == "kernel_delay" and not NO_RUN & set(words[:at]) and
                (not at or words[at - 1] not in ("-C", "--comm"))):
            rest = words[at + 1:]
            ends = [rest.index(end) for end in rest if re.fullmatch(r"[|&;]+|\d?>.*", end)]
            rest = rest[:min(ends, default=len(rest))]
            return [part for part in rest if part != "..."]
    return None


def commands():
    """(document, line, arguments, error lines that the document shows for the line)."""
    for name, lines in documents():
        found = []
        for line in lines:
            # Options alone stand for a line of the program with them.
            alone = name.endswith(".rst") and re.match(r"--[a-z]+[-a-z]*[= ]", line)
            args = shlex.split(line) if alone else arguments(line)
            if args is not None:
                found.append((name, line, args, []))
            elif found and line.startswith("kernel_delay: "):
                found[-1][3].append(line)
        yield from found


def options_files():
    """{name: lines} of option files that the documents show or come with."""
    text = "\n".join(of_man(kdtest.ROOT / "man" / "kernel_delay.8"))
    shown = re.findall(r"^cat (\S+\.options)\n(.*?)^kernel_delay ", text, re.M | re.S)
    return {**{path.name: path.read_text().splitlines() for path in EXAMPLES.glob("*.options")},
            **{name: lines.splitlines() for name, lines in shown}}
