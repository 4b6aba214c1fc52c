# SPDX-License-Identifier: Apache-2.0
"""Real servers for the tests, each with directories and sockets of its own: Open vSwitch,
Redis and PostgreSQL.

Each is a context manager: entered, it serves; left, whatever it has started is ended by
its pid and its files are gone. The attribute pid is the process to look at. A case says
`server = kdservers.start(test, kdservers.Redis())` and need not think of the end. What is
not installed is a kdtest.Skip."""

import contextlib
import fcntl
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

import kdneeds
import kdtest

UDP_SENDER = """
import socket, sys, time
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
end = time.monotonic() + 60
while time.monotonic() < end:
    for _ in range(20):
        try:
            sock.sendto(b"x" * 100, (sys.argv[1], 5000))
        except OSError:
            pass
    time.sleep(0.01)
"""


def start(test, server):
    """Starts a server that ends with the case; returns it."""
    return test.stack.enter_context(server)


def silently(argv, **options):
    """Runs a program to its end; it has to succeed."""
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, **options)


def listens(path):
    """Whether somebody listens on a socket: its file exists earlier than that."""
    with socket.socket(socket.AF_UNIX) as peer:
        return peer.connect_ex(str(path)) == 0


class Server:
    """What all servers share. In begin(), each kind starts its server, waits until it serves, and
    pushes everything that it makes onto the stack, which undoes it."""

    programs = ()  # that must be installed

    def __init__(self):
        self.stack, self.directory, self.main = contextlib.ExitStack(), None, None

    def __enter__(self):
        kdneeds.need(*self.programs)
        with self.stack:  # if beginning fails
            self.directory = pathlib.Path(self.stack.enter_context(
                tempfile.TemporaryDirectory(prefix="kdtest")))
            self.begin()
            self.stack = self.stack.pop_all()
        return self

    def __exit__(self, *_):
        self.stack.close()

    def begin(self):
        raise NotImplementedError

    def child(self, argv, **options):
        """Starts a program that ends with the server, at the latest."""
        child = kdtest.Child(argv, **options)
        self.stack.callback(child.end)
        return child

    @property
    def pid(self):
        return self.main.pid


class OpenVSwitch(Server):
    """ovs-vswitchd and its database.

    options: for ovs-vswitchd; within: what runs it, in a namespace for instance."""

    programs = ("ovs-vswitchd", "ovsdb-server", "ovsdb-tool", "ovs-vsctl", "ovs-appctl")

    def __init__(self, *options, within=()):
        super().__init__()
        self.options, self.within = options, within
        self.database, self.store, self.environment = None, None, None

    def begin(self):
        folder = self.directory
        self.environment = {**os.environ, "OVS_RUNDIR": str(folder), "OVS_LOGDIR": str(folder),
                            "OVS_DBDIR": str(folder)}
        self.database = f"unix:{folder}/db.sock"
        silently(["ovsdb-tool", "create", folder / "conf.db",
                  "/usr/share/openvswitch/vswitch.ovsschema"])
        self.store = self.child(["ovsdb-server", folder / "conf.db", f"--remote=p{self.database}",
                    "-vconsole:off", f"--unixctl={folder}/ovsdb.ctl"], env=self.environment)
        kdtest.wait_until(lambda: listens(folder / "db.sock"))
        self.vsctl("--no-wait", "init")
        self.main = self.child([*self.within, "ovs-vswitchd", self.database, "--disable-system",
                                "-vconsole:off", f"--unixctl={folder}/vswitchd.ctl",
                                *self.options], env=self.environment)
        kdtest.wait_until(lambda: listens(folder / "vswitchd.ctl"))

    def vsctl(self, *args):
        silently(["ovs-vsctl", f"--db={self.database}", "--timeout=20", *args],
                 env=self.environment)

    def appctl(self, *args):
        silently(["ovs-appctl", "-t", self.directory / "vswitchd.ctl", *args])


class DummySwitch(OpenVSwitch):
    """Open vSwitch with a bridge and ports that only exist in its memory."""

    def __init__(self):
        super().__init__("--enable-dummy=override")

    def begin(self):
        super().begin()
        self.vsctl("add-br", "kdbr0", "--", "set", "bridge", "kdbr0", "datapath_type=dummy")

    def add_port(self, name):
        self.vsctl("add-port", "kdbr0", name, "--", "set", "interface", name, "type=dummy")


class NetdevSwitch(OpenVSwitch):
    """Open vSwitch that forwards packets itself, by a netdev bridge in a network namespace of its
    own, between two hosts, which are also namespaces."""

    programs = (*OpenVSwitch.programs, "ip")

    def __init__(self):
        self.name = f"kdtest-{os.getpid()}"
        super().__init__(within=("ip", "netns", "exec", f"{self.name}-sw"))

    def begin(self):
        if not pathlib.Path("/dev/net/tun").exists():
            raise kdtest.Skip("no /dev/net/tun for the bridge's own port")
        self.namespace("sw")
        super().begin()
        self.vsctl("add-br", "kdbr0", "--", "set", "bridge", "kdbr0", "datapath_type=netdev")
        for index in (1, 2):
            self.connect(index, self.namespace(f"h{index}"))

    def namespace(self, end):
        space = f"{self.name}-{end}"
        subprocess.run(["ip", "netns", "add", space], check=True)
        self.stack.callback(subprocess.run, ["ip", "netns", "del", space], check=False)
        return space

    def connect(self, index, host):
        """Connects a host to the switch."""
        port, switch = f"kdp{index}", f"{self.name}-sw"
        for command in (f"ip link add {port} netns {switch} type veth peer name eth0 netns {host}",
                        f"ip -n {switch} link set {port} up", f"ip -n {host} link set eth0 up",
                        f"ip -n {host} address add 192.0.2.{index}/24 dev eth0"):
            subprocess.run(command.split(), check=True)
        self.vsctl("add-port", "kdbr0", port)

    def received(self):
        """Packets of both hosts' interfaces as the switch's namespace sees them."""
        lines = pathlib.Path(f"/proc/{self.pid}/net/dev").read_text().splitlines()
        return sum(int(line.split()[2]) for line in lines if line.strip().startswith("kdp"))

    def send(self):
        """Makes each host send to the other for a minute; returns when packets flow."""
        for index in (1, 2):
            self.child(["ip", "netns", "exec", f"{self.name}-h{index}", sys.executable, "-c",
                        UDP_SENDER, f"192.0.2.{3 - index}"])
        before = self.received()
        kdtest.wait_until(lambda: self.received() > before + 200)


class Redis(Server):
    """redis-server on a socket; options: for it, else it keeps everything in memory."""

    programs = ("redis-server", "redis-benchmark")

    def __init__(self, *options):
        super().__init__()
        self.options, self.socket = options or ("--appendonly", "no"), None

    def begin(self):
        self.socket = self.directory / "redis.sock"
        self.main = self.child(["redis-server", "--port", "0", "--unixsocket", self.socket,
                                "--save", "", "--dir", self.directory, *self.options])
        kdtest.wait_until(self.socket.exists)

    def clients(self, count, kinds):
        """The command for 20 clients that send so many requests of each kind."""
        return ["redis-benchmark", "-s", self.socket, "-n", str(count), "-c", "20", "-q", "-t",
                kinds]

    def send(self, count, kinds="get,set"):
        """Starts the clients; returns their process."""
        return self.child(self.clients(count, kinds))

    def serve(self, count, kinds="get,set"):
        """Returns when the clients have received all answers."""
        silently(self.clients(count, kinds))


class Postgres(Server):
    """A database cluster with one connection; pid is the server process of that connection."""

    programs = ("setpriv", "psql")

    def __init__(self):
        super().__init__()
        self.client, self.backend = None, None
        folders = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb"))
        found = folders[-1] if folders else os.path.realpath(
            shutil.which("initdb") or "/nowhere/initdb")
        self.program = pathlib.Path(found).parent / "postgres"

    def begin(self):
        try:
            user = pwd.getpwnam("postgres")
        except KeyError:
            raise kdtest.Skip("there is no user postgres") from None
        if not self.program.exists():
            raise kdtest.Skip("postgresql is not installed")
        folder, data = self.directory, self.directory / "data"
        os.chown(folder, user.pw_uid, user.pw_gid)
        become = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--init-groups"]
        silently(["cp", "-a", self.cluster(become), data])
        silently(["chown", "-R", "postgres:", data])
        self.main = self.child([*become, self.program, "-D", data, "-k", folder,
                                "-c", "listen_addresses=", "-c", "fsync=off",
                                "-c", "autovacuum=off"], cwd=folder)
        self.stack.callback(self.shut_down)
        kdtest.wait_until(self.answers)
        self.client = self.child(["psql", "-h", folder, "-U", "postgres", "-qAtX", "postgres"])
        self.backend = int(self.query("select pg_backend_pid();"))

    def cluster(self, become):
        """The files of a cluster, made once for all tests, since that takes long."""
        kept = kdtest.ROOT / "build" / "tests" / f"cluster{self.program.stat().st_mtime_ns}"
        kept.parent.mkdir(parents=True, exist_ok=True)
        with open(f"{kept}.lock", "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not kept.exists():
                made = self.directory / "made"
                silently([*become, self.program.with_name("initdb"), "-D", made, "-A", "trust", "-N",
                          "-U", "postgres", "--no-locale"], cwd=self.directory)
                silently(["cp", "-aT", made, f"{kept}.part"])
                os.rename(f"{kept}.part", kept)
        return kept

    def answers(self):
        return (self.directory / ".s.PGSQL.5432").exists() and subprocess.run(
            ["psql", "-h", self.directory, "-U", "postgres", "-c", "select 1"], check=False,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0

    @property
    def pid(self):
        return self.backend

    def query(self, text):
        """The one line that a statement returns."""
        self.client.send(text)
        return self.client.line()

    def command(self, *texts):
        """Runs statements that return nothing, and waits for the last one's end."""
        for text in texts:
            self.client.send(text)
        self.client.send("\\echo done")
        self.client.line("done")

    def shut_down(self):
        """Shuts the server down cleanly: a killed one leaves shared memory behind."""
        if self.main.proc.poll() is None:
            self.main.signal(signal.SIGINT)
            self.main.wait()
