/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/api/background_reading.h"

#include <semaphore.h>
#include <stdatomic.h>

#include "tests/support/unit.h"

/* A disk: each reading takes one permission of `answers`, and returns the number of readings. */
struct disk {
	sem_t answers;
	atomic_int n_readings;
};

static void read_disk(void *arg, void *ret_value)
{
	struct disk *disk = arg;

	while (sem_wait(&disk->answers) < 0)
		;
	*(int *)ret_value = atomic_fetch_add(&disk->n_readings, 1) + 1;
}

static struct background_reading *reading_of(struct disk *disk, unsigned int n_answers,
					     uint64_t wait_ns, uint64_t hang_ns)
{
	const struct background_reading_options options = {
		.read = read_disk,
		.arg = disk,
		.value_size = sizeof(int),
		.wait_ns = wait_ns,
		.hang_ns = hang_ns,
	};
	struct background_reading *reading;

	*disk = (struct disk){};
	assert_int_equal(sem_init(&disk->answers, 0, n_answers), 0);
	assert_ok(background_reading_new(&options, &reading));
	return reading;
}

static void each_call_gets_a_reading_that_began_after_it(void **state)
{
	struct disk disk;
	struct background_reading *reading =
		reading_of(&disk, 2, 600 * NSEC_PER_SEC, 600 * NSEC_PER_SEC);
	int value = 0;

	(void)state;
	assert_ok(background_reading_get(reading, &value));
	assert_int_equal(value, 1);
	assert_ok(background_reading_get(reading, &value));
	assert_int_equal(value, 2);
	assert_null(background_reading_free(reading));
	assert_int_equal(disk.n_readings, 2);
}

static void a_slow_disk_gives_the_last_value(void **state)
{
	struct disk disk;
	struct background_reading *reading =
		reading_of(&disk, 1, 50 * NSEC_PER_MSEC, 600 * NSEC_PER_SEC);
	int value = 0;

	(void)state;
	/* The first reading may take longer than the wait on a loaded machine. */
	while (background_reading_get(reading, &value) < 0)
		assert_int_equal(value, 0);
	assert_int_equal(value, 1);
	assert_ok(background_reading_get(reading, &value));
	assert_int_equal(value, 1);
	assert_int_equal(sem_post(&disk.answers), 0);
	assert_null(background_reading_free(reading));
}

static void a_disk_that_hangs_is_reported(void **state)
{
	struct disk disk;
	struct background_reading *reading = reading_of(&disk, 0, NSEC_PER_MSEC, 0);
	int value = 7;

	(void)state;
	assert_int_equal(background_reading_get(reading, &value), -ETIMEDOUT);
	assert_int_equal(background_reading_get(reading, &value), -ETIMEDOUT);
	assert_int_equal(value, 7);
	assert_int_equal(sem_post(&disk.answers), 0);
	assert_int_equal(sem_post(&disk.answers), 0);
	assert_null(background_reading_free(reading));
}

static void readings_succeed_again_when_the_disk_answers(void **state)
{
	struct disk disk;
	struct background_reading *reading = reading_of(&disk, 0, NSEC_PER_MSEC, 0);
	int value = 0;

	(void)state;
	assert_int_equal(background_reading_get(reading, &value), -ETIMEDOUT);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(sem_post(&disk.answers), 0);
	while (background_reading_get(reading, &value) < 0)
		assert_true(disk.n_readings < 900);
	assert_true(value > 0);
	assert_null(background_reading_free(reading));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_call_gets_a_reading_that_began_after_it),
		cmocka_unit_test(a_slow_disk_gives_the_last_value),
		cmocka_unit_test(a_disk_that_hangs_is_reported),
		cmocka_unit_test(readings_succeed_again_when_the_disk_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
