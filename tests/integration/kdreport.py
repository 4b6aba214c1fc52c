# SPDX-License-Identifier: Apache-2.0
"""The text report of kernel_delay as objects, and a check of its books.

The parser is strict: a line that has no place in the grammar raises
ReportError, so every test that reads a report tests the layout too."""

import datetime
import re

STATES = ("running user", "running kernel", "hard irq", "soft irq", "ready after wakeup",
          "ready after preemption", "blocked interruptible", "blocked uninterruptible", "stopped")
RUNNING = STATES[:4]
INDENT = " " * 28
WAKEUP_TO_SWITCH = 50_000  # ns, see clock_shift()
UNREPORTED_SWITCH = 100_000  # ns, see Report.unreported

# Section -> titles of its columns, as they stand in the line below its name.
# Sections whose first column is NAME have one row per name and maybe a total.
SECTIONS = {
    "SYSCALL STATISTICS": "NAME NUMBER COUNT TOTAL MAX",
    "LONG POLL STATISTICS": "COUNT AVERAGE MIN MAX",
    "THREAD RUN STATISTICS": "SCHED_CNT TOTAL MIN MAX",
    "THREAD READY STATISTICS": "SCHED_CNT TOTAL MAX",
    "THREAD STOPPED STATISTICS": "STOP_CNT TOTAL MAX",
    "HARD IRQ STATISTICS": "NAME COUNT TOTAL MAX",
    "SOFT IRQ STATISTICS": "NAME VECT_NR COUNT TOTAL MAX",
    "THREAD TIME": "STATE TOTAL %",
    "THREAD SWITCHES": "VOLUNTARY INVOLUNTARY MIGRATIONS CPUS",
    "IN FLIGHT": "NAME NUMBER INSIDE EDGE BEFORE START AT END",
    "DISTRIBUTIONS": "OF COUNT P50 P90 P99 P99.9 MAX",
}
SHARES = ("p50", "p90", "p99", "p99.9", "max")

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
FLIGHT = re.compile(r"(?P<name>.+?) +(?P<number>-?\d+|-) +(?P<inside>[\d,]+)  +"
                    r"(?P<edge>start|end|both) +(?P<before>[\d,]+|-|unknown)  +"
                    r"(?P<end>returned|still open)$")
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


class Row(dict):
    """The columns of one row by lower-case title, also as attributes."""

    __getattr__ = dict.__getitem__


class Thread:
    def __init__(self, who, name):
        self.tid = None if who.endswith("x") else number(who)
        self.members = number(who[:-1]) if who.endswith("x") else 1
        self.name = name
        self.ended = False
        self.silent = False
        self.calls, self.hardirqs, self.softirqs = {}, {}, {}
        self.distributions, self.drawings = {}, []
        self.totals = {}          # section -> Row of its TOTAL line
        self.tables = {}          # section without names -> Row
        self.ns = dict.fromkeys(STATES, 0)
        self.percent = dict.fromkeys(STATES, 0.0)
        self.books = {}           # SUM, RUNNING, KERNEL'S COUNT, RESIDUAL -> ns or None
        self.flights = []
        self.cpus = set()
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
        self.start, self.stop = None, None  # times of CLOCK_MONOTONIC, of edges made by probes
        self.delta = None                   # ns, of windows that a probe ended
        self.skipped = False                # too short: there is nothing but its edges

    @property
    def window(self):
        """Length of the window in ns, else by the wall clock of its edges."""
        if self.delta is not None:
            return self.delta
        length = self.stamps["Stop sampling"] - self.stamps["Start sampling"]
        return round(length.total_seconds() * 1e6) * 1000

    @property
    def unreported(self):
        """How many switches were found by their effects only, to some 10 us."""
        found = re.search(r"# NOTE: ([\d,]+) switch(es)? (was|were) not reported",
                          "\n".join(self.notices))
        return int(found[1].replace(",", "")) if found else 0

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
        elif not line:
            self.section = None
        elif line.startswith(INDENT):
            self.data(line[len(INDENT):])
        elif line.startswith("#"):
            self.comment(line)
        elif line.startswith(("TID ", "----")):
            if not re.fullmatch(r"TID {8}THREAD {11}<RESOURCE SPECIFIC>|-{10} -{16} -{76}", line):
                raise ReportError("not the table's head")
        else:
            self.head(line)

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
        title, drawing = re.fullmatch(r"\[([A-Z ]+)\]", text), DRAWING.match(text)
        if drawing and not self.section:
            self.section = "DRAWING"
            self.thread.drawings.append((drawing["name"].rstrip(), []))
        elif title:
            if title[1] not in SECTIONS or self.section:
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
            self.columns = re.sub(r" ns\b", "", text).split()
            if " ".join(self.columns) != SECTIONS[self.section]:
                raise ReportError("not the columns of " + self.section)
        elif self.section == "THREAD TIME":
            self.time(text)
        elif self.section == "THREAD SWITCHES":
            self.switches(text)
        elif self.section == "IN FLIGHT":
            self.flight(text)
        else:
            self.row(text)

    def row(self, text):
        titles = [column.lower() for column in self.columns]
        named = titles[0] in ("name", "of")
        numbers = titles[1:] if named else titles
        total = re.match(r"TOTAL(?:\( - poll\))?: ", text)
        if total:
            numbers = [title for title in ("count", "total", "max") if title in titles][:2]
        fields = text.rsplit(None, len(numbers)) if named else text.split()
        if len(fields) != len(numbers) + named:
            raise ReportError("wrong number of columns")
        try:
            row = Row(zip(numbers, map(number, fields[int(named):])))
        except ValueError:
            raise ReportError("not a number") from None
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
                "DISTRIBUTIONS": self.thread.distributions}[self.section]

    def key(self, name, row):
        """The name, with the number where two long names were cut to the same text."""
        table = self.name_table()
        if name in table and row.get("number") == table[name].get("number"):
            raise ReportError("second row of one name")
        return f"{name}#{row.number}" if name in table else name

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
        before = match["before"]
        self.thread.flights.append(Row(
            name=match["name"], inside=number(match["inside"]), edge=match["edge"],
            before=number(before) if before[0].isdigit() else before, end=match["end"]))


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
        self.cost = None         # (ns in all, ns of the run, ns per hit)
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
        cost = re.fullmatch(r"Estimated cost of the probes: ([\d,]+) ns in ([\d,]+) ns, "
                            r"([\d,]+) ns per hit\.", line)
        rest = re.fullmatch(r"\(and ([\d,]+) more, for which there was no room\)", line)
        fields = line.split()
        if section == "TRIGGER STATISTICS" and cost:
            self.cost = tuple(map(number, cost.groups()))
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


def book_faults(report, cpu=None, late=()):
    """What is wrong with the books of a report, as a list of texts.

    cpu: {TID: (least, most)} run time in ns as the thread itself measured it.
    late: TIDs of threads born in the window; all others that are alive lived
    through all of it."""
    faults = []
    for thread in report.threads:
        say = lambda text, who=thread: faults.append(f"{who!r}: {text}")
        if "SUM" not in thread.books:
            say("no ledger")
            continue
        life, window = thread.life, report.window * thread.members
        if abs(sum(thread.ns.values()) - life) > life / 1000:
            say(f"states add up to {sum(thread.ns.values()):,}, SUM is {life:,}")
        if life and abs(sum(thread.percent.values()) - 100) > 0.1:
            say(f"percents add up to {sum(thread.percent.values()):.2f}")
        for state in STATES:
            if life and abs(thread.ns[state] * 100 / life - thread.percent[state]) > 0.011:
                say(f"{state}: {thread.ns[state]:,} of {life:,} is not {thread.percent[state]} %")
        if life > window * 1.001 + 20_000:
            say(f"lived {life:,} in a window of {window:,}")
        if not thread.ended and thread.tid not in late and life < window * 0.999 - 20_000:
            say(f"lived {life:,}, but the window has {window:,}")
        for flight in thread.flights:
            if flight.inside > life:
                say(f"{flight.name} in flight for {flight.inside:,}, longer than its life")
        if not thread.silent:
            faults += [f"{thread!r}: {text}" for text in sum_faults(thread) + table_faults(thread) +
                       distribution_faults(thread, report)]
        least, most = (cpu or {}).get(thread.tid, (0, life))
        lacks, exceeds = clock_shift(thread)
        unsure = UNREPORTED_SWITCH * report.unreported
        if not thread.ended and not (least - exceeds - unsure <= thread.running <=
                                     most + lacks + unsure):
            say(f"ran {thread.running:,}, by its own clock {least:,.0f} to {most:,.0f}")
    return faults


def clock_shift(thread):
    """How much the kernel's count of the run time may (lack, exceed) the ledger's.

    A wakeup that preempts reads the scheduler's clock and spares the switch that
    follows the reading: wakeup_preempt() calls rq_clock_skip_update(). So for the
    kernel the run of the preempted ends with the wakeup; until the switch an
    interrupt may have to reach another CPU. The run of the woken begins then,
    which the ledger follows. In all other cases the clock is read less than
    500 ns before the switch."""
    switches = thread.tables.get("THREAD SWITCHES")
    if not switches:
        return 0, 0
    near = 500 * (switches.voluntary + switches.involuntary)
    return WAKEUP_TO_SWITCH * switches.involuntary + near, near


def sum_faults(thread):
    books, faults = thread.books, []
    if books.get("RUNNING") != thread.running:
        faults.append(f"RUNNING is {books.get('RUNNING')}, its lines add up to {thread.running}")
    if "KERNEL'S COUNT" not in books:
        faults.append("no KERNEL'S COUNT")
    elif (books["KERNEL'S COUNT"] is not None and
          books.get("RESIDUAL") != books["RUNNING"] - books["KERNEL'S COUNT"]):
        faults.append(f"RESIDUAL does not fit: {books}")
    named = (("SYSCALL STATISTICS", thread.calls), ("HARD IRQ STATISTICS", thread.hardirqs),
             ("SOFT IRQ STATISTICS", thread.softirqs))
    for section, rows in named:
        if section in thread.totals:
            counted = [row for name, row in rows.items() if name not in ("poll", "ppoll")]
            for column, value in thread.totals[section].items():
                if sum(row[column] for row in counted) != value:
                    faults.append(f"{section}: {column} does not add up to its TOTAL")
    return faults


def distribution_faults(thread, report):
    """Distributions have what the other sections have counted, and are drawn as they are."""
    faults = []
    lost = any("[DISTRIBUTIONS]" in text for text in report.warnings)
    counted = {"ready": thread.tables.get("THREAD READY STATISTICS"),
               "running": thread.tables.get("THREAD RUN STATISTICS"), **thread.calls}
    drawn = dict(thread.drawings)
    if list(drawn) != list(thread.distributions):
        faults.append(f"drawn are {list(drawn)}, listed {list(thread.distributions)}")
    for name, row in thread.distributions.items():
        other, bars = counted.get(name), drawn.get(name, [])
        count = other.get("count", other.get("sched_cnt")) if other else 0
        if row.count > count or row.count < count and not lost:
            faults.append(f"{name}: {row} are not the durations of {other}")
        elif other and row.max != other.max:
            faults.append(f"{name}: the longest is {row.max}, and {other.max}")
        shares = [row[share] for share in SHARES]
        if shares != sorted(shares):
            faults.append(f"{name}: {shares} do not ascend")
        if sum(bar.count for bar in bars) != row.count:
            faults.append(f"{name}: {row.count}, drawn otherwise: {bars}")
        most = max((bar.count for bar in bars), default=1)
        if any(bar.stars != bar.count * 40 // most for bar in bars):
            faults.append(f"{name}: bars are not in proportion: {bars}")
        if not bars or not bars[0].count or not bars[-1].count or row.max < bars[-1].low:
            faults.append(f"{name}: drawn beyond what there is: {row}, {bars}")
    return faults


def table_faults(thread):
    """The classic tables count what began and ended inside: never more than the ledger."""
    faults = []
    total = {section: thread.tables[section].total if section in thread.tables else 0
             for section in ("THREAD RUN STATISTICS", "THREAD READY STATISTICS",
                             "THREAD STOPPED STATISTICS")}
    run, ready, stopped = total.values()
    waited = thread.ns["ready after wakeup"] + thread.ns["ready after preemption"]
    # A wait is in its table up to the switch, in the ledger up to the scheduler's clock.
    for what, table, ledger in (("RUN", run, thread.running),
                                ("RUN and READY", run + ready, thread.running + waited),
                                ("STOPPED", stopped, thread.ns["stopped"])):
        if table > ledger * 1.001 + 10_000:
            faults.append(f"{what}: {table:,} is more than the ledger's {ledger:,}")
    if sum(row.total for row in thread.calls.values()) > thread.life * 1.001:
        faults.append("longer in system calls than it lived")
    for rows in (thread.calls, thread.hardirqs, thread.softirqs):
        for name, row in rows.items():
            if not row.count or not row.max <= row.total <= row.max * row.count:
                faults.append(f"{name}: {row} cannot be")
    return faults
