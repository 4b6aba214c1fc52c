# SPDX-License-Identifier: Apache-2.0
"""The page of 100 threads that wake all the time, with all lists and a recording: its size, the
time to write it, and the time until a browser has all of it."""

import os
import pathlib
import subprocess
import sys
import tempfile
import time

from benchlib import BUILD, CPUS, MB, QUICK, ROOT, Missing, Process

sys.path.insert(0, str(ROOT / "tests" / "integration"))

import kdbrowser  # noqa: E402
import kdtest  # noqa: E402

THREADS, SLEEP_NS = 100, 20_000_000
SECONDS, ROUNDS, WRITTEN = (1, 3, 1) if QUICK else (3, 3, 2)
SIZE_GOAL, OPEN_GOAL = 2, 1000  # MB, ms
LISTS = ("--histogram", "-s", "1ms", "--off-cpu=1ms", "--wait-filter=*", "--profile",
         "--interruptions", "--record")
SHOWN = """(() => { const main = document.querySelector("main");
    return [Boolean(document.querySelector("#thread-table tbody tr")), main?.ariaBusy === "false"]; })()"""


def capture(folder):
    with Process([BUILD / "workloads" / "crowd", THREADS, (SECONDS + 2) * 10**9 // SLEEP_NS,
                  SLEEP_NS]) as load:
        load.line(b"ready")
        load.send("go")
        subprocess.run([BUILD / "kernel_delay", "-p", str(load.pid), "--sample-time", f"{SECONDS}s",
                        "--quiet", *LISTS, "-o", f"json:{folder}/json"], check=True)


def replay(folder, output):
    """CPU time of --replay, in ms."""
    def spent():
        times = os.times()
        return (times.children_user + times.children_system) * 1000

    before = spent()
    subprocess.run([BUILD / "kernel_delay", "--replay", folder / "json", "-o", output], check=True)
    return spent() - before


def write(folder):
    """The cost of the page beyond that of the text."""
    return replay(folder, f"html:{folder}/page.html") - replay(folder, "text:/dev/null")


def opened(browser, path):
    """ms until the threads are shown, and until all of the page is."""
    start, threads = time.monotonic(), None
    browser.open(path)
    while True:
        has_threads, is_whole = browser.eval(SHOWN)
        now = (time.monotonic() - start) * 1000
        threads = threads or (has_threads and now)
        if is_whole:
            return threads, now
        if now > 60_000:
            raise Missing("the browser did not show all of the page in a minute")
        time.sleep(0.005)


def browser_started():
    """The browser may use all CPUs, as there is no load."""
    own = os.sched_getaffinity(0)
    os.sched_setaffinity(0, CPUS)
    try:
        return kdbrowser.Browser()
    except kdtest.Skip as skip:
        raise Missing(str(skip)) from None
    finally:
        os.sched_setaffinity(0, own)


def measure(table):
    with tempfile.TemporaryDirectory(prefix="kd-bench-page-") as name:
        folder = pathlib.Path(name)
        browser = browser_started()
        try:
            capture(folder)
            writing = [write(folder) for _ in range(WRITTEN)]
            opening = [opened(browser, folder / "page.html") for _ in range(ROUNDS)]
        finally:
            browser.end()
        sizes = [(folder / each).stat().st_size / MB for each in ("json", "page.html")]
    table.section(f"page of {THREADS} threads and {SECONDS} s, with all lists and a recording: {sizes[0]:.0f} MB of JSON")
    table.row("size", sizes[1:], "MB", 2, SIZE_GOAL, "size of a page")
    table.row("until a browser has all of it", [whole for _, whole in opening], "ms", 0, OPEN_GOAL,
              "opening a page")
    table.row("  until the verdict and the threads are there", [threads for threads, _ in opening], "ms", 0)
    table.row("CPU time of writing it, beyond the text's", writing, "ms", 0)
