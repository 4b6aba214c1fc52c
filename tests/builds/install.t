#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make install puts everything into its place below DESTDIR, and make uninstall removes exactly
that."""

import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
# pylint: disable=wrong-import-position
import kdtest  # noqa: E402

DOC = "share/doc/kernel_delay"


def make(tree, *args):
    env = {name: value for name, value in os.environ.items()
           if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    done = subprocess.run(["make", *args], cwd=tree, env=env, stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                          umask=0o077)
    return done.returncode, done.stdout


def copy(test):
    """A copy of the tree, with everything that has been built."""
    tree = test.directory() / "tree"
    shutil.copytree(kdtest.ROOT, tree, symlinks=True,
                    ignore=shutil.ignore_patterns(".git", "__pycache__", "asan", "lint-*"))
    return tree


def installed(top):
    """The files below a directory and their modes."""
    return {path.relative_to(top).as_posix(): path.stat().st_mode & 0o777
            for path in top.rglob("*") if path.is_file()}


def expected(tree):
    files = {"sbin/kernel_delay": 0o755, f"{DOC}/LICENSE": 0o644,
             f"{DOC}/LICENSES/Apache-2.0.txt": 0o644, f"{DOC}/LICENSES/GPL-2.0-only.txt": 0o644,
             "share/bash-completion/completions/kernel_delay": 0o644,
             "share/zsh/site-functions/_kernel_delay": 0o644,
             "share/fish/vendor_completions.d/kernel_delay.fish": 0o644,
             "lib/systemd/system/kernel_delay.service": 0o644, f"{DOC}/NEWS.rst": 0o644}
    if (tree / "man" / "kernel_delay.8").exists():
        files["share/man/man8/kernel_delay.8"] = 0o644
    for page in (tree / "man").glob("*.5"):
        files[f"share/man/man5/{page.name}"] = 0o644
    for schema in (tree / "man").glob("*.json"):
        files[f"{DOC}/{schema.name}"] = 0o644
    if (tree / "README.rst").exists():
        files[f"{DOC}/README.rst"] = 0o644
    for example in (path for path in (tree / "examples").glob("*") if path.is_file()):
        files[f"{DOC}/examples/{example.name}"] = 0o644
    return files


def check(test, prefix, *settings):
    tree = copy(test)
    stage = test.directory() / "stage with spaces"
    top = stage / prefix.lstrip("/")
    status, said = make(tree, "install", f"DESTDIR={stage}", *settings)
    test.ok(status == 0, "make install succeeds", said)
    test.eq(installed(top), expected(tree), "the files are in their places")
    test.eq(sorted(path.name for path in stage.iterdir()), [prefix.split("/")[1]],
            "and nothing beside them")
    folders = [path for path in top.rglob("*") if path.is_dir()]
    test.ok(all(path.stat().st_mode & 0o777 == 0o755 for path in folders),
            "everyone may look into the directories")
    program = subprocess.run([top / "sbin" / "kernel_delay", "--version"], cwd="/", check=False,
                             stdout=subprocess.PIPE, text=True)
    test.ok(program.returncode == 0 and "kernel_delay" in program.stdout,
            "the program runs there", program)
    unit = (top / "lib" / "systemd" / "system" / "kernel_delay.service").read_text()
    test.ok(f"\nExecStart={prefix}/sbin/kernel_delay " in unit, "and the service starts it", unit)
    other = top / "sbin" / "other"
    other.touch()
    status, said = make(tree, "uninstall", f"DESTDIR={stage}", *settings)
    test.ok(status == 0, "make uninstall succeeds", said)
    test.eq(list(installed(top)), ["sbin/other"], "it takes away all that is ours, and no more")


def case_default_prefix(test):
    check(test, "/usr/local")


def case_other_prefix(test):
    check(test, "/opt/kd", "PREFIX=/opt/kd")


kdtest.main(case_default_prefix, case_other_prefix)
