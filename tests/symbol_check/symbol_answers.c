/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Compiles a file and resolves addresses, in the output format of llvm-symbolizer.
 *
 *   symbol_answers [--display] FILE [--executable FILE] [--alt FILE] [--split FILE] < ADDRESSES
 *
 * For each address the frames are printed, innermost first, each as a line with the linkage name
 * (--display: with the display name) and a line with path:line; then an empty line.
 */

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/scoped.h"
#include "symbolizer/symbols/compile/symbol_compile.h"
#include "symbolizer/symbols/symbol_limits.h"
#include "symbolizer/symbols/table/symbol_file.h"
#include "symbolizer/symbols/table/symbol_pack.h"

struct answers {
	struct symbol_compile_input input;
	bool display;
};

static int open_or_die(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		exit(1);
	}
	return fd;
}

static bool read_arguments(struct answers *answers, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		bool has_value = i + 1 < argc;

		if (strcmp(argv[i], "--display") == 0)
			answers->display = true;
		else if (strcmp(argv[i], "--executable") == 0 && has_value)
			answers->input.executable_fd = open_or_die(argv[++i]);
		else if (strcmp(argv[i], "--alt") == 0 && has_value)
			answers->input.alt_fd = open_or_die(argv[++i]);
		else if (strcmp(argv[i], "--split") == 0 && has_value)
			answers->input.split_fd = open_or_die(argv[++i]);
		else if (answers->input.main_fd < 0 && argv[i][0] != '-')
			answers->input.main_fd = open_or_die(argv[i]);
		else
			return false;
	}
	return answers->input.main_fd >= 0;
}

static void print_answer(const struct symbol_file *file, uint64_t elf_addr, bool display)
{
	uint32_t location;

	symbol_file_find(file, &elf_addr, 1, &location);
	if (location == SYMBOL_NO_LOCATION)
		printf("??\n??:0\n");
	while (location != SYMBOL_NO_LOCATION) {
		struct symbol_frame frame;
		const char *name;

		location = symbol_file_frame(file, location, &frame);
		name = display ? frame.function : frame.linkage_name;
		printf("%s\n%s:%" PRIu32 "\n", name ? name : "??", frame.path ? frame.path : "??",
		       frame.line);
	}
	printf("\n");
}

/* Compiles the table, and packs and unpacks it, as the server does. */
static int make_table(const struct answers *answers, struct bytes *flat)
{
	struct bytes compiled = BYTES_INIT(SYMBOL_FLAT_MAX_BYTES);
	struct bytes stored = BYTES_INIT(SYMBOL_FLAT_MAX_BYTES);
	struct symbol_compile_report report;
	int r;

	r = symbol_compile_flat(&answers->input, &compiled, &report);
	if (report.message[0])
		fprintf(stderr, "%s\n", report.message);
	if (r == 0)
		r = symbol_pack(bytes_view_of(&compiled), &stored);
	if (r == 0)
		r = symbol_unpack(bytes_view_of(&stored), flat);
	if (r == 0 &&
	    (flat->size != compiled.size || memcmp(flat->data, compiled.data, flat->size) != 0)) {
		fprintf(stderr, "the expanded table is not the compiled one\n");
		r = -EBADMSG;
	}
	bytes_release(&compiled);
	bytes_release(&stored);
	return r;
}

int main(int argc, char **argv)
{
	struct answers answers = { .input = { -1, -1, -1, -1 } };
	struct bytes flat = BYTES_INIT(SYMBOL_FLAT_MAX_BYTES);
	scoped(symbol_file_freep) struct symbol_file *file = NULL;
	char line[64];
	int r;

	if (!read_arguments(&answers, argc, argv)) {
		fprintf(stderr,
			"usage: %s [--display] FILE [--executable FILE] [--alt FILE] "
			"[--split FILE] < ADDRESSES\n",
			argv[0]);
		return 2;
	}
	r = make_table(&answers, &flat);
	if (r == 0)
		r = symbol_file_open_memory(bytes_view_of(&flat), &file);
	if (r < 0) {
		fprintf(stderr, "no table: %s\n", strerror(-r));
		return 1;
	}
	while (fgets(line, sizeof(line), stdin))
		print_answer(file, strtoull(line, NULL, 16), answers.display);
	file = symbol_file_free(file);
	bytes_release(&flat);
	return 0;
}
