/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiled code (an nmethod) has a list of PcDesc by rising offset. Each describes the code up to
 * its offset: the position of a ScopeDesc in a stream of compressed numbers. It begins with
 *
 *   the position of the caller's ScopeDesc, if this one was inlined; else 0
 *   the number of its method in the nmethod's list, beginning with 1
 *   the index in the method's byte code + 1
 */
#include <string.h>

#include "agent/interpreter/hotspot/hotspot_code.h"

/* Numbers of the beginning of a ScopeDesc: three of at most five bytes. */
#define SCOPE_BYTES 15

#define MAX_NUMBER_BYTES 5

/* The list has at most this many elements. */
#define MAX_PC_DESCS (1U << 20)

#define FIRST_INDEX (-1) /* of the code before the first byte code */

struct compiled {
	const struct hotspot_memory *memory;
	uint64_t nmethod;
	uint64_t method;
	uint64_t place[HOTSPOT_N_PLACES]; /* addresses */
};

static int read_bytes(const struct compiled *code, uint64_t address, void *to, size_t size)
{
	return code->memory->read(code->memory->arg, address, to, size);
}

static int read_place(struct compiled *code, enum hotspot_place_id id)
{
	const struct hotspot_layout *layout = code->memory->layout;
	const struct hotspot_place *place = &layout->place[id];
	uint64_t *address = &code->place[id];
	uint64_t base = code->nmethod;
	uint32_t distance;
	int r = 0;

	if (place->base == HOTSPOT_BASE_NONE)
		return read_bytes(code, code->nmethod + place->offset, address, sizeof(*address));
	if (place->base != HOTSPOT_BASE_BLOB)
		r = read_bytes(code, code->nmethod + layout->base[place->base], &base,
			       sizeof(base));
	if (r == 0)
		r = read_bytes(code, code->nmethod + place->offset, &distance, sizeof(distance));
	if (r == 0)
		*address = base + distance;
	return r;
}

static int read_head(struct compiled *code)
{
	uint64_t *place = code->place;
	int r = read_bytes(code,
			   code->nmethod + code->memory->layout->offset[HOTSPOT_NMETHOD_METHOD],
			   &code->method, sizeof(code->method));

	for (int id = HOTSPOT_PLACE_METHODS; r == 0 && id < HOTSPOT_N_PLACES; id++)
		r = read_place(code, (enum hotspot_place_id)id);
	if (r == 0 &&
	    (code->method == 0 || place[HOTSPOT_PLACE_PCS] > place[HOTSPOT_PLACE_PCS_END]))
		r = -EBADMSG;
	place[HOTSPOT_PLACE_METHODS] = (place[HOTSPOT_PLACE_METHODS] + 7) & ~(uint64_t)7;
	return r;
}

struct pc_desc {
	int32_t pc_offset;
	uint32_t scope;
};

static int read_pc_desc(const struct compiled *code, uint32_t index, struct pc_desc *ret_desc)
{
	const struct hotspot_layout *layout = code->memory->layout;
	const uint64_t address = code->place[HOTSPOT_PLACE_PCS] +
				 (uint64_t)index * layout->size[HOTSPOT_SIZE_PC_DESC];
	int r = read_bytes(code, address + layout->offset[HOTSPOT_PC_OFFSET], &ret_desc->pc_offset,
			   sizeof(ret_desc->pc_offset));

	return r < 0 ? r
		     : read_bytes(code, address + layout->offset[HOTSPOT_PC_SCOPE],
				  &ret_desc->scope, sizeof(ret_desc->scope));
}

/* Finds the first element whose offset is not below @pc_offset. 1; 0: there is none. */
static int find_pc_desc(const struct compiled *code, uint32_t pc_offset, struct pc_desc *ret_desc)
{
	const uint32_t bytes = code->memory->layout->size[HOTSPOT_SIZE_PC_DESC];
	const uint64_t n_bytes =
		code->place[HOTSPOT_PLACE_PCS_END] - code->place[HOTSPOT_PLACE_PCS];
	uint32_t low = 0, high = (uint32_t)MIN(n_bytes / bytes, (uint64_t)MAX_PC_DESCS);
	const uint32_t count = high;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		int r = read_pc_desc(code, middle, ret_desc);

		if (r < 0)
			return r;
		if (ret_desc->pc_offset < 0 || (uint32_t)ret_desc->pc_offset < pc_offset)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == count)
		return 0;
	return read_pc_desc(code, low, ret_desc) < 0 ? -EFAULT : 1;
}

/* Decodes a number at *@at and advances *@at. False: it is malformed. */
static bool take_number(const struct hotspot_layout *layout, const uint8_t bytes[SCOPE_BYTES],
			size_t *at, uint32_t *ret_number)
{
	const uint32_t excluded = layout->excludes_zero;

	*ret_number = 0;
	for (unsigned int i = 0; i < MAX_NUMBER_BYTES && *at < SCOPE_BYTES; i++) {
		uint32_t byte = bytes[(*at)++];

		if (byte < excluded)
			return false;
		byte -= excluded;
		*ret_number += byte << (6 * i);
		if (byte < 192 - excluded || i == MAX_NUMBER_BYTES - 1)
			return true;
	}
	return false;
}

/* Reads the beginning of the ScopeDesc at @scope. *ret_caller: that of its caller, or 0. */
static int read_scope(const struct compiled *code, uint32_t scope, struct compiled_frame *ret_frame,
		      uint32_t *ret_caller)
{
	const struct hotspot_layout *layout = code->memory->layout;
	uint8_t bytes[SCOPE_BYTES] = {};
	uint32_t method, index;
	size_t at = 0;
	int r = read_bytes(code, code->place[HOTSPOT_PLACE_SCOPES] + scope, bytes, sizeof(bytes));

	if (r < 0)
		return r;
	if (!take_number(layout, bytes, &at, ret_caller) ||
	    !take_number(layout, bytes, &at, &method) || !take_number(layout, bytes, &at, &index) ||
	    method == 0)
		return -EBADMSG;
	*ret_frame = (struct compiled_frame){};
	if ((int64_t)index + FIRST_INDEX > 0 && index <= UINT16_MAX)
		ret_frame->position = (uint32_t)((int64_t)index + FIRST_INDEX);
	return read_bytes(code,
			  code->place[HOTSPOT_PLACE_METHODS] +
				  (uint64_t)(method - 1) * sizeof(ret_frame->function),
			  &ret_frame->function, sizeof(ret_frame->function));
}

int hotspot_frames_read(const struct hotspot_memory *memory, uint64_t nmethod, uint32_t pc_offset,
			struct compiled_frame ret_frames[COMPILED_MAX_INLINED])
{
	struct compiled code = { .memory = memory, .nmethod = nmethod };
	struct pc_desc desc;
	int n_frames = 0;
	int r = read_head(&code);

	if (r < 0)
		return r;
	r = find_pc_desc(&code, pc_offset, &desc);
	if (r < 0)
		return r;
	for (uint32_t scope = r == 1 ? desc.scope : 0;
	     scope != 0 && n_frames < COMPILED_MAX_INLINED; n_frames++) {
		uint32_t caller;

		r = read_scope(&code, scope, &ret_frames[n_frames], &caller);
		/* A caller is written before the methods that are inlined into it. */
		if (r == 0 && caller >= scope)
			r = -EBADMSG;
		if (r < 0)
			break;
		scope = caller;
	}
	/* Without a description, as in the code that calls a native method, the method is known. */
	if (n_frames == 0)
		ret_frames[n_frames++] = (struct compiled_frame){ .function = code.method };
	return n_frames;
}
