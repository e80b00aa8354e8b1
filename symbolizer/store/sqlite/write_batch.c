/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the batches of a group. For each batch: looks up its numbers, stores its new definitions,
 * and appends its rows as blocks to the files of its days. A batch is a duplicate if the files of
 * all its days contain it already.
 */

#include "symbolizer/store/sqlite/write.h"

#include "symbolizer/store/data_folder/folder_log.h"

/* Time after which a group is committed, so that its first batch does not wait for all others. */
#define GROUP_MAX_NS (200 * NSEC_PER_MSEC)

static int copy_missing(struct arena *arena, const uint32_t *numbers, size_t count,
			uint32_t **ret_numbers, size_t *ret_count)
{
	*ret_numbers = arena_copy(arena, numbers, count * sizeof(*numbers));
	*ret_count = count;
	return *ret_numbers ? 0 : -ENOMEM;
}

static int report_missing(const struct write *write, struct arena *arena,
			  struct store_missing *ret_missing)
{
	struct store_missing missing = {};
	int r;

	r = copy_missing(arena, write->missing[NUMBER_STACK].items,
			 write->missing[NUMBER_STACK].count, &missing.stacks, &missing.n_stacks);
	if (r == 0)
		r = copy_missing(arena, write->missing[NUMBER_SERIES].items,
				 write->missing[NUMBER_SERIES].count, &missing.series,
				 &missing.n_series);
	if (r == 0)
		r = copy_missing(arena, write->missing[NUMBER_PROCESS].items,
				 write->missing[NUMBER_PROCESS].count, &missing.processes,
				 &missing.n_processes);
	if (r == 0)
		r = copy_missing(arena, write->missing[NUMBER_EXECUTABLE].items,
				 write->missing[NUMBER_EXECUTABLE].count, &missing.executables,
				 &missing.n_executables);
	if (r == 0)
		r = copy_missing(arena, write->missing[NUMBER_CODE_OBJECT].items,
				 write->missing[NUMBER_CODE_OBJECT].count, &missing.code_objects,
				 &missing.n_code_objects);
	if (r < 0)
		return r;
	*ret_missing = missing;
	return STORE_NEEDS_NUMBERS;
}

/* Sets bit i of *ret_stored if the file of the i-th day already contains the batch. */
static int find_stored_days(struct sqlite_writer *writer, const char *tenant,
			    const struct batch *batch, const struct write_days *days,
			    uint32_t *ret_stored)
{
	*ret_stored = 0;
	for (size_t i = 0; i < days->count; i++) {
		int r = write_is_stored(writer, tenant, batch, days->days[i]);

		if (r < 0)
			return r;
		*ret_stored |= (uint32_t)r << i;
	}
	return 0;
}

static int append_days(struct write *write, const struct write_days *days, uint32_t stored)
{
	int outcome = STORE_DUPLICATE;
	int r = 0;

	for (size_t i = 0; i < days->count && r >= 0; i++) {
		if (stored >> i & 1)
			continue;
		r = write_append_day(write, days->days[i], i == 0);
		if (r > 0)
			outcome = STORE_STORED;
	}
	return r < 0 ? r : outcome;
}

static int write_new_batch(struct write *write, const struct write_days *days, uint32_t stored,
			   const struct store_write *request)
{
	struct sqlite_writer *writer = write->writer;
	int r;

	r = agent_cache_find(writer->agents, write->hearth, write->tenant, write->batch,
			     &write->agent);
	if (r < 0)
		return r;
	write->epoch_id = write->agent->epoch_id;
	write->host = write->agent->host;
	write->host_attributes = write->agent->host_attributes;
	write->host_saved_ns = write->agent->host_saved_ns;
	write->epoch_saved_ns = write->agent->epoch_saved_ns;

	r = write_resolve(write);
	if (r == 0)
		return report_missing(write, request->arena, request->ret_missing);
	if (r > 0)
		r = write_define(write);
	if (r == 0)
		r = write_apply(write);
	if (r == 0)
		r = append_days(write, days, stored);
	return r;
}

/* True if retention would remove the batch at once. It is refused, because a retry could not be
 * recognized as a duplicate after the file of its day has been removed. */
static bool is_too_old(const struct sqlite_writer *writer, const struct write_days *days)
{
	uint64_t now = trusted_clock_now(&writer->trusted, writer->clock);
	uint64_t retention_ns = writer->retention_ns;

	if (days->days[days->count - 1] < writer->first_day)
		return true;
	return retention_ns != 0 && now > retention_ns &&
	       days->days[days->count - 1] < day_of_wall_ns(now - retention_ns);
}

static int write_batch(struct write *write, const struct write_days *days,
		       const struct store_write *request, struct group_member *member)
{
	struct sqlite_writer *writer = write->writer;
	uint32_t series_end = store_state_series_end(writer->state);
	struct hash128 agent = node_budget_key(write->tenant, &write->batch->agent_id);
	uint64_t now_ns = clock_monotonic_ns(writer->clock);
	uint32_t stored = 0;
	int outcome;
	int r;

	if (is_too_old(writer, days))
		return STORE_TOO_OLD;
	r = find_stored_days(writer, write->tenant, write->batch, days, &stored);
	if (r < 0)
		return r;
	if (stored == (1u << days->count) - 1) {
		member->days = write_group_days(writer, days);
		return STORE_DUPLICATE;
	}
	write->max_new_nodes = node_budget_left(writer->node_budget, &agent, now_ns);
	outcome = write_new_batch(write, days, stored, request);
	r = write_group_end_batch(write, outcome, series_end);
	if (r < 0 || outcome == STORE_NEEDS_NUMBERS)
		return r < 0 ? r : outcome;
	node_budget_spend(writer->node_budget, &agent, write->n_new_nodes, now_ns);
	write_update_cache(write);
	*member = (struct group_member){
		.days = write_group_days(writer, days),
		.host = write->host,
		.n_new_stacks = write->n_new_stacks,
		.n_new_processes = write->n_new_processes,
	};
	return outcome;
}

/* Returns false if the days of the batch and those of the group together are more than a group may
 * have. The batch then waits for the next group. */
static bool write_in_group(struct sqlite_writer *writer, struct sqlite_db *hearth,
			   struct store_write *request)
{
	scoped(write_release) struct write write = {
		.writer = writer,
		.hearth = hearth,
		.tenant = request->tenant,
		.batch = request->batch,
		.scratch = writer->scratch,
	};
	struct group_member member = {};
	struct write_days days;

	arena_clear(writer->scratch);
	request->result = write_find_days(request->batch, &days);
	if (request->result == 0) {
		if (!write_group_has_room(writer, &days))
			return false;
		request->result = write_batch(&write, &days, request, &member);
	}
	/* sqlite_writer_write_group() has reserved the memory. */
	writer->group.members.items[writer->group.members.count++] = member;
	return true;
}

/* Returns the number of batches that were written or refused. */
static size_t write_batches(struct sqlite_writer *writer, struct sqlite_db *hearth,
			    struct store_write *const *writes, size_t count)
{
	const struct write_group *group = &writer->group;
	uint64_t begin_ns = clock_monotonic_ns(writer->clock);
	size_t i = 0;

	write_group_begin(writer);
	while (i < count && write_in_group(writer, hearth, writes[i])) {
		i++;
		if (group->error < 0 || group->has_damaged ||
		    clock_monotonic_ns(writer->clock) - begin_ns >= GROUP_MAX_NS)
			break;
	}
	return i;
}

static void log_result(struct sqlite_writer *writer, int result)
{
	/* -EDQUOT says nothing about the files. The agent logs it. */
	if (result != -EDQUOT)
		folder_log_stored(&writer->last_error, result, writer->connections.folder);
}

size_t sqlite_writer_refuse(struct sqlite_writer *writer, struct store_write *const *writes,
			    size_t count, int error)
{
	for (size_t i = 0; i < count; i++)
		writes[i]->result = error;
	log_result(writer, error);
	return count;
}

size_t sqlite_writer_write_group(struct sqlite_writer *writer, struct store_write *const *writes,
				 size_t count)
{
	struct write_group *group = &writer->group;
	struct sqlite_db *hearth;
	size_t n_written;
	int r;

	vec_clear(&group->members);
	r = connection_set_hearth(&writer->connections, &hearth);
	if (r == 0)
		r = vec_reserve(&group->members, count);
	if (r < 0)
		return sqlite_writer_refuse(writer, writes, count, r);
	sqlite_writer_expire_epochs(writer, hearth);
	group->n_replaced = 0;
	n_written = write_batches(writer, hearth, writes, count);
	while (group->has_damaged) {
		write_group_abort(writer, hearth, writes, n_written);
		write_replace_day(writer, group->damaged_day);
		n_written = write_batches(writer, hearth, writes, count);
	}
	write_group_commit(writer, hearth, writes, n_written);
	for (size_t i = 0; i < n_written; i++) {
		writer->n_too_old += writes[i]->result == STORE_TOO_OLD;
		if (writes[i]->result == STORE_STORED)
			writer->trusted.batch_ns =
				MAX(writer->trusted.batch_ns, writes[i]->batch->closed_wall_ns);
		log_result(writer, writes[i]->result);
	}
	return n_written;
}
