# SPDX-License-Identifier: Apache-2.0
"""What others' programs say of the outputs: the JSON's schema, parsers of metrics,
promtool, and readers of folded stacks. What is not installed is skipped visibly."""

import json
import os
import re
import subprocess

import kdtest
from kdneeds import module, optional, tool

SCHEMA = kdtest.ROOT / "man" / "kernel_delay.schema.json"
PARSERS = {"openmetrics": "prometheus_client.openmetrics.parser",
           "prometheus": "prometheus_client.parser"}
FOLDED = re.compile(r"[^ ;]+(;[^ ;]+)+ [1-9]\d*")


TEXT_TESTS = ("test_text", "test_text_processes", "test_text_traces")


def unit_program(program):
    built = [path for path in (kdtest.ROOT / "build" / "asan" / "unit" / program,
                               kdtest.ROOT / "build" / "unit" / program) if path.exists()]
    if not built:
        raise kdtest.Skip(f"{program} is not built: `make unit`")
    return max(built, key=lambda path: path.stat().st_mtime)


def unit_reports(test, kind, *programs):
    """Whole reports, of which unit tests compare parts with golden files: their paths."""
    folder = test.directory()
    for program in programs:
        subprocess.run([unit_program(program)], env={**os.environ, "KEEP_REPORTS": str(folder)},
                       cwd=kdtest.ROOT, capture_output=True, check=False)
    found = sorted(folder.glob(f"{kind}_*.txt"))
    test.ok(found, f"{', '.join(programs)} leave reports")
    return found


def unit_recording(test):
    """The report of a recording that a unit test leaves, which is ended then: its other tests take
    long."""
    path = test.directory() / "json_recording.txt"
    child = test.child([unit_program("test_replay_recording")], cwd=kdtest.ROOT,
                       env={**os.environ, "KEEP_REPORTS": str(path.parent)})

    def whole():
        lines = path.read_text().split("\n") if path.exists() else []
        return len(lines) > 1 and not lines[-1] and '"type":"sample"' in lines[-2]
    kdtest.wait_until(lambda: whole() or child.proc.poll() is not None)
    child.end()
    test.ok(whole(), "test_replay_recording leaves a report")
    return path


def in_flight(thread, what):
    """(what ended in the window and began before, what was open at its end) of a thread of
    JSON: of "running", "ready" or a system call, which may be cut to 20 characters."""
    items = [item for item in thread["in_flight"]
             if item.get("name", str(item.get("number")))[:20] == what[:20]]
    items += [item for item in thread["open_periods"]
              if {"run": "running"}.get(item["kind"], item["kind"]) == what]
    return ([item for item in items if not item["at_end"]],
            [item for item in items if item["at_end"]])


def check_json(test, text):
    """A stream of objects, of which each has a line and is as the schema has it; returns
    them."""
    lines = text.splitlines()
    objects = [json.loads(line) for line in lines]
    test.ok(lines and text == "".join(line + "\n" for line in lines), "json: an object a line")
    jsonschema = optional(test, "json: as the schema has it", module, "jsonschema")
    if not jsonschema:
        return objects
    schema = json.loads(SCHEMA.read_text())
    faults = [f"{'.'.join(map(str, fault.absolute_path))}: {fault.message[:200]}"
              for each in objects for fault in jsonschema.Draft7Validator(schema).iter_errors(each)]
    test.ok(not faults, "json: as the schema has it", *faults[:5])
    return objects


def check_metrics(test, form, text):
    """{(name, labels): value} of a text that the parser takes, of which no series is there
    twice; None without a parser."""
    parser = optional(test, f"{form}: the parser takes it", module, PARSERS[form])
    if not parser:
        return None
    series, twice = {}, []
    try:
        for family in parser.text_string_to_metric_families(text):
            for sample in family.samples:
                key = (sample.name, frozenset(sample.labels.items()))
                twice += [key] if key in series else []
                series[key] = sample.value
    except Exception as error:  # pylint: disable=broad-except
        test.ok(False, f"{form}: the parser takes it", repr(error))
        return {}
    test.ok(series, f"{form}: the parser takes it")
    test.eq(twice, [], f"{form}: no series is there twice")
    return series


def check_promtool(test, text):
    """What `promtool check metrics` says of the older format."""
    promtool = optional(test, "prometheus: promtool finds no fault", tool, "promtool")
    if not promtool:
        return
    done = subprocess.run([promtool, "check", "metrics"], input=text, text=True, capture_output=True,
                          check=False)
    test.ok(done.returncode == 0 and not done.stderr, "prometheus: promtool finds no fault",
            done.stdout, done.stderr)


def check_folded(test, text):
    """[(frames, ns)] of folded stacks, each a line of frames and a number."""
    lines = text.splitlines()
    wrong = [line for line in lines if not FOLDED.fullmatch(line)]
    test.ok(lines and not wrong, "folded: each line is frames and a number", *wrong[:5])
    rows = [line.rpartition(" ") for line in lines if line not in wrong]
    kernels = [[frame.endswith("_[k]") for frame in frames.split(";")] for frames, _, _ in rows]
    wrong = [line for line, kernel in zip(lines, kernels) if kernel != sorted(kernel)]
    test.ok(any(map(any, kernels)) and not wrong, "folded: the kernel's frames are innermost",
            *wrong[:5])
    return [(frames.split(";"), int(ns)) for frames, _, ns in rows]
