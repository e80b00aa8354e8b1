/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads /sys/devices/system/cpu/{online,isolated,nohz_full}.
 */
#include "agent/cpu/cpu_list.h"

#include <stdlib.h>

#include "common/bytes.h"
#include "common/file.h"

/* Distributions configure CONFIG_NR_CPUS up to 8192. */
#define MAX_CPU_NUMBER 65535

int cpu_list_parse(const char *text, struct cpu_vec *cpus)
{
	while (*text && *text != '\n') {
		unsigned long first;
		unsigned long last;
		char *end;

		if (*text < '0' || *text > '9')
			return -EINVAL;
		first = strtoul(text, &end, 10);
		last = first;
		if (*end == '-') {
			if (end[1] < '0' || end[1] > '9')
				return -EINVAL;
			last = strtoul(end + 1, &end, 10);
		}
		if (first > last || last > MAX_CPU_NUMBER)
			return -EINVAL;
		for (unsigned long cpu = first; cpu <= last; cpu++) {
			int r = vec_push(cpus, (uint32_t)cpu);

			if (r < 0)
				return r;
		}
		if (*end != ',' && *end != '\0' && *end != '\n')
			return -EINVAL;
		text = *end == ',' ? end + 1 : end;
	}
	return 0;
}

/*
 * A missing file is the empty set, and so is the text "(null)" (nohz_full without the boot option).
 */
static int read_list(const char *path, struct cpu_vec *cpus)
{
	scoped(bytes_release) struct bytes text = BYTES_INIT(64 * KIB);
	int r;

	r = file_read(path, &text);
	if (r == 0)
		r = bytes_append_byte(&text, 0);
	if (r == 0)
		r = cpu_list_parse((const char *)text.data, cpus);
	return r == -ENOMEM ? r : 0;
}

static bool contains(const struct cpu_vec *cpus, uint32_t cpu)
{
	for (size_t i = 0; i < cpus->count; i++) {
		if (cpus->items[i] == cpu)
			return true;
	}
	return false;
}

static void scoped_release(struct cpu_vec *cpus)
{
	vec_release(cpus);
}

int cpu_list_online(struct cpu_vec *cpus)
{
	return read_list("/sys/devices/system/cpu/online", cpus);
}

int cpu_list_to_sample(const char *wanted, struct cpu_vec *cpus)
{
	scoped(scoped_release) struct cpu_vec online = {};
	scoped(scoped_release) struct cpu_vec isolated = {};
	scoped(scoped_release) struct cpu_vec chosen = {};
	int r;

	r = cpu_list_parse(wanted, &chosen);
	if (r < 0)
		return r;
	r = cpu_list_online(&online);
	if (r < 0)
		return r;
	r = read_list("/sys/devices/system/cpu/isolated", &isolated);
	if (r < 0)
		return r;
	r = read_list("/sys/devices/system/cpu/nohz_full", &isolated);
	if (r < 0)
		return r;
	for (size_t i = 0; i < online.count; i++) {
		uint32_t cpu = online.items[i];
		bool use = chosen.count > 0 ? contains(&chosen, cpu) : !contains(&isolated, cpu);

		r = use ? vec_push(cpus, cpu) : 0;
		if (r < 0)
			return r;
	}
	return 0;
}
