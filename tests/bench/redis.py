# SPDX-License-Identifier: Apache-2.0
"""How many requests a redis-server answers while it is watched, or another process is, compared
with empty programs being attached: it and its clients have all CPUs, and use them up."""

import functools
import os
import re
import subprocess
import tempfile
import time

import attached
from benchlib import BUILD, CPUS, LONG, QUICK, Load, Missing, Process, tool_path

ROUNDS, REQUESTS = (2, 20_000) if QUICK else (4, 30_000)
CLIENTS = 50
GOALS = {"watched": 1.05, "another process watched": 1.02}
BASE = os.environ.get("BASE")


def requests(benchmark, path):
    """Requests answered per second."""
    done = subprocess.run([benchmark, "-s", path, "-t", "get", "-n", str(REQUESTS), "-c", str(CLIENTS),
                           "-q"], capture_output=True, text=True, check=True)
    found = re.search(r"GET: ([\d.]+) requests per second", done.stdout)
    if not found:
        raise Missing(f"redis-benchmark says {done.stdout[-80:]!r}")
    return float(found[1])


def measure_round(benchmark, path, conditions):
    result = {}
    for name, start in conditions.items():
        tool = start() if start else None
        try:
            result[name] = requests(benchmark, path)
        finally:
            if tool:
                tool.stop()
    return result


def watching(argv):
    process = Process([*argv, "--sample-time", LONG])
    process.line(b"# Start sampling")
    return process


def measure(table):
    server, benchmark = tool_path("redis-server"), tool_path("redis-benchmark")
    if not server or not benchmark:
        raise Missing("redis is not installed")
    own = os.sched_getaffinity(0)
    os.sched_setaffinity(0, set(CPUS))
    try:
        with tempfile.TemporaryDirectory() as folder, Load() as bystander:
            path = f"{folder}/socket"
            with Process([server, "--port", "0", "--unixsocket", path, "--save", ""]) as redis:
                redis.line()
                while not os.path.exists(path):
                    time.sleep(0.01)
                conditions = {"absent": None, "empty programs": attached.start_empty}
                for program, by in ((BUILD / "kernel_delay", ""), (BASE, " by BASE")):
                    if program:
                        conditions[f"watched{by}"] = functools.partial(
                            watching, [program, "-p", redis.pid])
                        conditions[f"another process watched{by}"] = functools.partial(
                            watching, [program, "-p", bystander.pid])
                conditions["absent again"] = None
                rounds = [measure_round(benchmark, path, conditions) for _ in range(ROUNDS)]
    finally:
        os.sched_setaffinity(0, own)
    table.section(f"what each request to a redis-server takes on {len(CPUS)} CPUs, beside when nobody "
                  "watches")
    table.row("requests per second, absent", [each["absent"] for each in rounds], "/s")
    for name in list(conditions)[1:]:
        # Twice without, before and after: what lies between these is noise.
        without = [each["absent"] if name == "absent again" else
                   (each["absent"] + each["absent again"]) / 2 for each in rounds]
        table.row(f"  {name}", [most / each[name] for most, each in zip(without, rounds)], "x", 2,
                  GOALS.get(name), f"redis, {name}")
