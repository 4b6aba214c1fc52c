# SPDX-License-Identifier: Apache-2.0
"""The text report of kernel_delay as objects.

The parser is strict: a line that has no place in the grammar raises
ReportError, so every test that reads a report tests the layout too."""

import datetime
import functools
import json
import os
import pathlib
import re
import subprocess

import kdculprits
import kddescriptors

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("WORKLOADS", ROOT / "build" / "workloads")).parent
STATES = ("running user", "running kernel", "page faults", "reclaim", "running guest",
          "hard irq", "soft irq", "stolen by hypervisor", "ready after wakeup", "ready after preemption", "throttled",
          "blocked interruptible", "blocked uninterruptible", "stopped", "frozen")
RUNNING = STATES[:7]
INDENT = " " * 28
AT = re.compile(r"(?<=MAX|EST) AT\b")  # in titles, of when the longest began



def listed(fields):
    """The sections of lists, taken from the program's tables."""
    found = {}
    for field in fields:
        if "columns" in field:
            found[field["title"].strip("[]")] = AT.sub("_AT", " ".join(field["columns"]).replace(" ns", ""))
        found.update(listed(field.get("fields", [])))
    return found


# Section -> titles of its columns, as they stand in the line below its name.
# Sections whose first column is NAME have one row per name and maybe a total.
OTHER_SECTIONS = {
    "SYSCALL STATISTICS": "NAME NUMBER COUNT TOTAL MAX MAX_AT",
    "LONG POLL STATISTICS": "COUNT AVERAGE MIN MAX MAX_AT",
    "THREAD RUN STATISTICS": "SCHED_CNT TOTAL MIN MAX MAX_AT",
    "THREAD READY STATISTICS": "SCHED_CNT TOTAL MAX MAX_AT",
    "THREAD BLOCKED STATISTICS": "FOR COUNT TOTAL MAX MAX_AT",
    "THREAD I/O STATISTICS": "FOR CALLS BYTES BYTES/S BYTES/CALL",
    "THREAD COUNTERS": "EVENT COUNT COUNTED %",
    "THREAD STOPPED STATISTICS": "STOP_CNT TOTAL MAX MAX_AT",
    "TIME-OUTS": "COUNT REQUESTED OVERSLEPT MAX SLACK MAX_AT",
    "INTERRUPTIONS": "BY COUNT TOTAL MAX P50 P99 MAX_AT",
    "READY: WHO HAD THE CPU": "NAME TID PID CLASS AFTER WAKEUP PREEMPTED LONGEST % LONGEST_AT",
    "THREAD TIME": "STATE TOTAL %",
    "THREAD SWITCHES": "VOLUNTARY INVOLUNTARY MIGRATIONS CPUS",
    "MIGRATIONS": "WAKEUP BALANCE AFFINITY OTHER",
    "PAGE FAULTS": "MINOR MAJOR",
    "IN FLIGHT": "NAME NUMBER INSIDE EDGE BEFORE START LONGEST AT END",
    "DISTRIBUTIONS": "OF COUNT P50 P90 P99 P99.9 MAX",
}


@functools.cache
def sections():
    """All sections, including lists. The program that prints them is built before the tests run,
    but not for every importer of this module."""
    said = subprocess.run([BUILD / "lint" / "fields"], check=True, capture_output=True)
    return {**OTHER_SECTIONS, **listed(json.loads(said.stdout)["sample"])}


# An edge made by a probe has its time; the last line of a window says how long it was
# if a probe ended it.
STAMP = re.compile(r"# (?:(?P<what>Start sampling|Stop sampling|Sample dump)"
                   r"(?: \(trigger@(?P<edge>\d+)\))?|"
                   r"Triggered sample dump, stop-start delta (?P<delta>[\d,]+) ns|"
                   r"Sample dump skipped, delta (?P<skipped>[\d,]+) ns) "
                   r"@(?P<wall>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}) "
                   r"\(\d\d:\d\d:\d\d UTC\)$")
THREAD = re.compile(r"(?P<who>[ \d,]{10}|[ \d,]{9}x) (?P<name>.{16,}) \[SYSCALL STATISTICS\]$")
SILENT = re.compile(r"(?P<who>[ \d,]{10}|[ \d,]{9}x) (?P<name>.{16,}?) +\[THREAD TIME\] "
                    r"(?P<state>[a-z ]+) (?P<ns>[\d,]+) ns +(?P<percent>[\d.]+) %, "
                    r"no event in the window(?:, in (?P<call>.+))?$")
# Of several processes: what is above the threads of one, and a line of their sums.
PROCESS = re.compile(r"PROCESS (?P<who>\d+|[\d,]+x|\?) (?P<title>.+)$")
SUMS = re.compile(r" *(?P<who>\d+|[\d,]+x) +(?P<threads>\d+)(?: +[\d.]+ (?:ns|us|ms|s|min|h)){5} "
                  r"+[\d.<]+ ?%  (?P<title>.+)$")
FLIGHT = re.compile(r"(?P<name>.+?) +(?P<number>-?\d+|-) +(?P<inside>[\d,]+)  +"
                    r"(?P<edge>start|end|both) +(?P<before>[\d,]+|-|unknown)  +"
                    r"(?P<longest>[\d,]+)  "
                    r"(?P<end>returned|ended|still open)(?:, (?P<count>[\d,]+) (?:calls|of them))?$")
PERIODS = ("ready", "running", "stopped", "poll round")  # in flight, in parentheses
LOCK = re.compile(r"(?:(?P<lock>0x[0-9a-f]+|others|all below .*?) +(?P<kind>[a-z_]+|-) +(?P<holder>\d+ .{16}|-) +"
                  r"(?P<count>\d+)  +(?P<total>[\d,]+)  +(?P<max>[\d,]+)  +(?P<max_at>[\d:.]+|-)  (?:\d+ .*|-)|"
                  r"    is (?P<place>.*)|"
                  r"    longest wait in (?P<caller>.*)|"
                  r"    held by process (?P<process>\d+), .*|"
                  r"    meanwhile .* ran (?P<ran>[\d.]+) %, was ready without a CPU [\d.]+ %, slept "
                  r"(?P<slept>[\d.]+) %(?:, last in .+?)?(?:; [\d,]+ ended by others .*)?)$")
TIME = re.compile(r"(?P<label>[A-Za-z' ]+?) +(?P<ns>-?[\d,]+|unknown)"
                  r"(?: +(?P<percent>-?[\d.]+))?$")
DRAWING = re.compile(r"(?P<name>.{20}) {16}ns {6}COUNT  DISTRIBUTION$")
BAR = re.compile(r" *(?P<low>[\d,]+) -> +(?P<high>[\d,]+)  +(?P<count>\d+)  "
                 r"\|(?P<stars>(?=.{40}\|$)\** *)\|$")
NOTICE = re.compile(r"# (WARNING|NOTE): .+\.?$")


class ReportError(Exception):
    pass


def number(text):
    return int(text.replace(",", ""))


def clock(text):
    """A time of day as text; None: unknown."""
    if text != "-" and not re.fullmatch(r"\d\d:\d\d:\d\d\.\d{6}", text):
        raise ReportError("not a time of day")
    return None if text == "-" else text


class Row(dict):
    """The columns of one row by lower-case title, also as attributes."""

    __getattr__ = dict.__getitem__


class Thread:
    def __init__(self, who, name):
        self.process = None  # the PID, if the report is of several
        self.tid = None if who.endswith("x") else number(who)
        self.members = number(who[:-1]) if who.endswith("x") else 1
        self.name = name
        self.ended = False
        self.silent = False
        self.calls, self.hardirqs, self.softirqs = {}, {}, {}
        self.blocked, self.locks, self.descriptors = {}, [], []  # by what it waited for
        self.chains = []
        self.stops = {}  # by whom
        self.movers = {}  # by whom
        self.counters = {}  # of events and ratios, by their text
        self.io, self.blocks = {}, {}  # by kind of descriptor, or disk, and what was done
        self.interruptions = {}  # by cause
        self.distributions, self.drawings = {}, []
        self.totals = {}          # section -> Row of its TOTAL line
        self.tables = {}          # section without names -> Row
        self.ns = dict.fromkeys(STATES, 0)
        self.percent = dict.fromkeys(STATES, 0.0)
        self.books = {}           # SUM, RUNNING, KERNEL'S COUNT, RESIDUAL -> ns or None
        self.flights = []         # system calls that cross an edge
        self.periods = []         # and what else does
        self.cpus = set()
        self.culprits = kdculprits.Culprits()  # who had the CPU
        self.silent_call = None

    def count(self, call):
        return self.calls[call].count if call in self.calls else 0

    @property
    def life(self):
        return self.books["SUM"]

    @property
    def running(self):
        return sum(self.ns[state] for state in RUNNING)

    def __repr__(self):
        return f"{self.members}x {self.name} (TID {self.tid}{', ended' if self.ended else ''})"


class Report:
    def __init__(self):
        self.stamps, self.threads, self.notices = {}, [], []
        self.processes = []                 # what stands in their lines, the rest's too
        self.start, self.stop = None, None  # times of CLOCK_MONOTONIC, of edges made by probes
        self.delta = None                   # ns, of windows that a probe ended
        self.skipped = False                # too short: there is nothing but its edges

    @property
    def window(self):
        """Length of the window in ns; if it is not given, by the wall clock at its edges."""
        if self.delta is not None:
            return self.delta
        length = self.stamps["Stop sampling"] - self.stamps["Start sampling"]
        return round(length.total_seconds() * 1e6) * 1000

    def noted(self, of, before=""):
        """The number before these words in a note; 0 if there is no such note."""
        found = re.search(rf"# NOTE: {before}([\d,]+) {of}", "\n".join(self.notices))
        return number(found[1]) if found else 0

    @property
    def unreported(self):
        """The number of switches that were only found by their effects, to within some 10 us."""
        return self.noted("switch(es)? (was|were) not reported")

    @property
    def entry(self):
        """ns per system call that are moved from user to kernel."""
        return self.noted("ns of each system call")

    @property
    def irq_entry(self):
        """ns per hard interrupt that are moved to it from the state that it hit."""
        return self.noted("ns of each interrupt count")

    def irq_entries(self, thread):
        """All ns that are so moved for a thread's hard interrupts."""
        return self.irq_entry * sum(row.count for row in thread.hardirqs.values())

    @property
    def fault_entry(self):
        """ns per page fault that are moved to it from user."""
        return self.noted("ns of each page fault")

    @property
    def untimed(self):
        """ns during which page faults were not timed."""
        return self.noted("ns of the sample page faults", "For ")

    @property
    def warnings(self):
        return [line for line in self.notices if line.startswith("# WARNING")]

    def thread(self, tid, ended=False):
        found = [thread for thread in self.threads if thread.tid == tid and thread.ended == ended]
        if len(found) != 1:
            raise ReportError(f"{len(found)} rows for TID {tid}; there are {self.threads}")
        return found[0]

    def named(self, name):
        return [thread for thread in self.threads if thread.name == name]

    def total(self, call, threads=None):
        return sum(thread.count(call) for thread in (self.threads if threads is None else threads))


class Parser:
    """One pass over the lines; the state is the section that a line belongs to."""

    def __init__(self, text):
        self.reports, self.thread, self.section, self.columns = [], None, None, None
        self.skipped, self.statistics = [], []
        self.summary = []  # lines of the section after several samples
        self.listing = False  # inside the list of interruptions and the like, or the path
        self.summing = False  # inside the list of processes
        self.process = None
        for where, line in enumerate(text.split("\n"), 1):
            try:
                self.line(line)
            except ReportError as error:
                raise ReportError(f"line {where}: {error}: {line!r}") from None

    @property
    def report(self):
        if not self.reports:
            raise ReportError("before the first sample")
        return self.reports[-1]

    def line(self, line):
        if self.statistics or line == "# TRIGGER STATISTICS:":
            self.statistics.append(line)
        elif self.summary or line.startswith(("# Summary of ", "# Comparison of ")):
            self.summary.append(line)
        elif not line:
            self.section, self.listing, self.summing = None, False, False
        elif self.listing or line.startswith(("# INTERRUPTIONS of at least ", "# RESOURCES",
                                              "# SOFT IRQ DELAYS, ", "RECORDED ",
                                              "CRITICAL PATH of ")):
            self.listing = True
        elif self.summing or line == "# PROCESSES, sums over their threads:":
            self.sums(line)
        elif line.startswith("PROCESS "):
            match = PROCESS.match(line)
            if not match:
                raise ReportError("not the line of a process")
            self.process = int(match["who"]) if match["who"].isdigit() else match["who"]
        elif line.startswith(INDENT):
            self.data(line[len(INDENT):])
        elif line.startswith("#"):
            self.comment(line)
        elif line.startswith(("TID ", "----")):
            if not re.fullmatch(r"TID {8}THREAD {11}<RESOURCE SPECIFIC>|-{10} -{16} -{76}", line):
                raise ReportError("not the table's head")
        else:
            self.head(line)

    def sums(self, line):
        match = SUMS.match(line)
        if match:
            self.report.processes.append(Row(match.groupdict()))
        elif self.summing and not line.startswith("       PID THREADS   RUNNING"):
            raise ReportError("not a line of a process")
        self.summing = True

    def comment(self, line):
        stamp = STAMP.match(line)
        if stamp:
            self.stamp(stamp)
        elif line.startswith("# Triggers:"):
            pass
        elif NOTICE.match(line):
            self.report.notices.append(line)
        else:
            raise ReportError("unknown comment")

    def stamp(self, stamp):
        what = stamp["what"] or "Sample dump"
        if what == "Start sampling":
            self.reports.append(Report())
            self.process = None
        elif what in self.report.stamps:
            raise ReportError("second line of the kind for one window")
        report = self.report
        report.stamps[what] = datetime.datetime.fromisoformat(stamp["wall"])
        if stamp["edge"] and what == "Sample dump":
            raise ReportError("a dump is no edge")
        if stamp["edge"]:
            setattr(report, "start" if what == "Start sampling" else "stop", int(stamp["edge"]))
        length = stamp["delta"] or stamp["skipped"]
        if length:
            report.delta = number(length)
            if report.stop is None or report.start and report.stop - report.start != report.delta:
                raise ReportError("not the time between the edges")
        if stamp["skipped"]:
            report.skipped = True
            self.skipped.append(self.reports.pop())

    def head(self, line):
        silent = SILENT.match(line)
        match = silent or THREAD.match(line)
        if not match:
            raise ReportError("not the first line of a thread")
        self.thread = Thread(match["who"].strip(), match["name"].rstrip())
        self.thread.process = self.process
        self.report.threads.append(self.thread)
        self.section, self.columns = (None, None) if silent else ("SYSCALL STATISTICS", None)
        if silent:
            if match["state"] not in STATES:
                raise ReportError("unknown state")
            self.thread.silent, self.thread.silent_call = True, match["call"]
            self.thread.ns[match["state"]] = number(match["ns"])
            self.thread.percent[match["state"]] = float(match["percent"])
            self.thread.books["SUM"] = number(match["ns"])

    def data(self, text):
        if self.thread is None:
            raise ReportError("outside of a thread")
        title, drawing = re.fullmatch(r"\[([A-Z/: -]+)\]", text), DRAWING.match(text)
        if drawing and not self.section:
            self.section = "DRAWING"
            self.thread.drawings.append((drawing["name"].rstrip(), []))
        elif title:
            if title[1] not in sections() or self.section:
                raise ReportError("section unknown or not set off by an empty line")
            self.section, self.columns = title[1], None
        elif not self.section:
            raise ReportError("outside of a section")
        elif text.startswith("(") and self.section == "THREAD TIME" and not self.columns:
            match = re.fullmatch(r"\((?:([\d,]+) threads, )?ended during the sample\)", text)
            if not match or number(match[1] or "1") != self.thread.members:
                raise ReportError("not the remark on ended threads")
            self.thread.ended = True
        elif self.section == "DRAWING":
            self.bar(text)
        elif not self.columns:
            self.columns = AT.sub("_AT", re.sub(r" ns\b", "", text)).split()
            if " ".join(self.columns) != sections()[self.section]:
                raise ReportError("not the columns of " + self.section)
        elif self.section == "READY: WHO HAD THE CPU":
            self.thread.culprits.append(kdculprits.row(text, ReportError))
        elif self.section == "THREAD SLEEP STATISTICS":
            self.thread.descriptors.append(Row(kddescriptors.row(text, ReportError)))
        elif self.section == "THREAD CHAINS":
            if not re.fullmatch(r"sleeps of [\d,]+ ns were followed, of [\d,]+ ns asleep", text):
                self.thread.chains.append(Row(kddescriptors.chain(text, ReportError)))
        else:
            {"THREAD TIME": self.time, "THREAD SWITCHES": self.switches, "IN FLIGHT": self.flight,
             "THREAD LOCK STATISTICS": self.lock, "THREAD COUNTERS": self.counter}.get(self.section, self.row)(text)

    def row(self, text):
        titles = [column.lower() for column in self.columns]
        named = titles[0] in ("name", "of", "for", "by")
        numbers = titles[1:] if named else titles
        total = re.match(r"TOTAL(?:\( - poll\))?: ", text)
        if total:
            numbers = [title for title in ("count", "total", "max") if title in titles][:2]
        # What is still open is marked.
        open_max = self.section == "DISTRIBUTIONS" and text.endswith("+")
        text = text.removesuffix(" began before").removesuffix(" so far")
        text = text[:-1] if open_max else text
        fields = text.rsplit(None, len(numbers)) if named else text.split()
        if len(fields) != len(numbers) + named:
            raise ReportError("wrong number of columns")
        try:
            row = Row((title, clock(field) if title == "max_at" else number(field))
                      for title, field in zip(numbers, fields[int(named):]))
        except ValueError:
            raise ReportError("not a number") from None
        if self.section == "DISTRIBUTIONS":
            row["open_max"] = open_max
        if total:
            self.thread.totals[self.section] = row
        elif named:
            self.name_table()[self.key(fields[0].strip(), row)] = row
        else:
            self.thread.tables[self.section] = row

    def name_table(self):
        return {"SYSCALL STATISTICS": self.thread.calls,
                "HARD IRQ STATISTICS": self.thread.hardirqs,
                "SOFT IRQ STATISTICS": self.thread.softirqs,
                "THREAD BLOCKED STATISTICS": self.thread.blocked,
                "STOPPED: BY WHOM": self.thread.stops,
                "AFFINITY SET: BY WHOM": self.thread.movers,
                "THREAD I/O STATISTICS": self.thread.io,
                "THREAD BLOCK I/O STATISTICS": self.thread.blocks,
                "INTERRUPTIONS": self.thread.interruptions,
                "DISTRIBUTIONS": self.thread.distributions}[self.section]

    def key(self, name, row):
        """The name, with a number if two long names were cut to the same text."""
        table = self.name_table()
        if name in table and row.get("number") == table[name].get("number"):
            raise ReportError("second row of one name")
        return f"{name}#{row.number}" if name in table else name

    def lock(self, text):
        match, locks = LOCK.match(text), self.thread.locks
        if match and match["lock"]:
            locks.append(Row({key: number(text) if key in ("count", "total", "max") else text
                              for key, text in match.groupdict().items()}))
        elif match and locks and match["place"] and not locks[-1].place:
            locks[-1].update(place=match["place"])
        elif match and locks and match["caller"] and not locks[-1].caller:
            locks[-1].update(caller=match["caller"])
        elif match and locks and locks[-1].holder != "-" and match["process"]:
            locks[-1].update(process=int(match["process"]))
        elif match and locks and locks[-1].holder != "-" and not locks[-1].slept:
            locks[-1].update(ran=float(match["ran"]), slept=float(match["slept"]))
        else:
            raise ReportError("not a line of a lock")

    def counter(self, text):
        match = re.fullmatch(r"(?P<name>\S.*?)  +(?P<count>[\d,.]+)(?:  +[\d.]+)?", text)
        if not match or match["name"] in self.thread.counters:
            raise ReportError("not a line of an event")
        self.thread.counters[match["name"]] = float(match["count"].replace(",", ""))

    def bar(self, text):
        match = BAR.match(text)
        if not match:
            raise ReportError("not a line of a drawing")
        low, high = number(match["low"]), number(match["high"])
        bars = self.thread.drawings[-1][1]
        if high != max(2 * low, 2) - 1 or low and low & (low - 1):
            raise ReportError("not from one power of two to the next")
        if bars and low != bars[-1].high + 1:
            raise ReportError("does not follow the line before")
        bars.append(Row(low=low, high=high, count=int(match["count"]),
                        stars=len(match["stars"].rstrip())))

    def time(self, text):
        match = TIME.match(text)
        if not match:
            raise ReportError("not a line of the ledger")
        value = None if match["ns"] == "unknown" else number(match["ns"])
        if match["label"] in STATES:
            self.thread.ns[match["label"]] = value
            self.thread.percent[match["label"]] = float(match["percent"])
        elif match["label"] in ("SUM", "RUNNING", "KERNEL'S COUNT", "RESIDUAL"):
            self.thread.books[match["label"]] = value
        else:
            raise ReportError("unknown state")

    def switches(self, text):
        match = re.fullmatch(r" *([\d,]+) +([\d,]+) +([\d,]+)  +([-\d,+]+)", text)
        if not match:
            raise ReportError("not a line of switches")
        self.thread.tables[self.section] = Row(voluntary=number(match[1]),
                                               involuntary=number(match[2]),
                                               migrations=number(match[3]))
        for part in match[4].rstrip("+").split(","):
            if part.strip("-"):
                low, _, high = part.partition("-")
                self.thread.cpus.update(range(int(low), int(high or low) + 1))

    def flight(self, text):
        match = FLIGHT.match(text)
        if not match:
            raise ReportError("not a call in flight")
        before, name = match["before"], match["name"]
        is_period = name.startswith("(")
        if is_period and name[1:-1] not in PERIODS:
            raise ReportError("not a period")
        (self.thread.periods if is_period else self.thread.flights).append(Row(
            name=name.strip("()"), longest=number(match["longest"]), inside=number(match["inside"]), edge=match["edge"],
            before=number(before) if before[0].isdigit() else before, end=match["end"],
            count=number(match["count"] or "1")))


def parse(text):
    """All reports of one run, in order."""
    return Parser(text).reports


class Run:
    """What one run with triggers printed."""

    def __init__(self, text):
        parser = Parser(text)
        self.reports, self.skipped = parser.reports, parser.skipped
        self.triggers = Triggers(parser.statistics)


class Triggers:
    """What a run says of its triggers after the last report: the lines from
    "# TRIGGER STATISTICS:" on."""

    def __init__(self, lines):
        self.roles = {}          # start, stop -> Row of the counts
        self.names = {}          # and the trigger as it was given
        self.durations = Row(count=0)
        self.nested, self.n_nested, self.unlisted = [], 0, 0
        self.armed = None        # (from, to): when hits were looked at
        self.cost = None         # (ns in all, ns per hit)
        self.payer = None        # the thread that lost most: (TID, name, ns, its CPU time)
        self.duty = Row(off=0, phases=0, seen=100.0, dropped=0)
        self.outside = 0         # hits by other processes that do not count
        self.conditions = {}     # start, stop -> (false, unread)
        self.warnings = []
        section, titles = None, None
        for line in lines:
            if line.startswith("# "):
                section, titles = self.head(line) or section, None
            elif line and not titles:
                titles = line.replace("(ns)", "").replace(" ns", "").lower().split()
            elif line:
                self.row(section, titles, line)

    def head(self, line):
        match = re.fullmatch(r"# (?:(TRIGGER STATISTICS):|(WINDOW DURATIONS) \(.*\):|"
                             r"(NESTED LONG) \(.*\): ([\d,]+)|WARNING: (.+)|NOTE: (.+))", line)
        if not match:
            raise ReportError(f"unknown head: {line!r}")
        if match[4]:
            self.n_nested = number(match[4])
        if match[5] or match[6]:
            self.warnings.append(match[5] or match[6])
        return match[1] or match[2] or match[3]

    def row(self, section, titles, line):
        cost = re.fullmatch(r"Estimated cost of the probes: ([\d,]+) ns, ([\d,]+) ns per hit\.",
                            line)
        payer = re.fullmatch(r"Thread (\d+) \((.*)\) lost most to them: [\d.]+ % of its CPU time "
                             r"\(([\d,]+) of ([\d,]+) ns\)\.", line)
        off = re.fullmatch(r"To stay below --max-overhead the probes were taken out ([\d,]+) "
                           r"times?, for [\d.]+ % of the time \(([\d,]+) of ([\d,]+) ns\)\.", line)
        seen = re.fullmatch(r"About ([\d.]+) % of the calls were seen; ([\d,]+) open windows? "
                            r"(?:was|were) dropped\.", line)
        armed = re.fullmatch(r"Hits were counted from (\d+) to (\d+) \(CLOCK_MONOTONIC ns\), "
                             r"for [\d,]+ ns\.", line)
        outside = re.fullmatch(r"Processes outside the target hit the probes ([\d,]+) times?: "
                               r"that costs them as much, and does not count\.", line)
        condition = re.fullmatch(r"The condition of the (start|stop) was false ([\d,]+) times?, and "
                                 r"could not be tested ([\d,]+) times?, as memory was not there\.",
                                 line)
        rest = re.fullmatch(r"\(and ([\d,]+) more, not listed\)", line)
        fields = line.split()
        if section == "TRIGGER STATISTICS" and cost:
            self.cost = tuple(map(number, cost.groups()))
        elif section == "TRIGGER STATISTICS" and armed:
            self.armed = tuple(map(int, armed.groups()))
        elif outside:
            self.outside = number(outside[1])
        elif condition:
            self.conditions[condition[1]] = number(condition[2]), number(condition[3])
        elif payer:
            self.payer = int(payer[1]), payer[2], number(payer[3]), number(payer[4])
        elif off:
            self.duty.update(phases=number(off[1]), off=number(off[2]), of=number(off[3]))
        elif seen:
            self.duty.update(seen=float(seen[1]), dropped=number(seen[2]))
        elif section == "TRIGGER STATISTICS":
            counts = titles[2:]
            self.roles[fields[0]] = Row(zip(counts, map(number, fields[-len(counts):])))
            self.roles[fields[0]]["of"] = fields[-len(counts) - 1]
            self.names[fields[0]] = line[6:].split("  ")[0]
        elif section == "WINDOW DURATIONS":
            self.durations = Row(zip(titles, map(number, fields)))
        elif section == "NESTED LONG" and rest:
            self.unlisted = number(rest[1])
        elif section == "NESTED LONG":
            start, duration = map(number, fields[-2:])
            self.nested.append(Row(tid=number(fields[0]), thread=line[11:27].rstrip(),
                                   start=start, duration=duration))
        else:
            raise ReportError(f"in no section of the triggers: {line!r}")
