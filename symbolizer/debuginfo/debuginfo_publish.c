/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The content is stored first, in many short transactions, and has no effect. The last transaction
 * adds the file row, and removes files that the new one makes superfluous.
 */

#include "symbolizer/debuginfo/debuginfo_publish.h"

#include "common/log.h"
#include "symbolizer/debuginfo/debuginfo_inspect.h"
#include "symbolizer/debuginfo/debuginfo_private.h"

/* Maximum number of ELF files of an identity: there are fewer combinations of kind and origin. */
#define MAX_ELVES 32

/* Attempts, if equal content is found but removed by another thread before the commit. */
#define MAX_STORE_ATTEMPTS 3

struct publication {
	const struct debuginfo_arrival *arrival;
	struct new_content content;
	struct debuginfo_entry entry;
	char *message;
	int64_t file; /* row ID, 0: not added */
};

/* The other files of the identity for the same use. */
struct rivals {
	struct stored_file files[MAX_ELVES];
	struct debuginfo_entry entries[MAX_ELVES];
	size_t count;
};

uint64_t debuginfo_arrival_limit(const struct debuginfo_arrival *arrival)
{
	return arrival->source_path[0] ? DEBUGINFO_MAX_SOURCE_BYTES : DEBUGINFO_MAX_FILE_BYTES;
}

static int load_elves(struct sqlite_db *db, const struct executable_id *id, struct rivals *rivals)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r;

	r = sqlite_query(db, SQL_ELVES_OF, &row, SQL_INT(id->kind), SQL_BLOB(id->bytes, id->size));
	while (r > 0 && rivals->count < MAX_ELVES) {
		r = debuginfo_db_row(row, &rivals->files[rivals->count]);
		if (r < 0)
			break;
		rivals->entries[rivals->count] = rivals->files[rivals->count].entry;
		rivals->count++;
		r = sqlite_step(db, row);
	}
	return MIN(r, 0);
}

static int load_rivals(struct sqlite_db *db, const struct debuginfo_arrival *arrival,
		       struct rivals *rivals)
{
	const struct debuginfo_key key = {
		.id = arrival->id,
		.kind = DEBUGINFO_KIND_SOURCE,
		.path = arrival->source_path,
	};
	int r;

	rivals->count = 0;
	if (!arrival->source_path[0])
		return load_elves(db, &arrival->id, rivals);
	r = debuginfo_db_best_own(db, &key, &rivals->files[0]);
	if (r > 0) {
		rivals->entries[0] = rivals->files[0].entry;
		rivals->count = 1;
	}
	return MIN(r, 0);
}

static bool has_same_role(const struct debuginfo_entry *a, const struct debuginfo_entry *b)
{
	return a->is_source == b->is_source && a->is_split == b->is_split;
}

/*
 * Returns whether the new file corrects the rival: both are source files or split DWARF from the
 * same origin, with different content.
 */
static bool is_correction(const struct publication *pub, const struct debuginfo_entry *rival)
{
	return has_same_role(rival, &pub->entry) && (rival->is_source || rival->is_split) &&
	       rival->origin == pub->entry.origin &&
	       memcmp(rival->sha256, pub->content.sha256, sizeof(rival->sha256)) != 0;
}

static const char *describe(const struct debuginfo_entry *entry)
{
	static const char *const names[] = { "code only", "tables for its own use", "symbols",
					     "source lines", "full DWARF" };

	if (entry->is_split)
		return "split DWARF";
	return entry->is_source ? "this source" : names[entry->richness];
}

/* Returns the best rival of the same role, which is copied to the first entry. */
static const struct debuginfo_entry *best_rival(const struct publication *pub,
						struct rivals *rivals)
{
	struct debuginfo_entry *best = &rivals->entries[0];

	for (size_t i = 1; i < rivals->count; i++) {
		const struct debuginfo_entry *rival = &rivals->entries[i];

		if (!has_same_role(rival, &pub->entry))
			continue;
		if (!has_same_role(best, &pub->entry) || rival->origin > best->origin ||
		    (rival->origin == best->origin && rival->richness > best->richness))
			*best = *rival;
	}
	return best;
}

/*
 * Returns 1 if the new file is better than the stored files. Returns 0 if not: then the message
 * names the stored file, which is the first rival.
 */
static int is_better(struct sqlite_db *db, struct publication *pub, struct rivals *rivals)
{
	const struct debuginfo_entry *best;
	int r;

	r = load_rivals(db, pub->arrival, rivals);
	if (r < 0)
		return debuginfo_fail_errno(pub->message, r, "cannot look up the stored files");
	if (debuginfo_is_needed(&pub->entry, rivals->entries, rivals->count))
		return 1;
	for (size_t i = 0; i < rivals->count; i++)
		if (is_correction(pub, &rivals->entries[i]))
			return 1;
	best = best_rival(pub, rivals);
	return debuginfo_fail(pub->message, 0, "a file with %s from %s is stored already",
			      describe(best),
			      best->origin == DEBUGINFO_FROM_PIPELINE   ? "a build pipeline"
			      : best->origin == DEBUGINFO_FROM_UPSTREAM ? "an upstream server"
									: "an agent");
}

/* Checks one after another, so that one of two equal rivals stays. Keeps the new file. */
static int remove_superfluous(struct sqlite_db *db, const struct publication *pub,
			      struct rivals *rivals)
{
	struct debuginfo_entry others[MAX_ELVES + 1];
	size_t i = 0;

	while (i < rivals->count) {
		size_t n_others = 0;
		int r;

		others[n_others++] = pub->entry;
		for (size_t j = 0; j < rivals->count; j++)
			if (j != i)
				others[n_others++] = rivals->entries[j];
		if (debuginfo_is_needed(&rivals->entries[i], others, n_others)) {
			i++;
			continue;
		}
		r = debuginfo_db_remove_file(db, rivals->files[i].id);
		if (r < 0)
			return r;
		rivals->count--;
		rivals->files[i] = rivals->files[rivals->count];
		rivals->entries[i] = rivals->entries[rivals->count];
	}
	return 0;
}

static int add_file(struct sqlite_db *db, struct publication *pub, int64_t content)
{
	const struct debuginfo_arrival *arrival = pub->arrival;
	int r;

	r = sqlite_run(db, SQL_FILE_ADD, SQL_INT(arrival->id.kind),
		       SQL_BLOB(arrival->id.bytes, arrival->id.size),
		       SQL_INT(pub->entry.is_source  ? ROLE_SOURCE
			       : pub->entry.is_split ? ROLE_SPLIT
						     : ROLE_ELF),
		       SQL_TEXT(arrival->source_path), SQL_INT(arrival->origin),
		       SQL_INT(pub->entry.richness), SQL_INT(pub->entry.has_code), SQL_INT(content),
		       SQL_INT(pub->entry.uploaded_wall_ns));
	if (r < 0)
		return r;
	pub->file = sqlite_last_id(db);
	/*
	 * The build may be published now, so upstream servers are asked again for what they
	 * lacked. A file from an upstream server says nothing about its other files.
	 */
	if (arrival->origin == DEBUGINFO_FROM_UPSTREAM)
		return 0;
	return sqlite_run(db, SQL_MISS_CLEAR, SQL_INT(arrival->id.kind),
			  SQL_BLOB(arrival->id.bytes, arrival->id.size));
}

/*
 * Runs in a transaction, and compares again: another upload of this identity may have been stored
 * meanwhile. Returns 1 if stored, 0 if the new file is not better.
 */
static int complete_file(struct debuginfo_store *store, void *arg)
{
	struct publication *pub = arg;
	struct new_content content = pub->content;
	struct sqlite_db *db = store->writer;
	struct rivals rivals;
	int r;

	r = is_better(db, pub, &rivals);
	if (r <= 0)
		return r;
	r = debuginfo_content_publish(store, &content);
	if (r == 0)
		r = add_file(db, pub, content.id);
	if (r == 0)
		r = remove_superfluous(db, pub, &rivals);
	if (r < 0)
		return r;
	/* Not read from the database, because nothing may fail after the file is published. */
	pub->entry.stored_bytes = content.stored_bytes;
	pub->entry.hash = content.hash;
	memcpy(pub->entry.sha256, content.sha256, sizeof(content.sha256));
	pub->entry.generation = (uint64_t)pub->file;
	return 1;
}

static int store_once(struct debuginfo_store *store, struct publication *pub)
{
	int r;

	r = debuginfo_content_store(store, pub->arrival->fd, pub->arrival->size, &pub->content);
	if (r == 0)
		r = debuginfo_quota_allows(store, pub->entry.origin,
					   pub->content.shared ? 0 : pub->content.stored_bytes);
	if (r == 0)
		r = debuginfo_change(store, complete_file, pub);
	if (r <= 0)
		debuginfo_content_forget(store, &pub->content);
	return r;
}

static int store_file(struct debuginfo_store *store, struct publication *pub)
{
	int r = -EAGAIN;

	for (int i = 0; i < MAX_STORE_ATTEMPTS && r == -EAGAIN; i++)
		r = store_once(store, pub);
	if (r > 0 && debuginfo_enforce_quota(store, pub->file, pub->entry.origin) == -EDQUOT)
		r = -EDQUOT;
	if (r == -EDQUOT)
		return debuginfo_fail(
			pub->message, r,
			"debuginfo.quota leaves no room for the file: files of pipelines "
			"are kept");
	if (r < 0 && pub->message[0] == '\0')
		return debuginfo_fail_errno(pub->message, r, "cannot store the file");
	return r;
}

static int check_and_store(struct debuginfo_store *store, struct publication *pub,
			   struct debuginfo_entry *ret_entry)
{
	struct rivals rivals = {};
	int r;

	r = pub->entry.is_source ? debuginfo_sha256_of_fd(pub->arrival->fd, pub->arrival->size,
							  pub->content.sha256)
				 : debuginfo_inspect(pub->arrival, &pub->entry, pub->message);
	if (r == 0 && pub->entry.is_split)
		r = debuginfo_sha256_of_fd(pub->arrival->fd, pub->arrival->size,
					   pub->content.sha256);
	if (r < 0)
		return pub->message[0] ? r
				       : debuginfo_fail_errno(pub->message, r,
							      "cannot read the upload back");
	(void)pthread_mutex_lock(&store->read_lock);
	r = is_better(store->reader, pub, &rivals);
	(void)pthread_mutex_unlock(&store->read_lock);
	if (r > 0)
		r = store_file(store, pub);
	if (r > 0)
		*ret_entry = pub->entry;
	else if (r == 0)
		*ret_entry = rivals.entries[0];
	if (r >= 0 && !pub->entry.is_source && !pub->entry.is_split)
		debuginfo_add_alias(store, &pub->arrival->id, pub->arrival->origin,
				    pub->arrival->fd, pub->arrival->size);
	return r;
}

int debuginfo_publish(struct debuginfo_store *store, const struct debuginfo_arrival *arrival,
		      struct debuginfo_entry *ret_entry, char ret_message[DEBUGINFO_MESSAGE_SIZE])
{
	struct publication pub = {
		.arrival = arrival,
		.message = ret_message,
		.entry = {
			.id = arrival->id,
			.origin = arrival->origin,
			.is_source = arrival->source_path[0] != '\0',
			.n_files = 1,
			.size_bytes = arrival->size,
			.uploaded_wall_ns = clock_wall_ns(store->clock),
		},
	};
	int r;

	ret_message[0] = '\0';
	r = check_and_store(store, &pub, ret_entry);
	if (r == -EBADMSG || r == -EDQUOT)
		debuginfo_refused(store, &arrival->id);
	if (r > 0 && arrival->origin == DEBUGINFO_FROM_USER)
		debuginfo_came_from_user(store, &arrival->id);
	return r;
}
