#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Triggers that are wrong, unavailable, or never hit: the exit status, and what the program says."""

import ctypes
import os
import platform
import re
import shutil
import struct
import subprocess
import time

import kdneeds
import kdtest
from kdtrigger import BOTH, ENTRY, RETURN, UNLIMITED, Log, Triggered, check_reports, compiled


def refused(test, what, status, *args, words=()):
    """The program has to refuse these arguments with this status and these words, and without a
    report."""
    done = test.program(*args)
    test.eq(done.status, status, f"{what}: status {status}")
    test.ok("# Start" not in done.stdout, f"{what}: no report", done.stdout)
    test.ok("libbpf:" not in done.stderr, f"{what}: without libbpf's text", done.stderr)
    missing = [word for word in words if not re.search(word, done.stderr)]
    test.ok(done.stderr and not missing, f"{what}: says why", f"missing: {missing}", done.stderr)
    return done


def case_grammar(test):
    """Unparsable triggers are answered with the grammar."""
    load = test.workload("caller", "sleeper")
    for trigger in "nonsense", "up:", "t:sched", "k:":
        for role in "start", "stop":
            refused(test, f"'{trigger}' as {role}", 78, "-p", load.pid, f"--{role}-trigger", trigger,
                    words=[f"{role} trigger '{trigger}': ", r"u\|usdt:\[OBJECT:\]PROVIDER:PROBE ",
                           r"up\|uprobe:\[OBJECT:\]FUNCTION", "TRIGGER if CONDITION "])


def case_names(test):
    """Unknown names are answered with similar ones."""
    kdtest.only_on_host("names of files and of their symbols")
    load = test.workload("caller", "sleeper")
    for trigger, *words in (("up:probed_cal", "probed_call"), ("ur:caller:probedcall",
                            "probed_call"), ("up:no_such_thing_at_all", "no_such_thing_at_all"),
                            ("up:libnone.so.7:main", r"libnone\.so\.7"),
                            ("up:libc.so.6:clock_nanoslep", "clock_nanosleep"),
                            ("t:sched:sched_swich", "sched_switch"),
                            ("t:shed:sched_switch", "shed"),
                            ("u:kdtest:nothing", "nothing"), ("up:no_match_*", "no_match_"),
                            ("up:caller:0xfffffffffff", "0xfffffffffff")):
        refused(test, trigger, 78, "-p", load.pid, "--start-trigger", trigger, words=words)
    load = test.workload("sdt")
    if not load.ready:
        refused(test, "u:kdtest:mny", 78, "-p", load.pid, "--start-trigger", "u:kdtest:mny",
                words=["many"])


def calls_while_armed(test, *args, want=75):
    """A function is called during a run of some time. Returns the calls whose entry and return were
    certainly seen, and those that may have been seen in part."""
    load = test.workload("caller", "sleeps:40:200:1:1000")
    run = Triggered(test, load.pid, *args, "--duration", "700ms")
    log, began = Log(load, load.go()), run.begun
    run = run.finish(test, want=want)
    test.ok(time.monotonic_ns() - began >= 700 * kdtest.MS, "it goes on for 0.7 s")
    begun, ended = run.triggers.armed
    calls = log.calls()
    test.eq(len(calls), 40, "the function was called")
    return (run, [call for call in calls if begun < call[0] and call[3] < ended],
            [call for call in calls if begun < call[3] and call[0] < ended])


def case_never_hit(test):
    """--duration without a window: status 75 and how often each probe was hit."""
    for start, stop, ours in (("up:main", RETURN, True), ("up:main", "ur:main", False)):
        run, certain, possible = calls_while_armed(test, "--start-trigger", start,
                                                   "--stop-trigger", stop)
        test.eq(run.reports, [], "there is no report")
        roles = run.triggers.roles
        test.eq(roles["start"].hits, 0, f"hits of {start}")
        test.between(roles["stop"].hits, len(certain) if ours else 0, len(possible) if ours else 0,
                     f"hits of {stop}")
    run, certain, possible = calls_while_armed(test, *BOTH, "--trigger-delta", "1min")
    test.between(run.triggers.roles["start"].skipped, len(certain), len(possible),
                 "windows that were too short do not count")


def case_never_ended(test):
    """A window that is still open when the duration is over ends then."""
    run, calls, possible = calls_while_armed(test, "--start-trigger", ENTRY, "--stop-trigger",
                                             "up:main", want=0)
    test.eq([(report.stop, report.delta) for report in run.reports], [(None, None)],
            "one report, which no trigger ended")
    test.ok(all(possible[0][0] <= report.start <= possible[0][1] for report in run.reports),
            "it begins with the first call")
    test.between(run.triggers.roles["start"].overlapped, len(calls) - 1, len(possible) - 1,
                 "the others overlapped it")
    check_reports(test, run.reports)


def case_no_kprobes(test):
    """Where the kernel does not support kprobes, the program says so."""
    if (kdneeds.tracefs() / "kprobe_events").exists():
        raise kdtest.Skip("this kernel has kprobes")
    load = test.workload("caller", "sleeper")
    for trigger in ("k:do_nanosleep", "kr:do_nanosleep", "kprobe:ovs_dp_process_packet"):
        refused(test, trigger, 71, "-p", load.pid, "--start-trigger", trigger,
                words=["KPROBE|kprobe"])


UNPROBEABLE = """
#include <stdio.h>
asm(".globl locked\\n.type locked,@function\\n"
    "locked: lock incl (%rdi)\\n ret\\n .size locked, .-locked\\n");
void locked(int *count);
int main(void)
{
	int count = 0;
	locked(&count);
	puts("ready");
	fflush(stdout);
	return getchar() - getchar();
}
"""


def case_attach_fails(test):
    """An instruction that the kernel cannot probe."""
    if platform.machine() != "x86_64":
        raise kdtest.Skip("the instruction is one of x86-64")
    program = compiled(test, UNPROBEABLE, "locked")
    load = test.workload(str(program))
    refused(test, "up:locked", 71, "-p", load.pid, "--start-trigger", "up:locked",
            words=["locked"])
    test.ok(load.proc.poll() is None, "the target is alive")


def confined():
    """Runs in the child: installs a seccomp filter like those of container runtimes, which kills
    the process at unknown system calls (here those of probes)."""
    libc = ctypes.CDLL(None, use_errno=True)
    allow, kill = 0x7fff0000, 0x80000000

    def instruction(code, true, false, value):
        return struct.pack("=HBBI", code, true, false, value)

    code = (instruction(0x20, 0, 0, 0) +            # load the number of the call
            instruction(0x15, 1, 0, 335) +          # uretprobe
            instruction(0x15, 0, 1, 336) +          # uprobe
            instruction(0x06, 0, 0, kill) + instruction(0x06, 0, 0, allow))
    buffer = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("=HxxxxxxQ", len(code) // 8, ctypes.addressof(buffer))
    filters = ctypes.create_string_buffer(program, len(program))
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, filters, 0, 0):
        os._exit(3)


def case_seccomp(test):
    """A uretprobe in a process whose seccomp filter would kill it for that: refused on kernels that
    allow this, harmless on others."""
    if platform.machine() != "x86_64":
        raise kdtest.Skip("uretprobes are no system calls here")
    load = test.workload("caller", "sleeps:20:100:1:1000", preexec_fn=confined)
    test.eq(kdtest.status_field(load.pid, "Seccomp"), "2", "the target is confined")
    version = tuple(int(part) for part in re.findall(r"\d+", platform.release())[:2])
    if (6, 11) <= version <= (6, 13):
        done = test.program("-p", load.pid, *BOTH, "--duration", "0.5s")
        test.ok("seccomp" in done.stderr, "it is refused or warned of", done.stderr)
        test.ok(load.proc.poll() is None, "the target is alive")
        return
    run = Triggered(test, load.pid, *BOTH, *UNLIMITED)
    truths = load.go()
    run = run.stop(test)
    # The program may have had no time to read a window before its bank was needed.
    missed = run.triggers.roles["start"].missed
    test.eq((len(run.reports) + missed, truths["threads"][0]["calls"]), (20, 20),
            "it lives and its calls are recorded")
    check_reports(test, run.reports)


def case_not_in_memory(test):
    """Where the process runs other memory than the file's, or another file, there can be no hits."""
    for how, why in (("copy", "in memory of its own"), ("writable", "mapped writable")):
        load = test.workload("caller", "sleeps:100000:200:1:100", env={"REPLACED": how})
        for more in (("--duration=5s",), ("--check",), ("--follow-fork", "--duration=5s")):
            refused(test, f"{how} {more}", 71, "-p", load.pid, *BOTH, *more,
                    words=[f"probed_call of .*process {load.pid} has that code {why}", "use a"])
        done = test.program("-p", load.pid, "--start-trigger", "up:[mp]*", "--check")
        test.ok(done.status == 0 and re.search(r"warning.* \d+ of \d+ probes cannot", done.stderr),
                "where others can be hit, one is named", done.stderr)
        load.end()
    folder = test.directory()
    for name in ("lower", "upper", "work", "merged"):
        (folder / name).mkdir()
    shutil.copy(kdtest.WORKLOADS / "caller", folder / "lower")
    mount = ["mount", "-t", "overlay", "overlay", folder / "merged", "-o",
             ",".join(f"{name}={folder / name[:5]}" for name in ("lowerdir", "upperdir"))
             + f",workdir={folder / 'work'}"]
    if subprocess.run(mount, stderr=subprocess.DEVNULL).returncode:
        raise kdtest.Skip("no overlay file system can be mounted here")
    try:
        load = test.workload(folder / "merged" / "caller", "sleeps:100000:200:1:100")
        test.eq(test.program("-p", load.pid, *BOTH, "--check").status, 0, "it is the lower file")
        os.utime(folder / "merged" / "caller")  # copies it up
        for more in (("--duration=5s",), ("--check",)):
            refused(test, f"copied up {more}", 71, "-p", load.pid, *BOTH, *more,
                    words=["runs another copy of the file", "overlay"])
        load.end()
    finally:
        subprocess.run(["umount", folder / "merged"], check=True)


def case_nothing_left_out(test):
    """A signal before the first window ends the run normally."""
    load = test.workload("caller", "sleeper")
    run = Triggered(test, load.pid, *BOTH)
    run = run.stop(test)
    test.eq(run.reports, [], "there is no report")
    test.eq(run.triggers.roles["start"].hits, 0, "the counts are printed")


kdtest.main(case_grammar, case_names, case_never_hit, case_never_ended, case_no_kprobes,
            case_attach_fails, case_seccomp, case_not_in_memory, case_nothing_left_out)
