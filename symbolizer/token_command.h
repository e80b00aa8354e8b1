/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * hearth-symbolizer --make-token NAME --scopes LIST [--tokens FILE]: generates a token, and appends
 * its entry to the tokens file. Without a file, the entry is printed.
 */

#include <stdio.h>

#include "common/config.h"

struct token_request {
	const char *name;
	const char *scopes; /* separated by commas */
	const char *tenant;
	const char *path; /* of the tokens file; "": the entry is printed too */
	FILE *out;        /* receives the token; with a file, nothing else */
	FILE *hints;      /* receives the next steps for the user */
};

/* Returns 0 or, with @ret_message filled: -EINVAL for an invalid name, tenant or scope; -EIO if
 * the random number generator or printing fails; an error of token_append(). */
int token_command(const struct token_request *request, char ret_message[CONFIG_MESSAGE_SIZE]);
