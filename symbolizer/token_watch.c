/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The status is read before the file, so that a change between the two is detected by the next
 * check.
 */

#include "symbolizer/token_watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/scoped.h"

static struct stat status_of(const char *path)
{
	struct stat status;

	if (stat(path, &status) < 0)
		return (struct stat){};
	return status;
}

static bool same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

int token_watch_load(struct token_watch *watch, struct auth *auth, const char *path,
		     char ret_message[AUTH_MESSAGE_SIZE])
{
	char *copy = strdup(path);
	int r;

	if (!copy) {
		(void)snprintf(ret_message, AUTH_MESSAGE_SIZE, "'%.200s': out of memory", path);
		return -ENOMEM;
	}
	free(watch->path);
	watch->path = copy;
	/* @path may be the freed watch->path, so use the copy. */
	watch->status = status_of(copy);
	r = auth_load(auth, copy, ret_message);
	/*
	 * If the file could not be read, for example because no file descriptor was left, a revoked
	 * token may still be accepted. Clearing the status makes the file count as changed, so that
	 * it is read again. Invalid content (-EINVAL) is not read again, because the result would
	 * be the same.
	 */
	if (r < 0 && r != -EINVAL)
		watch->status = (struct stat){};
	return r;
}

bool token_watch_changed(const struct token_watch *watch)
{
	struct stat status;

	if (!watch->path)
		return false;
	status = status_of(watch->path);
	return status.st_dev != watch->status.st_dev || status.st_ino != watch->status.st_ino ||
	       status.st_size != watch->status.st_size ||
	       !same_time(&status.st_mtim, &watch->status.st_mtim) ||
	       !same_time(&status.st_ctim, &watch->status.st_ctim);
}

void token_watch_release(struct token_watch *watch)
{
	free(watch->path);
	*watch = (struct token_watch){};
}
