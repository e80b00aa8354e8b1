/* SPDX-License-Identifier: Apache-2.0 */
/* How the version of a request is found. */
#include "symbolizer/import/otlp_form.h"

#include "symbolizer/import/wire_field.h"
#include "tests/unit/symbolizer/import/imported.h"

struct form_test {
	struct arena *arena;
	struct foreign_profile *profile;
	char reason[FOREIGN_REASON_SIZE];
};

static void form_test_release(struct form_test *test)
{
	(void)foreign_profile_free(test->profile);
	(void)arena_free(test->arena);
}

static void form_test_init(struct form_test *test)
{
	assert_ok(arena_new(MIB, &test->arena));
	assert_ok(foreign_profile_new(test->arena, test->reason, &test->profile));
}

static void the_files_of_each_version_have_its_form(void **state)
{
	static const struct {
		const char *file;
		enum otlp_form form;
	} cases[] = {
		{ "import_otlp/v1.5.pb", OTLP_TABLES_IN_PROFILES },
		{ "import_otlp/v1.7.pb", OTLP_RANGES },
		{ "import_otlp/v1.9.pb", OTLP_VALUES_FIRST },
		{ "import_otlp/v1.11.pb", OTLP_CURRENT },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(form_test_release) struct form_test test = {};
		scoped(bytes_release) struct bytes body = {};
		enum otlp_form form;

		form_test_init(&test);
		read_corpus(cases[i].file, &body);
		assert_ok(otlp_form_find(test.profile, bytes_view_of(&body), &form));
		assert_int_equal(form, cases[i].form);
	}
}

/* Puts the content into a field of a message, of less than 128 bytes. */
static void wrap(struct bytes *message, unsigned int field)
{
	struct bytes outer = BYTES_INIT(KIB);

	assert_true(message->size < 128);
	assert_ok(bytes_append_byte(&outer, (uint8_t)(field << 3 | WIRE_BYTES)));
	assert_ok(bytes_append_byte(&outer, (uint8_t)message->size));
	assert_ok(bytes_append(&outer, message->data, message->size));
	bytes_release(message);
	*message = outer;
}

/* A request with one profile of one sample, and a dictionary with three attributes. */
static void make_request(const char *sample, size_t size, struct bytes *request)
{
	static const char dictionary[] = "\x12\x06\x32\x00\x32\x00\x32\x00";

	*request = BYTES_INIT(KIB);
	assert_ok(bytes_append(request, sample, size));
	wrap(request, 2);
	wrap(request, 2);
	wrap(request, 2);
	wrap(request, 1);
	assert_ok(bytes_append(request, dictionary, sizeof(dictionary) - 1));
}

#define TIMES "\x2a\x10\1\2\3\4\5\6\7\0\1\2\3\4\5\6\7\0"

static void the_fields_of_a_sample_tell_1_9_and_1_10_apart(void **state)
{
	static const struct {
		const char *sample;
		size_t size;
		enum otlp_form form;
	} cases[] = {
#define SAMPLE(bytes) bytes, sizeof(bytes) - 1
		/* values 2, link 4 */
		{ SAMPLE("\x08\x01\x12\x01\x01\x20\x01"), OTLP_VALUES_FIRST },
		/* values 2, attributes 3 */
		{ SAMPLE("\x08\x01\x12\x01\x01\x1a\x01\x01"), OTLP_VALUES_FIRST },
		/* attributes 2, link 3 */
		{ SAMPLE("\x08\x01\x12\x01\x01\x18\x01"), OTLP_CURRENT },
		/* attributes 2, values 4 */
		{ SAMPLE("\x08\x01\x12\x01\x01\x22\x01\x01"), OTLP_CURRENT },
		/* a value alone; attributes alone would count nothing */
		{ SAMPLE("\x08\x01\x12\x01\x01"), OTLP_VALUES_FIRST },
		/* two timestamps with one attribute, or with two attributes */
		{ SAMPLE("\x08\x01\x12\x01\x01" TIMES), OTLP_CURRENT },
		{ SAMPLE("\x08\x01\x12\x02\x01\x02" TIMES), OTLP_CURRENT },
		/* two timestamps with two values: there is no attribute 9 */
		{ SAMPLE("\x08\x01\x12\x02\x01\x09" TIMES), OTLP_VALUES_FIRST },
		/* nothing but a stack */
		{ SAMPLE("\x08\x01"), OTLP_CURRENT },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(form_test_release) struct form_test test = {};
		scoped(bytes_release) struct bytes request = {};
		enum otlp_form form;

		form_test_init(&test);
		make_request(cases[i].sample, cases[i].size, &request);
		assert_ok(otlp_form_find(test.profile, bytes_view_of(&request), &form));
		if (form != cases[i].form)
			fail_msg("case %zu: form %u", i, (unsigned int)form);
	}
}

static void a_field_of_no_version_is_named(void **state)
{
	scoped(form_test_release) struct form_test test = {};
	scoped(bytes_release) struct bytes request = {};
	enum otlp_form form;

	(void)state;
	form_test_init(&test);
	/* link_index of 1.10, then link_index of 1.9 */
	make_request(SAMPLE("\x08\x01\x18\x01\x20\x01"), &request);
	assert_errno(otlp_form_find(test.profile, bytes_view_of(&request), &form), -EBADMSG);
	assert_non_null(strstr(test.reason, "sample: field 4"));
}

static void profiles_without_tables_are_refused(void **state)
{
	scoped(form_test_release) struct form_test test = {};
	scoped(bytes_release) struct bytes request = {};
	enum otlp_form form;

	(void)state;
	form_test_init(&test);
	make_request(SAMPLE("\x08\x01"), &request);
	request.size -= 8;
	assert_errno(otlp_form_find(test.profile, bytes_view_of(&request), &form), -EBADMSG);
	assert_non_null(strstr(test.reason, "dictionary is missing"));
}

static void renumbering_keeps_the_content_of_samples(void **state)
{
	static const char before[] = "\x08\x01\x12\x01\x07\x1a\x01\x05\x20\x02" TIMES;
	static const char after[] = "\x08\x01\x22\x01\x07\x12\x01\x05\x18\x02" TIMES;
	scoped(bytes_release) struct bytes request = {}, expected = {};

	(void)state;
	make_request(SAMPLE(before), &request);
	make_request(SAMPLE(after), &expected);
	otlp_form_renumber(&request);
	assert_int_equal(request.size, expected.size);
	assert_memory_equal(request.data, expected.data, expected.size);
}

static void malformed_fields_are_refused(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
	} cases[] = {
		{ SAMPLE("\x0a\x05\x01") },         /* longer than the message */
		{ SAMPLE("\x08\xff") },             /* a number cut short */
		{ SAMPLE("\x09\x01\x02") },         /* eight bytes cut short */
		{ SAMPLE("\x0b") },                 /* the begin of a group */
		{ SAMPLE("\x02\x00") },             /* field 0 */
		{ SAMPLE("\xff\xff\xff\xff\x7f") }, /* a field beyond the highest number */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct bytes_view view = { (const uint8_t *)cases[i].bytes, cases[i].size };
		struct bytes_reader reader = bytes_reader_of(view);
		struct wire_field field;

		assert_errno(wire_next(&reader, view.data, &field), -EBADMSG);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_files_of_each_version_have_its_form),
		cmocka_unit_test(the_fields_of_a_sample_tell_1_9_and_1_10_apart),
		cmocka_unit_test(a_field_of_no_version_is_named),
		cmocka_unit_test(profiles_without_tables_are_refused),
		cmocka_unit_test(renumbering_keeps_the_content_of_samples),
		cmocka_unit_test(malformed_fields_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
