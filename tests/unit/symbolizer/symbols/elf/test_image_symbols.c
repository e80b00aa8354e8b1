/* SPDX-License-Identifier: Apache-2.0 */
/* Names of code without DWARF: which symbol gives the name. */

#include <inttypes.h>

#include "tests/unit/symbolizer/symbols/tables.h"

/* The linkage name of the function that has the code at @elf_addr, or NULL. */
static const char *name_at(const struct compiled *compiled, uint64_t elf_addr)
{
	struct symbol_frame frame = {};
	uint32_t location;

	symbol_file_find(compiled->file, &elf_addr, 1, &location);
	while (location != SYMBOL_NO_LOCATION)
		location = symbol_file_frame(compiled->file, location, &frame);
	return frame.linkage_name;
}

/* nm prints versions of .dynsym, which are not part of the name in the table. */
static bool is_same_name(const char *name, const char *other)
{
	return strcspn(name, "@") == strcspn(other, "@") &&
	       strncmp(name, other, strcspn(name, "@")) == 0;
}

struct nm_symbol {
	uint64_t start, size;
	char name[512];
};

/* Parses a line "address size type name" of nm -S; false for other lines and types. */
static bool parse_nm_line(const char *line, struct nm_symbol *symbol)
{
	char type;

	if (sscanf(line, "%" SCNx64 " %" SCNx64 " %c %511s", &symbol->start, &symbol->size, &type,
		   symbol->name) != 4)
		return false;
	/* The version is not part of the name. */
	*strchrnul(symbol->name, '@') = '\0';
	return strchr("tTwWi", type) && symbol->size > 0;
}

/* Returns whether a symbol @name in nm's output has the address in its range. */
static bool nm_knows(const char *nm, const char *name, uint64_t elf_addr)
{
	struct nm_symbol symbol;

	for (const char *line = nm; line; line = next_line(line)) {
		if (parse_nm_line(line, &symbol) && is_same_name(symbol.name, name) &&
		    elf_addr >= symbol.start && elf_addr - symbol.start < symbol.size)
			return true;
	}
	return false;
}

/* Checks the first, the middle and the last byte of each function with a size that nm lists. */
static void compare_with_nm(const char *path, const char *nm_flags, size_t at_least)
{
	scoped_compiled struct compiled table = compiled_of(path);
	scoped_free char *nm = command_text("nm -S %s --defined-only %s", nm_flags, path);
	struct nm_symbol symbol;
	size_t n_compared = 0;

	for (const char *line = nm; line; line = next_line(line)) {
		if (!parse_nm_line(line, &symbol))
			continue;
		for (uint64_t offset = 0; offset < symbol.size;
		     offset += MAX((symbol.size - 1) / 2, 1u)) {
			const char *name = name_at(&table, symbol.start + offset);

			if (name && is_same_name(name, symbol.name))
				continue;
			if (!name || !nm_knows(nm, name, symbol.start + offset))
				fail_msg("%s: %#" PRIx64 " is '%s', and in '%s' for nm", path,
					 symbol.start + offset, name ? name : "nothing",
					 symbol.name);
		}
		n_compared++;
	}
	assert_true(n_compared >= at_least);
}

static void functions_equal_those_of_nm(void **state)
{
	scoped_free char *c = compile(*state, "c", "gcc", "c", program_c, "-O1 -g");
	scoped_free char *optimised =
		compile(*state, "o", "gcc", "c", program_c, "-O3 -flto -static-pie");
	scoped_free char *libc = command_text("gcc -print-file-name=libc.so.6 | tr -d '\\n'");

	compare_with_nm(c, "", 10);
	compare_with_nm(optimised, "", 300);
	compare_with_nm(libc, "-D", 1500);
}

static void functions_of_cpp_equal_those_of_nm(void **state)
{
	scoped_free char *path = NULL;

	if (!command_exists("g++"))
		skip();
	path = compile(*state, "cpp", "g++", "cc", program_cpp, "-std=c++17 -O0 -g");
	compare_with_nm(path, "", 100);
}

/* The first line of addr2line's output is the function's name. */
static void functions_of_cpp_are_those_of_addr2line(void **state)
{
	scoped_free char *path = compile(*state, "cpp", "g++", "cc", program_cpp, "-std=c++17 -O0");
	scoped_free char *nm = command_text("nm -S %s", path);
	scoped_compiled struct compiled table = compiled_of(path);
	size_t n_compared = 0;

	for (uint32_t i = 0; i < symbol_file_info(table.file)->n_ranges; i += 3) {
		scoped_free char *answer = NULL;
		struct symbol_range range;
		const char *name;

		symbol_file_range(table.file, i, &range);
		name = name_at(&table, range.start);
		if (!name || strstr(name, "@plt"))
			continue;
		answer = command_text("addr2line -f -e %s %#" PRIx64, path, range.start);
		*strchrnul(answer, '\n') = '\0';
		/* addr2line may choose the other of two names of a function, such as C1 and C2 of a
		 * constructor. */
		if (strcmp(name, answer) != 0)
			assert_true(nm_knows(nm, answer, range.start));
		n_compared++;
	}
	assert_true(n_compared > 20);
}

/* Assembly code with aliases, missing sizes, labels, mapping symbols, and nested and overlapping
 * functions. */
static const char shapes_s[] =
	"	.text\n"
	"	.globl first, __first, weak_first, _first\n"
	"	.type first,@function\n	.type __first,@function\n"
	"	.type weak_first,@function\n	.type _first,@function\n"
	"	.weak weak_first\n"
	"first: __first: weak_first: _first: .skip 16\n"
	"	.size first,16\n	.size _first,16\n	.size weak_first,16\n"
	"b_twin: a_twin: .skip 16\n"
	"	.type b_twin,@function\n	.type a_twin,@function\n"
	"	.size b_twin,16\n	.size a_twin,16\n"
	"	.type sizeless,@function\n"
	"sizeless: .skip 16\n"
	"assembly: .skip 16\n" /* a label without a type */
	"$x: $d.1: .Lx: .skip 16\n"
	"	.type outer,@function\n"
	"outer: .skip 8\n"
	"inner_label: .skip 8\n"
	"	.type nested,@function\n"
	"nested: .skip 8\n	.size nested,8\n"
	".skip 8\n	.size outer,32\n"
	".skip 16\n" /* without a symbol */
	/* Like the kernel's entry code: not of type function, but with a size. */
	"entry: .skip 8\n"
	"after_entry: .skip 8\n"
	"	.size entry,24\n"
	"end_of_entry: .skip 8\n"
	"	.type only_weak,@function\n	.weak only_weak\n"
	"only_weak: .skip 8\n	.size only_weak,8\n"
	"	.type last,@function\n"
	"last: .skip 8\n"
	"	.section .other,\"ax\"\n"
	"	.type elsewhere,@function\n"
	"elsewhere: .skip 8\n"
	"	.data\n"
	"	.type variable,@object\n"
	"variable: .skip 8\n	.size variable,8\n";

static void aliases_missing_sizes_and_labels_follow_the_rules(void **state)
{
	/* Offsets from the symbol. */
	static const struct {
		const char *symbol;
		uint64_t offset;
		const char *name;
	} cases[] = {
		{ "first", 0, "first" },         { "first", 15, "first" },
		{ "a_twin", 0, "a_twin" },       { "a_twin", 15, "a_twin" },
		{ "sizeless", 0, "sizeless" },   { "sizeless", 15, "sizeless" },
		{ "assembly", 0, "assembly" },   { "assembly", 31, "assembly" },
		{ "outer", 0, "outer" },         { "inner_label", 0, "outer" },
		{ "nested", 0, "nested" },       { "nested", 7, "nested" },
		{ "nested", 8, "outer" },        { "nested", 15, "outer" },
		{ "nested", 16, NULL },          { "nested", 31, NULL },
		{ "entry", 0, "entry" },         { "entry", 7, "entry" },
		{ "entry", 8, "after_entry" },   { "entry", 15, "after_entry" },
		{ "entry", 16, "end_of_entry" }, { "entry", 23, "end_of_entry" },
		{ "only_weak", 0, "only_weak" }, { "last", 0, "last" },
		{ "last", 7, "last" },           { "elsewhere", 7, "elsewhere" },
		{ "elsewhere", 8, NULL },        { "variable", 0, NULL },
		{ "first", (uint64_t)-1, NULL },
	};
	scoped_free char *path = compile(*state, "shapes", "gcc", "s", shapes_s,
					 "-nostdlib -static -Wl,-e,first -Wl,--build-id=sha1");
	scoped_compiled struct compiled table = compiled_of(path);
	scoped_free char *nm = command_text("nm %s", path);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *name =
			name_at(&table, address_in(nm, cases[i].symbol) + cases[i].offset);

		if (!cases[i].name ? name != NULL : !name || strcmp(name, cases[i].name) != 0)
			fail_msg("%s + %d is '%s', not '%s'", cases[i].symbol, (int)cases[i].offset,
				 name ? name : "nothing",
				 cases[i].name ? cases[i].name : "nothing");
	}
}

static void ranges_are_sorted_and_do_not_overlap(void **state)
{
	scoped_free char *path = compile(*state, "o", "gcc", "c", program_c, "-O3 -static");
	scoped_compiled struct compiled table = compiled_of(path);
	struct symbol_range range;
	uint64_t previous_end = 0;

	assert_true(symbol_file_info(table.file)->n_ranges > 500);
	for (uint32_t i = 0; i + 1 < symbol_file_info(table.file)->n_ranges; i++) {
		symbol_file_range(table.file, i, &range);
		assert_true(range.start >= previous_end && range.end > range.start);
		previous_end = range.end;
	}
}

static void dwarf_names_functions_that_the_symbol_table_lacks(void **state)
{
	static const char *const flags[] = { "-O1 -g", "-O1 -g -gdwarf-4", "-O1 -g -gz=zlib",
					     "-O1 -g -ffunction-sections" };

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		scoped_free char *path = compile(*state, "c", "gcc", "c", program_c, flags[i]);
		scoped_free char *nm = command_text("nm %s", path);
		uint64_t helper = address_in(nm, "helper");
		uint64_t deep = address_in(nm, "deep");

		run_command("objcopy --strip-symbol=helper --strip-symbol=deep %s", path);
		{
			scoped_free char *left = command_text("nm %s", path);

			assert_null(strstr(left, " helper\n"));
			assert_null(strstr(left, " deep\n"));
		}
		{
			scoped_compiled struct compiled table = compiled_of(path);

			assert_string_equal(name_at(&table, deep + 1), "deep");
			assert_string_equal(name_at(&table, helper + 1), "helper");
			assert_string_equal(name_at(&table, address_in(nm, "main")), "main");
		}
	}
}

static void a_stripped_file_has_only_exported_functions(void **state)
{
	scoped_free char *path = compile(*state, "c", "gcc", "c", program_c, "-O1 -g -rdynamic");
	scoped_free char *nm = command_text("nm %s", path);
	uint64_t helper = address_in(nm, "helper");
	uint64_t work = address_in(nm, "public_work");

	run_command("strip %s", path);
	{
		scoped_compiled struct compiled table = compiled_of(path);

		assert_string_equal(name_at(&table, work), "public_work");
		/* The function before does not get its bytes. */
		assert_null(name_at(&table, helper));
	}
}

static void addresses_in_an_object_file_are_relative_to_text(void **state)
{
	static const char source[] =
		"__attribute__((section(\".init.text\"))) int at_start(int x) { return x; }\n"
		"int work(int x) { return x * 2; }\n"
		"int more(int x) { return x * 3; }\n";
	scoped_free char *path = compile(*state, "module.o", "gcc", "c", source, "-O1 -g -c");
	scoped_compiled struct compiled table = compiled_of(path);
	scoped_free char *nm = command_text("nm %s", path);

	assert_string_equal(name_at(&table, address_in(nm, "work")), "work");
	assert_string_equal(name_at(&table, address_in(nm, "more")), "more");
	assert_false(has_function(&table, "at_start"));
}

/*
 * Like a file that an agent makes from /proc/kallsyms: absolute symbols without sizes, and _text.
 */
static void a_kernel_made_of_absolute_symbols_is_read(void **state)
{
	static const char source[] =
		"	.globl _text, _stext, start_kernel, schedule, last_one\n"
		"	.type _stext,@function\n	.type start_kernel,@function\n"
		"	.type schedule,@function\n	.type last_one,@function\n"
		"_text = 0xffffffff81000000\n	_stext = 0xffffffff81000000\n"
		"start_kernel = 0xffffffff81000040\n"
		"schedule = 0xffffffff81000100\n"
		"last_one = 0xffffffff81000200\n";
	scoped_free char *path =
		compile(*state, "kernel", "gcc", "s", source, "-nostdlib -static -Wl,-e,0");
	scoped_compiled struct compiled table = compiled_of(path);
	const uint64_t text = symbol_file_info(table.file)->text;

	assert_true(symbol_file_info(table.file)->has_text);
	assert_true(text == UINT64_C(0xffffffff81000000));
	assert_string_equal(name_at(&table, text), "_stext");
	assert_string_equal(name_at(&table, text + 0x40), "start_kernel");
	assert_string_equal(name_at(&table, text + 0xff), "start_kernel");
	assert_string_equal(name_at(&table, text + 0x100), "schedule");
	assert_string_equal(name_at(&table, text + 0x200 + UNBOUNDED_FUNCTION_MAX_BYTES - 1),
			    "last_one");
	assert_null(name_at(&table, text + 0x200 + UNBOUNDED_FUNCTION_MAX_BYTES));
	assert_null(name_at(&table, text - 1));
}

static void a_file_without_functions_gives_an_empty_table(void **state)
{
	scoped_free char *path =
		compile(*state, "empty.o", "gcc", "c", "int variable = 1;\n", "-c");
	scoped_compiled struct compiled table = compiled_of(path);

	assert_int_equal(symbol_file_info(table.file)->n_ranges, 0);
	assert_null(name_at(&table, 0));
	assert_null(name_at(&table, UINT64_MAX));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(functions_equal_those_of_nm),
		in_folder(functions_of_cpp_equal_those_of_nm),
		in_folder(functions_of_cpp_are_those_of_addr2line),
		in_folder(aliases_missing_sizes_and_labels_follow_the_rules),
		in_folder(ranges_are_sorted_and_do_not_overlap),
		in_folder(dwarf_names_functions_that_the_symbol_table_lacks),
		in_folder(a_stripped_file_has_only_exported_functions),
		in_folder(addresses_in_an_object_file_are_relative_to_text),
		in_folder(a_kernel_made_of_absolute_symbols_is_read),
		in_folder(a_file_without_functions_gives_an_empty_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
