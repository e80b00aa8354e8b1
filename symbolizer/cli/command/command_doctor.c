/* SPDX-License-Identifier: Apache-2.0 */

/*
 * hearth doctor: finds what prevents profiles with function names, on this host and on the server.
 */

#include "common/log.h"
#include "symbolizer/cli/command/command.h"
#include "symbolizer/cli/doctor/doctor.h"
#include "symbolizer/cli/print/terminal.h"

#define MAX_TEXT_BYTES MIB

/* The child gets the input of the parser, because the parser has no function. */
static const struct argp_child children[] = { { &connection_argp, 0, NULL, 0 }, {} };

static const struct argp doctor_argp = {
	.children = children,
	.doc = "Examines this host, its agent and the server, and prints a fix for each problem. "
	       "Run it as root where the agent runs. The status is 1 if a check fails.",
};

enum exit_code command_doctor(int argc, char **argv)
{
	scoped(doctor_report_release) struct doctor_report report = {};
	scoped_bytes struct bytes text = BYTES_INIT(MAX_TEXT_BYTES);
	struct connection_options options = {};
	struct terminal terminal = terminal_of_stdout();
	struct doctor_facts facts = {};
	int r;

	if (argp_parse(&doctor_argp, argc, argv, 0, NULL, &options) != 0)
		return EXIT_USAGE;
	host_facts_read(&facts.host);
	r = server_facts_read(&options, facts.host.boot_id, &facts.server);
	if (r == 0)
		r = doctor_run(&facts, &report);
	server_facts_release(&facts.server);
	if (r == 0)
		r = options.json
			    ? doctor_json_write(&report, &text)
			    : doctor_text_write(&report, terminal.width, terminal.colours, &text);
	if (r < 0) {
		(void)log_error_errno(r, "cannot print the findings: %m");
		return EXIT_ERROR;
	}
	if (terminal_print(&text) < 0)
		return EXIT_ERROR;
	return doctor_count(&report, DOCTOR_FAIL) > 0 ? EXIT_ERROR : EXIT_OK;
}
