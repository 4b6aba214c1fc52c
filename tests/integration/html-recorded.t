#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""States over time on the page: its recording against the rows in JSON and the books, and its
pixels against both; and which states are merged where there are too many."""

import collections
import json
import random

import kdtest
from kdpage import (backgrounds, lay_out, of_kind, picture, quiet, records, show, texts,
                    the_browser)
from kdrecorded import states_of

GUTTER, AXIS, LANE = 170, 22, 20  # pixels to the left, above, and of a line of states alone
RUNNING = ("user", "kernel", "page_fault", "reclaim", "hardirq", "softirq", "stolen")
TRIES = 4
ARROWS_AT_ONCE = 150  # as in 48-recorded.js
MANY = 55_000  # states of a thread, of which a page has no room for each


def captured(test):
    """A process whose threads wake one another, as a page and as JSON."""
    folder = test.directory()
    # Sleeps that are some pixels wide where others make the window several times as long.
    load = test.workload("slow", "sleeper:24:200:30000:2", "waiter:12:3000", "spinner")
    run = test.capture(load.pid, "--record=100ms", "-o", "text", "-o", f"html:{folder}/page.html",
                       "-o", f"json:{folder}/json")
    load.go()
    run.interrupt(test, "a capture")
    load.end()
    return folder


def lines_of(folder):
    return [json.loads(line) for line in (folder / "json").read_text().splitlines()]


def recorded(page):
    return json.loads(of_kind(records(page), "recorded")[0])


def pieces(lane, data):
    """(start, end, {state: ns}, kind) of each piece, counted from the window's start."""
    at, merged, found = data["from_ns"], iter(lane["parts"]), []
    for number, after, length in zip(lane["kind"], lane["after"], lane["ns"], strict=True):
        start, at = at + after, at + after + length
        kind = data["kinds"][number] if number >= 0 else None
        parts = {kind["state"]: length} if kind else {}
        if not kind:
            numbers = next(merged)
            parts = {data["classes"][i]: ns for i, ns in zip(numbers[::2], numbers[1::2], strict=True)}
        found.append((start, at, parts, kind))
    return found


def sums_of(lines, head):
    """{(tid, state): ns} of the recording."""
    sums = collections.Counter()
    for tid, start, end, state in states_of(lines):
        sums[tid, state] += end - max(start, head["start_ns"])
    return sums


def page_sums(data):
    sums = collections.Counter()
    for lane in data["threads"]:
        for _, _, parts, _ in pieces(lane, data):
            sums.update({(lane["tid"], state): ns for state, ns in parts.items()})
    return sums


def ledger_is_wrong(lane, data, sample):
    """States whose time in the window differs from the ledger; running states are compared as a
    sum, since interrupts are part of them on the page."""
    thread = next((each for each in sample["threads"] if each["tid"] == lane["tid"] and
                   each["members"] == 1), None)
    if not thread:
        return []
    got, want = collections.Counter(), collections.Counter()
    for start, end, parts, _ in pieces(lane, data):
        for state in parts:
            got["running" if state in RUNNING else state] += max(0, end - max(0, start))
    for key, ns in thread["ledger"].items():
        state = key.removesuffix("_ns")
        if state not in ("life", "sum_exec_runtime"):
            want["running" if state in RUNNING else
                 "ready_preempted" if state == "throttled" else state] += ns
    return [(lane["tid"], state, got[state], want[state]) for state in {*got, *want}
            if got[state] != want[state]]


def nearest(pixel, seen):
    return min(seen, key=lambda state: sum((a - b) ** 2 for a, b in zip(pixel, seen[state])))


def legend(browser, states):
    """The colour of each state, as in the legend of the page."""
    browser.eval(f"""(() => {{ const box = document.createElement("p");
        box.id = "swatches";
        for (const state of {json.dumps(states)}) {{
            const swatch = document.createElement("span");
            swatch.className = `swatch state-${{state}}`;
            box.append(swatch);
        }}
        document.body.prepend(box); }})()""")
    found = dict(zip(states, backgrounds(browser, "#swatches span"), strict=True))
    browser.eval("document.querySelector('#swatches').remove()")
    return found


class Drawn:
    """The picture of the window's timeline."""

    def __init__(self, browser, data, sample):
        states = sorted({kind["state"] for kind in data["kinds"]} | {*data["classes"]})
        self.seen = legend(browser, states)
        self.first = AXIS + LANE * bool(sample.get("critical_path", {}).get("rows"))
        self.lines = picture(browser, ".timeline canvas")
        self.scale = (len(self.lines[0]) - GUTTER) / sample["window"]["duration_ns"]

    def top(self, number):
        return self.first + LANE * number

    def x(self, ns):
        return GUTTER + ns * self.scale

    def wrong(self, lane, number, data, arrows):
        """Pieces several pixels wide that are not drawn in the colour of their state. Arrows are
        (x, from a line, to a line)."""
        line, found, compared = self.lines[self.top(number) + 9], [], 0
        arrows = [x for x, upper, lower in arrows if upper <= number <= lower]
        for start, end, parts, kind in pieces(lane, data):
            columns = [x for x in range(int(self.x(max(0, start))) + 2, int(self.x(end)) - 2)
                       if all(abs(x - arrow) > 3 for arrow in arrows)]
            if kind and columns:
                compared += 1
                colours = {line[x] for x in columns}
                found += [(kind["state"], colours)] if colours != {self.seen[kind["state"]]} else []
        return found, compared

    def wrong_areas(self, lane, number, data):
        """(state, its share of the line's pixels, of its time) where the two differ; None is where
        there is no piece: who had a CPU is known while the target wants it."""
        shares, found, top = collections.Counter(), collections.Counter(), self.top(number)
        for start, end, parts, _ in pieces(lane, data):
            whole, inside = sum(parts.values()), max(0, end - max(0, start))
            shares.update({state: inside * ns / whole for state, ns in parts.items()})
        length = (len(self.lines[0]) - GUTTER) / self.scale
        shares[None] = length - shares.total()
        seen = {state: self.seen.get(state, self.lines[AXIS - 1][-1]) for state in shares}
        for line in self.lines[top + 2:top + 17]:
            found.update(nearest(pixel, seen) for pixel in line[GUTTER + 2:-2])
        both = {state: (found[state] / found.total(), ns / length) for state, ns in shares.items()}
        return [(state, *two) for state, two in both.items() if abs(two[0] - two[1]) > 0.05]

    def faults(self, lanes, first, data, arrows):
        """Checks all pieces of these lanes, the first of which is number first."""
        some = [self.wrong(lane, number, data, arrows) for number, lane in enumerate(lanes, first)]
        return [fault for found, _ in some for fault in found], sum(compared for _, compared in some)


def case_states(test):
    """Each state is on the page and visible where it occurred, also when the page is made from the
    JSON. Repeated where threads of others were so many that the page has no room for all their
    states."""
    browser = the_browser()
    for _ in range(TRIES):
        folder = captured(test)
        data = recorded(folder / "page.html")
        if not any(lane["merged_ns"] for lane in data["threads"]):
            break
    lines = lines_of(folder)
    head, sample = lines[0], lines[-1]
    done = test.program("--replay", folder / "json", "-o", f"html:{folder}/again.html")
    test.eq((done.status, done.stderr), (0, ""), "the page of a replay")
    test.eq(recorded(folder / "again.html"), data, "has the same")
    # Who had the CPUs besides may be so many that they are.
    test.ok(not any(lane["merged_ns"] for lane in data["threads"]), "nothing is merged")
    whole = not any(lane["merged_ns"] for lane in data["cpus"])
    sums, shown = sums_of(lines, head), {lane["tid"] for lane in data["threads"]}
    test.eq(len({tid for tid, _ in sums} - shown), data["left_out"]["threads"],
            "threads, but for those that are too many")
    test.eq(page_sums(data), {key: ns for key, ns in sums.items() if key[0] in shown},
            "states of all of them, as in JSON")
    test.ok(all(lane["kind"] for lane in data["threads"] + data["cpus"]), "each line has some")
    wrong = [fault for lane in data["threads"] for fault in ledger_is_wrong(lane, data, sample)]
    if sample["resynced"] or any(thread["ledger"]["stolen_ns"] for thread in sample["threads"]):
        test.skip("and in the books", "the kernel did not report all switches")
    else:
        test.eq(wrong[:4], [], "and in the books")
    show(browser, folder / "again.html")
    lay_out(browser)
    quiet(test, browser, "a page with a recording")
    drawn = Drawn(browser, data, sample)
    own = {lane["tid"]: number for number, lane in enumerate(data["threads"])}
    woken = [(end, own[kind["waker"]], own[lane["tid"]]) for lane in data["threads"]
             for _, end, _, kind in pieces(lane, data) if kind and kind.get("waker") in own]
    arrows = [(drawn.x(at), *sorted(lanes)) for at, *lanes in arrows_of(woken, sample)]
    wrong, compared = drawn.faults(data["threads"], 0, data, arrows)
    test.ok(compared > 10 and not wrong, "each is seen in its colour, in its place", compared, *wrong[:3])
    cpus_are_drawn(test, drawn, data)
    arrows_are_drawn(test, drawn, woken)
    begin = texts(browser, ".recorded")[0]
    told = "Each state is there by itself." if whole else "is merged in "
    test.ok("before the window" in begin and told in begin, "in words", begin)
    keys(test, browser, data)


def arrows_of(woken, sample):
    """Those that are drawn. Threads of others are recorded, too, and may wake one another so often
    that the page draws those of the critical path alone."""
    window, path = sample["window"], sample.get("critical_path", {}).get("rows", ())
    if sum(0 <= at <= window["duration_ns"] for at, *_ in woken) <= ARROWS_AT_ONCE:
        return woken
    starts = [row["start_ns"] - window["start_ns"] for row in path]
    return [each for each in woken if any(abs(each[0] - start) < 50 for start in starts)]


def cpus_are_drawn(test, drawn, data):
    """Where a CPU was passed on so often that no piece is wide, its areas have the right colours."""
    first = len(data["threads"])
    wrong, compared = drawn.faults(data["cpus"], first, data, ())
    if not compared:
        wrong = [fault for number, lane in enumerate(data["cpus"], first)
                 for fault in drawn.wrong_areas(lane, number, data)]
    test.eq(wrong[:3], [], "so is who had the CPUs")
    names = {kind["name"] for kind in data["kinds"] if "name" in kind}
    threads = {f"{lane['name']}[{lane['tid']}]" for lane in data["threads"] if lane["own"]}
    test.ok(names & threads, "by their names", sorted(names)[:4])


def arrows_are_drawn(test, drawn, woken):
    """Arrows are drawn from line to line where no other arrow nor the edge is near; everywhere else
    there is paper between the lines."""
    paper, missing, alone = drawn.lines[AXIS - 1][-1], [], 0
    for at, source, target in woken:
        x, upper = round(drawn.x(at)), min(source, target)
        if at < 0 or source == target or x + 6 > len(drawn.lines[0]) or \
                sum(abs(drawn.x(other) - x) < 6 for other, *_ in woken) > 1:
            continue
        line = drawn.lines[drawn.top(upper) + LANE - 1][x - 5:x + 6]
        alone += 1
        missing += [(at, line)] if set(line[4:7]) == {paper} or line.count(paper) < 5 else []
    if len(woken) > ARROWS_AT_ONCE or woken and not alone:
        test.skip("arrows", "there are too many, or they are too near to one another")
    else:
        test.ok(alone and not missing, "an arrow from each waker", alone, *missing[:3])


def keys(test, browser, data):
    """Home shows the time before the window, too, with the very first event."""
    browser.eval("document.querySelector('.timeline').focus()")
    browser.press("Home")
    browser.press("ArrowDown")
    told = browser.eval("document.querySelector('.timeline ~ .told').textContent")
    first = min(data["from_ns"] + lane["after"][0] for lane in data["threads"] + data["cpus"])
    test.ok(f"at {first / 1e6:,.3f}".rstrip("0").rstrip(".") in told, "by keys, from the recording's beginning on",
            told, first)


def crowd(lines):
    """The same sample with a recording of more states than a page can hold."""
    sample, rng = lines[-1], random.Random(15)
    start, found = sample["window"]["start_ns"], []
    kinds = [{"tid": 0, "cpu": 0, "state": state, "own": True}
             for state in ("user", "blocked", "ready_woken", "kernel")]
    tids = [901, 902]
    for tid in tids:
        left, at = MANY, start
        while left:
            n = min(left, 16384)
            ns = [rng.randrange(200, 3000) * (1 + 2 * (i % 4 == 1)) for i in range(n)]
            found.append({"schema": "kernel_delay/1", "type": "recorded", "number": sample["number"],
                          "list": "states", "rows": n, "start_ns": at,
                          "kinds": [dict(kind, tid=tid) for kind in kinds],
                          "kind": [i % 4 for i in range(n)], "ns": ns})
            at, left = at + sum(ns), left - n
    sample["window"]["end_ns"] = end = max(line["start_ns"] + sum(line["ns"]) for line in found)
    sample["window"]["duration_ns"] = end - start
    sample.pop("critical_path", None)
    head = dict(lines[0], start_ns=start, end_ns=end, culprits=[], threads=[
        {"tid": tid, "pid": 900, "name": "crowd", "own": True} for tid in tids])
    head["rows"] = {**dict.fromkeys(head["rows"], 0), "states": len(tids) * MANY}
    return [head, *found, sample]


def case_merged(test):
    """States too short for a page are merged: sums stay the same, and so do the areas of colours."""
    folder, browser = captured(test), the_browser()
    lines = crowd(lines_of(folder))
    (folder / "json").write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = test.program("--replay", folder / "json", "-o", f"html:{folder}/page.html")
    test.eq((done.status, done.stderr), (0, ""), "more states than a page may have")
    size = (folder / "page.html").stat().st_size
    test.ok(size < 1_000_000, "the page is bounded", size)
    data, sums = recorded(folder / "page.html"), sums_of(lines, lines[0])
    test.ok(all(lane["merged_ns"] for lane in data["threads"]), "states are merged")
    test.eq(page_sums(data), sums, "none of their time is gone")
    show(browser, folder / "page.html")
    lay_out(browser)
    quiet(test, browser, "merged states")
    told = " ".join(texts(browser, ".recorded"))
    test.ok("is merged in" in told and "-o json has all of it" in told, "the page says so", told)
    drawn = Drawn(browser, data, lines[-1])
    for number, lane in enumerate(data["threads"]):
        test.eq(drawn.wrong_areas(lane, number, data), [], f"colours have their states' areas: line {number}")


kdtest.main(case_states, case_merged)
