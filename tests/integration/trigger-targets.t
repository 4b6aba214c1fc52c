#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tests/run: long
"""User-space probes of real programs and of ours: as many hits as there were pieces of work that
they stand for."""

import os
import pathlib
import re
import shutil
import subprocess

import kdservers
import kdtest
from kdneeds import need
from kdtrigger import (NO_LIMIT, UNLIMITED, Counted, Log, Triggered, check_reports, compiled,
                       program_offset, reported_once, second_instruction, symbols)

NONE = ("--trigger-delta", "1min", *UNLIMITED, *NO_LIMIT)  # hits are counted, no window is kept
WORKLOADS = kdtest.ROOT / "tests" / "workloads"


def hits(test, pid, start, stop, during, *args):
    """The hits of both triggers while something is done; returns the run, and the result of that
    action."""
    run = Triggered(test, pid, "--start-trigger", start, "--stop-trigger", stop,
                    *(args or NONE), urgent=True)
    result = during()
    run = run.stop(test)
    roles = run.triggers.roles
    return (roles["start"].hits, roles["stop"].hits), run, result


def tell(child, *words):
    """Sends commands, each of which is answered by "done"."""
    for word in words:
        child.send(word)
        child.line("done")


def case_sdt(test):
    """Probes of <sys/sdt.h>, with and without semaphores, at one site and at three."""
    for name in ("sdt", "sdt_plain"):
        load = test.workload(name)
        if load.ready:
            raise kdtest.Skip("sys/sdt.h was not there when it was built")
        got, _, _ = hits(test, load.pid, "u:kdtest:one", "usdt:kdtest:many",
                         lambda: tell(load, "one 17", "many 9"))
        test.eq(got, (17, 27), f"{name}: hits of one site, and of three")
        got, _, during = hits(test, load.pid, f"u:{name}:kdtest:one", "u:kdtest:many",
                              lambda: load.ask("counts"))
        test.eq(got, (0, 0), f"{name}: none while nothing happens")
        if name == "sdt":
            test.ok(min(during["semaphores"][:2]) > 0 and during["semaphores"][2:] == [0, 0],
                    "the semaphores of these probes are up", during)
            kdtest.wait_until(lambda: load.ask("counts")["semaphores"] == [0, 0, 0, 0])
            test.ok(True, "and down again")
        _, run, _ = hits(test, load.pid, "u:kdtest:begin", "u:kdtest:end",
                         lambda: tell(load, "pair 10 3000"), "--window-banks", "7",
                         *UNLIMITED)
        reported_once(test, run.reports, load.ask("counts")["pairs"], 0, "pair")
        check_reports(test, run.reports)


def case_stripped(test):
    """By address in a program without symbols, by offset in one with symbols."""
    need("strip")
    copy = test.directory() / "kdtest-stripped"
    shutil.copy(kdtest.WORKLOADS / "caller", copy)
    address, _ = symbols(copy)["probed_call"]
    subprocess.run(["strip", copy], check=True)
    test.ok("probed_call" not in symbols(copy), "the copy has no symbols")
    load = test.workload(copy, "caller", "spins:1234:20000:10:100")
    got, _, _ = hits(test, load.pid, f"up:kdtest-stripped:{address:#x}",
                     f"ur:{copy}:{address:#x}", load.go)
    test.eq(got, (1234, 1234), "hits by address")
    load = test.workload("caller", "spins:4321:20000:10:100")
    shift = second_instruction(kdtest.WORKLOADS / "caller", "probed_call")
    got, _, _ = hits(test, load.pid, f"up:probed_call+{shift:#x}", "up:caller:probed_call+0x0",
                     load.go)
    test.eq(got, (4321, 4321), "hits by offset")


def case_shared_library(test):
    """A function of the C library, which only has .dynsym."""
    load = test.workload("roles", "calls:3000:0:0")
    got, _, truths = hits(test, load.pid, "up:libc.so.6:syscall", "ur:libc.so.6:syscall", load.go)
    made = truths["threads"][0]["getppid"]
    test.eq(got, (made, made), "up:libc.so.6:syscall")


def case_vpp(test):
    """Nodes in a shared library, where it is unknown which variant runs."""
    library = compiled(test, WORKLOADS / "vpp.c", "libvnet_test.so", "-shared", "-fPIC", "-DNODES")
    load = test.workload("vpp", library, "x86_64_v3", str(kdtest.last_cpu()))
    got, run, truth = hits(test, load.pid, "up:libvnet_test.so:ip4_lookup_node_fn*",
                           "ur:libvnet_test.so:ip4_lookup_node_fn*",
                           lambda: load.ask("hit 2500"))
    test.eq(got, (2500, 2500), "hits of all variants")
    got, run, truth = hits(test, load.pid, "up:libvnet_test.so:ip4_lookup_node_fn_x86_64_v3",
                           "ur:libvnet_test.so:ip4_lookup_node_fn_x86_64_v3",
                           lambda: load.ask("hit 20"),
                           *UNLIMITED, *NO_LIMIT)
    test.eq(got, (20, 20), "hits of the one variant")
    test.between(len(run.reports), 1, 20, "windows are reported")
    for report in run.reports:
        test.ok(truth["from"] <= report.start < report.stop <= truth["to"],
                "while the worker was at it")
        worker = report.thread(truth["tid"])
        ran = worker.running + sum(worker.ns[state] for state in (
            "stolen by hypervisor", "ready after preemption", "ready after wakeup"))
        test.ok(worker.name == "vpp_wk_0" and ran == worker.life, "which never blocked", worker.ns)
    check_reports(test, run.reports)
    got, _, _ = hits(test, load.pid, "up:libvnet_test.so:ip4_lookup_node_fn",
                     "up:libvnet_test.so:ip4_lookup_node_fn_x86_64_v4",
                     lambda: load.ask("hit 20"))
    test.eq(got, (0, 0), "the others are not used")


THROWER = """
#include <cstdio>
#include <cstdlib>
int main()
{
	char line[64];
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		int caught = 0;
		for (int left = atoi(line); left > 0; left--) {
			try {
				throw left;
			} catch (int thrown) {
				caught += thrown == left;
			}
		}
		printf("done %d\\n", caught);
		fflush(stdout);
	}
	return 0;
}
"""


def case_libstdcxx(test):
    """Throwing and catching exceptions, by the probes of the C++ library."""
    program = compiled(test, THROWER, "thrower", compiler=os.environ.get("CXX", "c++"))
    child = test.workload(str(program))
    maps = pathlib.Path(f"/proc/{child.pid}/maps").read_text()
    library = re.search(r"/\S*libstdc\+\+\.so\.\S+", maps)[0]
    if b"libstdcxx" not in pathlib.Path(library).read_bytes():
        raise kdtest.Skip("this C++ library has no probes")
    got, run, _ = hits(test, child.pid, "u:libstdc++.so.6:libstdcxx:throw",
                       "u:libstdc++.so.6:libstdcxx:catch", lambda: tell(child, "333"))
    test.eq(got, (333, 333), "throws and catches")
    test.eq(run.triggers.roles["start"].skipped, 333, "each throw is a window up to its catch")


PYTHON = """
import gc
import os
def short():
    pass
def many(count):
    for _ in range(count):
        short()
gc.disable()
os.write(1, b"ready\\n")
while True:
    line = os.read(0, 100)
    if not line:
        break
    what, count = line.split()
    if what == b"calls":
        many(int(count))
    else:
        for _ in range(int(count)):
            gc.collect()
    os.write(1, b"done\\n")
"""


def case_python(test):
    """Debian's own Python, built with probes, all of which have semaphores."""
    path = next((path for path in ("/usr/bin/python3.11", "/usr/bin/python3.13",
                                   "/usr/bin/python3") if os.path.exists(path)), None)
    if not path or b"function__return" not in pathlib.Path(path).read_bytes():
        raise kdtest.Skip("no Python with probes is installed")
    child = test.child([path, "-I", "-c", PYTHON])
    child.line("ready")
    got, run, _ = hits(test, child.pid, "u:python:gc__start", "u:python:gc__done",
                       lambda: tell(child, "collect 20", "calls 5", "collect 13"))
    test.eq(got, (33, 33), "garbage collections")
    test.eq(run.triggers.durations.count, 33, "each is a window")
    got, _, _ = hits(test, child.pid, "u:python:gc__start", "u:python:function__return",
                     lambda: tell(child, "calls 400", "calls 77"))
    test.eq(got, (0, 400 + 77 + 2), "returns of Python functions")


def case_postgresql(test):
    """Statements and sorts; the probes have semaphores, some have several sites."""
    base = kdservers.start(test, kdservers.Postgres())
    if b"query__start" not in base.program.read_bytes():
        raise kdtest.Skip("this postgresql has no probes")

    def selects(count):
        return [base.query(f"select {number};") for number in range(count)]

    got, _, _ = hits(test, base.pid, "u:postgresql:query__start", "u:postgresql:query__done",
                     lambda: selects(25))
    test.eq(got, (25, 25), "query__start and query__done")
    base.command("create table numbers as select n, n % 7 as m from generate_series(1, 1000) n;")
    got, _, _ = hits(test, base.pid, "u:postgresql:sort__start", "u:postgresql:sort__done",
                     lambda: base.command(
                         *["select from numbers order by m, n desc offset 5000;"] * 3,
                         *["select count(distinct m) from numbers;"] * 4,
                         "create index by_number on numbers (n);",
                         "create index by_rest on numbers (m);"))
    test.eq(got, (3 + 4 + 2,) * 2, "sort__start, at three of its sites, and sort__done")
    run = Triggered(test, base.pid, "--start-trigger", "u:postgresql:query__start",
                    "--stop-trigger", "u:postgresql:query__done", "--trigger-delta", "40ms",
                    *UNLIMITED)
    selects(10)
    base.command("select from pg_sleep(0.05);", "select from pg_sleep(0.06);")
    run = run.stop(test)
    test.eq(len(run.reports), 2, "two statements took longer than 40 ms")
    for report in run.reports:
        ns = report.thread(base.pid).ns
        had = report.delta - ns["ready after wakeup"] - ns["ready after preemption"]
        test.ok(ns["blocked interruptible"] > 0.8 * had, "they slept, but for waits for a CPU", ns)
    check_reports(test, run.reports)


def plt_address(path, function):
    """The address of the program's PLT entry for a function of a library."""
    said = subprocess.run(["objdump", "-d", "--no-show-raw-insn", "-j", ".plt", "-j", ".plt.sec",
                           path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          check=False).stdout
    found = re.findall(rf"^([0-9a-f]+) <{function}@plt>:", said, re.MULTILINE)
    if not found:
        raise kdtest.Skip(f"{path} does not jump to {function}")
    return int(found[-1], 16)


def case_ovs_vswitchd(test):
    """Debian's ovs-vswitchd is stripped: probed by address, and compared with the kernel's own
    events."""
    need("objdump")
    switch = kdservers.start(test, kdservers.OpenVSwitch())
    path = os.path.realpath(f"/proc/{switch.pid}/exe")
    address = plt_address(path, "poll")
    counted = Counted(test, path, program_offset(path, address), switch.pid)

    def appctl():
        first = counted.count()
        for _ in range(20):
            switch.appctl("version")
        return counted.count() - first

    outer = counted.count()
    got, _, inner = hits(test, switch.pid, f"up:ovs-vswitchd:{address:#x}",
                         f"up:ovs-vswitchd:{address:#x}", appctl)
    outer = counted.count() - outer
    test.ok(inner >= 20, "it polled", inner)
    test.between(got[0], inner, outer, "hits as the kernel's own uprobe event counts them")


def case_callers_of_two_kinds(test):
    """The call that a workload logs as its longest is found by a probe in a library, too."""
    load = test.workload("caller", "sleeps:20:100:5:20000")
    run = Triggered(test, load.pid, "--start-trigger", "up:libc.so.6:clock_nanosleep",
                    "--stop-trigger", "ur:libc.so.6:clock_nanosleep", "--trigger-delta", "15ms",
                    *UNLIMITED)
    log = Log(load, load.go())
    run = run.stop(test)
    long = [call for call in log.calls() if call[3] - call[0] >= 20 * kdtest.MS]
    # It sleeps between its calls, too, which may take longer than it should.
    inside = [[report for report in run.reports
               if call[1] <= report.start < report.stop <= call[2]] for call in long]
    test.eq([len(found) for found in inside], [1] * len(long), "one inside of each long call")
    test.ok(long, "there are long calls")
    check_reports(test, run.reports)


def case_other_counter(test):
    """If another tracer occupies the site with a reference counter, the error names it."""
    load = test.workload("sdt")
    probe = ("-p", load.pid, "--start-trigger", "u:kdtest:one")
    said = test.program(*probe, "--check")
    address = re.search(r" at (0x[0-9a-f]+) of .*semaphore", said.stdout)
    if not address:
        raise kdtest.Skip("sys/sdt.h was not there when it was built")
    other = Triggered(test, load.pid, *probe[2:], *UNLIMITED)
    done = test.program("-p", load.pid, "--start-trigger", f"up:{address[1]}", "--duration", "5s")
    test.eq((done.status, "reference counter" in done.stderr), (71, True),
            "the other tracer's reference counter is a reason")
    other.stop(test)


kdtest.main(case_other_counter, case_sdt, case_stripped, case_shared_library, case_vpp,
            case_libstdcxx, case_python, case_postgresql, case_ovs_vswitchd,
            case_callers_of_two_kinds)
