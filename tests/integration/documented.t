#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tests/run: long
"""Each command line of kernel_delay in the manual pages, README.rst, examples and --help does what
it is there for: on Open vSwitch, Redis and PostgreSQL as installed here, and on a stand-in for
programs with functions and probes that those lack."""

import concurrent.futures
import functools
import itertools
import os
import pathlib
import re
import subprocess

import kddocuments
import kdneeds
import kdprocesses
import kdservers
import kdtest
from kdterminal import Terminal

AT_ONCE = 4
# Functions of the program and of the libraries that the stand-in has; each takes some ms.
FUNCTIONS = ("bridge_run", "connect_peer", "handle_request", "probed_call", "relay_round")
OF_LIBRARIES = ("vlib_worker_thread_barrier_sync_int", "vlib_worker_thread_barrier_release",
                "ip4_lookup_node_fn", "pg_input")
LIBRARIES = ("libvlib.so", "libvnet.so", "libvnet_test.so")
STAND_IN = """
#include <dlfcn.h>
#include <poll.h>
#include <sys/sdt.h>
#include <unistd.h>
#define FUNCTION(name) __attribute__((noinline)) int name(void *fields) { return usleep(fields ? 2000 : 0); }
FUNCTIONS
#ifndef LIBRARY
int main(int argc, char **argv)
{
	char fields[32] = { 0 };
	for (;;) {
		poll(NULL, 0, 0);
		PROBE(udpif_revalidator, start_dump);
		CALLS
		PROBE(udpif_revalidator, sweep_done);
		for (int i = 1; i < argc; i++) {
			const char *names[] = { NAMES };
			void *library = dlopen(argv[i], RTLD_NOW);
			for (unsigned j = 0; j < sizeof(names) / sizeof(*names); j++)
				((int (*)(void *))dlsym(library, names[j]))(fields);
		}
	}
}
#endif
""".replace("PROBE", "DTRACE_PROBE")
# Here they need not happen: a probe is missed, a condition is not true, a run is not slow.
SELDOM = re.compile(r"^--(trigger-delta|long-poll|record-on)\b| if |lock__wait")
# What is no error.
TOLD = re.compile(r"kernel_delay: (recording; kill -USR1 |armed @|serving metrics at |warning: (this machine cannot count|"
                  r"the sample begins .* this program was held up|[^:]+: there is no stack in it)|the sample begins in |"
                  r"[^:]+: ([\d,]+ (stack|row)s? of )?[\d,]+ samples?$)")
# What the kernel may lack, as the program says it.
LACKS = re.compile(r"kernel_delay: (t:openvswitch:ovs_dp_upcall: the kernel has no tracepoints in openvswitch|"
                   r"warning: nothing matches t:openvswitch:.*|"
                   r"option --listen: .*not built in.*|"
                   r"k:ovs_dp_process_packet: (this kernel has no probes on its functions|"
                   r"the kernel has no function .*))$", re.MULTILINE)
SHORT = {"--sample-time": "50ms", "--sample-interval": "50ms", "--at": "/1s"}
TOO_SHORT = "was over before a sample could begin"  # on a busy machine
TRIES = ("500ms", "2s", "8s", "30s")  # --duration, where what has to happen did not


@functools.cache
def options():
    """Options whose value may be the next word."""
    said = subprocess.run([kdtest.PROGRAM, "--help=all"], stdout=subprocess.PIPE, text=True, check=True)
    pairs = re.findall(r"^ +(?:(-\w), +)?(--[\w-]+)=", said.stdout, re.MULTILINE)
    return {name for pair in pairs for name in pair if name} | {"--trigger-delta"}


def stand_in(test):
    """A process called vpp that has all the functions and probes not installed here; returns (PID,
    address of bridge_run, folder)."""
    folder = test.directory()

    def build(path, names, *more):
        text = STAND_IN.replace("FUNCTIONS", "".join(f"FUNCTION({name})\n" for name in names))
        text = text.replace("CALLS", "".join(f"{name}(fields);\n" for name in names))
        text = text.replace("NAMES", ", ".join(f'"{name}"' for name in OF_LIBRARIES))
        (folder / "source.c").write_text(text)
        done = subprocess.run([kdneeds.tool("cc"), "-O1", folder / "source.c", "-o", path, *more, "-ldl"],
                              stderr=subprocess.PIPE, text=True, check=False)
        if "sys/sdt.h" in done.stderr:
            raise kdtest.Skip("there is no <sys/sdt.h>")
        done.check_returncode()
    for name in LIBRARIES:
        build(folder / name, OF_LIBRARIES, "-shared", "-fPIC", "-DLIBRARY", f"-Wl,-soname,{name}")
    build(folder / "vpp", FUNCTIONS)
    child = test.child([folder / "vpp", *(folder / name for name in LIBRARIES)])
    symbols = subprocess.run([kdneeds.tool("nm"), folder / "vpp"], stdout=subprocess.PIPE, text=True,
                             check=True).stdout
    kdtest.wait_until(lambda: all(name in pathlib.Path(f"/proc/{child.pid}/maps").read_text()
                                  for name in LIBRARIES))
    address = re.search(r"^(\w+) T bridge_run$", symbols, re.MULTILINE)[1]
    return child.pid, hex(int(address, 16)), folder


def database(test):
    base = kdservers.start(test, kdservers.Postgres())
    base.client.send("select 1 \\watch 0.01")
    return base.pid


def contained(test):
    """A container: its name, its group's path and the PID of its first process."""
    name = f"kdt-c{os.getpid()}"
    mount = next(iter(kdprocesses.hierarchies().values()))
    place = mount / "docker" / kdprocesses.container(test, name)
    shell = kdprocesses.contained(test, test.stack.enter_context(kdprocesses.group(place)))
    return name, place, kdprocesses.children_of(shell.pid)[0]


class Documents:
    """The processes that the command lines run on, and what has to be replaced in these lines."""

    def __init__(self, test):
        self.test = test
        begins = {"redis": lambda: kdservers.start(test, kdservers.Redis()).pid,
                  "ovs": lambda: kdservers.start(test, kdservers.DummySwitch()).pid,
                  "postgres": lambda: database(test), "stand-in": lambda: stand_in(test),
                  "container": lambda: contained(test)}
        with concurrent.futures.ThreadPoolExecutor(len(begins)) as pool:
            self.there = dict(zip(begins, pool.map(self.begun, begins.values())))
        self.capture = test.directory() / "capture.json"
        done = test.program("-p", self.pid("redis"), "--sample-time", SHORT["--sample-time"], "--sample-count", 10,
                            "--resources", "-o", f"json:{self.capture}")
        test.eq(done.status, 0, "there is a capture to replay")

    @staticmethod
    def begun(begin):
        try:
            return begin()
        except kdtest.Skip as why:
            return why

    def part(self, kind):
        found = self.there[kind]
        if isinstance(found, kdtest.Skip):
            raise found
        return found

    def pid(self, kind):
        found = self.part(kind)
        return str(found[0] if isinstance(found, tuple) else found)

    def kind(self, args, shown):
        """Which process a command line is about."""
        text = " ".join(args)
        if any("ovs-vswitchd has no" in line for line in shown):
            return "ovs"
        if "postgres" in text:
            return "postgres"
        if any(name in text for name in (*FUNCTIONS, "vpp", "vlib_", "udpif_", "ip4_", "pg_input", "up:0x")):
            return "stand-in"
        named = re.search(r"redis|-p|-C|\b\d{4,}\b", text) and "ovs-" not in text
        return "redis" if named else "ovs"

    def file(self, folder, value, given=False):
        """A file below the folder that one run has to itself."""
        path = folder / value.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        if given and not path.exists():
            os.link(self.capture, path)
        return str(path)

    def value(self, name, value, folder, duration, pid):
        """The value of an option, adapted to this machine."""
        namespace = f",ns={self.part('container')[2]}" if ",ns=" in value else ""
        if name == "-p" and namespace:
            return f"1{namespace}"
        if name == "-p" and value != "1" or name == "--pid":
            return pid
        if name == "--tid":
            tids = [tid for tid in map(str, kdtest.threads_of(int(pid))) if tid != pid]
            return ",".join(tids[:len(value.split(","))])
        if name in ("--container", "--cgroup"):
            return str(self.part("container")[name == "--cgroup"])
        if name == "--pidfile":
            path = folder / "pid"
            path.write_text("1\n")
            return f"/proc/{self.part('container')[2]}/root{path}{namespace}"
        if name == "--sample-count":
            return value if value in map(str, range(1, 11)) else "2"
        if name == "--listen":
            return str(kdtest.free_port())
        if name == "-o" or name == "--output":
            kind, colon, path = value.rpartition(":")
            return f"{kind}{colon}{self.file(folder, path)}" if colon or "." in path else value
        if name in ("--replay", "--compare"):
            return self.file(folder, value, given=True)
        if name.endswith("-trigger"):
            value = re.sub(r":/\S*/", lambda _: f":{self.part('stand-in')[2]}/", value)
            return re.sub(r"\b0x[0-9a-f]+", lambda _: self.part("stand-in")[1], value)
        return duration if name == "--duration" else SHORT.get(name, value)

    def replaced(self, args, folder, duration, pid):
        """The same arguments with processes, files and times that exist here."""
        made, left = [], list(args)
        while left:
            word = left.pop(0)
            name, equal, value = word.partition("=")
            if word == "--":
                return made + [word, *self.command(left, folder)]
            if word.startswith("@"):
                path = folder / word[1:].rpartition("/")[2]
                lines = [line for line in kddocuments.options_files()[path.name] if line[:1] == "-"]
                words = self.replaced(" ".join(lines).split(), folder, duration, pid)
                path.write_text("".join(re.sub("^-", "\n-", f"{word} ") for word in words) + "\n")
                made.append(f"@{path}")
            elif word in ("-C", "--comm"):
                value = left.pop(0)
                made += [word, value] if "--all" in args else ["-p", pid]
            elif re.fullmatch(r"[a-z][\w-]+|\d+", word):
                made.append(pid)
            elif equal or word in options():
                value = self.value(name, value if equal else left.pop(0), folder, duration, pid)
                made += [f"{name}={value}"] if equal else [word, value]
            else:
                made.append(word)
        return made

    def command(self, words, folder):
        """The command that a command line starts, with its files, and with a user that exists."""
        (folder / "Makefile").write_text("all:\n")
        subprocess.run([kdneeds.tool("tar"), "cf", folder / "archive.tar", "-C", folder, "Makefile"], check=True)
        return [word.replace("alice", "daemon") for word in words]

    def full(self, args, folder, duration, shown):
        """The same arguments replaced, with a process and an end added where they give none."""
        pid = self.pid(self.kind(args, shown))
        made = self.replaced(args, folder, duration, pid)
        if "--compare" in args and "--sample-time" not in args:  # as in the capture
            made = ["--sample-time", SHORT["--sample-time"], *made]
        own = {arg.split("=")[0] for arg in made[:made.index("--") if "--" in made else None]}
        if not own & {"-p", "--pid", "--all", "--pidfile", "--cgroup", "--container", "--replay",
                      "--list-metrics", "--machine"} and "--" not in made and pid not in made:
            made = ["-p", pid, *made]
        given = [args[at + 1] for at, arg in enumerate(args) if arg in ("-p",) and args[at + 1] != "1"]
        for number in given:  # in conditions, too
            made = [re.sub(rf"\b{number}\b", pid, arg) for arg in made]
        if any(map(SELDOM.search, args)) and not own & {"--duration", "--check", "--list-probes"}:
            made = ["--duration", duration, *made]
        return made


def same(line):
    return re.sub(r"\d+", "N", line)


def features(args):
    """Each option, trigger and other word of a command line, and each pair of these, except for the
    process, files, and how long or how much is shown."""
    text = re.sub(r"(-C |--comm |-p |^|(?<= ))([a-z]\S+-(server|vswitchd)|vpp_main|logcat|python3|\d{4,})(?= |$)",
                  "", " ".join(args))
    text = re.sub(r"--(sample-(time|count|interval)|duration|full|summary|quiet)\b[= ]?\S*", "", text)
    text = re.sub(r"(?<![\w.])\d[\d.]*(ns|us|ms|s|min)?\b", "N", text)
    words = set(re.sub(r":\S*\.\w+", "", text).split())
    return words | set(map(frozenset, itertools.combinations(words, 2)))


def to_run(commands):
    """The command lines with a feature that no earlier one has, and those that take no sample,
    which are cheap. They are sorted by falling number of features, so that few are needed."""
    seen, found = set(), []
    for command in sorted(commands, key=lambda command: -len(features(command[2]))):
        new = features(command[2]) - seen
        if new or re.search("--(check|list-|machine|replay)", " ".join(command[2])):
            found.append(command)
        seen |= new
    return found


def run(documents, line, args, shown):
    """Runs one command line until it has done what it should. Returns (arguments, status, output)."""
    wrapper = re.match(r"unshare .*?(?=kernel_delay)", line)
    for duration in TRIES:
        folder = documents.test.directory()
        words = documents.full(args, folder, duration, shown)
        if "--live" in words:
            view = Terminal(documents.test, *words)
            view.read("window")
            view.press("q")
            return words, view.wait(), ""
        done = subprocess.run([*(wrapper[0].split() if wrapper else ()), kdtest.PROGRAM, *words],
                              cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode != 75 or (any(map(SELDOM.search, args)) and TOO_SHORT not in done.stderr):
            break
    return words, done.returncode, done.stderr


def check(test, name, line, ran, args, shown):
    words, status, said = ran
    what = f"{name}: {line}"
    lacks = LACKS.search(said)
    if lacks:
        test.skip(what, lacks[0])
        return
    told = {same(each) for each in said.splitlines()
            if each.startswith("kernel_delay: ") and not TOLD.match(each)}
    errors = {same(each) for each in shown} & told
    good = {0}
    if any(arg.startswith("--fail-if") for arg in args):
        good.add(4)
    if any(map(SELDOM.search, args)) or errors:
        good.add(75)
    if errors:
        good |= {77, 78}
    why = {4: "kernel_delay: --fail-if ", 75: "kernel_delay: no sample: "}.get(status, "?")
    told = {each for each in told - errors if not each.startswith(why)}
    test.ok(status in good and not told, what, f"status {status}", words, said)


def read_only(test, name, line, args):
    """With a condition that does not exist the whole line is parsed and checked, but nothing runs."""
    done = test.program("--fail-if", "kdtest_none>0", *args, cwd=kddocuments.EXAMPLES)
    lacks = LACKS.search(done.stderr)
    if lacks:
        test.skip(f"{name}: {line}", lacks[0])
    else:
        test.ok("kdtest_none" in done.stderr, f"{name}: is understood: {line}", done.stderr)


def case_documents(test):
    commands = list(kddocuments.commands())
    test.ok(len(commands) > 140, "command lines are found", len(commands))
    test.eq({path.name for path in kddocuments.EXAMPLES.glob("*.rst")} - {"README.rst"} -
            {name.rpartition("/")[2] for name, *_ in commands}, set(), "in each example")
    documents, chosen = Documents(test), to_run(commands)

    def one(command):
        try:
            return run(documents, *command[1:])
        except kdtest.Skip as why:
            return why
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        results = list(pool.map(one, chosen))
    for (name, line, args, shown), ran in zip(chosen, results):
        if isinstance(ran, kdtest.Skip):
            test.skip(f"{name}: {line}", str(ran))
        else:
            check(test, name, line, ran, args, shown)
    for command in commands:
        if command not in chosen:
            read_only(test, *command[:3])


kdtest.main(case_documents)
