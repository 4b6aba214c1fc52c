/* SPDX-License-Identifier: Apache-2.0 */
/* Calls with all kinds of values, by a fixed random sequence, and what they were; and calls by
 * threads of given names.
 *
 *   -> ready WRITABLE [sdt]
 *   <- calls N US   makes N calls of value_take(), value_number() and write(2), and hits the USDT
 *                   probe kdvalues:taken, US microseconds apart
 *   <- spin NAME N US  a thread of that name makes N calls of value_spin() that last US
 *                   microseconds, and as long between them
 *   <- log          -> {"spins": {NAME: [times, ...], ...}, "calls": [{"times": [before, begin,
 * end, after], "args": [...], "item": {...}, "next": {...}, "result": ..., "number": ..., "wrote":
 * [descriptor, bytes, result]}, ...]}; item and next are null where their address is one that leads
 * nowhere
 *
 * "calls" and "spin" are answered with "done". The function is entered between before and begin,
 * left between end and after. */
#include "workload.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>

#if defined(__has_include)
#if __has_include(<sys/sdt.h>)
#include <sys/sdt.h>
#define SDT_WORD " sdt"
#endif
#endif
#ifndef SDT_WORD
#define SDT_WORD ""
#define DTRACE_PROBE4(...)
#endif

#define LOG_ROOM 2000
#define NOWHERE ((const struct item *)16)

struct item {
	uint64_t id;
	const struct item *next;
	int32_t number;
	uint16_t half;
	int8_t byte;
};

struct call {
	long long times[4]; /* before, begin, end, after */
	long a0;
	int a1;
	unsigned short a2;
	const struct item *item;
	signed char a4;
	unsigned long a5;
	long a6;
	int a7;
	struct item items[2]; /* the item, and its next one */
	long result;
	int number;
	int fd;
	size_t bytes;
	ssize_t wrote;
};

static struct call calls[LOG_ROOM];
static int n_calls;

/* The edges of all types, and what lies between. */
static uint64_t draw(unsigned int *seed)
{
	static const uint64_t edges[] = {
		0,          1,          2,
		3,          5,          127,
		128,        255,        256,
		32767,      32768,      65535,
		65536,      0x7fffffff, 0x80000000,
		0xffffffff, 1ULL << 32, INT64_MAX,
		1ULL << 63, UINT64_MAX, UINT64_MAX - 4,
	};
	uint64_t random = (uint64_t)rand_r(seed) << 33 ^ (uint64_t)rand_r(seed) << 11;

	return rand_r(seed) % 4 ? edges[(size_t)rand_r(seed) % (COUNT(edges))] : random;
}

/* What the tests probe: not static, so that they keep their names. Their times are taken by the
 * thread that calls them: nothing is left to be done for values that are not used. */
long value_take(long a0, int a1, unsigned short a2, const struct item *item, signed char a4,
		unsigned long a5, long a6, int a7, struct call *call);
int value_number(const struct call *call);

__attribute__((noinline)) long value_take(long a0, int a1, unsigned short a2,
					  const struct item *item, signed char a4, unsigned long a5,
					  long a6, int a7, struct call *call)
{
	call->times[1] = now_ns();
	/* They are to be in registers or memory, and not what the compiler knows. */
	__asm__ volatile(""
			 : "+r"(a0), "+r"(a1), "+r"(a2), "+r"(item), "+m"(a4), "+m"(a5), "+m"(a6));
	DTRACE_PROBE4(kdvalues, taken, a0, a1, item, a4);
	__asm__ volatile("" ::"r"(a0), "r"(a1), "r"(a2), "r"(item), "m"(a4), "m"(a5), "m"(a6),
			 "m"(a7));
	call->times[2] = now_ns();
	return call->result;
}

__attribute__((noinline)) int value_number(const struct call *call)
{
	__asm__ volatile("");
	return call->number;
}

struct spin {
	char name[16];
	long count, us;
	long long times[LOG_ROOM / 10][4];
};

static struct spin spins[16];
static int n_spins;

void value_spin(long long times[4], long us);

__attribute__((noinline)) void value_spin(long long times[4], long us)
{
	times[1] = now_ns();
	spin_until(times[1] + us * 1000);
	times[2] = now_ns();
}

static void *spin(void *context)
{
	struct spin *spin = context;

	prctl(PR_SET_NAME, spin->name);
	for (long i = 0; i < spin->count; i++) {
		spin->times[i][0] = now_ns();
		value_spin(spin->times[i], spin->us);
		spin->times[i][3] = now_ns();
		usleep((useconds_t)spin->us);
	}
	return NULL;
}

static void spin_make(const char *name, long count, long us)
{
	struct spin *made = &spins[n_spins++];

	if (n_spins == COUNT(spins) || count > LOG_ROOM / 10)
		exit(2);
	snprintf(made->name, sizeof(made->name), "%s", name);
	made->count = count;
	made->us = us;
	pthread_join(thread_begin(spin, made), NULL);
}

static void items_fill(struct call *call, unsigned int *seed)
{
	for (int i = 0; i < 2; i++)
		call->items[i] = (struct item){
			.id = draw(seed),
			.next = NOWHERE,
			.number = (int32_t)draw(seed),
			.half = (uint16_t)draw(seed),
			.byte = (int8_t)draw(seed),
		};
	if (rand_r(seed) % 4)
		call->items[0].next = &call->items[1];
	call->item = rand_r(seed) % 8 ? &call->items[0] : NOWHERE;
}

static void call_make(struct call *call, unsigned int *seed, const int *fds)
{
	static char zeros[65536];

	call->a0 = (long)draw(seed);
	call->a1 = (int)draw(seed);
	call->a2 = (unsigned short)draw(seed);
	call->a4 = (signed char)draw(seed);
	call->a5 = draw(seed);
	call->a6 = (long)draw(seed);
	call->a7 = (int)draw(seed);
	call->result = (long)draw(seed);
	call->number = (int)draw(seed);
	items_fill(call, seed);
	call->fd = fds[rand_r(seed) % 2];
	call->bytes = draw(seed) % (sizeof(zeros) + 1);
	call->times[0] = now_ns();
	value_take(call->a0, call->a1, call->a2, call->item, call->a4, call->a5, call->a6, call->a7,
		   call);
	call->times[3] = now_ns();
	value_number(call);
	call->wrote = write(call->fd, zeros, call->bytes);
	if (call->wrote < 0)
		call->wrote = -errno;
}

static void item_print(const char *name, const struct item *item)
{
	if (item == NOWHERE)
		printf("\"%s\": null, ", name);
	else
		printf("\"%s\": {\"id\": %lu, \"number\": %d, \"half\": %u, \"byte\": %d}, ", name,
		       item->id, item->number, item->half, item->byte);
}

static void log_print(void)
{
	printf("{\"spins\": {");
	for (int i = 0; i < n_spins; i++) {
		printf("%s\"%s\": ", comma(i), spins[i].name);
		rows_print(*spins[i].times, spins[i].count, 4);
	}
	printf("}, \"calls\": [");
	for (int i = 0; i < n_calls; i++) {
		const struct call *call = &calls[i];

		printf("%s{\"times\": ", comma(i));
		row_print(call->times, 4);
		printf(", \"args\": [%ld, %d, %u, null, %d, %lu, %ld, %d], ", call->a0, call->a1,
		       call->a2, call->a4, call->a5, call->a6, call->a7);
		item_print("item", call->item);
		item_print("next", call->item == NOWHERE ? NOWHERE : call->item->next);
		printf("\"result\": %ld, \"number\": %d, \"wrote\": [%d, %zu, %zd]}", call->result,
		       call->number, call->fd, call->bytes, call->wrote);
	}
	say("]}");
}

VERB(values, 0, 0, "")
{
	int fds[2] = { open("/dev/null", O_WRONLY), open("/dev/null", O_RDONLY) };
	unsigned int seed = 1;
	char name[16];
	long count, us;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (fds[0] < 0 || fds[1] < 0)
		die("/dev/null");
	say("ready %d%s", fds[0], SDT_WORD);
	for (;;) {
		const char *line = command();

		if (!strcmp(line, "log")) {
			log_print();
			continue;
		}
		if (sscanf(line, "spin %15s %ld %ld", name, &count, &us) == 3)
			spin_make(name, count, us);
		else if (sscanf(line, "calls %ld %ld", &count, &us) != 2)
			unknown(line);
		else
			for (long i = 0; i < count && n_calls < LOG_ROOM; i++) {
				call_make(&calls[n_calls++], &seed, fds);
				if (us)
					usleep((useconds_t)us);
			}
		say("done");
	}
}
