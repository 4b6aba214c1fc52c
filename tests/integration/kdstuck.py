# SPDX-License-Identifier: Apache-2.0
"""A run that cannot write, as nobody reads, and what it holds of the kernel meanwhile."""

import contextlib
import fcntl
import os

import kdneeds


def full_pipe(test):
    """Both ends of a pipe that is full and that nobody reads."""
    ends = os.pipe()
    for end in ends:
        test.stack.callback(os.close, end)
    fcntl.fcntl(ends[1], fcntl.F_SETPIPE_SZ, 4096)
    os.write(ends[1], bytes(4096))
    return ends


def drained(reader):
    os.set_blocking(reader, False)
    with contextlib.suppress(BlockingIOError):
        while os.read(reader, 65536):
            pass
    return True


def objects_of(pid):
    """Ids of the BPF objects that a process holds, by their kinds."""
    with contextlib.suppress(OSError):  # a descriptor is closed meanwhile
        return {key.removesuffix("_id"): ids for key, ids in kdneeds.kernel_objects(pid).items()}
    return {}


def attached(pid):
    return objects_of(pid).get("link")
