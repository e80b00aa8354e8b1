/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/parked_records.h"

#include "tests/support/unit.h"

#define MAX_BYTES ((size_t)(64 * KIB))

struct trial {
	uint32_t ready_pid; /* the process with files that are identified; 0: none */
	int result;         /* returned by try_record() for a record that is processed; 0: 1 */
	unsigned int n_tries;
	char order[64]; /* the first byte of each record that was processed */
	size_t n_done;
};

static int try_record(void *arg, struct parked_record *record, bool is_late)
{
	struct trial *trial = arg;

	trial->n_tries++;
	if (!is_late && record->pid != trial->ready_pid)
		return 0;
	trial->order[trial->n_done++] = *(const char *)record->bytes;
	return trial->result ? trial->result : 1;
}

static void add(struct parked_records *records, uint32_t pid, const char *text,
		uint64_t deadline_ns)
{
	assert_ok(parked_records_add(
		records,
		&(struct parked_record){ .pid = pid, .bytes = text, .size = strlen(text) + 1 },
		deadline_ns));
}

/* Two records of each of the processes 1 and 2: "a" and "c", "b" and "d". */
static void add_two_of_each(struct parked_records *records)
{
	add(records, 1, "a", 100);
	add(records, 2, "b", 100);
	add(records, 1, "c", 100);
	add(records, 2, "d", 100);
}

static struct parked_records *new_records(void)
{
	struct parked_records *records = NULL;

	assert_ok(parked_records_new(MAX_BYTES, &records));
	return records;
}

static void records_of_one_process_keep_their_order(void **state)
{
	scoped(parked_records_freep) struct parked_records *records = new_records();
	struct trial trial = { .ready_pid = 2 };

	(void)state;
	add_two_of_each(records);
	assert_ok(parked_records_run(records, 1, try_record, &trial));
	assert_string_equal(trial.order, "bd");
	assert_true(parked_records_has(records, 1));
	assert_false(parked_records_has(records, 2));
	trial.ready_pid = 1;
	assert_ok(parked_records_run(records, 1, try_record, &trial));
	assert_string_equal(trial.order, "bdac");
	assert_int_equal(parked_records_count(records), 0);
	assert_int_equal(parked_records_late(records), 0);
}

static void only_the_first_waiting_record_of_a_process_is_tried(void **state)
{
	scoped(parked_records_freep) struct parked_records *records = new_records();
	struct trial trial = {};

	(void)state;
	for (int i = 0; i < 10; i++)
		add(records, 1, "a", 100);
	assert_ok(parked_records_run(records, 1, try_record, &trial));
	assert_int_equal(trial.n_tries, 1);
}

static void a_record_is_processed_when_its_deadline_passes(void **state)
{
	scoped(parked_records_freep) struct parked_records *records = new_records();
	struct trial trial = {};

	(void)state;
	add(records, 1, "a", 10);
	add(records, 1, "b", 20);
	assert_ok(parked_records_run(records, 9, try_record, &trial));
	assert_int_equal(trial.n_done, 0);
	assert_ok(parked_records_run(records, 10, try_record, &trial));
	assert_string_equal(trial.order, "a");
	assert_ok(parked_records_run(records, UINT64_MAX, try_record, &trial));
	assert_string_equal(trial.order, "ab");
	assert_int_equal(parked_records_late(records), 2);
}

static void an_error_removes_the_record_and_ends_the_run(void **state)
{
	scoped(parked_records_freep) struct parked_records *records = new_records();
	struct trial trial = { .ready_pid = 1, .result = -ENOMEM };

	(void)state;
	add(records, 1, "a", 100);
	add(records, 1, "b", 100);
	assert_errno(parked_records_run(records, 1, try_record, &trial), -ENOMEM);
	assert_int_equal(parked_records_count(records), 1);
	trial.result = 0;
	assert_ok(parked_records_run(records, 1, try_record, &trial));
	assert_string_equal(trial.order, "ab");
}

/* A record that fills the window ends the run, so that the window is closed before the next. */
static void a_run_that_was_ended_continues_after_the_record_that_ended_it(void **state)
{
	scoped(parked_records_freep) struct parked_records *records = new_records();
	struct trial trial = { .ready_pid = 1, .result = 2 };

	(void)state;
	add(records, 1, "a", 100);
	add(records, 1, "b", 100);
	assert_int_equal(parked_records_run(records, 1, try_record, &trial), 1);
	assert_string_equal(trial.order, "a");
	assert_int_equal(parked_records_run(records, 1, try_record, &trial), 1);
	assert_string_equal(trial.order, "ab");
	assert_int_equal(parked_records_run(records, 1, try_record, &trial), 0);
}

static void a_record_without_room_is_refused_until_others_are_processed(void **state)
{
	scoped(parked_records_freep) struct parked_records *records = new_records();
	static const char large[8 * KIB] = "x";
	const struct parked_record record = { .pid = 1, .bytes = large, .size = sizeof(large) };
	struct trial trial = { .ready_pid = 1 };
	unsigned int n = 0;
	int r;

	(void)state;
	while ((r = parked_records_add(records, &record, 100)) == 0)
		n++;
	assert_errno(r, -ENOSPC);
	assert_true(n >= 6 && n <= 8);
	assert_ok(parked_records_run(records, 1, try_record, &trial));
	assert_int_equal(trial.n_done, n);
	assert_ok(parked_records_add(records, &record, 100));
}

static void all_records_of_one_process_can_be_processed_at_once(void **state)
{
	scoped(parked_records_freep) struct parked_records *records = new_records();
	struct trial trial = { .result = 2 };

	(void)state;
	add_two_of_each(records);
	assert_ok(parked_records_end(records, 2, try_record, &trial));
	assert_string_equal(trial.order, "bd");
	assert_false(parked_records_has(records, 2));
	assert_int_equal(parked_records_count(records), 2);
	assert_int_equal(parked_records_late(records), 2);
	assert_ok(parked_records_end(records, 3, try_record, &trial));
	assert_int_equal(parked_records_count(records), 2);
	/* A record that is added now is processed after those that are still parked. */
	add(records, 2, "e", 100);
	trial.result = 0;
	assert_ok(parked_records_run(records, UINT64_MAX, try_record, &trial));
	assert_string_equal(trial.order, "bdace");
}

/* Events have no deadline: they are processed after the older samples of their process. */
static void events_are_not_counted_as_late(void **state)
{
	scoped(parked_records_freep) struct parked_records *records = new_records();
	const struct parked_record event = {
		.pid = 1, .kind = PARKED_EVENT, .bytes = "e", .size = 2
	};
	struct trial trial = {};

	(void)state;
	add(records, 1, "a", 100);
	assert_ok(parked_records_add(records, &event, UINT64_MAX));
	assert_ok(parked_records_end(records, 1, try_record, &trial));
	assert_int_equal(parked_records_late(records), 1);
	add(records, 1, "b", 100);
	assert_ok(parked_records_add(records, &event, UINT64_MAX));
	assert_ok(parked_records_run(records, UINT64_MAX, try_record, &trial));
	assert_string_equal(trial.order, "aebe");
	assert_int_equal(parked_records_late(records), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_of_one_process_keep_their_order),
		cmocka_unit_test(only_the_first_waiting_record_of_a_process_is_tried),
		cmocka_unit_test(a_record_is_processed_when_its_deadline_passes),
		cmocka_unit_test(an_error_removes_the_record_and_ends_the_run),
		cmocka_unit_test(a_run_that_was_ended_continues_after_the_record_that_ended_it),
		cmocka_unit_test(a_record_without_room_is_refused_until_others_are_processed),
		cmocka_unit_test(all_records_of_one_process_can_be_processed_at_once),
		cmocka_unit_test(events_are_not_counted_as_late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
