# SPDX-License-Identifier: Apache-2.0
"""A headless browser: Chromium, controlled by its DevTools protocol over a pipe. It records
everything that a page reports or requests."""

import base64
import contextlib
import json
import os
import subprocess
import tempfile
import time

import kdneeds
from kdtest import PATIENCE

PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "headless_shell")
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--disable-extensions", "--hide-scrollbars", "--remote-debugging-pipe")
KEYS = {"Enter": (13, "\r"), " ": (32, " "), "Tab": (9, ""), "Escape": (27, ""), "Home": (36, ""),
        "ArrowLeft": (37, ""), "ArrowUp": (38, ""), "ArrowRight": (39, ""), "ArrowDown": (40, ""),
        "+": (187, "+"), "-": (189, "-")}


class Browser:
    """One page of one browser; end() closes it. said has the messages of the console, the policy
    and uncaught exceptions; asked has the addresses of all requests except the page's own."""

    def __init__(self, width=1280, height=900):
        program = kdneeds.tool(*PROGRAMS)
        self.directory = tempfile.TemporaryDirectory(prefix="kd-browser-", ignore_cleanup_errors=True)
        theirs_in, self.commands = os.pipe()
        self.answers, theirs_out = os.pipe()

        def wire():
            """The protocol uses descriptors 3 and 4."""
            at = os.dup(theirs_in), os.dup(theirs_out)
            os.dup2(os.dup(at[0]), 3)
            os.dup2(os.dup(at[1]), 4)

        self.process = subprocess.Popen(  # pylint: disable=subprocess-popen-preexec-fn
            [program, *FLAGS, f"--user-data-dir={self.directory.name}", f"--window-size={width},{height}",
             "about:blank"], preexec_fn=wire, pass_fds=(3, 4), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(theirs_in)
        os.close(theirs_out)
        self.number, self.rest, self.session = 0, b"", None
        self.said, self.asked, self.events = [], [], []
        target = next(each for each in self.call("Target.getTargets")["targetInfos"]
                      if each["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"],
                                 flatten=True)["sessionId"]
        # Not Accessibility, which would keep a tree of its own up to date; it can be asked without.
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def end(self):
        self.session = None
        with contextlib.suppress(OSError, EOFError):
            self.call("Browser.close")
            self.process.wait(PATIENCE)
        self.process.kill()
        self.process.wait()
        self.directory.cleanup()
        os.close(self.commands)
        os.close(self.answers)

    def message(self):
        while b"\0" not in self.rest:
            more = os.read(self.answers, 1 << 20)
            if not more:
                raise EOFError("the browser has gone")
            self.rest += more
        text, _, self.rest = self.rest.partition(b"\0")
        return json.loads(text)

    def take(self, event):
        method, of = event["method"], event["params"]
        self.events.append(method)
        if method == "Runtime.consoleAPICalled":
            self.said.append(json.dumps(of["args"]))
        elif method == "Runtime.exceptionThrown":
            self.said.append(json.dumps(of["exceptionDetails"]))
        elif method == "Log.entryAdded":
            self.said.append(of["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.asked.append(of["request"]["url"])

    def call(self, method, **params):
        self.number += 1
        request = {"id": self.number, "method": method, "params": params}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.commands, json.dumps(request).encode() + b"\0")
        while True:
            answer = self.message()
            if "method" in answer:
                self.take(answer)
            elif answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def open(self, path, scripts=True):
        """Opens a file, and returns the seconds that this took."""
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.said.clear()
        self.asked.clear()
        self.events.clear()
        start = time.monotonic()
        self.eval("window.isLeft = true")
        self.call("Page.navigate", url=path.as_uri())
        # The event may be of the document that is left.
        while "Page.loadEventFired" not in self.events or not self.has_arrived():
            if time.monotonic() > start + PATIENCE:
                raise TimeoutError(f"{path} did not load")
            if "Page.loadEventFired" not in self.events:
                answer = self.message()
                if "method" in answer:
                    self.take(answer)
        self.asked.remove(path.as_uri())
        return time.monotonic() - start

    def has_arrived(self):
        """Whether a new document has been loaded completely."""
        try:
            return self.eval("!window.isLeft && document.readyState === 'complete'")
        except RuntimeError:  # between the two there is none
            return False

    def eval(self, expression):
        """The value of an expression in the page, transferred as JSON."""
        done = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                         awaitPromise=True, allowUnsafeEvalBlockedByCSP=False)
        if "exceptionDetails" in done:
            raise RuntimeError(json.dumps(done["exceptionDetails"])[:2000])
        return done["result"].get("value")

    def press(self, key, shift=False):
        code, text = KEYS.get(key, (ord(key.upper()[0]), key))
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code,
                      modifiers=8 if shift else 0, **({"text": text} if text and kind == "keyDown" else {}))

    def type(self, text):
        self.call("Input.insertText", text=text)

    def box(self, selector):
        """The place of the first element that matches: left, top, width, height."""
        return self.eval(f"""(() => {{
            const box = document.querySelector({json.dumps(selector)}).getBoundingClientRect();
            return [box.left + scrollX, box.top + scrollY, box.width, box.height]; }})()""")

    def screenshot(self, box=None):
        """PNG of a part of the page, or of the visible screen, for documents. It is taken when two
        in a row are equal, since a part that has just come into view may not be painted yet, and is
        white. Tests ask the page itself, see kdpage.picture()."""
        clip = dict(zip(("x", "y", "width", "height"), box), scale=1) if box else None
        last, data = None, ""
        while data != last or not data:
            last, data = data, self.call("Page.captureScreenshot", captureBeyondViewport=bool(box),
                                         **({"clip": clip} if box else {}))["data"]
        return base64.b64decode(data)
