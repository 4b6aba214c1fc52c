#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A command that is started to be watched: it is watched from its first instruction to its end, and
otherwise runs as if started without us."""

import collections
import json
import os
import pathlib
import re
import signal
import subprocess
import sys

import kdbooks
import kdneeds
import kdreport
import kdstaged
import kdtest
from kdterminal import Terminal
from kdtest import MS

LIFETIME = kdtest.WORKLOADS / "lifetime"
# What a process has from its parent, as its own words; "self" is that of cat.
STATE = ["cat", "/proc/self/status", "/proc/self/stat", "/proc/self/limits", "/proc/self/cgroup",
         "/proc/self/oom_score_adj", "/proc/self/environ"]
OWN = re.compile(r"^(Pid|Tgid|Ngid|PPid|NS\w+|Vm\w+|Rss\w+|Hugetlb\w+|\w*ctxt_switches|Threads|SigQ|"
                 r"x86_Thread\w*|CoreDumping|THP_enabled|untag_mask)\b.*\n", re.MULTILINE)


# Whether the code that it runs is that of its file.
OWN_CODE = """
with open("/proc/self/maps") as maps, open("/proc/self/exe", "rb") as file, \\
        open("/proc/self/mem", "rb", 0) as memory:
    fields = next(line.split() for line in maps if " r-xp " in line)
    begin, end = (int(part, 16) for part in fields[0].split("-"))
    file.seek(int(fields[2], 16))
    memory.seek(begin)
    print(file.read(end - begin) == memory.read(end - begin))
import time
time.sleep(0.001)  # the trigger
"""


def watched(test, *args, **options):
    """A run that has to succeed: returns what the command printed, and the reports."""
    path = test.directory() / "report"
    done = test.program("-o", path, *args, **options)
    test.eq((done.status, done.stderr), (0, ""), "status 0, and nothing is said")
    return done.stdout, kdreport.parse(path.read_text())


def case_books(test):
    path = test.directory() / "sample"
    # Before others: it is stopped for as long as they keep us from letting it go.
    out, reports = watched(test, "-o", f"json:{path}", "--", LIFETIME, 200,
                           wrapper=("nice", "-n", "-20"))
    truth, report = json.loads(out), reports[0]
    window = json.loads(path.read_text())["window"]
    thread = report.thread(truth["pid"], ended=True)
    test.eq(thread.name, "lifetime", "it has the command's name")
    test.ok(window["start_ns"] <= truth["began"] and truth["ended"] <= window["end_ns"],
            "the window holds its first and last time", window, truth)
    _, exceeds = kdbooks.clock_shift(thread)
    test.between(thread.running, (truth["after"] - truth["before"]) * 0.999 - exceeds,
                 truth["after"] * 1.001 + 10 * MS, "it ran as long as its own clock says")
    test.between(thread.ns["stopped"], 0, 20 * MS * kdtest.SLACK, "it did not wait for us")
    test.ok(any("process ended" in text or "exited" in text for text in report.notices),
            "the end of the sample is that of the process", *report.notices)
    test.books(report)


def case_streams(test):
    """What the command writes to standard output is left alone; the report goes where it was asked
    for."""
    folder = test.directory()
    for number, (args, where) in enumerate((
            ((), "err"), (("--sample-time", "10ms", "--sample-count", 0), "err"),
            (("--color", "always", "--strict"), "err"),
            (("--start-trigger", "t:syscalls:sys_enter_write"), "err"), (("-o", "-"), "out"),
            (("-o", "text"), "out"), (("-o", "json"), "json"), (("--quiet",), None),
            (("-o", folder / "text"), "file"))):
        (folder / "out").unlink(missing_ok=True)
        done = test.program(*args, "--", "sh", "-c", f"echo data {number}; echo said {number} >&2")
        out, err = f"data {number}\n", f"said {number}\n"
        test.eq(done.status, 0, f"{args}: status 0")
        if where not in ("out", "json"):
            test.eq(done.stdout, out, f"{args}: standard output is the command's alone")
        if where in ("out", "json", "file", None):
            test.eq(done.stderr, err, f"{args}: and so is standard error")
        has = {"err": done.stderr, "out": done.stdout, "json": done.stdout,
               "file": (folder / "text").read_text() if where == "file" else "", None: ""}[where]
        test.ok(not where or ('"threads"' if where == "json" else "CPU") in has,
                f"{args}: the report is there", has)
        test.ok(where != "err" or err in done.stderr, f"{args}: it could write there, too")
    full = test.child(["sh", "-c", '"$@" 2>/dev/full', "sh", kdtest.PROGRAM, "--", "echo", "data"],
                      full=False)
    test.eq((full.wait(), full.stdout), (74, "data\n"), "a report that cannot be written is an error")


def calls_by_strace(test, command):
    path = test.directory() / "calls"
    done = subprocess.run([kdneeds.tool("strace"), "-o", path, *command], check=False,
                          stdout=subprocess.DEVNULL)
    test.eq(done.returncode, 0, "strace runs it")
    return collections.Counter(re.findall(r"^(\w+)\(", path.read_text(), re.MULTILINE))


def case_calls(test):
    """System calls from the first one of the dynamic loader to the last."""
    command = ["cat", "/proc/self/limits"]
    want = calls_by_strace(test, command)
    thread = watched(test, "--", *command)[1][0].threads[0]
    got = {name: row.count for name, row in thread.calls.items() if row.count}
    for call in ("execve", "exit_group"):  # neither begins and returns there
        want.pop(call, None)
        got.pop(call, None)
    test.ok(len(want) > 5, "strace lists calls", want)
    test.eq(got, dict(want), "its system calls are those that strace lists")


def state_with(test, *wrapper, **options):
    done = kdtest.Finished(test.child([*wrapper, *STATE], full=False, **options))
    return OWN.sub("", done.stdout), done


def fields_of(text):
    """Fields of /proc/PID/stat: parent, process group, session, terminal, its foreground group,
    nice value."""
    line = re.search(r"^\d+ \(cat\) \S (.*)$", text, re.MULTILINE)
    fields = line[1].split()
    return [fields[i] for i in (1, 2, 3, 4, 15)], text.replace(line[0], "")


def case_as_without_us(test):
    """The state of a watched command is that of the same command started directly."""
    directory = test.directory()
    (directory / "input").write_text("x")

    def prepare():
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1, signal.SIGINT, signal.SIGCHLD])
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        signal.signal(signal.SIGUSR2, signal.SIG_IGN)
        os.sched_setaffinity(0, [max(os.sched_getaffinity(0))])
        os.nice(3)
        os.umask(0o27)
    for what, options in (("usual", {}), ("odd", {"preexec_fn": prepare, "restore_signals": False})):
        results = []
        for wrapper in ((), (kdtest.PROGRAM, "--quiet", "--")):
            with (directory / "input").open() as stdin:
                text, done = state_with(test, *wrapper, stdin=stdin, **options)
            test.eq(done.status, 0, f"{what}: status 0")
            stat, rest = fields_of(text)
            results.append((stat, rest))
        test.eq(results[1][0], results[0][0], f"{what}: group, session, terminal and nice value")
        plain, ours = ({line.split(":")[0]: line for line in text.splitlines()}
                       for _, text in results)
        test.ok("SigBlk" in plain and "Cpus_allowed" in plain, f"{what}: there is much to compare")
        test.eq({key: line for key, line in ours.items() if plain.get(key) != line}, {},
                f"{what}: all else is as without us")
    plain, ours = (test.child([*wrapper, "ls", "-l", "/proc/self/fd"], full=False,
                              stdin=subprocess.DEVNULL)
                   for wrapper in ((), (kdtest.PROGRAM, "--quiet", "--")))
    fds = [re.findall(r" (\d+) -> (?!/proc/)", kdtest.Finished(child).stdout)
           for child in (plain, ours)]
    test.eq(fds[1], fds[0], "it has the same descriptors")


def case_exit_status(test):
    for script, want, what in (("exit 7", 7, "its own"),
                               ("kill -TERM $$", 128 + 15, "that of a signal")):
        done = test.program("--quiet", "--exit-status", "--", "sh", "-c", script)
        test.eq(done.status, want, f"--exit-status: {what}")
    test.eq(test.program("--quiet", "--", "false").status, 0, "without it, ours")
    done = test.program("--quiet", "--exit-status", "--fail-if", "threads>0", "--", "true")
    test.eq(done.status, 4, "a condition counts where the command succeeds")
    done = test.program("--exit-status", "--fail-if", "threads>0", "-o", "/dev/full", "--", "sh", "-c",
                        "exit 7")
    test.eq(done.status, 7, "the command's comes before those of a condition and of an output")


def case_cannot_run(test):
    plain = test.directory() / "plain"
    plain.write_text("no program")
    script = test.directory() / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    for path, status, word in (("kdtest-no-such", 127, "No such file"), (plain, 126, "denied"),
                               (script, 127, "interpreter"), ("/", 126, "denied")):
        done = test.program("--", path)
        test.eq((done.status, done.stdout), (status, ""), f"{word}: status {status}")
        passed = test.program("--exit-status", "--", path)
        test.eq((passed.status, passed.stderr), (status, done.stderr),
                f"{word}: and the same with --exit-status")
        test.ok(len(done.stderr.splitlines()) == 2 and word in done.stderr and
                str(path) in done.stderr, f"{word}: two lines", done.stderr)


def case_nothing_is_run_in_vain(test):
    """If anything fails before all is attached, no trace of the command is left."""
    mark = test.directory() / "mark"
    for args in (["--start-trigger", "up:kdtest_no_such"], ["--btf", "/dev/null"],
                 ["--list-probes=up:*"], ["--check", "--start-trigger", "t:sched:sched_switch"]):
        test.program(*args, "--", "touch", mark)
        test.ok(not mark.exists(), f"{args[0]}: the command is not run")


# Its main thread waits for the end of another one, which sleeps; prints both, and for how long.
JOINS = """
import os, threading, time
def work():
    time.sleep(0.6)
worker = threading.Thread(target=work)
begun = time.monotonic_ns()
worker.start()
worker.join()
print(os.getpid(), worker.native_id, time.monotonic_ns() - begun)
"""

# It has two threads, and asks a server for an answer.
ASKS = """
import os, select, socket, sys, threading, time
done = threading.Event()
other = threading.Thread(target=done.wait)
other.start()
peer = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
peer.send(b"?")
poll = select.poll()
poll.register(peer, select.POLLIN)
begun = time.monotonic_ns()
poll.poll(1200)
print(os.getpid(), time.monotonic_ns() - begun)
done.set()
other.join()
"""

STOPS = """
import os, signal, socket
server = socket.create_server(("127.0.0.1", 0))
print("ready", server.getsockname()[1], flush=True)
client, _ = server.accept()
client.recv(1)
os.kill(os.getpid(), signal.SIGSTOP)
"""


def sentences(test, *command, options=()):
    """What it printed, the sample, and the verdict's sentences."""
    path = test.directory() / "json"
    text = test.directory() / "text"
    done = test.program(*options, "--summary", "-o", text, "-o", f"json:{path}", "--", *command)
    said = re.sub(r"\n {8}", " ", text.read_text())
    return done.stdout, kdtest.samples_of(path)[0], re.findall(r"^VERDICT (.*)$", said, re.MULTILINE)


def case_what_it_waited_for(test):
    """What its time was is that of its main thread, and of those for which that waited."""
    out, sample, said = sentences(test, sys.executable, "-c", JOINS)
    pid, worker, ns = map(int, out.split())
    test.eq(sample.get("verdict_tid"), pid, "the verdict is of the main thread")
    test.ok(re.match(rf"\S+\[{pid}\] took ", said[0]), "whose time it was", *said)
    rows = [row for thread in sample["threads"] if thread["tid"] == pid
            for row in thread.get("chains", []) if row.get("tid") == worker]
    ready = sum(thread["ledger"][key] for thread in sample["threads"] if thread["tid"] in (pid, worker)
                for key in kdstaged.WAITED)
    test.between(sum(row["total_ns"] for row in rows), 0.9 * ns - ready, 1.1 * ns,
                 "it waited for the other")
    slept = sum(row["total_ns"] for row in rows if row.get("in_wchan", "").startswith("hrtimer"))
    test.ok(0.6e9 * 0.9 - ready <= slept <= ns, "which slept", slept, ready, rows)
    test.ok(any(f"[{worker}] woke it, which slept meanwhile in" in line for line in said), "in words", *said)
    test.ok(not any("began before" in line for line in said), "no wait began before the window", *said)

    server = test.child([sys.executable, "-c", STOPS])
    port = server.line("ready").split()[1]
    out, sample, said = sentences(test, sys.executable, "-c", ASKS, port)
    pid, ns = map(int, out.split())
    row = sample["verdict"][0]
    test.eq((row["cause"], row["who"].get("pid")), ("peer", server.pid), "who did not answer")
    test.between(row["ns"], 0.95 * ns, 1.05 * ns + 50 * MS * kdtest.SLACK, "for how long")
    test.ok(any(f"[{server.pid}], which is stopped" in line for line in said), "and why", *said)

    script = "sleep 0.1; sleep 0.6; exit 7"
    out, sample, said = sentences(test, "sh", "-c", script, options=["--follow-fork"])
    test.eq(sample.get("verdict_tid"), sample["pid"], "with children, too")
    row = sample["verdict"][0]
    test.eq((row["cause"], row["who"].get("comm")), ("child", "sleep"), "whom it waited for")
    test.ok(row["ns"] >= 0.6e9, "for how long", row)
    child = [process["pid"] for process in sample["processes"] if process["name"] == "sleep"]
    test.ok(row["who"]["tid"] in child, "the one that took most", child)


# Runs each program that often for so many seconds, and says for how long it waited for each. The last
# wait is interrupted by a signal from a process that is not its child, and ends then.
CHILDREN = """
import json, os, signal, sys, time
folder, runs = sys.argv[1], json.loads(sys.argv[2])
waited = {}
def start(name, *args):
    return os.posix_spawn(f"{folder}/{name}", [name, *args], os.environ)
def wait(name, pid):
    began = time.monotonic_ns()
    os.waitpid(pid, 0)
    waited[name] = waited.get(name, 0) + time.monotonic_ns() - began
for name, (times, seconds) in runs.items():
    for _ in range(times):
        wait(name, start(name, str(seconds)))
last = start("beta", "1000")
signal.signal(signal.SIGUSR1, lambda *_: os.kill(last, signal.SIGTERM))
other = f"import os, time; time.sleep(0.2); os.kill({os.getpid()}, {int(signal.SIGUSR1)})"
wait("shell", start("shell", "-c", f"exec {folder}/other -c '{other}' &"))
wait("beta", last)
print(json.dumps(waited))
"""


def case_children(test):
    """Children that are many are told apart by their programs."""
    folder, runs = test.directory(), {"alpha": (20, 0.02), "beta": (5, 0.1)}
    for name, of in ("alpha", "/bin/sleep"), ("beta", "/bin/sleep"), ("shell", "/bin/sh"), ("other", sys.executable):
        (folder / name).symlink_to(of)
    out, sample, said = sentences(test, sys.executable, "-c", CHILDREN, folder, json.dumps(runs))
    waited = json.loads(out)
    rows = [row for thread in sample["threads"] for row in thread["descriptors"]
            if row["for"] == "child" and row["call"].get("name") == "wait4"]
    of = {name: [row for row in rows if row.get("child") == name] for name in waited}
    test.eq({row.get("child") for row in rows} - {None, "shell"}, set(runs), "their programs")
    test.ok(any("child" not in row for row in rows) and not any("other[" in line for line in said),
            "who sent a signal is no child", rows, *said)
    for name, (times, seconds) in runs.items():
        test.between(sum(row["count"] for row in of[name]), times - 1, times + 1, f"{name}: how many")
        test.between(sum(row["total_ns"] for row in of[name]), 0.8 * times * seconds * 1e9, waited[name],
                     f"{name}: for how long")
        test.ok(any((row["cause"], row["who"].get("comm"), row["who"].get("tid")) == ("child", name, None)
                    for row in sample["verdict"]), f"{name}: in the verdict", sample["verdict"])
    test.ok(any(re.search(r"waited for its children: (alpha|beta) \(\d+ times\)", line)
                for line in said), "in words", *said)


def case_substitutions(test):
    """The same of those whose output a shell reads."""
    folder = test.directory()
    (folder / "alpha").symlink_to("/bin/sleep")
    _, sample, said = sentences(test, "sh", "-c", "for i in 1 2 3 4 5 6 7 8 9 10; do x=$($0 0.03); done",
                                folder / "alpha", options=["--summary"])
    row = sample["verdict"][0]
    test.eq((row["cause"], row["who"].get("comm")), ("child", "alpha"), "the program")
    test.between(row["ns"], 0.8 * 0.3e9, row["longest_ns"] * 10, "for how long")
    test.ok(any(re.search(r"waited for its children: alpha \(1\d times\)", line) for line in said),
            "in words", *said)


def case_trigger_is_wrong(test):
    """Errors in the text of a trigger are reported before any process is started."""
    strace, path = kdneeds.tool("strace"), test.directory() / "calls"
    right = ["--start-trigger=up:main", "--check"]
    for args in (["--start-trigger=up:"], ["--start-trigger=up:main", "--stop-trigger=up:libc.so.6:"],
                 ["--start-trigger=up:libc.so.6:read if arg0 =", "--check"], right):
        done = test.program(*args, "--", "true", wrapper=(
            strace, "-f", "-qq", "-e", "trace=fork,vfork,clone,clone3", "-o", path))
        test.eq((done.status == os.EX_CONFIG, path.read_text() == ""), (args is not right,) * 2,
                f"{args}: {'something' if args is right else 'nothing'} is started")


def case_sample_time(test):
    """The program waits for the command's end, even after its last sample."""
    folder = test.directory()
    mark, go = folder / "mark", folder / "go"
    child = test.child([kdtest.PROGRAM, "--sample-time", "50ms", "--sample-count", 2, "-o", "-",
                        "--", "sh", "-c",
                        f"until [ -e {go} ]; do sleep 0.05; done; echo done >{mark}"])
    for _ in range(2):
        child.line("# Sample dump")
    go.touch()  # the samples ended before the command, so with the time that was given
    test.eq((child.wait(), child.stderr), (0, ""), "status 0, and nothing is said")
    test.eq(len(kdreport.parse(child.stdout)), 2, "two samples")
    test.ok(mark.exists(), "and the command came to its end")
    _, reports = watched(test, "--sample-count", 0, "--sample-time", "50ms", "--", "sleep", "0.5")
    test.ok(len(reports) > 1, "samples up to its end", len(reports))


def case_triggers(test):
    path = test.directory() / "samples"
    done = test.program("-o", f"json:{path}", "--start-trigger", "t:syscalls:sys_enter_write",
                        "--stop-trigger", "t:syscalls:sys_exit_write", "--", "sh", "-c",
                        "echo a; echo b; echo c")
    test.eq((done.status, len(kdtest.samples_of(path))), (0, 3),
            "each write until its end is a sample")
    done = test.program("-o", f"json:{path}", "--start-trigger", "up:main", "--sample-time", "600s",
                        "--", LIFETIME, 50)
    sample = json.loads(path.read_text().splitlines()[0])
    test.between(sample["window"]["duration_ns"], 50 * MS, 500_000 * MS,
                 "a sample from its main() to its end")
    test.eq(json.loads(done.stdout)["pid"], sample["pid"], "of the command")


def case_libraries(test):
    """A trigger in a library, which is mapped once the loader has run, before the program's own
    code."""
    path = test.directory() / "samples"
    trigger = ("-o", f"json:{path}", "--start-trigger", "up:libc.so.6:clock_nanosleep")
    done = test.program(*trigger, "--sample-time", "600s", "--", "sleep", "0.2")
    sample = json.loads(path.read_text().splitlines()[0])
    test.eq((done.status, "threads" in sample), (0, True), "it is hit")
    test.between(sample["window"]["duration_ns"], 200 * MS, 500_000 * MS,
                 "a sample from the call to the process's end")
    done = test.program(*trigger, "-o", os.devnull, "--exit-status", "--", "sh", "-c", "kill -TRAP $$")
    test.eq(done.status, 128 + signal.SIGTRAP, "another trap is the program's own")
    done = test.program(*trigger, "--", sys.executable, "-c", OWN_CODE)
    test.eq((done.status, done.stdout), (0, "True\n"), "its code is that of its file")
    listed = test.program("--list-probes", "--", "sleep", "1")
    test.ok(re.search(r"^up:libc\.so\.6:\* +\d+ functions", listed.stdout, re.MULTILINE),
            "--list-probes shows its libraries", listed.stdout[:500])


def case_begins_twice(test):
    """A library that executes the program a second time, as sanitizers do."""
    path = test.directory() / "samples"
    done = test.program("-o", f"json:{path}", "--start-trigger", "up:libc.so.6:clock_nanosleep",
                        "--sample-time", "600s", "--", kdtest.WORKLOADS / "reborn", 0.1)
    sample = json.loads(path.read_text().splitlines()[0])
    test.eq((done.status, done.stdout, "threads" in sample), (0, "twice\n", True),
            "the trigger of the second program is hit")


def case_library_is_missing(test):
    path = test.directory() / "lacking"
    path.write_bytes(LIFETIME.read_bytes().replace(b"libc.so.6\0", b"libq.so.6\0"))
    path.chmod(0o755)
    done = test.program("--start-trigger", "up:libc.so.6:read", "--", path, 1)
    test.eq((done.status, "libq.so.6" in done.stderr), (126, True), "the loader says so")
    test.eq(done.stderr.splitlines()[-2],
            f"kernel_delay: {path} ended before its own code began", "and we")


def case_stacks(test):
    done = test.program("--profile", 999, "--", LIFETIME, 200)
    test.ok(re.search(r"main\+0x\w+ \[lifetime\]", done.stderr), "--profile finds its main()",
            done.stderr[-3000:])


def names_below(pid):
    """Names of the children of a process."""
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [kdtest.thread_name(child, child) for child in children]


def case_keys(test):
    """Ctrl-C on a terminal goes to the command; the report is printed nevertheless."""
    report = test.directory() / "report"
    terminal = Terminal(test, "-o", report, "--exit-status", "--", "sh", "-c",
                        "echo ready; exec sleep 60")
    terminal.read("ready")
    kdtest.wait_until(lambda: "sleep" in names_below(terminal.process.pid))
    terminal.press("\x03")
    test.eq(terminal.wait(), 128 + signal.SIGINT, "the command is interrupted")
    test.ok("sleep" in report.read_text(), "the report is there")
    script = ("import signal, time; signal.signal(signal.SIGINT, lambda *_: (time.sleep(0.5), "
              "print('bye', flush=True), exit(3))); print('ready', flush=True); time.sleep(60)")
    terminal = Terminal(test, "--summary", "--no-pager", "--exit-status", "--", sys.executable, "-c",
                        script)
    terminal.read("ready")
    terminal.press("\x03")
    status = terminal.wait()
    test.eq(status, 3, "one that takes its time ends in its own way")
    test.ok(terminal.shown.index("bye") < terminal.shown.index("VERDICT"),
            "and the report follows", terminal.shown)
    terminal = Terminal(test, "--summary", "--no-pager", "--", "sh", "-c",
                        "trap 'echo interrupted' INT; echo ready; while :; do sleep 0.1; done")
    terminal.read("ready")
    terminal.press("\x03")
    terminal.read("interrupted")
    kdtest.wait_until(lambda: not int(kdtest.status_field(terminal.process.pid, "ShdPnd"), 16))
    terminal.press("\x03")
    test.eq(terminal.wait(), 0, "of one that goes on, the second one ends the sample")
    test.ok("VERDICT" in terminal.shown, "and prints it", terminal.shown)


def case_terminal(test):
    """The command has the terminal just as its shell would hand it over."""
    terminal = Terminal(test, "--quiet", "--", "sh", "-c",
                        "read line; echo got $line; cat /proc/self/stat")
    terminal.press("a line\n")
    test.eq(terminal.wait(), 0, "status 0")
    test.ok("got a line" in terminal.shown, "it can read", terminal.shown)
    fields = re.search(r"\(cat\) (.*)", terminal.shown)[1].split()
    test.ok(fields[2] == fields[5] and fields[4] != "0", "and is in the foreground", fields)


def case_signal_is_passed_on(test):
    """A signal sent only to kernel_delay is passed on to the command."""
    child = test.child([kdtest.PROGRAM, "--quiet", "--exit-status", "--", "sh", "-c",
                        "echo ready; exec sleep 60"])
    child.line("ready")
    child.signal(signal.SIGTERM)
    test.eq(child.wait(), 128 + signal.SIGTERM, "SIGTERM ends the command")


def case_killed_early(test):
    """If kernel_delay dies while the command is held, the command never runs."""
    mark = test.directory() / "mark"
    # It is held until then.
    child = test.child([kdtest.PROGRAM, "--at", "+9s", "--", "sh", "-c", f"echo >{mark}"])
    pid = kdtest.wait_until(lambda: [task for task in pathlib.Path(
        f"/proc/{child.pid}/task/{child.pid}/children").read_text().split()])
    child.signal(signal.SIGKILL)
    child.wait()
    kdtest.wait_until(lambda: not pathlib.Path(f"/proc/{pid[0]}").exists())
    test.ok(not mark.exists(), "the command is gone and has done nothing")


kdtest.main(case_books, case_streams, case_calls, case_as_without_us, case_exit_status, case_cannot_run,
            case_nothing_is_run_in_vain, case_what_it_waited_for, case_children, case_substitutions,
            case_trigger_is_wrong, case_sample_time, case_triggers, case_libraries, case_begins_twice,
            case_library_is_missing, case_stacks, case_keys, case_terminal,
            case_signal_is_passed_on, case_killed_early)
