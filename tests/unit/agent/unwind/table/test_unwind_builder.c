/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables from hand-made FDEs. Each FDE has a different CFA offset, by which a test recognizes the
 * rule that it finds.
 */
#include "agent/unwind/table/unwind_builder.h"

#include <elf.h>

#include "tests/unit/agent/unwind/frame_writer.h"

#define CODE_START 0x400000
#define CODE_SIZE  0x1000000

static const struct load_segment code = { .vaddr = CODE_START,
					  .memory_size = CODE_SIZE,
					  .flags = PF_R | PF_X };

/* Adds an FDE with the CFA sp + @cfa, and 8 more after each of @pushes of one byte. */
static void write_function(struct bytes *out, size_t cie, uint64_t start, uint64_t size,
			   uint32_t cfa, size_t pushes)
{
	struct instructions instructions = {
		.bytes = { 0x0e, (uint8_t)(cfa | 0x80), (uint8_t)(cfa >> 7) }, .size = 3
	};

	assert_true(cfa < 1 << 14 && pushes < 16);
	for (size_t i = 0; i < pushes; i++) {
		uint32_t deeper = cfa + 8 * (uint32_t)(i + 1);
		uint8_t push[] = { 0x41, 0x0e, (uint8_t)(deeper | 0x80), (uint8_t)(deeper >> 7) };

		memcpy(instructions.bytes + instructions.size, push, sizeof(push));
		instructions.size += sizeof(push);
	}
	write_fde(out, cie, start, size, &instructions);
}

static void build_in(const struct load_segment *segments, size_t n_segments,
		     const struct bytes *content, struct unwind_table *ret_table,
		     struct unwind_table_stats *ret_stats)
{
	scoped(unwind_builder_freep) struct unwind_builder *builder = NULL;
	struct unwind_dialect dialect = { .machine = cfi_machine_of(EM_X86_64) };
	struct eh_frame_section section = { .size = content->size };

	assert_ok(unwind_builder_new(&dialect, segments, n_segments, &builder));
	assert_ok(unwind_builder_add_section(builder, &section, bytes_view_of(content)));
	assert_ok(unwind_builder_finish(builder, ret_table, ret_stats));
}

static struct unwind_table_stats build(const struct bytes *content, struct unwind_table *ret_table)
{
	struct unwind_table_stats stats;

	build_in(&code, 1, content, ret_table, &stats);
	return stats;
}

/* The CFA offset at an address; -1: no rule. */
static long cfa_at(const struct unwind_table *table, uint64_t elf_addr)
{
	const struct abi_unwind_rule *rule = unwind_table_find(table, elf_addr);

	return rule->cfa == UNWIND_CFA_SP     ? rule->cfa_offset
	       : rule->cfa == UNWIND_CFA_NONE ? -1
					      : -2;
}

struct lookup {
	uint64_t elf_addr;
	long cfa;
};

static void assert_lookups(const struct unwind_table *table, const struct lookup *lookups,
			   size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (cfa_at(table, lookups[i].elf_addr) != lookups[i].cfa)
			fail_msg("%lx: %ld, not %ld", (unsigned long)lookups[i].elf_addr,
				 cfa_at(table, lookups[i].elf_addr), lookups[i].cfa);
}

/* Checks what the header promises of every table. */
static void assert_well_formed(const struct unwind_table *table)
{
	assert_int_equal(table->rules[0].cfa, UNWIND_CFA_NONE);
	assert_int_equal(table->base_address % (1 << UNWIND_PAGE_SHIFT), 0);
	assert_int_equal(table->page_first[0], 0);
	assert_int_equal(table->page_first[table->n_pages], table->n_rows);
	for (uint32_t page = 0; page < table->n_pages; page++) {
		uint32_t first = table->page_first[page], end = table->page_first[page + 1];

		assert_true(first < end);
		assert_int_equal(table->rows[first].offset, 0);
		for (uint32_t i = first + 1; i < end; i++) {
			assert_true(table->rows[i].offset > table->rows[i - 1].offset);
			assert_true(table->rows[i].rule != table->rows[i - 1].rule);
			assert_true(table->rows[i].rule < table->n_rules);
		}
	}
	for (uint32_t i = 0; i < table->n_rules; i++)
		for (uint32_t k = 0; k < i && table->n_rules < 1000; k++)
			assert_memory_not_equal(&table->rules[i], &table->rules[k],
						sizeof(table->rules[0]));
}

static void gaps_have_no_rule_but_padding_does_not_end_a_function(void **state)
{
	static const struct lookup lookups[] = {
		{ 0x400fff, -1 },
		{ 0x401000, 16 },
		{ 0x401001, 24 },
		{ 0x40107f, 24 },
		/* 16 bytes are not padding */
		{ 0x401080, -1 },
		{ 0x40108f, -1 },
		{ 0x401090, 32 },
		{ 0x401094, 32 },
		/* 11 bytes up to a multiple of 16 are padding */
		{ 0x401095, 32 },
		{ 0x40109f, 32 },
		{ 0x4010a0, 40 },
		{ 0x4010a4, 40 },
		/* 3 bytes up to another address are not */
		{ 0x4010a5, -1 },
		{ 0x4010a7, -1 },
		{ 0x4010a8, 48 },
		{ 0x4010af, 48 },
		{ 0x4010b0, -1 },
		{ UINT64_MAX, -1 },
		{ 0, -1 },
	};
	scoped(unwind_table_release) struct unwind_table table = {};
	scoped(bytes_release) struct bytes content = BYTES_INIT(MIB);
	size_t cie = write_plain_cie(&content);

	(void)state;
	/* Not in order of addresses. */
	write_function(&content, cie, 0x4010a0, 5, 40, 0);
	write_function(&content, cie, 0x401000, 0x80, 16, 1);
	write_function(&content, cie, 0x4010a8, 8, 48, 0);
	write_function(&content, cie, 0x401090, 5, 32, 0);
	(void)build(&content, &table);
	assert_well_formed(&table);
	assert_lookups(&table, lookups, ARRAY_SIZE(lookups));
}

static void equal_neighbours_are_one_row(void **state)
{
	scoped(unwind_table_release) struct unwind_table table = {};
	scoped(bytes_release) struct bytes content = BYTES_INIT(MIB);
	size_t cie = write_plain_cie(&content);
	struct unwind_table_stats stats;

	(void)state;
	for (size_t i = 0; i < 100; i++)
		write_function(&content, cie, 0x401010 + 16 * i, 16, 8, 0);
	stats = build(&content, &table);
	assert_well_formed(&table);
	assert_int_equal(stats.n_fdes, 100);
	assert_int_equal(stats.n_rows_before_merge, 100);
	/* The start of the page, the functions, the end. */
	assert_int_equal(table.n_rows, 3);
	assert_int_equal(cfa_at(&table, 0x401010 + 1599), 8);
}

static void where_fdes_overlap_the_first_wins(void **state)
{
	static const struct {
		/* start and end of FDEs in the order of the file, cfa 8 * (1 + i) */
		uint64_t ranges[4][2];
		size_t count;
		struct lookup lookups[8];
		size_t n_lookups;
	} cases[] = {
		/* the second ends after the first */
		{ { { 0x401000, 0x401100 }, { 0x401080, 0x401180 } },
		  2,
		  { { 0x401000, 8 },
		    { 0x4010ff, 8 },
		    { 0x401100, 16 },
		    { 0x40117f, 16 },
		    { 0x401180, -1 } },
		  5 },
		/* the first is within the second, which continues after it */
		{ { { 0x401040, 0x401080 }, { 0x401000, 0x401100 } },
		  2,
		  { { 0x401000, 16 },
		    { 0x401040, 8 },
		    { 0x40107f, 8 },
		    { 0x401080, 16 },
		    { 0x4010ff, 16 },
		    { 0x401100, -1 } },
		  6 },
		/* the second is hidden */
		{ { { 0x401000, 0x401100 }, { 0x401040, 0x401080 } },
		  2,
		  { { 0x401040, 8 }, { 0x401080, 8 }, { 0x4010ff, 8 }, { 0x401100, -1 } },
		  4 },
		/* the same start */
		{ { { 0x401000, 0x401040 }, { 0x401000, 0x401080 } },
		  2,
		  { { 0x401000, 8 }, { 0x401040, 16 }, { 0x401080, -1 } },
		  3 },
		/* three overlap; the middle one wins only after the end of the first */
		{ { { 0x401050, 0x401060 }, { 0x401040, 0x401080 }, { 0x401000, 0x401100 } },
		  3,
		  { { 0x401000, 24 },
		    { 0x401040, 16 },
		    { 0x401050, 8 },
		    { 0x401060, 16 },
		    { 0x401080, 24 },
		    { 0x4010ff, 24 },
		    { 0x401100, -1 } },
		  7 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(unwind_table_release) struct unwind_table table = {};
		scoped(bytes_release) struct bytes content = BYTES_INIT(MIB);
		size_t cie = write_plain_cie(&content);

		for (size_t k = 0; k < cases[i].count; k++)
			write_function(&content, cie, cases[i].ranges[k][0],
				       cases[i].ranges[k][1] - cases[i].ranges[k][0],
				       8 * (uint32_t)(k + 1), 0);
		(void)build(&content, &table);
		assert_well_formed(&table);
		assert_lookups(&table, cases[i].lookups, cases[i].n_lookups);
	}
}

static void functions_across_pages_are_found_in_each(void **state)
{
	static const struct lookup lookups[] = {
		{ 0x40fff0, 16 },
		{ 0x40ffff, 16 },
		{ 0x410000, 16 },
		{ 0x437fff, 16 },
		{ 0x438000, -1 },
		/* pages without a function */
		{ 0x445000, -1 },
		{ 0x45ffff, -1 },
		/* up to the end of a page */
		{ 0x460000, 24 },
		{ 0x46ffff, 24 },
		{ 0x470000, -1 },
	};
	scoped(unwind_table_release) struct unwind_table table = {};
	scoped(bytes_release) struct bytes content = BYTES_INIT(MIB);
	size_t cie = write_plain_cie(&content);

	(void)state;
	write_function(&content, cie, 0x40fff0, 0x28010, 16, 0);
	write_function(&content, cie, 0x460000, 0x10000, 24, 0);
	(void)build(&content, &table);
	assert_well_formed(&table);
	assert_int_equal(table.base_address, 0x40f000);
	assert_int_equal(table.n_pages, 0x470 - 0x40f);
	assert_lookups(&table, lookups, ARRAY_SIZE(lookups));
}

static void fdes_outside_executable_segments_are_left_out(void **state)
{
	static const struct load_segment segments[] = {
		{ .vaddr = 0, .memory_size = 0x1000, .flags = PF_R },
		{ .vaddr = 0x401000, .memory_size = 0x1000, .flags = PF_R | PF_X },
		{ .vaddr = 0x500000, .memory_size = 0x1000, .flags = PF_R | PF_X },
		{ .vaddr = UINT64_MAX - 0xfff, .memory_size = 0x1000, .flags = PF_R | PF_X },
		{ .vaddr = 0x7fff00000000, .memory_size = 0x1000, .flags = PF_R | PF_X },
	};
	static const struct lookup lookups[] = {
		{ 0x0, -1 },      { 0x401000, 16 },       { 0x401ff8, -1 },
		{ 0x500ff0, 32 }, { 0x7fff00000000, -1 },
	};
	scoped(unwind_table_release) struct unwind_table table = {};
	scoped(bytes_release) struct bytes content = BYTES_INIT(MIB);
	size_t cie = write_plain_cie(&content);
	struct unwind_table_stats stats;

	(void)state;
	write_function(&content, cie, 0, 0x10, 8, 0);
	write_function(&content, cie, 0x401000, 0x10, 16, 0);
	write_function(&content, cie, 0x401ff8, 0x10, 24, 0);
	write_function(&content, cie, 0x500ff0, 0x10, 32, 0);
	write_function(&content, cie, 0x7fff00000000, 0x10, 40, 0);
	build_in(segments, ARRAY_SIZE(segments), &content, &table, &stats);
	assert_well_formed(&table);
	assert_int_equal(stats.n_fdes, 5);
	assert_int_equal(stats.n_fdes_outside, 3);
	assert_int_equal(stats.n_fdes_lost, 0);
	assert_lookups(&table, lookups, ARRAY_SIZE(lookups));
}

static void a_lost_fde_leaves_no_rows(void **state)
{
	static const struct instructions bad = INSTRUCTIONS(0x0e, 99, 0x41, 0x0e, 98, 0x41, 0x3f);
	scoped(unwind_table_release) struct unwind_table table = {};
	scoped(bytes_release) struct bytes content = BYTES_INIT(MIB);
	size_t cie = write_plain_cie(&content);
	struct unwind_table_stats stats;

	(void)state;
	write_function(&content, cie, 0x401000, 0x10, 16, 0);
	write_fde(&content, cie, 0x401010, 0x10, &bad);
	write_function(&content, cie, 0x401020, 0x10, 24, 0);
	stats = build(&content, &table);
	assert_well_formed(&table);
	assert_int_equal(stats.n_fdes_lost, 1);
	assert_int_equal(stats.n_rows_before_merge, 2);
	assert_int_equal(cfa_at(&table, 0x401010), -1);
	assert_int_equal(cfa_at(&table, 0x401020), 24);
}

/*
 * Return addresses are looked up one byte before, and the kernel "returns" to the first byte of the
 * trampoline.
 */
static void the_byte_before_a_signal_frame_belongs_to_it_unless_it_has_an_fde(void **state)
{
	static const struct instructions restore_rt =
		INSTRUCTIONS(0x0f, 4, 0x77, 0xa0, 1, 0x06, 0x10, 16, 3, 0x77, 0xa8, 1);
	scoped(unwind_table_release) struct unwind_table table = {};
	scoped(bytes_release) struct bytes content = BYTES_INIT(MIB);
	size_t cie = write_plain_cie(&content);

	(void)state;
	write_fde(&content, cie, 0x401000, 9, &restore_rt);
	write_fde(&content, cie, 0x401100, 9, &restore_rt);
	write_function(&content, cie, 0x4010f0, 0x10, 24, 0);
	(void)build(&content, &table);
	assert_well_formed(&table);
	assert_int_equal(unwind_table_find(&table, 0x401000)->cfa, UNWIND_CFA_SIGNAL);
	assert_int_equal(unwind_table_find(&table, 0x400fff)->cfa, UNWIND_CFA_SIGNAL);
	assert_int_equal(unwind_table_find(&table, 0x400ffe)->cfa, UNWIND_CFA_NONE);
	assert_int_equal(unwind_table_find(&table, 0x401009)->cfa, UNWIND_CFA_NONE);
	assert_int_equal(unwind_table_find(&table, 0x401100)->cfa, UNWIND_CFA_SIGNAL);
	assert_int_equal(cfa_at(&table, 0x4010ff), 24);
}

static void no_fdes_make_an_empty_table(void **state)
{
	scoped(unwind_table_release) struct unwind_table table = {};
	scoped(bytes_release) struct bytes content = BYTES_INIT(MIB);

	(void)state;
	(void)write_plain_cie(&content);
	(void)build(&content, &table);
	assert_int_equal(table.n_rows, 0);
	assert_int_equal(table.n_pages, 0);
	assert_int_equal(table.page_first[0], 0);
	assert_int_equal(cfa_at(&table, 0x401000), -1);
}

/* At most 65536 rules: further ones become unsupported. */
static void more_rules_than_a_row_can_name_are_unsupported(void **state)
{
	const uint32_t n_functions = 70000;
	scoped(unwind_table_release) struct unwind_table table = {};
	scoped(bytes_release) struct bytes content = BYTES_INIT(8 * MIB);
	size_t cie = write_plain_cie(&content);
	struct unwind_table_stats stats;

	(void)state;
	for (uint32_t i = 0; i < n_functions; i++) {
		struct instructions cfa = INSTRUCTIONS(
			0x0e, (uint8_t)(i | 0x80), (uint8_t)((i >> 7) | 0x80), (uint8_t)(i >> 14));

		write_fde(&content, cie, CODE_START + 16 * (uint64_t)i, 16, &cfa);
	}
	stats = build(&content, &table);
	assert_int_equal(table.n_rules, UNWIND_MAX_RULES);
	assert_int_equal(stats.n_rows_unsupported, n_functions - (UNWIND_MAX_RULES - 2));
	assert_int_equal(cfa_at(&table, CODE_START + 16 * 65533), 65533);
	assert_int_equal(unwind_table_find(&table, CODE_START + 16 * 65534)->cfa,
			 UNWIND_CFA_UNSUPPORTED);
}

/* ---- comparison with a linear search --------------------------------------------------------- */

struct random {
	uint64_t state;
};

static uint64_t random_below(struct random *random, uint64_t bound)
{
	random->state ^= random->state << 13;
	random->state ^= random->state >> 7;
	random->state ^= random->state << 17;
	return (random->state >> 11) % bound;
}

struct function {
	uint64_t start, end;
	uint32_t cfa;
	size_t pushes;
};

static const struct function *naive_find(const struct function *functions, size_t count,
					 uint64_t elf_addr)
{
	for (size_t i = 0; i < count; i++)
		if (elf_addr >= functions[i].start && elf_addr < functions[i].end)
			return &functions[i];
	return NULL;
}

static bool naive_is_padding(const struct function *functions, size_t count, uint64_t elf_addr)
{
	uint64_t start = elf_addr, end = elf_addr;

	while (elf_addr - start < 16 && !naive_find(functions, count, start))
		start--;
	while (end - elf_addr < 16 && !naive_find(functions, count, end))
		end++;
	/* start is the last byte of one range, end the first byte of another. */
	return naive_find(functions, count, start) && naive_find(functions, count, end) &&
	       end - start <= 16 && end % 16 == 0;
}

static long naive_cfa(const struct function *functions, size_t count, uint64_t elf_addr)
{
	const struct function *function = naive_find(functions, count, elf_addr);

	if (!function)
		return -1;
	return function->cfa +
	       8 * (long)MIN(elf_addr - function->start, (uint64_t)function->pushes);
}

static void lookups_agree_with_a_naive_list(void **state)
{
	struct random random = { .state = 0x9e3779b97f4a7c15 };

	(void)state;
	for (size_t round = 0; round < 300; round++) {
		scoped(unwind_table_release) struct unwind_table table = {};
		scoped(bytes_release) struct bytes content = BYTES_INIT(MIB);
		size_t cie = write_plain_cie(&content);
		struct function functions[40];
		size_t count = 1 + random_below(&random, ARRAY_SIZE(functions));
		/* Sometimes dense, sometimes over several pages. */
		uint64_t span = round % 3 == 0 ? 0x300 : round % 3 == 1 ? 0x2000 : 0x40000;

		for (size_t i = 0; i < count; i++) {
			uint64_t start = CODE_START + 0xff00 + random_below(&random, span);
			uint64_t size = 1 + random_below(&random, round % 2 ? 0x40 : span / 4);

			functions[i] =
				(struct function){ start, start + size, 8 * (uint32_t)(1 + i % 7),
						   random_below(&random, 5) };
			write_function(&content, cie, start, size, functions[i].cfa,
				       functions[i].pushes);
		}
		(void)build(&content, &table);
		assert_well_formed(&table);
		for (size_t i = 0; i < 2000; i++) {
			uint64_t elf_addr = CODE_START + 0xff00 - 32 +
					    random_below(&random, span + span / 4 + 64);
			long expected = naive_cfa(functions, count, elf_addr);

			if (expected == -1 && naive_is_padding(functions, count, elf_addr))
				continue;
			if (cfa_at(&table, elf_addr) != expected)
				fail_msg("round %zu, %lx: %ld, not %ld", round,
					 (unsigned long)elf_addr, cfa_at(&table, elf_addr),
					 expected);
		}
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(gaps_have_no_rule_but_padding_does_not_end_a_function),
		cmocka_unit_test(equal_neighbours_are_one_row),
		cmocka_unit_test(where_fdes_overlap_the_first_wins),
		cmocka_unit_test(functions_across_pages_are_found_in_each),
		cmocka_unit_test(fdes_outside_executable_segments_are_left_out),
		cmocka_unit_test(a_lost_fde_leaves_no_rows),
		cmocka_unit_test(the_byte_before_a_signal_frame_belongs_to_it_unless_it_has_an_fde),
		cmocka_unit_test(no_fdes_make_an_empty_table),
		cmocka_unit_test(more_rules_than_a_row_can_name_are_unsupported),
		cmocka_unit_test(lookups_agree_with_a_naive_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
