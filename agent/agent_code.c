/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Has helpers read the functions of interpreters and JVMs to which samples refer
 * (agent/interpreter).
 */
#include <string.h>

#include "agent/agent_internal.h"
#include "agent/sample/frame_runtime.h"
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

static bool is_compiled(const struct abi_frame *frame)
{
	if (frame->kind == FRAME_V8)
		return frame->address & ABI_V8_OPTIMIZED;
	return frame->kind == FRAME_HOTSPOT && frame->address & ABI_HOTSPOT_COMPILED;
}

static struct compiled_pc compiled_pc_of(const struct abi_sample *sample,
					 const struct abi_frame *frame)
{
	const uint64_t marks = frame->kind == FRAME_V8 ? ABI_V8_OPTIMIZED : ABI_HOTSPOT_MARKS;

	return (struct compiled_pc){
		.code = code_key_of(sample, frame->address & ~marks),
		.pc_offset = frame->executable,
	};
}

/*
 * A function whose names are not known has neither object nor position. Returns the number of
 * frames: 0 for a built-in function of V8, which also has a native frame.
 */
static size_t put_function(const struct agent *agent, const struct abi_sample *sample,
			   const struct compiled_frame *function, struct window_frame *ret_frame)
{
	const struct code_key key = code_key_of(sample, function->function);
	uint32_t number;
	int r = code_reader_get(agent->code_reader, &key, &number);

	if (r == 1) {
		ret_frame->object = FRAME_CODE_OBJECT | number;
		ret_frame->address = function->position;
	}
	return r == CODE_IS_BUILTIN ? 0 : 1;
}

static size_t find_functions(void *arg, const struct abi_sample *sample,
			     const struct abi_frame *frame, struct window_frame *ret_frames,
			     size_t max)
{
	const struct compiled_pc pc = compiled_pc_of(sample, frame);
	const struct compiled_frame single = { .function = frame->address,
					       .position = frame->executable };
	const struct compiled_frame *functions = &single;
	const struct agent *agent = arg;
	size_t count = 1, n_frames = 0;

	if (is_compiled(frame))
		count = compiled_frames_get(agent->compiled_frames, &pc, &functions);
	if (count == 0) {
		ret_frames[0] = (struct window_frame){ .kind = (uint8_t)frame->kind };
		return 1;
	}
	for (size_t i = 0; i < count && n_frames < max; i++) {
		ret_frames[n_frames] = (struct window_frame){ .kind = (uint8_t)frame->kind };
		n_frames += put_function(agent, sample, &functions[i], &ret_frames[n_frames]);
	}
	return n_frames;
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
		.find = find_functions,
	};
	int r = code_reader_new(agent->helpers, frame_resolver_code_objects(agent->frames),
				&agent->code_reader);

	if (r == 0 && !agent->config->java_disabled)
		r = jvm_table_new(&options, &agent->jvms);
	if (r == 0)
		r = compiled_frames_new(agent->helpers, &agent->compiled_frames);
	if (r < 0)
		return agent_log_not_made(r, "the reader of interpreters' functions");
	frame_resolver_set_code_source(agent->frames, &source);
	return 0;
}

void agent_free_code(struct agent *agent)
{
	compiled_frames_free(agent->compiled_frames);
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
	const struct process *process;
	struct code_source source; /* of the frames of the last runtime that was found */
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

static int want_compiled(const struct wanted_code *wanted, const struct code_source *source,
			 const struct abi_frame *frame)
{
	const struct compiled_pc pc = compiled_pc_of(wanted->sample, frame);
	struct compiled_frames *compiled = wanted->agent->compiled_frames;
	const struct compiled_frame *functions;
	int needs = 0;
	size_t count;
	int r = compiled_frames_want(compiled, &pc, source, wanted->window);

	if (r <= 0)
		return r < 0 ? r : 1;
	count = compiled_frames_get(compiled, &pc, &functions);
	for (size_t i = 0; i < count; i++) {
		r = want_code(wanted, source, functions[i].function);
		if (r < 0)
			return r;
		needs |= r;
	}
	return needs;
}

/*
 * Sets wanted->source. A stack mostly has functions of one runtime: the mappings of the process are
 * searched once for it.
 */
static void find_source(struct wanted_code *wanted, enum interpreter_runtime runtime)
{
	if (wanted->source.runtime == runtime)
		return;
	wanted->source = (struct code_source){ .runtime = runtime };
	if (runtime != INTERPRETER_HOTSPOT)
		wanted->source.version = version_of(wanted->process, runtime);
	else if (wanted->agent->jvms)
		wanted->source.layout = jvm_table_layout(wanted->agent->jvms, wanted->sample);
}

/* Notes which function of Lua calls that of @frame: it has the name. @n_frames: from @frame on. */
static void note_caller(struct code_source *source, const struct abi_frame *frame, size_t n_frames)
{
	const struct abi_frame *caller = frame + 1;

	source->caller = 0;
	source->caller_position = 0;
	if (frame->kind != FRAME_LUA || n_frames < 2 ||
	    (caller->kind & ABI_FRAME_KIND) != FRAME_LUA)
		return;
	source->caller = caller->address;
	source->caller_position = caller->executable;
}

/* @n_frames: from @frame on. */
static int want_frame(struct wanted_code *wanted, const struct abi_frame *frame, size_t n_frames)
{
	const enum interpreter_runtime runtime = frame_runtime(frame);

	if (runtime == INTERPRETER_NONE)
		return 0;
	find_source(wanted, runtime);
	note_caller(&wanted->source, frame, n_frames);
	if (runtime == INTERPRETER_HOTSPOT && !wanted->source.layout)
		return 0;
	return is_compiled(frame) ? want_compiled(wanted, &wanted->source, frame)
				  : want_code(wanted, &wanted->source, frame->address);
}

int agent_needs_code(struct agent *agent, const struct abi_sample *sample,
		     const struct process *process)
{
	const struct abi_frame *frames = (const struct abi_frame *)(sample + 1);
	const size_t n_frames = (size_t)sample->n_kernel_frames + sample->n_user_frames;
	struct wanted_code wanted = {
		.agent = agent,
		.sample = sample,
		.process = process,
		.window = collector_window(agent->collector),
	};
	int needs = 0;

	for (size_t i = 0; i < n_frames; i++) {
		int r = want_frame(&wanted, &frames[i], n_frames - i);

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
	compiled_frames_flush(agent->compiled_frames);
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
		   agent->publisher.interpreters.n_left_out);
}
