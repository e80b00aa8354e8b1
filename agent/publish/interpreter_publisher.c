/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/publish/interpreter_publisher.h"

#include <string.h>

#include "agent/interpreter/lua/lua_layout.h"
#include "agent/interpreter/perl/perl_layout.h"
#include "agent/interpreter/php/php_layout.h"
#include "agent/interpreter/python/python_layout.h"
#include "agent/interpreter/ruby/ruby_layout.h"
#include "agent/interpreter/v8/v8_layout.h"
#include "common/log.h"

/* The registers of execute_ex(): ZEND_VM_FP_GLOBAL_REG and ZEND_VM_IP_GLOBAL_REG of PHP. */
#if defined(__x86_64__)
#define PHP_FRAME_REGISTER  14
#define PHP_OPLINE_REGISTER 15
#else
#define PHP_FRAME_REGISTER  27
#define PHP_OPLINE_REGISTER 28
#endif

/* All false: the structures of the version are not known. */
static bool python_entry(const struct interpreter_facts *facts, struct abi_interpreter *ret_entry)
{
	const struct python_layout *python = python_layout_of(facts->version);

	if (!python)
		return false;
	memcpy(ret_entry->unlinked, facts->unlinked, sizeof(ret_entry->unlinked));
	ret_entry->python = python->walk;
	return true;
}

static bool v8_entry(const struct interpreter_facts *facts, struct abi_interpreter *ret_entry)
{
	const struct v8_layout *v8 = v8_layout_of(facts->version);

	if (v8)
		ret_entry->v8 = v8_walk_of(v8, facts);
	return v8;
}

static bool php_entry(const struct interpreter_facts *facts, struct abi_interpreter *ret_entry)
{
	const struct php_layout *php = php_layout_of(facts->version);

	if (!php)
		return false;
	ret_entry->php = php->walk;
	if (facts->has_loop_registers) {
		ret_entry->php.frame_register = PHP_FRAME_REGISTER;
		ret_entry->php.opline_register = PHP_OPLINE_REGISTER;
	}
	return true;
}

static bool ruby_entry(const struct interpreter_facts *facts, struct abi_interpreter *ret_entry)
{
	const struct ruby_layout *ruby = ruby_layout_of(facts->version);

	if (!ruby)
		return false;
	ret_entry->ruby = ruby->walk;
	ret_entry->ruby.vm_addr = facts->vm_addr;
	ret_entry->ruby.tls_offset = facts->tls_offset;
	return true;
}

static bool perl_entry(const struct interpreter_facts *facts, struct abi_interpreter *ret_entry)
{
	const struct perl_layout *perl = perl_layout_of(facts->version);

	if (!perl)
		return false;
	ret_entry->perl = perl->walk;
	ret_entry->perl.main_run = facts->perl.main_run;
	ret_entry->perl.again_run = facts->perl.again_run;
	ret_entry->perl.threads_key = facts->perl.threads_key;
	if (facts->version & PERL_VERSION_NO_THREADS) {
		ret_entry->perl.statement = facts->perl.statement;
		ret_entry->perl.stack = facts->perl.stack;
		ret_entry->perl.instruction = facts->perl.instruction;
	}
	return true;
}

static bool lua_entry(const struct interpreter_facts *facts, struct abi_interpreter *ret_entry)
{
	const struct lua_layout *lua = lua_layout_of(facts->version);

	if (lua)
		ret_entry->lua = lua->walk;
	return lua;
}

static const struct {
	const char *name;
	bool (*fill)(const struct interpreter_facts *facts, struct abi_interpreter *ret_entry);
	uint32_t unusual; /* bit of interpreter_facts.version */
	const char *unusual_name;
} runtimes[] = {
	[INTERPRETER_PYTHON] = { "CPython", python_entry },
	[INTERPRETER_V8] = { "V8", v8_entry },
	[INTERPRETER_PHP] = { "PHP", php_entry, PHP_VERSION_ZTS, " with thread safety (ZTS)" },
	[INTERPRETER_RUBY] = { "Ruby", ruby_entry },
	[INTERPRETER_PERL] = { "Perl", perl_entry, PERL_VERSION_NO_THREADS, " without threads" },
	[INTERPRETER_LUA] = { "Lua", lua_entry },
};

static void log_unknown(struct interpreter_publisher *publisher,
			const struct interpreter_facts *facts)
{
	const uint32_t bit = 1u << facts->runtime;

	if (publisher->logged & bit)
		return;
	publisher->logged |= bit;
	log_info("%s %u.%u%s: stacks have the functions of the interpreter, but not those of "
		 "scripts, because the structures of this build are not known",
		 runtimes[facts->runtime].name, facts->version >> 8 & 0xff, facts->version & 0xff,
		 facts->version & runtimes[facts->runtime].unusual
			 ? runtimes[facts->runtime].unusual_name
			 : "");
}

static void add(struct interpreter_publisher *publisher, struct executable *executable)
{
	const struct interpreter_facts *facts = &executable->interpreter;
	struct abi_interpreter entry = { .runtime = facts->runtime,
					 .runtime_addr = facts->runtime_addr };

	if (facts->runtime >= ARRAY_SIZE(runtimes) || !runtimes[facts->runtime].fill ||
	    publisher->unwanted & 1u << facts->runtime)
		return;
	memcpy(entry.loop, facts->loop, sizeof(entry.loop));
	if (!runtimes[facts->runtime].fill(facts, &entry)) {
		log_unknown(publisher, facts);
		return;
	}
	if (publisher->last_index + 1 >= ABI_MAX_INTERPRETERS) {
		publisher->n_left_out++;
		return;
	}
	if (bpf_programs_put_interpreter(publisher->programs, publisher->last_index + 1U, &entry) ==
	    0)
		executable->interpreter_index = ++publisher->last_index;
}

void interpreter_publisher_add(struct interpreter_publisher *publisher,
			       const struct process_mappings *mappings)
{
	for (size_t i = 0; i < mappings->count; i++) {
		struct executable *executable = mappings->items[i].executable;

		if (executable && executable->interpreter.runtime != INTERPRETER_NONE &&
		    executable->interpreter_index == 0)
			add(publisher, executable);
	}
}
