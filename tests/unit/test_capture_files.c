/* SPDX-License-Identifier: Apache-2.0 */
/* What is read of files while samples are taken: names of descriptors, CPUs that come and go, and
 * counts of interrupts. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "cli/capture/file_names.h"
#include "cli/capture/ipi_count.h"
#include "cli/capture/online_cpus.h"
#include "tap.h"

/* --- Names of this process's own descriptors, also of more than are kept --- */

#define MINOR_BITS 20 /* of the kernel's own device numbers */
#define MANY 20000    /* more than are kept */

/* As the kernel side would note an open file. */
static struct kd_file file_at(int fd)
{
	struct kd_file file;
	struct stat now;

	memset(&file, 0, sizeof(file)); /* with what is between its fields */
	if (fstat(fd, &now))
		abort();
	file.kind = KD_AWAITED_FILE;
	file.fd = fd;
	file.inode = now.st_ino;
	file.device = major(now.st_dev) << MINOR_BITS | minor(now.st_dev);
	return file;
}

static void test_file(struct file_names *names, const char *when)
{
	char path[] = "/tmp/kdtest-XXXXXX", deleted[sizeof(path) + 16];
	int fd = mkstemp(path);
	struct kd_file file = file_at(fd), other = file, moved = file;
	const struct descriptor *is = file_names_find(names, &file);

	is_str(is->path, path, "%s: the path of a file", when);
	is_i64(is->fd, fd, "%s: its descriptor", when);
	is_u64(is->inode, file.inode, "%s: its inode", when);
	other.inode++;
	memcpy(other.name, "gone", sizeof("gone"));
	is = file_names_find(names, &other);
	is_str(is->path, ".../gone", "%s: a file that the descriptor no longer is", when);
	moved.device++;
	memcpy(moved.name, "moved", sizeof("moved"));
	is = file_names_find(names, &moved);
	is_str(is->path, ".../moved", "%s: one on another device", when);
	moved.device++;
	memcpy(moved.name, strrchr(path, '/') + 1, sizeof("kdtest-XXXXXX"));
	is = file_names_find(names, &moved);
	is_str(is->path, path, "%s: one of this name, as overlayfs has it", when);
	moved.device++;
	unlink(path);
	is = file_names_find(names, &moved);
	snprintf(deleted, sizeof(deleted), "%s (deleted)", path);
	is_str(is->path, deleted, "%s: the same when it was removed", when);
	/* Open: the next one has another number. */
}

TEST(names)
{
	struct file_names *names = file_names_new(getpid());
	struct kd_file null = file_at(open("/dev/null", O_RDONLY | O_CLOEXEC));
	const char *text;

	if (!names)
		abort();
	test_file(names, "the first one");
	text = file_names_text(names, &null);
	ok(text && strstr(text, "/dev/null"), "words");
	for (uint64_t i = 1; i < MANY; i++) {
		struct kd_file more;

		memset(&more, 0, sizeof(more));
		more.fd = -1;
		more.inode = i;
		file_names_find(names, &more);
	}
	ok(file_names_text(names, &null) == text, "what is kept stays where it is");
	test_file(names, "when there are too many");
	file_names_free(names);
}

/* --- CPUs that come and go, by a list that is like the kernel's --- */

static int list;
static char path[32], changes[256];

static void put(const char *text)
{
	if (ftruncate(list, 0) || pwrite(list, text, strlen(text), 0) != (ssize_t)strlen(text))
		abort();
}

static void changed(void *context, int cpu, bool online)
{
	struct online_cpus *cpus = context;
	size_t length = strlen(changes);

	ok(cpus->fd >= 0, "the caller's");
	snprintf(changes + length, sizeof(changes) - length, "%c%d ", online ? '+' : '-', cpu);
}

static void look(struct online_cpus *cpus, const char *text, const char *want)
{
	put(text);
	*changes = '\0';
	online_cpus_look(cpus, changed, cpus);
	is_str(changes, want, "%s", text);
}

TEST(online)
{
	struct online_cpus cpus;

	list = memfd_create("online", 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", list);
	put("0-3,8\n");
	online_cpus_open(&cpus, path);
	look(&cpus, "0-3,8\n", "");
	look(&cpus, "0-2,8\n", "-3 ");
	look(&cpus, "0-3,64-65,8191\n", "+3 -8 +64 +65 +8191 ");
	look(&cpus, "", "");
	look(&cpus, "none\n", "");
	online_cpus_close(&cpus);
	put("0\n");
	online_cpus_open(&cpus, path);
	look(&cpus, "0-1,8192-9000\n", "+1 ");
	online_cpus_close(&cpus);
	online_cpus_open(&cpus, "/nowhere/online");
	look(&cpus, "1\n", "");
	online_cpus_close(&cpus);
	put("nothing\n");
	online_cpus_open(&cpus, path);
	look(&cpus, "0\n", "");
	online_cpus_close(&cpus);
}

/* --- The count of function-call interrupts in files as /proc/interrupts is --- */

static void is_count(const char *what, const char *text, bool told, uint64_t received,
		     uint32_t cpus)
{
	FILE *file = fmemopen((char *)text, strlen(text), "r");
	struct ipi_count count;

	if (!file)
		abort();
	ok(ipi_count_parse(file, &count) == told, "%s: it %s", what,
	   told ? "tells" : "does not tell");
	if (told) {
		is_u64(count.received, received, "%s: of all CPUs together", what);
		is_u64(count.cpus, cpus, "%s: the CPUs", what);
	}
	fclose(file);
}

TEST(interrupts)
{
	is_count("x86",
		 "            CPU0       CPU1       CPU7\n"
		 "  0:          9          0          0   IO-APIC   2-edge      timer\n"
		 "RES:        100        200        300   Rescheduling interrupts\n"
		 "CAL:    8244140   13674271          5   Function call interrupts\n"
		 "TLB:     584350     733598          1   TLB shootdowns\n",
		 true, 8244140 + 13674271 + 5, 3);
	is_count("arm64",
		 "           CPU0       CPU1\n"
		 "IPI0:        10         11       Rescheduling interrupts\n"
		 "IPI1:        20   18446744       Function call interrupts\n",
		 true, 20 + 18446744, 2);
	is_count("a row that is cut off",
		 "           CPU0       CPU1\n"
		 "CAL:         20   Function call interrupts\n",
		 true, 20, 2);
	is_count("one without that row",
		 "           CPU0       CPU1\n"
		 "RES:        100        200   Rescheduling interrupts\n",
		 false, 0, 0);
	is_count("one without its header", "CAL:  20  30  Function call interrupts\n", false, 0, 0);
}
