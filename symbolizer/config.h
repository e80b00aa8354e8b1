/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The configuration of the symbolizer: one struct, which common/config.h fills from
 * symbolizer/config.def.
 */

#include "common/config.h"
#include "common/log.h"

struct symbolizer_config {
	char *listen; /* one address per line */
	char *data;
	char *store; /* "auto", "sqlite", "segments" or "clickhouse" */
	char *clickhouse_url;
	char *clickhouse_cluster; /* "": one server */
	char *clickhouse_database;
	char *clickhouse_user;
	char *clickhouse_password_file;    /* "": no password */
	uint64_t clickhouse_in_process_ns; /* retention; 0: no such table */
	char *tokens;                      /* path of the tokens file; "": no tokens */
	bool insecure;
	uint64_t retention_ns, hourly_retention_ns;
	uint64_t retention_bytes; /* 0: no limit */
	uint64_t symbol_cache_bytes;
	uint64_t symbol_store_bytes;
	char *debuginfo_from_agents; /* a name of enum debuginfo_from_agents */
	uint64_t debuginfo_max_upload_bytes;
	uint64_t debuginfo_quota_bytes; /* 0: no limit */
	uint64_t debuginfo_quota_low_pct;
	char *debuginfo_upstream; /* one server per line */
	uint64_t debuginfo_upstream_timeout_ns;
	uint64_t debuginfo_upstream_max_bytes;
	uint64_t debuginfo_upstream_wait_ns;
	uint64_t memory_limit_bytes; /* 0: half of the memory of the host or cgroup */
	uint64_t threads;            /* 0: chosen by the number of CPUs */
	uint64_t max_connections;
	uint64_t max_connections_per_client; /* 0: half of max_connections */
	uint64_t max_requests_per_token;     /* 0: three quarters of max_connections */
	uint64_t header_timeout_ns;
	uint64_t body_grace_ns;
	uint64_t body_min_rate; /* bytes per second; 0: no minimum */
	uint64_t answer_min_rate;
	char *log_level;

	/* No keys: --backup with its folder, or --check. NULL and false: the server runs. */
	char *backup;
	bool check;
};

enum debuginfo_from_agents {
	DEBUGINFO_FROM_AGENTS_NONE,
	DEBUGINFO_FROM_AGENTS_SYMBOLS,
	DEBUGINFO_FROM_AGENTS_ALL,
};

extern const struct config_table symbolizer_config_table;

#define SYMBOLIZER_CONFIG_TITLE "Configuration of hearth-symbolizer"

/*
 * Checks the configuration beyond the form of single values: addresses, URLs, enumerations, and the
 * tokens file if there is one. Returns 0, -ENOMEM, or -EINVAL with @ret_message filled.
 */
int symbolizer_config_check(const struct symbolizer_config *config,
			    char ret_message[CONFIG_MESSAGE_SIZE]);

/* Values of a configuration that symbolizer_config_check() accepted. */
enum debuginfo_from_agents symbolizer_config_from_agents(const struct symbolizer_config *config);
enum log_level symbolizer_config_log_level(const struct symbolizer_config *config);

void symbolizer_config_release(struct symbolizer_config *config);
