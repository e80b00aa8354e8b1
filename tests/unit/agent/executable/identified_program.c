/* SPDX-License-Identifier: Apache-2.0 */

/* A program to identify. */
int main(void)
{
	return 0;
}
