/* SPDX-License-Identifier: Apache-2.0 */
/* Whose critical path a sample shows. */
#ifndef PATH_CHOICE_H
#define PATH_CHOICE_H

struct sample;

/* Fills the zeroed path of a finished sample with a recording. Prefers the thread whose probe
 * ended the window, then the one whose probe began it, then the one the verdict is about. Leaves
 * it empty if no thread of the target is known. Returns 0 or -ENOMEM. */
int critical_path_of_sample(struct sample *sample);

#endif
