/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/unwind/x86_code/function_analysis.h"

#include <link.h>

#include "agent/unwind/unwind_compile.h"
#include "common/file.h"
#include "tests/support/command.h"

#define TEXT UINT64_C(0x401000)

/* The rows of one function at TEXT. */
struct followed {
	struct function_analysis *analysis;
	struct code_address_vec found;
	uint64_t end;
};

static struct followed follow(const uint8_t *code, size_t size)
{
	const struct code_range range = { .bytes = { code, size }, .vaddr = TEXT };
	struct followed followed = {};

	assert_ok(function_analysis_new(&range, &followed.analysis));
	assert_int_equal(function_analysis_run(followed.analysis, TEXT, TEXT + size,
					       &followed.found, &followed.end),
			 1);
	return followed;
}

static void release(struct followed *followed)
{
	(void)function_analysis_free(followed->analysis);
	vec_release(&followed->found);
}

static const struct abi_unwind_rule *rule_at(const struct function_analysis *analysis,
					     uint64_t address)
{
	size_t count;
	const struct unwind_builder_row *rows = function_analysis_rows(analysis, &count);
	const struct abi_unwind_rule *rule = NULL;

	for (size_t i = 0; i < count && rows[i].start <= address; i++)
		rule = &rows[i].rule;
	assert_non_null(rule);
	return rule;
}

static void assert_sp(const struct followed *followed, uint64_t offset, int32_t cfa_offset,
		      int32_t fp_offset)
{
	const struct abi_unwind_rule *rule = rule_at(followed->analysis, TEXT + offset);

	assert_int_equal(rule->cfa, UNWIND_CFA_SP);
	assert_int_equal(rule->cfa_offset, cfa_offset);
	assert_int_equal(rule->fp, fp_offset ? UNWIND_SAVED_CFA : UNWIND_SAVED_SAME);
	assert_int_equal(rule->fp_offset, fp_offset);
}

static void every_path_through_a_function_has_its_own_depth(void **state)
{
	static const uint8_t code[] = {
		0x85,
		0xff, /* 0: test; je 0xf */
		0x74,
		0x0b, /* 2 */
		0x55, /* 4: push %rbp */
		0x53, /* 5: push %rbx */
		0x48,
		0x83,
		0xec,
		0x18, /* 6: sub $24 */
		0xff,
		0xd0, /* a: call */
		0xeb,
		0x03, /* c: jmp 0x11 */
		0x90, /* e: not reached */
		0x31,
		0xc0, /* f: an early end */
		/* 11, from c */ 0x48,
		0x83,
		0xc4,
		0x18, /* add $24 */
		0x5b,
		0x5d,
		0xc3,
	};
	struct followed followed = follow(code, sizeof(code));

	(void)state;
	assert_sp(&followed, 0, 8, 0);
	assert_sp(&followed, 5, 16, -16);
	assert_sp(&followed, 6, 24, -16);
	assert_sp(&followed, 0xa, 48, -16);
	assert_sp(&followed, 0xc, 48, -16);
	assert_int_equal(rule_at(followed.analysis, TEXT + 0xe)->cfa, UNWIND_CFA_NONE);
	assert_sp(&followed, 0xf, 8, 0);
	assert_sp(&followed, 0x16, 16, -16);
	assert_sp(&followed, 0x17, 8, 0);
	assert_int_equal(followed.end, TEXT + sizeof(code));
	release(&followed);
}

static void a_variable_frame_is_found_by_the_frame_pointer(void **state)
{
	static const uint8_t code[] = {
		0x55,                   /* push %rbp */
		0x48, 0x89, 0xe5,       /* mov %rsp,%rbp */
		0x48, 0x29, 0xc4,       /* sub %rax,%rsp */
		0x90,                   /* 7 */
		0x48, 0x8d, 0x65, 0xf8, /* lea -8(%rbp),%rsp */
		0x5b, 0x5d, 0xc3,       /* c: pop %rbx; pop %rbp; ret */
	};
	struct followed followed = follow(code, sizeof(code));

	(void)state;
	assert_sp(&followed, 1, 16, -16);
	/* While rbp is the base, callees may change the stack pointer. */
	for (uint64_t at = 4; at <= 0xd; at++) {
		const struct abi_unwind_rule *rule = rule_at(followed.analysis, TEXT + at);

		assert_int_equal(rule->cfa, UNWIND_CFA_FP);
		assert_int_equal(rule->cfa_offset, 16);
		assert_int_equal(rule->fp_offset, -16);
	}
	assert_sp(&followed, 0xe, 8, 0);
	release(&followed);
}

static void the_cases_of_a_switch_have_the_depth_of_its_jump(void **state)
{
	static const uint8_t code[] = {
		0x48, 0x83, 0xec, 0x08,             /* sub $8 */
		0xff, 0xe0,                         /* jmp *%rax */
		0x90,                               /* 6: a case */
		0x48, 0x83, 0xc4, 0x08, 0xc3, 0x90, /* c: another one */
		0x48, 0x83, 0xc4, 0x08, 0xc3,
	};
	struct followed followed = follow(code, sizeof(code));

	(void)state;
	assert_sp(&followed, 6, 16, 0);
	assert_sp(&followed, 0xb, 8, 0);
	assert_sp(&followed, 0xc, 16, 0);
	release(&followed);
}

static void where_the_stack_pointer_is_lost_there_is_no_rule(void **state)
{
	/* and $-16; call; hlt */
	static const uint8_t code[] = { 0x48, 0x83, 0xe4, 0xf0, 0xff, 0xd0, 0xf4 };
	struct followed followed = follow(code, sizeof(code));

	(void)state;
	assert_sp(&followed, 0, 8, 0);
	assert_int_equal(rule_at(followed.analysis, TEXT + 4)->cfa, UNWIND_CFA_NONE);
	release(&followed);
}

static void functions_that_are_called_are_found(void **state)
{
	static const uint8_t code[] = { 0xe8, 0x0b, 0,    0,    0,    0x48, 0x8d,
					0x05, 0x08, 0,    0,    0,    0xc3, 0xcc,
					0xcc, 0xcc, 0xc3, 0xcc, 0xcc, 0xcc, 0xc3 };
	const struct code_range range = { .bytes = { code, sizeof(code) }, .vaddr = TEXT };
	struct followed followed = {};

	(void)state;
	assert_ok(function_analysis_new(&range, &followed.analysis));
	assert_int_equal(function_analysis_run(followed.analysis, TEXT, UINT64_MAX, &followed.found,
					       &followed.end),
			 1);
	assert_int_equal(followed.found.count, 2);
	assert_int_equal(followed.found.items[0], TEXT + 16);
	assert_int_equal(followed.found.items[1], TEXT + 20);
	assert_int_equal(followed.end, TEXT + 13);
	release(&followed);
}

static void random_code_does_no_harm(void **state)
{
	uint64_t seed = 0x2545f4914f6cdd1d;
	uint8_t code[256];

	(void)state;
	for (size_t round = 0; round < 20000; round++) {
		const struct code_range range = { .bytes = { code, sizeof(code) }, .vaddr = TEXT };
		struct followed followed = {};
		size_t count;
		const struct unwind_builder_row *rows;

		for (size_t i = 0; i < sizeof(code); i++) {
			seed ^= seed << 13;
			seed ^= seed >> 7;
			seed ^= seed << 17;
			code[i] = (uint8_t)(seed >> 40);
		}
		assert_ok(function_analysis_new(&range, &followed.analysis));
		assert_ok(function_analysis_run(followed.analysis, TEXT, TEXT + sizeof(code),
						&followed.found, &followed.end));
		rows = function_analysis_rows(followed.analysis, &count);
		for (size_t i = 1; i < count; i++)
			assert_true(rows[i].start > rows[i - 1].start &&
				    rows[i].start < followed.end);
		release(&followed);
	}
}

/* ---- comparison with call frame information -------------------------------------------------- */

static const char *path_of_libc(void)
{
	for (const struct link_map *map = _r_debug.r_map; map; map = map->l_next)
		if (strstr(map->l_name, "/libc.so"))
			return map->l_name;
	skip();
	return NULL;
}

struct agreement {
	uint64_t same, other, differs;
};

static void compare_function(const struct followed *followed, const struct unwind_table *table,
			     struct agreement *agreement)
{
	size_t count;
	const struct unwind_builder_row *rows = function_analysis_rows(followed->analysis, &count);

	for (size_t i = 0; i < count; i++) {
		const struct abi_unwind_rule *code = &rows[i].rule;
		const struct abi_unwind_rule *cfi = unwind_table_find(table, rows[i].start);

		if (code->cfa == UNWIND_CFA_NONE || code->cfa != cfi->cfa)
			agreement->other++;
		else if (code->cfa_offset == cfi->cfa_offset)
			agreement->same++;
		else
			agreement->differs++;
	}
}

/* The rows computed from the C library's code equal those that its compiler wrote as CFI. */
static void rows_from_code_agree_with_call_frame_information(void **state)
{
	scoped(bytes_release) struct bytes listing = BYTES_INIT(COMMAND_OUTPUT_BYTES),
					   content = BYTES_INIT(64 * MIB);
	scoped(unwind_table_release) struct unwind_table table = {};
	scoped(elf_file_freep) struct elf_file *elf = NULL;
	scoped_fd int fd = open(path_of_libc(), O_RDONLY | O_CLOEXEC);
	struct agreement agreement = {};
	const struct elf_section *section;
	struct unwind_table_stats stats;
	struct followed followed = {};
	struct code_range range;
	char command[512], *line, *rest;

	(void)state;
	if (!command_exists("nm"))
		skip();
	assert_ok(elf_file_open(fd, &elf));
	if (elf->machine != 62 /* EM_X86_64 */)
		skip();
	assert_int_equal(unwind_table_compile(elf, &(struct unwind_options){}, &table, &stats), 1);
	section = elf_file_section(elf, ".text");
	assert_non_null(section);
	assert_ok(elf_file_read_section(elf, section, &content));
	range = (struct code_range){ .bytes = bytes_view_of(&content), .vaddr = section->vaddr };
	assert_ok(function_analysis_new(&range, &followed.analysis));
	(void)snprintf(command, sizeof(command),
		       "nm -D -S --defined-only %s | awk '$3 ~ /[TWi]/ { print $1, $2 }'",
		       path_of_libc());
	assert_int_equal(command_output(command, &listing), 0);
	rest = (char *)listing.data;
	while ((line = strsep(&rest, "\n"))) {
		unsigned long long start, size;

		if (sscanf(line, "%llx %llx", &start, &size) != 2 ||
		    function_analysis_run(followed.analysis, start, start + size, &followed.found,
					  &followed.end) != 1)
			continue;
		compare_function(&followed, &table, &agreement);
	}
	print_message("%llu rows agree, %llu differ, %llu have another base\n",
		      (unsigned long long)agreement.same, (unsigned long long)agreement.differs,
		      (unsigned long long)agreement.other);
	assert_true(agreement.same > 10000);
	/* Rows may differ after a call that never returns; that code is mostly padding. */
	assert_true(agreement.differs * 200 < agreement.same);
	release(&followed);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_path_through_a_function_has_its_own_depth),
		cmocka_unit_test(a_variable_frame_is_found_by_the_frame_pointer),
		cmocka_unit_test(the_cases_of_a_switch_have_the_depth_of_its_jump),
		cmocka_unit_test(where_the_stack_pointer_is_lost_there_is_no_rule),
		cmocka_unit_test(functions_that_are_called_are_found),
		cmocka_unit_test(random_code_does_no_harm),
		cmocka_unit_test(rows_from_code_agree_with_call_frame_information),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
