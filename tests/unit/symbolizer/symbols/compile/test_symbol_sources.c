/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiles one program with debuginfo in different forms. All forms must give the same locations.
 */

#include "tests/unit/symbolizer/symbols/tables.h"

/* Compares the locations at the start and in the middle of each range of the plain table. */
static void assert_same_answers(const struct compiled *plain, const struct compiled *other,
				const char *what)
{
	const struct symbol_file_info *info = symbol_file_info(plain->file);

	for (uint32_t i = 0; i < info->n_ranges; i++) {
		scoped_free char *expected = NULL;
		scoped_free char *found = NULL;
		struct symbol_range range;

		symbol_file_range(plain->file, i, &range);
		expected = chain_at(plain, range.start);
		found = chain_at(other, range.start);
		if (strcmp(expected, found) != 0)
			fail_msg("%s at %#llx: '%s' instead of '%s'", what,
				 (unsigned long long)range.start, found, expected);
	}
}

static void a_compressed_file_gives_the_same_table(void **state)
{
	static const char *const kinds[] = { "zlib", "zlib-gnu", "zstd" };
	scoped_free char *path = compile(*state, "cpp", "g++", "cc", program_cpp, "-O2 -g");
	scoped_compiled struct compiled plain = compiled_of(path);
	scoped_free char *packed_path = path_in(*state, "packed");

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		run_command("objcopy --compress-debug-sections=%s %s %s 2>&1", kinds[i], path,
			    packed_path);
		scoped_compiled struct compiled packed = compiled_of(packed_path);

		assert_string_equal(packed.report.message, "");
		assert_int_equal(packed.flat.size, plain.flat.size);
		assert_memory_equal(packed.flat.data, plain.flat.data, plain.flat.size);
	}
}

static void a_debug_file_with_its_executable_gives_the_same_answers(void **state)
{
	scoped_free char *path = compile(*state, "cpp", "g++", "cc", program_cpp, "-O2 -g");
	scoped_free char *debug_path = path_in(*state, "cpp.debug");
	scoped_free char *stripped_path = path_in(*state, "stripped");

	run_command("objcopy --only-keep-debug %s %s 2>&1", path, debug_path);
	run_command("objcopy --strip-all %s %s 2>&1", path, stripped_path);
	scoped_compiled struct compiled plain = compiled_of(path);
	scoped_compiled struct compiled both = compiled_with(debug_path, stripped_path, NULL, NULL);

	assert_same_answers(&plain, &both, "debug file");
}

static void type_units_give_the_same_answers(void **state)
{
	static const char *const flags[] = { "-O2 -gdwarf-4 -fdebug-types-section",
					     "-O2 -gdwarf-5 -fdebug-types-section" };
	scoped_free char *path = compile(*state, "cpp", "g++", "cc", program_cpp, "-O2 -g");
	scoped_compiled struct compiled plain = compiled_of(path);

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		scoped_free char *typed =
			compile(*state, "cpp", "g++", "cc", program_cpp, flags[i]);
		scoped_compiled struct compiled other = compiled_of(typed);

		assert_same_answers(&plain, &other, flags[i]);
	}
}

static void split_dwarf_is_read_from_its_dwo_file(void **state)
{
	static const char *const versions[] = { "4", "5" };
	static const char *const compilers[] = { "g++", "clang++" };
	scoped_free char *source =
		write_file_in(*state, "cpp.cc", program_cpp, strlen(program_cpp));
	scoped_free char *plain_path = path_in(*state, "plain");
	scoped_free char *split_path = path_in(*state, "split");
	scoped_free char *dwo_path = path_in(*state, "unit.dwo");

	assert_non_null(source);
	for (size_t i = 0; i < ARRAY_SIZE(versions) * ARRAY_SIZE(compilers); i++) {
		const char *compiler = compilers[i / 2];
		const char *version = versions[i % 2];

		run_command("cd %s && %s -O2 -gdwarf-%s -o plain cpp.cc 2>&1", (char *)*state,
			    compiler, version);
		run_command("cd %s && %s -O2 -gdwarf-%s -gsplit-dwarf -c -o unit.o cpp.cc && "
			    "%s -o split unit.o 2>&1",
			    (char *)*state, compiler, version, compiler);
		scoped_compiled struct compiled plain = compiled_of(plain_path);
		scoped_compiled struct compiled without = compiled_of(split_path);
		scoped_compiled struct compiled with =
			compiled_with(split_path, NULL, NULL, dwo_path);

		assert_true(without.report.wants_split);
		assert_false(with.report.wants_split);
		assert_same_answers(&plain, &with, compiler);
	}
}

static void a_package_of_split_dwarf_has_all_units(void **state)
{
	static const char other_cc[] =
		"volatile int other_sink;\n"
		"static inline int twice(int n) { return other_sink * n; }\n"
		"__attribute__((noinline)) int other(int n) { return twice(n) + 1; }\n";
	static const char *const versions[] = { "4", "5" };
	scoped_free char *plain_path = path_in(*state, "plain");
	scoped_free char *split_path = path_in(*state, "split");
	scoped_free char *package_path = path_in(*state, "split.dwp");

	free(write_file_in(*state, "other.cc", other_cc, strlen(other_cc)));
	free(write_file_in(*state, "cpp.cc", program_cpp, strlen(program_cpp)));
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		run_command("cd %s && g++ -O2 -gdwarf-%s -o plain cpp.cc other.cc 2>&1",
			    (char *)*state, versions[i]);
		run_command("cd %s && g++ -O2 -gdwarf-%s -gsplit-dwarf -o split cpp.cc other.cc && "
			    "llvm-dwp -e split -o split.dwp 2>&1",
			    (char *)*state, versions[i]);
		scoped_compiled struct compiled plain = compiled_of(plain_path);
		scoped_compiled struct compiled split =
			compiled_with(split_path, NULL, NULL, package_path);

		assert_false(split.report.wants_split);
		assert_true(has_function(&split, "twice"));
		assert_same_answers(&plain, &split, "package");
	}
}

static void mini_debuginfo_names_functions_that_dynsym_lacks(void **state)
{
	scoped_free char *path = compile(*state, "c", "gcc", "c", program_c, "-O1");
	scoped_free char *nm = command_text("nm %s", path);
	scoped_free char *stripped_path = path_in(*state, "stripped");
	const uint64_t helper = address_in(nm, "helper");

	run_command("cd %s && objcopy -S --keep-symbol=helper --keep-symbol=deep "
		    "--remove-section=.comment c mini && xz -k mini && objcopy --strip-all "
		    "--add-section=.gnu_debugdata=mini.xz c stripped 2>&1",
		    (char *)*state);
	scoped_compiled struct compiled compiled = compiled_of(stripped_path);
	scoped_free char *chain = chain_at(&compiled, helper);

	assert_string_equal(chain, "helper ??:0");
	assert_true(symbol_file_info(compiled.file)->sources & SYMBOL_SOURCE_MINI_DEBUGINFO);
}

static void plt_stubs_have_the_name_of_their_target(void **state)
{
	static const char source[] = "#include <stdio.h>\n"
				     "#include <string.h>\n"
				     "int main(int argc, char **argv) { puts(argv[0]); return "
				     "(int)strspn(argv[0], argv[argc - 1]); }\n";
	static const char *const flags[] = {
		"-O1 -fcf-protection=none -Wl,-z,lazy",
		"-O1 -fcf-protection=full -Wl,-z,lazy",
		"-O1 -Wl,-z,now",
		"-O1 -no-pie -Wl,-z,lazy",
	};

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		scoped_free char *path = compile(*state, "plt", "gcc", "c", source, flags[i]);
		scoped_compiled struct compiled compiled = compiled_of(path);
		scoped_free char *call = command_text(
			"objdump -d --disassemble=main %s | grep -o '[0-9a-f]* <puts@plt>' | "
			"head -n 1",
			path);
		scoped_free char *chain = chain_at(&compiled, strtoull(call, NULL, 16));

		assert_true(strlen(call) > 0);
		assert_string_equal(chain, "puts@plt ??:0");
		assert_true(has_function(&compiled, "strspn@plt"));
	}
}

static void addresses_in_an_object_file_are_relative_to_its_text(void **state)
{
	static const char source[] =
		"volatile int sink;\n"
		"static inline __attribute__((always_inline)) "
		"int inner(int x) { return sink * x; }\n"
		"__attribute__((noinline)) int first(int x) { return x * 3; }\n"
		"__attribute__((section(\".init.text\"))) int early(int x) { return inner(x); }\n"
		"int outer(int x) { return inner(x) + first(x); }\n";
	scoped_free char *path = compile(*state, "module", "gcc", "c", source, "-O2 -g -c");
	scoped_free char *nm = command_text("nm %s", path);
	scoped_compiled struct compiled compiled = compiled_of(path);
	scoped_free char *load = command_text("objdump -d --no-show-raw-insn --disassemble=outer "
					      "%s | grep 'rip' | head -n 1",
					      path);
	scoped_free char *inlined = chain_at(&compiled, strtoull(load, NULL, 16));
	scoped_free char *first = chain_at(&compiled, address_in(nm, "first"));

	assert_string_equal(inlined, "inner module.c:2 < outer module.c:5");
	assert_string_equal(first, "first module.c:3");
	assert_false(has_function(&compiled, "early"));
}

static void mapping_symbols_are_not_functions(void **state)
{
	static const char source[] = "	.text\n"
				     "	.globl work\n"
				     "	.type work, @function\n"
				     "work:\n"
				     "	nop\n"
				     "\"$x\":\n"
				     "	nop\n"
				     "\"$d.1\":\n"
				     "	ret\n"
				     "	.size work, 1\n";
	scoped_free char *path =
		compile(*state, "marks", "gcc", "s", source, "-nostdlib -static -Wl,-e,work");
	scoped_compiled struct compiled compiled = compiled_of(path);

	assert_true(has_function(&compiled, "work"));
	assert_false(has_function(&compiled, "$x"));
	assert_false(has_function(&compiled, "$d.1"));
}

/* Compares files processed by dwz with the original ones. */
static void debuginfo_shared_by_dwz_gives_the_same_answers(void **state)
{
	scoped_free char *path = compile(*state, "cpp", "g++", "cc", program_cpp, "-O2 -g");
	scoped_free char *shared_path = path_in(*state, "shared");
	scoped_free char *alt_path = path_in(*state, "alt");

	if (!command_exists("dwz")) {
		print_message("there is no dwz here\n");
		skip();
	}
	run_command("cd %s && cp cpp shared && cp cpp second && dwz -m alt shared second 2>&1",
		    (char *)*state);
	scoped_compiled struct compiled plain = compiled_of(path);
	scoped_compiled struct compiled with = compiled_with(shared_path, NULL, alt_path, NULL);
	scoped_compiled struct compiled without = compiled_of(shared_path);

	assert_true(without.report.wants_alt);
	assert_false(with.report.wants_alt);
	assert_same_answers(&plain, &with, "dwz");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(a_compressed_file_gives_the_same_table),
		in_folder(a_debug_file_with_its_executable_gives_the_same_answers),
		in_folder(type_units_give_the_same_answers),
		in_folder(split_dwarf_is_read_from_its_dwo_file),
		in_folder(a_package_of_split_dwarf_has_all_units),
		in_folder(mini_debuginfo_names_functions_that_dynsym_lacks),
		in_folder(plt_stubs_have_the_name_of_their_target),
		in_folder(addresses_in_an_object_file_are_relative_to_its_text),
		in_folder(mapping_symbols_are_not_functions),
		in_folder(debuginfo_shared_by_dwz_gives_the_same_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
