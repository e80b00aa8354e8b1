/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/host_bpf/host_maps.h"

#include <string.h>

#include "common/clock.h"

#define START_TIME_TICK_NS (10 * NSEC_PER_MSEC)

void host_maps_release(struct host_maps *maps)
{
	vec_release(&maps->rows);
	vec_release(&maps->pages);
	vec_release(&maps->rules);
	vec_release(&maps->infos);
	vec_release(&maps->chunks);
}

/* Appends, and makes sure that the last value of the map is whole, with zeros behind what is in it. */
#define append_elements(vec, source, n, per_chunk)                                                             \
	({                                                                                                     \
		int append_r_ = vec_reserve((vec), (n) + (per_chunk));                                         \
		if (append_r_ == 0) {                                                                          \
			memcpy((vec)->items + (vec)->count, (source), (n) * sizeof(*(vec)->items));            \
			(vec)->count += (n);                                                                   \
			memset((vec)->items + (vec)->count, 0, (per_chunk) * sizeof(*(vec)->items));           \
		}                                                                                              \
		append_r_;                                                                                     \
	})

#define n_chunks_of(vec, per_chunk) ((uint32_t)(((vec)->count + (per_chunk) - 1) / (per_chunk)))

int host_maps_add_table(struct host_maps *maps, uint32_t executable, const struct unwind_table *table)
{
	struct abi_unwind_info info = {
		.base_address = table->base_address,
		.n_pages = table->n_pages,
		.first_page = (uint32_t)maps->pages.count,
		.first_row = (uint32_t)maps->rows.count,
		.first_rule = (uint32_t)maps->rules.count,
		.n_rules = table->n_rules,
	};
	int r = 0;

	while (r == 0 && maps->infos.count <= executable)
		r = vec_push(&maps->infos, (struct abi_unwind_info){});
	if (r == 0)
		r = append_elements(&maps->rows, table->rows, table->n_rows, UNWIND_ROWS_PER_CHUNK);
	if (r == 0)
		r = append_elements(&maps->pages, table->page_first, table->n_pages + 1, UNWIND_PAGES_PER_CHUNK);
	if (r == 0)
		r = append_elements(&maps->rules, table->rules, table->n_rules, UNWIND_RULES_PER_CHUNK);
	if (r == 0)
		maps->infos.items[executable] = info;
	return r;
}

int host_maps_add_elf(struct host_maps *maps, uint32_t executable, const struct elf_file *elf)
{
	struct unwind_table_stats stats;
	struct unwind_table table = {};
	int r = unwind_table_compile(elf, &table, &stats);

	if (r > 0)
		r = host_maps_add_table(maps, executable, &table) ?: 1;
	unwind_table_release(&table);
	return r;
}

int host_maps_set_mappings(struct host_maps *maps, const struct abi_mapping *mappings, size_t n_mappings)
{
	maps->chunks.count = 0;
	for (size_t first = 0; first < n_mappings; first += ABI_MAPPINGS_PER_CHUNK) {
		struct abi_mapping_chunk chunk = { .set = HOST_MAPS_SET };
		int r;

		if (maps->chunks.count == ABI_MAX_CHUNKS)
			return -E2BIG;
		chunk.n_mappings = (uint32_t)MIN(n_mappings - first, (size_t)ABI_MAPPINGS_PER_CHUNK);
		memcpy(chunk.mappings, mappings + first, chunk.n_mappings * sizeof(*mappings));
		maps->directory.chunk_start[maps->chunks.count] = mappings[first].start;
		r = vec_push(&maps->chunks, chunk);
		if (r < 0)
			return r;
	}
	maps->directory.set = HOST_MAPS_SET;
	maps->directory.n_mappings = (uint32_t)maps->chunks.count;
	maps->process.n_chunks = (uint32_t)maps->chunks.count;
	maps->process.set = HOST_MAPS_SET;
	maps->process.start_time_10ms = HOST_MAPS_START_NS / START_TIME_TICK_NS;
	maps->process.exec_count = HOST_MAPS_EXEC_COUNT;
	return 0;
}

static const struct abi_unwind_info *find_table(void *argument, uint32_t executable)
{
	const struct host_maps *maps = argument;

	if (executable >= maps->infos.count || maps->infos.items[executable].n_pages == 0)
		return NULL;
	return &maps->infos.items[executable];
}

void host_maps_describe(struct host_maps *maps, struct host_unwind_input *input)
{
	/* Vectors move as they grow. */
	maps->tables = (struct host_unwind_tables){
		.find = find_table,
		.find_argument = maps,
		.rows = (const struct abi_unwind_row_chunk *)maps->rows.items,
		.pages = (const struct abi_unwind_page_chunk *)maps->pages.items,
		.rules = (const struct abi_unwind_rule_chunk *)maps->rules.items,
		.n_row_chunks = n_chunks_of(&maps->rows, UNWIND_ROWS_PER_CHUNK),
		.n_page_chunks = n_chunks_of(&maps->pages, UNWIND_PAGES_PER_CHUNK),
		.n_rule_chunks = n_chunks_of(&maps->rules, UNWIND_RULES_PER_CHUNK),
	};
	input->tables = &maps->tables;
	input->process = (struct host_unwind_process){
		.pid = HOST_MAPS_PID,
		.tid = HOST_MAPS_PID,
		.exec_count = HOST_MAPS_EXEC_COUNT,
		.start_time_ns = HOST_MAPS_START_NS,
		.entry = &maps->process,
		.chunks = maps->chunks.items,
		.n_chunks = maps->chunks.count,
		.directory = &maps->directory,
	};
}
