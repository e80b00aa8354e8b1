/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The server's messages name keys of its API, which users of the command do not know. These
 * functions replace them by the options of the command.
 */

#include "common/bytes.h"
#include "common/event_type.h"

/* Appends @message; control characters become '?'. */
void server_message_append(struct bytes *out, const char *message);

/*
 * Prints to stderr why there is no data. If agents do not collect @type, also prints the types that
 * they collect.
 */
void server_message_print_no_data(const char *message, enum event_type type);

/* Prints to stderr what is missing in an answer with data. Prints nothing if @message is empty. */
void server_message_print_note(const char *message);
