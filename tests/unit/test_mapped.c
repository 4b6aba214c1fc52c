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

#include "../../cli/stack/debug_places.h"
#include "../../cli/stack/mapped.h"
#include "stopped_target.h"
#include "tap.h"

static void file_write(const char *name, const void *data, size_t size)
{
	int fd = open(path_of(name), O_RDWR | O_CREAT | O_TRUNC, 0700);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
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
	if (truncate(path_of("truncated"), 0))
		abort();
	file_write("sparse", page, sizeof(page));
	file_map("sparse");
	if (truncate(path_of("sparse"), 1LL << 40))
		abort();
	file_write("text", "no ELF file", 11);
	file_map("text");
	file_write("new\nline (deleted)", page, sizeof(page));
	file_map("new\nline (deleted)");
	fd = memfd_create("in memory", 0);
	if (write(fd, page, sizeof(page)) != sizeof(page) ||
	    mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		abort();
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

static const struct found *find(const struct found_all *all, const char *name)
{
	for (unsigned int i = 0; i < all->n && i < 64; i++) {
		if (!strcmp(all->found[i].name, name))
			return &all->found[i];
	}
	return NULL;
}

/* Executable mappings of files and the vdso, counted another way. */
static size_t count_maps(pid_t pid)
{
	char path[64], line[4096];
	size_t n = 0;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	maps = fopen(path, "r");
	while (maps && fgets(line, sizeof(line), maps))
		n += line[strcspn(line, " ") + 3] == 'x' &&
		     (strchr(line, '/') || strstr(line, "[vdso]"));
	if (maps)
		fclose(maps);
	return n;
}

static void test_mapped(void)
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
	bool sorted = true;
	pid_t pid;
	size_t n;

	pid = target_start(map_odd_files);
	mapped = mapped_new(pid);
	is_i64(mapped_read(mapped, note_found, &all), 1, "mappings are read");
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		const struct found *found = find(&all, wanted[i].name);

		if (geteuid() && wanted[i].has_file)
			continue; /* not without the right to follow the kernel's links */
		ok(found && found->has_file == wanted[i].has_file, "%s: %s", wanted[i].name,
		   wanted[i].has_file ? "its file" : "no file");
		ok(!found || !found->has_file || found->is_elf, "%s: an ELF file, or none",
		   wanted[i].name);
	}
	mappings = mapped_mappings(mapped, &n);
	is_u64(n, count_maps(pid), "all that is executable and in a file");
	for (size_t i = 0; i < n; i++)
		sorted = sorted && mappings[i].start < mappings[i].end &&
			 mappings[i].object < all.n &&
			 (!i || mappings[i].start >= mappings[i - 1].end);
	ok(sorted, "sorted, of known objects");
	all.n = 0;
	is_i64(mapped_read(mapped, note_found, &all), 0, "nothing has changed");
	is_u64(all.n, 0, "nothing new");
	target_end(pid);
	is_i64(mapped_read(mapped, note_found, &all), -ESRCH, "the process has gone");
	mapped_mappings(mapped, &n);
	ok(n, "what is known stays");
	mapped_free(mapped);
}

static void test_zombie(void)
{
	struct found_all all = { .n = 0 };
	struct mapped *mapped;
	siginfo_t info;
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
	mapped = mapped_new(pid);
	is_i64(mapped_read(mapped, note_found, &all), -ESRCH, "a zombie has gone");
	mapped_free(mapped);
	waitpid(pid, NULL, 0);
}

/* --- Debug files. --- */

static void test_paths(void)
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

	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		ok(debug_path_is_valid(paths[i].object, paths[i].path) == paths[i].valid,
		   "%s may%s ask for \"%s\"", paths[i].object, paths[i].valid ? "" : " not",
		   paths[i].path);
}

static void test_debug_files(void)
{
	char link[64] = "\177ELF....";
	int fd;

	file_write("debug", link, sizeof(link));
	file_write("secret", "root:", 5);
	mkfifo(path_of("fifo"), 0600);
	if (symlink("debug", path_of("link")))
		abort();
	fd = debug_places_open(getpid(), path_of("object"), path_of("debug"));
	ok(fd >= 0, "an ELF file beside the object is handed out");
	close(fd);
	fd = debug_places_open(getpid(), path_of("object"), path_of("link"));
	ok(fd >= 0, "also by a link");
	close(fd);
	is_i64(debug_places_open(getpid(), path_of("object"), path_of("secret")), -ENOEXEC,
	       "no other file");
	is_i64(debug_places_open(getpid(), path_of("object"), path_of("fifo")), -ENOEXEC,
	       "no FIFO, at once");
	is_i64(debug_places_open(getpid(), path_of("object"), path_of("none")), -ENOENT,
	       "none that does not exist");
	is_i64(debug_places_open(getpid(), "/bin/x", path_of("debug")), -EINVAL,
	       "none of another directory");
}

int main(void)
{
	if (!mkdtemp(directory))
		return 1;
	test_mapped();
	test_zombie();
	test_paths();
	test_debug_files();
	directory_remove();
	return done_testing();
}
