/* SPDX-License-Identifier: Apache-2.0 */
#include "common/metrics.h"

#include <inttypes.h>

static void print_help(const char *prefix, const struct metric_row *row, struct bytes *out)
{
	bytes_append_format(out, "# HELP %s%s ", prefix, row->name);
	for (const char *next = row->help; *next; next++) {
		if (*next == '\\')
			bytes_append_text(out, "\\\\");
		else if (*next == '\n')
			bytes_append_text(out, "\\n");
		else
			bytes_append_byte(out, (uint8_t)*next);
	}
	bytes_append_format(out, "\n# TYPE %s%s %s\n", prefix, row->name,
			    row->type == METRIC_COUNTER ? "counter" : "gauge");
}

int metrics_print(const char *prefix, const struct metric_row *rows, _Atomic uint64_t *values,
		  size_t count, struct bytes *out)
{
	for (size_t i = 0; i < count; i++) {
		const struct metric_row *row = &rows[i];

		/* The format requires one HELP and one TYPE per name, before its first row. */
		if (i == 0 || strcmp(rows[i - 1].name, row->name) != 0)
			print_help(prefix, row, out);
		bytes_append_format(out, "%s%s", prefix, row->name);
		if (*row->labels)
			bytes_append_format(out, "{%s}", row->labels);
		bytes_append_format(out, " %" PRIu64 "\n", metric_get(values, (unsigned int)i));
	}
	return bytes_error(out);
}
