# SPDX-License-Identifier: Apache-2.0
"""The program in a system of its own, below a directory."""

import os
import shutil
import stat
import subprocess
import urllib.request

import kdneeds
import kdtest

MOST = 12 << 20  # bytes of the one file


def said_by(test, text, *argv):
    """What a command prints, which has to succeed."""
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.STDOUT, check=False, errors="replace")
    test.ok(done.returncode == 0, text, *done.stdout.splitlines()[-30:])
    return done.stdout


def check_use(test, *program):
    """A program in a system of its own: BPF, symbols, triggers, the exporter."""
    load = test.workload("roles", "enters:-1:2000")
    target = "--pid", str(load.pid)
    said = said_by(test, "it takes a sample", *program, *target, "--sample-time", "0.2", "--full",
                   "--syscall-events=1")
    test.ok(all(part in said for part in ("getppid", "[THREAD TIME]", "worker_main+")),
            "with calls, states and stacks", *said.splitlines()[:80])
    said = said_by(test, "it looks for triggers", *program, *target, "--check",
                   "--start-trigger", "up:worker_main", "--stop-trigger", "ur:worker_main")
    test.eq(said.count("per hit ("), 2, "it decodes instructions")
    port = kdtest.free_port()
    exporter = test.child([*program, *target, "--quiet", "--sample-count", "0", "--sample-time",
                           "0.1", "--listen", f"127.0.0.1:{port}"])
    url = f"http://127.0.0.1:{port}/metrics"
    test.ok(kdtest.wait_until(lambda: b'syscall="getppid"' in page(url)), "it serves metrics")
    exporter.end()


def page(url):
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return answer.read()
    except OSError:
        return b""


def inside_of(root):
    """As a command that runs something in a system below this directory."""
    return ("unshare", "--mount", "sh", "-c",
            f"mount -t proc none {root}/proc && mount --rbind /sys {root}/sys && "
            f'exec chroot {root} "$@"', "sh")


def check_one_file(test, root, built):
    """The file in a system that nobody has set up."""
    for name in ("dev", "proc", "sys"):
        (root / name).mkdir(exist_ok=True)
    if not (root / "dev" / "null").exists():
        os.mknod(root / "dev" / "null", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    shutil.copy(built, root / "kernel_delay")
    check_use(test, *inside_of(root), "/kernel_delay")


def check_with_busybox(test, built):
    """The file itself, and in a system that has busybox, and nothing else."""
    kdneeds.need("busybox", "unshare", "chroot")
    test.ok(built.stat().st_size <= MOST, "it is at most 12 MB", built.stat().st_size)
    said = said_by(test, "it is read", "readelf", "-lW", built)
    test.ok("INTERP" not in said and "DYNAMIC" not in said, "it needs no library", said)
    root = test.directory()
    (root / "bin").mkdir()
    shutil.copy(kdneeds.tool("busybox"), root / "bin")
    check_one_file(test, root, built)
