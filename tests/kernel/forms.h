// For tests: one-dimensional ranges of work-groups of many sizes, those that
// divide the range and such that do not, in every form of a kernel.
#ifndef HDI_TESTS_KERNEL_FORMS_H
#define HDI_TESTS_KERNEL_FORMS_H

#include "tests/kernel/try.h"

enum {
    N = 1000
};

#define RANGE_1(local) ((struct try_range){1, {N}, {(uint32_t)(local)}, {0}})

// Call body with work-group sizes from 1 to more than the range.
#define FOR_LOCAL(local) \
    for (int local = 1; local <= TRY_MAX_ITEMS; local = local * 3 + 1)

// The first item after the group of item i.
static inline int group_end(int i, int local)
{
    int end = (i / local + 1) * local;
    return end < N ? end : N;
}

// The results are the same in every form.
static inline void in_every_form(void (*test)(struct try *t))
{
    static const char *const forms[] = {
        "-heddle-form=loops", "-heddle-form=thread", "-heddle-form=coroutine"};
    struct try t = try_open();

    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        t.form = forms[i];
        test(&t);
        if (t.device->can.group_items <= 1024) // a GPU, which has one form
            break;
    }
    try_close(&t);
}

#endif
