# SPDX-License-Identifier: Apache-2.0
"""The slow calls, waits and samples of a report with their stacks, and comparing
stacks with what is known of the program: every frame, in order.

As kdreport, the parser raises ReportError for whatever has no place in the grammar."""

import errno
import os
import pathlib
import re
import subprocess

import kdreport
import kdtest
import kdtrigger
from kdreport import ReportError, Row, number

WORKLOADS = kdtest.ROOT / "tests" / "workloads"

TITLE = re.compile(r"# (?:(?P<events>SYSCALL EVENTS)|(?P<waits>OFF-CPU WAITS)|"
                   r"(?P<samples>ON-CPU SAMPLES) \((?P<hz>\d+) Hz\)):")
COLUMNS = {
    "events": "ENTRY (ns) EXIT (ns) TID COMM DELTA (us) SYSCALL CPU WAITED (us) RESULT",
    "waits": "COUNT TOTAL (us) MAX (us) THREADS TID COMM STATE FOR SYSCALL ENDED BY",
    "samples": "COUNT % TID COMM MODE SYSCALL",
}
HIDDEN = "the kernel did not report the switch"  # why a wait has no stack in the kernel
WHO = r" *(?P<tid>\d+) (?P<comm>.{16,}?) "
CALL = r"\[unknown(?:: \d+)?\]|\S+"
ROWS = {
    "events": re.compile(r" *(?P<entry>\d+|earlier) +(?P<exit>\d+|unfinished)" + WHO +
                         r" *(?P<delta>\d+)  (?P<call>" + CALL + r") +(?P<cpu>\d+) +"
                         r"(?P<waited>\d+|-)  (?P<result>\S+)"),
    "waits": re.compile(r" *(?P<count>\d+) +(?P<total>[\d,]+) +(?P<max>[\d,]+) +(?P<threads>\d+)" + WHO +
                        "(?P<state>" + "|".join(kdreport.STATES) + r") +(?P<kind>\S+) +(?P<call>" + CALL + ") +"
                        r"(?:(?P<waker>\d+) )?(?P<ended_by>.+?)(?:(?P<others>, others)|"
                        r"(?P<chain> < .+))?"),
    "samples": re.compile(r" *(?P<count>\d+) +(?P<percent>[\d.]+)" + WHO +
                          r"(?P<mode>user|kernel) +(?P<call>" + CALL + ")"),
}
ALL = re.compile(r"  All: (?P<count>[\d,]+) (?:waits?, (?P<total>[\d,]+) us|samples?)\.")
OTHERS = re.compile(r"  and [\d,]+ others: [\d,]+ (?:waits?, (?P<total>[\d,]+) us|samples?)\.")
LEFT_OUT = re.compile(r"  Left out by (?P<by>.+): (?P<count>[\d,]+) (?:waits?, (?P<total>[\d,]+) us|"
                      r"system calls?, [\d,]+ us|samples?)\.")
INDENT = " " * 10
FRAME = re.compile(r"(?:(?:\[(?:unknown|no symbol)\] )?0x(?P<address>[0-9a-f]+)|"
                   r"(?P<function>(?=[^\s(]|\(anonymous)\S.*?)(?:\+0x(?P<offset>[0-9a-f]+))?)"
                   r"(?: \[(?P<object>[^\[]*?)(?: build-id (?P<build_id>\S*))?\])?")
# What a row was for, above its stack: each once.
ABOVE = {
    "its times": re.compile(r"\((?:[\d,]+ us asleep(?: in .+?)?(?: until \d+ .+? woke it)?, )?"
                            r"(?:[\d,]+ us ready(?: behind \d+ .+?)?, )?[\d,]+ us running\)"),
    "a descriptor": re.compile(r"\(at fd \d+(?:, .+?)?(?:, and others)?\)"),
    "a path": re.compile(r"\((?:path .+?(?:, and others)?|the path could not be read)\)"),
    "a lock": re.compile(r"\(lock 0x[0-9a-f]+(?:, [a-z_]+)?(?:, held by \d+ .+?(?: of process \d+)?)?"
                         r"(?:, and others)?\)"),
    "a disk": re.compile(r"\(disk \S+, its request took [\d,]+ us(?:, and others)?\)"),
}
OF = re.compile(r"\(of (?:(?P<count>[\d,]+) processes: (?P<pids>[\d, ]+?)(?P<more>, \.\.\.)?; the longest is of )?"
                r"(?P<pid>\d+)(?: (?P<title>.*))?\)")
STOPPED = re.compile(r"\(the stack goes on: (?P<reason>.+)\)")
BY_FRAME_POINTERS = "(some frames were found by frame pointers: callers may be missing)"
MISSING = re.compile(r"\(no (?P<which>kernel|user) stack(?:: (?P<reason>[^;]+))?"
                     r"(?:; the instruction was at 0x(?P<ip>[0-9a-f]+))?\)")
RESTARTS = {"ERESTARTSYS": 512, "ERESTARTNOINTR": 513, "ERESTARTNOHAND": 514,
            "ERESTART_RESTARTBLOCK": 516}


class Frame:
    def __init__(self, match):
        self.function = match["function"]
        # None: the rows of a sum were at several places of the function.
        where = match["offset"] or match["address"]
        self.offset = int(where, 16) if where else None
        self.object = match["object"]
        self.build_id = match["build_id"]

    def __repr__(self):
        offset = "" if self.offset is None else f"{self.offset:#x}"
        return f"{self.function or ''}+{offset} [{self.object}]"


HIDDEN = "the kernel did not report the switch"


class Stack:
    """The frames of one record, innermost first."""

    def __init__(self):
        self.kernel, self.user = [], []
        self.stop = None     # why the user's part is incomplete
        self.by_frame_pointers = False  # some of its frames
        self.missing = {}    # "kernel", "user" -> why this part is not there
        self.ip = None       # of a user's part that is not there
        self.said = set()    # of ABOVE
        # Of several: of which it is or, merged, its longest row; of how many, and which (the
        # first eight).
        self.pid, self.processes, self.pids = None, 1, []

    def line(self, text):
        stopped, missing = STOPPED.fullmatch(text), MISSING.fullmatch(text)
        frame = FRAME.fullmatch(text)
        above = next((what for what, line in ABOVE.items() if line.fullmatch(text)), None)
        if self.stop:
            raise ReportError("a line beyond the stack's end")
        of = OF.fullmatch(text)
        if of:
            if self.pid or self.said or self.kernel or self.user or self.missing:
                raise ReportError("a process below a stack")
            self.pid, self.processes = int(of["pid"]), number(of["count"] or "1")
            self.pids = [int(pid) for pid in (of["pids"] or of["pid"]).split(", ")]
        elif above:
            if above in self.said or self.kernel or self.user or self.missing:
                raise ReportError(f"{above} below a stack")
            self.said.add(above)
        elif text == BY_FRAME_POINTERS and self.user and not self.by_frame_pointers:
            self.by_frame_pointers = True
        elif stopped:
            self.stop = stopped["reason"]
        elif missing:
            if missing["which"] in self.missing:
                raise ReportError("said twice")
            self.missing[missing["which"]] = missing["reason"] or ""
            self.ip = int(missing["ip"], 16) if missing["ip"] else None
        elif frame:
            self.user.append(Frame(frame))
            # Modules have names like programs; but the kernel's entry is outside of them.
            if frame["object"] == "kernel":
                self.kernel += self.user
                self.user = []
        else:
            raise ReportError("no line of a stack")

    @property
    def complete(self):
        return bool(self.user) and not self.stop

    def in_kernel(self, *functions):
        """Whether the kernel part contains one of these functions, or one whose name begins with
        one of these. It is empty where this kernel hid the thread's switch."""
        return self.missing.get("kernel") == HIDDEN or any(frame.function and frame.function.startswith(functions)
                   for frame in self.kernel)

    def functions(self):
        return [frame.function for frame in self.user]

    def __repr__(self):
        end = f"(stops: {self.stop})" if self.stop else "(complete)" if self.user else ""
        return "\n".join([*map(repr, self.kernel), *map(repr, self.user), end,
                          *(f"no {which}: {why}" for which, why in self.missing.items())])


class Stacks:
    """What a report has beyond its tables: rows of

    events   entry (0: before it was watched), exit (None: unfinished), tid, comm, delta and
             waited (us), call, cpu, result (negative: an errno; None: unfinished), stack
    waits    count, total, max (us), threads, tid, comm (of the longest), state, kind, call,
             ended_by, waker (its TID, or None), others, stack
    samples  count, percent, tid, comm, mode, call, stack"""

    def __init__(self):
        self.events, self.waits, self.samples = [], [], []
        self.all, self.hz = {}, None
        self.others = {}  # total (us) of those that have no row, by section
        self.left_out = {}  # by which options -> count and total (us)
        self.stack, self.section, self.columns = None, None, None

    def title(self, match):
        self.section = next(key for key in ROWS if match[key])
        self.columns, self.stack = None, None
        if match["hz"]:
            self.hz = int(match["hz"])

    def line(self, line):
        if not line or set(line) <= {" ", "-"}:
            return
        if not self.columns:
            self.columns = " ".join(line.split())
            if self.columns != COLUMNS[self.section]:
                raise ReportError("not the section's columns")
        elif self.stack and re.match(INDENT + r"\S", line) and not ROWS[
                self.section].fullmatch(line):
            self.stack.line(line[len(INDENT):])
        elif OTHERS.fullmatch(line):
            self.others[self.section] = number(OTHERS.fullmatch(line)["total"] or "0")
        elif ALL.fullmatch(line):
            found = ALL.fullmatch(line)
            self.all[self.section] = number(found["count"]), number(found["total"] or "0")
        elif LEFT_OUT.fullmatch(line):
            found = LEFT_OUT.fullmatch(line)
            self.left_out[found["by"]] = number(found["count"]), number(found["total"] or "0")
        else:
            self.row(line)

    def row(self, line):
        match = ROWS[self.section].fullmatch(line)
        if not match:
            raise ReportError("not a row of its section")
        row = Row(match.groupdict(), stack=Stack())
        for key in ("entry", "exit", "delta", "waited", "count", "total", "max", "threads", "tid", "cpu",
                    "waker"):
            if row.get(key) is not None:
                row[key] = number(row[key]) if row[key][0].isdigit() else None
        if self.section == "events":
            row["entry"] = row.entry or 0
        row["comm"] = row.comm.rstrip()
        if self.section == "events":
            row["result"] = result(row.result)
        self.stack = row.stack
        getattr(self, self.section).append(row)

    def of(self, tid, section="events"):
        return [row for row in getattr(self, section) if row.tid == tid]


def result(text):
    """The result of a call; a negative errno if it failed; None: unknown."""
    if text == "-":
        return None
    if text.startswith("E"):
        return -(RESTARTS[text] if text in RESTARTS else getattr(errno, text))
    return int(text, 0)


def parse(text):
    """The reports that kdreport parses from the text of a run, and a Stacks for each."""
    rest, reports, within = [], [], False
    for where, line in enumerate(text.split("\n"), 1):
        title = TITLE.fullmatch(line)
        if line.startswith("# Start sampling"):
            reports.append(Stacks())
        try:
            if title:
                within = True
                reports[-1].title(title)
            elif line.startswith("#") or not within:
                within = False
                rest.append(line)
            else:
                reports[-1].line(line)
        except ReportError as error:
            raise ReportError(f"line {where}: {error}: {line!r}") from None
    return "\n".join(rest), reports


class Capture(kdtest.Capture):
    """A run whose one report has stacks, too."""

    def close(self, test, want=0):
        """Returns the report and its Stacks."""
        if self.proc.poll() is None:
            self.signal(kdtest.signal.SIGINT)
        status = self.wait()
        test.ok(status == want, f"the program ends with status {want}", f"status {status}",
                self.stderr)
        text, stacks = parse(self.stdout)
        reports = kdreport.parse(text)
        if len(reports) != 1:
            raise ReportError(f"{len(reports)} reports instead of one")
        return reports[0], stacks[0]


# --- What a stack has to be ---

def plain(name):
    """The name of a C library function, without what distinguishes its aliases."""
    name = re.sub(r"@.*|\.(part|constprop|isra|cold|lto_priv)\b.*", "", name)
    name = re.sub(r"^(_+|GI_|libc_)+", "", name)
    return re.sub(r"_impl$|_common(64)?$", "", name)


class Libc:
    """Frames of the C library: a function by one of its names, or any of them.

    local: it is not exported, so without debug symbols it has no name.
    least, most: how many of such frames there are."""

    def __init__(self, *names, local=False, least=1, most=1):
        self.names, self.local, self.least, self.most = names, local, least, most

    def fits(self, frame):
        if not frame.function:
            return self.local
        return not self.names or plain(frame.function) in self.names

    def __repr__(self):
        return f"C library's {'/'.join(self.names) or 'own'}"


START = (Libc("start_call_main", local=True, least=0), Libc("start_main"), "_start")
THREAD = (Libc("start_thread", local=True), Libc("clone3", "clone", "thread_start", local=True))
SIGNAL = Libc("restore_rt", "kernel_rt_sigreturn", "restore", local=True)


class Program:
    """An executable or library as a stack should show it.

    hidden: its functions have no names; they are compared by their addresses with
    the symbols of truth, a copy that has them; None: it is damaged, so they may have
    names, and it may have a build ID."""

    def __init__(self, path, truth=None, hidden=False, static=False):
        self.path, self.name = path, pathlib.Path(path).name
        self.hidden, self.static = hidden, static
        self.symbols = kdtrigger.symbols(truth or path)
        self.build_id = build_id(truth or path)

    def function_at(self, address):
        """Callers are looked up just before their return address."""
        return next((name for name, (start, size) in self.symbols.items()
                     if start <= address - 1 < start + max(size, 1)), None)

    def fault(self, frame, want, exact):
        """What is wrong with a frame that should be a function of this program."""
        # The kernel adds a word to the name of a file that is gone.
        if os.path.basename(frame.object or "").removesuffix(" (deleted)") != self.name:
            return "another object"
        if self.hidden or self.hidden is None and not frame.function:
            if frame.function:
                return "a name that it does not have"
            if frame.build_id != self.build_id and (self.hidden or frame.build_id):
                return f"the build ID is {self.build_id}"
            found = self.function_at(frame.offset + exact)
            return None if found == want else f"the address is in {found}"
        if frame.function != want:
            return "another function"
        size = self.symbols[want][1] if want in self.symbols else 0
        return f"the function ends at {size:#x}" if 0 < size < (frame.offset or 0) else None


def build_id(path):
    said = subprocess.run(["readelf", "-n", path], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, check=False).stdout
    found = re.search(r"Build ID: ([0-9a-f]+)", said)
    return found[1] if found else None


def stack_fault(stack, wanted, programs, incomplete=False):
    """Where a user stack differs from what it has to be: every frame, in order, to
    the outermost one. None if nowhere.

    wanted: functions of the programs by name, Libc()s, and SIGNAL, below which the
    frame is the one that was interrupted. programs: by what a name begins with,
    "" for all others. incomplete: the stack should end so and say that it goes on."""
    frames, exact = list(stack.user), 0
    own = {want for want in wanted if isinstance(want, str)}
    for position, want in enumerate(wanted):
        if isinstance(want, Libc):
            taken = 0
            while taken < want.most and frames and is_libc(frames[0], programs, own) and \
                    want.fits(frames[0]):
                frames.pop(0)
                taken += 1
            if taken < want.least:
                return f"frame {position}: want {want!r}, got {frames[:1]}"
            exact = want is SIGNAL
            continue
        if not frames:
            return f"frame {position}: want {want}, but the stack ends"
        program = programs[max((key for key in programs if want.startswith(key)), key=len)]
        fault = program.fault(frames[0], want, exact)
        if fault:
            return f"frame {position}: want {want}, got {frames[0]}: {fault}"
        frames.pop(0)
        exact = 0
    if frames:
        return f"beyond the outermost frame: {frames}"
    if bool(stack.stop) != incomplete:
        return f"told to be incomplete: {stack.stop}" if stack.stop else "told to be complete"
    return None


def is_libc(frame, programs, own=()):
    """Whether it is a frame of the C library or of the vdso; own: functions that do not count as
    such."""
    if programs[""].static:
        return (os.path.basename(frame.object or "") == programs[""].name and
                frame.function not in own)
    name = os.path.basename(frame.object or "")
    if not frame.function and name == programs[""].name:
        return True  # on its way there: what the linker has put in between has no name
    return bool(re.match(r"(libc|ld-linux|libpthread|vdso)\b", name))


def check_stacks(test, events, wanted, programs, text, count=1):
    """Each of the events has this stack, and their number is right."""
    faults = []
    for event in events:
        fault = stack_fault(event.stack, wanted, programs)
        if fault:
            faults += [fault, repr(event.stack)]
    return test.ok(len(events) == count and not faults, text,
                   f"{len(events)} events, want {count}", *faults[:20])


def told(report, *words):
    """The note or warning of a report that contains all the words; None if there is none."""
    return next((line for line in report.notices if all(word in line for word in words)), None)


def resolver_of(pid):
    """The child that resolves the stacks of a run: the one that runs as nobody."""
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    child, = (int(child) for child in children if kdtest.status_field(child, "Uid") == "65534")
    return child
