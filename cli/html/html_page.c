// SPDX-License-Identifier: Apache-2.0
#include "html_page.h"

const char html_page[] =
#include "html_page.inc"
	;
