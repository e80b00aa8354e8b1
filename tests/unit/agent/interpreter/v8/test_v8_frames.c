/* SPDX-License-Identifier: Apache-2.0 */
/* Optimized code of a running Node.js (optimized.js), and invented code. */
#include "agent/interpreter/v8/v8_frames.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "agent/interpreter/v8/v8_code.h"
#include "tests/unit/agent/interpreter/v8/node_file.h"
#include "tests/unit/agent/interpreter/v8/v8_image.h"

/* ---- source position tables ---------------------------------------------------------------- */

struct table {
	uint8_t bytes[4096];
	size_t size;
	int64_t offset;
	uint64_t position;
};

static void put_number(struct table *table, int64_t number)
{
	uint64_t bits = (uint64_t)number << 1 ^ (number < 0 ? UINT64_MAX : 0);

	do {
		const uint8_t more = bits > 0x7f ? 0x80 : 0;

		table->bytes[table->size++] = (uint8_t)((bits & 0x7f) | more);
		bits >>= 7;
	} while (bits > 0);
}

static uint64_t position_bits(uint32_t inlined, uint32_t offset)
{
	return (uint64_t)inlined << 31 | (uint64_t)offset << 1;
}

/* As V8 writes it: expressions have negative differences of offsets. */
static void put_position(struct table *table, int64_t offset, uint64_t position, bool is_statement)
{
	const int64_t step = offset - table->offset;

	put_number(table, is_statement ? step : -step - 1);
	put_number(table, (int64_t)(position - table->position));
	table->offset = offset;
	table->position = position;
}

static const struct {
	uint32_t pc, inlined, offset;
	bool is_statement;
} elements[] = {
	{ 0, 0, 170, false },    { 39, 4, 51, false }, { 126, 3, 97, true },
	{ 195, 0, 20000, true }, { 195, 1, 5, false }, { 100000, 0xffff, 0x3fffffff, false },
};

static struct table example(void)
{
	struct table table = { .offset = -1 };

	for (size_t i = 0; i < ARRAY_SIZE(elements); i++)
		put_position(&table, elements[i].pc,
			     position_bits(elements[i].inlined, elements[i].offset),
			     elements[i].is_statement);
	return table;
}

static void code_has_the_position_of_the_last_element_before_it(void **state)
{
	const struct table table = example();
	const struct {
		uint32_t pc;
		size_t element;
	} cases[] = {
		{ 0, 0 },   { 38, 0 },  { 39, 1 },    { 125, 1 },    { 126, 2 },
		{ 194, 2 }, { 195, 4 }, { 99999, 4 }, { 100000, 5 }, { UINT32_MAX, 5 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct v8_position position;

		assert_ok(v8_position_find(table.bytes, table.size, cases[i].pc, &position));
		assert_true(position.has_offset);
		assert_int_equal(position.inlined, elements[cases[i].element].inlined);
		assert_int_equal(position.offset, elements[cases[i].element].offset);
	}
}

static void code_before_the_first_element_has_no_position(void **state)
{
	struct table table = { .offset = -1 };
	struct v8_position position;

	(void)state;
	put_position(&table, 10, position_bits(2, 7), true);
	assert_ok(v8_position_find(table.bytes, table.size, 9, &position));
	assert_false(position.has_offset);
	assert_int_equal(position.inlined, 0);
	assert_ok(v8_position_find(table.bytes, 0, 9, &position));
	assert_false(position.has_offset);
}

static void positions_outside_scripts_have_no_offset(void **state)
{
	struct table table = { .offset = -1 };
	struct v8_position position;

	(void)state;
	put_position(&table, 0, position_bits(2, 7) | 1, true);
	assert_ok(v8_position_find(table.bytes, table.size, 0, &position));
	assert_false(position.has_offset);
	assert_int_equal(position.inlined, 2);
}

/* Elements before the damage are found. */
static void malformed_tables_are_refused(void **state)
{
	struct table table = example();
	struct v8_position position;
	const size_t whole = table.size;

	(void)state;
	assert_int_equal(v8_position_find(table.bytes, whole - 1, 100000, &position), -EBADMSG);
	assert_ok(v8_position_find(table.bytes, whole - 1, 0, &position));
	memset(table.bytes + whole, 0xff, 16);
	assert_int_equal(v8_position_find(table.bytes, whole + 16, UINT32_MAX, &position),
			 -EBADMSG);
	/* A difference that is too large. */
	table = (struct table){ .offset = -1 };
	put_position(&table, INT64_C(1) << 40, 0, true);
	assert_int_equal(v8_position_find(table.bytes, table.size, 0, &position), -EBADMSG);
}

/* ---- invented code ------------------------------------------------------------------------- */

#define CODE_BYTES 4096

/* Fields of objects, without the map. */
struct invented {
	struct v8_image image;
	struct v8_lines lines;
	struct v8_memory memory;
	uint64_t code, outer, functions[3];
	uint64_t fields[16]; /* of the Code */
	uint64_t deopt[16];  /* with the length */
	uint64_t literals[4];
	size_t n_inlinings;
	uint64_t inlinings[1 + 2 * 256];
};

static const uint32_t versions[] = { 10 << 8 | 2, 11 << 8 | 3, 12 << 8 | 4, 13 << 8 | 6 };

#define BYTE_ARRAY 190 /* its type is not checked */

static void put_half(uint64_t *fields, unsigned int offset, uint32_t value)
{
	memcpy((uint8_t *)fields + offset - 8, &value, sizeof(value));
}

static uint64_t add_bytes(struct v8_image *image, const void *bytes, size_t size)
{
	uint64_t fields[514] = { smi((uint32_t)size) };

	assert_true(size <= sizeof(fields) - sizeof(fields[0]));
	memcpy(&fields[1], bytes, size);
	return add_object(image, BYTE_ARRAY, fields, 1 + (size + 7) / 8);
}

/* A function of a script with the lines "0", "2", "4", ... */
static uint64_t add_function(struct invented *v8, uint64_t script)
{
	const struct v8_layout *layout = v8->memory.layout;
	uint64_t fields[8] = {};

	fields[layout->shared_script / 8 - 1] = script;
	return add_object(&v8->image, layout->shared_type, fields, ARRAY_SIZE(fields));
}

static void begin(struct invented *v8, uint32_t version)
{
	uint64_t script[3] = {};

	*v8 = (struct invented){ .memory = { .layout = v8_layout_of(version),
					     .read = read_image } };
	v8->memory.arg = &v8->image;
	assert_non_null(v8->memory.layout);
	script[0] = add_text(&v8->image, "0\n2\n4\n6\n8\n");
	script[2] = smi(0);
	script[1] = add_object(&v8->image, v8->memory.layout->script_type, script, 3);
	v8->outer = add_function(v8, script[1]);
	for (size_t i = 0; i < ARRAY_SIZE(v8->functions); i++)
		v8->functions[i] = add_function(v8, script[1]);
}

/* A call at @bits of the function @function; -1: the outer one. */
static void add_inlining(struct invented *v8, uint64_t bits, int32_t function)
{
	v8->inlinings[1 + 2 * v8->n_inlinings] = bits;
	v8->inlinings[2 + 2 * v8->n_inlinings++] = (uint32_t)function;
}

/* Makes the Code of what was added, with @table. */
static void end(struct invented *v8, const struct table *table)
{
	const struct v8_layout *layout = v8->memory.layout;
	struct v8_image *image = &v8->image;
	const uint64_t wrapped[] = { v8->outer };

	v8->literals[0] = smi(ARRAY_SIZE(v8->functions));
	memcpy(&v8->literals[1], v8->functions, sizeof(v8->functions));
	v8->deopt[0] = smi(12);
	v8->deopt[1 + layout->deopt_literals] =
		add_object(image, 179, v8->literals, ARRAY_SIZE(v8->literals));
	v8->deopt[1 + layout->deopt_shared] =
		layout->version >= 13 << 8 ? add_object(image, 195, wrapped, 1) : v8->outer;
	v8->deopt[1 + layout->deopt_inlined] =
		add_bytes(image, &v8->inlinings[1], 16 * v8->n_inlinings);
	v8->fields[layout->code_deopt / 8 - 1] =
		add_object(image, 179, v8->deopt, ARRAY_SIZE(v8->deopt));
	v8->fields[layout->code_positions / 8 - 1] = add_bytes(image, table->bytes, table->size);
	put_half(v8->fields, layout->code_flags, 0x120U | layout->first_optimized);
	put_half(v8->fields, layout->code_bytes, CODE_BYTES);
	v8->code = add_object(image, layout->code_type, v8->fields, ARRAY_SIZE(v8->fields));
}

/* functions[1] in functions[0] in the outer function, from the offset 100 on. */
static void make_example(struct invented *v8, uint32_t version)
{
	struct table table = { .offset = -1 };

	begin(v8, version);
	add_inlining(v8, position_bits(0, 2), 0);
	add_inlining(v8, position_bits(1, 4), 1);
	put_position(&table, 50, position_bits(0, 8), true);
	put_position(&table, 100, position_bits(2, 6), true);
	put_position(&table, 200, position_bits(1, 0), true);
	end(v8, &table);
}

static int frames_at(struct invented *v8, uint32_t pc_offset,
		     struct compiled_frame frames[COMPILED_MAX_INLINED])
{
	return v8_frames_read(&v8->memory, &v8->lines, v8->code, pc_offset, frames);
}

static void expect_frame(const struct compiled_frame *frame, uint64_t function, uint32_t line)
{
	assert_int_equal(frame->function, function);
	assert_int_equal(frame->position, line);
}

static void inlined_functions_are_followed_by_their_callers(void **state)
{
	struct compiled_frame frames[COMPILED_MAX_INLINED];
	struct invented *v8 = calloc(1, sizeof(*v8));

	(void)state;
	assert_non_null(v8);
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		make_example(v8, versions[i]);
		assert_int_equal(frames_at(v8, 150, frames), 3);
		expect_frame(&frames[0], v8->functions[1], 4);
		expect_frame(&frames[1], v8->functions[0], 3);
		expect_frame(&frames[2], v8->outer, 2);
		assert_int_equal(frames_at(v8, CODE_BYTES - 1, frames), 2);
		expect_frame(&frames[0], v8->functions[0], 1);
		expect_frame(&frames[1], v8->outer, 2);
		assert_int_equal(frames_at(v8, 50, frames), 1);
		expect_frame(&frames[0], v8->outer, 5);
		/* The code at the beginning has no position. */
		assert_int_equal(frames_at(v8, 0, frames), 1);
		expect_frame(&frames[0], v8->outer, 0);
	}
	free(v8);
}

static void code_without_a_table_is_its_function(void **state)
{
	const struct table empty = {};
	struct compiled_frame frames[COMPILED_MAX_INLINED];
	struct invented *v8 = calloc(1, sizeof(*v8));

	(void)state;
	assert_non_null(v8);
	begin(v8, versions[0]);
	end(v8, &empty);
	assert_int_equal(frames_at(v8, 7, frames), 1);
	expect_frame(&frames[0], v8->outer, 0);
	free(v8);
}

static void other_code_is_refused(void **state)
{
	struct compiled_frame frames[COMPILED_MAX_INLINED];
	struct invented *v8 = calloc(1, sizeof(*v8));

	(void)state;
	assert_non_null(v8);
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		uint64_t *words;

		make_example(v8, versions[i]);
		words = &v8->image.words[(v8->code - 1 - IMAGE_START) / 8];
		assert_int_equal(frames_at(v8, CODE_BYTES, frames), -EBADMSG);
		put_half(words + 1, v8->memory.layout->code_flags,
			 v8->memory.layout->first_optimized - 1U);
		assert_int_equal(frames_at(v8, 150, frames), -EBADMSG);
		/* Another object is there, or the collector has moved it. */
		v8->code = v8->outer;
		assert_int_equal(frames_at(v8, 150, frames), -EBADMSG);
		words[0] = IMAGE_START;
		v8->code = pointer_to((size_t)(words - v8->image.words));
		assert_int_equal(frames_at(v8, 150, frames), -EBADMSG);
	}
	free(v8);
}

static void lists_of_callers_without_an_end_are_refused(void **state)
{
	const struct {
		uint64_t caller;
		int32_t function;
	} cases[] = {
		{ position_bits(1, 2), 0 }, /* calls itself */
		{ position_bits(2, 2), 0 }, /* is called by one that is listed after it */
		{ position_bits(0, 2), 3 }, /* not in the literals */
		{ position_bits(0, 2), INT32_MAX },
	};
	struct compiled_frame frames[COMPILED_MAX_INLINED];
	struct invented *v8 = calloc(1, sizeof(*v8));

	(void)state;
	assert_non_null(v8);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct table table = { .offset = -1 };

		begin(v8, versions[1]);
		add_inlining(v8, cases[i].caller, cases[i].function);
		put_position(&table, 0, position_bits(1, 6), true);
		put_position(&table, 10, position_bits(2, 6), true);
		end(v8, &table);
		assert_int_equal(frames_at(v8, 5, frames), -EBADMSG);
		assert_int_equal(frames_at(v8, 15, frames), -EBADMSG);
	}
	free(v8);
}

/* The innermost ones, and the outer function. */
static void functions_that_are_too_deep_are_left_out(void **state)
{
	struct compiled_frame frames[COMPILED_MAX_INLINED];
	struct invented *v8 = calloc(1, sizeof(*v8));
	struct table table = { .offset = -1 };

	(void)state;
	assert_non_null(v8);
	begin(v8, versions[1]);
	for (uint32_t i = 0; i < 200; i++)
		add_inlining(v8, position_bits(i, 2), i == 100 ? -1 : 0);
	put_position(&table, 0, position_bits(200, 6), true);
	put_position(&table, 10, position_bits(COMPILED_MAX_INLINED - 1, 6), true);
	end(v8, &table);
	assert_int_equal(frames_at(v8, 5, frames), COMPILED_MAX_INLINED);
	expect_frame(&frames[0], v8->functions[0], 4);
	expect_frame(&frames[1], v8->functions[0], 2);
	expect_frame(&frames[COMPILED_MAX_INLINED - 1], v8->outer, 0);
	/* As many as there may be. */
	assert_int_equal(frames_at(v8, 15, frames), COMPILED_MAX_INLINED);
	expect_frame(&frames[COMPILED_MAX_INLINED - 1], v8->outer, 2);
	free(v8);
}

/* Memory that has the same byte everywhere. */
static int read_filled(void *arg, uint64_t address, void *buffer, size_t size)
{
	(void)address;
	memset(buffer, *(const int *)arg, size);
	return 0;
}

static void any_memory_is_read_within_bounds(void **state)
{
	struct compiled_frame frames[COMPILED_MAX_INLINED];
	struct v8_lines lines = {};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++)
		for (int byte = 0; byte < 256; byte++) {
			const struct v8_memory memory = { .layout = v8_layout_of(versions[i]),
							  .read = read_filled,
							  .arg = &byte };

			assert_int_equal(v8_frames_read(&memory, &lines, 0x1001, 0, frames),
					 -EBADMSG);
		}
}

/* ---- a running program --------------------------------------------------------------------- */

struct script {
	pid_t pid;
	struct v8_memory memory;
	struct v8_lines lines;
	FILE *output;
};

static int read_process(void *arg, uint64_t address, void *buffer, size_t size)
{
	const pid_t *pid = arg;
	struct iovec local = { .iov_base = buffer, .iov_len = size };
	struct iovec remote = { .iov_base = (void *)(uintptr_t)address, .iov_len = size };
	ssize_t n = process_vm_readv(*pid, &local, 1, &remote, 1, 0);

	return n < 0 ? -errno : (size_t)n < size ? -EFAULT : 0;
}

static void start(struct script *script)
{
	const struct interpreter_facts facts = installed_v8();
	int pipe_fds[2];

	/* The Code of version 13 is not in the function (bpf/abi/interpreter.h). */
	if (access(NODE, X_OK) != 0 || facts.version >= 13 << 8)
		skip();
	assert_ok(pipe2(pipe_fds, O_CLOEXEC));
	*script = (struct script){ .pid = fork() };
	if (script->pid == 0) {
		/* A failed assertion leaves the program running until the test ends. */
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)dup2(pipe_fds[1], STDOUT_FILENO);
		(void)execl(NODE, NODE, "--allow-natives-syntax", "--expose-gc", SCRIPT, NULL);
		_exit(EXIT_FAILURE);
	}
	(void)close(pipe_fds[1]);
	script->output = fdopen(pipe_fds[0], "r");
	assert_non_null(script->output);
	script->memory = (struct v8_memory){ .layout = v8_layout_of(facts.version),
					     .read = read_process,
					     .arg = &script->pid };
}

/* The Code of the function that the script prints. */
static uint64_t printed_code(struct script *script)
{
	const char *digits = NULL;
	bool is_begun = false;
	uint64_t code;
	char line[4096];

	while (!digits) {
		assert_non_null(fgets(line, sizeof(line), script->output));
		is_begun |= strcmp(line, "FUNCTION\n") == 0;
		digits = is_begun ? strstr(line, "0x") : NULL;
	}
	assert_ok(read_process(
		&script->pid, strtoull(digits, NULL, 16) - 1 + script->memory.layout->function_code,
		&code, sizeof(code)));
	do
		assert_non_null(fgets(line, sizeof(line), script->output));
	while (strcmp(line, "end\n") != 0);
	return code;
}

/* "name:line" of each frame, the innermost first, joined by "<". */
static void describe(struct script *script, const struct compiled_frame *frames, int n_frames,
		     char *text, size_t size)
{
	static uint8_t content[CODE_CONTENT_BYTES];
	struct read_code code;
	size_t used = 0;

	for (int i = 0; i < n_frames; i++) {
		assert_int_equal(v8_code_read(&script->memory, &script->lines, frames[i].function,
					      0, &code, content),
				 1);
		used += (size_t)snprintf(text + used, size - used, "%s%.*s:%u", i > 0 ? "<" : "",
					 (int)code.function_bytes, (const char *)content,
					 frames[i].position);
		assert_true(used < size);
	}
}

static void frames_of_a_running_program_are_read(void **state)
{
	/* What the code must have, and what it may have in addition. */
	static const char *const expected[] = {
		"leaf:6<middle:12<outer:17",
		"leaf:6<middle:12<outer:20",
		"middle:11<outer:17",
		"middle:11<outer:20",
		"outer:16",
		"leaf:7<middle:12<outer:17",
		"leaf:7<middle:12<outer:20",
		"middle:12<outer:17",
		"middle:12<outer:20",
		"middle:13<outer:17",
		"middle:13<outer:20",
		"outer:17",
		"outer:19",
		"outer:20",
		"outer:21",
		"middle:10<outer:17",
		"middle:10<outer:20",
	};
	const size_t n_needed = 5;
	bool is_found[ARRAY_SIZE(expected)] = {};
	struct compiled_frame frames[COMPILED_MAX_INLINED];
	struct script script;
	uint64_t code;
	int n_frames;

	(void)state;
	start(&script);
	code = printed_code(&script);
	for (uint32_t pc = 0;; pc++) {
		char text[1024];
		size_t i = 0;

		n_frames = v8_frames_read(&script.memory, &script.lines, code, pc, frames);
		script.lines.bytes_read = 0;
		if (n_frames < 0)
			break;
		describe(&script, frames, n_frames, text, sizeof(text));
		while (i < ARRAY_SIZE(expected) && strcmp(text, expected[i]) != 0)
			i++;
		if (i == ARRAY_SIZE(expected))
			fail_msg("unexpected frames at %u: %s", pc, text);
		is_found[i] = true;
	}
	/* The first offset after the code. */
	assert_int_equal(n_frames, -EBADMSG);
	for (size_t i = 0; i < n_needed; i++)
		if (!is_found[i])
			fail_msg("no code has the frames %s", expected[i]);
	(void)kill(script.pid, SIGKILL);
	(void)waitpid(script.pid, NULL, 0);
	(void)fclose(script.output);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_has_the_position_of_the_last_element_before_it),
		cmocka_unit_test(code_before_the_first_element_has_no_position),
		cmocka_unit_test(positions_outside_scripts_have_no_offset),
		cmocka_unit_test(malformed_tables_are_refused),
		cmocka_unit_test(inlined_functions_are_followed_by_their_callers),
		cmocka_unit_test(code_without_a_table_is_its_function),
		cmocka_unit_test(other_code_is_refused),
		cmocka_unit_test(lists_of_callers_without_an_end_are_refused),
		cmocka_unit_test(functions_that_are_too_deep_are_left_out),
		cmocka_unit_test(any_memory_is_read_within_bounds),
		cmocka_unit_test(frames_of_a_running_program_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
