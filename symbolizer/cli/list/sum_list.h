/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Sums of a selection per process (`hearth ps`) or per value of a tag (--by), from /v1/processes
 * and /v1/groups, as a table.
 */

#include <jansson.h>

#include "common/bytes.h"
#include "symbolizer/cli/client/client.h"
#include "symbolizer/cli/options/exit_code.h"

struct sum_options {
	const struct connection_options *connection;
	const struct selection_options *selection; /* with @by: a row for each value of the tag */
	uint32_t rows;                             /* 0: all */
	int width;
};

/* Fetches and prints. --json prints the server's answer: the same rows in the same order. */
enum exit_code sum_list_print(struct client *client, const struct sum_options *given);

/* ---- parts, for tests ---- */

/* Appends the table of @answer. Returns 0, -EBADMSG if @answer has another form, -ENOMEM. */
int sum_text_write(const json_t *answer, const struct sum_options *options, struct bytes *out);
