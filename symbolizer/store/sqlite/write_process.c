/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds processes to hearth.db. Host, pid, start time, name and main executable identify a process.
 * An exec adds a new row, so that samples from before the exec keep the old name. Other attributes
 * are updated in the row.
 *
 * Thousands of processes share their set of mapped paths (a compiler, a shell) or of labels (a
 * container). Each set is stored once, under a hash of its bytes.
 */

#include "symbolizer/store/host_codec.h"
#include "symbolizer/store/sqlite/write.h"

/*
 * Only forged sets differ and have equal hashes. At most this many of them are stored; for a
 * further one write_text_set() returns -EEXIST.
 */
#define MAX_HASH_ROUNDS 4

struct process_row {
	uint64_t id;
	uint32_t parent_pid;
	unsigned int flags;
	const char *executable_path;
	uint64_t paths; /* text_set ids, 0: empty */
	uint64_t labels;
};

/* Returns 1 if found, 0 if no set has this hash, 2 if a different set has it. */
static int find_text_set(struct sqlite_db *hearth, const struct hash128 *hash,
			 struct bytes_view content, uint64_t *ret_id)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r;

	r = sqlite_query(hearth, SQL_TEXT_SET_FIND, &row,
			 SQL_BLOB(hash->bytes, sizeof(hash->bytes)),
			 SQL_BLOB(content.data, content.size));
	if (r <= 0)
		return r;
	*ret_id = (uint64_t)sqlite3_column_int64(row, 0);
	return sqlite3_column_int(row, 1) ? 1 : 2;
}

int write_text_set(struct write *write, struct bytes_view content, uint64_t *ret_id)
{
	struct hash128 hash = hash128_of(content.data, content.size);
	int r = 2;

	for (int round = 0; round < MAX_HASH_ROUNDS && r == 2; round++) {
		if (round > 0)
			hash = hash128_of(&hash, sizeof(hash));
		r = find_text_set(write->hearth, &hash, content, ret_id);
	}
	if (r != 0)
		return r == 2 ? -EEXIST : MIN(r, 0);
	r = write_begin(write);
	if (r == 0)
		r = sqlite_run(write->hearth, SQL_TEXT_SET_ADD,
			       SQL_BLOB(hash.bytes, sizeof(hash.bytes)),
			       SQL_BLOB(content.data, content.size));
	if (r == 0)
		*ret_id = (uint64_t)sqlite_last_id(write->hearth);
	return r;
}

static int compare_paths(const void *a, const void *b)
{
	const struct stored_path *left = a;
	const struct stored_path *right = b;

	if (left->executable != right->executable)
		return left->executable < right->executable ? -1 : 1;
	return strcmp(left->path, right->path);
}

static int intern_paths(struct write *write, const struct batch_process *process, uint64_t *ret_id)
{
	struct stored_path *paths =
		arena_alloc_array(write->scratch, process->n_paths, sizeof(*paths));
	struct bytes *content = &write->writer->buffer;
	uint32_t count = 0;

	if (!paths)
		return -ENOMEM;
	for (uint32_t i = 0; i < process->n_paths; i++) {
		const struct number_entry *entry =
			write_number(write, NUMBER_EXECUTABLE, process->paths[i].executable);

		if (entry && entry->id != 0)
			paths[count++] = (struct stored_path){ .executable = (uint32_t)entry->id,
							       .path = process->paths[i].path };
	}
	*ret_id = 0;
	if (count == 0)
		return 0;
	/* Sorts the paths, so that equal sets have equal bytes. */
	qsort(paths, count, sizeof(*paths), compare_paths);
	bytes_clear(content);
	codec_add_paths(content, paths, count);
	if (bytes_error(content) < 0)
		return bytes_error(content);
	return write_text_set(write, bytes_view_of(content), ret_id);
}

int write_labels(struct write *write, const struct label *labels, uint32_t n_labels,
		 uint64_t *ret_id)
{
	struct bytes *content = &write->writer->buffer;

	*ret_id = 0;
	if (n_labels == 0)
		return 0;
	bytes_clear(content);
	labels_encode(labels, n_labels, content);
	if (bytes_error(content) < 0)
		return bytes_error(content);
	return write_text_set(write, bytes_view_of(content), ret_id);
}

int write_label_names(struct write *write, const struct label *labels, uint32_t n_labels)
{
	int64_t tenant = 0;
	int r;

	r = n_labels > 0 ? write_tenant(write, &tenant) : 0;
	for (uint32_t i = 0; i < n_labels && r == 0; i++)
		r = sqlite_run(write->hearth, SQL_LABEL_NAME_ADD, SQL_INT(tenant),
			       SQL_TEXT(labels[i].name));
	return r;
}

static uint64_t main_executable_of(const struct write *write, const struct batch_process *process)
{
	const struct number_entry *entry = NULL;

	if (process->main_executable != 0)
		entry = write_number(write, NUMBER_EXECUTABLE, process->main_executable);
	return entry ? entry->id : 0;
}

/* Returns 1 if found, 0 if not. *ret_same: the row equals @wanted. */
static int find_process(struct write *write, const struct batch_process *process,
			const struct process_row *wanted, uint64_t *ret_id, bool *ret_same)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r;

	r = sqlite_query(write->hearth, SQL_PROCESS_FIND, &row, SQL_TEXT(process->name),
			 SQL_INT(write->host), SQL_INT(process->pid),
			 SQL_INT(process->start_time_ns),
			 SQL_INT(main_executable_of(write, process)));
	if (r <= 0)
		return r;
	*ret_id = (uint64_t)sqlite3_column_int64(row, 0);
	*ret_same = sqlite3_column_int64(row, 1) == wanted->parent_pid &&
		    sqlite3_column_int64(row, 2) == wanted->flags &&
		    strcmp(sqlite_text(row, 3), wanted->executable_path) == 0 &&
		    (uint64_t)sqlite3_column_int64(row, 4) == wanted->paths &&
		    (uint64_t)sqlite3_column_int64(row, 5) == wanted->labels;
	return 1;
}

static int add_process(struct write *write, const struct batch_process *process,
		       struct process_row *row)
{
	int r;

	r = write_begin(write);
	if (r == 0)
		r = sqlite_run(write->hearth, SQL_PROCESS_ADD, SQL_TEXT(process->name),
			       SQL_INT(write->host), SQL_INT(process->pid),
			       SQL_INT(process->start_time_ns),
			       SQL_INT(main_executable_of(write, process)),
			       SQL_INT(row->parent_pid), SQL_INT(row->flags),
			       SQL_TEXT(row->executable_path), SQL_INT(row->paths),
			       SQL_INT(row->labels));
	if (r < 0)
		return r;
	row->id = (uint64_t)sqlite_last_id(write->hearth);
	write->n_new_processes++;
	return write_label_names(write, process->labels, process->n_labels);
}

static int update_process(struct write *write, const struct process_row *row)
{
	return sqlite_run(write->hearth, SQL_PROCESS_UPDATE, SQL_INT(row->id),
			  SQL_INT(row->parent_pid), SQL_INT(row->flags),
			  SQL_TEXT(row->executable_path), SQL_INT(row->paths),
			  SQL_INT(row->labels));
}

int write_define_process(struct write *write, const struct batch_process *process)
{
	const struct number_entry *entry = write_number(write, NUMBER_PROCESS, process->number);
	struct process_row row = {
		.parent_pid = process->parent_pid,
		.flags = (process->kernel_thread ? PROCESS_KERNEL_THREAD : 0) |
			 (process->without_stacks ? PROCESS_WITHOUT_STACKS : 0),
		.executable_path = process->executable_path,
	};
	bool same = true;
	bool applied = false;
	int r;

	assert(entry);
	r = intern_paths(write, process, &row.paths);
	if (r == 0)
		r = write_labels(write, process->labels, process->n_labels, &row.labels);
	if (r == 0)
		r = find_process(write, process, &row, &row.id, &same);
	if (r == 0)
		r = add_process(write, process, &row);
	if (r < 0)
		return r;
	if (same && entry->known && entry->id == row.id)
		return 0;
	r = write_set_number(write, NUMBER_PROCESS, process->number, row.id, &applied);
	if (r == 0 && applied && !same)
		r = update_process(write, &row);
	if (r == 0 && applied && !same)
		r = write_label_names(write, process->labels, process->n_labels);
	return r;
}
