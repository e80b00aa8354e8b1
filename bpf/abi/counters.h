/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) OR Apache-2.0 */
#pragma once

/*
 * What the BPF programs count, per CPU. The agent knows from the timers' own clocks how many ticks
 * were due, and counts those that came to no program (agent/cpu/tick_account.h).
 */
/* clang-format off */
#define ABI_COUNTERS(X)                                                                                        \
	X(TICKS_IDLE,       "ticks_idle",       "ticks that found the CPU idle")                               \
	X(TICKS_SAMPLED,    "ticks_sampled",    "ticks whose sample reached the ring buffer, or waits for it") \
	X(TICKS_RING_FULL,  "ticks_ring_full",  "ticks whose sample did not fit into the ring buffer: lost")   \
	X(TICKS_FAILED,     "ticks_failed",     "ticks that could not be sampled for another reason: lost")    \
	X(TICKS_SKIPPED,    "ticks_skipped",    "ticks of these that the perf event did not bring") \
	X(TICKS_NS,         "ticks_ns",         "time that taking samples of ticks took")                          \
	X(STACKS_FULL,      "stacks_full",      "samples that carried their frames")                           \
	X(STACKS_SEEN,      "stacks_seen",      "samples that carried the stack's hash only")                  \
	X(STACKS_COPIED,    "stacks_copied",    "samples that carried a copy of the stack for the agent")              \
	X(UNKNOWN_PROCESS,  "unknown_process",  "samples of processes not in the maps yet")                    \
	X(EXECS_LOST,       "execs_lost",       "execs and replaced mappings that the map of counts had no room for")  \
	X(CUT_DEPTH,        "cut_depth",        "stacks cut: too deep")                                        \
	X(CUT_READ_FAULT,   "cut_read_fault",   "stacks cut: a stack page was not resident")                   \
	X(CUT_NO_MAPPING,   "cut_no_mapping",   "stacks cut: a return address in no executable mapping")       \
	X(CUT_BAD_FRAME,    "cut_bad_frame",    "stacks cut: implausible frame pointer")                       \
	X(CUT_UNKNOWN,      "cut_unknown",      "stacks cut: the copy of the stack ended")                     \
	X(CUT_NO_REGISTERS, "cut_no_registers", "stacks cut: user registers not readable")                     \
	X(CUT_NO_ROW,       "cut_no_row",       "stacks cut: no unwind row, and the frame pointer is zero")            \
	X(CUT_32_BIT,       "cut_32_bit",       "stacks cut: of a 32-bit program")                             \
	X(FRAMES_BY_TABLE,  "frames_by_table",  "frames left by a row of an unwind table")                     \
	X(FRAMES_BY_POINTER, "frames_by_pointer", "frames left by the frame pointer, for want of a row")        \
	X(RULES_CACHED,     "rules_cached",     "unwind rules found in the cache of recent rules")              \
	X(FRAMES_UNSUPPORTED, "frames_unsupported", "frames whose row cannot be expressed: frame pointer tried") \
	X(NO_TABLE,         "no_table",         "frames without resident unwind rows, in stacks not copied") \
	X(ROWS_MISSING,     "rows_missing",     "stacks that met unwind rows which are not resident")          \
	X(KERNEL_STACK_ERROR, "kernel_stack_error", "kernel stacks that could not be read")                    \
	X(DEFERRED_SCHEDULED, "deferred_scheduled", "samples to be finished by their thread, with absent pages") \
	X(DEFERRED_WHOLE,   "deferred_whole",   "of them: no page was absent any more")                        \
	X(DEFERRED_CUT,     "deferred_cut",     "of them: still cut, the page cannot be had")                  \
	X(DEFERRED_GONE,    "deferred_gone",    "of them: the thread was no longer where it was")              \
	X(DEFERRED_LATE,    "deferred_late",    "of them: the thread did not come back in time")               \
	X(DEFERRED_NO_SLOT, "deferred_no_slot", "samples that found no free slot")                             \
	X(DEFERRED_PAGES,   "deferred_pages",   "pages that threads faulted in for their samples")             \
	X(TOUCH_LOST,       "touch_lost",       "pages to touch that did not fit into their ring buffer")             \
	X(OFF_CPU_SWITCHES, "off_cpu_switches", "context switches seen")                                       \
	X(OFF_CPU_CAPTURED, "off_cpu_captured", "waits whose stack was taken as they began")                   \
	X(OFF_CPU_THINNED,  "off_cpu_thinned",  "waits whose stack was not taken: others like them stand for them") \
	X(OFF_CPU_WALKED,   "off_cpu_walked",   "waits whose stack was taken while they went on")              \
	X(OFF_CPU_IN_FILE,  "off_cpu_in_file",  "walked waits whose stack was not read: it lies in a file")           \
	X(OFF_CPU_USERFAULT, "off_cpu_userfault", "walked waits whose stack was not read: userfaultfd")  \
	X(OFF_CPU_BUSY,     "off_cpu_busy",     "waits put off until the next walk: mappings were being changed")     \
	X(OFF_CPU_LEFT_OUT, "off_cpu_left_out", "waits of processes that off_cpu.regex leaves out")            \
	X(OFF_CPU_NO_USER,  "off_cpu_no_user",  "waits without a user frame: not counted")                     \
	X(OFF_CPU_UNREADY,  "off_cpu_unready",  "waits of threads that nothing is kept of yet: not counted")   \
	X(OFF_CPU_WAITED_NS, "off_cpu_waited_ns", "time of all waits that ended, thinned or not")              \
	X(OFF_CPU_TOO_SHORT, "off_cpu_too_short", "waits below off_cpu.min_blocking_time: dropped")            \
	X(OFF_CPU_TOO_LONG, "off_cpu_too_long", "waits that were cut after an hour")                           \
	X(OFF_CPU_UNSEEN,   "off_cpu_unseen",   "ends of waits that the kernel did not tell: inferred") \
	X(OFF_CPU_LOST,     "off_cpu_lost",     "waits that did not fit into the ring buffer: lost")           \
	X(OFF_CPU_LOST_NS,  "off_cpu_lost_ns",  "their time")                                                  \
	X(OFF_CPU_UNSENT_NS, "off_cpu_unsent_ns", "time of thinned waits whose thread ended before it was sent") \
	X(OFF_CPU_QUEUED_NS, "off_cpu_queued_ns", "part of off_cpu_waited_ns: from being woken to running")       \
	X(OFF_CPU_PREEMPTED_NS, "off_cpu_preempted_ns", "run-queue time of threads that did not wait before") \
	X(OFF_CPU_THROTTLED_NS, "off_cpu_throttled_ns", "part of both: the cgroup had used up its CPU time") \
	X(OFF_CPU_CAPTURE_NS, "off_cpu_capture_ns", "time spent on taking stacks of waits")
/* clang-format on */

enum abi_counter {
#define X(id, ...) ABI_COUNTER_##id,
	ABI_COUNTERS(X)
#undef X
		ABI_COUNTER_COUNT,
};
