/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/publish/table_maker.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/helper/source_opener.h"
#include "agent/unwind/table/table_file.h"
#include "common/clock.h"
#include "common/elf/build_id.h"
#include "common/log.h"

/*
 * Most tables take 1 to 40 ms to compile. A table that takes longer than QUICK_TIMEOUT_NS is
 * compiled again by the one helper of a second queue, so that a file that is made to take long does
 * not delay the others.
 */
#define QUICK_TIMEOUT_NS (1 * NSEC_PER_SEC)
#define SLOW_TIMEOUT_NS  (20 * NSEC_PER_SEC)

/*
 * Twelve attempts take two and a half hours. Each attempt to compile a file that hangs compilers
 * costs up to 21 s of CPU time, in sum less than 2 % of one CPU.
 */
static const struct avoid_list_options failed_tables = {
	.key_size = sizeof(struct hash128),
	.max_keys = 4096,
	.first_ns = 4 * NSEC_PER_SEC,
	.max_ns = 3600 * NSEC_PER_SEC,
	.max_failures = 12,
};

struct making {
	struct table_maker *maker;
	uint32_t number; /* of the executable */
	uint64_t began_ns;
	struct hash128 content; /* of the executable */
	struct hash128 key;     /* in the cache; all zero: the table is not stored there */
	int elf_fd;
	bool is_slow;   /* in the second queue */
	bool in_memory; /* the disk has no room */
	struct table_cache_file file;
	bool is_in_cache;
};

static void compile(struct making *making);

/*
 * Identifies this build of the agent. Tables that another build compiled are not used, because its
 * rules may differ. All builds without a build-ID share the identity 0.
 */
static uint64_t own_build(void)
{
	scoped(elf_file_freep) struct elf_file *elf = NULL;
	scoped_fd int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct executable_id id;

	if (fd < 0 || elf_file_open(fd, &elf) < 0 || build_id_from_elf(elf, &id) != 1)
		return 0;
	return hash64_of(&id, sizeof(id));
}

int table_maker_new(const struct table_maker_options *options, struct table_maker **ret_maker)
{
	scoped(table_maker_freep) struct table_maker *maker = calloc(1, sizeof(*maker));
	int r;

	if (!maker)
		return -ENOMEM;
	maker->helpers = options->helpers;
	maker->clock = options->clock;
	maker->made = options->made;
	maker->arg = options->arg;
	maker->unwind = options->unwind;
	r = avoid_list_new(&failed_tables, &maker->failed);
	if (r < 0)
		return r;
	*ret_maker = take_ptr(maker);
	return 0;
}

struct table_maker *table_maker_free(struct table_maker *maker)
{
	if (!maker)
		return NULL;
	(void)table_cache_close(maker->cache);
	(void)avoid_list_free(maker->failed);
	free(maker);
	return NULL;
}

void table_maker_use_cache(struct table_maker *maker, const char *folder, uint64_t max_bytes)
{
	const struct table_cache_options options = { .folder = folder,
						     .max_bytes = max_bytes,
						     .maker = own_build() };
	int r;

	if (!folder[0])
		return;
	r = table_cache_open(&options, &maker->cache);
	if (r == -EBUSY)
		log_warn(
			"another agent uses '%s', unwind tables are kept in memory, and made again "
			"after a restart",
			folder);
	else if (r < 0)
		log_warn_errno(
			r,
			"cannot use '%s', unwind tables are kept in memory, and made again after a "
			"restart: %m",
			folder);
}

bool table_maker_is_busy(const struct table_maker *maker)
{
	return maker->n_making >= TABLE_MAKER_MAX;
}

uint64_t table_maker_retry_at_ns(const struct table_maker *maker, const struct hash128 *content)
{
	return avoid_list_until_ns(maker->failed, content);
}

/* ---- the output file ---- */

/* Logs the first failure, such as a full disk. Later tables are tried, as smaller ones may fit. */
static void note_cache_failure(struct table_maker *maker, int r)
{
	if (!maker->cache_failed)
		log_warn_errno(r,
			       "cannot write to unwind.cache_folder, new unwind tables are kept in "
			       "memory: %m");
	maker->cache_failed = true;
}

static bool has_key(const struct hash128 *key)
{
	return !hash128_equal(key, &(struct hash128){});
}

static int open_output(struct making *making)
{
	struct table_maker *maker = making->maker;
	int r;

	making->is_in_cache = false;
	if (maker->cache && has_key(&making->key) && !making->in_memory) {
		r = table_cache_create(maker->cache, &making->file);
		making->is_in_cache = r == 0;
		if (r == 0)
			return 0;
		note_cache_failure(maker, r);
	}
	making->file.fd = memfd_create("hearth-unwind-table", MFD_CLOEXEC);
	return making->file.fd < 0 ? -errno : 0;
}

static void drop_output(struct making *making)
{
	if (making->is_in_cache)
		table_cache_discard(making->maker->cache, &making->file);
	making->is_in_cache = false;
	scoped_close(&making->file.fd);
	making->file.fd = -1;
}

/* 1: the fd of a valid table file; 0: none. */
static int find_in_cache(struct table_maker *maker, const struct hash128 *key, int *ret_fd)
{
	struct table_file file;
	int fd;

	if (!maker->cache || table_cache_find(maker->cache, key, &fd) <= 0)
		return 0;
	if (table_file_open(fd, key, &file) < 0) {
		(void)close(fd);
		table_cache_remove(maker->cache, key);
		return 0;
	}
	maker->stats.n_cached++;
	*ret_fd = fd;
	return 1;
}

/* ---- results ---- */

static void making_free(struct making *making)
{
	scoped_close(&making->elf_fd);
	free(making);
}

static void forget(void *arg)
{
	struct making *making = arg;

	drop_output(making);
	making_free(making);
}

static void count_failure(struct table_maker_stats *stats, int result)
{
	switch (result) {
	case -ECONNRESET:
		stats->n_crashed++;
		break;
	case -ETIMEDOUT:
		stats->n_timed_out++;
		break;
	case -ENOMEM:
	case -E2BIG:
		stats->n_out_of_memory++;
		break;
	case -EBADE:
		stats->n_unsound++;
		break;
	default:
		stats->n_unreadable++;
		break;
	}
}

/* Whether a retry has the same result: the file is no ELF file, is too large, or is hostile. */
static bool is_lasting(int result)
{
	return result == -ENOEXEC || result == -EBADMSG || result == -ENODATA || result == -E2BIG ||
	       result == -EBADE;
}

/* Counts a failure. Returns when to retry, as made_table.retry_at_ns. */
static uint64_t note_result(struct table_maker *maker, const struct hash128 *content, int result)
{
	if (result >= 0) {
		avoid_list_forgive(maker->failed, content);
		return result == 1 ? 0 : UINT64_MAX;
	}
	count_failure(&maker->stats, result);
	if (is_lasting(result))
		return UINT64_MAX;
	avoid_list_add_failure(maker->failed, content, clock_monotonic_ns(maker->clock));
	return avoid_list_until_ns(maker->failed, content);
}

/* Frees @making and reports its result. maker->made() takes ownership of @fd. */
static void end(struct making *making, int result, int fd)
{
	struct table_maker *maker = making->maker;
	const struct made_table made = {
		.number = making->number,
		.result = result,
		.fd = fd,
		.key = making->key,
		.retry_at_ns = note_result(maker, &making->content, result),
	};

	maker->n_making--;
	making_free(making);
	maker->made(maker->arg, &made);
}

static void end_without(struct making *making, int result)
{
	drop_output(making);
	end(making, result, -1);
}

/* Checks the file that the compiler has written. */
static void end_with_table(struct making *making)
{
	struct table_maker *maker = making->maker;
	struct table_file file;
	int r;

	if (table_file_open(making->file.fd, &making->key, &file) < 0) {
		end_without(making, -EBADE);
		return;
	}
	maker->stats.n_compiled++;
	if (making->is_in_cache) {
		r = table_cache_keep(maker->cache, &making->file, &making->key);
		if (r < 0)
			note_cache_failure(maker, r);
	}
	end(making, 1, making->file.fd);
}

/* ---- steps ---- */

static bool is_disk_error(int r)
{
	return r == -ENOSPC || r == -EDQUOT || r == -EIO || r == -EROFS;
}

static void compile_again(struct making *making)
{
	drop_output(making);
	compile(making);
}

static void on_compiled(void *arg, int error, struct helper_message *answer)
{
	struct making *making = arg;
	struct table_maker *maker = making->maker;
	uint64_t cpu_ns = 0;
	int r = error;

	if (error == -ETIMEDOUT && !making->is_slow) {
		making->is_slow = true;
		maker->made(maker->arg, &(struct made_table){
						.number = making->number,
						.result = -EINPROGRESS,
						.fd = -1,
						.retry_at_ns = UINT64_MAX,
					});
		compile_again(making);
		return;
	}
	if (error == 0)
		r = parser_table_decode(answer, &cpu_ns);
	maker->stats.compile_ns += cpu_ns;
	if (is_disk_error(r) && making->is_in_cache) {
		note_cache_failure(maker, r);
		making->in_memory = true;
		compile_again(making);
	} else if (r == 1) {
		end_with_table(making);
	} else {
		end_without(making, r);
	}
}

static int submit(struct making *making)
{
	const struct helper_job job = {
		.kind = making->is_slow ? HELPER_SLOW_COMPILER : HELPER_COMPILER,
		.timeout_ns = making->is_slow ? SLOW_TIMEOUT_NS : QUICK_TIMEOUT_NS,
		.done = on_compiled,
		.forget = forget,
		.arg = making,
	};
	const struct parser_request request = { .operation = PARSER_TABLE,
						.key = making->key,
						.unwind = making->maker->unwind };
	struct helper_message *message = &making->maker->message;

	memcpy(message->bytes, &request, sizeof(request));
	message->size = sizeof(request);
	message->n_fds = 2;
	message->fds[0] = dup(making->elf_fd);
	message->fds[1] = dup(making->file.fd);
	if (message->fds[0] < 0 || message->fds[1] < 0) {
		helper_message_close(message);
		return -EMFILE;
	}
	return helper_pool_submit(making->maker->helpers, &job, message);
}

static void compile(struct making *making)
{
	int r = open_output(making);

	if (r == 0)
		r = submit(making);
	if (r < 0)
		end_without(making, r);
}

/* The key of the table in the cache. @input: the hash that the parser computed from the file. */
static struct hash128 cache_key(const struct making *making, const struct hash128 *input)
{
	const struct hash128 both[] = { *input, making->content };

	return hash128_of(both, sizeof(both));
}

static void on_source(void *arg, int fd, const struct parser_source *source)
{
	struct making *making = arg;
	int cached_fd;

	making->maker->stats.cache_ns +=
		clock_monotonic_ns(making->maker->clock) - making->began_ns;
	if (fd < 0) {
		end_without(making, fd);
		return;
	}
	making->elf_fd = fd;
	/* The stacks of 32-bit programs are not unwound. */
	if (source->key_result == -ENOTSUP) {
		end_without(making, 0);
		return;
	}
	if (source->key_result < 0) {
		end_without(making, source->key_result);
		return;
	}
	if (source->key_result == 1)
		making->key = cache_key(making, &source->key);
	if (source->key_result == 1 && find_in_cache(making->maker, &making->key, &cached_fd) == 1)
		end(making, 1, cached_fd);
	else
		compile(making);
}

int table_maker_make(struct table_maker *maker, const struct executable *executable)
{
	struct making *making;
	int r;

	if (table_maker_is_busy(maker))
		return -EBUSY;
	making = calloc(1, sizeof(*making));
	if (!making)
		return -ENOMEM;
	*making = (struct making){
		.maker = maker,
		.number = executable->number,
		.began_ns = clock_monotonic_ns(maker->clock),
		.content = executable->content,
		.elf_fd = -1,
		.file.fd = -1,
	};
	r = source_open(maker->helpers, executable,
			&(struct source_request){ .opened = on_source,
						  .forget = forget,
						  .arg = making,
						  .unwind = maker->unwind });
	if (r < 0)
		making_free(making);
	else
		maker->n_making++;
	return r;
}
