#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tests/run: long
"""Healthy servers, idle and with little to do: nobody may be accused."""

import dataclasses
import os

import incidents
import kdprocesses
import kdservers
import servers
from incidents import NOTHING, PATIENCE, Script, Staged, kdtest
from kdneeds import need

PAUSE = 0.01  # seconds between two requests of the one client

# A client of each kind: what it does at once, and for each request.
HTTP = ("import http.client\npeer = http.client.HTTPConnection('127.0.0.1', int(sys.argv[1]))",
        "peer.request('GET', '/'); peer.getresponse().read()")
REDIS = ("import socket\npeer = socket.socket(socket.AF_UNIX)\npeer.connect(sys.argv[1])",
         "peer.sendall(b'*1\\r\\n$4\\r\\nPING\\r\\n'); peer.recv(64)")
SYSLOG = ("import socket\npeer = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)\npeer.connect(sys.argv[1])",
          "peer.send(b'<14>client: a message')")
SQL = ("import subprocess\npeer = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, "
       "stdout=subprocess.PIPE, text=True)",
       "peer.stdin.write('select 1;\\n'); peer.stdin.flush(); peer.stdout.readline()")
COMMAND = ("import subprocess", "subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)")


def serve(test, kind, *args, pause=PAUSE, **options):
    """Starts a client; returns when it has made some requests."""
    begin, request = kind
    client = Script(test, f"""
name("client")
{begin}
for number in range(1 << 30):
    {request}
    if number == 10: ready()
    time.sleep({pause})""", *args, **options)
    return client


def healthy(pids, name, busy):
    """A server that has a client, or rests."""
    if not busy:
        servers.rests(*pids)
    return Staged(pids, f"{name}, healthy, " + ("with little to do" if busy else "idle"), {NOTHING},
                  incidents.NOBODY)


# --- The servers ---

JAVA = """
import com.sun.net.httpserver.*;
import java.net.*;
import java.util.concurrent.*;
public class Main {
    public static void main(String[] args) throws Exception {
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
        server.setExecutor(Executors.newFixedThreadPool(8));
        server.createContext("/", exchange -> {
            exchange.sendResponseHeaders(200, 2);
            exchange.getResponseBody().write("ok".getBytes());
            exchange.close();
        });
        server.start();
        System.out.println("ready " + server.getAddress().getPort());
    }
}
"""


def java(test, busy):
    server = servers.Java(test, JAVA)
    if busy:
        serve(test, HTTP, server.words[0])
    return healthy([server.pid], "a JVM", busy)


def postgresql(test, busy):
    base = kdservers.start(test, kdservers.Postgres())
    if busy:
        serve(test, SQL, "psql", "-h", base.directory, "-U", "postgres", "-qAtX", "postgres")
    return healthy([base.main.pid, *kdprocesses.children_of(base.main.pid)], "PostgreSQL", busy)


def mariadb(test, busy):
    server = kdservers.start(test, servers.MariaDB())
    if busy:
        serve(test, SQL, "mariadb", "--no-defaults", "-S", server.socket, "-u", "root", "-NBn")
    return healthy([server.pid], "MariaDB", busy)


def nginx(test, busy):
    server = kdservers.start(test, servers.Nginx())
    if busy:
        serve(test, HTTP, server.port)
    return healthy(server.pids, "nginx", busy)


def redis(test, busy):
    server = kdservers.start(test, kdservers.Redis())
    if busy:
        serve(test, REDIS, server.socket)
    return healthy([server.pid], "redis-server", busy)


NODE = """
const rows = JSON.stringify(Array.from({ length: 2000 }, (_, id) => ({ id, text: `row ${id}` })));
const server = require("http").createServer((request, answer) =>
  answer.end(JSON.stringify(JSON.parse(rows)).slice(0, 100)));
server.listen(0, "127.0.0.1", () => console.log("ready", server.address().port));
"""


def node(test, busy):
    need("node")
    server = test.child(["node", "-e", NODE])
    port = server.line("ready", PATIENCE).split()[1]
    if busy:
        serve(test, HTTP, port)
    return healthy([server.pid], "node", busy)


def rsyslogd(test, busy):
    server = kdservers.start(test, servers.Rsyslog())
    if busy:
        serve(test, SYSLOG, server.socket)
    return healthy([server.pid], "rsyslogd", busy)


def ovs_vswitchd(test, busy):
    server = kdservers.start(test, kdservers.DummySwitch())
    if busy:
        serve(test, COMMAND, "ovs-appctl", "-t", server.directory / "vswitchd.ctl", "fdb/show", "kdbr0",
              pause=0.05)
    return healthy([server.pid], "ovs-vswitchd", busy)


SERVERS = (java, postgresql, mariadb, nginx, redis, node, rsyslogd, ovs_vswitchd)


def incident_of(server, busy, loaded):
    """loaded: others compute on each CPU at the same time, with less weight than the server."""
    def incident(test):
        staged = server(test, busy)
        for _ in os.sched_getaffinity(0) if loaded else ():
            Script(test, 'name("other"); ready()\nwhile True: pass', wrapper=incidents.OUTSIDE)
        return dataclasses.replace(staged, truth=f"{staged.truth}, beside others") if loaded else staged
    incident.__name__ = (f"{server.__name__}_{'busy' if busy else 'idle'}"
                         f"{'_loaded' if loaded else ''}")
    return incident


incidents.main(*(incident_of(server, busy, loaded) for server in SERVERS
                 for busy in (False, True) for loaded in (False, True)))
