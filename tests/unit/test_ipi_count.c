/* SPDX-License-Identifier: Apache-2.0 */
/* The count of function-call interrupts in files as /proc/interrupts is. */
#define _GNU_SOURCE
#include <stdlib.h>

#include "cli/capture/ipi_count.h"
#include "tap.h"

static void check(const char *what, const char *text, bool told, uint64_t received, uint32_t cpus)
{
	FILE *file = fmemopen((char *)text, strlen(text), "r");
	struct ipi_count count;

	if (!file)
		abort();
	ok(ipi_count_parse(file, &count) == told, "%s: it %s", what,
	   told ? "tells" : "does not tell");
	if (told) {
		is_u64(count.received, received, "%s: of all CPUs together", what);
		is_u64(count.cpus, cpus, "%s: the CPUs", what);
	}
	fclose(file);
}

int main(void)
{
	check("x86",
	      "            CPU0       CPU1       CPU7\n"
	      "  0:          9          0          0   IO-APIC   2-edge      timer\n"
	      "RES:        100        200        300   Rescheduling interrupts\n"
	      "CAL:    8244140   13674271          5   Function call interrupts\n"
	      "TLB:     584350     733598          1   TLB shootdowns\n",
	      true, 8244140 + 13674271 + 5, 3);
	check("arm64",
	      "           CPU0       CPU1\n"
	      "IPI0:        10         11       Rescheduling interrupts\n"
	      "IPI1:        20   18446744       Function call interrupts\n",
	      true, 20 + 18446744, 2);
	check("a row that is cut off",
	      "           CPU0       CPU1\n"
	      "CAL:         20   Function call interrupts\n",
	      true, 20, 2);
	check("one without that row",
	      "           CPU0       CPU1\n"
	      "RES:        100        200   Rescheduling interrupts\n",
	      false, 0, 0);
	check("one without its header", "CAL:  20  30  Function call interrupts\n", false, 0, 0);
	return done_testing();
}
