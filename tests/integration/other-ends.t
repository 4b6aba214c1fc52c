#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Processes that were blocked before they were looked at: who can end that, of all kinds of things that
another process has. And others, which wait for work only: nobody is accused."""

import os
import signal
import socket
import sys

import kdtest

# One who has all that others wait for, and is known to them by its folder; and those who wait, each in a
# process of its own, which says what it got.
COMMON = """
import ctypes, fcntl, mmap, os, pty, signal, socket, struct, sys, time, tty
folder = sys.argv[1]
libc, rt = ctypes.CDLL(None, use_errno=True), ctypes.CDLL("librt.so.1", use_errno=True)
QUEUE, MUTEXES = f"/kdtest{os.path.basename(folder)}".encode(), ("shared", "robust", "inheriting")
shared = os.open(folder + "/memory", os.O_RDWR | os.O_CREAT)
os.ftruncate(shared, 4096)
memory = mmap.mmap(shared, 4096)
def mutex(kind):
    at = ctypes.addressof(ctypes.c_char.from_buffer(memory)) + 64 * MUTEXES.index(kind)
    return ctypes.c_void_p(at)
def lock(which, fd, how):
    fcntl.fcntl(fd, which, struct.pack("hhqqi4x", how, 0, 0, 0, 0))
def local(kind, name):
    peer = socket.socket(socket.AF_UNIX, kind)
    peer.bind(f"{folder}/{name}")
    return peer
"""
HOLDER = COMMON + """
open("/proc/self/comm", "w").write("holder")
queue = rt.mq_open(QUEUE, os.O_RDWR | os.O_CREAT, 0o600, struct.pack("4q32x", 0, 1, 8, 0))
messages = libc.msgget(0, 0o1600)
message = ctypes.create_string_buffer(struct.pack("q", 1) + bytes(8))
libc.msgsnd(messages, message, 8, 0), libc.msgrcv(messages, message, 8, 0, 0)
event = os.eventfd(0)
os.eventfd_write(event, (1 << 64) - 2)
terminal, other = pty.openpty()
tty.setraw(other)
get, put = os.pipe()
listener, datagrams = local(socket.SOCK_STREAM, "listener"), local(socket.SOCK_DGRAM, "datagrams")
listener.listen(0)
tcp = socket.socket()
tcp.bind(("127.0.0.1", 0))
tcp.listen(0)
opened, inherited = (os.open(f"{folder}/{name}", os.O_RDWR | os.O_CREAT) for name in ("opened", "inherited"))
lock(37, opened, fcntl.F_WRLCK)  # F_OFD_SETLK
taker = os.fork()
if not taker:
    fcntl.flock(inherited, fcntl.LOCK_EX)
    os._exit(0)
os.waitpid(taker, 0)
for kind in MUTEXES:
    attributes = ctypes.create_string_buffer(64)
    libc.pthread_mutexattr_init(attributes)
    libc.pthread_mutexattr_setpshared(attributes, 1)
    if kind == "robust":
        libc.pthread_mutexattr_setrobust(attributes, 1)
    if kind == "inheriting":
        libc.pthread_mutexattr_setprotocol(attributes, 1)
    libc.pthread_mutex_init(mutex(kind), attributes)
    libc.pthread_mutex_lock(mutex(kind))
control = local(socket.SOCK_STREAM, "control")
control.listen()
print("ready", messages, os.ttyname(other), tcp.getsockname()[1], flush=True)
os.close(other)
given = {b"event": lambda: event, b"splice": lambda: put}
while True:
    peer, _ = control.accept()
    what = peer.recv(100)
    if what == b"end":
        break
    socket.send_fds(peer, [b"x"], [given[what]()])
    if what == b"splice":
        os.close(put)
    peer.close()
libc.msgctl(messages, 0, None)
rt.mq_unlink(QUEUE)
"""
WAITER = COMMON + """
role, messages, terminal, port = sys.argv[2], int(sys.argv[3]), sys.argv[4], int(sys.argv[5])
def given():
    control = socket.socket(socket.AF_UNIX)
    control.connect(folder + "/control")
    control.send(role.encode())
    return socket.recv_fds(control, 1, 1)[1][0]
def connect(family, address):
    peers = []
    while True:
        peers.append(socket.socket(family))
        peers[-1].connect(address)
print("ready", flush=True)
if role == "queue":
    queue = rt.mq_open(QUEUE, os.O_RDWR)
    while not rt.mq_send(queue, b"x", 1, 0): pass
if role == "messages":
    message = ctypes.create_string_buffer(struct.pack("q", 1) + bytes(4096))
    while not libc.msgsnd(messages, message, 4096, 0): pass
if role == "event":
    os.eventfd_write(given(), 1)
if role == "terminal":
    fd = os.open(terminal, os.O_RDWR | os.O_NOCTTY)
    while True: os.write(fd, bytes(4096))
if role == "splice":
    file, put = os.open("/proc/self/exe", os.O_RDONLY), given()
    while True:
        os.lseek(file, 0, os.SEEK_SET)
        libc.splice(file, None, put, None, 1 << 16, 0)
if role == "listener":
    connect(socket.AF_UNIX, folder + "/listener")
if role == "datagrams":
    peer = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    while True: peer.sendto(b"x", folder + "/datagrams")
if role == "tcp":
    connect(socket.AF_INET, ("127.0.0.1", port))
if role == "opened":
    lock(38, os.open(folder + "/opened", os.O_RDWR), fcntl.F_WRLCK)  # F_OFD_SETLKW
if role == "inherited":
    fcntl.flock(os.open(folder + "/inherited", os.O_RDWR), fcntl.LOCK_EX)
if role in MUTEXES:
    libc.pthread_mutex_lock(mutex(role))
"""
# Where the kernel says that each sleeps.
ROLES = {"queue": "mq_timedsend|wq_sleep", "messages": "msgsnd", "event": "eventfd_write",
         "terminal": "n_tty_write|wait_woken", "splice": "pipe", "listener": "unix", "datagrams": "unix",
         "tcp": "connect|wait_woken", "opened": "setlk|lock_inode_wait|posix", "inherited": "lock_inode_wait",
         "shared": "futex", "robust": "futex", "inheriting": "futex|rt_mutex"}
AT_ONCE = 4  # so many are looked for in a window


def case_blocked(test):
    """Whoever can end it is named, with what that one does."""
    folder = test.directory()
    holder = test.child([sys.executable, "-c", HOLDER, folder])
    known = holder.line("ready").split()[1:]
    test.stack.callback(holder.wait)
    test.stack.callback(end, holder, folder)
    waiters = {role: test.child([sys.executable, "-c", WAITER, folder, role, *known]) for role in ROLES}
    for role, waiter in waiters.items():
        waiter.line("ready")
        kdtest.wait_until(lambda pid=waiter.pid, role=role: any(
            kdtest.waits_in(pid, function) for function in ROLES[role].split("|")))
    os.kill(holder.pid, signal.SIGSTOP)
    kdtest.wait_until(lambda: kdtest.state_of(holder.pid, holder.pid) == "T")
    roles = list(ROLES)
    said(test, holder, waiters["queue"].pid)
    for begin in range(0, len(roles), AT_ONCE):
        check_blocked(test, holder, {role: waiters[role].pid for role in roles[begin:begin + AT_ONCE]})


def said(test, holder, pid):
    """In words, what it is that is neither a pipe nor a socket."""
    path = test.directory() / "json"
    sample_of(test, [pid], path)
    text = " ".join(test.program("--replay", path, "--summary").stdout.split())
    if kdtest.VM and f"holder[{holder.pid}]" not in text:
        test.skip("in words", "all is emulated: it gave up before it had looked at all processes")
        return
    test.ok(f"waited for holder[{holder.pid}], which is stopped: a message queue that is full (POSIX) (fd "
            in text and f"kill -CONT {holder.pid}" in text, "in words", text[:900])


def end(holder, folder):
    """Has it remove what would be left."""
    os.kill(holder.pid, signal.SIGCONT)
    with socket.socket(socket.AF_UNIX) as control:
        control.connect(f"{folder}/control")
        control.send(b"end")
        control.recv(1)


def sample_of(test, pids, path=None):
    path = path or test.directory() / "json"
    test.program("-p", ",".join(map(str, pids)), "--sample-time", "300ms", "--sample-count", "1",
                 "-o", f"json:{path}")
    return kdtest.samples_of(path)[0]


def check_blocked(test, holder, pids):
    # Where all is emulated, the program gives up before it has looked at all processes, at times.
    for _ in range(10 if kdtest.VM else 1):
        sample = sample_of(test, pids.values())
        if all(any("awaited_pid" in sleep for sleep in thread["descriptors"])
               for thread in sample["threads"]):
            break
    for role, pid in pids.items():
        sleeps = kdtest.thread_of(sample, pid)["descriptors"]
        test.eq([(sleep.get("awaited_pid"), sleep.get("awaited_state")) for sleep in sleeps],
                [(holder.pid, "stopped")], f"{role}: who can end it, and what that one does")
        if role == "splice":
            test.ok("pipe" in sleeps[0]["path"], "splice: at the pipe, not at the file", sleeps)
    share = sum(row["share"] for row in sample["verdict"] if row["who"].get("pid") == holder.pid)
    test.ok(share >= 0.95, f"{', '.join(pids)}: all of the time", sample["verdict"])


# Those who are given work each 20 ms.
WORKERS = """
import ctypes, mmap, os, select, socket, struct, sys, time
libc = ctypes.CDLL(None, use_errno=True)
semaphores = libc.semget(0, 1, 0o1600)
path, event = sys.argv[1], os.eventfd(0)
local = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
local.bind(path)
remote = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
remote.bind(("127.0.0.1", 0))
listener = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(listener.getsockname())
peer, _ = listener.accept()
def semaphore(by):
    libc.semop(semaphores, struct.pack("hhh", 0, by, 0), 1)
def ring():
    parameters = ctypes.create_string_buffer(120)
    ring = libc.syscall(425, 4, parameters)
    if ring < 0: time.sleep(1000)
    entries, tail, array = (struct.unpack("30I", parameters)[at] for at in (0, 11, 16))
    head = struct.unpack("30I", parameters)[20]
    queue, done = mmap.mmap(ring, array + 4 * entries), mmap.mmap(ring, 4096, offset=0x8000000)
    requests = mmap.mmap(ring, 64 * entries, offset=0x10000000)
    data = ctypes.create_string_buffer(100)
    for n in range(1 << 30):
        struct.pack_into("BBHiQQI36x", requests, 0, 27, 0, 0, peer.fileno(), 0, ctypes.addressof(data), 100)
        struct.pack_into("I", queue, array + n % entries * 4, 0)
        struct.pack_into("I", queue, tail, n + 1)
        libc.syscall(426, ring, 1, 1, 1, None, 0)
        struct.pack_into("I", done, head, n + 1)
roles = {"semaphore": lambda: semaphore(-1), "event": lambda: os.eventfd_read(event),
         "local": lambda: local.recv(10), "remote": lambda: remote.recv(10), "ring": ring}
pids = []
for role in roles:
    pid = os.fork()
    while not pid: roles[role]()
    pids.append(pid)
print("ready", *pids, flush=True)
sender = [socket.socket(family, socket.SOCK_DGRAM) for family in (socket.AF_UNIX, socket.AF_INET)]
while not select.select([sys.stdin], [], [], 0.02)[0]:
    semaphore(1)
    os.eventfd_write(event, 1)
    sender[0].sendto(b"x", path)
    sender[1].sendto(b"x", remote.getsockname())
    client.send(b"x")
libc.semctl(semaphores, 0, 0)
for pid in pids: os.kill(pid, 9)
"""


def case_workers(test):
    """Whoever is handed work waits for nobody."""
    giver = test.child([sys.executable, "-c", WORKERS, test.directory() / "socket"])
    test.stack.callback(giver.wait)
    test.stack.callback(giver.send, "end")
    pids = [int(word) for word in giver.line("ready").split()[1:]]
    sample = sample_of(test, pids)
    asleep = [row["ns"] for row in sample["verdict"] if row["cause"] in ("peer", "disk", "lock", "wait")]
    test.ok(not asleep, "nobody is accused", *sample["verdict"])
    test.ok(sample["unexplained_ns"] < 0.1 * sum(thread["ledger"]["life_ns"] for thread in sample["threads"]),
            "nor is it unexplained", sample["unexplained_ns"])
    test.ok(len(sample["threads"]) >= len(pids), "all of them were looked at")


kdtest.main(case_blocked, case_workers)
