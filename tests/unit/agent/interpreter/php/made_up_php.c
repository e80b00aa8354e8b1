/* SPDX-License-Identifier: Apache-2.0 */
/* The symbols and the text by which PHP is recognized. */

#define TEXT_OF(name) #name
#define TEXT(name)    TEXT_OF(name)

#if !defined(VM_KIND)
#define VM_KIND 4
#endif

#if defined(ZTS)
long executor_globals_offset = 64;
#else
long executor_globals[200] = { 1 };
#endif

int zend_vm_kind(void);
int zend_vm_kind(void)
{
	return VM_KIND;
}

const char *execute_ex(int which);
const char *execute_ex(int which)
{
	return which ? "X-Powered-By: PHP/" TEXT(VERSION) : 0;
}
