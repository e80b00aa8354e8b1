/* SPDX-License-Identifier: Apache-2.0 */
/* A list of records, and a table with the number of records of each process. */
#include "agent/parked_records.h"

#include <string.h>

#include "common/hash_table.h"

struct parked {
	struct parked *next;
	uint64_t deadline_ns;
	struct parked_record record;
	_Alignas(8) uint8_t bytes[];
};

struct waiting_process {
	size_t n_records;
	uint64_t blocked_in_run; /* number of the last run in which one of its records stayed */
};

struct parked_records {
	size_t max_bytes, bytes, count;
	struct parked *first, **end;
	struct hash_table *processes; /* uint32_t pid -> struct waiting_process */
	uint64_t run;                 /* number of the run in progress, or of the last one */
	uint64_t n_late;
};

int parked_records_new(size_t max_bytes, struct parked_records **ret_records)
{
	scoped(parked_records_freep) struct parked_records *records = calloc(1, sizeof(*records));
	int r;

	if (!records)
		return -ENOMEM;
	records->max_bytes = max_bytes;
	records->end = &records->first;
	r = hash_table_new(sizeof(uint32_t), sizeof(struct waiting_process), 0,
			   &records->processes);
	if (r < 0)
		return r;
	*ret_records = take_ptr(records);
	return 0;
}

struct parked_records *parked_records_free(struct parked_records *records)
{
	if (!records)
		return NULL;
	while (records->first) {
		struct parked *next = records->first->next;

		free(records->first);
		records->first = next;
	}
	(void)hash_table_free(records->processes);
	free(records);
	return NULL;
}

bool parked_records_has(const struct parked_records *records, uint32_t pid)
{
	return records->count > 0 && hash_table_find(records->processes, &pid);
}

int parked_records_add(struct parked_records *records, const struct parked_record *record,
		       uint64_t deadline_ns)
{
	const size_t size = sizeof(struct parked) + record->size;
	struct parked *parked;
	void *value;
	int r;

	if (size > records->max_bytes - records->bytes)
		return -ENOSPC;
	parked = malloc(size);
	if (!parked)
		return -ENOMEM;
	r = hash_table_insert(records->processes, &record->pid, &value);
	if (r < 0) {
		free(parked);
		return r;
	}
	((struct waiting_process *)value)->n_records++;
	*parked = (struct parked){ .deadline_ns = deadline_ns, .record = *record };
	memcpy(parked->bytes, record->bytes, record->size);
	parked->record.bytes = parked->bytes;
	*records->end = parked;
	records->end = &parked->next;
	records->bytes += size;
	records->count++;
	return 0;
}

/* Events are not counted: they wait for samples, not for files. */
static void count_late(struct parked_records *records, const struct parked_record *record)
{
	records->n_late += record->kind != PARKED_EVENT;
}

static void remove_at(struct parked_records *records, struct parked **link)
{
	struct parked *parked = *link;
	struct waiting_process *process = hash_table_find(records->processes, &parked->record.pid);

	*link = parked->next;
	if (!*link)
		records->end = link;
	if (--process->n_records == 0)
		(void)hash_table_remove(records->processes, &parked->record.pid);
	records->bytes -= sizeof(*parked) + parked->record.size;
	records->count--;
	free(parked);
}

int parked_records_run(struct parked_records *records, uint64_t now_ns, parked_try function,
		       void *arg)
{
	struct parked **link = &records->first;

	records->run++;
	while (*link) {
		struct parked *parked = *link;
		struct waiting_process *process =
			hash_table_find(records->processes, &parked->record.pid);
		bool is_late = now_ns >= parked->deadline_ns;
		int r = 0;

		if (process->blocked_in_run != records->run)
			r = function(arg, &parked->record, is_late);
		if (r == 0) {
			process->blocked_in_run = records->run;
			link = &parked->next;
			continue;
		}
		if (is_late)
			count_late(records, &parked->record);
		remove_at(records, link);
		if (r < 0)
			return r;
		if (r == 2)
			return 1;
	}
	return 0;
}

int parked_records_end(struct parked_records *records, uint32_t pid, parked_try function, void *arg)
{
	struct parked **link = &records->first;

	while (*link && parked_records_has(records, pid)) {
		struct parked *parked = *link;
		int r;

		if (parked->record.pid != pid) {
			link = &parked->next;
			continue;
		}
		r = function(arg, &parked->record, true);
		count_late(records, &parked->record);
		remove_at(records, link);
		if (r < 0)
			return r;
	}
	return 0;
}

size_t parked_records_count(const struct parked_records *records)
{
	return records->count;
}

uint64_t parked_records_late(const struct parked_records *records)
{
	return records->n_late;
}
