#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real processes: ovs-vswitchd with traffic through a netdev bridge, and
redis-server under redis-benchmark. Both are started here, with their own
directories and sockets; the bridge lives in a network namespace of its own."""

import os
import pathlib
import shutil
import subprocess
import time

import kdtest

SENDER = """
import socket, sys, time
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
end = time.monotonic() + 60
while time.monotonic() < end:
    for _ in range(20):
        try:
            sock.sendto(b"x" * 100, (sys.argv[1], 5000))
        except OSError:
            pass
    time.sleep(0.01)
"""


def need(*programs):
    os.environ["PATH"] += ":/usr/sbin:/sbin:/usr/local/sbin"
    missing = [program for program in programs if not shutil.which(program)]
    if missing:
        raise kdtest.Skip(f"not installed: {', '.join(missing)}")


def check(test, pid, seconds):
    """One sample of a process that works: complete and balanced, and run times
    as the kernel's schedstat has them. Returns the report."""
    before = set(kdtest.threads_of(pid))
    capture = test.capture(pid)
    first = kdtest.proc_mark(pid)
    time.sleep(seconds)
    second = kdtest.proc_mark(pid)
    report = capture.close(test)
    throughout = before & set(kdtest.threads_of(pid))
    complete(test, report, throughout, pid)
    # A running thread's schedstat may be older than a tick at either mark.
    tick = 12 * kdtest.MS
    bounds = {tid: (least - tick, most + tick)
              for tid, (least, most) in first.bounds(second, report).items()}
    late = {thread.tid for thread in report.threads} - throughout
    test.books(report, bounds, late)
    return report


def complete(test, report, throughout, pid):
    """Every thread has its row, or is one of those folded under its name."""
    rows = {thread.tid for thread in report.threads}
    folded = {}
    for thread in report.threads:
        if thread.tid is None and not thread.ended:
            folded[thread.name] = folded.get(thread.name, 0) + thread.members
    for tid in throughout - rows:
        name = kdtest.thread_name(pid, tid)
        folded[name] = folded.get(name, 0) - 1
    missing = {name: count for name, count in folded.items() if count}
    test.eq(missing, {}, f"all {len(throughout)} threads are in the report (by name: excess)")


def namespace(test, name):
    subprocess.run(["ip", "netns", "add", name], check=True)
    test.stack.callback(subprocess.run, ["ip", "netns", "del", name], check=False)
    return name


def bridge(test, directory):
    """Starts Open vSwitch with one netdev bridge; returns the switch's child."""
    switch = namespace(test, f"kdtest-{os.getpid()}-sw")
    within = ["ip", "netns", "exec", switch]
    environment = {**os.environ, "OVS_RUNDIR": str(directory), "OVS_LOGDIR": str(directory),
                   "OVS_DBDIR": str(directory)}
    database, socket = directory / "conf.db", f"unix:{directory}/db.sock"
    subprocess.run(["ovsdb-tool", "create", database,
                    "/usr/share/openvswitch/vswitch.ovsschema"], check=True)
    test.child(["ovsdb-server", database, f"--remote=p{socket}", "-vconsole:off",
                f"--unixctl={directory}/ovsdb.ctl"], env=environment)
    kdtest.wait_until((directory / "db.sock").exists)

    def vsctl(*args):
        subprocess.run(["ovs-vsctl", f"--db={socket}", "--timeout=20", *args], check=True,
                       env=environment, stdout=subprocess.DEVNULL)

    vsctl("--no-wait", "init")
    child = test.child([*within, "ovs-vswitchd", socket, "--disable-system", "-vconsole:off",
                        f"--unixctl={directory}/vswitchd.ctl"], env=environment)
    kdtest.wait_until((directory / "vswitchd.ctl").exists)
    vsctl("add-br", "kdbr0", "--", "set", "bridge", "kdbr0", "datapath_type=netdev")
    for index in (1, 2):
        host = namespace(test, f"kdtest-{os.getpid()}-h{index}")
        commands = [f"ip link add kdp{index} netns {switch} type veth peer name eth0 netns {host}",
                    f"ip -n {switch} link set kdp{index} up", f"ip -n {host} link set eth0 up",
                    f"ip -n {host} address add 192.0.2.{index}/24 dev eth0"]
        for command in commands:
            subprocess.run(command.split(), check=True)
        vsctl("add-port", "kdbr0", f"kdp{index}")
    return child


def received(pid):
    """Packets of both hosts' interfaces as the switch's namespace sees them."""
    lines = pathlib.Path(f"/proc/{pid}/net/dev").read_text().splitlines()
    return sum(int(line.split()[2]) for line in lines if line.strip().startswith("kdp"))


def case_ovs_vswitchd(test):
    need("ovs-vswitchd", "ovsdb-server", "ovsdb-tool", "ovs-vsctl", "ip")
    if not pathlib.Path("/dev/net/tun").exists():
        raise kdtest.Skip("no /dev/net/tun for the bridge's own port")
    switch = bridge(test, test.directory())
    for index in (1, 2):
        test.child(["ip", "netns", "exec", f"kdtest-{os.getpid()}-h{index}", "python3", "-c",
                    SENDER, f"192.0.2.{3 - index}"])
    before = received(switch.pid)
    kdtest.wait_until(lambda: received(switch.pid) > before + 200)
    packets = received(switch.pid)
    report = check(test, switch.pid, 2)
    packets = received(switch.pid) - packets
    test.ok(packets > 100, "there was traffic", packets)
    main = [thread for thread in report.threads if thread.tid == switch.pid]
    test.eq([thread.name for thread in main], ["ovs-vswitchd"], "the main thread")
    reads = sum(thread.count(call) for thread in report.threads
                for call in ("recvmmsg", "recvmsg", "recvfrom"))
    test.ok(reads > 10, "the packets were received by system calls", reads)
    polled = sum(thread.count("poll") + thread.count("ppoll") for thread in report.threads)
    test.ok(polled > 10, "it polls", polled)
    default_target(test, switch.pid)


def default_target(test, pid):
    if len(kdtest.processes_named("ovs-vswitchd")) > 1:
        test.skip("the default target", "another ovs-vswitchd runs on this machine")
        return
    done = test.program("--sample-time", "0.3")
    test.eq(done.status, 0, "without -p the ovs-vswitchd is the target")
    report = kdtest.kdreport.parse(done.stdout)[0]
    test.ok(pid in {thread.tid for thread in report.threads}, "it is this one")
    test.books(report)


def case_redis_server(test):
    need("redis-server", "redis-benchmark")
    directory = test.directory()
    socket = directory / "redis.sock"
    server = test.child(["redis-server", "--port", "0", "--unixsocket", socket, "--save", "",
                         "--appendonly", "no", "--dir", directory])
    kdtest.wait_until(socket.exists)
    benchmark = test.child(["redis-benchmark", "-s", socket, "-n", "100000000", "-c", "20", "-q",
                            "-t", "get,set"])
    kdtest.wait_until(lambda: kdtest.schedstat(server.pid, server.pid)[0] > 200 * kdtest.MS)
    report = check(test, server.pid, 2)
    test.ok(benchmark.proc.poll() is None, "it was under load throughout")
    main = report.thread(server.pid)
    test.ok(main.count("read") > 1000 and main.count("write") > 1000, "it served requests",
            main.calls)
    test.ok(main.running > report.window / 20, "it was busy", main.ns)


kdtest.main(case_ovs_vswitchd, case_redis_server)
