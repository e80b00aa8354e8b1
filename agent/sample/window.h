/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A closed window: all content of one batch, as plain arrays that the encoder reads. The collector
 * decides which definitions are included (those that the server has not acknowledged). All pointers
 * are borrowed for the call.
 *
 * symbolizer/store/batch.h describes the same data after decoding. The two are separate on purpose:
 * the agent and the server are two programs that must not include each other.
 */

#include "agent/executable/executable.h"
#include "agent/sample/code_objects.h"
#include "common/event_type.h"
#include "common/frame_kind.h"

struct window_label {
	const char *name;
	const char *value;
};

struct window_frame {
	uint64_t address;
	uint32_t object; /* number of an executable, or FRAME_CODE_OBJECT | number; 0: none */
	uint8_t kind;    /* enum frame_kind */
	uint8_t zero[3]; /* frames are hashed as bytes */
};

struct window_stack {
	uint32_t number;
	uint8_t cut; /* enum stack_cut */
	uint32_t n_frames;
	const struct window_frame *frames; /* leaf first */
};

struct window_path {
	uint32_t executable; /* number */
	const char *path;
};

struct window_process {
	uint32_t number;
	uint32_t pid;
	uint32_t parent_pid;
	uint64_t start_time_ns; /* since boot */
	const char *name;
	const char *executable_path; /* "": unknown */
	uint32_t main_executable;    /* number; 0: unknown */
	bool kernel_thread;
	bool without_stacks;
	const struct window_path *paths;
	size_t n_paths;
	const struct window_label *labels;
	size_t n_labels;
};

struct window_series {
	uint32_t number;
	uint32_t process; /* number */
	uint32_t tid;
	const char *thread_name;
	enum event_type type;
	int cpu; /* -1: CPUs are not distinguished */
	uint64_t period_ns;
	const struct window_label *labels; /* device, stream, ...: at most MAX_LABELS_PER_SERIES */
	size_t n_labels;
};

struct window_row {
	uint32_t series;
	uint32_t stack; /* 0: counted without a stack */
	uint64_t slot;  /* CLOCK_MONOTONIC / SLOT_NS */
	uint64_t value; /* 0 only for states: the state ends */
};

struct window_counter {
	const char *name;
	uint64_t value;
};

struct window_host {
	const char *name;
	const char *machine_id;
	const char *boot_id;
	const char *kernel_release;
	const char *architecture;
	uint32_t n_cpus;
	const char *const *ips;
	size_t n_ips;
	const struct window_label *labels;
	size_t n_labels;
};

struct window {
	uint8_t agent_id[16];
	uint64_t epoch;
	uint64_t sequence;
	uint64_t opened_monotonic_ns;
	uint64_t closed_monotonic_ns;
	uint64_t closed_wall_ns;
	struct window_host host;
	struct executable *const *executables;
	size_t n_executables;
	const struct window_process *processes;
	size_t n_processes;
	const struct window_series *series;
	size_t n_series;
	struct window_stack *stacks; /* the encoder sorts them root first */
	size_t n_stacks;
	/* the encoder sorts them by (series, slot, stack) and joins equal ones */
	struct window_row *rows;
	size_t n_rows;
	const struct code_object *const *code_objects;
	size_t n_code_objects;
	const struct window_counter *counters;
	size_t n_counters;
};
