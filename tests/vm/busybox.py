#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The busybox that virtual machines start with. Debian has two packages of it: one is a
program without libraries; the other, which most installations have, needs a loader and
libraries, which have to be in the initial file system, too.

Run as a program it says whether the installed one will do."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import kernels

# What tests/vm/init, tests/vm/guest and machine.py have it do.
APPLETS = ("cat", "cp", "cpio", "insmod", "mkdir", "mount", "poweroff", "sh", "sleep",
           "switch_root", "xzcat", "zcat")
PACKAGES = {"static": "busybox-static", "dynamic": "busybox"}


class Unfit(Exception):
    """This machine cannot run virtual machines; the text says what is missing."""


def said_by(*argv):
    try:
        return subprocess.run([str(arg) for arg in argv], stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                              env={**os.environ, "LC_ALL": "C"}).stdout
    except OSError as error:
        raise Unfit(f"{argv[0]}: {error.strerror}") from None


def libraries_of(program):
    """{place in the initial file system: file here} of a program's loader and libraries, which are
    put into the one folder that every loader searches last."""
    said, found = said_by("ldd", program), {}
    if "not a dynamic executable" in said or "statically linked" in said:
        return found
    for name, path in re.findall(r"^\s*(\S+)(?: => (/\S+))? \(0x", said, re.MULTILINE):
        if path:
            found[f"lib/{name}"] = path
        elif name.startswith("/"):  # the loader, by the one path where the kernel looks for it
            found[name[1:]] = name
    missing = re.findall(r"^\s*(\S+) => not found", said, re.MULTILINE)
    if missing or not found:
        raise Unfit(f"{program} cannot start: {', '.join(missing) or said.strip()}")
    return found


class Busybox:
    """A busybox that can do what is needed of it."""

    def __init__(self, path):
        self.path, self.libraries = path, libraries_of(path)
        self.kind = "dynamic" if self.libraries else "static"
        lacking = sorted(set(APPLETS) - set(said_by(path, "--list").split()))
        if lacking:
            raise Unfit(f"{path} lacks {', '.join(lacking)}: install {PACKAGES['static']}")

    def copy(self, root):
        """Puts it, with everything that it needs, into an initial file system that has bin."""
        shutil.copy(self.path, root / "bin" / "busybox")
        (root / "bin" / "sh").symlink_to("busybox")
        (root / "lib").mkdir()
        (root / "lib64").symlink_to("lib")
        for place, path in self.libraries.items():
            (root / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, root / place)


class Foreign(Busybox):
    """A static one of another architecture, which cannot be run here."""

    def __init__(self, path):  # pylint: disable=super-init-not-called
        self.path, self.libraries, self.kind = path, {}, "static"


def installed():
    path = shutil.which("busybox")
    if not path:
        raise Unfit(f"not installed: busybox (package {PACKAGES['static']})")
    return Busybox(path)


def other(kind):
    """The busybox of the package other than this kind, fetched once with this machine's apt
    configuration."""
    kind = "static" if kind == "dynamic" else "dynamic"
    path = kernels.CACHE / "busybox" / kernels.host().get("VERSION_CODENAME", "any") / kind / "busybox"
    with kernels.locked():
        if not path.exists():
            fetch(PACKAGES[kind], path)
    found = Busybox(path)
    if found.kind != kind:
        raise Unfit(f"the busybox of package {PACKAGES[kind]} is not {kind}")
    return found


def fetch(package, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        kernels.run(["apt-get", "-qq", "-o", "APT::Sandbox::User=root", "-o",
                     "Acquire::http::Timeout=30", "download", package], cwd=folder)
        for archive in pathlib.Path(folder).glob("*.deb"):
            kernels.run(["dpkg", "-x", archive, folder])
        for found in pathlib.Path(folder).glob("**/bin/busybox"):
            found.replace(path)


if __name__ == "__main__":
    try:
        installed()
    except Unfit as why:
        sys.exit(str(why))
