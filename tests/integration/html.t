#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tests/run: parallel
"""The page, as a browser has it: the figures of the JSON, the sentences of the text, names of any
kind as text; nothing asked for, nothing said on the console; by the keyboard alone."""

import atexit
import base64
import collections
import copy
import functools
import gzip
import html.parser
import json
import pathlib
import random
import re
import shutil
import tempfile

import kdbrowser
import kdpng
import kdtest

TEXTS = "Array.from(document.querySelectorAll({}), (each) => each.textContent)"
ROWS = "#thread-table > table > tbody > tr:not(.detail)"
MARKS = "\u202e\u2066\u200f"
HOSTILE = ["</script><script>document.title='hit'</script>", "<img src=x onerror=document.title='hit'>",
           "<!--<script>", "&lt;b&gt;&#x202e;", f"{MARKS}rtl", "\u2028\u2029\x01\x1b[31m", "a\\b",
           "${document.title='hit'}", "__proto__", "\u00e9\u4e2d\U0001f600", "]]></pre>"]


def texts(browser, selector):
    return browser.eval(TEXTS.format(json.dumps(selector)))


def show(browser, path):
    browser.open(path)
    kdtest.wait_until(lambda: browser.eval("document.querySelector('main')?.ariaBusy === 'false'"))


def choose(browser, number):
    """Shows another record of the page."""
    browser.eval(f"""(() => {{ const select = document.querySelector("#record");
        select.value = {number};
        select.dispatchEvent(new Event("change")); }})()""")
    kdtest.wait_until(lambda: browser.eval("document.querySelector('main').ariaBusy === 'false'"))


def rows(browser):
    """[TID, name, ...] of each thread that is shown."""
    return browser.eval(f"Array.from(document.querySelectorAll({json.dumps(ROWS)}), (row) =>"
                        "Array.from(row.cells, (cell) => cell.textContent))")


def records(path):
    """What the page has of JSON and of text, by a parser that is not the browser's."""
    class Records(html.parser.HTMLParser):
        def __init__(self):
            super().__init__(convert_charrefs=True)
            self.found, self.tags, self.into = [], [], None

        def handle_starttag(self, tag, attrs):
            self.tags.append(tag)
            kind = dict(attrs).get("class")
            self.into = kind and next(iter({*kind.split()} & {"record", "reading", "words", "text"}), None)
            if self.into:
                self.found.append((self.into, ""))

        def handle_endtag(self, tag):
            self.into = None

        def handle_data(self, data):
            if self.into:
                self.found[-1] = (self.into, self.found[-1][1] + data)

    parser = Records()
    parser.feed(path.read_text())
    parser.close()
    return parser


def of_kind(page, kind):
    """Their texts; those of data are unpacked."""
    found = [text for each, text in page.found if each == kind]
    if kind == "text":
        return [text.removeprefix("\n") for text in found]  # as browsers do with one of <pre>
    return [gzip.decompress(base64.b64decode(text)).decode() for text in found]


def escape(name):
    """A name as the text report has it."""
    letters = {"\t": "\\t", "\n": "\\n", "\r": "\\r", "\\": "\\\\"}
    hidden = set(MARKS + "\u2028\u2029")
    return "".join(letters.get(each) or (
        "".join(f"\\x{byte:02x}" for byte in each.encode())
        if each in hidden or ord(each) < 32 or 127 <= ord(each) < 160 else each) for each in name)


@functools.cache
def the_browser():
    """One for all cases: to begin takes a second."""
    browser = kdbrowser.Browser()
    atexit.register(browser.end)
    return browser


def quiet(test, browser, what):
    test.eq(browser.said, [], f"{what}: nothing is said on the console")
    test.eq(browser.asked, [], f"{what}: nothing is asked for")


ALL = ("--histogram", "-s", "100us", "--off-cpu=10us", "--wait-filter=*", "--profile",
       "--interruptions")
@functools.cache
def kept_folder():
    kept = tempfile.TemporaryDirectory(prefix="kd-page-")
    atexit.register(kept.cleanup)
    return pathlib.Path(kept.name)


def captured(test, folder):
    load = test.workload("roles", "spin:0", "fifo:0:3:30", "poll", "convoy:0:200:100")
    done = test.program("-p", load.pid, "--sample-time", "100ms", "--top=10", *ALL, "-o",
                        f"html:{folder}/page.html", "-o", f"json:{folder}/json",
                        "-o", f"text:{folder}/text")
    load.end()  # it computes, and the browser has a lot to do
    test.eq((done.status, done.stderr), (0, ""), "a capture")


def capture(test):
    """A process whose threads compute, wait for a CPU and sleep: its page, JSON and text, in a
    folder of the case's own. All cases have the same."""
    folder = kept_folder()
    if not (folder / "page.html").exists():
        captured(test, folder)
    return shutil.copytree(folder, test.directory() / "capture")


def case_figures(test):
    folder, browser = capture(test), the_browser()
    sample, page = json.loads((folder / "json").read_text()), records(folder / "page.html")
    test.eq([json.loads(text) for text in of_kind(page, "record")], [sample], "the JSON is in the page")
    show(browser, folder / "page.html")
    quiet(test, browser, "opening")
    shown = rows(browser)
    test.eq(sorted((row[1], row[2]) for row in shown),
            sorted((str(each["tid"]), each["name"]) for each in sample["threads"]),
            "a row for each thread")
    reading = json.loads(of_kind(page, "reading")[0])
    test.eq([sum(thread[at] for thread in reading["threads"]) for at in (0, 1)],
            [sample["busy_ns"], sample["kept_ns"]], "what was kept adds up to the sample's")
    # What the bars are: widths, against the books.
    bars = browser.eval(f"""Object.fromEntries(Array.from(document.querySelectorAll({json.dumps(ROWS)}),
        (row) => [row.cells[1].textContent, Array.from(row.querySelectorAll(".bar .state"),
        (state) => [state.className, state.getBoundingClientRect().width])]))""")
    wrong = []
    for thread in sample["threads"]:
        parts = {re.search("state-(\\w+)", name)[1]: width for name, width in bars[str(thread["tid"])]}
        states = {key[:-3]: ns for key, ns in thread["ledger"].items()
                  if ns and key not in ("life_ns", "sum_exec_runtime_ns")}
        whole, room = sum(states.values()), sum(parts.values())
        wrong += [(thread["tid"], key) for key in states.keys() | parts.keys()
                  if abs(parts.get(key, 0) / room - states.get(key, 0) / whole) > 0.01]
    test.eq(wrong, [], "bars are as wide as states took time")
    text = " ".join((folder / "text").read_text().split())
    said = texts(browser, ".sentences li")
    test.eq(len(said), max(1, len(sample["verdict"])), "a sentence for each who is blamed")
    test.ok(said[0] in text, "in the words of the text", said[0])
    test.ok(texts(browser, ".next")[0][4:].strip() in text, "and its advice", texts(browser, ".next"))
    test.ok((folder / "text").read_text().endswith(of_kind(page, "text")[0]),
            "the text is in the page")
    for title, key in (("Slow system calls", "syscalls"), ("Long waits", "waits")):
        count = browser.eval(f"""(() => {{ const table = Array.from(document.querySelectorAll("#tables table"))
            .find((each) => each.caption.textContent === {json.dumps(title)});
            table?.parentElement.querySelector(".more").click();
            return table?.tBodies[0].rows.length; }})()""")
        test.eq(count, len(sample["traces"][key]), f"{title}: a row for each")
    events = len(sample["traces"]["syscalls"]) + len(sample["traces"]["waits"]) + len(sample["interruptions"])
    test.ok(f", {events} events" in browser.eval("document.querySelector('.timeline').ariaLabel"),
            "the timeline has each of them", events)
    flames = browser.eval("""Array.from(document.querySelectorAll(".flame"), (each) =>
        [each.ariaLabel, each.firstChild.ariaLabel])""")
    test.eq([title for title, _ in flames], ["Running code", "Waits", "Slow system calls"], "flame graphs")
    quiet(test, browser, "at the end")


def flame_sums(traces, key, name):
    """Time in stacks that have a function of that name."""
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
    """A frame's time is that of the stacks that it is in."""
    folder, browser = capture(test), the_browser()
    show(browser, folder / "page.html")
    waits_are_as_wide(test, browser, json.loads((folder / "json").read_text())["traces"])


def lengthen(sample, rows):
    """So many rows in each list, with lengths of their own."""
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
    """Of long lists the page has the longest rows, and says so; sums are of all."""
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


def picture(browser, selector):
    return kdpng.decode(browser.screenshot([round(each) for each in browser.box(selector)]))


def colours(line):
    """How many pixels have which colour, without a border's."""
    return collections.Counter(line[2:-2])


def legend(browser):
    """The colour that is seen beside each state's name."""
    seen = {}
    for row, name in enumerate(texts(browser, "#states tbody th"), 1):
        swatch = picture(browser, f"#states tbody tr:nth-child({row}) .swatch")
        seen[name] = colours(swatch[len(swatch) // 2]).most_common(1)[0][0]
    return seen


def bar_is_wrong(line, shares, seen):
    """States whose colour does not take their share of a line, give or take two pixels."""
    found, room = colours(line), len(line) - 4
    return [(name, share, found[seen[name]] / room) for name, share in shares.items()
            if abs(found[seen[name]] - share * room) > 2]


def shares_of(threads, words):
    """{state's title: its share of the time of threads}, from their books."""
    sums = collections.Counter()
    for thread in threads:
        sums.update({words["states"][key[:-3]]: ns for key, ns in thread["ledger"].items()
                     if key not in ("life_ns", "sum_exec_runtime_ns")})
    whole = sums.total()
    return {name: ns / whole for name, ns in sums.items() if ns}


def timeline_is_wrong(browser, sample):
    """Pixels of the first thread's waits that are not there, or too many."""
    rows_of = collections.defaultdict(list)
    sums = collections.Counter()
    for kind in ("waits", "syscalls"):
        for row in sample["traces"][kind]:
            sums[row["tid"]] += row["duration_ns"]
            if kind == "waits":
                rows_of[row["tid"]].append(row)
    for row in sample["interruptions"]:
        sums[row["tid"]] += row["until_ns"] - row["since_ns"]
    window, lines = sample["window"], picture(browser, ".timeline canvas")
    room, paper = len(lines[0]) - GUTTER, lines[AXIS - 1][-1]
    line = lines[AXIS + 4][GUTTER:]  # the first lane's first part
    spans = []
    for row in rows_of[sums.most_common(1)[0][0]]:
        spans.append([(row[key] - window["start_ns"]) / window["duration_ns"] * room
                      for key in ("start_ns", "end_ns")])
    wrong = []
    for x in range(2, room - 2):
        is_waiting = any(start <= x - 1 and x + 2 <= end for start, end in spans)
        is_idle = not any(start - 2 <= x + 1 and x <= end + 2 for start, end in spans)
        # An axis' line is the paper's colour, a little darker.
        is_paper = max(abs(a - b) for a, b in zip(line[x], paper)) < 50
        wrong += [(x, line[x])] if is_waiting and is_paper or is_idle and not is_paper else []
    return wrong, len(spans)


GUTTER, AXIS = 170, 22  # pixels to the left of what has times, and above it


def case_pixels(test):
    """What is seen, pixel by pixel, in both themes: colours of the legend, as wide as the states
    took time, threads in their rows, waits where they were, frames of a flame graph beside one another."""
    folder, browser = capture(test), the_browser()
    sample = json.loads((folder / "json").read_text())
    words = json.loads(of_kind(records(folder / "page.html"), "words")[0])
    for theme in ("light", "dark"):
        browser.call("Emulation.setEmulatedMedia",
                     features=[{"name": "prefers-color-scheme", "value": theme}])
        show(browser, folder / "page.html")
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
    frames = browser.eval("""(() => { const flame = document.querySelector(".flame").getBoundingClientRect();
        return Array.from(document.querySelectorAll(".flame")[0].children, (frame) => {
            const box = frame.getBoundingClientRect();
            return [frame.ariaLabel.includes(" (kernel), "), box.left - flame.left, box.top - flame.top,
                    box.width]; }); })()""")
    lines = picture(browser, ".flame")
    for kernel in (False, True):
        found = {lines[round(top) + 1][round(left) + 2] for is_kernel, left, top, width in frames
                 if width > 8 and is_kernel == kernel}
        test.ok(len(found) <= 1, f"frames of {'the kernel' if kernel else 'programs'} have one colour", *found)
    browser.call("Emulation.setEmulatedMedia", features=[])


def case_distributions(test):
    """Percentiles of one thread are those of the JSON, if nothing goes on at its end."""
    folder, browser = capture(test), the_browser()
    sample = json.loads((folder / "json").read_text())
    show(browser, folder / "page.html")
    compared = 0
    for number, thread in enumerate(sample["threads"]):
        if not thread["ready"].get("buckets") or any(each["kind"] == "ready" and each["at_end"]
                                                     for each in thread["open_periods"]):
            continue
        shown = browser.eval(f"""(() => {{ const select = document.querySelector("#distributions select");
            select.value = {number};
            select.dispatchEvent(new Event("change"));
            const row = Array.from(document.querySelectorAll("#distribution-table tbody tr"))
                .find((each) => each.cells[1].textContent === "ready");
            return Array.from(row.cells, (cell) => cell.textContent).slice(3); }})()""")
        got = [float(cell.split()[0]) * {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[cell.split()[1]]
               for cell in shown]
        want = [thread["ready"][key] for key in ("p50_ns", "p90_ns", "p99_ns", "p99_9_ns", "longest_ns")]
        test.ok(all(abs(a - b) <= b / 150 for a, b in zip(got, want, strict=True)),
                f"{thread['name']}: percentiles of what was ready", got, want)
        compared += 1
    test.ok(compared, "there are some")


def case_hostile(test):
    folder, browser = capture(test), the_browser()
    sample = json.loads((folder / "json").read_text())
    template = sample["threads"][0]
    cut = [name.encode()[:16].decode(errors="ignore") for name in HOSTILE]  # as the kernel does
    sample["threads"] = [dict(copy.deepcopy(template), tid=1000 + i, name=name)
                         for i, name in enumerate(cut)]
    sample["threads"].append(dict(copy.deepcopy(template), tid=2000, name="\ufffd<b>", name_hex="ff3c623e"))
    for name, frame in zip(HOSTILE, (frame for stack in sample["traces"]["stacks"]
                                     for frame in stack["frames"])):
        frame.update(function=name, object=f"/tmp/{name}")
    sample["capture"].update(process=cut[1], host=HOSTILE[0][:60])
    (folder / "hostile.json").write_text(json.dumps(sample))
    done = test.program("--replay", folder / "hostile.json", "-o", f"html:{folder}/page.html")
    test.eq((done.status, done.stderr), (0, ""), "it is replayed")
    tags = records(folder / "page.html").tags
    test.eq((tags.count("script"), tags.count("pre"), tags.count("img")), (4, 1, 0),
            "the elements are ours, as another parser has them")
    show(browser, folder / "page.html")
    quiet(test, browser, "hostile names")
    names = {row[1]: row[2] for row in rows(browser)}
    for i, name in enumerate(cut):
        test.eq(names[str(1000 + i)], escape(name), f"{name!r}: is text")
    test.ok(names["2000"].startswith("\\xff<b>"), "bytes that are no UTF-8", names["2000"])
    test.eq(browser.eval("[document.images.length, document.querySelectorAll('b, iframe').length]"),
            [0, 0], "no element is made of them")
    test.ok("hit" not in browser.eval("document.title"), "nothing of them runs")
    test.ok(any("<img src" in text for text in texts(browser, ".frame")) or
            any("<img src" in (label or "") for label in browser.eval(
                "Array.from(document.querySelectorAll('.frame'), (each) => each.ariaLabel)")),
            "functions are text, too")
    browser.open(folder / "page.html", scripts=False)
    tree = browser.call("Accessibility.getFullAXTree")["nodes"]
    told = " ".join(node.get("name", {}).get("value", "") for node in tree)
    test.ok("<img src=x" in told and "THREAD" in told, "without scripts the text is there", told[:300])


def case_policy(test):
    """What somebody adds to a page neither runs nor loads: the policy is not an ornament."""
    folder, browser = capture(test), the_browser()
    page = (folder / "page.html").read_text()
    port = kdtest.free_port()
    (folder / "added.html").write_text(
        page + "<script>document.title = 'hit'</script><p onclick=\"document.title='hit'\">x</p>"
        f"<img src=http://127.0.0.1:{port}/i onerror=\"document.title='hit'\">"
        f"<link rel=stylesheet href=http://127.0.0.1:{port}/s><style>h1 {{ color: red }}</style>")
    show(browser, folder / "added.html")
    browser.eval("document.querySelector('p[onclick]').click()")
    test.ok("hit" not in browser.eval("document.title"), "scripts do not run")
    test.ok(any("Content Security Policy" in text for text in browser.said), "the policy refuses them",
            *browser.said[:3])
    refused = browser.eval(f"""fetch("http://127.0.0.1:{port}/f").then(() => "came", () => "refused")""")
    test.eq(refused, "refused", "nothing can be sent")
    for code in ("document.body.innerHTML = '<i>x</i>'", "eval('1')", "new Function('return 1')()"):
        test.eq(browser.eval(f"(() => {{ try {{ {code}; return 'done'; }} catch (error) "
                             "{ return 'refused'; } })()"), "refused", f"{code}: refused")


def focused(browser):
    return browser.eval("document.activeElement.textContent || document.activeElement.ariaLabel || "
                        "document.activeElement.id")


def tab_to(test, browser, condition, text):
    """Presses Tab until the element that has the focus fulfils a condition."""
    for _ in range(400):
        browser.press("Tab")
        if browser.eval(f"((e) => {condition})(document.activeElement)"):
            test.ok(True, text)
            return
    test.ok(False, text, focused(browser))


def case_keyboard(test):
    folder, browser = capture(test), the_browser()
    threads = json.loads((folder / "json").read_text())["threads"]
    show(browser, folder / "page.html")
    browser.press("Tab")
    test.eq(focused(browser), "Skip to the report", "the first Tab skips what is above")
    tab_to(test, browser, "e.id === 'thread-filter'", "Tab goes to the filter")
    browser.type("fif")
    test.eq({row[2] for row in rows(browser)}, {"fifo"}, "it filters as one types")
    browser.eval("document.activeElement.select()")
    browser.type("o")
    browser.eval("document.activeElement.value = ''; document.activeElement.dispatchEvent(new Event('input'))")
    test.eq(len(rows(browser)), len(threads), "and shows all again")
    tab_to(test, browser, "e.textContent === 'Thread' && e.className === 'sort'", "and on to a header")
    browser.press("Enter")
    names = [row[2] for row in rows(browser)]
    test.eq(names, sorted(names), "Enter sorts by it")
    browser.press(" ")
    test.eq([row[2] for row in rows(browser)], sorted(names, reverse=True), "Space, the other way round")
    test.eq(browser.eval("document.activeElement.parentElement.ariaSort"), "descending",
            "and a screen reader is told")
    tab_to(test, browser, "e.textContent === 'Running'", "another header")
    browser.press("Enter")
    ran = {str(each["tid"]): each["ledger"]["user_ns"] + each["ledger"]["kernel_ns"] for each in threads}
    order = [row[1] for row in rows(browser)]
    test.eq([ran[tid] for tid in order], sorted(ran.values(), reverse=True), "numbers, the largest first")
    tab_to(test, browser, "e.classList.contains('open')", "a row")
    browser.press("Enter")
    thread = next(each for each in threads if str(each["tid"]) == order[0])
    counts = browser.eval("""Object.fromEntries(Array.from(document.querySelectorAll(".detail table"),
        (table) => [table.caption.textContent, table.tBodies[0].rows.length]))""")
    test.eq(counts.get("syscalls", 0), len(thread["syscalls"]), "opens: its system calls")
    test.eq(counts.get("ready by", 0), len(thread["ready_by"]), "and who had its CPU")
    tab_to(test, browser, "e.className === 'timeline'", "the timeline")
    for key in ("+", "ArrowRight", "ArrowDown", "ArrowDown", "Enter", "Home"):
        browser.press(key)
    told = browser.eval("document.querySelector('.timeline ~ .told').textContent")
    of = re.match(r"(.*)\[(\d+)\]: .+, [\d.]+ [a-z]+, at [\d.,]+ ms$", told)
    test.ok(of and any((each["name"], str(each["tid"])) == of.groups() for each in threads),
            "tells of its events", told)
    tab_to(test, browser, "e.className.startsWith('frame')", "a flame graph")
    browser.press("ArrowDown")
    level = browser.eval("document.activeElement.ariaLevel")
    browser.press("Enter")
    test.eq((level, browser.eval("document.activeElement.style.width")), ("2", "100%"),
            "one frame below, which Enter gives the whole width")
    browser.press("Escape")
    test.eq(browser.eval("document.activeElement.ariaLevel"), "1", "Escape shows all of it")
    quiet(test, browser, "all keys")


def case_damaged(test):
    """Data that cannot be read: the page says so, and shows the text."""
    folder, browser = capture(test), the_browser()
    page = (folder / "page.html").read_text()
    head, mark, tail = page.partition('class="record sample">\n')
    (folder / "page.html").write_text(head + mark + tail[:200] + "A" * 76 + tail[276:])
    show(browser, folder / "page.html")
    test.eq(len(texts(browser, "main [role=alert]")), 1, "it is said")
    test.ok("THREAD" in "".join(texts(browser, "main pre.text:not([hidden])")), "the text is there")
    (folder / "page.html").write_text(page[:page.index("<pre") + 5])
    browser.open(folder / "page.html")
    quiet(test, browser, "a page that was cut off")


def case_names(test):
    """What a screen reader needs: each control has a name, each table a caption and headers."""
    folder, browser = capture(test), the_browser()
    show(browser, folder / "page.html")
    nodes = browser.call("Accessibility.getFullAXTree")["nodes"]
    controls = [node for node in nodes if node.get("role", {}).get("value") in
                ("button", "checkbox", "combobox", "searchbox", "link", "application", "treeitem", "image")
                and not node.get("ignored")]
    unnamed = [node["role"]["value"] for node in controls if not node.get("name", {}).get("value")]
    test.ok(len(controls) > 30 and not unnamed, "each control has a name", len(controls), *unnamed[:5])
    bare = browser.eval("""Array.from(document.querySelectorAll("table"))
        .filter((table) => !table.caption || !table.querySelector("th[scope=col]")).length""")
    test.eq(bare, 0, "each table has a caption and headers")
    levels = [int(text) for text in browser.eval(
        "Array.from(document.querySelectorAll('h1, h2, h3'), (each) => each.tagName[1])")]
    test.ok(levels[0] == 1 and levels.count(1) == 1 and all(b - a <= 1 for a, b in zip(levels, levels[1:])),
            "headings are in order", levels)


# The contrast of each text with what is behind it, as WCAG 2.2 computes it: the least, and where.
CONTRAST = """(() => {
    const parts = (colour) => colour.match(/[0-9.]+/g).map(Number);
    const light = (colour) => parts(colour).slice(0, 3).map((each) => each / 255).map((each) =>
        each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4)
        .reduce((sum, each, i) => sum + each * [0.2126, 0.7152, 0.0722][i], 0);
    const behind = (element) => {
        for (; element; element = element.parentElement) {
            const colour = getComputedStyle(element).backgroundColor;
            if (parts(colour)[3] !== 0)
                return colour;
        }
    };
    return Array.from(document.querySelectorAll("body *")).filter((element) => element.checkVisibility() &&
        !/^(OPTION|SELECT|INPUT|BUTTON)$/.test(element.tagName) &&
        Array.from(element.childNodes).some((node) => node.nodeType === 3 && node.data.trim()))
        .map((element) => {
            const [a, b] = [getComputedStyle(element).color, behind(element)].map(light);
            return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05),
                    `${element.tagName}.${element.className}`];
        }).sort((a, b) => a[0] - b[0])[0];
})()"""
PAPER = "getComputedStyle(document.documentElement).backgroundColor"


def case_themes(test):
    """Light and dark, as the system has it and by a button; and on paper."""
    folder, browser = capture(test), the_browser()
    show(browser, folder / "page.html")
    browser.eval("document.querySelectorAll('button.open').forEach((button) => button.click())")
    papers = []
    for theme in ("light", "dark"):
        browser.call("Emulation.setEmulatedMedia",
                     features=[{"name": "prefers-color-scheme", "value": theme}])
        papers.append(browser.eval(PAPER))
        least, where = browser.eval(CONTRAST)
        test.ok(least >= 4.5, f"{theme}: all text can be read", least, where)
    test.ok(papers[0] != papers[1], "the page follows the system", *papers)
    browser.eval("document.querySelector('#theme').click()")
    test.eq(browser.eval(PAPER), papers[0], "the button changes it")
    browser.eval("addEventListener('beforeprint', () => { window.folded = "
                 "document.querySelectorAll('details:not([open])').length; })")
    browser.call("Emulation.setEmulatedMedia", features=[])
    folded = browser.eval("document.querySelectorAll('details:not([open])').length")
    pdf = base64.b64decode(browser.call("Page.printToPDF")["data"])
    test.ok(pdf.startswith(b"%PDF"), "it is printed", len(pdf))
    test.ok(folded and browser.eval("window.folded") == 0, "with all that was folded", folded)
    test.eq(browser.eval("document.querySelectorAll('details:not([open])').length"), folded,
            "which is folded again")
    browser.call("Emulation.setEmulatedMedia", media="print")
    test.eq(browser.eval("document.querySelector('nav').checkVisibility()"), False,
            "without what is of use on a screen only")
    browser.call("Emulation.setEmulatedMedia", media="")


def case_several(test):
    """Records follow one another in one page; --replay makes the same page; so does standard output."""
    load, folder, browser = test.workload("roles", "spin:0", "poll"), test.directory(), the_browser()
    done = test.program("-p", load.pid, "--sample-time", "20ms", "--sample-count", 3,
                        "-o", f"html:{folder}/live.html", "-o", f"json:{folder}/json")
    load.end()
    test.eq(done.status, 0, "three samples")
    done = test.program("--replay", folder / "json", "-o", f"html:{folder}/again.html")
    test.eq(done.status, 0, "replayed")
    test.ok((folder / "live.html").read_text() == (folder / "again.html").read_text(), "--replay: the same page")
    done = test.program("--replay", folder / "json", "-o", "html")
    test.ok(done.stdout == (folder / "live.html").read_text(), "on standard output, too")
    page, lines = records(folder / "live.html"), (folder / "json").read_text().splitlines()
    test.eq([json.loads(text) for text in of_kind(page, "record")], [json.loads(line) for line in lines],
            "all lines of the JSON")
    show(browser, folder / "live.html")
    test.eq(texts(browser, "#record option"), ["Sample 1", "Sample 2", "Sample 3", "All samples"], "a choice")
    summary = json.loads(lines[-1])
    for number in range(4):
        choose(browser, number)
        test.ok(texts(browser, "pre.text:not([hidden])") == of_kind(page, "text")[number:number + 1],
                f"record {number + 1}: its text alone")
    test.eq(browser.eval("document.querySelectorAll('#measures tbody tr').length"),
            len(summary["all"]["measures"]), "all samples: their measures")
    saved = browser.eval("""(async () => { let saved; const made = URL.createObjectURL;
        URL.createObjectURL = (blob) => { saved = blob; return made.call(URL, blob); };
        document.querySelector("#save").click();
        while (!saved) await new Promise((done) => setTimeout(done, 10));
        return saved.text(); })()""")
    test.eq([json.loads(line) for line in saved.splitlines()], [json.loads(line) for line in lines],
            "the button saves the JSON")
    quiet(test, browser, "several records")
    done = test.program("--replay", folder / "json", "--compare", folder / "json",
                        "-o", f"html:{folder}/compared.html")
    test.eq(done.status, 0, "compared with itself")
    kinds = [json.loads(text)["type"] for text in of_kind(records(folder / "compared.html"), "record")]
    test.eq(kinds, ["sample"] * 3 + ["summary", "comparison"], "the comparison is a record, too")
    show(browser, folder / "compared.html")
    choose(browser, 4)
    test.eq((len(texts(browser, "#differences")), texts(browser, "main [role=alert]")), (1, []),
            "which is shown")


def case_everything(test):
    """Records with all that there can be: each is shown, whole."""
    folder, browser = test.directory(), the_browser()
    lines = [line for path in sorted((kdtest.ROOT / "tests" / "golden").glob("json_*.txt"))
             for line in path.read_text().splitlines()
             if json.loads(line).get("type") in ("sample", "triggers")]
    (folder / "all.json").write_text("".join(line + "\n" for line in lines))
    done = test.program("--replay", folder / "all.json", "-o", f"html:{folder}/page.html")
    test.eq((done.status, done.stderr), (0, ""), "they are replayed")
    found = [json.loads(text) for text in of_kind(records(folder / "page.html"), "record")]
    test.ok({each["type"] for each in found} >= {"sample", "triggers", "summary"}, "of all types", len(found))
    show(browser, folder / "page.html")
    for number, each in enumerate(found):
        choose(browser, number)
        browser.eval("document.querySelectorAll('#thread-table .open').forEach((button) => button.click())")
        alerts = texts(browser, "main [role=alert]")
        test.ok(not alerts, f"record {number + 1}, {each['type']}: is shown whole", *alerts)
        if each["type"] == "sample":
            more = browser.eval("""(() => { const more = document.querySelector("#thread-table .more");
                more?.click(); return document.querySelectorAll(".details").length; })()""")
            test.ok(more == min(100, len(each["threads"])), "each thread opens", more)
            test.eq(len(rows(browser)), len(each["threads"]), "a row for each thread")
    quiet(test, browser, "all records")


def case_limit(test):
    """A file that is begun anew would be no page."""
    load, folder = test.workload("roles", "poll"), test.directory()
    args = ("-p", load.pid, "--sample-time", "20ms", "--sample-count", 3, "--output-limit", "1M")
    done = test.program(*args, "-o", f"html:{folder}/page.html")
    test.eq(done.status, 64, "one file cannot be limited")
    done = test.program(*args, "-o", f"html:{folder}/%n.html")
    test.eq((done.status, sorted(path.name for path in folder.iterdir())),
            (0, ["1.html", "2.html", "3.html"]), "a page for each sample can")
    test.eq([records(folder / f"{number}.html").tags.count("style") for number in (1, 2, 3)], [1] * 3,
            "each is a page")


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


kdtest.main(case_figures, case_flames, case_shorter, case_pixels, case_distributions, case_hostile,
            case_policy, case_keyboard, case_damaged, case_names, case_themes, case_several,
            case_everything, case_limit, case_size)
