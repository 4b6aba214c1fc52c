# SPDX-License-Identifier: Apache-2.0
"""The books of a window, rebuilt from a timeline's slices: the states of each thread, less the
interrupts that hit it, as the ledger has them; and states from recordings in JSON. Shares no code
with the program."""

import collections

TITLES = {"running user": "user", "running kernel": "kernel", "page faults": "page_fault",
          "reclaim": "reclaim", "ready after wakeup": "ready_woken",
          "ready after preemption": "ready_preempted", "blocked interruptible": "blocked",
          "blocked uninterruptible": "blocked_uninterruptible", "stopped": "stopped",
          "frozen": "frozen"}
STOLEN = "stolen by the hypervisor, at some time in"
RUNNING = ("user", "kernel", "page_fault", "reclaim")


class Books:
    """The books of one thread in one window, from its slices by time. ns: by state, hardirq and
    softirq; awaited: by what it waited for; hit: interrupts, by kind and the state that they hit;
    holes: where two states do not touch."""

    def __init__(self, events, window):
        self.start, self.end = window["start_ns"], window["end_ns"]
        self.ns, self.awaited, self.hit = (collections.Counter() for _ in range(3))
        self.states = self.slices(events, "state", "states")
        self.irqs = self.slices(events, "irq", "interrupts")
        self.holes = [(one, other) for one, other in zip(self.states, self.states[1:])
                      if one.end != other.at]
        for state in self.states:
            ns = self.inside(state)
            self.ns[TITLES[state.name]] += ns
            if "waited_for" in state.notes:
                self.awaited[state.notes["waited_for"]] += ns
        self.faults = sum(state.name == "page faults" and self.start < state.end <= self.end
                          for state in self.states)
        self.stolen = sum(event.notes["ns"]
                          for event in self.slices(events, "irq", STOLEN))
        self.interrupts()

    def slices(self, events, kind, track):
        return [event for event in events if event.kind == kind and event.track.name == track and
                event.end > self.start and event.at < self.end]

    def inside(self, event):
        return min(event.end, self.end) - max(event.at, self.start)

    def interrupts(self):
        """Each interrupt takes its length, less those nested in it, from the state that it hit;
        what that state lacks is taken from others."""
        own = {id(irq): self.inside(irq) for irq in self.irqs}
        open_ = []
        for irq in self.irqs:
            while open_ and open_[-1].end <= irq.at:
                open_.pop()
            if open_:
                own[id(open_[-1])] -= self.inside(irq)
            open_.append(irq)
        for irq in self.irqs:
            self.hit[irq.name.split()[0], irq.notes["hit"]] += own[id(irq)]
        for (kind, state), ns in sorted(self.hit.items()):
            self.ns[f"{kind}irq"] += ns
            at = RUNNING.index(state)
            for other in RUNNING[at:] + RUNNING[:at]:
                part = min(ns, self.ns[other])
                self.ns[other] -= part
                ns -= part

    def with_entries(self, sample, thread):
        """The same books, with the cost of entering and leaving the kernel beyond what is seen,
        which the ledger moves between lines: a fixed amount for each call, interrupt and page
        fault, as long as the line that it is taken from has that much. For faults the amount is the
        ledger's."""
        ns = collections.Counter(self.ns)

        def move(source, to, amount):
            amount = min(amount, ns[source])
            ns[source] -= amount
            ns[to] += amount

        ledger = thread["ledger"]
        irqs = sum(row["count"] for row in thread["hardirqs"]) * sample.get("irq_entry_exit_ns", 0)
        irqs, seen = min(irqs, ledger["life_ns"]), ns["hardirq"]
        rest = irqs
        for state in ("user", "page_fault", "reclaim"):
            part = min(int(float(irqs) * float(self.hit["hard", state]) / float(seen)) if seen else 0, rest)
            move(state, "hardirq", part)
            rest -= part
        move("kernel", "hardirq", rest)
        calls = sum(call["count"] for call in thread["syscalls"])
        if calls:
            move("user", "kernel", calls * sample["entry_exit_ns"])
        move("user", "page_fault", ledger["page_fault_ns"] - ns["page_fault"])
        return ns


def states_of(lines):
    """(tid, start, end, state) of the rows of recordings, read as the manual describes."""
    found = []
    for line in lines:
        if line["type"] != "recorded" or line["list"] != "states":
            continue
        zeros, end = [0] * line["rows"], line["start_ns"]
        for number, after, length in zip(*(line.get(column, zeros)
                                           for column in ("kind", "after_ns", "ns")), strict=True):
            kind, start = line["kinds"][number], end + after
            end = start + length
            found.append((kind["tid"], start, end, kind["state"]))
    return found
