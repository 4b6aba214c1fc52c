#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tests/run: long
"""Incidents in PostgreSQL, by what it says of itself (pg_stat_activity, pg_blocking_pids()), and in
Redis."""

import functools
import threading
import time

import incidents
import kdprocesses
import kdservers
from incidents import PATIENCE, RAN, Staged, kdtest, throughout
from kdneeds import need
from kdtest import MS

LOCK = {"lock"}


# --- PostgreSQL ---

class Session(kdtest.Child):
    """A connection; pid is that of the client, backend that of its process of the server."""

    def __init__(self, test, base):
        super().__init__(["psql", "-h", base.directory, "-U", "postgres", "-qAtX", "postgres"])
        test.start(self)
        self.send("select pg_backend_pid();")
        self.backend = int(self.line("", PATIENCE))

    def execute(self, *texts):
        for text in (*texts, "\\echo done"):
            self.send(text)
        self.line("done", PATIENCE)


def database(test):
    base = kdservers.start(test, kdservers.Postgres())
    base.command("create table accounts (id int primary key, n int);",
                 "insert into accounts select i, 0 from generate_series(1, 1000) i;")
    return base


def blockers(base, backend):
    """Those who keep it waiting, by the server."""
    return base.query(f"select pg_blocking_pids({backend});")


def blocked(test, hold, want, what):
    """One session that is idle in a transaction, and one that waits for what that has locked."""
    base = database(test)
    holder, waiter = Session(test, base), Session(test, base)
    holder.execute("begin;", hold)
    waiter.send(want)
    who = f"{{{holder.backend}}}"
    kdtest.wait_until(lambda: blockers(base, waiter.backend) == who, PATIENCE)
    return Staged(waiter.backend, f"waits for {what} that postgres[{holder.backend}] has locked, idle in "
                  "its transaction, by pg_blocking_pids()", LOCK, (("postgres", holder.backend),),
                  throughout, holds=lambda: blockers(base, waiter.backend) == who)


def idle_in_transaction(test):
    row = "update accounts set n = n + 1 where id = 1;"
    return blocked(test, row, row, "a row")


def table_lock(test):
    return blocked(test, "lock table accounts in access exclusive mode;", "select * from accounts;",
                   "a table")


CLIENTS = 6


class Activity(threading.Thread):
    """How many sessions wait for locks, asked of the server again and again."""

    def __init__(self, test, base):
        super().__init__(daemon=True)
        self.session, self.found, self.over = Session(test, base), [], threading.Event()

    def run(self):
        while not self.over.is_set():
            self.session.send("select count(*) from pg_stat_activity where wait_event_type = 'Lock';")
            self.found.append((time.monotonic_ns(), int(self.session.line("", PATIENCE))))
            time.sleep(0.01)

    def took(self, start, stop):
        """The time that they waited for locks, ns."""
        self.over.set()
        self.join()
        counts = [count for at, count in self.found if start <= at < stop]
        ns = (stop - start) * sum(counts) // len(counts)
        return ns, ns


def row_convoy(test):
    """Sessions that change one row, each for 5 ms."""
    need("pgbench")
    base = database(test)
    script = base.directory / "convoy"
    script.write_text("begin;\nupdate accounts set n = n + 1 where id = 1;\nselect pg_sleep(0.005);\n"
                      "commit;\n")
    test.child(["pgbench", "-h", base.directory, "-U", "postgres", "-n", "-f", script, "-c",
                str(CLIENTS), "-T", "600", "postgres"])
    working = "select string_agg(pid::text, ' ') from pg_stat_activity where query like '%pg_sleep%' " \
        "or query like 'update accounts%' or query in ('begin;', 'commit;');"
    kdtest.wait_until(lambda: len(base.query(working).split()) >= CLIENTS, PATIENCE)
    backends = [int(pid) for pid in base.query(
        "select string_agg(pid::text, ' ') from pg_stat_activity where application_name = 'pgbench';"
    ).split()]
    activity = Activity(test, base)
    activity.start()
    test.stack.callback(activity.over.set)
    # The holder sleeps in its transaction; each of them is the holder in turn.
    return Staged(backends, f"{len(backends)} sessions wait for a row that one of them has at a time, by "
                  "pg_stat_activity", LOCK, tuple(("postgres", pid) for pid in backends), activity.took,
                  threads=len(backends))


# --- Redis ---

def cli(server, *args):
    return ["redis-cli", "-s", server.socket, *args]


def share_ran(pid):
    """How long a thread ran, by schedstat read often."""
    marks, over = [], threading.Event()

    def watch():
        while not over.is_set():
            marks.append((time.monotonic_ns(), kdtest.schedstat(pid, pid)[0]))
            time.sleep(0.005)
    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()

    def took(start, stop):
        over.set()
        watcher.join()
        inside = [mark for mark in marks if start <= mark[0] <= stop]
        (first, before), (last, after) = inside[0], inside[-1]
        ns = (after - before) * (stop - start) // (last - first)
        return ns, ns
    return took


def redis_computing(test):
    """A script of a client keeps it busy."""
    need("redis-cli")
    server = kdservers.start(test, kdservers.Redis())
    test.child(cli(server, "eval", "local x = 0; while true do x = x + 1 end", "0"))
    kdtest.wait_until(lambda: kdtest.state_of(server.pid, server.pid) == "R" and
                      kdtest.schedstat(server.pid, server.pid)[0] > 300 * MS, PATIENCE)
    return Staged(server.pid, "computes, in a script of a client, by schedstat", {RAN}, (),
                  share_ran(server.pid))


def redis_forking(test):
    """It is changed all over while its child writes it to disk: it copies each page."""
    need("redis-cli")
    server = kdservers.start(test, kdservers.Redis("--appendonly", "no", "--rdb-key-save-delay", "1000000"))
    size = 512 << 20
    kdservers.silently(cli(server, "setrange", "big", str(size - 1), "x"))
    for number in range(5):
        kdservers.silently(cli(server, "set", f"small{number}", "x"))
    kdservers.silently(cli(server, "bgsave"))
    child, = kdtest.wait_until(lambda: kdprocesses.children_of(server.pid), PATIENCE)
    loop = f"for at = 0, {size - 4096}, 4096 do redis.call('setrange', 'big', at, 'y') end"
    return Staged(server.pid, f"copies the pages that its child {child} has of it, too (BGSAVE)",
                  {"page_fault"}, (("redis-rdb-bgsav", child), ("redis-server", child), "copies"),
                  args=("--sample-time", "0.5"), meanwhile=lambda: test.child(cli(server, "eval", loop, "0")))


incidents.main(idle_in_transaction, table_lock, row_convoy, redis_computing, redis_forking)
