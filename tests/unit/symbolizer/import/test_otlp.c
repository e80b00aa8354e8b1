/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of OTLP that the published messages of each version serialized
 * (tests/support/make_otlp_corpus.py).
 */
#include "tests/unit/symbolizer/import/imported.h"

static const char *const versions[] = { "import_otlp/v1.5.pb", "import_otlp/v1.7.pb",
					"import_otlp/v1.9.pb", "import_otlp/v1.11.pb" };

/* When the profiles of the files begin. */
#define BEGIN_NS (TEST_NOW_NS - 5 * NSEC_PER_SEC)

static void read_version(const char *file, struct imported *imported)
{
	const struct import_request request = { .now_ns = TEST_NOW_NS + 60 * NSEC_PER_SEC };
	scoped(bytes_release) struct bytes body = {};
	int r;

	read_corpus(file, &body);
	r = import_otlp(&request, bytes_view_of(&body), &imported->result);
	if (r < 0)
		fail_msg("%s: %s", file, imported->result.reason);
	assert_int_equal(imported->result.n_rejected, 0);
	decode_imported(imported);
	assert_int_equal(imported->result.batches.count, 1);
}

static const struct batch_process *process_named(const struct batch *batch, const char *name)
{
	for (uint32_t i = 0; i < batch->n_processes; i++)
		if (strcmp(batch->processes[i].name, name) == 0)
			return &batch->processes[i];
	fail_msg("no process '%s'", name);
	return NULL;
}

static const char *label_of(const struct label *labels, uint32_t count, const char *name)
{
	for (uint32_t i = 0; i < count; i++)
		if (strcmp(labels[i].name, name) == 0)
			return labels[i].value;
	return "";
}

/* The sum of the rows of a process, in the unit of the event type. */
static uint64_t sum_of_process(const struct batch *batch, const char *name, const char *event)
{
	const struct batch_process *process = process_named(batch, name);
	uint64_t sum = 0;

	for (uint32_t i = 0; i < batch->n_rows; i++) {
		const struct batch_series *series = series_of(batch, batch->rows[i].series);

		if (series->process == process->number && strcmp(event_name_of(series), event) == 0)
			sum += batch->rows[i].value * (series->period_ns ? series->period_ns : 1);
	}
	return sum;
}

static void each_version_keeps_the_sum_of_each_type(void **state)
{
	static const struct {
		const char *process, *event;
		uint64_t sum;
	} cases[] = {
		{ "go-shop", "on-cpu", 90000000 },   { "go-shop", "samples", 9 },
		{ "go-shop", "off-cpu", 0 },         { "ebpf-app", "on-cpu", 40000000 },
		{ "ebpf-app", "off-cpu", 13000000 }, { "ebpf-app", "samples", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		scoped(imported_release) struct imported imported = {};

		read_version(versions[i], &imported);
		for (size_t k = 0; k < ARRAY_SIZE(cases); k++) {
			uint64_t sum =
				sum_of_process(imported.batches, cases[k].process, cases[k].event);

			if (sum != cases[k].sum)
				fail_msg("%s %s %s: %llu", versions[i], cases[k].process,
					 cases[k].event, (unsigned long long)sum);
		}
	}
}

static void stacks_have_names_in_each_version(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		scoped(imported_release) struct imported imported = {};

		read_version(versions[i], &imported);
		assert_int_equal(sum_of_stack(imported.batches, "on-cpu",
					      "runtime.main;main.main;main.outer;main.inner;"
					      "main.spin;runtime.asyncPreempt"),
				 30000000);
		assert_int_equal(sum_of_stack(imported.batches, "on-cpu", "handle;?"), 3);
		assert_int_equal(sum_of_stack(imported.batches, "on-cpu", "handle;?;do_syscall_64"),
				 1);
		assert_int_equal(sum_of_stack(imported.batches, "off-cpu", "handle;do_syscall_64"),
				 12000000);
		assert_int_equal(sum_of_stack(imported.batches, "off-cpu", "handle;?"), 1000000);
	}
}

/* The samples of "go-shop" are those of a profile of pprof. */
static void stacks_have_the_sums_of_the_profile_that_was_converted(void **state)
{
	const struct import_request request = { .name = "go-shop", .now_ns = TEST_NOW_NS };
	scoped(imported_release) struct imported pprof = {};
	scoped(bytes_release) struct bytes body = {};

	(void)state;
	read_corpus("import_pprof/go-cpu.pb", &body);
	assert_ok(import_pprof(&request, bytes_view_of(&body), &pprof.result));
	decode_imported(&pprof);
	assert_true(pprof.batches->n_stacks > 5);
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		scoped(imported_release) struct imported imported = {};

		read_version(versions[i], &imported);
		for (uint32_t k = 0; k < pprof.batches->n_stacks; k++) {
			char text[4096];

			folded_text(pprof.batches, pprof.batches->stacks[k].number, text,
				    sizeof(text));
			assert_int_equal(sum_of_stack(imported.batches, "on-cpu", text),
					 sum_of_stack(pprof.batches, "on-cpu", text));
		}
	}
}

static const struct batch_frame *frame_of_kind(const struct batch *batch, uint8_t kind)
{
	for (uint32_t i = 0; i < batch->n_stacks; i++)
		for (uint32_t k = 0; k < batch->stacks[i].n_frames; k++)
			if (batch->stacks[i].frames[k].kind == kind)
				return &batch->stacks[i].frames[k];
	fail_msg("no frame of kind %u", kind);
	return NULL;
}

static void frame_types_are_kinds_of_frames(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		scoped(imported_release) struct imported imported = {};
		const struct batch_frame *frame;
		const struct batch *batch;
		char text[EXECUTABLE_ID_TEXT_SIZE];

		read_version(versions[i], &imported);
		batch = imported.batches;
		frame = frame_of_kind(batch, FRAME_NATIVE);
		assert_int_equal(frame->address, 0x4242);
		executable_id_format(&batch->executables[frame->object - 1].id, text);
		assert_string_equal(text, "a1b2c3d4e5f60718293a4b5c6d7e8f9001020304");
		assert_string_equal(batch->executables[frame->object - 1].name, "mixed");
		frame = frame_of_kind(batch, FRAME_PYTHON);
		assert_string_equal(function_of(batch, frame), "handle");
		assert_int_equal(frame->address, 17);
		frame = frame_of_kind(batch, FRAME_KERNEL_CODE);
		assert_string_equal(function_of(batch, frame), "do_syscall_64");
		assert_int_equal(frame->address, 0);
		frame = frame_of_kind(batch, FRAME_IMPORTED);
		assert_non_null(strstr(function_of(batch, frame), "."));
	}
}

static void attributes_of_a_resource_are_labels_by_our_names(void **state)
{
	static const struct {
		const char *process, *label, *value;
	} cases[] = {
		{ "go-shop", "service", "go-shop" },   { "go-shop", "version", "1.2" },
		{ "go-shop", "pod", "go-7f" },         { "go-shop", "pod_ns", "shop" },
		{ "go-shop", "process.pid", "" },      { "go-shop", "host.name", "" },
		{ "ebpf-app", "service", "ebpf-app" }, { "ebpf-app", "container_id", "c0ffee" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		scoped(imported_release) struct imported imported = {};

		read_version(versions[i], &imported);
		assert_string_equal(imported.batches->host.name, "web-1");
		assert_int_equal(process_named(imported.batches, "go-shop")->pid, 4711);
		assert_int_equal(process_named(imported.batches, "ebpf-app")->pid, 4242);
		for (size_t k = 0; k < ARRAY_SIZE(cases); k++) {
			const struct batch_process *process =
				process_named(imported.batches, cases[k].process);

			assert_string_equal(
				label_of(process->labels, process->n_labels, cases[k].label),
				cases[k].value);
		}
	}
}

static void names_and_values_may_be_indices_since_1_10(void **state)
{
	scoped(imported_release) struct imported imported = {};
	const struct batch_process *process;

	(void)state;
	read_version("import_otlp/v1.11.pb", &imported);
	process = process_named(imported.batches, "ebpf-app");
	assert_string_equal(
		label_of(process->labels, process->n_labels, "deployment.environment.name"),
		"production");
}

static void attributes_of_a_sample_are_its_thread_and_labels(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		scoped(imported_release) struct imported imported = {};
		uint64_t n_thread = 0, n_blue = 0, n_checkout = 0;
		const struct batch *batch;

		read_version(versions[i], &imported);
		batch = imported.batches;
		for (uint32_t k = 0; k < batch->n_rows; k++) {
			const struct batch_series *series = series_of(batch, batch->rows[k].series);
			const uint64_t value = batch->rows[k].value;

			if (series->type != EVENT_ON_CPU)
				continue;
			if (series->tid == 4243 && strcmp(series->thread_name, "worker-1") == 0)
				n_thread += value;
			if (strcmp(label_of(series->labels, series->n_labels, "tenant"), "blue") ==
			    0)
				n_blue += value;
			if (strcmp(label_of(series->labels, series->n_labels, "request"),
				   "checkout") == 0)
				n_checkout += value;
		}
		assert_int_equal(n_thread, 4);
		assert_int_equal(n_blue, 1);
		assert_int_equal(n_checkout, 40000000);
		/* The number of the CPU, of each sample. */
		assert_int_equal(imported.result.n_labels_left_out, 4);
	}
}

static void samples_are_at_their_timestamps(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		scoped(imported_release) struct imported imported = {};
		const struct batch *batch;
		uint64_t at[4] = {};

		read_version(versions[i], &imported);
		batch = imported.batches;
		assert_int_equal(batch->opened_wall_ns, BEGIN_NS);
		assert_int_equal(batch->closed_wall_ns, BEGIN_NS + 3 * NSEC_PER_SEC);
		for (uint32_t k = 0; k < batch->n_rows; k++) {
			const uint64_t offset = batch->rows[k].slot - BEGIN_NS / SLOT_NS;

			if (series_of(batch, batch->rows[k].series)->type != EVENT_OFF_CPU)
				continue;
			assert_true(offset == 10 || offset == 20 || offset == 30);
			at[offset / 10] += batch->rows[k].value;
		}
		assert_int_equal(at[1], 5000000);
		assert_int_equal(at[2], 7000000);
		assert_int_equal(at[3], 1000000);
	}
}

static void a_retry_has_the_same_identity_and_another_version_has_not(void **state)
{
	scoped(imported_release) struct imported first = {}, again = {}, other = {};

	(void)state;
	read_version("import_otlp/v1.11.pb", &first);
	read_version("import_otlp/v1.11.pb", &again);
	read_version("import_otlp/v1.9.pb", &other);
	assert_true(hash128_equal(&first.batches->agent_id, &again.batches->agent_id));
	assert_true(first.batches->epoch == again.batches->epoch);
	assert_true(hash128_equal(&first.batches->agent_id, &other.batches->agent_id));
	assert_true(first.batches->epoch != other.batches->epoch);
}

/* Cut short, each file is refused, or has the profiles before the cut. */
static void cut_requests_are_refused(void **state)
{
	const struct import_request request = { .now_ns = TEST_NOW_NS };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		scoped(bytes_release) struct bytes body = {};

		read_corpus(versions[i], &body);
		for (size_t size = 1; size < body.size; size++) {
			scoped(imported_release) struct imported cut = {};
			int r = import_otlp(&request, (struct bytes_view){ body.data, size },
					    &cut.result);

			assert_true(r == 0 || r == -EBADMSG);
			if (r < 0)
				assert_true(cut.result.reason[0] != '\0');
			if (r == 0)
				decode_imported(&cut);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_version_keeps_the_sum_of_each_type),
		cmocka_unit_test(stacks_have_names_in_each_version),
		cmocka_unit_test(stacks_have_the_sums_of_the_profile_that_was_converted),
		cmocka_unit_test(frame_types_are_kinds_of_frames),
		cmocka_unit_test(attributes_of_a_resource_are_labels_by_our_names),
		cmocka_unit_test(names_and_values_may_be_indices_since_1_10),
		cmocka_unit_test(attributes_of_a_sample_are_its_thread_and_labels),
		cmocka_unit_test(samples_are_at_their_timestamps),
		cmocka_unit_test(a_retry_has_the_same_identity_and_another_version_has_not),
		cmocka_unit_test(cut_requests_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
