/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kernel_version.h"

#include "tests/support/unit.h"

static void distributions_report_their_version_in_different_texts(void **state)
{
	static const struct {
		struct kernel_texts texts;
		struct kernel_version version;
	} cases[] = {
		/* Debian 12, 11 and its backports: uname -v */
		{ { "6.1.0-50-cloud-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.176-1 (2026-08-01)",
		    "" },
		  { 6, 1, 176 } },
		{ { "5.10.0-32-amd64", "#1 SMP Debian 5.10.223-1 (2024-08-10)", "" },
		  { 5, 10, 223 } },
		{ { "6.12.117+deb12-amd64",
		    "#1 SMP PREEMPT_DYNAMIC Debian 6.12.117-1~deb12u1 (2026-11-14)", "" },
		  { 6, 12, 117 } },
		/* Ubuntu: /proc/version_signature */
		{ { "6.2.0-39-generic",
		    "#40~22.04.1-Ubuntu SMP PREEMPT_DYNAMIC Thu Nov 16 10:53:04 UTC 2",
		    "Ubuntu 6.2.0-39.40~22.04.1-generic 6.2.16\n" },
		  { 6, 2, 16 } },
		/* RHEL 9, Fedora, kernel.org: uname -r */
		{ { "5.14.0-503.11.1.el9_5.x86_64",
		    "#1 SMP PREEMPT_DYNAMIC Tue Nov 12 09:26:13 EST 2024", "" },
		  { 5, 14, 0 } },
		{ { "6.1.20", "#1 SMP", "" }, { 6, 1, 20 } },
		{ { "6.18-rc3", "#1 SMP", "" }, { 6, 18, 0 } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct kernel_version version = {};

		assert_true(kernel_version_parse(&cases[i].texts, &version));
		assert_int_equal(version.major, cases[i].version.major);
		assert_int_equal(version.minor, cases[i].version.minor);
		assert_int_equal(version.patch, cases[i].version.patch);
	}
}

static void texts_without_a_version_are_refused(void **state)
{
	struct kernel_version version = {};

	(void)state;
	assert_false(kernel_version_parse(&(struct kernel_texts){ "linux", "#1", "" }, &version));
	assert_false(kernel_version_parse(&(struct kernel_texts){ "", "", "" }, &version));
}

static void kernels_between_the_defect_and_its_fix_freeze(void **state)
{
	static const struct {
		struct kernel_version version;
		bool freezes;
	} cases[] = {
		{ { 5, 10, 223 }, false }, { { 5, 18, 19 }, false }, { { 5, 19, 0 }, true },
		{ { 6, 0, 19 }, true },    { { 6, 1, 35 }, true },   { { 6, 1, 36 }, false },
		{ { 6, 2, 16 }, true },    { { 6, 3, 9 }, true },    { { 6, 3, 10 }, false },
		{ { 6, 4, 0 }, false },    { { 7, 2, 13 }, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(kernel_version_freezes_on_user_reads(&cases[i].version),
				 cases[i].freezes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(distributions_report_their_version_in_different_texts),
		cmocka_unit_test(texts_without_a_version_are_refused),
		cmocka_unit_test(kernels_between_the_defect_and_its_fix_freeze),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
