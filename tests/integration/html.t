#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tests/run: needs build/asan/unit/test_text build/asan/unit/test_text_processes
# tests/run: needs build/asan/unit/test_text_traces
"""The page, as a browser sees it: the figures of the JSON, the sentences of the text, names of any
kind as text; no requests, no messages on the console; use by keyboard alone. What is drawn:
html-drawn.t."""

import base64
import copy
import json
import re

import kdtest
from kdformats import TEXT_TESTS, unit_reports
from kdpage import (PAPER, ROWS, capture, choose, of_kind, quiet, records, rows, show, texts,
                    the_browser)

MARKS = "\u202e\u2066\u200f"
HOSTILE = ["</script><script>document.title='hit'</script>", "<img src=x onerror=document.title='hit'>",
           "<!--<script>", "&lt;b&gt;&#x202e;", f"{MARKS}rtl", "\u2028\u2029\x01\x1b[31m", "a\\b",
           "${document.title='hit'}", "__proto__", "\u00e9\u4e2d\U0001f600", "]]></pre>"]


def escape(name):
    """A name as it appears in the text report."""
    letters = {"\t": "\\t", "\n": "\\n", "\r": "\\r", "\\": "\\\\"}
    hidden = set(MARKS + "\u2028\u2029")
    return "".join(letters.get(each) or (
        "".join(f"\\x{byte:02x}" for byte in each.encode())
        if each in hidden or ord(each) < 32 or 127 <= ord(each) < 160 else each) for each in name)


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
    blaming = [line for line in said if not re.search(" ran: user | unexplained: |^Nothing kept|^It had little", line)]
    test.eq((len(blaming), bool(said)), (len(sample["verdict"]), True), "a sentence for each who is blamed")
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


def case_distributions(test):
    """Percentiles of one thread match the JSON, if nothing is in flight at its end."""
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
    """Anything added to a page neither runs nor loads: the policy is enforced."""
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
    """Presses Tab until the focused element meets a condition."""
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


def case_themes(test):
    """Light and dark, chosen by the system or by a button; and on paper."""
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
    """Records follow one another in one page; --replay makes the same page, and so does standard
    output."""
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
    # There are more than are shown at once where the machine is busy.
    browser.eval("document.querySelector('#measures .more')?.click()")
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
    """Records with everything that there can be: each is shown, and completely."""
    folder, browser = test.directory(), the_browser()
    lines = [line for path in unit_reports(test, "json", *TEXT_TESTS)
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
    """limit= is refused for a single page, and accepted where each sample has its own."""
    load, folder = test.workload("roles", "poll"), test.directory()
    args = ("-p", load.pid, "--sample-time", "20ms", "--sample-count", 3)
    done = test.program(*args, "-o", f"html:{folder}/page.html,limit=1M")
    test.eq(done.status, 64, "one file cannot be limited")
    done = test.program(*args, "-o", f"html:{folder}/%n.html,limit=1M")
    test.eq((done.status, sorted(path.name for path in folder.iterdir())),
            (0, ["1.html", "2.html", "3.html"]), "a page for each sample can")
    test.eq([records(folder / f"{number}.html").tags.count("style") for number in (1, 2, 3)], [1] * 3,
            "each is a page")


kdtest.main(case_figures, case_distributions, case_hostile, case_policy, case_keyboard, case_damaged,
            case_names, case_themes, case_several, case_everything, case_limit)
