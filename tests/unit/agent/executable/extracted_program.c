/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

/* Global and local functions with names and line numbers. */
int extracted_global(int value);

static __attribute__((noinline)) int extracted_local(int value)
{
	return value * 3 + 1;
}

int extracted_global(int value)
{
	return extracted_local(value) ^ 5;
}

int main(int argc, char **argv)
{
	(void)argv;
	return printf("%d\n", extracted_global(argc)) < 0;
}
