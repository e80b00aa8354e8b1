/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/unit.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "symbolizer/query/disassembly.h"
#include "tests/unit/symbolizer/query/marked_program.h"

#define ARENA_BYTES (8 * MIB)

/* The code of a function in its only file. */
struct code {
	struct arena *arena;
	struct code_values *values;
	struct disassembly shown;
};

static void code_release(struct code *code)
{
	(void)code_values_free(code->values);
	(void)arena_free(code->arena);
}

static void visit(struct fixture *fixture, const char *function, struct code *code)
{
	scoped(store_view_closep) struct store_view *view = NULL;
	struct stack_visitor visitor;

	assert_ok(arena_new(ARENA_BYTES, &code->arena));
	assert_ok(code_values_new(function, code->arena, &code->values));
	assert_ok(store_view_open(fixture->store, &fixture->options, &view));
	visitor = code_values_visitor(code->values);
	assert_int_equal(profile_visit_stacks(view, fixture->resolver, &system_clock,
					      &fixture->request, &visitor, &fixture->stats,
					      fixture->message),
			 1);
}

static void disassemble(struct fixture *fixture, const char *function, uint64_t max_bytes,
			struct code *code)
{
	struct disassembly_request request = { .resolver = fixture->resolver,
					       .max_bytes = max_bytes };
	size_t n_files;

	visit(fixture, function, code);
	request.function = code_values_name(code->values);
	request.file = code_values_files(code->values, &n_files);
	assert_int_equal(n_files, 1);
	request.values = code_values_sorted(code->values, &request.n_values);
	assert_ok(disassembly_make(&request, code->arena, &code->shown));
}

/* "MARK MNEMONIC self total FUNCTION:LINE" for each row with a value, and the sums. */
static void assert_values(const struct code *code, const struct marks *marks, const char *expected)
{
	const struct code_sums sums = code_values_sums(code->values);
	scoped(bytes_release) struct bytes out = BYTES_INIT(MIB);

	for (size_t i = 0; i < code->shown.n_rows; i++) {
		const struct disassembly_row *row = &code->shown.rows[i];
		const struct symbol_place *place = &code->shown.places[row->place];
		int mark = 0;

		while (mark < 3 && marks->at[mark] != row->elf_addr)
			mark++;
		if (row->total > 0)
			(void)bytes_append_format(
				&out, "mark%d %s %llu %llu %s:%u\n", mark + 1,
				row->mnemonic ? row->mnemonic : "?", (unsigned long long)row->self,
				(unsigned long long)row->total, place->function, place->line);
	}
	(void)bytes_append_format(&out, "self %llu inlined %llu total %llu",
				  (unsigned long long)sums.self, (unsigned long long)sums.inlined,
				  (unsigned long long)sums.total);
	assert_bytes_equal_text(&out, expected);
}

static void instructions_have_the_values_of_their_addresses(void **state)
{
	scoped(code_release) struct code code = {};
	struct marks marks;

	add_samples(*state, &marks);
	disassemble(*state, "serve", CODE_MAX_BYTES, &code);
	assert_int_equal(code.shown.outcome, CODE_DECODED);
	assert_values(&code, &marks,
		      "mark1 nop 10 70 serve:13\n"
		      "mark2 nop 40 40 serve:14\n"
		      "mark3 nop 80 80 helper:3\n"
		      "self 50 inlined 80 total 150");
}

static void an_inlined_function_has_its_instructions_only(void **state)
{
	scoped(code_release) struct code code = {};
	struct marks marks;

	add_samples(*state, &marks);
	disassemble(*state, "[l] helper", CODE_MAX_BYTES, &code);
	assert_int_equal(code.shown.n_rows, 2);
	assert_int_equal(code.shown.n_blocks, 1);
	assert_values(&code, &marks,
		      "mark3 nop 80 80 helper:3\n"
		      "self 80 inlined 0 total 80");
}

static void without_inlined_functions_all_code_is_that_of_the_outermost(void **state)
{
	scoped(code_release) struct code code = {};
	struct fixture *fixture = *state;
	struct marks marks;

	add_samples(fixture, &marks);
	fixture->request.no_inlines = true;
	disassemble(fixture, "serve", CODE_MAX_BYTES, &code);
	assert_values(&code, &marks,
		      "mark1 nop 10 70 serve:13\n"
		      "mark2 nop 40 40 serve:14\n"
		      "mark3 nop 80 80 helper:3\n"
		      "self 130 inlined 0 total 150");
}

static void addresses_and_mnemonics_are_those_of_objdump(void **state)
{
	struct fixture *fixture = *state;
	scoped(bytes_release) struct bytes expected = BYTES_INIT(COMMAND_OUTPUT_BYTES);
	scoped(bytes_release) struct bytes out = BYTES_INIT(MIB);
	scoped_free char *path = path_in(fixture->folder, "work");
	scoped(code_release) struct code code = {};
	char command[1024];
	struct marks marks;

	add_samples(fixture, &marks);
	disassemble(fixture, "serve", CODE_MAX_BYTES, &code);
	(void)snprintf(command, sizeof(command),
		       "objdump -d -M intel --no-show-raw-insn --disassemble=serve %s |"
		       " sed -n 's/^ *\\([0-9a-f]*\\):\\s*\\([a-z]*\\).*/\\1 \\2/p'",
		       path);
	assert_int_equal(command_output(command, &expected), 0);
	assert_true(code.shown.n_rows > 6);
	for (size_t i = 0; i < code.shown.n_rows; i++)
		(void)bytes_append_format(&out, "%llx %s\n",
					  (unsigned long long)code.shown.rows[i].elf_addr,
					  code.shown.rows[i].mnemonic);
	assert_ok(bytes_append_byte(&expected, 0));
	assert_bytes_equal_text(&out, (const char *)expected.data);
}

/* Returns the function that a call goes to, or NULL. */
static const char *callee(const struct disassembly *shown)
{
	for (size_t i = 0; i < shown->n_rows; i++)
		if (shown->rows[i].mnemonic && strcmp(shown->rows[i].mnemonic, "call") == 0)
			return shown->rows[i].target_function;
	return NULL;
}

static void the_value_of_a_caller_is_at_its_call(void **state)
{
	struct fixture *fixture = *state;
	static const struct fake_row rows[] = { { 1, 1, T0, 1 } };
	scoped(code_release) struct code code = {};
	char frames[100];
	struct stack_text stacks[] = { { 1, 0, frames } };
	struct marks marks;

	add_program(fixture, &marks);
	/* The last byte of the first call of _start: the return address less one. */
	(void)snprintf(frames, sizeof(frames), "native:lib:%#llx native:lib:%#llx", marks.at[0],
		       marks.start + 4);
	FAKE_SAMPLES(fixture, on_cpu_series, stacks, rows);
	disassemble(fixture, "_start", CODE_MAX_BYTES, &code);
	assert_string_equal(code.shown.rows[0].mnemonic, "call");
	assert_int_equal(code.shown.rows[0].elf_addr, marks.start);
	assert_int_equal(code.shown.rows[0].self, 0);
	assert_int_equal(code.shown.rows[0].total, 10);
	assert_string_equal(callee(&code.shown), "serve");
}

static void code_beyond_the_limit_is_shown_by_address(void **state)
{
	scoped(code_release) struct code code = {};
	struct marks marks;
	uint64_t size;

	add_samples(*state, &marks);
	disassemble(*state, "serve", 4, &code);
	assert_int_equal(code.shown.blocks[0].size, 4);
	size = code.shown.left_out_bytes;
	assert_true(size > 0);
	assert_values(&code, &marks,
		      "mark1 nop 10 70 serve:13\n"
		      "mark2 nop 40 40 serve:14\n"
		      "mark3 ? 80 80 helper:3\n"
		      "self 50 inlined 80 total 150");
}

static void without_the_executable_addresses_have_values_and_lines(void **state)
{
	struct fixture *fixture = *state;
	scoped(bytes_release) struct bytes output = BYTES_INIT(COMMAND_OUTPUT_BYTES);
	const struct executable_id *id = &fixture->executables[EXE_LIB - 1].identity;
	const struct fake_debuginfo_file without_code = {};
	scoped_free char *path = path_in(fixture->folder, "work");
	scoped(code_release) struct code code = {};
	char command[512];
	struct marks marks;

	add_samples(fixture, &marks);
	(void)snprintf(command, sizeof(command), "objcopy --only-keep-debug %s 2>&1", path);
	assert_int_equal(command_output(command, &output), 0);
	fake_debuginfo_put(&fixture->debuginfo, id, path);
	fake_debuginfo_describe(&fixture->debuginfo, id, &without_code);
	disassemble(fixture, "serve", CODE_MAX_BYTES, &code);
	assert_int_equal(code.shown.outcome, CODE_NO_FILE);
	assert_int_equal(code.shown.n_rows, 3);
	assert_values(&code, &marks,
		      "mark1 ? 10 70 serve:13\n"
		      "mark2 ? 40 40 serve:14\n"
		      "mark3 ? 80 80 helper:3\n"
		      "self 50 inlined 80 total 150");
}

int main(void)
{
#define WITH_FLEET(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
		WITH_FLEET(instructions_have_the_values_of_their_addresses),
		WITH_FLEET(an_inlined_function_has_its_instructions_only),
		WITH_FLEET(without_inlined_functions_all_code_is_that_of_the_outermost),
		WITH_FLEET(addresses_and_mnemonics_are_those_of_objdump),
		WITH_FLEET(the_value_of_a_caller_is_at_its_call),
		WITH_FLEET(code_beyond_the_limit_is_shown_by_address),
		WITH_FLEET(without_the_executable_addresses_have_values_and_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
