#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What of the documents follows from the program's tables: `make documents` writes it, and
documents.t compares it with what is there.

Of the JSON schema, members with their order, types and words. Descriptions are written there by
hand, and stay; a new member has an empty one. Members are required only if they always were: older
captures lack new ones. Of the manual page of metrics, all of FAMILIES."""

import json
import re
import textwrap

import lint
from kdtest import PROGRAM

TABLES = lint.ROOT / "build" / "lint" / "fields"  # of tests/lint/fields.c
SCHEMA = "man/kernel_delay.schema.json"
METRICS_PAGE = "man/kernel_delay-metrics.5"

FORMS = {
    "u64": {"allOf": [{"$ref": "#/definitions/u64"}]},
    "u32": {"type": "integer", "minimum": 0, "maximum": 2**32 - 1},
    "i32": {"type": "integer", "minimum": -2**31, "maximum": 2**31 - 1},
    "i64": {"type": "integer", "minimum": -2**63, "maximum": 2**63 - 1},
    "bool": {"type": "boolean"},
    "text": {"type": "string"},
    "plain": {"type": "string"},  # of which there are no other bytes
    "address": {"allOf": [{"$ref": "#/definitions/address"}]},
    "bytes": {"allOf": [{"$ref": "#/definitions/bytes"}]},
    "buckets": {"allOf": [{"$ref": "#/definitions/buckets"}]},
    "time": {"allOf": [{"$ref": "#/definitions/time"}]},
}
# Tables of what functions of cli/json write, by the key of their form.
TABLES_OF_FORMS = {"losses": "losses", "rows": "lists", "traces": "traces",
                   "processes": "process_sum"}
# Members that such functions write, which are in no table: they stay as they are.
BY_HAND = {
    "sample": "schema type foreign_syscalls lost verdict_tid busy_ns kept_ns unexplained_ns taken_by_others_ns "
              "taken_by_own_threads_ns outside_calls_ns waited_idle_allowed_ns "
              "waited_idle_barred_ns waited_idle_none_ns largest_culprit",
    "traces": "stacks syscalls waits samples joined_stacks",
    "trace_row": "end_ns time_ns duration_ns waited_ns running_ns ready_ns result waited_for",
    "frames": "function_hex offset address",
    "rows": "text_hex",
    "recording": "schema type number",
    "triggers": "schema type",
}
# Members that nothing writes any more, and that were promised: they may be missing.
RETIRED = {"sample": "ipi_entry_exit_ns"}


def row(key, kind, always=False, **more):
    return {"key": key, "kind": kind, "always": always, "needed": False, **more}


class Schema:
    def __init__(self, text, tables):
        self.text, self.tables = text, tables
        self.made, self.more = set(), []
        self.call = [row("number", "u32", True), row("mode", "word", words=tables["modes"]),
                     row("name", "plain")]
        self.shares = [{**share, "always": False} for share in tables["shares"]] + \
                      [row("buckets", "buckets")]

    def node(self, old):
        """The node itself, or the one that it refers to."""
        ref = old.get("$ref") or old.get("allOf", [{}])[0].get("$ref")
        node = self.text if ref else old
        for part in ref.split("/")[1:] if ref else ():
            node = node[part]
        return node

    def rows(self, table):
        """The members of a table, one row each."""
        for each in table:
            kind, key = each["kind"], each["key"]
            if kind == "call":
                yield from ({**part, "needed": part["always"] and each["needed"]}
                            for part in self.call)
            elif kind in ("complete", "times"):
                if kind == "complete":
                    yield from (row("longest_ns", "u64", True), row("longest_at", "time"),
                                row("longest_open", "bool", True))
                # Not of all periods are there distributions: stopped, long_poll.
                yield from self.shares if each["times"] else ()
            elif kind == "open":
                yield row(key, "rows", True, fields=self.call + self.tables["open"])
                yield row("open_periods", "rows", True, fields=[
                    row("kind", "word", True, words=self.tables["periods"]), *self.tables["open"]])
            elif kind == "call?":
                yield row(key, "object", fields=self.call)
            else:
                yield {**each, "always": each["always"] and kind[-1] != "?"}
                if kind.startswith("text"):
                    yield row(key + "_hex", "bytes")

    def member(self, each, old):
        """The schema of a row's member."""
        kind, key = each["kind"].rstrip("?"), each["key"]
        text = {"description": old.get("description", "")}
        fields = each.get("fields", [])
        if kind == "form":
            fields = fields + self.tables.get(TABLES_OF_FORMS.get(key), [])
            if fields:
                kind = "rows" if old.get("type") == "array" else "object"
        if kind == "bytes":
            text = {"description": f"All bytes of {key[:-4]}, if they are not valid UTF-8."}
        if kind == "word":
            return {**text, "enum": each["words"]}
        if kind in FORMS:
            new = {**text, **FORMS[kind]}
            # Some count from 1 on, which no row says.
            return {**new, "minimum": 1} if "minimum" in new and old.get("minimum") == 1 else new
        new = {**text, **old}
        if kind == "object":
            new.update({} if "allOf" in new else {"type": "object"})
            self.make(self.node(new), fields, key)
        elif kind == "rows":
            new["type"] = "array"
            self.make(self.node(new.setdefault("items", {"type": "object"})), fields, key)
        return new

    def make(self, node, table, name, elsewhere=()):
        """Makes the object from the rows of its table, without those that others have instead."""
        if "properties" not in node and isinstance(node.get("additionalProperties"), dict):
            self.make(node["additionalProperties"], table[0]["fields"], name)
            return
        rows = {each["key"]: each for each in self.rows(table)}
        if id(node) in self.made:  # by a table that has all of this one, too
            self.more += [(name, node, key) for key in rows]
            return
        self.made.add(id(node))
        was = node.get("properties", {})
        by_hand = set(f"{BY_HAND.get(name, '')} {RETIRED.get(name, '')}".split())
        keys = [key for key in was if key in rows or key in by_hand]
        at = 0
        for key in rows:
            if key not in keys and key not in elsewhere:
                keys.insert(at, key)
            at = keys.index(key) + 1 if key in keys else at
        required = [key for key in keys if self.requires(node, rows.get(key), key)]
        members = {key: self.member(rows[key], was.get(key, {})) if key in rows else was[key]
                   for key in keys}
        node.update({"properties": members, "required": required})
        if not required:
            del node["required"]

    @staticmethod
    def requires(node, each, key):
        if each and each["needed"]:
            return True
        known = not each or each["kind"] in ("form", "text?") or each["always"]
        return known and ("properties" not in node or key in node.get("required", ()))


def layout(value, indent="", name=""):
    """One line for each member that has no members of its own."""
    if not isinstance(value, dict) or not (name in ("properties", "definitions") or
                                           '"properties"' in json.dumps(value)):
        return json.dumps(value, ensure_ascii=False)
    inner = indent + "  "
    return "{\n" + ",\n".join(f'{inner}"{key}": {layout(part, inner, key)}'
                              for key, part in value.items()) + f"\n{indent}}}"


def tables():
    return json.loads(lint.output([TABLES])[1])


def schema(old):
    """The text of the schema, remade from the existing one."""
    text, all_tables = json.loads(old), tables()
    made = Schema(text, all_tables)
    of = text["definitions"]
    for name in ("sample", "triggers", "recording"):
        made.make(of[name], all_tables[name], name)
    kinds = [{**each, "always": False, "needed": False} for each in all_tables["kinds"]]
    made.make(of["recorded_kind"], kinds, "recorded_kind")
    verdict = of["sample"]["properties"]["verdict"]["items"]["properties"]
    culprit = of["thread"]["properties"]["ready_by"]["items"]["properties"]
    for node, words in ((verdict["cause"], all_tables["causes"]),
                        (verdict["who"]["properties"]["policy"], culprit["policy"]["enum"]),
                        (of["difference"]["properties"]["cause"], all_tables["causes"]),
                        (of["recorded"]["properties"]["list"],
                         [each["key"] for each in all_tables["lists"]])):
        node.pop("type", None)
        node["enum"] = words
    traces = of["sample"]["properties"]["traces"]["properties"]
    made.make(traces["stacks"]["items"], all_tables["stack"], "stack")
    lists = [traces[name]["items"] for name in ("syscalls", "waits", "samples")]
    known = {key for items in lists for key in items["properties"]}
    for items in lists:
        made.make(items, all_tables["trace_row"], "trace_row", known)
    for name, node, key in made.more:
        if key not in node["properties"]:
            raise LookupError(f"{key} of {name} is not in all tables of that object")
    return layout(text) + "\n"


FAMILIES = re.compile(r"(?<=^\.SH FAMILIES\n)(.*?)(^\.TP\n.*?)(?=^\.SH )", re.MULTILINE | re.DOTALL)


def metrics_page(old):
    """The manual page of metrics, with all of FAMILIES remade except its introduction."""
    listed = lint.output([PROGRAM, "--list-metrics"])[1].splitlines()[1:]
    made = ""
    for head, said in zip(listed[::2], listed[1::2]):
        name, kind, unit, labels = head.split()
        of = f" of {unit}" if unit != "-" else ""
        labels = f" {{{labels}}}" if labels != "-" else ""
        said = "\n".join(textwrap.fill(sentence.replace("-", r"\-"), 80, break_on_hyphens=False)
                         for sentence in re.split(r"(?<=\.) ", said.strip()))
        made += f".TP\n.B {name}\n{kind}{of}{labels}\n.br\n{said}\n"
    return FAMILIES.sub(lambda section: section[1] + made, old)


# What scripts, and readers of JSON and of metrics, may rely on (NEWS): added to, never taken from.
PROMISED = "tests/lint/promised"
# A family without a value is left out, and so may be these, which have none any more.
LEFT_OUT = ["metric kernel_delay_hardirq_sent_entry_seconds gauge seconds -"]


def type_of(node):
    refs = [each["$ref"] for each in (node, *node.get("allOf", ())) if "$ref" in each]
    return refs[0].split("/")[-1] if refs else node.get("type", "word")


def members_of(node, path):
    """Lines for a node's members, with their types and whether they are required, and for its
    words."""
    for word in (*node.get("enum", ()), *([node["const"]] if "const" in node else ())):
        yield f"word {path} {word}"
    for key, member in node.get("properties", {}).items():
        required = " required" if key in node.get("required", ()) else ""
        if not key.endswith("_hex"):
            yield f"member {path}.{key} {type_of(member)}{required}"
        yield from members_of(member, f"{path}.{key}")
    for each in (*node.get("allOf", ()), *node.get("anyOf", ()), *node.get("oneOf", ())):
        yield from members_of(each, path)
    for key in "items", "additionalProperties":
        if isinstance(node.get(key), dict):
            yield from members_of(node[key], path + "[]")


OPTION = re.compile(r"^  (?:-(\w), |    )--([a-z-]+)(\[?)(=?)", re.MULTILINE)
ATTRIBUTE = re.compile(r"^ {8}--([a-z-]+)=\S*?,([a-z-]+)(=?)", re.MULTILINE)


def uses(name, optional, value):
    """Lines for how an option may be given: alone, with a value, or both."""
    if optional or not value:
        yield f"option {name} alone"
    if value:
        yield f"option {name} value"


def command_line():
    """Lines for what may stand on a command line, and for exit statuses, from the help."""
    said = lint.output([PROGRAM, "--help=all"])[1]
    for letter, *option in OPTION.findall(said):
        for name in (f"--{option[0]}", *([f"-{letter}"] if letter else ())):
            yield from uses(name, *option[1:])
    for option, name, value in ATTRIBUTE.findall(said):
        yield from uses(f"--{option},{name}", "", value)
    triggers = re.search(r"^TRIGGER is one of\n(.*?)^OBJECT", said, re.MULTILINE | re.DOTALL)[1]
    yield from (f"trigger {name}" for name in re.findall(r"^  (\w+):", triggers, re.MULTILINE))
    yield from (f"trigger {name}" for names in re.findall(r"\((?:also )?(.*?):\)$", triggers, re.MULTILINE)
                for name in names.split(":, "))
    formats = re.search(r"^FORMAT is one of\n(.*?)^$", said, re.MULTILINE | re.DOTALL)[1]
    yield from (f"format {name}" for name in re.findall(r"^  (\w+)", formats, re.MULTILINE))
    yield from (f"status {number}" for number in
                re.findall(r"(\d+)\s", said.partition("\nExit status: ")[2]))
    conditions = re.search(r"there are (.*)", lint.output([PROGRAM, "--fail-if", "?>0"])[1])[1]
    for name, _, fields in (word.partition(".") for word in conditions.replace("[.NAME]", "").split(", ")):
        yield from (f"condition {name}{'.' * bool(field)}{field}" for field in fields.split("|"))


def promises():
    """Everything that is promised now."""
    definitions = json.loads(lint.text(SCHEMA))["definitions"]
    listed = lint.output([PROGRAM, "--list-metrics"])[1].splitlines()[1::2]
    return {*(line for name, node in definitions.items() for line in members_of(node, name)),
            *("metric " + " ".join(line.split()) for line in listed), *LEFT_OUT, *command_line()}


MADE = {SCHEMA: schema, METRICS_PAGE: metrics_page}

if __name__ == "__main__":
    for path, make in MADE.items():
        (lint.ROOT / path).write_text(make(lint.text(path)), encoding="utf-8")
    there = set(lint.text(PROMISED).splitlines())
    (lint.ROOT / PROMISED).write_text("\n".join(sorted(there | promises())) + "\n", encoding="utf-8")
