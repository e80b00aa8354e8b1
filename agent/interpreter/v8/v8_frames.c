/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code has a source position table, and deoptimization data, an array with among others
 *
 *   the literals               an array, with the SharedFunctionInfos of inlined functions
 *   the SharedFunctionInfo     of the outer function; from V8 13 on, an object that points to it
 *   the positions of inlining  for each inlined call 16 bytes: position of the call, 8 bytes; index
 *                              of the function in the literals, 4 bytes, -1: the outer function
 *
 * A position (src/codegen/source-position.h) is
 *
 *   bit 0          the position is in no script
 *   bits 1 to 30   the offset in the script
 *   from bit 31    index + 1 of the inlined call whose function has the position; 0: the outer one
 *
 * A call is listed after the calls that contain it.
 */
#include "agent/interpreter/v8/v8_frames.h"

/* Words of Code that are read. */
#define CODE_WORDS 9

#define CODE_KIND(flags) ((flags)&15)

/* Arrays: map, length. */
#define ARRAY_HEADER_WORDS 2

/* TurboFan's table has about a byte for 6 bytes of code. Larger tables are not read. */
#define MAX_TABLE_BYTES (64 * KIB)

#define MAX_LITERALS (1U << 20)
#define MAX_INLINED  (1U << 16)

#define POSITION_IS_EXTERNAL(position) ((position)&1)
#define POSITION_OFFSET(position)      ((uint32_t)((position) >> 1) & 0x3fffffff)
#define POSITION_INLINED(position)     ((uint32_t)((position) >> 31) & 0xffff)

#define NO_FUNCTION UINT32_MAX /* the outer one */

struct inlining {
	uint64_t position; /* of the call */
	uint32_t function; /* index in the literals, or NO_FUNCTION */
	uint32_t zero;
};

struct optimized {
	const struct v8_memory *memory;
	uint64_t positions; /* the source position table */
	uint64_t literals, outer, inlinings;
	uint32_t n_literals, n_inlinings;
};

/* Takes a number at *@at. False: it is not complete, or too large. */
static bool take_number(const uint8_t *table, size_t size, size_t *at, int64_t *ret_number)
{
	uint64_t bits = 0;

	for (unsigned int shift = 0; shift < 64 && *at < size; shift += 7) {
		const uint8_t byte = table[(*at)++];

		bits |= (uint64_t)(byte & 0x7f) << shift;
		if (byte & 0x80)
			continue;
		*ret_number = (int64_t)(bits >> 1 ^ -(bits & 1));
		return true;
	}
	return false;
}

static struct v8_position position_of(uint64_t bits)
{
	return (struct v8_position){
		.inlined = POSITION_INLINED(bits),
		.offset = POSITION_OFFSET(bits),
		.has_offset = !POSITION_IS_EXTERNAL(bits),
	};
}

int v8_position_find(const uint8_t *table, size_t size, uint32_t pc_offset,
		     struct v8_position *ret_position)
{
	int64_t code_offset = -1; /* The first difference is to this. */
	uint64_t position = 0;
	size_t at = 0;

	*ret_position = (struct v8_position){};
	while (at < size) {
		int64_t code_step, position_step;

		if (!take_number(table, size, &at, &code_step) ||
		    !take_number(table, size, &at, &position_step))
			return -EBADMSG;
		/* Expressions have negative numbers, statements others. */
		if (code_step < 0)
			code_step = -(code_step + 1);
		if (code_step > UINT32_MAX)
			return -EBADMSG;
		code_offset += code_step;
		position += (uint64_t)position_step;
		if (code_offset > pc_offset)
			return 0;
		*ret_position = position_of(position);
	}
	return 0;
}

/* Sets *ret_length to the length of the array to which @pointer points. */
static int read_length(const struct v8_memory *memory, uint64_t pointer, uint32_t max,
		       uint32_t *ret_length)
{
	uint64_t words[ARRAY_HEADER_WORDS];
	uint16_t type;
	int r = v8_object_read(memory, pointer, words, ARRAY_SIZE(words), &type);

	if (r < 0)
		return r;
	if (!v8_is_smi(words[1]) || v8_smi(words[1]) > max)
		return -EBADMSG;
	*ret_length = v8_smi(words[1]);
	return 0;
}

/* Reads @size bytes of the content of an array, from @offset on. */
static int read_content(const struct v8_memory *memory, uint64_t pointer, uint64_t offset, void *to,
			size_t size)
{
	return memory->read(memory->arg,
			    pointer - 1 + ARRAY_HEADER_WORDS * sizeof(uint64_t) + offset, to, size);
}

static uint32_t half_of(const uint64_t *words, uint32_t offset)
{
	return (uint32_t)(words[offset / sizeof(*words)] >> (offset % sizeof(*words) * 8));
}

/* Checks that there is code that contains @pc_offset, and reads its deoptimization data. */
static int read_code(struct optimized *code, uint64_t pointer, uint32_t pc_offset)
{
	const struct v8_memory *memory = code->memory;
	const struct v8_layout *layout = memory->layout;
	uint64_t words[CODE_WORDS], elements[16];
	uint32_t length;
	uint16_t type;
	int r = v8_object_read(memory, pointer, words, ARRAY_SIZE(words), &type);

	if (r < 0)
		return r;
	if (type != layout->code_type ||
	    CODE_KIND(half_of(words, layout->code_flags)) < layout->first_optimized ||
	    pc_offset >= half_of(words, layout->code_bytes))
		return -EBADMSG;
	code->positions = words[layout->code_positions / sizeof(uint64_t)];
	pointer = words[layout->code_deopt / sizeof(uint64_t)];
	r = read_length(memory, pointer, MAX_LITERALS, &length);
	if (r < 0)
		return r;
	if (length <= layout->deopt_inlined)
		return -EBADMSG;
	r = read_content(memory, pointer, 0, elements,
			 (layout->deopt_inlined + 1U) * sizeof(*elements));
	if (r < 0)
		return r;
	code->literals = elements[layout->deopt_literals];
	code->outer = elements[layout->deopt_shared];
	code->inlinings = elements[layout->deopt_inlined];
	return 0;
}

/* The SharedFunctionInfo may be in an object, after its map. */
static int unwrap_outer(struct optimized *code)
{
	uint64_t words[2];
	uint16_t type;
	int r = v8_object_read(code->memory, code->outer, words, ARRAY_SIZE(words), &type);

	if (r == 0 && type != code->memory->layout->shared_type)
		code->outer = words[1];
	return r;
}

/* Finds the position of @pc_offset. Without a table, it is not known. */
static int find_position(const struct optimized *code, uint32_t pc_offset,
			 struct v8_position *ret_position)
{
	uint8_t table[MAX_TABLE_BYTES];
	uint32_t size = 0;
	int r = read_length(code->memory, code->positions, MAX_TABLE_BYTES, &size);

	*ret_position = (struct v8_position){};
	if (r == -EBADMSG || (r == 0 && size == 0))
		return 0;
	if (r == 0)
		r = read_content(code->memory, code->positions, 0, table, size);
	return r < 0 ? r : v8_position_find(table, size, pc_offset, ret_position);
}

/* The line of @position in the script of the function. 0: it is not known. */
static uint32_t find_line(const struct v8_memory *memory, struct v8_lines *lines, uint64_t shared,
			  const struct v8_position *position)
{
	const uint32_t at = memory->layout->shared_script / sizeof(uint64_t);
	uint64_t words[8];
	uint16_t type;

	if (!position->has_offset || v8_object_read(memory, shared, words, at + 1, &type) < 0 ||
	    type != memory->layout->shared_type)
		return 0;
	return v8_script_line_find(memory, lines, words[at], position->offset);
}

/* Reads the inlined call that @position is in. *ret_function: the function that was called. */
static int read_inlining(struct optimized *code, const struct v8_position *position,
			 uint64_t *ret_function, struct v8_position *ret_call)
{
	const uint32_t index = position->inlined - 1;
	struct inlining inlining;
	int r;

	if (index >= code->n_inlinings)
		return -EBADMSG;
	r = read_content(code->memory, code->inlinings, (uint64_t)index * sizeof(inlining),
			 &inlining, sizeof(inlining));
	if (r < 0)
		return r;
	*ret_call = position_of(inlining.position);
	/* The list of callers ends. */
	if (ret_call->inlined >= position->inlined)
		return -EBADMSG;
	*ret_function = code->outer;
	if (inlining.function == NO_FUNCTION)
		return 0;
	if (inlining.function >= code->n_literals)
		return -EBADMSG;
	return read_content(code->memory, code->literals,
			    (uint64_t)inlining.function * sizeof(uint64_t), ret_function,
			    sizeof(*ret_function));
}

static int read_inlined(struct optimized *code, struct v8_lines *lines,
			struct v8_position *position, struct compiled_frame *ret_frames)
{
	int n_frames = 0;
	int r = read_length(code->memory, code->inlinings, MAX_INLINED * sizeof(struct inlining),
			    &code->n_inlinings);

	code->n_inlinings /= sizeof(struct inlining);
	if (r == 0)
		r = read_length(code->memory, code->literals, MAX_LITERALS, &code->n_literals);
	/* One frame is for the outer function. */
	while (r == 0 && position->inlined != 0 && n_frames < COMPILED_MAX_INLINED - 1) {
		struct compiled_frame *frame = &ret_frames[n_frames++];
		struct v8_position call;

		*frame = (struct compiled_frame){};
		r = read_inlining(code, position, &frame->function, &call);
		if (r == 0)
			frame->position = find_line(code->memory, lines, frame->function, position);
		*position = call;
	}
	return r < 0 ? r : n_frames;
}

int v8_frames_read(const struct v8_memory *memory, struct v8_lines *lines, uint64_t pointer,
		   uint32_t pc_offset, struct compiled_frame ret_frames[COMPILED_MAX_INLINED])
{
	struct optimized code = { .memory = memory };
	struct v8_position position;
	int n_frames = 0;
	int r = read_code(&code, pointer, pc_offset);

	if (r == 0)
		r = unwrap_outer(&code);
	if (r == 0)
		r = find_position(&code, pc_offset, &position);
	if (r < 0)
		return r;
	if (position.inlined != 0)
		n_frames = read_inlined(&code, lines, &position, ret_frames);
	if (n_frames < 0)
		return n_frames;
	/* A call in an outer function that is too deep has no line. */
	if (position.inlined != 0)
		position.has_offset = false;
	ret_frames[n_frames++] = (struct compiled_frame){
		.function = code.outer,
		.position = find_line(memory, lines, code.outer, &position),
	};
	return n_frames;
}
