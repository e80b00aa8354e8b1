/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The configuration of the agent: one struct, which common/config.h fills from agent/config.def.
 */

#include "common/config.h"

/* The field of a key by its type (common/config.h). */
#define CONFIG_FIELD_BOOL(field)     bool field
#define CONFIG_FIELD_UINT(field)     uint64_t field
#define CONFIG_FIELD_DURATION(field) uint64_t field
#define CONFIG_FIELD_SIZE(field)     uint64_t field
#define CONFIG_FIELD_TEXT(field)     char *field
#define CONFIG_FIELD_LIST(field)     char *field

struct agent_config {
	char *server;
	char *token;
	char *token_file;
	char *ca_file;
	bool insecure_tls;

	char *host_name;   /* "": the host name of the system */
	char *host_labels; /* "name=value" per line */

	/* Lists of the host's Pods. */
	char *pods_folder;
	char *pods_url;
	char *pods_token_file;
	char *pods_ca_file;
	bool pods_insecure_tls;

	bool allow_second_agent; /* allows two agents of one host at the same server */

	/* Of the event sources: each key's table row has the name and the meaning of its field. */
#define CONFIG_KEY(field, name, type, ...) CONFIG_FIELD_##type(field);
#define EVENT_SECTION_CONFIG
#include "agent/event/sources.def"
#undef EVENT_SECTION_CONFIG
#undef CONFIG_KEY

	/* "REGEX=NAME" per line: processes with a matching name are reported as NAME */
	char *process_matcher;

	uint64_t batch_interval_ns;
	char *spool_folder;
	uint64_t spool_max_bytes;
	uint64_t upload_bytes_per_s; /* 0: never upload debuginfo */

	uint64_t budget_memory_bytes;
	uint64_t budget_cpu_pct; /* of all CPUs; 0: no limit */
	uint64_t budget_interval_ns;
	uint64_t ring_bytes;       /* BPF ring buffer; 0: chosen by the number of CPUs */
	uint64_t max_processes;    /* 0: chosen by the memory */
	uint64_t unwind_bytes;     /* unwind tables in BPF maps */
	char *unwind_cache_folder; /* "": no cache */
	uint64_t unwind_cache_bytes;
	bool python_disabled;
	bool java_disabled;
	bool javascript_disabled;
	bool php_disabled;
	bool ruby_disabled;
	bool perl_disabled;
	bool lua_disabled;
	bool unwind_x86_code; /* x86-64 code without call frame information is analyzed */
	char *unwind_absent_pages;

	bool jit_names; /* reads perf maps and jitdumps */

	bool privileges_keep; /* does not drop capabilities or install seccomp filters */
	char *kernel_without; /* names of features, separated by commas */
	bool trust_kernel;    /* starts even if reading user memory may be unsafe */

	char *metrics_file; /* Prometheus text, replaced with every batch; "": none */
	char *log_level;
};

extern const struct config_table agent_config_table;

#define AGENT_CONFIG_TITLE "Configuration of hearth-agent"

/*
 * Completes and checks the configuration beyond the form of single values: URLs, patterns, lists
 * and sizes. Reads the file of token_file into token. Returns 0, -ENOMEM, or -EINVAL with
 * @ret_message filled.
 */
int agent_config_finish(struct agent_config *config, char ret_message[CONFIG_MESSAGE_SIZE]);
void agent_config_release(struct agent_config *config);

/* Whether the values of the key @name differ. */
bool agent_config_differs(const struct agent_config *first, const struct agent_config *second,
			  const char *name);

/* Returns unwind.absent_pages as an enum abi_absent_pages, or -EINVAL if it is none. */
int agent_config_absent_pages(const struct agent_config *config);
