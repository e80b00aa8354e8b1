/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The agent's BPF programs and maps. Loads the programs, logs why a kernel refuses them, and gives
 * typed access to the maps.
 */

#include "agent/bpf_programs/kernel_features.h"
#include "agent/bpf_programs/program_set.h"
#include "bpf/abi/config.h"
#include "bpf/abi/counters.h"
#include "bpf/abi/interpreter.h"
#include "bpf/abi/jvm.h"
#include "bpf/abi/mapping.h"
#include "bpf/abi/sample_record.h"
#include "common/base.h"

struct bpf_programs;

struct bpf_programs_options {
	struct abi_config config;
	uint64_t ring_bytes;    /* a power of two, at least a page */
	uint32_t max_processes; /* chosen by agent/bpf_programs/map_sizes.h */
	/* ceiling of the kernel memory for unwind rows, which is allocated as rows are loaded */
	uint64_t unwind_bytes;
	bool trust_kernel; /* load also on kernels that may freeze, see common/kernel_version.h */
	const char *kernel_without; /* see kernel_features_probe() */
	/* [n_choices], borrowed as long as the programs are loaded */
	const struct bpf_program_choice *choices;
	size_t n_choices;
};

/*
 * Probes the kernel, loads the programs, and attaches those for fork, exec and exit. On failure the
 * reason was logged in one line, which names the missing kernel feature or permission.
 */
int bpf_programs_load(const struct bpf_programs_options *options,
		      struct bpf_programs **ret_programs);
struct bpf_programs *bpf_programs_free(struct bpf_programs *programs);

/* Features of the kernel that the programs were loaded into. */
const struct kernel_features *bpf_programs_features(const struct bpf_programs *programs);

/*
 * File descriptor of a program, to be attached to perf events. Negative: there is no such program,
 * or it was not loaded.
 */
int bpf_programs_fd(const struct bpf_programs *programs, const char *name);

/*
 * Attaches the programs of the set that are loaded and have `attached` set, in their order. They
 * are detached when @programs is freed. 0 or a negative errno: the programs before are attached.
 */
int bpf_programs_attach(struct bpf_programs *programs, const struct bpf_program_set *set);

/*
 * Starts a run of an attached program that is an iterator of the kernel, and returns a file
 * descriptor to read its output from; or a negative errno.
 */
int bpf_programs_open_iterator(const struct bpf_programs *programs, const char *name);

/* The settings that can change while the programs run. Store single fields, atomically. */
struct abi_control *bpf_programs_control(struct bpf_programs *programs);

/*
 * Functions that receive the records of the ring buffer. A record is valid during the call. A
 * negative return value ends the reading.
 */
struct bpf_record_functions {
	void *arg;
	/* With ABI_SAMPLE_WITH_WAIT, @frames points to a struct abi_wait instead of frames. */
	int (*sample)(void *arg, const struct abi_sample *sample, const struct abi_frame *frames);
	int (*stack_copy)(void *arg, const struct abi_stack_copy *copy);
};

/*
 * Passes each record that waits in the ring buffer to @functions. Returns the number of records, or
 * the negative value that a function returned.
 */
int bpf_programs_read_samples(struct bpf_programs *programs,
			      const struct bpf_record_functions *functions);

/*
 * Called while samples are read, once for each page that an unwinder could not read and that the
 * agent should touch.
 */
typedef void (*bpf_absent_page_function)(void *arg, uint32_t pid, uint64_t address);
void bpf_programs_on_absent_page(struct bpf_programs *programs, bpf_absent_page_function function,
				 void *arg);

/*
 * Submits unfinished deferred samples that have waited since before @before_ns for their thread.
 * bpf_programs_read_samples() then reads them like any other sample. Returns how many still wait,
 * because the ring buffer is full or their thread is finishing them now; or a negative errno.
 */
int bpf_programs_sweep_deferred(struct bpf_programs *programs, uint64_t before_ns);

int bpf_programs_ring_fd(const struct bpf_programs *programs);

/* Reads the counters of all CPUs. ret_values gets their sums. */
int bpf_programs_read_counters(struct bpf_programs *programs,
			       uint64_t ret_values[ABI_COUNTER_COUNT]);

/* The counter of one CPU, as of the last bpf_programs_read_counters(). */
uint64_t bpf_programs_counter_of_cpu(const struct bpf_programs *programs, enum abi_counter id,
				     size_t cpu);
size_t bpf_programs_n_cpus(const struct bpf_programs *programs);

/* Bytes of a value of the map. 0: it was not created. */
size_t bpf_programs_map_value_bytes(const struct bpf_programs *programs, const char *name);

/* Starts a new window: each stack is sent in full once more. */
void bpf_programs_set_window(struct bpf_programs *programs, uint64_t window);

/* Copies the entry of the process that the BPF programs use. Returns 1, or 0 if there is none. */
int bpf_programs_find_process(const struct bpf_programs *programs, uint32_t pid,
			      struct abi_process *ret_process);
int bpf_programs_put_process(struct bpf_programs *programs, uint32_t pid,
			     const struct abi_process *process);
void bpf_programs_remove_process(struct bpf_programs *programs, uint32_t pid);
int bpf_programs_put_chunk(struct bpf_programs *programs, const struct abi_chunk_key *key,
			   const struct abi_mapping_chunk *chunk);
/* Writes the entry of a process with a JVM; @jvm NULL: removes it. */
int bpf_programs_put_jvm(struct bpf_programs *programs, uint32_t pid, const struct abi_jvm *jvm);
int bpf_programs_put_interpreter(struct bpf_programs *programs, uint32_t index,
				 const struct abi_interpreter *interpreter);
void bpf_programs_remove_chunk(struct bpf_programs *programs, const struct abi_chunk_key *key);

/*
 * Kernel memory of all maps and rings (agent/bpf_programs/map_memory.h), without task storage and
 * without maps that are left out of it (agent/bpf_programs/program_set.h).
 */
uint64_t bpf_programs_memory_bytes(struct bpf_programs *programs);

/*
 * The file descriptor (borrowed) of the map with this name, or -ENOENT. Other programs that use the
 * same maps need it.
 */
int bpf_programs_map_fd(const struct bpf_programs *programs, const char *name);

#include "common/scoped.h"
DEFINE_SCOPED(struct bpf_programs *, bpf_programs_free);
