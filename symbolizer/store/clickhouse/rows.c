/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/store/clickhouse/rows_private.h"

#include "common/limits.h"
#include "symbolizer/store/clickhouse/sql.h"

static const char *const columns[] = {
	[ROWS_HOSTS] =
		"hosts (day, tenant, agent, is_first, version, seen_ns, name, machine_id, boot_id, "
		"kernel_release, architecture, agent_version, n_cpus, ips, label_names, "
		"label_values)",
	[ROWS_EXECUTABLES] = "executables (day, id, tenant, kind, identity, name, role, "
			     "n_segments, file_offsets, vaddrs, file_sizes)",
	[ROWS_CODE_OBJECTS] = "code_objects (day, id, language, name, qualified_name, file, "
			      "first_line, line_table)",
	[ROWS_NAMED_FRAMES] = "named_frames (day, tenant, frame_key, name)",
	[ROWS_PATH_SETS] = "path_sets (day, id, executables, paths)",
	[ROWS_PROCESSES] = "processes (day, id, tenant, agent, changed_ns, pid, parent_pid, "
			   "start_time_ns, name, executable_path, main_executable, flags, "
			   "path_set, label_names, label_values)",
	[ROWS_SERIES] = "series (day, lane, id, tenant, service, event, unit, event_kind, "
			"process, tid, thread_name, cpu_plus_one, period_ns, label_names, "
			"label_values)",
	[ROWS_CALLERS] = "callers (day, id, kinds, object_types, objects, addresses)",
	[ROWS_STACKS] = "stacks (day, id, cut, kind, object_type, object, address, callers)",
	[ROWS_BATCHES] = "batches (day, tenant, agent, epoch, sequence, opened_ns, closed_ns, "
			 "stored_ns, n_rows, counter_names, counter_values)",
	[ROWS_SAMPLES] = "samples (day, lane, hour, series, epoch, sequence, first_slot, "
			 "last_slot, stacks, slots, amounts)",
	[ROWS_MARKERS] = "samples (day, lane, hour, series, epoch, sequence, first_slot, "
			 "last_slot, stacks, slots, amounts)",
};
static_assert(ARRAY_SIZE(columns) == ROWS_TABLE_END, "each table has columns");

const char *rows_table_columns(enum rows_table table)
{
	return columns[table];
}

int batch_days_find(const struct batch *batch, struct batch_days *ret_days)
{
	/* [opened, closed): a batch closed at midnight does not overlap the following day. */
	uint64_t closed_ns = MAX(batch->closed_wall_ns, batch->opened_wall_ns + 1);
	uint64_t first = batch->opened_wall_ns / SLOT_NS / SLOTS_PER_DAY;
	uint64_t last = (closed_ns - 1) / SLOT_NS / SLOTS_PER_DAY;
	uint64_t lowest = first, highest = last;
	uint32_t with_rows = 0;

	for (uint32_t i = 0; i < batch->n_rows; i++) {
		lowest = MIN(lowest, batch->rows[i].slot / SLOTS_PER_DAY);
		highest = MAX(highest, batch->rows[i].slot / SLOTS_PER_DAY);
	}
	/* Column day is a UInt16. */
	if (highest - lowest >= ROWS_MAX_DAYS || highest > UINT16_MAX)
		return -EINVAL;
	for (uint32_t i = 0; i < batch->n_rows; i++)
		with_rows |= 1u << (batch->rows[i].slot / SLOTS_PER_DAY - lowest);
	static_assert(ROWS_MAX_DAYS <= 32, "one bit per day");

	ret_days->count = 0;
	for (uint64_t day = lowest; day <= highest; day++)
		if ((day >= first && day <= last) || with_rows >> (day - lowest) & 1)
			ret_days->days[ret_days->count++] = (uint32_t)day;
	return 0;
}

struct hash128 rows_marker(const char *tenant, const struct batch *batch)
{
	struct hash128 parts[2] = { batch->agent_id, hash128_of(tenant, strlen(tenant)) };

	return hash128_of(parts, sizeof(parts));
}

uint64_t rows_lane(const char *tenant, const char *service, const char *event)
{
	uint64_t parts[] = {
		hash64_of(tenant, strlen(tenant)),
		hash64_of(service, strlen(service)),
		hash64_of(event, strlen(event)),
	};
	uint64_t lane = hash64_of(parts, sizeof(parts));

	return lane ? lane : 1; /* 0: markers */
}

void rows_add_executable_identity(struct bytes *input, const char *tenant,
				  const struct executable_id *id)
{
	row_add_u8(input, ROWS_EXECUTABLES);
	row_add_text(input, tenant);
	row_add_u8(input, id->kind);
	row_add_string(input, id->bytes, id->size);
}

struct hash128 rows_executable_id(const char *tenant, const struct executable_id *id)
{
	scoped(bytes_release) struct bytes input = BYTES_INIT(4 * KIB);

	rows_add_executable_identity(&input, tenant, id);
	return hash128_of(input.data, input.size);
}

int rows_new(size_t max_bytes, struct rows **ret_rows)
{
	scoped(rows_freep) struct rows *rows = calloc(1, sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < ROWS_TABLE_END; i++)
		rows->tables[i] = BYTES_INIT(max_bytes);
	rows->row = BYTES_INIT(max_bytes);
	if (hash_table_new(sizeof(struct written_key), 0, 0, &rows->written) < 0 ||
	    hash_table_new(sizeof(uint32_t), sizeof(struct hash128), 0, &rows->stack_ids) < 0)
		return -ENOMEM;
	*ret_rows = take_ptr(rows);
	return 0;
}

struct rows *rows_free(struct rows *rows)
{
	if (!rows)
		return NULL;
	for (size_t i = 0; i < ROWS_TABLE_END; i++)
		bytes_release(&rows->tables[i]);
	bytes_release(&rows->row);
	(void)hash_table_free(rows->written);
	(void)hash_table_free(rows->stack_ids);
	vec_release(&rows->samples);
	free(rows);
	return NULL;
}

void rows_begin_id(struct rows_batch *of, enum rows_table table)
{
	bytes_clear(&of->rows->row);
	row_add_u8(&of->rows->row, (uint8_t)table);
	row_add_text(&of->rows->row, of->tenant);
}

struct hash128 rows_end_id(struct rows_batch *of)
{
	return hash128_of(of->rows->row.data, of->rows->row.size);
}

bool rows_begin(struct rows_batch *of, enum rows_table table, const struct hash128 *content)
{
	const struct written_key key = { .content = *content, .day = of->day, .table = table };
	struct rows *rows = of->rows;
	int r = hash_table_insert(rows->written, &key, NULL);

	if (r < 0)
		rows->tables[table].error = r;
	if (r <= 0)
		return false;
	bytes_clear(&rows->row);
	row_add_u16(&rows->row, (uint16_t)of->day);
	return true;
}

void rows_end(struct rows_batch *of, enum rows_table table)
{
	struct bytes *row = &of->rows->row;

	if (bytes_error(row) < 0)
		of->rows->tables[table].error = bytes_error(row);
	else
		(void)bytes_append(&of->rows->tables[table], row->data, row->size);
}

int rows_error(const struct rows *rows)
{
	for (size_t i = 0; i < ROWS_TABLE_END; i++)
		if (bytes_error(&rows->tables[i]) < 0)
			return bytes_error(&rows->tables[i]);
	return 0;
}

/* The ID of a stack, which is only computed once for a batch and day. */
static int stack_of(struct rows_batch *of, uint32_t number, struct hash128 *ret_id)
{
	struct hash128 *known;
	int r = hash_table_insert(of->rows->stack_ids, &number, (void **)&known);

	if (r < 0)
		return r;
	if (r > 0)
		*known = rows_add_stack(of, number);
	*ret_id = *known;
	return 0;
}

/* The rows of the batch on its day, with the IDs of their series and stacks. */
static int collect_samples(struct rows_batch *of)
{
	const struct batch *batch = of->batch;
	struct sample sample = {};
	bool has_series = false;
	int r = 0;

	vec_clear(&of->rows->samples);
	hash_table_clear(of->rows->stack_ids);
	for (uint32_t i = 0; i < batch->n_rows && r == 0; i++) {
		const struct batch_row *row = &batch->rows[i];

		if (row->slot / SLOTS_PER_DAY != of->day)
			continue;
		if (!has_series || row->series != batch->rows[i - 1].series ||
		    batch->rows[i - 1].slot / SLOTS_PER_DAY != of->day)
			has_series = rows_add_series(of, row->series, &sample.series, &sample.lane);
		if (!has_series)
			continue;
		r = stack_of(of, row->stack, &sample.stack);
		sample.slot = row->slot;
		sample.value = row->value;
		if (r == 0)
			r = vec_push(&of->rows->samples, sample);
	}
	return r;
}

static int compare_hashes(const struct hash128 *a, const struct hash128 *b)
{
	return memcmp(a->bytes, b->bytes, sizeof(a->bytes));
}

static int compare_runs(const struct sample *a, const struct sample *b)
{
	uint64_t a_hour = a->slot / SLOTS_PER_HOUR, b_hour = b->slot / SLOTS_PER_HOUR;

	if (a->lane != b->lane)
		return a->lane < b->lane ? -1 : 1;
	if (a_hour != b_hour)
		return a_hour < b_hour ? -1 : 1;
	return compare_hashes(&a->series, &b->series);
}

/* Equal stacks are adjacent, because they compress well then. */
static int compare_samples(const void *a, const void *b)
{
	const struct sample *left = a, *right = b;
	int order = compare_runs(left, right);

	if (order == 0)
		order = compare_hashes(&left->stack, &right->stack);
	if (order == 0)
		order = (left->slot > right->slot) - (left->slot < right->slot);
	return order;
}

static void add_sample_row(struct rows_batch *of, const struct sample *samples, size_t count)
{
	uint64_t hour = samples[0].slot / SLOTS_PER_HOUR;
	uint64_t first = samples[0].slot, last = samples[0].slot;
	struct bytes *row = &of->rows->tables[ROWS_SAMPLES];

	for (size_t i = 1; i < count; i++) {
		first = MIN(first, samples[i].slot);
		last = MAX(last, samples[i].slot);
	}
	row_add_u16(row, (uint16_t)of->day);
	row_add_u64(row, samples[0].lane);
	row_add_u32(row, (uint32_t)hour);
	row_add_hash(row, &samples[0].series);
	row_add_u64(row, of->batch->epoch);
	row_add_u64(row, of->batch->sequence);
	row_add_u64(row, first);
	row_add_u64(row, last);
	row_add_count(row, count);
	for (size_t i = 0; i < count; i++)
		row_add_hash(row, &samples[i].stack);
	row_add_count(row, count);
	for (size_t i = 0; i < count; i++)
		row_add_u32(row, (uint32_t)(samples[i].slot % SLOTS_PER_HOUR));
	row_add_count(row, count);
	for (size_t i = 0; i < count; i++)
		row_add_u64(row, samples[i].value);
}

static void add_marker(struct rows_batch *of)
{
	const struct hash128 marker = rows_marker(of->tenant, of->batch);
	struct bytes *row = &of->rows->tables[ROWS_MARKERS];

	row_add_u16(row, (uint16_t)of->day);
	row_add_u64(row, 0);
	row_add_u32(row, 0);
	row_add_hash(row, &marker);
	row_add_u64(row, of->batch->epoch);
	row_add_u64(row, of->batch->sequence);
	row_add_u64(row, 0);
	row_add_u64(row, 0);
	for (int i = 0; i < 3; i++)
		row_add_count(row, 0);
}

static void add_samples(struct rows_batch *of)
{
	struct sample *samples = of->rows->samples.items;
	size_t count = of->rows->samples.count;
	size_t begin = 0;

	if (count > 0)
		qsort(samples, count, sizeof(*samples), compare_samples);
	for (size_t i = 1; i <= count; i++) {
		if (i < count && compare_runs(&samples[begin], &samples[i]) == 0)
			continue;
		add_sample_row(of, &samples[begin], i - begin);
		begin = i;
	}
	add_marker(of);
}

/* The row of the batch belongs to the day in which it closed, which is one of its days. */
static void add_batch(struct rows_batch *of, uint64_t stored_ns)
{
	const struct batch *batch = of->batch;
	struct bytes *row = &of->rows->tables[ROWS_BATCHES];

	row_add_u16(row, (uint16_t)of->day);
	row_add_text(row, of->tenant);
	row_add_hash(row, &batch->agent_id);
	row_add_u64(row, batch->epoch);
	row_add_u64(row, batch->sequence);
	row_add_u64(row, batch->opened_wall_ns);
	row_add_u64(row, batch->closed_wall_ns);
	row_add_u64(row, stored_ns);
	row_add_u64(row, batch->n_rows);
	row_add_count(row, batch->n_counters);
	for (uint32_t i = 0; i < batch->n_counters; i++)
		row_add_text(row, batch->counters[i].name);
	row_add_count(row, batch->n_counters);
	for (uint32_t i = 0; i < batch->n_counters; i++)
		row_add_u64(row, batch->counters[i].value);
}

static int add_days(struct rows_batch *of, const struct batch_days *days, uint64_t stored_ns)
{
	const struct batch *batch = of->batch;
	uint64_t closed_ns = MAX(batch->closed_wall_ns, batch->opened_wall_ns + 1);
	uint64_t closed_day = (closed_ns - 1) / SLOT_NS / SLOTS_PER_DAY;

	for (size_t i = 0; i < days->count; i++) {
		int r;

		of->day = days->days[i];
		rows_add_definitions(of);
		r = collect_samples(of);
		if (r < 0)
			return r;
		add_samples(of);
		if (of->day == closed_day)
			add_batch(of, stored_ns);
	}
	return rows_error(of->rows);
}

static void cut(struct bytes *bytes, size_t size)
{
	bytes->size = size;
	bytes->error = 0;
}

int rows_add(struct rows *rows, const char *tenant, const struct batch *batch,
	     const struct numbers *numbers, const struct batch_days *days, uint64_t stored_ns)
{
	struct rows_batch of = {
		.rows = rows, .tenant = tenant, .batch = batch, .numbers = numbers
	};
	size_t sizes[ROWS_TABLE_END];
	int r;

	if (hash_table_count(rows->written) > ROWS_MAX_WRITTEN)
		hash_table_clear(rows->written);
	for (size_t i = 0; i < ROWS_TABLE_END; i++)
		sizes[i] = rows->tables[i].size;
	r = add_days(&of, days, stored_ns);
	if (r == 0)
		return 0;
	for (size_t i = 0; i < ROWS_TABLE_END; i++)
		cut(&rows->tables[i], sizes[i]);
	hash_table_clear(rows->written);
	return r;
}

struct bytes_view rows_of(const struct rows *rows, enum rows_table table)
{
	return bytes_view_of(&rows->tables[table]);
}

void rows_written(struct rows *rows)
{
	for (size_t i = 0; i < ROWS_TABLE_END; i++)
		bytes_clear(&rows->tables[i]);
}

void rows_discard(struct rows *rows)
{
	rows_written(rows);
	hash_table_clear(rows->written);
}
