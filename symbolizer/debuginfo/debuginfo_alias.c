/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles of OpenTelemetry may name a file by its htlhash only (executable_id.h). The store keeps
 * the identity of each uploaded file by the hash of the file, also after a better file replaced it.
 */

#include <endian.h>
#include <gnutls/crypto.h>
#include <string.h>

#include "common/file.h"
#include "common/log.h"
#include "symbolizer/debuginfo/debuginfo_private.h"

/* Bytes at each end of the file that the hash covers. */
#define END_BYTES 4096

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

struct new_alias {
	struct executable_id htlhash;
	const struct executable_id *id;
	enum debuginfo_origin origin;
};

/* As for files, an alias from a sender with less trust does not replace another. */
static int put_alias(struct debuginfo_store *store, void *arg)
{
	const struct new_alias *alias = arg;
	enum debuginfo_origin origin;
	struct executable_id known;
	int r;

	r = debuginfo_db_alias(store->writer, &alias->htlhash, &known, &origin);
	if (r < 0)
		return r;
	if (r > 0 && (origin > alias->origin ||
		      (origin == alias->origin && executable_id_equal(&known, alias->id))))
		return 0;
	r = sqlite_run(store->writer, SQL_ALIAS_PUT,
		       SQL_BLOB(alias->htlhash.bytes, alias->htlhash.size),
		       SQL_INT(alias->id->kind), SQL_BLOB(alias->id->bytes, alias->id->size),
		       SQL_INT(alias->origin));
	return r < 0 ? r : 1;
}

void debuginfo_add_alias(struct debuginfo_store *store, const struct executable_id *id,
			 enum debuginfo_origin origin, int fd, uint64_t size)
{
	struct new_alias alias = { .id = id, .origin = origin };
	char text[EXECUTABLE_ID_TEXT_SIZE];
	int r;

	if (id->kind == EXECUTABLE_ID_HTLHASH)
		return;
	r = debuginfo_htlhash_of_fd(fd, size, &alias.htlhash);
	if (r == 0)
		r = debuginfo_change(store, put_alias, &alias);
	if (r >= 0)
		return;
	executable_id_format(id, text);
	(void)log_warn_errno(
		r,
		"cannot store the htlhash of a file of '%s', frames that have only this "
		"hash stay without names until the file is uploaded again: %m",
		text);
}
