/* SPDX-License-Identifier: Apache-2.0 */
#include "blocking.h"

#include <pthread.h>

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local int depth = -1; /* nesting depth; -1: not the watched thread */

void blocking_begin(void)
{
	if (depth >= 0 && !depth++)
		pthread_mutex_unlock(&turn);
}

void blocking_end(void)
{
	if (depth > 0 && !--depth)
		pthread_mutex_lock(&turn);
}

void blocking_watched(void)
{
	pthread_mutex_lock(&turn);
	depth = 0;
}

void blocking_unwatched(void)
{
	if (!depth)
		pthread_mutex_unlock(&turn);
	depth = -1;
}

void blocking_turn_take(void)
{
	pthread_mutex_lock(&turn);
}

void blocking_turn_end(void)
{
	pthread_mutex_unlock(&turn);
}
