#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where samples go: formats, files, names, conditions; and outputs that fail, which leave nothing
half-written. Where saved samples behave like live ones, since both have the same outputs, one live
run shows it, and --replay, which costs next to nothing, shows it for all formats."""

import itertools
import json
import os
import resource
import shutil
import signal
import subprocess

import kdreport
import kdtest

SHORT = ("--sample-time", "20ms")


def run(test, *args, **options):
    load = test.workload("roles", "poll")
    return test.program("-p", load.pid, *SHORT, *args, **options)


def saved(test):
    """A file with one sample of a live run."""
    path = test.directory() / "saved"
    done = run(test, "-o", f"json:{path}")
    if done.status:
        raise kdreport.ReportError(f"nothing is saved: {done.stderr}")
    return path


def replay(test, path, *args, **options):
    return test.program("--replay", path, *args, **options)


def samples(text):
    """The objects of a JSON output, one per line."""
    return [json.loads(line) for line in text.splitlines()
            if '"type":"summary"' not in line]


def case_formats(test):
    folder = test.directory()
    done = run(test, "-o", "json", "-o", f"text:{folder}/text", "-o", f"openmetrics:{folder}/om",
               "-o", f"prometheus:{folder}/x.prom")
    test.eq(done.status, 0, "status 0")
    test.eq(done.stderr, "", "no message")
    test.eq(len(samples(done.stdout)), 1, "standard output has one object, and no text")
    test.eq(sorted(os.listdir(folder)), ["om", "text", "x.prom"], "the files, and no others")
    report, = kdreport.parse((folder / "text").read_text())
    # The text has whole microseconds.
    window = samples(done.stdout)[0]["window"]["duration_ns"]
    test.between(report.window, window - 1000, window + 1000, "the same sample in both")
    test.ok((folder / "om").read_text().endswith("\n# EOF\n"), "OpenMetrics is whole")
    test.ok("# EOF" not in (folder / "x.prom").read_text(), "the other one is the older format")
    test.ok("kernel_delay_thread_seconds_total" in (folder / "x.prom").read_text(), "with metrics")
    for name in os.listdir(folder):
        test.eq((folder / name).stat().st_mode & 0o7777, 0o600, f"{name}: for root only")


def case_folded(test):
    load = test.workload("roles", "spin:-1")
    folder = test.directory()
    while True:  # it may get no CPU in samples as short as these
        done = test.program("-p", load.pid, "--sample-time", "50ms", "--sample-count=2",
                            "--profile=999", "-o", f"folded:{folder}/f", "-o", "folded")
        if done.status or done.stdout:
            break
    test.eq((done.status, done.stderr), (0, ""), "status 0")
    test.ok(done.stdout, "there are stacks")
    test.eq((folder / "f").read_text(), done.stdout, "the file has those of both samples")


def case_empty(test):
    """An output with nothing in it is reported."""
    folder, load = test.directory(), test.workload("roles", "convoy:-1:10:1000")
    args = ("-p", load.pid, "--sample-time", "200ms")
    done = test.program(*args, "--off-cpu=1min", "-o", f"folded:{folder}/f", "-o", f"json:{folder}/j")
    test.eq((done.status, (folder / "f").read_text()), (0, ""), "no wait is that long")
    test.eq(done.stderr.count("\n"), 1, "one line")
    test.ok(f"{folder}/f: there is no stack in it" in done.stderr, "says so", done.stderr)
    done = test.program(*args, "--off-cpu=1ns", "--wait-filter=disk", "-o", "folded",
                        "-o", f"json:{folder}/k")
    left = samples((folder / "k").read_text())[0]["traces"]["waits_left_out"]
    test.ok(left, "there are waits, which a filter leaves out")
    test.eq(done.stdout, "", "so no stack has any")
    test.ok(f"--wait-filter left out: {left:,}\n" in done.stderr, "which is said", done.stderr)


def case_plain_word(test):
    folder = test.directory()
    done = run(test, "-o", "out.txt,mode=0644", cwd=folder)
    test.eq((done.status, done.stdout, done.stderr), (0, "", ""), "nothing is printed")
    test.eq(len(kdreport.parse((folder / "out.txt").read_text())), 1, "the file has the report")
    test.eq((folder / "out.txt").stat().st_mode & 0o7777, 0o644, "with the mode asked for")
    done = run(test, "-o", "out.html", "-o", "out.json", cwd=folder)
    test.eq((done.status, done.stdout, done.stderr), (0, "", ""), "nor for other suffixes")
    test.ok((folder / "out.html").read_text().lower().startswith("<!doctype html>"), "a page")
    test.eq(samples((folder / "out.json").read_text())[0]["type"], "sample", "and JSON")
    for name in ("svg", "out.svg"):
        done = run(test, "-o", name, cwd=folder)
        test.eq(done.status, 64, f"{name}: neither a format nor a suffix of one")
    test.eq(sorted(os.listdir(folder)), ["out.html", "out.json", "out.txt"], "makes no file")
    done = run(test, "-o", "text,no-pager:out.txt")
    test.eq(done.status, 64, "a file behind an attribute")
    test.ok("give text:out.txt,no-pager\n" in done.stderr, "is put in its place", done.stderr)


def case_names(test):
    folder = test.directory()
    done = run(test, "--sample-count=3", "-o", f"text:{folder}/t-%n", "-o", f"json:{folder}/all",
               "-o", f"prometheus:{folder}/%p.prom", "-o", f"openmetrics:{folder}/om-%n-%t")
    test.eq((done.status, done.stdout), (0, ""), "status 0")
    names = sorted(os.listdir(folder))
    test.eq(len(names), 8, "the files")
    test.eq(names[-3:], ["t-1", "t-2", "t-3"], "those by number")
    for name in names[-3:]:
        test.eq(len(kdreport.parse((folder / name).read_text())), 1, f"{name}: one report")
    found = samples((folder / "all").read_text())
    test.eq([sample["number"] for sample in found], [1, 2, 3], "all samples, in order")
    test.ok(all(found[0]["capture"][key] for key in ("version", "process", "host", "kernel")),
            "they say where they are from", found[0]["capture"])
    text = next(path for path in folder.iterdir() if path.suffix == ".prom").read_text()
    counts = [line for line in text.splitlines() if line.startswith("kernel_delay_captures_total{")]
    test.ok(any(line.endswith('result="complete"} 3') for line in counts),
            "metrics of a file are of all samples until then", *counts)
    done = replay(test, folder / "all", "-o", "openmetrics")
    test.eq(done.stdout.count("# EOF\n"), 1, "metrics on a stream: one text, of all samples")
    test.ok(done.stdout.endswith("# EOF\n"), "which is whole")


def case_limit(test):
    folder = test.directory()
    done = replay(test, saved(test), "-o", f"json:{folder}/tiny,limit=100")
    test.eq(done.status, 74, "a limit that no sample has room in")
    test.ok("than its limit" in done.stderr, "is named", done.stderr)
    test.ok(not (folder / "tiny").exists(), "and nothing is written")


def case_quiet(test):
    done = run(test, "--quiet")
    test.eq((done.status, done.stdout, done.stderr), (0, "", ""), "nothing at all")
    done = run(test, "--quiet", "-o", "text")
    test.eq(len(kdreport.parse(done.stdout)), 1, "the text if it is asked for")


def case_process_substitution(test):
    load = test.workload("roles", "poll")
    folder = test.directory()
    script = (f'"$0" --full -p {load.pid} --sample-time 20ms -o json:>(cat > {folder}/a) '
              '-o text:/dev/stderr')
    done = subprocess.run(["bash", "-c", script, kdtest.PROGRAM], capture_output=True, check=False)
    test.eq(done.returncode, 0, "status 0")
    kdtest.wait_until(lambda: (folder / "a").read_text().endswith("}\n"))  # cat may be behind
    test.eq(len(samples((folder / "a").read_text())), 1, "the pipe gets the sample")
    test.eq(len(kdreport.parse(done.stderr.decode())), 1, "standard error the text")
    test.eq(done.stdout, b"", "standard output nothing")


def case_fail_if(test):
    load = test.workload("roles", "calls:0:0:0", "poll")  # which only sleep
    poll, = load.tid("poll")
    args = ("-p", load.pid, *SHORT, "--quiet")
    done = test.program(*args, "--fail-if", "thread(poll).blocked.pct>50", "--fail-if", "lost>0")
    test.eq(done.status, 4, "the condition: status 4")
    test.eq(len(done.stderr.splitlines()), 1, "one line")
    test.ok(f"thread {poll} 'poll'" in done.stderr and "blocked.pct>50" in done.stderr,
            "which names the thread and the condition", done.stderr)
    done = test.program(*args, "--fail-if", "thread(poll).run.pct>90")
    test.eq((done.status, done.stderr), (0, ""), "it does not apply: status 0")
    done = test.program(*args, "--fail-if", "redy.max>1ms")
    test.eq(done.status, 64, "an unknown metric: status 64")
    done = test.program(*args, "--fail-if", "upcalls<1")
    test.eq(done.status, 65, "nobody counts upcalls of this process: status 65")


def case_interrupted(test):
    load = test.workload("roles", "poll")
    for strict in ((), ("--strict",)):
        child = test.child([kdtest.PROGRAM, "-p", load.pid, "--sample-time", 60, "-o", "json",
                            "-o", "text:/dev/stderr", *strict], stderr=subprocess.PIPE)
        kdtest.wait_until(lambda child=child: b"# Start sampling" in b"".join(child.errors))
        child.signal(signal.SIGINT)
        test.eq(child.wait(), len(strict), f"status {len(strict)} {' '.join(strict)}")
        test.eq([sample["interrupted"] for sample in samples(child.stdout)], [True],
                "the sample says so")


def case_triggers(test):
    load = test.workload("roles", "poll")
    folder = test.directory()
    done = test.program("-p", load.pid, "--start-trigger", "t:sched:sched_switch", *SHORT,
                        "-o", f"text:{folder}/t-%n", "-o", f"json:{folder}/j",
                        "-o", f"openmetrics:{folder}/m")
    test.eq(done.status, 0, "status 0")
    test.eq(sorted(os.listdir(folder)), ["j", "m", "t-1"], "the files")
    text = (folder / "t-1").read_text()
    test.ok(text.startswith("# Start sampling (trigger@") and "# TRIGGER STATISTICS" in text,
            "the statistics follow the last sample", text[:200])
    objects = samples((folder / "j").read_text())
    test.eq([item["type"] for item in objects], ["sample", "triggers"], "so they do in JSON")
    test.eq(objects[0]["capture"].get("start_trigger"), "t:sched:sched_switch",
            "samples name the trigger")
    test.ok("kernel_delay_trigger_hits_total{" in (folder / "m").read_text(), "metrics count hits")
    test.eq([line for line in done.stderr.splitlines() if "armed @" not in line],
            [f"kernel_delay: {folder}/{name}: 1 sample" for name in ("t-%n", "j", "m")],
            "it ends with what each has")
    done = test.program("-p", load.pid, "--start-trigger", "t:sched:sched_switch", *SHORT,
                        "--off-cpu=1ns", "--wait-filter=*", "-o", f"csv:{folder}/c",
                        "-o", f"folded:{folder}/f")
    for name in ("f", "c/threads.csv", "c/waits.csv", "c/samples.csv"):
        lines = (folder / name).read_text().splitlines()
        rows = len(lines) - name.endswith("csv")
        what = "row" if name.endswith("csv") else "stack"
        test.ok(f"{folder}/{name}: {rows:,} {what}{'' if rows == 1 else 's'} of 1 sample\n" in done.stderr,
                f"{name}: {rows} {what}s", done.stderr)
    (folder / "hits").write_text((folder / "j").read_text().splitlines()[-1] + "\n")
    done = replay(test, folder / "hits", "--quiet", "--fail-if", "lost>0")
    test.eq(done.status, 65, "a condition that there is no sample for: status 65")
    test.ok("no sample" in done.stderr, "which is said", done.stderr)
    child = test.child([kdtest.PROGRAM, "-p", load.pid, "--start-trigger",
                        "t:sched:sched_process_exit,target-only", "--fail-if", "lost>0", *SHORT],
                       stderr=subprocess.PIPE)
    kdtest.wait_until(lambda: b"armed" in b"".join(child.errors))
    child.signal(signal.SIGINT)
    test.eq(child.wait(), 75, "nor when a signal ends a run without any: status 75")


def case_replay(test):
    folder = test.directory()
    done = run(test, "--sample-count=2", "-o", "text", "-o", f"json:{folder}/j")
    told = [line for line in done.stdout.splitlines()
            if not line.startswith(("# Start", "# Stop"))]
    (folder / "j").chmod(0o644)
    folder.chmod(0o755)
    copy = folder / "kernel_delay"
    shutil.copy(kdtest.PROGRAM, copy)
    again = kdtest.Finished(test.child(["setpriv", "--reuid", "65534", "--regid", "65534",
                                        "--clear-groups", copy, "--full", "--replay", folder / "j"]))
    test.eq((again.status, again.stderr), (0, ""), "as nobody: status 0")
    test.eq(again.stdout.splitlines(), told, "the same text")
    missing = test.program("--replay", folder / "none")
    test.eq(missing.status, 66, "no such file: status 66")
    (folder / "bad").write_text('{"schema":')
    test.eq(test.program("--replay", folder / "bad").status, 65, "a damaged one: status 65")


def failed(test, what, folder, *args, kept=(), of=None, **options):
    """A run, or a replay of a saved sample, that has to end with status 74 and leave the files as
    they were."""
    done = replay(test, of, *args, **options) if of else run(test, *args, **options)
    test.eq(done.status, 74, f"{what}: status 74")
    test.between(len(done.stderr.splitlines()), 1, 2, f"{what}: one or two lines of why")
    test.eq(sorted(os.listdir(folder)), sorted(kept), f"{what}: no file is left")
    return done


def case_streams_fail(test):
    folder, one = test.directory(), saved(test)
    # Live once of each kind.
    for form, live in (("text", "to /dev/full"), ("json", "on a full disk"),
                       ("openmetrics", "to a closed pipe"), ("prometheus", "")):
        for of in (None, one):
            if of or live == "to /dev/full":
                failed(test, f"{form} to /dev/full", folder, "-o", f"{form}:/dev/full", of=of)
            if of or live == "on a full disk":
                with open("/dev/full", "w", encoding="ascii") as full:
                    failed(test, f"{form} on a full disk", folder, "-o", form, of=of, stdout=full)
            if of or live == "to a closed pipe":
                check_closed_pipe(test, form, of)


def check_closed_pipe(test, form, of):
    read, write = os.pipe()
    os.close(read)
    done = replay(test, of, "-o", form, stdout=write) if of else run(test, "-o", form, stdout=write)
    os.close(write)
    test.eq((done.status, done.stderr), (128 + signal.SIGPIPE, ""),
            f"{form} to a closed pipe: ends as other filters do, and says nothing")


def case_no_memory(test):
    """Wherever the program runs out of memory, it says so."""
    folder, one = test.directory(), saved(test)
    sample = json.loads(one.read_text())
    sample["threads"] = [{**sample["threads"][0], "tid": tid} for tid in range(1, 1000)]
    (folder / "large").write_text(json.dumps(sample))
    said = set()
    for form, mib in itertools.product(("text", "json", "html"), range(12, 36, 2)):
        limit = (mib << 20, mib << 20)
        done = replay(test, folder / "large", "-o", f"{form}:{folder}/out",
                      preexec_fn=lambda limit=limit: resource.setrlimit(resource.RLIMIT_AS, limit))
        if done.status > 0 and "shared" not in done.stderr:
            said.add((done.status, done.stderr.strip().split(": ")[-1]))
    test.eq(said, {(71, "no memory")}, "status 71, and why")


def case_same_file(test):
    """Two names of one file, whether or not the file exists."""
    folder, one = test.directory(), saved(test)
    (folder / "old").write_text("precious\n")
    os.link(folder / "old", folder / "hard")
    for name, to in (("soft", "old"), ("dangling", "new"), ("here", ".")):
        (folder / name).symlink_to(to)
    os.mkfifo(folder / "fifo")
    before = sorted(os.listdir(folder))
    reader = os.open(folder / "fifo", os.O_RDONLY | os.O_NONBLOCK)
    for first, second in (("old", "./old"), ("old", "soft"), ("old", "hard"), ("new", "here/new"),
                          ("new", "dangling"), ("s-%n", "here/s-%n"), ("fifo", "here/fifo"),
                          ("s-%n", "s-1"), ("here/s-12", "s-%n"), ("s-%n", "s-1%n"),
                          ("s.old", "s,limit=1M")):
        done = replay(test, one, "-o", f"text:{folder}/{first}", "-o", f"json:{folder}/{second}")
        test.eq(done.status, 64, f"{first} and {second}: refused")
        test.ok("the same file" in done.stderr, "with the reason", done.stderr)
    os.close(reader)
    done = replay(test, one, "-o", f"csv:{folder}/here", "-o", f"csv:{folder}/")
    test.eq(done.status, 64, "directories of tables, too")
    for second in ("/dev/fd/1", f"{folder}/out"):
        with open(folder / "out", "w", encoding="ascii") as out:
            done = replay(test, one, "-o", "text", "-o", f"json:{second}", stdout=out)
        test.eq(done.status, 64, f"standard output and {second}")
    (folder / "out").unlink()
    test.eq((sorted(os.listdir(folder)), (folder / "old").read_text()), (before, "precious\n"),
            "all is as before")
    done = replay(test, one, "-o", f"text:{folder}/s-%n", "-o", f"json:{folder}/t-%n", "-o",
                  f"json:{folder}/s-%t", "-o", "html:/dev/null", stdout=subprocess.DEVNULL)
    test.eq(done.status, 0, "other files are others")


def case_full_disk(test):
    folder = test.directory()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", folder], check=True)
    try:
        (folder / "all").write_text("of an earlier run\n")
        (folder / "ballast").write_bytes(bytes(52 << 10))
        # A page of room less than samples need in the end.
        done = failed(test, "full, with many samples", folder, "--sample-count=100", "-o",
                      f"json:{folder}/all", kept=("all", "ballast"))
        test.ok("No space" in done.stderr, "which is said", done.stderr)
        found = samples((folder / "all").read_text())
        test.ok(found and found[-1]["number"] == len(found), "whole samples are left")
    finally:
        subprocess.run(["umount", folder], check=True)


def case_bad_places(test):
    folder = test.directory()
    done = failed(test, "missing directory", folder, "-o", f"json:{folder}/none/x")
    test.ok("directory" in done.stderr, "which is said", done.stderr)
    (folder / "target").write_text("precious\n")
    (folder / "shared").mkdir()
    (folder / "shared").chmod(0o1777)
    (folder / "shared" / "link").symlink_to(folder / "target")
    done = failed(test, "a link in a directory of others", folder, "-o",
                  f"json:{folder}/shared/link", kept=("shared", "target"))
    test.ok("symbolic link" in done.stderr, "which is said", done.stderr)
    test.eq((folder / "target").read_text(), "precious\n", "the target is as before")


kdtest.main(case_formats, case_folded, case_empty, case_plain_word, case_names, case_limit, case_quiet,
            case_process_substitution, case_fail_if, case_interrupted, case_triggers, case_replay,
            case_streams_fail, case_full_disk, case_same_file, case_no_memory, case_bad_places)
