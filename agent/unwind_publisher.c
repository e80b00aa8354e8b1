/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/unwind_publisher.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agent/unwind/table_make.h"
#include "common/clock.h"
#include "common/elf/build_id.h"
#include "common/log.h"

/* File descriptors that the rest of the agent needs. */
#define OTHER_FDS 512

/* A table that no stack used for so long may leave when files are too many, or too large together: a minute. */
#define IDLE_TICKS (UINT64_C(60) * NSEC_PER_SEC >> UNWIND_USED_SHIFT)

/* ---- the maps ---------------------------------------------------------------------------------------------------- */

static int add_part(void *arg, uint32_t part, struct abi_unwind_slot **ret_slots)
{
	return bpf_programs_add_unwind_part(arg, part, ret_slots);
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

int unwind_publisher_init(struct unwind_publisher *publisher, struct bpf_programs *programs,
			  struct executable_cache *executables, uint64_t unwind_bytes)
{
	int r;

	*publisher = (struct unwind_publisher){
		.programs = programs,
		.executables = executables,
		.backend = {
			.arg = programs,
			.add_part = add_part,
			.put_region = put_region,
			.remove_region = remove_region,
		},
		.max_file_bytes = UINT64_MAX,
		.max_files = max_files(),
	};
	r = hash_table_new(sizeof(uint32_t), sizeof(struct published_table), UNWIND_MAX_TABLES, &publisher->tables);
	if (r < 0)
		return r;
	return paged_rows_init(&publisher->rows, &publisher->backend, unwind_parts_of_budget(unwind_bytes),
			       UNWIND_POOL_RULES);
}

/*
 * Tables of another build of this program may have been compiled by other rules. 0 where it cannot be told, which is a
 * maker like any other.
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

void unwind_publisher_use_cache(struct unwind_publisher *publisher, const char *folder, uint64_t max_bytes)
{
	const struct table_cache_options options = { .folder = folder, .max_bytes = max_bytes, .maker = own_build() };
	int r;

	publisher->max_file_bytes = max_bytes;
	if (!folder[0])
		return;
	r = table_cache_open(&options, &publisher->cache);
	if (r == -EBUSY)
		log_warn("another agent uses '%s', unwind tables are kept in memory, and not for the next start",
			 folder);
	else if (r < 0)
		log_warn_errno(r, "cannot use '%s', unwind tables are kept in memory, and not for the next start: %m",
			       folder);
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
	publisher->cache = table_cache_close(publisher->cache);
	paged_rows_release(&publisher->rows);
}

/* ---- tables that leave ---------------------------------------------------------------------------------------- */

/* Of the file and the resident rows nothing is left. */
static void close_table(struct unwind_publisher *publisher, uint32_t number, struct published_table *table)
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

/* The table that was used longest ago, and not lately; with @with_file one that has a file. */
static bool find_idle(const struct unwind_publisher *publisher, bool with_file, uint32_t *ret_number)
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

/* False: as many tables, or files, as there can be, are in use. */
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

/* ---- making a table ------------------------------------------------------------------------------------------- */

/* Where a table is written to. */
struct table_output {
	struct table_cache_file file;
	struct hash128 key; /* all zero: not kept */
	bool is_in_cache;
};

/* A disk that is full, or any other trouble, is told once: smaller tables may still fit in between. */
static void note_cache_failure(struct unwind_publisher *publisher, int r)
{
	if (!publisher->cache_failed)
		log_warn_errno(r, "cannot write to unwind.cache_folder, new unwind tables are not kept: %m");
	publisher->cache_failed = true;
}

static int open_memory(struct table_output *output)
{
	output->file.fd = memfd_create("hearth-unwind-table", MFD_CLOEXEC);
	output->is_in_cache = false;
	return output->file.fd < 0 ? -errno : 0;
}

static int open_output(struct unwind_publisher *publisher, bool keep, struct table_output *output)
{
	int r;

	if (!keep || !publisher->cache)
		return open_memory(output);
	r = table_cache_create(publisher->cache, &output->file);
	if (r < 0) {
		note_cache_failure(publisher, r);
		return open_memory(output);
	}
	output->is_in_cache = true;
	return 0;
}

/* 1 made, 0 no call frame information, negative errno; the output's fd is closed unless it is 1. */
static int make_into(struct unwind_publisher *publisher, int elf_fd, struct table_output *output)
{
	uint64_t began_ns = clock_monotonic_ns(&system_clock);
	struct table_made made;
	int r;

	r = table_make(elf_fd, &output->key, output->file.fd, &made);
	publisher->compile_ns += clock_monotonic_ns(&system_clock) - began_ns;
	if (r > 0)
		return r;
	if (output->is_in_cache)
		table_cache_discard(publisher->cache, &output->file);
	scoped_close(&output->file.fd);
	return r;
}

static bool is_of_disk(int r)
{
	return r == -ENOSPC || r == -EDQUOT || r == -EIO || r == -EROFS;
}

/* 1 with the fd of the table file, 0 no call frame information, negative errno. */
static int compile(struct unwind_publisher *publisher, int elf_fd, const struct hash128 *key, bool keep, int *ret_fd)
{
	struct table_output output = { .key = *key };
	int r;

	r = open_output(publisher, keep, &output);
	if (r == 0)
		r = make_into(publisher, elf_fd, &output);
	if (r < 0 && output.is_in_cache && is_of_disk(r)) {
		note_cache_failure(publisher, r);
		r = open_memory(&output);
		if (r == 0)
			r = make_into(publisher, elf_fd, &output);
	}
	if (r <= 0)
		return r;
	publisher->n_compiled++;
	*ret_fd = output.file.fd;
	if (output.is_in_cache) {
		r = table_cache_keep(publisher->cache, &output.file, key);
		if (r < 0)
			note_cache_failure(publisher, r);
	}
	return 1;
}

/* 1 with the fd of a sound file, 0 not there. */
static int find_in_cache(struct unwind_publisher *publisher, const struct hash128 *key, int *ret_fd)
{
	struct table_file file;
	int fd;

	if (!publisher->cache || table_cache_find(publisher->cache, key, &fd) <= 0)
		return 0;
	if (table_file_open(fd, key, &file) < 0) {
		(void)close(fd);
		table_cache_remove(publisher->cache, key);
		return 0;
	}
	publisher->n_cached++;
	*ret_fd = fd;
	return 1;
}

/* 1 with the fd of the table file, 0 no call frame information, negative errno. @ret_key is 0 where it has none. */
static int get_file(struct unwind_publisher *publisher, const struct executable *executable, struct hash128 *ret_key,
		    int *ret_fd)
{
	uint64_t began_ns = clock_monotonic_ns(&system_clock);
	scoped_fd int elf_fd = executable_open(executable);
	bool keep;
	int r;

	*ret_key = (struct hash128){};
	if (elf_fd < 0)
		return elf_fd;
	r = table_make_key(elf_fd, ret_key);
	/* Of 32 bits: stacks of such programs are not walked. */
	if (r == -ENOTSUP)
		return 0;
	if (r < 0)
		return r;
	keep = r > 0;
	if (!keep)
		*ret_key = (struct hash128){};
	r = keep ? find_in_cache(publisher, ret_key, ret_fd) : 0;
	publisher->cache_ns += clock_monotonic_ns(&system_clock) - began_ns;
	return r > 0 ? r : compile(publisher, elf_fd, ret_key, keep, ret_fd);
}

/* 1 ready, 0 none, negative errno. */
static int open_table(struct unwind_publisher *publisher, const struct executable *executable,
		      struct published_table *table)
{
	int fd;
	int r;

	if (!make_room(publisher))
		return -EMFILE;
	r = get_file(publisher, executable, &table->key, &fd);
	if (r <= 0)
		return r;
	r = table_file_open(fd, &table->key, &table->file);
	if (r < 0) {
		(void)close(fd);
		return r;
	}
	table->state = TABLE_READY;
	table->info = (struct abi_unwind_info){ .first_page = table->file.first_page, .n_pages = table->file.n_pages };
	publisher->file_bytes += table->file.bytes;
	publisher->n_files++;
	return 1;
}

/* The table of an executable that is met for the first time, or NULL: memory is short. */
static struct published_table *make_table(struct unwind_publisher *publisher, const struct executable *executable)
{
	struct published_table table = { .state = TABLE_NONE, .used = publisher->rows.now };
	void *value;
	int r;

	r = open_table(publisher, executable, &table);
	publisher->n_without += r == 0;
	publisher->n_failed += r < 0;
	if (r < 0)
		log_debug_errno(r, "no unwind table for '%s', its frames are left to frame pointers: %m",
				executable->name);
	r = hash_table_insert(publisher->tables, &executable->number, &value);
	if (r >= 0)
		r = bpf_programs_put_unwind_table(publisher->programs, executable->number, &table.info);
	if (r < 0) {
		close_table(publisher, executable->number, &table);
		(void)hash_table_remove(publisher->tables, &executable->number);
		return NULL;
	}
	*(struct published_table *)value = table;
	return value;
}

/* ---- loading rows --------------------------------------------------------------------------------------------- */

/* The file is not what it was when it was written. The next stack that needs the table has it made again. */
static void give_up_file(struct unwind_publisher *publisher, uint32_t number, const struct published_table *table)
{
	log_debug("the unwind table of executable %u is damaged, making it again", number);
	if (publisher->cache)
		table_cache_remove(publisher->cache, &table->key);
	remove_table(publisher, number);
	publisher->n_failed++;
}

static void read_clock(struct unwind_publisher *publisher)
{
	paged_rows_set_now(&publisher->rows, (uint32_t)(clock_monotonic_ns(&system_clock) >> UNWIND_USED_SHIFT));
}

int unwind_publisher_load(struct unwind_publisher *publisher, uint32_t number, uint64_t elf_addr)
{
	const struct executable *executable = executable_cache_by_number(publisher->executables, number);
	struct published_table *table = hash_table_find(publisher->tables, &number);
	struct chunk_record record;
	bool is_new = !table;
	int r;

	read_clock(publisher);
	if (!table && executable)
		table = make_table(publisher, executable);
	if (!table)
		return 0;
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

/* ---- tidying -------------------------------------------------------------------------------------------------- */

static void note_use(void *arg, uint32_t number, uint32_t used)
{
	struct unwind_publisher *publisher = arg;
	struct published_table *table = hash_table_find(publisher->tables, &number);

	/* Stacks of this moment may be ahead of what is taken for now. */
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

void unwind_publisher_tidy(struct unwind_publisher *publisher)
{
	uint32_t number;

	read_clock(publisher);
	paged_rows_each(&publisher->rows, note_use, publisher);
	drop_tables_of_gone_executables(publisher);
	while (publisher->file_bytes > publisher->max_file_bytes && find_idle(publisher, true, &number))
		remove_table(publisher, number);
}

/* ---- the unwinder on the host --------------------------------------------------------------------------------- */

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

void unwind_publisher_view(struct unwind_publisher *publisher, struct host_unwind_tables *ret_tables)
{
	*ret_tables = (struct host_unwind_tables){
		.find = find_info,
		.find_region = find_region,
		.argument = publisher,
		.parts = publisher->rows.slots.parts,
		.n_parts = publisher->rows.slots.max_parts,
	};
}
