/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/store/clickhouse/id_table.h"

#include "common/hash_table.h"
#include "common/vec.h"

/* IDs whose memory is taken from the budget at a time. */
#define CHUNK_IDS 1024

/* An ID in the array and in the hash table, each of which may have twice the space. */
#define ID_BYTES (2 * (2 * sizeof(struct hash128) + sizeof(uint32_t) + sizeof(uint64_t)))

struct id_table {
	struct memory_budget *memory;
	uint64_t n_paid;                  /* IDs whose memory was taken */
	struct hash_table *numbers;       /* struct hash128 -> u32 */
	VEC_DEFINE(, struct hash128) ids; /* by number */
};

int id_table_new(size_t max_ids, struct memory_budget *memory, struct id_table **ret_table)
{
	scoped(id_table_freep) struct id_table *table = calloc(1, sizeof(*table));
	const struct hash128 zero = {};
	uint32_t number;
	int r;

	if (!table)
		return -ENOMEM;
	table->memory = memory;
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
	memory_budget_give(table->memory, table->n_paid * ID_BYTES);
	free(table);
	return NULL;
}

/* Most views have few IDs of each kind: the first chunk is free. */
static int pay(struct id_table *table)
{
	if (table->ids.count < CHUNK_IDS + table->n_paid)
		return 0;
	if (!memory_budget_take(table->memory, CHUNK_IDS * ID_BYTES))
		return -ENOMEM;
	table->n_paid += CHUNK_IDS;
	return 0;
}

int id_table_number(struct id_table *table, const struct hash128 *id, uint32_t *ret_number)
{
	uint32_t *number;
	int r;

	r = pay(table);
	if (r == 0)
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

size_t id_table_end(const struct id_table *table)
{
	return table->ids.count;
}
