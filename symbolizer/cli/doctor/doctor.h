/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * `hearth doctor` collects facts first, then runs every check of doctor_checks.def. A check reads
 * nothing but the facts, and adds one finding or more.
 */

#include <jansson.h>
#include <sys/types.h>

#include "common/vec.h"
#include "symbolizer/cli/client/client.h"

enum doctor_status {
	DOCTOR_OK,
	DOCTOR_WARN, /* works, but something is missing */
	DOCTOR_FAIL, /* does not work */
};

/* ---- facts ---------------------------------------------------------------------------------- */

#define DOCTOR_TEXT_SIZE 256

/* No limit. */
#define DOCTOR_UNLIMITED UINT64_MAX

struct host_facts {
	char release[DOCTOR_TEXT_SIZE];   /* uname -r */
	char version[DOCTOR_TEXT_SIZE];   /* uname -v */
	char signature[DOCTOR_TEXT_SIZE]; /* /proc/version_signature; "": the file does not exist */
	char machine[DOCTOR_TEXT_SIZE];   /* uname -m */
	char boot_id[DOCTOR_TEXT_SIZE];
	/* "none [integrity] confidentiality"; "": not compiled in, if lockdown_is_known */
	char lockdown[DOCTOR_TEXT_SIZE];
	bool lockdown_is_known;
	bool has_btf;
	bool is_root;
	/* "the process" is the agent if one runs, else this program */
	bool foreign_pid_namespace;  /* the process is not in the host's PID namespace */
	bool foreign_user_namespace; /* the process is not in the host's user namespace */
	int perf_event_paranoid;     /* -1: cannot be read */
	int kptr_restrict;           /* -1: cannot be read */
	int bpf_result;              /* of creating a BPF map: 0 or negative errno */
	bool memlock_was_raised;     /* to create the map; needs CAP_SYS_RESOURCE */
	int perf_result;             /* of opening a CPU clock: 0 or negative errno */
	uint64_t memlock_bytes;      /* RLIMIT_MEMLOCK of the process */
	uint64_t memory_limit_bytes; /* of the cgroup of the process */
	uint64_t capabilities;       /* the permitted ones of the process */
	pid_t agent;                 /* 0: no agent runs */
	uint64_t agent_age_s;        /* DOCTOR_UNLIMITED: not known */
	unsigned int n_agents;
};

struct server_facts {
	const char *url;
	long status; /* of GET /v1/hosts; 0: no answer */
	char message[CLIENT_MESSAGE_SIZE];
	bool has_token;
	char token_message[CLIENT_MESSAGE_SIZE]; /* why the token cannot be used; "": it can */
	uint64_t date_s;                         /* the server's clock; 0: not known */
	uint64_t local_s;                        /* this host's clock at the request */
	json_t *hosts;                           /* the answers; NULL: none */
	json_t *unresolved;
	long unresolved_status;
};

struct doctor_facts {
	struct host_facts host;
	struct server_facts server;
};

void host_facts_read(struct host_facts *ret_facts);

/*
 * Returns the memory limit of a process. @cgroups is the text of its /proc/PID/cgroup; cgroups are
 * mounted at @folder.
 */
uint64_t host_facts_memory_limit(const char *folder, const char *cgroups);

/*
 * Sends requests to the server. A failure is a fact, also a token that cannot be used. Fetches the
 * files without names of the host with @boot_id. Returns 0 or -ENOMEM.
 */
int server_facts_read(const struct connection_options *options, const char *boot_id,
		      struct server_facts *ret_facts);
void server_facts_release(struct server_facts *facts);

/*
 * Returns the row of /v1/hosts with @boot_id; of several, the one with the latest batch. NULL if
 * there is none.
 */
const json_t *server_facts_host(const struct server_facts *facts, const char *boot_id);

/*
 * Returns whether the server received a batch of this host, since its boot, in the last minutes. If
 * so, an agent runs and all that it needs works, even if this program lacks the privileges to see
 * it.
 */
bool doctor_batches_arrive(const struct doctor_facts *facts);

/* ---- findings ------------------------------------------------------------------------------- */

struct finding {
	const char *check;
	enum doctor_status status;
	char *text;
	char *fix;           /* "": nothing to do */
	size_t command_size; /* of the shell command at the end of @fix; 0: no command */
};

VEC_DEFINE(finding_vec, struct finding);

struct doctor_report {
	const char *check; /* name of the check that runs */
	struct finding_vec findings;
	int error; /* -ENOMEM */
};

/* Adds a finding. @fix may be "". */
void doctor_add(struct doctor_report *report, enum doctor_status status, const char *fix,
		const char *text, ...) __attribute__((format(printf, 4, 5)));

#define CHECK(id, name, help)                                                                      \
	void doctor_check_##id(const struct doctor_facts *facts, struct doctor_report *report);
#include "symbolizer/cli/doctor/doctor_checks.def"
#undef CHECK

/* Runs all checks in the order of the table. Returns 0 or -ENOMEM. */
int doctor_run(const struct doctor_facts *facts, struct doctor_report *ret_report);
void doctor_report_release(struct doctor_report *report);

/* Returns the number of findings with @status. */
size_t doctor_count(const struct doctor_report *report, enum doctor_status status);

int doctor_text_write(const struct doctor_report *report, int width, bool colours,
		      struct bytes *out);
int doctor_json_write(const struct doctor_report *report, struct bytes *out);
