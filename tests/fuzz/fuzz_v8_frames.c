/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz-libs: agent_interpreter_v8 */
/*
 * The first byte selects the version, the next two are the offset in the code; the rest is a source
 * position table, and also the memory of a process: an address is an offset in it, modulo its size.
 */
#include "agent/interpreter/v8/v8_frames.h"

#include "common/bytes.h"

#define HEAD_BYTES 3

static int read_memory(void *arg, uint64_t address, void *buffer, size_t size)
{
	const struct bytes_view *memory = arg;
	size_t offset = memory->size ? (size_t)(address % memory->size) : 0;

	if (memory->size - offset < size)
		return -EFAULT;
	memcpy(buffer, memory->data + offset, size);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint32_t versions[] = { 10 << 8 | 2, 11 << 8 | 3, 12 << 8 | 4, 13 << 8 | 6 };
	static struct compiled_frame frames[COMPILED_MAX_INLINED];
	static struct v8_lines lines;
	struct bytes_view memory = { .data = data + HEAD_BYTES, .size = size - HEAD_BYTES };
	struct v8_memory reader = { .read = read_memory, .arg = &memory };
	struct v8_position position;
	uint32_t pc_offset;
	int n_frames;

	if (size < HEAD_BYTES)
		return 0;
	lines = (struct v8_lines){};
	pc_offset = (uint32_t)data[1] | (uint32_t)data[2] << 8;
	(void)v8_position_find(memory.data, memory.size, pc_offset, &position);
	assert(!position.has_offset || position.offset < 1U << 30);
	reader.layout = v8_layout_of(versions[data[0] % ARRAY_SIZE(versions)]);
	n_frames = v8_frames_read(&reader, &lines, 1, pc_offset, frames);
	assert(n_frames != 0 && n_frames <= COMPILED_MAX_INLINED);
	return 0;
}
