/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/executable/kernel_layout.h"

#include <elf.h>

#include "common/elf/build_id.h"
#include "tests/support/command.h"
#include "tests/support/unit.h"

#define KERNEL_ELF_BYTES (64 * MIB)

static const char kallsyms[] = "0000000000001000 A per_cpu\n"
			       "ffffffff81000000 T _stext\n"
			       "ffffffff81000000 T _text\n"
			       "ffffffff81000100 t local_function\n"
			       "ffffffff81000180 W weak_function\n"
			       "ffffffff81000200 D data\n"
			       "ffffffff81000300 T last_function\n"
			       "ffffffff81000400 T beyond_the_end\n"
			       "ffffffffc0000400 t module_second\t[module]\n"
			       "ffffffffc0000100 T module_first\t[module]\n"
			       "ffffffffc0000200 t of_another\t[other]\n";

static struct executable_id some_id(void)
{
	struct executable_id id;

	assert_ok(executable_id_set(&id, EXECUTABLE_ID_GNU, "0123456789abcdefghij", 20));
	return id;
}

/* Writes @content to "kernel.elf" in @folder and runs "@tool PATH". */
static int run_tool(const char *tool, const char *folder, const struct bytes *content,
		    struct bytes *out)
{
	scoped_free char *path = write_file_in(folder, "kernel.elf", content->data, content->size);
	char command[512];

	(void)snprintf(command, sizeof(command), "%s %s 2>&1", tool, path);
	return command_output(command, out);
}

static void nm_reads_the_image_with_addresses_and_sizes(void **state)
{
	scoped_free char *path = write_file_in(*state, "kallsyms", kallsyms, strlen(kallsyms));
	const struct kernel_layout layout = {
		.id = some_id(),
		.text_start = 0xffffffff81000000,
		.text_end = 0xffffffff81000400,
	};
	scoped(bytes_release) struct bytes content = BYTES_INIT(KERNEL_ELF_BYTES);
	scoped(bytes_release) struct bytes out = BYTES_INIT(COMMAND_OUTPUT_BYTES);

	assert_ok(kernel_symbols_elf_from(path, &layout, &content));
	assert_int_equal(run_tool("nm -nS", *state, &content, &out), 0);
	assert_bytes_equal_text(&out, "ffffffff81000000 0000000000000100 T _stext\n"
				      "ffffffff81000000 0000000000000100 T _text\n"
				      "ffffffff81000100 0000000000000080 t local_function\n"
				      "ffffffff81000180 0000000000000080 W weak_function\n"
				      "ffffffff81000300 0000000000000100 T last_function\n");
}

/* kallsyms of Debian's cloud kernel 6.1 for arm64 begins like this. */
static void text_is_added_to_the_file_if_kallsyms_lacks_it(void **state)
{
	static const char symbols[] = "ffffc138d6a10000 t gic_handle_irq\n"
				      "ffffc138d6a10000 T _stext\n"
				      "ffffc138d6a10080 T last_function\n";
	scoped_free char *path = write_file_in(*state, "kallsyms", symbols, strlen(symbols));
	const struct kernel_layout layout = {
		.id = some_id(),
		.text_start = 0xffffc138d6a00000,
		.text_end = 0xffffc138d6a10100,
	};
	scoped(bytes_release) struct bytes content = BYTES_INIT(KERNEL_ELF_BYTES);
	scoped(bytes_release) struct bytes out = BYTES_INIT(COMMAND_OUTPUT_BYTES);

	assert_ok(kernel_symbols_elf_from(path, &layout, &content));
	assert_int_equal(run_tool("nm -nS", *state, &content, &out), 0);
	assert_bytes_equal_text(&out, "ffffc138d6a00000 0000000000010000 T _text\n"
				      "ffffc138d6a10000 0000000000000080 T _stext\n"
				      "ffffc138d6a10000 0000000000000080 t gic_handle_irq\n"
				      "ffffc138d6a10080 0000000000000080 T last_function\n");
}

static void nm_reads_a_module_relative_to_its_start(void **state)
{
	scoped_free char *path = write_file_in(*state, "kallsyms", kallsyms, strlen(kallsyms));
	const struct kernel_module module = {
		.name = "module",
		.id = some_id(),
		.start = 0xffffffffc0000000,
		.end = 0xffffffffc0001000,
	};
	scoped(bytes_release) struct bytes content = BYTES_INIT(KERNEL_ELF_BYTES);
	scoped(bytes_release) struct bytes out = BYTES_INIT(COMMAND_OUTPUT_BYTES);

	assert_ok(kernel_module_symbols_elf_from(path, &module, &content));
	assert_int_equal(run_tool("nm -n", *state, &content, &out), 0);
	assert_bytes_equal_text(&out, "0000000000000100 T module_first\n"
				      "0000000000000400 t module_second\n");
}

static void the_file_has_the_kernels_build_id_and_its_code_without_bytes(void **state)
{
	scoped_free char *path = write_file_in(*state, "kallsyms", kallsyms, strlen(kallsyms));
	const struct kernel_layout layout = {
		.id = some_id(),
		.text_start = 0xffffffff81000000,
		.text_end = 0xffffffff81000400,
	};
	scoped(bytes_release) struct bytes content = BYTES_INIT(KERNEL_ELF_BYTES);
	scoped(elf_file_freep) struct elf_file *elf = NULL;
	const struct elf_section *text;
	scoped_free char *file = NULL;
	struct executable_id id;
	scoped_fd int fd = -1;

	/* The ELF file is appended to existing content. */
	assert_ok(bytes_append_text(&content, "abc"));
	assert_ok(kernel_symbols_elf_from(path, &layout, &content));
	assert_memory_equal(content.data, "abc", 3);
	file = write_file_in(*state, "kernel.elf", content.data + 3, content.size - 3);
	fd = open(file, O_RDONLY | O_CLOEXEC);
	assert_ok(elf_file_open(fd, &elf));
	assert_int_equal(elf->type, ET_EXEC);
	assert_int_equal(build_id_from_elf(elf, &id), 1);
	assert_true(executable_id_equal(&id, &layout.id));
	text = elf_file_section(elf, ".text");
	assert_non_null(text);
	assert_int_equal(text->type, SHT_NOBITS);
	assert_int_equal(text->vaddr, layout.text_start);
	assert_int_equal(text->size, layout.text_end - layout.text_start);
}

static void readelf_and_elflint_accept_the_file(void **state)
{
	scoped_free char *path = write_file_in(*state, "kallsyms", kallsyms, strlen(kallsyms));
	const struct kernel_layout layout = {
		.id = some_id(),
		.text_start = 0xffffffff81000000,
		.text_end = 0xffffffff81000400,
	};
	scoped(bytes_release) struct bytes content = BYTES_INIT(KERNEL_ELF_BYTES);
	scoped(bytes_release) struct bytes out = BYTES_INIT(COMMAND_OUTPUT_BYTES);

	assert_ok(kernel_symbols_elf_from(path, &layout, &content));
	assert_int_equal(run_tool("readelf -aW", *state, &content, &out), 0);
	assert_null(strstr((char *)out.data, "Warning"));
	assert_null(strstr((char *)out.data, "Error"));
	if (!command_exists("eu-elflint"))
		skip();
	bytes_clear(&out);
	assert_int_equal(run_tool("eu-elflint --gnu-ld --debuginfo", *state, &content, &out), 0);
	assert_non_null(strstr((char *)out.data, "No errors"));
}

static void a_kernel_without_build_id_or_symbols_has_no_file(void **state)
{
	scoped_free char *path = write_file_in(*state, "kallsyms", kallsyms, strlen(kallsyms));
	struct kernel_layout layout = { .text_start = 0xffffffff81000000,
					.text_end = 0xffffffff81000400 };
	scoped(bytes_release) struct bytes content = BYTES_INIT(KERNEL_ELF_BYTES);

	assert_errno(kernel_symbols_elf_from(path, &layout, &content), -ENODATA);
	layout.id = some_id();
	layout.text_start = layout.text_end = 1;
	assert_errno(kernel_symbols_elf_from(path, &layout, &content), -ENODATA);
	assert_int_equal(content.size, 0);
}

static void a_file_above_the_size_limit_is_refused(void **state)
{
	scoped_free char *path = write_file_in(*state, "kallsyms", kallsyms, strlen(kallsyms));
	const struct kernel_layout layout = {
		.id = some_id(),
		.text_start = 0xffffffff81000000,
		.text_end = 0xffffffff81000400,
	};
	scoped(bytes_release) struct bytes content = BYTES_INIT(512);

	assert_errno(kernel_symbols_elf_from(path, &layout, &content), -EFBIG);
}

static void the_running_kernels_file_has_the_symbols_of_kallsyms(void **state)
{
	scoped(bytes_release) struct bytes content = BYTES_INIT(KERNEL_ELF_BYTES);
	scoped(bytes_release) struct bytes expected = BYTES_INIT(COMMAND_OUTPUT_BYTES);
	scoped(bytes_release) struct bytes out = BYTES_INIT(COMMAND_OUTPUT_BYTES);
	struct kernel_layout layout;
	char command[512];
	int r;

	r = kernel_layout_read(&layout);
	if (r == -EPERM) {
		print_message("/proc/kallsyms shows no addresses (kptr_restrict, or not root)\n");
		skip();
	}
	assert_ok(r);
	assert_ok(kernel_symbols_elf(&layout, &content));
	(void)snprintf(command, sizeof(command),
		       "LC_ALL=C awk 'NF == 3 && $2 ~ /^[tTwW]$/ && \"0x\" $1 >= \"0x%016lx\" && "
		       "\"0x\" $1 < \"0x%016lx\" { print $1, $3 }' /proc/kallsyms | LC_ALL=C sort",
		       layout.text_start, layout.text_end);
	assert_int_equal(command_output(command, &expected), 0);
	assert_int_equal(run_tool("nm", *state, &content, &out), 0);
	bytes_clear(&out);
	(void)snprintf(command, sizeof(command),
		       "nm %s/kernel.elf | awk '{ print $1, $3 }' | LC_ALL=C sort",
		       (const char *)*state);
	assert_int_equal(command_output(command, &out), 0);
	assert_true(out.size > 100000);
	assert_int_equal(out.size, expected.size);
	assert_memory_equal(out.data, expected.data, out.size);
	kernel_layout_release(&layout);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(nm_reads_the_image_with_addresses_and_sizes),
		in_folder(text_is_added_to_the_file_if_kallsyms_lacks_it),
		in_folder(nm_reads_a_module_relative_to_its_start),
		in_folder(the_file_has_the_kernels_build_id_and_its_code_without_bytes),
		in_folder(readelf_and_elflint_accept_the_file),
		in_folder(a_kernel_without_build_id_or_symbols_has_no_file),
		in_folder(a_file_above_the_size_limit_is_refused),
		in_folder(the_running_kernels_file_has_the_symbols_of_kallsyms),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
