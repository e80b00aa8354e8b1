/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fixed period (not a frequency): the kernel then keeps the timer on a grid, each tick stands for the same time, and
 * what is missing can be counted.
 */
#include "agent/profile/on_cpu.h"

#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/profile/tick_account.h"
#include "common/bytes.h"
#include "common/file.h"
#include "common/log.h"

struct timer {
	int fd;
	uint32_t cpu;
	uint64_t enabled_ns; /* when its clock was read last */
	uint64_t idle_before_ns;
	uint64_t idle_ns;
	struct tick_account account;
};

struct on_cpu {
	uint64_t period_ns;
	struct timer *timers;
	size_t n_timers;
};

/* 8192 CPUs with ten fields each, and the interrupts' line. */
#define PROC_STAT_MAX_BYTES (4 * MIB)

/* USER_HZ of the kernel's ABI. */
#define STAT_TICK_NS (NSEC_PER_SEC / 100)

static struct timer *find_timer(struct on_cpu *on_cpu, uint32_t cpu)
{
	for (size_t i = 0; i < on_cpu->n_timers; i++) {
		if (on_cpu->timers[i].cpu == cpu)
			return &on_cpu->timers[i];
	}
	return NULL;
}

/* Fields 4 (idle) and 5 (iowait) of the "cpuN" lines. A CPU that is offline has none and keeps what it had. */
static int read_idle(struct on_cpu *on_cpu)
{
	struct bytes text = BYTES_INIT(PROC_STAT_MAX_BYTES);
	const char *line;
	int r;

	r = file_read("/proc/stat", &text);
	if (r == 0)
		r = bytes_append_byte(&text, 0);
	for (line = r == 0 ? (const char *)text.data : NULL; line; line = strchr(line, '\n')) {
		unsigned long long idle;
		unsigned long long iowait;
		struct timer *timer;
		uint32_t cpu;

		line += *line == '\n';
		if (strncmp(line, "cpu", 3) != 0)
			break; /* they stand first */
		if (sscanf(line, "cpu%" SCNu32 " %*u %*u %*u %llu %llu", &cpu, &idle, &iowait) != 3)
			continue;
		timer = find_timer(on_cpu, cpu);
		if (timer)
			timer->idle_ns = (idle + iowait) * STAT_TICK_NS;
	}
	bytes_release(&text);
	return r;
}

static int open_timer(uint32_t cpu, uint64_t period_ns, int program_fd)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = period_ns,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
		.disabled = 1,
	};
	scoped_fd int fd = (int)syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, program_fd) < 0 || ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
		return -errno;
	return take_fd(fd);
}

int on_cpu_start(int program_fd, uint64_t period_ns, const uint32_t *cpus, size_t n_cpus, struct on_cpu **ret_on_cpu)
{
	scoped(on_cpu_freep) struct on_cpu *on_cpu = calloc(1, sizeof(*on_cpu));
	int fd;
	int r;

	if (!on_cpu)
		return -ENOMEM;
	on_cpu->period_ns = period_ns;
	on_cpu->timers = calloc(n_cpus, sizeof(*on_cpu->timers));
	if (!on_cpu->timers)
		return -ENOMEM;
	for (size_t i = 0; i < n_cpus; i++) {
		fd = open_timer(cpus[i], period_ns, program_fd);
		if (fd == -ENODEV || fd == -ENXIO)
			continue; /* the CPU went offline meanwhile */
		if (fd < 0)
			return log_error_errno(fd, "cannot open the sampling timer on CPU %u: %m; CAP_PERFMON, or "
						   "kernel.perf_event_paranoid, may forbid it",
					       cpus[i]);
		on_cpu->timers[on_cpu->n_timers++] = (struct timer){ .fd = fd, .cpu = cpus[i] };
	}
	r = read_idle(on_cpu);
	if (r < 0)
		return log_error_errno(r, "cannot read '/proc/stat': %m");
	for (size_t i = 0; i < on_cpu->n_timers; i++)
		on_cpu->timers[i].idle_before_ns = on_cpu->timers[i].idle_ns;
	*ret_on_cpu = take_ptr(on_cpu);
	return 0;
}

struct on_cpu *on_cpu_free(struct on_cpu *on_cpu)
{
	if (!on_cpu)
		return NULL;
	for (size_t i = 0; i < on_cpu->n_timers; i++)
		close(on_cpu->timers[i].fd);
	free(on_cpu->timers);
	free(on_cpu);
	return NULL;
}

void on_cpu_stop(struct on_cpu *on_cpu)
{
	for (size_t i = 0; i < on_cpu->n_timers; i++)
		(void)ioctl(on_cpu->timers[i].fd, PERF_EVENT_IOC_DISABLE, 0);
}

int on_cpu_read_clocks(struct on_cpu *on_cpu)
{
	for (size_t i = 0; i < on_cpu->n_timers; i++) {
		struct {
			uint64_t value, enabled_ns, running_ns;
		} reading;

		if (read(on_cpu->timers[i].fd, &reading, sizeof(reading)) != (ssize_t)sizeof(reading))
			return errno ? -errno : -EIO;
		on_cpu->timers[i].enabled_ns = reading.enabled_ns;
	}
	return 0;
}

void on_cpu_account(struct on_cpu *on_cpu, const struct on_cpu_received *received, size_t n_received,
		    struct on_cpu_ticks *ret_ticks)
{
	*ret_ticks = (struct on_cpu_ticks){};
	/* Without the scheduler's account what did not come is taken for lost: better than for idle. */
	(void)read_idle(on_cpu);
	for (size_t i = 0; i < on_cpu->n_timers; i++) {
		struct timer *timer = &on_cpu->timers[i];
		struct tick_reading reading = { .enabled_ns = timer->enabled_ns };

		if (timer->cpu >= n_received)
			continue;
		reading.received = received[timer->cpu].all;
		reading.idle = received[timer->cpu].idle;
		if (timer->idle_ns > timer->idle_before_ns)
			reading.idle_ns = timer->idle_ns - timer->idle_before_ns;
		tick_account_update(&timer->account, on_cpu->period_ns, &reading);
		ret_ticks->clock += timer->enabled_ns / on_cpu->period_ns;
		ret_ticks->expected += timer->account.expected;
		ret_ticks->asleep += timer->account.asleep;
		ret_ticks->missed += timer->account.missed;
	}
}
