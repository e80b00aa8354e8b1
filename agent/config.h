/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The agent's configuration: one struct, filled from agent/config.def by common/config.h.
 */

#include "common/config.h"

struct agent_config {
	char *server;
	char *token;
	char *token_file;
	char *ca_file;
	bool insecure_tls;

	char *host_name;   /* "" : the system's host name */
	char *host_labels; /* "name=value" per line */

	bool allow_second_agent; /* of this host, to the same server */

	bool on_cpu_disabled;
	uint64_t on_cpu_frequency; /* Hz */
	uint64_t on_cpu_cpu;       /* 1: CPUs are kept apart */
	char *on_cpu_regex;        /* names of processes whose stacks are taken */
	/* list of CPUs ("0-3,8"); "": all but isolated and nohz_full ones */
	char *on_cpu_cpus;

	bool off_cpu_disabled;
	uint64_t off_cpu_min_blocking_time_ns;
	uint64_t off_cpu_cpu; /* 1: CPUs are kept apart */
	char *off_cpu_regex;  /* names of processes whose waits are taken */

	/* "REGEX=NAME" per line: processes whose name matches are reported as NAME */
	char *process_matcher;

	uint64_t batch_interval_ns;
	char *spool_folder;
	uint64_t spool_max_bytes;
	uint64_t upload_bytes_per_s; /* 0: never upload debuginfo */

	uint64_t budget_memory_bytes;
	uint64_t budget_cpu_pct; /* of all CPUs; 0: no limit */
	uint64_t budget_interval_ns;
	uint64_t ring_bytes;       /* BPF ring buffer; 0: by the number of CPUs */
	uint64_t max_processes;    /* 0: by the memory */
	uint64_t unwind_bytes;     /* unwind tables in BPF maps */
	char *unwind_cache_folder; /* "": none */
	uint64_t unwind_cache_bytes;
	bool unwind_x86_code; /* x86-64 code without call frame information is analyzed */
	char *unwind_absent_pages;

	bool privileges_keep; /* no confinement by capabilities and seccomp */
	char *kernel_without; /* names of features, separated by commas */
	bool trust_kernel; /* starts although user memory cannot be read safely, for all we know */

	char *metrics_file; /* Prometheus text, replaced with every batch; "": none */
	char *log_level;
};

extern const struct config_table agent_config_table;

#define AGENT_CONFIG_TITLE "Configuration of hearth-agent"

/*
 * What no single key can tell: that patterns compile, lists have the right form, sizes are powers
 * of two. Reads token_file into token. 0, -ENOMEM, or -EINVAL with @ret_message filled.
 */
int agent_config_finish(struct agent_config *config, char ret_message[CONFIG_MESSAGE_SIZE]);
void agent_config_release(struct agent_config *config);

/* unwind.absent_pages as a number of enum abi_absent_pages; -EINVAL when it is none. */
int agent_config_absent_pages(const struct agent_config *config);
