/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Hosts, processes, series, stacks, executables and services as a view of the store returns them
 * (symbolizer/store/store_view.h). IDs are valid in the view that returned them.
 */

#include "symbolizer/store/batch.h"

struct store_host {
	uint32_t id;
	const char *name;
	const char *agent_id; /* hex */
	const char *kernel_release;
	const char *architecture;
	const char *agent_version;
	const char *boot_id;
	uint32_t n_cpus;
	const char **ips;
	uint32_t n_ips;
	struct label *labels;
	uint32_t n_labels;
	uint64_t first_seen_ns; /* wall */
	uint64_t last_seen_ns;
};

struct store_process {
	uint64_t id;
	const struct store_host *host;
	const char *name; /* app_service */
	const char *executable_path;
	uint32_t pid;
	uint64_t start_time_ns;
	uint32_t main_executable; /* ID, 0 unknown */
	/* A handle too: processes with an equal one map all files from equal paths. 0 unknown. */
	uint64_t path_set;
	bool kernel_thread;
	bool without_stacks;
	struct label *labels;
	uint32_t n_labels;
};

struct store_series {
	uint64_t id;
	const char *tenant;
	const struct store_process *process;
	uint32_t tid;
	const char *thread_name;
	enum event_type type;
	int cpu; /* -1 */
	uint64_t period_ns;
	const struct event_type_info *event; /* of @type; NULL: see store_series_event() */
	struct label *labels;                /* sorted by name */
	uint32_t n_labels;
	uint64_t first_slot, last_slot; /* of its samples on the days that the query overlaps */
};

struct store_frame {
	uint8_t kind;    /* enum frame_kind, or a number that this version does not know */
	uint32_t object; /* ID of an executable, or FRAME_CODE_OBJECT | ID; 0 none */
	uint64_t address;
};

/* Texts that are not known are "". */
struct store_code_object {
	uint32_t id; /* without FRAME_CODE_OBJECT */
	const char *language;
	const char *function;
	const char *qualified_name;
	const char *file;
	uint32_t first_line; /* 0 unknown */
	struct bytes_view line_table;
};

/* An executable in a process. */
struct store_mapped_file {
	uint64_t process; /* ID; 0: any of the latest thousands of processes */
	uint32_t executable;
};

struct store_stack {
	uint8_t cut;
	uint32_t n_frames;                /* 0 also for an unknown ID */
	const struct store_frame *frames; /* leaf first */
};

struct store_executable {
	uint32_t id;
	struct executable_id identity;
	const char *name;
	enum executable_role role;
	const struct load_segment *segments;
	uint32_t n_segments;
};

/* A name of processes of the tenant. */
struct store_service {
	const char *name;
	bool without_stacks; /* of the first process found with that name */
};

/* A service with samples of one event type in a time range. */
struct store_active_service {
	const char *name;
	enum event_type type;
	uint64_t first_slot, last_slot; /* of its series on the days that the query overlaps */
	uint32_t n_hosts, n_processes;
	const struct event_type_info *event; /* of @type */
};
