/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/query/selection.h"

#include "symbolizer/query/filter/tags.def"
#include "symbolizer/query/filter/tags.h"
#include "tests/unit/symbolizer/query/profile_fixture.h"

#define SERIES(id_, process_, tid_, name_, cpu_, first_, last_)                                    \
	{                                                                                          \
		.id = (id_), .tenant = "default", .process = &processes[process_], .tid = (tid_),  \
		.thread_name = (name_), .type = EVENT_ON_CPU, .cpu = (cpu_), .period_ns = 1,       \
		.first_slot = (first_), .last_slot = (last_)                                       \
	}

static const struct store_series fleet[] = {
	SERIES(1, P_APP, 100, "app", 3, T0, T0 + 10),
	SERIES(2, P_APP, 101, "worker", -1, T0, T0 + 10),
	SERIES(4, P_APP_BETA, 200, "app", -1, T0, T0 + 5 * SECOND),
	SERIES(5, P_SHOP, 300, "shop", -1, T0, T0 + 10),
	SERIES(6, P_HIDDEN, 400, "hidden", -1, T0, T0 + 10),
};

/*
 * Each series has one row. Its value is 1 << ID of the series, so the total of a query shows which
 * series were selected.
 */
static const struct stack_text stacks[] = { { 1, 0, "native:app:0x1110" } };
static const struct fake_row rows[] = {
	{ 1, 1, T0, 1 << 1 }, { 2, 1, T0, 1 << 2 }, { 4, 1, T0, 1 << 4 },
	{ 5, 1, T0, 1 << 5 }, { 6, 0, T0, 1 << 6 },
};

static void set_fleet(struct fixture *fixture)
{
	FAKE_SAMPLES(fixture, fleet, stacks, rows);
}

#define ALPHA (1 << 1 | 1 << 2 | 1 << 5)
#define BETA  (1 << 4)

static void each_tag_selects_the_series_with_its_value(void **state)
{
	static const struct {
		const char *filter;
		uint64_t selected; /* sum of 1 << ID of the selected series */
	} cases[] = {
		{ "", ALPHA | BETA },
		{ "app_service = 'app'", 1 << 1 | 1 << 2 | BETA },
		{ "app_instance = 'shop'", 1 << 5 },
		{ "process_id = 100", 1 << 1 | 1 << 2 },
		{ "thread = 'worker'", 1 << 2 },
		{ "tid = 200", BETA },
		{ "tid > 99 AND tid < 102", 1 << 1 | 1 << 2 },
		{ "cpu = 3", 1 << 1 },
		{ "cpu IS NULL", (ALPHA | BETA) & ~(1 << 1) },
		{ "host = 'alpha'", ALPHA },
		{ "host_hostname = 'beta'", BETA },
		{ "host_ip = '10.1.0.0/16'", ALPHA },
		{ "ip = 'fe80::1'", ALPHA },
		{ "ip = '10.2.2.2'", BETA },
		{ "agent = 'bb02'", BETA },
		{ "kernel_release LIKE '6.1.%'", ALPHA },
		{ "architecture = 'aarch64'", BETA },
		{ "profile_event_type = 'on-cpu'", ALPHA | BETA },
		{ "profile_language_type = 'eBPF'", ALPHA | BETA },
		{ "profile_value_unit = 'microseconds'", ALPHA | BETA },
		{ "service = 'frontend'", 1 << 1 | 1 << 2 },
		{ "service IS NULL", BETA },
		{ "version IN ('v1', 'v2')", ALPHA },
		{ "container_id = 'c0ffee'", 1 << 1 | 1 << 2 },
		{ "pod = 'app-1'", 1 << 1 | 1 << 2 },
		{ "pod_ns IS NULL", ALPHA | BETA },
		{ "pod_cluster != 'x'", ALPHA | BETA },
		{ "pod_node NOT LIKE '*'", ALPHA | BETA },
		{ "k8s.label.app = 'app'", 1 << 1 | 1 << 2 },
		{ "k8s.label.unheard_of IS NULL", ALPHA | BETA },
		{ "cloud.tag.team IS NULL", ALPHA | BETA },
		{ "region IS NULL AND auto_service IS NULL AND trace_id IS NULL", ALPHA | BETA },
		{ "az = 'west'", 1 << 1 | 1 << 2 },
		/* DeepFlow's numbers of resources are their names here. */
		{ "pod_id = 'app-1'", 1 << 1 | 1 << 2 },
		{ "Enum(az_id) IN ('west')", 1 << 1 | 1 << 2 },
		{ "agent_id = 'bb02' OR vtap_id = 'bb02'", BETA },
		{ "host_id = 'alpha' AND auto_service_id IS NULL", ALPHA },
		/* A process's label hides the host's label of that name. "label." is optional. */
		{ "color = 'red'", 1 << 1 | 1 << 2 },
		{ "color = 'host'", 1 << 5 },
		{ "label.color = 'red'", 1 << 1 | 1 << 2 },
		{ "zone = 'b'", BETA },
		{ "label.zone = 'a'", ALPHA },
		{ "label.service = 'frontend'", 1 << 1 | 1 << 2 },
	};
	struct fixture *fixture = *state;

	set_fleet(fixture);
	fixture->request.service = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(tree_freep) struct tree *tree = NULL;
		uint32_t count;

		fixture->request.tag_filter = cases[i].filter;
		assert_int_equal(query(fixture, &tree), 1);
		if (tree_nodes(tree, &count)[0].total != cases[i].selected)
			fail_msg("%s selects %#llx", cases[i].filter,
				 (unsigned long long)tree_nodes(tree, &count)[0].total);
	}
}

static void the_docs_list_every_tag_and_no_other(void **state)
{
	static const struct {
		const char *name, *source, *help;
	} tags[] = {
#define X(name, source, help) { name, #source, help },
		TAGS(X)
#undef X
	};
	struct bytes docs = BYTES_INIT(MIB);
	size_t n_rows = 0, n_tags = 0;

	(void)state;
	assert_int_equal(command_output("cat " SOURCE_FOLDER "/docs/filter-language.md", &docs), 0);
	for (size_t i = 0; i < ARRAY_SIZE(tags); i++) {
		char line[256];

		if (strcmp(tags[i].source, "FOREIGN") == 0)
			continue;
		n_tags++;
		(void)snprintf(line, sizeof(line), "\n| `%s` | %s |\n", tags[i].name, tags[i].help);
		if (!strstr((const char *)docs.data, line))
			fail_msg("docs/filter-language.md lacks %s", line);
	}
	for (const char *c = strstr((const char *)docs.data, "## Tags");
	     c && c < strstr(c, "## Examples"); c = strstr(c + 1, "\n| `"))
		n_rows++;
	/* The first iteration counts the heading "## Tags", which is no row. */
	assert_int_equal(n_rows - 1, n_tags);
	bytes_release(&docs);
}

static void errors_have_the_number_of_the_character(void **state)
{
	static const struct {
		const char *filter, *group_by, *message;
	} cases[] = {
		{ "host = ", NULL,
		  "tag_filter: expected a text in quotes or a number, but the filter ends here at "
		  "character 8" },
		{ "host ! 'a'", NULL, "tag_filter: unexpected '!' at character 6" },
		/* The error counts characters, not bytes: U+00E9 is one character of two bytes. */
		{ "host = '\xc3\xa9\xc3\xa9' x", NULL,
		  "tag_filter: expected AND, OR or the end, not 'x' at character 13" },
		{ "host REGEXP '(a+)+(b+)+$(' ", NULL, NULL },
		{ "ip = 'nowhere'", NULL,
		  "tag_filter: 'nowhere' is neither an IP address nor a CIDR range at character "
		  "6" },
	};
	struct fixture *fixture = *state;

	set_fleet(fixture);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(tree_freep) struct tree *tree = NULL;

		fixture->request.tag_filter = cases[i].filter;
		assert_int_equal(query(fixture, &tree), -EINVAL);
		if (cases[i].message)
			assert_string_equal(fixture->message, cases[i].message);
		else
			assert_memory_equal(fixture->message,
					    "tag_filter: regular expression: ", 32);
	}
}

static void the_error_for_an_unknown_tag_lists_the_known_tags(void **state)
{
	static const char *const listed[] = { "app_service", "host", "pod",          "color",
					      "zone",        "rack", "k8s.label.app" };
	struct fixture *fixture = *state;
	scoped(tree_freep) struct tree *tree = NULL;
	const char *known;

	set_fleet(fixture);
	fixture->request.tag_filter = "host = 'alpha' AND colour = 'red'";
	assert_int_equal(query(fixture, &tree), -EINVAL);
	assert_memory_equal(fixture->message,
			    "tag_filter: unknown tag 'colour' at character 20 (known: ", 57);
	known = strstr(fixture->message, "(known: ");
	for (size_t i = 0; i < ARRAY_SIZE(listed); i++) {
		if (!strstr(known, listed[i]))
			fail_msg("'%s' is not listed in: %s", listed[i], fixture->message);
	}
	assert_null(strstr(known, "region"));
	assert_int_equal(fixture->message[strlen(fixture->message) - 1], ')');

	fixture->request.tag_filter = NULL;
	fixture->request.group_by = "colour";
	assert_int_equal(query(fixture, &tree), -EINVAL);
	assert_memory_equal(fixture->message, "group_by: unknown tag 'colour' (known: ", 39);
}

static void a_label_of_a_host_or_of_other_samples_is_known(void **state)
{
	static const char *const filters[] = { "rack IS NULL", "label.rack != '9'",
					       "color IS NULL OR color = 'red'" };
	struct fixture *fixture = *state;

	/* The store has only series of app on alpha. Only the host beta has the label rack. */
	FAKE_SET(fixture, series, fleet);
	fixture->fake.n_series = 2;
	FAKE_SET(fixture, rows, rows);
	set_stacks(fixture, stacks, ARRAY_SIZE(stacks));
	for (size_t i = 0; i < ARRAY_SIZE(filters); i++) {
		scoped(tree_freep) struct tree *tree = NULL;

		fixture->request.tag_filter = filters[i];
		assert_int_equal(query(fixture, &tree), 1);
	}
}

static void an_empty_answer_has_the_reason(void **state)
{
	static const struct {
		const char *service, *filter;
		enum event_type type;
		uint64_t from_slot, to_slot;
		const char *message;
	} cases[] = {
		{ "ap", NULL, EVENT_ON_CPU, T0, T0 + 60 * SECOND,
		  "no service 'ap'; known services: app, shop" },
		{ "chop", NULL, EVENT_ON_CPU, T0, T0 + 60 * SECOND,
		  "no service 'chop'; known services: shop, app" },
		{ "hidden", NULL, EVENT_ON_CPU, T0, T0 + 60 * SECOND,
		  "process 'hidden' is left out by the agent's configuration: it counts in 'Total' "
		  "only" },
		{ "app", NULL, EVENT_ON_CPU, T0 + 600 * SECOND, T0 + 1200 * SECOND,
		  "service 'app' has no on-cpu samples between 2024-02-21T03:22:00Z and "
		  "2024-02-21T03:32:00Z; "
		  "last sample at 2024-02-21T03:12:05Z" },
		{ "app", NULL, EVENT_OFF_CPU, T0, T0 + 60 * SECOND,
		  "service 'app' has no off-cpu samples, only others (on-cpu)" },
		{ "app", "host = 'gamma'", EVENT_ON_CPU, T0, T0 + 60 * SECOND,
		  "tag_filter selects none of the 3 series with on-cpu samples "
		  "between 2024-02-21T03:12:00Z and 2024-02-21T03:13:00Z" },
		{ NULL, NULL, EVENT_ON_CPU, T0 + 600 * SECOND, T0 + 1200 * SECOND,
		  "no on-cpu samples between 2024-02-21T03:22:00Z and 2024-02-21T03:32:00Z; "
		  "last sample at 2024-02-21T03:12:05Z" },
		{ "Total", NULL, EVENT_OFF_CPU, T0, T0 + 60 * SECOND,
		  "no off-cpu samples were ever stored" },
	};
	struct fixture *fixture = *state;

	set_fleet(fixture);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		fixture->request.service = cases[i].service;
		fixture->request.tag_filter = cases[i].filter;
		fixture->request.type = cases[i].type;
		fixture->request.from_slot = cases[i].from_slot;
		fixture->request.to_slot = cases[i].to_slot;
		assert_message(fixture, 0, cases[i].message);
	}

	fixture->fake.n_series = 0;
	fixture->request.service = "app";
	fixture->request.type = EVENT_ON_CPU;
	assert_message(fixture, 0, "no service 'app'; no service is known yet");
}

static void an_empty_answer_lists_the_event_types_of_the_service(void **state)
{
	struct store_series series[] = { fleet[0], fleet[0], fleet[0] };
	struct fixture *fixture = *state;

	series[1].type = EVENT_OFF_CPU;
	series[2].type = EVENT_MEM_INUSE;
	FAKE_SET(fixture, series, series);
	fixture->request.service = "app";
	fixture->request.type = EVENT_MEM_ALLOC;
	fixture->request.from_slot = T0;
	fixture->request.to_slot = T0 + 60 * SECOND;
	assert_message(fixture, 0,
		       "service 'app' has no mem-alloc samples, only others (on-cpu, off-cpu, "
		       "mem-inuse)");
}

static void assert_errno_of_query(struct fixture *fixture, int expected)
{
	scoped(tree_freep) struct tree *tree = NULL;

	assert_errno(query(fixture, &tree), expected);
}

static void a_misspelt_name_searches_for_series_once(void **state)
{
	struct fixture *fixture = *state;

	set_fleet(fixture);
	fixture->request.service = "ap";
	assert_message(fixture, 0, "no service 'ap'; known services: app, shop");
	assert_int_equal(fixture->fake.n_searches, 1);
	fixture->request.service = NULL;
	fixture->request.tag_filter = "colour = 'red'";
	assert_errno_of_query(fixture, -EINVAL);
	assert_int_equal(fixture->fake.n_searches, 2);
}

static void a_failing_store_shortens_the_message(void **state)
{
	struct fixture *fixture = *state;

	set_fleet(fixture);
	fixture->fake.known_fails_with = -EIO;
	fixture->request.service = "ap";
	assert_message(fixture, 0, "no service 'ap'");
	fixture->request.service = NULL;
	fixture->request.tag_filter = "colour = 'red'";
	assert_errno_of_query(fixture, -EINVAL);
}

static void at_most_ten_services_are_merged(void **state)
{
	struct store_process many[12];
	struct store_series series[12];
	char process_names[12][16];
	struct fixture *fixture = *state;

	for (uint32_t i = 0; i < 12; i++) {
		(void)snprintf(process_names[i], sizeof(process_names[i]), "service-%02u", 11 - i);
		many[i] = (struct store_process){
			.id = i + 1, .host = &hosts[0], .name = process_names[i], .pid = 100 + i
		};
		series[i] = fleet[0];
		series[i].id = i + 1;
		series[i].process = &many[i];
	}
	fixture->fake.series = series;
	fixture->fake.n_series = 12;
	FAKE_SET(fixture, rows, rows);
	set_stacks(fixture, stacks, ARRAY_SIZE(stacks));
	fixture->request.service = NULL;
	assert_message(fixture, -EINVAL, "app_service count 12 is invalid");
	fixture->fake.n_series = 11;
	assert_message(fixture, -EINVAL, "app_service count 11 is invalid");
	fixture->fake.n_series = 10;
	{
		scoped(tree_freep) struct tree *tree = NULL;

		assert_int_equal(query(fixture, &tree), 1);
		assert_string_equal(
			tree_label(tree, 0),
			"service-02, service-03, service-04, service-05, service-06, service-07, "
			"service-08, service-09, service-10, service-11");
	}
	/*
	 * The limit applies to the services that the filter selects. It does not apply to a request
	 * that names a service.
	 */
	fixture->fake.n_series = 12;
	fixture->request.tag_filter = "app_service < 'service-09'";
	{
		scoped(tree_freep) struct tree *tree = NULL;

		assert_int_equal(query(fixture, &tree), 1);
	}
	fixture->request.tag_filter = NULL;
	fixture->request.service = "Total";
	{
		scoped(tree_freep) struct tree *tree = NULL;

		assert_int_equal(query(fixture, &tree), 1);
	}
}

static void a_regular_expression_with_too_many_steps_is_an_error_of_the_request(void **state)
{
	static struct label long_label[] = {
		{ "long", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab" }
	};
	struct store_process process = processes[P_APP];
	struct store_series series = fleet[0];
	struct fixture *fixture = *state;

	process.labels = long_label;
	process.n_labels = 1;
	series.process = &process;
	fixture->fake.series = &series;
	fixture->fake.n_series = 1;
	fixture->request.tag_filter = "long REGEXP '^(a+)+$'";
	assert_message(fixture, -EINVAL,
		       "tag_filter: a regular expression takes too many steps on a value: simplify "
		       "it");
}

static void services_are_listed_with_hosts_processes_and_times(void **state)
{
	static struct store_series listed[] = {
		SERIES(1, P_APP, 100, "app", -1, T0 + 5, T0 + 10),
		SERIES(2, P_APP, 101, "worker", -1, T0 + 2, T0 + 7),
		SERIES(3, P_APP_BETA, 200, "app", -1, T0 + 9, T0 + 90),
		SERIES(4, P_APP, 100, "app", -1, T0, T0 + 1), /* becomes off-cpu below */
		SERIES(5, P_SHOP, 300, "shop", -1, T0, T0 + 10),
		SERIES(6, P_HIDDEN, 400, "hidden", -1, T0, T0 + 10),
		SERIES(7, P_APP, 100, "app", -1, T0 + 100, T0 + 110), /* after the query */
	};
	struct fixture *fixture = *state;
	scoped(store_view_closep) struct store_view *view = open_view(fixture->store, "default");
	scoped(store_view_closep) struct store_view *another = open_view(fixture->store, "another");
	scoped(arena_freep) struct arena *arena = NULL;
	struct service_summary *services;
	size_t count;

	listed[3].type = EVENT_OFF_CPU;
	FAKE_SET(fixture, series, listed);
	assert_ok(arena_new(MIB, &arena));
	assert_ok(profile_list_services(view, T0, T0 + 50, arena, &services, &count));
	assert_int_equal(count, 3);
	assert_string_equal(services[0].name, "app");
	assert_int_equal(services[0].type, EVENT_ON_CPU);
	assert_int_equal(services[0].n_hosts, 2);
	assert_int_equal(services[0].n_processes, 2);
	assert_int_equal(services[0].first_wall_ns, (T0 + 2) * SLOT_NS);
	assert_int_equal(services[0].last_wall_ns, (T0 + 90) * SLOT_NS);
	assert_string_equal(services[1].name, "app");
	assert_int_equal(services[1].type, EVENT_OFF_CPU);
	assert_int_equal(services[1].n_processes, 1);
	assert_string_equal(services[2].name, "shop");
	assert_ok(profile_list_services(another, T0, T0 + 50, arena, &services, &count));
	assert_int_equal(count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define WITH_FLEET(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)
		WITH_FLEET(each_tag_selects_the_series_with_its_value),
		cmocka_unit_test(the_docs_list_every_tag_and_no_other),
		WITH_FLEET(errors_have_the_number_of_the_character),
		WITH_FLEET(the_error_for_an_unknown_tag_lists_the_known_tags),
		WITH_FLEET(a_label_of_a_host_or_of_other_samples_is_known),
		WITH_FLEET(an_empty_answer_has_the_reason),
		WITH_FLEET(an_empty_answer_lists_the_event_types_of_the_service),
		WITH_FLEET(a_misspelt_name_searches_for_series_once),
		WITH_FLEET(a_failing_store_shortens_the_message),
		WITH_FLEET(at_most_ten_services_are_merged),
		WITH_FLEET(a_regular_expression_with_too_many_steps_is_an_error_of_the_request),
		WITH_FLEET(services_are_listed_with_hosts_processes_and_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
