/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Converts messages of the server for users of the command: replaces the names of API parameters by
 * the corresponding options of the command.
 */

#include "common/bytes.h"
#include "common/event_type.h"

/* Appends @words with options instead of parameters, and '?' instead of control characters. */
void server_message_append(struct bytes *out, const char *words);

/*
 * Prints on stderr the reason @words why there is no data. If agents do not collect events of
 * @type, also prints the types that they collect.
 */
void server_message_print_no_data(const char *words, enum event_type type);
