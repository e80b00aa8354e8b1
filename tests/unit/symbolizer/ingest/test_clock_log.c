/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/ingest/clock_log.h"

#include <fcntl.h>
#include <string.h>

#include "common/file.h"
#include "tests/support/unit.h"

#define S    ((int64_t)NSEC_PER_SEC)
#define HOUR (3600 * S)

/* Observes one batch and returns the log lines, to be released. */
static struct bytes lines_of(struct clock_log *log, const struct clock_observation *observation)
{
	struct bytes lines = BYTES_INIT(KIB);
	char path[] = "/tmp/hearth-clock-log-XXXXXX";
	scoped_fd int saved = dup(STDERR_FILENO), fd = mkstemp(path);

	assert_true(saved >= 0 && fd >= 0 && dup2(fd, STDERR_FILENO) >= 0);
	clock_log_observe(log, observation);
	assert_true(dup2(saved, STDERR_FILENO) >= 0);
	assert_ok(file_read(path, &lines));
	assert_int_equal(unlink(path), 0);
	return lines;
}

static void expect_line(struct clock_log *log, const struct clock_observation *observation,
			const char *text)
{
	scoped(bytes_release) struct bytes lines = lines_of(log, observation);

	if (!text) {
		assert_int_equal(lines.size, 0);
		return;
	}
	assert_ok(bytes_append_byte(&lines, '\0'));
	if (!strstr((const char *)lines.data, text))
		fail_msg("no '%s' in '%s'", text, (const char *)lines.data);
}

static struct clock_observation of_agent(unsigned int number, int64_t offset_ns, bool is_refused)
{
	struct clock_observation observation = {
		.host = "web-1",
		.offset_ns = offset_ns,
		.is_refused = is_refused,
		.now_ns = 1,
	};

	observation.agent_id.bytes[0] = (uint8_t)number;
	return observation;
}

static void a_difference_is_logged_when_it_begins_and_when_it_ends(void **state)
{
	scoped(clock_log_freep) struct clock_log *log = NULL;
	struct clock_observation right = of_agent(1, 59 * S, false);
	struct clock_observation late = of_agent(1, -2 * HOUR, false);
	struct clock_observation refused = of_agent(1, 50 * HOUR, true);

	(void)state;
	assert_ok(clock_log_new(&log));
	expect_line(log, &right, NULL);
	expect_line(log, &late,
		    "the clock of host 'web-1' is 7200 s behind this server's, its samples are "
		    "shown that much too late or too early; set the wrong one of the two clocks");
	expect_line(log, &late, NULL);
	expect_line(log, &refused,
		    "is 180000 s ahead of this server's, its agent keeps its batches until the "
		    "clocks agree");
	expect_line(log, &refused, NULL);
	assert_int_equal(clock_log_count(log), 1);
	expect_line(log, &right, "agrees with this server's again");
	expect_line(log, &right, NULL);
	assert_int_equal(clock_log_count(log), 0);
}

static void many_hosts_at_once_are_one_line_about_the_server(void **state)
{
	scoped(clock_log_freep) struct clock_log *log = NULL;
	struct clock_observation later = of_agent(200, 50 * HOUR, true);

	(void)state;
	assert_ok(clock_log_new(&log));
	for (unsigned int i = 0; i < 100; i++) {
		struct clock_observation observation = of_agent(i, -240 * HOUR, true);
		const char *text = i < 5 ? "is 864000 s behind" : NULL;

		if (i == 5)
			text = "its own clock is probably wrong";
		expect_line(log, &observation, text);
	}
	assert_int_equal(clock_log_count(log), 100);
	later.now_ns = (uint64_t)HOUR + 1;
	expect_line(log, &later, "is 180000 s ahead of");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_difference_is_logged_when_it_begins_and_when_it_ends),
		cmocka_unit_test(many_hosts_at_once_are_one_line_about_the_server),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
