#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How many instructions the kernel has to verify, and how many it runs for what is not the target's.

A loop or a pointer that the verifier follows for each of its values makes them many times as
many, and shows nowhere else."""

import os
import pathlib
import re
import subprocess
import unittest.mock

import kdbpfcall
import kdneeds
import kdtest
import kdxlated
from kdattached import listed
from kdbtf import BTF
from kdneeds import bpftool, need
from kdtrigger import Triggered


PROGRAM = 21_500    # instructions of one, with any option but those for traces
GROUP = 10_000      # what a group of programs adds
BUDGETS = pathlib.Path(__file__).with_name("instructions")


def budgets():
    """{what: largest permitted number of instructions}"""
    clang = subprocess.run(["clang", "--version"], capture_output=True, text=True, check=False).stdout
    same = "clang version 14." in clang and os.uname().release.startswith("6.18.")
    rows = [line.split() for line in BUDGETS.read_text().splitlines() if not line.startswith("#")]
    return {what: int(count) * (102 if same else 110) // 100 for what, count in rows}


def verified(pid):
    """{id: verified instructions} of the BPF programs that a process holds."""
    return {fields["prog_id"]: int(fields["verified_insns"]) for fields in kdtest.fdinfo(pid)
            if "verified_insns" in fields}  # links have a prog_id, too


def case_start(test):
    load, limits = test.workload("roles", "poll"), budgets()
    for what, args in ("start", ()), ("start-traces", ("--syscall-events", "10min")):
        capture = test.capture(load.pid, *args)
        found = verified(capture.pid)
        capture.interrupt(test, f"{what}: status")
        if not found:
            raise kdtest.Skip("this kernel does not tell (before 5.16)")
        test.between(sum(found.values()), 1, limits[what], f"{what}: all {len(found)}")
        print(f"# {what}: {sum(found.values()):,}, {sorted(found.values(), reverse=True)}")
        if not args:
            test.between(max(found.values()), 1, limits["largest"], "each program")


def case_others(test):
    """The shortest way through a program, from the kernel's own listing of it: the cost of each
    event of all other processes."""
    load, limits = test.workload("roles", "poll"), budgets()
    capture = test.capture(load.pid)
    numbers = {each["name"]: each["id"] for each in listed(bpftool(), "prog", "show")
               if str(each["id"]) in verified(capture.pid)}
    if not numbers:
        raise kdtest.Skip("this kernel does not tell which are the program's (before 5.16)")
    for name in (what for what in limits if what.startswith("kd_")):
        count = kdxlated.shortest(kdxlated.xlated(str(numbers[name])))
        test.between(count, limits[name] // 2, limits[name], f"{name}: of another process")
        print(f"# {name}: {count}")
    capture.close(test)


def case_options(test):
    """Groups of programs that are loaded only on request."""
    load = test.workload("roles", "poll")
    found = {}
    for args in ((), ("--resources",), ("--counters", "default,per-cpu"), ("--record=10ms",)):
        capture = test.capture(load.pid, *args)
        found[args] = verified(capture.pid)
        capture.close(test)
    if not found[()]:
        raise kdtest.Skip("this kernel does not tell (before 5.16)")
    for args in list(found)[1:]:
        test.between(max(found[args].values()), 1, PROGRAM, f"{args[0]}: each program")
        more = len(found[args]) - len(found[()])
        test.ok(more > 0, f"{args[0]}: {more} more programs")
        total = sum(found[args].values()) - sum(found[()].values())
        test.between(total, 1, GROUP, f"{args[0]}: what they add")
        print(f"# {args[0]}: {more} programs, {total:,} instructions")


def case_conditions(test):
    """What conditions of triggers add: nothing if there are none."""
    load = test.workload("roles", "poll")
    value = "[[[[arg0]+8]+8]+8]:s32"
    found = {}
    for condition in "", " if " + f"{value} == 1 && {value} < 2 || " * 3 + f"{value} & 4":
        run = Triggered(test, load.pid, "--start-trigger", f"t:syscalls:sys_enter_getppid{condition}")
        found[bool(condition)] = verified(run.pid)
        run.end()
    if not found[False]:
        raise kdtest.Skip("this kernel does not tell (before 5.16)")
    test.eq(len(found[True]), len(found[False]), "they need no program of their own")
    most = max(found[False].values())  # which differs a little from run to run
    test.between(max(found[True].values()), 0.99 * most, 1.01 * most, "the largest is another one")
    total = sum(found[True].values()) - sum(found[False].values())
    test.between(total, 1, GROUP, "what they add")
    print(f"# conditions: {total:,} instructions")


# --- How they are loaded ---
#
# Large ones by other threads meanwhile, unless there is but one CPU.

REFUSES = """
	if (command != BPF_PROG_LOAD || strcmp(attr->prog_name, getenv("PROGRAM")))
		return false;
	if (attr->insn_cnt == 2) {
		fputs("left to others\\n", stderr);
		return false;
	}
	errno = EACCES;
	return true;
"""


def case_refused(test):
    """The kernel refuses one of the programs."""
    load, library = test.workload("roles", "poll"), kdbpfcall.library(test, REFUSES)
    several = len(os.sched_getaffinity(0)) > 1
    for program, large in (("kd_sched_switch", True), ("kd_task_iter", True),
                           ("kd_sys_enter", True), ("kd_signal_deliv", False)):
        for options in (), ("--debug",):
            what = " ".join((program, *options))
            done = test.program("-p", load.pid, "--sample-time", "0.1", *options, wrapper=(
                "env", f"LD_PRELOAD={library}", f"PROGRAM={program}"))
            test.eq(done.status, 71, f"{what}: status")
            test.ok("kernel_delay: the kernel refused the BPF programs: Permission denied\n" in
                    done.stderr, f"{what}: says so", done.stderr[-1000:])
            test.eq("left to others" in done.stderr, large and several and not options,
                    f"{what}: whether another thread was to load it")
            test.ok(re.search(f"^libbpf: prog '{program}[a-z]*': BPF program load failed: "
                              "Permission denied$", done.stderr, re.MULTILINE) if options else
                    "--debug" in done.stderr, f"{what}: and what says more", done.stderr[-1000:])


def case_cpus(test):
    """With one CPU and with several the same programs are loaded."""
    load = test.workload("roles", "poll")
    found = {}
    for count in 1, 2:
        cpus = sorted(os.sched_getaffinity(0))[:count]
        if len(cpus) < count:
            raise kdtest.Skip("there is but one CPU")
        capture = test.capture(load.pid, preexec_fn=lambda some=cpus: os.sched_setaffinity(0, some))
        found[count] = sorted(verified(capture.pid).values()), programs(capture.pid)
        capture.interrupt(test, f"with {count}: it ends well")
    test.eq(found[1], found[2], "they are the same")


# --- How they find types ---
#
# Programs find the kernel's types and tracepoints by a slice of its BTF. libbpf, which searches
# all of it, comes to the same: it is made to by a library in front of it. BTF in an ELF file, as a
# vmlinux has it, will do, too.

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
    return sorted({(fields["prog_type"], fields["prog_tag"]) for fields in kdtest.fdinfo(pid)
                   if "prog_tag" in fields and "link_type" not in fields})


def loaded(test, load, *options):
    """The programs of a run, and its messages."""
    capture = test.capture(load.pid, *options)
    found = programs(capture.pid)
    capture.interrupt(test, "it ends well")
    return found, capture.stderr


def case_slice(test):
    shim, load = test.preload(SHIM), test.workload("roles", "poll")
    for what, options in RUNS.items():
        sliced, _ = loaded(test, load, *options)
        with unittest.mock.patch.dict(os.environ, LD_PRELOAD=shim):
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


kdtest.main(case_start, case_others, case_options, case_conditions, case_refused, case_cpus,
            case_slice, case_elf)
