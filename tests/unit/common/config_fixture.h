/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A configuration with a key of every type, for the tests of config_*.c. */

#include "common/config.h"
#include "tests/support/unit.h"

struct test_config {
	bool disabled;
	uint64_t frequency;
	uint64_t interval_ns;
	uint64_t memory_bytes;
	uint64_t unlimited;
	uint64_t port;
	char *regex;
	char *hosts;
};

#define FIELD(name) offsetof(struct test_config, name)

static const struct config_key test_keys[] = {
	{ "on_cpu.disabled", CONFIG_BOOL, FIELD(disabled), "no", 0, 0, "Whether to leave it." },
	{ "on_cpu.frequency", CONFIG_UINT, FIELD(frequency), "99", 1, 1000, "Samples per second." },
	{ "on_cpu.regex", CONFIG_TEXT, FIELD(regex), "^(a|b).*$", 0, 0, "Which processes." },
	{ "interval", CONFIG_DURATION, FIELD(interval_ns), "5s", NSEC_PER_SEC, 3600 * NSEC_PER_SEC,
	  "How often to send." },
	{ "memory", CONFIG_SIZE, FIELD(memory_bytes), "32MiB", 0, GIB, "At most." },
	{ "unlimited", CONFIG_UINT, FIELD(unlimited), "7", 0, 0, "Any number." },
	{ "port", CONFIG_UINT, FIELD(port), "20416", 1, 65535, "Where to listen." },
	{ "hosts", CONFIG_LIST, FIELD(hosts), "a, b", 0, 0, "Whom to ask." },
};

static const struct config_table test_table = { test_keys, ARRAY_SIZE(test_keys), "TEST_" };

static inline void test_config_release(struct test_config *config)
{
	config_release(&test_table, config);
}

/* struct test_config with its defaults, released at the end of the scope. */
#define SCOPED_TEST_CONFIG(name)                                                                   \
	scoped(test_config_release) struct test_config name = {};                                  \
	assert_ok(config_set_defaults(&test_table, &(name)))

static inline void assert_test_config_equal(const struct test_config *a,
					    const struct test_config *b)
{
	assert_int_equal(a->disabled, b->disabled);
	assert_int_equal(a->frequency, b->frequency);
	assert_int_equal(a->interval_ns, b->interval_ns);
	assert_int_equal(a->memory_bytes, b->memory_bytes);
	assert_int_equal(a->unlimited, b->unlimited);
	assert_int_equal(a->port, b->port);
	assert_string_equal(a->regex, b->regex);
	assert_string_equal(a->hosts, b->hosts);
}
