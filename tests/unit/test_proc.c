/* SPDX-License-Identifier: Apache-2.0 */
/* Processes by files, from trees that are like /proc and /sys, or hostile: PIDs in other namespaces
 * and in files, containers, and on which CPUs this program runs. */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/prctl.h>

#include "cli/base/proc_file.h"
#include "cli/process/container.h"
#include "cli/process/pids.h"
#include "cli/process/preflight.h"
#include "tap.h"
#include "tree.h"

/* --- Names --- */

TEST(names)
{
	static const char *const all[] = { "a", "exactly15bytes_", "a line feed\n", "" };
	char name[16];

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		prctl(PR_SET_NAME, all[i]);
		is_i64(proc_comm_read(getpid(), name, sizeof(name)), (int64_t)strlen(all[i]),
		       "its length");
		is_str(name, all[i], "and all of it");
	}
}

/* --- PIDs --- */

/* A process of a tree: its status, and a namespace, a file that stands for it. */
static void process_make(pid_t pid, const char *space, const char *status)
{
	char name[64], from[PATH_MAX];

	tree_put(space, "");
	snprintf(from, sizeof(from), "%s", tree_path(space));
	snprintf(name, sizeof(name), "%d/ns/pid", (int)pid);
	if (link(from, tree_path(name)))
		give_up("cannot make a link");
	snprintf(name, sizeof(name), "%d/status", (int)pid);
	tree_put(name, status);
}

static const struct {
	const char *status;
	pid_t last; /* 0: there are none */
} statuses[] = {
	{ "Name:\tx\nNSpid:\t7\n", 7 },
	{ "NSpid:\t7\t1\n", 1 },
	{ "Name:\tx\nNSpid: 900 80 2147483647\nNSpgid:\t5\n", INT_MAX },
	{ "NSpid:\t7", 7 },
	{ "Name:\tNSpid:\t7\nPid:\t1\n", 0 },
	{ "Name:\ta\\nNSpid:\t7\nNSpid:\t8\n", 8 },
	{ "xNSpid:\t7\n", 0 },
	{ "NSpid:", 0 },
	{ "NSpid:\t\nPid:\t7\n", 0 },
	{ "NSpid:\t0\n", 0 },
	{ "NSpid:\t7\t-1\n", 0 },
	{ "NSpid:\t7\t+1\n", 0 },
	{ "NSpid:\t7 1x\n", 0 },
	{ "NSpid:\t7,1\n", 0 },
	{ "NSpid:\t2147483648\n", 0 },
	{ "NSpid:\t99999999999999999999999\n", 0 },
	{ "NSpid:\t1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 "
	  "30 "
	  "31 32 33\n",
	  33 },
	{ "NSpid:\t1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 "
	  "30 "
	  "31 32 33 34\n",
	  0 },
	{ "", 0 },
};

/* The innermost PID is found, whichever there are. */
TEST(texts)
{
	process_make(200, "alone", "");
	for (size_t i = 0; i < COUNT(statuses); i++) {
		pid_t found = 0;
		int error;

		tree_put("200/status", statuses[i].status);
		error = pid_namespace_find(tree, 200, statuses[i].last, &found);
		is_i64(error, statuses[i].last ? 0 : -ENODATA, "text %zu: PIDs, or none", i);
		is_i64(found, statuses[i].last ? 200 : 0, "text %zu: the innermost one", i);
	}
}

static void find(pid_t member, pid_t pid, int error, pid_t want, const char *what)
{
	pid_t found = -1;

	is_i64(pid_namespace_find(tree, member, pid, &found), error, "%s: returns", what);
	is_i64(found, error ? -1 : want, "%s: finds", what);
}

TEST(tree)
{
	static char many[200000] = "Groups:\t";

	for (int i = 0; i < 20000; i++)
		strcat(many + 8 + 8 * (size_t)i, "1000000 ");
	strcat(many, "\nNSpid:\t140\t4\n");
	process_make(1, "host", "NSpid:\t1\n");
	process_make(100, "pod", "Name:\tinit\nNSpid:\t100\t1\n");
	process_make(101, "pod", "Name:\tNSpid: 9 2\nNSpid:\t101\t2\n");
	process_make(102, "other", "NSpid:\t102\t2\n");
	process_make(103, "pod", "NSpid:\tx\n");
	process_make(104, "pod", "");
	process_make(140, "pod", many);
	/* It says that it is one level below; but a file has no parent. */
	process_make(150, "deep", "NSpid:\t150\t6\t1\n");
	tree_put("105", "no folder");
	tree_put("uptime", "1 2\n");
	find(100, 1, 0, 100, "the member itself");
	find(100, 2, 0, 101, "a PID that two namespaces have");
	find(101, 1, 0, 100, "any member does");
	find(102, 2, 0, 102, "the same PID in the other one");
	find(100, 4, 0, 140, "one of many groups");
	find(1, 100, -ESRCH, 0, "a plain file is no ancestor");
	find(1, 1, 0, 1, "the first namespace");
	find(100, 3, -ESRCH, 0, "a PID that it does not have");
	find(100, 6, -ESRCH, 0, "one whose namespace is not inside");
	find(100, 101, -ESRCH, 0, "a PID of ours");
	find(999, 1, -ENOENT, 0, "no such member");
	find(103, 1, -ENODATA, 0, "a member whose status is damaged");
	find(104, 1, -ENODATA, 0, "or empty");
	find(105, 1, -ENOTDIR, 0, "or no folder");
}

static const struct {
	const char *text;
	int error;
	pid_t pid;
} files[] = {
	{ "123\n", 0, 123 },          { "123", 0, 123 },         { " 123 \n", 0, 123 },
	{ "123\r\n", 0, 123 },        { "123\n/var\n", 0, 123 }, { "0123\n", 0, 123 },
	{ "", -ENODATA, 0 },          { "\n", -EINVAL, 0 },      { "0\n", -EINVAL, 0 },
	{ "-5\n", -EINVAL, 0 },       { "12x\n", -EINVAL, 0 },   { "\n123\n", -EINVAL, 0 },
	{ "2147483648", -EINVAL, 0 }, { "\x1b[2J", -EINVAL, 0 },
};

TEST(pidfiles)
{
	char path[PATH_MAX], big[4096];
	uint64_t written;
	pid_t pid;

	snprintf(path, sizeof(path), "%s/pidfile", tree);
	for (size_t i = 0; i < COUNT(files); i++) {
		tree_put("pidfile", files[i].text);
		pid = 0;
		is_i64(pidfile_read(path, &pid, &written), files[i].error, "file %zu: returns", i);
		is_i64(pid, files[i].pid, "file %zu: PID", i);
	}
	memset(big, '1', sizeof(big));
	tree_put_bytes("pidfile", big, sizeof(big));
	is_i64(pidfile_read(path, &pid, &written), -EINVAL, "a long number is none");
	tree_put_bytes("pidfile", "5\0006", 3);
	is_i64(pidfile_read(path, &pid, &written), 0, "a zero ends the text");
	is_i64(pid, 5, "and the number");
	is_i64(pidfile_read(tree, &pid, &written), -EISDIR, "a folder");
	is_i64(pidfile_read("/dev/zero", &pid, &written), -EINVAL, "a device");
	unlink(path);
	is_i64(pidfile_read(path, &pid, &written), -ENOENT, "no file");
	if (mkfifo(path, 0600))
		give_up("cannot make a pipe");
	is_i64(pidfile_read(path, &pid, &written), -EINVAL, "a pipe that nobody writes to");
}

/* --- Containers --- */

#define ID_A "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ID_B "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
#define UID "0d1c2b3a-1111-2222-3333-444455556666"
#define UID_ "0d1c2b3a_1111_2222_3333_444455556666"
#define HASH "00112233445566778899aabbccddeeff"

/* Where the container's group ends is a }, where the pod's does a ]. */
static const struct {
	const char *path, *id, *pod;
} paths[] = {
	/* docker, with cgroupfs and with systemd */
	{ "/docker/" ID_A "}", ID_A, "" },
	{ "/system.slice/docker-" ID_A ".scope}", ID_A, "" },
	{ "/docker/" ID_A "}/init.scope", ID_A, "" },
	/* one in another one */
	{ "/docker/" ID_A "/docker/" ID_B "}/x", ID_B, "" },
	/* podman, of root and of a user */
	{ "/machine.slice/libpod-" ID_A ".scope}/container", ID_A, "" },
	{ "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID_A ".scope}", ID_A,
	  "" },
	{ "/libpod_parent/libpod-" ID_A "}", ID_A, "" },
	/* its monitor is no part of it */
	{ "/machine.slice/libpod-conmon-" ID_A ".scope", "", "" },
	{ "/system.slice/crio-conmon-" ID_A ".scope", "", "" },
	/* Kubernetes */
	{ "/kubepods/burstable/pod" UID "]/" ID_A "}", ID_A, UID },
	{ "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UID_
	  ".slice]/cri-containerd-" ID_A ".scope}",
	  ID_A, UID },
	{ "/kubepods.slice/kubepods-pod" UID_ ".slice]/crio-" ID_B ".scope}/container", ID_B, UID },
	{ "/kubepods/pod" HASH "]/" ID_A "}", ID_A, HASH },
	{ "/system.slice/containerd.service/kubepods-burstable-pod" UID_
	  ".slice:cri-containerd:" ID_A "}",
	  ID_A, "" },
};

static const char *const none[] = {
	"/",
	"",
	"/user.slice/session-1.scope",
	"/docker/0123",
	"/docker/" ID_A "0",
	"/docker/x" ID_A,
	"/docker/0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef",
	"/docker/-" ID_A ".scope.scope",
	"/podcast/pod/podx",
	"/kubepods/pod" UID "0/x"
};

/* What is found by a group's path. */
static bool is_container(const char *group, struct container *got)
{
	char line[PATH_MAX], path[PATH_MAX];

	snprintf(line, sizeof(line), "0::%s\n", group);
	tree_put("/proc/7/cgroup", line);
	return container_of(tree_path("/proc"), 7, got, path, sizeof(path));
}

TEST(paths)
{
	struct container got;

	for (size_t i = 0; i < COUNT(paths); i++) {
		char path[PATH_MAX] = "";
		size_t n = 0, end = 0, pod_end = 0;

		for (const char *at = paths[i].path; *at; at++) {
			end = *at == '}' ? n : end;
			pod_end = *at == ']' ? n : pod_end;
			path[n] = *at;
			n += !strchr("]}", *at);
		}
		path[n] = '\0';
		ok(is_container(path, &got) == !!*paths[i].id, "'%s': one or none", path);
		is_str(got.id, paths[i].id, "its ID");
		is_u64(got.end, end, "where its group ends");
		is_str(got.pod, paths[i].pod, "its pod");
		is_u64(got.pod_end, pod_end, "and where that one's ends");
	}
	for (size_t i = 0; i < COUNT(none); i++)
		ok(!is_container(none[i], &got) && !*got.id && !*got.pod && !got.end &&
			   !got.pod_end,
		   "'%s' is none", none[i]);
}

/* --- Trees --- */

static void is_described(const char *id, const char *name, const char *image, const char *pod,
			 const char *what)
{
	struct container_names got;

	container_describe(tree, id, &got);
	is_str(got.name, name, "%s: name", what);
	is_str(got.image, image, "%s: image", what);
	is_str(got.pod, pod, "%s: pod", what);
}

#define DOCKER "/var/lib/docker/containers/" ID_A "/config.v2.json"
#define CONTAINERD "/run/containerd/io.containerd.runtime.v2.task/k8s.io/" ID_A "/config.json"
#define NERDCTL "/run/containerd/io.containerd.runtime.v2.task/default/" ID_B "/config.json"
#define K3S "/run/k3s/containerd/io.containerd.runtime.v2.task/k8s.io/" ID_A "/config.json"
#define CRIO "/run/containers/storage/overlay-containers/" ID_A "/userdata/config.json"
#define STORAGE "/var/lib/containers/storage/overlay-containers/containers.json"
#define VOLATILE "/var/lib/containers/storage/overlay-containers/volatile-containers.json"

TEST(runtimes)
{
	is_described(ID_A, "", "", "", "no files");
	tree_put(DOCKER, "{\"StreamConfig\":{},\"State\":{\"Running\":true},\"ID\":\"" ID_A
			 "\",\"Config\":{\"Hostname\":\"0123\",\"Image\":\"postgres:16\","
			 "\"Labels\":{}},\"Name\":\"/db\"}");
	is_described(ID_A, "db", "postgres:16", "", "docker");
	is_described(ID_B, "", "", "", "another one");
	tree_put(DOCKER, "{\"Config\":{\"Image\":\"evil\",\"Labels\":{\"io.kubernetes.pod.name\":"
			 "\"prod\",\"nerdctl/name\":\"db\"}},\"Name\":\"/web\"}");
	is_described(ID_A, "web", "evil", "", "an image with labels of its own");
	tree_put(DOCKER,
		 "{\"Config\":{\"Image\":\"sha256:1\",\"Labels\":{\"io.kubernetes.container."
		 "name\":\"db\",\"io.kubernetes.pod.name\":\"shop-0\"}},"
		 "\"Name\":\"/k8s_db_shop-0_default\"}");
	is_described(ID_A, "db", "sha256:1", "shop-0", "docker for Kubernetes");
	tree_remove(DOCKER);

	tree_put(CONTAINERD,
		 "{\"ociVersion\":\"1.1.0\",\"process\":{\"args\":[\"x\"]},\"annotations\":{"
		 "\"io.kubernetes.cri.container-name\":\"alloy\","
		 "\"io.kubernetes.cri.container-type\":\"container\","
		 "\"io.kubernetes.cri.image-name\":\"grafana/alloy:latest\","
		 "\"io.kubernetes.cri.sandbox-name\":\"alloy-ltrr7\","
		 "\"io.kubernetes.cri.sandbox-namespace\":\"monitoring\"}}");
	is_described(ID_A, "alloy", "grafana/alloy:latest", "alloy-ltrr7", "containerd");
	tree_put(NERDCTL, "{\"annotations\":{\"nerdctl/name\":\"web\"}}");
	is_described(ID_B, "web", "", "", "nerdctl, in another namespace");
	tree_remove(CONTAINERD);
	tree_put(K3S, "{\"annotations\":{\"io.kubernetes.cri.sandbox-name\":\"pause\"}}");
	is_described(ID_A, "", "", "pause", "k3s, a pod's first container");
	tree_remove(K3S);

	tree_put(CRIO, "{\"annotations\":{\"io.kubernetes.container.name\":\"etcd\","
		       "\"io.kubernetes.pod.name\":\"etcd-node1\","
		       "\"io.kubernetes.cri-o.ImageName\":\"quay.io/etcd:3\"}}");
	tree_put(STORAGE,
		 "[{\"id\":\"" ID_B "\",\"names\":[\"no\"]},{\"id\":\"" ID_A
		 "\",\"names\":[\"k8s_etcd\"],\"metadata\":\"{\\\"image-name\\\":\\\"other\\\"}\"}"
		 "]");
	is_described(ID_A, "etcd", "quay.io/etcd:3", "etcd-node1", "CRI-O");
	tree_remove(CRIO);
	is_described(ID_A, "k8s_etcd", "other", "", "podman");
	tree_remove(STORAGE);
	tree_put(VOLATILE, "[{\"id\":\"" ID_A "\",\"names\":[\"brief\"],\"metadata\":\"{\"}]");
	is_described(ID_A, "brief", "", "", "podman --rm, with metadata that are no JSON");
	tree_remove(VOLATILE);
}

TEST(hostile)
{
	static const char *const texts[] = {
		"",
		"{",
		"[]",
		"null",
		"7",
		"{\"Name\":7,\"Config\":[]}",
		"{\"Name\":null}",
		"{\"Name\":\"a\\u0000b\"}",
		"{\"Name\":\"\xff\xfe\"}",
		"{\"Config\":{\"Image\":{}}}",
	};
	char *deep = malloc(100001), path[PATH_MAX], wide[PROCESS_LABEL * 4 + 64];
	struct container_names got;

	for (size_t i = 0; i < COUNT(texts); i++) {
		tree_put(DOCKER, texts[i]);
		is_described(ID_A, "", "", "", texts[i]);
	}
	need(deep);
	memset(deep, '[', 100000);
	deep[100000] = '\0';
	tree_put(DOCKER, deep);
	free(deep);
	is_described(ID_A, "", "", "", "100,000 arrays");
	snprintf(wide, sizeof(wide), "{\"Name\":\"/%0*d\"}", PROCESS_LABEL * 4, 7);
	tree_put(DOCKER, wide);
	container_describe(tree, ID_A, &got);
	is_u64(strnlen(got.name, sizeof(got.name)), PROCESS_LABEL - 2, "a long name is cut off");
	tree_put(DOCKER, "{\"Name\":\"/\\u001b[2J\\n\"}");
	is_described(ID_A, "\033[2J\n", "", "", "control characters are left to who prints them");

	snprintf(path, sizeof(path), "%s" DOCKER, tree);
	chmod(path, 0666);
	is_described(ID_A, "", "", "", "a file that anybody writes");
	tree_put("/elsewhere", "{\"Name\":\"/link\"}");
	tree_remove(DOCKER);
	if (symlink(tree_path("/elsewhere"), path))
		give_up("cannot make a link");
	is_described(ID_A, "", "", "", "a link");
	tree_remove(DOCKER);
	if (mkfifo(path, 0600))
		give_up("cannot make a pipe");
	is_described(ID_A, "", "", "", "a pipe");
	tree_remove(DOCKER);
	if (mkdir(path, 0700))
		give_up("cannot make a directory");
	is_described(ID_A, "", "", "", "a directory");
}

static void is_in(const char *cgroup, bool is, const char *wanted, const char *what)
{
	struct container got;
	char path[PATH_MAX] = "";

	tree_put("/proc/7/cgroup", cgroup);
	ok(container_of(tree_path("/proc"), 7, &got, path, sizeof(path)) == is, "%s", what);
	is_str(is ? path : "", wanted, "its path");
}

TEST(process)
{
	struct container got;
	char path[PATH_MAX], small[8];

	ok(!container_of(tree, 8, &got, path, sizeof(path)), "there is no such process");
	is_in("0::/docker/" ID_A "\n", true, "/docker/" ID_A, "version 2");
	is_in("9:name=systemd:/docker/" ID_A "/s\n3:cpu,cpuacct:/docker/" ID_A "/c\n0::/\n", true,
	      "/docker/" ID_A "/c", "of version 1 the cpu controller");
	is_in("3:cpuset,cpu:/docker/" ID_A "\n2:memory:/docker/" ID_B "\n", true, "/docker/" ID_A,
	      "which may be the last");
	is_in("4:cpuset:/docker/" ID_B "\n3:cpuacct:/docker/" ID_A "\n", true, "/docker/" ID_B,
	      "or the first one that there is");
	is_in("0::/user.slice\nnonsense\n:\n::\n", false, "", "none");
	tree_put("/proc/7/cgroup", "0::/docker/" ID_A "\n");
	ok(!container_of(tree_path("/proc"), 7, &got, small, sizeof(small)), "no room");
}

/* --- CPUs for this program --- */

#define PID 4711
#define UPTIME 10000 /* seconds */

/* Another machine, without threads. */
static void machine(const char *isolated, const char *nohz_full)
{
	tests_end();
	if (mkdir(tree, 0700))
		give_up(tree);
	tree_put("sys/devices/system/cpu/isolated", isolated);
	tree_put("sys/devices/system/cpu/nohz_full", nohz_full);
	tree_put("proc/uptime", "10000.05 1.00\n");
}

/* A thread that began so many seconds ago, and has used so much of each. */
static void thread(int tid, const char *cpus, int age, double use)
{
	long ticks = sysconf(_SC_CLK_TCK), used = (long)(age * use * (double)ticks);
	char name[64], text[256];

	snprintf(name, sizeof(name), "proc/%d/task/%d/status", PID, tid);
	snprintf(text, sizeof(text),
		 "Name:\tCpus_allowed_list:\nCpus_allowed:\tff\nCpus_allowed_list:\t%s\n", cpus);
	tree_put(name, text);
	snprintf(name, sizeof(name), "proc/%d/task/%d/stat", PID, tid);
	snprintf(text, sizeof(text),
		 "%d (a) S 1 2) S 1 4711 4711 0 -1 4194560 1 0 0 0 %ld %ld 7 7 20 0 1 0 %ld 1 2\n",
		 tid, used / 2, used - used / 2, (UPTIME - age) * ticks);
	tree_put(name, text);
}

/* Of the CPUs 0 to n - 1 these are chosen, as digits; "": none. */
static void chosen(int n, const char *want, const char *what)
{
	cpu_set_t all, cpus;
	char text[16] = "";
	size_t length = 0;
	bool found;

	CPU_ZERO(&all);
	for (int cpu = 0; cpu < n; cpu++)
		CPU_SET(cpu, &all);
	found = placement_find(tree, PID, &all, &cpus);
	for (int cpu = 0; cpu < CPU_SETSIZE && length < sizeof(text) - 1; cpu++)
		if (CPU_ISSET(cpu, &cpus))
			text[length++] = (char)('0' + cpu);
	is_str(text, want, "%s", what);
	is_i64(found, *want != '\0', "%s: and it is said", what);
}

/* --- Memory --- */

TEST(memory)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *at = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct remote remote;
	char copy[16] = "";

	need(at != MAP_FAILED && remote_open(&remote, getpid()));
	memset(at, 'x', 2 * page);
	is_u64(remote_has_bytes(&remote, (uintptr_t)at + 10, page), page, "within what is there");
	is_u64(remote_has_bytes(&remote, (uintptr_t)at + 10, 3 * page), 2 * page - 10,
	       "up to a page that nobody has touched");
	is_u64(remote_has_bytes(&remote, (uintptr_t)at + 2 * page, 100), 0, "nothing of that");
	is_u64(remote_has_bytes(&remote, ~0ULL - 100, 100), 0, "nor where nothing can be");
	ok(remote_copy(&remote, (uintptr_t)at + page - 8, copy, 15) &&
		   !strcmp(copy, "xxxxxxxxxxxxxxx"),
	   "across pages");
	remote_close(&remote);
	munmap(at, 4 * page);
}

TEST(free)
{
	machine("", "");
	chosen(4, "0123", "a target without threads");
	thread(1, "0-3", 1000, 1);
	thread(2, "0-127", 1000, 1);
	chosen(4, "0123", "threads that are not bound");
	thread(3, "1", 1000, 1);
	thread(4, "2-3", 1000, 0);
	chosen(4, "0", "beside bound threads, also such that are idle");
	machine("2", "3");
	thread(1, "0", 1000, 1);
	chosen(4, "1", "neither isolated nor nohz_full");
}

TEST(none_free)
{
	machine("", "");
	thread(1, "0", 1000, 0.001);
	thread(2, "1", 1000, 1);
	thread(3, "2,3", 1000, 0.6);
	chosen(4, "0", "no CPU is free: that whose thread is idle");
	thread(4, "0", 1000, 0.5);
	chosen(4, "", "another one there uses it");
	thread(4, "0", 1000, 0.02);
	thread(1, "0", 1000, 0.01);
	chosen(4, "0", "two that use little");
	thread(5, "0", 1000, 0.09);
	chosen(4, "", "several that use a little are not idle together");
	machine("1-2", "");
	thread(1, "0", 1000, 1);
	thread(2, "3", 1000, 0);
	chosen(4, "3", "isolated ones stay free, though nobody is there");
	machine("0-1", "");
	thread(1, "0", 1000, 1);
	chosen(2, "1", "those are all that we have");
}

TEST(unknown)
{
	char name[64];

	machine("", "");
	thread(1, "0", 0, 0);
	thread(2, "1", 1000, 1);
	chosen(2, "", "one that has just begun is not known to be idle");
	thread(1, "0", 1, 0);
	chosen(2, "0", "after a second it is");
	snprintf(name, sizeof(name), "proc/%d/task/1/stat", PID);
	tree_put(name, "1 (a) S 1\n");
	chosen(2, "", "nor is one of which nothing can be read");
	tree_put("proc/uptime", "soon\n");
	thread(1, "0", 1000, 0);
	chosen(2, "", "or one without a clock");
	snprintf(name, sizeof(name), "proc/%d/task/1/status", PID);
	tree_put(name, "Cpus_allowed_list:\t4294967295-99999999999,-,x\n");
	chosen(2, "0", "a list that is none");
}
