#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs find the kernel's types and tracepoints by a slice of its BTF. libbpf, which
searches all of it, comes to the same: it is made to by a library in front of it. BTF in an ELF
file, as a vmlinux has it, will do, too."""

import os
import pathlib
import re
import signal
import subprocess
import unittest.mock

import kdneeds
import kdtest
from kdbtf import BTF

RUNS = {"no option": (),
        "traces": ("--off-cpu=1ms", "-s10ms", "--profile=99"),
        "histograms": ("--histogram",)}

SHIM = """#define _GNU_SOURCE
#include <bpf/libbpf.h>
#include <dlfcn.h>
#include <stdio.h>
int bpf_object__open_skeleton(struct bpf_object_skeleton *skeleton,
			      const struct bpf_object_open_opts *options)
{
	int (*next)(struct bpf_object_skeleton *, const struct bpf_object_open_opts *) =
		(int (*)(struct bpf_object_skeleton *, const struct bpf_object_open_opts *))
			dlsym(RTLD_NEXT, "bpf_object__open_skeleton");
	LIBBPF_OPTS(bpf_object_open_opts, all, .btf_custom_path = "/sys/kernel/btf/vmlinux");

	fprintf(stderr, "%s was told of %s\\n", "libbpf", options->btf_custom_path);
	return next(skeleton, &all);
}
"""


def programs(pid):
    """{(type, hash of its instructions as they were relocated)} of the BPF programs that a
    process holds."""
    found = set()
    for path in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir():
        fields = dict(re.findall(r"^(\w+):\s*(\w+)$", path.read_text(), re.MULTILINE))
        if "prog_tag" in fields and "link_type" not in fields:
            found.add((fields["prog_type"], fields["prog_tag"]))
    return sorted(found)


def loaded(test, load, *options):
    """The programs of a run, and what it said."""
    capture = test.capture(load.pid, *options)
    found = programs(capture.pid)
    capture.signal(signal.SIGINT)
    test.eq(capture.wait(), 0, "it ends well")
    return found, capture.stderr


def case_slice(test):
    folder = test.directory()
    (folder / "shim.c").write_text(SHIM)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / "shim.so", folder / "shim.c"],
                   check=True)
    load = test.workload("roles", "poll")
    for what, options in RUNS.items():
        sliced, _ = loaded(test, load, *options)
        with unittest.mock.patch.dict(os.environ, LD_PRELOAD=str(folder / "shim.so")):
            searched, said = loaded(test, load, *options)
        test.ok("libbpf was told of /proc/self/fd/" in said, f"{what}: by libbpf's own search", said)
        test.ok(len(sliced) > 10, f"{what}: {len(sliced)} programs")
        test.eq(sliced, searched, f"{what}: the instructions are the same")


def case_elf(test):
    kdneeds.need("objcopy")
    load = test.workload("roles", "poll")
    directory = test.directory()
    (directory / "raw").write_bytes(BTF.read_bytes())
    subprocess.run(["objcopy", "-I", "binary", "-O", "elf64-little", "--rename-section",
                    ".data=.BTF", "raw", "elf"], cwd=directory, check=True)
    test.eq(loaded(test, load, "--btf", directory / "elf")[0], loaded(test, load)[0],
            "the instructions are the same")


kdtest.main(case_slice, case_elf)
