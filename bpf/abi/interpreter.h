/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) OR Apache-2.0 */
#pragma once

/*
 * Interpreters that the unwinder knows. The map `interpreters` has an entry for each executable
 * with an interpreter in use; abi_mapping.interpreter is its index. An entry never changes.
 *
 * When unwinding reaches the interpreter's loop, the function that executes byte code, the unwinder
 * finds the state of the thread in the memory of the process, and adds the frames of the functions
 * that this call of the loop executes. It reads the structures of the runtime by the offsets in the
 * entry, which depend on the version of the runtime (agent/interpreter).
 *
 * A frame of byte code is {address of the code object in the process, position in it, kind}. The
 * agent replaces the address by the number of the code object's content.
 */

#include "bpf/abi/limits.h"

/* Index 0 is not used: a mapping without an interpreter. */
#define ABI_MAX_INTERPRETERS 256

enum interpreter_runtime {
	INTERPRETER_NONE = 0,
	INTERPRETER_PYTHON = 1, /* CPython */
	INTERPRETER_HOTSPOT =
		2,            /* a JVM: libjvm.so (bpf/abi/jvm.h); not in the map `interpreters` */
	INTERPRETER_V8 = 3,   /* JavaScript: Node.js */
	INTERPRETER_RUBY = 4, /* CRuby */
	INTERPRETER_PHP = 5,
	INTERPRETER_PERL = 6, /* Perl 5 */
	INTERPRETER_LUA = 7,  /* PUC-Rio Lua, not LuaJIT */
};

/* The loop may have a second part: code that the compiler moved away because it rarely runs. */
#define ABI_LOOP_PARTS 2

struct abi_code_range {
	__u64 start, end; /* ELF addresses */
};

/* A range within 2 GiB of the beginning of the loop. */
struct abi_code_piece {
	__s32 start; /* from there, in bytes */
	__u32 bytes; /* 0: unused */
};

#define ABI_UNLINKED_PIECES 16

/*
 * Where a thread's frames are, in CPython 3.11:
 *
 *   _PyRuntime -> interpreters -> threads -> cframe -> frame -> previous frame -> ...
 *                                              |
 *                                              +-> previous cframe -> frame -> ...
 *
 * Each call of the loop has a cframe, a local variable in its stack frame. It points to the
 * innermost function of this call. A function that is called from Python runs in the same call of
 * the loop. The outermost function of the call is marked as entry.
 *
 * 3.12 marks the outermost function of a call by a frame without a function, the shim, which is
 * another local variable of the loop. 3.13 has no cframes: thread -> frame -> ... -> shim -> frames
 * of the call before.
 *
 * In 3.8 to 3.10 each function has its own call of the loop: thread -> frame -> previous frame ->
 * ... The thread has no number but pthread_self(). At its beginning and at its end a call of the
 * loop executes some instructions while its frame is not in that list.
 *
 * Offsets are in bytes. Those of a frame must be multiples of 8, except frame_entry.
 */
struct abi_python_layout {
	/* the thread that holds the lock of the interpreter; 0: not there (3.12 and later) */
	__u16 runtime_current_thread;
	__u16 runtime_interpreters;
	__u16 interpreter_next;
	__u16 interpreter_threads;
	__u16 thread_next;
	/* gettid() of the thread, in its PID namespace; before 3.11 pthread_self() */
	__u16 thread_native_id;
	__u16 thread_cframe; /* without cframes: the innermost frame */
	__u16 has_cframes;
	__u16 cframe_frame;
	__u16 cframe_previous;
	__u16 frame_code; /* the lowest bits of the pointer there may be flags (3.14) */
	__u16 frame_previous;
	/* the instruction that the frame executes; before 3.11 its index, or -1 */
	__u16 frame_instruction;
	/* a byte; from frame_entry_value on, the frame is the outermost one of its call */
	__u16 frame_entry;
	__u16 frame_entry_value;
	__u16 frame_entry_is_shim; /* that frame has no function (3.12 and later) */
	__u16 frame_bytes;         /* at most ABI_PYTHON_FRAME_BYTES; contains all of the above */
	__u16 code_bytecode;       /* the first instruction */
	__u16 index_bytes;         /* before 3.11: bytes for each unit of the index; else 0 */
	__u16 zero;
};

#define ABI_PYTHON_FRAME_BYTES 112

/*
 * V8 has a frame with a frame pointer for each JavaScript function, interpreted or compiled:
 *
 *   fp + 8, fp    return address, frame pointer of the caller
 *   fp - 8        the context, a heap object; in frames of other code a number, the type of frame
 *   fp - 16       the JSFunction, which points to its SharedFunctionInfo
 *
 * Pointers to heap objects have 1 in their two lowest bits. A frame of the kind V8 is {address of
 * the SharedFunctionInfo, 0}, or {address of the Code with the mark ABI_V8_OPTIMIZED, offset of the
 * pc in it}: an optimizing compiler may have inlined functions there. abi_process.flags has the
 * index of the process's V8.
 *
 * The Code of a function is what its next call will execute. The pc of a frame may lie in other
 * code: after V8 has compiled the function again, and in code that was entered in a loop.
 *
 * Offsets are in bytes. Those of a function are from ABI_V8_FUNCTION_START on, those of a Code from
 * ABI_V8_CODE_START on, so that each is read at once.
 */
struct abi_v8_layout {
	__u16 function_shared;
	__u16 function_code;  /* 0: it is not known; the others of this group mean nothing */
	__u8 code_start;      /* pointer to the instructions; 0: they are code_header bytes away */
	__u8 code_flags;      /* 4 bytes; the lowest ABI_V8_KIND_BITS are the kind of code */
	__u8 code_bytes;      /* 4 bytes */
	__u8 first_optimized; /* the lowest kind of optimized code */
	__u8 code_header;
	__u8 zero[3];
	/*
	 * Not 0: the word at function_code has in its lower half the index of an entry of a table,
	 * times 256. The address of the table is at this offset in the structure whose address is
	 * at abi_interpreter.runtime_addr. The second word of an entry of 16 bytes has in its upper
	 * 48 bits the pointer to the Code, without its tag.
	 */
	__u32 dispatch_table;
	/*
	 * ELF addresses, 0 and 0 if not known: the built-in functions, and the one of them that
	 * calls the handlers of byte code
	 */
	struct abi_code_range builtins, entry;
};

/*
 * PHP has a list of frames (zend_execute_data): executor_globals -> current frame -> previous frame
 * -> ... A function that is called from a script runs in the same call of the loop, execute_ex(). A
 * call from C, such as a callback or a generator, starts a new one; its outermost frame is marked.
 * Internal functions have frames too. The frames are added as those of Ruby.
 *
 * A frame points to its function, and to the instruction ("opline") that it has stored last. While
 * the loop runs, two registers have the frame and the executed instruction, if gcc compiled it.
 *
 * A frame of the kind PHP is {address of the function, line}; the line is 0 if it is not known.
 */
struct abi_php_layout {
	__u16 globals_current;
	/* of a function: its instructions, and their number (4 bytes) */
	__u16 function_oplines;
	__u16 function_n_oplines;
	__u16 function_bytes; /* at most ABI_PHP_FUNCTION_BYTES; contains all of the above */
	/* DWARF numbers; 0: the loop has no such registers */
	__u16 frame_register;
	__u16 opline_register;
	__u16 zero[2];
};

#define ABI_PHP_FUNCTION_BYTES 112

/*
 * CRuby has a list of control frames for each fiber, in an array that grows down:
 *
 *   thread -> execution context (ec) -> cfp .. end of the stack: {pc, sp, iseq, self, ep, ...}
 *                                                                        |         |
 *                                          body -> first instruction <---+         +-> flags
 *
 * Each call of the loop executes frames up to one with the flag FINISH. Functions in C have frames
 * too, which are left out, because they have native frames. A frame of the kind RUBY is {address of
 * the body, word of the instruction}. The body, unlike the iseq, is never moved.
 *
 * The unwinder adds the frames of Ruby after all native frames, and marks where the calls of the
 * loop are and end (abi_frame_marks). The agent puts the frames in order
 * (agent/sample/frame_order.h): a call of the loop that has not begun yet already has a frame, and
 * one that is about to return has none, which is known only when all frames are.
 *
 * From 3.0 on the ec of a thread is in a variable of the thread (TLS). At runtime_addr are the
 * number of the file's block of such variables, and an offset in it; runtime_addr 0: the block
 * begins at pthread_self(). Before, a global variable at runtime_addr has the ec of the thread that
 * holds the lock, and there is a list of threads.
 *
 * Offsets are in bytes.
 */
struct abi_ruby_layout {
	__u64 vm_addr;    /* ELF address of the pointer to the list of threads; 0: there is a TLS */
	__u64 tls_offset; /* of the ec, in the block, in addition */
	__u16 vm_threads;
	__u16 thread_id; /* pthread_self() */
	__u16 thread_ec;
	__u16 ec_thread;
	__u16 frame_bytes;
	__u16 zero[3];
};

/*
 * Perl has a list of stacks, and each of them has an array of contexts:
 *
 *   interpreter -> PL_curstackinfo -> contexts .. previous stack -> contexts .. main stack
 *               -> PL_curcop: the statement that is executed
 *
 * Contexts of subs, formats, string evals and required files have frames; those of loops, blocks
 * and eval blocks have none. A context has the statement from which it was entered. The main
 * program is below all contexts.
 *
 * A sub that Perl code calls runs in the same call of the loop, Perl_runops_standard(). A call from
 * C, such as that of a comparison of sort or a method of a tied variable, starts a new one: its
 * context has no instruction at which Perl would continue. The frames are added as those of Ruby.
 *
 * The first eval that runs in a call from C calls the loop once more, which executes the rest of
 * that call: both are one call. The main program has a call of the loop only if perl_run() calls
 * it, not in a thread, nor while Perl compiles.
 *
 * A frame of the kind PERL is {address of the CV, line}, or {another address with a mark, line};
 * the line is 0 if it is not known.
 */
struct abi_perl_layout {
	/*
	 * PL_curcop, PL_curstackinfo, PL_op: offsets in the interpreter; of a build without
	 * threads, whose threads_key is 0, ELF addresses
	 */
	__u64 statement, stack, instruction;
	__u64 threads_key;               /* ELF address of the key of pthread_getspecific() */
	struct abi_code_piece main_run;  /* code that calls the loop for the main program */
	struct abi_code_piece again_run; /* code that calls it for an eval */
	/* offset in a stack: its kind */
	__u16 stack_kind;
	__u16 context_bytes;
	__u16 context_cv;
	__u16 eval_string; /* number of the instruction */
};

/* With MAIN and BLOCK the address is that of the name of the file, or of its glob (no threads). */
enum abi_perl_marks {
	ABI_PERL_MAIN = 1,    /* the main program, or code of a file outside subs */
	ABI_PERL_EVAL = 2,    /* code of a string eval; no address */
	ABI_PERL_BLOCK = 3,   /* a block that C calls: that of sort, or in a regular expression */
	ABI_PERL_CLOSURE = 4, /* a copy of a sub; the address is that of its first statement */
	ABI_PERL_MARKS = 7,
};

/*
 * Lua has a list of calls (CallInfo) for each coroutine, Lua functions and C functions, the
 * innermost one first:
 *
 *   lua_State -> CallInfo -> previous CallInfo -> ... -> base_ci, of no function
 *                  |
 *                  +-> function, a value -> LClosure -> Proto -> first instruction
 *
 * 5.1 has them in an array, from base_ci on.
 *
 * A Lua function that a Lua function calls runs in the same call of the loop, luaV_execute(). A
 * call from C, and that of a metamethod, starts a new one. 5.3 and later mark its outermost
 * function; before, it is the one whose caller is a C function, or does not execute an instruction
 * of a call.
 *
 * No variable has the lua_State of a thread. The functions that call the loop have it in a register
 * that the loop preserves, so that it is among the words that the loop saves at the beginning of
 * its stack frame. The frames are added as those of Ruby.
 *
 * A frame of the kind LUA is {address of the Proto, index of the instruction}.
 *
 * Offsets are in bytes. Those of a CallInfo are multiples of 8, except call_status.
 */
struct abi_lua_layout {
	__u16 state_call;
	__u16 state_stack; /* the end of the stack is the word before */
	__u16 state_error_jump;
	/* 5.1: the instruction of the innermost function, and base_ci; else 0 */
	__u16 state_instruction, state_first_call;
	__u16 call_bytes;
	__u16 call_function, call_previous, call_instruction;
	__u16 call_status, status_fresh; /* two bytes, and the bit in them; 0 and 0: before 5.3 */
	/* before 5.3: the number of the instruction of calls; that of tail calls is the next one */
	__u16 opcode_call;
	__u16 closure_is_c; /* 5.1: a byte; else 0 */
	__u16 closure_code; /* pointer to the Proto */
	__u16 code_instructions;
	__u16 code_count; /* 4 bytes */
};

struct abi_interpreter {
	__u32 runtime; /* enum interpreter_runtime */
	__u32 zero;
	/*
	 * ELF address of the runtime's state: _PyRuntime; V8: see dispatch_table, address; Perl:
	 * the variable with the interpreter that was made first
	 */
	__u64 runtime_addr;
	struct abi_code_range loop[ABI_LOOP_PARTS]; /* the first one begins with the function */
	union {
		struct abi_python_layout python;
		struct abi_v8_layout v8;
		struct abi_php_layout php;
		struct abi_ruby_layout ruby;
		struct abi_perl_layout perl;
		struct abi_lua_layout lua;
	};
	/* before 3.11: code of the loop that runs while its frame is not in the list */
	struct abi_code_piece unlinked[ABI_UNLINKED_PIECES];
};

#define ABI_V8_OPTIMIZED 4

#define ABI_V8_FUNCTION_START 24
#define ABI_V8_FUNCTION_WORDS 4
#define ABI_V8_CODE_START     40
#define ABI_V8_CODE_WORDS     3
#define ABI_V8_KIND_BITS      4

/* V8 reserves at most 512 MiB for all code. */
#define ABI_V8_MAX_CODE_BYTES (1U << 29)

_Static_assert(sizeof(struct abi_interpreter) == 232, "part of the BPF/userspace ABI");
