/* SPDX-License-Identifier: Apache-2.0 */

#include "symbolizer/cli/client/list_answer.h"

#include <stdio.h>

#include "common/clock.h"
#include "common/log.h"
#include "symbolizer/cli/print/scoped_json.h"
#include "symbolizer/cli/print/terminal.h"

const char *list_text(const json_t *row, const char *key)
{
	const char *text = json_string_value(json_object_get(row, key));

	return text ? text : "";
}

uint64_t list_number(const json_t *row, const char *key)
{
	json_int_t number = json_integer_value(json_object_get(row, key));

	return number > 0 ? (uint64_t)number : 0;
}

enum exit_code list_print(const struct connection_options *options, struct client *client,
			  const char *path, const char *name, const char *empty, list_format format)
{
	scoped_bytes struct bytes answer = BYTES_INIT(CLIENT_MAX_ANSWER_BYTES);
	scoped_bytes struct bytes text = BYTES_INIT(CLIENT_MAX_ANSWER_BYTES);
	scoped(json_freep) json_t *root = NULL;
	const json_t *rows;
	int r;

	r = client_get(client, path, &answer);
	if (r < 0)
		return exit_code_of_error(r);
	if (options->json) {
		(void)bytes_append_byte(&answer, '\n');
		return terminal_print(&answer) < 0 ? EXIT_ERROR : EXIT_OK;
	}

	root = json_loadb((const char *)answer.data, answer.size, 0, NULL);
	rows = json_object_get(root, name);
	if (!json_is_array(rows)) {
		log_error(
			"the answer of '%s' has no list of %s; is the server a hearth-symbolizer?",
			options->server, name);
		return EXIT_ERROR;
	}
	if (json_array_size(rows) == 0) {
		(void)fprintf(stderr, "%s\n", empty);
		return EXIT_NO_DATA;
	}
	format(rows, clock_wall_ns(&system_clock) / NSEC_PER_SEC, &text);
	return terminal_print(&text) < 0 ? EXIT_ERROR : EXIT_OK;
}
