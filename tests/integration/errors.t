#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tests/run: parallel
"""Bad input and bad machines: the exit status, and one or two lines of what,
why and what to do."""

import pathlib
import re
import shutil
import subprocess

import kdtest


def refused(test, what, status, *args, words=(), **options):
    """The program has to refuse this, without a report and without libbpf's text."""
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


def case_usage(test):
    load = test.workload("roles", "poll")
    pid = str(load.pid)
    for args in (["--no-such-option"], ["-p", pid, "stray"], [pid, "stray"], ["-C", "x", pid], ["-p", "12abc"],
                 ["-p", ""], ["-p", "-1"], ["-p", "0"], ["-p", "99999999999999999999"],
                 ["-p", " 1"], ["-p", pid, "--sample-time", "0.5x"],
                 ["-p", pid, "--sample-time", "-1"], ["-p", pid, "--sample-time", ""],
                 ["-p", pid, "--sample-time", "1e400"], ["-p", pid, "--sample-time", "nan"],
                 ["-p", pid, "--sample-time", "99999999999999999999"],
                 ["-p", pid, "--sample-count", "1.5"], ["-p", pid, "--sample-count", "-3"],
                 ["-p", pid, "--sample-count", "18446744073709551616"],
                 ["-p", pid, "--sample-interval", "abc"], ["-p", pid, "--sample-interval", "-0.1"],
                 ["-p", pid, "--debug=many"], ["-p", pid, "--trigger-same-thread"], ["-p"]):
        what = " ".join(repr(arg) if not arg or " " in arg else arg for arg in args)
        refused(test, what.replace(pid, "PID"), 64, *args)


def case_names_the_option(test):
    refused(test, "bad time", 64, "-p", "1", "--sample-time", "soon", words=["sample-time", "soon"])
    refused(test, "bad count", 64, "-p", "1", "--sample-count", "few",
            words=["sample-count", "few"])


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


def case_missing_capabilities(test):
    load = test.workload("roles", "poll")
    for dropped in ("-bpf,-perfmon,-sys_admin", "-perfmon,-sys_admin", "-bpf,-sys_admin"):
        wrapper = ("setpriv", f"--bounding-set={dropped}", f"--inh-caps={dropped}")
        refused(test, f"root {dropped}", 77, "-p", load.pid, "--sample-time", "0.1",
                wrapper=wrapper, words=["CAP_"])


def case_no_such_process(test):
    ended = subprocess.Popen(["true"])
    ended.wait()
    refused(test, "ended process", 69, "-p", ended.pid, words=[str(ended.pid)])
    refused(test, "unused name", 69, "--comm", "kdtest-no-such", words=["kdtest-no-such"])
    refused(test, "unused PID alone", 69, ended.pid, words=[str(ended.pid)])


def case_close_names(test):
    """A name that is not quite right."""
    path = test.directory() / "kdtest-close"
    shutil.copy(kdtest.WORKLOADS / "roles", path)
    load = test.workload(str(path), "poll")
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


def case_two_of_one_name(test):
    directory = test.directory()
    twin = directory / "kdtest-twin"
    shutil.copy(kdtest.WORKLOADS / "roles", twin)
    first = test.workload(str(twin), "poll")
    done = test.program("--comm", "kdtest-twin", "--sample-time", "0.1")
    test.eq(done.status, 0, "one process of a name: it is taken")
    report = kdtest.kdreport.parse(done.stdout)[0]
    test.eq({thread.tid for thread in report.threads}, set(kdtest.threads_of(first.pid)),
            "with its threads")
    test.books(report)
    second = test.workload(str(twin), "poll")
    refused(test, "two of them", 66, "--comm", "kdtest-twin",
            words=[str(first.pid), str(second.pid)])


def hidden_btf():
    """A wrapper that runs the program where the kernel's BTF is covered."""
    return ("unshare", "-m", "sh", "-c",
            'mount -t tmpfs none /sys/kernel/btf && exec "$@"', "sh")


def case_btf(test):
    btf = pathlib.Path("/sys/kernel/btf/vmlinux")
    if not btf.exists():
        raise kdtest.Skip("this kernel has no BTF")
    load = test.workload("roles", "poll")
    directory = test.directory()
    saved, wrong = directory / "saved.btf", directory / "wrong.btf"
    saved.write_bytes(btf.read_bytes())
    wrong.write_text("this is not BTF\n")
    arguments = ["-p", load.pid, "--sample-time", "0.1"]
    refused(test, "--btf with text", 72, *arguments, "--btf", wrong, words=[str(wrong)])
    refused(test, "--btf with no file", 72, *arguments, "--btf", directory / "none",
            words=[str(directory / "none")])
    truncated = directory / "truncated.btf"
    truncated.write_bytes(saved.read_bytes()[:5000])
    refused(test, "--btf cut off", 72, *arguments, "--btf", truncated)
    refused(test, "kernel without BTF", 72, *arguments, wrapper=hidden_btf(),
            words=["BTF"])
    done = test.program(*arguments, "--btf", saved)
    test.eq(done.status, 0, "--btf with the kernel's own works")
    # tp_btf programs need the BTF of the running kernel, which stays in it though unreadable.
    done = test.program(*arguments, "--btf", saved, wrapper=hidden_btf())
    if test.ok(done.status == 0, "and where the kernel's file is hidden", done.stderr):
        test.books(kdtest.kdreport.parse(done.stdout)[0])


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


def case_help(test):
    for option in ("--help", "--version"):
        done = test.program(option)
        test.eq((done.status, done.stderr), (0, ""), f"{option}: status 0")
        test.ok("kernel_delay" in done.stdout, f"{option} names the program", done.stdout)
    text = test.program("--help").stdout
    for option in ("--pid", "--comm", "--sample-time", "--sample-count", "--sample-interval",
                   "--btf", "--debug", "--strict"):
        test.ok(re.search(rf"{option}\b", text), f"--help has {option}")


kdtest.main(case_usage, case_names_the_option, case_not_root, case_missing_capabilities,
            case_no_such_process, case_close_names, case_thread_instead_of_process,
            case_kernel_thread, case_no_default_target, case_two_of_one_name, case_btf,
            case_debug_shows_libbpf, case_help)
