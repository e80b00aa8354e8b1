/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables are written by the test, and code is a few instructions where rules depend on it.
 * tests/unwind_check/go_check compares the rows of real programs.
 */
#include "agent/unwind/go/go_frames.h"

#include <elf.h>
#include <sys/mman.h>

#include "agent/unwind/go/go_file.h"
#include "common/file.h"
#include "tests/unit/agent/unwind/go/go_writer.h"

#define TEXT UINT64_C(0x401000)

static const struct load_segment text = {
	.vaddr = TEXT, .memory_size = 0x10000, .file_size = 0x10000, .flags = PF_X
};

/*
 * A check of the stack limit; sub $40; mov %rbp,32(%rsp) ...; add $40; ret; more code after the
 * ret.
 */
#define WORKER                                                                                     \
	{                                                                                          \
		.start = TEXT + 0x100, .name = "main.worker",                                      \
		.rows = { { 10, 0 }, { 50, 40 }, { 1, 0 }, { 20, 40 } },                           \
	}

static const struct go_written_function worker = WORKER;

/* Compiles the functions, with @code, if not NULL, at TEXT. */
static void compile(const struct go_written_table *table, const struct bytes *code,
		    struct unwind_table *ret_table)
{
	const struct unwind_dialect dialect = {
		.machine = cfi_machine_of(table->quantum == 4 ? EM_AARCH64 : EM_X86_64),
	};
	scoped(unwind_builder_freep) struct unwind_builder *builder = NULL;
	scoped(bytes_release) struct bytes content = BYTES_INIT(MIB);
	struct load_segment segment = text;
	struct elf_file elf = { .fd = -1, .load_segments = &segment, .n_load_segments = 1 };
	scoped_fd int fd = memfd_create("code", MFD_CLOEXEC);
	struct unwind_table_stats stats;
	struct byte_window window;

	if (code) {
		assert_ok(write_all(fd, code->data, code->size));
		segment.file_size = code->size;
		elf.fd = fd;
	}
	go_write_table(&content, table);
	window = BYTE_WINDOW_OF_MEMORY(bytes_view_of(&content));
	assert_ok(unwind_builder_new(&dialect, &text, 1, &builder));
	assert_int_equal(
		go_frames_add(code ? &elf : NULL, &window, table->text_start, &dialect, builder),
		1);
	assert_ok(unwind_builder_finish(builder, ret_table, &stats));
}

static struct go_written_table table_of(uint32_t magic, const struct go_written_function *functions,
					size_t count)
{
	return (struct go_written_table){ .magic = magic,
					  .quantum = 1,
					  .text_start = TEXT,
					  .functions = functions,
					  .n_functions = count };
}

static void assert_rule(const struct unwind_table *table, uint64_t address, enum unwind_cfa cfa,
			int32_t cfa_offset, int32_t fp_offset)
{
	const struct abi_unwind_rule *rule = unwind_table_find(table, address);

	assert_int_equal(rule->cfa, cfa);
	assert_int_equal(rule->cfa_offset, cfa_offset);
	assert_int_equal(rule->fp, fp_offset ? UNWIND_SAVED_CFA : UNWIND_SAVED_SAME);
	assert_int_equal(rule->fp_offset, fp_offset);
}

static void the_layouts_of_all_versions_give_the_same_rows(void **state)
{
	static const uint32_t magics[] = { GO_1_16, GO_1_18, GO_1_20 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(magics); i++) {
		scoped(unwind_table_release) struct unwind_table table = {};
		struct go_written_table written = table_of(magics[i], &worker, 1);

		compile(&written, NULL, &table);
		assert_rule(&table, TEXT + 0x100, UNWIND_CFA_SP, 8, 0);
		assert_rule(&table, TEXT + 0x109, UNWIND_CFA_SP, 8, 0);
		/*
		 * The stack pointer is lower already, but the frame pointer is not stored yet: that
		 * instruction has five bytes.
		 */
		assert_rule(&table, TEXT + 0x10a, UNWIND_CFA_SP, 48, 0);
		assert_rule(&table, TEXT + 0x10e, UNWIND_CFA_SP, 48, 0);
		assert_rule(&table, TEXT + 0x10f, UNWIND_CFA_SP, 48, -16);
		assert_rule(&table, TEXT + 0x13b, UNWIND_CFA_SP, 48, -16);
		assert_rule(&table, TEXT + 0x13c, UNWIND_CFA_SP, 8, 0);
		assert_rule(&table, TEXT + 0x13d, UNWIND_CFA_SP, 48, -16);
		assert_int_equal(unwind_table_find(&table, TEXT + 0x10f)->ra, UNWIND_SAVED_CFA);
		assert_int_equal(unwind_table_find(&table, TEXT + 0x10f)->ra_offset, -8);
		/* After the last byte of the function there is no rule. */
		assert_rule(&table, TEXT + 0x151, UNWIND_CFA_NONE, 0, 0);
	}
}

static void a_frame_pointer_that_is_pushed_is_saved_at_once(void **state)
{
	static const struct go_written_function function = {
		.start = TEXT,
		.name = "main.f",
		.rows = { { 1, 0 }, { 3, 8 }, { 30, 72 }, { 1, 8 }, { 1, 0 } }
	};
	scoped(unwind_table_release) struct unwind_table table = {};
	struct go_written_table written = table_of(GO_1_20, &function, 1);

	(void)state;
	compile(&written, NULL, &table);
	assert_rule(&table, TEXT, UNWIND_CFA_SP, 8, 0);
	assert_rule(&table, TEXT + 1, UNWIND_CFA_SP, 16, -16);
	assert_rule(&table, TEXT + 4, UNWIND_CFA_SP, 80, -16);
	assert_rule(&table, TEXT + 34, UNWIND_CFA_SP, 16, -16);
	assert_rule(&table, TEXT + 35, UNWIND_CFA_SP, 8, 0);
}

static void stacks_end_at_functions_that_the_runtime_flags(void **state)
{
	static const struct go_written_function functions[] = {
		{ TEXT,
		  "runtime.rt0_go",
		  GO_FUNCTION_TOP_FRAME | GO_FUNCTION_ASM,
		  { { 9, 0 }, { 9, 48 } } },
		{ TEXT + 0x40, "runtime.goexit", 0, { { 6, 0 } } },
		{ TEXT + 0x80, "some.top", GO_FUNCTION_TOP_FRAME, { { 6, 0 } } },
		/* The kernel calls it: its caller is the interrupted code. */
		{ TEXT + 0xc0, "runtime.sigtramp", GO_FUNCTION_TOP_FRAME, { { 6, 0 }, { 6, 8 } } },
		{ TEXT + 0x100, "_rt0_amd64_linux", 0, { { 5, 0 } } },
	};
	scoped(unwind_table_release) struct unwind_table table = {};
	struct go_written_table written = table_of(GO_1_18, functions, ARRAY_SIZE(functions));

	(void)state;
	compile(&written, NULL, &table);
	assert_rule(&table, TEXT + 12, UNWIND_CFA_END, 0, 0);
	assert_rule(&table, TEXT + 0x41, UNWIND_CFA_END, 0, 0);
	assert_rule(&table, TEXT + 0x81, UNWIND_CFA_END, 0, 0);
	assert_rule(&table, TEXT + 0xc1, UNWIND_CFA_SP, 8, 0);
	assert_rule(&table, TEXT + 0x101, UNWIND_CFA_END, 0, 0);
}

static void the_signal_trampoline_has_a_rule_with_the_byte_before(void **state)
{
	static const struct go_written_function functions[] = {
		WORKER,
		{ TEXT + 0x200, "runtime.sigreturn__sigaction", GO_FUNCTION_ASM, { { 10, 0 } } },
	};
	scoped(unwind_table_release) struct unwind_table table = {};
	struct go_written_table written = table_of(GO_1_20, functions, ARRAY_SIZE(functions));

	(void)state;
	compile(&written, NULL, &table);
	assert_rule(&table, TEXT + 0x1fe, UNWIND_CFA_NONE, 0, 0);
	assert_rule(&table, TEXT + 0x1ff, UNWIND_CFA_SIGNAL, 0, 0);
	assert_rule(&table, TEXT + 0x205, UNWIND_CFA_SIGNAL, 0, 0);
}

/* ---- other stacks: by code ------------------------------------------------------------------- */

#define PUSH_FP     0x55, 0x48, 0x89, 0xe5       /* push %rbp; mov %rsp,%rbp */
#define LOAD_SP     0x48, 0x8b, 0x66, 0x38       /* mov 56(%rsi),%rsp */
#define LOAD_SP_R14 0x49, 0x8b, 0x66, 0x38       /* mov 56(%r14),%rsp */
#define CALL        0xff, 0xd0                   /* call *%rax */
#define MOVE_SP     0x48, 0x89, 0xf4             /* mov %rsi,%rsp */
#define KEEP_SP     0x48, 0x89, 0x54, 0x24, 0x28 /* mov %rdx,40(%rsp) */
#define ALIGN_SP    0x48, 0x83, 0xe4, 0xf0       /* and $-16,%rsp */
#define POP_FP      0x5d
#define RETURN      0xc3

static void compile_with_code(uint32_t magic, const struct go_written_function *functions,
			      size_t n_functions, const uint8_t *code, size_t size,
			      struct unwind_table *ret_table)
{
	scoped(bytes_release) struct bytes bytes = BYTES_INIT(MIB);
	struct go_written_table written = table_of(magic, functions, n_functions);

	assert_ok(bytes_append(&bytes, code, size));
	/* The code of the worker is not read. */
	assert_ok(bytes_append(&bytes, &(uint8_t[0x200]){}, 0x200));
	compile(&written, &bytes, ret_table);
}

static void a_function_with_a_frame_that_changes_stacks_is_left_by_its_frame_pointer(void **state)
{
	static const uint8_t code[] = { PUSH_FP, 0x90, LOAD_SP, CALL, MOVE_SP, POP_FP, RETURN };
	static const struct go_written_function functions[] = {
		{ TEXT,
		  "runtime.systemstack",
		  GO_FUNCTION_ASM | GO_FUNCTION_SP_WRITE,
		  { { 1, 0 }, { 14, 8 }, { 1, 0 } } },
	};
	scoped(unwind_table_release) struct unwind_table table = {};

	(void)state;
	compile_with_code(GO_1_20, functions, 1, code, sizeof(code), &table);
	assert_rule(&table, TEXT, UNWIND_CFA_SP, 8, 0);
	assert_rule(&table, TEXT + 4, UNWIND_CFA_SP, 16, -16);
	assert_rule(&table, TEXT + 8, UNWIND_CFA_SP, 16, -16);
	assert_rule(&table, TEXT + 9, UNWIND_CFA_OTHER_STACK, 16, -16);
	assert_rule(&table, TEXT + 14, UNWIND_CFA_OTHER_STACK, 16, -16);
	/* The ret: on the first stack again, with the frame pointer popped. */
	assert_rule(&table, TEXT + 15, UNWIND_CFA_SP, 8, 0);
}

static void a_function_that_never_returns_ends_the_stack(void **state)
{
	static const uint8_t code[] = { 0x90, LOAD_SP_R14, CALL, 0x90 };
	static const struct go_written_function functions[] = {
		{ TEXT, "runtime.mcall", GO_FUNCTION_ASM | GO_FUNCTION_SP_WRITE, { { 8, 0 } } },
	};
	scoped(unwind_table_release) struct unwind_table table = {};

	(void)state;
	compile_with_code(GO_1_18, functions, 1, code, sizeof(code), &table);
	assert_rule(&table, TEXT + 4, UNWIND_CFA_SP, 8, 0);
	assert_rule(&table, TEXT + 5, UNWIND_CFA_END, 0, 0);
	assert_rule(&table, TEXT + 7, UNWIND_CFA_END, 0, 0);
}

/*
 * Without a frame: found by its caller's frame, whose size is known; and, on the stack that it was
 * called on, by the saved stack pointer.
 */
static void asmcgocall_leads_back_to_the_goroutine(void **state)
{
	/* 15 bytes */
	static const uint8_t code[] = { 0x90,     LOAD_SP, ALIGN_SP, CALL,    MOVE_SP, RETURN,
					ALIGN_SP, KEEP_SP, CALL,     MOVE_SP, 0x90,    RETURN };
	static const struct go_written_function functions[] = {
		{ TEXT,
		  "runtime.asmcgocall",
		  GO_FUNCTION_ASM | GO_FUNCTION_SP_WRITE,
		  { { 31, 0 } } },
		{ TEXT + 0x40, "runtime.cgocall", 0, { { 4, 0 }, { 40, 48 }, { 1, 0 } } },
	};
	scoped(unwind_table_release) struct unwind_table table = {};

	(void)state;
	compile_with_code(GO_1_18, functions, 2, code, sizeof(code), &table);
	assert_rule(&table, TEXT + 4, UNWIND_CFA_SP, 8, 0);
	assert_rule(&table, TEXT + 5, UNWIND_CFA_OTHER_STACK, 8 - 48, 0);
	assert_rule(&table, TEXT + 14, UNWIND_CFA_OTHER_STACK, 8 - 48, 0);
	assert_rule(&table, TEXT + 24, UNWIND_CFA_DEREF_SP, 40, 0);
	assert_int_equal(unwind_table_find(&table, TEXT + 24)->cfa_addend, 8);
	assert_rule(&table, TEXT + 29, UNWIND_CFA_SP, 8, 0);
}

static void hand_written_code_is_read_for_where_it_saves_the_frame_pointer(void **state)
{
	static const uint8_t stores[] = { 0x48, 0x83, 0xec, 0x20, 0x48, 0x89,
					  0x6c, 0x24, 0x18, 0x90, 0x90 };
	static const uint8_t pushes_flags[] = { 0x9c, 0x48, 0x83, 0xec, 0x20, 0x90,
						0x90, 0x90, 0x90, 0x90, 0x90 };
	static const struct go_written_function with_store = {
		TEXT, "crypto.block", GO_FUNCTION_ASM, { { 4, 0 }, { 6, 32 }, { 1, 0 } }
	};
	static const struct go_written_function without = {
		TEXT, "runtime.sigtramp", GO_FUNCTION_ASM, { { 1, 0 }, { 4, 8 }, { 6, 40 } }
	};
	scoped(unwind_table_release) struct unwind_table table = {}, other = {};

	(void)state;
	compile_with_code(GO_1_18, &with_store, 1, stores, sizeof(stores), &table);
	assert_rule(&table, TEXT + 8, UNWIND_CFA_SP, 40, 0);
	assert_rule(&table, TEXT + 9, UNWIND_CFA_SP, 40, -16);
	compile_with_code(GO_1_18, &without, 1, pushes_flags, sizeof(pushes_flags), &other);
	assert_rule(&other, TEXT + 2, UNWIND_CFA_SP, 16, 0);
	assert_rule(&other, TEXT + 9, UNWIND_CFA_SP, 48, 0);
}

/* ---- arm64 ----------------------------------------------------------------------------------- */

static void arm64_has_the_return_address_at_the_bottom_of_the_frame(void **state)
{
	static const struct go_written_function functions[] = {
		{ TEXT, "main.leaf", 0, { { 5, 0 } } },
		{ TEXT + 0x100, "main.f", 0, { { 4, 0 }, { 10, 48 }, { 1, 0 } } },
		{ TEXT + 0x200, "main.large", 0, { { 4, 0 }, { 10, 70000 }, { 1, 0 } } },
		{ TEXT + 0x300,
		  "runtime.systemstack",
		  GO_FUNCTION_SP_WRITE,
		  { { 1, 0 }, { 10, 16 } } },
		{ TEXT + 0x400, "runtime.morestack", GO_FUNCTION_SP_WRITE, { { 10, 0 } } },
	};
	struct go_written_table written = table_of(GO_1_20, functions, ARRAY_SIZE(functions));
	scoped(unwind_table_release) struct unwind_table table = {};

	(void)state;
	written.quantum = 4;
	compile(&written, NULL, &table);
	assert_rule(&table, TEXT + 8, UNWIND_CFA_SP, 0, 0);
	assert_int_equal(unwind_table_find(&table, TEXT + 8)->ra, UNWIND_SAVED_SAME);
	assert_rule(&table, TEXT + 0x110, UNWIND_CFA_SP, 48, 0);
	assert_rule(&table, TEXT + 0x114, UNWIND_CFA_SP, 48, -56);
	assert_int_equal(unwind_table_find(&table, TEXT + 0x114)->ra_offset, -48);
	assert_rule(&table, TEXT + 0x210, UNWIND_CFA_SP, 70000, -70008);
	assert_int_equal(unwind_table_find(&table, TEXT + 0x210)->ra, UNWIND_SAVED_BESIDE_FP);
	assert_rule(&table, TEXT + 0x308, UNWIND_CFA_OTHER_STACK, 24, -24);
	assert_int_equal(unwind_table_find(&table, TEXT + 0x308)->ra_offset, -16);
	assert_rule(&table, TEXT + 0x408, UNWIND_CFA_END, 0, 0);
}

/* ---- damage ---------------------------------------------------------------------------------- */

static int add(struct bytes_view content, struct unwind_table *ret_table)
{
	const struct unwind_dialect dialect = { .machine = cfi_machine_of(EM_X86_64) };
	struct byte_window window = BYTE_WINDOW_OF_MEMORY(content);
	scoped(unwind_builder_freep) struct unwind_builder *builder = NULL;
	struct unwind_table_stats stats;
	int r;

	assert_ok(unwind_builder_new(&dialect, &text, 1, &builder));
	r = go_frames_add(NULL, &window, TEXT, &dialect, builder);
	return r == 1 ? unwind_builder_finish(builder, ret_table, &stats) : r;
}

static void write_some(struct bytes *out)
{
	static const struct go_written_function functions[] = {
		WORKER,
		{ TEXT + 0x200, "runtime.goexit", 5, { { 6, 0 } } },
		{ TEXT + 0x300,
		  "main.other",
		  0,
		  { { 1, 0 }, { 3, 8 }, { 30, 72 }, { 1, 8 }, { 1, 0 } } },
	};
	struct go_written_table written = table_of(GO_1_20, functions, ARRAY_SIZE(functions));

	go_write_table(out, &written);
}

static void a_table_cut_at_any_length_gives_fewer_rows_or_none(void **state)
{
	scoped(bytes_release) struct bytes content = BYTES_INIT(MIB);
	scoped(unwind_table_release) struct unwind_table whole = {};

	(void)state;
	write_some(&content);
	assert_ok(add(bytes_view_of(&content), &whole));
	for (size_t size = 0; size < content.size; size++) {
		scoped(unwind_table_release) struct unwind_table table = {};
		/* Copied to its own memory, so that a read beyond it is found. */
		scoped_free uint8_t *copy = malloc(MAX(size, (size_t)1));

		assert_non_null(copy);
		memcpy(copy, content.data, size);
		assert_ok(add((struct bytes_view){ copy, size }, &table));
		assert_true(table.n_rows <= whole.n_rows);
	}
}

static void random_changes_of_a_table_do_no_harm(void **state)
{
	scoped(bytes_release) struct bytes content = BYTES_INIT(MIB);
	uint64_t seed = 0x2545f4914f6cdd1d;

	(void)state;
	write_some(&content);
	for (size_t round = 0; round < 20000; round++) {
		scoped(unwind_table_release) struct unwind_table table = {};
		uint8_t before;
		size_t at;
		int r;

		seed ^= seed << 13;
		seed ^= seed >> 7;
		seed ^= seed << 17;
		at = (size_t)(seed % content.size);
		before = content.data[at];
		content.data[at] = (uint8_t)(seed >> 40);
		r = add(bytes_view_of(&content), &table);
		assert_true(r == 0 || r == -E2BIG);
		content.data[at] = before;
	}
}

/*
 * A thousand functions that share one long list of rows: the work is bounded, and the first
 * functions have rows.
 */
static void functions_that_share_a_long_table_are_bounded(void **state)
{
	enum { N_FUNCTIONS = 1000, N_ROWS = 20000 };
	scoped(bytes_release) struct bytes content = BYTES_INIT(4 * MIB);
	scoped(unwind_table_release) struct unwind_table table = {};
	size_t pctab_bytes = 1 + 2 * N_ROWS;

	(void)state;
	go_put(&content, GO_1_20, 4);
	go_put(&content, 0x08010000, 4);
	go_put(&content, N_FUNCTIONS, 8);
	go_put(&content, 0, 8);
	go_put(&content, TEXT, 8);
	for (int i = 0; i < 4; i++)
		go_put(&content, 80, 8);
	go_put(&content, 80 + pctab_bytes, 8);
	go_put(&content, 0, 8);
	go_put(&content, 0, 1);
	for (int i = 0; i < N_ROWS; i++)
		go_put(&content, i % 2 ? 0x0101 : 0x0102, 2);
	for (int i = 0; i < N_FUNCTIONS; i++)
		go_put(&content, (uint64_t)N_FUNCTIONS * 8 << 32 | (unsigned int)i, 8);
	go_put(&content, 0, 8); /* the record of all functions: entry, name */
	go_put(&content, 0, 8);
	go_put(&content, 1, 4); /* pcsp */
	for (int i = 0; i < 4; i++)
		go_put(&content, 0, 8);
	assert_ok(add(bytes_view_of(&content), &table));
	assert_true(table.n_rows > 1000);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_layouts_of_all_versions_give_the_same_rows),
		cmocka_unit_test(a_frame_pointer_that_is_pushed_is_saved_at_once),
		cmocka_unit_test(stacks_end_at_functions_that_the_runtime_flags),
		cmocka_unit_test(the_signal_trampoline_has_a_rule_with_the_byte_before),
		cmocka_unit_test(
			a_function_with_a_frame_that_changes_stacks_is_left_by_its_frame_pointer),
		cmocka_unit_test(a_function_that_never_returns_ends_the_stack),
		cmocka_unit_test(asmcgocall_leads_back_to_the_goroutine),
		cmocka_unit_test(hand_written_code_is_read_for_where_it_saves_the_frame_pointer),
		cmocka_unit_test(arm64_has_the_return_address_at_the_bottom_of_the_frame),
		cmocka_unit_test(a_table_cut_at_any_length_gives_fewer_rows_or_none),
		cmocka_unit_test(random_changes_of_a_table_do_no_harm),
		cmocka_unit_test(functions_that_share_a_long_table_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
