/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A view of segments: answers the questions of a query over many segments as if they were one. An
 * engine implements the operations of struct store_view with it; the names are the same.
 *
 * The caller adds the segments of one tenant that a query may need (parts): of several services,
 * hours and days, samples and roll-ups, and copies of segments that are still in memory. The view
 * gives one handle to equal hosts, processes, series, executables, code objects and stacks of
 * several parts. A handle is valid in this view only. Handles are not 0.
 *
 * Equal are: hosts of one agent ID; processes with equal host, PID, start time, name and main
 * executable; executables and code objects of equal identity; all else with equal attributes. Where
 * parts describe one host or process differently, the newest part counts.
 *
 * A part is decoded when a call needs it: only columns that the call needs, one part at a time, in
 * memory that the next part uses again. Frames are only translated for stacks with a value. A part
 * that is damaged adds nothing: it is counted and skipped.
 *
 * Roll-ups have the sums of a service, without the series. The view uses a roll-up as a whole or
 * not at all. segment_view_sum() takes it instead of the samples that it includes if
 *   - its range [first_slot, end_slot) lies within the range of the query,
 *   - all its series are selected, in one group, with their period as factor (1 without a period),
 *   - values are added, and no last slots are asked for.
 * Then the result is the same as with the samples. If the samples of a roll-up are removed
 * (segment_part.samples_removed), each query that overlaps it gets all of it: the range of the
 * answer is wider than that of the query, and segment_view_sum() returns it. If some series of such
 * a roll-up are not selected, or in different groups, the sums of the selected series are still
 * right, but their stacks are not known (STORE_OTHER_STACKS).
 *
 * Used by one thread. Memory is taken from a budget. Results are valid as long as the view and the
 * arena of the call.
 */

#include "common/hash.h"
#include "symbolizer/store/segment/segment.h"
#include "symbolizer/store/store_view.h"

struct segment_view;

struct segment_view_options {
	/*
	 * What they point to outlives the view. Parts of other tenants are ignored. The budget also
	 * bounds the tables.
	 */
	struct store_view_options store;
	size_t max_part_bytes; /* of the decoded columns of one part */
	size_t max_bytes;      /* of all handles and texts */
	/* Outlives the view, and is shared by views. NULL: none. */
	struct process_cache *processes;
};

/* Four columns of SEGMENT_MAX_ROWS rows, and as much for the other tables. */
#define SEGMENT_VIEW_MAX_PART_BYTES (512 * MIB)

/* The head of a segment. */
struct segment_part_head {
	const char *service, *event, *unit;
	enum event_value_kind event_kind;
	enum segment_kind kind;
};

/* Identifies the content of a segment in a day file, as long as the engine has the folder open. */
struct segment_part_key {
	uint64_t day, id; /* the ID of a segment that was merged may be given to another one */
	uint64_t flush, n_rows;
};

/* What a view knows about a segment without decoding it. */
struct segment_part {
	/*
	 * One of three: an encoded segment; a segment with all tables; a function that appends the
	 * bytes of an encoded one, which are needed once or twice. -EUCLEAN: they are damaged. All
	 * must outlive the view.
	 */
	struct bytes_view bytes;
	const struct segment *decoded;
	int (*fetch)(void *arg, struct bytes *out);
	void *fetch_arg;
	/* NULL: it is decoded. Else the segment is of the tenant of the view. */
	const struct segment_part_head *head;
	/* For the cache of options.processes. n_rows 0: the part is not looked up there. */
	struct segment_part_key key;
	/* All rows are in [first_slot, end_slot). For a roll-up: the samples that it sums are. */
	uint64_t first_slot, end_slot;
	/* Samples: a roll-up of the same service and event type sums these rows too. */
	bool in_rollup;
	/* Roll-up: some of the samples that it sums are in no part. */
	bool samples_removed;
};

/* 0 or -ENOMEM. */
int segment_view_new(const struct segment_view_options *options, struct segment_view **ret_view);
struct segment_view *segment_view_free(struct segment_view *view);

/*
 * Decodes nothing. Parts may be added in any order, also after questions, but before the first one
 * that concerns their service, event type and time. 0 or -ENOMEM.
 */
int segment_view_add(struct segment_view *view, const struct segment_part *part);

/* Parts that were added. */
size_t segment_view_count(const struct segment_view *view);

/* Parts that were skipped until now because they are damaged, or of a newer format. */
size_t segment_view_damaged(const struct segment_view *view);

/*
 * Series with samples in the range of @query, ascending by ID; they share processes and hosts. A
 * series counts if the time from its first to its last sample in a part overlaps the range.
 * ret_series[*ret_count] is in @arena. first_slot and last_slot are of the samples in all parts
 * that overlap the range. Hosts have an ID, a name, an agent ID and labels only; segments do not
 * have the rest. 0, -ENOMEM, -ECANCELED.
 */
int segment_view_find_series(struct segment_view *view, const struct store_series_query *query,
			     struct arena *arena, struct store_series **ret_series,
			     size_t *ret_count);

/*
 * Returns the handle of the host with this agent ID, and adds the host if no part has it. 0 or
 * -ENOMEM.
 */
int segment_view_add_host(struct segment_view *view, const struct hash128 *agent, uint32_t *ret_id);

/* The agent ID of a host. False: the handle is not one of a host. */
bool segment_view_agent_of(const struct segment_view *view, uint32_t host,
			   struct hash128 *ret_agent);

/* What is known about an executable without its segments. */
struct segment_view_file {
	struct executable_id identity;
	enum executable_role role;
	const char *name, *path; /* NULL: unknown */
};

/* Returns the handle of an executable, and adds it if no part has it. 0 or -ENOMEM. */
int segment_view_add_executable(struct segment_view *view, const struct segment_view_file *file,
				uint32_t *ret_id);

/* Gives an event type a handle (ret_info->type). 0, -EINVAL, -ENOMEM. */
int segment_view_add_event(struct segment_view *view, const struct segment_part_head *head,
			   struct event_type_info *ret_info);

/* The name of an event type with a handle of this view. NULL: it has none. */
const char *segment_view_event_name(const struct segment_view *view, enum event_type type);

/* The event type of this name in the parts read so far. 1 found, 0 unknown. */
int segment_view_find_event_type(const struct segment_view *view, const char *name,
				 struct event_type_info *ret_info);

/*
 * Like store_sum(). @query->series has IDs of segment_view_find_series(). The sum is exact, and
 * ends at UINT64_MAX. The answer covers the slots from ret_range[0] up to, not including,
 * ret_range[1]; see roll-ups above. 0, -ENOMEM, -ENOSPC (too many groups), -ECANCELED.
 */
int segment_view_sum(struct segment_view *view, const struct store_sum_query *query,
		     struct store_sums *ret_sums, uint64_t ret_range[2]);

/*
 * Visits the samples of series in a range, like store_scan(). Reads no roll-ups. 0 or negative
 * errno.
 */
int segment_view_scan(struct segment_view *view, const struct store_range *range,
		      store_row_function function, void *arg);

/*
 * The frames of stacks of a sum, in @arena. Stack 0, STORE_OTHER_STACKS and unknown IDs have none.
 * 0 or -ENOMEM.
 */
int segment_view_load_stacks(const struct segment_view *view, const uint64_t *ids, size_t count,
			     struct arena *arena, struct store_stack *ret_stacks);

/* Like store_load_executables(). 0 or -ENOMEM. */
int segment_view_load_executables(const struct segment_view *view, const uint32_t *ids,
				  size_t count, struct arena *arena,
				  struct store_executable *ret_executables);

/* Like store_load_code_objects(). Attributes that are damaged are "". 0 or -ENOMEM. */
int segment_view_load_code_objects(const struct segment_view *view, const uint32_t *ids,
				   size_t count, struct arena *arena,
				   struct store_code_object *ret_objects);

/*
 * Finds an executable that was added, or that a process or a stack read so far refers to. 1 found,
 * 0 unknown, -ENOMEM.
 */
int segment_view_find_executable(const struct segment_view *view,
				 const struct executable_id *identity, struct arena *arena,
				 struct store_executable *ret_executable);

/*
 * Fills ret_paths[count] with the paths from which processes map executables. NULL: unknown.
 * Process 0: any process read so far.
 */
void segment_view_paths_of(const struct segment_view *view, const struct store_mapped_file *files,
			   size_t count, const char **ret_paths);

/* Fills ret_names[count] with the names of KERNEL_NAMED frames. NULL: unknown. */
void segment_view_named_frames(const struct segment_view *view, const uint64_t *addresses,
			       size_t count, const char **ret_names);

/*
 * Services with processes in the range of @query, which names no service and no type. Processes
 * without stacks do not count. *ret_services is in @arena. first_slot and last_slot are of the
 * series, or of the parts that lie within the range. A roll-up that lies within the range is read
 * instead of its samples. 0, -ENOMEM, -ECANCELED.
 */
int segment_view_active_services(struct segment_view *view, const struct store_series_query *query,
				 struct arena *arena, struct store_active_service **ret_services,
				 size_t *ret_count);

DEFINE_SCOPED(struct segment_view *, segment_view_free);
