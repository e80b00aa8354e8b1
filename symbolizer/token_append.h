/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Adds a token to the tokens file.
 *
 * The entry is appended to the text, so that comments and the order of the entries stay. The result
 * is parsed before it replaces the file atomically: a reader sees either the old or the new file.
 * Concurrent programs that append wait for each other, by a lock on the folder of the file, for a
 * limited time.
 */

#include "symbolizer/http/auth.h"

struct bytes;

/* Appends the entry of @token to @out as lines of YAML, with @indent blanks before its '-'. */
int token_entry_format(const struct token *token, unsigned int indent, struct bytes *out);

/*
 * Appends the entry of @token to the file at @path. A file that does not exist is created with mode
 * 0600. An existing file keeps its owner and mode.
 *
 * Returns 0 or, with @ret_message filled and the file unchanged: -EEXIST if it has a token of this
 * name; -EINVAL if it has a mistake, nothing can be appended to its form of YAML, or @path is not a
 * regular file; -EBUSY if the folder stays locked for @wait_ns; another negative errno.
 */
int token_append(const char *path, const struct token *token, uint64_t wait_ns,
		 char ret_message[AUTH_MESSAGE_SIZE]);
