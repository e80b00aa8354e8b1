/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/symbols/resolver.h"

#include "tests/support/fake_debuginfo.h"
#include "tests/unit/symbolizer/symbols/programs.h"

struct fixture {
	void *folder;
	struct debuginfo_store debuginfo;
	struct resolver *resolver;
	struct arena *arena;
	struct executable_id id;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	assert_int_equal(temp_folder_setup(&fixture->folder), 0);
	fake_debuginfo_init(&fixture->debuginfo);
	assert_ok(resolver_new(&fixture->debuginfo, MIB, &fixture->resolver));
	assert_ok(arena_new(16 * MIB, &fixture->arena));
	assert_ok(executable_id_set(&fixture->id, EXECUTABLE_ID_GNU, "\x01\x02\x03\x04", 4));
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	resolver_free(fixture->resolver);
	arena_free(fixture->arena);
	assert_int_equal(temp_folder_teardown(&fixture->folder), 0);
	free(fixture);
	return 0;
}

static struct symbol resolve_one(struct fixture *fixture, bool kernel_image, uint64_t address)
{
	struct symbol symbol = { .status = RESOLVE_TABLE_FAILED };

	assert_ok(resolver_resolve(fixture->resolver, &fixture->id, kernel_image, &address, 1,
				   fixture->arena, &symbol));
	return symbol;
}

static void statuses_say_what_is_missing_and_a_late_upload_names_it(void **state)
{
	struct fixture *fixture = *state;
	scoped_free char *path =
		compile(fixture->folder, "c", "gcc", "c", program_c, "-O1 -g -rdynamic");
	scoped_free char *stripped = path_in(fixture->folder, "stripped");
	scoped_free char *damaged =
		write_file_in(fixture->folder, "damaged", "not an ELF file", 15);
	scoped_free char *nm = command_text("nm %s", path);
	uint64_t helper = address_in(nm, "helper") + 2;
	struct symbol symbol;

	symbol = resolve_one(fixture, false, helper);
	assert_int_equal(symbol.status, RESOLVE_NO_DEBUGINFO);
	assert_null(symbol.function);

	fake_debuginfo_put(&fixture->debuginfo, &fixture->id, damaged);
	assert_int_equal(resolve_one(fixture, false, helper).status, RESOLVE_TABLE_FAILED);

	run_command("strip -o %s %s", stripped, path);
	fake_debuginfo_put(&fixture->debuginfo, &fixture->id, stripped);
	assert_int_equal(resolve_one(fixture, false, helper).status, RESOLVE_NO_SYMBOL);
	assert_string_equal(resolve_one(fixture, false, address_in(nm, "public_work")).function,
			    "public_work");

	fake_debuginfo_put(&fixture->debuginfo, &fixture->id, path);
	symbol = resolve_one(fixture, false, helper);
	assert_int_equal(symbol.status, RESOLVED);
	assert_string_equal(symbol.function, "helper");
	assert_string_equal(symbol.linkage_name, "helper");
}

static void a_batch_keeps_its_order_and_demangles(void **state)
{
	static const char source[] =
		"int a(void) __asm__(\"_ZN3app4workEi\"); int a(void) { return 1; }\n"
		"int b(void) __asm__(\"_ZN3app5other17h0123456789abcdefE\"); int b(void) { return "
		"2; }\n"
		"int c(void) { return 3; }\n";
	static const char *const linkage[] = { "_ZN3app4workEi",
					       "_ZN3app5other17h0123456789abcdefE", "c" };
	static const char *const display[] = { "app::work", "app::other", "c" };
	struct fixture *fixture = *state;
	scoped_free char *path = compile(fixture->folder, "lib.so", "gcc", "c", source,
					 "-O1 -shared -fPIC -nostdlib");
	scoped_free char *nm = command_text("nm %s", path);
	uint64_t addresses[50];
	struct symbol symbols[50];

	fake_debuginfo_put(&fixture->debuginfo, &fixture->id, path);
	for (size_t i = 0; i < ARRAY_SIZE(addresses); i++)
		addresses[i] = i % 4 == 3 ? 1 : address_in(nm, linkage[(i * 7 + 2) % 3]) + i % 3;
	assert_ok(resolver_resolve(fixture->resolver, &fixture->id, false, addresses,
				   ARRAY_SIZE(addresses), fixture->arena, symbols));
	for (size_t i = 0; i < ARRAY_SIZE(addresses); i++) {
		if (i % 4 == 3) {
			assert_int_equal(symbols[i].status, RESOLVE_NO_SYMBOL);
			assert_null(symbols[i].function);
			continue;
		}
		assert_int_equal(symbols[i].status, RESOLVED);
		assert_string_equal(symbols[i].linkage_name, linkage[(i * 7 + 2) % 3]);
		assert_string_equal(symbols[i].function, display[(i * 7 + 2) % 3]);
	}
}

static void addresses_of_a_kernel_are_relative_to_its_text(void **state)
{
	static const char source[] = "	.globl _text, start_kernel, schedule\n"
				     "	.type start_kernel,@function\n	.type schedule,@function\n"
				     "_text = 0xffffffff81000000\n"
				     "start_kernel = 0xffffffff81000040\n"
				     "schedule = 0xffffffff81000100\n";
	struct fixture *fixture = *state;
	scoped_free char *path =
		compile(fixture->folder, "k", "gcc", "s", source, "-nostdlib -static -Wl,-e,0");

	fake_debuginfo_put(&fixture->debuginfo, &fixture->id, path);
	assert_string_equal(resolve_one(fixture, true, 0x41).function, "start_kernel");
	assert_string_equal(resolve_one(fixture, true, 0x100).function, "schedule");
	assert_int_equal(resolve_one(fixture, true, 0x3f).status, RESOLVE_NO_SYMBOL);
	assert_string_equal(resolve_one(fixture, false, UINT64_C(0xffffffff81000100)).function,
			    "schedule");
}

static void a_kernel_without_text_is_said_to_be_unusable(void **state)
{
	struct fixture *fixture = *state;
	scoped_free char *path = compile(fixture->folder, "c", "gcc", "c", program_c, "-O1");

	fake_debuginfo_put(&fixture->debuginfo, &fixture->id, path);
	assert_int_equal(resolve_one(fixture, true, 0x1000).status, RESOLVE_TABLE_FAILED);
}

static void texts_outlive_the_table(void **state)
{
	struct fixture *fixture = *state;
	scoped_free char *path = compile(fixture->folder, "c", "gcc", "c", program_c, "-O1");
	scoped_free char *nm = command_text("nm %s", path);
	struct symbol symbol;

	fake_debuginfo_put(&fixture->debuginfo, &fixture->id, path);
	symbol = resolve_one(fixture, false, address_in(nm, "main"));
	fixture->resolver = resolver_free(fixture->resolver);
	assert_string_equal(symbol.function, "main");
	assert_string_equal(symbol.linkage_name, "main");
}

static void an_executable_without_identity_has_no_debuginfo(void **state)
{
	struct fixture *fixture = *state;

	fixture->id = (struct executable_id){};
	assert_int_equal(resolve_one(fixture, false, 0x1000).status, RESOLVE_NO_DEBUGINFO);
	assert_int_equal(fixture->debuginfo.n_finds, 0);
}

static void too_small_an_arena_is_an_error(void **state)
{
	struct fixture *fixture = *state;
	scoped_free char *path = compile(fixture->folder, "c", "gcc", "c", program_c, "-O1");
	scoped(arena_freep) struct arena *arena = NULL;
	scoped_free uint64_t *addresses = calloc(4096, sizeof(*addresses));
	scoped_free struct symbol *symbols = calloc(4096, sizeof(*symbols));

	assert_true(addresses && symbols);
	fake_debuginfo_put(&fixture->debuginfo, &fixture->id, path);
	assert_ok(arena_new(64, &arena));
	assert_errno(resolver_resolve(fixture->resolver, &fixture->id, false, addresses, 4096,
				      arena, symbols),
		     -ENOMEM);
}

static void every_status_has_a_name(void **state)
{
	(void)state;
	for (int status = RESOLVED; status <= RESOLVE_TABLE_FAILED; status++)
		assert_non_null(resolve_status_name(status));
	assert_null(resolve_status_name(RESOLVE_TABLE_FAILED + 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define WITH_RESOLVER(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
		WITH_RESOLVER(statuses_say_what_is_missing_and_a_late_upload_names_it),
		WITH_RESOLVER(a_batch_keeps_its_order_and_demangles),
		WITH_RESOLVER(addresses_of_a_kernel_are_relative_to_its_text),
		WITH_RESOLVER(a_kernel_without_text_is_said_to_be_unusable),
		WITH_RESOLVER(texts_outlive_the_table),
		WITH_RESOLVER(an_executable_without_identity_has_no_debuginfo),
		WITH_RESOLVER(too_small_an_arena_is_an_error),
		cmocka_unit_test(every_status_has_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
