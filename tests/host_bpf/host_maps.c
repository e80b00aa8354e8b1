/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/host_bpf/host_maps.h"

#include <stdlib.h>
#include <string.h>

#include "agent/unwind/unwind_compile.h"
#include "common/clock.h"

#define START_TIME_TICK_NS (10 * NSEC_PER_MSEC)

/* 256 MiB of address space, of which only the used parts take memory. */
#define MAX_PARTS 1024

static int add_part(void *arg, uint32_t part, struct abi_unwind_slot **ret_slots)
{
	(void)arg;
	(void)part;
	*ret_slots = calloc(UNWIND_SLOTS_PER_PART, sizeof(**ret_slots));
	return *ret_slots ? 0 : -ENOMEM;
}

static int put_region(void *arg, uint64_t key, uint32_t directory)
{
	(void)arg;
	(void)key;
	(void)directory;
	return 0;
}

static void remove_region(void *arg, uint64_t key)
{
	(void)arg;
	(void)key;
}

static int prepare(struct host_maps *maps)
{
	if (maps->is_ready)
		return 0;
	maps->is_ready = true;
	maps->backend = (struct paging_backend){ .add_part = add_part,
						 .put_region = put_region,
						 .remove_region = remove_region };
	return paged_rows_init(&maps->rows, &maps->backend, MAX_PARTS, UNWIND_POOL_RULES);
}

void host_maps_release(struct host_maps *maps)
{
	for (uint32_t i = 0; i < maps->rows.slots.max_parts; i++)
		free(maps->rows.slots.parts[i]);
	if (maps->is_ready)
		paged_rows_release(&maps->rows);
	vec_release(&maps->infos);
	vec_release(&maps->chunks);
}

struct addition {
	struct host_maps *maps;
	uint32_t executable;
};

static int load_chunk(void *arg, const struct chunk_record *record)
{
	const struct addition *addition = arg;

	return paged_rows_load(&addition->maps->rows, addition->executable, record);
}

int host_maps_add_table(struct host_maps *maps, uint32_t executable,
			const struct unwind_table *table)
{
	struct addition addition = { .maps = maps, .executable = executable };
	int r = prepare(maps);

	while (r == 0 && maps->infos.count <= executable)
		r = vec_push(&maps->infos, (struct abi_unwind_info){});
	if (r == 0)
		r = chunk_writer_run(table, load_chunk, &addition);
	if (r == 0)
		maps->infos.items[executable] =
			(struct abi_unwind_info){ .first_page =
							  table->base_address >> UNWIND_PAGE_SHIFT,
						  .n_pages = table->n_pages };
	return r;
}

int host_maps_add_elf(struct host_maps *maps, uint32_t executable, const struct elf_file *elf)
{
	struct unwind_table_stats stats;
	struct unwind_table table = {};
	int r = unwind_table_compile(elf, &(struct unwind_options){}, &table, &stats);

	if (r > 0)
		r = host_maps_add_table(maps, executable, &table) ?: 1;
	unwind_table_release(&table);
	return r;
}

int host_maps_set_mappings(struct host_maps *maps, const struct abi_mapping *mappings,
			   size_t n_mappings)
{
	maps->chunks.count = 0;
	for (size_t first = 0; first < n_mappings; first += ABI_MAPPINGS_PER_CHUNK) {
		struct abi_mapping_chunk chunk = { .set = HOST_MAPS_SET };
		int r;

		if (maps->chunks.count == ABI_MAX_CHUNKS)
			return -E2BIG;
		chunk.n_mappings =
			(uint32_t)MIN(n_mappings - first, (size_t)ABI_MAPPINGS_PER_CHUNK);
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

static const uint32_t *find_region(void *argument, uint64_t key)
{
	const struct host_maps *maps = argument;

	return maps->is_ready ? directories_region(&maps->rows.directories, key) : NULL;
}

void host_maps_describe(struct host_maps *maps, struct host_unwind_input *input)
{
	maps->tables = (struct host_unwind_tables){
		.find = find_table,
		.find_region = find_region,
		.argument = maps,
		.parts = maps->rows.slots.parts,
		.n_parts = maps->rows.slots.max_parts,
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
