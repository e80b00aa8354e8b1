/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A symbol table that is open: mapped from a file of flat_files.h, or, where the disk takes no
 * file, in memory. Counted: it outlives its place in the cache while somebody reads it. Counts are
 * changed under the cache's lock.
 */

#include "symbolizer/symbols/cache/flat_files.h"
#include "symbolizer/symbols/cache/table_database.h"
#include "symbolizer/symbols/table/symbol_file.h"

struct open_table {
	struct symbol_file *file;
	struct bytes memory; /* of a table without a file */
	struct hash128 name;
	uint64_t bytes;
	unsigned int references;
};

/* Writes the checked @flat, whose memory it takes, under @name and maps it. */
int open_table_from_flat(struct flat_files *files, const struct hash128 *name, struct bytes *flat,
			 struct open_table **ret_table);

/*
 * Opens the table of @row: the file that is there, or a new one from the stored form. 1 open, 0
 * there is no such table any more, or it was damaged and is removed.
 */
int open_table_from_row(struct flat_files *files, struct table_database *database,
			const struct executable_id *id, const struct stored_table *row,
			struct open_table **ret_table);

/* One reference less; the last one closes it. */
void open_table_release(struct open_table *table);
