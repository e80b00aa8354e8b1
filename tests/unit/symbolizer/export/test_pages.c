/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/symbolizer/export/export_fixture.h"

/* Runs @program, a Python program, with the path of a file that has @text, and returns its output,
 * which the caller frees. */
static char *run_python(struct fixture *fixture, const char *program, const char *text)
{
	scoped_free char *path = write_file_in(fixture->folder, "input", text, strlen(text));
	struct bytes output = BYTES_INIT(COMMAND_OUTPUT_BYTES);
	char command[2048];

	(void)snprintf(command, sizeof(command), "python3 -c '%s' %s 2>&1", program, path);
	if (command_output(command, &output) != 0)
		fail_msg("%.*s", (int)output.size, (const char *)output.data);
	assert_ok(bytes_append_byte(&output, 0));
	return (char *)output.data;
}

static void svg_is_well_formed_and_has_a_group_for_each_frame(void **state)
{
	static const char program[] =
		"import sys, xml.etree.ElementTree as x\n"
		"n = \"{http://www.w3.org/2000/svg}\"\n"
		"for g in x.parse(sys.argv[1]).getroot().iter(n + \"g\"):\n"
		"    r = g.find(n + \"rect\").attrib\n"
		"    t = g.find(n + \"title\").text.split(\"\\n\")\n"
		"    print(g.get(\"class\")[2], r[\"x\"], r[\"width\"], r[\"y\"], *t, sep=\"|\")\n";
	scoped_free char *svg = export_text(*state, "svg");
	scoped_free char *frames = run_python(*state, program, svg);

	assert_string_equal(frames, "P|0.000|1200.000|46|app|180 ns, 100.00 %\n"
				    "T|0.000|733.333|63|[t] worker|110 ns, 61.11 %\n"
				    "A|0.000|733.333|80|_start|110 ns, 61.11 %\n"
				    "A|0.000|400.000|97|main|60 ns, 33.33 %\n"
				    "L|0.000|400.000|114|[l] lib_entry|60 ns, 33.33 %\n"
				    "K|0.000|400.000|131|[k] do_syscall_64|60 ns, 33.33 %\n"
				    "K|0.000|400.000|148|[k] vfs_read|60 ns, 33.33 %\n"
				    "K|400.000|333.333|97|[k] " CLEANED_NAME "|50 ns, 27.78 %\n"
				    "P|733.333|466.667|63|[p] app|70 ns, 38.89 %\n"
				    "A|733.333|466.667|80|_start|70 ns, 38.89 %\n"
				    "A|733.333|466.667|97|main|70 ns, 38.89 %\n"
				    "A|733.333|466.667|114|work|70 ns, 38.89 %\n");
}

static void svg_names_the_selection_and_what_is_missing(void **state)
{
	scoped_free char *svg = export_text(*state, "svg");

	assert_non_null(strstr(svg, "<title>app, on-cpu: 180 ns, 2024-02-21T03:12:00Z to "
				    "2024-02-21T03:13:00Z</title>"));
	assert_non_null(strstr(svg, "<desc>a message</desc>"));
}

/* Frames as narrow as 1/12000 of the whole are drawn, and narrower ones are not. */
static void svg_lacks_frames_that_nobody_can_see(void **state)
{
	static const struct fake_row narrow_rows[] = {
		{ 1, 1, T0, 11998 }, { 2, 2, T0, 1 }, { 2, 4, T0, 0 }, { 1, 3, T0, 1 }
	};
	static const struct fake_row narrower_rows[] = { { 1, 1, T0, 12001 }, { 2, 2, T0, 1 } };
	struct fixture *fixture = *state;
	scoped_free char *drawn = NULL;
	scoped_free char *left_out = NULL;

	FAKE_SET(fixture, rows, narrow_rows);
	drawn = export_text(fixture, "svg");
	assert_non_null(strstr(drawn, "vfs_read"));
	FAKE_SET(fixture, rows, narrower_rows);
	left_out = export_text(fixture, "svg");
	assert_null(strstr(left_out, "vfs_read"));
	assert_non_null(strstr(left_out, "work"));
}

static void html_has_the_answer_as_json_without_tags(void **state)
{
	static const char program[] =
		"import json, re, sys\n"
		"page = open(sys.argv[1]).read()\n"
		"data = re.search(\"id=.profile.>(.*?)</script>\", page, re.S).group(1)\n"
		"assert \"<\" not in data\n"
		"answer = json.loads(data)\n"
		"print(answer[\"service\"], answer[\"event\"], answer[\"message\"], "
		"answer[\"since\"], answer[\"until\"])\n"
		"print(*answer[\"result\"][\"functions\"], sep=\"|\")\n";
	scoped_free char *html = export_text(*state, "html");
	scoped_free char *answer = run_python(*state, program, html);

	assert_string_equal(answer, "app on-cpu a message 1708485120 1708485180\n"
				    "app|[t] worker|_start|main|[l] lib_entry|[k] do_syscall_64|"
				    "[k] vfs_read|[k] " CLEANED_NAME "|[p] app|work\n");
}

static void html_and_svg_load_nothing(void **state)
{
	static const char *const loading[] = {
		"src=", "url(", "<link", "@import", "<iframe", "<use"
	};
	scoped_free char *html = export_text(*state, "html");
	scoped_free char *svg = export_text(*state, "svg");

	assert_non_null(strstr(html, "default-src 'none'"));
	for (size_t i = 0; i < ARRAY_SIZE(loading); i++) {
		if (strstr(html, loading[i]) || strstr(svg, loading[i]))
			fail_msg("found '%s'", loading[i]);
	}
	/* At the begin of a line: comments have the word too. */
	assert_null(strstr(html, "\nimport "));
	assert_null(strstr(html, "\nexport "));
	assert_null(strstr(html, "@PROFILE@"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		EXPORT_TEST(svg_is_well_formed_and_has_a_group_for_each_frame),
		EXPORT_TEST(svg_names_the_selection_and_what_is_missing),
		EXPORT_TEST(svg_lacks_frames_that_nobody_can_see),
		EXPORT_TEST(html_has_the_answer_as_json_without_tags),
		EXPORT_TEST(html_and_svg_load_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
