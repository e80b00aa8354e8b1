/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes the second CPU of this machine offline and online, and uses the agent's own modules to
 * check: is every period of its timer counted, to the tick, and are forks on it reported again?
 *
 *   cpu_cycles CYCLES        exit status 0: yes; 1: no; 77: the CPU cannot be taken offline
 *   cpu_cycles list [CPUS]   prints the CPUs that the agent samples when on_cpu.cpus is CPUS
 *
 * The program needs only perf events of the kernel, so that it runs where the agent's BPF programs
 * cannot be loaded. It is for the checks in virtual machines (tests/kernels), because every other
 * program of the machine is affected when a CPU is offline.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <linux/bpf.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/process/process_events.h"
#include "agent/cpu/cpu_watch.h"
#include "agent/event/on_cpu/cpu_timers.h"
#include "tests/workloads/spin.h"

#define CPU       1
#define SWITCH    "/sys/devices/system/cpu/cpu1/online"
#define PERIOD_NS (10 * NSEC_PER_MSEC)

/* Time for which the CPU is online, and offline, in each cycle. */
#define ON_NS  (700 * NSEC_PER_MSEC)
#define OFF_NS (300 * NSEC_PER_MSEC)

struct bench {
	struct cpu_watch *watch;
	struct process_events *events;
	struct cpu_timers *timers;
	int counts_fd;
	struct cpu_timers_received received[CPU + 1];
	uint64_t n_followed;
	uint64_t forks_seen;
	unsigned int phases_with_ticks;
};

static int die(const char *what)
{
	perror(what);
	exit(1);
}

static long call_bpf(int command, union bpf_attr *attr)
{
	return syscall(SYS_bpf, command, attr, sizeof(*attr));
}

static int make_counts(void)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY,
		.key_size = sizeof(uint32_t),
		.value_size = sizeof(uint64_t),
		.max_entries = 1,
	};

	return (int)call_bpf(BPF_MAP_CREATE, &attr);
}

/* A perf event program: counts[0]++. It is attached to the timer of one CPU only. */
static int load_program(int counts_fd)
{
	const struct bpf_insn steps[] = {
		{ .code = BPF_ST | BPF_MEM | BPF_W, .dst_reg = BPF_REG_10, .off = -4, .imm = 0 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X,
		  .dst_reg = BPF_REG_2,
		  .src_reg = BPF_REG_10 },
		{ .code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = BPF_REG_2, .imm = -4 },
		{ .code = BPF_LD | BPF_DW | BPF_IMM,
		  .dst_reg = BPF_REG_1,
		  .src_reg = BPF_PSEUDO_MAP_FD,
		  .imm = counts_fd },
		{},
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_map_lookup_elem },
		{ .code = BPF_JMP | BPF_JEQ | BPF_K, .dst_reg = BPF_REG_0, .off = 3, .imm = 0 },
		{ .code = BPF_LDX | BPF_MEM | BPF_DW, .dst_reg = BPF_REG_1, .src_reg = BPF_REG_0 },
		{ .code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = BPF_REG_1, .imm = 1 },
		{ .code = BPF_STX | BPF_MEM | BPF_DW, .dst_reg = BPF_REG_0, .src_reg = BPF_REG_1 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_PERF_EVENT,
		.insns = (uint64_t)(uintptr_t)steps,
		.insn_cnt = ARRAY_SIZE(steps),
		.license = (uint64_t)(uintptr_t) "GPL",
	};

	return (int)call_bpf(BPF_PROG_LOAD, &attr);
}

static void read_count(struct bench *bench)
{
	uint32_t key = 0;
	uint64_t value = 0;
	union bpf_attr attr = {
		.map_fd = (uint32_t)bench->counts_fd,
		.key = (uint64_t)(uintptr_t)&key,
		.value = (uint64_t)(uintptr_t)&value,
	};

	if (call_bpf(BPF_MAP_LOOKUP_ELEM, &attr) < 0)
		die("cannot read the count");
	bench->received[CPU].all = value;
}

static void suspect(void *arg, uint32_t cpu)
{
	struct bench *bench = arg;

	cpu_timers_suspect(bench->timers, cpu);
	process_events_suspect(bench->events, cpu);
}

static void follow(struct bench *bench, bool first)
{
	const struct cpu_vec *online;
	struct cpu_timers_look look = {
		.now_ns = clock_read_ns(CLOCK_MONOTONIC),
		.cpus = (const uint32_t[]){ CPU },
		.received = bench->received,
		.n_received = CPU + 1,
	};
	int changed = cpu_watch_changed(bench->watch, false, suspect, bench);

	if (!first && changed <= 0) {
		cpu_timers_unchanged(bench->timers, look.now_ns);
		return;
	}
	read_count(bench);
	online = cpu_watch_online(bench->watch);
	for (size_t i = 0; i < online->count; i++) {
		if (online->items[i] == CPU)
			look.n_cpus = 1;
	}
	if (cpu_timers_follow(bench->timers, &look) < 0)
		die("cannot open the timer");
	if (process_events_follow(bench->events, online->items, online->count, NULL, NULL) < 0)
		die("cannot watch processes");
	bench->n_followed++;
}

static void read_events(struct bench *bench)
{
	const struct process_event *event;

	if (process_events_read(bench->events) < 0)
		die("cannot read process events");
	while ((event = process_events_next(bench->events, UINT64_MAX)))
		bench->forks_seen +=
			event->type == PROCESS_FORKED && event->parent == (uint32_t)getpid();
}

/* Follows the CPUs for @time_ns, and wakes up at once when one goes offline or online. */
static void watch_for(struct bench *bench, uint64_t time_ns)
{
	uint64_t end_ns = clock_read_ns(CLOCK_MONOTONIC) + time_ns;

	for (uint64_t now_ns = end_ns - time_ns; now_ns < end_ns;
	     now_ns = clock_read_ns(CLOCK_MONOTONIC)) {
		struct pollfd ready = { .fd = cpu_watch_fd(bench->watch), .events = POLLIN };

		(void)poll(&ready, 1, (int)((end_ns - now_ns) / NSEC_PER_MSEC) + 1);
		follow(bench, false);
		read_events(bench);
	}
}

/* Waits for a tick of the CPU, which is online, even if the machine is slow. */
static void watch_ticks(struct bench *bench)
{
	uint64_t before;

	read_count(bench);
	before = bench->received[CPU].all;
	watch_for(bench, ON_NS);
	read_count(bench);
	for (int more = 0; bench->received[CPU].all == before && more < 100; more++) {
		watch_for(bench, ON_NS);
		read_count(bench);
	}
	bench->phases_with_ticks += bench->received[CPU].all > before;
}

static void switch_cpu(const char *state)
{
	int fd = open(SWITCH, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, state, 1) != 1)
		die(SWITCH);
	close(fd);
}

static void move_to(uint32_t cpu)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus) < 0)
		die("sched_setaffinity");
}

/* Forks a child on the CPU that is online again: only the ring of that CPU reports it. */
static void fork_there(void)
{
	pid_t pid;

	move_to(CPU);
	pid = fork();
	if (pid == 0)
		_exit(0);
	if (pid < 0 || waitpid(pid, NULL, 0) != pid)
		die("fork");
	move_to(0);
}

/* Starts a process that keeps the CPU busy. The kernel moves it while the CPU is offline. */
static pid_t start_burner(void)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	for (;;) {
		cpu_set_t cpus;

		CPU_ZERO(&cpus);
		CPU_SET(CPU, &cpus);
		(void)sched_setaffinity(0, sizeof(cpus), &cpus);
		(void)spin(1, 100);
		if (getppid() == 1)
			_exit(0);
	}
}

static int judge(const struct bench *bench, unsigned int cycles, uint64_t online_ns,
		 uint64_t switching_ns)
{
	struct cpu_timers_ticks ticks;
	uint64_t covered, all;
	/*
	 * Less than a period is left over each time the CPU goes offline, half a period at the
	 * end, and switching the CPU takes some time.
	 */
	uint64_t slack = cycles + 1 + switching_ns / PERIOD_NS + 1;

	cpu_timers_account(bench->timers, bench->received, CPU + 1, &ticks);
	covered = ticks.expected + ticks.uncovered_ns / PERIOD_NS;
	all = online_ns / PERIOD_NS;
	printf("cycles %u online_ms %" PRIu64 " switching_ms %" PRIu64 " expected %" PRIu64
	       " clock %" PRIu64 " received %" PRIu64 " asleep %" PRIu64 " stolen %" PRIu64
	       " missed %" PRIu64 " uncovered_ms %" PRIu64 " periods_online %" PRIu64
	       " slack %" PRIu64 " followed %" PRIu64 " forks_seen %" PRIu64 "\n",
	       cycles, online_ns / NSEC_PER_MSEC, switching_ns / NSEC_PER_MSEC, ticks.expected,
	       ticks.clock, bench->received[CPU].all, ticks.asleep, ticks.stolen, ticks.missed,
	       ticks.uncovered_ns / NSEC_PER_MSEC, all, slack, bench->n_followed,
	       bench->forks_seen);
	if (ticks.expected != bench->received[CPU].all + ticks.asleep + ticks.stolen + ticks.missed)
		return puts("the outcomes do not add up"), 1;
	if (covered + slack < all || covered > all + slack)
		return puts("periods are lost or counted twice"), 1;
	/*
	 * The agent reads the clock before it counts the ticks: one tick may be on the clock but
	 * less than half a period late, or be counted but not yet on the clock.
	 */
	if (ticks.expected + 1 < ticks.clock || ticks.expected > ticks.clock + 1)
		return puts("the clocks of the perf events differ"), 1;
	if (bench->phases_with_ticks != cycles + 1)
		return puts("no tick arrived after a cycle"), 1;
	if (bench->forks_seen != cycles)
		return puts("a fork on the CPU that is online again was not reported"), 1;
	return 0;
}

static int print_list(const char *wanted)
{
	struct cpu_vec cpus = {};

	if (cpu_list_to_sample(wanted, &cpus) < 0)
		die("cannot read the CPUs");
	for (size_t i = 0; i < cpus.count; i++)
		printf("%s%u", i > 0 ? "," : "", cpus.items[i]);
	putchar('\n');
	vec_release(&cpus);
	return 0;
}

int main(int argc, char **argv)
{
	unsigned int cycles = argc > 1 ? (unsigned int)strtoul(argv[1], NULL, 10) : 3;
	struct bench bench = {};
	uint64_t began_ns, offline_ns = 0, switching_ns = 0;
	pid_t burner;
	int result;

	if (argc > 1 && strcmp(argv[1], "list") == 0)
		return print_list(argc > 2 ? argv[2] : "");
	if (access(SWITCH, W_OK) < 0) {
		puts("this machine cannot take its second CPU offline");
		return 77;
	}
	move_to(0);
	bench.counts_fd = make_counts();
	if (bench.counts_fd < 0 || cpu_watch_new(&bench.watch) < 0 ||
	    process_events_new(&bench.events) < 0 ||
	    cpu_timers_new(load_program(bench.counts_fd), PERIOD_NS, &bench.timers) < 0)
		die("cannot prepare");
	burner = start_burner();
	follow(&bench, true);
	began_ns = clock_read_ns(CLOCK_MONOTONIC);
	read_events(&bench);
	bench.forks_seen = 0;
	for (unsigned int cycle = 0; cycle < cycles; cycle++) {
		uint64_t off_ns, off_done_ns, on_ns;

		watch_ticks(&bench);
		off_ns = clock_read_ns(CLOCK_MONOTONIC);
		switch_cpu("0");
		off_done_ns = clock_read_ns(CLOCK_MONOTONIC);
		/* In every second cycle the CPU is online again before this program looks. */
		if (cycle % 2 == 0)
			watch_for(&bench, OFF_NS);
		on_ns = clock_read_ns(CLOCK_MONOTONIC);
		switch_cpu("1");
		offline_ns += on_ns - off_done_ns;
		switching_ns += off_done_ns - off_ns + clock_read_ns(CLOCK_MONOTONIC) - on_ns;
		follow(&bench, false);
		fork_there();
	}
	watch_ticks(&bench);
	cpu_timers_read_clocks(bench.timers);
	read_count(&bench);
	result = judge(&bench, cycles, clock_read_ns(CLOCK_MONOTONIC) - began_ns - offline_ns,
		       switching_ns);
	(void)kill(burner, SIGKILL);
	(void)waitpid(burner, NULL, 0);
	cpu_timers_free(bench.timers);
	process_events_free(bench.events);
	cpu_watch_free(bench.watch);
	return result;
}
