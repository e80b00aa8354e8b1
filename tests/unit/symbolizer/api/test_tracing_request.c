/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/api/tracing_request.h"

#include "common/limits.h"
#include "tests/support/unit.h"

static struct bytes_view view_of(const char *text)
{
	return (struct bytes_view){ .data = (const uint8_t *)text, .size = strlen(text) };
}

#define REQUIRED                                                                                   \
	"\"profile_event_type\":\"on-cpu\",\"profile_language_type\":\"eBPF\",\"time_start\":10,"  \
	"\"time_end\":19"

static int arena_setup(void **state)
{
	struct arena *arena;

	assert_ok(arena_new(4 * MIB, &arena));
	*state = arena;
	return 0;
}

static int arena_teardown(void **state)
{
	(void)arena_free(*state);
	return 0;
}

static void missing_keys_have_defaults(void **state)
{
	struct tracing_request request;
	char message[TRACING_MESSAGE_SIZE];

	assert_int_equal(
		tracing_request_parse(view_of("{" REQUIRED "}"), *state, &request, message), 1);
	assert_int_equal(request.profile.type, EVENT_ON_CPU);
	assert_null(request.profile.service);
	assert_null(request.profile.tag_filter);
	assert_null(request.profile.group_by);
	assert_int_equal(request.profile.max_kernel_stack_depth, -1);
	assert_int_equal(request.profile.max_nodes, 0);
	assert_false(request.profile.fold_threads);
	assert_false(request.profile.no_inlines);
	assert_false(request.profile.function_starts);
	assert_false(request.columns);
	assert_false(request.debug);
	/* The range is from the start of the first second to the end of the last one. */
	assert_int_equal(request.profile.from_slot, 1000);
	assert_int_equal(request.profile.to_slot, 2000);
}

static void all_keys_are_parsed(void **state)
{
	static const char body[] =
		"{\"app_service\":\"web\",\"profile_event_type\":\"mem-inuse\",\"profile_language_"
		"type\":\"eBPF\","
		"\"tag_filter\":\"host = "
		"'a'\",\"group_by\":\"pod\",\"time_start\":1,\"time_end\":1,\"debug\":true,"
		"\"max_kernel_stack_depth\":0,\"format\":\"columns\",\"fold_threads\":true,"
		"\"inlines\":false,\"function_starts\":true,\"max_nodes\":4294967295}";
	struct tracing_request request;
	char message[TRACING_MESSAGE_SIZE];

	assert_int_equal(tracing_request_parse(view_of(body), *state, &request, message), 1);
	assert_string_equal(request.profile.service, "web");
	assert_int_equal(request.profile.type, EVENT_MEM_INUSE);
	assert_string_equal(request.profile.tag_filter, "host = 'a'");
	assert_string_equal(request.profile.group_by, "pod");
	assert_int_equal(request.profile.to_slot - request.profile.from_slot,
			 NSEC_PER_SEC / SLOT_NS);
	assert_true(request.debug);
	assert_int_equal(request.profile.max_kernel_stack_depth, 0);
	assert_true(request.profile.no_inlines);
	assert_true(request.profile.function_starts);
	assert_true(request.columns);
	assert_true(request.profile.fold_threads);
	assert_int_equal(request.profile.max_nodes, UINT32_MAX);
}

static void bodies_that_gos_decoder_accepts_are_accepted(void **state)
{
	static const char *const bodies[] = {
		/* keys without regard to case, the last one counts */
		"{\"Profile_Event_Type\":\"on-cpu\",\"PROFILE_LANGUAGE_TYPE\":\"eBPF\",\"Time_"
		"Start\":1,\"TIME_END\":2}",
		"{" REQUIRED ",\"TIME_END\":20,\"time_end\":19}",
		/* unknown keys of any type */
		"{" REQUIRED ",\"orgid\":[1,{\"a\":null}],\"context\":{}}",
		/* null counts as absent */
		"{" REQUIRED ",\"app_service\":null,\"debug\":null,\"max_kernel_stack_depth\":null,"
		"\"max_nodes\":null}",
		"{" REQUIRED ",\"app_service\":\"\"}",
		/* text after the value is ignored */
		"{" REQUIRED "} and more",
		" \n\t{" REQUIRED "}\n",
		"{" REQUIRED ",\"max_kernel_stack_depth\":9223372036854775807}",
		"{" REQUIRED ",\"format\":\"nodes\"}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
		struct tracing_request request;
		char message[TRACING_MESSAGE_SIZE];

		if (tracing_request_parse(view_of(bodies[i]), *state, &request, message) != 1)
			fail_msg("%s: %s", bodies[i], message);
		assert_null(request.profile.service);
		assert_true(request.profile.max_kernel_stack_depth >= -1);
	}
}

static void whole_numbers_are_integers_in_every_notation(void **state)
{
	static const struct {
		const char *body;
		uint64_t from_slot, to_slot;
	} cases[] = {
		{ "{" REQUIRED ",\"time_end\":1e9}", 1000, UINT64_C(100000000100) },
		{ "{" REQUIRED ",\"time_start\":1.0,\"time_end\":2.0}", 100, 300 },
		{ "{" REQUIRED ",\"time_start\":1.5e1}", 1500, 2000 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct tracing_request request;
		char message[TRACING_MESSAGE_SIZE];

		if (tracing_request_parse(view_of(cases[i].body), *state, &request, message) != 1)
			fail_msg("%s: %s", cases[i].body, message);
		assert_int_equal(request.profile.from_slot, cases[i].from_slot);
		assert_int_equal(request.profile.to_slot, cases[i].to_slot);
	}
}

static void the_error_names_the_invalid_key(void **state)
{
	static const struct {
		const char *body;
		const char *message;
	} cases[] = {
		{ "", "the body is empty; a JSON object is expected" },
		{ "  ", "the body is not JSON: " },
		{ "no json", "the body is not JSON: " },
		{ "{", "the body is not JSON: " },
		{ "{\"time_start\":1,}", "the body is not JSON: " },
		{ "{\"time_start\" 1}", "the body is not JSON: " },
		{ "{\"app_service\":\"a\\u0000b\"," REQUIRED "}", "the body is not JSON: " },
		{ "{\"app_service\":\"\xff\"," REQUIRED "}", "the body is not JSON: " },
		{ "{\"time_start\":123456789012345678901234567890}", "the body is not JSON: " },
		{ "[]", "the body must be a JSON object, not an array" },
		{ "42", "the body must be a JSON object, not an integer" },
		{ "null", "the body must be a JSON object, not null" },
		{ "\"text\"", "the body must be a JSON object, not a string" },
		{ "{}", "required and missing, empty or zero: profile_event_type, "
			"profile_language_type, time_start, "
			"time_end" },
		{ "{\"profile_event_type\":\"\",\"profile_language_type\":null,\"time_start\":0,"
		  "\"time_end\":5}",
		  "required and missing, empty or zero: profile_event_type, profile_language_type, "
		  "time_start" },
		{ "{" REQUIRED ",\"time_start\":\"10\"}",
		  "time_start: an integer is expected, not a string" },
		{ "{" REQUIRED ",\"time_end\":1.5}",
		  "time_end: an integer is expected, not a number with a fraction" },
		{ "{" REQUIRED ",\"time_end\":1e17}",
		  "time_end: 100000000000000000 is not between the years 1970 and 9999" },
		{ "{" REQUIRED ",\"time_end\":1e19}",
		  "time_end: an integer of 64 bits is expected, not a larger number" },
		{ "{" REQUIRED ",\"app_service\":1.0}",
		  "app_service: a string is expected, not an integer" },
		{ "{" REQUIRED ",\"time_end\":{}}",
		  "time_end: an integer is expected, not an object" },
		{ "{" REQUIRED ",\"time_end\":true}",
		  "time_end: an integer is expected, not a boolean" },
		{ "{" REQUIRED ",\"app_service\":7}",
		  "app_service: a string is expected, not an integer" },
		{ "{" REQUIRED ",\"TAG_FILTER\":[]}",
		  "tag_filter: a string is expected, not an array" },
		{ "{" REQUIRED ",\"debug\":\"yes\"}",
		  "debug: true or false is expected, not a string" },
		{ "{" REQUIRED ",\"debug\":1}",
		  "debug: true or false is expected, not an integer" },
		{ "{" REQUIRED ",\"fold_threads\":0}",
		  "fold_threads: true or false is expected, not an integer" },
		{ "{" REQUIRED ",\"callers_of\":\"f\",\"callees_of\":\"g\"}",
		  "callers_of, callees_of: ask for one of both: an answer is one tree" },
		{ "{" REQUIRED ",\"time_start\":-1}",
		  "time_start: -1 is not between the years 1970 and 9999; times are unix seconds" },
		{ "{" REQUIRED ",\"time_end\":1700000000000}",
		  "time_end: 1700000000000 is not between the years 1970 and 9999; times are unix "
		  "seconds" },
		{ "{" REQUIRED ",\"format\":\"xml\"}",
		  "format: 'xml' is neither nodes nor columns" },
		{ "{" REQUIRED ",\"max_kernel_stack_depth\":-2}",
		  "max_kernel_stack_depth: -2 is below -1, which keeps all kernel frames" },
		{ "{" REQUIRED ",\"max_nodes\":-1}",
		  "max_nodes: -1 is not between 0, which keeps all nodes, and 4294967295" },
		{ "{" REQUIRED ",\"max_nodes\":4294967296}",
		  "max_nodes: 4294967296 is not between" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char message[TRACING_MESSAGE_SIZE] = "";
		struct tracing_request request;

		if (tracing_request_parse(view_of(cases[i].body), *state, &request, message) !=
		    -EINVAL)
			fail_msg("accepted: %s", cases[i].body);
		if (strncmp(message, cases[i].message, strlen(cases[i].message)) != 0)
			fail_msg("%s: '%s' instead of '%s'", cases[i].body, message,
				 cases[i].message);
	}
}

static void requests_that_no_sample_can_meet_are_valid(void **state)
{
	static const struct {
		const char *body, *message;
	} cases[] = {
		{ "{" REQUIRED ",\"profile_language_type\":\"Java\"}",
		  "profile_language_type: 'Java' is not collected, only eBPF is" },
		{ "{" REQUIRED ",\"time_end\":9}", "time_end: 9 is before time_start 10" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char message[TRACING_MESSAGE_SIZE] = "";
		struct tracing_request request;

		assert_int_equal(
			tracing_request_parse(view_of(cases[i].body), *state, &request, message),
			0);
		assert_string_equal(message, cases[i].message);
	}
}

static void times_reach_to_the_end_of_the_year_9999(void **state)
{
	char message[TRACING_MESSAGE_SIZE];
	struct tracing_request request;

	assert_int_equal(tracing_request_parse(view_of("{" REQUIRED ",\"time_end\":253402300799}"),
					       *state, &request, message),
			 1);
	assert_true(request.profile.to_slot == UINT64_C(253402300800) * 100);
	assert_errno(tracing_request_parse(view_of("{" REQUIRED ",\"time_end\":253402300800}"),
					   *state, &request, message),
		     -EINVAL);
}

static void a_text_that_is_too_long_is_refused(void **state)
{
	scoped(bytes_release) struct bytes body = BYTES_INIT(MIB);
	char message[TRACING_MESSAGE_SIZE];
	struct tracing_request request;

	bytes_append_text(&body, "{" REQUIRED ",\"tag_filter\":\"");
	for (size_t i = 0; i < 65537; i++)
		bytes_append_byte(&body, 'x');
	bytes_append_text(&body, "\"}");
	assert_errno(tracing_request_parse(bytes_view_of(&body), *state, &request, message),
		     -EINVAL);
	assert_string_equal(message, "tag_filter: longer than 65536 bytes");
}

static void deep_nesting_is_refused(void **state)
{
	scoped(bytes_release) struct bytes body = BYTES_INIT(MIB);
	char message[TRACING_MESSAGE_SIZE];
	struct tracing_request request;

	for (size_t i = 0; i < 500000; i++)
		bytes_append_byte(&body, '[');
	assert_errno(tracing_request_parse(bytes_view_of(&body), *state, &request, message),
		     -EINVAL);
	assert_non_null(strstr(message, "depth"));
}

#define ARENA_TEST(name) cmocka_unit_test_setup_teardown(name, arena_setup, arena_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ARENA_TEST(missing_keys_have_defaults),
		ARENA_TEST(all_keys_are_parsed),
		ARENA_TEST(bodies_that_gos_decoder_accepts_are_accepted),
		ARENA_TEST(whole_numbers_are_integers_in_every_notation),
		ARENA_TEST(the_error_names_the_invalid_key),
		ARENA_TEST(requests_that_no_sample_can_meet_are_valid),
		ARENA_TEST(times_reach_to_the_end_of_the_year_9999),
		ARENA_TEST(a_text_that_is_too_long_is_refused),
		ARENA_TEST(deep_nesting_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
