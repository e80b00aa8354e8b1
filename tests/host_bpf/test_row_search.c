/* SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <glob.h>

#include "agent/unwind/unwind_compile.h"
#include "tests/host_bpf/host_maps.h"
#include "tests/support/unit.h"

/*
 * Compares the BPF programs' search of unwind tables with the agent's, over tables of this host's
 * files.
 */

#define N_RANDOM 1000000

/* Pages with one row for every byte, which no compiler generates: their rows exceed one chunk. */
#define DENSE_PAGES 3

struct searched {
	uint32_t n_tables;
	struct unwind_table tables[8]; /* tables[i] is of executable i + 1 */
	struct host_maps maps;
	struct host_unwind_input input;
	uint64_t n_found, n_outside;
};

static int compile(const char *path, struct unwind_table *ret_table)
{
	scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	scoped(elf_file_freep) struct elf_file *elf = NULL;
	struct unwind_table_stats stats;
	int r;

	if (fd < 0)
		return -errno;
	r = elf_file_open(fd, &elf);
	return r < 0 ? r : unwind_table_compile(elf, &(struct unwind_options){}, ret_table, &stats);
}

static void add(struct searched *searched, const struct unwind_table *table)
{
	assert_true(searched->n_tables < ARRAY_SIZE(searched->tables));
	searched->tables[searched->n_tables++] = *table;
	assert_ok(host_maps_add_table(&searched->maps, searched->n_tables, table));
}

static void add_file(struct searched *searched, const char *pattern)
{
	struct unwind_table table;
	glob_t paths = {};

	if (glob(pattern, 0, NULL, &paths) == 0) {
		assert_int_equal(compile(paths.gl_pathv[0], &table), 1);
		print_message("%s: %u rows\n", paths.gl_pathv[0], table.n_rows);
		add(searched, &table);
	}
	globfree(&paths);
}

static void add_dense(struct searched *searched)
{
	struct unwind_table table = { .base_address = 0x7000,
				      .n_pages = DENSE_PAGES,
				      .n_rules = 200 };

	table.page_first = calloc(DENSE_PAGES + 1, sizeof(*table.page_first));
	table.rows = calloc((size_t)DENSE_PAGES << UNWIND_PAGE_SHIFT, sizeof(*table.rows));
	table.rules = calloc(table.n_rules, sizeof(*table.rules));
	assert_true(table.page_first && table.rows && table.rules);
	for (uint32_t page = 0; page < DENSE_PAGES; page++) {
		table.page_first[page] = table.n_rows;
		for (uint32_t offset = 0; offset <= UNWIND_PAGE_MASK; offset += 1 + (page == 1)) {
			table.rows[table.n_rows] =
				(struct abi_unwind_row){ (uint16_t)offset,
							 (uint16_t)(table.n_rows % table.n_rules) };
			table.n_rows++;
		}
	}
	table.page_first[DENSE_PAGES] = table.n_rows;
	for (uint32_t i = 0; i < table.n_rules; i++)
		table.rules[i] =
			(struct abi_unwind_rule){ .cfa = UNWIND_CFA_SP, .cfa_offset = (int32_t)i };
	add(searched, &table);
}

static int setup(void **state)
{
	struct searched *searched = calloc(1, sizeof(*searched));

	if (!searched)
		return -1;
	add_file(searched, "/usr/lib/*-linux-gnu/libc.so.6");
	add_file(searched, "/usr/bin/python3");
	add_dense(searched);
	add_file(searched, "/usr/lib/*-linux-gnu/libcrypto.so.3");
	add_file(searched, "/proc/self/exe");
	assert_true(searched->n_tables >= 3);
	host_maps_describe(&searched->maps, &searched->input);
	*state = searched;
	return 0;
}

static int teardown(void **state)
{
	struct searched *searched = *state;

	for (uint32_t i = 0; i < searched->n_tables; i++)
		unwind_table_release(&searched->tables[i]);
	host_maps_release(&searched->maps);
	free(searched);
	return 0;
}

/* Outside of a table the BPF search finds no rule, and the agent's search returns rule 0. */
static void compare(struct searched *searched, uint32_t executable, uint64_t elf_addr)
{
	const struct abi_unwind_rule *expected =
		unwind_table_find(&searched->tables[executable - 1], elf_addr);
	struct abi_unwind_rule by_x86 = {}, by_arm64 = {};
	int r = host_unwind_find_rule_x86(searched->input.tables, executable, elf_addr, &by_x86);

	assert_int_equal(host_unwind_find_rule_arm64(searched->input.tables, executable, elf_addr,
						     &by_arm64),
			 r);
	assert_true(r == 0 || r == 1);
	if (memcmp(&by_x86, expected, sizeof(by_x86)) != 0 ||
	    memcmp(&by_arm64, expected, sizeof(by_arm64)) != 0)
		fail_msg("executable %u: another rule at %lx", executable, (unsigned long)elf_addr);
	searched->n_found += r == 1;
	searched->n_outside += r == 0;
}

/* xorshift64*: the same addresses in every run. */
static uint64_t next_random(uint64_t *random)
{
	*random ^= *random >> 12;
	*random ^= *random << 25;
	*random ^= *random >> 27;
	return *random * UINT64_C(0x2545f4914f6cdd1d);
}

static void both_searches_find_the_same_rule_at_random_addresses(void **state)
{
	struct searched *searched = *state;
	uint64_t random = 20416;

	for (int i = 0; i < N_RANDOM; i++) {
		uint32_t executable = 1 + (uint32_t)(next_random(&random) % searched->n_tables);
		const struct unwind_table *table = &searched->tables[executable - 1];
		uint64_t span = (uint64_t)(table->n_pages + 2) << UNWIND_PAGE_SHIFT;

		/* From one page before the table to one page after it. */
		compare(searched, executable,
			table->base_address - (1u << UNWIND_PAGE_SHIFT) +
				next_random(&random) % span);
	}
	print_message("%lu found, %lu outside\n", (unsigned long)searched->n_found,
		      (unsigned long)searched->n_outside);
	assert_true(searched->n_found > N_RANDOM / 2 && searched->n_outside > 0);
}

static void both_searches_find_the_same_rule_around_every_row(void **state)
{
	struct searched *searched = *state;

	for (uint32_t executable = 1; executable <= searched->n_tables; executable++) {
		const struct unwind_table *table = &searched->tables[executable - 1];

		for (uint32_t page = 0; page < table->n_pages; page++) {
			uint64_t start =
				table->base_address + ((uint64_t)page << UNWIND_PAGE_SHIFT);

			for (uint32_t i = table->page_first[page]; i < table->page_first[page + 1];
			     i++) {
				compare(searched, executable, start + table->rows[i].offset);
				compare(searched, executable, start + table->rows[i].offset - 1);
			}
			compare(searched, executable, start + UNWIND_PAGE_MASK);
		}
	}
}

static void addresses_far_from_a_table_have_no_rule(void **state)
{
	static const uint64_t far[] = {
		0, 1, UINT64_C(1) << 32, UINT64_C(1) << 44, UINT64_MAX, UINT64_MAX - 0xffff
	};
	struct searched *searched = *state;
	struct abi_unwind_rule rule;

	for (size_t i = 0; i < ARRAY_SIZE(far); i++)
		for (uint32_t executable = 1; executable <= searched->n_tables; executable++)
			if (far[i] - searched->tables[executable - 1].base_address >=
			    (uint64_t)searched->tables[executable - 1].n_pages << UNWIND_PAGE_SHIFT)
				compare(searched, executable, far[i]);
	assert_int_equal(host_unwind_find_rule_x86(searched->input.tables, searched->n_tables + 1,
						   0x1000, &rule),
			 -1);
	assert_int_equal(host_unwind_find_rule_x86(NULL, 1, 0x1000, &rule), -1);
}

/* Finds two addresses of a table with different rules. */
static void find_two_rules(const struct unwind_table *table, uint64_t ret_addresses[2])
{
	const struct abi_unwind_rule *first = unwind_table_find(table, table->base_address);

	ret_addresses[0] = table->base_address;
	for (uint32_t page = 0; page < table->n_pages; page++)
		for (uint32_t i = table->page_first[page]; i < table->page_first[page + 1]; i++) {
			ret_addresses[1] = table->base_address +
					   ((uint64_t)page << UNWIND_PAGE_SHIFT) +
					   table->rows[i].offset;
			if (memcmp(unwind_table_find(table, ret_addresses[1]), first,
				   sizeof(*first)) != 0)
				return;
		}
	fail_msg("all rules of the table are equal");
}

static void expect_rule(const struct searched *searched, const struct host_unwind_lookup *lookup)
{
	const struct abi_unwind_rule *expected =
		unwind_table_find(&searched->tables[lookup->executable - 1], lookup->elf_addr);

	assert_memory_equal(&lookup->rule, expected, sizeof(*expected));
}

static void a_rule_is_cached_for_its_address_and_half_a_second(void **state)
{
	struct searched *searched = *state;
	struct host_unwind_lookup lookup = { .tables = searched->input.tables,
					     .executable = 1,
					     .time_ns = 1ULL << 29 };
	uint64_t addresses[2];

	find_two_rules(&searched->tables[0], addresses);
	lookup.elf_addr = addresses[0];
	assert_int_equal(host_unwind_look_up_x86(&lookup), 1);
	assert_false(lookup.was_cached);
	assert_int_equal(host_unwind_look_up_x86(&lookup), 1);
	assert_true(lookup.was_cached);
	expect_rule(searched, &lookup);

	/* The entry of the other address replaces it, because this cache has only one entry. */
	lookup.elf_addr = addresses[1];
	assert_int_equal(host_unwind_look_up_x86(&lookup), 1);
	assert_false(lookup.was_cached);
	expect_rule(searched, &lookup);

	lookup.executable = 2;
	(void)host_unwind_look_up_x86(&lookup);
	assert_false(lookup.was_cached);

	lookup.executable = 1;
	assert_int_equal(host_unwind_look_up_x86(&lookup), 1);
	lookup.time_ns = 2ULL << 29;
	assert_int_equal(host_unwind_look_up_x86(&lookup), 1);
	assert_false(lookup.was_cached);
	expect_rule(searched, &lookup);
}

/*
 * Two CPUs may write the same entry at once. An entry with words of both is only accepted if the
 * words are equal.
 */
static void an_entry_with_words_of_two_rules_is_not_used(void **state)
{
	struct searched *searched = *state;
	struct host_unwind_lookup lookups[2];
	uint64_t addresses[2];
	unsigned int n_cached = 0;

	find_two_rules(&searched->tables[0], addresses);
	for (int i = 0; i < 2; i++) {
		lookups[i] = (struct host_unwind_lookup){ .tables = searched->input.tables,
							  .executable = 1,
							  .elf_addr = addresses[i],
							  .time_ns = 1ULL << 29 };
		assert_int_equal(host_unwind_look_up_x86(&lookups[i]), 1);
	}
	for (unsigned int mixture = 0; mixture < 16; mixture++)
		for (int i = 0; i < 2; i++) {
			struct host_unwind_lookup lookup = lookups[i];

			for (int word = 0; word < 4; word++)
				lookup.cached_rule[word] =
					lookups[mixture >> word & 1].cached_rule[word];
			assert_int_equal(host_unwind_look_up_x86(&lookup), 1);
			expect_rule(searched, &lookup);
			n_cached += lookup.was_cached;
		}
	/*
	 * Both have the same time, so each entry is accepted in at least two mixtures; in more if a
	 * word of both rules is equal.
	 */
	assert_true(n_cached >= 4 && n_cached < 16);
}

static void addresses_beyond_a_tebibyte_are_not_cached(void **state)
{
	struct searched *searched = *state;
	struct host_unwind_lookup lookup = { .tables = searched->input.tables,
					     .executable = 1,
					     .elf_addr = 1ULL << 40,
					     .time_ns = 1ULL << 29 };

	for (int i = 0; i < 2; i++) {
		assert_int_equal(host_unwind_look_up_x86(&lookup), 0);
		assert_false(lookup.was_cached);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_searches_find_the_same_rule_at_random_addresses),
		cmocka_unit_test(both_searches_find_the_same_rule_around_every_row),
		cmocka_unit_test(addresses_far_from_a_table_have_no_rule),
		cmocka_unit_test(a_rule_is_cached_for_its_address_and_half_a_second),
		cmocka_unit_test(an_entry_with_words_of_two_rules_is_not_used),
		cmocka_unit_test(addresses_beyond_a_tebibyte_are_not_cached),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
