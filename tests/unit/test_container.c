// SPDX-License-Identifier: Apache-2.0
/* Containers by the paths of control groups, as runtimes make them, and their names by files in a
 * tree that is like the runtimes' or hostile. */
#define _GNU_SOURCE
#include "cli/process/container.h"
#include "tap.h"
#include "tree.h"

#define ID_A "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ID_B "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
#define UID "0d1c2b3a-1111-2222-3333-444455556666"
#define UID_ "0d1c2b3a_1111_2222_3333_444455556666"
#define HASH "00112233445566778899aabbccddeeff"

static const struct {
	const char *path, *id, *group, *pod, *pod_group;
} paths[] = {
	/* docker, with cgroupfs and with systemd */
	{ "/docker/" ID_A, ID_A, "/docker/" ID_A, "", "" },
	{ "/system.slice/docker-" ID_A ".scope", ID_A, "/system.slice/docker-" ID_A ".scope", "",
	  "" },
	{ "/docker/" ID_A "/init.scope", ID_A, "/docker/" ID_A, "", "" },
	/* one in another one */
	{ "/docker/" ID_A "/docker/" ID_B "/x", ID_B, "/docker/" ID_A "/docker/" ID_B, "", "" },
	/* podman, of root and of a user */
	{ "/machine.slice/libpod-" ID_A ".scope/container", ID_A,
	  "/machine.slice/libpod-" ID_A ".scope", "", "" },
	{ "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID_A ".scope", ID_A,
	  "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID_A ".scope", "",
	  "" },
	{ "/libpod_parent/libpod-" ID_A, ID_A, "/libpod_parent/libpod-" ID_A, "", "" },
	/* its monitor is no part of it */
	{ "/machine.slice/libpod-conmon-" ID_A ".scope", "", "", "", "" },
	{ "/system.slice/crio-conmon-" ID_A ".scope", "", "", "", "" },
	/* Kubernetes */
	{ "/kubepods/burstable/pod" UID "/" ID_A, ID_A, "/kubepods/burstable/pod" UID "/" ID_A, UID,
	  "/kubepods/burstable/pod" UID },
	{ "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UID_
	  ".slice/cri-containerd-" ID_A ".scope",
	  ID_A,
	  "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UID_
	  ".slice/cri-containerd-" ID_A ".scope",
	  UID, "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UID_ ".slice" },
	{ "/kubepods.slice/kubepods-pod" UID_ ".slice/crio-" ID_B ".scope/container", ID_B,
	  "/kubepods.slice/kubepods-pod" UID_ ".slice/crio-" ID_B ".scope", UID,
	  "/kubepods.slice/kubepods-pod" UID_ ".slice" },
	{ "/kubepods/pod" HASH "/" ID_A, ID_A, "/kubepods/pod" HASH "/" ID_A, HASH,
	  "/kubepods/pod" HASH },
	{ "/system.slice/containerd.service/kubepods-burstable-pod" UID_
	  ".slice:cri-containerd:" ID_A,
	  ID_A,
	  "/system.slice/containerd.service/kubepods-burstable-pod" UID_
	  ".slice:cri-containerd:" ID_A,
	  "", "" },
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

static void is_part(const char *path, size_t end, const char *want, const char *what)
{
	ok(end == strlen(want) && !strncmp(path, want, end), "%s is '%s'", what, want);
}

TEST(paths)
{
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		struct container got;
		bool is = container_parse(&got, paths[i].path);

		ok(is == !!paths[i].id[0] && !strcmp(got.id, paths[i].id), "'%s': its ID is %s",
		   paths[i].path, got.id);
		is_part(paths[i].path, got.end, paths[i].group, "its group");
		is_str(got.pod, paths[i].pod, "its pod");
		is_part(paths[i].path, got.pod_end, paths[i].pod_group, "and the group of that");
	}
	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++) {
		struct container got;

		ok(!container_parse(&got, none[i]) && !*got.id && !*got.pod && !got.end &&
			   !got.pod_end,
		   "'%s' is none", none[i]);
	}
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

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		tree_put(DOCKER, texts[i]);
		is_described(ID_A, "", "", "", texts[i]);
	}
	if (!deep)
		abort();
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
