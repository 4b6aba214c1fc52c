/* SPDX-License-Identifier: Apache-2.0 */
/* From a trigger to the sites in the files that a process has mapped: this
 * process, with its own code and with files made by hand. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "probes/elf/objects.h"
#include "probes/sites.h"
#include "captured.h"
#include "elf_image.h"
#include "tap.h"

static char directory[] = "/tmp/test_resolve.XXXXXX";
static const char *said; /* on stderr, by the last search */
static struct image image;
static struct image_symbols table;

/* What is looked for in this program. */
__attribute__((noinline)) int resolve_me_one(int number)
{
	return number * 3 + 1;
}

__attribute__((noinline)) int resolve_me_two(int number)
{
	return number * 5 + 1;
}

int resolve_me_again(int number) __attribute__((alias("resolve_me_two")));

static struct sites *find_in(pid_t pid, const char *text, int want)
{
	struct trigger trigger = { .text = NULL };
	struct sites *sites = NULL;
	const char *why = "";
	int status;

	if (trigger_parse(&trigger, text, &why)) {
		ok(false, "%s: cannot be read: %s", text, why);
		return NULL;
	}
	capture_begin();
	status = sites_find(&sites, &trigger, pid, NULL);
	said = capture_end();
	trigger_clear(&trigger);
	is_i64(status, want, "%s: status", text);
	if (status != want)
		tap_print_string("said", said);
	ok(status ? !sites : !*said, "%s: %s", text, status ? "no sites" : "nothing is said");
	return sites;
}

static struct sites *find(const char *text, int want)
{
	return find_in(getpid(), text, want);
}

static void says(const char *text, const char *word)
{
	sites_free(find(text, EX_CONFIG));
	ok(strstr(said, word), "%s: says %s", text, word);
	if (!strstr(said, word))
		tap_print_string("said", said);
}

/* Where the kernel has mapped an address of this process from. */
static bool address_offset(const void *address, uint64_t *offset, uint64_t *inode)
{
	uint64_t wanted = (uint64_t)(uintptr_t)address;
	uint64_t start, end, from;
	FILE *maps = fopen("/proc/self/maps", "re");
	bool found = false;
	char line[4096];

	while (maps && !found && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx %*s %lx %*s %lu", &start, &end, &from, inode) == 4 &&
		    wanted >= start && wanted < end) {
			*offset = wanted - start + from;
			found = true;
		}
	}
	if (maps)
		fclose(maps);
	return found;
}

static void leads_to(const char *text, const char *address, const char *name)
{
	struct sites *sites = find(text, 0);
	uint64_t offset = 0, inode = 0;
	const struct site *site;
	struct stat stat;

	if (!sites || !address_offset(address, &offset, &inode)) {
		ok(false, "%s: found", text);
		return;
	}
	site = &sites->all[0];
	is_u64(sites->n, 1, "%s: one site", text);
	is_u64(site->offset, offset, "%s: its offset", text);
	is_str(site->name, name, "%s: its name", text);
	ok(!fstat(site->fd, &stat) && stat.st_ino == inode, "%s: the file", text);
	sites_free(sites);
}

static int take_base(struct dl_phdr_info *info, size_t size, void *base)
{
	(void)size;
	*(uint64_t *)base = info->dlpi_addr;
	return 1; /* the first is the program */
}

TEST(own_code)
{
	const char *one = (const char *)(uintptr_t)resolve_me_one;
	const char *two = (const char *)(uintptr_t)resolve_me_two;
	void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	char text[512], program[256];
	uint64_t base = 0;

	leads_to("up:resolve_me_one", one, "resolve_me_one");
	leads_to("ur:resolve_me_two", two, "resolve_me_two");
	leads_to("up:resolve_me_again", two, "resolve_me_again");
	leads_to("up:resolve_me_one+0x2", one + 2, "resolve_me_one");
	leads_to("up:resolve_me_o*", one, "resolve_me_one");
	program[readlink("/proc/self/exe", program, sizeof(program) - 1)] = '\0';
	snprintf(text, sizeof(text), "up:%s:resolve_me_one", program);
	leads_to(text, one, "resolve_me_one");
	snprintf(text, sizeof(text), "up:%s:resolve_me_one", basename(program));
	leads_to(text, one, "resolve_me_one");
	dl_iterate_phdr(take_base, &base);
	snprintf(text, sizeof(text), "up:%s:0x%lx", basename(program),
		 (uint64_t)(uintptr_t)one - base);
	leads_to(text, one, "");
	if (libc) {
		leads_to("up:libc.so.6:getppid", dlsym(libc, "getppid"), "getppid");
		leads_to("up:libc.so:getppid", dlsym(libc, "getppid"), "getppid");
	}
	says("up:resolve_me_on", "up:resolve_me_one");
	says("up:getpgid", "up:libc.so.6:getpgid");
	says("up:resolve_me_one+0x10000", "ends after");
	says("up:libc.so.6:resolve_me_one", "libc.so.6 has no function resolve_me_one");
	says("up:libnone.so:read", "has no object libnone.so");
	snprintf(text, sizeof(text), "up:0x%lx", (uint64_t)(uintptr_t)&table - base);
	says(text, "not in the code");
}

TEST(globs)
{
	struct sites *sites = find("up:resolve_me_*", 0);

	if (sites)
		is_u64(sites->n, 2, "an alias is not another site");
	sites_free(sites);
	says("up:resolve_you_*", "no function that matches");
}

/* Maps a file made by hand; returns the path, which the caller frees. */
static char *image_map(const char *name)
{
	char *path;
	int fd;

	image_finish(&image);
	need(asprintf(&path, "%s/%s", directory, name) >= 0);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
	need(fd >= 0 && write(fd, image.bytes, image.size) == (ssize_t)image.size);
	if (mmap(NULL, image.size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED) {
		printf("1..0 # skip files in /tmp may not be executed\n");
		exit(0);
	}
	close(fd);
	return path;
}

static void image_begin(void)
{
	symbols_init(&table, true);
	image_init(&image, true);
}

TEST(ambiguous_name)
{
	struct sites *sites;
	char *path;

	image_begin();
	symbols_add(&table, "same", TEXT_ADDRESS + 16, 8, STT_FUNC);
	symbols_add(&table, "same", TEXT_ADDRESS + 32, 8, STT_FUNC);
	symbols_add(&table, "resolver", TEXT_ADDRESS + 48, 8, STT_GNU_IFUNC);
	image_symbols(&image, &table, SHT_SYMTAB);
	path = image_map("libtwice.so.1");
	says("up:libtwice.so.1:same", "up:libtwice.so.1:0x401210, up:libtwice.so.1:0x401220");
	says("up:libtwice.so:same+4", "0x401214");
	says("up:libtwice.so.1:resolver", "IFUNC");
	says("up:libtwice.so.1:0x512300", "not in the code");
	sites = find("up:libtwice.so.1:0x401220", 0);
	if (sites) {
		is_u64(sites->all[0].offset, TEXT_OFFSET + 32, "a choice: its offset");
		is_str(sites->all[0].object, path, "a choice: the object");
	}
	sites_free(sites);
	sites = find("up:libtwice.so.1:sam?", 0);
	is_u64(sites ? sites->n : 0, 2, "a pattern takes both");
	sites_free(sites);
	/* By its soname, which is not the name of the file. */
	sites_free(find("up:" IMAGE_SONAME ":0x401220", 0));
	sites_free(find("up:libimage.so:0x401220", 0));
	/* Deleted, and another file is instead of it. */
	unlink(path);
	sites = find("up:libtwice.so.1:sam?", 0);
	is_u64(sites ? sites->n : 0, 2, "in a deleted file");
	sites_free(sites);
	close(open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0700));
	sites = find("up:libtwice.so.1:sam?", 0);
	is_u64(sites ? sites->n : 0, 2, "in a file that was replaced");
	sites_free(sites);
	unlink(path);
	free(path);
}

TEST(ambiguous_object)
{
	char *paths[2], folder[2][64], text[512];

	for (int i = 0; i < 2; i++) {
		snprintf(folder[i], sizeof(folder[i]), "%s/%d", directory, i);
		mkdir(folder[i], 0700);
		image_begin();
		symbols_add(&table, "only", TEXT_ADDRESS, 8, STT_FUNC);
		image_symbols(&image, &table, SHT_SYMTAB);
		paths[i] = image_map(i ? "1/libpair.so" : "0/libpair.so");
	}
	says("up:libpair.so:only", paths[0]);
	ok(strstr(said, paths[1]), "both are named");
	snprintf(text, sizeof(text), "up:%s:only", paths[1]);
	sites_free(find(text, 0));
	/* A path with a link in it. */
	snprintf(text, sizeof(text), "%s/link", directory);
	need(!symlink("1", text));
	snprintf(text, sizeof(text), "up:%s/link/libpair.so:only", directory);
	sites_free(find(text, 0));
	snprintf(text, sizeof(text), "%s/link", directory);
	unlink(text);
	for (int i = 0; i < 2; i++) {
		unlink(paths[i]);
		rmdir(folder[i]);
		free(paths[i]);
	}
}

static char *usdt_map(const char *name, const char *own)
{
	struct image_notes notes = { .is_64 = true };

	notes_add_site(&notes, TEXT_ADDRESS + 1, 0, DATA_ADDRESS + 2, "shop", "sold");
	notes_add_site(&notes, TEXT_ADDRESS + 9, 0, DATA_ADDRESS + 2, "shop", "sold");
	notes_add_site(&notes, TEXT_ADDRESS + 9, 0, DATA_ADDRESS + 2, "shop", "sold");
	notes_add_site(&notes, TEXT_ADDRESS + 17, 0, 0, "shop", own);
	notes_add_site(&notes, TEXT_ADDRESS - 17, 0, 0, "shop", "nowhere");
	image_begin();
	image_section(&image, ".note.stapsdt", SHT_NOTE, notes.bytes, notes.size);
	return image_map(name);
}

TEST(usdt)
{
	char *first = usdt_map("libshop.so", "opened"), *second;
	struct sites *sites = find("u:shop:sold", 0);

	is_u64(sites ? sites->n : 0, 2, "two sites, one of which is noted twice");
	if (sites) {
		is_u64(sites->all[0].offset, TEXT_OFFSET + 1, "the first one's offset");
		is_u64(sites->all[1].offset, TEXT_OFFSET + 9, "the second one's");
		is_u64(sites->all[1].semaphore, DATA_OFFSET + 2, "the semaphore's");
		is_str(sites->all[0].group, "shop", "the provider");
		is_str(sites->all[0].object, first, "the object");
	}
	sites_free(sites);
	sites = find("u:shop:opened", 0);
	is_u64(sites ? sites->all[0].semaphore : 1, 0, "no semaphore");
	sites_free(sites);
	says("u:shop:nowhere", "USDT probe");
	says("u:libshop.so:shop:nowhere", "does not have the addresses");
	says("u:shop:opend", "u:shop:opened");
	says("u:libshop.so:shop:opend", "u:libshop.so:shop:opened");

	second = usdt_map("libstore.so", "closed");
	says("u:shop:sold", "u:libshop.so:shop:sold");
	ok(strstr(said, "u:libstore.so:shop:sold"), "both objects are named");
	sites = find("u:libstore.so:shop:sold", 0);
	is_str(sites ? sites->all[0].object : NULL, second, "the one that is named");
	sites_free(sites);
	sites = find("u:sh*:*[od][sp]ed", 0);
	is_u64(sites ? sites->n : 0, 1, "a pattern in one object");
	sites_free(sites);
	sites = find("u:shop:s?ld", 0);
	is_u64(sites ? sites->n : 0, 4, "a pattern in both");
	sites_free(sites);
	unlink(first);
	unlink(second);
	free(first);
	free(second);
}

TEST(too_many)
{
	struct sites *sites;
	char name[32], *path;

	image_begin();
	for (unsigned int i = 0; i < TEXT_SIZE; i++) {
		sprintf(name, "f%u", i);
		symbols_add(&table, name, TEXT_ADDRESS + i, 1, STT_FUNC);
	}
	image_symbols(&image, &table, SHT_SYMTAB);
	path = image_map("libmany.so");
	sites = find("up:libmany.so:f*", 0);
	is_u64(sites ? sites->n : 0, TEXT_SIZE, "a function at every byte");
	sites_free(sites);
	unlink(path);
	free(path);
	says("up:libc.so.6:*", "more than 1000");
}

TEST(damaged)
{
	char *path;

	image_begin();
	image_section(&image, ".note.stapsdt", SHT_NOTE, "\377\377\377\377\377\377\377\377\3\0\0\0",
		      12);
	symbols_add(&table, "name", TEXT_ADDRESS, 1, STT_FUNC);
	image_symbols(&image, &table, SHT_SYMTAB);
	image.sections[2].sh_entsize = 1;
	path = image_map("libhurt.so");
	says("up:libhurt.so:name", "damaged");
	says("u:libhurt.so:p:n", "damaged");
	says("u:p:n", "USDT probe"); /* it is passed over where others are meant as well */
	need(!truncate(path, 100));
	says("up:libhurt.so:name", "damaged");
	need(!truncate(path, 0));
	says("up:libhurt.so:name", "not an ELF file");
	unlink(path);
	free(path);
}

/* What two processes have in common is taken out; here both are this one. */
TEST(multiple)
{
	struct sites *both = find("up:resolve_me_[ot]*", 0), *one = find("up:resolve_me_one", 0);
	struct sites *again = find("up:resolve_me_one", 0);

	sites_subtract(again, one);
	is_u64(again->n, 0, "the same site is found in each");
	sites_subtract(both, one);
	is_u64(both->n, 1, "one of two is the same");
	ok(strstr(both->all[0].name, "two"), "the other one is left");
	sites_subtract(both, again);
	is_u64(both->n, 1, "also without what has none");
	sites_free(both);
	sites_free(one);
	sites_free(again);
}

/* What other files a process gets makes another key. */
TEST(keys)
{
	struct objects *before, *after;
	char *path;

	image_begin();
	symbols_add(&table, "name", TEXT_ADDRESS, 1, STT_FUNC);
	image_symbols(&image, &table, SHT_SYMTAB);
	need(!objects_read(&before, getpid()) && !objects_read(&after, getpid()));
	is_u64(objects_key(after), objects_key(before), "the same files have the same key");
	objects_free(after);
	path = image_map("libmore.so");
	need(!objects_read(&after, getpid()));
	ok(objects_key(after) != objects_key(before), "with one more it is another one");
	objects_free(before);
	objects_free(after);
	unlink(path);
	free(path);
}

void tests_begin(void)
{
	need(mkdtemp(directory));
}

void tests_end(void)
{
	sites_free(find_in(0x7fffffff, "up:f", EX_UNAVAILABLE));
	sites_free(NULL);
	rmdir(directory);
}
