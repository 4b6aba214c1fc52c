/* SPDX-License-Identifier: Apache-2.0 */
#include "stage.h"

void worker_note_text(struct worker *worker, const char *key, const char *value)
{
	size_t used = strlen(worker->truths);
	size_t room = sizeof(worker->truths) - used;
	int length = snprintf(worker->truths + used, room, ", \"%s\": %s", key, value);

	if (length < 0 || (size_t)length >= room)
		die("truths too long");
}

void worker_note(struct worker *worker, const char *key, long long value)
{
	char text[32];

	snprintf(text, sizeof(text), "%lld", value);
	worker_note_text(worker, key, text);
}

struct worker *stage_add(struct stage *stage, const char *role, void (*run)(struct worker *))
{
	struct worker *worker = calloc(1, sizeof(*worker));

	if (!worker || stage->count == COUNT(stage->workers))
		die(role);
	worker->role = role;
	worker->run = run;
	worker->stage = stage;
	worker->number = stage->count;
	stage->workers[stage->count++] = worker;
	return worker;
}

static struct worker *cast_one(struct stage *stage, const struct role *role, char *args, bool later)
{
	struct worker *worker = stage_add(stage, role->name, role->run);

	worker->throughout = role->throughout;
	worker->later = later;
	for (size_t i = 0; i < COUNT(worker->args) && args; i++)
		worker->args[i] = number(strsep(&args, ":"));
	return worker;
}

void stage_cast(struct stage *stage, char **texts, const struct role *roles, int most)
{
	for (; *texts; texts++) {
		bool later = **texts == '+';
		char *args = *texts + later, *name = strsep(&args, ":");
		const struct role *role = roles;
		struct worker *first, *second;
		int there[2], back[2];

		while (role->name && strcmp(role->name, name))
			role++;
		if (!role->name || stage->count + role->pair >= most ||
		    (later && !role->throughout))
			die(name);
		first = cast_one(stage, role, args, later);
		if (!role->pair)
			continue;
		/* The first of a pair reads from the lower descriptor. */
		pipe_make(back);
		pipe_make(there);
		second = stage_add(stage, role->name, role->run);
		second->throughout = role->throughout;
		second->later = later;
		memcpy(second->args, first->args, sizeof(first->args));
		first->in = back[0];
		first->out = there[1];
		second->in = there[0];
		second->out = back[1];
	}
}

static void *worker_main(void *arg)
{
	struct worker *worker = arg;
	struct stage *stage = worker->stage;

	worker->tid = gettid();
	prctl(PR_SET_NAME, worker->role);
	pass_bytes(stage->done[1], 1);
	if (!worker->throughout)
		take_bytes(stage->go[0], 1);
	else if (worker->later)
		take_bytes(stage->begin[0], 1);
	worker->run(worker);
	if (!worker->throughout)
		pass_bytes(stage->done[1], 1);
	take_bytes(stage->end[0], 1);
	return NULL;
}

static void stage_mark(const struct stage *stage)
{
	printf("{\"from\": %lld, \"cpu\": {", now_ns());
	for (int i = 0; i < stage->count; i++) {
		clockid_t clock;

		if (pthread_getcpuclockid(stage->workers[i]->thread, &clock))
			die("pthread_getcpuclockid");
		printf("%s\"%d\": %lld", comma(i), stage->workers[i]->tid, clock_ns(clock));
	}
	say("}, \"to\": %lld}", now_ns());
}

/* Lets the workers do their work and prints their truths. */
static void stage_go(const struct stage *stage)
{
	int waiting = 0;

	for (int i = 0; i < stage->count; i++)
		waiting += !stage->workers[i]->throughout;
	pass_bytes(stage->go[1], waiting);
	take_bytes(stage->done[0], waiting);
	printf("{\"pid\": %d, \"threads\": [", getpid());
	for (int i = 0; i < stage->count; i++) {
		const struct worker *worker = stage->workers[i];

		printf("%s{\"tid\": %d, \"role\": \"%s\", \"rests\": %s%s}", comma(i), worker->tid,
		       worker->role, worker->throughout ? "false" : "true", worker->truths);
	}
	say("]}");
}

static void stage_begin(const struct stage *stage)
{
	for (int i = 0; i < stage->count; i++)
		pass_bytes(stage->begin[1], stage->workers[i]->later);
}

static _Noreturn void stage_end(struct stage *stage)
{
	atomic_store(&stage->over, true);
	stage_begin(stage);
	pass_bytes(stage->end[1], stage->count);
	for (int i = 0; i < stage->count; i++)
		pthread_join(stage->workers[i]->thread, NULL);
	exit(0);
}

static void *commands_obey(void *arg)
{
	struct stage *stage = arg;
	char line[64];

	for (;;) {
		read_line(line, sizeof(line));
		if (!strcmp(line, "mark"))
			stage_mark(stage);
		else if (!strcmp(line, "go"))
			stage_go(stage);
		else if (!strcmp(line, "begin"))
			stage_begin(stage);
		else if (!strcmp(line, "log") && stage->log)
			stage->log(stage);
		else if (!strcmp(line, "end") && !stage->log)
			stage_end(stage);
		else if (!strcmp(line, "end"))
			_exit(0);
		else
			unknown(line);
	}
}

_Noreturn int stage_serve(struct stage *stage)
{
	pipe_make(stage->go);
	pipe_make(stage->begin);
	pipe_make(stage->done);
	pipe_make(stage->end);
	for (int i = 0; i < stage->count; i++)
		stage->workers[i]->thread = thread_begin(worker_main, stage->workers[i]);
	take_bytes(stage->done[0], stage->count);
	say_ready();
	if (getenv("LEADER_ENDS")) {
		thread_begin(commands_obey, stage);
		pthread_exit(NULL);
	}
	commands_obey(stage);
	abort();
}
