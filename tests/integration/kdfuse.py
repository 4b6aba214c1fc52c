# SPDX-License-Identifier: Apache-2.0
"""A file system whose server falls silent: kdfuse.py DIRECTORY FILE CALL mounts one with a copy of
that file. It answers until a line arrives on its input; from then on it answers nothing, and the
first request that the kernel makes is CALL: "open"; "read" of a part not read yet; or "flush", when
a file is closed. It ends at the end of its input, which also releases whoever waits for it.

The protocol: include/uapi/linux/fuse.h of the kernel."""

import contextlib
import ctypes
import os
import pathlib
import select
import struct
import sys

import kdtest

LOOKUP, FORGET, GETATTR, OPEN, READ, RELEASE, FLUSH, INIT = 1, 2, 3, 14, 15, 18, 25, 26
INTERRUPT, BATCH_FORGET = 36, 42
ROOT, NODE = 1, 2
ENOENT, ENOSYS = 2, 38
READ_ONLY = 1  # or the kernel asks for the attributes after each read
LONG = 3600  # seconds for which the kernel need not ask again
HEADER = struct.Struct("<IIQQIIII")
IS_DIRECTORY, IS_FILE = 0o40755, 0o100755


def attributes(node, size):
    is_root = node == ROOT
    return struct.pack("<QQQQQQIIIIIIIIII", node, 0 if is_root else size, size // 512 + 1, 0, 0, 0, 0,
                       0, 0, IS_DIRECTORY if is_root else IS_FILE, 1, 0, 0, 0, 4096, 0)


class Server:
    def __init__(self, directory, source, call):
        self.content, self.call = pathlib.Path(source).read_bytes(), call
        self.device = os.open("/dev/fuse", os.O_RDWR)
        options = f"fd={self.device},rootmode=40000,user_id=0,group_id=0,allow_other"
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mount(b"kdfuse", str(directory).encode(), b"fuse", READ_ONLY, options.encode()):
            raise OSError(ctypes.get_errno(), "mount")

    def answer(self, request):
        """The answer's errno and data; None if no answer is due."""
        _, call, _, node, *_ = HEADER.unpack_from(request)
        body = request[HEADER.size:]
        if call in (FORGET, BATCH_FORGET, INTERRUPT):
            return None
        if call == INIT:
            return 0, struct.pack("<IIIIHHIIHHIIII", 7, 31, 0, 0, 1, 1, 4096, 1, 1, 0, 0, 0, 0, 0) + bytes(16)
        if call == LOOKUP:
            if body.rstrip(b"\0") != b"object":
                return ENOENT, b""
            # The entry is asked for each time, the attributes are not.
            return 0, struct.pack("<QQQQII", NODE, 0, 0, LONG, 0, 0) + attributes(NODE, len(self.content))
        if call == GETATTR:
            return 0, struct.pack("<QII", LONG, 0, 0) + attributes(node, len(self.content))
        if call == OPEN and self.call == "open":
            return 0, struct.pack("<QII", 0, 0, 0)
        if call == READ:
            _, offset, size = struct.unpack_from("<QQI", body)
            return 0, self.content[offset:offset + size]
        if call in (RELEASE, FLUSH):
            return 0, b""
        return ENOSYS, b""  # of open: the kernel does without from then on

    def serve(self):
        silent, fds = False, [self.device, sys.stdin.fileno()]
        while True:
            ready, _, _ = select.select(fds, [], [])
            if sys.stdin.fileno() in ready:
                if not sys.stdin.readline():
                    return
                silent = True
                print("silent", flush=True)
                continue
            request = os.read(self.device, 1 << 20)
            if silent:
                continue
            answer = self.answer(request)
            if answer is None:
                continue
            error, data = answer
            unique = HEADER.unpack_from(request)[2]
            os.write(self.device, struct.pack("<IiQ", 16 + len(data), -error, unique) + data)


class Silent:
    """Such a file system, for one test."""

    def __init__(self, test, source, call):
        if not os.path.exists("/dev/fuse"):
            raise kdtest.Skip("this kernel has no FUSE")
        self.directory = test.directory() / "silent"
        self.directory.mkdir()
        self.path = self.directory / "object"
        self.child = test.child([sys.executable, __file__, self.directory, source, call])
        test.stack.callback(self.end)
        self.child.line("ready")

    def fall_silent(self):
        self.child.send("silent")
        self.child.line("silent")

    def end(self):
        self.child.end()
        with contextlib.suppress(OSError):
            ctypes.CDLL(None).umount2(str(self.directory).encode(), 2)  # MNT_DETACH


if __name__ == "__main__":
    server = Server(*sys.argv[1:])
    print("ready", flush=True)
    server.serve()
