/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The server's messages name keys of its API, of which a user of the command knows nothing: here
 * they become options of the command.
 */

#include "common/bytes.h"

/* Appends @words; control characters become '?'. */
void server_words_append(struct bytes *out, const char *words);
