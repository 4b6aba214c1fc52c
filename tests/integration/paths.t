#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Paths that were passed to slow system calls, against those that the test made them pass."""

import json
import os
import platform
import signal
import sys
import time

import kdformats
import kdtest

# A name that would spoil a terminal, a table, or a line of JSON.
HOSTILE = b'\x1b[2J "\xff\n)\x01'
PATH_MOST = 255  # bytes that are shown
OPENAT = {"x86_64": 257}.get(platform.machine(), 56)  # its number

# Makes the calls of libc that it is told: [[name, argument, ...], ...], text being bytes in hex.
# Arguments are ready before the first of them.
CALLER = """
import ctypes, json, os, sys, time
libc = ctypes.CDLL(None)
directory = os.open(sys.argv[1], os.O_RDONLY)
calls = [(getattr(libc, name), [bytes.fromhex(word) if isinstance(word, str) else word
                                for word in words]) for name, *words in json.loads(sys.argv[2])]
print(directory, flush=True)
sys.stdin.readline()
before = time.monotonic_ns()
for call, words in calls:
    call(*words)
print([before, time.monotonic_ns()], flush=True)
sys.stdin.read()
"""
DIRECTORY = 3  # its first descriptor

# Opens a FIFO, with its name at the very end of a page that no other follows; "gone": unmaps that
# page when the call has begun.
OPENER = """
import ctypes, os, sys, threading, time
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
page = 4096
start = libc.mmap(None, ctypes.c_size_t(2 * page), 3, 0x22, -1, ctypes.c_size_t(0))
libc.munmap(ctypes.c_void_p(start + page), page)
name = os.fsencode(sys.argv[1]) + b"\\0"
where = start + page - len(name)
ctypes.memmove(where, name, len(name))
def open_it():
    before = time.monotonic_ns()
    libc.open(ctypes.c_void_p(where), os.O_RDONLY)
    print("open", before, time.monotonic_ns(), flush=True)
print("ready", flush=True)
sys.stdin.readline()
opener = threading.Thread(target=open_it)
opener.start()
if sys.argv[2] == "gone":
    sys.stdin.readline()
    libc.munmap(ctypes.c_void_p(start), page)
    print("gone", flush=True)
sys.stdin.read()
"""


def sampled(test, child, *options, work):
    """A sample during which a given action takes place."""
    path = test.directory() / "report.json"
    capture = test.capture(child.pid, "--stack-trace-size=0", "-o", "-", "-o", f"json:{path}", *options)
    work()
    capture.signal(signal.SIGINT)
    test.eq((capture.wait(), capture.stderr), (0, ""), "a sample is taken")
    kdformats.check_json(test, path.read_text())
    again = test.program("--replay", path, "-o", "json")
    test.ok(again.stdout == path.read_text(), "it is the same when it is replayed")
    return json.loads(path.read_text().splitlines()[0])


def path_of(row):
    """The bytes of a row's path; None: it could not be read."""
    if row.get("no_path"):
        return None
    return bytes.fromhex(row["path_hex"]) if "path_hex" in row else row.get("path", "").encode()


def case_calls(test):
    """Calls of many kinds, with names of any bytes and length, in their order."""
    folder = os.fsencode(test.directory())
    one, two, bad = folder + b"/one", folder + b"/two", folder + b"/" + HOSTILE
    long = [folder + b"/x" * ((size - len(folder)) // 2) + b"y" * ((size - len(folder)) % 2)
            for size in (PATH_MOST - 1, PATH_MOST, PATH_MOST + 1, PATH_MOST + 2, 4095)]
    calls = [("mkdir", one, 0o700), ("mkdir", bad, 0o700), ("rename", one, two),
             ("access", two, 0), ("chmod", two, 0o755), ("truncate", one, 0), ("chdir", two),
             ("unlink", one), ("rmdir", bad), ("creat", one, 0o600), ("rmdir", two),
             ("openat", DIRECTORY, one, os.O_RDONLY), ("mkdirat", DIRECTORY, b"relative", 0o700),
             ("unlinkat", DIRECTORY, HOSTILE, 0), ("execv", b"/nonexistent/program", None),
             ("mkdir", 1, 0o700), *(("mkdir", path, 0o700) for path in long)]
    told = [[name, *(word.hex() if isinstance(word, bytes) else word for word in words)]
            for name, *words in calls]
    child = test.child([sys.executable, "-c", CALLER, os.fsdecode(folder), json.dumps(told)])
    test.eq(int(child.line("").strip()), DIRECTORY, "its descriptor")
    times = []

    def work():
        child.send("go")
        times.extend(json.loads(child.line("[")))
    sample = sampled(test, child, "-s", work=work)
    # The interpreter may ask for memory in between.
    inside = [row for row in sample["traces"]["syscalls"] if row["start_ns"] >= times[0] and
              "end_ns" in row and row["end_ns"] <= times[1] and ("path" in row or "no_path" in row)]
    test.eq(len(inside), len(calls), "all calls are listed")
    for row, (name, *words) in zip(inside, calls):
        path = next(word for word in words if word != DIRECTORY)
        want = None if path == 1 else path[:PATH_MOST]
        shown = f"{name} {path[:40] if want else path!r} of {len(path) if want else 0} bytes"
        test.eq((path_of(row), row.get("path_cut", False)),
                (want, bool(want) and len(path) > PATH_MOST), shown)
        relative = bool(want) and not want.startswith(b"/")
        test.eq(row.get("at", "").startswith(f"fd {DIRECTORY}, {os.fsdecode(folder)}"), relative,
                "with the directory that it begins in" if relative else "and no directory")


def waiting_for_peer(pid):
    """Whether a thread of a process is asleep in openat."""
    calls = [kdtest.pathlib.Path(f"/proc/{pid}/task/{tid}/syscall").read_text()
             for tid in kdtest.threads_of(pid)]
    return any(call.startswith(f"{OPENAT} ") for call in calls)


def opened(test, how, *options, finish=True):
    """Opens a FIFO, and its other end some time later."""
    fifo = os.fsencode(test.directory()) + b"/" + HOSTILE
    os.mkfifo(fifo)
    child = test.child([sys.executable, "-c", OPENER, os.fsdecode(fifo), how])
    child.line("ready")
    times = []

    def work():
        child.send("go")
        kdtest.wait_until(lambda: waiting_for_peer(child.pid))
        time.sleep(0.02)  # which is no short call
        if how == "gone":
            child.send("go")
            child.line("gone")
        if finish:
            times.append(time.monotonic_ns())
            os.close(os.open(fifo, os.O_RDWR))
            times.extend(int(word) for word in child.line("open").split()[1:])
    sample = sampled(test, child, "-s", "5ms", "-e", "open,openat", *options, work=work)
    os.close(os.open(fifo, os.O_RDWR))
    return fifo, times, sample["traces"]


def case_fifo(test):
    """The row has the file that the call waited for, and how long; the wait inside it names the
    file, too."""
    fifo, (other, before, after), traces = opened(test, "stays", "--off-cpu=5ms")
    (row,) = traces["syscalls"]
    test.eq(path_of(row), fifo, "the call was given that")
    test.between(row["end_ns"] - row["start_ns"], other - row["start_ns"], after - before,
                 "it lasted until the other end was opened")
    waits = [row for row in traces["waits"] if row["syscall"]["name"] == "openat" and
             not row["state"].startswith("ready")]
    test.eq([path_of(wait) for wait in waits], [fifo] * len(waits), "its waits name it, too")
    test.ok(waits, "there are some")


def case_unfinished(test):
    """The path of an unfinished call is read when the window has ended."""
    fifo, _, traces = opened(test, "stays", finish=False)
    (row,) = traces["syscalls"]
    test.eq((path_of(row), "end_ns" in row), (fifo, False), "the call is there with its path")


def case_gone(test):
    """Paths in memory that the process has meanwhile unmapped cannot be read, and nothing else
    takes their place."""
    for finish in (True, False):
        _, _, traces = opened(test, "gone", finish=finish)
        test.eq([(row.get("no_path"), row.get("path")) for row in traces["syscalls"]],
                [(True, None)], "finished" if finish else "unfinished")


def case_execve(test):
    """A successful execve has destroyed the memory of its path."""
    child = test.child([sys.executable, "-c", "import os, sys; print('ready', flush=True); "
                        "sys.stdin.readline(); os.execv('/bin/sleep', ['sleep', '100'])"])
    child.line("ready")

    def work():
        child.send("go")
        # Not its name, which changes before the call ends.
        kdtest.wait_until(lambda: kdtest.waits_in(child.pid, "nanosleep"))
    sample = sampled(test, child, "-s", "-e", "execve", work=work)
    test.eq([(row["result"], row.get("path"), row.get("no_path"))
             for row in sample["traces"]["syscalls"]], [(0, None, None)], "nothing is said of it")


if __name__ == "__main__":
    kdtest.main(case_calls, case_fifo, case_unfinished, case_gone, case_execve)
