# SPDX-License-Identifier: Apache-2.0
"""Instructions of a BPF program as the kernel runs them: unreachable ones are gone, and look-ups in
arrays are instructions, too."""

import heapq
import re
import subprocess

import kdneeds

LINE = re.compile(r"^\s*(\d+): \(..\) (.*)$")
JUMP = re.compile(r"goto pc([+-]\d+)$")
# A look-up in an array: the index is in r0, and what is beyond its end is NULL.
INDEX, BEYOND = "r0 = *(u32 *)(r2 +0)", re.compile(r"if r0 >= 0x\w+ goto pc\+3$")
NULL, COPY = re.compile(r"if (r\d) (==|!=) 0x0 goto"), re.compile(r"(r\d) = r0$")


def xlated(number):
    """{index: text} of a program's own instructions. Functions that it calls come after them, and
    no jump leads there."""
    said = subprocess.run([kdneeds.bpftool(), "prog", "dump", "xlated", "id", number],
                          capture_output=True, text=True, check=True).stdout
    return {int(found[1]): found[2] for found in map(LINE.match, said.splitlines()) if found}


class Program:
    """A program as a graph. Some instructions occupy two indices, so the next one is not always one
    further."""

    def __init__(self, text):
        self.text = text
        order = sorted(text)
        self.behind = dict(zip(order, order[1:]))
        self.never = {edge for at in order for edge in self.misses(at)}

    def target(self, at):
        jump = JUMP.search(self.text[at])
        return at + 1 + int(jump[1]) if jump else None

    def misses(self, at):
        """The jumps (from, to) of a look-up in an array that begins there, for an index out of
        range: none ever is, though the verifier demands the check."""
        if not BEYOND.match(self.text[at]) or self.text.get(at - 1) != INDEX:
            return
        yield at, self.target(at)
        result = "r0"
        at = self.target(at) + 1
        for _ in range(5):
            null, copy = NULL.match(self.text[at]), COPY.match(self.text[at])
            result = copy[1] if copy else result
            if null and null[1] in ("r0", result):
                yield at, self.target(at) if null[2] == "==" else self.behind[at]
                return
            at = self.behind[at]

    def next_of(self, at):
        found = [] if self.text[at].startswith("goto") else [self.behind[at]]
        if self.target(at) is not None:
            found.append(self.target(at))
        return [to for to in found if (at, to) not in self.never]


def shortest(text):
    """The number of instructions on the shortest way from a program's beginning to its end."""
    program, heap, been = Program(text), [(1, 0)], set()
    while heap:
        count, at = heapq.heappop(heap)
        if at in been:
            continue
        if text[at] == "exit":
            return count
        been.add(at)
        for to in program.next_of(at):
            heapq.heappush(heap, (count + 1, to))
    raise AssertionError("the program does not end")
