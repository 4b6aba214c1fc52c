#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is drawn on the page: its pixels against the books and times of the JSON, and flame graphs
against sums over its rows; and which rows of long lists the page keeps."""

import base64
import collections
import copy
import gzip
import json
import random
import re

import kdtest
from kdpage import (ROWS, backgrounds, capture, lay_out, of_kind, picture, quiet, records, rows,
                    show, texts, the_browser)

GUTTER, AXIS = 170, 22  # pixels to the left of what has times, and above it
FRAME = 1.4 * 12  # pixels from one line of a flame graph to the next


def flame_sums(traces, key, name):
    """Time in stacks that contain a function of that name."""
    def has(row):
        return any(frame.get("function") == name for kind in ("user_stack", "kernel_stack") if kind in row
                   for frame in traces["stacks"][row[kind]]["frames"])
    return sum(row["duration_ns"] for row in traces[key] if has(row))


def waits_are_as_wide(test, browser, traces):
    """The flame graph of waits, against sums over all rows."""
    frames = browser.eval("""Array.from(
        document.querySelectorAll(".flame[aria-label=Waits] .frame"), (frame) => frame.ariaLabel)""")
    whole = sum(row["duration_ns"] for row in traces["waits"])
    names = {frame["function"] for stack in traces["stacks"] for frame in stack["frames"]
             if "function" in frame}
    wrong, compared = [], 0
    for name in names:
        shares = [float(re.search(r", <?([0-9.]+) %$", label)[1]) for label in frames
                  if re.fullmatch(rf"{re.escape(name)}( \(kernel\))?, .*", label)]
        want = 100 * flame_sums(traces, "waits", name) / whole
        if want > 5 and shares:
            compared += 1
            wrong += [(name, shares, want)] if abs(sum(shares) - want) > 0.6 * len(shares) else []
    test.ok(compared > 3 and not wrong, "as wide as its stacks took time", compared, *wrong[:5])


def case_flames(test):
    """A frame's time is that of the stacks that contain it."""
    folder, browser = capture(test), the_browser()
    show(browser, folder / "page.html")
    waits_are_as_wide(test, browser, json.loads((folder / "json").read_text())["traces"])


def lengthen(sample, rows):
    """So many rows in each list, all of different lengths."""
    start, rng = sample["window"]["start_ns"], random.Random(15)
    for rows_of, since, until in ((sample["traces"]["waits"], "start_ns", "end_ns"),
                                  (sample["traces"]["syscalls"], "start_ns", "end_ns"),
                                  (sample["interruptions"], "since_ns", "until_ns")):
        rows_of[:] = [dict(rows_of[i % len(rows_of)], cpu=i % 4) for i in range(rows)]
        for row in rows_of:
            row[since] = start + rng.randrange(80_000_000)
            row["duration_ns" if until == "end_ns" else "ns"] = ns = int(10 ** rng.uniform(3, 7))
            row[until] = row[since] + ns
    for row in sample["traces"]["syscalls"]:
        row.update(waited_ns=row["duration_ns"] // 2, result=rng.randrange(1 << 20))


def case_shorter(test):
    """Of long lists the page keeps the longest rows, and says so; sums cover all rows."""
    folder, browser = capture(test), the_browser()
    sample = json.loads((folder / "json").read_text())
    lengthen(sample, 4000)
    (folder / "json").write_text(json.dumps(sample))
    done = test.program("--replay", folder / "json", "-o", f"html:{folder}/page.html")
    test.eq((done.status, done.stderr), (0, ""), "lists of 4000 rows")
    kept = json.loads(of_kind(records(folder / "page.html"), "record")[0])
    for name, rows_of, all_of, key in (
            ("waits", kept["traces"]["waits"], sample["traces"]["waits"], "duration_ns"),
            ("calls", kept["traces"]["syscalls"], sample["traces"]["syscalls"], "duration_ns"),
            ("interruptions", kept["interruptions"], sample["interruptions"], "ns")):
        there = collections.Counter(row[key] for row in rows_of)
        longest = sorted((row[key] for row in all_of), reverse=True)
        test.eq(len(rows_of), 1500, f"{name}: what the page has")
        test.ok(all(there[ns] for ns in longest[:1000]), f"{name}: the longest", there.most_common(2))
        test.ok(not there - collections.Counter(longest), f"{name}: as they were")
    show(browser, folder / "page.html")
    waits_are_as_wide(test, browser, sample["traces"])
    total = sum(row["duration_ns"] for row in sample["traces"]["waits"])
    told = next(text for text in texts(browser, "figcaption") if text.startswith("Waits"))
    got = float(re.match(r"Waits: ([0-9.]+) s in 4,000 cases", told)[1])
    test.ok(abs(got - total / 1e9) <= total / 1e11, "the flame graph is of all", told, total)
    captions = texts(browser, "#tables caption")
    for title in ("Slow system calls", "Long waits", "Interruptions"):
        test.ok(f"{title}; 2,500 more are left out" in captions, f"{title}: the table says so", *captions)
    note = " ".join(texts(browser, ".left-out"))
    test.ok(all(f"2,500 {name}" in note for name in ("slow system calls", "long waits", "interruptions")) and
            "samples" not in note, "the notes do, too", note)
    test.eq(texts(browser, "#save"), ["Save the JSON (lists shortened)"], "so does the button")
    quiet(test, browser, "long lists")


def colours(line):
    """The number of pixels of each colour, without the border."""
    return collections.Counter(line[2:-2])


def legend(browser):
    """The colour beside each state's name."""
    return dict(zip(texts(browser, "#states tbody th"), backgrounds(browser, "#states tbody .swatch"),
                    strict=True))


def bar_is_wrong(line, shares, seen):
    """States whose colour does not take up their share of a line, within three pixels."""
    found, room = colours(line), len(line) - 4
    return [(name, share, found[seen[name]] / room) for name, share in shares.items()
            if abs(found[seen[name]] - share * room) > 3]


def shares_of(threads, words):
    """{state's title: its share of the time of threads}, from their books."""
    sums = collections.Counter()
    for thread in threads:
        sums.update({words["states"][key[:-3]]: ns for key, ns in thread["ledger"].items()
                     if key not in ("life_ns", "sum_exec_runtime_ns")})
    whole = sums.total()
    return {name: ns / whole for name, ns in sums.items() if ns}


def first_lane(sample):
    """Where the waits of the busiest thread in the lists lie, as fractions of the window."""
    window, spans, sums = sample["window"], collections.defaultdict(list), collections.Counter()

    def add(row, since, until, kept=None):
        at = [min(1, max(0, (row.get(key, window["end_ns"]) - window["start_ns"]) / window["duration_ns"]))
              for key in (since, until)]
        sums[row["tid"]] += at[1] - at[0]
        if kept is not None:
            kept.append(at)

    for row in sample["traces"]["waits"]:
        add(row, "start_ns", "end_ns", spans[row["tid"]])
    for row in sample["traces"]["syscalls"]:
        add(row, "start_ns", "end_ns")
    for row in sample["interruptions"]:
        add(row, "since_ns", "until_ns")
    return spans[sums.most_common(1)[0][0]]


def timeline_is_wrong(browser, sample):
    """Pixels where waits of the first thread are missing, or drawn without reason; and the number
    of waits."""
    lines = picture(browser, ".timeline canvas")
    line, paper = lines[AXIS + 4][GUTTER:], lines[AXIS - 1][-1]  # of the first lane's first part
    spans, wrong = [[at * len(line) for at in span] for span in first_lane(sample)], []
    for x in range(2, len(line) - 2):
        is_waiting = any(start <= x - 1 and x + 2 <= end for start, end in spans)
        is_idle = not any(start - 2 <= x + 1 and x <= end + 2 for start, end in spans)
        # An axis' line is the paper's colour, a little darker.
        is_paper = max(abs(a - b) for a, b in zip(line[x], paper)) < 50
        wrong += [(x, line[x])] if is_waiting and is_paper or is_idle and not is_paper else []
    return wrong, len(spans)


def flame_depths(traces, key):
    """For each line of the flame graph, [time in programs, time in the kernel], and its frames."""
    depths, frames = collections.defaultdict(lambda: [0, 0]), collections.defaultdict(set)
    for row in traces[key]:
        user, kernel = ([frame.get("function") or (frame.get("object"), frame["address"])
                         for frame in reversed(traces["stacks"][row[kind]]["frames"])] if kind in row else []
                        for kind in ("user_stack", "kernel_stack"))
        if kernel and not user:
            user = ["none"]
        for depth in range(1 + len(user) + len(kernel)):
            depths[depth][depth > len(user)] += row["duration_ns"]
            frames[depth].add(str((user + kernel)[:depth]))
    return depths, frames


def flame_is_wrong(browser, traces):
    """Lines in which the colours do not match the time in programs and in the kernel."""
    flame = ".flame[aria-label=Waits]"
    lines, (depths, frames) = picture(browser, flame), flame_depths(traces, "waits")
    of_user, whole = lines[2][len(lines[2]) // 2], depths[0][0]
    paper, = backgrounds(browser, "html")
    seen = [collections.Counter(lines[round(depth * FRAME) + 2]) for depth in range(len(depths))]
    # The kernel's is what is neither a program's nor the paper's.
    others = [colour for colour, _ in sum(seen, collections.Counter()).most_common()
              if colour not in (of_user, paper)]
    of_kernel, wrong = others[0] if others else None, []
    for depth, line in enumerate(seen):
        for colour, ns in zip((of_user, of_kernel), depths[depth]):
            if abs(line[colour] - ns / whole * line.total()) > 2 * len(frames[depth]) + 2:
                wrong.append((depth, line[colour], ns / whole * line.total(), len(frames[depth])))
    return wrong


def case_pixels(test):
    """The visible pixels in both themes: the legend's colours as wide as the states took time,
    threads in their rows, waits where they were, frames of a flame graph side by side."""
    folder, browser = capture(test), the_browser()
    sample = json.loads((folder / "json").read_text())
    words = json.loads(of_kind(records(folder / "page.html"), "words")[0])
    for theme in ("light", "dark"):
        browser.call("Emulation.setEmulatedMedia",
                     features=[{"name": "prefers-color-scheme", "value": theme}])
        show(browser, folder / "page.html")
        lay_out(browser)
        seen = legend(browser)
        test.eq(len(set(seen.values())), len(seen), f"{theme}: each state has its colour")
        bar = picture(browser, "#states-section .bar")
        wrong = bar_is_wrong(bar[len(bar) // 2], shares_of(sample["threads"], words), seen)
        test.eq(wrong, [], f"{theme}: the bar of all threads")
        wrong = []
        for row, (_, tid, *_) in enumerate(rows(browser), 1):
            thread = next(each for each in sample["threads"] if str(each["tid"]) == tid)
            bar = picture(browser, f"{ROWS}:nth-child({row}) .bar")
            wrong += bar_is_wrong(bar[len(bar) // 2], shares_of([thread], words), seen)
        test.eq(wrong, [], f"{theme}: the bars of threads")
    wrong, spans = timeline_is_wrong(browser, sample)
    test.ok(spans and not wrong, "the timeline", spans, *wrong[:5])
    test.eq(flame_is_wrong(browser, sample["traces"]), [], "the flame graph of waits")
    browser.call("Emulation.setEmulatedMedia", features=[])


PATH_STATES = ("user", "blocked", "running", "ready_preempted", "blocked_uninterruptible", "unknown",
               "hardirq", "kernel")


def path_of(sample):
    """A path through the window, made of legs with their own lengths and states."""
    window, rng, legs = sample["window"], random.Random(15), []
    ends = sorted(rng.sample(range(1, window["duration_ns"]), 39)) + [window["duration_ns"]]
    for number, (start, end) in enumerate(zip([0, *ends], ends)):
        state = PATH_STATES[number % len(PATH_STATES)]
        thread = {"tid": 900 + number % 5, "pid": 900, "name": f"<i>{number % 5}", "own": True}
        legs.append({"start_ns": window["start_ns"] + start, "end_ns": window["start_ns"] + end,
                     "legs": 1, "states_ns": {state: end - start}, "mostly_ns": end - start,
                     "thread": thread, "state": state, "text": f"leg {number} <b>"})
    return {"thread": legs[0]["thread"], "chosen": "kept", "start_ns": window["start_ns"],
            "end_ns": window["end_ns"], "legs": len(legs), "lost_events": 0, "rows": legs}


def case_path(test):
    """A critical path: a row for each leg, its states as a bar, and its track in the timeline."""
    folder, browser = capture(test), the_browser()
    page = (folder / "page.html").read_text()
    sample = json.loads((folder / "json").read_text())
    path = sample["critical_path"] = path_of(sample)
    packed = base64.b64encode(gzip.compress(json.dumps(sample).encode())).decode()
    (folder / "path.html").write_text(re.sub(
        '(class="record sample">)[^<]*', rf"\g<1>\n{packed}\n", page, count=1))
    show(browser, folder / "path.html")
    lay_out(browser)
    quiet(test, browser, "a critical path")
    cells = browser.eval("Array.from(document.querySelectorAll('#path-table tbody tr'), (row) => "
                         "Array.from(row.cells, (cell) => cell.textContent))")
    legs = sorted(path["rows"], key=lambda leg: leg["start_ns"] - leg["end_ns"])
    test.eq([(row[3], row[4]) for row in cells],
            [(f"{leg['thread']['name']}[{leg['thread']['tid']}]", leg["text"]) for leg in legs],
            "a row for each leg, the longest first")
    browser.eval("document.querySelector('#path-table .sort').click()")
    test.eq(texts(browser, "#path-table tbody td:last-child"), [leg["text"] for leg in path["rows"]],
            "or by time")
    bar, shares = picture(browser, "#path .bar"), collections.Counter()
    for leg in path["rows"]:
        shares[leg["state"]] += leg["end_ns"] - leg["start_ns"]
    seen, wrong = path_legend(browser, path), []
    found, whole = colours(bar[len(bar) // 2]), shares.total()
    for state, ns in shares.items():
        wrong += [(state, found[seen[state]], ns / whole)] \
            if abs(found[seen[state]] - ns / whole * found.total()) > 3 else []
    test.eq((len(set(seen.values())), wrong), (len(PATH_STATES), []), "its states as a bar")
    line = picture(browser, ".timeline canvas")[AXIS + 9][GUTTER:]
    wrong = []
    for leg in path["rows"]:
        start, end = ((leg[key] - path["start_ns"]) / whole * len(line) for key in ("start_ns", "end_ns"))
        wrong += [leg["text"]] if {*line[round(start) + 2:round(end) - 2]} - {seen[leg["state"]]} else []
    test.eq(wrong, [], "its track in the timeline")


def path_legend(browser, path):
    """The colour beside the text of each leg, by the leg's state."""
    return dict(zip((leg["state"] for leg in path["rows"]),
                    backgrounds(browser, "#path-table tbody .swatch"), strict=True))


def case_size(test):
    """At most 2 MB for 100 threads with long lists."""
    folder = capture(test)
    sample = json.loads((folder / "json").read_text())
    load = test.workload("roles", "spin:0", *["convoy:1:50:50"] * 49, "poll", "fifo:0:3:30")
    done = test.program("-p", load.pid, "--sample-time", "1s", "--histogram", "-o", f"json:{folder}/busy")
    load.end()
    test.eq(done.status, 0, "a capture")
    threads = json.loads((folder / "busy").read_text())["threads"]
    busy = max(threads, key=lambda thread: len(json.dumps(thread)))
    sample["threads"] = [dict(copy.deepcopy(busy), tid=each["tid"] + 100 * i)
                         for i in (0, 1) for each in threads][:100]
    lengthen(sample, 6000)
    (folder / "json").write_text(json.dumps(sample))
    done = test.program("--replay", folder / "json", "-o", f"html:{folder}/page.html")
    size = (folder / "page.html").stat().st_size
    test.ok(done.status == 0 and size <= 2_000_000, "100 threads: at most 2 MB", size)


kdtest.main(case_flames, case_shorter, case_pixels, case_path, case_size)
