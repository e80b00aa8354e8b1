/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) OR Apache-2.0 */
#pragma once

/*
 * The counters of the BPF programs, one value per CPU. agent/metrics.def gives those that the agent
 * exports their names as metrics (KERNEL_METRIC).
 *
 * The agent knows from the clocks of its timers how many ticks were due, and counts those for which
 * no program ran (agent/event/on_cpu/tick_account.h).
 */
/* clang-format off */
#define ABI_COUNTERS(X)                                                                            \
	X(TICKS_IDLE,           "ticks that found the CPU idle")                                   \
	X(TICKS_SAMPLED,        "ticks with a sample that is in the ring buffer, or deferred")     \
	X(TICKS_RING_FULL,      "ticks with a sample that did not fit into the ring buffer: lost") \
	X(TICKS_FAILED,         "ticks that could not be sampled for another reason: lost")        \
	X(TICKS_SKIPPED,        "ticks handled by hearth_on_timer: the perf event was skipped")    \
	X(TICKS_NS,             "time spent on samples of ticks")                                  \
	X(STACKS_FULL,          "samples with their frames")                                       \
	X(STACKS_SEEN,          "samples with the hash of their stack only")                       \
	X(STACKS_COPIED,        "samples with a copy of the stack for the agent")                  \
	X(UNKNOWN_PROCESS,      "samples of processes that are not in the maps")                   \
	X(EXECS_LOST,           "execs and replaced mappings that did not fit into exec_counts")   \
	X(CUT_DEPTH,            "stacks cut: too deep")                                            \
	X(CUT_READ_FAULT,       "stacks cut: a stack page was not resident")                       \
	X(CUT_NO_MAPPING,       "stacks cut: a return address in no executable mapping")           \
	X(CUT_BAD_FRAME,        "stacks cut: implausible frame pointer")                           \
	X(CUT_UNKNOWN,          "stacks cut: the copy of the stack ended")                         \
	X(CUT_NO_REGISTERS,     "stacks cut: user registers not readable")                         \
	X(CUT_NO_ROW,           "stacks cut: no unwind row, and the frame pointer is zero")        \
	X(CUT_32_BIT,           "stacks cut: 32-bit program")                                      \
	X(FRAMES_BY_TABLE,      "callers found by a row of an unwind table")                       \
	X(FRAMES_BY_POINTER,    "callers found by the frame pointer, without a row")               \
	X(RULES_CACHED,         "unwind rules found in the cache of recent rules")                 \
	X(FRAMES_UNSUPPORTED,   "frames with an unsupported row: the frame pointer was tried")     \
	X(NO_TABLE,             "frames without resident unwind rows, in stacks not copied")       \
	X(ROWS_MISSING,         "stacks that needed unwind rows which are not resident")           \
	X(PYTHON_FRAMES,        "frames of Python functions")                                      \
	X(PYTHON_NO_THREAD,     "stacks in Python code whose thread state was not found")          \
	X(PYTHON_UNREADABLE,    "stacks in Python code whose frames could not be read")            \
	X(PHP_FRAMES,           "frames of PHP functions")                                         \
	X(PHP_UNREADABLE,       "stacks in PHP code whose frames could not be read")               \
	X(JAVA_FRAMES,          "frames of code that a JVM generated or interpreted")                \
	X(JAVA_UNREADABLE,      "frames in generated code of a JVM whose blob could not be read")    \
	X(V8_FRAMES,            "frames of JavaScript functions")                                    \
	X(V8_UNREADABLE,        "frames of JavaScript functions whose function could not be read")   \
	X(RUBY_FRAMES,          "frames of Ruby")                                                  \
	X(RUBY_NO_THREAD,       "stacks in Ruby whose thread was not found")                       \
	X(RUBY_UNREADABLE,      "stacks in Ruby whose frames could not be read")                   \
	X(PERL_FRAMES,          "frames of Perl")                                                  \
	X(PERL_NO_THREAD,       "stacks in Perl whose interpreter was not found")                  \
	X(PERL_UNREADABLE,      "stacks in Perl whose frames could not be read")                   \
	X(LUA_FRAMES,           "frames of Lua functions")                                         \
	X(LUA_NO_THREAD,        "stacks in Lua whose lua_State was not found")                     \
	X(LUA_UNREADABLE,       "stacks in Lua whose frames could not be read")                    \
	X(KERNEL_STACK_ERROR,   "kernel stacks that could not be read")                            \
	X(DEFERRED_SCHEDULED,   "samples with absent pages that their thread should complete")     \
	X(DEFERRED_WHOLE,       "deferred samples that their thread completed")                    \
	X(DEFERRED_CUT,         "deferred samples still cut: a page cannot be read")               \
	X(DEFERRED_GONE,        "deferred samples whose thread had left the sampled code")         \
	X(DEFERRED_LATE,        "deferred samples whose thread did not return to user mode in time")\
	X(DEFERRED_NO_SLOT,     "samples with absent pages for which no slot was free")            \
	X(DEFERRED_PAGES,       "pages that threads faulted in for their samples")                 \
	X(TOUCH_LOST,           "absent pages that did not fit into their ring buffer")            \
	X(OFF_CPU_SWITCHES,     "context switches")                                                \
	X(OFF_CPU_CAPTURED,     "waits with a stack that was captured when they began")            \
	X(OFF_CPU_THINNED,      "waits without a stack, represented by waits of the same site")    \
	X(OFF_CPU_WALKED,       "waits with a stack that a walk copied before they ended")         \
	X(OFF_CPU_IN_FILE,      "waits whose stack a walk did not read: mapping of a file")        \
	X(OFF_CPU_USERFAULT,    "waits whose stack a walk did not read: userfaultfd")              \
	X(OFF_CPU_BUSY,         "waits that a walk skipped: mappings were being changed")          \
	X(OFF_CPU_LEFT_OUT,     "waits of processes that off_cpu.regex excludes")                  \
	X(OFF_CPU_NO_USER,      "waits without a user frame: not counted")                         \
	X(OFF_CPU_UNREADY,      "waits of threads that have no data yet: not counted")             \
	X(OFF_CPU_WAITED_NS,    "time of all waits that ended, thinned or not")                    \
	X(OFF_CPU_TOO_SHORT,    "waits below off_cpu.min_blocking_time: dropped")                  \
	X(OFF_CPU_TOO_LONG,     "waits that were cut after an hour")                               \
	X(OFF_CPU_UNSEEN,       "ends of waits that the kernel did not report: inferred")          \
	X(OFF_CPU_LOST,         "waits that did not fit into the ring buffer: lost")               \
	X(OFF_CPU_LOST_NS,      "time of these waits")                                             \
	X(OFF_CPU_UNSENT_NS,    "unsent time of thinned waits of threads that ended")              \
	X(OFF_CPU_QUEUED_NS,    "part of OFF_CPU_WAITED_NS: from being woken to running")          \
	X(OFF_CPU_PREEMPTED_NS, "run-queue time of threads that did not wait before")              \
	X(OFF_CPU_THROTTLED_NS, "part of QUEUED_NS and PREEMPTED_NS: the cgroup was throttled")    \
	X(OFF_CPU_CAPTURE_NS,   "time spent on stacks of waits")
/* clang-format on */

enum abi_counter {
#define X(id, ...) ABI_COUNTER_##id,
	ABI_COUNTERS(X)
#undef X
		ABI_COUNTER_COUNT,
};
