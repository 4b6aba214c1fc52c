/* SPDX-License-Identifier: Apache-2.0 */
/* What a process has mapped, hostile files among it, and the debug files that one
 * without privileges may ask for. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "cli/base/clock.h"
#include "cli/stack/opener.h"
#include "cli/stack/protocol.h"
#include "sanitized.h"
#include "stopped_target.h"
#include "tap.h"
#include "cli/stack/mapped.h"

static struct opener *opener;
static struct mapped_files *files;

static void file_write(const char *name, const void *data, size_t size)
{
	int fd = open(path_of(name), O_RDWR | O_CREAT | O_TRUNC, 0700);

	need(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	close(fd);
}

static void *file_map(const char *name)
{
	int fd = open(path_of(name), O_RDONLY);
	void *at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

	close(fd);
	return at;
}

/* In the process: files that are hostile in one way each. */
static void map_odd_files(void)
{
	static bool done;
	char page[4096] = "\177ELF and nothing else";
	int fd;

	if (done)
		return;
	done = true;
	file_write("deleted", page, sizeof(page));
	file_map("deleted");
	unlink(path_of("deleted"));
	file_write("replaced", page, sizeof(page));
	file_map("replaced");
	unlink(path_of("replaced"));
	mkfifo(path_of("replaced"), 0600);
	file_write("truncated", page, sizeof(page));
	file_map("truncated");
	need(!truncate(path_of("truncated"), 0));
	file_write("sparse", page, sizeof(page));
	file_map("sparse");
	need(!truncate(path_of("sparse"), 1LL << 40));
	file_write("text", "no ELF file", 11);
	file_map("text");
	file_write("new\nline (deleted)", page, sizeof(page));
	file_map("new\nline (deleted)");
	fd = memfd_create("in memory", 0);
	need(write(fd, page, sizeof(page)) == sizeof(page) &&
	     mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) != MAP_FAILED);
	mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

struct found {
	char name[64];
	uint32_t number;
	bool has_file, is_elf;
};

struct found_all {
	struct found found[64];
	unsigned int n;
};

static int note_found(void *context, uint32_t number, int fd, const char *path)
{
	struct found_all *all = context;
	struct found *found = &all->found[all->n % 64];
	const char *slash = strrchr(path, '/');
	char magic[4];

	snprintf(found->name, sizeof(found->name), "%s", slash ? slash + 1 : path);
	found->number = number;
	found->has_file = fd >= 0;
	found->is_elf = fd >= 0 && pread(fd, magic, 4, 0) == 4 && !memcmp(magic, "\177ELF", 4);
	all->n++;
	return 0;
}

static void files_renew(struct found_all *all)
{
	mapped_files_free(files);
	files = mapped_files_new(opener, note_found, all);
}

static const struct found *find(const struct found_all *all, const char *name)
{
	for (unsigned int i = 0; i < all->n && i < 64; i++) {
		if (!strcmp(all->found[i].name, name))
			return &all->found[i];
	}
	return NULL;
}

/* Executable mappings, counted another way; but the kernel's own. */
static size_t count_maps(pid_t pid)
{
	char path[64], line[4096];
	size_t n = 0;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	maps = fopen(path, "r");
	while (maps && fgets(line, sizeof(line), maps))
		n += line[strcspn(line, " ") + 3] == 'x' && !strstr(line, "[vsyscall]");
	if (maps)
		fclose(maps);
	return n;
}

TEST(mapped)
{
	static const struct {
		const char *name;
		bool has_file;
	} wanted[] = {
		{ "deleted", true },         { "replaced", true }, { "truncated", false },
		{ "sparse", true },          { "text", false },    { "new\\012line", true },
		{ "memfd:in memory", true }, { "[vdso]", true },
	};
	struct found_all all = { .n = 0 };
	const struct mapping *mappings;
	struct mapped *mapped;
	size_t n, anonymous = 0;
	bool sorted = true;
	pid_t pid;

	pid = target_start(map_odd_files);
	files_renew(&all);
	mapped = mapped_new(files, pid);
	is_i64(mapped_read(mapped), 1, "mappings are read");
	for (size_t i = 0; i < COUNT(wanted); i++) {
		const struct found *found = find(&all, wanted[i].name);

		if (geteuid() && wanted[i].has_file)
			continue; /* not without the right to follow the kernel's links */
		ok(found && found->has_file == wanted[i].has_file, "%s: %s", wanted[i].name,
		   wanted[i].has_file ? "its file" : "no file");
		ok(!found || !found->has_file || found->is_elf, "%s: an ELF file, or none",
		   wanted[i].name);
	}
	mappings = mapped_mappings(mapped, &n);
	is_u64(n, count_maps(pid), "all that is executable");
	for (size_t i = 0; i < n; i++) {
		anonymous += mappings[i].object == SPACE_NO_FILE;
		sorted = sorted && mappings[i].start < mappings[i].end &&
			 (mappings[i].object < all.n || mappings[i].object == SPACE_NO_FILE) &&
			 (!i || mappings[i].start >= mappings[i - 1].end);
	}
	ok(sorted, "sorted, of known objects");
	is_u64(anonymous, 1, "and of no file");
	all.n = 0;
	is_i64(mapped_read(mapped), 0, "nothing has changed");
	is_u64(all.n, 0, "nothing new");
	target_end(pid);
	is_i64(mapped_read(mapped), -ESRCH, "the process has gone");
	mapped_mappings(mapped, &n);
	ok(n, "what is known stays");
	mapped_free(mapped);
}

#define MORE 10 /* than are read */

static char *reserve(size_t pages)
{
	char *at = mmap(NULL, pages * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	need(at != MAP_FAILED);
	return at;
}

static void map_many_files(void)
{
	char *at = reserve(PROTOCOL_OBJECTS + MORE);

	for (size_t i = 0; i < PROTOCOL_OBJECTS + MORE; i++) {
		int fd = memfd_create("one of many", 0);

		need(!ftruncate(fd, 4096) && mmap(at + i * 4096, 4096, PROT_READ | PROT_EXEC,
						  MAP_PRIVATE | MAP_FIXED, fd, 0) != MAP_FAILED);
		close(fd);
	}
}

static void map_many_places(void)
{
	char *at = reserve(2 * (PROTOCOL_MAPPINGS + MORE));

	for (size_t i = 0; i < PROTOCOL_MAPPINGS + MORE; i++)
		need(!mprotect(at + 2 * i * 4096, 4096, PROT_READ | PROT_EXEC));
}

static int object_by_address(void *context, uint32_t number, int fd, const char *path)
{
	(void)fd, (void)path;
	*(uint32_t *)context = number;
	return 0;
}

/* What is not read is known to be there: it is not taken for code in no file. */
TEST(too_many)
{
	uint32_t last = 0;
	const struct mapping *mappings;
	struct mapped *mapped;
	size_t n, all, read = 0;
	pid_t pid;

	mapped_files_free(files);
	files = mapped_files_new(opener, object_by_address, &last);
	pid = target_start(map_many_files);
	mapped = mapped_new(files, pid);
	is_i64(mapped_read(mapped), 1, "many files");
	is_u64(last, PROTOCOL_OBJECTS - 1, "as many as are read");
	mappings = mapped_mappings(mapped, &n);
	while (read < n && mappings[read].object < SPACE_BEYOND)
		read++;
	ok(read < n && mappings[read].object == SPACE_BEYOND, "the next is not");
	all = count_maps(pid);
	ok(read < n && mappings[read].end - mappings[read].start >= MORE * 4096UL &&
		   read + MORE <= all,
	   "nor are those after it");
	target_end(pid);
	mapped_free(mapped);

	pid = target_start(map_many_places);
	mapped = mapped_new(files, pid);
	is_i64(mapped_read(mapped), 1, "many places");
	ok(count_maps(pid) > PROTOCOL_MAPPINGS, "more than fit");
	mappings = mapped_mappings(mapped, &n);
	is_u64(n, PROTOCOL_MAPPINGS, "as many as fit");
	ok(mappings[n - 1].object == SPACE_BEYOND && mappings[n - 1].end == UINT64_MAX,
	   "the last stands for all that follow");
	target_end(pid);
	mapped_free(mapped);
}

TEST(zombie)
{
	struct found_all all = { .n = 0 };
	struct mapped *mapped;
	siginfo_t info;
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
	files_renew(&all);
	mapped = mapped_new(files, pid);
	is_i64(mapped_read(mapped), -ESRCH, "a zombie has gone");
	mapped_free(mapped);
	waitpid(pid, NULL, 0);
}

/* --- What is told of a process's mappings. --- */

#define PAGES(n) ((n)*4096ULL)

static unsigned char *capacity; /* 64 pages, at one address in both processes */

static void page_map(const char *name, unsigned int page, int protection)
{
	int fd = open(path_of(name), O_RDONLY);

	need(mmap(capacity + PAGES(page), PAGES(3), protection, MAP_PRIVATE | MAP_FIXED, fd, 0) !=
	     MAP_FAILED);
	close(fd);
}

/* In the process: what it does, step by step. */
static void map_step(void)
{
	static int step;

	switch (step++) {
	case 0:
		page_map("first", 0, PROT_READ | PROT_EXEC);
		break;
	case 1:
		page_map("second", 10, PROT_READ | PROT_EXEC);
		break;
	case 2: /* the third and the fourth go at once */
		page_map("third", 10, PROT_READ | PROT_EXEC);
		page_map("fourth", 10, PROT_READ | PROT_EXEC);
		page_map("second", 10, PROT_READ | PROT_EXEC);
		break;
	case 3:
		page_map("fifth", 20, PROT_READ);
		mprotect(capacity + PAGES(20), PAGES(3), PROT_READ | PROT_EXEC);
		break;
	}
}

static void step_next(pid_t pid)
{
	kill(pid, SIGCONT);
	waitpid(pid, NULL, WUNTRACED);
}

/* The mount that a file is on, as the kernel lists it. */
static bool mount_of(const char *path, unsigned int device[2], char *root, char *point)
{
	struct statx info;
	unsigned int id = 0;
	char line[9000];
	FILE *mounts = fopen("/proc/self/mountinfo", "r");
	bool found = !statx(AT_FDCWD, path, 0, STATX_MNT_ID, &info) &&
		     info.stx_mask & STATX_MNT_ID && mounts;

	while (found && fgets(line, sizeof(line), mounts)) {
		if (sscanf(line, "%u %*u %u:%u %4095s %4095s", &id, &device[0], &device[1], root,
			   point) == 5 &&
		    id == info.stx_mnt_id)
			break;
		id = 0;
	}
	if (mounts)
		fclose(mounts);
	return found && id;
}

/* What the kernel's program would tell of a file that is mapped at a page of the room. */
static struct kd_mapped change_of(const char *name, unsigned int page)
{
	struct kd_mapped change = { .kind = KD_MAPPED_FILE,
				    .start = (uint64_t)capacity + PAGES(page),
				    .length = PAGES(3) - 100,
				    .whole = 1 };
	char root[4096], point[4096], path[8192], *slash;
	unsigned int device[2];
	struct stat stat_of;

	need(!stat(path_of(name), &stat_of) && mount_of(path_of(name), device, root, point));
	change.device = device[0] << 20 | device[1];
	change.inode = stat_of.st_ino;
	snprintf(path, sizeof(path), "%s%s", strcmp(root, "/") ? root : "",
		 path_of(name) + (strcmp(point, "/") ? strlen(point) : 0));
	while ((slash = strrchr(path, '/'))) {
		snprintf(change.names[change.n++], KD_PATH_NAME, "%.63s", slash + 1);
		*slash = '\0';
	}
	return change;
}

/* What is known to be mapped at a page of the room: the last part of a path; "none";
 * "no file". */
static const char *known_at(const struct mapped *mapped, unsigned int page)
{
	uint64_t address = (uint64_t)capacity + PAGES(page);
	size_t n;
	const struct mapping *mappings = mapped_mappings(mapped, &n);

	for (size_t i = 0; i < n; i++) {
		if (address < mappings[i].start || address >= mappings[i].end)
			continue;
		if (mappings[i].object == SPACE_NO_FILE)
			return "no file";
		return strrchr(mapped_files_get(files, mappings[i].object)->object.path, '/') + 1;
	}
	return "none";
}

static uint64_t offset_at(const struct mapped *mapped, unsigned int page)
{
	uint64_t address = (uint64_t)capacity + PAGES(page);
	size_t n;
	const struct mapping *mappings = mapped_mappings(mapped, &n);

	for (size_t i = 0; i < n; i++) {
		if (address >= mappings[i].start && address < mappings[i].end)
			return address - mappings[i].start + mappings[i].offset;
	}
	return UINT64_MAX;
}

struct changes {
	struct mapped *mapped;
	struct found_all all;
};

static int change_tell(struct changes *changes, struct kd_mapped change)
{
	return mapped_change(changes->mapped, clock_monotonic(), &change);
}

static void test_known(struct changes *changes)
{
	struct kd_mapped hole = { .kind = KD_MAPPED_NO_FILE,
				  .start = (uint64_t)capacity + PAGES(31),
				  .length = PAGES(1) };
	unsigned int n = changes->all.n;

	is_i64(change_tell(changes, change_of("first", 0)), 0, "what is known already");
	is_i64(change_tell(changes, change_of("first", 30)), 1, "a known file elsewhere");
	is_str(known_at(changes->mapped, 32), "first", "is there, up to the end of its last page");
	is_str(known_at(changes->mapped, 33), "none", "and not beyond");
	is_str(known_at(changes->mapped, 0), "first", "and where it was");
	is_u64(changes->all.n, n, "without anything new");
	is_i64(change_tell(changes, hole), 1, "memory in the midst of it");
	is_str(known_at(changes->mapped, 30), "first", "before it");
	is_str(known_at(changes->mapped, 31), "no file", "it");
	is_str(known_at(changes->mapped, 32), "first", "behind it");
	is_u64(offset_at(changes->mapped, 32), PAGES(2), "at its place in the file");
	is_i64(change_tell(changes, hole), 0, "the same again");
	hole.length = UINT64_MAX;
	is_i64(change_tell(changes, hole), 0, "a length that is none");
}

static void test_gone(struct changes *changes, pid_t pid, const struct kd_mapped *fourth)
{
	const struct found *found;
	unsigned int n;

	step_next(pid);
	is_i64(change_tell(changes, change_of("third", 10)), 1, "a file that has gone again");
	found = find(&changes->all, "third");
	ok(found && found->is_elf, "is opened by its path");
	is_str(known_at(changes->mapped, 10), "third", "was there");
	n = changes->all.n;
	is_i64(change_tell(changes, *fourth), 1, "one whose path leads to another file");
	is_str(known_at(changes->mapped, 10), "no file", "is not taken for that");
	is_u64(changes->all.n, n, "nothing is opened");
	is_i64(change_tell(changes, change_of("second", 10)), 1, "the next one");
	is_str(known_at(changes->mapped, 10), "second", "is known");
	change_tell(changes, change_of("third", 10));
	is_str(known_at(changes->mapped, 10), "third", "known by now");
	is_u64(changes->all.n, n, "once");
}

TEST(changes)
{
	static const char *const names[] = { "first", "second", "third", "fourth", "fifth" };
	struct kd_mapped protect = { .kind = KD_MAPPED_CHANGED, .length = PAGES(4) };
	const struct kd_mapped all = { .kind = KD_MAPPED_ALL };
	char page[4096] = "\177ELF and nothing else";
	struct changes changes = { .all.n = 0 };
	struct kd_mapped fourth;
	pid_t pid;

	capacity = mmap(NULL, PAGES(64), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (size_t i = 0; i < COUNT(names); i++) {
		file_write(names[i], page, sizeof(page));
		need(!truncate(path_of(names[i]), PAGES(3)));
	}
	fourth = change_of("fourth", 10);
	pid = target_start(map_step);
	files_renew(&changes.all);
	changes.mapped = mapped_new(files, pid);
	is_i64(mapped_read(changes.mapped), 1, "read");
	test_known(&changes);
	step_next(pid);
	is_i64(change_tell(&changes, change_of("second", 10)), 1, "a file that is not known");
	is_str(known_at(changes.mapped, 10), "second", "is read");
	ok(find(&changes.all, "second"), "and found");
	file_write("other", page, sizeof(page));
	/* When it is looked for, its path leads to another file. */
	need(!rename(path_of("fourth"), path_of("kept")) &&
	     !rename(path_of("other"), path_of("fourth")));
	test_gone(&changes, pid, &fourth);
	step_next(pid);
	protect.start = (uint64_t)capacity + PAGES(20);
	is_i64(change_tell(&changes, protect), 1, "code by mprotect");
	is_str(known_at(changes.mapped, 20), "fifth", "is read");
	is_str(known_at(changes.mapped, 23), "no file", "as far as it is of a file");
	is_str(known_at(changes.mapped, 10), "third", "what is known elsewhere stays");
	is_i64(change_tell(&changes, all), 1, "all");
	is_str(known_at(changes.mapped, 10), "second", "is what is there");
	is_str(known_at(changes.mapped, 30), "none", "and no more");
	target_end(pid);
	change_tell(&changes, change_of("first", 30));
	is_str(known_at(changes.mapped, 30), "first", "a known file of a process that has gone");
	change_tell(&changes, change_of("kept", 30));
	is_str(known_at(changes.mapped, 30), "no file", "another one");
	mapped_free(changes.mapped);
	munmap(capacity, PAGES(64));
}

/* --- Debug files. --- */

TEST(paths)
{
	static const struct {
		const char *object, *path;
		bool valid;
	} paths[] = {
		{ "/bin/x", ".build-id/ab/cdef.debug", true },
		{ "[vdso]", ".build-id/ab/cdef.debug", true },
		{ "/bin/x", ".build-id/AB/cdef.debug", false },
		{ "/bin/x", ".build-id/ab/.debug", false },
		{ "/bin/x", ".build-id/ab/cdef.debug2", false },
		{ "/bin/x", ".build-id/ab/cdef", false },
		{ "/bin/x", ".build-id/abc/def.debug", false },
		{ "/bin/x", ".build-id/ab/../../../../etc/shadow", false },
		{ "/bin/x", ".build-id/../x", false },
		{ "/bin/x", "/bin/y", true },
		{ "/bin/x", "/bin/.debug/y", true },
		{ "/bin/x", "/usr/lib/debug/bin/y", true },
		{ "/x", "/y", true },
		{ "/bin/x", "/bin/.debug/", false },
		{ "/bin/x", "/bin/..", false },
		{ "/bin/x", "/bin/.", false },
		{ "/bin/x", "/bin/../etc/shadow", false },
		{ "/bin/x", "/bin/sub/y", false },
		{ "/bin/x", "/binary/y", false },
		{ "/bin/x", "/etc/shadow", false },
		{ "/bin/x", "/usr/lib/debug/etc/y", false },
		{ "/bin/x", "y", false },
		{ "/bin/x", "bin/y", false },
		{ "/bin/x", "", false },
		{ "/bin/x", "/", false },
		{ "[vdso]", "/bin/y", false },
		{ "[vdso]", "/y", false },
	};

	for (size_t i = 0; i < COUNT(paths); i++)
		ok(debug_path_is_valid(paths[i].object, paths[i].path) == paths[i].valid,
		   "%s may%s ask for \"%s\"", paths[i].object, paths[i].valid ? "" : " not",
		   paths[i].path);
}

TEST(debug_files)
{
	char link[64] = "\177ELF....";
	int fd;

	file_write("debug", link, sizeof(link));
	file_write("secret", "root:", 5);
	mkfifo(path_of("fifo"), 0600);
	need(!symlink("debug", path_of("link")));
	fd = debug_path_open(getpid(), path_of("object"), path_of("debug"));
	ok(fd >= 0, "an ELF file beside the object is handed out");
	close(fd);
	fd = debug_path_open(getpid(), path_of("object"), path_of("link"));
	ok(fd >= 0, "also by a link");
	close(fd);
	is_i64(debug_path_open(getpid(), path_of("object"), path_of("secret")), -ENOEXEC,
	       "no other file");
	is_i64(debug_path_open(getpid(), path_of("object"), path_of("fifo")), -ENOEXEC,
	       "no FIFO, at once");
	is_i64(debug_path_open(getpid(), path_of("object"), path_of("none")), -ENOENT,
	       "none that does not exist");
	is_i64(debug_path_open(getpid(), "/bin/x", path_of("debug")), -EINVAL,
	       "none of another directory");
}

void tests_begin(void)
{
	need(mkdtemp(directory) && !opener_open(&opener, NULL, SANITIZED));
}

void tests_end(void)
{
	opener_close(opener);
	directory_remove();
}
