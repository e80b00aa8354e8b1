/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/export/frame_text.h"

#include <stdio.h>
#include <string.h>

#define LABEL_PREFIX_BYTES 4 /* "[k] " */

const char *frame_text_name(const struct resolved_stacks *stacks,
			    const struct resolved_frame *frame)
{
	const char *label = resolved_label(stacks, frame);

	if (frame->function != FRAME_NO_FUNCTION && strchr("KLC", frame->type) &&
	    strlen(label) > LABEL_PREFIX_BYTES)
		return label + LABEL_PREFIX_BYTES;
	return label;
}

const char *frame_text_source(const struct resolved_stacks *stacks,
			      const struct resolved_frame *frame)
{
	const struct frame_function *function = resolved_function(stacks, frame);

	return function && function->file ? function->file : "";
}

uint32_t frame_text_line(const struct resolved_stacks *stacks, const struct resolved_frame *frame)
{
	const struct frame_function *function = resolved_function(stacks, frame);

	return function ? function->line : 0;
}

uint64_t frame_text_address(const struct resolved_stacks *stacks,
			    const struct resolved_frame *frame)
{
	const struct store_executable *executable = resolved_executable(stacks, frame);
	const struct frame *stored = resolved_stored(stacks, frame);
	uint64_t address;

	if (!stored)
		return 0;
	address = stored->stored.address;
	if (executable && stored->stored.kind == FRAME_NATIVE_FILE_OFFSET)
		(void)load_segments_offset_to_vaddr(executable->segments, executable->n_segments,
						    stored->stored.address, &address);
	return address;
}

struct resolved_frame frame_text_level(const struct resolved_stacks *stacks,
				       const struct resolved_stack *stack, uint32_t index)
{
	const string_id label = stack->group->levels[index];

	return (struct resolved_frame){
		.label = label,
		.frame = RESOLVED_NO_FRAME,
		.function = FRAME_NO_FUNCTION,
		.type = tree_label_type(stacks->tree, label),
	};
}

int frame_text_file(const struct resolved_stacks *stacks, const struct store_process *process,
		    const struct store_executable *executable, char room[FRAME_TEXT_FILE_SIZE],
		    const char **ret_name)
{
	const struct store_mapped_file file = { process->id, executable->id };
	const char *path = NULL;
	int r = 0;

	if (executable->role == ROLE_USER && stacks->view)
		r = store_paths_of(stacks->view, &file, 1, stacks->arena, &path);
	if (r < 0)
		return r;
	if (executable->role == ROLE_KERNEL)
		path = "[kernel.kallsyms]";
	if (!path || !path[0]) {
		path = executable->name ? executable->name : "";
		(void)snprintf(room, FRAME_TEXT_FILE_SIZE,
			       executable->role == ROLE_KERNEL_MODULE && path[0] != '[' ? "[%s]"
											: "%s",
			       path);
		path = room;
	}
	*ret_name = path;
	return 0;
}

const char *export_unit_name(const struct event_type_info *event)
{
	return strcmp(event->unit, "ns") == 0 ? "nanoseconds" : event->unit;
}

int export_number_of(struct hash_table *numbers, const void *key, uint32_t *ret_number)
{
	void *value;
	int r;

	r = hash_table_insert(numbers, key, &value);
	if (r < 0)
		return r;
	if (r > 0)
		*(uint32_t *)value = (uint32_t)hash_table_count(numbers) - 1;
	*ret_number = *(uint32_t *)value;
	return r;
}
