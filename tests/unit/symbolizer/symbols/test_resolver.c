/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/symbols/resolver.h"

#include "tests/support/fake_debuginfo.h"
#include "tests/support/table_helper.h"
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
	fixture->resolver =
		table_helper_resolver(&fixture->debuginfo, &system_clock, fixture->folder);
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

/* Longer than any table of these tests takes to compile. */
#define PATIENCE_NS (60 * NSEC_PER_SEC)

static void resolve(struct fixture *fixture, bool kernel_image, const uint64_t *addresses,
		    size_t count, struct resolve_answer *ret_answer)
{
	const struct resolve_request request = {
		.id = &fixture->id,
		.kernel_image = kernel_image,
		.addresses = addresses,
		.count = count,
		.patience_ns = PATIENCE_NS,
	};

	assert_ok(resolver_resolve(fixture->resolver, &request, fixture->arena, ret_answer));
}

/* Resolves one address. Its innermost place is all zeros if it has none. */
struct one {
	enum resolve_status status;
	struct symbol_place place;
	uint64_t start;
	const char *why;
};

static struct one resolve_one(struct fixture *fixture, bool kernel_image, uint64_t address)
{
	struct resolve_answer answer;
	struct one one;

	resolve(fixture, kernel_image, &address, 1, &answer);
	one = (struct one){ .status = answer.symbols[0].status,
			    .start = answer.symbols[0].start,
			    .why = answer.why };
	if (answer.symbols[0].place != RESOLVE_NO_PLACE)
		one.place = answer.places[answer.symbols[0].place];
	return one;
}

static void statuses_give_the_reason_and_a_later_upload_gives_names(void **state)
{
	struct fixture *fixture = *state;
	scoped_free char *path =
		compile(fixture->folder, "c", "gcc", "c", program_c, "-O1 -g -rdynamic");
	scoped_free char *stripped = path_in(fixture->folder, "stripped");
	scoped_free char *damaged =
		write_file_in(fixture->folder, "damaged", "not an ELF file", 15);
	scoped_free char *nm = command_text("nm %s", path);
	uint64_t helper = address_in(nm, "helper") + 2;
	struct one one;

	one = resolve_one(fixture, false, helper);
	assert_int_equal(one.status, RESOLVE_NO_DEBUGINFO);
	assert_null(one.place.function);
	assert_true(one.start == RESOLVE_NO_START);

	fake_debuginfo_put(&fixture->debuginfo, &fixture->id, damaged);
	one = resolve_one(fixture, false, helper);
	assert_int_equal(one.status, RESOLVE_FAILED);
	assert_non_null(strstr(one.why, "no ELF file"));

	run_command("strip -o %s %s", stripped, path);
	fake_debuginfo_put(&fixture->debuginfo, &fixture->id, stripped);
	one = resolve_one(fixture, false, helper);
	assert_int_equal(one.status, RESOLVE_STRIPPED);
	assert_true(one.start == address_in(nm, "helper"));
	one = resolve_one(fixture, false, address_in(nm, "public_work"));
	assert_string_equal(one.place.function, "public_work");

	fake_debuginfo_put(&fixture->debuginfo, &fixture->id, path);
	one = resolve_one(fixture, false, helper);
	assert_int_equal(one.status, RESOLVED);
	assert_string_equal(one.place.function, "helper");
	assert_string_equal(one.place.linkage_name, "helper");
	assert_non_null(strstr(one.place.file, "c.c"));
	assert_int_equal(one.place.line, 4);
	assert_int_equal(resolve_one(fixture, false, 1).status, RESOLVE_OUTSIDE);
}

/* One function is inlined twice, and another one within it. */
static const char inlined_c[] =
	"volatile int sink;\n"
	"static inline __attribute__((always_inline)) void inner(int x)\n"
	"{\n"
	"	sink = x * 3;\n"
	"}\n"
	"static inline __attribute__((always_inline)) void middle(int x)\n"
	"{\n"
	"	inner(x + 1);\n"
	"}\n"
	"void __attribute__((noinline)) outer(int x)\n"
	"{\n"
	"	middle(x);\n"
	"	middle(x + 100);\n"
	"}\n"
	"int main(int argc, char **argv) { (void)argv; outer(argc); return 0; }\n";

static void every_inlined_function_is_a_place_with_its_caller(void **state)
{
	static const struct {
		const char *function;
		uint32_t line;
	} first_chain[] = { { "inner", 4 }, { "middle", 8 }, { "outer", 12 } };
	struct fixture *fixture = *state;
	scoped_free char *path = compile(fixture->folder, "c", "gcc", "c", inlined_c, "-O2 -g");
	scoped_free char *nm = command_text("nm -S %s", path);
	uint64_t start = address_in(nm, "outer");
	uint64_t addresses[64];
	struct resolve_answer answer;
	bool seen_first = false, seen_second = false;

	fake_debuginfo_put(&fixture->debuginfo, &fixture->id, path);
	for (size_t i = 0; i < ARRAY_SIZE(addresses); i++)
		addresses[i] = start + i % 24;
	resolve(fixture, false, addresses, ARRAY_SIZE(addresses), &answer);
	for (size_t i = 0; i < ARRAY_SIZE(addresses); i++) {
		uint32_t place = answer.symbols[i].place;
		size_t depth = 0;

		if (answer.symbols[i].status != RESOLVED)
			continue;
		/* Equal places have the same number. */
		assert_int_equal(place, answer.symbols[i % 24].place);
		for (; place != RESOLVE_NO_PLACE; place = answer.places[place].caller) {
			assert_true(place < answer.n_places);
			assert_true(answer.places[place].caller == RESOLVE_NO_PLACE ||
				    answer.places[place].caller < place);
			if (strcmp(answer.places[place].function, first_chain[depth].function) != 0)
				break;
			if (depth == 2) {
				seen_first |= answer.places[place].line == 12;
				seen_second |= answer.places[place].line == 13;
			} else {
				assert_int_equal(answer.places[place].line,
						 first_chain[depth].line);
			}
			if (++depth == 3)
				break;
		}
	}
	assert_true(seen_first && seen_second);
	/* Two chains of inlined calls, and at most one place for each line of outer(). */
	assert_in_range(answer.n_places, 6, 16);
}

static void an_answer_before_the_table_is_compiled_is_pending(void **state)
{
	struct fixture *fixture = *state;
	scoped_free char *path = compile(fixture->folder, "c", "gcc", "c", program_c, "-O1 -g");
	struct resolve_request request = { .id = &fixture->id, .count = 1 };
	struct resolve_answer answer;
	struct table_status status;
	uint64_t address = 0x1000;

	request.addresses = &address;
	fake_debuginfo_put(&fixture->debuginfo, &fixture->id, path);
	fake_debuginfo_hold(&fixture->debuginfo, &fixture->id);
	assert_ok(resolver_resolve(fixture->resolver, &request, fixture->arena, &answer));
	assert_true(answer.pending);
	assert_int_equal(answer.symbols[0].status, RESOLVE_PENDING);
	assert_ok(resolver_status(fixture->resolver, &fixture->id, &status));
	assert_true(status.pending);
	fake_debuginfo_hold(&fixture->debuginfo, NULL);
	resolve(fixture, false, &address, 1, &answer);
	assert_false(answer.pending);
	assert_ok(resolver_status(fixture->resolver, &fixture->id, &status));
	assert_int_equal(status.state, TABLE_READY);
	assert_true(status.row.symbol_sources & SYMBOL_SOURCE_DWARF);
	assert_ok(resolver_forget(fixture->resolver, &fixture->id));
}

static void a_batch_keeps_its_order_and_has_display_names(void **state)
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
	struct resolve_answer answer;

	fake_debuginfo_put(&fixture->debuginfo, &fixture->id, path);
	for (size_t i = 0; i < ARRAY_SIZE(addresses); i++)
		addresses[i] = i % 4 == 3 ? 1 : address_in(nm, linkage[(i * 7 + 2) % 3]) + i % 3;
	resolve(fixture, false, addresses, ARRAY_SIZE(addresses), &answer);
	for (size_t i = 0; i < ARRAY_SIZE(addresses); i++) {
		const struct symbol *symbol = &answer.symbols[i];

		if (i % 4 == 3) {
			assert_int_equal(symbol->status, RESOLVE_OUTSIDE);
			assert_int_equal(symbol->place, RESOLVE_NO_PLACE);
			continue;
		}
		assert_int_equal(symbol->status, RESOLVED);
		assert_string_equal(answer.places[symbol->place].linkage_name,
				    linkage[(i * 7 + 2) % 3]);
		assert_string_equal(answer.places[symbol->place].function,
				    display[(i * 7 + 2) % 3]);
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
	assert_string_equal(resolve_one(fixture, true, 0x41).place.function, "start_kernel");
	assert_string_equal(resolve_one(fixture, true, 0x100).place.function, "schedule");
	assert_int_equal(resolve_one(fixture, true, 0x3f).status, RESOLVE_OUTSIDE);
	assert_string_equal(
		resolve_one(fixture, false, UINT64_C(0xffffffff81000100)).place.function,
		"schedule");
}

static void a_kernel_without_text_cannot_be_resolved(void **state)
{
	struct fixture *fixture = *state;
	scoped_free char *path = compile(fixture->folder, "c", "gcc", "c", program_c, "-O1");

	fake_debuginfo_put(&fixture->debuginfo, &fixture->id, path);
	assert_int_equal(resolve_one(fixture, true, 0x1000).status, RESOLVE_FAILED);
}

static void texts_outlive_the_table(void **state)
{
	struct fixture *fixture = *state;
	scoped_free char *path = compile(fixture->folder, "c", "gcc", "c", program_c, "-O1");
	scoped_free char *nm = command_text("nm %s", path);
	struct one one;

	fake_debuginfo_put(&fixture->debuginfo, &fixture->id, path);
	one = resolve_one(fixture, false, address_in(nm, "main"));
	fixture->resolver = resolver_free(fixture->resolver);
	assert_string_equal(one.place.function, "main");
	assert_string_equal(one.place.linkage_name, "main");
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
	const struct resolve_request request = { .id = &fixture->id,
						 .addresses = addresses,
						 .count = 4096,
						 .patience_ns = PATIENCE_NS };
	struct resolve_answer answer;

	assert_non_null(addresses);
	fake_debuginfo_put(&fixture->debuginfo, &fixture->id, path);
	assert_ok(arena_new(64, &arena));
	assert_errno(resolver_resolve(fixture->resolver, &request, arena, &answer), -ENOMEM);
}

static void every_status_has_a_name(void **state)
{
	(void)state;
	for (int status = RESOLVED; status <= RESOLVE_FAILED; status++)
		assert_non_null(resolve_status_name(status));
	assert_null(resolve_status_name((enum resolve_status)(RESOLVE_FAILED + 1)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define WITH_RESOLVER(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
		WITH_RESOLVER(statuses_give_the_reason_and_a_later_upload_gives_names),
		WITH_RESOLVER(every_inlined_function_is_a_place_with_its_caller),
		WITH_RESOLVER(an_answer_before_the_table_is_compiled_is_pending),
		WITH_RESOLVER(a_batch_keeps_its_order_and_has_display_names),
		WITH_RESOLVER(addresses_of_a_kernel_are_relative_to_its_text),
		WITH_RESOLVER(a_kernel_without_text_cannot_be_resolved),
		WITH_RESOLVER(texts_outlive_the_table),
		WITH_RESOLVER(an_executable_without_identity_has_no_debuginfo),
		WITH_RESOLVER(too_small_an_arena_is_an_error),
		cmocka_unit_test(every_status_has_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
