/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A JVM in an invented process. The memory of the stack also contains a code heap of four blobs,
 * with their code, the segment map of the heap, and two interpreted methods. The process is one of
 * x86-64, or of arm64 if the test defines JAVA_OF_ARM64 before it includes this file.
 */

#include "bpf/abi/jvm.h"
#if defined(JAVA_OF_ARM64)
#include "tests/host_bpf/arm64_stack.h"
#else
#include "tests/host_bpf/x86_stack.h"
#endif

/* Words of the memory. */
enum {
	STACK = 16,
	METHODS = 400, /* a Method and its ConstMethod and byte code, METHOD_WORDS each */
	NAMES = 480,
	SEGMENT_MAP = 496,
	HEAP = 512,
};

enum {
	METHOD_WORDS = 32,
	SEGMENT_SHIFT = 7,
	SEGMENT_WORDS = (1 << SEGMENT_SHIFT) / 8,
	BLOB_SEGMENTS = 3,
	BLOB_WORDS = BLOB_SEGMENTS * SEGMENT_WORDS,
	BLOCK_WORDS = 2,
	CODE = 12,           /* word of a blob at which its code begins */
	FRAME_COMPLETE = 32, /* offset in the code */
	N_BLOBS = 4,
	N_SEGMENTS = 30, /* more than the blobs have */
};

/* Offsets of fields, in bytes. */
static const struct abi_hotspot_layout layout = {
	.heap_block_bytes = BLOCK_WORDS * 8,
	.blob_name = 8,
	.blob_code = 16,
	.blob_frame_size = 24,
	.blob_frame_complete = 28,
	.nmethod_deopt = 32,
	.nmethod_orig_pc = 40,
	.method_const = 8,
	.const_method_bytes = 16,
	.byte_code_below_fp = 64,
};

static const char *const names[] = { "nmethod", "native nmethod", "StubRoutines (1)" };

enum name {
	NMETHOD,
	NATIVE_NMETHOD,
	STUB,
};

struct java {
	struct made_up *process;
	struct abi_jvm jvm;
};

static inline size_t blob_word_of(unsigned int blob)
{
	return HEAP + blob * BLOB_WORDS + BLOCK_WORDS;
}

static inline uint64_t blob_of(unsigned int blob)
{
	return at_word(blob_word_of(blob));
}

static inline uint64_t code_of(unsigned int blob)
{
	return blob_of(blob) + 8 * CODE;
}

/* An address in the code of a blob whose frame is complete. */
static inline uint64_t in_blob(unsigned int blob)
{
	return code_of(blob) + FRAME_COMPLETE + 16;
}

static inline void put_blob(struct java *java, unsigned int blob, enum name name,
			    uint32_t frame_words)
{
	uint64_t *words = &java->process->words[blob_word_of(blob)];

	words[layout.blob_name / 8] = at_word(NAMES + 4 * name);
	words[layout.blob_code / 8] = code_of(blob);
	words[layout.blob_frame_size / 8] = frame_words | (uint64_t)FRAME_COMPLETE << 32;
	words[layout.nmethod_deopt / 8] = code_of(blob) + 8;
	words[layout.nmethod_orig_pc / 8] = 8;
}

static inline uint64_t method_of(unsigned int method)
{
	return at_word(METHODS + method * METHOD_WORDS);
}

static inline uint64_t byte_code_of(unsigned int method)
{
	return method_of(method) + 8 * 8 + layout.const_method_bytes;
}

static inline int set_up(void **state)
{
	struct java *java = calloc(1, sizeof(*java));
	uint8_t *segments;

	assert_non_null(java);
	java->process = made_up_new(rules, N_FUNCTIONS);
	java->jvm = (struct abi_jvm){
		.heaps = { {},
			   { .low = at_word(HEAP),
			     .high = at_word(HEAP + N_SEGMENTS * SEGMENT_WORDS),
			     .segment_map = at_word(SEGMENT_MAP),
			     .segment_shift = SEGMENT_SHIFT } },
		.interpreter = { OTHER_START, OTHER_START + 256 },
		.call_stub_return = OTHER_START + 512,
		.layout = layout,
	};
	java->jvm.n_execs = java->process->input.process.exec_count / ABI_EXEC_STEP;
	java->jvm.start_time_10ms =
		java->process->input.process.start_time_ns / ABI_START_TIME_TICK_NS;
	java->process->input.jvm = &java->jvm;
	segments = (uint8_t *)&java->process->words[SEGMENT_MAP];
	for (unsigned int i = 0; i < N_BLOBS * BLOB_SEGMENTS; i++)
		segments[i] = i % BLOB_SEGMENTS;
	memset(segments + N_BLOBS * BLOB_SEGMENTS, 0xff, N_SEGMENTS - N_BLOBS * BLOB_SEGMENTS);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		memcpy(&java->process->words[NAMES + 4 * i], names[i], strlen(names[i]) + 1);
	for (unsigned int i = 0; i < 2; i++)
		java->process->words[METHODS + i * METHOD_WORDS + layout.method_const / 8] =
			method_of(i) + 64;
	*state = java;
	return 0;
}

static inline int tear_down(void **state)
{
	struct java *java = *state;

	made_up_free(java->process);
	free(java);
	return 0;
}

static inline void put_words(struct java *java, unsigned int at, const uint64_t *words,
			     size_t count)
{
	memcpy(&java->process->words[at], words, count * sizeof(*words));
}

#define put(java, at, ...)                                                                         \
	do {                                                                                       \
		const uint64_t words_[] = { __VA_ARGS__ };                                         \
		put_words((java), (at), words_, ARRAY_SIZE(words_));                               \
	} while (0)

/* Starts at @pc with the stack pointer at word STACK, and walks. */
static inline const struct host_unwind_output *walk(struct java *java, uint64_t pc, uint64_t fp)
{
	begin(java->process, pc, STACK, fp);
	run(java->process);
	return &java->process->output;
}

static inline void expect_java(const struct host_unwind_output *output, size_t index,
			       uint64_t address, uint32_t position)
{
	assert_true(index < output->header.n_user_frames);
	assert_int_equal(output->frames[index].kind, FRAME_HOTSPOT);
	assert_int_equal(output->frames[index].address, address);
	assert_int_equal(output->frames[index].executable, position);
}

static inline void expect_native(const struct host_unwind_output *output, size_t index, uint64_t pc)
{
	assert_true(index < output->header.n_user_frames);
	assert_int_equal(output->frames[index].kind, FRAME_NATIVE);
	assert_int_equal(output->frames[index].executable, 1);
	assert_int_equal(output->frames[index].address, pc - 1 - CODE_BIAS);
}

static inline uint32_t offset_in(unsigned int blob)
{
	return (uint32_t)(in_blob(blob) - code_of(blob));
}

static inline uint64_t compiled(unsigned int blob)
{
	return blob_of(blob) | ABI_HOTSPOT_COMPILED;
}

static inline void put_hex(uint8_t *bytes, const char *hex)
{
	for (; *hex; hex += 2) {
		unsigned int value;

		assert_int_equal(sscanf(hex, "%2x", &value), 1);
		*bytes++ = (uint8_t)value;
	}
}

#define java_test(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
