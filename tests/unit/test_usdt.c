/* SPDX-License-Identifier: Apache-2.0 */
/* USDT notes, of files made by hand. */
#include <errno.h>
#include <string.h>

#include "probes/elf/usdt.h"
#include "elf_image.h"
#include "tap.h"

#define BASE 0x403000ULL

static struct image image;

struct seen {
	char text[2048];
	unsigned int calls;
	unsigned int stop_at;
};

static int see(void *context, const struct usdt_site *site)
{
	struct seen *seen = context;

	sprintf(seen->text + strlen(seen->text), "%s:%s@%lx>%lx,%lx>%lx%s ", site->provider,
		site->name, site->address, site->offset, site->semaphore, site->semaphore_offset,
		site->usable ? "" : "!");
	return ++seen->calls == seen->stop_at ? 42 : 0;
}

/* Makes a file with such notes; base is where the base section is now, 0: none. */
static struct seen seen_of(const struct image_notes *notes, uint64_t base, int want,
			   const char *what)
{
	struct seen seen = { .calls = 0 };
	struct elf_file *file;

	image_init(&image, notes->is_64);
	image_section(&image, ".note.stapsdt", SHT_NOTE, notes->bytes, notes->size);
	if (base)
		image_section(&image, ".stapsdt.base", SHT_PROGBITS, "", 1)->sh_addr = base;
	image_finish(&image);
	if (elf_file_open_image(&file, image_copy(&image), image.size)) {
		ok(false, "%s: the image can be opened", what);
		return seen;
	}
	is_i64(usdt_each(file, see, &seen), want, "%s", what);
	elf_file_close(file);
	return seen;
}

static void test_sites(bool is_64)
{
	struct image_notes notes = { .is_64 = is_64 };
	struct seen seen;

	notes_add_site(&notes, TEXT_ADDRESS + 1, BASE, 0, "server", "start");
	notes_add_site(&notes, TEXT_ADDRESS + 0x20, BASE, DATA_ADDRESS + 2, "server", "done");
	notes_add_site(&notes, TEXT_ADDRESS + 0x30, BASE, DATA_ADDRESS + 2, "server", "done");
	notes_add(&notes, "GNU", 3, "abcde", 5);
	notes_add(&notes, "stapsdt", 4, "abcde", 5);
	notes_add_site(&notes, TEXT_ADDRESS + TEXT_SIZE, BASE, 0, "p", "no_code");
	notes_add_site(&notes, TEXT_ADDRESS, BASE, TEXT_ADDRESS, "p", "no_data");
	notes_add_site(&notes, TEXT_ADDRESS, BASE, DATA_ADDRESS + DATA_SIZE, "", "");
	seen = seen_of(&notes, BASE, 0, "sites");
	is_str(seen.text,
	       "server:start@401201>201,0>0 server:done@401220>220,512302>302 "
	       "server:done@401230>230,512302>302 p:no_code@401300>0,0>0! "
	       "p:no_data@401200>200,401200>0! :@401200>200,512500>0! ",
	       "%d bits: their addresses and offsets", is_64 ? 64 : 32);
}

static void test_prelink(void)
{
	struct image_notes notes = { .is_64 = true };
	struct seen seen;

	/* Linked 0x1000 higher and 0x1000 lower than where the base is now. */
	notes_add_site(&notes, TEXT_ADDRESS + 0x1008, BASE + 0x1000, DATA_ADDRESS + 0x1000, "p",
		       "high");
	notes_add_site(&notes, TEXT_ADDRESS - 0xff8, BASE - 0x1000, 0, "p", "low");
	seen = seen_of(&notes, BASE, 0, "moved since it was linked");
	is_str(seen.text, "p:high@401208>208,512300>300 p:low@401208>208,0>0 ",
	       "what was moved is found; no semaphore remains none");
	notes.size = 0;
	notes_add_site(&notes, TEXT_ADDRESS, BASE + 0x1000, 0, "p", "n");
	seen = seen_of(&notes, 0, 0, "no base section");
	is_str(seen.text, "p:n@401200>200,0>0 ", "then nothing has moved");
}

static void test_damaged(void)
{
	struct image_notes notes = { .is_64 = true };
	struct seen seen;
	size_t whole;

	notes_add_site(&notes, TEXT_ADDRESS, BASE, 0, "p", "good");
	whole = notes.size;
	notes_add(&notes, "stapsdt", 3, "short", 5);
	seen = seen_of(&notes, BASE, -EBADMSG, "no room for the addresses");
	is_str(seen.text, "p:good@401200>200,0>0 ", "what comes before it is found");
	notes.size = whole;
	notes_add(&notes, "stapsdt", 3, "\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1pr", 26);
	seen_of(&notes, BASE, -EBADMSG, "a provider without an end");
	notes.size = whole;
	notes_add(&notes, "stapsdt", 3, "\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1p\0n", 27);
	seen_of(&notes, BASE, -EBADMSG, "a name without an end");
	notes.size = whole;
	notes_add_site(&notes, TEXT_ADDRESS, BASE, 0, "p", "cut");
	notes.size -= 20;
	seen_of(&notes, BASE, -EBADMSG, "a note that ends too early");
	notes.size = whole;
	memset(notes.bytes, 0xff, 8);
	seen = seen_of(&notes, BASE, -EBADMSG, "lengths of 4 GiB");
	is_u64(seen.calls, 0, "have no sites");
	notes.size = 11;
	seen_of(&notes, BASE, 0, "less than a note");
	notes.size = 0;
	seen_of(&notes, BASE, 0, "nothing");
}

static void test_stop(void)
{
	struct image_notes notes = { .is_64 = true };
	struct seen seen = { .stop_at = 1 };
	struct elf_file *file;

	notes_add_site(&notes, TEXT_ADDRESS, BASE, 0, "p", "a");
	notes_add_site(&notes, TEXT_ADDRESS, BASE, 0, "p", "b");
	image_init(&image, true);
	image_section(&image, ".note.stapsdt", SHT_NOTE, notes.bytes, notes.size);
	image_finish(&image);
	if (elf_file_open_image(&file, image_copy(&image), image.size))
		return;
	is_i64(usdt_each(file, see, &seen), 42, "what the caller returns");
	is_u64(seen.calls, 1, "ends the search");
	elf_file_close(file);
}

int main(void)
{
	test_sites(true);
	if (IMAGE_MACHINE_32 != EM_NONE)
		test_sites(false);
	test_prelink();
	test_damaged();
	test_stop();
	return done_testing();
}
