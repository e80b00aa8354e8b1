/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/publish/unwind_publisher.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/log.h"

/* File descriptors that the rest of the agent needs. */
#define OTHER_FDS 512

/* Time until the next attempt when making a table could not begin for lack of resources. */
#define UNBEGUN_NS (10 * NSEC_PER_SEC)

/*
 * A table that no stack used for this time, a minute, may be evicted when files are too many or too
 * large together.
 */
#define IDLE_TICKS (UINT64_C(60) * NSEC_PER_SEC >> UNWIND_USED_SHIFT)

/* ---- the maps ---- */

static void on_made(void *arg, const struct made_table *made);

static int add_part(void *arg, uint32_t part, struct abi_unwind_slot **ret_slots)
{
	return bpf_programs_add_unwind_part(arg, part, ret_slots);
}

static void remove_part(void *arg, uint32_t part, struct abi_unwind_slot *slots)
{
	bpf_programs_remove_unwind_part(arg, part, slots);
}

static int put_region(void *arg, uint64_t key, uint32_t directory)
{
	return bpf_programs_put_unwind_region(arg, key, directory);
}

static void remove_region(void *arg, uint64_t key)
{
	bpf_programs_remove_unwind_region(arg, key);
}

/* Each table has a file open. */
static uint32_t max_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur <= 2 * OTHER_FDS)
		return OTHER_FDS / 2;
	return (uint32_t)MIN(limit.rlim_cur - OTHER_FDS, (rlim_t)UNWIND_MAX_TABLES);
}

int unwind_publisher_init(struct unwind_publisher *publisher,
			  const struct unwind_publisher_options *options)
{
	int r;

	*publisher = (struct unwind_publisher){
		.programs = options->programs,
		.executables = options->executables,
		.clock = options->clock,
		.backend = {
			.arg = options->programs,
			.add_part = add_part,
			.remove_part = remove_part,
			.put_region = put_region,
			.remove_region = remove_region,
		},
		.max_file_bytes = options->cache_bytes,
		.max_files = max_files(),
	};
	r = hash_table_new(sizeof(uint32_t), sizeof(struct published_table), UNWIND_MAX_TABLES,
			   &publisher->tables);
	if (r < 0)
		return r;
	r = table_maker_new(&(struct table_maker_options){ .helpers = options->helpers,
							   .clock = options->clock,
							   .made = on_made,
							   .arg = publisher,
							   .unwind = options->unwind },
			    &publisher->maker);
	if (r < 0)
		return r;
	r = paged_rows_init(&publisher->rows, &publisher->backend,
			    unwind_parts_of_budget(options->unwind_bytes), UNWIND_POOL_RULES);
	if (r < 0)
		return r;
	table_maker_use_cache(publisher->maker, options->cache_folder, options->cache_bytes);
	return 0;
}

void unwind_publisher_release(struct unwind_publisher *publisher)
{
	size_t cursor = 0;
	void *value;

	while (publisher->tables && hash_table_next(publisher->tables, &cursor, NULL, &value)) {
		struct published_table *table = value;

		if (table->state == TABLE_READY)
			(void)close(table->file.fd);
	}
	publisher->tables = hash_table_free(publisher->tables);
	publisher->maker = table_maker_free(publisher->maker);
	paged_rows_release(&publisher->rows);
}

/* ---- evicting tables ---- */

/* Closes the file and evicts its rows from the maps. */
static void close_table(struct unwind_publisher *publisher, uint32_t number,
			struct published_table *table)
{
	if (table->state != TABLE_READY)
		return;
	paged_rows_unload(&publisher->rows, number);
	publisher->file_bytes -= table->file.bytes;
	publisher->n_files--;
	(void)close(table->file.fd);
	table->state = TABLE_NONE;
}

static void remove_table(struct unwind_publisher *publisher, uint32_t number)
{
	struct published_table *table = hash_table_find(publisher->tables, &number);

	bpf_programs_remove_unwind_table(publisher->programs, number);
	close_table(publisher, number, table);
	(void)hash_table_remove(publisher->tables, &number);
	publisher->n_evicted++;
}

static bool is_idle(const struct unwind_publisher *publisher, const struct published_table *table)
{
	return (int32_t)(publisher->rows.now - table->used) >= (int32_t)IDLE_TICKS;
}

/*
 * Finds the table that was used longest ago, if that is IDLE_TICKS or more. With @with_file, only
 * among those with an open file.
 */
static bool find_idle(const struct unwind_publisher *publisher, bool with_file,
		      uint32_t *ret_number)
{
	const struct published_table *oldest = NULL;
	const void *key;
	size_t cursor = 0;
	void *value;

	while (hash_table_next(publisher->tables, &cursor, &key, &value)) {
		const struct published_table *table = value;

		if (!is_idle(publisher, table) || (with_file && table->state != TABLE_READY) ||
		    (oldest && (int32_t)(table->used - oldest->used) >= 0))
			continue;
		oldest = table;
		memcpy(ret_number, key, sizeof(*ret_number));
	}
	return oldest != NULL;
}

/* Evicts idle tables until there is room for one more. False: all tables are in use. */
static bool make_room(struct unwind_publisher *publisher)
{
	uint32_t number;

	while (hash_table_count(publisher->tables) >= UNWIND_MAX_TABLES) {
		if (!find_idle(publisher, false, &number))
			return false;
		remove_table(publisher, number);
	}
	while (publisher->n_files >= publisher->max_files) {
		if (!find_idle(publisher, true, &number))
			return false;
		remove_table(publisher, number);
	}
	return true;
}

/* ---- making a table ---- */

/*
 * Writes the table's state into the BPF map. On failure removes the table: the next stack that
 * needs it has it made again.
 */
static int put_info(struct unwind_publisher *publisher, uint32_t number,
		    struct published_table *table)
{
	int r = bpf_programs_put_unwind_table(publisher->programs, number, &table->info);

	if (r < 0) {
		close_table(publisher, number, table);
		(void)hash_table_remove(publisher->tables, &number);
	}
	return r;
}

/* Owns @fd, also on failure. */
static int open_table(struct unwind_publisher *publisher, int fd, const struct hash128 *key,
		      struct published_table *table)
{
	int r = table_file_open(fd, key, &table->file);

	if (r < 0) {
		(void)close(fd);
		return r;
	}
	table->state = TABLE_READY;
	table->key = *key;
	table->info = (struct abi_unwind_info){ .first_page = table->file.first_page,
						.n_pages = table->file.n_pages };
	publisher->file_bytes += table->file.bytes;
	publisher->n_files++;
	return 1;
}

/*
 * The callback of the table maker. Frames of an executable without a table, or with one that takes
 * long to compile, are unwound by frame pointers.
 */
static void on_made(void *arg, const struct made_table *made)
{
	struct unwind_publisher *publisher = arg;
	const struct executable *executable =
		executable_cache_by_number(publisher->executables, made->number);
	struct published_table *table = hash_table_find(publisher->tables, &made->number);
	int r = made->result;
	int fd = made->fd;

	/* The table was evicted while it was made, and may have been made a second time. */
	if (!table || table->state == TABLE_READY) {
		scoped_close(&fd);
		return;
	}
	table->state = TABLE_NONE;
	table->retry_at_ns = made->retry_at_ns;
	if (r == 1) {
		table->retry_at_ns = clock_monotonic_ns(publisher->clock) + UNBEGUN_NS;
		r = open_table(publisher, fd, &made->key, table);
	}
	publisher->n_without += r == 0;
	publisher->n_failed += r < 0 && r != -EINPROGRESS;
	if (r < 0 && executable)
		log_debug_errno(
			r, "no unwind table for '%s', its frames are found by frame pointers: %m",
			executable->name);
	(void)put_info(publisher, made->number, table);
}

/* When to retry after making a table could not begin because of @error or an earlier failure. */
static uint64_t retry_of_unbegun(const struct unwind_publisher *publisher,
				 const struct executable *executable, int error)
{
	uint64_t retry_at_ns = table_maker_retry_at_ns(publisher->maker, &executable->content);

	/* The executable has no file. */
	if (error == -ENOENT)
		return UINT64_MAX;
	return MAX(retry_at_ns, clock_monotonic_ns(publisher->clock) + UNBEGUN_NS);
}

/*
 * Begins to make the table. -EAGAIN: helpers failed to make it a short time ago, or too often.
 * -EMFILE: all tables are in use.
 */
static int make_table(struct unwind_publisher *publisher, const struct executable *executable)
{
	uint64_t retry_at_ns = table_maker_retry_at_ns(publisher->maker, &executable->content);

	if (retry_at_ns > clock_monotonic_ns(publisher->clock))
		return -EAGAIN;
	return make_room(publisher) ? table_maker_make(publisher->maker, executable) : -EMFILE;
}

/*
 * Adds a table for an executable that has none, and begins to make it. NULL: the table maker is
 * busy, or there is no memory.
 */
static struct published_table *begin_table(struct unwind_publisher *publisher,
					   const struct executable *executable)
{
	struct published_table *table;
	void *value;
	int r;

	r = make_table(publisher, executable);
	if (r == -EBUSY || hash_table_insert(publisher->tables, &executable->number, &value) < 0)
		return NULL;
	table = value;
	*table = (struct published_table){
		.state = r == 0 ? TABLE_MAKING : TABLE_NONE,
		.used = publisher->rows.now,
	};
	if (r == 0)
		return table;
	table->retry_at_ns = retry_of_unbegun(publisher, executable, r);
	publisher->n_failed += r != -EAGAIN;
	return put_info(publisher, executable->number, table) < 0 ? NULL : table;
}

bool unwind_publisher_is_making(const struct unwind_publisher *publisher, uint32_t number)
{
	const struct published_table *table = hash_table_find(publisher->tables, &number);

	return table ? table->state == TABLE_MAKING : table_maker_is_busy(publisher->maker);
}

/* ---- loading rows ---- */

/* Removes a table with a damaged file. The next stack that needs the table has it made again. */
static void give_up_file(struct unwind_publisher *publisher, uint32_t number,
			 const struct published_table *table)
{
	log_debug("the unwind table of executable %u is damaged, it is made again when needed",
		  number);
	if (publisher->maker->cache)
		table_cache_remove(publisher->maker->cache, &table->key);
	remove_table(publisher, number);
	publisher->n_failed++;
}

static void read_clock(struct unwind_publisher *publisher)
{
	paged_rows_set_now(&publisher->rows,
			   (uint32_t)(clock_monotonic_ns(publisher->clock) >> UNWIND_USED_SHIFT));
}

int unwind_publisher_load(struct unwind_publisher *publisher, uint32_t number, uint64_t elf_addr)
{
	const struct executable *executable =
		executable_cache_by_number(publisher->executables, number);
	struct published_table *table = hash_table_find(publisher->tables, &number);
	struct chunk_record record;
	bool is_new = !table;
	int r;

	read_clock(publisher);
	if (!table && executable) {
		table = begin_table(publisher, executable);
		if (!table && table_maker_is_busy(publisher->maker))
			return -EINPROGRESS;
	}
	if (!table)
		return 0;
	if (table->state == TABLE_MAKING)
		return -EINPROGRESS;
	table->used = publisher->rows.now;
	if (table->state != TABLE_READY || paged_rows_find(&publisher->rows, number, elf_addr))
		return is_new;
	r = table_file_read(&table->file, elf_addr, &record);
	if (r < 0) {
		give_up_file(publisher, number, table);
		return 0;
	}
	if (r == 0)
		return is_new;
	return paged_rows_load(&publisher->rows, number, &record) == 0;
}

/* ---- tidying ---- */

static void note_use(void *arg, uint32_t number, uint32_t used)
{
	struct unwind_publisher *publisher = arg;
	struct published_table *table = hash_table_find(publisher->tables, &number);

	/* The kernel may have written a later tick than the agent has read from the clock. */
	if (table && (int32_t)(used - table->used) > 0)
		table->used = used;
}

static void drop_tables_of_gone_executables(struct unwind_publisher *publisher)
{
	const void *key;
	size_t cursor = 0;
	void *value;

	while (hash_table_next(publisher->tables, &cursor, &key, &value)) {
		uint32_t number;

		memcpy(&number, key, sizeof(number));
		if (executable_cache_by_number(publisher->executables, number))
			continue;
		bpf_programs_remove_unwind_table(publisher->programs, number);
		close_table(publisher, number, value);
		hash_table_remove_at_cursor(publisher->tables, &cursor);
	}
}

/*
 * Forgets tables that could not be made and may be retried. The kernel then sends the next stack
 * with such an executable as a copy, and the table is made again.
 */
static void forget_failures(struct unwind_publisher *publisher)
{
	uint64_t now_ns = clock_monotonic_ns(publisher->clock);
	const void *key;
	size_t cursor = 0;
	void *value;

	while (hash_table_next(publisher->tables, &cursor, &key, &value)) {
		const struct published_table *table = value;
		uint32_t number;

		if (table->state != TABLE_NONE || table->retry_at_ns > now_ns)
			continue;
		memcpy(&number, key, sizeof(number));
		bpf_programs_remove_unwind_table(publisher->programs, number);
		hash_table_remove_at_cursor(publisher->tables, &cursor);
		publisher->n_retried++;
	}
}

void unwind_publisher_tidy(struct unwind_publisher *publisher)
{
	uint32_t number;

	read_clock(publisher);
	forget_failures(publisher);
	paged_rows_each(&publisher->rows, note_use, publisher);
	drop_tables_of_gone_executables(publisher);
	while (publisher->file_bytes > publisher->max_file_bytes &&
	       find_idle(publisher, true, &number))
		remove_table(publisher, number);
}

/* ---- the unwinder on the host ---- */

static const struct abi_unwind_info *find_info(void *arg, uint32_t number)
{
	const struct unwind_publisher *publisher = arg;
	const struct published_table *table = hash_table_find(publisher->tables, &number);

	return table ? &table->info : NULL;
}

static const uint32_t *find_region(void *arg, uint64_t key)
{
	const struct unwind_publisher *publisher = arg;

	return directories_region(&publisher->rows.directories, key);
}

void unwind_publisher_view(struct unwind_publisher *publisher,
			   struct host_unwind_tables *ret_tables)
{
	*ret_tables = (struct host_unwind_tables){
		.find = find_info,
		.find_region = find_region,
		.argument = publisher,
		.parts = publisher->rows.slots.parts,
		.n_parts = publisher->rows.slots.max_parts,
	};
}
