#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Machines that lack something or refuse: what is said, and what still works.
A kernel without a tracepoint is one whose BTF does not know it, or that is asked for
another one (workloads/hide.c); a kernel that refuses is made by strace, which puts errors
in the place of bpf()."""

import os
import pathlib
import re
import signal

import kdbtf
import kdformats
import kdgroup
import kdneeds
import kdtest
from kdattached import check_attached
from kdbtf import with_function, without_tracepoint


def refused(test, what, status, words, *arguments, wrapper=()):
    done = test.program(*arguments, wrapper=wrapper)
    test.eq(done.status, status, f"{what}: status {status}")
    lines = done.stderr.splitlines()
    test.ok(1 <= len(lines) <= 2 and lines[0].startswith("kernel_delay: "),
            f"{what}: one or two lines", done.stderr)
    for word in words:
        test.ok(word in done.stderr, f"{what}: says '{word}'", done.stderr)
    test.ok("libbpf" not in done.stderr, f"{what}: none of libbpf's own", done.stderr)
    test.eq(done.stdout, "", f"{what}: no report")


def hidden(*names):
    """A wrapper that runs the program where these raw tracepoints are not there."""
    return (kdtest.WORKLOADS / "hide", ",".join(names))


def case_needed_tracepoint(test):
    load = test.workload("roles", "poll")
    for name in ("sys_enter", "sched_switch"):
        refused(test, f"no {name}", 71, [name], "-p", load.pid,
                "--btf", without_tracepoint(test, name))
    refused(test, "no sys_exit", 71, ["no tracepoint sys_exit"], "-p", load.pid,
            wrapper=hidden("sys_exit"))


def sampled(test, load, wrapper=()):
    """A sample in which a thread is interrupted by its own timers; returns the finished program."""
    child = test.child([*wrapper, kdtest.PROGRAM, "-p", load.pid, "--sample-time", "600"])
    child.line("# Start sampling")
    load.go()
    pid = child.pid
    if wrapper:
        pid = int(pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text())
    os.kill(pid, signal.SIGINT)
    return kdtest.Finished(child)


def case_section_left_out(test):
    for names, section in ((("softirq_entry", "softirq_exit"), "SOFT IRQ STATISTICS"),
                           (("irq_handler_exit",), "HARD IRQ STATISTICS"),
                           (("local_timer_entry",), "HARD IRQ STATISTICS"), ((), None)):
        load = test.workload("roles", f"timers:200:200:{kdtest.last_cpu()}")
        done = sampled(test, load, hidden(*names) if names else ())
        what = f"no {names[0]}" if names else "with all tracepoints"
        test.eq((done.status, done.stderr), (0, ""), f"{what}: it works")
        note = [line for line in done.stdout.splitlines()
                if line.startswith(f"# NOTE: [{section}]")]
        report = kdtest.kdreport.parse(done.stdout)[0]
        test.books(report)
        interrupted = report.thread(load.tid("timers")[0])
        load.end()
        if not names:
            test.ok("left out" not in done.stdout and "local_timer" in interrupted.hardirqs,
                    "with all tracepoints nothing is left out", done.stdout)
            continue
        test.eq(len(note), 1, f"{what}: the report says what it leaves out")
        rest = done.stdout.replace("".join(note), "")
        if section == "SOFT IRQ STATISTICS":
            test.ok(section not in rest, "and the section is not there", rest)
        elif names[0] == "local_timer_entry":
            test.ok("local_timer" not in rest, "nor are its rows", rest)


def case_classic_tracepoints(test):
    """A kernel whose raw tracepoints of system calls can be preempted."""
    btf = with_function(test, "trace_call_bpf_faultable")
    no_tracefs = ("unshare", "-m", "sh", "-c",
                  "umount -l /sys/kernel/tracing /sys/kernel/debug 2>/dev/null; "
                  "! test -d /sys/kernel/tracing/events || exit 99; "
                  'exec "$@"', "sh")
    for what, wrapper in (("as it is", ()), ("tracefs not mounted", no_tracefs)):
        load = test.workload("roles", "calls:5000:3:1000")
        child = test.child([*wrapper, kdtest.PROGRAM, "-p", load.pid, "--sample-time", "60",
                            "--btf", btf])
        child.line("# Start sampling")
        check_attached(test, child.pid, "kd_sys_",
                       {("kd_sys_enter_classic", "tracepoint", "sys_enter"),
                        ("kd_sys_exit_classic", "tracepoint", "sys_exit")},
                       f"{what}: the classic tracepoints are attached")
        truth = load.go()["threads"][0]
        child.interrupt(test, f"{what}: it works")
        thread = kdtest.kdreport.parse(child.stdout)[0].thread(truth["tid"])
        test.eq((thread.count("getppid"), thread.count("clock_nanosleep")),
                (truth["getppid"], truth["sleeps"]), f"{what}: the counts are exact")
        load.end()


def case_classic_tracepoints_refused(test):
    """Where perf's events need CAP_SYS_ADMIN, such a kernel's raw tracepoints have to do."""
    three = test.directory() / "three"
    three.write_text("3\n")
    script = (f"mount --bind {with_function(test, 'trace_call_bpf_faultable')} {kdbtf.BTF} && "
              f"mount --bind {three} /proc/sys/kernel/perf_event_paranoid && exec setpriv "
              '--bounding-set=-sys_admin --inh-caps=-sys_admin "$@"')
    load = test.workload("roles", "poll")
    done = test.program("-p", load.pid, "--sample-time", "0.1", wrapper=("unshare", "-m", "sh", "-c", script, "sh"))
    test.eq((done.status, done.stderr), (0, ""), "it works")
    test.ok("[SYSCALL STATISTICS] may miss calls: this kernel needs CAP_SYS_ADMIN" in done.stdout,
            "and says what may be missing", done.stdout[-500:])


def strace(error):
    kdneeds.need("strace")
    return ("strace", "-o", "/dev/null", "-e", "trace=bpf", "-e", f"inject=bpf:error={error}")


def case_bpf_refused(test):
    load = test.workload("roles", "poll")
    refused(test, "bpf() forbidden", 77, ["bpf"], "-p", load.pid, wrapper=strace("EPERM"))
    refused(test, "bpf() invalid", 71, ["too old"], "-p", load.pid, wrapper=strace("EINVAL"))
    refused(test, "no memory", 71, ["memory"], "-p", load.pid, wrapper=strace("ENOMEM"))


def case_lockdown(test):
    if not pathlib.Path("/sys/kernel/security").is_dir():
        raise kdtest.Skip("this kernel has no /sys/kernel/security")
    load = test.workload("roles", "poll")
    wrapper = ("unshare", "-m", "sh", "-c",
               "mount -t tmpfs none /sys/kernel/security && "
               "echo 'none integrity [confidentiality]' >/sys/kernel/security/lockdown && "
               'exec "$@"', "sh", *strace("EINVAL"))
    refused(test, "lockdown", 77, ["locked down"], "-p", load.pid, wrapper=wrapper)


def case_bpf_refused_by_selinux(test):
    """Its status is that of the verifier."""
    load = test.workload("roles", "poll")
    wrapper = ("unshare", "-m", "sh", "-c", "mount -t tmpfs none /sys/fs && mkdir /sys/fs/selinux && "
               'echo 1 >/sys/fs/selinux/enforce && exec "$@"', "sh")
    refused(test, "SELinux", 77, ["security module"], "-p", load.pid, wrapper=(*wrapper, *strace("EACCES")))
    refused(test, "the verifier", 71, ["too old"], "-p", load.pid, wrapper=strace("EACCES"))


def case_perf_refused(test):
    """A seccomp profile without perf_event_open(2)."""
    kdneeds.need("strace")
    wrapper = ("strace", "-f", "-o", "/dev/null", "-e", "trace=perf_event_open", "-e",
               "inject=perf_event_open:error=EPERM")
    load = test.workload("roles", "poll")
    done = test.program("-p", load.pid, "--sample-time", "0.1", wrapper=wrapper)
    test.eq(done.status, 0, "the time of threads does not need it")
    test.ok("perf_event_open" in done.stderr and "container" in done.stderr, "what is lost is said", done.stderr)
    notices = [text for text in kdtest.kdreport.parse(done.stdout)[0].notices if "page faults" in text]
    test.eq(len(notices), 1, "in the report, too")
    for more in (["--counters", "page-faults"], ["--profile"]):
        done = test.program("-p", load.pid, *more, wrapper=wrapper)
        error, hint = done.stderr.splitlines()[-2:]
        test.ok(done.status == 77 and "cannot" in error and "container" in hint, f"{more[0]}: refused",
                done.status, done.stderr)


def case_small_stack(test):
    """64 KiB of stack (ulimit -s 64), in each kind of run and output, with what makes it long."""
    small = ("prlimit", "--stack=65536:65536")
    load = test.workload("roles", "poll", "spin:-1")
    folder = test.directory()
    saved = folder / "saved.json"
    (folder / "options").write_text("# " + "x" * 60000 + "\n--sample-time=50ms\n")
    pid = ["-p", load.pid, "--sample-time", "50ms"]
    triggers = ["--start-trigger=up:main", "--stop-trigger=ur:main"]
    for status, *arguments in (
            (0, *pid, "-o", f"csv:{folder}/csv", "-o", f"prometheus:{folder}/metrics"),
            (0, *pid, "--sample-count=2", "--histogram", "--resources", "--interruptions=10us",
             "-s", "1us", "--profile", "--off-cpu=1us", "-o", f"json:{saved}", "-o", "text"),
            (0, "--replay", saved, "--compare", saved), (0, "--replay", saved, "-o", "folded"),
            (75, *pid[:2], *triggers, "--duration=50ms", "-o", "json"),
            (0, *pid[:2], *triggers, "--check"), (0, *pid[:2], "--list-probes=up:*"),
            (0, "--machine", load.pid), (0, "--list-metrics"),
            (0, "@" + str(folder / "options"), *pid[:2])):
        done = test.program(*arguments, wrapper=small)
        test.eq(done.status, status, " ".join(map(str, arguments)))
        test.ok(status or done.stdout or arguments[0] == "-p", "it says something", done.stderr)


def case_hidden_threads(test):
    """Some machines hide their own agents from tracing, though not from /proc."""
    done = test.program("-p", 1, "--sample-time", "0.1", "--strict")
    there = int(kdtest.status_field(1, "Threads"))
    shown = done.status != 69 and sum(thread.members for thread in kdtest.kdreport.parse(done.stdout)[0].threads)
    if done.status == 69:
        test.ok(f"but /proc has {there}: this kernel hides them" in done.stderr,
                "where none is shown, that is an error", done.stderr)
        return
    if done.status == 0:
        test.ok(shown >= there, "no thread of process 1 is missing", there, shown)
        raise kdtest.Skip("nothing is hidden on this machine")
    test.eq(done.status, 1, "a thread that tracing does not show is a loss")
    test.ok(re.search(r"^# WARNING: \d+ threads? (is|are) missing \(this kernel hides", done.stdout,
                      re.M), "and the report says so", done.stdout[-300:])


# --- What --machine says of this machine and of a process, against the files that say so ---

LEVELS = {"OK": "ok", "note": "note", "WARNING": "warning"}
CPUS = pathlib.Path("/sys/devices/system/cpu")


def findings_of(test, *args, wrapper=()):
    done = test.program("--machine=json", *args, wrapper=wrapper)
    test.eq((done.status, done.stderr), (0, ""), "status 0, and nothing is said")
    return kdformats.check_json(test, done.stdout)[0]["findings"]


def about(findings, topic):
    return [(finding["level"], finding["text"]) for finding in findings
            if finding["topic"] == topic]


def text_of(path, default=""):
    path = pathlib.Path(path)
    return path.read_text().strip() if path.exists() else default


def timer_ticks():
    """Timer interrupts of each CPU since boot."""
    line = re.search(r"^ *LOC:([ \d]+)", pathlib.Path("/proc/interrupts").read_text(), re.MULTILINE)
    return [int(count) for count in line[1].split()]


def case_this_machine(test):
    findings = findings_of(test)
    for topic, file in (("isolated CPUs", "isolated"), ("nohz_full CPUs", "nohz_full")):
        want = text_of(CPUS / file).replace("(null)", "") or "none"
        test.eq([text for _, text in about(findings, topic)], [want], f"{topic} as in /sys")
    clock = text_of("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    test.eq([text for _, text in about(findings, "clock source")], [clock], "the clock source")
    swaps = len(pathlib.Path("/proc/swaps").read_text().splitlines()) - 1
    test.eq(about(findings, "swap")[0][0], "note" if swaps else "ok", "swap")
    test.eq(about(findings, "CPU quota"), [], "nothing of a target")
    text = test.program("--machine").stdout.splitlines()
    lines = [line.split(None, 1)[0] for line in text if line and line[0] != " "][:-1]
    test.eq([LEVELS[word] for word in lines], [finding["level"] for finding in findings],
            "the text says the same")


def case_bound_process(test):
    cpu = max(os.sched_getaffinity(0))
    load = test.workload("roles", "poll", "poll", wrapper=("taskset", "-c", str(cpu)))
    before = timer_ticks()[cpu] if cpu < len(timer_ticks()) else None
    findings = findings_of(test, "-p", load.pid)
    after = timer_ticks()[cpu]
    test.eq(about(findings, "affinity")[0],
            ("ok" if os.cpu_count() > 1 else "note",
             f"the target's threads run on CPUs {cpu} only"
             if os.cpu_count() > 1 else "threads of the target may run on all CPUs"),
            "where it is bound")
    local = [text for _, text in about(findings, "interrupts") if "LOC (" in text]
    count = int(local[0].split()[0]) if local else None
    test.between(count, before, after, "local timer interrupts of that CPU as in /proc/interrupts")
    devices = [path for path in pathlib.Path("/proc/irq").glob("[0-9]*/smp_affinity_list")
               if cpu in cpus_of(path.read_text())]
    listed = {line.split(":")[0].strip() for line in
              pathlib.Path("/proc/interrupts").read_text().splitlines()[1:]}
    want = len([path for path in devices if path.parent.name in listed])
    found = about(findings, "interrupts")[0]
    test.eq(int(re.search(r"of devices, (\d+) may", found[1])[1]), want,
            "as many interrupts of devices may come there as /proc/irq says")


def cpus_of(text):
    cpus = set()
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        cpus.update(range(int(first), int(last or first) + 1) if first else ())
    return cpus


def case_quota(test):
    load = test.workload("roles", "poll")
    test.eq(about(findings_of(test, load.pid), "CPU quota")[0][0], "ok", "none")
    with kdgroup.limited_group("kd-machine") as group:
        (group / "cgroup.procs").write_text(str(load.pid))
        found = about(findings_of(test, load.pid), "CPU quota")
        test.ok(found[0][0] == "warning" and group.name in found[0][1], "that of its group", found)
        text = test.program("--machine", load.pid).stdout
        knob = "cpu.cfs_quota_us" if kdgroup.CPU.is_dir() else "cpu.max"
        test.ok(f"for the next period: {knob}" in text, "and the file to change", text)
        realtime = group / "cpu.rt_runtime_us"
        if realtime.exists():
            test.ok(f"{text_of(realtime)} of 1000000 us, of /{group.name}" in text,
                    "its group's real-time limit is the one that counts", text)


def case_little_privilege(test):
    nobody = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups",
              "--bounding-set=-all", "--inh-caps=-all")
    copy = test.directory() / "kernel_delay"
    copy.write_bytes(pathlib.Path(kdtest.PROGRAM).read_bytes())
    copy.chmod(0o755)
    copy.parent.chmod(0o755)
    done = kdtest.Finished(test.child([*nobody, copy, "--machine"]))
    test.eq((done.status, done.stderr), (0, ""), "anybody may look")
    test.ok("note     capabilities       this program lacks CAP_BPF" in done.stdout,
            "and is told what is missing", done.stdout)


kdtest.main(case_needed_tracepoint, case_section_left_out, case_classic_tracepoints,
            case_classic_tracepoints_refused, case_bpf_refused, case_bpf_refused_by_selinux,
            case_perf_refused, case_small_stack, case_lockdown, case_hidden_threads,
            case_this_machine, case_bound_process, case_quota, case_little_privilege)
