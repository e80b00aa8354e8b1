/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/host_bpf/image.h"

#include <elf.h>
#include <glob.h>
#include <inttypes.h>

#include "common/frame.h"
#include "tests/support/unit.h"

/*
 * Unwinds each image in tests/host_bpf/images/ with the BPF unwinder and with tables compiled from
 * the image's modules. The frames must be those that another unwinder found when the image was
 * recorded.
 */

struct replay {
	struct image image;
	struct host_maps maps;
	struct abi_config config;
	struct host_unwind_input input;
	struct host_unwind_output output;
};

static void run(struct replay *replay)
{
	host_maps_describe(&replay->maps, &replay->input);
	replay->config.user_pc_mask = replay->image.pc_mask;
	replay->input.config = &replay->config;
	replay->input.registers = replay->image.registers;
	replay->input.read = image_read_memory;
	replay->input.read_argument = &replay->image;
	if (replay->image.machine == EM_X86_64)
		host_unwind_x86(&replay->input, &replay->output);
	else
		host_unwind_arm64(&replay->input, &replay->output);
}

static void print_difference(const struct replay *replay)
{
	const struct host_unwind_output *output = &replay->output;
	const struct image_frame_vec *frames = &replay->image.frames;

	for (size_t i = 0; i < MAX(frames->count, (size_t)output->header.n_user_frames); i++) {
		if (i < output->header.n_user_frames)
			print_message("   %u:%-12" PRIx64, output->frames[i].executable,
				      (uint64_t)output->frames[i].address);
		if (i < frames->count)
			print_message("   expected %u:%" PRIx64 " %s", frames->items[i].module,
				      frames->items[i].address, frames->items[i].function);
		print_message("\n");
	}
	print_message("   cut: %s, expected: %s\n", stack_cut_name(output->header.cut),
		      stack_cut_name(replay->image.cut));
}

static bool is_as_expected(const struct replay *replay)
{
	const struct host_unwind_output *output = &replay->output;
	const struct image_frame_vec *frames = &replay->image.frames;
	size_t n_frames = output->header.n_user_frames;

	if (output->header.cut != replay->image.cut)
		return false;
	/* A stack that is too deep has as many frames as fit. */
	if (replay->image.cut == STACK_CUT_DEPTH
		    ? n_frames < ABI_MAX_USER_FRAMES || n_frames > frames->count
		    : n_frames != frames->count)
		return false;
	for (size_t i = 0; i < n_frames; i++)
		if (output->frames[i].executable != frames->items[i].module ||
		    output->frames[i].address != frames->items[i].address ||
		    output->frames[i].kind != FRAME_NATIVE)
			return false;
	return true;
}

static bool replay_image(const char *path)
{
	struct replay replay = {};
	bool is_right;

	assert_ok(image_read(path, &replay.image));
	assert_ok(image_fill_maps(&replay.image, IMAGES "/modules", &replay.maps));
	run(&replay);
	is_right = is_as_expected(&replay);
	if (!is_right)
		print_difference(&replay);
	print_message("%s: %u frames, %" PRIu64 " by tables, %" PRIu64 " by frame pointers: %s\n",
		      strrchr(path, '/') + 1, replay.output.header.n_user_frames,
		      replay.output.counters[ABI_COUNTER_FRAMES_BY_TABLE],
		      replay.output.counters[ABI_COUNTER_FRAMES_BY_POINTER], replay.image.about);
	host_maps_release(&replay.maps);
	image_release(&replay.image);
	return is_right;
}

static void replay_all(const char *pattern, size_t n_at_least)
{
	glob_t paths = {};
	size_t n_wrong = 0;

	assert_int_equal(glob(pattern, 0, NULL, &paths), 0);
	assert_true(paths.gl_pathc >= n_at_least);
	for (size_t i = 0; i < paths.gl_pathc; i++)
		n_wrong += !replay_image(paths.gl_pathv[i]);
	globfree(&paths);
	assert_int_equal(n_wrong, 0);
}

static void recorded_stacks_of_x86_64_are_unwound_as_recorded(void **state)
{
	(void)state;
	replay_all(IMAGES "/x86-64-*.zst", 13);
}

static void recorded_stacks_of_arm64_are_unwound_as_recorded(void **state)
{
	(void)state;
	replay_all(IMAGES "/arm64-*.zst", 13);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(recorded_stacks_of_x86_64_are_unwound_as_recorded),
		cmocka_unit_test(recorded_stacks_of_arm64_are_unwound_as_recorded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
