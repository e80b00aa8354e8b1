/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/sqlite/sqlite_schema.h"

#include <stdio.h>

#include "common/log.h"

static int read_version(struct sqlite_db *db, int *ret_version)
{
	sqlite3_stmt *row = NULL;
	int r;

	if (sqlite3_prepare_v2(db->handle, "PRAGMA user_version", -1, &row, NULL) != SQLITE_OK)
		return sqlite_db_error(db, sqlite3_extended_errcode(db->handle));
	r = sqlite_step(db, row);
	if (r > 0)
		*ret_version = sqlite3_column_int(row, 0);
	(void)sqlite3_finalize(row);
	return MIN(r, 0);
}

static int make_tables(struct sqlite_db *db, const struct sqlite_schema *schema, int found)
{
	char set_version[64];
	int r;

	(void)snprintf(set_version, sizeof(set_version), "PRAGMA user_version=%d", schema->version);
	r = sqlite_begin(db);
	if (r == 0)
		r = schema->make(db, found, schema->arg);
	if (r == 0)
		r = sqlite_db_run(db, set_version);
	if (r == 0)
		return sqlite_commit(db);
	sqlite_rollback(db);
	return r;
}

int sqlite_ensure_schema(struct sqlite_db *db, const struct sqlite_schema *schema)
{
	const char *path = sqlite3_db_filename(db->handle, "main");
	int found = 0;
	int r;

	r = read_version(db, &found);
	if (r < 0 || found == schema->version)
		return r;
	if (found < schema->oldest || found > schema->newest)
		return log_error_errno(ENOTSUP,
				       "'%s' has format %d, but this version of the program reads "
				       "format %d; move the data folder away or use the version "
				       "that wrote it: %m",
				       path, found, schema->version);
	r = make_tables(db, schema, found);
	if (r < 0 && found != 0)
		return log_error_errno(r,
				       "cannot convert '%s' from format %d to %d, the file is "
				       "unchanged: %m",
				       path, found, schema->version);
	return r;
}
