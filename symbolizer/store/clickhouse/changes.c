/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/store/clickhouse/changes.h"

#include "symbolizer/store/clickhouse/in_process_tables.h"
#include "symbolizer/store/clickhouse/row_binary.h"

struct unit_key {
	uint64_t tenant; /* hash */
	uint64_t unit;
};

int changes_init(struct changes *changes, size_t max_bytes)
{
	*changes = (struct changes){ .rows = BYTES_INIT(max_bytes) };
	return hash_table_new(sizeof(struct unit_key), 0, 0, &changes->units);
}

void changes_release(struct changes *changes)
{
	(void)hash_table_free(changes->units);
	bytes_release(&changes->rows);
}

void changes_begin(struct changes *changes, uint64_t change, uint64_t stored_ns)
{
	hash_table_clear(changes->units);
	bytes_clear(&changes->rows);
	changes->change = change;
	changes->stored_ns = stored_ns;
}

static int add_unit(struct changes *changes, const char *tenant, const struct unit_key *key)
{
	int r = hash_table_insert(changes->units, key, NULL);

	if (r <= 0)
		return r;
	row_add_u16(&changes->rows, (uint16_t)in_process_day(key->unit));
	row_add_u32(&changes->rows, (uint32_t)key->unit);
	row_add_text(&changes->rows, tenant);
	row_add_u64(&changes->rows, changes->change);
	row_add_u64(&changes->rows, changes->stored_ns);
	return bytes_error(&changes->rows);
}

int changes_add(struct changes *changes, const char *tenant, const struct batch *batch)
{
	struct unit_key key = { .tenant = hash64_of(tenant, strlen(tenant)), .unit = UINT64_MAX };
	int r = 0;

	for (uint32_t i = 0; i < batch->n_rows && r >= 0; i++) {
		uint64_t unit = batch->rows[i].slot / IN_PROCESS_UNIT_SLOTS;

		/* Most batches have the samples of one unit. */
		if (unit == key.unit)
			continue;
		key.unit = unit;
		if (unit > IN_PROCESS_MAX_UNIT)
			continue;
		r = add_unit(changes, tenant, &key);
	}
	return MIN(r, 0);
}

int changes_insert(const struct changes *changes, struct clickhouse_client *client,
		   uint64_t timeout_ns)
{
	const struct clickhouse_query query = {
		.sql = IN_PROCESS_INSERT_CHANGES,
		.rows = bytes_view_of(&changes->rows),
		.idempotent = true, /* equal rows merge */
		.timeout_ns = timeout_ns,
	};

	return query.rows.size > 0 ? clickhouse_client_run(client, &query) : 0;
}
