# SPDX-License-Identifier: Apache-2.0
"""The files that a virtual machine sees, read-only below a layer in memory: this host's or, for
another architecture, a Debian of its own, which is kept in the cache. It has the libraries to
build with, too."""

import dataclasses
import hashlib
import os
import pathlib
import re
import shutil
import sys
import tempfile

import busybox
import kernels
from architectures import AMD64, TREE

SUITE = "bookworm"
# To build with, and what the program needs; for the machine, and for the tests.
PACKAGES = (
    "libc6-dev", "libbpf-dev", "libelf-dev", "liblzma-dev", "libunwind-dev", "libseccomp-dev",
    "libcap-ng-dev", "libjansson-dev", "libncurses-dev", "libcapstone-dev", "libmicrohttpd-dev",
    "libiberty-dev", "zlib1g-dev", "systemtap-sdt-dev",
    "base-files", "base-passwd", "bash", "busybox-static", "coreutils", "dash", "findutils", "grep",
    "hostname", "iproute2", "kmod", "libc-bin", "mount", "procps", "sed", "util-linux",
    "binutils", "libc6-dbg", "libcap2-bin", "mawk", "python3", "python3-prometheus-client",
    "strace")


@dataclasses.dataclass(frozen=True)
class Root:
    """path: of the files; python: the interpreter among them; starter: a busybox of theirs."""

    path: pathlib.Path
    python: str
    starter: busybox.Busybox


def complete(tree):
    """Does what the packages' scripts would have done, and makes links such that a linker on this
    host follows them."""
    for name in ("passwd", "group"):
        shutil.copy(tree / "usr" / "share" / "base-passwd" / f"{name}.master", tree / "etc" / name)
    (tree / "usr" / "bin" / "awk").symlink_to("mawk")
    for folder in (tree / "lib", tree / "usr" / "lib"):
        for link in folder.rglob("*.so"):
            if link.is_symlink() and os.path.isabs(to := os.readlink(link)):
                link.unlink()
                link.symlink_to(os.path.relpath(tree / to[1:], link.parent))


def fetch(architecture, place):
    """Unpacks the packages, of which nothing is run, and puts them into the cache in one step."""
    mirror = kernels.mirrors().get("main")
    if not mirror:
        raise kernels.Unavailable("apt is not configured for a mirror")
    with tempfile.TemporaryDirectory(dir=kernels.CACHE) as folder:
        tree = pathlib.Path(folder, "tree")
        kernels.run(["mmdebstrap", "--mode=root", "--variant=extract",
                     f"--architectures={architecture.debian}", f"--include={','.join(PACKAGES)}",
                     SUITE, tree, mirror])
        complete(tree)
        place.parent.mkdir(exist_ok=True)
        # Another run may still use the one before.
        others = place.parent.glob(f"*-{architecture.debian}")
        for old in sorted(others, key=lambda path: path.stat().st_mtime)[:-1]:
            shutil.rmtree(old)
        tree.rename(place)


def of(architecture):
    """The root of machines of an architecture."""
    if architecture is AMD64:
        # The interpreter itself, where python3 is one that chooses among several.
        return Root(pathlib.Path("/"), os.path.realpath(sys.executable), busybox.installed())
    # Another list of packages makes another.
    version = hashlib.sha256(" ".join((SUITE, *PACKAGES)).encode()).hexdigest()[:8]
    place = kernels.CACHE / "roots" / f"{version}-{architecture.debian}"
    with kernels.locked():
        if not place.exists():
            fetch(architecture, place)
    return Root(place, "/usr/bin/python3", busybox.Foreign(place / "bin" / "busybox"))


def make(architecture, goals):
    """The command that builds goals of the Makefile with the libraries of a root. What is in build/
    is in the architecture's own folder."""
    root, folder = of(architecture).path, architecture.build.relative_to(TREE)
    goals = [re.sub("^build/", f"{folder}/", goal) for goal in goals]
    triplet = f"{architecture.kernel}-linux-gnu"
    return ["make", "-C", str(TREE), f"BUILD={folder}",
            f"CC={triplet}-gcc --sysroot={root}",
            f"PKG_CONFIG=env PKG_CONFIG_SYSROOT_DIR={root} "
            f"PKG_CONFIG_LIBDIR={root}/usr/lib/{triplet}/pkgconfig pkg-config",
            *goals]
