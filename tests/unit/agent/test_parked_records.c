/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/parked_records.h"

#include "tests/support/unit.h"

#define MAX_BYTES ((size_t)(64 * KIB))

struct trial {
	uint32_t ready_pid; /* of whose records the files are known; 0 none */
	int error;	    /* that a record's try ends with */
	unsigned int n_tries;
	char order[64]; /* the first byte of each record that was done */
	size_t n_done;
};

static int try_record(void *arg, struct parked_record *record, bool is_late)
{
	struct trial *trial = arg;

	trial->n_tries++;
	if (!is_late && record->pid != trial->ready_pid)
		return 0;
	trial->order[trial->n_done++] = *(const char *)record->bytes;
	return trial->error ? trial->error : 1;
}

static void add(struct parked_records *records, uint32_t pid, const char *text, uint64_t deadline_ns)
{
	assert_ok(parked_records_add(
		records, &(struct parked_record){ .pid = pid, .bytes = text, .size = strlen(text) + 1 }, deadline_ns));
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
	add(records, 1, "a", 100);
	add(records, 2, "b", 100);
	add(records, 1, "c", 100);
	add(records, 2, "d", 100);
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

static void of_a_process_that_waits_only_the_first_is_tried(void **state)
{
	scoped(parked_records_freep) struct parked_records *records = new_records();
	struct trial trial = {};

	(void)state;
	for (int i = 0; i < 10; i++)
		add(records, 1, "a", 100);
	assert_ok(parked_records_run(records, 1, try_record, &trial));
	assert_int_equal(trial.n_tries, 1);
}

/* Also one whose own time is over waits for an earlier one of its process: that one's time is over before. */
static void what_is_late_goes_on(void **state)
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

static void a_failed_try_ends_the_run_and_its_record(void **state)
{
	scoped(parked_records_freep) struct parked_records *records = new_records();
	struct trial trial = { .ready_pid = 1, .error = -EXFULL };

	(void)state;
	add(records, 1, "a", 100);
	add(records, 1, "b", 100);
	assert_errno(parked_records_run(records, 1, try_record, &trial), -EXFULL);
	assert_int_equal(parked_records_count(records), 1);
	trial.error = 0;
	assert_ok(parked_records_run(records, 1, try_record, &trial));
	assert_string_equal(trial.order, "ab");
}

static void beyond_the_bound_nothing_is_taken_until_there_is_room(void **state)
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

static void the_records_of_one_process_can_be_ended(void **state)
{
	scoped(parked_records_freep) struct parked_records *records = new_records();
	struct trial trial = { .error = -EXFULL };

	(void)state;
	add(records, 1, "a", 100);
	add(records, 2, "b", 100);
	add(records, 1, "c", 100);
	add(records, 2, "d", 100);
	/* A full window does not end it: each record was folded before that was noticed. */
	assert_ok(parked_records_end(records, 2, try_record, &trial));
	assert_string_equal(trial.order, "bd");
	assert_false(parked_records_has(records, 2));
	assert_int_equal(parked_records_count(records), 2);
	assert_int_equal(parked_records_late(records), 2);
	assert_ok(parked_records_end(records, 3, try_record, &trial));
	assert_int_equal(parked_records_count(records), 2);
	/* Those that come now are behind those that stayed. */
	add(records, 2, "e", 100);
	trial.error = 0;
	assert_ok(parked_records_run(records, UINT64_MAX, try_record, &trial));
	assert_string_equal(trial.order, "bdace");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_of_one_process_keep_their_order),
		cmocka_unit_test(of_a_process_that_waits_only_the_first_is_tried),
		cmocka_unit_test(what_is_late_goes_on),
		cmocka_unit_test(a_failed_try_ends_the_run_and_its_record),
		cmocka_unit_test(beyond_the_bound_nothing_is_taken_until_there_is_room),
		cmocka_unit_test(the_records_of_one_process_can_be_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
