# SPDX-License-Identifier: Apache-2.0
"""A virtual machine that runs one command with one of Debian's kernels: qemu without hardware
support, one processor, no network, the host's files read-only below a layer in memory. The
command's output comes through a virtio serial port, followed in the end by its status and the
kernel's messages."""

import contextlib
import math
import os
import pathlib
import re
import shlex
import shutil
import socket
import subprocess
import tempfile
import time

import busybox
import roots
from architectures import AMD64, TREE
from busybox import Unfit

HERE = pathlib.Path(__file__).resolve().parent
VIRTIOFSD = ("/usr/libexec/virtiofsd", "/usr/lib/qemu/virtiofsd")
MEMORY = "1G"
NEEDED = ("virtio_pci", "virtio_console", "virtiofs", "overlay")
TIMEOUT = 280  # seconds
# What the machine's clock cannot be blamed for: an emulated processor that does not
# run for seconds, as the host is busy, is neither an unstable clock nor locked up.
ARGUMENTS = ("maxcpus=1 loglevel=5 panic=-1 mitigations=off "
             "log_buf_len=4M rcupdate.rcu_cpu_stall_timeout=200 watchdog_thresh=60 random.trust_cpu=on")
# Messages of a kernel that has gone wrong.
SPLAT = re.compile(r"BUG:|WARNING:|\bOops\b|[Gg]eneral protection|Kernel panic|[Cc]all [Tt]race:|"
                   r"(?:self-)?detected (?:\w+ )*stalls?\b|kthread starved|"
                   r"[Ss]oft lockup|[Hh]ard LOCKUP|blocked for more than|double fault|"
                   r"possible (?:recursive|circular|irq) lock|inconsistent lock state|"
                   r"UBSAN:|KASAN:|refcount_t:|list_(?:add|del) corruption|[Bb]ad page|RIP: 0010:")
# A frame of a call trace, unless it may be left from an earlier call ("? name").
TRACE = re.compile(r"[Cc]all [Tt]race:")
FRAME = re.compile(r"\] +([\w.]+)\+0x[\da-f]+/0x[\da-f]+")
FRAMES = 24


class Outcome:
    """The outcome of a command."""

    def __init__(self):
        self.status = None    # of the command; None if it did not end
        self.failure = ""     # why it did not
        self.messages = []    # the kernel's, by line

    @property
    def splats(self):
        """The messages that tell of a fault; those of call traces with the functions."""
        return [line + self.trace(number + 1) if TRACE.search(line) else line
                for number, line in enumerate(self.messages) if SPLAT.search(line)]

    def trace(self, number):
        """The functions of a call trace, the innermost first."""
        found = map(FRAME.search, self.messages[number:number + FRAMES])
        return "".join(f" {frame[1]}" for frame in found if frame)


def tools(architecture=AMD64):
    """Paths of (qemu, virtiofsd). This host's busybox has to do, too."""
    if os.geteuid():
        raise Unfit("not root: the file system cannot be shared")
    virtiofsd = next((path for path in VIRTIOFSD if os.access(path, os.X_OK)), None)
    found = {architecture.qemu: shutil.which(architecture.qemu), "virtiofsd": virtiofsd}
    missing = [name for name, path in found.items() if not path]
    if missing or os.uname().machine != AMD64.kernel:
        raise Unfit(f"not installed: {', '.join(missing)}" if missing else "the host is no x86_64")
    busybox.installed()
    return found.values()


def modules(kernel):
    """Paths of the modules that a machine starts with, each after those that it needs. Features
    built into the kernel have no module."""
    needs, paths, ordered = {}, {}, []
    for line in (kernel.modules / "modules.dep").read_text().splitlines():
        path, _, others = line.partition(":")
        needs[path] = others.split()
        paths[path.rsplit("/", 1)[-1].split(".")[0].replace("-", "_")] = path
    for name in NEEDED:
        # depmod names what a module needs in the reverse order of loading.
        if name in paths:
            ordered += reversed([paths[name], *needs[paths[name]]])
    return list(dict.fromkeys(ordered))


def initial_files(kernel, starter, folder, command):
    """Makes the initial file system, which is started by a busybox; returns its path."""
    root, tool = folder / "initial", busybox.installed().path
    for name in ("bin", "dev", "proc", "sys", "modules"):
        (root / name).mkdir(parents=True)
    starter.copy(root)
    shutil.copy(HERE / "init", root / "init")
    names = []
    for path in modules(kernel):
        name = os.path.basename(path)
        unpack = {"xz": "xzcat", "gz": "zcat"}.get(name.rsplit(".", 1)[-1], "cat")
        names.append(name.split(".")[0] + ".ko")
        with open(root / "modules" / names[-1], "wb") as stream:
            subprocess.run([tool, unpack, kernel.modules / path], stdout=stream, check=True)
    (root / "modules" / "order").write_text("".join(f"{name}\n" for name in names))
    (root / "machine").write_text(f"TREE={shlex.quote(str(TREE))}\n"
                                  f"MODULES={shlex.quote(str(kernel.modules))}\n")
    (root / "command").write_text(command)
    listing = "\n".join(["."] + [str(path.relative_to(root)) for path in root.rglob("*")])
    with open(folder / "initrd", "wb") as stream:
        subprocess.run([tool, "cpio", "-o", "-H", "newc"], input=listing.encode(), cwd=root,
                       stdout=stream, stderr=subprocess.DEVNULL, check=True)
    return folder / "initrd"


def script(root, build, argv, environment):
    """A shell script that runs a command here, in this directory and environment, in which tests
    find what was built for the machine."""
    path = os.path.dirname(root.python)
    variables = {"PATH": f"{path}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                 "HOME": "/root", "LANG": "C.UTF-8", "KERNEL_DELAY": str(build / "kernel_delay"),
                 "WORKLOADS": str(build / "workloads"), **environment}
    lines = [f"export {name}={shlex.quote(value)}" for name, value in variables.items()]
    return "\n".join([*lines, f"cd {shlex.quote(os.getcwd())}", f"exec {shlex.join(argv)}", ""])


# In a mount namespace of its own, where nothing can be written, and folders of this host are below
# another root.
SHARE = """
root=$1 shared=$2
shift 2
for place in $shared; do
	mkdir -p "$root/$place" && mount --bind "$place" "$root/$place" || exit
done
while read -r _ place _; do
	mount -o remount,bind,ro "$(printf '%b' "$place")" 2>/dev/null
done </proc/self/mounts
[ -w / ] && { echo "the files cannot be made read-only" >&2; exit 1; }
exec "$@"
"""


def share_files(virtiofsd, root, kernel, listener, log):
    """Starts the server of a root's files, which ends together with its only client."""
    below = "" if root.path == pathlib.Path("/") else f"{TREE} {kernel.modules}"
    argv = ["setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "sh", "-c", SHARE, "sh",
            root.path, below, virtiofsd, f"--fd={listener.fileno()}",
            "-o", f"source={root.path},cache=always,sandbox=chroot"]
    return subprocess.Popen(argv, pass_fds=[listener.fileno()], stdin=subprocess.DEVNULL,
                            stdout=log, stderr=log)


def start(qemu, kernel, folder, log, cpus=1):
    """Starts the machine whose files are in a folder. If it has several CPUs, all but one are
    offline."""
    ports = [argument for name in ("output", "status", "messages") for argument in
             ("-chardev", f"file,id={name},path={folder / name}",
              "-device", f"virtserialport,chardev={name},name={name}")]
    machine = kernel.architecture
    argv = ["setpriv", "--pdeathsig", "KILL", qemu, "-nodefaults", "-no-user-config", "-no-reboot",
            "-display", "none", "-accel", "tcg", "-cpu", machine.processor, "-smp", cpus,
            "-m", MEMORY, "-object", f"memory-backend-memfd,id=memory,size={MEMORY},share=on",
            "-machine", f"{machine.board},memory-backend=memory", "-kernel", kernel.image,
            "-initrd", folder / "initrd", "-append", f"{machine.arguments} {ARGUMENTS}",
            "-serial", f"file:{folder / 'console'}",
            "-chardev", f"socket,id=files,path={folder / 'files'}",
            "-device", "vhost-user-fs-pci,chardev=files,tag=host,queue-size=1024",
            "-device", "virtio-serial-pci", *ports]
    return subprocess.Popen([str(arg) for arg in argv], stdin=subprocess.DEVNULL, stdout=log,
                            stderr=log)


def finish(process):
    """Ends a process unless it ends by itself at once."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(1)
    if process.poll() is None:
        process.kill()
    process.wait()


def text(path):
    return path.read_text(errors="replace") if path.exists() else ""


def used(process):
    """Seconds of CPU time used by a process that has not been reaped yet."""
    with contextlib.suppress(OSError):
        fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return 0


def run(kernel, argv, environment, output, timeout=TIMEOUT, stopped=lambda: False, starter=None,
        most=math.inf, cpus=1):
    """Runs a command in a machine with a kernel, and copies its output to a binary stream
    meanwhile. environment: variables besides the usual ones; stopped: tells whether to give up;
    starter: another busybox than the installed one; most: the limit of CPU seconds; cpus: their
    number, of which all but one are offline. Returns its Outcome."""
    qemu, virtiofsd = tools(kernel.architecture)
    root = roots.of(kernel.architecture)
    outcome, deadline = Outcome(), time.monotonic() + timeout
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kdvm")))
        log = stack.enter_context(open(folder / "log", "wb"))
        listener = stack.enter_context(socket.socket(socket.AF_UNIX))
        listener.bind(str(folder / "files"))
        listener.listen()
        initial_files(kernel, starter or root.starter, folder,
                      script(root, kernel.architecture.build, argv, environment))
        (folder / "output").touch()
        printed = stack.enter_context(open(folder / "output", "rb"))
        stack.callback(finish, share_files(virtiofsd, root, kernel, listener, log))
        machine = start(qemu, kernel, folder, log, cpus)
        stack.callback(finish, machine)
        limit = None
        while machine.poll() is None and not limit and not stopped():
            time.sleep(0.1)
            if used(machine) > most:
                limit = f"it used more than {most:g} s of a processor"
            elif time.monotonic() > deadline:
                limit = f"it took longer than {timeout:g} s"
            shutil.copyfileobj(printed, output)
            output.flush()
        shutil.copyfileobj(printed, output)  # its last words
        output.flush()
        judge(outcome, folder, machine.poll() is None and limit)
    return outcome


def judge(outcome, folder, failure):
    """Fills in an outcome from what the machine left."""
    status = text(folder / "status").strip()
    if status:
        outcome.status = int(status)
    elif failure:
        outcome.failure = failure
    else:
        said = (text(folder / "log") + text(folder / "console")).strip().split("\n")
        outcome.failure = f"it ended before the command did: {said[-1] or 'nothing said'}"
    outcome.messages = (text(folder / "messages") or text(folder / "console")).splitlines()
