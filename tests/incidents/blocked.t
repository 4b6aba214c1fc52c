#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Processes that another one blocks for good, from edge to edge of the window. These are quickly staged,
and certain however busy the machine is, so `make check` runs them, too."""

import os
import signal

import incidents
import kdprocesses
from incidents import PATIENCE, Script, Staged, holders, kdtest, settles, throughout
from kdneeds import need

PEER, LOCK = {"peer"}, {"lock"}


def stopped_reader(test):
    """dd into a pipe whose reader was stopped."""
    reader = Script(test, 'name("reader"); ready(); sys.stdin.buffer.read(1)\n'
                    "while sys.stdin.buffer.read(1 << 16): pass", full=False)
    os.kill(reader.pid, signal.SIGSTOP)
    kdtest.wait_until(lambda: kdtest.state_of(reader.pid, reader.pid) == "T", PATIENCE)
    writer = test.child(["dd", "if=/dev/zero", "bs=4k"], stdin=None, stdout=reader.proc.stdin)
    settles(writer.pid, "pipe_write")
    return Staged(writer.pid, f"write() on a full pipe; reader[{reader.pid}] is stopped", PEER,
                  (("reader", reader.pid),), throughout,
                  holds=lambda: kdtest.state_of(reader.pid, reader.pid) == "T")


def window_zero(test):
    """A connection whose receiver does not read."""
    receiver = Script(test, """
import socket
name("receiver")
listener = socket.create_server(("127.0.0.1", 0))
ready(listener.getsockname()[1])
peer, _ = listener.accept()
time.sleep(1000)""")
    port = int(receiver.words[0])
    sender = Script(test, """
import socket
name("sender")
peer = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
ready()
while True: peer.sendall(bytes(1 << 16))""", port)
    settles(sender.pid, "sk_stream_wait_memory")
    return Staged(sender.pid, f"send() to receiver[{receiver.pid}], which does not read: its window "
                  "is zero", PEER, (("receiver", receiver.pid), f":{port}"), throughout,
                  holds=lambda: kdtest.waits_in(sender.pid, "sk_stream_wait_memory"))


def flock(test):
    """flock(1), behind another one, which has become another program."""
    need("flock")
    path = test.directory() / "lock"
    path.touch()
    holder = test.child(["flock", "--no-fork", path, "sleep", "1000"]).pid
    kdtest.wait_until(lambda: holders(path), PATIENCE)
    waiter = test.child(["flock", path, "true"])
    settles(waiter.pid, "locks_lock_inode_wait", "flock")
    return Staged(waiter.pid, f"flock() of a file that sleep[{holder}] has, by /proc/locks", LOCK,
                  (("sleep", holder),), throughout, holds=lambda: holders(path) == {holder})


def lease(test):
    """open() of a file on which another process has a lease, which it does not give up."""
    path = test.directory() / "leased"
    path.touch()
    holder = Script(test, """
import fcntl, signal
name("holder")
signal.signal(signal.SIGIO, signal.SIG_IGN)
file = os.open(sys.argv[1], os.O_RDONLY)
fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)
ready()
time.sleep(1000)""", path)
    target = Script(test, 'name("opener"); ready(); open(sys.argv[1], "w")', path)
    settles(target.pid, "break_lease")
    return Staged(target.pid, f"open() of a file on which holder[{holder.pid}] has a lease", LOCK,
                  (("holder", holder.pid),), throughout, holds=lambda: holders(path) == {holder.pid})


def hung_child(test):
    """A shell, whose child does not end."""
    parent = test.child(["sh", "-c", "sleep 1000; true"])
    kdtest.wait_until(lambda: kdprocesses.children_of(parent.pid), PATIENCE)
    child, = kdprocesses.children_of(parent.pid)
    test.stack.callback(os.kill, child, signal.SIGKILL)
    settles(parent.pid, "do_wait")
    return Staged(parent.pid, f"wait4() for its child sleep[{child}]", {"child"},
                  (("sleep", child),), throughout)


incidents.main(stopped_reader, window_zero, flock, lease, hung_child)
