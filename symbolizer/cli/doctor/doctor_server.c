/* SPDX-License-Identifier: Apache-2.0 */

/* Checks of the agent, of the server, and of what the server stores about this host. */

#include <stdio.h>

#include "symbolizer/cli/client/list_answer.h"
#include "symbolizer/cli/doctor/doctor.h"
#include "symbolizer/cli/print/number_format.h"

/* More than twice the longest interval that the key batch_interval allows. */
#define LATE_S 150

/* With a wrong clock, samples get wrong times. The header Date has a resolution of one second. */
#define CLOCK_WARN_S 5
#define CLOCK_FAIL_S 60

/* Files with a smaller share are not reported. */
#define SHARE_OF_NOTE 0.01

static uint64_t age_of(const struct doctor_facts *facts, const json_t *host)
{
	uint64_t last_s = list_number(host, "last_time");

	return facts->server.local_s > last_s ? facts->server.local_s - last_s : 0;
}

bool doctor_batches_arrive(const struct doctor_facts *facts)
{
	const json_t *host = server_facts_host(&facts->server, facts->host.boot_id);

	return host && age_of(facts, host) <= LATE_S;
}

/*
 * Returns whether the server gave the answers that checks need; if not, the check "server" says
 * why.
 */
static bool has_answers(const struct doctor_facts *facts)
{
	return json_is_array(json_object_get(facts->server.hosts, "hosts"));
}

static void add_not_known(struct doctor_report *report)
{
	doctor_add(report, DOCTOR_WARN, "", "not known: the server does not answer, see above");
}

/* An agent is invisible in another PID namespace, and with hidepid in /proc to all but root. */
static bool sees_all_processes(const struct host_facts *host)
{
	return host->is_root && !host->foreign_pid_namespace && !host->foreign_user_namespace;
}

void doctor_check_agent(const struct doctor_facts *facts, struct doctor_report *report)
{
	const json_t *host = server_facts_host(&facts->server, facts->host.boot_id);
	char age[NUMBER_TEXT_SIZE];

	if (facts->host.n_agents == 1) {
		doctor_add(report, DOCTOR_OK, "", "process %d", (int)facts->host.agent);
	} else if (facts->host.n_agents > 1) {
		doctor_add(report, DOCTOR_OK, "", "process %d, and %u more", (int)facts->host.agent,
			   facts->host.n_agents - 1);
	} else if (doctor_batches_arrive(facts) && !sees_all_processes(&facts->host)) {
		format_age(age_of(facts, host), age);
		doctor_add(report, DOCTOR_OK, "",
			   "no agent is visible from here, but the server received a batch of this "
			   "host %s",
			   age);
	} else if (host) {
		format_age(age_of(facts, host), age);
		doctor_add(report, DOCTOR_FAIL,
			   "sudo systemctl restart hearth-agent; its log says why it ended",
			   "no hearth-agent runs here any more; its last batch came %s", age);
	} else {
		doctor_add(report, DOCTOR_WARN, "start one: sudo hearth-agent --server URL",
			   "no hearth-agent runs on this host");
	}
}

void doctor_check_server(const struct doctor_facts *facts, struct doctor_report *report)
{
	const struct server_facts *server = &facts->server;

	if (server->status == 0)
		doctor_add(report, DOCTOR_FAIL,
			   "start hearth-symbolizer there, or name another with --server URL or "
			   "HEARTH_SERVER",
			   "cannot reach '%s': %s", server->url, server->message);
	else if (has_answers(facts) || server->status == 401 || server->status == 403)
		doctor_add(report, DOCTOR_OK, "", "'%s' answers", server->url);
	else if (server->status >= 500)
		doctor_add(report, DOCTOR_FAIL, "read the server's log",
			   "'%s' failed with status %ld: %s", server->url, server->status,
			   server->message);
	else
		doctor_add(report, DOCTOR_FAIL, "name a hearth-symbolizer with --server URL",
			   "'%s' is no hearth-symbolizer: it answered /v1/hosts with status %ld",
			   server->url, server->status);
}

void doctor_check_token(const struct doctor_facts *facts, struct doctor_report *report)
{
	const struct server_facts *server = &facts->server;

	if (server->token_message[0])
		doctor_add(report, DOCTOR_FAIL, "give one with --token-file FILE or HEARTH_TOKEN",
			   "%s", server->token_message);
	else if (has_answers(facts))
		doctor_add(report, DOCTOR_OK, "", "%s",
			   server->has_token ? "has the scope read" : "none is needed");
	else if (server->status == 401)
		doctor_add(report, DOCTOR_FAIL, "give one with --token-file FILE or HEARTH_TOKEN",
			   "%s: %s",
			   server->has_token ? "the server does not know this token"
					     : "the server wants a token",
			   server->message);
	else if (server->status == 403)
		doctor_add(report, DOCTOR_FAIL,
			   "make a token with the scope read: hearth-symbolizer --make-token", "%s",
			   server->message);
	else
		add_not_known(report);
}

void doctor_check_clock(const struct doctor_facts *facts, struct doctor_report *report)
{
	uint64_t ours = facts->server.local_s, theirs = facts->server.date_s;
	uint64_t offset = ours > theirs ? ours - theirs : theirs - ours;

	if (theirs == 0)
		add_not_known(report);
	else if (offset < CLOCK_WARN_S)
		doctor_add(report, DOCTOR_OK, "", "differs by less than %d s from the server's",
			   CLOCK_WARN_S);
	else
		doctor_add(report, offset < CLOCK_FAIL_S ? DOCTOR_WARN : DOCTOR_FAIL,
			   "synchronise both clocks, such as with chrony",
			   "this host is %llu s %s the server: its samples are stored under "
			   "wrong times",
			   (unsigned long long)offset, ours > theirs ? "ahead of" : "behind");
}

void doctor_check_batches(const struct doctor_facts *facts, struct doctor_report *report)
{
	const json_t *host = server_facts_host(&facts->server, facts->host.boot_id);
	char age[NUMBER_TEXT_SIZE];

	if (!has_answers(facts)) {
		add_not_known(report);
		return;
	}
	format_age(host ? age_of(facts, host) : 0, age);
	if (doctor_batches_arrive(facts))
		doctor_add(report, DOCTOR_OK, "", "'%s' sent the last one %s",
			   list_text(host, "name"), age);
	else if (!facts->host.agent)
		doctor_add(report, DOCTOR_WARN, "start the agent", "%s%s",
			   host ? "the last one came " : "none has come since this host was booted",
			   host ? age : "");
	else if (facts->host.agent_age_s <= LATE_S)
		doctor_add(report, DOCTOR_WARN, "run 'hearth doctor' again in a minute",
			   "the agent started %llu s ago, and no batch of it has come yet",
			   (unsigned long long)facts->host.agent_age_s);
	else
		doctor_add(report, DOCTOR_FAIL,
			   "read the agent's log for 'cannot send': its keys server and "
			   "token_file, or --server here, may be wrong",
			   "an agent runs, and %s%s",
			   host ? "its last batch came " : "no batch of it has come to this server",
			   host ? age : "");
}

void doctor_check_losses(const struct doctor_facts *facts, struct doctor_report *report)
{
	const json_t *host = server_facts_host(&facts->server, facts->host.boot_id);
	const json_t *labels = json_object_get(host, "labels");
	const char *reduced = list_text(labels, "agent.reduced");
	const char *lacks = list_text(labels, "kernel.lacks");

	if (!host) {
		doctor_add(report, DOCTOR_OK, "", "none is known of this host");
		return;
	}
	if (reduced[0])
		doctor_add(report, DOCTOR_WARN,
			   "raise the agent's budget.cpu or budget.memory (docs/agent-budget.md)",
			   "reduced to keep its budget: %s", reduced);
	if (lacks[0])
		doctor_add(report, DOCTOR_WARN, "a newer kernel has them (docs/kernels.md)",
			   "the kernel lacks %s", lacks);
	if (!reduced[0] && !lacks[0])
		doctor_add(report, DOCTOR_OK, "",
			   "the agent keeps its budget, and the kernel lacks nothing");
}

static void add_file(const json_t *file, struct doctor_report *report)
{
	double share = json_number_value(json_object_get(file, "share"));
	const char *command = list_text(file, "command");
	scoped_free char *fix = NULL;

	if (share < SHARE_OF_NOTE)
		return;
	if (asprintf(&fix, "%s%s%s", list_text(file, "remedy"),
		     command[0] && list_text(file, "remedy")[0] ? ": " : "", command) < 0) {
		fix = NULL;
		return;
	}
	doctor_add(report, DOCTOR_WARN, fix, "%.1f %% of the CPU time has no names, in %s: %s",
		   100 * share, list_text(file, "file"), list_text(file, "why"));
	if (report->error == 0)
		report->findings.items[report->findings.count - 1].command_size = strlen(command);
}

void doctor_check_symbols(const struct doctor_facts *facts, struct doctor_report *report)
{
	const json_t *answer = facts->server.unresolved;
	const json_t *files = json_object_get(answer, "files");
	uint64_t total = list_number(answer, "total");
	size_t before = report->findings.count;
	char share[NUMBER_TEXT_SIZE];

	if (!has_answers(facts)) {
		add_not_known(report);
	} else if (facts->server.unresolved_status == 404) {
		doctor_add(report, DOCTOR_WARN, "update the server",
			   "the server is too old to say which files lack names");
	} else if (!json_is_object(answer)) {
		doctor_add(report, DOCTOR_WARN, "",
			   "the server failed to say which files lack names (status %ld)",
			   facts->server.unresolved_status);
	} else if (total == 0) {
		doctor_add(report, DOCTOR_OK, "", "no samples in the last 15 minutes");
	} else {
		for (size_t i = 0; i < json_array_size(files); i++)
			add_file(json_array_get(files, i), report);
		format_share(list_number(answer, "unresolved"), total, share);
		if (report->findings.count == before)
			doctor_add(report, DOCTOR_OK, "", "%s of the CPU time has no names", share);
	}
}
