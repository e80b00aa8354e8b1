/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/unit.h"

#include "tests/unit/tests/bench/fleet/small_capture.h"

static void a_capture_has_the_sums_of_each_batch(void **state)
{
	scoped(capture_freep) struct capture *capture = small_capture();

	(void)state;
	assert_int_equal(capture->n_batches, 2);
	assert_int_equal(capture->batches[0].sums[EVENT_ON_CPU], 5 * SMALL_PERIOD_NS);
	assert_int_equal(capture->batches[0].sums[EVENT_OFF_CPU], 7000);
	assert_int_equal(capture->batches[0].n_samples, 6);
	/* Its series 3 was defined by the batch before. */
	assert_int_equal(capture->batches[1].sums[EVENT_OFF_CPU], 500);
	assert_int_equal(capture->batches[1].n_samples, 5);
}

static void only_processes_that_started_during_the_capture_are_new(void **state)
{
	scoped(capture_freep) struct capture *capture = small_capture();

	(void)state;
	assert_null(hash_table_find(capture->new_processes, &(uint32_t){ 1 }));
	assert_non_null(hash_table_find(capture->new_processes, &(uint32_t){ 2 }));
	assert_non_null(hash_table_find(capture->new_pids, &(uint32_t){ 5000 }));
}

static void files_of_a_folder_are_read_in_order(void **state)
{
	const char *folder = *state;
	struct bytes bodies[2];
	scoped(capture_freep) struct capture *capture = NULL;
	char message[CAPTURE_MESSAGE_SIZE];

	small_capture_bodies(bodies);
	free(write_file_in(folder, "4d-02.batch", bodies[1].data, bodies[1].size));
	free(write_file_in(folder, "4d-01.batch", bodies[0].data, bodies[0].size));
	free(write_file_in(folder, "notes", "x", 1));
	assert_ok(capture_open(folder, &capture, message));
	assert_int_equal(capture->n_batches, 2);
	assert_int_equal(capture->batches[1].batch.sequence, 2);
	bytes_release(&bodies[0]);
	bytes_release(&bodies[1]);
}

static void a_batch_whose_definitions_are_missing_is_refused(void **state)
{
	struct bytes bodies[2];
	struct capture *capture = NULL;
	char message[CAPTURE_MESSAGE_SIZE];

	(void)state;
	small_capture_bodies(bodies);
	assert_errno(capture_from_bodies(
			     &(struct bytes_view){ .data = bodies[1].data, .size = bodies[1].size },
			     1, &capture, message),
		     -EBADMSG);
	assert_string_equal(message, "a row has an undefined series");
	bytes_release(&bodies[0]);
	bytes_release(&bodies[1]);
}

static void an_empty_folder_and_damaged_files_are_reported(void **state)
{
	const char *folder = *state;
	struct capture *capture = NULL;
	char message[CAPTURE_MESSAGE_SIZE];

	assert_errno(capture_open(folder, &capture, message), -ENODATA);
	assert_non_null(strstr(message, "has no batches"));
	free(write_file_in(folder, "1.batch", "junk", 4));
	assert_errno(capture_open(folder, &capture, message), -EBADMSG);
	assert_non_null(strstr(message, "1.batch"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_capture_has_the_sums_of_each_batch),
		cmocka_unit_test(only_processes_that_started_during_the_capture_are_new),
		in_folder(files_of_a_folder_are_read_in_order),
		cmocka_unit_test(a_batch_whose_definitions_are_missing_is_refused),
		in_folder(an_empty_folder_and_damaged_files_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
