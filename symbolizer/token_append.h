/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Adds a token to the tokens file.
 *
 * Comments and the order of the entries stay as they are: the entry is appended to the text, and
 * the result is parsed before it replaces the file. Readers see the old file or the new one, whole.
 * Programs that append at the same time wait for each other (a lock on the file's folder). A
 * program that keeps the lock is not waited for without end.
 */

#include "symbolizer/http/auth.h"

struct bytes;

/* The entry of @token as lines of YAML, with @indent blanks before its '-'. */
int token_entry_format(const struct token *token, unsigned int indent, struct bytes *out);

/*
 * A file that does not exist is created with mode 0600; one that exists keeps its owner and mode.
 * -EEXIST when it has a token of this name; -EINVAL when it has a mistake, its form cannot be
 * appended to, or @path is no regular file; -EBUSY when the folder stays locked for @wait_ns;
 * other negative errno. Each with @ret_message, and the file unchanged.
 */
int token_append(const char *path, const struct token *token, uint64_t wait_ns,
		 char ret_message[AUTH_MESSAGE_SIZE]);
