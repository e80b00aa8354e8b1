/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tests/bench/fleet/small_capture.h"

#include "tests/support/unit.h"

#define WALL(ns) (BUILDER_BOOT_WALL_NS + SMALL_OPENED_NS + (ns))

static void add_stack(struct batch_builder *builder, uint32_t number, uint32_t executable,
		      uint64_t address)
{
	const struct batch_frame frames[] = {
		{ FRAME_NATIVE, executable, address },
		{ FRAME_NATIVE, 2, 0x1000 },
	};

	batch_builder_stack(builder, number, STACK_CUT_NONE, frames, ARRAY_SIZE(frames));
}

static void build_first(struct bytes *body)
{
	const struct executable_id kernel = test_build_id(1), libc = test_build_id(2);
	struct batch_builder *builder =
		batch_builder_new(9, 77, 1, WALL(0), WALL(5 * NSEC_PER_SEC));

	batch_builder_executable(builder, 1, &kernel, "[kernel]", ROLE_KERNEL);
	batch_builder_executable(builder, 2, &libc, "libc.so.6", ROLE_USER);
	batch_builder_process(builder, 1, 4711, 5 * NSEC_PER_SEC, "nginx", 2);
	batch_builder_path(builder, 2, "/usr/lib/libc.so.6");
	batch_builder_label(builder, "service", "web");
	batch_builder_process(builder, 2, 5000, SMALL_OPENED_NS + NSEC_PER_SEC, "tool", 0);
	batch_builder_process_details(
		builder,
		&(struct batch_process){ .parent_pid = 4711, .executable_path = "/bin/tool" });
	batch_builder_series(builder, 1, 1, 4711, "nginx", EVENT_ON_CPU, SMALL_PERIOD_NS);
	batch_builder_series(builder, 3, 2, 5000, "tool", EVENT_OFF_CPU, 0);
	add_stack(builder, 1, 2, 0x2000);
	add_stack(builder, 2, 2, 0x3000);
	batch_builder_row(builder, 1, 1, WALL(NSEC_PER_SEC), 2);
	batch_builder_row(builder, 1, 2, WALL(2 * NSEC_PER_SEC), 3);
	batch_builder_row(builder, 3, 2, WALL(3 * NSEC_PER_SEC), 7000);
	batch_builder_finish(builder, body);
}

static void build_second(struct bytes *body)
{
	const struct executable_id tool = test_build_id(3);
	struct batch_builder *builder =
		batch_builder_new(9, 77, 2, WALL(5 * NSEC_PER_SEC), WALL(10 * NSEC_PER_SEC + 1));
	const struct batch_frame frames[] = {
		{ FRAME_KERNEL_NAMED, 0, batch_builder_named_frame(builder, "bpf_prog_1") },
		{ FRAME_NATIVE, 3, 0x4000 },
	};

	batch_builder_executable(builder, 3, &tool, "tool", ROLE_USER);
	batch_builder_segment(builder, 0, 0x400000, 4096);
	batch_builder_process(builder, 2, 5000, SMALL_OPENED_NS + NSEC_PER_SEC, "tool-renamed", 3);
	batch_builder_process_details(
		builder,
		&(struct batch_process){ .parent_pid = 4711, .executable_path = "/bin/tool" });
	batch_builder_series(builder, 2, 1, 4712, "worker", EVENT_ON_CPU, SMALL_PERIOD_NS);
	batch_builder_stack(builder, 3, STACK_CUT_NONE, frames, ARRAY_SIZE(frames));
	batch_builder_row(builder, 2, 1, WALL(6 * NSEC_PER_SEC), 4);
	batch_builder_row(builder, 3, 3, WALL(7 * NSEC_PER_SEC), 500);
	batch_builder_finish(builder, body);
}

void small_capture_bodies(struct bytes bodies[2])
{
	bodies[0] = BYTES_INIT(MIB);
	bodies[1] = BYTES_INIT(MIB);
	build_first(&bodies[0]);
	build_second(&bodies[1]);
}

struct capture *small_capture(void)
{
	struct bytes bodies[2];
	char message[CAPTURE_MESSAGE_SIZE];
	struct capture *capture = NULL;

	small_capture_bodies(bodies);
	assert_ok(capture_from_bodies(
		(const struct bytes_view[]){ bytes_view_of(&bodies[0]), bytes_view_of(&bodies[1]) },
		2, &capture, message));
	bytes_release(&bodies[0]);
	bytes_release(&bodies[1]);
	return capture;
}

static void build_format_2(struct bytes *body)
{
	const struct batch_event_type type = { "requests", "events", EVENT_VALUE_SUM };
	const struct batch_frame frame = { FRAME_PYTHON, FRAME_CODE_OBJECT | 1, 7 };
	struct batch_builder *builder =
		batch_builder_new(9, 77, 1, WALL(0), WALL(5 * NSEC_PER_SEC));

	batch_builder_use_format_2(builder);
	batch_builder_process(builder, 1, 4711, 5 * NSEC_PER_SEC, "web", 0);
	batch_builder_described_series(builder, 1, 1, 4711, &type);
	batch_builder_series_label(builder, "queue", "mail");
	batch_builder_code_object(builder, &(struct batch_code_object){
						   .number = 1,
						   .language = "python",
						   .function = "handler",
						   .qualified_name = "Mail.handler",
						   .file = "mail.py",
						   .first_line = 12,
					   });
	batch_builder_stack(builder, 1, STACK_CUT_NONE, &frame, 1);
	batch_builder_row(builder, 1, 1, WALL(NSEC_PER_SEC), 3);
	batch_builder_finish(builder, body);
}

struct capture *small_capture_format_2(void)
{
	scoped(bytes_release) struct bytes body = BYTES_INIT(MIB);
	struct bytes_view view;
	char message[CAPTURE_MESSAGE_SIZE];
	struct capture *capture = NULL;

	build_format_2(&body);
	view = bytes_view_of(&body);
	if (capture_from_bodies(&view, 1, &capture, message) < 0)
		fail_msg("%s", message);
	return capture;
}
