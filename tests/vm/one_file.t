#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `make static` made for the machine that runs this, where there is nothing but busybox."""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE.parent / "integration")]

# pylint: disable=wrong-import-position
import kdelsewhere  # noqa: E402
import kdtest  # noqa: E402


def case_one_file(test):
    built = pathlib.Path(kdtest.PROGRAM).parent / "packages" / "kernel_delay"
    kdelsewhere.check_with_busybox(test, built)


kdtest.main(case_one_file)
