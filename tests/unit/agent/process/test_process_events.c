/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/process/process_events.h"

#include "agent/process/event_ring.h"

#include <linux/bpf.h>
#include <pthread.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "agent/cpu/cpu_list.h"
#include "tests/support/unit.h"

struct seen {
	int forked, execed, exited, mapped_program, with_inode;
	uint64_t last_ns;
	bool in_order;
	int threaded;
	char comm[PROCESS_COMM_SIZE];
};

static bool is_file_of(const struct process_event *event, const char *path)
{
	struct stat status;

	assert_int_equal(stat(path, &status), 0);
	return event->inode == status.st_ino;
}

static void look_at(struct seen *seen, const struct process_event *event, uint32_t pid)
{
	/*
	 * The rings are read one after the other, so a later reading may return older events of
	 * other CPUs.
	 */
	if (event->pid != pid)
		return;
	if (event->time_ns < seen->last_ns)
		seen->in_order = false;
	seen->last_ns = event->time_ns;
	switch (event->type) {
	case PROCESS_FORKED:
		seen->forked++;
		assert_int_equal(event->parent, getpid());
		break;
	case PROCESS_EXECED:
		seen->execed++;
		memcpy(seen->comm, event->comm, sizeof(seen->comm));
		break;
	case PROCESS_MAPPED:
		if (strstr(event->path, "true")) {
			seen->mapped_program++;
			seen->with_inode += is_file_of(event, "/bin/true");
		}
		break;
	case PROCESS_EXITED:
		seen->exited++;
		break;
	case PROCESS_THREADED:
		seen->threaded++;
		break;
	case KERNEL_CODE_MADE:
	case KERNEL_CODE_FREED:
		break;
	}
}

static void *do_nothing(void *arg)
{
	return arg;
}

/* Ignores a CPU that is not allowed. */
static void move_to(uint32_t cpu)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	(void)sched_setaffinity(0, sizeof(cpus), &cpus);
}

static void events_of_a_short_process_are_returned_in_order_from_fork_to_exit(void **state)
{
	scoped(process_events_freep) struct process_events *events = NULL;
	struct seen seen = { .in_order = true };
	const struct process_event *event;
	uint32_t first_cpu, last_cpu;
	struct cpu_vec cpus = {};
	cpu_set_t allowed;
	pthread_t thread;
	pid_t pid;
	int r;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
	assert_ok(cpu_list_to_sample("", &cpus));
	assert_ok(process_events_new(&events));
	r = process_events_follow(events, cpus.items, cpus.count, NULL, NULL);
	first_cpu = cpus.items[0];
	last_cpu = cpus.items[cpus.count - 1];
	vec_release(&cpus);
	if (r == -EPERM || r == -EACCES) {
		print_message("perf events need root: skipped\n");
		skip();
	}
	assert_ok(r);
	/* Rings are read by rising CPU number, so events of the child are read before its fork. */
	move_to(last_cpu);
	pid = fork();
	if (pid == 0) {
		move_to(first_cpu);
		if (pthread_create(&thread, NULL, do_nothing, NULL) != 0 ||
		    pthread_join(thread, NULL) != 0)
			_exit(127);
		execl("/bin/true", "true", NULL);
		_exit(127);
	}
	assert_int_equal(sched_setaffinity(0, sizeof(allowed), &allowed), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	/* The exiting task writes the record, perhaps after it has woken its parent. */
	for (int i = 0; i < 1000 && !seen.exited; i++) {
		assert_ok(process_events_read(events));
		while ((event = process_events_next(events, UINT64_MAX)))
			look_at(&seen, event, (uint32_t)pid);
		usleep(1000);
	}
	assert_int_equal(seen.forked, 1);
	assert_int_equal(seen.execed, 1);
	assert_string_equal(seen.comm, "true");
	assert_int_equal(seen.mapped_program, 1);
	assert_int_equal(seen.with_inode, 1);
	assert_int_equal(seen.exited, 1);
	assert_int_equal(seen.threaded, 1);
	assert_true(seen.in_order);
	assert_int_equal(process_events_lost(events), 0);
}

static void events_after_the_given_time_stay_in_the_queue(void **state)
{
	scoped(process_events_freep) struct process_events *events = NULL;
	struct cpu_vec cpus = {};
	pid_t pid;
	int r;

	(void)state;
	assert_ok(cpu_list_to_sample("", &cpus));
	assert_ok(process_events_new(&events));
	r = process_events_follow(events, cpus.items, cpus.count, NULL, NULL);
	vec_release(&cpus);
	if (r == -EPERM || r == -EACCES) {
		print_message("perf events need root: skipped\n");
		skip();
	}
	assert_ok(r);
	pid = fork();
	if (pid == 0)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_ok(process_events_read(events));
	assert_null(process_events_next(events, 1));
	assert_non_null(process_events_next(events, UINT64_MAX));
}

/* Loads the BPF program test_of_hearth with two instructions. -1: it cannot be loaded. */
static int load_bpf_program(void)
{
	/* mov64 r0, 0; exit */
	const struct bpf_insn program[] = { { .code = BPF_ALU64 | BPF_MOV | BPF_K },
					    { .code = BPF_JMP | BPF_EXIT } };
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_SOCKET_FILTER,
		.insn_cnt = ARRAY_SIZE(program),
		.insns = (uintptr_t)program,
		.license = (uintptr_t) "GPL",
		.prog_name = "test_of_hearth",
	};

	return (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
}

/* The time at which the program's code was loaded or freed; 0: not within a second. */
static uint64_t time_of_code(struct process_events *events, enum process_event_type type,
			     uint64_t *start)
{
	const struct process_event *event;

	for (int i = 0; i < 1000; i++) {
		assert_ok(process_events_read(events));
		while ((event = process_events_next(events, UINT64_MAX))) {
			if (event->type != type || !strstr(event->path, "test_of_hearth"))
				continue;
			assert_true(event->end > event->start);
			if (type == KERNEL_CODE_MADE)
				*start = event->start;
			assert_int_equal(event->start, *start);
			return event->time_ns;
		}
		usleep(1000);
	}
	return 0;
}

static void kernel_code_that_is_loaded_and_freed_is_reported(void **state)
{
	scoped(process_events_freep) struct process_events *events = NULL;
	struct cpu_vec cpus = {};
	uint64_t made_ns, start;
	int program;
	int r;

	(void)state;
	assert_ok(cpu_list_to_sample("", &cpus));
	assert_ok(process_events_new(&events));
	r = process_events_follow(events, cpus.items, cpus.count, NULL, NULL);
	vec_release(&cpus);
	program = r < 0 ? -1 : load_bpf_program();
	if (program < 0) {
		print_message("perf events and BPF programs need root: skipped\n");
		skip();
	}
	made_ns = time_of_code(events, KERNEL_CODE_MADE, &start);
	close(program);
	if (made_ns == 0) {
		print_message(
			"this kernel interprets BPF programs, so they have no code: skipped\n");
		skip();
	}
	assert_true(time_of_code(events, KERNEL_CODE_FREED, &start) > made_ns);
}

static void rings_are_smaller_with_more_cpus(void **state)
{
	static const struct {
		size_t n_cpus, bytes;
	} cases[] = {
		{ 1, 512 * KIB }, { 2, 512 * KIB },  { 4, 256 * KIB },  { 16, 64 * KIB },
		{ 64, 64 * KIB }, { 200, 32 * KIB }, { 1024, 8 * KIB },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(event_ring_bytes(cases[i].n_cpus), cases[i].bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rings_are_smaller_with_more_cpus),
		cmocka_unit_test(events_of_a_short_process_are_returned_in_order_from_fork_to_exit),
		cmocka_unit_test(events_after_the_given_time_stay_in_the_queue),
		cmocka_unit_test(kernel_code_that_is_loaded_and_freed_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
