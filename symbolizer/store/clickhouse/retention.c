/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removes days that are too old, and the oldest days while the tables exceed the limit. Each server
 * of a cluster does so: a partition that is not there any more is no error.
 */

#include <inttypes.h>
#include <stdio.h>

#include "common/limits.h"
#include "common/log.h"
#include "common/vec.h"
#include "symbolizer/store/clickhouse/clickhouse_store_private.h"
#include "symbolizer/store/clickhouse/row_binary.h"
#include "symbolizer/store/clickhouse/sql.h"
#include "symbolizer/store/data_folder/folder_log.h"

#define DAY_NS (24 * 3600 * NSEC_PER_SEC)

static uint64_t check_clock(struct clickhouse_store *self)
{
	uint64_t now_ns;

	(void)pthread_mutex_lock(&self->lock);
	trusted_clock_check(&self->trusted, self->clock, self->folder);
	now_ns = trusted_clock_now(&self->trusted, self->clock);
	(void)pthread_mutex_unlock(&self->lock);
	return now_ns;
}

struct day_bytes {
	uint32_t day;
	uint64_t bytes;
};

struct sizes {
	VEC_DEFINE(, struct day_bytes) days; /* ascending */
	uint64_t bytes;
};

static int read_size(void *arg, struct bytes_reader *row)
{
	struct sizes *sizes = arg;
	struct day_bytes day;

	day.day = row_read_u32(row);
	day.bytes = row_read_u64(row);
	if (row->error < 0)
		return 0;
	sizes->bytes += day.bytes;
	return vec_push(&sizes->days, day);
}

/* Partitions are days; the table of the schema's version has none, and few bytes. */
static int find_sizes(struct clickhouse_store *self, struct sizes *sizes)
{
	scoped(bytes_release) struct bytes sql = BYTES_INIT(MAX_SQL_BYTES);
	struct clickhouse_query query = {
		.idempotent = true,
		.read_row = read_size,
		.arg = sizes,
	};
	int r;

	(void)bytes_append_text(&sql, "SELECT toUInt32OrZero(partition) AS d, "
				      "toUInt64(sum(bytes_on_disk)) ");
	clickhouse_schema_add_parts(clickhouse_store_cluster(self), &sql);
	(void)bytes_append_text(
		&sql, " AND partition != 'tuple()' GROUP BY d ORDER BY d FORMAT RowBinary");
	r = sql_end(&sql);
	query.sql = (const char *)sql.data;
	return r < 0 ? r : clickhouse_store_read(self, &query);
}

int clickhouse_store_disk_bytes(struct clickhouse_store *self, uint64_t *ret_bytes)
{
	struct sizes sizes = {};
	int r = find_sizes(self, &sizes);

	vec_release(&sizes.days);
	if (r == 0)
		*ret_bytes = sizes.bytes;
	return r;
}

/* Drops the partitions before @day that exist. */
static int drop_before(struct clickhouse_store *self, uint32_t day)
{
	struct clickhouse_client *client;
	int r = client_pool_borrow(self->pool, &client);

	if (r < 0)
		return r;
	r = clickhouse_store_prepare(self, client);
	if (r == 0)
		r = clickhouse_schema_drop_days(client, clickhouse_store_cluster(self), day);
	if (r < 0)
		log_warn("cannot remove days from ClickHouse, %s",
			 clickhouse_client_message(client));
	client_pool_return_take(self->pool, client);
	return MIN(r, 0);
}

static size_t count_before(const struct sizes *sizes, uint32_t day)
{
	size_t count = 0;

	while (count < sizes->days.count && sizes->days.items[count].day < day)
		count++;
	return count;
}

static int prune_by_age(struct clickhouse_store *self, const struct sizes *sizes,
			size_t *ret_removed)
{
	const uint64_t now_ns = check_clock(self), retention_ns = self->retention_ns;
	uint32_t day;
	int r = 0;

	if (retention_ns == 0 || now_ns <= retention_ns)
		return 0;
	day = (uint32_t)((now_ns - retention_ns) / DAY_NS);
	*ret_removed = count_before(sizes, day);
	if (*ret_removed > 0)
		r = drop_before(self, day);
	if (r == 0)
		self->first_day_by_age = day;
	return r;
}

/* Never the newest day. */
static int prune_to_size(struct clickhouse_store *self, const struct sizes *sizes,
			 size_t *ret_removed)
{
	const uint64_t max_bytes = self->max_bytes;
	uint64_t bytes = sizes->bytes;
	size_t n = 0;
	int r;

	if (max_bytes == 0)
		return 0;
	while (n + 1 < sizes->days.count && bytes > max_bytes)
		bytes -= sizes->days.items[n++].bytes;
	if (n == 0)
		return 0;
	r = drop_before(self, sizes->days.items[n].day);
	if (r == 0) {
		self->first_day_by_size = sizes->days.items[n].day;
		*ret_removed = n;
	}
	return r;
}

int clickhouse_store_retain(struct store *store, size_t *ret_removed)
{
	struct clickhouse_store *self = clickhouse_store_of(store);
	struct sizes sizes = {};
	size_t by_age = 0, by_size = 0;
	int r = find_sizes(self, &sizes);

	if (r == 0)
		r = prune_by_age(self, &sizes, &by_age);
	if (r == 0 && by_age == 0)
		r = prune_to_size(self, &sizes, &by_size);
	vec_release(&sizes.days);
	if (r < 0)
		return r;
	self->n_removed_by_age += by_age;
	self->n_removed_by_size += by_size;
	folder_log_removed(by_age, by_size);
	*ret_removed = by_age + by_size;
	return 0;
}

int clickhouse_store_removed_until(struct clickhouse_store *self, uint64_t *ret_slot,
				   enum store_removal *ret_reason)
{
	const uint64_t by_age = self->first_day_by_age, by_size = self->first_day_by_size;

	if (by_age == 0 && by_size == 0)
		return 0;
	*ret_slot = MAX(by_age, by_size) * SLOTS_PER_DAY;
	*ret_reason = by_size > by_age ? STORE_REMOVED_BY_SIZE : STORE_REMOVED_BY_AGE;
	return 1;
}
