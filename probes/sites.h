/* SPDX-License-Identifier: Apache-2.0 */
/* Sites of a trigger, their files, and how they are found. */
#ifndef SITES_H
#define SITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/base/exit_status.h"
#include "trigger.h"

/* --- How kernels run an instruction under a probe --- */

enum instruction_class {
	CLASS_BRANCH,   /* a jump or call to a fixed address; arm64: all, and adr */
	CLASS_PUSH,     /* saves a register */
	CLASS_PUSH_REX, /* saves one of r8 to r15 */
	CLASS_NOP,      /* the shortest nop */
	CLASS_NOP5,     /* a nop that the kernel may turn into a call (Linux 6.18) */
	CLASS_NOP_LONG,
	CLASS_ENDBR, /* marks a target of indirect jumps */
	CLASS_OTHER, /* what no kernel emulates */
	INSTRUCTION_CLASSES,
};

/* --- Sites --- */

struct conditions;
struct elf_file;
struct object;
struct objects;
struct packet;
struct signals;
struct sites;

/* Identifies a file, whatever path leads there: probes belong to the file. In containers that
 * share files, a file has a device per container, and one of its own. */
struct file_id {
	uint64_t device; /* 0: one of such a container */
	uint64_t inode;
	int64_t changed; /* change time, ns; 0: the device is known */
};

bool file_id_is(const struct file_id *a, const struct file_id *b);

/* A site to attach to. Strings and the file belong to the sites. */
struct site {
	int fd;              /* user space: the object's file, open for reading; kernel: -1 */
	struct file_id file; /* identity of that file */
	const char *object;  /* user space: its path as the target has it mapped; else NULL */
	const char *group;   /* USDT: the provider; tracepoint: the system; else NULL */
	const char *name;    /* of the function, probe or event; "" if only the address is known */
	uint64_t offset;     /* into the file, or into the kernel's function */
	bool on_return;      /* by a return probe at the function's first instruction */
	/* For a return instruction: why a return probe might be deadly, and its bytes from the
	 * function's first. Else NULL. */
	const char *danger;
	int64_t into;
	bool go;               /* Go code, which moves between threads */
	uint64_t semaphore;    /* USDT: offset of the semaphore in the file; 0: none */
	const char *arguments; /* USDT: places of the arguments (elf/usdt.h); else NULL */
	uint32_t condition;    /* its number, which is the cookie; set by the caller */
	enum instruction_class instruction; /* user space: class of the probed instruction */
};

/* An object's file, open for all its sites. */
struct binary {
	int fd;
	struct file_id file;
	struct elf_file *elf; /* NULL: no longer needed */
	char *path;
};

struct sites {
	struct site *all;
	size_t n;
	struct binary *binaries;
	size_t n_binaries;
	bool left_out; /* they cannot be probed: no attachment includes them from now on */
};

/* Drops sites that others contain too, which would be hit twice. */
void sites_subtract(struct sites *sites, const struct sites *others);

/* NULL is allowed. */
void sites_free(struct sites *sites);

#define TRIGGER_SETS 64 /* most sets of sites per trigger: per call, or per program */

/* A trigger and all its sites. */
struct trigger_sites {
	struct trigger trigger;
	struct sites *sets[TRIGGER_SETS];
	size_t n_sets;                 /* 0: no such trigger */
	struct conditions *conditions; /* NULL: all hits count */
};

/* --- Finding them --- */

/* Finds all sites that a trigger names in the process or the kernel. Returns 0. Otherwise prints
 * what is wrong with the names that come close, or the choices of an ambiguous name. Then
 * returns EX_CONFIG for a trigger that names nothing, else another exit status. A child process
 * (reader.h) reads the target's files; this one waits as signals_wait() does. The caller frees
 * *sites. */
exit_status sites_find(struct sites **sites, const struct trigger *trigger, pid_t pid,
		       struct signals *signals);

/* --- While sites are being found --- */

/* Adds a copy of the site, with its strings, if it is new. Returns 0, or an exit status after
 * printing what is wrong. */
exit_status sites_add(struct sites *sites, const struct trigger *trigger, const struct site *site);

/* Prints that a trigger has too many sites. Returns the exit status. */
exit_status sites_refuse_more(const struct trigger *trigger);

/* Opens an object; the sites own the result. Returns 0 or a -errno. */
int binary_open(struct binary **binary, struct sites *sites, const struct objects *objects,
		const struct object *object);

/* Closes the last opened binary, which has no sites. */
void binary_close(struct sites *sites);

/* --- From the process that finds them (reader.h) to the one that attaches --- */

/* Sends all sites and their files. Returns 0, or an exit status after printing what failed. */
exit_status sites_send(const struct sites *sites, const struct trigger *trigger, int socket);

/* Takes a packet of sites_send() with its file, and adds its content. Returns 0, or an exit
 * status after printing what is wrong. */
exit_status sites_receive(struct sites *sites, const struct trigger *trigger,
			  struct packet *packet);

#endif
