/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/host_bpf/stack_comparison.h"

#include <inttypes.h>

#include "common/frame.h"
#include "tests/support/unit.h"

/* Maximum number of different stacks that are printed. */
#define MAX_REPORTED 5

/* The registers by DWARF number: rsp and rbp, sp and x29. */
#if defined(__x86_64__)
#define host_unwind host_unwind_x86
enum { STACK_POINTER = 7, FRAME_POINTER = 6 };
#else
#define host_unwind host_unwind_arm64
enum { STACK_POINTER = 31, FRAME_POINTER = 29 };
#endif

/* Stores the outermost frames of the process at its first stop. */
static void note_outermost(struct stack_comparison *comparison)
{
	const struct oracle_frame_vec *frames = &comparison->expected;

	assert_ok(target_registers(&comparison->target, &comparison->input.registers));
	assert_ok(oracle_frames(comparison->oracle, false, &comparison->expected));
	assert_true(frames->count >= ARRAY_SIZE(comparison->outermost));
	for (size_t i = 0; i < ARRAY_SIZE(comparison->outermost); i++)
		comparison->outermost[i] =
			frames->items[frames->count - ARRAY_SIZE(comparison->outermost) + i]
				.address;
}

void stack_comparison_reload(struct stack_comparison *comparison)
{
	size_t n_modules = comparison->target.modules.count;
	struct host_maps *maps = &comparison->maps;

	assert_ok(target_load_mappings(&comparison->target));
	if (!comparison->oracle || comparison->target.modules.count != n_modules) {
		host_maps_release(maps);
		*maps = (struct host_maps){};
		assert_ok(target_fill_maps(&comparison->target, maps));
		comparison->oracle = oracle_free(comparison->oracle);
		assert_ok(oracle_new(&comparison->target, &comparison->oracle));
	}
	assert_ok(host_maps_set_mappings(maps, comparison->target.mappings.items,
					 comparison->target.mappings.count));
	host_maps_describe(maps, &comparison->input);
}

void stack_comparison_begin(struct stack_comparison *comparison, struct target *target)
{
	*comparison = (struct stack_comparison){ .target = *target };
	*target = (struct target){};
	comparison->input.config = &comparison->config;
	comparison->input.read = target_read;
	comparison->input.read_argument = &comparison->target;
	stack_comparison_reload(comparison);
	note_outermost(comparison);
}

void stack_comparison_end(struct stack_comparison *comparison)
{
	(void)oracle_free(comparison->oracle);
	host_maps_release(&comparison->maps);
	target_release(&comparison->target);
	vec_release(&comparison->expected);
}

static uint64_t pc_of(const struct stack_comparison *comparison, const struct abi_frame *frame)
{
	uint64_t bias = frame->executable
				? comparison->target.modules.items[frame->executable - 1].bias
				: 0;

	return frame->address + bias;
}

/* Whether our stack begins with all frames of libdw's stack. */
static bool has_expected_frames(const struct stack_comparison *comparison)
{
	const struct host_unwind_output *output = &comparison->output;

	if (output->header.n_user_frames < comparison->expected.count)
		return false;
	for (size_t i = 0; i < comparison->expected.count; i++) {
		const struct oracle_frame *expected = &comparison->expected.items[i];

		if (output->frames[i].address != expected->elf_addr ||
		    pc_of(comparison, &output->frames[i]) != expected->address)
			return false;
	}
	return true;
}

/* Whether libdw's stack ends with the outermost frames that the process had at its start. */
static bool oracle_is_whole(const struct stack_comparison *comparison)
{
	const struct oracle_frame_vec *expected = &comparison->expected;
	size_t n_outermost = ARRAY_SIZE(comparison->outermost);

	if (expected->count < n_outermost)
		return false;
	for (size_t i = 0; i < n_outermost; i++) {
		if (expected->items[expected->count - n_outermost + i].address !=
		    comparison->outermost[i])
			return false;
	}
	return true;
}

static bool has_outermost_frames(const struct stack_comparison *comparison)
{
	const struct host_unwind_output *output = &comparison->output;
	size_t n_outermost = ARRAY_SIZE(comparison->outermost);

	for (size_t i = 0; i < n_outermost; i++) {
		const struct abi_frame *frame =
			&output->frames[output->header.n_user_frames - n_outermost + i];

		if (pc_of(comparison, frame) != comparison->outermost[i])
			return false;
	}
	return true;
}

static struct stack_stop current_stop(const struct stack_comparison *comparison,
				      const char *difference)
{
	const struct host_unwind_registers *registers = &comparison->input.registers;
	const struct abi_mapping *mapping = target_mapping(&comparison->target, registers->pc);

	return (struct stack_stop){
		.number = comparison->n_stacks,
		.pc = registers->pc,
		.sp = registers->general[STACK_POINTER],
		.frame_pointer = registers->general[FRAME_POINTER],
		.module = mapping ? mapping->executable : 0,
		.difference = difference,
	};
}

static void print_stop(const struct stack_comparison *comparison, const struct stack_stop *stop)
{
	const struct target_module *module =
		stop->module ? &comparison->target.modules.items[stop->module - 1] : NULL;

	print_message("stack %" PRIu64 " %s: pc %" PRIx64 " (%s %" PRIx64 "), sp %" PRIx64
		      ", frame pointer %" PRIx64 "\n",
		      stop->number, stop->difference, stop->pc, module ? module->path : "no file",
		      stop->pc - (module ? module->bias : 0), stop->sp, stop->frame_pointer);
}

static void note_stop(struct stack_comparison *comparison, const char *difference)
{
	if (comparison->n_noted < ARRAY_SIZE(comparison->noted))
		comparison->noted[comparison->n_noted++] = current_stop(comparison, difference);
}

static void report(struct stack_comparison *comparison)
{
	const struct stack_stop stop = current_stop(comparison, "differs");
	const struct host_unwind_output *output = &comparison->output;
	size_t n_rows;

	if (comparison->n_different++ >= MAX_REPORTED)
		return;
	assert_ok(oracle_frames(comparison->oracle, true, &comparison->expected));
	n_rows = MAX(comparison->expected.count, (size_t)output->header.n_user_frames);
	print_stop(comparison, &stop);
	print_message("%u frames, cut: %s\n", output->header.n_user_frames,
		      stack_cut_name(output->header.cut));
	for (size_t i = 0; i < n_rows; i++) {
		if (i < output->header.n_user_frames)
			print_message("   %u:%-12" PRIx64, output->frames[i].executable,
				      (uint64_t)output->frames[i].address);
		if (i < comparison->expected.count)
			print_message("   expected %" PRIx64 " %s",
				      comparison->expected.items[i].elf_addr,
				      comparison->expected.items[i].function);
		print_message("\n");
	}
}

/* Accepts a cut stack if libdw's stack ends at the same frame and is cut too. */
static void compare_cut(struct stack_comparison *comparison)
{
	if (comparison->output.header.n_user_frames != comparison->expected.count ||
	    oracle_is_whole(comparison)) {
		report(comparison);
		return;
	}
	comparison->n_both_cut++;
	note_stop(comparison, "is cut by both unwinders");
}

static void accept_early_end(struct stack_comparison *comparison)
{
	comparison->n_ended_early++;
	note_stop(comparison, "ends early in libdw");
}

void stack_comparison_run(struct stack_comparison *comparison)
{
	assert_ok(target_registers(&comparison->target, &comparison->input.registers));
	assert_ok(oracle_frames(comparison->oracle, false, &comparison->expected));
	host_unwind(&comparison->input, &comparison->output);
	comparison->n_stacks++;
	comparison->n_by_table += comparison->output.counters[ABI_COUNTER_FRAMES_BY_TABLE];
	comparison->n_by_pointer += comparison->output.counters[ABI_COUNTER_FRAMES_BY_POINTER];
	if (!has_expected_frames(comparison))
		report(comparison);
	else if (comparison->output.header.cut != STACK_CUT_NONE)
		compare_cut(comparison);
	else if (comparison->output.header.n_user_frames == comparison->expected.count)
		return;
	else if (has_outermost_frames(comparison))
		accept_early_end(comparison);
	else
		report(comparison);
}

void stack_comparison_assert_equal(const struct stack_comparison *comparison)
{
	bool are_too_many =
		(comparison->n_ended_early + comparison->n_both_cut) * 100 > comparison->n_stacks;

	print_message("%" PRIu64 " stacks, %" PRIu64 " frames by tables, %" PRIu64
		      " by frame pointers; libdw ended %" PRIu64 " early, both cut %" PRIu64 "\n",
		      comparison->n_stacks, comparison->n_by_table, comparison->n_by_pointer,
		      comparison->n_ended_early, comparison->n_both_cut);
	assert_int_equal(comparison->n_different, 0);
	for (size_t i = 0; i < comparison->n_noted && are_too_many; i++)
		print_stop(comparison, &comparison->noted[i]);
	assert_false(are_too_many);
}
