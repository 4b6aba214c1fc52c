#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Processes that sleep in a poll or a read: those that asked somebody who does not answer are told
so, the others are idle."""

import os
import re
import signal
import socket
import sys

import kdtest
from kdasked import WINDOW, asleep, is_idle, report

# A server that reads what comes, answers if asked to, or sleeps; and its client.
SERVER = """
import os, socket, sys, time
open("/proc/self/comm", "w").write("server")
listener = socket.socket(getattr(socket, sys.argv[1]))
listener.bind(("127.0.0.1", 0) if sys.argv[1] == "AF_INET" else sys.argv[2])
listener.listen()
print("ready", listener.getsockname()[1] if sys.argv[1] == "AF_INET" else "", flush=True)
if sys.argv[3] == "ignores":
    time.sleep(1000)
peer, _ = listener.accept()
if sys.argv[3] == "reads":
    peer.recv(100)
if sys.argv[3] == "all":
    while peer.recv(100): pass
if sys.argv[3] == "once":
    for _ in range(3): peer.send(peer.recv(100))
if sys.argv[3] == "answers":
    while data := peer.recv(100): peer.send(data)
time.sleep(1000)
"""
CLIENT = """
import os, select, socket, sys, time
how, asks = sys.argv[1:3]
address = ("127.0.0.1", int(sys.argv[4])) if sys.argv[3] == "AF_INET" else sys.argv[4]
peer = socket.socket(getattr(socket, sys.argv[3]))
peer.connect(address)
fds = [peer.fileno()]
if how == "listens":
    listener = socket.create_server(("127.0.0.1", 0))
    fds.append(listener.fileno())
if asks != "silent":
    peer.send(b"question")
if asks == "reports":
    for _ in range(20):
        time.sleep(0.002)
        peer.send(b"value 1")
if asks == "answered":
    peer.recv(100)
if asks == "again":
    for _ in range(3):
        peer.recv(100)
        peer.send(b"question")
print("ready", peer.fileno(), flush=True)
if how == "recv":
    peer.recv(100)
if how == "select":
    select.select(fds, [], [])
if how in ("poll", "listens"):
    poll = select.poll()
    for fd in fds: poll.register(fd, select.POLLIN)
    poll.poll()
if how == "loop":
    fds.append(os.pipe()[0])
if how in ("epoll", "loop"):
    poll = select.epoll()
    for fd in fds: poll.register(fd, select.EPOLLIN)
    poll.poll()
"""


def pair(test, family, serves, how, asks):
    """A server and its client, which sleeps."""
    path = test.directory() / "socket"
    server = test.child([sys.executable, "-c", SERVER, family, path, serves])
    port = server.line("ready").split()[1:]
    client = test.child([sys.executable, "-c", CLIENT, how, asks, family, *(port or [path])])
    fd = int(client.line("ready").split()[1])
    asleep(client.pid)
    if serves == "stopped":
        os.kill(server.pid, signal.SIGSTOP)
    kdtest.wait_until(lambda: kdtest.state_of(server.pid, server.pid) in "ST")
    return server, client, fd, f"127.0.0.1:{port[0]}" if port else str(path)


def is_unanswered(test, what, found, server, fd, address):
    sample, said, sleeps = found
    rows = sample["verdict"]
    if not test.ok(rows and rows[0]["cause"] == "peer", f"{what}: the cause", said, rows):
        return
    row, sleep = rows[0], max(sleeps, key=lambda sleep: sleep["total_ns"])
    test.ok(row["share"] >= 0.95, f"{what}: all of the time", row)
    test.eq(row["who"].get("pid"), server, f"{what}: who")
    test.eq((sleep.get("asked"), sleep.get("asked_fd")), (address, fd), f"{what}: where")
    test.ok(sleep["unanswered_ns"] >= 0.9 * WINDOW * 1e9, f"{what}: for how long", sleep)
    test.ok("no answer for" in said and (address or "the other end") in said, f"{what}: in words", said)


def case_tcp(test):
    """A server that has read the question; the program may have other descriptors, of its own."""
    for how in ("recv", "poll", "select", "epoll", "loop"):
        server, client, fd, address = pair(test, "AF_INET", "reads", how, "asks")
        is_unanswered(test, how, report(test, client.pid), server.pid, fd, address)


def case_section(test):
    """The thread's own section says it, too."""
    _, client, fd, address = pair(test, "AF_INET", "reads", "poll", "asks")
    done = test.program("-p", client.pid, "--sample-time", f"{WINDOW}s", "--full")
    test.ok(re.search(rf"; fd {fd}, asked {address}: no answer for [0-9,]+ ns$", done.stdout, re.MULTILINE),
            "in THREAD SLEEP STATISTICS", done.stdout)


def case_again(test):
    """A server that answered, and then was asked again at once."""
    server, client, fd, address = pair(test, "AF_INET", "once", "poll", "again")
    is_unanswered(test, "again", report(test, client.pid), server.pid, fd, address)


def case_unread(test):
    """One that is stopped, and has not."""
    for family in ("AF_INET", "AF_UNIX"):
        server, client, fd, address = pair(test, family, "stopped", "poll", "asks")
        found = report(test, client.pid)
        is_unanswered(test, family, found, server.pid, fd, address)
        test.ok(f"server[{server.pid}]" in found[1] and "which is stopped" in found[1],
                f"{family}: what it does", found[1])


# A server that reads a question and computes, or reads another one, or waits for that in some way.
LOCAL = """
import os, select, socket, sys, threading, time
open("/proc/self/comm", "w").write("server")
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen()
print("ready", flush=True)
peer, _ = listener.accept()
how = sys.argv[2]
if how != "threads": peer.recv(100)
if how == "computes":
    while True: pass
if how == "many":
    poll = select.epoll()
    for fd in peer.fileno(), *[os.eventfd(0) for _ in range(60)]:
        poll.register(fd, select.EPOLLIN)
    poll.poll()
if how == "threads":
    threading.Thread(target=lambda: [peer.recv(100), threading.Event().wait()], daemon=True).start()
    listener.accept()
peer.recv(100)
"""


def case_local(test):
    """A local socket: the kernel does not say who sent last, but what the server does with it."""
    path = test.directory() / "socket"
    for how in ("computes", "threads", "reads", "many"):
        server = test.child([sys.executable, "-c", LOCAL, path, how])
        server.line("ready")
        client = test.child([sys.executable, "-c", CLIENT, "recv", "asks", "AF_UNIX", path])
        fd = int(client.line("ready").split()[1])
        asleep(client.pid)
        if how == "computes":
            kdtest.wait_until(lambda: kdtest.state_of(server.pid, server.pid) == "R")
        elif how == "threads":
            kdtest.wait_until(lambda: any(kdtest.waits_in(int(tid), "futex") for tid in
                                          os.listdir(f"/proc/{server.pid}/task")))
        else:
            asleep(server.pid)
        found = report(test, client.pid)
        if how in ("computes", "threads"):
            is_unanswered(test, how, found, server.pid, fd, str(path))
        else:
            is_idle(test, how, found)
        server.signal(signal.SIGKILL)
        server.wait()
        path.unlink()
    server, client, fd, address = pair(test, "AF_UNIX", "reads", "poll", "asks")
    is_unanswered(test, "asleep", report(test, client.pid), server.pid, fd, address)


def case_ignored(test):
    """One that does not even accept."""
    server, client, fd, address = pair(test, "AF_INET", "ignores", "poll", "asks")
    is_unanswered(test, "AF_INET", report(test, client.pid), server.pid, fd, address)
    server, client, fd, _ = pair(test, "AF_UNIX", "ignores", "poll", "asks")
    is_unanswered(test, "AF_UNIX", report(test, client.pid), None, fd, None)


def case_idle(test):
    """Connections without an open request; and a program for which other work may come."""
    for family, serves, how, asks in (("AF_INET", "answers", "poll", "answered"),
                                      ("AF_INET", "answers", "recv", "answered"),
                                      ("AF_INET", "reads", "poll", "silent"),
                                      ("AF_INET", "reads", "listens", "asks"),
                                      ("AF_INET", "all", "recv", "reports"),
                                      ("AF_INET", "all", "loop", "reports"),
                                      ("AF_UNIX", "answers", "epoll", "answered")):
        server, client, _, _ = pair(test, family, serves, how, asks)
        is_idle(test, f"{family} {how} {asks}", report(test, client.pid))
        if serves == "answers":
            is_idle(test, f"{family} {how}: its server", report(test, server.pid))


def case_accepted(test):
    """A server that reads, again and again, from a client that takes its time."""
    server = test.child([sys.executable, "-c", SERVER, "AF_INET", "-", "answers"])
    port = int(server.line("ready").split()[1])
    client = test.child([sys.executable, "-c", """
import socket, sys, time
peer = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
print("ready", flush=True)
while True:
    peer.send(b"x")
    peer.recv(10)
    time.sleep(0.01)""", port])
    client.line("ready")
    sample, _, sleeps = report(test, server.pid)
    test.eq([row for row in sample["verdict"] if row["cause"] == "peer"], [],
            "its client is not blamed")
    test.ok(any(sleep.get("accepted") for sleep in sleeps), "the connection is the client's", sleeps)
    test.ok(sample["busy_ns"] < 0.5 * WINDOW * 1e9, "most of it is idle", sample["busy_ns"])
    client.end()

    server = test.child([sys.executable, "-c", """
import socket
listener = socket.create_server(("127.0.0.1", 0))
print("ready", listener.getsockname()[1], flush=True)
while True:
    with listener.accept()[0] as peer: peer.send(peer.recv(10))"""])
    client = test.child([sys.executable, "-c", """
import socket, sys, time
print("ready", flush=True)
while True:
    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as peer:
        time.sleep(0.005)
        peer.send(b"x")
        peer.recv(10)""", server.line("ready").split()[1]])
    client.line("ready")
    sample, _, sleeps = report(test, server.pid)
    test.eq([row for row in sample["verdict"] if row["cause"] == "peer"], [], "a connection for each request")
    read = [sleep for sleep in sleeps if sleep["for"] == "socket" and "wchan" in sleep]
    test.ok(len(read) > 3 and all(sleep.get("accepted") for sleep in read), "all are the client's", read)


# Processes that take turns: who has the lock waits for connections, or does something else.
TURNS = """
import fcntl, os, socket, sys, time
open("/proc/self/comm", "w").write("server")
listener = socket.create_server(("127.0.0.1", 0))
pids = [os.getpid()]
for _ in range(2):
    pids.append(os.fork())
    if not pids[-1]: break
lock = open(sys.argv[1], "w")
if all(pids): print("ready", *pids, listener.getsockname()[1], flush=True)
while True:
    fcntl.lockf(lock, fcntl.LOCK_EX)
    if sys.argv[2] == "sleeps": time.sleep(1000)
    peer, _ = listener.accept()
    fcntl.lockf(lock, fcntl.LOCK_UN)
    peer.close()
"""


def servers(test, how):
    """PIDs of those that take turns, the one with the lock first, and their port."""
    server = test.child([sys.executable, "-c", TURNS, test.directory() / f"lock-{how}", how])
    *pids, port = map(int, server.line("ready").split()[1:])
    for pid in pids[1:]:
        test.stack.callback(os.kill, pid, signal.SIGKILL)

    def waiting():
        found = [pid for pid in pids if kdtest.waits_in(pid, "fcntl_setlk")]
        return found if len(found) == 2 else None
    found = kdtest.wait_until(waiting, 20)
    holder, = set(pids) - set(found)
    return [holder, *found], port


def case_turns(test):
    """Servers that wait for their turn to wait for connections are idle, also if they have some; but a
    lock of which the holder does something else is one."""
    pids, port = servers(test, "accepts")
    is_idle(test, "a turn", report(test, pids[1]))
    client = test.child([sys.executable, "-c", """
import socket, sys, time
print("ready", flush=True)
while True:
    socket.create_connection(("127.0.0.1", int(sys.argv[1]))).close()
    time.sleep(0.02)""", port])
    client.line("ready")
    sample, _, _ = report(test, ",".join(map(str, pids)))  # one of them may have its turn all the time
    sleeps = [sleep for thread in sample["threads"] for sleep in thread["descriptors"]]
    test.eq([row for row in sample["verdict"] if row["cause"] == "lock"], [], "with clients: no lock")
    test.ok(any(sleep.get("by_turns") for sleep in sleeps), "the sleeps are for a turn", sleeps)
    pids, _ = servers(test, "sleeps")
    sample, _, _ = report(test, pids[1])
    row, = sample["verdict"] or [{}]
    test.eq((row.get("cause"), row.get("who", {}).get("pid")), ("lock", pids[0]), "a lock")


def case_datagrams(test):
    """A name server that is silent; any other port may have nothing to say."""
    for port in (53, 5353):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
            try:
                silent.bind(("127.99.0.53", port))
            except OSError as why:
                test.skip(f"no port {port}: {why}")
                continue
            client = test.child([sys.executable, "-c", """
import socket, sys
peer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
peer.connect(("127.99.0.53", int(sys.argv[1])))
peer.send(b"question")
print("ready", peer.fileno(), flush=True)
peer.recv(100)""", port])
            fd = int(client.line("ready").split()[1])
            asleep(client.pid)
            found = report(test, client.pid)
            if port == 53:
                is_unanswered(test, "name server", found, None, fd, f"127.99.0.53:{port}")
            else:
                is_idle(test, "another port", found)


def case_ended(test):
    """Sleeps that have ended in the window, of the same length: what they were at is known."""
    server = test.child([sys.executable, "-c", SERVER, "AF_INET", "-", "reads"])
    port = server.line("ready").split()[1]
    path = test.directory() / "json"
    test.program("-o", f"json:{path}", "--", sys.executable, "-c", """
import socket, sys
peer = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
peer.send(b"question")
peer.settimeout(0.3)
for _ in range(3):
    try: peer.recv(10)
    except TimeoutError: pass""", port)
    sample, = kdtest.samples_of(path)
    row = (sample["verdict"] or [{}])[0]
    test.eq((row.get("cause"), row.get("who", {}).get("pid")), ("peer", server.pid), "who")
    said = re.sub(r"\n {8}", " ", test.program("--replay", path, "--summary").stdout)
    test.ok(f"without an answer from 127.0.0.1:{port}" in said, "what the time was", said)


# A client that sends each request in two parts, to a server that answers the second; each second they
# say how long a request took on average.
NAGLE = """
import os, socket, sys, time
listener = socket.create_server(("127.0.0.1", 0))
server = os.fork()
if not server:
    client, _ = listener.accept()
    got = 0
    while data := client.recv(100):
        got += len(data)
        if got == 20:
            client.send(b"answer")
            got = 0
    os._exit(0)
peer = socket.create_connection(listener.getsockname())
if sys.argv[1] == "nodelay":
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
print("pids", os.getpid(), server, flush=True)
n = took = 0
last = time.monotonic()
while True:
    begun = time.monotonic()
    peer.send(b"head----")
    peer.send(b"body--------")
    peer.recv(100)
    took += time.monotonic() - begun
    n += 1
    time.sleep(0.002)
    if time.monotonic() > last + 0.5:
        print("mean", took / n * 1e3, flush=True)
        n = took = 0
        last = time.monotonic()
"""


def case_nagle(test):
    """Neither end is to blame for what Nagle's algorithm and a delayed acknowledgement do together."""
    for how in ("delay", "nodelay"):
        child = test.child([sys.executable, "-c", NAGLE, how])
        pids = [int(word) for word in child.line("pids").split()[1:]]
        for _ in range(2):
            mean = float(child.line("mean").split()[1])
        if how == "delay" and mean < 20:
            test.skip("nobody is blamed", f"a request takes {mean:.1f} ms: nothing is delayed here")
            return
        for name, pid in zip(("the client", "the server"), pids):
            sample, said, sleeps = report(test, pid)
            kept = {sleep["kept_back"] for sleep in sleeps if "kept_back" in sleep}
            named = [row["who"] for row in sample["verdict"] if row["cause"] == "peer"]
            if how == "nodelay":
                test.eq(kept, set(), f"{name}, with TCP_NODELAY: nothing is kept back")
                continue
            test.eq(kept, {"own" if pid == pids[0] else "other"}, f"{name}: whose data is kept back")
            test.eq(named, [], f"{name}: the other end is not blamed")
            test.ok("Nagle's algorithm" in said, f"{name}: in words", said)
        child.end()


kdtest.main(case_tcp, case_section, case_nagle, case_again, case_unread, case_local, case_ignored, case_idle,
            case_accepted, case_turns, case_datagrams, case_ended)
