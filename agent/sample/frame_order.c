/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A group is a list of frames of byte code up to one with ABI_FRAME_ENDS_CALL. Calls of the loop
 * and groups come in pairs, except for the innermost ones: a frame exists before its call of the
 * loop begins, and is gone before that ends; while an exception of Ruby is handled, the call has no
 * native frame either. So the outermost call gets the outermost group, and so on. A group without a
 * call is put before all native frames, which for the most part prepare its call, or end it.
 *
 * If the outermost frames are missing, the innermost call gets the innermost group.
 */
#include "agent/sample/frame_order.h"

#include "common/frame.h"

struct order {
	const struct abi_frame *frames;
	size_t next_listed, end;
	uint16_t *indexes;
	size_t count;
};

static bool is_listed(const struct abi_frame *frame)
{
	const uint32_t kind = frame->kind & ABI_FRAME_KIND;

	return kind == FRAME_RUBY || kind == FRAME_PHP || kind == FRAME_PERL || kind == FRAME_LUA;
}

static void add(struct order *order, size_t index)
{
	order->indexes[order->count++] = (uint16_t)index;
}

static void add_group(struct order *order)
{
	while (order->next_listed < order->end) {
		size_t index = order->next_listed++;

		add(order, index);
		if (order->frames[index].kind & ABI_FRAME_ENDS_CALL)
			return;
	}
}

static size_t count_marked(const struct abi_frame *frames, size_t first, size_t end, uint32_t mark)
{
	size_t n = 0;

	for (size_t i = first; i < end; i++)
		n += (frames[i].kind & mark) != 0;
	return n;
}

/* Index of the first frame of byte code. */
static size_t find_listed_frames(const struct abi_sample *sample, const struct abi_frame *frames,
				 size_t n_frames)
{
	size_t first = n_frames;

	if (!(sample->more_flags & ABI_SAMPLE_LISTED))
		return n_frames;
	while (first > sample->n_kernel_frames && is_listed(&frames[first - 1]))
		first--;
	return first;
}

void frame_order_find(const struct abi_sample *sample, const struct abi_frame *frames,
		      uint16_t ret_order[ABI_MAX_FRAMES])
{
	const size_t n_frames = (size_t)sample->n_kernel_frames + sample->n_user_frames;
	const size_t first = find_listed_frames(sample, frames, n_frames);
	struct order order = {
		.frames = frames,
		.next_listed = first,
		.end = n_frames,
		.indexes = ret_order,
	};
	size_t n_calls, n_groups, n_without = 0;

	n_calls = count_marked(frames, sample->n_kernel_frames, first, ABI_FRAME_IS_LOOP);
	n_groups = count_marked(frames, first, n_frames, ABI_FRAME_ENDS_CALL);
	if (sample->cut == STACK_CUT_NONE && !(sample->more_flags & ABI_SAMPLE_LIST_CUT) &&
	    n_calls > n_groups)
		n_without = n_calls - n_groups;
	for (size_t i = 0; i < sample->n_kernel_frames; i++)
		add(&order, i);
	if (sample->cut == STACK_CUT_NONE && !(sample->more_flags & ABI_SAMPLE_LIST_CUT))
		for (; n_groups > n_calls; n_groups--)
			add_group(&order);
	for (size_t i = sample->n_kernel_frames; i < first; i++) {
		if (frames[i].kind & ABI_FRAME_IS_LOOP) {
			if (n_without > 0)
				n_without--;
			else
				add_group(&order);
		}
		add(&order, i);
	}
	while (order.next_listed < order.end)
		add(&order, order.next_listed++);
}
