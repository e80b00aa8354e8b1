/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/query/unresolved.h"

#include "symbolizer/query/selection.h"

#include "tests/unit/symbolizer/query/profile_fixture.h"

static const struct stack_text stacks[] = {
	{ 1, 0, "native:stripped:0x10 native:app:0x1110" }, /* nothing was uploaded */
	{ 2, 0, "native:app:0x10" },                        /* in no function */
	{ 3, 0, "native:damaged:0x10" },
	{ 4, 0, "native:none:0x10" },
	{ 5, 0, "native:app:0x1110 native:none:0x10" }, /* the leaf has a name */
	{ 6, STACK_CUT_DEPTH, "kernel:none:0xffffffff00000000 native:stripped:0x10" },
	{ 7, 0, "" },
	{ 8, 0, "native:stripped:0x20" }, /* another address of the same file */
};

static const struct fake_row rows[] = {
	{ 1, 1, T0, 1 },  { 2, 1, T0, 2 },  { 1, 2, T0, 4 },   { 1, 3, T0, 8 },   { 1, 4, T0, 16 },
	{ 1, 5, T0, 32 }, { 1, 6, T0, 64 }, { 1, 7, T0, 128 }, { 5, 8, T0, 256 }, { 4, 8, T0, 512 },
};

struct answer {
	struct arena *arena;
	struct unresolved_files files;
	struct profile_stats stats;
	char message[PROFILE_MESSAGE_SIZE];
};

static void answer_release(struct answer *answer)
{
	(void)arena_free(answer->arena);
}

static int list_files(struct fixture *fixture, struct answer *answer)
{
	scoped(store_view_closep) struct store_view *view = open_view(fixture->store, "default");

	FAKE_SAMPLES(fixture, on_cpu_series, stacks, rows);
	assert_ok(arena_new(GIB, &answer->arena));
	return profile_unresolved(view, fixture->resolver, &system_clock, &fixture->request,
				  answer->arena, &answer->files, &answer->stats, answer->message);
}

static void files_are_sorted_by_value_and_have_reasons(void **state)
{
	static const struct {
		const char *path;
		enum frame_status reason;
		uint64_t value;
		bool kernel;
	} expected[] = {
		{ "stripped", FRAME_NO_DEBUGINFO, 5150, false },
		{ "", FRAME_NO_MAPPING, 640, true },
		{ "", FRAME_NO_MAPPING, 160, false },
		{ "/opt/damaged", FRAME_TABLE_FAILED, 80, false },
		{ "/usr/bin/app", FRAME_OUTSIDE, 40, false },
	};
	scoped(answer_release) struct answer answer = {};

	assert_int_equal(list_files(*state, &answer), 1);
	assert_int_equal(answer.files.count, ARRAY_SIZE(expected));
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		/* The path is that of the process with the largest value. app on beta has no path
		 * for its file. */
		assert_string_equal(answer.files.files[i].path, expected[i].path);
		assert_int_equal(answer.files.files[i].reason, expected[i].reason);
		assert_int_equal(answer.files.files[i].value, expected[i].value);
		assert_int_equal(answer.files.files[i].kernel, expected[i].kernel);
	}
}

static void services_of_a_file_are_sorted_by_value(void **state)
{
	struct fixture *fixture = *state;
	scoped(answer_release) struct answer answer = {};

	fixture->request.service = NULL;
	assert_int_equal(list_files(fixture, &answer), 1);
	assert_int_equal(answer.files.files[0].value, 7710);
	assert_int_equal(answer.files.files[0].n_services, 2);
	assert_string_equal(answer.files.files[0].services[0], "app");
	assert_string_equal(answer.files.files[0].services[1], "shop");
}

static void sums_equal_those_of_a_profile(void **state)
{
	struct fixture *fixture = *state;
	scoped(tree_freep) struct tree *tree = NULL;
	scoped(answer_release) struct answer answer = {};

	assert_int_equal(list_files(fixture, &answer), 1);
	assert_int_equal(fixture->fake.n_path_calls, 1);
	assert_int_equal(query(fixture, &tree), 1);
	assert_int_equal(answer.stats.value_total, fixture->stats.value_total);
	assert_int_equal(answer.stats.value_unsymbolized, fixture->stats.value_unsymbolized);
	assert_int_equal(answer.stats.value_cut, fixture->stats.value_cut);
#define X(reason, key)                                                                             \
	assert_int_equal(answer.stats.unsymbolized_##key, fixture->stats.unsymbolized_##key);
	UNRESOLVED_REASONS(X)
#undef X
}

static void services_beyond_the_limit_of_trees_are_counted(void **state)
{
	struct fixture *fixture = *state;
	scoped(store_view_closep) struct store_view *view = open_view(fixture->store, "default");
	static struct store_process many[SELECTION_MAX_SERVICES + 2];
	static struct store_series many_series[ARRAY_SIZE(many)];
	static struct fake_row many_rows[ARRAY_SIZE(many)];
	static char names_of[ARRAY_SIZE(many)][8];
	scoped(answer_release) struct answer answer = {};

	for (uint32_t i = 0; i < ARRAY_SIZE(many); i++) {
		(void)snprintf(names_of[i], sizeof(names_of[i]), "s%02u", i);
		many[i] = processes[P_SHOP];
		many[i].id = 100 + i;
		many[i].name = names_of[i];
		many_series[i] = on_cpu_series[0];
		many_series[i].id = i + 1;
		many_series[i].process = &many[i];
		many_rows[i] = (struct fake_row){ i + 1, 1, T0, i + 1 };
	}
	fixture->request.service = NULL;
	fixture->request.any_services = true;
	FAKE_SET(fixture, series, many_series);
	set_stacks(fixture, stacks, 1);
	FAKE_SET(fixture, rows, many_rows);
	assert_ok(arena_new(GIB, &answer.arena));
	assert_int_equal(profile_unresolved(view, fixture->resolver, &system_clock,
					    &fixture->request, answer.arena, &answer.files,
					    &answer.stats, answer.message),
			 1);
	assert_int_equal(answer.files.count, 1);
	assert_int_equal(answer.files.files[0].value, 780);
	assert_int_equal(answer.files.files[0].n_services, UNRESOLVED_MAX_SERVICES);
	assert_string_equal(answer.files.files[0].services[0], "s11");
	assert_string_equal(answer.files.files[0].services[4], "s07");
}

static void an_empty_selection_has_a_message(void **state)
{
	struct fixture *fixture = *state;
	scoped(answer_release) struct answer answer = {};

	fixture->request.service = "nobody";
	assert_int_equal(list_files(fixture, &answer), 0);
	assert_int_equal(answer.files.count, 0);
	assert_non_null(strstr(answer.message, "nobody"));
}

int main(void)
{
#define WITH_FLEET(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
		WITH_FLEET(files_are_sorted_by_value_and_have_reasons),
		WITH_FLEET(services_of_a_file_are_sorted_by_value),
		WITH_FLEET(sums_equal_those_of_a_profile),
		WITH_FLEET(services_beyond_the_limit_of_trees_are_counted),
		WITH_FLEET(an_empty_selection_has_a_message),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
