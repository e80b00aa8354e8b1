/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The BPF programs and maps of this agent: loading with clear refusals, and typed access to the
 * maps.
 */

#include "agent/bpf_programs/kernel_features.h"
#include "bpf/abi/config.h"
#include "bpf/abi/counters.h"
#include "bpf/abi/mapping.h"
#include "bpf/abi/sample_record.h"
#include "common/base.h"

struct bpf_programs;

struct bpf_programs_options {
	struct abi_config config;
	uint64_t ring_bytes;    /* a power of two, at least a page */
	uint32_t max_processes; /* see agent/bpf_programs/map_sizes.h */
	/* ceiling of the memory for unwind rows, which is taken as they are loaded */
	uint64_t unwind_bytes;
	bool on_cpu;       /* else nothing looks at timers */
	bool trust_kernel; /* loads also where the kernel may freeze, see kernel_version.h */
	const char *kernel_without; /* see kernel_features_probe() */
	/* else, or where the kernel cannot, its programs are not loaded and its maps not made */
	bool off_cpu;
};

/*
 * Probes the kernel, loads and attaches the fork/exec/exit programs. On failure the reason was
 * logged in one line that names what the kernel lacks or which permission is missing.
 */
int bpf_programs_load(const struct bpf_programs_options *options,
		      struct bpf_programs **ret_programs);
struct bpf_programs *bpf_programs_free(struct bpf_programs *programs);

/* What the kernel that they were loaded into has. */
const struct kernel_features *bpf_programs_features(const struct bpf_programs *programs);

/* For perf events to attach: fd of the on-CPU program. */
int bpf_programs_on_cpu_fd(const struct bpf_programs *programs);

/*
 * Who takes what comes out of the ring buffer. Records are valid during the call; a negative value
 * ends the reading.
 */
struct bpf_record_functions {
	void *arg;
	/* Where the sample STANDS for others, struct abi_wait is in the place of the frames. */
	int (*sample)(void *arg, const struct abi_sample *sample, const struct abi_frame *frames);
	int (*stack_copy)(void *arg, const struct abi_stack_copy *copy);
};

/*
 * Hands over each record waiting in the ring buffer. Their number, or the negative value that a
 * function returned.
 */
int bpf_programs_read_samples(struct bpf_programs *programs,
			      const struct bpf_record_functions *functions);

/*
 * Called while samples are read, for each page that stacks could not be read from and that should
 * be touched.
 */
typedef void (*bpf_absent_page_function)(void *arg, uint32_t pid, uint64_t address);
void bpf_programs_on_absent_page(struct bpf_programs *programs, bpf_absent_page_function function,
				 void *arg);

/*
 * Has samples submitted, as they are, that wait since before @before_ns for their thread to finish
 * them. They are read like others. Returns how many of them still wait (the ring buffer is full, or
 * their thread has just come back).
 */
int bpf_programs_sweep_deferred(struct bpf_programs *programs, uint64_t before_ns);

int bpf_programs_ring_fd(const struct bpf_programs *programs);

/* Watches context switches from now on. What failed was logged. */
int bpf_programs_attach_off_cpu(struct bpf_programs *programs);

/*
 * A file from which one walk over all threads can be read: records as in the ring buffer, one after
 * the other, but of a copied stack no more than was copied. With @reports it tells how long each
 * wait took so far, without only stacks that are not known. Returns the fd.
 */
int bpf_programs_open_walk(struct bpf_programs *programs, bool reports);

/* Reads them of all CPUs; ret_values has their sums. */
int bpf_programs_read_counters(struct bpf_programs *programs,
			       uint64_t ret_values[ABI_COUNTER_COUNT]);

/* One CPU's, as of the last reading. */
uint64_t bpf_programs_counter_of_cpu(const struct bpf_programs *programs, enum abi_counter id,
				     size_t cpu);
size_t bpf_programs_n_cpus(const struct bpf_programs *programs);

/* From now on divides the CPU time that may be spent on stacks of waits by 2^@shift, 7 at most. */
void bpf_programs_thin_waits(struct bpf_programs *programs, unsigned int shift);

/*
 * Kernel memory for each thread for off-CPU profiles, computed from the size of the value and
 * rounded up as the kernel's allocator does. bpf_programs_memory_bytes() does not include it. 0:
 * off-CPU profiles are disabled.
 */
uint64_t bpf_programs_bytes_per_thread(const struct bpf_programs *programs);

/* From now on a stack goes out in full once more. */
void bpf_programs_set_window(struct bpf_programs *programs, uint64_t window);

/* What the kernel side goes by now. 1; 0: it does not know the process. */
int bpf_programs_find_process(const struct bpf_programs *programs, uint32_t pid,
			      struct abi_process *ret_process);
int bpf_programs_put_process(struct bpf_programs *programs, uint32_t pid,
			     const struct abi_process *process);
void bpf_programs_remove_process(struct bpf_programs *programs, uint32_t pid);
int bpf_programs_put_chunk(struct bpf_programs *programs, const struct abi_chunk_key *key,
			   const struct abi_mapping_chunk *chunk);
void bpf_programs_remove_chunk(struct bpf_programs *programs, const struct abi_chunk_key *key);

/* Kernel memory of our maps and rings (agent/bpf_programs/map_memory.h). */
uint64_t bpf_programs_memory_bytes(struct bpf_programs *programs);

/*
 * The fd (borrowed) of the map of this name, or -ENOENT: for programs beside ours that work on the
 * same maps.
 */
int bpf_programs_map_fd(const struct bpf_programs *programs, const char *name);

#include "common/scoped.h"
DEFINE_SCOPED(struct bpf_programs *, bpf_programs_free);
