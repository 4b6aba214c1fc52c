# SPDX-License-Identifier: Apache-2.0
"""A library that stands before the C library's syscall(), through which libbpf makes its calls: it
answers some in the kernel's place."""

SOURCE = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
typedef long kernel_fn(long number, ...);
static bool answers(long command, union bpf_attr *attr, kernel_fn *kernel, long *result)
{
	%s
}
long syscall(long number, ...)
{
	kernel_fn *kernel = (kernel_fn *)dlsym(RTLD_NEXT, "syscall");
	long a[6], result = -1;
	va_list list;

	va_start(list, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	if (number == SYS_bpf && answers(a[0], (union bpf_attr *)a[1], kernel, &result))
		return result;
	return kernel(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
"""


def library(test, answers):
    """The path of the library for LD_PRELOAD. answers: the body of a C function of command and attr,
    which returns whether it has answered: with result, -1 unless it sets that, and errno. kernel()
    is the real syscall()."""
    return test.preload(SOURCE.replace("%s", answers))
