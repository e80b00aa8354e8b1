/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/import/foreign_profile.h"

#include "tests/unit/symbolizer/import/imported.h"

struct fixture {
	struct arena *arena;
	char reason[FOREIGN_REASON_SIZE];
	struct foreign_profile *profile;
	uint32_t process;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	const struct foreign_label_vec none = {};
	string_id service;

	assert_non_null(fixture);
	assert_ok(arena_new(IMPORT_MAX_DECODED_BYTES, &fixture->arena));
	assert_ok(foreign_profile_new(fixture->arena, fixture->reason, &fixture->profile));
	assert_ok(foreign_text(fixture->profile, "app", 3, &service));
	assert_ok(foreign_process(fixture->profile, service, 1, &none, &fixture->process));
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	(void)foreign_profile_free(fixture->profile);
	(void)arena_free(fixture->arena);
	free(fixture);
	return 0;
}

static uint32_t add_series(struct fixture *fixture, const char *type, const char *unit)
{
	struct foreign_series series = { .process = fixture->process };
	const struct foreign_label_vec none = {};
	uint32_t number;

	assert_ok(foreign_event(fixture->profile, type, unit, &series.event));
	assert_ok(foreign_series(fixture->profile, &series, &none, &number));
	return number;
}

static void parts_of_every_value_add_up_to_it(void **state)
{
	struct fixture *fixture = *state;
	struct foreign_profile *profile = fixture->profile;
	uint32_t series = add_series(fixture, "cpu", "nanoseconds");
	static const uint64_t values[] = { 1, 2, 6, 7, 8, 59, 1000003, IMPORT_MAX_VALUE };

	assert_ok(foreign_set_range(profile, TEST_NOW_NS, TEST_NOW_NS + 7 * NSEC_PER_SEC, 8));
	assert_int_equal(profile->n_parts, 7);
	for (uint32_t i = 0; i < ARRAY_SIZE(values); i++) {
		uint64_t sum = 0;

		profile->rows.count = 0;
		assert_ok(foreign_add(profile, series, i + 1, values[i]));
		for (size_t k = 0; k < profile->rows.count; k++) {
			const uint64_t wall_ns = profile->rows.items[k].slot * SLOT_NS;

			assert_true(wall_ns >= TEST_NOW_NS && wall_ns < profile->until_ns);
			assert_true(profile->rows.items[k].value > 0);
			sum += profile->rows.items[k].value;
		}
		assert_true(sum == values[i]);
		assert_int_equal(profile->rows.count, MIN(values[i], UINT64_C(7)));
	}
}

static void a_state_is_set_once_at_the_end(void **state)
{
	struct fixture *fixture = *state;
	uint32_t series = add_series(fixture, "inuse_space", "bytes");

	assert_ok(foreign_set_range(fixture->profile, TEST_NOW_NS, TEST_NOW_NS + 7 * NSEC_PER_SEC,
				    1));
	assert_ok(foreign_add(fixture->profile, series, 1, 4096));
	assert_int_equal(fixture->profile->rows.count, 1);
	assert_int_equal(fixture->profile->rows.items[0].slot,
			 (TEST_NOW_NS + 7 * NSEC_PER_SEC - 1) / SLOT_NS);
}

static void times_in_any_unit_become_nanoseconds(void **state)
{
	struct fixture *fixture = *state;
	uint32_t series = add_series(fixture, "cpu", "milliseconds");

	assert_ok(foreign_set_range(fixture->profile, TEST_NOW_NS, TEST_NOW_NS, 1));
	assert_ok(foreign_add(fixture->profile, series, 1, 3));
	assert_int_equal(fixture->profile->rows.items[0].value, 3000000);
	assert_int_equal(add_series(fixture, "cpu", "milliseconds"), series);
}

static void labels_are_sorted_and_the_rest_is_counted(void **state)
{
	struct fixture *fixture = *state;
	struct foreign_profile *profile = fixture->profile;
	struct foreign_label_vec labels = {};
	static const char *const names[] = { "b", "a", "b", "", "c" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct foreign_label label = {};

		assert_ok(foreign_text(profile, names[i], strlen(names[i]), &label.name));
		assert_ok(vec_push(&labels, label));
	}
	assert_ok(foreign_sort_labels(profile, &labels, 2));
	assert_int_equal(labels.count, 2);
	assert_string_equal(string_table_text(profile->texts, labels.items[0].name), "a");
	assert_string_equal(string_table_text(profile->texts, labels.items[1].name), "b");
	assert_int_equal(profile->n_labels_left_out, 3);
	vec_release(&labels);
}

static void wrong_times_are_refused(void **state)
{
	struct fixture *fixture = *state;

	assert_errno(foreign_set_range(fixture->profile, 2, 1, 1), -EBADMSG);
	assert_errno(foreign_set_range(fixture->profile, 0, UINT64_MAX, 1), -EBADMSG);
	assert_errno(foreign_set_range(fixture->profile, 0, TEST_NOW_NS, 1), -EBADMSG);
	assert_errno(foreign_set_range(fixture->profile, IMPORT_MAX_TIME_NS, IMPORT_MAX_TIME_NS, 1),
		     -EBADMSG);
}

static void the_latest_profile_becomes_a_batch(void **state)
{
	struct fixture *fixture = *state;
	const struct hash128 agent = { { 1 } };
	scoped(arena_freep) struct arena *arena = NULL;
	scoped(bytes_release) struct bytes body = BYTES_INIT(BATCH_MAX_BYTES);
	char message[DECODE_MESSAGE_SIZE];
	struct batch batch;

	memset(fixture->profile->content.bytes, 0xff, sizeof(fixture->profile->content.bytes));
	assert_ok(foreign_set_range(fixture->profile, IMPORT_MAX_TIME_NS - 1,
				    IMPORT_MAX_TIME_NS - 1, 1));
	assert_ok(foreign_profile_encode(fixture->profile, &agent, &body));
	assert_ok(arena_new(BATCH_MAX_DECODED_BYTES, &arena));
	assert_ok(batch_decode(bytes_view_of(&body), arena, &batch, message));
	assert_true(batch.epoch == INT64_MAX);
}

static void long_texts_are_cut_at_a_character_and_repaired(void **state)
{
	struct fixture *fixture = *state;
	const struct string_table *texts = fixture->profile->texts;
	char text[BATCH_MAX_TEXT_BYTES + 2];
	string_id id;

	memset(text, 'x', sizeof(text));
	memcpy(&text[BATCH_MAX_TEXT_BYTES - 1], "\xc3\xa4", 2);
	assert_ok(foreign_text(fixture->profile, text, sizeof(text), &id));
	assert_int_equal(string_table_length(texts, id), BATCH_MAX_TEXT_BYTES - 1);
	assert_ok(foreign_text(fixture->profile, "a\xff", 2, &id));
	assert_string_equal(string_table_text(texts, id), "a\xef\xbf\xbd");
}

#define FIXTURE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(parts_of_every_value_add_up_to_it),
		FIXTURE_TEST(a_state_is_set_once_at_the_end),
		FIXTURE_TEST(times_in_any_unit_become_nanoseconds),
		FIXTURE_TEST(labels_are_sorted_and_the_rest_is_counted),
		FIXTURE_TEST(wrong_times_are_refused),
		FIXTURE_TEST(the_latest_profile_becomes_a_batch),
		FIXTURE_TEST(long_texts_are_cut_at_a_character_and_repaired),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
