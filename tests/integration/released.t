#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Captures that earlier releases wrote (tests/released/) are read as they were meant: JSON keeps
every member, and text, metrics and pages have the figures that the capture has."""

import json
import re
import tarfile

import kdformats
import kdneeds
import kdpage
import kdtest

ARCHIVES = sorted((kdtest.ROOT / "tests" / "released").glob("*.tar.xz"))
KINDS = {"sample", "summary", "triggers", "recording", "recorded"}
# States of JSON as the text has them.
STATES = {"user_ns": "running user", "kernel_ns": "running kernel", "page_fault_ns": "page faults",
          "reclaim_ns": "reclaim", "hardirq_ns": "hard irq", "softirq_ns": "soft irq",
          "ready_woken_ns": "ready after wakeup", "ready_preempted_ns": "ready after preemption",
          "blocked_ns": "blocked interruptible", "blocked_uninterruptible_ns": "blocked uninterruptible"}


def lacking(old, new, where=""):
    """What an old value has and a new one has not: new members are no fault."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key, value in old.items():
            if key in new:
                yield from lacking(value, new[key], f"{where}.{key}")
            else:
                yield f"{where}.{key} is gone"
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for at, value in enumerate(old):
            yield from lacking(value, new[at], f"{where}[{at}]")
    elif old != new or isinstance(old, bool) != isinstance(new, bool):
        yield f"{where} is {new!r}, was {old!r}"


class Kept:
    """A capture of an earlier release."""

    def __init__(self, test, release, name, text):
        self.test, self.what = test, f"{release} {name}"
        self.folder = test.directory()
        self.path = self.folder / "capture"
        self.path.write_bytes(text)
        self.records = list(map(json.loads, text.splitlines()))
        self.samples = [record for record in self.records if record["type"] == "sample"]

    def replay(self, form, *options):
        """What a replay writes in this format."""
        path = self.folder / form.partition(",")[0]
        output = form.replace(",", f":{path},", 1) if "," in form else f"{form}:{path}"
        run = self.test.program("--replay", self.path, "--quiet", "-o", output, *options)
        self.test.eq((run.status, run.stderr), (0, ""), f"{self.what}: replays as {form}")
        return path

    def ok(self, faults, text):
        self.test.ok(not faults, f"{self.what}: {text}", *faults[:8])


def check_json(kept):
    new = list(map(json.loads, kept.replay("json").read_text().splitlines()))
    kept.ok(list(lacking(kept.records, new)), "JSON has all that it had")


def blocks(text):
    """{(number of the sample, TID): its lines} of a text in full."""
    found = {}
    for number, sample in enumerate(re.split(r"^# (?:Triggered s|S)ample dump", text, flags=re.MULTILINE)[1:]):
        for part in re.split(r"^(?=[ \d,]{9}\d \S)", sample, flags=re.MULTILINE)[1:]:
            tid = int(part.split()[0].replace(",", ""))
            found[number, tid] = found.get((number, tid), "") + part
    return found


def text_faults(samples, text):
    """Figures of threads that are in no line of theirs."""
    found = blocks(text)
    for number, sample in enumerate(samples):
        for thread in sample["threads"]:
            lines = found.get((number, thread["tid"]), "")
            wanted = [f"{title} +{thread['ledger'][key]:,}\\b" for key, title in STATES.items()
                      if thread["ledger"][key]]
            wanted += [f"{call['name']} .* {call['count']} +{call['total_ns']:,} +{call['max_ns']:,}\\b"
                       for call in thread["syscalls"] if call["count"]]
            yield from (f"sample {number}, thread {thread['tid']}: no {pattern}" for pattern in wanted
                        if not re.search(pattern, lines))


def screen_faults(samples, text):
    """Culprits of the verdict that the first screen does not name, with their share."""
    for number, (sample, screen) in enumerate(zip(samples, re.split(r"^# .*ample dump", text,
                                                                    flags=re.MULTILINE)[1:])):
        for row in sample["verdict"][:1]:
            # Rows that are alike are one sentence: then the share is that of all.
            share = re.search(r"^VERDICT ([\d.]+) % \(", screen, re.MULTILINE)
            if not share or float(share[1]) < 100 * row["share"] - 1:
                yield f"sample {number}: verdict of {row['share']}, {share and share[0]}"
            name = row["who"].get("comm")
            if name and name not in screen:
                yield f"sample {number}: {name} is not named"


def check_text(kept):
    text = kept.replay("text", "--full").read_text()
    kept.ok(list(text_faults(kept.samples, text)), "text has its figures")
    screen = kept.replay("text", "--summary").read_text()
    kept.ok(list(screen_faults(kept.samples, screen)), "the first screen has its verdict")


def sums(samples):
    """{(family, label, value, TID): sum over all samples}, in ns or calls."""
    found = {}

    def add(number, *key):
        found[key] = found.get(key, 0) + number
    for sample in samples:
        # Those that ended are added up by name.
        for thread in (thread for thread in sample["threads"] if not thread["ended"]):
            tid = str(thread["tid"])
            for key in STATES:
                add(thread["ledger"][key], "thread_seconds_total", "state", key.removesuffix("_ns"), tid)
            for call in thread["syscalls"]:
                add(call["count"], "syscalls_total", "syscall", call["name"], tid)
                add(call["total_ns"], "syscall_seconds_total", "syscall", call["name"], tid)
    return found


def check_metrics(kept):
    """Sums over all samples, by the names that the release had for them."""
    text = kept.replay("openmetrics,per-thread").read_text()
    series = kdformats.check_metrics(kept.test, "openmetrics", text, f"{kept.what}: metrics")
    if series is None:
        return
    got = {}
    for (name, labels), value in series.items():
        labels = dict(labels)
        name = name.removeprefix("kernel_delay_")
        for label in ("state", "syscall"):
            if "tid" in labels and label in labels:
                number = round(value * 1e9) if "seconds" in name else value
                got[name, label, labels[label], labels["tid"]] = number
    kept.ok([f"{key}: {got.get(key)}, want {number}" for key, number in sums(kept.samples).items()
             if got.get(key) != number], "metrics have its figures")


def check_page(kept):
    page = kdpage.records(kept.replay("html"))
    records = list(map(json.loads, kdpage.of_kind(page, "record")))
    found = [record for record in records if record.get("type") == "sample"]
    kept.test.eq(len(found), len(kept.samples), f"{kept.what}: the page has each sample")
    kept.ok([fault for old, new in zip(kept.samples, found) for key in ("window", "threads", "verdict")
             for fault in lacking(old[key], new[key], key)], "the page has its figures")


def check_schema(test, kept):
    jsonschema = kdneeds.optional(test, f"{kept.what}: as the schema has it", kdneeds.module, "jsonschema")
    if jsonschema:
        schema = json.loads(kdformats.SCHEMA.read_text())
        kept.ok([fault.message[:200] for record in kept.records
                 for fault in jsonschema.Draft7Validator(schema).iter_errors(record)],
                "as the schema has it now")


def check_others(kept):
    """Formats whose figures are made from the same sample are written, and it can be compared."""
    for form in ("csv", "perfetto", "prometheus"):
        kept.replay(form)
    if len(kept.samples) >= 8:
        run = kept.test.program("--replay", kept.path, "--compare", kept.path, "--quiet")
        kept.test.eq((run.status, run.stderr), (0, ""), f"{kept.what}: is compared")


def case_captures(test):
    test.ok(ARCHIVES, "captures were kept")
    for archive in ARCHIVES:
        kinds, release = set(), archive.name.removesuffix(".tar.xz")
        with tarfile.open(archive) as kept_ones:
            texts = {member.name: kept_ones.extractfile(member).read() for member in kept_ones}
        for name, text in texts.items():
            kept = Kept(test, release, name, text)
            kinds.update(record["type"] for record in kept.records)
            for check in (check_json, check_text, check_metrics, check_page, check_others):
                check(kept)
            check_schema(test, kept)
        test.eq(KINDS - kinds, set(), f"{release}: there is one of each kind")


kdtest.main(case_captures, root=False)
