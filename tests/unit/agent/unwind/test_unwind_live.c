/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwinds this process with its own tables, and compares the stacks with libgcc's unwinder at the
 * same instruction. The processor runs code step by step (the trap flag), so that every instruction
 * is compared: prologues and epilogues, the procedure linkage table, the dynamic linker's lazy
 * binding, the vDSO. In the handler of each SIGTRAP, one walk starts from the interrupted
 * registers, and another one from the handler itself, through the signal frame.
 */
#include "agent/unwind/unwind_compile.h"

#include <elf.h>
#include <link.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unwind.h>

#include "common/file.h"
#include "tests/support/unit.h"

#if defined(__x86_64__)

#define MAX_MODULES 64
#define MAX_FRAMES  64

/*
 * Steps at which the walk may end too early: the dynamic linker's _dl_runtime_resolve computes its
 * CFA from rbx, and the tables of libraries whose functions it calls (libc's choice of the fastest
 * strlen) do not follow rbx.
 */
#define MAX_CUT_PCT 2

#define TRAP_FLAG 0x100

struct module {
	uint64_t start, end; /* of its executable segments, at run time */
	uint64_t bias;
	struct unwind_table table;
};

/* A signal handler cannot have an argument. */
static struct {
	struct module modules[MAX_MODULES];
	size_t n_modules;
	uint64_t n_steps;
	uint64_t n_different;
	uint64_t n_cut;
	uint64_t n_through_signal_frame;
	uint64_t n_plt, n_deref, n_in_vdso, n_register, n_rbx;
	uint64_t vdso_start, vdso_end;
	uint64_t first_different_pc;
	size_t first_lengths[2];
} live;

/* ---- modules --------------------------------------------------------------------------------- */

static int open_module(const struct dl_phdr_info *info)
{
	const uint8_t *vdso = (const uint8_t *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)vdso;
	int fd;

	if (!vdso || (const uint8_t *)info->dlpi_phdr != vdso + header->e_phoff)
		return open(info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe",
			    O_RDONLY | O_CLOEXEC);
	fd = memfd_create("vdso", MFD_CLOEXEC);
	assert_ok(write_all(fd, vdso,
			    header->e_shoff + (uint64_t)header->e_shnum * header->e_shentsize));
	live.vdso_start = (uint64_t)(uintptr_t)vdso;
	live.vdso_end = live.vdso_start + 0x10000;
	return fd;
}

static int add_module(struct dl_phdr_info *info, size_t size, void *argument)
{
	struct module module = { .start = UINT64_MAX, .bias = info->dlpi_addr };
	scoped(elf_file_freep) struct elf_file *elf = NULL;
	struct unwind_table_stats stats;
	scoped_fd int fd = open_module(info);

	(void)size;
	(void)argument;
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
			continue;
		module.start = MIN(module.start, start);
		module.end = MAX(module.end, start + segment->p_memsz);
	}
	assert_true(fd >= 0 && live.n_modules < MAX_MODULES);
	assert_ok(elf_file_open(fd, &elf));
	assert_ok(unwind_table_compile(elf, &(struct unwind_options){}, &module.table, &stats));
	live.modules[live.n_modules++] = module;
	return 0;
}

static const struct module *module_of(uint64_t pc)
{
	for (size_t i = 0; i < live.n_modules; i++)
		if (pc >= live.modules[i].start && pc < live.modules[i].end)
			return &live.modules[i];
	return NULL;
}

/* ---- walking --------------------------------------------------------------------------------- */

struct walk {
	uint64_t pcs[MAX_FRAMES];
	size_t count;
};

struct registers {
	uint64_t pc, sp, fp, rbx;
	bool has_rbx;
	const greg_t *all; /* of the interrupted frame, else NULL */
	bool is_return_address;
};

__attribute__((no_sanitize("address"))) static uint64_t word_at(uint64_t address)
{
	return *(volatile const uint64_t *)(uintptr_t)address;
}

static bool read_register(const struct registers *registers, uint32_t number, uint64_t *ret_value)
{
	static const int gregs[] = { REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
				     REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
				     REG_R12, REG_R13, REG_R14, REG_R15 };

	if (number == 3 && registers->has_rbx) {
		*ret_value = registers->rbx;
		live.n_rbx += !registers->all;
		return true;
	}
	if (!registers->all || number >= ARRAY_SIZE(gregs))
		return false;
	*ret_value = (uint64_t)registers->all[gregs[number]];
	live.n_register++;
	return true;
}

static bool cfa_of(const struct registers *registers, const struct abi_unwind_rule *rule,
		   uint64_t *ret_cfa)
{
	uint64_t offset = (uint64_t)(int64_t)rule->cfa_offset;
	uint64_t base;

	switch (rule->cfa) {
	case UNWIND_CFA_SP:
		*ret_cfa = registers->sp + offset;
		return true;
	case UNWIND_CFA_FP:
		*ret_cfa = registers->fp + offset;
		return true;
	case UNWIND_CFA_DEREF_SP:
		*ret_cfa = word_at(registers->sp + offset) + (uint64_t)(int64_t)rule->cfa_addend;
		live.n_deref++;
		return true;
	case UNWIND_CFA_DEREF_FP:
		*ret_cfa = word_at(registers->fp + offset) + (uint64_t)(int64_t)rule->cfa_addend;
		live.n_deref++;
		return true;
	case UNWIND_CFA_DEREF_INDEXED:
		if (!read_register(registers, rule->cfa_register, &base))
			return false;
		*ret_cfa = word_at(registers->sp + offset + 8 * base) + 8;
		live.n_deref++;
		return true;
	case UNWIND_CFA_PLT:
		*ret_cfa = registers->sp + 8 + ((registers->pc & 15) >= offset ? 8 : 0);
		live.n_plt++;
		return true;
	case UNWIND_CFA_REGISTER:
		if (!read_register(registers, rule->cfa_register, &base))
			return false;
		*ret_cfa = base + offset;
		return true;
	default:
		return false;
	}
}

static bool saved_value(const struct registers *registers, uint64_t cfa, uint8_t where,
			int32_t offset, uint64_t *ret_value)
{
	switch (where) {
	case UNWIND_SAVED_SAME:
		return true;
	case UNWIND_SAVED_CFA:
		*ret_value = word_at(cfa + (uint64_t)(int64_t)offset);
		return true;
	case UNWIND_SAVED_FP_DEREF:
		*ret_value = word_at(registers->fp + (uint64_t)(int64_t)offset);
		return true;
	case UNWIND_SAVED_REGISTER:
		return read_register(registers, (uint32_t)offset, ret_value);
	default:
		return false;
	}
}

/* The ucontext that the kernel stored at sp. */
static void return_from_signal(struct registers *registers)
{
	const ucontext_t *context = (const ucontext_t *)(uintptr_t)registers->sp;

	registers->all = context->uc_mcontext.gregs;
	registers->pc = (uint64_t)registers->all[REG_RIP];
	registers->sp = (uint64_t)registers->all[REG_RSP];
	registers->fp = (uint64_t)registers->all[REG_RBP];
	registers->rbx = (uint64_t)registers->all[REG_RBX];
	registers->has_rbx = true;
	registers->is_return_address = false;
}

/* False: it is the outermost frame, or its rule is not known. */
static bool step_out(struct registers *registers)
{
	const struct module *module = module_of(registers->pc);
	const struct abi_unwind_rule *rule;
	uint64_t cfa, pc = 0, fp = registers->fp, rbx = registers->rbx;

	if (!module)
		return false;
	rule = unwind_table_find(&module->table,
				 registers->pc - registers->is_return_address - module->bias);
	if (rule->cfa == UNWIND_CFA_SIGNAL) {
		return_from_signal(registers);
		return true;
	}
	if (!cfa_of(registers, rule, &cfa) ||
	    !saved_value(registers, cfa, rule->ra, rule->ra_offset, &pc))
		return false;
	if (!saved_value(registers, cfa, rule->fp, rule->fp_offset, &fp))
		fp = 0;
	if (rule->rbx_offset != 0 && rule->rbx_offset != UNWIND_RBX_LOST)
		rbx = word_at(cfa + (uint64_t)(int64_t)rule->rbx_offset);
	*registers = (struct registers){ .pc = pc,
					 .sp = cfa,
					 .fp = fp,
					 .rbx = rbx,
					 .has_rbx = registers->has_rbx &&
						    rule->rbx_offset != UNWIND_RBX_LOST,
					 .is_return_address = true };
	return true;
}

static void walk_by_tables(struct registers registers, struct walk *ret_walk)
{
	ret_walk->count = 0;
	do
		ret_walk->pcs[ret_walk->count++] = registers.pc;
	while (ret_walk->count < MAX_FRAMES && step_out(&registers));
}

static _Unwind_Reason_Code on_frame(struct _Unwind_Context *context, void *argument)
{
	struct walk *walk = argument;

	walk->pcs[walk->count++] = (uint64_t)_Unwind_GetIP(context);
	return walk->count < MAX_FRAMES ? _URC_NO_REASON : _URC_END_OF_STACK;
}

/* ---- stepping -------------------------------------------------------------------------------- */

/* The frames of @walk from the interrupted pc on. */
static bool part_from(const struct walk *walk, uint64_t pc, struct walk *ret_part)
{
	size_t i = 0;

	while (i < walk->count && walk->pcs[i] != pc)
		i++;
	ret_part->count = walk->count - i;
	memcpy(ret_part->pcs, walk->pcs + i, ret_part->count * sizeof(*walk->pcs));
	return ret_part->count > 0;
}

static bool is_equal(const struct walk *a, const struct walk *b)
{
	size_t count = a->count;

	/* libgcc's last frame has pc 0, or is _start. */
	if (b->count > 0 && b->pcs[b->count - 1] == 0 && count == b->count - 1)
		return memcmp(a->pcs, b->pcs, count * sizeof(*a->pcs)) == 0;
	return count == b->count && memcmp(a->pcs, b->pcs, count * sizeof(*a->pcs)) == 0;
}

/* All frames of @a are equal, and there are at least the interrupted function and its caller. */
static bool is_cut(const struct walk *a, const struct walk *b)
{
	return a->count >= 2 && a->count < b->count &&
	       memcmp(a->pcs, b->pcs, a->count * sizeof(*a->pcs)) == 0;
}

/* The frame address of the calling function, whose frame still exists. */
__attribute__((always_inline)) static inline struct registers registers_here(void)
{
	struct registers registers = {};

	__asm__ volatile("leaq 0(%%rip), %0\n\tmovq %%rsp, %1\n\tmovq %%rbp, %2"
			 : "=r"(registers.pc), "=r"(registers.sp), "=r"(registers.fp));
	return registers;
}

static void on_trap(int number, siginfo_t *info, void *argument)
{
	const ucontext_t *context = argument;
	const greg_t *gregs = context->uc_mcontext.gregs;
	struct registers interrupted = { .pc = (uint64_t)gregs[REG_RIP],
					 .sp = (uint64_t)gregs[REG_RSP],
					 .fp = (uint64_t)gregs[REG_RBP],
					 .rbx = (uint64_t)gregs[REG_RBX],
					 .has_rbx = true,
					 .all = gregs };
	struct walk by_libgcc = {}, expected = {}, ours = {}, through_signal = {}, part = {};

	(void)number;
	(void)info;
	(void)_Unwind_Backtrace(on_frame, &by_libgcc);
	walk_by_tables(interrupted, &ours);
	live.n_steps++;
	live.n_in_vdso += interrupted.pc >= live.vdso_start && interrupted.pc < live.vdso_end;
	(void)part_from(&by_libgcc, interrupted.pc, &expected);
	if (!is_equal(&ours, &expected)) {
		if (is_cut(&ours, &expected)) {
			live.n_cut++;
			return;
		}
		if (live.n_different++ == 0) {
			live.first_different_pc = interrupted.pc;
			live.first_lengths[0] = ours.count;
			live.first_lengths[1] = expected.count;
		}
		return;
	}
	/* The second walk starts here: this function, __restore_rt, the interrupted code. */
	walk_by_tables(registers_here(), &through_signal);
	if (part_from(&through_signal, interrupted.pc, &part) && is_equal(&part, &expected))
		live.n_through_signal_frame++;
}

static void start_steps(void)
{
	__asm__ volatile("pushfq; orq %0, (%%rsp); popfq" : : "i"(TRAP_FLAG) : "cc", "memory");
}

static void stop_steps(void)
{
	__asm__ volatile("pushfq; andq %0, (%%rsp); popfq" : : "i"(~TRAP_FLAG) : "cc", "memory");
}

static int compare_numbers(const void *left, const void *right)
{
	return *(const int *)left - *(const int *)right;
}

/*
 * The frame is aligned to more than 16 bytes, and its size is known only at run time: the CFA is in
 * memory.
 */
__attribute__((noinline)) static size_t realigned(int a, int b, int c, int d, int e, int f,
						  size_t size)
{
	_Alignas(64) char block[64];
	char *copy = __builtin_alloca(size);

	(void)snprintf(block, sizeof(block), "%d", a + b + c + d + e + f);
	memset(copy, block[0], size);
	__asm__ volatile("" : : "r"(copy) : "memory");
	return strnlen(copy, size);
}

/* Functions that were not called before, so that they are bound during the steps. */
__attribute__((noinline)) static int stepped(void)
{
	int numbers[] = { 5, 3, 9, 1 };
	struct timespec now;
	char text[64];

	start_steps();
	qsort(numbers, ARRAY_SIZE(numbers), sizeof(numbers[0]), compare_numbers);
	(void)snprintf(text, sizeof(text), "%d %s %.3f", numbers[0], "text", 1.5);
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	numbers[1] += (int)realigned(1, 2, 3, 4, 5, 6, strlen(text));
	numbers[2] += (int)strtol("12345", NULL, 10) + (int)labs(now.tv_nsec % 2) + ffs(numbers[1]);
	stop_steps();
	return numbers[0] + numbers[1] + numbers[2];
}

static void at_every_instruction_the_stack_agrees_with_libgcc(void **state)
{
	struct sigaction action = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
	struct walk first = {};
	int result;

	(void)state;
	(void)dl_iterate_phdr(add_module, NULL);
	/* The first use allocates memory. */
	(void)_Unwind_Backtrace(on_frame, &first);
	assert_int_equal(sigaction(SIGTRAP, &action, NULL), 0);
	result = stepped();
	action.sa_handler = SIG_DFL;
	assert_int_equal(sigaction(SIGTRAP, &action, NULL), 0);
	for (size_t i = 0; i < live.n_modules; i++)
		unwind_table_release(&live.modules[i].table);

	assert_true(result > 12345);
	assert_true(live.n_steps > 1000);
	if (live.n_different > 0)
		fail_msg("%lu of %lu differ, first at %lx: %zu frames, not %zu",
			 (unsigned long)live.n_different, (unsigned long)live.n_steps,
			 (unsigned long)live.first_different_pc, live.first_lengths[0],
			 live.first_lengths[1]);
	assert_int_equal(live.n_through_signal_frame, live.n_steps - live.n_cut);
	assert_true(live.n_cut * 100 <= live.n_steps * MAX_CUT_PCT);
#ifndef __clang__
	assert_true(live.n_deref > 0);
#endif
	if (!getenv("LD_BIND_NOW"))
		assert_true(live.n_rbx > 0);
	print_message("%lu steps, %lu in the PLT, %lu in the vDSO, %lu by a leaf's register, %lu "
		      "by memory, %lu cut\n",
		      (unsigned long)live.n_steps, (unsigned long)live.n_plt,
		      (unsigned long)live.n_in_vdso, (unsigned long)live.n_register,
		      (unsigned long)live.n_deref, (unsigned long)live.n_cut);
}

#else

static void at_every_instruction_the_stack_agrees_with_libgcc(void **state)
{
	(void)state;
	skip();
}

#endif

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(at_every_instruction_the_stack_agrees_with_libgcc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
