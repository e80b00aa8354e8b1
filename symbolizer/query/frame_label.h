/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The label of a frame in the stack of a process:
 *
 *   f                        the process's main program
 *   [l] f                    any other file, the vDSO among them
 *   [k] f                    the kernel and its modules
 *   module+0x5e20            no name, but the ELF address at which its function begins; only where
 *                            that is asked for. Of type '?', as the others without a name
 *   [/path/of/module]        no name, but a path; [name] when only the file's name is known
 *   [k] [module]             no name in the kernel; [k] [kernel] for the image
 *   [unknown] 0x%016x        no file; [unknown start_thread?] for the outermost user frame
 *
 * Labels are interned in the tree; each is made once per place of the source, or once per (process,
 * executable) where the process matters.
 */

#include "common/hash_table.h"
#include "symbolizer/flame/tree.h"
#include "symbolizer/query/frame_table.h"

struct frame_labels {
	struct tree *tree;
	struct store *store;
	struct arena *arena;
	struct frame_table *frames;
	bool function_starts;     /* false: module+0x5e20 is never a label */
	struct hash_table *views; /* (process, executable) -> struct executable_view */
	uint32_t last_process, last_executable; /* of @last_view */
	struct executable_view *last_view;
};

/* All are borrowed. */
int frame_labels_init(struct frame_labels *labels, struct tree *tree, struct store *store,
		      struct arena *arena, struct frame_table *frames);
void frame_labels_release(struct frame_labels *labels);

/*
 * @place: one of the frame's places, which has a function; or RESOLVE_NO_PLACE where the frame has
 * no name. @outermost: the user frame that no other one called. 0 or negative errno.
 */
struct frame_of_stack {
	uint32_t index;
	uint32_t place;
	bool outermost;
};
int frame_label(struct frame_labels *labels, const struct store_process *process,
		const struct frame_of_stack *of, string_id *ret_label, char *ret_type);
