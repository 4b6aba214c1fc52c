#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What threads and processes used: bytes against the threads' own logs and the kernel's counts in
/proc/PID/io, CPU time against the process's clock, memory against /proc/PID/statm, requests to the
disk against their bytes."""

import json
import os
import pathlib
import socket
import subprocess
import sys
import time

import kdneeds
import kdtest

ROLES = ("pair", "tcp", "udp", "file", "pipe", "epoll", "copy", "tty")
KEYS = ("read_calls", "read_bytes", "written_calls", "written_bytes")
PAGE = os.sysconf("SC_PAGESIZE")
TRIES = 4


def takes_direct(folder):
    """Whether files there can be read and written past the page cache."""
    try:
        os.close(os.open(folder / "probe", os.O_RDWR | os.O_CREAT | os.O_DIRECT))
    except OSError:
        return False
    return True


def sample(test, pid, *args):
    """A window that is closed when the caller says so: (capture, function that closes it)."""
    path = test.directory() / "report.json"
    capture = test.capture(pid, "--resources", "-o", "-", "-o", f"json:{path}", *args)

    def close():
        report = capture.close(test)
        return report, json.loads(path.read_text())
    close.capture = capture
    return close


def io_of(thread):
    """{kind: [calls read, bytes read, calls written, bytes written]}, as the workload logged it."""
    return {kind: [row[key] for key in KEYS] for kind, row in thread.get("io", {}).items()}


def proc_io(pid, tid):
    text = pathlib.Path(f"/proc/{pid}/task/{tid}/io").read_text()
    return {key: int(value) for key, value in (line.split(": ") for line in text.splitlines())}


def case_bytes(test):
    """Each thread's own count; and the kernel's, for the kinds that the kernel counts."""
    load = test.workload("bytes", test.directory(), *ROLES)
    before = {role: proc_io(load.pid, load.tid(role)[0]) for role in ROLES}
    close = sample(test, load.pid)
    truths = load.go()["threads"]
    after = {role: proc_io(load.pid, load.tid(role)[0]) for role in ROLES}
    report, found = close()
    test.books(report)
    total = {}
    for truth in truths:
        want = {kind: row for kind, row in truth["io"].items() if any(row)}
        # The byte of a pipe that the thread waited for, and the one that it wrote then.
        want["pipe"] = [a + b for a, b in zip(want.get("pipe", [0] * 4), [1] * 4)]
        got = io_of(kdtest.thread_of(found, truth["tid"]))
        test.eq(got, want, f"{truth['role']}: what it read and wrote")
        for kind, row in got.items():
            total[kind] = [a + b for a, b in zip(total.get(kind, [0] * 4), row)]
    # Sockets that are not read by read() and tee are not in it.
    for role in ("file", "pipe"):
        tid = load.tid(role)[0]
        rows = io_of(kdtest.thread_of(found, tid)).values()
        grown = {key: after[role][key] - before[role][key] for key in ("rchar", "wchar")}
        if role == "file":
            test.eq(grown, {"rchar": sum(row[1] for row in rows),
                            "wchar": sum(row[3] for row in rows)}, f"{role}: as /proc/PID/io")
    main = io_of(kdtest.thread_of(found, load.pid))
    usage, = found["resources"]
    for kind, row in main.items():
        total[kind] = [a + b for a, b in zip(total.get(kind, [0] * 4), row)]
    sums = {kind: row for kind, row in io_of(usage).items() if any(row)}
    test.eq(sums, total, "the process has the sum of its threads")
    test.eq(usage["pid"], load.pid, "its PID")


def case_disk(test):
    """Requests past the page cache: as many bytes as the thread requested and the kernel counts for
    it."""
    folder = pathlib.Path(os.environ.get("KD_DISK", "/var/tmp"))
    work = folder / f"kdtest-{os.getpid()}"
    work.mkdir()
    test.stack.callback(work.rmdir)
    test.stack.callback(lambda: [path.unlink() for path in work.iterdir()])
    if not takes_direct(work):
        raise kdtest.Skip(f"{folder} takes no direct I/O")
    for _ in range(TRIES):
        load = test.workload("bytes", work, "direct")
        tid = load.tid("direct")[0]
        before = proc_io(load.pid, tid)
        close = sample(test, load.pid)
        truth, = load.go()["threads"]
        after = proc_io(load.pid, tid)
        report, found = close()
        # A task that the kernel hides may have had the CPU that a request's end interrupted.
        if not any("to disks are missing" in text or "to a disk is missing" in text
                   for text in report.warnings):
            break
    test.books(report)
    if after["write_bytes"] == before["write_bytes"]:
        raise kdtest.Skip(f"{folder} is on no disk")
    rows = kdtest.thread_of(found, tid).get("block_requests", [])
    for operation, key in (("write", "write_bytes"), ("read", "read_bytes")):
        own = [row for row in rows if row["operation"] == operation]
        # What the file system reads to find its blocks is its own.
        if not test.between(sum(row["bytes"] for row in own), truth["direct"],
                            max(truth["direct"], after[key] - before[key]) + (1 << 20),
                            f"bytes of requests: {operation}"):
            test.remark(rows, before, after, *report.warnings)
        for row in own:
            test.ok(row["device"] and (pathlib.Path("/sys/class/block") / row["device"]).exists(),
                    f"{operation}: the disk is one", row["device"])
            test.eq(sum(bucket["count"] for bucket in row["buckets"]), row["count"],
                    f"{operation}: each is in the distribution")
            test.ok(0 < row["max_ns"] <= row["total_ns"], f"{operation}: they took their time", row)
            test.ok(row["p50_ns"] <= row["p99_ns"] <= row["max_ns"], f"{operation}: shares ascend")


# Has the kernel run a program of another process as if requests at this address began: told by their
# number. bpf(2): BPF_PROG_GET_FD_BY_ID is 13, BPF_PROG_TEST_RUN 10, of which the context is one word.
BEGINS = """import ctypes, os, struct, sys
BPF = {"x86_64": 321}.get(os.uname().machine, 280)
def bpf(command, attributes):
    room = ctypes.create_string_buffer(attributes, 120)
    return ctypes.CDLL(None, use_errno=True).syscall(ctypes.c_long(BPF), command, room, len(room))
print("ready", flush=True)
program, times = map(int, sys.stdin.readline().split())
word = ctypes.c_uint64(0xffff888000001000)
file = bpf(13, struct.pack("I", program))
print(*(bpf(10, struct.pack("IIIIQQIIIIQQ", file, 0, 0, 0, 0, 0, 0, 0, 8, 0, ctypes.addressof(word), 0))
        for _ in range(times)), flush=True)
sys.stdin.read()
"""


def case_hidden_end(test):
    """A request at the address of one that has not ended: the latter's end was never reported, so
    it is missing. The same happens where the kernel hides the task that the completion
    interrupts."""
    load = test.child([sys.executable, "-c", BEGINS])
    load.line("ready")
    capture = test.capture(load.pid, "--resources")
    programs = [number for number, name in kdneeds.named_objects(capture.pid, "prog").items()
                if name.startswith("kd_request_star")]
    if not programs:
        raise kdtest.Skip("this kernel has no block_io_start (before 6.5)")
    load.send(f"{programs[0]} 3")
    test.eq(load.line(), "0 0 0", "three begin at one address")
    report = capture.close(test)
    test.books(report, losses=True)
    told = [text for text in report.warnings if "request" in text]
    test.ok(len(told) == 1 and "WARNING: 2 requests to disks are missing" in told[0], "two are missing",
            *told)


def case_cpu_and_memory(test):
    """CPU time against the process's own clock, memory against /proc."""
    kdtest.only_on_host("counts of pages and clocks that are exact at once")
    load = test.workload("faulter", "minor:2000:1:-1")
    load.settle()  # or what it runs on its way to sleep is in no window
    statm = pathlib.Path(f"/proc/{load.pid}/statm")

    def resident():
        return int(statm.read_text().split()[1]) * PAGE

    def peak():
        return max(int(kdtest.status_field(load.pid, "VmHWM")) * 1024, resident())
    start, before = resident(), time.clock_gettime_ns(kdtest.cpu_clock(load.pid))
    close = sample(test, load.pid)
    load.go()
    load.settle()
    end, after = resident(), time.clock_gettime_ns(kdtest.cpu_clock(load.pid))
    peaks = [peak()]
    _, found = close()
    ends = sorted((end, resident()))  # around the program's reading
    peaks.append(peak())
    usage, = found["resources"]
    test.ok(end >= start + 2000 * PAGE, "it has touched its pages")
    test.eq(usage["memory_start_bytes"], start, "memory at the start")
    test.between(usage["memory_end_bytes"], *ends, "memory at the end")
    test.between(usage["memory_peak_bytes"], *peaks, "its peak")
    test.between(usage["cpu_ns"], (after - before) * 0.999 - 100_000, (after - before) * 1.01 + 5e6,
                 "CPU time")


def case_many_groups(test):
    """The peak of memory comes after the groups in /proc/PID/status, however many there are."""
    code = ("import os,sys\n"
            "os.setgroups(range(1000000, 1002000))\n"
            "bytearray(b'x') * (64 << 20)\n"
            "print(0,flush=True)\n"
            "sys.stdin.readline()\n")
    child = test.child(["python3", "-c", code])
    child.line()
    close = sample(test, child.pid)
    _, found = close()
    usage, = found["resources"]
    test.eq(usage["memory_peak_bytes"], int(kdtest.status_field(child.pid, "VmHWM")) * 1024,
            "its peak")
    test.ok(usage["memory_peak_bytes"] > usage["memory_end_bytes"] + (32 << 20),
            "which has passed", usage)


def case_io_uring(test):
    """Bytes that go through io_uring are not counted, and the report says so."""
    if pathlib.Path("/proc/sys/kernel/io_uring_disabled").exists() and \
            pathlib.Path("/proc/sys/kernel/io_uring_disabled").read_text().strip() == "2":
        raise kdtest.Skip("io_uring is disabled")
    code = ("import ctypes,sys\n"
            "libc=ctypes.CDLL(None)\n"
            "params=ctypes.create_string_buffer(120)\n"
            "fd=libc.syscall(425,4,params)\n"
            "print(fd,flush=True)\n"
            "sys.stdin.readline()\n"
            "for i in range(5): libc.syscall(426,fd,0,0,0,None,0)\n"
            "print('done',flush=True)\n"
            "sys.stdin.readline()\n")
    child = test.child(["python3", "-c", code])
    if int(child.line()) < 0:
        raise kdtest.Skip("there is no io_uring")
    close = sample(test, child.pid)
    child.send("go")
    child.line("done")
    _, found = close()
    usage, = found["resources"]
    test.eq(usage.get("io_uring_calls"), 5, "its calls are counted")


def case_forks(test):
    """Processes forked by a shell, and its own end as another program. Threads are not counted as
    processes."""
    done = test.directory() / "done"
    script = (f"for i in 1 2 3 4 5 6 7; do /bin/true; done; (exit) & wait; "
              f"echo >{done}; read line; exec cat")
    child = test.child(["sh", "-c", f"read line; {script}"])
    close = sample(test, child.pid)
    child.send("go")
    kdtest.wait_until(done.exists)
    child.send("go")
    kdtest.wait_until(lambda: kdtest.thread_name(child.pid, child.pid) == "cat")
    _, found = close()
    usage, = found["resources"]
    test.eq((usage.get("forks"), usage.get("execs")), (8, 1), "forks and execs")
    load = test.workload("churn", "20", "20")
    close = sample(test, load.pid)
    load.go()
    _, found = close()
    test.eq({row.get("forks", 0) for row in found["resources"]}, {0}, "threads are none")


def case_redis(test):
    """Network bytes of a server against its own count."""
    kdneeds.need("redis-server", "redis-benchmark")
    port = kdtest.free_port()
    server = test.child(["redis-server", "--port", port, "--save", "", "--appendonly", "no"])
    kdtest.wait_until(lambda: answers(port))

    def info():
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(b"INFO stats\r\n")
            text = b""
            while b"total_net_output_bytes" not in text or not text.endswith(b"\r\n"):
                text += client.recv(65536)
        fields = dict(line.split(":", 1) for line in text.decode().splitlines() if ":" in line)
        return [int(fields[f"total_net_{way}_bytes"]) for way in ("input", "output")]
    close = sample(test, server.pid)
    before = info()
    subprocess.run(["redis-benchmark", "-p", str(port), "-t", "set,get", "-n", "5000", "-q"],
                   check=True, stdout=subprocess.DEVNULL)
    after = info()
    _, found = close()
    usage, = found["resources"]
    network = usage["io"]["network"]
    # Each query's own bytes are in one of its two answers only: some kilobytes.
    for got, old, new, what in zip((network["read_bytes"], network["written_bytes"]), before, after,
                                   ("read", "written")):
        test.between(got, new - old, new - old + 20_000, f"network bytes {what}")


def case_32_bit(test):
    """A 32-bit program, whose numbers of calls differ: its read is close elsewhere."""
    child = test.child([kdneeds.program_of_32_bits(), "wait"])
    close = sample(test, child.pid)
    child.send("hello")
    child.wait()
    close.capture.wait()  # which ends with it
    _, found = close()
    test.eq(io_of(found["resources"][0])["pipe"], [1, 6, 0, 0], "one read of six bytes")


def case_processes(test):
    """Several processes as one target: each has its own sums."""
    folder = test.directory()
    loads = [test.workload("bytes", folder, role, role) for role in ("pair", "tcp")]
    path = folder / "report.json"
    capture = test.capture(",".join(str(load.pid) for load in loads), "--resources", "-o", "-",
                           "-o", f"json:{path}", "--per-thread")
    truths = {load.pid: load.go()["threads"] for load in loads}
    test.books(capture.close(test))
    found = json.loads(path.read_text())
    test.eq([usage["pid"] for usage in found["resources"]], sorted(truths), "a row for each")
    for usage in found["resources"]:
        kind = {"pair": "pipe", "tcp": "network"}[truths[usage["pid"]][0]["role"]]
        want = [sum(values) for values in zip(*(truth["io"][kind] for truth in
                                                truths[usage["pid"]]))]
        got = io_of(usage)[kind]
        if kind == "network":  # in a pipe are also what the test and the threads tell each other
            test.eq(got, want, f"{kind}: its threads' bytes")
        else:
            test.ok(all(a >= b for a, b in zip(got, want)), f"{kind}: its threads' bytes", got, want)
        test.ok(usage["memory_end_bytes"] <= usage["memory_peak_bytes"], "its memory")


# In a network namespace of its own, whose packets go nowhere: two sockets that send again.
NOWHERE = """
import fcntl, os, socket, struct, subprocess, sys
tun = os.open("/dev/net/tun", os.O_RDWR)
fcntl.ioctl(tun, 0x400454ca, struct.pack("16sH22x", b"kdtest0", 0x1001))  # TUNSETIFF
for words in ("addr add 10.9.9.1/24 dev kdtest0", "link set kdtest0 up"):
    subprocess.run(["ip", *words.split()], check=True)
print("ready", flush=True)
sockets = []
for line in sys.stdin:
    for port in (80, 81) if not sockets else ():
        sockets.append(socket.socket())
        sockets[-1].setblocking(False)
        sockets[-1].connect_ex(("10.9.9.9", port))
    rows = [row.split() for row in open("/proc/net/snmp") if row.startswith("Tcp:")]
    print(dict(zip(*rows))["RetransSegs"], flush=True)
"""


def case_retransmissions(test):
    """Retransmissions against the kernel's count for the network namespace, which contains only
    this process."""
    kdneeds.need("unshare", "ip")
    if not os.access("/dev/net/tun", os.W_OK):
        raise kdtest.Skip("there is no /dev/net/tun")
    child = test.child(["unshare", "-n", sys.executable, "-c", NOWHERE])
    try:
        child.line("ready")
    except EOFError as error:
        raise kdtest.Skip(f"no network of its own: {error}") from None

    def count():
        child.send("")
        return int(child.line())
    close = sample(test, child.pid)
    count()
    kdtest.wait_until(lambda: count() >= 2)
    least = count()
    _, found = close()
    most = count()
    usage, = found["resources"]
    test.between(usage["tcp_retransmissions"], least, most, "as RetransSegs of /proc/net/snmp")
    rows = found["tcp_retransmissions"]
    test.eq(sum(row["count"] for row in rows), usage["tcp_retransmissions"], "by socket")
    test.eq(sorted(row["peer"] for row in rows), ["10.9.9.9:80", "10.9.9.9:81"], "with addresses")
    links = [os.readlink(f"/proc/{child.pid}/fd/{row['fd']}") for row in rows]
    test.eq(links, [f"socket:[{row['inode']}]" for row in rows], "by their descriptors")


def answers(port):
    with socket.socket() as client:
        return not client.connect_ex(("127.0.0.1", port))


def case_not_loaded(test):
    """Without the option no programs or maps are loaded for it."""
    load = test.workload("roles", "poll")
    names = {}
    for option in ((), ("--resources",)):
        capture = test.capture(load.pid, *option)
        names[option] = kdneeds.programs_of(capture.pid)
        capture.close(test)
    own = {"kd_io_exit", "kd_io_exit_classic", "kd_request_begin", "kd_request_end",
           "kd_request_start", "kd_request_merged", "kd_segment_resent", "kd_fork_count",
           "kd_exec_count"}
    test.eq(own & names[()], set(), "none without it")
    test.ok({"kd_request_begin", "kd_request_end", "kd_request_start", "kd_request_merged",
             "kd_segment_resent", "kd_fork_count", "kd_exec_count"} <= names["--resources",],
            "with it they are loaded", sorted(names["--resources",]))


if __name__ == "__main__":
    kdtest.main(case_bytes, case_disk, case_hidden_end, case_cpu_and_memory, case_many_groups,
            case_io_uring, case_forks, case_redis, case_32_bit, case_processes, case_retransmissions, case_not_loaded)
