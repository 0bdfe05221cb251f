// Inside views.
#ifndef HDI_FIELD_MAP_VIEW_H
#define HDI_FIELD_MAP_VIEW_H

#include "heddle/agile.h"

// The largest element. A message holds a whole one at least (moving/moving.h),
// so this bounds the buffers of messages too.
enum {
    HDI_MAX_ELEMENT = 1 << 20 // [bytes]
};

// An axis of what lies below that no axis of the view goes along: its index is
// fixed (hd_view_project()).
#define HDI_NO_AXIS UINT32_MAX

// The index, in what a view looks at, of an index of the view.
//
//     view index -> on axis k below: start_[k] + step_[k] * index[axis_[k]]
//
// Views of views are composed when they are made, so this is one step however
// many were stacked.
void hdi_view_below(const struct hd_view *view, const int64_t *index,
                    int64_t *below);

// Of all of a view but where its elements are: equal for equal views on all
// processes.
uint64_t hdi_view_digest(const struct hd_view *view);

#endif
