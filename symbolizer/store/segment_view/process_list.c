/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that start in the time of a part are in no earlier part, and few others live long. So
 * the runs of a host overlap little, and all keys of a run up to the first key of the other runs
 * are counted at once.
 */

#include "symbolizer/store/segment_view/process_list.h"

#include <stdlib.h>
#include <string.h>

#include "common/arena.h"
#include "common/scoped.h"
#include "common/search.h"

/* A process of a segment. */
struct entry {
	uint32_t host; /* row */
	struct process_key key;
};

static int compare_keys(const struct process_key *a, const struct process_key *b)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(a->start_time_ns); i++)
		if (a->start_time_ns[i] != b->start_time_ns[i])
			return a->start_time_ns[i] < b->start_time_ns[i] ? -1 : 1;
	return (a->pid > b->pid) - (a->pid < b->pid);
}

static int compare_entries(const void *a, const void *b)
{
	const struct entry *left = a, *right = b;

	if (left->host != right->host)
		return left->host < right->host ? -1 : 1;
	return compare_keys(&left->key, &right->key);
}

/* Sorts, unless the segment has them in this order, as segments on disk do. */
static void sort_entries(struct entry *entries, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		if (compare_entries(&entries[i - 1], &entries[i]) > 0) {
			qsort(entries, count, sizeof(*entries), compare_entries);
			return;
		}
	}
}

/* Processes with equal keys may differ in their names. Returns the new number. */
static size_t remove_equal(struct entry *entries, size_t count)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		if (n == 0 || compare_entries(&entries[n - 1], &entries[i]) != 0)
			entries[n++] = entries[i];
	return n;
}

static size_t find_entries(const struct segment *segment, const bool *is_active,
			   struct entry *entries)
{
	const uint64_t *const *column = segment->column;
	size_t n = 0;

	for (size_t i = 0; i < segment->count[SEGMENT_PROCESS]; i++) {
		const uint64_t start = column[PROCESS_START_TIME_NS][i];

		if (is_active[i] && !(column[PROCESS_FLAGS][i] & SEGMENT_WITHOUT_STACKS))
			entries[n++] = (struct entry){
				.host = (uint32_t)column[PROCESS_HOST][i],
				.key = { .start_time_ns = { (uint32_t)(start >> 32),
							    (uint32_t)start },
					 .pid = (uint32_t)column[PROCESS_PID][i] },
			};
	}
	sort_entries(entries, n);
	return remove_equal(entries, n);
}

static struct bytes_view host_of(const struct segment *segment, const struct entry *entry)
{
	return segment_text(segment, segment->column[HOST_ID][entry->host]);
}

static bool begins_run(const struct entry *entries, size_t i)
{
	return i == 0 || entries[i].host != entries[i - 1].host;
}

static struct process_list *allocate(const struct segment *segment, const struct entry *entries,
				     size_t count)
{
	size_t n_runs = 0, text_bytes = 0, bytes;
	struct process_list *list;

	for (size_t i = 0; i < count; i++) {
		if (!begins_run(entries, i))
			continue;
		n_runs++;
		text_bytes += host_of(segment, &entries[i]).size;
	}
	bytes = sizeof(*list) + 2 * n_runs * sizeof(*list->run_end) + count * sizeof(*list->keys) +
		text_bytes;
	list = malloc(bytes);
	if (!list)
		return NULL;
	*list = (struct process_list){ .n_references = 1, .bytes = bytes, .n_runs = n_runs };
	list->run_end = (uint32_t *)(list + 1);
	list->host_end = list->run_end + n_runs;
	list->keys = (struct process_key *)(list->host_end + n_runs);
	list->texts = (char *)(list->keys + count);
	return list;
}

int process_list_new(const struct segment *segment, const bool *is_active, struct arena *scratch,
		     struct process_list **ret_list)
{
	struct entry *entries =
		arena_alloc_array(scratch, segment->count[SEGMENT_PROCESS], sizeof(*entries));
	size_t count, run = 0, text_end = 0;
	struct process_list *list;

	if (!entries)
		return -ENOMEM;
	count = find_entries(segment, is_active, entries);
	list = allocate(segment, entries, count);
	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		list->keys[i] = entries[i].key;
		if (begins_run(entries, i)) {
			struct bytes_view host = host_of(segment, &entries[i]);

			if (host.size > 0)
				memcpy(list->texts + text_end, host.data, host.size);
			text_end += host.size;
			list->host_end[run++] = (uint32_t)text_end;
		}
		list->run_end[run - 1] = (uint32_t)i + 1;
	}
	*ret_list = list;
	return 0;
}

struct process_list *process_list_free(struct process_list *list)
{
	if (list && atomic_fetch_sub(&list->n_references, 1) == 1)
		free(list);
	return NULL;
}

struct process_list *process_list_ref(struct process_list *list)
{
	(void)atomic_fetch_add(&list->n_references, 1);
	return list;
}

struct process_run process_list_run(const struct process_list *list, size_t run)
{
	return (struct process_run){ .next = list->keys + (run ? list->run_end[run - 1] : 0),
				     .end = list->keys + list->run_end[run] };
}

struct bytes_view process_list_host(const struct process_list *list, size_t run)
{
	size_t start = run ? list->host_end[run - 1] : 0;

	return (struct bytes_view){ .data = (const uint8_t *)list->texts + start,
				    .size = list->host_end[run] - start };
}

/* The first key that is not less than @key. The next keys are tried first, in growing steps. */
static const struct process_key *skip_less(const struct process_run *run,
					   const struct process_key *key)
{
	size_t low = 0, high = 1, count = (size_t)(run->end - run->next);
	const struct process_key *near;

	while (high < count && compare_keys(run->next + high, key) < 0) {
		low = high;
		high *= 2;
	}
	high = MIN(high, count);
	near = run->next + low;
	return near + lower_bound(at, high - low, compare_keys(near + at, key) < 0);
}

/* Moves the run at @i down until no run below it has a smaller first key: a binary heap. */
static void sift_down(struct process_run *runs, size_t n_runs, size_t i)
{
	for (;;) {
		const struct process_run run = runs[i];
		size_t least = i;

		for (size_t child = 2 * i + 1; child < n_runs && child <= 2 * i + 2; child++)
			if (compare_keys(runs[child].next, runs[least].next) < 0)
				least = child;
		if (least == i)
			return;
		runs[i] = runs[least];
		runs[least] = run;
		i = least;
	}
}

size_t process_runs_count(struct process_run *runs, size_t n_runs)
{
	size_t n = 0;

	for (size_t i = n_runs / 2; i-- > 0;)
		sift_down(runs, n_runs, i);
	while (n_runs > 1) {
		const bool is_right = n_runs > 2 && compare_keys(runs[2].next, runs[1].next) < 0;
		const struct process_key *second = runs[is_right ? 2 : 1].next;

		if (compare_keys(runs[0].next, second) == 0) {
			runs[0].next++; /* counted with the other run */
		} else {
			const struct process_key *next = skip_less(&runs[0], second);

			n += (size_t)(next - runs[0].next);
			runs[0].next = next;
		}
		if (runs[0].next == runs[0].end)
			runs[0] = runs[--n_runs];
		sift_down(runs, n_runs, 0);
	}
	return n_runs ? n + (size_t)(runs[0].end - runs[0].next) : 0;
}
