#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""User stacks of programs that have no call frame information: those in Go, and code that is
made at run time. They are compared with the functions that the programs are known to be in."""

import os
import pathlib
import re
import struct
import subprocess
import time

import kdtest
from kdneeds import need, tool
from kdstacks import WORKLOADS, Capture

MS = 12
OPTIONS = ("-s", "4ms", "-e", "nanosleep,clock_nanosleep,futex", "--stack-overhead", "0")

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
    """Whether the names are those, in order; a pattern is for one or more of them."""
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


def check_go(test, path, text):
    # Its scheduler interrupts what takes long by a signal, also a system call, which then ends early.
    load = test.workload(str(path), env={**os.environ, "GODEBUG": "asyncpreemptoff=1"})
    capture = test.start(Capture(load.pid, *OPTIONS))
    for chain in CHAINS:
        load.send(f"{chain} {MS}")
        load.line("done")
    _, stacks = capture.close(test)
    events = [event for event in stacks.events if "main.slow" in event.stack.functions()]
    test.eq(len(events), len(CHAINS), f"{text}: the calls are there")
    for (chain, wanted), event in zip(CHAINS.items(), events):
        functions = [(name or "").removesuffix(".abi0") for name in event.stack.functions()]
        stack = event.stack
        test.ok(fits(functions, (INNER, "main.slow", *wanted, "main.begin", STARTER,
                             "runtime.goexit")) and
                not stack.stop and not stack.by_frame_pointers, f"{text}: {chain}", stack)


def case_go(test):
    check_go(test, go_program(test, "kdtest-go"), "plain")
    check_go(test, go_program(test, "kdtest-go", "-ldflags=-s -w"), "without symbols")
    check_go(test, go_program(test, "kdtest-go", "-buildmode=pie", "-ldflags=-s -w"),
             "mapped anywhere, without symbols")
    path = go_program(test, "kdtest-go", "-ldflags=-s -w")
    with open(path, "r+b") as stream:  # e_shoff; e_shentsize, e_shnum, e_shstrndx
        for offset, size in ((40, 8), (58, 6)):
            stream.seek(offset)
            stream.write(bytes(size))
    check_go(test, path, "without sections")


# --- Code made at run time ---

NAMES = ("Outermost::main()", "second;of three", "LazyCompile:*third /a b.js:3:9", "fourth")


class Maker:
    """A process that has made four functions, and what it says of them."""

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
    """The names of frames but the C library's, outermost first, between main() and slow(); None:
    it has none."""
    names = [frame.function for frame in reversed(stack.user)
             if frame.object == "jit" or not frame.object]
    return names[2:-1] if names[:2] == ["_start", "main"] and names[-1] == "slow" else repr(stack)


def check_made(test, maker, wanted, text, *options):
    """Goes through the functions while they are watched: they are all there, by these names."""
    capture = test.start(Capture(maker.pid, *OPTIONS, *options))
    maker.go()
    _, stacks = capture.close(test)
    events = [event for event in stacks.events if event.call.endswith("nanosleep")]
    test.eq([made(event.stack) for event in events], [list(wanted)], text)
    test.ok(all(event.stack.by_frame_pointers and not event.stack.stop for event in events),
            f"{text}: to the outermost frame, by frame pointers", *events[:1])


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
    """What is no regular file of the process's user is not opened, or not read."""
    maker = Maker(test)
    unknown, path = (None,) * len(NAMES), maker.map()
    other = test.directory() / "other"
    other.write_text(maker.lines())

    def link():
        path.symlink_to(other)

    def others():
        path.write_text(maker.lines())
        os.chown(path, 12345, 12345)

    def garbage():
        path.write_bytes(os.urandom(1 << 20) + b"\n" * (1 << 16) + b"f" * (1 << 20))

    def overlapping():
        path.write_text("0 ffffffffffffffff all\n" + "".join(
            f"{number * 16:x} 20 f{number}\n" for number in range(200000)))

    def sparse():
        path.touch()
        os.truncate(path, 1 << 40)

    for make, wanted in ((lambda: os.mkfifo(path), unknown), (link, unknown), (others, unknown),
                         (garbage, unknown), (overlapping, unknown), (sparse, unknown)):
        make()
        check_made(test, maker, wanted, getattr(make, "__name__", "").replace("<lambda>", "pipe"))
        path.unlink()


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
    """The process has another PID, and a /tmp of its own."""
    need("unshare", "mount")
    # The program itself may lie below /tmp.
    script = 'exec 3<"$1" && mount -t tmpfs none /tmp && exec /proc/self/fd/3'
    maker = Maker(test, wrapper=("unshare", "--pid", "--fork", "--kill-child", "--mount", "sh", "-c",
                                 script, "sh"))
    maker.pid = int(pathlib.Path(f"/proc/{maker.pid}/task/{maker.pid}/children").read_text())
    test.eq(maker.own, 1, "it is the first of its namespace")
    (maker.root() / "tmp/perf-1.map").write_text(maker.lines())
    check_made(test, maker, NAMES, "in its namespaces")


def until_called(pid, name):
    """Waits until threads of this name have slept and gone on often enough to have been seen."""
    def turns():
        return sum(kdtest.turns(pid, tid) for tid in kdtest.threads_of(pid)
                   if kdtest.thread_name(pid, tid) == name)
    before = turns()
    kdtest.wait_until(lambda: turns() >= before + 20)


NODE = """
const word = new Int32Array(new SharedArrayBuffer(4));
function slow() { Atomics.wait(word, 0, 0, 12); return 1; }
function middle() { return slow() + 1; }
function outer() { return middle() + 1; }
console.log("ready");
setInterval(outer, 1);
"""


def case_node(test):
    """Functions of a script, which node names if it is told to."""
    script = test.directory() / "kdtest.js"
    script.write_text(NODE)
    node = test.child([tool("node"), "--perf-basic-prof", "--interpreted-frames-native-stack",
                       "--no-logfile-per-isolate", f"--logfile={script.parent}/log", script])
    test.stack.callback(pathlib.Path(f"/tmp/perf-{node.pid}.map").unlink, missing_ok=True)
    node.line("ready")
    capture = test.start(Capture(node.pid, *OPTIONS))
    until_called(node.pid, kdtest.thread_name(node.pid, node.pid))
    _, stacks = capture.close(test)
    # Of a call that had begun before, nothing was copied.
    events = [event for event in stacks.of(node.pid) if event.call == "futex" and event.exit and
              event.entry >= capture.opened]
    script_frames = [[match[1] for match in (re.match(r"\S*?:[~*^]?(\w+) \S*kdtest\.js", name or "")
                                             for name in event.stack.functions()) if match]
                     for event in events]
    test.ok(events and all(names == ["slow", "middle", "outer"] for names in script_frames),
            f"{len(events)} stacks have the functions", *script_frames[:1], *events[:1])
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
    """Methods that were compiled before they ran, each by itself, with frame pointers."""
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
    capture = test.start(Capture(java.pid, *OPTIONS))
    until_called(java.pid, "java")
    _, stacks = capture.close(test)
    events = [event for event in stacks.events if event.comm == "java" and event.exit]
    names = [[name for name in event.stack.functions() if "Chain." in (name or "")]
             for event in events]
    test.ok(events and all([re.search(r"Chain\.(\w+)", name)[1] for name in each] ==
                           ["slow", "middle", "outer", "main"] for each in names),
            f"{len(events)} stacks have the methods", *names[:1], *events[:1])
    test.ok(not [event for event in events if event.stack.stop], "they are complete", *events[:1])


kdtest.main(case_go, case_perf_map, case_hostile_files, case_jitdump, case_namespaces, case_node,
            case_java)
