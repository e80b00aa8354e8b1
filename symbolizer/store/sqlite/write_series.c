/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds series to hearth.db, and the event types that this version does not know. Those get a number
 * from EVENT_FIRST_STORED on, under their name.
 */

#include "symbolizer/store/sqlite/write.h"

#include "common/log.h"

struct series_row {
	const struct batch_series *series;
	uint64_t process; /* store ID */
	uint64_t type;
	uint64_t labels; /* ID of a text_set, 0: none */
};

/* Returns 1 if the tenant has as many types as it may have, 0 if there is room. */
static int count_event_types(struct write *write, int64_t tenant)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r;

	r = sqlite_query(write->hearth, SQL_EVENT_TYPE_COUNT, &row, SQL_INT(tenant));
	if (r <= 0)
		return r < 0 ? r : -EIO;
	return sqlite3_column_int64(row, 0) >= STORE_MAX_EVENT_TYPES;
}

static int add_event_type(struct write *write, int64_t tenant, const struct batch_event_type *type,
			  uint64_t *ret_number)
{
	int r;

	*ret_number = EVENT_NONE;
	r = count_event_types(write, tenant);
	if (r > 0)
		log_debug("tenant '%s' has %d event types, samples of '%.100s' are only counted",
			  write->tenant, STORE_MAX_EVENT_TYPES, type->name);
	if (r != 0)
		return MIN(r, 0);
	r = write_begin(write);
	if (r == 0)
		r = sqlite_run(write->hearth, SQL_EVENT_TYPE_ADD, SQL_INT(tenant),
			       SQL_TEXT(type->name), SQL_TEXT(type->unit), SQL_INT(type->kind),
			       SQL_INT(EVENT_FIRST_STORED));
	if (r == 0)
		*ret_number = (uint64_t)sqlite_last_id(write->hearth);
	return r;
}

/* *ret_number is EVENT_NONE for an empty definition, and if the tenant has too many types. */
static int type_of(struct write *write, const struct batch_series *series, uint64_t *ret_number)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int64_t tenant;
	int r;

	*ret_number = series->type;
	if (!series->described)
		return 0;
	r = write_tenant(write, &tenant);
	if (r == 0)
		r = sqlite_query(write->hearth, SQL_EVENT_TYPE_FIND, &row, SQL_INT(tenant),
				 SQL_TEXT(series->described->name));
	if (r > 0)
		*ret_number = (uint64_t)sqlite3_column_int64(row, 0);
	if (r != 0)
		return MIN(r, 0);
	return add_event_type(write, tenant, series->described, ret_number);
}

/* Returns 1 if found, 0 if not. */
static int find_series_row(struct write *write, const struct series_row *row, uint64_t *ret_id)
{
	scoped(sqlite_resetp) sqlite3_stmt *found = NULL;
	const struct batch_series *series = row->series;
	int r;

	r = sqlite_query(write->hearth, SQL_SERIES_FIND, &found, SQL_INT(row->process),
			 SQL_INT(row->type), SQL_INT(series->tid), SQL_INT(series->cpu),
			 SQL_INT(series->period_ns), SQL_TEXT(series->thread_name),
			 SQL_INT(row->labels));
	if (r > 0)
		*ret_id = (uint64_t)sqlite3_column_int64(found, 0);
	return r;
}

static int add_series_row(struct write *write, const struct series_row *row, uint64_t *ret_id)
{
	const struct batch_series *series = row->series;
	int r;

	r = write_begin(write);
	if (r == 0)
		r = sqlite_run(write->hearth, SQL_SERIES_ADD, SQL_INT(row->process),
			       SQL_INT(row->type), SQL_INT(series->tid), SQL_INT(series->cpu),
			       SQL_INT(series->period_ns), SQL_TEXT(series->thread_name),
			       SQL_INT(write->host), SQL_INT(row->labels));
	if (r < 0)
		return r;
	*ret_id = (uint64_t)sqlite_last_id(write->hearth);
	r = write_label_names(write, series->labels, series->n_labels);
	if (r < 0)
		return r;
	/* The host is set before the commit, because setting it may fail. If the row is rolled
	 * back, the host is removed too. */
	return store_state_set_series_host(write->writer->state, (uint32_t)*ret_id, write->host);
}

int write_define_series(struct write *write, const struct batch_series *series)
{
	struct series_row row = { .series = series };
	const struct number_entry *process;
	uint64_t id = 0;
	int r;

	r = type_of(write, series, &row.type);
	/* EVENT_NONE: the agent no longer has the definition. Its rows are only counted. */
	if (r == 0 && row.type != EVENT_NONE) {
		process = write_number(write, NUMBER_PROCESS, series->process);
		assert(process);
		row.process = process->id;
		r = write_labels(write, series->labels, series->n_labels, &row.labels);
		if (r == 0)
			r = find_series_row(write, &row, &id);
		if (r == 0)
			r = add_series_row(write, &row, &id);
	}
	if (r < 0)
		return r;
	return write_set_number_once(write, NUMBER_SERIES, series->number, id);
}
