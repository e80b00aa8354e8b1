/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The files of the data folder, seen as files: their sizes and their removal. No database is
 * opened, which may need space on a full disk.
 */

#include "common/arena.h"
#include "symbolizer/store/sqlite/schema.h"

/* A day file with its WAL and index. */
struct day_file {
	day_number day;
	uint64_t bytes; /* allocated on the disk */
};

/* *ret_files is in @arena, ascending by day. */
int day_samples_list(int folder_fd, struct arena *arena, struct day_file **ret_files,
		     size_t *ret_count);

/*
 * How many of the oldest files must be removed for the rest to fit, if all files together have
 * @bytes. Never the newest one. @max_bytes 0: none.
 */
size_t day_files_beyond(const struct day_file *files, size_t n_files, uint64_t bytes,
			uint64_t max_bytes);

/* Also removes the WAL and its index, which a new file of this name must not find. */
int day_samples_remove(int folder_fd, day_number day);

/* The space that hearth.db and all day files take. Files that cannot be examined count 0. */
uint64_t store_files_bytes(int folder_fd);
