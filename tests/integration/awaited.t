#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Processes that wait for what does not come: who can end that, and what that one does. And windows
that the user chose, of which nothing is idle."""

import contextlib
import ctypes
import fcntl
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import kdneeds
import kdtest
from kdtest import MS
from kdtrigger import BOTH, Log, Triggered

CHILD = "import subprocess; subprocess.Popen(['sleep', '1000']).wait()"
LOCK = "import fcntl, sys; fcntl.flock(open(sys.argv[1]), fcntl.LOCK_EX)"
WRITE = "import os\nwhile True: os.write(1, bytes(4096))"
READ = "import signal; signal.pause()"


def blocked_in(pid, function):
    """Waits until a process sleeps there, by the kernel's word for it."""
    kdtest.wait_until(lambda: kdtest.waits_in(pid, function))


def stop(pid):
    """Returns once the process is stopped: it has to get a CPU for that."""
    os.kill(pid, signal.SIGSTOP)
    kdtest.wait_until(lambda: kdtest.state_of(pid, pid) == "T")


def report(test, pid):
    """The first row of the verdict, what the first sentence says, and the process's sleeps."""
    path = test.directory() / "json"
    done = test.program("-p", pid, "--sample-time", "300ms", "--sample-count", "1",
                        "-o", f"json:{path}", "-o", "-", "--summary")
    sample, = kdtest.samples_of(path)
    said = re.sub(r"\n {8}", " ", done.stdout)
    sentence = re.search(r"^VERDICT (.*)$", said, re.MULTILINE)
    return sample["verdict"], sentence and sentence[1], sample["threads"][0]["descriptors"]


def check(test, what, found, cause, awaited, state):
    """found: report() of a process that waits for another one."""
    verdict, said, sleeps = found
    if not test.ok(verdict and verdict[0]["cause"] == cause, f"{what}: the cause", verdict, said):
        return
    row = verdict[0]
    test.ok(row["share"] >= 0.95, f"{what}: all of the time", row)
    test.eq(row["who"].get("pid"), awaited, f"{what}: who can end it")
    sleep, = [sleep for sleep in sleeps if sleep.get("awaited_pid") == awaited] or [{}]
    test.eq(sleep.get("awaited_state"), state, f"{what}: what that one does")
    test.ok(f"[{awaited}]" in said and f"which is {state}" in said, f"{what}: in words", said)


def asleep(pid):
    """What it does that sleeps, by the kernel's word for where, if that says it."""
    with open(f"/proc/{pid}/wchan", encoding="ascii") as file:
        function = file.read().split(".")[0]
        return f"asleep in {function}" if function != "0" else "asleep"


def case_child(test):
    parent = test.child([sys.executable, "-c", CHILD])
    blocked_in(parent.pid, "do_wait")
    with open(f"/proc/{parent.pid}/task/{parent.pid}/children", encoding="ascii") as file:
        child = int(file.read())
    test.stack.callback(os.kill, child, signal.SIGKILL)
    blocked_in(child, "hrtimer_nanosleep")
    check(test, "asleep", report(test, parent.pid), "child", child, asleep(child))
    stop(child)
    check(test, "stopped", report(test, parent.pid), "child", child, "stopped")


def case_lock(test):
    path = test.directory() / "lock"
    with open(path, "w", encoding="ascii") as file:
        # A lock belongs to the open file; the kernel names the process that took it.
        holder = test.child(["flock", path, "sleep", "1000"], start_new_session=True)
        test.stack.callback(lambda: os.killpg(holder.pid, signal.SIGKILL))

        def taken():
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                fcntl.flock(file, fcntl.LOCK_UN)
                return False
            return True
        kdtest.wait_until(taken)
    waiter = test.child([sys.executable, "-c", LOCK, path])
    blocked_in(waiter.pid, "lock_inode_wait")
    blocked_in(holder.pid, "do_wait")
    check(test, "file lock", report(test, waiter.pid), "lock", holder.pid,
          asleep(holder.pid))


def case_pipe(test):
    """A pipe that is full, as its reader is stopped."""
    get, put = os.pipe()
    reader = test.child([sys.executable, "-c", READ], stdin=get)
    writer = test.child([sys.executable, "-c", WRITE], stdout=put)
    os.close(get)
    os.close(put)
    blocked_in(writer.pid, "pipe_write")
    stop(reader.pid)
    check(test, "pipe", report(test, writer.pid), "peer", reader.pid, "stopped")
    get = os.open(f"/proc/{reader.pid}/fd/0", os.O_RDONLY)
    try:
        verdict, said, _ = report(test, writer.pid)
        test.ok("pid" not in verdict[0]["who"], "two readers: neither is named", verdict)
        test.ok("a pipe that is full" in said, "two readers: what it is", said)
    finally:
        os.close(get)


LEASE = """
import fcntl, os, signal, sys
signal.signal(signal.SIGIO, signal.SIG_IGN)
file = os.open(sys.argv[1], os.O_RDONLY)
fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)
print("ready", flush=True)
signal.pause()
"""


def case_lease(test):
    """A lease on a file, which its holder does not give back as it is stopped."""
    path = test.directory() / "leased"
    path.touch()
    holder = test.child([sys.executable, "-c", LEASE, path])
    holder.line("ready")
    opener = test.child([sys.executable, "-c", "import sys; open(sys.argv[1], 'w')", path])
    blocked_in(opener.pid, "break_lease")
    stop(holder.pid)
    check(test, "lease", report(test, opener.pid), "lock", holder.pid, "stopped")


def served(test, name):
    """A file system whose server is silent, and who reads a file of it."""
    folder = test.directory() / name
    folder.mkdir()
    server = test.child([kdtest.WORKLOADS / "slowfs", folder, 0])
    # The reader may be in a call that only the end of the server ends.
    test.stack.callback(ctypes.CDLL(None).umount2, str(folder).encode(), MNT_DETACH)
    test.stack.callback(server.end)
    server.line("ready")
    reader = test.child(["dd", f"if={folder}/data", "of=/dev/null", "bs=4k"])
    test.stack.callback(server.end)
    server.line("began")
    blocked_in(reader.pid, "request_wait_answer")  # the server may have read its request before that
    return server, reader


MNT_DETACH = 2


def servers():
    """PIDs of all processes that serve file systems."""
    found = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if kdtest.has_open(pid, "/dev/fuse"):
                found.add(int(pid))
    return found


def tells_servers_apart(pid):
    """Whether the kernel says which of them serves what."""
    for path in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir():
        if "fuse_connection" in path.read_text(encoding="ascii"):
            return True
    return False


def case_served(test):
    """A file system whose server is stopped, beside another one, where the kernel says which is
    whose."""
    if not os.path.exists("/dev/fuse"):
        raise kdtest.Skip("this kernel has no FUSE")
    server, reader = served(test, "one")
    stop(server.pid)
    before, found, after = servers(), report(test, reader.pid), servers()
    if tells_servers_apart(server.pid) or before == after == {server.pid}:
        check(test, "one server", found, "server", server.pid, "stopped")
    else:
        test.skip("one server", f"other tests have some, too: {before}, {after}")
    served(test, "two")
    if tells_servers_apart(server.pid):
        check(test, "two servers", report(test, reader.pid), "server", server.pid, "stopped")
    else:
        verdict, said, _ = report(test, reader.pid)
        test.ok("pid" not in verdict[0]["who"], "two servers: neither is named", verdict, said)


PAGED = """
import ctypes, fcntl, mmap, os, platform, signal, struct, sys
size, libc = 1 << 20, ctypes.CDLL(None)
faults = libc.syscall(323 if platform.machine() == "x86_64" else 282, os.O_CLOEXEC)
try:
    fcntl.ioctl(faults, 0xc018aa3f, bytearray(struct.pack("3Q", 0xaa, 0, 0)))
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    at = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    fcntl.ioctl(faults, 0xc020aa00, bytearray(struct.pack("4Q", at, size, 1, 0)))
except (OSError, ValueError):
    print("pager 0", flush=True)
    sys.exit()
pager = os.fork()
if not pager: signal.pause()
os.close(faults)
print("pager", pager, flush=True)
memory[0]
"""


def case_pager(test):
    """Memory that another process has to fill, which is stopped."""
    target = test.child([sys.executable, "-c", PAGED])
    pager = int(target.line("pager").split()[1])
    if not pager:
        raise kdtest.Skip("no userfaultfd")
    test.stack.callback(os.kill, pager, signal.SIGKILL)
    blocked_in(target.pid, "handle_userfault")
    stop(pager)
    check(test, "pager", report(test, target.pid), "server", pager, "stopped")


def case_frozen_fs(test):
    """A file system that is frozen: the function of the kernel that waits is a generic one, of which
    that which called it says what it is."""
    kdneeds.need("losetup", "mke2fs", "mount", "fsfreeze")
    folder = test.directory()
    with open(folder / "image", "wb") as image:
        image.truncate(32 << 20)
    subprocess.run(["modprobe", "-qa", "loop", "ext4"], check=False, stderr=subprocess.DEVNULL)
    disk = subprocess.run(["losetup", "--find", "--show", folder / "image"], text=True,
                          stdout=subprocess.PIPE, check=False).stdout.strip()
    if not disk:
        raise kdtest.Skip("no disk of a file here")
    test.stack.callback(subprocess.run, ["losetup", "--detach", disk], check=True)
    subprocess.run(["mke2fs", "-q", "-t", "ext4", disk], check=True)
    mounted = folder / "mounted"
    mounted.mkdir()
    subprocess.run(["mount", disk, mounted], check=True)
    test.stack.callback(subprocess.run, ["umount", mounted], check=True)
    subprocess.run(["fsfreeze", "-f", mounted], check=True)
    writer = test.child(["sh", "-c", f"echo x >{mounted}/file"])
    later = test.child(["sh", "-c", f"read line; echo x >{mounted}/other"])
    for child in (writer, later):
        test.stack.callback(child.wait)
    test.stack.callback(subprocess.run, ["fsfreeze", "-u", mounted], check=True)
    kdtest.wait_until(lambda: kdtest.state_of(writer.pid, writer.pid) == "D")
    with open(f"/proc/{writer.pid}/stack", encoding="ascii") as file:
        if not re.search(r"percpu_rwsem_wait.*\n.*mnt_want_write\+", file.read()):
            raise kdtest.Skip("this kernel's stacks do not tell")
    verdict, said, _ = report(test, writer.pid)
    test.ok("waited for a frozen file system to be thawed" in said, "in words", said)
    test.ok(verdict[0]["share"] >= 0.95, "all of the time", verdict)
    # Of one that begins meanwhile, the kernel says that it is for a lock.
    kdtest.wait_until(lambda: kdtest.state_of(later.pid, later.pid) == "S")
    begun = time.monotonic()
    watch = test.capture(later.pid, "--summary")
    later.send("go")
    kdtest.wait_until(lambda: kdtest.state_of(later.pid, later.pid) == "D")
    time.sleep(2 * (time.monotonic() - begun))  # so that it is most of the window
    watch.interrupt(test, "a sample")
    said = re.sub(r"\n {8}", " ", watch.stdout)
    test.ok("waited for a frozen file system to be thawed" in said, "of one that began later", said)


def case_chosen(test):
    """The window is a call that sleeps: that is its delay, and other threads are not in the verdict."""
    load = test.workload("caller", "sleeps:3:100:1:200000")
    path = test.directory() / "json"
    run = Triggered(test, load.pid, *BOTH, "--sample-count", "1", "-o", f"json:{path}", "-o", "-")
    calls = Log(load, load.go()).calls()
    run.finish(test)
    sample, = kdtest.samples_of(path)
    test.ok(calls, "it was called")
    test.eq(sample["verdict_tid"], sample["window"]["start_tid"], "of the thread that hit both")
    window = sample["window"]["end_ns"] - sample["window"]["start_ns"]
    test.between(sample["busy_ns"], 0.99 * window, 1.01 * window, "nothing of it is idle")
    row = sample["verdict"][0]
    slept = sum(row["ns"] for row in sample["verdict"] if row["cause"] == "wait")
    thread = kdtest.thread_of(sample, sample["verdict_tid"])
    asleep = sum(thread["ledger"][state]
                 for state in ("blocked_ns", "blocked_uninterruptible_ns"))
    test.eq(row["cause"], "wait", "it slept, more than anything else")
    test.between(slept, asleep - MS, asleep + MS, "as long as it slept")
    said = test.program("--replay", path, "--summary").stdout
    first, = re.findall(r"^VERDICT (.*)\n        (.*)$", said, re.MULTILINE)[:1]
    test.ok(re.match(rf"{BOTH[1].split(':')[-1]} took [0-9.]+ \w+ in sleeps\[\d+\]: "
                     r"[0-9.]+ \w+ asleep in \w*nanosleep \(clock_nanosleep\)", " ".join(first)),
            "in words, first", first)


def case_command(test):
    """So is all of a command with one thread, and its own thread with others."""
    path = test.directory() / "json"
    done = test.program("-o", f"json:{path}", "-o", "-", "--summary", "--", "sleep", "0.2")
    sample, = kdtest.samples_of(path)
    life = kdtest.thread_of(sample, sample["pid"])["ledger"]["life_ns"]
    test.eq(sample["verdict_tid"], sample["pid"], "it is about the command")
    test.eq(sample["busy_ns"], life, "nothing of it is idle")
    test.eq(sample["verdict"][0]["cause"], "wait", "it slept")
    test.ok(sample["capture"]["command"], "it was started")
    said = re.sub(r"\n {8}", " ", done.stdout)
    test.ok(re.search(rf"VERDICT sleep\[{sample['pid']}\] took [0-9.]+ ms: [0-9.]+ ms asleep in ", said),
            "in words", said)
    shown = sum(float(ns) * {"us": 1e3, "ms": 1e6, "s": 1e9}[unit] for ns, unit in
                re.findall(r"[:,] ([0-9.]+) (us|ms|s) ", re.search(r"^VERDICT (.*)$", said, re.M)[1]))
    test.between(shown, 0.98 * life, 1.02 * life, "the times add up to its life")


kdtest.main(case_child, case_lock, case_pipe, case_lease, case_served, case_pager, case_frozen_fs, case_chosen, case_command)
