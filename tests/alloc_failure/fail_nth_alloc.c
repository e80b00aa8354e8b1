/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Runs a fuzz target with failing allocations. If the target makes N allocations for an input, it
 * runs N times with this input, and in run n allocation n fails. A target must neither crash nor
 * leak. AddressSanitizer and LeakSanitizer check that, so only the sanitizer build has these tests.
 *
 * The linker's --wrap option redirects the allocations of our own libraries to the functions below.
 * Allocations inside shared libraries are not affected.
 * ALLOC_FAILURE_INPUT is a file, or a folder of files.
 */

#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <limits.h>

#include "common/base.h"
#include "common/bytes.h"
#include "common/file.h"
#include "common/scoped.h"
#include "tests/fuzz/allocation_failure.h"

/*
 * Maximum number of runs for an input. If an input causes more allocations, only every k-th of them
 * is made to fail. Compiling the table of a small executable makes some thousand allocations, most
 * of them at the same few source lines.
 */
#define MAX_RUNS_PER_INPUT 400

#define MAX_INPUT_BYTES (256 * KIB)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t size);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t size);
__attribute__((format(printf, 2, 0))) int __wrap_vasprintf(char **ret_text, const char *format,
							   va_list arguments);
__attribute__((format(printf, 2, 3))) int __wrap_asprintf(char **ret_text, const char *format, ...);

/* Atomic access, because some targets use threads. */
static unsigned long n_allocations;
static unsigned long failing; /* number of the allocation that fails, from 1; 0: none */

bool fuzz_allocation_failed(void)
{
	return failing != 0 && __atomic_load_n(&n_allocations, __ATOMIC_RELAXED) >= failing;
}

static bool fails(void)
{
	return __atomic_add_fetch(&n_allocations, 1, __ATOMIC_RELAXED) == failing;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
	return fails() ? NULL : __real_realloc(memory, size);
}

char *__wrap_strdup(const char *text)
{
	return fails() ? NULL : __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t size)
{
	return fails() ? NULL : __real_strndup(text, size);
}

/* On failure *ret_text is undefined (asprintf(3)). A caller that frees this one crashes. */
__attribute__((format(printf, 2, 0))) int __wrap_vasprintf(char **ret_text, const char *format,
							   va_list arguments)
{
	va_list copy;
	int length;

	if (fails()) {
		*ret_text = (char *)1;
		return -1;
	}
	va_copy(copy, arguments);
	length = vsnprintf(NULL, 0, format, copy);
	va_end(copy);
	if (length < 0)
		return -1;
	*ret_text = __real_malloc((size_t)length + 1);
	return *ret_text ? vsnprintf(*ret_text, (size_t)length + 1, format, arguments) : -1;
}

__attribute__((format(printf, 2, 3))) int __wrap_asprintf(char **ret_text, const char *format, ...)
{
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = __wrap_vasprintf(ret_text, format, arguments);
	va_end(arguments);
	return length;
}

/* Returns the number of allocations that the target made. */
static unsigned long run(struct bytes_view input, unsigned long failing_allocation)
{
	__atomic_store_n(&n_allocations, 0, __ATOMIC_RELAXED);
	failing = failing_allocation;
	(void)LLVMFuzzerTestOneInput(input.data, input.size);
	failing = 0;
	return __atomic_load_n(&n_allocations, __ATOMIC_RELAXED);
}

static unsigned long test_input(const char *path)
{
	struct bytes input = BYTES_INIT(MAX_INPUT_BYTES);
	unsigned long n, step, n_runs = 0;
	int r = file_read(path, &input);

	if (r < 0) {
		fprintf(stderr, "FAILED: cannot read '%s': %s\n", path, strerror(-r));
		exit(1);
	}
	n = run(bytes_view_of(&input), 0);
	step = n / MAX_RUNS_PER_INPUT + 1;
	for (unsigned long failing_allocation = 1; failing_allocation <= n;
	     failing_allocation += step) {
		(void)run(bytes_view_of(&input), failing_allocation);
		n_runs++;
	}
	printf("%s: %lu allocations, %lu of them made to fail\n", path, n, n_runs);
	bytes_release(&input);
	return n_runs;
}

static unsigned long test_folder(const char *folder)
{
	DIR *entries = opendir(folder);
	unsigned long n_runs = 0;
	struct dirent *entry;

	if (!entries) {
		fprintf(stderr, "FAILED: cannot open the folder '%s': %m\n", folder);
		exit(1);
	}
	while ((entry = readdir(entries))) {
		char path[PATH_MAX];

		if (entry->d_name[0] == '.')
			continue;
		(void)snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		n_runs += test_input(path);
	}
	(void)closedir(entries);
	return n_runs;
}

int main(void)
{
	struct stat status;
	unsigned long n_runs;

	n_runs = stat(ALLOC_FAILURE_INPUT, &status) == 0 && S_ISDIR(status.st_mode)
			 ? test_folder(ALLOC_FAILURE_INPUT)
			 : test_input(ALLOC_FAILURE_INPUT);
	printf("%lu runs\n", n_runs);
	if (n_runs == 0) {
		fprintf(stderr,
			"FAILED: no allocation to test: add this parser to without_allocations in "
			"tests/alloc_failure/CMakeLists.txt\n");
		return 1;
	}
	return 0;
}
