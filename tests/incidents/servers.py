# SPDX-License-Identifier: Apache-2.0
"""Servers that several incidents use, beside those of kdservers; each ends with its case."""

import fcntl
import os
import re
import signal
import subprocess
import time

import kdneeds
import kdprocesses
import kdservers
import kdtest
from incidents import PATIENCE


class Java(kdtest.Child):
    """A program of one class, Main, by its text; constructed once it says that it is ready."""

    def __init__(self, test, text, *options):
        kdneeds.need("javac", "java", "jstack")
        folder = test.directory()
        (folder / "Main.java").write_text(text)
        subprocess.run(["javac", "Main.java"], cwd=folder, check=True)
        super().__init__(["java", *options, "-cp", folder, "Main"], cwd=folder)
        test.start(self)
        self.words = self.line("ready", PATIENCE).split()[1:]

    def thread(self, name):
        """The TID of a thread, by jstack."""
        said = subprocess.run(["jstack", str(self.pid)], stdout=subprocess.PIPE, text=True, check=True)
        number, = re.findall(rf'^"{name}".* nid=(0x[0-9a-f]+|\d+) ', said.stdout, re.MULTILINE)
        return int(number, 0)


class MariaDB(kdservers.Server):
    """A server on a socket, without accounts."""

    programs = ("mariadbd", "mariadb", "mariadb-install-db")

    def begin(self):
        self.socket = self.directory / "socket"
        data = self.directory / "data"
        kdservers.silently(["cp", "-a", self.made(), data])
        self.main = self.child(["mariadbd", "--no-defaults", f"--datadir={data}", f"--socket={self.socket}",
                                "--skip-networking", "--skip-grant-tables", "--user=root",
                                "--skip-log-bin", "--innodb-flush-log-at-trx-commit=2"])
        kdtest.wait_until(lambda: self.socket.exists() and kdservers.listens(self.socket), PATIENCE)

    def made(self):
        """The files of an empty one, made once for all incidents, since that takes long."""
        kept = kdtest.ROOT / "build" / "tests" / "mariadb"
        kept.parent.mkdir(parents=True, exist_ok=True)
        with open(f"{kept}.lock", "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not kept.exists():
                kdservers.silently(["mariadb-install-db", "--no-defaults", f"--datadir={kept}.part",
                                    "--user=root", "--skip-test-db"], stderr=subprocess.DEVNULL)
                os.rename(f"{kept}.part", kept)
        return kept


class Rsyslog(kdservers.Server):
    """A server that writes what comes at its socket into a file."""

    programs = ("rsyslogd",)

    def begin(self):
        self.socket, self.messages = self.directory / "log", self.directory / "messages"
        (self.directory / "conf").write_text(f"""
module(load="imuxsock" SysSock.Use="off")
input(type="imuxsock" Socket="{self.socket}" RateLimit.Interval="0")
action(type="omfile" file="{self.messages}")
""")
        self.main = self.child(["rsyslogd", "-n", "-f", self.directory / "conf", "-i",
                                self.directory / "pid"])
        kdtest.wait_until(self.socket.exists, PATIENCE)


class Nginx(kdservers.Server):
    """A server with one worker, which answers with two bytes."""

    programs = ("nginx",)

    def begin(self):
        folder, self.port = self.directory, kdtest.free_port()
        paths = "".join(f"{kind}_temp_path {folder}/{kind}; " for kind in
                        ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        (folder / "conf").write_text(f"""
user root; daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/error;
events {{ }}
http {{
    access_log off; {paths}
    server {{ listen 127.0.0.1:{self.port}; location / {{ return 200 "ok"; }} }}
}}
""")
        self.main = self.child(["nginx", "-p", folder, "-c", folder / "conf"])
        self.stack.callback(self.shut_down)
        workers = kdtest.wait_until(lambda: kdprocesses.children_of(self.main.pid), PATIENCE)
        self.pids = [self.main.pid, *workers]

    def shut_down(self):
        """Its workers end with it only if it is not killed."""
        if self.main.proc.poll() is None:
            self.main.signal(signal.SIGTERM)
            self.main.wait()


def rests(*pids):
    """Returns once processes do next to nothing."""
    ran = lambda: sum(kdtest.schedstat(pid, tid)[0] for pid in pids for tid in kdtest.threads_of(pid))

    def idle():
        before = ran()
        time.sleep(0.2)
        return ran() - before < 4 * kdtest.MS
    kdtest.wait_until(idle, PATIENCE)
