# SPDX-License-Identifier: Apache-2.0
"""Runs of kernel_delay that serve metrics."""

import contextlib
import http.client
import re
import signal
import socket

import kdneeds
import kdtest
from kdtest import PROGRAM, free_port

OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"
AS_PROMETHEUS = ("application/openmetrics-text;version=1.0.0,"
                 "application/openmetrics-text;version=0.0.1;q=0.75,"
                 "text/plain;version=0.0.4;q=0.5,*/*;q=0.1")
COMPLETE = ("kernel_delay_captures_total", frozenset({("result", "complete")}))
LOCAL = "127.0.0.1"


def refuses(port, address=LOCAL):
    with contextlib.suppress(OSError), socket.create_connection((address, port), 1):
        return False
    return True


class Exporter(kdtest.Child):
    """kernel_delay --listen, already answering requests; with a sample taken unless told otherwise."""

    def __init__(self, pid, *args, address=LOCAL, samples=True, listen="", **options):
        self.address, self.port = address, free_port(address)
        shown = f"[{address}]" if ":" in address else address
        super().__init__([PROGRAM, "-p", pid, "--listen", f"{shown}:{self.port}{listen}", *args],
                         **options)
        kdtest.wait_until(lambda: self.proc.poll() is not None or
                          not refuses(self.port, address))
        # What it does before the first sample takes a while.
        kdtest.wait_until(lambda: not samples or self.proc.poll() is not None or
                          self.count() > 0)

    def get(self, path="/metrics", method="GET", body=None, **headers):
        """(status, headers, text)"""
        connection = http.client.HTTPConnection(self.address, self.port, timeout=kdtest.PATIENCE)
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read().decode()
        finally:
            connection.close()

    def series(self):
        return series_of(self.get(Accept=AS_PROMETHEUS)[2])

    def count(self):
        """Samples so far. Only one line of the text is parsed, as this is called all the time."""
        found = re.search(r'^kernel_delay_captures_total\{result="complete"\} (\d+)',
                          self.get(Accept=AS_PROMETHEUS)[2], re.MULTILINE)
        return int(found[1]) if found else 0

    def finish(self):
        """Ends the run; returns its status."""
        self.signal(signal.SIGINT)
        return self.wait()


def series_of(text):
    """{(name, labels): value}, read by Prometheus' own parser if there is one."""
    parser = kdneeds.module("prometheus_client.openmetrics.parser")
    return {(sample.name, frozenset(sample.labels.items())): sample.value
            for family in parser.text_string_to_metric_families(text)
            for sample in family.samples}
