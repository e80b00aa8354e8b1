/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/symbolizer/ingest/small_batch.h"

struct batch_builder *small_batch(void)
{
	struct batch_builder *builder = batch_builder_new(7, 1000, 3, OPENED, CLOSED);
	struct executable_id libc = test_build_id(1);
	struct executable_id kernel = test_build_id(2);
	const struct batch_frame deep[] = {
		{ FRAME_KERNEL, 2, 0x1234 },
		{ FRAME_NATIVE, 1, 0x2000 },
		{ FRAME_NATIVE, 1, 0x1000 },
		{ FRAME_NATIVE, 0, UINT64_MAX },
	};

	batch_builder_executable(builder, 1, &libc, "libc.so.6", ROLE_USER);
	batch_builder_segment(builder, 0, 0x400000, 0x1000);
	batch_builder_segment(builder, 0x1000, 0x402000, 0x500);
	batch_builder_executable(builder, 2, &kernel, "[kernel]", ROLE_KERNEL);
	batch_builder_process(builder, 1, 4711, 99, "nginx", 1);
	batch_builder_path(builder, 1, "/usr/lib/libc.so.6");
	batch_builder_label(builder, "service", "web");
	batch_builder_series(builder, 1, 1, 4711, "nginx", EVENT_ON_CPU, 10 * NSEC_PER_MSEC);
	batch_builder_series(builder, 2, 1, 4712, "worker", EVENT_OFF_CPU, 0);
	batch_builder_stack(builder, 1, STACK_CUT_NONE, deep, 4);
	batch_builder_stack(builder, 2, STACK_CUT_READ_FAULT, deep + 1, 3);
	batch_builder_stack(builder, 3, STACK_CUT_NONE, NULL, 0);
	batch_builder_row(builder, 1, 1, OPENED, 1);
	batch_builder_row(builder, 1, 2, OPENED + NSEC_PER_SEC, 2);
	batch_builder_row(builder, 2, 2, OPENED + NSEC_PER_SEC, 700);
	batch_builder_row(builder, 2, 0, OPENED, 5);
	(void)batch_builder_named_frame(builder, "bpf_prog_1");
	batch_builder_counter(builder, "samples_total", 12);
	return builder;
}

struct batch_builder *small_batch_2(void)
{
	struct batch_builder *builder = batch_builder_new(7, 1000, 3, OPENED, CLOSED);
	struct executable_id libc = test_build_id(1);
	const struct batch_frame frames[] = {
		{ FRAME_KERNEL_CODE, FRAME_CODE_OBJECT | 2, 0 },
		{ FRAME_PYTHON, FRAME_CODE_OBJECT | 1, 42 },
		{ UNKNOWN_KIND, 1, 0x2000 },
		{ UNKNOWN_KIND, FRAME_CODE_OBJECT | 1, 7 },
		{ FRAME_NATIVE, 1, 0x1000 },
		{ FRAME_ANONYMOUS, 0, UINT64_MAX },
	};
	static const uint8_t lines[] = { 1, 2, 3 };

	batch_builder_use_format_2(builder);
	batch_builder_executable(builder, 1, &libc, "libc.so.6", ROLE_USER);
	batch_builder_process(builder, 1, 4711, 99, "train", 1);
	batch_builder_series(builder, 1, 1, 4711, "train", EVENT_ON_CPU, 10 * NSEC_PER_MSEC);
	batch_builder_described_series(builder, 2, 1, 4712,
				       &(struct batch_event_type){ .name = "page-faults",
								   .unit = "events",
								   .kind = EVENT_VALUE_SUM });
	batch_builder_series_label(builder, "stream", "3");
	batch_builder_series_label(builder, "device", "gpu0");
	batch_builder_code_object(builder, &(struct batch_code_object){
						   .number = 1,
						   .language = "python",
						   .function = "step",
						   .qualified_name = "Model.step",
						   .file = "/app/model.py",
						   .first_line = 17,
						   .line_table = { lines, sizeof(lines) },
					   });
	batch_builder_code_object(builder, &(struct batch_code_object){ .number = 2,
									.language = "bpf",
									.function = "bpf_prog_1",
									.qualified_name = "",
									.file = "" });
	batch_builder_stack(builder, 1, STACK_CUT_NONE, frames, ARRAY_SIZE(frames));
	batch_builder_row(builder, 1, 1, OPENED, 1);
	batch_builder_row(builder, 2, 1, OPENED, 0);
	return builder;
}

int decode_message(const Hearth__V1__Batch *message, struct arena *arena, struct batch *batch,
		   char reason[DECODE_MESSAGE_SIZE])
{
	struct bytes body = BYTES_INIT(64 * MIB);
	int r;

	batch_pack(message, &body);
	r = batch_decode(bytes_view_of(&body), arena, batch, reason);
	bytes_release(&body);
	return r;
}
