/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles of OpenTelemetry may name a file by its htlhash only (executable_id.h). The store keeps
 * the identity of each uploaded file by the hash of the file, also after a better file replaced it.
 * The alias is removed with the last file of both.
 */

#include <endian.h>
#include <gnutls/crypto.h>
#include <string.h>

#include "common/elf/build_id.h"
#include "common/file.h"
#include "common/log.h"
#include "symbolizer/debuginfo/debuginfo_private.h"

/* Bytes at each end of the file that the hash covers. */
#define END_BYTES DEBUGINFO_HTLHASH_END_BYTES

/*
 * Aliases of an identity. Each upload of another file adds one, also if the file is not stored, so
 * the quota does not limit them. Programs of one build differ in their symbols and signatures only.
 */
#define MAX_ALIASES 64

static int hash_ends(gnutls_hash_hd_t state, int fd, uint64_t size)
{
	const uint64_t length = htobe64(size);
	const size_t piece = (size_t)MIN(size, (uint64_t)END_BYTES);
	uint8_t bytes[END_BYTES];
	int r;

	r = pread_all(fd, bytes, piece, 0);
	if (r == 0 && gnutls_hash(state, bytes, piece) < 0)
		r = -EIO;
	if (r == 0)
		r = pread_all(fd, bytes, piece, size - piece);
	if (r == 0 && (gnutls_hash(state, bytes, piece) < 0 ||
		       gnutls_hash(state, &length, sizeof(length)) < 0))
		r = -EIO;
	return r;
}

int debuginfo_htlhash_of_fd(int fd, uint64_t size, struct executable_id *ret_id)
{
	uint8_t digest[DEBUGINFO_SHA256_BYTES];
	gnutls_hash_hd_t state;
	int r;

	if (gnutls_hash_init(&state, GNUTLS_DIG_SHA256) < 0)
		return -ENOMEM;
	r = hash_ends(state, fd, size);
	gnutls_hash_deinit(state, digest);
	return r < 0 ? r
		     : executable_id_set(ret_id, EXECUTABLE_ID_HTLHASH, digest,
					 EXECUTABLE_ID_HTLHASH_BYTES);
}

/* Returns 1 if one more alias of @alias->id can be added. Removes one that is not more trusted if
 * there are too many. */
static int make_room(struct sqlite_db *db, const struct debuginfo_alias *alias)
{
	const struct sqlite_value kind = SQL_INT(alias->id.kind);
	const struct sqlite_value identity = SQL_BLOB(alias->id.bytes, alias->id.size);

	for (unsigned int attempt = 0; attempt < 2; attempt++) {
		scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
		int r = sqlite_query(db, SQL_ALIAS_COUNT, &row, kind, identity);

		if (r < 0)
			return r;
		if (sqlite3_column_int64(row, 0) < MAX_ALIASES)
			return 1;
		(void)sqlite3_reset(row);
		r = sqlite_run(db, SQL_ALIAS_DROP_ONE, kind, identity, SQL_INT(alias->origin));
		if (r < 0)
			return r;
	}
	return 0;
}

/* The files may have been removed since the upload was stored. */
static int has_files(struct sqlite_db *db, const struct debuginfo_alias *alias)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;

	return sqlite_query(db, SQL_ALIAS_HAS_FILES, &row, SQL_INT(alias->id.kind),
			    SQL_BLOB(alias->id.bytes, alias->id.size),
			    SQL_BLOB(alias->htlhash.bytes, alias->htlhash.size));
}

int debuginfo_alias_put(struct sqlite_db *db, const struct debuginfo_alias *alias)
{
	enum debuginfo_origin origin;
	struct executable_id known;
	int r;

	r = debuginfo_db_alias(db, &alias->htlhash, &known, &origin);
	if (r < 0)
		return r;
	if (r > 0 && origin >= alias->origin)
		return 0;
	if (r == 0 || !executable_id_equal(&known, &alias->id))
		r = make_room(db, alias);
	if (r > 0)
		r = has_files(db, alias);
	if (r <= 0)
		return r;
	r = sqlite_run(db, SQL_ALIAS_PUT, SQL_BLOB(alias->htlhash.bytes, alias->htlhash.size),
		       SQL_INT(alias->id.kind), SQL_BLOB(alias->id.bytes, alias->id.size),
		       SQL_INT(alias->origin));
	return r < 0 ? r : 1;
}

static int put(struct debuginfo_store *store, void *arg)
{
	return debuginfo_alias_put(store->writer, arg);
}

/* The identity that the file would have without its htlhash. Returns 1, or 0 if it has none. */
static int identity_of(int fd, struct executable_id *ret_id)
{
	scoped(elf_file_freep) struct elf_file *elf = NULL;
	int r = elf_file_open(fd, &elf);

	return r < 0 ? r : build_id_from_elf(elf, ret_id);
}

static int add_alias(struct debuginfo_store *store, struct debuginfo_alias *alias, int fd,
		     uint64_t size)
{
	int r;

	if (alias->id.kind == EXECUTABLE_ID_HTLHASH) {
		alias->htlhash = alias->id;
		r = identity_of(fd, &alias->id);
		if (r <= 0)
			return r;
	} else {
		r = debuginfo_htlhash_of_fd(fd, size, &alias->htlhash);
	}
	return r < 0 ? r : debuginfo_change(store, put, alias);
}

void debuginfo_add_alias(struct debuginfo_store *store, const struct executable_id *id,
			 enum debuginfo_origin origin, int fd, uint64_t size)
{
	struct debuginfo_alias alias = { .id = *id, .origin = origin };
	char text[EXECUTABLE_ID_TEXT_SIZE];
	int r = add_alias(store, &alias, fd, size);

	if (r >= 0)
		return;
	executable_id_format(id, text);
	(void)log_warn_errno(
		r,
		"cannot store the htlhash of a file of '%s', frames that have only this "
		"hash stay without names until the file is uploaded again: %m",
		text);
}

int debuginfo_list_aliases(struct debuginfo_store *store, const struct executable_id *id,
			   struct arena *arena, struct executable_id **ret_ids, size_t *ret_count)
{
	struct executable_id *ids = arena_alloc_array(arena, MAX_ALIASES, sizeof(*ids));
	struct sqlite_db *db = NULL;
	size_t count = 0;
	int r;

	if (!ids)
		return -ENOMEM;
	r = debuginfo_reader_take(store, &db);
	if (r == 0) {
		scoped(sqlite_resetp) sqlite3_stmt *row = NULL;

		r = sqlite_query(db, SQL_ALIASES_OF, &row, SQL_INT(id->kind),
				 SQL_BLOB(id->bytes, id->size));
		while (r > 0 && count < MAX_ALIASES) {
			const struct bytes_view hash = sqlite_blob(row, 0);

			if (executable_id_set(&ids[count], EXECUTABLE_ID_HTLHASH, hash.data,
					      hash.size) == 0)
				count++;
			r = sqlite_step(db, row);
		}
	}
	debuginfo_reader_give_back(store, db);
	if (r < 0)
		return r;
	*ret_ids = ids;
	*ret_count = count;
	return 0;
}
