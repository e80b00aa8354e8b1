/* SPDX-License-Identifier: Apache-2.0 */
/* Two programs of one build-ID: WORK is what they differ in. */
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
