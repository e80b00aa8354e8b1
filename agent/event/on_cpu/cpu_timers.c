/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The timer has a fixed period, not a frequency: the kernel then keeps the ticks on a grid, each
 * tick stands for the same time, and missing ticks can be counted.
 */
#include "agent/event/on_cpu/cpu_timers.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/event/on_cpu/cpu_times.h"
#include "agent/event/on_cpu/tick_account.h"
#include "common/log.h"
#include "common/vec.h"

struct timer {
	int fd; /* -1: there is no event, the CPU is offline or not sampled */
	uint32_t cpu;
	bool suspect;
	bool seen;           /* the current look lists the CPU */
	bool stood_still;    /* the clock did not advance before the last reading */
	uint64_t started_ns; /* CLOCK_MONOTONIC */
	uint64_t enabled_ns; /* last reading of the event's clock */
	/* without an event: the last time at which the CPU was known not to need one */
	uint64_t unwatched_ns;
	uint64_t ended_clock;    /* whole periods of events that ended */
	uint64_t steal_start_ns; /* steal time accounted when the first event started */
	uint64_t uncovered_ns;
	struct cpu_times times;
	struct tick_account account;
};

VEC_DEFINE(timer_vec, struct timer);

struct cpu_timers {
	uint64_t period_ns;
	int program_fd;
	uint64_t looked_ns;
	bool found_dead;
	bool stopped;
	struct timer_vec all;
};

bool cpu_timers_in_step(uint64_t frequency_hz)
{
	/* The values that kernel/Kconfig.hz offers for CONFIG_HZ. */
	static const uint64_t kernel_hz[] = { 100, 250, 300, 1000 };

	for (size_t i = 0; i < ARRAY_SIZE(kernel_hz); i++) {
		if (frequency_hz % kernel_hz[i] == 0 || kernel_hz[i] % frequency_hz == 0)
			return true;
	}
	return false;
}

int cpu_timers_new(int program_fd, uint64_t period_ns, struct cpu_timers **ret_timers)
{
	struct cpu_timers *timers = calloc(1, sizeof(*timers));

	if (!timers)
		return -ENOMEM;
	timers->program_fd = program_fd;
	timers->period_ns = period_ns;
	*ret_timers = timers;
	return 0;
}

struct cpu_timers *cpu_timers_free(struct cpu_timers *timers)
{
	if (!timers)
		return NULL;
	for (size_t i = 0; i < timers->all.count; i++)
		scoped_close(&timers->all.items[i].fd);
	vec_release(&timers->all);
	free(timers);
	return NULL;
}

static struct timer *find_timer(struct cpu_timers *timers, uint32_t cpu)
{
	/* Usually all CPUs are sampled and each timer's index is its CPU number. */
	if (cpu < timers->all.count && timers->all.items[cpu].cpu == cpu)
		return &timers->all.items[cpu];
	for (size_t i = 0; i < timers->all.count; i++) {
		if (timers->all.items[i].cpu == cpu)
			return &timers->all.items[i];
	}
	return NULL;
}

static void take_times(void *arg, uint32_t cpu, const struct cpu_times *times)
{
	struct timer *timer = find_timer(arg, cpu);

	if (timer)
		timer->times = *times;
}

static struct tick_reading reading_of(const struct timer *timer,
				      const struct cpu_timers_received *received, size_t n_received)
{
	struct tick_reading reading = {
		.enabled_ns = timer->enabled_ns,
		.idle_ns = timer->times.idle_ns,
		.steal_ns = timer->times.steal_ns,
	};

	if (timer->cpu < n_received) {
		reading.received = received[timer->cpu].all;
		reading.idle = received[timer->cpu].idle;
	}
	return reading;
}

static int open_event(uint32_t cpu, uint64_t period_ns, int program_fd)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = period_ns,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
		.disabled = 1,
	};
	scoped_fd int fd =
		(int)syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, program_fd) < 0 ||
	    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
		return -errno;
	return take_fd(fd);
}

/* An event whose CPU went offline can still be read; its clock stands still. */
static int read_clock(struct timer *timer)
{
	struct {
		uint64_t value, enabled_ns, running_ns;
	} reading;
	ssize_t size = read(timer->fd, &reading, sizeof(reading));

	if (size != (ssize_t)sizeof(reading))
		return size < 0 ? -errno : -EIO;
	timer->stood_still = timer->enabled_ns != 0 && reading.enabled_ns == timer->enabled_ns;
	timer->enabled_ns = reading.enabled_ns;
	return 0;
}

static void end_timer(struct cpu_timers *timers, struct timer *timer,
		      const struct cpu_timers_look *look)
{
	struct tick_reading reading;

	(void)ioctl(timer->fd, PERF_EVENT_IOC_DISABLE, 0);
	(void)read_clock(timer);
	reading = reading_of(timer, look->received, look->n_received);
	tick_account_end(&timer->account, timers->period_ns, &reading);
	timer->ended_clock += timer->enabled_ns / timers->period_ns;
	/*
	 * If the CPU was offline and is online again, the event's own clock shows when it went
	 * offline.
	 */
	timer->unwatched_ns = MIN(timer->started_ns + timer->enabled_ns, look->now_ns);
	timer->enabled_ns = 0;
	timer->suspect = timer->stood_still = false;
	scoped_close(&timer->fd);
	timer->fd = -1;
}

static int start_timer(struct cpu_timers *timers, struct timer *timer,
		       const struct cpu_timers_look *look)
{
	struct tick_reading reading;
	int fd;

	reading = reading_of(timer, look->received, look->n_received);
	fd = open_event(timer->cpu, timers->period_ns, timers->program_fd);
	if (fd == -ENODEV || fd == -ENXIO)
		return 0; /* the CPU went offline meanwhile */
	if (fd < 0)
		return fd;
	if (timer->started_ns == 0)
		timer->steal_start_ns = timer->times.steal_ns;
	timer->fd = fd;
	timer->started_ns = look->now_ns;
	timer->uncovered_ns += look->now_ns - timer->unwatched_ns;
	tick_account_start(&timer->account, &reading);
	return 1;
}

static int mark_seen(struct cpu_timers *timers, const struct cpu_timers_look *look)
{
	for (size_t i = 0; i < timers->all.count; i++)
		timers->all.items[i].seen = false;
	for (size_t i = 0; i < look->n_cpus; i++) {
		struct timer *timer = find_timer(timers, look->cpus[i]);
		struct timer added = {
			.fd = -1,
			.cpu = look->cpus[i],
			.seen = true,
			/* Before the first look no CPU had to be covered. */
			.unwatched_ns = timers->looked_ns ? timers->looked_ns : look->now_ns,
		};
		int r = 0;

		if (timer)
			timer->seen = true;
		else
			r = vec_push(&timers->all, added);
		if (r < 0)
			return r;
	}
	return 0;
}

int cpu_timers_follow(struct cpu_timers *timers, const struct cpu_timers_look *look)
{
	int started = 0;
	int failure = 0;
	int r;

	if (timers->stopped)
		return 0;
	timers->found_dead = false;
	r = mark_seen(timers, look);
	if (r == 0)
		r = cpu_times_read(take_times, timers);
	if (r < 0)
		return log_error_errno(r, "cannot read the times of CPUs from '/proc/stat': %m");
	for (size_t i = 0; i < timers->all.count; i++) {
		struct timer *timer = &timers->all.items[i];

		if (timer->fd >= 0 && (timer->suspect || timer->stood_still || !timer->seen))
			end_timer(timers, timer, look);
		if (!timer->seen)
			timer->unwatched_ns = look->now_ns;
		r = timer->fd < 0 && timer->seen ? start_timer(timers, timer, look) : 0;
		if (r < 0 && failure == 0)
			failure = log_error_errno(
				r,
				"cannot open the sampling timer on CPU %u: %m; CAP_PERFMON, or "
				"kernel.perf_event_paranoid, may forbid it",
				timer->cpu);
		started += r > 0;
	}
	timers->looked_ns = look->now_ns;
	return failure < 0 ? failure : started;
}

void cpu_timers_unchanged(struct cpu_timers *timers, uint64_t now_ns)
{
	timers->looked_ns = now_ns;
	for (size_t i = 0; i < timers->all.count; i++) {
		struct timer *timer = &timers->all.items[i];

		if (timer->fd >= 0)
			continue;
		/* The CPU is online and wanted, but its event could not be opened. */
		if (timer->seen)
			timer->uncovered_ns += now_ns - timer->unwatched_ns;
		timer->unwatched_ns = now_ns;
	}
}

void cpu_timers_suspect(struct cpu_timers *timers, uint32_t cpu)
{
	struct timer *timer = find_timer(timers, cpu);

	if (timer)
		timer->suspect = true;
}

bool cpu_timers_found_dead(struct cpu_timers *timers)
{
	bool found = timers->found_dead;

	timers->found_dead = false;
	return found;
}

void cpu_timers_pause(struct cpu_timers *timers)
{
	for (size_t i = 0; i < timers->all.count; i++) {
		if (timers->all.items[i].fd >= 0)
			(void)ioctl(timers->all.items[i].fd, PERF_EVENT_IOC_DISABLE, 0);
	}
}

int cpu_timers_change_period(struct cpu_timers *timers, uint64_t period_ns,
			     const struct cpu_timers_look *look)
{
	for (size_t i = 0; i < timers->all.count; i++) {
		if (timers->all.items[i].fd >= 0)
			end_timer(timers, &timers->all.items[i], look);
	}
	timers->period_ns = period_ns;
	return cpu_timers_follow(timers, look);
}

void cpu_timers_stop(struct cpu_timers *timers)
{
	timers->stopped = true;
	cpu_timers_pause(timers);
}

size_t cpu_timers_count(const struct cpu_timers *timers)
{
	size_t count = 0;

	for (size_t i = 0; i < timers->all.count; i++)
		count += timers->all.items[i].fd >= 0;
	return count;
}

void cpu_timers_read_clocks(struct cpu_timers *timers)
{
	for (size_t i = 0; i < timers->all.count; i++) {
		struct timer *timer = &timers->all.items[i];

		if (timer->fd >= 0 && read_clock(timer) < 0)
			timer->stood_still = true;
		if (timer->stood_still)
			timers->found_dead = !timers->stopped;
	}
}

void cpu_timers_account(struct cpu_timers *timers, const struct cpu_timers_received *received,
			size_t n_received, struct cpu_timers_ticks *ret_ticks)
{
	*ret_ticks = (struct cpu_timers_ticks){};
	/*
	 * If /proc/stat cannot be read, missing ticks count as lost, which is better than counting
	 * them as idle.
	 */
	(void)cpu_times_read(take_times, timers);
	for (size_t i = 0; i < timers->all.count; i++) {
		struct timer *timer = &timers->all.items[i];
		struct tick_reading reading = reading_of(timer, received, n_received);

		if (timer->fd >= 0 && timer->cpu < n_received)
			tick_account_update(&timer->account, timers->period_ns, &reading);
		ret_ticks->clock += timer->ended_clock + timer->enabled_ns / timers->period_ns;
		ret_ticks->expected += timer->account.expected;
		ret_ticks->asleep += timer->account.asleep;
		ret_ticks->stolen += timer->account.stolen;
		ret_ticks->missed += timer->account.missed;
		ret_ticks->uncovered_ns += timer->uncovered_ns;
		if (timer->times.steal_ns > timer->steal_start_ns)
			ret_ticks->steal_ns += timer->times.steal_ns - timer->steal_start_ns;
	}
}
