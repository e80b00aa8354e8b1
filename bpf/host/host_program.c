// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Compiles the unwinder of the BPF programs for the host (host_unwind.h): includes its sources
 * unchanged, and adds host_unwind(), which does what cpu_sampler.bpf.c does at a tick in user mode.
 * This file is compiled once per architecture, with -D__TARGET_ARCH_*, and with this folder's
 * include/ before libbpf's.
 */
#include "bpf/unwind_native.bpf.c"

#include "bpf/sample_submit.bpf.c"

#include "common/event_type.h"

#if defined(__TARGET_ARCH_x86)
#define host_unwind           host_unwind_x86
#define host_unwind_find_rule host_unwind_find_rule_x86
#define host_unwind_look_up   host_unwind_look_up_x86
#else
#define host_unwind           host_unwind_arm64
#define host_unwind_find_rule host_unwind_find_rule_arm64
#define host_unwind_look_up   host_unwind_look_up_arm64
#endif

_Static_assert(N_GENERAL_REGISTERS <= HOST_UNWIND_MAX_REGISTERS,
	       "one array for both architectures");

/*
 * One run of the unwinder: its sample, and the simulated task. @run must be the first member,
 * because host_program_task() converts its address.
 */
struct program_run {
	struct host_run run;
	struct task_struct task;
	struct mm_struct memory;
	struct pid thread_pid;
	struct sample sample;
};

static struct task_struct *host_program_task(void)
{
	return &((struct program_run *)host_run_current())->task;
}

static void fill_task(struct program_run *program, const struct host_unwind_process *process)
{
	struct task_struct *task = &program->task;

	program->memory = (struct mm_struct){ .start_code = 1 };
	program->thread_pid = (struct pid){ .numbers = { { .nr = (int)process->tid } } };
	*task = (struct task_struct){
		.thread = { .fsbase = process->thread_pointer },
		.thread_pid = &program->thread_pid,
		.pid = (int)process->tid,
		.tgid = (int)process->pid,
		.real_parent = task,
		.group_leader = task,
		.mm = &program->memory,
		.start_boottime = process->start_time_ns,
	};
}

static void fill_context(struct bpf_perf_event_data *context,
			 const struct host_unwind_registers *registers)
{
	*context = (struct bpf_perf_event_data){};
#define X(number, field) context->regs.field = registers->general[number];
	FOR_EACH_GENERAL_REGISTER(X)
#undef X
	context->regs.registers_pc_field = registers->pc;
#if defined(__TARGET_ARCH_x86)
	context->regs.cs = registers->is_32_bit ? 0x23 : 0x33;
#else
	context->regs.pstate = registers->is_32_bit ? 0x10 : 0;
#endif
}

void host_unwind(const struct host_unwind_input *input, struct host_unwind_output *ret_output)
{
	struct bpf_perf_event_data context;
	struct program_run program;
	struct sample *sample = &program.sample;

	/*
	 * The sample is deliberately not initialized, because the kernel's scratch memory has old
	 * values too.
	 */
	program.run = (struct host_run){ .input = input, .output = ret_output };
	__builtin_memset(ret_output, 0, sizeof(*ret_output));
	fill_task(&program, &input->process);
	fill_context(&context, &input->registers);

	host_run_begin(&program.run);
	sample_begin(sample, EVENT_ON_CPU, 1);
	sample_find_process(sample);
	registers_from_context(&sample->registers, &context);
	unwind_user(sample);
	(void)sample_submit(sample);
	host_run_end();
	ret_output->n_missing = sample->n_missing;
	ret_output->missing_executable = sample->missing_executable;
	ret_output->missing_address = sample->missing_address;
}

int host_unwind_look_up(struct host_unwind_lookup *lookup)
{
	struct host_unwind_input input = { .tables = lookup->tables };
	struct host_run run = { .input = &input };
	struct sample sample;
	enum rule_found found;

	sample.header.time_ns = lookup->time_ns;
	sample.n_rules_cached = 0;
	sample_forget_regions(&sample);
	__builtin_memcpy(run.cached_rule, lookup->cached_rule, sizeof(run.cached_rule));
	host_run_begin(&run);
	found = find_rule(&sample, lookup->executable, lookup->elf_addr, &lookup->rule);
	host_run_end();
	__builtin_memcpy(lookup->cached_rule, run.cached_rule, sizeof(run.cached_rule));
	lookup->was_cached = sample.n_rules_cached == 1;
	return found == RULE_FOUND ? 1 : found == RULE_MISSING ? -1 : 0;
}

int host_unwind_find_rule(const struct host_unwind_tables *tables, uint32_t executable,
			  uint64_t elf_addr, struct abi_unwind_rule *ret_rule)
{
	struct host_unwind_lookup lookup = { .tables = tables,
					     .executable = executable,
					     .elf_addr = elf_addr };
	int r = host_unwind_look_up(&lookup);

	if (r > 0)
		*ret_rule = lookup.rule;
	return r;
}
