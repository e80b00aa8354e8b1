/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/import/multipart.h"

#include "tests/unit/symbolizer/import/imported.h"

#define TYPE "multipart/form-data; boundary=abc"

static const char form[] =
	"--abc\r\nContent-Disposition: form-data; name=\"sample_type_config\"\r\n\r\n"
	"{}\r\n--abc\r\nContent-Disposition: form-data; name=\"profile\"; "
	"filename=\"p.pprof\"\r\nContent-Type: x\r\n\r\nby\r\nte\r\n--abc--\r\n";

static void a_field_is_found_by_its_name(void **state)
{
	struct bytes_view value;

	(void)state;
	assert_int_equal(multipart_find(TYPE, text_view(form), "profile", &value), 1);
	assert_bytes_equal_text(&value, "by\r\nte");
	assert_int_equal(multipart_find(TYPE, text_view(form), "sample_type_config", &value), 1);
	assert_bytes_equal_text(&value, "{}");
	assert_int_equal(multipart_find("multipart/form-data; charset=x; boundary=\"abc\"",
					text_view(form), "profile", &value),
			 1);
	assert_int_equal(multipart_find(TYPE, text_view(form), "other", &value), 0);
}

static void a_form_that_is_cut_short_is_refused(void **state)
{
	struct bytes_view value;

	(void)state;
	for (size_t size = strlen("--abc"); size < strlen(form) - strlen("--abc--\r\n"); size++)
		assert_true(multipart_find(TYPE, (struct bytes_view){ (const uint8_t *)form, size },
					   "profile", &value) <= 0);
	assert_errno(multipart_find("multipart/form-data", text_view(form), "profile", &value),
		     -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_field_is_found_by_its_name),
		cmocka_unit_test(a_form_that_is_cut_short_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
