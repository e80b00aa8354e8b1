/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transactions of a group of batches: one on hearth.db and one on each day file, with a savepoint
 * per batch.
 *
 * hearth.db is committed before the day files. A crash in between leaves definitions that nothing
 * uses yet, and the agents, which got no answer, send their batches again. Each day file records
 * which batches it has. A batch of several days may therefore be stored in a part of them, and the
 * agent's retry adds the others.
 *
 * Some errors of SQLite (a full disk, a failed write) end the transaction, not only the statement.
 * Then all batches of the group that changed this file fail.
 */

#include "symbolizer/store/sqlite/write.h"

static struct group_day *find_group_day(struct write_group *group, day_number day)
{
	for (size_t i = 0; i < group->n_days; i++)
		if (group->days[i].day == day)
			return &group->days[i];
	return NULL;
}

bool write_has_open_day(const struct sqlite_writer *writer, day_number day)
{
	for (size_t i = 0; i < writer->group.n_days; i++)
		if (writer->group.days[i].day == day)
			return true;
	return false;
}

static int begin_day(struct sqlite_writer *writer, day_number day, struct group_day **ret_day)
{
	struct write_group *group = &writer->group;
	struct sqlite_db *db;
	int r;

	/* write_group_has_room() was called for the days of the batch. */
	assert(group->n_days < WRITE_MAX_DAYS);
	r = connection_set_day(&writer->connections, day, &db);
	if (r == 0)
		r = sqlite_begin(db);
	if (r < 0)
		return r;
	*ret_day = &group->days[group->n_days++];
	**ret_day = (struct group_day){ .day = day, .db = db };
	return 0;
}

int write_open_day(struct sqlite_writer *writer, day_number day, struct sqlite_db **ret_db)
{
	struct group_day *open = find_group_day(&writer->group, day);
	int r = 0;

	if (!open)
		r = begin_day(writer, day, &open);
	else if (open->error < 0)
		r = open->error;
	if (r == 0 && !open->in_batch)
		r = sqlite_savepoint(open->db);
	if (r < 0)
		return r;
	open->in_batch = true;
	*ret_db = open->db;
	return 0;
}

int write_day_failed(struct sqlite_writer *writer, day_number day, int error)
{
	struct write_group *group = &writer->group;

	if (error != -EUCLEAN)
		return error;
	for (size_t i = 0; i < group->n_replaced; i++)
		if (group->replaced[i] == day)
			return error;
	group->has_damaged = group->n_replaced < ARRAY_SIZE(group->replaced);
	group->damaged_day = day;
	return error;
}

void write_replace_day(struct sqlite_writer *writer, day_number day)
{
	struct write_group *group = &writer->group;

	group->replaced[group->n_replaced++] = day;
	/* If it cannot be renamed, which is logged, its batches fail. */
	(void)write_set_day_aside(writer, day);
}

bool write_group_has_room(const struct sqlite_writer *writer, const struct write_days *days)
{
	size_t n_new = 0;

	for (size_t i = 0; i < days->count; i++)
		n_new += !write_has_open_day(writer, days->days[i]);
	return writer->group.n_days + n_new <= WRITE_MAX_DAYS;
}

uint32_t write_group_days(const struct sqlite_writer *writer, const struct write_days *days)
{
	const struct write_group *group = &writer->group;
	uint32_t mask = 0;

	for (size_t i = 0; i < group->n_days; i++)
		for (size_t k = 0; k < days->count; k++)
			mask |= (uint32_t)(group->days[i].day == days->days[k]) << i;
	return mask;
}

void write_group_begin(struct sqlite_writer *writer)
{
	struct write_group *group = &writer->group;

	group->has_hearth = false;
	group->error = 0;
	group->n_days = 0;
	group->has_damaged = false;
	group->series_end = store_state_series_end(writer->state);
	vec_clear(&group->members);
}

static void end_savepoint(struct group_day *day, bool keep)
{
	int r = keep ? sqlite_release_savepoint(day->db) : sqlite_undo_savepoint(day->db);

	if (r < 0 && day->error == 0)
		day->error = r;
}

/* An error that has ended the transaction is the error of all batches of the file. */
static void end_batch_of_day(struct group_day *day, int outcome)
{
	if (sqlite_in_transaction(day->db)) {
		if (day->in_batch)
			end_savepoint(day, outcome >= 0);
	} else if (day->error == 0) {
		day->error = outcome < 0 ? outcome : -EIO;
	}
	day->in_batch = false;
}

static int end_batch_of_hearth(struct write *write, int outcome)
{
	if (!write->writer->group.has_hearth)
		return 0;
	if (!sqlite_in_transaction(write->hearth))
		return outcome < 0 ? outcome : -EIO;
	if (!write->in_hearth)
		return 0;
	return outcome < 0 ? sqlite_undo_savepoint(write->hearth)
			   : sqlite_release_savepoint(write->hearth);
}

int write_group_end_batch(struct write *write, int outcome, uint32_t series_end)
{
	struct sqlite_writer *writer = write->writer;
	struct write_group *group = &writer->group;

	for (size_t i = 0; i < group->n_days; i++)
		end_batch_of_day(&group->days[i], outcome);
	if (outcome < 0) {
		store_state_forget_series(writer->state, series_end);
		counter_names_forget(&writer->counter_names);
	}
	group->error = end_batch_of_hearth(write, outcome);
	return outcome < 0 ? outcome : group->error;
}

static void roll_back_days(struct write_group *group)
{
	for (size_t i = 0; i < group->n_days; i++)
		sqlite_rollback(group->days[i].db);
}

void write_group_abort(struct sqlite_writer *writer, struct sqlite_db *hearth,
		       struct store_write *const *writes, size_t count)
{
	struct write_group *group = &writer->group;

	roll_back_days(group);
	if (group->has_hearth)
		sqlite_rollback(hearth);
	store_state_forget_series(writer->state, group->series_end);
	counter_names_forget(&writer->counter_names);
	for (size_t i = 0; i < count; i++)
		agent_cache_forget_agent(writer->agents, writes[i]->tenant, writes[i]->batch);
}

static int commit_day(struct sqlite_writer *writer, struct group_day *day)
{
	struct day_total total;
	int r = day->error;

	if (r < 0) {
		sqlite_rollback(day->db);
		return r;
	}
	r = sqlite_commit(day->db);
	if (r < 0)
		return r;
	r = day_db_total(day->db, &total);
	return r < 0 ? r : store_state_set_day(writer->state, day->day, &total);
}

static void finish_member(struct sqlite_writer *writer, const struct group_member *member,
			  struct store_write *write)
{
	const struct write_group *group = &writer->group;

	for (size_t i = 0; i < group->n_days && write->result >= 0; i++)
		if (member->days >> i & 1 && group->days[i].error < 0)
			write->result = group->days[i].error;
	/* Without memory, lists of hosts show the time in hearth.db, which is up to 60 s older. */
	if (write->result == STORE_STORED)
		(void)store_state_set_host_seen(writer->state, member->host,
						write->batch->closed_wall_ns);
	/* These counts are of hearth.db, which has the definitions even if a day file failed. */
	writer->n_stacks += member->n_new_stacks;
	writer->n_processes += member->n_new_processes;
}

static void fail_all(struct store_write *const *writes, size_t count, int error)
{
	for (size_t i = 0; i < count; i++)
		if (writes[i]->result == STORE_STORED || writes[i]->result == STORE_DUPLICATE)
			writes[i]->result = error;
}

void write_group_commit(struct sqlite_writer *writer, struct sqlite_db *hearth,
			struct store_write *const *writes, size_t count)
{
	struct write_group *group = &writer->group;

	if (group->error == 0 && group->has_hearth)
		group->error = sqlite_commit(hearth);
	if (group->error < 0) {
		write_group_abort(writer, hearth, writes, count);
		fail_all(writes, count, group->error);
		return;
	}
	for (size_t i = 0; i < group->n_days; i++) {
		group->days[i].error = commit_day(writer, &group->days[i]);
		if (group->days[i].error < 0)
			counter_names_forget(&writer->counter_names);
	}
	for (size_t i = 0; i < count; i++)
		finish_member(writer, &group->members.items[i], writes[i]);
}
