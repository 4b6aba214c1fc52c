#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Scripts: what can be said of them without running them."""

import os
import re

import lint


def case_shell(test):
    shellcheck = lint.tool("shellcheck")
    for path in lint.files():
        if re.search(r"\b(ba)?sh\s*$", lint.shebang(path)):
            status, said = lint.output([shellcheck, "-S", "warning", path])
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


lint.main(case_shell, case_python, case_executable)
