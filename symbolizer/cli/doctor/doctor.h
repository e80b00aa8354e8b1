/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * `hearth doctor`: facts are gathered first, then every check of doctor_checks.def judges them.
 * Checks are pure functions of the facts and add one finding or more.
 */

#include <jansson.h>
#include <sys/types.h>

#include "common/vec.h"
#include "symbolizer/cli/client/client.h"

enum doctor_status {
	DOCTOR_OK,
	DOCTOR_WARN, /* works, and something is lost */
	DOCTOR_FAIL, /* does not work */
};

/* ---- facts ---------------------------------------------------------------------------------- */

#define DOCTOR_TEXT_SIZE 256

/* No limit. */
#define DOCTOR_UNLIMITED UINT64_MAX

struct host_facts {
	char release[DOCTOR_TEXT_SIZE];   /* uname -r */
	char version[DOCTOR_TEXT_SIZE];   /* uname -v */
	char signature[DOCTOR_TEXT_SIZE]; /* /proc/version_signature; "" where there is none */
	char machine[DOCTOR_TEXT_SIZE];   /* uname -m */
	char boot_id[DOCTOR_TEXT_SIZE];
	/* "none [integrity] confidentiality"; "" not compiled in, if it is known */
	char lockdown[DOCTOR_TEXT_SIZE];
	bool lockdown_is_known;
	bool has_btf;
	bool is_root;
	bool foreign_pid_namespace;  /* the agent's, else ours, is not the host's */
	bool foreign_user_namespace; /* the same */
	int perf_event_paranoid;     /* -1: cannot be read; so for the next */
	int kptr_restrict;
	int bpf_result;              /* of a map, 0 or negative errno */
	bool memlock_was_raised;     /* to try it, which needs CAP_SYS_RESOURCE */
	int perf_result;             /* of a CPU clock, 0 or negative errno */
	uint64_t memlock_bytes;      /* RLIMIT_MEMLOCK of the agent, else ours */
	uint64_t memory_limit_bytes; /* of the agent's cgroup, else of ours */
	uint64_t capabilities;       /* permitted to the agent, else to us */
	pid_t agent;                 /* 0: none runs */
	uint64_t agent_age_s;        /* DOCTOR_UNLIMITED: not known */
	unsigned int n_agents;
};

struct server_facts {
	const char *url;
	long status; /* of GET /v1/hosts; 0: no answer */
	char words[CLIENT_MESSAGE_SIZE];
	bool has_token;
	char token_words[CLIENT_MESSAGE_SIZE]; /* why it cannot be used; "": it can */
	uint64_t date_s;                       /* the server's clock; 0 not known */
	uint64_t asked_s;                      /* ours at that time */
	json_t *hosts;                         /* answers; NULL: none */
	json_t *unresolved;
	long unresolved_status;
};

struct doctor_facts {
	struct host_facts host;
	struct server_facts server;
};

void host_facts_read(struct host_facts *ret_facts);

/* The memory limit of a process, of whose /proc/PID/cgroup @cgroups is the text. @folder: where the
 * cgroups are mounted. */
uint64_t host_facts_memory_limit(const char *folder, const char *cgroups);

/* Asks the server; what fails is a fact, also a token that cannot be used. @boot_id: whose files
 * are looked at. 0 or -ENOMEM. */
int server_facts_read(const struct connection_options *options, const char *boot_id,
		      struct server_facts *ret_facts);
void server_facts_release(struct server_facts *facts);

/* The row of /v1/hosts that this boot of this host has, the one with the last batch; NULL: none. */
const json_t *server_facts_host(const struct server_facts *facts, const char *boot_id);

/* Whether the last batch of this boot of this host came lately: an agent runs, and all that it
 * needs works, whatever this process may do or see. */
bool doctor_batches_arrive(const struct doctor_facts *facts);

/* ---- findings ------------------------------------------------------------------------------- */

struct finding {
	const char *check;
	enum doctor_status status;
	char *text;
	char *fix;           /* "": nothing to do */
	size_t command_size; /* of the shell command at the end of @fix; 0: none is there */
};

VEC_DEFINE(finding_vec, struct finding);

struct doctor_report {
	const char *check; /* that runs now */
	struct finding_vec findings;
	int error; /* -ENOMEM */
};

/* @fix may be "". The text follows. */
void doctor_add(struct doctor_report *report, enum doctor_status status, const char *fix,
		const char *text, ...) __attribute__((format(printf, 4, 5)));

#define CHECK(id, name, help)                                                                      \
	void doctor_check_##id(const struct doctor_facts *facts, struct doctor_report *report);
#include "symbolizer/cli/doctor/doctor_checks.def"
#undef CHECK

/* All checks in their order. 0 or -ENOMEM. */
int doctor_run(const struct doctor_facts *facts, struct doctor_report *ret_report);
void doctor_report_release(struct doctor_report *report);

/* How many findings have the status. */
size_t doctor_count(const struct doctor_report *report, enum doctor_status status);

int doctor_text_write(const struct doctor_report *report, int width, bool colours,
		      struct bytes *out);
int doctor_json_write(const struct doctor_report *report, struct bytes *out);
