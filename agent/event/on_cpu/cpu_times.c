/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/event/on_cpu/cpu_times.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/bytes.h"
#include "common/file.h"
#include "common/scoped.h"

/* Enough for 8192 CPUs with ten fields each, and the line of interrupts. */
#define PROC_STAT_MAX_BYTES (4 * MIB)

/* USER_HZ of the kernel's ABI is 100. */
#define STAT_TICK_NS (NSEC_PER_SEC / 100)

void cpu_times_parse(const char *text, cpu_times_function function, void *arg)
{
	for (const char *line = text; line; line = strchr(line, '\n')) {
		unsigned long long idle;
		unsigned long long iowait;
		unsigned long long steal;
		uint32_t cpu;

		line += *line == '\n';
		if (strncmp(line, "cpu", 3) != 0)
			break; /* the CPU lines are the first lines */
		/*
		 * The fields are: user nice system idle iowait irq softirq steal. The first line,
		 * "cpu  ", is the sum of all CPUs.
		 */
		if (line[3] == ' ' ||
		    sscanf(line + 3, "%" SCNu32 " %*u %*u %*u %llu %llu %*u %*u %llu", &cpu, &idle,
			   &iowait, &steal) != 4)
			continue;
		function(arg, cpu,
			 &(struct cpu_times){
				 .idle_ns = (idle + iowait) * STAT_TICK_NS,
				 .steal_ns = steal * STAT_TICK_NS,
			 });
	}
}

int cpu_times_read(cpu_times_function function, void *arg)
{
	scoped(bytes_release) struct bytes text = BYTES_INIT(PROC_STAT_MAX_BYTES);
	int r;

	r = file_read("/proc/stat", &text);
	if (r < 0)
		return r;
	r = bytes_append_byte(&text, 0);
	if (r < 0)
		return r;
	cpu_times_parse((const char *)text.data, function, arg);
	return 0;
}
