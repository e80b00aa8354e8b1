/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/symbols/compile/table_helper.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "common/file.h"
#include "common/sandbox.h"
#include "symbolizer/symbols/code/decode_code.h"

bool table_helper_is_asked(int argc, char **argv)
{
	return argc > 1 && (strcmp(argv[1], TABLE_HELPER_ARGUMENT) == 0 ||
			    strcmp(argv[1], CODE_HELPER_ARGUMENT) == 0);
}

static bool read_number(const char *text, uint64_t *ret_number)
{
	char *end;

	errno = 0;
	*ret_number = strtoull(text, &end, 10);
	return errno == 0 && end != text && *end == '\0';
}

struct work {
	uint64_t parent;
	uint64_t inputs;
	struct sandbox_rules rules;
};

static bool read_work(int argc, char **argv, struct work *ret_work)
{
	struct work *work = ret_work;

	work->rules.out_fd = TABLE_HELPER_OUT_FD;
	return argc == TABLE_HELPER_ARGUMENTS && read_number(argv[2], &work->parent) &&
	       read_number(argv[3], &work->inputs) && work->inputs < 1 << N_TABLE_INPUTS &&
	       read_number(argv[4], &work->rules.address_space_bytes) &&
	       read_number(argv[5], &work->rules.written_bytes) &&
	       read_number(argv[6], &work->rules.cpu_s);
}

static int input_fd(const struct work *work, enum table_input input)
{
	return work->inputs & 1U << input ? TABLE_HELPER_INPUT_FD((int)input) : -1;
}

static int enter(const struct work *work)
{
	int r;

	r = sandbox_end_with_parent((pid_t)work->parent);
	if (r < 0)
		return r;
	/* The name in ps, and in the kernel's log if the sandbox stops a system call. */
	(void)prctl(PR_SET_NAME, "hearth-table", 0, 0, 0);
	sandbox_yield_to_others();
	/* A thread that demangles would get a second heap, for which glibc reads the number of CPUs
	 * from /sys, which the sandbox forbids. */
	(void)mallopt(M_ARENA_MAX, 1);
	return sandbox_enter(&work->rules);
}

static int compile_table(const struct work *work, struct symbol_compile_report *ret_report)
{
	const struct symbol_compile_input input = {
		.main_fd = input_fd(work, TABLE_INPUT_MAIN),
		.executable_fd = input_fd(work, TABLE_INPUT_EXECUTABLE),
		.alt_fd = input_fd(work, TABLE_INPUT_ALT),
		.split_fd = input_fd(work, TABLE_INPUT_SPLIT),
	};

	return symbol_compile(&input, TABLE_HELPER_OUT_FD, ret_report);
}

/* The largest request: CODE_MAX_BYTES of code, with the headers. */
#define REQUEST_MAX_BYTES MIB

static int read_request(int fd, struct bytes *request)
{
	const off_t size = lseek(fd, 0, SEEK_END);
	int r;

	if (size < 0 || size > (off_t)request->ceiling)
		return -EBADMSG;
	r = bytes_reserve(request, (size_t)size);
	if (r == 0)
		r = pread_all(fd, request->data, (size_t)size, 0);
	if (r == 0)
		request->size = (size_t)size;
	return r;
}

static int decode(const struct work *work)
{
	scoped(bytes_release) struct bytes request = BYTES_INIT(REQUEST_MAX_BYTES);
	scoped(bytes_release) struct bytes answer = BYTES_INIT(CODE_ANSWER_MAX_BYTES);
	int r = read_request(input_fd(work, TABLE_INPUT_MAIN), &request);

	if (r == 0)
		r = decode_code(bytes_view_of(&request), &answer);
	return r < 0 ? r : write_all(TABLE_HELPER_OUT_FD, answer.data, answer.size);
}

static int run(int argc, char **argv)
{
	struct table_helper_report report = { .magic = TABLE_HELPER_MAGIC };
	struct work work = {};
	int r;

	if (!read_work(argc, argv, &work))
		return EXIT_FAILURE;
	r = enter(&work);
	if (r < 0)
		return EXIT_FAILURE;
	report.lacks = (uint32_t)r;

	report.result = strcmp(argv[1], CODE_HELPER_ARGUMENT) == 0
				? decode(&work)
				: compile_table(&work, &report.compile);
	r = write_all(TABLE_HELPER_OUT_FD, &report, sizeof(report));
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

_Noreturn void table_helper_run(int argc, char **argv)
{
	_exit(run(argc, argv));
}
