/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "options_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/array.h"
#include "cli/base/log.h"

#define BLANKS " \t\r\n"

struct option_file {
	const char *path;
	size_t line; /* the current one, from 1 */
	struct option_texts *texts;
	options_found *found;
	void *context;
};

static bool is_blank(char c)
{
	return c && strchr(BLANKS, c);
}

/* The line without blanks around it and without a comment, which begins with the line or after a
 * blank. */
static char *line_trim(char *line)
{
	size_t length = 0;

	line += strspn(line, BLANKS);
	for (char *at = line; *at && !(*at == '#' && (at == line || is_blank(at[-1]))); at++)
		if (!is_blank(*at))
			length = (size_t)(at - line) + 1;
	line[length] = '\0';
	return line;
}

/* An option and its value as one word; NULL without memory. */
static char *word_new(const char *line)
{
	size_t name = strcspn(line, BLANKS "=");
	char *word;

	if (*line != '-' || !is_blank(line[name]))
		return strdup(line);
	if (asprintf(&word, "%.*s%s%s", (int)name, line, line[1] == '-' ? "=" : "",
		     line + name + strspn(line + name, BLANKS)) < 0)
		return NULL;
	return word;
}

static exit_status word_walk(struct option_file *file, char *word)
{
	char *argv[] = { (char[]){ PROGRAM }, word, NULL }, **command;
	int at, status;

	if (!strncmp(word, "--", 2) && (!word[2] || word[2] == '=')) {
		log_error("an options file cannot hold a command");
		log_hint("give it on the command line, after --");
		return EX_USAGE;
	}
	status = options_walk(2, argv, file->found, file->context, &at, &command);
	if (status == -EINVAL)
		return options_refuse_word(word);
	return status < 0 ? log_no_memory() : status;
}

static exit_status line_read(struct option_file *file, char *line)
{
	struct option_texts *texts = file->texts;
	char *word;
	int status;

	line = line_trim(line);
	if (!*line)
		return 0;
	if (ARRAY_GROW(texts->all, texts->n, texts->room))
		return log_no_memory();
	word = word_new(line);
	if (!word)
		return log_no_memory();
	texts->all[texts->n++] = word;
	status = word_walk(file, word);
	if (status)
		log_hint("see line %zu of %s", file->line, file->path);
	return status;
}

static exit_status unreadable(const char *path, const char *why)
{
	log_error("cannot read options from '%s': %s", path, why);
	log_hint(
		"@FILE stands for the options in FILE, one per line; give a process of such a name "
		"with --comm");
	return EX_NOINPUT;
}

/* Of a text, which is cut into lines. */
static exit_status lines_read(struct option_file *file, char *text)
{
	int status = 0;

	while (text && !status) {
		char *line = strsep(&text, "\n");

		file->line++;
		status = line_read(file, line);
	}
	return status;
}

/* Reads the file, which has to be text, into room for OPTIONS_FILE_MAX bytes and two more. */
static exit_status text_read(const char *path, char *text)
{
	FILE *in = fopen(path, "re");
	size_t size;
	int error;

	if (!in)
		return unreadable(path, strerror(errno));
	errno = 0;
	size = fread(text, 1, OPTIONS_FILE_MAX + 1, in);
	error = ferror(in) ? (errno ? errno : EIO) : 0;
	fclose(in);
	text[size] = '\0';
	if (error)
		return unreadable(path, strerror(error));
	if (size > OPTIONS_FILE_MAX)
		return unreadable(path, "it is larger than 64 KiB");
	if (strlen(text) != size)
		return unreadable(path, "it is not a text file");
	return 0;
}

exit_status options_file_walk(const char *path, struct option_texts *texts, options_found *found,
			      void *context)
{
	struct option_file file = {
		.path = path, .texts = texts, .found = found, .context = context
	};
	char *text = malloc(OPTIONS_FILE_MAX + 2); /* the stack may be smaller */
	int status;

	if (!text)
		return log_no_memory();
	status = text_read(path, text) ?: lines_read(&file, text);
	free(text);
	return status;
}

void option_texts_clear(struct option_texts *texts)
{
	for (size_t i = 0; i < texts->n; i++)
		free(texts->all[i]);
	free(texts->all);
	*texts = (struct option_texts){ 0 };
}
