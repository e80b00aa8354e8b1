/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds the definitions of a batch to hearth.db. Each is looked up first: agents repeat definitions
 * until they are acknowledged, and a batch without new definitions needs no transaction here.
 *
 * A number keeps the sequence of the batch that set it. A late batch from a spool therefore does
 * not restore the name that a process had before its exec. Within one batch, a definition always
 * applies.
 */

#include "symbolizer/store/host_codec.h"
#include "symbolizer/store/sqlite/write.h"

/* Times in host and epoch rows may be this old, so that not every batch needs a transaction. */
#define HOST_SEEN_LAG_NS  (60 * NSEC_PER_SEC)
#define EPOCH_SEEN_LAG_NS (3600 * NSEC_PER_SEC)

int write_begin(struct write *write)
{
	struct write_group *group = &write->writer->group;
	int r = 0;

	if (write->in_hearth)
		return 0;
	if (!group->has_hearth)
		r = sqlite_begin(write->hearth);
	if (r < 0)
		return r;
	group->has_hearth = true;
	r = sqlite_savepoint(write->hearth);
	write->in_hearth = r == 0;
	return r;
}

int write_tenant(struct write *write, int64_t *ret_tenant)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r = 0;

	if (write->tenant_id == 0) {
		r = sqlite_query(write->hearth, SQL_TENANT_FIND, &row, SQL_TEXT(write->tenant));
		if (r > 0)
			write->tenant_id = sqlite3_column_int64(row, 0);
		else if (r == 0)
			r = write_begin(write);
	}
	if (r == 0 && write->tenant_id == 0) {
		r = sqlite_run(write->hearth, SQL_TENANT_ADD, SQL_TEXT(write->tenant));
		if (r == 0)
			write->tenant_id = sqlite_last_id(write->hearth);
	}
	if (r < 0)
		return r;
	*ret_tenant = write->tenant_id;
	return 0;
}

static int ensure_epoch(struct write *write)
{
	const struct batch *batch = write->batch;
	uint64_t now = clock_wall_ns(write->writer->clock);
	int r;

	if (write->epoch_id != 0 && now < write->epoch_saved_ns + EPOCH_SEEN_LAG_NS)
		return 0;
	r = write_begin(write);
	if (r < 0)
		return r;
	if (write->epoch_id != 0) {
		r = sqlite_run(write->hearth, SQL_EPOCH_SEEN, SQL_INT(write->epoch_id),
			       SQL_INT(now));
	} else {
		r = sqlite_run(write->hearth, SQL_EPOCH_ADD, SQL_TEXT(write->tenant),
			       SQL_BLOB(batch->agent_id.bytes, sizeof(batch->agent_id.bytes)),
			       SQL_INT(batch->epoch), SQL_INT(now));
		write->epoch_id = sqlite_last_id(write->hearth);
	}
	write->epoch_saved_ns = now;
	return r;
}

static int add_host(struct write *write, struct bytes_view attributes)
{
	const struct batch *batch = write->batch;
	int r;

	r = sqlite_run(write->hearth, SQL_HOST_ADD, SQL_TEXT(write->tenant),
		       SQL_BLOB(batch->agent_id.bytes, sizeof(batch->agent_id.bytes)),
		       SQL_BLOB(attributes.data, attributes.size), SQL_INT(batch->opened_wall_ns),
		       SQL_INT(batch->closed_wall_ns), SQL_TEXT(batch->host.name));
	write->host = (uint32_t)sqlite_last_id(write->hearth);
	write->host_saved_ns = batch->closed_wall_ns;
	return r;
}

static int ensure_host(struct write *write)
{
	const struct batch *batch = write->batch;
	struct bytes *attributes = &write->writer->buffer;
	struct hash128 hash;
	bool changed;
	int r;

	bytes_clear(attributes);
	host_encode(&batch->host, attributes);
	r = bytes_error(attributes);
	if (r < 0)
		return r;
	hash = hash128_of(attributes->data, attributes->size);
	changed = memcmp(&hash, &write->host_attributes, sizeof(hash)) != 0;
	/* A late batch from a spool has outdated attributes of the host. */
	if (write->host != 0 &&
	    (batch->closed_wall_ns < write->host_saved_ns ||
	     (!changed && batch->closed_wall_ns < write->host_saved_ns + HOST_SEEN_LAG_NS)))
		return 0;

	r = write_begin(write);
	if (r < 0)
		return r;
	write->host_attributes = hash;
	if (write->host == 0)
		return add_host(write, bytes_view_of(attributes));
	write->host_saved_ns = batch->closed_wall_ns;
	return sqlite_run(write->hearth, SQL_HOST_UPDATE, SQL_INT(write->host),
			  SQL_BLOB(attributes->data, attributes->size),
			  SQL_INT(batch->closed_wall_ns), SQL_TEXT(batch->host.name));
}

int write_set_number(struct write *write, enum number_kind kind, uint32_t number, uint64_t id,
		     bool *ret_applied)
{
	struct number_entry *entry = write_number(write, kind, number);
	int r;

	assert(entry);
	entry->id = id;
	r = write_begin(write);
	if (r == 0)
		r = sqlite_run(write->hearth, SQL_NUMBER_SET, SQL_INT(write->epoch_id),
			       SQL_INT(kind), SQL_INT(number), SQL_INT(id),
			       SQL_INT(write->batch->sequence));
	if (r < 0)
		return r;
	*ret_applied = sqlite3_changes(write->hearth->handle) > 0;
	if (!*ret_applied)
		return 0;
	return vec_push(&write->learned,
			(struct learned_number){ .kind = kind, .number = number, .id = id });
}

int write_set_number_once(struct write *write, enum number_kind kind, uint32_t number, uint64_t id)
{
	const struct number_entry *entry = write_number(write, kind, number);
	bool applied;

	assert(entry);
	if (entry->known && entry->id == id)
		return 0;
	return write_set_number(write, kind, number, id, &applied);
}

static int add_executable(struct write *write, const struct batch_executable *executable,
			  uint64_t *ret_id)
{
	struct bytes *segments = &write->writer->buffer;
	int64_t tenant = 0;
	int r;

	bytes_clear(segments);
	codec_add_segments(segments, executable->segments, executable->n_segments);
	r = bytes_error(segments);
	if (r == 0)
		r = write_tenant(write, &tenant);
	if (r == 0)
		r = write_begin(write);
	if (r == 0)
		r = sqlite_run(write->hearth, SQL_EXECUTABLE_ADD, SQL_INT(tenant),
			       SQL_INT(executable->id.kind),
			       SQL_BLOB(executable->id.bytes, executable->id.size),
			       SQL_TEXT(executable->name), SQL_INT(executable->role),
			       SQL_BLOB(segments->data, segments->size));
	if (r == 0)
		*ret_id = (uint64_t)sqlite_last_id(write->hearth);
	return r;
}

/* The row of an executable that a batch defines again. */
struct executable_row {
	uint64_t id;
	bool lacks_segments;
	bool lacks_name;
	enum executable_role role;
};

static int set_segments(struct write *write, const struct batch_executable *executable, uint64_t id)
{
	struct bytes *segments = &write->writer->buffer;
	int r;

	bytes_clear(segments);
	codec_add_segments(segments, executable->segments, executable->n_segments);
	r = bytes_error(segments);
	if (r == 0)
		r = write_begin(write);
	if (r == 0)
		r = sqlite_run(write->hearth, SQL_EXECUTABLE_SEGMENTS, SQL_INT(id),
			       SQL_BLOB(segments->data, segments->size));
	return r;
}

/*
 * Adds the segments, name and role that earlier definitions of the identity lacked. A kernel role
 * replaces ROLE_USER: a process may map the file of the running kernel as user code too, but the
 * addresses of kernel frames are relative to _text.
 */
static int complete_executable(struct write *write, const struct batch_executable *executable,
			       const struct executable_row *row)
{
	int r = 0;

	if (row->lacks_segments && executable->n_segments > 0)
		r = set_segments(write, executable, row->id);
	if (r == 0 && row->lacks_name && executable->name[0] != '\0') {
		r = write_begin(write);
		if (r == 0)
			r = sqlite_run(write->hearth, SQL_EXECUTABLE_NAME, SQL_INT(row->id),
				       SQL_TEXT(executable->name));
	}
	if (r == 0 && row->role == ROLE_USER && executable->role != ROLE_USER) {
		r = write_begin(write);
		if (r == 0)
			r = sqlite_run(write->hearth, SQL_EXECUTABLE_ROLE, SQL_INT(row->id),
				       SQL_INT(executable->role));
	}
	return r;
}

static int find_executable(struct write *write, const struct batch_executable *executable,
			   struct executable_row *ret_row)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int64_t tenant;
	int r;

	r = write_tenant(write, &tenant);
	if (r == 0)
		r = sqlite_query(write->hearth, SQL_EXECUTABLE_FIND, &row, SQL_INT(tenant),
				 SQL_INT(executable->id.kind),
				 SQL_BLOB(executable->id.bytes, executable->id.size));
	if (r <= 0)
		return r;
	*ret_row = (struct executable_row){
		.id = (uint64_t)sqlite3_column_int64(row, 0),
		.lacks_segments = sqlite3_column_int64(row, 1) == 0,
		.lacks_name = sqlite3_column_bytes(row, 2) == 0,
		.role = (enum executable_role)sqlite3_column_int(row, 3),
	};
	return 1;
}

static int define_executable(struct write *write, const struct batch_executable *executable)
{
	struct number_entry *entry = write_number(write, NUMBER_EXECUTABLE, executable->number);
	struct executable_row row = {};
	int r = 0;

	assert(entry);
	entry->identity = &executable->id;
	if (executable->id.kind != EXECUTABLE_ID_NONE) {
		r = find_executable(write, executable, &row);
		if (r == 0)
			r = add_executable(write, executable, &row.id);
		else if (r > 0)
			r = complete_executable(write, executable, &row);
	}
	if (r < 0)
		return r;
	return write_set_number_once(write, NUMBER_EXECUTABLE, executable->number, row.id);
}

static int add_named_frame(struct write *write, int64_t tenant, uint64_t key, uint64_t *ret_id)
{
	int r;

	r = write_begin(write);
	if (r == 0)
		r = sqlite_run(write->hearth, SQL_NAMED_FRAME_ADD, SQL_INT(tenant), SQL_INT(key),
			       SQL_TEXT(""));
	if (r == 0)
		*ret_id = (uint64_t)sqlite_last_id(write->hearth);
	return r;
}

int write_find_named_frame(struct write *write, uint64_t key, uint64_t *ret_id, bool *ret_has_name)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int64_t tenant;
	int r;

	r = write_tenant(write, &tenant);
	if (r == 0)
		r = sqlite_query(write->hearth, SQL_NAMED_FRAME_FIND, &row, SQL_INT(tenant),
				 SQL_INT(key));
	*ret_has_name = r > 0 && sqlite3_column_int(row, 1);
	if (r > 0)
		*ret_id = (uint64_t)sqlite3_column_int64(row, 0);
	else if (r == 0)
		r = add_named_frame(write, tenant, key, ret_id);
	return MIN(r, 0);
}

static int define_named_frames(struct write *write)
{
	const struct batch *batch = write->batch;
	int r = 0;

	for (uint32_t i = 0; i < batch->n_named_frames && r == 0; i++) {
		const struct batch_named_frame *frame = &batch->named_frames[i];
		bool has_name = false;
		uint64_t id;

		r = write_find_named_frame(write, frame->key, &id, &has_name);
		if (r < 0 || has_name)
			continue;
		r = write_begin(write);
		if (r == 0)
			r = sqlite_run(write->hearth, SQL_NAMED_FRAME_NAME, SQL_INT(id),
				       SQL_TEXT(frame->name));
	}
	return r;
}

int write_define(struct write *write)
{
	const struct batch *batch = write->batch;
	int r;

	r = ensure_epoch(write);
	if (r == 0)
		r = ensure_host(write);
	for (uint32_t i = 0; i < batch->n_executables && r == 0; i++)
		r = define_executable(write, &batch->executables[i]);
	for (uint32_t i = 0; i < batch->n_processes && r == 0; i++)
		r = write_define_process(write, &batch->processes[i]);
	for (uint32_t i = 0; i < batch->n_series && r == 0; i++)
		r = write_define_series(write, &batch->series[i]);
	for (uint32_t i = 0; i < batch->n_code_objects && r == 0; i++)
		r = write_define_code_object(write, &batch->code_objects[i]);
	if (r == 0)
		r = define_named_frames(write);
	if (r == 0)
		r = write_define_stacks(write);
	return r;
}
