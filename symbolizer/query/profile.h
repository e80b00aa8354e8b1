/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One profile: a selection of series and time, merged into a tree with names. This is where the
 * store and the symbols meet.
 */

#include "common/clock.h"
#include "symbolizer/flame/tree.h"
#include "symbolizer/store/store.h"
#include "symbolizer/symbols/resolver.h"

struct profile_request {
	const char *tenant;
	enum event_type type;
	const char *service; /* NULL: whatever the filter leaves, at most ten services; "Total":
				   whole hosts */
	bool any_services; /* without a service: all that the filter leaves, not only ten. Not for trees,
				   whose root is named after them */
	const char *tag_filter; /* NULL or "": all */
	const char *group_by;   /* NULL or "": none */
	uint64_t from_slot;     /* [from_slot, to_slot) */
	uint64_t to_slot;
	int max_kernel_stack_depth; /* -1: all; inlined functions count */
	bool no_inlines;            /* no frames of their own for what was inlined */
	bool function_starts; /* label frames without a name by the beginning of their function */
	bool fold_threads;
	uint32_t max_nodes; /* 0: no pruning */
	/* the tree's values are multiples of it (tree_finish_rounded()); 0: exact */
	uint64_t value_unit;
};

/*
 * What is said beside the tree: X-Hearth-* headers and the debug object. n_frames counts different
 * frames. A value is unsymbolized when the leaf that is shown has no name; the six reasons add up
 * to value_unsymbolized. n_tables_pending: executables that have more names when their symbol
 * tables are made. n_nodes_pruned: by max_nodes. n_stacks_shortened: the tree was full
 * (PROFILE_MAX_NODES), their values stand at the last frame that had room.
 */
struct profile_stats {
	uint64_t n_series, n_rows, n_stacks, n_frames, n_nodes, n_nodes_pruned, n_stacks_shortened;
	uint64_t value_total;        /* in the event type's unit */
	uint64_t value_unsymbolized; /* whose leaf frame has no name */
	uint64_t value_cut;          /* whose stack was cut */
	uint64_t value_reduced;      /* sampled at less than the host's highest frequency */
	uint64_t unsymbolized_no_debuginfo, unsymbolized_stripped, unsymbolized_outside,
		unsymbolized_pending, unsymbolized_table_failed, unsymbolized_no_mapping;
	uint64_t n_tables_pending;
	uint64_t n_damaged_blocks; /* of the store, whose samples are missing */
	uint64_t covered_s; /* of the range, in which the agent of a selected host was there; 0: not
			       known */
	uint64_t scan_ns, resolve_ns, merge_ns;
};

/* Of the tree before max_nodes is applied; 50 bytes each. */
#define PROFILE_MAX_NODES (8u << 20)

/* How long a query waits for symbol tables that are being made. Small ones take milliseconds. */
#define PROFILE_PATIENCE_NS (3 * NSEC_PER_SEC)

/* Holds a list of the known tags. */
#define PROFILE_MESSAGE_SIZE 768

/*
 * 1: *ret_tree holds the profile; ret_message is empty, or says what it lacks. 0: no data, and
 * ret_message says why (no such service; service known but no samples in the range, last sample at
 * ...). -EINVAL: the request is at fault, ret_message says where ("tag_filter:
 * ... at character N", "app_service count N is invalid"). Other negative errno: the store failed.
 */
int profile_query(struct store *store, struct resolver *resolver, const struct clock *clock,
		  const struct profile_request *request, struct tree **ret_tree,
		  struct profile_stats *ret_stats, char ret_message[PROFILE_MESSAGE_SIZE]);

struct unresolved_files;

/*
 * What of the selection has no name, by file (unresolved.h), in @arena. The same results; tree
 * options do not matter. ret_stats has the totals of a profile of the same selection.
 */
int profile_unresolved(struct store *store, struct resolver *resolver, const struct clock *clock,
		       const struct profile_request *request, struct arena *arena,
		       struct unresolved_files *ret_files, struct profile_stats *ret_stats,
		       char ret_message[PROFILE_MESSAGE_SIZE]);

struct service_summary {
	const char *name;
	enum event_type type;
	uint64_t first_wall_ns, last_wall_ns;
	uint32_t n_hosts, n_processes;
};

/* Services with samples in [from_slot, to_slot), by name then type; in @arena. "Total" is not among
 * them. */
int profile_list_services(struct store *store, const char *tenant, uint64_t from_slot,
			  uint64_t to_slot, struct arena *arena,
			  struct service_summary **ret_services, size_t *ret_count);
