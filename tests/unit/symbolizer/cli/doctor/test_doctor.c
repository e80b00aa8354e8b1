/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/cli/doctor/doctor.h"

#include <linux/capability.h>

#include "common/capabilities.h"
#include "common/file.h"
#include "symbolizer/cli/print/scoped_json.h"
#include "tests/support/unit.h"

#define NOW_S UINT64_C(1700000000)

#define AGENT_CAPABILITIES                                                                         \
	(CAPABILITY_BIT(CAP_BPF) | CAPABILITY_BIT(CAP_PERFMON) | CAPABILITY_BIT(CAP_SYS_PTRACE) |  \
	 CAPABILITY_BIT(CAP_DAC_READ_SEARCH) | CAPABILITY_BIT(CAP_CHECKPOINT_RESTORE) |            \
	 CAPABILITY_BIT(CAP_SYSLOG))

/* Facts of a host and a server without problems. */
static struct doctor_facts healthy(void)
{
	return (struct doctor_facts){
		.host = { .release = "6.1.0-50-amd64",
			  .version = "#1 SMP Debian 6.1.176-1 (2026-08-01)",
			  .machine = "x86_64",
			  .boot_id = "b00t",
			  .lockdown = "none [integrity] confidentiality",
			  .lockdown_is_known = true,
			  .has_btf = true,
			  .is_root = true,
			  .perf_event_paranoid = 2,
			  .memlock_bytes = 64 * KIB,
			  .memory_limit_bytes = DOCTOR_UNLIMITED,
			  .capabilities = AGENT_CAPABILITIES,
			  .agent = 77,
			  .agent_age_s = 3600,
			  .n_agents = 1 },
		.server = { .url = "http://h:1",
			    .status = 200,
			    .date_s = NOW_S,
			    .local_s = NOW_S,
			    .unresolved_status = 200 },
	};
}

static json_t *hosts_of(uint64_t last_s, const char *labels)
{
	char text[512];

	(void)snprintf(
		text, sizeof(text),
		"{\"hosts\":[{\"name\":\"old\",\"boot_id\":\"other\",\"last_time\":1},"
		"{\"name\":\"web-1\",\"boot_id\":\"b00t\",\"last_time\":%llu,\"labels\":%s}]}",
		(unsigned long long)last_s, labels);
	return json_loads(text, 0, NULL);
}

static const struct finding *find(const struct doctor_report *report, const char *check)
{
	for (size_t i = 0; i < report->findings.count; i++) {
		if (strcmp(report->findings.items[i].check, check) == 0)
			return &report->findings.items[i];
	}
	fail_msg("no finding of '%s'", check);
	return NULL;
}

/* Asserts that the first finding of @check has @status, and @part in its text or fix. */
static void expect(const struct doctor_facts *facts, const char *check, enum doctor_status status,
		   const char *part)
{
	scoped(doctor_report_release) struct doctor_report report = {};
	const struct finding *finding;

	assert_ok(doctor_run(facts, &report));
	finding = find(&report, check);
	if (finding->status != status ||
	    (!strstr(finding->text, part) && !strstr(finding->fix, part)))
		fail_msg("%s: %d '%s' -> '%s'", check, finding->status, finding->text,
			 finding->fix);
	if (status == DOCTOR_FAIL && finding->fix[0] == '\0')
		fail_msg("%s fails without a fix", check);
}

static void a_healthy_host_has_no_failure_and_a_finding_of_every_check(void **state)
{
	static const char *const names[] = {
#define CHECK(id, name, help) name,
#include "symbolizer/cli/doctor/doctor_checks.def"
#undef CHECK
	};
	scoped(json_freep) json_t *hosts = hosts_of(NOW_S - 3, "{}");
	scoped(json_freep) json_t *unresolved =
		json_loads("{\"total\":100,\"unresolved\":1,\"files\":[]}", 0, NULL);
	scoped(doctor_report_release) struct doctor_report report = {};
	struct doctor_facts facts = healthy();

	(void)state;
	facts.server.hosts = hosts;
	facts.server.unresolved = unresolved;
	assert_ok(doctor_run(&facts, &report));
	assert_int_equal(report.findings.count, ARRAY_SIZE(names));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		assert_string_equal(report.findings.items[i].check, names[i]);
		assert_int_equal(report.findings.items[i].status, DOCTOR_OK);
		assert_string_equal(report.findings.items[i].fix, "");
	}
}

static void distribution_kernels_are_judged_by_their_upstream_version(void **state)
{
	static const struct {
		const char *release, *version;
		enum doctor_status status;
		const char *part;
	} cases[] = {
		{ "4.19.0", "", DOCTOR_FAIL, "5.10" },
		{ "5.10.0", "", DOCTOR_WARN, "6.1" },
		{ "6.1.0-9-amd64", "#1 SMP Debian 6.1.20-1", DOCTOR_FAIL, "freeze" },
		{ "6.18.1", "", DOCTOR_OK, "6.18.1" },
		{ "linux", "", DOCTOR_WARN, "not a known form" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct doctor_facts facts = healthy();

		facts.host.agent = 0;
		(void)snprintf(facts.host.release, DOCTOR_TEXT_SIZE, "%s", cases[i].release);
		(void)snprintf(facts.host.version, DOCTOR_TEXT_SIZE, "%s", cases[i].version);
		expect(&facts, "kernel", cases[i].status, cases[i].part);
	}
}

static void every_problem_of_the_host_has_a_fix(void **state)
{
	struct doctor_facts facts = healthy();

	(void)state;
	facts.host.has_btf = false;
	expect(&facts, "BTF", DOCTOR_FAIL, "CONFIG_DEBUG_INFO_BTF");
	(void)snprintf(facts.host.lockdown, DOCTOR_TEXT_SIZE, "none integrity [confidentiality]");
	expect(&facts, "lockdown", DOCTOR_FAIL, "lockdown=integrity");
	facts.host.lockdown[0] = '\0';
	expect(&facts, "lockdown", DOCTOR_OK, "not locked down");
	facts.host.lockdown_is_known = false;
	expect(&facts, "lockdown", DOCTOR_OK, "an agent runs");
	facts.host.bpf_result = -EPERM;
	expect(&facts, "bpf(2)", DOCTOR_FAIL, "seccomp");
	facts.host.perf_result = -EACCES;
	expect(&facts, "perf events", DOCTOR_FAIL, "seccomp");
	facts.host.is_root = false;
	expect(&facts, "bpf(2)", DOCTOR_WARN, "sudo");
	expect(&facts, "perf events", DOCTOR_WARN, "sudo");
	facts.host.perf_event_paranoid = 3;
	expect(&facts, "perf events", DOCTOR_FAIL, "sysctl kernel.perf_event_paranoid=2");
	facts.host.kptr_restrict = 2;
	expect(&facts, "kernel names", DOCTOR_WARN, "sysctl kernel.kptr_restrict=1");
	facts.host.foreign_pid_namespace = true;
	expect(&facts, "namespaces", DOCTOR_FAIL, "--pid=host");
	facts.host.foreign_user_namespace = true;
	expect(&facts, "namespaces", DOCTOR_FAIL, "--userns=host");
	facts.host.agent = 0;
	expect(&facts, "lockdown", DOCTOR_WARN, "not known");
	expect(&facts, "namespaces", DOCTOR_WARN, "this process's user namespace");
	facts.host.foreign_user_namespace = false;
	expect(&facts, "namespaces", DOCTOR_WARN, "this process's PID namespace");
	facts.host.memory_limit_bytes = 32 * MIB;
	expect(&facts, "memory", DOCTOR_WARN, "budget.memory");
	facts.host.memory_limit_bytes = 8 * MIB;
	expect(&facts, "memory", DOCTOR_FAIL, "8.00 MiB");
}

static void a_recent_batch_proves_that_perf_events_can_be_opened(void **state)
{
	scoped(json_freep) json_t *fresh = hosts_of(NOW_S - 100, "{}");
	struct doctor_facts facts = healthy();

	(void)state;
	facts.host.perf_event_paranoid = 4;
	expect(&facts, "perf events", DOCTOR_FAIL, "sysctl kernel.perf_event_paranoid=2");
	facts.server.hosts = fresh;
	expect(&facts, "perf events", DOCTOR_OK, "is 4");
}

static void memlock_counts_for_kernels_before_5_11_only(void **state)
{
	struct doctor_facts facts = healthy();

	(void)state;
	expect(&facts, "memlock", DOCTOR_OK, "5.11");
	facts.host.version[0] = '\0';
	(void)snprintf(facts.host.release, DOCTOR_TEXT_SIZE, "5.10.0");
	expect(&facts, "memlock", DOCTOR_OK, "the agent's maps are made");
	facts.host.agent = 0;
	expect(&facts, "memlock", DOCTOR_WARN, "LimitMEMLOCK");
	facts.host.bpf_result = -EPERM;
	expect(&facts, "bpf(2)", DOCTOR_FAIL, "RLIMIT_MEMLOCK is used up");
	facts.host.memlock_was_raised = true;
	expect(&facts, "bpf(2)", DOCTOR_FAIL, "seccomp");
	facts.host.capabilities |= CAPABILITY_BIT(CAP_SYS_RESOURCE);
	expect(&facts, "memlock", DOCTOR_OK, "raise");
}

static void the_facts_of_this_host_can_be_read(void **state)
{
	struct host_facts facts;

	(void)state;
	host_facts_read(&facts);
	assert_true(facts.release[0] && facts.machine[0] && facts.boot_id[0]);
	assert_true(facts.agent == 0 || facts.agent_age_s < 3650ULL * 86400);
	assert_true(facts.memlock_bytes > 0);
}

static void the_smallest_memory_limit_up_to_the_root_is_used(void **state)
{
	static const struct {
		const char *cgroups;
		uint64_t limit;
	} cases[] = {
		/* The root of a cgroup namespace, here with a limit */
		{ "0::/\n", 64 * MIB },   { "0::/a/b\n", 32 * MIB },
		{ "0::/b\n", 64 * MIB },  { "3:cpu:/x\n2:memory:/\n0::/c\n", 16 * MIB },
		{ "", DOCTOR_UNLIMITED },
	};
	scoped_free char *folder = path_in(*state, "cgroup");
	scoped_free char *a = path_in(*state, "cgroup/a");
	scoped_free char *memory = path_in(*state, "cgroup/memory");

	assert_ok(make_folders(a, 0700));
	assert_ok(make_folders(memory, 0700));
	free(write_file_in(*state, "cgroup/memory.max", "67108864\n", 9));
	free(write_file_in(*state, "cgroup/a/memory.max", "33554432\n", 9));
	free(write_file_in(*state, "cgroup/memory/memory.limit_in_bytes", "16777216\n", 9));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(host_facts_memory_limit(folder, cases[i].cgroups), cases[i].limit);
}

static void a_missing_capability_fails_if_the_agent_cannot_start_without_it(void **state)
{
	struct doctor_facts facts = healthy();

	(void)state;
	facts.host.capabilities = AGENT_CAPABILITIES & ~CAPABILITY_BIT(CAP_SYSLOG);
	expect(&facts, "capabilities", DOCTOR_WARN, "CAP_SYSLOG");
	facts.host.capabilities = AGENT_CAPABILITIES & ~CAPABILITY_BIT(CAP_BPF);
	expect(&facts, "capabilities", DOCTOR_FAIL, "--cap-add=BPF");
	facts.host.capabilities = 0;
	facts.host.agent = 0;
	facts.host.is_root = false;
	expect(&facts, "capabilities", DOCTOR_WARN, "sudo");
	/* Desktops give this capability to the programs of a user. */
	facts.host.capabilities = CAPABILITY_BIT(CAP_WAKE_ALARM);
	expect(&facts, "capabilities", DOCTOR_WARN, "sudo");
}

static void problems_of_server_and_token_are_found_by_the_status_of_an_answer(void **state)
{
	static const struct {
		long status;
		const char *check;
		enum doctor_status expected;
		const char *part;
	} cases[] = {
		{ 0, "server", DOCTOR_FAIL, "cannot reach 'http://h:1'" },
		{ 0, "token", DOCTOR_WARN, "not known" },
		{ 401, "server", DOCTOR_OK, "answers" },
		{ 401, "token", DOCTOR_FAIL, "--token-file" },
		{ 403, "token", DOCTOR_FAIL, "scope read" },
		{ 404, "server", DOCTOR_FAIL, "no hearth-symbolizer" },
		{ 200, "server", DOCTOR_FAIL, "no hearth-symbolizer" },
		{ 503, "server", DOCTOR_FAIL, "status 503" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct doctor_facts facts = healthy();

		facts.server.status = cases[i].status;
		expect(&facts, cases[i].check, cases[i].expected, cases[i].part);
	}
}

static void a_token_that_cannot_be_used_is_a_finding(void **state)
{
	const struct connection_options options = { .server = "http://127.0.0.1:1",
						    .token_file = "/nonexistent/token" };
	struct doctor_facts facts = healthy();

	(void)state;
	assert_ok(server_facts_read(&options, "b00t", &facts.server));
	expect(&facts, "server", DOCTOR_FAIL, "cannot reach");
	expect(&facts, "token", DOCTOR_FAIL, "cannot read the token file '/nonexistent/token'");
	expect(&facts, "token", DOCTOR_FAIL, "--token-file FILE");
	server_facts_release(&facts.server);
}

static void clocks_may_differ_by_a_few_seconds(void **state)
{
	struct doctor_facts facts = healthy();

	(void)state;
	facts.server.local_s = NOW_S + 4;
	expect(&facts, "clock", DOCTOR_OK, "less than");
	facts.server.local_s = NOW_S + 30;
	expect(&facts, "clock", DOCTOR_WARN, "30 s ahead of");
	facts.server.local_s = NOW_S - 90;
	expect(&facts, "clock", DOCTOR_FAIL, "90 s behind");
	facts.server.date_s = 0;
	expect(&facts, "clock", DOCTOR_WARN, "not known");
}

static void only_batches_of_this_boot_count(void **state)
{
	scoped(json_freep) json_t *fresh = hosts_of(NOW_S - 100, "{}");
	scoped(json_freep) json_t *late =
		hosts_of(NOW_S - 600, "{\"agent.reduced\":\"on-cpu 49 Hz\"}");
	struct doctor_facts facts = healthy();

	(void)state;
	facts.server.hosts = fresh;
	expect(&facts, "batches", DOCTOR_OK, "'web-1' sent");
	facts.server.hosts = late;
	expect(&facts, "batches", DOCTOR_FAIL, "10 m ago");
	expect(&facts, "losses", DOCTOR_WARN, "49 Hz");
	facts.host.agent_age_s = 10;
	expect(&facts, "batches", DOCTOR_WARN, "the agent started 10 s ago");
	facts.host.agent = 0;
	facts.host.n_agents = 0;
	expect(&facts, "agent", DOCTOR_FAIL, "restart");
	expect(&facts, "batches", DOCTOR_WARN, "start the agent");
	(void)snprintf(facts.host.boot_id, DOCTOR_TEXT_SIZE, "another");
	expect(&facts, "agent", DOCTOR_WARN, "start one");
	expect(&facts, "batches", DOCTOR_WARN, "none has come");
}

static void an_invisible_agent_is_detected_by_its_batches(void **state)
{
	scoped(json_freep) json_t *fresh = hosts_of(NOW_S - 100, "{}");
	struct doctor_facts facts = healthy();

	(void)state;
	facts.server.hosts = fresh;
	facts.host.agent = 0;
	facts.host.n_agents = 0;
	facts.host.foreign_pid_namespace = true;
	expect(&facts, "agent", DOCTOR_OK, "a batch of this host 100 s ago");
	facts.host.foreign_pid_namespace = false;
	expect(&facts, "agent", DOCTOR_FAIL, "no hearth-agent runs here any more");
	facts.host.is_root = false;
	expect(&facts, "agent", DOCTOR_OK, "a batch of this host 100 s ago");
	expect(&facts, "batches", DOCTOR_OK, "'web-1' sent");
}

static void findings_for_files_without_names_hold_the_remedy_and_its_command(void **state)
{
	scoped(json_freep) json_t *hosts = hosts_of(NOW_S, "{}");
	scoped(json_freep) json_t *unresolved =
		json_loads("{\"total\":1000,\"unresolved\":865,\"files\":["
			   "{\"file\":\"/lib/libz.so\",\"share\":0.86,\"why\":\"It is "
			   "stripped.\",\"remedy\":\"Upload it\","
			   "\"command\":\"hearth upload "
			   "libz.debug\"},{\"file\":\"/lib/small.so\",\"share\":0.005}]}",
			   0, NULL);
	scoped(doctor_report_release) struct doctor_report report = {};
	struct doctor_facts facts = healthy();

	(void)state;
	facts.server.hosts = hosts;
	facts.server.unresolved = unresolved;
	expect(&facts, "symbols", DOCTOR_WARN,
	       "86.0 % of the CPU time has no names, in /lib/libz.so: It is stripped.");
	expect(&facts, "symbols", DOCTOR_WARN, "Upload it: hearth upload libz.debug");
	assert_ok(doctor_run(&facts, &report));
	assert_int_equal(doctor_count(&report, DOCTOR_WARN), 1);
	facts.server.unresolved_status = 404;
	expect(&facts, "symbols", DOCTOR_WARN, "too old");
}

static void a_shell_joins_the_lines_of_a_long_command_again(void **state)
{
	scoped(doctor_report_release) struct doctor_report report = { .check = "symbols" };
	struct bytes text = BYTES_INIT(KIB);

	(void)state;
	doctor_add(&report, DOCTOR_WARN, "Upload it: hearth upload /usr/lib/debug/libz.debug",
		   "no names");
	report.findings.items[0].command_size = strlen("hearth upload /usr/lib/debug/libz.debug");
	assert_ok(doctor_text_write(&report, 55, false, &text));
	assert_bytes_equal_text(&text, "warn  symbols       no names\n"
				       "                    -> Upload it:\n"
				       "                       hearth upload \\\n"
				       "                         /usr/lib/debug/libz.debug\n"
				       "0 failed, 1 warning\n");
	bytes_release(&text);
}

static void text_and_json_have_the_same_findings(void **state)
{
	scoped(doctor_report_release) struct doctor_report report = { .check = "memory" };
	struct bytes text = BYTES_INIT(KIB), json = BYTES_INIT(KIB);

	(void)state;
	doctor_add(&report, DOCTOR_OK, "", "enough");
	doctor_add(&report, DOCTOR_FAIL, "raise the limit to 64 MiB", "8 %s", "MiB are too little");
	assert_ok(doctor_text_write(&report, 45, false, &text));
	assert_bytes_equal_text(&text, "ok    memory        enough\n"
				       "FAIL  memory        8 MiB are too little\n"
				       "                    -> raise the limit to 64\n"
				       "                       MiB\n"
				       "1 failed, 0 warnings\n");
	assert_ok(doctor_json_write(&report, &json));
	assert_bytes_equal_text(
		&json,
		"{\"checks\":[{\"check\":\"memory\",\"status\":\"ok\",\"message\":\"enough\","
		"\"fix\":\"\"},"
		"{\"check\":\"memory\",\"status\":\"fail\",\"message\":\"8 MiB are too little\","
		"\"fix\":\"raise the limit to 64 MiB\"}],\"failed\":1,\"warnings\":0}\n");
	bytes_release(&text);
	bytes_release(&json);
}

static void the_documentation_lists_every_check(void **state)
{
	static const char *const rows[] = {
#define CHECK(id, name, help) "| `" name "` | " help " |",
#include "symbolizer/cli/doctor/doctor_checks.def"
#undef CHECK
	};
	struct bytes document = BYTES_INIT(MIB);

	(void)state;
	assert_ok(file_read(SOURCE_FOLDER "/docs/cli.md", &document));
	assert_ok(bytes_append_byte(&document, 0));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (!strstr((const char *)document.data, rows[i]))
			fail_msg("docs/cli.md lacks: %s", rows[i]);
	}
	bytes_release(&document);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_healthy_host_has_no_failure_and_a_finding_of_every_check),
		cmocka_unit_test(distribution_kernels_are_judged_by_their_upstream_version),
		cmocka_unit_test(every_problem_of_the_host_has_a_fix),
		cmocka_unit_test(a_recent_batch_proves_that_perf_events_can_be_opened),
		cmocka_unit_test(memlock_counts_for_kernels_before_5_11_only),
		cmocka_unit_test(the_facts_of_this_host_can_be_read),
		in_folder(the_smallest_memory_limit_up_to_the_root_is_used),
		cmocka_unit_test(a_missing_capability_fails_if_the_agent_cannot_start_without_it),
		cmocka_unit_test(problems_of_server_and_token_are_found_by_the_status_of_an_answer),
		cmocka_unit_test(a_token_that_cannot_be_used_is_a_finding),
		cmocka_unit_test(clocks_may_differ_by_a_few_seconds),
		cmocka_unit_test(only_batches_of_this_boot_count),
		cmocka_unit_test(an_invisible_agent_is_detected_by_its_batches),
		cmocka_unit_test(findings_for_files_without_names_hold_the_remedy_and_its_command),
		cmocka_unit_test(a_shell_joins_the_lines_of_a_long_command_again),
		cmocka_unit_test(text_and_json_have_the_same_findings),
		cmocka_unit_test(the_documentation_lists_every_check),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
