// SPDX-License-Identifier: Apache-2.0
#include "return_sites.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/exit_status.h"
#include "cli/base/log.h"
#include "cli/sandbox/helper.h"
#include "probes/elf/cfi.h"
#include "probes/elf/symbols.h"

/* --- Return instructions of a function, and whether they are all of its exits --- */

/* Entries of a table to look at: any table has this many. */
#define TABLE_ENTRIES 3

/* A search, and where instructions begin: a byte for each byte of code. */
struct sweep {
	struct returns *returns;
	const struct function_code *function;
	uint8_t *begins[RETURNS_CHUNKS];
};

/* Returns the chunk with the address, or NULL. */
static const struct code_chunk *chunk_of(const struct function_code *function, uint64_t address)
{
	for (size_t i = 0; i < function->n; i++)
		if (address - function->chunks[i].address < function->chunks[i].size)
			return &function->chunks[i];
	return NULL;
}

static bool failed(struct returns *returns, enum returns_result result, uint64_t at,
		   uint64_t target)
{
	returns->result = result;
	returns->at = at;
	returns->target = target;
	return false;
}

static bool return_add(struct returns *returns, uint64_t address)
{
	if (returns->n == RETURNS_MAX)
		return failed(returns, RETURNS_TOO_MANY, address, 0);
	returns->addresses[returns->n++] = address;
	return true;
}

static bool table_add(struct returns *returns, const struct instruction *instruction)
{
	if (returns->n_tables == RETURNS_TABLES)
		return failed(returns, RETURNS_TOO_MANY, instruction->address, 0);
	returns->tables[returns->n_tables++] = (struct jump_table){
		.at = instruction->address,
		.address = instruction->table,
		.entry_size = instruction->entry_size,
	};
	return true;
}

/* Returns false where the search ends. */
static bool instruction_take(struct sweep *sweep, const struct instruction *instruction)
{
	struct returns *returns = sweep->returns;

	switch (instruction->kind) {
	case INSTRUCTION_PLAIN:
		return true;
	case INSTRUCTION_RETURN:
		return return_add(returns, instruction->address);
	case INSTRUCTION_JUMP:
		if (chunk_of(sweep->function, instruction->target))
			return true;
		return failed(returns, RETURNS_LEAVES, instruction->address, instruction->target);
	case INSTRUCTION_TABLE:
		return table_add(returns, instruction);
	case INSTRUCTION_INDIRECT:
		return failed(returns, RETURNS_INDIRECT, instruction->address, 0);
	case INSTRUCTION_FAR:
		return failed(returns, RETURNS_FAR, instruction->address, 0);
	}
	return false;
}

static bool chunk_sweep(struct sweep *sweep, struct instructions *instructions, size_t i)
{
	const struct code_chunk *chunk = &sweep->function->chunks[i];
	struct instruction instruction;
	int got;

	instructions_begin(instructions, chunk->code, chunk->size, chunk->address);
	while ((got = instructions_next(instructions, &instruction)) > 0) {
		sweep->begins[i][instruction.address - chunk->address] = 1;
		if (!instruction_take(sweep, &instruction))
			return false;
	}
	return !got || failed(sweep->returns, RETURNS_UNKNOWN, instruction.address, 0);
}

/* A jump into the middle of an instruction would reach one that was not decoded. Only a lock
 * prefix may be skipped, as the C library does with a single thread. */
static bool begins_there(const struct sweep *sweep, uint64_t target)
{
	const struct code_chunk *chunk = chunk_of(sweep->function, target);
	uint64_t offset = target - chunk->address;

	if (sweep->begins[chunk - sweep->function->chunks][offset])
		return true;
#if defined(__x86_64__)
	return offset && chunk->code[offset - 1] == 0xf0;
#else
	return false;
#endif
}

static bool chunk_check_jumps(struct sweep *sweep, struct instructions *instructions, size_t i)
{
	const struct code_chunk *chunk = &sweep->function->chunks[i];
	struct instruction instruction;

	instructions_begin(instructions, chunk->code, chunk->size, chunk->address);
	while (instructions_next(instructions, &instruction) > 0)
		if (instruction.kind == INSTRUCTION_JUMP &&
		    !begins_there(sweep, instruction.target))
			return failed(sweep->returns, RETURNS_UNKNOWN, instruction.address,
				      instruction.target);
	return true;
}

static void function_sweep(struct sweep *sweep, struct instructions *instructions)
{
	const struct function_code *function = sweep->function;

	for (size_t i = 0; i < function->n; i++)
		if (!chunk_sweep(sweep, instructions, i))
			return;
	for (size_t i = 0; i < function->n; i++)
		if (!chunk_check_jumps(sweep, instructions, i))
			return;
	if (!sweep->returns->n)
		failed(sweep->returns, RETURNS_NONE, 0, 0);
}

void returns_search(struct returns *returns, const struct function_code *function)
{
	struct sweep sweep = { .returns = returns, .function = function };
	struct instructions *instructions;
	bool memory = true;

	*returns = (struct returns){ .result = RETURNS_FOUND };
	if (instructions_open(&instructions, function->is_64)) {
		returns->result = RETURNS_FAILED;
		return;
	}
	for (size_t i = 0; i < function->n; i++) {
		sweep.begins[i] = calloc(function->chunks[i].size + 1, 1);
		memory = memory && sweep.begins[i];
	}
	if (memory)
		function_sweep(&sweep, instructions);
	else
		returns->result = RETURNS_FAILED;
	for (size_t i = 0; i < function->n; i++)
		free(sweep.begins[i]);
	instructions_close(instructions);
}

/* Reads where entry i of a table leads. Returns false if there is no such entry. */
static bool entry_read(const struct elf_file *file, const struct jump_table *table, unsigned int i,
		       uint64_t *target)
{
	uint64_t offset, address = table->address + i * table->entry_size;
	int32_t distance;

	if (!elf_file_offset(file, address, 0, &offset))
		return false;
	if (table->entry_size == 8)
		return !elf_file_read(file, offset, target, sizeof(*target));
	if (elf_file_read(file, offset, &distance, sizeof(distance)))
		return false;
	*target = table->address + (uint64_t)(int64_t)distance;
	return true;
}

static bool table_is_inside(const struct elf_file *file, const struct jump_table *table,
			    const struct function_code *function)
{
	uint64_t target;

	if (!table->entry_size)
		return chunk_of(function, table->address);
	for (unsigned int i = 0; i < TABLE_ENTRIES; i++)
		if (!entry_read(file, table, i, &target) || !chunk_of(function, target))
			return false;
	return table->entry_size == 4 || table->entry_size == 8;
}

void returns_confirm(struct returns *returns, const struct function_code *function,
		     const struct elf_file *file)
{
	if (returns->result >= RETURNS_RESULTS || returns->n > RETURNS_MAX ||
	    returns->n_tables > RETURNS_TABLES)
		returns->result = RETURNS_FAILED;
	if (returns->result != RETURNS_FOUND)
		return;
	for (uint32_t i = 0; i < returns->n; i++)
		if (!chunk_of(function, returns->addresses[i]))
			returns->result = RETURNS_FAILED;
	for (uint32_t i = 0; i < returns->n_tables; i++)
		if (!table_is_inside(file, &returns->tables[i], function)) {
			failed(returns, RETURNS_INDIRECT, returns->tables[i].at, 0);
			return;
		}
}

/* --- Where return probes kill --- */

bool file_is_go(const struct elf_file *file)
{
	static const char *const sections[] = { ".note.go.buildid", ".gopclntab",
						".data.rel.ro.gopclntab" };
	uint64_t address;

	for (size_t i = 0; i < sizeof(sections) / sizeof(*sections); i++)
		if (elf_file_section_address(file, sections[i], &address))
			return true;
	return false;
}

/* Signs in the names of a file. */
struct signs {
	bool throws;
	bool c; /* the C library, or C with cleanups */
};

static int sign_take(void *context, const struct symbol *symbol)
{
	/* From C++, Rust, Ada, D and Objective-C. */
	static const char *const throwers[] = { "__gxx_personality_v0",  "__cxa_throw",
						"__cxa_begin_catch",     "rust_eh_personality",
						"__gnat_personality_v0", "__gdc_personality_v0",
						"_d_eh_personality",     "__objc_personality_v0" };
	struct signs *signs = context;
	const char *name = symbol->name;

	for (size_t i = 0; i < sizeof(throwers) / sizeof(*throwers); i++)
		signs->throws |= !strcmp(name, throwers[i]);
	/* Unwinders define _Unwind_RaiseException; code that throws imports it. */
	signs->throws |= symbol->undefined && !strcmp(name, "_Unwind_RaiseException");
	signs->c |= !strcmp(name, "__gcc_personality_v0") ||
		    (!symbol->undefined && !strcmp(name, "__libc_start_main"));
	return signs->throws;
}

bool file_has_exceptions(const struct elf_file *file)
{
	struct signs signs = { .throws = false };
	bool has_names = elf_file_section(file, NULL, SHT_SYMTAB, NULL);
	uint64_t address;

	symbols_each_name(file, SHT_DYNSYM, sign_take, &signs);
	if (signs.throws)
		return true;
	/* Files without sections may throw; with all linked in they have no dynamic symbols. */
	if (!elf_file_section_address(file, ".gcc_except_table", &address))
		return !elf_file_section_address(file, ".text", &address);
	if (has_names)
		symbols_each_name(file, SHT_SYMTAB, sign_take, &signs);
	return signs.throws || (!has_names && !signs.c);
}

static bool object_has_exceptions(const struct objects *objects, const struct object *object)
{
	int fd = objects_open(objects, object);
	struct elf_file *file;
	bool has = false;

	if (fd < 0)
		return false;
	if (!elf_file_open(&file, fd)) {
		has = file_has_exceptions(file);
		elf_file_close(file);
	}
	helper_try_close(fd);
	close(fd);
	return has;
}

/* A shared object may call back into code that throws. Exceptions through the program itself
 * have no catcher further up. */
static bool exceptions_pass(const struct objects *objects, const struct object *object,
			    const struct elf_file *file)
{
	if (file_has_exceptions(file))
		return true;
	for (size_t i = 0; !object->executable && i < objects_count(objects); i++)
		if (objects_get(objects, i) != object &&
		    object_has_exceptions(objects, objects_get(objects, i)))
			return true;
	return false;
}

const char *return_danger(const struct objects *objects, const struct object *object,
			  const struct elf_file *file)
{
	if (file_is_go(file))
		return "Go moves its stacks";
	if (exceptions_pass(objects, object, file))
		return "an exception may leave the function";
	return NULL;
}

/* --- Where functions return, for sites without return probes --- */

#define COLD ".cold" /* suffix of gcc and clang for rarely run code */

/* Total code of all functions. */
#define MOST_CODE (64UL << 20)

/* A function to look through. */
struct job {
	const struct function *function;
	char *name; /* NULL: unknown */
	uint64_t size;
	struct function_code code; /* owned */
	struct returns found;
};

struct jobs {
	const struct return_search *search;
	struct cfi *cfi; /* NULL: there is none */
	struct job *all;
	size_t n;
	uint64_t bytes;
};

static const char *job_name(const struct job *job)
{
	return job->name ? job->name : "the function";
}

/* Refuses a return for which neither a return probe nor return instructions will do. */
static exit_status job_refuse(const struct jobs *jobs, const struct job *job, const char *why)
{
	log_error("%s: a return probe may kill the process (%s), and the return instructions of "
		  "%s cannot take its place: %s",
		  jobs->search->trigger, jobs->search->danger, job_name(job), why);
	log_hint("choose another function, or an instruction in it (up:FUNCTION+OFFSET), or risk a "
		 "return probe, with ,unsafe-returns behind the trigger");
	return EX_CONFIG;
}

/* --- Code of the functions --- */

/* Takes the name and size of a function that lacks them from its symbol. */
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

static exit_status chunk_add(struct jobs *jobs, struct job *job, uint64_t address, uint64_t size)
{
	struct code_chunk *chunk = &job->code.chunks[job->code.n];
	uint64_t offset;
	uint8_t *bytes;

	if (job->code.n == RETURNS_CHUNKS)
		return 0;
	if (!size || size > RETURNS_CODE_MAX || jobs->bytes + size > MOST_CODE)
		return job_refuse(jobs, job, size ? "it is too large" : "its size is not known");
	bytes = malloc(size);
	if (!bytes)
		return log_no_memory();
	*chunk = (struct code_chunk){ .address = address, .code = bytes, .size = size };
	job->code.n++;
	jobs->bytes += size;
	if (!elf_file_offset(jobs->search->file, address, PF_X, &offset) ||
	    elf_file_read(jobs->search->file, offset, bytes, size))
		return job_refuse(jobs, job, "its code cannot be read");
	return 0;
}

/* Finds rarely run code by its name. */
static exit_status cold_take(void *context, const struct symbol *symbol)
{
	struct jobs *jobs = context;
	const char *suffix = strstr(symbol->name, COLD);
	size_t length = suffix ? (size_t)(suffix - symbol->name) : 0;
	int status = 0;

	for (size_t i = 0; suffix && i < jobs->n && !status; i++) {
		const char *name = jobs->all[i].name;

		if (name && strlen(name) == length && !memcmp(name, symbol->name, length))
			status = chunk_add(jobs, &jobs->all[i], symbol->address, symbol->size);
	}
	return status;
}

static exit_status jobs_read(struct jobs *jobs)
{
	const struct return_search *search = jobs->search;
	bool complete = true;
	int status = 0;

	for (size_t i = 0; i < jobs->n; i++) {
		const struct function *function = &search->functions->all[i];
		struct job *job = &jobs->all[i];

		job->function = function;
		job->size = function->size;
		job->code.is_64 = elf_file_is_64(search->file);
		if (*function->name && !(job->name = strdup(function->name)))
			return log_no_memory();
		complete = complete && *function->name && function->size;
	}
	if (!complete)
		symbols_each(search->file, search->pid, search->path, symbol_take, jobs);
	for (size_t i = 0; i < jobs->n && !status; i++) {
		struct job *job = &jobs->all[i];
		struct cfi_fde fde;

		if (!job->size && cfi_has(jobs, job->function->address, &fde) &&
		    fde.start == job->function->address)
			job->size = fde.end - fde.start;
		status = chunk_add(jobs, job, job->function->address, job->size);
	}
	if (!status) /* an error means that there are no more names */
		status = symbols_each(search->file, search->pid, search->path, cold_take, jobs);
	return status > 0 ? status : 0;
}

/* --- What was found --- */

/* Name of the symbol at an address; "": unknown. */
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

/* A stripped file does not name a function's rarely run code. */
static exit_status chunks_complete(struct jobs *jobs, bool *again)
{
	int status = 0;

	*again = false;
	for (size_t i = 0; i < jobs->n && !status; i++) {
		struct job *job = &jobs->all[i];
		struct cfi_fde fde;

		if (job->found.result != RETURNS_LEAVES || job->code.n == RETURNS_CHUNKS ||
		    !cfi_has(jobs, job->found.target, &fde) || !fde.begins_inside)
			continue;
		status = chunk_add(jobs, job, fde.start, fde.end - fde.start);
		*again = true;
	}
	return status;
}

static exit_status job_fail(const struct jobs *jobs, const struct job *job)
{
	const struct returns *found = &job->found;
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
			 "another function, or risk a return probe, with "
			 ",unsafe-returns behind the trigger");
		return EX_OSERR;
	}
	for (size_t i = 0; i < jobs->n; i++)
		returns_search(&jobs->all[i].found, &jobs->all[i].code);
	return 0;
}

static int job_give(const struct job *job, return_site_found *found, void *context)
{
	int status = 0;

	for (uint32_t i = 0; i < job->found.n && !status; i++) {
		uint64_t address = job->found.addresses[i];

		status = found(context, job->function, address,
			       (int64_t)(address - job->function->address));
	}
	return status;
}

static exit_status jobs_do(struct jobs *jobs, return_site_found *found, void *context)
{
	bool again = false;
	int status = jobs_read(jobs) ?: jobs_search(jobs) ?: chunks_complete(jobs, &again);

	if (!status && again)
		status = jobs_search(jobs);
	for (size_t i = 0; i < jobs->n && !status; i++) {
		struct job *job = &jobs->all[i];

		returns_confirm(&job->found, &job->code, jobs->search->file);
		status = job->found.result == RETURNS_FOUND ? job_give(job, found, context)
							    : job_fail(jobs, job);
	}
	return status;
}

exit_status return_sites_find(const struct return_search *search, return_site_found *found,
			      void *context)
{
	struct jobs jobs = { .search = search, .n = search->functions->n };
	int status;

	jobs.all = calloc(jobs.n, sizeof(*jobs.all));
	if (!jobs.all)
		return log_no_memory();
	if (cfi_open(&jobs.cfi, search->file))
		jobs.cfi = NULL;
	status = jobs_do(&jobs, found, context);
	for (size_t i = 0; i < jobs.n; i++) {
		for (size_t chunk = 0; chunk < jobs.all[i].code.n; chunk++)
			free((void *)jobs.all[i].code.chunks[chunk].code);
		free(jobs.all[i].name);
	}
	cfi_close(jobs.cfi);
	free(jobs.all);
	return status;
}
