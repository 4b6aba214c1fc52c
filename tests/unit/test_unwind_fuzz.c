/* SPDX-License-Identifier: Apache-2.0 */
/* A stack with damaged call frame information, registers or contents: no crash, and
 * bounded memory and time. FUZZ_ROUNDS sets how many. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdalign.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include "cli/stack/cfi_validate.h"
#include "fuzz.h"
#include "tap.h"
#include "unwind_target.h"

#define ROUNDS 120000
#define MOST_MEMORY (512UL << 20)
#define MOST_TIME 0.5 /* seconds for one stack, of which some us are usual */
#define CODE_MAX 64   /* entries that the stack needs */

/* No single piece may be larger than the largest part of a file. */
const char *__asan_default_options(void)
{
	return "max_allocation_size_mb=80:quarantine_size_mb=16";
}

/* --- The stack: a child's, of some of its own functions --- */

__attribute__((noinline)) static int waits(int depth, int (*compare)(const void *, const void *))
{
	alignas(64) int numbers[16] = { 3, 2, 1, depth };
	int sum;

	if (depth) {
		sum = waits(depth - 1, compare);
	} else {
		qsort(numbers, 4, sizeof(*numbers), compare);
		sum = numbers[0];
	}
	__asm__ volatile("" : : "r"(numbers) : "memory");
	return sum + numbers[1];
}

static int compare_waits(const void *left, const void *right)
{
	raise(SIGSTOP);
	return *(const int *)left - *(const int *)right;
}

static struct target target;
static struct stack_copy seed;
static struct unwound whole;

/* Where in its object's image an entry is that the stack needs. */
struct needed {
	struct target_object *object;
	uint64_t offset;
};

static struct needed needed[CODE_MAX];
static size_t n_needed;

static bool seed_make(void)
{
	pid_t pid = fork();
	bool made;

	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		_exit(waits(4, compare_waits));
	}
	if (pid < 0 || waitpid(pid, NULL, 0) != pid)
		return false;
	target_open(&target, pid);
	made = target_copy(&target, pid, &seed);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return made;
}

/* The entries of the frames. */
static void needed_find(void)
{
	for (unsigned int i = 0; i < whole.n && n_needed < CODE_MAX; i++) {
		struct target_mapping *mapping = target_mapping(&target, whole.ip[i]);
		struct needed *next = &needed[n_needed];
		struct cfi_fde fde;

		next->object = mapping->object;
		if (!cfi_find(mapping->object->cfi, whole.ip[i] - !whole.exact[i] - mapping->bias,
			      &fde) &&
		    elf_file_offset(mapping->object->file, fde.address, 0, &next->offset))
			n_needed++;
	}
}

/* --- Damage --- */

#define CHANGES 8

/* Bytes changed in an image, to be put back. */
struct damage {
	struct target_object *object;
	size_t n;
	struct {
		size_t at;
		uint8_t was;
	} changes[CHANGES];
};

static uint8_t byte_of_interest(uint8_t was)
{
	static const uint8_t bytes[] = { 0x00, 0x01, 0x7f, 0x80, 0xff, 0x0a, 0x0b, 0x0c, 0x0e,
					 0x0f, 0x10, 0x16, 0x09, 0x05, 0x1b, 0x1d, 0x28, 0x2f,
					 0x06, 0x77, 0x9b, 0x50, 'S',  'P',  'z',  0xc0, 0x91 };

	if (chance(2))
		return was ^ (uint8_t)(1U << chance(8));
	return chance(2) ? bytes[chance(sizeof(bytes))] : (uint8_t)chance(256);
}

/* Where to damage: in an entry that is needed, in its CIE, or in the table. */
static size_t place(const struct needed *entry)
{
	const uint8_t *image = entry->object->image;
	uint32_t length, distance;
	const Elf64_Shdr *header;

	memcpy(&length, image + entry->offset, sizeof(length));
	memcpy(&distance, image + entry->offset + 4, sizeof(distance));
	switch (chance(8)) {
	case 0:
		header = elf_file_section(entry->object->file, NULL, SHT_NULL, ".eh_frame_hdr");
		if (header)
			return header->sh_offset + chance(chance(2) ? 16 : header->sh_size);
		/* fall through */
	case 1:
	case 2: /* the CIE */
		return entry->offset + 4 - distance + chance(32);
	default:
		return entry->offset + chance(length + 4ULL);
	}
}

static void damage_do(struct damage *damage)
{
	const struct needed *entry = &needed[chance(n_needed)];
	uint8_t *image = entry->object->image;

	damage->object = entry->object;
	damage->n = 0;
	for (uint64_t n = 1 + chance(CHANGES); n; n--) {
		size_t at = place(entry);

		/* An entry whose length was damaged may seem to reach far. */
		if (at >= entry->object->size)
			continue;
		damage->changes[damage->n].at = at;
		damage->changes[damage->n++].was = image[at];
		image[at] = byte_of_interest(image[at]);
	}
}

static void damage_undo(struct damage *damage)
{
	while (damage->n--)
		damage->object->image[damage->changes[damage->n].at] =
			damage->changes[damage->n].was;
}

static uint64_t word_of_interest(uint64_t was)
{
	switch (chance(6)) {
	case 0:
		return was + chance(64) - 32;
	case 1:
		return was ^ 1ULL << chance(64);
	case 2: /* on the stack */
		return seed.start + chance(seed.size);
	case 3: /* in code */
		return whole.ip[chance(whole.n)] + chance(16) - 8;
	case 4:
		return chance(2) ? 0 : UINT64_MAX - chance(16);
	default:
		return random_state;
	}
}

static void copy_damage(struct stack_copy *copy, uint8_t *data)
{
	for (uint64_t n = 1 + chance(4); n; n--) {
		uint64_t word;
		size_t at = 128 + chance(seed.size - 136) / 8 * 8;

		switch (chance(8)) {
		case 0:
		case 1:
		case 2:
			at = chance(KD_REGS);
			copy->regs[at] = word_of_interest(copy->regs[at]);
			break;
		case 3:
			if (!copy->other_start)
				copy->size = chance(copy->size + 1);
			break;
		case 4:
			copy->pages[chance(KD_STACK_WORDS)] ^= 1ULL << chance(64);
			break;
		case 5:
			if (chance(2)) {
				copy->start = word_of_interest(copy->start);
				break;
			}
			copy->size = chance(copy->size + 1); /* the rest is the other part */
			copy->other_size = chance(seed.size - copy->size + 1);
			copy->other_start = word_of_interest(copy->start + copy->size);
			copy->other_start -= copy->other_start % KD_STACK_PAGE;
			copy->other_pages = chance(2) ? UINT64_MAX : random_state;
			break;
		default:
			memcpy(&word, data + at, sizeof(word));
			word = word_of_interest(word);
			memcpy(data + at, &word, sizeof(word));
		}
	}
}

/* --- Rounds --- */

struct seen {
	unsigned long stops[UNWIND_STOPS], frames, rounds;
	double slowest;
	bool wrong; /* a result that makes no sense */
};

static void see(struct seen *seen, const struct unwound *unwound, double start)
{
	double took = cpu_seconds() - start;

	seen->rounds++;
	seen->slowest = took > seen->slowest ? took : seen->slowest;
	if (!unwound->n || unwound->n > UNWIND_FRAMES || unwound->stop >= UNWIND_STOPS) {
		seen->wrong = true;
		return;
	}
	seen->frames += unwound->n;
	seen->stops[unwound->stop]++;
}

/* The information is damaged, what is known of it forgotten. */
static void round_cfi(struct unwinder *unwinder, struct seen *seen)
{
	struct damage damage;
	struct unwound unwound;
	struct cfi *good;
	double start;

	damage_do(&damage);
	good = damage.object->cfi;
	start = cpu_seconds();
	if (cfi_open(&damage.object->cfi, damage.object->file))
		damage.object->cfi = NULL;
	unwinder_flush(unwinder);
	unwind(unwinder, &seed, &unwound);
	see(seen, &unwound, start);
	cfi_close(damage.object->cfi);
	damage.object->cfi = good;
	damage_undo(&damage);
	unwinder_flush(unwinder);
}

static void round_copy(struct unwinder *unwinder, struct seen *seen)
{
	struct stack_copy copy = seed;
	struct unwound unwound;
	uint8_t *data = malloc(seed.size); /* of this size, for the sanitizer */
	double start;

	if (!data)
		exit(1);
	memcpy(data, seed.data, seed.size);
	copy.data = data;
	copy_damage(&copy, data);
	start = cpu_seconds();
	unwind(unwinder, &copy, &unwound);
	see(seen, &unwound, start);
	free(data);
}

static void print_seen(const char *what, const struct seen *seen)
{
	printf("# %s: %lu rounds, %lu frames, slowest %.1f ms\n", what, seen->rounds, seen->frames,
	       seen->slowest * 1000);
	for (enum unwind_stop stop = 0; stop < UNWIND_STOPS; stop++)
		printf("#   %lu: %s\n", seen->stops[stop],
		       stop ? unwind_stop_text(stop) : "complete");
}

static void test_damaged(unsigned long rounds)
{
	struct unwinder *unwinder = unwinder_new(target_find, &target);
	struct seen cfi = { .rounds = 0 }, copies = { .rounds = 0 };
	struct unwound unwound;
	struct rusage usage;

	for (unsigned long i = 0; i < rounds; i++) {
		if (i % 64 < 40)
			round_cfi(unwinder, &cfi);
		else
			round_copy(unwinder, &copies);
	}
	unwind(unwinder, &seed, &unwound);
	ok(!unwound.stop && unwound.n == whole.n, "afterwards the stack is unwound as before");
	unwinder_free(unwinder);
	print_seen("information", &cfi);
	print_seen("registers and stack", &copies);
	ok(!cfi.wrong && !copies.wrong, "each has a frame and a reason to stop");
	ok(cfi.stops[UNWIND_BAD_CFI] > cfi.rounds / 20 && cfi.stops[UNWIND_COMPLETE] &&
		   cfi.frames > cfi.rounds,
	   "information is refused, used though damaged, and still followed");
	ok(copies.stops[UNWIND_NOT_COPIED] && copies.stops[UNWIND_TRUNCATED] &&
		   copies.stops[UNWIND_NO_OBJECT] && copies.frames > copies.rounds,
	   "damaged stacks are followed as far as they can be");
	ok(cfi.slowest < MOST_TIME && copies.slowest < MOST_TIME, "none takes long");
	getrusage(RUSAGE_SELF, &usage);
	ok((uint64_t)usage.ru_maxrss * 1024 < MOST_MEMORY, "memory is bounded: %ld KiB",
	   usage.ru_maxrss);
}

/* Instructions and expressions made of any bytes: what is said to be valid is whole. */
static void test_programs(unsigned long rounds)
{
	static const uint8_t begin[] = { 0x0c, 7, 8, 0x90, 1 };
	unsigned long valid = 0;

	for (unsigned long i = 0; i < rounds; i++) {
		size_t size = 1 + chance(24);
		uint8_t *bytes = malloc(size);

		if (!bytes)
			exit(1);
		for (size_t j = 0; j < size; j++)
			bytes[j] = byte_of_interest(0);
		valid += cfi_programs_are_valid((struct cfi_program){ begin, sizeof(begin) },
						(struct cfi_program){ bytes, size });
		valid += cfi_expression_is_valid(bytes, size);
		free(bytes);
	}
	ok(valid > rounds / 1000 && valid < rounds, "%lu of %lu programs of any bytes are valid",
	   valid, 2 * rounds);
}

int main(void)
{
	unsigned long rounds = fuzz_rounds(ROUNDS);
	struct unwinder *unwinder;

	ok(seed_make(), "a process's stack is copied");
	unwinder = unwinder_new(target_find, &target);
	unwind(unwinder, &seed, &whole);
	unwinder_free(unwinder);
	ok(!whole.stop && whole.n >= 10, "undamaged, its %u frames are complete", whole.n);
	needed_find();
	ok(n_needed >= whole.n / 2, "%zu entries to damage", n_needed);
	test_damaged(rounds);
	test_programs(rounds);
	free((void *)seed.data);
	target_close(&target);
	return done_testing();
}
