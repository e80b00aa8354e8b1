/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads single rows of hearth.db: hosts, executables, paths, named frames.
 */

#include "symbolizer/store/sqlite/read.h"

#include "common/vec.h"
#include "symbolizer/store/sqlite/codec.h"

static const char *copy_text(struct arena *arena, sqlite3_stmt *row, int column)
{
	const char *text = sqlite_text(row, column);

	return arena_copy_text(arena, text, strlen(text));
}

int read_host(struct connection_set *set, uint32_t id, struct arena *arena,
	      struct store_host *ret_host, const char **ret_tenant)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	struct sqlite_db *hearth;
	struct bytes_view agent;
	char *agent_text;
	uint64_t seen;
	int r;

	r = connection_set_hearth(set, &hearth);
	if (r == 0)
		r = sqlite_query(hearth, SQL_HOST_LOAD, &row, SQL_INT(id));
	if (r <= 0)
		return r;
	agent = sqlite_blob(row, 2);
	agent_text = arena_alloc(arena, 2 * agent.size + 1);
	*ret_tenant = copy_text(arena, row, 1);
	if (!agent_text || !*ret_tenant)
		return -ENOMEM;
	hex_encode(agent.data, agent.size, agent_text);
	seen = (uint64_t)sqlite3_column_int64(row, 5);
	*ret_host = (struct store_host){
		.id = id,
		.agent_id = agent_text,
		.first_seen_ns = (uint64_t)sqlite3_column_int64(row, 4),
		.last_seen_ns = MAX(seen, store_state_host_seen(set->state, id)),
	};
	r = codec_read_host(sqlite_blob(row, 3), arena, ret_host);
	return r < 0 ? r : 1;
}

static int collect_host_ids(struct connection_set *set, const char *tenant, struct arena *arena,
			    uint32_t **ret_ids, size_t *ret_count)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	VEC_DEFINE(, uint32_t) ids = {};
	struct sqlite_db *hearth;
	int r;

	r = connection_set_hearth(set, &hearth);
	if (r == 0)
		r = sqlite_query(hearth, SQL_HOST_LIST, &row, SQL_TEXT(tenant));
	while (r > 0) {
		r = vec_push(&ids, (uint32_t)sqlite3_column_int64(row, 0));
		if (r == 0)
			r = sqlite_step(hearth, row);
	}
	if (r == 0) {
		*ret_ids = arena_copy(arena, ids.items, ids.count * sizeof(uint32_t));
		*ret_count = ids.count;
		r = *ret_ids ? 0 : -ENOMEM;
	}
	vec_release(&ids);
	return r;
}

int read_list_hosts(struct connection_set *set, const char *tenant, struct arena *arena,
		    struct store_host **ret_hosts, size_t *ret_count)
{
	struct store_host *hosts;
	scoped(sqlite_end_readp) struct sqlite_db *reading = NULL;
	struct sqlite_db *hearth;
	const char *host_tenant;
	uint32_t *ids = NULL;
	size_t count = 0;
	int r;

	r = connection_set_hearth(set, &hearth);
	if (r == 0)
		r = sqlite_begin_read(hearth, &reading);
	if (r == 0)
		r = collect_host_ids(set, tenant, arena, &ids, &count);
	if (r < 0)
		return r;
	hosts = arena_alloc_array(arena, count, sizeof(*hosts));
	if (!hosts)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		r = read_host(set, ids[i], arena, &hosts[i], &host_tenant);
		if (r <= 0)
			return r < 0 ? r : -EIO;
	}
	*ret_hosts = hosts;
	*ret_count = count;
	return 0;
}

static int executable_of_row(sqlite3_stmt *row, struct arena *arena,
			     struct store_executable *ret_executable)
{
	struct bytes_view identity = sqlite_blob(row, 2);
	struct store_executable executable = {
		.id = (uint32_t)sqlite3_column_int64(row, 0),
		.name = copy_text(arena, row, 3),
		.role = (enum executable_role)sqlite3_column_int(row, 4),
	};
	int r;

	if (!executable.name)
		return -ENOMEM;
	if (executable_id_set(&executable.identity, (unsigned int)sqlite3_column_int(row, 1),
			      identity.data, identity.size) < 0)
		return -EIO;
	r = codec_read_segments(sqlite_blob(row, 5), arena, &executable.segments,
				&executable.n_segments);
	if (r < 0)
		return r;
	*ret_executable = executable;
	return 0;
}

int read_executables(struct connection_set *set, const uint32_t *ids, size_t count,
		     struct arena *arena, struct store_executable *ret_executables)
{
	scoped(sqlite_end_readp) struct sqlite_db *reading = NULL;
	struct sqlite_db *hearth;
	int r;

	r = connection_set_hearth(set, &hearth);
	if (r == 0)
		r = sqlite_begin_read(hearth, &reading);
	for (size_t i = 0; r >= 0 && i < count; i++) {
		scoped(sqlite_resetp) sqlite3_stmt *row = NULL;

		ret_executables[i] = (struct store_executable){ .name = "" };
		if (ids[i] == 0)
			continue;
		r = sqlite_query(hearth, SQL_EXECUTABLE_LOAD, &row, SQL_INT(ids[i]));
		if (r > 0)
			r = executable_of_row(row, arena, &ret_executables[i]);
	}
	return MIN(r, 0);
}

int read_executable_by_identity(struct connection_set *set, const char *tenant,
				const struct executable_id *identity, struct arena *arena,
				struct store_executable *ret_executable)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	struct sqlite_db *hearth;
	int r;

	r = connection_set_hearth(set, &hearth);
	if (r == 0)
		r = sqlite_query(hearth, SQL_EXECUTABLE_BY_IDENTITY, &row, SQL_TEXT(tenant),
				 SQL_INT(identity->kind),
				 SQL_BLOB(identity->bytes, identity->size));
	if (r <= 0)
		return r;
	r = executable_of_row(row, arena, ret_executable);
	return r < 0 ? r : 1;
}

int read_agent_executables(struct connection_set *set, const char *tenant,
			   const struct hash128 *agent, uint64_t epoch, size_t max,
			   struct arena *arena, struct store_executable **ret_executables,
			   size_t *ret_count)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	VEC_DEFINE(, struct store_executable) found = {};
	struct sqlite_db *hearth;
	int r;

	r = connection_set_hearth(set, &hearth);
	if (r == 0)
		r = sqlite_query(hearth, SQL_EXECUTABLES_OF_EPOCH, &row, SQL_TEXT(tenant),
				 SQL_BLOB(agent->bytes, sizeof(agent->bytes)), SQL_INT(epoch),
				 SQL_INT(max));
	while (r > 0) {
		struct store_executable executable;

		r = executable_of_row(row, arena, &executable);
		executable.id = 0;
		if (r == 0)
			r = vec_push(&found, executable);
		if (r == 0)
			r = sqlite_step(hearth, row);
	}
	if (r == 0) {
		*ret_executables =
			arena_copy(arena, found.items, found.count * sizeof(*found.items));
		*ret_count = found.count;
		r = *ret_executables ? 0 : -ENOMEM;
	}
	vec_release(&found);
	return r;
}

/* Most processes that are searched for a path of an executable: some milliseconds. */
#define PATH_MAX_PROCESSES 2000

static int find_any_path(struct sqlite_db *hearth, uint32_t executable, struct arena *arena,
			 const char **ret_path)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int found = 0;
	int r;

	r = sqlite_query(hearth, SQL_PATHS_OF_LATEST, &row, SQL_INT(PATH_MAX_PROCESSES));
	while (r > 0) {
		found = codec_find_path(sqlite_blob(row, 0), executable, arena, ret_path);
		r = found == 0 ? sqlite_step(hearth, row) : 0;
	}
	return r < 0 ? r : found;
}

struct wanted_path {
	uint64_t process;
	uint32_t executable;
	size_t index; /* of the result */
};

static int compare_wanted(const void *left, const void *right)
{
	const struct wanted_path *a = left;
	const struct wanted_path *b = right;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	return a->index < b->index ? -1 : a->index > b->index;
}

/* Finds paths of one process with one statement. */
static int find_paths(struct sqlite_db *hearth, const struct wanted_path *wanted, size_t count,
		      struct arena *arena, const char **ret_paths)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r;

	r = sqlite_query(hearth, SQL_PROCESS_PATHS, &row, SQL_INT(wanted[0].process));
	for (size_t i = 0; r > 0 && i < count; i++) {
		r = codec_find_path(sqlite_blob(row, 0), wanted[i].executable, arena,
				    &ret_paths[wanted[i].index]);
		r = r < 0 ? r : 1;
	}
	return MIN(r, 0);
}

static int find_any_paths(struct sqlite_db *hearth, const struct wanted_path *wanted, size_t count,
			  struct arena *arena, const char **ret_paths)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < count; i++)
		r = find_any_path(hearth, wanted[i].executable, arena, &ret_paths[wanted[i].index]);
	return MIN(r, 0);
}

static int find_wanted_paths(struct sqlite_db *hearth, const struct wanted_path *wanted,
			     size_t count, struct arena *arena, const char **ret_paths)
{
	size_t end;
	int r = 0;

	for (size_t begin = 0; r == 0 && begin < count; begin = end) {
		end = begin + 1;
		while (end < count && wanted[end].process == wanted[begin].process)
			end++;
		r = wanted[begin].process == 0
			    ? find_any_paths(hearth, &wanted[begin], end - begin, arena, ret_paths)
			    : find_paths(hearth, &wanted[begin], end - begin, arena, ret_paths);
	}
	return r;
}

int read_paths_of(struct connection_set *set, const struct store_mapped_file *files, size_t count,
		  struct arena *arena, const char **ret_paths)
{
	scoped_free struct wanted_path *wanted = calloc(count + 1, sizeof(*wanted));
	scoped(sqlite_end_readp) struct sqlite_db *reading = NULL;
	struct sqlite_db *hearth;
	int r;

	if (!wanted)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		wanted[i] = (struct wanted_path){ files[i].process, files[i].executable, i };
		ret_paths[i] = NULL;
	}
	qsort(wanted, count, sizeof(*wanted), compare_wanted);
	r = connection_set_hearth(set, &hearth);
	if (r == 0)
		r = sqlite_begin_read(hearth, &reading);
	return r < 0 ? r : find_wanted_paths(hearth, wanted, count, arena, ret_paths);
}

int read_named_frames(struct connection_set *set, const uint64_t *ids, size_t count,
		      struct arena *arena, const char **ret_names)
{
	scoped(sqlite_end_readp) struct sqlite_db *reading = NULL;
	struct sqlite_db *hearth;
	int r;

	r = connection_set_hearth(set, &hearth);
	if (r == 0)
		r = sqlite_begin_read(hearth, &reading);
	for (size_t i = 0; r >= 0 && i < count; i++) {
		scoped(sqlite_resetp) sqlite3_stmt *row = NULL;

		ret_names[i] = NULL;
		r = sqlite_query(hearth, SQL_NAMED_FRAME_LOAD, &row, SQL_INT(ids[i]));
		if (r <= 0)
			continue;
		ret_names[i] = copy_text(arena, row, 0);
		if (!ret_names[i])
			r = -ENOMEM;
	}
	return MIN(r, 0);
}
