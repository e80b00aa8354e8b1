/* SPDX-License-Identifier: Apache-2.0 */
/* Uses real helpers, which read compiled code that the test has made in its own memory. */
#include "agent/interpreter/compiled_frames.h"

#include <poll.h>
#include <sys/wait.h>

#include "common/clock.h"
#include "tests/support/unit.h"

/* More addresses are known at a time than the table holds. */
#define MAX_KNOWN 32768

/* Where a struct compiled has what the JVM describes, with the layout of JDK 17. */
static const struct hotspot_layout layout_17 = {
	.offset = {
		[HOTSPOT_NMETHOD_METHOD] = 112, [HOTSPOT_PC_OFFSET] = 0, [HOTSPOT_PC_SCOPE] = 4,
		[HOTSPOT_METHOD_CONST] = 8,
	},
	.place = {
		[HOTSPOT_PLACE_METHODS] = { HOTSPOT_BASE_BLOB, 260 },
		[HOTSPOT_PLACE_SCOPES] = { HOTSPOT_BASE_NONE, 120 },
		[HOTSPOT_PLACE_PCS] = { HOTSPOT_BASE_BLOB, 268 },
		[HOTSPOT_PLACE_PCS_END] = { HOTSPOT_BASE_BLOB, 272 },
	},
	.size = {
		[HOTSPOT_SIZE_HEAP_BLOCK] = 16, [HOTSPOT_SIZE_CONST_METHOD] = 48,
		[HOTSPOT_SIZE_CONSTANT_POOL] = 72, [HOTSPOT_SIZE_PC_DESC] = 16,
	},
};

static const struct code_source source_17 = { .runtime = INTERPRETER_HOTSPOT,
					      .layout = &layout_17 };

enum {
	METHOD = 0x10000,
	INLINED_METHOD = 0x20000,
};

struct pc_desc {
	int32_t pc;
	uint32_t scope;
	uint32_t more[2];
};

struct compiled {
	uint8_t header[512];
	struct pc_desc descs[3];
	uint64_t metadata[2];
	/*
	 * Of the method itself at the index @index, and of another one at 2 that is inlined into
	 * it: caller, method, index + 1.
	 */
	uint8_t scopes[7];
};

static void put_number(struct compiled *code, size_t offset, uint64_t number, size_t size)
{
	memcpy(code->header + offset, &number, size);
}

/* Up to the offset 40 the inlined method is executed. */
static void make_compiled(struct compiled *code, uint8_t index)
{
	const uint8_t scopes[] = { 0, 0, 1, (uint8_t)(index + 1), 1, 2, 3 };

	*code = (struct compiled){
		.descs = { { .pc = -1 }, { .pc = 40, .scope = 4 }, { .pc = INT32_MAX } },
		.metadata = { METHOD, INLINED_METHOD },
	};
	memcpy(code->scopes, scopes, sizeof(scopes));
	put_number(code, 112, METHOD, 8);
	put_number(code, 120, (uintptr_t)code->scopes, 8);
	put_number(code, 260, offsetof(struct compiled, metadata), 4);
	put_number(code, 268, offsetof(struct compiled, descs), 4);
	put_number(code, 272, offsetof(struct compiled, descs) + sizeof(code->descs), 4);
}

static struct nursery *nursery;

struct fixture {
	struct helper_pool *pool;
	struct compiled_frames *frames;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	const struct helper_pool_options options = { .nursery = nursery,
						     .width = { [HELPER_TOUCHER] = 2 } };

	assert_non_null(fixture);
	assert_ok(helper_pool_new(&options, &fixture->pool));
	assert_ok(compiled_frames_new(fixture->pool, &fixture->frames));
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	helper_pool_free(fixture->pool);
	compiled_frames_free(fixture->frames);
	free(fixture);
	return 0;
}

static struct compiled_pc pc_in(const struct compiled *code, pid_t pid, uint32_t pc_offset)
{
	return (struct compiled_pc){
		.code = { .start_time_ns = 1, .address = (uintptr_t)code, .pid = (uint32_t)pid },
		.pc_offset = pc_offset,
	};
}

/* Waits until all of @pcs[@count] are read in @window. */
static void read_all(struct fixture *fixture, const struct compiled_pc *pcs, size_t count,
		     uint64_t window)
{
	struct pollfd polled = { .fd = helper_pool_fd(fixture->pool), .events = POLLIN };
	size_t n_ready = 0;

	while (n_ready < count) {
		n_ready = 0;
		for (size_t i = 0; i < count; i++) {
			int r = compiled_frames_want(fixture->frames, &pcs[i], &source_17, window);

			assert_ok(r);
			n_ready += r == 1;
		}
		compiled_frames_flush(fixture->frames);
		helper_pool_run(fixture->pool, clock_monotonic_ns(&system_clock));
		if (n_ready < count)
			(void)poll(&polled, 1, 5);
	}
}

/* The functions at @pc are the inlined one and, at @index, the one that contains it. */
static void expect_inlined(struct fixture *fixture, const struct compiled_pc *pc, uint32_t index)
{
	const struct compiled_frame *functions;

	assert_int_equal(compiled_frames_get(fixture->frames, pc, &functions), 2);
	assert_int_equal(functions[0].function, INLINED_METHOD);
	assert_int_equal(functions[0].position, 2);
	assert_int_equal(functions[1].function, METHOD);
	assert_int_equal(functions[1].position, index);
}

static uint64_t count_jobs(struct fixture *fixture)
{
	struct helper_pool_stats stats;

	helper_pool_stats(fixture->pool, HELPER_TOUCHER, &stats);
	return stats.jobs;
}

static void the_methods_at_an_address_are_read_once_in_each_window(void **state)
{
	struct fixture *fixture = *state;
	const struct compiled_frame *functions;
	struct compiled code;
	const struct compiled_pc pc = pc_in(&code, getpid(), 40);

	make_compiled(&code, 11);
	assert_int_equal(compiled_frames_get(fixture->frames, &pc, &functions), 0);
	read_all(fixture, &pc, 1, 1);
	expect_inlined(fixture, &pc, 11);
	read_all(fixture, &pc, 1, 1);
	assert_int_equal(count_jobs(fixture), 1);
	/* The JVM has compiled the method again, at the same address. */
	make_compiled(&code, 22);
	read_all(fixture, &pc, 1, 2);
	assert_int_equal(count_jobs(fixture), 2);
	expect_inlined(fixture, &pc, 22);
}

static void more_addresses_than_a_message_holds_are_read(void **state)
{
	enum { COUNT = 100 };
	struct fixture *fixture = *state;
	struct compiled *codes = calloc(COUNT, sizeof(*codes));
	struct compiled_pc pcs[3 * COUNT];

	assert_non_null(codes);
	for (uint32_t i = 0; i < COUNT; i++) {
		make_compiled(&codes[i], (uint8_t)i);
		for (uint32_t j = 0; j < 3; j++)
			pcs[3 * i + j] = pc_in(&codes[i], getpid(), 20 * j);
	}
	read_all(fixture, pcs, ARRAY_SIZE(pcs), 1);
	assert_int_equal(count_jobs(fixture), 5); /* of 64 addresses each */
	for (uint32_t i = 0; i < ARRAY_SIZE(pcs); i++)
		expect_inlined(fixture, &pcs[i], i / 3);
	free(codes);
}

static void addresses_of_different_processes_are_not_mixed(void **state)
{
	struct fixture *fixture = *state;
	const struct compiled_frame *functions;
	struct compiled code;
	struct compiled_pc pcs[2];
	int ready[2], end[2];
	char byte = 0;
	pid_t pid;

	make_compiled(&code, 11);
	assert_ok(pipe(ready));
	assert_ok(pipe(end));
	pid = fork();
	if (pid == 0) {
		make_compiled(&code, 33);
		_exit(write(ready[1], &byte, 1) != 1 || close(end[1]) < 0 ||
		      read(end[0], &byte, 1) != 0);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	pcs[0] = pc_in(&code, getpid(), 40);
	pcs[1] = pc_in(&code, pid, 40);
	read_all(fixture, pcs, ARRAY_SIZE(pcs), 1);
	expect_inlined(fixture, &pcs[0], 11);
	expect_inlined(fixture, &pcs[1], 33);
	(void)close(end[1]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	/* In the next window the process has ended. */
	read_all(fixture, pcs, ARRAY_SIZE(pcs), 2);
	expect_inlined(fixture, &pcs[0], 11);
	assert_int_equal(compiled_frames_get(fixture->frames, &pcs[1], &functions), 0);
	(void)close(ready[0]);
	(void)close(ready[1]);
	(void)close(end[0]);
}

static void code_that_cannot_be_read_has_no_methods(void **state)
{
	struct fixture *fixture = *state;
	struct compiled code;
	const struct compiled_pc pcs[] = { pc_in(&code, getpid(), 40), pc_in(NULL, getpid(), 40) };
	const struct compiled_frame *functions;

	make_compiled(&code, 11);
	put_number(&code, 112, 0, 8);
	read_all(fixture, pcs, ARRAY_SIZE(pcs), 1);
	for (size_t i = 0; i < ARRAY_SIZE(pcs); i++)
		assert_int_equal(compiled_frames_get(fixture->frames, &pcs[i], &functions), 0);
}

static void addresses_that_are_not_used_are_forgotten(void **state)
{
	struct fixture *fixture = *state;
	const struct compiled_frame *functions;
	struct compiled code;
	const struct compiled_pc pcs[] = { pc_in(&code, getpid(), 20), pc_in(&code, getpid(), 40) };

	make_compiled(&code, 11);
	read_all(fixture, pcs, 2, 1);
	read_all(fixture, pcs, 1, 3);
	compiled_frames_begin_window(fixture->frames, 3);
	expect_inlined(fixture, &pcs[0], 11);
	expect_inlined(fixture, &pcs[1], 11);
	compiled_frames_begin_window(fixture->frames, 4);
	expect_inlined(fixture, &pcs[0], 11);
	assert_int_equal(compiled_frames_get(fixture->frames, &pcs[1], &functions), 0);
}

static void a_full_table_leaves_addresses_out_until_others_are_forgotten(void **state)
{
	struct fixture *fixture = *state;
	const struct compiled_frame *functions;
	struct compiled code;
	struct compiled_pc pc = pc_in(&code, getpid(), 40);

	make_compiled(&code, 11);
	for (uint32_t i = 0; i < MAX_KNOWN; i++) {
		const struct compiled_pc other = pc_in(&code, getpid(), 1000 + i);

		assert_ok(compiled_frames_want(fixture->frames, &other, &source_17, 1));
	}
	assert_int_equal(compiled_frames_want(fixture->frames, &pc, &source_17, 1), 1);
	assert_int_equal(compiled_frames_get(fixture->frames, &pc, &functions), 0);
	/* Most were left out because too many were waiting. The others are read first. */
	for (uint32_t i = 0; i < MAX_KNOWN; i++) {
		const struct compiled_pc other = pc_in(&code, getpid(), 1000 + i);

		read_all(fixture, &other, 1, 1);
	}
	compiled_frames_begin_window(fixture->frames, 4);
	read_all(fixture, &pc, 1, 4);
	expect_inlined(fixture, &pc, 11);
}

#define frames_test(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		frames_test(the_methods_at_an_address_are_read_once_in_each_window),
		frames_test(more_addresses_than_a_message_holds_are_read),
		frames_test(addresses_of_different_processes_are_not_mixed),
		frames_test(code_that_cannot_be_read_has_no_methods),
		frames_test(addresses_that_are_not_used_are_forgotten),
		frames_test(a_full_table_leaves_addresses_out_until_others_are_forgotten),
	};
	char *arguments[] = { (char[]){ "test" }, NULL };
	int status;

	if (nursery_start(1, arguments, &nursery) < 0)
		return EXIT_FAILURE;
	status = cmocka_run_group_tests(tests, NULL, NULL);
	nursery = nursery_free(nursery);
	return status;
}
