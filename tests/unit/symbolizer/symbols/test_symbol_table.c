/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/symbols/symbol_table.h"

#include <inttypes.h>

#include "symbolizer/symbols/symbol_limits.h"
#include "tests/unit/symbolizer/symbols/programs.h"

struct nm_symbol {
	uint64_t start, size;
	char name[512];
};

/* One line "address size type name" of nm -S; false for lines of another shape or type. */
static bool parse_nm_line(const char *line, struct nm_symbol *symbol)
{
	char type;

	if (sscanf(line, "%" SCNx64 " %" SCNx64 " %c %511s", &symbol->start, &symbol->size, &type,
		   symbol->name) != 4)
		return false;
	/* Versions are no part of the name in .dynsym. */
	*strchrnul(symbol->name, '@') = '\0';
	return strchr("tTwWi", type) && symbol->size > 0;
}

/* Some symbol of nm's named @name has this address in its range. */
static bool nm_knows(const char *nm, const char *name, uint64_t elf_addr)
{
	struct nm_symbol symbol;

	for (const char *line = nm; line; line = strchr(line, '\n'), line += line != NULL) {
		if (parse_nm_line(line, &symbol) && strcmp(symbol.name, name) == 0 &&
		    elf_addr >= symbol.start && elf_addr - symbol.start < symbol.size)
			return true;
	}
	return false;
}

/* At the start, in the middle and at the last byte of every sized function that nm lists. */
static void compare_with_nm(const char *path, const char *nm_flags, size_t at_least)
{
	scoped(symbol_table_freep) struct symbol_table *table = table_of(path);
	scoped_free char *nm = command_text("nm -S %s --defined-only %s", nm_flags, path);
	struct nm_symbol symbol;
	size_t n_compared = 0;

	for (const char *line = nm; line; line = strchr(line, '\n'), line += line != NULL) {
		if (!parse_nm_line(line, &symbol))
			continue;
		for (uint64_t offset = 0; offset < symbol.size;
		     offset += MAX((symbol.size - 1) / 2, 1u)) {
			const char *name = name_at(table, symbol.start + offset);

			if (name && strcmp(name, symbol.name) == 0)
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

static void functions_are_those_of_nm(void **state)
{
	scoped_free char *c = compile(*state, "c", "gcc", "c", program_c, "-O1 -g");
	scoped_free char *optimised =
		compile(*state, "o", "gcc", "c", program_c, "-O3 -flto -static-pie");
	scoped_free char *libc = command_text("gcc -print-file-name=libc.so.6 | tr -d '\\n'");

	compare_with_nm(c, "", 10);
	compare_with_nm(optimised, "", 300);
	compare_with_nm(libc, "-D", 1500);
}

static void functions_of_cpp_are_those_of_nm(void **state)
{
	scoped_free char *path = NULL;

	if (!command_exists("g++"))
		skip();
	path = compile(*state, "cpp", "g++", "cc", program_cpp, "-std=c++17 -O0 -g");
	compare_with_nm(path, "", 100);
}

/* addr2line's first line is the function; it names the innermost symbol too. */
static void functions_of_cpp_are_those_of_addr2line(void **state)
{
	scoped(arena_freep) struct arena *arena = NULL;
	scoped(symbol_table_freep) struct symbol_table *table = NULL;
	scoped_free char *path = NULL;
	scoped_free char *nm = NULL;
	uint64_t start, end;
	size_t n_compared = 0;

	if (!command_exists("g++"))
		skip();
	path = compile(*state, "cpp", "g++", "cc", program_cpp, "-std=c++17 -O0");
	nm = command_text("nm -S %s", path);
	table = table_of(path);
	assert_ok(arena_new(MIB, &arena));
	for (uint32_t function = 0; function < symbol_table_count(table); function += 7) {
		scoped_free char *answer = NULL;

		symbol_table_range(table, function, &start, &end);
		answer = command_text("addr2line -f -e %s %#" PRIx64, path, start);
		*strchrnul(answer, '\n') = '\0';
		/* Of two names for one function (C1 and C2 of a constructor) it may choose the
		 * other. */
		if (strcmp(symbol_table_linkage_name(table, function), answer) != 0)
			assert_true(nm_knows(nm, answer, start));
		n_compared++;
	}
	assert_true(n_compared > 20);
}

static void names_for_people_are_demangled_once(void **state)
{
	scoped_free char *path = NULL;
	scoped(symbol_table_freep) struct symbol_table *table = NULL;
	scoped(arena_freep) struct arena *arena = NULL;
	scoped_free char *nm = NULL;
	const char *display, *again;
	uint64_t elf_addr;
	uint32_t function;

	if (!command_exists("g++"))
		skip();
	path = compile(*state, "cpp", "g++", "cc", program_cpp, "-std=c++17 -O1");
	table = table_of(path);
	nm = command_text("nm %s", path);
	assert_ok(arena_new(MIB, &arena));
	elf_addr = address_in(nm, "_ZNK3app3boxIdE3getEi");
	symbol_table_find(table, &elf_addr, 1, &function);
	assert_ok(symbol_table_display_name(table, function, arena, &display));
	assert_string_equal(display, "app::box<double>::get");
	assert_ok(symbol_table_display_name(table, function, arena, &again));
	assert_ptr_equal(display, again);
}

/* The shapes that assembly makes: aliases, sizes that lack, labels, marks, nested and overlapping
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
	"assembly: .skip 16\n" /* a bare label */
	"$x: $d.1: .Lx: .skip 16\n"
	"	.type outer,@function\n"
	"outer: .skip 8\n"
	"inner_label: .skip 8\n"
	"	.type nested,@function\n"
	"nested: .skip 8\n	.size nested,8\n"
	".skip 8\n	.size outer,32\n"
	".skip 16\n" /* nobody's */
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

static void aliases_sizes_and_labels_are_settled_by_rule(void **state)
{
	/* Relative to the symbol. */
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
		{ "only_weak", 0, "only_weak" }, { "last", 0, "last" },
		{ "last", 7, "last" },           { "elsewhere", 7, "elsewhere" },
		{ "elsewhere", 8, NULL },        { "variable", 0, NULL },
		{ "first", (uint64_t)-1, NULL },
	};
	scoped_free char *path = compile(*state, "shapes", "gcc", "s", shapes_s,
					 "-nostdlib -static -Wl,-e,first -Wl,--build-id=sha1");
	scoped(symbol_table_freep) struct symbol_table *table = table_of(path);
	scoped_free char *nm = command_text("nm %s", path);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *name =
			name_at(table, address_in(nm, cases[i].symbol) + cases[i].offset);

		if (!cases[i].name ? name != NULL : !name || strcmp(name, cases[i].name) != 0)
			fail_msg("%s + %d is '%s', not '%s'", cases[i].symbol, (int)cases[i].offset,
				 name ? name : "nothing",
				 cases[i].name ? cases[i].name : "nothing");
	}
}

static void ranges_rise_and_do_not_overlap(void **state)
{
	scoped_free char *path = compile(*state, "o", "gcc", "c", program_c, "-O3 -static");
	scoped(symbol_table_freep) struct symbol_table *table = table_of(path);
	uint64_t start, end, previous_end = 0;

	assert_true(symbol_table_count(table) > 500);
	for (uint32_t i = 0; i < symbol_table_count(table); i++) {
		symbol_table_range(table, i, &start, &end);
		assert_true(start >= previous_end && end > start);
		previous_end = end;
	}
}

static void a_batch_finds_what_single_searches_find(void **state)
{
	enum { COUNT = 4000 };
	scoped_free char *path = compile(*state, "o", "gcc", "c", program_c, "-O2 -static");
	scoped(symbol_table_freep) struct symbol_table *table = table_of(path);
	scoped_free uint64_t *elf_addrs = calloc(COUNT, sizeof(*elf_addrs));
	scoped_free uint32_t *functions = calloc(COUNT, sizeof(*functions));
	uint64_t seed = random_seed();
	uint64_t first, last, end;

	assert_true(elf_addrs && functions);
	symbol_table_range(table, 0, &first, &end);
	symbol_table_range(table, (uint32_t)symbol_table_count(table) - 1, &end, &last);
	/* Half of it rises, with equal neighbours; half of it jumps. */
	for (size_t i = 0; i < COUNT; i++)
		elf_addrs[i] =
			i < COUNT / 2
				? first - 50 + (last - first + 100) / (COUNT / 2) * (i / 2 * 2)
				: first - 50 + next_random(&seed) % (last - first + 100);
	symbol_table_find(table, elf_addrs, COUNT, functions);

	for (size_t i = 0; i < COUNT; i++) {
		uint32_t function = SYMBOL_TABLE_NO_FUNCTION;

		for (uint32_t k = 0;
		     k < symbol_table_count(table) && function == SYMBOL_TABLE_NO_FUNCTION; k++) {
			uint64_t start;

			symbol_table_range(table, k, &start, &end);
			if (elf_addrs[i] >= start && elf_addrs[i] < end)
				function = k;
			if (start > elf_addrs[i])
				break;
		}
		assert_int_equal(functions[i], function);
	}
}

static void dwarf_names_what_the_symbol_table_lacks(void **state)
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
			scoped(symbol_table_freep) struct symbol_table *table = table_of(path);

			assert_string_equal(name_at(table, deep + 1), "deep");
			assert_string_equal(name_at(table, helper + 1), "helper");
			assert_string_equal(name_at(table, address_in(nm, "main")), "main");
		}
	}
}

static void a_debug_file_gives_the_names_of_its_executable(void **state)
{
	scoped_free char *path = compile(*state, "c", "gcc", "c", program_c, "-O1 -g");
	scoped_free char *debug = path_in(*state, "c.debug");
	scoped(symbol_table_freep) struct symbol_table *table = table_of(path);
	scoped(symbol_table_freep) struct symbol_table *debug_table = NULL;

	run_command("objcopy --only-keep-debug %s %s", path, debug);
	debug_table = table_of(debug);
	assert_int_equal(symbol_table_count(table), symbol_table_count(debug_table));
	for (uint32_t i = 0; i < symbol_table_count(table); i++) {
		uint64_t start, end, debug_start, debug_end;

		symbol_table_range(table, i, &start, &end);
		symbol_table_range(debug_table, i, &debug_start, &debug_end);
		assert_int_equal(start, debug_start);
		assert_int_equal(end, debug_end);
		assert_string_equal(symbol_table_linkage_name(table, i),
				    symbol_table_linkage_name(debug_table, i));
	}
}

static void a_stripped_file_gives_only_what_is_exported(void **state)
{
	scoped_free char *path = compile(*state, "c", "gcc", "c", program_c, "-O1 -g -rdynamic");
	scoped_free char *nm = command_text("nm %s", path);
	uint64_t helper = address_in(nm, "helper");
	uint64_t work = address_in(nm, "public_work");

	run_command("strip %s", path);
	{
		scoped(symbol_table_freep) struct symbol_table *table = table_of(path);

		assert_string_equal(name_at(table, work), "public_work");
		/* Not charged to its neighbour. */
		assert_null(name_at(table, helper));
	}
}

static void an_object_file_is_relative_to_its_text(void **state)
{
	static const char source[] =
		"__attribute__((section(\".init.text\"))) int at_start(int x) { return x; }\n"
		"int work(int x) { return x * 2; }\n"
		"int more(int x) { return x * 3; }\n";
	scoped_free char *path = compile(*state, "module.o", "gcc", "c", source, "-O1 -g -c");
	scoped(symbol_table_freep) struct symbol_table *table = table_of(path);
	scoped_free char *nm = command_text("nm %s", path);

	assert_string_equal(name_at(table, address_in(nm, "work")), "work");
	assert_string_equal(name_at(table, address_in(nm, "more")), "more");
	assert_int_equal(symbol_table_count(table), 2);
}

/* As an agent makes it from /proc/kallsyms: absolute symbols without sizes, and _text. */
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
	scoped(symbol_table_freep) struct symbol_table *table = table_of(path);
	uint64_t text = 0;

	assert_true(symbol_table_text_address(table, &text));
	assert_true(text == UINT64_C(0xffffffff81000000));
	assert_string_equal(name_at(table, text), "_stext");
	assert_string_equal(name_at(table, text + 0x40), "start_kernel");
	assert_string_equal(name_at(table, text + 0xff), "start_kernel");
	assert_string_equal(name_at(table, text + 0x100), "schedule");
	assert_string_equal(name_at(table, text + 0x200 + UNBOUNDED_FUNCTION_MAX_BYTES - 1),
			    "last_one");
	assert_null(name_at(table, text + 0x200 + UNBOUNDED_FUNCTION_MAX_BYTES));
	assert_null(name_at(table, text - 1));
}

static void a_file_without_functions_gives_an_empty_table(void **state)
{
	scoped_free char *path =
		compile(*state, "empty.o", "gcc", "c", "int variable = 1;\n", "-c");
	scoped(symbol_table_freep) struct symbol_table *table = table_of(path);

	assert_int_equal(symbol_table_count(table), 0);
	assert_null(name_at(table, 0));
	assert_null(name_at(table, UINT64_MAX));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define IN_FOLDER(test)                                                                            \
	cmocka_unit_test_setup_teardown(test, temp_folder_setup, temp_folder_teardown)
		IN_FOLDER(functions_are_those_of_nm),
		IN_FOLDER(functions_of_cpp_are_those_of_nm),
		IN_FOLDER(functions_of_cpp_are_those_of_addr2line),
		IN_FOLDER(names_for_people_are_demangled_once),
		IN_FOLDER(aliases_sizes_and_labels_are_settled_by_rule),
		IN_FOLDER(ranges_rise_and_do_not_overlap),
		IN_FOLDER(a_batch_finds_what_single_searches_find),
		IN_FOLDER(dwarf_names_what_the_symbol_table_lacks),
		IN_FOLDER(a_debug_file_gives_the_names_of_its_executable),
		IN_FOLDER(a_stripped_file_gives_only_what_is_exported),
		IN_FOLDER(an_object_file_is_relative_to_its_text),
		IN_FOLDER(a_kernel_made_of_absolute_symbols_is_read),
		IN_FOLDER(a_file_without_functions_gives_an_empty_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
