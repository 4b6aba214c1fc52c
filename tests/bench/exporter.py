# SPDX-License-Identifier: Apache-2.0
"""How long a scrape of --listen takes while the target is being recorded, and answers are being
made from its samples."""

import socket
import time

from benchlib import PATIENCE, QUICK, Missing, Threads, kernel_delay

# Threads, each with 30 system calls; more options; goal, ms.
KINDS = ((64, (), 5), (1000, (), None), (64, ("--histogram",), None))
SCRAPES = 20 if QUICK else 40
SAMPLE = "100ms"
PAUSE = 0.013  # s between scrapes, which so come at any time of a sample
REQUEST = "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: {}\r\nConnection: close\r\n\r\n"
FORMS = {"OpenMetrics": "application/openmetrics-text; version=1.0.0", "0.0.4": "text/plain"}


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def scrape(port, accept):
    """ms from connecting to the last byte, and the answer."""
    request, parts = REQUEST.format(accept).encode(), []
    began = time.monotonic()
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as link:
        link.sendall(request)
        while True:
            part = link.recv(1 << 20)
            if not part:
                break
            parts.append(part)
    took = (time.monotonic() - began) * 1000
    return took, b"".join(parts)


def captures(text):
    """Samples so far, according to an answer."""
    _, found, rest = text.partition(b'kernel_delay_captures_total{result="complete"} ')
    return int(rest.split()[0]) if found else 0


def wait_for_samples(process, port, count):
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            if captures(scrape(port, FORMS["0.0.4"])[1]) >= count:
                return
        except OSError:
            if process.proc.poll() is not None:
                raise Missing(process.last_error()) from None
        time.sleep(0.05)
    raise Missing("no samples are served")


def measure_kind(table, count, options, goal):
    port = free_port()
    with Threads(count) as target, \
            kernel_delay(target.pid, "--listen", port, "--per-thread", "--sample-time", SAMPLE,
                         *options) as process:
        wait_for_samples(process, port, 1)
        target.go()
        wait_for_samples(process, port, 3)
        times, first, last, text = {form: [] for form in FORMS}, None, 0, b""
        for number in range(SCRAPES * len(FORMS)):
            form = list(FORMS)[number % len(FORMS)]
            if number % 8 == 0:
                target.go()
            took, text = scrape(port, FORMS[form])
            times[form].append(took)
            last = captures(text)
            first = last if first is None else first
            time.sleep(PAUSE)
        if last < first + 2:
            raise Missing(f"only {last - first} samples were taken meanwhile")
    size = text.count(b"\n") - text.count(b"\n# ")
    what = " ".join([f"{count:,} threads", *options])
    table.say(f"  {what}: {size:,} lines, {len(text):,} bytes; {last - first} samples "
              "meanwhile")
    for form, values in times.items():
        table.row(f"{what}: {form}", values, "ms", 2, goal,
                  f"scrape of {count} threads, {form}")


def measure_scrape(table):
    table.section(f"a scrape while recording, samples of {SAMPLE}, a series per thread")
    for count, options, goal in KINDS:
        measure_kind(table, count, options, goal)
