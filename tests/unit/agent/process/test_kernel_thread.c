/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/process/kernel_thread.h"

#include "tests/support/unit.h"

static void kernel_threads_of_one_kind_have_one_service(void **state)
{
	static const struct {
		const char *comm, *kind;
	} cases[] = {
		{ "kworker/0:1", "kworker" },
		{ "kworker/u8:1-events_unbound", "kworker" },
		{ "kworker/1:0H-kblockd", "kworker" },
		{ "kworker/R-mm_percpu_wq", "kworker" },
		{ "ksoftirqd/12", "ksoftirqd" },
		{ "migration/0", "migration" },
		{ "cpuhp/3", "cpuhp" },
		{ "idle_inject/1", "idle_inject" },
		{ "irq/24-nvme0q1", "irq" },
		{ "irq/9-acpi", "irq" },
		{ "rcu_preempt", "rcu" },
		{ "rcuop/7", "rcu" },
		{ "rcuc/0", "rcu" },
		{ "jbd2/vda1-8", "jbd2" },
		{ "xfsaild/dm-0", "xfsaild" },
		{ "dmcrypt_write/2", "dmcrypt_write" },
		{ "napi/eth0-8193", "napi" },
		{ "scsi_eh_3", "scsi_eh" },
		{ "kswapd0", "kswapd" },
		{ "kcompactd1", "kcompactd" },
		{ "loop17", "loop" },
		{ "vhost-1234", "vhost" },
		{ "md127_raid1", "md" },
		{ "192.0.2.1-manag", "nfs-manager" }, /* cut to 15 bytes by the kernel */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char kind[16];

		kernel_thread_kind(cases[i].comm, kind, sizeof(kind));
		assert_string_equal(kind, cases[i].kind);
	}
}

static void a_kernel_thread_without_siblings_keeps_its_name(void **state)
{
	static const char *const names[] = { "kthreadd", "oom_reaper", "kauditd", "ext4-rsv-conver",
					     "md",       "42",         "" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char kind[16];

		kernel_thread_kind(names[i], kind, sizeof(kind));
		assert_string_equal(kind, names[i]);
	}
}

static void a_name_can_be_replaced_in_its_own_buffer(void **state)
{
	char name[16] = "kworker/0:1";

	(void)state;
	kernel_thread_kind(name, name, sizeof(name));
	assert_string_equal(name, "kworker");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernel_threads_of_one_kind_have_one_service),
		cmocka_unit_test(a_kernel_thread_without_siblings_keeps_its_name),
		cmocka_unit_test(a_name_can_be_replaced_in_its_own_buffer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
