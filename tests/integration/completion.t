#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Completion in an interactive bash, by the keys that a person presses."""

import contextlib
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import time

import kdtest

SCRIPT = kdtest.ROOT / "cli" / "completion.bash"
TAB, ALL, SHOW, CLEAR = "\t", "\x18*", "\x18s", "\x18c"
SETUP = r"""
set +o history
PS1=
bind 'set enable-bracketed-paste off' 'set bell-style none' 2>/dev/null
bind '"\C-x*": insert-completions'
bind '"\C-xc": kill-whole-line'
bind -x '"\C-xs": printf "\nLINE<%s>\n" "$READLINE_LINE"'
"""


class Shell:
    """A bash on a terminal of its own; what is typed there is completed."""

    def __init__(self, test, before=""):
        self.master, slave = pty.openpty()
        test.stack.callback(os.close, self.master)
        folder = test.directory()
        (folder / "kernel_delay").symlink_to(kdtest.PROGRAM)
        (folder / "rc").write_text(f"{SETUP}{before}\n. {SCRIPT}\necho LINE'<ready>'\n")
        path = f"{folder}:{os.environ['PATH']}"
        test.child(["bash", "--noprofile", "--rcfile", folder / "rc", "-i"], stdin=slave,
                   stdout=slave, stderr=slave, cwd=folder,
                   env={**os.environ, "PATH": path, "TERM": "dumb", "LC_ALL": "C"})
        os.close(slave)
        self.folder = folder
        self.said = ""
        self.line()

    def line(self):
        """What bash has on its command line; self.said is what came before."""
        self.said = ""
        deadline = time.monotonic() + kdtest.PATIENCE
        while time.monotonic() < deadline:
            if select.select([self.master], [], [], 0.1)[0]:
                self.said += os.read(self.master, 65536).decode(errors="replace")
            found = re.search(r"\nLINE<(.*)>\r?\n", self.said, re.DOTALL) or \
                re.search(r"^LINE<(ready)>\r?\n", self.said, re.MULTILINE)
            if found:
                self.said = self.said[:found.start()]
                return found[1].replace("\r\n", "\n")
        raise TimeoutError(f"bash says no more than {self.said!r}")

    def press(self, keys, how):
        os.write(self.master, (keys + how + SHOW).encode())
        line = self.line()
        os.write(self.master, CLEAR.encode())
        return line

    def complete(self, typed):
        """The line after one tab."""
        return self.press("kernel_delay " + typed, TAB)

    def all(self, typed):
        """All words that could stand in the place of the last one."""
        line = self.press("kernel_delay " + typed, ALL)
        return line[len("kernel_delay " + typed.rpartition(" ")[0]):].split()


def long_options():
    said = subprocess.run([kdtest.PROGRAM, "--help"], stdout=subprocess.PIPE, check=True).stdout
    return set(re.findall(r"^ {2,6}(?:-\w, )?(--[a-z][a-z-]+)", said.decode(), re.MULTILINE))


def kernel_threads():
    """PIDs of the threads that are the kernel's own (PF_KTHREAD in their flags)."""
    found = set()
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if int(stat.read_text().rpartition(") ")[2].split()[6]) & 0x200000:
                found.add(stat.parent.name)
    return found


def case_options(test):
    shell = Shell(test)
    test.eq(shell.complete("--sample-c"), "kernel_delay --sample-count ", "one option")
    test.eq(shell.complete("--start-t"), "kernel_delay --start-trigger ", "another one")
    test.eq(shell.complete("--histo"), "kernel_delay --histogram ", "one without a value")
    options = long_options()
    test.ok({"--histogram", "--output", "--listen"} <= options, "--help has them", options)
    test.eq(set(shell.all("--")), options, "all of --help")
    test.eq(shell.complete("--no-such"), "kernel_delay --no-such", "one that there is not")


def case_processes(test):
    shell = Shell(test)
    load = test.workload("roles", "poll")
    pid = str(load.pid)
    test.ok(pid in shell.all("-p " + pid[0]), "-p: the process")
    test.eq(shell.complete("--pid=" + pid), f"kernel_delay --pid={pid} ", "--pid=: the process")
    # "-p " alone: with no word that fits, readline would leave what was typed.
    test.ok(not kernel_threads() & set(shell.all("-p ")), "but no kernel thread")
    path = test.directory() / "kdnone"
    shutil.copy(kdtest.WORKLOADS / "roles", path)
    test.workload(str(path), "poll")
    test.eq(shell.complete("--comm kdno"), "kernel_delay --comm kdnone ", "--comm: its name")


def case_hostile_name(test):
    """The name of a process is no command."""
    shell = Shell(test)
    path = test.directory() / "kdx$(touch\tt)"
    shutil.copy(kdtest.WORKLOADS / "roles", path)
    test.workload(str(path), "poll")
    line = shell.complete("--comm kdx")
    test.ok(line.startswith("kernel_delay --comm kdx\\$\\(touch") or "$'kdx$(touch" in line,
            "it is quoted", line)
    test.ok(not (shell.folder / "t").exists(), "and was not run")


def check_triggers(test, shell, pid):
    def same(typed, want, what):
        test.eq(shell.complete(typed), f"kernel_delay {want}", what)

    same("--start-trigger t:sched:sched_swi", "--start-trigger t:sched:sched_switch ",
         "a tracepoint")
    same("--start-trigger=t:sched:sched_swi", "--start-trigger=t:sched:sched_switch ", "after =")
    same("--stop-trigger trace:raw_sy", "--stop-trigger trace:raw_syscalls:", "a system")
    same("--start-trigger 't:sched:sched_swi", "--start-trigger 't:sched:sched_switch' ",
         "in quotes")
    same("--list-probes=t:sched:sched_swi", "--list-probes=t:sched:sched_switch ",
         "for --list-probes")
    same(f"-p {pid} --stop-trigger u:kdt", f"-p {pid} --stop-trigger u:kdtest:", "a provider")
    same(f"--pid={pid} --stop-trigger u:kdtest:o", f"--pid={pid} --stop-trigger u:kdtest:one ",
         "a probe")
    same(f"-p {pid} --start-trigger up:mai", f"-p {pid} --start-trigger up:main ", "a function")
    same(f"-p{pid} --start-trigger ur:libc.so.6:getpp",
         f"-p{pid} --start-trigger ur:libc.so.6:getppid ", "one of a library")


def case_triggers(test):
    load = test.workload("sdt")
    if not test.program("-p", load.pid, "--list-probes=u:kdtest:*").stdout:
        raise kdtest.Skip("built without <sys/sdt.h>")
    shell = Shell(test)
    test.eq(set(shell.all("--start-trigger k")), {"k:", "kr:", "kprobe:", "kretprobe:"}, "kinds")
    check_triggers(test, shell, load.pid)
    listed = test.program("-p", load.pid, "--list-probes=u:kdtest:*").stdout
    words = {line.split()[0] for line in listed.splitlines() if line.startswith("u:")}
    got = shell.all(f"-p {load.pid} --start-trigger u:kdtest:")
    # Readline begins anew after a colon.
    test.eq({"u:kdtest:" + word.rpartition(":")[2] for word in got}, words,
            "all that --list-probes lists")


def case_colons_break_no_words(test):
    """Some people take the colon out of COMP_WORDBREAKS."""
    load = test.workload("sdt")
    if not test.program("-p", load.pid, "--list-probes=u:kdtest:*").stdout:
        raise kdtest.Skip("built without <sys/sdt.h>")
    check_triggers(test, Shell(test, "COMP_WORDBREAKS=${COMP_WORDBREAKS//:}"), load.pid)
    check_triggers(test, Shell(test, "COMP_WORDBREAKS=${COMP_WORDBREAKS//[:=]}"), load.pid)


def completes(test, shell, *cases):
    """(what is typed, what comes of it, what that is)"""
    for typed, want, what in cases:
        test.eq(shell.complete(typed), f"kernel_delay {want}", what)


def case_calls(test):
    """Names of system calls for -e, of which this kernel's tracepoints tell."""
    if "sys_enter_getppid" not in test.program("-p", 1, "--list-probes=t:syscalls:*").stdout:
        raise kdtest.Skip("this kernel has no tracepoints of system calls")
    shell = Shell(test)
    completes(
        test, shell,
        ("-s -e getppi", "-s -e getppid ", "-e: a call"),
        ("-s --syscall-filter getppi", "-s --syscall-filter getppid ", "--syscall-filter: a call"),
        ("-s --syscall-filter=getppi", "-s --syscall-filter=getppid ", "after ="),
        ("-s -e futex,getppi", "-s -e futex,getppid ", "after a comma"),
        ("-s -e futex,read,getppi", "-s -e futex,read,getppid ", "after another comma"),
        ("-s --syscall-filter=futex,getppi", "-s --syscall-filter=futex,getppid ",
         "after = and a comma"),
        ("-s -e '!getppi", "-s -e '!getppid' ", "after ! in quotes"),
        ("-s -e '!futex,getppi", "-s -e '!futex,getppid' ", "after ! and a comma"),
        ("-s --syscall-filter='!getppi", "-s --syscall-filter='!getppid' ", "after = and !"),
        (r"-s -e \!getppi", r"-s -e \!getppid ", "after ! that is quoted by itself"),
        (r"-s -e \!futex,getppi", r"-s -e \!futex,getppid ", "and a comma"),
        ("-s -e newst", "-s -e newst", "a tracepoint's name that is no call's"),
        ("-s -e sendfil", "-s -e sendfile ", "its call's"),
        ("-s -e no_such", "-s -e no_such", "one that there is not"))
    # The names are those of the calls, as -e takes them.
    names = shell.all("-s -e u")
    test.ok({"umount2", "unlink", "uname"} <= set(names), "all that begin so", names)
    done = test.program("-p", os.getpid(), "-s", "-e", ",".join(names), "--sample-time", "1ms")
    test.eq((done.status, done.stderr), (0, ""), "which are known to -e")


def case_outputs(test):
    """Formats and files for -o."""
    shell = Shell(test)
    (shell.folder / "opened.json").touch()
    (shell.folder / "a file;").touch()
    (shell.folder / "sub").mkdir()
    (shell.folder / "sub" / "deep.txt").touch()
    formats = {"text:", "json:", "openmetrics:", "prometheus:", "folded:"}
    found = set(shell.all("-o "))
    test.ok(formats <= found and {"rc", "sub/"} <= found, "-o: all formats, and files", found)
    completes(
        test, shell,
        ("-o js", "-o json:", "-o: a format"),
        ("--output fol", "--output folded:", "--output: a format"),
        ("--output=prom", "--output=prometheus:", "after ="),
        ("-o openm", "-o openmetrics:", "one that a file is like, but for a letter"),
        ("-o opene", "-o opened.json ", "that file"),
        ("-o json:opene", "-o json:opened.json ", "a format's file"),
        ("--output=json:opene", "--output=json:opened.json ", "after = and a format"),
        ("-o text:su", "-o text:sub/", "a directory"),
        ("-o text:sub/d", "-o text:sub/deep.txt ", "a file in it"),
        (f"-o text:{shell.folder}/opene", f"-o text:{shell.folder}/opened.json ",
         "from the root on"),
        ("-o 'text:opene", "-o 'text:opened.json' ", "in quotes"),
        ("-o 'text:a", "-o 'text:a file;' ", "a hostile name in quotes"),
        ("-o text:a", r"-o text:a\ file\; ", "and quoted by itself"),
        ("-o json:js", "-o json:js", "after a format there is no other"))
    test.eq(set(shell.all("-o text:")) & formats, set(), "nor in the list")


def case_silent(test):
    shell = Shell(test)
    for typed in ("-p 999999999 --start-trigger up:x", "--start-trigger x:y",
                  "--start-trigger t:*", "-p '$(false) --start-trigger u:x", "stray", "'"):
        line = shell.complete(typed)
        test.eq(line, f"kernel_delay {typed}", f"nothing for {typed}")
        test.ok(not re.search(r"kernel_delay:|bash:|error", shell.said), "and no words",
                shell.said)


kdtest.main(case_options, case_processes, case_hostile_name, case_triggers,
            case_colons_break_no_words, case_calls, case_outputs, case_silent)
