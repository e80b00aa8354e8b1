/* SPDX-License-Identifier: Apache-2.0 */
/* Texts are copied one by one. A copy that fails leaves unused bytes in the arena, no more. */

#include "symbolizer/store/head/numbers_copy.h"

#include <string.h>

/* Replaces a text by its copy. Returns whether that succeeded. */
static bool own_text(struct arena *arena, const char **text)
{
	*text = arena_copy_text(arena, *text ? *text : "", *text ? strlen(*text) : 0);
	return *text != NULL;
}

static bool own_labels(struct arena *arena, struct label **labels, uint32_t count)
{
	struct label *copy = arena_alloc_array(arena, count, sizeof(*copy));
	bool ok = copy != NULL;

	for (uint32_t i = 0; i < count && ok; i++) {
		copy[i] = (*labels)[i];
		ok = own_text(arena, &copy[i].name) && own_text(arena, &copy[i].value);
	}
	*labels = copy;
	return ok;
}

int copy_host(struct arena *arena, const struct batch_host *from, struct batch_host *ret_to)
{
	struct batch_host host = *from;
	bool ok;

	host.ips = arena_alloc_array(arena, from->n_ips, sizeof(*host.ips));
	ok = host.ips && own_text(arena, &host.name) && own_text(arena, &host.machine_id) &&
	     own_text(arena, &host.boot_id) && own_text(arena, &host.agent_version) &&
	     own_text(arena, &host.kernel_release) && own_text(arena, &host.architecture) &&
	     own_labels(arena, &host.labels, host.n_labels);
	for (uint32_t i = 0; i < from->n_ips && ok; i++) {
		host.ips[i] = from->ips[i];
		ok = own_text(arena, &host.ips[i]);
	}
	if (!ok)
		return -ENOSPC;
	*ret_to = host;
	return 0;
}

int copy_executable(struct arena *arena, const struct batch_executable *from,
		    struct batch_executable *ret_to)
{
	struct batch_executable executable = *from;

	executable.segments =
		arena_alloc_array(arena, from->n_segments, sizeof(*executable.segments));
	if (!executable.segments || !own_text(arena, &executable.name))
		return -ENOSPC;
	for (uint32_t i = 0; i < from->n_segments; i++)
		executable.segments[i] = from->segments[i];
	*ret_to = executable;
	return 0;
}

int copy_code_object(struct arena *arena, const struct batch_code_object *from,
		     struct batch_code_object *ret_to)
{
	struct batch_code_object code = *from;

	if (!own_text(arena, &code.language) || !own_text(arena, &code.function) ||
	    !own_text(arena, &code.qualified_name) || !own_text(arena, &code.file))
		return -ENOSPC;
	if (code.line_table.size > 0)
		code.line_table.data =
			arena_copy(arena, code.line_table.data, code.line_table.size);
	if (code.line_table.size > 0 && !code.line_table.data)
		return -ENOSPC;
	*ret_to = code;
	return 0;
}

int copy_process(struct arena *arena, const struct batch_process *from,
		 struct batch_process *ret_to)
{
	struct batch_process process = *from;
	bool ok;

	process.paths = arena_alloc_array(arena, from->n_paths, sizeof(*process.paths));
	ok = process.paths && own_text(arena, &process.name) &&
	     own_text(arena, &process.executable_path) &&
	     own_labels(arena, &process.labels, process.n_labels);
	for (uint32_t i = 0; i < from->n_paths && ok; i++) {
		process.paths[i] = from->paths[i];
		ok = own_text(arena, &process.paths[i].path);
	}
	if (!ok)
		return -ENOSPC;
	*ret_to = process;
	return 0;
}

int copy_series(struct arena *arena, const struct batch_series *from, struct batch_series *ret_to)
{
	struct batch_series series = *from;
	struct batch_event_type *described;

	if (!own_text(arena, &series.thread_name) ||
	    !own_labels(arena, &series.labels, series.n_labels))
		return -ENOSPC;
	if (from->described) {
		described = arena_copy(arena, from->described, sizeof(*described));
		if (!described || !own_text(arena, &described->name) ||
		    !own_text(arena, &described->unit))
			return -ENOSPC;
		series.described = described;
	}
	*ret_to = series;
	return 0;
}

bool equal_executables(const struct batch_executable *a, const struct batch_executable *b)
{
	bool equal = executable_id_equal(&a->id, &b->id) && strcmp(a->name, b->name) == 0 &&
		     a->role == b->role && a->n_segments == b->n_segments;

	for (uint32_t i = 0; i < a->n_segments && equal; i++)
		equal = a->segments[i].file_offset == b->segments[i].file_offset &&
			a->segments[i].vaddr == b->segments[i].vaddr &&
			a->segments[i].file_size == b->segments[i].file_size &&
			a->segments[i].memory_size == b->segments[i].memory_size;
	return equal;
}

bool equal_code_objects(const struct batch_code_object *a, const struct batch_code_object *b)
{
	return hash128_equal(&a->hash, &b->hash) && strcmp(a->language, b->language) == 0 &&
	       strcmp(a->function, b->function) == 0 &&
	       strcmp(a->qualified_name, b->qualified_name) == 0 && strcmp(a->file, b->file) == 0 &&
	       a->first_line == b->first_line && a->line_table.size == b->line_table.size &&
	       (a->line_table.size == 0 ||
		memcmp(a->line_table.data, b->line_table.data, a->line_table.size) == 0);
}
