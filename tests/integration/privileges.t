#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The privileges that a run keeps once everything is attached: no more than the manual page says
for its options, as the kernel reports them; and each such run still yields complete reports."""

import json
import pathlib
import re
import signal
import subprocess
import urllib.request

import kdtest
from kdneeds import tool
from kdterminal import Terminal
from kdtest import PROGRAM

MAN = kdtest.ROOT / "man" / "kernel_delay.8"
NUMBERS = {"CAP_DAC_OVERRIDE": 1, "CAP_DAC_READ_SEARCH": 2, "CAP_KILL": 5, "CAP_SETGID": 6, "CAP_SETUID": 7,
           "CAP_SETPCAP": 8, "CAP_NET_ADMIN": 12, "CAP_SYS_CHROOT": 18, "CAP_SYS_PTRACE": 19,
           "CAP_SYS_ADMIN": 21, "CAP_SYSLOG": 34, "CAP_PERFMON": 38, "CAP_BPF": 39,
           "CAP_CHECKPOINT_RESTORE": 40}
EVERY, STACKS, CHILD, FILE, TRIGGERS = ("each run", "-s, --off-cpu, --profile", "user stacks, --listen, COMMAND",
                                        "-o with a file", "triggers")
EVENTS, PAGER, RESTART = "triggers by perf events", "a report for a pager", "--follow-restart"


def documented():
    """{row: capabilities} from the table in the manual page."""
    text = MAN.read_text(encoding="ascii").replace("\\-", "-")
    text = re.sub(r"\\f.", "", text).split("\n.SS What is given up\n")[1].split("\n.SH ")[0]
    rows = {}
    for entry in text.split("\n.PP\n")[0].split("\n.TP\n")[1:]:
        title, _, kept = entry.partition("\n")
        # What depends on the machine is the test's business.
        rows[title] = set(re.findall(r"CAP_\w+", kept.split("; with --btf")[0]))
    return rows


def paranoid():
    return int(pathlib.Path("/proc/sys/kernel/perf_event_paranoid").read_text(encoding="ascii"))


def names_of(mask):
    return {next((name for name, number in NUMBERS.items() if number == bit), f"capability {bit}")
            for bit in range(64) if int(mask, 16) >> bit & 1}


def confined(run):
    return kdtest.wait_until(lambda: run.proc.poll() is not None or
                             kdtest.status_field(run.pid, "Seccomp") == "2")


def check_status(test, what, pid, *rows, attaches=False, every=EVERY):
    """attaches: whether it uses perf_event_open(2), which at some settings needs CAP_SYS_ADMIN."""
    table = documented()
    want = set().union(*(table[row] for row in (every, *rows)))
    if attaches and paranoid() >= 3:
        want.add("CAP_SYS_ADMIN")
    want &= names_of(kdtest.status_field("self", "CapPrm"))
    # One that reads the title of a process may still be on its way out; one looks for signals.
    others = int(what != "--replay")
    kdtest.wait_until(lambda: len(kdtest.threads_of(pid)) == 1 + others)
    test.eq([kdtest.status_field(f"{pid}/task/{tid}", "CapPrm") for tid in kdtest.threads_of(pid) if tid != pid],
            ["0" * 16] * others, f"{what}: the thread that looks for signals may do nothing")
    got = {field: kdtest.status_field(pid, field) for field in
           ("CapPrm", "CapEff", "CapInh", "CapAmb", "CapBnd", "NoNewPrivs", "Seccomp")}
    test.eq(names_of(got["CapPrm"]), want, f"{what}: it may have what is documented")
    test.eq(got["CapEff"], got["CapPrm"], f"{what}: and has it")
    test.eq([int(got[name], 16) for name in ("CapInh", "CapAmb", "CapBnd")], [0] * 3,
            f"{what}: nothing comes back by execve()")
    test.eq((got["NoNewPrivs"], got["Seccomp"]), ("1", "2"), f"{what}: no new ones, and a filter")


def sampled(test, what, load, *args, rows=(), meanwhile=None, attaches=False):
    """The samples of a run whose privileges were checked."""
    run = test.child([PROGRAM, "-p", load.pid, "--quiet", "-o", "json", "--sample-time", "60s", *args])
    confined(run)
    check_status(test, what, run.pid, *rows, attaches=attaches)
    if meanwhile:
        meanwhile()
    if "--sample-count" in args:  # of triggers
        kdtest.wait_until(lambda: len(run.out) > 6)
    else:
        slept(load)
    run.signal(signal.SIGINT)
    test.eq((run.wait(), run.stderr), (0, ""), f"{what}: it ends as it should")
    samples = [sample for sample in map(json.loads, run.stdout.splitlines()) if sample["type"] == "sample"]
    missing = {row["what"] for sample in samples for row in sample["absent"]} - absent(load)
    test.eq((sum(sample["lost"] for sample in samples), missing), (0, set()), f"{what}: nothing is lost")
    return samples


def absent(load):
    """What the report says is absent on this kernel even when all privileges are kept."""
    run = subprocess.run([PROGRAM, "-p", str(load.pid), "--debug=0,keep-privileges", "--resources", "--sample-time", "1ms",
                          "--quiet", "-o", "json"], capture_output=True, check=True)
    return {row["what"] for row in json.loads(run.stdout)["absent"]}


def sleeper(test):
    """A process whose thread calls probed_call() 200 times a second."""
    load = test.workload("caller", "sleeps:20000:200:1:500")
    load.send("go")
    return load


def slept(load):
    """Waits until the thread has made some calls."""
    tid, = load.tid("sleeps")
    before = kdtest.switches(load.pid, tid, ("voluntary",))
    kdtest.wait_until(lambda: kdtest.switches(load.pid, tid, ("voluntary",)) > before + 20)


def thread(sample, name="sleeps"):
    return next((row for row in sample["threads"] if row["name"] == name), None)


def case_time(test):
    sample, = sampled(test, "time", sleeper(test))
    test.ok(thread(sample)["syscalls"], "its system calls are there", thread(sample))
    sample, = sampled(test, "all figures", sleeper(test), "--resources", "--histogram", "--interruptions",
                      "--counters", "page-faults,context-switches")
    test.ok(sample["resources"] and thread(sample)["counters"], "resources and counters, too", sample.keys())


def case_stacks(test):
    sample, = sampled(test, "stacks", sleeper(test), "-s", "0", "--off-cpu", "1ns", "--profile",
                      rows=(STACKS, CHILD))
    traces = sample["traces"]
    names = {frame.get("function") for stack in traces["stacks"] for frame in stack["frames"]}
    test.ok("worker_main" in names, "functions of the process have names", names)
    test.ok(not traces["kernel_symbols_hidden"] and any("do_nanosleep" in str(name) for name in names),
            "those of the kernel, too", names)


def case_files(test):
    """Files in a directory that only another user may access."""
    folder = test.directory()
    kdtest.os.chown(folder, 61235, 61235)
    load, path = sleeper(test), folder / "out"
    run = test.child([PROGRAM, "-p", load.pid, "-o", f"json:{path}-%n", "--sample-time", "0.1s",
                      "--sample-count", "0"])
    confined(run)
    check_status(test, "files", run.pid, FILE)
    kdtest.wait_until(lambda: {"out-1", "out-2"} <= {name.name for name in folder.iterdir()})
    run.signal(signal.SIGINT)
    test.eq((run.wait(), run.stderr), (0, ""), "files: it ends as it should")


def case_live(test):
    """Whoever uses the live view may ask for such files."""
    load = sleeper(test)
    terminal = Terminal(test, "--live", "-p", load.pid)
    terminal.read(until="VERDICT")
    check_status(test, "live", terminal.process.pid, "--live")
    terminal.press("q")
    test.eq(terminal.wait(), 0, "live: it ends as it should")


def has_multi():
    """Whether this kernel can attach to functions of processes in one go, as it says itself."""
    path = pathlib.Path("/sys/kernel/btf/vmlinux")
    return path.exists() and b"\0bpf_uprobe_multi_link\0" in path.read_bytes()


def case_triggers(test):
    load = sleeper(test)
    rows = (TRIGGERS,) if has_multi() else (TRIGGERS, EVENTS)
    samples = sampled(test, "triggers", load, "--start-trigger", "up:probed_call", "--stop-trigger", "ur:probed_call",
                      "--sample-count", "0", rows=rows)
    test.ok(len(samples) > 5, "there are samples", len(samples))
    samples = sampled(test, "tracepoints", load, "--start-trigger", "t:syscalls:sys_enter_clock_nanosleep",
                      "--stop-trigger", "t:syscalls:sys_exit_clock_nanosleep", "--sample-count", "0",
                      rows=(TRIGGERS,), attaches=True)
    test.ok(len(samples) > 5, "there are samples", len(samples))


def case_listen(test):
    port, load = kdtest.free_port(), sleeper(test)
    pages = []

    def scrape():
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=kdtest.PATIENCE) as page:
            pages.append(page.read())
    sampled(test, "--listen", load, "--listen", port, rows=(CHILD,), meanwhile=scrape)
    test.ok(b"kernel_delay_" in pages[0], "it answers")


def case_restart(test):
    load = sleeper(test)
    run = test.child([PROGRAM, "-p", load.pid, "--follow-restart", "--sample-count", "0", "--sample-time", "0.1s",
                      "--quiet", "-o", "json"])
    confined(run)
    check_status(test, "--follow-restart", run.pid, RESTART, attaches=True)
    run.signal(signal.SIGINT)
    test.eq((run.wait(), run.stderr), (0, ""), "it ends as it should")


def case_command(test):
    """The command has the privileges that it would have without the program."""
    run = test.child([PROGRAM, "--quiet", "-o", "json", "--", "sh", "-c",
                      "grep -E 'Cap|NoNew|Seccomp:' /proc/self/status >&2; read line"])
    confined(run)
    check_status(test, "command", run.pid, CHILD)
    run.send("")
    test.eq(run.wait(), 0, "it ends as it should")
    ours = pathlib.Path("/proc/self/status").read_text(encoding="ascii")
    test.eq(run.stderr.splitlines(), [line for line in ours.splitlines() if
                                      re.match("Cap|NoNew|Seccomp:", line)], "the command has all that we have")


def case_pager(test):
    terminal = Terminal(test, "-p", sleeper(test).pid, "--full", "--sample-time", "60", SUDO_UID="65534",
                        PAGER="echo user $(id -u); cat >/dev/null")
    kdtest.wait_until(lambda: kdtest.status_field(terminal.process.pid, "Seccomp") == "2")
    check_status(test, "pager", terminal.process.pid, PAGER)
    terminal.process.send_signal(signal.SIGINT)
    test.eq(terminal.wait(), 0, "it ends as it should")
    test.eq(terminal.shown.split()[-2:], ["user", "65534"], "the pager had the report, as sudo's caller")


def case_replay(test):
    """A replay: the file may be anybody's."""
    load = sleeper(test)
    saved = test.program("-p", load.pid, "--sample-time", "50ms", "--quiet", "-o", "json").stdout
    run = test.child([PROGRAM, "--replay", "-"])
    confined(run)
    check_status(test, "--replay", run.pid, every="--replay")
    run.proc.stdin.write(saved.encode())
    run.proc.stdin.close()
    test.eq((run.wait(), run.stderr), (0, ""), "--replay: it ends as it should")
    test.ok("sleeps" in run.stdout, "and has the report", run.stdout[:300])


def case_compare(test):
    """The capture to compare with may be anybody's, too: it is read once all privileges are gone."""
    load, folder = sleeper(test), test.directory()
    saved = test.program("-p", load.pid, "--sample-time", "300ms", "--sample-count", 2, "--quiet", "-o", "json").stdout
    (folder / "now").write_text(saved, encoding="utf-8")
    kdtest.os.mkfifo(folder / "before")
    for what, every, args in (("--replay", "--replay", ["--replay", folder / "now"]),
                              ("--compare", EVERY, ["-p", load.pid, "--sample-time", "300ms", "--sample-count", 2])):
        pipe = kdtest.os.open(folder / "before", kdtest.os.O_RDWR)  # does not wait for a reader
        run = test.child([PROGRAM, *args, "--compare", folder / "before", "-o", "json:/dev/null", "--quiet"])
        confined(run)
        check_status(test, what, run.pid, FILE, every=every)
        test.eq(run.proc.poll(), None, f"{what}: it waits for what it compares with")
        kdtest.os.write(pipe, saved.encode())
        kdtest.os.close(pipe)
        test.eq((run.wait(), run.stderr), (0, ""), f"{what}: it ends as it should")


def case_kept(test):
    run = test.capture(sleeper(test).pid, "--debug=0,keep-privileges", "-o", "-")
    test.eq([kdtest.status_field(run.pid, name) for name in ("CapPrm", "CapEff", "CapBnd", "NoNewPrivs", "Seccomp")],
            [kdtest.status_field("self", name) for name in ("CapPrm", "CapEff", "CapBnd", "NoNewPrivs", "Seccomp")],
            "keep-privileges: all of them")
    run.interrupt(test, "it ends as it should")


def case_few(test):
    """Started with few capabilities it keeps no more; CAP_SYS_ADMIN stands in for those that are
    missing."""
    for has, keeps in ((("bpf", "perfmon"), {"CAP_BPF"}), (("sys_admin",), {"CAP_SYS_ADMIN"})):
        words = ",".join(["-all", *(f"+{name}" for name in has)])
        # Before Linux 5.11 maps of BPF are locked memory.
        run = test.child(["sh", "-c", 'ulimit -l unlimited 2>/dev/null; exec "$@"', "sh", tool("setpriv"),
                          f"--bounding-set={words}", f"--inh-caps={words}", f"--ambient-caps={words}", PROGRAM,
                          "-p", sleeper(test).pid, "--sample-time", "60s", "--quiet", "-o", "json"])
        confined(run)
        test.eq(names_of(kdtest.status_field(run.pid, "CapPrm")), keeps, f"with {', '.join(has)} only")
        run.interrupt(test, "it ends as it should")
        test.ok(thread(json.loads(run.stdout)), "and has the threads", run.stdout[:500])


kdtest.main(case_time, case_stacks, case_files, case_live, case_triggers, case_listen, case_restart,
            case_command, case_pager, case_replay, case_compare, case_kept, case_few)
