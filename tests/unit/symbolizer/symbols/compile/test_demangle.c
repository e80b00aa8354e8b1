/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/symbols/compile/demangle.h"

#include <pthread.h>

#include "tests/support/unit.h"

static char *demangled(const char *name)
{
	struct bytes out = BYTES_INIT(MIB);

	assert_ok(demangle_append(&out, name, strlen(name)));
	assert_ok(bytes_append_byte(&out, 0));
	return (char *)out.data;
}

static void display_names_are_demangled(void **state)
{
	static const struct {
		const char *linkage, *display;
	} cases[] = {
		/* C */
		{ "main", "main" },
		{ "do_syscall_64", "do_syscall_64" },
		{ "work.part.0", "work.part.0" },
		{ "work.constprop.0.isra.0", "work.constprop.0.isra.0" },
		{ "work.cold", "work.cold" },
		{ "memcpy@@GLIBC_2.14", "memcpy" },
		{ "pthread_create@GLIBC_2.2.5", "pthread_create" },
		{ "puts@plt", "puts@plt" },
		{ "_Z4workv@plt", "work@plt" },
		{ "local.llvm.8151", "local" },
		{ "local.llvm.notanumber", "local.llvm.notanumber" },
		{ "@", "@" },
		/* Go */
		{ "main.(*Server).ServeHTTP", "main.(*Server).ServeHTTP" },
		{ "example.com/module@v1/package.Function",
		  "example.com/module@v1/package.Function" },
		/* C++ */
		{ "_ZNK3foo3barEi", "foo::bar" },
		{ "_Z1fv", "f" },
		{ "_ZSt4sortIPiEvT_S1_", "std::sort<int*>" },
		{ "_ZN1AclEi", "A::operator()" },
		{ "_ZlsRSoRK1A", "operator<<" },
		{ "_ZN1AcvT_IiEEv", "A::operator int<int>" },
		{ "_ZN1AD2Ev", "A::~A" },
		{ "_ZN12_GLOBAL__N_14workEv", "(anonymous namespace)::work" },
		{ "_ZZNK3foo3barEiENKUliE_clEi",
		  "foo::bar(int) const::{lambda(int)#1}::operator()" },
		{ "_ZZN1A1gEvENKUlvE_clEv", "A::g()::{lambda()#1}::operator()" },
		{ "_ZNSt6vectorIiSaIiEE9push_backERKi",
		  "std::vector<int, std::allocator<int> >::push_back" },
		{ "_ZN3foo3barEi.cold", "foo::bar.cold" },
		{ "_ZN3foo3barEi.part.0.llvm.123", "foo::bar.part.0" },
		{ "_ZNSt6thread4joinEv@@GLIBCXX_3.4", "std::thread::join" },
		{ "_Zgarbage", "_Zgarbage" },
		{ "_Z", "_Z" },
		/* Rust, both manglings: without the hash */
		{ "_ZN3std2io5stdio6_print17h553351a860254660E", "std::io::stdio::_print" },
		{ "_ZN3std2io5stdio6_print17h553351a860254660E.llvm.123",
		  "std::io::stdio::_print" },
		{ "_ZN14deepflow_agent14flow_generator8flow_map7FlowMap18inject_meta_"
		  "packet17h553351a860254660E",
		  "deepflow_agent::flow_generator::flow_map::FlowMap::inject_meta_packet" },
		{ "_ZN4core3ptr85drop_in_place$LT$std..rt..lang_start$LT$$LP$$RP$$GT$..$u7b$$u7b$"
		  "closure$u7d$$u7d$$GT$"
		  "17h0123456789abcdefE",
		  "core::ptr::drop_in_place<std::rt::lang_start<()>::{{closure}}>" },
		{ "_RNvC6_123foo3bar", "123foo::bar" },
		{ "_RNCNvC4main3foos_0", "main::foo::{closure#1}" },
		{ "_RNvMsr_NtCs3ssYzQotkvD_3std4pathNtB5_7PathBuf3newCs15kBYyAo9fc_7mycrate",
		  "<std::path::PathBuf>::new" },
		{ "_Rgarbage", "_Rgarbage" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped_free char *display = demangled(cases[i].linkage);

		assert_string_equal(display, cases[i].display);
	}
}

/* f<a<int, int>, a<S1, S1>, a<S2, S2>, ...>: each argument is twice as long as the previous one. */
static void doubling_name(unsigned int levels, struct bytes *name)
{
	assert_ok(bytes_append_text(name, "_Z1fI1aIiiE"));
	for (unsigned int i = 0; i < levels; i++) {
		static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

		assert_in_range(i + 1, 0, sizeof(digits) - 2);
		assert_ok(bytes_append_format(name, "S0_IS%c_S%c_E", digits[i + 1], digits[i + 1]));
	}
	assert_ok(bytes_append_text(name, "Evv"));
	assert_ok(bytes_append_byte(name, 0));
}

static void a_name_that_expands_beyond_the_limit_is_not_demangled(void **state)
{
	static const struct {
		unsigned int levels;
		bool expands;
	} cases[] = { { 2, true }, { 8, true }, { 16, false }, { 30, false } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(bytes_release) struct bytes name = BYTES_INIT(KIB);
		scoped_free char *display = NULL;

		doubling_name(cases[i].levels, &name);
		display = demangled((const char *)name.data);
		assert_true(strlen(display) <= DEMANGLED_NAME_MAX_BYTES);
		if (cases[i].expands)
			assert_memory_equal(display, "f<a<int, int>", 13);
		else
			assert_string_equal(display, (const char *)name.data);
	}
}

/*
 * A binder with 2^40 lifetimes, none of which is printed. The demangler counts them nevertheless,
 * which would take hours.
 */
static void a_name_with_very_many_lifetimes_is_not_demangled(void **state)
{
	static const char *const endless[] = {
		("_RNvMsr_NtCs3ssYzQotkvD_3std4pathNtB5_7PathBuf3neRNvMsr_NtC3std4path"
		 "FGGGGGGGGfG_I1wCs15kBYyAo9fc_7myc."),
		"_RMC0FGzzzzzzzz_uEu",   /* fn */
		"_RMC0DGzzzzzzzz_C0EL_", /* dyn */
	};
	scoped_free char *some = demangled("_RMC0FG_RL0_hEu");

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(endless); i++) {
		scoped_free char *display = demangled(endless[i]);

		assert_string_equal(display, endless[i]);
	}
	assert_string_equal(some, "<for<'a> fn(&'a u8)>");
}

/* "_Z1fI" "PPPP..." "iEvv", and other names for which the demangler recurses at each byte. */
static char *nested_name(const char *head, const char *unit, const char *tail, size_t length)
{
	struct bytes name = BYTES_INIT(64 * KIB);

	assert_ok(bytes_append_text(&name, head));
	while (name.size + strlen(unit) + strlen(tail) < length)
		assert_ok(bytes_append_text(&name, unit));
	assert_ok(bytes_append_text(&name, tail));
	assert_ok(bytes_append_byte(&name, 0));
	return (char *)name.data;
}

/* Runs in a thread with a small stack, as servers may use. */
static void *demangle_shapes(void *arg)
{
	static const char *const shapes[][3] = {
		{ "_Z1fI", "P", "iEvv" },
		{ "_Z1fI", "1aI", "iEvv" },
		{ "_Z", "N1a", "E" },
		{ "_Z1fIX", "plL1i", "EEvv" },
		{ "_Z1fI", "RT_", "Evv" },
		{ "_Z1fI1aIiE", "RT_1aIiE", "EvRT_" },
		{ "_RNvC", "NvC", "1a1b" },
		{ "_RIC1a", "TB_", "E" },
		{ "_ZN", "1a", "17h0123456789abcdefE" },
		{ "_Z1f", "PF", "vE" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
		for (size_t length = 500; length < 6000; length += 700) {
			scoped_free char *name =
				nested_name(shapes[i][0], shapes[i][1], shapes[i][2], length);
			scoped_free char *display = demangled(name);

			assert_true(strlen(display) <= DEMANGLED_NAME_MAX_BYTES);
			assert_true(strlen(display) > 0);
		}
	}
	return arg;
}

static void deeply_nested_names_fit_a_small_stack(void **state)
{
	pthread_attr_t attributes;
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_attr_init(&attributes), 0);
	assert_int_equal(pthread_attr_setstacksize(&attributes, 2 * MIB), 0);
	assert_int_equal(pthread_create(&thread, &attributes, demangle_shapes, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(pthread_attr_destroy(&attributes), 0);
}

static void a_long_name_is_demangled(void **state)
{
	scoped_free char *name = nested_name("_Z1fI", "1aIiE", "Evv", 3000);
	scoped_free char *display = demangled(name);

	(void)state;
	assert_in_range(strlen(name), 2900, MANGLED_NAME_MAX_BYTES);
	assert_memory_equal(display, "f<a<int>, a<int>, ", 18);
}

static void a_name_beyond_the_limit_is_cut_and_not_demangled(void **state)
{
	scoped_free char *name = nested_name("_ZN", "1a", "E", MANGLED_NAME_MAX_BYTES + 500);
	scoped_free char *display = demangled(name);

	(void)state;
	assert_int_equal(strlen(display), MANGLED_NAME_MAX_BYTES);
	assert_memory_equal(display, name, MANGLED_NAME_MAX_BYTES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(display_names_are_demangled),
		cmocka_unit_test(a_name_that_expands_beyond_the_limit_is_not_demangled),
		cmocka_unit_test(a_name_with_very_many_lifetimes_is_not_demangled),
		cmocka_unit_test(deeply_nested_names_fit_a_small_stack),
		cmocka_unit_test(a_long_name_is_demangled),
		cmocka_unit_test(a_name_beyond_the_limit_is_cut_and_not_demangled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
