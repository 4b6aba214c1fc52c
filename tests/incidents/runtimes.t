#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tests/run: long
"""Incidents within the run-time systems of languages: Java, Go, Python, Ruby and Node, by what these
say of themselves."""

import os
import re
import signal
import subprocess

import incidents
import kdgroup
import kdprocesses
import servers
from incidents import PATIENCE, RAN, Script, Staged, kdtest, logged, throughout
from kdneeds import need, tool

LOCK = {"lock"}
OWN_THREAD = {"lock", "own_threads"}  # which computes, or does its work


def tid_of(pid, name):
    """The thread of this name; Linux has 15 characters of it."""
    def found():
        return [tid for tid in kdtest.threads_of(pid) if kdtest.thread_name(pid, tid) == name[:15]]
    return kdtest.wait_until(found, PATIENCE)[0]


# --- Python ---

def gil(test):
    """A thread that serves, beside one that computes, at Python's global lock."""
    target = Script(test, """
import ctypes, threading
libc = ctypes.CDLL(None)
def compute():
    libc.prctl(15, b"compute")
    while True: sum(range(1000))
source, out = os.pipe()
ready(threading.get_native_id())
sys.stdin.readline()
threading.Thread(target=compute, daemon=True).start()
own = ctypes.PyDLL(None)  # calls by it keep the lock
def log(word):
    line = f"{word} {time.monotonic_ns()}\\n".encode()
    own.write(1, line, len(line))
while True:
    # This call lets the lock go for a moment, and waits for it again.
    log("began")
    libc.usleep(50)
    log("ended")
""")
    target.send("go")
    computes = tid_of(target.pid, "compute")
    return Staged(target.pid, f"its main thread waits for the global lock, which compute[{computes}] has "
                  "while it computes", LOCK, (("compute", computes),), logged(target))


# --- Ruby ---

RUBY = """
Thread.new { loop { 100_000.times { } } }.name = "compute"
$stdout.sync = true
puts "ready"
loop { IO.select([$stdin], nil, nil, 0) }
"""


def ruby_gvl(test):
    """The same in Ruby: a thread that looks for input, beside one that computes."""
    need("ruby")
    target = test.child(["ruby", "-e", RUBY])
    target.line("ready", PATIENCE)
    computes = tid_of(target.pid, "compute")
    return Staged(target.pid, f"its main thread waits for the global lock, which compute[{computes}] has "
                  "while it computes", {*LOCK, RAN}, (("compute", computes),))


# --- Java ---

MONITOR = """
public class Main {
    static final Object lock = new Object();
    public static void main(String[] args) throws Exception {
        Thread holder = new Thread(() -> {
            while (true) {
                synchronized (lock) { pause(40); }
                pause(1);
            }
        }, "holder");
        holder.start();
        Thread request = new Thread(() -> {
            while (true) {
                long began = System.nanoTime();
                synchronized (lock) { }
                System.out.println("began " + began + "\\nended " + System.nanoTime());
                pause(1);
            }
        }, "request");
        request.start();
        Thread.sleep(500);
        System.out.println("ready");
    }
    static void pause(int ms) { try { Thread.sleep(ms); } catch (InterruptedException e) { } }
}
"""


def java_monitor(test):
    """A thread waits for a monitor, whose holder sleeps."""
    java = servers.Java(test, MONITOR)
    holder = java.thread("holder")
    return Staged(java.pid, f"request waits for a monitor that holder[{holder}] has while it sleeps, by "
                  "jstack", LOCK, (("holder", holder),), logged(java))


COLLECTOR = """
import java.util.*;
public class Main {
    static Map<Integer, byte[]> kept = new HashMap<>();
    static Object sink;
    public static void main(String[] args) throws Exception {
        for (int i = 0; i < 1500000; i++) kept.put(i, new byte[16]);
        System.out.println("ready");
        while (true) { sink = new byte[1 << 16]; System.gc(); }
    }
}
"""


def pauses(java, start, stop):
    """How long all of its threads were stopped, by its own log of safepoints, ns."""
    total = 0
    for ended, took in re.findall(r"^\[(\d+)ns\].* Total: +(\d+) ns$", java.stdout, re.MULTILINE):
        total += max(0, min(stop, int(ended)) - max(start, int(ended) - int(took)))
    return total


def java_collector(test):
    """Its collector stops all threads most of the time, as it asks for that."""
    java = servers.Java(test, COLLECTOR, "-XX:+UseSerialGC", "-Xmx400m",
                "-Xlog:safepoint:stdout:timenanos")
    collector = java.thread("VM Thread")
    return Staged(java.pid, f"its collector, VM Thread[{collector}], stops all threads, by the log of "
                  "safepoints", OWN_THREAD, (("VM Thread", collector),),
                  lambda start, stop: pauses(java, start, stop))


STARVED = """
import java.util.concurrent.*;
public class Main {
    public static void main(String[] args) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(1,
            work -> new Thread(work, "pool"));
        new Thread(() -> {
            while (true) {
                for (int i = 0; i < 2; i++)
                    pool.submit(() -> { try { Thread.sleep(30); } catch (InterruptedException e) { } });
                long began = System.nanoTime();
                try { pool.submit(() -> 1).get(); } catch (Exception e) { }
                System.out.println("began " + began + "\\nended " + System.nanoTime());
                long end = System.nanoTime() + 2000000;
                while (System.nanoTime() < end) { }
            }
        }, "request").start();
        Thread.sleep(500);
        System.out.println("ready");
    }
}
"""


def java_pool(test):
    """A thread waits for its turn in a pool of one thread."""
    java = servers.Java(test, STARVED)
    pool = java.thread("pool")
    return Staged(java.pid, f"request waits for pool[{pool}], the only thread of a pool, which sleeps, by "
                  "jstack", OWN_THREAD, (("pool", pool),),
                  logged(java))


# --- Go ---

def go_program(test, name, text):
    path = test.directory() / f"{name}.go"
    path.write_text(text)
    subprocess.run([tool("go"), "build", "-o", path.with_suffix(""), path], check=True,
                   env={**os.environ, "GOCACHE": str(kdtest.ROOT / "build" / "go"), "GO111MODULE": "off",
                        "CGO_ENABLED": "0"})
    return path.with_suffix("")


GO_MUTEX = """
package main

import (
	"fmt"
	"sync"
	"time"
)

func main() {
	var lock sync.Mutex
	go func() {
		for {
			lock.Lock()
			time.Sleep(40 * time.Millisecond)
			lock.Unlock()
			time.Sleep(time.Millisecond)
		}
	}()
	time.Sleep(10 * time.Millisecond)
	fmt.Println("ready")
	for {
		lock.Lock()
		lock.Unlock()
		time.Sleep(time.Millisecond)
	}
}
"""


def go_mutex(test):
    """A goroutine waits for a mutex, whose holder sleeps. No thread does: from outside the process is
    idle, and nobody may be accused."""
    target = test.child([go_program(test, "gomutex", GO_MUTEX)])
    target.line("ready", PATIENCE)
    return Staged(target.pid, "a goroutine waits for a mutex, whose holder sleeps: no thread waits for "
                  "another", {incidents.NOTHING}, ())


GO_ASSIST = """
package main

import "fmt"

type node struct {
	next *node
	data [8]*node
}

var kept []*node

func main() {
	for i := 0; i < 400000; i++ {
		kept = append(kept, &node{})
	}
	fmt.Println("ready")
	for i := 0; ; i++ {
		kept[i%len(kept)] = &node{next: kept[(i+7)%len(kept)]}
	}
}
"""


def go_collector(test):
    """It allocates, and has to help its collector."""
    target = test.child([go_program(test, "goassist", GO_ASSIST)],
                        env={**os.environ, "GOGC": "10", "GOMAXPROCS": "1", "GODEBUG": "gctrace=1"})
    target.line("ready", PATIENCE)
    kdtest.wait_until(lambda: len(target.errors) > 20, PATIENCE)
    share = re.search(r" (\d+)%: ", target.stderr.splitlines()[-1])[1]
    return Staged(target.pid, f"computes on one CPU, {share} % of that for its collector, by gctrace", {RAN},
                  ("gcAssistAlloc", "gcBgMarkWorker", "gcDrain", "scanobject"))


GO_THROTTLED = """
package main

import "fmt"

func main() {
	fmt.Println("ready")
	for {
	}
}
"""


def go_throttled(test):
    """It computes, in a group with a fifth of a CPU."""
    name = f"kdt-go-{os.getpid()}"
    group = test.stack.enter_context(kdgroup.limited_group(name))
    target = test.child([go_program(test, "gothrottled", GO_THROTTLED)])
    target.line("ready", PATIENCE)
    (group / "cgroup.procs").write_text(str(target.pid))
    kdtest.wait_until(lambda: kdgroup.throttled_periods(group) > 2, PATIENCE)
    return Staged(target.pid, f"its group /{name} has 20 of 100 ms, by cpu.stat", {"throttled"}, (f"/{name}",))


# --- Node ---

NODE_COMPUTES = """
const rows = Array.from({ length: 20000 }, (_, id) => ({ id, text: `row ${id}` }));
setInterval(() => {
  const end = Date.now() + 80;
  while (Date.now() < end) JSON.parse(JSON.stringify(rows));
}, 10);
console.log("ready");
"""
NODE_WAITS = """
const { spawnSync } = require("child_process");
console.log("ready");
setTimeout(() => spawnSync("sleep", ["1000"]), 1);
"""


def node(test, text):
    need("node")
    target = test.child(["node", "-e", text])
    target.line("ready", PATIENCE)
    return target


def node_computing(test):
    """A request that computes blocks the event loop."""
    target = node(test, NODE_COMPUTES)
    return Staged(target.pid, "its event loop computes (JSON) nearly all the time", {RAN}, ())


def node_waiting(test):
    """spawnSync() blocks the event loop."""
    target = node(test, NODE_WAITS)
    child, = kdtest.wait_until(lambda: kdprocesses.children_of(target.pid), PATIENCE)
    test.stack.callback(os.kill, child, signal.SIGKILL)
    kdtest.wait_until(lambda: kdtest.thread_name(child, child) == "sleep", PATIENCE)
    servers.rests(target.pid)
    return Staged(target.pid, f"its event loop waits for its child sleep[{child}]", {"child", "peer"},
                  (("sleep", child),), throughout)


incidents.main(gil, ruby_gvl, java_monitor, java_collector, java_pool, go_mutex, go_collector, go_throttled,
               node_computing, node_waiting)
