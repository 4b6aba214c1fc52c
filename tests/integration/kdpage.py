# SPDX-License-Identifier: Apache-2.0
"""What tests of the page share: a capture as a page, what a parser finds in it, and a browser."""

import atexit
import base64
import functools
import gzip
import html.parser
import json
import pathlib
import re
import shutil
import tempfile

import kdbrowser
import kdpng
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
    """Opens a page, and waits until it is complete and drawn: before that a browser ignores keys."""
    browser.open(path)
    kdtest.wait_until(lambda: browser.eval("document.querySelector('main')?.ariaBusy === 'false'"))
    browser.eval(FRAMES)


def lay_out(browser):
    """Lays out parts that are off the screen, too: a timeline is drawn once its place is known."""
    browser.eval("""document.querySelectorAll("section").forEach(
        (section) => { section.style.contentVisibility = "visible"; })""")
    browser.eval(FRAMES)


# A screenshot shows what has been painted by then, which beside load may not be all of it. So the
# boxes of an element are filled with their colours here, as a browser does it, and what the page
# itself has drawn on a canvas is copied.
PICTURE = """((whole) => {
    const place = whole.getBoundingClientRect(), canvas = document.createElement("canvas");
    const pen = canvas.getContext("2d");
    const at = (box) => [box.left - place.left, box.top - place.top, box.right - place.left,
                         box.bottom - place.top].map(Math.round);
    const fill = (colour, [left, top, right, bottom]) => {
        pen.fillStyle = colour;
        pen.fillRect(left, top, right - left, bottom - top);
    };

    [, , canvas.width, canvas.height] = at(place);
    fill(PAPER, at(place));
    for (const each of [whole, ...whole.querySelectorAll("*")]) {
        fill(getComputedStyle(each).backgroundColor, at(each.getBoundingClientRect()));
        if (each.matches("canvas"))
            pen.drawImage(each, ...at(each.getBoundingClientRect()).slice(0, 2));
    }
    return canvas.toDataURL("image/png").split(",")[1];
})(document.querySelector(SELECTOR))""".replace("PAPER", PAPER)


def picture(browser, selector):
    """The pixels of the first matching element, line by line, without its texts and borders."""
    return kdpng.decode(base64.b64decode(browser.eval(
        PICTURE.replace("SELECTOR", json.dumps(selector)))))


def backgrounds(browser, selector):
    """The background colour of each matching element."""
    return [tuple(map(int, re.findall(r"\d+", colour))) for colour in browser.eval(
        f"Array.from(document.querySelectorAll({json.dumps(selector)}), "
        "(each) => getComputedStyle(each).backgroundColor)")]


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
    """The JSON and text in the page, extracted by a parser other than the browser's."""
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
    """The texts of the elements of a kind; data is decompressed."""
    found = [text for each, text in page.found if each == kind]
    if kind == "text":
        return [text.removeprefix("\n") for text in found]  # as browsers do with one of <pre>
    return [gzip.decompress(base64.b64decode(text)).decode() for text in found]


@functools.cache
def the_browser(width=1280):
    """One browser for all cases: starting one takes a second."""
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
    folder of the case's own. All cases share the capture."""
    folder = kept_folder()
    if not (folder / "page.html").exists():
        captured(test, folder)
    return shutil.copytree(folder, test.directory() / "capture")
