# SPDX-License-Identifier: Apache-2.0
"""Which BPF programs a process has attached, and to what, as bpftool has it."""

import json
import os
import shutil
import subprocess

NAME = 15  # bytes of a program's name that every kernel keeps


def listed(tool, *args):
    said = subprocess.run([tool, "-j", *args], capture_output=True, text=True, check=True).stdout
    return json.loads(said or "[]")


def attached(pid, prefix):
    """{(program, kind, tracepoint)} of the tracepoints that programs whose names begin so
    are attached to through descriptors of the process; the kind is "tracepoint" or
    "raw_tracepoint". None without bpftool."""
    tool = shutil.which("bpftool", path="/usr/sbin:/sbin:" + os.environ["PATH"])
    if not tool:
        return None
    names = {program["id"]: program.get("name", "")[:NAME]
             for program in listed(tool, "prog", "show")}
    return {(names.get(event["prog_id"], ""), event["fd_type"], event.get("tracepoint"))
            for event in listed(tool, "perf", "show")
            if event["pid"] == pid and names.get(event["prog_id"], "").startswith(prefix)}


def check_attached(test, pid, prefix, wanted, text):
    """Checks that these programs are attached so, and no others of the prefix."""
    found = attached(pid, prefix)
    if found is None:
        test.skip(text, "bpftool is not installed")
    else:
        test.eq(sorted(found), sorted((name[:NAME], kind, where) for name, kind, where in wanted),
                text)
