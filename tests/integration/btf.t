#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs find the kernel's types and tracepoints by a slice of its BTF. libbpf, which
searches all of it, comes to the same: it is made to by BTF in an ELF file, as a vmlinux has
it, which is not sliced."""

import pathlib
import re
import signal
import subprocess

import kdneeds
import kdtest
from kdbtf import BTF

RUNS = {"no option": (),
        "traces": ("--off-cpu=1ms", "-s10ms", "--profile=99"),
        "histograms": ("--histogram",)}


def programs(pid):
    """{(type, hash of its instructions as they were relocated)} of the BPF programs that a
    process holds."""
    found = set()
    for path in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir():
        fields = dict(re.findall(r"^(\w+):\s*(\w+)$", path.read_text(), re.MULTILINE))
        if "prog_tag" in fields and "link_type" not in fields:
            found.add((fields["prog_type"], fields["prog_tag"]))
    return found


def loaded(test, load, *options):
    """The programs of a run, and whether libbpf had to search for them."""
    capture = test.capture(load.pid, "--debug", *options)
    found = programs(capture.pid)
    capture.signal(signal.SIGINT)
    test.eq(capture.wait(), 0, "it ends well")
    return found, "libbpf searches the kernel's BTF" in capture.stderr


def case_slice(test):
    kdneeds.need("objcopy")
    load = test.workload("roles", "poll")
    directory = test.directory()
    (directory / "raw").write_bytes(BTF.read_bytes())
    subprocess.run(["objcopy", "-I", "binary", "-O", "elf64-little", "--rename-section",
                    ".data=.BTF", "raw", "elf"], cwd=directory, check=True)
    for what, options in RUNS.items():
        sliced, by_libbpf = loaded(test, load, *options)
        test.ok(sliced and not by_libbpf, f"{what}: by a slice", sliced)
        searched, by_libbpf = loaded(test, load, *options, "--btf", directory / "elf")
        test.ok(by_libbpf, f"{what}: by libbpf's own search, of an ELF file")
        test.eq(sorted(sliced), sorted(searched), f"{what}: the instructions are the same")


kdtest.main(case_slice)
