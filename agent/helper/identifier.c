/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps look-ups by number, begins them, and removes them some time after their end. Their steps
 * are in identifier_look_up.c.
 */
#include "agent/helper/identifier.h"

#include <limits.h>
#include <string.h>

#include "agent/helper/identifier_look_up.h"
#include "common/log.h"

/* Maximum number of look-ups, including those that ended less than KEPT_NS ago. */
#define MAX_LOOK_UPS 16384

/*
 * Each watched file pins an inode, about 1 KiB. A host with many containers uses some thousand
 * executables and libraries.
 */
#define MAX_WATCHED_FILES 4096

/*
 * How long a look-up is kept after its end, for other processes that share the mapping and look it
 * up later.
 */
#define KEPT_NS        (2 * NSEC_PER_SEC)
#define SWEEP_EVERY_NS NSEC_PER_SEC

/*
 * A device is avoided after two successive timeouts, because a single one may be a disk that spins
 * up, or a helper that was stopped. At the maximum, a server that hangs for days costs a helper
 * three seconds of waiting per minute.
 */
static const struct avoid_list_options bad_devices = {
	.key_size = sizeof(uint64_t),
	.max_keys = 256,
	.free_failures = 1,
	.first_ns = 4 * NSEC_PER_SEC,
	.max_ns = 60 * NSEC_PER_SEC,
};

/*
 * Files on which the parser died. Something else may have killed the parser, so the file is tried
 * again. A hostile file costs up to PARSER_TIMEOUT_NS per attempt, and the longest pause between
 * two attempts is one hour.
 */
static const struct avoid_list_options refused_files = {
	.key_size = sizeof(struct file_key),
	.max_keys = 4096,
	.first_ns = 4 * NSEC_PER_SEC,
	.max_ns = 3600 * NSEC_PER_SEC,
};

int identifier_new(struct executable_cache *executables, struct helper_pool *pool,
		   struct identifier **ret_identifier)
{
	scoped(identifier_freep) struct identifier *identifier = calloc(1, sizeof(*identifier));
	int r;

	if (!identifier)
		return -ENOMEM;
	identifier->executables = executables;
	identifier->pool = pool;
	r = hash_table_new(sizeof(uint32_t), sizeof(struct look_up *), MAX_LOOK_UPS,
			   &identifier->look_ups);
	if (r < 0)
		return r;
	r = avoid_list_new(&bad_devices, &identifier->bad_devices);
	if (r < 0)
		return r;
	r = avoid_list_new(&refused_files, &identifier->refused_files);
	if (r < 0)
		return r;
	r = file_watch_new(MAX_WATCHED_FILES, &identifier->watch);
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		log_warn_errno(r, "cannot watch files by inotify; each file is looked up again "
				  "whenever it is mapped, which costs more CPU: %m");
	*ret_identifier = take_ptr(identifier);
	return 0;
}

struct identifier *identifier_free(struct identifier *identifier)
{
	size_t cursor = 0;
	void *value;

	if (!identifier)
		return NULL;
	while (identifier->look_ups && hash_table_next(identifier->look_ups, &cursor, NULL, &value))
		look_up_free(*(struct look_up **)value);
	(void)hash_table_free(identifier->look_ups);
	(void)avoid_list_free(identifier->bad_devices);
	(void)avoid_list_free(identifier->refused_files);
	(void)file_watch_free(identifier->watch);
	vec_release(&identifier->queued);
	free(identifier);
	return NULL;
}

void identifier_on_end(struct identifier *identifier, identifier_ended function, void *arg)
{
	identifier->ended = function;
	identifier->ended_arg = arg;
}

size_t identifier_n_pending(const struct identifier *identifier)
{
	return identifier->n_pending;
}

void identifier_stats(const struct identifier *identifier, struct identifier_stats *ret_stats)
{
	*ret_stats = identifier->stats;
	ret_stats->watched = identifier->watch ? file_watch_count(identifier->watch) : 0;
}

static void forget(struct identifier *identifier, struct look_up *look_up)
{
	struct executable *executable =
		executable_cache_by_number(identifier->executables, look_up->executable);

	if (executable)
		executable_unref(identifier->executables, executable);
	look_up_free(look_up);
}

/* Removes look-ups that ended at least @kept_ns ago. */
static void sweep(struct identifier *identifier, uint64_t kept_ns)
{
	size_t cursor = 0;
	void *value;

	while (hash_table_next(identifier->look_ups, &cursor, NULL, &value)) {
		struct look_up *look_up = *(struct look_up **)value;

		if (!look_up->has_ended || look_up->ended_ns + kept_ns > identifier->now_ns)
			continue;
		hash_table_remove_at_cursor(identifier->look_ups, &cursor);
		forget(identifier, look_up);
	}
}

/* ---- new look-ups -------------------------------------------------------------------------- */

static void submit_batch(struct identifier *identifier, struct batch *batch)
{
	const struct helper_job job = {
		.kind = HELPER_FINDER,
		.timeout_ns = FINDER_TIMEOUT_NS,
		.done = look_up_on_answer,
		.forget = free,
		.arg = batch,
	};

	if (helper_pool_submit(identifier->pool, &job, &identifier->message) == 0)
		return;
	for (size_t i = 0; i < batch->count; i++)
		look_up_end_unavailable(look_up_find(identifier, batch->numbers[i]));
	free(batch);
}

/*
 * Whether the kernel reported the file when it was mapped, and no executable is known for that
 * report.
 */
static bool is_new(struct look_up *look_up)
{
	struct executable *executable;

	return reported_file_is_unique(&look_up->file.reported) &&
	       executable_cache_find_reported(look_up->identifier->executables, &look_up->file,
					      &executable) == 0;
}

/* Submits one message, with as many look-ups from queued[*next] on as fit, and advances *next. */
static void submit_next(struct identifier *identifier, size_t *next)
{
	struct batch *batch = calloc(1, sizeof(*batch));

	finder_request_begin(&identifier->message, FINDER_LOOK);
	while (*next < identifier->queued.count) {
		struct look_up *look_up = look_up_find(identifier, identifier->queued.items[*next]);

		if (!look_up || look_up->has_ended) {
			(*next)++;
			continue;
		}
		/* A new file has to be opened in any case, so its LOOK is skipped. */
		if (batch && batch->count == 0 && !look_up->is_single && is_new(look_up) &&
		    !look_up_is_avoided(look_up)) {
			free(batch);
			(*next)++;
			look_up_open(look_up);
			return;
		}
		if (batch && batch->count > 0 && is_new(look_up))
			break;
		if (!batch || look_up_is_avoided(look_up)) {
			identifier->stats.avoided++;
			look_up_end_unavailable(look_up);
			(*next)++;
			continue;
		}
		if ((look_up->is_single && batch->count > 0) ||
		    !look_up_add_to_request(&identifier->message, look_up))
			break;
		batch->numbers[batch->count++] = look_up->number;
		(*next)++;
		if (look_up->is_single)
			break;
	}
	if (!batch || batch->count == 0) {
		free(batch);
		return;
	}
	batch->identifier = identifier;
	submit_batch(identifier, batch);
}

void identifier_flush(struct identifier *identifier, uint64_t now_ns)
{
	size_t next = 0;

	identifier->now_ns = now_ns;
	while (next < identifier->queued.count)
		submit_next(identifier, &next);
	vec_clear(&identifier->queued);
}

static int begin(struct identifier *identifier, const struct mapped_file *file,
		 struct look_up **ret_look_up)
{
	struct look_up *look_up;
	void *value;
	int r;

	/*
	 * Nobody may ask for the result of a look-up any more, because the process has ended.
	 * Therefore look-ups are removed some time after their end.
	 */
	if (identifier->now_ns >= identifier->swept_ns + SWEEP_EVERY_NS) {
		identifier->swept_ns = identifier->now_ns;
		sweep(identifier, KEPT_NS);
	}
	if (hash_table_count(identifier->look_ups) >= MAX_LOOK_UPS - 1)
		sweep(identifier, 0);
	look_up = calloc(1, sizeof(*look_up));
	if (!look_up)
		return -ENOMEM;
	look_up->identifier = identifier;
	look_up->fd = -1;
	look_up->file = *file;
	look_up->file.path = strdup(file->path);
	look_up->number = ++identifier->last_number;
	r = look_up->file.path ? vec_push(&identifier->queued, look_up->number) : -ENOMEM;
	if (r == 0)
		r = hash_table_insert(identifier->look_ups, &look_up->number, &value);
	if (r < 0) {
		look_up_free(look_up);
		return r;
	}
	*(struct look_up **)value = look_up;
	*ret_look_up = look_up;
	return 0;
}

/* Finds a file that was identified before and has not changed, without any helper. */
static bool find_unchanged(struct identifier *identifier, const struct mapped_file *file,
			   struct executable **ret_executable)
{
	struct watched_file watched;

	/* A copy is compared with its file each time. */
	return identifier->watch && !file->is_copy &&
	       file_watch_find(identifier->watch, &file->reported, &watched) &&
	       executable_cache_find_unchanged(identifier->executables, file, &watched,
					       ret_executable) == 1;
}

int identifier_find(void *arg, const struct mapped_file *file, uint32_t *number,
		    struct executable **ret_executable)
{
	struct identifier *identifier = arg;
	struct look_up *look_up = *number ? look_up_find(identifier, *number) : NULL;
	int r;

	/* A longer path does not fit into a request. The kernel reports no longer ones. */
	if (!mapped_file_has_path(file) || strlen(file->path) >= PATH_MAX)
		return 0;
	if (!look_up && find_unchanged(identifier, file, ret_executable))
		return 1;
	if (!look_up) {
		r = begin(identifier, file, &look_up);
		/* -ENOSPC: MAX_LOOK_UPS are in progress. */
		if (r < 0)
			return r == -ENOSPC ? 0 : r;
		identifier->stats.looked_up++;
		identifier->n_pending++;
		*number = look_up->number;
	}
	if (!look_up->has_ended)
		return -EINPROGRESS;
	if (look_up->executable == 0)
		return look_up->is_unavailable ? EXECUTABLE_UNAVAILABLE : 0;
	*ret_executable = executable_cache_by_number(identifier->executables, look_up->executable);
	return *ret_executable != NULL;
}
