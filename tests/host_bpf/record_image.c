/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Records a stopped program and the stack that libdw finds, for test_recorded_images.
 *
 *   record_image [OPTION...] FOLDER NAME [--] PROGRAM [ARGUMENT...]
 *   record_image --module=ELF FOLDER
 *
 * The program runs until its own breakpoint instruction (int3), or until the point that the options
 * select; from there it may be stepped. FOLDER/NAME.zst is the image. The parts of the executables
 * that unwinding needs are written to FOLDER/modules/. --module writes those of one file only, and
 * prints its name there.
 */

#include <argp.h>
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include "common/elf/build_id.h"
#include "common/file.h"
#include "common/frame.h"
#include "tests/host_bpf/image.h"
#include "tests/host_bpf/oracle.h"

/* Memory kept beyond the words that libdw read, because an unwinder may read more at once. */
#define MARGIN_BYTES 512

/* Limit for a program that never reaches the selected point. */
#define MAX_STEPS 1000000

struct arguments {
	const char *about;
	const char *cut;
	const char *until;
	const char *module;
	bool until_return;
	long n_steps;
	long system_call; /* -1: none */
	pid_t pid;        /* 0: PROGRAM is started */
	const char *folder;
	const char *name;
	char **program;
};

VEC_DEFINE(address_vec, uint64_t);

/* ---- where to stop ---- */

/* Returns whether the pc is in @name: a section (".plt") of its executable, or else a function. */
static bool is_in(const struct target *target, struct oracle *oracle, uint64_t pc, const char *name)
{
	scoped_free struct oracle_frame *items = NULL;
	const struct abi_mapping *mapping = target_mapping(target, pc);
	struct oracle_frame_vec frames = {};
	const struct elf_section *section;
	bool is_function;

	if (!mapping || !mapping->executable)
		return false;
	if (name[0] == '.') {
		section =
			elf_file_section(target->modules.items[mapping->executable - 1].elf, name);
		return section && pc - mapping->bias - section->vaddr < section->size;
	}
	is_function = oracle_frames(oracle, true, &frames) == 0 && frames.count > 0 &&
		      strcmp(frames.items[0].function, name) == 0;
	items = frames.items;
	return is_function;
}

static bool is_return_instruction(struct target *target, uint64_t pc)
{
	uint8_t instruction = 0;

	return target_read(target, pc, &instruction, 1) == 0 && instruction == 0xc3;
}

static int step_to_stop(struct target *target, struct oracle *oracle,
			const struct arguments *arguments)
{
	struct host_unwind_registers registers;
	int r = target_registers(target, &registers);

	for (long i = 0; r >= 0 && i < MAX_STEPS; i++) {
		if ((!arguments->until || is_in(target, oracle, registers.pc, arguments->until)) &&
		    (!arguments->until_return || is_return_instruction(target, registers.pc)))
			break;
		r = target_step(target);
		if (r > 0)
			r = target_registers(target, &registers);
		else if (r == 0)
			r = -ESRCH;
	}
	for (long i = 0; r >= 0 && i < arguments->n_steps; i++)
		r = target_step(target);
	return r;
}

static int stop_program(const struct arguments *arguments, struct target *ret_target)
{
	int r;

	if (arguments->pid > 0)
		return target_stop_running(arguments->pid, ret_target);
	r = target_start(arguments->program, ret_target);
	if (r < 0)
		return r;
	r = arguments->system_call >= 0
		    ? target_run_to_system_call(ret_target, arguments->system_call)
		    : target_run_to_trap(ret_target);
	if (r <= 0) {
		target_release(ret_target);
		return r < 0 ? r : -ESRCH;
	}
	return 0;
}

/* ---- which memory to keep ---- */

static int write_module(const struct elf_file *elf, const char *path, const char *folder,
			char *ret_name, size_t size)
{
	struct executable_id id = {};
	scoped_free char *file = NULL;
	const char *base = strrchr(path, '/');
	int r = build_id_from_elf(elf, &id);

	if (r < 0)
		return r;
	(void)snprintf(ret_name, size, "%s-%s-%02x%02x%02x%02x",
		       elf->machine == EM_X86_64 ? "x86-64" : "arm64", base ? base + 1 : path,
		       id.bytes[0], id.bytes[1], id.bytes[2], id.bytes[3]);
	if (asprintf(&file, "%s/modules/%s.zst", folder, ret_name) < 0)
		return -ENOMEM;
	return image_write_module(elf, file);
}

static int keep_modules(const struct target *target, const char *folder, struct image *image)
{
	for (size_t i = 0; i < target->modules.count; i++) {
		struct image_module module = { .number = (uint32_t)i + 1 };
		bool is_needed = false;
		int r;

		for (size_t j = 0; j < image->frames.count; j++)
			is_needed = is_needed || image->frames.items[j].module == module.number;
		if (!is_needed)
			continue;
		r = write_module(target->modules.items[i].elf, target->modules.items[i].path,
				 folder, module.file, sizeof(module.file));
		if (r < 0)
			return r;
		r = vec_push(&image->modules, module);
		if (r < 0)
			return r;
	}
	return 0;
}

static int keep_frames(const struct target *target, const struct oracle_frame_vec *frames,
		       struct image *image)
{
	for (size_t i = 0; i < frames->count; i++) {
		const struct oracle_frame *from = &frames->items[i];
		const struct abi_mapping *mapping = target_mapping(target, from->address);
		struct image_frame frame = { .module = mapping ? mapping->executable : 0,
					     .address = from->elf_addr };
		int r;

		memcpy(frame.function, from->function, sizeof(frame.function));
		r = vec_push(&image->frames, frame);
		if (r < 0)
			return r;
	}
	return 0;
}

static void note_read(void *argument, uint64_t address)
{
	/* If an address is missing, replaying the image fails. */
	(void)vec_push((struct address_vec *)argument, address);
}

static int compare_addresses(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

/*
 * Keeps the words from the lowest to the highest read of each stack. The distance between two
 * stacks is larger than any frame.
 */
static int keep_memory(struct target *target, struct address_vec *reads, struct image *image)
{
	static const uint64_t max_frame_bytes = 256 * KIB;
	uint64_t next = 0;
	int r = 0;

	qsort(reads->items, reads->count, sizeof(*reads->items), compare_addresses);
	for (size_t i = 0; r == 0 && i < reads->count; i++) {
		uint64_t read = reads->items[i] & ~UINT64_C(7);
		bool continues = i > 0 && read - reads->items[i - 1] < max_frame_bytes;
		struct image_word word = { .address = MAX(next,
							  continues ? next : read - MARGIN_BYTES) };

		for (; r == 0 && word.address < read + MARGIN_BYTES; word.address += 8)
			if (target_read(target, word.address, &word.value, sizeof(word.value)) == 0)
				r = vec_push(&image->memory, word);
		next = word.address;
	}
	return r;
}

/* ---- recording ---- */

static int fill_image(struct target *target, struct oracle *oracle,
		      const struct arguments *arguments, struct image *image)
{
	struct address_vec reads = {};
	struct oracle_frame_vec frames = {};
	int r = target_registers(target, &image->registers);

	(void)snprintf(image->about, sizeof(image->about), "%s", arguments->about);
	for (unsigned int cut = 0; cut < STACK_CUT_END; cut++)
		if (arguments->cut && strcmp(arguments->cut, stack_cut_name(cut)) == 0)
			image->cut = cut;
	/* Keep the innermost frame, whether it was read or not. */
	if (r == 0)
		r = vec_push(&reads,
			     image->registers.general[image->machine == EM_X86_64 ? 7 : 31]);
	oracle_watch_reads(oracle, note_read, &reads);
	if (r == 0)
		r = oracle_frames(oracle, true, &frames);
	oracle_watch_reads(oracle, NULL, NULL);
	if (r == 0)
		r = keep_frames(target, &frames, image);
	if (r == 0)
		r = keep_modules(target, arguments->folder, image);
	if (r == 0)
		r = keep_memory(target, &reads, image);
	for (size_t i = 0; r == 0 && i < target->mappings.count; i++)
		r = vec_push(&image->mappings, target->mappings.items[i]);
	vec_release(&reads);
	vec_release(&frames);
	return r;
}

static void print_image(const struct image *image, const char *path)
{
	size_t last = image->frames.count - 1;

	printf("%s: %zu frames, %zu words\n", path, image->frames.count, image->memory.count);
	for (size_t i = 0; i <= last; i++)
		if (i < 8 || i + 4 > last)
			printf("   %u %" PRIx64 " %s\n", image->frames.items[i].module,
			       image->frames.items[i].address, image->frames.items[i].function);
}

static int record(struct target *target, const struct arguments *arguments)
{
	scoped(oracle_freep) struct oracle *oracle = NULL;
	scoped_free char *path = NULL;
#if defined(__x86_64__)
	struct image image = { .machine = EM_X86_64 };
#else
	struct image image = { .machine = EM_AARCH64 };
#endif
	int r = target_load_mappings(target);

	if (r == 0)
		r = oracle_new(target, &oracle);
	if (r == 0)
		r = step_to_stop(target, oracle, arguments);
	if (r >= 0)
		r = fill_image(target, oracle, arguments, &image);
	if (r == 0 && asprintf(&path, "%s/%s.zst", arguments->folder, arguments->name) < 0)
		r = -ENOMEM;
	if (r == 0)
		r = image_write(&image, path);
	if (r == 0)
		print_image(&image, path);
	image_release(&image);
	return r;
}

static int record_module(const struct arguments *arguments)
{
	scoped(elf_file_freep) struct elf_file *elf = NULL;
	scoped_fd int fd = open(arguments->module, O_RDONLY | O_CLOEXEC);
	char name[96];
	int r;

	if (fd < 0)
		return -errno;
	r = elf_file_open(fd, &elf);
	if (r < 0)
		return r;
	r = write_module(elf, arguments->module, arguments->folder, name, sizeof(name));
	if (r < 0)
		return r;
	printf("%s\n", name);
	return 0;
}

/* ---- command line ---- */

enum {
	KEY_ABOUT = 'a',
	KEY_CALL = 'c',
	KEY_CUT = 'x',
	KEY_MODULE = 'm',
	KEY_PID = 'p',
	KEY_RETURN = 'r',
	KEY_STEPS = 's',
	KEY_UNTIL = 'u',
};

static error_t parse_option(int key, char *text, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key) {
	case KEY_ABOUT:
		arguments->about = text;
		return 0;
	case KEY_UNTIL:
		arguments->until = text;
		return 0;
	case KEY_STEPS:
		arguments->n_steps = strtol(text, NULL, 10);
		return 0;
	case KEY_PID:
		arguments->pid = (pid_t)strtol(text, NULL, 10);
		return 0;
	case KEY_RETURN:
		arguments->until_return = true;
		return 0;
	case KEY_CALL:
		arguments->system_call = strtol(text, NULL, 10);
		return 0;
	case KEY_MODULE:
		arguments->module = text;
		return 0;
	case KEY_CUT:
		arguments->cut = text;
		return 0;
	case ARGP_KEY_ARGS:
		arguments->folder = state->argv[state->next];
		if (state->argc - state->next > 1)
			arguments->name = state->argv[state->next + 1];
		if (state->argc - state->next > 2)
			arguments->program = state->argv + state->next + 2;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option options[] = {
	{ "about", KEY_ABOUT, "TEXT", 0, "what the image shows", 0 },
	{ "until", KEY_UNTIL, "NAME", 0, "step into a function, or a section such as .plt", 0 },
	{ "until-return", KEY_RETURN, NULL, 0, "then step to a return instruction", 0 },
	{ "steps", KEY_STEPS, "N", 0, "then step N instructions", 0 },
	{ "system-call", KEY_CALL, "NUMBER", 0,
	  "stop at a system call instead of a breakpoint instruction", 0 },
	{ "cut", KEY_CUT, "REASON", 0, "the reason that the BPF unwinder must report", 0 },
	{ "pid", KEY_PID, "PID", 0, "stop and record a running process", 0 },
	{ "module", KEY_MODULE, "ELF", 0, "only write the parts of this file that unwinding needs",
	  0 },
	{},
};

int main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse_option,
		.args_doc = "FOLDER [NAME [PROGRAM [ARGUMENT...]]]",
		.doc = "Records a stopped program for the tests of the unwinder.",
	};
	struct arguments arguments = { .system_call = -1, .about = "" };
	struct target target = {};
	int r;

	if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &arguments) != 0)
		return 2;
	if (!arguments.folder ||
	    (!arguments.module && (!arguments.name || (!arguments.program && !arguments.pid)))) {
		fprintf(stderr, "usage: %s [OPTION...] FOLDER NAME PROGRAM [ARGUMENT...]\n",
			argv[0]);
		return 2;
	}
	if (arguments.module) {
		r = record_module(&arguments);
	} else {
		r = stop_program(&arguments, &target);
		if (r == 0)
			r = record(&target, &arguments);
		target_release(&target);
	}
	if (r < 0)
		fprintf(stderr, "%s: %s\n", argv[0],
			r == -ESRCH ? "the program ended before it reached the selected point"
				    : strerror(-r));
	return r < 0;
}
