/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens and frees the store. One connection writes and one serves short lookups, each behind its
 * lock. A view, which reads for as long as its file is large, has a connection to itself
 * (debuginfo_view.c).
 */

#include "symbolizer/debuginfo/debuginfo_store.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>

#include "common/file.h"
#include "common/log.h"
#include "symbolizer/debuginfo/debuginfo_private.h"

/* Files that are read at the same time. Callers bound the number to far less. */
#define MAX_PINS 4096

#define MAX_SESSIONS_IN_USE 4096

static int lock_folder(struct debuginfo_store *store)
{
	scoped_free char *path = NULL;

	if (asprintf(&path, "%s/debuginfo.lock", store->folder) < 0)
		return -ENOMEM;
	store->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0640);
	if (store->lock_fd < 0)
		return -errno;
	if (flock(store->lock_fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? -EBUSY : -errno;
	return 0;
}

static int remove_upload_files(const struct debuginfo_store *store)
{
	DIR *folder = opendir(store->folder);
	const struct dirent *entry;

	if (!folder)
		return -errno;
	while ((entry = readdir(folder)))
		if (strncmp(entry->d_name, UPLOAD_PREFIX, strlen(UPLOAD_PREFIX)) == 0)
			(void)unlinkat(dirfd(folder), entry->d_name, 0);
	(void)closedir(folder);
	return 0;
}

static int load_numbers(struct debuginfo_store *store)
{
	uint64_t generation, stored_bytes;
	int r;

	r = debuginfo_db_number(store->writer, SQL_GENERATION, &generation);
	if (r == 0)
		r = debuginfo_db_number(store->writer, SQL_TOTAL, &stored_bytes);
	if (r < 0)
		return r;
	atomic_store(&store->generation, generation);
	atomic_store(&store->stored_bytes, stored_bytes);
	return 0;
}

static int make_tables(struct debuginfo_store *store)
{
	int r;

	(void)pthread_mutex_init(&store->write_queue_lock, NULL);
	(void)pthread_mutex_init(&store->write_lock, NULL);
	(void)pthread_mutex_init(&store->read_lock, NULL);
	(void)pthread_mutex_init(&store->idle_lock, NULL);
	(void)pthread_mutex_init(&store->requests_lock, NULL);
	(void)pthread_mutex_init(&store->session_lock, NULL);
	r = debuginfo_requests_new(&store->requests);
	if (r == 0)
		r = hash_table_new(sizeof(int64_t), sizeof(unsigned int), MAX_PINS, &store->pins);
	if (r == 0)
		r = hash_table_new(DEBUGINFO_SESSION_NAME_SIZE, 0, MAX_SESSIONS_IN_USE,
				   &store->sessions_in_use);
	return r;
}

static int open_database(struct debuginfo_store *store)
{
	int r;

	r = make_folders(store->folder, 0750);
	if (r == 0)
		r = lock_folder(store);
	if (r == 0)
		r = debuginfo_db_open(store->folder, true, &store->writer);
	if (r == 0)
		r = debuginfo_db_open(store->folder, false, &store->reader);
	if (r == 0)
		r = remove_upload_files(store);
	return r < 0 ? r : load_numbers(store);
}

/*
 * Leftovers of interrupted uploads only take space. If they cannot be removed (the disk is full),
 * the next start tries again.
 */
static void tidy_up(struct debuginfo_store *store)
{
	int r;

	r = debuginfo_remove_unused(store);
	if (r == 0)
		r = debuginfo_sessions_sweep(store);
	if (r < 0)
		log_warn_errno(r,
			       "cannot remove leftovers of interrupted uploads from "
			       "'%s/debuginfo.db', ignoring: %m",
			       store->folder);
	debuginfo_complete_format_1(store);
}

int debuginfo_store_open(const char *folder, const struct clock *clock,
			 struct debuginfo_store **ret_store)
{
	scoped(debuginfo_store_freep) struct debuginfo_store *store = calloc(1, sizeof(*store));
	int r;

	if (!store)
		return -ENOMEM;
	store->lock_fd = -1;
	store->clock = clock;
	store->folder = strdup(folder);
	r = make_tables(store);
	if (r == 0 && !store->folder)
		r = -ENOMEM;
	if (r == 0)
		r = open_database(store);
	if (r < 0)
		return r;
	tidy_up(store);
	debuginfo_backfill_start(store);
	*ret_store = take_ptr(store);
	return 0;
}

struct debuginfo_store *debuginfo_store_free(struct debuginfo_store *store)
{
	if (!store)
		return NULL;
	debuginfo_backfill_stop(store);
	for (unsigned int i = 0; i < store->n_idle; i++)
		(void)sqlite_db_free(store->idle[i]);
	(void)sqlite_db_free(store->reader);
	(void)sqlite_db_free(store->writer);
	(void)hash_table_free(store->requests);
	(void)hash_table_free(store->pins);
	(void)hash_table_free(store->sessions_in_use);
	(void)pthread_mutex_destroy(&store->write_queue_lock);
	(void)pthread_mutex_destroy(&store->write_lock);
	(void)pthread_mutex_destroy(&store->read_lock);
	(void)pthread_mutex_destroy(&store->idle_lock);
	(void)pthread_mutex_destroy(&store->requests_lock);
	(void)pthread_mutex_destroy(&store->session_lock);
	scoped_close(&store->lock_fd);
	free(store->folder);
	free(store);
	return NULL;
}

void debuginfo_set_fetcher(struct debuginfo_store *store, struct debuginfo_fetcher *fetcher)
{
	atomic_store(&store->fetcher, fetcher);
}

const struct clock *debuginfo_clock(const struct debuginfo_store *store)
{
	return store->clock;
}
