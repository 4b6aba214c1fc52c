#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""At which descriptors a process waited, and who was at the other end: here this test, which writes
to a child that logs its waits."""

import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import threading
import time

import kdneeds
import kdstaged
import kdtest
from kdgroup import disk_group
from kdheld import Held
from kdlooks import LOOKS, disk_bytes, read_by
from kdtest import MS

PAUSE = 0.02       # s between what ends two waits
SAMPLE = 0.4
EACH = 2_000_000   # ns: of an interpreter around each wait

# It reads from the descriptor that it is told, byte by byte, and logs when each read began and
# ended.
READER = """
import os, sys, time
log, fd = [], -1
kind, where = sys.argv[1:]
if kind == "fifo":
    fd = os.open(where, os.O_RDONLY)
else:
    import socket
    end = socket.socket(socket.AF_UNIX if kind == "unix" else
                        socket.AF_INET6 if kind == "tcp6" else socket.AF_INET)
    end.connect(where if kind == "unix" else ("::1" if kind == "tcp6" else "127.0.0.1",
                                              int(where)))
    fd = end.fileno()
print("fd", fd, flush=True)
while True:
    before = time.monotonic_ns()
    if not os.read(fd, 1):
        break
    log.append((before, time.monotonic_ns()))
print(log, flush=True)
sys.stdin.read()
"""


class Reader:
    """A child that reads, and a thread of this process that sends it a byte now and then."""

    def __init__(self, test, kind):
        directory, self.local, listener = test.directory(), None, None
        # A name that would spoil a terminal, a table, or a line of JSON.
        self.path = os.fsencode(directory) + b'/\x1b[2J "\xff\n)'
        if kind == "fifo":
            os.mkfifo(self.path)
            where = self.path
        elif kind == "unix":
            self.path = os.fsencode(directory / "end point")
            listener, where = socket.socket(socket.AF_UNIX), self.path
            listener.bind(self.path)
        else:
            listener = socket.socket(socket.AF_INET6 if kind == "tcp6" else socket.AF_INET)
            listener.bind(("::1" if kind == "tcp6" else "127.0.0.1", 0))
            where = str(listener.getsockname()[1])
        if listener:
            listener.listen()
        self.child = test.child([sys.executable, "-c", READER, kind, os.fsdecode(where)])
        if listener:
            self.end, _ = listener.accept()
            listener.close()
            if kind != "unix":
                self.local = self.end.getpeername()[:2]
                self.peer = self.end.getsockname()[:2]
            self.end = self.end.detach()
        else:
            self.end = os.open(where, os.O_WRONLY)
        self.fd = int(self.child.line("fd").split()[1])
        self.stop = threading.Event()
        self.sender = threading.Thread(target=self.send)
        self.sender.start()

    def send(self):
        self.tid = threading.get_native_id()
        while not self.stop.wait(PAUSE):
            os.write(self.end, b"x")
        os.close(self.end)

    def log(self):
        """Ends the child; returns [(before, after)] of its reads."""
        self.stop.set()
        self.sender.join()
        return json.loads(self.child.line("[").replace("(", "[").replace(")", "]"))


class Run:
    def __init__(self, test, kind, *options):
        self.path = test.directory() / "report.json"
        self.reader = Reader(test, kind)
        time.sleep(3 * PAUSE)
        self.done = test.program("-p", self.reader.child.pid, "--sample-time", SAMPLE, "-o",
                                 f"json:{self.path}", "-o", "-", *options)
        self.reads = self.reader.log()
        self.sample = json.loads(self.path.read_text().splitlines()[0])
        self.rows = self.sample["threads"][0]["descriptors"]
        self.row = next((row for row in self.rows if row["fd"] == self.reader.fd), {})


def check_row(test, run, kind, name):
    """Compares the waits that ended in the window, and the one open at its end, with the child's
    log."""
    row, reader = run.row, run.reader
    if not test.ok(row, f"{name}: the descriptor has a row", run.rows):
        return
    start, end = run.sample["window"]["start_ns"], run.sample["window"]["end_ns"]
    waits = [(before, min(after, end)) for before, after in run.reads
             if after > start and before < end]
    test.eq((row["for"], len(run.rows)), (kind, 1), f"{name}: its kind, and no other")
    # On a busy machine the child may find a byte there, and has to wait for a CPU in its reads.
    # One may be about to end at the edges.
    thread = run.sample["threads"][0]
    blocked = thread["blocked"][kind]
    test.between(row["count"], blocked["count"] - 2, min(blocked["count"], len(waits)) + 2,
                 f"{name}: how many waits")
    truth = sum(after - before for before, after in waits)
    ledger = thread["ledger"]
    awake = (ledger["life_ns"] - ledger["blocked_ns"] -
             ledger["blocked_uninterruptible_ns"])
    longest = max(after - before for before, after in run.reads)
    test.between(row["total_ns"], truth - awake - EACH * len(waits) - 2 * longest,
                 truth + EACH * len(waits) + 2 * longest, f"{name}: how long")
    # By who ended the longest; nobody yet if that is the one at the window's end.
    last = max((end - before for before, after in run.reads if before < end < after), default=0)
    ended = max(after - before for before, after in waits if after < end)
    if "ended_by_tid" not in row and last > ended - EACH:
        test.skip(f"{name}: who ended them", "the longest has not ended")
        return
    test.eq((row.get("ended_by_tid"), row.get("ended_by_pid")), (reader.tid, os.getpid()),
            f"{name}: who ended them: this test")


def at_text(row):
    """What a row's descriptor stands for, as bytes."""
    return bytes.fromhex(row["path_hex"]) if "path_hex" in row else row["path"].encode()


def case_fifo(test):
    run = Run(test, "fifo")
    check_row(test, run, "pipe", "a FIFO")
    test.eq(at_text(run.row), run.reader.path, "its path, of hostile bytes")
    test.eq(run.row["inode"], os.stat(run.reader.path).st_ino, "its inode")


def case_unix(test):
    run = Run(test, "unix")
    check_row(test, run, "socket", "a unix socket")
    test.eq((run.row["protocol"], at_text(run.row)), ("unix", run.reader.path),
            "the path that it is connected to")


def case_tcp(test):
    for kind in ("tcp", "tcp6"):
        if kind == "tcp6" and not pathlib.Path("/proc/net/if_inet6").exists():
            test.skip("tcp6", "no IPv6 here")
            continue
        run = Run(test, kind)
        check_row(test, run, "socket", kind)
        form = "[{}]:{}" if kind == "tcp6" else "{}:{}"
        test.eq((run.row["protocol"], run.row["local"], run.row["peer"]),
                ("tcp", form.format(*run.reader.local), form.format(*run.reader.peer)),
                f"{kind}: its addresses")
        test.ok("other_net" not in run.row, f"{kind}: in the network namespace of this test")


def case_verdict(test):
    """The first screen names this test, and the descriptor that connects the two."""
    run = Run(test, "fifo", "--summary")
    row = run.sample["verdict"][0]
    test.eq((row["cause"], row["who"].get("pid")), ("peer", os.getpid()), "the first one is blamed")
    test.eq(row["at"]["fd"], run.reader.fd, "and where")
    # Of waits that cross the window's edges a part.
    test.between(row["at"]["ns"], run.row["total_ns"] - 3 * PAUSE * 1e9, run.row["total_ns"],
                 "for how long")
    words = " ".join(run.done.stdout.split())
    test.ok("at the other end of a pipe or socket (fd " in words, "in words", run.done.stdout)


def case_traces(test):
    """Slow calls and long waits name the descriptor, too."""
    run = Run(test, "tcp", "-s", "5ms", "--off-cpu=5ms", "--stack-trace-size=0")
    row, traces = run.row, run.sample["traces"]
    want = f"fd {row['fd']}, tcp {row['local']} to {row['peer']}"
    for kind in ("syscalls", "waits"):
        # On a busy machine there are long waits for a CPU, too.
        found = {trace.get("at") for trace in traces[kind]
                 if not trace.get("state", "").startswith("ready")}
        test.eq(found, {want}, f"{kind}: each has the addresses")


def case_gone(test):
    """A descriptor that is closed and then reused for another file does not get that file's path."""
    fifo = test.directory() / "gone"
    os.mkfifo(fifo)
    child = test.child([sys.executable, "-c", f"""
import os, sys
fd = os.open({str(fifo)!r}, os.O_RDONLY)
print("open", flush=True)
os.read(fd, 1)
other = os.open("/etc/passwd", os.O_RDONLY)
os.dup2(other, fd)
print("closed", flush=True)
sys.stdin.read()
"""])
    end = os.open(fifo, os.O_WRONLY)
    child.line("open")
    path = test.directory() / "report.json"
    capture = test.capture(child.pid, "-o", "-", "-o", f"json:{path}")
    os.write(end, b"x")
    child.line("closed")
    capture.close(test)
    os.close(end)
    rows = json.loads(path.read_text())["threads"][0]["descriptors"]
    test.ok(any(row.get("path") == ".../gone" for row in rows) and
            not any("passwd" in row.get("path", "") for row in rows),
            "only the name that the kernel knew", rows)


def sleeps_at(pid, fd):
    """Whether a process sleeps in a call whose first argument is this descriptor."""
    return pathlib.Path(f"/proc/{pid}/syscall").read_text().split()[1:2] == [f"{fd:#x}"]


def case_many(test):
    """One thread at many descriptors, several times at each, however short its waits."""
    pipes, times = [os.pipe() for _ in range(11)], 3
    ends = [end for end, _ in pipes]
    child = test.child([sys.executable, "-c", f"""
import os, sys
print("ready", flush=True)
sys.stdin.readline()
for end in {ends * times}:
    os.read(end, 1)
print("done", flush=True)
sys.stdin.read()
"""], pass_fds=ends)
    child.line("ready")
    path = test.directory() / "report.json"
    capture = test.capture(child.pid, "--detail=0", "-o", "-", "-o", f"json:{path}")
    child.send("go")
    for end, other in pipes * times:
        kdtest.wait_until(lambda end=end: sleeps_at(child.pid, end))
        os.write(other, b"x")
    child.line("done")
    capture.close(test)
    rows = [row for row in json.loads(path.read_text())["threads"][0]["descriptors"]
            if row["fd"] in ends]
    test.eq(sorted((row["fd"], row["count"]) for row in rows), sorted((end, times) for end in ends),
            "each has a row with all its waits")
    test.eq({row["ended_by_tid"] for row in rows}, {os.getpid()}, "ended by who wrote")
    for pair in pipes:
        for end in pair:
            os.close(end)


def case_file(test):
    """flock: the row names the file, and the disk that it is on."""
    path = pathlib.Path("/var/tmp") / f"kernel_delay-{os.getpid()}"
    path.write_text("")
    try:
        load = test.workload("blocked", "flock")
        time.sleep(0.05)
        report = test.directory() / "report.json"
        test.program("-p", load.pid, "--sample-time", "0.2", "-o", f"json:{report}")
        device = path.stat().st_dev
    finally:
        path.unlink()
    sample = json.loads(report.read_text())
    rows = [row for thread in sample["threads"] if thread["name"] == "flock"
            for row in thread["descriptors"]]
    test.eq({row["path"] for row in rows},
            {f"/var/tmp/kernel_delay-flock-{load.pid} (deleted)"}, "the file")
    if os.major(device):
        number = f"{os.major(device)}:{os.minor(device)}"
        name = os.path.basename(os.readlink(f"/sys/dev/block/{number}"))
        test.eq({(row["device_number"], row["device"]) for row in rows}, {(number, name)},
                "its disk")


def case_disk(test):
    """fsync: the verdict blames the disk, by its name."""
    load = test.workload("blocked", "fsync", "/var/tmp/")
    device = os.stat("/var/tmp").st_dev
    time.sleep(0.05)
    report = test.directory() / "report.json"
    test.program("-p", load.pid, "--sample-time", "0.3", "-o", f"json:{report}")
    sample = json.loads(report.read_text())
    thread = next(row for row in sample["threads"] if row["name"] == "fsync")
    if not os.major(device) or "disk" not in thread["blocked"]:
        raise kdtest.Skip("fsync does not wait for a disk here")
    rows = [row for row in thread["descriptors"] if row["for"] == "disk"]
    name = os.path.basename(os.readlink(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}"))
    test.eq({(row["path"], row["device"]) for row in rows},
            {(f"/var/tmp/kernel_delay-fsync-{load.pid} (deleted)", name)}, "the file and its disk")
    # Of a call that was under way when the program began to look, nothing is known.
    test.between(sum(row["count"] for row in rows), 1, thread["blocked"]["disk"]["count"] + 2,
                 "no more waits than of this kind")
    named = [row for row in sample["verdict"] if row["cause"] == "disk" and row["who"]]
    test.eq({row["who"]["comm"] for row in named} | {name}, {name}, "the verdict names no other")


def case_limit(test):
    """Reads that the limit of their control group holds back: NEXT names the limit, but only while
    it does so."""
    folder, disk = disk_made(test) if kdtest.VM else ("/var/tmp", disk_of("/var/tmp"))
    if not disk:
        raise kdtest.Skip("files are not on a disk here")
    with disk_group(disk) as (group, limit):
        load = test.workload("blocked", "direct", f"{folder}/", wrapper=kdstaged.BEFORE_OTHERS)
        (group / "cgroup.procs").write_text(str(load.pid))
        for reads, held in (1000000, False), (20, True):
            limit(reads)
            path = test.directory() / "limit.json"
            text = test.program("-p", load.pid, "--sample-time", "1", "-o", f"json:{path}", "-o", "-",
                                "--summary").stdout
            sample = json.loads(path.read_text())
            found = sample.get("disk_limit", {})
            test.eq((found.get("group"), found.get("device"), found.get("per_second")),
                    (f"/{group.name}", disk, reads) if held else (None,) * 3, f"{reads} reads a second")
            named = bool(re.search(rf"^NEXT .* of /{group.name} \({disk}: {reads} reads/s\)$", text,
                                   re.MULTILINE))
            if not held:
                test.ok(not named, f"{reads}: NEXT does not name it", text)
                continue
            # Threads of real time, of other tests, may have had the CPU for longer than was read.
            takers = [row["ns"] - row.get("chained_ns", 0) for row in sample["verdict"] if row["cause"] in kdstaged.TAKERS]
            first = next((row for row in sample["verdict"] if row["cause"] not in kdstaged.TAKERS), {})
            test.eq((first.get("cause"), first.get("who", {}).get("comm")),
                    ("disk_limit", f"/{group.name}"), "the limit is the cause")
            test.ok(named or max(takers, default=0) > first.get("ns", 0), f"{reads}: NEXT names it", text)
            ready = sum(thread["ledger"][key] for thread in sample["threads"] for key in kdstaged.WAITED)
            test.ok(sum(takers) <= ready + MS, "and others only had the CPU while it waited for one",
                    sample["verdict"], ready)
        load.end()


# Reads a file of 64 MiB past the page cache, so many bytes at once, and logs how many and when.
READING = """
import mmap, os, sys, time
file = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
size = int(sys.argv[2])
buffer = mmap.mmap(-1, size)
print("ready", flush=True)
at = done = logged = 0
while True:
    done += os.preadv(file, [buffer], at)
    at = (at + size) % (64 << 20)
    now = time.monotonic_ns()
    if now - logged > 5_000_000:
        print(now, done, flush=True)
        logged = now
"""


def case_others_use(test):
    """Who else reads from the disk that a process waits for: named if it has most of the bytes."""
    disk = disk_of("/var/tmp")
    if not disk:
        raise kdtest.Skip("files are not on a disk here")
    path = f"/var/tmp/kdtest-{os.getpid()}"
    test.stack.callback(os.unlink, path)
    with open(path, "wb") as file:
        for _ in range(64):
            file.write(os.urandom(1 << 20))
        os.fsync(file.fileno())
    small, large = (test.child([sys.executable, "-c", READING, path, size]) for size in (4096, 1 << 20))
    for child in (small, large):
        child.line("ready")
    report = test.directory() / "use.json"
    library = test.preload(LOOKS)
    tries = []
    for _ in range(10):  # others may use the disk, too, or write what reaches it later
        before, total = time.monotonic_ns(), disk_bytes(disk)
        done = test.program("-p", small.pid, "--sample-time", "0.5", "-o", f"json:{report}", "-o", "-", "--summary",
                            env={**os.environ, "LD_PRELOAD": library, "LOOK_AT": f"/proc/{large.pid}/io"})
        tries.append((before, time.monotonic_ns(), disk_bytes(disk) - total))
        sample = json.loads(report.read_text())
        use = sample.get("disk_use")
        if use and use["pid"] == large.pid:
            break
    over = time.monotonic_ns()
    while int(large.line().split()[0]) <= over:
        pass
    large.end()
    alone = test.directory() / "alone.json"
    test.program("-p", small.pid, "--sample-time", "0.5", "-o", f"json:{alone}")
    small.end()
    test.ok(json.loads(alone.read_text()).get("disk_use", {}).get("pid") != large.pid, "nobody that has ended")
    log = [tuple(map(int, line.split())) for line in large.stdout.splitlines() if line[0].isdigit()]
    shares = [(read_by(log, end)[0] - read_by(log, begin)[1]) / max(all_of, 1) for begin, end, all_of in tries]
    if (not use or use["pid"] != large.pid) and max(shares) < 0.8:
        raise kdtest.Skip(f"others used the disk: of its bytes it had {shares}")
    device = {row.get("device") for thread in sample["threads"] for row in thread["descriptors"]
              if row["for"] == "disk"}
    if not test.ok(use, "it is found", sample):
        return
    test.eq((use["pid"], use["device"] in device), (large.pid, True), "who has most, of which disk")
    looks = [tuple(map(int, line.split()[1:])) for line in done.stderr.splitlines() if line.startswith("look ")]
    if test.ok(len(looks) >= 2, "it looked when a thread waited, and at the end", done.stderr):
        first, last = ([read_by(log, at) for at in looks[index]] for index in (0, -1))
        test.between(use["bytes"], last[0][0] - first[1][1], last[1][1] - first[0][0], "as many as it read meanwhile")
    test.between(use["all_bytes"], use["bytes"], 2 * use["bytes"], "most of all")
    row = sample["verdict"][0]
    if row["cause"] == "disk":
        test.ok(re.search(rf", of whose bytes python3\S*\[{large.pid}\] had \d+ %", " ".join(done.stdout.split())),
                "which is said", done.stdout)


def case_requests(test):
    """Reads past the page cache: the disk's part of each lies inside the call."""
    if not os.major(os.stat("/var/tmp").st_dev):
        raise kdtest.Skip("files are not on a disk here")
    load = test.workload("blocked", "direct", "pipe", "/var/tmp/")
    time.sleep(0.05)
    report = test.directory() / "report.json"
    text = test.program("-p", load.pid, "--sample-time", "0.5", "-o", f"json:{report}", "-o", "-",
                        "--full").stdout
    log = load.ask("log")["direct"]["waits"]
    sample = json.loads(report.read_text())
    start, end = sample["window"]["start_ns"], sample["window"]["end_ns"]
    threads = {row["name"]: row for row in sample["threads"]}
    rows = [row for row in threads["direct"]["descriptors"] if row["for"] == "disk"]
    if not test.ok(rows, "it waited for a disk", threads["direct"]["descriptors"]):
        return
    got = {key: sum(row[key] for row in rows)
           for key in ("count", "total_ns", "requests", "request_total_ns")}
    calls = [after - before for before, _, after in log if after > start and before < end]
    # A hypervisor may take the CPU between a completion and the wake-up.
    test.between(got["requests"], got["count"] / 2, got["count"], "the requests that ended waits")
    # The thread sleeps while its request is under way, if that need not queue.
    test.between(got["request_total_ns"], got["total_ns"] / 4 * got["requests"] / got["count"],
                 sum(calls) + 100 * MS, "as long as the waits, and no longer than all calls")
    test.between(max(row["request_max_ns"] for row in rows), got["request_total_ns"] /
                 max(got["requests"], 1), max(calls) + 100 * MS, "the longest")
    queued = sum(row.get("request_queued_ns", 0) for row in rows)
    test.between(queued, 0, sum(calls) - got["request_total_ns"] + 100 * MS, "queued within the calls")
    test.ok(re.search(rf"; requests: {rows[0]['requests']:,} in {rows[0]['request_total_ns']:,} ns",
                      text), "the section has what JSON has", text)
    metrics = test.program("--replay", report, "-o", "openmetrics").stdout
    told = re.findall(r'^kernel_delay_disk_requests_total\{device="(.*)"\} (\d+)$', metrics, re.M)
    test.eq(told, [(rows[0]["device"], str(got["requests"]))], "metrics have them by disk")
    if got["total_ns"] < (end - start) / 5:
        raise kdtest.Skip("it hardly waited for the disk")
    disks = [row for row in sample["verdict"] if row["cause"] == "disk"]
    test.ok(disks, "the verdict has a disk", sample["verdict"])
    for row in disks:
        test.eq((row["requests"], row["request_total_ns"]),
                (got["requests"], got["request_total_ns"]), "and so has the verdict")
    test.ok(not any(row["requests"] for row in threads["pipe"]["descriptors"]),
            "a pipe has none", threads["pipe"]["descriptors"])


def disk_made(test):
    """A directory on a disk that is a file in memory, and the name of that disk."""
    kdneeds.need("modprobe", "losetup", "mke2fs", "mount")
    folder = test.directory()
    with open(folder / "image", "wb") as image:
        image.truncate(64 << 20)
    # It fails where both are built in.
    subprocess.run(["modprobe", "-qa", "loop", "ext4"], check=False, stderr=subprocess.DEVNULL)
    disk = subprocess.run(["losetup", "--find", "--show", folder / "image"], text=True, check=True,
                          stdout=subprocess.PIPE).stdout.strip()
    test.stack.callback(subprocess.run, ["losetup", "--detach", disk], check=True)
    subprocess.run(["mke2fs", "-q", "-t", "ext4", disk], check=True)
    (folder / "mounted").mkdir()
    subprocess.run(["mount", disk, folder / "mounted"], check=True)
    test.stack.callback(subprocess.run, ["umount", folder / "mounted"], check=True)
    return folder / "mounted", os.path.basename(disk)


# It joins a control group, and writes file after file there.
BULK = """
import os, sys
with open(sys.argv[1] + "/cgroup.procs", "w") as group:
    group.write("0")
data = os.urandom(1 << 20)
print("ready", flush=True)
while True:
    file = os.open(sys.argv[2], os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    for _ in range(4):
        os.write(file, data)
    os.fsync(file)
    os.close(file)
"""

# It needs a few bytes to be certain; prints when it began and how long that took.
SMALL = """
import os, sys, time
file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
print("ready", flush=True)
while True:
    begun = time.monotonic_ns()
    os.write(file, b"x")
    os.fsync(file)
    print("took", begun, time.monotonic_ns() - begun, flush=True)
    time.sleep(0.01)
"""


def case_journal(test):
    """Who needs the journal waits for the data of another process, which a limit of that one's group
    holds back."""
    folder, disk = disk_made(test)
    # Else a transaction that allocates space does not wait for the data.
    if subprocess.run(["mount", "-o", "remount,dioread_lock", folder], check=False,
                      stderr=subprocess.DEVNULL).returncode:
        raise kdtest.Skip("a file system without such a mount option")
    with disk_group(disk) as (group, limit):
        limit(written=2 << 20)
        bulk = test.child([sys.executable, "-c", BULK, group, folder / "bulk"])
        bulk.line("ready")
        small = test.child([sys.executable, "-c", SMALL, folder / "small"])
        for _ in range(2):
            small.line("took")
        path = test.directory() / "json"
        done = test.program("-p", small.pid, "--sample-time", "3s", "--sample-count", "1", "--summary",
                            "-o", "-", "-o", f"json:{path}")
        sample, = kdtest.samples_of(path)
        slow, begun = 0, 0
        while begun < sample["window"]["end_ns"]:
            begun, took = map(int, small.line("took").split()[1:])
            overlap = min(begun + took, sample["window"]["end_ns"]) - max(begun, sample["window"]["start_ns"])
            slow += overlap if took > 100 * MS and overlap > 0 else 0
        bulk.end()
        small.end()
    if slow < 1.5e9:
        raise kdtest.Skip(f"the journal does not wait here: {slow / 1e9:.1f} s of 3 s")
    use, row = sample.get("journal_use", {}), sample["verdict"][0]
    test.eq((row["cause"], row["who"]["comm"]), ("disk", disk), "the disk")
    test.ok(use.get("journal", "").startswith(f"jbd2/{disk}-"), "its journal", use)
    test.eq((use.get("waits"), use.get("pid")), (True, bulk.pid), "which waited for data of the other")
    test.eq((use.get("limit", {}).get("group"), use.get("limit", {}).get("per_second")),
            (f"/{group.name}", 2 << 20), "and which limit holds that back")
    said = re.sub(r"\n {8}", " ", done.stdout)
    test.ok(f", which waited for data of {use.get('name')}[{bulk.pid}], held back by the disk limit of the "
            f"group /{group.name}" in said, "in words", said)
    test.ok(re.search(rf"^NEXT +raise \S+ of /{group.name} ", said, re.MULTILINE), "what to do", said)


SPIN = "import os; os.sched_setaffinity(0, [{}]); print('ready', flush=True)\nwhile True: pass"


def case_worker(test):
    """A worker of the kernel that has a CPU: what it does is said. It is the one of a disk whose data
    are in memory, and who computes waits for it."""
    folder, disk = disk_made(test)
    with open(folder / "file", "wb") as file:
        for _ in range(32):
            file.write(os.urandom(1 << 20))
        os.fsync(file.fileno())
    reader = test.child([sys.executable, "-c", READING.replace("64 << 20", "32 << 20"), folder / "file",
                         1 << 20])
    load = [test.child([sys.executable, "-c", SPIN.format(cpu)]) for cpu in os.sched_getaffinity(0)]
    for child in (reader, *load):
        child.line("ready")
    path = test.directory() / "worker.json"
    for _ in range(5):
        test.program("-p", ",".join(str(child.pid) for child in load), "--sample-time", "0.5", "-o",
                     f"json:{path}")
        sample = json.loads(path.read_text())
        works = {row["tid"]: row["work"] for row in sample.get("workers", [])}
        if disk in works.values():
            break
        if any(row["who"].get("comm") == disk for row in sample["verdict"]):
            raise kdtest.Skip("this kernel has a thread for it, which is called after it")
    for child in (reader, *load):
        child.end()
    if not test.ok(disk in works.values(), "what it does", disk, sample.get("workers"), sample["verdict"]):
        return
    for row in sample["verdict"]:
        if row["who"].get("tid") in works:
            test.eq(row["who"].get("work"), works[row["who"]["tid"]], "which the verdict has, too")


def disk_of(path):
    """The name of the disk that a file is on; None if it is composed of others."""
    device = os.stat(path).st_dev
    place = pathlib.Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}").resolve()
    if (place / "partition").exists():
        place = place.parent
    return place.name if os.major(device) and (place / "device").exists() else None


def case_traced_requests(test):
    """Slow calls and long waits name the disk, and the part of their time that it took."""
    if not os.major(os.stat("/var/tmp").st_dev):
        raise kdtest.Skip("files are not on a disk here")
    load = test.workload("blocked", "direct", "pipe", "/var/tmp/")
    time.sleep(0.05)
    report = test.directory() / "report.json"
    test.program("-p", load.pid, "--sample-time", "0.3", "-s", "1us", "--off-cpu=1us",
                 "--stack-trace-size=0", "-o", f"json:{report}")
    log = load.ask("log")["direct"]["waits"]
    traces, disk = json.loads(report.read_text())["traces"], disk_of("/var/tmp")
    for kind in ("syscalls", "waits"):
        rows = [row for row in traces[kind] if row["name"] == "direct"
                and row.get("syscall", {}).get("name") == "pread64"
                and row.get("waited_ns", 1) and not row.get("state", "").startswith("ready")
                and row.get("end_ns")]
        asked = [row for row in rows if "request_ns" in row]
        # A hypervisor may take the CPU between a completion and the wake-up.
        if not test.ok(len(asked) >= len(rows) / 2 > 0, f"{kind} that requests ended", len(asked),
                       len(rows)):
            continue
        if disk:
            test.eq({row["disk"] for row in asked}, {disk}, f"{kind}: whose")
        # The workload reads its clock right around each call.
        calls = {max((before for before, _, after in log if before <= row["start_ns"]),
                     default=0): row for row in asked}
        whole = {before: after - before for before, _, after in log}
        test.ok(all(row["request_ns"] <= whole[before] for before, row in calls.items() if before),
                f"{kind}: a request is no longer than its call")
        test.ok(not any("request_ns" in row for row in traces[kind] if row["name"] == "pipe"),
                f"{kind} at a pipe have none")


def case_ends_before_reading(test):
    """A wait that continues past the window's end, and is over by the time the program reads it."""
    kdtest.only_on_host("a program that is stopped, and what others do meanwhile")
    held = Held(test)
    tid, began = held.begin("read", "reader")
    asleep = held.asleep(tid)
    held.open()
    time.sleep(0.05)
    least, most = held.close()
    held.release()
    rows = held.thread(held.read(), tid)["descriptors"]
    test.eq([(row["for"], row["count"]) for row in rows], [("pipe", 1)], "it is listed")
    test.between(rows[0]["total_ns"], least - asleep, most - began,
                 "with its time until the window's end")
    test.eq(rows[0].get("ended_by_tid"), None, "and nobody has ended it by then")


kdtest.main(case_fifo, case_unix, case_tcp, case_verdict, case_traces, case_gone, case_many,
            case_file, case_disk, case_limit, case_others_use, case_journal, case_requests,
            case_traced_requests, case_worker, case_ends_before_reading)
