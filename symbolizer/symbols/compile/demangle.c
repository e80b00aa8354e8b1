/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs libiberty's demanglers safely on hostile names.
 *
 * A demangler writes through a callback that cannot stop it, and a short name can print for
 * minutes. So the callback leaves by longjmp when the output is full. Neither demangler owns memory
 * at that moment; see may_hold_memory().
 *
 * The C++ demangler refuses names of more than 1024 bytes, unless its recursion limit is switched
 * off. Then it needs up to about 6 MiB of stack for a name of 4 KiB. These names are rare, and are
 * demangled in a new thread with a large stack.
 */

#include "symbolizer/symbols/compile/demangle.h"

#include <ctype.h>
#include <libiberty/demangle.h>
#include <pthread.h>
#include <setjmp.h>

#include "common/scoped.h"

/* The longest name that libiberty demangles within its recursion limit (2048 components, two for
 * each byte). */
#define SHORT_NAME_BYTES 1024

/* Four times what the worst name needs, because a sanitizer makes frames larger. */
#define LARGE_STACK_BYTES (32 * MIB)

#define RUST_HASH_DIGITS 16

struct demangling {
	char name[MANGLED_NAME_MAX_BYTES + 1];
	bool rust;
	bool long_name;
	bool done;
	struct bytes sink;
	jmp_buf full;
};

static void sink_append(const char *text, size_t length, void *arg)
{
	struct demangling *demangling = arg;

	if (bytes_append(&demangling->sink, text, length) < 0)
		longjmp(demangling->full, 1);
}

static void run_demangler(struct demangling *demangling)
{
	int options = demangling->long_name ? DMGL_NO_RECURSE_LIMIT : DMGL_NO_OPTS;

	if (setjmp(demangling->full) != 0) {
		demangling->done = false;
		return;
	}
	if (demangling->rust)
		demangling->done = rust_demangle_callback(demangling->name, DMGL_NO_OPTS,
							  sink_append, demangling);
	else
		demangling->done = cplus_demangle_v3_callback(demangling->name, options,
							      sink_append, demangling);
}

static void *run_on_large_stack(void *arg)
{
	run_demangler(arg);
	return NULL;
}

static void run_in_thread(struct demangling *demangling)
{
	pthread_attr_t attributes;
	pthread_t thread;

	if (pthread_attr_init(&attributes) != 0)
		return;
	if (pthread_attr_setstacksize(&attributes, LARGE_STACK_BYTES) == 0 &&
	    pthread_create(&thread, &attributes, run_on_large_stack, demangling) == 0)
		(void)pthread_join(thread, NULL);
	(void)pthread_attr_destroy(&attributes);
}

/*
 * Rust's demangler owns memory while it prints a punycode identifier; leaving it at that moment
 * would leak. Output only grows beyond its input by back references ('B'). So names that have both
 * are not demangled.
 */
static bool may_hold_memory(const char *name, size_t length)
{
	if (length < 2 || name[1] != 'R' || !memchr(name, 'B', length))
		return false;
	for (size_t i = 0; i + 1 < length; i++) {
		if (name[i] == 'u' && isdigit((unsigned char)name[i + 1]))
			return true;
	}
	return false;
}

/*
 * Rust's demangler counts the lifetimes of a binder one by one. It may print none of them, so the
 * callback cannot stop it, and a count of 64 bits would take years. A binder ("G", a base-62
 * number, "_") follows only the "F" of a function or the "D" of a trait object. Names with more
 * than 63 lifetimes are not demangled. Neither is a name with an identifier that looks like such a
 * binder.
 */
static bool binds_many_lifetimes(const char *name, size_t length)
{
	for (size_t i = 0; i + 1 < length; i++) {
		size_t end = i + 2;

		if ((name[i] != 'F' && name[i] != 'D') || name[i + 1] != 'G')
			continue;
		while (end < length && isalnum((unsigned char)name[end]))
			end++;
		if (end - (i + 2) > 1 && end < length && name[end] == '_')
			return true;
		i = end - 1; /* any other binder that begins before @end would end there, too */
	}
	return false;
}

/*
 * Appends the demangled form of @name. Returns 1, or 0 if it cannot be demangled; -ENOMEM, -EFBIG.
 */
static int demangle(struct bytes *out, const char *name, size_t length, bool rust)
{
	scoped_free struct demangling *demangling = NULL;
	int r = 0;

	if (length > MANGLED_NAME_MAX_BYTES ||
	    (rust && (may_hold_memory(name, length) || binds_many_lifetimes(name, length))))
		return 0;
	/* Not calloc(): clearing would take most of the time of a short name. */
	demangling = malloc(sizeof(*demangling));
	if (!demangling)
		return -ENOMEM;

	memcpy(demangling->name, name, length);
	demangling->name[length] = '\0';
	demangling->done = false;
	demangling->rust = rust;
	demangling->long_name = length > SHORT_NAME_BYTES;
	demangling->sink = BYTES_INIT(DEMANGLED_NAME_MAX_BYTES);
	if (demangling->long_name)
		run_in_thread(demangling);
	else
		run_demangler(demangling);

	if (demangling->done && demangling->sink.size > 0) {
		r = bytes_append(out, demangling->sink.data, demangling->sink.size);
		r = r < 0 ? r : 1;
	}
	bytes_release(&demangling->sink);
	return r;
}

/*
 * Returns the length of a legacy Rust name "_ZN...17h<16 hex digits>E", which is a valid C++ name,
 * too; or 0.
 */
static size_t rust_legacy_length(const char *name, size_t length)
{
	const char *hash = memmem(name, length, "17h", 3);

	while (hash) {
		size_t rest = length - (size_t)(hash - name) - 3;
		size_t digits = 0;

		while (digits < rest && digits < RUST_HASH_DIGITS &&
		       isxdigit((unsigned char)hash[3 + digits]))
			digits++;
		if (digits == RUST_HASH_DIGITS && rest > digits && hash[3 + digits] == 'E')
			return (size_t)(hash - name) + 3 + RUST_HASH_DIGITS + 1;
		hash = memmem(hash + 3, rest, "17h", 3);
	}
	return 0;
}

/*
 * Returns the length of the part of a name that a demangler understands; the suffix of a clone
 * follows it.
 */
static size_t mangled_length(const char *name, size_t length, bool *ret_rust)
{
	size_t rust_length = 0;
	const char *dot;

	*ret_rust = name[1] == 'R';
	if (length > 3 && strncmp(name, "_ZN", 3) == 0)
		rust_length = rust_legacy_length(name, length);
	if (rust_length > 0) {
		*ret_rust = true;
		return rust_length;
	}
	dot = memchr(name, '.', length);
	return dot ? (size_t)(dot - name) : length;
}

/* Returns the length of @name without "@VERSION", "@@VERSION" and ".llvm.NUMBER". */
static size_t plain_length(const char *name, size_t length)
{
	const char *llvm = memmem(name, length, ".llvm.", 6);
	size_t end = llvm ? (size_t)(llvm - name) : length;
	const char *at = memchr(name, '@', end);

	if (llvm && strspn(llvm + 6, "0123456789") != length - end - 6)
		end = length;
	if (!at || at == name)
		return end;
	for (const char *c = at; c < name + end; c++) {
		/* Not a version but a path, as in Go's "module@v1/package.Function". */
		if (!isalnum((unsigned char)*c) && !strchr("@._", *c))
			return end;
	}
	return (size_t)(at - name);
}

static int append_plain(struct bytes *out, const char *linkage_name, size_t length)
{
	char name[MANGLED_NAME_MAX_BYTES + 1];
	size_t mangled;
	bool rust;
	int r = 0;

	memcpy(name, linkage_name, length);
	name[length] = '\0';
	length = plain_length(name, length);
	name[length] = '\0';

	if (strncmp(name, "_Z", 2) != 0 && strncmp(name, "_R", 2) != 0)
		return bytes_append(out, name, length);

	mangled = mangled_length(name, length, &rust);
	r = demangle(out, name, mangled, rust);
	if (r == 0 && mangled < length) {
		/* The dot may be part of the name. */
		mangled = length;
		r = demangle(out, name, mangled, rust);
	}
	if (r < 0)
		return r;
	return bytes_append(out, name + (r > 0 ? mangled : 0), r > 0 ? length - mangled : length);
}

int demangle_append(struct bytes *out, const char *linkage_name, size_t length)
{
	static const char stub[] = "@plt";
	const size_t stub_length = sizeof(stub) - 1;
	int r;

	length = strnlen(linkage_name, MIN(length, (size_t)MANGLED_NAME_MAX_BYTES));
	if (length <= stub_length ||
	    memcmp(linkage_name + length - stub_length, stub, stub_length) != 0)
		return append_plain(out, linkage_name, length);
	r = append_plain(out, linkage_name, length - stub_length);
	return r < 0 ? r : bytes_append(out, stub, stub_length);
}
