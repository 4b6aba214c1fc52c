#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""User stacks of programs without call frame information: those in Go, and code generated at run
time. They are compared with the functions that the programs are known to be in."""

import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import time

import kdtest
from kdneeds import need, tool
from kdstacks import WORKLOADS, Capture, parse

MS = 50  # for long enough that their stacks are read beside load, too
OPTIONS = ("-s", "4ms", "-e", "nanosleep,clock_nanosleep,futex", "--stack-trace-size=overhead=0")

# --- Go ---

# Chain -> what is between main.slow() and main.begin(): a function, or a pattern of some.
CHAINS = {
    "plain": ("main.plain",),
    "climbing": (*("main.(*ladder).climb",) * 12, "main.climbing"),
    "sorted": ("main.sorted.func1", re.compile(r"sort\..*"), "main.sorted"),
    "deferred": ("main.deferred.func1", re.compile(r"runtime\..*"), "main.deferred"),
    "fault": ("main.faulting.func1", re.compile(r"runtime\..*"), "main.faulting", "main.fault"),
}
INNER = re.compile(r"(runtime|internal|syscall)[./].*")
STARTER = re.compile(r"main\.main\..*")  # which the compiler makes of a go statement


def fits(functions, wanted):
    """Whether these are the names, in order; a pattern stands for one or more of them."""
    names = list(functions)
    for want in wanted:
        if isinstance(want, str):
            if not names or names.pop(0) != want:
                return False
            continue
        if not names or not want.fullmatch(names[0]):
            return False
        while names and want.fullmatch(names[0]):
            names.pop(0)
    return not names


def go_program(test, name, *flags):
    path = test.directory() / name
    subprocess.run([tool("go"), "build", *flags, "-o", path, WORKLOADS / "goroutines.go"],
                   check=True, env={**os.environ, "GOCACHE": str(kdtest.ROOT / "build" / "go"),
                                    "GO111MODULE": "off", "CGO_ENABLED": "0"})
    return path


def check_go(test, stack, wanted, text):
    functions = [(name or "").removesuffix(".abi0") for name in stack.functions()]
    test.ok(fits(functions, (INNER, "main.slow", *wanted, "main.begin", STARTER, "runtime.goexit")) and
            not stack.stop and not stack.by_frame_pointers, text, stack)


def without_sections(path):
    with open(path, "r+b") as stream:  # e_shoff; e_shentsize, e_shnum, e_shstrndx
        for offset, size in ((40, 8), (58, 6)):
            stream.seek(offset)
            stream.write(bytes(size))
    return path


def case_go(test):
    """Several programs, watched by one run."""
    paths = {"plain": go_program(test, "kdtest-go"),
             "without symbols": go_program(test, "kdtest-go", "-ldflags=-s -w"),
             "mapped anywhere, without symbols": go_program(test, "kdtest-go", "-buildmode=pie",
                                                            "-ldflags=-s -w"),
             "without sections": without_sections(go_program(test, "kdtest-go", "-ldflags=-s -w"))}
    # Its scheduler interrupts what takes long by a signal, also a system call, which then ends early.
    loads = {text: test.workload(str(path), env={**os.environ, "GODEBUG": "asyncpreemptoff=1"})
             for text, path in paths.items()}
    capture = test.start(Capture(",".join(str(load.pid) for load in loads.values()), *OPTIONS))
    for load in loads.values():
        for chain in CHAINS:
            load.send(f"{chain} {MS}")
            load.line("done")
    _, stacks = capture.close(test)
    for text, load in loads.items():
        events = [event for event in stacks.events
                  if event.stack.pid == load.pid and "main.slow" in event.stack.functions()]
        test.eq(len(events), len(CHAINS), f"{text}: the calls are there")
        for (chain, wanted), event in zip(CHAINS.items(), events):
            check_go(test, event.stack, wanted, f"{text}: {chain}")


# --- Code made at run time ---

BEFORE = ["_start", "main", "jit_main"]
NAMES = ("Outermost::main()", "second;of three", "LazyCompile:*third /a b.js:3:9", "fourth")


class Maker:
    """A process that has generated four functions, and what it says about them."""

    def __init__(self, test, **options):
        self.test = test
        self.load = test.workload("jit", **options)
        self.own, self.size, *self.code = map(int, self.load.ready)
        self.pid = self.load.pid

    def root(self):
        return pathlib.Path(f"/proc/{self.pid}/root")

    def map(self):
        path = self.root() / f"tmp/perf-{self.own}.map"
        self.test.stack.callback(path.unlink, missing_ok=True)
        return path

    def lines(self, names=NAMES):
        return "".join(f"{code:x} {self.size:x} {name}\n" for code, name in zip(self.code, names))

    def go(self):
        self.load.send(f"go {MS}")
        self.load.line("done")


def made(stack):
    """The names of the frames except the C library's, outermost first, between jit_main() and
    slow(); otherwise the stack as text."""
    names = [frame.function for frame in reversed(stack.user)
             if frame.object == "jit" or not frame.object]
    return names[3:-1] if names[:3] == BEFORE and names[-1] == "slow" else repr(stack)


def check_all_made(test, *checks):
    """Makers run through their functions while they are watched: all frames are there, under these
    names. Each check: (maker, names, title)."""
    capture = test.start(Capture(",".join(str(maker.pid) for maker, _, _ in checks), *OPTIONS))
    for maker, _, _ in checks:
        maker.go()
    _, stacks = capture.close(test)
    for maker, wanted, text in checks:
        events = [event for event in stacks.of(maker.pid) if event.call.endswith("nanosleep")]
        test.eq([made(event.stack) for event in events], [list(wanted)], text)
        test.ok(all(event.stack.by_frame_pointers and not event.stack.stop for event in events),
                f"{text}: to the outermost frame, by frame pointers", *events[:1])


def check_made(test, maker, wanted, text):
    check_all_made(test, (maker, wanted, text))


def case_perf_map(test):
    maker = Maker(test)
    unknown = (None,) * len(NAMES)
    check_made(test, maker, unknown, "without a file")
    path = maker.map()
    path.write_text("no line\n" + maker.lines() + "1 2 cut off")
    check_made(test, maker, NAMES, "with names")
    # It grows while the process is watched: what was there before has gone.
    capture = test.start(Capture(maker.pid, *OPTIONS))
    maker.go()
    time.sleep(0.3)
    with open(path, "a", encoding="ascii") as stream:
        stream.write(f"\n{maker.code[1]:x} 8 replaced\n{maker.code[1] + 8:x} 100 longer\n")
    maker.go()
    _, stacks = capture.close(test)
    test.eq(made(stacks.events[-1].stack), [NAMES[0], "longer", "longer", "longer"],
            "later lines hold")
    path.write_text(maker.lines(("a", "b", "c", "d")))
    check_made(test, maker, ("a", "b", "c", "d"), "written anew")


def case_hostile_files(test):
    """Unless it is a regular file of the process's user, a file is not opened or not read; tried on
    several processes at once."""
    other = test.directory() / "other"

    def link(path):
        path.symlink_to(other)

    def others(path):
        shutil.copy(other, path)
        os.chown(path, 12345, 12345)

    def garbage(path):
        path.write_bytes(os.urandom(1 << 20) + b"\n" * (1 << 16) + b"f" * (1 << 20))

    def overlapping(path):
        path.write_text("0 ffffffffffffffff all\n" + "".join(
            f"{number * 16:x} 20 f{number}\n" for number in range(200000)))

    def sparse(path):
        path.touch()
        os.truncate(path, 1 << 40)

    ways = (os.mkfifo, link, others, garbage, overlapping, sparse)
    makers, regular = [Maker(test) for _ in ways], Maker(test)
    other.write_text("".join(maker.lines() for maker in makers))
    for maker, make in zip(makers, ways):
        make(maker.map())
    regular.map().write_text(regular.lines())
    check_all_made(test, (regular, NAMES, "a regular file"),
                   *((maker, (None,) * len(NAMES), make.__name__)
                     for maker, make in zip(makers, ways)))


def record(kind, *fields, name=b""):
    body = struct.pack("<II" + "Q" * (len(fields) - 2), *fields) + name
    return struct.pack("<IIQ", kind, 16 + len(body), 0) + body


def case_jitdump(test):
    maker = Maker(test)
    path = test.directory() / "jit-4711.dump"
    load, move = 0, 1
    elsewhere = 0x1000
    path.write_bytes(struct.pack("<IIIIIIQQ", 0x4a695444, 1, 40, 62, 0, maker.own, 0, 0) +
                     b"".join(record(load, 1, 1, 0, code, maker.size, index,
                                     name=name.encode() + b"\0" + b"code" * 10000)
                              for index, (code, name) in enumerate(zip(maker.code, NAMES))) +
                     record(load, 1, 1, 0, elsewhere, maker.size, 9, name=b"moved\0") +
                     record(move, 1, 1, 0, elsewhere, maker.code[3], maker.size, 9) +
                     record(load, 1, 1, 0, maker.code[0], maker.size, 9, name=b"not whole")[:-4])
    maker.load.send(f"map {path}")
    maker.load.line("done")
    check_made(test, maker, (*NAMES[:3], "moved"), "a dump")


def case_namespaces(test):
    """The process has another PID in its namespace, and its own /tmp."""
    need("unshare", "mount")
    # The program itself may lie below /tmp.
    script = 'exec 3<"$1" && mount -t tmpfs none /tmp && exec /proc/self/fd/3 jit'
    maker = Maker(test, wrapper=("unshare", "--pid", "--fork", "--kill-child", "--mount", "sh", "-c",
                                 script, "sh"))
    maker.pid = int(pathlib.Path(f"/proc/{maker.pid}/task/{maker.pid}/children").read_text())
    test.eq(maker.own, 1, "it is the first of its namespace")
    (maker.root() / "tmp/perf-1.map").write_text(maker.lines())
    check_made(test, maker, NAMES, "in its namespaces")


def watched(test, pid, wanted):
    """A process that keeps making calls, in samples that end by themselves: after a signal the
    program waits only a second for the names of functions, which may be too short for a runtime's
    100 MB if others need the CPUs."""
    child = test.capture(pid, *OPTIONS, "--sample-time", "300ms", "--sample-count", "0")
    opened, found = time.monotonic_ns(), []
    while len(found) < 5:
        child.line("# Start sampling")  # the sample before has been printed
        text, samples = parse(child.stdout.rpartition("# Start sampling")[0])
        # Of a call that had begun before, nothing was copied.
        found = [event for sample in samples for event in sample.events
                 if wanted(event) and event.exit and event.entry >= opened]
    child.interrupt(test, "the program ends with status 0")
    test.eq([line for line in text.splitlines() if "user stacks are missing" in line], [],
            "no stack is missing")
    return found


NODE = """
const word = new Int32Array(new SharedArrayBuffer(4));
function slow() { Atomics.wait(word, 0, 0, 12); return 1; }
function middle() { return slow() + 1; }
function outer() { return middle() + 1; }
console.log("ready");
setInterval(outer, 1);
"""


def case_node(test):
    """Functions of a script, which node names when told to."""
    script = test.directory() / "kdtest.js"
    script.write_text(NODE)
    node = test.child([tool("node"), "--perf-basic-prof", "--interpreted-frames-native-stack",
                       "--no-logfile-per-isolate", f"--logfile={script.parent}/log", script])
    test.stack.callback(pathlib.Path(f"/tmp/perf-{node.pid}.map").unlink, missing_ok=True)
    node.line("ready")
    events = watched(test, node.pid, lambda event: event.tid == node.pid and event.call == "futex")
    script_frames = [[match[1] for match in (re.match(r"\S*?:[~*^]?(\w+) \S*kdtest\.js", name or "")
                                             for name in event.stack.functions()) if match]
                     for event in events]
    wrong = [each for each in zip(script_frames, events) if each[0] != ["slow", "middle", "outer"]]
    test.ok(not wrong, f"{len(events)} stacks have the functions", *wrong[:1])
    test.ok(not [event for event in events if event.stack.stop], "they are complete", *events[:1])


JAVA = """
public class Chain {
    static void slow() throws Exception { Thread.sleep(12); }
    static void middle() throws Exception { slow(); }
    static void outer() throws Exception { middle(); }
    public static void main(String[] arguments) throws Exception {
        outer();
        System.out.println("ready");
        while (true)
            outer();
    }
}
"""


def case_java(test):
    """Methods compiled before they ran, each by itself, with frame pointers."""
    directory = test.directory()
    (directory / "Chain.java").write_text(JAVA)
    subprocess.run([tool("javac"), "-d", directory, directory / "Chain.java"], check=True)
    java = test.child([tool("java"), "-XX:+PreserveFramePointer", "-Xcomp",
                       "-XX:CompileCommand=quiet", "-XX:CompileCommand=compileonly,Chain::*",
                       "-XX:CompileCommand=dontinline,Chain::*", "-cp", directory, "Chain"])
    java.line("ready")
    path = pathlib.Path(f"/tmp/perf-{java.pid}.map")
    test.stack.callback(path.unlink, missing_ok=True)
    subprocess.run([tool("jcmd"), str(java.pid), "Compiler.perfmap"], check=False,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if not path.exists():
        raise kdtest.Skip("this Java does not tell where its code is")
    events = watched(test, java.pid, lambda event: event.comm == "java")
    names = [[name for name in event.stack.functions() if "Chain." in (name or "")]
             for event in events]
    test.ok(all([re.search(r"Chain\.(\w+)", name)[1] for name in each] ==
                           ["slow", "middle", "outer", "main"] for each in names),
            f"{len(events)} stacks have the methods", *names[:1], *events[:1])
    test.ok(not [event for event in events if event.stack.stop], "they are complete", *events[:1])


kdtest.main(case_go, case_perf_map, case_hostile_files, case_jitdump, case_namespaces, case_node,
            case_java)
