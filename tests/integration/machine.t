#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--machine: what it says of this machine and of a process, against the files that say so."""

import os
import pathlib
import re

import kdformats
import kdgroup
import kdtest

LEVELS = {"OK": "ok", "note": "note", "WARNING": "warning"}
CPUS = pathlib.Path("/sys/devices/system/cpu")


def findings_of(test, *args, wrapper=()):
    done = test.program("--machine=json", *args, wrapper=wrapper)
    test.eq((done.status, done.stderr), (0, ""), "status 0, and nothing is said")
    return kdformats.check_json(test, done.stdout)[0]["findings"]


def about(findings, topic):
    return [(finding["level"], finding["text"]) for finding in findings
            if finding["topic"] == topic]


def text_of(path, default=""):
    path = pathlib.Path(path)
    return path.read_text().strip() if path.exists() else default


def timer_ticks():
    """Of each CPU, since the start."""
    line = re.search(r"^ *LOC:([ \d]+)", pathlib.Path("/proc/interrupts").read_text(), re.MULTILINE)
    return [int(count) for count in line[1].split()]


def case_this_machine(test):
    findings = findings_of(test)
    for topic, file in (("isolated CPUs", "isolated"), ("nohz_full CPUs", "nohz_full")):
        want = text_of(CPUS / file).replace("(null)", "") or "none"
        test.eq([text for _, text in about(findings, topic)], [want], f"{topic} as in /sys")
    clock = text_of("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    test.eq([text for _, text in about(findings, "clock source")], [clock], "the clock source")
    swaps = len(pathlib.Path("/proc/swaps").read_text().splitlines()) - 1
    test.eq(about(findings, "swap")[0][0], "note" if swaps else "ok", "swap")
    test.eq(about(findings, "CPU quota"), [], "nothing of a target")
    text = test.program("--machine").stdout.splitlines()
    lines = [line.split(None, 1)[0] for line in text if line and line[0] != " "][:-1]
    test.eq([LEVELS[word] for word in lines], [finding["level"] for finding in findings],
            "the text says the same")


def case_bound_process(test):
    cpu = max(os.sched_getaffinity(0))
    load = test.workload("roles", "poll", "poll", wrapper=("taskset", "-c", str(cpu)))
    before = timer_ticks()[cpu] if cpu < len(timer_ticks()) else None
    findings = findings_of(test, "-p", load.pid)
    after = timer_ticks()[cpu]
    test.eq(about(findings, "affinity")[0],
            ("ok" if os.cpu_count() > 1 else "note",
             f"the target's threads run on CPUs {cpu} only"
             if os.cpu_count() > 1 else "threads of the target may run on all CPUs"),
            "where it is bound")
    local = [text for _, text in about(findings, "interrupts") if "LOC (" in text]
    count = int(local[0].split()[0]) if local else None
    test.between(count, before, after, "local timer interrupts of that CPU as in /proc/interrupts")
    devices = [path for path in pathlib.Path("/proc/irq").glob("[0-9]*/smp_affinity_list")
               if cpu in cpus_of(path.read_text())]
    listed = {line.split(":")[0].strip() for line in
              pathlib.Path("/proc/interrupts").read_text().splitlines()[1:]}
    want = len([path for path in devices if path.parent.name in listed])
    found = about(findings, "interrupts")[0]
    test.eq(int(re.search(r"of devices, (\d+) may", found[1])[1]), want,
            "as many interrupts of devices may come there as /proc/irq says")


def cpus_of(text):
    cpus = set()
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        cpus.update(range(int(first), int(last or first) + 1) if first else ())
    return cpus


def case_quota(test):
    load = test.workload("roles", "poll")
    test.eq(about(findings_of(test, load.pid), "CPU quota")[0][0], "ok", "none")
    with kdgroup.limited_group("kd-machine") as group:
        (group / "cgroup.procs").write_text(str(load.pid))
        found = about(findings_of(test, load.pid), "CPU quota")
        test.ok(found[0][0] == "warning" and group.name in found[0][1], "that of its group", found)


def case_little_privilege(test):
    nobody = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups",
              "--bounding-set=-all", "--inh-caps=-all")
    copy = test.directory() / "kernel_delay"
    copy.write_bytes(pathlib.Path(kdtest.PROGRAM).read_bytes())
    copy.chmod(0o755)
    copy.parent.chmod(0o755)
    done = kdtest.Finished(test.child([*nobody, copy, "--machine"]))
    test.eq((done.status, done.stderr), (0, ""), "anybody may look")
    test.ok("note     capabilities       this program lacks CAP_BPF" in done.stdout,
            "and is told what is missing", done.stdout)


kdtest.main(case_this_machine, case_bound_process, case_quota, case_little_privilege)
