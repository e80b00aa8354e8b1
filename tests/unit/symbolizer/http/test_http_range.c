/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/http/http_range.h"

#include "tests/support/unit.h"

#define MODIFIED_S    UINT64_C(784111777)
#define MODIFIED_TEXT "Sun, 06 Nov 1994 08:49:37 GMT"

static const struct http_validators validators = { .etag = "\"abc\"", .modified_s = MODIFIED_S };

static void a_range_is_parsed_or_ignored(void **state)
{
	static const struct {
		const char *range;
		enum http_range_result result;
		uint64_t first, size;
	} cases[] = {
		{ NULL, HTTP_RANGE_ALL, 0, 0 },
		{ "bytes=0-0", HTTP_RANGE_PART, 0, 1 },
		{ "bytes=10-19", HTTP_RANGE_PART, 10, 10 },
		{ "bytes=10-", HTTP_RANGE_PART, 10, 90 },
		{ "bytes=99-", HTTP_RANGE_PART, 99, 1 },
		{ "bytes=90-1000", HTTP_RANGE_PART, 90, 10 },
		{ "bytes=-10", HTTP_RANGE_PART, 90, 10 },
		{ "bytes=-1000", HTTP_RANGE_PART, 0, 100 },
		{ "bytes=100-", HTTP_RANGE_OUTSIDE, 0, 0 },
		{ "bytes=100-200", HTTP_RANGE_OUTSIDE, 0, 0 },
		{ "bytes=-0", HTTP_RANGE_OUTSIDE, 0, 0 },
		{ "bytes=20-10", HTTP_RANGE_ALL, 0, 0 },
		{ "bytes=0-1,5-6", HTTP_RANGE_ALL, 0, 0 },
		{ "bytes=", HTTP_RANGE_ALL, 0, 0 },
		{ "bytes=-", HTTP_RANGE_ALL, 0, 0 },
		{ "bytes=--5", HTTP_RANGE_ALL, 0, 0 },
		{ "bytes=a-b", HTTP_RANGE_ALL, 0, 0 },
		{ "bytes=+1-2", HTTP_RANGE_ALL, 0, 0 },
		{ "bytes=99999999999999999999999-", HTTP_RANGE_ALL, 0, 0 },
		{ "items=0-1", HTTP_RANGE_ALL, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct http_field header = { "Range", cases[i].range };
		const struct http_request request = { .headers = &header,
						      .n_headers = cases[i].range ? 1 : 0 };
		struct http_range range = {};

		if (http_range_of(&request, &validators, 100, &range) != cases[i].result ||
		    range.first != cases[i].first || range.size != cases[i].size)
			fail_msg("'%s': %llu+%llu", cases[i].range, (unsigned long long)range.first,
				 (unsigned long long)range.size);
	}
}

static void an_empty_file_has_no_range(void **state)
{
	static const char *const texts[] = { "bytes=0-", "bytes=0-0", "bytes=-1" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		const struct http_field header = { "Range", texts[i] };
		const struct http_request request = { .headers = &header, .n_headers = 1 };
		struct http_range range;

		assert_int_equal(http_range_of(&request, &validators, 0, &range),
				 HTTP_RANGE_OUTSIDE);
	}
}

static void a_range_of_another_version_is_not_sent(void **state)
{
	static const struct {
		const char *if_range;
		enum http_range_result result;
	} cases[] = {
		{ "\"abc\"", HTTP_RANGE_PART },
		{ "\"abd\"", HTTP_RANGE_ALL },
		{ "W/\"abc\"", HTTP_RANGE_ALL },
		{ MODIFIED_TEXT, HTTP_RANGE_PART },
		{ "Sun, 06 Nov 1994 08:49:38 GMT", HTTP_RANGE_ALL },
		{ "yesterday", HTTP_RANGE_ALL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct http_field headers[] = { { "Range", "bytes=1-" },
						      { "If-Range", cases[i].if_range } };
		const struct http_request request = { .headers = headers, .n_headers = 2 };
		struct http_range range;

		assert_int_equal(http_range_of(&request, &validators, 100, &range),
				 cases[i].result);
	}
}

static void an_unchanged_file_is_not_sent_again(void **state)
{
	static const struct {
		const char *if_none_match;
		const char *if_modified_since;
		bool not_modified;
	} cases[] = {
		{ NULL, NULL, false },
		{ "\"abc\"", NULL, true },
		{ "W/\"abc\"", NULL, true },
		{ "\"x\", \"abc\"", NULL, true },
		{ "\"x\",W/\"abc\" ,\"y\"", NULL, true },
		{ "*", NULL, true },
		{ "\"ab\"", NULL, false },
		{ "\"abcd\"", NULL, false },
		{ "abc", NULL, false },
		{ NULL, MODIFIED_TEXT, true },
		{ NULL, "Mon, 07 Nov 1994 08:49:37 GMT", true },
		{ NULL, "Sun, 06 Nov 1994 08:49:36 GMT", false },
		{ NULL, "Sunday, 06-Nov-94 08:49:37 GMT", false },
		/* If-None-Match has precedence. */
		{ "\"x\"", MODIFIED_TEXT, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct http_field headers[2];
		struct http_request request = { .headers = headers };

		if (cases[i].if_none_match)
			headers[request.n_headers++] =
				(struct http_field){ "If-None-Match", cases[i].if_none_match };
		if (cases[i].if_modified_since)
			headers[request.n_headers++] =
				(struct http_field){ "If-Modified-Since",
						     cases[i].if_modified_since };
		assert_int_equal(http_is_not_modified(&request, &validators),
				 cases[i].not_modified);
	}
}

static void dates_are_written_and_read_in_one_form(void **state)
{
	static const struct {
		uint64_t unix_s;
		const char *text;
	} cases[] = {
		{ 0, "Thu, 01 Jan 1970 00:00:00 GMT" },
		{ MODIFIED_S, MODIFIED_TEXT },
		{ 1709164800, "Thu, 29 Feb 2024 00:00:00 GMT" },
	};
	static const char *const others[] = { "",
					      "GMT",
					      "Thu, 01 Jan 1970 00:00:00",
					      "Thu, 01 Foo 1970 00:00:00 GMT",
					      "Thu, 01 Jan 1970 00:00:00 GMT+1",
					      "Thu, 01 Jan 1970 00:00:00 CET",
					      "Wed, 31 Dec 1969 23:59:59 GMT" };
	uint64_t unix_s = 7;
	char text[HTTP_DATE_SIZE];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		http_date_format(cases[i].unix_s, text);
		assert_string_equal(text, cases[i].text);
		assert_true(http_date_parse(text, &unix_s));
		assert_int_equal(unix_s, cases[i].unix_s);
	}
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_false(http_date_parse(others[i], &unix_s));
	/* The year of a wrong clock may not fit four digits: a valid date is written
	 * nevertheless. */
	http_date_format(UINT64_MAX / 2, text);
	assert_true(http_date_parse(text, &unix_s));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_range_is_parsed_or_ignored),
		cmocka_unit_test(an_empty_file_has_no_range),
		cmocka_unit_test(a_range_of_another_version_is_not_sent),
		cmocka_unit_test(an_unchanged_file_is_not_sent_again),
		cmocka_unit_test(dates_are_written_and_read_in_one_form),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
