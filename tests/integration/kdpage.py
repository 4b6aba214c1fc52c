# SPDX-License-Identifier: Apache-2.0
"""What tests of the page share: a capture as a page, what a parser finds in it, and a browser."""

import atexit
import base64
import functools
import gzip
import html.parser
import json
import pathlib
import shutil
import tempfile

import kdbrowser
import kdtest

TEXTS = "Array.from(document.querySelectorAll({}), (each) => each.textContent)"
ROWS = "#thread-table > table > tbody > tr:not(.detail)"
DATA = {"record", "reading", "recorded", "words", "text"}
PAPER = "getComputedStyle(document.documentElement).backgroundColor"


def texts(browser, selector):
    return browser.eval(TEXTS.format(json.dumps(selector)))


# Two frames: the second begins when the first one has been drawn.
FRAMES = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))"


def show(browser, path):
    """Opens a page; it is complete, and was drawn: before that a browser ignores keys."""
    browser.open(path)
    kdtest.wait_until(lambda: browser.eval("document.querySelector('main')?.ariaBusy === 'false'"))
    browser.eval(FRAMES)


def lay_out(browser):
    """Also what is not on the screen: nothing moves any more when it comes there. The window becomes
    so high that timelines, which take most of it at most, need not be scrolled."""
    width, height = browser.eval("""(() => {
        for (const section of document.querySelectorAll("section"))
            section.style.contentVisibility = "visible";
        const heights = Array.from(document.querySelectorAll(".timeline canvas"),
                                   (canvas) => canvas.clientHeight);
        return [innerWidth, Math.max(innerHeight, ...heights.map((height) => 2 * height))]; })()""")
    browser.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                 deviceScaleFactor=1, mobile=False)
    browser.eval(FRAMES)


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
            self.into = kind and next(iter({*kind.split()} & DATA), None)
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


@functools.cache
def the_browser(width=1280):
    """One for all cases: to begin takes a second."""
    browser = kdbrowser.Browser(width)
    atexit.register(browser.end)
    return browser


def quiet(test, browser, what):
    test.eq(browser.said, [], f"{what}: nothing is said on the console")
    test.eq(browser.asked, [], f"{what}: nothing is asked for")


PAGE_ROWS = 1500  # of each list are in a page, see HTML_ROWS
TRIES = 5
ALL = ("--histogram", "-s", "100us", "--off-cpu=10us", "--wait-filter=*", "--profile=999",
       "--interruptions")


@functools.cache
def kept_folder():
    kept = tempfile.TemporaryDirectory(prefix="kd-page-")
    atexit.register(kept.cleanup)
    return pathlib.Path(kept.name)


def captured(test, folder):
    load = test.workload("roles", "spin:0", "fifo:0:3:30", "poll", "convoy:0:200:100")
    for _ in range(TRIES):
        done = test.program("-p", load.pid, "--sample-time", "100ms", *ALL, "-o",
                            f"html:{folder}/page.html", "-o", f"json:{folder}/json",
                            "-o", f"text:{folder}/text,top=10")
        if len(json.loads((folder / "json").read_text())["interruptions"]) <= PAGE_ROWS:
            break  # it did not last much longer
    load.end()  # it computes, and the browser has a lot to do
    test.eq((done.status, done.stderr), (0, ""), "a capture")


def capture(test):
    """A process whose threads compute, wait for a CPU and sleep: its page, JSON and text, in a
    folder of the case's own. All cases have the same."""
    folder = kept_folder()
    if not (folder / "page.html").exists():
        captured(test, folder)
    return shutil.copytree(folder, test.directory() / "capture")
