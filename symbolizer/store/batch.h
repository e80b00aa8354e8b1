/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A decoded batch of format 1 or 2, which ingest passes to a storage engine. All of it lives in one
 * arena, and batch_decode() has checked every count, index and text. Numbers are those of the agent
 * and are valid within its epoch. The slots of rows are wall clock.
 */

#include "common/bytes.h"
#include "common/elf/elf_file.h"
#include "common/event_type.h"
#include "common/executable_id.h"
#include "common/frame_kind.h"
#include "common/hash.h"
#include "common/limits.h"

struct label {
	const char *name;
	const char *value;
};

enum executable_role {
	ROLE_USER = 0,
	ROLE_KERNEL = 1,
	ROLE_KERNEL_MODULE = 2,
	ROLE_VDSO = 3,
};

struct batch_executable {
	uint32_t number;
	struct executable_id id;
	const char *name; /* base name */
	enum executable_role role;
	struct load_segment *segments; /* [n_segments]; none: the agent does not know them (yet) */
	uint32_t n_segments;
};

struct batch_path {
	uint32_t executable; /* number */
	const char *path;
};

struct batch_process {
	uint32_t number;
	uint32_t pid;
	uint32_t parent_pid;
	uint64_t start_time_ns; /* since boot */
	const char *name;       /* app_service */
	const char *executable_path;
	uint32_t main_executable; /* number, 0 unknown */
	bool kernel_thread;
	bool without_stacks;
	struct batch_path *paths;
	uint32_t n_paths;
	struct label *labels;
	uint32_t n_labels;
};

struct batch_series {
	uint32_t number;
	uint32_t process; /* number */
	uint32_t tid;
	const char *thread_name;
	enum event_type type;
	int cpu; /* -1: not recorded per CPU */
	uint64_t period_ns;
	/* NULL: @type is in the table of event_type.h, or EVENT_NONE (an empty definition) */
	const struct batch_event_type *described;
	struct label *labels; /* sorted by name */
	uint32_t n_labels;
};

/* An event type that is not in the table of common/event_type.h. */
struct batch_event_type {
	const char *name;
	const char *unit;
	enum event_value_kind kind;
};

/* Code that has no executable. Texts that the agent does not know are "". */
struct batch_code_object {
	uint32_t number;
	struct hash128 hash; /* of the content */
	const char *language;
	const char *function;
	const char *qualified_name;
	const char *file;
	uint32_t first_line; /* 0 unknown */
	struct bytes_view line_table;
};

struct batch_frame {
	uint8_t kind;     /* enum frame_kind, or a number that this version does not know */
	uint32_t object;  /* number of an executable, or FRAME_CODE_OBJECT | number; 0 none */
	uint64_t address; /* position in the object */
};

struct batch_stack {
	uint32_t number;
	uint8_t cut; /* enum stack_cut */
	uint32_t n_frames;
	const struct batch_frame *frames; /* leaf first */
};

struct batch_row {
	uint32_t series; /* number */
	uint32_t stack;  /* number, 0: counted without a stack */
	uint64_t slot;   /* wall clock / SLOT_NS */
	uint64_t value;  /* counts of period_ns, else in the unit of the event type */
};

/* A name of format 1, to which frames of kind KERNEL_NAMED refer. */
struct batch_named_frame {
	uint64_t key;
	const char *name;
};

struct batch_counter {
	const char *name;
	uint64_t value;
};

struct batch_host {
	const char *name;
	const char *machine_id;
	const char *boot_id;
	const char *agent_version;
	const char *kernel_release;
	const char *architecture;
	uint32_t n_cpus;
	const char **ips;
	uint32_t n_ips;
	struct label *labels;
	uint32_t n_labels;
};

struct batch {
	/* The body of which it was decoded, and the step by which its times were moved since. */
	struct bytes_view body;
	int64_t step_ns;

	struct hash128 agent_id;
	uint64_t epoch;
	uint64_t sequence;
	uint64_t opened_wall_ns;
	uint64_t closed_wall_ns;
	uint64_t closed_monotonic_ns; /* of the agent's host */
	struct batch_host host;
	struct batch_executable *executables;
	struct batch_process *processes;
	struct batch_series *series;
	struct batch_stack *stacks;
	struct batch_row *rows; /* sorted by (series, slot, stack) */
	struct batch_named_frame *named_frames;
	struct batch_code_object *code_objects;
	struct batch_counter *counters;
	uint32_t n_executables;
	uint32_t n_processes;
	uint32_t n_series;
	uint32_t n_stacks;
	uint32_t n_rows;
	uint32_t n_named_frames;
	uint32_t n_code_objects;
	uint32_t n_counters;
	/* What this version keeps or drops without understanding it, for metrics. */
	uint32_t n_unknown_frames;    /* listed frames of unknown kinds */
	uint32_t n_unknown_fields;    /* of the message and its tables */
	uint32_t n_rows_with_context; /* the context is dropped */
};
