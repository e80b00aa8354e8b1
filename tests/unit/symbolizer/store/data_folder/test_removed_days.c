/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/unit.h"

#include "common/file.h"
#include "symbolizer/store/data_folder/removed_days.h"

static void the_first_day_is_kept_in_a_file(void **state)
{
	scoped_free char *path = path_in(*state, REMOVED_DAYS_FILE);
	scoped(bytes_release) struct bytes text = BYTES_INIT(64);

	assert_int_equal(removed_days_load(*state), 0);
	removed_days_save(*state, 20454);
	assert_ok(file_read(path, &text));
	assert_bytes_equal_text(&text, "2026-01-01\n");
	assert_int_equal(removed_days_load(*state), 20454);
}

static void an_unusable_file_has_no_day(void **state)
{
	static const char *const contents[] = {
		"",
		"2026-01-01",
		"2026-02-31\n",
		"x\n",
		"2026-01-01 2026-01-02 and much more text\n",
	};
	for (size_t i = 0; i < ARRAY_SIZE(contents); i++) {
		free(write_file_in(*state, REMOVED_DAYS_FILE, contents[i], strlen(contents[i])));
		assert_int_equal(removed_days_load(*state), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(the_first_day_is_kept_in_a_file),
		in_folder(an_unusable_file_has_no_day),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
