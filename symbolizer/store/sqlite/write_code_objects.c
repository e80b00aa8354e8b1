/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds code objects to hearth.db. The hash of the content identifies one, so that the same function
 * is one row for all processes and hosts.
 */

#include "symbolizer/store/sqlite/write.h"

static void set_identity(struct executable_id *identity, struct bytes_view hash)
{
	*identity =
		(struct executable_id){ .kind = STORE_CODE_OBJECT_ID, .size = (uint8_t)hash.size };
	memcpy(identity->bytes, hash.data, hash.size);
}

static int load_identity(struct write *write, uint64_t id, struct executable_id *identity)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	struct bytes_view hash;
	int r;

	r = sqlite_query(write->hearth, SQL_CODE_OBJECT_HASH, &row, SQL_INT(id));
	if (r <= 0)
		return r < 0 ? r : -EIO;
	hash = sqlite_blob(row, 0);
	if (hash.size != sizeof(struct hash128))
		return -EIO;
	set_identity(identity, hash);
	return 0;
}

int write_code_object_identity(struct write *write, uint32_t number,
			       const struct executable_id **ret_identity)
{
	struct number_entry *entry = write_number(write, NUMBER_CODE_OBJECT, number);
	struct executable_id *identity;
	int r = 0;

	assert(entry);
	if (!entry->identity) {
		identity = arena_alloc(write->scratch, sizeof(*identity));
		if (!identity)
			return -ENOMEM;
		if (entry->id != 0)
			r = load_identity(write, entry->id, identity);
		if (r < 0)
			return r;
		entry->identity = identity;
	}
	*ret_identity = entry->identity;
	return 0;
}

/* The agent no longer has the code object. */
static bool is_empty(const struct batch_code_object *object)
{
	return object->language[0] == '\0' && object->function[0] == '\0' &&
	       object->qualified_name[0] == '\0' && object->file[0] == '\0' &&
	       object->first_line == 0 && object->line_table.size == 0;
}

/* Returns 1 if found, 0 if not. */
static int find_code_object(struct write *write, int64_t tenant, const struct hash128 *hash,
			    uint64_t *ret_id)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r;

	r = sqlite_query(write->hearth, SQL_CODE_OBJECT_FIND, &row, SQL_INT(tenant),
			 SQL_BLOB(hash->bytes, sizeof(hash->bytes)));
	if (r > 0)
		*ret_id = (uint64_t)sqlite3_column_int64(row, 0);
	return r;
}

static int add_code_object(struct write *write, int64_t tenant,
			   const struct batch_code_object *object, uint64_t *ret_id)
{
	int r;

	r = write_begin(write);
	if (r == 0)
		r = sqlite_run(write->hearth, SQL_CODE_OBJECT_ADD, SQL_INT(tenant),
			       SQL_BLOB(object->hash.bytes, sizeof(object->hash.bytes)),
			       SQL_TEXT(object->language), SQL_TEXT(object->function),
			       SQL_TEXT(object->qualified_name), SQL_TEXT(object->file),
			       SQL_INT(object->first_line),
			       SQL_BLOB(object->line_table.data, object->line_table.size));
	if (r == 0)
		*ret_id = (uint64_t)sqlite_last_id(write->hearth);
	return r;
}

int write_define_code_object(struct write *write, const struct batch_code_object *object)
{
	int64_t tenant = 0;
	uint64_t id = 0;
	int r;

	if (is_empty(object))
		return write_set_number_once(write, NUMBER_CODE_OBJECT, object->number, 0);
	r = write_tenant(write, &tenant);
	if (r == 0)
		r = find_code_object(write, tenant, &object->hash, &id);
	if (r == 0)
		r = add_code_object(write, tenant, object, &id);
	if (r < 0)
		return r;
	if (id >= FRAME_CODE_OBJECT)
		return -EOVERFLOW;
	return write_set_number_once(write, NUMBER_CODE_OBJECT, object->number, id);
}
