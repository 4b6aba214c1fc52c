#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""There are no circles of files or folders, neither by includes nor by calls. A .c file and its
header count as one."""

import collections
import os
import pathlib
import re

import lint

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+\.h)"', re.MULTILINE)
# What is still to be opened, by one of the circle's files, with how many files it has. It only shrinks.
KNOWN = {
    "files by includes": {
    },
    "files by calls": {
    },
}


def circles(graph):
    """Strongly connected sets of nodes, by Tarjan; graph: {node: nodes that it needs}."""
    number, low, stack, found = {}, {}, [], []

    def visit(node):
        number[node] = low[node] = len(number)
        stack.append(node)
        for other in sorted(graph.get(node, ())):
            if other not in number:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], number[other])
        if low[node] == number[node]:
            circle = stack[stack.index(node):]
            del stack[stack.index(node):]
            if len(circle) > 1:
                found.append(sorted(circle))

    for node in sorted(graph):
        if node not in number:
            visit(node)
    return found


def way(graph, circle):
    """A shortest cycle through a circle's first node."""
    start, queue = circle[0], collections.deque([[circle[0]]])
    passed = set()
    while queue:
        path = queue.popleft()
        for other in sorted(graph.get(path[-1], set()) & set(circle)):
            if other == start:
                return path + [start]
            if other not in passed:
                passed.add(other)
                queue.append(path + [other])
    return circle


def folders_of(graph):
    found = collections.defaultdict(set)
    for unit, others in graph.items():
        for other in others:
            if os.path.dirname(unit) != os.path.dirname(other):
                found[os.path.dirname(unit)].add(os.path.dirname(other))
    return found


def unit(path):
    return pathlib.PurePath(path).with_suffix("").as_posix()


def includes():
    graph = collections.defaultdict(set)
    for path in (path for folder in ("cli", "probes") for path in lint.files(".c", ".h", under=folder)):
        for name in INCLUDE.findall(lint.text(path)):
            other = name if "/" in name else f"{path.parent.as_posix()}/{name}"
            if unit(other) != unit(path) and (lint.ROOT / other).exists():
                graph[unit(path)].add(unit(other))
    return graph


def calls(test):
    """Which file uses which other file's definitions, according to the compiled objects."""
    sources = [path for folder in ("cli", "probes") for path in lint.files(".c", under=folder)]
    objects = [f"build/{unit(path)}.o" for path in sources]
    missing = [path for path in objects if not (lint.ROOT / path).exists()]
    if missing:
        raise lint.Skip(f"there is no {missing[0]}: `make` first")
    status, said = lint.output([lint.tool("nm"), "-A", "-g", *objects])
    test.eq(status, 0, "nm reads the objects")
    owner, users = {}, collections.defaultdict(set)
    for line in said.splitlines():
        path, _, entry = line.partition(":")
        kind, name = entry.split()[-2:]
        place = unit(path).partition("/")[2]
        if kind == "U":
            users[name].add(place)
        else:
            owner[name] = place
    graph = collections.defaultdict(set)
    for name in owner.keys() & users.keys():
        for user in users[name]:
            graph[user].add(owner[name])
    test.ok(len(graph) > len(sources) / 2, "objects need each other", len(graph))
    return graph


def look(test, kind, graph):
    for level, edges in (("files", graph), ("folders", folders_of(graph))):
        found = circles(edges)
        known = KNOWN.get(f"{level} by {kind}", {})
        new = [circle for circle in found
               if not any(member in circle and len(circle) <= size for member, size in known.items())]
        test.ok(not new, f"no other circle of {level} by {kind} than is known",
                *(f"{len(circle)}: {' -> '.join(way(edges, circle))}; all: {', '.join(circle)}"
                  for circle in new))
        open_now = [f"{member}, {size}" for member, size in known.items()
                    if not any(member in circle and len(circle) == size for circle in found)]
        test.ok(not open_now, f"what is known of {level} by {kind} is still so", *open_now)


def case_includes(test):
    look(test, "includes", includes())


def case_calls(test):
    look(test, "calls", calls(test))


def case_found(test):
    """A circle is detected."""
    graph = {"a/1": {"a/2", "b/1"}, "a/2": {"a/3"}, "a/3": {"a/1"}, "b/1": {"b/2"}, "b/2": {"c/1"}}
    test.eq(circles(graph), [["a/1", "a/2", "a/3"]], "of three files")
    test.eq(way(graph, ["a/1", "a/2", "a/3"]), ["a/1", "a/2", "a/3", "a/1"], "the way around")
    test.eq(circles(folders_of(graph)), [], "and none of folders")
    graph["c/1"] = {"a/2"}
    test.eq(circles(folders_of(graph)), [["a", "b", "c"]], "of three folders")


lint.main(case_includes, case_calls, case_found)
