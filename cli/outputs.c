// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "outputs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exit_status.h"
#include "log.h"
#include "report/folded.h"

struct outputs {
	size_t n;
	struct file {
		const char *name;
		FILE *stream;
		int (*write)(const struct sample *sample, FILE *out);
	} files[OUTPUTS_MAX];
};

static int (*const writers[OUTPUT_FORMATS])(const struct sample *sample, FILE *out) = {
	[OUTPUT_FOLDED] = report_folded,
};

int outputs_open(struct outputs **out, const struct options *options)
{
	struct outputs *outputs = calloc(1, sizeof(*outputs));

	*out = outputs;
	if (!outputs) {
		log_error("no memory");
		return EX_OSERR;
	}
	for (size_t i = 0; i < options->n_outputs; i++) {
		struct file *file = &outputs->files[i];

		file->name = options->outputs[i].file;
		file->write = writers[options->outputs[i].format];
		file->stream = fopen(file->name, "we");
		if (!file->stream) {
			log_error("cannot create %s: %s", file->name, strerror(errno));
			return EX_CANTCREAT;
		}
		outputs->n++;
	}
	return 0;
}

int outputs_write(struct outputs *outputs, const struct sample *sample)
{
	for (size_t i = 0; i < outputs->n; i++) {
		int error = outputs->files[i].write(sample, outputs->files[i].stream);

		if (error) {
			log_error("cannot write %s: %s", outputs->files[i].name, strerror(-error));
			return EX_IOERR;
		}
	}
	return 0;
}

void outputs_close(struct outputs *outputs)
{
	if (!outputs)
		return;
	for (size_t i = 0; i < outputs->n; i++)
		fclose(outputs->files[i].stream);
	free(outputs);
}
