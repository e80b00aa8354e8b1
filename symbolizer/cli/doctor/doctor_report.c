/* SPDX-License-Identifier: Apache-2.0 */

/* Runs the checks and prints their findings. */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/json_writer.h"
#include "symbolizer/cli/doctor/doctor.h"
#include "symbolizer/cli/print/printable.h"

/* "warn  capabilities  " */
#define STATUS_COLUMNS 6
#define NAME_COLUMNS   14

static const struct {
	const char *word;
	const char *json;
	const char *colour;
} statuses[] = {
	[DOCTOR_OK] = { "ok", "ok", "\033[32m" },
	[DOCTOR_WARN] = { "warn", "warn", "\033[33m" },
	[DOCTOR_FAIL] = { "FAIL", "fail", "\033[31m" },
};

static const struct {
	const char *name;
	void (*run)(const struct doctor_facts *facts, struct doctor_report *report);
} checks[] = {
#define CHECK(id, name_, help) { .name = name_, .run = doctor_check_##id },
#include "symbolizer/cli/doctor/doctor_checks.def"
#undef CHECK
};

void doctor_add(struct doctor_report *report, enum doctor_status status, const char *fix,
		const char *text, ...)
{
	struct finding finding = { .check = report->check, .status = status, .fix = strdup(fix) };
	va_list arguments;

	va_start(arguments, text);
	if (vasprintf(&finding.text, text, arguments) < 0)
		finding.text = NULL;
	va_end(arguments);
	if (!finding.text || !finding.fix || vec_push(&report->findings, finding) < 0) {
		free(finding.text);
		free(finding.fix);
		report->error = -ENOMEM;
	}
}

void doctor_report_release(struct doctor_report *report)
{
	for (size_t i = 0; i < report->findings.count; i++) {
		free(report->findings.items[i].text);
		free(report->findings.items[i].fix);
	}
	vec_release(&report->findings);
}

int doctor_run(const struct doctor_facts *facts, struct doctor_report *ret_report)
{
	*ret_report = (struct doctor_report){};
	for (size_t i = 0; i < ARRAY_SIZE(checks); i++) {
		ret_report->check = checks[i].name;
		checks[i].run(facts, ret_report);
	}
	return ret_report->error;
}

size_t doctor_count(const struct doctor_report *report, enum doctor_status status)
{
	size_t count = 0;

	for (size_t i = 0; i < report->findings.count; i++)
		count += report->findings.items[i].status == status;
	return count;
}

static void append_fix(const struct finding *finding, int indent, int width, struct bytes *out)
{
	const size_t words_size = strlen(finding->fix) - finding->command_size;
	scoped_free char *words = strndup(finding->fix, words_size);

	(void)bytes_append_format(out, "%*s-> ", indent, "");
	printable_append_wrapped(out, words && words[0] ? words : "run:", indent + 3, indent + 3,
				 width);
	(void)bytes_append_byte(out, '\n');
	printable_append_command(out, finding->fix + words_size, indent + 3, width);
}

static void append_finding(const struct finding *finding, int width, bool colours,
			   struct bytes *out)
{
	int indent = STATUS_COLUMNS + NAME_COLUMNS;

	(void)bytes_append_format(out, "%s%-*s%s%-*s",
				  colours ? statuses[finding->status].colour : "", STATUS_COLUMNS,
				  statuses[finding->status].word, colours ? "\033[0m" : "",
				  NAME_COLUMNS, finding->check);
	printable_append_wrapped(out, finding->text, indent, indent, width);
	(void)bytes_append_byte(out, '\n');
	if (!finding->fix[0])
		return;
	append_fix(finding, indent, width, out);
}

int doctor_text_write(const struct doctor_report *report, int width, bool colours,
		      struct bytes *out)
{
	size_t n_failed = doctor_count(report, DOCTOR_FAIL);
	size_t n_warned = doctor_count(report, DOCTOR_WARN);

	for (size_t i = 0; i < report->findings.count; i++)
		append_finding(&report->findings.items[i], width, colours, out);
	if (n_failed + n_warned == 0)
		(void)bytes_append_text(out, "Nothing is wrong.\n");
	else
		(void)bytes_append_format(out, "%zu failed, %zu %s\n", n_failed, n_warned,
					  n_warned == 1 ? "warning" : "warnings");
	return bytes_error(out);
}

int doctor_json_write(const struct doctor_report *report, struct bytes *out)
{
	struct json_writer json;

	json_writer_init(&json, out);
	json_object_begin(&json);
	json_key(&json, "checks");
	json_array_begin(&json);
	for (size_t i = 0; i < report->findings.count; i++) {
		const struct finding *finding = &report->findings.items[i];

		json_object_begin(&json);
		json_key_text(&json, "check", finding->check);
		json_key_text(&json, "status", statuses[finding->status].json);
		json_key_text(&json, "message", finding->text);
		json_key_text(&json, "fix", finding->fix);
		json_object_end(&json);
	}
	json_array_end(&json);
	json_key_uint(&json, "failed", doctor_count(report, DOCTOR_FAIL));
	json_key_uint(&json, "warnings", doctor_count(report, DOCTOR_WARN));
	json_object_end(&json);
	return bytes_append_byte(out, '\n');
}
