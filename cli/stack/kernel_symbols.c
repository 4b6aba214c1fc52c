// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "kernel_symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/arith.h"
#include "cli/base/array.h"

#define KALLSYMS "/proc/kallsyms"
#define READ_SIZE (256 * 1024)
#define MAX_LINE 1024 /* KSYM_NAME_LEN is 512 */
#define MAX_SYMBOLS (4U << 20)
#define MAX_NAMES (256U << 20)

/* Longest function or variable: the file has no sizes. */
#define MAX_SIZE (1U << 20)
#define PAGE 4096

#define FRAMES_MAX 1024 /* kernel.perf_event_max_stack is 127 by default */
#define BUCKETS 4096

struct kernel_symbol {
	uint64_t address;
	uint32_t name;   /* offset in the names */
	uint32_t module; /* offset of its name + 1; 0: vmlinux */
};

struct cached {
	struct cached *next;
	uint64_t hash;
	struct stack stack;
	uint64_t *ips; /* behind the frames */
	struct frame frames[];
};

/* Types of symbols, as nm(1) has them. */
#define TYPES 4
static const char functions[TYPES] = "tTwW", variables[TYPES] = "dDbB";

struct kernel_symbols {
	const char *types; /* of those to be read: functions or variables */
	int fd;            /* to be read; -1: no more */
	pthread_t reader;
	bool is_reading;
	int error;
	struct kernel_symbol *symbols; /* by address */
	char *names;                   /* of functions and modules */
	uint32_t n, names_size;
	uint32_t last_module; /* as in struct kernel_symbol */
	size_t symbols_capacity, names_capacity;
	bool hidden;
	uint64_t sched_start, sched_end; /* functions left out of stacks */
	struct own_code {
		uint64_t address, size;
	} * own;
	size_t n_own;
	struct cached *buckets[BUCKETS];
	size_t n_cached, capacity;
	uint64_t beyond;
};

/* Appends text and a NUL; sets *at to its offset. */
static int name_add(struct kernel_symbols *symbols, const char *text, size_t length, uint32_t *at)
{
	if (symbols->names_size + length >= MAX_NAMES)
		return -E2BIG;
	if (array_reserve(&symbols->names, symbols->names_size + length + 1,
			  &symbols->names_capacity, 1))
		return -ENOMEM;
	*at = symbols->names_size;
	memcpy(symbols->names + *at, text, length);
	symbols->names[*at + length] = '\0';
	symbols->names_size += (uint32_t)length + 1;
	return 0;
}

static bool is_text(const char *text, size_t length, const char *other)
{
	return length == strlen(other) && !memcmp(text, other, length);
}

/* Symbols of a module are adjacent, so only the last one is compared. */
static int module_add(struct kernel_symbols *symbols, const char *name, size_t length,
		      uint32_t *module)
{
	int err = 0;

	if (!symbols->last_module ||
	    !is_text(name, length, symbols->names + symbols->last_module - 1)) {
		err = name_add(symbols, name, length, &symbols->last_module);
		symbols->last_module += !err;
	}
	*module = symbols->last_module;
	return err;
}

static int symbol_add(struct kernel_symbols *symbols, const struct kernel_symbol *symbol)
{
	if (symbols->n == MAX_SYMBOLS)
		return -E2BIG;
	return ARRAY_ADD(symbols->symbols, symbols->n, symbols->symbols_capacity, *symbol);
}

/* Parses the leading digits; strtoull() takes three times as long. */
static const char *address_read(const char *line, const char *end, uint64_t *address)
{
	*address = 0;
	for (; line < end; line++) {
		unsigned int digit = (unsigned char)*line;

		if (digit >= '0' && digit <= '9')
			digit -= '0';
		else if (digit >= 'a' && digit <= 'f')
			digit -= 'a' - 10;
		else
			break;
		*address = *address << 4 | digit;
	}
	return line;
}

/* Section boundaries are not functions: the first function has the same address. */
static bool section_take(struct kernel_symbols *symbols, const char *name, size_t length,
			 uint64_t address)
{
	if (is_text(name, length, "__sched_text_start"))
		symbols->sched_start = address;
	else if (is_text(name, length, "__sched_text_end"))
		symbols->sched_end = address;
	else
		return false;
	return true;
}

/* True if such a symbol says that the addresses of all are to be seen. A kernel without
 * CONFIG_KALLSYMS_ALL has no variables but global marks of sections, which are no names of what is
 * behind them. */
static bool tells(const struct kernel_symbols *symbols, char type)
{
	return symbols->types == functions || type == 'd' || type == 'b';
}

/* Parses "ffffffff81000000 T name", plus "\t[module]" for modules. Skips other symbols and
 * malformed lines. */
static int line_take(struct kernel_symbols *symbols, const char *line, const char *end)
{
	struct kernel_symbol symbol = { .module = 0 };
	const char *name = address_read(line, end, &symbol.address), *tab;
	int err;

	if (name == line || end - name < 4 || name[0] != ' ' || name[2] != ' ' ||
	    !memchr(symbols->types, name[1], TYPES))
		return 0;
	if (!symbol.address)
		return 0;
	if (tells(symbols, name[1]))
		symbols->hidden = false;
	name += 3;
	tab = memchr(name, '\t', (size_t)(end - name));
	if (tab && end - tab > 3 && tab[1] == '[' && end[-1] == ']') {
		err = module_add(symbols, tab + 2, (size_t)(end - tab) - 3, &symbol.module);
		if (err)
			return err;
	}
	if (!symbol.module && section_take(symbols, name, (size_t)(end - name), symbol.address))
		return 0;
	err = name_add(symbols, name, (size_t)((tab ? tab : end) - name), &symbol.name);
	return err ? err : symbol_add(symbols, &symbol);
}

static int lines_read(struct kernel_symbols *symbols, int fd, char *buffer)
{
	size_t cached = 0; /* bytes of an incomplete line */
	ssize_t got;

	while ((got = read(fd, buffer + cached, READ_SIZE - cached))) {
		char *line = buffer, *end = buffer + cached, *newline;
		int err;

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		end += got;
		while ((newline = memchr(line, '\n', (size_t)(end - line)))) {
			err = line_take(symbols, line, newline);
			if (err)
				return err;
			line = newline + 1;
		}
		cached = (size_t)(end - line);
		if (cached > MAX_LINE)
			return -EBADMSG;
		memmove(buffer, line, cached);
	}
	return line_take(symbols, buffer, buffer + cached);
}

static int by_address(const void *left, const void *right)
{
	const struct kernel_symbol *a = left, *b = right;

	return ORDER(a->address, b->address);
}

/* Names are appended in file order. */
static int by_address_in_file(const void *left, const void *right)
{
	const struct kernel_symbol *a = left, *b = right;

	return by_address(a, b) ?: ORDER(a->name, b->name);
}

/* Keeps the first of several names, as the kernel does. */
static void symbols_sort(struct kernel_symbols *symbols)
{
	ARRAY_SORT(symbols->symbols, symbols->n, by_address_in_file);
	symbols->n = (uint32_t)ARRAY_UNIQUE(symbols->symbols, symbols->n, by_address);
}

static void *symbols_read(void *context)
{
	struct kernel_symbols *symbols = context;
	char *buffer = malloc(READ_SIZE);

	symbols->error = buffer ? lines_read(symbols, symbols->fd, buffer) : -ENOMEM;
	free(buffer);
	symbols->hidden |= symbols->error != 0;
	if (symbols->hidden)
		symbols->n = 0;
	symbols_sort(symbols);
	return NULL;
}

static int symbols_open(struct kernel_symbols **symbols, const char *path, const char *types)
{
	*symbols = calloc(1, sizeof(**symbols));
	if (!*symbols)
		return -ENOMEM;
	(*symbols)->types = types;
	(*symbols)->hidden = true;
	(*symbols)->fd = open(path ? path : KALLSYMS, O_RDONLY | O_CLOEXEC);
	return 0;
}

int kernel_symbols_open(struct kernel_symbols **symbols, const char *path, size_t capacity)
{
	int err = symbols_open(symbols, path, functions);

	if (!err)
		(*symbols)->capacity = capacity;
	return err;
}

int kernel_symbols_open_variables(struct kernel_symbols **symbols, const char *path)
{
	return symbols_open(symbols, path, variables);
}

void kernel_symbols_begin(struct kernel_symbols *symbols)
{
	if (symbols->fd >= 0 && !symbols->is_reading)
		symbols->is_reading = !pthread_create(&symbols->reader, NULL, symbols_read,
						      symbols);
}

int kernel_symbols_read(struct kernel_symbols *symbols)
{
	if (symbols->is_reading)
		pthread_join(symbols->reader, NULL);
	else if (symbols->fd >= 0)
		symbols_read(symbols);
	if (symbols->fd >= 0)
		close(symbols->fd);
	symbols->is_reading = false;
	symbols->fd = -1;
	return symbols->error == -ENOMEM ? -ENOMEM : 0;
}

void kernel_symbols_close(struct kernel_symbols *symbols)
{
	if (!symbols)
		return;
	if (symbols->is_reading)
		pthread_join(symbols->reader, NULL);
	if (symbols->fd >= 0)
		close(symbols->fd);
	for (size_t i = 0; i < BUCKETS; i++) {
		struct cached *cached, *next;

		for (cached = symbols->buckets[i]; cached; cached = next) {
			next = cached->next;
			free(cached);
		}
	}
	free(symbols->symbols);
	free(symbols->names);
	free(symbols->own);
	free(symbols);
}

bool kernel_symbols_hidden(const struct kernel_symbols *symbols)
{
	return symbols->fd < 0 && symbols->hidden;
}

/* Code made at run time: BPF programs and trampolines. It lies close together, and some of it has
 * no name, such as filters of seccomp and sockets (bpf_prog_kallsyms_add() in kernel/bpf/core.c
 * leaves out classic BPF). kernel/kallsyms.c has the names of these modules. */
static bool is_generated(const struct kernel_symbols *symbols, const struct kernel_symbol *symbol)
{
	const char *module = symbol->module ? symbols->names + symbol->module - 1 : "";

	return !strcmp(module, "bpf") || !strncmp(module, "__builtin__", strlen("__builtin__"));
}

/* True if the next symbol tells where this one ends: code of the same object goes on until there.
 */
static bool has_next(const struct kernel_symbols *symbols, const struct kernel_symbol *symbol)
{
	return symbol + 1 < symbols->symbols + symbols->n && symbol[1].module == symbol->module &&
	       !is_generated(symbols, symbol);
}

/* This program's own function that contains an address, or begins there; NULL: none. */
static const struct own_code *own_find(const struct kernel_symbols *symbols, uint64_t address)
{
	for (size_t i = 0; i < symbols->n_own; i++)
		if (address - symbols->own[i].address < symbols->own[i].size)
			return &symbols->own[i];
	return NULL;
}

/* Function or variable that contains an address; NULL: none. Where nothing tells its end, it is not
 * longer than the page in which it begins, or it would give its name to all code without one. */
static const struct kernel_symbol *symbol_find(const struct kernel_symbols *symbols,
					       uint64_t address)
{
	size_t first = ARRAY_SPLIT(symbols->n, i, symbols->symbols[i].address <= address);
	const struct kernel_symbol *symbol = first ? &symbols->symbols[first - 1] : NULL;
	const struct own_code *own = symbol ? own_find(symbols, symbol->address) : NULL;
	uint64_t end;

	if (!symbol)
		return NULL;
	if (own)
		end = own->address + own->size;
	else if (has_next(symbols, symbol))
		end = symbol->address + MAX_SIZE;
	else
		end = (symbol->address | (PAGE - 1)) + 1;
	return address < end ? symbol : NULL;
}

/* Looks up the first address as is. In running code it is the interrupted instruction, maybe the
 * first of its function; in a waiting thread, a resume point inside __schedule(). All others are
 * return addresses, looked up by their call: after a call that never returns, another function
 * begins. */
static void frame_fill(const struct kernel_symbols *symbols, uint64_t ip, bool first,
		       struct frame *frame)
{
	const struct kernel_symbol *symbol = symbol_find(symbols, first ? ip : ip - 1);

	*frame = (struct frame){ .offset = ip };
	if (!symbol)
		return;
	frame->function = symbols->names + symbol->name;
	frame->offset = ip - symbol->address;
	if (symbol->module)
		frame->object = symbols->names + symbol->module - 1;
}

/* FNV-1a by words. */
static uint64_t ips_hash(const uint64_t *ips, size_t n)
{
	uint64_t hash = 0xcbf29ce484222325;

	for (size_t i = 0; i < n; i++) {
		hash = (hash ^ ips[i]) * 0x100000001b3;
		hash ^= hash >> 32;
	}
	return hash;
}

static struct cached *cached_find(const struct kernel_symbols *symbols, const uint64_t *ips,
				  size_t n, uint64_t hash)
{
	struct cached *cached = symbols->buckets[hash % BUCKETS];

	while (cached && (cached->hash != hash || cached->stack.n != n ||
			  (n && memcmp(cached->ips, ips, n * sizeof(*ips)) != 0)))
		cached = cached->next;
	return cached;
}

static struct cached *cached_new(struct kernel_symbols *symbols, const uint64_t *ips, size_t n,
				 uint64_t hash)
{
	struct cached *cached =
		calloc(1, sizeof(*cached) + n * (sizeof(*cached->frames) + sizeof(*ips)));
	struct cached **bucket = &symbols->buckets[hash % BUCKETS];

	if (!cached)
		return NULL;
	cached->ips = (uint64_t *)(cached->frames + n);
	for (size_t i = 0; i < n; i++) {
		cached->ips[i] = ips[i];
		frame_fill(symbols, ips[i], i == 0, &cached->frames[i]);
	}
	cached->hash = hash;
	cached->stack = (struct stack){ .frames = cached->frames, .n = n };
	cached->next = *bucket;
	*bucket = cached;
	symbols->n_cached++;
	return cached;
}

const struct stack *kernel_symbols_stack(struct kernel_symbols *symbols, const uint64_t *ips,
					 size_t n)
{
	size_t taken = n < FRAMES_MAX ? n : FRAMES_MAX;
	uint64_t hash = ips_hash(ips, taken);
	struct cached *cached = cached_find(symbols, ips, taken, hash);

	if (!cached && symbols->n_cached < symbols->capacity)
		cached = cached_new(symbols, ips, taken, hash);
	if (!cached) {
		symbols->beyond++;
		return NULL;
	}
	return &cached->stack;
}

const char *kernel_symbols_name(const struct kernel_symbols *symbols, uint64_t address)
{
	const struct kernel_symbol *symbol = symbol_find(symbols, address);

	return symbol ? symbols->names + symbol->name : "";
}

bool kernel_symbols_variable(const struct kernel_symbols *symbols, uint64_t address,
			     struct kernel_variable *variable)
{
	const struct kernel_symbol *symbol = symbol_find(symbols, address);

	if (!symbol)
		return false;
	*variable = (struct kernel_variable){
		.name = symbols->names + symbol->name,
		.module = symbol->module ? symbols->names + symbol->module - 1 : NULL,
		.offset = address - symbol->address,
	};
	return true;
}

static bool begins_with(const char *name, const char *prefix)
{
	return !strncmp(name, prefix, strlen(prefix));
}

/* Functions between a tracepoint and a BPF program. */
static bool is_way(const char *name)
{
	static const char *const prefixes[] = {
		"bpf_trace_run",   "__bpf_trace_",   "__traceiter_",    "trace_call_bpf",
		"perf_trace_",     "perf_syscall_",  "bpf_trampoline_", "__bpf_prog_enter",
		"__bpf_prog_exit", "perf_call_bpf_",
	};
	bool found = false;

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		found |= begins_with(name, prefixes[i]);
	return found;
}

static bool is_program(const char *name)
{
	return begins_with(name, "bpf_prog_");
}

int kernel_symbols_add_own(struct kernel_symbols *symbols, uint64_t address, uint64_t size)
{
	struct own_code *own = reallocarray(symbols->own, symbols->n_own + 1, sizeof(*own));

	if (!own)
		return -ENOMEM;
	symbols->own = own;
	own[symbols->n_own++] = (struct own_code){ address, size };
	return 0;
}

size_t kernel_symbols_tracing(const struct kernel_symbols *symbols, const uint64_t *ips, size_t n)
{
	size_t own = 0;

	for (size_t i = 0; i < n; i++) {
		const char *name = kernel_symbols_name(symbols, ips[i]);

		if (own_find(symbols, ips[i]) || is_program(name) || is_way(name))
			own = i + 1;
		else if (i > own + 1)
			break;
	}
	return own;
}

#define WAY_CALLS 2 /* frames of functions called by those */

/* Returns the end of such frames, which start at from or up to calls frames later. */
static size_t way_end(const struct kernel_symbols *symbols, const uint64_t *ips, size_t n,
		      size_t from, size_t calls)
{
	size_t end = from;

	for (size_t i = from; i < n && i <= end + calls; i++) {
		const char *name = kernel_symbols_name(symbols, ips[i]);

		if (is_program(name))
			return from;
		if (is_way(name)) {
			end = i + 1;
			calls = 0;
		}
	}
	return end;
}

size_t kernel_symbols_own(const struct kernel_symbols *symbols, const uint64_t *ips, size_t n)
{
	size_t own = 0;

	for (size_t i = 0; i < n; i++)
		if (own_find(symbols, ips[i]))
			own = i + 1;
	return way_end(symbols, ips, n, own, own ? 0 : WAY_CALLS);
}

/* Functions in the stack of each wait. */
static bool only_switches(const char *name)
{
	static const char *const names[] = { "__schedule",
					     "schedule",
					     "preempt_schedule",
					     "preempt_schedule_common",
					     "preempt_schedule_irq",
					     "preempt_schedule_notrace",
					     "schedule_preempt_disabled",
					     "schedule_rtlock" };
	bool found = false;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		found |= !strcmp(name, names[i]);
	return found;
}

size_t kernel_symbols_sched(const struct kernel_symbols *symbols, uint64_t *words, size_t n)
{
	const struct kernel_symbol *last = NULL;
	size_t cached = 0;

	for (size_t i = 0; i < n; i++) {
		const struct kernel_symbol *symbol;

		if (words[i] <= symbols->sched_start || words[i] > symbols->sched_end)
			continue;
		symbol = symbol_find(symbols, words[i] - 1);
		if (!symbol || symbol == last || only_switches(symbols->names + symbol->name))
			continue;
		words[cached++] = words[i];
		last = symbol;
	}
	return cached;
}

uint64_t kernel_symbols_beyond(const struct kernel_symbols *symbols)
{
	return symbols->beyond;
}
