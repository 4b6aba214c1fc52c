# SPDX-License-Identifier: Apache-2.0
"""The report's section on who had the CPU."""

import re

CULPRIT = re.compile(r"(?P<name>.{20}) +(?P<tid>\d+|-) +(?P<pid>\d+|-) (?P<class>.{10})"
                     r"  +(?P<woken>[\d,]+)  +(?P<preempted>[\d,]+)  +(?P<longest>[\d,]+)"
                     r"  +(?P<percent>[\d.]+)  +(?P<longest_at>[\d:.]+|-)(?:  (?P<remarks>.+))?$")
CULPRITS = re.compile(r"(?P<name>other own threads|the rest|unexplained|TOTAL:) {30,}"
                      r"  +(?P<woken>[\d,]+)  +(?P<preempted>[\d,]+)  +(?P<longest>[\d,]+)"
                      r"  +(?P<percent>[\d.]+)  +(?P<longest_at>[\d:.]+|-)$")


# States in which somebody else had the CPU.
WAITED = ("ready after wakeup", "ready after preemption", "throttled")


class Row(dict):
    """The columns of one row, also as attributes."""

    __getattr__ = dict.__getitem__


class Culprits(list):
    """The rows of a thread. total: the figures of the line TOTAL:."""

    total = 0

    def append(self, row):
        if row.name == "TOTAL:":
            self.total = row.ns
        else:
            super().append(row)


def number(text):
    return int(text.replace(",", ""))


def row(text, error):
    match = CULPRITS.match(text) or CULPRIT.match(text)
    if not match:
        raise error("not who had the CPU")
    found = Row({"tid": "-", "pid": "-", "class": "-", "remarks": None, **match.groupdict()})
    found.update(name=found.name.strip(), percent=float(found.percent),
                 longest=number(found.longest),
                 ns=number(found.woken) + number(found.preempted))
    found.update({key: None if found[key] == "-" else int(found[key]) for key in ("tid", "pid")})
    found["class"] = found["class"].strip()
    return found


def faults(thread):
    """Compares the culprits' time with the states in which somebody had the CPU."""
    found = []
    ready = sum(thread.ns[state] for state in WAITED)
    if thread.culprits.total != ready:
        found.append(f"the CPU was had for {thread.culprits.total:,}, its states have {ready:,}")
    if sum(row.ns for row in thread.culprits) != thread.culprits.total:
        found.append(f"those who had the CPU do not add up to {thread.culprits.total:,}")
    return found
