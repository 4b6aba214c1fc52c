#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tests/run: long
"""The examples work: Prometheus accepts configuration, rules and the dashboard's queries, the
service has exactly the rights that it needs, and the script keeps the captures that it should.
(Command lines: documented.t.)"""

import functools
import http.server
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import socket
import subprocess
import threading
import urllib.parse
import urllib.request

import kddocuments
import kdprocesses
import kdtest
from kddocuments import EXAMPLES
from kdneeds import module, tool, tracefs

PORT = "10440"
EVERY, RATE = "1s", "10s"  # how often Prometheus asks here, and what rates are of
SUFFIXES = {"counter": ("_total",), "gauge": ("",), "info": ("_info",),
            "histogram": ("_bucket", "_sum", "_count")}
OF_THE_SCRAPE = {"job", "instance", "tid", "le"}
HARDLY_EVER = ("lost_events", "hardirq", "capture_info{start_trigger")


def yaml_of(name):
    return module("yaml").safe_load((EXAMPLES / name).read_text())


def said_by(*argv, **options):
    done = subprocess.run([str(arg) for arg in argv], stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, **options)
    return done.returncode, done.stdout


@functools.cache
def listens():
    """Whether the program was built with --listen."""
    return "not built in" not in said_by(kdtest.PROGRAM, "--listen", PORT, "--pidfile", "/")[1]


def case_contents(test):
    text = (EXAMPLES / "README.rst").read_text()
    names = {path.name for path in EXAMPLES.iterdir() if path.suffix not in (".png", ".svg")}
    names -= {"README.rst"}
    folders = {path.name for path in EXAMPLES.iterdir() if path.is_dir()}
    test.eq(sorted(name for name in names if f"``{name}``" not in text), [],
            "README.rst lists every example")
    about = "".join((EXAMPLES / f"{name}.rst").read_text()
                    for name in ("monitoring", "measurement-sets", "sql"))
    test.eq(sorted(name for name in names - folders if not name.endswith(".rst") and
                   f"``{name}``" not in about), [], "those about many captures explain every file")


@functools.cache
def families():
    """{name in queries: labels} of all metrics."""
    lines = said_by(kdtest.PROGRAM, "--list-metrics")[1].splitlines()[1::2]
    names = {}
    for name, kind, _, labels in map(str.split, lines):
        for suffix in SUFFIXES[kind]:
            names[name + suffix] = OF_THE_SCRAPE | set(labels.replace("-", "").split(","))
    return names


def check_metrics(test, what, expr):
    """The metrics of a query exist, and have the labels that it uses."""
    used = re.findall(r"\b(kernel_delay_\w+)(?:\{([^}]*)\})?", expr)
    test.ok(used or "up{" in expr, f"{what}: asks for metrics")
    unknown = [name for name, _ in used if name not in families()]
    test.eq(unknown, [], f"{what}: they are in --list-metrics")
    wrong = [f"{name}: {label}" for name, matchers in used
             for label in re.findall(r"(\w+)[!=]", re.sub(r'"[^"]*"', '""', matchers))
             if label not in families().get(name, ())]
    sets = [families().get(name, set()) for name, _ in used]
    known = set().union(*sets) if sets else OF_THE_SCRAPE
    wrong += [label for labels in re.findall(r"\b(?:by|without|on|ignoring|group_left) \(([^)]*)\)",
                                             expr)
              for label in re.findall(r"\w+", labels) if label not in known]
    test.eq(wrong, [], f"{what}: and have these labels")


def case_alerts(test):
    rules = yaml_of("alerts.yml")["groups"][0]["rules"]
    test.ok(len(rules) > 6, "there are rules")
    for rule in rules:
        check_metrics(test, rule["alert"], rule["expr"])
    promtool = tool("promtool")
    status, said = said_by(promtool, "check", "rules", EXAMPLES / "alerts.yml")
    test.ok(status == 0, "promtool finds no fault", said)
    status, said = said_by(promtool, "test", "rules", EXAMPLES / "alerts_test.yml")
    test.ok(status == 0, "its tests pass", said)
    # Each alert has a test that sees it fire, and one that sees it not fire for all.
    for change in ("absent(vector(1))", "vector(1)"):
        text = (EXAMPLES / "alerts.yml").read_text()
        for rule in rules:
            start = text.index("expr:", text.index(f"alert: {rule['alert']}\n"))
            end = min(text.index(word, start) for word in ("\n        for:", "\n        labels:")
                      if word in text[start:])
            text = f"{text[:start]}expr: {change}{text[end:]}"
        folder = test.directory()
        shutil.copy(EXAMPLES / "alerts_test.yml", folder)
        (folder / "alerts.yml").write_text(text)
        status, said = said_by(promtool, "test", "rules", folder / "alerts_test.yml")
        test.eq(status, 1, f"with {change} for all conditions the tests fail")
        failed = set(re.findall(r"^ +alertname: (\w+), time:", said, re.M))
        for rule in rules:
            test.ok(rule["alert"] in failed, f"{rule['alert']}: {change} in place of "
                    f"{rule['expr'].split()[0][:30]}... is found out", said)


def case_prometheus_config(test):
    status, said = said_by(tool("promtool"), "check", "config", EXAMPLES / "prometheus.yml")
    test.ok(status == 0 and "10 rules" in said, "promtool finds no fault", said)
    for name in ("prometheus.yml", "kernel_delay.service", "daemonset.yaml", "monitoring.rst"):
        test.ok(PORT in (EXAMPLES / name).read_text(), f"{name}: has port {PORT}")


def panels():
    dashboard = json.loads((EXAMPLES / "grafana-dashboard.json").read_text())
    return dashboard, [panel for panel in dashboard["panels"] if panel["type"] != "row"]


def queries():
    """(title, query with Grafana's variables replaced) of each panel of the dashboard."""
    for panel in panels()[1]:
        for target in panel["targets"]:
            expr = target["expr"].replace("$__rate_interval", RATE)
            expr = expr.replace("$job", "kernel_delay")
            yield panel["title"], re.sub(r"\$(instance|thread)\b", ".+", expr)


def case_dashboard(test):
    dashboard, shown = panels()
    test.ok(len(shown) > 10, "it has panels")
    ids = [panel["id"] for panel in dashboard["panels"]]
    test.eq(len(set(ids)), len(ids), "no id is there twice")
    for panel in shown:
        test.ok(panel["title"] and panel["fieldConfig"]["defaults"]["unit"],
                f"panel {panel['id']} has title and unit")
    places = [(p["gridPos"]["x"], p["gridPos"]["y"], p["gridPos"]["w"], p["gridPos"]["h"])
              for p in dashboard["panels"]]
    clash = [(a, b) for n, a in enumerate(places) for b in places[:n]
             if a[0] < b[0] + b[2] and b[0] < a[0] + a[2] and
             a[1] < b[1] + b[3] and b[1] < a[1] + a[3]]
    test.eq(clash, [], "no panel covers another")
    names = {item["name"] for item in dashboard["templating"]["list"]} | {"__rate_interval"}
    text = json.dumps(dashboard)
    test.eq(set(re.findall(r"\$\{?(\w+)", text)) - names, set(), "all variables are defined")
    for item in dashboard["templating"]["list"]:
        if item["type"] == "query":
            check_metrics(test, f"variable {item['name']}", item["definition"])
    for title, expr in queries():
        check_metrics(test, title, expr)
    rules = [{"record": f"panel:{n}", "expr": expr} for n, (_, expr) in enumerate(queries())]
    path = test.directory() / "rules.yml"
    path.write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))
    status, said = said_by(tool("promtool"), "check", "rules", path)
    test.ok(status == 0, "promtool finds no fault in the queries", said)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def serve(test, path):
    """Serves a .prom file as node_exporter would, with a metric of its own; returns the port."""
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):  # pylint: disable=invalid-name
            body = path.read_bytes() + b"node_load1 1\n" if path.exists() else b""
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):  # pylint: disable=arguments-differ
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    test.stack.callback(server.server_close)
    test.stack.callback(server.shutdown)
    return server.server_address[1]


def prometheus(test, targets):
    """Prometheus with our configuration, on other ports and with shorter intervals; returns its
    address."""
    folder = test.directory()
    text = (EXAMPLES / "prometheus.yml").read_text().replace("15s", EVERY)
    for ours, real in targets.items():
        if ours not in text:
            raise ValueError(f"{ours} is no target")
        text = text.replace(ours, f"127.0.0.1:{real}")
    (folder / "prometheus.yml").write_text(text)
    shutil.copy(EXAMPLES / "alerts.yml", folder)
    port = free_port()
    test.child([tool("prometheus"), f"--config.file={folder}/prometheus.yml",
                f"--storage.tsdb.path={folder}/data", f"--web.listen-address=127.0.0.1:{port}",
                "--log.level=error"])
    return f"http://127.0.0.1:{port}/api/v1/"


def ask(address, what, **fields):
    with urllib.request.urlopen(address + what + "?" + urllib.parse.urlencode(fields),
                                timeout=kdtest.PATIENCE) as answer:
        return json.load(answer)["data"]


def rows(address, expr):
    """A query's answer at this moment: empty if nothing was scraped twice in the last RATE, as when
    the machine is busy."""
    return ask(address, "query", query=expr)["result"]


def scraped(test):
    """A Prometheus that has scraped a busy process several times."""
    load = test.workload("roles", "poll", "spin:-1", "fifo:-1:1:10")
    path = test.directory() / "kernel_delay.prom"
    target = free_port()
    args = [kdtest.PROGRAM, "-p", load.pid, "--sample-count", 0, "--sample-time", EVERY,
            "--quiet", "--histogram", "-o", f"prometheus:{path}"]
    test.child(args + (["--listen", target] if listens() else []))
    server = serve(test, path)
    address = prometheus(test, {f"localhost:{PORT}": target if listens() else server,
                                "localhost:9100": server})

    def enough():
        try:
            found = ask(address, "query", query='count_over_time(up{job="kernel_delay"}[1m]) >= 6')
        except OSError:
            return False
        return found["result"]
    kdtest.wait_until(enough, 3 * kdtest.PATIENCE)
    return address


def case_scraped(test):
    """Every query of the dashboard that can have an answer has one."""
    tool("prometheus")
    address = scraped(test)
    for title, expr in queries():
        rare = any(name in expr for name in HARDLY_EVER)
        found = rows(address, expr) if rare else kdtest.wait_until(functools.partial(rows, address, expr))
        if rare and not found:
            test.skip(f"{title}: has an answer", "there may be none")
            continue
        test.ok(found, f"{title}: has an answer", expr)
    shares = {row["metric"]["state"]: float(row["value"][1]) for row in kdtest.wait_until(lambda: rows(
        address, 'sum by (state) (rate(kernel_delay_thread_seconds_total'
        f'{{job="kernel_delay",thread="spin"}}[{RATE}])) / scalar(sum(rate('
        f'kernel_delay_thread_seconds_total{{job="kernel_delay",thread="spin"}}[{RATE}])))'))}
    test.between(sum(shares.values()) * 1000, 999, 1001, "states of a thread add up")
    test.ok(shares.get("user", 0) > shares.get("blocked", 1), "one that spins, runs", shares)
    rest = '{job="kernel_delay_textfile",__name__!~"up|scrape_.*|ALERTS.*"}'
    kept = {row["metric"]["__name__"].split("_")[0] for row in rows(address, rest)}
    test.eq(kept, {"kernel"}, "of node_exporter's metrics only these are taken")
    states = {rule["name"]: rule["health"] for group in ask(address, "rules")["groups"]
              for rule in group["rules"]}
    test.eq(set(states.values()), {"ok"}, "every alert rule can be evaluated")


def unit():
    """The [Service] section of kernel_delay.service, and its command without program and variables."""
    settings = {}
    for line in kddocuments.joined((EXAMPLES / "kernel_delay.service").read_text()):
        name, sign, value = line.partition("=")
        if sign and not line.startswith("#"):
            settings[name] = value
    words = shlex.split(settings["ExecStart"])[1:]
    return settings, words


def confined(capabilities, extra=()):
    """setpriv that confines a program as systemd would confine the service: another user, these
    capabilities."""
    words = ",".join(["-all", *(f"+{name}" for name in capabilities)])
    return ["setpriv", "--reuid=61234", "--regid=61234", "--clear-groups", "--no-new-privs",
            f"--inh-caps={words}", f"--ambient-caps={words}", f"--bounding-set={words}", *extra]


def memlock():
    """As LimitMEMLOCK=infinity does: before Linux 5.11 BPF maps count as locked memory."""
    old = tuple(map(int, re.findall(r"\d+", os.uname().release)[:2])) < (5, 11)
    return [tool("prlimit"), "--memlock=unlimited"] if old else []


def names_of(capabilities):
    return [name.removeprefix("CAP_").lower() for name in capabilities.split()]


def service_args(test, load, port):
    """The service's own options, applied to a process of the test, for one sample, with its text."""
    _, words = unit()
    at = words.index("--comm")
    words[at:at + 2] = ["-p", str(load.pid)]
    at = words.index("--listen")
    words[at:at + 2] = ["-o", "prometheus"] + (["--listen", str(port)] if listens() else [])
    for option, value in (("--sample-count", "1"), ("--sample-time", "500ms")):
        test.ok(option in words, f"it has {option}")
        words[words.index(option) + 1] = value
    return words


def reachable(test):
    """A copy of the program where any user can execute it."""
    folder = test.directory()
    folder.chmod(0o755)
    return shutil.copy(kdtest.PROGRAM, folder / "kernel_delay")


def case_service_privileges(test):
    """The service needs each capability that it has, and no other."""
    tool("setpriv")
    settings, _ = unit()
    test.eq(settings["AmbientCapabilities"], settings["CapabilityBoundingSet"],
            "it may have what it has")
    test.eq((settings["DynamicUser"], settings["LimitMEMLOCK"]), ("yes", "infinity"),
            "it is a user, who may lock memory")
    names = names_of(settings["CapabilityBoundingSet"])
    load, program = test.workload("roles", "poll"), reachable(test)
    args = [program, *service_args(test, load, free_port())]
    limit = memlock()
    status, said = said_by(*limit, *confined(names), *args)
    test.ok(status == 0 and "kernel_delay_thread_seconds_total{" in said, "with these it works",
            status, said[:2000])
    for name in names:
        rest = [other for other in names if other != name]
        status, said = said_by(*limit, *confined(rest), *args)
        test.ok(status == 77 and "not permitted" in said, f"without {name} it does not", said[:500])
    status, said = said_by(*limit, *confined([]), *args)
    test.eq(status, 77, "nor without any")


def allowed_calls():
    """The system calls that the service may make."""
    analyze = tool("systemd-analyze")
    calls, left = set(), unit()[0]["SystemCallFilter"].split() + ["@default"]
    while left:
        name = left.pop()
        if not name.startswith("@"):
            calls.add(name)
            continue
        status, said = said_by(analyze, "--no-pager", "syscall-filter", name)
        if status:
            raise kdtest.Skip(f"systemd-analyze does not know {name}")
        left += [word for word in said.split("\n")[1:] for word in word.split()[:1]
                 if not word.startswith("#")]
    return calls


def case_service_calls(test):
    """The filter allows every system call that the service makes."""
    calls = allowed_calls()
    test.ok(len(calls) > 200 and "bpf" in calls and "ptrace" not in calls, "the filter is known")
    strace, load = tool("strace"), test.workload("roles", "poll")
    path = test.directory() / "calls"
    port = free_port()
    args = service_args(test, load, port)
    args[args.index("--sample-count") + 1] = "0"
    run = test.child([strace, "-f", "-qq", "-o", path, kdtest.PROGRAM, *args])
    children = pathlib.Path(f"/proc/{run.pid}/task/{run.pid}/children")

    def answered():
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics",
                                        timeout=kdtest.PATIENCE) as answer:
                return b"kernel_delay_thread_seconds_total" in answer.read()
        except OSError:
            return run.proc.poll() is not None
    if listens():
        test.ok(kdtest.wait_until(answered) and run.proc.poll() is None, "it answers under strace")
    else:
        kdtest.wait_until(lambda: path.exists() and "write(1, " in path.read_text())
    # What strace runs, which ends as it does when the service is stopped.
    os.kill(int(children.read_text().split()[0]), signal.SIGTERM)
    test.eq(run.wait(3 * kdtest.PATIENCE), 0, "it runs under strace")
    made = set(re.findall(r"^\d+ +(\w+)\(", path.read_text(), re.M))
    test.ok("bpf" in made, "its calls are seen", run.stderr[:500])
    test.eq(sorted(made - calls - {"execve"}), [], "they are all allowed")
    wide = re.findall(r"^.*\bmmap2?\([^)]*PROT_WRITE\|PROT_EXEC.*$|^.*mprotect\([^)]*PROT_EXEC.*$",
                      path.read_text(), re.M)
    test.eq(wide, [], "no memory is writable and executable (MemoryDenyWriteExecute)")


def case_service_calls_of_options(test):
    """Nor does the service make other calls with options that people may add: stacks, triggers, all
    other figures, files, and the ways to look for a process."""
    calls = allowed_calls()
    tracefs()  # or it would mount that
    strace, load = tool("strace"), test.workload("caller", "sleeps:100000:200:1:500")
    load.send("go")
    path, out = test.directory() / "calls", test.directory()
    made = set()
    for args in (["-s", "0", "--off-cpu", "1ns,wakers", "--profile", "-o", f"json:{out}/json", "-o",
                  f"csv:{out}/csv", "--resources", "--histogram", "--interruptions", "--counters", "default,per-cpu"],
                 ["--start-trigger", "up:probed_call", "--stop-trigger", "ur:probed_call", "--sample-count", "2"],
                 ["--start-trigger", "t:syscalls:sys_enter_clock_nanosleep,target-only", "-s", "0"],
                 ["--follow-restart", "--sample-count", "2"],
                 ["--follow-fork", "-s", "0"]):
        run = test.child([strace, "-f", "-qq", "-o", path, kdtest.PROGRAM, "-p", load.pid, "--sample-time", "50ms", *args])
        test.eq(run.wait(3 * kdtest.PATIENCE), 0, f"{' '.join(args)[:40]}: it runs under strace")
        made |= set(re.findall(r"^\d+ +(\w+)\(", path.read_text(), re.M))
    test.ok({"bpf", "seccomp", "chroot", "process_vm_readv"} <= made, "its calls are seen", sorted(made))
    # What a return probe does on some kernels, which do not ask a filter about it.
    made -= {"uretprobe", "syscall_0x14f"}
    test.eq(sorted(made - calls - {"execve"}), [], "they are all allowed")


def case_service_file(test):
    analyze = tool("systemd-analyze")
    folder = test.directory()
    text = (EXAMPLES / "kernel_delay.service").read_text()
    program = "/usr/local/sbin/kernel_delay"
    test.ok(program in text, "it starts what make install installs")
    path = folder / "kernel_delay.service"
    path.write_text(text.replace(program, "/bin/true"))
    status, said = said_by(analyze, "verify", "--man=no", path)
    test.ok(status == 0 and not said.strip(), "systemd-analyze verify finds no fault", said)
    status, said = said_by(analyze, "--no-pager", "security", "--offline=yes", path)
    exposure = re.search(r"exposure level for \S+ ([\d.]+)", said)
    if not exposure:
        raise kdtest.Skip("this systemd-analyze does not rate files")
    test.between(float(exposure[1]), 0, 2.5, "systemd-analyze security rates it as OK")


def case_daemonset(test):
    document = yaml_of("daemonset.yaml")
    test.eq((document["apiVersion"], document["kind"]), ("apps/v1", "DaemonSet"), "it is one")
    spec = document["spec"]["template"]["spec"]
    test.eq(document["spec"]["selector"]["matchLabels"],
            document["spec"]["template"]["metadata"]["labels"], "it selects its pods")
    test.eq(spec.get("hostPID"), True, "the host's PIDs")
    container, = spec["containers"]
    context = container["securityContext"]
    test.ok(not context["privileged"] and not context["allowPrivilegeEscalation"] and
            context["readOnlyRootFilesystem"], "it is not privileged")
    names = context["capabilities"]
    test.eq((names["drop"], names_of(unit()[0]["CapabilityBoundingSet"])),
            (["ALL"], [name.lower() for name in names["add"]]), "the service's capabilities")
    volumes = {volume["name"]: volume["hostPath"]["path"] for volume in spec["volumes"]}
    test.eq({volumes[mount["name"]]: mount["mountPath"] for mount in container["volumeMounts"]},
            {"/sys/kernel/tracing": "/sys/kernel/tracing"}, "tracefs is where it is looked for")
    port = container["ports"][0]["containerPort"]
    notes = document["spec"]["template"]["metadata"]["annotations"]
    test.eq((f"--listen=0.0.0.0:{port}" in
             (arg.split(",")[0] for arg in container["args"]), notes["prometheus.io/port"]),
            (True, str(port)), "its port is the one that it listens on")
    args = [arg for arg in container["args"] if listens() or not arg.startswith("--listen")]
    done = test.program(*args, "--fail-if", "kdtest_none>0")
    test.ok("kdtest_none" in done.stderr, "its options are understood", done.stderr)
    # A root with these capabilities only, as the container has it.
    tool("setpriv")
    load = test.workload("roles", "poll")
    words = ",".join(["-all", *(f"+{name.lower()}" for name in names["add"])])
    status, said = said_by(*memlock(), "setpriv", f"--bounding-set={words}", f"--inh-caps={words}",
                           "--no-new-privs", kdtest.PROGRAM, "-p", load.pid, "--sample-time",
                           "100ms", "-o", "prometheus")
    test.ok(status == 0 and "kernel_delay_thread_seconds_total{" in said, "they are enough", said)


KUBERNETES = kdtest.ROOT / "build" / "kubernetes" / "node_modules"
# The schemas allow members that they do not have; those are members that nobody looked at.
MANIFEST = """
const { DaemonSet } = require("module").createRequire(process.argv[1] + "/")("kubernetes-models/apps/v1");
const document = JSON.parse(require("fs").readFileSync(0, "utf8"));
const made = new DaemonSet(document), read = new Set(Object.keys(made).map((key) => "." + key));
const watched = (value, path) => typeof value !== "object" || value === null ? value :
  new Proxy(value, { get: (target, key) => {
    const at = `${path}.${String(key)}`;
    read.add(at);
    return watched(target[key], at);
  } });
const faults = [];
for (const key of Object.keys(made))
  made[key] = watched(made[key], "." + key);
try {
  made.validate();
} catch (error) {
  faults.push(error.message);
}
const walk = (value, path) => {
  for (const key of typeof value === "object" && value ? Object.keys(value) : []) {
    const at = `${path}.${key}`;
    if (read.has(at))
      walk(value[key], at);
    else
      faults.push(`there is no ${at}`);
  }
};
walk(document, "");
console.log(JSON.stringify(faults));
"""


def manifest_faults(document):
    """What the schemas of Kubernetes have against a DaemonSet."""
    done = subprocess.run([tool("node"), "-e", MANIFEST, KUBERNETES], input=json.dumps(document),
                          stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def case_daemonset_schema(test):
    document = yaml_of("daemonset.yaml")
    if not (KUBERNETES / "kubernetes-models").exists():
        raise kdtest.Skip("kubernetes-models is not there, which npm installs: tests/deps check")
    test.eq(manifest_faults(document), [], "the schemas of Kubernetes find no fault")
    spec = document["spec"]["template"]["spec"]
    container = spec["containers"][0]
    spec["hostPid"] = spec.pop("hostPID")
    container["securityContext"]["capabilities"]["added"] = []
    container["ports"][0]["containerPort"] = "10440"
    del document["spec"]["selector"]
    said = " ".join(manifest_faults(document))
    for fault in ("no .spec.template.spec.hostPid", "capabilities.added", "containerPort must be integer",
                  "required property selector"):
        test.ok(fault in said, f"they find one that there is: {fault}", said)


def captures(test, folder, load, *options, conditions=(), target=None, **more):
    script = EXAMPLES / "repeated-captures.sh"
    words = [part for expr in conditions for part in ("-c", expr)]
    return test.child(["bash", script, "-d", folder, "-n", 2, *words, *options, "--",
                       *(target or ("-p", load.pid)), "--sample-time", "50ms"],
                      env={**os.environ, "KERNEL_DELAY": kdtest.PROGRAM}, **more)


def case_repeated_captures(test):
    load = test.workload("roles", "poll")
    top = test.directory() / "with blanks"
    always = "thread(poll).blocked.pct > 50"
    run = captures(test, top, load, "-r", 3, "-k", 2, conditions=[always, "lost>1000000"])
    test.eq(run.wait(3 * kdtest.PATIENCE), 0, "three rounds: status 0")
    told = [line.split(": ")[0] for line in run.stdout.splitlines()]
    test.eq(len(told), 3, "each is told, as the condition is true")
    test.ok(all(always in line for line in run.stdout.splitlines()), "with the reason", run.stdout)
    test.eq(sorted(str(path) for path in top.iterdir()), told[-2:], "the two newest are kept")
    for place in top.iterdir():
        files = sorted(place.glob("*.json"))
        test.eq(len(files), 2, "with both samples")
        done = test.program("--replay", files[-1], "-o", "openmetrics")
        test.eq((done.status, done.stdout.endswith("# EOF\n")), (0, True), "that can be replayed")
    run = captures(test, top, load, "-r", 1, conditions=["thread(poll).run.pct > 99"])
    test.eq((run.wait(3 * kdtest.PATIENCE), run.stdout), (0, ""), "it is not true: nothing is told")
    test.eq(sorted(str(path) for path in top.iterdir()), told[-2:], "and nothing is kept")


def case_repeated_captures_end(test):
    load = test.workload("roles", "poll")
    top = test.directory() / "new"
    run = captures(test, top, load, conditions=["lost>1000000"])
    kdtest.wait_until(lambda: list(top.glob(".round.*/*.json")))
    run.signal(15)
    test.eq(run.wait(), 0, "a signal ends it")
    test.eq(list(top.iterdir()), [], "nothing is left")
    run = captures(test, top, load, conditions=["redy.max>1ms"])
    test.eq(run.wait(), 64, "a wrong condition ends it")
    test.ok("redy" in run.stderr, "and is told", run.stderr)
    test.eq(list(top.iterdir()), [], "nothing is left")
    test.eq(captures(test, top, load).wait(), 64, "without a condition there is nothing to keep")
    load.end()
    run = captures(test, top, load, conditions=["lost>0"])
    test.eq(run.wait(), 69, "no such PID: it does not wait for another")


def ends_with(test, load, *targets, samples):
    """With each of these targets the script ends when the load does."""
    runs = {}
    for target in targets:
        top = test.directory() / "new"
        runs[target] = captures(test, top, load, "-n", samples, conditions=["lost>1000000"], target=target)
        kdtest.wait_until(lambda top=top: list(top.glob(".round.*/*.json")))
    load.end()
    for target, run in runs.items():
        test.eq(run.wait(3 * kdtest.PATIENCE), 69, f"{target[0]}: it ends")
        test.ok("kernel_delay: " in run.stderr, f"{target[0]}: and says why", run.stderr)


def case_repeated_captures_target(test):
    """The script ends when its target does, however that was named."""
    program = test.directory() / f"kdt-c{os.getpid()}"
    shutil.copy(kdtest.WORKLOADS / "roles", program)
    load = test.workload(program, "roles", "poll")
    pidfile = test.directory() / "pid"
    pidfile.write_text(f"{load.pid}\n")
    ends_with(test, load, ("-p", load.pid), (load.pid,), ("-C", program.name), (program.name,),
              ("--comm", program.name, "--all"), ("--pidfile", pidfile),
              ("--follow-fork", "-p", load.pid), samples=999999)


def case_repeated_captures_groups(test):
    """The script ends with a container, and with a control group, which may outlive its last
    process."""
    name = f"kdt-c{os.getpid()}"
    top = next(iter(kdprocesses.hierarchies().values()))
    with kdprocesses.group(top / "docker" / kdprocesses.container(test, name)) as group:
        shell = kdprocesses.contained(test, group)
        inside = kdprocesses.children_of(shell.pid)[0]
        ends_with(test, shell, ("--cgroup", group), ("--container", name),
                  ("-p", f"{1},ns={inside}"), samples=2)


kdtest.main(case_contents, case_alerts, case_prometheus_config,
            case_dashboard, case_scraped, case_service_privileges, case_service_calls, case_service_calls_of_options,
            case_service_file, case_daemonset, case_daemonset_schema, case_repeated_captures, case_repeated_captures_end,
            case_repeated_captures_target, case_repeated_captures_groups)
