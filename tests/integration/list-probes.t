#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--list-probes and --check, compared with what readelf and the kernel say."""

import collections
import os
import os
import pathlib
import re
import shutil
import subprocess

import kdtest

SEMAPHORE = re.compile(r"Provider: (\S+)\s+Name: (\S+)\s+Location: (\S+), Base: \S+, "
                       r"Semaphore: (\S+)")


def readelf(option, path):
    return subprocess.run(["readelf", "-W", option, path], stdout=subprocess.PIPE, check=True,
                          stderr=subprocess.DEVNULL).stdout.decode()


def probes_of(path):
    """{provider:name: (sites, has a semaphore)}"""
    sites, semaphores = collections.Counter(), {}
    for provider, name, _, semaphore in SEMAPHORE.findall(readelf("-n", path)):
        sites[f"{provider}:{name}"] += 1
        semaphores[f"{provider}:{name}"] = int(semaphore, 16) != 0
    return {probe: (sites[probe], semaphores[probe]) for probe in sites}


def functions_of(path):
    """{name: addresses} of the functions defined there."""
    found = collections.defaultdict(set)
    for line in readelf("-s", path).splitlines():
        fields = line.split()
        if len(fields) > 7 and fields[3] == "FUNC" and fields[6] != "UND":
            found[fields[7].partition("@")[0]].add(int(fields[1], 16))
    return found


def file_offset(path, address):
    for line in readelf("-l", path).splitlines():
        fields = line.split()
        if fields and fields[0] == "LOAD":
            offset, start, size = (int(fields[i], 16) for i in (1, 2, 4))
            if start <= address < start + size:
                return address - start + offset
    return None


def listed(test, pid, *glob):
    """Lines without headings."""
    done = test.program("-p", pid, "--list-probes" + "=".join(["", *glob]))
    test.eq(done.status, 0, f"lists {' '.join(glob) or 'all'}")
    return [line for line in done.stdout.splitlines() if not line.startswith("#")]


def usdt_listed(lines):
    found = {}
    for line in lines:
        match = re.fullmatch(r"u:(\S+:\S+) +sites (\d+)  semaphore (yes|no) +(/.*)", line)
        if match:
            found[match[1]] = (int(match[2]), match[3] == "yes")
    return found


def sdt(test, name="sdt"):
    load = test.workload(name)
    if not probes_of(kdtest.WORKLOADS / name):
        raise kdtest.Skip("built without <sys/sdt.h>")
    return load


def case_usdt(test):
    for name in ("sdt", "sdt_plain"):
        load = sdt(test, name)
        want = probes_of(kdtest.WORKLOADS / name)
        test.eq(usdt_listed(listed(test, load.pid, "u:kdtest:*")), want,
                f"{name}: probes, sites and semaphores as readelf shows them")
    test.ok(max(sites for sites, _ in want.values()) > 1, "some have several sites")


def case_libraries(test):
    """All probes of Python and its libraries, among them those of C++."""
    code = "from ctypes import CDLL, util; CDLL(util.find_library('m')); " \
           "CDLL(util.find_library('stdc++')); print('up', flush=True); input()"
    child = test.child(["/usr/bin/python3", "-c", code])
    child.line("up")
    maps = pathlib.Path(f"/proc/{child.pid}/maps").read_text()
    paths = set(re.findall(r" r-xp .* (/.*)", maps))
    overview = listed(test, child.pid)
    probes = {":".join(name.split(":")[-2:]): found for name, found in usdt_listed(overview).items()}
    test.eq(probes, {name: probe for path in paths for name, probe in probes_of(path).items()},
            "USDT probes as readelf shows them")
    for path in sorted(paths):
        want = set(functions_of(path))
        got = {re.match(r"up:.+?:(?:0x\w+ +)?([^: ,]+)", line)[1]
               for line in listed(test, child.pid, f"up:{os.path.basename(path)}:*")}
        # Where debug files are installed there is more.
        more = set() if os.path.isdir("/usr/lib/debug/.build-id") else got - want
        test.eq((want - got, more), (set(), set()), "its functions as readelf shows them")


def case_functions(test):
    load = test.workload("roles", "poll")
    path = kdtest.WORKLOADS / "roles"
    want = functions_of(path)
    lines = listed(test, load.pid, "up:roles:*")
    test.eq({line.rpartition(":")[2] for line in lines if " " not in line},
            {name for name, addresses in want.items() if len(addresses) == 1},
            "the program's functions as readelf shows them")
    count = next(line for line in listed(test, load.pid) if line.startswith("up:roles:*"))
    test.eq(count.split()[1:3], [str(len(want)), "functions"], "and as many in the overview")
    test.eq(listed(test, load.pid, "up:mai?"), ["up:main"], "the program need not be named")
    test.eq(listed(test, load.pid, "uretprobe:main"), ["uretprobe:main"],
            "a kind is spelt as in the pattern")
    test.ok("up:libc.so.6:getppid" in listed(test, load.pid, "getppid"), "by the name alone")


def case_namesakes(test):
    """Several functions of one name can only be told apart by their addresses."""
    folder = test.directory()
    for number in (1, 2):
        (folder / f"{number}.c").write_text(
            "__attribute__((noinline)) static int twin(int n) { return n + %d; }\n"
            "int user%d(int n) { return twin(n); }\n" % (number, number))
    (folder / "main.c").write_text("#include <unistd.h>\nint user1(int), user2(int);\n"
                                   "int main(int n, char **v) { (void)v;\n"
                                   "user1(n); user2(n); for (;;) pause(); }\n")
    program = folder / "twins"
    subprocess.run(["cc", "-O1", "-o", program, *folder.glob("*.c")], check=True)
    child = test.child([program])
    kdtest.wait_until(lambda: kdtest.thread_name(child.pid, child.pid) == "twins")
    want = {f"up:0x{address:x}" for address in functions_of(program)["twin"]}
    lines = listed(test, child.pid, "up:twin")
    test.eq({line.split()[0] for line in lines}, want, "their addresses")
    test.ok(len(want) == 2 and all("twin, " in line for line in lines), "and their name", *lines)
    for text in want:
        done = test.program("-p", child.pid, "--check", "--start-trigger", text)
        test.eq(done.status, 0, f"{text.split('0x')[0]}0x... is a trigger")


def case_objects(test):
    """A list and a trigger accept the same names of an object: a file with a version, or a link
    without one; its soname is yet another name."""
    folder = test.directory()
    (folder / "lib.c").write_text("int kd_plug(void) { return 1; }\n")
    (folder / "main.c").write_text("#include <unistd.h>\nint kd_plug(void);\n"
                                   "int main(void) { kd_plug(); for (;;) pause(); }\n")
    library, program = folder / "libkdtest.so.4.2", folder / "plugged"
    subprocess.run(["cc", "-shared", "-fPIC", "-Wl,-soname,libplug.so.7", "-o", library,
                    folder / "lib.c"], check=True)
    for name in ("libplug.so.7", "link"):
        (folder / name).symlink_to(library.name)
    subprocess.run(["cc", "-o", program, folder / "main.c", library, f"-Wl,-rpath,{folder}"],
                   check=True)
    child = test.child([program])
    kdtest.wait_until(lambda: str(library) in
                      (pathlib.Path("/proc", str(child.pid), "maps")).read_text())
    taken = (library, folder / "link", library.name, "libkdtest.so", "libplug.so.7", "libplug.so",
             "libkdtest.*", "libpl?g.so*", folder / "libkd*")
    refused = ("libkdtest", "LIBKDTEST.SO", "plug.so.7", folder / "none", "libplug.so.8", "[ab]*",
               "libplug.so.7.1")
    for name in (*taken, *refused):
        text = f"up:{name}:kd_plug"
        done = test.program("-p", child.pid, "--list-probes=" + text)
        test.eq((done.status, done.stdout.splitlines()[1:]),
                (0, [f"up:{library.name}:kd_plug"] if name in taken else []), f"list {text}")
        done = test.program("-p", child.pid, "--check", "--start-trigger", text)
        test.ok((done.status == 0 and f" of {library}" in done.stdout) if name in taken
                else done.status == 78, f"trigger {text}", done.status, done.stdout, done.stderr)
    done = test.program("-p", child.pid, "--check", "--start-trigger", "up:*:kd_plug")
    test.ok(done.status == 78 and "objects could be *" in done.stderr and
            str(library) in done.stderr, "a pattern of several", done.stderr)


def case_tracepoints(test):
    load = test.workload("roles", "poll")
    folder = test.directory()
    if subprocess.run(["mount", "-t", "tracefs", "none", folder], check=False).returncode:
        raise kdtest.Skip("tracefs cannot be mounted")
    test.stack.callback(subprocess.run, ["umount", folder], check=True)
    events = ["t:" + line for line in (folder / "available_events").read_text().split()]
    test.eq(listed(test, load.pid, "t:*"), sorted(events, key=str.encode), "all of the kernel's")
    sched = [event for event in events if event.startswith("t:sched:")]
    overview = listed(test, load.pid)
    test.ok(any(line.split()[:2] == ["t:sched:*", str(len(sched))] for line in overview),
            "and how many in the overview")


def case_nothing(test):
    load = test.workload("roles", "poll")
    done = test.program("-p", load.pid, "--list-probes=no-such-name")
    test.eq((done.status, done.stdout), (0, ""), "nothing matches")
    test.ok("nothing matches no-such-name" in done.stderr, "and that is said", done.stderr)


def case_output(test):
    load = test.workload("roles", "poll")
    for option in (["--list-probes"], ["--list-probes=*"],
                   ["--check", "--start-trigger=up:main"]):
        with open("/dev/full", "wb") as full:
            done = test.program("-p", load.pid, *option, stdout=full)
        test.eq(done.status, 74, f"{option[0]} onto a full disk: status 74")


def case_hostile_path(test):
    path = test.directory() / "sdt\x1b[31m\r\u202e"
    shutil.copy(kdtest.WORKLOADS / "sdt", path)
    load = test.workload(str(path))
    for args in (["--list-probes"], ["--list-probes=*main*"],
                 ["--check", "--start-trigger=up:main"]):
        done = test.program("-p", load.pid, *args)
        test.eq(done.status, 0, f"{args[0]} with a strange path")
        test.ok(not re.search("[\x1b\r\u202e]", done.stdout) and
                r"sdt\x1b[31m\r\xe2\x80\xae" in done.stdout, "is escaped", done.stdout[:300])


def case_check(test):
    load = sdt(test)
    path = kdtest.WORKLOADS / "sdt"
    address, = functions_of(path)["main"]
    want = f"start up:main: uprobe, 1 site, fires for the target only\n" \
           f"  main  at 0x{file_offset(path, address):x} of {path}\n"
    done = test.program("-p", load.pid, "--check", "--start-trigger", "up:main",
                        "--stop-trigger", "u:kdtest:many")
    test.eq(done.status, 0, "--check")
    test.ok(want in done.stdout, "the site of a function", done.stdout, want)
    costs = re.findall(r"^    about (\d+) ns per hit \((.+)\)$", done.stdout, re.MULTILINE)
    test.ok(len(costs) == 1 + probes_of(path)["kdtest:many"][0] and
            all(int(ns) > 50 and why.startswith("instruction ") for ns, why in costs),
            "what a hit of each site costs", done.stdout)
    lines = done.stdout.splitlines()
    sites = [line for line in lines if line.startswith("  kdtest:many  at ")]
    test.eq(len(sites), probes_of(path)["kdtest:many"][0], "a line for each site")
    test.ok(all(", semaphore at 0x" in line for line in sites), "with its semaphore", *sites)
    for text, whom in (("t:syscalls:sys_enter_poll", "the target only"),
                       ("t:sched:sched_switch", "any process")):
        done = test.program("-p", load.pid, "--check", "--start-trigger", text)
        test.ok("about 150 ns per hit (typical" in done.stdout, "and about what it costs",
                done.stdout)
        test.ok(f"fires for {whom}" in done.stdout, f"{text} fires for {whom}", done.stdout)

def case_stepped(test):
    """What the kernel does with the instruction under a probe: no kernel emulates a mov, and each
    jumps. It pushes a register itself on x86 only."""
    load = test.workload("prologues")
    pushed = "emulated" if os.uname().machine == "x86_64" else "single-stepped"
    for function, how in (("begins_jump", "emulated"), ("begins_mov", "single-stepped"),
                          ("begins_push", pushed), ("begins_sub", "single-stepped")):
        done = test.program("-p", load.pid, "--check", "--start-trigger", f"up:{function}")
        test.ok(f"per hit (instruction {how})" in done.stdout, f"{function} is {how}", done.stdout)


kdtest.main(case_objects, case_usdt, case_libraries, case_functions, case_namesakes,
            case_tracepoints, case_nothing, case_output, case_hostile_path, case_check,
            case_stepped)
