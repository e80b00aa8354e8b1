/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Detects changes of the tokens file by its status (struct stat). inotify would not work:
 * Kubernetes updates a secret by replacing a symbolic link in the path, which a watch of the file
 * does not report.
 */

#include <sys/stat.h>

#include "symbolizer/http/auth.h"

struct token_watch {
	char *path;         /* NULL: no file was loaded */
	struct stat status; /* read before the file was loaded; zero: loading failed */
};

/* Loads the tokens like auth_load(). From now on watches @path, also if loading failed. @path
 * may be watch->path. */
int token_watch_load(struct token_watch *watch, struct auth *auth, const char *path,
		     char ret_message[AUTH_MESSAGE_SIZE]);

/* Returns whether the file has changed since it was last loaded, or exists and could not be read
 * then. */
bool token_watch_changed(const struct token_watch *watch);

void token_watch_release(struct token_watch *watch);
