/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/bpf_programs/map_memory.h"

#include <bpf/libbpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/bpf_programs/program_set.h"
#include "common/bytes.h"
#include "common/file.h"

static bool changes_size(const struct bpf_map *map)
{
	return bpf_map__type(map) == BPF_MAP_TYPE_HASH ||
	       bpf_map__type(map) == BPF_MAP_TYPE_TASK_STORAGE;
}

static uint64_t read_bytes(const struct bpf_map *map)
{
	struct bytes text = BYTES_INIT(4096);
	const char *line = NULL;
	uint64_t value = 0;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", bpf_map__fd(map));
	if (file_read(path, &text) == 0 && bytes_append_byte(&text, 0) == 0)
		line = strstr((const char *)text.data, "memlock:");
	if (line)
		value = strtoull(line + strlen("memlock:"), NULL, 10);
	bytes_release(&text);
	return value;
}

static bool is_left_out(const struct map_memory *memory, const struct bpf_map *map)
{
	for (size_t i = 0; i < memory->n_choices; i++) {
		const struct bpf_program_set *set = memory->choices[i].set;

		for (size_t j = 0; j < set->n_maps; j++)
			if (set->maps[j].left_out &&
			    strcmp(set->maps[j].name, bpf_map__name(map)) == 0)
				return true;
	}
	return false;
}

uint64_t map_memory_read(struct map_memory *memory, const struct bpf_object *object)
{
	const struct bpf_map *map;
	uint64_t total = 0;

	bpf_object__for_each_map(map, object)
	{
		if (is_left_out(memory, map))
			continue;
		if (changes_size(map))
			total += read_bytes(map);
		else if (!memory->fixed_read)
			memory->fixed_bytes += read_bytes(map);
	}
	memory->fixed_read = true;
	return total + memory->fixed_bytes;
}
