/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/host_bpf/target.h"

#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

#include "agent/executable/executable_file.h"
#include "agent/process/proc_files.h"
#include "common/frame.h"

/* At a stop for a system call the kernel adds this to SIGTRAP (PTRACE_O_TRACESYSGOOD). */
#define SYSTEM_CALL_STOP (SIGTRAP | 0x80)

/* ---- running ---- */

static void become_target(char *const arguments[])
{
	char *const no_environment[] = { NULL };

	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0)
		(void)execve(arguments[0], arguments, no_environment);
	_exit(127);
}

/* Returns the signal that stopped it, 0 if it has ended. */
static int wait_for_stop(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid)
		return -errno;
	return WIFSTOPPED(status) ? WSTOPSIG(status) : 0;
}

static int set_options(pid_t pid, unsigned long options)
{
	return ptrace(PTRACE_SETOPTIONS, pid, NULL, options | PTRACE_O_TRACESYSGOOD) < 0 ? -errno
											 : 0;
}

int target_start(char *const arguments[], struct target *ret_target)
{
	struct target target = { .pid = fork() };
	int r;

	if (target.pid < 0)
		return -errno;
	if (target.pid == 0)
		become_target(arguments);
	r = wait_for_stop(target.pid);
	if (r == SIGTRAP)
		r = set_options(target.pid, PTRACE_O_EXITKILL);
	else if (r >= 0)
		r = -ENOEXEC;
	if (r < 0)
		target_release(&target);
	else
		*ret_target = target;
	return r;
}

int target_stop_running(pid_t pid, struct target *ret_target)
{
	struct target target = { .pid = pid, .was_running = true };
	int r;

	if (ptrace(PTRACE_SEIZE, pid, NULL, PTRACE_O_TRACESYSGOOD) < 0 ||
	    ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) < 0)
		return -errno;
	r = wait_for_stop(pid);
	if (r <= 0)
		return r < 0 ? r : -ESRCH;
	*ret_target = target;
	return 0;
}

void target_release(struct target *target)
{
	if (target->was_running) {
		(void)ptrace(PTRACE_DETACH, target->pid, NULL, NULL);
	} else if (target->pid > 0) {
		(void)kill(target->pid, SIGKILL);
		(void)waitpid(target->pid, NULL, 0);
	}
	for (size_t i = 0; i < target->modules.count; i++) {
		struct target_module *module = &target->modules.items[i];

		(void)elf_file_free(module->elf);
		(void)close(module->fd);
		free(module->path);
	}
	vec_release(&target->modules);
	vec_release(&target->mappings);
	*target = (struct target){};
}

/* Resumes with @request until a stop by @stop_signal. Returns 1, or 0 if the process has ended. */
static int run_to_stop(pid_t pid, unsigned int request, int stop_signal)
{
	long deliver = 0;

	for (;;) {
		int signal;

		if (ptrace(request, pid, NULL, deliver) < 0)
			return -errno;
		signal = wait_for_stop(pid);
		if (signal <= 0)
			return signal;
		if (signal == stop_signal)
			return 1;
		deliver = signal;
	}
}

int target_run_to_trap(const struct target *target)
{
	return run_to_stop(target->pid, PTRACE_CONT, SIGTRAP);
}

int target_step(const struct target *target)
{
	return run_to_stop(target->pid, PTRACE_SINGLESTEP, SIGTRAP);
}

int target_run_for(const struct target *target, uint64_t duration_ns)
{
	struct timespec duration = { (time_t)(duration_ns / NSEC_PER_SEC),
				     (long)(duration_ns % NSEC_PER_SEC) };
	int signal = 0;

	if (ptrace(PTRACE_CONT, target->pid, NULL, NULL) < 0)
		return -errno;
	(void)nanosleep(&duration, NULL);
	if (kill(target->pid, SIGSTOP) < 0)
		return -errno;
	/* It may have stopped for another signal first, which is delivered before ours. */
	while ((signal = wait_for_stop(target->pid)) > 0 && signal != SIGSTOP)
		if (ptrace(PTRACE_CONT, target->pid, NULL, (long)signal) < 0)
			return -errno;
	return signal < 0 ? signal : signal == SIGSTOP;
}

int target_run_to_system_call(const struct target *target, long number)
{
	for (;;) {
		struct __ptrace_syscall_info info;
		int r = run_to_stop(target->pid, PTRACE_SYSCALL, SYSTEM_CALL_STOP);

		if (r <= 0)
			return r;
		if (ptrace(PTRACE_GET_SYSCALL_INFO, target->pid, sizeof(info), &info) < 0)
			return -errno;
		if (info.op == PTRACE_SYSCALL_INFO_ENTRY && info.entry.nr == (uint64_t)number)
			return 1;
	}
}

/* ---- registers and memory ---- */

#if defined(__x86_64__)

static void by_dwarf_number(const struct user_regs_struct *from,
			    struct host_unwind_registers *ret_registers)
{
	*ret_registers = (struct host_unwind_registers){
		.pc = from->rip,
		.general = { from->rax, from->rdx, from->rcx, from->rbx, from->rsi, from->rdi,
			     from->rbp, from->rsp, from->r8, from->r9, from->r10, from->r11,
			     from->r12, from->r13, from->r14, from->r15 },
	};
}

#elif defined(__aarch64__)

static void by_dwarf_number(const struct user_regs_struct *from,
			    struct host_unwind_registers *ret_registers)
{
	ret_registers->pc = from->pc;
	memcpy(ret_registers->general, from->regs, sizeof(from->regs));
	ret_registers->general[31] = from->sp;
}

#else
#error "no registers for this architecture"
#endif

int target_registers(const struct target *target, struct host_unwind_registers *ret_registers)
{
	struct user_regs_struct registers;
	struct iovec vector = { &registers, sizeof(registers) };

	if (ptrace(PTRACE_GETREGSET, target->pid, NT_PRSTATUS, &vector) < 0)
		return -errno;
	by_dwarf_number(&registers, ret_registers);
	return 0;
}

int target_read(void *argument, uint64_t address, void *buffer, size_t size)
{
	const struct target *target = argument;
	struct iovec local = { buffer, size };
	struct iovec remote = { (void *)(uintptr_t)address, size };

	return process_vm_readv(target->pid, &local, 1, &remote, 1, 0) == (ssize_t)size ? 0 : -1;
}

/* ---- mappings ---- */

static int open_module(const struct target *target, const struct proc_mapping *mapping)
{
	struct stat status;

	if (strcmp(mapping->path, "[vdso]") == 0)
		return open_vdso((uint32_t)target->pid, mapping->start, mapping->end);
	if (mapping->inode == 0)
		return -ENOENT;
	return open_mapped_file((uint32_t)target->pid, mapping->start, mapping->end, &status);
}

/* The segment that was mapped from this file offset determines the bias. */
static int load_bias(const struct elf_file *elf, const struct proc_mapping *mapping,
		     uint64_t *ret_bias)
{
	uint64_t vaddr;

	for (size_t i = 0; i < elf->n_load_segments; i++) {
		const struct load_segment *segment = &elf->load_segments[i];
		uint64_t page_start = segment->file_offset & ~UINT64_C(4095);

		if (!(segment->flags & PF_X) || mapping->file_offset < page_start ||
		    mapping->file_offset >= segment->file_offset + segment->file_size)
			continue;
		vaddr = segment->vaddr - segment->file_offset + mapping->file_offset;
		*ret_bias = mapping->start - vaddr;
		return 0;
	}
	return -ENOEXEC;
}

static int add_module(struct target *target, const struct proc_mapping *mapping,
		      uint32_t *ret_number)
{
	struct target_module module = { .fd = open_module(target, mapping) };
	int r;

	if (module.fd < 0)
		return module.fd;
	r = elf_file_open(module.fd, &module.elf);
	if (r == 0)
		r = load_bias(module.elf, mapping, &module.bias);
	if (r == 0) {
		module.path = strdup(mapping->path);
		r = module.path ? vec_push(&target->modules, module) : -ENOMEM;
	}
	if (r < 0) {
		(void)elf_file_free(module.elf);
		(void)close(module.fd);
		free(module.path);
		return r;
	}
	*ret_number = (uint32_t)target->modules.count;
	return 0;
}

static int find_module(struct target *target, const struct proc_mapping *mapping,
		       uint32_t *ret_number)
{
	for (size_t i = 0; i < target->modules.count; i++) {
		if (mapping->path[0] && strcmp(target->modules.items[i].path, mapping->path) == 0) {
			*ret_number = (uint32_t)i + 1;
			return 0;
		}
	}
	return add_module(target, mapping, ret_number);
}

static int add_mapping(void *argument, const struct proc_mapping *mapping)
{
	struct target *target = argument;
	struct abi_mapping added = { .start = mapping->start,
				     .end = mapping->end,
				     .kind = FRAME_NATIVE };
	int r;

	if (!mapping->executable || strcmp(mapping->path, "[vsyscall]") == 0)
		return 0;
	r = find_module(target, mapping, &added.executable);
	if (r == 0)
		added.bias = target->modules.items[added.executable - 1].bias;
	else if (r == -ENOMEM)
		return r;
	return vec_push(&target->mappings, added);
}

int target_load_mappings(struct target *target)
{
	target->mappings.count = 0;
	return proc_maps_read((uint32_t)target->pid, add_mapping, target);
}

const struct abi_mapping *target_mapping(const struct target *target, uint64_t pc)
{
	for (size_t i = 0; i < target->mappings.count; i++)
		if (pc >= target->mappings.items[i].start && pc < target->mappings.items[i].end)
			return &target->mappings.items[i];
	return NULL;
}

int target_fill_maps(const struct target *target, struct host_maps *maps)
{
	for (size_t i = 0; i < target->modules.count; i++) {
		int r = host_maps_add_elf(maps, (uint32_t)i + 1, target->modules.items[i].elf);

		if (r < 0)
			return r;
	}
	return host_maps_set_mappings(maps, target->mappings.items, target->mappings.count);
}
