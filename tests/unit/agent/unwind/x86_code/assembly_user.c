/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Takes addresses of assembly_functions.S, and calls one of its functions, as a library that uses
 * assembly does.
 */

__attribute__((visibility("hidden"))) int assembly_pushes(int);
__attribute__((visibility("hidden"))) int assembly_aligned_slot(int);
__attribute__((visibility("hidden"))) int assembly_switch(int);
__attribute__((visibility("hidden"))) int assembly_into_another(void);
__attribute__((visibility("hidden"))) int assembly_aligned_push(void);

int use_assembly(int number, int (**ret_function)(int));

int use_assembly(int number, int (**ret_function)(int))
{
	*ret_function = number ? assembly_switch : assembly_aligned_slot;
	return assembly_pushes(number) + assembly_into_another() + assembly_aligned_push();
}
