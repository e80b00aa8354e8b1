/* SPDX-License-Identifier: Apache-2.0 */
/* Source of two programs with the same build-ID. WORK differs. */
#include <stdio.h>

int work(int n);

int work(int n)
{
	return WORK;
}

int main(int argc, char **argv)
{
	(void)argv;
	return printf("%d\n", work(argc)) < 0;
}
