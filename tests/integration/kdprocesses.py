# SPDX-License-Identifier: Apache-2.0
"""Runs of kernel_delay on several processes, and control groups to put them into."""

import contextlib
import json
import os
import pathlib
import signal

import kdneeds
import kdreport
import kdtest

VERSION_1 = pathlib.Path("/sys/fs/cgroup/cpu")
VERSION_2 = pathlib.Path("/sys/fs/cgroup/unified")
if (pathlib.Path("/sys/fs/cgroup") / "cgroup.controllers").exists():
    VERSION_2 = pathlib.Path("/sys/fs/cgroup")


def hierarchies():
    """The mounts of this machine's control group hierarchies, by version."""
    found = {}
    if (VERSION_1 / "cgroup.procs").exists():
        found[1] = VERSION_1
    if (VERSION_2 / "cgroup.controllers").exists():
        found[2] = VERSION_2
    if not found:
        raise kdtest.Skip("no control groups")
    return found


@contextlib.contextmanager
def group(path):
    """Makes a control group and its parents; in the end they are removed, and their processes move
    to the top."""
    made = []
    above = path
    while not above.exists():
        made.append(above)
        above = above.parent
    try:
        for one in reversed(made):
            one.mkdir()
        yield path
    finally:
        for one in made:
            for pid in (one / "cgroup.procs").read_text().split():
                with contextlib.suppress(OSError):
                    (above / "cgroup.procs").write_text(pid)
            kdtest.wait_until(lambda one=one: removed(one))


def removed(path):
    """Removes a group whose last process may still be exiting."""
    with contextlib.suppress(OSError):
        path.rmdir()
    return not path.exists()


def join(path, pid):
    (path / "cgroup.procs").write_text(str(pid))


class Run:
    """A run of kernel_delay on several processes; constructed once its window is open. within: the
    control group that the run is in; before: called with its process until then."""

    def __init__(self, test, *args, within=None, before=lambda child: None):
        self.test, self.path = test, test.directory() / "sample"
        enter = ("sh", "-c", 'echo $$ >"$0" && exec "$@"', within / "cgroup.procs") if within else ()
        self.child = test.child([*enter, kdtest.PROGRAM, *args, "--sample-time", "600", "-o", "text",
                                 "-o", f"json:{self.path}"])
        before(self.child)
        self.child.line("# Start sampling")

    def end(self, want=0, signalled=True):
        """Closes the window, or waits until the target's end closes it."""
        if signalled and self.child.proc.poll() is None:
            self.child.signal(signal.SIGINT)
        status = self.child.wait()
        self.test.ok(status == want, f"the program ends with status {want}", f"status {status}",
                     self.child.stderr)

    def close(self, want=0, signalled=True):
        """Closes the window; sets the report and the sample."""
        self.end(want, signalled)
        reports = kdreport.parse(self.child.stdout)
        self.test.eq(len(reports), 1, "one report")
        self.report = reports[0]
        self.sample = json.loads(self.path.read_text())
        self.test.books(self.report)
        return self

    def sample_of_late(self, signalled=True):
        """The sample once the window is closed; any thread may have joined the target late."""
        self.end(signalled=signalled)
        sample = json.loads(self.path.read_text().splitlines()[0])
        self.test.books(kdreport.parse(self.child.stdout)[0], losses=True,
                        late={thread["tid"] for thread in sample["threads"]})
        return sample

    @property
    def processes(self):
        return {process["pid"]: process for process in self.sample["processes"]}

    def threads_of(self, pid):
        return [thread for thread in self.sample["threads"] if thread["pid"] == pid]


def count(thread, call):
    """How often a thread made a system call that returned in the window."""
    return sum(row["count"] for row in thread["syscalls"] if row.get("name") == call)


def title(pid, arguments=False):
    """argv[0], or what the program wrote there, or a command line with all arguments, as ps shows
    it, except for escaping; "" if the process has ended."""
    text = b""
    with contextlib.suppress(OSError):
        text = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()[:255]
    text = text if arguments else text.split(b"\0")[0]
    return text.rstrip(b"\0 ").replace(b"\0", b" ").decode(errors="surrogateescape")


def children_of(pid):
    """PIDs of all descendants of a process."""
    parents = {}
    for entry in os.listdir("/proc"):
        with contextlib.suppress(OSError):
            if entry.isdigit():
                parents[int(entry)] = int(kdtest.status_field(int(entry), "PPid") or 0)
    found = [pid]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found[1:]


def remove_empty(folder):
    """Removes a folder unless another test has put something into it."""
    with contextlib.suppress(OSError):
        folder.rmdir()


def container(test, name):
    """A container's files as docker writes them; returns its ID."""
    folder = pathlib.Path("/var/lib/docker/containers")
    kdtest.only_on_host("it is about files")
    identity = os.urandom(32).hex()
    made = folder / identity
    above = [one for one in (folder.parents[0], folder) if not one.exists()]
    for one in above:
        one.mkdir(exist_ok=True)
        test.stack.callback(remove_empty, one)
    made.mkdir()
    test.stack.callback(made.rmdir)
    config = made / "config.v2.json"
    config.write_text(json.dumps({"ID": identity, "Name": f"/{name}",
                                  "Config": {"Image": "kdt/image:1", "Labels": {}}}))
    test.stack.callback(config.unlink)
    return identity


def contained(test, place):
    """A program in a control group, and in PID, mount, cgroup and UTS namespaces of its own, as in
    a container. Returns the process that started it and waits for its end."""
    shell = test.child(["sh", "-c", f"echo $$ > {place}/cgroup.procs && exec {kdneeds.tool('unshare')} "
                        "--pid --mount --cgroup --uts --fork --kill-child --mount-proc "
                        f"sh -c 'echo $$; cat /proc/self/cgroup | tail -1; "
                        f"{kdtest.WORKLOADS}/roles poll; :'"])
    test.eq(shell.line(), "1", "its shell is process 1 there")
    test.ok(shell.line().endswith(":/"), "and sees no control group")
    shell.line("ready")
    return shell
