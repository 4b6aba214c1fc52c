/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries that few runs need, and that are loaded when they are. With LINK_ALL (`make static`)
 * they are part of the program instead. */
#ifndef LIBRARY_H
#define LIBRARY_H

#include <dlfcn.h>
#include <stddef.h>

/* library_open: NULL if it is not there; else for library_close().
 * library_take: sets a pointer to a function of the library; false if it has none of that name. */
#ifdef LINK_ALL
#define library_open(name) ((void *)(name))
#define library_close(library) ((void)(library))
#define library_take(library, function, pointer) ((void)(library), *(pointer) = (function), true)
#else
#define library_open(name) dlopen(name, RTLD_NOW | RTLD_LOCAL)
#define library_close(library) ((void)dlclose(library))
#define library_take(library, function, pointer)                                                   \
	((*(void **)(pointer) = dlsym(library, #function)) != NULL)
#endif

#endif
