# SPDX-License-Identifier: Apache-2.0
"""What a report says of a process that sleeps."""

import re

import kdtest

WINDOW = 0.4


def asleep(pid):
    """Waits until a process sleeps."""
    kdtest.wait_until(lambda: kdtest.state_of(pid, pid) == "S")


def report(test, pid):
    """The verdict, its words, and the sleeps of the first thread."""
    path = test.directory() / "json"
    done = test.program("-p", pid, "--sample-time", f"{WINDOW}s", "--sample-count", "1",
                        "-o", f"json:{path}", "-o", "-", "--summary")
    sample, = kdtest.samples_of(path)
    said = re.sub(r"\n {8}", " ", done.stdout)
    return sample, re.search(r"^VERDICT (.*)$", said, re.MULTILINE)[1], \
        sample["threads"][0].get("descriptors", [])


def is_idle(test, what, found):
    sample, said, sleeps = found
    test.eq(sample["verdict"], [], f"{what}: nobody is blamed")
    test.ok("waited for work" in said, f"{what}: it is idle", said)
    test.ok(not any("unanswered_ns" in sleep for sleep in sleeps), f"{what}: nothing is open", sleeps)
