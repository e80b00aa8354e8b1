/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Notices that the tokens file was replaced or written to, by its status: a watch of inotify would
 * miss the exchange of a symbolic link above it, by which Kubernetes updates a secret.
 */

#include <sys/stat.h>

#include "symbolizer/http/auth.h"

struct token_watch {
	char *path;         /* NULL: none is loaded */
	struct stat status; /* before it was loaded; zero: it could not be read */
};

/* Loads the tokens, as auth_load() does, and watches @path, which may be that of before, from now
 * on also when that fails. */
int token_watch_load(struct token_watch *watch, struct auth *auth, const char *path,
		     char ret_message[AUTH_MESSAGE_SIZE]);

/* Whether the file is another than the one that was loaded last, or is there and could not be read
 * then. */
bool token_watch_changed(const struct token_watch *watch);

void token_watch_release(struct token_watch *watch);
