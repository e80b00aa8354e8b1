/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/syscall.h>

#include "common/clock.h"
#include "tests/host_bpf/stack_comparison.h"
#include "tests/support/unit.h"

/*
 * Stops a program of the distribution at arbitrary points: an interpreter without frame pointers,
 * which calls compression, hand-written cryptography, and libraries that it loads at run time.
 */

#define N_STOPS      400
#define MAX_PAUSE_NS (4 * NSEC_PER_MSEC)

/* It prints a word after its start, and loads libraries later. */
static const char program[] =
	"import re\n"
	"print('ready', flush=True)\n"
	"import hashlib, json, zlib, random\n"
	"data = bytes(range(256)) * 200\n"
	"tree = [{'name': str(i), 'values': list(range(i))} for i in range(40)]\n"
	"while True:\n"
	"    hashlib.sha256(data).digest(); hashlib.sha512(data).digest(); hashlib.md5(data)\n"
	"    zlib.decompress(zlib.compress(data, 6))\n"
	"    json.loads(json.dumps(tree))\n"
	"    re.findall(r'(\\d+)[,}]+', json.dumps(tree))\n"
	"    sorted(tree, key=lambda item: (random.random(), item['name']))\n";

static void pythons_stack_matches_libdw_at_every_stop(void **state)
{
	char *const arguments[] = { (char *)"/usr/bin/python3", (char *)"-S", (char *)"-c",
				    (char *)program, NULL };
	struct stack_comparison comparison;
	struct target target;

	(void)state;
	if (access(arguments[0], X_OK) != 0)
		skip();
	assert_ok(target_start(arguments, &target));
	assert_int_equal(target_run_to_system_call(&target, SYS_write), 1);
	stack_comparison_begin(&comparison, &target);
	/* The duration differs each time, so that stops do not synchronize with the loop. */
	for (uint64_t i = 0; i < N_STOPS; i++) {
		int r = target_run_for(&comparison.target, i * 7919 * NSEC_PER_USEC % MAX_PAUSE_NS);

		if (r != 1)
			fail_msg("stop %llu: %s", (unsigned long long)i,
				 r == 0 ? "it has ended" : strerror(-r));
		stack_comparison_reload(&comparison);
		stack_comparison_run(&comparison);
	}
	stack_comparison_assert_equal(&comparison);
	stack_comparison_end(&comparison);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(pythons_stack_matches_libdw_at_every_stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
