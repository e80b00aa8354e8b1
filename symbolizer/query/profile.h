/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Queries a profile: the samples of a selection of series in a time range, symbolized and merged
 * into a tree. Only this folder uses both the sample store and the symbol tables.
 */

#include "common/clock.h"
#include "symbolizer/flame/tree.h"
#include "symbolizer/query/losses.h"
#include "symbolizer/store/store_view.h"
#include "symbolizer/symbols/resolver.h"

struct filter;

struct profile_request {
	/* A handle of the view, if it is not in the table. EVENT_NONE: several types, which have
	 * the unit and kind of @event. */
	enum event_type type;
	const enum event_type *types; /* [n_types], if @type is EVENT_NONE */
	size_t n_types;               /* 0: all types, for requests that sum no values */
	/* Describes @type, if it is not in the table of common/event_type.h. */
	const struct event_type_info *event;
	/* NULL: all services that the filter selects, at most SELECTION_MAX_SERVICES. "Total":
	 * whole hosts. */
	const char *service;
	/* Without a service: any number of services. Not for trees: their names label the root. */
	bool any_services;
	const char *tag_filter;      /* NULL or "": selects everything */
	const struct filter *labels; /* has to select the series too; NULL: selects everything */
	const char *group_by;        /* NULL or "": none */
	uint64_t from_slot;          /* [from_slot, to_slot) */
	uint64_t to_slot;
	uint64_t now_ns;            /* wall, of the server; 0: unknown */
	int max_kernel_stack_depth; /* kernel frames, inlined ones included; -1: all */
	bool no_inlines;            /* no separate frames for inlined functions */
	bool function_starts;       /* label frames without a name with their function's address */
	bool fold_threads;
	bool per_process;    /* for profile_visit_stacks(): a stack is visited once per process */
	bool without_losses; /* profile_stats.losses and covered_s are not computed */
	/* For profile_query(): the label of a function. The tree has its callers, or its callees
	 * (tree_side.h). NULL or "": the whole tree. At most one is set. */
	const char *callers_of, *callees_of;
	uint32_t max_nodes; /* 0: no pruning */
	/*
	 * For profile_visit_stacks(): divides the range into this many blocks of equal length. A
	 * stack is visited once per block in which it has a value (group->block). 0: one block.
	 */
	uint32_t n_blocks;
	uint64_t value_unit; /* values are rounded to it (tree_finish_rounded()); 0: exact */
};

/* Name, unit and kind of the request's event type. */
static inline const struct event_type_info *profile_event(const struct profile_request *request)
{
	return request->event ? request->event : event_type_info(request->type);
}

/* The event types of the request. */
static inline size_t profile_types(const struct profile_request *request,
				   const enum event_type **ret_types)
{
	*ret_types = request->type == EVENT_NONE ? request->types : &request->type;
	return request->type == EVENT_NONE ? request->n_types : 1;
}

static inline bool profile_has_type(const struct profile_request *request, enum event_type type)
{
	const enum event_type *types;
	size_t n_types = profile_types(request, &types);

	for (size_t i = 0; i < n_types; i++)
		if (types[i] == type)
			return true;
	return false;
}

/* Figures of a profile, for X-Hearth-* headers and the debug object. */
struct profile_stats {
	uint64_t n_series, n_rows, n_stacks;
	uint64_t n_frames;  /* distinct frames */
	uint64_t period_ns; /* of all series; 0: it differs between them, or there is none */
	uint64_t longest_period_ns; /* 0: a series has none, so that values are no counts */
	uint64_t n_nodes;
	uint64_t n_nodes_pruned; /* because of max_nodes */
	/* The tree was full (PROFILE_MAX_NODES): the value is at the last frame that had room. */
	uint64_t n_stacks_shortened;
	uint64_t value_total;        /* in the event type's unit */
	uint64_t value_unsymbolized; /* the leaf shown has no name: the sum of the next six */
	uint64_t unsymbolized_no_debuginfo, unsymbolized_stripped, unsymbolized_outside,
		unsymbolized_pending, unsymbolized_table_failed, unsymbolized_no_mapping;
	uint64_t value_cut; /* with a truncated stack: the sum of the next array */
	uint64_t value_cut_by[STACK_CUT_END];
	uint64_t value_other;      /* of stacks beyond STORE_SUM_MAX_ITEMS, summed in one node */
	uint64_t n_blocks;         /* into which the range was divided; 0: it was not */
	uint64_t value_reduced;    /* sampled at less than the host's highest frequency */
	uint64_t n_tables_pending; /* executables with a symbol table that is still being made */
	uint64_t n_damaged_blocks; /* blocks of the store that were skipped */
	/* Seconds of the range in which the agent of a selected host ran; 0: unknown. */
	uint64_t covered_s;
	struct losses losses; /* of the selected hosts */
	uint64_t scan_ns, resolve_ns, merge_ns;
};

/* Adds a value with a stack that was truncated for reason @cut (enum stack_cut). */
static inline void profile_stats_add_cut(struct profile_stats *stats, uint8_t cut, uint64_t value)
{
	if (cut == STACK_CUT_NONE)
		return;
	stats->value_cut += value;
	/* [NONE]: reasons of later versions. */
	stats->value_cut_by[cut < STACK_CUT_END ? cut : STACK_CUT_NONE] += value;
}

/* Nodes of the tree before pruning; 50 bytes each. */
#define PROFILE_MAX_NODES (8u << 20)

/* Longest wait of a query for symbol tables that are being made. Small ones take milliseconds. */
#define PROFILE_PATIENCE_NS (3 * NSEC_PER_SEC)

/* Room for a list of the known tags, or for several parts of an answer that are missing. */
#define PROFILE_MESSAGE_SIZE 1536

/*
 * Returns 1 with the profile in *ret_tree; ret_message is empty or names missing parts. Returns 0
 * if there are no data; ret_message has the reason (unknown service; no samples in the range, last
 * sample at ...). Returns -EINVAL if the request is wrong; ret_message has the error ("tag_filter:
 * ... at character N", "app_service count N is invalid"). Other negative errno: the store failed;
 * -ECANCELED: the view's request was
 * canceled; -ENOMEM: also if the view's memory budget is used up.
 */
int profile_query(struct store_view *view, struct resolver *resolver, const struct clock *clock,
		  const struct profile_request *request, struct tree **ret_tree,
		  struct profile_stats *ret_stats, char ret_message[PROFILE_MESSAGE_SIZE]);

struct stack_visitor;

/*
 * Visits the stacks of a profile one by one instead of merging them: resolved_stacks.h. Results,
 * ret_stats and ret_message are those of profile_query(); ret_message is complete after the visit.
 * Stacks of TOTAL_SERVICE have no frames. max_nodes and value_unit have no effect.
 */
int profile_visit_stacks(struct store_view *view, struct resolver *resolver,
			 const struct clock *clock, const struct profile_request *request,
			 const struct stack_visitor *visitor, struct profile_stats *ret_stats,
			 char ret_message[PROFILE_MESSAGE_SIZE]);

struct unresolved_files;

/*
 * Lists the files of the selection's code without names (unresolved.h), allocated in @arena.
 * Results and ret_stats are those of profile_query(). The options for trees have no effect.
 */
int profile_unresolved(struct store_view *view, struct resolver *resolver,
		       const struct clock *clock, const struct profile_request *request,
		       struct arena *arena, struct unresolved_files *ret_files,
		       struct profile_stats *ret_stats, char ret_message[PROFILE_MESSAGE_SIZE]);

struct service_summary {
	const char *name;
	enum event_type type;
	const struct event_type_info *event; /* of @type */
	uint64_t first_wall_ns, last_wall_ns;
	uint32_t n_hosts, n_processes;
};

/* Lists the services with samples in [from_slot, to_slot), without Total, by name, then type.
 * Allocates them in @arena. */
int profile_list_services(struct store_view *view, uint64_t from_slot, uint64_t to_slot,
			  struct arena *arena, struct service_summary **ret_services,
			  size_t *ret_count);

/* Returns whether no row before services[index] has its event type. */
bool service_is_first_of_type(const struct service_summary *services, size_t index);
