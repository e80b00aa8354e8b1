/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Uses real helpers, of a nursery that is forked before the first test. The process with generated
 * code is this program itself; its map is /tmp/perf-PID.map.
 */
#include "agent/jit/jit_names.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "tests/support/unit.h"
#include "tests/unit/agent/helper/signal_helpers.h"
#include "tests/unit/agent/jit/file/dump_writer.h"

#define NUMBER 7

static struct nursery *nursery;
static char map_path[64];

struct fixture {
	struct helper_pool *pool;
	struct string_table *strings;
	struct code_objects *objects;
	struct jit_names *names;
	struct code_namer namer;
	struct process process;
	struct process_mappings mappings;
	struct process_mapping mapping;
	uint64_t window;
};

static int setup(void **state)
{
	const struct helper_pool_options options = {
		.nursery = nursery, .width = { [HELPER_FINDER] = 1, [HELPER_PARSER] = 1 }
	};
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct timespec boot;

	assert_non_null(fixture);
	assert_ok(helper_pool_new(&options, &fixture->pool));
	assert_ok(string_table_new(MIB, &fixture->strings));
	assert_ok(code_objects_new(&fixture->objects));
	assert_ok(jit_names_new(&(struct jit_names_options){ .pool = fixture->pool,
							     .strings = fixture->strings,
							     .objects = fixture->objects,
							     .clock = &system_clock },
				&fixture->names));
	fixture->namer = jit_names_namer(fixture->names);
	assert_int_equal(clock_gettime(CLOCK_BOOTTIME, &boot), 0);
	fixture->process.pid = (uint32_t)getpid();
	fixture->process.number = NUMBER;
	fixture->process.start_time_ns = (uint64_t)boot.tv_sec * NSEC_PER_SEC;
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	helper_pool_free(fixture->pool);
	jit_names_free(fixture->names);
	code_objects_free(fixture->objects);
	string_table_free(fixture->strings);
	free(fixture);
	(void)unlink(map_path);
	return 0;
}

static void write_map(const char *text)
{
	scoped_file FILE *file = fopen(map_path, "we");

	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
}

static void add_to_map(const char *text)
{
	scoped_file FILE *file = fopen(map_path, "ae");

	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
}

static void want(struct fixture *fixture, uint64_t pc)
{
	fixture->namer.want(fixture->namer.arg, &fixture->process, pc,
			    clock_monotonic_ns(&system_clock));
}

/* Runs helpers until no look-up is in progress. */
static void settle(struct fixture *fixture)
{
	struct pollfd polled = { .fd = helper_pool_fd(fixture->pool), .events = POLLIN };

	while (jit_names_is_busy(fixture->names)) {
		helper_pool_run(fixture->pool, clock_monotonic_ns(&system_clock));
		if (jit_names_is_busy(fixture->names))
			(void)poll(&polled, 1, 5);
	}
}

static void look_up(struct fixture *fixture)
{
	settle(fixture);
	jit_names_begin(fixture->names);
	settle(fixture);
}

/* The function of the frame at @pc; NULL: it has no name. */
static const char *name_at(struct fixture *fixture, uint64_t pc)
{
	struct window_frame frame = { .address = pc, .kind = FRAME_ANONYMOUS };
	const struct code_object *object;

	if (!fixture->namer.find(fixture->namer.arg, NUMBER, pc, &frame)) {
		assert_int_equal(frame.kind, FRAME_ANONYMOUS);
		return NULL;
	}
	assert_int_equal(frame.kind, FRAME_JIT);
	assert_true(frame.object & FRAME_CODE_OBJECT);
	object = code_objects_get(fixture->objects, frame.object & ~FRAME_CODE_OBJECT);
	assert_non_null(object);
	/* Code that the map does not list has its path. */
	if (!object->content.function)
		assert_string_equal(object->content.file, map_path);
	return object->content.function;
}

static void close_window(struct fixture *fixture)
{
	jit_names_begin_window(fixture->names, ++fixture->window);
}

static void sampled_code_gets_its_name(void **state)
{
	struct fixture *fixture = *state;
	struct window_frame frame;
	struct jit_names_stats stats;

	write_map("1000 100 JS:*foo /app/x.js:12:3\n2000 100 bar\n");
	want(fixture, 0x1010);
	want(fixture, 0x10ff);
	want(fixture, 0x3000);
	look_up(fixture);
	assert_string_equal(name_at(fixture, 0x1010), "foo");
	assert_string_equal(name_at(fixture, 0x10ff), "foo");
	assert_null(name_at(fixture, 0x3000));
	/* It was not wanted. */
	assert_null(name_at(fixture, 0x2000));
	/* All addresses of a function are one frame. */
	assert_true(fixture->namer.find(fixture->namer.arg, NUMBER, 0x1010, &frame));
	assert_int_equal(frame.address, 0);
	close_window(fixture);
	jit_names_stats(fixture->names, &stats);
	assert_int_equal(stats.named, 2);
	assert_int_equal(stats.unnamed, 1);
	assert_int_equal(stats.ranges, 2);
}

static void names_that_are_added_later_are_found(void **state)
{
	struct fixture *fixture = *state;
	struct jit_names_stats stats;

	want(fixture, 0x1010);
	look_up(fixture);
	assert_null(name_at(fixture, 0x1010));
	close_window(fixture);

	write_map("1000 100 foo\n2000 1");
	want(fixture, 0x1010);
	want(fixture, 0x2010);
	look_up(fixture);
	assert_string_equal(name_at(fixture, 0x1010), "foo");
	assert_null(name_at(fixture, 0x2010));
	close_window(fixture);

	add_to_map("00 bar\n1000 20 newer\n");
	want(fixture, 0x1010);
	want(fixture, 0x1030);
	want(fixture, 0x2010);
	look_up(fixture);
	assert_string_equal(name_at(fixture, 0x1010), "newer");
	assert_string_equal(name_at(fixture, 0x1030), "foo");
	assert_string_equal(name_at(fixture, 0x2010), "bar");
	jit_names_stats(fixture->names, &stats);
	assert_int_equal(stats.bytes_read, strlen("1000 100 foo\n2000 100 bar\n1000 20 newer\n"));
}

static void a_map_that_is_replaced_is_read_anew(void **state)
{
	struct fixture *fixture = *state;

	write_map("1000 100 foo\n");
	want(fixture, 0x1010);
	look_up(fixture);
	assert_string_equal(name_at(fixture, 0x1010), "foo");
	close_window(fixture);
	assert_int_equal(unlink(map_path), 0);
	write_map("2000 100 bar\n");
	want(fixture, 0x1010);
	want(fixture, 0x2010);
	look_up(fixture);
	assert_null(name_at(fixture, 0x1010));
	assert_string_equal(name_at(fixture, 0x2010), "bar");
}

static void a_map_that_was_opened_is_read_after_its_removal(void **state)
{
	struct fixture *fixture = *state;

	write_map("1000 100 foo\n");
	want(fixture, 0x1010);
	settle(fixture);
	assert_int_equal(unlink(map_path), 0);
	close_window(fixture);
	want(fixture, 0x1020);
	look_up(fixture);
	assert_string_equal(name_at(fixture, 0x1020), "foo");
}

static void more_names_than_fit_into_one_answer_are_found(void **state)
{
	struct fixture *fixture = *state;
	scoped_file FILE *file = fopen(map_path, "we");

	assert_non_null(file);
	for (unsigned int i = 0; i < 2000; i++)
		(void)fprintf(file, "%x 100 function_%0600u\n", 0x10000 + i * 0x100, i);
	(void)fflush(file);
	for (unsigned int i = 0; i < 2000; i++)
		want(fixture, 0x10000 + i * 0x100);
	look_up(fixture);
	for (unsigned int i = 0; i < 2000; i++) {
		const char *name = name_at(fixture, 0x10000 + i * 0x100);

		assert_non_null(name);
		assert_int_equal(strtoul(name + strlen("function_"), NULL, 10), i);
	}
}

static void a_refused_map_is_counted(void **state)
{
	struct fixture *fixture = *state;
	struct jit_names_stats stats;

	assert_int_equal(mkfifo(map_path, 0644), 0);
	want(fixture, 0x1010);
	settle(fixture);
	assert_null(name_at(fixture, 0x1010));
	jit_names_stats(fixture->names, &stats);
	assert_int_equal(stats.refused, 1);
	assert_int_equal(stats.bytes_read, 0);
}

static void the_bytes_that_are_read_are_bounded(void **state)
{
	struct fixture *fixture = *state;
	scoped_free char *line = malloc(MIB);
	scoped_file FILE *file = fopen(map_path, "we");
	struct jit_names_stats stats;

	assert_non_null(file);
	memset(line, 'x', MIB);
	line[MIB - 1] = '\n';
	for (int i = 0; i < 40; i++)
		assert_int_equal(fwrite(line, 1, MIB, file), MIB);
	(void)fflush(file);
	want(fixture, 0x1010);
	settle(fixture);
	jit_names_stats(fixture->names, &stats);
	assert_int_equal(stats.limited, 1);
	/* 32 MiB at once, and 2 MiB in each second that the reading took. */
	assert_in_range(stats.bytes_read, 32 * MIB, 40 * MIB - 1);
}

static void a_jitdump_that_is_mapped_has_names_and_lines(void **state)
{
	static const struct dump_line lines[] = { { 0x1000, 12, "/app/x.c" },
						  { 0x1010, 13, "\xff" } };
	struct dump_writer writer = dump_begin(false, 0);
	struct fixture *fixture = *state;
	char path[] = "/tmp/hearth-test-XXXXXX/jit-1.dump";
	struct window_frame frame;
	struct stat status;
	void *memory;

	dump_lines(&writer, 0x1000, lines, ARRAY_SIZE(lines));
	dump_load(&writer, 0x1000, 0x40, "foo", 0);
	path[strlen("/tmp/hearth-test-XXXXXX")] = '\0';
	assert_non_null(mkdtemp(path));
	path[strlen("/tmp/hearth-test-XXXXXX")] = '/';
	{
		scoped_fd int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

		assert_int_equal(write(fd, writer.bytes.data, writer.bytes.size),
				 writer.bytes.size);
		assert_int_equal(fstat(fd, &status), 0);
		memory = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		assert_ptr_not_equal(memory, MAP_FAILED);
	}
	assert_ok(
		string_table_intern(fixture->strings, path, strlen(path), &fixture->mapping.path));
	fixture->mapping.start = (uintptr_t)memory;
	fixture->mapping.end = fixture->mapping.start + 4096;
	fixture->mapping.reported.inode = status.st_ino;
	fixture->mappings = (struct process_mappings){ .count = 1, .items = &fixture->mapping };
	fixture->process.mappings = &fixture->mappings;
	want(fixture, 0x1008);
	want(fixture, 0x1018);
	look_up(fixture);
	assert_string_equal(name_at(fixture, 0x1008), "foo");
	assert_true(fixture->namer.find(fixture->namer.arg, NUMBER, 0x1008, &frame));
	assert_int_equal(frame.address, 12);
	assert_true(fixture->namer.find(fixture->namer.arg, NUMBER, 0x1018, &frame));
	assert_int_equal(frame.address, 13);
	assert_int_equal(munmap(memory, 4096), 0);
	assert_int_equal(unlink(path), 0);
	path[strlen("/tmp/hearth-test-XXXXXX")] = '\0';
	assert_int_equal(rmdir(path), 0);
	bytes_release(&writer.bytes);
}

/* The nursery is stopped, so no helper is forked, until the deadline of the job is over. */
static void a_process_whose_files_hang_is_left_alone(void **state)
{
	struct fixture *fixture = *state;
	uint64_t time_ns = clock_monotonic_ns(&system_clock);
	struct jit_names_stats stats;

	assert_int_equal(signal_helpers("hearth-nursery", SIGSTOP), 1);
	want(fixture, 0x1010);
	for (int i = 0; i < 2; i++) {
		jit_names_begin(fixture->names);
		while (jit_names_is_busy(fixture->names)) {
			time_ns += NSEC_PER_SEC / 10;
			helper_pool_run(fixture->pool, time_ns);
		}
	}
	/* No helper is asked any more. */
	jit_names_begin(fixture->names);
	assert_false(jit_names_is_busy(fixture->names));
	jit_names_stats(fixture->names, &stats);
	assert_int_equal(stats.failed, 2);
	assert_int_equal(signal_helpers("hearth-nursery", SIGCONT), 1);
}

static void a_process_that_is_not_sampled_any_more_is_forgotten(void **state)
{
	struct fixture *fixture = *state;
	struct jit_names_stats stats;

	write_map("1000 100 foo\n");
	want(fixture, 0x1010);
	look_up(fixture);
	for (int i = 0; i < 24; i++)
		close_window(fixture);
	jit_names_stats(fixture->names, &stats);
	assert_int_equal(stats.processes, 1);
	close_window(fixture);
	jit_names_stats(fixture->names, &stats);
	assert_int_equal(stats.processes, 0);
	assert_null(name_at(fixture, 0x1010));
}

#define in_fixture(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		in_fixture(sampled_code_gets_its_name),
		in_fixture(names_that_are_added_later_are_found),
		in_fixture(a_map_that_is_replaced_is_read_anew),
		in_fixture(a_map_that_was_opened_is_read_after_its_removal),
		in_fixture(more_names_than_fit_into_one_answer_are_found),
		in_fixture(a_refused_map_is_counted),
		in_fixture(the_bytes_that_are_read_are_bounded),
		in_fixture(a_jitdump_that_is_mapped_has_names_and_lines),
		in_fixture(a_process_whose_files_hang_is_left_alone),
		in_fixture(a_process_that_is_not_sampled_any_more_is_forgotten),
	};
	int r;

	if (nursery_start(argc, argv, &nursery) < 0)
		return EXIT_FAILURE;
	(void)snprintf(map_path, sizeof(map_path), "/tmp/perf-%d.map", getpid());
	r = cmocka_run_group_tests(tests, NULL, NULL);
	nursery_free(nursery);
	return r;
}
