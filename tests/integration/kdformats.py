# SPDX-License-Identifier: Apache-2.0
"""How programs of others judge the outputs: the JSON schema, parsers of metrics, and promtool. If
one is not installed, this is visibly skipped."""

import json
import os
import subprocess

import kdtest
from kdneeds import module, optional, tool

SCHEMA = kdtest.ROOT / "man" / "kernel_delay.schema.json"
PARSERS = {"openmetrics": "prometheus_client.openmetrics.parser",
           "prometheus": "prometheus_client.parser"}


TEXT_TESTS = ("test_text", "test_text_processes", "test_text_traces")


def unit_program(program):
    built = [path for path in (kdtest.ROOT / "build" / "asan" / "unit" / program,
                               kdtest.ROOT / "build" / "unit" / program) if path.exists()]
    if not built:
        raise kdtest.Skip(f"{program} is not built: `make unit`")
    return max(built, key=lambda path: path.stat().st_mtime)


def unit_reports(test, kind, *programs):
    """Paths of whole reports, parts of which unit tests compare with golden files."""
    folder = test.directory()
    for program in programs:
        subprocess.run([unit_program(program)], env={**os.environ, "KEEP_REPORTS": str(folder)},
                       cwd=kdtest.ROOT, capture_output=True, check=False)
    found = sorted(folder.glob(f"{kind}_*.txt"))
    test.ok(found, f"{', '.join(programs)} leave reports")
    return found


def unit_recording(test):
    """The report of a recording that a unit test writes; the test is then ended, since its other
    cases take long."""
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
    """(what began before the window and ended in it, what was open at its end) of a thread in JSON:
    for "running", "ready" or a system call, whose name may be cut to 20 characters."""
    items = [item for item in thread["in_flight"]
             if item.get("name", str(item.get("number")))[:20] == what[:20]]
    items += [item for item in thread["open_periods"]
              if {"run": "running"}.get(item["kind"], item["kind"]) == what]
    return ([item for item in items if not item["at_end"]],
            [item for item in items if item["at_end"]])


def check_json(test, text):
    """Checks a stream of objects, one per line, against the schema; returns the objects."""
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


def check_metrics(test, form, text, what=None):
    """{(name, labels): value} of a text that the parser accepts, in which no series appears twice;
    None without a parser."""
    what = what or form
    parser = optional(test, f"{what}: the parser takes it", module, PARSERS[form])
    if not parser:
        return None
    series, twice = {}, []
    try:
        for family in parser.text_string_to_metric_families(text):
            for sample in family.samples:
                key = (sample.name, frozenset(sample.labels.items()))
                twice += [key] if key in series else []
                series[key] = float(sample.value)
    except Exception as error:  # pylint: disable=broad-except
        test.ok(False, f"{what}: the parser takes it", repr(error))
        return {}
    test.ok(series, f"{what}: the parser takes it")
    test.eq(twice, [], f"{what}: no series is there twice")
    return series


def run_promtool(test, what, *args, text=None):
    """Its output, if promtool is there and finds no fault."""
    promtool = optional(test, what, tool, "promtool")
    if not promtool:
        return None
    done = subprocess.run([promtool, *args], input=text, text=True, capture_output=True, check=False)
    test.ok(done.returncode == 0 and not done.stderr, what, done.stdout, done.stderr)
    return done.stdout


def check_promtool(test, text, what="prometheus"):
    """Runs `promtool check metrics` on the older format."""
    run_promtool(test, f"{what}: promtool finds no fault", "check", "metrics", text=text)
