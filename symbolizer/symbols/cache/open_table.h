/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * An open symbol table: mapped from a file of flat_files.h, or kept in memory if the file cannot be
 * written. It has a reference count, because a table may be evicted from the cache while a query
 * reads it. The count is changed under the cache's lock.
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

/* Writes @flat, which must be a valid table, to a file @name and maps it. Takes @flat's memory. */
int open_table_from_flat(struct flat_files *files, const struct hash128 *name, struct bytes *flat,
			 struct open_table **ret_table);

/*
 * Opens the table of @row from its flat file; makes that from the stored form if it is missing.
 * Returns 1, or 0 if the database no longer has the table, or it was damaged and has been removed.
 */
int open_table_from_row(struct flat_files *files, struct table_database *database,
			const struct executable_id *id, const struct stored_table *row,
			struct open_table **ret_table);

/* Drops a reference; the last one closes the table. */
void open_table_release(struct open_table *table);
