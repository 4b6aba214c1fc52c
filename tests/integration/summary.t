#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Statistics over samples: compared with Python's statistics module on the same samples, in JSON,
text and metrics, and made again from a file."""

import json
import math
import re
import statistics

import kdformats
import kdreport
import kdtest

ALPHA = 0.2
SAMPLES = 7
# Windows that differ by up to 0.1 % have rates by their mean length.
EVEN = 2e-3


def figures(node, prefix=""):
    """Every number of a thread in JSON that is not in a list, by the name of its measure."""
    found = {}
    for key, value in node.items():
        if isinstance(value, dict):
            found.update(figures(value, f"{prefix}{key}."))
        elif isinstance(value, int) and not isinstance(value, bool):
            found[prefix + key] = value
    return found


def near(got, want, part=1e-9):
    return math.isclose(got, want, rel_tol=part, abs_tol=1e-6)


def expected(values):
    """What the program should report for a series, computed by other means."""
    ewma = values[0]
    for value in values[1:]:
        ewma = ALPHA * value + (1 - ALPHA) * ewma
    steps = [abs(after - before) for before, after in zip(values, values[1:])]
    return {"min": min(values), "mean": statistics.fmean(values), "max": max(values),
            "stddev": statistics.stdev(values), "jitter": statistics.fmean(steps), "ewma": ewma}


def check_measure(row, values, seconds):
    """Faults of a measure's row."""
    wrong = [f"{row['measure']}.{key}: got {row[key]}, want {want}"
             for key, want in expected(values).items() if not near(row[key], want)]
    if row["peak_sample"] != values.index(max(values)) + 1:
        wrong.append(f"{row['measure']}: the peak is in sample {values.index(max(values)) + 1}")
    if "per_second" in row:
        rates = expected([value / length for value, length in zip(values, seconds)])
        # The differences of what is nearly the same all the time are those of the windows.
        slack = EVEN * rates["max"]
        wrong += [f"{row['measure']} per second: {key}: got {row['per_second'][key]}, want {want}"
                  for key, want in rates.items() if abs(row["per_second"][key] - want) > slack]
    return wrong


def check(test, samples, summary):
    seconds = [sample["window"]["duration_ns"] / 1e9 for sample in samples]
    test.eq((summary["samples"], summary["threads_came"], summary["threads_went"]),
            (len(samples), 0, 0), "so many samples, and the same threads in all")
    wrong, seen = [], 0
    for row in summary["threads"]:
        mine = [next(thread for thread in sample["threads"] if thread["tid"] == row["tid"])
                for sample in samples]
        series = [figures(thread) for thread in mine]
        for measure in row["measures"]:
            key = measure["measure"]
            if key in ("busy_ns", "kept_ns", "kept_longest_ns"):
                continue
            wrong += check_measure(measure, [each.get(key, 0) for each in series], seconds)
            seen += 1
        named = {measure["measure"] for measure in row["measures"]}
        # Those that are no figures of their own in the model, but made of others for readers.
        missing = {key for each in series for key, value in each.items()
                   if value and key not in named} - {"tid", "pid", "members"}
        wrong += [f"{key} is missing" for key in sorted(missing)
                  if not key.endswith(("longest_ns", "p50_ns", "p90_ns", "p99_ns", "p99_9_ns"))]
    test.ok(not wrong, "the measures of threads", *wrong[:10])
    test.ok(seen > 10, "they are many", seen)
    # The sample says itself what all were kept from.
    all_of = {measure["measure"]: measure for measure in summary["all"]["measures"]}
    for key in ("busy_ns", "kept_ns"):
        wrong = check_measure(all_of[key], [sample[key] for sample in samples], seconds)
        test.ok(not wrong, f"{key} of all threads", *wrong)
    shares = [sample["kept_ns"] / sample["window"]["duration_ns"] for sample in samples]
    test.ok(all(near(*pair) for pair in zip(summary["all"]["kept_shares"], shares, strict=True)),
            "the course of all threads", summary["all"]["kept_shares"], shares)


def metrics_check(test, form, text, summary):
    """All figures of all threads are there; of other things, some are."""
    series = kdformats.check_metrics(test, form, text)
    if series is None:
        return
    wrong = []
    for measure in summary["all"]["measures"]:
        key = measure["measure"]
        is_time = key.endswith("_ns")
        labels = {"thread": "[all]", "measure": key.removesuffix("_ns")}
        for statistic in ("min", "mean", "max", "stddev", "jitter", "ewma"):
            name = "kernel_delay_over_samples" + ("_seconds" if is_time else "")
            here = frozenset({**labels, "statistic": statistic}.items())
            scale = 1e-9 if is_time else 1
            pairs = [(series.get((name, here)), measure[statistic] * scale)]
            if "per_second" in measure:
                pairs.append((series.get(("kernel_delay_over_samples_per_second", here)),
                              measure["per_second"][statistic] * scale))
            wrong += [f"{key} {statistic}: {got}, want {want}" for got, want in pairs
                      if got is None or abs(got - want) > 1e-9 + 1e-9 * want]
    test.ok(not wrong, f"{form}: has what JSON has", *wrong[:5])
    tids = {dict(labels).get("tid") for name, labels in series if "over_samples" in name}
    test.eq(tids - {None}, {str(thread["tid"]) for thread in summary["threads"]
                            if any(measure["max"] for measure in thread["measures"])},
            f"{form}: and threads")


def case_samples(test):
    folder = test.directory()
    load = test.workload("roles", "spin", "fifo:0:3:30", "poll")
    done = test.program("-p", load.pid, "--sample-time", "60ms", "--sample-count", SAMPLES,
                        "-o", "-", "-o", f"json:{folder}/all", "-o",
                        f"openmetrics:{folder}/om", "-o", f"prometheus:{folder}/prom")
    test.eq(done.status, 0, "status 0")
    *samples, summary = kdformats.check_json(test, (folder / "all").read_text())
    test.eq(summary["type"], "summary", "the last object is about all samples")
    check(test, samples, summary)
    metrics_check(test, "openmetrics", (folder / "om").read_text(), summary)
    metrics_check(test, "prometheus", (folder / "prom").read_text(), summary)
    parser = kdreport.Parser(done.stdout)
    test.eq(len(parser.reports), SAMPLES, "the text has the samples")
    section = "\n".join(parser.summary)
    test.ok(section.startswith(f"# Summary of {SAMPLES} samples"), "and the section", section)
    units = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}
    cells = re.match(r" +all threads +kept +(.*)", parser.summary[2])[1].split()
    kept = next(each for each in summary["all"]["measures"] if each["measure"] == "kept_ns")
    shown = [float(value) * units[unit] for value, unit in zip(cells[0:12:2], cells[1:12:2])]
    test.ok(all(near(*pair, 0.01) for pair in zip(
        shown, [kept[key] for key in ("min", "mean", "max", "stddev", "jitter", "ewma")],
        strict=True)), "its figures are those of JSON", parser.summary[2], kept)
    bars = parser.summary[2][parser.summary[2].index("|") + 1:-1]
    test.eq(len(bars), SAMPLES, "a bar for each sample")
    test.eq(max(bars), bars[summary["all"]["kept_shares"].index(
        max(summary["all"]["kept_shares"]))], "the highest is that of the worst sample")
    for options in (("--full",), ()):
        again = test.start(kdtest.Child([kdtest.PROGRAM, "--replay", folder / "all", *options], full=False))
        again.wait()
        text = again.stdout[again.stdout.index("# Summary of"):]
        if options:
            test.eq(text, section, "made again from the file it is the same")
        else:
            *lines, others = text.splitlines()
            test.ok(2 < len(lines) <= 2 + 3 * (1 + len(summary["threads"])),
                    "in short it has up to three lines for a thread", text)
            test.ok(re.fullmatch(r" +and \d+ more measures of these threads: --full lists them", others),
                    "and says that there are others", others)
    again = test.program("--replay", folder / "all", "-o", "json")
    test.eq(json.loads(again.stdout.splitlines()[-1]), summary, "JSON from the file is the same")


def case_uneven(test):
    """Samples of different lengths: rates are computed for each sample."""
    folder = test.directory()
    load = test.workload("roles", "spin")
    lines = []
    for length in ("50ms", "150ms", "80ms"):
        test.program("-p", load.pid, "--sample-time", length, "-o", f"json:{folder}/one")
        lines.append((folder / "one").read_text())
    (folder / "all").write_text("".join(lines))
    done = test.program("--replay", folder / "all", "-o", "json")
    *samples, summary = map(json.loads, done.stdout.splitlines())
    check(test, samples, summary)


def case_threads_come_and_go(test):
    load = test.workload("churn", 30000, 20000)  # more than in any run
    load.send("go")
    done = test.program("-p", load.pid, "--sample-time", "150ms", "--sample-count", 4, "-o", "json")
    *samples, summary = map(json.loads, done.stdout.splitlines())
    tids = [{thread["tid"] for thread in sample["threads"] if not thread["ended"]}
            for sample in samples]
    ended = sum(thread["members"] for sample in samples for thread in sample["threads"]
                if thread["ended"])
    gone = len([tid for before, after in zip(tids, tids[1:]) for tid in before - after
                if not any(thread["tid"] == tid for sample in samples
                           for thread in sample["threads"] if thread["ended"])])
    test.ok(ended, "threads ended")
    test.between(summary["threads_went"], ended, ended + gone, "those that went")


def case_one(test):
    load = test.workload("roles", "poll")
    done = test.program("-p", load.pid, "--sample-time", "20ms", "-o", "json")
    test.eq(len(done.stdout.splitlines()), 1, "one sample has no summary")


kdtest.main(case_samples, case_uneven, case_threads_come_and_go, case_one)
