#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Scripts: checks that need not run them."""

import ast
import os
import re

import lint


def case_shell(test):
    shellcheck = lint.tool("shellcheck")
    for path in lint.files():
        if re.search(r"\b(ba)?sh\s*$", lint.shebang(path)):
            severity = "style" if path.parts[0] == "examples" else "warning"
            status, said = lint.output([shellcheck, "-S", severity, path])
            test.ok(status == 0, path, *said.split("\n")[:20])


def case_python(test):
    for path in lint.files():
        if path.suffix == ".py" or "python" in lint.shebang(path):
            try:
                compile(lint.text(path), path, "exec")
                test.ok(True, path)
            except SyntaxError as fault:
                test.ok(False, path, fault)


def case_executable(test):
    for path in lint.files():
        if path.suffix == ".t" or lint.shebang(path):
            test.ok(lint.shebang(path) and os.access(lint.ROOT / path, os.X_OK), path,
                    "it needs a #! line and the permission to be executed")


# Where tests say what they need: functions and attributes of classes.
FINDERS = {"tool", "need", "module", "which", "optional"}
GIVEN = {"vpp": "whose build takes a quarter of an hour",
         "systemd-analyze": "who has another init system is not given this one",
         "python3.11": "one of many programs with probes"}


def needs(tree):
    """The programs and modules that a test file says it needs."""
    for node in ast.walk(tree):
        values = []
        if isinstance(node, ast.Call):
            if getattr(node.func, "id", getattr(node.func, "attr", "")) in FINDERS:
                values = node.args
        elif isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "programs":
            values = getattr(node.value, "elts", [])
        for value in values:
            if isinstance(value, ast.Constant) and re.fullmatch(r"[\w+.-]+", str(value.value)):
                yield value.value


def case_dependencies(test):
    """Everything whose absence makes a test skip is known to tests/deps."""
    looked_for = set(re.findall(r"[\w+.-]+", lint.text("tests/deps")))
    needed = {}
    for path in lint.files(".t", ".py", under="tests"):
        if path.parts[1] != "bench":
            for name in needs(ast.parse(lint.text(path))):
                needed.setdefault(name, path)
    test.ok(len(needed) > 20, "tests say what they need", sorted(needed))
    for name, path in sorted(needed.items()):
        test.ok(name.split(".")[0] in looked_for or name in GIVEN, f"{name}, for {path}",
                "tests/deps does not look for it")


lint.main(case_shell, case_python, case_executable, case_dependencies)
