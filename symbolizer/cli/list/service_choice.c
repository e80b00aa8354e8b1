/* SPDX-License-Identifier: Apache-2.0 */

#include "symbolizer/cli/list/service_choice.h"

#include <ctype.h>
#include <stdio.h>

#include "common/log.h"
#include "symbolizer/cli/print/number_format.h"
#include "symbolizer/cli/print/printable.h"

#define MAX_TEXT_BYTES (64 * KIB)

/* Longer names are cut in the list, but not in the example. */
#define NAME_COLUMNS 24

static bool is_plain(const char *name)
{
	for (; *name; name++) {
		if (!isalnum((unsigned char)*name) && !strchr("._-/:", *name))
			return false;
	}
	return true;
}

/* Appends @name as an argument for a shell. */
static void append_argument(struct bytes *out, const char *name)
{
	const char *quote = is_plain(name) ? "" : "\"";

	(void)bytes_append_format(out, "%s%s", name[0] == '-' ? "--service=" : "", quote);
	(void)printable_append(out, name, -1);
	(void)bytes_append_text(out, quote);
}

int service_choice_write(const struct service_list *list, const char *command, struct bytes *out)
{
	size_t n_rows = MIN(list->count, (size_t)SERVICE_CHOICE_ROWS);

	(void)bytes_append_format(
		out, "%s: which service? The busiest of %zu, by share of the CPU time:\n", command,
		list->count);
	for (size_t i = 0; i < n_rows; i++) {
		char share[NUMBER_TEXT_SIZE];
		int columns;

		format_share(list->rows[i].cpu_us, list->cpu_total_us, share);
		(void)bytes_append_text(out, "  ");
		columns = printable_append(out, list->rows[i].name, NAME_COLUMNS);
		(void)bytes_append_format(out, "%*s  %7s\n", NAME_COLUMNS - columns, "", share);
	}
	(void)bytes_append_format(out, "Name one, as in '%s ", command);
	if (n_rows > 0)
		append_argument(out, list->rows[0].name);
	(void)bytes_append_format(
		out, "'; '%s Total' is whole hosts, 'hearth services' lists all.\n", command);
	return bytes_error(out);
}

enum exit_code service_choice_print(struct client *client, const struct time_range *range,
				    const char *command)
{
	scoped_service_list struct service_list list = {};
	scoped_bytes struct bytes text = BYTES_INIT(MAX_TEXT_BYTES);
	int r;

	r = service_list_fetch(client, range, &list);
	if (r < 0)
		return exit_code_of_error(r);
	if (list.count == 0) {
		(void)fprintf(stderr, "%s\n", SERVICE_LIST_EMPTY);
		return EXIT_NO_DATA;
	}
	if (service_choice_write(&list, command, &text) < 0) {
		log_error("out of memory");
		return EXIT_ERROR;
	}
	(void)fwrite(text.data, 1, text.size, stderr);
	return EXIT_USAGE;
}
