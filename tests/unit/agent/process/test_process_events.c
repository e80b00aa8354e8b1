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
#include "tests/support/wait_until.h"

/* Other processes may fill the rings. A test whose events were lost is repeated so many times. */
#define MAX_ATTEMPTS 100

struct seen {
	int forked, execed, exited, mapped_program, with_inode;
	uint64_t last_ns;
	bool in_order;
	int threaded;
	uint64_t lost; /* of any process */
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

/* Follows the events of all CPUs. False: this user may not. */
static bool follow(struct process_events **ret_events, uint32_t *ret_first_cpu,
		   uint32_t *ret_last_cpu)
{
	struct cpu_vec cpus = {};
	int r;

	assert_ok(cpu_list_to_sample("", &cpus));
	assert_ok(process_events_new(ret_events));
	r = process_events_follow(*ret_events, cpus.items, cpus.count, NULL, NULL);
	*ret_first_cpu = cpus.items[0];
	*ret_last_cpu = cpus.items[cpus.count - 1];
	vec_release(&cpus);
	if (r == -EPERM || r == -EACCES)
		return false;
	assert_ok(r);
	return true;
}

static void run_short_process(uint32_t first_cpu)
{
	pthread_t thread;

	move_to(first_cpu);
	if (pthread_create(&thread, NULL, do_nothing, NULL) == 0 && pthread_join(thread, NULL) == 0)
		execl("/bin/true", "true", NULL);
	_exit(127);
}

/* Reads all events. Whether the process has exited, or events were lost. */
static bool look_at_all(struct process_events *events, struct seen *seen, pid_t pid)
{
	const struct process_event *event;

	assert_ok(process_events_read(events));
	while ((event = process_events_next(events, UINT64_MAX)))
		look_at(seen, event, (uint32_t)pid);
	seen->lost += process_events_lost(events);
	return seen->exited || seen->lost > 0;
}

/* Runs a process whose events are read first from the CPU where it ends. */
static struct seen see_short_process(struct process_events *events, uint32_t first_cpu,
				     uint32_t last_cpu)
{
	struct seen seen = { .in_order = true };
	cpu_set_t allowed;
	pid_t pid;

	assert_int_equal(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
	/* Rings are read by rising CPU number, so events of the child are read before its fork. */
	move_to(last_cpu);
	pid = fork();
	if (pid == 0)
		run_short_process(first_cpu);
	assert_int_equal(sched_setaffinity(0, sizeof(allowed), &allowed), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	/* The exiting task writes the record, perhaps after it has woken its parent. */
	wait_until(look_at_all(events, &seen, pid));
	return seen;
}

static void events_of_a_short_process_are_returned_in_order_from_fork_to_exit(void **state)
{
	scoped(process_events_freep) struct process_events *events = NULL;
	uint32_t first_cpu, last_cpu;
	struct seen seen;

	(void)state;
	if (!follow(&events, &first_cpu, &last_cpu)) {
		print_message("perf events need root: skipped\n");
		skip();
	}
	seen = see_short_process(events, first_cpu, last_cpu);
	for (int i = 1; i < MAX_ATTEMPTS && seen.lost > 0; i++)
		seen = see_short_process(events, first_cpu, last_cpu);
	assert_int_equal(seen.lost, 0);
	assert_int_equal(seen.forked, 1);
	assert_int_equal(seen.execed, 1);
	assert_string_equal(seen.comm, "true");
	assert_int_equal(seen.mapped_program, 1);
	assert_int_equal(seen.with_inode, 1);
	assert_int_equal(seen.exited, 1);
	assert_int_equal(seen.threaded, 1);
	assert_true(seen.in_order);
}

static void events_after_the_given_time_stay_in_the_queue(void **state)
{
	scoped(process_events_freep) struct process_events *events = NULL;
	uint32_t first_cpu, last_cpu;
	pid_t pid;

	(void)state;
	if (!follow(&events, &first_cpu, &last_cpu)) {
		print_message("perf events need root: skipped\n");
		skip();
	}
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

/* What is known of the code of a program. */
struct seen_code {
	uint64_t start, made_ns, freed_ns;
	uint64_t lost;
};

/* Reads all events. Whether the code was freed, or events were lost. */
static bool look_at_code(struct process_events *events, struct seen_code *seen)
{
	const struct process_event *event;

	assert_ok(process_events_read(events));
	while ((event = process_events_next(events, UINT64_MAX))) {
		if ((event->type != KERNEL_CODE_MADE && event->type != KERNEL_CODE_FREED) ||
		    !strstr(event->path, "test_of_hearth"))
			continue;
		assert_true(event->end > event->start);
		if (event->type == KERNEL_CODE_MADE) {
			seen->start = event->start;
			seen->made_ns = event->time_ns;
		} else if (event->start == seen->start) {
			seen->freed_ns = event->time_ns;
		}
	}
	seen->lost += process_events_lost(events);
	return seen->freed_ns > 0 || seen->lost > 0;
}

/* Loads and frees a program. The kernel reports its code before it returns the descriptor. */
static struct seen_code see_code(struct process_events *events)
{
	struct seen_code seen = {};
	int program = load_bpf_program();

	if (program < 0)
		return seen;
	(void)look_at_code(events, &seen);
	close(program);
	if (seen.made_ns > 0)
		wait_until(look_at_code(events, &seen));
	return seen;
}

static void kernel_code_that_is_loaded_and_freed_is_reported(void **state)
{
	scoped(process_events_freep) struct process_events *events = NULL;
	uint32_t first_cpu, last_cpu;
	struct seen_code seen = {};

	(void)state;
	if (follow(&events, &first_cpu, &last_cpu))
		seen = see_code(events);
	for (int i = 1; i < MAX_ATTEMPTS && seen.lost > 0; i++)
		seen = see_code(events);
	assert_int_equal(seen.lost, 0);
	if (seen.made_ns == 0) {
		print_message("this user may not load BPF programs or follow perf events, or this "
			      "kernel interprets the programs, so they have no code: skipped\n");
		skip();
	}
	assert_true(seen.freed_ns > seen.made_ns);
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
