#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Settings of the kernel that forbid something: each is named, and what the manual page says of it is
true. They are the whole machine's, so only a virtual one gets them."""

import contextlib
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE), str(HERE.parent / "integration")]

# pylint: disable=wrong-import-position
import kdtest  # noqa: E402

SETTINGS = pathlib.Path("/proc/sys")
FEW = "-all,+bpf,+perfmon,+sys_ptrace,+dac_read_search,+syslog"
# Before Linux 5.11 maps of BPF are locked memory.
AS_FEW = ("sh", "-c", f'ulimit -l unlimited; exec setpriv --bounding-set={FEW} --inh-caps={FEW} "$@"', "sh")


@contextlib.contextmanager
def setting(name, value):
    path = SETTINGS / name
    if not path.exists():
        raise kdtest.Skip(f"this kernel has no {name}")
    before = path.read_text(encoding="ascii")
    path.write_text(f"{value}\n", encoding="ascii")
    try:
        yield
    finally:
        path.write_text(before, encoding="ascii")


def sample(test, load, *args, **options):
    done = test.program("-p", load.pid, "--sample-time", "0.1", "-o", "json", "--quiet", *args, **options)
    test.eq(done.status, 0, f"{' '.join(args) or 'no more'}: it works")
    return json.loads(done.stdout), done.stderr


def case_no_compiler(test):
    load = test.workload("roles", "poll")
    with setting("net/core/bpf_jit_enable", 0):
        done = test.program("-p", load.pid, "--sample-time", "0.1")
    test.eq((done.status, "net.core.bpf_jit_enable=1" in done.stderr), (71, True), "it says what to set")


def case_perf_event_paranoid(test):
    load = test.workload("roles", "poll")
    with setting("kernel/perf_event_paranoid", 3):
        done = test.program("-p", load.pid, "--sample-time", "0.1", "--counters=page-faults", wrapper=AS_FEW)
        if not done.status:
            raise kdtest.Skip("here 3 is the same as 2")
        test.ok(done.status == 77 and "CAP_SYS_ADMIN is missing, as kernel.perf_event_paranoid is 3" in done.stderr,
                "--counters: it says what is missing", done.stderr)
        found, said = sample(test, load, wrapper=AS_FEW)
        test.ok("CAP_SYS_ADMIN is missing" in said, "page faults: on standard error", said)
        texts = [row["what"] for row in found["absent"]]
        test.ok(any(text.startswith("has no page faults") for text in texts), "and in the report", texts)
        test.eq(any("CAP_SYS_ADMIN, or kernel.perf_event_paranoid of 2" in text for text in texts),
                kdtest.preempts_programs(), "where system calls need it, too, they are said to be missed")
    with setting("kernel/perf_event_paranoid", 2):
        found, said = sample(test, load, "--counters=page-faults", wrapper=AS_FEW)
        test.eq((said, [row["what"] for row in found["absent"] if "page faults" in row["what"]]), ("", []),
                "with 2 nothing is missing")


def case_kernel_addresses(test):
    load = test.workload("roles", "poll")
    for value in (1, 2):
        with setting("kernel/kptr_restrict", value):
            found, _ = sample(test, load, "-s", "0")
            test.eq(found["traces"]["kernel_symbols_hidden"], value == 2, f"kptr_restrict {value}: names for root")


kdtest.main(case_no_compiler, case_perf_event_paranoid, case_kernel_addresses)
