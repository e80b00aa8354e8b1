/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * CPUs that go offline and come back: hotplug, the SMT switch, suspend.
 *
 * The kernel announces each change to a netlink socket (kobject uevents). Where that cannot be had,
 * and because a message may be lost, the list of CPUs that are online is read now and then as well;
 * only the announcements show that a CPU was offline between two readings. Used by the agent's main
 * thread.
 */

#include "agent/cpu/cpu_list.h"

struct cpu_watch;

/* Without announcements, which is logged, it works by reading alone. */
int cpu_watch_new(struct cpu_watch **ret_watch);
struct cpu_watch *cpu_watch_free(struct cpu_watch *watch);

/* Readable when a CPU came or went; -1: there is no socket. Add it to the caller's epoll. */
int cpu_watch_fd(const struct cpu_watch *watch);

/*
 * Whether the CPUs that are online may have changed since the last call: an announcement waits, or
 * the list differs. The list is read only if @look, or something was announced. @function gets the
 * CPUs that were announced to go offline; all that are online where announcements were lost.
 */
int cpu_watch_changed(struct cpu_watch *watch, bool look, void (*function)(void *arg, uint32_t cpu),
		      void *arg);

/* As of the last look. */
const struct cpu_vec *cpu_watch_online(const struct cpu_watch *watch);

enum cpu_uevent {
	CPU_UEVENT_OTHER,
	CPU_UEVENT_ONLINE,
	CPU_UEVENT_OFFLINE,
};

/* A kernel's uevent, "offline@/devices/system/cpu/cpu3" and more: what it says of which CPU. */
enum cpu_uevent cpu_uevent_parse(const char *message, size_t size, uint32_t *ret_cpu);

#include "common/scoped.h"
DEFINE_SCOPED(struct cpu_watch *, cpu_watch_free);
