# SPDX-License-Identifier: Apache-2.0
"""Programs and Python modules that tests need and a machine may lack, which is a kdtest.Skip. Each
is named in tests/deps, which installs it (tests/lint/scripts.t compares)."""

import glob
import importlib
import json
import os
import pathlib
import shutil
import subprocess
import sys

from kdtest import WORKLOADS, Skip, fdinfo

FOLDERS = ("/usr/sbin", "/sbin", "/usr/local/sbin")  # which plain users' PATH may lack
# Where Debian has its Python's modules; another Python finds them only if told so.
MODULES = "/usr/lib/python3/dist-packages"


def tool(*names):
    """The path of a program: of the first of its names that exists."""
    path = ":".join([os.environ["PATH"], *FOLDERS])
    found = next(filter(None, (shutil.which(name, path=path) for name in names)), None)
    if not found:
        raise Skip(f"{' or '.join(names)} is not installed")
    return found


def need(*programs):
    """Programs that a test starts by name."""
    folders = os.environ["PATH"].split(":")
    os.environ["PATH"] = ":".join(folders + [each for each in FOLDERS if each not in folders])
    missing = [program for program in programs if not shutil.which(program)]
    if missing:
        raise Skip(f"not installed: {', '.join(missing)}")


def tracefs():
    """The path of tracefs, which is mounted if necessary, as any other tracer would do."""
    path = pathlib.Path("/sys/kernel/tracing")
    if not (path / "events").exists():
        need("mount")
        subprocess.run(["mount", "-t", "tracefs", "tracefs", path], stderr=subprocess.DEVNULL,
                       check=False)
    if not (path / "events").exists():
        raise Skip("tracefs cannot be mounted")
    return path


def bpftool():
    """The path of a working bpftool: the one in PATH may be a wrapper for that of another kernel
    (Ubuntu)."""
    for path in (*(shutil.which("bpftool", path=path) for path in (os.environ["PATH"], *FOLDERS)),
                 *glob.glob("/usr/lib/linux-tools*/**/bpftool", recursive=True)):
        if path and not subprocess.run([path, "version"], stdout=subprocess.DEVNULL, check=False,
                                       stderr=subprocess.DEVNULL).returncode:
            return path
    raise Skip("bpftool is not installed")


def module(name):
    sys.path.append(MODULES)
    try:
        return importlib.import_module(name)
    except ImportError:
        raise Skip(f"the Python module {name} is not installed") from None
    finally:
        sys.path.pop()


def optional(test, text, get, *names):
    """The result of get(*names); None if something is missing, and one test is skipped."""
    try:
        return get(*names)
    except Skip as why:
        test.skip(text, why)
        return None


def kernel_objects(pid):
    """Ids of the BPF objects that a process holds by descriptors."""
    found = {"prog_id": set(), "link_id": set(), "map_id": set()}
    for fields in fdinfo(pid):
        for key in found.keys() & fields.keys():
            found[key].add(int(fields[key]))
    return found


def named_objects(pid, kind):
    """{id: name} of the BPF programs (prog) or maps (map) that a process holds."""
    done = subprocess.run([bpftool(), "-j", kind, "show"], capture_output=True, text=True,
                          errors="replace", check=False)
    held = kernel_objects(pid)[f"{kind}_id"]
    return {row["id"]: row.get("name", "") for row in json.loads(done.stdout or "[]")
            if row["id"] in held}


def programs_of(pid):
    """Names of the BPF programs that a process holds."""
    return set(named_objects(pid, "prog").values())


def program_of_32_bits():
    program = WORKLOADS / "compat32"
    if not os.access(program, os.X_OK):
        why = pathlib.Path(f"{program}.why").read_text(errors="replace").strip()
        raise Skip(f"no 32-bit programs can be built: {why.splitlines()[-1]}")
    try:
        subprocess.run([program], check=True)
    except OSError as why:
        raise Skip(f"this kernel runs no 32-bit programs: {why}") from None
    return program
