// SPDX-License-Identifier: Apache-2.0
/* Resources of threads and processes. */
#include "text_resources.h"

#include <stdio.h>
#include <string.h>

#include "cli/base/clock.h"
#include "cli/model/resource.h"
#include "text_parts.h"

/* --- I/O of threads, and resources of processes --- */

#define INDENT TEXT_INDENT
#define NAME_WIDTH TEXT_NAME_WIDTH

/* Bytes or calls per second of the window; a capture file may contain any value. */
static uint64_t rate_of(const struct sample *sample, uint64_t count)
{
	uint64_t ns = sample->end > sample->start ? sample->end - sample->start : 0;
	double rate = ns ? (double)count * (double)NSEC_PER_SEC / (double)ns : 0;

	return rate < (double)UINT64_MAX ? (uint64_t)rate : UINT64_MAX;
}

static void io_line(struct text *text, unsigned int kind, const char *direction,
		    const struct kd_io *moved)
{
	struct columns *columns = &text->columns;

	if (!moved->calls)
		return;
	columns_add(columns, INDENT);
	columns_add(columns, io_titles[kind]);
	columns_add(columns, direction);
	columns_pad(columns, strlen(io_titles[kind]) + strlen(direction), NAME_WIDTH);
	columns_add(columns, "  ");
	text_figures(text, TEXT_FIGURES(TEXT_COUNT(moved->calls, 10), TEXT_NS(moved->bytes, 16),
					TEXT_NS(rate_of(text->sample, moved->bytes), 16),
					TEXT_NS(moved->bytes / moved->calls, 12)));
}

static bool has_io(const struct io_row *io)
{
	for (unsigned int kind = 0; kind < KD_IO_KINDS; kind++)
		if (io[kind].read.calls || io[kind].written.calls)
			return true;
	return false;
}

void text_io(struct text *text, const struct thread_row *thread)
{
	const struct io_row *io = thread_io(thread);

	if (!has_io(io))
		return;
	text_section(text, "[THREAD I/O STATISTICS]",
		     "FOR                        CALLS             BYTES           BYTES/S"
		     "    BYTES/CALL");
	for (unsigned int kind = 0; kind < KD_IO_KINDS; kind++) {
		io_line(text, kind, ": read", &io[kind].read);
		io_line(text, kind, ": write", &io[kind].written);
	}
}

/* Kilobytes as in ps(1); 0 is unknown. */
static void memory_column(struct columns *columns, uint64_t bytes)
{
	columns_add(columns, "  ");
	columns_right(columns, bytes ? GROUPED(bytes / 1024) : "-", 10);
}

/* "4711", or "12x" for several. */
static void usage_whose(struct columns *columns, const struct usage_row *usage, size_t others)
{
	if (others)
		text_times(columns, others, 10);
	else
		columns_count(columns, (uint64_t)usage->pid, 10);
}

static void usage_line(struct text *text, const struct usage_row *usage, size_t others)
{
	const struct sample *sample = text->sample;
	struct columns *columns = &text->columns;

	usage_whose(columns, usage, others);
	columns_add(columns, "  ");
	columns_right(columns, AS_PERCENT(usage->cpu_ns, sample->end - sample->start), 7);
	memory_column(columns, usage->memory.start);
	memory_column(columns, usage->memory.end);
	memory_column(columns, usage->memory.peak);
	columns_gap_ns(columns, rate_of(sample, usage->io[KD_IO_NETWORK].read.bytes), 14);
	columns_gap_ns(columns, rate_of(sample, usage->io[KD_IO_NETWORK].written.bytes), 14);
	columns_gap_ns(columns, rate_of(sample, usage->io[KD_IO_FILE].read.bytes), 14);
	columns_gap_ns(columns, rate_of(sample, usage->io[KD_IO_FILE].written.bytes), 14);
	columns_gap_ns(columns, rate_of(sample, usage->disk_bytes), 14);
	columns_gap_count(columns, usage->resent, 7);
	columns_add(columns, others ? "  all others\n" : "\n");
}

static void begun_line(struct text *text, const struct usage_row *usage, size_t others)
{
	struct columns *columns = &text->columns;

	if (!usage->forks && !usage->execs)
		return;
	usage_whose(columns, usage, others);
	columns_print(columns, "  %s %s begun (fork), ", GROUPED(usage->forks),
		      usage->forks == 1 ? "process was" : "processes were");
	columns_print(columns, "%s %s executed (exec)\n", GROUPED(usage->execs),
		      usage->execs == 1 ? "program was" : "programs were");
}

/* Writes a line for each of the first rows, and one for the rest. */
static void usage_lines(struct text *text, size_t most,
			void (*line)(struct text *text, const struct usage_row *usage,
				     size_t others))
{
	const struct sample *sample = text->sample;
	const size_t n = sample->n_usages, shown = n && n - 1 > most ? most : n;
	struct usage_row rest;

	for (size_t i = 0; i < shown; i++)
		line(text, &sample->usages[i], 0);
	if (shown == n)
		return;
	rest = usages_sum(sample->usages + shown, n - shown);
	line(text, &rest, n - shown);
}

static void resent(struct text *text)
{
	struct columns *columns = &text->columns;

	for (size_t i = 0; i < text->sample->n_resent; i++) {
		const struct resent_row *row = &text->sample->resent[i];

		columns_count(columns, (uint64_t)row->pid, 10);
		columns_print(columns, "  %s TCP %s sent again by fd %d, ", GROUPED(row->count),
			      row->count == 1 ? "segment was" : "segments were", (int)row->is.fd);
		descriptor_write(columns, &row->is);
		columns_add(columns, "\n");
	}
}

void text_usages(struct text *text, size_t most)
{
	struct columns *columns = &text->columns;
	const struct sample *sample = text->sample;

	if (!sample->has_resources)
		return;
	columns_add(columns,
		    "\n# RESOURCES (CPU in percent of one, memory in KiB, others in bytes per "
		    "second, segments sent again):\n"
		    "       PID    CPU %       START         END        PEAK"
		    "      NET READ/S     NET WRITE/S     FILE READ/S    FILE WRITE/S"
		    "          DISK/S   RESENT\n");
	usage_lines(text, most, usage_line);
	usage_lines(text, most, begun_line);
	resent(text);
}

/* --- Counted events --- */

#define EVENT_WIDTH 40 /* fits a name and a CPU, or the title of a ratio */

/* Adds the share of the time it was counted, if below 100 %. */
static void counter_line(struct columns *columns, const struct counter_row *row)
{
	char cpu[24] = "";
	size_t used;

	columns_add(columns, TEXT_INDENT);
	used = columns_foreign(columns, row->name, sizeof(row->name), sizeof(row->name) - 1);
	if (row->cpu >= 0)
		snprintf(cpu, sizeof(cpu), " on %d", (int)row->cpu);
	columns_add(columns, cpu);
	columns_pad(columns, used + strlen(cpu), EVENT_WIDTH);
	columns_gap_ns(columns, row->value, 20);
	if (row->scaled) {
		columns_add(columns, "  ");
		columns_right(columns, AS_PERCENT(row->running_ns, row->enabled_ns), 7);
	}
	columns_add(columns, "\n");
}

static void ratio_line(struct columns *columns, const struct thread_row *thread,
		       const struct counter_ratio *ratio)
{
	uint64_t part, base;
	char text[64];

	if (!counters_find(thread->counters, thread->n_counters, ratio->part, &part) ||
	    !counters_find(thread->counters, thread->n_counters, ratio->base, &base) || !base)
		return;
	snprintf(text, sizeof(text), "%.2f", (double)part * (double)ratio->scale / (double)base);
	columns_add(columns, TEXT_INDENT);
	columns_left(columns, ratio->title, EVENT_WIDTH);
	columns_add(columns, "  ");
	columns_right(columns, text, 20);
	columns_add(columns, "\n");
}

void text_counters(struct text *text, const struct thread_row *thread)
{
	bool any = false;

	for (size_t i = 0; i < thread->n_counters; i++)
		any |= thread->counters[i].value || thread->counters[i].scaled;
	if (!any)
		return;
	text_section(text, "[THREAD COUNTERS]",
		     "EVENT                                                  COUNT  COUNTED %");
	for (size_t i = 0; i < thread->n_counters; i++)
		counter_line(&text->columns, &thread->counters[i]);
	for (size_t i = 0; i < counter_n_ratios; i++)
		ratio_line(&text->columns, thread, &counter_ratios[i]);
}
