# SPDX-License-Identifier: Apache-2.0
"""The report's sections on a thread's sleeps, and on what other threads they led to."""

import re

DESCRIPTOR = re.compile(r"(?P<kind>[a-z_]+) +(?P<fd>\d+|-)  +(?P<count>\d+)  +(?P<total>[\d,]+)  +"
                        r"(?P<max>[\d,]+)  +(?P<max_at>[\d:.]+|-)   *(?:(?P<ended_by>\d+) (?P<ended_name>.{16}) *|-) +"
                        r"(?P<what>.+)$")
CHAIN = re.compile(r" *(?:(?P<wchan>\S+) +)?(?:(?P<via>\d+) (?P<via_name>.{16}) *|-) +(?P<count>\d+)  +"
                   r"(?P<total>[\d,]+)  +(?P<max>[\d,]+)  +(?P<max_at>[\d:.]+|-)  *(?P<led_to>.+)$")


def row(text, error):
    return _row(DESCRIPTOR, text, error)


def chain(text, error):
    return _row(CHAIN, text, error)


def _row(form, text, error):
    match = form.match(text)
    if not match:
        raise error("not a line of its section")
    return {key: int(text.replace(",", "")) if key in ("count", "total", "max") else text
            for key, text in match.groupdict().items()}
