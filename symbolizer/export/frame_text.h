/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Texts of frames and stacks, and numbers for them, which several formats use. */

#include "common/hash_table.h"
#include "symbolizer/export/export.h"

/*
 * Returns the name of the function without the prefix of its label: "vfs_read" for "[k] vfs_read".
 * Frames without a name have their label.
 */
const char *frame_text_name(const struct resolved_stacks *stacks,
			    const struct resolved_frame *frame);

/* Returns the file name of the frame's source, or "". It may have any bytes. */
const char *frame_text_source(const struct resolved_stacks *stacks,
			      const struct resolved_frame *frame);

/* Returns the source line, or 0. */
uint32_t frame_text_line(const struct resolved_stacks *stacks, const struct resolved_frame *frame);

/*
 * Returns the ELF address of a frame, or its position in a code object. An address that is known
 * as an offset in a file is converted if the load segments are known.
 */
uint64_t frame_text_address(const struct resolved_stacks *stacks,
			    const struct resolved_frame *frame);

/* Returns the level @index of the stack's group as a frame. */
struct resolved_frame frame_text_level(const struct resolved_stacks *stacks,
				       const struct resolved_stack *stack, uint32_t index);

/* Room for a name in brackets. */
#define FRAME_TEXT_FILE_SIZE 300

/*
 * Returns the file name of an executable: its path in @process or another one, else its base name.
 * Names of what is no file are in brackets, as in /proc/PID/maps. It may have any bytes, and is
 * valid as long as @room and the arena of @stacks. 0 or a negative errno of the store.
 */
int frame_text_file(const struct resolved_stacks *stacks, const struct store_process *process,
		    const struct store_executable *executable, char room[FRAME_TEXT_FILE_SIZE],
		    const char **ret_name);

/* "nanoseconds" for ns, else the unit of the event type. */
const char *export_unit_name(const struct event_type_info *event);

/*
 * Numbers keys from 0 in the order of their first use. @numbers maps keys to uint32_t. Returns 1 if
 * the key is new, 0 if not, or -ENOMEM.
 */
int export_number_of(struct hash_table *numbers, const void *key, uint32_t *ret_number);
