// Inside views.
#ifndef HDI_FIELD_MAP_VIEW_H
#define HDI_FIELD_MAP_VIEW_H

#include "heddle/agile.h"

enum {
    HDI_MAX_ELEMENT = 1 << 20 // [bytes]
};

#define HDI_NO_AXIS UINT32_MAX

// The index, in what a view looks at, of an index of the view.
void hdi_view_below(const struct hd_view *view, const int64_t *index,
                    int64_t *below);

#endif
