/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/symbols/cache/helper_process.h"

#include <libgen.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "common/sandbox.h"
#include "common/sanitized.h"
#include "symbolizer/symbols/table/symbol_file.h"
#include "symbolizer/symbols/table/symbol_pack.h"
#include "tests/unit/symbolizer/symbols/programs.h"

/* ---- helpers that misbehave, chosen by the name of the program ----------------------------------
 */

static void open_a_file(void)
{
	(void)!open("/etc/passwd", O_RDONLY | O_CLOEXEC);
}

static void connect_somewhere(void)
{
	(void)!socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static void make_a_process(void)
{
	(void)!fork();
}

static void crash(void)
{
	/* A sanitizer would catch the signal. */
	(void)signal(SIGSEGV, SIG_DFL);
	(void)raise(SIGSEGV);
}

static void loop(void)
{
	for (volatile unsigned int i = 0;; i++)
		;
}

static void sleep_forever(void)
{
	(void)pause();
}

static void write_without_end(void)
{
	static char block[64 * 1024];

	while (write(TABLE_HELPER_OUT_FD, block, sizeof(block)) > 0)
		;
}

static void say_nothing(void)
{
}

static void lie(void)
{
	struct table_helper_report report = { .magic = TABLE_HELPER_MAGIC, .result = -EBADMSG };

	memset(report.compile.message, '\n', sizeof(report.compile.message));
	(void)!write(TABLE_HELPER_OUT_FD, &report, sizeof(report));
}

static const struct misdeed {
	const char *name;
	void (*act)(void);
	bool before_sandbox; /* runs before the sandbox, which would prevent it */
	enum helper_outcome outcome;
	const char *why;
} misdeeds[] = {
	{ "opens", open_a_file, false, HELPER_DIED, "SIGSYS" },
	{ "connects", connect_somewhere, false, HELPER_DIED, "SIGSYS" },
	{ "forks", make_a_process, false, HELPER_DIED, "SIGSYS" },
	{ "crashes", crash, true, HELPER_DIED, "SIGSEGV" },
	{ "loops", loop, false, HELPER_DIED, "more than 1 s of processor time" },
	{ "sleeps", sleep_forever, true, HELPER_DIED, "did not finish within 1 s" },
	{ "writes", write_without_end, false, HELPER_DIED, "the table has more than 1 MiB" },
	{ "says-nothing", say_nothing, false, HELPER_DIED, "ended without a report" },
	{ "lies", lie, false, HELPER_REFUSED, "   " },
};

/* Returns whether the helper has no descriptor and no variable of the server. */
static bool has_nothing_of_the_server(void)
{
	for (int fd = TABLE_HELPER_FIRST_UNUSED_FD; fd < 256; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			return false;
	}
	return getenv("PATH") == NULL && getenv("HEARTH_SECRET") == NULL;
}

static void act(const struct misdeed *misdeed)
{
	const struct sandbox_rules rules = {
		.out_fd = TABLE_HELPER_OUT_FD,
		.address_space_bytes = GIB,
		.written_bytes = MIB,
		.cpu_s = 1,
	};

	if (!has_nothing_of_the_server())
		_exit(98);
	if (!misdeed->before_sandbox && sandbox_enter(&rules) < 0)
		_exit(99);
	misdeed->act();
	_exit(0);
}

/* What an exit handler of a sanitizer does: a system call that the sandbox forbids. */
static void open_a_file_at_exit(void)
{
	(void)open("/", O_RDONLY | O_CLOEXEC);
}

__attribute__((constructor)) static void become_a_helper_if_asked(int argc, char **argv)
{
	if (!table_helper_is_asked(argc, argv))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(misdeeds); i++) {
		if (strcmp(basename(argv[0]), misdeeds[i].name) == 0)
			act(&misdeeds[i]);
	}
	if (atexit(open_a_file_at_exit) != 0)
		_exit(97);
	table_helper_run(argc, argv);
}

/* ---- tests -------------------------------------------------------------------------------------
 */

static struct helper_job job_with(const char *program, int main_fd)
{
	return (struct helper_job){
		.program = program,
		.input = { .main_fd = main_fd, .executable_fd = -1, .alt_fd = -1, .split_fd = -1 },
		.limits = helper_limits_for(MIB),
		.stop_fd = -1,
	};
}

static void a_helper_returns_a_table(void **state)
{
	const char *folder = *state;
	scoped_free char *path = compile(folder, "c", "gcc", "c", program_c, "-O1 -g");
	scoped_free char *nm = command_text("nm %s", path);
	scoped(symbol_file_freep) struct symbol_file *file = NULL;
	struct bytes flat = BYTES_INIT(GIB);
	scoped_fd int fd = open_file(path);
	struct helper_job job = job_with("/proc/self/exe", fd);
	struct helper_result result;
	struct symbol_frame frame;
	uint64_t address = address_in(nm, "helper") + 1;
	uint32_t location;
	void *stored;

	assert_ok(helper_run(&job, &result));
	if (result.outcome != HELPER_MADE_TABLE)
		fail_msg("%s", result.why);
	assert_int_equal(result.lacks, 0);
	assert_true(result.report.n_functions > 0);
	stored = mmap(NULL, result.stored_bytes, PROT_READ, MAP_PRIVATE, result.stored_fd, 0);
	assert_true(stored != MAP_FAILED);
	assert_ok(symbol_unpack((struct bytes_view){ stored, result.stored_bytes }, &flat));
	assert_ok(symbol_file_open_memory(bytes_view_of(&flat), &file));
	symbol_file_find(file, &address, 1, &location);
	assert_true(location != SYMBOL_NO_LOCATION);
	(void)symbol_file_frame(file, location, &frame);
	assert_string_equal(frame.function, "helper");
	(void)munmap(stored, result.stored_bytes);
	file = symbol_file_free(file);
	bytes_release(&flat);
	helper_result_release(&result);
}

/* Long names are demangled in another thread. */
static void a_name_of_four_kilobytes_does_not_kill_the_helper(void **state)
{
	const char *folder = *state;
	char source[8192] = "int f(void) __asm__(\"_ZN";
	scoped_free char *path = NULL;
	struct helper_result result;
	scoped_fd int fd = -1;
	struct helper_job job;

	for (int i = 0; i < 300; i++)
		strncat(source, "9namespace", sizeof(source) - strlen(source) - 1);
	strncat(source, "1fEv\"); int f(void) { return 1; }\n",
		sizeof(source) - strlen(source) - 1);
	path = compile(folder, "long.so", "gcc", "c", source, "-shared -fPIC -nostdlib");
	fd = open_file(path);
	job = job_with("/proc/self/exe", fd);
	assert_ok(helper_run(&job, &result));
	assert_int_equal(result.outcome, HELPER_MADE_TABLE);
	helper_result_release(&result);
}

static void other_files_than_elf_are_refused(void **state)
{
	const char *folder = *state;
	scoped_free char *path = write_file_in(folder, "text", "not an ELF file", 15);
	scoped_fd int fd = open_file(path);
	struct helper_job job = job_with("/proc/self/exe", fd);
	struct helper_result result;

	assert_ok(helper_run(&job, &result));
	assert_int_equal(result.outcome, HELPER_REFUSED);
	assert_non_null(strstr(result.why, "no ELF file"));
	assert_int_equal(result.stored_fd, -1);
}

static void every_kind_of_death_has_its_message(void **state)
{
	const char *folder = *state;
	scoped_free char *self = realpath("/proc/self/exe", NULL);

	assert_int_equal(setenv("HEARTH_SECRET", "token", 1), 0);
	for (size_t i = 0; i < ARRAY_SIZE(misdeeds); i++) {
		scoped_free char *program = path_in(folder, misdeeds[i].name);
		struct helper_job job = job_with(program, -1);
		struct helper_result result;

		assert_int_equal(symlink(self, program), 0);
		job.limits.wall_s = misdeeds[i].act == sleep_forever ? 1 : 60;
		job.limits.cpu_s = 1;
		job.limits.written_bytes = MIB;
		assert_ok(helper_run(&job, &result));
		if (result.outcome != misdeeds[i].outcome || !strstr(result.why, misdeeds[i].why))
			fail_msg("'%s': %d, %s", misdeeds[i].name, (int)result.outcome, result.why);
		assert_null(strchr(result.why, '\n'));
		assert_int_equal(result.stored_fd, -1);
	}
}

static void assert_too_little_memory_is_said(const char *folder)
{
	scoped_free char *path = compile(folder, "c", "gcc", "c", program_c, "-O1 -g");
	scoped_fd int fd = open_file(path);
	struct helper_job job = job_with("/proc/self/exe", fd);
	struct helper_result result;

	/* The program and its libraries take a part; the mapped file takes the rest. */
	assert_int_equal(truncate(path, 256 * MIB), 0);
	job.limits.address_space_bytes = 128 * MIB;
	assert_ok(helper_run(&job, &result));
	assert_int_equal(result.outcome, HELPER_DIED);
	assert_string_equal(result.why, "it needs more than 128 MiB of memory");
}

static void too_little_memory_is_reported(void **state)
{
	if (SANITIZED)
		skip(); /* a sanitizer reserves terabytes, so address space is not limited */
	assert_too_little_memory_is_said(*state);
}

static void a_missing_program_is_an_error(void **state)
{
	struct helper_job job = job_with("/nonexistent", -1);
	struct helper_result result;

	(void)state;
	assert_errno(helper_run(&job, &result), -ENOENT);
}

static void *stop_soon(void *arg)
{
	assert_int_equal(eventfd_write(*(int *)arg, 1), 0);
	return NULL;
}

static void the_helper_is_killed_when_stop_fd_is_readable(void **state)
{
	const char *folder = *state;
	scoped_free char *self = realpath("/proc/self/exe", NULL);
	scoped_free char *program = path_in(folder, "sleeps");
	scoped_fd int stop_fd = eventfd(0, EFD_CLOEXEC);
	struct helper_job job = job_with(program, -1);
	struct helper_result result;
	pthread_t thread;

	assert_int_equal(symlink(self, program), 0);
	job.stop_fd = stop_fd;
	assert_int_equal(pthread_create(&thread, NULL, stop_soon, &stop_fd), 0);
	assert_errno(helper_run(&job, &result), -ECANCELED);
	(void)pthread_join(thread, NULL);
}

static void limits_grow_with_the_files(void **state)
{
	struct helper_limits small = helper_limits_for(0);
	struct helper_limits large = helper_limits_for(GIB);

	(void)state;
	assert_true(small.address_space_bytes > GIB && small.cpu_s > 0 &&
		    small.wall_s >= small.cpu_s);
	assert_true(large.address_space_bytes > small.address_space_bytes + GIB);
	assert_true(large.cpu_s > small.cpu_s && large.wall_s > large.cpu_s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(a_helper_returns_a_table),
		in_folder(a_name_of_four_kilobytes_does_not_kill_the_helper),
		in_folder(other_files_than_elf_are_refused),
		in_folder(every_kind_of_death_has_its_message),
		in_folder(too_little_memory_is_reported),
		cmocka_unit_test(a_missing_program_is_an_error),
		in_folder(the_helper_is_killed_when_stop_fd_is_readable),
		cmocka_unit_test(limits_grow_with_the_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
