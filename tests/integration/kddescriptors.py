# SPDX-License-Identifier: Apache-2.0
"""The report's section on the descriptors that a thread waited at."""

import re

DESCRIPTOR = re.compile(r"(?P<kind>[a-z_]+) +(?P<fd>\d+|-)  +(?P<count>\d+)  +(?P<total>[\d,]+)  +"
                        r"(?P<max>[\d,]+)  +(?P<max_at>[\d:.]+|-)   *(?:(?P<ended_by>\d+) (?P<ended_name>.{16}) *|-) +"
                        r"(?P<what>.+)$")


def row(text, error):
    match = DESCRIPTOR.match(text)
    if not match:
        raise error("not a line of a descriptor")
    return {key: int(text.replace(",", "")) if key in ("count", "total", "max") else text
            for key, text in match.groupdict().items()}
