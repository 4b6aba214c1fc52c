# SPDX-License-Identifier: Apache-2.0
"""Debian's kernels for virtual machines: the newest package of a series, fetched from other suites
of the mirror in this machine's apt configuration, with separate lists and downloads (apt's own are
left alone), and kept unpacked below $XDG_CACHE_HOME or /var/cache."""

import contextlib
import fcntl
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time

import architectures
from architectures import AMD64, ARM64

# Series -> suites that may have it, the likeliest first. "-rt": with PREEMPT_RT.
SUITES = {
    "5.10": ("bullseye-security", "bullseye"),
    "6.1": ("bookworm-security", "bookworm"),
    "6.1-rt": ("bookworm-security", "bookworm"),
    "6.12": ("trixie-security", "trixie", "bookworm-security"),
    "newest": ("sid",),
    "arm64": ("bookworm-security", "bookworm"),
}
SERIES = tuple(SUITES)
VERSIONS = {"6.1-rt": "6.1", "arm64": "6.1"}  # of those that are not called by it
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or "/var/cache") / "kernel_delay"
FRESH = 24 * 3600  # seconds for which a suite's list of packages is good
TIMEOUT = 240      # seconds for one command of apt
PATIENCE = 3       # failures after which the mirror is not asked any more
KEEP = 2           # kernels of a series: another run may still use the one before
KEYRINGS = tuple(f"/usr/share/keyrings/debian-archive-keyring.{end}" for end in ("gpg", "pgp"))

CONFIGURATION = """\
APT::Architecture "{architecture}";
APT::Architectures {{ "{architecture}"; }};
Dir::Etc::SourceList "{place}/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::Etc::Preferences "/dev/null";
Dir::Etc::PreferencesParts "/dev/null";
Dir::State::Lists "{place}/lists";
Dir::Cache "{place}/cache";
APT::Sandbox::User "root";
APT::Get::List-Cleanup "false";
Acquire::Languages "none";
Acquire::Retries "1";
Acquire::http::Timeout "30";
Acquire::https::Timeout "30";
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
"""


class Unavailable(Exception):
    """A kernel is not available here; the text says why."""


class Kernel:
    """An unpacked kernel: its release, image and modules."""

    def __init__(self, place):
        self.place, self.release = place, place.name
        self.modules = place / "lib" / "modules" / self.release
        self.architecture = architectures.of_release(self.release)

    @property
    def version(self):
        """The version as people call it: 6.1.0-56 for 6.1.0-56-cloud-amd64; 6.1.0-56-rt, -arm64."""
        return self.release.removesuffix("-amd64").replace("-cloud", "")

    @property
    def image(self):
        places = (self.place / "boot" / f"vmlinuz-{self.release}", self.modules / "vmlinuz")
        return next(path for path in places if path.exists())


def architecture_of(series):
    return ARM64 if series == "arm64" else AMD64


def flavour(series):
    """How the names of the kernel's releases end."""
    return f"{'rt' if series.endswith('-rt') else 'cloud'}-{architecture_of(series).debian}"


def order(release):
    """6.12.9 < 6.12.115+deb13 < 6.12.115+deb13.1"""
    return [int(digits) for digits in re.findall(r"\d+", re.sub(r"-a\w+64$", "", release))]


def is_of(series, release):
    """Whether a release belongs to a series; newest includes any that no other series claims."""
    if not release.endswith("-" + flavour(series)):
        return False
    if series == "newest":
        return not any(is_of(other, release) for other in SERIES if other != series)
    return release.startswith(VERSIONS.get(series, series) + ".")


def run(argv, **options):
    """Runs a command; if it fails, raises Unavailable with its last line."""
    try:
        done = subprocess.run([str(arg) for arg in argv], stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                              timeout=TIMEOUT, env={**os.environ, "LC_ALL": "C"}, **options)
    except subprocess.TimeoutExpired:
        raise Unavailable(f"{argv[0]} took longer than {TIMEOUT} s") from None
    except OSError as error:
        raise Unavailable(f"{argv[0]}: {error.strerror}") from None
    if done.returncode:
        lines = (done.stderr or done.stdout or f"status {done.returncode}").strip().split("\n")
        raise Unavailable(f"{argv[0]}: {lines[0]}")
    return done.stdout


def host():
    """The contents of this machine's os-release."""
    with contextlib.suppress(OSError):
        lines = pathlib.Path("/etc/os-release").read_text(encoding="utf-8").splitlines()
        return {key: value.strip('"') for key, _, value in (line.partition("=") for line in lines)}
    return {}


def mirrors():
    """Debian's archive as configured here, and its archive of security updates."""
    if host().get("ID") != "debian" or not shutil.which("apt-get"):
        raise Unavailable("this is no Debian system, whose mirror has the kernels")
    text = run(["apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)",
                "Created-By: Packages"])
    names = {host().get("VERSION_CODENAME", "sid"), "stable", "testing", "unstable", "sid"}
    found = {}
    for line in text.splitlines():
        uri, release, component = line.split()
        base = release.removesuffix("-security").removesuffix("/updates")
        if component == "main" and base in names:
            found.setdefault("main" if release == base else "security", uri)
    return found


class Suite:
    """A suite of the mirror, with apt's lists and configuration for it alone."""

    silent = 0  # how often the mirror did not answer

    def __init__(self, name, architecture):
        uri = mirrors().get("security" if name.endswith("-security") else "main")
        keys = [path for path in KEYRINGS if os.path.exists(path)]
        if not uri or not keys:
            raise Unavailable(f"apt is not configured for a mirror with {name}")
        other = "" if architecture is AMD64 else f"-{architecture.debian}"
        self.place = CACHE / "apt" / f"{name}{other}"
        for folder in ("lists/partial", "cache/archives/partial"):
            (self.place / folder).mkdir(parents=True, exist_ok=True)
        (self.place / "sources.list").write_text(f"deb [signed-by={keys[0]}] {uri} {name} main\n")
        (self.place / "apt.conf").write_text(CONFIGURATION.format(
            place=self.place, architecture=architecture.debian))
        self.update()

    def apt(self, tool, *args, **options):
        return run([f"apt-{tool}", "-c", self.place / "apt.conf", "-qq", *args], **options)

    def persist(self, *args, **options):
        """Retries a command that needs the network, which may be back in a moment, or does not
        exist."""
        for pause in (5, 0):
            if Suite.silent >= PATIENCE:
                raise Unavailable("the mirror does not answer")
            try:
                return self.apt(*args, **options)
            except Unavailable as why:
                if not pause or "404" in str(why):
                    raise
                Suite.silent += 1
                time.sleep(pause)

    def update(self):
        stamp = self.place / "updated"
        if stamp.exists() and 0 <= time.time() - stamp.stat().st_mtime < FRESH:
            return
        # Without this option a list that cannot be fetched is but a warning.
        self.persist("get", "update", "-o", "APT::Update::Error-Mode=any")
        stamp.touch()

    def newest(self, series):
        """The release of the newest kernel of a series, or nothing."""
        kind = flavour(series)
        names = self.apt("cache", "search", "--names-only", f"^linux-image-[0-9].*-{kind}$")
        releases = [line.split()[0].removeprefix("linux-image-") for line in names.splitlines()]
        # Names without a full version are those of meta-packages.
        found = [release for release in releases if is_of(series, release)
                 and not re.fullmatch(rf"\d+\.\d+-{kind}", release)]
        return max(found, key=order, default=None)

    def download(self, release, folder):
        """Fetches the packages of a kernel: an image, or several that it depends on."""
        names = {f"linux-image-{release}"}
        for line in self.apt("cache", "depends", f"linux-image-{release}").splitlines():
            match = re.fullmatch(r" *\|?(?:Pre)?Depends: (linux-\w+-(\S+))", line)
            if match and match[2] == release:
                names.add(match[1])
        self.persist("get", "download", *sorted(names), cwd=folder)


def unpack(suite, release):
    """Downloads a kernel, and puts it into the cache in one step."""
    place = CACHE / "kernels" / release
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        packages, tree = pathlib.Path(folder, "packages"), pathlib.Path(folder, "tree")
        packages.mkdir()
        suite.download(release, packages)
        for package in packages.iterdir():
            run(["dpkg", "-x", package, tree])
        if not (tree / "lib").exists():
            (tree / "lib").symlink_to("usr/lib")
        run(["depmod", "-b", tree, release])
        place.parent.mkdir(exist_ok=True)
        tree.chmod(0o755)
        tree.rename(place)
    return Kernel(place)


def cached(series):
    """The cached kernels of a series, newest first."""
    places = (CACHE / "kernels").glob(f"*-{flavour(series)}")
    kernels = [Kernel(place) for place in places if is_of(series, place.name)]
    return sorted(kernels, key=lambda kernel: order(kernel.release), reverse=True)


def fetch(series):
    reasons = []
    for name in SUITES[series]:
        try:
            suite = Suite(name, architecture_of(series))
            release = suite.newest(series)
            if not release:
                raise Unavailable(f"{name} has no kernel {series}")
            there = [kernel for kernel in cached(series) if kernel.release == release]
            return there[0] if there else unpack(suite, release)
        except Unavailable as why:
            reasons.append(str(why))
    raise Unavailable("; ".join(dict.fromkeys(reasons)))


@contextlib.contextmanager
def locked():
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def kernel(series):
    """The newest kernel of a series; without network, the newest one in the cache."""
    with locked():
        try:
            found = fetch(series)
        except Unavailable:
            if not cached(series):
                raise
            return cached(series)[0]
        for old in cached(series)[KEEP:]:
            shutil.rmtree(old.place)
        return found
