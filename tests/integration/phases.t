#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the target does in each phase of the program's start: it executes itself, creates children
or threads all the time, or ends; and several runs start on it together."""

import os
import re
import signal
import subprocess
import time

import kdstacks
import kdtest

TRACES = ("-s", "0", "--off-cpu=1ms", "--profile", "--histogram", "--resources")
TRIGGERS = ("--start-trigger", "up:main", "--sample-count", "0")


def case_storms(test):
    """The run starts in a storm, and what happens once all is quiet is counted exactly."""
    for kind, *options in (("exec",), ("exec", *TRACES), ("exec", "--follow-fork"), ("thread",),
                           ("fork", *TRACES), ("fork", "--follow-fork")):
        load = test.workload("storm", kind)
        capture = test.start(kdstacks.Capture(load.pid, *options))
        load.send("quiet")
        load.line("quiet")
        truth = load.go()
        report, _ = capture.close(test)
        test.eq(report.thread(load.pid).count("getppid"), truth["getppid"],
                f"{kind} {options[:1]}: the calls after it are counted exactly")
        test.books(report)
        load.end()


# What a process has mapped is nothing at first, as while it executes another program.
UNMAPPED = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

FILE *fopen(const char *path, const char *mode)
{
    static int n;
    FILE *(*next)(const char *, const char *) = dlsym(RTLD_NEXT, "fopen");

    if (!strncmp(path, "/proc/", 6) && strstr(path, "/maps") && n++ < 3) {
        fprintf(stderr, "nothing is mapped\\n");
        path = "/dev/null";
    }
    return next(path, mode);
}
"""


def case_executes_meanwhile(test):
    """A process that has no code for a moment has not ended: its stacks are there."""
    load = test.workload("slow", "asker", "spinner")
    path = test.directory() / "report.json"
    done = test.program("-p", load.pid, "-s", "0", "--sample-time", "100ms", "-o", f"json:{path}",
                        env={**os.environ, "LD_PRELOAD": test.preload(UNMAPPED)})
    test.eq((done.status, done.stderr), (0, "nothing is mapped\n" * 3), "it goes on")
    objects = {frame.get("object") for stack in kdtest.samples_of(path)[0]["traces"]["stacks"]
               for frame in stack["frames"]}
    test.ok(any("libc.so.6" in (name or "") for name in objects), "with user stacks",
            objects)


# What a process has mapped is where it is not, the first SHIFTED times that this process looks, as
# where it executes another program between two looks. Nothing in the children that read files.
SHIFTED = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE *(*next)(const char *, const char *);
static int is_child;

static void forked(void)
{
    is_child = 1;
}

__attribute__((constructor)) static void begin(void)
{
    next = (FILE *(*)(const char *, const char *))dlsym(RTLD_NEXT, "fopen");
    pthread_atfork(NULL, NULL, forked);
}

FILE *fopen(const char *path, const char *mode)
{
    FILE *real = next(path, mode), *shifted;
    unsigned long start, end;
    char line[4096];
    static int n;
    int at;

    if (!real || is_child || strncmp(path, "/proc/", 6) || !strstr(path, "/maps") ||
        n++ >= atoi(getenv("SHIFTED")))
        return real;
    fprintf(stderr, "shifted\\n");
    shifted = tmpfile();
    while (fgets(line, sizeof(line), real))
        if (sscanf(line, "%lx-%lx%n", &start, &end, &at) == 2)
            fprintf(shifted, "%lx-%lx%s", start - 0x100000000, end - 0x100000000, line + at);
    fclose(real);
    rewind(shifted);
    return shifted;
}
"""


def case_moved_meanwhile(test):
    """Probes in code that seems to move are found after a few looks; if the code never matches,
    they are refused."""
    load, preload = test.workload("roles", "poll"), test.preload(SHIFTED)
    for shifted, status in ((3, 75), (30, 71)):
        done = test.program("-p", load.pid, "--start-trigger", "up:libc.so.6:getpid", "--sample-time",
                            "1ms", "--duration", "300ms",
                            env={**os.environ, "LD_PRELOAD": preload, "SHIFTED": str(shifted)})
        test.ok(done.stderr.count("shifted\n") >= 3, f"{shifted}: it looked again", done.stderr)
        test.eq((done.status, "cannot be hit" in done.stderr), (status, status == 71),
                f"{shifted}: whether it goes on")


def case_trigger_in_a_storm(test):
    """The newly executed program has the function in the same file: the probe stays."""
    load = test.workload("storm", "exec")
    child = test.capture(load.pid, *TRIGGERS, "--sample-time", "1ms")
    child.interrupt(test, "it hits its probe, again and again")
    test.ok("libbpf" not in child.stderr, "without libbpf's text", child.stderr)


def victim():
    return subprocess.Popen([kdtest.WORKLOADS / "storm", "fork"], stdin=subprocess.PIPE,
                            stdout=subprocess.DEVNULL)


def start_time(test):
    """How long a run takes to start, in seconds."""
    load, began = test.workload("storm", "fork"), time.monotonic()
    test.capture(load.pid).end()
    load.end()
    return time.monotonic() - began


def case_ended(test):
    """The target is killed at some moment of the start: the result is a report, or a line that says
    so."""
    start = start_time(test)
    for options in ((), TRACES, TRIGGERS):
        for fifth in range(7) if options == TRIGGERS else (1, 3, 5):
            load = victim()
            child = test.child([kdtest.PROGRAM, "-p", load.pid, "--sample-time", "10", *options])
            time.sleep(start * fifth / 5)
            load.kill()
            load.communicate()
            status = child.wait()
            said = [line for line in child.stderr.splitlines()
                    if "armed @" not in line and not line.endswith(" sample")]
            what = f"{options[:1]}, after {fifth} fifths of the start"
            test.ok(status == 0 if "# Start" in child.stdout else status in (69, 75),
                    f"{what}: status {status}", child.stderr, child.stdout[-500:])
            test.ok(len(said) <= 2 and "libbpf" not in child.stderr and
                    re.search(rf"process {load.pid} has (just )?ended|there is no process {load.pid}|"
                              r"The process exited|the target has ended",
                              child.stderr + child.stdout),
                    f"{what}: it says why", child.stderr, child.stdout[-500:])


def case_together(test):
    """Four runs at once on one target: each sees all calls."""
    load = test.workload("storm", "thread")
    children = [test.child([kdtest.PROGRAM, "-p", load.pid, "--sample-time", "60", *options])
                for options in ((), TRACES, ("--interruptions=1ms",), ("--counters=page-faults",))]
    for child in children:
        child.line("# Start sampling")
    load.send("quiet")
    load.line("quiet")
    truth = load.go()
    for child in children:
        child.signal(signal.SIGINT)
    for number, child in enumerate(children):
        test.eq(child.wait(), 0, f"run {number} ends in order")
        report, = kdtest.kdreport.parse(kdstacks.parse(child.stdout)[0])
        test.eq(report.thread(load.pid).count("getppid"), truth["getppid"],
                f"run {number} has all calls")
        test.books(report)


kdtest.main(case_storms, case_executes_meanwhile, case_moved_meanwhile, case_trigger_in_a_storm, case_ended,
            case_together)
