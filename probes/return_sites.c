// SPDX-License-Identifier: Apache-2.0
#include "return_sites.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/exit_status.h"
#include "cli/base/log.h"
#include "probes/elf/cfi.h"
#include "probes/elf/symbols.h"
#include "instructions.h"
#include "returns.h"

#define COLD ".cold" /* what gcc and clang add to a function's name for what is run rarely */

/* All functions' code together. */
#define MOST_CODE (64UL << 20)

/* A function that is looked through. */
struct job {
	const struct function *function;
	char *name; /* NULL: unknown */
	uint64_t size;
	uint8_t *bytes[RETURNS_PARTS];
};

struct jobs {
	const struct return_search *search;
	struct cfi *cfi; /* NULL: there is none */
	struct job *all;
	struct function_code *codes; /* of each */
	struct returns *found;       /* in each */
	size_t n;
	uint64_t bytes;
};

static const char *job_name(const struct job *job)
{
	return job->name ? job->name : "the function";
}

/* Both ways are barred. */
static exit_status job_refuse(const struct jobs *jobs, const struct job *job, const char *why)
{
	log_error("%s: a return probe may kill the process (%s), and the return instructions of "
		  "%s cannot take its place: %s",
		  jobs->search->trigger, jobs->search->danger, job_name(job), why);
	log_hint("choose another function, or an instruction in it (up:FUNCTION+OFFSET), or risk a "
		 "return "
		 "probe with --unsafe-returns");
	return EX_CONFIG;
}

/* --- What the functions consist of --- */

/* What the symbol of a function without name or size says. */
static int symbol_take(void *context, const struct symbol *symbol)
{
	struct jobs *jobs = context;

	for (size_t i = 0; i < jobs->n; i++) {
		struct job *job = &jobs->all[i];

		if (job->function->address != symbol->address)
			continue;
		if (!job->size)
			job->size = symbol->size;
		if (!job->name)
			job->name = strdup(symbol->name);
	}
	return 0;
}

static bool cfi_has(const struct jobs *jobs, uint64_t address, struct cfi_fde *fde)
{
	return jobs->cfi && !cfi_find(jobs->cfi, address, fde);
}

static exit_status part_add(struct jobs *jobs, size_t i, uint64_t address, uint64_t size)
{
	struct function_code *code = &jobs->codes[i];
	struct job *job = &jobs->all[i];
	uint8_t *bytes;
	uint64_t offset;

	if (code->n == RETURNS_PARTS)
		return 0;
	if (!size || size > RETURNS_CODE_MAX || jobs->bytes + size > MOST_CODE)
		return job_refuse(jobs, job, size ? "it is too large" : "its size is not known");
	bytes = malloc(size);
	if (!bytes)
		return log_no_memory();
	job->bytes[code->n] = bytes;
	if (!elf_file_offset(jobs->search->file, address, PF_X, &offset) ||
	    elf_file_read(jobs->search->file, offset, bytes, size))
		return job_refuse(jobs, job, "its code cannot be read");
	code->parts[code->n++] =
		(struct code_part){ .address = address, .code = bytes, .size = size };
	jobs->bytes += size;
	return 0;
}

/* A part that is run rarely, by its name. */
struct cold_search {
	struct jobs *jobs;
	int status;
};

static exit_status cold_take(void *context, const struct symbol *symbol)
{
	struct cold_search *cold = context;
	const char *suffix = strstr(symbol->name, COLD);
	size_t length = suffix ? (size_t)(suffix - symbol->name) : 0;

	for (size_t i = 0; suffix && i < cold->jobs->n && !cold->status; i++) {
		const char *name = cold->jobs->all[i].name;

		if (name && strlen(name) == length && !memcmp(name, symbol->name, length))
			cold->status = part_add(cold->jobs, i, symbol->address, symbol->size);
	}
	return cold->status;
}

static exit_status jobs_read(struct jobs *jobs)
{
	const struct return_search *search = jobs->search;
	struct cold_search cold = { .jobs = jobs };
	bool whole = true;

	for (size_t i = 0; i < jobs->n; i++) {
		const struct function *function = &search->functions->all[i];

		jobs->all[i].function = function;
		jobs->all[i].size = function->size;
		jobs->codes[i].is_64 = elf_file_is_64(search->file);
		if (*function->name && !(jobs->all[i].name = strdup(function->name)))
			return log_no_memory();
		whole = whole && *function->name && function->size;
	}
	if (!whole)
		symbols_each(search->file, search->pid, search->path, symbol_take, jobs);
	for (size_t i = 0; i < jobs->n && !cold.status; i++) {
		struct job *job = &jobs->all[i];
		struct cfi_fde fde;

		if (!job->size && cfi_has(jobs, job->function->address, &fde) &&
		    fde.start == job->function->address)
			job->size = fde.end - fde.start;
		cold.status = part_add(jobs, i, job->function->address, job->size);
	}
	if (!cold.status)
		symbols_each(search->file, search->pid, search->path, cold_take, &cold);
	return cold.status;
}

/* --- What was found --- */

/* The name of what has an address; "": unknown. */
struct name_search {
	uint64_t address;
	char name[256];
};

static int name_take(void *context, const struct symbol *symbol)
{
	struct name_search *search = context;

	if (search->address != symbol->address && search->address - symbol->address >= symbol->size)
		return 0;
	snprintf(search->name, sizeof(search->name), "%s", symbol->name);
	return 1;
}

/* A stripped file does not name the part of a function that is run rarely. */
static exit_status parts_complete(struct jobs *jobs, bool *again)
{
	int status = 0;

	*again = false;
	for (size_t i = 0; i < jobs->n && !status; i++) {
		const struct returns *found = &jobs->found[i];
		struct cfi_fde fde;

		if (found->result != RETURNS_LEAVES || jobs->codes[i].n == RETURNS_PARTS ||
		    !cfi_has(jobs, found->target, &fde) || !fde.part)
			continue;
		status = part_add(jobs, i, fde.start, fde.end - fde.start);
		*again = true;
	}
	return status;
}

static exit_status job_fail(const struct jobs *jobs, size_t i)
{
	const struct returns *found = &jobs->found[i];
	const struct job *job = &jobs->all[i];
	uint64_t at = found->at - job->function->address;
	struct name_search target = { .address = found->target };
	char why[512];

	switch (found->result) {
	case RETURNS_NONE:
		return job_refuse(jobs, job, "it has none");
	case RETURNS_LEAVES:
		symbols_each(jobs->search->file, jobs->search->pid, jobs->search->path, name_take,
			     &target);
		snprintf(why, sizeof(why), "at +0x%lx it jumps to %s (0x%lx), which returns for it",
			 at, *target.name ? target.name : "other code", found->target);
		return job_refuse(jobs, job, why);
	case RETURNS_INDIRECT:
		snprintf(why, sizeof(why),
			 "at +0x%lx it jumps to an address that is known only when it runs", at);
		return job_refuse(jobs, job, why);
	case RETURNS_FAR:
	case RETURNS_UNKNOWN:
		snprintf(why, sizeof(why), "at +0x%lx is an instruction that cannot be decoded",
			 at);
		return job_refuse(jobs, job, why);
	case RETURNS_TOO_MANY:
		return job_refuse(jobs, job, "there are too many of them");
	default:
		return job_refuse(jobs, job, "its code could not be searched");
	}
}

static exit_status jobs_search(struct jobs *jobs)
{
	if (!jobs->search->decoder) {
		log_error("%s: return instructions cannot be found without %s",
			  jobs->search->trigger, INSTRUCTIONS_LIBRARY);
		log_hint("install it (package libcapstone4, libcapstone5 or capstone), choose "
			 "another function, or risk a return probe with --unsafe-returns");
		return EX_OSERR;
	}
	for (size_t i = 0; i < jobs->n; i++)
		returns_search(&jobs->found[i], &jobs->codes[i]);
	return 0;
}

static int job_give(const struct jobs *jobs, size_t i, return_site_found *found, void *context)
{
	const struct returns *returns = &jobs->found[i];
	const struct function *function = jobs->all[i].function;
	int status = 0;

	for (uint32_t site = 0; site < returns->n && !status; site++)
		status = found(context, function, returns->addresses[site],
			       (int64_t)(returns->addresses[site] - function->address));
	return status;
}

static exit_status jobs_do(struct jobs *jobs, return_site_found *found, void *context)
{
	bool again = false;
	int status = jobs_read(jobs);

	if (!status)
		status = jobs_search(jobs);
	if (!status)
		status = parts_complete(jobs, &again);
	if (!status && again)
		status = jobs_search(jobs);
	for (size_t i = 0; i < jobs->n && !status; i++) {
		returns_confirm(&jobs->found[i], &jobs->codes[i], jobs->search->file);
		status = jobs->found[i].result == RETURNS_FOUND ? job_give(jobs, i, found, context)
								: job_fail(jobs, i);
	}
	return status;
}

exit_status return_sites_find(const struct return_search *search, return_site_found *found,
			      void *context)
{
	struct jobs jobs = { .search = search, .n = search->functions->n };
	int status;

	jobs.all = calloc(jobs.n, sizeof(*jobs.all));
	jobs.codes = calloc(jobs.n, sizeof(*jobs.codes));
	jobs.found = calloc(jobs.n, sizeof(*jobs.found));
	if (cfi_open(&jobs.cfi, search->file))
		jobs.cfi = NULL;
	status = jobs.all && jobs.codes && jobs.found ? jobs_do(&jobs, found, context)
						      : log_no_memory();
	for (size_t i = 0; jobs.all && i < jobs.n; i++) {
		for (size_t part = 0; part < RETURNS_PARTS; part++)
			free(jobs.all[i].bytes[part]);
		free(jobs.all[i].name);
	}
	free(jobs.found);
	cfi_close(jobs.cfi);
	free(jobs.codes);
	free(jobs.all);
	return status;
}
