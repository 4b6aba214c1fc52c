#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One run on a working ovs-vswitchd writes every format at once: each is as others'
programs want it, all have the same figures, and the JSON renders as the others again."""

from itertools import zip_longest

import kdformats
import kdreport
import kdservers
import kdstacks
import kdtest

FORMATS = ("text", "json", "openmetrics", "prometheus", "folded")
# As text, JSON and metrics name the states.
STATES = (("running user", "user_ns", "user"), ("running kernel", "kernel_ns", "kernel"),
          ("page faults", "page_fault_ns", "page_fault"), ("reclaim", "reclaim_ns", "reclaim"),
          ("throttled", "throttled_ns", "throttled"),
          ("stolen by hypervisor", "stolen_ns", "stolen"),
          ("hard irq", "hardirq_ns", "hardirq"), ("soft irq", "softirq_ns", "softirq"),
          ("ready after wakeup", "ready_woken_ns", "ready_woken"),
          ("ready after preemption", "ready_preempted_ns", "ready_preempted"),
          ("blocked interruptible", "blocked_ns", "blocked"),
          ("blocked uninterruptible", "blocked_uninterruptible_ns", "blocked_uninterruptible"),
          ("stopped", "stopped_ns", "stopped"), ("frozen", "frozen_ns", "frozen"))


class Figures(dict):
    """{(thread, what, of which): sum} as far as all formats have them. A thread is its
    TID, or its name if it is one of several in a row."""

    def put(self, thread, what, of_which, value):
        key = thread, what, of_which
        if value or what == "ns":
            self[key] = self.get(key, 0) + value


def of_text(report):
    found = Figures()
    for thread in report.threads:
        who = thread.name if thread.tid is None or thread.ended else thread.tid
        for state, _, metric in STATES:
            found.put(who, "ns", metric, thread.ns[state])
        for call, row in thread.calls.items():
            found.put(who, "calls", call, row.count)
            found.put(who, "call ns", call, row.total)
        for name, row in thread.distributions.items():
            found.put(who, "durations", name, row.count)
    return found


def of_json(sample, with_open):
    """with_open: durations with those that were still open, where any have ended."""
    found = Figures()
    for thread in sample["threads"]:
        who = thread["tid"] if thread["members"] == 1 and not thread["ended"] else thread["name"]
        for _, member, metric in STATES:
            found.put(who, "ns", metric, thread["ledger"][member])
        rows = [("running", thread["run"]), ("ready", thread["ready"])]
        for call in thread["syscalls"]:
            found.put(who, "calls", call["name"], call["count"])
            found.put(who, "call ns", call["name"], call["total_ns"])
            rows.append((call["name"], call))
        for name, row in rows:
            for bucket in row.get("buckets", []):
                found.put(who, "durations", name, bucket["count"])
        for item in thread["in_flight"] + thread["open_periods"] if with_open else []:
            name = item.get("name") or {"run": "running"}.get(item.get("kind"), item.get("kind"))
            if item["at_end"] and (who, "durations", name) in found:
                found.put(who, "durations", name, item["count"])
    return found


def of_metrics(series):
    found = Figures()
    for (name, labels), value in series.items():
        labels = dict(labels)
        who = int(labels["tid"]) if labels.get("tid") else labels.get("thread")
        name = name.removeprefix("kernel_delay_")
        if name == "thread_seconds_total":
            found.put(who, "ns", labels["state"], round(value * 1e9))
        elif name == "syscalls_total":
            found.put(who, "calls", labels["syscall"], value)
        elif name == "syscall_seconds_total":
            found.put(who, "call ns", labels["syscall"], round(value * 1e9))
        elif name == "thread_period_duration_seconds_count":
            found.put(who, "durations", labels["state"], value)
        elif name == "syscall_duration_seconds_count":
            found.put(who, "durations", labels["syscall"], value)
    return found


def check_equal(test, got, want, text):
    faults = [f"{key}: {got.get(key)}, want {want.get(key)}"
              for key in sorted(set(got) | set(want), key=repr) if got.get(key) != want.get(key)]
    test.ok(not faults, text, f"{len(faults)} differ", *faults[:8])


def capture(test, pid, folder):
    """One sample in all formats: {format: text}."""
    wanted = [arg for form in FORMATS for arg in ("-o", f"{form}:{folder}/{form}")]
    done = test.program("-p", pid, "--sample-time", "2", "--histogram", "-s", "100us", "--off-cpu",
                        "1ms", "--wait-filter", "*", "--profile", "199", *wanted)
    test.eq((done.status, done.stdout, done.stderr), (0, "", ""), "one run writes all formats")
    return {form: (folder / form).read_text() for form in FORMATS}


def check_text(test, text):
    """The one report, whose states add up for every thread."""
    plain, _ = kdstacks.parse(text)
    report, = kdreport.parse(plain)
    test.books(report)
    shares = {repr(thread): sum(thread.percent.values()) for thread in report.threads}
    test.ok(all(abs(share - 100) <= 0.05 for share in shares.values()),
            f"text: the states of {len(shares)} threads add up to 100 %", shares)
    return report


def check_replay(test, folder, texts):
    """The JSON says the same as the run did; only a run tells of edges."""
    for form in FORMATS:
        done = test.program("--replay", folder / "json", "-o", form)
        test.eq((done.status, done.stderr), (0, ""), f"{form}: rendered from the JSON")
        lines = [line for line in texts[form].splitlines()
                 if form != "text" or not line.startswith(("# Start sampling", "# Stop sampling"))]
        differ = [pair for pair in zip_longest(done.stdout.splitlines(), lines)
                  if pair[0] != pair[1]]
        test.ok(not differ, f"{form}: the same again", *differ[:5])


def case_all_formats(test):
    switch = kdservers.start(test, kdservers.NetdevSwitch())
    switch.send()
    folder = test.directory()
    texts = capture(test, switch.pid, folder)
    report = check_text(test, texts["text"])
    sample, = kdformats.check_json(test, texts["json"])
    wanted = of_json(sample, False)
    kinds = {(what, of_which) for _, what, of_which in wanted}
    test.ok({("ns", "user"), ("ns", "kernel"), ("ns", "blocked"), ("calls", "poll"),
             ("durations", "ready"), ("durations", "poll")} <= kinds, "it worked, and waited",
            kinds)
    check_equal(test, of_text(report), of_json(sample, True), "text: the figures of the JSON")
    for form in ("openmetrics", "prometheus"):
        series = kdformats.check_metrics(test, form, texts[form])
        if series is not None:
            check_equal(test, of_metrics(series), wanted, f"{form}: the figures of the JSON")
    kdformats.check_promtool(test, texts["prometheus"])
    names = {thread["name"] for thread in sample["threads"]}
    rows = kdformats.check_folded(test, texts["folded"])
    test.eq({frames[0] for frames, _ in rows} - names, set(), "folded: of these threads")
    test.eq({frames[1] for frames, _ in rows}, {"syscall", "off-cpu", "on-cpu"}, "of all kinds")
    check_replay(test, folder, texts)


kdtest.main(case_all_formats)
