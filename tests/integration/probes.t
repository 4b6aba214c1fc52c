#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where probes are, compared with readelf and nm, in real programs and in some that are built,
stripped, moved and deleted here."""

import collections
import fcntl
import lzma
import os
import pathlib
import re
import shutil
import subprocess

import kdtest

SITE = re.compile(r"^  (.*)  at (0x\w+) of (/.*?)(?:, semaphore at (0x\w+))?$", re.MULTILINE)
NOP = {0x90, 0x0f, 0x1f}  # the first byte of what a USDT site is made of

MAIN_C = """
#include <stdio.h>
#include <unistd.h>
int shared_name(int);
int other(int);
static int __attribute__((noinline)) twin(int n) { return n * 3 + 1; }
static int __attribute__((noinline)) hidden(int n) { return n * 7 + 1; }
int visible(int n) { return twin(n) + hidden(n); }
int main(int argc, char **argv)
{
	(void)argv;
	printf("ready %d\\n", visible(argc) + other(argc) + shared_name(argc));
	fflush(stdout);
	for (;;)
		pause();
}
"""
OTHER_C = """
static int __attribute__((noinline)) twin(int n) { return n * 5 + 1; }
int other(int n) { return twin(n); }
"""
LIBRARY_C = """
static int __attribute__((noinline)) inside(int n) { return n * 9 + 1; }
int shared_name(int n) { return inside(n); }
"""
SDT_C = """
#include <sys/sdt.h>
static inline __attribute__((always_inline)) void sell(int n) { DTRACE_PROBE1(shop, sold, n); }
int sales(int n);
int sales(int n)
{
	sell(n);
	if (n > 1)
		sell(n + 1);
	DTRACE_PROBE(shop, closed);
	return n;
}
"""


def run(*argv, **options):
    done = subprocess.run([str(arg) for arg in argv], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False, **options)
    done.stdout, done.stderr = (part.decode(errors="surrogateescape")
                                for part in (done.stdout, done.stderr))
    return done


def must(*argv, **options):
    done = run(*argv, **options)
    if done.returncode:
        raise kdtest.Skip(f"{argv[0]} fails: {done.stderr.strip()}")
    return done.stdout


def code_segments(path):
    """[(address, offset, size)] of the executable segments."""
    found = []
    for line in must("readelf", "-lW", path).splitlines():
        match = re.match(r"\s*LOAD\s+(\S+)\s+(\S+)\s+\S+\s+(\S+)\s+\S+\s+(\S+(?: \S+)?)\s+\S+$", line)
        if match and "E" in match[4]:
            offset, address, size = (int(match[n], 16) for n in (1, 2, 3))
            found.append((address, offset, size))
    return found


def offset_of(path, address):
    for start, offset, size in code_segments(path):
        if start <= address < start + size:
            return address - start + offset
    return None


def readelf_usdt(path):
    """Sorted (address, semaphore, provider, name), one for each note."""
    found = []
    text = must("readelf", "-nW", path)
    for match in re.finditer(r"Provider: (.*)\n\s*Name: (.*)\n\s*Location: (\w+), Base: (\w+), "
                             r"Semaphore: (\w+)", text):
        found.append((int(match[3], 16), int(match[5], 16), match[1], match[2]))
    return sorted(found)


def sites_of(pid, trigger, wrapper=()):
    """[(object, offset, semaphore, name)] of a trigger, and the program's messages."""
    done = run(*wrapper, kdtest.PROGRAM, "-p", pid, "--check", "--start-trigger", trigger)
    return [(path, int(offset, 16), int(semaphore or "0", 16), name)
            for name, offset, path, semaphore in SITE.findall(done.stdout)], done


def case_postgres(test):
    found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    if not found:
        raise kdtest.Skip("postgresql is not installed")
    copy = test.directory() / "kd_postgres"
    shutil.copy(found[-1], copy)
    # Its code is needed, not its work: it waits for the reader of what it prints.
    reader, writer = os.pipe()
    test.stack.callback(os.close, reader)
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    pid = test.child([copy, "--describe-config"], stdout=writer).pid
    os.close(writer)
    os.read(reader, 1)
    sites = collections.Counter(site[2:] for site in readelf_usdt(copy))
    several = [probe for probe, count in sites.items() if count > 1]
    test.ok(len(sites) >= 50 and several, f"{len(sites)} probes, {len(several)} of several sites")
    for provider, name in [*several, next(iter(sites))]:
        got, done = sites_of(pid, f"u:{provider}:{name}")
        test.eq(len(got), sites[provider, name], f"{name}: one for each site")
        test.ok(all(site[2] for site in got), f"{name}: each with its semaphore", done.stderr)
    got, done = sites_of(pid, "u:postgresql:*")
    test.eq(sorted(site[1] for site in got),
            sorted(offset_of(copy, address) for address in {site[0] for site in readelf_usdt(copy)}),
            "a pattern: all sites")
    data = copy.read_bytes()
    test.eq([site for site in got if data[site[1]] not in NOP], [], "that do nothing")


def build(test, **changes):
    """A program and its shared library, freshly built, in a directory of their own."""
    folder = test.directory()
    folder.chmod(0o755)
    for name, text in (("main.c", MAIN_C), ("other.c", OTHER_C), ("lib.c", LIBRARY_C)):
        (folder / name).write_text(text)
    library, program = folder / "libkdtest.so.1.2", folder / "program"
    must("cc", "-O1", "-g", "-shared", "-fPIC", "-Wl,-soname,libkdtest.so.1",
         *changes.get("flags", ()), "-o", library, folder / "lib.c")
    (folder / "libkdtest.so.1").symlink_to(library.name)
    must("cc", "-O1", "-g", *changes.get("flags", ()), "-o", program, folder / "main.c",
         folder / "other.c", library, "-Wl,-rpath,$ORIGIN")
    return folder, program, library


def symbols_of(path):
    """{name: [addresses]}, from nm."""
    found = {}
    for line in must("nm", path).splitlines():
        fields = line.split()
        if len(fields) == 3 and fields[1] in "tT":
            found.setdefault(fields[2], []).append(int(fields[0], 16))
    return found


def start(test, program, *wrapper, **options):
    target = test.child([*wrapper, program], **options)
    target.line("ready")
    return target


def case_choices(test):
    _, program, library = build(test)
    target = start(test, program)
    names, inner = symbols_of(program), symbols_of(library)
    want = offset_of(program, names["hidden"][0])
    test.eq(sites_of(target.pid, "up:hidden")[0], [(str(program), want, 0, "hidden")],
            "a static function")
    want = offset_of(library, inner["inside"][0])
    for name in (library.name, "libkdtest.so.1", "libkdtest.so", str(library),
                 f"{library.parent}/libkdtest.so.1"):
        test.eq(sites_of(target.pid, f"up:{name}:inside")[0], [(str(library), want, 0, "inside")],
                f"in the library, named {name}")
    got, done = sites_of(target.pid, "up:twin")
    test.ok(not got and done.returncode == 78, "two static functions of one name: status 78")
    choices = re.findall(r"up:program:0x\w+", done.stderr)
    test.eq(sorted(int(choice.split("0x")[1], 16) for choice in choices), sorted(names["twin"]),
            "their addresses are named")
    for choice in choices:
        want = offset_of(program, int(choice.split("0x")[1], 16))
        test.eq(sites_of(target.pid, choice)[0], [(str(program), want, 0, "(by address)")],
                "each of them can be chosen")
    test.eq(len(sites_of(target.pid, "up:tw*")[0]), 2, "a pattern takes both")
    got, done = sites_of(target.pid, "up:inside")
    test.ok(done.returncode == 78 and "up:libkdtest.so.1.2:inside" in done.stderr,
            "only the library has it: it is named", done.stderr)


def case_debug_link(test):
    folder, program, _ = build(test, flags=["-Wl,--build-id=none"])
    want = offset_of(program, symbols_of(program)["hidden"][0])
    debug = folder / "program.dbg"
    must("objcopy", "--only-keep-debug", program, debug)
    must("strip", program)
    must("objcopy", f"--add-gnu-debuglink={debug}", program)
    target = start(test, program)
    test.eq([site[1] for site in sites_of(target.pid, "up:hidden")[0]], [want],
            "next to the program")
    (folder / ".debug").mkdir()
    debug.rename(folder / ".debug" / debug.name)
    test.eq([site[1] for site in sites_of(target.pid, "up:hidden")[0]], [want], "in .debug")
    with open(folder / ".debug" / debug.name, "ab") as stream:
        stream.write(b"\0")
    got, done = sites_of(target.pid, "up:hidden")
    test.ok(not got and done.returncode == 78, "not if its checksum is wrong", done.stderr)
    test.eq(len(sites_of(target.pid, f"up:program:{hex(want)}")[0]), 1, "an address does always")


def case_packed_symbols(test):
    """Symbols as in Fedora's packages: compressed with xz in .gnu_debugdata."""
    folder, program, _ = build(test)
    want = offset_of(program, symbols_of(program)["hidden"][0])
    debug, packed = folder / "mini", folder / "mini.xz"
    must("objcopy", "-S", "--remove-section", ".comment", "--keep-symbol=hidden", program, debug)
    packed.write_bytes(lzma.compress(debug.read_bytes()))
    must("strip", program)
    must("objcopy", "--add-section", f".gnu_debugdata={packed}", program)
    target = start(test, program)
    test.eq([site[1] for site in sites_of(target.pid, "up:hidden")[0]], [want],
            "a function that only the packed part has")
    test.eq(sites_of(target.pid, "up:twin")[1].returncode, 78, "none that it does not have")


def case_build_id_in_a_root(test):
    """A process whose / is another directory, which holds the debug file."""
    root = test.directory()
    (root / "main.c").write_text(MAIN_C + OTHER_C.replace("twin", "other_twin") + LIBRARY_C)
    program = root / "program"
    must("cc", "-O1", "-g", "-static", "-Wl,--build-id", "-o", program, root / "main.c")
    want = offset_of(program, symbols_of(program)["hidden"][0])
    build_id = re.search(r"Build ID: (\w+)", must("readelf", "-n", program))[1]
    debug = root / "usr" / "lib" / "debug" / ".build-id" / build_id[:2] / f"{build_id[2:]}.debug"
    debug.parent.mkdir(parents=True)
    must("objcopy", "--only-keep-debug", program, debug)
    must("strip", program)
    target = start(test, "/program", "chroot", root)
    test.eq([site[1] for site in sites_of(target.pid, "up:hidden")[0]], [want], "by its build ID")
    real = debug.rename(root / "moved.debug")
    debug.symlink_to("/moved.debug")
    test.eq([site[1] for site in sites_of(target.pid, "up:hidden")[0]], [want],
            "a link in there is followed in there")
    real.unlink()
    test.eq(sites_of(target.pid, "up:hidden")[1].returncode, 78, "not without the debug file")


def case_other_mounts(test):
    folder, program, library = build(test)
    want = offset_of(library, symbols_of(library)["inside"][0])
    mount = folder / "mounted"
    mount.mkdir()
    script = ('mount -t tmpfs none "$1" && cp -a "$2"/libkdtest* "$2"/program "$1" && '
              'exec "$1"/program')
    target = test.child(["unshare", "-m", "--propagation", "private", "sh", "-c", script, "sh",
                         mount, folder])
    target.line("ready")
    test.ok(not list(mount.iterdir()), "we do not see its files")
    test.eq([found[1] for found in sites_of(target.pid, "up:libkdtest.so:inside")[0]], [want],
            "but find what is in them")
    bare = ["capsh", "--drop=cap_sys_admin,cap_checkpoint_restore", "--", "-c", 'exec "$@"', "sh"]
    test.eq([found[1] for found in
             sites_of(target.pid, "up:libkdtest.so:inside", wrapper=bare)[0]], [want],
            "also by their path, without the right to follow the kernel's links")


def case_deleted(test):
    _, program, library = build(test)
    outer = offset_of(program, symbols_of(program)["hidden"][0])
    inner = offset_of(library, symbols_of(library)["inside"][0])
    target = start(test, program)
    for path in (program, library):
        path.unlink()
    for what in ("deleted", "another file in their place"):
        test.eq([site[1] for site in sites_of(target.pid, "up:hidden")[0]], [outer],
                f"the program: {what}")
        test.eq([site[1] for site in sites_of(target.pid, "up:libkdtest.so:inside")[0]], [inner],
                f"the library: {what}")
        for path in (program, library):
            path.write_bytes(pathlib.Path(kdtest.PROGRAM).read_bytes())
    bare = ["capsh", "--drop=cap_sys_admin,cap_checkpoint_restore", "--", "-c", 'exec "$@"', "sh"]
    got, done = sites_of(target.pid, "up:libkdtest.so:inside", wrapper=bare)
    test.ok(not got and done.returncode, "the other file is not taken for it", done.stderr)


def case_sdt_header(test):
    folder = test.directory()
    (folder / "probe.c").write_text("#include <sys/sdt.h>\n")
    if run("cc", "-E", folder / "probe.c").returncode:
        raise kdtest.Skip("sys/sdt.h is not installed")
    _, program, _ = build(test)
    (folder / "probe.c").write_text(SDT_C + MAIN_C.replace("visible(argc)", "sales(argc)")
                                    + OTHER_C.replace("twin", "other_twin") + LIBRARY_C)
    program = folder / "shop"
    must("cc", "-O2", "-o", program, folder / "probe.c")
    target = start(test, program)
    want = [site for site in readelf_usdt(program) if site[3] == "sold"]
    test.eq(len(want), 2, "the compiler made two sites")
    test.eq(sorted(site[1] for site in sites_of(target.pid, "u:shop:sold")[0]),
            sorted(offset_of(program, site[0]) for site in want), "both are found")
    got, done = sites_of(target.pid, "u:shop:close")
    test.ok(done.returncode == 78 and "u:shop:closed" in done.stderr, "a close name", done.stderr)


kdtest.main(case_postgres, case_choices,
            case_debug_link, case_packed_symbols, case_build_id_in_a_root, case_other_mounts,
            case_deleted, case_sdt_header)
