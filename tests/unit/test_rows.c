// SPDX-License-Identifier: Apache-2.0
/* Rows of what threads waited for and what they used: how they are added up, put in order and
 * named. The sections of the report that show them: test_text.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/array.h"
#include "cli/base/syscall_set.h"
#include "cli/model/awaited.h"
#include "cli/model/field.h"
#include "cli/model/resource.h"
#include "cli/model/rows.h"
#include "cli/model/sample.h"
#include "random_thread.h"
#include "say.h"
#include "tap.h"

#define SECOND 1000000000ULL

/* --- All members: what becomes of them when threads are merged --- */

/* By their names. */
static enum field_merge rule_of(const struct field *field)
{
	static const char *const kept[] = { "process_start_ns", "inode", "shorter_than_ns",
					    "offset" };

	if (!strncmp(field->key, "cpus", 4) || !strcmp(field->key, "scaled"))
		return MERGE_ANY;
	for (size_t i = 0; i < COUNT(kept); i++)
		if (!strcmp(field->key, kept[i]))
			return MERGE_KEEP;
	if (field->kind != FIELD_U64)
		return MERGE_KEEP;
	return !strcmp(field->key, "min_ns")                                     ? MERGE_MIN
	       : strstr(field->key, "max_ns") || !strcmp(field->key, "slack_ns") ? MERGE_MAX
										 : MERGE_SUM;
}

static uint64_t sum(uint64_t x, uint64_t y)
{
	return x + y < x ? UINT64_MAX : x + y;
}

static bool figure_is_merged(const struct field *field, enum field_merge rule, const char *a,
			     const char *b, const char *to)
{
	bool known = !field->valid || (a[field->valid] && b[field->valid]);
	uint64_t x = row_figure(a, field->at), y = row_figure(b, field->at);
	uint64_t got = row_figure(to, field->at);

	if (rule == MERGE_MAX)
		return got == (x > y ? x : y);
	if (rule == MERGE_SUM)
		return got == (known ? sum(x, y) : 0) &&
		       (!field->valid || to[field->valid] == known);
	if (row_figure(a, field->count) && row_figure(b, field->count))
		return got == (x < y ? x : y);
	return got == (row_figure(a, field->count) ? x : y) || !row_figure(to, field->count);
}

static bool bits_are_merged(const struct field *field, const char *a, const char *b, const char *to)
{
	for (size_t i = field->at; i < field->at + field->size; i++)
		if (to[i] != (char)(a[i] | b[i]))
			return false;
	return true;
}

/* The first member that is wrong; not looked at: lists of rows. */
static const char *not_merged(const struct field *fields, char *a, char *b, char *to)
{
	const char *wrong = NULL;

	for (const struct field *field = fields; field->key && !wrong; field++) {
		struct distribution *times = field_times(field, to);
		enum field_merge rule = rule_of(field);
		bool right = true;

		if (field->kind == FIELD_OBJECT)
			wrong = not_merged(field->fields, field_object_make(field, a),
					   field_object_make(field, b),
					   field_object_make(field, to));
		else if (times)
			right = distribution_count(times) ==
				sum(distribution_count(field_times(field, a)),
				    distribution_count(field_times(field, b)));
		else if (rule == MERGE_ANY)
			right = bits_are_merged(field, a, b, to);
		else if (rule != MERGE_KEEP)
			right = figure_is_merged(field, rule, a, b, to);
		if (!right)
			wrong = field->key;
	}
	return wrong;
}

TEST(merge)
{
	const char *wrong = NULL;

	for (int i = 0; i < 500 && !wrong; i++) {
		struct thread_row a = { 0 }, b = { 0 }, both = { 0 };

		random_thread(&a);
		random_thread(&b);
		a.members = a.members ?: 1;
		need(!thread_merge(&both, &a) && !thread_merge(&both, &b));
		wrong = not_merged(thread_fields, (char *)&a, (char *)&b, (char *)&both);
		if (both.members !=
		    (sum(a.members, b.members) > UINT32_MAX ? UINT32_MAX : a.members + b.members))
			wrong = "members";
		if (both.tid != a.tid || strncmp(both.name, a.name, sizeof(a.name)) != 0)
			wrong = "who it is";
		thread_clear(&a);
		thread_clear(&b);
		thread_clear(&both);
	}
	is_str(wrong ?: "", "", "all members of two threads");
}

/* So many rows that they are found by order, some of which are there already, and one twice. */
TEST(many)
{
	enum { MANY = 3000 };
	struct thread_row a = { 0 }, b = { 0 };
	uint64_t counts[MANY + MANY / 2] = { 0 }, wrong = 0;

	for (unsigned int i = 0; i < 2 * MANY + 1; i++) {
		struct thread_row *into = i < MANY ? &a : &b;
		unsigned int number = i * 7919U % MANY + (i < MANY ? 0 : MANY / 2);
		struct irq_row row = { .count = i + 1, .total = 1, .max = 1 };

		snprintf(row.name, sizeof(row.name), "irq-%u", number);
		counts[number] += row.count;
		need(array_append(&into->hardirqs, &into->n_hardirqs, &row, sizeof(row)));
	}
	need(!thread_merge(&a, &b));
	is_u64(a.n_hardirqs, COUNT(counts), "a row for each name");
	for (size_t i = 0; i < a.n_hardirqs; i++) {
		unsigned long number = strtoul(a.hardirqs[i].name + 4, NULL, 10);

		wrong += number >= COUNT(counts) || counts[number] != a.hardirqs[i].count;
	}
	is_u64(wrong, 0, "which has all that is of this name");
	thread_clear(&a);
	thread_clear(&b);
}

/* --- All lists: what holds of each by its description --- */

/* Row i of many: of its own keys, and with larger figures than those before. */
static void *row_new(const struct row_list *list, uint32_t i)
{
	const uint64_t one = 1, ns = 10 + i;
	char *row = calloc(1, list->size);

	need(row);
	for (const struct field *field = list->fields; field->key; field++) {
		const bool each = field->kind == FIELD_WORD || field->kind == FIELD_BOOL;
		struct distribution *times = field_times(field, row);

		if (field->merge == MERGE_SUM || field->merge == MERGE_MAX)
			memcpy(row + field->at, &ns, sizeof(ns));
		if (times && distribution_append(times, ns, one))
			abort();
		if (field->flags & FIELD_KEY && field->kind == FIELD_NAME)
			snprintf(row + field->at, field->size, "n%u", i);
		else if (field->flags & FIELD_KEY && !each)
			memcpy(row + field->at, &(uint32_t){ i + 1 }, sizeof(uint32_t));
		if (field->flags & FIELD_EACH)
			row[field->at] = 1;
	}
	memcpy(row + list->count, &one, sizeof(one));
	return row;
}

struct many_rows {
	char *rows;
	size_t n;
};

static void many_add(const struct row_list *list, struct many_rows *all, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		void *row = row_new(list, i);

		need(!row_list_add(list, &all->rows, &all->n, row));
		row_list_free(list, row, 1);
	}
}

static uint64_t many_sum(const struct row_list *list, const struct many_rows *all, size_t at)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < all->n; i++)
		sum += row_figure(all->rows + i * list->size, at);
	return sum;
}

static void list_is_described(const char *key, const struct row_list *list)
{
	bool figures = false, late = false, key_found = false;
	const struct column *column = list->columns;

	for (const struct field *field = list->fields; field->key; field++) {
		figures |= field->merge != MERGE_KEEP;
		late |= figures && field->flags & FIELD_KEY;
		key_found |= field->flags & FIELD_KEY;
	}
	ok(key_found && figures && !late, "%s: keys, then figures", key);
	ok(!list->most == !list->others, "%s: others, where there is a limit", key);
	if (!column)
		return; /* its section is written by hand */
	while (column->title && column->kind == COLUMN_CELL)
		column++;
	ok(column > list->columns && column->title && *list->title == '[',
	   "%s: a section with what says who, then a figure", key);
}

static void list_adds_up(const char *key, const struct row_list *list)
{
	const uint32_t many = list->most ? 2 * (uint32_t)list->most : 40;
	const size_t figure = list->total ? list->total : list->count;
	struct many_rows all = { NULL, 0 };
	bool sorted = true;

	many_add(list, &all, many);
	is_u64(all.n, list->most ? list->most + 1 : many, "%s: as many rows as there may be", key);
	is_u64(many_sum(list, &all, list->count), many, "%s: all are counted", key);
	many_add(list, &all, many);
	is_u64(all.n, list->most ? list->most + 1 : many, "%s: the same again, no more rows", key);
	is_u64(many_sum(list, &all, list->count), 2 * many, "%s: but more counted", key);
	if (list->total)
		is_u64(many_sum(list, &all, list->total), (uint64_t)many * (many + 19),
		       "%s: and their time", key);
	row_list_sort(list, all.rows, all.n);
	for (size_t i = 1; i < all.n; i++)
		sorted &= row_figure(all.rows + (i - 1) * list->size, figure) >=
			  row_figure(all.rows + i * list->size, figure);
	ok(sorted, "%s: the largest first", key);
	row_list_free(list, all.rows, all.n);
}

/* Those that are in both of two threads are added up, the others are moved. */
static void list_merges(const struct field *field)
{
	const struct row_list *list = field->list;
	struct thread_row a = { .members = 1 }, b = { .members = 1 };
	char *row = row_new(list, 3), *rows;
	size_t n;

	for (uint32_t i = 0; i < 8; i++) {
		char *of = (char *)(i < 5 ? &a : &b);
		void *one = row_new(list, i < 5 ? i : i - 2);

		need(!row_list_add(list, of + field->at, (size_t *)(void *)(of + field->n), one));
		row_list_free(list, one, 1);
	}
	ok(!thread_merge(&a, &b), "%s: merged", field->key);
	rows = row_list_of(field, &a, &n);
	is_u64(n, 6, "%s: a row for each", field->key);
	is_str(not_merged(list->fields, row, row, rows + 3 * list->size) ?: "", "",
	       "%s: the figures of one in both", field->key);
	row_list_free(list, row, 1);
	thread_clear(&a);
	thread_clear(&b);
}

/* What has another key is another row. */
static void list_has_keys(const char *key, const struct row_list *list)
{
	static const char *const keys[LISTS] = {
		[LIST_STOPS] = "kind signal tid pid name ",
		[LIST_MOVERS] = "tid pid name ",
		[LIST_BLOCKS] = "device operation ",
		[LIST_COUNTERS] = "name cpu ",
		[LIST_DESCRIPTORS] = "for wchan call user_function fd inode child shorter_than_ns ",
		[LIST_HARDIRQS] = "name unhandled ",
		[LIST_SOFTIRQS] = "name vector ",
		[LIST_LOCKS] = "address kind shorter_than_ns holder_tid ",
		[LIST_CHAINS] = "wchan call ended_by_tid tid state in_wchan in_call ",
	};
	char text[SAY_LEN] = "", *row;

	for (const struct field *field = list->fields; field->key; field++) {
		struct many_rows all = { NULL, 0 };

		if (!(field->flags & FIELD_KEY))
			continue;
		row = row_new(list, 0);
		many_add(list, &all, 1);
		row[field->at] ^= 1;
		need(!row_list_add(list, &all.rows, &all.n, row));
		say(text, "%s%s", field->key, all.n == 2 ? " " : " (is none)");
		row_list_free(list, row, 1);
		row_list_free(list, all.rows, all.n);
	}
	is_str(text, keys[list->id], "%s: keys", key);
}

/* Beyond the limit they are of no one, but for keys of which each value has others of its own. */
static void list_has_others(const char *key, const struct row_list *list)
{
	const char *row, nobody[sizeof(struct descriptor_row)] = "";
	struct many_rows all = { NULL, 0 };
	bool right = true;

	many_add(list, &all, (uint32_t)list->most + 2);
	row = all.rows + list->most * list->size;
	for (const struct field *field = list->fields; field->key; field++)
		if (field->flags & FIELD_EACH)
			right &= !field_compare(field, row, all.rows);
		else if (field->flags & FIELD_KEY && field->kind != FIELD_LOCK)
			right &= field_compare(field, row, nobody) <= 0;
	if (list == &lock_list)
		right &= ((const struct lock_row *)row)->kind == KD_LOCK_OTHER;
	ok(right, "%s: others are of no one", key);
	row_list_free(list, all.rows, all.n);
}

TEST(lists)
{
	bool found[LISTS] = { false };

	for (const struct field *field = thread_fields; field->key; field++) {
		const struct row_list *list = field->list;

		if (!list)
			continue;
		ok(list->id < LISTS && !found[list->id], "%s: has a number of its own", field->key);
		found[list->id] = true;
		is_u64(list->size, field->size, "%s: is of the rows that threads have", field->key);
		list_is_described(field->key, list);
		list_adds_up(field->key, list);
		list_has_keys(field->key, list);
		list_merges(field);
		if (list->most)
			list_has_others(field->key, list);
	}
	for (size_t i = 0; i < LISTS; i++)
		ok(found[i], "list %zu is a thread's", i);
}

/* --- Locks --- */

static struct lock_row lock(uint64_t address, pid_t holder, uint64_t ns)
{
	return (struct lock_row){ .address = address,
				  .kind = KD_LOCK_MUTEX,
				  .holder = holder,
				  .waits = { 1, ns, ns, 0 },
				  .meanwhile = { ns, 0, 0 },
				  .slept_in = KD_CALL_NONE };
}

static int lock_put(struct thread_row *thread, const struct lock_row *row)
{
	return row_list_add(&lock_list, &thread->locks, &thread->n_locks, row);
}

/* Of many locks and holders: what is one's own is not theirs. */
static void lock_others_check(const struct lock_row *others)
{
	is_u64(others->address, 0, "of no address");
	ok(!others->symbol && !others->object && !others->offset, "of no variable");
	ok(!others->holder && !others->holder_pid && !others->holder_name[0], "of no holder");
	ok(!others->released_by && !others->released_name[0], "released by nobody");
	is_i64(others->slept_in, KD_CALL_NONE, "who slept in no call");
	ok(!others->called_from && !others->caller, "and no function waited longest");
}

TEST(locks)
{
	struct thread_row a = { .members = 1 }, b = { .members = 1 };
	struct lock_row one = lock(1, 5, 10), other = lock(1, 6, 20);
	char text[] = "lock";

	one.released_by = 7;
	need(!lock_put(&a, &one) && !lock_put(&a, &other));
	one.released_by = 0;
	ok(!lock_put(&b, &one) && !thread_merge(&a, &b) && a.n_locks == 2, "merged");
	is_i64(a.locks[0].released_by, 7, "who released it last stays");
	for (uint64_t i = 0; i < 2 * LOCKS_MOST; i++) {
		one = lock(100 + i, 5, 1);
		one.holder_pid = 4, one.released_by = 9, one.slept_in = 1, one.caller = 3;
		one.meanwhile.asleep = 1;
		one.symbol = text, one.object = "a", one.offset = 8, one.called_from = "x";
		one.holder_name[0] = one.released_name[0] = 'x';
		need(!lock_put(&a, &one));
	}
	lock_others_check(&a.locks[LOCKS_MOST]);
	is_u64(a.locks[LOCKS_MOST].meanwhile.asleep, LOCKS_MOST + 2, "what holders did is added");
	text[0] = '\0';
	ok(!strcmp(a.locks[LOCKS_MOST - 1].symbol, "lock"), "a row of its own has what is its own");
	thread_clear(&a);
	thread_clear(&b);
}

/* A holder that was looked at after the wait's end. */
TEST(holders)
{
	struct kd_activity activity = { 60, 5, 35 };

	activity_limit(&activity, 100);
	ok(activity.running == 60 && activity.ready == 5 && activity.asleep == 35,
	   "no more than the wait");
	activity_limit(&activity, 80);
	ok(activity.running == 40 && activity.ready == 5 && activity.asleep == 35, "it mostly ran");
	activity_limit(&activity, 3);
	is_u64(activity.running + activity.ready + activity.asleep, 3, "as long as the wait");
	activity = (struct kd_activity){ UINT64_MAX, UINT64_MAX, 0 };
	activity_limit(&activity, 0);
	ok(activity.running < UINT64_MAX, "figures that make no sense have an end, too");
}

static const char *caller_text(const struct frame *frames, size_t n)
{
	static char text[LOCK_CALLER_LEN];

	lock_caller_text(&(struct stack){ .frames = frames, .n = n }, text);
	return text;
}

TEST(callers)
{
	static const struct frame frames[] = {
		{ .function = "__lll_lock_wait", .offset = 0x2b, .object = "/lib/libc.so.6" },
		{ .function = "pthread_mutex_lock", .offset = 0x112, .object = "/opt/static" },
		{ .function = "queue_push", .offset = 0x1c, .object = "/lib/libqueue.so.1" },
		{ .offset = 0x4711, .object = "/usr/bin/server" },
		{ .function = "main", .offset = 0x77, .object = "/usr/bin/server" },
		{ .function = "outer", .offset = 1, .object = "/usr/bin/server" },
		{ .function = "start_thread", .offset = 2, .object = "/lib/libc.so.6" },
	};
	static const struct frame odd[] = {
		{ .offset = 0x7f0012345678 },
		{ .function = "vector", .offset = 0, .object = "[vsyscall]" },
	};
	char name[2 * LOCK_CALLER_LEN], text[LOCK_CALLER_LEN] = "x";
	const struct frame endless[] = { { .function = name, .object = "/a" },
					 { .function = "b" } };

	is_str(caller_text(frames, 7),
	       "queue_push+0x1c [libqueue.so.1] < 0x4711 < main+0x77 [server]",
	       "three functions, without the C library's");
	is_str(caller_text(frames + 4, 3), "main+0x77 < outer+0x1 [server]", "what began it, too");
	is_str(caller_text(frames, 2), "", "none of the program");
	is_str(caller_text(frames + 4, 0), "", "none at all");
	is_str(caller_text(odd, 2), "0x7f0012345678 < vector+0x0 [vsyscall]", "in no file");
	lock_caller_text(NULL, text);
	is_str(text, "", "no stack");
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	is_u64(strlen(caller_text(endless, 2)), LOCK_CALLER_LEN - 1, "a long name is cut");
	is_str(caller_text(endless, 2) + LOCK_CALLER_LEN - 4, "...", "and says so");
}

/* --- Descriptors --- */

static struct descriptor_row at(int32_t fd, pid_t ended_by, uint64_t ns)
{
	return (struct descriptor_row){ .awaited = KD_AWAITED_PIPE,
					.is = { .fd = fd, .inode = 7 },
					.waits = { 1, ns, ns, 0 },
					.ended_by = ended_by };
}

TEST(descriptors)
{
	struct thread_row a = { .members = 1 }, b = { .members = 1 };
	struct descriptor_row row = at(3, 5, 10), longer = at(3, 6, 20), other = at(3, 5, 1);

	other.is.inode = 8;
	need(!row_list_add(&descriptor_list, &a.descriptors, &a.n_descriptors, &row) &&
	     !row_list_add(&descriptor_list, &a.descriptors, &a.n_descriptors, &other) &&
	     !row_list_add(&descriptor_list, &b.descriptors, &b.n_descriptors, &longer));
	ok(!thread_merge(&a, &b) && a.n_descriptors == 2, "merged");
	is_i64(a.descriptors[0].ended_by, 6, "who ended the longest stays");
	is_u64(a.descriptors[0].others, 1, "others ended the other");
	row = at(3, 0, 5);
	row.in_progress = 1;
	need(!row_list_add(&descriptor_list, &a.descriptors, &a.n_descriptors, &row));
	is_u64(a.descriptors[0].waits.count, 3, "and one that has not ended");
	is_u64(a.descriptors[0].others, 1, "which nobody has ended");
	for (int32_t i = 0; i < 2 * DESCRIPTOR_ROWS; i++) {
		row = at(100 + i, 5, 1);
		memcpy(row.is.path, "/one", sizeof("/one"));
		need(!row_list_add(&descriptor_list, &a.descriptors, &a.n_descriptors, &row));
	}
	is_str(a.descriptors[DESCRIPTOR_ROWS].is.path, "", "others have no path");
	thread_clear(&a);
	thread_clear(&b);
}

TEST(descriptor_words)
{
	struct descriptor is = { .fd = 3 };
	char text[DESCRIPTOR_TEXT_LEN];

	is_str(descriptor_text(&is, text), "", "nothing is known");
	strcpy(is.device, "vda1");
	is_str(descriptor_text(&is, text), "on vda1", "a disk");
	strcpy(is.path, "/tmp/file");
	is_str(descriptor_text(&is, text), "/tmp/file on vda1", "a file on it");
	is = (struct descriptor){ .protocol = "tcp", .local = "[::1]:1", .other_net = 9 };
	is_str(descriptor_text(&is, text), "tcp [::1]:1 in net:[9]", "a socket that listens");
	strcpy(is.peer, "[::1]:2");
	is_str(descriptor_text(&is, text), "tcp [::1]:1 to [::1]:2 in net:[9]", "one with a peer");
	/* Whatever a file to be replayed has in them: none of them ends with a NUL. */
	memset(&is, 'x', sizeof(is));
	ok(strlen(descriptor_text(&is, text)) < sizeof(text), "whatever they hold, there is room");
}

/* --- Resources --- */

TEST(usages)
{
	struct io_row first[KD_IO_KINDS] = { [KD_IO_NETWORK].read = { 3, 300 } };
	struct io_row io[KD_IO_KINDS] = { { { 1, UINT64_MAX }, { 0, 0 } } };
	struct thread_row threads[] = {
		{ .pid = 5, .tid = 5, .ledger = { .exec = 100, .has_exec = true } },
		{ .pid = 5, .tid = 6, .io = first, .ledger = { .ns = { [LEDGER_KERNEL] = 30 } } },
		{ .pid = 9, .tid = 9, .io = io },
		{ .pid = 9,
		  .tid = 9,
		  .process_start = 70,
		  .ledger = { .exec = 7, .has_exec = true } },
	};
	struct sample sample = { .pid = 5, .threads = threads, .n_threads = 4 };
	struct usage_row total;

	ok(!usage_sum(&sample), "added up");
	is_u64(sample.n_usages, 3, "a row for each process");
	is_u64(sample.usages[2].process_start, 70, "also for the next one of a PID");
	is_u64(sample.usages[2].cpu_ns, 7, "with what it used");
	is_u64(sample.usages[0].cpu_ns, 130, "the kernel's count of the run time, or ours");
	is_u64(sample.usages[0].io[KD_IO_NETWORK].read.bytes, 300, "their threads' bytes");
	ok(usage_find(&sample, 9) == &sample.usages[2] && usage_find(&sample, 5) == sample.usages,
	   "the last one of a PID is found");
	ok(!usage_find(&sample, 7), "and none that there was not");
	total = usage_total(&sample);
	is_u64(total.io[KD_IO_NETWORK].read.bytes, UINT64_MAX, "sums do not wrap");
	is_u64(total.io[KD_IO_NETWORK].read.calls, 4, "of all processes");
	free(sample.usages);
}

TEST(counters)
{
	struct counter_row rows[] = {
		{ "cycles", -1, 8000000000, SECOND, SECOND, false },
		{ "instructions", 0, 5000000000, SECOND, SECOND, false },
		{ "instructions", 1023, 2000000000, SECOND, SECOND / 3, true },
	};
	uint64_t value;

	ok(counters_find(rows, 3, "cycles", &value) && value == 8000000000, "of one CPU");
	ok(counters_find(rows, 3, "instructions", &value) && value == 7000000000, "of all CPUs");
}
