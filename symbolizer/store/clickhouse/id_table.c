/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/store/clickhouse/id_table.h"

#include "common/hash_table.h"
#include "common/vec.h"

struct id_table {
	struct hash_table *numbers;       /* struct hash128 -> u32 */
	VEC_DEFINE(, struct hash128) ids; /* by number */
};

int id_table_new(size_t max_ids, struct id_table **ret_table)
{
	scoped(id_table_freep) struct id_table *table = calloc(1, sizeof(*table));
	const struct hash128 zero = {};
	uint32_t number;
	int r;

	if (!table)
		return -ENOMEM;
	r = hash_table_new(sizeof(struct hash128), sizeof(uint32_t), max_ids + 1, &table->numbers);
	if (r == 0)
		r = id_table_number(table, &zero, &number);
	if (r < 0)
		return r;
	*ret_table = take_ptr(table);
	return 0;
}

struct id_table *id_table_free(struct id_table *table)
{
	if (!table)
		return NULL;
	(void)hash_table_free(table->numbers);
	vec_release(&table->ids);
	free(table);
	return NULL;
}

int id_table_number(struct id_table *table, const struct hash128 *id, uint32_t *ret_number)
{
	uint32_t *number;
	int r;

	r = vec_reserve(&table->ids, 1);
	if (r == 0)
		r = hash_table_insert(table->numbers, id, (void **)&number);
	if (r < 0)
		return r;
	if (r > 0) {
		*number = (uint32_t)table->ids.count;
		table->ids.items[table->ids.count++] = *id;
	}
	*ret_number = *number;
	return 0;
}

const struct hash128 *id_table_id(const struct id_table *table, uint64_t number)
{
	return number < table->ids.count ? &table->ids.items[number] : NULL;
}
