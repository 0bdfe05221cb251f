// Copying past the caches.
#ifndef HDI_FIELD_PLAN_NONTEMPORAL_H
#define HDI_FIELD_PLAN_NONTEMPORAL_H

#include <stddef.h>

// Copy `size` bytes to memory that is not read again soon: its lines are not
// fetched before they are written. Others see it after hdi_nontemporal_end().
void hdi_nontemporal_copy(char *to, const char *from, size_t size);
void hdi_nontemporal_end(void);

#endif
