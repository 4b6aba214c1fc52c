/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HTML_PAGE_H
#define HTML_PAGE_H

/* What every page begins with: cli/html/page/, put together by page.sh when the program is built.
 * What follows it is in the body. */
extern const char html_page[];

#endif
