# SPDX-License-Identifier: Apache-2.0
"""What virtual machines of this host's architecture and of another differ in."""

import dataclasses
import pathlib

TREE = pathlib.Path(__file__).resolve().parents[2]


@dataclasses.dataclass(frozen=True)
class Architecture:
    """debian, kernel: its names; qemu: the emulator, which emulates a board and a processor;
    arguments: of the kernel; build: where the program is that was built for it."""

    debian: str
    kernel: str
    qemu: str
    board: str
    processor: str
    arguments: str
    build: pathlib.Path


# A plain processor, with what random numbers come from. "max" takes a third longer: string moves
# by bytes (erms), whole pages so cleared; each copy from user space (smap); vectors (avx).
AMD64 = Architecture("amd64", "x86_64", "qemu-system-x86_64", "q35", "qemu64,rdrand=on",
                     "console=ttyS0 tsc=reliable no_timer_check", TREE / "build")
# Not "max", either: return addresses that it signs (QARMA) make all five times slower.
ARM64 = Architecture("arm64", "aarch64", "qemu-system-aarch64", "virt,gic-version=3", "cortex-a72",
                     "console=ttyAMA0 kpti=0", TREE / "build" / "arm64")
ALL = (AMD64, ARM64)


def of_release(release):
    """That of a kernel, by the end of its release."""
    return next(one for one in ALL if release.endswith("-" + one.debian))
