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

#include "common/bytes.h"
#include "common/file.h"
#include "common/log.h"

struct on_cpu {
	uint64_t period_ns;
	int *fds;
	uint32_t *cpus; /* of each fd */
	size_t n_fds;
	uint64_t idle_before_ns;
};

/* 8192 CPUs with ten fields each, and the interrupts' line. */
#define PROC_STAT_MAX_BYTES (4 * MIB)

/* USER_HZ of the kernel's ABI. */
#define STAT_TICK_NS (NSEC_PER_SEC / 100)

static bool is_sampled(const struct on_cpu *on_cpu, uint32_t cpu)
{
	for (size_t i = 0; i < on_cpu->n_fds; i++) {
		if (on_cpu->cpus[i] == cpu)
			return true;
	}
	return false;
}

/* Sums fields 4 (idle) and 5 (iowait) of the "cpuN" lines of our CPUs. */
static int read_idle_ns(const struct on_cpu *on_cpu, uint64_t *ret_idle_ns)
{
	struct bytes text = BYTES_INIT(PROC_STAT_MAX_BYTES);
	uint64_t ticks = 0;
	const char *line;
	int r;

	r = file_read("/proc/stat", &text);
	if (r == 0)
		r = bytes_append_byte(&text, 0);
	for (line = r == 0 ? (const char *)text.data : NULL; line; line = strchr(line, '\n')) {
		unsigned long long idle;
		unsigned long long iowait;
		uint32_t cpu;

		line += *line == '\n';
		if (strncmp(line, "cpu", 3) != 0)
			break; /* they stand first */
		if (sscanf(line, "cpu%" SCNu32 " %*u %*u %*u %llu %llu", &cpu, &idle, &iowait) == 3 &&
		    is_sampled(on_cpu, cpu))
			ticks += idle + iowait;
	}
	bytes_release(&text);
	if (r < 0)
		return r;
	*ret_idle_ns = ticks * STAT_TICK_NS;
	return 0;
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
	on_cpu->fds = calloc(n_cpus, sizeof(*on_cpu->fds));
	on_cpu->cpus = calloc(n_cpus, sizeof(*on_cpu->cpus));
	if (!on_cpu->fds || !on_cpu->cpus)
		return -ENOMEM;
	for (size_t i = 0; i < n_cpus; i++) {
		fd = open_timer(cpus[i], period_ns, program_fd);
		if (fd == -ENODEV || fd == -ENXIO)
			continue; /* the CPU went offline meanwhile */
		if (fd < 0)
			return log_error_errno(fd, "cannot open the sampling timer on CPU %u: %m; CAP_PERFMON, or "
						   "kernel.perf_event_paranoid, may forbid it",
					       cpus[i]);
		on_cpu->cpus[on_cpu->n_fds] = cpus[i];
		on_cpu->fds[on_cpu->n_fds++] = fd;
	}
	r = read_idle_ns(on_cpu, &on_cpu->idle_before_ns);
	if (r < 0)
		return log_error_errno(r, "cannot read '/proc/stat': %m");
	*ret_on_cpu = take_ptr(on_cpu);
	return 0;
}

struct on_cpu *on_cpu_free(struct on_cpu *on_cpu)
{
	if (!on_cpu)
		return NULL;
	for (size_t i = 0; i < on_cpu->n_fds; i++)
		close(on_cpu->fds[i]);
	free(on_cpu->fds);
	free(on_cpu->cpus);
	free(on_cpu);
	return NULL;
}

void on_cpu_stop(struct on_cpu *on_cpu)
{
	for (size_t i = 0; i < on_cpu->n_fds; i++)
		(void)ioctl(on_cpu->fds[i], PERF_EVENT_IOC_DISABLE, 0);
}

int on_cpu_expected_ticks(const struct on_cpu *on_cpu, uint64_t *ret_ticks)
{
	uint64_t total = 0;

	for (size_t i = 0; i < on_cpu->n_fds; i++) {
		struct {
			uint64_t value, enabled_ns, running_ns;
		} reading;

		if (read(on_cpu->fds[i], &reading, sizeof(reading)) != (ssize_t)sizeof(reading))
			return errno ? -errno : -EIO;
		total += reading.enabled_ns / on_cpu->period_ns;
	}
	*ret_ticks = total;
	return 0;
}

int on_cpu_idle_ns(const struct on_cpu *on_cpu, uint64_t *ret_idle_ns)
{
	uint64_t idle_ns;
	int r;

	r = read_idle_ns(on_cpu, &idle_ns);
	if (r < 0)
		return r;
	*ret_idle_ns = idle_ns > on_cpu->idle_before_ns ? idle_ns - on_cpu->idle_before_ns : 0;
	return 0;
}
