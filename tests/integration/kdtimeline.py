# SPDX-License-Identifier: Apache-2.0
"""A picture of a timeline with a recording: all of it, and the moment around the longest wait for a
CPU. Drawn from the file alone, as its independent reader returns it."""

import collections

from kdsvg import INK, Drawing

STATES = {"running user": "#2da44e", "running kernel": "#1a7f64", "page faults": "#8250df",
          "reclaim": "#6639ba", "ready after wakeup": "#fb8500", "ready after preemption": "#d1242f",
          "blocked interruptible": "#d0d7de", "blocked uninterruptible": "#57606a",
          "stopped": "#8c959f", "frozen": "#8c959f"}
TASKS = ("#0969da", "#bf3989", "#54aeff", "#9a6700", "#ff80c8", "#b6e3ff", "#d4a72c")
OTHER_TASK, CALL, LEG, BAND = "#6e7781", "#b6e3ff", "#e4cfff", "#eaeef2"
WIDTH, LEFT, RIGHT, ROW, GAP = 1000, 190, 12, 20, 6
CELL = 4      # pixels that share a colour where there are too many events
BUSY = 100    # a thread or CPU with fewer slices is not shown
BEFORE, AFTER = 140_000, 90_000  # ns around the beginning of the wait

Row = collections.namedtuple("Row", "title events color thread")


class Timeline:
    def __init__(self, trace, path):
        self.trace, self.top = trace, 0
        self.window = max(trace.find("window"), key=lambda event: event.at)
        self.states = collections.defaultdict(list)
        for event in trace.find("state"):
            self.states[trace.thread_of(event.track)].append(event)
        self.runs = collections.defaultdict(list)
        for event in trace.find("run"):
            self.runs[event.track.name].append(event)
        self.begin = min(events[0].at for events in self.states.values())
        self.tasks = self.colors_of_tasks()
        wait = max((event for events in self.states.values() for event in events
                    if event.name.startswith("ready")), key=lambda event: event.end - event.at)
        self.tid = trace.thread_of(wait.track)
        rows = self.rows()
        detail = [(row, self.calls(row.thread)) for row in rows]
        height = 150 + (len(rows) * 2 + 2 + sum(bool(calls) for _, calls in detail)) * (ROW + GAP)
        self.drawing = Drawing(WIDTH, height, size=12)
        self.overview(rows)
        self.moment(detail, wait)
        self.legend(rows)
        self.drawing.write(path)

    def colors_of_tasks(self):
        took = collections.Counter()
        for events in self.runs.values():
            for event in events:
                took[event.name] += event.end - event.at
        return dict(zip((name for name, _ in took.most_common()), TASKS))

    def rows(self):
        names = {track.tid: track.thread for track in self.trace.tracks.values() if track.tid}
        threads = sorted((tid for tid, events in self.states.items() if len(events) >= BUSY),
                         key=lambda tid: (tid != self.tid, tid))
        return [*(Row(cpu, events, lambda event: self.tasks.get(event.name, OTHER_TASK), None)
                  for cpu, events in sorted(self.runs.items()) if len(events) >= BUSY),
                *(Row(f"{names[tid]}[{tid}]", self.states[tid], lambda event: STATES[event.name],
                      tid) for tid in threads)]

    def calls(self, tid):
        return self.trace.find("syscall", tid) if tid else []

    def scale(self, begin, end):
        self.from_, self.per = begin, (WIDTH - LEFT - RIGHT) / (end - begin)
        self.to = end

    def x(self, at):
        return LEFT + (min(max(at, self.from_), self.to) - self.from_) * self.per

    def row(self, title):
        """The place of the next row."""
        top = self.top
        self.drawing.text(8, top + 14, title)
        self.top += ROW + GAP
        return top

    def axis(self, unit, name, zero):
        step = next(step * unit for step in (1, 2, 5, 10, 20, 50, 100, 200, 500)
                    if (self.to - self.from_) / (step * unit) <= 10)
        at = zero - (zero - self.from_) // step * step
        while at <= self.to:
            label = f"{(at - zero) // unit} {name}"
            self.drawing.line([(self.x(at), self.top), (self.x(at), self.top + 4)], "#8c959f")
            self.drawing.text(min(self.x(at), WIDTH - RIGHT - len(label) * 6.6), self.top + 15,
                              label, "#57606a", size=11)
            at += step
        self.top += 26

    def cells(self, row):
        """The prevailing color of each part of the time: [(first, last + 1, color)]."""
        took = collections.defaultdict(collections.Counter)
        for event in row.events:
            left, right = self.x(event.at), self.x(event.end)
            for cell in range(int(left // CELL), int(right // CELL) + 1):
                took[cell][row.color(event)] += max(0, min(right, cell * CELL + CELL) -
                                                    max(left, cell * CELL))
        found = []
        for cell, colors in sorted(took.items()):
            color = colors.most_common(1)[0][0]
            if found and found[-1][1:] == [cell, color]:
                found[-1][1] = cell + 1
            else:
                found.append([cell, cell + 1, color])
        return found

    def overview(self, rows):
        self.scale(self.begin, self.window.end)
        self.drawing.text(8, 18, "All that was recorded. Each part of it has the color of what took "
                          "most of its time.", bold=True)
        self.top = 28
        top = self.row("window")
        self.drawing.rect(LEFT, top, WIDTH - LEFT - RIGHT, ROW, BAND)
        self.drawing.rect(self.x(self.window.at), top, self.x(self.window.end) -
                          self.x(self.window.at), ROW, "#0969da")
        self.drawing.text(LEFT + 6, top + 14, "recorded before it", "#57606a")
        self.drawing.text(self.x(self.window.at) + 6, top + 14, self.window.name, "#ffffff")
        for row in rows:
            top = self.row(row.title)
            for first, last, color in self.cells(row):
                left, right = max(first * CELL, LEFT), min(last * CELL, WIDTH - RIGHT)
                self.drawing.rect(left, top, right - left, ROW, color)
        self.axis(1_000_000, "ms", self.window.end)

    def slices(self, title, events, color, name, ink=INK):
        """A row of the detailed view."""
        top = self.row(title)
        shown = [event for event in events if event.end > self.from_ and event.at < self.to]
        for event in shown:
            left, width = self.x(event.at), self.x(event.end) - self.x(event.at)
            self.drawing.rect(left, top, max(width - 0.8, 0.6), ROW, color(event), event.name)
            text = name(event)
            room = int((width - 6) / self.drawing.advance)
            if len(text) > room:
                text = text[:room - 1] + "…" if room > 20 else ""
            self.drawing.text(left + 3, top + 14, text, ink)
        return top

    def moment(self, detail, wait):
        self.scale(wait.at - BEFORE, wait.at + AFTER)
        self.drawing.text(8, self.top + 18, "The moment in which the longest wait for a CPU began, "
                          "and who woke whom.", bold=True)
        self.top += 28
        where = {}
        for row, calls in detail:
            white = row.thread is None
            top = self.slices(row.title, row.events, row.color,
                              lambda event, white=white: event.name if white else
                              event.name.replace("blocked interruptible", "blocked"),
                              "#ffffff" if white else INK)
            where[row.thread] = top
            if calls:
                self.slices("  system calls", calls, lambda event: CALL, lambda event: event.name)
        self.slices("critical path", self.trace.find("critical_path"), lambda event: LEG,
                    lambda event: event.name)
        self.arrows(where)
        self.axis(1000, "us", wait.at)

    def arrows(self, where):
        ends = {flow: event for event in self.trace.instants for flow in event.ends}
        for event in self.trace.instants:
            for flow in event.begins:
                other = ends.get(flow)
                source, to = (where.get(self.trace.thread_of(each.track)) if each else None
                              for each in (event, other))
                if source is None or to is None or not self.from_ < event.at < self.to:
                    continue
                down = to > source
                self.drawing.arrow(self.x(event.at), source + (ROW if down else 0),
                                   self.x(other.at), to + (0 if down else ROW), INK)

    def legend(self, rows):
        seen = {event.name for row in rows if row.thread for event in row.events}
        left = 8
        for name, color in STATES.items():
            if name not in seen:
                continue
            self.drawing.rect(left, self.top + 4, 12, 12, color)
            self.drawing.text(left + 17, self.top + 14, name, size=11)
            left += 17 + len(name) * 6.6 + 16
