/* SPDX-License-Identifier: Apache-2.0 */
/* What this process has attached to the kernel. */
#ifndef ATTACHED_H
#define ATTACHED_H

/* Detaches all of it, while another thread may wait for something else: its descriptors become
 * copies of this one, and are closed as ever. Nothing that was recorded since is to be read. */
void attached_drop(int instead);

#endif
