/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The folder is locked as a server locks it, so that no server starts meanwhile. First SQLite
 * checks each database. If those with segments are intact, the segments are opened and compared
 * with their checksums. Opening is that of a start: it removes the segments of an interrupted
 * flush, whose batches are in inbox.db, and would rename damaged files.
 */

#include "symbolizer/check_command.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/file.h"
#include "common/folder_lock.h"
#include "common/limits.h"
#include "common/log.h"
#include "symbolizer/ingest/batch_payload.h"
#include "symbolizer/sqlite/sqlite_copy.h"
#include "symbolizer/store/segment_db/segment_db.h"
#include "symbolizer/store/segment_store/segment_backup.h"

#define INTEGRITY_SQL "PRAGMA integrity_check(1)"
#define FAULT_SIZE    256

/* As a server has, because the batches of inbox.db are read into memory. */
#define MAX_HEAD_BYTES    (256 * MIB)
#define MAX_NUMBERS_BYTES (64 * MIB)
#define MAX_AGENTS        4096

/* What to do if a database is damaged, by the begin of its name. */
static const struct {
	const char *begin, *remedy;
} remedies[] = {
	{ "samples-",
	  "restore the data folder from a backup, or move this file away: without it the "
	  "samples of its day are lost, and no others" },
	{ "segments-",
	  "restore the data folder from a backup, or move this file away: without it the "
	  "samples of its day are lost, and no others" },
	{ "debuginfo.db",
	  "restore it from a backup, or move it away and upload the debuginfo again" },
	{ "symbols.db", "move it away: the server makes it again from the debuginfo" },
	{ "", "restore the data folder from a backup" },
};

struct check {
	const char *data;
	size_t n_files, n_faults;
	bool segments_are_damaged;
};

static const char *remedy_of(const char *name)
{
	size_t i = 0;

	while (strncmp(name, remedies[i].begin, strlen(remedies[i].begin)) != 0)
		i++;
	return remedies[i].remedy;
}

static bool is_of_segments(const char *name)
{
	return strcmp(name, "inbox.db") == 0 || strncmp(name, "segments-", 9) == 0;
}

static void count_fault(struct check *check, const char *name, const char *fault)
{
	check->n_faults++;
	check->segments_are_damaged |= is_of_segments(name);
	log_error("'%s/%s': %s; %s", check->data, name, fault, remedy_of(name));
}

/* A row may have a headline, and then a line for each damaged page. Returns the first of these. */
static struct bytes_view first_fault(const char *text)
{
	const char *begin = strncmp(text, "***", 3) == 0 ? strchr(text, '\n') : NULL;

	begin = begin ? begin + 1 : text;
	return (struct bytes_view){ (const uint8_t *)begin, strcspn(begin, "\n") };
}

/* One row suffices: a damaged file has very many. */
static int check_integrity(struct check *check, const char *name, struct sqlite_db *db)
{
	sqlite3_stmt *row = NULL;
	int code = sqlite3_prepare_v2(db->handle, INTEGRITY_SQL, -1, &row, NULL);

	if (code == SQLITE_OK)
		code = sqlite3_step(row);
	if (code == SQLITE_ROW && strcmp(sqlite_text(row, 0), "ok") != 0) {
		const struct bytes_view fault = first_fault(sqlite_text(row, 0));
		char text[FAULT_SIZE];

		(void)snprintf(text, sizeof(text), "%.*s", (int)MIN(fault.size, sizeof(text)),
			       (const char *)fault.data);
		count_fault(check, name, text);
	}
	(void)sqlite3_finalize(row);
	return code == SQLITE_ROW ? 0 : sqlite_db_error(db, code);
}

static int check_database(struct check *check, const char *name)
{
	scoped(sqlite_db_freep) struct sqlite_db *db = NULL;
	scoped_free char *path = NULL;
	int r;

	if (asprintf(&path, "%s/%s", check->data, name) < 0)
		return -ENOMEM;
	check->n_files++;
	r = sqlite_snapshot_open(path, &db);
	if (r == 0)
		r = check_integrity(check, name, db);
	if (r != -EUCLEAN)
		return r;
	count_fault(check, name, "the file is damaged, or no database");
	return 0;
}

static int check_segments(struct check *check)
{
	const struct segment_db_options options = {
		.folder = check->data,
		.decoder = { .decode = batch_payload_decode,
			     .extract_definitions = batch_payload_definitions,
			     .decode_definitions = batch_payload_decode_definitions },
		.max_head_bytes = MAX_HEAD_BYTES,
		.max_numbers_bytes = MAX_NUMBERS_BYTES,
		.max_agents = MAX_AGENTS,
	};
	scoped(segment_db_freep) struct segment_db *db = NULL;
	size_t n_faults = 0;
	int r = segment_db_open(&options, &db);

	if (r == 0)
		r = segment_db_check(db, &n_faults);
	check->n_faults += n_faults;
	if (r != -EUCLEAN && r != -ESTALE)
		return r;
	count_fault(check, "inbox.db",
		    r == -ESTALE ? "it is older than the segments beside it"
				 : "it cannot be opened: it is damaged");
	return 0;
}

static int is_database(const struct dirent *entry)
{
	const char *end = strrchr(entry->d_name, '.');

	return end && strcmp(end, ".db") == 0;
}

static void free_names(struct dirent **names, int count)
{
	for (int i = 0; i < count; i++)
		free(names[i]);
	free(names);
}

/* -ENOENT: the folder has no database. */
static int check_databases(struct check *check)
{
	struct dirent **names = NULL;
	int count = scandir(check->data, &names, is_database, alphasort);
	int r = count < 0 ? -errno : count == 0 ? -ENOENT : 0;

	for (int i = 0; i < count && r == 0; i++)
		r = check_database(check, names[i]->d_name);
	free_names(names, MAX(count, 0));
	if (r < 0 || !segment_backup_has_store(check->data))
		return r;
	if (!check->segments_are_damaged)
		return check_segments(check);
	log_warn("segments are not compared with their checksums, because a file is damaged: check "
		 "again when it is restored or moved away");
	return 0;
}

static const char *remedy_for(int error)
{
	switch (-error) {
	case EBUSY:
		return "a hearth-symbolizer uses it: stop it, or check a backup that it made";
	case ENOENT:
	case ENOTDIR:
		return "it is no data folder: name the right one with --data";
	case EACCES:
	case EPERM:
		return "run as the user of the server";
	case ENOTSUP:
		return "a later version wrote it: use that version";
	default:
		return "check the file system";
	}
}

int check_command(const char *data, size_t *ret_faults, char ret_message[CHECK_MESSAGE_SIZE])
{
	struct check check = { .data = data };
	scoped_fd int lock_fd = folder_lock(data);
	int r = MIN(lock_fd, 0);

	if (r == 0)
		r = check_databases(&check);
	if (r < 0) {
		(void)snprintf(ret_message, CHECK_MESSAGE_SIZE, "cannot check '%.400s': %s; %s",
			       data, strerror(-r), remedy_for(r));
		return r;
	}
	log_info("read %zu databases in '%s': %zu faults", check.n_files, data, check.n_faults);
	*ret_faults = check.n_faults;
	return 0;
}
