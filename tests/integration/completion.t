#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Completion in interactive shells, with the keys that a person presses."""

import contextlib
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import time

import kdneeds
import kdtest

SCRIPTS = kdtest.ROOT / "cli" / "completion"
TAB, ALL, SHOW, CLEAR = "\t", "\x18*", "\x18s", "\x18c"
SETUP = r"""
set +o history
PS1=
bind 'set enable-bracketed-paste off' 'set bell-style none' 2>/dev/null
bind '"\C-x*": insert-completions'
bind '"\C-xc": kill-whole-line'
bind -x '"\C-xs": printf "\nLINE<%s>\n" "$READLINE_LINE"'
"""
ZSH_SETUP = r"""
PS1= RPS1= PROMPT_EOL_MARK=
unset zle_bracketed_paste
unsetopt beep autolist automenu
autoload -Uz compinit && compinit -u -D
show() { print -r -- $'\n'"LINE<$BUFFER>" }
zle -N show
bindkey '^Xs' show '^Xc' kill-whole-line
echo 'LINE<ready>'
"""

FISH_SETUP = r"""
function fish_prompt; end
set -g fish_greeting
set -g fish_autosuggestion_enabled 0
bind \cxs 'printf "\nLINE<%s>\n" (commandline | string collect)'
bind \cxc 'commandline ""'
function ready --on-event fish_prompt
    functions -e ready
    printf 'LINE<%s>\n' ready
end
"""


class Shell:
    """A bash on a terminal of its own, whose completion is tested."""

    def __init__(self, test, before=""):
        self.master, slave = pty.openpty()
        test.stack.callback(os.close, self.master)
        folder = test.directory()
        (folder / "kernel_delay").symlink_to(kdtest.PROGRAM)
        path = f"{folder}:{os.environ['PATH']}"
        test.child(self.command(folder, before), stdin=slave, stdout=slave, stderr=slave,
                   cwd=folder, env={**os.environ, "PATH": path, "TERM": "dumb", "LC_ALL": "C",
                                    "ZDOTDIR": str(folder)})
        os.close(slave)
        self.folder = folder
        self.said = ""
        self.line()

    def command(self, folder, before):
        (folder / "rc").write_text(f"{SETUP}{before}\n. {SCRIPTS}/kernel_delay.bash\n"
                                   "echo LINE'<ready>'\n")
        return ["bash", "--noprofile", "--rcfile", folder / "rc", "-i"]

    def line(self):
        """The shell's command line; self.said is what it printed before."""
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
        raise TimeoutError(f"the shell says no more than {self.said!r}")

    def press(self, keys, how):
        os.write(self.master, (keys + how + SHOW).encode())
        line = self.line()
        os.write(self.master, CLEAR.encode())
        return line

    def complete(self, typed):
        """The line after one tab."""
        return self.press("kernel_delay " + typed, TAB)

    def all(self, typed):
        """All candidates for the last word."""
        line = self.press("kernel_delay " + typed, ALL)
        return line[len("kernel_delay " + typed.rpartition(" ")[0]):].split()


class Zsh(Shell):
    """The same for zsh."""

    def command(self, folder, before):
        (folder / ".zshrc").write_text(f"fpath=({SCRIPTS} $fpath)\n{ZSH_SETUP}{before}")
        return ["zsh", "-i"]


class Fish(Shell):
    """The same for fish."""

    def command(self, folder, before):
        (folder / "rc").write_text(f"source {SCRIPTS}/kernel_delay.fish\n{FISH_SETUP}{before}")
        # It wants a terminal that is its own.
        return ["setsid", "--ctty", "--wait", "fish", "--no-config", "-i", "-C", f"source {folder}/rc"]


def long_options():
    said = subprocess.run([kdtest.PROGRAM, "--help=all"], stdout=subprocess.PIPE, check=True).stdout
    return set(re.findall(r"^ {2,6}(?:-\w, )?(--[a-z][a-z-]+)", said.decode(), re.MULTILINE))


def listed_formats():
    said = subprocess.run([kdtest.PROGRAM, "--help=output"], stdout=subprocess.PIPE, check=True).stdout
    return {f"{name}:" for name in re.findall(r"^  ([a-z]+) {2,}\S", said.decode(), re.MULTILINE)}


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
    test.eq(shell.complete("@/etc/hostn"), "kernel_delay @/etc/hostname ", "a file of options")
    test.eq(shell.complete("-- /etc/hostn"), "kernel_delay -- /etc/hostname ",
            "files behind --, for a command")


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
    test.workload(path, "roles", "poll")
    alone = test.directory() / "kdx one"
    shutil.copy(kdtest.WORKLOADS / "roles", alone)
    test.workload(alone, "roles", "poll")
    completes(
        test, shell,
        ("--comm kdno", "--comm kdnone ", "--comm: its name"),
        ("-C kdno", "-C kdnone ", "-C: its name"),
        ("kdno", "kdnone ", "its name alone"),
        ("kdx", r"kdx\ one ", "a name with a blank"),
        (pid, f"{pid} ", "its PID alone"),
        ("--strict kdno", "--strict kdnone ", "after an option without a value"),
        ("-s kdno", "-s kdnone ", "after one that need not have one"),
        ("-s 5ms kdno", "-s 5ms kdnone ", "or has one"),
        ("--sample-time 1 kdno", "--sample-time 1 kdnone ", "after a value"),
        ("--list-probes kdno", "--list-probes kdnone ", "whose probes are to be listed"),
        ("--sample-time kdno", "--sample-time kdno", "but not as a value"),
        ("-p 1 kdno", "-p 1 kdno", "nor when there is a process"),
        ("vpp kdno", "vpp kdno", "of whatever form"),
        ("kdnone --start-trigger up:mai", "kdnone --start-trigger up:main ",
         "its functions"),
        ("-C kdnone --start-trigger up:mai", "-C kdnone --start-trigger up:main ",
         "those of -C"),
        (f"--strict {pid} --stop-trigger up:mai", f"--strict {pid} --stop-trigger up:main ",
         "those of a PID alone"))


def case_hostile_name(test):
    """A process name with hostile characters is never run as a command."""
    shell = Shell(test)
    path = test.directory() / "kdx$(touch\tt)"
    shutil.copy(kdtest.WORKLOADS / "roles", path)
    test.workload(path, "roles", "poll")
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
    """Completion also works for people who remove the colon from COMP_WORDBREAKS."""
    load = test.workload("sdt")
    if not test.program("-p", load.pid, "--list-probes=u:kdtest:*").stdout:
        raise kdtest.Skip("built without <sys/sdt.h>")
    check_triggers(test, Shell(test, "COMP_WORDBREAKS=${COMP_WORDBREAKS//:}"), load.pid)
    check_triggers(test, Shell(test, "COMP_WORDBREAKS=${COMP_WORDBREAKS//[:=]}"), load.pid)


def completes(test, shell, *cases):
    """Each case: (what is typed, the completed line, title)."""
    for typed, want, what in cases:
        test.eq(shell.complete(typed), f"kernel_delay {want}", what)


def case_calls(test):
    """Names of system calls for -e, as this kernel's tracepoints list them."""
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
    formats = listed_formats()
    found = set(shell.all("-o "))
    test.ok(len(formats) > 7, "--help lists formats", formats)
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


def case_conditions(test):
    """What conditions of --fail-if can be about."""
    shell = Shell(test)
    fields = {"ready": "count total max p50 p90 p99 p99_9 pct", "blocked": "total pct",
              "long_poll": "count total max", "hardirq": "count total max pct"}
    for metric, names in fields.items():
        test.eq(shell.all(f"--fail-if {metric}."), sorted(f"{metric}.{n}" for n in names.split()),
                f"{metric}: its fields")
    completes(
        test, shell,
        ("--fail-if migr", "--fail-if migrations", "one without fields"),
        ("--fail-if=syscall.p99_", "--fail-if=syscall.p99_9", "after ="),
        ("--fail-if no_such", "--fail-if no_such", "one that there is not"),
        ("--fail-if softirq.net_r", "--fail-if softirq.net_rx.", "a softirq"),
        ("--fail-if softirq.net_rx.p", "--fail-if softirq.net_rx.pct", "its field"),
        ("--fail-if=syscall.getppi", "--fail-if=syscall.getppid.", "a call"),
        ("--fail-if syscall.getppid.p99_", "--fail-if syscall.getppid.p99_9", "its field"),
        ("--fail-if hardirq.eth0-rx.ma", "--fail-if hardirq.eth0-rx.max", "of a hard interrupt"),
        ("--fail-if 'thread(a*).softirq.bl", "--fail-if 'thread(a*).softirq.block.'", "of threads"))
    test.eq(shell.all("--fail-if softirq.n"), ["softirq.net_rx.", "softirq.net_tx."], "softirqs")
    test.eq(set(shell.all("--fail-if syscall.")), {f"syscall.{field}" for field in
            fields["ready"].split()}, "no calls before there is a letter")
    offered = set(shell.all("--fail-if "))
    test.ok(len(offered) > 50, "there are many", sorted(offered))
    page = (kdtest.ROOT / "man" / "kernel_delay.8").read_text()
    for name in sorted({re.split(r"[.\\]", name)[0] for name in offered}):
        test.ok(name in page, f"{name}: the manual page has it")


def case_silent(test):
    shell = Shell(test)
    for typed in ("-p 999999999 --start-trigger up:x", "--start-trigger x:y",
                  "--start-trigger t:*", "-p '$(false) --start-trigger u:x", "stray", "'"):
        line = shell.complete(typed)
        test.eq(line, f"kernel_delay {typed}", f"nothing for {typed}")
        test.ok(not re.search(r"kernel_delay:|bash:|error", shell.said), "and no words",
                shell.said)


def case_zsh(test):
    kdneeds.need("zsh")
    load = test.workload("sdt")
    shell = Zsh(test)
    (shell.folder / "opened.json").touch()
    (shell.folder / "a file;").touch()
    (shell.folder / "sub").mkdir()
    path = test.directory() / "kdx$(touch t)"
    shutil.copy(kdtest.WORKLOADS / "roles", path)
    test.workload(path, "roles", "poll")
    completes(
        test, shell,
        ("--sample-c", "--sample-count ", "an option"),
        ("--no-such", "--no-such", "one that there is not"),
        (f"--pid={load.pid}", f"--pid={load.pid} ", "a process"),
        (f"-p {load.pid} --start-trigger up:mai", f"-p {load.pid} --start-trigger up:main ",
         "a function of it"),
        ("--start-trigger t:sched:sched_swi", "--start-trigger t:sched:sched_switch ",
         "a tracepoint"),
        ("--stop-trigger=trace:raw_sy", "--stop-trigger=trace:raw_syscalls:", "a system"),
        ("-s -e futex,getppi", "-s -e futex,getppid ", "a call"),
        ("-s -e '!getppi", "-s -e '!getppid' ", "after ! in quotes"),
        ("-o js", "-o json:", "a format"),
        ("-o json:ope", "-o json:opened.json ", "its file"),
        ("--output=text:a", r"--output=text:a\ file\; ", "a hostile one"),
        ("--output=text:su", "--output=text:sub/", "a directory"),
        ("--replay op", "--replay opened.json ", "a file to read"),
        ("@ope", "@opened.json ", "a file of options"),
        ("--fail-if ready.p99_", "--fail-if ready.p99_9", "a condition"),
        ("--fail-if=hard", "--fail-if=hardirq.", "the beginning of several"),
        ("-C kdx", r"-C kdx\$\(touch\ t\) ", "a hostile name"))
    test.ok(not (shell.folder / "t").exists(), "which was not run")


def fish_words(test, typed):
    """What fish would offer for the last word."""
    folder = test.directory()
    (folder / "kernel_delay").symlink_to(kdtest.PROGRAM)
    (folder / "opened.json").touch()
    done = subprocess.run(
        ["fish", "-N", "-c", f"source {SCRIPTS}/kernel_delay.fish; complete -C $argv[1]",
         "kernel_delay " + typed], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        check=True, text=True, timeout=kdtest.PATIENCE,
        env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "HOME": str(folder)})
    return sorted(line.partition("\t")[0] for line in done.stdout.splitlines())


def case_fish(test):
    kdneeds.need("fish")
    load = test.workload("sdt")
    for typed, want in (
            ("--sample-c", ["--sample-count"]), ("--no-such", []),
            (f"-p {load.pid}", [str(load.pid)]),
            (f"-p {load.pid} --start-trigger up:mai", ["up:main"]),
            ("--start-trigger t:sched:sched_swi", ["t:sched:sched_switch"]),
            ("--start-trigger=k", [f"--start-trigger={kind}:"
                                   for kind in ("k", "kprobe", "kr", "kretprobe")]),
            ("-s -e '!getppi", ["!getppid"]), ("-s -e futex,getppi", ["futex,getppid"]),
            ("-o ", sorted(listed_formats() | {"kernel_delay", "opened.json"})),
            ("-o json:op", ["json:opened.json"]), ("--replay=op", ["--replay=opened.json"]),
            ("@op", ["@opened.json"]),
            ("--fail-if ready.", [f"ready.{field}>=" for field in
                                  "count max p50 p90 p99 p99_9 pct total".split()]),
            ("--fail-if thread", ["thread(*).", "threads>="])):
        test.eq(fish_words(test, typed), want, f"all for {typed}")
    test.eq(set(fish_words(test, "--")), long_options(), "all options")
    completes(
        test, Fish(test),
        ("--sample-c", "--sample-count ", "a space behind a word"),
        ("-o js", "-o json:", "none behind a part"),
        ("--fail-if ready.ma", r"--fail-if ready.max\>=", "none behind a condition"),
        ("--fail-if 'ready.ma", "--fail-if 'ready.max>=", "nor in quotes"),
        ("--fail-if=softirq.net_r", "--fail-if=softirq.net_rx.", "nor behind a name"))


kdtest.main(case_options, case_processes, case_hostile_name, case_triggers,
            case_colons_break_no_words, case_calls, case_outputs, case_zsh, case_fish,
            case_conditions,
            case_silent)
