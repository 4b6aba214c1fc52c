#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tests/run: long
"""Processes that wait for another one: at a pipe, a socket, a lock of a file or a database, a file
system that a process serves."""

import ctypes
import os
import signal
import socket
import time

import incidents
import kdservers
import servers
from incidents import PATIENCE, Script, Staged, holders, kdtest, logged, settles, throughout
from kdneeds import need

PEER, LOCK, SERVER = {"peer"}, {"lock"}, {"server"}


# --- Pipes and sockets ---

PRODUCER = """
name("producer")
out = int(sys.argv[1])
ready()
while True:
    spend(float(sys.argv[2]))
    os.write(out, b"x" * 65536)
"""
CONSUMER = """
name("consumer")
source = int(sys.argv[1])
ready()
while True:
    os.read(source, 65536)
    spend(float(sys.argv[2]))
"""
# One of the two, with a log of the time that it waits for the other.
LOGGED = {"    os.write(": "    with waiting(): os.write(", "    os.read(": "    with waiting(): os.read("}


def pair(test, produce, consume, logged):
    """A producer and a consumer at a pipe, and how long each takes for 64 KiB, in seconds."""
    source, out = os.pipe()
    texts = {"producer": PRODUCER, "consumer": CONSUMER}
    for plain, with_log in LOGGED.items():
        texts[logged] = texts[logged].replace(plain, with_log)
    found = {name: Script(test, texts[name], end, seconds, pass_fds=(end,))
             for name, end, seconds in (("producer", out, produce), ("consumer", source, consume))}
    os.close(source)
    os.close(out)
    return found["producer"], found["consumer"]


def slow_producer(test):
    producer, consumer = pair(test, 0.03, 0.004, "consumer")
    return Staged(consumer.pid, f"read() of a pipe whose producer[{producer.pid}] computes", PEER,
                  (("producer", producer.pid),), logged(consumer))


def slow_consumer(test):
    producer, consumer = pair(test, 0.004, 0.03, "producer")
    return Staged(producer.pid, f"write() to a pipe whose consumer[{consumer.pid}] computes", PEER,
                  (("consumer", consumer.pid),), logged(producer))


def full_syslog(test):
    """syslog(), whose daemon is stopped: the queue of its socket is full."""
    daemon = kdservers.start(test, servers.Rsyslog())
    target = Script(test, """
import socket
name("service")
log = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
log.connect(sys.argv[1])
ready()
while True:
    log.send(b"<14>service: at work")
    time.sleep(0.001)""", daemon.socket)
    kdtest.wait_until(daemon.messages.exists, PATIENCE)
    os.kill(daemon.pid, signal.SIGSTOP)
    settles(target.pid, "unix_wait_for_peer")
    return Staged(target.pid, f"send() to the socket of rsyslogd[{daemon.pid}], which is stopped", PEER,
                  (("rsyslogd", daemon.pid), str(daemon.socket)), throughout,
                  holds=lambda: kdtest.waits_in(target.pid, "unix_wait_for_peer"))


# --- A name server that does not answer ---

ADDRESS = "127.77.0.53"  # getaddrinfo() knows no other port


def resolver(test, options):
    """getaddrinfo() by a name server of our own, in a mount namespace; the server receives, and
    answers nothing."""
    need("unshare", "mount")
    try:
        silent = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        silent.bind((ADDRESS, 53))
    except OSError as why:
        raise kdtest.Skip(f"no name server of our own: {why}") from None
    test.stack.callback(silent.close)
    conf = test.directory() / "resolv.conf"
    conf.write_text(f"nameserver {ADDRESS}\noptions {options}\n")
    target = Script(test, """
import socket
name("client")
ready()
sys.stdin.readline()
while True:
    try:
        socket.getaddrinfo("silent.example.", 80)
    except OSError:
        pass""", wrapper=("unshare", "-m", "sh", "-c", f'mount --bind {conf} /etc/resolv.conf && exec "$@"', "sh"))
    return target, silent


def silent_dns(test):
    """From edge to edge it waits for an answer."""
    target, silent = resolver(test, "timeout:30 attempts:1")
    target.send("go")
    silent.recv(512)
    settles(target.pid, "poll")
    return Staged(target.pid, f"getaddrinfo(): no answer of the name server {ADDRESS}",
                  {"peer", "network"}, (f"{ADDRESS}:53",), throughout)


def silent_dns_window(test):
    """A window of getaddrinfo()."""
    target, _ = resolver(test, "timeout:1 attempts:1")
    return Staged(target.pid, f"getaddrinfo() took 1 s: no answer of the name server {ADDRESS}",
                  {"peer", "network"}, (f"{ADDRESS}:53",), throughout,
                  args=("--start-trigger", "up:libc.so.6:getaddrinfo,same-thread", "--stop-trigger",
                        "ur:libc.so.6:getaddrinfo", "--sample-count", "1"),
                  meanwhile=lambda: target.send("go"))


# --- Locks of files ---

def flock_by_turns(test):
    """Two processes take turns."""
    path = test.directory() / "lock"
    path.touch()
    holder = Script(test, """
import fcntl
name("updater")
file = open(sys.argv[1], "r+")
ready()
while True:
    fcntl.lockf(file, fcntl.LOCK_EX)
    time.sleep(0.05)
    fcntl.lockf(file, fcntl.LOCK_UN)
    time.sleep(0.005)""", path)
    waiter = Script(test, """
import fcntl
name("reader")
file = open(sys.argv[1], "r+")
ready()
while True:
    with waiting(): fcntl.lockf(file, fcntl.LOCK_EX)
    fcntl.lockf(file, fcntl.LOCK_UN)
    spend(0.003)""", path)
    return Staged(waiter.pid, f"fcntl() for a lock of a file that updater[{holder.pid}] has again and "
                  "again", LOCK, (("updater", holder.pid),), logged(waiter))


def sqlite(test):
    """Another process has the lock of a database; this one tries again and again."""
    path = test.directory() / "base.db"
    holder = Script(test, """
import sqlite3
name("importer")
base = sqlite3.connect(sys.argv[1], isolation_level=None)
base.execute("create table t (a)")
base.execute("begin immediate")
base.execute("insert into t values (1)")
ready()
sys.stdin.readline()
base.execute("commit")
time.sleep(1000)""", path)
    target = Script(test, """
import sqlite3
name("client")
base = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=30)
ready()
sys.stdin.readline()
with waiting(): base.execute("insert into t values (2)")
print("done", flush=True)
time.sleep(1000)""", path)
    return path, holder, target


# Its busy handler sleeps: the kernel knows no lock, the C library's function and SQLite's say it.
SQLITE = ("sqliteDefaultBusyCallback",)


def sqlite_busy(test):
    path, holder, target = sqlite(test)
    target.send("go")
    target.line("began")
    return Staged(target.pid, f"sqlite3_step() of a database that importer[{holder.pid}] has locked, "
                  "by /proc/locks", LOCK, (("importer", holder.pid), *SQLITE), logged(target),
                  holds=lambda: holder.pid in holders(path))


def sqlite_busy_window(test):
    """A window of sqlite3_step()."""
    path, holder, target = sqlite(test)

    def meanwhile():
        target.send("go")
        target.line("began", PATIENCE)
        time.sleep(0.7)
        holder.send("commit")
    return Staged(target.pid, f"sqlite3_step() for 0.7 s: importer[{holder.pid}] had locked the "
                  "database, by /proc/locks", LOCK, (("importer", holder.pid), *SQLITE), logged(target),
                  args=("--start-trigger", "up:libsqlite3.so.0:sqlite3_step,same-thread", "--stop-trigger",
                        "ur:libsqlite3.so.0:sqlite3_step", "--sample-count", "1",
                        "--trigger-delta", "300ms"),
                  meanwhile=meanwhile)


# --- Others that it needs ---

def fuse(test, milliseconds):
    """A file system whose server takes so long for a read (0: for ever), and who reads a file."""
    if not os.path.exists("/dev/fuse"):
        raise kdtest.Skip("this kernel has no FUSE")
    folder = test.directory() / "slow"
    folder.mkdir()
    server = test.child([kdtest.WORKLOADS / "slowfs", folder, milliseconds])
    # The reader may be in a call that only the end of the server ends.
    test.stack.callback(ctypes.CDLL(None).umount2, str(folder).encode(), MNT_DETACH)
    test.stack.callback(server.end)
    server.line("ready", PATIENCE)
    reader = test.child(["dd", f"if={folder}/data", "of=/dev/null", "bs=4k"])
    test.stack.callback(server.end)
    server.line("began", PATIENCE)
    return server, reader


MNT_DETACH = 2


def fuse_silent(test):
    server, reader = fuse(test, 0)
    settles(reader.pid, "fuse", "request_wait_answer")
    return Staged(reader.pid, f"read() of a file system whose server, slowfs[{server.pid}], is silent",
                  SERVER, (("slowfs", server.pid),), throughout)


def fuse_slow(test):
    server, reader = fuse(test, 40)
    return Staged(reader.pid, f"read() of a file system whose server, slowfs[{server.pid}], takes 40 ms",
                  SERVER, (("slowfs", server.pid),), logged(server))


def mutex(test):
    """A mutex, whose holder sleeps."""
    load = test.workload("locks", "asleep")
    log = load.ask("log")["asleep"]
    holder, = log["holders"]

    def took(start, stop):
        waits = load.ask("log")["asleep"]["waits"]
        return sum(max(0, min(end, stop) - max(begin, start)) for begin, end in waits)
    return Staged(load.pid, f"pthread_mutex_lock() of a mutex that holder[{holder}] has while it sleeps",
                  LOCK, (("holder", holder),), took)


incidents.main(slow_producer, slow_consumer, full_syslog, silent_dns, silent_dns_window,
               flock_by_turns, sqlite_busy, sqlite_busy_window, fuse_silent, fuse_slow, mutex)
