/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Composes the label of a frame in the stack of a process:
 *
 *   f                        function of the process's main program
 *   f (file:12)              function of a script, with the line that it executes
 *   [l] f                    function of another file, also of the vDSO
 *   [k] f                    function of the kernel or a module
 *   module+0x5e20            no name, but the ELF address at which the function begins is known;
 *                            only with function_starts. Type '?', like all frames without a name
 *   [/path/of/module]        no name, but a path; [name] if only the file's name is known
 *   [k] [module]             no name, in a kernel module; [k] [kernel] in the kernel image
 *   [kind 19]                a kind that this version does not know; [python] if the code object
 *                            has no name
 *   [unknown] 0x%016x        in no file; [unknown start_thread?] for the outermost user frame
 *
 * Labels are interned in the tree. Each is made once per function, or once per (process,
 * executable) if it depends on the process. The paths in labels are read from the store together,
 * before the first label is made.
 */

#include "common/hash_table.h"
#include "symbolizer/flame/tree.h"
#include "symbolizer/query/file_paths.h"
#include "symbolizer/query/frame_table.h"

struct frame_labels {
	struct tree *tree;
	struct frame_table *frames;
	struct file_paths paths;
	bool function_starts;     /* false: no label is module+0x5e20 */
	struct hash_table *views; /* (process, executable) -> struct executable_view */
	uint64_t last_process, last_executable; /* the key of @last_view */
	struct executable_view *last_view;
};

/* Borrows all arguments. */
int frame_labels_init(struct frame_labels *labels, struct tree *tree, struct frame_table *frames);
void frame_labels_release(struct frame_labels *labels);

/*
 * Some labels have the path of the frame's executable, or depend on it. Before the first label is
 * made, the caller calls frame_labels_want() for each frame with frame_needs_path(), and then
 * file_paths_read() for labels->paths.
 */
bool frame_needs_path(const struct frame_labels *labels, const struct store_process *process,
		      uint32_t frame);
int frame_labels_want(struct frame_labels *labels, const struct store_process *process,
		      uint32_t frame);

/* True if the frame needs the path in every process. Other frames need it only in processes without
 * main_executable. */
bool frame_shows_path(const struct frame_labels *labels, uint32_t frame);

struct frame_of_stack {
	uint32_t index;    /* of the frame in the frame table */
	uint32_t function; /* one of the frame's, with a name; FRAME_NO_FUNCTION: none has a name */
	bool outermost;    /* no other user frame called it */
};

/* Returns 0 or a negative errno. */
int frame_label(struct frame_labels *labels, const struct store_process *process,
		const struct frame_of_stack *of, string_id *ret_label, char *ret_type);
