/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A symbol table that is open: mapped from a file of table_files.h, or, where the disk takes no
 * file, in memory. Counted: it outlives its place in the cache while somebody reads it. Counts are
 * changed under the cache's lock.
 */

#include "symbolizer/symbols/cache/table_files.h"
#include "symbolizer/symbols/cache/table_store.h"
#include "symbolizer/symbols/table/symbol_file.h"

struct cached_table {
	struct symbol_file *file;
	struct bytes memory; /* of a table without a file */
	struct hash128 name;
	uint64_t bytes;
	unsigned int references;
};

/* Writes the checked @flat, whose memory it takes, under @name and maps it. */
int cached_table_of_flat(struct table_files *files, const struct hash128 *name, struct bytes *flat,
			 struct cached_table **ret_cached);

/*
 * Opens the table of @row: the file that is there, or a new one from the stored form. 1 open, 0
 * there is no such table any more, or it was damaged and is removed.
 */
int cached_table_of_row(struct table_files *files, struct table_store *store,
			const struct executable_id *id, const struct stored_table *row,
			struct cached_table **ret_cached);

/* One reference less; the last one closes it. */
void cached_table_release(struct cached_table *cached);
