/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The JVMs of this host: has a helper read the layout of each and the ranges of its generated code,
 * and publishes them for the unwinder (bpf/abi/jvm.h). A JVM that is starting is asked again some
 * times, because its code does not exist from the beginning.
 *
 * Used by the agent's main thread.
 */

#include "agent/helper/helper_pool.h"
#include "agent/interpreter/hotspot/hotspot_layout.h"
#include "agent/process/process_table.h"
#include "bpf/abi/sample_record.h"

struct jvm_table;

struct jvm_table_options {
	struct helper_pool *pool; /* borrowed; must be freed before the table */
	void *arg;
	/* Writes the entry of @pid into the map `jvms`; NULL: removes it. 0 or a negative errno. */
	int (*publish)(void *arg, uint32_t pid, const struct abi_jvm *jvm);
};

int jvm_table_new(const struct jvm_table_options *options, struct jvm_table **ret_table);
struct jvm_table *jvm_table_free(struct jvm_table *table);

/* @process has mapped a JVM at @mapping. 0 or -ENOMEM. */
int jvm_table_note(struct jvm_table *table, const struct process *process,
		   const struct process_mapping *mapping);

/* The process @pid that started at @start_time_ns has ended; another one may have its PID. */
void jvm_table_forget(struct jvm_table *table, uint32_t pid, uint64_t start_time_ns);

/* The layout of the JVM in which @sample was taken, valid as long as the table. NULL: none. */
const struct hotspot_layout *jvm_table_layout(const struct jvm_table *table,
					      const struct abi_sample *sample);

/* Submits requests to helpers. Call it before helper_pool_run(). @now_ns: monotonic. */
void jvm_table_flush(struct jvm_table *table, uint64_t now_ns);

struct jvm_table_stats {
	uint64_t read;
	uint64_t failed; /* not supported, or could not be read or published */
};

void jvm_table_stats(const struct jvm_table *table, struct jvm_table_stats *ret_stats);

DEFINE_SCOPED(struct jvm_table *, jvm_table_free);
