/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/cli/upload/dwarf_pack.h"

#include "common/file.h"
#include "tests/unit/symbolizer/symbols/tables.h"

static const char outer_cc[] =
	"#include <map>\n"
	"#include <string>\n"
	"volatile int sink;\n"
	"int other(int n);\n"
	"namespace app { struct counter { std::map<int, std::string> all;\n"
	"	int count(int n) { all[n] = std::to_string(n); return (int)all.size(); } }; }\n"
	"static inline int twice(int n) { return sink * n; }\n"
	"int work(int n) { app::counter c; return c.count(twice(n)) + other(n); }\n"
	"int main(int argc, char **argv) { (void)argv; return work(argc); }\n";

static const char other_cc[] =
	"extern volatile int sink;\n"
	"namespace { struct local { int value; int get() { return value * sink; } }; }\n"
	"int other(int n) { local l{n}; return l.get() + 1; }\n";

static const char *const unit_names[] = { "outer", "other" };

/* Compiles both units unsplit and split; writes the .dwo files to @folder. */
static void build(const char *folder, const char *flags)
{
	scoped_free char *outer = write_file_in(folder, "outer.cc", outer_cc, sizeof(outer_cc) - 1);
	scoped_free char *other = write_file_in(folder, "other.cc", other_cc, sizeof(other_cc) - 1);

	assert_non_null(outer);
	assert_non_null(other);
	run_command("cd %s && %s -o whole outer.cc other.cc 2>&1 && "
		    "%s -gsplit-dwarf -c outer.cc other.cc 2>&1 && "
		    "g++ -o split outer.o other.o 2>&1",
		    folder, flags, flags);
}

static int pack(const char *folder, struct bytes *package, char *message)
{
	char paths[2][512];
	const char *const list[] = { paths[0], paths[1] };

	for (size_t i = 0; i < ARRAY_SIZE(unit_names); i++)
		(void)snprintf(paths[i], sizeof(paths[i]), "%s/%s.dwo", folder, unit_names[i]);
	return dwarf_pack(list, ARRAY_SIZE(list), package, message);
}

static void assert_same_answers(const struct compiled *plain, const struct compiled *other)
{
	for (uint32_t i = 0; i < symbol_file_info(plain->file)->n_ranges; i++) {
		scoped_free char *expected = NULL;
		scoped_free char *found = NULL;
		struct symbol_range range;

		symbol_file_range(plain->file, i, &range);
		expected = chain_at(plain, range.start);
		found = chain_at(other, range.start);
		assert_string_equal(found, expected);
	}
}

static void a_package_has_the_same_functions_as_the_unsplit_program(void **state)
{
	static const char *const flags[] = {
		"g++ -O2 -g -gdwarf-5",
		"g++ -O2 -g -gdwarf-5 -fdebug-types-section",
		"clang++ -O2 -g -gdwarf-5",
	};
	scoped_free char *whole_path = path_in(*state, "whole");
	scoped_free char *split_path = path_in(*state, "split");

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		scoped(bytes_release) struct bytes package = BYTES_INIT(64 * MIB);
		scoped_free char *package_path = NULL;
		char message[DWARF_PACK_MESSAGE_SIZE];

		build(*state, flags[i]);
		assert_ok(pack(*state, &package, message));
		package_path = write_file_in(*state, "split.dwp", package.data, package.size);
		scoped_compiled struct compiled whole = compiled_of(whole_path);
		scoped_compiled struct compiled split =
			compiled_with(split_path, NULL, NULL, package_path);

		if (split.report.wants_split)
			fail_msg("%s: %s", flags[i], split.report.message);
		assert_true(has_function(&split, "twice"));
		assert_same_answers(&whole, &split);
	}
}

/* libdw finds the units through the hash table of the index. */
static void other_readers_find_the_units_of_a_package(void **state)
{
	scoped(bytes_release) struct bytes package = BYTES_INIT(64 * MIB);
	char message[DWARF_PACK_MESSAGE_SIZE];

	build(*state, "g++ -O2 -g -gdwarf-5");
	assert_ok(pack(*state, &package, message));
	{
		scoped_free char *path =
			write_file_in(*state, "split.dwp", package.data, package.size);
		scoped_free char *nm = command_text("nm %s/split", (char *)*state);
		scoped_free char *answer = command_text(
			"llvm-symbolizer --obj=%s/split --dwp=%s %#llx", (char *)*state, path,
			(unsigned long long)address_in(nm, "_Z5otheri"));

		assert_non_null(strstr(answer, "get\n"));
		assert_non_null(strstr(answer, "other(int)"));
	}
}

static void files_that_cannot_be_packed_are_refused_with_a_message(void **state)
{
	scoped(bytes_release) struct bytes package = BYTES_INIT(64 * MIB);
	char message[DWARF_PACK_MESSAGE_SIZE];

	build(*state, "g++ -O2 -g -gdwarf-4");
	assert_errno(pack(*state, &package, message), -ENOTSUP);
	assert_non_null(strstr(message, "DWARF 4"));
	assert_non_null(strstr(message, "outer.dwo"));
	run_command("cd %s && cp split outer.dwo", (char *)*state);
	assert_errno(pack(*state, &package, message), -EBADMSG);
	assert_non_null(strstr(message, "no .dwo"));
	run_command("cd %s && rm outer.dwo", (char *)*state);
	assert_errno(pack(*state, &package, message), -ENOENT);
}

/* A truncated or changed file yields an error or a package, but never an invalid read. */
static void damaged_files_are_refused_or_packed(void **state)
{
	scoped_free char *path = path_in(*state, "outer.dwo");
	scoped(bytes_release) struct bytes whole = BYTES_INIT(64 * MIB);
	char message[DWARF_PACK_MESSAGE_SIZE];
	uint32_t random = 1;

	build(*state, "g++ -O2 -g -gdwarf-5");
	assert_ok(file_read(path, &whole));
	for (int i = 0; i < 300; i++) {
		scoped(bytes_release) struct bytes package = BYTES_INIT(64 * MIB);
		scoped_free uint8_t *bytes = malloc(whole.size);
		size_t size = whole.size;

		assert_non_null(bytes);
		memcpy(bytes, whole.data, size);
		random = random * 1664525u + 1013904223u;
		if (i % 3 == 0)
			size = random % size;
		else
			bytes[random % size] ^= (uint8_t)(1 + i % 255);
		free(write_file_in(*state, "outer.dwo", bytes, size));
		if (pack(*state, &package, message) < 0)
			assert_true(message[0] != '\0' || size == 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(a_package_has_the_same_functions_as_the_unsplit_program),
		in_folder(other_readers_find_the_units_of_a_package),
		in_folder(files_that_cannot_be_packed_are_refused_with_a_message),
		in_folder(damaged_files_are_refused_or_packed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
