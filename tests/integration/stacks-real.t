#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tests/run: long
"""User stacks of Debian's programs, which have neither frame pointers nor symbols: they match what
gdb shows of a thread waiting in the same call, and nearly all stacks under load are complete."""

import json
import os
import pathlib
import struct
import subprocess
import time

import kdservers
import kdtest
from kdneeds import need
from kdstacks import Capture, plain

LEAST_COMPLETE = 0.95
ATTEMPTS = 20  # for a thread that gdb found elsewhere in its loop

# Prints {TID: [[address, symbol, offset in it], ...]}; functions that were inlined, and
# those left by a jump, which gdb knows from debug information, are no frames.
GDB = """
import json
found = {}
for thread in gdb.selected_inferior().threads():
    thread.switch()
    frames = []
    frame = gdb.newest_frame()
    while frame is not None and len(frames) < 200:
        if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            # A call may be the last instruction of its function.
            before = int(frames != [] and frame.newer().type() != gdb.SIGTRAMP_FRAME)
            said = gdb.execute("info symbol %#x" % (frame.pc() - before), to_string=True).split()
            name, offset = None, 0
            if said[0] != "No":
                name = said[0]
                offset = before + (int(said[2]) if said[1] == "+" else 0)
            frames.append([frame.pc(), name, offset])
        try:
            frame = frame.older()
        except gdb.error:
            break
    found[thread.ptid[1]] = frames
print("FOUND " + json.dumps(found))
"""


def backtraces(test, pid):
    script = test.directory() / "frames.py"
    script.write_text(GDB)
    done = subprocess.run(
        ["gdb", "-nx", "-batch", "-iex", "set debuginfod enabled off",
         "-ex", "set backtrace past-main on", "-ex", "set backtrace past-entry on",
         "-ex", f"attach {pid}", "-ex", f"source {script}", "-ex", "detach"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        check=False, timeout=kdtest.PATIENCE)
    lines = [line for line in done.stdout.splitlines() if line.startswith("FOUND ")]
    if not lines:
        raise kdtest.Skip(f"gdb says nothing: {done.stderr[-300:]}")
    return {int(tid): [frame for frame in frames if frame[0]]
            for tid, frames in json.loads(lines[0][6:]).items()}


class Objects:
    """Maps addresses of a process to those in its files."""

    def __init__(self, pid):
        self.places = []
        for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
            fields = line.split(None, 5)
            if len(fields) == 6 and fields[5].startswith("/") and "x" in fields[1]:
                start, end = (int(part, 16) for part in fields[0].split("-"))
                self.places.append((start, end, int(fields[2], 16), fields[5]))

    def find(self, address):
        """(file, address in that file)."""
        for start, end, offset, path in self.places:
            if start <= address < end:
                return path, virtual_address(path, address - start + offset)
        return None, address


def virtual_address(path, offset):
    with open(path, "rb") as stream:
        head = stream.read(64)
        first, = struct.unpack_from("<Q", head, 32)
        size, count = struct.unpack_from("<HH", head, 54)
        stream.seek(first)
        data = stream.read(size * count)
    for number in range(count):
        kind, _, start, virtual, _, length = struct.unpack_from("<IIQQQQ", data, size * number)
        if kind == 1 and start <= offset < start + length:
            return offset - start + virtual
    return offset


def difference(stack, frames, objects):
    """The first difference between our stack and gdb's; None if there is none."""
    if stack.stop:
        return f"incomplete: {stack.stop}"
    if len(stack.user) != len(frames):
        return f"{len(stack.user)} frames, gdb has {len(frames)}"
    for number, (ours, (address, name, offset)) in enumerate(zip(stack.user, frames)):
        path, inside = objects.find(address)
        if path and os.path.basename(ours.object or "") != os.path.basename(path):
            return f"frame {number}: {ours}, gdb: {path}"
        if ours.function and name:
            # Names of one address differ; how far it is from them does not.
            if ours.offset != offset:
                return f"frame {number}: {ours}, gdb: {name}+{offset:#x}"
        elif ours.function or (name and "@plt" not in name):
            return f"frame {number}: {ours}, gdb: {name}+{offset:#x}"
        elif ours.offset != inside:
            return f"frame {number}: {ours}, gdb: {inside:#x}"
    return None


def check_like_gdb(test, pid, least=1):
    """Waiting threads: their unfinished calls, and gdb's view of the same threads."""
    objects, faults, same, names = Objects(pid), {}, set(), [0, 0]
    for _ in range(ATTEMPTS):
        capture = test.start(Capture(pid, "-s", "1ms", "--stack-trace-size=overhead=0"))
        time.sleep(0.05)
        _, stacks = capture.close(test)
        frames = backtraces(test, pid)
        unfinished = {event.tid: event for event in stacks.events if not event.exit}
        for tid in set(unfinished) & set(frames) - same:
            fault = difference(unfinished[tid].stack, frames[tid], objects)
            if fault:
                faults[tid] = [fault, unfinished[tid], frames[tid]]
                continue
            same.add(tid)
            faults.pop(tid, None)
            named = [(frame.function, name) for frame, (_, name, _) in
                     zip(unfinished[tid].stack.user, frames[tid]) if frame.function and name]
            names[0] += sum(plain(ours) == plain(name) for ours, name in named)
            names[1] += len(named)
        if not faults and len(same) >= least:
            break
    test.ok(len(same) >= least and not faults, f"{len(same)} stacks are gdb's",
            *[text for fault in faults.values() for text in fault][:12])
    test.ok(names[0] >= 0.8 * names[1] > 0, f"{names[0]} of {names[1]} functions by one name")


def check_complete(test, pid, load, least):
    """Nearly all stacks of slow calls under load reach the outermost frame."""
    capture = test.start(Capture(pid, "-s", "20us", "--stack-trace-size=overhead=0", "--buffer-page-count",
                                 "8192"))
    load()
    report, stacks = capture.close(test)
    copied = [event for event in stacks.events if event.stack.user]
    complete = sum(event.stack.complete for event in copied)
    test.ok(len(copied) >= least, f"there are {len(copied)} stacks", *stacks.events[:2])
    reasons = {}
    for event in copied:
        if event.stack.stop:
            reasons.setdefault(event.stack.stop, []).append(event)
    test.ok(complete >= LEAST_COMPLETE * len(copied),
            f"{complete} of {len(copied)} are complete",
            *[f"{len(events)}: {reason}: {events[0]}" for reason, events in reasons.items()])
    ends = {event.stack.user[-1].function for event in copied if event.stack.complete}
    ends -= {None}
    test.ok(ends <= {"_start", "clone3", "__clone3", "clone", "__clone", "__GI___clone",
                     "__GI___clone3"}, "their outermost frames", ends)
    missing = [event for event in stacks.events if event.exit and not event.stack.user]
    test.ok(len(missing) <= 0.05 * len(stacks.events), "few calls have none", *missing[:2])
    return report


def case_ovs_vswitchd(test):
    need("gdb")
    switch = kdservers.start(test, kdservers.DummySwitch())

    def load():
        for port in range(8):
            switch.add_port(f"kdp{port}")
            for command in ("dpif/show", "coverage/show", "memory/show"):
                switch.appctl(command)

    check_complete(test, switch.pid, load, 20)
    check_like_gdb(test, switch.pid, 3)


def case_redis_server(test):
    need("gdb")
    server = kdservers.start(test, kdservers.Redis("--appendonly", "yes",
                                                   "--appendfsync", "everysec"))
    check_complete(test, server.pid, lambda: server.serve(5000, "get,set,lpush"), 20)
    check_like_gdb(test, server.pid, 3)


PYTHON = """
import functools, os, re, sys
def read():
    if not os.read(0, 1):
        sys.exit()
    return "x"
class Nested:
    def __lt__(self, other):
        re.sub("a", lambda match: read(), "a")
        return True
    def __call__(self, value):
        return max(Nested(), Nested()) and sorted([Nested(), Nested()]) and value
os.write(1, b"ready\\n")
while True:
    list(map(functools.partial(functools.reduce, lambda a, b: Nested()(a)), [[1, 2]]))
"""


def case_python(test):
    """C functions that call Python functions, and the other way round."""
    need("gdb")
    path = next((path for path in ("/usr/bin/python3.11", "/usr/bin/python3.13",
                                   "/usr/bin/python3") if os.path.exists(path)), None)
    if not path:
        raise kdtest.Skip("no Python of the distribution is installed")
    child = test.child([path, "-I", "-c", PYTHON])
    child.line("ready")

    def load():
        for _ in range(150):
            kdtest.wait_until(lambda: kdtest.state_of(child.pid, child.pid) == "S")  # for the next one
            child.proc.stdin.write(b"x")
            child.proc.stdin.flush()
            time.sleep(0.001)

    check_complete(test, child.pid, load, 100)
    check_like_gdb(test, child.pid)


def case_postgresql(test):
    need("gdb")
    base = kdservers.start(test, kdservers.Postgres())

    def load():
        base.client.send("create table numbers as select n from generate_series(1, 20000) n;")
        for number in range(100):
            base.query("select count(*) from (select pg_sleep(0.0005), n from numbers "
                       f"where n = {number}) s;")

    check_complete(test, base.pid, load, 100)
    check_like_gdb(test, base.pid)


kdtest.main(case_ovs_vswitchd, case_redis_server, case_python, case_postgresql)
