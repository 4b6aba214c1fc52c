#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""User stacks of slow calls at the ends of known chains of functions: every frame is compared, in
order, up to the outermost one. Compilers, flags, and all places that can hold names are varied.
Independent programs are targets of one run together, which costs no more than a run on one."""

import os
import pathlib
import re
import shutil
import signal
import subprocess

import kdtest
from kdstacks import (SIGNAL, START, THREAD, WORKLOADS, Capture, Libc, Program, build_id,
                      check_stacks, stack_fault)
from kdneeds import need, optional, tool
from kdtrigger import NO_LIMIT, UNLIMITED, Triggered, compiled

MS = 12           # of each call
PASSES = 3        # of a chain of which waits are compared, too
OPTIONS = ("-s", "4ms", "-e", f"clock_nanosleep,{kdtest.POLL},read,futex,wait4,tgkill")
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


class Watch:
    """A run on one process or on several."""

    def __init__(self, test, *loads, options=OPTIONS):
        self.test = test
        self.capture = test.start(Capture(",".join(str(load.pid) for load in loads), *options))
        self.report = self.stacks = None

    def close(self):
        if not self.report:
            self.report, self.stacks = self.capture.close(self.test)


class Chains:
    """A process that runs through chains while it is watched, by a run of its own unless one is
    given."""

    def __init__(self, test, path, options=OPTIONS, load=None, watch=None, **program):
        self.test = test
        self.load = load or test.workload(str(path), **program)
        self.watch = watch or Watch(test, self.load, options=options)

    def go(self, shape, kind="sleep", file="", ms=MS):
        """Runs through one chain; returns its truth."""
        return {"shape": shape, "kind": kind, **self.load.ask(f"{shape} {kind} {ms} {file}")}

    def close(self):
        self.watch.close()
        return self

    @property
    def stacks(self):
        return self.watch.stacks

    def events(self, truth, calls=None):
        """The slow calls of one run through a chain."""
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
                            text or self.what(truth), count)

    def what(self, truth):
        name = pathlib.Path(self.load.argv[-1]).name
        return f"{truth['shape']}, {truth['kind']}" + (f", {name}" if name != "chain" else "")


def together(test, *loads):
    """Processes watched by one run: a Chains object for each."""
    watch = Watch(test, *loads)
    return [Chains(test, None, load=load, watch=watch) for load in loads]


def go_through_all(chains, shapes=tuple(SHAPES)):
    """Runs through all shapes, and through the first one with all kinds of calls; returns their
    truths."""
    return [*(chains.go(shape) for shape in shapes),
            *(chains.go("deep_1", kind) for kind in KINDS if kind != "sleep")]


def case_chains(test):
    path = kdtest.WORKLOADS / "chain"
    chains = Chains(test, path)
    gone = go_through_all(chains)
    chains.close()
    for truth in gone:
        chains.check(truth, {"": Program(path)})
    test.books(chains.watch.report, late={truth["tid"] for truth in gone})


def compiled_chain(test, name, *flags, **options):
    return compiled(test, WORKLOADS / "chain.c", name, INCLUDE, "-pthread", *flags, **options)


def need_static():
    said = subprocess.run([*os.environ.get("CC", "cc").split(), "-print-file-name=libc.a"],
                          stdout=subprocess.PIPE, text=True, check=True).stdout
    if not os.path.exists(said.strip()):
        raise kdtest.Skip("there is no static C library")
    return True


def by_compilers(test):
    """Programs built with other compilers and flags than the build's."""
    for compiler, name, *flags in (("gcc", "kdtest-omit", "-fomit-frame-pointer", "-fno-plt"),
                                   ("gcc", "kdtest-O0", "-O0"),
                                   ("gcc", "kdtest-Os", "-Os", "-fno-omit-frame-pointer"),
                                   ("clang", "kdtest-clang")):
        if optional(test, f"{compiler} {' '.join(flags)}", tool, compiler):
            yield Program(compiled_chain(test, name, *flags, compiler=compiler))
    if optional(test, "a static program", need_static):
        yield Program(compiled_chain(test, "kdtest-static", "-static-pie", "-DSTATIC",
                                     "-Wl,--build-id"), static=True)


def without_frame_information(test, flag):
    path = compiled_chain(test, f"kdtest-plain{flag}", "-fno-asynchronous-unwind-tables",
                          "-fno-unwind-tables", "-fno-exceptions", flag)
    subprocess.run(["objcopy", "-R", ".eh_frame", "-R", ".eh_frame_hdr", path], check=True)
    return Program(path)


def case_compilers(test):
    """Without call frame information: stacks follow frame pointers, and the report says so. With
    neither, nothing is made up."""
    need("objcopy")
    programs = list(by_compilers(test))
    pointers = without_frame_information(test, "-fno-omit-frame-pointer")
    nothing = without_frame_information(test, "-fomit-frame-pointer")
    cxx = compiled(test, WORKLOADS / "chain_cxx.cc", "kdtest-cxx",
                   compiler=os.environ.get("CXX", "c++"))
    loads = [test.workload(str(program.path)) for program in (*programs, pointers, nothing)]
    loads.append(test.workload(str(cxx)))
    *chains, last = together(test, *loads)
    gone = [go_through_all(each) for each in chains]
    thrown = last.load.go()
    last.close()
    for each, program, truths in zip(chains, programs, gone):
        for truth in truths:
            each.check(truth, {"": program})
    for each, program, truths in zip(chains[-2:], (pointers, nothing), gone[-2:]):
        for truth in truths:
            events = each.events(truth)
            if program is pointers:
                each.check(truth, {"": program}, text=f"{truth['shape']}: frame pointers")
            told = [event.stack.by_frame_pointers or bool(event.stack.stop) for event in events]
            test.ok(told and all(told), f"{each.what(truth)}: it is told", *events[:1])
    check_cxx(test, last, cxx, thrown)
    test.books(last.watch.report, late={truth["tid"] for truths in gone for truth in truths})


def case_alternate_stack_and_fork(test):
    """A signal handler's stack is in other memory than the thread's: either both were copied, or
    the report says where the copy ends. Nothing wrong is shown. A child's calls do not belong to
    this process; waiting for the child does."""
    chains = Chains(test, kdtest.WORKLOADS / "chain")
    truth, forked = chains.go("on_alternate_stack"), chains.go("with_fork")
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
    check_stacks(test, chains.events(forked, ("wait4",)),
                 (Libc("wait4", "waitpid"), "with_fork", "main", *START), programs, "wait4")
    others = [event for event in chains.stacks.events if event.tid != forked["tid"]]
    test.ok(not others, "nothing of the child", *others)


def case_return_probes(test):
    """Functions with return probes have the kernel's address in place of their return address,
    whoever has attached the probes."""
    path, load = kdtest.WORKLOADS / "chain", test.workload("chain")
    programs = {"": Program(path)}
    probes = Triggered(test, load.pid, "--start-trigger", "up:slow", "--stop-trigger", "ur:*",
                       "--trigger-delta", "1min", *UNLIMITED, *NO_LIMIT)
    chains = Chains(test, path, (*OPTIONS, "--off-cpu", "4ms", "--wait-filter=*", "--per-thread"), load=load)
    # Three times: a wait that begins with a switch that the kernel hides from tracing is not seen.
    gone = [chains.go(shape) for shape in (*["deep_1"] * PASSES, "with_alloca", "with_recursion", "with_qsort",
                                           "with_signal", "with_fault", "with_thread")]
    chains.close()
    for truth in gone:
        chains.check(truth, programs, text=f"{truth['shape']}, with return probes")
    waits = [wait for wait in chains.stacks.of(gone[0]["tid"], "waits")
             if wait.state.startswith("blocked") and "deep_1" in wait.stack.functions()]
    check_stacks(test, waits, (Libc("clock_nanosleep"), "slow", *SHAPES["deep_1"][0], *START),
                 programs, "a wait, with return probes", len(waits))
    test.between(sum(wait.count for wait in waits), 1, PASSES, "and no more than there were")
    run = probes.stop(test)
    starts, stops = (run.triggers.roles[role].hits for role in ("start", "stop"))
    test.ok(stops > starts > len(gone), "the functions did return through them", starts, stops)


def library(test, name):
    return compiled(test, WORKLOADS / "chain.c", f"lib{name}.so", "-shared", "-fPIC",
                    f"-DLIBRARY={name}", "-Wl,--build-id")


def through(name, shape="through_opened"):
    return ("visited", f"{name}_within", f"{name}_enter", shape, "main")


def case_libraries(test):
    """Through the PLT into a library, and back by a pointer; a library opened and closed during the
    sample, with the next one at the same place; one too large to be read, and without section
    headers."""
    libraries = {name: library(test, name) for name in ("red", "blue", "huge", "short")}
    red, huge, short = (libraries[name] for name in ("red", "huge", "short"))
    stripped, whole = test.directory() / "libgrey.so", test.directory() / short.name
    grey = library(test, "grey")
    subprocess.run(["strip", "-o", stripped, grey], check=True)
    shutil.copy(short, whole)
    os.truncate(huge, 1 << 40)
    with open(short, "rb+") as stream:
        # The section headers come last; what is mapped does not.
        stream.seek(40)
        stream.truncate(int.from_bytes(stream.read(8), "little"))
    linked = [Program(compiled_chain(test, f"kdtest-{binding}", "-DLINKED=red",
                                     f"-Wl,-z,{binding},-rpath,{red.parent}", "-x", "none", red))
              for binding in ("lazy", "now")]
    *bound, opened, odd = together(test, *(test.workload(str(program.path)) for program in linked),
                                   test.workload("chain"), test.workload("chain"))
    gone_bound = [[chains.go("through_linked") for _ in range(2)] for chains in bound]
    gone = [(name, opened.go("through_opened", file=libraries.get(name, stripped)))
            for name in ("red", "blue", "red", "grey", "blue")]
    gone_odd = [odd.go("through_opened", file=path) for path in (huge, short)]
    opened.close()
    for program, chains, truths in zip(linked, bound, gone_bound):
        for truth in truths:
            chains.check(truth, {"": program, "red": Program(red)}, through("red", "through_linked"),
                         text=f"bound: {program.name}")
    programs = {"": Program(kdtest.WORKLOADS / "chain"), "red": Program(red),
                "blue": Program(libraries["blue"]), "grey": Program(stripped),
                "grey_w": Program(stripped, truth=grey, hidden=True)}
    programs["grey"].symbols = {}  # the exported one keeps its name
    for name, truth in gone:
        opened.check(truth, programs, through(name), text=f"opened: {name}")
    check_odd(test, odd, gone_odd, huge, short, whole)


def check_odd(test, chains, gone, huge, short, whole):
    programs = {"": Program(kdtest.WORKLOADS / "chain"), "huge": Program(whole, truth=whole),
                "short": Program(short, truth=whole, hidden=None)}
    programs["huge"].name, programs["huge"].symbols = huge.name, {}
    chains.check(gone[0], programs, through("huge"), text="huge")
    # Whoever finds things by section headers does not unwind through it, and says so.
    stacks = [event.stack for event in chains.events(gone[1])]
    if stacks and stacks[0].stop:
        test.ok(not stack_fault(stacks[0], (Libc("clock_nanosleep"), "slow", "visited",
                                            "short_within"), programs, incomplete=True),
                "short: nothing wrong up to its first frame", *stacks)
    else:
        chains.check(gone[1], programs, through("short"), text="short")


# --- Where the names are ---

class Apart:
    """A stripped program in a directory of its own, where its names are kept in the way that what
    says. whole: a copy with all symbols. names: whether they are found."""

    def __init__(self, test, what, whole, names=False, folder=None, wrapper=(), **program):
        self.what, self.whole, self.wrapper = what, whole, wrapper
        self.folder = folder or test.directory()
        self.path = self.folder / "kdtest-apart"
        self.options = {"truth": whole, "hidden": not names, **program}
        subprocess.run(["strip", "-o", self.path, whole], check=True)

    def workload(self, test):
        path = "/kdtest-apart" if self.wrapper else str(self.path)
        return test.workload(path, wrapper=self.wrapper)

    def program(self):
        return Program(self.path, **self.options)

    def debug(self, path):
        path.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["objcopy", "--only-keep-debug", self.whole, path], check=True)
        return path


def mini(test, whole):
    """The symbols are in .gnu_debugdata, as in Fedora."""
    need("xz")
    apart = Apart(test, ".gnu_debugdata", whole, True)
    debug, packed = apart.debug(apart.folder / "debug"), apart.folder / "mini"
    # What it has besides the exported symbols, without the debug sections.
    subprocess.run(["objcopy", "-S", "-R", ".comment", *(
        f"--keep-symbol={name}" for name in Program(whole).symbols), debug, packed], check=True)
    subprocess.run(["xz", packed], check=True)
    subprocess.run(["objcopy", "--add-section", f".gnu_debugdata={packed}.xz", apart.path],
                   check=True)
    return apart


def linked(test, whole, folder, state):
    """A debug file next to the program, or in .debug there. One of another program is rejected, and
    a pipe in its place is not waited for."""
    apart = Apart(test, f"{folder}/apart.debug, {state}", whole, state == "as it was")
    debug = apart.debug(apart.folder / folder / "apart.debug")
    subprocess.run(["objcopy", f"--add-gnu-debuglink={debug}", apart.path], check=True)
    if state == "changed":
        with open(debug, "ab") as stream:
            stream.write(b"changed")
    elif state == "a pipe":
        os.unlink(debug)
        os.mkfifo(debug)
    return apart


def by_build_id(test):
    """A debug file found by build ID, below the root directory of the process."""
    need("chroot")
    need_static()
    whole = compiled_chain(test, "kdtest-apart", "-static-pie", "-DSTATIC", "-Wl,--build-id")
    root, identity = test.directory(), build_id(whole)
    apart = Apart(test, "by build ID", whole, True, root, ("chroot", root), static=True)
    apart.debug(root / "usr/lib/debug/.build-id" / identity[:2] / (identity[2:] + ".debug"))
    return apart


def case_names(test):
    need("objcopy", "strip", "readelf")
    whole = compiled_chain(test, "kdtest-apart", "-Wl,--build-id")
    nameless = compiled_chain(test, "kdtest-apart", "-Wl,--build-id=none")
    test.eq(build_id(nameless), None, "it has no build ID")
    # No names: the object, its build ID, and the address in it.
    aparts = [Apart(test, "stripped", whole), Apart(test, "no build ID", nameless),
              *(linked(test, nameless, folder, state) for folder in (".", ".debug")
                for state in ("as it was", "changed", "a pipe")),
              optional(test, "names in .gnu_debugdata", mini, test, whole),
              optional(test, "by build ID", by_build_id, test)]
    aparts = [apart for apart in aparts if apart]
    chains = together(test, *(apart.workload(test) for apart in aparts))
    gone = [[each.go(shape) for shape in ("deep_1", "with_bsearch", "with_thread") +
             (() if apart.wrapper else ("with_fault",))] for each, apart in zip(chains, aparts)]
    for each, apart, truths in zip(chains, aparts, gone):
        each.close()
        for truth in truths:
            each.check(truth, {"": apart.program()}, text=f"{apart.what}: {truth['shape']}")


# --- What happens to programs ---

def case_gone_file(test):
    """Processes whose programs are no longer at their paths, since before or, for a first chain,
    since during a sample: deleted, replaced by another file that must not be mistaken for it, or by
    one that must not be waited for."""
    programs, loads = [], []
    for number in range(3):
        path = test.directory() / f"kdtest-gone{number}"
        shutil.copy(kdtest.WORKLOADS / "chain", path)
        programs.append(Program(path))
        loads.append(test.workload(str(path)))
    chains = together(test, *loads)
    gone = [[each.go("deep_1")] for each in chains]
    for program, replace in zip(programs, (None, lambda path: shutil.copy("/bin/true", path),
                                           os.mkfifo)):
        os.unlink(program.path)
        if replace:
            replace(program.path)
    for each, truths in zip(chains, gone):
        truths.append(each.go("deep_1"))
    check_gone(chains, programs, gone, "during the sample")
    chains = together(test, *loads)
    gone = [[each.go(shape) for shape in ("deep_1", "with_qsort", "with_thread")]
            for each in chains]
    check_gone(chains, programs, gone, "before the sample")


def check_gone(chains, programs, gone, when):
    for each, program, truths in zip(chains, programs, gone):
        each.close()
        for truth in truths:
            each.check(truth, {"": program}, text=f"{program.name}, {when}: {truth['shape']}")


def case_exec(test):
    """The process executes another program during the sample."""
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


# Two ways to a call: all but one of the outer functions, their registers and the stack's size are
# the same.
WAYS = """#include <stdio.h>
#include <time.h>
static volatile int kept;
#define CALLS(name, next) __attribute__((noinline)) static void name(void) { next; kept++; }
CALLS(waits, nanosleep(&(struct timespec){ 0, 6000000 }, NULL))
CALLS(deep_1, waits()) CALLS(deep_2, deep_1()) CALLS(deep_3, deep_2()) CALLS(deep_4, deep_3())
CALLS(deep_5, deep_4()) CALLS(deep_6, deep_5()) CALLS(deep_7, deep_6()) CALLS(deep_8, deep_7())
CALLS(deep_9, deep_8()) CALLS(left, deep_9()) CALLS(right, deep_9())
int main(void)
{
	puts("ready");
	fflush(stdout);
	for (int way; (way = getchar()) != EOF;) {
		if (way == 'l')
			left();
		if (way == 'r')
			right();
		if (way == 'e')
			puts("done"), fflush(stdout);
	}
}
"""


def case_ways(test):
    """A known stack becomes a different one as soon as any of its functions differs."""
    path = compiled(test, WAYS, "kdtest-ways", "-O0")
    load = test.child([path])
    load.line("ready")
    watch = Watch(test, load, options=("-s", "4ms", "--stack-trace-size=overhead=0"))
    load.send("lllllrrrrrlllllrrrrrlrlrlrlrlre")
    load.line("done")
    watch.close()
    events = sorted((event.entry, next((name for name in event.stack.functions() if name in ("left", "right")),
                                       None))
                    for event in watch.stacks.events if event.call == "clock_nanosleep")
    test.eq("".join(name[0] if name else "?" for _, name in events), "lllllrrrrrlllllrrrrrlrlrlrlrlr",
            "each call's own way")
    # Copies of so many would cost more than they may; but for the first window's they need none.
    capture = test.capture(load.pid, "-s", "4ms", "--stack-trace-size=overhead=0.001", "--sample-time=200ms",
                           "--sample-count=0")
    load.send("l" * 200 + "e")
    load.line("done")
    capture.interrupt(test, "status 0")
    test.between(len(re.findall(r"\bleft\b", capture.stdout)), 100, 200, "a stack that is known needs no copy")


CXX = ("kdtest::slow(int)",
       "kdtest::Chain::Chain(int)::{lambda(char)#1}::operator()(char) const",
       "kdtest::Chain::Chain(int)",
       "kdtest::Chain::catches(std::__cxx11::basic_string<char, std::char_traits<char>, "
       "std::allocator<char> > const&, unsigned long)",
       "kdtest::Chain::operator()(char const*) const",
       "int kdtest::outer<int, 7>(std::vector<int, std::allocator<int> > const&)",
       "main")


def check_cxx(test, chains, path, truth):
    """Names as c++filt prints them."""
    program = Program(path)
    program.symbols = {}
    events = [event for event in chains.stacks.events
              if event.stack.pid == chains.load.pid and event.entry >= truth["from"] and
              event.call == "clock_nanosleep"]
    for event in events:
        for frame in event.stack.user:
            # The handler of an exception may lie elsewhere as a part of its function.
            frame.function = (frame.function or "").replace(" [clone .cold]", "") or None
    check_stacks(test, events, (Libc("clock_nanosleep"), *CXX, *START), {"": program}, "demangled")


kdtest.main(case_chains, case_compilers, case_alternate_stack_and_fork, case_return_probes,
            case_libraries, case_names, case_gone_file, case_exec, case_ways)
