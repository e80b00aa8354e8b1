/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A collector with the tables that it uses, for tests of what it makes of samples. */

#include "agent/sample/collector.h"
#include "tests/support/unit.h"

struct collector_parts {
	struct executable_cache *executables;
	struct string_table *strings;
	struct process_table *processes;
	struct kernel_layout kernel;
	struct frame_resolver *frames;
	struct collector *collector;
};

static inline void collector_parts_init(struct collector_parts *parts)
{
	const struct process_rules rules = {};
	struct collector_options options = {};

	assert_ok(executable_cache_new(100, &parts->executables));
	assert_ok(string_table_new(MIB, &parts->strings));
	assert_ok(process_table_new(parts->executables, parts->strings, &rules, NULL,
				    &parts->processes));
	assert_ok(frame_resolver_new(parts->processes, parts->executables, &parts->kernel,
				     &parts->frames));
	options.processes = parts->processes;
	options.executables = parts->executables;
	options.strings = parts->strings;
	options.frames = parts->frames;
	assert_ok(collector_new(&options, &parts->collector));
}

static inline void collector_parts_release(struct collector_parts *parts)
{
	collector_free(parts->collector);
	frame_resolver_free(parts->frames);
	process_table_free(parts->processes);
	executable_cache_free(parts->executables);
	string_table_free(parts->strings);
}
