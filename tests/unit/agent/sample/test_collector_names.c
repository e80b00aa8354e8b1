/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The namer of these tests knows code at 0x1000 to 0x1fff (one function) and at 0x2000 to 0x2fff.
 */
#include "agent/sample/code_namer.h"
#include "agent/sample/collector.h"

#include "common/frame.h"
#include "tests/support/collector_parts.h"

#define PID 5000001u

struct fixture {
	struct collector_parts parts;
	uint64_t sequence;
	uint64_t hash; /* of the last stack */
	size_t n_wanted;
	uint32_t unnamed; /* number of the process whose code has no names */
};

static void want(void *arg, const struct process *process, uint64_t pc, uint64_t time_ns)
{
	struct fixture *fixture = arg;

	assert_true(process->number > 0);
	assert_true(pc >= 0x1000 && time_ns > 0);
	fixture->n_wanted++;
}

static bool find(void *arg, uint32_t process, uint64_t pc, struct window_frame *frame)
{
	struct fixture *fixture = arg;
	uint32_t number;

	if (process == fixture->unnamed || pc >= 0x3000)
		return false;
	assert_int_equal(
		code_objects_find(frame_resolver_code_objects(fixture->parts.frames),
				  &(struct code_content){ .language = "jit",
							  .function = pc < 0x2000 ? "foo" : "bar" },
				  &number),
		1);
	*frame = (struct window_frame){ .kind = FRAME_JIT, .object = FRAME_CODE_OBJECT | number };
	return true;
}

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	collector_parts_init(&fixture->parts);
	collector_set_code_namer(
		fixture->parts.collector,
		&(struct code_namer){ .arg = fixture, .want = want, .find = find });
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	collector_parts_release(&fixture->parts);
	free(fixture);
	return 0;
}

static struct abi_sample sample_of(uint32_t pid)
{
	return (struct abi_sample){
		.time_ns = 1234567890,
		.start_time_ns = NSEC_PER_SEC,
		.value = 1,
		.pid = pid,
		.tid = pid,
		.parent_pid = 1,
		.event_type = EVENT_MEM_ALLOC,
		.comm = "main",
		.process_comm = "server",
	};
}

/* Adds a sample at @pc in generated code. Returns the hash of its stack. */
static uint64_t add(struct fixture *fixture, uint32_t pid, uint64_t pc)
{
	struct abi_frame frame = { .address = pc, .kind = FRAME_NATIVE };
	struct abi_sample sample = sample_of(pid);

	sample.stack_hash = ++fixture->hash;
	sample.flags = ABI_SAMPLE_FULL | ABI_SAMPLE_UNRESOLVED;
	sample.n_user_frames = 1;
	assert_ok(collector_add(fixture->parts.collector, &sample, &frame));
	return sample.stack_hash;
}

static void add_hash(struct fixture *fixture, uint32_t pid, uint64_t hash)
{
	struct abi_sample sample = sample_of(pid);

	sample.stack_hash = hash;
	sample.n_user_frames = 1;
	assert_ok(collector_add(fixture->parts.collector, &sample, NULL));
}

static struct window close_window(struct fixture *fixture)
{
	struct window window = { .sequence = ++fixture->sequence };

	assert_ok(collector_close(fixture->parts.collector, &window));
	return window;
}

static void different_addresses_of_a_function_are_one_stack(void **state)
{
	struct fixture *fixture = *state;
	struct window window;

	(void)add(fixture, PID, 0x1010);
	(void)add(fixture, PID, 0x1020);
	(void)add(fixture, PID, 0x2010);
	window = close_window(fixture);
	assert_int_equal(fixture->n_wanted, 3);
	assert_int_equal(window.n_rows, 3);
	assert_int_equal(window.n_stacks, 2);
	assert_int_equal(window.n_code_objects, 2);
	assert_int_equal(window.rows[0].stack, window.rows[1].stack);
	assert_int_equal(window.rows[0].stack, window.stacks[0].number);
	assert_int_equal(window.rows[2].stack, window.stacks[1].number);
	assert_int_equal(window.stacks[0].frames[0].kind, FRAME_JIT);
}

static void code_without_a_name_keeps_its_address(void **state)
{
	struct fixture *fixture = *state;
	struct window window;

	(void)add(fixture, PID, 0x5000);
	(void)add(fixture, PID, 0x1000);
	window = close_window(fixture);
	assert_int_equal(window.n_stacks, 2);
	assert_int_equal(window.rows[0].stack, window.stacks[0].number);
	assert_int_equal(window.stacks[0].frames[0].kind, FRAME_ANONYMOUS);
	assert_int_equal(window.stacks[0].frames[0].address, 0x5000);
}

static void one_address_in_two_processes_is_different_code(void **state)
{
	struct fixture *fixture = *state;
	struct window window;

	(void)add(fixture, PID, 0x1000);
	(void)add(fixture, PID + 1, 0x1000);
	fixture->unnamed = 2;
	window = close_window(fixture);
	assert_int_equal(window.n_stacks, 2);
	assert_int_not_equal(window.rows[0].stack, window.rows[1].stack);
	assert_int_equal(window.stacks[0].frames[0].kind, FRAME_JIT);
	assert_int_equal(window.stacks[1].frames[0].kind, FRAME_ANONYMOUS);
}

static void named_functions_of_processes_share_a_stack(void **state)
{
	struct fixture *fixture = *state;
	struct window window;

	(void)add(fixture, PID, 0x1000);
	(void)add(fixture, PID + 1, 0x1020);
	window = close_window(fixture);
	assert_int_equal(window.n_stacks, 1);
	assert_int_equal(window.rows[0].stack, window.rows[1].stack);
}

static void a_hash_of_an_earlier_window_has_the_name(void **state)
{
	struct fixture *fixture = *state;
	struct window window;
	uint64_t named, unnamed;

	named = add(fixture, PID, 0x1000);
	fixture->unnamed = 2;
	unnamed = add(fixture, PID + 1, 0x2000);
	window = close_window(fixture);
	definitions_acknowledge(collector_definitions(fixture->parts.collector), window.sequence);
	/* The code of both has names now. */
	fixture->unnamed = 0;
	fixture->n_wanted = 0;
	add_hash(fixture, PID, named);
	add_hash(fixture, PID + 1, unnamed);
	window = close_window(fixture);
	assert_int_equal(fixture->n_wanted, 1);
	assert_int_equal(window.n_rows, 2);
	/* The first stack is known to the server. */
	assert_int_equal(window.n_stacks, 1);
	assert_int_equal(window.rows[1].stack, window.stacks[0].number);
	assert_int_equal(window.stacks[0].frames[0].kind, FRAME_JIT);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(different_addresses_of_a_function_are_one_stack),
		TEST(code_without_a_name_keeps_its_address),
		TEST(one_address_in_two_processes_is_different_code),
		TEST(named_functions_of_processes_share_a_stack),
		TEST(a_hash_of_an_earlier_window_has_the_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
