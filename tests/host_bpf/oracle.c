/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/host_bpf/oracle.h"

#include <elf.h>
#include <elfutils/libdwfl.h>
#include <string.h>

/*
 * libdw gets the modules of the process and callbacks for registers and memory. It finds the call
 * frame information itself, and follows every register.
 */

struct oracle {
	const struct target *target;
	Dwfl *dwfl;
	oracle_on_read on_read;
	void *on_read_argument;
	struct oracle_frame_vec *frames;
	bool with_names;
	int error;
};

static pid_t next_thread(Dwfl *dwfl, void *argument, void **ret_thread_argument)
{
	struct oracle *oracle = argument;

	(void)dwfl;
	if (*ret_thread_argument)
		return 0;
	*ret_thread_argument = oracle;
	return oracle->target->pid;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *argument, void **ret_thread_argument)
{
	(void)dwfl;
	(void)tid;
	*ret_thread_argument = argument;
	return true;
}

static bool read_word(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *ret_word, void *argument)
{
	struct oracle *oracle = argument;

	(void)dwfl;
	if (oracle->on_read)
		oracle->on_read(oracle->on_read_argument, address);
	return target_read((void *)oracle->target, address, ret_word, sizeof(*ret_word)) == 0;
}

static bool set_registers(Dwfl_Thread *thread, void *argument)
{
	struct oracle *oracle = argument;
	struct host_unwind_registers registers;

	if (target_registers(oracle->target, &registers) < 0)
		return false;
#if defined(__x86_64__)
	/* The return address column holds the pc. */
	return dwfl_thread_state_registers(thread, 0, 16, registers.general) &&
	       dwfl_thread_state_registers(thread, 16, 1, &registers.pc);
#else
	dwfl_thread_state_register_pc(thread, registers.pc);
	return dwfl_thread_state_registers(thread, 0, 32, registers.general);
#endif
}

/*
 * Does not search for debug files: the call frame information in memory must be sufficient, as it
 * must be for us.
 */
static int find_no_debuginfo(Dwfl_Module *module, void **argument, const char *name,
			     Dwarf_Addr base, const char *file_name, const char *link,
			     GElf_Word crc, char **ret_file_name)
{
	(void)module;
	(void)argument;
	(void)name;
	(void)base;
	(void)file_name;
	(void)link;
	(void)crc;
	(void)ret_file_name;
	return -1;
}

int oracle_new(const struct target *target, struct oracle **ret_oracle)
{
	static const Dwfl_Callbacks callbacks = { .find_elf = dwfl_linux_proc_find_elf,
						  .find_debuginfo = find_no_debuginfo };
	static const Dwfl_Thread_Callbacks thread_callbacks = { .next_thread = next_thread,
								.get_thread = get_thread,
								.memory_read = read_word,
								.set_initial_registers =
									set_registers };
	scoped(oracle_freep) struct oracle *oracle = calloc(1, sizeof(*oracle));

	if (!oracle)
		return -ENOMEM;
	oracle->target = target;
	oracle->dwfl = dwfl_begin(&callbacks);
	if (!oracle->dwfl || dwfl_linux_proc_report(oracle->dwfl, target->pid) != 0 ||
	    dwfl_report_end(oracle->dwfl, NULL, NULL) != 0 ||
	    !dwfl_attach_state(oracle->dwfl, NULL, target->pid, &thread_callbacks, oracle)) {
		fprintf(stderr, "libdw: %s\n", dwfl_errmsg(-1));
		return -EIO;
	}
	*ret_oracle = take_ptr(oracle);
	return 0;
}

struct oracle *oracle_free(struct oracle *oracle)
{
	if (oracle && oracle->dwfl)
		dwfl_end(oracle->dwfl);
	free(oracle);
	return NULL;
}

void oracle_watch_reads(struct oracle *oracle, oracle_on_read on_read, void *argument)
{
	oracle->on_read = on_read;
	oracle->on_read_argument = argument;
}

/*
 * libdw looks up the pc of a signal trampoline unchanged, as it does for the frame that the signal
 * interrupted. But the handler's return address is an ordinary return address: the byte before it
 * must be looked up, which the trampoline's FDE covers.
 */
static bool is_signal_trampoline(Dwfl_Module *module, Dwarf_Addr pc)
{
	Dwarf_Addr bias, start, end;
	Dwarf_CFI *cfi = module ? dwfl_module_eh_cfi(module, &bias) : NULL;
	Dwarf_Frame *frame = NULL;
	bool is_signal = false;

	if (!cfi || dwarf_cfi_addrframe(cfi, pc - bias, &frame) != 0)
		return false;
	(void)dwarf_frame_info(frame, &start, &end, &is_signal);
	free(frame);
	return is_signal;
}

static void copy_name(Dwfl_Module *module, uint64_t address, struct oracle_frame *frame)
{
	const char *name = dwfl_module_addrname(module, address);

	if (name)
		(void)snprintf(frame->function, sizeof(frame->function), "%s", name);
}

static int on_frame(Dwfl_Frame *state, void *argument)
{
	struct oracle *oracle = argument;
	struct oracle_frame frame = {};
	bool is_exact = false;
	Dwfl_Module *module;
	Dwarf_Addr bias, pc;

	if (!dwfl_frame_pc(state, &pc, &is_exact) || pc == 0)
		return DWARF_CB_ABORT;
	module = dwfl_addrmodule(oracle->dwfl, pc - (is_exact ? 0 : 1));
	if (oracle->frames->count > 0 && is_signal_trampoline(module, pc))
		is_exact = false;
	frame.address = pc - (is_exact ? 0 : 1);
	frame.elf_addr = frame.address;
	if (module && dwfl_module_getelf(module, &bias)) {
		frame.in_module = true;
		frame.elf_addr -= bias;
		if (oracle->with_names)
			copy_name(module, frame.address, &frame);
	}
	oracle->error = vec_push(oracle->frames, frame);
	return oracle->error < 0 ? DWARF_CB_ABORT : DWARF_CB_OK;
}

int oracle_frames(struct oracle *oracle, bool with_names, struct oracle_frame_vec *frames)
{
	oracle->frames = frames;
	oracle->with_names = with_names;
	oracle->error = 0;
	frames->count = 0;
	/* If libdw cannot continue it reports an error; the frames until then count. */
	(void)dwfl_getthread_frames(oracle->dwfl, oracle->target->pid, on_frame, oracle);
	return oracle->error;
}
