#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tables for SQL: each figure as JSON has it, names of arbitrary bytes, and the five queries of
examples/queries.sql over 1,000 captures of 20 hosts, derived from one capture: by DuckDB and
SQLite, against sums of the same captures."""

import collections
import copy
import csv
import json
import os
import random
import re
import sqlite3
import subprocess

import kdneeds
import kdtest

TABLES = ("samples", "threads", "syscalls", "waits", "interruptions", "verdicts")
HOSTS, CAPTURES = 20, 50
QUERIES = kdtest.ROOT / "examples" / "queries.sql"
DUCKDB = kdtest.ROOT / "build" / "duckdb" / "node_modules" / "@duckdb" / "node-api"
RUNNER = """
const { createRequire } = require("module");
const { DuckDBInstance } = createRequire(process.argv[1] + "/")(process.argv[1]);
(async () => {
  const request = JSON.parse(require("fs").readFileSync(0, "utf8"));
  const connection = await (await DuckDBInstance.create(":memory:")).connect();
  for (const table of request.tables)
    await connection.run(`CREATE TABLE ${table} AS SELECT * FROM
                          read_csv('${request.folder}/*/${table}.csv', union_by_name = true)`);
  const results = [];
  for (const query of request.queries)
    results.push((await connection.runAndReadAll(query)).getRowsJson());
  console.log(JSON.stringify(results));
})();
"""


def rows_of(folder):
    """Rows of the tables, read by a strict parser of RFC 4180."""
    tables = {}
    for table in TABLES:
        with open(folder / f"{table}.csv", newline="", encoding="utf-8") as file:
            tables[table] = list(csv.DictReader(file, strict=True))
    return tables


def capture(test):
    load = test.workload("roles", "spin:0", "fifo:0:3:30")
    path = test.directory() / "json"
    done = test.program("-p", load.pid, "--sample-time", "100ms", "-o", f"json:{path}", "--quiet")
    load.end()
    test.eq(done.status, 0, "a capture")
    return json.loads(path.read_text())


def figure(thread, column):
    """The JSON figure for a column of the threads table; None if there is none."""
    for key, value in thread.items():
        if column == key:
            return value if not isinstance(value, dict) else None
        if isinstance(value, dict) and column.startswith(f"{key}_"):
            found = figure(value, column[len(key) + 1:])
            if found is not None:
                return found
    return None


def case_figures(test):
    sample = capture(test)
    folder = test.directory()
    (folder / "one.json").write_text(json.dumps(sample))
    done = test.program("--replay", folder / "one.json", "-o", f"csv:{folder}/csv")
    test.eq((done.status, done.stderr), (0, ""), "status 0")
    test.eq(sorted(path.name for path in (folder / "csv").iterdir()),
            sorted(f"{table}.csv" for table in TABLES), "a file for each table")
    test.eq((folder / "csv").stat().st_mode & 0o777, 0o700, "for root only")
    tables = rows_of(folder / "csv")
    one, = tables["samples"]
    test.eq([int(one[key]) for key in ("busy_ns", "kept_ns", "unexplained_ns", "lost", "pid")],
            [sample[key] for key in ("busy_ns", "kept_ns", "unexplained_ns", "lost", "pid")],
            "the sample's figures")
    test.eq(one["host"], sample["capture"]["host"], "and host")
    keys = {(row["host"], row["sample"]) for rows in tables.values() for row in rows}
    test.eq(keys, {(one["host"], one["sample"])}, "all rows are of it")
    wrong, compared = [], 0
    for row, thread in zip(tables["threads"], sample["threads"], strict=True):
        for column, value in row.items():
            want = figure(thread, column)
            if want is None or column in ("name", "ended"):
                continue
            compared += 1
            wrong += [] if int(value) == want else [f"{column}: {value}, JSON has {want}"]
    test.ok(not wrong, "threads: what JSON has", *wrong[:5])
    test.ok(compared > 100, "in many columns", compared)
    calls = [(str(thread["tid"]), call["name"], str(call["count"]), str(call["total_ns"]))
             for thread in sample["threads"] for call in thread["syscalls"]]
    test.eq([(row["tid"], row["syscall"], row["count"], row["total_ns"])
             for row in tables["syscalls"]], calls, "system calls")
    irqs = collections.Counter((row["kind"], row["name"], int(row["total_ns"]))
                               for row in tables["interruptions"])
    test.eq(irqs, collections.Counter(
        (kind[:-1], irq["name"], irq["total_ns"]) for thread in sample["threads"]
        for kind in ("hardirqs", "softirqs") for irq in thread[kind]), "interrupts")
    blamed = [(row["cause"], row["who"], int(row["ns"])) for row in tables["verdicts"]
              if row["blamed"] == "true"]
    test.eq(blamed, [(each["cause"], each["who"].get("comm", ""), each["ns"])
                     for each in sample["verdict"]], "who is blamed")


def case_hostile(test):
    sample = capture(test)
    names = ['a,b', '"', '""x"', "a\nb", "\r\n", "'; DROP", "=1+1", "+1,2", "-x", "@y", "a=b",
             "\u00e9\u4e2d", "\\", "x\ty"]
    threads = []
    for number, name in enumerate(names):
        thread = copy.deepcopy(sample["threads"][0])
        thread.update(name=name, tid=1000 + number)
        threads.append(thread)
    raw = copy.deepcopy(sample["threads"][0])
    raw.update(name="\ufffd", name_hex="ff2c22", tid=2000)
    sample["threads"] = [*threads, raw]
    sample["capture"]["host"] = 'h,"x"'
    folder = test.directory()
    (folder / "one.json").write_text(json.dumps(sample))
    done = test.program("--replay", folder / "one.json", "-o", f"csv:{folder}/csv")
    test.eq(done.status, 0, "status 0")
    tables = rows_of(folder / "csv")
    shown = {int(row["tid"]): row["thread"] for row in tables["threads"]}
    want = {1000 + number: name.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
            .replace("\t", "\\t") for number, name in enumerate(names)}
    want = {tid: "'" * name.startswith(("=", "+", "-", "@")) + name for tid, name in want.items()}
    test.eq(shown, {**want, 2000: '\\xff,"'}, "names as the text has them")
    test.eq({row["host"] for rows in tables.values() for row in rows}, {'h,"x"'}, "the host, too")
    lines = (folder / "csv" / "threads.csv").read_bytes().split(b"\r\n")
    test.eq((len(lines), lines[-1]), (2 + len(names) + 1, b""), "a line for each, ended by CR LF")


def case_full_disk(test):
    """Tables and other outputs have the same samples, whichever of them finds the disk full."""
    sample, folder = capture(test), test.directory()
    sample["threads"][0]["syscalls"] = [{"number": number, "count": 1, "total_ns": 1, "max_ns": 1}
                                        for number in range(40)]
    lines = [json.dumps({**sample, "number": number, "window": {
        **sample["window"], "start_time": f"2026-01-02T03:04:05.{number:09}Z"}})
             for number in range(300)]
    (folder / "many.json").write_text("\n".join(lines))
    (folder / "disk").mkdir()
    csv, text, again = (f"csv:{folder}/disk/csv", f"text:{folder}/disk/text", f"json:{folder}/disk/json")
    for kib, outputs in ((64, (csv,)), (72, (csv,)), (80, (csv,)), (240, (csv, text, again)),
                         (260, (again, csv, text)), (280, (text, again, csv))):
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kib}k", "none", folder / "disk"],
                       check=True)
        try:
            done = test.program("--replay", folder / "many.json",
                                *(word for output in outputs for word in ("-o", output)))
            test.eq(done.status, 74, f"{kib} KiB: the disk is full")
            tables = rows_of(folder / "disk" / "csv")
            last = {name: len({row["sample"] for row in tables[name]})
                    for name in ("samples", "threads", "syscalls", "verdicts")}
            if again in outputs:
                last["json"] = len((folder / "disk/json").read_text().splitlines())
                last["text"] = (folder / "disk/text").read_text().count("# Sample dump")
            test.ok(0 < last["samples"] < 300, "some samples are there", last)
            test.eq(len(set(last.values())), 1, "in each of them") or test.remark(last)
        finally:
            subprocess.run(["umount", folder / "disk"], check=True)


def case_files(test):
    """Files contain only this run; the header appears once."""
    load = test.workload("roles", "poll")
    folder = test.directory()
    for _ in range(2):
        done = test.program("-p", load.pid, "--sample-time", "20ms", "--sample-count", 3,
                            "-o", f"csv:{folder}/csv,mode=0644")
        test.eq(done.status, 0, "status 0")
        test.eq([row["number"] for row in rows_of(folder / "csv")["samples"]], ["1", "2", "3"],
                "three samples, one header")
    test.eq((folder / "csv").stat().st_mode & 0o777, 0o755, "who may read files may enter")
    (folder / "elsewhere").mkdir()
    (folder / "shared").mkdir()
    (folder / "shared").chmod(0o1777)
    (folder / "shared" / "link").symlink_to(folder / "elsewhere")
    (folder / "shared" / "dangling").symlink_to(folder / "elsewhere" / "y")
    for args, status in ((["-o", "csv"], 64), (["-o", "csv:"], 64), (["-o", "csv:/dev/null/x"], 74),
                         (["-o", f"csv:{folder}/x,limit=1M"], 64),
                         (["-o", f"csv:{folder}/%n"], 64), (["-o", f"csv:{folder}/%t/"], 64),
                         (["-o", f"csv:{folder}/100%%/"], 0),
                         (["-o", f"csv:{folder}/shared/link/x"], 74),
                         (["-o", f"csv:{folder}/shared/dangling"], 74)):
        done = test.program("-p", load.pid, "--sample-time", "20ms", *args)
        test.eq(done.status, status, f"{args}: status {status}")
    test.ok((folder / "100%" / "samples.csv").exists(), "a percent sign in the name")
    test.eq(list((folder / "elsewhere").iterdir()), [], "nothing is made behind others' links")


# --- Many captures ---

def varied(template, host, number, chance):
    """A variant of a capture for another host: part of the running time becomes time spent waiting
    for a CPU."""
    sample = json.loads(template)
    sample["number"] = number
    sample["pid"] = 1000 + number
    sample["capture"]["host"] = f"host{host:02}"
    for thread in sample["threads"]:
        ledger = thread["ledger"]
        moved = chance.randrange(ledger["user_ns"] + 1)
        ledger["user_ns"] -= moved
        ledger["ready_preempted_ns"] += moved
        thread["ready"].update(max_ns=moved, longest_ns=moved)
        for call in thread["syscalls"]:
            call["longest_ns"] = call["max_ns"] = chance.randrange(10 ** 9)
        thread["open_syscalls"] = thread["open_periods"] = []
        thread.pop("in_flight", None)
        thread["ready_by"] = [{"kind": "task", "name": chance.choice(("hog", "backup", "cron")),
                               "tid": 77, "preempted_ns": ledger["ready_preempted_ns"],
                               "woken_ns": 0, "longest_ns": moved}]
    return sample


def fleet(test, folder):
    """Writes the tables of all hosts. Returns the captures as the program's JSON has them."""
    template, chance, captures = json.dumps(capture(test)), random.Random(13), []
    for host in range(HOSTS):
        path = folder / f"{host}.json"
        path.write_text("".join(json.dumps(varied(template, host, number + 1, chance)) + "\n"
                                for number in range(CAPTURES)))
        done = test.program("--replay", path, "-o", f"csv:{folder}/{host:02}", "-o", "json")
        if done.status:
            raise RuntimeError(done.stderr)
        captures += [json.loads(line) for line in done.stdout.splitlines()]
    return [each for each in captures if each["type"] == "sample"]


def added(pairs):
    sums = collections.Counter()
    for key, value in pairs:
        sums[key] += value
    return sums


def expected(captures):
    """The answers to the five queries, computed by hand."""
    host = {id(each): each["capture"]["host"] for each in captures}
    kept = added((host[id(each)], each["kept_ns"]) for each in captures)
    busy = added((host[id(each)], each["busy_ns"]) for each in captures)
    first = sorted(((-round(100 * kept[name] / busy[name], 2), name) for name in busy))[:5]
    blamed = [((row["cause"], row["who"].get("comm", "")), row["ns"], host[id(each)])
              for each in captures for row in each["verdict"]]
    seconds = added((key, ns) for key, ns, _ in blamed)
    second = sorted((-round(ns / 1e9, 3), *key) for key, ns in seconds.items())[:5]
    calls = [(call["name"], call["count"], call["longest_ns"]) for each in captures
             for thread in each["threads"] for call in thread["syscalls"]]
    counts = added((name, count) for name, count, _ in calls)
    longest = {name: max(ns for other, _, ns in calls if other == name) for name in counts}
    fourth = sorted((-thread["ready"]["max_ns"], host[id(each)], each["number"], thread["name"])
                    for each in captures for thread in each["threads"])[:5]
    by = [(row["name"], host[id(each)], row["woken_ns"] + row["preempted_ns"], row["longest_ns"])
          for each in captures for thread in each["threads"] for row in thread["ready_by"]
          if row["kind"] == "task"]
    total = added((name, ns) for name, _, ns, _ in by)
    return [
        [[name, CAPTURES, -percent] for percent, name in first],
        [[*key, len({at for other, _, at in blamed if other == tuple(key)}), -ns]
         for ns, *key in second],
        [[name, counts[name], longest[name]]
         for name in sorted(counts, key=lambda name: (-longest[name], name))[:5]],
        [[at, number, name, -ns] for ns, at, number, name in fourth],
        [[name, len({at for other, at, *_ in by if other == name}), total[name],
          max(ns for other, *_, ns in by if other == name)]
         for name in sorted(total, key=lambda name: (-total[name], name))[:5]],
    ]


def queries():
    text = re.sub(r"--.*", "", QUERIES.read_text())
    return [query.strip() for query in text.split(";") if query.strip()]


def duckdb(folder):
    kdneeds.need("node")
    if not DUCKDB.exists():
        raise kdtest.Skip("DuckDB is not installed: tests/deps check gets it by npm")
    request = {"tables": TABLES, "folder": str(folder), "queries": queries()}
    done = subprocess.run(["node", "-e", RUNNER, str(DUCKDB)], input=json.dumps(request), text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                          env={**os.environ, "TZ": "UTC"})
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)


def sqlite(folder):
    database = sqlite3.connect(":memory:")
    for table in TABLES:
        for path in sorted(folder.glob(f"*/{table}.csv")):
            with open(path, newline="", encoding="utf-8") as file:
                header, *rows = csv.reader(file)
            columns = ", ".join(f'"{name}" NUMERIC' for name in header)
            database.execute(f"CREATE TABLE IF NOT EXISTS {table} ({columns})")
            database.executemany(f"INSERT INTO {table} VALUES ({','.join('?' * len(header))})",
                                 rows)
    return [[list(row) for row in database.execute(query)] for query in queries()]


def plain(results):
    """Turns values into numbers: DuckDB's JSON has large ones as text, and writes empty cells as
    NULL."""
    def value(cell):
        try:
            return float(cell)
        except (TypeError, ValueError):
            return "" if cell is None else cell
    return [[[value(cell) for cell in row] for row in rows] for rows in results]


def alike(got, want):
    """Whether rows are the same; the last digit of half a one may be rounded either way."""
    def same(one, other):
        return abs(one - other) < 0.0015 if isinstance(one, float) else one == other
    return len(got) == len(want) and all(
        len(row) == len(other) and all(map(same, row, other)) for row, other in zip(got, want))


def case_queries(test):
    folder = test.directory()
    captures = fleet(test, folder)
    test.eq(len(captures), HOSTS * CAPTURES, "so many captures")
    want = plain(expected(captures))
    test.eq(len(queries()), len(want), "five queries")
    for name, engine in (("SQLite", sqlite), ("DuckDB", duckdb)):
        for number, (got, answer) in enumerate(zip(plain(engine(folder)), want, strict=True), 1):
            if number == 5:  # what is no task has rows, too
                got = [row for row in got if row[0] in ("hog", "backup", "cron")]
                answer = answer[:len(got)]
            test.ok(got and alike(got, answer), f"{name}: query {number}", f"got  {got}",
                    f"want {answer}")


kdtest.main(case_figures, case_hostile, case_full_disk, case_files, case_queries)
