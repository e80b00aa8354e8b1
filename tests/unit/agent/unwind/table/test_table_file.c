/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/unwind/table/table_file.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include "agent/unwind/table_make.h"
#include "tests/support/unit.h"

static const struct hash128 key = { .bytes = { 1, 2, 3 } };

static void allocate(struct unwind_table *table, uint32_t max_rows)
{
	table->rows = calloc(max_rows, sizeof(*table->rows));
	table->rules = calloc(table->n_rules, sizeof(*table->rules));
	table->page_first = calloc((size_t)table->n_pages + 1, sizeof(*table->page_first));
	assert_true(table->rows && table->rules && table->page_first);
	for (uint32_t i = 0; i < table->n_rules; i++)
		table->rules[i] =
			(struct abi_unwind_rule){ .cfa = UNWIND_CFA_SP, .cfa_offset = (int32_t)i };
}

/* A row for each @step bytes of page p, where @step is steps[p]. */
static struct unwind_table make_table(const uint32_t *steps, uint32_t n_pages)
{
	struct unwind_table table = { .base_address = 0x40000, .n_pages = n_pages, .n_rules = 900 };

	allocate(&table, n_pages << UNWIND_PAGE_SHIFT);
	for (uint32_t page = 0; page < n_pages; page++) {
		table.page_first[page] = table.n_rows;
		for (uint32_t offset = 0; offset <= UNWIND_PAGE_MASK;
		     offset += steps[page], table.n_rows++)
			table.rows[table.n_rows] =
				(struct abi_unwind_row){ (uint16_t)offset,
							 (uint16_t)(table.n_rows % table.n_rules) };
	}
	table.page_first[n_pages] = table.n_rows;
	return table;
}

static int write_table(const struct unwind_table *table)
{
	int fd = memfd_create("table", MFD_CLOEXEC);
	uint64_t bytes;
	struct stat status;

	assert_true(fd >= 0);
	assert_ok(table_file_write(fd, &key, table, &bytes));
	assert_int_equal(fstat(fd, &status), 0);
	assert_int_equal(status.st_size, bytes);
	return fd;
}

/* A linear search through the rows of the record. */
static const struct abi_unwind_rule *rule_in(const struct chunk_record *record, uint64_t elf_addr)
{
	const struct abi_unwind_chunk *chunk = &record->chunk;
	uint64_t unit = (elf_addr >> chunk->unit_shift) - chunk->first_unit;
	const struct abi_unwind_rule *rule = NULL;

	assert_true(unit < chunk->n_units);
	for (uint32_t i = chunk->halves[UNWIND_CHUNK_FIRST_HALF + unit];
	     i < chunk->halves[UNWIND_CHUNK_FIRST_HALF + unit + 1]; i++)
		if (chunk->rows[i].offset <= (elf_addr & UNWIND_PAGE_MASK))
			rule = &record->rules[chunk->rows[i].rule];
	return rule;
}

static void expect_all_rows(const struct unwind_table *table, const struct table_file *file)
{
	uint64_t end = table->base_address + ((uint64_t)table->n_pages << UNWIND_PAGE_SHIFT);
	struct chunk_record record;

	for (uint64_t elf_addr = table->base_address; elf_addr < end; elf_addr++) {
		const struct abi_unwind_rule *rule;

		assert_int_equal(table_file_read(file, elf_addr, &record), 1);
		rule = rule_in(&record, elf_addr);
		assert_non_null(rule);
		assert_memory_equal(rule, unwind_table_find(table, elf_addr), sizeof(*rule));
	}
	assert_int_equal(table_file_read(file, table->base_address - 1, &record), 0);
	assert_int_equal(table_file_read(file, end, &record), 0);
}

static void rows_of_any_density_are_found_at_every_address(void **state)
{
	static const uint32_t cases[][4] = {
		{ 16, 16, 16, 16 }, { 4096, 4096, 4096, 4096 },
		{ 1, 1, 1, 1 },     /* a row for every byte */
		{ 64, 1, 4096, 3 }, /* dense pages between other pages */
		{ 4, 5, 4, 5 },     /* 1024 rows do not fit into a chunk, 820 do */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(unwind_table_release) struct unwind_table table =
			make_table(cases[i], ARRAY_SIZE(cases[i]));
		scoped_fd int fd = write_table(&table);
		struct table_file file;

		assert_ok(table_file_open(fd, &key, &file));
		assert_int_equal(file.n_rows, table.n_rows);
		expect_all_rows(&table, &file);
	}
}

static void a_changed_byte_anywhere_is_found_when_it_matters(void **state)
{
	static const uint32_t steps[] = { 64, 8, 8, 64 };
	scoped(unwind_table_release) struct unwind_table table =
		make_table(steps, ARRAY_SIZE(steps));
	scoped_fd int fd = write_table(&table);
	struct chunk_record record;
	struct table_file file;
	struct stat status;
	uint64_t index_offset;

	(void)state;
	assert_int_equal(fstat(fd, &status), 0);
	assert_ok(table_file_open(fd, &key, &file));
	index_offset = file.index_offset;
	for (off_t at = 0; at < status.st_size; at++) {
		uint8_t byte;
		int r;

		assert_int_equal(pread(fd, &byte, 1, at), 1);
		byte ^= (uint8_t)(1u << at % 8);
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
		r = table_file_open(fd, &key, &file);
		for (uint64_t elf_addr = table.base_address;
		     r == 0 && elf_addr < table.base_address + 0x4000; elf_addr += 509) {
			int found = table_file_read(&file, elf_addr, &record);

			/* The right rule, or an error. */
			if (found == 1)
				assert_memory_equal(rule_in(&record, elf_addr),
						    unwind_table_find(&table, elf_addr),
						    sizeof(struct abi_unwind_rule));
			else
				r = found;
		}
		/* Some changes of addresses in the index still lead to the right record. */
		if (r != 0 || (uint64_t)at < index_offset)
			assert_errno(r, -EBADMSG);
		byte ^= (uint8_t)(1u << at % 8);
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	}
	assert_ok(table_file_open(fd, &key, &file));
	expect_all_rows(&table, &file);
}

static void a_file_of_another_length_or_key_is_refused(void **state)
{
	static const uint32_t steps[] = { 64 };
	static const struct hash128 other = { .bytes = { 1, 2, 4 } };
	scoped(unwind_table_release) struct unwind_table table =
		make_table(steps, ARRAY_SIZE(steps));
	scoped_fd int fd = write_table(&table);
	struct table_file file;
	struct stat status;

	(void)state;
	assert_int_equal(fstat(fd, &status), 0);
	assert_errno(table_file_open(fd, &other, &file), -EBADMSG);
	assert_int_equal(ftruncate(fd, status.st_size + 16), 0);
	assert_errno(table_file_open(fd, &key, &file), -EBADMSG);
	for (off_t size = status.st_size; size-- > 0;) {
		assert_int_equal(ftruncate(fd, size), 0);
		assert_errno(table_file_open(fd, &key, &file), -EBADMSG);
	}
}

/* ---- malformed records with a valid checksum ------------------------------------------------- */

#define RECORD_AT TABLE_FILE_HEADER_BYTES
#define CHUNK_AT  (RECORD_AT + 16)

static void change_u16(int fd, off_t at, uint16_t value)
{
	assert_int_equal(pwrite(fd, &value, sizeof(value), at), sizeof(value));
}

static void repair_checksum(int fd, size_t record_bytes)
{
	uint8_t *bytes = malloc(record_bytes);
	uint64_t checksum;

	assert_non_null(bytes);
	assert_int_equal(pread(fd, bytes, record_bytes, RECORD_AT), record_bytes);
	checksum = hash64_of(bytes + sizeof(checksum), record_bytes - sizeof(checksum));
	assert_int_equal(pwrite(fd, &checksum, sizeof(checksum), RECORD_AT), sizeof(checksum));
	free(bytes);
}

static void records_that_would_mislead_a_lookup_are_refused_whatever_their_checksum(void **state)
{
	static const struct {
		size_t offset; /* in the chunk */
		uint16_t value;
	} changes[] = {
		{ offsetof(struct abi_unwind_chunk, owner), 1 },
		{ offsetof(struct abi_unwind_chunk, first_unit), 0x3f },
		{ offsetof(struct abi_unwind_chunk, first_unit), 0x41 },
		{ offsetof(struct abi_unwind_chunk, n_units), 0 },
		{ offsetof(struct abi_unwind_chunk, n_units), 3 },
		{ offsetof(struct abi_unwind_chunk, n_units), 0xffff },
		{ offsetof(struct abi_unwind_chunk, unit_shift), 0 },
		{ offsetof(struct abi_unwind_chunk, unit_shift), 6 },
		{ offsetof(struct abi_unwind_chunk, unit_shift), 63 },
		{ UNWIND_CHUNK_FIRST_HALF * 2, 6 },        /* rows within the index of units */
		{ UNWIND_CHUNK_FIRST_HALF * 2 + 2, 8 },    /* a unit without rows */
		{ UNWIND_CHUNK_FIRST_HALF * 2 + 4, 1025 }, /* rows beyond the end */
		{ 8 * 4 + 2, 64 + 1 },                     /* a rule that does not exist */
	};
	static const uint32_t steps[] = { 128, 128 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		scoped(unwind_table_release) struct unwind_table table =
			make_table(steps, ARRAY_SIZE(steps));
		scoped_fd int fd = write_table(&table);
		struct chunk_record record;
		struct table_file file;

		assert_ok(table_file_open(fd, &key, &file));
		assert_int_equal(table_file_read(&file, table.base_address, &record), 1);
		assert_int_equal(record.chunk.halves[UNWIND_CHUNK_FIRST_HALF], 8);
		change_u16(fd, (off_t)(CHUNK_AT + changes[i].offset), changes[i].value);
		repair_checksum(fd,
				16 + sizeof(record.chunk) + record.n_rules * sizeof(*record.rules));
		assert_errno(table_file_read(&file, table.base_address, &record), -EBADMSG);
	}
}

static void a_table_of_this_program_is_made_from_a_file_descriptor(void **state)
{
	scoped_fd int elf_fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	scoped_fd int out_fd = memfd_create("table", MFD_CLOEXEC);
	struct chunk_record record;
	struct table_file file;
	struct table_made made;
	struct hash128 made_key;

	(void)state;
	assert_true(table_make_key(elf_fd, &(struct unwind_options){}, &made_key) >= 0);
	assert_int_equal(table_make(elf_fd, &(struct unwind_options){}, &made_key, out_fd, &made),
			 1);
	assert_ok(table_file_open(out_fd, &made_key, &file));
	assert_int_equal(file.bytes, made.file_bytes);
	assert_int_equal(file.n_rows, made.n_rows);
	assert_int_equal(table_file_read(&file, file.first_page << UNWIND_PAGE_SHIFT, &record), 1);
	assert_errno(table_make(out_fd, &(struct unwind_options){}, &made_key, out_fd, &made),
		     -ENOEXEC);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_of_any_density_are_found_at_every_address),
		cmocka_unit_test(a_changed_byte_anywhere_is_found_when_it_matters),
		cmocka_unit_test(a_file_of_another_length_or_key_is_refused),
		cmocka_unit_test(
			records_that_would_mislead_a_lookup_are_refused_whatever_their_checksum),
		cmocka_unit_test(a_table_of_this_program_is_made_from_a_file_descriptor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
