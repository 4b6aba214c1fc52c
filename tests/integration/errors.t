#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bad input and bad machines: the exit status, and one or two lines that say what is wrong, why,
and what to do."""

import errno
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess

import kdbpfcall
import kdbtf
import kdneeds
import kdtest


def refused(test, what, status, *args, words=(), **options):
    """The program has to refuse these arguments, without a report and without libbpf's messages."""
    done = test.program(*args, **options)
    wanted = status if isinstance(status, tuple) else (status,)
    test.ok(done.status in wanted, f"{what}: status {status}", f"got {done.status}", done.stderr)
    lines = done.stderr.splitlines()
    test.ok(1 <= len(lines) <= 2, f"{what}: one or two lines", *lines)
    test.ok("libbpf:" not in done.stderr, f"{what}: without libbpf's text", *lines)
    test.ok("# Start" not in done.stdout, f"{what}: no report", done.stdout)
    for word in words:
        test.ok(word in done.stderr, f"{what}: names {word!r}", *lines)
    return done


def case_not_root(test):
    load = test.workload("roles", "poll")
    # Root's build directory may be closed to others.
    copy = test.directory() / "kernel_delay"
    shutil.copy(kdtest.PROGRAM, copy)
    copy.parent.chmod(0o755)
    nobody = test.child(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups",
                         copy, "-p", load.pid, "--sample-time", "0.1"])
    done = kdtest.Finished(nobody)
    test.eq(done.status, 77, "as nobody: status 77")
    test.between(len(done.stderr.splitlines()), 1, 2, "one or two lines")
    test.ok("root" in done.stderr or "CAP_" in done.stderr, "says what is missing", done.stderr)
    test.ok("libbpf:" not in done.stderr, "without libbpf's text", done.stderr)


def without(*capabilities):
    """A wrapper that runs the program as root without these capabilities."""
    dropped = ",".join("-" + name for name in capabilities)
    return "setpriv", f"--bounding-set={dropped}", f"--inh-caps={dropped}"


def capabilities_named(text):
    return set(re.findall(r"CAP_[A-Z_]*[A-Z]", text))


def case_closed_streams(test):
    """A file that the program opens does not take the number of a closed standard stream, even
    where there is no /dev/null."""
    load = test.workload("roles", "poll")
    for what, wrapper in (("as ever", ["sh", "-c"]),
                          ("without /dev", [kdneeds.tool("unshare"), "--mount", "sh", "-c"])):
        script = 'exec "$@" >&- <&- 2>&-'
        if what != "as ever":
            script = "mount -t tmpfs none /dev && " + script
        run = test.child([*wrapper, script, "sh", kdtest.PROGRAM, "-p", load.pid, "--sample-time", "600s", "-o", "json"])
        # Its filter says that it begins to sample.
        kdtest.wait_until(lambda child=run: kdtest.status_field(child.pid, "Seccomp") == "2" and
                          kdtest.waits_in(child.pid, "poll"))
        links = {fd: os.readlink(f"/proc/{run.pid}/fd/{fd}") for fd in range(3)}
        test.ok(set(links.values()) <= {"/", "/dev/null"}, f"{what}: nothing has their numbers", links)
        run.signal(signal.SIGINT)
        test.eq(run.wait(), 74, f"{what}: the report cannot be written")


def case_missing_capabilities(test):
    """Exactly the missing capabilities are named."""
    arguments = ["-p", test.workload("roles", "poll").pid, "--sample-time", "0.1"]
    for missing in (("bpf",), ("perfmon",), ("bpf", "perfmon")):
        done = refused(test, f"root without {missing}", 77, *arguments,
                       wrapper=without("sys_admin", *missing), words=["missing", "grant"])
        test.eq(capabilities_named(done.stderr.splitlines()[0]),
                {"CAP_" + name.upper() for name in missing}, "exactly what is missing is named")
        done = test.program(*arguments, wrapper=without(*missing))
        test.eq((done.status, done.stderr), (0, ""), f"CAP_SYS_ADMIN serves for {missing}")


def case_missing_ptrace(test):
    """CAP_SYS_PTRACE: not every kernel needs it for each of these."""
    load = test.workload("roles", "poll")
    for more in (["-s", "1ms"], ["--list-probes=up:main"], ["--start-trigger", "up:main"]):
        done = test.program("-p", load.pid, *more, wrapper=without("sys_ptrace"))
        if done.status:
            test.eq((done.status, capabilities_named(done.stderr)), (77, {"CAP_SYS_PTRACE"}),
                    f"{more}: refused for want of that one")
        else:
            test.skip(f"{more}", "this kernel does without")


# A BPF program's tracepoint cannot be had.
REFUSES = """
	errno = atoi(getenv("ERROR"));
	return command == BPF_RAW_TRACEPOINT_OPEN && attr->raw_tracepoint.name &&
	       !strcmp((char *)(uintptr_t)attr->raw_tracepoint.name, getenv("TRACEPOINT"));
"""


def case_no_memory_for_a_tracepoint(test):
    """Running out of memory for a tracepoint is not mistaken for a kernel that lacks it."""
    library = kdbpfcall.library(test, REFUSES)
    load = test.workload("roles", "poll")
    arguments = ["-p", load.pid, "--sample-time", "0.1", "--off-cpu=1ms", "--resources", "-o", "json"]

    def shim(tracepoint, error):
        return ("env", f"LD_PRELOAD={library}", f"TRACEPOINT={tracepoint}",
                f"ERROR={error}")

    for tracepoint in ("reschedule_entry", "mm_vmscan_direct_reclaim_end", "netif_rx",
                       "tcp_retransmit_skb"):
        refused(test, f"no memory for {tracepoint}", 71, *arguments,
                wrapper=shim(tracepoint, errno.ENOMEM),
                words=[f"cannot attach to tracepoint {tracepoint}: Cannot allocate memory",
                       "memory limit"])
    done = test.program(*arguments, wrapper=shim("tcp_retransmit_skb", errno.ENOENT))
    absent = [row["what"] for row in json.loads(done.stdout)["absent"]] if not done.status else []
    test.ok(any("what TCP sent again: this kernel lacks its tracepoint" in text for text in absent),
            "where there is none, the report says so", done.status, done.stderr, absent)


def case_closed_tracefs(test):
    """Files that a user may not read are not reported as missing."""
    if not pathlib.Path("/sys/kernel/tracing/events").is_dir():
        raise kdtest.Skip("tracefs is not mounted")
    copy = test.directory() / "kernel_delay"
    shutil.copy(kdtest.PROGRAM, copy)
    copy.parent.chmod(0o755)
    load = test.workload("roles", "poll")
    caps = "+bpf,+perfmon,+sys_ptrace"
    for caps, allowed in ((caps, False), (caps + ",+dac_read_search", True)):
        user = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups",
                f"--inh-caps={caps}", f"--ambient-caps={caps}", copy]
        done = kdtest.Finished(test.child([*user, "-p", load.pid, "--check", "--start-trigger",
                                           "t:sched:sched_switch"]))
        machine = kdtest.Finished(test.child([*user, "--machine"]))
        found = re.search(r"^\S+ +tracepoints.*\n.*", machine.stdout, re.MULTILINE)
        if allowed:
            test.eq(done.status, 0, "with CAP_DAC_READ_SEARCH it is read")
            test.ok(found and "are there" in found[0], "--machine sees it", machine.stdout)
            continue
        test.eq(done.status, 77, "as a user that may not read it: refused")
        test.ok("Permission denied" in done.stderr and "CAP_DAC_READ_SEARCH" in done.stderr and
                "mount -t" not in done.stderr, "as it is closed, not missing", done.stderr)
        test.ok(found and "closed to this user" in found[0] and "mounted" not in found[0],
                "--machine says the same", machine.stdout)


def case_no_such_process(test):
    ended = subprocess.Popen(["true"])
    ended.wait()
    refused(test, "ended process", 69, "-p", ended.pid, words=[str(ended.pid)])
    refused(test, "unused name", 69, "--comm", "kdtest-no-such", words=["kdtest-no-such"])
    refused(test, "unused PID alone", 69, ended.pid, words=[str(ended.pid)])


def case_close_names(test):
    """A name that is almost right."""
    path = test.directory() / "kdtest-close"
    shutil.copy(kdtest.WORKLOADS / "roles", path)
    load = test.workload(path, "roles", "poll")
    for name in ("kdtest-clsoe", "kdtest-clos", "kdtest-xlose", "test-close"):
        for args in (("-C", name), (name,), (name, "--list-probes")):
            refused(test, " ".join(args), 69, *args, words=["similar names: kdtest-close\n"])
    done = test.program("kdtest-close", "--sample-time", "10ms")
    test.eq(done.status, 0, "the right name alone")
    test.eq({thread.tid for thread in kdtest.kdreport.parse(done.stdout)[0].threads},
            set(kdtest.threads_of(load.pid)), "is that process")
    done = test.program(load.pid, "--sample-time", "10ms")
    test.eq({thread.tid for thread in kdtest.kdreport.parse(done.stdout)[0].threads},
            set(kdtest.threads_of(load.pid)), "and so is its PID alone")
    load.end()
    done = test.program("-C", "kdtest-close")
    test.eq((done.status, "kdtest-close" in done.stderr.splitlines()[1]), (69, False),
            "one that has ended is not close")
    if not kdtest.processes_named("kthreadd"):
        raise kdtest.Skip("no kernel thread is to be seen here")
    done = test.program("-C", "kthread")
    test.ok("similar names" not in done.stderr, "nor is a kernel thread", done.stderr)


def case_thread_instead_of_process(test):
    load = test.workload("roles", "poll")
    tid = load.tid("poll")[0]
    refused(test, "thread id", (64, 69), "-p", tid, words=[str(tid), str(load.pid)])


def case_kernel_thread(test):
    kthreadd = pathlib.Path("/proc/2/comm")
    if not kthreadd.exists() or kthreadd.read_text() != "kthreadd\n":
        raise kdtest.Skip("process 2 is no kernel thread here (in a container?)")
    refused(test, "kernel thread", (64, 69), "-p", "2", words=["kernel thread"])


def case_no_default_target(test):
    for name in ("ovs-vswitchd", "vpp_main", "vpp"):
        if kdtest.processes_named(name):
            raise kdtest.Skip(f"a {name} runs on this machine")
    refused(test, "nothing to look at", 69, words=["ovs-vswitchd", "PID"])


def mounted(*places):
    """A wrapper that runs the program where there is nothing in these directories."""
    script = "".join(f"mount -t tmpfs none {place} && " for place in places)
    return kdneeds.tool("unshare"), "-m", "sh", "-c", script + 'exec "$@"', "sh"


# Stands before the C library: sysfs has no directory for BTF, as where the kernel has none.
LACKING = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
int faccessat(int folder, const char *path, int mode, int flags)
{
	int (*next)(int, const char *, int, int) = (int (*)(int, const char *, int, int))dlsym(RTLD_NEXT, "faccessat");

	if (strncmp(path, "/sys/kernel/btf", 15))
		return next(folder, path, mode, flags);
	errno = ENOENT;
	return -1;
}
"""


def case_no_btf(test):
    """No BTF to be seen: whether the kernel has it decides what helps."""
    load, saved = test.workload("roles", "poll"), test.directory() / "saved.btf"
    saved.write_bytes(kdbtf.BTF.read_bytes())
    arguments = ["-p", load.pid, "--sample-time", "0.1"]
    lacking = ("env", f"LD_PRELOAD={test.preload(LACKING)}")
    for more in ([], ["--btf", saved]):
        refused(test, f"kernel built without BTF {more[:1]}", 72, *arguments, *more, wrapper=lacking,
                words=["built without BTF", "CONFIG_DEBUG_INFO_BTF", "not even --btf"])
    refused(test, "hidden", 72, *arguments, wrapper=mounted(kdbtf.BTF.parent),
            words=[str(kdbtf.BTF), "No such file", "--btf"])
    refused(test, "no sysfs", 72, *arguments, wrapper=mounted("/sys"), words=["mount -t sysfs"])
    refused(test, "no sysfs, --btf", 72, *arguments, "--btf", saved, wrapper=mounted("/sys"),
            words=["sysfs mounted on /sys"])
    refused(test, "--btf without CAP_SYS_ADMIN", 72, *arguments, "--btf", saved,
            wrapper=without("sys_admin"), words=["CAP_SYS_ADMIN"])
    # tp_btf programs need the BTF of the running kernel, which stays in it though unreadable.
    done = test.program(*arguments, "--btf", saved, wrapper=mounted(kdbtf.BTF.parent))
    if test.ok(done.status == 0, "with a copy of what is hidden it works", done.stderr):
        test.books(kdtest.kdreport.parse(done.stdout)[0])


def case_btf(test):
    load = test.workload("roles", "poll")
    directory = test.directory()
    saved, wrong = directory / "saved.btf", directory / "wrong.btf"
    saved.write_bytes(kdbtf.BTF.read_bytes())
    wrong.write_text("this is not BTF\n")
    arguments = ["-p", load.pid, "--sample-time", "0.1"]
    refused(test, "--btf with text", 72, *arguments, "--btf", wrong, words=[str(wrong)])
    refused(test, "--btf with no file", 72, *arguments, "--btf", directory / "none",
            words=[str(directory / "none")])
    truncated = directory / "truncated.btf"
    truncated.write_bytes(saved.read_bytes()[:5000])
    refused(test, "--btf cut off", 72, *arguments, "--btf", truncated)
    refused(test, "--btf of another kernel", 71, *arguments, "--btf", kdbtf.exchanged(test),
            words=["of --btf from another kernel"])
    done = test.program(*arguments, "--btf", saved)
    test.eq(done.status, 0, "--btf with the kernel's own works")


def case_debug_shows_libbpf(test):
    load = test.workload("roles", "poll")
    arguments = ["-p", load.pid, "--sample-time", "0.1"]
    quiet = test.program(*arguments)
    test.eq((quiet.status, quiet.stderr), (0, ""), "a good run says nothing on stderr")
    for debug in (["-D"], ["--debug"], ["-D", "1"], ["--debug=1"]):
        loud = test.program(*arguments, *debug)
        test.ok(loud.status == 0 and "libbpf:" in loud.stderr,
                f"{' '.join(debug)}: libbpf's text is there", loud.status, loud.stderr[:500])
        test.eq(len(kdtest.kdreport.parse(loud.stdout)), 1, "and the report is unharmed")


def case_few_files(test):
    """The program needs more open files than the shell's limit; a command still gets the limit of
    the shell."""
    run = test.program("--sample-time", "0.2", "--", "sh", "-c", "ulimit -Sn; sleep 0.5",
                       wrapper=("sh", "-c", 'ulimit -Sn 70; exec "$@"', "sh"))
    test.ok(run.status == 0 and "Too many open files" not in run.stderr, "70 are no obstacle",
            run.stderr)
    test.ok("70" in (run.stdout + run.stderr).splitlines(), "the command is limited as before")


kdtest.main(case_few_files, case_not_root, case_closed_streams, case_missing_capabilities,
            case_missing_ptrace, case_no_memory_for_a_tracepoint, case_closed_tracefs,
            case_no_such_process, case_close_names, case_thread_instead_of_process,
            case_kernel_thread, case_no_default_target, case_no_btf, case_btf,
            case_debug_shows_libbpf)
