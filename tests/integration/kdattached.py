# SPDX-License-Identifier: Apache-2.0
"""Which BPF programs a process has attached, and to what, according to bpftool."""

import json
import subprocess

import kdneeds

NAME = 15  # bytes of a program's name that every kernel keeps


def listed(tool, *args):
    said = subprocess.run([tool, "-j", *args], capture_output=True, text=True, errors="replace",
                          check=True).stdout
    return json.loads(said or "[]")


def attached(pid, prefix):
    """{(program, kind, tracepoint)} for programs with this prefix, and the tracepoints that they
    are attached to through descriptors of the process; the kind is "tracepoint" or
    "raw_tracepoint"."""
    tool = kdneeds.bpftool()
    names = {program["id"]: program.get("name", "")[:NAME]
             for program in listed(tool, "prog", "show")}
    return {(names.get(event["prog_id"], ""), event["fd_type"], event.get("tracepoint"))
            for event in listed(tool, "perf", "show")
            if event["pid"] == pid and names.get(event["prog_id"], "").startswith(prefix)}


def check_attached(test, pid, prefix, wanted, text):
    """Checks that exactly these programs with the prefix are attached in this way."""
    found = kdneeds.optional(test, text, attached, pid, prefix)
    if found is not None:
        test.eq(sorted(found), sorted((name[:NAME], kind, where) for name, kind, where in wanted),
                text)
