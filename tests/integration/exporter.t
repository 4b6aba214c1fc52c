#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tests/run: long
"""Metrics by HTTP: their figures match the JSON of the same run, whatever clients do; and a real
Prometheus stores them."""

import contextlib
import glob
import http.client
import json
import os
import pathlib
import signal
import socket
import threading
import time
import urllib.parse

import kdneeds
import kdtest
from kdexporter import AS_PROMETHEUS, COMPLETE, Exporter, LOCAL, OPENMETRICS, PROMETHEUS, refuses
from kdtest import free_port

SCRAPE = "200ms"  # how often Prometheus asks


def value(series, name, **labels):
    return series.get((f"kernel_delay_{name}", frozenset(labels.items())), 0)


def sums_of(samples):
    """The totals over the samples of a run, in ns and counts: {(family, labels...): sum}."""
    found = {}

    def add(amount, *key):
        found[key] = found.get(key, 0) + amount

    states = ("user", "kernel", "page_fault", "reclaim", "hardirq", "softirq", "stolen",
              "ready_woken", "ready_preempted", "throttled", "blocked",
              "blocked_uninterruptible", "stopped", "frozen")
    for sample in samples:
        add(sample["window"]["duration_ns"], "measured_seconds_total")
        for thread in sample["threads"]:
            for state in states:
                add(thread["ledger"][f"{state}_ns"], "thread_seconds_total",
                    ("thread", thread["name"]), ("state", state))
            for call in thread["syscalls"]:
                labels = (("thread", thread["name"]), ("syscall", call["name"]))
                add(call["count"], "syscalls_total", *labels)
                add(call["total_ns"], "syscall_seconds_total", *labels)
    return found


def same_sums(test, series, samples, what):
    """The counters are the sums of these samples, to the nanosecond."""
    wrong = []
    sums = sums_of(samples)
    for (name, *labels), total in sums.items():
        got = value(series, name, **dict(labels))
        want = total / 1e9 if "seconds" in name else total
        if abs(got - want) > 1e-9 * max(1, want):
            wrong.append(f"{name} {labels}: {got}, want {want}")
    test.ok(len(sums) > 10 and not wrong, f"{what}: {len(sums)} counters are the sums of "
            f"{len(samples)} samples", *wrong[:8])


def at_rest(exporter, path):
    """(series, samples) that belong together, though the run goes on."""
    series = exporter.series()
    count = int(series[COMPLETE])
    # What is not yet in the file comes within moments.
    samples = kdtest.wait_until(
        lambda: found if len(found := kdtest.samples_of(path)) >= count else None)
    return series, samples[:count]


def begin(test, *args, roles=("poll", "spin"), length="50ms", **options):
    """Starts an exporter: (exporter, path of its JSON)."""
    load = test.workload("roles", *roles)
    path = test.directory() / "json"
    args = ("--sample-time", length, "-o", f"json:{path}", *args)
    return test.start(Exporter(load.pid, *args, **options)), path


def case_forms(test):
    exporter, path = begin(test)
    for wanted, got in ((None, PROMETHEUS), ("*/*", PROMETHEUS), (AS_PROMETHEUS, OPENMETRICS),
                        ("text/plain", PROMETHEUS), ("application/openmetrics-text", OPENMETRICS)):
        status, headers, text = exporter.get(**({"Accept": wanted} if wanted else {}))
        test.eq((status, headers["Content-Type"]), (200, got), f"Accept: {wanted}")
        test.eq(text.endswith("# EOF\n"), got == OPENMETRICS, "is what it says")
    before, counts = {}, []
    for _ in range(4):
        series = exporter.series()
        counts.append(series[COMPLETE])
        shrunk = [key for key, number in before.items()
                  if key[0].endswith(("_total", "_count", "_bucket", "_sum"))
                  and series.get(key, 0) < number]
        test.eq(shrunk, [], "no counter shrinks")
        before = series
        kdtest.wait_until(lambda: exporter.count() > counts[-1])
    test.ok(counts == sorted(set(counts)), "samples are added meanwhile", counts)
    same_sums(test, *at_rest(exporter, path), "while it runs")
    test.eq(exporter.finish(), 0, "a signal ends it with status 0")
    test.eq((exporter.stdout, exporter.stderr), ("", "kernel_delay: serving metrics at "
            f"http://{LOCAL}:{exporter.port}/metrics\n"), "it says only where they are")


def case_before_samples(test):
    """Before the first sample, the metrics that need none."""
    load = test.workload("roles", "poll")
    exporter = test.start(Exporter(load.pid, "--sample-time", 60, "--quiet", samples=False))
    for accept in (AS_PROMETHEUS, PROMETHEUS):
        text = exporter.get(Accept=accept)[2]
        test.ok('\nkernel_delay_build_info{version="' in text and f'pid="{load.pid}"' in text,
                f"{accept[:30]}: the program and the process", text[:500])
    series = exporter.series()
    test.eq((series[COMPLETE], value(series, "measured_seconds_total")), (0, 0), "no sample")
    test.eq([key for key in series if "thread" in dict(key[1])], [], "no threads")
    # Its filter says that it has begun: before, a signal ends it with another status.
    kdtest.wait_until(lambda: kdtest.status_field(exporter.pid, "Seccomp") == "2")
    test.eq(exporter.finish(), 0, "a signal ends it with status 0")
    test.eq((exporter.stdout, exporter.stderr), ("", ""), "--quiet: it says nothing")


def case_names(test):
    exporter, path = begin(test, "--sample-count=5", listen=",fold-names,max-syscalls=1,per-thread")
    series = exporter.series()
    threads = {dict(labels).get("tid") for name, labels in series
               if name == "kernel_delay_threads"}
    test.ok(None not in threads and len(threads) >= 2, "per-thread: with their TIDs", threads)
    test.eq(exporter.wait(), 0, "--sample-count ends it")
    test.eq(len(kdtest.samples_of(path)), 5, "after so many samples")


def case_text(test):
    load = test.workload("roles", "poll")
    exporter = test.start(Exporter(load.pid, "--sample-time", "50ms", "-o", "text"))
    exporter.line("# Sample dump")
    exporter.line("# Sample dump")
    test.eq(exporter.finish(), 0, "-o text prints the samples as well")


def case_triggers(test):
    load = test.workload("roles", "poll")
    began = time.monotonic()
    exporter = test.start(Exporter(load.pid, "--start-trigger", "t:sched:sched_switch",
                                   "--stop-trigger", "t:sched:sched_switch", "--quiet"))

    def hits():
        series = exporter.series()
        return sum(number for (name, labels), number in series.items()
                   if name == "kernel_delay_trigger_hits_total")

    def armed():
        return sum(number for (name, _), number in exporter.series().items()
                   if name == "kernel_delay_trigger_armed_seconds_total")

    first, before = kdtest.wait_until(hits), armed()
    kdtest.wait_until(lambda: hits() > first and armed() > before)
    test.ok(True, "hits of triggers grow while it runs, and the time for which they are looked at")
    test.between(armed(), before, time.monotonic() - began, "which is no longer than the run")
    test.eq(exporter.finish(), 0, "status 0")


def case_addresses(test):
    load = test.workload("roles", "poll")
    for address in ("127.0.0.2", "::1", "0.0.0.0", "::"):
        try:
            free_port(address)
        except OSError as error:
            test.skip(f"{address} is served", error)
            continue
        exporter = test.start(Exporter(load.pid, "--sample-time", "20ms", address=address))
        test.ok(exporter.count(), f"{address} is served")
        test.eq(refuses(exporter.port), address not in ("0.0.0.0", "::"), f"{address}: so is 127.0.0.1")
        exporter.end()
    exporter = test.start(Exporter(load.pid, "--sample-time", "20ms"))
    test.ok(refuses(exporter.port, "127.0.0.2"), "by default 127.0.0.1 alone is")
    second = test.program("-p", load.pid, "--listen", exporter.port, "--sample-time", 600)
    test.eq(second.status, 69, "a port that is taken: status 69")
    test.between(len(second.stderr.splitlines()), 1, 2, "is said in one or two lines")
    test.ok(f"127.0.0.1:{exporter.port}" in second.stderr, "with the port", second.stderr)
    test.ok("# Start" not in second.stdout, "before a sample", second.stdout)
    foreign = test.program("-p", load.pid, "--listen", f"192.0.2.1:{exporter.port}")
    test.eq(foreign.status, 69, "an address of another machine: status 69")


def case_privileged_port(test):
    load = test.workload("roles", "poll")
    kdneeds.need("capsh")
    try:
        floor = int(pathlib.Path("/proc/sys/net/ipv4/ip_unprivileged_port_start").read_text())
    except OSError:
        floor = 1024
    if floor < 2:
        raise kdtest.Skip("all ports are free for all")
    done = test.program("-p", load.pid, "--listen", 1, "--sample-count=1",
                        wrapper=("capsh", "--drop=cap_net_bind_service", "--", "-c",
                                 'exec "$0" "$@"'))
    test.eq(done.status, 77, "without the capability: status 77")
    test.ok("CAP_NET_BIND_SERVICE" in done.stderr, "which is named", done.stderr)


def case_library(test):
    """The library is loaded where metrics are served, and nowhere else."""
    kdneeds.need("unshare")
    load = test.workload("roles", "poll")
    found = [path for folder in ("/usr/lib*", "/usr/lib/*")
             for path in glob.glob(f"{folder}/libmicrohttpd.so.12")]
    hidden = "".join(f"mount --bind /dev/null {path}; " for path in found)
    done = test.program("-p", load.pid, "--listen", free_port(), "--sample-count=1", "--sample-time=0.1",
                        wrapper=("unshare", "-m", "sh", "-c", f'{hidden}exec "$0" "$@"'))
    test.ok(found and done.status == 71, "it is not there: status 71", found, done.status)
    test.ok("option --listen: libmicrohttpd.so.12 cannot be loaded\n" in done.stderr, "which is said",
            done.stderr)
    capture = test.capture(load.pid)
    maps = pathlib.Path(f"/proc/{capture.pid}/maps").read_text()
    test.ok("/libc.so" in maps and "microhttpd" not in maps and "tls" not in maps,
            "others do not load it")
    capture.close(test)


def raw(exporter, data):
    link = socket.create_connection((exporter.address, exporter.port), kdtest.PATIENCE)
    link.settimeout(kdtest.PATIENCE)
    with contextlib.suppress(OSError):  # it may be closed before all is sent
        link.sendall(data)
    return link


def until_closed(link):
    """All bytes received, and whether the connection was closed."""
    parts = []
    with contextlib.suppress(ConnectionError):
        while True:
            try:
                part = link.recv(1 << 16)
            except TimeoutError:
                return b"".join(parts), False
            if not part:
                break
            parts.append(part)
    return b"".join(parts), True


def goes_on(test, exporter, path, what):
    """Sampling goes on, and the figures are right."""
    before = len(kdtest.samples_of(path))
    kdtest.wait_until(lambda: len(kdtest.samples_of(path)) >= before + 3)
    test.ok(exporter.proc.poll() is None, f"{what}: sampling goes on")
    kdtest.wait_until(lambda: not busy(exporter))
    same_sums(test, *at_rest(exporter, path), what)


def busy(exporter):
    """Whether this address has used up its connections."""
    try:
        return exporter.get()[0] != 200
    except (OSError, http.client.HTTPException):
        return True


def case_wrong_requests(test):
    exporter, path = begin(test)
    status, _, text = exporter.get("/")
    test.ok(status == 200 and 'href="metrics"' in text, "/ leads to the metrics", text)
    for what, request in (
            # What is not read may take the answer with it.
            ("POST with 1 MB", b"POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1048576"
             b"\r\n\r\n" + b"a" * (1 << 20)),
            ("a header of 1 MB", b"GET /metrics HTTP/1.1\r\nX: " + b"a" * (1 << 20)),
            ("a path of 1 MB", b"GET /" + b"a" * (1 << 20)),
            ("100,000 headers", b"GET /metrics HTTP/1.1\r\n" + b"a: b\r\n" * 100_000)):
        link = raw(exporter, request)
        answer, ended = until_closed(link)
        link.close()
        test.ok(ended and (not answer or answer.startswith(b"HTTP/1.1 4")),
                f"{what} is refused", answer[:200])
    goes_on(test, exporter, path, "after all that")


def server(exporter):
    """The process that answers requests."""
    return int(pathlib.Path(f"/proc/{exporter.pid}/task/{exporter.pid}/children").read_text(encoding="ascii").split()[0])


def descriptors(exporter):
    time.sleep(0.01)
    return len(os.listdir(f"/proc/{server(exporter)}/fd"))


def case_powerless(test):
    """The process that faces the network can do nothing else."""
    exporter, path = begin(test)
    pid = server(exporter)
    status = {name: kdtest.status_field(pid, name) for name in
              ("CapPrm", "CapEff", "CapInh", "CapAmb", "CapBnd", "NoNewPrivs", "Seccomp", "Uid", "Gid")}
    test.eq([int(status.pop(name), 16) for name in ("CapPrm", "CapEff", "CapInh", "CapAmb", "CapBnd")], [0] * 5,
            "no capabilities, in any set")
    test.eq(status, {"NoNewPrivs": "1", "Seccomp": "2", "Uid": "65534", "Gid": "65534"}, "nobody, with a filter")
    test.eq(os.readlink(f"/proc/{pid}/root"), f"/proc/{pid}/fdinfo", "it sees no files")
    links = {fd: os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")}
    test.ok(all(link == "/dev/null" or link.startswith(("socket:", "anon_inode:[eventpoll]"))
                for link in links.values()), "it has sockets, and nothing of BPF", links)
    goes_on(test, exporter, path, "after all that")
    os.kill(pid, signal.SIGKILL)
    test.eq(exporter.wait(), os.EX_OSERR, "without it the run ends: status 71")
    test.ok("the process that answers requests has ended" in exporter.stderr, "and says why", exporter.stderr)


def case_hosts(test):
    """A page that directs a browser here under a host name of its own gets nothing (DNS rebinding)."""
    exporter, path = begin(test)
    own = socket.gethostname()
    for host, status in ((f"{LOCAL}:{exporter.port}", 200), ("localhost", 200), (own, 200), ("192.0.2.1", 200),
                         ("[2001:db8::1]:80", 200), ("evil.example", 421), ("localhost.evil.example:80", 421)):
        for page in "/metrics", "/healthz", "/":
            got = exporter.get(page, Host=host)
            test.ok(got[0] == status and (status == 200 or "allow-host" in got[2]), f"{host}{page}: {status}", got[0])
    test.eq(exporter.get("/healthz")[2], "ok\n", "/healthz")
    goes_on(test, exporter, path, "after all that")
    exporter, path = begin(test, listen=",allow-host=a.example,evil.example")
    test.eq([exporter.get(Host=host)[0] for host in ("evil.example:1", "a.example", "b.example")], [200, 200, 421],
            "allow-host")


def asked(test, exporter, source):
    """How long a request from an address takes to be answered."""
    link = http.client.HTTPConnection(LOCAL, exporter.port, timeout=kdtest.PATIENCE, source_address=(source, 0))
    began = time.monotonic()
    link.request("GET", "/metrics")
    test.eq(link.getresponse().status, 200, f"from {source}: answered")
    link.close()
    return time.monotonic() - began


def trickle(links):
    """Requests that never end: each sends a byte now and then, so that none is ever idle."""
    while any(link.fileno() >= 0 for link in links):
        for link in list(links):
            with contextlib.suppress(OSError):
                link.send(b"G", socket.MSG_NOSIGNAL)
        time.sleep(0.2)


def case_idle(test):
    """Connections with unfinished requests keep nobody waiting: those of one address do not block
    another address, and those of many addresses are closed."""
    exporter, path = begin(test)
    links = []
    threading.Thread(target=trickle, args=(links,), daemon=True).start()
    for number in range(2, 8):
        for _ in range(16):
            link = socket.socket()
            test.stack.callback(link.close)
            link.bind((f"127.0.0.{number}", 0))
            link.connect((LOCAL, exporter.port))
            links.append(link)
        if number == 3:
            test.between(asked(test, exporter, "127.0.1.1"), 0, 5, "at once (s)")
    held = max(descriptors(exporter) for _ in range(20))
    test.between(held, 1, 75, f"of {len(links)} that ask for ever 64 are held at most")
    asked(test, exporter, "127.0.1.1")  # is answered, or this test ends
    def closed():
        for link in links:
            link.setblocking(False)
        return all(map(is_closed, links))
    kdtest.wait_until(closed)
    test.eq(closed(), True, "none of the others is held for ever")
    goes_on(test, exporter, path, "after all that")


def is_closed(link):
    try:
        return not link.recv(1)
    except BlockingIOError:
        return False
    except OSError:
        return True


def case_many(test):
    exporter, path = begin(test)
    answers = []

    def ask():
        try:
            answers.append(exporter.get(Accept=AS_PROMETHEUS))
        except (OSError, http.client.HTTPException) as error:
            answers.append((0, {}, repr(error)))

    threads = [threading.Thread(target=ask) for _ in range(200)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    served = [text for status, _, text in answers if status == 200]
    test.eq(len(answers), 200, "200 clients at once get an answer or none")
    test.ok(served, "some get one")
    test.ok(all(text.endswith("# EOF\n") for text in served), "each is whole")
    test.ok(all(status in (0, 200) for status, _, _ in answers), "nobody gets anything else")
    links = [raw(exporter, b"") for _ in range(200)]
    # All but 16 are closed.
    for link in links:
        link.setblocking(False)
    kdtest.wait_until(lambda: sum(map(is_closed, links)) >= 200 - 16)
    # The least of some: one that is just refused is there for a moment.
    held = min(descriptors(exporter) for _ in range(20))
    for link in links:
        link.close()
    kdtest.wait_until(lambda: not busy(exporter))
    idle = descriptors(exporter)
    test.between(held - idle, 8, 16, "of 200 connections of one address 16 at most are held")
    goes_on(test, exporter, path, "after all that")


def case_slow(test):
    """Half-finished requests, and readers that do not read."""
    exporter, path = begin(test, roles=("poll",), length="500ms")
    half = raw(exporter, b"GET /metrics HTTP/1.1\r\nHo")
    silent = raw(exporter, b"")
    noise = raw(exporter, b"\0\xff\r\n\r\n" * 1000)
    reading = socket.socket()
    reading.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
    reading.connect((LOCAL, exporter.port))
    ask = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
    reading.sendall(ask)
    # Answers that nobody reads.
    stuck = raw(exporter, ask * 100)
    began, before = time.monotonic(), exporter.count()
    ended, got, rounds = {}, 0, 0
    while time.monotonic() - began < kdtest.PATIENCE and (len(ended) < 3 or rounds < 8):
        time.sleep(1)
        rounds += 1
        now = time.monotonic() - began
        got += len(reading.recv(1))
        for name, link in (("half", half), ("silent", silent), ("noise", noise)):
            link.settimeout(0.001)
            try:
                if name not in ended and not link.recv(4096):
                    ended[name] = now
            except TimeoutError:
                pass
            except ConnectionError:
                ended[name] = now
    # Who says nothing has 2 s.
    for name, least, what in (("half", 1, "half a request"), ("silent", 1, "no request"),
                              ("noise", 0, "no HTTP")):
        test.between(ended.get(name), least, kdtest.PATIENCE, f"{what}: closed (s)")
    test.ok(got >= 8, "one that reads slowly gets its bytes", got)
    test.ok(exporter.count() > before, "samples came meanwhile", before)
    goes_on(test, exporter, path, "after all that")
    for link in (half, silent, noise, reading, stuck):
        link.close()


def prometheus(test, port):
    """A real Prometheus that scrapes this port; returns a function that queries it."""
    kdneeds.need("prometheus")
    folder, own = test.directory(), free_port()
    (folder / "prometheus.yml").write_text(
        "scrape_configs:\n- job_name: kernel_delay\n  "
        f"scrape_interval: {SCRAPE}\n"
        f"  scrape_timeout: {SCRAPE}\n  static_configs:\n  - targets: ['{LOCAL}:{port}']\n")
    with open(folder / "log", "wb") as log:
        child = test.child(["prometheus", f"--config.file={folder}/prometheus.yml",
                            f"--storage.tsdb.path={folder}/data",
                            f"--web.listen-address={LOCAL}:{own}"], stdout=log, stderr=log)
    kdtest.wait_until(lambda: child.proc.poll() is not None or not refuses(own))

    def query(expression, **when):
        connection = http.client.HTTPConnection(LOCAL, own, timeout=kdtest.PATIENCE)
        try:
            connection.request("GET", "/api/v1/query?" +
                               urllib.parse.urlencode({"query": expression, **when}))
            answer = connection.getresponse()
            # It says that it is not ready in plain text.
            return json.load(answer)["data"]["result"] if answer.status == 200 else []
        finally:
            connection.close()

    return query


def percentile(samples, get):
    """(number of durations, limit in ns that 99 % of them do not exceed), from rows of JSON."""
    sums = {}
    for sample in samples:
        for thread in sample["threads"]:
            for row in get(thread):
                for bucket in row.get("buckets", []):
                    sums[bucket["le_ns"]] = sums.get(bucket["le_ns"], 0) + bucket["count"]
    total, below = sum(sums.values()), 0
    for limit in sorted(sums):
        below += sums[limit]
        if below * 100 >= total * 99:
            return total, limit
    return 0, 0


def same_percentiles(test, query, path):
    """Prometheus's estimate of a percentile lies in the bucket that holds it in JSON."""
    # One that is stored, whenever it was, and as it was then.
    stored = query("timestamp(kernel_delay_captures_total{result='complete'})")
    when = float(stored[0]["value"][1])
    count = int(query("kernel_delay_captures_total{result='complete'}", time=when)[0]["value"][1])
    samples = kdtest.samples_of(path)[:count]
    limits = [0] + [factor * 10 ** power for power in range(3, 12) for factor in (1, 2, 5)]
    for what, matchers, get in (
            ("thread_period", "state='ready'", lambda thread: [thread["ready"]]),
            ("thread_period", "state='running',thread='convoy'",
             lambda thread: [thread["run"]] if thread["name"] == "convoy" else []),
            ("syscall", "syscall='getppid'", lambda thread: [
                call for call in thread["syscalls"] if call["name"] == "getppid"])):
        total, limit = percentile(samples, get)
        family = f"kernel_delay_{what}_duration_seconds"
        found = query(f"histogram_quantile(0.99, sum by (le) ({family}_bucket{{{matchers}}}))",
                      time=when)
        counted = query(f"sum({family}_count{{{matchers}}})", time=when)
        test.ok(total > 10 and found and counted, f"{what}{{{matchers}}}: there are {total}")
        test.eq([int(item["value"][1]) for item in counted], [total], "as many as in JSON")
        upper = next(ns for ns in limits if limit <= ns)
        got = float(found[0]["value"][1]) * 1e9
        test.between(got, limits[limits.index(upper) - 1], upper + 0.5,
                     f"99 %: in the bucket of JSON's {limit} ns")


def case_prometheus(test):
    load = test.workload("roles", "poll", "convoy:-1:1000:9000", "calls:3000000:0:0")
    path = test.directory() / "json"
    exporter = test.start(Exporter(load.pid, "--sample-time", "100ms", "-o", f"json:{path}",
                                   "--sample-interval", "100ms", "--histogram"))
    load.send("go")
    query = prometheus(test, exporter.port)
    scraped = kdtest.wait_until(
        lambda: [found for found in query("kernel_delay_captures_total{result='complete'}[10m]")
                 if len(found["values"]) >= 10])
    counts = [int(number) for _, number in scraped[0]["values"]]
    test.ok(counts == sorted(counts) and counts[-1] >= counts[0] + 5,
            "ten scrapes, between which samples are added", counts)
    up = query("up{job='kernel_delay'}")
    test.eq([found["value"][1] for found in up], ["1"], "the target is up")
    test.eq(query("scrape_samples_scraped{job='kernel_delay'} < 100"), [], "with many series")
    # All of the same scrape: one query.
    found = query("{__name__=~'kernel_delay_(captures|syscalls|measured_seconds|thread_seconds|"
                  "syscall_seconds)_total'}")
    series = {(item["metric"].pop("__name__"),
               frozenset((name, text) for name, text in item["metric"].items()
                         if name not in ("job", "instance"))): float(item["value"][1])
              for item in found}
    count = int(series[COMPLETE])
    samples = kdtest.samples_of(path)[:count]
    same_sums(test, series, samples, "a query")
    found = query("sum by (thread) (kernel_delay_thread_seconds_total)")
    lives = {item["metric"]["thread"]: float(item["value"][1]) for item in found}
    test.eq(sorted(lives), sorted({thread["name"] for thread in samples[0]["threads"]}),
            "states add up by thread")
    same_percentiles(test, query, path)
    test.eq(exporter.finish(), 0, "status 0")


def resident(pid):
    return int(kdtest.status_field(pid, "VmRSS")) << 10


def case_memory(test):
    """Threads come and go, and memory stays where it was. Growth at the start is tolerated: a leak
    would go on."""
    load = test.workload("churn", 600_000)
    exporter = test.start(Exporter(load.pid, "--sample-time", "20ms", "--histogram"))
    load.send("go")
    kdtest.wait_until(lambda: exporter.count() >= 50)
    for _ in range(3):
        early, counts = resident(exporter.pid), [exporter.count()]

        def scraped(counts=counts):
            counts.append(exporter.count())
            return counts[-1] >= counts[0] + 100
        kdtest.wait_until(scraped)
        more = resident(exporter.pid) - early
        if more <= 1 << 20:
            break
    series = exporter.series()
    ended = value(series, "ended_threads_total", thread="churn")
    test.ok(ended > 1000, "threads came and went", ended)
    test.between(more, -(64 << 20), 1 << 20,
                 f"100 samples and {len(counts)} scrapes later memory is as before (bytes)")
    test.ok(len(series) < 1500, "threads of one name are one", len(series))


kdtest.main(case_forms, case_before_samples, case_names, case_text, case_triggers, case_addresses,
            case_privileged_port, case_library, case_wrong_requests, case_powerless, case_hosts,
            case_idle, case_many, case_slow, case_prometheus, case_memory)
