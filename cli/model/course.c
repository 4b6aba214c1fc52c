// SPDX-License-Identifier: Apache-2.0
#include "course.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/array.h"
#include "cli/base/clock.h"

struct course *course_new(void)
{
	struct course *course = calloc(1, sizeof(*course));

	if (!course)
		return NULL;
	if (!measures_find(&course->measures))
		course->row = calloc(course->measures.n, sizeof(*course->row));
	if (course->row)
		return course;
	course_free(course);
	return NULL;
}

void course_free(struct course *course)
{
	if (!course)
		return;
	for (size_t i = 0; i < course->n; i++)
		free(course->subjects[i].values);
	free(course->subjects);
	free(course->row);
	measures_clear(&course->measures);
	free(course);
}

static bool is_same(const struct course_subject *a, const struct course_subject *b)
{
	return a->is_cause == b->is_cause && (!a->is_cause || a->cause == b->cause) &&
	       !strncmp(a->name, b->name, COURSE_NAME);
}

const struct course_subject *course_find(const struct course *course,
					 const struct course_subject *like)
{
	for (size_t i = 0; i < course->n; i++)
		if (is_same(&course->subjects[i], like))
			return &course->subjects[i];
	return NULL;
}

static size_t width_of(const struct course *course, const struct course_subject *subject)
{
	return subject->is_cause ? 1 : course->measures.n;
}

/* The values of the present sample, zeros at first. NULL: no memory. */
static double *subject_row(const struct course *course, struct course_subject *subject)
{
	size_t width = width_of(course, subject), had = subject->rows * width;
	size_t needed = course->samples * width;

	if (array_reserve(&subject->values, needed, &subject->room, sizeof(*subject->values)))
		return NULL;
	memset(subject->values + had, 0, (needed - had) * sizeof(*subject->values));
	subject->rows = course->samples;
	return subject->values + needed - width;
}

/* Finds a subject or makes it. NULL: there is no room, which is counted, or no memory. */
static struct course_subject *subject_take(struct course *course, const struct course_subject *like,
					   int *error)
{
	const struct course_subject *found = course_find(course, like);

	if (found)
		return &course->subjects[found - course->subjects];
	if (course->n == COURSE_SUBJECTS) {
		course->left_out++;
		return NULL;
	}
	*error = ARRAY_GROW(course->subjects, course->n, course->room);
	if (*error)
		return NULL;
	course->subjects[course->n] = *like;
	return &course->subjects[course->n++];
}

static int thread_add(struct course *course, const struct verdict_thread *thread)
{
	struct course_subject like = { .is_cause = false };
	struct course_subject *subject;
	int error = 0;
	double *row;

	memcpy(like.name, thread->row->name, sizeof(thread->row->name));
	subject = subject_take(course, &like, &error);
	if (!subject)
		return error;
	row = subject_row(course, subject);
	if (!row)
		return -ENOMEM;
	measures_read(&course->measures, thread, course->row);
	measures_merge(&course->measures, row, course->row);
	return 0;
}

static int cause_add(struct course *course, const struct verdict_row *cause, double seconds)
{
	struct course_subject like = { .is_cause = true, .cause = cause->cause };
	struct course_subject *subject;
	int error = 0;
	double *row;

	memcpy(like.name, cause->who.comm, sizeof(like.name));
	subject = subject_take(course, &like, &error);
	if (!subject)
		return error;
	row = subject_row(course, subject);
	if (!row)
		return -ENOMEM;
	*row += (double)cause->ns / seconds;
	return 0;
}

/* Sums become rates when all rows of a name are added up. */
static void rates_set(struct course *course, double seconds)
{
	for (size_t i = 0; i < course->n; i++) {
		struct course_subject *subject = &course->subjects[i];
		double *row = subject->values + (course->samples - 1) * course->measures.n;

		if (subject->is_cause || subject->rows < course->samples)
			continue;
		for (size_t j = 0; j < course->measures.n; j++)
			if (course->measures.all[j].merge == MERGE_SUM)
				row[j] /= seconds;
	}
}

static void facts_add(struct course *course, const struct sample *sample)
{
	uint64_t took = sample->end > sample->start ? sample->end - sample->start : 0;

	if (!sample->target_exited && took && (!course->sample_time || took < course->sample_time))
		course->sample_time = took;
	course->with_resources += sample->resources_known;
	if (!course->with_interruptions)
		course->interruptions_from = sample->interruptions_from;
	course->with_interruptions += sample->interruptions_known &&
				      sample->interruptions_from == course->interruptions_from;
}

uint64_t course_sample_time(const struct course *course)
{
	return course->sample_time;
}

bool course_is_held(const struct course *course, const struct course *other, const char *key)
{
	if (!strncmp(key, "io", 2) || /* "io.network.read_bytes", "io_uring_calls" */
	    !strcmp(key, "forks") || !strcmp(key, "execs"))
		return course->with_resources == course->samples &&
		       other->with_resources == other->samples;
	if (!strncmp(key, "interruptions.", 14) || !strncmp(key, "late_ticks.", 11))
		return course->with_interruptions == course->samples &&
		       other->with_interruptions == other->samples &&
		       course->interruptions_from == other->interruptions_from;
	return true;
}

int course_add(struct course *course, const struct sample *sample)
{
	double seconds = (double)(sample->end > sample->start ? sample->end - sample->start : 1) /
			 (double)NSEC_PER_SEC;
	struct verdict verdict = { 0 };
	int error;

	if (sample_is_triggered(sample) || sample->interrupted || sample->expired ||
	    sample->overloaded || sample->pressed) {
		course->unusable++;
		return 0;
	}
	if (course->samples == COURSE_SAMPLES) {
		course->left_out++;
		return 0;
	}
	course->samples++;
	facts_add(course, sample);
	error = verdict_find(&verdict, sample);
	for (size_t i = 0; i < verdict.n_threads && !error; i++)
		error = thread_add(course, &verdict.threads[i]);
	for (size_t i = 0; i < verdict.n_rows && !error; i++)
		error = cause_add(course, &verdict.rows[i], seconds);
	if (!error)
		rates_set(course, seconds);
	verdict_clear(&verdict);
	return error;
}

void course_series(const struct course *course, const struct course_subject *subject,
		   size_t measure, double *values)
{
	size_t width = subject ? width_of(course, subject) : 0;

	for (size_t i = 0; i < course->samples; i++)
		values[i] = subject && i < subject->rows ? subject->values[i * width + measure] : 0;
}
