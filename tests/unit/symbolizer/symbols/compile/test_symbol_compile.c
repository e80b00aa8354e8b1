/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares compiled tables of programs with known locations and with llvm-symbolizer.
 */

#include "common/file.h"
#include "tests/unit/symbolizer/symbols/tables.h"

/* Each statement stands on a separate line, so that lines identify the code. */
static const char inlined_c[] =
	"volatile int sink;\n" /* 1 */
	"static inline __attribute__((always_inline)) int inner(int x)\n"
	"{\n"
	"	return sink + x * 3;\n" /* 4 */
	"}\n"
	"static inline __attribute__((always_inline)) int middle(int x)\n"
	"{\n"
	"	return inner(x) + 1;\n" /* 8 */
	"}\n"
	"__attribute__((noinline)) int outer(int x)\n"
	"{\n"
	"	int y = middle(x);\n" /* 12 */
	"	sink = y * x;\n"
	"	return y;\n"
	"}\n"
	"int main(int argc, char **argv) { (void)argv; return outer(argc); }\n";

/* The address of the instruction in outer that reads sink, the only load there. */
static uint64_t load_in_outer(const char *path)
{
	scoped_free char *text = command_text("objdump -d --no-show-raw-insn "
					      "--disassemble=outer %s | grep '<sink>' | head -n 1",
					      path);

	return strtoull(text, NULL, 16);
}

static void an_inlined_instruction_has_the_whole_chain_of_calls(void **state)
{
	static const char *const flags[] = {
		"-O2 -g",        "-O2 -gdwarf-2 -gno-strict-dwarf",
		"-O2 -gdwarf-3", "-O2 -gdwarf-4",
		"-O2 -gdwarf-5", "-O2 -gdwarf64 -gdwarf-5",
		"-O2 -g -flto",  "-O2 -g -static",
	};

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		scoped_free char *path =
			compile(*state, "inlined", "gcc", "c", inlined_c, flags[i]);
		scoped_compiled struct compiled compiled = compiled_of(path);
		scoped_free char *chain = chain_at(&compiled, load_in_outer(path));

		assert_string_equal(chain, "inner inlined.c:4 < middle inlined.c:8 < "
					   "outer inlined.c:12");
	}
}

/* Prints "function:first line" for the chain at an address. */
static char *first_lines_at(const struct compiled *compiled, uint64_t elf_addr)
{
	struct bytes text = BYTES_INIT(MIB);
	uint32_t location;

	symbol_file_find(compiled->file, &elf_addr, 1, &location);
	while (location != SYMBOL_NO_LOCATION) {
		struct symbol_frame frame;

		location = symbol_file_frame(compiled->file, location, &frame);
		assert_ok(bytes_append_format(&text, "%s:%u ", frame.function, frame.first_line));
	}
	assert_ok(bytes_append_byte(&text, 0));
	return (char *)text.data;
}

/* outer() is named by its symbol, the others by DWARF. */
static void functions_have_the_line_of_their_definition(void **state)
{
	static const char *const compilers[] = { "gcc", "clang" };

	for (size_t i = 0; i < ARRAY_SIZE(compilers); i++) {
		scoped_free char *path =
			compile(*state, "inlined", compilers[i], "c", inlined_c, "-O2 -g");
		scoped_compiled struct compiled compiled = compiled_of(path);
		scoped_free char *lines = first_lines_at(&compiled, load_in_outer(path));

		assert_string_equal(lines, "inner:2 middle:6 outer:10 ");
	}
}

static void functions_with_one_name_and_several_lines_have_no_first_line(void **state)
{
	static const char other[] = "\n\n\nstatic __attribute__((noinline)) int twice(int x) "
				    "{ return x * 2; }\n"
				    "int other(int x) { return twice(x) + twice(x + 1); }\n";
	static const char program[] =
		"static __attribute__((noinline)) int twice(int x) { return x * 3; }\n"
		"int other(int x);\n"
		"int main(int n, char **argv) { (void)argv; return twice(n) + other(n); }\n";
	scoped_free char *object = compile(*state, "other.o", "gcc", "c", other, "-c -g -O0");
	char flags[4096];
	scoped_free char *path = NULL, *nm = NULL, *twice = NULL, *main_lines = NULL;
	struct compiled compiled;

	(void)snprintf(flags, sizeof(flags), "-g -O0 %s", object);
	path = compile(*state, "program", "gcc", "c", program, flags);
	nm = command_text("nm %s", path);
	compiled = compiled_of(path);
	twice = first_lines_at(&compiled, address_in(nm, "twice"));
	main_lines = first_lines_at(&compiled, address_in(nm, "main"));
	compiled_release(&compiled);
	assert_string_equal(twice, "twice:0 ");
	assert_string_equal(main_lines, "main:3 ");
}

static void clang_gives_the_same_chain(void **state)
{
	static const char *const flags[] = { "-O2 -g", "-O2 -gdwarf-4", "-O2 -g -gdwarf64" };

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		scoped_free char *path =
			compile(*state, "inlined", "clang", "c", inlined_c, flags[i]);
		scoped_compiled struct compiled compiled = compiled_of(path);
		scoped_free char *chain = chain_at(&compiled, load_in_outer(path));

		assert_string_equal(chain, "inner inlined.c:4 < middle inlined.c:8 < "
					   "outer inlined.c:12");
	}
}

static void functions_without_a_linkage_name_are_named_by_their_scopes(void **state)
{
	static const char source[] =
		"volatile int sink;\n"
		"namespace app { namespace {\n"
		"struct hidden {\n"
		"	__attribute__((always_inline)) int work(int n) { return sink * n; }\n"
		"};\n"
		"} }\n"
		"__attribute__((noinline)) int outer(int n) { app::hidden h; return h.work(n); }\n"
		"int main(int argc, char **) { return outer(argc); }\n";
	scoped_free char *path = compile(*state, "scopes", "g++", "cc", source, "-O2 -g");
	scoped_compiled struct compiled compiled = compiled_of(path);

	assert_true(has_function(&compiled, "app::(anonymous namespace)::hidden::work"));
	assert_true(has_function(&compiled, "outer"));
	assert_true(has_function(&compiled, "main"));
}

static void a_part_that_gcc_splits_off_has_the_name_of_its_symbol(void **state)
{
	static const char source[] =
		"#include <stdlib.h>\n"
		"volatile int sink;\n"
		"__attribute__((noinline, cold, noreturn)) static void fail(int n) { sink = n; "
		"abort(); }\n"
		"__attribute__((noinline)) int work(int n)\n"
		"{\n"
		"	if (n > 1000)\n"
		"		fail(n * sink);\n"
		"	return n * 3;\n"
		"}\n"
		"int main(int argc, char **argv) { (void)argv; return work(argc); }\n";
	scoped_free char *path = compile(*state, "cold", "gcc", "c", source, "-O2 -g");
	scoped_free char *nm = command_text("nm %s", path);
	scoped_compiled struct compiled compiled = compiled_of(path);
	scoped_free char *hot = chain_at(&compiled, address_in(nm, "work"));
	scoped_free char *cold = chain_at(&compiled, address_in(nm, "work.cold"));

	assert_true(strncmp(hot, "work cold.c:", strlen("work cold.c:")) == 0);
	assert_true(strncmp(cold, "work.cold cold.c:", strlen("work.cold cold.c:")) == 0);
}

static void code_without_a_line_gets_the_previous_line(void **state)
{
	static const char source[] = "	.text\n"
				     "	.file 1 \"made.c\"\n"
				     "	.globl work\n"
				     "	.type work, @function\n"
				     "work:\n"
				     "	.loc 1 7 0\n"
				     "	nop\n"
				     "	.loc 1 0 0\n"
				     "	nop\n"
				     "	.loc 1 9 0\n"
				     "	ret\n"
				     "	.size work, .-work\n";
	scoped_free char *path =
		compile(*state, "made", "gcc", "s", source, "-g -nostdlib -static -Wl,-e,work");
	scoped_free char *nm = command_text("nm %s", path);
	scoped_compiled struct compiled compiled = compiled_of(path);
	const uint64_t work = address_in(nm, "work");
	static const char *const expected[] = { "work made.c:7", "work made.c:7", "work made.c:9" };

	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		scoped_free char *chain = chain_at(&compiled, work + i);

		assert_string_equal(chain, expected[i]);
	}
}

static void the_same_files_give_the_same_bytes(void **state)
{
	scoped_free char *path = compile(*state, "cpp", "g++", "cc", program_cpp, "-O2 -g");
	scoped_compiled struct compiled first = compiled_of(path);
	scoped_compiled struct compiled second = compiled_of(path);
	struct bytes stored[2] = { BYTES_INIT(MIB), BYTES_INIT(MIB) };

	assert_int_equal(first.flat.size, second.flat.size);
	assert_memory_equal(first.flat.data, second.flat.data, first.flat.size);
	assert_ok(symbol_pack(bytes_view_of(&first.flat), &stored[0]));
	assert_ok(symbol_pack(bytes_view_of(&second.flat), &stored[1]));
	assert_int_equal(stored[0].size, stored[1].size);
	assert_memory_equal(stored[0].data, stored[1].data, stored[0].size);
	bytes_release(&stored[0]);
	bytes_release(&stored[1]);
}

static void a_table_is_written_in_its_stored_form(void **state)
{
	scoped_free char *path = compile(*state, "c", "gcc", "c", program_c, "-O1 -g");
	scoped_compiled struct compiled compiled = compiled_of(path);
	struct bytes stored = BYTES_INIT(MIB), flat = BYTES_INIT(16 * MIB);
	scoped_free char *out_path = write_file_in(*state, "stored", "", 0);
	scoped_fd int fd = open_file(path);
	scoped_fd int out_fd = open(out_path, O_WRONLY | O_CLOEXEC);
	const struct symbol_compile_input input = { fd, -1, -1, -1 };
	struct symbol_compile_report report;

	assert_ok(symbol_compile(&input, out_fd, &report));
	assert_ok(file_read(out_path, &stored));
	assert_ok(symbol_unpack(bytes_view_of(&stored), &flat));
	assert_int_equal(flat.size, compiled.flat.size);
	assert_memory_equal(flat.data, compiled.flat.data, flat.size);
	assert_int_equal(report.n_functions, symbol_file_info(compiled.file)->n_functions);
	bytes_release(&stored);
	bytes_release(&flat);
}

static void a_table_has_its_build_id_and_sources(void **state)
{
	scoped_free char *path =
		compile(*state, "c", "gcc", "c", program_c, "-O1 -g -Wl,--build-id=0x0123456789");
	scoped_compiled struct compiled compiled = compiled_of(path);
	const struct symbol_file_info *info = symbol_file_info(compiled.file);

	assert_int_equal(info->id.kind, EXECUTABLE_ID_GNU);
	assert_int_equal(info->id.size, 5);
	assert_memory_equal(info->id.bytes, "\x01\x23\x45\x67\x89", 5);
	assert_true(info->sources & SYMBOL_SOURCE_DWARF);
	assert_true(info->sources & SYMBOL_SOURCE_LINES);
	assert_true(info->sources & SYMBOL_SOURCE_SYMTAB);
	assert_string_equal(compiled.report.message, "");
}

/*
 * Reads llvm-symbolizer's lines for one address: "function", "path:line:column", ... up to an empty
 * line.
 */
static char *llvm_chain(char **text)
{
	struct bytes chain = BYTES_INIT(MIB);

	for (;;) {
		char *name = strsep(text, "\n");
		char *place, *slash, *column;

		if (!name || !*name)
			break;
		place = strsep(text, "\n");
		assert_non_null(place);
		slash = strrchr(place, '/');
		column = strrchr(place, ':');
		*column = '\0';
		assert_ok(bytes_append_format(&chain, "%s%s %s", chain.size > 0 ? " < " : "", name,
					      slash ? slash + 1 : place));
	}
	assert_ok(bytes_append_byte(&chain, 0));
	return (char *)chain.data;
}

/* Checks each instruction of C code, where display names and linkage names are equal. */
static void every_instruction_has_the_location_of_llvm_symbolizer(void **state)
{
	scoped_free char *path = compile(*state, "inlined", "gcc", "c", inlined_c, "-O2 -g");
	scoped_compiled struct compiled compiled = compiled_of(path);
	scoped_free char *addresses = command_text(
		"objdump -d --no-show-raw-insn --disassemble=outer %s | grep -o '^ *[0-9a-f]*:' | "
		"tr -d ' :' | sed 's/^/0x/'; objdump -d --no-show-raw-insn --disassemble=main %s | "
		"grep -o '^ *[0-9a-f]*:' | tr -d ' :' | sed 's/^/0x/'",
		path, path);
	scoped_free char *list = write_file_in(*state, "addresses", addresses, strlen(addresses));
	scoped_free char *answers = command_text("llvm-symbolizer --obj=%s < %s", path, list);
	char *next_answer = answers;
	char *next = addresses;
	size_t compared = 0;

	for (char *address; (address = strsep(&next, "\n")) && *address; compared++) {
		scoped_free char *theirs = llvm_chain(&next_answer);
		scoped_free char *ours = chain_at(&compiled, strtoull(address, NULL, 16));

		assert_string_equal(ours, theirs);
	}
	assert_true(compared >= 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(an_inlined_instruction_has_the_whole_chain_of_calls),
		in_folder(clang_gives_the_same_chain),
		in_folder(functions_have_the_line_of_their_definition),
		in_folder(functions_with_one_name_and_several_lines_have_no_first_line),
		in_folder(functions_without_a_linkage_name_are_named_by_their_scopes),
		in_folder(a_part_that_gcc_splits_off_has_the_name_of_its_symbol),
		in_folder(code_without_a_line_gets_the_previous_line),
		in_folder(the_same_files_give_the_same_bytes),
		in_folder(a_table_is_written_in_its_stored_form),
		in_folder(a_table_has_its_build_id_and_sources),
		in_folder(every_instruction_has_the_location_of_llvm_symbolizer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
