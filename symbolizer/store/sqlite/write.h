/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Writes a group of batches with one commit of hearth.db and one of each day file
 * (write_batch.c, write_group.c). The steps for one batch:
 *
 *   resolve   looks up every number of the batch, or lists it as missing (write_resolve.c)
 *   define    adds new hosts, executables, processes, series, code objects and stacks to hearth.db
 *             (write_definitions.c, write_process.c, write_series.c, write_code_objects.c,
 *             write_stacks.c)
 *   append    adds a block to the file of each day that the batch overlaps (write_append.c), and
 *             the counters to the last of them (write_counters.c)
 *
 * All steps run under the writer's lock, inside savepoints: a batch that fails is undone alone. The
 * cache of numbers changes after the batch's last step, and forgets the agents of a group that is
 * rolled back.
 */

#include "common/clock.h"
#include "common/vec.h"
#include "symbolizer/store/sqlite/agent_cache.h"
#include "symbolizer/store/sqlite/codec.h"
#include "symbolizer/store/sqlite/connections.h"
#include "symbolizer/store/sqlite/counter_names.h"
#include "symbolizer/store/sqlite/node_budget.h"
#include "symbolizer/store/data_folder/trusted_clock.h"
#include "symbolizer/store/write_queue.h"

/*
 * Most days that one batch may overlap. Agents close batches after seconds, but an agent that was
 * stopped may continue after a weekend.
 */
#define WRITE_MAX_DAYS 16
static_assert(WRITE_MAX_DAYS <= WRITER_DAYS, "the writer closes no file with an open transaction");

/* The path of the last stored stack in the tree. The next stack shares its outermost frames. */
struct stack_path {
	uint32_t depth;
	struct batch_frame frames[STACK_MAX_FRAMES]; /* root first; object is a store ID */
	uint64_t nodes[STACK_MAX_FRAMES];
};

/* A day file with an open transaction of the group. */
struct group_day {
	day_number day;
	struct sqlite_db *db; /* stays open: the group has at most WRITE_MAX_DAYS */
	bool in_batch;        /* the savepoint of the batch is set */
	int error;            /* the transaction has ended, or its commit failed */
};

/* The outcome of a batch is final after the commits. */
struct group_member {
	uint32_t days; /* bit i: the result depends on group_day i */
	uint32_t host;
	uint64_t n_new_stacks, n_new_processes;
};

struct write_group {
	bool has_hearth; /* the transaction on hearth.db is open */
	int error;       /* of hearth.db: no batch of the group is stored */
	struct group_day days[WRITE_MAX_DAYS];
	size_t n_days;
	uint32_t series_end; /* of store_state before the group */
	VEC_DEFINE(, struct group_member) members;
	bool has_damaged; /* a batch found the file of damaged_day damaged */
	day_number damaged_day;
	/* Days with files found damaged before. Only their batches fail if they still are. */
	day_number replaced[WRITE_MAX_DAYS];
	size_t n_replaced;
};

struct sqlite_writer {
	struct connection_set connections;
	struct write_group group;
	struct agent_cache *agents;
	struct node_budget *node_budget;
	struct store_state *state; /* borrowed */
	const struct clock *clock;
	struct arena *scratch; /* cleared for every batch */
	struct stack_path path;
	struct bytes buffer; /* for one encoded column or hash input at a time */
	struct bytes block;
	struct bytes counters; /* one entry of counter_minute */
	struct counter_names counter_names;
	uint64_t next_expiry_ns; /* wall */
	int last_error;
	_Atomic uint64_t n_stacks, n_processes, n_too_old; /* for statistics */
	_Atomic uint64_t retention_ns;                     /* 0: none */
	_Atomic day_number first_day; /* retention by size removed the days before it */
	struct trusted_clock trusted;
};

int sqlite_writer_new(const char *folder, const struct store_identity *identity,
		      struct store_state *state, const struct clock *clock,
		      struct sqlite_writer **ret_writer);
struct sqlite_writer *sqlite_writer_free(struct sqlite_writer *writer);

/* Removes epochs that ended days ago, one per transaction. An error is only logged. */
void sqlite_writer_expire_epochs(struct sqlite_writer *writer, struct sqlite_db *hearth);

/* Sets the result of all batches to @error. Returns @count. */
size_t sqlite_writer_refuse(struct sqlite_writer *writer, struct store_write *const *writes,
			    size_t count, int error);

/* Empties the WALs of the open files, as far as readers allow. Call it outside of a group. */
void sqlite_writer_checkpoint(struct sqlite_writer *writer);

/* See write_queue_options.write_group. The caller holds the writer's lock. */
size_t sqlite_writer_write_group(struct sqlite_writer *writer, struct store_write *const *writes,
				 size_t count);

/* A number of this batch. */
struct number_entry {
	uint64_t id;               /* store ID; 0: none yet, or an empty definition */
	uint32_t ordinal_plus_one; /* stacks: index in write.stack_numbers + 1; 0: no row uses it */
	bool known;                /* hearth.db has the number, with this ID */
	/* executables and code objects: NULL until it is needed */
	const struct executable_id *identity;
};

/* Consecutive rows of one series. */
struct row_run {
	uint32_t number; /* the agent's */
	uint32_t series; /* store ID, set after define; 0: an empty definition */
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
	int64_t tenant_id; /* 0: not looked up yet */
	uint32_t host;
	bool in_hearth; /* the savepoint of the batch is set on hearth.db */

	struct hash_table *numbers; /* {kind, number} -> struct number_entry */
	VEC_DEFINE(, uint32_t) missing[NUMBER_KIND_END];
	VEC_DEFINE(, struct row_run) runs;
	VEC_DEFINE(, uint32_t) stack_numbers; /* the stacks of the rows; the index is the ordinal */
	uint64_t *stack_ids;                  /* their store IDs, set after define */
	uint32_t *row_stack;                  /* [n_rows] ordinal of the row's stack */

	/* Changes that the cache gets when all steps have succeeded. */
	VEC_DEFINE(, struct learned_number) learned;
	uint64_t n_new_stacks, n_new_processes;
	uint32_t n_new_nodes, max_new_nodes; /* of the tree of stacks */
	uint64_t epoch_saved_ns, host_saved_ns;
	struct hash128 host_attributes;
};

void write_release(struct write *write);

/*
 * NULL: the batch does not use this number. The entry is valid until the next one is added, which
 * only write_resolve() does.
 */
struct number_entry *write_number(const struct write *write, enum number_kind kind,
				  uint32_t number);

/*
 * Fills numbers, runs and row_stack. Returns 1 if all numbers are known, 0 if some are in
 * write->missing.
 */
int write_resolve(struct write *write);

/*
 * Begins the group's transaction on hearth.db and sets the batch's savepoint, unless they are
 * there: call it before every change.
 */
int write_begin(struct write *write);

/* Finds or adds the row of the batch's tenant. */
int write_tenant(struct write *write, int64_t *ret_tenant);

/* Finds the row of the tenant's named frame, or adds it without a name. */
int write_find_named_frame(struct write *write, uint64_t key, uint64_t *ret_id, bool *ret_has_name);

/*
 * Sets the ID of @number. *ret_applied is false if a later batch has set the number already: then
 * its ID stays.
 */
int write_set_number(struct write *write, enum number_kind kind, uint32_t number, uint64_t id,
		     bool *ret_applied);

/* For kinds that do not change: writes only if hearth.db has another ID. */
int write_set_number_once(struct write *write, enum number_kind kind, uint32_t number, uint64_t id);

/* Finds or adds a set of texts. */
int write_text_set(struct write *write, struct bytes_view content, uint64_t *ret_id);

/* Finds or adds the text set of these labels; *ret_id is 0 without labels. */
int write_labels(struct write *write, const struct label *labels, uint32_t n_labels,
		 uint64_t *ret_id);

/* For messages about a label in a filter that no series has. Begin the transaction before. */
int write_label_names(struct write *write, const struct label *labels, uint32_t n_labels);

/* Finds the identity of a code object that the batch defines or that is known. */
int write_code_object_identity(struct write *write, uint32_t number,
			       const struct executable_id **ret_identity);

/* Adds all definitions of the batch. */
int write_define(struct write *write);
int write_define_process(struct write *write, const struct batch_process *process);
int write_define_series(struct write *write, const struct batch_series *series);
int write_define_code_object(struct write *write, const struct batch_code_object *object);
int write_define_stacks(struct write *write);

/* Sets stack_ids and the series of runs for append. */
int write_apply(struct write *write);

/* Call it after the last step: the cache learns the numbers of the batch. */
void write_update_cache(const struct write *write);

/* The days of the batch, ascending: those of its rows and of the time that it covers. */
struct write_days {
	day_number days[WRITE_MAX_DAYS];
	size_t count;
};
int write_find_days(const struct batch *batch, struct write_days *ret_days);

/* Renames the damaged file of @day and logs it. The next batch creates a new file. */
int write_set_day_aside(struct sqlite_writer *writer, day_number day);

/* Returns 1 if the file of this day has the batch, 0 if not. */
int write_is_stored(struct sqlite_writer *writer, const char *tenant, const struct batch *batch,
		    day_number day);

/*
 * Adds the block of one day. @first: the block counts as the batch. Returns 1 if stored, 0 if the
 * file has the block already.
 */
int write_append_day(struct write *write, day_number day, bool first);

/* The day file to which the counters of a batch belong, and the times of the batch. */
struct counted_batch {
	day_number day;
	int64_t sender;
	uint64_t opened_ns, closed_ns; /* wall */
};

/* Adds the counters of the batch in the open transaction of @db. */
int write_counters(struct write *write, struct sqlite_db *db, const struct counted_batch *counted);

/* A group (write_group.c). @writes are the batches that it has so far. */
void write_group_begin(struct sqlite_writer *writer);
void write_group_abort(struct sqlite_writer *writer, struct sqlite_db *hearth,
		       struct store_write *const *writes, size_t count);
/* Sets the final results. */
void write_group_commit(struct sqlite_writer *writer, struct sqlite_db *hearth,
			struct store_write *const *writes, size_t count);

/* False: the group would have too many days with these. */
bool write_group_has_room(const struct sqlite_writer *writer, const struct write_days *days);

/* See group_member.days. */
uint32_t write_group_days(const struct sqlite_writer *writer, const struct write_days *days);

/*
 * Ends the savepoints of a batch. @outcome < 0: undoes its changes, also the hosts of series from
 * @series_end on. Returns an error of the batch, which may be that of a file, or 0.
 */
int write_group_end_batch(struct write *write, int outcome, uint32_t series_end);

/* Opens the file of @day in the group's transaction, with the savepoint of the batch. */
int write_open_day(struct sqlite_writer *writer, day_number day, struct sqlite_db **ret_db);

/* Returns whether the group has changed the file of @day, which may be new. */
bool write_has_open_day(const struct sqlite_writer *writer, day_number day);

/*
 * Returns @error. If the file is damaged, the group is written again after write_replace_day(),
 * which renames the file.
 */
int write_day_failed(struct sqlite_writer *writer, day_number day, int error);
void write_replace_day(struct sqlite_writer *writer, day_number day);

DEFINE_SCOPED(struct sqlite_writer *, sqlite_writer_free);
