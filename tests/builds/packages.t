#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tests/run: long
"""What is handed on: the tarball, from which a system without git builds; packages, which are
installed, used and removed in a fresh system; and one file, which runs where there is nothing."""

import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys

for folder_of_modules in ("integration", "vm"):
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / folder_of_modules))
# pylint: disable=wrong-import-position
import kdelsewhere  # noqa: E402
import kdneeds  # noqa: E402
import kdtest  # noqa: E402
import kernels  # noqa: E402

RELEASE = "98.7"
COMMITTED = "2001-02-03T04:05:06Z"
DOC = "usr/share/doc/kernel-delay"


def run(*argv, cwd=None, **env):
    """Returns (status, everything printed)."""
    plain = {name: value for name, value in os.environ.items()
             if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    done = subprocess.run(argv, cwd=cwd, env={**plain, "LC_ALL": "C.UTF-8", **env}, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False, errors="replace")
    return done.returncode, done.stdout


def succeeds(test, text, *argv, **options):
    status, said = run(*argv, **options)
    test.ok(status == 0, text, *said.splitlines()[-30:])
    return said


def git(test, tree, *step):
    succeeds(test, f"git {step[0]}", "git", "-c", "user.name=test", "-c", "user.email=test@localhost",
             *step, cwd=tree, GIT_COMMITTER_DATE=COMMITTED, GIT_AUTHOR_DATE=COMMITTED)


def checkout(test):
    """This tree as one commit of another time, which is a release."""
    kdneeds.need("git")
    tree = test.directory() / "tree"
    shutil.copytree(kdtest.ROOT, tree, symlinks=True,
                    ignore=shutil.ignore_patterns("build", ".git", "__pycache__"))
    git(test, tree, "init", "-q")
    git(test, tree, "add", ".")
    git(test, tree, "commit", "-q", "-m", "one")
    git(test, tree, "tag", f"v{RELEASE}")
    return tree


def tarball(test, tree):
    succeeds(test, "make dist succeeds", "make", "dist", cwd=tree)
    return tree / "build" / "packages" / f"kernel_delay-{RELEASE}.tar.xz"


def case_tarball(test):
    tree = checkout(test)
    packed = tarball(test, tree)
    before = packed.read_bytes()
    os.utime(tree / "README.rst")
    packed.unlink()
    test.ok(tarball(test, tree).read_bytes() == before, "made twice it is the same, byte for byte")
    names = set(succeeds(test, "it is listed", "tar", "-tf", packed).splitlines())
    committed = set(succeeds(test, "so is the commit", "git", "ls-files", cwd=tree).splitlines())
    test.eq(names - {name for name in names if name.endswith("/")},
            {f"kernel_delay-{RELEASE}/{name}" for name in committed | {".version"}},
            "it has what is committed, and the version")
    (tree / "README.rst").write_text("changed")
    status, said = run("make", "dist", cwd=tree)
    test.ok(status and "commit your changes first" in said, "what is not committed is not packed",
            said)
    folder = test.directory()
    succeeds(test, "it is unpacked", "tar", "-xf", packed, "-C", folder)
    unpacked = folder / f"kernel_delay-{RELEASE}"
    status, said = run("make", "dist", cwd=unpacked)
    test.ok(status and "it takes a checkout" in said, "which is no checkout", said)


def change(path, *pairs):
    text = path.read_text()
    for old, new in pairs:
        text = text.replace(old, new, 1)
    path.write_text(text)


def case_release(test):
    """What a release lacks is said, each thing; then it is made. Without optimisation."""
    tree = checkout(test)
    own = re.search("^RELEASE = (.*)$", (tree / "Makefile").read_text(), re.MULTILINE)[1]
    packaging = tree / "examples" / "packaging"
    change(packaging / "NEWS.rst", (f"\n{own}\n===", "\n0.1\n==="))
    change(packaging / "kernel_delay.spec", (f"global packed {own}", "global packed 0.2"))
    (tree / "tests" / "released" / f"{own}.tar.xz").unlink()
    change(tree / "tests" / "lint" / "promised", ("option --all alone", "option --novel alone"))
    git(test, tree, "commit", "-q", "-a", "-m", "two")
    (tree / "README.rst").write_text("changed")
    status, said = run("make", "release", cwd=tree)
    test.ok(status, "a release that lacks something is not made", said)
    for lack in ("there are changes that are not committed", f"git tag -a v{own}",
                 f"is 0.1, not {own}", f"says nothing of {own}", f"packed in .* is 0.2, not {own}",
                 f"no captures of {own} are kept", f"--novel is new since v{RELEASE}"):
        test.ok(re.search(f"^make release: .*{lack}", said, re.MULTILINE), f"it says so: {lack}", said)
    test.eq(len(re.findall("^make release: ", said, re.MULTILINE)), 7, "and no more")

    git(test, tree, "reset", "-q", "--hard", f"v{RELEASE}")
    git(test, tree, "tag", "-d", f"v{RELEASE}")
    git(test, tree, "tag", f"v{own}")
    said = succeeds(test, "a complete one is made", "make", "release", cwd=tree, CFLAGS="-O0 -g")
    test.ok("Not repeated: .ci/run" in said, "what it did not do is said", said)
    succeeds(test, "its checksums are right", "sha256sum", "--strict", "-c", "SHA256SUMS",
             cwd=tree / "build" / "packages")


def without(test, program):
    """A PATH in which all programs are but this one."""
    folder = test.directory()
    for place in reversed(os.environ["PATH"].split(":")):
        for path in pathlib.Path(place).glob("*"):
            link = folder / path.name
            link.unlink(missing_ok=True)
            if path.name != program:
                link.symlink_to(path)
    return str(folder)


def fresh_root(test, suite=None, variant="apt"):
    """A new system of this machine's release, or of another one's."""
    kdneeds.need("mmdebstrap", "unshare", "chroot")
    root = test.directory() / "root"
    sources = [path for path in (pathlib.Path("/etc/apt/sources.list"),
                                 *sorted(pathlib.Path("/etc/apt/sources.list.d").glob("*")))
               if path.is_file() and path.suffix in (".list", ".sources")]
    if suite:
        try:
            mirror = kernels.mirrors()["main"]
        except (kernels.Unavailable, KeyError) as why:
            raise kdtest.Skip(f"no mirror has {suite}: {why}") from None
        key = next(key for key in kernels.KEYRINGS if os.path.exists(key))
        sources = [f"deb [signed-by={key}] {mirror} {suite} main"]
    status, said = run("mmdebstrap", "--mode=root", f"--variant={variant}", "--skip=cleanup/apt",
                       suite or kernels.host().get("VERSION_CODENAME", "stable"), root, *sources)
    if status:
        raise kdtest.Skip(f"no fresh system can be made: {said.splitlines()[-1]}")
    return root


def twice(test, script, packed, *options, **env):
    """The packages of two builds, elsewhere, in another time zone, and by a user who lets nobody
    read anything. Both at once, as a build has its pauses."""
    folders = [test.directory(), test.directory() / "some" / "other" / "folder"]
    words = [(script, packed, folder, *options) for folder in folders]
    with concurrent.futures.ThreadPoolExecutor() as pool:
        first = pool.submit(run, *words[0], **env)
        second = pool.submit(run, "sh", "-c", 'umask 077; exec "$@"', "sh", *words[1],
                             **{**env, "TZ": "Pacific/Kiritimati"})
    for done in first, second:
        status, said = done.result()
        test.ok(status == 0, "packages are built", *said.splitlines()[-30:])
    one, other = ({str(path.relative_to(folder)): path.read_bytes() for ending in ("deb", "rpm")
                   for path in folder.rglob(f"*.{ending}")} for folder in folders)
    test.eq(sorted(one), sorted(other), "built twice, there are the same packages")
    test.eq([name for name in one if one[name] != other.get(name)], [], "byte for byte")
    return folders[0]


def files_in(root):
    return {str(path.relative_to(root)) for top in ("etc", "usr")
            for path in (root / top).rglob("*") if not path.is_dir()}


def check_contents(test, package):
    listed = succeeds(test, "it is listed", "dpkg-deb", "-c", package)
    modes = {line.split()[5].removeprefix("./"): line.split()[0] for line in listed.splitlines()}
    for name, mode in (("usr/sbin/kernel_delay", "-rwxr-xr-x"),
                       ("usr/share/man/man8/kernel_delay.8.gz", "-rw-r--r--"),
                       ("usr/share/man/man5/kernel_delay-json.5.gz", "-rw-r--r--"),
                       ("usr/share/bash-completion/completions/kernel_delay", "-rw-r--r--"),
                       ("usr/share/zsh/vendor-completions/_kernel_delay", "-rw-r--r--"),
                       ("usr/share/fish/vendor_completions.d/kernel_delay.fish", "-rw-r--r--"),
                       ("usr/lib/systemd/system/kernel_delay.service", "-rw-r--r--"),
                       (f"{DOC}/kernel_delay.schema.json", "-rw-r--r--")):
        # Where a unit is differs between releases: /lib/systemd or /usr/lib/systemd.
        got = modes.get(name) or modes.get(name.removeprefix("usr/"))
        test.eq(got, mode, f"{name} is in its place")
    owners = {line.split()[1] for line in listed.splitlines()}
    test.eq(owners, {"root/root"}, "all of it is root's")
    fields = succeeds(test, "so are its fields", "dpkg-deb", "-f", package)
    test.eq(re.search("^Version: (.*)$", fields, re.MULTILINE)[1], f"{RELEASE}-1", "the version")
    for library in ("libbpf", "libelf", "libunwind", "libseccomp"):
        test.ok(re.search(f"^Depends: .*{library}", fields, re.MULTILINE), f"it needs {library}",
                fields)
    for library in ("libmicrohttpd", "libcapstone"):
        test.ok(re.search(f"^Recommends: .*{library}", fields, re.MULTILINE),
                f"it loads {library}", fields)


def check_hardening(test, program):
    said = succeeds(test, "it is read", "readelf", "-dlSW", program)
    test.ok("BIND_NOW" in said and "GNU_RELRO" in said and " PIE" in said,
            "the distribution's hardening is used", said)
    test.ok(".debug_info" not in said and ".symtab" not in said, "symbols are apart", said)


def one_file(test):
    said = succeeds(test, "make static succeeds", "make", "static", cwd=kdtest.ROOT)
    return kdtest.ROOT / said.splitlines()[-1].split()[-1]


def case_one_file(test):
    kdelsewhere.check_with_busybox(test, one_file(test))


def case_one_file_in_old(test):
    """The same file with Debian 11, whose C library is older than that of the build."""
    kdelsewhere.check_one_file(test, fresh_root(test, "bullseye", "extract"), one_file(test))


IN_IMAGE = """
import ctypes, os, sys
os.chroot(sys.argv[1])
os.chdir("/")
for number in range(64):
    if str(number) not in sys.argv[2].split(","):
        ctypes.CDLL(None).prctl(24, number, 0, 0, 0)  # PR_CAPBSET_DROP
os.execv(sys.argv[3], sys.argv[3:])
"""


def inside_image(root, capabilities):
    """A command that runs something as a container of this image: with the host's PIDs, a read-only
    root, and as a root with these capabilities."""
    return ("unshare", "--mount", "sh", "-c",
            f"mount --bind {root} {root} && mount -t proc none {root}/proc && "
            f"mount --rbind /sys {root}/sys && mount -o remount,bind,ro {root} && "
            f"! touch {root}/file 2>&- && "
            f'exec "$0" -c "$@"', sys.executable, IN_IMAGE, root, capabilities)


def case_image(test):
    """The image of the one file; without an engine's way to run it, as not each machine lets it."""
    kdneeds.need("podman", "unshare")
    built = one_file(test).parent
    folder = test.directory()
    engine = ("podman", "--root", folder / "root", "--runroot", folder / "run", "--storage-driver", "vfs",
              "--cgroup-manager", "cgroupfs", "--events-backend", "file")
    succeeds(test, "the image is built", *engine, "build", "--network=none", "-t", "kernel_delay", "-f",
             kdtest.ROOT / "examples" / "packaging" / "Containerfile", built)
    said = succeeds(test, "its place", *engine, "image", "mount", "kernel_delay")
    root = test.directory() / "image"
    shutil.copytree(said.split()[-1], root)
    succeeds(test, "it is left", *engine, "image", "umount", "--all")
    test.eq([str(path.relative_to(root)) for path in sorted(root.rglob("*")) if path.is_file()],
            ["usr/local/sbin/kernel_delay"], "nothing else is in it")
    for name in ("proc", "sys"):  # as engines make them
        (root / name).mkdir(exist_ok=True)
    load = test.workload("roles", "enters:-1:2000")
    inside = inside_image(root, "38,39")  # CAP_PERFMON, CAP_BPF
    status, said = run(*inside, "/usr/local/sbin/kernel_delay", "-p", str(load.pid), "--sample-time",
                       "0.1", "-o", "html")
    test.ok(status == 0 and said.startswith("<!DOCTYPE html>") and said.endswith("</pre>\n"),
            "two capabilities are enough for a page on standard output", said[:500])
    status, said = run(*inside_image(root, "39"), "/usr/local/sbin/kernel_delay", "-p", str(load.pid))
    test.ok(status == 77, "one is not", status, said)


def installed(test, root, package):
    """The package is installed, used, and removed in a system."""
    inside, before = kdelsewhere.inside_of(root), files_in(root)
    shutil.copy(package, root / "kernel-delay.deb")
    succeeds(test, "it is installed in a fresh system", *inside, "apt-get", "-y", "install",
             "/kernel-delay.deb", DEBIAN_FRONTEND="noninteractive")
    check_hardening(test, root / "usr" / "sbin" / "kernel_delay")
    said = succeeds(test, "it runs there", *inside, "kernel_delay", "--version")
    test.eq(said.split()[-1], RELEASE, "in its version")
    kdelsewhere.check_use(test, *inside, "kernel_delay")
    succeeds(test, "it is removed", *inside, "dpkg", "--purge", "kernel-delay")
    left = {name for name in files_in(root) - before if "kernel" in name and "delay" in name}
    test.eq(left, set(), "and leaves nothing")


def case_debian(test):
    """Of this release, in this one, and in the newest, where the one file runs, too."""
    kdneeds.need("dpkg-buildpackage", "dh", "lintian")
    packed = tarball(test, checkout(test))
    folder = twice(test, kdtest.ROOT / "examples" / "packaging" / "deb", packed,
                   PATH=without(test, "git"))
    architecture = succeeds(test, "for this machine", "dpkg", "--print-architecture").strip()
    package = folder / f"kernel-delay_{RELEASE}-1_{architecture}.deb"
    check_contents(test, package)
    said = succeeds(test, "lintian finds nothing", "lintian", "--fail-on", "error,warning",
                    "--allow-root", package)
    test.eq([line for line in said.splitlines() if line[:2] in ("E:", "W:")], [], "not even a hint")
    test.ok(list(folder.glob("kernel-delay-dbgsym_*.deb")), "debug symbols are a package")
    installed(test, fresh_root(test), package)
    root = fresh_root(test, "stable")
    kdelsewhere.check_one_file(test, root, one_file(test))
    installed(test, root, package)


def case_rpm(test):
    """Built without optimisation, and where this is no system of RPMs, with what it has."""
    kdneeds.need("rpmbuild", "rpm", "rpmlint")
    packed = tarball(test, checkout(test))
    folder = twice(test, kdtest.ROOT / "examples" / "packaging" / "rpm", packed, "--nodeps",
                   "--define", "optflags -O0 -g", "--define", "_unitdir /usr/lib/systemd/system")
    package, = folder.glob(f"RPMS/*/kernel_delay-{RELEASE}-1*.rpm")
    listed = succeeds(test, "it is listed", "rpm", "-qpl", package).split()
    for name in ("/usr/sbin/kernel_delay", "/usr/lib/systemd/system/kernel_delay.service",
                 "/usr/share/bash-completion/completions/kernel_delay"):
        test.ok(name in listed, f"{name} is in its place", *listed)
    test.ok(any(name.startswith("/usr/share/man/man8/kernel_delay.8") for name in listed),
            "so is the manual", *listed)
    wanted = succeeds(test, "what it needs is listed", "rpm", "-qp", "--requires", package)
    test.ok("libbpf.so.1" in wanted and "libelf.so.1" in wanted, "libraries", wanted)
    said = run("rpmlint", kdtest.ROOT / "examples" / "packaging" / "kernel_delay.spec")[1]
    # RPM has not wanted that tag since 4.6, and the tarball is made here.
    test.eq([line for line in said.splitlines() if re.search(": [EW]: ", line) and
             not re.search("no-buildroot-tag|invalid-url Source0", line)], [], "rpmlint finds nothing")


kdtest.main(case_tarball, case_release, case_one_file, case_one_file_in_old, case_image, case_debian, case_rpm)
