/* SPDX-License-Identifier: Apache-2.0 */
/* Uses real helpers, which read the image of a JVM that the test has made in its own memory. */
#include "agent/interpreter/jvm_table.h"

#include <poll.h>
#include <sys/wait.h>

#include "agent/helper/protocol.h"
#include "bpf/abi/jvm.h"
#include "bpf/abi/mapping.h"
#include "common/clock.h"
#include "tests/unit/agent/interpreter/hotspot/jvm_image.h"

#define START_TIME_NS (7 * NSEC_PER_SEC)
#define EXEC_COUNT    (3 * ABI_EXEC_STEP)
#define RETRY_NS      (40 * NSEC_PER_MSEC) /* after the first attempt; then twice as long each */
#define MAX_ATTEMPTS  12

static struct nursery *nursery;

struct fixture {
	struct helper_pool *pool;
	struct jvm_table *table;
	struct helper_message message;
	/* What was published last. */
	int publish_result;
	unsigned int n_published, n_removed;
	uint32_t published_pid;
	struct abi_jvm published;
};

static int publish(void *arg, uint32_t pid, const struct abi_jvm *jvm)
{
	struct fixture *fixture = arg;

	fixture->published_pid = pid;
	if (!jvm) {
		fixture->n_removed++;
		return 0;
	}
	fixture->n_published++;
	fixture->published = *jvm;
	return fixture->publish_result;
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	const struct helper_pool_options options = { .nursery = nursery,
						     .width = { [HELPER_TOUCHER] = 1 } };
	struct jvm_table_options table = { .arg = fixture, .publish = publish };

	assert_non_null(fixture);
	assert_ok(helper_pool_new(&options, &fixture->pool));
	table.pool = fixture->pool;
	assert_ok(jvm_table_new(&table, &fixture->table));
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	helper_pool_free(fixture->pool);
	jvm_table_free(fixture->table);
	free(fixture);
	return 0;
}

/* The table notes that @pid has mapped the libjvm.so with the symbols of @image. */
static void note(struct fixture *fixture, const struct image *image, uint32_t pid,
		 uint32_t exec_count)
{
	/* Symbols are ELF addresses of 32 bits, relative to the bias of the mapping. */
	const uint64_t bias = image->base - 4096;
	struct executable executable = {};
	const struct process_mapping mapping = { .bias = bias, .executable = &executable };
	const struct process process = {
		.pid = pid,
		.start_time_ns = START_TIME_NS,
		.exec_count = exec_count,
	};

	executable.interpreter.runtime = INTERPRETER_HOTSPOT;
	for (size_t i = 0; i < HOTSPOT_N_SYMBOLS; i++)
		executable.interpreter.symbols[i] = (uint32_t)(image->symbols[i] - bias);
	assert_ok(jvm_table_note(fixture->table, &process, &mapping));
}

static void note_end(void *arg, int error, struct helper_message *answer)
{
	(void)answer;
	assert_ok(error);
	*(bool *)arg = true;
}

/* A job that ends after all jobs before it, because there is one helper. */
static void submit_last_job(struct fixture *fixture, bool *ended)
{
	const struct reader_request request = { .pid = (uint32_t)getpid(), .file = READER_JVM };
	const struct helper_job job = {
		.kind = HELPER_TOUCHER,
		.timeout_ns = 60 * NSEC_PER_SEC,
		.done = note_end,
		.arg = ended,
	};

	fixture->message = (struct helper_message){
		.size = sizeof(request) + sizeof(struct reader_jvm_request),
	};
	memcpy(fixture->message.bytes, &request, sizeof(request));
	assert_ok(helper_pool_submit(fixture->pool, &job, &fixture->message));
}

/* Sends what is due at @now_ns, and waits for the answers. Returns the number of requests. */
static uint64_t serve(struct fixture *fixture, uint64_t now_ns)
{
	struct pollfd polled = { .fd = helper_pool_fd(fixture->pool), .events = POLLIN };
	struct helper_pool_stats before, after;
	bool ended = false;

	helper_pool_stats(fixture->pool, HELPER_TOUCHER, &before);
	jvm_table_flush(fixture->table, now_ns);
	submit_last_job(fixture, &ended);
	for (;;) {
		helper_pool_run(fixture->pool, clock_monotonic_ns(&system_clock));
		if (ended)
			break;
		(void)poll(&polled, 1, 5);
	}
	helper_pool_stats(fixture->pool, HELPER_TOUCHER, &after);
	return after.jobs - before.jobs - 1;
}

static const struct hotspot_layout *layout_of(struct fixture *fixture, uint32_t pid,
					      uint32_t exec_count, uint64_t start_time_ns)
{
	const struct abi_sample sample = {
		.pid = pid,
		.exec_count = exec_count,
		.start_time_ns = start_time_ns,
	};

	return jvm_table_layout(fixture->table, &sample);
}

static void expect_counts(struct fixture *fixture, uint64_t read, uint64_t failed)
{
	struct jvm_table_stats stats;

	jvm_table_stats(fixture->table, &stats);
	assert_int_equal(stats.read, read);
	assert_int_equal(stats.failed, failed);
}

static void a_jvm_is_published_with_its_ranges_and_its_image(void **state)
{
	scoped_free struct image *image = image_new(RECORDED, 0, NULL);
	const uint32_t pid = (uint32_t)getpid();
	struct fixture *fixture = *state;

	note(fixture, image, pid, EXEC_COUNT);
	assert_null(layout_of(fixture, pid, EXEC_COUNT, START_TIME_NS));
	assert_int_equal(serve(fixture, 1), 1);
	assert_int_equal(fixture->n_published, 1);
	assert_int_equal(fixture->published_pid, pid);
	assert_int_equal(fixture->published.start_time_10ms,
			 START_TIME_NS / ABI_START_TIME_TICK_NS);
	assert_int_equal(fixture->published.n_execs, EXEC_COUNT / ABI_EXEC_STEP);
	assert_int_equal(fixture->published.heaps[1].high, 0x3000000);
	assert_int_equal(fixture->published.call_stub_return, 0x1000cc9);
	expect_counts(fixture, 1, 0);
	assert_non_null(layout_of(fixture, pid, EXEC_COUNT, START_TIME_NS));
	assert_int_equal(layout_of(fixture, pid, EXEC_COUNT, START_TIME_NS)->excludes_zero, 0);
	/* another image, another process with the same PID, a process without a JVM */
	assert_null(layout_of(fixture, pid, EXEC_COUNT + ABI_EXEC_STEP, START_TIME_NS));
	assert_null(layout_of(fixture, pid, EXEC_COUNT, START_TIME_NS + NSEC_PER_SEC));
	assert_null(layout_of(fixture, pid + 1, EXEC_COUNT, START_TIME_NS));
	/* It is not read again when its mappings are published again. */
	note(fixture, image, pid, EXEC_COUNT);
	assert_int_equal(serve(fixture, NSEC_PER_SEC), 0);
}

static void another_image_of_the_process_is_read_again(void **state)
{
	scoped_free struct image *image = image_new(RECORDED, 0, NULL);
	const uint32_t pid = (uint32_t)getpid(), next = EXEC_COUNT + ABI_EXEC_STEP;
	struct fixture *fixture = *state;
	const struct hotspot_layout *layout;

	note(fixture, image, pid, EXEC_COUNT);
	assert_int_equal(serve(fixture, 1), 1);
	layout = layout_of(fixture, pid, EXEC_COUNT, START_TIME_NS);
	note(fixture, image, pid, next);
	assert_null(layout_of(fixture, pid, next, START_TIME_NS));
	assert_int_equal(serve(fixture, 2), 1);
	assert_int_equal(fixture->n_published, 2);
	assert_int_equal(fixture->published.n_execs, next / ABI_EXEC_STEP);
	/* Processes of one build of the JVM share a layout. */
	assert_ptr_equal(layout_of(fixture, pid, next, START_TIME_NS), layout);
	expect_counts(fixture, 2, 0);
}

static void a_jvm_that_starts_is_asked_again_after_growing_pauses(void **state)
{
	scoped_free struct image *image = image_new(RECORDED, 0, NULL);
	const uint64_t variable = image->statics[HOTSPOT_STATIC_INTERPRETER];
	const uint32_t pid = (uint32_t)getpid();
	struct fixture *fixture = *state;
	uint64_t now_ns = NSEC_PER_SEC, queue;

	assert_ok(read_image(image, variable, &queue, sizeof(queue)));
	set_word(image, variable, 0);
	note(fixture, image, pid, EXEC_COUNT);
	assert_int_equal(serve(fixture, now_ns), 1);
	assert_int_equal(serve(fixture, now_ns + RETRY_NS - 1), 0);
	now_ns += RETRY_NS;
	assert_int_equal(serve(fixture, now_ns), 1);
	assert_int_equal(serve(fixture, now_ns + 2 * RETRY_NS - 1), 0);
	assert_int_equal(fixture->n_published, 0);
	set_word(image, variable, queue);
	assert_int_equal(serve(fixture, now_ns + 2 * RETRY_NS), 1);
	assert_int_equal(fixture->n_published, 1);
	expect_counts(fixture, 1, 0);
}

static void a_jvm_that_never_starts_is_given_up(void **state)
{
	scoped_free struct image *image = image_new(RECORDED, 0, NULL);
	const uint32_t pid = (uint32_t)getpid();
	struct fixture *fixture = *state;
	uint64_t now_ns = NSEC_PER_SEC;

	set_word(image, image->statics[HOTSPOT_STATIC_HEAPS], 0);
	note(fixture, image, pid, EXEC_COUNT);
	for (int i = 0; i < MAX_ATTEMPTS; i++, now_ns += RETRY_NS << i) {
		expect_counts(fixture, 0, 0);
		assert_int_equal(serve(fixture, now_ns), 1);
	}
	expect_counts(fixture, 0, 1);
	assert_int_equal(serve(fixture, now_ns), 0);
}

static void a_jvm_that_is_not_supported_is_counted_and_not_asked_again(void **state)
{
	scoped_free struct image *image = image_new(RECORDED, 0, "_segmap");
	const uint32_t pid = (uint32_t)getpid();
	struct fixture *fixture = *state;

	note(fixture, image, pid, EXEC_COUNT);
	assert_int_equal(serve(fixture, 1), 1);
	expect_counts(fixture, 0, 1);
	assert_int_equal(serve(fixture, NSEC_PER_SEC), 0);
	assert_int_equal(fixture->n_published, 0);
	/* There is nothing to remove. */
	jvm_table_forget(fixture->table, pid, START_TIME_NS);
	assert_int_equal(fixture->n_removed, 0);
}

static void the_entry_of_a_process_that_ends_is_removed(void **state)
{
	scoped_free struct image *image = image_new(RECORDED, 0, NULL);
	const uint32_t pid = (uint32_t)getpid();
	struct fixture *fixture = *state;

	note(fixture, image, pid, EXEC_COUNT);
	assert_int_equal(serve(fixture, 1), 1);
	jvm_table_forget(fixture->table, pid, START_TIME_NS);
	assert_int_equal(fixture->n_removed, 1);
	assert_null(layout_of(fixture, pid, EXEC_COUNT, START_TIME_NS));
	jvm_table_forget(fixture->table, pid, START_TIME_NS);
	assert_int_equal(fixture->n_removed, 1);
}

static void a_process_that_has_ended_is_no_failure(void **state)
{
	scoped_free struct image *image = image_new(RECORDED, 0, NULL);
	struct fixture *fixture = *state;
	pid_t pid = fork();

	if (pid == 0)
		_exit(EXIT_SUCCESS);
	(void)waitpid(pid, NULL, 0);
	note(fixture, image, (uint32_t)pid, EXEC_COUNT);
	assert_int_equal(serve(fixture, 1), 1);
	expect_counts(fixture, 0, 0);
	assert_int_equal(serve(fixture, NSEC_PER_SEC), 0);
}

static void the_end_of_an_earlier_process_with_the_pid_removes_nothing(void **state)
{
	scoped_free struct image *image = image_new(RECORDED, 0, NULL);
	const uint32_t pid = (uint32_t)getpid();
	struct fixture *fixture = *state;

	note(fixture, image, pid, EXEC_COUNT);
	assert_int_equal(serve(fixture, 1), 1);
	jvm_table_forget(fixture->table, pid, START_TIME_NS - 1);
	assert_int_equal(fixture->n_removed, 0);
	assert_non_null(layout_of(fixture, pid, EXEC_COUNT, START_TIME_NS));
}

/* When a process ends, it may be found again in /proc, without its number of images. */
static void a_process_without_a_number_of_images_is_the_same(void **state)
{
	scoped_free struct image *image = image_new(RECORDED, 0, NULL);
	const uint32_t pid = (uint32_t)getpid();
	struct fixture *fixture = *state;

	note(fixture, image, pid, EXEC_COUNT);
	assert_int_equal(serve(fixture, 1), 1);
	note(fixture, image, pid, 0);
	assert_int_equal(serve(fixture, 2), 0);
	assert_non_null(layout_of(fixture, pid, EXEC_COUNT, START_TIME_NS));
}

static void the_entry_of_an_earlier_image_is_removed_if_the_next_cannot_be_read(void **state)
{
	scoped_free struct image *image = image_new(RECORDED, 0, NULL);
	scoped_free struct image *next = image_new(RECORDED, 0, "_segmap");
	const uint32_t pid = (uint32_t)getpid();
	struct fixture *fixture = *state;

	note(fixture, image, pid, EXEC_COUNT);
	assert_int_equal(serve(fixture, 1), 1);
	note(fixture, next, pid, EXEC_COUNT + ABI_EXEC_STEP);
	assert_int_equal(serve(fixture, 2), 1);
	expect_counts(fixture, 1, 1);
	jvm_table_forget(fixture->table, pid, START_TIME_NS);
	assert_int_equal(fixture->n_removed, 1);
}

static void an_answer_for_a_process_that_was_forgotten_is_ignored(void **state)
{
	scoped_free struct image *image = image_new(RECORDED, 0, NULL);
	const uint32_t pid = (uint32_t)getpid();
	struct fixture *fixture = *state;

	note(fixture, image, pid, EXEC_COUNT);
	jvm_table_flush(fixture->table, 1); /* The request waits until the pool runs. */
	jvm_table_forget(fixture->table, pid, START_TIME_NS);
	assert_int_equal(serve(fixture, 2), 1);
	assert_int_equal(fixture->n_published, 0);
	expect_counts(fixture, 0, 0);
}

static void a_jvm_for_which_the_map_has_no_room_is_counted(void **state)
{
	scoped_free struct image *image = image_new(RECORDED, 0, NULL);
	const uint32_t pid = (uint32_t)getpid();
	struct fixture *fixture = *state;

	fixture->publish_result = -E2BIG;
	note(fixture, image, pid, EXEC_COUNT);
	assert_int_equal(serve(fixture, 1), 1);
	expect_counts(fixture, 0, 1);
	assert_null(layout_of(fixture, pid, EXEC_COUNT, START_TIME_NS));
}

#define jvm_test(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		jvm_test(a_jvm_is_published_with_its_ranges_and_its_image),
		jvm_test(another_image_of_the_process_is_read_again),
		jvm_test(a_jvm_that_starts_is_asked_again_after_growing_pauses),
		jvm_test(a_jvm_that_never_starts_is_given_up),
		jvm_test(a_jvm_that_is_not_supported_is_counted_and_not_asked_again),
		jvm_test(the_entry_of_a_process_that_ends_is_removed),
		jvm_test(a_process_that_has_ended_is_no_failure),
		jvm_test(the_end_of_an_earlier_process_with_the_pid_removes_nothing),
		jvm_test(a_process_without_a_number_of_images_is_the_same),
		jvm_test(the_entry_of_an_earlier_image_is_removed_if_the_next_cannot_be_read),
		jvm_test(an_answer_for_a_process_that_was_forgotten_is_ignored),
		jvm_test(a_jvm_for_which_the_map_has_no_room_is_counted),
	};
	char *arguments[] = { (char[]){ "test" }, NULL };
	int status;

	if (nursery_start(1, arguments, &nursery) < 0)
		return EXIT_FAILURE;
	status = cmocka_run_group_tests(tests, NULL, NULL);
	nursery = nursery_free(nursery);
	return status;
}
