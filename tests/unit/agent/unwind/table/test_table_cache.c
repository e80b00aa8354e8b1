/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/unwind/table/table_cache.h"

#include <dirent.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>

#include "agent/unwind/table/table_file.h"
#include "agent/unwind/unwind_input.h"
#include "common/elf/elf_file.h"
#include "common/file.h"
#include "tests/support/unit.h"

#define MANY_BYTES (64 * MIB)
#define MAKER      UINT64_C(0x0123456789abcdef)

#define ROW_BYTES     16
#define ROWS_PER_PAGE ((1u << UNWIND_PAGE_SHIFT) / ROW_BYTES)

static struct hash128 key_of(uint64_t number)
{
	return hash128_of(&number, sizeof(number));
}

/* A valid table; its rules depend on the number. */
static struct unwind_table make_table(uint32_t number, uint32_t n_rows)
{
	struct unwind_table table = {
		.base_address = UINT64_C(0x10000) * number,
		.n_pages = (n_rows + ROWS_PER_PAGE - 1) / ROWS_PER_PAGE,
		.n_rows = n_rows,
		.n_rules = 7,
	};

	table.rows = calloc(table.n_rows, sizeof(*table.rows));
	table.rules = calloc(table.n_rules, sizeof(*table.rules));
	table.page_first = calloc((size_t)table.n_pages + 1, sizeof(*table.page_first));
	assert_true(table.rows && table.rules && table.page_first);
	for (uint32_t i = 0; i < n_rows; i++)
		table.rows[i] =
			(struct abi_unwind_row){ .offset =
							 (uint16_t)(i % ROWS_PER_PAGE * ROW_BYTES),
						 .rule = (uint16_t)((i + number) % table.n_rules) };
	for (uint32_t i = 0; i < table.n_rules; i++)
		table.rules[i] = (struct abi_unwind_rule){ .cfa = UNWIND_CFA_SP,
							   .cfa_offset = (int32_t)(number + i) };
	for (uint32_t i = 0; i <= table.n_pages; i++)
		table.page_first[i] = MIN(i * ROWS_PER_PAGE, n_rows);
	return table;
}

static struct table_cache *open_cache(const char *folder, uint64_t max_bytes, uint64_t maker)
{
	const struct table_cache_options options = { .folder = folder,
						     .max_bytes = max_bytes,
						     .maker = maker };
	struct table_cache *cache = NULL;

	assert_ok(table_cache_open(&options, &cache));
	return cache;
}

/* Returns 1 if kept, 0 if too large, or a negative errno. */
static int store(struct table_cache *cache, const struct hash128 *key,
		 const struct unwind_table *table)
{
	struct table_cache_file file;
	uint64_t bytes;
	int r;

	assert_ok(table_cache_create(cache, &file));
	r = table_file_write(file.fd, key, table, &bytes);
	if (r < 0)
		table_cache_discard(cache, &file);
	else
		r = table_cache_keep(cache, &file, key);
	assert_int_equal(close(file.fd), 0);
	return r;
}

static void put(struct table_cache *cache, uint32_t number, uint32_t n_rows)
{
	scoped(unwind_table_release) struct unwind_table table = make_table(number, n_rows);
	struct hash128 key = key_of(number);

	assert_int_equal(store(cache, &key, &table), 1);
}

/* 1; 0: not there; -EBADMSG: damaged, and then removed, as the agent does. */
static int open_table(struct table_cache *cache, uint32_t number, struct table_file *ret_file)
{
	struct hash128 key = key_of(number);
	int fd;
	int r = table_cache_find(cache, &key, &fd);

	if (r <= 0)
		return r;
	r = table_file_open(fd, &key, ret_file);
	if (r == 0)
		return 1;
	table_cache_remove(cache, &key);
	(void)close(fd);
	return r;
}

static bool has(struct table_cache *cache, uint32_t number)
{
	struct chunk_record record;
	struct table_file file;
	const struct abi_unwind_row *row;

	if (open_table(cache, number, &file) <= 0)
		return false;
	assert_int_equal(file.first_page, UINT64_C(0x10000) * number >> UNWIND_PAGE_SHIFT);
	assert_int_equal(table_file_read(&file, UINT64_C(0x10000) * number, &record), 1);
	row = &record.chunk.rows[record.chunk.halves[UNWIND_CHUNK_FIRST_HALF] + 1];
	assert_int_equal(row->offset, ROW_BYTES);
	assert_int_equal(record.rules[row->rule].cfa_offset, number + (1 + number) % 7);
	(void)close(file.fd);
	return true;
}

/* The only file in the folder. */
static char *only_file(const char *folder)
{
	DIR *stream = opendir(folder);
	const struct dirent *entry;
	char *path = NULL;

	assert_non_null(stream);
	while ((entry = readdir(stream))) {
		if (entry->d_name[0] == '.')
			continue;
		assert_null(path);
		path = path_in(folder, entry->d_name);
	}
	(void)closedir(stream);
	assert_non_null(path);
	return path;
}

static void a_later_run_finds_the_same_table(void **state)
{
	struct table_cache *cache = open_cache(*state, MANY_BYTES, MAKER);
	struct table_file found;
	uint64_t bytes;

	assert_int_equal(open_table(cache, 3, &found), 0);
	put(cache, 3, 10000);
	bytes = table_cache_bytes(cache);
	assert_true(bytes >= 40000 && bytes % 4096 == 0);
	(void)table_cache_close(cache);

	cache = open_cache(*state, MANY_BYTES, MAKER);
	assert_int_equal(table_cache_count(cache), 1);
	assert_int_equal(table_cache_bytes(cache), bytes);
	assert_int_equal(open_table(cache, 3, &found), 1);
	assert_int_equal(found.n_rows, 10000);
	assert_int_equal(close(found.fd), 0);
	assert_true(has(cache, 3));
	(void)table_cache_close(cache);
}

static void unfinished_files_of_an_earlier_run_are_removed(void **state)
{
	struct table_cache *cache = open_cache(*state, MANY_BYTES, MAKER);
	struct table_cache_file file;

	assert_ok(table_cache_create(cache, &file));
	assert_int_equal(close(file.fd), 0);
	free(only_file(*state));
	(void)table_cache_close(cache);
	cache = open_cache(*state, MANY_BYTES, MAKER);
	put(cache, 1, 10);
	free(only_file(*state));
	(void)table_cache_close(cache);
}

static void a_file_cut_at_any_length_is_removed_and_can_be_stored_again(void **state)
{
	scoped(table_cache_closep) struct table_cache *cache =
		open_cache(*state, MANY_BYTES, MAKER);
	scoped_free char *path = NULL;
	struct stat status;

	put(cache, 1, 300);
	path = only_file(*state);
	assert_int_equal(stat(path, &status), 0);
	for (off_t size = 0; size < status.st_size; size++) {
		assert_int_equal(truncate(path, size), 0);
		assert_false(has(cache, 1));
		assert_int_equal(access(path, F_OK), -1);
		assert_int_equal(table_cache_bytes(cache), 0);
		put(cache, 1, 300);
	}
	assert_true(has(cache, 1));
}

/*
 * Sets the time of the last use to so long ago. The kernel's own time stamps have the resolution of
 * its tick.
 */
static void age(const char *folder, uint32_t number, time_t ago_s)
{
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
					   { .tv_sec = time(NULL) - ago_s } };
	struct hash128 key = key_of(number);
	char digits[33], name[80];
	scoped_free char *path = NULL;

	hex_encode(&key, sizeof(key), digits);
	(void)snprintf(name, sizeof(name), "%016llx-%s.table", (unsigned long long)MAKER, digits);
	path = path_in(folder, name);
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void the_least_recently_used_are_removed_first_also_after_a_restart(void **state)
{
	struct table_cache *cache = open_cache(*state, 6 * 12288, MAKER);

	for (uint32_t number = 1; number <= 6; number++) {
		put(cache, number, 1500);
		age(*state, number, 100 - number);
	}
	assert_int_equal(table_cache_count(cache), 6);
	assert_true(has(cache, 1));
	(void)table_cache_close(cache);

	cache = open_cache(*state, 3 * 12288, MAKER);
	assert_int_equal(table_cache_count(cache), 3);
	assert_true(has(cache, 1));
	assert_true(has(cache, 5));
	put(cache, 7, 1500);
	assert_false(has(cache, 6));
	assert_true(has(cache, 1));
	assert_true(has(cache, 5));
	assert_true(has(cache, 7));
	assert_true(table_cache_bytes(cache) <= 3 * 12288);
	(void)table_cache_close(cache);
}

static void a_table_larger_than_the_bound_is_not_stored_and_removes_nothing(void **state)
{
	scoped(table_cache_closep) struct table_cache *cache = open_cache(*state, 3 * 12288, MAKER);
	scoped(unwind_table_release) struct unwind_table table = make_table(9, 100000);
	struct hash128 key = key_of(9);

	put(cache, 1, 1500);
	assert_int_equal(store(cache, &key, &table), 0);
	assert_true(has(cache, 1));
	assert_int_equal(table_cache_count(cache), 1);
}

static void tables_of_another_maker_are_removed_and_foreign_files_are_not(void **state)
{
	struct table_cache *cache = open_cache(*state, MANY_BYTES, MAKER + 1);
	scoped_free char *foreign = write_file_in(*state, "notes.txt", "keep", 4);
	scoped_free char *left = NULL;

	put(cache, 1, 1500);
	(void)table_cache_close(cache);
	cache = open_cache(*state, MANY_BYTES, MAKER);
	assert_int_equal(table_cache_count(cache), 0);
	assert_false(has(cache, 1));
	(void)table_cache_close(cache);
	left = only_file(*state);
	assert_string_equal(left, foreign);
}

static void the_folder_belongs_to_one_process_and_user(void **state)
{
	scoped_free char *folder = path_in(*state, "a/b");
	const struct table_cache_options options = { .folder = folder,
						     .max_bytes = MANY_BYTES,
						     .maker = MAKER };
	struct table_cache *cache = NULL, *second = NULL;
	struct stat status;

	assert_ok(table_cache_open(&options, &cache));
	assert_int_equal(stat(folder, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0700);
	assert_errno(table_cache_open(&options, &second), -EBUSY);
	(void)table_cache_close(cache);
	assert_int_equal(chmod(folder, 0777), 0);
	assert_errno(table_cache_open(&options, &second), -EPERM);
}

/* A file system of 64 KiB. */
static void a_full_disk_is_an_error_and_keeps_the_stored_tables(void **state)
{
	scoped(unwind_table_release) struct unwind_table table = make_table(2, 40000);
	struct hash128 key = key_of(2);
	struct table_cache *cache;

	if (geteuid() != 0 || mount("none", *state, "tmpfs", 0, "size=64k,mode=0700") < 0)
		skip();
	cache = open_cache(*state, MANY_BYTES, MAKER);
	put(cache, 1, 1500);
	assert_errno(store(cache, &key, &table), -ENOSPC);
	assert_true(has(cache, 1));
	put(cache, 3, 1500);
	assert_true(has(cache, 3));
	assert_int_equal(table_cache_count(cache), 2);
	(void)table_cache_close(cache);
	assert_int_equal(umount2(*state, MNT_DETACH), 0);
}

/* ---- keys ------------------------------------------------------------------------------------ */

static struct hash128 input_hash_of(int fd)
{
	scoped(elf_file_freep) struct elf_file *elf = NULL;
	struct hash128 hash;
	uint64_t n_bytes;

	assert_ok(elf_file_open(fd, &elf));
	assert_int_equal(unwind_input_hash(elf, &(struct unwind_options){}, &hash, &n_bytes), 1);
	assert_true(n_bytes > 0);
	return hash;
}

/* As in a file that claims the build-ID of another one. */
static void files_that_differ_in_their_frames_have_different_keys_under_one_build_id(void **state)
{
	scoped(bytes_release) struct bytes content = BYTES_INIT(64 * MIB);
	scoped(elf_file_freep) struct elf_file *elf = NULL;
	scoped_fd int fd = memfd_create("copy", MFD_CLOEXEC);
	const struct elf_section *frames;
	struct hash128 before, after;
	uint8_t byte;

	(void)state;
	assert_ok(file_read("/proc/self/exe", &content));
	assert_ok(write_all(fd, content.data, content.size));
	assert_ok(elf_file_open(fd, &elf));
	frames = elf_file_section(elf, ".eh_frame");
	assert_non_null(frames);
	before = input_hash_of(fd);
	for (uint64_t at = 0; at < frames->size; at += 97) {
		byte = content.data[frames->file_offset + at] ^ 0x10;
		assert_int_equal(pwrite(fd, &byte, 1, (off_t)(frames->file_offset + at)), 1);
		after = input_hash_of(fd);
		assert_memory_not_equal(&before, &after, sizeof(before));
		byte ^= 0x10;
		assert_int_equal(pwrite(fd, &byte, 1, (off_t)(frames->file_offset + at)), 1);
	}
	after = input_hash_of(fd);
	assert_memory_equal(&before, &after, sizeof(before));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		in_folder(a_later_run_finds_the_same_table),
		in_folder(a_file_cut_at_any_length_is_removed_and_can_be_stored_again),
		in_folder(unfinished_files_of_an_earlier_run_are_removed),
		in_folder(the_least_recently_used_are_removed_first_also_after_a_restart),
		in_folder(a_table_larger_than_the_bound_is_not_stored_and_removes_nothing),
		in_folder(tables_of_another_maker_are_removed_and_foreign_files_are_not),
		in_folder(the_folder_belongs_to_one_process_and_user),
		in_folder(a_full_disk_is_an_error_and_keeps_the_stored_tables),
		cmocka_unit_test(
			files_that_differ_in_their_frames_have_different_keys_under_one_build_id),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
