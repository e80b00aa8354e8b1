/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/process/process_image.h"

#include "tests/support/unit.h"

#define UID_WEB "42ad382b-ed0b-446d-9aab-3fdce8b4f9e2"

/* What is known of the Pod: some names and values, which end with NULL. */
struct known {
	const char *texts[7];
	unsigned int n_finds;
};

static void find(void *arg, const char *uid, void (*label)(void *, const char *, const char *),
		 void *label_arg)
{
	struct known *known = arg;

	assert_string_equal(uid, UID_WEB);
	known->n_finds++;
	for (size_t i = 0; known->texts[i]; i += 2)
		label(label_arg, known->texts[i], known->texts[i + 1]);
}

static struct process_label label(struct string_table *strings, const char *name, const char *value)
{
	struct process_label label;

	assert_ok(string_table_intern(strings, name, strlen(name), &label.name));
	assert_ok(string_table_intern(strings, value, strlen(value), &label.value));
	return label;
}

static void expect_labels(const struct process_image_context *context,
			  const struct process *process, const char *expected)
{
	char text[256] = "";

	for (size_t i = 0; i < process->n_labels; i++) {
		size_t length = strlen(text);

		(void)snprintf(text + length, sizeof(text) - length, "%s=%s ",
			       string_table_text(context->strings, process->labels[i].name),
			       string_table_text(context->strings, process->labels[i].value));
	}
	assert_string_equal(text, expected);
}

static void labels_of_the_pod_follow_those_of_the_cgroup(void **state)
{
	struct known known = {};
	struct process_image_context context = { .pods = { .arg = &known, .find = find } };
	struct process process = {};

	(void)state;
	assert_ok(string_table_new(MIB, &context.strings));
	process.labels = calloc(2, sizeof(*process.labels));
	assert_non_null(process.labels);
	process.labels[0] = label(context.strings, "container_id", "c");
	process.labels[1] = label(context.strings, "pod_uid", UID_WEB);
	process.n_labels = process.n_cgroup_labels = 2;

	/* The Pod is not known yet. */
	assert_int_equal(process_image_find_pod(&context, &process), 0);
	expect_labels(&context, &process, "container_id=c pod_uid=" UID_WEB " ");

	known = (struct known){ .texts = { "pod", "web-0", "pod_node", "", "pod_ns", "shop" } };
	assert_int_equal(process_image_find_pod(&context, &process), 1);
	expect_labels(&context, &process,
		      "container_id=c pod_uid=" UID_WEB " pod=web-0 pod_ns=shop ");
	assert_int_equal(process_image_find_pod(&context, &process), 0);

	known = (struct known){ .texts = { "pod", "web-0", "k8s.label.app", "web" } };
	assert_int_equal(process_image_find_pod(&context, &process), 1);
	expect_labels(&context, &process,
		      "container_id=c pod_uid=" UID_WEB " pod=web-0 k8s.label.app=web ");

	/* It has ended. */
	known = (struct known){};
	assert_int_equal(process_image_find_pod(&context, &process), 0);
	assert_int_equal(process.n_labels, 4);
	free(process.labels);
	string_table_free(context.strings);
}

static void a_process_outside_of_pods_is_not_looked_up(void **state)
{
	struct known known = {};
	struct process_image_context context = { .pods = { .arg = &known, .find = find } };
	struct process process = { .n_labels = 1, .n_cgroup_labels = 1 };
	struct process_label unit;

	(void)state;
	assert_ok(string_table_new(MIB, &context.strings));
	unit = label(context.strings, "unit", "nginx.service");
	process.labels = &unit;
	assert_int_equal(process_image_find_pod(&context, &process), 0);
	assert_int_equal(known.n_finds, 0);
	string_table_free(context.strings);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(labels_of_the_pod_follow_those_of_the_cgroup),
		cmocka_unit_test(a_process_outside_of_pods_is_not_looked_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
