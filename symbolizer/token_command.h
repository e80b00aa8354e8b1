/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * hearth-symbolizer --make-token NAME --scopes LIST: a fresh token, and its entry for the tokens
 * file.
 */

#include <stdio.h>

#include "common/config.h"

/* -EINVAL with @ret_message for a bad name, tenant or scope; -EIO when there is no randomness or
 * @out fails. */
int token_command(const char *name, const char *scopes, const char *tenant, FILE *out,
		  char ret_message[CONFIG_MESSAGE_SIZE]);
