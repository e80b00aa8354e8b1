/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/store/clickhouse/sql.h"

#include <inttypes.h>

#include "common/limits.h"

bool slot_range_make(uint64_t from_slot, uint64_t to_slot, struct slot_range *ret_range)
{
	uint64_t to = to_slot ? MIN(to_slot, (uint64_t)END_SLOT) : END_SLOT;

	if (from_slot >= to)
		return false;
	*ret_range = (struct slot_range){ .from = from_slot, .last = to - 1 };
	return true;
}

void sql_add_days(struct bytes *sql, const struct slot_range *range)
{
	(void)bytes_append_format(sql, "day >= %" PRIu64 " AND day <= %" PRIu64,
				  range->from / SLOTS_PER_DAY, range->last / SLOTS_PER_DAY);
}

void sql_add_equal(struct bytes *sql, const char *column, const char *text)
{
	if (!text)
		return;
	(void)bytes_append_format(sql, " AND %s = ", column);
	sql_add_string(sql, text, strlen(text));
}

int sql_end(struct bytes *sql)
{
	(void)bytes_append_byte(sql, '\0');
	return bytes_error(sql);
}

struct row_texts row_read_texts(struct bytes_reader *row)
{
	struct row_texts texts = { .count = row_read_count(row, 1) };

	texts.items = *row;
	for (size_t i = 0; i < texts.count; i++)
		(void)row_read_string(row);
	return texts;
}

const char *row_copy_text(struct bytes_view text, struct arena *arena)
{
	return arena_copy_text(arena, text.size ? (const char *)text.data : "", text.size);
}

const char *row_texts_next(struct row_texts *texts, struct arena *arena)
{
	return row_copy_text(row_read_string(&texts->items), arena);
}

int row_copy_labels(struct row_texts names, struct row_texts values, struct arena *arena,
		    struct label **ret_labels, uint32_t *ret_count)
{
	size_t count = MIN(names.count, values.count);
	struct label *labels = arena_alloc_array(arena, count, sizeof(*labels));

	if (!labels)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		labels[i].name = row_texts_next(&names, arena);
		labels[i].value = row_texts_next(&values, arena);
		if (!labels[i].name || !labels[i].value)
			return -ENOMEM;
	}
	*ret_labels = labels;
	*ret_count = (uint32_t)count;
	return 0;
}
