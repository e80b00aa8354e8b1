/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * hearth-symbolizer --make-token NAME --scopes LIST [--tokens FILE]: a fresh token. Its entry is
 * appended to the tokens file, or printed where none is named.
 */

#include <stdio.h>

#include "common/config.h"

struct token_request {
	const char *name;
	const char *scopes; /* separated by commas */
	const char *tenant;
	const char *path; /* of the tokens file; "": the entry is printed as well */
	FILE *out;        /* with a file: one line, the token */
	FILE *hints;      /* what to do next */
};

/* -EINVAL with @ret_message for a bad name, tenant or scope; -EIO when there is no randomness or
 * the token cannot be printed; those of token_append(). */
int token_command(const struct token_request *request, char ret_message[CONFIG_MESSAGE_SIZE]);
