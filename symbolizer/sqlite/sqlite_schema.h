/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The tables of a database file. SQLite's user_version is the number of the file's format; a new
 * file has 0. All tables are created or converted in one transaction, so that after a crash, or
 * with a full disk, the file has either its old format or the new one.
 */

#include "symbolizer/sqlite/sqlite_db.h"

struct sqlite_schema {
	int version; /* of the format that make() writes */

	/*
	 * make() can convert formats in [oldest, newest], besides @version. 0..0: new files only.
	 */
	int oldest, newest;

	/* Creates the tables (@found is 0) or converts them from format @found. */
	int (*make)(struct sqlite_db *db, int found, const void *arg);
	const void *arg; /* of make() */
};

/*
 * If the file has schema->version, this writes nothing: a server must start on a full disk too.
 * Otherwise it calls make() in a transaction. -ENOTSUP: make() cannot convert the format. This
 * error and a failed conversion are logged.
 */
int sqlite_ensure_schema(struct sqlite_db *db, const struct sqlite_schema *schema);
