#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tests/run: long
"""The tree builds in a clean copy: as a plain user, without git, without the kernel's BTF, with
other compilers and flags; and changes are rebuilt."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
# pylint: disable=wrong-import-position
import kdneeds  # noqa: E402
import kdtest  # noqa: E402

NOBODY = 65534
QUICKLY = "CFLAGS=-O0"  # where it is not the compiler's work that is looked at
PLAIN_PATH = "/usr/local/bin:/usr/bin:/bin"  # without sbin, where bpftool may be


class Tree:
    """A copy of the sources in a directory that is removed with the case."""

    def __init__(self, test):
        self.top = test.directory() / "tree"
        shutil.copytree(kdtest.ROOT, self.top,
                        ignore=shutil.ignore_patterns("build", ".git", "__pycache__"))
        self.wrapper = []

    def give_to_nobody(self):
        """From now on a plain user owns the copy and runs make."""
        self.top.parent.chmod(0o755)
        for place, _, names in os.walk(self.top):
            for path in (place, *(os.path.join(place, name) for name in names)):
                os.chown(path, NOBODY, NOBODY)
        self.wrapper = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]

    def run(self, *argv):
        """Returns (status, everything printed)."""
        env = {"PATH": PLAIN_PATH, "HOME": str(self.top.parent), "LC_ALL": "C"}
        done = subprocess.run([*self.wrapper, *argv], cwd=self.top, env=env, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False, errors="replace")
        return done.returncode, done.stdout

    def make(self, *args):
        return self.run("make", "-j4", "--output-sync", *args)

    def builds(self, test, text, *args):
        status, said = self.make(*args)
        program = self.top / "build" / "kernel_delay"
        test.ok(status == 0 and program.exists(), text, *said.split("\n")[-20:])
        return said

    def version(self):
        return self.run("build/kernel_delay", "--version")[1].split()[-1]

    def script(self, name, text):
        path = self.top / name
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)
        return path


def noticed(tree, headers):
    """The headers that put something out of date when they change. All change at once, as make
    tells for each target what it is older than."""
    before = {header: (tree.top / header).stat() for header in headers}
    for header in headers:
        os.utime(tree.top / header, (time.time() + 2, time.time() + 2))
    _, said = tree.run("make", "-n", "--debug=basic", QUICKLY)
    for header, times in before.items():
        os.utime(tree.top / header, ns=(times.st_atime_ns, times.st_mtime_ns))
    return set(re.findall(r"^ *Prerequisite '(.*)' is newer than target '", said, re.MULTILINE))


def check_plain_user(test, tree):
    """Checks a tree that has been built."""
    tree.give_to_nobody()
    test.eq(tree.run("make", "-q", QUICKLY), (0, ""), "a second make has nothing to do")
    headers = [path.relative_to(tree.top) for folder in ("bpf", "cli", "probes")
               for path in sorted((tree.top / folder).rglob("*.h"))]
    test.ok(len(headers) > 10, "there are headers")
    test.eq(noticed(tree, []), set(), "nothing is newer than what is made of it")
    test.eq({str(header) for header in headers} - noticed(tree, headers), set(),
            "a change of any header is noticed")
    skeleton = tree.top / "build" / "gen" / "kernel_delay.skel.h"
    before = skeleton.stat().st_mtime_ns
    os.utime(tree.top / "bpf" / "kernel_delay.h")
    test.eq(tree.make(QUICKLY, skeleton.relative_to(tree.top))[0], 0, "make succeeds again")
    test.ok(skeleton.stat().st_mtime_ns > before, "the BPF programs are built again")
    test.eq(tree.make("clean")[0], 0, "make clean succeeds")
    test.ok(not (tree.top / "build").exists(), "and leaves nothing")
    test.eq(tree.make(QUICKLY, *PARTS)[0], 0, "a plain user can build")


def check_plain(test, said):
    """Checks the output of make V=1 with optimisation turned off."""
    compiled = [line for line in said.split("\n") if "-c cli/" in line]
    test.ok(compiled and not any("-D_FORTIFY_SOURCE" in line for line in compiled),
            "it is not fortified without optimisation", *compiled)
    test.ok("warning" not in said, "and has no warnings",
            *(line for line in said.split("\n") if "warning" in line))


def check_version(test, tree):
    news = (tree.top / "examples" / "packaging" / "NEWS.rst").read_text()
    released = re.search(r"^([\d.]+)\n=+$", news, re.MULTILINE)[1]
    test.eq(tree.version(), released, "the version is that of the newest release in NEWS")
    tree.builds(test, "it builds as another release", QUICKLY, "RELEASE=9.8")
    test.eq(tree.version(), "9.8", "a new version is built in")
    kdneeds.need("git")
    git = ("git", "-c", "user.name=test", "-c", "user.email=test@localhost")
    for step in (("git", "init", "-q"), (*git, "add", "."), (*git, "commit", "-q", "-m", "one"),
                 (*git, "tag", "v7.1")):
        test.eq(tree.run(*step)[0], 0, " ".join(step[-2:]))
    tree.builds(test, "it builds in a checkout", QUICKLY)
    test.eq(tree.version(), "7.1", "the version is the tag's")
    tree.run(*git, "commit", "-q", "--allow-empty", "-m", "two")
    tree.builds(test, "it builds after a commit", QUICKLY)
    test.ok(tree.version().startswith("7.1-1-g"), "the version is that of the commit",
            tree.version())


def case_compilers_and_flags(test):
    tree = Tree(test)
    flags = ("CC=clang", "V=1", "CFLAGS=-O1 -g -DTWO_WORDS='\"a b\"'",
             "LDFLAGS=-Wl,-O1 -Wl,--as-needed")
    said = tree.builds(test, "it builds with clang and other flags", *flags)
    compiled = [line for line in said.split("\n") if "-c cli/" in line]
    test.ok(compiled and all(line.startswith("clang ") and "-O1 -g -DTWO_WORDS='\"a b\"'" in line
                             for line in compiled), "which are used", *compiled)
    test.ok(all(re.search(r"-D_FORTIFY_SOURCE=[23]\b", line) for line in compiled),
            "optimised code is fortified")
    test.eq(tree.run("make", "-q", *flags)[0], 0, "the same flags build nothing again")
    status, said = tree.run("make", "-n", "CFLAGS=-O0", "V=1")
    again = [line for line in said.split("\n") if "-c cli/" in line]
    test.ok(status == 0 and len(again) == len(compiled), "other flags build all of it again",
            status, len(again), len(compiled))


PARTS = ("build/cli/base/escape.o", "build/cli/process/preflight.o", "build/gen/cost.skel.h")


def case_anywhere(test):
    """Nothing built contains the directory's name: parts of the tree, built in two directories."""
    built = []
    for name in ("a", "a much longer/name"):
        tree = Tree(test)
        top = tree.top.parent / name
        top.parent.mkdir(exist_ok=True)
        tree.top = tree.top.rename(top)
        status, said = tree.make("CFLAGS=-O2 -g", *PARTS)
        test.eq((status, "warning" in said), (0, False), f"{name}: it builds")
        built.append({part: (top / part).read_bytes() for part in PARTS})
        for part, content in built[-1].items():
            test.ok(str(top).encode() not in content and len(content) > 1000, f"{part} is silent")
    for part in PARTS:
        test.ok(built[0][part] == built[1][part], f"{part} is the same, byte for byte")


def readelf(*arguments):
    return subprocess.run([kdneeds.tool("readelf"), *arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=True, text=True).stdout


def case_hardened(test):
    """Hardening flags, as the compilers recorded them."""
    part = kdtest.ROOT / "build" / "cli" / "run.o"
    if not part.exists():
        raise kdtest.Skip("this tree was not built here")
    flags = (kdtest.ROOT / "build" / "flags").read_text()
    compiler = flags.split()[0]
    properties, producer = (readelf(*options, part) for options in (
        ("-n",), ("--debug-dump=info",)))
    if os.uname().machine == "x86_64":
        test.ok("IBT" in properties and "SHSTK" in properties, "jumps and returns are protected",
                properties)
    if "clang" not in compiler:
        test.ok("-fstack-clash-protection" in producer, "and the stack's guard page")
    version = subprocess.run([compiler, "-dumpversion"], stdout=subprocess.PIPE, text=True,
                             check=True).stdout
    libc = tuple(map(int, os.confstr("CS_GNU_LIBC_VERSION").split()[1].split(".")))
    if "clang" not in compiler and int(version.split(".")[0]) >= 12 and libc >= (2, 34):
        test.ok("-D_FORTIFY_SOURCE=3" in flags, "sizes are checked also where only the run knows")
    symbols = readelf("-sW", kdtest.PROGRAM)
    test.ok("__snprintf_chk" in symbols and "__stack_chk_fail" in symbols, "the program does so")


def case_missing_tools(test):
    tree = Tree(test)
    fake = tree.script("fake-pkg-config",
                       'case "$*" in *libbpf\\ *) exit 1 ;; esac\nexec pkg-config "$@"\n')
    for setting, name in ((f"PKG_CONFIG={fake}", "libbpf >= 1.1"), ("BPFTOOL=/none", "bpftool"),
                          ("CLANG=no-clang", "clang (no-clang)"), ("CC=no-cc", "C compiler (no-cc)")):
        status, said = tree.make(setting)
        test.ok(status and f"cannot build without {name}" in said and "make deps" in said,
                f"without {name} it says so, and what to do", said)
        test.ok(said.count("\n") == 1, "in one line", said)
        test.eq(tree.make("clean", setting)[0], 0, "make clean works all the same")
    said = tree.make("CC=no-cc", "CLANG=no-clang", "BPFTOOL=/none")[1]
    test.ok("without C compiler (no-cc), clang (no-clang), bpftool:" in said, "all are named", said)


def make_without_btf(tree, *args):
    hide = "mount -t tmpfs none /sys/kernel/btf && ls /sys/kernel/btf/vmlinux 2>/dev/null; "
    if not os.path.isdir("/sys/kernel/btf"):
        hide = ""
    return tree.run("unshare", "-m", "sh", "-c", hide + 'exec make -j4 "$@"', "sh", *args)


def check_half_made_files(test, tree):
    fake = tree.script("fake-bpftool", 'case "$*" in "gen skeleton"*) echo half; exit 1 ;; esac\n'
                       f'exec {kdneeds.bpftool()} "$@"\n')
    test.ok(make_without_btf(tree, f"BPFTOOL={fake}", QUICKLY)[0],
            "a failing bpftool makes make fail")
    test.ok(not (tree.top / "build" / "gen" / "kernel_delay.skel.h").exists(),
            "its half-made file is removed")
    status, said = make_without_btf(tree, QUICKLY, "V=1")
    test.ok(status == 0 and (tree.top / "build" / "kernel_delay").exists(),
            "the next make succeeds, without the kernel's BTF and without git",
            *said.split("\n")[-20:])
    check_plain(test, said)
    test.ok("/sys/kernel/btf/vmlinux" not in said, "there was none")


def case_quickly(test):
    """All of it with one tree, which is first built where the kernel has no BTF."""
    tree = Tree(test)
    check_half_made_files(test, tree)
    check_version(test, tree)
    check_plain_user(test, tree)


def case_deps(test):
    tree = Tree(test)
    began = time.monotonic()
    status, said = tree.run("unshare", "-n", "make", "deps")
    test.eq((status, said), (0, ""), "all that is there is left alone, without network")
    test.between(time.monotonic() - began, 0, 5, "in a moment")


def case_demo(test):
    demo = kdtest.ROOT / "tests" / "demo"
    process = kdtest.WORKLOADS / "demo"
    done = kdtest.Finished(test.child([demo, kdtest.PROGRAM, process], full=False))
    test.eq((done.status, done.stderr), (0, ""), "a sample is taken")
    for name in ("kd_demo", "poller", "feeder", "worker1", "spinner1", "sleeper"):
        test.ok(name in done.stdout, f"it shows {name}", done.stdout)
    pid = done.stdout.split()[1]
    test.ok(not pathlib.Path("/proc", pid).exists(), "the process has been ended")
    done = kdtest.Finished(test.child([demo, "/bin/false", process]))
    test.eq(done.status, 1, "a failing program's status is passed on")
    pid = done.stdout.split()[1]
    test.ok(not pathlib.Path("/proc", pid).exists(), "and the process has been ended, too")


kdtest.main(case_anywhere, case_hardened, case_quickly, case_compilers_and_flags,
            case_missing_tools, case_deps, case_demo)
