/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>

#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>

#include "agent/privileges.h"
#include "common/bytes.h"
#include "common/capabilities.h"
#include "common/file.h"

#define ALL_KEPT                                                                                   \
	(CAPABILITY_BIT(CAP_BPF) | CAPABILITY_BIT(CAP_PERFMON) | CAPABILITY_BIT(CAP_SYS_PTRACE) |  \
	 CAPABILITY_BIT(CAP_DAC_READ_SEARCH) | CAPABILITY_BIT(CAP_CHECKPOINT_RESTORE) |            \
	 CAPABILITY_BIT(CAP_SYSLOG))

static void six_of_all_capabilities_are_kept(void **state)
{
	(void)state;
	assert_int_equal(privileges_to_keep(UINT64_MAX, 2), ALL_KEPT);
}

static void missing_capabilities_are_not_kept(void **state)
{
	(void)state;
	assert_int_equal(privileges_to_keep(0, 2), 0);
	assert_int_equal(privileges_to_keep(CAPABILITY_BIT(CAP_BPF) | CAPABILITY_BIT(CAP_CHOWN), 2),
			 CAPABILITY_BIT(CAP_BPF));
}

static void sys_admin_is_kept_if_perf_events_require_it(void **state)
{
	const uint64_t admin = CAPABILITY_BIT(CAP_SYS_ADMIN);

	(void)state;
	assert_int_equal(privileges_to_keep(admin | ALL_KEPT, 3), admin | ALL_KEPT);
	assert_int_equal(privileges_to_keep(admin | ALL_KEPT, 4), admin | ALL_KEPT);
	assert_int_equal(privileges_to_keep(ALL_KEPT, 3), ALL_KEPT);
	assert_int_equal(privileges_to_keep(admin | ALL_KEPT, -1), ALL_KEPT);
}

static void the_remedy_for_perf_events_names_what_is_missing(void **state)
{
	const uint64_t admin = CAPABILITY_BIT(CAP_SYS_ADMIN);

	(void)state;
	assert_non_null(strstr(privilege_perf_remedy(0, 3), "CAP_PERFMON is needed"));
	assert_non_null(strstr(privilege_perf_remedy(ALL_KEPT, 3),
			       "'sysctl kernel.perf_event_paranoid=2'"));
	assert_non_null(strstr(privilege_perf_remedy(ALL_KEPT, 4), "CAP_SYS_ADMIN"));
	assert_null(strstr(privilege_perf_remedy(ALL_KEPT, 2), "paranoid"));
	assert_null(strstr(privilege_perf_remedy(ALL_KEPT, -1), "paranoid"));
	assert_null(strstr(privilege_perf_remedy(ALL_KEPT | admin, 3), "paranoid"));
}

static void a_broad_capability_is_kept_only_without_the_narrow_one(void **state)
{
	const uint64_t admin = CAPABILITY_BIT(CAP_SYS_ADMIN);

	(void)state;
	assert_int_equal(privileges_to_keep(admin, 2), admin);
	assert_int_equal(privileges_to_keep(admin | ALL_KEPT, 2), ALL_KEPT);
}

static void the_message_names_the_capability_and_three_ways_to_grant_it(void **state)
{
	char message[PRIVILEGE_MESSAGE_SIZE];

	(void)state;
	privilege_format(PRIVILEGE_SYS_PTRACE, "/usr/bin/hearth-agent", message);
	assert_string_equal(
		message,
		"CAP_SYS_PTRACE is missing: mappings and memory of other processes cannot be read, "
		"not starting; add CAP_SYS_PTRACE to AmbientCapabilities= of the systemd unit or "
		"--cap-add=SYS_PTRACE to the container's options, or run 'setcap "
		"cap_bpf,cap_perfmon,cap_sys_ptrace,cap_dac_read_search,cap_checkpoint_restore,"
		"cap_syslog+ep /usr/bin/hearth-agent'");
}

static void only_missing_required_capabilities_prevent_the_start(void **state)
{
	char message[PRIVILEGE_MESSAGE_SIZE];

	(void)state;
	privilege_format(PRIVILEGE_CHECKPOINT_RESTORE, "/a", message);
	assert_null(strstr(message, "not starting"));
	privilege_format(PRIVILEGE_BPF, "/a", message);
	assert_non_null(strstr(message, "not starting"));
}

/* docs/security.md has a row for each row of the table, with the same text about the loss. */
static void the_documentation_has_each_capability(void **state)
{
	static const char *const rows[] = {
#define PRIVILEGE(id, alternative, need, time, loss) "| `CAP_" #id "` | ", loss,
#include "common/privileges.def"
#undef PRIVILEGE
	};
	struct bytes text = BYTES_INIT(MIB);

	(void)state;
	assert_int_equal(file_read(SOURCE_FOLDER "/docs/security.md", &text), 0);
	assert_int_equal(bytes_append_byte(&text, 0), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (!strstr((const char *)text.data, rows[i]))
			fail_msg("docs/security.md lacks '%s'", rows[i]);
	}
	bytes_release(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(six_of_all_capabilities_are_kept),
		cmocka_unit_test(missing_capabilities_are_not_kept),
		cmocka_unit_test(sys_admin_is_kept_if_perf_events_require_it),
		cmocka_unit_test(the_remedy_for_perf_events_names_what_is_missing),
		cmocka_unit_test(a_broad_capability_is_kept_only_without_the_narrow_one),
		cmocka_unit_test(the_message_names_the_capability_and_three_ways_to_grant_it),
		cmocka_unit_test(only_missing_required_capabilities_prevent_the_start),
		cmocka_unit_test(the_documentation_has_each_capability),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
