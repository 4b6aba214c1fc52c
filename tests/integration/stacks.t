#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tests/run: long
"""User stacks of slow calls at the ends of known chains of functions: every frame is
compared, in order, up to the outermost one. Compilers, flags, and all the places where
names may be are varied."""

import json
import os
import shutil
import subprocess

import kdtest
from kdstacks import (SIGNAL, START, THREAD, WORKLOADS, Capture, Libc, Program, build_id,
                      check_stacks, stack_fault)
from kdneeds import need, optional, tool
from kdtrigger import NO_LIMIT, UNLIMITED, Triggered, compiled

MS = 12           # of each call
OPTIONS = ("-s", "4ms", "-e", "clock_nanosleep,poll,ppoll,read,futex,wait4,tgkill")
INCLUDE = f"-I{WORKLOADS}"
DEEP = tuple(f"deep_{number}" for number in range(12, 0, -1))

# System calls, and functions of the C library that make them.
KINDS = {"sleep": (("clock_nanosleep", "nanosleep"), "clock_nanosleep"),
         "poll": (("poll", "ppoll"), "poll"),
         "read": (("read",), "read"),
         "futex": (("futex",), "syscall")}

# Shape -> the functions from slow() on outwards, and how often each chain is gone through.
SHAPES = {
    "deep_1": ((*DEEP, "main"), 1),
    "with_alloca": (("alloca_user", "with_alloca", "main"), 4),
    "realigned": (("realigned_user", "realigned", "main"), 4),
    "with_recursion": (("recurse",) * 50 + ("with_recursion", "main"), 1),
    "with_qsort": (("compare", Libc(local=True, most=6), "with_qsort", "main"), 1),
    "with_bsearch": (("compare", Libc("bsearch"), "with_bsearch", "main"), 1),
    "with_once": (("once", Libc("pthread_once", "pthread_once_slow", local=True, most=2),
                   "with_once", "main"), 1),
    "with_signal": (("handler", SIGNAL, Libc("syscall"), "with_signal", "main"), 1),
    "with_fault": (("handler", SIGNAL, "faulting", "with_fault", "main"), 1),
    "with_thread": ((*DEEP, "thread_main"), 1),
    "with_own_stack": ((*DEEP, "thread_main"), 1),
}


class Chains:
    """A process that goes through chains while it is sampled."""

    def __init__(self, test, path, options=OPTIONS, load=None, **program):
        self.test = test
        self.load = load or test.workload(str(path), **program)
        self.capture = test.start(Capture(self.load.pid, *options))
        self.gone = []
        self.report = self.stacks = None

    def go(self, shape, kind="sleep", file="", ms=MS):
        """Goes through one chain; its truth."""
        self.load.send(f"{shape} {kind} {ms} {file}")
        truth = {"shape": shape, "kind": kind, **json.loads(self.load.line("{"))}
        self.gone.append(truth)
        return truth

    def close(self):
        self.report, self.stacks = self.capture.close(self.test)
        return self

    def events(self, truth, calls=None):
        """The slow calls of one passage."""
        calls = calls or KINDS[truth["kind"]][0]
        return [event for event in self.stacks.events
                if event.tid == truth["tid"] and event.call in calls and event.exit
                and truth["from"] <= event.entry < event.exit <= truth["to"]]

    def check(self, truth, programs, wanted=None, count=1, text=""):
        if wanted is None:
            wanted, count = SHAPES[truth["shape"]]
        outermost = START if wanted[-1] == "main" else THREAD
        chain = (Libc(KINDS[truth["kind"]][1]), "slow", *wanted, *outermost)
        return check_stacks(self.test, self.events(truth), chain, programs,
                            text or f"{truth['shape']}, {truth['kind']}", count)


def check_all(test, path, shapes=tuple(SHAPES), program=None):
    """Goes through all shapes, and the first one with all kinds of calls."""
    chains = Chains(test, path)
    gone = [chains.go(shape) for shape in shapes]
    gone += [chains.go("deep_1", kind) for kind in KINDS if kind != "sleep"]
    chains.close()
    programs = {"": program or Program(path)}
    for truth in gone:
        chains.check(truth, programs)
    test.books(chains.report, late={truth["tid"] for truth in gone})
    return chains


def case_chains(test):
    check_all(test, kdtest.WORKLOADS / "chain")


def case_compilers(test):
    """Other compilers and flags than the build's."""
    for compiler, *flags in (("gcc", "-fomit-frame-pointer", "-fno-plt"), ("gcc", "-O0"),
                             ("gcc", "-Os", "-fno-omit-frame-pointer"), ("clang",)):
        if not optional(test, f"{compiler} {' '.join(flags)}", tool, compiler):
            continue
        path = compiled(test, WORKLOADS / "chain.c", "kdtest-chain", INCLUDE, "-pthread", *flags,
                        compiler=compiler)
        check_all(test, path)


def case_frame_pointers(test):
    """Without call frame information: by frame pointers, and told so. With neither, nothing is
    made up."""
    need("objcopy")
    for flag, pointers in (("-fno-omit-frame-pointer", True), ("-fomit-frame-pointer", False)):
        path = compiled(test, WORKLOADS / "chain.c", "kdtest-plain", INCLUDE, "-pthread",
                        "-fno-asynchronous-unwind-tables", "-fno-unwind-tables",
                        "-fno-exceptions", flag)
        subprocess.run(["objcopy", "-R", ".eh_frame", "-R", ".eh_frame_hdr", path], check=True)
        chains = Chains(test, path)
        gone = [chains.go(shape) for shape in SHAPES]
        chains.close()
        for truth in gone:
            events = chains.events(truth)
            if pointers:
                chains.check(truth, {"": Program(path)}, text=f"{truth['shape']}: frame pointers")
            told = [event.stack.by_frame_pointers or bool(event.stack.stop) for event in events]
            test.ok(told and all(told), f"{truth['shape']}, {flag}: it is told", *events[:1])


def need_static():
    said = subprocess.run([*os.environ.get("CC", "cc").split(), "-print-file-name=libc.a"],
                          stdout=subprocess.PIPE, text=True, check=True).stdout
    if not os.path.exists(said.strip()):
        raise kdtest.Skip("there is no static C library")


def case_static_pie(test):
    need_static()
    path = compiled(test, WORKLOADS / "chain.c", "kdtest-static", INCLUDE, "-pthread",
                    "-static-pie", "-DSTATIC", "-Wl,--build-id")
    check_all(test, path, program=Program(path, static=True))


def case_alternate_stack(test):
    """The signal's stack is another piece of memory than the thread's: either both were
    copied, or it is said where the copy ends. Nothing wrong is shown."""
    chains = Chains(test, kdtest.WORKLOADS / "chain")
    truth = chains.go("on_alternate_stack")
    chains.close()
    programs = {"": Program(kdtest.WORKLOADS / "chain")}
    events = chains.events(truth)
    wanted = (Libc("clock_nanosleep"), "slow", "handler", SIGNAL, Libc("syscall"))
    outside = ("on_alternate_stack", "main", *START)
    if events and events[0].stack.stop:
        test.ok("memory" in events[0].stack.stop or "copied" in events[0].stack.stop,
                "the reason is what was not copied", events[0].stack.stop)
        events[0].stack.stop, outside = None, ()
    check_stacks(test, events, (*wanted, *outside), programs, "on_alternate_stack")


def case_return_probes(test):
    """Functions with return probes have the kernel's address in place of their return address,
    whoever has set the probes."""
    path, load = kdtest.WORKLOADS / "chain", test.workload("chain")
    programs = {"": Program(path)}
    probes = Triggered(test, load.pid, "--start-trigger", "up:slow", "--stop-trigger", "ur:*",
                       "--trigger-delta", "1min", *UNLIMITED, *NO_LIMIT)
    chains = Chains(test, path, (*OPTIONS, "--off-cpu", "4ms", "--wait-filter=*", "--per-thread"), load=load)
    gone = [chains.go(shape) for shape in ("deep_1", "with_alloca", "with_recursion", "with_qsort",
                                           "with_signal", "with_fault", "with_thread")]
    chains.close()
    for truth in gone:
        chains.check(truth, programs, text=f"{truth['shape']}, with return probes")
    waits = [wait for wait in chains.stacks.of(gone[0]["tid"], "waits")
             if wait.state.startswith("blocked") and "deep_1" in wait.stack.functions()]
    check_stacks(test, waits, (Libc("clock_nanosleep"), "slow", *SHAPES["deep_1"][0], *START),
                 programs, "a wait, with return probes")
    run = probes.stop(test)
    starts, stops = (run.triggers.roles[role].hits for role in ("start", "stop"))
    test.ok(stops > starts > len(gone), "the functions did return through them", starts, stops)


def library(test, name):
    return compiled(test, WORKLOADS / "chain.c", f"lib{name}.so", "-shared", "-fPIC",
                    f"-DLIBRARY={name}", "-Wl,--build-id")


def through(name, shape="through_opened"):
    return ("visited", f"{name}_within", f"{name}_enter", shape, "main")


def case_linked_library(test):
    """Through the PLT into a library, and back by a pointer."""
    red = library(test, "red")
    for binding in ("lazy", "now"):
        path = compiled(test, WORKLOADS / "chain.c", "kdtest-linked", INCLUDE, "-pthread",
                        "-DLINKED=red", f"-Wl,-z,{binding},-rpath,{red.parent}", "-x",
                        "none", red)
        chains = Chains(test, path)
        gone = [chains.go("through_linked") for _ in range(2)]
        chains.close()
        programs = {"": Program(path), "red": Program(red)}
        for truth in gone:
            chains.check(truth, programs, through("red", "through_linked"), text=f"bound {binding}")


def case_opened_libraries(test):
    """Opened and closed during the sample, the next one at the place of the last one."""
    libraries = {name: library(test, name) for name in ("red", "blue")}
    stripped = test.directory() / "libgrey.so"
    subprocess.run(["strip", "-o", stripped, library(test, "grey")], check=True)
    chains = Chains(test, kdtest.WORKLOADS / "chain")
    order = ("red", "blue", "red", "grey", "blue")
    gone = [(name, chains.go("through_opened", file=libraries.get(name, stripped)))
            for name in order]
    chains.close()
    programs = {"": Program(kdtest.WORKLOADS / "chain"),
                "grey_w": Program(stripped, truth=library(test, "grey"), hidden=True),
                **{name: Program(path) for name, path in libraries.items()}}
    programs["grey"] = Program(stripped)  # the exported one keeps its name
    programs["grey"].symbols = {}
    for name, truth in gone:
        chains.check(truth, programs, through(name), text=f"opened: {name}")


# --- Where the names are ---

def separate(test, *flags):
    """A program to be taken apart: its path, in a directory of its own."""
    need("objcopy", "strip", "readelf")
    return compiled(test, WORKLOADS / "chain.c", "kdtest-apart", INCLUDE, "-pthread",
                    "-Wl,--build-id", *flags)


def check_names(test, path, whole, hidden=False, **program):
    """Some shapes of a program of which whole is a copy with all symbols."""
    chains = Chains(test, path, **program)
    gone = [chains.go(shape) for shape in ("deep_1", "with_bsearch", "with_fault", "with_thread")]
    chains.close()
    programs = {"": Program(path, truth=whole, hidden=hidden)}
    for truth in gone:
        chains.check(truth, programs)
    return chains


def case_stripped(test):
    """No names: the object, its build ID, and the address in it."""
    whole = separate(test)
    path = test.directory() / "kdtest-apart"
    subprocess.run(["strip", "-o", path, whole], check=True)
    check_names(test, path, whole, hidden=True)


def case_no_build_id(test):
    whole = separate(test, "-Wl,--build-id=none")
    path = test.directory() / "kdtest-apart"
    subprocess.run(["strip", "-o", path, whole], check=True)
    test.eq(build_id(path), None, "it has no build ID")
    check_names(test, path, whole, hidden=True)


def only_debug(test, whole, name):
    path = test.directory() / name
    subprocess.run(["objcopy", "--only-keep-debug", whole, path], check=True)
    return path


def case_minidebuginfo(test):
    """The symbols in .gnu_debugdata, as Fedora has them."""
    need("xz")
    whole = separate(test)
    directory = test.directory()
    mini, packed, path = directory / "mini", directory / "mini.xz", directory / "kdtest-apart"
    # What it has besides the exported symbols, without the debug sections.
    subprocess.run(["objcopy", "-S", "-R", ".comment", *(
        f"--keep-symbol={name}" for name in Program(whole).symbols),
        only_debug(test, whole, "debug"), mini], check=True)
    subprocess.run(["xz", mini], check=True)
    subprocess.run(["strip", "-o", path, whole], check=True)
    subprocess.run(["objcopy", "--add-section", f".gnu_debugdata={packed}", path], check=True)
    check_names(test, path, whole)


def case_debuglink(test):
    """A debug file next to the program, and in .debug there."""
    whole = separate(test, "-Wl,--build-id=none")
    for folder in (".", ".debug"):
        directory = test.directory()
        path, debug = directory / "kdtest-apart", directory / folder / "apart.debug"
        debug.parent.mkdir(exist_ok=True)
        subprocess.run(["strip", "-o", path, whole], check=True)
        shutil.copy(only_debug(test, whole, "debug"), debug)
        subprocess.run(["objcopy", f"--add-gnu-debuglink={debug}", path], check=True)
        check_names(test, path, whole)
        # Another program's file of this name is not taken, nor is a pipe waited for.
        with open(debug, "ab") as stream:
            stream.write(b"changed")
        check_names(test, path, whole, hidden=True)
        os.unlink(debug)
        os.mkfifo(debug)
        check_names(test, path, whole, hidden=True)


def case_build_id_file(test):
    """A debug file by build ID, below the root directory of the process."""
    need("chroot")
    need_static()
    whole = separate(test, "-static-pie", "-DSTATIC")
    root = test.directory()
    identity = build_id(whole)
    debug = root / "usr/lib/debug/.build-id" / identity[:2] / (identity[2:] + ".debug")
    debug.parent.mkdir(parents=True)
    shutil.copy(only_debug(test, whole, "debug"), debug)
    subprocess.run(["strip", "-o", root / "kdtest-apart", whole], check=True)
    chains = Chains(test, "/kdtest-apart", wrapper=("chroot", root))
    gone = [chains.go(shape) for shape in ("deep_1", "with_bsearch", "with_thread")]
    chains.close()
    programs = {"": Program(root / "kdtest-apart", truth=whole, static=True)}
    for truth in gone:
        chains.check(truth, programs)


# --- What happens to programs ---

def gone_file(test, replace):
    """A process whose program is not at its path any more, all of which happens before
    and, for a first chain, during a sample."""
    path = test.directory() / "kdtest-gone"
    shutil.copy(kdtest.WORKLOADS / "chain", path)
    program = Program(path)
    chains = Chains(test, path)
    gone = [chains.go("deep_1")]
    os.unlink(path)
    replace(path)
    gone.append(chains.go("deep_1"))
    chains.close()
    for truth in gone:
        chains.check(truth, {"": program}, text="during the sample")
    chains = Chains(test, path, load=chains.load)
    gone = [chains.go(shape) for shape in ("deep_1", "with_qsort", "with_thread")]
    chains.close()
    for truth in gone:
        chains.check(truth, {"": program}, text=f"before the sample: {truth['shape']}")


def case_deleted(test):
    gone_file(test, lambda path: None)


def case_replaced(test):
    """By what must not be taken for it, and by what must not be waited for."""
    gone_file(test, lambda path: shutil.copy("/bin/true", path))
    gone_file(test, os.mkfifo)


def case_odd_libraries(test):
    """Larger than anything that could be read, and without its section headers."""
    huge, short = library(test, "huge"), library(test, "short")
    os.truncate(huge, 1 << 40)
    whole = test.directory() / short.name
    shutil.copy(short, whole)
    with open(short, "rb+") as stream:
        # The section headers come last; what is mapped does not.
        stream.seek(40)
        stream.truncate(int.from_bytes(stream.read(8), "little"))
    chains = Chains(test, kdtest.WORKLOADS / "chain")
    gone = [("huge", chains.go("through_opened", file=huge)),
            ("short", chains.go("through_opened", file=short))]
    chains.close()
    programs = {"": Program(kdtest.WORKLOADS / "chain"), "huge": Program(whole, truth=whole),
                "short": Program(short, truth=whole, hidden=None)}
    programs["huge"].name, programs["huge"].symbols = huge.name, {}
    chains.check(gone[0][1], programs, through("huge"), text="huge")
    # Whoever finds things by section headers does not unwind through it, and says so.
    stacks = [event.stack for event in chains.events(gone[1][1])]
    if stacks and stacks[0].stop:
        test.ok(not stack_fault(stacks[0], (Libc("clock_nanosleep"), "slow", "visited",
                                            "short_within"), programs, incomplete=True),
                "short: nothing wrong up to its first frame", *stacks)
    else:
        chains.check(gone[1][1], programs, through("short"), text="short")


def case_exec(test):
    """Another program in the same process, during the sample."""
    first, second = kdtest.WORKLOADS / "chain", test.directory() / "kdtest-second"
    other = compiled(test, WORKLOADS / "chain.c", "kdtest-second", INCLUDE, "-pthread", "-O1",
                     "-Wl,--build-id")
    shutil.copy(other, second)
    chains = Chains(test, first)
    before = chains.go("deep_1")
    chains.load.send(f"with_exec sleep {MS} {second}")
    chains.load.line("ready")
    after = [chains.go("deep_1"), chains.go("with_thread")]
    chains.close()
    chains.check(before, {"": Program(first)}, text="before")
    last = {"tid": before["tid"], "from": before["to"], "to": after[0]["from"],
            "shape": "with_exec", "kind": "sleep"}
    chains.check(last, {"": Program(first)}, ("with_exec", "main"), text="at last")
    for truth in after:
        chains.check(truth, {"": Program(second)}, text=f"after exec: {truth['shape']}")


def case_fork(test):
    """The child's calls are not this process's; waiting for it is."""
    chains = Chains(test, kdtest.WORKLOADS / "chain")
    truth = chains.go("with_fork")
    chains.close()
    check_stacks(test, chains.events(truth, ("wait4",)),
                 (Libc("wait4", "waitpid"), "with_fork", "main", *START),
                 {"": Program(kdtest.WORKLOADS / "chain")}, "wait4")
    others = [event for event in chains.stacks.events if event.tid != truth["tid"]]
    test.ok(not others, "nothing of the child", *others)


CXX = ("kdtest::slow(int)",
       "kdtest::Chain::Chain(int)::{lambda(char)#1}::operator()(char) const",
       "kdtest::Chain::Chain(int)",
       "kdtest::Chain::catches(std::__cxx11::basic_string<char, std::char_traits<char>, "
       "std::allocator<char> > const&, unsigned long)",
       "kdtest::Chain::operator()(char const*) const",
       "int kdtest::outer<int, 7>(std::vector<int, std::allocator<int> > const&)",
       "main")


def case_cxx(test):
    """Names as c++filt has them."""
    path = compiled(test, WORKLOADS / "chain_cxx.cc", "kdtest-cxx",
                    compiler=os.environ.get("CXX", "c++"))
    load = test.workload(str(path))
    capture = test.start(Capture(load.pid, *OPTIONS))
    truth = load.go()
    _, stacks = capture.close(test)
    program = Program(path)
    program.symbols = {}
    for event in stacks.events:
        for frame in event.stack.user:
            # The handler of an exception may lie elsewhere as a part of its function.
            frame.function = (frame.function or "").replace(" [clone .cold]", "") or None
    check_stacks(test, [event for event in stacks.events
                        if event.entry >= truth["from"] and event.call == "clock_nanosleep"],
                 (Libc("clock_nanosleep"), *CXX, *START), {"": program}, "demangled")


kdtest.main(case_chains, case_compilers, case_frame_pointers, case_static_pie,
            case_alternate_stack, case_return_probes, case_linked_library, case_opened_libraries, case_stripped, case_no_build_id,
            case_minidebuginfo, case_debuglink, case_build_id_file, case_deleted, case_replaced,
            case_odd_libraries, case_exec, case_fork, case_cxx)
