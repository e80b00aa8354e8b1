/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/sample/loop_frames.h"

#include <string.h>

#include "common/frame.h"

static bool is_function(const struct window_frame *frame)
{
	return frame->kind == FRAME_PHP;
}

static void reverse(struct window_frame *frames, size_t first, size_t end)
{
	for (; first + 1 < end; first++, end--) {
		const struct window_frame frame = frames[first];

		frames[first] = frames[end - 1];
		frames[end - 1] = frame;
	}
}

/* Exchanges [@first, @middle) and [@middle, @end). */
static void exchange(struct window_frame *frames, size_t first, size_t middle, size_t end)
{
	reverse(frames, first, middle);
	reverse(frames, middle, end);
	reverse(frames, first, end);
}

/* The first frame from @at on that is a function, or is none. */
static size_t skip_to(const struct window_frame *frames, size_t count, size_t at, bool function)
{
	while (at < count && is_function(&frames[at]) != function)
		at++;
	return at;
}

/* Moves the functions before each call of the loop to the next one; @last has none. */
static void move_outwards(struct window_frame *frames, size_t last)
{
	size_t next = last, end = last;

	while (end > 0) {
		size_t first;

		while (end > 0 && !is_function(&frames[end - 1]))
			end--;
		first = end;
		while (first > 0 && is_function(&frames[first - 1]))
			first--;
		if (first == end)
			return;
		exchange(frames, first, end, next);
		next = first;
		end = first;
	}
}

/* Replaces the functions [@first, @loop) by those of the next call, and so on to the end. */
static size_t move_inwards(struct window_frame *frames, size_t count, size_t first, size_t loop)
{
	memmove(&frames[first], &frames[loop], (count - loop) * sizeof(*frames));
	count -= loop - first;
	loop = first;
	while (loop < count) {
		const size_t function = skip_to(frames, count, loop, true);
		const size_t end = skip_to(frames, count, function, false);

		exchange(frames, loop, function, end);
		loop = end;
	}
	return count;
}

size_t loop_frames_align(struct window_frame *frames, size_t count)
{
	const size_t first = skip_to(frames, count, 0, true);
	const size_t loop = skip_to(frames, count, first, false);
	size_t last = count;

	if (loop == count)
		return count;
	if (is_function(&frames[count - 1]))
		return move_inwards(frames, count, first, loop);
	while (memcmp(&frames[last - 1], &frames[loop], sizeof(*frames)) != 0)
		last--;
	if (!is_function(&frames[last - 2]))
		move_outwards(frames, last - 1);
	return count;
}
