/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Has helpers read the functions of interpreters and JVMs to which samples refer
 * (agent/interpreter).
 */
#include <string.h>

#include "agent/agent_internal.h"
#include "bpf/abi/jvm.h"

static struct code_key code_key_of(const struct abi_sample *sample, uint64_t address)
{
	return (struct code_key){
		.start_time_ns = sample->start_time_ns,
		.address = address,
		.pid = sample->pid,
		.exec_count = sample->exec_count,
	};
}

static struct java_pc java_pc_of(const struct abi_sample *sample, const struct abi_frame *frame)
{
	return (struct java_pc){
		.code = code_key_of(sample, frame->address & ~(uint64_t)ABI_HOTSPOT_MARKS),
		.pc_offset = frame->executable,
	};
}

static int find_code(void *arg, const struct abi_sample *sample, uint64_t address,
		     uint32_t *ret_number)
{
	const struct agent *agent = arg;
	const struct code_key key = code_key_of(sample, address);
	int r = code_reader_get(agent->code_reader, &key, ret_number);

	/* A built-in function also has a native frame. */
	return r == CODE_IS_BUILTIN ? FRAME_IS_LEFT_OUT : r;
}

/* A method whose names are not known has neither object nor position. */
static struct window_frame java_frame(const struct agent *agent, const struct abi_sample *sample,
				      uint64_t address, uint32_t position)
{
	struct window_frame frame = { .kind = FRAME_HOTSPOT };
	const struct code_key key = code_key_of(sample, address);
	uint32_t number;

	if (code_reader_get(agent->code_reader, &key, &number) == 1) {
		frame.object = FRAME_CODE_OBJECT | number;
		frame.address = position;
	}
	return frame;
}

static size_t find_java(void *arg, const struct abi_sample *sample, const struct abi_frame *frame,
			struct window_frame *ret_frames, size_t max)
{
	const struct java_pc pc = java_pc_of(sample, frame);
	const struct agent *agent = arg;
	const struct hotspot_frame *methods;
	size_t count;

	if (!(frame->address & ABI_HOTSPOT_COMPILED)) {
		ret_frames[0] = java_frame(agent, sample, frame->address, frame->executable);
		return 1;
	}
	if (!agent->java_frames)
		return 0;
	count = MIN(java_frames_get(agent->java_frames, &pc, &methods), max);
	for (size_t i = 0; i < count; i++)
		ret_frames[i] =
			java_frame(agent, sample, methods[i].method, methods[i].byte_code_index);
	return count;
}

static int publish_jvm(void *arg, uint32_t pid, const struct abi_jvm *jvm)
{
	struct agent *agent = arg;

	return bpf_programs_put_jvm(agent->programs, pid, jvm);
}

static void jvm_mapped(void *arg, const struct process *process,
		       const struct process_mapping *mapping)
{
	struct agent *agent = arg;

	if (agent->jvms)
		(void)jvm_table_note(agent->jvms, process, mapping);
}

static void jvm_gone(void *arg, const struct process *process)
{
	struct agent *agent = arg;

	if (agent->jvms)
		jvm_table_forget(agent->jvms, process->pid, process->start_time_ns);
}

void agent_watch_jvms(struct agent *agent)
{
	agent->publisher.jvm_arg = agent;
	agent->publisher.jvm_mapped = jvm_mapped;
	agent->publisher.jvm_gone = jvm_gone;
}

int agent_start_code(struct agent *agent)
{
	const struct jvm_table_options options = {
		.pool = agent->helpers,
		.arg = agent,
		.publish = publish_jvm,
	};
	const struct frame_code_source source = {
		.arg = agent,
		.find = find_code,
		.find_java = find_java,
	};
	int r = code_reader_new(agent->helpers, frame_resolver_code_objects(agent->frames),
				&agent->code_reader);

	if (r == 0 && !agent->config->java_disabled)
		r = jvm_table_new(&options, &agent->jvms);
	if (r == 0 && !agent->config->java_disabled)
		r = java_frames_new(agent->helpers, &agent->java_frames);
	if (r < 0)
		return agent_log_not_made(r, "the reader of interpreters' functions");
	frame_resolver_set_code_source(agent->frames, &source);
	return 0;
}

void agent_free_code(struct agent *agent)
{
	java_frames_free(agent->java_frames);
	jvm_table_free(agent->jvms);
	code_reader_free(agent->code_reader);
}

/* Version of the runtime that the process has mapped; 0: none is known. */
static uint32_t version_of(const struct process *process, enum interpreter_runtime runtime)
{
	for (size_t i = 0; process->mappings && i < process->mappings->count; i++) {
		const struct executable *executable = process->mappings->items[i].executable;

		if (executable && executable->interpreter.runtime == runtime)
			return executable->interpreter.version;
	}
	return 0;
}

/* What is needed to read the code of one sample. */
struct wanted_code {
	struct agent *agent;
	const struct abi_sample *sample;
	struct code_source python, java, v8, php, ruby;
	uint64_t window;
};

/* 1: it is being read; 0: it was read, or cannot be read; or negative errno. */
static int want_code(const struct wanted_code *wanted, const struct code_source *source,
		     uint64_t address)
{
	const struct code_key key = code_key_of(wanted->sample, address);
	int r = code_reader_want(wanted->agent->code_reader, &key, source, wanted->window);

	return r < 0 ? r : r == 0;
}

static int want_compiled(const struct wanted_code *wanted, const struct abi_frame *frame)
{
	const struct java_pc pc = java_pc_of(wanted->sample, frame);
	struct java_frames *java_frames = wanted->agent->java_frames;
	const struct hotspot_frame *methods;
	int needs = 0;
	size_t count;
	int r = java_frames_want(java_frames, &pc, wanted->java.layout, wanted->window);

	if (r <= 0)
		return r < 0 ? r : 1;
	count = java_frames_get(java_frames, &pc, &methods);
	for (size_t i = 0; i < count; i++) {
		r = want_code(wanted, &wanted->java, methods[i].method);
		if (r < 0)
			return r;
		needs |= r;
	}
	return needs;
}

static int want_frame(const struct wanted_code *wanted, const struct abi_frame *frame)
{
	if (frame->kind == FRAME_PYTHON)
		return want_code(wanted, &wanted->python, frame->address);
	if (frame->kind == FRAME_V8)
		return want_code(wanted, &wanted->v8, frame->address);
	if (frame->kind == FRAME_PHP)
		return want_code(wanted, &wanted->php, frame->address);
	if ((frame->kind & ABI_FRAME_KIND) == FRAME_RUBY)
		return want_code(wanted, &wanted->ruby, frame->address);
	if (frame->kind != FRAME_HOTSPOT || !wanted->java.layout)
		return 0;
	return frame->address & ABI_HOTSPOT_COMPILED
		       ? want_compiled(wanted, frame)
		       : want_code(wanted, &wanted->java, frame->address);
}

int agent_needs_code(struct agent *agent, const struct abi_sample *sample,
		     const struct process *process)
{
	const struct abi_frame *frames = (const struct abi_frame *)(sample + 1);
	const size_t n_frames = (size_t)sample->n_kernel_frames + sample->n_user_frames;
	const struct wanted_code wanted = {
		.agent = agent,
		.sample = sample,
		.python = { .runtime = INTERPRETER_PYTHON,
			    .version = version_of(process, INTERPRETER_PYTHON) },
		.v8 = { .runtime = INTERPRETER_V8, .version = version_of(process, INTERPRETER_V8) },
		.php = { .runtime = INTERPRETER_PHP,
			 .version = version_of(process, INTERPRETER_PHP) },
		.ruby = { .runtime = INTERPRETER_RUBY,
			  .version = version_of(process, INTERPRETER_RUBY) },
		.java = { .runtime = INTERPRETER_HOTSPOT,
			  .layout = agent->jvms ? jvm_table_layout(agent->jvms, sample) : NULL },
		.window = collector_window(agent->collector),
	};
	int needs = 0;

	for (size_t i = 0; i < n_frames; i++) {
		int r = want_frame(&wanted, &frames[i]);

		if (r < 0)
			return r;
		needs |= r;
	}
	return needs;
}

void agent_serve_code(struct agent *agent, uint64_t now_ns)
{
	if (agent->jvms)
		jvm_table_flush(agent->jvms, now_ns);
	if (agent->java_frames)
		java_frames_flush(agent->java_frames);
	code_reader_flush(agent->code_reader, now_ns);
}

void agent_update_code_metrics(struct agent *agent)
{
	struct code_reader_stats stats;
	struct jvm_table_stats jvms = {};

	if (agent->jvms)
		jvm_table_stats(agent->jvms, &jvms);
	code_reader_stats(agent->code_reader, &stats);
	metric_set(agent->metrics, AGENT_METRIC_CODE_READ, stats.read);
	metric_set(agent->metrics, AGENT_METRIC_CODE_UNCHANGED, stats.unchanged);
	metric_set(agent->metrics, AGENT_METRIC_CODE_GONE, stats.gone);
	metric_set(agent->metrics, AGENT_METRIC_CODE_FAILED, stats.failed);
	metric_set(agent->metrics, AGENT_METRIC_CODE_HUNG, stats.hung);
	metric_set(agent->metrics, AGENT_METRIC_CODE_DROPPED, stats.dropped);
	metric_set(agent->metrics, AGENT_METRIC_JVMS_READ, jvms.read);
	metric_set(agent->metrics, AGENT_METRIC_JVMS_FAILED, jvms.failed);
	metric_set(agent->metrics, AGENT_METRIC_INTERPRETERS_LEFT_OUT,
		   agent->publisher.n_interpreters_left_out);
}
