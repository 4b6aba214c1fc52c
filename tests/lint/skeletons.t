#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The BPF objects with and without the code for traces have the same variables, in the same
places, and the same maps and programs: user space knows one skeleton for both."""

import re

import lint

SECTION = re.compile(r"struct kernel_delay(?:_traces)?__(\w+) \{\n(.*?)\n\t\}", re.DOTALL)
MEMBERS = re.compile(r"\tstruct \{\n(.*?)\n\t\} (maps|progs);", re.DOTALL)


def skeleton(name):
    """The skeleton's variables by section, in order, and the names of maps and programs."""
    path = lint.ROOT / "build" / "gen" / f"{name}.skel.h"
    if not path.exists():
        raise lint.Skip("nothing is built")
    text = path.read_text(encoding="utf-8").partition("elf_bytes")[0]
    variables = {section: [line.strip() for line in body.split("\n")]
                 for section, body in SECTION.findall(text)}
    members = {kind: set(re.findall(r"\*(\w+);", body)) for body, kind in MEMBERS.findall(text)}
    return variables, members


def case_objects(test):
    plain, members = skeleton("kernel_delay")
    traces, traces_members = skeleton("kernel_delay_traces")
    test.ok({"rodata", "data", "bss", "data_word"} <= set(plain), "variables are found", plain)
    for section, variables in plain.items():
        test.eq(traces.get(section), variables,
                f"the variables of .{section} (each needs an initializer, see bpf/maps.bpf.h)")
    test.eq(traces_members["progs"], members["progs"], "the programs")
    test.ok(members["maps"] <= traces_members["maps"], "the maps",
            members["maps"] - traces_members["maps"])


lint.main(case_objects)
