/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>

#include <string.h>
#include <unistd.h>

#include "agent/instance.h"

static void make_address(const char *server, uint8_t first, struct sockaddr_un *ret_address,
			 socklen_t *ret_size)
{
	uint8_t id[16] = { first };
	pid_t pid = getpid(); /* tests of other builds may run at the same time */

	memcpy(id + 4, &pid, sizeof(pid));
	instance_address(server, id, ret_address, ret_size);
}

static void a_name_is_held_until_it_is_closed(void **state)
{
	struct sockaddr_un address;
	struct ucred holder;
	socklen_t size;
	int first = -1, second = -1;

	(void)state;
	make_address("http://a", 1, &address, &size);
	assert_int_equal(instance_bind(&address, size, &first, &holder), 1);
	assert_int_equal(instance_bind(&address, size, &second, &holder), 0);
	assert_int_equal(holder.pid, getpid());
	assert_int_equal(holder.uid, geteuid());
	assert_int_equal(second, -1);

	close(first);
	assert_int_equal(instance_bind(&address, size, &second, &holder), 1);
	close(second);
}

static void a_thousand_attempts_are_all_answered(void **state)
{
	struct sockaddr_un address;
	struct ucred holder;
	socklen_t size;
	int first = -1, second = -1;

	(void)state;
	make_address("http://a", 1, &address, &size);
	assert_int_equal(instance_bind(&address, size, &first, &holder), 1);
	for (int i = 0; i < 1000; i++) {
		assert_int_equal(instance_bind(&address, size, &second, &holder), 0);
		/* Once the queue of connections is full, the holder is unknown. */
		assert_true(holder.pid == getpid() || holder.pid == 0);
	}
	close(first);
}

static void another_server_or_host_has_another_name(void **state)
{
	struct sockaddr_un a, b;
	socklen_t a_size, b_size;

	(void)state;
	make_address("http://a", 1, &a, &a_size);
	make_address("http://a", 1, &b, &b_size);
	assert_int_equal(a_size, b_size);
	assert_memory_equal(&a, &b, a_size);
	make_address("http://b", 1, &b, &b_size);
	assert_memory_not_equal(&a, &b, a_size);
	make_address("http://a", 2, &b, &b_size);
	assert_memory_not_equal(&a, &b, a_size);
	assert_int_equal(a.sun_path[0], 0);
}

static void a_process_without_the_capabilities_of_an_agent_is_none(void **state)
{
	static const struct {
		const char *status;
		bool privileged;
	} cases[] = {
		{ "Name:\tx\nCapPrm:\t000001c400080004\nCapEff:\t0\n", true },
		{ "Name:\tx\nCapPrm:\t000001fffeffffff\n", true },
		{ "Name:\tx\nCapPrm:\t0000000000000000\n", false },
		{ "Name:\tx\nCapPrm:\t0000000000080004\n", false },
		{ "Name:\tx\n", false },
		{ "", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(instance_status_is_privileged(cases[i].status),
				 cases[i].privileged);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_is_held_until_it_is_closed),
		cmocka_unit_test(a_thousand_attempts_are_all_answered),
		cmocka_unit_test(another_server_or_host_has_another_name),
		cmocka_unit_test(a_process_without_the_capabilities_of_an_agent_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
