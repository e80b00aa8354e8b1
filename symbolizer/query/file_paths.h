/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The paths from which processes map executables. The caller first names all it needs, and then
 * reads them together: thousands of processes cost one call of the store. Processes with equal
 * paths (store_process.path_set) are read once.
 */

#include "common/hash_table.h"
#include "common/vec.h"
#include "symbolizer/store/store_view.h"

VEC_DEFINE(mapped_file_vec, struct store_mapped_file);

struct file_paths {
	struct hash_table *numbers;   /* (paths, executable) -> index of @files and @paths */
	struct mapped_file_vec files; /* in the order in which they were named */
	const char **paths;           /* [n_read] in the arena; NULL: unknown */
	size_t n_read;
};

int file_paths_init(struct file_paths *paths);
void file_paths_release(struct file_paths *paths);

/* Names a path. Returns 0 or -ENOMEM. */
int file_paths_want(struct file_paths *paths, const struct store_process *process,
		    uint32_t executable);

/* Reads all that were named, once. Returns 0 or a negative errno of the store. */
int file_paths_read(struct file_paths *paths, struct store_view *view, struct arena *arena);

/* Returns the path; NULL: it is unknown. It must have been named before file_paths_read(). */
const char *file_paths_find(const struct file_paths *paths, const struct store_process *process,
			    uint32_t executable);
