/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/store/clickhouse/writer.h"

#include <inttypes.h>
#include <stdatomic.h>

#include "common/hash_table.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/vec.h"
#include "symbolizer/store/clickhouse/changes.h"
#include "symbolizer/store/clickhouse/row_binary.h"
#include "symbolizer/store/head/agents.h"

#define DAY_NS (24 * 3600 * NSEC_PER_SEC)

/* One SELECT or INSERT of a group. */
#define WRITE_TIMEOUT_NS (60 * NSEC_PER_SEC)

/* The columns that identify a marker. */
struct marker_key {
	struct hash128 series;
	uint64_t epoch, sequence;
	uint64_t day;
};

/* A batch of the group that is being written. */
struct member {
	struct batch_days days; /* without those on which the batch is stored */
	struct hash128 marker;
	bool is_written;
};

struct clickhouse_writer {
	struct clickhouse_client *client;
	const struct clock *clock;
	struct agents *agents;
	struct rows *rows;
	struct hash_table *markers; /* struct marker_key, a set: found in ClickHouse */
	VEC_DEFINE(, struct member) members;
	struct bytes keys; /* of the query for markers */
	bool records_changes;
	struct changes changes;
	int last_error;
	_Atomic uint64_t retention_ns; /* 0: none */
};

int clickhouse_writer_new(const struct clickhouse_writer_options *options,
			  struct clickhouse_writer **ret_writer)
{
	const struct agents_options agents = { .max_numbers_bytes = options->max_numbers_bytes,
					       .max_agents = options->max_agents };
	scoped(clickhouse_writer_freep) struct clickhouse_writer *writer =
		calloc(1, sizeof(*writer));
	int r;

	if (!writer)
		return -ENOMEM;
	writer->client = options->client;
	writer->clock = options->clock;
	writer->keys = BYTES_INIT(options->max_rows_bytes);
	writer->records_changes = options->records_changes;
	r = changes_init(&writer->changes, options->max_rows_bytes);
	if (r == 0)
		r = agents_new(&agents, &writer->agents);
	if (r == 0)
		r = rows_new(options->max_rows_bytes, &writer->rows);
	if (r == 0)
		r = hash_table_new(sizeof(struct marker_key), 0, 0, &writer->markers);
	if (r < 0)
		return r;
	*ret_writer = take_ptr(writer);
	return 0;
}

struct clickhouse_writer *clickhouse_writer_free(struct clickhouse_writer *writer)
{
	if (!writer)
		return NULL;
	changes_release(&writer->changes);
	(void)agents_free(writer->agents);
	(void)rows_free(writer->rows);
	(void)hash_table_free(writer->markers);
	vec_release(&writer->members);
	bytes_release(&writer->keys);
	free(writer);
	return NULL;
}

void clickhouse_writer_set_retention(struct clickhouse_writer *writer, uint64_t retention_ns)
{
	writer->retention_ns = retention_ns;
}

/* Retention would drop it at once, and its duplicates could not be recognized. */
static bool is_too_old(const struct clickhouse_writer *writer, const struct batch_days *days)
{
	uint64_t now = clock_wall_ns(writer->clock);
	uint64_t retention_ns = writer->retention_ns;

	return retention_ns != 0 && now > retention_ns &&
	       days->days[days->count - 1] < (now - retention_ns) / DAY_NS;
}

static void begin_member(struct clickhouse_writer *writer, struct store_write *write,
			 struct member *member)
{
	const struct batch *batch = write->batch;

	*member = (struct member){ .marker = rows_marker(write->tenant, batch) };
	write->result = batch_days_find(batch, &member->days);
	if (write->result == 0 && is_too_old(writer, &member->days))
		write->result = STORE_TOO_OLD;
	if (write->result != 0)
		return;
	for (size_t i = 0; i < member->days.count; i++) {
		row_add_u16(&writer->keys, (uint16_t)member->days.days[i]);
		row_add_hash(&writer->keys, &member->marker);
		row_add_u64(&writer->keys, batch->epoch);
		row_add_u64(&writer->keys, batch->sequence);
	}
}

static int read_marker(void *arg, struct bytes_reader *row)
{
	struct clickhouse_writer *writer = arg;
	struct marker_key key = {};
	int r;

	key.day = row_read_u16(row);
	key.series = row_read_hash(row);
	key.epoch = row_read_u64(row);
	key.sequence = row_read_u64(row);
	if (row->error < 0)
		return 0;
	r = hash_table_insert(writer->markers, &key, NULL);
	return MIN(r, 0);
}

/* Finds the markers of all batches of the group that are stored. */
static int find_markers(struct clickhouse_writer *writer)
{
	const struct clickhouse_table keys = {
		.name = "wanted",
		.structure = "day UInt16, series FixedString(16), epoch UInt64, sequence UInt64",
		.rows = bytes_view_of(&writer->keys),
	};
	const struct clickhouse_query query = {
		.sql = "SELECT day, series, epoch, sequence FROM samples WHERE lane = 0"
		       " AND day IN (SELECT day FROM wanted)"
		       " AND series IN (SELECT series FROM wanted)"
		       " AND (day, series, epoch, sequence) IN"
		       " (SELECT day, series, epoch, sequence FROM wanted) FORMAT RowBinary",
		.tables = &keys,
		.n_tables = 1,
		.idempotent = true,
		.timeout_ns = WRITE_TIMEOUT_NS,
		.read_row = read_marker,
		.arg = writer,
	};

	int r;

	hash_table_clear(writer->markers);
	if (bytes_error(&writer->keys) < 0)
		return bytes_error(&writer->keys);
	if (writer->keys.size == 0)
		return 0;
	r = clickhouse_client_run(writer->client, &query);
	/* For ingest, -EBADMSG is a batch that must not be sent again. */
	return r == -EBADMSG ? -EIO : r;
}

/* Removes the days on which the batch is stored. */
static void remove_stored_days(const struct clickhouse_writer *writer, const struct batch *batch,
			       struct member *member)
{
	struct marker_key key = {
		.series = member->marker,
		.epoch = batch->epoch,
		.sequence = batch->sequence,
	};
	size_t n_kept = 0;

	for (size_t i = 0; i < member->days.count; i++) {
		key.day = member->days.days[i];
		if (!hash_table_find(writer->markers, &key))
			member->days.days[n_kept++] = member->days.days[i];
	}
	member->days.count = n_kept;
}

static int convert(struct clickhouse_writer *writer, struct store_write *write,
		   struct member *member)
{
	const struct agent *agent;
	int r;

	remove_stored_days(writer, write->batch, member);
	if (member->days.count == 0)
		return STORE_DUPLICATE;
	r = agents_learn(writer->agents, write->tenant, write->batch, write->arena,
			 write->ret_missing);
	if (r != STORE_STORED)
		return r;
	agent = agents_find(writer->agents, write->tenant, write->batch);
	r = rows_add(writer->rows, write->tenant, write->batch, agent->numbers, &member->days,
		     clock_wall_ns(writer->clock));
	member->is_written = r == 0;
	return r < 0 ? r : STORE_STORED;
}

/* The samples of a change are stored after it, or, if that fails, with a later change. */
static int record_changes(struct clickhouse_writer *writer, struct store_write *const *writes,
			  size_t count)
{
	const struct member *members = writer->members.items;
	const uint64_t now_ns = clock_wall_ns(writer->clock);
	struct marker_key last = { .day = now_ns }; /* of a batch, with the time of this attempt */
	int r = 0;

	for (size_t i = 0; i < count; i++) {
		if (!members[i].is_written)
			continue;
		last.series = members[i].marker;
		last.epoch = writes[i]->batch->epoch;
		last.sequence = writes[i]->batch->sequence;
	}
	changes_begin(&writer->changes, hash64_of(&last, sizeof(last)), now_ns);
	for (size_t i = 0; i < count && r == 0; i++)
		if (members[i].is_written)
			r = changes_add(&writer->changes, writes[i]->tenant, writes[i]->batch);
	return r < 0 ? r : changes_insert(&writer->changes, writer->client, WRITE_TIMEOUT_NS);
}

static int insert_table(struct clickhouse_writer *writer, enum rows_table table)
{
	scoped(bytes_release) struct bytes sql = BYTES_INIT(4 * KIB);
	struct clickhouse_query query = {
		.rows = rows_of(writer->rows, table),
		.idempotent = true, /* equal rows merge */
		.timeout_ns = WRITE_TIMEOUT_NS,
	};

	if (query.rows.size == 0)
		return 0;
	(void)bytes_append_format(&sql, "INSERT INTO %s FORMAT RowBinary",
				  rows_table_columns(table));
	(void)bytes_append_byte(&sql, '\0');
	if (bytes_error(&sql) < 0)
		return bytes_error(&sql);
	query.sql = (const char *)sql.data;
	return clickhouse_client_run(writer->client, &query);
}

/* A server that is away fails every group, so only the first failure and the end are logged. */
static void log_change(struct clickhouse_writer *writer, int error)
{
	if (error == writer->last_error)
		return;
	if (error < 0)
		log_error_errno(error,
				"cannot store batches in ClickHouse, agents keep and resend them, "
				"%s: %m",
				clickhouse_client_message(writer->client));
	else
		log_info("storing batches in ClickHouse again");
	writer->last_error = error;
}

/* Each batch that is not refused has the result of the group. */
static void end_group(struct clickhouse_writer *writer, struct store_write *const *writes,
		      size_t count, int error)
{
	log_change(writer, error);
	if (error == 0) {
		rows_written(writer->rows);
		return;
	}
	rows_discard(writer->rows);
	for (size_t i = 0; i < count; i++)
		if (writes[i]->result == 0 || writer->members.items[i].is_written)
			writes[i]->result = error;
}

/* Converts the batches until the rows have their maximum size. Returns their number. */
static size_t convert_all(struct clickhouse_writer *writer, struct store_write *const *writes,
			  size_t count)
{
	for (size_t i = 0; i < count; i++) {
		int r = writes[i]->result;

		if (r != 0)
			continue;
		r = convert(writer, writes[i], &writer->members.items[i]);
		if (r == -EFBIG && i > 0)
			return i;
		writes[i]->result = r;
	}
	return count;
}

static size_t write_group(struct clickhouse_writer *writer, struct store_write *const *writes,
			  size_t count)
{
	size_t n_written = count;
	int r;

	bytes_clear(&writer->keys);
	for (size_t i = 0; i < count; i++)
		begin_member(writer, writes[i], &writer->members.items[i]);
	r = find_markers(writer);
	if (r == 0)
		n_written = convert_all(writer, writes, count);
	for (size_t i = 0; i < ROWS_TABLE_END && r == 0; i++) {
		if (i == ROWS_SAMPLES && writer->records_changes)
			r = record_changes(writer, writes, n_written);
		if (r == 0)
			r = insert_table(writer, (enum rows_table)i);
	}
	end_group(writer, writes, n_written, r);
	return n_written;
}

size_t clickhouse_writer_write_group(void *arg, struct store_write *const *writes, size_t count)
{
	struct clickhouse_writer *writer = arg;
	int r;

	vec_clear(&writer->members);
	r = vec_reserve(&writer->members, count);
	if (r < 0) {
		for (size_t i = 0; i < count; i++)
			writes[i]->result = r;
		return count;
	}
	writer->members.count = count;
	return write_group(writer, writes, count);
}
