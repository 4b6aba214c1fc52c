#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ways to name the process that is meant: a file with its PID, a PID in its own namespace, a name
that does not exist yet."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import kdneeds
import kdtest
from kdtest import PATIENCE, SECOND


QUICK = ("--quiet", "-o", "json", "--sample-time", "20ms")
PAUSE_SHARE = 100  # of a CPU, what waiting may take: 1 %


def watched(test, *args, **options):
    """The process that a run was about."""
    done = test.program(*QUICK, *args, **options)
    test.eq((done.status, done.stderr), (0, ""), "status 0, and nothing is said")
    return json.loads(done.stdout)["pid"] if done.stdout else None


def refused(test, what, status, *args, words=()):
    done = test.program(*QUICK, *args)
    test.eq((done.status, len(done.stderr.splitlines())), (status, 2), f"{what}: status {status}")
    for word in words:
        test.ok(word in done.stderr, f"{what}: says {word!r}", done.stderr)


def case_pidfile(test):
    load = test.workload("roles", "poll")
    path = test.directory() / "x.pid"
    path.write_text(f"{load.pid}\n")
    test.eq(watched(test, "--pidfile", path), load.pid, "the process of the file")
    os.utime(path, (1, 1))
    done = test.program(*QUICK[1:], "--pidfile", path)
    test.ok(done.status == 0 and "is older than process" in done.stderr,
            "a file from before its start is doubted", done.stderr)
    path.write_text("one")
    refused(test, "no number", 69, "--pidfile", path, words=["not a PID", str(path)])
    path.write_text("")
    refused(test, "empty", 69, "--pidfile", path, words=["empty"])
    refused(test, "missing", 69, "--pidfile", path.parent / "y", words=["No such file"])
    ended = subprocess.Popen(["true"])
    ended.wait()
    path.write_text(f"{ended.pid}\n")
    refused(test, "stale", 69, "--pidfile", path, words=[str(ended.pid), "any more"])


def inner(test, *wrapper):
    """A process in a PID namespace of its own: returns the PID here of its init, and both PIDs of a
    process in it."""
    shell = test.child([*wrapper, kdneeds.tool("unshare"), "--pid", "--fork", "--kill-child",
                        "sh", "-c", "sleep 61 & echo $!; wait"])
    theirs = int(shell.line())

    def found():  # when it has become what it is to be
        for path in pathlib.Path("/proc").glob("[0-9]*/status"):
            try:
                pids = kdtest.re.search(r"^NSpid:(.*)", path.read_text(), kdtest.re.MULTILINE)[1].split()
                name = (path.parent / "cmdline").read_bytes()
            except (OSError, TypeError):
                continue
            if pids[-1] == str(theirs) and name == b"sleep\x0061\0" and shell.pid in ancestors(pids[0]):
                return int(kdtest.status_field(pids[0], "PPid")), theirs, int(pids[0])
        return None
    return kdtest.wait_until(found)


def ancestors(pid):
    found = []
    while pid and int(pid):
        found.append(int(pid))
        pid = kdtest.status_field(pid, "PPid")
    return found


def case_namespace(test):
    init, theirs, ours = inner(test)
    other_init, _, _ = inner(test)
    test.eq(watched(test, "-p", f"{theirs},ns={init}"), ours, "a PID inside")
    test.eq(watched(test, "-p", f"{1},ns={ours}"), init, "by any process inside")
    test.ok(watched(test, "-p", f"{1},ns={other_init}") == other_init != init,
            "another one has the same PIDs")
    path = test.directory() / "x.pid"
    path.write_text(f"{theirs}\n")
    test.eq(watched(test, "--pidfile", f"{path},ns={init}"), ours, "a file of the container")
    refused(test, "no such PID inside", 69, "-p", f"{77},ns={init}", words=["77", "nsenter"])
    refused(test, "no such namespace", 69, "-p", f"{1},ns={4194304}", words=["4194304"])
    test.eq(watched(test, "-p", f"{ours},ns={os.getpid()}"), ours, "our own namespace")


def case_nested_namespace(test):
    """A nested namespace: processes of the inner one have a PID in the outer one, too."""
    shell = test.child([kdneeds.tool("unshare"), "--pid", "--fork", "--kill-child", "sh", "-c",
                        "unshare --pid --fork --kill-child sh -c 'echo; sleep 62 & wait' & wait"])
    shell.line()
    found = kdtest.wait_until(lambda: [
        path.parent for path in pathlib.Path("/proc").glob("[0-9]*/cmdline")
        if path.read_bytes() == b"sleep\x0062\0" and shell.pid in ancestors(path.parent.name)])
    status = (found[0] / "status").read_text()
    pids = kdtest.re.search(r"^NSpid:(.*)", status, kdtest.re.MULTILINE)[1].split()
    outer = kdtest.status_field(kdtest.status_field(kdtest.status_field(pids[0], "PPid"), "PPid"),
                                "PPid")
    test.eq(watched(test, "-p", f"{pids[-2]},ns={outer}"), int(pids[0]),
            "by its PID in the middle one")


def looked(child):
    """Waits until a program that looks for a process has done so twice, each time after another
    process was born."""
    for _ in range(2):
        before = kdtest.switches(child.pid, child.pid, ("voluntary",))
        subprocess.run(["true"], check=True)
        kdtest.wait_until(lambda before=before: child.proc.poll() is not None or
                          kdtest.switches(child.pid, child.pid, ("voluntary",)) > before)


def waiting(test, name, *args, wrapper=(), **options):
    child = test.child([*wrapper, kdtest.PROGRAM, *QUICK[1:], *args, "--wait", "-C", name], **options)
    kdtest.wait_until(lambda: "waiting for" in child.stderr)
    return child


def case_wait(test):
    """A process that has the name from its file, and one that takes it."""
    name = f"kdt-w{os.getpid()}"
    path = test.directory() / name
    shutil.copy(kdtest.WORKLOADS / "roles", path)
    for wrapper, what in (((), "told by the kernel"),
                          ((kdneeds.tool("unshare"), "--net"), "looking itself")):
        child = waiting(test, name, wrapper=wrapper)
        looked(child)
        test.ok(child.proc.poll() is None, f"{what}: it waits")
        load = test.workload(path, "roles", "poll")
        test.eq(child.wait(), 0, f"{what}: it finds the process")
        test.eq(json.loads(child.stdout)["pid"], load.pid, f"{what}: it is that one")
        load.end()
    child = waiting(test, name)
    taker = test.child(["sh", "-c", f"printf {name} >/proc/$$/comm; read line"])
    test.eq(child.wait(), 0, "it finds one that has taken the name")
    test.eq(json.loads(child.stdout)["pid"], taker.pid, "it is that one")


class Namesakes:
    """Processes of one name: the wanted one, one of another file, one of another user."""

    USER = 61235

    def __init__(self, test, name=None):
        self.test = test
        self.name = name or f"kdt-n{os.getpid()}"
        self.path, self.other = (test.directory() / self.name for _ in range(2))
        for path in self.path, self.other:
            path.parent.chmod(0o755)
            shutil.copy(kdtest.WORKLOADS / "roles", path)

    def begin(self, path, user=USER):
        wrapper = (kdneeds.tool("setpriv"), f"--reuid={user}", f"--regid={user}", "--clear-groups")
        return self.test.workload(path, "roles", "poll", wrapper=wrapper)


def case_namesakes(test):
    """Namesakes are told apart by file, by user, or by both; with --all, those that remain are one
    target."""
    same = Namesakes(test)
    wanted, forged, foreign = (same.begin(same.path), same.begin(same.other),
                               same.begin(same.path, 61236))
    both = ("-C", f"{same.name},exe={same.path},uid={same.USER}")
    test.eq(watched(test, *both), wanted.pid, "file and user")
    test.eq(watched(test, "-C", f"{same.name},exe={same.other}"), forged.pid, "another file of this name")
    test.eq(watched(test, "-C", f"{same.name},uid=61236"), foreign.pid, "another user")
    link = same.path.parent / "link"
    link.symlink_to(same.other)
    test.eq(watched(test, "-C", f"{same.name},exe={link}"), forged.pid, "a link to the file")
    refused(test, "two of a file", 66, "-C", f"{same.name},exe={same.path}", words=[str(wanted.pid), str(foreign.pid)])
    done = test.program(*QUICK, "-C", f"{same.name},exe={same.path}", "--all")
    test.eq([row["pid"] for row in json.loads(done.stdout)["processes"]], sorted([wanted.pid, foreign.pid]),
            "--all: those of the file")
    refused(test, "no such file", 69, "-C", f"{same.name},exe=/nowhere", words=["/nowhere", "No such file"])
    for child in wanted, foreign:
        child.end()
    refused(test, "only others", 69, *both,
            words=[f"{forged.pid} has this name", str(same.other), f"user {same.USER}"])
    refused(test, "root", 69, "-C", f"{same.name},uid=root", words=["as user 0"])


def case_namesakes_to_come(test):
    """While the program waits for a process, others of its name come first, and again between it
    and its successor."""
    same = Namesakes(test)
    both = f"{same.name},exe={same.path},uid={same.USER}"
    out = test.directory() / "samples"
    child = test.child([kdtest.PROGRAM, "--quiet", "-o", f"json:{out}", "--sample-time", "20ms", "--follow-restart",
                        "--sample-count", 0, "--wait", "-C", both])

    def pids():
        lines = out.read_text().splitlines() if out.exists() else []
        return list(dict.fromkeys(json.loads(line)["pid"] for line in lines if line.endswith("}")))
    lives = []
    for life in range(2):
        forged, foreign = same.begin(same.other), same.begin(same.path, 61236)
        looked(child)
        test.eq(pids(), lives, "others are not taken")
        load = same.begin(same.path)
        lives.append(load.pid)
        test.ok(kdtest.wait_until(lambda: child.proc.poll() is not None or pids() == lives),
                f"{'its successor' if life else 'the one that is meant'} is", pids(), lives, child.stderr)
        for ended in load, forged, foreign:
            ended.end()
    child.signal(2)
    test.eq(child.wait(), 0, "status 0")


def case_wait_for_file(test):
    path = test.directory() / "x.pid"
    child = test.child([kdtest.PROGRAM, *QUICK[1:], f"--wait={PATIENCE}s", "--pidfile", path])
    kdtest.wait_until(lambda: "waiting for" in child.stderr)
    load = test.workload("roles", "poll")
    path.write_text("4194303\n")
    looked(child)
    test.ok(child.proc.poll() is None, "a file that means nobody is not enough")
    path.write_text(f"{load.pid}\n")
    test.eq(child.wait(), 0, "the file is there")
    test.eq(json.loads(child.stdout)["pid"], load.pid, "it is the process of the file")


def case_wait_ends(test):
    began = time.monotonic()
    refused(test, "nobody came", 69, "--wait=0.5s", "-C", "kdt-nobody", words=["kdt-nobody"])
    test.between(time.monotonic() - began, 0.5, PATIENCE, "after that time")


def cpu_ns(pid):
    return sum(kdtest.schedstat(pid, tid)[0] for tid in kdtest.threads_of(pid))


def processes_born():
    """The number of processes and threads created on this machine since boot."""
    text = pathlib.Path("/proc/stat").read_text(encoding="ascii")
    return int(kdtest.re.search(r"^processes (\d+)", text, kdtest.re.MULTILINE)[1])


def case_wait_leaves_nothing(test):
    """The kernel's process connector counts listeners: one that was added is removed again."""
    for wrapper, what in (((), "it answers"),
                          ((kdneeds.tool("unshare"), "--pid", "--fork"), "it does not answer")):
        path = test.directory() / "calls"
        test.program("--wait=0.1s", "-C", "kdt-nobody", wrapper=(
            kdneeds.tool("strace"), "-f", "-xx", "-e", "trace=sendto", "-o", path, *wrapper))
        sent = kdtest.re.findall(r'NLMSG_DONE.*\\x0([0-9])(?:\\x00){3}"\], 40', path.read_text())
        test.eq(sent, ["1", "2"], f"{what}: PROC_CN_MCAST_LISTEN, then _IGNORE")


def case_wait_costs_little(test):
    """Waiting costs little, even while processes come and go."""
    net = (kdneeds.tool("unshare"), "--net")
    children = [waiting(test, "kdt-nobody"), waiting(test, "kdt-nobody", wrapper=net)]
    before, began = [cpu_ns(child.pid) for child in children], time.monotonic_ns()
    born = processes_born()
    for _ in range(100):
        subprocess.run(["true"], check=True)
    time.sleep(1)
    passed = time.monotonic_ns() - began
    # Other tests start processes, too: what each costs is what there is to be bounded. Some 10 us
    # with nothing beside it, more than 20 where others take the caches.
    most = passed / PAUSE_SHARE + 0.002 * SECOND + (processes_born() - born) * 40_000
    for child, used, what in zip(children, before, ("told by the kernel", "looking itself")):
        test.between(cpu_ns(child.pid) - used, 0, most,
                     f"{what}: at most a hundredth of a CPU, and 40 us for each process")


# --- Which process is looked at when none is named ---

DEFAULTS = ("ovs-vswitchd", "vpp_main", "vpp")


def alone():
    for name in DEFAULTS:
        if kdtest.processes_named(name):
            raise kdtest.Skip(f"a {name} runs on this machine")


def start(test, name):
    """A process of that name: a process is named after its file."""
    path = test.directory() / name
    shutil.copy(kdtest.WORKLOADS / "roles", path)
    return test.workload(path, "roles", "poll")


def case_each_default_name(test):
    alone()
    for name in DEFAULTS:
        load = start(test, name)
        done = test.program("--sample-time", "0.1")
        test.eq(done.status, 0, f"{name} is found")
        report = kdtest.kdreport.parse(done.stdout)[0]
        test.eq({thread.tid for thread in report.threads}, set(kdtest.threads_of(load.pid)),
                "and is what the report is about")
        load.end()


def case_vswitchd_comes_first(test):
    alone()
    vpp, switch = start(test, "vpp_main"), start(test, "ovs-vswitchd")
    report = kdtest.kdreport.parse(test.program("--sample-time", "0.1").stdout)[0]
    test.eq({thread.tid for thread in report.threads}, set(kdtest.threads_of(switch.pid)),
            "ovs-vswitchd, not vpp_main")
    switch.end()
    vpp.end()


def case_several(test):
    alone()
    loads = [start(test, "ovs-vswitchd") for _ in range(3)]
    done = test.program("--sample-time", "0.1")
    test.eq((done.status, done.stdout), (66, ""), "three of them: status 66")
    test.ok(all(str(load.pid) in done.stderr for load in loads) and
            len(done.stderr.splitlines()) == 2, "and a list", done.stderr)
    for load in loads:
        load.end()


def case_monitor(test):
    """The parent in `ovs-vswitchd --monitor` only watches its child, and is not the one that is
    meant."""
    alone()
    kdneeds.need("ovs-vswitchd", "ovsdb-tool", "ovsdb-server")
    directory = test.directory()
    environment = {"OVS_RUNDIR": str(directory), "PATH": os.environ["PATH"]}
    database, socket, pidfile = directory / "db", directory / "db.sock", directory / "v.pid"
    subprocess.run(["ovsdb-tool", "create", database,
                    "/usr/share/openvswitch/vswitch.ovsschema"], check=True)
    test.child(["ovsdb-server", database, f"--remote=punix:{socket}", "-vconsole:off",
                f"--unixctl={directory}/db.ctl"], env=environment)
    kdtest.wait_until(socket.exists)
    parent = test.child(["ovs-vswitchd", f"unix:{socket}", "--disable-system", "--monitor",
                         "-vconsole:off", f"--pidfile={pidfile}", f"--unixctl={directory}/v.ctl"],
                        env=environment)
    kdtest.wait_until(lambda: pidfile.exists() and pidfile.read_text())
    child = int(pidfile.read_text())
    # The parent takes the name of a monitor when the child has started.
    kdtest.wait_until(lambda: kdtest.processes_named("ovs-vswitchd") == [child])
    try:
        test.ok(child != parent.pid, "a process and its monitor")
        done = test.program("--sample-time", "0.2")
        test.eq(done.status, 0, "are no reason to ask which is meant")
        report = kdtest.kdreport.parse(done.stdout)[0]
        test.eq({thread.tid for thread in report.threads}, set(kdtest.threads_of(child)),
                "it is the one that works")
    finally:
        os.kill(child, signal.SIGTERM)
        parent.wait()


# So many threads that it matters whether their number is known.
CROWD = """
import threading
threading.stack_size(65536)
for _ in range(1500):
    threading.Thread(target=threading.Event().wait, daemon=True).start()
print("ready", flush=True)
input()
"""


def case_many_groups(test):
    """A list of groups makes /proc/PID/status longer than a page."""
    load = test.child([sys.executable, "-c", CROWD], stdin=subprocess.PIPE,
                      preexec_fn=lambda: os.setgroups(range(100_000, 105_000)))
    load.line("ready")
    done = test.program("-p", load.pid, "--sample-time", "0.1", "--strict")
    test.eq((done.status, done.stderr), (0, ""), "none of its 1,500 threads is lost")


def case_leader_ended(test):
    """main() that calls pthread_exit(): a process has ended only when its last thread has."""
    path = test.directory() / "leaderless"
    shutil.copy(kdtest.WORKLOADS / "caller", path)
    load = test.workload(path, "caller", "sleeps:100000:200:1:2000", env={"LEADER_ENDS": "1"})
    load.send("go")
    tid = load.tid("sleeps")[0]
    kdtest.wait_until(lambda: kdtest.state_of(load.pid, load.pid) == "Z")
    there, saved = set(kdtest.threads_of(load.pid)) - {load.pid}, test.directory() / "json"
    pid, short = ("-p", load.pid), ("--sample-time", "0.2", "--strict")
    for arguments, wanted in (((*pid, "-o", f"json:{saved}", "-o", "text"), there),
                              ((f"leaderless,exe={path}", "--wait"), there),
                              ((*pid, "--tid", tid), {tid}), ((*pid, "--follow-fork"), there)):
        done = test.program(*arguments, *short)
        test.eq(done.status, 0, " ".join(map(str, arguments)))
        report = kdtest.kdreport.parse(done.stdout)[0]
        test.eq({thread.tid for thread in report.threads if thread.tid}, wanted, "its threads")
    test.ok(f"leaderless[{load.pid}]:" in test.program("--replay", saved, "--summary").stdout,
            "a replay has its name")
    done = test.program(*pid, "-s", "1ms", *short)
    test.ok(" probed_call+0x" in done.stdout, "stacks have names", done.stdout[-2000:])
    test.ok("up:probed_call" in test.program(*pid, "--list-probes=up:probed*").stdout, "probes")
    done = test.program(*pid, "--start-trigger", "up:probed_call", "--stop-trigger",
                        "ur:probed_call", "--trigger-delta", "1ms", "--trigger-same-thread")
    test.eq((done.status, "\n# Triggered sample dump" in done.stdout), (0, True), "a trigger fires")
    test.ok(f"--pid {load.pid}" in test.program("-p", tid).stderr, "a TID leads to its process")


kdtest.main(case_pidfile, case_namespace, case_nested_namespace, case_wait, case_namesakes,
            case_namesakes_to_come, case_wait_for_file, case_wait_ends, case_wait_leaves_nothing,
            case_wait_costs_little, case_each_default_name, case_vswitchd_comes_first, case_several,
            case_monitor, case_many_groups, case_leader_ended)
