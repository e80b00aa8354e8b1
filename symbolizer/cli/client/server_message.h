/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The server's messages name keys of its API, of which a user of the command knows nothing: here
 * they become options of the command.
 */

#include "common/bytes.h"
#include "common/event_type.h"

/* Appends @words; control characters become '?'. */
void server_message_append(struct bytes *out, const char *words);

/*
 * Says on stderr why there is no data, and of an event type that no agent collects which ones they
 * do.
 */
void server_message_print_no_data(const char *words, enum event_type type);
