/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Columns of numbers have a fixed width. The longest name and the width of the terminal determine
 * the width of the other columns.
 */

#include <inttypes.h>

#include "symbolizer/cli/list/service_list.h"
#include "symbolizer/cli/print/number_format.h"
#include "symbolizer/cli/print/printable.h"

/* "    1 m 40 s   12.3 %  hosts  processes  just now     ", between the name and the event types */
#define FIGURES_COLUMNS 54

#define MIN_NAME_COLUMNS  20
#define MIN_EVENT_COLUMNS 6 /* "on-cpu" */

/* The event types of most services: "off-cpu, on-cpu" */
#define USUAL_EVENT_COLUMNS 15

/* Returns how many rows, from the first, the table lists. */
static size_t count_listed(const struct service_list *list,
			   const struct service_text_options *options)
{
	size_t count = 0;

	if (options->all || list->count == 0 || list->rows[0].cpu_us == 0)
		return list->count;
	while (count < list->count && list->rows[count].cpu_us > 0 &&
	       (count < SERVICE_MIN_ROWS ||
		(double)list->rows[count].cpu_us >= (double)list->cpu_total_us / 2000))
		count++;
	return count;
}

static int name_columns(const struct service_list *list, size_t n_listed, int width)
{
	int most = MAX(width - FIGURES_COLUMNS - USUAL_EVENT_COLUMNS, MIN_NAME_COLUMNS);
	int columns = (int)strlen("service");

	for (size_t i = 0; i < n_listed; i++)
		columns = MAX(columns, (int)MIN(strlen(list->rows[i].name), (size_t)most));
	return columns;
}

static void append_row(const struct service_list *list, const struct service_row *row,
		       const struct service_text_options *options, int columns, struct bytes *out)
{
	char cpu[NUMBER_TEXT_SIZE] = "-", share[NUMBER_TEXT_SIZE] = "", age[NUMBER_TEXT_SIZE];
	int used = printable_append(out, row->name, columns);

	if (row->cpu_us > 0) {
		format_value(EVENT_ON_CPU, row->cpu_us, cpu);
		format_share(row->cpu_us, list->cpu_total_us, share);
	}
	format_age(options->now_s > row->last_s ? options->now_s - row->last_s : 0, age);
	(void)bytes_append_format(out, "%*s  %10s  %7s  %5" PRIu64 "  %9" PRIu64 "  %-11s  ",
				  columns - used, "", cpu, share, row->n_hosts, row->n_processes,
				  age);
	(void)printable_append(out, row->events,
			       MAX(options->width - columns - FIGURES_COLUMNS, MIN_EVENT_COLUMNS));
	(void)bytes_append_byte(out, '\n');
}

static void append_others(const struct service_list *list, size_t n_listed, struct bytes *out)
{
	char cpu[NUMBER_TEXT_SIZE], share[NUMBER_TEXT_SIZE];
	size_t n_others = list->count - n_listed;
	uint64_t cpu_us = 0;

	if (n_others == 0)
		return;
	for (size_t i = n_listed; i < list->count; i++)
		cpu_us += list->rows[i].cpu_us;
	format_value(EVENT_ON_CPU, cpu_us, cpu);
	format_share(cpu_us, list->cpu_total_us, share);
	(void)bytes_append_format(out, "%zu %s", n_others, n_others == 1 ? "other" : "others");
	if (cpu_us == 0)
		(void)bytes_append_text(out, " without CPU time");
	else
		(void)bytes_append_format(out, " with %s (%s)%s", cpu, share,
					  n_others == 1 ? "" : " together");
	(void)bytes_append_text(out, "; --all lists them\n");
}

int service_text_write(const struct service_list *list, const struct service_text_options *options,
		       struct bytes *out)
{
	size_t n_listed = count_listed(list, options);
	int columns = name_columns(list, n_listed, options->width);

	(void)bytes_append_format(out, "%-*s  %10s  %7s  %5s  %9s  %-11s  %s\n", columns, "service",
				  "CPU time", "share", "hosts", "processes", "last sample",
				  "events");
	for (size_t i = 0; i < n_listed; i++)
		append_row(list, &list->rows[i], options, columns, out);
	append_others(list, n_listed, out);
	return bytes_error(out);
}
