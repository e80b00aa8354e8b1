/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/executable/kernel_code.h"
#include "agent/executable/kernel_layout.h"

#include "tests/support/command.h"
#include "tests/support/unit.h"

struct files {
	char *kallsyms, *modules, *notes;
};

static struct files write_files(const char *folder, const char *kallsyms, const char *modules)
{
	static const uint8_t note[] = { 4, 0, 0,   0,   4,   0, 0, 0, 3, 0,
					0, 0, 'G', 'N', 'U', 0, 1, 2, 3, 4 };

	return (struct files){
		.kallsyms = write_file_in(folder, "kallsyms", kallsyms, strlen(kallsyms)),
		.modules = modules ? write_file_in(folder, "modules", modules, strlen(modules))
				   : strdup("/nonexistent/modules"),
		.notes = write_file_in(folder, "notes", note, sizeof(note)),
	};
}

static int read_layout(const char *folder, const char *kallsyms, const char *modules,
		       struct kernel_layout *ret_layout)
{
	struct files files = write_files(folder, kallsyms, modules);
	const struct kernel_layout_paths paths = {
		.kallsyms = files.kallsyms,
		.modules = files.modules,
		.notes = files.notes,
	};
	int r = kernel_layout_read_from(&paths, ret_layout);

	free(files.kallsyms);
	free(files.modules);
	free(files.notes);
	return r;
}

static void the_image_extends_from_text_to_end(void **state)
{
	struct kernel_layout layout;

	assert_ok(read_layout(*state,
			      "ffffffff81000000 T _stext\n"
			      "ffffffff81000000 T _text\n"
			      "ffffffff81800000 T some_function\n"
			      "ffffffff83f00000 B _end\n"
			      "ffffffffc0000000 t of_a_module\t[module]\n",
			      NULL, &layout));
	assert_int_equal(layout.text_start, 0xffffffff81000000);
	assert_int_equal(layout.text_end, 0xffffffff83f00000);
	assert_int_equal(layout.n_modules, 0);
	assert_int_equal(layout.id.kind, EXECUTABLE_ID_GNU);
	assert_int_equal(layout.id.size, 4);
	kernel_layout_release(&layout);
}

/*
 * As on Debian's cloud kernels for arm64. The symbols of Linux 5.10 begin 4 KiB above _text, those
 * of 6.1 64 KiB.
 */
static void without_text_the_image_starts_one_header_below_stext(void **state)
{
	static const char *const symbols[] = {
		"ffff800010001000 T _stext\nffff800010900000 T some_function\n",
		"ffff800010010000 T _stext\nffff800010900000 T some_function\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(symbols); i++) {
		struct kernel_layout layout;

		assert_ok(read_layout(*state, symbols[i], NULL, &layout));
		assert_int_equal(layout.text_start, 0xffff800010000000);
		kernel_layout_release(&layout);
	}
}

static void without_end_the_image_ends_at_its_last_symbol(void **state)
{
	struct kernel_layout layout;

	assert_ok(read_layout(*state,
			      "0000000000001000 A per_cpu_offset\n"
			      "ffffffff81000000 T _text\n"
			      "ffffffff82200000 R last_of_the_image\n"
			      "ffffffffff600000 A absolute\n"
			      "ffffffffc0000000 t of_a_module\t[module]\n",
			      NULL, &layout));
	assert_int_equal(layout.text_end, 0xffffffff82200000);
	kernel_layout_release(&layout);
}

static void the_address_range_of_the_scheduler_is_found(void **state)
{
	static const struct {
		const char *kallsyms;
		uint64_t start, end;
	} cases[] = {
		{ "ffffffff81000000 T _text\nffffffff81fa6c00 t __schedule\n"
		  "ffffffff81fa6c00 t alias\nffffffff81fa7b00 T schedule\n"
		  "ffffffff83f00000 B _end\n",
		  0xffffffff81fa6c00, 0xffffffff81fa7b00 },
		{ "ffffffff81000000 T _text\nffffffff81fa7b00 T schedule\n"
		  "ffffffff83f00000 B _end\n",
		  0, 0 },
		{ "ffffffff81000000 T _text\nffffffff83f00000 B _end\n"
		  "ffffffffc0000000 t __schedule\t[module]\n",
		  0, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct kernel_layout layout;

		assert_ok(read_layout(*state, cases[i].kallsyms, NULL, &layout));
		assert_int_equal(layout.schedule_start, cases[i].start);
		assert_int_equal(layout.schedule_end, cases[i].end);
		kernel_layout_release(&layout);
	}
}

static void hidden_addresses_are_refused(void **state)
{
	struct kernel_layout layout;

	assert_errno(read_layout(*state,
				 "0000000000000000 T _text\n"
				 "0000000000000000 B _end\n",
				 NULL, &layout),
		     -EPERM);
}

static void an_empty_kallsyms_counts_as_missing(void **state)
{
	struct kernel_layout layout;

	assert_errno(read_layout(*state, "", NULL, &layout), -ENOENT);
}

static void modules_are_sorted_and_end_before_the_next_one(void **state)
{
	static const struct {
		const char *name;
		uint64_t start, end;
	} expected[] = {
		/* Its size includes data at other addresses. */
		{ "overlay", 0xffffffffc0100000, 0xffffffffc0110000 },
		{ "nf_tables", 0xffffffffc0110000, 0xffffffffc0110000 + 331776 },
		{ "ext4", 0xffffffffc0400000, 0xffffffffc0400000 + 1000 },
	};
	struct kernel_layout layout;

	assert_ok(read_layout(*state, "ffffffff81000000 T _text\nffffffff83f00000 B _end\n",
			      "ext4 1000 3 mbcache,jbd2, Live 0xffffffffc0400000\n"
			      "nf_tables 331776 0 - Live 0xffffffffc0110000 (E)\n"
			      "going 4096 0 - Unloading 0xffffffffc0500000\n"
			      "hidden 4096 0 - Live 0x0000000000000000\n"
			      "overlay 151552 12 - Live 0xffffffffc0100000\n"
			      "garbage\n",
			      &layout));
	assert_int_equal(layout.n_modules, ARRAY_SIZE(expected));
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		assert_string_equal(layout.modules[i].name, expected[i].name);
		assert_int_equal(layout.modules[i].start, expected[i].start);
		assert_int_equal(layout.modules[i].end, expected[i].end);
	}
	kernel_layout_release(&layout);
}

#define IMAGE "ffffffff81000000 T _text\nffffffff83f00000 B _end\n"

/* Creates /sys/module/NAME of a module with a build-ID that begins with @first. */
static void load_module(const char *folder, const char *name, uint8_t first)
{
	const uint8_t note[] = { 4, 0, 0,   0,   4,   0, 0,     0, 3, 0,
				 0, 0, 'G', 'N', 'U', 0, first, 2, 3, 4 };
	char path[256];

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	assert_int_equal(mkdir(path, 0700), 0);
	(void)snprintf(path, sizeof(path), "%s/%s/notes", folder, name);
	assert_int_equal(mkdir(path, 0700), 0);
	free(write_file_in(path, ".note.gnu.build-id", note, sizeof(note)));
}

/* Keeps the folder under another name, so that the next folder cannot get the same inode. */
static void unload_module(const char *folder, const char *name)
{
	char from[256], to[256];

	(void)snprintf(from, sizeof(from), "%s/%s", folder, name);
	(void)snprintf(to, sizeof(to), "%s/unloaded", folder);
	assert_int_equal(rename(from, to), 0);
}

static void a_module_reloaded_at_the_same_address_is_another_one(void **state)
{
	const char *folder = *state;
	struct files files = write_files(folder, IMAGE, "ext4 4096 3 - Live 0xffffffffc0400000\n");
	const struct kernel_layout_paths paths = {
		.kallsyms = files.kallsyms,
		.modules = files.modules,
		.notes = files.notes,
		.folders = folder,
	};
	scoped(kernel_layout_release) struct kernel_layout layout = {};

	load_module(folder, "ext4", 7);
	assert_ok(kernel_layout_read_from(&paths, &layout));
	assert_int_equal(layout.n_modules, 1);
	assert_int_equal(layout.modules[0].id.bytes[0], 7);
	/* Only the reference count has changed. */
	free(write_file_in(folder, "modules", "ext4 4096 9 - Live 0xffffffffc0400000\n", 38));
	assert_int_equal(kernel_layout_update_modules_from(&paths, &layout), 0);

	unload_module(folder, "ext4");
	load_module(folder, "ext4", 8);
	assert_int_equal(kernel_layout_update_modules_from(&paths, &layout), 1);
	assert_int_equal(layout.n_modules, 1);
	assert_int_equal(layout.modules[0].id.bytes[0], 8);
	assert_int_equal(kernel_layout_update_modules_from(&paths, &layout), 0);

	free(write_file_in(folder, "modules", "", 0));
	assert_int_equal(kernel_layout_update_modules_from(&paths, &layout), 1);
	assert_int_equal(layout.n_modules, 0);
	assert_int_equal(layout.text_start, 0xffffffff81000000);
	free(files.kallsyms);
	free(files.modules);
	free(files.notes);
}

static void run_time_code_has_its_name_until_it_is_removed(void **state)
{
	scoped(kernel_code_release) struct kernel_code code = {};

	(void)state;
	assert_ok(kernel_code_add(&code, 0x5000, "second"));
	assert_ok(kernel_code_add(&code, 0x1000, "first"));
	assert_string_equal(kernel_code_find(&code, 0x1001), "first");
	assert_string_equal(kernel_code_find(&code, 0x5000), "second");
	/* Freed without an event, and reused by another program. */
	assert_ok(kernel_code_add(&code, 0x5000, "third"));
	assert_string_equal(kernel_code_find(&code, 0x5010), "third");
	assert_int_equal(code.symbols.count, 2);
	kernel_code_remove(&code, 0x1000);
	assert_null(kernel_code_find(&code, 0x1001));
	kernel_code_remove(&code, 0x1000);
	assert_int_equal(code.symbols.count, 1);
	assert_int_equal(code.n_left_out, 0);
}

static void code_beyond_the_limit_is_counted(void **state)
{
	scoped(kernel_code_release) struct kernel_code code = {};
	uint64_t n_added = 0;

	(void)state;
	while (code.n_left_out < 2 && n_added < 1000000)
		assert_ok(kernel_code_add(&code, 0x1000 * ++n_added, "program"));
	assert_int_equal(code.n_left_out, 2);
	assert_int_equal(code.symbols.count, n_added - 2);
	/* Removing one makes room. */
	kernel_code_remove(&code, 0x1000);
	assert_ok(kernel_code_add(&code, 0x1000 * ++n_added, "last"));
	assert_string_equal(kernel_code_find(&code, 0x1000 * n_added), "last");
}

/* Skips the test if the kernel hides its addresses from this process. */
static uint64_t address_of(const char *symbol)
{
	struct bytes out = BYTES_INIT(COMMAND_OUTPUT_BYTES);
	char command[256];
	uint64_t address;

	(void)snprintf(command, sizeof(command),
		       "awk '$3 == \"%s\" { print $1; exit }' /proc/kallsyms", symbol);
	assert_int_equal(command_output(command, &out), 0);
	address = strtoull((char *)out.data, NULL, 16);
	bytes_release(&out);
	if (address == 0) {
		print_message("/proc/kallsyms shows no addresses (kptr_restrict, or not root)\n");
		skip();
	}
	return address;
}

static void the_running_kernel_has_the_addresses_of_kallsyms(void **state)
{
	uint64_t text = address_of("_text");
	uint64_t function = address_of("schedule");
	struct kernel_layout layout;

	(void)state;
	assert_ok(kernel_layout_read(&layout));
	assert_int_equal(layout.text_start, text);
	assert_true(function > layout.text_start && function < layout.text_end);
	assert_int_equal(layout.id.kind, EXECUTABLE_ID_GNU);
	kernel_layout_release(&layout);
}

static void code_of_the_image_gets_no_run_time_name(void **state)
{
	uint64_t text = address_of("_text");
	scoped(kernel_layout_release) struct kernel_layout layout = {};
	scoped(kernel_code_release) struct kernel_code code = {};

	(void)state;
	assert_ok(kernel_layout_read(&layout));
	assert_ok(kernel_code_read(&code, &layout));
	assert_null(kernel_code_find(&code, text + 5));
}

static void trampolines_and_bpf_programs_are_named(void **state)
{
	struct bytes out = BYTES_INIT(COMMAND_OUTPUT_BYTES);
	scoped(kernel_layout_release) struct kernel_layout layout = {};
	scoped(kernel_code_release) struct kernel_code code = {};
	char expected[256];
	uint64_t address;

	(void)state;
	(void)address_of("_text");
	(void)command_output(
		"awk '$4 ~ /bpf|ftrace/ && $2 ~ /[tT]/ { print $1, $3; exit }' /proc/kallsyms",
		&out);
	if (sscanf((char *)out.data, "%lx %255s", &address, expected) != 2) {
		bytes_release(&out);
		print_message("this kernel runs no code of that kind\n");
		skip();
	}
	bytes_release(&out);
	assert_ok(kernel_layout_read(&layout));
	assert_ok(kernel_code_read(&code, &layout));
	assert_string_equal(kernel_code_find(&code, address + 1), expected);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(the_image_extends_from_text_to_end),
		in_folder(without_text_the_image_starts_one_header_below_stext),
		in_folder(without_end_the_image_ends_at_its_last_symbol),
		in_folder(the_address_range_of_the_scheduler_is_found),
		in_folder(hidden_addresses_are_refused),
		in_folder(an_empty_kallsyms_counts_as_missing),
		in_folder(modules_are_sorted_and_end_before_the_next_one),
		in_folder(a_module_reloaded_at_the_same_address_is_another_one),
		cmocka_unit_test(run_time_code_has_its_name_until_it_is_removed),
		cmocka_unit_test(code_beyond_the_limit_is_counted),
		cmocka_unit_test(the_running_kernel_has_the_addresses_of_kallsyms),
		cmocka_unit_test(code_of_the_image_gets_no_run_time_name),
		cmocka_unit_test(trampolines_and_bpf_programs_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
