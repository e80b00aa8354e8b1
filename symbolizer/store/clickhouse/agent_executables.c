/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The executables of an agent, which ingest asks for after a restart. The tables have no epochs:
 * these are the files that the agent's processes of the last two days map. The kernel is not among
 * them; the agent defines it again with its next batch.
 */

#include "symbolizer/store/clickhouse/clickhouse_store_private.h"

#include <inttypes.h>

#include "common/limits.h"
#include "common/vec.h"
#include "symbolizer/store/clickhouse/sql.h"

struct executable_list {
	struct arena *arena;
	VEC_DEFINE(, struct store_executable) found;
};

static void executable_list_release(struct executable_list *list)
{
	vec_release(&list->found);
}

static int read_executable(void *arg, struct bytes_reader *row)
{
	struct executable_list *list = arg;
	struct store_executable executable = {};
	uint8_t kind = row_read_u8(row);
	struct bytes_view identity = row_read_string(row);
	struct bytes_view name = row_read_string(row);

	executable.role = (enum executable_role)row_read_u8(row);
	if (row->error < 0)
		return 0;
	if (executable_id_set(&executable.identity, kind, identity.data, identity.size) < 0)
		return -EBADMSG;
	executable.name = row_copy_text(name, list->arena);
	return executable.name ? vec_push(&list->found, executable) : -ENOMEM;
}

static int make_sql(const char *tenant, const struct hash128 *agent, uint64_t first_day, size_t max,
		    struct bytes *sql)
{
	const struct slot_range days = { .from = first_day * SLOTS_PER_DAY, .last = END_SLOT - 1 };

	(void)bytes_append_text(sql, "SELECT any(kind), any(identity), max(name), max(role) "
				     "FROM executables WHERE ");
	sql_add_days(sql, &days);
	sql_add_equal(sql, "tenant", tenant);
	(void)bytes_append_text(sql, " AND id IN (SELECT executable FROM path_sets ARRAY JOIN "
				     "executables AS executable WHERE ");
	sql_add_days(sql, &days);
	(void)bytes_append_text(sql, " AND id IN (SELECT path_set FROM processes WHERE ");
	sql_add_days(sql, &days);
	sql_add_equal(sql, "tenant", tenant);
	(void)bytes_append_text(sql, " AND agent = toFixedString(");
	sql_add_string(sql, agent, sizeof(*agent));
	(void)bytes_append_format(sql, ", 16))) GROUP BY id LIMIT %zu FORMAT RowBinary", max);
	return sql_end(sql);
}

int clickhouse_store_agent_executables(struct store *store, const char *tenant,
				       const struct hash128 *agent, uint64_t epoch, size_t max,
				       struct arena *arena,
				       struct store_executable **ret_executables, size_t *ret_count)
{
	struct clickhouse_store *self = clickhouse_store_of(store);
	const uint64_t today = clock_wall_ns(self->clock) / SLOT_NS / SLOTS_PER_DAY;
	scoped(executable_list_release) struct executable_list list = { .arena = arena };
	scoped(bytes_release) struct bytes sql = BYTES_INIT(MAX_SQL_BYTES);
	struct clickhouse_query query = { .idempotent = true,
					  .read_row = read_executable,
					  .arg = &list };
	struct store_executable *executables;
	int r = make_sql(tenant, agent, today > 0 ? today - 1 : 0, max, &sql);

	(void)epoch;
	query.sql = (const char *)sql.data;
	if (r == 0)
		r = clickhouse_store_read(self, &query);
	if (r < 0)
		return r == -EBADMSG ? -EIO : r;
	executables =
		arena_copy(arena, list.found.items, list.found.count * sizeof(*list.found.items));
	if (!executables)
		return -ENOMEM;
	*ret_executables = executables;
	*ret_count = list.found.count;
	return 0;
}
