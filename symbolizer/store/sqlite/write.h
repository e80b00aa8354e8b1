/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One batch on its way into the SQLite engine. The steps, each in a file of its own:
 *
 *   resolve   what every number of the batch means, or that it must be asked for (sqlite_resolve.c)
 *   define    new hosts, executables, processes, series, stacks -> hearth.db (sqlite_define.c,
 * sqlite_process.c, sqlite_stacks.c) append    a block to the file of each day that the batch
 * touches               (sqlite_append.c)
 *
 * All under the writer's lock. Caches of what numbers mean change only after hearth.db has
 * committed.
 */

#include "common/clock.h"
#include "common/vec.h"
#include "symbolizer/store/sqlite/agent_cache.h"
#include "symbolizer/store/sqlite/codec.h"
#include "symbolizer/store/sqlite/connections.h"

/* Days that one batch may touch. Agents close batches after seconds; a stopped one may sleep over a
 * weekend. */
#define WRITE_MAX_DAYS 16

/* The node path of the stack stored last: the next one shares its outermost frames. */
struct stack_path {
	uint32_t depth;
	struct batch_frame frames[STACK_MAX_FRAMES]; /* root first; executable is the store's id */
	uint64_t nodes[STACK_MAX_FRAMES];
};

struct sqlite_writer {
	struct connection_set connections;
	struct agent_cache *agents;
	struct store_state *state; /* borrowed */
	const struct clock *clock;
	struct arena *scratch; /* cleared with every batch */
	struct stack_path path;
	struct bytes buffer; /* for one encoded column or hash input at a time */
	struct bytes block;
	uint64_t next_expiry_ns; /* wall */
	int last_error;
	_Atomic uint64_t n_stacks, n_processes, n_too_old; /* for statistics */
	_Atomic uint64_t retention_ns;                     /* 0: none */
};

int sqlite_writer_new(const char *folder, const struct store_identity *identity,
		      struct store_state *state, const struct clock *clock,
		      struct sqlite_writer **ret_writer);
struct sqlite_writer *sqlite_writer_free(struct sqlite_writer *writer);

/* As store_write(); the caller holds the writer's lock. */
int sqlite_writer_write(struct sqlite_writer *writer, const char *tenant, const struct batch *batch,
			struct arena *arena, struct store_missing *ret_missing);

/* What a number of this batch means. */
struct number_entry {
	uint64_t id; /* store id; 0: none (yet), or an empty definition */
	uint32_t
		ordinal_plus_one; /* stacks: position in write.stack_numbers, 0: not used by rows */
	bool known;               /* hearth.db has it already, as id */
	const struct executable_id *identity; /* executables: once asked for */
};

/* Rows of one series, which stand together. */
struct row_run {
	uint32_t number; /* the agent's */
	uint32_t series; /* store id, after define; 0: an empty definition */
	uint32_t first;
	uint32_t count;
};

struct learned_number {
	enum number_kind kind;
	uint32_t number;
	uint64_t id;
};

struct write {
	struct sqlite_writer *writer;
	struct sqlite_db *hearth;
	const char *tenant;
	const struct batch *batch;
	struct arena *scratch;
	struct agent *agent;
	int64_t epoch_id;
	int64_t tenant_id; /* 0: not asked for yet */
	uint32_t host;
	bool in_transaction;

	struct hash_table *numbers; /* {kind, number} -> struct number_entry */
	VEC_DEFINE(, uint32_t) missing[NUMBER_KIND_END];
	VEC_DEFINE(, struct row_run) runs;
	VEC_DEFINE(, uint32_t) stack_numbers; /* the stacks that rows use, by ordinal */
	uint64_t *stack_ids;                  /* the same as store ids, after define */
	uint32_t *row_stack;                  /* per row the ordinal of its stack */

	/* What the caches are told after the commit. */
	VEC_DEFINE(, struct learned_number) learned;
	uint64_t n_new_stacks, n_new_processes;
	uint64_t epoch_saved_ns, host_saved_ns;
	struct hash128 host_attributes;
};

void write_release(struct write *write);

/* NULL when the batch does not use this number. Valid until the next number is added: not after
 * resolve. */
struct number_entry *write_number(const struct write *write, enum number_kind kind,
				  uint32_t number);

/* Fills numbers, runs, row_stack; 1 all are known, 0 some are missing (write->missing). */
int write_resolve(struct write *write);

/* Begins the transaction on hearth.db, if this is the first change. */
int write_begin(struct write *write);

/* The row of the batch's tenant, added when it is new. */
int write_tenant(struct write *write, int64_t *ret_tenant);

/* The row of the tenant's named frame, added without its name when it is new. */
int write_find_named_frame(struct write *write, uint64_t key, uint64_t *ret_id, bool *ret_has_name);

/* Records what @number means; *ret_applied: whether it is now so, or a later batch has already said
 * otherwise. */
int write_set_number(struct write *write, enum number_kind kind, uint32_t number, uint64_t id,
		     bool *ret_applied);

/* Everything of the batch that lasts; leaves the transaction open. */
int write_define(struct write *write);
int write_define_process(struct write *write, const struct batch_process *process);
int write_define_stacks(struct write *write);

/* After the commit: caches, and stack_ids and runs for append. */
int write_apply(struct write *write);

/* The days that the batch touches, ascending: of its rows and of what it covers. */
struct write_days {
	day_number days[WRITE_MAX_DAYS];
	size_t count;
};
int write_find_days(const struct batch *batch, struct write_days *ret_days);

/* Moves the damaged file of @day out of the way and says so: the next batch makes a new one. */
int write_set_day_aside(struct sqlite_writer *writer, day_number day);

/* 1 the batch is in this day's file, 0 not. */
int write_is_stored(struct sqlite_writer *writer, const char *tenant, const struct batch *batch,
		    day_number day);

/* The block of one day, in a transaction of its own. @first: counters and the batch itself are
 * counted here. 1 stored, 0 it was there already. */
int write_append_day(struct write *write, day_number day, bool first);

DEFINE_SCOPED(struct sqlite_writer *, sqlite_writer_free);
