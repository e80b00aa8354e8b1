/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/symbolizer/api/uploaded_program.h"

static void addresses_without_debuginfo_have_that_status(void **state)
{
	scoped(http_response_release) struct http_response response;
	scoped(json_decrefp) json_t *json = NULL;
	const json_t *frames;

	ask_handler(*state, api_symbolize, NULL,
		    "{\"build_id\":\"0123456789abcdef\",\"addresses\":[\"0x1139\","
		    "\"ffffffffffffffff\",255,0]}",
		    &response);
	json = json_of(&response);
	assert_int_equal(response.status, 200);
	frames = json_object_get(json, "frames");
	assert_int_equal(json_array_size(frames), 4);
	assert_string_equal(json_text_at(json_array_get(frames, 0), "address"), "0x1139");
	assert_string_equal(json_text_at(json_array_get(frames, 1), "address"),
			    "0xffffffffffffffff");
	assert_string_equal(json_text_at(json_array_get(frames, 2), "address"), "0xff");
	assert_string_equal(json_text_at(json_array_get(frames, 0), "status"),
			    resolve_status_name(RESOLVE_NO_DEBUGINFO));
	assert_true(json_is_null(json_object_get(json_array_get(frames, 0), "function")));
}

volatile int sink;

static inline __attribute__((always_inline)) void inlined_here(void)
{
	__asm__ volatile(".globl mark_of_inlined_here\nmark_of_inlined_here: nop\n\tnop");
}

__attribute__((noinline)) static void has_the_code(void)
{
	inlined_here();
	sink = 1;
}

extern const char mark_of_inlined_here[];

/* Uploads this test program. Returns its identity and the ELF address of the mark. */
static uint64_t upload_this_program(struct api_fixture *fixture,
				    char ret_id[EXECUTABLE_ID_TEXT_SIZE])
{
	extern const char __executable_start[];

	upload_program(fixture, "/proc/self/exe", ret_id);
	return (uint64_t)(mark_of_inlined_here - __executable_start);
}

/* Asks again while symbol tables are made. */
static json_t *symbolized(struct api_fixture *fixture, const char *body)
{
	for (unsigned int i = 0; i < 100; i++) {
		scoped(http_response_release) struct http_response response;
		json_t *json;

		ask_handler(fixture, api_symbolize, NULL, body, &response);
		assert_int_equal(response.status, 200);
		json = json_of(&response);
		if (json_is_false(json_object_get(json, "pending")))
			return json;
		json_decref(json);
	}
	fail_msg("the symbol table is not made");
	return NULL;
}

static void inlined_functions_have_their_callers(void **state)
{
	scoped(json_decrefp) json_t *json = NULL;
	char id[EXECUTABLE_ID_TEXT_SIZE], body[512];
	const json_t *frame, *callers;
	unsigned long long address;

	has_the_code();
	address = (unsigned long long)upload_this_program(*state, id);
	(void)snprintf(body, sizeof(body),
		       "{\"build_id\":\"%s\",\"addresses\":[\"%llx\",\"7fffffff0000\"]}", id,
		       address);
	json = symbolized(*state, body);
	frame = json_array_get(json_object_get(json, "frames"), 0);
	assert_string_equal(json_text_at(frame, "status"), "resolved");
	assert_string_equal(json_text_at(frame, "function"), "inlined_here");
	assert_non_null(strstr(json_text_at(frame, "file"), "test_symbolize.c"));
	assert_true(json_number_at(frame, "line") > 1);
	callers = json_object_get(frame, "inlined_into");
	assert_int_equal(json_array_size(callers), 1);
	assert_string_equal(json_text_at(json_array_get(callers, 0), "function"), "has_the_code");
	assert_true(json_number_at(json_array_get(callers, 0), "line") >
		    json_number_at(frame, "line"));

	frame = json_array_get(json_object_get(json, "frames"), 1);
	assert_string_equal(json_text_at(frame, "status"), "address outside");
	assert_int_equal(json_array_size(json_object_get(frame, "inlined_into")), 0);
}

static void the_error_names_the_invalid_part_of_a_request(void **state)
{
	static const struct {
		const char *body;
		const char *message;
	} cases[] = {
		{ "", "the body is no JSON object" },
		{ "x", "the body is no JSON object" },
		{ "[]", "the body is no JSON object" },
		{ "{}", "build_id: " },
		{ "{\"build_id\":7,\"addresses\":[1]}", "build_id: " },
		{ "{\"build_id\":\"../../x\",\"addresses\":[1]}", "build_id: " },
		{ "{\"build_id\":\"01234567\"}",
		  "addresses: a list of 1 to 100000 addresses is expected" },
		{ "{\"build_id\":\"01234567\",\"addresses\":[]}", "addresses: a list" },
		{ "{\"build_id\":\"01234567\",\"addresses\":{\"0\":1}}", "addresses: a list" },
		{ "{\"build_id\":\"01234567\",\"addresses\":[1,\"0xg\"]}", "addresses[1]: " },
		{ "{\"build_id\":\"01234567\",\"addresses\":[\"-1\"]}", "addresses[0]: " },
		{ "{\"build_id\":\"01234567\",\"addresses\":[\" 1\"]}", "addresses[0]: " },
		{ "{\"build_id\":\"01234567\",\"addresses\":[\"\"]}", "addresses[0]: " },
		{ "{\"build_id\":\"01234567\",\"addresses\":[-1]}", "addresses[0]: " },
		{ "{\"build_id\":\"01234567\",\"addresses\":[1.5]}", "addresses[0]: " },
		{ "{\"build_id\":\"01234567\",\"addresses\":[\"0x10000000000000000\"]}",
		  "addresses[0]: " },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(http_response_release) struct http_response response;

		ask_handler(*state, api_symbolize, NULL, cases[i].body, &response);
		assert_error(&response, 400, cases[i].message);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(addresses_without_debuginfo_have_that_status),
		API_TEST(inlined_functions_have_their_callers),
		API_TEST(the_error_names_the_invalid_part_of_a_request),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
