/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table is written into free extents through the mapping, and only then named in the hash that programs look at. One
 * that leaves is first taken out of the hash; its extents are free after a grace period of RCU, when no program can
 * hold its place any more (membarrier(2), MEMBARRIER_CMD_GLOBAL waits for one).
 */
#include "agent/unwind_publisher.h"

#include <fcntl.h>
#include <linux/membarrier.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/unwind/unwind_input.h"
#include "agent/unwind/unwind_table.h"
#include "common/clock.h"
#include "common/elf/build_id.h"
#include "common/log.h"

/* Tables that leave together, so that one grace period does for all of them. */
#define EVICT_FRACTION 8

/*
 * A table is had from disk in a thirtieth of the time that compiling takes (libc: 30 of 1110 us, libLLVM: 3.4 of 37.5
 * ms), whatever its size. Below this it is a matter of 60 us, and not worth a block of the disk.
 */
#define CACHED_FROM_BYTES (8 * KIB)

int unwind_publisher_init(struct unwind_publisher *publisher, struct bpf_programs *programs,
			  struct executable_cache *executables, uint64_t in_use_ns)
{
	int r;

	*publisher = (struct unwind_publisher){
		.programs = programs,
		.executables = executables,
		.in_use_ns = in_use_ns,
	};
	r = bpf_programs_unwind_arrays(programs, &publisher->arrays);
	if (r == 0)
		r = extents_init(&publisher->rows, publisher->arrays.rows.n);
	if (r == 0)
		r = extents_init(&publisher->pages, publisher->arrays.pages.n);
	if (r == 0)
		r = extents_init(&publisher->rules, publisher->arrays.rules.n);
	if (r == 0)
		r = hash_table_new(sizeof(uint32_t), sizeof(struct published_table), UNWIND_MAX_TABLES,
				   &publisher->tables);
	return r;
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

	r = table_cache_open(&options, &publisher->cache);
	if (r == -EBUSY)
		log_warn("another agent uses '%s', unwind tables are not kept for the next start", folder);
	else if (r < 0)
		log_warn_errno(r, "cannot use '%s', unwind tables are not kept for the next start: %m", folder);
}

void unwind_publisher_release(struct unwind_publisher *publisher)
{
	publisher->cache = table_cache_close(publisher->cache);
	unwind_arrays_release(&publisher->arrays);
	extents_release(&publisher->rows);
	extents_release(&publisher->pages);
	extents_release(&publisher->rules);
	publisher->tables = hash_table_free(publisher->tables);
}

static int take_extents(struct unwind_publisher *publisher, const struct unwind_table *table,
			struct published_table *published)
{
	int r;

	r = extents_take(&publisher->rows, table->n_rows, &published->rows);
	if (r <= 0)
		return r;
	r = extents_take(&publisher->pages, table->n_pages + 1, &published->pages);
	if (r > 0) {
		r = extents_take(&publisher->rules, table->n_rules, &published->rules);
		if (r > 0)
			return 1;
		(void)extents_give_back(&publisher->pages, published->pages);
	}
	(void)extents_give_back(&publisher->rows, published->rows);
	*published = (struct published_table){};
	return r;
}

static void give_back(struct unwind_publisher *publisher, const struct published_table *published)
{
	(void)extents_give_back(&publisher->rows, published->rows);
	(void)extents_give_back(&publisher->pages, published->pages);
	(void)extents_give_back(&publisher->rules, published->rules);
}

static bool is_in_use(const struct unwind_publisher *publisher, const struct published_table *table, uint64_t now_ns)
{
	return table->used_ns > 0 && table->used_ns + publisher->in_use_ns > now_ns;
}

/*
 * The table that leaves next: the one that was made or used longest ago. @for_room: not one in use, and not an empty
 * one, which has no memory to give. False when there is none.
 */
static bool find_victim(const struct unwind_publisher *publisher, bool for_room, uint64_t now_ns, uint32_t *ret_number)
{
	uint64_t oldest_ns = UINT64_MAX;
	const void *key;
	size_t cursor = 0;
	void *value;

	while (hash_table_next(publisher->tables, &cursor, &key, &value)) {
		const struct published_table *table = value;

		if (for_room && (table->without || is_in_use(publisher, table, now_ns)))
			continue;
		if (MAX(table->made_ns, table->used_ns) >= oldest_ns)
			continue;
		oldest_ns = MAX(table->made_ns, table->used_ns);
		memcpy(ret_number, key, sizeof(*ret_number));
	}
	return oldest_ns != UINT64_MAX;
}

/* Lets some tables go. False when there is none to go. */
static bool evict(struct unwind_publisher *publisher, bool for_room, uint64_t now_ns)
{
	size_t n_victims = MAX(hash_table_count(publisher->tables) / EVICT_FRACTION, (size_t)1);
	struct published_table gone[64];
	size_t n_gone = 0;
	uint32_t number;

	while (n_gone < MIN(n_victims, ARRAY_SIZE(gone)) && find_victim(publisher, for_room, now_ns, &number)) {
		gone[n_gone++] = *(struct published_table *)hash_table_find(publisher->tables, &number);
		bpf_programs_remove_unwind_table(publisher->programs, number);
		(void)hash_table_remove(publisher->tables, &number);
	}
	if (n_gone == 0)
		return false;
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) < 0)
		return false; /* the extents are lost, but never read wrongly */
	for (size_t i = 0; i < n_gone; i++)
		give_back(publisher, &gone[i]);
	publisher->n_evicted += n_gone;
	return true;
}

/* 1; 0: there is no room, and none that may be made. */
static int make_room(struct unwind_publisher *publisher, const struct unwind_table *table, bool is_needed,
		     struct published_table *published)
{
	int r = take_extents(publisher, table, published);

	while (r == 0 && is_needed && evict(publisher, true, published->made_ns))
		r = take_extents(publisher, table, published);
	publisher->is_full = r == 0;
	return r;
}

static int write_table(struct unwind_publisher *publisher, uint32_t number, const struct unwind_table *table,
		       bool is_needed, struct published_table *published)
{
	struct unwind_arrays *arrays = &publisher->arrays;
	struct abi_unwind_info info = {
		.base_address = table->base_address,
		.n_pages = table->n_pages,
		.n_rules = table->n_rules,
	};
	int r;

	/* No eviction helps one that is larger than everything. */
	if (table->n_rows > arrays->rows.n || table->n_pages >= arrays->pages.n || table->n_rules > arrays->rules.n)
		return -EFBIG;
	r = make_room(publisher, table, is_needed, published);
	if (r <= 0)
		return r < 0 ? r : -ENOSPC;
	r = unwind_array_write(&arrays->rows, published->rows.first, table->rows, table->n_rows);
	if (r == 0)
		r = unwind_array_write(&arrays->pages, published->pages.first, table->page_first, table->n_pages + 1);
	if (r == 0)
		r = unwind_array_write(&arrays->rules, published->rules.first, table->rules, table->n_rules);
	info.first_row = published->rows.first;
	info.first_page = published->pages.first;
	info.first_rule = published->rules.first;
	if (r == 0)
		r = bpf_programs_put_unwind_table(publisher->programs, number, &info);
	if (r < 0)
		give_back(publisher, published);
	published->info = info;
	return r;
}

/* A disk that is full, or any other trouble, is told once: smaller tables may still fit in between. */
static void store(struct unwind_publisher *publisher, const struct hash128 *key, const struct unwind_table *table)
{
	int r = table_cache_store(publisher->cache, key, table);

	if (r < 0 && !publisher->cache_failed)
		log_warn_errno(r, "cannot write to unwind.cache_folder, new unwind tables are not kept: %m");
	publisher->cache_failed |= r < 0;
}

static int compile(struct unwind_publisher *publisher, const struct elf_file *elf, struct unwind_table *ret_table)
{
	uint64_t began_ns = clock_monotonic_ns(&system_clock);
	struct unwind_table_stats stats;
	int r;

	r = unwind_table_compile(elf, ret_table, &stats);
	publisher->compile_ns += clock_monotonic_ns(&system_clock) - began_ns;
	publisher->n_compiled += r > 0;
	return r;
}

/* 1 found, with @ret_table; 0 not, and @ret_is_worth_keeping says whether it should be once it is compiled. */
static int find_in_cache(struct unwind_publisher *publisher, const struct elf_file *elf, struct hash128 *ret_key,
			 bool *ret_is_worth_keeping, struct unwind_table *ret_table)
{
	uint64_t began_ns = clock_monotonic_ns(&system_clock);
	uint64_t n_bytes;
	int r;

	*ret_is_worth_keeping = false;
	if (!publisher->cache)
		return 0;
	r = unwind_input_hash(elf, ret_key, &n_bytes);
	if (r <= 0 || n_bytes < CACHED_FROM_BYTES)
		return r < 0 ? r : 0;
	*ret_is_worth_keeping = true;
	r = table_cache_load(publisher->cache, ret_key, ret_table);
	publisher->cache_ns += clock_monotonic_ns(&system_clock) - began_ns;
	publisher->n_cached += r > 0;
	return r;
}

/* 1 got, 0 the file has no call frame information, negative errno. */
static int get_table(struct unwind_publisher *publisher, const struct executable *executable,
		     struct unwind_table *ret_table)
{
	scoped(elf_file_freep) struct elf_file *elf = NULL;
	scoped_fd int fd = executable_open(executable);
	bool is_worth_keeping;
	struct hash128 key;
	int r;

	if (fd < 0)
		return fd;
	r = elf_file_open(fd, &elf);
	/* Of 32 bits: stacks of such programs are not walked. */
	if (r == -ENOTSUP)
		return 0;
	if (r < 0)
		return r;
	r = find_in_cache(publisher, elf, &key, &is_worth_keeping, ret_table);
	if (r != 0)
		return r;
	r = compile(publisher, elf, ret_table);
	if (r > 0 && is_worth_keeping)
		store(publisher, &key, ret_table);
	return r;
}

/*
 * Into the maps, or an empty table there, so that the programs know that none will come. 0 even if there is none;
 * negative when memory is short.
 */
static int publish_table(struct unwind_publisher *publisher, const struct executable *executable, bool is_needed,
			 struct published_table *published)
{
	struct unwind_table table = {};
	int r;

	r = get_table(publisher, executable, &table);
	if (r > 0)
		r = write_table(publisher, executable->number, &table, is_needed, published) ?: 1;
	unwind_table_release(&table);
	if (r == -ENOSPC && !is_needed)
		return r;
	publisher->n_without += r == 0;
	publisher->n_failed += r < 0;
	if (r > 0)
		return 0;
	if (r < 0)
		log_debug_errno(r, "no unwind table for '%s', its frames are left to frame pointers: %m",
				executable->name);
	published->without = true;
	published->waits = r == -ENOSPC;
	return bpf_programs_put_unwind_table(publisher->programs, executable->number, &published->info);
}

/* @is_needed: a stack goes through it. */
static int want(struct unwind_publisher *publisher, const struct executable *executable, bool is_needed,
		uint64_t now_ns)
{
	struct published_table *known = hash_table_find(publisher->tables, &executable->number);
	struct published_table published = { .made_ns = now_ns };
	void *value;
	int r;

	if (known || (publisher->is_full && !is_needed))
		return 0;
	if (hash_table_count(publisher->tables) >= UNWIND_MAX_TABLES)
		(void)evict(publisher, false, now_ns);
	r = hash_table_insert(publisher->tables, &executable->number, &value);
	if (r < 0)
		return r == -ENOSPC ? 0 : r;
	/* Nothing to evict yet. */
	*(struct published_table *)value = (struct published_table){ .made_ns = now_ns, .without = true };
	r = publish_table(publisher, executable, is_needed, &published);
	if (r == -ENOSPC) {
		(void)hash_table_remove(publisher->tables, &executable->number);
		return 0;
	}
	/* Making room for it may have moved the entries. */
	known = hash_table_find(publisher->tables, &executable->number);
	if (known)
		*known = published;
	return r;
}

int unwind_publisher_want(struct unwind_publisher *publisher, struct executable *executable, uint64_t now_ns)
{
	return want(publisher, executable, false, now_ns);
}

void unwind_publisher_used(struct unwind_publisher *publisher, uint32_t number, uint64_t now_ns)
{
	struct published_table *table = hash_table_find(publisher->tables, &number);

	if (table)
		table->used_ns = now_ns;
}

void unwind_publisher_ask_again(struct unwind_publisher *publisher)
{
	const void *key;
	size_t cursor = 0;
	uint32_t number;
	void *value;

	while (hash_table_next(publisher->tables, &cursor, &key, &value)) {
		if (!((const struct published_table *)value)->waits)
			continue;
		memcpy(&number, key, sizeof(number));
		bpf_programs_remove_unwind_table(publisher->programs, number);
		hash_table_remove_at_cursor(publisher->tables, &cursor);
	}
}

static const struct abi_unwind_info *find_info(void *arg, uint32_t number)
{
	struct unwind_publisher *publisher = arg;
	const struct executable *executable = executable_cache_by_number(publisher->executables, number);
	uint64_t now_ns = clock_monotonic_ns(&system_clock);
	struct published_table *table;

	if (!executable || want(publisher, executable, true, now_ns) < 0)
		return NULL;
	table = hash_table_find(publisher->tables, &number);
	if (!table)
		return NULL;
	/* The rest of this stack must not take its place. */
	table->used_ns = now_ns;
	return &table->info;
}

void unwind_publisher_view(struct unwind_publisher *publisher, struct host_unwind_tables *ret_tables)
{
	const struct unwind_arrays *arrays = &publisher->arrays;

	*ret_tables = (struct host_unwind_tables){
		.find = find_info,
		.find_argument = publisher,
		.rows = (const struct abi_unwind_row_chunk *)arrays->rows.address,
		.pages = (const struct abi_unwind_page_chunk *)arrays->pages.address,
		.rules = (const struct abi_unwind_rule_chunk *)arrays->rules.address,
		.n_row_chunks = arrays->rows.n / (uint32_t)UNWIND_ROWS_PER_CHUNK,
		.n_page_chunks = arrays->pages.n / (uint32_t)UNWIND_PAGES_PER_CHUNK,
		.n_rule_chunks = arrays->rules.n / (uint32_t)UNWIND_RULES_PER_CHUNK,
	};
}
