/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/cli/list/host_text.h"

#include "symbolizer/cli/print/scoped_json.h"
#include "tests/support/unit.h"

static const char hosts[] =
	"[{\"name\":\"web-1\",\"cpus\":4,\"kernel_release\":\"6.1.0-50-amd64\","
	"\"architecture\":\"x86_64\",\"agent_version\":\"0.1.0\",\"last_time\":990,"
	"\"labels\":{\"kernel.lacks\":\"task-work, copy-from-user-task\"}},"
	"{\"name\":\"ip-10-11-12-13.eu-central-1.compute.internal\",\"cpus\":96,"
	"\"kernel_release\":\"6.8.0-1029-aws-with-a-long-flavour\",\"architecture\":\"aarch64\","
	"\"agent_version\":\"0.1.0\",\"last_time\":1000,\"labels\":{}}]";

static void expect(int width, const char *expected)
{
	scoped(json_freep) json_t *rows = json_loads(hosts, 0, NULL);
	struct bytes out = BYTES_INIT(4 * KIB);

	host_text_write(rows, 1000, width, &out);
	assert_bytes_equal_text(&out, expected);
	bytes_release(&out);
}

static void lines_fit_80_columns_and_names_keep_their_ends(void **state)
{
	(void)state;
	expect(80,
	       "host                    CPUs  kernel                  arch     agent  last batch\n"
	       "web-1                      4  6.1.0-50-amd64          x86_64   0.1.0  10 s ago\n"
	       "  its kernel lacks: task-work, copy-from-user-task\n"
	       "ip-10-11-12…e.internal    96  6.8.0-1029-…ng-flavour  aarch64  0.1.0  just now\n");
}

static void long_labels_are_wrapped(void **state)
{
	scoped(json_freep) json_t *rows = json_loads(hosts, 0, NULL);
	struct bytes out = BYTES_INIT(4 * KIB);

	(void)state;
	host_text_write(rows, 1000, 40, &out);
	assert_ok(bytes_append_byte(&out, 0));
	assert_non_null(strstr((const char *)out.data,
			       "  its kernel lacks: task-work,\n    copy-from-user-task\n"));
	bytes_release(&out);
}

/* Half a percent of the samples is not worth a line. */
static void losses_above_a_threshold_have_a_line(void **state)
{
	static const char lossy[] = "[{\"name\":\"a\",\"labels\":{},\"clock_offset_ms\":-12500,"
				    "\"losses\":{\"samples\":1000,\"ticks_sampled\":969,"
				    "\"ticks_lost_ring_full\":31,\"stacks_cut\":120,\"gap_s\":95,"
				    "\"batches_missing\":2,\"frequency_lowered_s\":60}},"
				    "{\"name\":\"b\",\"labels\":{},\"clock_offset_ms\":-40,"
				    "\"losses\":{\"samples\":1000,\"ticks_sampled\":995,"
				    "\"ticks_lost_ring_full\":5,\"stacks_cut\":90,\"gap_s\":0}}]";
	scoped(json_freep) json_t *rows = json_loads(lossy, 0, NULL);
	struct bytes out = BYTES_INIT(4 * KIB);
	const char *text;

	(void)state;
	host_text_write(rows, 1000, INT16_MAX, &out);
	assert_ok(bytes_append_byte(&out, 0));
	text = (const char *)out.data;
	assert_non_null(strstr(text, "\n  in the last 15 minutes: 3.1 % of the samples lost in the "
				     "ring buffer; 12 % of the stacks end early; no agent for "
				     "95 s; 2 batches missing; frequency lowered for 60 s; its "
				     "clock is 12.5 s behind the server's\nb "));
	assert_null(strstr(strstr(text, "\nb "), "in the last"));
	bytes_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_fit_80_columns_and_names_keep_their_ends),
		cmocka_unit_test(long_labels_are_wrapped),
		cmocka_unit_test(losses_above_a_threshold_have_a_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
